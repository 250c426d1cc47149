//! Running a user's command in a sandbox: their terminal, a clean git environment, and a shared lock
//! on the sandbox that what they start inherits.
//!
//! The command is in our own process group, so Ctrl-C, Ctrl-Z and full-screen programs behave as if
//! it had been started by hand; we only wait for it. No word of the user's goes through a shell, but
//! `sandbox.agent` and `sandbox.setup`, which are commands of theirs to begin with.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use command_fds::{CommandFdExt, FdMapping};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::config::Config;
use crate::error::{Doing, Error, Result};
use crate::git::Git;
use crate::lock::Lock;
use crate::out::{Out, visible};
use crate::signals;
use crate::time;

/// The descriptor that children inherit the lock on: beyond those that shells use.
const LOCK_FD: i32 = 198;

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
}

/// `Name <email>`, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    name: String,
    email: String,
}

impl Author {
    /// As `--author` takes it.
    pub fn in_words(&self) -> String {
        format!("{} <{}>", self.name, self.email)
    }

    /// Whom `--author` or `sandbox.author` names.
    pub fn wanted(option: Option<&str>, config: &Config) -> Result<Option<Author>> {
        match (option, config.get("sandbox.author")) {
            (Some(text), _) => Author::parse("--author", text).map(Some),
            (None, Some(text)) => Author::parse("sandbox.author", text).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Reads `Name <email>`.
    fn parse(key: &str, text: &str) -> Result<Author> {
        let split = text.trim().strip_suffix('>').and_then(|text| text.split_once('<'));
        let pair = split.map(|(name, email)| (name.trim().to_owned(), email.trim().to_owned()));
        let whole = |(name, email): &(String, String)| !name.is_empty() && !email.is_empty();
        let (name, email) = pair.filter(whole).ok_or_else(|| Error::Config {
            key: key.into(),
            value: text.into(),
            wanted: "it must be of the form 'Name <email>'",
        })?;
        Ok(Author { name, email })
    }
}

/// What is to be run.
#[derive(Debug)]
pub enum What {
    /// Words that the user typed.
    Typed(Vec<OsString>),
    /// The value of `sandbox.agent`, with the task as its argument.
    Agent(String),
    /// The user's shell.
    Shell,
}

impl Session<'_> {
    /// Runs it with the user's terminal; its exit code.
    pub fn foreground(&self, what: &What, out: Out) -> Result<u8> {
        let lock = self.lock(out)?;
        let mut command = self.command(what)?;
        // The command gets these; we go on waiting for it. It starts with the default action.
        for signal in [SIGINT, SIGQUIT].into_iter().filter(|signal| !signals::is_ignored(*signal)) {
            let _ = signal_hook::flag::register(signal, Arc::default());
        }
        // What was noted to take back a creation is deadly again.
        for signal in [SIGTERM, SIGHUP].into_iter().filter(|signal| !signals::is_ignored(*signal)) {
            let always = Arc::new(AtomicBool::new(true));
            let _ = signal_hook::flag::register_conditional_default(signal, always);
        }
        share(&mut command, &lock)?;
        let child = command.spawn();
        // Our part of the lock ends with us; the command's with the last that holds it.
        drop(command);
        let status = child.map_err(|error| unstartable(what, &error))?.wait();
        Ok(code(status.doing(|| "wait for the command".into())?))
    }

    /// Waits for the lock; the sandbox may have gone meanwhile.
    fn lock(&self, out: Out) -> Result<Lock> {
        let lock = Lock::shared(&crate::live::lock_path(self.entry), out)?;
        let still =
            crate::repo::folder_points_to(self.path).is_some_and(|entry| entry == self.entry);
        if still { Ok(lock) } else { Err(Error::Gone { name: self.name.clone() }) }
    }

    /// Starts it in the background with a log; the supervisor's process id.
    pub fn background(&self, what: &What, out: Out) -> Result<u32> {
        let lock = self.lock(out)?;
        let log = log_path(self.entry);
        let mut file = crate::file::open_end(&log).at("open", &log)?;
        let words = self.words(what);
        let shown: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let now = time::rfc3339(time::now()?);
        writeln!(file, "== {now} {}", visible(&shown.join(" "))).at("write", &log)?;
        let errors = file.try_clone().at("open", &log)?;
        let mut command = self.blank(&crate::background::ourselves()?);
        command.args([OsStr::new("run"), OsStr::new("--"), OsStr::new("supervised")]).args(&words);
        command.env(SUPERVISED, "1").stdin(as_stdin(&lock)?).stdout(file).stderr(errors);
        Ok(command.spawn().doing(|| "start the background".into())?.id())
    }

    /// The supervisor: leads a session of its own, waits for the command and writes down its end.
    /// Our stdin is the lock.
    pub fn supervise(words: &[OsString]) -> Result<u8> {
        crate::background::leave_terminal();
        let Some((program, words)) = words.split_first() else { return Ok(1) };
        #[expect(clippy::disallowed_methods, reason = "the runner")]
        let mut command = Command::new(program);
        command.args(words).env_remove(SUPERVISED).stdin(Stdio::null());
        let lock =
            rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3).map_err(std::io::Error::from);
        let lock = lock.doing(|| "share the lock".into())?;
        map(&mut command, lock)?;
        let status = command.status().doing(|| format!("run '{}'", program.to_string_lossy()))?;
        let code = code(status);
        let mut log = std::io::stderr();
        let now = time::rfc3339(time::now()?);
        let _ = writeln!(log, "== {now} exited with {code}");
        Ok(code)
    }

