//! A folder of ours for files that are needed for a moment.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Result};
use crate::sys::{delete, random};

/// A folder in the system's folder for such files, for the current user alone. Deleted when dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes the folder; one that is there already is never used.
    pub fn new() -> Result<Scratch> {
        let path = std::env::temp_dir().join(format!("git-sandbox-{}", random::hex()?));
        DirBuilder::new().mode(0o700).create(&path).at("create", &path)?;
        Ok(Scratch(path))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = delete::tree(&self.0);
    }
}
