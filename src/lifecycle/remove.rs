//! Removing one sandbox: facts, verdict, its own lock, the trash, its branch.
//!
//! `rm`, `reap`, `stop --rm` and `merge` all come here and only word what comes back. Without the
//! repository lock nothing is changed: that is a dry run, which decides by the same code.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use crate::error::Result;
use crate::git::refs;
use crate::lifecycle::teardown;
use crate::lifecycle::trash::forget::Forgotten;
use crate::lifecycle::trash::removal::Removed;
use crate::lifecycle::trash::{Trash, orphan};
use crate::repo::base::{Base, Bases};
use crate::repo::unreached::Unreached;
use crate::repo::{Repo, Worktrees, holders};
use crate::sandbox::holding::Holding;
use crate::sandbox::in_use::{self, Processes};
use crate::sandbox::journal::Why;
use crate::sandbox::verdict::{self, Facts, Objection, Refusal, Yields};
use crate::sandbox::{Sandbox, State, facts, merged, record};
use crate::sys::lock::Lock;

/// What removals of one command share.
#[derive(Clone, Copy, Debug)]
pub struct Remover<'a> {
    /// The trash, whose git holds the repository lock unless this is a dry run.
    pub trash: &'a Trash<'a>,
    /// The worktrees of the repository.
    pub worktrees: &'a Worktrees,
    /// The repository lock; without it nothing is changed.
    pub lock: Option<&'a Lock>,
    /// Who is at work on this machine.
    pub processes: &'a Processes,
}

/// How one sandbox is to be removed.
#[derive(Clone, Debug)]
pub struct Wish<'a> {
    /// How often `--force` was given.
    pub force: usize,
    /// Why, for the journal.
    pub why: Why,
    /// Whether its branch is to be deleted too, where that loses nothing.
    pub delete_branch: bool,
    /// The branch that it was just merged into.
    pub merged_into: Option<&'a Base>,
}

/// What became of a sandbox.
#[derive(Debug)]
pub enum Outcome {
    /// It stays.
    Refused(Refusal),
    /// A dry run: it would be moved to the trash.
    Would { holds: Vec<Holding>, branch: Option<BranchFate> },
    /// Its folder was gone; what only its private git dir held is kept.
    Forgotten(Forgotten),
    /// It is in the trash.
    Trashed(Trashed),
}

/// A sandbox that was moved to the trash.
#[derive(Debug)]
pub struct Trashed {
    /// Its id there.
    pub id: String,
    /// What it holds.
    pub holds: Vec<Holding>,
    /// How many commits only it held.
    pub only_here: u64,
    /// What became of its branch, where that was to be deleted.
    pub branch: Option<BranchFate>,
}

/// What becomes of a branch that was to be deleted.
#[derive(Debug)]
pub struct BranchFate {
    /// Its name.
    pub name: String,
    /// Whether it goes, and if not why.
    pub fate: Fate,
}

/// Whether a branch goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes: other branches have its commits.
    Goes,
    /// It goes: its base has its changes, and its commits are kept.
    GoesKept,
    /// It stays: another worktree is on it.
    CheckedOut,
    /// It stays: an operation in progress holds it.
    Held,
    /// It stays: it has commits that neither its base nor its upstream has.
    NotMerged,
    /// It stays: neither a base nor an upstream of it is known.
    NoBase,
}

impl Fate {
    /// Whether the branch goes.
    pub fn goes(self) -> bool {
        matches!(self, Fate::Goes | Fate::GoesKept)
    }
}

