//! Creating or resuming a sandbox: a transaction.
//!
//! Under the repository lock: resolve, make the folder, make the branch, register the worktree,
//! locked with our reason. Then, outside it, under the sandbox's own lock: check the files out, run
//! the hook, unlock. A failure up to the end of the checkout takes everything back, the branch only
//! if we made it and it has not moved. A kill leaves an entry marked `creating` whose lock is free,
//! which the next `new` of that name finishes. No command waits for a sandbox's lock while it
//! holds the repository's.
//!
//! git processes, nothing configured, under the lock: `config`, `for-each-ref` unless the name is new for
//! sure, `branch` for a new one, else `worktree list` and `worktree add`; then, outside it, `reset`. With a
//! spare: `symbolic-ref` and `update-ref` instead of the last. tests/git/processes.rs has the
//! table of all commands.

mod branch;
pub mod carry;
pub mod checkout;
mod donor;
mod entry;
pub mod include;
pub mod rollback;

mod finish;
mod persist;
mod pool;
mod pull;
mod register;
mod resume;
mod take;

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::lifecycle::create::carry::Carry;
use crate::lifecycle::create::rollback::Undo;
use crate::lifecycle::recover;
use crate::lifecycle::trash::Trash;
use crate::repo::place::Place;
use crate::repo::read_worktrees::Read;
use crate::repo::request::Pull;
use crate::repo::resolve::{self, OnRemote, Target};
use crate::repo::root::Root;
use crate::repo::start_point::Start;
use crate::repo::{Repo, Worktrees, name};
use crate::sandbox::record::{self, Confine, Facts};
use crate::sandbox::{State, in_use};
use crate::session::Author;
use crate::sys::clock::{self, Time};
use crate::sys::lock::Lock;
use crate::sys::{dir, path, random};
use crate::ui::out::Out;

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The branch; `None` for a detached HEAD.
    pub branch: Option<OsString>,
    /// The folder's name; a number is added if it is taken.
    pub folder: String,
    /// The remote whose branch is meant, if one was named.
    pub remote: Option<String>,
    /// Where to start instead of at HEAD.
    pub from: Option<OsString>,
    /// What it is for.
    pub task: Option<String>,
    /// Who commits in it, as `Name <email>`, if one was named for it.
    pub author: Option<String>,
    /// How commands in it are confined, if `--confine` says so.
    pub confine: Option<Confine>,
    /// The parent folder, if it is not to stand below the root.
    pub dir: Option<PathBuf>,
    /// Whether the uncommitted changes of the current worktree are copied into it.
    pub with_changes: bool,
    /// The request that the branch is for, if one was fetched.
    pub pull: Option<Pull>,
}

impl Wish {
    /// The same for `<remote>/<branch>`: that branch, and the folder that it would have had.
    fn on(&self, OnRemote { remote, branch }: OnRemote) -> Wish {
        let typed = self.branch.as_deref().map(name::branch_folder);
        let folder = match typed.as_ref() == Some(&self.folder) {
            true => name::branch_folder(&branch),
            false => self.folder.clone(),
        };
        Wish { branch: Some(branch), remote: Some(remote), folder, ..self.clone() }
    }

    /// The facts of a sandbox, with what was told of it now.
    fn told_in(&self, facts: Facts) -> Facts {
        Facts {
            task: self.task.clone().or(facts.task),
            author: self.author.clone().or(facts.author),
            confine: self.confine.map(|new| new.over(facts.confine)).or(facts.confine),
            ..facts
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// Where it is.
    pub path: PathBuf,
    /// Its private git dir.
    pub entry: PathBuf,
    /// What was done.
    pub action: Action,
    /// What went wrong after the checkout; the sandbox is there all the same.
    pub troubles: Vec<String>,
    /// The root in force.
    pub root: PathBuf,
    /// When it had been used last, if it was there.
    pub last_used: Option<Time>,
}

/// What was done.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// It was made, in a few words how.
    Created(String),
    /// An interrupted creation was completed.
    Finished,
    /// It was there.
    Resumed,
}

/// Everything a creation needs to know.
#[derive(Debug)]
pub struct Maker<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// The root asked for.
    pub root: Root,
    /// Where to narrate.
    pub out: Out,
    /// The time.
    pub now: Time,
    /// Who commits in it, if it is not the user.
    pub author: Option<Author>,
}

