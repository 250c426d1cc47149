//! `git sandbox restore` when the branch is not what it was, and `new` beside a removed sandbox.

use std::fs;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::write;
use crate::fixture::repository::{Format, repository};
use crate::fixture::state::{kept, state};
use crate::fixture::trash::trashed;
use crate::fixture::work::commit;

#[track_caller]
fn rm(test: &Test, name: &str) {
    let output = test.run(&["rm", "--force", name]).output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A sandbox with a commit and a change, removed; its HEAD.
fn removed(test: &Test) -> String {
    let path = test.new_sandbox(&["box"]);
    commit(test, &path, "a", "committed\n");
    write(&path.join("b"), "changed\n");
    let head = test.git_in(&path, &["rev-parse", "HEAD"]);
    rm(test, "box");
    head
}

#[track_caller]
fn is_detached_at(test: &Test, head: &str) {
    let path = test.at("box");
    assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), head);
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "");
    assert_eq!(test.git_in(&path, &["status", "--porcelain"]), " M b");
}

#[test]
fn a_branch_that_moved_stays_where_it_is() {
    let test = repository(Format::Files).unwrap();
    let head = removed(&test);
    test.git(&["branch", "--quiet", "--force", "box", "main"]);
    test.run(&["restore", "box"])
        .stdout("$ROOT/box\n")
        .stderr("restored 'box'\nHEAD is detached: branch 'box' has moved since\n")
        .ok();
    is_detached_at(&test, &head);
    assert_eq!(test.git(&["rev-parse", "box"]), test.git(&["rev-parse", "main"]));
}

#[test]
fn a_branch_that_could_not_be_read_is_not_taken_for_gone() {
    let test = repository(Format::Files).unwrap();
    let head = removed(&test);
    // Else its own file tells where it is.
    test.git(&["pack-refs", "--all"]);
    let path = test.fake_git(
        "case \"$*\" in *--verify*refs/heads/box) exit 128 ;; esac\nexec \"$GIT\" \"$@\"",
    );
    test.program(&test.app(), &["restore", "box"])
        .env("PATH", path)
        .stderr("error: cannot read its branch: git exited with 128\n")
        .code(1);
    test.run(&["new", "other"])
        .stdout("$ROOT/other\n")
        .stderr("created sandbox 'other': new branch 'other' from 'main'\n")
        .ok();
    assert_eq!(test.git_in(&test.at("box"), &["rev-parse", "HEAD"]), head);
    assert_eq!(test.git_in(&test.at("box"), &["branch", "--show-current"]), "box");
    assert_eq!(test.git_in(&test.at("box"), &["status", "--porcelain"]), " M b");
    assert!(trashed(&test).is_empty());
}

#[test]
fn a_branch_that_vanished_is_made_again() {
    let test = repository(Format::Files).unwrap();
    let head = removed(&test);
    test.git(&["branch", "-D", "box"]);
    test.git(&["gc", "--quiet", "--prune=now"]);
    test.run(&["restore", "box"])
        .stdout("$ROOT/box\n")
        .stderr("restored 'box'\nre-created branch 'box'\n")
        .ok();
    assert_eq!(test.git(&["rev-parse", "box"]), head);
    assert_eq!(test.git_in(&test.at("box"), &["branch", "--show-current"]), "box");
    assert_eq!(test.git_in(&test.at("box"), &["status", "--porcelain"]), " M b");
}

#[test]
fn a_branch_that_vanished_and_has_another_in_its_way_leaves_it_detached() {
    let test = repository(Format::Files).unwrap();
    let head = removed(&test);
    test.git(&["branch", "-D", "box"]);
    test.git(&["branch", "box/in-the-way"]);
    let output = test.run(&["restore", "box"]).output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    is_detached_at(&test, &head);
    assert!(trashed(&test).is_empty());
}

