//! A merge that is wanted: everything that the steps start from.

use std::path::PathBuf;

use crate::repo::base::Base;
use crate::repo::place::Place;
use crate::repo::{Repo, Worktrees};
use crate::sandbox::Sandbox;
use crate::sys::clock::Time;
use crate::ui::out::Out;

/// How the commits come into the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As `git merge` does it by the user's config.
    Merge,
    /// Only if the target need not be merged with anything.
    FastForward,
    /// As one commit.
    Squash,
    /// Replayed on top of the target.
    Rebase,
}

/// A merge that is wanted.
#[derive(Debug)]
pub struct Merge<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// Its worktrees.
    pub worktrees: &'a Worktrees,
    /// Its places.
    pub place: &'a Place,
    /// The time.
    pub now: Time,
    /// Where to narrate.
    pub out: Out,
    /// The sandbox whose work it is.
    pub sandbox: &'a Sandbox,
    /// Its branch.
    pub branch: &'a str,
    /// Its commit.
    pub head: &'a str,
    /// The branch to merge into.
    pub into: &'a Base,
    /// How.
    pub how: How,
    /// The message, if it is not git's own.
    pub message: Option<&'a str>,
}

/// The file that the lock of merges is on.
pub(super) fn lock_path(repo: &Repo) -> PathBuf {
    repo.common.join("sandbox.merge.lock")
}
