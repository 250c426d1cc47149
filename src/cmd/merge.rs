//! `git sandbox merge`

use serde::Serialize;

use super::{Here, rm};
use crate::args::Args;
use crate::base::{self, Base};
use crate::error::{Error, Result, shell_word};
use crate::gather;
use crate::keep;
use crate::live::{self, Processes};
use crate::lock::Lock;
use crate::merge::{self, How, Merge, Plan};
use crate::out::Out;
use crate::record;
use crate::repo::Repo;
use crate::resolve;
use crate::sandbox::{Sandbox, State};
use crate::spec::{
    AS_BRANCH, DELETE_BRANCH, DRY_RUN, FF_ONLY, INTO, JSON, KEEP, MESSAGE, REBASE, SQUASH,
};
use crate::verdict;

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    args.at_most_one(&[&FF_ONLY, &SQUASH, &REBASE])?;
    args.at_most_one(&[&KEEP, &DELETE_BRANCH])?;
    args.at_most_one(&[&MESSAGE, &FF_ONLY])?;
    args.at_most_one(&[&MESSAGE, &REBASE])?;
    let repo = Repo::discover()?;
    let dry = args.has(&DRY_RUN);
    let (here, lock) = if dry {
        (Here::of(repo, args, out)?, None)
    } else {
        // What a crash left is mended first: that needs the lock of merges to be free.
        let (here, _) = Here::locked(repo, args, out)?;
        let lock = merge::lock(&here.repo, *out)?;
        (Here::of(here.repo, args, out)?, Some(lock))
    };
    crate::background::tell(&here.place.root, *out);
    let sandbox = here.named(args)?.clone();
    let mut answer = Answer::of(&sandbox);
    let merged = bring_home(args, here, lock, &sandbox, out, &mut answer);
    let code = match merged {
        Ok(code) => code,
        Err(error) => {
            out.error(&error);
            answer.reason = match &error {
                Error::NotMerged { why, .. } => why.clone(),
                other => other.to_string(),
            };
            error.code()
        }
    };
    if args.has(&JSON) {
        out.answer_json(&[answer])?;
    }
    Ok(code)
}

/// What became of it.
#[derive(Serialize)]
struct Answer {
    name: String,
    path: String,
    action: &'static str,
    reason: String,
    branch: Option<String>,
    into: Option<String>,
    commits: Option<u64>,
    removed: bool,
}

impl Answer {
    fn of(sandbox: &Sandbox) -> Answer {
        Answer {
            name: sandbox.name(),
            path: sandbox.path.to_string_lossy().into_owned(),
            action: "kept",
            reason: String::new(),
            branch: sandbox.branch_text(),
            into: None,
            commits: None,
            removed: false,
        }
    }
}

/// Checks, merges, and removes the sandbox; the exit code.
fn bring_home(
    args: &Args,
    here: Here,
    lock: Option<Lock>,
    sandbox: &Sandbox,
    out: &mut Out,
    answer: &mut Answer,
) -> Result<u8> {
    let name = sandbox.name();
    check(&here, sandbox)?;
    let recorded = record::read(&sandbox.entry).base;
    let main = &here.worktrees.main;
    let asked =
        args.value(&INTO).map(|name| name.to_str().ok_or(Error::NotText { what: "branch" }));
    let into = base::to_merge_into(&here.repo, main, asked.transpose()?, recorded.as_deref())?;
    let branch = branch_of(args, &here, sandbox)?;
    if branch == into.name {
        let why = "it is that branch".to_owned();
        return Err(Error::NotMerged { name, into: Some(into.name), why, hint: None });
    }
    let message =
        args.value(&MESSAGE).map(|text| text.to_str().ok_or(Error::NotText { what: "message" }));
    let head = sandbox.head.clone().unwrap_or_default();
    let merge = Merge {
        repo: &here.repo,
        worktrees: &here.worktrees,
        place: &here.place,
        out: *out,
        sandbox,
        branch: &branch,
        head: &head,
        into: &into,
        how: how(args),
        message: message.transpose()?,
    };
    answer.branch = Some(branch.clone());
    answer.into = Some(into.name.clone());
    let plan = merge.plan()?;
    answer.commits = Some(plan.commits);
    answer.reason = plan.in_words();
    let Some(lock) = lock else {
        answer.action = "would-merge";
        return would(args, &here, sandbox, &into, &plan, *out);
    };
    // Nobody starts to work in it meanwhile; those that we were called by do not count.
    let own = Lock::if_free(&live::lock_path(&sandbox.entry))?;
    let made = make_branch(&here, sandbox, &branch, &head, &lock)?;
    if let Err(error) = merge.carry_out(&plan, &lock) {
        if made {
            let git = here.repo.git.at(&here.repo.common).holding(lock.file());
            let full = format!("refs/heads/{branch}");
            git.call(["update-ref", "-d", &full, &head]).done("take the branch back")?;
        }
        return Err(error);
    }
    attach(&here, sandbox, &branch, &lock)?;
    drop(own);
    answer.action = "merged";
    out.note(&format!("merged '{name}' into '{}': {}", into.name, plan.in_words()));
    if args.has(&KEEP) {
        return Ok(0);
    }
    let (here, lock) = Here::locked(here.repo, args, out)?;
    let Some(sandbox) = here.sandboxes.iter().find(|other| other.entry == sandbox.entry) else {
        return Ok(0);
    };
    let into = base::to_merge_into(&here.repo, &here.worktrees.main, Some(&into.name), None)?;
    match rm::remove(args, &here, Some(&lock), sandbox, Some(&into), *out) {
        Ok(removed) => {
            answer.removed = true;
            Ok(u8::from(removed.incomplete))
        }
        Err(Error::Refused { why, .. }) => {
            out.warn(&format!("sandbox '{name}' stays: {why}"));
            out.hint(&format!("git sandbox rm {}", shell_word(&name)));
            Ok(0)
        }
        Err(error) => Err(error),
    }
}

