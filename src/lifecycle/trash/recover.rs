//! What a crash left of a removal or a restore is finished or undone.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::{Error, Result};
use crate::lifecycle::trash::{Item, Trash, orphan, private_home, restore};
use crate::lifecycle::vault::Vault;
use crate::repo::{Worktree, Worktrees, held, kept};
use crate::sandbox::journal::{Journal, Stage, TREE};
use crate::sandbox::mark::Pin;
use crate::sandbox::record;
use crate::sys::file;
use crate::sys::lock::Lock;
use crate::ui::out::Out;

impl Trash<'_> {
    /// Finishes or undoes what a crash left, and adopts items whose repository is in reach again.
    /// Only those of `unsettled` may be in the middle of either. Returns whether there was anything.
    pub fn recover(&self, worktrees: &Worktrees, unsettled: &[Worktree], out: Out) -> bool {
        let mut changed = false;
        let mut note = |mended: Result<bool>| match mended {
            Ok(mended) => changed |= mended,
            // One that cannot be mended keeps no command from working on others.
            Err(error) => {
                out.warn(&format!("an interrupted removal or restore is still there: {error}"));
            }
        };
        for tree in unsettled.iter().filter(|tree| !tree.entry.as_os_str().is_empty()) {
            file::clear(&tree.entry.join("locked"));
            note(self.recover_registered(tree));
        }
        for item in self.items() {
            note(self.recover_item(&item, worktrees, out));
        }
        note(self.adopt_stored(worktrees, out));
        changed
    }

    /// One whose private git dir is still, or again, in git's registry.
    fn recover_registered(&self, tree: &Worktree) -> Result<bool> {
        let entry = &tree.entry;
        let Some(pin) = tree.record.locked.as_deref().and_then(Pin::parse) else {
            return Ok(false);
        };
        let there = pin.at.join(TREE).symlink_metadata().is_ok();
        match Journal::read(&pin.at)?.filter(|journal| journal.id == pin.id) {
            Some(journal) => match &journal.stage {
                Stage::Removing if there || !journal.has_tree => {
                    let journal = self.as_it_is_now(&pin, journal, tree)?;
                    self.complete_removal(&pin, &journal, entry, None)?;
                }
                Stage::Removing => self.undo(&pin, Some(&journal), entry)?,
                // Half adopted, which is completed with the other items.
                Stage::Trashed if journal.orphan => return Ok(false),
                Stage::Restoring(target) if !there => {
                    self.finish_restore(&pin.at, &journal, entry, target)?;
                }
                _ => {
                    let why = "its journal and git do not agree".to_owned();
                    return Err(Error::Damaged { name: pin.id, why });
                }
            },
            None if there => {
                let why = "its journal is lost".to_owned();
                return Err(Error::Damaged { name: pin.id, why });
            }
            // Neither journal nor files where they should be: the disk that they are on may be away.
            None if !tree.record.path.join(".git").exists() && !is_trash_there(&pin, entry) => {
                return Ok(false);
            }
            None => self.undo(&pin, None, entry)?,
        }
        Ok(true)
    }

    /// Its branch may have moved between the crash and now: what HEAD is at now is kept.
    fn as_it_is_now(&self, pin: &Pin, mut journal: Journal, tree: &Worktree) -> Result<Journal> {
        let head = &tree.record.head;
        if head.is_some() && *head != journal.head {
            let held = held::held_by(&self.git, &tree.entry)?;
            let kept = kept::keep(&self.git, self.repo, &held, head.as_deref(), &pin.id)?;
            journal.head.clone_from(head);
            journal.kept = kept.commit;
        }
        if tree.record.branch.is_some() {
            self.detach(&journal, &tree.entry)?;
        }
        Ok(journal)
    }

    fn recover_item(&self, item: &Item, worktrees: &Worktrees, out: Out) -> Result<bool> {
        let Item { at, private, journal } = item;
        let there = item.tree().symlink_metadata().is_ok();
        match (&journal.stage, private) {
            (Stage::Removing, None) if journal.orphan => return self.recover_orphan(at, out),
            (Stage::Removing, Some(private)) => {
                let Some(pin) = Pin::read(private)? else { return Ok(false) };
                let head = held::head_commit(&self.git, private)?;
                let head = head.or_else(|| journal.head.clone());
                let journal = Journal { head, ..journal.clone() };
                self.complete_removal(&pin, &journal, private, None)?;
            }
            (Stage::Restoring(_), Some(private)) if there => {
                self.stay_in_trash(at, journal, private)?;
            }
            // Where no folder was moved, there was none yet: an item without files gets an empty one.
            (Stage::Restoring(target), Some(private))
                if !journal.has_tree && self.moved_entry(private, target).is_none() =>
            {
                self.stay_in_trash(at, journal, private)?;
            }
            (Stage::Restoring(target), Some(private)) => {
                self.complete_restore(at, journal, private, target, worktrees)?;
            }
            (Stage::Restoring(target), None) if !there => {
                restore::finish_plain(at, journal, target)?;
            }
            (Stage::Restoring(_), None) => drop(journal.at_stage(Stage::Trashed, at)?),
            (Stage::Trashed, Some(_)) => {
                Journal::clear(at);
                return self.renew(journal);
            }
            (Stage::Trashed | Stage::Removing, None) => return self.adopt(item),
            (Stage::Unpacking, _) => return self.undo_unpacking(item, out),
            (Stage::PutAway | Stage::Purging, _) => return Ok(false),
        }
        Ok(true)
    }

    /// An orphan that was being moved to the trash before its repository was in reach again.
    fn recover_orphan(&self, at: &Path, out: Out) -> Result<bool> {
        // A process that is moving it holds this lock.
        let _lock = Lock::folder(&self.place.root, out)?;
        orphan::recover(&[at.to_owned()])?;
        if let Some(journal) = Journal::read(at)? {
            self.adopt(&Item { at: at.to_owned(), private: None, journal })?;
        }
        Ok(true)
    }

    /// Deletes what an interrupted restore from the vault made, unless a folder is in its place already:
    /// the next restore completes that. One that the vault has let go of is complete.
    fn undo_unpacking(&self, item: &Item, out: Out) -> Result<bool> {
        let id = &item.journal.id;
        let places = [item.tree(), private_home(&self.repo.common).join(id)];
        let is_there = places.iter().any(|place| place.symlink_metadata().is_ok());
        let vault = Vault::at(&self.place.root, &self.git, out);
        match vault.clear_unpacked(id, &places)? {
            false if is_there => {
                item.journal.at_stage(Stage::Trashed, &item.at)?;
                return Ok(true);
            }
            true if !is_there => {}
            _ => return Ok(false),
        }
        Journal::remove(&item.at)?;
        Ok(true)
    }

    /// Makes a kept ref again that something has deleted.
    pub fn renew(&self, journal: &Journal) -> Result<bool> {
        let Some(commit) = &journal.kept else { return Ok(false) };
        let (git, common) = (&self.git, &self.repo.common);
        match kept::renew(git, common, commit, &journal.id) {
            // Nothing can be done about that; `doctor` and `restore` tell of it.
            Err(_) if !kept::has(git, common, commit)? => Ok(false),
            renewed => renewed.map(|()| false),
        }
    }
}

/// Whether the trash that a pin names is there, so that a journal that is not in it was never written.
/// It is on the device that the sandbox was on; without files there is nothing that could be away.
fn is_trash_there(pin: &Pin, entry: &Path) -> bool {
    let trash = pin.at.parent().and_then(|trash| fs::symlink_metadata(trash).ok());
    let device = trash.map(|meta| meta.dev());
    pin.folder_gone || (device.is_some() && device == record::read(entry).device)
}
