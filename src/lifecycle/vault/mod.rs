//! The vault: what leaves the trash is put away there first, byte for byte.
//!
//! Putting away an item has three steps. Everything that is not ignored is read and, unless the
//! repository has exactly these bytes, stored ([`mod@store`]); the item is read back from the vault and
//! compared ([`mod@check`]), and its ref made; then exactly what was read is deleted ([`discard`]). Nothing
//! is taken on trust: not git's status, not times, not today's config. A crash at any step leaves
//! something that putting the item away again completes; what the vault has of it is never dropped.

mod ahead;
mod base;
mod before;
mod check;
mod contents;
mod discard;
mod folder;
mod ignored;
mod import;
pub mod item;
mod list;
mod manifest;
mod objects;
mod places;
mod repository;
mod store;
mod survey;
mod unpack;

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::Git;
use crate::git::pipe::Pipe;
use crate::lifecycle::vault::base::Asked;
use crate::lifecycle::vault::before::Before;
use crate::lifecycle::vault::check::check;
use crate::lifecycle::vault::folder::{open_top, sync_all};
use crate::lifecycle::vault::import::Import;
use crate::lifecycle::vault::item::{Header, Item, Obstacle, Part, Stop, VERSION};
use crate::lifecycle::vault::repository::{ITEMS, Repository, STAGING, check_id};
use crate::lifecycle::vault::store::{HEADER, MANIFEST, Tools, store};
use crate::lifecycle::vault::survey::survey;
pub use crate::lifecycle::vault::unpack::Unpacked;
use crate::sys::lock::Lock;
use crate::sys::{clock, crash_point};
use crate::ui::out::Out;

/// The vault of a root.
#[derive(Debug)]
pub struct Vault {
    repository: Repository,
}

/// How putting an item away ended.
#[derive(Debug)]
pub enum Outcome<T> {
    /// It is done.
    Done(T),
    /// The item, or what is left of it, stays in the trash.
    Stays(Obstacle),
}

/// An item that is safe in the vault, and whose files are still there. Holds the vault's lock, which
/// comes after the repository's: another call about the vault waits until this is gone.
#[derive(Debug)]
pub struct PutAway {
    list: File,
    folders: Vec<(Part, PathBuf)>,
    _lock: Lock,
}

/// An item of the vault.
#[derive(Debug)]
pub struct Stored {
    /// Its name in the trash.
    pub id: String,
    /// What is known of it; an error if it cannot be read.
    pub header: Result<Header>,
}

impl<T> Outcome<T> {
    fn of(result: Result<T, Stop>) -> Result<Outcome<T>> {
        match result {
            Ok(value) => Ok(Outcome::Done(value)),
            Err(Stop::Obstacle(obstacle)) => Ok(Outcome::Stays(obstacle)),
            Err(Stop::Import(source)) => {
                Err(Error::Io { doing: "write to the vault".into(), source })
            }
            Err(Stop::Error(error)) => Err(error),
        }
    }
}

impl Vault {
    /// The vault of a root. It is made when it is first needed.
    pub fn at(root: &Path, git: &Git, out: Out) -> Vault {
        Vault { repository: Repository::at(root, git, out) }
    }

    /// Puts an item away: stores it, reads it back and compares. Nothing is deleted yet. `progress` is
    /// told the size of every file that was read.
    pub fn put_away(&self, item: &Item, progress: &mut dyn FnMut(u64)) -> Result<Outcome<PutAway>> {
        check_id(item.id)?;
        Outcome::of(self.try_to_put_away(item, progress))
    }