    /// Runs one of `sandbox.setup`; its exit code.
    pub fn setup(&self, value: &str) -> Result<u8> {
        let mut command = self.blank(Path::new("sh"));
        command.args(["-c", value]).stdin(Stdio::null()).stdout(stderr()?);
        Ok(code(command.status().doing(|| format!("run '{value}'"))?))
    }

    /// Fails when the program is not there, before anything is done.
    pub fn check(&self, what: &What) -> Result<()> {
        let word = match what {
            What::Agent(value) => plain_program(value).map(OsString::from),
            What::Typed(_) | What::Shell => self.words(what).into_iter().next(),
        };
        let Some(word) = word else { return Ok(()) };
        check_program(&word, self.path)
    }

    fn words(&self, what: &What) -> Vec<OsString> {
        match what {
            What::Typed(words) => words.iter().map(|word| self.filled_in(word)).collect(),
            What::Agent(value) => {
                let mut words: Vec<OsString> = ["sh", "-c"].map(OsString::from).into();
                words.push(format!("{value} \"$@\"").into());
                words.push(value.into());
                let says_itself = value.contains("GIT_SANDBOX_TASK");
                words.extend(self.task.iter().filter(|_| !says_itself).map(OsString::from));
                words
            }
            What::Shell => {
                let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
                vec![shell.unwrap_or_else(|| "/bin/sh".into())]
            }
        }
    }

    fn command(&self, what: &What) -> Result<Command> {
        let words = self.words(what);
        let Some((program, words)) = words.split_first() else {
            return Err(Error::NoProgram { program: String::new() });
        };
        let mut command = self.blank(Path::new(program));
        command.args(words);
        Ok(command)
    }

    /// A program in the sandbox, with nothing of another repository in its environment.
    fn blank(&self, program: &Path) -> Command {
        #[expect(clippy::disallowed_methods, reason = "the runner")]
        let mut command = Command::new(program);
        command.current_dir(self.path);
        for name in self.git.ties() {
            command.env_remove(name);
        }
        let text = |text: &Option<OsString>| text.clone().unwrap_or_default();
        command
            .env("GIT_SANDBOX_NAME", &self.name)
            .env("GIT_SANDBOX_PATH", self.path)
            .env("GIT_SANDBOX_BRANCH", text(&self.branch))
            .env("GIT_SANDBOX_BASE_REPO", self.main)
            .env("GIT_SANDBOX_TASK", self.task.as_deref().unwrap_or_default());
        if let Some(Author { name, email }) = &self.author {
            for who in ["AUTHOR", "COMMITTER"] {
                command.env(format!("GIT_{who}_NAME"), name).env(format!("GIT_{who}_EMAIL"), email);
            }
        }
        command
    }

