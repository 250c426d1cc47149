//! What a private git dir holds: every object that any of its files names.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::{Doing, Error, Result};
use crate::git::{Git, cache_tree, porcelain};
use crate::repo::name;
use crate::sys::file;

/// What a private git dir holds, by full ids.
#[derive(Debug, Default)]
pub struct Held {
    /// Commits, or ids that may be some.
    pub commits: BTreeSet<String>,
    /// Trees and blobs, as `git mktree` reads them.
    pub files: BTreeSet<String>,
    /// Tag objects.
    pub tags: BTreeSet<String>,
}

impl Held {
    /// Whether there is nothing in it that only a ref of its own could keep.
    pub fn is_commits_only(&self) -> bool {
        self.files.is_empty() && self.tags.is_empty()
    }

    /// How many files of it are not in a commit. The trees that an index remembers do not count.
    pub fn staged(&self) -> u64 {
        self.files.iter().filter(|entry| entry.starts_with("100644 ")).count() as u64
    }
}

/// Everything in a private git dir that reads like an object id: HEAD, its reflog, pseudo refs such
/// as `MERGE_HEAD`, refs of its own, and the state of operations in progress, where ids may be
/// shortened and may be of trees.
pub fn held_by(git: &Git, entry: &Path) -> Result<Held> {
    let plain = ["HEAD", "ORIG_HEAD", "logs"].map(|name| entry.join(name));
    let mut held = Held::default();
    let (mut doubtful, mut named) = (BTreeSet::new(), BTreeSet::new());
    let mut todo = vec![entry.to_owned()];
    while let Some(folder) = todo.pop() {
        for file in fs::read_dir(&folder).at("read", &folder)? {
            let file = file.at("read", &folder)?;
            let path = file.path();
            let kind = file.file_type().at("read", &path)?;
            let aside = folder == entry && holds_no_ids(&file.file_name());
            if kind.is_dir() && !aside {
                todo.push(path);
            } else if kind.is_file() && !aside {
                let bytes = match fs::read(&path) {
                    // A lock of git's that has done its work meanwhile.
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    other => other.at("read", &path)?,
                };
                match () {
                    () if plain.iter().any(|plain| path.starts_with(plain)) => {
                        held.commits.extend(ids_among(&bytes, 40));
                    }
                    () if path.starts_with(entry.join("refs")) => {
                        named.extend(ids_among(&bytes, 40));
                    }
                    // Pseudo refs of any name are among them.
                    () if folder == entry => {
                        named.extend(ids_among(&bytes, 40));
                        doubtful.extend(ids_among(&bytes, 7));
                    }
                    () => doubtful.extend(ids_among(&bytes, 7)),
                }
            }
        }
    }
    if is_there(&entry.join("reftable"))? {
        named.extend(ids_in_table(git, entry)?);
    }
    doubtful.extend(named.iter().cloned());
    doubtful.retain(|id| !held.commits.contains(id));
    classify(git, entry, &doubtful, &named, &mut held)?;
    Ok(held)
}

/// The commit that git keeps for a registered worktree whatever its age: HEAD's. Entries of its reflog
/// expire.
pub fn protected_by(entry: &Path) -> BTreeSet<String> {
    ids_among(&fs::read(entry.join("HEAD")).unwrap_or_default(), 40).collect()
}

/// Files and folders at the top of a private git dir that name no objects, or are handled by
/// themselves. A ref of the same name further down is a ref.
pub fn holds_no_ids(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let leads: [&[u8]; 3] = [b"index", b"sharedindex.", b"sandbox."];
    let names: [&[u8]; 6] =
        [b"locked", b"gitdir", b"commondir", b"modules", b"reftable", b"confined"];
    leads.iter().any(|lead| name.starts_with(lead)) || names.contains(&name)
}

