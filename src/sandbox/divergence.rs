//! How far sandboxes have gone from their bases: commits, lines, and the newest subject.
//!
//! git processes, for each base that a sandbox has left: `merge-base`, `rev-list`, `diff-tree` and `log`,
//! however many sandboxes there are; and a `diff` for each one with uncommitted changes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::Result;
use crate::git::Git;
use crate::repo::unreached::Unreached;
use crate::sandbox::merged::Standing;
use crate::sandbox::{Sandbox, State};

/// How far a sandbox has gone from its base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Divergence {
    /// Commits that only the sandbox has.
    pub ahead: u64,
    /// Commits that only the base has.
    pub behind: u64,
    /// The newest commit that both have, if there is one such.
    pub fork: Option<String>,
    /// What its commits have changed since.
    pub diff: Option<Diff>,
    /// The subject of its newest commit, if it has one that the base has not.
    pub subject: Option<String>,
}

/// Changes by their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Diff {
    pub files: u64,
    pub insertions: u64,
    pub deletions: u64,
}

/// Compares sandboxes with their bases, by their paths. Those that cannot be used, or whose base is
/// not known, are left out.
pub fn of_all(
    git: &Git,
    common: &Path,
    sandboxes: &[Sandbox],
    standings: &HashMap<PathBuf, Standing>,
) -> HashMap<PathBuf, Divergence> {
    let mut by_base: BTreeMap<&str, Vec<(&Path, &str)>> = BTreeMap::new();
    for sandbox in sandboxes.iter().filter(|sandbox| sandbox.state == State::Ready) {
        if let (Some(standing), Some(head)) = (standings.get(&sandbox.path), &sandbox.head) {
            by_base.entry(&standing.commit).or_default().push((&sandbox.path, head));
        }
    }
    let git = git.at(common);
    let mut found = HashMap::new();
    for (base, group) in by_base {
        let heads: BTreeSet<&str> = group.iter().map(|(_, head)| *head).collect();
        // A base that cannot be compared with says nothing about the others.
        let Ok(of_heads) = from_base(&git, common, base, &heads) else { continue };
        let known = group
            .into_iter()
            .filter_map(|(path, head)| Some((path.to_owned(), of_heads.get(head)?.clone())));
        found.extend(known);
    }
    found
}

/// Compares commits with one base.
fn from_base<'a>(
    git: &Git,
    common: &Path,
    base: &'a str,
    heads: &BTreeSet<&'a str>,
) -> Result<HashMap<&'a str, Divergence>> {
    let level = Divergence {
        fork: Some(base.to_owned()),
        diff: Some(Diff::default()),
        ..Divergence::default()
    };
    let away: Vec<&str> = heads.iter().copied().filter(|head| *head != base).collect();
    let mut found: HashMap<&str, Divergence> = HashMap::from([(base, level)]);
    if away.is_empty() {
        return Ok(found);
    }
    // What all of them have need not be walked.
    let shared = git.look(["merge-base", "--octopus", base]).args(&away).ask()?;
    let shared = String::from_utf8_lossy(&shared.stdout).into_owned();
    let shared: Vec<&str> = shared.lines().collect();
    let ids = away.iter().chain([&base]).map(|id| (*id).to_owned()).collect();
    let walked = Unreached::outside(git, common, &ids, &shared)?;
    let of_base: HashSet<&str> = walked.behind(base).into_iter().map(|(id, _)| id).collect();
    for head in &away {
        let divergence = Divergence::walked(&walked, &of_base, head, &shared);
        found.insert(head, divergence);
    }
    let diffs = diffs(git, &found)?;
    let ahead = found.iter().filter(|(_, it)| it.ahead > 0).map(|(head, _)| *head);
    let subjects = subjects(git, ahead.collect())?;
    for (head, divergence) in &mut found {
        divergence.diff = divergence.diff.or_else(|| diffs.get(*head).copied());
        divergence.subject = subjects.get(*head).cloned();
    }
    Ok(found)
}

