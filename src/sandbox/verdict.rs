//! The verdict: from the facts about a sandbox to whether it may go, and why not. Pure.
//!
//! Doubt means keep: a fact that could not be read is an objection. Force waives work, twice forced
//! also a lock and users. Nothing waives that a folder is not a sandbox of ours, that we are in it, or
//! that it contains another worktree or a mount.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use crate::repo::stamps::Stamps;
use crate::sandbox::Damage;
use crate::sandbox::holding::{Holding, listed};
use crate::sandbox::in_use::User;

/// A fact, or why it could not be read.
pub type Known<T> = Result<T, String>;

/// What is known about a sandbox that may have to go.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "one line each in the table of objections")]
pub struct Facts {
    pub not_ours: Option<NotOurs>,
    pub is_where_we_are: bool,
    pub contains: Option<PathBuf>,
    pub mount: Option<PathBuf>,
    pub locked: Option<String>,
    pub users: Known<Vec<User>>,
    pub changes: Known<u64>,
    pub hidden: Known<u64>,
    pub operation: Option<&'static str>,
    /// Whether a confined command left something that was not taken over.
    pub confined: bool,
    pub nested: Known<Vec<PathBuf>>,
    pub precious: Known<u64>,
    pub only_here: Known<u64>,
    /// Every commit that its private git dir names.
    pub held: BTreeSet<String>,
    /// Whether every file is proved to be as git put it there, and nothing is staged.
    pub pristine: bool,
    /// What git ignores in it, folders as one; none where that is not known.
    pub ignored: Option<Vec<PathBuf>>,
    /// What the files of its private git dir looked like before all this was read.
    pub stamps: Option<Stamps>,
}

/// Why a folder and a private git dir cannot be shown to be one sandbox of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotOurs {
    /// The two do not belong together.
    Damaged(Damage),
    /// Its repository cannot be reached.
    Unreachable,
    /// git's entry for it was not found.
    NoEntry,
    /// Another process is creating it.
    BeingCreated,
}

/// How much force an objection yields to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Yields {
    /// To `--force`.
    Once,
    /// To `--force --force`.
    Twice,
    /// To none.
    Never,
}

/// Why a sandbox should stay. Its words follow `cannot remove 'x': `.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is worded below")]
pub enum Objection {
    NotOurs(NotOurs),
    WhereWeAre,
    ContainsWorktree(PathBuf),
    ContainsMount(PathBuf),
    InUse(Vec<User>),
    UsersUnknown(String),
    Locked(String),
    CameIntoUse,
    Teardown { command: String, code: u8 },
    Work(Holding),
}

impl Objection {
    /// How much force waives it.
    pub fn yields(&self) -> Yields {
        match self {
            Objection::NotOurs(_)
            | Objection::WhereWeAre
            | Objection::ContainsWorktree(_)
            | Objection::ContainsMount(_) => Yields::Never,
            Objection::InUse(_)
            | Objection::UsersUnknown(_)
            | Objection::Locked(_)
            | Objection::CameIntoUse => Yields::Twice,
            Objection::Teardown { .. } | Objection::Work(_) => Yields::Once,
        }
    }
}

/// Every reason why it should stay, the strongest first.
pub fn objections(facts: &Facts) -> Vec<Objection> {
    let mut found = Vec::new();
    found.extend(facts.not_ours.clone().map(Objection::NotOurs));
    found.extend(facts.is_where_we_are.then_some(Objection::WhereWeAre));
    found.extend(facts.contains.clone().map(Objection::ContainsWorktree));
    found.extend(facts.mount.clone().map(Objection::ContainsMount));
    match &facts.users {
        Ok(users) if users.is_empty() => {}
        Ok(users) => found.push(Objection::InUse(users.clone())),
        Err(why) => found.push(Objection::UsersUnknown(why.clone())),
    }
    found.extend(facts.locked.clone().map(Objection::Locked));
    found.extend(work(facts).into_iter().map(Objection::Work));
    found
}

/// Work that would be lost with its files.
fn work(facts: &Facts) -> Vec<Holding> {
    let mut found = Vec::new();
    found.extend(counted_as(&facts.changes, Holding::Changes));
    found.extend(counted_as(&facts.hidden, Holding::HiddenEdits));
    found.extend(facts.operation.map(|operation| Holding::Operation(operation.to_owned())));
    found.extend(facts.confined.then_some(Holding::Confined));
    match &facts.nested {
        Ok(folders) => found.extend(folders.iter().cloned().map(Holding::Nested)),
        Err(why) => found.push(Holding::Unknown(why.clone())),
    }
    found
}

