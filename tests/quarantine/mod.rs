//! The quarantine of confined commands by itself: made, refreshed, taken over, carried along. No walls
//! are needed here: git is led into the quarantine by its variables.

mod carried;
mod container;
mod crash;
mod faults;
mod hostile;
mod moved;
mod outcome;
mod stays;

use std::path::{Path, PathBuf};

use crate::fixture::Test;
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::entry;

/// A sandbox `box` with a quarantine.
pub struct Confined {
    pub test: Test,
    /// The sandbox's folder.
    path: PathBuf,
}

impl Confined {
    #[track_caller]
    pub fn new() -> Confined {
        Confined::of(Format::Files).unwrap()
    }

    /// In a repository of some format; `None` if this git does not know it.
    #[track_caller]
    fn of(format: Format) -> Option<Confined> {
        let test = repository(format)?;
        let path = test.new_sandbox(&["box"]);
        let confined = Confined { test, path };
        confined.prepare();
        Some(confined)
    }

    /// Makes the quarantine, or brings it up to date, as every confined command does first.
    #[track_caller]
    fn prepare(&self) {
        succeeds(self.test.run(&["show", "--mounts", "box"]));
    }

    fn entry(&self) -> PathBuf {
        entry(&self.test, &self.path)
    }

    fn dir(&self) -> PathBuf {
        self.entry().join("confined")
    }

    fn private(&self) -> PathBuf {
        self.dir().join("worktrees").join(self.entry().file_name().unwrap())
    }

    /// Runs git as a confined command does; it must succeed.
    #[track_caller]
    fn git(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {words:?}: {said}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    fn command(&self, words: &[&str]) -> std::process::Command {
        let common = self.test.git(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let mut command = self.test.command("git", &self.path);
        command
            .args(words)
            .env("GIT_DIR", self.private())
            .env("GIT_WORK_TREE", &self.path)
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", Path::new(&common).join("objects"));
        command
    }

    /// Makes a commit inside. Returns its id.
    #[track_caller]
    pub fn commit(&self, file: &str, text: &str) -> String {
        crate::fixture::files::write(&self.path.join(file), text);
        self.git(&["add", "--", file]);
        self.git(&["commit", "--quiet", "-m", file]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// The commit of a ref outside.
    #[track_caller]
    fn outside(&self, name: &str) -> String {
        self.test.git(&["rev-parse", name])
    }

    /// Looks, which takes over what there is. Returns what was said.
    #[track_caller]
    fn look(&self) -> String {
        let output = self.test.run(&["list", "--names"]).output();
        assert_eq!(output.status.code(), Some(0));
        let output = self.test.run(&["show", "box", "--json"]).output();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stderr).unwrap()
    }
}

/// What is said of commits that were taken.
fn took(count: &str, from: &str, to: &str) -> String {
    format!("took {count} into branch 'box' ({}..{})\n", &from[..7], &to[..7])
}
