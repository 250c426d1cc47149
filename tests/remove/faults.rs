//! Removals and restores in which a system call or a git fails.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{names_in, write};
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::{is_registered, kept, state};
use crate::fixture::traced::{CHANGES, GITS, at_every_place, has_failed};
use crate::fixture::trash::{only_one, trashed};
use crate::fixture::work::submodule;

/// A sandbox `box` on its branch, without any work.
fn clean() -> (Test, PathBuf) {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    (test, path)
}

/// A sandbox `box` on a branch that has no commit yet.
fn unborn() -> (Test, PathBuf) {
    let (test, path) = clean();
    test.git_in(&path, &["switch", "--quiet", "--orphan", "later"]);
    write(&path.join("first"), "first\n");
    (test, path)
}

/// A sandbox `box` with a submodule, a private ref, staged, edited and untracked files, and a rebase that
/// has stopped and will move another branch too.
fn at_work() -> (Test, PathBuf) {
    let (test, path) = clean();
    submodule(&test, &path);
    test.commit(&path, "one", "one\n");
    test.git_in(&path, &["branch", "below"]);
    test.commit(&path, "two", "two\n");
    let mut rebase = test.command("git", &path);
    // git knows that setting from 2.38 on.
    rebase.args(["-c", "sequence.editor=sed -i '1s/^/break\\n/'", "-c", "rebase.updateRefs=true"]);
    let stopped = rebase.args(["rebase", "--quiet", "-i", "HEAD~2"]).output().unwrap();
    assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
    let blob = test.git_in(&path, &["hash-object", "-w", "a"]);
    test.git_in(&path, &["update-ref", "refs/worktree/note", &blob]);
    write(&path.join("staged"), "staged\n");
    test.git_in(&path, &["add", "staged"]);
    write(&path.join("staged"), "and edited\n");
    write(&path.join("untracked"), "untracked\n");
    (test, path)
}

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

#[test]
fn one_whose_folder_is_gone_is_forgotten_or_stays_as_it_was() {
    let (test, path) = clean();
    let commit = test.commit(&path, "a", "mine\n");
    write(&path.join("staged"), "staged\n");
    test.git_in(&path, &["add", "staged"]);
    fs::remove_dir_all(&path).unwrap();
    for calls in [CHANGES, GITS] {
        at_every_place(calls, |fault| {
            let outcome = fault.run(&test, &["rm", "box"]);
            if !outcome.is_done {
                has_failed(&outcome);
                // From when it is written down on, the next command completes it.
                succeeds(test.run(&["reap"]));
                if trashed(&test).is_empty() {
                    succeeds(test.run(&["rm", "box"]));
                }
            }
            only_one(&test);
            assert!(!is_registered(&test.app(), "box"), "{fault:?}");
            succeeds(test.run(&["restore", "box"]));
            assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), commit);
            assert_eq!(fs::read_to_string(path.join("staged")).unwrap(), "staged\n");
            assert_eq!(test.git_in(&path, &["status", "--porcelain", "-b"]), "## box\nA  staged");
            fs::remove_dir_all(&path).unwrap();
            outcome.is_hit
        });
    }
}

#[test]
fn what_is_purged_is_gone_or_is_purged_later() {
    let test = Test::new();
    for (is_stored, calls) in [(false, CHANGES), (false, GITS), (true, CHANGES), (true, GITS)] {
        at_every_place(calls, |fault| {
            let path = test.new_sandbox(&["box"]);
            test.git_in(&path, &["checkout", "--quiet", "--detach"]);
            test.commit(&path, "mine", "mine\n");
            succeeds(test.run(&["rm", "--force", "box"]));
            if is_stored {
                succeeds(test.run(&["reap", "--purge"]));
            }
            let outcome = fault.run(&test, &["reap", "--purge", "box"]);
            // One that the vault could not read for once is only warned of.
            match outcome.is_done && !outcome.said.contains("warning: ") {
                true => assert_eq!(kept(&test), "", "{fault:?}: {outcome:?}"),
                false => drop(test.run(&["reap", "--purge", "box"]).output()),
            }
            assert_eq!(trashed(&test), Vec::<PathBuf>::new(), "{fault:?}: {outcome:?}");
            assert_eq!(names_in(&test.app().join(".git/sandbox")), ["lock"], "{fault:?}");
            let left = test.run(&["restore"]).output();
            assert_eq!(String::from_utf8_lossy(&left.stdout), "", "{fault:?}");
            for name in kept(&test).lines() {
                test.git(&["update-ref", "-d", name]);
            }
            test.git(&["branch", "--quiet", "-D", "box"]);
            outcome.is_hit
        });
    }
}
