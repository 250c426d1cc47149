//! Orphans: folders below the root whose `.git` names a private git dir that is not there.
//!
//! Git can tell nothing about them. They are kept for their period, moved to the trash, and put away
//! like everything else. Their `.git` file is set aside, so that git fails in there instead of writing
//! into the index of a newcomer with the same name. When the repository is in reach again and still
//! has the private git dir, the item is adopted: it becomes an ordinary one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::lifecycle::trash::removal::new_id;
use crate::lifecycle::trash::{Item, Trash, private_home, restore};
use crate::lifecycle::vault::Vault;
use crate::repo::{Worktree, Worktrees, held, kept, link};
use crate::sandbox::all_repos::{common_of, is_orphan};
use crate::sandbox::holding::Holding;
use crate::sandbox::journal::{Journal, Paused, SET_ASIDE, Stage, TREE, Why};
use crate::sandbox::mark::{Pin, TRASH};
use crate::sys::clock::{self, Time};
use crate::sys::path::{self, Presence};
use crate::sys::{crash_point, dir, file};
use crate::ui::out::{Out, When};

/// When an orphan was last used: the newest time of any file in it.
pub fn last_used(folder: &Path, now: Time) -> std::io::Result<Time> {
    let mut newest: Time = fs::symlink_metadata(folder)?.modified()?.into();
    let mut todo = vec![folder.to_owned()];
    while let Some(path) = todo.pop() {
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            let meta = fs::symlink_metadata(entry.path())?;
            match meta.is_dir() {
                true => todo.push(entry.path()),
                false => newest = newest.max(meta.modified()?.into()),
            }
        }
    }
    Ok(newest.min(now))
}

/// Moves an orphan into the trash of the root, whose lock must be held, and returns its name there.
/// Whether it is one is looked at again: its repository may have come back.
pub fn trash(folder: &Path, root: &Path, now: Time, why: Why) -> Result<String> {
    if !is_orphan(folder) {
        let name = folder.to_string_lossy().into_owned();
        return Err(Error::Damaged { name, why: "its repository has come back".into() });
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let id = new_id(&name)?;
    let at = root.join(TRASH).join(&id);
    let private = link::folder_points_to(folder);
    let journal = Journal {
        stage: Stage::Removing,
        id: id.clone(),
        name,
        from: folder.to_owned(),
        common: private.as_deref().and_then(common_of),
        private,
        orphan: true,
        has_tree: true,
        confined: None,
        branch: None,
        head: None,
        kept: None,
        reftable: false,
        refs: std::collections::BTreeMap::new(),
        paused: Paused::default(),
        fingerprint: None,
        removed: clock::exactly(now),
        why,
        ignored: None,
        holds: vec![Holding::Orphan],
    };
    dir::make(&at)?;
    let moved = journal.write(&at).and_then(|()| {
        crash_point::reached();
        file::rename(folder, &at.join(TREE))
    });
    if let Err(error) = moved {
        Journal::remove(&at)?;
        return Err(error);
    }
    crash_point::reached();
    complete(&at, &journal)?;
    Ok(id)
}

/// Sets the `.git` file aside, once the folder has moved.
fn complete(at: &Path, journal: &Journal) -> Result<()> {
    let pointer = at.join(TREE).join(".git");
    if pointer.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
        file::rename(&pointer, &at.join(SET_ASIDE))?;
    }
    crash_point::reached();
    journal.at_stage(Stage::Trashed, at).map(drop)
}

/// Finishes or undoes what a crash left of moving orphans. The root's lock must be held.
pub fn recover(folders: &[PathBuf]) -> Result<()> {
    for at in folders {
        let Some(journal) = Journal::read(at)?.filter(|journal| journal.orphan) else { continue };
        let there = at.join(TREE).exists();
        match &journal.stage {
            Stage::Removing if there => complete(at, &journal)?,
            Stage::Removing => Journal::remove(at)?,
            Stage::Restoring(target) if !there => restore::finish_plain(at, &journal, target)?,
            Stage::Restoring(_) => drop(journal.at_stage(Stage::Trashed, at)?),
            Stage::Trashed | Stage::PutAway | Stage::Unpacking | Stage::Purging => {}
        }
    }
    Ok(())
}

