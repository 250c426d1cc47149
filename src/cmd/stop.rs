//! `git sandbox stop`
//!
//! Ends what was started in a sandbox: what holds its lock and what that started, but not the
//! runner, which ends with its command, and not those we were called by. Others who sit there are named.
//! The sandbox stays, unless `--rm` was given and the verdict agrees.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::cli::args::Args;
use crate::cli::spec::{ALL_HERE, FORCE, RELEASE, RM_TOO, TIMEOUT};
use crate::cmd::context::{Here, removed};
use crate::error::{Error, Result};
use crate::lifecycle::remove::{Outcome, Remover, Wish};
use crate::repo::Repo;
use crate::sandbox::in_use::{self, Lost, Processes, Started, User};
use crate::sandbox::journal::Why;
use crate::sandbox::record::{self, Facts};
use crate::sandbox::verdict::Objection;
use crate::sandbox::{Sandbox, runs};
use crate::session::tmux;
use crate::sys::signals;
use crate::ui::out::Out;

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    args.needs(&FORCE, &RM_TOO)?;
    args.at_most_one(&[&RELEASE, &RM_TOO])?;
    if args.has(&ALL_HERE) && !args.operands.is_empty() {
        return Err(args.wrong("names and '--all' cannot be used together"));
    }
    let here = Here::find(args, out)?;
    let Targets { sandboxes, lost } = Targets::named(args, &here)?;
    let timeout = Duration::from_secs(args.count(&TIMEOUT).unwrap_or(10).into());
    for lost in &lost {
        let ended = end(lost.again(), || lost.again(), timeout)?;
        say(ended, &format!("sandbox '{}', which is gone", lost.name), *out);
    }
    let project = here.own_name();
    let panes = tmux::panes(&project);
    for sandbox in &sandboxes {
        let started = in_use::started_in(sandbox);
        // Written down before anything ends, so that nothing is started again.
        if let Err(error) = runs::record::stop(&sandbox.entry) {
            out.warn(&error.to_string());
        }
        let ended = end(started, || in_use::started_in(sandbox), timeout)?;
        let closed = match panes.iter().any(|pane| pane.folder == sandbox.path) {
            true => tmux::close_dead(&project, &sandbox.path, ended > 0),
            false => 0,
        };
        let others = Processes::lazily().others_in(sandbox);
        if ended > 0 || (closed == 0 && others.is_empty() && !args.has(&ALL_HERE)) {
            say(ended, &format!("sandbox '{}'", sandbox.name()), *out);
        } else if closed > 0 {
            out.note(&format!("closed the tmux window of sandbox '{}'", sandbox.name()));
        }
        // Where it is to be removed, the refusal names them.
        if !others.is_empty() && !args.has(&RM_TOO) {
            let who = listed(&others);
            out.note(&format!(
                "'{}' is in use by {who}, not started by git sandbox",
                sandbox.name()
            ));
            hint_at_end_of(&others, *out);
        }
    }
    if args.has(&RELEASE) {
        release(&here, &sandboxes, *out)?;
    }
    if args.has(&RM_TOO) {
        let (targets, kept): (Vec<Sandbox>, Vec<Sandbox>) =
            sandboxes.into_iter().partition(|sandbox| sandbox.managed || !args.has(&ALL_HERE));
        for sandbox in kept {
            out.note(&format!("kept '{}': it is outside the root", sandbox.name()));
        }
        remove(args, out, here.repo, &targets)?;
    }
    Ok(0)
}

fn listed(users: &[User]) -> String {
    users.iter().map(User::in_words).collect::<Vec<_>>().join(", ")
}

/// Says how to end processes that we did not start.
fn hint_at_end_of(users: &[User], out: Out) {
    let ids: Vec<String> = users.iter().filter_map(|user| Some(user.pid?.to_string())).collect();
    if !ids.is_empty() {
        out.hint(&format!("kill {}", ids.join(" ")));
    }
}

/// Clears the tasks, so that the sandboxes are free for others.
fn release(here: &Here, sandboxes: &[Sandbox], out: Out) -> Result<()> {
    let _lock = here.repo.lock(out)?;
    for sandbox in sandboxes {
        let facts = record::to_change(&sandbox.entry)?;
        if facts.task.is_some() {
            runs::record::release(&sandbox.entry)?;
            record::write_synced(&sandbox.entry, &Facts { task: None, ..facts })?;
            out.note(&format!("cleared the task of sandbox '{}'", sandbox.name()));
        }
    }
    Ok(())
}

