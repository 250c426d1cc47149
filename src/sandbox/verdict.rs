//! The verdict: from the facts about a sandbox to whether it may go, and why not. Pure.
//!
//! Doubt means keep: a fact that could not be read is an objection. Force waives work, twice forced
//! also a lock and users; nothing waives ownership.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::live::User;
use crate::time::counted;

/// A fact, or why it could not be read.
pub type Known<T> = Result<T, String>;

/// What is known about a sandbox that may have to go.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "one line each in the table of objections")]
pub struct Facts {
    pub not_ours: Option<String>,
    pub is_where_we_are: bool,
    pub contains: Option<PathBuf>,
    pub mount: Option<PathBuf>,
    pub locked: Option<String>,
    pub users: Known<Vec<User>>,
    pub changes: Known<u64>,
    pub hidden: Known<u64>,
    pub operation: Option<&'static str>,
    pub nested: Known<Vec<PathBuf>>,
    pub precious: Known<u64>,
    pub only_here: Known<u64>,
    /// Every commit that its entry names.
    pub held: BTreeSet<String>,
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

/// Why a sandbox should stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// In words that follow `cannot remove 'x': `.
    pub text: String,
    /// What it yields to.
    pub yields: Yields,
}

/// Every reason why it should stay, the strongest first.
pub fn objections(facts: &Facts) -> Vec<Objection> {
    let mut found = Vec::new();
    let mut object = |yields, text: String| found.push(Objection { text, yields });
    if let Some(why) = &facts.not_ours {
        object(Yields::Never, why.clone());
    }
    if facts.is_where_we_are {
        object(Yields::Never, "you are in it".into());
    }
    if let Some(path) = &facts.contains {
        object(Yields::Never, format!("contains worktree '{}'", path.display()));
    }
    if let Some(path) = &facts.mount {
        object(Yields::Never, format!("contains the mount point '{}'", path.display()));
    }
    match &facts.users {
        Ok(users) if !users.is_empty() => {
            let users: Vec<_> = users.iter().map(User::in_words).collect();
            object(Yields::Twice, format!("in use by {}", users.join(", ")));
        }
        Ok(_) => {}
        Err(why) => object(Yields::Twice, format!("cannot tell who uses it: {why}")),
    }
    match facts.locked.as_deref() {
        Some("") => object(Yields::Twice, "locked".into()),
        Some(reason) => object(Yields::Twice, format!("locked: {reason}")),
        None => {}
    }
    for (count, noun) in [(&facts.changes, "uncommitted change"), (&facts.hidden, "hidden edit")] {
        match count {
            Ok(0) => {}
            Ok(count) => object(Yields::Once, format!("worktree has {}", counted(*count, noun))),
            Err(why) => object(Yields::Once, format!("cannot tell: {why}")),
        }
    }
    if let Some(operation) = facts.operation {
        object(Yields::Once, format!("{operation} in progress"));
    }
    match &facts.nested {
        Ok(folders) => {
            for folder in folders {
                object(Yields::Once, format!("unsaved work in '{}'", folder.display()));
            }
        }
        Err(why) => object(Yields::Once, format!("cannot tell: {why}")),
    }
    found
}

