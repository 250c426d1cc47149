//! The commands of `sandbox.teardown`, which are run in a sandbox before it goes.

use crate::error::Result;
use crate::repo::{Repo, Worktrees};
use crate::sandbox::verdict::Objection;
use crate::sandbox::{Sandbox, State, record};
use crate::session::Session;

/// Whether there is a command to run in a sandbox.
pub fn is_wanted(repo: &Repo, sandbox: &Sandbox) -> bool {
    sandbox.state == State::Ready && commands(repo).next().is_some()
}

fn commands(repo: &Repo) -> impl Iterator<Item = &str> {
    repo.config.all("sandbox.teardown").filter(|value| !value.trim().is_empty())
}

/// Runs them one after the other. The first that fails is an objection.
pub fn run(repo: &Repo, worktrees: &Worktrees, sandbox: &Sandbox) -> Result<Option<Objection>> {
    let session = Session {
        git: &repo.git,
        name: sandbox.name(),
        path: &sandbox.path,
        entry: &sandbox.entry,
        branch: sandbox.branch.clone(),
        main: &worktrees.main.path,
        task: record::read(&sandbox.entry).task,
        author: None,
        beacon: None,
        walls: None,
        container: None,
    };
    for command in commands(repo) {
        let code = session.configured(command)?;
        if code != 0 {
            return Ok(Some(Objection::Teardown { command: command.to_owned(), code }));
        }
    }
    Ok(None)
}
