//! Whether every file of a half-made or discarded spare is one that git wrote there.
//!
//! A file of one of its commits, or the beginning of one, is git's. Any other file may be the user's.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::{Call, Git, porcelain};

/// The index that the files are compared with; the spare's own is left alone.
const INDEX: &str = "sandbox.index";

/// The files in a folder that no checkout of any of these commits would have written.
pub fn strange_files(
    git: &Git,
    folder: &Path,
    entry: &Path,
    commits: &[String],
) -> Result<Vec<PathBuf>> {
    let mut strange: Option<BTreeSet<PathBuf>> = None;
    for commit in commits {
        let found = Compared { git: git.at(folder), folder, index: entry.join(INDEX) }.with(commit);
        for left in [INDEX, "sandbox.index.lock"] {
            let _ = fs::remove_file(entry.join(left));
        }
        let found = found?;
        strange = Some(match strange {
            Some(so_far) => so_far.intersection(&found).cloned().collect(),
            None => found,
        });
    }
    let why = || Error::Git { doing: "read its files".into(), why: "it has no commit".into() };
    strange.map(|strange| strange.into_iter().collect()).ok_or_else(why)
}

struct Compared<'a> {
    git: Git,
    folder: &'a Path,
    index: PathBuf,
}

impl Compared<'_> {
    fn call(&self, words: &[&str]) -> Call<'_> {
        self.git
            .look(["-c", "core.untrackedCache=false", "-c", "core.splitIndex=false"])
            .args(words)
            .env("GIT_INDEX_FILE", &self.index)
    }

    fn with(&self, commit: &str) -> Result<BTreeSet<PathBuf>> {
        let doing = "read its files";
        self.call(&["read-tree", commit]).done(doing)?;
        let others = self.call(&["ls-files", "--others", "-z"]).read(doing)?;
        let mut strange: BTreeSet<PathBuf> = porcelain::paths(&others).into_iter().collect();
        // Its exit code only says that some differ.
        self.call(&["update-index", "-q", "--refresh"]).ask()?;
        let words =
            ["diff-files", "--name-only", "-z", "--ignore-submodules=none", "--diff-filter=d"];
        for path in porcelain::paths(&self.call(&words).read(doing)?) {
            if !self.is_cut_short(&path)? {
                strange.insert(path);
            }
        }
        Ok(strange)
    }

    /// Whether a file is only the beginning of what git would write.
    fn is_cut_short(&self, path: &Path) -> Result<bool> {
        let there = self.folder.join(path);
        if !fs::symlink_metadata(&there).is_ok_and(|meta| meta.is_file()) {
            return Ok(false);
        }
        let written =
            self.call(&["checkout-index", "--temp", "-z", "--"]).arg(path).read("write a file")?;
        let name = written.split(|byte| *byte == b'\t').next().unwrap_or_default();
        let whole = self.folder.join(OsStr::from_bytes(name));
        let expected = fs::read(&whole).at("read", &whole);
        let _ = fs::remove_file(&whole);
        Ok(expected?.starts_with(&fs::read(&there).at("read", &there)?))
    }
}
