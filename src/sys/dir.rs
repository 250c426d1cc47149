//! Folders: made for the current user alone, marked as used.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use crate::error::{Doing, Result};
use crate::sys::clock::Time;

/// Makes a folder and its parents for us alone.
pub fn make(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).at("create", path)
}

/// Marks a sandbox as used now.
pub fn touch(folder: &Path, now: Time) -> Result<()> {
    fs::File::open(folder).and_then(|folder| folder.set_modified(now.into())).at("mark", folder)
}
