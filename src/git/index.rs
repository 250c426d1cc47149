//! git's index file, read by ourselves: the files git put into a folder, as it saw them then.
//!
//! Strict: what is not understood to its last byte (another version, a split or sparse index, a
//! conflict, an extension we do not know) is `None`, and git is asked instead. Nothing here writes.

use std::ffi::CStr;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Dev, FileType, Stat, fstat};

use crate::git::{compressed, split_index};
use crate::sys::file;

/// The times, ids and size of a file, in the order of the index: 32 bits each.
const SEEN: usize = 10;
const ASSUME_VALID: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const SKIP_WORKTREE: u16 = 0x4000;
const INTENT_TO_ADD: u16 = 0x2000;
const STAGE: u16 = 0x3000;
const LENGTH: u16 = 0x0fff;
/// More than an index ever has.
const LARGEST: u64 = 1 << 30;
/// Extensions that change nothing about the entries.
const HARMLESS: [&[u8]; 5] = [b"REUC", b"EOIE", b"IEOT", b"UNTR", b"FSMN"];

/// An index.
#[derive(Debug)]
pub struct Index {
    bytes: Vec<u8>,
    /// Sorted by path, each path once.
    entries: Vec<Entry>,
    id: usize,
    /// When it was written: seconds and nanoseconds.
    pub written: (i64, i64),
    /// The file system it is on.
    pub device: Dev,
    /// The tree that all its files make, where git has written that down and nothing was staged since.
    pub tree: Option<String>,
}

/// A file in the index, by where it stands there.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: usize,
    path: usize,
    end: usize,
    hidden: bool,
    plain: bool,
}

/// What git saw of a file when it last looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When it was changed: seconds and nanoseconds.
    pub ctime: (u32, u32),
    /// When its content was.
    pub mtime: (u32, u32),
    /// Its number on its file system.
    pub ino: u32,
    /// What it is.
    pub mode: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// The low bits of its size.
    pub size: u32,
}

impl Seen {
    /// What git would write down of a file.
    pub fn of(stat: &Stat) -> Seen {
        let executable = if stat.st_mode & 0o100 == 0 { 0o100_644 } else { 0o100_755 };
        Seen {
            ctime: (low(stat.st_ctime), low(stat.st_ctime_nsec)),
            mtime: (low(stat.st_mtime), low(stat.st_mtime_nsec)),
            ino: low(stat.st_ino),
            mode: match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => executable,
                FileType::Symlink => 0o120_000,
                _ => 0,
            },
            uid: stat.st_uid,
            gid: stat.st_gid,
            size: low(stat.st_size),
        }
    }
}

/// What fits into the index.
pub fn low(value: impl Into<i128>) -> u32 {
    u32::try_from(value.into() & 0xffff_ffff).unwrap_or(u32::MAX)
}

impl Index {
    /// Reads the index file; `id` is the length of an object id in bytes.
    pub fn read(path: &Path, id: usize) -> Option<Index> {
        let mut file = file::open(path).ok()?;
        let meta = file.metadata().ok()?;
        let (written, device) = ((meta.mtime(), meta.mtime_nsec()), fstat(&file).ok()?.st_dev);
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        Index::of(bytes, id, written, device)
    }

    /// Reads an index that a command which is not trusted wrote, also one with compressed paths and one that
    /// is split.
    pub fn read_untrusted(path: &Path, id: usize) -> Option<Index> {
        let read = |path: &Path| {
            compressed::expanded(file::read_untrusted(path, LARGEST).ok()?, id, LARGEST)
        };
        let shared = |name: &str| read(&path.with_file_name(format!("sharedindex.{name}")));
        let whole = split_index::joined(read(path)?, id, LARGEST, shared)?;
        Index::of(whole, id, (0, 0), 0)
    }

    fn of(bytes: Vec<u8>, id: usize, written: (i64, i64), device: Dev) -> Option<Index> {
        let (entries, tree) = entries(&bytes, id)?;
        Some(Index { bytes, entries, id, written, device, tree })
    }

