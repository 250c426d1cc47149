//! `git sandbox merge`

use serde::Serialize;

use crate::cli::args::Args;
use crate::cli::spec::{
    AS_BRANCH, DELETE_BRANCH, DRY_RUN, FF_ONLY, INTO, JSON, KEEP, MESSAGE, Opt, REBASE, SQUASH,
};
use crate::cmd::context::{Here, removed};
use crate::error::{Error, Result};
use crate::git::porcelain::Branch;
use crate::lifecycle::merge::{self, How, Merge, Plan, Way};
use crate::lifecycle::remove::{Outcome, Remover, Wish};
use crate::repo::base::{self, Base};
use crate::repo::{Repo, held, holders, resolve};
use crate::sandbox::in_use::{self, Processes};
use crate::sandbox::journal::Why;
use crate::sandbox::{Sandbox, State, facts, holding, record, verdict};
use crate::sys::lock::Lock;
use crate::ui::out::Out;
use crate::ui::words::shell_word;

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
    crate::lifecycle::background::tell(&here.place.root, *out);
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

/// Returns the command as it was typed, for hints: without the way of merging, its message
/// and `--dry-run`.
fn typed(args: &Args, name: &str) -> String {
    let mut words = vec!["git sandbox merge".to_owned(), shell_word(name)];
    for option in [&INTO, &AS_BRANCH] {
        let value = args.value(option).map(|value| shell_word(&value.to_string_lossy()));
        words.extend(value.map(|value| format!("{} {value}", option.typed())));
    }
    let switches = [&KEEP, &DELETE_BRANCH].into_iter().filter(|option| args.has(option));
    words.extend(switches.map(Opt::typed));
    words.join(" ")
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
        now: here.now,
        out: *out,
        sandbox,
        branch: &branch,
        head: &head,
        into: &into,
        how: how(args),
        message: message.transpose()?,
        command: &typed(args, &name),
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
    // No command starts in it meanwhile, unless one is at work there already.
    let own = Lock::if_free(&in_use::lock_path(&sandbox.entry))?;
    let made = make_branch(&here, sandbox, &branch, &head, &lock)?;
    let new = match merge.carry_out(&plan, &lock) {
        Ok(new) => new,
        Err(error) => {
            if made {
                let git = here.repo.git.at(&here.repo.common).holding(lock.file());
                let full = format!("refs/heads/{branch}");
                git.call(["update-ref", "-d", &full, &head]).done("take the branch back")?;
            }
            return Err(error);
        }
    };
    attach(&here, sandbox, &branch, &lock)?;
    if plan.way == Way::Rebase {
        merge.follow(&new, &lock);
    }
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
    match remove(args, &here, Some(&lock), sandbox, &into)? {
        Outcome::Refused(refusal) => {
            out.warn(&format!("sandbox '{name}' stays: {refusal}"));
            out.hint(&format!("git sandbox rm {}", shell_word(&name)));
            return Ok(0);
        }
        Outcome::Trashed(trashed) => {
            removed::say_trashed(sandbox, &trashed, *out);
            answer.removed = true;
            return Ok(u8::from(trashed.branch.is_some_and(|branch| !branch.fate.goes())));
        }
        Outcome::Forgotten(forgotten) => removed::say_forgotten(sandbox, &forgotten, *out),
        Outcome::Would { .. } => {}
    }
    answer.removed = true;
    Ok(0)
}

/// Removes a sandbox that was merged; without the lock it only says what would happen.
fn remove(
    args: &Args,
    here: &Here,
    lock: Option<&Lock>,
    sandbox: &Sandbox,
    into: &Base,
) -> Result<Outcome> {
    let (trash, processes) = (here.trash_for_reading(lock), Processes::lazily());
    let remover =
        Remover { trash: &trash, worktrees: &here.worktrees, lock, processes: &processes };
    let wish = Wish {
        force: 0,
        why: Why::MergedInto(into.name.clone()),
        delete_branch: args.has(&DELETE_BRANCH),
        merged_into: Some(into),
    };
    remover.remove(sandbox, &wish)
}

fn how(args: &Args) -> How {
    match () {
        () if args.has(&FF_ONLY) => How::FastForward,
        () if args.has(&SQUASH) => How::Squash,
        () if args.has(&REBASE) => How::Rebase,
        () => How::Merge,
    }
}

/// Refuses while something is not committed. A process in it does not matter until it is removed.
fn check(here: &Here, sandbox: &Sandbox) -> Result<()> {
    let name = sandbox.name();
    match sandbox.state {
        State::Missing => return Err(Error::Gone { name }),
        State::Creating => return Err(Error::Unfinished { name }),
        _ => {}
    }
    let facts = facts::facts(&here.repo, &here.worktrees, sandbox, &Processes::lazily());
    let objections = verdict::merge_objections(&facts);
    if objections.is_empty() {
        return Ok(());
    }
    let why = holding::listed(&objections, "; ");
    let status = format!("git -C {} status", shell_word(&sandbox.path.to_string_lossy()));
    let hint = facts.not_ours.is_none().then_some(status);
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
            let name = shell_word(&sandbox.name());
            let typed = format!("git sandbox merge {name} --branch");
            resolve::check_name(&here.repo.git, asked).map_err(|error| error.typed_after(typed))?;
            let branch = asked.to_str().ok_or(Error::NotText { what: "branch" })?;
            match tip(here, branch)? {
                Some(commit) if Some(&commit) != sandbox.head.as_ref() => {
                    Err(refused(format!("branch '{branch}' exists and is elsewhere"), None))
                }
                Some(_)
                    if holders::of(&here.worktrees, &here.repo.common, asked).next().is_some() =>
                {
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
    let head = held::within(&git, &sandbox.entry, ["symbolic-ref", "--quiet", "HEAD"]).ask()?;
    if head.ok() {
        return Ok(());
    }
    let full = format!("refs/heads/{branch}");
    let words = ["symbolic-ref", "-m", "git sandbox: merged", "HEAD", &full];
    held::within(&git, &sandbox.entry, words).done("put HEAD on the branch")
}

/// Says what would be done, by the same rules. Returns the exit code.
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
    // By then the other branch has its commits or, after a squash, its changes.
    let head = sandbox.head.clone().unwrap_or_default();
    let merged = Base { branch: Branch { commit: head, ..into.branch.clone() }, ..into.clone() };
    match remove(args, here, None, sandbox, &merged)? {
        Outcome::Refused(refusal) => out.note(&format!("would keep '{name}': {refusal}")),
        Outcome::Would { holds, branch } => {
            out.note(&format!("would remove '{name}' ({})", removed::held(&holds)));
            if let Some(branch) = &branch {
                removed::say_would_branch(branch, out);
            }
            return Ok(u8::from(branch.is_some_and(|branch| !branch.fate.goes())));
        }
        Outcome::Forgotten(_) | Outcome::Trashed(_) => {}
    }
    Ok(0)
}
