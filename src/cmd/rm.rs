//! `git sandbox rm`

use serde::Serialize;

use std::collections::BTreeSet;

use super::Here;
use crate::args::Args;
use crate::background;
use crate::base::{Base, Bases};
use crate::error::{Error, Result, shell_word};
use crate::gather;
use crate::keep::{self, Unreached};
use crate::live::{self, Processes};
use crate::lock::Lock;
use crate::merged;
use crate::out::Out;
use crate::repo::Repo;
use crate::sandbox::{self, Sandbox, State};
use crate::spec::{DELETE_BRANCH, DRY_RUN, FORCE, JSON};
use crate::time::counted;
use crate::verdict::{self, ONLY_HERE, Yields};

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    let (repo, lock) = if args.has(&DRY_RUN) {
        (Repo::to_look_at()?, None)
    } else {
        let (repo, lock) = Repo::to_change(*out)?;
        (repo, Some(lock))
    };
    let processes = Processes::at_once();
    let mut here = match &lock {
        Some(lock) => Here::holding(lock, repo, args, out)?,
        None => Here::of(repo, args, out)?,
    };
    background::tell(&here.place.root, *out);
    let (targets, unknown) = targets(args, &here.sandboxes)?;
    let mut answers: Vec<Answer> = unknown.iter().map(|word| Answer::skipped(word)).collect();
    let mut code = 0;
    for (number, sandbox) in targets.iter().enumerate() {
        let remover = Remover {
            args,
            here: &here,
            lock: lock.as_ref(),
            processes: &processes,
            merged_into: None,
            out: *out,
        };
        let answer = remover.remove(sandbox).unwrap_or_else(|error| {
            out.error(&error);
            let why = if let Error::Refused { why, .. } = error { why } else { error.to_string() };
            Answer::of(sandbox, "kept", why)
        });
        if answer.action == "kept" || answer.incomplete {
            code = 1;
        }
        let changed = answer.action == "trashed";
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
pub struct Answer {
    name: String,
    path: Option<String>,
    action: &'static str,
    reason: String,
    #[serde(skip)]
    pub incomplete: bool,
}

impl Answer {
    fn of(sandbox: &Sandbox, action: &'static str, reason: String) -> Answer {
        let path = Some(sandbox.path.to_string_lossy().into_owned());
        Answer { name: sandbox.name(), path, action, reason, incomplete: false }
    }

    fn skipped(word: &str) -> Answer {
        let reason = "no sandbox is called so".to_owned();
        Answer { name: word.to_owned(), path: None, action: "skipped", reason, incomplete: false }
    }
}

/// Every name, resolved before anything happens; those that mean nothing, if forced.
fn targets(args: &Args, sandboxes: &[Sandbox]) -> Result<(Vec<Sandbox>, Vec<String>)> {
    let (mut targets, mut unknown): (Vec<Sandbox>, _) = (Vec::new(), Vec::new());
    for word in &args.operands {
        match sandbox::find(sandboxes, word) {
            Ok(sandbox) if targets.iter().any(|target| target.path == sandbox.path) => {}
            Ok(sandbox) => targets.push(sandbox.clone()),
            Err(Error::UnknownSandbox { name, .. }) if args.has(&FORCE) => unknown.push(name),
            Err(error) => return Err(error),
        }
    }
    Ok((targets, unknown))
}

/// Removes one sandbox by the verdict, as `rm` with these options would. After a merge, its branch may
/// go if that base has it.
pub fn remove(
    args: &Args,
    here: &Here,
    lock: Option<&Lock>,
    sandbox: &Sandbox,
    merged_into: Option<&Base>,
    out: Out,
) -> Result<Answer> {
    let processes = Processes::lazily();
    Remover { args, here, lock, processes: &processes, merged_into, out }.remove(sandbox)
}

struct Remover<'a> {
    args: &'a Args,
    here: &'a Here,
    lock: Option<&'a Lock>,
    processes: &'a Processes,
    merged_into: Option<&'a Base>,
    out: Out,
}

