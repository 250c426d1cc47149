//! `git sandbox doctor`: each thing that can be wrong is found, explained in one line and, where
//! nothing can be lost by it, repaired.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{chmod, tree, write};
use crate::fixture::repository::{Format, repository, with_box};
use crate::fixture::run::succeeds;
use crate::fixture::slow::{Slow, killed};
use crate::fixture::state::{collect_garbage, entry, kept, main_checkout, state};
use crate::fixture::trash::{id_of, only_one, trash, trashed};

const FIX: &str = "hint: git sandbox doctor --fix\n";
const LEFT: &str = "1 problem needs manual repair\n";
const WELL: &str = "all is well\n";

/// Everything at home, but what is in a lock file or a pipe.
fn whole(test: &Test) -> String {
    tree(&test.home, &["sandbox.lock", "runs", "go"])
}

/// Found and explained, changing nothing; repaired; and then all is well.
#[track_caller]
fn mends(test: &Test, line: &str) {
    is_found(test, line, FIX);
    test.run(&["doctor", "--fix"]).stdout(&format!("fixed: {line}\n")).ok();
    is_well(test);
}

#[track_caller]
fn is_found(test: &Test, line: &str, after: &str) {
    let before = whole(test);
    test.run(&["doctor"]).stdout(&format!("{line}\n")).stderr(after).code(1);
    same(&whole(test), &before);
}

/// Found and explained, and left alone even by `--fix`.
#[track_caller]
fn leaves(test: &Test, line: &str, hint: &str) {
    is_found(test, line, &format!("{hint}{LEFT}"));
    let before = whole(test);
    for _ in 0..2 {
        test.run(&["doctor", "--fix"])
            .stdout(&format!("{line}\n"))
            .stderr(&format!("{hint}{LEFT}"))
            .code(1);
        same(&whole(test), &before);
    }
}

#[track_caller]
fn is_well(test: &Test) {
    let before = whole(test);
    test.run(&["doctor"]).stderr(WELL).ok();
    test.run(&["doctor", "--fix"]).stderr(WELL).ok();
    test.run(&["doctor", "--json"]).stdout("[]\n").ok();
    same(&whole(test), &before);
}

#[test]
fn where_nothing_is_wrong_all_is_well() {
    is_well(&Test::new());
    let (test, path) = with_box();
    write(&path.join("new"), "mine\n");
    test.new_sandbox(&["--detach", "look"]);
    test.new_sandbox(&["removed"]);
    succeeds(test.run(&["rm", "removed"]));
    let plain = test.home.join("plain").display().to_string();
    test.git(&["worktree", "add", "--quiet", "-b", "plain", &plain]);
    is_well(&test);
    test.run_in(&path.join("dir"), &["doctor"]).stderr(WELL).ok();
    test.run_in(&test.home, &["doctor"]).stderr(crate::fixture::usage::OUTSIDE).code(1);
}

#[test]
fn a_half_made_sandbox_is_finished() {
    let slow = Slow::new();
    killed(&slow);
    let test = &slow.test;
    is_found(test, "$ROOT/fix: its creation was interrupted", FIX);
    test.run(&["doctor", "--fix"]).stdout("fixed: $ROOT/fix: its creation was interrupted\n").ok();
    is_well(test);
    assert_eq!(test.git_in(&test.at("fix"), &["status", "--porcelain"]), "");
    let facts = test.json(&["show", "fix", "--json"]);
    assert_eq!((&facts["state"], &facts["locked"]), (&"ready".into(), &().into()));
    assert_eq!((&facts["task"], &facts["branch"]), (&"A task".into(), &"fix".into()));
}

#[test]
fn a_half_made_sandbox_keeps_what_was_put_there_since() {
    let slow = Slow::new();
    killed(&slow);
    let test = &slow.test;
    write(&test.at("fix/notes"), "mine\n");
    succeeds(test.run(&["doctor", "--fix"]));
    assert_eq!(test.git_in(&test.at("fix"), &["status", "--porcelain"]), "?? notes");
}

#[test]
fn a_half_made_exploration_is_finished() {
    let slow = Slow::new();
    let test = &slow.test;
    slow.quick();
    let path = test.new_sandbox(&["--detach", "look"]);
    // As a kill before the checkout leaves it.
    let private = entry(test, &path);
    let at = path.display().to_string();
    test.git(&["worktree", "lock", "--reason", "git-sandbox: creating", &at]);
    for name in ["file", "slow", ".gitattributes"] {
        fs::remove_file(path.join(name)).unwrap();
    }
    fs::remove_file(private.join("index")).unwrap();
    mends(test, "$ROOT/exploration-look: its creation was interrupted");
    assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "");
    assert_eq!(test.json(&["show", "exploration-look", "--json"])["state"], "ready");
}