    /// How many files are in it.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether git was told not to look at some file.
    pub fn hides(&self) -> bool {
        self.entries.iter().any(|entry| entry.hidden)
    }

    /// Whether it holds a conflict.
    pub fn has_conflict(&self) -> bool {
        let flags = |entry: &Entry| half(&self.bytes, entry.start + 4 * SEEN + self.id);
        self.entries.iter().any(|entry| flags(entry).is_none_or(|flags| flags & STAGE != 0))
    }

    /// The number of the file at a path.
    pub fn find(&self, path: &[u8]) -> Option<usize> {
        let compare = |entry: &Entry| self.bytes[entry.path..entry.end].cmp(path);
        self.entries.binary_search_by(compare).ok()
    }

    /// The object id of a file, in hex.
    pub fn id(&self, number: usize) -> String {
        hex(self.raw_id(number)).collect()
    }

    /// The object id of a file.
    pub fn raw_id(&self, number: usize) -> &[u8] {
        let start = self.entries[number].start + 4 * SEEN;
        self.bytes.get(start..start + self.id).unwrap_or_default()
    }

    /// What a file is, whatever its flags.
    pub fn mode(&self, number: usize) -> u32 {
        word(&self.bytes, self.entries[number].start + 4 * 6).unwrap_or(0)
    }

    /// The path of a file.
    pub fn path(&self, number: usize) -> &[u8] {
        let entry = self.entries[number];
        &self.bytes[entry.path..entry.end]
    }

    /// The same from `lead` bytes on, as the system wants it.
    pub fn name(&self, number: usize, lead: usize) -> Option<&CStr> {
        let entry = self.entries[number];
        CStr::from_bytes_with_nul(self.bytes.get(entry.path + lead..=entry.end)?).ok()
    }

    /// What git saw of a file; `None` unless it is an ordinary file or symlink without any flag.
    pub fn seen(&self, number: usize) -> Option<Seen> {
        let entry = self.entries[number];
        let word = |at: usize| word(&self.bytes, entry.start + 4 * at);
        let [_device, ino, mode, uid, gid, size] = [4, 5, 6, 7, 8, 9].map(word);
        let (ctime, mtime) = ((word(0)?, word(1)?), (word(2)?, word(3)?));
        let seen = Seen { ctime, mtime, ino: ino?, mode: mode?, uid: uid?, gid: gid?, size: size? };
        entry.plain.then_some(seen)
    }

    /// Every file as `git update-index -z --index-info` reads it, but for those that are only intended
    /// to be added.
    pub fn records(&self) -> Vec<u8> {
        let mut records = Vec::new();
        for (number, entry) in self.entries.iter().enumerate() {
            let flags_at = entry.start + 4 * SEEN + self.id;
            let extended = half(&self.bytes, flags_at).is_some_and(|flags| flags & EXTENDED != 0);
            let more = half(&self.bytes, flags_at + 2).filter(|_| extended).unwrap_or(0);
            let mode = word(&self.bytes, entry.start + 4 * 6);
            if let Some(mode) = mode.filter(|_| more & INTENT_TO_ADD == 0) {
                records.extend(format!("{mode:o} {} 0\t", self.id(number)).bytes());
                records.extend(self.path(number));
                records.push(0);
            }
        }
        records
    }

    /// Whether it is the commit of a submodule, without any flag.
    pub fn is_submodule(&self, number: usize) -> bool {
        let flags = half(&self.bytes, self.entries[number].start + 4 * SEEN + self.id);
        let unflagged = |flags: u16| flags & (ASSUME_VALID | EXTENDED | STAGE) == 0;
        self.mode(number) == 0o160_000 && flags.is_some_and(unflagged)
    }

    /// Whether the file that git put there is empty.
    pub fn is_empty(&self, number: usize) -> bool {
        const SHA1: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
        const SHA256: &str = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813";
        self.id(number) == if self.id == 20 { SHA1 } else { SHA256 }
    }
}

fn hex(bytes: &[u8]) -> impl Iterator<Item = char> {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|value| char::from_digit(value.into(), 16))
}

