//! `git sandbox run`

use std::path::{Path, PathBuf};

use super::Here;
use crate::args::Args;
use crate::error::{Error, Result, shell_word};
use crate::live;
use crate::lock::Lock;
use crate::out::Out;
use crate::place;
use crate::record;
use crate::repo::Repo;
use crate::run::{Author, Session, What, log_path, supervised};
use crate::sandbox::{Sandbox, State};
use crate::spec::{AUTHOR, BACKGROUND, TMUX};
use crate::time::{self, Time};
use crate::tmux;

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    if let Some(words) = supervised(&args.command_line) {
        return Session::supervise(words);
    }
    args.at_most_one(&[&BACKGROUND, &TMUX])?;
    let mut here = Here::find(args, out)?;
    while let Some(path) = being_made(here.named(args)?)? {
        Lock::wait(&path, *out)?;
        here = Here::find(args, out)?;
    }
    let sandbox = here.named(args)?;
    usable(sandbox)?;
    let session = session(&here.repo, &here.worktrees.main.path, sandbox, args)?;
    let what = what(&here.repo, args);
    session.check(&what)?;
    if args.has(&TMUX) {
        // The home's name is the repository's alone; the project's need not be.
        let home = sandbox.path.parent().and_then(Path::file_name).filter(|_| sandbox.managed);
        return tmux::open(home.unwrap_or(&here.place.project), &session, &args.command_line, *out);
    }
    if args.has(&BACKGROUND) {
        place::touch(&sandbox.path, here.now)?;
        let pid = session.background(&what, *out)?;
        out.note(&format!(
            "started in sandbox '{}' in the background: process {pid}",
            session.name
        ));
        out.note(&format!("log: {}", log_path(&sandbox.entry).display()));
        out.hint(&format!("git sandbox show --follow {}", shell_word(&session.name)));
        return Ok(0);
    }
    introduce(&here, sandbox, None, &what, *out)?;
    place::touch(&sandbox.path, here.now)?;
    session.foreground(&what, *out)
}

/// The lock to wait for, if somebody is still making it.
fn being_made(sandbox: &Sandbox) -> Result<Option<PathBuf>> {
    let path = live::lock_path(&sandbox.entry);
    let busy = sandbox.state == State::Creating && Lock::if_free(&path)?.is_none();
    Ok(busy.then_some(path))
}

fn usable(sandbox: &Sandbox) -> Result<()> {
    let name = sandbox.name();
    match sandbox.state.problem() {
        None => Ok(()),
        Some(_) if sandbox.state == State::Creating => Err(Error::Unfinished { name }),
        Some(_) if sandbox.state == State::Missing => Err(Error::Gone { name }),
        Some(why) => Err(Error::Damaged { name, why: why.to_owned() }),
    }
}

/// What was typed, else the agent, else the shell.
pub fn what(repo: &Repo, args: &Args) -> What {
    match (&args.command_line[..], repo.config.get("sandbox.agent")) {
        ([], Some(agent)) if !agent.trim().is_empty() => What::Agent(agent.to_owned()),
        ([], _) => What::Shell,
        (words, _) => What::Typed(words.to_vec()),
    }
}

/// The sandbox as commands in it see it.
pub fn session<'a>(
    repo: &'a Repo,
    main: &'a Path,
    sandbox: &'a Sandbox,
    args: &Args,
) -> Result<Session<'a>> {
    let author = Author::wanted(args.word(&AUTHOR), &repo.config)?;
    Ok(Session {
        git: &repo.git,
        name: sandbox.name(),
        path: &sandbox.path,
        entry: &sandbox.entry,
        branch: sandbox.branch.clone(),
        main,
        task: record::read(&sandbox.entry).task,
        author,
    })
}

/// Before an agent or a shell takes over: where they are and what was going on.
pub fn introduce(
    here: &Here,
    sandbox: &Sandbox,
    used: Option<Time>,
    what: &What,
    out: Out,
) -> Result<()> {
    match what {
        What::Typed(_) => {}
        What::Agent(_) => {
            let report = here.reporter()?.one(sandbox);
            let used = used.or(report.last_used);
            let used = used.map(|then| time::ago(then, here.now)).unwrap_or_default();
            let branch = report.branch.clone().unwrap_or_else(|| "none".into());
            if let Some(task) = &report.task {
                out.note(&format!("task: {task}"));
            }
            out.note(&format!("branch: {branch}; last used: {used}; {}", report.in_words()));
        }
        What::Shell => {
            out.note(&format!("in sandbox '{}'; leave it with 'exit'", sandbox.name()));
        }
    }
    Ok(())
}