#[test]
fn an_entry_whose_folder_is_gone_is_dropped() {
    let (test, path) = with_box();
    let tip = test.git(&["rev-parse", "box"]);
    fs::remove_dir_all(&path).unwrap();
    is_found(&test, "$ROOT/box: its folder is gone", &format!("hint: git sandbox rm box\n{FIX}"));
    test.run(&["doctor", "--fix"]).stdout("fixed: $ROOT/box: its folder is gone\n").ok();
    is_well(&test);
    assert_eq!(test.linked(), [""; 0]);
    assert_eq!(test.git(&["rev-parse", "box"]), tip);
    assert!(kept(&test).starts_with("refs/sandbox/kept/box-"), "{}", kept(&test));
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "");
    assert_eq!(kept(&test), "");
}

#[test]
fn what_only_a_dropped_entry_held_is_kept() {
    let (test, path) = with_box();
    test.git_in(&path, &["checkout", "--quiet", "--detach"]);
    let commit = test.commit(&path, "a", "committed\n");
    write(&path.join("b"), "staged\n");
    test.git_in(&path, &["add", "b"]);
    fs::remove_dir_all(&path).unwrap();
    succeeds(test.run(&["doctor", "--fix"]));
    collect_garbage(&test);
    let name = kept(&test);
    assert!(name.starts_with("refs/sandbox/kept/box-"), "{name}");
    assert_eq!(test.git(&["rev-parse", &format!("{name}^")]), commit);
    is_well(&test);
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "M  b");
    assert_eq!(fs::read_to_string(path.join("b")).unwrap(), "staged\n");
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "committed\n");
}

#[test]
fn an_empty_entry_is_cleared_away() {
    let (test, path) = with_box();
    fs::create_dir(test.app().join(".git/worktrees/-")).unwrap();
    mends(&test, "$APP/.git/worktrees/-: it is empty");
    assert!(path.exists() && !test.app().join(".git/worktrees/-").exists());
}

#[test]
fn an_entry_whose_disk_is_not_there_is_left() {
    let test = repository(Format::Files).unwrap();
    let dir = test.home.join("stick").display().to_string();
    test.new_sandbox(&["--dir", &dir, "box"]);
    fs::rename(&dir, test.home.join("unmounted")).unwrap();
    let line = "$HOME/stick/box: it is not there; it may be on another disk";
    leaves(&test, line, "");
    fs::rename(test.home.join("unmounted"), &dir).unwrap();
    is_well(&test);
}

#[test]
fn an_entry_that_is_locked_is_left() {
    let (test, path) = with_box();
    test.git(&["worktree", "lock", "--reason", "on a stick", &path.display().to_string()]);
    fs::remove_dir_all(&path).unwrap();
    let line = "$ROOT/box: it is not there; it may be on another disk";
    leaves(&test, line, "");
}

#[test]
fn a_folder_without_an_entry_is_left() {
    let (test, path) = with_box();
    write(&path.join("new"), "mine\n");
    fs::remove_dir_all(entry(&test, &path)).unwrap();
    leaves(&test, "$ROOT/box: git no longer knows it", "hint: git sandbox rm --force box\n");
    assert_eq!(fs::read_to_string(path.join("new")).unwrap(), "mine\n");
}

#[test]
fn a_folder_that_was_never_a_worktree_is_found_and_left() {
    let (test, _) = with_box();
    write(&test.at("stray/file"), "mine\n");
    leaves(&test, "$ROOT/stray: git has no entry for it", "");
}

#[test]
fn a_removal_that_was_interrupted_is_finished_or_undone() {
    for step in 2..8 {
        let (test, path) = with_box();
        let before = state(&test, &path);
        let output = test.run(&["rm", "box"]).env("GIT_SANDBOX_CRASH_AT", step.to_string());
        assert_eq!(output.output().status.code(), Some(128 + 9));
        let output = test.run(&["doctor"]).output();
        let said = String::from_utf8(output.stdout).unwrap();
        // Before its first step the trash has no folder of it.
        let at = said.split_once(": ").unwrap().0;
        let at = trash(&test).join(Path::new(at).file_name().unwrap());
        let line = format!("{}: a removal or restore was interrupted\n", at.display());
        assert_eq!((output.status.code(), &said), (Some(1), &line), "step {step}");
        let output = test.run(&["doctor", "--fix"]).output();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!((output.status.code(), said), (Some(0), format!("fixed: {line}")));
        is_well(&test);
        if !path.exists() {
            succeeds(test.run(&["restore", "box"]));
        }
        same(&state(&test, &path), &before);
        assert!(trashed(&test).is_empty());
    }
}