/// Adds what is staged and differs from HEAD, in every stage, and what a resolved conflict can be
/// undone with.
pub fn add_staged(git: &Git, entry: &Path, head: Option<&str>, held: &mut Held) -> Result<()> {
    if !is_there(&entry.join("index"))? {
        return Ok(());
    }
    let doing = "read what is staged";
    let mut ids: BTreeSet<String> = BTreeSet::new();
    let listed = |words: &[&str]| within(git, entry, words).read(doing);
    match head {
        Some(head) => {
            let words =
                ["diff-index", "--cached", "--raw", "--no-abbrev", "--no-renames", "-z", head];
            ids.extend(porcelain::changed_blobs(&listed(&words)?));
            ids.extend(porcelain::staged_blobs(&listed(&["ls-files", "-u", "-s", "-z"])?));
        }
        None => ids.extend(porcelain::staged_blobs(&listed(&["ls-files", "-s", "-z"])?)),
    }
    ids.extend(porcelain::staged_blobs(&listed(&["ls-files", "--resolve-undo", "-z"])?));
    let differs = head.is_none() || !ids.is_empty();
    held.files.extend(ids.iter().map(|id| blob_entry(id)));
    // An index like HEAD remembers trees of HEAD.
    if differs {
        let index = entry.join("index");
        let trees = cache_tree::trees(&fs::read(&index).at("read", &index)?);
        classify(git, entry, &trees.into_iter().collect(), &BTreeSet::new(), held)?;
    }
    Ok(())
}

/// Whether there is a file or folder. One that cannot be looked at is an error: it may hold work.
fn is_there(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        other => other.map(|_| true).at("read", path),
    }
}

/// A fingerprint of a private git dir: it changes with every file that is written, replaced, made or
/// removed in it. `None` where a file cannot be looked at.
pub fn fingerprint(entry: &Path) -> Option<String> {
    let mut lines = Vec::new();
    let mut todo = vec![entry.to_owned()];
    while let Some(folder) = todo.pop() {
        for file in fs::read_dir(&folder).ok()? {
            let path = file.ok()?.path();
            let meta = fs::symlink_metadata(&path).ok()?;
            let times = (meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec());
            let name = path.as_os_str().as_bytes().escape_ascii();
            lines.push(format!("{name} {} {} {times:?}", meta.ino(), meta.size()));
            if meta.is_dir() {
                todo.push(path);
            }
        }
    }
    lines.sort();
    Some(name::hash(OsStr::new(&lines.join("\n"))))
}

/// Every ref of its own, with what it names.
pub fn private_refs(git: &Git, entry: &Path, reftable: bool) -> Result<BTreeMap<String, String>> {
    if !reftable && !has_files(&entry.join("refs")) {
        return Ok(BTreeMap::new());
    }
    let format = "--format=%(objectname) %(refname)";
    let words = if reftable {
        vec!["for-each-ref", "--include-root-refs", format]
    } else {
        vec!["for-each-ref", format, "refs/worktree", "refs/bisect", "refs/rewritten"]
    };
    let refs = within(git, entry, words).read("read its refs")?;
    let text = String::from_utf8_lossy(&refs);
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let own = lines.filter(|(_, name)| is_private(name) && *name != "HEAD");
    Ok(own.map(|(id, name)| (name.to_owned(), id.to_owned())).collect())
}

/// Whether there is a file in a folder, at any depth, or anything that cannot be read.
fn has_files(folder: &Path) -> bool {
    let mut todo = vec![folder.to_owned()];
    while let Some(folder) = todo.pop() {
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(_) => return true,
            Ok(entries) => entries,
        };
        for entry in entries {
            match entry.and_then(|entry| Ok((entry.file_type()?, entry.path()))) {
                Ok((kind, path)) if kind.is_dir() => todo.push(path),
                _ => return true,
            }
        }
    }
    false
}

/// What HEAD reads where refs are in tables.
pub const IN_TABLE: &[u8] = b"ref: refs/heads/.invalid\n";

/// Whether HEAD is a symlink, as git makes it with `core.preferSymlinkRefs`: in a private git dir that leads
/// nowhere, and only git can tell what it stands for.
pub fn is_head_a_link(entry: &Path) -> bool {
    entry.join("HEAD").is_symlink()
}