impl Remover<'_> {
    /// Removes a sandbox if the verdict allows it.
    pub fn remove(&self, sandbox: &Sandbox, wish: &Wish) -> Result<Outcome> {
        if sandbox.state == State::Orphan {
            return self.remove_orphan(sandbox, wish);
        }
        let mut facts = facts::facts(self.repo(), self.worktrees, sandbox, self.processes);
        if let Some(refusal) = verdict::refusal(&facts, wish.force) {
            return Ok(Outcome::Refused(refusal));
        }
        let branch = match wish.delete_branch && sandbox.state != State::Missing {
            true => self.branch_fate(sandbox, wish.merged_into)?,
            false => None,
        };
        if self.lock.is_none() {
            return Ok(Outcome::Would { holds: verdict::holds(&facts), branch });
        }
        if sandbox.state == State::Missing {
            return Ok(Outcome::Forgotten(self.trash.forget(sandbox)?));
        }
        if teardown::is_wanted(self.repo(), sandbox) {
            let failed = teardown::run(self.repo(), self.worktrees, sandbox)?;
            if let Some(objection) = failed.filter(|_| wish.force == 0) {
                let yields = objection.yields();
                return Ok(Outcome::Refused(Refusal { objections: vec![objection], yields }));
            }
            // What the commands left there counts like everything else.
            facts = facts::facts(self.repo(), self.worktrees, sandbox, &Processes::lazily());
            if let Some(refusal) = verdict::refusal(&facts, wish.force) {
                return Ok(Outcome::Refused(refusal));
            }
        }
        let own = Lock::if_free(&in_use::lock_path(&sandbox.entry))?;
        if own.is_none() && wish.force < 2 {
            let objections = vec![Objection::CameIntoUse];
            return Ok(Outcome::Refused(Refusal { objections, yields: Yields::Twice }));
        }
        self.move_to_trash(sandbox, &facts, wish, branch).map(Outcome::Trashed)
    }

    /// Moves a folder to the trash whose private git dir is not there. Git can tell nothing about it, so
    /// it takes force.
    fn remove_orphan(&self, sandbox: &Sandbox, wish: &Wish) -> Result<Outcome> {
        let in_the_way = facts::in_the_way(&sandbox.path, sandbox, self.processes);
        if let Some(refusal) = in_the_way {
            return Ok(Outcome::Refused(refusal));
        }
        if wish.force == 0 {
            let objections = vec![Objection::Work(Holding::Orphan)];
            return Ok(Outcome::Refused(Refusal { objections, yields: Yields::Once }));
        }
        let holds = vec![Holding::Orphan];
        if self.lock.is_none() {
            return Ok(Outcome::Would { holds, branch: None });
        }
        let root = self.trash.place.safe_root()?;
        let id = orphan::trash(&sandbox.path, &root, self.trash.now, wish.why.clone())?;
        Ok(Outcome::Trashed(Trashed { id, holds, only_here: 0, branch: None }))
    }

    fn repo(&self) -> &Repo {
        self.trash.repo
    }

    fn move_to_trash(
        &self,
        sandbox: &Sandbox,
        facts: &Facts,
        wish: &Wish,
        branch: Option<BranchFate>,
    ) -> Result<Trashed> {
        let removed = self.trash.remove(sandbox, facts, &wish.why)?;
        if let (Some(branch), Some(head)) = (&branch, &sandbox.head)
            && branch.fate.goes()
        {
            self.delete_branch(branch, head, &removed)?;
        }
        Ok(Trashed {
            id: removed.id,
            holds: verdict::holds(facts),
            only_here: removed.only_here,
            branch,
        })
    }

    /// Deletes a branch that may go. Its config stays, so that restore gives back all of it.
    fn delete_branch(&self, branch: &BranchFate, head: &str, removed: &Removed) -> Result<()> {
        let common = &self.repo().common;
        let git = self.trash.git.at(common);
        let full = refs::full(OsStr::new(&branch.name));
        self.trash.keep_branch(&full, head, removed)?;
        git.call(["update-ref", "-d"]).arg(full).arg(head).done("delete the branch")
    }

    /// Whether the branch of a sandbox may be deleted: if its base or upstream has every commit of
    /// it, or its base all its changes. `None` where it has no branch.
    pub fn branch_fate(
        &self,
        sandbox: &Sandbox,
        into: Option<&Base>,
    ) -> Result<Option<BranchFate>> {
        let (Some(name), Some(head)) = (sandbox.branch_text(), &sandbox.head) else {
            return Ok(None);
        };
        let fate = match () {
            () if self.is_elsewhere(sandbox) => Fate::CheckedOut,
            () if sandbox.detached => Fate::Held,
            () => self.fate_by_commits(sandbox, &name, head, into)?,
        };
        Ok(Some(BranchFate { name, fate }))
    }

    /// Whether another worktree is on its branch, or will go back to it.
    fn is_elsewhere(&self, sandbox: &Sandbox) -> bool {
        let Some(branch) = &sandbox.branch else { return false };
        holders::of(self.worktrees, &self.repo().common, branch)
            .any(|holder| holder.git_dir != sandbox.entry)
    }

    fn fate_by_commits(
        &self,
        sandbox: &Sandbox,
        branch: &str,
        head: &str,
        into: Option<&Base>,
    ) -> Result<Fate> {
        let (repo, main) = (self.repo(), &self.worktrees.main);
        let recorded = record::read(&sandbox.entry).base;
        let known = recorded.as_deref().into_iter().chain([branch]);
        let bases = Bases::read(repo, main, known.map(Some))?;
        // Where none was recorded, the default branch is too little to delete by.
        let base = recorded.as_deref().and_then(|base| bases.of(Some(base)));
        let full = refs::full(OsStr::new(branch));
        let base = into.or(base).filter(|base| OsStr::new(&base.branch.name) != full);
        let upstream = bases.of(Some(branch)).and_then(|own| own.upstream.as_ref());
        let homes = base.into_iter().flat_map(Base::both).chain(upstream);
        let homes: Vec<&str> = homes.map(|home| home.commit.as_str()).collect();
        if homes.is_empty() {
            return Ok(Fate::NoBase);
        }
        let alone = BTreeSet::from([head.to_owned()]);
        let git = &self.trash.git;
        if !Unreached::outside(git, &repo.common, &alone, &homes)?.contains(head) {
            return Ok(Fate::Goes);
        }
        let merged = base.map(|base| merged::is_in(repo, head, base)).transpose()?.flatten();
        Ok(if merged.is_some() { Fate::GoesKept } else { Fate::NotMerged })
    }
}
