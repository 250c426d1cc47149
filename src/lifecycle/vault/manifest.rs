//! The manifest of an item: one record a path, everything but the bytes of files.
//!
//! Words separated by spaces, the path last and ended by a NUL, as git's own `-z` formats:
//!
//! ```text
//! folder <mode> <mtime> <path>
//! file <mode> <mtime> <size> vault|repository <blob> <data> <path>
//! link <mtime> <path> NUL <target>
//! same <path> NUL <path of the file it is a hard link to>
//! fifo|socket|ignored|deleted <path>
//! ```
//!
//! A path begins with `tree` or `private`, and a folder comes before what is in it. `<data>` is `*`
//! or, for a file with holes, where its data are: `<offset>+<length>,...`; of such a file the vault's
//! blob holds the data only, and the repository's the whole content.

use std::io::{self, BufRead, ErrorKind, Write};
use std::path::PathBuf;

use crate::git::blob_id::Format;
use crate::lifecycle::vault::item::Part;

/// Seconds and nanoseconds since 1970.
pub type Stamp = (i64, u32);
/// Offset and length of the pieces of a file that are no holes.
pub type Pieces = Vec<(u64, u64)>;

/// One path of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its path, from the name of the part on.
    pub path: Vec<u8>,
    /// What is there.
    pub kind: Kind,
}

/// What there is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Folder {
        mode: u32,
        mtime: Stamp,
    },
    File(Box<Contents>),
    Link {
        mtime: Stamp,
        target: Vec<u8>,
    },
    /// A hard link to a file that came before.
    Same {
        first: Vec<u8>,
    },
    /// Dropped: it holds no bytes.
    Fifo,
    /// Dropped: it holds no bytes.
    Socket,
    /// Dropped: git ignored it.
    Ignored,
    /// In the base commit, but not there.
    Deleted,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    pub mode: u32,
    pub mtime: Stamp,
    pub size: u64,
    /// Whose blob has the bytes.
    pub owner: Owner,
    /// The id of the blob, in its owner's format.
    pub blob: String,
    /// Where the data are in a file with holes.
    pub pieces: Option<Pieces>,
}

/// Who has the bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Vault,
    Repository,
}

impl Contents {
    /// How many bytes the vault stores of it.
    pub fn stored(&self) -> u64 {
        match (self.owner, &self.pieces) {
            (Owner::Repository, _) => 0,
            (Owner::Vault, None) => self.size,
            (Owner::Vault, Some(pieces)) => pieces.iter().map(|(_, length)| length).sum(),
        }
    }
}

impl Record {
    /// Writes it down.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let end = |to: &mut dyn Write, second: Option<&[u8]>| {
            to.write_all(&self.path)?;
            to.write_all(b"\0")?;
            second.map_or(Ok(()), |second| {
                to.write_all(second)?;
                to.write_all(b"\0")
            })
        };
        match &self.kind {
            Kind::Folder { mode, mtime } => {
                write!(to, "folder {mode:o} {} ", stamp(*mtime))?;
                end(to, None)
            }
            Kind::File(contents) => {
                let Contents { mode, mtime, size, owner, blob, pieces } = &**contents;
                let owner = match owner {
                    Owner::Vault => "vault",
                    Owner::Repository => "repository",
                };
                write!(to, "file {mode:o} {} {size} {owner} {blob} ", stamp(*mtime))?;
                write_pieces(to, pieces.as_deref())?;
                end(to, None)
            }
            Kind::Link { mtime, target } => {
                write!(to, "link {} ", stamp(*mtime))?;
                end(to, Some(target))
            }
            Kind::Same { first } => {
                to.write_all(b"same ")?;
                end(to, Some(first))
            }
            Kind::Fifo => to.write_all(b"fifo ").and_then(|()| end(to, None)),
            Kind::Socket => to.write_all(b"socket ").and_then(|()| end(to, None)),
            Kind::Ignored => to.write_all(b"ignored ").and_then(|()| end(to, None)),
            Kind::Deleted => to.write_all(b"deleted ").and_then(|()| end(to, None)),
        }
    }

    /// Reads the next one; `None` at the end. A manifest that is damaged is an error.
    pub fn read(from: &mut impl BufRead) -> io::Result<Option<Record>> {
        let Some(line) = piece(from)? else { return Ok(None) };
        let bad = || io::Error::new(ErrorKind::InvalidData, "its manifest is damaged");
        let (word, rest) = word(&line).ok_or_else(bad)?;
        let second = match word {
            "link" | "same" => Some(piece(from)?.ok_or_else(bad)?),
            _ => None,
        };
        let (kind, path) = parse(word, rest, second).ok_or_else(bad)?;
        let sound = |path: &[u8]| is_sound(path);
        let fits = match &kind {
            Kind::Same { first } => sound(first) && part_of(first) == part_of(path),
            Kind::Link { target, .. } => !target.is_empty(),
            Kind::File(contents) => are_sound(contents),
            _ => true,
        };
        let record = Record { path: path.to_vec(), kind };
        (fits && sound(path)).then_some(Some(record)).ok_or_else(bad)
    }
}