impl Divergence {
    fn walked(
        walked: &Unreached,
        of_base: &HashSet<&str>,
        head: &str,
        shared: &[&str],
    ) -> Divergence {
        let (common, own): (Vec<_>, Vec<_>) =
            walked.behind(head).into_iter().partition(|(id, _)| of_base.contains(id));
        let parents: HashSet<&String> = common.iter().flat_map(|(_, parents)| *parents).collect();
        let is_tip = |id: &&str| !parents.iter().any(|parent| parent == id);
        let ids = common.iter().map(|(id, _)| *id);
        let tips: Vec<&str> =
            if common.len() > 1 { ids.filter(is_tip).collect() } else { ids.collect() };
        let fork = match (&tips[..], shared) {
            ([one], _) | ([], [one]) => Some((*one).to_owned()),
            _ => None,
        };
        let behind = (of_base.len() - common.len()) as u64;
        let diff = own.is_empty().then(Diff::default);
        Divergence { ahead: own.len() as u64, behind, fork, diff, subject: None }
    }
}

/// What commits have changed since they left their base, of those that are not known yet.
fn diffs(git: &Git, found: &HashMap<&str, Divergence>) -> Result<HashMap<String, Diff>> {
    let pairs = found.iter().filter(|(_, it)| it.diff.is_none());
    let pairs = pairs.filter_map(|(head, it)| Some(format!("{head} {}\n", it.fork.as_ref()?)));
    let pairs: Vec<String> = pairs.collect();
    if pairs.is_empty() {
        return Ok(HashMap::new());
    }
    let words = ["diff-tree", "--stdin", "-r", "--shortstat", "--no-ext-diff", "--no-color"];
    let answer = git.look(words).ask_with(pairs.concat().into_bytes())?;
    Ok(diffs_in(&answer.stdout))
}

fn subjects(git: &Git, heads: Vec<&str>) -> Result<HashMap<String, String>> {
    if heads.is_empty() {
        return Ok(HashMap::new());
    }
    let words =
        ["log", "--no-walk=unsorted", "--no-color", "--no-show-signature", "--format=%H %s"];
    let text = git.look(words).args(heads).arg("--").read("read the newest commits")?;
    let text = String::from_utf8_lossy(&text);
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    Ok(pairs.map(|(id, subject)| (id.to_owned(), subject.to_owned())).collect())
}

/// What has changed in the worktree that git runs in since a commit, uncommitted changes of tracked files
/// included.
pub fn in_worktree(git: &Git, since: &str) -> Option<Diff> {
    let words = ["diff", "--shortstat", "--no-ext-diff", "--no-textconv", "--no-color"];
    let diff = git.look(words).args(["--ignore-submodules=dirty", since, "--"]);
    diff.read("compare the files").ok().map(|text| diff_in(&text))
}

/// Lines with a commit's id, each followed by one with its changes if there are any.
fn diffs_in(bytes: &[u8]) -> HashMap<String, Diff> {
    let text = String::from_utf8_lossy(bytes);
    let (mut found, mut last) = (HashMap::new(), None);
    for line in text.lines().filter(|line| !line.is_empty()) {
        match (line.starts_with(' '), &last) {
            (true, Some(id)) => drop(found.insert(String::clone(id), diff_in(line.as_bytes()))),
            (true, None) => {}
            (false, _) => {
                found.insert(line.to_owned(), Diff::default());
                last = Some(line.to_owned());
            }
        }
    }
    found
}

/// ` 1 file changed, 2 insertions(+), 1 deletion(-)`, or nothing.
fn diff_in(bytes: &[u8]) -> Diff {
    let text = String::from_utf8_lossy(bytes);
    let mut diff = Diff::default();
    for piece in text.trim().split(", ") {
        let Some((number, what)) = piece.split_once(' ') else { continue };
        let Ok(number) = number.parse() else { continue };
        match what {
            _ if what.starts_with("file") => diff.files = number,
            _ if what.starts_with("insertion") => diff.insertions = number,
            _ if what.starts_with("deletion") => diff.deletions = number,
            _ => {}
        }
    }
    diff
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    #[test]
    fn changes() {
        let diff = diff_in(b" 1 file changed, 2 insertions(+), 1 deletion(-)\n");
        assert_eq!(diff, Diff { files: 1, insertions: 2, deletions: 1 });
        assert_eq!(diff_in(b" 3 files changed, 4 deletions(-)\n").deletions, 4);
        assert_eq!(diff_in(b""), Diff::default());
    }

    #[test]
    fn fuzz_changes() {
        let real = [b"1234\n 1 file changed, 2 insertions(+), 1 deletion(-)\n5678\n\n".as_slice()];
        let two = diffs_in(real[0]);
        assert_eq!((two["1234"].insertions, two["5678"]), (2, Diff::default()));
        fuzz::damaged(&real, |input| {
            let lines = input.split(|byte| *byte == b'\n').count();
            assert!(diffs_in(input).len() <= lines);
        });
    }
}
