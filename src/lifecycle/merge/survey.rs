//! Whether a commit can be landed in a checkout: looked at without a change, for a dry run as well.
//!
//! git's own rules decide, by `read-tree -n` on a copy of the index, but for files that it does not
//! track: `untracked` finds all of those, while git overwrites some. Where our own reading of the index
//! shows that every file that would be written is as git left it, git need not be asked.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::checkout::Checkout;
use super::land_journal::{Files, Stamp};
use super::obstacle::{Obstacle, Step};
use super::untracked;
use crate::error::{Error, Result};
use crate::git::index::Index;
use crate::git::porcelain::{self, Change};
use crate::git::{Answer, Call, Git};
use crate::repo::Repo;
use crate::sandbox::pristine;

/// For a git that works on an index of ours: whole, trusting no more than it must, and staying out of
/// submodules.
const SETTINGS: [&str; 8] = [
    "-c",
    "core.splitIndex=false",
    "-c",
    "core.trustctime=true",
    "-c",
    "core.checkStat=default",
    "-c",
    "submodule.recurse=false",
];

/// A checkout and the two commits, or trees, between which it is to go.
#[derive(Clone, Copy, Debug)]
pub struct Survey<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// The checkout.
    pub checkout: &'a Checkout,
    /// Where it is.
    pub old: &'a str,
    /// Where it is to go.
    pub new: &'a str,
}

/// A checkout in which nothing is in the way.
#[derive(Debug)]
pub struct Clear {
    /// What differs between the two commits.
    pub changes: Vec<Change>,
    /// Paths among those that are not there now, though the old commit has them.
    pub absent: Vec<PathBuf>,
    /// The index that this is about.
    pub stamp: Stamp,
}

impl Survey<'_> {
    fn git(&self) -> Git {
        self.repo.git.at(&self.checkout.path)
    }

    /// Looks at everything; `index` is where a copy of the index, refreshed, is made if need be.
    pub fn look(&self, index: &Path) -> Step<Clear> {
        let git = self.git();
        self.checkout.is_idle(&git, self.repo.is_reftable())?;
        let files = Files::of(&self.checkout.git_dir);
        if !files.users_index().exists() {
            return Err(Obstacle::NoIndex { folder: self.checkout.path.clone() }.into());
        }
        let stamp = files.stamp()?;
        let changes = changes(&git, self.old, self.new)?;
        self.nothing_untracked(&changes)?;
        let there = |path: &Path| self.checkout.path.join(path).symlink_metadata().is_ok();
        let gone = |change: &&Change| change.old.is_some() && !there(&change.path);
        let absent: Vec<PathBuf> =
            changes.iter().filter(gone).map(|change| change.path.clone()).collect();
        if !absent.is_empty() || !self.is_as_left(&changes) {
            self.ask(&git, &files, index, &changes)?;
        }
        Ok(Clear { changes, absent, stamp })
    }

    /// Whether the index has exactly the old commit's entry for every path that differs, and every
    /// such file is as git wrote it. A no proves nothing.
    fn is_as_left(&self, changes: &[Change]) -> bool {
        let path = self.checkout.git_dir.join("index");
        let Some(index) = Index::read(&path, self.repo.id_length()) else { return false };
        let Some(top) = pristine::open_top(&self.checkout.path) else { return false };
        let as_left = |change: &Change| {
            let number = index.find(change.path.as_os_str().as_bytes());
            match (number, &change.old) {
                (None, None) => true,
                (Some(number), Some(old)) => {
                    index.id(number) == old.id && pristine::is_file_untouched(&top, &index, number)
                }
                _ => false,
            }
        };
        !index.has_conflict() && changes.iter().all(as_left)
    }

    /// Asks git, about a refreshed copy of the index.
    fn ask(&self, git: &Git, files: &Files, index: &Path, changes: &[Change]) -> Step<()> {
        files.copy_index(index)?;
        // Its exit code only says that some files differ.
        with_index(git, index, &["update-index", "-q", "--refresh"]).ask()?;
        let words = ["read-tree", "-n", "-m", "-u", "--no-recurse-submodules", self.old, self.new];
        let answer = with_index(git, index, &words).ask()?;
        if answer.ok() { Ok(()) } else { Err(self.refusal(&answer, changes)?.into()) }
    }

    /// Why git would not do it: as far as `git status` tells, by the files.
    fn refusal(&self, answer: &Answer, changes: &[Change]) -> Result<Obstacle> {
        let words = ["status", "--porcelain=v2", "-z", "--untracked-files=all"];
        let git = self.git();
        let status = git.look(words).arg("--ignore-submodules=all").read("read the changes")?;
        let folder = self.checkout.path.clone();
        let Some(status) = porcelain::status(&status) else {
            return Ok(Obstacle::Git(answer.why()));
        };
        if status.conflicted > 0 {
            return Ok(Obstacle::Conflicts { folder });
        }
        let near = |path: &&PathBuf| {
            let touches = |it: &Path| it.starts_with(path) || path.starts_with(it);
            changes.iter().any(|change| touches(&change.path))
        };
        let files: Vec<PathBuf> = status.paths.iter().filter(near).cloned().collect();
        Ok(match files.is_empty() {
            true => Obstacle::Git(answer.why()),
            false => Obstacle::Changed { folder, files },
        })
    }

    /// Stops where something that git does not track stands where a file would come, above or below.
    pub fn nothing_untracked(&self, changes: &[Change]) -> Step<()> {
        let folder = &self.checkout.path;
        let files = untracked::in_the_way(&self.repo.git, folder, changes)?;
        match files.is_empty() {
            true => Ok(()),
            false => Err(Obstacle::Untracked { folder: folder.clone(), files }.into()),
        }
    }
}

/// What differs between two commits or trees.
pub fn changes(git: &Git, old: &str, new: &str) -> Result<Vec<Change>> {
    let words = ["diff-tree", "-r", "-z", "--no-renames", "--ignore-submodules=none", old, new];
    let bytes = git.look(words).arg("--").read("compare the commits")?;
    porcelain::changes(&bytes).ok_or_else(|| Error::Git {
        doing: "compare the commits".into(),
        why: "git diff-tree cannot be understood".into(),
    })
}

/// A call that works on an index of ours.
pub fn with_index<'a>(git: &'a Git, index: &Path, words: &[&str]) -> Call<'a> {
    git.refresh(SETTINGS).args(words).env("GIT_INDEX_FILE", index)
}

/// A name for a copy of an index that only a look needs.
pub fn index_for_a_look() -> Result<PathBuf> {
    let name = format!("git-sandbox-index-{}", crate::sys::random::hex()?);
    Ok(std::env::temp_dir().join(name))
}

/// Removes a copy of an index and git's lock of it.
pub fn remove_index(index: &Path) {
    let _ = fs::remove_file(index);
    let mut lock = index.as_os_str().to_owned();
    lock.push(OsStr::new(".lock"));
    let _ = fs::remove_file(lock);
}