/// Every ref that a private git dir has as a file, HEAD aside, with what the file says.
pub fn loose_refs(entry: &Path) -> Result<BTreeMap<String, String>> {
    let mut refs = BTreeMap::new();
    let mut todo = vec![entry.to_owned()];
    while let Some(folder) = todo.pop() {
        for found in fs::read_dir(&folder).at("read", &folder)? {
            let found = found.at("read", &folder)?;
            let (path, kind) = (found.path(), found.file_type().at("read", &folder)?);
            let name = path.strip_prefix(entry).ok().and_then(Path::to_str).unwrap_or_default();
            if kind.is_dir() && (name == "refs" || name.starts_with("refs/")) {
                todo.push(path);
            } else if kind.is_file() && (name.starts_with("refs/") || is_root_ref(name)) {
                let text = file::read_small(&path).at("read", &path)?;
                let text = String::from_utf8_lossy(text.trim_ascii_end()).into_owned();
                refs.insert(name.to_owned(), text);
            }
        }
    }
    Ok(refs)
}

/// Whether git takes a file at the top of a git dir for a ref. `MERGE_HEAD` and `FETCH_HEAD` are files in
/// every format.
fn is_root_ref(name: &str) -> bool {
    const OTHERS: [&str; 5] = [
        "AUTO_MERGE",
        "BISECT_EXPECTED_REV",
        "MERGE_AUTOSTASH",
        "NOTES_MERGE_PARTIAL",
        "NOTES_MERGE_REF",
    ];
    let is_capital = |letter: char| letter.is_ascii_uppercase() || "-_".contains(letter);
    let is_head = name.ends_with("_HEAD") && name.chars().all(is_capital);
    (is_head && !["MERGE_HEAD", "FETCH_HEAD"].contains(&name)) || OTHERS.contains(&name)
}

fn is_private(name: &str) -> bool {
    let own = ["refs/worktree/", "refs/bisect/", "refs/rewritten/"];
    !name.starts_with("refs/") || own.iter().any(|lead| name.starts_with(lead))
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
    if ids.is_empty() {
        return Ok(());
    }
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
fn ids_in_table(git: &Git, entry: &Path) -> Result<BTreeSet<String>> {
    let own = within(
        git,
        entry,
        ["for-each-ref", "--include-root-refs", "--format=%(objectname) %(refname)"],
    );
    let refs = own.read("read its refs")?;
    let text = String::from_utf8_lossy(&refs);
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let mut ids: BTreeSet<String> =
        lines.filter(|(_, name)| is_private(name)).map(|(id, _)| id.to_owned()).collect();
    let logs = within(git, entry, ["reflog", "list"]).ask()?;
    let logs = String::from_utf8_lossy(&logs.stdout).into_owned();
    let own = logs.lines().filter(|name| is_private(name) && *name != "HEAD");
    let words = ["log", "-g", "--format=%H", "HEAD"].into_iter().chain(own).chain(["--"]);
    let reflog = within(git, entry, words).ask()?;
    if !reflog.ok() {
        // An unborn HEAD has a reflog that git does not show alone: rather too much than too little.
        let all =
            within(git, entry, ["rev-list", "--no-walk", "--single-worktree", "--reflog"]).ask()?;
        ids.extend(ids_among(&all.stdout, 40));
    }
    ids.extend(ids_among(&reflog.stdout, 40));
    Ok(ids)
}

/// The commit of HEAD of a private git dir, if there is one. A git that gives no answer is an error.
pub fn head_commit(git: &Git, private: &Path) -> Result<Option<String>> {
    let answer = within(git, private, ["rev-parse", "--verify", "--quiet", "HEAD"]).ask()?;
    match answer.code {
        Some(0) => Ok(Some(String::from_utf8_lossy(&answer.stdout).trim().to_owned())),
        Some(1) => Ok(None),
        _ => Err(Error::Git { doing: "read its HEAD".into(), why: answer.why() }),
    }
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
    use crate::sys::fuzz;

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