/// The items in these folders of the trash that no repository of `commons` has: none is recorded, and
/// none that was moved since has the other half.
pub fn items(folders: &[PathBuf], commons: &BTreeSet<PathBuf>) -> Vec<Result<Item>> {
    let has_half = |id: &str| commons.iter().any(|common| private_home(common).join(id).is_dir());
    let is_recorded =
        |journal: &Journal| journal.common.as_ref().is_some_and(|common| commons.contains(common));
    let is_lost = |journal: &Journal| !is_recorded(journal) && !has_half(&journal.id);
    let read = |at: &PathBuf| {
        let journal = Journal::read(at)?.filter(is_lost);
        Ok(journal.map(|journal| Item { at: at.clone(), private: None, journal }))
    };
    folders.iter().filter_map(|folder| read(folder).transpose()).collect()
}

/// Moves the files of an item back whose private git dir is out of reach. Returns where to. The root's
/// lock must be held.
pub fn restore(item: &Item, name: Option<&str>, now: Time) -> Result<PathBuf> {
    let journal = Journal::read(&item.at)?;
    let ready = journal.is_some_and(|journal| journal.stage == Stage::Trashed);
    if !ready || !item.tree().is_dir() {
        return Err(Error::UnknownTrash {
            name: item.journal.id.clone(),
            nearest: None,
            all: true,
        });
    }
    let from = &item.journal.from;
    let target = name.map_or_else(|| from.clone(), |name| from.with_file_name(name));
    if target.symlink_metadata().is_ok() {
        return Err(Error::RestoreTaken { path: target, name: item.journal.name.clone() });
    }
    target.parent().map_or(Ok(()), dir::make)?;
    restore::restore_plain(&item.at, &item.journal, &target)?;
    dir::touch(&target, now)?;
    Ok(target)
}

