//! Facts of many sandboxes gathered at once.
//!
//! One `git status` a sandbox, as many at once as there are cores. What concerns all of them (who
//! uses them, their history) is asked once, beside that.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::error::Result;
use crate::git::index::Index;
use crate::git::porcelain::{Record, Status};
use crate::repo::place::Place;
use crate::repo::unreached::Unreached;
use crate::repo::{Repo, nested};
use crate::sandbox::history::{self, History};
use crate::sandbox::in_use::{Processes, User};
use crate::sandbox::mark::CREATING;
use crate::sandbox::report::{Changes, Report};
use crate::sandbox::retention::Retention;
use crate::sandbox::runs::report::RunReport;
use crate::sandbox::untouched::Trees;
use crate::sandbox::{Sandbox, State, facts, record};
use crate::sandbox::{confined, divergence};
use crate::sys::clock::Time;

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
            let told = self.each_read(sandboxes, None, |sandbox, report| {
                reports.push((sandbox.path.clone(), sandbox.entry.clone(), report));
                Ok(())
            });
            debug_assert!(told.is_ok(), "nothing in there fails");
            (history.join().unwrap_or_default(), reports)
        });
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let share = reports.len().div_ceil(cores).max(1);
        thread::scope(|scope| {
            for reports in reports.chunks_mut(share) {
                let history = &history;
                scope.spawn(move || {
                    for (path, entry, report) in reports {
                        self.complete(report, path, entry, history);
                    }
                });
            }
        });
        reports.into_iter().map(|(_, _, report)| report).collect()
    }

    /// Tells of each of them, by path, as soon as it and all before it are read; of their history only
    /// what is on no remote.
    pub fn each(
        &self,
        sandboxes: &[Sandbox],
        tell: impl FnMut(&Sandbox, Report) -> Result<()>,
    ) -> Result<()> {
        thread::scope(|scope| {
            let unpushed = scope.spawn(|| History::unpushed(self.repo, &history::heads(sandboxes)));
            self.each_read(sandboxes, Some(unpushed), tell)
        })
    }

    fn each_read(
        &self,
        sandboxes: &[Sandbox],
        unpushed: Option<thread::ScopedJoinHandle<'_, Option<Unreached>>>,
        mut tell: impl FnMut(&Sandbox, Report) -> Result<()>,
    ) -> Result<()> {
        let sorted = by_path(sandboxes);
        let next = AtomicUsize::new(0);
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let workers = cores.min(sorted.len());
        let trees = thread::scope(|scope| {
            let trees = scope.spawn(|| Trees::of(self.repo, &sorted));
            self.processes.look();
            trees.join().unwrap_or_default()
        });
        thread::scope(|scope| {
            let (done, reports) = mpsc::channel();
            for _ in 0..workers {
                let (done, next, sorted, trees) = (done.clone(), &next, &sorted, &trees);
                scope.spawn(move || {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(sandbox) = sorted.get(number) else { return };
                        let report = self.read(sandbox, trees, workers > 1);
                        if done.send((number, report)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(done);
            let (mut early, mut told) = (HashMap::new(), 0);
            let unpushed = unpushed.and_then(|asked| asked.join().ok().flatten());
            for (number, report) in reports {
                early.insert(number, report);
                while let Some(mut report) = early.remove(&told) {
                    let head = sorted[told].head.iter().cloned().collect();
                    report.unpushed = unpushed.as_ref().map(|unpushed| unpushed.count(&head));
                    let said = tell(sorted[told], report);
                    if said.is_err() {
                        // The receiver is gone: read no more.
                        next.store(sorted.len(), Ordering::Relaxed);
                        return said;
                    }
                    told += 1;
                }
            }
            Ok(())
        })
    }

    /// Adds what the commits tell, and counts uncommitted changes in.
    pub fn complete(&self, report: &mut Report, path: &Path, entry: &Path, history: &History) {
        report.add(history.at(path));
        let tracked = |it: &Changes| it.staged + it.unstaged + it.conflicted > 0;
        if let (true, Some(fork)) = (report.changes.as_ref().is_some_and(tracked), &report.fork) {
            let git = self.repo.git.in_sandbox(path, entry);
            report.diff = divergence::in_worktree(&git, fork);
        }
    }

    /// Reports on one.
    pub fn one(&self, sandbox: &Sandbox) -> Report {
        let mut report = self.read(sandbox, &Trees::default(), false);
        let history = History::of(self.repo, self.main, std::slice::from_ref(sandbox));
        self.complete(&mut report, &sandbox.path, &sandbox.entry, &history);
        // One without a commit of its own has nothing that could be merged.
        report.merged_into = report.merged_into.filter(|_| sandbox.made_commits());
        report
    }

    /// Reports on one without asking git about it.
    pub fn at_a_glance(&self, sandbox: &Sandbox) -> Report {
        self.report(sandbox, self.processes.users_of(sandbox).ok(), None)
    }

    fn read(&self, sandbox: &Sandbox, trees: &Trees, beside_others: bool) -> Report {
        let users = self.processes.users_of(sandbox).ok();
        let idle = users.as_ref().is_some_and(Vec::is_empty);
        let ready = sandbox.state == State::Ready;
        if let Some(clean) = ready.then(|| trees.status(self.repo, sandbox)).flatten() {
            return Report {
                hidden_edits: Some(0),
                ..self.report(sandbox, users, Some(Ok(clean)))
            };
        }
        let status = ready.then(|| sandbox.status(&self.repo.git, idle, beside_others));
        let is_read = status.as_ref().is_some_and(Result::is_ok);
        let report = self.report(sandbox, users, status);
        if is_read { self.with_hidden_work(report, sandbox, idle) } else { report }
    }

    /// Adds what `git status` does not tell. Repositories are looked for near the top only. While a
    /// confined command may be at work, no git is started in them: it could change their config after we
    /// have read it.
    fn with_hidden_work(&self, report: Report, sandbox: &Sandbox, idle: bool) -> Report {
        let git = &self.repo.git;
        let index = Index::read(&sandbox.entry.join("index"), self.repo.id_length());
        let in_worktree = git.in_sandbox(&sandbox.path, &sandbox.entry);
        let hidden_edits = facts::hidden(&in_worktree, sandbox, index.as_ref()).ok();
        let may_ask = idle || !confined::is_there(&sandbox.entry);
        let has_work = |path: &Path| nested::has_work(git, &sandbox.path.join(path));
        let works = |path: &PathBuf| !may_ask || has_work(path).unwrap_or(true);
        let nested = nested::near_the_top(&sandbox.path).into_iter().filter(works);
        let nested_work = nested.map(|path| path.to_string_lossy().into_owned()).collect();
        Report { hidden_edits, nested_work, ..report }
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
            author: facts.author,
            created: facts.created,
            last_used,
            expires,
            problem: unknown.problem.or_else(|| unread.map(|why| format!("cannot tell: {why}"))),
            locked,
            run: RunReport::of(&sandbox.entry, self.now),
            in_use: users,
            changes: status.map(Changes::of),
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