    fn try_to_put_away(&self, item: &Item, progress: &mut dyn FnMut(u64)) -> Result<PutAway, Stop> {
        let vault = &self.repository;
        let lock = vault.open()?;
        vault.tidy();
        // The git processes that will be needed start beside the survey.
        let asked = item.base.as_ref().map(Asked::about).transpose()?.flatten();
        let import = Import::start(vault)?;
        let mut objects = self.objects()?;
        survey(vault.git(), item)?;
        crash_point::reached();
        settle_maps(item)?;
        let (id, dir) = (item.id, vault.dir());
        let before = tip(&mut objects, id)?;
        let old = match before {
            Some(_) => Some(header(&mut objects, id)?),
            None => None,
        };
        let header = begin(item, old.as_ref())?;
        let records = match old {
            Some(old) => self.records(&old)?,
            None => Before::default(),
        };
        let import = import.begin(id, before.as_deref())?;
        let files = asked.map(Asked::answer).transpose()?.flatten();
        let scratch = [list::scratch(dir)?, list::scratch(dir)?];
        let tools = Tools { import, files, before: records, scratch, progress };
        let written = store(item, header, tools);
        if written.is_err() {
            vault.tidy();
        }
        let written = written?;
        crash_point::reached();
        // Ignored folders are not stored: a process may have committed in one before it was looked at.
        if item.ignored.is_some_and(|ignored| !ignored.is_empty()) {
            survey(vault.git(), item).inspect_err(|_| vault.tidy())?;
        }
        let commit = check(vault, &mut objects, id, &written)?;
        crash_point::reached();
        // Together: from here on the item counts as stored.
        let was = before.unwrap_or_else(|| "0".repeat(40));
        vault.update_refs(
            &lock,
            &format!("update {ITEMS}{id} {commit} {was}\ndelete {STAGING}{id} {commit}\n"),
        )?;
        crash_point::reached();
        vault.sync()?;
        crash_point::reached();
        let folder = |part: Part| item.folder(part).map(|folder| (part, folder.to_owned()));
        let folders = Part::ALL.into_iter().filter_map(folder).collect();
        Ok(PutAway { list: written.list, folders, _lock: lock })
    }

    /// Makes the folders of an item again. Where one stands already, only what is missing in it is
    /// added. `repository` is the one that it was a sandbox of. The item stays in the vault.
    pub fn unpack(
        &self,
        id: &str,
        repository: Option<&Git>,
        tree: Option<&Path>,
        private: Option<&Path>,
    ) -> Result<Unpacked> {
        check_id(id)?;
        let _lock = self.repository.open()?;
        let header = header(&mut self.objects()?, id)?;
        let folders = [(Part::Tree, tree), (Part::Private, private)];
        let folders = folders.into_iter().filter_map(|(part, folder)| Some((part, folder?.into())));
        let folders: Vec<(Part, PathBuf)> = folders.collect();
        unpack::unpack(&self.repository, &header, repository, &folders)
    }

    /// Deletes what an interrupted [`Vault::unpack`] made beside these places, if the vault has the
    /// item. Returns whether it has.
    pub fn clear_unpacked(&self, id: &str, places: &[PathBuf]) -> Result<bool> {
        if !self.has(id)? {
            return Ok(false);
        }
        let _lock = self.repository.open()?;
        places.iter().try_for_each(|place| places::clear(place))?;
        Ok(true)
    }

    /// Every item, in the order of their ids.
    pub fn items(&self) -> Result<Vec<Stored>> {
        if !self.repository.exists()? {
            return Ok(Vec::new());
        }
        let mut objects = None;
        let stored = self.repository.ids()?.into_keys().map(|id| {
            let header = match objects.take().map_or_else(|| self.objects(), Ok) {
                // One that broke off is not asked again.
                Ok(mut pipe) => header(&mut pipe, &id).inspect(|_| objects = Some(pipe)),
                Err(error) => Err(error),
            };
            Stored { id, header }
        });
        Ok(stored.collect())
    }

    /// Whether anything was ever put away in it.
    pub fn exists(&self) -> Result<bool> {
        self.repository.exists()
    }

    /// Whether the vault has an item.
    pub fn has(&self, id: &str) -> Result<bool> {
        check_id(id)?;
        let there = self.repository.exists()?;
        Ok(there && self.repository.tip(&format!("{ITEMS}{id}"))?.is_some())
    }

    /// Lets go of an item, whose bytes stay until the next purge. False if there is none.
    pub fn forget(&self, id: &str) -> Result<bool> {
        if !self.has(id)? {
            return Ok(false);
        }
        let lock = self.repository.open()?;
        self.drop_refs(&lock, id)?;
        Ok(true)
    }

