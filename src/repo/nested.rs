//! Repositories inside a folder: submodules, nested clones, and whether they hold work of their own.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Result};
use crate::git::config::Config;
use crate::git::{Call, Git, porcelain};
use crate::sys::file;

/// What there is inside a folder that git may not see.
#[derive(Debug, Default)]
pub struct Inside {
    /// Folders, relative to the top, that are repositories of their own.
    pub repositories: Vec<PathBuf>,
}

/// Where the repositories inside a sandbox are written down before a confined command starts.
const BEFORE: &str = "sandbox.nested";

/// Writes down which repositories are inside a sandbox now. Returns those that were not there when that
/// was last written down; the first time, none. Git heeds their config, which a confined command may have
/// written.
pub fn notice(entry: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let path = entry.join(BEFORE);
    let before = file::read(&path).ok();
    let now = look_inside(folder).at("read", folder)?.repositories;
    let bytes = now.iter().map(|path| path.as_os_str().as_bytes()).collect::<Vec<_>>().join(&0);
    if before.as_ref() != Some(&bytes) {
        let written = file::create_private(&path).and_then(|mut file| file.write_all(&bytes));
        written.at("write", &path)?;
    }
    let Some(before) = before else { return Ok(Vec::new()) };
    let before: Vec<&[u8]> = before.split(|byte| *byte == 0).collect();
    let new = |path: &PathBuf| !before.contains(&path.as_os_str().as_bytes());
    Ok(now.into_iter().filter(new).map(|path| folder.join(path)).collect())
}

/// Walks the folder, ignored folders too, without following symlinks.
pub fn look_inside(folder: &Path) -> std::io::Result<Inside> {
    let mut inside = Inside::default();
    let mut todo = vec![PathBuf::new()];
    while let Some(relative) = todo.pop() {
        let (mut git_parts, mut folders) = (0, Vec::new());
        let (mut has_head, mut borrows) = (false, false);
        for entry in fs::read_dir(folder.join(&relative))? {
            let entry = entry?;
            let name = entry.file_name();
            if name == ".git" {
                if !relative.as_os_str().is_empty() {
                    inside.repositories.push(relative.clone());
                }
                continue;
            }
            let kind = entry.file_type()?;
            // Git follows a symlink there.
            let holds = kind.is_dir() || kind.is_symlink();
            git_parts += u32::from(holds && (name == "objects" || name == "refs"));
            has_head |= !kind.is_dir() && name == "HEAD";
            borrows |= !kind.is_dir() && name == "commondir";
            if kind.is_dir() {
                folders.push(relative.join(name));
            }
        }
        if has_head && (git_parts == 2 || borrows) && !relative.as_os_str().is_empty() {
            inside.repositories.push(relative);
        } else {
            todo.append(&mut folders);
        }
    }
    inside.repositories.sort();
    Ok(inside)
}

/// Finds repositories in a folder and in the folders in it, and no deeper: a look at the surface, where
/// they mostly are.
pub fn near_the_top(folder: &Path) -> Vec<PathBuf> {
    let folders = |relative: &Path| {
        let entries = fs::read_dir(folder.join(relative)).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let folders = folders.filter(|entry| entry.file_name() != ".git");
        folders.map(|entry| relative.join(entry.file_name())).collect::<Vec<PathBuf>>()
    };
    let top = folders(Path::new(""));
    let below = top.iter().flat_map(|path| folders(path)).collect::<Vec<_>>();
    let is_repository = |path: &PathBuf| folder.join(path).join(".git").symlink_metadata().is_ok();
    let mut found: Vec<PathBuf> = top.into_iter().chain(below).filter(is_repository).collect();
    found.sort();
    found
}

