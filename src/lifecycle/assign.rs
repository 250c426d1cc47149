//! Giving a task to an idle sandbox of a pool: one without a task, or one whose work is merged. It
//! starts afresh from its base. Nothing that is nowhere else is in it.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::git::Git;
use crate::repo::held::Held;
use crate::repo::{Repo, Worktrees, kept};
use crate::sandbox::in_use::{self, Processes};
use crate::sandbox::merged::{self, Merged, Standing};
use crate::sandbox::record::{self, Facts};
use crate::sandbox::{Sandbox, State, facts, runs, verdict};
use crate::sys::lock::Lock;
use crate::sys::{crash_point, random};

/// A sandbox that was given a task.
#[derive(Debug)]
pub struct Assigned {
    /// The sandbox.
    pub sandbox: Sandbox,
    base: String,
    kept: Option<String>,
}

impl Assigned {
    /// Where it starts, in words that follow its name.
    pub fn how(&self) -> String {
        match &self.kept {
            None => format!("at '{}'", self.base),
            Some(id) => {
                format!("at '{}'; its merged commits are kept in {}{id}", self.base, kept::KEPT)
            }
        }
    }
}

/// Gives a task to the next idle sandbox. The repository lock is held, by `git` as well.
pub fn next(
    repo: &Repo,
    git: &Git,
    worktrees: &Worktrees,
    sandboxes: &[Sandbox],
    task: &str,
) -> Result<Assigned> {
    let standings = merged::of_all(repo, &worktrees.main, sandboxes)?;
    let mut free: Vec<(&Sandbox, &Standing, Facts)> = sandboxes
        .iter()
        .filter(|sandbox| sandbox.managed && sandbox.state == State::Ready && !sandbox.detached)
        .filter_map(|sandbox| {
            let standing = standings.get(&sandbox.path)?;
            // One whose task cannot be read is not free.
            let recorded = record::to_change(&sandbox.entry).ok()?;
            is_free(sandbox, standing, &recorded).then_some((sandbox, standing, recorded))
        })
        .collect();
    // Those that wait for work come before those that are done with theirs.
    free.sort_by_key(|(sandbox, _, recorded)| (recorded.task.is_some(), sandbox.path.clone()));
    let processes = Processes::lazily();
    for (sandbox, standing, recorded) in free {
        let known = facts::facts(repo, worktrees, sandbox, &processes);
        let busy = runs::all(&sandbox.entry).iter().any(runs::Seen::is_live);
        if busy || !verdict::objections(&known).is_empty() {
            continue;
        }
        // What comes into use now is not taken.
        let Some(_own) = Lock::if_free(&in_use::lock_path(&sandbox.entry))? else { continue };
        return give(repo, git, sandbox, standing, recorded, task);
    }
    Err(Error::NoneIdle { task: task.to_owned() })
}

/// Whether nothing of it is missing in its base, and it has no task or is done with it.
fn is_free(sandbox: &Sandbox, standing: &Standing, recorded: &Facts) -> bool {
    let has_worked = match &recorded.afresh {
        Some(start) => sandbox.head.as_ref() != Some(start),
        None => sandbox.made_commits(),
    };
    standing.merged.is_some() && (recorded.task.is_none() || has_worked)
}

fn give(
    repo: &Repo,
    git: &Git,
    sandbox: &Sandbox,
    standing: &Standing,
    recorded: Facts,
    task: &str,
) -> Result<Assigned> {
    let head = sandbox.head.clone().unwrap_or_default();
    // What is there by content only may be there by mistake.
    let kept = match standing.merged {
        Some(Merged::ByContent) => {
            let id = format!("{}-{}", sandbox.name(), random::hex()?);
            let held = Held { commits: BTreeSet::from([head.clone()]), ..Held::default() };
            kept::keep_all(git, repo, &held, None, &id)?;
            Some(id)
        }
        _ => None,
    };
    crash_point::reached();
    if head != standing.commit {
        let git = git.in_sandbox(&sandbox.path, &sandbox.entry);
        let words = ["reset", "--keep", "--quiet", "--no-recurse-submodules", &standing.commit];
        git.call(words).arg("--").done("start afresh")?;
    }
    crash_point::reached();
    runs::record::release(&sandbox.entry)?;
    let afresh = Some(standing.commit.clone());
    let facts = Facts { task: Some(task.to_owned()), afresh, ..recorded };
    record::write_synced(&sandbox.entry, &facts)?;
    Ok(Assigned { sandbox: sandbox.clone(), base: standing.base.clone(), kept })
}
