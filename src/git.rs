//! The only file that starts git and, where git would, hooks; what users run is run.rs.
//!
//! One value decides program, folder, environment and stdin of every call. Exit codes and
//! porcelain are read, messages never. User words come after `--end-of-options` or `--`, or as
//! full ref names.
//!
//! What differs between gits: `worktree list -z` came with 2.36, our floor; an older one is
//! recognised by its refusal (see [`Git::worktrees`]), so the normal path asks for no version.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Doing, Error, Result};
use crate::porcelain::{self, Record};

/// Variables that tie git to one repository; `git rev-parse --local-env-vars` adds what it knows.
const LOCAL: [&str; 3] = ["GIT_AUTHOR_DATE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_CONFIG"];
/// Among those, what carries the user's `git -c`.
const KEPT: [&str; 2] = ["GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"];

/// Nothing that a checkout brings along is run.
const UNHOOKED: [&str; 4] = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];

/// How git is started.
#[derive(Clone, Debug)]
pub struct Git {
    program: PathBuf,
    dir: PathBuf,
    removed: Arc<[OsString]>,
    held: Option<Arc<File>>,
}

/// What git answered.
#[derive(Debug)]
pub struct Answer {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Its stdout.
    pub stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Answer {
    /// Whether it exited with 0.
    pub fn ok(&self) -> bool {
        self.code == Some(0)
    }

    /// git's own words on what went wrong, for people.
    pub fn why(&self) -> String {
        let text = String::from_utf8_lossy(&self.stderr);
        let lines = || text.lines().filter(|line| !line.trim().is_empty());
        let line = lines().find(|line| line.starts_with("fatal: ")).or_else(|| lines().next_back());
        match (line, self.code) {
            (Some(line), _) => {
                let bare = ["fatal: ", "error: "].iter().find_map(|lead| line.strip_prefix(lead));
                bare.unwrap_or(line).to_owned()
            }
            (None, Some(code)) => format!("git exited with {code}"),
            (None, None) => "git was killed".to_owned(),
        }
    }
}

impl Git {
    /// The git on PATH, in the current folder, with the environment as it came.
    pub fn here() -> Result<Git> {
        let program = which::which("git").map_err(|_| Error::NoGit)?;
        let dir = std::env::current_dir().doing(|| "read the current folder".into())?;
        Ok(Git { program, dir, removed: ["GIT_CONFIG".into()].into(), held: None })
    }

    /// The same git for a repository found: in `dir`, without what ties it to another one.
    pub fn bound(&self, dir: &Path, local_variables: &[String]) -> Git {
        let known = local_variables.iter().map(String::as_str).chain(LOCAL);
        let removed = known.filter(|name| !KEPT.contains(name)).map(OsString::from);
        Git { dir: dir.to_owned(), removed: removed.collect(), ..self.clone() }
    }

    /// The same git in another folder.
    pub fn at(&self, dir: &Path) -> Git {
        Git { dir: dir.to_owned(), ..self.clone() }
    }

    /// The same git, whose processes hold a lock as their stdin: it stays taken while one of them
    /// still writes, even if we are killed.
    pub fn holding(&self, lock: &Arc<File>) -> Git {
        Git { held: Some(Arc::clone(lock)), ..self.clone() }
    }

    /// Every variable that ties a program to a repository or carries the user's `git -c`.
    pub fn ties(&self) -> Vec<OsString> {
        let settings = std::env::vars_os().map(|(name, _)| name).filter(|name| {
            let name = name.to_string_lossy();
            name.starts_with("GIT_CONFIG_KEY_") || name.starts_with("GIT_CONFIG_VALUE_")
        });
        // A date that the user set is theirs.
        let removed = self.removed.iter().filter(|name| *name != "GIT_AUTHOR_DATE").cloned();
        removed.chain(KEPT.map(OsString::from)).chain(settings).collect()
    }

    /// The folder it runs in.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A call that is still to be made.
    pub fn call<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Call<'_> {
        let words = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        Call { git: self, words, variables: Vec::new() }
    }

