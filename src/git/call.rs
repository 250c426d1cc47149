//! The only file that starts git and, where git would, hooks; what users run is run.rs.
//!
//! One value decides program, folder, environment and stdin of every call. Exit codes and
//! porcelain are read, messages never. User words come after `--end-of-options` or `--`, or as
//! full ref names.
//!
//! What differs between gits is decided here, by what a git answers; none is asked for its version:
//! - `worktree list -z` came with 2.36, our floor: an older one refuses it, [`Git::worktrees`].
//! - `merge-tree --write-tree` came with 2.38, [`Git::merge`], and its `--stdin` with 2.39,
//!   [`Git::merge_many`].
//! - Before 2.48 `worktree list` prints relative paths as they stand in the entry:
//!   [`is_unresolved`].
//! - Reftable and `for-each-ref --include-root-refs` came together, with 2.45: the repository's
//!   own config says whether refs are in tables.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Doing, Error, Result};
use crate::porcelain::{self, Merge, Record};

/// Variables that tie git to one repository or to one operation in it; `git rev-parse
/// --local-env-vars` adds what it knows.
const LOCAL: [&str; 3] = ["GIT_INTERNAL_SUPER_PREFIX", "GIT_CONFIG", "GIT_REFLOG_ACTION"];
/// What a user may well set, but not for calls of ours.
const USERS: [&str; 5] = [
    "GIT_AUTHOR_DATE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];
/// Among those, what carries the user's `git -c`.
const KEPT: [&str; 2] = ["GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"];

/// Nothing that a checkout brings along is run.
const UNHOOKED: [&str; 4] = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];

/// How git is started.
#[derive(Clone, Debug)]
pub struct Git {
    program: PathBuf,
    dir: PathBuf,
    in_worktree: bool,
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

impl From<Output> for Answer {
    fn from(Output { status, stdout, stderr }: Output) -> Answer {
        Answer { code: status.code(), stdout, stderr }
    }
}

impl Answer {
    /// Whether it exited with 0.
    pub fn ok(&self) -> bool {
        self.code == Some(0)
    }

    /// Everything it said, for people.
    pub fn words(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.stderr).replace('\t', "    ");
        text.lines().map(str::to_owned).collect()
    }

    /// git's own words on what went wrong, for people.
    pub fn why(&self) -> String {
        let text = String::from_utf8_lossy(&self.stderr);
        let lines = || text.lines().filter(|line| !line.trim().is_empty());
        let led = |lead: &str| lines().find(|line| line.starts_with(lead));
        let line = led("fatal: ").or_else(|| led("error: ")).or_else(|| lines().next_back());
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
        let removed = ["GIT_CONFIG".into()].into();
        Ok(Git { program, dir, in_worktree: false, removed, held: None })
    }

    /// The same git for a repository found: in `dir`, without what ties it to another one.
    pub fn bound(&self, dir: &Path, local_variables: &[String]) -> Git {
        let known = local_variables.iter().map(String::as_str).chain(LOCAL).chain(USERS);
        let removed = known.filter(|name| !KEPT.contains(name)).map(OsString::from);
        Git { dir: dir.to_owned(), removed: removed.collect(), ..self.clone() }
    }

    /// The same git in another folder.
    pub fn at(&self, dir: &Path) -> Git {
        Git { dir: dir.to_owned(), in_worktree: false, ..self.clone() }
    }

