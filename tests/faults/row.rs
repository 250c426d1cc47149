//! A command that is disturbed: what it starts from, its words, and what a disturbed run is compared with.

use std::fs::File;
use std::process::Command;

use super::git;
use super::state::state;
use crate::fixture::Test;
use crate::fixture::again::Template;
use crate::fixture::built::program_word;
use crate::fixture::process::finished;
use crate::fixture::time::after;

/// One command that changes something.
pub struct Row {
    /// The name, by which the default selection differs from that of other rows.
    pub name: &'static str,
    /// Makes a home in which the command has something to do.
    pub setup: fn() -> Test,
    /// What is typed after `git sandbox`.
    pub words: &'static [&'static str],
    /// How many days after [`NOW`](crate::fixture::NOW) it is typed.
    pub day: i64,
    /// What is typed afterwards; where it leads must be equal too. For what the state does not show: an item of
    /// the vault is compared by being restored.
    pub proof: &'static [&'static str],
    /// What a hint may say to type instead of the same again.
    pub hinted: &'static [&'static str],
    /// Failures after which it may come to another end: a part of the call that failed, and why.
    pub excused: &'static [(&'static str, &'static str)],
}

/// A row to build others from.
pub const ROW: Row =
    Row { name: "", setup: Test::new, words: &[], day: 0, proof: &[], hinted: &[], excused: &[] };

/// How a run ended.
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// A row in a home of its own.
pub struct Scene<'a> {
    pub row: &'a Row,
    pub test: Test,
    /// A PATH with a git that can be told to fail.
    pub path: String,
    template: Template,
    job: Option<File>,
}

impl Scene<'_> {
    /// Makes the home.
    #[track_caller]
    pub fn of(row: &Row) -> Scene<'_> {
        let test = (row.setup)();
        let path = test.fake_git(git::SCRIPT);
        let template = Template::of(&test);
        Scene { row, test, path, template, job: None }
    }

    /// Brings the home back to how it was. The background job that makes spares does not start, since its lock is
    /// held.
    #[track_caller]
    pub fn again(&mut self) {
        if let Some(job) = self.job.take() {
            job.unlock().unwrap();
        }
        self.template.bring_back(&self.test);
        let job = self.test.app().join(".git/sandbox-spares.lock");
        if job.exists() {
            let job = File::open(job).unwrap();
            job.lock().unwrap();
            self.job = Some(job);
        }
    }

    /// Returns the command that starts `git-sandbox` with these words, behind those of another program.
    pub fn command(&self, before: &[&str], words: &[&str]) -> Command {
        let all = [before, &[program_word()], words].concat();
        let mut command = self.test.command(all[0], &self.test.app());
        command.args(&all[1..]).env("GIT_SANDBOX_NOW", after(self.row.day));
        command
    }

    /// Runs `git-sandbox` with these words.
    #[track_caller]
    pub fn run(&self, words: &[&str]) -> Ended {
        ended(self.command(&[], words))
    }

    /// Types the row's proof, if it has one. Returns the state after it.
    #[track_caller]
    pub fn proven(&self) -> String {
        if self.row.proof.is_empty() {
            return String::new();
        }
        let Ended { code, stderr, .. } = self.run(self.row.proof);
        match code {
            Some(0) => state(&self.test),
            _ => stderr,
        }
    }
}

/// Runs a command to its end.
#[track_caller]
pub fn ended(mut command: Command) -> Ended {
    let output = finished(&mut command);
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
