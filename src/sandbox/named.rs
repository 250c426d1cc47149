//! Which sandbox is meant, by what was typed or by where we are.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::error::{Error, Result};
use crate::git::refs::short;
use crate::repo::{self, Repo, Worktrees};
use crate::sandbox::Sandbox;
use crate::sys::path;
use crate::ui::words::{self, shell_word};

/// The word for the main worktree: no branch can be called so.
pub const MAIN: &str = "^";

/// The one that a word means: a folder's name, a branch, `refs/heads/...` or a path.
pub fn find<'a>(sandboxes: &'a [Sandbox], word: &OsStr) -> Result<&'a Sandbox> {
    let path = repo::user_folder().join(word);
    let path = path.canonicalize().unwrap_or(path);
    let by_path = sandboxes.iter().find(|sandbox| sandbox.path == path);
    let full = word.as_bytes().strip_prefix(b"refs/heads/").map(OsStr::from_bytes);
    let has_branch = |sandbox: &Sandbox, name: &OsStr| sandbox.branch.as_deref() == Some(name);
    if let Some(name) = full
        && let Some(sandbox) = sandboxes.iter().find(|sandbox| has_branch(sandbox, name))
    {
        return Ok(sandbox);
    }
    let slashed = word.as_bytes().contains(&b'/');
    let means =
        |sandbox: &&Sandbox| sandbox.path.file_name() == Some(word) || has_branch(sandbox, word);
    let found: Vec<&Sandbox> = sandboxes.iter().filter(means).collect();
    match (&found[..], by_path) {
        ([one], _) => Ok(one),
        ([], Some(sandbox)) if slashed || word == "." || word == ".." => Ok(sandbox),
        ([], _) => Err(unknown(sandboxes, word)),
        _ => Err(ambiguous(&found, word)),
    }
}

/// Whether a word that means no sandbox means the main worktree: [`MAIN`], its path, its folder's name or
/// the branch that is checked out there.
pub fn is_main(word: &OsStr, worktrees: &Worktrees) -> bool {
    let main = &worktrees.main;
    let path = repo::user_folder().join(word);
    let is_branch = |branch: &OsString| branch == word || short(branch) == word;
    path::is_same(&path, &main.path)
        || word == MAIN && !main.bare
        || main.path.file_name() == Some(word)
        || main.branch.as_ref().is_some_and(is_branch)
}

/// The sandbox that a command was started in.
pub fn current<'a>(sandboxes: &'a [Sandbox], repo: &Repo) -> Result<&'a Sandbox> {
    sandboxes.iter().find(|sandbox| sandbox.entry == repo.git_dir).ok_or(Error::NotInASandbox)
}

fn unknown(sandboxes: &[Sandbox], word: &OsStr) -> Error {
    let name = word.to_string_lossy().into_owned();
    let branches = sandboxes.iter().filter_map(Sandbox::branch_text);
    let known = sandboxes.iter().map(Sandbox::name).chain(branches);
    Error::UnknownSandbox { nearest: words::nearest(&name, known), name }
}

fn ambiguous(found: &[&Sandbox], word: &OsStr) -> Error {
    let spelled = found.iter().map(|sandbox| match &sandbox.branch {
        Some(branch) if branch == word => format!("refs/heads/{}", branch.to_string_lossy()),
        _ => shell_word(&sandbox.path.to_string_lossy()),
    });
    let candidates = spelled.map(|spelled| format!("it could be {spelled}")).collect();
    Error::Ambiguous { word: word.to_string_lossy().into_owned(), candidates }
}
