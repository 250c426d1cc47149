//! What a sandbox is: found by name, its state, its class and when it was last used.
//!
//! Everything is read live from git and the file system.

pub mod all_repos;
pub mod confined;
pub mod difference;
pub mod divergence;
pub mod facts;
pub mod history;
pub mod holding;
pub mod in_use;
pub mod journal;
pub mod mark;
pub mod merged;
pub mod named;
pub mod overview;
pub mod port;
pub mod precious;
pub mod pristine;
pub mod program_name;
pub mod record;
pub mod report;
pub mod reporter;
pub mod retention;
pub mod runs;
mod state;
mod untouched;
pub mod verdict;

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use chrono::DateTime;

pub use state::{Damage, State};

use crate::error::Result;
use crate::git::Git;
use crate::git::porcelain::{self, Status};
use crate::git::refs::short;
use crate::repo::name::EXPLORATION;
use crate::repo::odd::Odd;
use crate::repo::place::Place;
use crate::repo::{Worktree, Worktrees, holders, link};
use crate::sandbox::mark::{CREATING, Pin};
use crate::sys::clock::Time;
use crate::sys::{file, parallel, path};

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
    /// Whether its folder says that it is an exploration.
    pub explores: bool,
    /// Whether it can be used.
    pub state: State,
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
        let held = record.branch.is_none().then(|| holders::branch_held_by(&tree.entry)).flatten();
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
            explores: is_exploration(&record.path),
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
            explores: is_exploration(folder),
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
            _ if self.explores && self.branch.is_none() => Class::Transient,
            _ => Class::Persistent,
        }
    }

    /// The operation in progress.
    pub fn operation(&self, git: &Git, reftable: bool) -> Option<&'static str> {
        let git = git.in_sandbox(&self.path, &self.entry);
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
        let git = git.in_sandbox(&self.path, &self.entry);
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
        porcelain::made_commits(&file::read(&self.entry.join("logs/HEAD")).unwrap_or_default())
    }

    fn read_reflog(&self) -> Option<Time> {
        let bytes = file::read(&self.entry.join("logs/HEAD")).ok()?;
        DateTime::from_timestamp(porcelain::last_reflog_time(&bytes)?, 0)
    }

    fn asked_reflog(&self, git: &Git) -> Option<Time> {
        let words = ["log", "-g", "-1", "--format=%gd", "--date=unix", "HEAD", "--"];
        let git = git.in_sandbox(&self.path, &self.entry);
        let line = git.look(words).line("read the reflog").ok()?;
        let text = line.to_str()?.strip_prefix("HEAD@{")?.strip_suffix('}')?;
        DateTime::from_timestamp(text.parse().ok()?, 0)
    }
}

fn is_exploration(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.as_bytes().starts_with(EXPLORATION.as_bytes()))
}

/// Every sandbox of the repository.
pub fn all(worktrees: &Worktrees, place: &Place) -> Vec<Sandbox> {
    let linked = worktrees.linked.iter().filter(|tree| mark::is_sandbox(&tree.record));
    let linked: Vec<&Worktree> = linked.collect();
    let mut all = parallel::map(&linked, |tree| standing(tree, place));
    for Odd { entry, file } in &worktrees.odd {
        let state = State::Damaged(Damage::OddFile(file.clone()));
        match all.iter_mut().find(|sandbox| sandbox.entry == *entry) {
            Some(sandbox) => sandbox.state = state,
            // git does not list it, but its folder may be ours.
            None => all.extend(place.folder_of(entry).map(|folder| Sandbox {
                state,
                managed: manages(place, &folder, entry),
                ..Sandbox::in_trash(&folder, entry)
            })),
        }
    }
    all
}

/// Every linked worktree of the repository, whatever it is for.
pub fn every(worktrees: &Worktrees, place: &Place) -> Vec<Sandbox> {
    parallel::map(&worktrees.linked, |tree| standing(tree, place))
}

fn standing(tree: &Worktree, place: &Place) -> Sandbox {
    let path = &tree.record.path;
    let managed = manages(place, path, &tree.entry);
    let bare = place.bare_name(path).filter(|_| managed).map(PathBuf::from);
    let explores = is_exploration(bare.as_deref().unwrap_or(path));
    Sandbox { explores, ..Sandbox::of(tree, managed) }
}

/// Whether a worktree stands where sandboxes do. Among other folders only what we made is ours.
fn manages(place: &Place, folder: &Path, entry: &Path) -> bool {
    place.manages(folder) && (place.shared_home().is_none() || record::is_there(entry))
}

/// Branch and state in a few words, from the listing and a look into the folder: for completion,
/// which has no time to ask git for more. Of the entry only what the folder says is known.
pub fn in_brief(tree: &Worktree, git: &Git) -> String {
    let entry = link::folder_points_to(&tree.record.path).unwrap_or_default();
    let sandbox = Sandbox::of(&Worktree { record: tree.record.clone(), entry }, true);
    let mut words = vec![sandbox.branch_text().unwrap_or_else(|| "detached".to_owned())];
    if !crate::git::is_unresolved(&sandbox.path) {
        let operation = sandbox.operation(git, false).filter(|_| sandbox.state == State::Ready);
        words.push(operation.unwrap_or(sandbox.state.word()).to_owned());
    }
    words.extend(sandbox.locked.filter(|reason| reason != CREATING).map(|_| "locked".to_owned()));
    words.join(", ")
}

fn state(tree: &Worktree) -> State {
    let folder = &tree.record.path;
    let meta = match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return State::Missing,
        Err(_) => return State::Damaged(Damage::Unreadable),
        Ok(meta) => meta,
    };
    if tree.record.locked.as_deref() == Some(CREATING) {
        return State::Creating;
    }
    match link::folder_points_to(folder) {
        _ if meta.is_symlink() => State::Damaged(Damage::Symlink),
        _ if !meta.is_dir() => State::Damaged(Damage::NotAFolder),
        None => State::Damaged(Damage::NoGitFile),
        Some(entry) if path::is_same(&entry, &tree.entry) => State::Ready,
        // What an operation in progress knows is nowhere else.
        Some(_)
            if link::is_another_repositorys(folder, &tree.entry)
                && operation_in(&tree.entry, |_| false).is_none() =>
        {
            State::Missing
        }
        Some(_) => State::Damaged(Damage::OtherEntry),
    }
}

/// The operation that a private git dir tells of. With reftable two of its refs are in the table.
fn operation_in(entry: &Path, in_table: impl Fn(&str) -> bool) -> Option<&'static str> {
    let there = |name: &str| entry.join(name).exists();
    let is_ref = |name: &str| there(name) || in_table(name);
    let sequenced = |word: &[u8]| {
        let mut start = Vec::new();
        let todo = file::open(&entry.join("sequencer/todo"));
        let read = todo.and_then(|todo| todo.take(16).read_to_end(&mut start));
        read.is_ok() && start.starts_with(word)
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
