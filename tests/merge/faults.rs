//! Calls to the system that fail at any step of a merge: afterwards the target is as it was, or merged.

use super::crash::next;
use crate::fixture::diff::same;
use crate::fixture::faults::{Fault, Faults, Kind};
use crate::fixture::files::{tree, write};
use crate::fixture::merge::{Scene, Target};

const ALL: [Kind; 3] = [Kind::Change, Kind::Remove, Kind::Start];

/// Merges into a checkout with work of its own, which must stay.
#[track_caller]
fn whatever_fails(scene: &Scene, words: &[&str]) {
    let test = &scene.test;
    let app = test.app();
    write(&app.join("a"), "staged\n");
    test.git(&["add", "a"]);
    write(&app.join("a"), "edited later\n");
    write(&app.join("untracked"), "untracked\n");
    let look = |words: &[&str]| test.git(&[&["--no-optional-locks"], words].concat());
    let target = || {
        look(&["status", "--porcelain=v2", "--branch"])
            + &look(&["ls-files", "--stage"])
            + &tree(&app, &[".git"])
    };
    // The next command puts back or completes what was begun.
    let settle = || {
        next(scene);
        scene.nothing_is_left();
    };
    let result = || {
        settle();
        let status = look(&["status", "--porcelain"]);
        [look(&["rev-parse", "dev^{tree}"]), look(&["ls-files", "--stage"]), status].join("\n")
            + &tree(&app, &[".git"])
    };
    let (old, before) = (scene.commit("dev"), target());
    let safe = |fault: &Fault| {
        settle();
        if scene.commit("dev") == old {
            return same(&target(), &before);
        }
        assert_eq!(look(&["status", "--porcelain"]), "MM a\n?? untracked", "{}", fault.call);
        assert_eq!(look(&["show", ":a"]), "staged", "{}", fault.call);
    };
    let faults = Faults::of(test, &ALL, &test.home);
    faults.are_told(&[&["merge", "box", "--keep"], words].concat(), safe, result);
}

#[test]
fn whatever_fails_in_a_fast_forward_the_target_is_whole() {
    whatever_fails(&Scene::new(Target::Here), &[]);
}

#[test]
fn whatever_fails_in_a_merge_the_target_is_whole() {
    whatever_fails(&Scene::diverged(Target::Here), &[]);
}
