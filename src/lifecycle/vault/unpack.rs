//! The inverse of putting away: makes the folders of an item again, byte for byte.
//!
//! Each folder is made under another name beside its place, synced, and then moved there; where some
//! of it stands already, only what is missing is moved in. Nothing that exists is replaced. After a crash
//! it is made once more.

use std::collections::HashSet;
use std::ffi::CString;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, linkat, mkdirat, symlinkat, utimensat};

use crate::error::{Doing, Result};
use crate::git::Git;
use crate::lifecycle::vault::item::{Header, Part};
use crate::lifecycle::vault::manifest::{Contents, Kind, Owner, Record, shown};
use crate::lifecycle::vault::objects::{Made, Objects};
use crate::lifecycle::vault::places::{Folder, Places, times};
use crate::lifecycle::vault::repository::{ITEMS, Repository};
use crate::lifecycle::vault::store::MANIFEST;
use crate::sys::signals;

/// What bringing an item back did. Paths are those of the manifest.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Files whose bytes the repository had and has no more, or that the vault cannot read.
    pub missing: Vec<PathBuf>,
}

struct Unpacking<'a> {
    vault: Objects<'a>,
    repository: Option<Objects<'a>>,
    places: Places,
    folders: Vec<Folder>,
    missing: HashSet<Vec<u8>>,
}

/// Makes the given folders of an item again. `repository` is the one whose commit was its base.
pub fn unpack(
    vault: &Repository,
    header: &Header,
    repository: Option<&Git>,
    folders: &[(Part, PathBuf)],
) -> Result<Unpacked> {
    let manifest = format!("{ITEMS}{}:{MANIFEST}", header.id);
    let mut records = vault.call(&["cat-file", "blob", &manifest]).piped()?;
    let mut unpacking = Unpacking {
        vault: Objects::of_vault(vault),
        repository: repository.map(Objects::of_repository),
        places: Places::begin(folders)?,
        folders: Vec::new(),
        missing: HashSet::new(),
    };
    let mut count = 0;
    let doing = || format!("read the manifest of '{}'", header.id);
    while let Some(record) = records.output().and_then(Record::read).doing(doing)? {
        signals::check()?;
        count += 1;
        if unpacking.places.want(&record.path) {
            let path = shown(&record.path);
            let made = unpacking.make(record);
            made.doing(|| format!("bring back '{}'", path.display()))?;
        }
    }
    records.done(&doing())?;
    if count != header.records {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is cut off")).doing(doing);
    }
    unpacking.places.finish(&unpacking.folders)?;
    let mut missing: Vec<PathBuf> = unpacking.missing.iter().map(|path| shown(path)).collect();
    missing.sort();
    Ok(Unpacked { missing })
}

impl Unpacking<'_> {
    fn make(&mut self, Record { path, kind }: Record) -> io::Result<()> {
        match kind {
            Kind::Folder { mode, mtime } => {
                // The top is there.
                if path.contains(&b'/') {
                    let (parent, name) = self.places.parent(&path)?;
                    mkdirat(&parent, &name, Mode::RWXU)?;
                }
                self.folders.push(Folder { path, mode, mtime });
                Ok(())
            }
            Kind::File(contents) => self.file(path, &contents),
            Kind::Link { mtime, target } => {
                let (parent, name) = self.places.parent(&path)?;
                symlinkat(CString::new(target)?, &parent, &name)?;
                Ok(utimensat(&parent, &name, &times(mtime), AtFlags::SYMLINK_NOFOLLOW)?)
            }
            Kind::Same { first } if self.missing.contains(&first) => {
                self.missing.insert(path);
                Ok(())
            }
            Kind::Same { first } => {
                let (old, old_name) = self.places.parent(&first)?;
                let (new, new_name) = self.places.parent(&path)?;
                Ok(linkat(&old, &old_name, &new, &new_name, AtFlags::empty())?)
            }
            Kind::Fifo | Kind::Socket | Kind::Ignored | Kind::Deleted => Ok(()),
        }
    }

    fn file(&mut self, path: Vec<u8>, contents: &Contents) -> io::Result<()> {
        let (folder, name) = self.places.parent(&path)?;
        let from = match contents.owner {
            Owner::Vault => Some(&mut self.vault),
            Owner::Repository => self.repository.as_mut(),
        };
        let made = from.map_or(Ok(Made::Missing), |from| from.make(contents, &folder, &name))?;
        if made == Made::Missing {
            self.missing.insert(path);
        }
        Ok(())
    }
}
