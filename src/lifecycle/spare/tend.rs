//! The background job: as many spares as `sandbox.spares` says, at the main worktree's HEAD.
//!
//! One job at a time per repository. What takes long (files) goes on under a spare's own lock, what
//! everybody waits for (entries) under the repository's. A spare that is half made, or shaped by what
//! no longer holds, is deleted and made anew; one that only lags behind HEAD is brought up to it. No
//! hook runs: no sandbox was asked for yet.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::seal::{files, seal};
use super::{Held, LEAD, all, fingerprint, has_same_attributes};
use super::{strange_files, wanted};
use crate::error::{Doing, Error, Result};
use crate::git::Git;
use crate::lifecycle::trash::Trash;
use crate::repo::place::Place;
use crate::repo::resolve::Target;
use crate::repo::root::Root;
use crate::repo::start_point::Start;
use crate::repo::unreached::Unreached;
use crate::repo::{Repo, Worktree, Worktrees, held, link};
use crate::sandbox::Sandbox;
use crate::sandbox::in_use::{self, Processes};
use crate::sandbox::mark::SPARE;
use crate::sandbox::record::{self, Spare};
use crate::sys::clock::Time;
use crate::sys::lock::Lock;
use crate::sys::{crash_point, delete, random};
use crate::ui::out::Out;

/// Looks after the spares of one repository.
#[derive(Debug)]
pub struct Tender<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// The root asked for.
    pub root: Root,
    /// Where to narrate.
    pub out: Out,
    /// The time.
    pub now: Time,
}

/// Starts the job in the background, unless it runs: the one that does looks again when it is done.
pub fn start(repo: &Repo, root: &Root) -> Result<()> {
    if Lock::if_free(&job(repo))?.is_none() {
        return Ok(());
    }
    let words = [OsStr::new("__spares")];
    repo.git.start_ourselves(&[&words[..], &[root.value()]].concat(), &repo.common)
}

fn job(repo: &Repo) -> PathBuf {
    repo.common.join("sandbox-spares.lock")
}

/// What there is to do.
#[derive(Default)]
struct Work {
    ready: usize,
    fresh: Vec<Held>,
    behind: Vec<Held>,
    unwanted: Vec<Held>,
}

