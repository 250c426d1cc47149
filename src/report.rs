//! What can be told about sandboxes: facts of many gathered at once, and their JSON.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;

use crate::error::Result;
use crate::git::Git;
use crate::keep::{self, Unreached};
use crate::live::{Processes, User};
use crate::merged::{self, Standing};
use crate::place::Place;
use crate::porcelain::{Record, Status};
use crate::record;
use crate::repo::Repo;
use crate::retention::Retention;
use crate::sandbox::{CREATING, Sandbox, State};
use crate::time::{self, Time};

/// Everything known about one sandbox; what could not be read is null.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub name: String,
    pub path: String,
    pub branch: Option<String>,
    pub head: Option<String>,
    pub base_repo: String,
    pub project: String,
    pub base: Option<String>,
    pub task: Option<String>,
    pub created: Option<String>,
    #[serde(serialize_with = "rfc3339")]
    pub last_used: Option<Time>,
    #[serde(serialize_with = "rfc3339")]
    pub expires: Option<Time>,
    pub class: &'static str,
    pub state: &'static str,
    pub problem: Option<String>,
    pub managed: bool,
    pub locked: Option<String>,
    pub in_use: Option<Vec<User>>,
    pub changes: Option<Changes>,
    pub operation: Option<&'static str>,
    pub upstream: Option<String>,
    pub ahead: Option<u64>,
    pub behind: Option<u64>,
    pub unpushed: Option<u64>,
    pub only_here: Option<u64>,
    pub merged: Option<bool>,
    /// Whether it had commits of its own, and its base has them.
    #[serde(skip)]
    pub came_home: bool,
}

/// Uncommitted changes, by kind.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Changes {
    pub staged: u64,
    pub unstaged: u64,
    pub untracked: u64,
    pub conflicted: u64,
    #[serde(skip)]
    pub files: u64,
}

#[expect(clippy::ref_option, reason = "serde calls it so")]
fn rfc3339<S: serde::Serializer>(time: &Option<Time>, to: S) -> Result<S::Ok, S::Error> {
    time.map(time::rfc3339).serialize(to)
}

/// What reports of one repository share.
#[derive(Debug)]
pub struct Reporter<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// Its places.
    pub place: &'a Place,
    /// Its main worktree.
    pub main: &'a Record,
    /// The time.
    pub now: Time,
    retention: Retention,
}

impl<'a> Reporter<'a> {
    /// A bad retention period in the config is an error.
    pub fn new(
        repo: &'a Repo,
        place: &'a Place,
        main: &'a Record,
        now: Time,
    ) -> Result<Reporter<'a>> {
        let retention = Retention::read(&repo.config)?;
        Ok(Reporter { repo, place, main, now, retention })
    }

    /// Reports on all of them, by path, with as many git processes at once as there are cores.
    pub fn all(&self, sandboxes: &[Sandbox]) -> Vec<Report> {
        let shared = Shared::of(self, sandboxes);
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            while let Some(sandbox) = sandboxes.get(next.fetch_add(1, Ordering::Relaxed)) {
                done.push((sandbox.path.clone(), self.report(sandbox, &shared)));
            }
            done
        };
        let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut done: Vec<_> = std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..workers.min(sandboxes.len())).map(|_| scope.spawn(work)).collect();
            workers.into_iter().filter_map(|worker| worker.join().ok()).flatten().collect()
        });
        done.sort_by(|(one, _), (other, _)| one.cmp(other));
        done.into_iter().map(|(_, report)| report).collect()
    }

    /// Reports on one.
    pub fn one(&self, sandbox: &Sandbox) -> Report {
        self.report(sandbox, &Shared::of(self, std::slice::from_ref(sandbox)))
    }

    fn report(&self, sandbox: &Sandbox, shared: &Shared) -> Report {
        let usable = sandbox.state == State::Ready;
        let git = &self.repo.git;
        let users = shared.processes.users_of(sandbox).ok();
        let idle = users.as_ref().is_some_and(Vec::is_empty);
        let read = usable.then(|| sandbox.status(git, idle));
        let status = read.as_ref().and_then(|read| read.as_ref().ok());
        let unread = read.as_ref().and_then(|read| read.as_ref().err());
        let changed = status.map_or(&[][..], |status| &status.paths);
        let last_used = (sandbox.state != State::Missing)
            .then(|| sandbox.last_used(git, self.repo.is_reftable(), changed, self.now))
            .flatten();
        let locked = sandbox.locked.clone().filter(|reason| reason != CREATING);
        let expires = (sandbox.managed && locked.is_none())
            .then(|| self.retention.expires(sandbox.class(), last_used?))
            .flatten();
        let facts = record::read(&sandbox.entry);
        let divergence = status.map(|status| status.divergence.unwrap_or_default());
        let standing = shared.merged.get(&sandbox.entry);
        let unknown = Report::unread(sandbox, &self.main.path, &self.place.project);
        Report {
            base: facts.base,
            task: facts.task,
            created: facts.created,
            last_used,
            expires,
            problem: unknown.problem.or_else(|| unread.map(|why| format!("cannot tell: {why}"))),
            locked,
            in_use: users,
            changes: status.map(changes),
            operation: usable.then(|| sandbox.operation(git, self.repo.is_reftable())).flatten(),
            upstream: status.and_then(|status| status.upstream.clone()),
            ahead: divergence.map(|(ahead, _)| ahead),
            behind: divergence.map(|(_, behind)| behind),
            unpushed: shared.unpushed(sandbox),
            only_here: shared.only_here(git, sandbox),
            merged: standing.map(|standing| standing.merged.is_some()),
            came_home: standing.is_some_and(|standing| standing.merged.is_some())
                && sandbox.made_commits(),
            ..unknown
        }
    }
}

