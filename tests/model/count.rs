//! What happened in all runs: a torture that never removed, restored or killed anything is none.

use std::collections::BTreeMap;
use std::sync::Mutex;

#[derive(Default)]
pub struct Counts(Mutex<BTreeMap<&'static str, u64>>);

/// What must have happened.
const WANTED: [&str; 26] = [
    "commands",
    "done",
    "refused",
    "killed",
    "power lost",
    "tokens found",
    "tokens destroyed by their user",
    "sandboxes",
    "purged",
    "restored at the end",
    "merged",
    "landings taken up after a crash",
    "hooks",
    "restored from the vault",
    "private refs",
    "fragile tokens found",
    "commits in submodules",
    "repositories out of reach",
    "orphans whose repository came back",
    "settings changed",
    "edits that stat data hides",
    "deeds in the trash",
    "written while it was put away",
    "renamed",
    "scripts in the background",
    "fresh ones compared",
];

impl Counts {
    pub fn add(&self, what: &'static str, count: usize) {
        *self.0.lock().unwrap().entry(what).or_default() += count as u64;
    }

    pub fn in_words(&self) -> String {
        let counts = self.0.lock().unwrap();
        let words: Vec<String> =
            counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
        words.join(", ")
    }

    /// What never happened.
    pub fn missing(&self) -> Option<String> {
        let counts = self.0.lock().unwrap();
        let missing =
            WANTED.iter().find(|what| counts.get(*what).is_none_or(|count| *count == 0))?;
        Some(format!("in all runs, no '{missing}'"))
    }
}
