//! Forgetting a worktree whose folder is gone: its private git dir becomes an item without files.
//!
//! Nothing is deleted. What cannot be set aside without doubt stays where it is and is reported: an
//! operation in progress, submodules, files that neither git nor we made, a root that is not mounted.

use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::lifecycle::trash::Trash;
use crate::lifecycle::trash::removal::{self, new_id};
use crate::repo::kept::{self, Kept};
use crate::repo::{held, link};
use crate::sandbox::holding::Holding;
use crate::sandbox::journal::{Journal, Why};
use crate::sandbox::mark::Pin;
use crate::sandbox::{Sandbox, record};
use crate::sys::{crash_point, delete, dir};

/// Why a private git dir is not set aside.
#[derive(Debug, PartialEq, Eq)]
pub enum Stays {
    /// A rebase, merge, bisect and so on is in progress.
    Operation(&'static str),
    /// It has clones of submodules.
    Submodules,
    /// It holds a file that neither git nor we made.
    Foreign(PathBuf),
    /// The file system that its folder was on is not mounted.
    NotMounted,
    /// Its folder is there after all, or was moved.
    FolderThere(PathBuf),
    /// Its files are in the vault: they were put away while the repository was out of reach.
    InVault(String),
    /// The vault, which may have its files, cannot be read.
    VaultUnread(String),
}

impl fmt::Display for Stays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stays::Operation(operation) => write!(f, "a {operation} is in progress in it"),
            Stays::Submodules => f.write_str("it has submodules of its own"),
            Stays::Foreign(path) => write!(f, "'{}' is not git's", path.display()),
            Stays::NotMounted => f.write_str("the disk it was on is not mounted"),
            Stays::FolderThere(path) => write!(f, "its folder is at '{}'", path.display()),
            Stays::InVault(id) => write!(f, "its files are in the vault, as '{id}'"),
            Stays::VaultUnread(why) => write!(f, "its files may be in the vault: {why}"),
        }
    }
}

/// A worktree that was forgotten.
#[derive(Debug)]
pub struct Forgotten {
    /// Its name in the trash.
    pub id: String,
    /// What was kept.
    pub kept: Kept,
    /// How many staged files are among it.
    pub staged: u64,
}

