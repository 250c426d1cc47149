//! What a sandbox changed since it left its base: committed, staged, unstaged and untracked, as one
//! difference between the commit where it left and its files.
//!
//! git compares a commit with the files that an index names. A copy of the sandbox's index is given
//! entries for untracked, conflicted and hidden files, so that git looks at those too. The sandbox's
//! own index is only read, and no object is written.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::index::Index;
use crate::git::porcelain::Record;
use crate::git::{Call, Git, porcelain};
use crate::repo::Repo;
use crate::repo::base::{Base, Bases};
use crate::sandbox::{Sandbox, record};
use crate::sys::scratch::Scratch;

/// The id of an empty file, which is never looked up: git reads the file instead.
const EMPTY_BLOB: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];
/// The id of a tree without files, which every git knows.
const EMPTY_TREE: [&str; 2] = [
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
];

/// Settings under which the copy is written: whole, and with nothing of a cache.
const WHOLE: [&str; 6] =
    ["-c", "core.splitIndex=false", "-c", "index.sparse=false", "-c", "core.untrackedCache=false"];

/// Where a sandbox left its base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The base's name; `None` where none is known.
    pub base: Option<String>,
    /// The commit that both have or, where they share none, the empty tree.
    pub commit: String,
}

impl Fork {
    /// Finds where a sandbox left its base. Without a base it is the sandbox's own commit.
    pub fn of(repo: &Repo, main: &Record, sandbox: &Sandbox) -> Result<Fork> {
        let recorded = record::read(&sandbox.entry).base;
        let bases = Bases::read(repo, main, [recorded.as_deref()])?;
        let base = bases.of(recorded.as_deref());
        let name = base.map(|base| base.name.clone());
        let empty = || EMPTY_TREE[usize::from(repo.id_length() == 32)].to_owned();
        let (Some(head), Some(base)) = (&sandbox.head, base) else {
            return Ok(Fork { base: name, commit: sandbox.head.clone().unwrap_or_else(empty) });
        };
        // With several it is the base that a merge of all of them would have.
        let others = Base::both(base).map(|branch| branch.commit.as_str());
        let answer = repo.git.at(&repo.common).look(["merge-base", head]).args(others).ask()?;
        let found = porcelain::commit(answer.stdout.trim_ascii_end());
        match answer.code {
            Some(0 | 1) => Ok(Fork { base: name, commit: found.unwrap_or_else(empty) }),
            _ => Err(Error::Git { doing: "find where it left its base".into(), why: answer.why() }),
        }
    }
}

/// The files of a sandbox, ready to be compared.
#[derive(Debug)]
pub struct Difference {
    git: Git,
    commit: String,
    index: Scratch,
    /// Repositories inside the sandbox that are not part of it, and so are not compared.
    pub nested: Vec<PathBuf>,
}

impl Difference {
    /// Prepares the comparison of a sandbox with the commit where it left its base.
    pub fn of(repo: &Repo, sandbox: &Sandbox, fork: &Fork) -> Result<Difference> {
        let git = repo.git.in_sandbox(&sandbox.path, &sandbox.entry);
        let index = Scratch::new()?;
        let copy = index.path().join("index");
        copy_index(&sandbox.entry.join("index"), &copy)?;
        let doing = "find what it changed";
        let others = ["ls-files", "--others", "--exclude-standard", "-z"];
        let (nested, mut paths): (Vec<_>, Vec<_>) =
            porcelain::paths(&git.look(others).read(doing)?)
                .into_iter()
                .partition(|path| is_folder(path));
        paths.extend(unmerged(&git.look(["ls-files", "--unmerged", "-z"]).read(doing)?));
        paths.extend(hidden(&git, repo, sandbox)?);
        if !paths.is_empty() {
            let id = EMPTY_BLOB[usize::from(repo.id_length() == 32)];
            let words = ["update-index", "--add", "--replace", "-z", "--index-info"];
            let call = git.look(WHOLE).args(words).env("GIT_INDEX_FILE", &copy);
            let answer = call.ask_with(records(id, &paths))?;
            if !answer.ok() {
                return Err(Error::Git { doing: doing.into(), why: answer.why() });
            }
        }
        Ok(Difference { git, commit: fork.commit.clone(), index, nested })
    }

    /// A `git diff` of all of it, with these options.
    pub fn call(&self, options: &[&str]) -> Call<'_> {
        let call = self.git.look(["diff"]).args(options).args([self.commit.as_str(), "--"]);
        call.env("GIT_INDEX_FILE", self.index.path().join("index"))
    }
}

/// Copies an index with its time: git reads a file again that changed when the index was written.
pub fn copy_index(from: &Path, to: &Path) -> Result<()> {
    let (bytes, time) = match fs::metadata(from).and_then(|meta| meta.modified()) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).at("read", from),
        // The time before the bytes: too old a time only makes git read more.
        Ok(time) => (fs::read(from).at("read", from)?, time),
    };
    let written = || {
        let mut file = File::create_new(to)?;
        file.write_all(&bytes)?;
        file.set_modified(time)
    };
    written().at("write", to)
}

/// git lists a repository that is not part of this one as a folder.
fn is_folder(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b"/")
}

/// The paths in `git ls-files --unmerged -z`, each once.
fn unmerged(bytes: &[u8]) -> Vec<PathBuf> {
    let records = bytes.split(|byte| *byte == 0);
    let paths = records.filter_map(|record| record.splitn(2, |byte| *byte == b'\t').nth(1));
    let mut paths: Vec<_> = paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect();
    paths.dedup();
    paths
}

/// Files that git was told not to look at and that are there.
fn hidden(git: &Git, repo: &Repo, sandbox: &Sandbox) -> Result<Vec<PathBuf>> {
    let index = Index::read(&sandbox.entry.join("index"), repo.id_length());
    if index.is_some_and(|index| !index.hides()) {
        return Ok(Vec::new());
    }
    let listed = git.look(["ls-files", "-v", "-s", "-z"]).read("list its files")?;
    let there = |path: &PathBuf| fs::symlink_metadata(sandbox.path.join(path)).is_ok();
    Ok(porcelain::flagged(&listed).paths.into_iter().filter(there).collect())
}

fn records(id: &str, paths: &[PathBuf]) -> Vec<u8> {
    let mut records = Vec::new();
    for path in paths {
        records.extend(format!("100644 {id} 0\t").into_bytes());
        records.extend(path.as_os_str().as_bytes());
        records.push(0);
    }
    records
}
