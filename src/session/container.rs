//! Containers: what one has to be given to run a command in a sandbox.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A path that a container sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where it is outside.
    pub source: PathBuf,
    /// Where it is inside.
    pub target: PathBuf,
    /// Whether it can be changed from inside.
    pub is_writable: bool,
}

impl Mount {
    /// A path that can be changed from inside.
    pub fn writable(source: &Path, target: &Path) -> Mount {
        Mount { source: source.to_owned(), target: target.to_owned(), is_writable: true }
    }

    /// A path that can only be read from inside.
    pub fn read_only(source: &Path, target: &Path) -> Mount {
        Mount { is_writable: false, ..Mount::writable(source, target) }
    }

    /// The value of an option `-v`.
    pub fn option(&self) -> OsString {
        let mut text = self.source.clone().into_os_string();
        text.push(":");
        text.push(&self.target);
        if !self.is_writable {
            text.push(":ro");
        }
        text
    }
}
