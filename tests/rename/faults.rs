//! Renamings in which a system call or a git fails.

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::write;
use crate::fixture::run::succeeds;
use crate::fixture::state::state;
use crate::fixture::traced::{CHANGES, GITS, at_every_place, has_failed};
use crate::fixture::work::submodule;

/// The state of a sandbox under whatever name, its branch and its settings.
#[track_caller]
fn all_of(test: &Test, name: &str) -> String {
    let path = test.at(name);
    assert_eq!(test.sandboxes(), ["above", name]);
    assert_eq!(test.branches(), ["above", name, "main"]);
    assert_eq!(test.json(&["show", "--json", "above"])["base"], name);
    let sub = test.git_in(&path.join("sub"), &["status", "--porcelain", "--branch"]);
    let settings = test.git(&["config", "--get-regexp", "^branch\\."]);
    let all = state(test, &path) + &settings + &sub;
    all.replace("fresh1", "NAME").replace("fresh2", "NAME")
}

#[test]
fn one_is_renamed_or_keeps_its_name() {
    let test = Test::new();
    let path = test.new_sandbox(&["fresh1"]);
    submodule(&test, &path);
    test.git(&["config", "branch.fresh1.remote", "somewhere"]);
    succeeds(test.run_in(&path, &["new", "above"]));
    write(&path.join("file"), "edited\n");
    let before = all_of(&test, "fresh1");
    for calls in [CHANGES, GITS] {
        at_every_place(calls, |fault| {
            let outcome = fault.run(&test, &["rename", "fresh1", "fresh2"]);
            if !outcome.is_done {
                has_failed(&outcome);
                // From when the folder has moved on, the next command completes it.
                succeeds(test.run(&["reap"]));
            }
            let name = if path.exists() { "fresh1" } else { "fresh2" };
            assert!(name == "fresh2" || !outcome.is_done, "{fault:?}");
            same(&all_of(&test, name), &before);
            if name == "fresh2" {
                succeeds(test.run(&["rename", "fresh2", "fresh1"]));
            }
            outcome.is_hit
        });
    }
}
