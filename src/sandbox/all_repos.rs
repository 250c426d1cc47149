//! Across repositories: what stands below the user's root, whoever's it is.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::git::Git;
use crate::journal::Journal;
use crate::place::{Root, real};
use crate::repo::{self, Repo};

/// The repositories that have something below the root, and what belongs to none that is there.
#[derive(Debug)]
pub struct Everywhere {
    /// The root, and the config it came from.
    pub root: Root,
    /// The config of the current repository or, outside of one, the user's.
    pub config: Config,
    /// The common dirs of repositories that can be reached, this one's included.
    pub commons: BTreeSet<PathBuf>,
    /// Worktrees of repositories that cannot be reached.
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
            let entry = repo::folder_points_to(&folder);
            match entry.as_deref().and_then(|entry| Some((entry, common_of(entry)?))) {
                Some((entry, common)) if is_known(entry, &folder) => drop(commons.insert(common)),
                Some((_, common)) if is_there(&common) => {
                    commons.insert(common);
                    strays.push(folder);
                }
                Some(_) => orphans.push(folder),
                None => strays.push(folder),
            }
        }
        for folder in root.trash_folders() {
            let journal = Journal::read(&folder).ok().flatten();
            let common = journal.map(|journal| journal.common).filter(|common| is_there(common));
            commons.extend(common);
        }
        Ok(Everywhere { root, config, commons, orphans, strays })
    }
}

/// Whether a folder is a worktree of a repository that cannot be reached. Nothing else is an orphan:
/// not a submodule, not a copy, not one whose entry was pruned.
pub fn is_orphan(folder: &Path) -> bool {
    let common = repo::folder_points_to(folder).and_then(|entry| common_of(&entry));
    common.is_some_and(|common| !is_there(&common))
}

/// Whether an entry is there and names this folder.
fn is_known(entry: &Path, folder: &Path) -> bool {
    repo::entry_points_to(entry).is_some_and(|named| real(&named) == real(folder))
}

fn is_there(common: &Path) -> bool {
    common.join("objects").is_dir()
}

/// The common dir that a private git dir lies in, whether it is there or not.
pub fn common_of(entry: &Path) -> Option<PathBuf> {
    let worktrees = entry.parent()?;
    (worktrees.file_name()? == "worktrees").then(|| worktrees.parent().map(Path::to_owned))?
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
