//! Donors: a checkout of the same repository that has most files of a new one already.
//!
//! Copying a file costs less than inflating it and applying deltas. What a donor's index says only
//! chooses what to try: a file is taken if its bytes hash to the id that the new commit has there and
//! nothing converts it. The copies keep their times, so that the index that is made of them is believed;
//! git completes and checks the rest. Anything unusual means git's own way, and is never an error.

mod attributes;
mod copy;
mod job;
mod large;
mod settings;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};

use self::attributes::{Conversion, Rules};
use self::copy::Copier;
use self::job::Job;
use crate::git::blob_id::Format;
use crate::git::config::Config;
use crate::git::index::Index;
use crate::git::porcelain::{self, Change, Kind};
use crate::git::{Answer, Git, new_index, refs};
use crate::repo::{Repo, Worktree, Worktrees};
use crate::sandbox::mark::CREATING;
use crate::sys::{dir, file};

/// From how many files or bytes on a donor is asked: for fewer, one more git costs more than it saves.
const FEWEST: usize = 1000;
const SMALLEST: u64 = 4 << 20;
/// How many checkouts are asked, each with one more git.
const MOST: usize = 3;
/// Beside more worktrees than this only the main one is asked where that one is small.
const MANY: usize = 50;
const ATTRIBUTES: &[u8] = b".gitattributes";
const EMPTY_TREE: [&str; 2] = [
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
];

/// A checkout that is still empty.
#[derive(Debug)]
pub struct Recipient<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// Runs git in it.
    pub git: Git,
    /// All worktrees.
    pub worktrees: &'a Worktrees,
    /// The commit that is to be checked out.
    pub commit: &'a str,
    /// Its folder.
    pub path: &'a Path,
    /// Its private git dir.
    pub entry: &'a Path,
    /// Whether only the main worktree may give: ignored files are copied from there, and a file with
    /// an older time than what was built from another would make `make` believe the build.
    pub main_only: bool,
}

/// A checkout that has files of the new commit.
struct Donor {
    folder: PathBuf,
    index: Index,
    /// What differs between its index and the new commit, by path.
    changes: HashMap<Vec<u8>, Change>,
    /// Whether `changes` is all that differs; else it has every file of the commit.
    is_difference: bool,
    /// Files that the new commit has too, by their numbers in the index.
    common: Vec<usize>,
}

