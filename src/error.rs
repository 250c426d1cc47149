//! Everything that can go wrong, worded in one place.
//!
//! Wording as git's: lower case, no full stop, the subject in single quotes; a next step goes on
//! a `hint:` line that can be pasted. Nothing is escaped here: `out.rs` does that when it prints.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of almost everything here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Debug)]
pub enum Error {
    Usage { message: String, nearest: Option<String>, usage: String },
    UnknownCommand { word: String, synonym: Option<&'static str>, nearest: Option<String> },
    NotARepository,
    UnreadableRepository { why: String, remedy: Vec<String> },
    NoGit,
    OldGit { version: String },
    Git { doing: String, why: String },
    OddPath { path: String },
    OddFile { path: PathBuf },
    NoCommits,
    NoStart { commit: String },
    BadName { name: String, why: &'static str, slug: String, is_commit: bool },
    NotText { what: &'static str },
    CheckedOutInMain { branch: String, slug: String },
    FromExisting { branch: String, place: String },
    BranchInTheWay { branch: String, other: String },
    TypedAfter { words: String, error: Box<Error> },
    Root { root: PathBuf, why: String, hint: Option<String> },
    FolderTaken { path: PathBuf },
    RestoreTaken { path: PathBuf, name: String },
    RestoreClaimed { path: PathBuf, name: String },
    Refused { name: String, why: String, first: Option<String>, force: Option<&'static str> },
    NoRequest { number: u64, remote: String },
    NoRemote { remote: String },
    ChangesConflict { paths: Vec<PathBuf> },
    CarryIntoExisting { name: String },
    NotRenamed { name: String, why: String, hint: Option<String> },
    MainWorktree { name: String },
    InTrash { name: String, id: String },
    NotRemoved { name: String, path: PathBuf },
    UnknownTrash { name: String, nearest: Option<String>, all: bool },
    NotThere { name: String, path: PathBuf, why: &'static str },
    Damaged { name: String, why: String },
    Unfinished { name: String },
    Gone { name: String },
    NotForgotten { name: String, path: PathBuf, why: String },
    Moved { name: String, path: PathBuf },
    UnknownSandbox { name: String, nearest: Option<String> },
    Ambiguous { word: String, candidates: Vec<String> },
    NotInASandbox,
    NoMainWorktree,
    UnknownMainWorktree { common: PathBuf },
    NoBase { name: String },
    NotMerged { name: String, into: Option<String>, why: String, hint: Option<String> },
    Config { key: String, value: String, wanted: &'static str },
    Io { doing: String, source: io::Error },
    NotTaken { name: String, why: String },
    NotConfinable { name: String, why: &'static str },
    NoProgram { program: String },
    NotExecutable { program: String },
    NoTmux,
    NoneIdle { task: String },
    StillRunning { names: Vec<String> },
    NotJson { path: PathBuf, why: String },
    OtherHook { path: PathBuf, event: &'static str },
    BadEvent { why: String },
    NoHome,
    NoHomeToHide,
    NotConfined { name: String, why: String, hints: Vec<String> },
    InsideWalls { command: &'static str },
    NotInstalledByUs { path: PathBuf },
    Interrupted { signal: u8 },
    ClosedPipe,
}

impl Error {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Error::Usage { .. } | Error::UnknownCommand { .. } => 129,
            Error::NoProgram { .. } => 127,
            Error::NotExecutable { .. } => 126,
            Error::Interrupted { signal } => 128 + signal,
            Error::ClosedPipe => 141,
            _ => 1,
        }
    }

    /// An error about a name, with the words that it was typed after if these do not make a new sandbox.
    pub fn typed_after(self, words: String) -> Error {
        match self {
            Error::BadName { .. } | Error::BranchInTheWay { .. } => {
                Error::TypedAfter { words, error: Box::new(self) }
            }
            other => other,
        }
    }

    /// Whether there is anything to say: git is silent when its reader went away.
    pub fn is_silent(&self) -> bool {
        matches!(self, Error::ClosedPipe)
    }
}

impl fmt::Display for Error {
    #[expect(clippy::too_many_lines, reason = "one arm for each error")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage { message, .. } => f.write_str(message),
            Error::UnknownCommand { word, .. } => write!(f, "unknown command '{word}'"),
            Error::NotARepository => {
                f.write_str("git sandbox can only be used within a Git repository")
            }
            Error::UnreadableRepository { why, .. } => {
                write!(f, "cannot use this repository: {why}")
            }
            Error::NoGit => f.write_str("cannot find git on PATH"),
            Error::OldGit { version } => {
                write!(f, "git {version} is too old: git sandbox needs 2.36 or later")
            }
            Error::Git { doing, why } => write!(f, "cannot {doing}: {why}"),
            Error::OddFile { path } => {
                write!(f, "'{}' is not a plain file, as git's own are", path.display())
            }
            Error::OddPath { path } => {
                write!(f, "cannot use a repository whose path has a line break: '{path}'")
            }
            Error::NoCommits => {
                f.write_str("cannot create a sandbox: the repository has no commits yet")
            }
            Error::NoStart { commit } => write!(f, "'{commit}' is not a commit"),
            Error::BadName { name, why, .. } => write!(f, "'{name}' {why}"),
            Error::NotText { what } => write!(f, "the {what} is not valid UTF-8"),
            Error::CheckedOutInMain { branch, .. } => {
                write!(f, "branch '{branch}' is checked out in the main worktree")
            }
            Error::FromExisting { branch, place } => {
                write!(f, "cannot use '--from': branch '{branch}' exists {place}")
            }
            Error::BranchInTheWay { branch, other } => {
                write!(f, "cannot create branch '{branch}': branch '{other}' is in the way")
            }
            Error::TypedAfter { error, .. } => error.fmt(f),
            Error::Root { root, why, .. } => {
                write!(f, "cannot keep sandboxes in '{}': {why}", root.display())
            }
            Error::FolderTaken { path } => write!(f, "'{}' already exists", path.display()),
            Error::RestoreTaken { path, name } => {
                write!(f, "cannot restore '{name}': '{}' already exists", path.display())
            }
            Error::RestoreClaimed { path, name } => {
                let path = path.display();
                write!(
                    f,
                    "cannot restore '{name}': '{path}' is that of a worktree whose folder is gone"
                )
            }
            Error::Refused { name, why, .. } => write!(f, "cannot remove '{name}': {why}"),
            Error::NoRequest { number, remote } => {
                write!(f, "'{remote}' has no pull or merge request {number}")
            }
            Error::NoRemote { remote } => write!(f, "there is no remote '{remote}'"),
            Error::ChangesConflict { paths } => {
                let paths: Vec<_> =
                    paths.iter().map(|path| format!("'{}'", path.display())).collect();
                write!(f, "cannot bring the changes along: conflicts in {}", paths.join(", "))
            }
            Error::CarryIntoExisting { name } => {
                write!(f, "cannot bring the changes along: sandbox '{name}' is there already")
            }
            Error::NotRenamed { name, why, .. } => write!(f, "cannot rename '{name}': {why}"),
            Error::MainWorktree { name } => {
                write!(f, "cannot remove '{name}': it is the main worktree")
            }
            Error::InTrash { name, .. } => write!(f, "sandbox '{name}' was removed"),
            Error::NotRemoved { name, path } => {
                write!(f, "sandbox '{name}' was not removed: it is at '{}'", path.display())
            }
            Error::UnknownTrash { name, .. } => write!(f, "no removed sandbox is called '{name}'"),
            Error::NotThere { name, path, why } => {
                write!(f, "cannot reach sandbox '{name}' at '{}': {why}", path.display())
            }
            Error::Unfinished { name } => {
                write!(f, "sandbox '{name}' is being created, or its creation was interrupted")
            }
            Error::Gone { name } => write!(f, "the folder of sandbox '{name}' is gone"),
            Error::NotForgotten { name, why, .. } => {
                write!(f, "cannot forget '{name}', whose folder is gone: {why}")
            }
            Error::Moved { name, path } => {
                write!(f, "cannot forget '{name}': its folder was moved to '{}'", path.display())
            }
            Error::Damaged { name, why } => write!(f, "sandbox '{name}' is damaged: {why}"),
            Error::UnknownSandbox { name, .. } => write!(f, "no sandbox is called '{name}'"),
            Error::Ambiguous { word, .. } => write!(f, "'{word}' could be more than one sandbox"),
            Error::NoBase { name } if name.is_empty() => {
                f.write_str("there is no branch to merge into: none was recorded or is the default")
            }
            Error::NoBase { name } => write!(f, "there is no branch '{name}' to merge into"),
            Error::NotMerged { name, into: None, why, .. } => {
                write!(f, "cannot merge '{name}': {why}")
            }
            Error::NotMerged { name, into: Some(into), why, .. } => {
                write!(f, "cannot merge '{name}' into '{into}': {why}")
            }
            Error::NotInASandbox => f.write_str("not inside a sandbox, and none was named"),
            Error::NoMainWorktree => {
                f.write_str("there is no main worktree: the repository is bare")
            }
            Error::UnknownMainWorktree { common } => {
                let common = common.display();
                write!(f, "cannot tell where the main worktree of the git dir '{common}' is")
            }
            Error::Config { key, value, wanted } => {
                write!(f, "bad value '{value}' for '{key}': {wanted}")
            }
            Error::Io { doing, source } => write!(f, "cannot {doing}: {}", plain(source)),
            Error::NotTaken { name, why } => {
                write!(f, "cannot take what ran in '{name}': {why}; it stays in the sandbox")
            }
            Error::NotConfinable { name, why } => write!(f, "cannot confine '{name}': {why}"),
            Error::NoProgram { program } => write!(f, "cannot run '{program}': no such program"),
            Error::NotExecutable { program } => write!(f, "cannot run '{program}': not executable"),
            Error::NoTmux => f.write_str("cannot open a tmux window: tmux is not on PATH"),
            Error::NoneIdle { .. } => f.write_str("no idle sandbox is free for another task"),
            Error::StillRunning { names } => {
                write!(f, "still running: {}", names.join(", "))
            }
            Error::NotJson { path, why } => {
                write!(f, "cannot edit '{}': it is not understood as JSON: {why}", path.display())
            }
            Error::OtherHook { path, event } => {
                write!(f, "another hook for {event} is set in '{}'", path.display())
            }
            Error::BadEvent { why } => write!(f, "cannot understand the event on stdin: {why}"),
            Error::NoHome => f.write_str("cannot install anything: HOME is not set"),
            Error::NoHomeToHide => {
                f.write_str("cannot confine anything: HOME is not a folder that could be hidden")
            }
            Error::NotConfined { name, why, .. } => write!(f, "cannot confine '{name}': {why}"),
            Error::InsideWalls { command } => {
                write!(f, "cannot use 'git sandbox {command}' here: this command is confined")
            }
            Error::NotInstalledByUs { path } => {
                write!(f, "'{}' is in the way: it is not from git sandbox setup", path.display())
            }
            Error::Interrupted { .. } => f.write_str("interrupted"),
            Error::ClosedPipe => f.write_str("the reader went away"),
        }
    }
}

impl std::error::Error for Error {}

/// Names what was being done when an I/O call failed.
pub trait Doing<T> {
    /// `cannot <doing>: ...`
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T>;
    /// `cannot <verb> '<path>': ...`
    fn at(self, verb: &str, path: &Path) -> Result<T>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::Io { doing: doing(), source })
    }

    fn at(self, verb: &str, path: &Path) -> Result<T> {
        self.doing(|| format!("{verb} '{}'", path.display()))
    }
}

/// The system's own words, without Rust's `(os error 13)` and its capital letter.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        // Not an abbreviation.
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_errors_read_like_gits() {
        let error = io::Error::from_raw_os_error(13);
        assert_eq!(plain(&error), "permission denied");
    }
}
