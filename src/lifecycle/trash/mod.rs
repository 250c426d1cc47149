//! Removal is a rename into the trash, and restore its inverse. Nothing here deletes.
//!
//! Removing, under the repository lock and the sandbox's own:
//!   pin (git's entry is locked with our reason, so that no prune or gc drops it), keep (commits
//!   that only it holds get a ref), journal (synced), rename, re-point (entry and folder name each
//!   other again), detach HEAD (the branch is free), journal `trashed`.
//! Restoring: journal `restoring`, rename, re-point, attach HEAD, drop the kept ref, remove the
//!   journal, unpin.
//! A crash before the rename is undone, after it completed, by whichever command next takes the
//! repository lock. A pin without a journal is the first or the last moment of either: released.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::create::random_hex;
use crate::delete;
use crate::error::{Doing, Error, Result};
use crate::gather;
use crate::git::Git;
use crate::journal::{self, GONE, Journal, Pin, Stage, TRASH, TRASH_BESIDE, TREE};
use crate::keep;
use crate::name;
use crate::out::Out;
use crate::place::{self, Place};
use crate::pointer;
use crate::repo::{Repo, Worktree, Worktrees, entry_points_to, is_another_repositorys};
use crate::resolve;
use crate::sandbox::{self, Sandbox};
use crate::step;
use crate::time::{self, Time};
use crate::verdict::Facts;

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
    /// The lock of its entry.
    pub pin: Pin,
    /// What was written down.
    pub journal: Journal,
}

/// What a removal did.
#[derive(Debug)]
pub struct Removed {
    /// Its name in the trash.
    pub id: String,
    /// How many commits only it held.
    pub only_here: u64,
    /// The branch that stays reserved until it is restored.
    pub reserved: Option<String>,
}

/// What a restored sandbox has checked out.
#[derive(Debug, PartialEq, Eq)]
pub enum Attached {
    /// What it had.
    AsBefore,
    /// Its branch, which had vanished.
    Recreated(String),
    /// Its commit, detached: the branch has moved on.
    Moved(String),
    /// Its commit, detached: the branch had vanished and cannot be made again.
    Blocked(String),
    /// Its commit, detached: the branch is checked out elsewhere.
    Taken(String, PathBuf),
}

impl Item {
    /// The item of a pinned entry, once its removal is complete.
    pub fn of(tree: &Worktree) -> Result<Option<Item>> {
        let Some(pin) = pin_of(tree) else { return Ok(None) };
        let journal = Journal::of(&pin, &tree.entry)?;
        let there = |journal: &Journal| matches!(journal.stage, Stage::Trashed | Stage::Purging);
        Ok(journal.filter(there).map(|journal| Item { pin, journal }))
    }

    /// Its files.
    pub fn tree(&self) -> PathBuf {
        self.pin.at.join(TREE)
    }

    /// Its files, once they are being deleted.
    pub fn gone(&self) -> PathBuf {
        self.pin.at.join(GONE)
    }
}

/// The pin of an entry in the trash, or on its way there or back.
pub fn pin_of(tree: &Worktree) -> Option<Pin> {
    tree.record.locked.as_deref().and_then(Pin::parse)
}

/// What can be brought back, newest first. An item that cannot be read is an error of its own.
pub fn items(linked: &[Worktree]) -> Vec<Result<Item>> {
    let mut items: Vec<Result<Item>> =
        linked.iter().filter_map(|tree| Item::of(tree).transpose()).collect();
    let removed = |item: &Result<Item>| item.as_ref().ok().map(|item| item.journal.removed.clone());
    items.sort_by_key(|item| std::cmp::Reverse(removed(item)));
    items
}

