//! What git tells of branches: where they are, what merging them gives, and their patches.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::fields::{commit, cut, paths};

/// What [`branches`] reads from `git for-each-ref`.
pub const BRANCH_FORMAT: &str = "--format=%(objectname) %(tree) %(refname) %(upstream) %(symref)";

/// A branch, here or of a remote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branch {
    /// Its full name.
    pub name: String,
    /// Its commit.
    pub commit: String,
    /// That commit's tree.
    pub tree: String,
    /// The full name of what it follows, or nothing.
    pub upstream: String,
    /// The full name of what it stands for, or nothing.
    pub points_to: String,
}

/// Reads `git for-each-ref` with [`BRANCH_FORMAT`].
pub fn branches(bytes: &[u8]) -> Vec<Branch> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().map(|line| line.split(' ').map(str::to_owned));
    let branches = lines.filter_map(|mut fields| {
        let commit = commit(fields.next()?.as_bytes())?;
        let tree = fields.next()?;
        let name = fields.next()?;
        let (upstream, points_to) = (fields.next()?, fields.next()?);
        Some(Branch { name, commit, tree, upstream, points_to })
    });
    branches.collect()
}

/// What came of a merge that touches no checkout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merge {
    /// Whether it has no conflicts.
    pub clean: bool,
    /// Its tree.
    pub tree: String,
    /// Files that conflict.
    pub conflicts: Vec<PathBuf>,
}

/// Reads `git merge-tree --stdin --no-messages --name-only`: a status, a tree and files, each ended
/// by a NUL, then one more NUL. What is cut short is left out.
pub fn merges(bytes: &[u8]) -> Vec<Merge> {
    let mut fields = bytes.split(|byte| *byte == 0);
    let mut merges = Vec::new();
    while let (Some(status @ (b"0" | b"1")), Some(tree)) = (fields.next(), fields.next()) {
        let Some(tree) = commit(tree) else { break };
        let files: Vec<&[u8]> = fields.by_ref().take_while(|field| !field.is_empty()).collect();
        let conflicts = files.iter().map(|file| PathBuf::from(OsStr::from_bytes(file)));
        merges.push(Merge { clean: *status == *b"1", tree, conflicts: conflicts.collect() });
    }
    merges
}

/// Reads `git merge-tree --write-tree -z --no-messages --name-only`.
pub fn merge(bytes: &[u8], clean: bool) -> Option<Merge> {
    let (tree, files) = cut(bytes, 0)?;
    let mut conflicts = paths(files);
    conflicts.dedup();
    Some(Merge { clean, tree: commit(tree)?, conflicts })
}

/// Reads `git patch-id`: the patch of each commit.
pub fn patch_ids(bytes: &[u8]) -> HashMap<String, String> {
    let text = String::from_utf8_lossy(bytes);
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(patch, commit)| (commit.to_owned(), patch.to_owned())).collect()
}
