//! Calls to the system that fail while a sandbox is made: it is whole in the end, or there is none.

use std::fs;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::faults::{Fault, Faults, Kind};
use crate::fixture::files::{names_in, tree, write};
use crate::fixture::repository::{Format, repository};
use crate::fixture::state::private;

const ALL: [Kind; 3] = [Kind::Change, Kind::Remove, Kind::Start];

/// All that there is of the sandbox `box`, but for what is random.
fn made(test: &Test) -> String {
    let (path, entry) = (test.at("box"), private(&test.app(), "box"));
    let facts = fs::read_to_string(entry.join("sandbox.json")).unwrap();
    let mut facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
    facts["id"].take();
    [
        tree(&path, &[".git"]),
        test.git_in(&path, &["status", "--porcelain=v2", "--branch", "--untracked-files=all"]),
        test.git_in(&path, &["ls-files", "--stage", "-v"]),
        names_in(&entry).join(" "),
        facts.to_string(),
        test.branches().join(" "),
        test.linked().join(" "),
        test.sandboxes().join(" "),
        names_in(&test.app().join(".git/worktrees")).len().to_string(),
    ]
    .join("\n")
}

/// What the main checkout has.
fn main_checkout(test: &Test) -> String {
    let look = |words: &[&str]| test.git(&[&["--no-optional-locks"], words].concat());
    tree(&test.app(), &[".git"]) + &look(&["ls-files", "--stage"]) + &look(&["status", "--short"])
}

/// That there is nothing of a sandbox, or one that only was not unlocked or not marked as used.
#[track_caller]
fn whole_or_nothing(test: &Test, fault: &Fault) {
    let is_unlocking = fault.call.starts_with("unlink ") && fault.call.ends_with("/locked\n");
    if is_unlocking || fault.call.starts_with("futimens ") {
        assert_eq!(test.git_in(&test.at("box"), &["status", "--porcelain"]), "");
        return;
    }
    let left = (test.branches(), test.linked(), test.sandboxes());
    let none = (vec!["main".to_owned()], vec![], vec![]);
    assert_eq!(left, none, "{}{}", fault.call, fault.said());
    assert_eq!(names_in(&test.app().join(".git/worktrees")), [""; 0], "{}", fault.call);
}

#[test]
fn a_sandbox_is_whole_or_not_there_whatever_fails() {
    let test = repository(Format::Files).unwrap();
    let before = main_checkout(&test);
    let faults = Faults::of(&test, &ALL, &test.home);
    let safe = |fault: &Fault| {
        whole_or_nothing(&test, fault);
        same(&main_checkout(&test), &before);
    };
    faults.end_alike(&["new", "box", "the", "task"], safe, || made(&test));
}

#[test]
fn changes_are_copied_whole_or_no_sandbox_is_made() {
    let test = repository(Format::Files).unwrap();
    let app = test.app();
    write(&app.join("a"), "staged\n");
    test.git(&["add", "a"]);
    write(&app.join("a"), "edited\n");
    fs::remove_file(app.join("b")).unwrap();
    write(&app.join("new/untracked"), "untracked\n");
    test.git(&["add", "--intent-to-add", "new/untracked"]);
    std::os::unix::fs::symlink("a", app.join("arrow")).unwrap();
    let before = main_checkout(&test);
    let faults = Faults::of(&test, &ALL, &test.home);
    let safe = |_: &Fault| same(&main_checkout(&test), &before);
    faults.are_told(&["new", "box", "--with-changes"], safe, || made(&test));
}

#[test]
fn a_sandbox_that_is_resumed_is_whole_whatever_fails() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("mine"), "mine\n");
    let safe = |_: &Fault| assert_eq!(fs::read_to_string(path.join("mine")).unwrap(), "mine\n");
    let faults = Faults::of(&test, &ALL, &test.home);
    faults.end_alike(&["new", "box", "another", "task"], safe, || made(&test));
}

/// A sandbox whose creation was killed is finished by the next command, or by the one after it.
#[test]
fn what_a_crash_left_is_finished_whatever_fails() {
    let test = repository(Format::Files).unwrap();
    let mut step = 1;
    while !test.at("box/.git").exists() {
        assert!(test.run(&["new", "box", "the", "task"]).crashes_at(step));
        step += 1;
    }
    assert!(!test.at("box/a").exists());
    let faults = Faults::of(&test, &ALL, &test.home);
    faults.end_alike(&["new", "box"], |_| (), || made(&test));
}
