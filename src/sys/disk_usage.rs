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

/// `1.5 MiB`
pub fn in_words(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut tenths = bytes.saturating_mul(10) / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_words() {
        assert_eq!(in_words(0), "0.0 KiB");
        assert_eq!(in_words(1536), "1.5 KiB");
        assert_eq!(in_words(80 << 30), "80.0 GiB");
    }
}