    /// A typed word with `{task}`, `{name}`, `{branch}` and `{path}` filled in, each once: what they
    /// stand for is not looked at again.
    fn filled_in(&self, word: &OsStr) -> OsString {
        let values: [(&[u8], &[u8]); 4] = [
            (b"{task}", self.task.as_deref().unwrap_or_default().as_bytes()),
            (b"{name}", self.name.as_bytes()),
            (b"{branch}", self.branch.as_deref().unwrap_or_default().as_bytes()),
            (b"{path}", self.path.as_os_str().as_bytes()),
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

const SUPERVISED: &str = "GIT_SANDBOX_SUPERVISED";

/// The words of the command, if we were started as its supervisor.
pub fn supervised(words: &[OsString]) -> Option<&[OsString]> {
    let (first, words) = words.split_first()?;
    (std::env::var_os(SUPERVISED).is_some() && first == "supervised").then_some(words)
}

/// Where background commands of a sandbox write to.
pub fn log_path(entry: &Path) -> PathBuf {
    entry.join("sandbox.log")
}

/// Fails when a program cannot be found, as seen from a folder.
pub fn check_program(word: &OsStr, folder: &Path) -> Result<()> {
    let path = std::env::var_os("PATH");
    match which::which_in(word, path, folder) {
        Ok(_) => Ok(()),
        Err(_) if folder.join(word).exists() => {
            Err(Error::NotExecutable { program: word.to_string_lossy().into_owned() })
        }
        Err(_) => Err(Error::NoProgram { program: word.to_string_lossy().into_owned() }),
    }
}

/// The program that a shell command starts, where that is plain to see.
pub fn plain_program(value: &str) -> Option<&str> {
    let word = value.split_whitespace().next()?;
    let plain = |letter: char| letter.is_alphanumeric() || "-_./+".contains(letter);
    // What the shell itself understands.
    let own = [
        "exec", "cd", "eval", ".", "source", "export", "set", "if", "for", "while", "until",
        "case", "command",
    ];
    (word.chars().all(plain) && !own.contains(&word)).then_some(word)
}

/// Runs a program that has nothing to do with the sandbox we may be in: without its lock and its
/// name. What it prints, if it succeeds.
pub fn apart(program: &str, words: &[OsString]) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the runner")]
    let mut command = Command::new(program);
    command.args(words).current_dir("/").stdin(Stdio::null());
    for name in ["NAME", "PATH", "BRANCH", "BASE_REPO", "TASK"] {
        command.env_remove(format!("GIT_SANDBOX_{name}"));
    }
    map(&mut command, File::open("/dev/null").ok()?.into()).ok()?;
    let output = command.output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn share(command: &mut Command, lock: &Lock) -> Result<()> {
    let file: File = lock.file().try_clone().doing(|| "share the lock".into())?;
    map(command, file.into())
}

fn map(command: &mut Command, lock: std::os::fd::OwnedFd) -> Result<()> {
    let mapping = FdMapping { parent_fd: lock, child_fd: LOCK_FD };
    let mapped = command.fd_mappings(vec![mapping]).map(drop);
    mapped.map_err(std::io::Error::other).doing(|| "share the lock".into())
}

fn as_stdin(lock: &Lock) -> Result<Stdio> {
    Ok(lock.file().try_clone().doing(|| "share the lock".into())?.into())
}

fn stderr() -> Result<Stdio> {
    let fd = rustix::io::fcntl_dupfd_cloexec(std::io::stderr(), 3).map_err(std::io::Error::from);
    Ok(fd.doing(|| "share stderr".into())?.into())
}

fn unstartable(what: &What, error: &std::io::Error) -> Error {
    let program = match what {
        What::Typed(words) => words.first().map(|word| word.to_string_lossy().into_owned()),
        What::Agent(value) => Some(value.clone()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz;

    #[test]
    fn authors() {
        let author = Author::parse("k", "A U Thor <a@b>").unwrap();
        assert_eq!(author, Author { name: "A U Thor".into(), email: "a@b".into() });
        assert!(
            ["", "A", "<a@b>", "A <>", "A a@b"].iter().all(|bad| Author::parse("k", bad).is_err())
        );
    }

    #[test]
    fn the_program_of_a_shell_command() {
        assert_eq!(plain_program("claude --continue"), Some("claude"));
        assert_eq!(plain_program("A=1 claude"), None);
        assert_eq!(plain_program("exec claude"), None);
        assert_eq!(plain_program("\"$HOME/bin/x\""), None);
        assert_eq!(plain_program(""), None);
    }

    #[test]
    fn fuzz_authors_and_commands() {
        let real = ["A U Thor <a@b>", "claude --continue", "A=1 exec \"$x\"", "./tool -x"];
        fuzz::damaged_text(&real, |text| {
            if let Ok(author) = Author::parse("k", text) {
                assert!(!author.name.is_empty() && !author.email.is_empty());
                assert!(text.contains(&author.name) && text.contains(&author.email));
            }
            if let Some(program) = plain_program(text) {
                assert!(text.trim_start().starts_with(program));
                assert!(
                    !program.contains(['$', '`', ';', '|', '&', '(', '<', '"', '\'', '=', '\\'])
                );
            }
        });
    }
}
