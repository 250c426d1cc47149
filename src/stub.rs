//! An entry that git was killed in the middle of making: locked with our reason, and HEAD names nothing
//! yet. It is taken back together with its folder, unless that holds anything.

use std::fs;
use std::io::ErrorKind;

use crate::error::{Doing, Result};
use crate::repo::Worktree;
use crate::sandbox::CREATING;
use crate::step;
use crate::trash::Trash;

/// Whether an entry is one. Under the repository lock nobody is at work on it.
pub fn is_stub(tree: &Worktree) -> bool {
    let record = &tree.record;
    let named = record.head.is_some() || record.branch.is_some();
    record.locked.as_deref() == Some(CREATING) && !named && !tree.entry.as_os_str().is_empty()
}

impl Trash<'_> {
    /// Takes one back; whether there was one that could be.
    pub fn clear_stub(&self, tree: &Worktree) -> Result<bool> {
        if !is_stub(tree) {
            return Ok(false);
        }
        let folder = &tree.record.path;
        let inside = match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            other => Some(other.at("read", folder)?),
        };
        if let Some(mut inside) = inside {
            if inside.any(|entry| entry.map_or(true, |entry| entry.file_name() != ".git")) {
                return Ok(false);
            }
            let pointer = folder.join(".git");
            match fs::remove_file(&pointer) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).at("remove", &pointer);
                }
                _ => {}
            }
            fs::remove_dir(folder).at("remove", folder)?;
        }
        step::reached();
        self.drop_entry(&tree.entry)?;
        Ok(true)
    }
}
