//! `git sandbox`: isolated checkouts of a repository, each on its own branch, never lost.

mod cli;
mod cmd;
mod error;
mod git;
mod lifecycle;
mod repo;
mod sandbox;
mod session;
mod sys;
mod ui;

use std::process::ExitCode;

use cli::args::{self, Request};
use cli::help;
use error::Result;
use ui::out::{Out, When};

fn main() -> ExitCode {
    let mut out = Out::new(When::Terminal);
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
            return cmd::run(&args, out);
        }
        Request::Job(job) => return cmd::job(&job, out),
        Request::Usage(command) => (help::usage(command), 129),
        Request::Help(command) => (help::help(command), 0),
        Request::Version => (format!("git-sandbox {}\n", env!("CARGO_PKG_VERSION")), 0),
    };
    out.answer(text.trim_end())?;
    Ok(code)
}
