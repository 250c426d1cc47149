//! Merging a sandbox's branch into another one.
//!
//! A merge commit, a squash or a rebase is made in a scratch worktree of ours (`scratch`, `make`), where
//! it can fail, conflict and run hooks as it likes. In a checkout of the user's there is only one thing
//! that ever happens: the finished commit is landed (`land`), as a fast-forward, if nothing is in the
//! way (`survey`, `untracked`). A branch that is checked out nowhere is moved by compare-and-swap. So
//! nothing in a user's checkout is ever aborted, reset or overwritten, and a crash leaves it as it was
//! or merged (`finish`, `recover`).

mod checkout;
mod finish;
mod hooks;
mod land;
mod land_journal;
mod make;
mod obstacle;
mod plan;
mod put_back;
mod recover;
mod scratch;
mod survey;
mod untracked;
mod wish;

use std::path::PathBuf;

pub use checkout::Checkout;
use land::{Landed, Landing, Move, move_branch};
use obstacle::{Obstacle, Step, Stop, listed};
pub use recover::{left_over, recover};
use scratch::{Cleared, Scratch};
use wish::lock_path;
pub use wish::{How, Merge};

use crate::error::{Error, Result};
use crate::git::Git;
use crate::repo::Repo;
use crate::sandbox::{Sandbox, in_use};
use crate::sys::lock::Lock;
use crate::sys::{crash_point, signals};
use crate::ui::out::Out;
use crate::ui::words::{counted, shell_word};

/// The lock of merges: one at a time in a repository, while others may create and remove.
pub fn lock(repo: &Repo, out: Out) -> Result<Lock> {
    Lock::exclusive(&lock_path(repo), out)
}

/// What will be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How many commits the target lacks.
    pub commits: u64,
    /// What will come of it.
    pub way: Way,
    /// Where the target is checked out.
    pub checkout: Option<Checkout>,
}

/// What a merge comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The target moves to the branch's commit.
    FastForward,
    /// A merge commit.
    Commit,
    /// One commit.
    Squash,
    /// New commits on top of the target.
    Rebase,
}

impl Plan {
    /// What is done, in words.
    pub fn in_words(&self) -> String {
        let commits = counted(self.commits, "commit");
        match self.way {
            Way::FastForward => format!("{commits}, fast-forward"),
            Way::Commit => format!("{commits}, with a merge commit"),
            Way::Squash => format!("{commits}, squashed"),
            Way::Rebase => format!("{commits}, rebased"),
        }
    }
}

