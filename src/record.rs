//! `sandbox.json` in a sandbox's private git dir: only what can be asked nowhere else.
//!
//! git keeps it through gc, move and repair, and drops it with the entry.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Doing, Result};

const FILE: &str = "sandbox.json";

/// What was true when the sandbox was made, and its task.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
}

/// Reads the facts; a worktree that is not ours has none.
pub fn read(entry: &Path) -> Facts {
    let bytes = fs::read(entry.join(FILE)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Writes the facts, whole or not at all.
pub fn write(entry: &Path, facts: &Facts) -> Result<()> {
    let path = entry.join(FILE);
    let next = entry.join("sandbox.json.new");
    let bytes = serde_json::to_vec(facts).map_err(std::io::Error::from);
    let written =
        bytes.and_then(|bytes| fs::write(&next, bytes)).and_then(|()| fs::rename(&next, &path));
    written.at("write", &path)
}
