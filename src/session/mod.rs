//! Running a user's command in a sandbox: their terminal, a clean git environment, and a shared lock
//! on the sandbox that what they start inherits.
//!
//! The command is in our own process group, so Ctrl-C, Ctrl-Z and full-screen programs behave as if
//! it had been started by hand; we only wait for it. No word of the user's goes through a shell, but
//! `sandbox.agent` and `sandbox.setup`, which are commands of theirs to begin with.

mod author;
pub mod beacon;
pub mod confine;
pub mod container;
pub mod log;
pub mod program;
pub mod supervise;
pub mod tmux;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

pub use author::Author;
use command_fds::{CommandFdExt, FdMapping};
pub use program::{check_program, plain_program};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGINT, SIGQUIT};

use crate::error::{Doing, Error, Result};
use crate::git::Git;
use crate::repo::link;
use crate::sandbox::runs::line::{Kind, Start};
use crate::sandbox::runs::record::{self, Started};
use crate::sandbox::{port, program_name};
use crate::session::confine::{Confined, Held, Walls};
use crate::session::container::Container;
use crate::sys::lock::Lock;
use crate::sys::signals::{ForChild, Target};
use crate::sys::{clock, signals};
use crate::ui::out::Out;

/// The descriptor that children inherit the lock on: beyond those that shells use.
const LOCK_FD: i32 = 198;
/// The descriptor that they inherit the file of their run on.
const RUN_FD: i32 = 199;
/// Names the private git dir for a supervisor that we start.
const SUPERVISED: &str = "GIT_SANDBOX_SUPERVISED";
/// Set for a command that a window of tmux is opened for.
const WINDOW: &str = "GIT_SANDBOX_WINDOW";

/// A sandbox as the commands in it see it.
#[derive(Debug)]
pub struct Session<'a> {
    /// git of its repository, to know what to clean from the environment.
    pub git: &'a Git,
    /// Its name.
    pub name: String,
    /// Its folder.
    pub path: &'a Path,
    /// Its private git dir.
    pub entry: &'a Path,
    /// Its branch.
    pub branch: Option<OsString>,
    /// The main worktree.
    pub main: &'a Path,
    /// What it is for.
    pub task: Option<String>,
    /// Who commits there, if it is not the user.
    pub author: Option<Author>,
    /// What was assigned and how things stand, for a command that goes on with earlier work.
    pub beacon: Option<String>,
    /// What commands there are confined by; the quarantine is ready.
    pub walls: Option<Walls>,
    /// The container that its commands run in, if any.
    pub container: Option<Container>,
}

/// What is to be run.
#[derive(Debug)]
pub enum What {
    /// Words that the user typed.
    Typed(Vec<OsString>),
    /// An agent of the user's config.
    Agent(Agent),
    /// The user's shell.
    Shell,
}

/// The value of `sandbox.agent` or `sandbox.agentResume`, and what it gets as its argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// A command of the shell.
    pub value: String,
    /// Its argument.
    pub gets: Gets,
}

/// What an agent gets as its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gets {
    /// The task, which it has not seen.
    Task,
    /// What it needs to know to go on.
    Beacon,
}

