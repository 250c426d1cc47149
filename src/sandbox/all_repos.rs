//! Across repositories: everything that stands below the user's root.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::git::Git;
use crate::git::config::Config;
use crate::repo::root::Root;
use crate::repo::{Repo, link};
use crate::sandbox::journal::Journal;
use crate::sys::path::{self, Presence, real};

/// The repositories that have something below the root, and what belongs to none that is there.
#[derive(Debug)]
pub struct Everywhere {
    /// The root, and the config it came from.
    pub root: Root,
    /// The config of the current repository or, outside of one, the user's.
    pub config: Config,
    /// The common dirs of repositories that can be reached, this one's included.
    pub commons: BTreeSet<PathBuf>,
    /// Folders whose private git dir is not there.
    pub orphans: Vec<PathBuf>,
    /// Folders below a home that git has no entry for, or none that names them.
    pub strays: Vec<PathBuf>,
}

impl Everywhere {
    /// Looks, from inside a repository or from outside of all.
    pub fn look(root: Option<&OsStr>) -> Result<Everywhere> {
        let here = match Repo::discover() {
            Ok(repo) => Some(repo),
            Err(Error::NotARepository) => None,
            Err(error) => return Err(error),
        };
        let git = Git::here()?;
        let config = match &here {
            Some(repo) => repo.config.clone(),
            None => Config::parse(&git.call(["config", "--list", "-z"]).read("read the config")?),
        };
        let root = Root::wanted(root, &config, &git)?;
        let mut commons: BTreeSet<PathBuf> = here.into_iter().map(|repo| repo.common).collect();
        let (mut orphans, mut strays) = (Vec::new(), Vec::new());
        for folder in root.homes().iter().flat_map(|home| folders(home)) {
            let entry = link::folder_points_to(&folder);
            let Some((entry, common)) =
                entry.as_deref().and_then(|entry| Some((entry, common_of(entry)?)))
            else {
                strays.push(folder);
                continue;
            };
            match path::presence(entry) {
                Presence::There if is_known(entry, &folder) => {}
                Presence::There => strays.push(folder),
                Presence::Absent => orphans.push(folder),
                // Left alone: a disk that is away, or a folder that may not be read.
                Presence::Unknown => continue,
            }
            if is_there(&common) {
                commons.insert(common);
            }
        }
        for folder in root.trash_folders() {
            let journal = Journal::read(&folder).ok().flatten();
            let returning = journal.as_ref().and_then(Journal::returning_to);
            orphans.retain(|orphan| Some(orphan.as_path()) != returning);
            let common =
                journal.and_then(|journal| journal.common).filter(|common| is_there(common));
            commons.extend(common);
        }
        Ok(Everywhere { root, config, commons, orphans, strays })
    }
}

/// Whether a folder's `.git` names a private git dir that is not there: its repository is gone, moved,
/// made anew, or no longer knows it.
pub fn is_orphan(folder: &Path) -> bool {
    let entry = link::folder_points_to(folder).filter(|entry| common_of(entry).is_some());
    entry.is_some_and(|entry| path::presence(&entry) == Presence::Absent)
}

/// The orphans among these folders whose `.git` names this repository.
pub fn orphans_of(common: &Path, folders: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let names_it = |folder: &PathBuf| {
        let entry = link::folder_points_to(folder);
        entry.is_some_and(|entry| common_of(&entry).as_deref() == Some(common))
    };
    folders.filter(|folder| names_it(folder) && is_orphan(folder)).collect()
}

/// Leaves out what an interrupted restore is bringing back.
pub fn without_returning(orphans: Vec<PathBuf>, trash: &[PathBuf]) -> Vec<PathBuf> {
    if orphans.is_empty() {
        return orphans;
    }
    let journals: Vec<Journal> =
        trash.iter().filter_map(|folder| Journal::read(folder).ok().flatten()).collect();
    let returns = |orphan: &PathBuf| {
        journals.iter().any(|journal| journal.returning_to() == Some(orphan.as_path()))
    };
    orphans.into_iter().filter(|orphan| !returns(orphan)).collect()
}

/// Whether an entry is there and names this folder.
fn is_known(entry: &Path, folder: &Path) -> bool {
    link::entry_points_to(entry).is_some_and(|named| real(&named) == real(folder))
}

fn is_there(common: &Path) -> bool {
    common.join("objects").is_dir()
}

/// The common dir that a private git dir lies in, whether it is there or not: in git's registry or,
/// for what was restored as a plain folder, where those of removed sandboxes are.
pub fn common_of(entry: &Path) -> Option<PathBuf> {
    let home = entry.parent()?;
    let is_home = ["worktrees", "sandbox"].iter().any(|name| home.ends_with(name));
    is_home.then(|| home.parent().map(Path::to_owned))?
}

/// Returns the folder that a repository is named by, which need not be there: the main worktree or, of a
/// bare one, the common dir itself.
pub fn repository_of(common: &Path) -> &Path {
    match common.file_name() {
        Some(name) if name == ".git" => common.parent().unwrap_or(common),
        _ => common,
    }
}

fn folders(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let hidden = |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".");
    let folders =
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()) && !hidden(entry));
    let mut folders: Vec<_> = folders.map(|folder| folder.path()).collect();
    folders.sort();
    folders
}
