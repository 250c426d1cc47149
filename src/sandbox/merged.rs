//! Whether branches are already in their bases: by history, or by content after a squash, a rebase
//! or a pick. One pass for any number of branches.
//!
//! git processes, for each base: `rev-list` for the history; for what that leaves, `merge-tree`; for
//! what that leaves, the patches: `merge-base`, `diff-tree`, `rev-list` and twice `diff-tree` with
//! `patch-id`. A wrong no is acceptable, and a wrong yes by content is not taken for proof: a removal
//! that rests on it keeps the commits.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use crate::error::Result;
use crate::git::Git;
use crate::git::porcelain::{self, Record};
use crate::repo::Repo;
use crate::repo::base::{Base, Bases};
use crate::repo::unreached::Unreached;
use crate::sandbox::{Sandbox, record};

/// How a branch came to be in its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merged {
    /// Every commit of it is there.
    ByHistory,
    /// Its changes are: it was squashed, rebased or picked.
    ByContent,
}

/// Branches with more commits of their own are not compared patch by patch.
const MOST_COMMITS: usize = 100;
/// So many commits of a base are looked through for their patches.
const MOST_PATCHES: &str = "--max-count=200";
/// For more files the patches are not compared.
const MOST_FILES: usize = 500;

/// Which of these commits are in a base, or in what that follows; those that are not are left out.
pub fn among(
    repo: &Repo,
    heads: &BTreeSet<String>,
    base: &Base,
) -> Result<HashMap<String, Merged>> {
    let git = repo.git.at(&repo.common);
    let bases: Vec<&str> = base.both().map(|branch| branch.commit.as_str()).collect();
    // Most sandboxes begin as their base is.
    let away: BTreeSet<String> =
        heads.iter().filter(|head| !bases.contains(&head.as_str())).cloned().collect();
    let outside = Unreached::outside(&git, &repo.common, &away, &bases)?;
    let (open, inside): (Vec<&String>, Vec<&String>) =
        heads.iter().partition(|head| outside.contains(head));
    let mut merged: HashMap<String, Merged> =
        inside.into_iter().map(|head| (head.clone(), Merged::ByHistory)).collect();
    let own: Vec<Own> = open.into_iter().filter_map(|head| Own::of(head, &outside)).collect();
    let by_tree = merging_changes_nothing(&git, &own, base)?;
    let left: Vec<&Own> = own.iter().filter(|own| !by_tree.contains(own.head)).collect();
    let by_patch = patches_are_there(&git, &left, &bases)?;
    let found = by_tree.into_iter().chain(by_patch);
    merged.extend(found.map(|head| (head, Merged::ByContent)));
    Ok(merged)
}

/// Whether one commit is in a base.
pub fn is_in(repo: &Repo, head: &str, base: &Base) -> Result<Option<Merged>> {
    Ok(among(repo, &BTreeSet::from([head.to_owned()]), base)?.remove(head))
}

/// Which sandboxes are in their bases, by their paths. Those without a commit or a base are left
/// out.
pub fn of_all(
    repo: &Repo,
    main: &Record,
    sandboxes: &[Sandbox],
) -> Result<HashMap<PathBuf, Standing>> {
    let recorded: Vec<Option<String>> =
        sandboxes.iter().map(|sandbox| record::read(&sandbox.entry).base).collect();
    let bases = Bases::read(repo, main, recorded.iter().map(Option::as_deref))?;
    let mut by_base: BTreeMap<&str, Vec<(&Sandbox, &str)>> = BTreeMap::new();
    for (sandbox, recorded) in sandboxes.iter().zip(&recorded) {
        if let (Some(base), Some(head)) = (bases.of(recorded.as_deref()), &sandbox.head) {
            by_base.entry(&base.name).or_default().push((sandbox, head));
        }
    }
    let mut found = HashMap::new();
    for (name, group) in by_base {
        let Some(base) = bases.of(Some(name)) else { continue };
        let heads = group.iter().map(|(_, head)| (*head).to_owned()).collect();
        let merged = among(repo, &heads, base)?;
        for (sandbox, head) in group {
            let is_base = sandbox.branch_text().is_some_and(|branch| branch == name);
            let merged = merged.get(head).copied().filter(|_| !is_base);
            let commit = base.branch.commit.clone();
            let standing = Standing { base: name.to_owned(), commit, merged };
            found.insert(sandbox.path.clone(), standing);
        }
    }
    Ok(found)
}

