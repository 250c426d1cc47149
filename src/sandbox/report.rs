//! What can be told about one sandbox, for people and as JSON.

use std::ffi::OsStr;
use std::path::Path;

use serde::Serialize;

use crate::git::porcelain::Status;
use crate::sandbox::Sandbox;
use crate::sandbox::divergence::Diff;
use crate::sandbox::history::Told;
use crate::sandbox::in_use::User;
use crate::sandbox::runs::report::RunReport;
use crate::sys::clock::{self, Time};
use crate::ui::words;

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
    pub author: Option<String>,
    pub created: Option<String>,
    #[serde(serialize_with = "clock::as_rfc3339")]
    pub last_used: Option<Time>,
    #[serde(serialize_with = "clock::as_rfc3339")]
    pub expires: Option<Time>,
    pub class: &'static str,
    pub state: &'static str,
    pub problem: Option<String>,
    pub managed: bool,
    pub locked: Option<String>,
    pub in_use: Option<Vec<User>>,
    pub changes: Option<Changes>,
    /// Edits of files that git was told not to look at.
    pub hidden_edits: Option<u64>,
    /// Repositories in it that hold work of their own.
    pub nested_work: Vec<String>,
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
    pub base_ahead: Option<u64>,
    pub base_behind: Option<u64>,
    pub diff: Option<Diff>,
    /// Where it left its base.
    #[serde(skip)]
    pub fork: Option<String>,
    /// The subject of its newest commit, if it has one beyond its base.
    pub subject: Option<String>,
    pub run: Option<RunReport>,
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

impl Changes {
    /// Counts what git status tells.
    pub fn of(status: &Status) -> Changes {
        Changes {
            staged: status.staged,
            unstaged: status.unstaged,
            untracked: status.untracked,
            conflicted: status.conflicted,
            files: status.changes(),
        }
    }
}

impl AsRef<Report> for Report {
    fn as_ref(&self) -> &Report {
        self
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
            author: None,
            created: None,
            last_used: None,
            expires: None,
            class: sandbox.class().word(),
            state: sandbox.state.word(),
            problem: sandbox.state.problem(),
            managed: sandbox.managed,
            locked: None,
            in_use: None,
            changes: None,
            hidden_edits: None,
            nested_work: Vec::new(),
            operation: None,
            upstream: None,
            ahead: None,
            behind: None,
            unpushed: None,
            only_here: None,
            merged: None,
            merged_into: None,
            base_ahead: None,
            base_behind: None,
            diff: None,
            fork: None,
            subject: None,
            run: None,
        }
    }

    /// Adds what the commits tell.
    pub fn add(&mut self, told: Told) {
        let Told { unpushed, only_here, merged, merged_into, divergence } = told;
        (self.unpushed, self.only_here) = (unpushed.or(self.unpushed), only_here);
        (self.merged, self.merged_into) = (merged, merged_into);
        if let Some(divergence) = divergence {
            self.base_ahead = Some(divergence.ahead);
            self.base_behind = Some(divergence.behind);
            (self.diff, self.fork) = (divergence.diff, divergence.fork);
            self.subject = divergence.subject;
        }
    }

    /// Whether a command that failed waits to be started again.
    pub fn waits(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.retry.is_some())
    }

    /// Whether it is ready, and nothing in it is only here.
    pub fn is_clean(&self) -> bool {
        let files = self.changes.as_ref().map(|changes| changes.files);
        self.state == "ready" && files == Some(0) && self.holds_nothing()
    }

    /// Whether nothing was found that is only here, but for changes.
    pub fn holds_nothing(&self) -> bool {
        self.operation.is_none()
            && self.hidden_edits.unwrap_or(0) == 0
            && self.nested_work.is_empty()
            && self.unpushed.unwrap_or(0) == 0
    }

    /// The state in a few words, for people.
    pub fn in_words(&self) -> String {
        let mut words = Vec::new();
        match (&self.state, &self.changes) {
            (&"ready", None) => words.push("cannot tell".to_owned()),
            (&"ready", Some(changes)) if changes.files > 0 => {
                words.push(words::counted(changes.files, "change"));
            }
            (&"ready", Some(_)) if self.holds_nothing() => words.push("clean".to_owned()),
            (&"ready", Some(_)) => {}
            (state, _) => words.push((*state).to_owned()),
        }
        let hidden = self.hidden_edits.filter(|count| *count > 0);
        words.extend(hidden.map(|count| words::counted(count, "hidden edit")));
        words.extend(self.nested_work.iter().map(|path| format!("unsaved work in '{path}'")));
        let unpushed = self.unpushed.filter(|count| *count > 0);
        words.extend(unpushed.map(|count| format!("{count} unpushed")));
        words.extend(self.operation.map(str::to_owned));
        words.extend(self.run.as_ref().map(|run| run.words.clone()));
        let users = self.in_use.as_deref().unwrap_or_default();
        // Those of a run are told of by its name.
        let known = self.run.as_ref().is_some_and(|run| run.state == "running");
        words.extend(users.first().filter(|_| !known).map(|user| match users.len() {
            1 => format!("in use by {}", user.in_words()),
            count => format!("in use by {} and {} more", user.in_words(), count - 1),
        }));
        words.extend(self.locked.is_some().then(|| "locked".to_owned()));
        words.extend((!self.managed && self.state != "orphan").then(|| "external".to_owned()));
        words.join(", ")
    }
}
