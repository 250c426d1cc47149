//! Items of the vault whose description does not fit what is there: nothing comes back by halves, and
//! nothing goes.

use std::path::{Path, PathBuf};

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::write;
use crate::fixture::reap::reap;
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::state;
use crate::fixture::trash::trashed;

/// A sandbox that is in the vault: its folder, its state before, the vault, and its ref there.
fn put_away() -> (Test, PathBuf, String, PathBuf, String) {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("a"), "mine\n");
    write(&path.join("new"), "untracked\n");
    let before = state(&test, &path);
    succeeds(test.run(&["rm", "--force", "box"]));
    succeeds(reap(&test, 15, &[]));
    assert!(trashed(&test).is_empty());
    let vault = test.root().with_file_name(".vault.git");
    let name = test.git_in(&vault, &["for-each-ref", "--format=%(refname)", "refs/vault"]);
    (test, path, before, vault, name)
}

/// Gives the item another description or list of files, by a shell command that changes its text.
#[track_caller]
fn change(test: &Test, vault: &Path, name: &str, file: &str, by: &str) {
    let script = format!(
        "set -e; blob=$(git cat-file blob '{name}:{file}' | {by} | git hash-object -w --stdin)
         tree=$(git ls-tree '{name}' | sed \"s/ [0-9a-f]*\\t{file}$/ $blob\\t{file}/\" | git mktree)
         git update-ref '{name}' \"$(git commit-tree -m changed \"$tree\")\""
    );
    let done = test.command("sh", vault).args(["-c", &script]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// `restore` fails with this and leaves nothing behind; once the item is as it was, it comes back.
#[track_caller]
fn is_refused(file: &str, by: &str, said: &str) {
    let (test, path, before, vault, name) = put_away();
    let id = name.strip_prefix("refs/vault/").unwrap().to_owned();
    let old = test.git_in(&vault, &["rev-parse", &name]);
    change(&test, &vault, &name, file, by);
    assert_ne!(test.git_in(&vault, &["rev-parse", &name]), old);
    let output = test.run(&["restore", &id]).output();
    let stderr = String::from_utf8_lossy(&output.stderr).replace(&id, "ID");
    assert!(stderr.contains(said), "{stderr}");
    assert_eq!((output.stdout.as_slice(), output.status.code()), (&b""[..], Some(1)), "{stderr}");
    assert!(!path.exists());
    test.git_in(&vault, &["update-ref", &name, &old]);
    succeeds(test.run(&["restore", &id]));
    same(&state(&test, &path), &before);
}

#[test]
fn one_of_another_version_is_not_brought_back() {
    let by = "sed 's/\"version\": *1\\b/\"version\":2/'";
    is_refused("item", by, "another version of git sandbox put it away");
}

#[test]
fn one_that_says_it_is_another_is_not_brought_back() {
    let by = "sed 's/\"id\": *\"box-/\"id\":\"fox-/'";
    is_refused("item", by, "another version of git sandbox put it away");
}

#[test]
fn one_with_fewer_files_than_it_had_is_not_brought_back() {
    let by = "sed 's/\"records\": *\\([0-9]*\\)/\"records\":1\\1/'";
    is_refused("item", by, "it is cut off");
}
