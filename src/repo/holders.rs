//! Which worktree has a branch: checked out, or to go back to after a rebase or bisect.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::git::porcelain::{self, Record};
use crate::git::refs;
use crate::repo::Worktrees;
use crate::sys::file;

/// A worktree that has a branch.
#[derive(Clone, Copy, Debug)]
pub struct Holder<'a> {
    /// What git lists of it.
    pub record: &'a Record,
    /// Its private git dir; of the main worktree the common dir.
    pub git_dir: &'a Path,
    /// Whether it is the main worktree.
    pub is_main: bool,
}

impl Holder<'_> {
    /// Whether a rebase or bisect holds the branch, so that HEAD is not on it.
    pub fn is_busy(&self) -> bool {
        self.record.branch.is_none()
    }
}

/// Returns every worktree that has a branch, named in full or in short; the main one first.
pub fn of<'a>(
    worktrees: &'a Worktrees,
    common: &'a Path,
    branch: &OsStr,
) -> impl Iterator<Item = Holder<'a>> {
    let wanted = refs::short(branch);
    let main = Holder { record: &worktrees.main, git_dir: common, is_main: true };
    let linked = worktrees.linked.iter().map(|tree| Holder {
        record: &tree.record,
        git_dir: &tree.entry,
        is_main: false,
    });
    std::iter::once(main).chain(linked).filter(move |holder| {
        let on = holder.record.branch.as_deref().map(refs::short);
        on.or_else(|| branch_held_by(holder.git_dir)).as_ref() == Some(&wanted)
    })
}

/// Returns the branch that a rebase or bisect in this git dir will go back to. git lists such a
/// worktree as detached, yet lets no other worktree check the branch out.
pub fn branch_held_by(git_dir: &Path) -> Option<OsString> {
    let read = |name: &str| {
        let bytes = file::read_small(&git_dir.join(name)).ok()?;
        Some(OsStr::from_bytes(bytes.trim_ascii_end()).to_owned())
    };
    let rebased = read("rebase-merge/head-name").or_else(|| read("rebase-apply/head-name"));
    match rebased {
        Some(full) if full.as_bytes().starts_with(refs::HEADS.as_bytes()) => {
            Some(refs::short(&full))
        }
        Some(_) => None,
        // A bisect started from a detached HEAD names a commit here.
        None => read("BISECT_START").filter(|start| porcelain::commit(start.as_bytes()).is_none()),
    }
    .filter(|branch| !branch.is_empty())
}
