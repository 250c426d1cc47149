//! What is put away, and what can forbid it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, plain};
use crate::git::Git;

/// A removed sandbox that is to leave the trash.
pub struct Item<'a> {
    /// Its name in the trash.
    pub id: &'a str,
    /// Its files; `None` for an item whose folder is gone.
    pub tree: Option<&'a Path>,
    /// Its private git dir; `None` for an orphan.
    pub private: Option<&'a Path>,
    /// What git ignored when it was removed, relative to the tree, folders with a `/` at their end.
    /// `None` means that nothing counts as ignored.
    pub ignored: Option<&'a [PathBuf]>,
    /// Whether an ignored file, by its path in the tree, is kept all the same.
    pub precious: &'a dyn Fn(&Path) -> bool,
    /// The commit that its files are compared with, and that a ref of the repository keeps.
    pub base: Option<Base<'a>>,
    /// Stored as it is.
    pub journal: &'a Value,
}

/// A commit of a repository.
#[derive(Clone, Copy)]
pub struct Base<'a> {
    /// The git of the repository.
    pub git: &'a Git,
    /// Its full id, in the repository's own format.
    pub commit: &'a str,
}

/// The two folders of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The sandbox's folder.
    Tree,
    /// Its private git dir.
    Private,
}

impl Part {
    /// Both, in the order in which they are put away and deleted.
    pub const ALL: [Part; 2] = [Part::Tree, Part::Private];

    /// The first step of every path in the manifest.
    pub fn name(self) -> &'static str {
        match self {
            Part::Tree => "tree",
            Part::Private => "private",
        }
    }
}

impl<'a> Item<'a> {
    /// One of its folders.
    pub fn folder(&self, part: Part) -> Option<&'a Path> {
        match part {
            Part::Tree => self.tree,
            Part::Private => self.private,
        }
    }
}

/// Why an item, or the rest of it, stays in the trash. Paths are those of the manifest.
#[derive(Debug)]
pub enum Obstacle {
    /// A nested repository or a submodule has work of its own, or it cannot be told.
    NestedWork(PathBuf),
    /// A file or folder cannot be read.
    Unreadable(PathBuf, io::Error),
    /// A device.
    Device(PathBuf),
    /// Another file system is mounted there.
    Mount(PathBuf),
    /// Extended attributes that a user or a program has set, for which a manifest has no place.
    Attributes(PathBuf),
    /// A file is not what it was when it was read.
    Changed(PathBuf),
    /// A file was not there when the folder was read.
    Added(PathBuf),
    /// A file cannot be deleted.
    Undeletable(PathBuf, io::Error),
    /// A process uses it.
    InUse,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::NestedWork(path) => write!(f, "unsaved work in '{}'", path.display()),
            Obstacle::Unreadable(path, why) => {
                write!(f, "cannot read '{}': {}", path.display(), plain(why))
            }
            Obstacle::Device(path) => write!(f, "'{}' is a device", path.display()),
            Obstacle::Mount(path) => write!(f, "contains the mount point '{}'", path.display()),
            Obstacle::Attributes(path) => {
                write!(f, "'{}' has extended attributes", path.display())
            }
            Obstacle::Changed(path) => write!(f, "'{}' has just changed", path.display()),
            Obstacle::Added(path) => write!(f, "'{}' has just been added", path.display()),
            Obstacle::Undeletable(path, why) => {
                write!(f, "cannot delete '{}': {}", path.display(), plain(why))
            }
            Obstacle::InUse => f.write_str("in use"),
        }
    }
}

/// What ends putting away early.
#[derive(Debug)]
pub enum Stop {
    /// The item stays.
    Obstacle(Obstacle),
    /// The vault's git takes no more input.
    Import(io::Error),
    /// The vault, or git, failed.
    Error(Error),
}

impl From<Obstacle> for Stop {
    fn from(obstacle: Obstacle) -> Stop {
        Stop::Obstacle(obstacle)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

/// What is told about an item without reading its manifest. Stored as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The format; [`VERSION`].
    pub version: u32,
    /// Its name in the trash.
    pub id: String,
    /// When it was put away, in RFC 3339.
    pub when: String,
    /// The commits that its files were compared with, oldest first.
    pub bases: Vec<String>,
    /// How many records its manifest has.
    pub records: u64,
    /// The bytes of all its files.
    pub size: u64,
    /// The bytes that the vault stores of them, before compression.
    pub stored: u64,
    /// The item's own journal.
    pub journal: Value,
}

/// The format that this program writes, and the only one it reads.
pub const VERSION: u32 = 1;
