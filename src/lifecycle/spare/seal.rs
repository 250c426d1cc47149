//! The seal of a spare: a hash of what the file system says about each of its files and of those in
//! its private git dir. As long as it holds, nothing was written, added, removed or even touched.

use std::ffi::{CString, OsStr};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, statat};

/// What we write into a private git dir ourselves, and the path that a rename changes.
const OURS: [&str; 5] = ["sandbox.json", "sandbox.json.new", "sandbox.lock", "locked", "gitdir"];

/// The seal of a spare as it is now; none where something cannot be read. Another release may seal
/// otherwise: then spares are made anew.
pub fn seal(entry: &Path, folder: &Path) -> Option<String> {
    let mut hash = DefaultHasher::new();
    let dir = openat(CWD, entry, FOLDER, Mode::empty()).ok()?;
    for (name, stat) in inside(&dir)? {
        if !OURS.iter().any(|ours| ours.as_bytes() == name.as_bytes()) {
            one(&dir, &name, &stat, &mut hash)?;
        }
    }
    files(folder)?.hash(&mut hash);
    Some(format!("{:016x}", hash.finish()))
}

/// The same of the files alone. Half of what is in a large folder is looked at by another thread.
pub fn files(folder: &Path) -> Option<Vec<u64>> {
    let dir = openat(CWD, folder, FOLDER, Mode::empty()).ok()?;
    let found = inside(&dir)?;
    let hashed = |part: &[(CString, Stat)]| -> Option<u64> {
        let mut hash = DefaultHasher::new();
        for (name, stat) in part {
            one(&dir, name, stat, &mut hash)?;
        }
        Some(hash.finish())
    };
    let (first, second) = found.split_at(found.len() / 2);
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| hashed(second));
        (hashed(first), second.join().ok().flatten())
    });
    Some(vec![first?, second?])
}

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A file with its times, size, mode and number; a folder with its mode and what is in it.
fn one(dir: &OwnedFd, name: &CString, stat: &Stat, hash: &mut DefaultHasher) -> Option<()> {
    OsStr::from_bytes(name.as_bytes()).hash(hash);
    stat.st_mode.hash(hash);
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        (stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec).hash(hash);
        (stat.st_size, stat.st_ino).hash(hash);
        return Some(());
    }
    let inner = openat(dir, name.as_c_str(), FOLDER, Mode::empty()).ok()?;
    let found = inside(&inner)?;
    found.len().hash(hash);
    found.iter().try_for_each(|(name, stat)| one(&inner, name, stat, hash))
}

fn inside(dir: &OwnedFd) -> Option<Vec<(CString, Stat)>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(dir).ok()? {
        let name = entry.ok()?.file_name().to_owned();
        if !matches!(name.as_bytes(), b"." | b"..") {
            let stat = statat(dir, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
            found.push((name, stat));
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    Some(found)
}