impl Recipient<'_> {
    /// Copies what a donor has. Returns the index of the copies, which git is to start from.
    pub fn receive(&self) -> Option<Vec<u8>> {
        let format = Format::of(self.commit)?;
        let asked;
        let config = &self.repo.config;
        // The new checkout may have settings of its own.
        let config = match config.has_section("includeif.")
            || config.get("extensions.worktreeconfig").is_some()
        {
            true => {
                let answer = self.git.call(["config", "--list", "-z"]).ask().ok()?;
                asked = answer.ok().then(|| Config::parse(&answer.stdout))?;
                &asked
            }
            false => config,
        };
        if !settings::are_usual(config) {
            return None;
        }
        let donor = self.choose()?;
        if settings::has_replacements(self.repo) {
            return None;
        }
        let (from, to) = (open(&donor.folder)?, open(self.path)?);
        let copier = Copier { from: &from, to: &to, format, now: fstat(&to).ok()?.st_ctime };
        let rules = Rules::of(&self.attributes(config, &donor, &copier)?);
        let jobs: Vec<(usize, Job)> =
            donor.common.iter().filter_map(|number| donor.job(*number, &rules)).collect();
        let (numbers, jobs): (Vec<usize>, Vec<Job>) = jobs.into_iter().unzip();
        // Several threads would wait for each other in its trees.
        let threads = if dir::is_btrfs(&to) { 1 } else { cores() };
        let copied = copier.copy(&jobs, threads);
        let entries = copied.iter().map(|(job, stat)| new_index::Entry {
            path: jobs[*job].path,
            id: jobs[*job].id,
            mode: donor.index.mode(numbers[*job]),
            stat: *stat,
        });
        let entries: Vec<_> = entries.collect();
        new_index::write(format, &entries).filter(|_| !entries.is_empty())
    }

    /// The donor that has nearly everything, or the best of some.
    fn choose(&self) -> Option<Donor> {
        let mut best: Option<Donor> = None;
        for (folder, index) in self.candidates().take(MOST) {
            let Some(index) = Index::read(&index, self.commit.len() / 2) else { continue };
            if is_small(&index) {
                // To look for one that is larger among so many costs more than it saves.
                if self.worktrees.linked.len() > MANY {
                    return None;
                }
                continue;
            }
            let Some(donor) = self.donor(folder, index) else { continue };
            let is_near = donor.lacking() * 10 <= donor.common.len();
            if best.as_ref().is_none_or(|best| best.common.len() < donor.common.len()) {
                best = Some(donor);
            }
            if is_near {
                break;
            }
        }
        best.filter(|best| best.lacking() <= 3 * best.common.len())
    }

    /// The main worktree, then the others, those at the same commit first: folder and index.
    fn candidates(&self) -> impl Iterator<Item = (PathBuf, PathBuf)> {
        let main = &self.worktrees.main;
        let main =
            (!main.bare).then(|| (main.path.clone(), self.repo.common.join("index"))).into_iter();
        let linked = || if self.main_only { Vec::new() } else { self.others() };
        // Where the main worktree has nearly everything, the others are not looked at.
        main.chain(std::iter::once_with(linked).flatten())
    }

    /// The linked worktrees, those at the same commit first: folder and index.
    fn others(&self) -> Vec<(PathBuf, PathBuf)> {
        let mut linked: Vec<_> = self.worktrees.linked.iter().collect();
        linked.retain(|tree| {
            let is_whole = tree.record.locked.as_deref() != Some(CREATING);
            is_whole && tree.entry != self.entry && !tree.entry.as_os_str().is_empty()
        });
        let tip = |branch: &OsString| refs::loose_tip(&self.repo.common, branch.to_str()?);
        linked.sort_by_cached_key(|Worktree { record, .. }| {
            let head = record.head.clone().or_else(|| record.branch.as_ref().and_then(tip));
            head.as_deref() != Some(self.commit)
        });
        let linked = linked.into_iter();
        linked.map(|tree| (tree.record.path.clone(), tree.entry.join("index"))).collect()
    }

    fn donor(&self, folder: PathBuf, index: Index) -> Option<Donor> {
        let empty = EMPTY_TREE.into_iter().find(|id| id.len() == self.commit.len())?;
        let tree = index.tree.as_deref().unwrap_or(empty);
        let words = ["diff-tree", "-r", "-z", "--no-renames", tree, self.commit, "--"];
        let answer = self.git.look(words).ask().ok().filter(Answer::ok)?;
        let changes = porcelain::changes(&answer.stdout)?;
        let changes = changes.into_iter().map(|change| {
            let path = change.path.as_os_str().as_bytes().to_vec();
            (path, change)
        });
        let is_difference = index.tree.is_some();
        let changes = changes.collect();
        let mut donor = Donor { folder, index, changes, is_difference, common: Vec::new() };
        donor.common = (0..donor.index.len()).filter(|number| donor.is_common(*number)).collect();
        Some(donor)
    }

    /// All attribute files that have a say in the new checkout: the folder that each counts for, and
    /// what it says. `None` if that cannot be told.
    fn attributes(
        &self,
        config: &Config,
        donor: &Donor,
        copier: &Copier,
    ) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut found = Vec::new();
        for path in settings::attribute_files(self.repo, config)? {
            match file::read(&path) {
                Ok(bytes) => found.push((Vec::new(), bytes)),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(_) => return None,
            }
        }
        let mut missing = Vec::new();
        for (path, id) in donor.attribute_blobs()? {
            let folder = path[..path.len() - ATTRIBUTES.len()].to_vec();
            let raw: Option<Vec<u8>> = (0..id.len() / 2)
                .map(|at| u8::from_str_radix(id.get(2 * at..2 * at + 2)?, 16).ok())
                .collect();
            match copier.read(&path, &raw?) {
                Some(bytes) => found.push((folder, bytes)),
                None => missing.push((folder, id)),
            }
        }
        for (folder, id) in missing {
            let answer = self.git.look(["cat-file", "blob", &id]).ask().ok()?;
            found.push((folder, answer.ok().then_some(answer.stdout)?));
        }
        Some(found)
    }
}