/// What is asked once for all sandboxes.
struct Shared {
    processes: Processes,
    unpushed: Option<Unreached>,
    only_here: Option<Unreached>,
    /// Whether they are in their bases, by entry; of those whose base could not be read, nothing.
    merged: HashMap<PathBuf, Standing>,
}

impl Shared {
    fn of(reporter: &Reporter, sandboxes: &[Sandbox]) -> Shared {
        let repo = reporter.repo;
        let heads = sandboxes.iter().filter_map(|sandbox| sandbox.head.clone()).collect();
        let held = || {
            let held = sandboxes.iter().map(|sandbox| keep::held_by(&repo.git, &sandbox.entry));
            let ids = held.collect::<Result<Vec<_>>>()?.into_iter().flat_map(|held| held.commits);
            Unreached::among(&repo.git, &repo.common, &ids.collect())
        };
        std::thread::scope(|scope| {
            let unpushed = scope.spawn(|| {
                // Without a remote there is nowhere to push to.
                let remotes = repo.config.fetch_refspecs().next().is_some();
                remotes.then(|| Unreached::unpushed(&repo.git, &repo.common, &heads).ok()).flatten()
            });
            let only_here = scope.spawn(|| held().ok());
            let merged = scope.spawn(|| merged::of_all(repo, reporter.main, sandboxes));
            Shared {
                processes: Processes::lazily(),
                unpushed: unpushed.join().ok().flatten(),
                only_here: only_here.join().ok().flatten(),
                merged: merged.join().ok().and_then(Result::ok).unwrap_or_default(),
            }
        })
    }

    fn unpushed(&self, sandbox: &Sandbox) -> Option<u64> {
        Some(self.unpushed.as_ref()?.count(&sandbox.head.iter().cloned().collect()))
    }

    fn only_here(&self, git: &Git, sandbox: &Sandbox) -> Option<u64> {
        let unreached = self.only_here.as_ref()?;
        Some(unreached.count(&keep::held_by(git, &sandbox.entry).ok()?.commits))
    }
}

fn changes(status: &Status) -> Changes {
    Changes {
        staged: status.staged,
        unstaged: status.unstaged,
        untracked: status.untracked,
        conflicted: status.conflicted,
        files: status.changes(),
    }
}

impl Report {
    /// What is known without asking git about the sandbox.
    pub fn unread(sandbox: &Sandbox, base_repo: &Path, project: &OsStr) -> Report {
        Report {
            name: sandbox.name(),
            path: sandbox.path.to_string_lossy().into_owned(),
            branch: sandbox.branch_text(),
            head: sandbox.head.clone(),
            base_repo: base_repo.to_string_lossy().into_owned(),
            project: project.to_string_lossy().into_owned(),
            base: None,
            task: None,
            created: None,
            last_used: None,
            expires: None,
            class: sandbox.class().word(),
            state: sandbox.state.word(),
            problem: sandbox.state.problem().map(str::to_owned),
            managed: sandbox.managed,
            locked: None,
            in_use: None,
            changes: None,
            operation: None,
            upstream: None,
            ahead: None,
            behind: None,
            unpushed: None,
            only_here: None,
            merged: None,
            came_home: false,
        }
    }

    /// The state in a few words, for people.
    pub fn in_words(&self) -> String {
        let mut words = Vec::new();
        match (&self.state, &self.changes) {
            (&"ready", None) => words.push("cannot tell".to_owned()),
            (&"ready", Some(changes)) if changes.files > 0 => {
                words.push(time::counted(changes.files, "change"));
            }
            (&"ready", Some(_)) if self.operation.is_none() => words.push("clean".to_owned()),
            (&"ready", Some(_)) => {}
            (state, _) => words.push((*state).to_owned()),
        }
        words.extend(self.operation.map(str::to_owned));
        words.extend(self.came_home.then(|| "merged".to_owned()));
        let users = self.in_use.as_deref().unwrap_or_default();
        // Rather the command than its runner.
        let user = users.iter().find(|user| user.command != "git-sandbox").or(users.first());
        words.extend(user.map(|user| match users.len() {
            1 => format!("in use by {}", user.in_words()),
            count => format!("in use by {} and {} more", user.in_words(), count - 1),
        }));
        words.extend(self.locked.is_some().then(|| "locked".to_owned()));
        words.extend((!self.managed && self.state != "orphan").then(|| "external".to_owned()));
        words.join(", ")
    }
}