fn how(args: &Args) -> How {
    match () {
        () if args.has(&FF_ONLY) => How::FastForward,
        () if args.has(&SQUASH) => How::Squash,
        () if args.has(&REBASE) => How::Rebase,
        () => How::Merge,
    }
}

/// Refuses while something is not committed, or somebody else is at work.
fn check(here: &Here, sandbox: &Sandbox) -> Result<()> {
    let name = sandbox.name();
    match sandbox.state {
        State::Missing => return Err(Error::Gone { name }),
        State::Creating => return Err(Error::Unfinished { name }),
        _ => {}
    }
    let mut facts = gather::facts(&here.repo, &here.worktrees, sandbox, &Processes::lazily());
    facts.users = facts.users.map(live::others);
    let Some(why) = verdict::merge_refusal(&facts) else { return Ok(()) };
    let busy = facts.users.as_ref().is_ok_and(|users| !users.is_empty());
    let hint = match busy {
        true => format!("git sandbox stop {}", shell_word(&name)),
        false => format!("git -C {} status", shell_word(&sandbox.path.to_string_lossy())),
    };
    let hint = facts.not_ours.is_none().then_some(hint);
    Err(Error::NotMerged { name, into: None, why, hint })
}

/// The branch that is merged: a detached sandbox must be given one.
fn branch_of(args: &Args, here: &Here, sandbox: &Sandbox) -> Result<String> {
    let refused = |why: String, hint: Option<String>| Error::NotMerged {
        name: sandbox.name(),
        into: None,
        why,
        hint,
    };
    if sandbox.branch.as_ref().is_some_and(|branch| branch.to_str().is_none()) {
        return Err(Error::NotText { what: "branch" });
    }
    match (sandbox.branch_text(), args.value(&AS_BRANCH)) {
        (Some(branch), None) => Ok(branch),
        (Some(branch), Some(asked)) if *asked == *branch => Ok(branch),
        (Some(branch), Some(_)) => {
            Err(refused(format!("it is on branch '{branch}' already"), None))
        }
        (None, None) => {
            let name = shell_word(&sandbox.name());
            let hint = format!("git sandbox merge {name} --branch <branch>");
            Err(refused("it is detached and has no branch".into(), Some(hint)))
        }
        (None, Some(asked)) => {
            resolve::check_name(&here.repo.git, asked)?;
            let branch = asked.to_str().ok_or(Error::NotText { what: "branch" })?;
            match tip(here, branch)? {
                Some(commit) if Some(&commit) != sandbox.head.as_ref() => {
                    Err(refused(format!("branch '{branch}' exists and is elsewhere"), None))
                }
                Some(_) if here.is_on(Some(asked), &sandbox.entry) => {
                    Err(refused(format!("branch '{branch}' is checked out elsewhere"), None))
                }
                _ => Ok(branch.to_owned()),
            }
        }
    }
}

fn tip(here: &Here, branch: &str) -> Result<Option<String>> {
    let git = here.repo.git.at(&here.repo.common);
    let full = format!("refs/heads/{branch}");
    let answer = git.look(["rev-parse", "--verify", "--quiet", &full]).ask()?;
    Ok(answer.ok().then(|| String::from_utf8_lossy(&answer.stdout).trim().to_owned()))
}

/// Makes the branch of a detached sandbox; whether there was need.
fn make_branch(
    here: &Here,
    sandbox: &Sandbox,
    branch: &str,
    head: &str,
    lock: &Lock,
) -> Result<bool> {
    if sandbox.branch.is_some() || tip(here, branch)?.is_some() {
        return Ok(false);
    }
    let git = here.repo.git.at(&here.repo.common).holding(lock.file());
    git.call(["branch", "--no-track", "--quiet", "--", branch, head]).done("create the branch")?;
    Ok(true)
}

/// Puts a detached sandbox on its branch.
fn attach(here: &Here, sandbox: &Sandbox, branch: &str, lock: &Lock) -> Result<()> {
    let git = here.repo.git.holding(lock.file());
    let head = keep::within(&git, &sandbox.entry, ["symbolic-ref", "--quiet", "HEAD"]).ask()?;
    if head.ok() {
        return Ok(());
    }
    let full = format!("refs/heads/{branch}");
    let words = ["symbolic-ref", "-m", "git sandbox: merged", "HEAD", &full];
    keep::within(&git, &sandbox.entry, words).done("put HEAD on the branch")
}

/// Says what would be done.
fn would(
    args: &Args,
    here: &Here,
    sandbox: &Sandbox,
    into: &Base,
    plan: &Plan,
    out: Out,
) -> Result<u8> {
    let name = sandbox.name();
    out.note(&format!("would merge '{name}' into '{}': {}", into.name, plan.in_words()));
    if args.has(&KEEP) {
        return Ok(0);
    }
    match rm::remove(args, here, None, sandbox, Some(into), out) {
        Err(Error::Refused { why, .. }) => out.note(&format!("would keep '{name}': {why}")),
        other => drop(other?),
    }
    Ok(0)
}
