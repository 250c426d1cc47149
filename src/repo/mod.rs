//! This repository: where it is, its config, its worktrees and its lock.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{DirEntry, FileType};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::git::{self, Answer, Git, Running};
use crate::lock::Lock;
use crate::out::Out;
use crate::porcelain::Record;
use crate::whereabouts::{self, Whereabouts, local_variables};

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
    listing: Mutex<Option<Running>>,
    /// Whether it was found by its folders.
    plain: bool,
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
        Repo::find(false)
    }

    /// The same for a look at its worktrees, which git is asked for at once.
    pub fn to_look_at() -> Result<Repo> {
        Repo::find(true)
    }

    /// The same under its lock. Where it can be seen without git, has been locked before and is not
    /// now, the lock comes first, and git is asked for all at once.
    pub fn to_change(out: Out) -> Result<(Repo, Lock)> {
        let git = Git::here()?;
        let plain = Whereabouts::plain(git.dir());
        if let Some(plain) = plain.filter(|plain| lock_path(&plain.common).is_file())
            && let Some(lock) = Lock::at_once(&lock_path(&plain.common))?
            && let Some(repo) = Repo::confirmed(&git, plain, true)?
        {
            return Ok((repo, lock));
        }
        let repo = Repo::discover()?;
        let lock = repo.lock(out)?;
        Ok((repo, lock))
    }

    fn find(listing: bool) -> Result<Repo> {
        let git = Git::here()?;
        let plain = Whereabouts::plain(git.dir());
        let found = plain.map(|plain| Repo::confirmed(&git, plain, listing)).transpose()?;
        found.flatten().map_or_else(|| Repo::open(&git), Ok)
    }

    /// The repository that the folders show, if git agrees.
    fn confirmed(git: &Git, plain: Whereabouts, listing: bool) -> Result<Option<Repo>> {
        let words = ["config", "--list", "-z", "--show-scope", "--show-origin"];
        let list = || listing && check_entries(&plain.common).is_ok();
        // Started by a thread of its own: until a program has started, nothing else of ours goes on.
        let (answer, listing) = std::thread::scope(|scope| {
            let listing = list().then(|| scope.spawn(|| git.start_worktrees()));
            (git.call(words).ask(), listing.and_then(|listing| listing.join().ok()))
        });
        let (answer, listing) = (answer?, listing.transpose()?);
        let (config, files) = Config::parse_with_files(&answer.stdout);
        let top = top_of(git.dir(), &plain.prefix).filter(|_| answer.ok());
        let agreed = top.is_some_and(|top| plain.is_confirmed_by(&config, &files, top));
        let listing = Mutex::new(listing);
        Ok(agreed.then(|| Repo { listing, plain: true, ..Repo::of(git, plain, config) }))
    }

    /// The repository of another folder, whatever the environment says.
    pub fn at(dir: &Path) -> Result<Repo> {
        let git = Git::here()?;
        let known = local_variables(&git.call(["rev-parse", "--local-env-vars"]).ask()?.stdout);
        Repo::open(&git.bound(dir, &known))
    }

    fn open(git: &Git) -> Result<Repo> {
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
        Repo { git, common, git_dir, top, prefix, config, listing: Mutex::default(), plain: false }
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
        Lock::exclusive(&lock_path(&self.common), out)
    }

    fn asked(&self) -> Option<Running> {
        self.listing.lock().ok()?.take()
    }

    /// Asks git for every worktree and finds the private git dir of each.
    pub fn worktrees(&self) -> Result<Worktrees> {
        let asked = match self.asked() {
            Some(asked) => asked,
            None => check_entries(&self.common).and_then(|()| self.git.start_worktrees())?,
        };
        let mut records = self.git.finish_worktrees(asked)?.into_iter();
        let Some(mut main) = records.next() else {
            let why = "git listed none".to_owned();
            return Err(Error::Git { doing: "list the worktrees".into(), why });
        };
        if self.plain && main.path.join(".git") != self.common {
            let why = format!("git takes '{}' for it", main.path.display());
            return Err(Error::UnreadableRepository { why });
        }
        main.path = self.main_path(&main);
        let entries = self.entries();
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
        Ok(Worktrees { linked: linked.collect(), main })
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

    /// The folder that each private git dir says it belongs to.
    fn entries(&self) -> HashMap<PathBuf, PathBuf> {
        let Ok(folders) = std::fs::read_dir(self.common.join("worktrees")) else {
            return HashMap::new();
        };
        let pairs = folders.flatten().filter_map(|folder| {
            let entry = folder.path();
            Some((entry_points_to(&entry)?, entry))
        });
        pairs.collect()
    }
}

/// Where the lock of a repository is.
fn lock_path(common: &Path) -> PathBuf {
    common.join("sandbox.lock")
}

/// The folder from which `prefix` leads to `dir`.
fn top_of<'a>(dir: &'a Path, prefix: &OsStr) -> Option<&'a Path> {
    dir.ancestors().nth(Path::new(prefix).components().count())
}

/// git reads files of every entry: at a pipe it would wait for ever.
fn check_entries(common: &Path) -> Result<()> {
    let entries = std::fs::read_dir(common.join("worktrees")).into_iter().flatten();
    for entry in entries.flatten().map(|entry| entry.path()) {
        if let Some(path) = odd_file(&entry) {
            return Err(Error::OddFile { path });
        }
    }
    Ok(())
}

