//! An entry that git was killed in the middle of making: locked with our reason, and HEAD names nothing
//! yet. It is taken back together with its folder, unless that holds anything. One that does not even
//! name a folder git neither lists nor prunes.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::delete;
use crate::error::{Doing, Result};
use crate::file;
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

/// Whether an entry, which git does not list, is one: it holds our lock and at most where the
/// repository is. Under the repository lock nobody is at work on it.
pub fn is_unlisted(entry: &Path) -> bool {
    let Ok(files) = fs::read_dir(entry) else { return false };
    let ours = |name: &OsStr| name == "locked" || name == "commondir";
    let only_ours = files.into_iter().all(|file| file.is_ok_and(|file| ours(&file.file_name())));
    let reason = file::read_small(&entry.join("locked")).unwrap_or_default();
    only_ours && reason.trim_ascii_end() == CREATING.as_bytes()
}

/// Takes those back; whether there were any.
pub fn clear_unlisted(common: &Path) -> bool {
    let entries = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
    let named = |entry: &PathBuf| entry.join("gitdir").symlink_metadata().is_ok();
    let stubs: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|entry| !named(entry) && is_unlisted(entry))
        .collect();
    // Each of them, whatever becomes of the others.
    stubs.iter().filter(|entry| delete::tree(entry).is_ok()).count() > 0
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
