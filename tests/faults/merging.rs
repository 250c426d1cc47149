//! `merge`, and what is taken over from confined commands.

use super::{ROW, Row, sweep};
use crate::fixture::merge::{Scene, Target};
use crate::quarantine::Confined;

/// What the hint says when all is merged and the sandbox is still there.
const RM: &[&str] = &["rm", "box"];

const REFLOGS: &str = "what only a reflog inside names stays in the quarantine";

#[test]
fn merge_goes_forward() {
    let setup = || Scene::new(Target::Here).test;
    sweep(&Row { name: "merge, forward", setup, words: &["merge", "box"], hinted: RM, ..ROW });
}

#[test]
fn merge_makes_a_commit() {
    let setup = || Scene::diverged(Target::Here).test;
    sweep(&Row { name: "merge, commit", setup, words: &["merge", "box"], hinted: RM, ..ROW });
}

#[test]
fn merge_squashes() {
    let setup = || Scene::diverged(Target::Here).test;
    sweep(&Row {
        name: "merge, squash",
        setup,
        words: &["merge", "--squash", "box"],
        hinted: RM,
        ..ROW
    });
}

#[test]
fn merge_rebases() {
    let setup = || Scene::diverged(Target::Here).test;
    let words = &["merge", "--rebase", "box"];
    // It is landed, and not told by the next call: the branch of the sandbox stays at its old commits.
    let excused = &[("app/.git/sandbox.landing", "landed"), ("app/.git/index.lock", "landed")];
    sweep(&Row { name: "merge, rebase", setup, words, excused, hinted: RM, ..ROW });
}

#[test]
fn what_was_committed_behind_walls_is_taken_over() {
    let setup = || {
        let it = Confined::new();
        it.commit("one", "1\n");
        it.test
    };
    let excused = &[
        ("sandbox.incoming", "the next look deletes what is left there"),
        ("sandbox.lock", "one that cannot be looked at counts as held, and all waits"),
        ("index-pack --stdin", REFLOGS),
        ("rev-list --objects --quiet --missing=error", REFLOGS),
    ];
    sweep(&Row { name: "take over", setup, words: &["show", "box"], excused, ..ROW });
}