impl Tender<'_> {
    /// Works until nothing is left to do; how many are ready. `None` while another job is at it.
    pub fn tend(&self) -> Result<Option<usize>> {
        // Where nothing stays as it was left there would be no end.
        const ROUNDS: usize = 10;
        let mut kept = Vec::new();
        let mut seen = Vec::new();
        loop {
            let Some(alone) = Lock::if_free(&job(self.repo))? else { return Ok(None) };
            let mut rounds = 0..ROUNDS;
            while self.once(&mut kept, &mut seen, true)?.is_none() {
                if rounds.next().is_none() {
                    return Ok(Some(0));
                }
            }
            drop(alone);
            // Somebody may have taken one, and left it to us to make the next.
            if let Some(ready) = self.once(&mut kept, &mut seen, false)? {
                return Ok(Some(ready));
            }
        }
    }

    /// One round, or only a look. How many are ready, if nothing was or is left to do.
    /// What is to be kept, and what was seen to be as it was left, is remembered.
    fn once(
        &self,
        kept: &mut Vec<PathBuf>,
        seen: &mut Vec<PathBuf>,
        act: bool,
    ) -> Result<Option<usize>> {
        let lock = self.repo.lock(self.out)?;
        let git = self.repo.git.holding(lock.file());
        let worktrees = self.repo.worktrees()?;
        let place = Place::of(self.repo, self.root.clone(), &worktrees);
        if act && super::recover(self.repo, &git, &worktrees, self.out) {
            return Ok(None);
        }
        let (wanted, fingerprint) = (wanted(&self.repo.config)?, fingerprint(self.repo));
        let start = Start::of(self.repo, None, &Target::Detached, &worktrees);
        let head = match (start, wanted) {
            (Ok(start), _) => start.commit,
            (Err(_), 0) => String::new(),
            (Err(error), _) => return Err(error),
        };
        let spares = all(&worktrees)
            .filter(|tree| place.manages(&tree.record.path) && !kept.contains(&tree.record.path));
        let mut work = look(spares, seen, wanted, &fingerprint, &head);
        let missing = match work.ready + work.behind.len() {
            _ if work.ready > 0 && self.has_unclean(&worktrees, &fingerprint, &head) => 0,
            there => wanted.saturating_sub(there),
        };
        // What cannot be used and may not be deleted must not pile up.
        let missing = missing.min((2 * wanted).saturating_sub(all(&worktrees).count()));
        let gone: Vec<&Worktree> = all(&worktrees).filter(|tree| is_gone(tree, &place)).collect();
        let idle =
            missing == 0 && gone.is_empty() && work.behind.is_empty() && work.unwanted.is_empty();
        if idle || !act {
            return Ok(idle.then_some(work.ready));
        }
        for tree in gone {
            let commits = record::read(&tree.entry).spare.map_or(Vec::new(), |spare| spare.commits);
            let path = &tree.record.path;
            self.drop_entry(&git, &place, &tree.entry, path, &commits, false)?;
        }
        for _ in 0..missing {
            let made = self.register(&git, &worktrees, &place, &head, &fingerprint)?;
            work.fresh.push(made);
            crash_point::reached();
        }
        drop((git, lock));
        for held in std::mem::take(&mut work.unwanted) {
            let path = held.path.clone();
            if !self.discard(held, &place)? {
                kept.push(path);
            }
        }
        let mut settling = Vec::new();
        for held in work.behind {
            match self.bring_up(held, &head)? {
                Ok(held) => settling.push(held),
                Err(held) => {
                    let path = held.path.clone();
                    if !self.discard(held, &place)? {
                        kept.push(path);
                    }
                }
            }
        }
        for held in work.fresh {
            self.check_out(&held, &head)?;
            settling.push(held);
        }
        for held in settling {
            self.settle(held)?;
        }
        Ok(None)
    }

    /// Whether a fresh checkout has turned out not to be clean: then one is enough to know it.
    fn has_unclean(&self, worktrees: &Worktrees, fingerprint: &str, head: &str) -> bool {
        let spares = all(worktrees).filter_map(|tree| record::read(&tree.entry).spare);
        spares.into_iter().any(|spare| {
            spare.unclean && spare.fingerprint == fingerprint && spare.commits == [head]
        })
    }

    /// Folder and entry of a new one, under the repository lock.
    fn register(
        &self,
        git: &Git,
        worktrees: &Worktrees,
        place: &Place,
        head: &str,
        fingerprint: &str,
    ) -> Result<Held> {
        let home = place.home(worktrees, self.out)?;
        clear(&home.path);
        let path = home.path.join(format!("{LEAD}{}", random::hex()?));
        // What cannot be written down cannot be taken back.
        if path.to_str().is_none() {
            return Err(Error::NotText { what: "path" });
        }
        fs::DirBuilder::new().mode(0o777).create(&path).at("create", &path)?;
        crash_point::reached();
        let add = ["worktree", "add", "--no-checkout", "--detach", "--lock", "--reason", SPARE];
        let added = git.refresh(add).arg("--").arg(&path).arg(head).done("prepare a spare");
        if let Err(error) = added {
            let _ = fs::remove_dir(&path);
            return Err(error);
        }
        crash_point::reached();
        let damaged = |why: &str| Error::Damaged {
            name: path.to_string_lossy().into_owned(),
            why: why.to_owned(),
        };
        let entry = link::folder_points_to(&path).ok_or_else(|| damaged("git made no entry"))?;
        let own = Lock::at_once(&in_use::lock_path(&entry))?;
        let own = own.ok_or_else(|| damaged("somebody uses it already"))?;
        let spare = Spare {
            at: path.clone(),
            commits: vec![head.to_owned()],
            fingerprint: fingerprint.to_owned(),
            seal: None,
            unclean: false,
            taking: None,
        };
        let held = Held { path, entry, spare, head: Some(head.to_owned()), own };
        held.note()?;
        Ok(held)
    }

    fn check_out(&self, held: &Held, commit: &str) -> Result<()> {
        let git = self.repo.git.at(&held.path).holding(held.own.file());
        let words = ["-c", "core.untrackedCache=false", "reset", "--hard", "--quiet"];
        let call = git.refresh(words).args(["--no-recurse-submodules", commit]);
        call.done("check a spare out")?;
        crash_point::reached();
        // As a fresh checkout of this commit leaves it.
        let words = ["update-ref", "--no-deref", "ORIG_HEAD", commit];
        git.refresh(words).done("check a spare out")?;
        crash_point::reached();
        Ok(())
    }

    /// Brings one that lags behind to a commit; gives it back if it cannot be.
    fn bring_up(&self, mut held: Held, head: &str) -> Result<Result<Held, Held>> {
        let git = &self.repo.git;
        let old = held.spare.commits.first().cloned().unwrap_or_default();
        if !has_same_attributes(git, &old, head) || !held.is_as_left() {
            return Ok(Err(held));
        }
        held.spare.commits = vec![old, head.to_owned()];
        held.spare.seal = None;
        held.note()?;
        crash_point::reached();
        self.check_out(&held, head)?;
        held.spare.commits = vec![head.to_owned()];
        Ok(Ok(held))
    }

    /// Once a later second has begun, the index can be refreshed so that no file in it need ever be
    /// read again to know that it is clean. Then the spare is ready.
    fn settle(&self, mut held: Held) -> Result<()> {
        let index = held.entry.join("index");
        let second = |path: &Path| fs::metadata(path).map(|meta| meta.mtime());
        let written = second(&index).at("read", &index)?;
        loop {
            held.note()?;
            let path = held.entry.join("sandbox.json");
            if second(&path).at("read", &path)? > written {
                break;
            }
            crate::sys::signals::check()?;
            std::thread::sleep(Duration::from_millis(20));
        }
        crash_point::reached();
        let git = self.repo.git.at(&held.path).holding(held.own.file());
        let before = files(&held.path);
        let words = ["-c", "core.untrackedCache=false", "status", "--porcelain", "-z"];
        let all = ["--untracked-files=all", "--ignored=matching", "--ignore-submodules=none"];
        let found = git.refresh(words).args(all).read("read a spare")?;
        held.spare.unclean = !found.is_empty() || files(&held.path) != before;
        held.spare.seal = seal(&held.entry, &held.path);
        held.note()?;
        crash_point::reached();
        Ok(())
    }

    /// Deletes one, if every file in it is git's. Whether it did.
    pub fn discard(&self, mut held: Held, place: &Place) -> Result<bool> {
        let git = &self.repo.git;
        let sandbox = Sandbox::in_trash(&held.path, &held.entry);
        let busy = sandbox.operation(git, self.repo.is_reftable()).is_some();
        if busy || !Processes::lazily().seen_in(&sandbox).is_empty() {
            return Ok(false);
        }
        let as_left = held.is_as_left();
        let Held { spare, path, entry, .. } = &held;
        if !as_left && !strange_files(git, path, entry, &spare.commits)?.is_empty() {
            return Ok(false);
        }
        held.spare.seal = None;
        held.note()?;
        crash_point::reached();
        delete::tree(&held.path).at("delete", &held.path)?;
        crash_point::reached();
        let lock = self.repo.lock(self.out)?;
        let git = git.holding(lock.file());
        self.drop_entry(&git, place, &held.entry, &held.path, &held.spare.commits, as_left)?;
        crash_point::reached();
        Ok(true)
    }

    /// Drops the entry of a spare whose folder is gone, and keeps the commits that were made in it.
    fn drop_entry(
        &self,
        git: &Git,
        place: &Place,
        entry: &Path,
        path: &Path,
        commits: &[String],
        as_left: bool,
    ) -> Result<()> {
        let trash = Trash { repo: self.repo, git: git.clone(), place, now: self.now };
        let ours = || {
            let held = held::held_by(git, entry)?;
            let all_known = held.commits.iter().all(|commit| commits.contains(commit));
            let common = &self.repo.common;
            let known = all_known
                || Unreached::among(git, common, &held.commits)?.count(&held.commits) == 0;
            let staged = |commit: &String| {
                let words = ["diff-index", "--cached", "--quiet", commit, "--"];
                held::within(git, entry, words).ask().is_ok_and(|answer| answer.ok())
            };
            let unstaged =
                !entry.join("index").exists() || commits.iter().chain(&held.commits).any(staged);
            Ok(known && held.is_commits_only() && unstaged)
        };
        if as_left || ours()? {
            return trash.drop_unused(entry);
        }
        trash.forget(&Sandbox::in_trash(path, entry)).map(drop)
    }
}

