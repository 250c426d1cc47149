//! Sandboxes side by side: what can be told at once, and what is filled in as it is read.

use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::repo::Repo;
use crate::sandbox::Sandbox;
use crate::sandbox::history::History;
use crate::sandbox::report::Report;
use crate::sandbox::reporter::Reporter;

/// One sandbox.
#[derive(Clone, Debug)]
pub struct Row {
    /// What is known about it so far.
    pub report: Report,
    /// Whether we are in it.
    pub is_current: bool,
    /// Whether its files were looked at.
    pub is_read: bool,
    /// Whether it was compared with its base.
    pub is_compared: bool,
    /// Whether commits were made in it.
    pub made_commits: bool,
    path: PathBuf,
    entry: PathBuf,
}

impl From<Report> for Row {
    /// A row about which nothing more will be known.
    fn from(report: Report) -> Row {
        Row {
            report,
            is_current: false,
            is_read: true,
            is_compared: true,
            made_commits: false,
            path: PathBuf::new(),
            entry: PathBuf::new(),
        }
    }
}

impl AsRef<Report> for Row {
    fn as_ref(&self) -> &Report {
        &self.report
    }
}

impl Row {
    /// Whether its base has all its work.
    pub fn is_merged(&self) -> bool {
        // Where a branch was pushed to says nothing about its base.
        let clean = Report { unpushed: None, ..self.report.clone() }.is_clean();
        self.made_commits && clean && self.report.merged == Some(true)
    }
}

/// How long a table may take to be shown complete instead of in parts.
const PATIENCE: Duration = Duration::from_millis(80);
/// How often it is shown anew at most.
const PAUSE: Duration = Duration::from_millis(50);

enum Event {
    Read(PathBuf, Box<Report>),
    Compared(Box<History>),
}

/// Gathers the rows of all sandboxes. While that takes long, what is known so far is shown.
pub fn gather(
    reporter: &Reporter,
    repo: &Repo,
    sandboxes: &[Sandbox],
    mut show: impl FnMut(&[Row]) -> Result<()>,
) -> Result<Vec<Row>> {
    let started = Instant::now();
    let mut rows: Vec<Row> = sandboxes.iter().map(|it| at_a_glance(reporter, repo, it)).collect();
    thread::scope(|scope| {
        let (events, heard) = mpsc::channel();
        let compared = events.clone();
        scope.spawn(move || {
            let history = History::to_bases(reporter.repo, reporter.main, sandboxes);
            let _ = compared.send(Event::Compared(Box::new(history)));
        });
        scope.spawn(move || {
            let _ = reporter.each(sandboxes, |sandbox, report| {
                let _ = events.send(Event::Read(sandbox.path.clone(), Box::new(report)));
                Ok(())
            });
        });
        let (mut history, mut due, mut changed) = (None, started + PATIENCE, true);
        loop {
            match heard.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(Event::Read(path, report)) => {
                    if let Some(row) = rows.iter_mut().find(|row| row.path == path) {
                        row.report = *report;
                        row.is_read = true;
                    }
                    changed = true;
                }
                Ok(Event::Compared(it)) => history = Some(it),
                Err(RecvTimeoutError::Timeout) if changed => {
                    show(&rows)?;
                    (due, changed) = (Instant::now() + PAUSE, false);
                }
                Err(RecvTimeoutError::Timeout) => due = Instant::now() + PAUSE,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        complete(reporter, &mut rows, &history.unwrap_or_default());
        Ok(rows)
    })
}

fn at_a_glance(reporter: &Reporter, repo: &Repo, sandbox: &Sandbox) -> Row {
    Row {
        report: reporter.at_a_glance(sandbox),
        is_current: sandbox.entry == repo.git_dir,
        is_read: false,
        is_compared: false,
        made_commits: sandbox.made_commits(),
        path: sandbox.path.clone(),
        entry: sandbox.entry.clone(),
    }
}

fn complete(reporter: &Reporter, rows: &mut [Row], history: &History) {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let share = rows.len().div_ceil(cores).max(1);
    thread::scope(|scope| {
        for rows in rows.chunks_mut(share) {
            scope.spawn(move || {
                for row in rows {
                    reporter.complete(&mut row.report, &row.path, &row.entry, history);
                    row.is_compared = true;
                }
            });
        }
    });
}