/// Where something is to be ended.
struct Targets {
    sandboxes: Vec<Sandbox>,
    lost: Vec<Lost>,
}

impl Targets {
    /// Resolves every name before anything is ended. A name that no sandbox has may be that of one
    /// that is gone and in which something still runs.
    fn named(args: &Args, here: &Here) -> Result<Targets> {
        let all_lost = || in_use::lost(&here.repo.common, &here.sandboxes);
        if args.has(&ALL_HERE) {
            return Ok(Targets { sandboxes: here.sandboxes.clone(), lost: all_lost() });
        }
        if args.operands.is_empty() {
            return Ok(Targets { sandboxes: vec![here.named(args)?.clone()], lost: Vec::new() });
        }
        let (mut sandboxes, mut lost) = (Vec::new(), Vec::new());
        for word in &args.operands {
            match here.get(word) {
                Ok(sandbox) => sandboxes.push(sandbox.clone()),
                Err(error) => {
                    let mut found = all_lost();
                    found.retain(|lost| OsStr::new(&lost.name) == word);
                    if found.is_empty() {
                        return Err(error);
                    }
                    lost.append(&mut found);
                }
            }
        }
        Ok(Targets { sandboxes, lost })
    }
}

fn say(ended: usize, place: &str, out: Out) {
    match ended {
        0 => out.note(&format!("nothing runs in {place}")),
        1 => out.note(&format!("stopped 1 process in {place}")),
        count => out.note(&format!("stopped {count} processes in {place}")),
    }
}

/// TERM, then KILL what is left after the timeout; how many there were. A runner ends with its
/// command and is waited for, three seconds longer; one that has none yet gets the TERM for it, once, and
/// passes it on.
fn end(first: Started, started: impl Fn() -> Started, timeout: Duration) -> Result<usize> {
    let count = first.commands.len() + first.starting.len();
    if count == 0 {
        return Ok(0);
    }
    let mut told = HashSet::new();
    let mut tell_once = |users: &[User]| {
        let pids = users.iter().filter_map(|user| user.pid).filter(|pid| told.insert(*pid));
        pids.for_each(|pid| signal(pid, Signal::TERM));
    };
    tell_once(&first.commands);
    let start = Instant::now();
    let mut left = first;
    while !left.is_empty() {
        tell_once(&left.starting);
        let kill = |users: &[User]| {
            users.iter().filter_map(|user| user.pid).for_each(|pid| signal(pid, Signal::KILL));
        };
        if start.elapsed() >= timeout {
            kill(&left.commands);
        }
        // Its command may just have ended, and it is about to write down how.
        if start.elapsed() >= timeout + Duration::from_secs(3) {
            kill(&left.starting);
        }
        if start.elapsed() >= timeout + Duration::from_secs(5) {
            return Err(Error::Git {
                doing: format!("stop {}", left.in_words()),
                why: "it does not end".into(),
            });
        }
        std::thread::sleep(Duration::from_millis(20));
        left = started();
    }
    Ok(count)
}

fn signal(pid: u32, signal: Signal) {
    if let Some(target) = signals::Target::of(pid) {
        target.send(signal);
    }
}

/// Removes what the verdict lets go; the rest stays with a warning, and that is no failure.
fn remove(args: &Args, out: &mut Out, repo: Repo, targets: &[Sandbox]) -> Result<()> {
    let (here, lock) = Here::locked(repo, args, out)?;
    let (trash, processes) = (here.trash(&lock), Processes::lazily());
    let remover = Remover {
        trash: &trash,
        worktrees: &here.worktrees,
        lock: Some(&lock),
        processes: &processes,
    };
    let wish = Wish {
        force: args.times(&FORCE),
        why: Why::ByHand,
        delete_branch: false,
        merged_into: None,
    };
    for target in targets {
        let Some(sandbox) = here.sandboxes.iter().find(|sandbox| sandbox.path == target.path)
        else {
            continue;
        };
        match remover.remove(sandbox, &wish)? {
            Outcome::Refused(refusal) => {
                out.warn(&format!("cannot remove sandbox '{}': {refusal}", sandbox.name()));
                for objection in &refusal.objections {
                    if let Objection::InUse(users) = objection {
                        hint_at_end_of(users, *out);
                    }
                }
            }
            gone => removed::say_gone(sandbox, &gone, *out),
        }
    }
    Ok(())
}
