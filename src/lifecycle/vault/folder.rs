//! Reading folders and files by descriptor: never through a symlink, never into another mount.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, SeekFrom, Stat, flistxattr, fstat, openat,
    seek, statat,
};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use sha1::{Digest, Sha1};

use crate::lifecycle::vault::item::Obstacle;
use crate::lifecycle::vault::manifest::{Pieces, Stamp, shown};
use crate::sys::delete::step_into;

/// An entry of a folder.
#[derive(Debug)]
pub struct Entry {
    /// Its name.
    pub name: CString,
    /// What it is.
    pub kind: FileType,
}

/// What the file system says about a file. Two that are equal mean that it was not written to, as
/// long as it had [settled](settle).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    pub mtime: Stamp,
    pub ctime: Stamp,
    pub mode: u32,
}

impl Seen {
    /// What a stat says.
    #[allow(clippy::useless_conversion, reason = "the types differ on other systems")]
    pub fn of(stat: &Stat) -> Seen {
        let nanoseconds = |part: Option<u32>| part.unwrap_or(0);
        Seen {
            device: u64::try_from(stat.st_dev).unwrap_or(0),
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime: (stat.st_mtime, nanoseconds(u32::try_from(stat.st_mtime_nsec).ok())),
            ctime: (stat.st_ctime, nanoseconds(u32::try_from(stat.st_ctime_nsec).ok())),
            mode: u32::from(stat.st_mode),
        }
    }

    /// The file itself, whatever is in it.
    pub fn place(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// Its permissions.
    pub fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    /// What it is.
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.mode as RawMode)
    }
}

/// Opens the top folder of a part; a symlink in its place is an error.
pub fn open_top(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
}

/// Opens a folder in a folder.
pub fn open_folder(parent: &OwnedFd, name: &CStr, path: &[u8]) -> Result<OwnedFd, Obstacle> {
    step_into(parent, name).map_err(|error| obstacle(error, path))
}

/// Opens a file in a folder to read it.
pub fn open_file(parent: &OwnedFd, name: &CStr, path: &[u8]) -> Result<OwnedFd, Obstacle> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    open_here(parent, name, flags).map_err(|error| obstacle(error, path))
}

#[cfg(target_os = "linux")]
fn open_here(parent: &OwnedFd, name: &CStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    match openat2(parent, name, flags, Mode::empty(), resolve) {
        Err(Errno::NOSYS) => openat(parent, name, flags, Mode::empty()),
        other => other,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_here(parent: &OwnedFd, name: &CStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    openat(parent, name, flags, Mode::empty())
}

/// What a failure to open means.
pub fn obstacle(error: Errno, path: &[u8]) -> Obstacle {
    match error {
        Errno::XDEV => Obstacle::Mount(shown(path)),
        // It was something else when its folder was read.
        Errno::NOENT | Errno::LOOP | Errno::NOTDIR => Obstacle::Changed(shown(path)),
        other => Obstacle::Unreadable(shown(path), other.into()),
    }
}

/// The entries of a folder, in the order of git's trees: a folder as if its name ended in `/`.
pub fn entries(folder: &OwnedFd) -> rustix::io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                FileType::from_raw_mode(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)
            }
            kind => kind,
        };
        entries.push(Entry { name: name.to_owned(), kind });
    }
    let slash = |entry: &Entry| (entry.kind == FileType::Directory).then_some(&b'/');
    entries.sort_unstable_by(|one, other| {
        let bytes = |entry: &Entry| entry.name.to_bytes().len();
        let (first, second) = (one.name.to_bytes(), other.name.to_bytes());
        let common = bytes(one).min(bytes(other));
        first[..common].cmp(&second[..common]).then_with(|| {
            let rest = first[common..].iter().chain(slash(one));
            rest.cmp(second[common..].iter().chain(slash(other)))
        })
    });
    Ok(entries)
}

/// What the file system says about an entry now, a symlink itself.
pub fn look(folder: &OwnedFd, name: &CStr) -> rustix::io::Result<Seen> {
    Ok(Seen::of(&statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?))
}

/// Looks at an open file once it is old enough that a later write must change its times: file systems
/// count in ticks of the kernel's clock, and some in seconds.
pub fn settle(file: &OwnedFd) -> rustix::io::Result<Stat> {
    const TICKS: i128 = 50_000_000;
    const SECONDS: i128 = 2_000_000_000;
    let stat = fstat(file)?;
    let changed = i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec);
    let now = clock_gettime(ClockId::Realtime);
    let now = i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec);
    let needed = if stat.st_ctime_nsec == 0 { SECONDS } else { TICKS };
    // A time in the future says nothing; waiting once is all that can be done.
    let wait = (changed + needed - now).min(needed);
    match u64::try_from(wait) {
        Ok(wait @ 1..) => {
            std::thread::sleep(Duration::from_nanos(wait));
            fstat(file)
        }
        _ => Ok(stat),
    }
}

