//! What was taken over from a quarantine, and the words for it.

use crate::ui::out::Out;
use crate::ui::words::{counted, shell_word};

/// What was taken over from a quarantine.
#[derive(Debug, Default)]
pub struct Taken {
    /// The name of the sandbox.
    pub name: String,
    /// The branch that was moved, or HEAD.
    pub moved: Option<Moved>,
    /// The ref that has the commits of a branch that was moved outside too.
    pub aside: Option<String>,
    /// Whether what is staged inside could not be taken over, because the index outside has changed.
    pub index_stays: bool,
    /// What stays in the quarantine.
    pub left: Vec<Left>,
}

/// A branch, or a detached HEAD, that was moved to what was committed inside.
#[derive(Debug, PartialEq, Eq)]
pub struct Moved {
    /// The branch; none for a detached HEAD.
    pub branch: Option<String>,
    /// How many commits are new.
    pub commits: u64,
    /// Where it was.
    pub from: String,
    /// Where it is.
    pub to: String,
}

/// What stays in a quarantine: a later confined command finds it there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is worded below")]
pub enum Left {
    Branch(String),
    Tag(String),
    Stash,
    Ref(String),
    Operation(&'static str),
    DetachedHead,
    SwitchedBranch,
    Staged,
}

/// So much of what stays is named; of more, only the number.
const NAMED: usize = 8;

impl Left {
    fn words(&self) -> String {
        match self {
            Left::Branch(name) => format!("branch '{name}'"),
            Left::Tag(name) => format!("tag '{name}'"),
            Left::Stash => "a stash".into(),
            Left::Ref(name) => format!("'{name}'"),
            Left::Operation(name) => format!("a {name} in progress"),
            Left::DetachedHead => "a detached HEAD".into(),
            Left::SwitchedBranch => "another branch checked out".into(),
            Left::Staged => "staged files".into(),
        }
    }
}

impl Taken {
    /// Says what was taken and what was not.
    pub fn tell(&self, out: Out) {
        let name = &self.name;
        if let Some(Moved { branch, commits, from, to }) = &self.moved {
            let into = branch.as_ref().map_or("HEAD".into(), |branch| format!("branch '{branch}'"));
            let range = format!("{}..{}", short(from), short(to));
            out.note(&format!("took {} into {into} ({range})", counted(*commits, "commit")));
        }
        if let Some(aside) = &self.aside {
            out.warn(&format!("'{name}' was moved outside; what ran inside is at {aside}"));
        }
        if self.index_stays {
            out.warn(&format!("the index of '{name}' was changed outside; it stays as it is"));
        }
        if !self.left.is_empty() {
            let mut left: Vec<String> = self.left.iter().take(NAMED).map(Left::words).collect();
            let more = self.left.len() - left.len();
            left.extend((more > 0).then(|| format!("{more} more")));
            let left = match left.split_last() {
                Some((last, before)) if !before.is_empty() => {
                    format!("{} and {last}", before.join(", "))
                }
                _ => left.concat(),
            };
            let word = shell_word(name);
            out.note(&format!(
                "'{name}' also holds {left}; git sandbox run --confine {word} reaches them"
            ));
        }
    }
}

fn short(id: &str) -> &str {
    id.get(..7).unwrap_or(id)
}