/// Something in a private git dir that git never makes: a pipe, a device, a log elsewhere.
fn odd_file(entry: &Path) -> Option<PathBuf> {
    // What git reads and writes there without a second look.
    const FOLDERS: [&str; 3] = ["logs", "rebase-merge", "rebase-apply"];
    let files = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    // A socket is the file system monitor's, and opening one does not wait.
    let blocks = |kind: FileType| kind.is_fifo() || kind.is_char_device() || kind.is_block_device();
    let odd =
        |file: &DirEntry| file.file_type().is_ok_and(|kind| kind.is_symlink() || blocks(kind));
    files(entry).find_map(|file| {
        let path = file.path();
        if FOLDERS.iter().any(|name| file.file_name() == *name) {
            let inside = || files(&path).find(odd).map(|file| file.path());
            return if odd(&file) { Some(path) } else { inside() };
        }
        // A HEAD or an index may be a symlink.
        let waits = || path.metadata().is_ok_and(|meta| blocks(meta.file_type()));
        (odd(&file) && waits()).then_some(path)
    })
}

fn entry_says(entry: &Path, path: &Path) -> bool {
    read_pointer(&entry.join("gitdir"), b"").is_some_and(|text| text == path.join(".git"))
}

/// The worktree folder that a private git dir names in its `gitdir`.
pub fn entry_points_to(entry: &Path) -> Option<PathBuf> {
    let text = read_pointer(&entry.join("gitdir"), b"")?;
    let dot_git = normal(&entry.join(text));
    if dot_git.file_name()? == ".git" {
        dot_git.parent().map(Path::to_owned)
    } else {
        Some(dot_git)
    }
}

/// Whether two paths lead to one folder.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    one == other || real(one).is_some_and(|one| real(other) == Some(one))
}

/// Whether a folder is shown to be a worktree of another repository: it and an entry there name each
/// other. Whoever else names it has lost its own.
pub fn is_another_repositorys(folder: &Path, entry: &Path) -> bool {
    let common = |entry: &Path| entry.parent().and_then(Path::parent).map(Path::to_owned);
    let (Some(other), Some(ours)) = (folder_points_to(folder), common(entry)) else { return false };
    let Some(theirs) = common(&other) else { return false };
    let place = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    let listed = place(&theirs.join("worktrees")) == other.parent().and_then(place);
    // One repository may go by several paths.
    let elsewhere = place(&theirs).is_some() && place(&theirs) != place(&ours);
    let named = entry_points_to(&other).as_deref() == Some(folder);
    listed && elsewhere && named && whereabouts::is_entry(&other, &theirs)
}

/// Whether a folder's `.git` is this git dir, or names it.
fn leads_to(folder: &Path, git_dir: &Path) -> bool {
    let dot_git = folder.join(".git");
    let named = if dot_git.is_dir() { Some(dot_git) } else { folder_points_to(folder) };
    named.is_some_and(|named| is_same(&named, git_dir))
}

/// The private git dir that a worktree folder names in its `.git` file.
pub fn folder_points_to(folder: &Path) -> Option<PathBuf> {
    let file = folder.join(".git");
    if !file.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
        return None;
    }
    Some(normal(&folder.join(read_pointer(&file, b"gitdir: ")?)))
}

fn read_pointer(file: &Path, lead: &[u8]) -> Option<PathBuf> {
    parse_pointer(&crate::file::read_small(file).ok()?, lead)
}

fn parse_pointer(bytes: &[u8], lead: &[u8]) -> Option<PathBuf> {
    let text = bytes.strip_prefix(lead)?.trim_ascii_end();
    let path = !text.is_empty() && !text.contains(&0);
    path.then(|| PathBuf::from(OsStr::from_bytes(text)))
}

/// The path without `..`: as the file system has it or, where it is not there, as it reads.
pub fn normal(path: &Path) -> PathBuf {
    let dots = path.components().any(|part| part == Component::ParentDir);
    if dots { path.canonicalize().unwrap_or_else(|_| tidy(path)) } else { path.to_owned() }
}

/// The path without `..`, as it reads.
pub fn tidy(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut so_far, part| {
        match part {
            Component::ParentDir => drop(so_far.pop()),
            Component::CurDir => {}
            other => so_far.push(other),
        }
        so_far
    })
}

/// No repository at all, or one that git will not open? Only git's exit code may be read, and it
/// is the same for both; so look for one.
fn outside(git: &Git, answer: &Answer) -> Error {
    let repository = |dir: &Path| dir.join(".git").exists() || dir.join("HEAD").is_file();
    if std::env::var_os("GIT_DIR").is_some() || git.dir().ancestors().any(repository) {
        return Error::UnreadableRepository { why: answer.why() };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz;

    #[test]
    fn paths_that_are_gone_are_still_tidied() {
        assert_eq!(normal(Path::new("/nowhere/a/../b/./c")), Path::new("/nowhere/b/c"));
        assert_eq!(normal(Path::new("/nowhere/a")), Path::new("/nowhere/a"));
    }

    #[test]
    fn fuzz_pointers() {
        let real = [b"gitdir: /a/.git/worktrees/x\n".as_slice(), b"../../w/.git\n"];
        fuzz::damaged(&real, |input| {
            for lead in [b"gitdir: ".as_slice(), b""] {
                let Some(path) = parse_pointer(input, lead) else { continue };
                let bytes = path.as_os_str().as_bytes();
                assert!(input.starts_with(&[lead, bytes].concat()));
                assert!(!bytes.is_empty() && !bytes.contains(&0) && !bytes.ends_with(b"\n"));
                let tidied = tidy(&path);
                assert!(tidied.components().all(|part| part != Component::ParentDir));
                assert_eq!(tidy(&tidied), tidied);
            }
        });
    }
}
