//! A merge that is wanted: everything that the steps start from.

use std::path::PathBuf;

use crate::repo::base::Base;
use crate::repo::place::Place;
use crate::repo::{Repo, Worktrees};
use crate::sandbox::Sandbox;
use crate::sys::clock::Time;
use crate::ui::out::Out;
use crate::ui::words::shell_word;

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

impl How {
    /// The option that asks for it, with a space before it.
    fn option(self) -> &'static str {
        match self {
            How::Merge => "",
            How::FastForward => " --ff-only",
            How::Squash => " --squash",
            How::Rebase => " --rebase",
        }
    }
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
    /// The command that asks for it, for hints; how and the message are not in it.
    pub command: &'a str,
}

impl Merge<'_> {
    /// Returns the command that asks for this merge, done in a given way.
    pub(super) fn typed(&self, how: How) -> String {
        let commits = matches!(how, How::Merge | How::Squash);
        let message = self.message.filter(|_| commits);
        let message = message.map(|text| format!(" --message {}", shell_word(text)));
        format!("{}{}{}", self.command, how.option(), message.unwrap_or_default())
    }
}

/// The file that the lock of merges is on.
pub(super) fn lock_path(repo: &Repo) -> PathBuf {
    repo.common.join("sandbox.merge.lock")
}
