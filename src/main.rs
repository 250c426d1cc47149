//! `git sandbox`: isolated checkouts of a repository, each on its own branch, never lost.

#[path = "cli/args.rs"]
mod args;
#[path = "lifecycle/background.rs"]
mod background;
#[path = "repo/base.rs"]
mod base;
mod cmd;
#[path = "cli/complete/mod.rs"]
mod complete;
#[path = "git/config.rs"]
mod config;
#[path = "lifecycle/create/mod.rs"]
mod create;
#[path = "sys/delete.rs"]
mod delete;
mod error;
#[path = "sandbox/all_repos.rs"]
mod everywhere;
#[path = "sys/file.rs"]
mod file;
#[path = "lifecycle/create/checkout.rs"]
mod fill;
#[cfg(test)]
#[path = "sys/fuzz.rs"]
mod fuzz;
#[path = "sandbox/facts.rs"]
mod gather;
#[path = "git/call.rs"]
mod git;
#[path = "cli/help.rs"]
mod help;
#[path = "lifecycle/create/include.rs"]
mod include;
#[path = "git/index.rs"]
mod index;
#[path = "cmd/setup/install.rs"]
mod install;
#[path = "sandbox/journal.rs"]
mod journal;
#[path = "repo/held.rs"]
mod keep;
#[path = "sandbox/in_use.rs"]
mod live;
#[path = "sys/lock.rs"]
mod lock;
#[path = "cli/man.rs"]
mod man;
#[path = "cli/manual.rs"]
mod manual;
#[path = "lifecycle/merge/mod.rs"]
mod merge;
#[path = "sandbox/merged.rs"]
mod merged;
#[path = "repo/name.rs"]
mod name;
#[path = "lifecycle/trash/orphan.rs"]
mod orphan;
#[path = "ui/out.rs"]
mod out;
#[path = "repo/place.rs"]
mod place;
#[path = "repo/link.rs"]
mod pointer;
#[path = "git/porcelain/mod.rs"]
mod porcelain;
#[path = "sandbox/precious.rs"]
mod precious;
#[path = "ui/progress.rs"]
mod progress;
#[path = "lifecycle/trash/put_away.rs"]
mod purge;
#[path = "sandbox/record.rs"]
mod record;
#[path = "lifecycle/recover/mod.rs"]
mod recover;
#[path = "repo/mod.rs"]
mod repo;
#[path = "sandbox/reporter.rs"]
mod report;
#[path = "repo/resolve.rs"]
mod resolve;
#[path = "sandbox/retention.rs"]
mod retention;
#[path = "session/mod.rs"]
mod run;
#[path = "sandbox/mod.rs"]
mod sandbox;
#[path = "sys/signals.rs"]
mod signals;
#[path = "sys/disk_usage.rs"]
mod size;
#[path = "lifecycle/spare/mod.rs"]
mod spare;
#[path = "cli/spec.rs"]
mod spec;
#[path = "repo/start_point.rs"]
mod start;
#[path = "sys/crash_point.rs"]
mod step;
#[path = "lifecycle/recover/half_made.rs"]
mod stub;
#[path = "ui/table.rs"]
mod table;
#[path = "sys/clock.rs"]
mod time;
#[path = "session/tmux.rs"]
mod tmux;
#[path = "lifecycle/trash/mod.rs"]
mod trash;
#[path = "lifecycle/create/rollback.rs"]
mod undo;
#[path = "sandbox/pristine.rs"]
mod untouched;
#[path = "sandbox/verdict.rs"]
mod verdict;
#[path = "repo/discover.rs"]
mod whereabouts;

use std::process::ExitCode;

use args::Request;
use config::Config;
use error::Result;
use out::Out;
use spec::COLOR;

fn main() -> ExitCode {
    let mut out = Out::new(None, &Config::default());
    let done =
        args::parse(std::env::args_os().skip(1)).and_then(|request| answer(request, &mut out));
    ExitCode::from(done.unwrap_or_else(|error| {
        out.error(&error);
        error.code()
    }))
}

fn answer(request: Request, out: &mut Out) -> Result<u8> {
    let (text, code) = match request {
        Request::Run(args) => {
            *out = Out::new(args.word(&COLOR), &Config::default());
            return cmd::run(&args, out);
        }
        Request::Usage(command) => (help::usage(command), 129),
        Request::Help(command) => (help::help(command), 0),
        Request::Version => (format!("git-sandbox {}\n", env!("CARGO_PKG_VERSION")), 0),
    };
    out.answer(text.trim_end())?;
    Ok(code)
}