/// The part that a path of a manifest is in.
pub fn part_of(path: &[u8]) -> Option<Part> {
    let first = path.split(|byte| *byte == b'/').next()?;
    Part::ALL.into_iter().find(|part| part.name().as_bytes() == first)
}

/// A path of a manifest for people.
pub fn shown(path: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(path).into()
}

/// A path that leads nowhere but into its part.
fn is_sound(path: &[u8]) -> bool {
    let step = |step: &[u8]| !matches!(step, b"" | b"." | b"..") && !step.contains(&0);
    part_of(path).is_some() && path.split(|byte| *byte == b'/').all(step)
}

/// Pieces that follow one another inside the file, and a blob of the right format.
fn are_sound(contents: &Contents) -> bool {
    let Contents { size, owner, blob, pieces, .. } = contents;
    let known = match owner {
        Owner::Vault => Format::of(blob) == Some(Format::Sha1),
        Owner::Repository => Format::of(blob).is_some(),
    };
    let ends = pieces.iter().flatten().try_fold(0, |at, (offset, length)| {
        let end = offset.checked_add(*length)?;
        (*offset >= at && end <= *size).then_some(end)
    });
    known && ends.is_some()
}

fn piece(from: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    from.read_until(0, &mut bytes)?;
    match bytes.pop() {
        None => Ok(None),
        Some(0) => Ok(Some(bytes)),
        Some(_) => Err(io::Error::new(ErrorKind::UnexpectedEof, "its manifest is cut off")),
    }
}

fn word(text: &[u8]) -> Option<(&str, &[u8])> {
    let space = text.iter().position(|byte| *byte == b' ')?;
    Some((std::str::from_utf8(&text[..space]).ok()?, &text[space + 1..]))
}

fn parse<'a>(name: &str, rest: &'a [u8], second: Option<Vec<u8>>) -> Option<(Kind, &'a [u8])> {
    let mode = |text: &str| u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777);
    Some(match name {
        "folder" => {
            let (bits, rest) = word(rest)?;
            let (mtime, rest) = word(rest)?;
            (Kind::Folder { mode: mode(bits)?, mtime: parse_stamp(mtime)? }, rest)
        }
        "file" => {
            let (bits, rest) = word(rest)?;
            let (mtime, rest) = word(rest)?;
            let (size, rest) = word(rest)?;
            let (owner, rest) = word(rest)?;
            let (blob, rest) = word(rest)?;
            let (pieces, rest) = word(rest)?;
            let contents = Contents {
                mode: mode(bits)?,
                mtime: parse_stamp(mtime)?,
                size: size.parse().ok()?,
                owner: match owner {
                    "vault" => Owner::Vault,
                    "repository" => Owner::Repository,
                    _ => return None,
                },
                blob: blob.to_owned(),
                pieces: parse_pieces(pieces)?,
            };
            (Kind::File(Box::new(contents)), rest)
        }
        "link" => {
            let (mtime, rest) = word(rest)?;
            (Kind::Link { mtime: parse_stamp(mtime)?, target: second? }, rest)
        }
        "same" => (Kind::Same { first: second? }, rest),
        "fifo" => (Kind::Fifo, rest),
        "socket" => (Kind::Socket, rest),
        "ignored" => (Kind::Ignored, rest),
        "deleted" => (Kind::Deleted, rest),
        _ => return None,
    })
}

fn stamp((seconds, nanoseconds): Stamp) -> String {
    format!("{seconds}.{nanoseconds:09}")
}

fn parse_stamp(text: &str) -> Option<Stamp> {
    let (seconds, nanoseconds) = text.split_once('.')?;
    let nanoseconds = nanoseconds.parse().ok().filter(|value| *value < 1_000_000_000)?;
    Some((seconds.parse().ok()?, nanoseconds))
}

