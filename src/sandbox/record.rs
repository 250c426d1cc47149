//! `sandbox.json` in a sandbox's private git dir: only what can be asked nowhere else.
//!
//! git keeps it through gc, move and repair, and drops it with the entry.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Doing, Result};
use crate::file;

const FILE: &str = "sandbox.json";

/// What was true when the sandbox was made, and its task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The branch it started from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// When, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// Of a spare, and of a sandbox that was one until its files are those of its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare: Option<Spare>,
}

/// What was true when a spare was prepared, and what is being done with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spare {
    /// Its folder while it is a spare.
    pub at: PathBuf,
    /// The commits whose files may be in it; one, but while it goes from one to another.
    pub commits: Vec<String>,
    /// What shaped its checkout.
    pub fingerprint: String,
    /// A hash of its private git dir, once it is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
    /// Whether a fresh checkout is not clean here, so that no spare can be used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unclean: bool,
    /// Where it goes, while it becomes a sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taking: Option<Taking>,
}

/// What a spare is about to become.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taking {
    /// The sandbox's folder.
    pub to: PathBuf,
    /// Its branch, in full; none for a detached HEAD.
    pub branch: Option<String>,
    /// Its commit.
    pub commit: String,
}

/// Reads the facts; a worktree that is not ours has none.
pub fn read(entry: &Path) -> Facts {
    parse(&file::read_small(&entry.join(FILE)).unwrap_or_default())
}

fn parse(bytes: &[u8]) -> Facts {
    serde_json::from_slice(bytes).unwrap_or_default()
}

/// Writes the facts, whole or not at all.
pub fn write(entry: &Path, facts: &Facts) -> Result<()> {
    let path = entry.join(FILE);
    let next = entry.join("sandbox.json.new");
    let written = || {
        let bytes = serde_json::to_vec(facts)?;
        file::create(&next)?.write_all(&bytes)?;
        fs::rename(&next, &path)
    };
    written().at("write", &path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz;

    #[test]
    fn fuzz_facts() {
        let real = [
            br#"{"task":"Refactor login","base":"main","created":"2026-01-31T12:00:00Z"}"#
                .as_slice(),
            br#"{"task":null,"more":[{"a":1.5e3}]}"#,
        ];
        fuzz::damaged(&real, |input| {
            let facts = parse(input);
            let json = serde_json::to_vec(&facts).unwrap();
            assert_eq!(parse(&json), facts);
        });
        assert_eq!(parse(&b"[".repeat(100_000)), Facts::default());
        assert_eq!(parse(br#"{"task": 7}"#), Facts::default());
    }
}
