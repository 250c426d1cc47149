//! Why a commit cannot be landed in a checkout, and how a step says so.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::ui::words::shell_word;

/// How many files a message names.
const NAMED: usize = 5;

/// Why a commit cannot be landed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// An operation of the user's is in progress in the checkout.
    Operation { folder: PathBuf, what: &'static str },
    /// The branch is to be gone back to after a rebase or bisect.
    Held { branch: String, folder: PathBuf },
    /// Two worktrees are on the branch: one of them would be left behind.
    Twice { folder: PathBuf, other: PathBuf },
    /// The folder of the checkout is not there.
    Missing { folder: PathBuf },
    /// The checkout has no index: nothing was ever checked out.
    NoIndex { folder: PathBuf },
    /// The index holds conflicts.
    Conflicts { folder: PathBuf },
    /// Files with uncommitted changes would be overwritten.
    Changed { folder: PathBuf, files: Vec<PathBuf> },
    /// Files that git does not track, ignored ones too, would be overwritten.
    Untracked { folder: PathBuf, files: Vec<PathBuf> },
    /// Another git works in the checkout.
    Busy { folder: PathBuf },
    /// The branch, or the HEAD of the checkout, has moved.
    Moved,
    /// git refused, in its own words.
    Git(String),
    /// It failed half way, and these files could not be put back as they were. Whether the next
    /// command should try again.
    Half { why: String, folder: PathBuf, files: Vec<PathBuf>, again: bool },
}

impl Obstacle {
    /// A command that shows more of it.
    pub fn hint(&self) -> Option<String> {
        let git = |folder: &Path, rest: &str| {
            Some(format!("git -C {} {rest}", shell_word(&folder.to_string_lossy())))
        };
        match self {
            Obstacle::Operation { folder, .. }
            | Obstacle::Conflicts { folder }
            | Obstacle::Changed { folder, .. }
            | Obstacle::Half { folder, .. } => git(folder, "status"),
            Obstacle::Untracked { folder, .. } => git(folder, "status --ignored"),
            Obstacle::NoIndex { folder } => git(folder, "checkout"),
            Obstacle::Missing { folder } => {
                Some(format!("git sandbox rm {}", shell_word(&folder.to_string_lossy())))
            }
            Obstacle::Held { .. }
            | Obstacle::Twice { .. }
            | Obstacle::Busy { .. }
            | Obstacle::Moved
            | Obstacle::Git(_) => None,
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Operation { folder, what } => {
                write!(f, "a {what} is in progress in '{}'", folder.display())
            }
            Obstacle::Held { branch, folder } => {
                let folder = folder.display();
                write!(f, "'{branch}' is in the middle of a rebase or bisect in '{folder}'")
            }
            Obstacle::Twice { folder, other } => {
                let (folder, other) = (folder.display(), other.display());
                write!(f, "it is checked out twice, in '{folder}' and in '{other}'")
            }
            Obstacle::Missing { folder } => {
                write!(f, "it is checked out in '{}', which is not there", folder.display())
            }
            Obstacle::NoIndex { folder } => {
                write!(f, "nothing is checked out in '{}' yet", folder.display())
            }
            Obstacle::Conflicts { folder } => {
                write!(f, "there are unresolved conflicts in '{}'", folder.display())
            }
            Obstacle::Changed { folder, files } => {
                let (folder, files) = (folder.display(), listed(files));
                write!(f, "uncommitted changes in '{folder}' are in the way: {files}")
            }
            Obstacle::Untracked { folder, files } => {
                let (folder, files) = (folder.display(), listed(files));
                write!(f, "files in '{folder}' that git does not track are in the way: {files}")
            }
            Obstacle::Busy { folder } => {
                write!(f, "another git is at work in '{}'", folder.display())
            }
            Obstacle::Moved => f.write_str("it has moved meanwhile"),
            Obstacle::Git(why) => f.write_str(why),
            Obstacle::Half { why, folder, files, .. } => {
                let (folder, files) = (folder.display(), listed(files));
                write!(f, "{why}; in '{folder}' these could not be put back: {files}")
            }
        }
    }
}

/// Names files in a message, but not hundreds.
pub fn listed(files: &[PathBuf]) -> String {
    let named = files.iter().take(NAMED).map(|file| format!("'{}'", file.display()));
    let named = named.collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Why a step of a landing ended early.
#[derive(Debug)]
pub enum Stop {
    /// An obstacle: nothing was changed, or what was is as before.
    Obstacle(Obstacle),
    /// An error.
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

impl From<Obstacle> for Stop {
    fn from(obstacle: Obstacle) -> Stop {
        Stop::Obstacle(obstacle)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Obstacle(obstacle) => obstacle.fmt(f),
            Stop::Error(error) => error.fmt(f),
        }
    }
}

/// The result of a step of a landing.
pub type Step<T> = Result<T, Stop>;
