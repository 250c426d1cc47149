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
    /// Folders that name a repository which cannot be reached, or which does not know them.
    pub orphans: Vec<PathBuf>,
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
        let mut orphans = Vec::new();
        for folder in root.homes().iter().flat_map(|home| folders(home)) {
            match repo::folder_points_to(&folder) {
                Some(entry) if is_known(&entry, &folder) => commons.extend(common_of(&entry)),
                Some(entry) => {
                    commons.extend(common_of(&entry).filter(|common| is_there(common)));
                    orphans.push(folder);
                }
                None => {}
            }
        }
        for folder in root.trash_folders() {
            let journal = Journal::read(&folder).ok().flatten();
            let common = journal.map(|journal| journal.common).filter(|common| is_there(common));
            commons.extend(common);
        }
        Ok(Everywhere { root, config, commons, orphans })
    }
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
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut folders: Vec<_> = folders.map(|folder| folder.path()).collect();
    folders.sort();
    folders
}
