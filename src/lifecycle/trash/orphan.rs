//! Orphans: sandboxes whose repository cannot be reached. Absence is no proof, so they are kept for
//! their period, counted from the newest file anywhere in them, and then only moved to the trash.
//!
//! git knows nothing of them: the journal has no entry, and the move is all there is to undo. The
//! lock of the root keeps two of us apart.

use std::fs;
use std::path::{Path, PathBuf};

use crate::create::random_hex;
use crate::error::{Doing, Error, Result};
use crate::everywhere::{common_of, is_orphan};
use crate::journal::{Journal, Pin, Stage, TRASH, TREE};
use crate::name;
use crate::place;
use crate::repo;
use crate::time::{self, Time};
use crate::trash::{Item, rename};

/// When the newest file in it was written, or it was brought back; a time in the future counts as
/// now.
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

/// Moves an orphan into the trash of the root, whose lock must be held; its name there. Whether it
/// is one is looked at again: its repository may have come back.
pub fn trash(folder: &Path, root: &Path, now: Time, reason: &str) -> Result<String> {
    if !is_orphan(folder) {
        let name = folder.to_string_lossy().into_owned();
        return Err(Error::Damaged { name, why: "its repository has come back".into() });
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let id = format!("{}-{}", name::slug(&name), random_hex()?);
    let at = root.join(TRASH).join(&id);
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
        doubts: Vec::new(),
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

/// The orphans in these folders of the trash, as they are.
pub fn items(folders: &[PathBuf]) -> Vec<Result<Item>> {
    let read = |folder: &PathBuf| {
        let Some(journal) = Journal::read(folder)?.filter(Journal::is_orphan) else {
            return Ok(None);
        };
        // One whose move was interrupted is in the trash if its files are.
        let there = folder.join(TREE).is_dir();
        let stage = match journal.stage {
            Stage::Purging => Stage::Purging,
            _ if there => Stage::Trashed,
            _ => return Ok(None),
        };
        let pin = Pin::without_entry(&journal.id, folder.clone());
        Ok(Some(Item { pin, journal: Journal { stage, ..journal } }))
    };
    folders.iter().filter_map(|folder| read(folder).transpose()).collect()
}

/// Clears away journals whose files never came, or went back. The root's lock must be held.
pub fn clear(folders: &[PathBuf]) -> Result<()> {
    for folder in folders {
        let journal = Journal::read(folder)?.filter(Journal::is_orphan);
        if journal.is_some_and(|journal| journal.stage != Stage::Purging)
            && !folder.join(TREE).exists()
        {
            Journal::remove(folder)?;
        }
    }
    Ok(())
}

/// Moves an orphan back; where to. The root's lock must be held.
pub fn restore(item: &Item, name: Option<&str>, now: Time) -> Result<PathBuf> {
    let journal = Journal::read(&item.pin.at)?;
    if !item.tree().is_dir() || journal.is_none_or(|journal| journal.stage == Stage::Purging) {
        return Err(Error::UnknownTrash { name: item.journal.id.clone(), nearest: None });
    }
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
