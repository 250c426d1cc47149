//! An entry that git was killed in the middle of making: locked with our reason, and HEAD names nothing
//! yet. It is taken back together with its folder, unless that holds anything. One that does not even
//! name a folder git neither lists nor prunes. One that is whole, but whose folder does not name it yet,
//! is connected.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Result};
use crate::lifecycle::trash::Trash;
use crate::repo::{Worktree, link};
use crate::sandbox::in_use;
use crate::sandbox::mark::CREATING;
use crate::sys::lock::Lock;
use crate::sys::{crash_point, delete, file};
use crate::ui::out::Out;

/// Whether an entry is one. The caller holds the repository lock, so no other process is making it.
fn is_stub(tree: &Worktree) -> bool {
    let record = &tree.record;
    let named = record.head.is_some() || record.branch.is_some();
    record.locked.as_deref() == Some(CREATING) && !named && !tree.entry.as_os_str().is_empty()
}

/// Whether an entry is half-made, so that it can be cleared unless its folder holds files.
pub fn can_go(tree: &Worktree) -> bool {
    is_stub(tree) || can_be_dropped(tree)
}

/// Whether an interrupted creation has no folder any more, nor ever had files.
fn can_be_dropped(tree: &Worktree) -> bool {
    let Worktree { record, entry } = tree;
    let is_free = || Lock::if_free(&in_use::lock_path(entry)).is_ok_and(|lock| lock.is_some());
    record.locked.as_deref() == Some(CREATING) && is_displaced(&record.path, entry) && is_free()
}

/// Whether an entry that was never checked out names a folder that belongs to another repository by now: a loss
/// of power took the folder of the one, and the other made its own there.
pub fn is_displaced(folder: &Path, entry: &Path) -> bool {
    const OURS: [&str; 6] = ["HEAD", "commondir", "gitdir", "locked", "logs", "refs"];
    let is_ours = |name: &OsStr| {
        OURS.iter().any(|ours| name == *ours) || name.as_bytes().starts_with(b"sandbox.")
    };
    // One that cannot be read may hold anything.
    let Ok(mut files) = fs::read_dir(entry) else { return false };
    link::is_another_repositorys(folder, entry)
        && files.all(|file| file.is_ok_and(|file| is_ours(&file.file_name())))
}

/// Whether an entry, which git does not list, is one: it holds our lock and at most where the
/// repository is. The caller holds the repository lock, so no other process is making it.
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

/// Removes a half-made entry and its empty folder. Returns false if it is not half-made or holds files.
pub fn clear(trash: &Trash, tree: &Worktree) -> Result<bool> {
    if can_be_dropped(tree) {
        trash.drop_unused(&tree.entry)?;
        return Ok(true);
    }
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
    crash_point::reached();
    trash.drop_unused(&tree.entry)?;
    Ok(true)
}

/// Removes every half-made entry that holds no files. Returns whether there was one.
pub fn clear_all(trash: &Trash, trees: &[Worktree], out: Out) -> bool {
    let mut changed = false;
    for tree in trees {
        match clear(trash, tree) {
            Ok(cleared) => changed |= cleared,
            Err(error) => out.warn(&format!("an interrupted creation is still there: {error}")),
        }
    }
    changed
}

/// Makes a half-made sandbox and its folder name each other: where git registered it as `<folder>.<hex>`,
/// a crash may have come before it was moved, or before git knew; where we did, before the folder had its
/// `.git`. Returns whether there was one.
pub fn settle_names(trees: &[Worktree], out: Out) -> bool {
    let mut changed = false;
    for tree in trees {
        match settle_name(tree).and_then(|settled| Ok(settled || settle_pointer(tree)?)) {
            Ok(settled) => changed |= settled,
            Err(error) => out.warn(&format!("an interrupted creation is still there: {error}")),
        }
    }
    changed
}

/// The folder that a half-made sandbox will have, if git knows it by its first name still.
pub fn folder_to_be(tree: &Worktree) -> Option<PathBuf> {
    let first = &tree.record.path;
    let creating = tree.record.locked.as_deref() == Some(CREATING);
    let name = first.file_name().and_then(OsStr::to_str).filter(|_| creating)?;
    let is_hex = |hex: &str| hex.len() == 8 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (folder, _) = name.rsplit_once('.').filter(|(_, hex)| is_hex(hex))?;
    (tree.entry.file_name() == first.file_name()).then(|| first.with_file_name(folder))
}

/// The folder of a half-made sandbox that was moved there without git's knowledge, if so.
pub fn moved_to(tree: &Worktree) -> Option<PathBuf> {
    let target = folder_to_be(tree)?;
    let moved =
        !tree.record.path.exists() && link::folder_points_to(&target).as_ref() == Some(&tree.entry);
    moved.then_some(target)
}

fn settle_name(tree: &Worktree) -> Result<bool> {
    let first = &tree.record.path;
    let Some(target) = folder_to_be(tree) else { return Ok(false) };
    if first.is_dir() {
        // The folder that waits for it is empty; anything else is not ours to replace.
        let free = fs::read_dir(&target).map_or(true, |mut inside| inside.next().is_none());
        if !free || target.is_symlink() {
            return Ok(false);
        }
        fs::rename(first, &target).at("move", first)?;
        crash_point::reached();
    }
    if link::folder_points_to(&target).as_ref() != Some(&tree.entry) {
        return Ok(false);
    }
    link::connect(&tree.entry, &target)?;
    Ok(true)
}

/// Writes the `.git` of a folder that has none, or the beginning of it.
fn settle_pointer(tree: &Worktree) -> Result<bool> {
    let (folder, entry) = (&tree.record.path, &tree.entry);
    let whole = [b"gitdir: ", entry.as_os_str().as_bytes(), b"\n"].concat();
    let creating = tree.record.locked.as_deref() == Some(CREATING);
    let is_folder = || folder.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    // One that was only begun has just been taken back.
    if !creating || link::entry_points_to(entry).as_ref() != Some(folder) || !is_folder() {
        return Ok(false);
    }
    let pointer = folder.join(".git");
    let is_begun = match pointer.symlink_metadata() {
        Err(error) => error.kind() == ErrorKind::NotFound,
        Ok(meta) if meta.is_file() => {
            let there = file::read_small(&pointer).at("read", &pointer)?;
            there != whole && whole.starts_with(&there)
        }
        Ok(_) => false,
    };
    if is_begun {
        link::write_git_file(folder, entry)?;
    }
    Ok(is_begun)
}
