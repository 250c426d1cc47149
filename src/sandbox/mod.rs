//! What a sandbox is: found by name, its state, its class and when it was last used.
//!
//! Everything is read live from git and the file system.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use chrono::DateTime;

use crate::error::{Error, Result, shell_word};
use crate::file;
use crate::git::Git;
use crate::journal::Pin;
use crate::name::EXPLORATION;
use crate::place::Place;
use crate::porcelain::{self, Record, Status};
use crate::repo::{self, Repo, Worktree, Worktrees};
use crate::spare;
use crate::time::Time;

/// The lock reason of a sandbox that is being made.
pub const CREATING: &str = "git-sandbox: creating";
/// The lock reason of a worktree that a merge uses for a while.
pub const MERGING: &str = "git-sandbox: merging";

/// A linked worktree.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// Its folder.
    pub path: PathBuf,
    /// Its private git dir.
    pub entry: PathBuf,
    /// Its commit.
    pub head: Option<String>,
    /// Its branch, also while a rebase or bisect holds it.
    pub branch: Option<OsString>,
    /// Whether HEAD is on no branch, as it is while rebasing.
    pub detached: bool,
    /// The lock reason.
    pub locked: Option<String>,
    /// Whether it stands below the root in force.
    pub managed: bool,
    /// Whether it can be used.
    pub state: State,
}

/// Whether a sandbox can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It can.
    Ready,
    /// It is being made, or a crash left it half made.
    Creating,
    /// Its folder is not there.
    Missing,
    /// Its repository cannot be reached.
    Orphan,
    /// Folder and entry do not belong together.
    Damaged(&'static str),
}

impl State {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            State::Ready => "ready",
            State::Creating => "creating",
            State::Missing => "missing",
            State::Orphan => "orphan",
            State::Damaged(_) => "damaged",
        }
    }

    /// What is wrong, if something is.
    pub fn problem(&self) -> Option<&'static str> {
        match self {
            State::Ready => None,
            State::Creating => Some("it is being created, or its creation was interrupted"),
            State::Missing => Some("its folder is not there"),
            State::Orphan => Some("its repository cannot be reached"),
            State::Damaged(why) => Some(why),
        }
    }
}

/// How long a sandbox is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// An exploration without a branch.
    Transient,
    /// Everything else.
    Persistent,
    /// One whose repository cannot be reached.
    Orphan,
}

impl Class {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Class::Transient => "transient",
            Class::Persistent => "persistent",
            Class::Orphan => "orphan",
        }
    }
}

impl Sandbox {
    fn of(tree: &Worktree, managed: bool) -> Sandbox {
        let record = &tree.record;
        let held = record.branch.is_none().then(|| branch_held_by(&tree.entry)).flatten();
        Sandbox {
            path: record.path.clone(),
            entry: tree.entry.clone(),
            head: record.head.clone(),
            branch: record.branch.as_deref().map(short).or(held),
            detached: record.branch.is_none(),
            // A removal that a crash stopped early has not happened.
            locked: match record.locked.as_deref().and_then(Pin::parse) {
                Some(pin) => pin.users_lock(),
                None => record.locked.clone(),
            },
            managed,
            state: state(tree),
        }
    }

    /// A folder below the root whose repository cannot be reached.
    pub fn orphan(folder: &Path) -> Sandbox {
        Sandbox { state: State::Orphan, ..Sandbox::in_trash(folder, Path::new("")) }
    }

    /// The files of a removed one.
    pub fn in_trash(folder: &Path, entry: &Path) -> Sandbox {
        Sandbox {
            path: folder.to_owned(),
            entry: entry.to_owned(),
            head: None,
            branch: None,
            detached: true,
            locked: None,
            managed: true,
            state: State::Ready,
        }
    }

    /// The folder's name, which is the sandbox's.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// The branch as text.
    pub fn branch_text(&self) -> Option<String> {
        self.branch.as_ref().map(|branch| branch.to_string_lossy().into_owned())
    }

    /// By the folder's name and what HEAD is now; whenever in doubt, the longer-kept class.
    pub fn class(&self) -> Class {
        match self.state {
            State::Orphan => Class::Orphan,
            _ if self.name().starts_with(EXPLORATION) && self.branch.is_none() => Class::Transient,
            _ => Class::Persistent,
        }
    }

