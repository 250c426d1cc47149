//! Ids of blobs, computed here: in a repository's format, SHA-1 or SHA-256.

use sha1::{Digest, Sha1};
use sha2::Sha256;

/// The hash algorithm of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Sha1,
    Sha256,
}

impl Format {
    /// By the length of an id in hex; `None` if there is no such format.
    pub fn of(id: &str) -> Option<Format> {
        match (id.len(), id.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            (40, true) => Some(Format::Sha1),
            (64, true) => Some(Format::Sha256),
            _ => None,
        }
    }

    /// The hash of these bytes.
    pub fn hash(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Format::Sha1 => Sha1::digest(bytes).to_vec(),
            Format::Sha256 => Sha256::digest(bytes).to_vec(),
        }
    }
}

/// The id of a blob in the making.
#[derive(Clone)]
pub enum Blob {
    Sha1(Sha1),
    Sha256(Sha256),
}

impl Blob {
    /// A blob of so many bytes.
    pub fn new(format: Format, size: u64) -> Blob {
        let mut blob = match format {
            Format::Sha1 => Blob::Sha1(Sha1::new()),
            Format::Sha256 => Blob::Sha256(Sha256::new()),
        };
        blob.update(format!("blob {size}\0").as_bytes());
        blob
    }

    /// More of its bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Blob::Sha1(hash) => hash.update(bytes),
            Blob::Sha256(hash) => hash.update(bytes),
        }
    }

    /// Whether this is its id.
    pub fn is(self, id: &[u8]) -> bool {
        match self {
            Blob::Sha1(hash) => hash.finalize()[..] == *id,
            Blob::Sha256(hash) => hash.finalize()[..] == *id,
        }
    }

    /// Its id in hex.
    pub fn id(self) -> String {
        match self {
            Blob::Sha1(hash) => hex(&hash.finalize()),
            Blob::Sha256(hash) => hex(&hash.finalize()),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_gits() {
        let id = |format, bytes: &[u8]| {
            let mut blob = Blob::new(format, bytes.len() as u64);
            blob.update(bytes);
            blob.id()
        };
        assert_eq!(id(Format::Sha1, b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(id(Format::Sha1, b"hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_eq!(
            id(Format::Sha256, b""),
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
        );
    }

    #[test]
    fn a_format_is_told_by_the_length_of_an_id() {
        assert_eq!(Format::of(&"a".repeat(40)), Some(Format::Sha1));
        assert_eq!(Format::of(&"0".repeat(64)), Some(Format::Sha256));
        assert_eq!(Format::of(&"a".repeat(41)), None);
        assert_eq!(Format::of(&"x".repeat(40)), None);
    }
}