/// Whether only the entry is left of a spare: a crash came between the two.
fn is_gone(tree: &Worktree, place: &Place) -> bool {
    let path = &tree.record.path;
    let gone = path.symlink_metadata().is_err() && path.parent().is_some_and(Path::is_dir);
    let free = || Lock::if_free(&in_use::lock_path(&tree.entry)).is_ok_and(|lock| lock.is_some());
    gone && place.manages(path) && free()
}

/// Folders that a crash left before git knew of them; only empty ones can be removed so.
fn clear(home: &Path) {
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(LEAD.as_bytes()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Sorts the spares that are there. One whose lock is held is about to become a sandbox.
fn look<'a>(
    spares: impl Iterator<Item = &'a Worktree>,
    seen: &mut Vec<PathBuf>,
    wanted: usize,
    fingerprint: &str,
    head: &str,
) -> Work {
    let mut work = Work::default();
    for tree in spares {
        let home = tree.record.path.parent().unwrap_or(Path::new("/"));
        let Some(held) = Held::of(tree, home) else { continue };
        let room = work.ready + work.behind.len() < wanted;
        if room && !seen.contains(&held.path) && held.is_as_left() {
            seen.push(held.path.clone());
        }
        let room = room && seen.contains(&held.path);
        let unclean = held.spare.unclean
            && held.spare.fingerprint == fingerprint
            && held.spare.commits == [head];
        match held.ready_at(fingerprint) {
            Some(commit) if room && commit == head => work.ready += 1,
            Some(_) if room => work.behind.push(held),
            None if room && unclean => work.ready += 1,
            _ => work.unwanted.push(held),
        }
    }
    work
}
