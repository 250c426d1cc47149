//! What `git worktree list --porcelain -z` prints.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::fields::{commit, cut};

/// A record of `git worktree list --porcelain -z`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The worktree's folder.
    pub path: PathBuf,
    /// Its commit; `None` where it has none yet.
    pub head: Option<String>,
    /// `refs/heads/...`; `None` when detached.
    pub branch: Option<OsString>,
    /// The main record of a bare repository.
    pub bare: bool,
    /// The lock reason, empty when none was given.
    pub locked: Option<String>,
}

/// Reads `git worktree list --porcelain -z`.
pub fn worktrees(bytes: &[u8]) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    for line in bytes.split(|byte| *byte == 0) {
        let (key, value) = cut(line, b' ').unwrap_or((line, b""));
        if key == b"worktree" {
            let path = PathBuf::from(OsStr::from_bytes(value));
            records.push(Record { path, ..Record::default() });
            continue;
        }
        let Some(record) = records.last_mut() else { continue };
        match key {
            b"HEAD" => record.head = commit(value),
            b"branch" => record.branch = Some(OsStr::from_bytes(value).to_owned()),
            b"bare" => record.bare = true,
            b"locked" => record.locked = Some(String::from_utf8_lossy(value).into_owned()),
            _ => {}
        }
    }
    records
}
