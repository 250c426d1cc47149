//! `git sandbox run`

use std::path::PathBuf;

use crate::cli::args::Args;
use crate::cli::spec::{ALL_IDLE, BACKGROUND, NEXT, RESTART, TMUX};
use crate::cmd::context::session::Start;
use crate::cmd::context::{Here, walls};
use crate::error::{Error, Result};
use crate::lifecycle::assign;
use crate::repo::Repo;
use crate::sandbox::in_use::Processes;
use crate::sandbox::{Damage, Sandbox, State, in_use, record, runs};
use crate::session::{What, supervise, tmux};
use crate::sys::dir;
use crate::sys::lock::Lock;
use crate::ui::out::Out;

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    if let Some(supervisor) = supervise::supervisor(&args.command_line) {
        let confined = supervisor.confined();
        let code = supervisor.run()?;
        if let Some(entry) = confined {
            supervise::let_go()?;
            walls::take_over(&entry, *out)?;
        }
        return Ok(code);
    }
    args.at_most_one(&[&BACKGROUND, &TMUX])?;
    args.at_most_one(&[&ALL_IDLE, &NEXT])?;
    args.needs(&RESTART, &BACKGROUND)?;
    args.needs(&ALL_IDLE, &BACKGROUND)?;
    for option in [&ALL_IDLE, &NEXT].into_iter().filter(|option| args.has(option)) {
        if !args.operands.is_empty() {
            let option = option.typed();
            return Err(args.wrong(format!("a name and '{option}' cannot be used together")));
        }
    }
    if args.has(&ALL_IDLE) {
        return every_idle_one(args, out);
    }
    if let Some(task) = args.value(&NEXT) {
        let task = task.to_str().ok_or(Error::NotText { what: "task" })?;
        return next(args, out, task);
    }
    let mut here = Here::find(args, out)?;
    while let Some(path) = being_made(here.named(args)?)? {
        Lock::wait(&path, *out)?;
        here = Here::find(args, out)?;
    }
    let sandbox = here.named(args)?;
    usable(sandbox)?;
    there(args, &here, sandbox, *out)
}

/// Runs it in a sandbox that can be used.
fn there(args: &Args, here: &Here, sandbox: &Sandbox, out: Out) -> Result<u8> {
    let mut start = Start::of(here, sandbox, args)?;
    if args.has(&BACKGROUND) && matches!(start.what, What::Shell) {
        return Err(args.wrong("option '--background' needs a command, or 'sandbox.agent'"));
    }
    start.session.check(&start.what)?;
    record::protect(&sandbox.entry)?;
    if args.has(&TMUX) {
        start.say_who_else(out);
        let options = walls::options(args);
        return tmux::open(&here.own_name(), &start.session, &options, &args.command_line, out);
    }
    if args.has(&BACKGROUND) {
        start.background(out)?;
        return Ok(0);
    }
    start.tell_walls(out);
    start.introduce(None, out);
    dir::touch(&sandbox.path, here.now)?;
    start.foreground(out)
}

/// Starts it in every sandbox that has a task and in which no command runs.
fn every_idle_one(args: &Args, out: &mut Out) -> Result<u8> {
    let here = Here::find(args, out)?;
    let processes = Processes::lazily();
    let is_idle = |sandbox: &Sandbox| {
        let has_task = record::read(&sandbox.entry).task.is_some();
        sandbox.state == State::Ready
            && has_task
            && processes.users_of(sandbox).is_ok_and(|users| users.is_empty())
            && !runs::all(&sandbox.entry).iter().any(runs::Seen::is_live)
    };
    let idle: Vec<&Sandbox> = here.sandboxes.iter().filter(|sandbox| is_idle(sandbox)).collect();
    if idle.is_empty() {
        out.note("no sandbox has a task and is idle");
    }
    let mut code = 0;
    for sandbox in idle {
        match there(args, &here, sandbox, *out) {
            Err(error @ Error::Usage { .. }) => return Err(error),
            Err(error) => {
                out.error(&error);
                code = 1;
            }
            Ok(_) => {}
        }
    }
    Ok(code)
}

/// Gives a task to the next idle sandbox and runs it there.
fn next(args: &Args, out: &mut Out, task: &str) -> Result<u8> {
    let (here, lock) = Here::locked(Repo::discover()?, args, out)?;
    let git = here.repo.git.holding(lock.file());
    let assigned = assign::next(&here.repo, &git, &here.worktrees, &here.sandboxes, task)?;
    drop((git, lock));
    let name = assigned.sandbox.name();
    out.note(&format!("gave the task to sandbox '{name}', {}", assigned.how()));
    out.note(&assigned.sandbox.path.to_string_lossy());
    let here = Here::of(here.repo, args, out)?;
    let sandbox = here.sandboxes.iter().find(|it| it.path == assigned.sandbox.path);
    there(args, &here, sandbox.ok_or(Error::Gone { name })?, *out)
}

/// The lock to wait for, if the sandbox is still being made.
fn being_made(sandbox: &Sandbox) -> Result<Option<PathBuf>> {
    let path = in_use::lock_path(&sandbox.entry);
    let busy = sandbox.state == State::Creating && Lock::if_free(&path)?.is_none();
    Ok(busy.then_some(path))
}

fn usable(sandbox: &Sandbox) -> Result<()> {
    let name = sandbox.name();
    if let State::Damaged(Damage::OddFile(path)) = &sandbox.state {
        return Err(Error::OddFile { path: path.clone() });
    }
    match sandbox.state.problem() {
        None => Ok(()),
        Some(_) if sandbox.state == State::Creating => Err(Error::Unfinished { name }),
        Some(_) if sandbox.state == State::Missing => Err(Error::Gone { name }),
        Some(why) => Err(Error::Damaged { name, why }),
    }
}
