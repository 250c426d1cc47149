//! `git sandbox`: isolated checkouts of a repository, each on its own branch, never lost.

mod args;
mod background;
mod base;
mod cmd;
mod complete;
mod config;
mod create;
mod delete;
mod error;
mod everywhere;
mod file;
mod fill;
#[cfg(test)]
mod fuzz;
mod gather;
mod git;
mod help;
mod include;
mod index;
mod install;
mod journal;
mod keep;
mod live;
mod lock;
mod man;
mod manual;
mod merge;
mod merged;
mod name;
mod orphan;
mod out;
mod place;
mod pointer;
mod porcelain;
mod precious;
mod progress;
mod purge;
mod record;
mod recover;
mod repo;
mod report;
mod resolve;
mod retention;
mod run;
mod sandbox;
mod signals;
mod size;
mod spare;
mod spec;
mod start;
mod step;
mod stub;
mod table;
mod time;
mod tmux;
mod trash;
mod undo;
mod untouched;
mod verdict;
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
