//! Git and one call of it: the only place that starts a git process.
//!
//! [`Setting`] decides folder and environment for every call. A held lock goes to git as its stdin or,
//! where git reads stdin, on a descriptor of its own, so it stays taken while git still writes, even
//! if we are killed. Calls with input and pipelines run through duct, which is made for them. A plain
//! call uses the standard library: duct starts a thread for each call and costs 1.28 times as much,
//! which shows in `list`, where most calls are plain ones.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use command_fds::{CommandFdExt, FdMapping};

use crate::error::{Doing, Error, Result};
use crate::git::answer::Answer;

/// The descriptor on which a git that reads stdin holds a lock.
const LOCK_DESCRIPTOR: i32 = 198;

/// Variables that tie git to one repository or to one operation in it; `git rev-parse
/// --local-env-vars` adds what it knows.
pub(super) const LOCAL: [&str; 3] =
    ["GIT_INTERNAL_SUPER_PREFIX", "GIT_CONFIG", "GIT_REFLOG_ACTION"];
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

/// Settings of every call that looks: nothing that a checkout brings along is run, and files are looked
/// at whatever the user's config says about trusting what git remembers of them. The hook events are
/// those of such calls; git knows them by name since 2.55, and configured hooks since 2.54.
const LOOKING: [&str; 18] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.ignoreStat=false",
    "-c",
    "core.trustctime=true",
    "-c",
    "core.checkStat=default",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "hook.post-index-change.enabled=false",
    "-c",
    "hook.reference-transaction.enabled=false",
    "-c",
    "hook.post-checkout.enabled=false",
];
/// The same, where the file system tells upper and lower case apart.
const BY_CASE: [&str; 2] = ["-c", "core.ignoreCase=false"];
/// A variable of ours, to set a key by `--config-env`, which takes keys that hold a `=`.
const OFF: &str = "GIT_SANDBOX_OFF";

/// How git is started.
#[derive(Clone, Debug)]
pub struct Git {
    program: PathBuf,
    dir: PathBuf,
    in_worktree: bool,
    private: Option<PathBuf>,
    removed: Arc<[OsString]>,
    held: Option<Arc<File>>,
    folds_case: bool,
    hooks: Arc<[OsString]>,
    index: Option<PathBuf>,
}

impl Git {
    /// The git on PATH, in the current folder, with the environment as it came.
    pub fn here() -> Result<Git> {
        let program = which::which("git").map_err(|_| Error::NoGit)?;
        let dir = std::env::current_dir().doing(|| "read the current folder".into())?;
        let removed = ["GIT_CONFIG".into()].into();
        let (in_worktree, private, held, hooks) = (false, None, None, Arc::default());
        let (folds_case, index) = (false, None);
        Ok(Git { program, dir, in_worktree, private, removed, held, folds_case, hooks, index })
    }

    /// The same git for a repository found: in `dir`, without what ties it to another one.
    pub fn bound(&self, dir: &Path, local_variables: &[String]) -> Git {
        let known = local_variables.iter().map(String::as_str).chain(LOCAL).chain(USERS);
        let removed = known.filter(|name| !KEPT.contains(name)).map(OsString::from);
        Git { dir: dir.to_owned(), removed: removed.collect(), ..self.clone() }
    }

    /// The same git in another folder.
    pub fn at(&self, dir: &Path) -> Git {
        Git { dir: dir.to_owned(), in_worktree: false, private: None, ..self.clone() }
    }

    /// The same git in the top folder of a worktree, and about that folder whatever its own config
    /// says: `core.worktree` could lead to another.
    pub fn in_worktree(&self, dir: &Path) -> Git {
        Git { in_worktree: true, ..self.at(dir) }
    }

    /// The same git in the folder of a sandbox, with its private git dir, wherever the folder's `.git`
    /// leads at this moment: a command that runs there may be able to replace it.
    pub fn in_sandbox(&self, dir: &Path, entry: &Path) -> Git {
        let private = Some(entry.to_owned()).filter(|entry| !entry.as_os_str().is_empty());
        Git { private, ..self.in_worktree(dir) }
    }

    /// The same git without these variables of its environment.
    pub(super) fn without(&self, variables: Vec<OsString>) -> Git {
        Git { removed: variables.into(), ..self.clone() }
    }

    /// The same git for a file system that takes upper and lower case for the same, or not.
    pub fn folding_case(self, folds_case: bool) -> Git {
        Git { folds_case, ..self }
    }

