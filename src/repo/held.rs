//! Commits that only one worktree holds, and the ref that keeps them when its entry goes.
//!
//! Being registered protects HEAD, index and the unexpired reflog of a worktree from gc, and
//! nothing else. So before an entry is dropped or put away, every commit that no shared ref
//! reaches becomes a parent of one commit of the empty tree, at `refs/sandbox/kept/<id>`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::git::Git;
use crate::porcelain;
use crate::time::counted;
use crate::verdict::ONLY_HERE;

/// Where kept commits are.
pub const KEPT: &str = "refs/sandbox/kept/";

/// What a private git dir holds, by full ids.
#[derive(Debug, Default)]
pub struct Held {
    /// Commits, or ids that may be some.
    pub commits: BTreeSet<String>,
    /// Trees and blobs, as `git mktree` reads them.
    files: BTreeSet<String>,
    tags: BTreeSet<String>,
}

impl Held {
    /// Whether there is nothing in it that only a ref of its own could keep.
    pub fn is_commits_only(&self) -> bool {
        self.files.is_empty() && self.tags.is_empty()
    }
}

/// Commits that no shared ref reaches, with their parents.
#[derive(Debug, Default)]
pub struct Unreached(HashMap<String, Vec<String>>);

impl Unreached {
    /// Which commits among `ids` and behind them no shared ref reaches, for any number of
    /// worktrees in one go. Ids of nothing are passed over.
    pub fn among(git: &Git, common: &Path, ids: &BTreeSet<String>) -> Result<Unreached> {
        // Of the main worktree's own refs none counts: they come and go with its operations.
        // Nor what was kept for another sandbox, which goes when that one is restored.
        let shared = [
            "--exclude=refs/bisect/*",
            "--exclude=refs/worktree/*",
            "--exclude=refs/sandbox/kept/*",
            "--glob=refs/*",
        ];
        Unreached::ask(git, common, ids, &shared)
    }

    /// Which of them no remote has.
    pub fn unpushed(git: &Git, common: &Path, ids: &BTreeSet<String>) -> Result<Unreached> {
        Unreached::ask(git, common, ids, &["--remotes"])
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
        let answer = git.look(words).arg("--not").args(by).ask_with(input.into_bytes())?;
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
    fn tips<'a>(&self, ids: &'a BTreeSet<String>) -> Vec<&'a str> {
        let parents: HashSet<&String> = self.0.values().flatten().collect();
        let tips = ids.iter().filter(|id| self.0.contains_key(*id) && !parents.contains(id));
        tips.map(String::as_str).collect()
    }
}

/// Keeps what an entry holds, and what is staged: for an entry that goes for good. What was kept, in words.
pub fn keep_with_index(git: &Git, common: &Path, entry: &Path, id: &str) -> Result<Option<String>> {
    let mut held = held_by(git, entry)?;
    let mut kept = Vec::new();
    if entry.join("index").is_file() {
        let staged = within(git, entry, ["write-tree"]).ask()?;
        let head = within(git, entry, ["rev-parse", "--verify", "--quiet", "HEAD^{tree}"]).ask()?;
        if !staged.ok() {
            // A conflict: every file of the index by itself.
            let listed =
                within(git, entry, ["ls-files", "-s", "-z"]).read("read what is staged")?;
            held.files.extend(porcelain::staged_blobs(&listed).map(|id| blob_entry(&id)));
            kept.push("what was staged".to_owned());
        } else if staged.stdout != head.stdout {
            held.files.insert(tree_entry(String::from_utf8_lossy(&staged.stdout).trim()));
            kept.push("what was staged".to_owned());
        }
    }
    let count = keep(git, common, &held, id)?;
    kept.extend((count > 0).then(|| format!("{}{ONLY_HERE}", counted(count, "commit"))));
    Ok((!kept.is_empty()).then(|| format!("kept {} in {KEPT}{id}", kept.join(" and "))))
}

/// Makes the ref that keeps what only one worktree holds; how many commits that is. Where there is
/// nothing to keep there is no ref.
pub fn keep(git: &Git, common: &Path, held: &Held, id: &str) -> Result<u64> {
    let unreached = Unreached::among(git, common, &held.commits)?;
    let tips = unreached.tips(&held.commits);
    if tips.is_empty() && held.files.is_empty() && held.tags.is_empty() {
        return Ok(0);
    }
    let git = git.at(common);
    let name = format!("{KEPT}{id}");
    let before = parents_of(&git, &name)?;
    let new =
        |tip: &str| before.as_ref().is_none_or(|(_, parents)| !parents.iter().any(|id| id == tip));
    if before.is_some() && !tips.iter().copied().any(new) {
        return Ok(unreached.count(&held.commits));
    }
    let tips = tips.into_iter().chain(before.iter().map(|(commit, _)| commit.as_str()));
    let tips: Vec<&str> = tips.collect();
    let entries: String = held.files.iter().map(String::as_str).collect();
    make_ref(&git, id, &tips, entries)?;
    // A tag can be neither a parent nor a file.
    for (number, tag) in held.tags.iter().enumerate() {
        git.look(["update-ref", &format!("{KEPT}{id}.tag{number}"), tag]).done(KEEP)?;
    }
    Ok(unreached.count(&held.commits))
}

