//! What a merge needs besides the target: a worktree of its own for a while, and a note of what it
//! began in a checkout of the user's.
//!
//! Both are recognised after a crash: the worktree by its lock reason, the note by its name. They are
//! ours, and nobody's, once the lock of merges is free.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Merge;
use crate::create::random_hex;
use crate::delete;
use crate::error::{Doing, Error, Result};
use crate::journal;
use crate::lock::Lock;
use crate::out::Out;
use crate::repo::{self, Repo, Worktree, Worktrees};
use crate::sandbox::MERGING;
use crate::step;
use crate::trash::Trash;

const NOTE: &str = "sandbox.merging";

/// The lock of merges: one at a time in a repository, while others may create and remove.
pub fn lock(repo: &Repo, out: Out) -> Result<Lock> {
    Lock::exclusive(&lock_path(repo), out)
}

fn lock_path(repo: &Repo) -> PathBuf {
    repo.common.join("sandbox.merge.lock")
}

/// A worktree for a while.
#[derive(Debug)]
pub struct Away {
    /// Its folder.
    pub path: PathBuf,
    /// Its private git dir.
    pub entry: PathBuf,
}

impl Away {
    /// Detached at a commit.
    pub fn at(merge: &Merge, commit: &str) -> Result<Away> {
        Away::add(merge, &["--detach"], commit)
    }

    /// With the target checked out.
    pub fn on_target(merge: &Merge) -> Result<Away> {
        Away::add(merge, &[], &merge.into.name)
    }

    /// Nobody asked for a checkout, so its hook does not run.
    fn add(merge: &Merge, options: &[&str], start: &str) -> Result<Away> {
        let lock = merge.repo.lock(merge.out)?;
        let home = merge.place.home(merge.worktrees, merge.out)?;
        let path = home.path.join(format!(".merge-{}", random_hex()?));
        let git = merge.repo.git.holding(lock.file());
        step::reached();
        let add = ["worktree", "add", "--quiet", "--lock", "--reason", MERGING];
        let add = git.refresh(add).args(options).arg("--").arg(&path).arg(start);
        add.done("make a worktree to merge in")?;
        step::reached();
        let entry = repo::folder_points_to(&path);
        let entry = entry.filter(|entry| entry.starts_with(&merge.repo.common));
        let why = "git did not register it".to_owned();
        let entry = entry.ok_or(Error::Damaged { name: path.display().to_string(), why })?;
        Ok(Away { path, entry })
    }

    /// Takes it away again.
    pub fn remove(self, merge: &Merge) -> Result<()> {
        let lock = merge.repo.lock(merge.out)?;
        let git = merge.repo.git.holding(lock.file());
        // Of no consequence here: it only writes to the trash.
        let now = crate::time::now()?;
        let trash = Trash { repo: merge.repo, git, place: merge.place, now };
        step::reached();
        clear(&trash, &self.path, &self.entry)
    }
}

fn clear(trash: &Trash, path: &Path, entry: &Path) -> Result<()> {
    delete::tree(path).at("delete", path)?;
    step::reached();
    trash.drop_entry(entry)
}

/// What is being merged in which checkout of the user's.
#[derive(Debug, Serialize, Deserialize)]
pub struct Note {
    folder: PathBuf,
    git_dir: PathBuf,
    /// What git will have staged, if it comes to a merge commit.
    tree: Option<String>,
    #[serde(skip)]
    path: PathBuf,
}

impl Note {
    /// Written before git begins.
    pub fn write(merge: &Merge, folder: &Path, git_dir: &Path, tree: Option<&str>) -> Result<Note> {
        let path = merge.repo.common.join(NOTE);
        let (folder, git_dir) = (folder.to_owned(), git_dir.to_owned());
        let note = Note { folder, git_dir, tree: tree.map(str::to_owned), path };
        let bytes = serde_json::to_vec(&note).map_err(std::io::Error::from);
        journal::replace(&note.path, &bytes.at("write", &note.path)?)?;
        Ok(note)
    }

    /// git has come to its end.
    pub fn remove(self) -> Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            other => other.at("remove", &self.path),
        }
    }
}

/// What a merge left that was killed: its worktrees, and the note of what it began.
pub fn left_over(repo: &Repo, worktrees: &Worktrees) -> Vec<PathBuf> {
    let used = |tree: &&Worktree| tree.record.locked.as_deref() == Some(MERGING);
    let used = worktrees.linked.iter().filter(used).map(|tree| tree.record.path.clone());
    let note = Some(repo.common.join(NOTE)).filter(|note| note.exists());
    let left: Vec<PathBuf> = note.into_iter().chain(used).collect();
    let free = || matches!(Lock::if_free(&lock_path(repo)), Ok(Some(_)));
    if left.is_empty() || !free() { Vec::new() } else { left }
}

/// Takes it away. Whether there was anything.
pub fn recover(trash: &Trash, worktrees: &Worktrees, out: Out) -> bool {
    let mut changed = false;
    let left = left_over(trash.repo, worktrees);
    if left.is_empty() {
        return false;
    }
    // Held until the end: nobody begins another merge meanwhile.
    let Ok(Some(_lock)) = Lock::if_free(&lock_path(trash.repo)) else { return false };
    for path in left {
        let used = worktrees.linked.iter().find(|tree| tree.record.path == path);
        let done = match used {
            Some(tree) => clear(trash, &path, &tree.entry),
            None => undo(trash, &path, out),
        };
        match done {
            Ok(()) => changed = true,
            Err(error) => out.warn(&format!("an interrupted merge is still there: {error}")),
        }
    }
    changed
}

/// A merge that git had made but not committed is undone, if nobody has gone on with it.
fn undo(trash: &Trash, path: &Path, out: Out) -> Result<()> {
    let bytes = fs::read(path).at("read", path)?;
    let note: Option<Note> = serde_json::from_slice(&bytes).ok();
    if let Some(note) = note.filter(|note| note.git_dir.join("MERGE_HEAD").exists()) {
        let git = trash.git.at(&note.folder);
        let staged = git.look(["write-tree"]).ask()?;
        let staged = String::from_utf8_lossy(&staged.stdout).trim().to_owned();
        if note.tree.is_some_and(|tree| tree == staged) {
            git.call(["merge", "--abort"]).done("undo the merge")?;
        } else {
            let folder = note.folder.display();
            out.warn(&format!("a merge in '{folder}' was interrupted, and is left as it is"));
        }
    }
    fs::remove_file(path).at("remove", path)
}
