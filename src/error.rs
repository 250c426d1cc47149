//! Everything that can go wrong, worded in one place.
//!
//! Wording as git's: lower case, no full stop, the subject in single quotes; a next step goes on
//! a `hint:` line that can be pasted. Nothing is escaped here: `out.rs` does that when it prints.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::spec::Command;

/// The result of almost everything here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Debug)]
pub enum Error {
    Usage { message: String, nearest: Option<String>, command: Option<&'static Command> },
    NotARepository,
    UnreadableRepository { why: String },
    NoGit,
    OldGit { version: String },
    Git { doing: String, why: String },
    OddPath { path: String },
    OddFile { path: PathBuf },
    NoCommits,
    NoStart { commit: String },
    BadName { name: String, why: &'static str, slug: String },
    NotText { what: &'static str },
    CheckedOutInMain { branch: String, slug: String },
    FromExisting { branch: String, place: String },
    BranchInTheWay { branch: String, other: String },
    Root { root: PathBuf, why: String, hint: Option<String> },
    FolderTaken { path: PathBuf },
    RestoreTaken { path: PathBuf, name: String },
    Refused { name: String, why: String, force: Option<&'static str> },
    HeldInTrash { branch: String, id: String },
    UnknownTrash { name: String, nearest: Option<String> },
    NotThere { name: String, path: PathBuf, why: &'static str },
    Damaged { name: String, why: String },
    Unfinished { name: String },
    Gone { name: String },
    NotForgotten { name: String, path: PathBuf, why: String },
    Moved { name: String, path: PathBuf },
    UnknownSandbox { name: String, nearest: Option<String> },
    Ambiguous { word: String, candidates: Vec<String> },
    NotInASandbox,
    NoBase { name: String },
    NotMerged { name: String, into: Option<String>, why: String, hint: Option<String> },
    Config { key: String, value: String, wanted: &'static str },
    Io { doing: String, source: io::Error },
    NoProgram { program: String },
    NotExecutable { program: String },
    NoTmux,
    NoHome,
    NotInstalledByUs { path: PathBuf },
    Interrupted { signal: u8 },
    ClosedPipe,
}

impl Error {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Error::Usage { .. } => 129,
            Error::NoProgram { .. } => 127,
            Error::NotExecutable { .. } => 126,
            Error::Interrupted { signal } => 128 + signal,
            Error::ClosedPipe => 141,
            _ => 1,
        }
    }

    /// Whether there is anything to say: git is silent when its reader went away.
    pub fn is_silent(&self) -> bool {
        matches!(self, Error::ClosedPipe)
    }

    /// What to do about it, one line each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Error::Usage { nearest: Some(word), .. }
            | Error::UnknownSandbox { nearest: Some(word), .. }
            | Error::UnknownTrash { nearest: Some(word), .. } => {
                vec![format!("did you mean '{word}'?")]
            }
            Error::NoGit => vec!["install git 2.36 or later and put it on PATH".into()],
            Error::OldGit { .. } => vec!["install git 2.36 or later".into()],
            Error::NoCommits => {
                vec!["make one first: git commit --allow-empty -m 'Initial commit'".into()]
            }
            Error::BadName { name, slug, .. } if name.contains(char::is_whitespace) => {
                vec![format!("git sandbox new {slug} {}", shell_word(name))]
            }
            Error::BadName { slug, .. } => vec![format!("git sandbox new {slug}")],
            Error::CheckedOutInMain { branch, slug } => {
                vec![format!("git sandbox new {} --from {}", shell_word(slug), shell_word(branch))]
            }
            Error::FromExisting { branch, .. } => {
                let word = shell_word(branch);
                vec![format!("to use it as it is: git sandbox new {word}")]
            }
            Error::BranchInTheWay { branch, .. } => {
                let flat = branch.replace('/', "-");
                let other = if flat == *branch { format!("{flat}-2") } else { flat };
                vec![format!("git sandbox new {}", shell_word(&other))]
            }
            Error::NoStart { .. } => vec!["name a branch, a tag or a commit".into()],
            Error::Root { hint: Some(hint), .. } | Error::NotMerged { hint: Some(hint), .. } => {
                vec![hint.clone()]
            }
            Error::RestoreTaken { name, .. } => {
                let other = shell_word(&format!("{name}-2"));
                vec![format!("git sandbox restore {} --as {other}", shell_word(name))]
            }
            Error::Refused { name, force: Some(force), .. } => {
                let name = shell_word(name);
                vec![format!("to move it to the trash as it is: git sandbox rm {force} {name}")]
            }
            Error::HeldInTrash { id, .. } => {
                vec![format!("git sandbox restore {}", shell_word(id))]
            }
            Error::UnknownTrash { .. } => {
                vec!["'git sandbox restore' lists what can be brought back".into()]
            }
            Error::NotThere { path, .. } => vec![
                "mount the disk it is on, or, if it is gone for good:".into(),
                format!(
                    "git worktree remove --force --force {}",
                    shell_word(&path.to_string_lossy())
                ),
            ],
            Error::OddFile { path } => vec![format!("rm {}", shell_word(&path.to_string_lossy()))],
            Error::Damaged { .. } => vec!["git worktree repair".into()],
            Error::Unfinished { name } | Error::Gone { name } => {
                vec![format!("git sandbox new {}", shell_word(name))]
            }
            Error::Moved { .. } => vec!["git sandbox doctor --fix".into()],
            Error::NotForgotten { path, .. } => vec![
                "if you can do without them:".into(),
                format!(
                    "git worktree remove --force --force {}",
                    shell_word(&path.to_string_lossy())
                ),
            ],
            Error::UnknownSandbox { .. } => {
                vec!["'git sandbox list' shows what there is".into()]
            }
            Error::Ambiguous { candidates, .. } => candidates.clone(),
            Error::NoBase { .. } => vec!["name one with '--into <branch>'".into()],
            Error::NotInASandbox => vec!["name one that 'git sandbox list' shows".into()],
            Error::NoTmux => {
                vec!["install tmux, or use 'git sandbox run --background'".into()]
            }
            Error::NotInstalledByUs { path } => {
                let path = shell_word(&path.to_string_lossy());
                vec![format!("to keep it aside: mv {path} {path}.orig")]
            }
            Error::Config { key, .. } if key.contains('.') => {
                vec![format!("git config --show-origin --get-all {key}")]
            }
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage { message, .. } => f.write_str(message),
            Error::NotARepository => {
                f.write_str("git sandbox can only be used within a Git repository")
            }
            Error::UnreadableRepository { why } => write!(f, "cannot use this repository: {why}"),
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
            Error::Root { root, why, .. } => {
                write!(f, "cannot keep sandboxes in '{}': {why}", root.display())
            }
            Error::FolderTaken { path } => write!(f, "'{}' already exists", path.display()),
            Error::RestoreTaken { path, name } => {
                write!(f, "cannot restore '{name}': '{}' already exists", path.display())
            }
            Error::Refused { name, why, .. } => write!(f, "cannot remove '{name}': {why}"),
            Error::HeldInTrash { branch, .. } => {
                write!(
                    f,
                    "branch '{branch}' is held by a removed sandbox with work in progress on it"
                )
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
            Error::Config { key, value, wanted } => {
                write!(f, "bad value '{value}' for '{key}': {wanted}")
            }
            Error::Io { doing, source } => write!(f, "cannot {doing}: {}", plain(source)),
            Error::NoProgram { program } => write!(f, "cannot run '{program}': no such program"),
            Error::NotExecutable { program } => write!(f, "cannot run '{program}': not executable"),
            Error::NoTmux => f.write_str("cannot open a tmux window: tmux is not on PATH"),
            Error::NoHome => f.write_str("cannot install anything: HOME is not set"),
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

/// A word as a shell takes it, quoted only where it must be.
pub fn shell_word(word: &str) -> String {
    let bare = |c: char| c.is_alphanumeric() || "-_./+@%:,=".contains(c);
    if !word.is_empty() && word.chars().all(bare) && !word.starts_with('=') {
        word.to_owned()
    } else if word.contains(['"', '$', '`', '\\', '!']) {
        format!("'{}'", word.replace('\'', r"'\''"))
    } else {
        format!("\"{word}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_words_are_quoted_where_they_must_be() {
        assert_eq!(shell_word("feat/ui-2"), "feat/ui-2");
        assert_eq!(shell_word("Fix the bug"), "\"Fix the bug\"");
        assert_eq!(shell_word("it's"), "\"it's\"");
        assert_eq!(shell_word("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(shell_word(""), "\"\"");
    }

    #[test]
    fn system_errors_read_like_gits() {
        let error = io::Error::from_raw_os_error(13);
        assert_eq!(plain(&error), "permission denied");
    }
}
