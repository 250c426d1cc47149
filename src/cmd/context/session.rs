//! What `run` and `new` start: the command, and the sandbox as it sees it.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::cli::args::Args;
use crate::cli::spec::{AUTHOR, BACKGROUND, RESTART};
use crate::cmd::context::{Here, walls};
use crate::error::Result;
use crate::git::config::Config;
use crate::lifecycle::quarantine::Borrow;
use crate::repo::Repo;
use crate::sandbox::report::Report;
use crate::sandbox::{Sandbox, record, runs};
use crate::session::confine::{Level, Walls};
use crate::session::supervise::Restart;
use crate::session::{Agent, Author, Gets, Session, What, beacon};
use crate::sys::clock::Time;
use crate::sys::dir;
use crate::ui::out::Out;
use crate::ui::words::{self, shell_word};

/// What was typed, else the agent, else the shell. An agent of a sandbox that has worked on its task
/// before goes on with it.
pub fn what(repo: &Repo, args: &Args, entry: Option<&Path>) -> What {
    if !args.command_line.is_empty() {
        return What::Typed(args.command_line.clone());
    }
    let Some(agent) = set(&repo.config, "sandbox.agent") else { return What::Shell };
    let history = entry.map(runs::history).unwrap_or_default();
    let Some(last) = runs::last_agent(&history) else {
        return What::Agent(Agent { value: agent.to_owned(), gets: Gets::Task });
    };
    let task = entry.and_then(|entry| record::read(entry).task);
    let gets = if last.start.task == task { Gets::Beacon } else { Gets::Task };
    What::Agent(Agent { value: again(&repo.config, agent), gets })
}

/// The command that an agent is started with when it goes on.
fn again(config: &Config, agent: &str) -> String {
    set(config, "sandbox.agentresume").unwrap_or(agent).to_owned()
}

fn set<'a>(config: &'a Config, key: &str) -> Option<&'a str> {
    config.get(key).filter(|value| !value.trim().is_empty())
}

/// The sandbox as commands in it see it.
pub fn session<'a>(
    repo: &'a Repo,
    main: &'a Path,
    sandbox: &'a Sandbox,
    args: &Args,
) -> Result<Session<'a>> {
    let facts = record::read(&sandbox.entry);
    let author = Author::wanted(args.word(&AUTHOR), facts.author.as_deref(), &repo.config)?;
    Ok(Session {
        git: &repo.git,
        name: sandbox.name(),
        path: &sandbox.path,
        entry: &sandbox.entry,
        branch: sandbox.branch.clone(),
        main,
        task: facts.task,
        author,
        beacon: None,
        walls: None,
        container: None,
    })
}

/// A command that is about to be started in a sandbox.
pub struct Start<'a> {
    /// The sandbox as the command sees it.
    pub session: Session<'a>,
    /// The command.
    pub what: What,
    here: &'a Here,
    sandbox: &'a Sandbox,
    now: Time,
    report: Option<Report>,
    restart: Option<Restart>,
    /// What there is to say about walls.
    walls: Option<String>,
}

