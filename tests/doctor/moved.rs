//! `git sandbox doctor` after somebody moved things by hand.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{tree, write};
use crate::fixture::repository::{Format, repository};

const FIX: &str = "hint: git sandbox doctor --fix\n";
const LEFT: &str = "1 problem needs manual repair\n";
const MOVED: &str = "it still names the place where the repository was";

/// A sandbox with work in it.
fn with_box() -> (Test, PathBuf) {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box", "The", "task"]);
    write(&path.join("a"), "staged\n");
    test.git_in(&path, &["add", "a"]);
    write(&path.join("new"), "mine\n");
    (test, path)
}

/// In a repository: found and explained, changing nothing; repaired; then all is well, and the
/// sandbox at `path` is as it was.
fn mends(test: &Test, repository: &Path, path: &Path, lines: &[String]) {
    let files = tree(path, &[".git"]);
    let before = tree(&test.home, &["sandbox.lock"]);
    let text = |lead: &str| -> String {
        lines.iter().fold(String::new(), |text, line| text + lead + line + "\n")
    };
    test.run_in(repository, &["doctor"]).stdout(&text("")).stderr(FIX).code(1);
    same(&tree(&test.home, &["sandbox.lock"]), &before);
    test.run_in(repository, &["doctor", "--fix"]).stdout(&text("fixed: ")).ok();
    test.run_in(repository, &["doctor"]).stderr("all is well\n").ok();
    same(&tree(path, &[".git"]), &files);
    assert_eq!(test.git_in(path, &["status", "--porcelain"]), "M  a\n?? new");
    assert_eq!(test.git_in(path, &["symbolic-ref", "--short", "HEAD"]), "box");
    let output = test.run_in(repository, &["show", "box", "--json"]).output();
    let facts: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&facts["state"], &facts["task"]), (&"ready".into(), &"The task".into()));
    assert_eq!(facts["path"], path.to_string_lossy().as_ref());
}

#[test]
fn a_repository_that_was_moved_is_reconnected() {
    let (test, path) = with_box();
    let moved = test.home.join("moved");
    fs::rename(test.app(), &moved).unwrap();
    mends(&test, &moved, &path, &[format!("$ROOT/box: {MOVED}")]);
}

#[test]
fn every_sandbox_of_a_moved_repository_is_reconnected() {
    let (test, path) = with_box();
    let other = test.new_sandbox(&["other"]);
    let moved = test.home.join("moved");
    fs::rename(test.app(), &moved).unwrap();
    let lines = ["box", "other"].map(|name| format!("$ROOT/{name}: {MOVED}"));
    mends(&test, &moved, &path, &lines);
    assert_eq!(test.git_in(&other, &["status", "--porcelain"]), "");
}

#[test]
fn a_sandbox_that_was_moved_is_reconnected() {
    let (test, path) = with_box();
    let moved = test.at("moved");
    fs::rename(&path, &moved).unwrap();
    let found = "it was moved here, and git looks for it elsewhere";
    let files = tree(&moved, &[".git"]);
    let inside = format!("hint: git -C {} sandbox doctor --fix\n", moved.display());
    test.run(&["doctor", "--fix"])
        .stdout(&format!("$ROOT/moved: {found}\n"))
        .stderr(&format!("{inside}{LEFT}"))
        .code(1);
    test.run_in(&moved, &["doctor", "--fix"])
        .stdout(&format!("fixed: $ROOT/moved: {found}\n"))
        .ok();
    test.run(&["doctor"]).stderr("all is well\n").ok();
    same(&tree(&moved, &[".git"]), &files);
    assert_eq!(test.git_in(&moved, &["status", "--porcelain"]), "M  a\n?? new");
    assert_eq!(test.json(&["show", "moved", "--json"])["task"], "The task");
}

#[test]
fn a_sandbox_that_was_moved_is_found_once() {
    let (test, path) = with_box();
    fs::rename(&path, test.at("moved")).unwrap();
    let before = tree(&test.home, &["sandbox.lock"]);
    // One thing is wrong, so there is one line; above all none that says its folder is gone.
    test.run(&["doctor"])
        .stdout("$ROOT/moved: it was moved here, and git looks for it elsewhere\n")
        .stderr(&format!(
            "hint: git -C {} sandbox doctor --fix\n{LEFT}",
            test.at("moved").display()
        ))
        .code(1);
    same(&tree(&test.home, &["sandbox.lock"]), &before);
}

#[test]
fn a_repository_and_its_sandboxes_that_were_both_moved_are_reconnected() {
    let (test, path) = with_box();
    let repository = test.home.join("elsewhere/app");
    fs::create_dir(test.home.join("elsewhere")).unwrap();
    fs::rename(test.app(), &repository).unwrap();
    let moved = path.with_file_name("moved");
    fs::rename(&path, &moved).unwrap();
    let files = tree(&moved, &[".git"]);
    let output = test.run_in(&repository, &["doctor"]).output();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains(&format!("{}: ", moved.display())), "{said}");
    let output = test.run_in(&repository, &["doctor", "--fix"]).output();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains(&format!("fixed: {}: ", moved.display())), "{said}");
    assert_eq!(output.status.code(), Some(0));
    test.run_in(&repository, &["doctor"]).stderr("all is well\n").ok();
    same(&tree(&moved, &[".git"]), &files);
    assert_eq!(test.git_in(&moved, &["status", "--porcelain"]), "M  a\n?? new");
}

#[test]
fn what_was_staged_in_a_both_moved_sandbox_is_never_dropped() {
    let (test, path) = with_box();
    let staged = test.git_in(&path, &["write-tree"]);
    let repository = test.home.join("elsewhere");
    fs::rename(test.app(), &repository).unwrap();
    fs::rename(&path, path.with_file_name("moved")).unwrap();
    for _ in 0..2 {
        drop(test.run_in(&repository, &["doctor", "--fix"]).output());
    }
    test.git_in(&repository, &["gc", "--quiet", "--prune=now"]);
    assert_eq!(test.git_in(&repository, &["show", &format!("{staged}:a")]), "staged");
    assert_eq!(fs::read_to_string(test.at("moved/new")).unwrap(), "mine\n");
}

#[test]
fn a_sandbox_that_was_copied_is_left() {
    let (test, path) = with_box();
    let mut copy = test.command("cp", &test.home);
    assert!(copy.arg("-r").arg(&path).arg(test.at("copy")).status().unwrap().success());
    let before = tree(&test.home, &["sandbox.lock"]);
    for words in [&["doctor"][..], &["doctor", "--fix"]] {
        test.run(words)
            .stdout("$ROOT/copy: another folder stands where git looks for it\n")
            .stderr(LEFT)
            .code(1);
        same(&tree(&test.home, &["sandbox.lock"]), &before);
    }
}

#[test]
fn sandboxes_of_another_repository_are_none_of_its_business() {
    let (test, path) = with_box();
    let zoo = test.init("zoo", &[]);
    fs::rename(&path, test.at("moved")).unwrap();
    let before = tree(&test.home, &["sandbox.lock"]);
    test.run_in(&zoo, &["doctor", "--fix"]).stderr("all is well\n").ok();
    same(&tree(&test.home, &["sandbox.lock"]), &before);
}
