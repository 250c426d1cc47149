//! Purge: the only thing that deletes, and only from the trash, and only what has nothing to lose
//! or was named.
//!
//! Git is asked about the files in the trash but never inside a submodule there, whose pointers may
//! lead to another checkout: what the journal says about those stands. The journal is marked first
//! and the files are put aside, so that a killed purge goes on with the next `reap`; then the files
//! go, then git's entry, then the journal. The kept ref stays.

use std::path::{Path, PathBuf};

use crate::delete;
use crate::error::{Doing, Error, Result};
use crate::gather;
use crate::journal::{Journal, Pin, Stage};
use crate::keep;
use crate::live::Processes;
use crate::porcelain;
use crate::precious;
use crate::repo;
use crate::sandbox::Sandbox;
use crate::step;
use crate::time::counted;
use crate::trash::{Item, Trash, rename};

impl Trash<'_> {
    /// What would be lost with this item, in words; nothing if it may go.
    pub fn losses(&self, item: &Item, main: Option<&Path>, processes: &Processes) -> Vec<String> {
        let Journal { nested, doubts, entry, .. } = &item.journal;
        let nested = nested.iter().map(|path| format!("unsaved work in '{}'", path.display()));
        let mut losses: Vec<String> = doubts.iter().cloned().chain(nested).collect();
        losses.extend(gather::modules_with_work(&self.git, entry));
        losses.extend(self.obstacles(item, processes));
        let sandbox = Sandbox::in_trash(&item.tree(), entry);
        match self.file_losses(item, &sandbox, main) {
            Ok(found) => losses.extend(found),
            Err(error) => losses.push(format!("cannot tell: {error}")),
        }
        losses
    }

    /// What forbids deleting this item even when it was named: whoever is in it, and mounts.
    pub fn obstacles(&self, item: &Item, processes: &Processes) -> Vec<String> {
        let sandbox = Sandbox::in_trash(&item.tree(), &item.journal.entry);
        let mut obstacles: Vec<String> = match processes.users_of(&sandbox) {
            Ok(users) => {
                users.iter().map(|user| format!("in use by {}", user.in_words())).collect()
            }
            Err(error) => vec![format!("cannot tell: {error}")],
        };
        let mount = gather::mounts().into_iter().find(|mount| mount.starts_with(item.tree()));
        obstacles
            .extend(mount.map(|mount| format!("contains the mount point '{}'", mount.display())));
        obstacles
    }

    fn file_losses(
        &self,
        item: &Item,
        sandbox: &Sandbox,
        main: Option<&Path>,
    ) -> Result<Vec<String>> {
        let mut losses = Vec::new();
        let git = self.git.in_worktree(&item.tree());
        let words =
            ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignored=matching"];
        let read = git.look(words).arg("--ignore-submodules=all").read("read its files")?;
        let odd = || Error::Git { doing: "read its files".into(), why: "git status is odd".into() };
        let status = porcelain::status(&read).ok_or_else(odd)?;
        let mut lose = |count: u64, noun: &str| {
            losses.extend((count > 0).then(|| counted(count, noun)));
        };
        // Submodules may not be entered here; what is staged of them stands in the index.
        let staged =
            ["diff-index", "--cached", "--name-only", "-z", "--ignore-submodules=none", "HEAD"];
        let staged = match &item.journal.head {
            Some(_) => porcelain::paths(&git.look(staged).arg("--").read("read its index")?),
            None => Vec::new(),
        };
        let unseen = staged.iter().filter(|path| !status.paths.contains(path)).count() as u64;
        lose(status.changes() + unseen, "uncommitted change");
        let hidden = gather::hidden(&git, sandbox, None);
        lose(
            hidden.map_err(|why| Error::Git { doing: "read its files".into(), why })?,
            "hidden edit",
        );
        lose(precious::among(&git, &self.repo.config, &status.ignored, main)?, "precious file");
        let operation = sandbox.operation(&self.git, self.repo.is_reftable());
        losses.extend(operation.map(|operation| format!("{operation} in progress")));
        Ok(losses)
    }

    /// Puts an item aside to be deleted, and keeps the commits that only it holds by now. From here
    /// on there is no way back.
    pub fn mark_for_purge(&self, item: &Item) -> Result<()> {
        let Item { pin, journal } = item;
        let tree = item.tree();
        let connected = repo::folder_points_to(&tree).as_ref() == Some(&journal.entry)
            && repo::entry_points_to(&journal.entry).as_ref() == Some(&tree);
        if !connected {
            let why = "its entry and its files do not belong together".to_owned();
            return Err(Error::Damaged { name: pin.id.clone(), why });
        }
        let held = keep::held_by(&self.git, &journal.entry)?;
        keep::keep(&self.git, &self.repo.common, &held, &pin.id)?;
        Journal { stage: Stage::Purging, ..journal.clone() }.write(&pin.at)?;
        step::reached();
        rename(&tree, &item.gone())?;
        step::reached();
        Ok(())
    }

    /// After the files are deleted: git's entry, then the journal.
    pub fn finish_purge(&self, item: &Item) -> Result<()> {
        if item.journal.entry.is_dir() {
            self.drop_entry(&item.journal.entry)?;
        }
        step::reached();
        Journal::remove(&item.pin.at)
    }
}

/// Deletes the files of an item that was put aside. Needs no lock: nobody else touches them.
pub fn delete_files(item: &Item) -> Result<()> {
    if let Some(mount) = gather::mounts().into_iter().find(|mount| mount.starts_with(&item.pin.at))
    {
        let why = format!("something is mounted at '{}'", mount.display());
        return Err(Error::Damaged { name: item.pin.id.clone(), why });
    }
    // A crash may have come before the files were put aside.
    if item.tree().symlink_metadata().is_ok() {
        rename(&item.tree(), &item.gone())?;
    }
    step::reached();
    delete::tree(&item.gone()).at("delete", &item.gone())?;
    step::reached();
    Ok(())
}

/// Items whose purge lost its entry to a crash: only the journal knows of them.
pub fn leftovers(folders: &[PathBuf], common: &Path) -> Vec<Item> {
    let left = folders.iter().filter_map(|folder| {
        let journal = Journal::read(folder).ok()??;
        let ours = journal.common == common && journal.stage == Stage::Purging;
        let gone = !journal.is_orphan() && !journal.entry.exists();
        let pin = Pin::without_entry(&journal.id, folder.clone());
        (ours && gone).then_some(Item { pin, journal })
    });
    left.collect()
}
