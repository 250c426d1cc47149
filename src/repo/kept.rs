//! The ref that keeps what a removed sandbox holds: `refs/sandbox/kept/<id>`.
//!
//! Git protects the objects of a registered worktree only, and of those HEAD, index and the unexpired
//! reflog. So before a private git dir leaves the registry, every object that any of its files names
//! gets a ref: commits as parents of one commit, staged files and trees in that commit's tree.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::error::{Error, Result};
use crate::git::{Git, porcelain, refs};
use crate::repo::held::{Held, held_by, protected_by};
use crate::repo::unreached::Unreached;
use crate::repo::{Repo, kept_pack};
use crate::sys::{dir, file};

/// Where kept commits are.
pub const KEPT: &str = "refs/sandbox/kept/";

/// What one removal keeps.
#[derive(Debug)]
pub struct Kept {
    /// The commit that holds it all; none where there is nothing to hold.
    pub commit: Option<String>,
    /// How many commits only that worktree held.
    pub only_here: u64,
}

const KEEP: &str = "keep what only it holds";
/// How the message of a commit of ours begins.
const MESSAGE: &str = "kept by git sandbox: ";

/// Makes the ref that keeps everything that a private git dir names. Where HEAD is all, the ref is
/// HEAD's commit; else it is one commit whose parents are the commits and whose tree holds the rest.
/// What an earlier call kept under the same id stays kept.
pub fn keep(git: &Git, repo: &Repo, held: &Held, head: Option<&str>, id: &str) -> Result<Kept> {
    let only_here = Unreached::among(git, &repo.common, &held.commits)?.count(&held.commits);
    let commit = keep_all(git, repo, held, head, id)?;
    Ok(Kept { commit, only_here })
}

/// Makes the same ref without counting commits. Returns the commit that holds it all.
pub fn keep_all(
    git: &Git,
    repo: &Repo,
    held: &Held,
    head: Option<&str>,
    id: &str,
) -> Result<Option<String>> {
    let common = &repo.common;
    let git = &git.at(common);
    let before = Before::at(git, id, head)?;
    let mirrored = kept_pack::is_mirrored(&repo.config);
    let files: BTreeSet<String> = match mirrored {
        true => before.files.clone(),
        false => held.files.union(&before.files).cloned().collect(),
    };
    let behind: Vec<&str> =
        head.into_iter().chain(before.parents.iter().map(String::as_str)).collect();
    let others = match behind[..] {
        [] => Unreached::of(git, common, &held.commits)?,
        _ if held.commits.iter().all(|id| behind.contains(&id.as_str())) => Unreached::default(),
        _ => Unreached::outside(git, common, &held.commits, &behind)?,
    };
    let mut parents: BTreeSet<&str> = behind.iter().copied().collect();
    parents.extend(others.tips(&held.commits));
    let same = |before: &&Before| {
        before.files == files
            && before.parents.iter().map(String::as_str).eq(parents.iter().copied())
    };
    let parents: Vec<&str> = parents.iter().copied().collect();
    let commit = match (Some(&before).filter(same), &parents[..]) {
        (Some(before), _) => before.commit.clone(),
        (None, []) if files.is_empty() => None,
        (None, [only]) if files.is_empty() => Some((*only).to_owned()),
        (None, _) => Some(make_commit(git, id, &parents, &files)?),
    };
    if let Some(commit) = &commit {
        git.look(["update-ref", &format!("{KEPT}{id}"), commit]).done(KEEP)?;
    }
    // A tag can be neither a parent nor a file.
    let tags = held.tags.iter().filter(|_| !mirrored);
    for (number, tag) in tags.enumerate() {
        git.look(["update-ref", &format!("{KEPT}{id}.tag{number}"), tag]).done(KEEP)?;
    }
    if mirrored {
        // Where that fails, the ref stays: it is better than nothing.
        kept_pack::keep(git, repo, held, commit.as_deref(), id)?;
    }
    if let Err(error) = verify(git, held) {
        // A ref that leads to nothing would keep git from collecting garbage.
        if commit != before.commit {
            let words = ["update-ref", "--stdin"];
            let name = name(id);
            let back = match &before.commit {
                Some(before) => format!("update {name} {before}\n"),
                None => format!("delete {name}\n"),
            };
            git.look(words).ask_with(back.into_bytes())?;
        }
        return Err(error);
    }
    Ok(commit)
}

/// The ref of an item.
pub fn name(id: &str) -> String {
    format!("{KEPT}{id}")
}

/// The ids of all items that something is kept for.
pub fn ids(git: &Git, common: &Path) -> Result<BTreeSet<String>> {
    let words = ["for-each-ref", "--format=%(refname)", KEPT];
    let listed = git.at(common).look(words).read("list the kept refs")?;
    let text = String::from_utf8_lossy(&listed);
    let names = text.lines().filter_map(|name| name.strip_prefix(KEPT));
    // An item may have refs for tag objects beside its own, which end in a number.
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let id = |name: &str| match name.rsplit_once(".tag") {
        Some((id, number)) if is_number(number) => id.to_owned(),
        _ => name.to_owned(),
    };
    Ok(names.map(id).collect())
}

