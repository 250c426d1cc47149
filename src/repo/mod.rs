//! This repository: where it is, its config, its worktrees and its lock.

pub mod base;
pub mod discover;
pub mod held;
pub mod holders;
mod hooks;
pub mod kept;
pub mod kept_pack;
pub mod link;
pub mod name;
pub mod nested;
pub mod odd;
pub mod place;
pub mod read_worktrees;
mod registry;
mod registry_cache;
pub mod request;
pub mod resolve;
pub mod root;

pub mod stamps;
pub mod start_point;
pub mod unreached;

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::error::{Error, Result};
use crate::git::config::Config;
use crate::git::porcelain::Record;
use crate::git::{self, Answer, Git, Running};
use crate::repo::discover::{Whereabouts, local_variables};
use crate::repo::link::{entry_points_to, entry_says, leads_to};
use crate::repo::odd::Odd;
use crate::repo::registry::Entry;
use crate::sys::dir;
use crate::sys::lock::Lock;
use crate::sys::path::normal;
use crate::ui::out::Out;

/// A repository and the place in it that a command was started from.
#[derive(Debug)]
pub struct Repo {
    /// Runs git there, free of variables that would lead elsewhere.
    pub git: Git,
    /// What all its worktrees share.
    pub common: PathBuf,
    /// The private git dir of the current worktree; of the main one it is `common`.
    pub git_dir: PathBuf,
    /// The current worktree's folder, if we are in one.
    pub top: Option<PathBuf>,
    /// The way from there to the folder that the command was started in.
    pub prefix: OsString,
    /// The user's config, as it applies here.
    pub config: Config,
    /// Its worktrees, if git was asked for them already.
    listing: Mutex<Option<Asked>>,
    /// The entries of git's registry, if they were read already.
    registry: Mutex<Option<Vec<Entry>>>,
    /// Whether it was found by its folders.
    plain: bool,
    /// Whether its lock was taken before, by a command whose git was not too old.
    known: bool,
}

/// A worktree as git lists it, with its private git dir.
#[derive(Clone, Debug)]
pub struct Worktree {
    /// What git says.
    pub record: Record,
    /// `<common>/worktrees/<id>`.
    pub entry: PathBuf,
}

/// All worktrees of a repository.
#[derive(Debug)]
pub struct Worktrees {
    /// The main worktree, or the bare repository.
    pub main: Record,
    /// The others.
    pub linked: Vec<Worktree>,
    /// Private git dirs with files that git never makes; git may not have listed them.
    pub odd: Vec<Odd>,
}

impl Worktrees {
    /// The same with only some of the linked ones.
    pub fn only(&self, wanted: impl Fn(&Worktree) -> bool) -> Worktrees {
        let linked = self.linked.iter().filter(|tree| wanted(tree)).cloned().collect();
        Worktrees { main: self.main.clone(), linked, odd: self.odd.clone() }
    }
}

/// The question for the worktrees, on its way, and what is wrong with some of them.
#[derive(Debug)]
struct Asked {
    running: Running,
    odd: Vec<Odd>,
}

/// What is begun while git reads its config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ahead {
    /// Nothing.
    Nothing,
    /// git is asked for the worktrees.
    Listing,
    /// The entries of git's registry are read. The repository lock must be held.
    Registry,
}

/// A repository that the folders show, before git was asked.
#[derive(Debug)]
pub struct Seen {
    git: Git,
    whereabouts: Whereabouts,
}

impl Seen {
    /// Looks for the repository of the current folder without git. Only the ordinary kind, whose
    /// lock was taken before, is seen.
    pub fn here() -> Result<Option<Seen>> {
        let git = Git::here()?;
        let whereabouts = Whereabouts::plain(git.dir());
        let known = whereabouts.filter(|seen| lock_path(&seen.common).is_file());
        Ok(known.map(|whereabouts| Seen { git, whereabouts }))
    }

    /// Takes its lock, if it is free.
    pub fn lock(&self) -> Result<Option<Lock>> {
        Lock::at_once(&lock_path(&self.whereabouts.common))
    }
}

/// Where the user is: the current folder or, from an alias, the one git came from.
pub fn user_folder() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let prefix = std::env::var_os("GIT_PREFIX").unwrap_or_default();
    let there = here.join(prefix);
    if there.is_dir() { there } else { here }
}

impl Repo {
    /// The repository of the current folder, by the environment as it came.
    pub fn discover() -> Result<Repo> {
        Repo::find(Ahead::Nothing)
    }

    /// The same for a look at its worktrees, which git is asked for at once.
    pub fn to_look_at() -> Result<Repo> {
        Repo::find(Ahead::Listing)
    }

    /// Finds the repository of a place whose lock is held already, if git agrees that it is there.
    pub fn seen(place: Seen) -> Result<Option<Repo>> {
        Repo::confirmed(&place.git, place.whereabouts, Ahead::Registry)
    }