impl Maker<'_> {
    /// Creates the sandbox, or resumes the one that is there. The repository lock may be held already.
    pub fn ensure(&self, wish: &Wish, held: Option<Lock>) -> Result<Outcome> {
        self.ensure_then(wish, held, &|| ())
    }

    /// The same; calls `registered` when only the files of a new one are missing.
    fn ensure_then(
        &self,
        wish: &Wish,
        mut held: Option<Lock>,
        registered: &dyn Fn(),
    ) -> Result<Outcome> {
        let mut before = Facts::default();
        // Whether git is to be asked which worktrees there are.
        let mut by_git = false;
        loop {
            let lock = held.take().map_or_else(|| self.repo.lock(self.out), Ok)?;
            let git = self.repo.git.holding(lock.file());
            let branch = wish.branch.as_deref();
            let is_new = branch.is_some_and(|name| resolve::is_surely_new(self.repo, name));
            let question = branch.filter(|_| !is_new);
            let remote = wish.remote.as_deref();
            let ask = |name| resolve::ask(&git, &self.repo.config, name, remote);
            let read = if by_git { None } else { self.read_worktrees(wish) };
            let question = question.map(ask).transpose()?;
            let (worktrees, unsettled) = match read {
                Some(Read { worktrees, unsettled }) => (worktrees, Some(unsettled)),
                None => (self.repo.worktrees()?, None),
            };
            let (target, several) = match (question, branch) {
                (Some(question), _) => {
                    let found = question.answer()?;
                    if let Some(on_remote) = found.on_remote {
                        drop(git);
                        return self.ensure_then(&wish.on(on_remote), Some(lock), registered);
                    }
                    (found.target, found.several)
                }
                (None, Some(name)) => (Target::New { branch: name.to_owned() }, Vec::new()),
                (None, None) => (Target::Detached, Vec::new()),
            };
            let place = Place::of(self.repo, self.root.clone(), &worktrees);
            let wish = &Wish {
                folder: match wish.dir {
                    Some(_) => wish.folder.clone(),
                    None => place.folder(&wish.folder),
                },
                ..wish.clone()
            };
            let trash = Trash { repo: self.repo, git: git.clone(), place: &place, now: self.now };
            let mended = match &unsettled {
                Some(some) => recover::among(&trash, &worktrees, some, self.out),
                None => recover::all(&trash, &worktrees, self.out),
            };
            if mended {
                continue;
            }
            match self.existing(wish, &worktrees, &place)? {
                // What is there is looked at as closely as ever.
                Some(_) if unsettled.is_some() => {
                    by_git = true;
                    drop((trash, git));
                    held = Some(lock);
                }
                // Nothing is done to an entry that was not found.
                Some(there) if there.entry.as_os_str().is_empty() => {
                    let why = "git's entry for it was not found".to_owned();
                    return Err(Error::Damaged { name: there.name(), why });
                }
                Some(there) if there.state == State::Creating => {
                    let path = in_use::lock_path(&there.entry);
                    let own = Lock::if_free(&path)?;
                    drop((trash, git, lock));
                    match own {
                        // The first may have come to its end since git was asked.
                        Some(_) if !there.entry.join("locked").exists() => {}
                        Some(own) => {
                            return self
                                .finish(wish, &there, &worktrees, &own)
                                .map(|it| rooted(it, &place));
                        }
                        None => Lock::wait(&path, self.out)?,
                    }
                }
                Some(there) if there.state == State::Missing => {
                    before = record::to_change(&there.entry)?;
                    self.drop_missing(&trash, &place, &there)?;
                }
                Some(there) => return self.resume(wish, &there).map(|it| rooted(it, &place)),
                None => {
                    self.check_several(wish, &several)?;
                    self.tell_of_trash(wish, &place);
                    let target = match &wish.pull {
                        Some(pull) => self.pulled(&git, pull, target)?,
                        None => target,
                    };
                    drop((trash, git));
                    let lock = (lock, registered);
                    let made = self.create(wish, &before, &target, &worktrees, &place, lock);
                    return made.map(|it| rooted(it, &place));
                }
            }
        }
    }

    /// The first half under the repository lock, the second once it is released and that was told.
    fn create(
        &self,
        wish: &Wish,
        before: &Facts,
        target: &Target,
        worktrees: &Worktrees,
        place: &Place,
        (lock, registered): (Lock, &dyn Fn()),
    ) -> Result<Outcome> {
        let start = Start::of(self.repo, wish.from.as_deref(), target, worktrees)?;
        let carry = wish.with_changes.then(|| Carry::of(self.repo)).transpose()?;
        let home = match &wish.dir {
            Some(parent) => {
                place.check_dir(&path::real(parent), worktrees)?;
                dir::make(parent)?;
                None
            }
            None => Some(place.home(worktrees, self.out)?),
        };
        let parent = match (&home, &wish.dir) {
            (Some(home), _) => home.path.clone(),
            (None, dir) => path::real(dir.as_deref().unwrap_or(Path::new("/"))),
        };
        let git = self.repo.git.holding(lock.file());
        let mut undo = Undo { commits: vec![start.commit.clone()], ..Undo::default() };
        let carrying = carry.as_ref().map(|carry| carry.top.clone());
        let facts = Facts { carrying, ..self.facts(wish, before, &start, &parent)? };
        let spare = match &home {
            Some(home) => self.spare(&git, target, &start, worktrees, &home.path)?,
            None => None,
        };
        let had = spare.as_ref().and_then(|held| held.head.clone());
        undo.commits.extend(had.clone());
        let made = match spare {
            Some(held) => self.take(&git, held, wish, facts, target, &start, worktrees, &mut undo),
            None => self
                .register(&git, wish, target, &start, worktrees, &parent, &mut undo)
                .and_then(|(path, entry)| {
                    let own = Lock::at_once(&in_use::lock_path(&entry))?.ok_or_else(|| {
                        Error::Damaged {
                            name: wish.folder.clone(),
                            why: "somebody uses it already".into(),
                        }
                    })?;
                    record::write(&entry, &facts)?;
                    Ok((path, entry, own))
                }),
        };
        let (path, entry, own) = match made {
            Ok(made) => made,
            Err(error) => return Err(undo.take_back(&git, self.out, error)),
        };
        drop(git);
        drop(home);
        drop(lock);
        registered();
        let folder = path.file_name().unwrap_or_default();
        if folder != OsStr::new(&wish.folder) {
            let folder = folder.to_string_lossy();
            self.out.note(&format!("folder '{}' is taken: using '{folder}'", wish.folder));
        }
        let branch = target.branch().map(OsStr::to_owned);
        let fill = self.fill(&path, &entry, branch, &start.commit, worktrees, &own);
        let filled = match had {
            Some(had) => fill.check_out_from(&had).and_then(|()| self.forget_spare(&entry)),
            None => fill.check_out(),
        };
        let filled = filled.and_then(|()| match &carry {
            Some(carry) => self.carry(carry, &fill, &entry),
            None => Ok(()),
        });
        if let Err(error) = filled {
            let lock = self.repo.lock(self.out)?;
            return Err(undo.take_back(&self.repo.git.holding(lock.file()), self.out, error));
        }
        let troubles = fill.furnish();
        self.open_up(&path, &entry)?;
        let action = Action::Created(start.how(target, wish.from.as_deref()));
        Ok(Outcome { troubles, ..outcome(&path, &entry, action) })
    }

    /// A sandbox that is made again inherits task, author and base from the one whose folder was
    /// deleted.
    fn facts(&self, wish: &Wish, before: &Facts, start: &Start, parent: &Path) -> Result<Facts> {
        Ok(wish.told_in(Facts {
            base: start.base.clone().or_else(|| before.base.clone()),
            created: Some(clock::rfc3339(self.now)),
            id: Some(random::hex()? + &random::hex()?),
            common: Some(self.repo.common.clone()),
            device: Some(std::fs::metadata(parent).at("read", parent)?.dev()),
            spare: None,
            renaming: None,
            carrying: None,
            afresh: None,
            ..before.clone()
        }))
    }
}

fn rooted(outcome: Outcome, place: &Place) -> Outcome {
    Outcome { root: place.root.clone(), ..outcome }
}

fn outcome(path: &Path, entry: &Path, action: Action) -> Outcome {
    Outcome {
        path: path.to_owned(),
        entry: entry.to_owned(),
        action,
        troubles: Vec::new(),
        root: PathBuf::new(),
        last_used: None,
    }
}
