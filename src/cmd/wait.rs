//! `git sandbox wait`

use std::time::{Duration, Instant};

use crate::cli::args::Args;
use crate::cli::spec::{ALL_AT_WORK, WAIT_AT_MOST};
use crate::cmd::context::Here;
use crate::error::{Error, Result};
use crate::repo::Repo;
use crate::sandbox::runs::{self, Seen, State};
use crate::sandbox::{Sandbox, confined, in_use};
use crate::sys::lock::Lock;
use crate::sys::{crash_point, signals};
use crate::ui::out::{Out, visible};

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    if args.has(&ALL_AT_WORK) && !args.operands.is_empty() {
        return Err(args.wrong("names and '--all' cannot be used together"));
    }
    signals::note();
    let here = Here::find(args, out)?;
    let targets: Vec<&Sandbox> = match (args.has(&ALL_AT_WORK), &args.operands[..]) {
        (true, _) => here.sandboxes.iter().collect(),
        (false, []) => vec![here.named(args)?],
        (false, words) => {
            let found = words.iter().map(|word| here.get(word));
            found.collect::<Result<_>>()?
        }
    };
    let most = args.count(&WAIT_AT_MOST).map(|seconds| Duration::from_secs(seconds.into()));
    let begun = Instant::now();
    // What runs now counts for every target, also what ends while another target is waited for.
    let first_live =
        |it: &&Sandbox| runs::all(&it.entry).iter().find(|seen| seen.is_live()).map(number);
    let firsts: Vec<Option<u64>> = targets.iter().map(first_live).collect();
    crash_point::reached();
    let mut code = 0;
    for (index, (target, first)) in targets.iter().zip(firsts).enumerate() {
        while runs::all(&target.entry).iter().any(Seen::is_live) {
            signals::check()?;
            if most.is_some_and(|most| begun.elapsed() >= most) {
                let busy = |it: &&&Sandbox| runs::all(&it.entry).iter().any(Seen::is_live);
                let busy = targets[index..].iter().filter(busy).map(|it| it.name()).collect();
                return Err(Error::StillRunning { names: busy });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let runs = runs::all(&target.entry);
        let judged = judged(&runs, first);
        if judged.iter().any(|seen| seen.state != State::Done) {
            code = 1;
        }
        let words: Vec<String> = judged.iter().map(|seen| seen.in_words(here.now)).collect();
        if !words.is_empty() {
            out.answer(&format!("{}: {}", visible(&target.name()), words.join(", ")))?;
        }
    }
    take_over(&targets, args, out)?;
    Ok(code)
}

/// Takes over what confined commands committed: who waited for them wants that. Where the process that
/// waited for a command is about to do so, that is waited for.
fn take_over(targets: &[&Sandbox], args: &Args, out: &mut Out) -> Result<()> {
    const PATIENCE: Duration = Duration::from_secs(10);
    let begun = Instant::now();
    let is_held = |target: &&Sandbox| {
        let lock = Lock::if_free(&in_use::lock_path(&target.entry));
        confined::is_waiting(&target.entry) && lock.is_ok_and(|lock| lock.is_none())
    };
    while targets.iter().any(|target| confined::is_waiting(&target.entry)) {
        signals::check()?;
        let held = targets.iter().any(is_held);
        Here::locked(Repo::discover()?, args, out)?;
        if !held || begun.elapsed() >= PATIENCE {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn number(seen: &Seen) -> u64 {
    seen.run.start.run
}

/// What was waited for, or else the last run. A failure that was tried again does not count.
fn judged(runs: &[Seen], first: Option<u64>) -> Vec<&Seen> {
    let Some((last, before)) = runs.split_last() else { return Vec::new() };
    let counts = |seen: &&Seen| {
        let again = seen.run.retry.is_some() && !seen.run.stopped;
        first.is_some_and(|first| number(seen) >= first) && !again
    };
    before.iter().filter(counts).chain([last]).collect()
}
