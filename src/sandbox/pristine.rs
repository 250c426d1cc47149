//! Proof that a folder holds all files that git put there, as git put them there, and what else it holds.
//!
//! Every file of the index is there with the times, owner, number and size that git wrote down, and was
//! older than the index by then; submodules are not checked out. git status could say no more about
//! them. Folders are entered by descriptor, never through a symlink. Any doubt is no proof, and then git
//! is asked.

use std::collections::HashSet;
use std::ffi::{CStr, OsString};
use std::ops::{ControlFlow, Range};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rustix::fs::{AtFlags, CWD, Dir, DirEntry, FileType, Mode, OFlags, Stat, openat, statat};

use crate::git::index::{Index, Seen};
use crate::sys::names;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Deeper than any checkout.
const DEEPEST: usize = 200;

/// A folder that the index has files in.
struct Folder<'a> {
    /// Its path, with a `/` at the end unless it is the top.
    path: &'a [u8],
    /// Its files, by their numbers in the index.
    files: Vec<usize>,
    /// Its submodules, by their numbers in the index.
    submodules: Vec<usize>,
    /// The names of its folders.
    folders: Vec<&'a [u8]>,
}

/// Finds what is in a folder besides what git put there: relative paths, those of folders with a `/` at
/// the end. `None` unless everything is there that git put there, as it put it there. As many threads look
/// as `cores` says.
pub fn strangers(folder: &Path, index: &Index, cores: usize) -> Option<Vec<PathBuf>> {
    let top = open_top(folder)?;
    let mut folders = Vec::new();
    if index.len() == 0 || !collect(index, 0..index.len(), 0, 0, &mut folders) {
        return None;
    }
    let found = Mutex::new(Vec::new());
    // The top last in the list, first in the work: what is new is mostly there.
    let (left, fine) = (AtomicUsize::new(folders.len()), AtomicBool::new(true));
    let work = || {
        while fine.load(Ordering::Relaxed) {
            let next =
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
            let Ok(number) = next else { return };
            match others(&top, index, &folders[number - 1]) {
                Some(others) if others.is_empty() => {}
                Some(mut others) => {
                    found.lock().unwrap_or_else(PoisonError::into_inner).append(&mut others);
                }
                None => fine.store(false, Ordering::Relaxed),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..cores.min(folders.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable();
    fine.into_inner().then_some(found)
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
    let (files, submodules, folders) = (Vec::new(), Vec::new(), Vec::new());
    let mut folder = Folder { path, files, submodules, folders };
    let mut number = range.start;
    while number < range.end {
        let whole = index.path(number);
        let Some(slash) = whole[lead..].iter().position(|byte| *byte == b'/') else {
            match index.is_submodule(number) {
                true => folder.submodules.push(number),
                false => folder.files.push(number),
            }
            number += 1;
            continue;
        };
        let inner = &whole[..=lead + slash];
        let more = (number..range.end).take_while(|other| index.path(*other).starts_with(inner));
        let end = number + more.count();
        if depth == DEEPEST || !collect(index, number..end, inner.len(), depth + 1, found) {
            return false;
        }
        folder.folders.push(&whole[lead..lead + slash]);
        number = end;
    }
    found.push(folder);
    true
}

/// What is in a folder besides its files and folders of the index; `None` unless each of those is as
/// git put it there.
fn others(top: &OwnedFd, index: &Index, folder: &Folder) -> Option<Vec<PathBuf>> {
    let handle = open(top, folder.path)?;
    let lead = folder.path.len();
    let (mut files, mut folders) = (0, 0);
    read(&handle, folder, |_, is_folder| if is_folder { folders += 1 } else { files += 1 })?;
    let as_written = |number: &usize| is_file_as_written(&handle, index, *number, lead);
    let empty =
        |number: &usize| index.name(*number, lead).is_some_and(|name| is_empty(&handle, name));
    if !folder.files.iter().all(as_written) || !folder.submodules.iter().all(empty) {
        return None;
    }
    // Each of its own was seen: as many as there are means that there are no others.
    let known = folder.folders.len() + folder.submodules.len();
    if files == folder.files.len() && folders == known {
        return Some(Vec::new());
    }
    let of_index = |number: &usize| &index.path(*number)[lead..];
    let mine: HashSet<&[u8]> = folder.files.iter().map(of_index).collect();
    let inner = folder.submodules.iter().map(of_index).chain(folder.folders.iter().copied());
    let inner: HashSet<&[u8]> = inner.collect();
    let mut found = Vec::new();
    read(&open(top, folder.path)?, folder, |name, is_folder| {
        let (known, end) = if is_folder { (&inner, &b"/"[..]) } else { (&mine, &b""[..]) };
        if !known.contains(name) {
            let bytes = [folder.path, name, end].concat();
            found.push(PathBuf::from(OsString::from_vec(bytes)));
        }
    })?;
    Some(found)
}

/// Tells every name in a folder, and whether it is one of a folder. `None` where that is not known, or
/// where there is a repository.
fn read(handle: &OwnedFd, folder: &Folder, mut tell: impl FnMut(&[u8], bool)) -> Option<()> {
    let mut fine = true;
    let told = names::each(handle, |name, kind| {
        match (name.to_bytes(), kind) {
            (b"." | b"..", _) => {}
            (b".git", FileType::RegularFile) if folder.path.is_empty() => {}
            (b".git", _) | (_, FileType::Unknown) => fine = false,
            (name, kind) => tell(name, kind == FileType::Directory),
        }
        if fine { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    told.ok().filter(|()| fine)
}

fn is_empty(folder: &OwnedFd, name: &CStr) -> bool {
    let inside = openat(folder, name, FOLDER, Mode::empty()).and_then(Dir::read_from);
    let names = |entry: DirEntry| matches!(entry.file_name().to_bytes(), b"." | b"..");
    inside.is_ok_and(|mut inside| inside.all(|entry| entry.is_ok_and(names)))
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
/// clock had moved on by then. git itself counts in seconds; the change time, which no program can set,
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
    let path = path.strip_suffix(b"/").unwrap_or(b".");
    path.split(|byte| *byte == b'/').try_fold(None, |at: Option<OwnedFd>, step| {
        let next = openat(at.as_ref().unwrap_or(top), step, FOLDER, Mode::empty()).ok()?;
        Some(Some(next))
    })?
}