const KEEP: &str = "keep commits that only it holds";

/// Puts one commit under the ref of `id`, whatever else reaches it now.
pub fn keep_commit(git: &Git, common: &Path, commit: &str, id: &str) -> Result<()> {
    let git = git.at(common);
    match parents_of(&git, &format!("{KEPT}{id}"))? {
        Some((_, parents)) if parents.iter().any(|parent| parent == commit) => Ok(()),
        Some((before, _)) => make_ref(&git, id, &[commit, &before], String::new()),
        None => make_ref(&git, id, &[commit], String::new()),
    }
}

/// One commit of these parents, and of these files in the form of `git mktree`, at the ref of `id`.
fn make_ref(git: &Git, id: &str, parents: &[&str], entries: String) -> Result<()> {
    let tree = git.look(["mktree"]).ask_with(entries.into_bytes())?;
    let tree = String::from_utf8_lossy(&tree.stdout).trim().to_owned();
    let identity = ["-c", "user.name=git-sandbox", "-c", "user.email=git-sandbox@localhost"];
    let message = format!("kept by git sandbox: {id}");
    let parents = parents.iter().flat_map(|parent| ["-p", parent]);
    let commit = git.look(identity).args(["commit-tree", "-m", &message]).args(parents).arg(tree);
    let commit = commit.line(KEEP)?;
    git.look(["update-ref", &format!("{KEPT}{id}")]).arg(commit).done(KEEP)
}

/// What is kept at a ref: its commit and that one's parents.
fn parents_of(git: &Git, name: &str) -> Result<Option<(String, Vec<String>)>> {
    let found =
        git.look(["rev-list", "--no-walk", "--parents", "--ignore-missing", name, "--"]).ask()?;
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    let mut ids = text.split_whitespace().map(str::to_owned);
    Ok(ids.next().filter(|_| found.ok()).map(|commit| (commit, ids.collect())))
}

/// Drops what was kept for a removal that did not happen.
pub fn let_go(git: &Git, common: &Path, id: &str) -> Result<()> {
    let (git, name) = (git.at(common), format!("{KEPT}{id}"));
    let words = ["for-each-ref", "--format=%(refname)", &name, &format!("{name}.tag*")];
    let kept = git.look(words).read("find what was kept")?;
    for name in String::from_utf8_lossy(&kept).lines() {
        git.look(["update-ref", "-d", name]).done("drop what was kept")?;
    }
    Ok(())
}

/// Drops what was kept for a sandbox that is back, if it holds all of it itself again: its reflog
/// may have expired meanwhile.
pub fn let_go_if_held(git: &Git, common: &Path, entry: &Path, id: &str) -> Result<()> {
    let Some((_, parents)) = parents_of(&git.at(common), &format!("{KEPT}{id}"))? else {
        return Ok(());
    };
    // Nothing protects what only ORIG_HEAD names.
    let held = held_without(git, entry, "ORIG_HEAD")?.commits;
    let lost: BTreeSet<String> =
        parents.into_iter().filter(|parent| !held.contains(parent)).collect();
    match Unreached::among(git, common, &lost)?.count(&lost) {
        0 => let_go(git, common, id),
        _ => Ok(()),
    }
}

/// Everything in a private git dir that reads like an object id: HEAD, its reflog, pseudo refs such
/// as `MERGE_HEAD`, refs of its own, and the state of operations in progress, where ids may be
/// shortened and may be of trees.
pub fn held_by(git: &Git, entry: &Path) -> Result<Held> {
    held_without(git, entry, "")
}

fn held_without(git: &Git, entry: &Path, without: &str) -> Result<Held> {
    let plain = ["HEAD", "ORIG_HEAD", "logs"].map(|name| entry.join(name));
    let mut held = Held::default();
    let (mut doubtful, mut named) = (BTreeSet::new(), BTreeSet::new());
    let mut todo = vec![entry.to_owned()];
    while let Some(folder) = todo.pop() {
        for file in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (Ok(kind), path) = (file.file_type(), file.path()) else { continue };
            if kind.is_dir() && file.file_name() != "modules" && file.file_name() != "reftable" {
                todo.push(path);
            } else if kind.is_file() && !holds_no_ids(&path) && file.file_name() != without {
                let bytes = fs::read(&path).unwrap_or_default();
                match () {
                    () if plain.iter().any(|plain| path.starts_with(plain)) => {
                        held.commits.extend(ids_among(&bytes, 40));
                    }
                    () if path.starts_with(entry.join("refs")) => {
                        named.extend(ids_among(&bytes, 40));
                    }
                    () => doubtful.extend(ids_among(&bytes, 7)),
                }
            }
        }
    }
    if entry.join("reftable").is_dir() {
        named.extend(ids_in_table(git, entry, without)?);
    }
    doubtful.extend(named.iter().cloned());
    doubtful.retain(|id| !held.commits.contains(id));
    if !doubtful.is_empty() {
        classify(git, entry, &doubtful, &named, &mut held)?;
    }
    Ok(held)
}