impl Trash<'_> {
    /// Finishes or undoes what a crash left. Whether there was anything.
    pub fn recover(&self, worktrees: &Worktrees, out: Out) -> bool {
        let mut changed = false;
        for tree in &worktrees.linked {
            if !tree.entry.as_os_str().is_empty() {
                journal::clear(&tree.entry.join("locked"));
            }
            let mended = self
                .clear_stub(tree)
                .and_then(|cleared| Ok(cleared || self.recover_one(tree, worktrees)?));
            match mended {
                Ok(mended) => changed |= mended,
                // One that cannot be mended keeps nobody from working on others.
                Err(error) => {
                    out.warn(&format!("an interrupted removal or restore is still there: {error}"));
                }
            }
        }
        changed
    }

    fn recover_one(&self, tree: &Worktree, worktrees: &Worktrees) -> Result<bool> {
        let Some(pin) = pin_of(tree) else { return Ok(false) };
        let entry = &tree.entry;
        // Another tool moved it while we looked.
        if entry.as_os_str().is_empty() {
            return Ok(false);
        }
        let there = pin.at.join(TREE).symlink_metadata().is_ok();
        match Journal::of(&pin, entry)? {
            Some(journal) if matches!(journal.stage, Stage::Trashed | Stage::Purging) => {
                return Ok(false);
            }
            Some(journal) => match &journal.stage {
                Stage::Restoring(_) if there => {
                    Journal { stage: Stage::Trashed, ..journal.clone() }.write(&pin.at)?;
                }
                Stage::Restoring(target) => {
                    self.complete_restore(&pin, &journal, target, worktrees)?;
                }
                _ if there => self.finish_removal(&pin, journal, tree)?,
                _ => self.undo(&pin, entry)?,
            },
            None if there => {
                let why = "its journal is lost".to_owned();
                return Err(Error::Damaged { name: pin.id, why });
            }
            // Neither journal nor files where they should be: the disk they are on is away.
            None if !tree.record.path.join(".git").exists() => return Ok(false),
            None => self.undo(&pin, entry)?,
        }
        Ok(true)
    }

    /// Moves a sandbox into the trash. The caller has the verdict and both locks.
    pub fn remove(&self, sandbox: &Sandbox, facts: &Facts, reason: &str) -> Result<Removed> {
        // What could not be mended is known to its own journal only.
        if Pin::is_set(&sandbox.entry) {
            let why = "an interrupted removal or restore of it is still there".to_owned();
            return Err(Error::Damaged { name: sandbox.name(), why });
        }
        let id = format!("{}-{}", name::slug(&sandbox.name()), random_hex()?);
        let at = self.folder_for(&sandbox.path)?.join(&id);
        let pin = Pin::new(&id, at, &sandbox.entry);
        let entry = &sandbox.entry;
        step::reached();
        pin.set(entry)?;
        step::reached();
        let moved = self.keep(entry, facts, &id).and_then(|only_here| {
            step::reached();
            let journal = self.journal(sandbox, facts, reason, &id)?;
            place::make_folder(&pin.at)?;
            step::reached();
            journal.write(&pin.at)?;
            step::reached();
            rename(&sandbox.path, &pin.at.join(TREE))?;
            step::reached();
            Ok((journal, only_here))
        });
        let (journal, only_here) = match moved {
            Ok(moved) => moved,
            Err(error) => {
                self.undo(&pin, entry)?;
                return Err(error);
            }
        };
        if let Err(error) = self.complete_removal(&pin, &journal) {
            // Back where it was: a removal is whole or none.
            rename(&pin.at.join(TREE), &sandbox.path)?;
            pointer::connect(entry, &sandbox.path)?;
            if let (Some(branch), Some(_)) = (&journal.branch, &journal.head) {
                let words = ["symbolic-ref", "-m", "git sandbox: not removed", "HEAD", branch];
                keep::within(&self.git, entry, words).done("put HEAD back on its branch")?;
            }
            self.undo(&pin, entry)?;
            return Err(error);
        }
        let reserved = journal.branch.is_none().then(|| sandbox.branch_text()).flatten();
        Ok(Removed { id, only_here, reserved })
    }

    /// Makes the kept ref, unless the facts say that nothing is only here and nothing has changed.
    fn keep(&self, entry: &Path, facts: &Facts, id: &str) -> Result<u64> {
        let held = keep::held_by(&self.git, entry)?;
        let known =
            facts.only_here == Ok(0) && facts.held == held.commits && held.is_commits_only();
        if known { Ok(0) } else { keep::keep(&self.git, &self.repo.common, &held, id) }
    }

    fn journal(&self, sandbox: &Sandbox, facts: &Facts, reason: &str, id: &str) -> Result<Journal> {
        let branch = sandbox.branch.as_deref().filter(|_| !sandbox.detached).map(resolve::full);
        let branch = branch.map(OsString::into_string).transpose();
        Ok(Journal {
            stage: Stage::Removing,
            id: id.to_owned(),
            name: sandbox.name(),
            from: sandbox.path.clone(),
            entry: sandbox.entry.clone(),
            common: self.repo.common.clone(),
            branch: branch.map_err(|_| Error::NotText { what: "branch" })?,
            head: sandbox.head.clone(),
            removed: time::rfc3339(self.now),
            reason: reason.to_owned(),
            holds: crate::verdict::holds(facts),
            nested: facts.nested.clone().unwrap_or_default(),
            doubts: crate::verdict::doubts(facts),
        })
    }

    /// Where removed sandboxes of this file system go.
    fn folder_for(&self, path: &Path) -> Result<PathBuf> {
        let device = |path: &Path| fs::symlink_metadata(path).map(|meta| meta.dev()).ok();
        let beside = path.parent().unwrap_or(path);
        let root = self.place.safe_root()?;
        let trash = match device(&root) == device(path) {
            true => root.join(TRASH),
            false => beside.join(TRASH_BESIDE),
        };
        place::make_folder(&trash)?;
        match fs::symlink_metadata(&trash) {
            Ok(meta) if meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw() => {
                Ok(trash)
            }
            _ => Err(Error::Root {
                root: trash,
                why: "it is not a folder of yours".into(),
                hint: None,
            }),
        }
    }

    /// After the rename.
    fn complete_removal(&self, pin: &Pin, journal: &Journal) -> Result<()> {
        pointer::connect(&journal.entry, &pin.at.join(TREE))?;
        step::reached();
        self.detach(journal)?;
        step::reached();
        Journal { stage: Stage::Trashed, ..journal.clone() }.write(&pin.at)?;
        step::reached();
        Ok(())
    }

    fn detach(&self, journal: &Journal) -> Result<()> {
        let (Some(_), Some(head)) = (&journal.branch, &journal.head) else { return Ok(()) };
        let words = ["update-ref", "--no-deref", "-m", "git sandbox: removed", "HEAD", head, head];
        keep::within(&self.git, &journal.entry, words).done("detach HEAD")
    }

    /// The same after a crash: its branch may have moved since, and what it is at now is kept. Where
    /// HEAD cannot be detached, somebody's lock in the way, its branch stays reserved; it can be brought
    /// back all the same.
    fn finish_removal(&self, pin: &Pin, mut journal: Journal, tree: &Worktree) -> Result<()> {
        pointer::connect(&journal.entry, &pin.at.join(TREE))?;
        step::reached();
        if tree.record.head.is_some() && tree.record.head != journal.head {
            let held = keep::held_by(&self.git, &journal.entry)?;
            keep::keep(&self.git, &self.repo.common, &held, &pin.id)?;
            journal.head.clone_from(&tree.record.head);
        }
        let on_branch = tree.record.branch.is_some();
        let detached = if on_branch { self.detach(&journal) } else { Ok(()) };
        step::reached();
        Journal { stage: Stage::Trashed, ..journal }.write(&pin.at)?;
        step::reached();
        detached
    }

    /// Before the rename, or in the last moment of a restore. Its reflog may have expired since.
    fn undo(&self, pin: &Pin, entry: &Path) -> Result<()> {
        Journal::remove(&pin.at)?;
        step::reached();
        keep::let_go_if_held(&self.git, &self.repo.common, entry, &pin.id)?;
        step::reached();
        pin.release(entry)
    }

    /// Brings a removed sandbox back, to where it was or under another name beside that.
    pub fn restore(
        &self,
        item: &Item,
        name: Option<&str>,
        worktrees: &Worktrees,
    ) -> Result<(PathBuf, Attached)> {
        let from = &item.journal.from;
        let target = name.map_or_else(|| from.clone(), |name| from.with_file_name(name));
        if target.symlink_metadata().is_ok() {
            return Err(Error::RestoreTaken { path: target, name: item.journal.name.clone() });
        }
        // git would prune one of two entries that name one folder.
        let other =
            |tree: &&Worktree| tree.entry != item.journal.entry && tree.record.path == target;
        if worktrees.linked.iter().any(|tree| other(&tree)) {
            return Err(Error::RestoreTaken { path: target, name: item.journal.name.clone() });
        }
        if let Some(parent) = target.parent() {
            place::make_folder(parent)?;
        }
        let tree = item.tree();
        if !tree.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            let why = "its files are not in the trash any more".to_owned();
            return Err(Error::Damaged { name: item.journal.name.clone(), why });
        }
        step::reached();
        let journal = Journal { stage: Stage::Restoring(target.clone()), ..item.journal.clone() };
        journal.write(&item.pin.at)?;
        step::reached();
        if let Err(error) = rename(&tree, &target) {
            item.journal.write(&item.pin.at)?;
            return Err(error);
        }
        step::reached();
        let attached = self.complete_restore(&item.pin, &journal, &target, worktrees)?;
        Ok((target, attached))
    }

    /// After the rename back.
    fn complete_restore(
        &self,
        pin: &Pin,
        journal: &Journal,
        target: &Path,
        worktrees: &Worktrees,
    ) -> Result<Attached> {
        pointer::connect(&journal.entry, target)?;
        if *target != journal.from {
            pointer::connect_submodules(&self.git, &journal.entry, target)?;
        }
        step::reached();
        let attached = self.attach(journal, worktrees)?;
        step::reached();
        keep::let_go_if_held(&self.git, &self.repo.common, &journal.entry, &pin.id)?;
        step::reached();
        Journal::remove(&pin.at)?;
        step::reached();
        pin.release(&journal.entry)?;
        place::touch(target, self.now)?;
        Ok(attached)
    }

    /// Puts HEAD back on its branch, where that is still the same and free.
    fn attach(&self, journal: &Journal, worktrees: &Worktrees) -> Result<Attached> {
        let (Some(branch), Some(head)) = (&journal.branch, &journal.head) else {
            return Ok(Attached::AsBefore);
        };
        let name = branch.strip_prefix("refs/heads/").unwrap_or(branch).to_owned();
        let on_it = |tree: &&Worktree| {
            let same = tree.record.branch.as_deref() == Some(branch.as_ref());
            let held = || sandbox::branch_held_by(&tree.entry).as_deref() == Some(name.as_ref());
            tree.entry != journal.entry && (same || held())
        };
        let elsewhere = worktrees.linked.iter().find(on_it).map(|tree| &tree.record);
        let main = &worktrees.main;
        let held = || sandbox::branch_held_by(&self.repo.common).as_deref() == Some(name.as_ref());
        let main = (main.branch.as_deref() == Some(branch.as_ref()) || held()).then_some(main);
        if let Some(record) = elsewhere.or(main) {
            return Ok(Attached::Taken(name, record.path.clone()));
        }
        // Somebody may have gone on working after a crash in the middle of a restore; or HEAD could
        // never be detached.
        let own = worktrees.linked.iter().find(|tree| tree.entry == journal.entry);
        if own.is_some_and(|tree| tree.record.branch.as_deref() == Some(branch.as_ref())) {
            return Ok(Attached::AsBefore);
        }
        if own.is_none_or(|tree| tree.record.head.as_ref() != Some(head)) {
            return Ok(Attached::Moved(name));
        }
        let verify = ["rev-parse", "--verify", "--quiet", branch];
        let tip = self.git.at(&self.repo.common).look(verify).ask()?;
        let tip = match tip.code {
            Some(0) => Some(String::from_utf8_lossy(tip.stdout.trim_ascii_end()).into_owned()),
            Some(1) => None,
            // No answer is not the answer that it is gone. The next command tries again.
            _ => return Err(Error::Git { doing: "read its branch".into(), why: tip.why() }),
        };
        let attached = match tip {
            Some(tip) if tip == *head => Attached::AsBefore,
            Some(_) => return Ok(Attached::Moved(name)),
            None => {
                let words = ["update-ref", "-m", "git sandbox: restored", branch, head, ""];
                if !self.git.at(&self.repo.common).look(words).ask()?.ok() {
                    return Ok(Attached::Blocked(name));
                }
                Attached::Recreated(name)
            }
        };
        let words = ["symbolic-ref", "-m", "git sandbox: restored", "HEAD", branch];
        keep::within(&self.git, &journal.entry, words).done("put HEAD back on its branch")?;
        Ok(attached)
    }

    /// Drops git's entry of a worktree whose folder is gone, and nothing else: not a folder that has
    /// come back meanwhile.
    pub fn drop_entry(&self, entry: &Path) -> Result<()> {
        let ours = entry.parent() == Some(&self.repo.common.join("worktrees"));
        let there = entry_points_to(entry).is_none_or(|folder| {
            folder.symlink_metadata().is_ok() && !is_another_repositorys(&folder, entry)
        });
        if !ours || there {
            let why = "its folder is there".to_owned();
            return Err(Error::Damaged { name: entry.to_string_lossy().into_owned(), why });
        }
        delete::tree(entry).at("drop", entry)
    }

    /// Forgets a sandbox whose folder is gone; what only its entry holds is kept. What that is, in
    /// words.
    pub fn forget(&self, sandbox: &Sandbox) -> Result<Option<String>> {
        if let Some(path) = self.place.folder_of(&sandbox.entry) {
            return Err(Error::Moved { name: sandbox.name(), path });
        }
        if let Some(why) = gather::modules_with_work(&self.git, &sandbox.entry) {
            return Err(Error::NotForgotten {
                name: sandbox.name(),
                path: sandbox.path.clone(),
                why,
            });
        }
        let id = format!("{}-{}", name::slug(&sandbox.name()), random_hex()?);
        let kept = keep::keep_with_index(&self.git, &self.repo.common, &sandbox.entry, &id)?;
        self.drop_entry(&sandbox.entry)?;
        Ok(kept)
    }
}

/// Renames without ever replacing anything.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    let renamed = match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot promise that.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if to.symlink_metadata().is_err() => {
            fs::rename(from, to)
        }
        other => other.map_err(Into::into),
    };
    renamed.doing(|| format!("move '{}' to '{}'", from.display(), to.display()))
}
