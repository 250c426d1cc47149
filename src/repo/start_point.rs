//! Where a new sandbox starts: its commit, and the branch that it stands for.

use std::ffi::OsStr;

use crate::error::{Error, Result};
use crate::repo::request::Pull;
use crate::repo::resolve::Target;
use crate::repo::{Repo, Worktrees};

/// The start of a new sandbox.
#[derive(Debug)]
pub struct Start {
    /// The commit that is checked out first.
    pub commit: String,
    /// The branch it came from, to be merged into one day.
    pub base: Option<String>,
}

impl Start {
    /// The branch's own commit if there is one, else `from`, else the current HEAD.
    pub fn of(
        repo: &Repo,
        from: Option<&OsStr>,
        target: &Target,
        worktrees: &Worktrees,
    ) -> Result<Start> {
        match (target, from) {
            (Target::Existing { branch, .. }, Some(_)) => {
                Err(from_existing(Some(branch), "already"))
            }
            (Target::Tracking { branch, .. }, Some(_)) => {
                Err(from_existing(Some(branch), "on a remote"))
            }
            (Target::Existing { commit, .. } | Target::Tracking { commit, .. }, None) => {
                Ok(Start { commit: commit.clone(), base: None })
            }
            (Target::Pull { pull, .. }, _) => Ok(Start { commit: pull.commit.clone(), base: None }),
            (_, Some(from)) => Start::at(repo, from),
            (_, None) => Start::at_head(repo, worktrees),
        }
    }

    fn at(repo: &Repo, from: &OsStr) -> Result<Start> {
        let mut peeled = from.to_owned();
        peeled.push("^{commit}");
        let verify = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
        let found = repo.git.call(verify).arg(peeled).ask()?;
        let commit = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        if !found.ok() || commit.is_empty() {
            return Err(Error::NoStart { commit: from.to_string_lossy().into_owned() });
        }
        let name = ["rev-parse", "--verify", "--quiet", "--symbolic-full-name", "--end-of-options"];
        let name = repo.git.call(name).arg(from).ask()?;
        let name = String::from_utf8_lossy(&name.stdout).trim().to_owned();
        let base = ["refs/heads/", "refs/remotes/"].iter().find_map(|lead| name.strip_prefix(lead));
        Ok(Start { commit, base: base.map(str::to_owned) })
    }

    fn at_head(repo: &Repo, worktrees: &Worktrees) -> Result<Start> {
        let linked = worktrees.linked.iter().find(|tree| tree.entry == repo.git_dir);
        let in_main = repo.git_dir == repo.common && !worktrees.main.bare;
        let main = in_main.then_some(&worktrees.main);
        let Some(record) = linked.map(|tree| &tree.record).or(main) else {
            // git does not list the HEAD of a bare repository.
            return match Start::at(repo, OsStr::new("HEAD")) {
                Err(Error::NoStart { .. }) => Err(Error::NoCommits),
                other => other,
            };
        };
        let commit = record.head.clone().ok_or(Error::NoCommits)?;
        let branch = record.branch.as_ref().map(|branch| branch.to_string_lossy());
        let base = branch.and_then(|branch| branch.strip_prefix("refs/heads/").map(str::to_owned));
        Ok(Start { commit, base })
    }

    /// How a sandbox was made, in a few words.
    pub fn how(&self, target: &Target, from: Option<&OsStr>) -> String {
        let short = &self.commit[..10.min(self.commit.len())];
        let text = |name: &OsStr| name.to_string_lossy().into_owned();
        let from = from.map(text).or_else(|| self.base.clone()).unwrap_or_else(|| short.to_owned());
        match target {
            Target::Existing { branch, .. } => format!("branch '{}'", text(branch)),
            Target::Tracking { branch, upstream, .. } => {
                let upstream = text(upstream).replacen("refs/remotes/", "", 1);
                format!("new branch '{}' following '{upstream}'", text(branch))
            }
            Target::Pull { branch, pull } => {
                let (branch, Pull { number, remote, .. }) = (text(branch), pull);
                format!("new branch '{branch}' for request {number} of '{remote}'")
            }
            Target::New { branch } => format!("new branch '{}' from '{from}'", text(branch)),
            Target::Detached => format!("detached at '{from}'"),
        }
    }
}

/// A branch that exists has its own start.
pub fn from_existing(branch: Option<&OsStr>, place: &str) -> Error {
    let branch = branch.unwrap_or_default().to_string_lossy().into_owned();
    Error::FromExisting { branch, place: place.to_owned() }
}