/// Whether a nested repository has changes, or commits (of any ref, stash, HEAD or reflog) that no
/// remote of it has.
pub fn has_work(git: &Git, folder: &Path) -> Result<bool> {
    let git = git.in_worktree(folder);
    // A broken one must not be mistaken for the repository around it.
    let ceiling = folder.parent().unwrap_or(folder);
    let words = ["config", "--local", "--list", "-z"];
    let config = looked_at(git.look(words), ceiling).read("read its config")?;
    let config = Config::parse(&config);
    // What could start a program there is not asked but counts as work.
    if config.starts_programs() {
        return Ok(true);
    }
    if has_worktrees(folder) {
        return Ok(true);
    }
    let git = git.without_hooks(config.hook_names());
    let look = |words: &[&str]| looked_at(git.look(words), ceiling);
    let commits = ["rev-list", "-1", "--all", "--reflog", "--not", "--remotes"];
    if !look(&commits).read("read its commits")?.is_empty() {
        return Ok(true);
    }
    if config.get("core.bare") == Some("true") {
        return Ok(false);
    }
    // A file that git was told not to look at may have been edited.
    let listed = look(&["ls-files", "-v", "-s", "-z"]).read("list its files")?;
    if !porcelain::flagged(&listed).paths.is_empty() {
        return Ok(true);
    }
    // Submodules of it are found by the walk.
    let words = ["status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=all"];
    Ok(!look(&words).read("read its changes")?.is_empty())
}

/// Whether a nested repository has linked worktrees: those have their index and HEAD in it.
fn has_worktrees(folder: &Path) -> bool {
    let dot_git = folder.join(".git");
    let git_dir = match fs::symlink_metadata(&dot_git) {
        Ok(meta) if meta.is_file() => return false,
        Ok(_) => dot_git.as_path(),
        Err(_) => folder,
    };
    fs::read_dir(git_dir.join("worktrees")).is_ok_and(|mut entries| entries.next().is_some())
}

/// Only this repository is asked, without the network.
fn looked_at<'a>(call: Call<'a>, ceiling: &Path) -> Call<'a> {
    let call = call.env("GIT_CEILING_DIRECTORIES", ceiling);
    call.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none")
}

/// A clone of a submodule in a private git dir that holds commits no remote of it has: it would go
/// with the entry.
pub fn unsaved_module(git: &Git, entry: &Path) -> Option<PathBuf> {
    let modules = look_inside(&entry.join("modules")).ok()?.repositories;
    let saved = |path: &PathBuf| is_pushed(git, &entry.join("modules").join(path));
    modules.into_iter().find(|path| !saved(path))
}

/// Whether every commit of a git dir (of any ref, stash, HEAD or reflog) is on a remote of it.
pub fn is_pushed(git: &Git, git_dir: &Path) -> bool {
    let mut dir = OsString::from("--git-dir=");
    dir.push(git_dir);
    let words = ["--work-tree=/", "rev-list", "-1", "--all", "--reflog", "--not", "--remotes"];
    let call = git.look([dir]).args(words).env("GIT_ALLOW_PROTOCOL", "none");
    call.ask().is_ok_and(|answer| answer.ok() && answer.stdout.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes files, and folders where a name ends in a slash.
    fn made(names: &[&str]) -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        for name in names {
            let path = top.path().join(name);
            let folder = if name.ends_with('/') { &path } else { path.parent().unwrap() };
            fs::create_dir_all(folder).unwrap();
            if !name.ends_with('/') {
                fs::write(path, "").unwrap();
            }
        }
        top
    }

    #[test]
    fn a_folder_without_a_head_is_no_git_dir_and_what_is_below_is_found() {
        let top = made(&[
            "z/.git",
            "bare/HEAD",
            "bare/objects/",
            "bare/refs/",
            "bare/refs/inner/.git/",
            "linked/HEAD",
            "linked/commondir",
            "cache/objects/deep/.git/",
            "cache/refs/",
            "cache/file",
            "named/HEAD/deep/.git/",
            "named/objects/",
            "named/refs/",
            "half/HEAD",
            "half/objects/deep/.git",
            // Those of the sandbox itself.
            ".git",
            "HEAD",
            "objects/",
            "refs/",
        ]);
        let found = look_inside(top.path()).unwrap().repositories;
        let wanted =
            ["bare", "cache/objects/deep", "half/objects/deep", "linked", "named/HEAD/deep", "z"];
        assert_eq!(found, wanted.map(PathBuf::from));
    }

    #[test]
    fn only_an_entry_makes_a_linked_worktree() {
        let top = made(&["none/.git/", "empty/.git/worktrees/", "one/.git/worktrees/x/HEAD"]);
        let bare = made(&["bare/worktrees/x/HEAD"]);
        for (folder, is) in [("none", false), ("empty", false), ("one", true)] {
            assert_eq!(has_worktrees(&top.path().join(folder)), is, "{folder}");
        }
        assert!(has_worktrees(&bare.path().join("bare")));
    }
}