    fn looking(&self) -> impl Iterator<Item = &'static str> {
        let by_case: &[&str] = if self.folds_case { &[] } else { &BY_CASE };
        LOOKING.iter().chain(by_case).copied()
    }

    /// The same git, whose processes hold a lock as their stdin: it stays taken while one of them
    /// still writes, even if we are killed.
    pub fn holding(&self, lock: &Arc<File>) -> Git {
        Git { held: Some(Arc::clone(lock)), ..self.clone() }
    }

    /// The same git with this file as the index.
    pub fn on_index(&self, index: &Path) -> Git {
        Git { index: Some(index.to_owned()), ..self.clone() }
    }

    /// The same git, whose looks do not run the configured hooks of these names either.
    pub fn without_hooks<'a>(&self, names: impl Iterator<Item = &'a OsStr>) -> Git {
        let more = names.filter(|name| !self.hooks.iter().any(|known| known == name));
        let hooks = self.hooks.iter().cloned().chain(more.map(OsStr::to_owned)).collect();
        Git { hooks, ..self.clone() }
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
        self.call(["--no-optional-locks"]).looking().args(words)
    }

    /// A call that only looks, and may leave the index refreshed as any `git status` does.
    pub fn refresh<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Call<'_> {
        self.call([""; 0]).looking().args(words)
    }

    /// The git that is started.
    pub fn path(&self) -> &Path {
        &self.program
    }

    /// A program other than git, in the same folder and environment.
    pub(super) fn program<S: AsRef<OsStr>>(&self, program: &Path, words: &[S]) -> Command {
        #[expect(clippy::disallowed_methods, reason = "the one place")]
        let mut run = Command::new(program);
        run.args(words).current_dir(&self.dir);
        for name in &*self.removed {
            run.env_remove(name);
        }
        run
    }
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

    /// With the settings of a call that looks, and without any hook. A name may hold a `=`, which `-c` would take for the end of the key.
    fn looking(self) -> Self {
        let hooks = Arc::clone(&self.git.hooks);
        let looking = self.git.looking();
        let call = self.args(looking);
        if hooks.is_empty() {
            return call;
        }
        let options = hooks.iter().map(|name| {
            let mut option = OsString::from("--config-env=hook.");
            option.push(name);
            option.push(format!(".enabled={OFF}"));
            option
        });
        call.args(options).env(OFF, "false")
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

    /// Pipes input of ours through it and then through another call. The answer has the last one's
    /// stdout, and is a failure where either failed.
    pub fn pipe(self, input: String, next: &Call) -> Result<Answer> {
        let both = self.expression()?.stdin_bytes(input).pipe(next.expression()?);
        let run = both.stdout_capture().stderr_capture();
        Ok(run.run().doing(|| "start git".into())?.into())
    }

    /// Runs it with input of ours.
    pub fn ask_with(self, input: Vec<u8>) -> Result<Answer> {
        let run = self.expression()?.stdin_bytes(input).stdout_capture().stderr_capture();
        Ok(run.run().doing(|| "start git".into())?.into())
    }

    /// Runs it with a file as its input.
    pub fn ask_from(self, input: File) -> Result<Answer> {
        let run = self.expression()?.stdin_file(input).stdout_capture().stderr_capture();
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

    /// Runs it with its output going to the user, through the pager of the user's git.
    /// Returns the exit code; `None` when a signal ended it.
    pub fn hand_over(self) -> Result<Option<i32>> {
        let stdin = self.stdin()?;
        let mut run = self.command();
        let status = run.stdin(stdin).status().doing(|| "start git".into())?;
        Ok(status.code())
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

    pub(super) fn command(&self) -> Command {
        #[expect(clippy::disallowed_methods, reason = "the one place")]
        let mut run = Command::new(&self.git.program);
        run.args(&self.words);
        self.setting().apply(&mut run);
        run
    }

    /// The same as a pipeline of duct, for a git that is fed or piped. Its stdin is taken, so it holds
    /// the lock on a descriptor of its own.
    fn expression(&self) -> Result<duct::Expression> {
        #[expect(clippy::disallowed_methods, reason = "the one place")]
        let run = duct::cmd(self.git.program.as_os_str(), &self.words).unchecked();
        let setting = self.setting();
        let held = self.git.held.as_ref().map(|lock| lock.try_clone()).transpose();
        let held = held.doing(|| "share a lock".into())?;
        Ok(run.before_spawn(move |run| {
            setting.apply(run);
            if let Some(lock) = &held {
                let parent_fd = lock.try_clone()?.into();
                let mapping = FdMapping { parent_fd, child_fd: LOCK_DESCRIPTOR };
                run.fd_mappings(vec![mapping]).map_err(io::Error::other)?;
            }
            Ok(())
        }))
    }

    fn setting(&self) -> Setting {
        let Git { dir, removed, in_worktree, private, index, .. } = self.git;
        let mut variables = self.variables.clone();
        variables.extend(private.as_ref().map(|private| ("GIT_DIR", private.into())));
        variables.extend(index.as_ref().map(|index| ("GIT_INDEX_FILE", index.into())));
        variables.extend(in_worktree.then(|| ("GIT_WORK_TREE", dir.clone().into_os_string())));
        Setting { dir: dir.clone(), removed: Arc::clone(removed), variables }
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

/// Where and with which environment a git runs: the same for every way of starting one.
struct Setting {
    dir: PathBuf,
    removed: Arc<[OsString]>,
    variables: Vec<(&'static str, OsString)>,
}

impl Setting {
    fn apply(&self, run: &mut Command) {
        run.current_dir(&self.dir);
        for name in &*self.removed {
            run.env_remove(name);
        }
        for (name, value) in &self.variables {
            run.env(name, value);
        }
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