    /// The same git in the top folder of a worktree, and about that folder whatever its own config
    /// says: `core.worktree` could lead to another.
    pub fn in_worktree(&self, dir: &Path) -> Git {
        Git { in_worktree: true, ..self.at(dir) }
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
        let users = |name: &&OsString| USERS.iter().any(|users| *name == users);
        let removed = self.removed.iter().filter(|name| !users(name)).cloned();
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
    pub fn worktrees(&self) -> Result<Vec<Record>> {
        self.finish_worktrees(self.start_worktrees()?)
    }

    /// Asks for every worktree.
    pub fn start_worktrees(&self) -> Result<Running> {
        self.call(["worktree", "list", "--porcelain", "-z"]).start()
    }

    /// The answer to that. While another tool adds one, the listing can fail: it is tried again.
    pub fn finish_worktrees(&self, asked: Running) -> Result<Vec<Record>> {
        let mut answer = asked.wait()?;
        for pause in [5, 10, 20, 40, 80] {
            match answer.code {
                Some(0) => return Ok(porcelain::worktrees(&answer.stdout)),
                Some(129) => return Err(self.too_old(&answer)),
                _ => std::thread::sleep(Duration::from_millis(pause)),
            }
            answer = self.start_worktrees()?.wait()?;
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

    /// Merges two commits without touching a checkout; `None` where this git cannot.
    pub fn merge(&self, into: &str, commit: &str) -> Result<Option<Merge>> {
        let words = ["merge-tree", "--write-tree", "-z", "--no-messages", "--name-only"];
        let answer = self.look(words).args([into, commit]).ask()?;
        match answer.code {
            Some(0 | 1) => {
                let why = || Error::Git { doing: "merge".into(), why: answer.why() };
                porcelain::merge(&answer.stdout, answer.ok()).map(Some).ok_or_else(why)
            }
            Some(129) => Ok(None),
            _ => Err(Error::Git { doing: "merge".into(), why: answer.why() }),
        }
    }

    /// Merges many pairs of commits so; where this git cannot, none.
    pub fn merge_many(&self, pairs: &[(&str, &str)]) -> Result<Vec<Merge>> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        let lines: Vec<String> =
            pairs.iter().map(|(into, commit)| format!("{into} {commit}\n")).collect();
        let words = ["merge-tree", "--stdin", "--no-messages", "--name-only"];
        let answer = self.look(words).ask_with(lines.concat().into_bytes())?;
        Ok(porcelain::merges(&answer.stdout))
    }

    /// The patch of each commit; lines are `<commit>` or `<commit> <parent>`. Commits that change
    /// nothing have none.
    pub fn patch_ids(&self, lines: String) -> Result<HashMap<String, String>> {
        let words = ["diff-tree", "--stdin", "-p", "--no-ext-diff", "--no-textconv", "--no-color"];
        let (diffs, ids) = (self.look(words), self.look(["patch-id", "--stable"]));
        let both = diffs.expression().stdin_bytes(lines).pipe(ids.expression());
        let output = both.stdout_capture().stderr_null().run().doing(|| "start git".into())?;
        Ok(porcelain::patch_ids(&output.stdout))
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

    /// The git that is started.
    pub fn path(&self) -> &Path {
        &self.program
    }

    /// Starts our own program again, by itself, with nothing of the terminal, of the repository or of
    /// the user's `git -c`.
    pub fn start_ourselves<S: AsRef<OsStr>>(&self, words: &[S], dir: &Path) -> Result<()> {
        let program = crate::background::ourselves()?;
        let git = Git { dir: dir.to_owned(), removed: self.ties().into(), ..self.clone() };
        let mut run = git.program(&program, words);
        run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        run.spawn().map(drop).doing(|| "start the background".into())
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

/// Whether git listed a worktree by a path that leads nowhere from here.
pub fn is_unresolved(listed: &Path) -> bool {
    listed.is_relative()
}

/// Starts this program again, from outside of all repositories.
pub fn start_ourselves(words: &[&str], dir: &Path) -> Result<()> {
    let git = Git::here()?;
    let known = git.call(["rev-parse", "--local-env-vars"]).read("read git's variables")?;
    let known = String::from_utf8_lossy(&known).into_owned();
    let removed = known.lines().chain(LOCAL).map(OsString::from).collect();
    Git { removed, ..git }.start_ourselves(words, dir)
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
        let run = self.expression().stdin_bytes(input).stdout_capture().stderr_capture();
        Ok(run.run().doing(|| "start git".into())?.into())
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
        if self.git.in_worktree {
            run.env("GIT_WORK_TREE", &self.git.dir);
        }
        run
    }

    /// The same for what is fed or piped.
    fn expression(&self) -> duct::Expression {
        let Git { program, dir, removed, in_worktree, .. } = self.git;
        #[expect(clippy::disallowed_methods, reason = "the one place")]
        let run = duct::cmd(program.as_os_str(), &self.words).dir(dir).unchecked();
        // Of two calls about one variable duct heeds the inner one: set before removed.
        let set = self.variables.iter().map(|(name, value)| (*name, value.as_os_str()));
        let set = set.chain(in_worktree.then_some(("GIT_WORK_TREE", dir.as_os_str())));
        let run = set.fold(run, |run, (name, value)| run.env(name, value));
        removed.iter().fold(run, |run, name| run.env_remove(name))
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
        Ok(self.0.wait_with_output().doing(|| "wait for git".into())?.into())
    }
}