/// How a sandbox stands to its base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The base.
    pub base: String,
    /// Its commit.
    pub commit: String,
    /// Whether its commit is there.
    pub merged: Option<Merged>,
}

/// What a branch has beyond its base.
struct Own<'a> {
    head: &'a str,
    /// Its commits, none of them a merge; else none at all.
    commits: Vec<&'a str>,
    /// Where it left the base.
    fork: &'a str,
}

impl<'a> Own<'a> {
    /// None where it has no history in common with its base, or more than one way back to it.
    fn of(head: &'a str, outside: &'a Unreached) -> Option<Own<'a>> {
        let commits = outside.behind(head);
        let forks: BTreeSet<&str> = commits
            .iter()
            .flat_map(|(_, parents)| parents.iter().map(String::as_str))
            .filter(|parent| !outside.contains(parent))
            .collect();
        let rooted = commits.iter().any(|(_, parents)| parents.is_empty());
        let fork = forks.first().filter(|_| !rooted)?;
        let plain = forks.len() == 1 && commits.iter().all(|(_, parents)| parents.len() == 1);
        let commits = commits.into_iter().map(|(commit, _)| commit);
        let commits = if plain { commits.collect() } else { Vec::new() };
        Some(Own { head, commits, fork })
    }
}

/// Those whose merge into the base, or into what that follows, would be the base again.
fn merging_changes_nothing(git: &Git, own: &[Own], base: &Base) -> Result<HashSet<String>> {
    let asked: Vec<_> =
        base.both().flat_map(|into| own.iter().map(move |own| (into, own))).collect();
    let pairs: Vec<(&str, &str)> =
        asked.iter().map(|(into, own)| (into.commit.as_str(), own.head)).collect();
    let merges = git.merge_many(&pairs)?;
    let same = asked.iter().zip(merges).filter(|((into, _), merge)| {
        merge.conflicts.is_empty() && merge.clean && merge.tree == into.tree
    });
    Ok(same.map(|((_, own), _)| own.head.to_owned()).collect())
}

/// Those of whose commits every one, or that as one commit, is in the base with the same patch.
fn patches_are_there(git: &Git, own: &[&Own], bases: &[&str]) -> Result<Vec<String>> {
    let small = |own: &&&Own| !own.commits.is_empty() && own.commits.len() <= MOST_COMMITS;
    let own: Vec<&&Own> = own.iter().filter(small).collect();
    if own.is_empty() {
        return Ok(Vec::new());
    }
    let doing = "compare the patches";
    let forks: BTreeSet<&str> = own.iter().map(|own| own.fork).collect();
    let since = git.look(["merge-base", "--octopus"]).args(forks).ask()?;
    let whole: Vec<String> = own.iter().map(|own| format!("{} {}\n", own.head, own.fork)).collect();
    let whole = whole.concat();
    let words = ["diff-tree", "--stdin", "-r", "-z", "--name-only", "--no-commit-id"];
    let files = git.look(words).ask_with(whole.clone().into_bytes())?;
    let files: BTreeSet<_> = porcelain::paths(&files.stdout).into_iter().collect();
    if !since.ok() || files.is_empty() || files.len() > MOST_FILES {
        return Ok(Vec::new());
    }
    let since = String::from_utf8_lossy(&since.stdout).trim().to_owned();
    let words = ["--literal-pathspecs", "rev-list", "--no-merges", MOST_PATCHES];
    let theirs = git.look(words).args(bases).arg("--not").args(since.lines());
    let theirs = theirs.arg("--").args(files).read(doing)?;
    let theirs: Vec<String> = String::from_utf8_lossy(&theirs).lines().map(str::to_owned).collect();
    let single = own.iter().flat_map(|own| own.commits.iter().copied());
    let single: BTreeSet<&str> = single.chain(theirs.iter().map(String::as_str)).collect();
    let single: Vec<&str> = single.into_iter().flat_map(|commit| [commit, "\n"]).collect();
    let single = git.patch_ids(single.concat())?;
    let whole = git.patch_ids(whole)?;
    let theirs: HashSet<&String> = theirs.iter().filter_map(|commit| single.get(commit)).collect();
    let is_there = |own: &&&Own| {
        let each = || {
            own.commits
                .iter()
                .all(|commit| single.get(*commit).is_some_and(|patch| theirs.contains(patch)))
        };
        whole.get(own.head).is_some_and(|patch| theirs.contains(patch)) || each()
    };
    Ok(own.into_iter().filter(|own| is_there(own)).map(|own| own.head.to_owned()).collect())
}
