//! Files in private git dirs that git never makes: pipes, devices, links in the place of logs.
//!
//! git reads files of every entry, whatever it is asked, and would wait at a pipe for ever. While we
//! run, a pipe has an end: a process that opens it finds it empty. So git lists the other worktrees, and the
//! one with the pipe counts as damaged. A pipe in the place of `commondir`, which git cannot do without
//! and which is the same everywhere, is replaced.
//!
//! A `worktree prune` deletes an entry whose `gitdir` is empty. We start none while there is an odd
//! file, and give a pipe in that place no end while another process may be pruning.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, FileType, OpenOptions};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use rustix::fs::OFlags;

use crate::error::{Error, Result};
use crate::repo::link::folder_points_to;
use crate::sys::processes::{self, Process};
use crate::sys::{dir, file, parallel};

const GITDIR: &str = "gitdir";

/// A private git dir with a file that git never makes.
#[derive(Clone, Debug)]
pub struct Odd {
    /// The private git dir.
    pub entry: PathBuf,
    /// The file.
    pub file: PathBuf,
}

/// Finds odd files in every private git dir of a repository, and keeps git from waiting at pipes. A
/// device, which may never end, is an error.
pub fn guard(common: &Path) -> Result<Vec<Odd>> {
    let entries = dir::paths_in(&common.join("worktrees"))?;
    let odd = parallel::map(&entries, |entry| guard_entry(entry)).into_iter();
    odd.filter_map(Result::transpose).collect()
}

/// The same for one private git dir.
pub fn guard_entry(entry: &Path) -> Result<Option<Odd>> {
    let files = odd_files(entry);
    for path in &files {
        match path.metadata().map(|meta| meta.file_type()) {
            // It is the same in every entry, git fails altogether without it, and a pipe holds nothing.
            Ok(kind) if kind.is_fifo() && path.ends_with("commondir") => {
                file::replace(path, b"../..\n")?;
            }
            Ok(kind) if kind.is_fifo() && path.ends_with(GITDIR) && is_being_pruned(entry) => {
                return Err(Error::OddFile { path: path.clone() });
            }
            Ok(kind) if kind.is_fifo() => end(path, entry),
            Ok(kind) if is_device(kind) => return Err(Error::OddFile { path: path.clone() }),
            _ => {}
        }
    }
    let file = files.into_iter().next();
    Ok(file.map(|file| Odd { entry: entry.to_owned(), file }))
}

fn is_device(kind: FileType) -> bool {
    kind.is_char_device() || kind.is_block_device()
}

/// Everything in a private git dir that git never makes.
fn odd_files(entry: &Path) -> Vec<PathBuf> {
    // What git reads and writes there without a second look.
    const FOLDERS: [&str; 3] = ["logs", "rebase-merge", "rebase-apply"];
    let files = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    // A socket is the file system monitor's, and opening one does not wait.
    let blocks = |kind: FileType| kind.is_fifo() || is_device(kind);
    let odd =
        |file: &DirEntry| file.file_type().is_ok_and(|kind| kind.is_symlink() || blocks(kind));
    let mut found = Vec::new();
    for file in files(entry) {
        let path = file.path();
        if FOLDERS.iter().any(|name| file.file_name() == *name) {
            match odd(&file) {
                true => found.push(path),
                false => found.extend(files(&path).filter(odd).map(|file| file.path())),
            }
        } else if odd(&file) && path.metadata().is_ok_and(|meta| blocks(meta.file_type())) {
            // A HEAD or an index may be a symlink to a file.
            found.push(path);
        }
    }
    found
}

/// Gives a pipe an end: as soon as there is a reader, we are a writer that goes away at once.
fn end(pipe: &Path, entry: &Path) {
    static ENDED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if !ENDED.lock().is_ok_and(|mut ended| ended.insert(pipe.to_owned())) {
        return;
    }
    let (pipe, entry) = (pipe.to_owned(), entry.to_owned());
    std::thread::spawn(move || {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let is_gitdir = pipe.ends_with(GITDIR);
        loop {
            // Without a reader this fails, and does not wait.
            if !(is_gitdir && is_being_pruned(&entry))
                && let Ok(writer) = OpenOptions::new().write(true).custom_flags(flags).open(&pipe)
            {
                drop(writer);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Whether some git may be about to prune the worktrees of the repository of this entry.
fn is_being_pruned(entry: &Path) -> bool {
    const WORDS: [&[u8]; 3] = [b"gc", b"maintenance", b"prune"];
    let common = entry.ancestors().nth(2).unwrap_or(entry);
    let main = common.parent().unwrap_or(common);
    let is_here = |path: &Path| {
        let points_here =
            |folder: &Path| folder_points_to(folder).is_some_and(|it| it.starts_with(common));
        path.starts_with(main) || path.ancestors().any(points_here)
    };
    let prunes = |process: &Process| {
        process.command.starts_with("git")
            && process.words().iter().any(|word| WORDS.contains(&word.as_slice()))
            && process.paths.iter().any(is_here)
    };
    processes::all().iter().any(prunes)
}