    /// The operation in progress.
    pub fn operation(&self, git: &Git, reftable: bool) -> Option<&'static str> {
        let git = git.at(&self.path);
        let ask = |name: &str| git.look(["rev-parse", "--verify", "--quiet", name]).ask();
        operation_in(&self.entry, |name| reftable && ask(name).is_ok_and(|answer| answer.ok()))
    }

    /// git's account of the files; an error is the reason there is none.
    ///
    /// Of an idle one the index is refreshed: right after a checkout git would otherwise read every
    /// file again each time. Beside others, git need not share its own work out among the cores.
    pub fn status(&self, git: &Git, idle: bool, beside_others: bool) -> Result<Status, String> {
        const WORDS: [&str; 6] = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=all",
            "--ignore-submodules=dirty",
        ];
        let git = git.in_worktree(&self.path);
        let alone: &[&str] = if beside_others { &["-c", "core.preloadIndex=false"] } else { &[] };
        let words = alone.iter().chain(&WORDS);
        let call = if idle { git.refresh(words) } else { git.look(words) };
        let answer = call.ask().map_err(|error| error.to_string())?;
        if !answer.ok() {
            return Err(answer.why());
        }
        porcelain::status(&answer.stdout).ok_or_else(|| "git status cannot be understood".into())
    }

    /// The newest of the folder's own time, the last entry of HEAD's reflog, and the times of the
    /// files that git reports changed or untracked. A time in the future counts as now.
    pub fn last_used(
        &self,
        git: &Git,
        reftable: bool,
        changed: &[PathBuf],
        now: Time,
    ) -> Option<Time> {
        let modified =
            |path: &Path| fs::symlink_metadata(path).and_then(|meta| meta.modified()).ok();
        let folder = modified(&self.path).map(Time::from);
        let reflog = if reftable { self.asked_reflog(git) } else { self.read_reflog() };
        let files = changed.iter().filter_map(|path| modified(&self.path.join(path)));
        let times = folder.into_iter().chain(reflog).chain(files.map(Time::from));
        times.map(|time| time.min(now)).max()
    }

    /// Whether commits were made in it, as far as its reflog tells.
    pub fn made_commits(&self) -> bool {
        porcelain::made_commits(&fs::read(self.entry.join("logs/HEAD")).unwrap_or_default())
    }

    fn read_reflog(&self) -> Option<Time> {
        let bytes = file::read(&self.entry.join("logs/HEAD")).ok()?;
        DateTime::from_timestamp(porcelain::last_reflog_time(&bytes)?, 0)
    }

    fn asked_reflog(&self, git: &Git) -> Option<Time> {
        let words = ["log", "-g", "-1", "--format=%gd", "--date=unix", "HEAD", "--"];
        let line = git.at(&self.path).look(words).line("read the reflog").ok()?;
        let text = line.to_str()?.strip_prefix("HEAD@{")?.strip_suffix('}')?;
        DateTime::from_timestamp(text.parse().ok()?, 0)
    }
}

/// Whether a linked worktree is a sandbox: not in the trash, no spare, and none that a merge uses.
pub fn is_one(record: &Record) -> bool {
    let merging = record.locked.as_deref() == Some(MERGING);
    !Pin::is_in_trash(record) && !spare::is_one(record) && !merging
}

/// Every sandbox of the repository.
pub fn all(worktrees: &Worktrees, place: &Place) -> Vec<Sandbox> {
    let linked = worktrees.linked.iter().filter(|tree| is_one(&tree.record));
    linked.map(|tree| Sandbox::of(tree, place.manages(&tree.record.path))).collect()
}

/// Branch and state in a few words, from the listing and a look into the folder: for completion,
/// which has no time to ask git for more. Of the entry only what the folder says is known.
pub fn in_brief(tree: &Worktree, git: &Git) -> String {
    let entry = repo::folder_points_to(&tree.record.path).unwrap_or_default();
    let sandbox = Sandbox::of(&Worktree { record: tree.record.clone(), entry }, true);
    let mut words = vec![sandbox.branch_text().unwrap_or_else(|| "detached".to_owned())];
    if !crate::git::is_unresolved(&sandbox.path) {
        let operation = sandbox.operation(git, false).filter(|_| sandbox.state == State::Ready);
        words.push(operation.unwrap_or(sandbox.state.word()).to_owned());
    }
    words.extend(sandbox.locked.filter(|reason| reason != CREATING).map(|_| "locked".to_owned()));
    words.join(", ")
}

/// The one that a word means: a folder's name, a branch, `refs/heads/...` or a path.
pub fn find<'a>(sandboxes: &'a [Sandbox], word: &OsStr) -> Result<&'a Sandbox> {
    let path = repo::user_folder().join(word);
    let path = path.canonicalize().unwrap_or(path);
    let by_path = sandboxes.iter().find(|sandbox| sandbox.path == path);
    let full = word.as_bytes().strip_prefix(b"refs/heads/").map(OsStr::from_bytes);
    let has_branch = |sandbox: &Sandbox, name: &OsStr| sandbox.branch.as_deref() == Some(name);
    if let Some(name) = full
        && let Some(sandbox) = sandboxes.iter().find(|sandbox| has_branch(sandbox, name))
    {
        return Ok(sandbox);
    }
    let slashed = word.as_bytes().contains(&b'/');
    let means =
        |sandbox: &&Sandbox| sandbox.path.file_name() == Some(word) || has_branch(sandbox, word);
    let found: Vec<&Sandbox> = sandboxes.iter().filter(means).collect();
    match (&found[..], by_path) {
        ([one], _) => Ok(one),
        ([], Some(sandbox)) if slashed || word == "." || word == ".." => Ok(sandbox),
        ([], _) => Err(unknown(sandboxes, word)),
        _ => Err(ambiguous(&found, word)),
    }
}

