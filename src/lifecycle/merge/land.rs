//! Landing: one checkout of the user's goes from a commit to another, which is all that a merge ever
//! does there.
//!
//! Looked at first (`survey`). Then, with a journal and git's own `index.lock` in our hands, so that
//! no other git can write: everything is looked at again, the files are written by `read-tree` on an
//! index of ours, the branch is moved if it is still where it was, and our index becomes the user's.
//! If anything fails before the branch has moved, the files are put back (`put_back`). A crash before
//! that moment is undone and after it completed, by the next command (`recover`).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::checkout::Checkout;
use super::finish;
use super::land_journal::{Files, Journal};
use super::obstacle::{Obstacle, Step, Stop};
use super::put_back::PutBack;
use super::survey::{Clear, Survey, with_index};
use crate::error::Result;
use crate::git::{Answer, Git, porcelain};
use crate::repo::Repo;
use crate::sys::crash_point;

/// How often it is begun anew because another git wrote the index meanwhile.
const ATTEMPTS: u32 = 5;

/// A landing.
#[derive(Debug)]
pub struct Landing<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// Its git, whose processes hold the lock of merges.
    pub git: &'a Git,
    /// The checkout.
    pub checkout: &'a Checkout,
    /// The branch that it is on, in full.
    pub branch: &'a str,
    /// The commit it is at.
    pub old: &'a str,
    /// The commit it goes to.
    pub new: &'a str,
    /// What the reflogs say.
    pub reason: &'a str,
    /// Whether the hooks of the checkout run.
    pub runs_hooks: bool,
}

/// What a landing did.
#[derive(Debug, Default)]
pub struct Landed {
    /// Whether the checkout was still on the branch, so that its files are those of the new commit.
    pub in_checkout: bool,
    /// Submodules whose commit has changed: git leaves their checkouts alone.
    pub submodules: Vec<PathBuf>,
}