    fn find(ahead: Ahead) -> Result<Repo> {
        let git = Git::here()?;
        let plain = Whereabouts::plain(git.dir());
        let found = plain.map(|plain| Repo::confirmed(&git, plain, ahead)).transpose()?;
        found.flatten().map_or_else(|| Repo::open(&git), Ok)
    }

    /// The repository that the folders show, if git agrees.
    fn confirmed(git: &Git, plain: Whereabouts, ahead: Ahead) -> Result<Option<Repo>> {
        let words = ["config", "--list", "-z", "--show-scope", "--show-origin"];
        let odd = if ahead == Ahead::Listing { odd::guard(&plain.common).ok() } else { None };
        let known = lock_path(&plain.common).is_file();
        // Started by a thread of its own: until a program has started, nothing else of ours goes on.
        let (answer, running, registry) = std::thread::scope(|scope| {
            let listing = odd.is_some().then(|| scope.spawn(|| git.start_worktrees()));
            let registry =
                (ahead == Ahead::Registry).then(|| scope.spawn(|| registry::read(&plain.common)));
            let answer = git.call(words).ask();
            (answer, listing.and_then(|it| it.join().ok()), registry.and_then(|it| it.join().ok()?))
        });
        let (answer, running) = (answer?, running.transpose()?);
        let listing = running.zip(odd).map(|(running, odd)| Asked { running, odd });
        let (config, files) = Config::parse_with_files(&answer.stdout);
        let top = top_of(git.dir(), &plain.prefix).filter(|_| answer.ok());
        let agreed = top.is_some_and(|top| plain.is_confirmed_by(&config, &files, top));
        let (listing, registry) = (Mutex::new(listing), Mutex::new(registry));
        let repo =
            || Repo { listing, registry, plain: true, known, ..Repo::of(git, plain, config) };
        Ok(agreed.then(repo))
    }

    /// The repository of another folder, whatever the environment says.
    pub fn at(dir: &Path) -> Result<Repo> {
        let git = Git::here()?;
        let known = local_variables(&git.call(["rev-parse", "--local-env-vars"]).ask()?.stdout);
        Repo::open(&git.bound(dir, &known))
    }

    fn open(git: &Git) -> Result<Repo> {
        // In a worktree git reads files of its entry first of all.
        if let Some(entry) = git.dir().ancestors().find_map(link::folder_points_to) {
            odd::guard_entry(&entry)?;
        }
        let config = git.call(["config", "--list", "-z"]).start()?;
        let words = ["--git-common-dir", "--git-dir", "--is-inside-work-tree", "--show-prefix"];
        let lead = ["rev-parse", "--local-env-vars", "--path-format=absolute"];
        let answer = git.call(lead.iter().chain(&words)).ask()?;
        let config = Config::parse(&config.wait()?.stdout);
        if !answer.ok() {
            return Err(outside(git, &answer));
        }
        let found = Whereabouts::parse(&answer.stdout).ok_or_else(|| odd(git))?;
        Ok(Repo::of(git, found, config))
    }

    fn of(git: &Git, found: Whereabouts, config: Config) -> Repo {
        let Whereabouts { variables, common, git_dir, inside, prefix } = found;
        let top = inside.then(|| top_of(git.dir(), &prefix)).flatten();
        // With --git-dir git takes any folder for the top, another repository's too.
        let top = top.filter(|top| leads_to(top, &git_dir)).map(Path::to_owned);
        let git = git.bound(top.as_deref().unwrap_or(&git_dir), &variables);
        let git = git.folding_case(common.join("head").exists());
        let git = hooks::left_out(&git, &common, &config);
        let (listing, registry) = (Mutex::default(), Mutex::default());
        let (plain, known) = (false, false);
        Repo { git, common, git_dir, top, prefix, config, listing, registry, plain, known }
    }

    /// Whether it is of the ordinary kind: found by its folders, and git agreed.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether refs are in tables, not in files.
    pub fn is_reftable(&self) -> bool {
        self.config.get("extensions.refstorage") == Some("reftable")
    }

    /// The length of an object id in bytes.
    pub fn id_length(&self) -> usize {
        if self.config.get("extensions.objectformat") == Some("sha256") { 32 } else { 20 }
    }

    /// Takes the repository lock: one writer at a time, git's children included. What was asked before
    /// does not count any more.
    pub fn lock(&self, out: Out) -> Result<Lock> {
        self.asked();
        self.read_ahead();
        let path = lock_path(&self.common);
        path.parent().map_or(Ok(()), dir::make)?;
        Lock::exclusive(&path, out)
    }

    /// Takes the repository lock if no other process has it.
    pub fn lock_if_free(&self) -> Result<Option<Lock>> {
        let path = lock_path(&self.common);
        path.parent().map_or(Ok(()), dir::make)?;
        Lock::at_once(&path)
    }

    fn asked(&self) -> Option<Asked> {
        self.listing.lock().ok()?.take()
    }

