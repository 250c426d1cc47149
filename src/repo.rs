//! This repository: where it is, its config, its worktrees and its lock.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{DirEntry, FileType};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::git::{self, Answer, Git};
use crate::lock::Lock;
use crate::out::Out;
use crate::porcelain::Record;

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
        Repo::open(&Git::here()?)
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
        let Whereabouts { variables, common, git_dir, inside, prefix } = found;
        let depth = Path::new(&prefix).components().count();
        let top = inside.then(|| git.dir().ancestors().nth(depth)).flatten();
        // With --git-dir git takes any folder for the top, another repository's too.
        let top = top.filter(|top| leads_to(top, &git_dir));
        let runs_in = top.unwrap_or(&git_dir);
        Ok(Repo {
            git: git.bound(runs_in, &variables),
            common,
            top: top.map(Path::to_owned),
            git_dir,
            prefix,
            config,
        })
    }

    /// Whether refs are in tables, not in files.
    pub fn is_reftable(&self) -> bool {
        self.config.get("extensions.refstorage") == Some("reftable")
    }

    /// The length of an object id in bytes.
    pub fn id_length(&self) -> usize {
        if self.config.get("extensions.objectformat") == Some("sha256") { 32 } else { 20 }
    }

    /// Takes the repository lock: one writer at a time, git's children included.
    pub fn lock(&self, out: Out) -> Result<Lock> {
        Lock::exclusive(&self.common.join("sandbox.lock"), out)
    }

    /// Asks git for every worktree and finds the private git dir of each.
    pub fn worktrees(&self) -> Result<Worktrees> {
        self.check_entries()?;
        let mut records = self.git.worktrees()?.into_iter();
        let Some(mut main) = records.next() else {
            let why = "git listed none".to_owned();
            return Err(Error::Git { doing: "list the worktrees".into(), why });
        };
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

    /// git reads files of every entry: at a pipe it would wait for ever.
    fn check_entries(&self) -> Result<()> {
        let entries = std::fs::read_dir(self.common.join("worktrees")).into_iter().flatten();
        for entry in entries.flatten().map(|entry| entry.path()) {
            if let Some(path) = odd_file(&entry) {
                return Err(Error::OddFile { path });
            }
        }
        Ok(())
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

/// Whether a folder is shown to be a worktree of another repository: it and an entry there name each
/// other. Whoever else names it has lost its own.
pub fn is_another_repositorys(folder: &Path, entry: &Path) -> bool {
    let Some(other) = folder_points_to(folder) else { return false };
    let elsewhere = entry.parent().is_some_and(|worktrees| !other.starts_with(worktrees));
    elsewhere && other != entry && entry_points_to(&other).as_deref() == Some(folder)
}

/// Whether a folder's `.git` is this git dir, or names it.
fn leads_to(folder: &Path, git_dir: &Path) -> bool {
    let dot_git = folder.join(".git");
    let named = if dot_git.is_dir() { Some(dot_git) } else { folder_points_to(folder) };
    let real = |path: &Path| path.canonicalize().ok();
    named.is_some_and(|named| {
        named == git_dir || real(&named).is_some_and(|path| Some(path) == real(git_dir))
    })
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

/// What `git rev-parse` tells of the current folder.
struct Whereabouts {
    variables: Vec<String>,
    common: PathBuf,
    git_dir: PathBuf,
    inside: bool,
    prefix: OsString,
}

impl Whereabouts {
    fn parse(stdout: &[u8]) -> Option<Whereabouts> {
        let variables = local_variables(stdout);
        let lines: Vec<&[u8]> = stdout.split(|byte| *byte == b'\n').skip(variables.len()).collect();
        let [common, git_dir, inside @ (b"true" | b"false"), prefix @ .., b""] = &lines[..] else {
            return None;
        };
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        Some(Whereabouts {
            variables,
            common: path(common),
            git_dir: path(git_dir),
            inside: *inside == b"true",
            prefix: OsString::from_vec(prefix.join(&b'\n')),
        })
        .filter(|found| found.common.is_absolute())
    }
}

fn local_variables(stdout: &[u8]) -> Vec<String> {
    let lines = stdout.split(|byte| *byte == b'\n').take_while(|line| line.starts_with(b"GIT_"));
    lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect()
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

    #[test]
    fn fuzz_whereabouts() {
        let real = [
            b"GIT_DIR\nGIT_PREFIX\n/a/.git\n/a/.git/worktrees/x\ntrue\nsub/dir/\n".as_slice(),
            b"GIT_DIR\n/b.git\n/b.git\nfalse\n\n",
        ];
        fuzz::damaged(&real, |input| {
            let Some(found) = Whereabouts::parse(input) else { return };
            assert!(found.common.is_absolute());
            assert!(found.variables.iter().all(|name| name.starts_with("GIT_")));
            for piece in [found.common.as_os_str(), found.git_dir.as_os_str(), &found.prefix] {
                assert!(fuzz::contains(input, piece.as_bytes()));
            }
        });
    }
}