    /// Deletes an item for good, and frees the room of everything that was let go of, if git reads
    /// the refs of all others. False if there is no such item.
    pub fn purge(&self, id: &str) -> Result<bool> {
        if !self.has(id)? {
            return Ok(false);
        }
        let vault = &self.repository;
        let lock = vault.open()?;
        self.drop_refs(&lock, id)?;
        crash_point::reached();
        vault.tidy();
        // What belongs to an item whose ref git passes over would go as if nothing held it.
        if vault.ids()?.into_values().any(|is_read| !is_read) {
            return Ok(true);
        }
        // Nothing is compared with anything: packs are copied without what no ref holds.
        let repack = ["repack", "-a", "-d", "-q", "--window=0", "--no-write-bitmap-index"];
        vault.call(&repack).done("purge the vault")?;
        vault.call(&["prune", "--expire=now"]).done("purge the vault")?;
        Ok(true)
    }

    fn drop_refs(&self, lock: &Lock, id: &str) -> Result<()> {
        self.repository.update_refs(lock, &format!("delete {ITEMS}{id}\ndelete {STAGING}{id}\n"))
    }

    /// A git that is asked for objects of the vault.
    fn objects(&self) -> Result<Pipe> {
        self.repository.call(&["cat-file", "--batch"]).piped()
    }

    /// The records of an item that the vault has.
    fn records(&self, header: &Header) -> Result<Before> {
        let name = format!("{ITEMS}{}:{MANIFEST}", header.id);
        let mut pipe = self.repository.call(&["cat-file", "blob", &name]).piped()?;
        let doing = || format!("read the manifest of '{}'", header.id);
        let before = pipe.output().and_then(Before::read).doing(doing)?;
        pipe.done(&doing())?;
        match before.count() == header.records {
            true => Ok(before),
            false => Err(std::io::ErrorKind::UnexpectedEof.into()).doing(doing),
        }
    }
}

/// The commit of an item, if the vault has it.
fn tip(objects: &mut Pipe, id: &str) -> Result<Option<String>> {
    let found = objects.small_object(&format!("{ITEMS}{id}")).doing(|| "read the vault".into())?;
    Ok(found.map(|(commit, _)| commit.id))
}

/// The header of an item.
fn header(objects: &mut Pipe, id: &str) -> Result<Header> {
    let damaged = |why: &str| Error::Damaged { name: id.to_owned(), why: why.to_owned() };
    let read = objects.small_object(&format!("{ITEMS}{id}:{HEADER}"));
    let read = read.map_err(|_| damaged("the vault cannot read it"))?;
    let (_, bytes) = read.ok_or_else(|| damaged("the vault has no description of it"))?;
    let header: Header = serde_json::from_slice(&bytes)
        .map_err(|_| damaged("its description in the vault is damaged"))?;
    match header.version == VERSION && header.id == id {
        true => Ok(header),
        false => Err(damaged("another version of git sandbox put it away")),
    }
}

/// The header of an item, without its counts.
fn begin(item: &Item, old: Option<&Header>) -> Result<Header> {
    let mut bases = old.map(|old| old.bases.clone()).unwrap_or_default();
    if let Some(base) =
        item.base.filter(|base| bases.last().map(String::as_str) != Some(base.commit))
    {
        bases.push(base.commit.to_owned());
    }
    Ok(Header {
        version: VERSION,
        id: item.id.to_owned(),
        when: clock::rfc3339(clock::now()?),
        bases,
        records: 0,
        size: 0,
        stored: 0,
        journal: item.journal.clone(),
    })
}

/// Writes out what was changed through a mapping: only then does the next such change set a file's
/// times.
fn settle_maps(item: &Item) -> Result<()> {
    for part in Part::ALL {
        let Some(folder) = item.folder(part) else { continue };
        let synced = open_top(folder).map_err(Into::into).and_then(|top| sync_all(&top));
        synced.at("sync", folder)?;
    }
    Ok(())
}

impl PutAway {
    /// Deletes the files of the item: exactly those that were read and those that were ignored, each
    /// only while it is as it was, and folders only when they are empty. `is_idle` is asked before each
    /// step; false stops it. `begins` is told when all was compared: what stops it from then on leaves a
    /// part of the files, of which the vault has all.
    pub fn discard(
        self,
        is_idle: &mut dyn FnMut() -> Result<bool>,
        begins: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Outcome<()>> {
        Outcome::of(discard::discard(&self.list, &self.folders, is_idle, begins))
    }
}

#[cfg(test)]
mod tests;
