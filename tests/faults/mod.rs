//! Each system call and each git of a command fails once. A command that says it is done has done
//! everything; one that fails has done nothing, or what the next command completes.

mod orphans;
mod removal;
mod rename;
mod vault;

use std::path::PathBuf;

use crate::fixture::Test;
use crate::fixture::faults::Outcome;
use crate::fixture::files::write;
use crate::fixture::repository::{Format, repository};
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

/// Asserts that a command has said why it failed.
#[track_caller]
fn has_failed(outcome: &Outcome) {
    assert!(outcome.said.lines().any(|line| line.starts_with("error: ")), "{outcome:?}");
}
