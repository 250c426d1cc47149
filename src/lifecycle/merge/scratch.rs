//! The scratch: a worktree of ours for the time of one merge, in which everything is made that may
//! fail, conflict or run hooks.
//!
//! It stands as `.merge-<hex>` in the project's folder, detached, locked with our reason, and has the
//! config and hooks of the target's checkout and the ignored files that `.worktreeinclude` names. At the
//! end it is deleted, unless hooks made files in it that git does not ignore: then it goes to the trash.
//! One that a crash left is deleted only if no process is in it and every file in it is git's.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::checkout::Checkout;
use super::hooks;
use super::wish::Merge;
use crate::error::{Doing, Error, Result};
use crate::git::{Call, Git};
use crate::lifecycle::create::checkout::Fill;
use crate::lifecycle::create::include;
use crate::lifecycle::remove::{Outcome, Remover, Wish};
use crate::lifecycle::spare::strange_files;
use crate::lifecycle::trash::Trash;
use crate::repo::{Repo, Worktree, Worktrees, held, link};
use crate::sandbox::Sandbox;
use crate::sandbox::in_use::Processes;
use crate::sandbox::journal::Why;
use crate::sandbox::mark::MERGING;
use crate::session::Session;
use crate::sys::lock::Lock;
use crate::sys::{crash_point, delete, file, random, signals};
use crate::ui::progress;

/// How the folder of one begins.
const LEAD: &str = ".merge-";
/// Settings of one worktree that say what it is, not how work is done in it.
const OWN_KEYS: [&str; 5] = [
    "core.worktree",
    "core.bare",
    "core.sparseCheckout",
    "core.sparseCheckoutCone",
    "index.sparse",
];
/// Settings that keep git from leaving a process at work in a folder that is about to go.
const SHORT_LIVED: [&str; 6] =
    ["-c", "maintenance.auto=false", "-c", "gc.auto=0", "-c", "core.fsmonitor=false"];

/// A scratch.
#[derive(Debug)]
pub struct Scratch {
    /// Its folder.
    pub path: PathBuf,
    entry: PathBuf,
    git: Git,
    settings: Vec<OsString>,
}

/// What became of one.
#[derive(Debug)]
pub enum Cleared {
    /// It was deleted.
    Deleted,
    /// It is in the trash, under this id.
    Trashed(String),
}

impl Scratch {
    /// Makes one at a commit, for a target that is checked out there or nowhere. `lock` is the lock of
    /// merges.
    pub fn make(
        merge: &Merge,
        checkout: Option<&Checkout>,
        commit: &str,
        lock: &Lock,
    ) -> Result<Scratch> {
        let (path, entry) = register(merge, commit)?;
        let git = merge.repo.git.at(&path).holding(lock.file());
        let mut scratch = Scratch { path, entry, git, settings: Vec::new() };
        let made = progress::patiently("checking out a scratch worktree to merge in", || {
            scratch.furnish(merge, checkout, commit, lock)
        });
        match made {
            Ok(()) => Ok(scratch),
            Err(error) => {
                merge.say_cleared(scratch.remove(merge, lock));
                Err(error)
            }
        }
    }

    fn furnish(
        &mut self,
        merge: &Merge,
        checkout: Option<&Checkout>,
        commit: &str,
        lock: &Lock,
    ) -> Result<()> {
        let (repo, main) = (merge.repo, &merge.worktrees.main);
        let main = (!main.bare).then_some(main.path.as_path());
        self.take_config(merge, checkout)?;
        crash_point::reached();
        let session = Session {
            git: &repo.git,
            name: merge.sandbox.name(),
            path: &self.path,
            entry: &self.entry,
            branch: None,
            main: main.unwrap_or(&repo.common),
            task: None,
            beacon: None,
            walls: None,
            container: None,
            author: None,
        };
        let worktrees = merge.worktrees;
        Fill { repo, main, worktrees, commit, own: lock, session }.check_out()?;
        crash_point::reached();
        if let Some(main) = main
            && let Err(error) = include::copy(&repo.git, main, &self.path)
        {
            merge.out.warn(&error.to_string());
        }
        let top = checkout.map(|checkout| checkout.path.as_path()).or(main);
        let top = top.unwrap_or(repo.git.dir());
        self.settings = hooks::settings(repo, top, &self.entry)?;
        self.settings.extend(SHORT_LIVED.map(OsString::from));
        Ok(())
    }