    fn read_ahead(&self) -> Option<Vec<Entry>> {
        self.registry.lock().ok()?.take()
    }

    fn is_registry_read(&self) -> bool {
        self.registry.lock().is_ok_and(|read| read.is_some())
    }

    /// Reads the entries of git's registry, unless that was done since the lock was taken. `None` where git
    /// has to be asked.
    fn registry(&self) -> Option<Vec<Entry>> {
        self.read_ahead().or_else(|| registry::read(&self.common))
    }

    /// Returns those of the linked worktrees whose entries hold anything but what they hold at rest, or that
    /// cannot be read without git. The repository lock must be held.
    pub fn unsettled(&self, worktrees: &Worktrees) -> Vec<Worktree> {
        let entries = self.registry().unwrap_or_default();
        let calm: HashSet<PathBuf> =
            entries.into_iter().filter(|entry| entry.is_calm).map(|entry| entry.at).collect();
        worktrees.linked.iter().filter(|tree| !calm.contains(&tree.entry)).cloned().collect()
    }

    /// Asks git for every worktree and finds the private git dir of each.
    pub fn worktrees(&self) -> Result<Worktrees> {
        let Asked { running, odd } = if let Some(asked) = self.asked() {
            asked
        } else {
            let odd = odd::guard(&self.common)?;
            Asked { running: self.git.start_worktrees()?, odd }
        };
        let mut records = self.git.finish_worktrees(running)?.into_iter();
        let Some(mut main) = records.next() else {
            let why = "git listed none".to_owned();
            return Err(Error::Git { doing: "list the worktrees".into(), why });
        };
        if self.plain && main.path.join(".git") != self.common {
            let why = format!("git takes '{}' for it", main.path.display());
            return Err(Error::UnreadableRepository { why, remedy: Vec::new() });
        }
        main.path = self.main_path(&main);
        let entries = self.entries()?;
        let linked = records.map(|record| {
            let says = |(_, entry): &(&PathBuf, &PathBuf)| entry_says(entry, &record.path);
            let found = match git::is_unresolved(&record.path) {
                true => entries.iter().find(says),
                false => entries.get_key_value(&record.path),
            };
            match found.map(|(path, entry)| (path.clone(), entry.clone())) {
                Some((path, entry)) => Worktree { record: Record { path, ..record }, entry },
                None => Worktree { record, entry: PathBuf::new() },
            }
        });
        Ok(Worktrees { linked: linked.collect(), main, odd })
    }

    /// Whether git cannot tell where the main worktree is, and names the git dir instead: from a linked
    /// worktree, where the git dir was put elsewhere.
    pub fn is_main_unknown(&self, main: &Record) -> bool {
        !main.bare && main.path == self.common
    }

    /// git takes the parent of the common dir for the main worktree, which is wrong in a submodule
    /// and where the git dir was put elsewhere.
    fn main_path(&self, listed: &Record) -> PathBuf {
        match (&self.top, self.config.get("core.worktree")) {
            (Some(top), _) if self.git_dir == self.common => top.clone(),
            (_, Some(path)) => normal(&self.common.join(path)),
            _ => listed.path.clone(),
        }
    }

    /// The folder that each private git dir says it belongs to. Where two name the same folder, one that the
    /// folder does not name, in whatever order they are read: then both are damaged, and neither is acted on.
    fn entries(&self) -> Result<HashMap<PathBuf, PathBuf>> {
        let mut found = HashMap::new();
        for entry in dir::paths_in(&self.common.join("worktrees"))? {
            let Some(path) = entry_points_to(&entry) else { continue };
            let is_named = || link::folder_points_to(&path).as_ref() == Some(&entry);
            if !found.contains_key(&path) || !is_named() {
                found.insert(path, entry);
            }
        }
        Ok(found)
    }
}

/// Where the lock of a repository is.
fn lock_path(common: &Path) -> PathBuf {
    common.join("sandbox/lock")
}

/// The folder from which `prefix` leads to `dir`.
fn top_of<'a>(dir: &'a Path, prefix: &OsStr) -> Option<&'a Path> {
    dir.ancestors().nth(Path::new(prefix).components().count())
}

/// No repository at all, or one that git will not open? Only git's exit code may be read, and it
/// is the same for both; so look for one.
fn outside(git: &Git, answer: &Answer) -> Error {
    let repository = |dir: &Path| dir.join(".git").exists() || dir.join("HEAD").is_file();
    if std::env::var_os("GIT_DIR").is_some() || git.dir().ancestors().any(repository) {
        return Error::UnreadableRepository { why: answer.why(), remedy: answer.remedy() };
    }
    Error::NotARepository
}

/// The answer of a git that is too old, or of a path with a line break in it.
fn odd(git: &Git) -> Error {
    match git.worktrees() {
        Err(error @ Error::OldGit { .. }) => error,
        _ => Error::OddPath { path: git.dir().to_string_lossy().into_owned() },
    }
}
