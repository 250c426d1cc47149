//! The only room that starts git and, where git would, hooks. Commands of users are started by
//! `session/`.
//!
//! [`Git`] decides program, folder, environment and stdin of every call. Exit codes and porcelain are
//! read, messages never. User words come after `--end-of-options` or `--`, or as full ref names.
//!
//! What differs between gits is decided here, by what a git answers; none is asked for its version:
//! - `worktree list -z` came with 2.36, our floor: an older one refuses it, [`Git::worktrees`].
//! - `merge-tree --write-tree` came with 2.38, [`Git::merge`], and its `--stdin` with 2.39,
//!   [`Git::merge_many`].
//! - Before 2.48 `worktree list` prints relative paths as they stand in the entry:
//!   [`is_unresolved`].
//! - Reftable and `for-each-ref --include-root-refs` came together, with 2.45: the repository's
//!   own config says whether refs are in tables.

mod answer;
pub mod blob_id;
pub mod cache_tree;
mod call;
mod compressed;
pub mod config;
pub mod index;
pub mod new_index;
pub mod pipe;
pub mod porcelain;
pub mod refs;
mod split_index;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

pub use answer::Answer;
pub use call::{Call, Git, Running};

use crate::error::{Doing, Error, Result};
use crate::git::porcelain::{Merge, Record};
use crate::sys::process;

impl Git {
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
    /// nothing have none, nor has any where git fails: a diff that is cut off is another patch.
    pub fn patch_ids(&self, lines: String) -> Result<HashMap<String, String>> {
        let words = ["diff-tree", "--stdin", "-p", "--no-ext-diff", "--no-textconv", "--no-color"];
        let (diffs, ids) = (self.look(words), self.look(["patch-id", "--stable"]));
        let answer = diffs.pipe(lines, &ids)?;
        Ok(if answer.ok() { porcelain::patch_ids(&answer.stdout) } else { HashMap::new() })
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

    /// Starts our own program again, by itself, with nothing of the terminal, of the repository or of
    /// the user's `git -c`.
    pub fn start_ourselves<S: AsRef<OsStr>>(&self, words: &[S], dir: &Path) -> Result<()> {
        let program = process::ourselves()?;
        let git = self.at(dir).without(self.ties());
        let mut run = git.program(&program, words);
        run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        run.spawn().map(drop).doing(|| "start the background".into())
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
    let ties = known.lines().chain(call::LOCAL).map(OsString::from).collect();
    git.without(ties).start_ourselves(words, dir)
}
