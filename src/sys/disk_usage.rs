//! How much room a folder takes.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The bytes that freeing a folder frees, symlinks not followed.
pub fn of(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    let mut todo = vec![folder.to_owned()];
    while let Some(path) = todo.pop() {
        let meta = fs::symlink_metadata(&path)?;
        bytes += meta.blocks() * 512;
        if meta.is_dir() {
            for entry in fs::read_dir(&path)? {
                todo.push(entry?.path());
            }
        }
    }
    Ok(bytes)
}
