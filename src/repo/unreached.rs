//! Commits that nothing else reaches.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use crate::error::{Error, Result};
use crate::git::Git;

/// Commits that no shared ref reaches, with their parents.
#[derive(Debug, Default)]
pub struct Unreached(HashMap<String, Vec<String>>);

impl Unreached {
    /// Which commits among `ids` and behind them no shared ref reaches, for any number of
    /// worktrees in one go. Ids of nothing are passed over.
    pub fn among(git: &Git, common: &Path, ids: &BTreeSet<String>) -> Result<Unreached> {
        // Of the main worktree's own refs none counts: they come and go with its operations.
        // Nor what was kept for another sandbox, which goes when that one is restored, nor a stash,
        // which is dropped without a trace.
        let shared = [
            "--exclude=refs/bisect/*",
            "--exclude=refs/worktree/*",
            "--exclude=refs/sandbox/*",
            "--exclude=refs/stash",
            "--glob=refs/*",
        ];
        Unreached::ask(git, common, ids, &shared)
    }

    /// Which of them no remote has.
    pub fn unpushed(git: &Git, common: &Path, ids: &BTreeSet<String>) -> Result<Unreached> {
        Unreached::ask(git, common, ids, &["--remotes"])
    }

    /// All of them.
    pub fn of(git: &Git, common: &Path, ids: &BTreeSet<String>) -> Result<Unreached> {
        Unreached::ask(git, common, ids, &[])
    }

    /// Which of them none of these commits reaches.
    pub fn outside(
        git: &Git,
        common: &Path,
        ids: &BTreeSet<String>,
        of: &[&str],
    ) -> Result<Unreached> {
        Unreached::ask(git, common, ids, of)
    }

    /// Whether it is one of them.
    pub fn contains(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// Those behind one commit, itself included, with their parents.
    pub fn behind<'a>(&'a self, id: &str) -> Vec<(&'a str, &'a [String])> {
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        let mut todo: Vec<&str> = vec![id];
        while let Some(id) = todo.pop() {
            if let Some((id, parents)) = self.0.get_key_value(id)
                && seen.insert(id)
            {
                found.push((id.as_str(), parents.as_slice()));
                todo.extend(parents.iter().map(String::as_str));
            }
        }
        found
    }

    fn ask(git: &Git, common: &Path, ids: &BTreeSet<String>, by: &[&str]) -> Result<Unreached> {
        if ids.is_empty() {
            return Ok(Unreached::default());
        }
        let input = ids.iter().fold(String::new(), |text, id| text + id + "\n");
        let git = git.at(common);
        let words = ["rev-list", "--parents", "--single-worktree", "--ignore-missing", "--stdin"];
        // As garbage collection sees it: what only a replacement reaches goes with that.
        let call = git.look(words).env("GIT_NO_REPLACE_OBJECTS", "1");
        let answer = call.arg("--not").args(by).ask_with(input.into_bytes())?;
        if !answer.ok() {
            let doing = "compare its commits".to_owned();
            return Err(Error::Git { doing, why: answer.why() });
        }
        let text = String::from_utf8_lossy(&answer.stdout);
        let lines = text.lines().map(|line| line.split(' ').map(str::to_owned));
        let commits = lines.filter_map(|mut ids| Some((ids.next()?, ids.collect())));
        Ok(Unreached(commits.collect()))
    }

    /// How many of them are among `ids` or behind them.
    pub fn count(&self, ids: &BTreeSet<String>) -> u64 {
        let mut seen = HashSet::new();
        let mut todo: Vec<&String> = ids.iter().collect();
        while let Some(id) = todo.pop() {
            if let Some(parents) = self.0.get(id)
                && seen.insert(id)
            {
                todo.extend(parents);
            }
        }
        seen.len() as u64
    }

    /// Those among `ids` from which all others can be reached.
    pub fn tips<'a>(&self, ids: &'a BTreeSet<String>) -> Vec<&'a str> {
        let parents: HashSet<&String> = self.0.values().flatten().collect();
        let tips = ids.iter().filter(|id| self.0.contains_key(*id) && !parents.contains(id));
        tips.map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ids: &[&str]) -> BTreeSet<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn tips_reach_all_others() {
        let commit = |id: &str, parents: &[&str]| {
            (id.to_owned(), parents.iter().map(|id| (*id).to_owned()).collect())
        };
        let unreached =
            Unreached([commit("c", &["b"]), commit("b", &["a"]), commit("x", &["a"])].into());
        let ids = set(&["b", "c", "x", "reached"]);
        assert_eq!(unreached.tips(&ids), ["c", "x"]);
        assert_eq!(unreached.count(&ids), 3);
        assert_eq!(unreached.count(&set(&["b"])), 1);
        assert_eq!(unreached.count(&set(&["a"])), 0);
    }
}
