//! The seal of a spare: a hash of its private git dir and of what the file system says about each of
//! its files. As long as it holds, nothing was written, added, removed or even touched.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::name;

/// What we write into a private git dir ourselves, and the path that a rename changes.
const OURS: [&str; 5] = ["sandbox.json", "sandbox.json.new", "sandbox.lock", "locked", "gitdir"];

/// The seal of a spare as it is now; none where something cannot be read.
pub fn seal(entry: &Path, folder: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    contents(entry, true, &mut bytes)?;
    stats(folder, &mut bytes)?;
    Some(name::hash(OsStr::from_bytes(&bytes)))
}

/// What the file system says about the files.
pub fn files(folder: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    stats(folder, &mut bytes).map(|()| bytes)
}

/// Every file of a private git dir with its content.
fn contents(dir: &Path, top: bool, bytes: &mut Vec<u8>) -> Option<()> {
    for (name, kind) in sorted(dir)? {
        let path = dir.join(OsStr::from_bytes(&name));
        if kind.is_dir() {
            contents(&path, false, bytes)?;
        } else if !top || !OURS.iter().any(|ours| ours.as_bytes() == name) {
            let content = fs::read(&path).ok()?;
            bytes.extend(path.as_os_str().as_bytes());
            bytes.extend([&[0], &content.len().to_le_bytes()[..], &content].concat());
        }
    }
    Some(())
}

/// Every file of a folder with its times, size, mode and number; of folders only what they are.
fn stats(dir: &Path, bytes: &mut Vec<u8>) -> Option<()> {
    for (name, kind) in sorted(dir)? {
        let path = dir.join(OsStr::from_bytes(&name));
        let meta = fs::symlink_metadata(&path).ok()?;
        bytes.extend([&name[..], &[0], &meta.mode().to_le_bytes()].concat());
        if kind.is_dir() {
            stats(&path, bytes)?;
            bytes.push(b'/');
        } else {
            let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
            bytes.extend(times.iter().flat_map(|part| part.to_le_bytes()));
            bytes.extend([meta.size(), meta.ino()].iter().flat_map(|part| part.to_le_bytes()));
        }
    }
    Some(())
}

fn sorted(dir: &Path) -> Option<Vec<(Vec<u8>, fs::FileType)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).ok()? {
        let entry = entry.ok()?;
        found.push((entry.file_name().as_bytes().to_vec(), entry.file_type().ok()?));
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    Some(found)
}
