//! The ref that keeps what a quarantine borrows and what was taken from it from every gc of the
//! repository.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::error::{Error, Result};
use crate::git::Answer;
use crate::lifecycle::quarantine::Quarantine;
use crate::repo::held::Held;
use crate::repo::kept_pack;

impl Quarantine<'_> {
    /// Adds commits to what the pin holds. What it held stays held: the quarantine may still need it.
    pub(super) fn hold(&self, commits: &BTreeSet<String>) -> Result<()> {
        let before = self.pinned()?;
        let new: Vec<&String> = match &before {
            Some(before) => {
                let parents = self.parents_of(before)?;
                commits.iter().filter(|id| !parents.contains(*id)).collect()
            }
            None => commits.iter().collect(),
        };
        if new.is_empty() {
            return Ok(());
        }
        let tree = self.git.look(["hash-object", "-w", "-t", "tree", "--stdin"]);
        let tree = self.written(&tree.ask_with(Vec::new())?)?;
        let mut text = format!("tree {tree}\n");
        for parent in before.iter().chain(new) {
            let _ = writeln!(text, "parent {parent}");
        }
        let who = "git-sandbox <git-sandbox@localhost> 0 +0000";
        let _ = write!(text, "author {who}\ncommitter {who}\n\nborrowed by a confined sandbox\n");
        let commit = self.git.look(["hash-object", "-w", "-t", "commit", "--stdin"]);
        let commit = self.written(&commit.ask_with(text.into_bytes())?)?;
        // There a fetch may delete the pin, and every other ref that leads to these commits. They
        // are kept first: what the pin holds is not looked at again.
        if kept_pack::is_mirrored(&self.repo.config) {
            let held = Held { commits: commits.clone(), ..Held::default() };
            kept_pack::keep(&self.git, self.repo, &held, Some(&commit), &self.id)?;
        }
        let before = before.unwrap_or_default();
        let words = ["update-ref", "--no-deref", &self.pin(), &commit, &before];
        self.git.look(words).done("pin what the sandbox borrows")
    }

    /// The commit that the pin is at.
    pub(super) fn pinned(&self) -> Result<Option<String>> {
        let answer = self.git.look(["rev-parse", "--verify", "--quiet", &self.pin()]).ask()?;
        match answer.code {
            Some(0) => Ok(Some(String::from_utf8_lossy(&answer.stdout).trim().to_owned())),
            Some(1) => Ok(None),
            _ => {
                Err(Error::Git { doing: "read what the sandbox borrows".into(), why: answer.why() })
            }
        }
    }

    fn parents_of(&self, commit: &str) -> Result<BTreeSet<String>> {
        let text = self.git.look(["cat-file", "commit", commit]).read("read the pin")?;
        let text = String::from_utf8_lossy(&text);
        let parents = text.lines().filter_map(|line| line.strip_prefix("parent "));
        Ok(parents.map(str::to_owned).collect())
    }

    fn written(&self, answer: &Answer) -> Result<String> {
        match answer.ok() {
            true => Ok(String::from_utf8_lossy(&answer.stdout).trim().to_owned()),
            false => {
                Err(Error::Git { doing: "pin what the sandbox borrows".into(), why: answer.why() })
            }
        }
    }
}