impl Session<'_> {
    /// Runs it with the user's terminal; its exit code.
    pub fn foreground(&self, what: &What, out: Out) -> Result<u8> {
        let lock = self.lock(out)?;
        let Confined { mut command, descriptors, mut held } = self.command(what)?;
        // The terminal sends these to the command as well; we go on waiting for it.
        for signal in [SIGINT, SIGQUIT].into_iter().filter(|signal| !signals::is_ignored(*signal)) {
            let _ = signal_hook::flag::register(signal, Arc::default());
        }
        let kept = ForChild::keep().doing(|| "keep signals for the command".into())?;
        // What arrived while a sandbox was made, which stays.
        signals::check()?;
        let window = std::env::var_os(WINDOW).is_some();
        let kind = if window { Kind::Tmux } else { Kind::Foreground };
        // A run that cannot be recorded is run all the same.
        let run = self.record(what, kind, 0).map_err(|error| out.warn(&error.to_string())).ok();
        self.share(&mut command, descriptors, lock_of(&lock)?, run.as_ref())?;
        let child = command.spawn();
        // Our part of the lock ends with us; the command's with the last that holds it.
        drop(command);
        let ended = child.map_err(|error| unstartable(what, &error));
        let ended = ended.and_then(|child| self.wait(child, kept, &mut held));
        match held.close() {
            Ok(None) => {}
            Ok(Some(warning)) => out.warn(&warning),
            Err(error) => out.warn(&error.to_string()),
        }
        let code = ended.as_ref().map_or_else(Error::code, |code| *code);
        if let Some(Err(error)) = run.map(|run| run.end(code)) {
            out.warn(&error.to_string());
        }
        ended
    }

    /// Waits for the lock; the sandbox may have gone meanwhile.
    fn lock(&self, out: Out) -> Result<Lock> {
        let lock = Lock::shared(&crate::sandbox::in_use::lock_path(self.entry), out)?;
        let still = link::folder_points_to(self.path).is_some_and(|entry| entry == self.entry);
        if still { Ok(lock) } else { Err(Error::Gone { name: self.name.clone() }) }
    }

    /// Writes the start of a command down.
    fn record(&self, what: &What, kind: Kind, restarts: u32) -> Result<Started> {
        let words: Vec<OsString> = match what {
            What::Typed(words) => words.clone(),
            What::Agent(agent) => agent.value.split_whitespace().map(OsString::from).collect(),
            What::Shell => self.words(what),
        };
        let start = Start {
            run: 0,
            at: clock::now()?,
            command: program_name::of_words(&words),
            words: words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            kind,
            agent: matches!(what, What::Agent(_)),
            task: self.task.clone(),
            author: self.author.as_ref().map(Author::in_words),
            restarts,
        };
        record::start(self.entry, start)
    }

    /// Runs one of `sandbox.setup` or `sandbox.teardown`; its exit code.
    pub fn configured(&self, value: &str) -> Result<u8> {
        let mut command = self.blank(Path::new("sh"));
        command.args(["-c", value]).stdin(Stdio::null()).stdout(stderr()?);
        Ok(code(command.status().doing(|| format!("run '{value}'"))?))
    }

    /// Fails when the program is not there, before anything is done.
    pub fn check(&self, what: &What) -> Result<()> {
        // The programs of a container are in its image.
        let word = self.program(what).filter(|_| self.container.is_none());
        word.map_or(Ok(()), |word| check_program(&word, self.path))
    }

    /// The program that is started, where that is plain to see.
    fn program(&self, what: &What) -> Option<OsString> {
        match what {
            What::Agent(agent) => plain_program(&agent.value).map(OsString::from),
            What::Typed(_) | What::Shell => self.words(what).into_iter().next(),
        }
    }

    fn words(&self, what: &What) -> Vec<OsString> {
        match what {
            What::Typed(words) => words.iter().map(|word| self.filled_in(word)).collect(),
            What::Agent(Agent { value, gets }) => {
                let mut words: Vec<OsString> = ["sh", "-c"].map(OsString::from).into();
                words.push(format!("{value} \"$@\"").into());
                words.push(value.into());
                let says_itself = ["GIT_SANDBOX_TASK", "GIT_SANDBOX_BEACON"]
                    .iter()
                    .any(|name| value.contains(name));
                let argument = match gets {
                    Gets::Task => &self.task,
                    Gets::Beacon => &self.beacon,
                };
                words.extend(argument.iter().filter(|_| !says_itself).map(OsString::from));
                words
            }
            What::Shell => {
                let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
                vec![shell.unwrap_or_else(|| "/bin/sh".into())]
            }
        }
    }

    /// The command that is to be started, inside the walls if there are any.
    fn command(&self, what: &What) -> Result<Confined> {
        let words = self.words(what);
        let Some((program, words)) = words.split_first() else {
            return Err(Error::NoProgram { program: String::new() });
        };
        let mut command = self.blank(Path::new(program));
        command.args(words);
        if let Some(container) = &self.container {
            let on_terminal = [io::stdin().is_terminal(), io::stdout().is_terminal()] == [true; 2];
            return Ok(Confined::not_at_all(container.wrap(&command, on_terminal)));
        }
        match &self.walls {
            Some(walls) => {
                self.program(what).map_or(Ok(()), |program| walls.check_program(&program))?;
                walls.wrap(&command, LOCK_FD)
            }
            None => Ok(Confined::not_at_all(command)),
        }
    }

    /// Has a command inherit the sandbox's lock, the file of its run and what its walls need. Walls have
    /// no use for the file: they fall when we end.
    fn share(
        &self,
        command: &mut Command,
        descriptors: Vec<(OwnedFd, i32)>,
        lock: OwnedFd,
        run: Option<&Started>,
    ) -> Result<()> {
        share(command, descriptors, lock, run.filter(|_| self.walls.is_none()))
    }

    /// Waits for a command, to which TERM and HUP are passed on; its exit code.
    fn wait(&self, mut child: Child, kept: ForChild, held: &mut Held) -> Result<u8> {
        match &self.walls {
            None => kept.pass_on(&child, Target::of),
            // What makes the walls does not heed signals; the command does.
            Some(_) => kept.pass_on(&child, confine::command_below),
        }
        let first = held.first_process();
        let status = child.wait().doing(|| "wait for the command".into())?;
        // What the command left running ends with the first process, a moment after bubblewrap itself.
        while first.as_ref().is_some_and(Target::is_there) {
            thread::sleep(Duration::from_millis(1));
        }
        Ok(code(status))
    }

    /// A program in the sandbox, with nothing of another repository in its environment.
    fn blank(&self, program: &Path) -> Command {
        #[expect(clippy::disallowed_methods, reason = "the runner")]
        let mut command = Command::new(program);
        command.current_dir(self.path);
        for name in self.git.ties() {
            command.env_remove(name);
        }
        for name in ["GIT_EXEC_PATH", "GIT_SANDBOX_BEACON", SUPERVISED, WINDOW] {
            command.env_remove(name);
        }
        let text = |text: &Option<OsString>| text.clone().unwrap_or_default();
        command
            .env("GIT_SANDBOX_NAME", &self.name)
            .env("GIT_SANDBOX_PATH", self.path)
            .env("GIT_SANDBOX_BRANCH", text(&self.branch))
            .env("GIT_SANDBOX_BASE_REPO", self.main)
            .env("GIT_SANDBOX_TASK", self.task.as_deref().unwrap_or_default());
        command.envs(self.beacon.iter().map(|beacon| ("GIT_SANDBOX_BEACON", beacon)));
        match port::of(self.entry) {
            Ok(port) => command.env("GIT_SANDBOX_PORT", port.to_string()),
            // A read-only repository: better none than one that another sandbox has.
            Err(_) => command.env_remove("GIT_SANDBOX_PORT"),
        };
        if let Some(author) = &self.author {
            command.envs(author.variables());
        }
        command
    }

    /// A typed word with `{task}`, `{name}`, `{branch}`, `{path}` and `{beacon}` filled in, each once:
    /// what they stand for is not looked at again.
    fn filled_in(&self, word: &OsStr) -> OsString {
        let values: [(&[u8], &[u8]); 5] = [
            (b"{task}", self.task.as_deref().unwrap_or_default().as_bytes()),
            (b"{name}", self.name.as_bytes()),
            (b"{branch}", self.branch.as_deref().unwrap_or_default().as_bytes()),
            (b"{path}", self.path.as_os_str().as_bytes()),
            (b"{beacon}", self.beacon.as_deref().unwrap_or_default().as_bytes()),
        ];
        let mut filled = Vec::new();
        let mut rest = word.as_bytes();
        while let Some((first, tail)) = rest.split_first() {
            if let Some((key, value)) = values.iter().find(|(key, _)| rest.starts_with(key)) {
                filled.extend_from_slice(value);
                rest = &rest[key.len()..];
            } else {
                filled.push(*first);
                rest = tail;
            }
        }
        OsString::from_vec(filled)
    }
}

