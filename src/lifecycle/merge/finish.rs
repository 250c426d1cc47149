//! Brings a landing that stopped half way to an end: completed if the branch has moved, undone if not.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::checkout::Checkout;
use super::land_journal::{Files, Journal};
use super::put_back::{Left, PutBack};
use super::survey::{changes, with_index};
use crate::error::{Error, Result};
use crate::git::Git;
use crate::repo::Repo;
use crate::sys::crash_point;

/// How a landing that stopped half way came to its end.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// It had not begun.
    Nothing,
    /// The branch has the commit, and so have files and index.
    Completed { branch: String },
    /// The branch has the commit; the index was changed since and is left alone.
    CompletedButIndex { branch: String },
    /// Branch, files and index are as they were, but for these files, which were changed since.
    Undone { branch: String, changed: Vec<PathBuf> },
}

/// Brings it to its end. On an error the journal stays, and the next command tries again.
pub fn finish(repo: &Repo, git: &Git, checkout: &Checkout) -> Result<End> {
    let files = Files::of(&checkout.git_dir);
    let Some(mut journal) = files.read()? else {
        files.clear()?;
        return Ok(End::Nothing);
    };
    let git = git.at(&checkout.path);
    if !files.have_lock(&journal)? {
        files.begin(&mut journal)?;
        crash_point::reached();
        if !files.take_lock()? {
            let why = "another git is at work there".to_owned();
            let doing = format!("finish a merge in '{}'", checkout.path.display());
            return Err(Error::Git { doing, why });
        }
    }
    crash_point::reached();
    let end = with_lock(repo, &git, checkout, &files, &journal);
    crash_point::reached();
    files.release(&journal)?;
    let end = end?;
    crash_point::reached();
    files.clear()?;
    Ok(end)
}

fn with_lock(
    repo: &Repo,
    git: &Git,
    checkout: &Checkout,
    files: &Files,
    journal: &Journal,
) -> Result<End> {
    let branch = journal.short().to_owned();
    if has(git, &journal.branch, &journal.new)? {
        return Ok(match complete_index(git, files, journal)? {
            true => End::Completed { branch },
            false => End::CompletedButIndex { branch },
        });
    }
    if !files.have_index() {
        return Ok(End::Undone { branch, changed: Vec::new() });
    }
    let changes = changes(git, &journal.old, &journal.new)?;
    let absent: Vec<PathBuf> =
        journal.absent.iter().map(|path| OsStr::from_bytes(path).into()).collect();
    let back = PutBack { repo, git, checkout, changes: &changes, absent: &absent };
    let Left { changed, missing } = back.run()?;
    if missing.is_empty() {
        return Ok(End::Undone { branch, changed });
    }
    let doing = format!("put files back in '{}'", checkout.path.display());
    Err(Error::Git { doing, why: super::obstacle::listed(&missing) + " cannot be written" })
}

/// Whether a branch has a commit.
fn has(git: &Git, branch: &str, commit: &str) -> Result<bool> {
    let there = git.look(["rev-parse", "--verify", "--quiet", branch]).ask()?;
    if !there.ok() {
        return Ok(false);
    }
    let answer = git.look(["merge-base", "--is-ancestor", commit, branch]).ask()?;
    match answer.code {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => Err(Error::Git { doing: "read the branch".into(), why: answer.why() }),
    }
}

/// Moves the entries of the user's index on that are still those of the old commit. Returns false if
/// some are neither.
fn complete_index(git: &Git, files: &Files, journal: &Journal) -> Result<bool> {
    let index = files.index();
    let head = git.look(["symbolic-ref", "--quiet", "HEAD"]).ask()?;
    let on_branch = head.stdout.trim_ascii_end() == journal.branch.as_bytes();
    // Ours is gone once it was put in place.
    if !files.have_index() || !on_branch || !files.copy_index(&index)? {
        return Ok(true);
    }
    let words = ["read-tree", "-i", "-m", &journal.old, &journal.new];
    if !with_index(git, &index, &words).ask()?.ok() {
        return Ok(false);
    }
    files.install_index()?;
    Ok(true)
}