/// Whether a file or folder has extended attributes that a user or a program has set. Those of the system
/// come back by themselves.
pub fn has_attributes(file: &OwnedFd) -> rustix::io::Result<bool> {
    let is_system = |name: &[u8]| match cfg!(target_os = "macos") {
        true => name.starts_with(b"com.apple."),
        false => !name.starts_with(b"user."),
    };
    let mut names = [0; 1024];
    match flistxattr(file, &mut names[..]) {
        Ok(length) => {
            let mut names = names[..length].split(|byte| *byte == 0);
            Ok(names.any(|name| !name.is_empty() && !is_system(name)))
        }
        // More than a system sets.
        Err(Errno::RANGE) => Ok(true),
        Err(Errno::NOTSUP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Where the data of a file are, if it has holes.
pub fn pieces(file: &OwnedFd, stat: &Stat) -> rustix::io::Result<Option<Pieces>> {
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let held = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
    if held >= size {
        return Ok(None);
    }
    let (mut pieces, mut at) = (Vec::new(), 0);
    while at < size {
        let start = match seek(file, SeekFrom::Data(at)) {
            Ok(start) => start,
            Err(Errno::NXIO) => break,
            // A file system that knows no holes.
            Err(Errno::INVAL | Errno::NOTSUP) => return Ok(None),
            Err(error) => return Err(error),
        };
        let end = seek(file, SeekFrom::Hole(start))?.min(size);
        if start >= end {
            break;
        }
        pieces.push((start, end - start));
        at = end;
    }
    let whole = matches!(pieces[..], [(0, length)] if length == size);
    Ok((!whole).then_some(pieces))
}

/// A sum over everything in a folder, by what the file system says; no file is opened.
pub fn fingerprint(folder: &OwnedFd, path: &[u8]) -> Result<[u8; 20], Obstacle> {
    let mut sum = Sha1::new();
    add(&mut sum, folder, &mut path.to_vec())?;
    Ok(sum.finalize().into())
}

fn add(sum: &mut Sha1, folder: &OwnedFd, path: &mut Vec<u8>) -> Result<(), Obstacle> {
    let length = path.len();
    for Entry { name, kind } in entries(folder).map_err(|error| obstacle(error, path))? {
        path.push(b'/');
        path.extend_from_slice(name.to_bytes());
        sum.update(name.to_bytes_with_nul());
        let seen = look(folder, &name).map_err(|error| obstacle(error, path))?;
        sum.update(seen.inode.to_le_bytes());
        sum.update(seen.mode.to_le_bytes());
        if kind == FileType::Directory {
            add(sum, &open_folder(folder, &name, path)?, path)?;
        } else {
            sum.update(seen.device.to_le_bytes());
            sum.update(seen.size.to_le_bytes());
            // Not the change time: deleting a hard link elsewhere sets it.
            sum.update(seen.mtime.0.to_le_bytes());
            sum.update(seen.mtime.1.to_le_bytes());
        }
        path.truncate(length);
    }
    sum.update(b"/");
    Ok(())
}

/// Makes everything written on the file system of an open file last.
#[cfg(target_os = "linux")]
pub fn sync_all(on: &OwnedFd) -> io::Result<()> {
    Ok(rustix::fs::syncfs(on)?)
}

#[cfg(not(target_os = "linux"))]
pub fn sync_all(_: &OwnedFd) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_file_is_looked_at_when_a_later_write_must_change_its_times() {
        let dir = tempfile::tempdir().unwrap();
        for round in 0..3 {
            let path = dir.path().join(format!("{round}"));
            std::fs::write(&path, "new").unwrap();
            let file = std::fs::File::open(&path).unwrap().into();
            let stat = settle(&file).unwrap();
            let now = clock_gettime(ClockId::Realtime);
            let age = (now.tv_sec - stat.st_ctime) * 1_000_000_000 + now.tv_nsec
                - i64::try_from(stat.st_ctime_nsec).unwrap();
            assert!(age >= 50_000_000, "{age}");
        }
    }

    #[test]
    fn a_fingerprint_tells_of_every_change_in_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::create_dir(path("inner")).unwrap();
        std::fs::write(path("inner/file"), "one").unwrap();
        let sum = || fingerprint(&open_top(dir.path()).unwrap(), b"tree").unwrap();
        let mut sums = vec![sum()];
        assert_eq!(sum(), sums[0]);
        std::fs::write(path("inner/file"), "three").unwrap();
        sums.push(sum());
        std::fs::rename(path("inner/file"), path("inner/other")).unwrap();
        sums.push(sum());
        std::fs::rename(path("inner/other"), path("other")).unwrap();
        sums.push(sum());
        std::os::unix::fs::symlink("x", path("inner/link")).unwrap();
        sums.push(sum());
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), 5);
    }
}
