//! The trash: what was removed, and where it is. Only what the vault has, what was named to be purged
//! and what never held work is deleted.
//!
//! A removed sandbox has two halves that name each other: its folder at `<trash>/<id>/tree`, beside
//! its journal, and its private git dir at `<common>/sandbox/<id>`, outside of git's registry but at
//! the same depth, so that it still works as a checkout. Items are found from both sides; there is no
//! list of them.

pub mod attach;
pub mod forget;
pub mod orphan;
pub mod put_away;
mod recover;
pub mod removal;
mod restore;

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::Git;
use crate::repo::Repo;
use crate::repo::place::Place;
use crate::sandbox::journal::{Journal, Stage, TREE};
use crate::sandbox::mark::{Pin, TRASH, TRASH_BESIDE};
use crate::sandbox::record;
use crate::sys::clock::Time;
use crate::sys::dir;
use crate::sys::path::{self, Presence};

/// The trash of one repository, whose lock must be held.
#[derive(Debug)]
pub struct Trash<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// Its git, whose processes hold the repository lock.
    pub git: Git,
    /// Its places.
    pub place: &'a Place,
    /// The time.
    pub now: Time,
}

/// A removed sandbox.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its folder in the trash.
    pub at: PathBuf,
    /// Its private git dir, outside of git's registry; none where it is lost or was out of reach.
    pub private: Option<PathBuf>,
    /// What was written down.
    pub journal: Journal,
}

impl Item {
    /// Its files.
    pub fn tree(&self) -> PathBuf {
        self.at.join(TREE)
    }

    /// Whether it can be brought back now.
    pub fn is_ready(&self) -> bool {
        self.journal.stage == Stage::Trashed
    }
}

/// The folder of private git dirs that have left git's registry.
pub fn private_home(common: &Path) -> PathBuf {
    common.join("sandbox")
}

/// Finds every removed sandbox of a repository, the newest first. One that cannot be read is an error
/// of its own.
pub fn items(repo: &Repo, place: &Place) -> Vec<Result<Item>> {
    let folders = place.trash_folders();
    let (mut items, mut seen) = (Vec::new(), BTreeSet::new());
    for private in privates(&repo.common) {
        // One that cannot be read is met again below, by its journal.
        let Ok(Some(pin)) = Pin::read(&private) else { continue };
        if let Some(item) = item_of(&private, &pin, &folders, &repo.common).transpose() {
            seen.insert(pin.id);
            items.push(item);
        }
    }
    for at in folders {
        let journal = match Journal::read(&at) {
            Ok(Some(journal)) => journal,
            Ok(None) => continue,
            // One that its other half has led to is told of already.
            Err(_) if seen.iter().any(|id| at.ends_with(id)) => continue,
            Err(error) => {
                items.push(Err(error));
                continue;
            }
        };
        let ours = journal.common.as_ref() == Some(&repo.common);
        if ours && seen.insert(journal.id.clone()) {
            // Only one that is surely gone is taken for lost: without it the files come back as a plain folder.
            let private = private_home(&repo.common).join(&journal.id);
            items.push(match Pin::read(&private) {
                Ok(Some(pin)) if pin.id == journal.id => {
                    Ok(Item { at, private: Some(private), journal })
                }
                Ok(_) => Ok(Item { at, private: half_deleted(private, &journal), journal }),
                Err(error) => Err(error),
            });
        }
    }
    let removed = |item: &Result<Item>| item.as_ref().ok().map(|item| item.journal.removed.clone());
    items.sort_by_key(|item| std::cmp::Reverse(removed(item)));
    items
}

/// The private git dir of an item whose deletion was interrupted when the pin that names the item was gone
/// already.
fn half_deleted(private: PathBuf, journal: &Journal) -> Option<PathBuf> {
    let is_folder = private.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let deleting = matches!(journal.stage, Stage::PutAway | Stage::Purging);
    (deleting && is_folder).then_some(private)
}

