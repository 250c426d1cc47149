//! `git sandbox doctor --fix` where it only looks as if two things belonged together, or as if nothing
//! were left of something.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{tree, write};
use crate::fixture::run::succeeds;
use crate::fixture::state::entry;
use crate::fixture::trash::only_one;

/// `doctor --fix` leaves a folder as it is.
#[track_caller]
fn is_left(test: &Test, repository: &std::path::Path, folder: &std::path::Path) {
    let before = tree(folder, &[]);
    test.run_in(repository, &["doctor", "--fix"]).output();
    same(&tree(folder, &[]), &before);
}

/// A sandbox `box` of another repository, `zoo`, with work in it.
fn in_zoo(test: &Test) -> (PathBuf, PathBuf) {
    let zoo = test.init("zoo", &[]);
    let output = test.run_in(&zoo, &["new", "box"]).output();
    let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end());
    write(&path.join("mine"), "mine\n");
    (zoo, path)
}

#[test]
fn a_folder_and_an_entry_of_the_same_name_are_not_a_pair() {
    let test = Test::new();
    let (zoo, path) = in_zoo(&test);
    let name = entry(&test, &path).file_name().unwrap().to_string_lossy().into_owned();
    // An entry of that name whose own folder is gone.
    let other = test.home.join(name);
    test.git(&["worktree", "add", "--quiet", "--detach", &other.display().to_string()]);
    fs::remove_dir_all(&other).unwrap();
    fs::remove_dir_all(&zoo).unwrap();
    is_left(&test, &test.app(), &path);
}

#[test]
fn a_copy_of_a_repository_does_not_take_its_sandboxes() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    let copy = test.home.join("copy");
    assert!(Command::new("cp").arg("-a").arg(test.app()).arg(&copy).status().unwrap().success());
    is_left(&test, &copy, &path);
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "box");
    let app = test.app().join(".git");
    assert!(entry(&test, &path).starts_with(app));
}

#[test]
fn a_copy_of_a_repository_does_not_take_a_sandbox_that_was_moved_since() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    let copy = test.home.join("copy");
    assert!(Command::new("cp").arg("-a").arg(test.app()).arg(&copy).status().unwrap().success());
    fs::rename(&path, test.at("moved")).unwrap();
    is_left(&test, &copy, &test.at("moved"));
    assert!(entry(&test, &test.at("moved")).starts_with(test.app().join(".git")));
}

#[test]
fn a_folder_that_names_an_entry_of_another_name_is_left() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    let gone = test.home.join("gone/.git/worktrees/other");
    write(&path.join(".git"), &format!("gitdir: {}\n", gone.display()));
    is_left(&test, &test.app(), &path);
}

#[test]
fn trashed_work_whose_entry_is_gone_is_not_left_over() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("mine"), "mine\n");
    succeeds(test.run(&["rm", "--force", "box"]));
    let item = only_one(&test);
    fs::remove_dir_all(test.app().join(".git/sandbox")).unwrap();
    is_left(&test, &test.app(), &item);
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(fs::read_to_string(path.join("mine")).unwrap(), "mine\n");
}

#[test]
fn what_is_left_of_an_item_of_another_repository_is_left_to_it() {
    let test = Test::new();
    let (zoo, _) = in_zoo(&test);
    succeeds(test.run_in(&zoo, &["rm", "--force", "box"]));
    let item = only_one(&test);
    fs::remove_dir_all(item.join("tree")).unwrap();
    test.run(&["doctor", "--fix"]).stderr("all is well\n").ok();
    assert!(item.join("journal.json").exists());
}
