//! What can be told about sandboxes: facts of many gathered at once, and their JSON.
//!
//! One `git status` a sandbox, as many at once as there are cores. What concerns all of them (who
//! uses them, their history) is asked once, beside that.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use chrono::TimeDelta;
use serde::Serialize;

use crate::error::Result;
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
    /// The base that has its commits.
    #[serde(skip)]
    pub merged_into: Option<String>,
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
    processes: Processes,
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
        Ok(Reporter { repo, place, main, now, retention, processes: Processes::lazily() })
    }

    /// The same, knowing who is there.
    pub fn knowing(self, processes: Processes) -> Reporter<'a> {
        Reporter { processes, ..self }
    }

    /// Reports on all of them, by path.
    pub fn all(&self, sandboxes: &[Sandbox]) -> Vec<Report> {
        // Before any git of ours works in one of them.
        self.processes.look();
        let (history, mut reports) = thread::scope(|scope| {
            let history = scope.spawn(|| History::of(self.repo, self.main, sandboxes));
            let mut reports = Vec::new();
            let told = self.each(sandboxes, |sandbox, report| {
                reports.push((sandbox.path.clone(), report));
                Ok(())
            });
            debug_assert!(told.is_ok(), "nothing in there fails");
            (history.join().unwrap_or_default(), reports)
        });
        for (path, report) in &mut reports {
            history.complete(path, report);
        }
        reports.into_iter().map(|(_, report)| report).collect()
    }

    /// Tells of each of them, by path, as soon as it and all before it are read; without history.
    pub fn each(
        &self,
        sandboxes: &[Sandbox],
        mut tell: impl FnMut(&Sandbox, Report) -> Result<()>,
    ) -> Result<()> {
        let sorted = by_path(sandboxes);
        let next = AtomicUsize::new(0);
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let workers = cores.min(sorted.len());
        self.processes.look();
        thread::scope(|scope| {
            let (done, reports) = mpsc::channel();
            for _ in 0..workers {
                let (done, next, sorted) = (done.clone(), &next, &sorted);
                scope.spawn(move || {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(sandbox) = sorted.get(number) else { return };
                        let report = self.read(sandbox, workers > 1);
                        if done.send((number, report)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(done);
            let (mut early, mut told) = (HashMap::new(), 0);
            for (number, report) in reports {
                early.insert(number, report);
                while let Some(report) = early.remove(&told) {
                    let said = tell(sorted[told], report);
                    if said.is_err() {
                        // Nobody listens: read no more.
                        next.store(sorted.len(), Ordering::Relaxed);
                        return said;
                    }
                    told += 1;
                }
            }
            Ok(())
        })
    }

    /// Reports on one.
    pub fn one(&self, sandbox: &Sandbox) -> Report {
        let mut report = self.read(sandbox, false);
        let history = History::of(self.repo, self.main, std::slice::from_ref(sandbox));
        history.complete(&sandbox.path, &mut report);
        // One without a commit of its own has nothing that could be merged.
        report.merged_into = report.merged_into.filter(|_| sandbox.made_commits());
        report
    }

    /// What can be foreseen, two reports for each sandbox: as it was left, and edited since. For the
    /// columns of a table whose first lines are wanted before all is read.
    pub fn foreseen(&self, sandboxes: &[Sandbox]) -> Vec<Report> {
        const SOME: u64 = 99;
        let today = self.now - TimeDelta::hours(23);
        let foresee = |sandbox: &Sandbox| {
            let users = self.processes.users_of(sandbox).ok();
            let left = self.report(sandbox, users, Some(Ok(Status::default())));
            let files = if left.in_words() == "clean" { SOME } else { 0 };
            let edited = Report {
                changes: left.changes.map(|changes| Changes { files, ..changes }),
                last_used: left.last_used.map(|then| then.max(today)),
                expires: left.expires.and(self.retention.expires(sandbox.class(), self.now)),
                ..left.clone()
            };
            [left, edited]
        };
        sandboxes.iter().flat_map(foresee).collect()
    }

    fn read(&self, sandbox: &Sandbox, beside_others: bool) -> Report {
        let users = self.processes.users_of(sandbox).ok();
        let idle = users.as_ref().is_some_and(Vec::is_empty);
        let ready = sandbox.state == State::Ready;
        let status = ready.then(|| sandbox.status(&self.repo.git, idle, beside_others));
        self.report(sandbox, users, status)
    }

    fn report(
        &self,
        sandbox: &Sandbox,
        users: Option<Vec<User>>,
        read: Option<Result<Status, String>>,
    ) -> Report {
        let (git, reftable) = (&self.repo.git, self.repo.is_reftable());
        let usable = sandbox.state == State::Ready;
        let read = read.filter(|_| usable);
        let status = read.as_ref().and_then(|read| read.as_ref().ok());
        let unread = read.as_ref().and_then(|read| read.as_ref().err());
        let changed = status.map_or(&[][..], |status| &status.paths);
        let last_used = (sandbox.state != State::Missing)
            .then(|| sandbox.last_used(git, reftable, changed, self.now))
            .flatten();
        let locked = sandbox.locked.clone().filter(|reason| reason != CREATING);
        let expires = (sandbox.managed && locked.is_none())
            .then(|| self.retention.expires(sandbox.class(), last_used?))
            .flatten();
        let facts = record::read(&sandbox.entry);
        let divergence = status.map(|status| status.divergence.unwrap_or_default());
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
            operation: usable.then(|| sandbox.operation(git, reftable)).flatten(),
            upstream: status.and_then(|status| status.upstream.clone()),
            ahead: divergence.map(|(ahead, _)| ahead),
            behind: divergence.map(|(_, behind)| behind),
            ..unknown
        }
    }
}

fn by_path(sandboxes: &[Sandbox]) -> Vec<&Sandbox> {
    let mut sorted: Vec<&Sandbox> = sandboxes.iter().collect();
    sorted.sort_by(|one, other| one.path.cmp(&other.path));
    sorted
}

/// What is asked of the commits of all sandboxes, once for all of them. Programs are told; the table
/// does without, and so does not wait for it.
#[derive(Default)]
struct History {
    unpushed: Option<Unreached>,
    only_here: Option<Unreached>,
    heads: HashMap<PathBuf, BTreeSet<String>>,
    held: HashMap<PathBuf, BTreeSet<String>>,
    /// How they stand to their bases; of those whose base could not be read, nothing.
    standings: HashMap<PathBuf, Standing>,
}

impl History {
    fn of(repo: &Repo, main: &Record, sandboxes: &[Sandbox]) -> History {
        let (git, common) = (&repo.git, &repo.common);
        let heads: HashMap<PathBuf, BTreeSet<String>> = sandboxes
            .iter()
            .map(|sandbox| (sandbox.path.clone(), sandbox.head.iter().cloned().collect()))
            .collect();
        let held: HashMap<PathBuf, BTreeSet<String>> = sandboxes
            .iter()
            .filter_map(|sandbox| {
                let held = keep::held_by(git, &sandbox.entry).ok()?;
                Some((sandbox.path.clone(), held.commits))
            })
            .collect();
        let union =
            |ids: &HashMap<PathBuf, BTreeSet<String>>| ids.values().flatten().cloned().collect();
        // Without a remote there is nowhere to push to.
        let remotes = repo.config.fetch_refspecs().next().is_some();
        let unpushed = || Unreached::unpushed(git, common, &union(&heads)).ok();
        History {
            unpushed: remotes.then(unpushed).flatten(),
            only_here: Unreached::among(git, common, &union(&held)).ok(),
            standings: merged::of_all(repo, main, sandboxes).unwrap_or_default(),
            heads,
            held,
        }
    }

    /// Adds what is known to the report on the sandbox at `path`.
    fn complete(&self, path: &Path, report: &mut Report) {
        let count = |unreached: &Option<Unreached>, ids: Option<&BTreeSet<String>>| {
            Some(unreached.as_ref()?.count(ids?))
        };
        report.unpushed = count(&self.unpushed, self.heads.get(path));
        report.only_here = count(&self.only_here, self.held.get(path));
        let standing = self.standings.get(path);
        let merged = standing.map(|standing| standing.merged.is_some());
        let base = standing.filter(|_| merged == Some(true)).map(|standing| standing.base.clone());
        (report.merged, report.merged_into) = (merged, base);
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
            merged_into: None,
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
