//! `rm` of a folder whose private git dir is gone: git can tell nothing about it, so that it takes force.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{tree, write};
use crate::fixture::process::Sleeper;
use crate::fixture::repository::{Format, repository};
use crate::fixture::state::{changes_nothing, private};
use crate::fixture::trash::{only_one, trashed};

/// A sandbox `box` with work in it, whose private git dir somebody has deleted.
fn orphan() -> (Test, PathBuf) {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("a"), "mine\n");
    write(&path.join("new/file"), "untracked\n");
    fs::remove_dir_all(private(&test.app(), "box")).unwrap();
    (test, path)
}

#[test]
fn without_force_it_stays() {
    let (test, _) = orphan();
    changes_nothing(&test, || {
        test.run(&["rm", "box"])
            .stderr(
                "error: cannot remove 'box': its repository could not be reached\n\
                 hint: to move it to the trash as it is: git sandbox rm --force box\n",
            )
            .code(1);
    });
}

#[test]
fn with_force_it_goes_to_the_trash_and_comes_back_as_it_was() {
    let (test, path) = orphan();
    let other = test.new_sandbox(&["other"]);
    let before = (tree(&path, &[]), tree(&other, &[]));
    test.run(&["rm", "--force", "box"])
        .stderr(
            "removed 'box' (its repository could not be reached); \
             undo with: git sandbox restore box-ID\n",
        )
        .ok();
    assert!(!path.exists());
    assert_eq!(fs::read_to_string(only_one(&test).join("tree/a")).unwrap(), "mine\n");
    test.run(&["restore", "box"])
        .stdout("$ROOT/box\n")
        .stderr("restored 'box'\nit is a plain folder: its repository no longer knows it\n")
        .ok();
    same(&tree(&path, &[]), &before.0);
    same(&tree(&other, &[]), &before.1);
    assert!(trashed(&test).is_empty());
    assert_eq!(test.branches(), ["box", "main", "other"]);
}

#[test]
fn a_dry_run_moves_nothing() {
    let (test, _) = orphan();
    changes_nothing(&test, || {
        test.run(&["rm", "--force", "--dry-run", "box"])
            .stderr("would remove 'box' (its repository could not be reached)\n")
            .ok();
    });
}

#[test]
fn one_that_somebody_sits_in_stays() {
    let (test, path) = orphan();
    let user = Sleeper::start(&path, Stdio::null());
    changes_nothing(&test, || {
        let output = test.run(&["rm", "--force", "box"]).output();
        let said = String::from_utf8(output.stderr).unwrap();
        let pid = user.pid();
        assert!(
            said.starts_with("error: cannot remove 'box': ") && said.contains(&pid.to_string())
        );
        assert_eq!(output.status.code(), Some(1));
    });
    changes_nothing(&test, || {
        test.run_in(&path, &["rm", "--force", "box"]).output();
    });
}