fn counted_as(known: &Known<u64>, what: fn(u64) -> Holding) -> Option<Holding> {
    match known {
        Ok(0) => None,
        Ok(count) => Some(what(*count)),
        Err(why) => Some(Holding::Unknown(why.clone())),
    }
}

/// What forbids merging its branch: what is not committed yet. Whether it can be removed afterwards,
/// and whether a process is in it, is another question.
pub fn merge_objections(facts: &Facts) -> Vec<Objection> {
    objections(&Facts {
        not_ours: facts.not_ours.clone(),
        changes: facts.changes.clone(),
        hidden: facts.hidden.clone(),
        operation: facts.operation,
        confined: facts.confined,
        ..Facts::nothing()
    })
}

/// What in it is nowhere else: work, files that matter, commits.
pub fn holds(facts: &Facts) -> Vec<Holding> {
    let mut held = work(facts);
    held.extend(counted_as(&facts.precious, Holding::Precious));
    held.extend(counted_as(&facts.only_here, Holding::OnlyHere));
    held
}

/// Why a sandbox may not go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The objections that stand.
    pub objections: Vec<Objection>,
    /// What would waive all of them.
    pub yields: Yields,
}

/// What stands in the way of removal with this much force.
pub fn refusal(facts: &Facts, force: usize) -> Option<Refusal> {
    let waived = |objection: &Objection| match objection.yields() {
        Yields::Once => force >= 1,
        Yields::Twice => force >= 2,
        Yields::Never => false,
    };
    let mut standing: Vec<Objection> = objections(facts);
    standing.retain(|objection| !waived(objection));
    let yields = standing.iter().map(Objection::yields).max()?;
    standing.retain(|objection| yields != Yields::Never || objection.yields() == Yields::Never);
    standing.dedup();
    Some(Refusal { objections: standing, yields })
}

impl Facts {
    /// The facts of a sandbox that is whole, clean and not in use.
    pub fn nothing() -> Facts {
        Facts {
            not_ours: None,
            is_where_we_are: false,
            contains: None,
            mount: None,
            locked: None,
            users: Ok(Vec::new()),
            changes: Ok(0),
            hidden: Ok(0),
            operation: None,
            confined: false,
            nested: Ok(Vec::new()),
            precious: Ok(0),
            only_here: Ok(0),
            held: BTreeSet::new(),
            pristine: false,
            ignored: None,
            stamps: None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&listed(&self.objections, "; "))
    }
}