impl Donor {
    /// How many files of the new commit it does not have.
    fn lacking(&self) -> usize {
        let news = self.changes.values().filter(|change| change.new.is_some()).count();
        if self.is_difference { news } else { news.saturating_sub(self.common.len()) }
    }

    /// Whether an ordinary file of its index is in the new commit, by the same id.
    fn is_common(&self, number: usize) -> bool {
        let is_file = |mode: u32| mode == 0o100_644 || mode == 0o100_755;
        let plain = self.index.seen(number).is_some_and(|seen| is_file(seen.mode));
        plain
            && match self.changes.get(self.index.path(number)) {
                Some(_) if self.is_difference => false,
                Some(change) => {
                    let new = change.new.as_ref();
                    new.is_some_and(|new| new.id == self.index.id(number))
                }
                None => self.is_difference,
            }
    }

    fn job(&self, number: usize, rules: &Rules) -> Option<(usize, Job<'_>)> {
        let path = self.index.path(number);
        let conversion = rules.conversion(path);
        let seen = self.index.seen(number)?;
        let job = Job {
            path,
            id: self.index.raw_id(number),
            is_executable: seen.mode == 0o100_755,
            size: seen.size,
            time: seen.mtime,
            without_returns: conversion == Conversion::OfLines,
        };
        (conversion != Conversion::Maybe).then_some((number, job))
    }

    /// The attribute files of the new commit: path and id. `None` if one is not a file.
    fn attribute_blobs(&self) -> Option<Vec<(Vec<u8>, String)>> {
        let is_one = |path: &[u8]| {
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
            name.eq_ignore_ascii_case(ATTRIBUTES)
        };
        let mut found = Vec::new();
        for (path, change) in self.changes.iter().filter(|(path, _)| is_one(path)) {
            if let Some(new) = &change.new {
                let is_file = new.kind == Kind::File;
                found.push(is_file.then(|| (path.clone(), new.id.clone()))?);
            }
        }
        let kept = (0..self.index.len()).filter(|_| self.is_difference);
        for number in kept.filter(|number| is_one(self.index.path(*number))) {
            let path = self.index.path(number);
            if !self.changes.contains_key(path) {
                let is_file = self.index.mode(number) & 0o170_000 == 0o100_000;
                found.push(is_file.then(|| (path.to_vec(), self.index.id(number)))?);
            }
        }
        Some(found)
    }
}

/// Whether a checkout is so small that git writes it as fast.
fn is_small(index: &Index) -> bool {
    let sizes = (0..index.len()).filter_map(|number| index.seen(number));
    index.len() < fewest() && sizes.map(|seen| u64::from(seen.size)).sum::<u64>() < SMALLEST
}

/// From how many files on a donor is asked. Debug builds can be told another number, for the tests.
fn fewest() -> usize {
    #[cfg(debug_assertions)]
    if let Some(number) =
        std::env::var("GIT_SANDBOX_DONOR_FILES").ok().and_then(|text| text.parse().ok())
    {
        return number;
    }
    FEWEST
}

fn open(folder: &Path) -> Option<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(CWD, folder, flags, Mode::empty()).ok()
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