impl Landing<'_> {
    /// Carries it out. The journal stays until the end of `after`.
    pub fn run(&self, after: impl FnOnce()) -> Step<Landed> {
        let files = Files::of(&self.checkout.git_dir);
        let landed = self.attempts(&files);
        match &landed {
            Ok(landed) if landed.in_checkout => after(),
            // Files that could not be written are tried again by the next command.
            Err(Stop::Obstacle(Obstacle::Half { again: true, .. })) => return landed,
            // It is unknown how far it came. If this fails too, the next command tries again.
            Err(Stop::Error(_)) => {
                let _ = finish::finish(self.repo, self.git, self.checkout);
                return landed;
            }
            _ => {}
        }
        crash_point::reached();
        files.clear()?;
        landed
    }

    fn attempts(&self, files: &Files) -> Step<Landed> {
        for _ in 0..ATTEMPTS {
            if let Some(landed) = self.attempt(files)? {
                return Ok(landed);
            }
        }
        Err(Obstacle::Busy { folder: self.checkout.path.clone() }.into())
    }

    fn survey(&self) -> Survey<'_> {
        let Landing { repo, checkout, old, new, .. } = *self;
        Survey { repo, checkout, old, new }
    }

    /// `None` where another git wrote the index between the look and the lock.
    fn attempt(&self, files: &Files) -> Step<Option<Landed>> {
        // What another attempt left is about another index.
        files.clear()?;
        let clear = self.survey().look(&files.copy())?;
        let absent = clear.absent.iter().map(|path| path.as_os_str().as_bytes().to_vec());
        let mut journal = Journal::new(self.branch, self.old, self.new, absent.collect());
        crash_point::reached();
        files.begin(&mut journal)?;
        crash_point::reached();
        if !files.take_lock()? {
            return Err(Obstacle::Busy { folder: self.checkout.path.clone() }.into());
        }
        crash_point::reached();
        let landed = self.locked(files, &clear);
        crash_point::reached();
        files.release(&journal)?;
        landed
    }

    /// With git's lock of the index held.
    fn locked(&self, files: &Files, clear: &Clear) -> Step<Option<Landed>> {
        if files.stamp()? != clear.stamp {
            return Ok(None);
        }
        let git = self.git.at(&self.checkout.path);
        self.checkout.is_idle(&git, self.repo.is_reftable())?;
        if self.head(&git)? != Some(self.old.to_owned()) {
            return Err(Obstacle::Moved.into());
        }
        self.survey().nothing_untracked(&clear.changes)?;
        let index = files.index();
        files.make_index()?;
        crash_point::reached();
        let words = ["read-tree", "-m", "-u", "--no-recurse-submodules", self.old, self.new];
        let answer = with_index(&git, &index, &words).ask()?;
        crash_point::reached();
        if !answer.ok() {
            return Err(self.put_back(clear, || self.why_not_written(files, &answer))?.into());
        }
        let words = ["update-ref", "-m", self.reason, self.branch, self.new, self.old];
        let call = if self.runs_hooks { git.call(words) } else { git.look(words) };
        let answer = call.ask()?;
        crash_point::reached();
        let head = self.head(&git)?;
        // A git that was killed may have moved it all the same.
        let moved = answer.ok() || head.as_deref() == Some(self.new);
        match head {
            Some(_) if moved => {}
            None if moved => {
                self.put_back(clear, || Ok(Obstacle::Moved))?;
                return Ok(Some(Landed::default()));
            }
            Some(head) if head == self.old => {
                return Err(self.put_back(clear, || Ok(Obstacle::Git(answer.why())))?.into());
            }
            _ => return Err(self.put_back(clear, || Ok(Obstacle::Moved))?.into()),
        }
        files.install_index()?;
        crash_point::reached();
        // It is landed, whatever becomes of this.
        let _ = git.refresh(["update-ref", "--no-deref", "ORIG_HEAD", self.old]).ask();
        let moved = clear.changes.iter().filter(|change| change.is_of_submodule());
        let submodules = moved.map(|change| change.path.clone()).collect();
        Ok(Some(Landed { in_checkout: true, submodules }))
    }

    /// The commit of the branch, if HEAD is on it.
    fn head(&self, git: &Git) -> Result<Option<String>> {
        let format = "--format=%(HEAD)%(objectname)";
        let call = git.look(["for-each-ref", format, "--", self.branch]);
        let line = call.line("read the branch")?;
        let id = line.as_bytes().strip_prefix(b"*");
        Ok(id.and_then(porcelain::commit))
    }

    /// Why git did not write the files: something that has come in the way since, or git's own words.
    fn why_not_written(&self, files: &Files, answer: &Answer) -> Result<Obstacle> {
        match self.survey().look(&files.copy()) {
            Ok(_) => Ok(Obstacle::Git(answer.why())),
            Err(Stop::Obstacle(obstacle)) => Ok(obstacle),
            Err(Stop::Error(error)) => Err(error),
        }
    }

    /// Puts the files back; the reason for it, found afterwards, with what could not be.
    fn put_back(&self, clear: &Clear, why: impl FnOnce() -> Result<Obstacle>) -> Result<Obstacle> {
        let Landing { repo, git, checkout, .. } = *self;
        let back = PutBack { repo, git, checkout, changes: &clear.changes, absent: &clear.absent };
        let left = back.run()?;
        let why = why()?;
        let again = !left.missing.is_empty();
        let files: Vec<PathBuf> = left.missing.into_iter().chain(left.changed).collect();
        if files.is_empty() {
            return Ok(why);
        }
        let folder = checkout.path.clone();
        Ok(Obstacle::Half { why: why.to_string(), folder, files, again })
    }
}

/// Moves a branch that is checked out nowhere.
pub fn move_branch(git: &Git, landing: &Move) -> Step<()> {
    let Move { branch, old, new, reason } = *landing;
    crash_point::reached();
    let answer = git.call(["update-ref", "-m", reason, branch, new, old]).ask()?;
    crash_point::reached();
    if answer.ok() {
        return Ok(());
    }
    let now = git.look(["rev-parse", "--verify", "--quiet", branch]).ask()?;
    Err(match OsStr::from_bytes(now.stdout.trim_ascii_end()) == old {
        true => Obstacle::Git(answer.why()),
        false => Obstacle::Moved,
    }
    .into())
}

/// A branch that is to be moved.
#[derive(Clone, Copy, Debug)]
pub struct Move<'a> {
    /// The branch, in full.
    pub branch: &'a str,
    /// The commit it is at.
    pub old: &'a str,
    /// The commit it goes to.
    pub new: &'a str,
    /// What the reflog says.
    pub reason: &'a str,
}
