//! The commands, one file each.

mod doctor;
mod list;
mod merge;
mod new;
mod path;
mod reap;
mod restore;
mod rm;
mod run;
mod setup;
mod show;
mod stop;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::args::Args;
use crate::background;
use crate::error::{Error, Result};
use crate::everywhere::Everywhere;
use crate::git::Git;
use crate::lock::Lock;
use crate::out::Out;
use crate::place::{Place, Root};
use crate::recover;
use crate::repo::{Repo, Worktree, Worktrees};
use crate::report::Reporter;
use crate::sandbox::{self, Sandbox};
use crate::spec::{self, COLOR, DESCRIBE, NAMES, Opt, ROOT};
use crate::time::{self, Time};
use crate::trash::Trash;

/// Runs a command; the exit code. `out` learns the user's colours as soon as they are known.
pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    let command = args.command;
    match () {
        () if std::ptr::eq(command, &raw const spec::NEW) => new::run(args, out),
        () if std::ptr::eq(command, &raw const spec::SHOW) => show::run(args, out),
        () if std::ptr::eq(command, &raw const spec::PATH) => path::run(args, out),
        () if std::ptr::eq(command, &raw const spec::SETUP) => setup::run(args, out),
        () if std::ptr::eq(command, &raw const spec::RUN) => run::run(args, out),
        () if std::ptr::eq(command, &raw const spec::STOP) => stop::run(args, out),
        () if std::ptr::eq(command, &raw const spec::RM) => rm::run(args, out),
        () if std::ptr::eq(command, &raw const spec::DOCTOR) => doctor::run(args, out),
        () if std::ptr::eq(command, &raw const spec::REAP) => reap::run(args, out),
        () if std::ptr::eq(command, &raw const spec::MERGE) => merge::run(args, out),
        () if std::ptr::eq(command, &raw const spec::RESTORE) => restore::run(args, out),
        () => list::run(args, out),
    }
}

/// What git lists, for the price of one call: without the private git dirs.
fn linked(git: &Git) -> Result<Vec<Worktree>> {
    let records = match git.worktrees() {
        // Why there is no list takes a closer look.
        Err(error @ Error::Git { .. }) => return Err(Repo::discover().err().unwrap_or(error)),
        other => other?,
    };
    let linked = records.into_iter().skip(1);
    Ok(linked.map(|record| Worktree { record, entry: PathBuf::new() }).collect())
}

/// A usage error where `--describe` has nothing to describe.
fn describes(args: &Args, without: &[&Opt]) -> Result<()> {
    if args.has(&DESCRIBE) && !args.has(&NAMES) {
        return Err(args.wrong("option '--describe' needs '--names'"));
    }
    without.iter().try_for_each(|option| args.at_most_one(&[option, &DESCRIBE]))
}

/// Says what the daily run did, from outside of all repositories.
fn tell(all: &Everywhere, out: Out) {
    if let Some(root) = all.root.plain() {
        background::tell(&root, out);
    }
}

/// This repository and its sandboxes.
struct Here {
    repo: Repo,
    worktrees: Worktrees,
    place: Place,
    sandboxes: Vec<Sandbox>,
    now: Time,
}

impl Here {
    fn find(args: &Args, out: &mut Out) -> Result<Here> {
        let here = Here::of(Repo::to_look_at()?, args, out)?;
        background::tell(&here.place.root, *out);
        Ok(here)
    }

    fn of(repo: Repo, args: &Args, out: &mut Out) -> Result<Here> {
        *out = Out::new(args.word(&COLOR), &repo.config);
        let now = time::now()?;
        let worktrees = repo.worktrees()?;
        let root = Root::wanted(args.value(&ROOT), &repo.config, &repo.git)?;
        let place = Place::of(&repo, root, &worktrees);
        let sandboxes = sandbox::all(&worktrees, &place);
        Ok(Here { repo, worktrees, place, sandboxes, now })
    }

    /// The same under the repository lock, with what a crash left mended.
    fn locked(repo: Repo, args: &Args, out: &mut Out) -> Result<(Here, Lock)> {
        *out = Out::new(args.word(&COLOR), &repo.config);
        let lock = repo.lock(*out)?;
        Ok((Here::holding(&lock, repo, args, out)?, lock))
    }

    fn holding(lock: &Lock, repo: Repo, args: &Args, out: &mut Out) -> Result<Here> {
        let mut here = Here::of(repo, args, out)?;
        if recover::all(&here.trash(lock), &here.worktrees, *out) {
            here = Here::of(here.repo, args, out)?;
        }
        Ok(here)
    }

    fn trash(&self, lock: &Lock) -> Trash<'_> {
        self.trash_for_reading(Some(lock))
    }

    /// Without the lock it may only be looked at.
    fn trash_for_reading(&self, lock: Option<&Lock>) -> Trash<'_> {
        let git = &self.repo.git;
        let git = lock.map_or_else(|| git.clone(), |lock| git.holding(lock.file()));
        Trash { repo: &self.repo, git, place: &self.place, now: self.now }
    }

    /// The sandbox that was named or, without a name, the one we are in.
    fn named(&self, args: &Args) -> Result<&Sandbox> {
        match args.operands.first() {
            Some(word) => sandbox::find(&self.sandboxes, word),
            None => sandbox::current(&self.sandboxes, &self.repo),
        }
    }

    /// Whether another worktree than that of this entry is on a branch, or will go back to it.
    fn is_on(&self, branch: Option<&OsStr>, entry: &Path) -> bool {
        let main = (&self.worktrees.main, &self.repo.common);
        let linked = self.worktrees.linked.iter().map(|tree| (&tree.record, &tree.entry));
        let mut others = [main].into_iter().chain(linked).filter(|(_, other)| *other != entry);
        others.any(|(record, git_dir)| {
            let on = record.branch.as_deref().map(sandbox::short);
            let on = on.or_else(|| sandbox::branch_held_by(git_dir));
            on.is_some() && on.as_deref() == branch
        })
    }

    fn reporter(&self) -> Result<Reporter<'_>> {
        Reporter::new(&self.repo, &self.place, &self.worktrees.main, self.now)
    }
}