    /// Gives it the settings of the target's checkout, and all files: git copies both the settings
    /// and the sparse patterns of the worktree that the command was started in.
    fn take_config(&self, merge: &Merge, checkout: Option<&Checkout>) -> Result<()> {
        let name = "config.worktree";
        remove_file(&self.entry.join("info/sparse-checkout"))?;
        let ours = self.entry.join(name);
        remove_file(&ours)?;
        let from = checkout.map_or(&merge.repo.common, |checkout| &checkout.git_dir).join(name);
        if merge.repo.config.boolean("extensions.worktreeconfig")? != Some(true) || !from.exists() {
            return Ok(());
        }
        let text = file::read_small(&from).at("read", &from)?;
        file::replace(&ours, &text)?;
        for key in OWN_KEYS {
            // Its exit code only says that there is none.
            let words = ["config", "--unset-all", "--file"];
            self.git.look(words).arg(&ours).arg(key).ask()?;
        }
        Ok(())
    }

    /// git in it, with the hooks of the target's checkout.
    pub fn call<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Call<'_> {
        self.git.call(&self.settings).args(words)
    }

    /// git in it, without any hook, to write.
    pub fn quietly<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Call<'_> {
        self.call(["-c", "core.hooksPath=/dev/null"]).args(words)
    }

    /// git in it, without any hook, to look.
    pub fn look<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Call<'_> {
        self.git.look(words)
    }

    /// Removes it. Returns what became of it; `None` if a process works in it, so that it stays.
    pub fn remove(self, merge: &Merge, lock: &Lock) -> Result<Option<Cleared>> {
        let repository = merge.repo.lock(merge.out)?;
        let git = merge.repo.git.holding(repository.file());
        let trash = Trash { repo: merge.repo, git, place: merge.place, now: merge.now };
        let sandbox = Sandbox::in_trash(&self.path, &self.entry);
        if !is_free(&sandbox) {
            return Ok(None);
        }
        crash_point::reached();
        let words = ["ls-files", "--others", "--exclude-standard", "-z"];
        let others = self.git.look(words).ask()?;
        let nothing_new = others.ok() && others.stdout.is_empty();
        // Where a checkout or merge failed half way, the index does not tell.
        if nothing_new || is_gits(&trash.git, &self.path, &self.entry, Some(merge.head))? {
            delete(&trash, &self.path, &self.entry)?;
            return Ok(Some(Cleared::Deleted));
        }
        to_trash(&trash, merge.worktrees, &sandbox, lock).map(Some)
    }
}

/// Whether no process works in one. What an interrupt ends, as a hook, may take a moment to be gone.
fn is_free(sandbox: &Sandbox) -> bool {
    const MOMENT: Duration = Duration::from_millis(20);
    let moments = if signals::check().is_err() { 100 } else { 1 };
    (0..moments).any(|moment| {
        if moment > 0 {
            std::thread::sleep(MOMENT);
        }
        Processes::lazily().seen_in(sandbox).is_empty()
    })
}

/// Folder and entry of a new one, under the repository lock.
fn register(merge: &Merge, commit: &str) -> Result<(PathBuf, PathBuf)> {
    let lock = merge.repo.lock(merge.out)?;
    let home = merge.place.home(merge.worktrees, merge.out)?;
    clear_empty(&home.path);
    let path = home.path.join(format!("{LEAD}{}", random::hex()?));
    let git = merge.repo.git.holding(lock.file());
    crash_point::reached();
    let add = ["worktree", "add", "--quiet", "--no-checkout", "--detach"];
    let add = git.refresh(add).args(["--lock", "--reason", MERGING, "--"]);
    add.arg(&path).arg(commit).done("make a worktree to merge in")?;
    crash_point::reached();
    let entry = link::folder_points_to(&path);
    let entry = entry.filter(|entry| entry.starts_with(&merge.repo.common));
    let why = "git did not register it".to_owned();
    let entry = entry.ok_or(Error::Damaged { name: path.display().to_string(), why })?;
    Ok((path, entry))
}