impl Remover<'_> {
    fn remove(&self, sandbox: &Sandbox) -> Result<Answer> {
        let (name, force) = (sandbox.name(), self.args.times(&FORCE));
        let here = self.here;
        let facts = gather::facts(&here.repo, &here.worktrees, sandbox, self.processes);
        if let Some((why, yields)) = verdict::refusal(&facts, force) {
            let force = match yields {
                Yields::Once => Some("--force"),
                Yields::Twice => Some("--force --force"),
                Yields::Never => None,
            };
            return Err(Error::Refused { name, why, force });
        }
        let holds = verdict::holds(&facts);
        let words = |holds: &[String]| match holds {
            [] => "nothing to lose".to_owned(),
            some => some.join(", "),
        };
        let reason = words(&holds);
        let Some(lock) = self.lock else {
            self.out.note(&format!("would remove '{name}' ({reason})"));
            return Ok(Answer::of(sandbox, "would-trash", reason));
        };
        let trash = here.trash(lock);
        if sandbox.state == State::Missing {
            let kept = trash.forget(sandbox)?;
            self.out.note(&format!("removed '{name}', whose folder was gone"));
            if let Some(kept) = kept {
                self.out.note(&kept);
            }
            return Ok(Answer::of(sandbox, "purged", "its folder was gone".into()));
        }
        let own = Lock::if_free(&live::lock_path(&sandbox.entry))?;
        if own.is_none() && force < 2 {
            let why = "it has just come into use".to_owned();
            return Err(Error::Refused { name, why, force: Some("--force --force") });
        }
        let merged = self.merged_into.map(|base| format!("merged into '{}'", base.name));
        let why = merged.unwrap_or_else(|| "removed by hand".to_owned());
        let removed = trash.remove(sandbox, &facts, &why)?;
        drop(own);
        let id = shell_word(&removed.id);
        let files: Vec<String> =
            holds.into_iter().filter(|held| !held.ends_with(ONLY_HERE)).collect();
        let held = words(&files);
        self.out.note(&format!("removed '{name}' ({held}); undo with: git sandbox restore {id}"));
        if removed.only_here > 0 {
            let commits = counted(removed.only_here, "commit");
            self.out.note(&format!("kept {commits}{ONLY_HERE} in {}{}", keep::KEPT, removed.id));
        }
        if let Some(branch) = removed.reserved {
            self.out.note(&format!("branch '{branch}' stays reserved until it is restored"));
        }
        let mut answer = Answer::of(sandbox, "trashed", reason);
        if self.args.has(&DELETE_BRANCH) {
            answer.incomplete = !self.delete_branch(sandbox, lock, &removed.id)?;
        }
        Ok(answer)
    }

    /// Deletes the branch if its base or upstream has every commit of it, or its base all its changes;
    /// then its commits are kept. Its config stays, so that restore gives back all of it.
    fn delete_branch(&self, sandbox: &Sandbox, lock: &Lock, id: &str) -> Result<bool> {
        let (Some(branch), Some(head)) = (sandbox.branch_text(), &sandbox.head) else {
            return Ok(true);
        };
        let stays = |why: &str| {
            self.out.warn(&format!("branch '{branch}' stays: {why}"));
            Ok(false)
        };
        if self.here.is_on(sandbox.branch.as_deref(), &sandbox.entry) {
            return stays("another worktree is on it");
        }
        if sandbox.detached {
            return stays("an operation in progress holds it");
        }
        let full = format!("refs/heads/{branch}");
        let git = self.here.repo.git.at(&self.here.repo.common).holding(lock.file());
        let (repo, main) = (&self.here.repo, &self.here.worktrees.main);
        let recorded = crate::record::read(&sandbox.entry).base;
        let known = recorded.as_deref().into_iter().chain([branch.as_str()]);
        let bases = Bases::read(repo, main, known.map(Some))?;
        // Where none was recorded, the default branch is too little to delete by.
        let base = recorded.as_deref().and_then(|base| bases.of(Some(base)));
        let base = self.merged_into.or(base);
        let base = base.filter(|base| base.branch.name != full);
        let upstream = bases.of(Some(&branch)).and_then(|own| own.upstream.as_ref());
        let homes = base.into_iter().flat_map(Base::both).chain(upstream);
        let homes: Vec<&str> = homes.map(|home| home.commit.as_str()).collect();
        let alone = BTreeSet::from([head.clone()]);
        let reached = !homes.is_empty()
            && !Unreached::outside(&git, &repo.common, &alone, &homes)?.contains(head);
        if !reached {
            let merged = base.map(|base| merged::is_in(repo, head, base)).transpose()?.flatten();
            if merged.is_none() {
                return stays("it has commits that are on neither its base nor its upstream");
            }
            // What is there by content only may be there by mistake.
            keep::keep_commit(&git, &repo.common, head, id)?;
            self.out.note(&format!("kept its commits in {}{id}", keep::KEPT));
        }
        git.call(["update-ref", "-d", &full, head]).done("delete the branch")?;
        self.out.note(&format!("deleted branch '{branch}'"));
        Ok(true)
    }
}