impl Merge<'_> {
    /// Carries a plan out. Returns the commit that the target is at then. `lock` is the lock of merges.
    pub fn carry_out(&self, plan: &Plan, lock: &Lock) -> Result<String> {
        // What is half done when Ctrl-C comes is taken back.
        signals::note();
        let git = self.repo.git.holding(lock.file());
        crash_point::reached();
        if plan.way == Way::FastForward && !self.verifies_signatures()? {
            self.land(&git, plan, self.head)?;
            return Ok(self.head.to_owned());
        }
        let start = if plan.way == Way::Rebase { self.head } else { &self.into.branch.commit };
        let scratch = Scratch::make(self, plan.checkout.as_ref(), start, lock)?;
        crash_point::reached();
        // The scratch stays until it is landed: no garbage collection takes what its HEAD names.
        let landed = self.make(&scratch, plan.way).and_then(|new| {
            crash_point::reached();
            signals::check()?;
            self.land(&git, plan, &new)?;
            Ok(new)
        });
        crash_point::reached();
        self.say_cleared(scratch.remove(self, lock));
        landed
    }

    /// Moves the target to a commit on top of it, with its checkout.
    fn land(&self, git: &Git, plan: &Plan, new: &str) -> Result<()> {
        let (branch, old) = (self.into.branch.name.as_str(), self.into.branch.commit.as_str());
        let reason = format!("merge {}: Fast-forward", self.branch);
        let reason = reason.as_str();
        let landed = match &plan.checkout {
            None => {
                let git = git.at(&self.repo.common);
                move_branch(&git, &Move { branch, old, new, reason }).map(|()| Landed::default())
            }
            Some(checkout) => {
                let repo = self.repo;
                // No command of ours removes it meanwhile.
                let _used = match checkout.is_main {
                    true => None,
                    false => Some(Lock::shared(&in_use::lock_path(&checkout.git_dir), self.out)?),
                };
                let landing =
                    Landing { repo, git, checkout, branch, old, new, reason, runs_hooks: true };
                landing.run(|| self.run_post_merge(git, checkout))
            }
        };
        let landed = landed.map_err(|stop| self.stopped(stop))?;
        if let (Some(checkout), [_, ..]) = (&plan.checkout, &landed.submodules[..]) {
            let (folder, names) = (checkout.path.to_string_lossy(), listed(&landed.submodules));
            self.out.note(&format!("submodules have moved: {names}"));
            self.out.hint(&format!("git -C {} submodule update", shell_word(&folder)));
        }
        Ok(())
    }

    fn run_post_merge(&self, git: &Git, checkout: &Checkout) {
        match hooks::post_merge(self.repo, git, &checkout.path) {
            Ok(lines) => lines.iter().for_each(|line| self.out.note(line)),
            Err(error) => self.out.warn(&error.to_string()),
        }
    }

    /// Moves the branch of the sandbox, and its checkout, to the commits that a rebase made of its own.
    /// What is in the way stays, and is said: the target has it all.
    pub fn follow(&self, new: &str, lock: &Lock) {
        if let Err(stop) = self.try_to_follow(new, lock) {
            let branch = self.branch;
            self.out.warn(&format!("branch '{branch}' stays at its old commits: {stop}"));
        }
    }

    fn try_to_follow(&self, new: &str, lock: &Lock) -> Step<()> {
        let git = self.repo.git.holding(lock.file());
        let Sandbox { path, entry, .. } = self.sandbox;
        let checkout = Checkout { path: path.clone(), git_dir: entry.clone(), is_main: false };
        let landing = Landing {
            repo: self.repo,
            git: &git,
            checkout: &checkout,
            branch: &format!("refs/heads/{}", self.branch),
            old: self.head,
            new,
            reason: &format!("git sandbox: rebased onto {}", self.into.name),
            // By a relative core.hooksPath they would be files that a confined command wrote.
            runs_hooks: false,
        };
        landing.run(|| ()).map(drop)
    }

    fn say_cleared(&self, cleared: Result<Option<Cleared>>) {
        match cleared {
            Ok(Some(Cleared::Deleted)) => {}
            Ok(Some(Cleared::Trashed(id))) => {
                let restore = format!("git sandbox restore {}", shell_word(&id));
                self.out.note(&format!("hooks made files, which are in the trash: {restore}"));
            }
            Ok(None) => self.out.warn("a process is at work in the scratch worktree: it stays"),
            Err(error) => self.out.warn(&format!("the scratch worktree stays: {error}")),
        }
    }

    fn stopped(&self, stop: Stop) -> Error {
        let is_whole = !matches!(stop, Stop::Obstacle(Obstacle::Half { .. }));
        if let (true, Err(interrupted)) = (is_whole, signals::check()) {
            return interrupted;
        }
        match stop {
            Stop::Error(error) => error,
            Stop::Obstacle(obstacle) => {
                let again = || self.typed(self.how);
                let busy = matches!(obstacle, Obstacle::Moved | Obstacle::Busy { .. });
                let hint = obstacle.hint().or_else(|| busy.then(again));
                self.refused(obstacle.to_string(), hint)
            }
        }
    }

    fn refused(&self, why: String, hint: Option<String>) -> Error {
        let into = Some(self.into.name.clone());
        Error::NotMerged { name: self.sandbox.name(), into, why, hint }
    }

    fn nothing(&self, why: &str) -> Error {
        let remove = format!("git sandbox rm {}", shell_word(&self.sandbox.name()));
        self.refused(format!("nothing to merge, '{}' {why}", self.into.name), Some(remove))
    }

    fn conflict(&self, files: &[PathBuf]) -> Error {
        let path = shell_word(&self.sandbox.path.to_string_lossy());
        let verb = if self.how == How::Rebase { "rebase" } else { "merge" };
        let into = shell_word(&self.into.name);
        let hint = format!("resolve it there: git -C {path} {verb} {into}");
        self.refused(format!("conflict in {}", listed(files)), Some(hint))
    }
}
