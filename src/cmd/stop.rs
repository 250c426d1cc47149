//! `git sandbox stop`
//!
//! Ends what was started in a sandbox: whoever holds its lock or carries its name in the
//! environment, but not the runner, which ends with its command, and not those we were called by.
//! The sandbox stays, unless `--rm` was given and the verdict agrees.

use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{Here, rm};
use crate::args::Args;
use crate::error::{Error, Result};
use crate::live::{self, User};
use crate::out::Out;
use crate::repo::Repo;
use crate::sandbox::Sandbox;
use crate::spec::{ALL_HERE, FORCE, RM_TOO, TIMEOUT};

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    if args.has(&FORCE) && !args.has(&RM_TOO) {
        return Err(args.wrong("option '--force' needs '--rm'"));
    }
    if args.has(&ALL_HERE) && !args.operands.is_empty() {
        return Err(args.wrong("names and '--all' cannot be used together"));
    }
    let here = Here::find(args, out)?;
    let targets: Vec<Sandbox> = match (args.has(&ALL_HERE), &args.operands[..]) {
        (true, _) => here.sandboxes.clone(),
        (false, []) => vec![here.named(args)?.clone()],
        (false, words) => {
            let found =
                words.iter().map(|word| crate::sandbox::find(&here.sandboxes, word).cloned());
            found.collect::<Result<_>>()?
        }
    };
    let timeout = Duration::from_secs(args.count(&TIMEOUT).unwrap_or(10).into());
    for sandbox in &targets {
        let ended = end(sandbox, timeout)?;
        let name = sandbox.name();
        match ended {
            0 if args.has(&ALL_HERE) => {}
            0 => out.note(&format!("nothing runs in sandbox '{name}'")),
            1 => out.note(&format!("stopped 1 process in sandbox '{name}'")),
            count => out.note(&format!("stopped {count} processes in sandbox '{name}'")),
        }
    }
    if args.has(&RM_TOO) {
        remove(args, out, here.repo, &targets)?;
    }
    Ok(0)
}

/// TERM, then KILL what is left after the timeout; how many there were. A runner ends with its
/// command, and is waited for.
fn end(sandbox: &Sandbox, timeout: Duration) -> Result<u64> {
    let commands = live::started_in(sandbox).commands;
    let count = commands.len() as u64;
    if count == 0 {
        return Ok(0);
    }
    signal(&commands, Signal::TERM);
    let start = Instant::now();
    loop {
        let left = live::started_in(sandbox);
        if left.commands.is_empty() && left.runners.is_empty() {
            return Ok(count);
        }
        if start.elapsed() >= timeout {
            signal(&left.commands, Signal::KILL);
        }
        if start.elapsed() >= timeout + Duration::from_secs(5) {
            let who: Vec<String> =
                left.commands.iter().chain(&left.runners).map(User::in_words).collect();
            return Err(Error::Git {
                doing: format!("stop {}", who.join(", ")),
                why: "it does not end".into(),
            });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// By a descriptor of the process, so that no other can get the signal in its place.
fn signal(users: &[User], signal: Signal) {
    for pid in users.iter().filter_map(|user| user.pid) {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        if let Some(Ok(process)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
            let _ = pidfd_send_signal(&process, signal);
        }
    }
}

/// Removes what the verdict lets go; the rest stays with a warning, and that is no failure.
fn remove(args: &Args, out: &mut Out, repo: Repo, targets: &[Sandbox]) -> Result<()> {
    let (here, lock) = Here::locked(repo, args, out)?;
    for target in targets {
        let Some(sandbox) = here.sandboxes.iter().find(|sandbox| sandbox.path == target.path)
        else {
            continue;
        };
        match rm::remove(args, &here, Some(&lock), sandbox, None, *out) {
            Err(Error::Refused { name, why, .. }) => {
                out.warn(&format!("cannot remove sandbox '{name}': {why}"));
            }
            other => drop(other?),
        }
    }
    Ok(())
}