/// Runs a program that has nothing to do with the sandbox we may be in: without its lock and its
/// name. What it prints, if it succeeds.
pub fn apart(program: &str, words: &[OsString]) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the runner")]
    let mut command = Command::new(program);
    command.args(words).current_dir("/").stdin(Stdio::null());
    for name in ["NAME", "PATH", "BRANCH", "BASE_REPO", "TASK", "BEACON", "PORT"] {
        command.env_remove(format!("GIT_SANDBOX_{name}"));
    }
    let nothing = || Some(OwnedFd::from(File::open("/dev/null").ok()?));
    map(&mut command, vec![(nothing()?, LOCK_FD), (nothing()?, RUN_FD)]).ok()?;
    let output = command.output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Has a command inherit the sandbox's lock and the file of its run.
fn share(
    command: &mut Command,
    mut descriptors: Vec<(OwnedFd, i32)>,
    lock: OwnedFd,
    run: Option<&Started>,
) -> Result<()> {
    let run = run.map(|run| run.file().try_clone().doing(|| "share the run".into())).transpose()?;
    let run = run.map(|file| (OwnedFd::from(file), RUN_FD));
    descriptors.push((lock, LOCK_FD));
    descriptors.extend(run);
    map(command, descriptors)
}

fn map(command: &mut Command, descriptors: Vec<(OwnedFd, i32)>) -> Result<()> {
    let mappings = descriptors.into_iter();
    let mappings = mappings.map(|(parent_fd, child_fd)| FdMapping { parent_fd, child_fd });
    let mapped = command.fd_mappings(mappings.collect()).map(drop);
    mapped.map_err(std::io::Error::other).doing(|| "share the lock".into())
}

fn lock_of(lock: &Lock) -> Result<OwnedFd> {
    let file = lock.file().try_clone().doing(|| "share the lock".into())?;
    Ok(file.into())
}

fn stderr() -> Result<Stdio> {
    let fd = rustix::io::fcntl_dupfd_cloexec(std::io::stderr(), 3).map_err(std::io::Error::from);
    Ok(fd.doing(|| "share stderr".into())?.into())
}

fn unstartable(what: &What, error: &std::io::Error) -> Error {
    let program = match what {
        What::Typed(words) => words.first().map(|word| word.to_string_lossy().into_owned()),
        What::Agent(agent) => Some(agent.value.clone()),
        What::Shell => std::env::var("SHELL").ok(),
    };
    let program = program.unwrap_or_else(|| "/bin/sh".into());
    match error.kind() {
        ErrorKind::NotFound => Error::NoProgram { program },
        _ => Error::NotExecutable { program },
    }
}

/// The command's own exit code, or 128 and its signal.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