/// The sandbox that a command was started in.
pub fn current<'a>(sandboxes: &'a [Sandbox], repo: &Repo) -> Result<&'a Sandbox> {
    sandboxes.iter().find(|sandbox| sandbox.entry == repo.git_dir).ok_or(Error::NotInASandbox)
}

fn unknown(sandboxes: &[Sandbox], word: &OsStr) -> Error {
    let name = word.to_string_lossy().into_owned();
    let branches = sandboxes.iter().filter_map(Sandbox::branch_text);
    let known = sandboxes.iter().map(Sandbox::name).chain(branches);
    Error::UnknownSandbox { nearest: crate::args::nearest(&name, known), name }
}

fn ambiguous(found: &[&Sandbox], word: &OsStr) -> Error {
    let spelled = found.iter().map(|sandbox| match &sandbox.branch {
        Some(branch) if branch == word => format!("refs/heads/{}", branch.to_string_lossy()),
        _ => shell_word(&sandbox.path.to_string_lossy()),
    });
    let candidates = spelled.map(|spelled| format!("it could be {spelled}")).collect();
    Error::Ambiguous { word: word.to_string_lossy().into_owned(), candidates }
}

/// `refs/heads/x` as `x`.
pub fn short(full: &OsStr) -> OsString {
    let bytes = full.as_bytes();
    OsStr::from_bytes(bytes.strip_prefix(b"refs/heads/").unwrap_or(bytes)).to_owned()
}

/// The branch that a rebase or bisect in this git dir will go back to: git lists such a worktree
/// as detached, yet keeps the branch from everybody else.
pub fn branch_held_by(git_dir: &Path) -> Option<OsString> {
    let read = |name: &str| {
        let bytes = file::read_small(&git_dir.join(name)).ok()?;
        Some(OsStr::from_bytes(bytes.trim_ascii_end()).to_owned())
    };
    let rebased = read("rebase-merge/head-name").or_else(|| read("rebase-apply/head-name"));
    match rebased {
        Some(full) if full.as_bytes().starts_with(b"refs/heads/") => Some(short(&full)),
        Some(_) => None,
        // A bisect started from a detached HEAD names a commit here.
        None => read("BISECT_START").filter(|start| porcelain::commit(start.as_bytes()).is_none()),
    }
    .filter(|branch| !branch.is_empty())
}

fn state(tree: &Worktree) -> State {
    let folder = &tree.record.path;
    let meta = match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return State::Missing,
        Err(_) => return State::Damaged("its folder cannot be read"),
        Ok(meta) => meta,
    };
    if tree.record.locked.as_deref() == Some(CREATING) {
        return State::Creating;
    }
    match repo::folder_points_to(folder) {
        _ if meta.is_symlink() => State::Damaged("its folder is a symlink"),
        _ if !meta.is_dir() => State::Damaged("its folder is a file"),
        None => State::Damaged("its '.git' file is missing or not understood"),
        Some(entry) if repo::is_same(&entry, &tree.entry) => State::Ready,
        // What an operation in progress knows is nowhere else.
        Some(_)
            if repo::is_another_repositorys(folder, &tree.entry)
                && operation_in(&tree.entry, |_| false).is_none() =>
        {
            State::Missing
        }
        Some(_) => State::Damaged("its '.git' file leads to another entry"),
    }
}

/// The operation that a private git dir tells of. With reftable two of its refs are in the table.
fn operation_in(entry: &Path, in_table: impl Fn(&str) -> bool) -> Option<&'static str> {
    let there = |name: &str| entry.join(name).exists();
    let is_ref = |name: &str| there(name) || in_table(name);
    let sequenced = |word: &[u8]| {
        file::read(&entry.join("sequencer/todo")).unwrap_or_default().starts_with(word)
    };
    Some(match () {
        () if there("rebase-merge") => "rebase",
        () if there("rebase-apply/applying") => "am",
        () if there("rebase-apply") => "rebase",
        () if there("MERGE_HEAD") => "merge",
        () if is_ref("CHERRY_PICK_HEAD") || sequenced(b"pick") => "cherry-pick",
        () if is_ref("REVERT_HEAD") || sequenced(b"revert") => "revert",
        () if there("BISECT_LOG") => "bisect",
        () => return None,
    })
}