#[test]
fn a_restore_that_fails_keeps_no_other_command_from_working() {
    let test = repository(Format::Files).unwrap();
    removed(&test);
    test.git(&["branch", "-D", "box"]);
    test.git(&["branch", "box/in-the-way"]);
    drop(test.run(&["restore", "box"]).output());
    let output = test.run(&["new", "other"]).output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = test.run(&["rm", "other"]).output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_branch_that_is_in_the_main_worktree_stays_there() {
    let test = repository(Format::Files).unwrap();
    let head = removed(&test);
    test.git(&["checkout", "--quiet", "box"]);
    test.run(&["restore", "box"])
        .stdout("$ROOT/box\n")
        .stderr("restored 'box'\nHEAD is detached: branch 'box' is checked out in '$APP'\n")
        .ok();
    is_detached_at(&test, &head);
    assert_eq!(test.git(&["branch", "--show-current"]), "box");
    assert_eq!(test.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_branch_that_the_main_worktree_rebases_stays_there() {
    let test = repository(Format::Files).unwrap();
    let head = removed(&test);
    test.git(&["checkout", "--quiet", "box"]);
    let mut git = test.command("git", &test.app());
    git.env("GIT_SEQUENCE_EDITOR", "sed -i 1ibreak").args(["rebase", "-i", "main"]);
    assert!(git.output().unwrap().status.success());
    test.run(&["restore", "box"])
        .stdout("$ROOT/box\n")
        .stderr("restored 'box'\nHEAD is detached: branch 'box' is checked out in '$APP'\n")
        .ok();
    is_detached_at(&test, &head);
    test.git(&["rebase", "--continue"]);
    assert_eq!(test.git(&["branch", "--show-current"]), "box");
}

#[test]
fn new_of_a_removed_name_goes_on_with_a_hint() {
    let test = repository(Format::Files).unwrap();
    removed(&test);
    test.run(&["new", "box"])
        .stdout("$ROOT/box\n")
        .stderr(
            "hint: a removed sandbox 'box' is in the trash (1 uncommitted change):\n\
             hint: git sandbox restore box-ID --as box-old\n\
             created sandbox 'box': branch 'box'\n",
        )
        .ok();
    assert_eq!(test.git_in(&test.at("box"), &["status", "--porcelain"]), "");
    let path = test.at("box");
    let before = state(&test, &path);
    test.run(&["restore", "box", "--as", "box-old"])
        .stdout("$ROOT/box-old\n")
        .stderr(
            "restored 'box-old'\nHEAD is detached: branch 'box' is checked out in '$ROOT/box'\n",
        )
        .ok();
    assert_eq!(fs::read_to_string(test.at("box-old").join("b")).unwrap(), "changed\n");
    same(&state(&test, &path), &before);
}

#[test]
fn a_rebase_in_the_trash_holds_no_branch() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "a", "mine\n");
    let mut git = test.command("git", &path);
    git.env("GIT_SEQUENCE_EDITOR", "sed -i 1ibreak").args(["rebase", "-i", "main"]);
    assert!(git.output().unwrap().status.success());
    let before = state(&test, &path);
    test.run(&["rm", "--force", "box"])
        .stderr("removed 'box' (rebase in progress); undo with: git sandbox restore box-ID\n")
        .ok();
    let other = test.home.join("other").display().to_string();
    test.git(&["worktree", "add", "--quiet", &other, "box"]);
    test.git(&["worktree", "remove", &other]);
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    same(&state(&test, &path), &before);
    test.git_in(&path, &["rebase", "--continue"]);
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "box");
}

#[test]
fn one_in_a_rebase_is_found_by_its_branch() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["feat/ui"]);
    commit(&test, &path, "a", "mine\n");
    let mut git = test.command("git", &path);
    git.env("GIT_SEQUENCE_EDITOR", "sed -i 1ibreak").args(["rebase", "-i", "main"]);
    assert!(git.output().unwrap().status.success());
    rm(&test, "feat/ui");
    test.run(&["restore", "feat/ui"]).stdout("$ROOT/feat-ui\n").stderr("restored 'feat-ui'\n").ok();
}

#[test]
fn all_finds_the_trash_of_every_repository_from_anywhere() {
    let test = repository(Format::Files).unwrap();
    let other = test.init("other", &[]);
    test.new_sandbox(&["box"]);
    assert!(test.run_in(&other, &["new", "far"]).output().status.success());
    let far = test.home.join(".cache/git-sandbox/worktrees/other/far");
    write(&far.join("new"), "mine\n");
    rm(&test, "box");
    assert!(test.run_in(&other, &["rm", "-f", "far"]).output().status.success());
    test.run_in(&test.home, &["restore"]).stderr(crate::fixture::usage::OUTSIDE).code(1);
    let output = test.run_in(&test.home, &["restore", "--all", "--json"]).output();
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut names: Vec<_> =
        rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["box", "far"]);
    test.run(&["restore", "far"])
        .stderr(
            "error: no removed sandbox is called 'far'\n\
             hint: 'git sandbox restore' lists what can be brought back\n",
        )
        .code(1);
    test.run_in(&test.home, &["restore", "--all", "far"])
        .stdout("$HOME/.cache/git-sandbox/worktrees/other/far\n")
        .stderr("restored 'far'\n")
        .ok();
    assert_eq!(test.git_in(&far, &["status", "--porcelain"]), "?? new");
    test.run_in(&test.home, &["restore", "--all", "box"])
        .stdout("$ROOT/box\n")
        .stderr("restored 'box'\n")
        .ok();
    assert_eq!(kept(&test), "");
    assert!(trashed(&test).is_empty());
}
