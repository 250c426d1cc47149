//! `sandbox.json` in a sandbox's private git dir: only what can be asked nowhere else.
//!
//! git keeps it through gc, move and repair, and drops it with the entry.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Doing, Result};
use crate::sys::file;

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
    /// Who commits in it, as `Name <email>`, if one was named for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// How commands in it are confined, if `--confine` said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confine: Option<Confine>,
    /// When, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The random id of this sandbox, which no other ever has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The common dir of its repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common: Option<PathBuf>,
    /// The device of the folder that it stands in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<u64>,
    /// The commit that it was started afresh at, with another task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub afresh: Option<String>,
    /// Of a spare, and of a sandbox that was one until its files are those of its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare: Option<Spare>,
    /// The worktree whose uncommitted changes are being copied into it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrying: Option<PathBuf>,
    /// How its quarantine and the repository stood when they last agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confined: Option<Synced>,
    /// What is being done, while it gets another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renaming: Option<Renaming>,
}

/// How commands in a sandbox are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confine {
    /// By which means.
    pub level: Level,
    /// What they reach of the network, if `--network` said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
}

impl Confine {
    /// What is recorded where something was before: the network stays as it was unless it is told anew.
    pub fn over(self, before: Option<Confine>) -> Confine {
        let network = self.network.or(before.and_then(|before| before.network));
        Confine { network, ..self }
    }
}

/// The means of confinement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Namespaces made by bubblewrap, with Landlock and seccomp inside.
    Full,
    /// Landlock and seccomp alone, which is weaker.
    Landlock,
}

/// What a confined command reaches of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Everything that the user reaches.
    On,
    /// Nothing.
    Off,
    /// The hosts that `sandbox.confineHost` names, through a proxy of ours.
    Hosts,
}

/// How a quarantine and the repository stood when they last agreed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Synced {
    /// The name of the sandbox's private git dir in the quarantine.
    pub name: String,
    /// The commit of its branch, or of a detached HEAD.
    pub head: Option<String>,
    /// The tree of its index; none where a conflict is staged.
    pub tree: Option<String>,
    /// A fingerprint of everything in the quarantine that names an object.
    pub inside: Option<String>,
    /// A fingerprint of HEAD, index, reflog and operations outside.
    pub outside: Option<String>,
    /// Whether HEAD or the index inside hold what could not be taken over, so that they stay.
    #[serde(default)]
    pub stays: bool,
}

/// A sandbox on its way to another name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renaming {
    /// The folder it had.
    pub from: PathBuf,
    /// The folder it gets.
    pub to: PathBuf,
    /// The branch it had and the one it gets, in full; `None` where it keeps what it has.
    pub branch: Option<(String, String)>,
    /// Its commit; `None` where there is none yet.
    pub commit: Option<String>,
    /// Whether the repository's config had settings for the new branch before.
    pub stale_settings: bool,
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

/// Whether there are facts: then the worktree was made by us.
pub fn is_there(entry: &Path) -> bool {
    entry.join(FILE).symlink_metadata().is_ok()
}

/// Reads the facts; a worktree that is not ours has none.
pub fn read(entry: &Path) -> Facts {
    parse(&file::read_small(&entry.join(FILE)).unwrap_or_default())
}

/// Reads the facts that are about to be replaced, or by whose id something is kept: those that cannot be read are an
/// error, not none.
pub fn to_change(entry: &Path) -> Result<Facts> {
    let path = entry.join(FILE);
    let bytes = file::read_if_there(&path).at("read", &path)?;
    Ok(parse(&bytes.unwrap_or_default()))
}

fn parse(bytes: &[u8]) -> Facts {
    serde_json::from_slice(bytes).unwrap_or_default()
}

/// Takes facts that an older version wrote for all to read from the eyes of others.
pub fn protect(entry: &Path) -> Result<()> {
    let path = entry.join(FILE);
    file::protect(&path).at("protect", &path)
}

/// Writes the facts so that they also survive a loss of power.
pub fn write_synced(entry: &Path, facts: &Facts) -> Result<()> {
    write_with(entry, facts, File::sync_all)?;
    file::sync(entry)
}

/// Writes the facts of a sandbox that is being made, whole or not at all, for the user's eyes alone. Facts
/// that were there before are replaced by [`write_synced`] alone.
pub fn write(entry: &Path, facts: &Facts) -> Result<()> {
    write_with(entry, facts, |_| Ok(()))
}

fn write_with(
    entry: &Path,
    facts: &Facts,
    sync: impl Fn(&File) -> std::io::Result<()>,
) -> Result<()> {
    let path = entry.join(FILE);
    let next = entry.join("sandbox.json.new");
    let written = || {
        let bytes = serde_json::to_vec(facts)?;
        let mut file = file::create_private(&next)?;
        file.write_all(&bytes)?;
        sync(&file)?;
        fs::rename(&next, &path)
    };
    written().at("write", &path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

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