/// Whether this commit is all there is to keep, so that the ref of a new item is the commit itself. Where
/// refs are in tables a ref of the worktree's own is not changed together with one that all share.
pub fn is_all(repo: &Repo, held: &Held, head: &str) -> bool {
    held.is_commits_only()
        && held.commits.iter().all(|id| id == head)
        && !repo.is_reftable()
        && !kept_pack::is_mirrored(&repo.config)
}

/// A `gc --prune=now` beside us may have taken a file before the ref was there.
fn verify(git: &Git, held: &Held) -> Result<()> {
    let ids = held.files.iter().filter_map(|line| line.trim_end().split('\t').nth(1));
    let ids: Vec<&str> = ids.collect();
    if ids.is_empty() {
        return Ok(());
    }
    let words = ["cat-file", "--batch-check=%(objectname)", "--buffer"];
    let answer = git.look(words).ask_with((ids.join("\n") + "\n").into_bytes())?;
    let found = String::from_utf8_lossy(&answer.stdout).into_owned();
    match answer.ok() && found.lines().eq(ids) {
        true => Ok(()),
        false => Err(Error::Git { doing: KEEP.into(), why: "an object has vanished".into() }),
    }
}

/// Whether the repository has a commit, without fetching it.
pub fn has(git: &Git, common: &Path, commit: &str) -> Result<bool> {
    let git = git.at(common);
    let call = git.look(["cat-file", "--batch-check=%(objecttype)"]);
    let call = call.env("GIT_ALLOW_PROTOCOL", "none").env("GIT_NO_LAZY_FETCH", "1");
    let answer = call.ask_with(format!("{commit}\n").into_bytes())?;
    match answer.ok() {
        true => Ok(answer.stdout.trim_ascii() == b"commit"),
        false => Err(Error::Git { doing: "find what was kept".into(), why: answer.why() }),
    }
}

/// Makes the ref of `id` again from the commit in its journal, if it vanished.
pub fn renew(git: &Git, common: &Path, commit: &str, id: &str) -> Result<()> {
    let git = git.at(common);
    if has_ref(common, id) == Some(true) || commit_at(&git, id)?.is_some() {
        return Ok(());
    }
    git.look(["update-ref", &format!("{KEPT}{id}"), commit]).done(KEEP)
}

/// Makes one commit of these parents, and of these files in the form of `git mktree`.
fn make_commit(git: &Git, id: &str, parents: &[&str], files: &BTreeSet<String>) -> Result<String> {
    let entries: String = files.iter().map(String::as_str).collect();
    let tree = git.look(["mktree", "--missing"]).ask_with(entries.into_bytes())?;
    if !tree.ok() {
        return Err(Error::Git { doing: KEEP.into(), why: tree.why() });
    }
    let tree = String::from_utf8_lossy(&tree.stdout).trim().to_owned();
    let identity = ["-c", "user.name=git-sandbox", "-c", "user.email=git-sandbox@localhost"];
    let message = format!("{MESSAGE}{id}");
    let parents = parents.iter().flat_map(|parent| ["-p", parent]);
    let unsigned = ["commit-tree", "--no-gpg-sign", "-m", &message];
    let commit = git.look(identity).args(unsigned).args(parents).arg(tree).line(KEEP)?;
    Ok(commit.to_string_lossy().into_owned())
}

/// What is kept at a ref: one commit of the user's, or the parents and files of one of ours.
#[derive(Debug, Default)]
struct Before {
    commit: Option<String>,
    parents: BTreeSet<String>,
    files: BTreeSet<String>,
}

impl Before {
    /// Reads it. A commit that is HEAD is the user's.
    fn at(git: &Git, id: &str, head: Option<&str>) -> Result<Before> {
        let Some(commit) = commit_at(git, id)? else { return Ok(Before::default()) };
        if Some(commit.as_str()) == head {
            let parents = BTreeSet::from([commit.clone()]);
            return Ok(Before { commit: Some(commit), parents, ..Before::default() });
        }
        let doing = "read what was kept";
        let text = git.look(["cat-file", "commit", &commit]).read(doing)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let (head, message) = text.split_once("\n\n").unwrap_or((&text, ""));
        if !message.starts_with(MESSAGE) {
            let parents = BTreeSet::from([commit.clone()]);
            return Ok(Before { commit: Some(commit), parents, ..Before::default() });
        }
        let parents = head.lines().filter_map(|line| line.strip_prefix("parent "));
        let listed = git.look(["ls-tree", &commit]).read(doing)?;
        let files =
            String::from_utf8_lossy(&listed).lines().map(|line| format!("{line}\n")).collect();
        let parents = parents.map(str::to_owned).collect();
        Ok(Before { commit: Some(commit), parents, files })
    }
}

