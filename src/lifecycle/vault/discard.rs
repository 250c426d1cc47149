//! Step 3 of putting away: deletes what was read, while it is what was read, and what was ignored.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, fchmod, fstat, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::error::{Doing, Result};
use crate::lifecycle::vault::folder::{
    Seen, entries, fingerprint, look, obstacle, open_file, open_folder,
};
use crate::lifecycle::vault::item::{Obstacle, Part, Stop};
use crate::lifecycle::vault::list::{Line, Reader};
use crate::lifecycle::vault::manifest::{Stamp, shown};
use crate::sys::{crash_point, delete, signals};

/// What is done with the files of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deed {
    Compare,
    Delete,
}

struct Discarding<'a> {
    list: Reader<'a>,
    deed: Deed,
    /// Deleting one name of a file sets the change time of the others.
    changed: HashMap<(u64, u64), Stamp>,
}

/// Deletes what a list names and nothing else. All is compared before anything is deleted; in between
/// `begins` is told. `is_idle` is asked before each step.
pub fn discard(
    list: &File,
    folders: &[(Part, PathBuf)],
    is_idle: &mut dyn FnMut() -> Result<bool>,
    begins: &mut dyn FnMut() -> Result<()>,
) -> Result<(), Stop> {
    for deed in [Deed::Compare, Deed::Delete] {
        if deed == Deed::Delete {
            begins()?;
        }
        let list = Reader::new(list).doing(|| "read a list".into())?;
        let mut discarding = Discarding { list, deed, changed: HashMap::new() };
        for (part, folder) in folders {
            if !is_idle()? {
                return Err(Obstacle::InUse.into());
            }
            discarding.part(*part, folder)?;
        }
    }
    Ok(())
}

impl Discarding<'_> {
    fn part(&mut self, part: Part, folder: &Path) -> Result<(), Stop> {
        let mut path = part.name().as_bytes().to_vec();
        let Some(Line::Folder(_, place)) = self.line()? else { return Err(cut_off().into()) };
        let parent = folder.parent().unwrap_or(folder);
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = openat(CWD, parent, flags, Mode::empty());
        let parent = parent.map_err(|error| obstacle(error, &path))?;
        let name = folder.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
        let name = CString::new(name).map_err(|_| Obstacle::Changed(shown(&path)))?;
        self.inner_folder(&parent, &name, place, &mut path)
    }

    fn inner_folder(
        &mut self,
        parent: &OwnedFd,
        name: &CStr,
        place: (u64, u64),
        path: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        signals::check()?;
        let folder = open_folder(parent, name, path)?;
        let stat = fstat(&folder).map_err(|error| obstacle(error, path))?;
        if Seen::of(&stat).place() != place {
            return Err(Obstacle::Changed(shown(path)).into());
        }
        // Of a folder of ours the permissions can be changed.
        if self.deed == Deed::Compare && stat.st_uid != geteuid().as_raw() {
            let access = Access::WRITE_OK | Access::EXEC_OK;
            match accessat(&folder, c".", access, AtFlags::EACCESS) {
                // An old kernel cannot tell.
                Ok(()) | Err(Errno::NOSYS) => {}
                Err(error) => return Err(undeletable(error, path).into()),
            }
        }
        let mode = Mode::from_raw_mode(stat.st_mode);
        if self.deed == Deed::Delete && !mode.contains(Mode::RWXU) {
            fchmod(&folder, mode | Mode::RWXU).map_err(|error| undeletable(error, path))?;
        }
        self.contents(&folder, path)?;
        if self.deed == Deed::Delete {
            unlinkat(parent, name, AtFlags::REMOVEDIR).map_err(|error| match error {
                Errno::NOTEMPTY | Errno::EXIST => Obstacle::Added(shown(path)),
                other => undeletable(other, path),
            })?;
            crash_point::reached();
        }
        Ok(())
    }

    fn contents(&mut self, folder: &OwnedFd, path: &mut Vec<u8>) -> Result<(), Stop> {
        let length = path.len();
        let mut known = HashSet::new();
        loop {
            let line = self.line()?.ok_or_else(cut_off)?;
            let (Line::Folder(name, _) | Line::File(name, ..) | Line::Ignored(name, _)) = &line
            else {
                break;
            };
            path.push(b'/');
            path.extend_from_slice(name.to_bytes());
            if self.deed == Deed::Compare {
                known.insert(name.clone());
            }
            match line {
                Line::Folder(name, place) => self.inner_folder(folder, &name, place, path)?,
                Line::File(name, seen, linked) => {
                    self.file(folder, &name, path, seen, linked)?;
                }
                Line::Ignored(name, sum) => self.ignored(folder, &name, path, sum)?,
                Line::End => {}
            }
            path.truncate(length);
        }
        if self.deed == Deed::Compare {
            let there = entries(folder).map_err(|error| obstacle(error, path))?;
            if let Some(new) = there.iter().find(|entry| !known.contains(&entry.name)) {
                path.push(b'/');
                path.extend_from_slice(new.name.to_bytes());
                return Err(Obstacle::Added(shown(path)).into());
            }
        }
        Ok(())
    }

    fn file(
        &mut self,
        folder: &OwnedFd,
        name: &CStr,
        path: &[u8],
        seen: Seen,
        linked: bool,
    ) -> Result<(), Stop> {
        let ctime = self.changed.get(&seen.place()).copied().unwrap_or(seen.ctime);
        match look(folder, name) {
            // Another process deleted it.
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(obstacle(error, path).into()),
            Ok(now) if now != (Seen { ctime, ..seen }) => {
                return Err(Obstacle::Changed(shown(path)).into());
            }
            Ok(_) => {}
        }
        if self.deed == Deed::Compare {
            return Ok(());
        }
        // One that cannot be opened has no other name in the list.
        let open = linked.then(|| open_file(folder, name, path).ok()).flatten();
        unlinkat(folder, name, AtFlags::empty()).map_err(|error| undeletable(error, path))?;
        if let Some(now) = open.and_then(|file| fstat(file).ok()) {
            self.changed.insert(seen.place(), Seen::of(&now).ctime);
        }
        crash_point::reached();
        Ok(())
    }

    fn ignored(
        &mut self,
        folder: &OwnedFd,
        name: &CStr,
        path: &[u8],
        sum: [u8; 20],
    ) -> Result<(), Stop> {
        if fingerprint(&open_folder(folder, name, path)?, path)? != sum {
            return Err(Obstacle::Changed(shown(path)).into());
        }
        if self.deed == Deed::Delete {
            let deleted = delete::tree_in(folder, name);
            deleted.map_err(|error| Obstacle::Undeletable(shown(path), error))?;
            crash_point::reached();
        }
        Ok(())
    }

    fn line(&mut self) -> Result<Option<Line>> {
        self.list.line().doing(|| "read a list".into())
    }
}

fn undeletable(error: Errno, path: &[u8]) -> Obstacle {
    Obstacle::Undeletable(shown(path), error.into())
}

fn cut_off() -> crate::error::Error {
    let source = std::io::ErrorKind::UnexpectedEof.into();
    crate::error::Error::Io { doing: "read a list".into(), source }
}