/// The root of git's cache of trees: an empty path, how many files it spans, how many trees are in it,
/// its id. A count of -1 means that something was staged since.
fn root_tree(extension: &[u8], id: usize, files: usize) -> Option<String> {
    let rest = extension.strip_prefix(b"\0")?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let counts = std::str::from_utf8(&rest[..end]).ok()?;
    let (spans, trees) = counts.split_once(' ')?;
    let all = spans.parse() == Ok(files) && trees.parse::<usize>().is_ok();
    Some(hex(rest.get(end + 1..end + 1 + id)?).collect()).filter(|_| all)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

/// Header, entries, extensions, and an id of all of it, which git does not check either. The files, and
/// the tree they make if that is known.
fn entries(bytes: &[u8], id: usize) -> Option<(Vec<Entry>, Option<String>)> {
    let body = bytes.get(..bytes.len().checked_sub(id)?)?;
    let version = word(body, 4)?;
    if !body.starts_with(b"DIRC") || !matches!(version, 2 | 3) {
        return None;
    }
    let count = word(body, 8)?;
    // No more than fit: the number may be anything.
    let room = usize::try_from(count).ok()?.min(body.len() / (4 * SEEN + id));
    let (mut entries, mut start, mut last) = (Vec::with_capacity(room), 12, &b""[..]);
    for _ in 0..count {
        let flags_at = start + 4 * SEEN + id;
        let flags = half(body, flags_at)?;
        let extended = flags & EXTENDED != 0;
        let more = if extended { half(body, flags_at + 2)? } else { 0 };
        let path = flags_at + if extended { 4 } else { 2 };
        let length = body.get(path..)?.iter().position(|byte| *byte == 0)?;
        let end = path + length;
        let next = start + ((end - start + 8) & !7);
        let padded = body.get(end..next)?.iter().all(|byte| *byte == 0);
        let told = usize::from(flags & LENGTH) == length.min(LENGTH.into());
        if !padded || !told || (extended && version < 3) || body[path..end] <= *last {
            return None;
        }
        let hidden = flags & ASSUME_VALID != 0 || more & SKIP_WORKTREE != 0;
        let mode = word(body, start + 4 * 6)?;
        let known = matches!(mode, 0o100_644 | 0o100_755 | 0o120_000);
        let plain = flags & (ASSUME_VALID | EXTENDED | STAGE) == 0 && known;
        entries.push(Entry { start, path, end, hidden, plain });
        (start, last) = (next, &body[path..end]);
    }
    let mut tree = None;
    while start < body.len() {
        let size = usize::try_from(word(body, start + 4)?).ok()?;
        let name = body.get(start..start + 4)?;
        let next = start.checked_add(8)?.checked_add(size)?;
        let inside = body.get(start + 8..next)?;
        match name {
            b"TREE" => tree = root_tree(inside, id, entries.len()),
            name if !HARMLESS.contains(&name) => return None,
            _ => {}
        }
        start = next;
    }
    (start == body.len()).then_some((entries, tree))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, flags: u16, more: Option<u16>) -> Vec<u8> {
        let mut bytes = vec![0; 4 * SEEN + 20];
        bytes[24..28].copy_from_slice(&0o100_644_u32.to_be_bytes());
        let length = u16::try_from(path.len()).unwrap().min(LENGTH);
        let flags = flags | length | more.map_or(0, |_| EXTENDED);
        bytes.extend(flags.to_be_bytes());
        bytes.extend(more.into_iter().flat_map(u16::to_be_bytes));
        bytes.extend(path.as_bytes());
        let padding = 8 - bytes.len() % 8;
        bytes.extend(vec![0; padding]);
        bytes
    }

    fn index(version: u32, all: &[Vec<u8>], extension: &[u8]) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend(u32::try_from(all.len()).unwrap().to_be_bytes());
        bytes.extend(all.concat());
        bytes.extend(extension);
        bytes.extend([0; 20]);
        bytes
    }

    fn with(entry: &[u8], at: usize, value: u8) -> Vec<u8> {
        let mut entry = entry.to_vec();
        entry[at] = value;
        entry
    }

    fn flags(bytes: &[u8]) -> Option<Vec<(bool, bool)>> {
        Some(entries(bytes, 20)?.0.iter().map(|entry| (entry.hidden, entry.plain)).collect())
    }

    #[test]
    fn the_tree_of_all_files_is_known_unless_something_was_staged() {
        let two = [entry("a", 0, None), entry("b/c", 0, None)];
        let tree = |counts: &str, id: &[u8]| {
            let inside = [b"\0", counts.as_bytes(), b"\n", id].concat();
            let size = u32::try_from(inside.len()).unwrap().to_be_bytes();
            let extension = [b"TREE", &size[..], &inside].concat();
            entries(&index(2, &two, &extension), 20).unwrap().1
        };
        assert_eq!(tree("2 1", &[0xab; 20]), Some("ab".repeat(20)));
        assert_eq!(tree("2 0", &[&[1; 20], &b"more"[..]].concat()), Some("01".repeat(20)));
        // Something was staged, some file was added with intent only, or it is cut short.
        for (counts, id) in [("-1 1", 0), ("1 1", 20), ("2", 20), ("2 x", 20), ("2 1", 19)] {
            assert_eq!(tree(counts, &[0xab; 20][..id]), None, "{counts}");
        }
        assert_eq!(entries(&index(2, &two, b""), 20).unwrap().1, None);
    }

    #[test]
    fn flags_are_read_and_what_is_unknown_is_refused() {
        let (a, b) = (entry("a", 0, None), entry("b/c", 0, None));
        let tree = b"TREE\0\0\0\x02xx";
        let known = Some(vec![(false, true), (false, true)]);
        assert_eq!(flags(&index(2, &[a.clone(), b.clone()], tree)), known);
        let valid = entry("a", ASSUME_VALID, None);
        assert_eq!(flags(&index(2, &[valid], b"")), Some(vec![(true, false)]));
        let skipped = entry("a", 0, Some(SKIP_WORKTREE));
        assert_eq!(
            flags(&index(3, std::slice::from_ref(&skipped), b"")),
            Some(vec![(true, false)])
        );
        let intended = entry("a", 0, Some(0x2000));
        assert_eq!(flags(&index(3, &[intended], b"")), Some(vec![(false, false)]));
        let ordinary = Index::of(index(2, std::slice::from_ref(&a), b""), 20, (0, 0), 0).unwrap();
        assert!(!ordinary.is_submodule(0));
        let staged = entry("a", 0x1000, None);
        assert_eq!(flags(&index(2, &[staged], b"")), Some(vec![(false, false)]));
        for refused in [
            index(2, &[skipped], b""),
            index(4, std::slice::from_ref(&a), b""),
            index(2, &[b.clone(), a.clone()], b""),
            index(2, &[a.clone(), a.clone()], b""),
            index(2, std::slice::from_ref(&a), b"link\0\0\0\0"),
            index(2, std::slice::from_ref(&a), b"sdir\0\0\0\0"),
            index(2, std::slice::from_ref(&a), b"TREE\0\0\0\x09x"),
            index(2, std::slice::from_ref(&a), b"T"),
            // A byte in the padding, a length that is not the path's, and one that a long path cannot have.
            index(2, &[with(&b, 66, 1)], b""),
            index(2, &[with(&a, 61, 2)], b""),
            index(2, &[with(&entry(&"p".repeat(5000), 0, None), 61, 0xfe)], b""),
        ] {
            assert_eq!(flags(&refused), None);
        }
    }

    #[test]
    fn no_cut_and_no_changed_byte_makes_it_fail_otherwise() {
        let tree = b"TREE\0\0\0\x01x";
        let whole = index(3, &[entry("a", 0, None), entry("b/c", 0, Some(1))], tree);
        for end in 0..whole.len() {
            // Without the extension it is whole again, for git too.
            let whole_again = end == whole.len() - tree.len();
            assert_eq!(entries(&whole[..end], 20).is_some(), whole_again, "{end}");
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                drop(entries(&changed, 20));
            }
        }
    }
}