/// Removes empty folders that a crash left before git knew of them.
fn clear_empty(home: &Path) {
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(LEAD.as_bytes()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn delete(trash: &Trash, path: &Path, entry: &Path) -> Result<()> {
    delete::tree(path).at("delete", path)?;
    crash_point::reached();
    trash.drop_unused(entry)
}

/// Moves one to the trash as any sandbox; without our lock reason, so that it stays one when it comes
/// back. Until that is done the reason is set aside, so that the next command knows it. The caller
/// holds the repository lock.
fn to_trash(
    trash: &Trash,
    worktrees: &Worktrees,
    sandbox: &Sandbox,
    lock: &Lock,
) -> Result<Cleared> {
    let (reason, aside) = (sandbox.entry.join("locked"), aside(trash.repo));
    // Nothing is written: the disk may be full.
    rename(&reason, &aside)?;
    crash_point::reached();
    let processes = Processes::lazily();
    let remover = Remover { trash, worktrees, lock: Some(lock), processes: &processes };
    let wish = Wish { force: 1, why: Why::LeftByMerge, delete_branch: false, merged_into: None };
    let cleared = match remover.remove(sandbox, &wish) {
        Ok(Outcome::Trashed(trashed)) => Ok(Cleared::Trashed(trashed.id)),
        Ok(Outcome::Refused(refusal)) => {
            let why = refusal.to_string();
            Err(Error::Refused { name: sandbox.name(), why, first: None, force: None })
        }
        Ok(Outcome::Forgotten(_) | Outcome::Would { .. }) => Ok(Cleared::Deleted),
        Err(error) => Err(error),
    };
    crash_point::reached();
    match &cleared {
        Ok(_) => remove_file(&aside)?,
        Err(_) => rename(&aside, &reason)?,
    }
    cleared
}

/// Where the lock reason of one is while it is moved to the trash.
pub fn aside(repo: &Repo) -> PathBuf {
    repo.common.join("sandbox.merging")
}

/// Whether a worktree is one: by its lock reason or, while that is set aside, by its name.
pub fn is_one(repo: &Repo, tree: &Worktree) -> bool {
    match tree.record.locked.as_deref() {
        Some(reason) => reason == MERGING,
        None => is_named(&tree.record.path) && aside(repo).exists(),
    }
}

fn is_named(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(LEAD.as_bytes()))
}

/// Clears one that a crash left. Returns `None` if a process works in it, so that it stays. The caller
/// holds the repository lock; `lock` is the lock of merges.
pub fn clear_left_over(
    trash: &Trash,
    worktrees: &Worktrees,
    tree: &Worktree,
    lock: &Lock,
) -> Result<Option<Cleared>> {
    let (path, entry) = (&tree.record.path, &tree.entry);
    let sandbox = Sandbox { head: tree.record.head.clone(), ..Sandbox::in_trash(path, entry) };
    if !Processes::lazily().seen_in(&sandbox).is_empty() {
        return Ok(None);
    }
    if path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        trash.drop_unused(entry)?;
        return Ok(Some(Cleared::Deleted));
    }
    let ours = is_named(path) && trash.place.manages(path) && link::leads_to(path, entry);
    if ours && is_gits(&trash.git, path, entry, None)? {
        delete(trash, path, entry)?;
        return Ok(Some(Cleared::Deleted));
    }
    to_trash(trash, worktrees, &sandbox, lock).map(Some)
}

/// Whether every file in one is git's, of this commit or of one or a merge that its private git dir
/// names.
fn is_gits(git: &Git, path: &Path, entry: &Path, commit: Option<&str>) -> Result<bool> {
    let mut trees = Vec::new();
    let names = ["HEAD", "HEAD@{1}", "ORIG_HEAD", "MERGE_HEAD", "AUTO_MERGE"];
    for name in names.into_iter().chain(commit) {
        let words = ["rev-parse", "--verify", "--quiet", &format!("{name}^{{tree}}")];
        let answer = held::within(git, entry, words).ask()?;
        let id = crate::git::porcelain::commit(answer.stdout.trim_ascii_end());
        trees.extend(id.filter(|id| answer.ok() && !trees.contains(id)));
    }
    if trees.is_empty() {
        // git was killed before it had written HEAD.
        let mut inside = fs::read_dir(path).at("read", path)?;
        return Ok(inside.all(|entry| entry.is_ok_and(|entry| entry.file_name() == ".git")));
    }
    Ok(strange_files(git, path, entry, &trees)?.is_empty())
}

/// Renames a file, if it is there.
fn rename(from: &Path, to: &Path) -> Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).at("rename", from),
        _ => Ok(()),
    }
}

/// Removes a file, if it is there.
pub fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).at("remove", path),
        _ => Ok(()),
    }
}
