//! Making a sandbox of a spare, under the repository lock: its folder is renamed, both pointers are
//! written anew, HEAD is put where the sandbox starts. What differs from the start is checked out
//! later, as in any other sandbox that is being created.
//!
//! A crash before the rename leaves a spare that is not taken any more; after it, the next command
//! completes it (`spare::recover`).

use std::fs;
use std::path::{Path, PathBuf};

use super::{Maker, Wish};
use crate::error::{Doing, Result};
use crate::git::{Git, refs};
use crate::lifecycle::create::rollback::Undo;
use crate::lifecycle::spare::{self, Held};
use crate::repo::resolve::Target;
use crate::repo::start_point::Start;
use crate::repo::{Worktrees, place};
use crate::sandbox::record::{self, Facts, Taking};
use crate::sys::crash_point;
use crate::sys::lock::Lock;

/// A registered sandbox that is ours alone: folder, private git dir, lock.
pub(super) type Made = (PathBuf, PathBuf, Lock);

impl Maker<'_> {
    /// A spare of this home that can become a sandbox at this start; one of the very commit if there
    /// is one.
    pub(super) fn spare(
        &self,
        git: &Git,
        target: &Target,
        start: &Start,
        worktrees: &Worktrees,
        home: &Path,
    ) -> Result<Option<Held>> {
        // A name that is no text cannot be written down for the recovery after a crash.
        let named = target.branch().is_none_or(|branch| branch.to_str().is_some());
        if spare::wanted(&self.repo.config)? == 0 || !named {
            return Ok(None);
        }
        let fingerprint = spare::fingerprint(self.repo);
        let mut spares: Vec<_> = spare::all(worktrees).collect();
        spares.sort_by_key(|tree| tree.record.head.as_ref() != Some(&start.commit));
        for tree in spares {
            let Some(held) = Held::of(tree, home) else { continue };
            let Some(commit) = held.ready_at(&fingerprint) else { continue };
            let same = spare::has_same_attributes(git, commit, &start.commit);
            if same && held.is_as_left() {
                return Ok(Some(held));
            }
        }
        Ok(None)
    }

    /// Makes it the sandbox.
    #[expect(clippy::too_many_arguments, reason = "one step of one transaction")]
    pub(super) fn take(
        &self,
        git: &Git,
        held: Held,
        wish: &Wish,
        facts: Facts,
        target: &Target,
        start: &Start,
        worktrees: &Worktrees,
        undo: &mut Undo,
    ) -> Result<Made> {
        let parent = held.path.parent().unwrap_or(&held.path).to_owned();
        let path = place::make_free_folder(&parent, &wish.folder, worktrees)?;
        undo.folder = Some(path.clone());
        crash_point::reached();
        self.make_branch(git, target, start, undo)?;
        crash_point::reached();
        let Held { path: from, entry, spare, own, .. } = held;
        let branch = target.branch().map(refs::full).and_then(|full| full.into_string().ok());
        let taking = Taking { to: path.clone(), branch, commit: start.commit.clone() };
        let facts = Facts {
            spare: Some(record::Spare { seal: None, taking: Some(taking.clone()), ..spare }),
            ..facts
        };
        record::write(&entry, &facts)?;
        crash_point::reached();
        // In the place of the empty folder that no other process can have taken.
        fs::rename(&from, &path).at("move", &from)?;
        undo.registered = Some(path.clone());
        crash_point::reached();
        spare::become_sandbox(self.repo, git, &entry, &taking, true)?;
        Ok((path, entry, own))
    }

    /// Its files are those of its start: nothing of the spare is left to know.
    pub(super) fn forget_spare(&self, entry: &Path) -> Result<()> {
        let mut facts = record::to_change(entry)?;
        if facts.spare.take().is_some() {
            record::write(entry, &facts)?;
        }
        Ok(())
    }
}
