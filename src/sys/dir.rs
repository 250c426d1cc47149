//! Folders: made for the current user alone, marked as used.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Result};
use crate::sys::clock::Time;

/// Makes a folder and its parents for us alone.
pub fn make(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).at("create", path)
}

/// Returns the path of everything in a folder; nothing if the folder is not there.
pub fn paths_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.at("read", folder)?,
    };
    entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .at("read", folder)
}

/// Marks a sandbox as used now.
pub fn touch(folder: &Path, now: Time) -> Result<()> {
    fs::File::open(folder).and_then(|folder| folder.set_modified(now.into())).at("mark", folder)
}

/// Whether a folder is on btrfs, where several writers wait for each other.
#[cfg(target_os = "linux")]
pub fn is_btrfs(folder: impl AsFd) -> bool {
    const BTRFS: i128 = 0x9123_683e;
    // The system's type for it is not the same everywhere.
    rustix::fs::fstatfs(folder).is_ok_and(|found| i128::from(found.f_type) & 0xffff_ffff == BTRFS)
}

#[cfg(not(target_os = "linux"))]
pub fn is_btrfs(_folder: impl AsFd) -> bool {
    false
}
