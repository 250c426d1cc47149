//! Whether a sandbox can be used and, if not, what is wrong with it.

use std::fmt;
use std::path::PathBuf;

/// Whether a sandbox can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It can.
    Ready,
    /// It is being made, or a crash left it half made.
    Creating,
    /// Its folder is not there.
    Missing,
    /// Its repository cannot be reached.
    Orphan,
    /// Folder and entry do not belong together.
    Damaged(Damage),
}

/// What is wrong with a sandbox whose folder and private git dir do not belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Its folder cannot be read.
    Unreadable,
    /// Its folder is a symlink.
    Symlink,
    /// Its folder is a file.
    NotAFolder,
    /// Its `.git` file is missing or not understood.
    NoGitFile,
    /// Its `.git` file leads to another private git dir.
    OtherEntry,
    /// A file in its private git dir is a pipe, or a link where git has a file.
    OddFile(PathBuf),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Damage::OddFile(path) => {
                return write!(f, "'{}' is not a plain file, as git's own are", path.display());
            }
            Damage::Unreadable => "its folder cannot be read",
            Damage::Symlink => "its folder is a symlink",
            Damage::NotAFolder => "its folder is a file",
            Damage::NoGitFile => "its '.git' file is missing or not understood",
            Damage::OtherEntry => "its '.git' file leads to another entry",
        };
        f.write_str(text)
    }
}

impl State {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            State::Ready => "ready",
            State::Creating => "creating",
            State::Missing => "missing",
            State::Orphan => "orphan",
            State::Damaged(_) => "damaged",
        }
    }

    /// What is wrong, if something is.
    pub fn problem(&self) -> Option<String> {
        let text = match self {
            State::Ready => return None,
            State::Creating => "it is being created, or its creation was interrupted",
            State::Missing => "its folder is not there",
            State::Orphan => "its repository cannot be reached",
            State::Damaged(why) => return Some(why.to_string()),
        };
        Some(text.to_owned())
    }
}