#[test]
fn leftovers_in_the_trash_are_cleared_if_they_are_empty() {
    let (test, _) = with_box();
    fs::create_dir_all(trash(&test).join("empty")).unwrap();
    mends(&test, "$HOME/.cache/git-sandbox/worktrees/.trash/empty: it has no journal");
    assert!(trashed(&test).is_empty());
    succeeds(test.run(&["rm", "box"]));
    let item = only_one(&test);
    fs::remove_dir_all(item.join("tree")).unwrap();
    fs::remove_dir_all(test.app().join(".git/sandbox").join(id_of(&item))).unwrap();
    mends(
        &test,
        "$HOME/.cache/git-sandbox/worktrees/.trash/box-ID: its files are not there any more",
    );
    assert!(trashed(&test).is_empty());
}

#[test]
fn leftovers_in_the_trash_with_files_in_them_are_left() {
    let (test, path) = with_box();
    write(&path.join("new"), "mine\n");
    succeeds(test.run(&["rm", "--force", "box"]));
    let item = only_one(&test);
    fs::remove_dir_all(test.app().join(".git/sandbox").join(id_of(&item))).unwrap();
    is_well(&test);
    assert_eq!(fs::read_to_string(item.join("tree/new")).unwrap(), "mine\n");
    fs::remove_file(item.join("journal.json")).unwrap();
    let output = test.run(&["doctor", "--fix"]).output();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with(&format!("{}: it has no journal", item.display())), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read_to_string(item.join("tree/new")).unwrap(), "mine\n");
}

#[test]
fn an_empty_commondir_that_makes_git_fail_is_filled() {
    let (test, path) = with_box();
    let other = test.new_sandbox(&["other"]);
    let before = (state(&test, &path), state(&test, &other), main_checkout(&test));
    let file = entry(&test, &path).join("commondir");
    for text in ["", "\n"] {
        fs::write(&file, text).unwrap();
        mends(
            &test,
            &format!(
                "{}: its 'commondir' is empty, which makes git fail",
                file.parent().unwrap().display()
            ),
        );
        let now = (state(&test, &path), state(&test, &other), main_checkout(&test));
        assert_eq!(now, before);
    }
}

#[test]
fn a_root_that_others_may_write_to_is_closed() {
    for mode in [0o777, 0o770, 0o1777, 0o722] {
        let (test, path) = with_box();
        let before = state(&test, &path);
        let root = test.root().parent().unwrap().to_owned();
        chmod(&root, mode);
        mends(&test, "$HOME/.cache/git-sandbox/worktrees: others may write to it");
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&root).unwrap().permissions());
        assert_eq!(mode & 0o022, 0);
        same(&state(&test, &path), &before);
        test.new_sandbox(&["other"]);
    }
}

#[test]
fn json_says_what_is_wrong_and_what_was_fixed() {
    let (test, path) = with_box();
    let other = test.new_sandbox(&["other"]);
    fs::remove_dir_all(&path).unwrap();
    fs::remove_dir_all(entry(&test, &other)).unwrap();
    let answer = |words: &[&str]| -> serde_json::Value {
        let output = test.run(words).output();
        assert_eq!(output.status.code(), Some(1));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let wanted = |fixed: bool| {
        json!([
            {"kind": "folder", "path": other, "problem": "git no longer knows it", "fixed": false},
            {"kind": "missing", "path": path, "problem": "its folder is gone", "fixed": fixed},
        ])
    };
    assert_eq!(answer(&["doctor", "--json"]), wanted(false));
    assert_eq!(answer(&["doctor", "--fix", "--json"]), wanted(true));
    assert_eq!(answer(&["doctor", "--fix", "--json"]).as_array().unwrap().len(), 1);
    assert!(Path::new(&other).exists());
}

#[test]
fn a_creation_that_was_stopped_at_any_step_is_mended() {
    for step in 1..40 {
        let test = Test::new();
        test.git(&["branch", "box"]);
        let crashed = test.run(&["new", "box"]).crashes_at(step);
        let looked = test.run(&["doctor"]).output();
        let said = String::from_utf8_lossy(&looked.stdout).into_owned();
        assert!(!said.contains("moved"), "step {step}: {said}");
        let fixed = test.run(&["doctor", "--fix"]).output();
        let said = String::from_utf8_lossy(&fixed.stdout).into_owned();
        assert_eq!(fixed.status.code(), Some(0), "step {step}: {said}");
        test.run(&["doctor"]).stderr("all is well\n").ok();
        succeeds(test.run(&["new", "box"]));
        assert_eq!(fs::read_to_string(test.at("box").join("file")).unwrap(), "one\n");
        if !crashed {
            assert!(step > 3, "only {step} steps");
            return;
        }
    }
    panic!("more steps than that");
}