impl Trash<'_> {
    /// Why the private git dir of a missing folder cannot be set aside, if so.
    pub fn stays(&self, sandbox: &Sandbox) -> Option<Stays> {
        let entry = &sandbox.entry;
        let operation = sandbox.operation(&self.git, self.repo.is_reftable());
        let moved = self.place.folder_of(entry);
        let there = || {
            let folder = link::entry_points_to(entry)?;
            let ours =
                folder.symlink_metadata().is_ok() && !link::is_another_repositorys(&folder, entry);
            ours.then_some(folder)
        };
        let not_mounted = || {
            let recorded = record::read(entry).device?;
            let parent = sandbox.path.ancestors().skip(1).find_map(|path| fs::metadata(path).ok());
            (parent.map(|meta| meta.dev()) != Some(recorded)).then_some(Stays::NotMounted)
        };
        let modules = dir::paths_in(&entry.join("modules")).map_or(true, |dirs| !dirs.is_empty());
        moved
            .or_else(there)
            .map(Stays::FolderThere)
            .or_else(|| operation.map(Stays::Operation))
            .or_else(|| modules.then_some(Stays::Submodules))
            .or_else(not_mounted)
            .or_else(|| foreign(entry).map(Stays::Foreign))
            .or_else(|| match self.stored_for(entry) {
                Ok(id) => id.map(Stays::InVault),
                Err(error) => Some(Stays::VaultUnread(error.to_string())),
            })
    }

    /// Sets aside the private git dir of a worktree whose folder is gone.
    pub fn forget(&self, sandbox: &Sandbox) -> Result<Forgotten> {
        self.check_forgettable(sandbox)?;
        self.check_settled(sandbox)?;
        let entry = &sandbox.entry;
        let id = new_id(&sandbox.name())?;
        self.home()?;
        let trash = self.place.safe_root()?.join(crate::sandbox::mark::TRASH);
        dir::make(&trash)?;
        super::check_ours(&trash)?;
        let pin = Pin::new(&id, trash.join(&id), entry)?.without_folder();
        crash_point::reached();
        removal::set(&pin, entry)?;
        crash_point::reached();
        let prepared = self.prepare_to_forget(sandbox, &pin);
        let (journal, kept) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                self.undo(&pin, None, entry)?;
                return Err(error);
            }
        };
        self.detach(&journal, entry)?;
        crash_point::reached();
        self.complete_removal(&pin, &journal, entry, None)?;
        let staged = journal.holds.iter().find_map(|held| match held {
            Holding::Staged(count) => Some(*count),
            _ => None,
        });
        Ok(Forgotten { id, kept, staged: staged.unwrap_or(0) })
    }

    /// Refuses what [`Trash::forget`] would refuse before it changes anything.
    pub fn check_forgettable(&self, sandbox: &Sandbox) -> Result<()> {
        let name = sandbox.name();
        match self.stays(sandbox) {
            None => Ok(()),
            Some(Stays::FolderThere(path)) if path != sandbox.path => {
                Err(Error::Moved { name, path })
            }
            Some(why) => {
                let (path, why) = (sandbox.path.clone(), why.to_string());
                Err(Error::NotForgotten { name, path, why })
            }
        }
    }

    fn prepare_to_forget(&self, sandbox: &Sandbox, pin: &Pin) -> Result<(Journal, Kept)> {
        let entry = &sandbox.entry;
        let head = sandbox.head.as_deref();
        let mut held = held::held_by(&self.git, entry)?;
        held::add_staged(&self.git, entry, head, &mut held)?;
        let staged = held.staged();
        let kept = kept::keep(&self.git, self.repo, &held, head, &pin.id)?;
        crash_point::reached();
        let only_here = (kept.only_here > 0).then_some(Holding::OnlyHere(kept.only_here));
        let staged = (staged > 0).then_some(Holding::Staged(staged));
        let journal = Journal {
            has_tree: false,
            holds: staged.into_iter().chain(only_here).collect(),
            ..self.journal(sandbox, pin, kept.commit.clone(), Why::FolderGone)?
        };
        dir::make(&pin.at)?;
        journal.write(&pin.at)?;
        crash_point::reached();
        Ok((journal, kept))
    }
}

/// A file at the top of a private git dir that neither git nor we make there.
fn foreign(entry: &Path) -> Option<PathBuf> {
    const NAMES: [&str; 17] = [
        "HEAD",
        "ORIG_HEAD",
        "FETCH_HEAD",
        "AUTO_MERGE",
        "index",
        "index.lock",
        "commondir",
        "gitdir",
        "locked",
        "config.worktree",
        "logs",
        "refs",
        "reftable",
        "modules",
        "info",
        "SQUASH_MSG",
        "hooks",
    ];
    const LEADS: [&str; 8] = [
        "sandbox.",
        "sharedindex.",
        "COMMIT_EDITMSG",
        "MERGE_",
        "BISECT_",
        "TAG_EDITMSG",
        "fsmonitor--daemon",
        "confined",
    ];
    // One that cannot be read may hold anything.
    let Ok(files) = dir::paths_in(entry) else { return Some(entry.to_owned()) };
    let known = |name: &[u8]| {
        NAMES.iter().any(|known| name == known.as_bytes())
            || LEADS.iter().any(|lead| name.starts_with(lead.as_bytes()))
            || name.ends_with(b"_HEAD")
            || name.ends_with(b".lock")
    };
    files.into_iter().find(|path| !known(path.file_name().unwrap_or_default().as_bytes()))
}

impl Trash<'_> {
    /// Deletes the private git dir of a worktree of ours that never held work: half-made, a spare, or
    /// one that a merge used. Not if a folder stands where it says.
    pub fn drop_unused(&self, entry: &Path) -> Result<()> {
        let ours = entry.parent() == Some(&self.repo.common.join("worktrees"));
        let there = link::entry_points_to(entry).is_none_or(|folder| {
            folder.symlink_metadata().is_ok() && !link::is_another_repositorys(&folder, entry)
        });
        if !ours || there {
            let why = "its folder is there".to_owned();
            return Err(Error::Damaged { name: entry.to_string_lossy().into_owned(), why });
        }
        delete::tree(entry).at("drop", entry)
    }
}