/// Files that name no objects, or whose objects are safe with the entry.
fn holds_no_ids(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let leads: [&[u8]; 3] = [b"index", b"sharedindex", b"sandbox."];
    let names: [&[u8]; 3] = [b"locked", b"gitdir", b"commondir"];
    leads.iter().any(|lead| name.starts_with(lead)) || names.contains(&name)
}

/// Asks git what the ids are, and what tags stand for. A blob counts only if a ref names it: patches
/// in progress are full of others.
fn classify(
    git: &Git,
    entry: &Path,
    ids: &BTreeSet<String>,
    named: &BTreeSet<String>,
    held: &mut Held,
) -> Result<()> {
    let input = ids.iter().fold(String::new(), |text, id| text + id + "\n" + id + "^{}\n");
    let words = ["cat-file", "--batch-check=%(objectname) %(objecttype)", "--buffer"];
    let answer = within(git, entry, words).ask_with(input.into_bytes())?;
    if !answer.ok() {
        return Err(Error::Git { doing: "read its commits".into(), why: answer.why() });
    }
    for line in String::from_utf8_lossy(&answer.stdout).lines() {
        match line.split_once(' ') {
            Some((id, "commit")) => drop(held.commits.insert(id.to_owned())),
            Some((id, "tag")) => drop(held.tags.insert(id.to_owned())),
            Some((id, "tree")) => drop(held.files.insert(tree_entry(id))),
            Some((id, "blob")) if named.contains(id) => {
                held.files.insert(blob_entry(id));
            }
            _ => {}
        }
    }
    Ok(())
}

fn blob_entry(id: &str) -> String {
    format!("100644 blob {id}\t{id}\n")
}

fn tree_entry(id: &str) -> String {
    format!("040000 tree {id}\t{id}\n")
}

/// With reftable, refs and reflog are in the table: git is asked.
fn ids_in_table(git: &Git, entry: &Path, without: &str) -> Result<BTreeSet<String>> {
    let own = within(
        git,
        entry,
        ["for-each-ref", "--include-root-refs", "--format=%(objectname) %(refname)"],
    );
    let refs = own.read("read its refs")?;
    let text = String::from_utf8_lossy(&refs);
    let private = |name: &str| {
        if name == without {
            return false;
        }
        let own = ["refs/worktree/", "refs/bisect/", "refs/rewritten/"];
        !name.starts_with("refs/") || own.iter().any(|lead| name.starts_with(lead))
    };
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let mut ids: BTreeSet<String> =
        lines.filter(|(_, name)| private(name)).map(|(id, _)| id.to_owned()).collect();
    let reflog = within(git, entry, ["log", "-g", "--format=%H", "HEAD", "--"]).ask()?;
    if !reflog.ok() {
        // An unborn HEAD has a reflog that git does not show alone: rather too much than too little.
        let all =
            within(git, entry, ["rev-list", "--no-walk", "--single-worktree", "--reflog"]).ask()?;
        ids.extend(ids_among(&all.stdout, 40));
    }
    ids.extend(ids_among(&reflog.stdout, 40));
    Ok(ids)
}

/// git as it sees this worktree, whether or not its folder is there.
pub fn within<'a, S: AsRef<std::ffi::OsStr>>(
    git: &'a Git,
    entry: &Path,
    words: impl IntoIterator<Item = S>,
) -> crate::git::Call<'a> {
    let mut dir = OsString::from("--git-dir=");
    dir.push(entry);
    git.look([dir]).args(words)
}

fn ids_among(bytes: &[u8], least: usize) -> impl Iterator<Item = String> {
    let words = bytes.split(|byte| !byte.is_ascii_alphanumeric());
    let hex = |word: &&[u8]| word.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let ids = words.filter(move |word| word.len() >= least && word.len() <= 64).filter(hex);
    let ids = ids.filter(|word| word.iter().any(|byte| *byte != b'0'));
    ids.map(|word| String::from_utf8_lossy(word).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz;

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

    #[test]
    fn ids_are_found_in_any_text() {
        let (a, b) = ("a".repeat(40), "b".repeat(64));
        let text = format!("{} {a} x <y@z> 1\t{b}\nnot an id {}", "0".repeat(40), "c".repeat(41));
        assert_eq!(ids_among(text.as_bytes(), 40).collect::<Vec<_>>(), [a, b, "c".repeat(41)]);
        assert_eq!(ids_among(b"pick 1a2b3c4 deadbeefs", 7).collect::<Vec<_>>(), ["1a2b3c4"]);
    }

    #[test]
    fn fuzz_ids() {
        let line = format!(
            "{} {} A <a@b> 1 +0000\tcommit: x\npick 1a2b3c4 x\n",
            "a".repeat(40),
            "b".repeat(64)
        );
        fuzz::damaged(&[line.as_bytes()], |input| {
            for least in [7, 40] {
                for id in ids_among(input, least) {
                    assert!(id.len() >= least && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
                    assert!(fuzz::contains(input, id.as_bytes()));
                }
            }
        });
    }
}