/// What forbids merging its branch, in words: what is not committed yet, and who is at work. Whether
/// it can be removed afterwards is another question.
pub fn merge_refusal(facts: &Facts) -> Option<String> {
    let asked = Facts {
        not_ours: facts.not_ours.clone(),
        users: facts.users.clone(),
        changes: facts.changes.clone(),
        hidden: facts.hidden.clone(),
        operation: facts.operation,
        ..Facts::nothing()
    };
    let texts: Vec<String> =
        objections(&asked).into_iter().map(|objection| objection.text).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// What in it is nowhere else, in words: work, files that matter, commits.
pub fn holds(facts: &Facts) -> Vec<String> {
    let found = objections(facts).into_iter().filter(|objection| objection.yields == Yields::Once);
    let mut held: Vec<String> =
        found.map(|objection| objection.text.replacen("worktree has ", "", 1)).collect();
    let mut hold = |known: &Known<u64>, noun: &str, end: &str| match known {
        Ok(0) => {}
        Ok(count) => held.push(format!("{}{end}", counted(*count, noun))),
        Err(why) => held.push(format!("cannot tell: {why}")),
    };
    hold(&facts.precious, "precious file", "");
    hold(&facts.only_here, "commit", ONLY_HERE);
    held
}

/// Which facts could not be read.
pub fn doubts(facts: &Facts) -> Vec<String> {
    let counts = [&facts.changes, &facts.hidden, &facts.precious].map(|known| known.as_ref().err());
    let nested = facts.nested.as_ref().err();
    counts.into_iter().chain([nested]).flatten().map(|why| format!("cannot tell: {why}")).collect()
}

/// What follows the number of commits that only a sandbox holds.
pub const ONLY_HERE: &str = " only here";

/// What stands in the way of removal with this much force: nothing, or objections and what would
/// waive them.
pub fn refusal(facts: &Facts, force: usize) -> Option<(String, Yields)> {
    let waived = |objection: &Objection| match objection.yields {
        Yields::Once => force >= 1,
        Yields::Twice => force >= 2,
        Yields::Never => false,
    };
    let mut standing: Vec<Objection> = objections(facts);
    standing.retain(|objection| !waived(objection));
    let yields = standing.iter().map(|objection| objection.yields).max()?;
    standing.retain(|objection| yields != Yields::Never || objection.yields == Yields::Never);
    standing.dedup();
    let texts: Vec<String> = standing.into_iter().map(|objection| objection.text).collect();
    Some((texts.join("; "), yields))
}

impl Facts {
    /// A sandbox with nothing in it: nobody's, whole, and clean.
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
            nested: Ok(Vec::new()),
            precious: Ok(0),
            only_here: Ok(0),
            held: BTreeSet::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (|facts| facts.nested = Ok(vec!["a/b".into()]), once("unsaved work in 'a/b'")),
            (|facts| facts.nested = Err("x".into()), once("cannot tell: x")),
            (|facts| facts.users = Ok(user()), twice("in use by 7 vim")),
            (|facts| facts.users = Err("x".into()), twice("cannot tell who uses it: x")),
            (|facts| facts.locked = Some(String::new()), twice("locked")),
            (|facts| facts.locked = Some("mine".into()), twice("locked: mine")),
            (|facts| facts.contains = Some("/w".into()), never("contains worktree '/w'")),
            (|facts| facts.mount = Some("/m".into()), never("contains the mount point '/m'")),
            (|facts| facts.not_ours = Some("why".into()), never("why")),
            (|facts| facts.is_where_we_are = true, never("you are in it")),
        ];
        for (change, said) in rows {
            let mut facts = Facts::nothing();
            change(&mut facts);
            let heard = [0, 1, 2].map(|force| refusal(&facts, force).map(|(text, _)| text));
            assert_eq!(heard.each_ref().map(Option::as_deref), *said);
        }
    }

    #[test]
    fn what_forbids_a_merge_and_what_only_a_removal() {
        type Change = fn(&mut Facts);
        let said = |change: Change| {
            let mut facts = Facts::nothing();
            change(&mut facts);
            merge_refusal(&facts)
        };
        let forbids: [(Change, &str); 6] = [
            (|facts| facts.changes = Ok(1), "worktree has 1 uncommitted change"),
            (|facts| facts.changes = Err("x".into()), "cannot tell: x"),
            (|facts| facts.hidden = Ok(2), "worktree has 2 hidden edits"),
            (|facts| facts.operation = Some("rebase"), "rebase in progress"),
            (|facts| facts.users = Ok(user()), "in use by 7 vim"),
            (|facts| facts.not_ours = Some("why".into()), "why"),
        ];
        for (change, why) in forbids {
            assert_eq!(said(change).as_deref(), Some(why));
        }
        let allows: [Change; 7] = [
            |_| (),
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
    fn reasons_add_up_and_ownership_outweighs_them() {
        let mut facts = Facts { changes: Ok(2), operation: Some("merge"), ..Facts::nothing() };
        let text = "worktree has 2 uncommitted changes; merge in progress";
        assert_eq!(refusal(&facts, 0), Some((text.into(), Yields::Once)));
        facts.locked = Some("usb".into());
        assert_eq!(refusal(&facts, 1), Some(("locked: usb".into(), Yields::Twice)));
        facts.is_where_we_are = true;
        assert_eq!(refusal(&facts, 2), Some(("you are in it".into(), Yields::Never)));
        assert_eq!(refusal(&facts, 0), Some(("you are in it".into(), Yields::Never)));
    }
}
