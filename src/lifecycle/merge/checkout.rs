//! A checkout of the user's that a commit is to be landed in, and what may be in progress there.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::obstacle::{Obstacle, Step};
use crate::error::Error;
use crate::git::Git;
use crate::repo::holders::{self, Holder};
use crate::repo::{Repo, Worktrees, link};
use crate::sandbox::Sandbox;

/// A checkout of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// Its folder.
    pub path: PathBuf,
    /// Its private git dir; of the main worktree the common dir.
    pub git_dir: PathBuf,
    /// Whether it is the main worktree.
    pub is_main: bool,
}

impl Checkout {
    /// The checkout that a branch, named in full, is on. `None` where it is checked out nowhere.
    pub fn of(repo: &Repo, worktrees: &Worktrees, branch: &str) -> Step<Option<Checkout>> {
        let mut found: Option<Checkout> = None;
        for holder in holders::of(worktrees, &repo.common, OsStr::new(branch)) {
            let Holder { record, git_dir, is_main } = holder;
            let folder = record.path.clone();
            if holder.is_busy() {
                let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch).to_owned();
                return Err(Obstacle::Held { branch, folder }.into());
            }
            if record.bare {
                continue;
            }
            if is_main && repo.is_main_unknown(record) {
                return Err(Error::UnknownMainWorktree { common: folder }.into());
            }
            let connected = is_main || link::leads_to(&folder, git_dir);
            if !folder.is_dir() || !connected {
                return Err(Obstacle::Missing { folder }.into());
            }
            if let Some(first) = found {
                return Err(Obstacle::Twice { folder: first.path, other: folder }.into());
            }
            found = Some(Checkout { path: folder, git_dir: git_dir.to_owned(), is_main });
        }
        Ok(found)
    }

    /// Stops while an operation of the user's is in progress.
    pub fn is_idle(&self, git: &Git, reftable: bool) -> Step<()> {
        let known = Sandbox::in_trash(&self.path, &self.git_dir).operation(git, reftable);
        let there = |name: &str| self.git_dir.join(name).exists();
        let what = match () {
            () if there("SQUASH_MSG") => Some("squash"),
            () if there("sequencer") => Some("cherry-pick or revert"),
            () => None,
        };
        match known.or(what) {
            Some(what) => Err(Obstacle::Operation { folder: self.path.clone(), what }.into()),
            None => Ok(()),
        }
    }
}
