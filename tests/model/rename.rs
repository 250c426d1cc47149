//! Renamings: which names belong together, and what is half way.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::plan::Call;
use crate::world::{Tree, World, entry_of};

const NAMES: [(&str, &str); 5] = [
    ("fix", "fixed"),
    ("feat/ui", "feat/new"),
    ("old", "older"),
    ("exploration-x", "exploration-y"),
    ("mend", "mended"),
];

/// The other name that a sandbox may have.
pub fn other(name: &'static str) -> &'static str {
    let found = NAMES.iter().find_map(|(one, two)| match name {
        _ if name == *one => Some(two),
        _ if name == *two => Some(one),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{name} has no other name"))
}

/// The branches that a call wants to rename, in full.
pub fn branches(call: Call) -> Option<(String, String)> {
    let full = |name: &str| format!("refs/heads/{name}");
    match call {
        Call::Rename(name, new) => Some((full(name), full(new))),
        _ => None,
    }
}

/// What a renaming that was stopped half way has written down.
fn journal(tree: &Tree) -> Option<serde_json::Value> {
    let bytes = fs::read(tree.entry.join("sandbox.json")).ok().filter(|_| tree.is_renaming())?;
    let facts: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    facts.get("renaming").filter(|renaming| !renaming.is_null()).cloned()
}

/// The branches that are being renamed, in full.
pub fn half_way(world: &World, repo: usize) -> Vec<(String, String)> {
    let names = |tree: Tree| {
        let branch = journal(&tree)?["branch"].clone();
        let name = |at: usize| Some(branch.get(at)?.as_str()?.to_owned());
        Some((name(0)?, name(1)?))
    };
    world.trees(repo).into_iter().filter_map(names).collect()
}

/// Whether a sandbox that is being renamed stands at its new place already.
pub fn stands(tree: &Tree) -> bool {
    let to = journal(tree).and_then(|journal| Some(PathBuf::from(journal["to"].as_str()?)));
    to.is_some_and(|to| entry_of(&to).as_ref() == Some(&tree.entry))
}

/// Whether a branch of these pairs has its commit, or one that came after it, under either name.
pub fn holds(
    world: &World,
    repo: usize,
    pairs: &[(String, String)],
    (name, id): (&str, &str),
    now: &BTreeMap<String, String>,
) -> bool {
    let dir: &Path = &world.repos[repo];
    let pairs = pairs.iter().filter(|pair| pair.0 == name || pair.1 == name);
    pairs
        .flat_map(|(one, two)| [one, two])
        .filter_map(|name| now.get(name))
        .any(|there| there == id || world.does(dir, &["merge-base", "--is-ancestor", id, there]))
}
