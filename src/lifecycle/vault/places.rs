//! The folders that an item is unpacked into: made under another name beside their places, then moved.

use std::ffi::{CString, OsString};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawMode, RenameFlags, Timespec, Timestamps, UTIME_OMIT,
    fchmod, fstat, futimens, openat, renameat, renameat_with, statat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::error::{Doing, Result};
use crate::lifecycle::vault::folder::{Entry, entries, open_top, sync_all};
use crate::lifecycle::vault::item::Part;
use crate::lifecycle::vault::manifest::{Stamp, part_of};
use crate::sys::{crash_point, delete, dir};

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Where an item is unpacked.
pub struct Places {
    targets: Vec<Target>,
    /// The folder that the last file went into.
    last: Option<(Vec<u8>, Rc<OwnedFd>)>,
}

struct Target {
    part: Part,
    made: PathBuf,
    place: PathBuf,
    top: Rc<OwnedFd>,
}

/// A folder that gets its permissions and time when everything is in it.
pub struct Folder {
    pub path: Vec<u8>,
    pub mode: u32,
    pub mtime: Stamp,
}

impl Places {
    /// Makes a new folder beside each place; one that a crash left is deleted.
    pub fn begin(folders: &[(Part, PathBuf)]) -> Result<Places> {
        let targets = folders.iter().map(|(part, place)| {
            clear(place)?;
            let made = beside(place);
            dir::make(&made)?;
            let top = open_top(&made).map_err(io::Error::from).at("open", &made)?;
            Ok(Target { part: *part, made, place: place.clone(), top: Rc::new(top) })
        });
        Ok(Places { targets: targets.collect::<Result<_>>()?, last: None })
    }

    /// Whether a path of the manifest is wanted.
    pub fn want(&self, path: &[u8]) -> bool {
        self.target(path).is_some()
    }

    fn target(&self, path: &[u8]) -> Option<&Target> {
        self.targets.iter().find(|target| Some(target.part) == part_of(path))
    }

    /// The folder in which a path of the manifest is, and its name there.
    pub fn parent(&mut self, path: &[u8]) -> io::Result<(Rc<OwnedFd>, CString)> {
        let slash = path.iter().rposition(|byte| *byte == b'/').ok_or(ErrorKind::InvalidData)?;
        let (parent, name) = (&path[..slash], CString::new(&path[slash + 1..])?);
        if let Some((_, folder)) = self.last.as_ref().filter(|(path, _)| path == parent) {
            return Ok((Rc::clone(folder), name));
        }
        let target = self.target(path).ok_or(ErrorKind::InvalidData)?;
        let folder = Rc::new(descend(&target.top, parent)?);
        self.last = Some((parent.to_vec(), Rc::clone(&folder)));
        Ok((folder, name))
    }

    /// Moves the folders to their places, and gives each folder in them its permissions and time.
    pub fn finish(self, folders: &[Folder]) -> Result<()> {
        for target in &self.targets {
            sync_all(&target.top).at("sync", &target.made)?;
        }
        crash_point::reached();
        for Target { part, made, place, .. } in &self.targets {
            settle(made, place).doing(|| format!("bring back '{}'", place.display()))?;
            crash_point::reached();
            let top = open_top(place).map_err(io::Error::from).at("open", place)?;
            // The innermost first: one may forbid to be entered.
            let inner = folders.iter().filter(|folder| part_of(&folder.path) == Some(*part));
            for Folder { path, mode, mtime } in inner.rev() {
                let set = descend(&top, path).and_then(|folder| {
                    let set = fchmod(&folder, Mode::from_raw_mode(*mode as RawMode))
                        .and_then(|()| futimens(&folder, &times(*mtime)));
                    unless_foreign(set, &folder)
                });
                match set {
                    // Something else stands there.
                    Err(error) if is_no_folder(&error) => {}
                    other => other.at("bring back", place)?,
                }
            }
            sync_all(&top).at("sync", place)?;
            crash_point::reached();
        }
        Ok(())
    }
}

/// The folder in which everything is made that is then moved to a place.
fn beside(place: &Path) -> PathBuf {
    let mut name = OsString::from(".unpacking-");
    name.push(place.file_name().unwrap_or_default());
    place.with_file_name(name)
}

/// Deletes what an interrupted unpacking made beside a place. The vault has all of it.
pub fn clear(place: &Path) -> Result<()> {
    let made = beside(place);
    match made.symlink_metadata() {
        Ok(_) => delete::tree(&made).at("delete", &made),
        Err(_) => Ok(()),
    }
}

/// A folder of another user's that stood there already stays as it is.
fn unless_foreign(set: rustix::io::Result<()>, folder: &OwnedFd) -> io::Result<()> {
    match set {
        Err(Errno::PERM) if fstat(folder)?.st_uid != geteuid().as_raw() => Ok(()),
        other => Ok(other?),
    }
}

fn is_no_folder(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [Errno::NOTDIR, Errno::LOOP, Errno::NOENT].iter().any(|kind| code == Some(kind.raw_os_error()))
}

/// Steps down a path of the manifest, never through a symlink.
fn descend(top: &OwnedFd, path: &[u8]) -> io::Result<OwnedFd> {
    let mut at = openat(top, c".", FOLDER, Mode::empty())?;
    for step in path.split(|byte| *byte == b'/').skip(1) {
        at = openat(&at, CString::new(step)?, FOLDER, Mode::empty())?;
    }
    Ok(at)
}

/// A time for what was modified; when it was last read is left as it is.
pub fn times((seconds, nanoseconds): Stamp) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() },
    }
}

/// Moves a folder to its place or, where there is one, what is missing there into it.
fn settle(made: &Path, place: &Path) -> io::Result<()> {
    let (from, to) = (made.parent().unwrap_or(made), place.parent().unwrap_or(place));
    let open =
        |folder: &Path| openat(CWD, folder, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let (from, to) = (open(from)?, open(to)?);
    let name = |path: &Path| {
        use std::os::unix::ffi::OsStrExt;
        CString::new(path.file_name().unwrap_or_default().as_bytes())
    };
    move_in(&from, &name(made)?, &to, &name(place)?)?;
    delete::tree(made)
}

fn move_in(from: &OwnedFd, made: &CString, to: &OwnedFd, name: &CString) -> io::Result<()> {
    match rename(from, made, to, name) {
        Ok(()) => return Ok(()),
        Err(Errno::EXIST | Errno::NOTEMPTY) => {}
        Err(error) => return Err(error.into()),
    }
    let is_folder = |parent: &OwnedFd, name: &CString| {
        let stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok::<_, Errno>(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    };
    // What stands there stays as it is.
    if !is_folder(from, made)? || !is_folder(to, name)? {
        return Ok(());
    }
    let from = openat(from, made, FOLDER, Mode::empty())?;
    let to = openat(to, name, FOLDER, Mode::empty())?;
    // An earlier attempt may have set its permissions already.
    let mode = Mode::from_raw_mode(fstat(&to)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        unless_foreign(fchmod(&to, mode | Mode::RWXU), &to)?;
    }
    for Entry { name, .. } in entries(&from)? {
        move_in(&from, &name, &to, &name)?;
    }
    Ok(())
}

/// Renames without replacing anything.
fn rename(from: &OwnedFd, old: &CString, to: &OwnedFd, new: &CString) -> rustix::io::Result<()> {
    match renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
        // Some file systems cannot promise that.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            match statat(to, new, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => Err(Errno::EXIST),
                Err(Errno::NOENT) => renameat(from, old, to, new),
                Err(error) => Err(error),
            }
        }
        other => other,
    }
}
