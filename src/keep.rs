//! Commits that only one worktree holds, and the ref that keeps them when its entry goes.
//!
//! Being registered protects HEAD, index and the unexpired reflog of a worktree from gc, and
//! nothing else. So before an entry is dropped or put away, every commit that no shared ref
//! reaches becomes a parent of one commit of the empty tree, at `refs/sandbox/kept/<id>`.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::git::Git;

/// Where kept commits are.
pub const KEPT: &str = "refs/sandbox/kept/";

/// What only one worktree holds.
#[derive(Debug, Default)]
pub struct OnlyHere {
    /// How many commits.
    pub count: usize,
    /// Those from which all others can be reached.
    pub tips: Vec<String>,
}

/// Finds the commits that only the worktree with this private git dir holds: through its HEAD, its
/// reflog, its private refs and the state of operations in progress.
pub fn only_here(git: &Git, common: &Path, entry: &Path) -> Result<OnlyHere> {
    let git = git.at(common);
    let candidates = commits_among(&git, &ids_in(&git, entry)?)?;
    if candidates.is_empty() {
        return Ok(OnlyHere::default());
    }
    let mut input = candidates.iter().fold(String::new(), |text, id| text + id + "\n");
    input += "--not\n--glob=refs/*\n";
    let call = git.look(["rev-list", "--parents", "--single-worktree", "--stdin"]);
    let answer = call.ask_with(input.into_bytes())?;
    if !answer.ok() {
        return Err(Error::Git {
            doing: "find commits that only it holds".into(),
            why: answer.why(),
        });
    }
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let mut unreached = HashSet::new();
    let mut parents = HashSet::new();
    for line in text.lines() {
        let mut ids = line.split(' ');
        unreached.extend(ids.next());
        parents.extend(ids);
    }
    let is_tip = |id: &String| unreached.contains(id.as_str()) && !parents.contains(id.as_str());
    Ok(OnlyHere { count: unreached.len(), tips: candidates.into_iter().filter(is_tip).collect() })
}

/// Makes the ref that keeps these commits; says nothing and does nothing when there are none.
pub fn keep(git: &Git, only_here: &OnlyHere, id: &str) -> Result<()> {
    if only_here.tips.is_empty() {
        return Ok(());
    }
    let doing = "keep commits that only it holds";
    let tree = git.call(["mktree"]).ask_with(Vec::new())?;
    let tree = String::from_utf8_lossy(&tree.stdout).trim().to_owned();
    let identity = ["-c", "user.name=git-sandbox", "-c", "user.email=git-sandbox@localhost"];
    let message = format!("kept by git sandbox: {id}");
    let parents = only_here.tips.iter().flat_map(|tip| ["-p", tip]);
    let commit = git.call(identity).args(["commit-tree", "-m", &message]).args(parents).arg(tree);
    let commit = commit.line(doing)?;
    git.call(["update-ref", &format!("{KEPT}{id}")]).arg(commit).done(doing)
}

/// Everything in a private git dir that reads like an object id.
fn ids_in(git: &Git, entry: &Path) -> Result<BTreeSet<String>> {
    let mut ids = BTreeSet::new();
    let mut read = |path: &Path| {
        if let Ok(bytes) = fs::read(path) {
            let words = bytes.split(|byte| !byte.is_ascii_hexdigit());
            let ids_read = words.filter(|word| matches!(word.len(), 40 | 64));
            ids.extend(ids_read.map(|word| String::from_utf8_lossy(word).into_owned()));
        }
    };
    for folder in ["", "logs", "rebase-merge", "rebase-apply", "sequencer"] {
        for file in fs::read_dir(entry.join(folder)).into_iter().flatten().flatten() {
            let small = file.metadata().is_ok_and(|meta| meta.is_file());
            if small && file.file_name() != "index" {
                read(&file.path());
            }
        }
    }
    // Refs of its own, and with reftable also HEAD, its reflog and the pseudo refs.
    let mut dir = std::ffi::OsString::from("--git-dir=");
    dir.push(entry);
    let own = ["refs/worktree", "refs/bisect", "refs/rewritten"];
    let refs = git.look([&dir]).args(["for-each-ref", "--format=%(objectname)"]).args(own);
    let refs = refs.read("read its private refs")?;
    let pseudo =
        ["HEAD", "ORIG_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "BISECT_HEAD"];
    let reflog = git.look([&dir]).args(["log", "-g", "--format=%H", "HEAD", "--"]).ask()?;
    let mut texts = vec![refs, reflog.stdout];
    if fs::exists(entry.join("reftable")).unwrap_or(false) {
        for name in pseudo {
            let words = ["rev-parse", "--verify", "--quiet", name];
            texts.push(git.look([&dir]).args(words).ask()?.stdout);
        }
    }
    for text in texts {
        ids.extend(String::from_utf8_lossy(&text).split_whitespace().map(str::to_owned));
    }
    Ok(ids)
}

/// Those of the ids that are commits we have.
fn commits_among(git: &Git, ids: &BTreeSet<String>) -> Result<Vec<String>> {
    let input = ids.iter().fold(String::new(), |text, id| text + id + "^{commit}\n");
    let call = git.look(["cat-file", "--batch-check=%(objectname) %(objecttype)", "--buffer"]);
    let answer = call.ask_with(input.into_bytes())?;
    if !answer.ok() {
        return Err(Error::Git { doing: "read its commits".into(), why: answer.why() });
    }
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let commits = text.lines().filter_map(|line| line.strip_suffix(" commit"));
    Ok(commits.map(str::to_owned).collect())
}