impl fmt::Display for NotOurs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotOurs::Damaged(damage) => write!(f, "it is damaged: {damage}"),
            NotOurs::Unreachable => f.write_str("it is damaged: its repository cannot be reached"),
            NotOurs::NoEntry => f.write_str("it is damaged: git's entry for it was not found"),
            NotOurs::BeingCreated => f.write_str("it is being created"),
        }
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Objection::NotOurs(why) => why.fmt(f),
            Objection::WhereWeAre => f.write_str("you are in it"),
            Objection::ContainsWorktree(path) => {
                write!(f, "contains worktree '{}'", path.display())
            }
            Objection::ContainsMount(path) => {
                write!(f, "contains the mount point '{}'", path.display())
            }
            Objection::InUse(users) => {
                let users: Vec<_> = users.iter().map(User::in_words).collect();
                write!(f, "in use by {}", users.join(", "))
            }
            Objection::UsersUnknown(why) => write!(f, "cannot tell who uses it: {why}"),
            Objection::Locked(reason) if reason.is_empty() => f.write_str("locked"),
            Objection::Locked(reason) => write!(f, "locked: {reason}"),
            Objection::CameIntoUse => f.write_str("it has just come into use"),
            Objection::Teardown { command, code } => {
                write!(f, "its teardown command '{command}' failed with {code}")
            }
            Objection::Work(work @ (Holding::Changes(_) | Holding::HiddenEdits(_))) => {
                write!(f, "worktree has {work}")
            }
            Objection::Work(work) => work.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFINED: &str = "work of a confined command that was not taken over";

    fn user() -> Vec<User> {
        vec![User { pid: Some(7), command: "vim".into() }]
    }

    /// Facts with one change, and what `rm`, `rm --force` and `rm --force --force` say to it.
    type Row = (fn(&mut Facts), [Option<&'static str>; 3]);

    #[test]
    fn every_row_of_the_table() {
        let once = |text| [Some(text), None, None];
        let twice = |text| [Some(text), Some(text), None];
        let never = |text| [Some(text); 3];
        let rows: &[Row] = &[
            (|_| (), [None; 3]),
            (|facts| facts.changes = Ok(1), once("worktree has 1 uncommitted change")),
            (|facts| facts.changes = Ok(3), once("worktree has 3 uncommitted changes")),
            (|facts| facts.changes = Err("x".into()), once("cannot tell: x")),
            (|facts| facts.hidden = Ok(2), once("worktree has 2 hidden edits")),
            (|facts| facts.hidden = Err("x".into()), once("cannot tell: x")),
            (|facts| facts.operation = Some("rebase"), once("rebase in progress")),
            (|facts| facts.confined = true, once(CONFINED)),
            (|facts| facts.nested = Ok(vec!["a/b".into()]), once("unsaved work in 'a/b'")),
            (|facts| facts.nested = Err("x".into()), once("cannot tell: x")),
            (|facts| facts.users = Ok(user()), twice("in use by 7 vim")),
            (|facts| facts.users = Err("x".into()), twice("cannot tell who uses it: x")),
            (|facts| facts.locked = Some(String::new()), twice("locked")),
            (|facts| facts.locked = Some("mine".into()), twice("locked: mine")),
            (|facts| facts.contains = Some("/w".into()), never("contains worktree '/w'")),
            (|facts| facts.mount = Some("/m".into()), never("contains the mount point '/m'")),
            (|facts| facts.not_ours = Some(NotOurs::BeingCreated), never("it is being created")),
            (|facts| facts.is_where_we_are = true, never("you are in it")),
        ];
        for (change, said) in rows {
            let mut facts = Facts::nothing();
            change(&mut facts);
            let heard =
                [0, 1, 2].map(|force| refusal(&facts, force).map(|refusal| refusal.to_string()));
            assert_eq!(heard.each_ref().map(Option::as_deref), *said);
        }
    }

    #[test]
    fn what_forbids_a_merge_and_what_only_a_removal() {
        type Change = fn(&mut Facts);
        let said = |change: Change| {
            let mut facts = Facts::nothing();
            change(&mut facts);
            let objections = merge_objections(&facts);
            (!objections.is_empty()).then(|| listed(&objections, "; "))
        };
        let forbids: [(Change, &str); 6] = [
            (|facts| facts.confined = true, CONFINED),
            (|facts| facts.changes = Ok(1), "worktree has 1 uncommitted change"),
            (|facts| facts.changes = Err("x".into()), "cannot tell: x"),
            (|facts| facts.hidden = Ok(2), "worktree has 2 hidden edits"),
            (|facts| facts.operation = Some("rebase"), "rebase in progress"),
            (|facts| facts.not_ours = Some(NotOurs::BeingCreated), "it is being created"),
        ];
        for (change, why) in forbids {
            assert_eq!(said(change).as_deref(), Some(why));
        }
        let allows: [Change; 9] = [
            |_| (),
            |facts| facts.users = Ok(user()),
            |facts| facts.users = Err("x".into()),
            |facts| facts.is_where_we_are = true,
            |facts| facts.locked = Some("mine".into()),
            |facts| facts.contains = Some("/w".into()),
            |facts| facts.nested = Ok(vec!["a".into()]),
            |facts| facts.precious = Ok(1),
            |facts| facts.only_here = Ok(1),
        ];
        for change in allows {
            assert_eq!(said(change), None);
        }
    }

    #[test]
    fn files_that_matter_and_commits_that_are_nowhere_else_are_held() {
        let facts = Facts { precious: Ok(2), only_here: Ok(3), ..Facts::nothing() };
        assert_eq!(holds(&facts), [Holding::Precious(2), Holding::OnlyHere(3)]);
        let why = |text: &str| Holding::Unknown(text.into());
        let facts =
            Facts { precious: Err("x".into()), only_here: Err("y".into()), ..Facts::nothing() };
        assert_eq!(holds(&facts), [why("x"), why("y")]);
        assert_eq!(holds(&Facts::nothing()), []);
    }

    fn said(facts: &Facts, force: usize) -> Option<(String, Yields)> {
        refusal(facts, force).map(|refusal| (refusal.to_string(), refusal.yields))
    }

    #[test]
    fn reasons_add_up_and_ownership_outweighs_them() {
        let mut facts = Facts { changes: Ok(2), operation: Some("merge"), ..Facts::nothing() };
        let text = "worktree has 2 uncommitted changes; merge in progress";
        assert_eq!(said(&facts, 0), Some((text.to_owned(), Yields::Once)));
        facts.locked = Some("usb".into());
        assert_eq!(said(&facts, 1), Some(("locked: usb".to_owned(), Yields::Twice)));
        facts.is_where_we_are = true;
        assert_eq!(said(&facts, 2), Some(("you are in it".to_owned(), Yields::Never)));
        assert_eq!(said(&facts, 0), Some(("you are in it".to_owned(), Yields::Never)));
    }
}
