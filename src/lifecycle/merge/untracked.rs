//! Where the target is checked out, and what there stands in the way of a merge.
//!
//! To git ignored files are worth nothing: it replaces one, or a folder of them, by what it checks
//! out, and says nothing. To us they are somebody's.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Merge, listed};
use crate::error::{Result, shell_word};
use crate::git::Git;
use crate::porcelain;
use crate::sandbox;

impl Merge<'_> {
    /// Where the target is checked out, with its private git dir.
    pub(super) fn checkout(&self) -> Result<Option<(PathBuf, PathBuf)>> {
        let name = std::ffi::OsStr::new(&self.into.name);
        let full = std::ffi::OsStr::new(&self.into.branch.name);
        let main = (&self.worktrees.main, &self.repo.common);
        let linked = self.worktrees.linked.iter().map(|tree| (&tree.record, &tree.entry));
        for (record, git_dir) in [main].into_iter().chain(linked) {
            if record.branch.is_none() && sandbox::branch_held_by(git_dir).as_deref() == Some(name)
            {
                let why = format!(
                    "'{}' is in the middle of a rebase or bisect in '{}'",
                    self.into.name,
                    record.path.display()
                );
                return Err(self.refused(why, None));
            }
            if record.branch.as_deref() != Some(full) || record.bare {
                continue;
            }
            let path = record.path.display();
            if !record.path.is_dir() {
                let why = format!("it is checked out in '{path}', which is not there");
                let forget = format!("git sandbox rm {}", shell_word(&path.to_string()));
                return Err(self.refused(why, Some(forget)));
            }
            self.is_idle(&record.path, git_dir)?;
            return Ok(Some((record.path.clone(), git_dir.clone())));
        }
        Ok(None)
    }

    /// Refuses while a merge of the user's is in progress there, which undoing ours would undo.
    pub(super) fn is_idle(&self, folder: &Path, git_dir: &Path) -> Result<()> {
        if !git_dir.join("MERGE_HEAD").exists() {
            return Ok(());
        }
        let why = format!("a merge is in progress in '{}'", folder.display());
        let status = format!("git -C {} status", shell_word(&folder.to_string_lossy()));
        Err(self.refused(why, Some(status)))
    }

    /// Refuses where git would overwrite ignored files of the target's checkout.
    pub(super) fn overwrites_nothing(&self, folder: &Path, commit: &str) -> Result<()> {
        let git = self.repo.git.at(folder);
        let files = ignored(&git, folder, &self.into.branch.commit, commit)?;
        if files.is_empty() {
            return Ok(());
        }
        let why =
            format!("it would overwrite ignored {} in '{}'", listed(&files), folder.display());
        let status = format!("git -C {} status --ignored", shell_word(&folder.to_string_lossy()));
        Err(self.refused(why, Some(status)))
    }
}

/// Those in a checkout that stand where files would come, once a commit is merged into another.
fn ignored(git: &Git, folder: &Path, into: &str, commit: &str) -> Result<Vec<PathBuf>> {
    let words = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A"];
    let added = git.look(words).args([into, commit]).read("compare the files")?;
    let added = porcelain::paths(&added);
    let taken: BTreeSet<&Path> = added.iter().filter_map(|file| stands_at(folder, file)).collect();
    if taken.is_empty() {
        return Ok(Vec::new());
    }
    let words = ["--literal-pathspecs", "ls-files", "--others", "--ignored", "--exclude-standard"];
    let ignored = git.look(words).args(["-z", "--"]).args(taken);
    Ok(porcelain::paths(&ignored.read("find ignored files")?))
}

/// What is at the place of a file: something there, or a file where a folder would have to be.
fn stands_at<'a>(folder: &Path, file: &'a Path) -> Option<&'a Path> {
    let kind = |path: &Path| folder.join(path).symlink_metadata().ok();
    let above = file.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
    let mut above = above.filter(|path| kind(path).is_some_and(|meta| !meta.is_dir()));
    above.next().or_else(|| kind(file).map(|_| file))
}