impl<'a> Start<'a> {
    /// Gathers what the command should know. A look at the sandbox is taken only where it is told.
    pub fn of(here: &'a Here, sandbox: &'a Sandbox, args: &Args) -> Result<Start<'a>> {
        let what = what(&here.repo, args, Some(&sandbox.entry));
        let mut session = session(&here.repo, &here.worktrees.main.path, sandbox, args)?;
        let resumes = match &what {
            What::Agent(_) => runs::last_agent(&runs::history(&sandbox.entry)).is_some(),
            What::Typed(words) => {
                let asks = |word: &[u8]| word.windows(8).any(|part| part == b"{beacon}");
                words.iter().any(|word| asks(word.as_bytes()))
                    || (args.has(&BACKGROUND) && !runs::history(&sandbox.entry).is_empty())
            }
            What::Shell => false,
        };
        let looks = resumes || matches!(what, What::Agent(_));
        let report = looks.then(|| here.reporter().map(|it| it.one(sandbox))).transpose()?;
        if let Some(report) = report.as_ref().filter(|_| resumes) {
            session.beacon = Some(beacon::text(report, &runs::all(&sandbox.entry), here.now));
        }
        let agent = match &what {
            What::Agent(agent) => Some(again(&here.repo.config, &agent.value)),
            _ => None,
        };
        let restart = args.count(&RESTART).map(|most| Restart { most, agent });
        session.container = walls::container(here, sandbox, args)?;
        session.walls = walls::around(here, sandbox, args)?;
        let walls = match &session.container {
            Some(container) => Some(container.introduction()),
            None => walls::in_words(session.walls.as_ref(), sandbox, args),
        };
        Ok(Start { session, what, here, sandbox, now: here.now, report, restart, walls })
    }

    /// Says how the command is confined, or that it is not although it was to be.
    pub fn tell_walls(&self, out: Out) {
        if let Some(walls) = &self.walls {
            out.note(walls);
        }
        if let Some(warning) = self.session.walls.as_ref().and_then(Walls::warning) {
            out.warn(warning);
        }
    }

    /// Runs it with the user's terminal, and takes over what it did behind walls; its exit code.
    pub fn foreground(&mut self, out: Out) -> Result<u8> {
        self.make_quarantine(out)?;
        let code = self.session.foreground(&self.what, out);
        if self.session.walls.is_none() && self.session.container.is_none() {
            return code;
        }
        match (walls::take_over(&self.sandbox.entry, out), code) {
            (Err(error), Ok(0)) => Err(error),
            (Err(error), code) => {
                out.error(&error);
                code
            }
            (Ok(()), code) => code,
        }
    }

    /// Makes what a confined command sees in the place of the repository.
    fn make_quarantine(&mut self, out: Out) -> Result<()> {
        let borrow = match &self.session.walls {
            Some(walls) if walls.level() == Level::Landlock => Borrow::InPlace,
            None if self.session.container.is_none() => return Ok(()),
            _ => Borrow::Mounted,
        };
        if let Some(container) = &mut self.session.container {
            container.mounts = walls::mounts(self.here, self.sandbox)?;
        }
        walls::prepare(self.here, self.sandbox, borrow, out)
    }

    /// Starts it in the background, and says so.
    pub fn background(mut self, out: Out) -> Result<()> {
        self.tell_walls(out);
        self.make_quarantine(out)?;
        self.say_who_else(out);
        dir::touch(&self.sandbox.path, self.now)?;
        let started = self.session.background(&self.what, self.restart, out)?;
        let name = &self.session.name;
        out.note(&format!(
            "started in sandbox '{name}' in the background: process {}",
            started.supervisor
        ));
        out.note(&format!("log: {}", started.log.display()));
        out.hint(&format!("git sandbox show --follow {}", shell_word(name)));
        Ok(())
    }

    /// Says who is at work there already, unless that is who called us.
    pub fn say_who_else(&self, out: Out) {
        if std::env::var_os("GIT_SANDBOX_PATH").is_some_and(|path| *path == *self.sandbox.path) {
            return;
        }
        let runs = runs::all(&self.sandbox.entry);
        let others = runs.iter().filter(|seen| seen.is_live());
        let others: Vec<String> = others.map(|seen| seen.in_words(self.now)).collect();
        if !others.is_empty() {
            let (name, others) = (&self.session.name, others.join(", "));
            out.note(&format!("sandbox '{name}' has {others} at work already"));
        }
    }

    /// Before an agent or a shell takes over: where they are and what was going on.
    pub fn introduce(&self, used: Option<Time>, out: Out) {
        match &self.what {
            What::Typed(_) => {}
            What::Agent(_) => {
                let Some(report) = &self.report else { return };
                let used = used.or(report.last_used);
                let used = used.map(|then| words::ago(then, self.now)).unwrap_or_default();
                let branch = report.branch.clone().unwrap_or_else(|| "none".into());
                if let Some(task) = &report.task {
                    out.note(&format!("task: {task}"));
                }
                out.note(&format!("branch: {branch}; last used: {used}; {}", report.in_words()));
                self.say_who_else(out);
            }
            What::Shell => {
                out.note(&format!("in sandbox '{}'; leave it with 'exit'", self.session.name));
            }
        }
    }
}
