//! What is asked of the commits of many sandboxes, once for all of them.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::git::porcelain::Record;
use crate::repo::unreached::Unreached;
use crate::repo::{Repo, held};
use crate::sandbox::Sandbox;
use crate::sandbox::divergence::{self, Divergence};
use crate::sandbox::merged::{self, Standing};

/// What the commits of sandboxes tell.
#[derive(Debug, Default)]
pub struct History {
    unpushed: Option<Unreached>,
    only_here: Option<Unreached>,
    heads: HashMap<PathBuf, BTreeSet<String>>,
    held: HashMap<PathBuf, BTreeSet<String>>,
    /// How they stand to their bases; of those whose base could not be read, nothing.
    standings: HashMap<PathBuf, Standing>,
    divergences: HashMap<PathBuf, Divergence>,
}

impl History {
    pub fn of(repo: &Repo, main: &Record, sandboxes: &[Sandbox]) -> History {
        let (git, common) = (&repo.git, &repo.common);
        let heads = heads(sandboxes);
        let held: HashMap<PathBuf, BTreeSet<String>> = sandboxes
            .iter()
            .filter_map(|sandbox| {
                let held = held::held_by(git, &sandbox.entry).ok()?;
                Some((sandbox.path.clone(), held.commits))
            })
            .collect();
        let union =
            |ids: &HashMap<PathBuf, BTreeSet<String>>| ids.values().flatten().cloned().collect();
        let standings = merged::of_all(repo, main, sandboxes).unwrap_or_default();
        History {
            divergences: divergence::of_all(git, common, sandboxes, &standings),
            unpushed: History::unpushed(repo, &heads),
            only_here: Unreached::among(git, common, &union(&held)).ok(),
            standings,
            heads,
            held,
        }
    }

    /// Asks git only how these sandboxes stand to their bases.
    pub fn to_bases(repo: &Repo, main: &Record, sandboxes: &[Sandbox]) -> History {
        let standings = merged::of_all(repo, main, sandboxes).unwrap_or_default();
        let divergences = divergence::of_all(&repo.git, &repo.common, sandboxes, &standings);
        History { standings, divergences, ..History::default() }
    }

    /// Finds the commits that no remote has. Without a remote there is nowhere to push to.
    pub fn unpushed(repo: &Repo, heads: &HashMap<PathBuf, BTreeSet<String>>) -> Option<Unreached> {
        repo.config.fetch_refspecs().next()?;
        let all = heads.values().flatten().cloned().collect();
        Unreached::unpushed(&repo.git, &repo.common, &all).ok()
    }

    /// Returns what is known of the sandbox at `path`.
    pub fn at(&self, path: &Path) -> Told {
        let count = |unreached: &Option<Unreached>, ids: Option<&BTreeSet<String>>| {
            Some(unreached.as_ref()?.count(ids?))
        };
        let standing = self.standings.get(path);
        let merged = standing.map(|standing| standing.merged.is_some());
        let base = standing.filter(|_| merged == Some(true)).map(|standing| standing.base.clone());
        Told {
            unpushed: count(&self.unpushed, self.heads.get(path)),
            only_here: count(&self.only_here, self.held.get(path)),
            merged,
            merged_into: base,
            divergence: self.divergences.get(path).cloned(),
        }
    }
}

/// What is known of the commits of one sandbox.
#[derive(Debug)]
pub struct Told {
    /// How many are on no remote.
    pub unpushed: Option<u64>,
    /// How many only it holds.
    pub only_here: Option<u64>,
    /// Whether its base has them.
    pub merged: Option<bool>,
    /// The base that has them.
    pub merged_into: Option<String>,
    /// How far it has gone from its base.
    pub divergence: Option<Divergence>,
}

/// The commit of each sandbox.
pub fn heads(sandboxes: &[Sandbox]) -> HashMap<PathBuf, BTreeSet<String>> {
    let heads = sandboxes
        .iter()
        .map(|sandbox| (sandbox.path.clone(), sandbox.head.iter().cloned().collect()));
    heads.collect()
}
