//! `git sandbox rm`

use serde::Serialize;

use super::Here;
use crate::args::Args;
use crate::background;
use crate::error::{Error, Result, shell_word};
use crate::gather;
use crate::keep;
use crate::live::{self, Processes};
use crate::lock::Lock;
use crate::out::Out;
use crate::repo::Repo;
use crate::sandbox::{self, Sandbox, State};
use crate::spec::{DELETE_BRANCH, DRY_RUN, FORCE, JSON};
use crate::time::counted;
use crate::verdict::{self, Yields};

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    let repo = Repo::discover()?;
    let dry = args.has(&DRY_RUN);
    let (here, lock) = if dry {
        (Here::of(repo, args, out)?, None)
    } else {
        let (here, lock) = Here::locked(repo, args, out)?;
        (here, Some(lock))
    };
    background::tell(&here.place.root, *out);
    let (targets, unknown) = targets(args, &here.sandboxes)?;
    let processes = Processes::lazily();
    let mut answers: Vec<Answer> = unknown.iter().map(|word| Answer::skipped(word)).collect();
    let mut code = 0;
    for sandbox in targets {
        let remover =
            Remover { args, here: &here, lock: lock.as_ref(), processes: &processes, out: *out };
        let answer = remover.remove(sandbox).unwrap_or_else(|error| {
            out.error(&error);
            let why = if let Error::Refused { why, .. } = error { why } else { error.to_string() };
            Answer::of(sandbox, "kept", why)
        });
        if answer.action == "kept" || answer.incomplete {
            code = 1;
        }
        answers.push(answer);
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
    #[serde(skip)]
    incomplete: bool,
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
fn targets<'a>(args: &Args, sandboxes: &'a [Sandbox]) -> Result<(Vec<&'a Sandbox>, Vec<String>)> {
    let (mut targets, mut unknown): (Vec<&Sandbox>, _) = (Vec::new(), Vec::new());
    for word in &args.operands {
        match sandbox::find(sandboxes, word) {
            Ok(sandbox) if targets.iter().any(|target| target.path == sandbox.path) => {}
            Ok(sandbox) => targets.push(sandbox),
            Err(Error::UnknownSandbox { name, .. }) if args.has(&FORCE) => unknown.push(name),
            Err(error) => return Err(error),
        }
    }
    Ok((targets, unknown))
}

struct Remover<'a> {
    args: &'a Args,
    here: &'a Here,
    lock: Option<&'a Lock>,
    processes: &'a Processes,
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
        let work = verdict::work(&facts).join(", ");
        let reason = if work.is_empty() { "nothing to lose".into() } else { work };
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
        let removed = trash.remove(sandbox, &facts, "removed by hand")?;
        drop(own);
        let id = shell_word(&removed.id);
        self.out.note(&format!("removed '{name}' ({reason}); undo with: git sandbox restore {id}"));
        if removed.only_here > 0 {
            let commits = counted(removed.only_here, "commit");
            self.out.note(&format!("kept {commits} only here in {}{}", keep::KEPT, removed.id));
        }
        if let Some(branch) = removed.reserved {
            self.out.note(&format!("branch '{branch}' stays reserved until it is restored"));
        }
        let mut answer = Answer::of(sandbox, "trashed", reason);
        if self.args.has(&DELETE_BRANCH) {
            answer.incomplete = !self.delete_branch(sandbox, lock)?;
        }
        Ok(answer)
    }

    /// Deletes the branch if its base or upstream has every commit of it. Its config stays, so that
    /// restore gives back all of it.
    fn delete_branch(&self, sandbox: &Sandbox, lock: &Lock) -> Result<bool> {
        let (Some(branch), Some(head)) = (sandbox.branch_text(), &sandbox.head) else {
            return Ok(true);
        };
        let full = format!("refs/heads/{branch}");
        let git = self.here.repo.git.at(&self.here.repo.common).holding(lock.file());
        let verify = |name: &str| {
            let answer =
                git.look(["rev-parse", "--verify", "--quiet", "--end-of-options", name]).ask();
            answer.is_ok_and(|answer| answer.ok())
        };
        let base = crate::record::read(&sandbox.entry).base;
        let bases = base
            .iter()
            .flat_map(|base| [format!("refs/heads/{base}"), format!("refs/remotes/{base}")]);
        let homes = bases.chain([format!("{full}@{{upstream}}")]);
        let homes: Vec<String> = homes.filter(|name| *name != full && verify(name)).collect();
        let merged = !homes.is_empty() && {
            let call = git.look(["rev-list", "-1", head, "--not"]).args(&homes).arg("--");
            call.read("compare the branch")?.is_empty()
        };
        if !merged {
            self.out.warn(&format!(
                "branch '{branch}' stays: it has commits that are on neither its base nor its upstream"
            ));
            return Ok(false);
        }
        git.call(["update-ref", "-d", &full, head]).done("delete the branch")?;
        self.out.note(&format!("deleted branch '{branch}'"));
        Ok(true)
    }
}
