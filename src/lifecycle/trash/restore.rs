//! Restore, the inverse of removal.
//!
//! Pointers are written first, then the folder is moved, then the finished private git dir goes back
//! into git's registry. A crash before the folder moved is undone, after it completed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::lifecycle::trash::attach::{Attached, HEAD};
use crate::lifecycle::trash::removal::resume_operation;
use crate::lifecycle::trash::{Item, Trash};
use crate::repo::link::{self, Half};
use crate::repo::{Worktree, Worktrees, held, kept};
use crate::sandbox::holding::Holding;
use crate::sandbox::journal::{Journal, SET_ASIDE, Stage, TREE};
use crate::sandbox::mark::Pin;
use crate::sys::path::is_same;
use crate::sys::{crash_point, dir, file, random};

impl Trash<'_> {
    /// Brings a removed sandbox back, to where it was or under another name beside that.
    pub fn restore(
        &self,
        item: &Item,
        name: Option<&str>,
        worktrees: &Worktrees,
    ) -> Result<(PathBuf, Attached)> {
        let Item { at, private, journal } = item;
        let from = &journal.from;
        let target = name.map_or_else(|| from.clone(), |name| from.with_file_name(name));
        // git would prune one of two entries that name one folder.
        let taken = |tree: &Worktree| tree.record.path == target;
        let name = journal.name.clone();
        if target.symlink_metadata().is_ok() {
            return Err(Error::RestoreTaken { path: target, name });
        }
        if worktrees.linked.iter().any(taken) {
            return Err(Error::RestoreClaimed { path: target, name });
        }
        if let Some(parent) = target.parent() {
            dir::make(parent)?;
        }
        let tree = item.tree();
        if journal.has_tree && !tree.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            let why = "its files are not in the trash any more".to_owned();
            return Err(Error::Damaged { name: journal.name.clone(), why });
        }
        let Some(private) = private else {
            restore_plain(at, journal, &target)?;
            dir::touch(&target, self.now)?;
            return Ok((target, Attached::PlainFolder));
        };
        if let Err(error) = self.keep_again(item, private) {
            let named = [journal.kept.clone(), held::head_commit(&self.git, private)?];
            let has = |commit: &String| kept::has(&self.git, &self.repo.common, commit);
            let has: Vec<bool> = named.iter().flatten().map(has).collect::<Result<_>>()?;
            if !has.contains(&false) {
                return Err(error);
            }
            let why =
                format!("the repository lost its commits; its files are '{}'", tree.display());
            return Err(Error::Damaged { name: journal.name.clone(), why });
        }
        crash_point::reached();
        let journal = journal.at_stage(Stage::Restoring(target.clone()), at)?;
        crash_point::reached();
        match self.move_back(at, &journal, private, &target) {
            Ok(()) => {}
            Err(error) => {
                self.stay_in_trash(at, &journal, private)?;
                return Err(error);
            }
        }
        let attached = self.complete_restore(at, &journal, private, &target, worktrees)?;
        Ok((target, attached))
    }

    /// Makes the kept ref anew from what an item holds now: a process left in it may have committed.
    /// Returns its journal with what is kept, with its refs, and with what the private git dir looked
    /// like before it was read.
    pub fn keep_again(&self, item: &Item, private: &Path) -> Result<Journal> {
        if self.is_unchanged(&item.journal, private) {
            if let Some(commit) = &item.journal.kept {
                kept::renew(&self.git, &self.repo.common, commit, &item.journal.id)?;
            }
            return Ok(item.journal.clone());
        }
        self.refill_refs(&item.journal, private)?;
        let fingerprint = held::fingerprint(private);
        let reftable = self.repo.is_reftable();
        let mut refs = held::private_refs(&self.git, private, reftable)?;
        let own = held::head_commit(&self.git, private)?;
        refs.extend(own.map(|own| (HEAD.to_owned(), own)));
        let mut held = held::held_by(&self.git, private)?;
        let head = item.journal.head.as_deref();
        let staged = held::add_staged(&self.git, private, head, &mut held);
        let unknown = |held: &Holding| matches!(held, Holding::Unknown(_));
        if !item.journal.holds.iter().any(unknown) {
            staged?;
        }
        let id = &item.journal.id;
        if let Some(commit) = &item.journal.kept {
            kept::renew(&self.git, &self.repo.common, commit, id)?;
        }
        let kept = kept::keep(&self.git, self.repo, &held, head, id)?.commit;
        Ok(Journal { kept, reftable, refs, fingerprint, ..item.journal.clone() })
    }

    /// Whether a private git dir is exactly as the removal left it.
    fn is_unchanged(&self, journal: &Journal, private: &Path) -> bool {
        journal.reftable == self.repo.is_reftable()
            && journal.fingerprint.is_some()
            && journal.fingerprint == held::fingerprint(private)
    }

    /// Writes the pointers and moves the folder.
    fn move_back(&self, at: &Path, journal: &Journal, private: &Path, target: &Path) -> Result<()> {
        let entry = self.entry_for(journal)?;
        let tree = at.join(TREE);
        if !journal.has_tree && !tree.exists() {
            dir::make(&tree)?;
            link::write_git_file(&tree, private)?;
        }
        crash_point::reached();
        // As they were last named: repository and root may have been moved since.
        let was = link::folder_points_to(&tree).unwrap_or_else(|| private.to_owned());
        let named = link::entry_points_to(private).unwrap_or_else(|| tree.clone());
        link::point(Half { at: private, named: &entry }, Half { at: &tree, named: target })?;
        let halves = (Half { at: private, named: &entry }, Half { at: &tree, named: target });
        link::move_submodules(&self.git, (&was, &named), halves.0, halves.1)?;
        crash_point::reached();
        file::rename(&tree, target)?;
        crash_point::reached();
        Ok(())
    }

    /// The place in git's registry: the old name or, if that is taken, a new one.
    fn entry_for(&self, journal: &Journal) -> Result<PathBuf> {
        let worktrees = self.repo.common.join("worktrees");
        let old = journal.private.as_deref().and_then(Path::file_name);
        match old.map(|name| worktrees.join(name)) {
            Some(entry) if entry.symlink_metadata().is_err() => Ok(entry),
            _ => {
                let folder = journal.from.file_name().unwrap_or_default().to_string_lossy();
                Ok(worktrees.join(format!("{folder}.{}", random::hex()?)))
            }
        }
    }

    /// Makes the pointers say again that both halves are in the trash.
    pub(super) fn stay_in_trash(&self, at: &Path, journal: &Journal, private: &Path) -> Result<()> {
        let tree = at.join(TREE);
        if journal.has_tree {
            let named = link::entry_points_to(private).unwrap_or_else(|| journal.from.clone());
            let was = link::folder_points_to(&tree).unwrap_or_else(|| private.to_owned());
            link::connect(private, &tree)?;
            let halves = (Half::here(private), Half::here(&tree));
            link::move_submodules(&self.git, (&was, &named), halves.0, halves.1)?;
        } else if tree.is_dir() {
            match fs::remove_file(tree.join(".git")) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).at("remove", &tree);
                }
                _ => {}
            }
            fs::remove_dir(&tree).at("remove", &tree)?;
        }
        journal.at_stage(Stage::Trashed, at).map(drop)
    }

    /// After the folder has moved: HEAD, the registry, the user's lock, the kept ref, the journal.
    pub(super) fn complete_restore(
        &self,
        at: &Path,
        journal: &Journal,
        private: &Path,
        target: &Path,
        worktrees: &Worktrees,
    ) -> Result<Attached> {
        let entry = self.moved_entry(private, target).ok_or_else(|| Error::Damaged {
            name: journal.name.clone(),
            why: format!("its files are neither in the trash nor '{}'", target.display()),
        })?;
        let attached = self.attach(journal, private, worktrees)?;
        resume_operation(journal, private)?;
        crash_point::reached();
        if entry != private {
            let registry = self.repo.common.join("worktrees");
            dir::make(&registry)?;
            file::rename(private, &entry)?;
        }
        crash_point::reached();
        self.finish_restore(at, journal, &entry, target)?;
        Ok(attached)
    }

    /// The place in git's registry that a private git dir goes to, if the folder at `target` is its own:
    /// the two name each other, and no other private git dir has that place.
    pub(super) fn moved_entry(&self, private: &Path, target: &Path) -> Option<PathBuf> {
        let entry = link::folder_points_to(target)?;
        let registry = entry.parent().filter(|registry| registry.ends_with("worktrees"));
        let common = registry.and_then(Path::parent);
        let is_free = entry == private
            || (common.is_some_and(|common| is_same(common, &self.repo.common))
                && entry.symlink_metadata().is_err());
        (is_free && link::entry_points_to(private).as_deref() == Some(target)).then_some(entry)
    }

    /// The last steps, with the private git dir back in git's registry.
    pub(super) fn finish_restore(
        &self,
        at: &Path,
        journal: &Journal,
        entry: &Path,
        target: &Path,
    ) -> Result<()> {
        if !journal.has_tree && fs::read_dir(target).is_ok_and(|files| files.count() == 1) {
            let git = self.git.in_worktree(target);
            git.look(["checkout-index", "--all", "--quiet"]).done("write its files")?;
        }
        crash_point::reached();
        let head = journal.head.as_deref();
        kept::let_go_if_held(&self.git, &self.repo.common, entry, &journal.id, head)?;
        crash_point::reached();
        Journal::remove(at)?;
        crash_point::reached();
        if let Some(pin) = Pin::read(entry)? {
            pin.release(entry)?;
        }
        dir::touch(target, self.now)
    }
}

/// Brings back the files of an item whose private git dir is lost or out of reach: a plain folder, with
/// the `.git` file that it had.
pub(super) fn restore_plain(at: &Path, journal: &Journal, target: &Path) -> Result<()> {
    let journal = journal.at_stage(Stage::Restoring(target.to_owned()), at)?;
    crash_point::reached();
    file::rename(&at.join(TREE), target)?;
    crash_point::reached();
    finish_plain(at, &journal, target)
}

/// The rest of that, after the folder has moved.
pub(super) fn finish_plain(at: &Path, _journal: &Journal, target: &Path) -> Result<()> {
    let aside = at.join(SET_ASIDE);
    if aside.symlink_metadata().is_ok() {
        file::rename(&aside, &target.join(".git"))?;
    }
    Journal::remove(at)
}
