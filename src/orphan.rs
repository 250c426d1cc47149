//! Orphans: sandboxes whose repository cannot be reached. Absence is no proof, so they are kept for
//! their period, counted from the newest file anywhere in them, and then only moved to the trash.
//!
//! git knows nothing of them: the journal has no entry, and the move is all there is to undo. The
//! lock of the root keeps two of us apart.

use std::fs;
use std::path::{Path, PathBuf};

use crate::create::random_hex;
use crate::error::{Doing, Error, Result};
use crate::everywhere::common_of;
use crate::journal::{Journal, Pin, Stage, TREE};
use crate::name;
use crate::place;
use crate::repo;
use crate::time::{self, Time};
use crate::trash::{Item, rename};

/// When the newest file in it was written; a time in the future counts as now.
pub fn last_used(folder: &Path, now: Time) -> std::io::Result<Time> {
    let mut newest = Time::UNIX_EPOCH;
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

/// Moves an orphan into the trash of the root; its name there.
pub fn trash(folder: &Path, root: &Path, now: Time, reason: &str) -> Result<String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let id = format!("{}-{}", name::slug(&name), random_hex()?);
    let at = root.join(".trash").join(&id);
    let entry = repo::folder_points_to(folder).unwrap_or_default();
    let journal = Journal {
        stage: Stage::Removing,
        id: id.clone(),
        name,
        from: folder.to_owned(),
        entry: PathBuf::new(),
        common: common_of(&entry).unwrap_or_default(),
        branch: None,
        head: None,
        removed: time::rfc3339(now),
        reason: reason.to_owned(),
        holds: vec!["whatever it had: its repository could not be reached".into()],
        nested: Vec::new(),
    };
    place::make_folder(&at)?;
    journal.write(&at)?;
    if let Err(error) = rename(folder, &at.join(TREE)) {
        Journal::remove(&at)?;
        return Err(error);
    }
    Journal { stage: Stage::Trashed, ..journal }.write(&at)?;
    Ok(id)
}

/// The orphans in these folders of the trash. What a crash left is finished or undone on the way.
pub fn items(folders: &[PathBuf]) -> Vec<Result<Item>> {
    let read = |folder: &PathBuf| {
        let Some(journal) = Journal::read(folder)?.filter(Journal::is_orphan) else {
            return Ok(None);
        };
        let there = folder.join(TREE).is_dir();
        let journal = match journal.stage {
            Stage::Trashed | Stage::Purging => journal,
            _ if !there => {
                Journal::remove(folder)?;
                return Ok(None);
            }
            _ => {
                let journal = Journal { stage: Stage::Trashed, ..journal };
                journal.write(folder)?;
                journal
            }
        };
        let pin = Pin { id: journal.id.clone(), at: folder.clone(), locked: None };
        Ok(Some(Item { pin, journal }))
    };
    folders.iter().filter_map(|folder| read(folder).transpose()).collect()
}

/// Moves an orphan back; where to.
pub fn restore(item: &Item, name: Option<&str>, now: Time) -> Result<PathBuf> {
    let from = &item.journal.from;
    let target = name.map_or_else(|| from.clone(), |name| from.with_file_name(name));
    if target.symlink_metadata().is_ok() {
        return Err(Error::RestoreTaken { path: target, name: item.journal.name.clone() });
    }
    target.parent().map_or(Ok(()), place::make_folder)?;
    let journal = Journal { stage: Stage::Restoring(target.clone()), ..item.journal.clone() };
    journal.write(&item.pin.at)?;
    rename(&item.tree(), &target)?;
    Journal::remove(&item.pin.at)?;
    place::touch(&target, now)?;
    Ok(target)
}

/// Deletes an orphan from the trash for good.
pub fn purge(item: &Item) -> Result<()> {
    Journal { stage: Stage::Purging, ..item.journal.clone() }.write(&item.pin.at)?;
    let tree = item.tree();
    crate::delete::tree(&tree).at("delete", &tree)?;
    Journal::remove(&item.pin.at)
}
