//! Removals and restores in which a system call or a git fails.

use std::fs;
use std::path::{Path, PathBuf};

use super::{at_work, clean, has_failed, unborn};
use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::faults::{CHANGES, GITS, at_every_place};
use crate::fixture::files::{tree, write};
use crate::fixture::run::succeeds;
use crate::fixture::state::{is_registered, kept, private, state};
use crate::fixture::trash::{only_one, trashed};

/// The state of a sandbox, what git lists, and all branches. Nothing is in the trash.
#[track_caller]
fn all_of(test: &Test, path: &Path) -> String {
    assert_eq!(trashed(test), Vec::<PathBuf>::new());
    let listed = test.git(&["worktree", "list", "--porcelain"]);
    state(test, path) + &listed + &test.git(&["for-each-ref", "refs/heads"])
}

fn is_removed_or_stays((test, path): &(Test, PathBuf), calls: &[&'static str]) {
    let before = all_of(test, path);
    at_every_place(calls, |fault| {
        let outcome = fault.run(test, &["rm", "--force", "box"]);
        if outcome.is_done {
            assert!(only_one(test).join("tree").is_dir() && !is_registered(&test.app(), "box"));
            succeeds(test.run(&["restore", "box"]));
        } else {
            has_failed(&outcome);
        }
        same(&all_of(test, path), &before);
        outcome.is_hit
    });
}

#[test]
fn a_clean_one_is_removed_or_stays_as_it_was() {
    let scene = clean();
    is_removed_or_stays(&scene, CHANGES);
    is_removed_or_stays(&scene, GITS);
    assert_eq!(kept(&scene.0), "");
}

#[test]
fn one_with_work_is_removed_or_stays_as_it_was() {
    let scene = at_work();
    is_removed_or_stays(&scene, CHANGES);
    is_removed_or_stays(&scene, GITS);
}

#[test]
fn one_without_a_commit_is_removed_or_stays_as_it_was() {
    let scene = unborn();
    is_removed_or_stays(&scene, CHANGES);
    is_removed_or_stays(&scene, GITS);
}

fn is_restored_or_stays((test, path): &(Test, PathBuf), calls: &[&'static str]) {
    let before = all_of(test, path);
    at_every_place(calls, |fault| {
        succeeds(test.run(&["rm", "--force", "box"]));
        let outcome = fault.run(test, &["restore", "box"]);
        if !outcome.is_done {
            has_failed(&outcome);
            // From when the folder has moved on, the next command completes it.
            succeeds(test.run(&["reap"]));
            if !path.exists() {
                succeeds(test.run(&["restore", "box"]));
            }
        }
        same(&all_of(test, path), &before);
        outcome.is_hit
    });
}

#[test]
fn a_clean_one_is_restored_or_stays_in_the_trash() {
    let scene = clean();
    is_restored_or_stays(&scene, CHANGES);
    is_restored_or_stays(&scene, GITS);
    assert_eq!(kept(&scene.0), "");
}

#[test]
fn one_with_work_is_restored_or_stays_in_the_trash() {
    let scene = at_work();
    is_restored_or_stays(&scene, CHANGES);
    is_restored_or_stays(&scene, GITS);
}

/// What git lists, and what is checked out and staged in the sandbox `box`, whose folder is gone.
#[track_caller]
fn without_folder(test: &Test) -> String {
    assert_eq!(trashed(test), Vec::<PathBuf>::new());
    let listed = test.git(&["worktree", "list", "--porcelain"]);
    listed + &tree(&private(&test.app(), "box"), &["sandbox.lock", "logs"])
}

#[test]
fn one_whose_folder_is_gone_is_forgotten_or_stays_as_it_was() {
    let (test, path) = clean();
    let commit = test.commit(&path, "a", "mine\n");
    write(&path.join("staged"), "staged\n");
    test.git_in(&path, &["add", "staged"]);
    fs::remove_dir_all(&path).unwrap();
    let before = without_folder(&test);
    for calls in [CHANGES, GITS] {
        at_every_place(calls, |fault| {
            let outcome = fault.run(&test, &["rm", "box"]);
            if outcome.is_done {
                only_one(&test);
                assert!(!is_registered(&test.app(), "box"), "{fault:?}");
                succeeds(test.run(&["restore", "box"]));
                assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), commit);
                assert_eq!(fs::read_to_string(path.join("staged")).unwrap(), "staged\n");
                assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "A  staged");
                fs::remove_dir_all(&path).unwrap();
            } else {
                has_failed(&outcome);
                succeeds(test.run(&["reap"]));
                let (now, then) = (without_folder(&test), &before);
                assert_eq!(now.lines().next(), then.lines().next(), "{fault:?}");
            }
            outcome.is_hit
        });
    }
}
