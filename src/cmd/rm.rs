//! `git sandbox rm`

use std::path::Path;

use serde::Serialize;

use crate::cli::args::Args;
use crate::cli::spec::{DELETE_BRANCH, DRY_RUN, FORCE, JSON};
use crate::cmd::context::{Here, lock_repo, removed};
use crate::error::{Error, Result};
use crate::lifecycle::background;
use crate::lifecycle::remove::{Outcome, Remover, Wish};
use crate::repo::Repo;
use crate::sandbox::in_use::Processes;
use crate::sandbox::journal::Why;
use crate::sandbox::{Sandbox, named};
use crate::ui::out::Out;

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    let (repo, lock) = match args.has(&DRY_RUN) {
        true => (Repo::to_look_at()?, None),
        false => lock_repo(*out).map(|(repo, lock)| (repo, Some(lock)))?,
    };
    let processes = Processes::at_once();
    let mut here = match &lock {
        Some(lock) => Here::holding(lock, repo, args, out)?,
        None => Here::of(repo, args, out)?,
    };
    background::tell(&here.place.root, *out);
    let (targets, unknown) = targets(args, &here)?;
    let mut answers: Vec<Answer> = unknown.iter().map(|word| Answer::skipped(word)).collect();
    let mut code = 0;
    for (number, sandbox) in targets.iter().enumerate() {
        let trash = here.trash_for_reading(lock.as_ref());
        let remover = Remover {
            trash: &trash,
            worktrees: &here.worktrees,
            lock: lock.as_ref(),
            processes: &processes,
        };
        let wish = Wish {
            force: args.times(&FORCE),
            why: Why::ByHand,
            delete_branch: args.has(&DELETE_BRANCH),
            merged_into: None,
        };
        let outcome = remover.remove(sandbox, &wish);
        let changed = matches!(outcome, Ok(Outcome::Trashed(_)));
        let (answer, failed) = told(sandbox, outcome, &here.worktrees.main.path, *out);
        code |= u8::from(failed);
        answers.push(answer);
        // What was inside one that went may have been in the way of the next.
        if changed && number + 1 < targets.len() {
            here = Here::of(here.repo, args, out)?;
        }
    }
    if args.has(&JSON) {
        out.answer_json(&answers)?;
    }
    Ok(code)
}

/// What became of one target.
#[derive(Serialize)]
struct Answer {
    name: String,
    path: Option<String>,
    action: &'static str,
    reason: String,
}

impl Answer {
    fn of(sandbox: &Sandbox, action: &'static str, reason: String) -> Answer {
        let path = Some(sandbox.path.to_string_lossy().into_owned());
        Answer { name: sandbox.name(), path, action, reason }
    }

    fn skipped(word: &str) -> Answer {
        let reason = "no sandbox is called so".to_owned();
        Answer { name: word.to_owned(), path: None, action: "skipped", reason }
    }
}

/// Resolves every name before anything happens. Unknown names are an error unless forced; the main
/// worktree always is.
fn targets(args: &Args, here: &Here) -> Result<(Vec<Sandbox>, Vec<String>)> {
    let (mut targets, mut unknown): (Vec<Sandbox>, _) = (Vec::new(), Vec::new());
    for word in &args.operands {
        match here.get(word) {
            Ok(sandbox) if targets.iter().any(|target| target.path == sandbox.path) => {}
            Ok(sandbox) => targets.push(sandbox.clone()),
            Err(Error::UnknownSandbox { name, .. }) if named::is_main(word, &here.worktrees) => {
                return Err(Error::MainWorktree { name });
            }
            Err(Error::UnknownSandbox { name, .. } | Error::InTrash { name, .. })
                if args.has(&FORCE) =>
            {
                unknown.push(name);
            }
            Err(error) => return Err(error),
        }
    }
    Ok((targets, unknown))
}

/// Says what became of a sandbox. Returns whether `rm` failed by it.
fn told(sandbox: &Sandbox, outcome: Result<Outcome>, main: &Path, out: Out) -> (Answer, bool) {
    match outcome {
        Ok(Outcome::Refused(refusal)) => {
            out.error(&removed::refused(sandbox, &refusal, main));
            (Answer::of(sandbox, "kept", refusal.to_string()), true)
        }
        Ok(Outcome::Would { holds, branch }) => {
            let held = removed::held(&holds);
            removed::say_would(sandbox, &holds, out);
            if let Some(branch) = &branch {
                removed::say_would_branch(branch, out);
            }
            let incomplete = branch.is_some_and(|branch| !branch.fate.goes());
            (Answer::of(sandbox, "would-trash", held), incomplete)
        }
        Ok(Outcome::Forgotten(forgotten)) => {
            removed::say_forgotten(sandbox, &forgotten, out);
            (Answer::of(sandbox, "trashed", Why::FolderGone.to_string()), false)
        }
        Ok(Outcome::Trashed(trashed)) => {
            removed::say_trashed(sandbox, &trashed, out);
            let answer = Answer::of(sandbox, "trashed", removed::held(&trashed.holds));
            (answer, trashed.branch.is_some_and(|branch| !branch.fate.goes()))
        }
        Err(error) => {
            out.error(&error);
            (Answer::of(sandbox, "kept", error.to_string()), true)
        }
    }
}