/// Every private git dir outside of git's registry. A name with a dot first is one that is still on
/// its way back from the vault.
pub fn privates(common: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(private_home(common)).into_iter().flatten().flatten();
    let whole = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    let folders = whole.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

/// The item that a private git dir is one half of. The other half is where its pin says or, after the
/// root was moved, in the root's trash. In a copy of a repository it belongs to the original: as long
/// as that has it, and where it is in the trash no more as long as the original is there.
fn item_of(private: &Path, pin: &Pin, trash: &[PathBuf], common: &Path) -> Result<Option<Item>> {
    let moved = || trash.iter().find(|folder| folder.ends_with(&pin.id)).cloned();
    let mut at = pin.at.clone();
    let mut journal = Journal::read(&at)?;
    if journal.is_none()
        && let Some(moved) = moved()
    {
        journal = Journal::read(&moved)?;
        at = moved;
    }
    let Some(journal) = journal.filter(|journal| journal.id == pin.id) else {
        let made_in = record::read(private).common.filter(|made_in| made_in != common);
        if made_in.is_some_and(|original| path::presence(&original) == Presence::There) {
            return Ok(None);
        }
        let why = format!("its files are not at '{}'", pin.at.display());
        return Err(Error::Damaged { name: pin.id.clone(), why });
    };
    let elsewhere = journal.common.as_deref().filter(|original| *original != common);
    if elsewhere.is_some_and(|original| private_home(original).join(&pin.id).is_dir()) {
        return Ok(None);
    }
    // The repository may have been moved since.
    let journal = Journal { common: Some(common.to_owned()), ..journal };
    Ok(Some(Item { at, private: Some(private.to_owned()), journal }))
}

impl Trash<'_> {
    /// Every removed sandbox of this repository that can be read.
    pub fn items(&self) -> Vec<Item> {
        items(self.repo, self.place).into_iter().flatten().collect()
    }

    /// Where removed sandboxes of this file system go.
    fn folder_for(&self, path: &Path) -> Result<PathBuf> {
        folder_for(path, &self.place.safe_root()?)
    }

    /// The folder that private git dirs are moved to, made if need be. It must be a folder of ours on
    /// the file system of git's own.
    fn home(&self) -> Result<PathBuf> {
        let home = private_home(&self.repo.common);
        dir::make(&home)?;
        check_ours(&home)?;
        let device = |path: &Path| fs::symlink_metadata(path).map(|meta| meta.dev());
        let worktrees = self.repo.common.join("worktrees");
        let git = match device(&worktrees) {
            Err(error) if error.kind() == ErrorKind::NotFound => device(&self.repo.common),
            other => other,
        };
        if git.at("read", &worktrees)? != device(&home).at("read", &home)? {
            let why = "it is on another file system than the worktrees of git".into();
            return Err(Error::Root { root: home, why, hint: None });
        }
        Ok(home)
    }
}

/// The trash of a root for a sandbox at a path, which need not be there: on another file system than the
/// root's it is beside the path, since only then can a folder be renamed from one to the other.
fn folder_for(path: &Path, root: &Path) -> Result<PathBuf> {
    let device = |path: &Path| match fs::symlink_metadata(path) {
        Err(error) if is_not_there(&error) => Ok(None),
        read => read.map(|meta| Some(meta.dev())).at("read", path),
    };
    let there = path.ancestors().find_map(|path| device(path).transpose()).transpose()?;
    let trash = match device(root)? == there {
        true => root.join(TRASH),
        false => path.parent().unwrap_or(path).join(TRASH_BESIDE),
    };
    dir::make(&trash)?;
    check_ours(&trash)?;
    Ok(trash)
}

fn is_not_there(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn check_ours(folder: &Path) -> Result<()> {
    match fs::symlink_metadata(folder) {
        Ok(meta) if meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw() => Ok(()),
        _ => {
            let why = "it is not a folder of yours".into();
            Err(Error::Root { root: folder.to_owned(), why, hint: None })
        }
    }
}
