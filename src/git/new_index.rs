//! An index of files that we wrote ourselves, in git's format, version 2.
//!
//! git reads it, believes what it says about the files, and writes the final index itself.

use rustix::fs::Stat;

use crate::git::blob_id::Format;
use crate::git::index::{Seen, low};

/// The flags of an entry hold the length of its path, or this much if it is longer.
const LONGEST: u16 = 0x0fff;

/// A file of an index.
#[derive(Debug)]
pub struct Entry<'a> {
    /// Its path, relative to the top.
    pub path: &'a [u8],
    /// The id of its blob.
    pub id: &'a [u8],
    /// What it is, as trees have it.
    pub mode: u32,
    /// What the system says about it.
    pub stat: Stat,
}

/// Returns the bytes of an index with these files, which are sorted by path.
pub fn write(format: Format, entries: &[Entry]) -> Option<Vec<u8>> {
    let mut bytes = b"DIRC\0\0\0\x02".to_vec();
    bytes.extend(u32::try_from(entries.len()).ok()?.to_be_bytes());
    for Entry { path, id, mode, stat } in entries {
        let start = bytes.len();
        let seen = Seen::of(stat);
        let (ctime, mtime) = (seen.ctime, seen.mtime);
        let times = [ctime.0, ctime.1, mtime.0, mtime.1];
        let rest = [low(stat.st_dev), seen.ino, *mode, seen.uid, seen.gid, seen.size];
        for word in times.iter().chain(&rest) {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend(*id);
        let length = u16::try_from(path.len()).map_or(LONGEST, |length| length.min(LONGEST));
        bytes.extend(length.to_be_bytes());
        bytes.extend(*path);
        // At least one NUL, up to a multiple of eight.
        let end = start + ((bytes.len() - start + 8) & !7);
        bytes.resize(end, 0);
    }
    let checksum = format.hash(&bytes);
    bytes.extend(checksum);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;
    use crate::git::index::Index;

    #[test]
    fn what_is_written_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "text").unwrap();
        let stat = rustix::fs::fstat(File::open(&file).unwrap()).unwrap();
        for (format, length) in [(Format::Sha1, 20), (Format::Sha256, 32)] {
            let (id, long) = (vec![7; length], vec![b'x'; 5000]);
            let paths: [&[u8]; 4] = [b"a", b"b/cdefgh", b"b/cdefghi", &long];
            let entries: Vec<Entry> =
                paths.iter().map(|path| Entry { path, id: &id, mode: 0o100_755, stat }).collect();
            let bytes = write(format, &entries).unwrap();
            let (body, checksum) = bytes.split_at(bytes.len() - length);
            assert_eq!(format.hash(body), checksum);
            let written = dir.path().join("index");
            fs::write(&written, &bytes).unwrap();
            let index = Index::read(&written, length).unwrap();
            assert_eq!(index.len(), paths.len());
            for (number, path) in paths.iter().enumerate() {
                assert_eq!((index.path(number), index.raw_id(number)), (*path, &id[..]));
                let seen = Seen { mode: 0o100_755, ..Seen::of(&stat) };
                assert_eq!(index.seen(number), Some(seen));
            }
        }
    }
}