impl Trash<'_> {
    /// Makes an orphan an ordinary item, if its private git dir is there: in this repository, older
    /// than the item, naming the folder that the item had, with nothing standing there.
    pub(super) fn adopt(&self, item: &Item) -> Result<bool> {
        let Item { at, journal, .. } = item;
        let aside = at.join(SET_ASIDE);
        // A crash may have left it half adopted, with its `.git` in place.
        let named = link::folder_points_to(&item.tree());
        let named = named.is_some() && named == journal.private;
        let has_files = item.tree().is_dir() && (aside.is_file() || named);
        let Some(entry) = self.entry_to_adopt(journal).filter(|_| has_files) else {
            return Ok(false);
        };
        self.home()?;
        let pin = match Pin::read(entry)? {
            Some(pin) => pin,
            None => Pin::new(&journal.id, at.clone(), entry)?,
        };
        pin.set(entry)?;
        crash_point::reached();
        let head = held::head_commit(&self.git, entry)?;
        let on = held::within(&self.git, entry, ["symbolic-ref", "--quiet", "HEAD"]).ask()?;
        if !matches!(on.code, Some(0 | 1)) {
            return Err(Error::Git { doing: "read its HEAD".into(), why: on.why() });
        }
        let mut held = held::held_by(&self.git, entry)?;
        held::add_staged(&self.git, entry, head.as_deref(), &mut held)?;
        let kept = kept::keep(&self.git, self.repo, &held, head.as_deref(), &pin.id)?;
        let reftable = self.repo.is_reftable();
        let journal = Journal {
            stage: Stage::Removing,
            orphan: false,
            branch: self.head_ref(entry, !on.ok())?,
            head,
            kept: kept.commit,
            reftable,
            refs: held::private_refs(&self.git, entry, reftable)?,
            ..journal.clone()
        };
        crash_point::reached();
        match aside.exists() {
            true if named => fs::remove_file(&aside).at("remove", &aside)?,
            true => file::rename(&aside, &item.tree().join(".git"))?,
            false => {}
        }
        crash_point::reached();
        journal.write(at)?;
        self.detach(&journal, entry)?;
        self.complete_removal(&pin, &journal, entry, None)?;
        Ok(true)
    }

    /// The private git dir that makes an orphan an ordinary item again, if it is there.
    fn entry_to_adopt<'a>(&self, journal: &'a Journal) -> Option<&'a PathBuf> {
        let entry = journal.private.as_ref()?;
        let registry = self.repo.common.join("worktrees");
        let names = link::entry_points_to(entry).as_ref() == Some(&journal.from);
        let free = journal.from.symlink_metadata().is_err();
        let ready = journal.orphan && journal.stage == Stage::Trashed;
        let ours = entry.parent() == Some(&registry) && names;
        let unpinned = || {
            let pin = Pin::read(entry);
            pin.is_ok_and(|pin| pin.is_none_or(|pin| pin.id == journal.id))
        };
        (ready && ours && free && is_older(entry, journal) && unpinned()).then_some(entry)
    }

    /// Brings orphans back from the vault into the trash and adopts them there, for worktrees whose
    /// folder is gone. Returns whether there was one.
    pub(super) fn adopt_stored(&self, worktrees: &Worktrees, out: Out) -> Result<bool> {
        let vault = Vault::at(&self.place.root, &self.git, out);
        let gone = |tree: &Worktree| path::presence(&tree.record.path) == Presence::Absent;
        if matches!(vault.exists(), Ok(false)) || !worktrees.linked.iter().any(gone) {
            return Ok(false);
        }
        let mut adopted = false;
        for journal in journals(&vault)? {
            let Some(entry) = self.entry_to_adopt(&journal) else { continue };
            let unpacked = self.unpack(&journal, &vault)?;
            if !unpacked.missing.is_empty() {
                continue;
            }
            let item = unpacked.item;
            // As it was set aside when the orphan was moved to the trash. A crash in the middle of
            // putting it away leaves it there.
            let aside = item.at.join(SET_ASIDE);
            if aside.symlink_metadata().is_err() {
                link::write_git_file(&item.tree(), entry)?;
                file::rename(&item.tree().join(".git"), &aside)?;
            }
            crash_point::reached();
            if self.adopt(&item)? {
                vault.forget(&journal.id)?;
                adopted = true;
            }
        }
        Ok(adopted)
    }

    /// The item of the vault that belongs to a private git dir whose folder is gone: it is to be adopted,
    /// not to be forgotten, also where adopting it has just failed.
    pub(super) fn stored_for(&self, entry: &Path) -> Result<Option<String>> {
        let vault = Vault::at(&self.place.root, &self.git, Out::new(When::Never));
        let is_its = |it: &Journal| self.entry_to_adopt(it).is_some_and(|its| its == entry);
        Ok(journals(&vault)?.into_iter().find(is_its).map(|journal| journal.id))
    }
}

/// The journals of a vault that can be read.
fn journals(vault: &Vault) -> Result<Vec<Journal>> {
    let headers = vault.items()?.into_iter().filter_map(|item| item.header.ok());
    let journals = headers.filter_map(|header| {
        Journal::parse(&serde_json::to_vec(&header.journal).unwrap_or_default()).ok()
    });
    Ok(journals.collect())
}

/// Whether a private git dir was there before the item was made.
fn is_older(entry: &Path, journal: &Journal) -> bool {
    let made = fs::symlink_metadata(entry.join("gitdir")).and_then(|meta| meta.modified());
    let removed = journal.removed.parse::<Time>();
    matches!((made, removed), (Ok(made), Ok(removed)) if Time::from(made) < removed)
}
