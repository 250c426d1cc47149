//! Proof that a folder holds exactly the files that git put there, and nothing else.
//!
//! Every file of the index is there with the times, owner, number and size that git wrote down, was
//! older than the index by then, and there is no other file: git status could say no more about
//! them. Folders are entered by descriptor, never through a symlink. A no proves nothing: any file
//! that git does not know, an ignored one too, any doubt, is a no, and then git is asked.

use std::ffi::CString;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, statat};

use crate::git::index::{Index, Seen};

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Deeper than any checkout.
const DEEPEST: usize = 200;

/// A folder that the index has files in.
struct Folder<'a> {
    /// Its path, with a `/` at the end unless it is the top.
    path: &'a [u8],
    /// Its files, by their numbers in the index.
    files: Vec<usize>,
    /// How many folders it has.
    folders: usize,
}

/// Whether there is nothing in a folder but what git put there, as it put it there.
pub fn is_untouched(folder: &Path, index: &Index) -> bool {
    let Some(top) = open_top(folder) else { return false };
    let mut folders = Vec::new();
    if index.len() == 0 || !collect(index, 0..index.len(), 0, 0, &mut folders) {
        return false;
    }
    // The top last in the list, first in the work: what is new is mostly there.
    let (left, fine) = (AtomicUsize::new(folders.len()), AtomicBool::new(true));
    let work = || {
        while fine.load(Ordering::Relaxed) {
            let next =
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
            let Ok(number) = next else { return };
            if !is_as_written(&top, index, &folders[number - 1]) {
                fine.store(false, Ordering::Relaxed);
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    thread::scope(|scope| {
        for _ in 1..cores.min(folders.len()) {
            scope.spawn(work);
        }
        work();
    });
    fine.into_inner()
}

/// Finds the folders of the entries in `range`, which share the first `lead` bytes of their paths.
fn collect<'a>(
    index: &'a Index,
    range: Range<usize>,
    lead: usize,
    depth: usize,
    found: &mut Vec<Folder<'a>>,
) -> bool {
    let path = &index.path(range.start)[..lead];
    let mut folder = Folder { path, files: Vec::new(), folders: 0 };
    let mut number = range.start;
    while number < range.end {
        let whole = index.path(number);
        let Some(slash) = whole[lead..].iter().position(|byte| *byte == b'/') else {
            folder.files.push(number);
            number += 1;
            continue;
        };
        let inner = &whole[..=lead + slash];
        let more = (number..range.end).take_while(|other| index.path(*other).starts_with(inner));
        let end = number + more.count();
        if depth == DEEPEST || !collect(index, number..end, inner.len(), depth + 1, found) {
            return false;
        }
        folder.folders += 1;
        number = end;
    }
    found.push(folder);
    true
}

/// As many files and folders as in the index, and each of its files as git saw it: so no others.
fn is_as_written(top: &OwnedFd, index: &Index, folder: &Folder) -> bool {
    let Some(handle) = open(top, folder.path) else { return false };
    let Ok(names) = Dir::read_from(&handle) else { return false };
    let (mut files, mut folders) = (0, 0);
    for entry in names {
        let Ok(entry) = entry else { return false };
        match (entry.file_name().to_bytes(), entry.file_type()) {
            (b"." | b"..", _) => {}
            (b".git", FileType::RegularFile) if folder.path.is_empty() => {}
            (b".git", _) | (_, FileType::Unknown) => return false,
            (_, FileType::Directory) => folders += 1,
            _ => files += 1,
        }
    }
    let same = |number: &usize| is_file_as_written(&handle, index, *number, folder.path.len());
    files == folder.files.len() && folders == folder.folders && folder.files.iter().all(same)
}

/// Whether one file of the index, in the folder that its first `lead` bytes name, is as git put it
/// there.
fn is_file_as_written(folder: impl AsFd, index: &Index, number: usize, lead: usize) -> bool {
    let name = index.name(number, lead);
    let stat = name.and_then(|name| statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok());
    index.seen(number).zip(stat).is_some_and(|(seen, stat)| {
        let known = seen.size != 0 || index.is_empty(number);
        known && seen == Seen::of(&stat) && is_settled(index, &seen, &stat)
    })
}

/// Whether one file of the index is as git put it there. A no proves nothing, as above.
pub fn is_file_untouched(top: &OwnedFd, index: &Index, number: usize) -> bool {
    is_file_as_written(top, index, number, 0)
}

/// Opens a folder for that, unless it is a symlink.
pub fn open_top(folder: &Path) -> Option<OwnedFd> {
    openat(CWD, folder, FOLDER, Mode::empty()).ok()
}

/// Whether a write after the index was written must have given a file another time than git saw: the
/// clock had moved on by then. git itself counts in seconds; the change time, which nobody can set, also
/// tells finer, where file and index are on one file system and it keeps more than seconds. As with git
/// after that second, a write between git's look and the index, in one tick of the clock, is not seen.
fn is_settled(index: &Index, seen: &Seen, stat: &Stat) -> bool {
    let (seconds, nanoseconds) = seen.ctime;
    let finer = stat.st_dev == index.device
        && nanoseconds != 0
        && (i64::from(seconds), i64::from(nanoseconds)) < index.written;
    i64::from(seen.mtime.0) < index.written.0 || finer
}

fn open(top: &OwnedFd, path: &[u8]) -> Option<OwnedFd> {
    let steps = path.split(|byte| *byte == b'/').filter(|step| !step.is_empty());
    steps.chain([&b"."[..]]).try_fold(None, |at: Option<OwnedFd>, step| {
        let step = CString::new(step).ok()?;
        let next = openat(at.as_ref().unwrap_or(top), &step, FOLDER, Mode::empty()).ok()?;
        Some(Some(next))
    })?
}