/// The text of `packed-refs`; `None` where refs are not in files or that one cannot be read.
fn packed_refs(common: &Path) -> Option<String> {
    if common.join("reftable").exists() {
        return None;
    }
    match file::read(&common.join("packed-refs")) {
        Err(error) if error.kind() == ErrorKind::NotFound => Some(String::new()),
        Err(_) => None,
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// Whether the ref of `id` is there, loose or packed, where that can be told without git.
fn has_ref(common: &Path, id: &str) -> Option<bool> {
    let name = format!("{KEPT}{id}");
    let packed = packed_refs(common)?;
    let line = |line: &str| line.split_once(' ').is_some_and(|(_, found)| found == name);
    let loose = match fs::metadata(common.join(&name)) {
        Ok(meta) => meta.is_file(),
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(_) => return None,
    };
    Some(loose || packed.lines().any(line))
}

/// The commit that is kept for `id` now.
pub fn current(git: &Git, common: &Path, id: &str) -> Result<Option<String>> {
    commit_at(&git.at(common), id)
}

/// The commit at the ref of `id`. Git runs in the common dir.
fn commit_at(git: &Git, id: &str) -> Result<Option<String>> {
    if has_ref(git.dir(), id) == Some(false) {
        return Ok(None);
    }
    let name = format!("{KEPT}{id}");
    if let Ok(text) = file::read_small(&git.dir().join(&name))
        && let Some(id) = porcelain::commit(text.trim_ascii_end())
    {
        return Ok(Some(id));
    }
    let answer = git.look(["rev-parse", "--verify", "--quiet", &name]).ask()?;
    match answer.code {
        Some(0) => Ok(Some(String::from_utf8_lossy(&answer.stdout).trim().to_owned())),
        Some(1) => Ok(None),
        // No answer is not the answer that it is gone.
        _ => Err(Error::Git { doing: "find what was kept".into(), why: answer.why() }),
    }
}

/// Whether the repository has the ref of `id`.
pub fn is_kept(git: &Git, common: &Path, id: &str) -> Result<bool> {
    Ok(commit_at(&git.at(common), id)?.is_some())
}

/// Drops the refs of `id`, for a removal that did not happen.
pub fn let_go(git: &Git, common: &Path, id: &str) -> Result<()> {
    let git = git.at(common);
    for name in refs_of(&git, id)? {
        git.look(["update-ref", "-d", &name]).done("drop what was kept")?;
    }
    kept_pack::let_go(common, id)
}

/// Every ref that was made for `id`, asked of git only where refs are not in files.
fn refs_of(git: &Git, id: &str) -> Result<Vec<String>> {
    let name = format!("{KEPT}{id}");
    let own = |found: &str| found == name || found.starts_with(&format!("{name}.tag"));
    if let Some(packed) = packed_refs(git.dir()) {
        let loose = dir::paths_in(&git.dir().join(KEPT))?;
        let loose = loose.iter().filter_map(|path| path.file_name());
        let loose = loose.map(|name| format!("{KEPT}{}", name.to_string_lossy()));
        let packed = packed.lines().filter_map(|line| Some(line.split_once(' ')?.1.to_owned()));
        let names: BTreeSet<String> = loose.chain(packed).filter(|name| own(name)).collect();
        return Ok(names.into_iter().collect());
    }
    let words = ["for-each-ref", "--format=%(refname)", KEPT];
    let kept = git.look(words).read("find what was kept")?;
    let kept = String::from_utf8_lossy(&kept);
    Ok(kept.lines().filter(|found| own(found)).map(str::to_owned).collect())
}

/// Drops the ref of `id` for a sandbox that is back, if that holds all of it itself again: its reflog
/// may have expired meanwhile, and nothing protects what an operation in progress or a private ref
/// names.
pub fn let_go_if_held(
    git: &Git,
    common: &Path,
    entry: &Path,
    id: &str,
    head: Option<&str>,
) -> Result<()> {
    let shared = git.at(common);
    let kept = Before::at(&shared, id, head)?;
    if kept.commit.is_none() {
        return Ok(());
    }
    let held = held_by(git, entry)?;
    if !held.files.is_empty() || !held.tags.is_empty() {
        return Ok(());
    }
    let mut protected = protected_by(entry);
    // Most often it is on a branch whose tip that is.
    protected.extend(refs::tip_of_head(common, entry));
    let lost: BTreeSet<String> = kept.parents.difference(&protected).cloned().collect();
    match Unreached::among(git, common, &lost)?.count(&lost) {
        0 => let_go(git, common, id),
        _ => Ok(()),
    }
}
