//! `git sandbox run`

use std::path::Path;

use super::Here;
use crate::args::Args;
use crate::error::{Error, Result, shell_word};
use crate::out::Out;
use crate::place;
use crate::record;
use crate::repo::Repo;
use crate::run::{Author, Session, What, log_path, supervised};
use crate::sandbox::{Sandbox, State};
use crate::spec::{AUTHOR, BACKGROUND, TMUX};
use crate::time;
use crate::tmux;

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    if let Some(words) = supervised(&args.command_line) {
        return Session::supervise(words);
    }
    args.at_most_one(&[&BACKGROUND, &TMUX])?;
    let here = Here::find(args, out)?;
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
    place::touch(&sandbox.path, here.now)?;
    if args.has(&BACKGROUND) {
        let pid = session.background(&what, *out)?;
        out.note(&format!(
            "started in sandbox '{}' in the background: process {pid}",
            session.name
        ));
        out.note(&format!("log: {}", log_path(&sandbox.entry).display()));
        out.hint(&format!("git sandbox show --follow {}", shell_word(&session.name)));
        return Ok(0);
    }
    introduce(&here, sandbox, &what, *out)?;
    session.foreground(&what, *out)
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
    let author = match (args.word(&AUTHOR), repo.config.get("sandbox.author")) {
        (Some(text), _) => Some(Author::parse("--author", text)?),
        (None, Some(text)) => Some(Author::parse("sandbox.author", text)?),
        (None, None) => None,
    };
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
pub fn introduce(here: &Here, sandbox: &Sandbox, what: &What, out: Out) -> Result<()> {
    match what {
        What::Typed(_) => {}
        What::Agent(_) => {
            let report = here.reporter()?.one(sandbox);
            let used = report.last_used.map(|then| time::ago(then, here.now)).unwrap_or_default();
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