    /// A call that only looks: no hooks, no fsmonitor, no lock taken for a refresh.
    pub fn look<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Call<'_> {
        self.call(["--no-optional-locks"]).args(UNHOOKED).args(words)
    }

    /// A call that only looks, and may leave the index refreshed as any `git status` does.
    pub fn refresh<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Call<'_> {
        self.call(UNHOOKED).args(words)
    }

    /// Every worktree, the main one first.
    ///
    /// While another tool adds one, the listing can fail: it is tried again.
    pub fn worktrees(&self) -> Result<Vec<Record>> {
        const WORDS: [&str; 4] = ["worktree", "list", "--porcelain", "-z"];
        let mut answer = self.call(WORDS).ask()?;
        for pause in [5, 10, 20, 40, 80] {
            match answer.code {
                Some(0) => return Ok(porcelain::worktrees(&answer.stdout)),
                Some(129) => return Err(self.too_old(&answer)),
                _ => std::thread::sleep(Duration::from_millis(pause)),
            }
            answer = self.call(WORDS).ask()?;
        }
        let doing = "list the worktrees".to_owned();
        if answer.ok() {
            return Ok(porcelain::worktrees(&answer.stdout));
        }
        Err(Error::Git { doing, why: answer.why() })
    }

    fn too_old(&self, answer: &Answer) -> Error {
        let version = self.call(["version"]).ask().ok().filter(Answer::ok);
        let text = version.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned());
        let number = text.as_deref().and_then(|text| text.trim().strip_prefix("git version "));
        match number {
            Some(number) => Error::OldGit { version: number.to_owned() },
            None => Error::Git { doing: "list the worktrees".into(), why: answer.why() },
        }
    }

    /// Runs a hook of the user's as `git worktree add` would: in the new worktree, no `GIT_DIR`,
    /// git's own programs first on PATH, nothing on stdin, its stdout on our stderr.
    /// The exit code; `None` when a signal ended it.
    pub fn hook(&self, hook: &Path, args: &[&str], prefix: &OsStr) -> Result<Option<i32>> {
        let mut path = self.call(["--exec-path"]).line("find git's programs")?;
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut run = self.program(hook, args);
        run.env("PATH", path).env("GIT_PREFIX", prefix);
        let status = run.stdin(Stdio::null()).stdout(io::stderr()).status().at("run", hook)?;
        Ok(status.code())
    }

    fn program<S: AsRef<OsStr>>(&self, program: &Path, words: &[S]) -> Command {
        #[expect(clippy::disallowed_methods, reason = "the one place")]
        let mut run = Command::new(program);
        run.args(words).current_dir(&self.dir);
        for name in &*self.removed {
            run.env_remove(name);
        }
        run
    }
}

/// Starts this program again, by itself, with nothing of the terminal, of the repository or of the
/// user's `git -c`.
pub fn start_ourselves(words: &[&str], dir: &Path) -> Result<()> {
    let program = crate::background::ourselves()?;
    let known =
        Git::here()?.call(["rev-parse", "--local-env-vars"]).read("read git's variables")?;
    let known = String::from_utf8_lossy(&known).into_owned();
    let git = Git::here()?;
    let removed = known.lines().chain(LOCAL).chain(KEPT).map(OsString::from).collect();
    let git = Git { dir: dir.to_owned(), removed, ..git };
    let mut run = git.program(&program, words);
    run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    run.spawn().map(drop).doing(|| "start the background".into())
}

/// A call of git.
#[derive(Debug)]
#[must_use]
pub struct Call<'a> {
    git: &'a Git,
    words: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
}

impl Call<'_> {
    /// With one more word.
    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.words.push(word.as_ref().to_owned());
        self
    }

    /// With more words.
    pub fn args<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// With a variable in its environment.
    pub fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name, value.as_ref().to_owned()));
        self
    }

    /// Runs it, whatever its exit code.
    pub fn ask(self) -> Result<Answer> {
        self.start()?.wait()
    }

    /// Starts it, to be waited for later.
    pub fn start(self) -> Result<Running> {
        let stdin = self.stdin()?;
        self.spawn(stdin)
    }

    /// Runs it with input of ours.
    pub fn ask_with(self, input: Vec<u8>) -> Result<Answer> {
        let mut running = self.spawn(Stdio::piped())?;
        let Some(mut stdin) = running.0.stdin.take() else { return running.wait() };
        // One that ends without reading all of it says why by its exit code.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let answer = running.wait();
        let _ = writer.join();
        answer
    }

    /// Runs it with its messages and progress going to the user.
    pub fn show(self) -> Result<Answer> {
        let stdin = self.stdin()?;
        let mut run = self.command();
        let status = run.stdin(stdin).stdout(Stdio::null()).status();
        let status = status.doing(|| "start git".into())?;
        Ok(Answer { code: status.code(), stdout: Vec::new(), stderr: Vec::new() })
    }

    /// Its stdout; an exit code other than 0 is an error.
    pub fn read(self, doing: &str) -> Result<Vec<u8>> {
        let answer = self.ask()?;
        if answer.ok() {
            return Ok(answer.stdout);
        }
        Err(Error::Git { doing: doing.to_owned(), why: answer.why() })
    }

    /// Its stdout as one line.
    pub fn line(self, doing: &str) -> Result<OsString> {
        let mut bytes = self.read(doing)?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        Ok(std::os::unix::ffi::OsStringExt::from_vec(bytes))
    }

    /// Only whether it worked counts.
    pub fn done(self, doing: &str) -> Result<()> {
        self.read(doing).map(drop)
    }

    fn command(&self) -> Command {
        let mut run = self.git.program(&self.git.program, &self.words);
        for (name, value) in &self.variables {
            run.env(name, value);
        }
        run
    }

    fn spawn(self, stdin: Stdio) -> Result<Running> {
        let mut run = self.command();
        run.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(Running(run.spawn().doing(|| "start git".into())?))
    }

    fn stdin(&self) -> Result<Stdio> {
        Ok(match &self.git.held {
            Some(lock) => lock.try_clone().doing(|| "share a lock".into())?.into(),
            None => Stdio::null(),
        })
    }
}

/// A git at work.
#[derive(Debug)]
#[must_use]
pub struct Running(Child);

impl Running {
    /// Its answer.
    pub fn wait(self) -> Result<Answer> {
        let output = self.0.wait_with_output().doing(|| "wait for git".into())?;
        Ok(Answer { code: output.status.code(), stdout: output.stdout, stderr: output.stderr })
    }
}
