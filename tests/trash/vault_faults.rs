//! Putting away, and restores from the vault, in which a system call or a git fails.

use std::fs;
use std::path::PathBuf;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{chmod, tree, write};
use crate::fixture::run::succeeds;
use crate::fixture::state::state;
use crate::fixture::traced::{CHANGES, GITS, READING, UNPACKING, at_every_place, has_failed};
use crate::fixture::trash::{only_one, trashed};

/// A sandbox with files of every kind that the vault knows, an ignored folder aside.
fn with_files() -> (Test, PathBuf) {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("untracked"), "untracked\n");
    fs::hard_link(path.join("untracked"), path.join("same")).unwrap();
    write(&path.join("file"), "edited\n");
    chmod(&path.join("file"), 0o750);
    std::os::unix::fs::symlink("nowhere", path.join("dangling")).unwrap();
    let holes = fs::File::create(path.join("holes")).unwrap();
    std::os::unix::fs::FileExt::write_at(&holes, b"data", 1 << 20).unwrap();
    (test, path)
}

/// Brings the sandbox back, from wherever it is, and compares it.
#[track_caller]
fn comes_back(test: &Test, path: &std::path::Path, before: &str) {
    succeeds(test.run(&["restore", "box"]));
    same(&state(test, path), before);
    assert_eq!(trashed(test), Vec::<PathBuf>::new());
    test.run(&["restore"]).stderr("nothing to bring back\n").ok();
}

#[test]
fn what_is_put_away_or_stays_comes_back_whole() {
    let (test, path) = with_files();
    let before = state(&test, &path);
    for calls in [CHANGES, UNPACKING, GITS] {
        at_every_place(calls, |fault| {
            succeeds(test.run(&["rm", "--force", "box"]));
            let at = only_one(&test);
            let outcome = fault.run(&test, &["reap", "--purge"]);
            let is_said = !outcome.is_done || outcome.said.contains(": kept in the trash: ");
            assert!(is_said || !at.exists(), "{fault:?}: {outcome:?}");
            comes_back(&test, &path, &before);
            outcome.is_hit
        });
    }
}

#[test]
fn what_cannot_be_read_is_not_put_away() {
    let (test, path) = with_files();
    let before = state(&test, &path);
    at_every_place(READING, |fault| {
        if trashed(&test).is_empty() {
            succeeds(test.run(&["rm", "--force", "box"]));
        }
        let item = only_one(&test);
        let files = tree(&item, &["journal.json"]);
        let outcome = fault.run(&test, &["reap", "--purge"]);
        // What is as it was need not be brought back for the next attempt.
        if !item.exists() || tree(&item, &["journal.json"]) != files {
            comes_back(&test, &path, &before);
        }
        outcome.is_hit
    });
}

#[test]
fn what_comes_back_from_the_vault_is_whole_or_is_brought_back_later() {
    let (test, path) = with_files();
    let before = state(&test, &path);
    for calls in [CHANGES, UNPACKING, GITS] {
        at_every_place(calls, |fault| {
            succeeds(test.run(&["rm", "--force", "box"]));
            succeeds(test.run(&["reap", "--purge"]));
            assert_eq!(trashed(&test), Vec::<PathBuf>::new());
            let outcome = fault.run(&test, &["restore", "box"]);
            if !outcome.is_done {
                has_failed(&outcome);
                succeeds(test.run(&["reap"]));
                if !path.exists() {
                    succeeds(test.run(&["restore", "box"]));
                }
            }
            same(&state(&test, &path), &before);
            assert_eq!(trashed(&test), Vec::<PathBuf>::new());
            test.run(&["restore"]).stderr("nothing to bring back\n").ok();
            outcome.is_hit
        });
    }
}