fn write_pieces(to: &mut impl Write, pieces: Option<&[(u64, u64)]>) -> io::Result<()> {
    let Some(pieces) = pieces else { return to.write_all(b"* ") };
    for (number, (offset, length)) in pieces.iter().enumerate() {
        let comma = if number == 0 { "" } else { "," };
        write!(to, "{comma}{offset}+{length}")?;
    }
    to.write_all(b" ")
}

/// `*` is no holes, and nothing at all is one hole.
#[expect(clippy::option_option, reason = "no answer, no holes, or where the data are")]
fn parse_pieces(text: &str) -> Option<Option<Pieces>> {
    let piece = |text: &str| {
        let (offset, length) = text.split_once('+')?;
        Some((offset.parse().ok()?, length.parse().ok()?))
    };
    match text {
        "*" => Some(None),
        "" => Some(Some(Vec::new())),
        _ => text.split(',').map(piece).collect::<Option<Pieces>>().map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    fn all() -> Vec<Record> {
        let blob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391".to_owned();
        let file = Contents {
            mode: 0o4755,
            mtime: (-5, 7),
            size: 9000,
            owner: Owner::Vault,
            blob: blob.clone(),
            pieces: Some(vec![(0, 10), (4096, 1)]),
        };
        let named = Contents { owner: Owner::Repository, pieces: None, ..file.clone() };
        let hole = Contents { pieces: Some(Vec::new()), ..file.clone() };
        let record = |path: &[u8], kind| Record { path: path.to_vec(), kind };
        vec![
            record(b"tree", Kind::Folder { mode: 0o755, mtime: (1, 999_999_999) }),
            record(b"tree/a b\nc\xff", Kind::File(Box::new(file))),
            record(b"tree/named", Kind::File(Box::new(named))),
            record(b"tree/hole", Kind::File(Box::new(hole))),
            record(b"tree/link", Kind::Link { mtime: (2, 0), target: b"../x \n".to_vec() }),
            record(b"tree/same", Kind::Same { first: b"tree/named".to_vec() }),
            record(b"tree/fifo", Kind::Fifo),
            record(b"tree/socket", Kind::Socket),
            record(b"tree/ignored", Kind::Ignored),
            record(b"private/deleted", Kind::Deleted),
        ]
    }

    fn read(mut bytes: &[u8]) -> io::Result<Vec<Record>> {
        let mut records = Vec::new();
        while let Some(record) = Record::read(&mut bytes)? {
            records.push(record);
        }
        Ok(records)
    }

    fn written(records: &[Record]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for record in records {
            record.write(&mut bytes).unwrap();
        }
        bytes
    }

    #[test]
    fn what_is_written_is_read_back() {
        assert_eq!(read(&written(&all())).unwrap(), all());
    }

    #[test]
    fn a_path_that_leads_out_is_refused() {
        for path in ["", "/", "tree/", "tree//a", "tree/../a", "tree/./a", "other/a", "treex"] {
            let bytes = format!("fifo {path}\0");
            assert!(read(bytes.as_bytes()).is_err(), "{path}");
        }
        assert!(read(b"same tree/a\0private/b\0").is_err());
        assert!(read(b"fifo tree/a").is_err());
    }

    #[test]
    fn pieces_that_overlap_or_lead_out_of_the_file_are_refused() {
        for (pieces, is_fine) in [
            (vec![(0, 10), (10, 8990)], true),
            (vec![(0, 10), (9, 1)], false),
            (vec![(20, 10), (0, 10)], false),
            (vec![(0, 10), (8999, 2)], false),
            (vec![(u64::MAX, 2)], false),
        ] {
            let mut record = all().remove(1);
            let Kind::File(contents) = &mut record.kind else { panic!("{record:?}") };
            contents.pieces = Some(pieces);
            assert_eq!(read(&written(&[record.clone()])).is_ok(), is_fine, "{record:?}");
        }
    }

    #[test]
    fn fuzz_manifests() {
        let records = all();
        let real: Vec<Vec<u8>> =
            records.iter().map(|record| written(std::slice::from_ref(record))).collect();
        let real: Vec<&[u8]> = real.iter().map(Vec::as_slice).collect();
        fuzz::damaged(&real, |input| {
            let Ok(records) = read(input) else { return };
            assert!(records.iter().all(|record| is_sound(&record.path)));
            assert_eq!(read(&written(&records)).unwrap(), records);
        });
    }
}
