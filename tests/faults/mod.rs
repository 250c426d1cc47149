//! Every command that changes something, with one failure at every place: of a git, or of a system call of our own.
//!
//! A command that succeeds all the same must have done what it does undisturbed, or warn. One that fails must say
//! so, and then it, or `doctor --fix` and it, must come to the same end as if nothing had happened: nothing is lost,
//! and nothing is left half-made.
//!
//! By default a fixed selection of the failures is played, with `FAULTS=all` every one.

mod calls;
mod git;
mod making;
mod merging;
mod removing;
mod repairing;
mod row;
mod state;
mod sweep;
mod trashed;

use self::row::{ROW, Row};
use self::sweep::sweep;
use crate::fixture::Test;
use crate::fixture::files::write;
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::time::after;
use crate::fixture::work::commit;
use crate::fixture::work::files::FILES;
use crate::fixture::work::history::HISTORY;

/// A sandbox `box` with a commit of its own and every sort of file.
#[track_caller]
fn box_with_work() -> Test {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box", "The", "task"]);
    commit(&test, &path, "file", "committed\n");
    write(&path.join("a"), "staged\n");
    test.git_in(&path, &["add", "a"]);
    write(&path.join("a"), "overwritten\n");
    write(&path.join("b"), "unstaged\n");
    write(&path.join("new/untracked"), "untracked\n");
    write(&path.join("build/ignored"), "ignored\n");
    write(&path.join("keep.log"), "ignored\n");
    std::fs::create_dir_all(path.join("empty/er")).unwrap();
    test
}

/// A sandbox `box` with work of one kind.
#[track_caller]
fn box_with(kind: &str) -> Test {
    let kind = FILES.iter().chain(HISTORY).find(|known| known.name == kind).unwrap();
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box", "The", "task"]);
    (kind.make)(&test, &path);
    test
}

/// The same home, with `box` in the trash.
#[track_caller]
fn in_trash(test: Test) -> Test {
    succeeds(test.run(&["rm", "--force", "box"]));
    test
}

/// The same home, with `box` in the vault.
#[track_caller]
fn in_vault(test: Test) -> Test {
    let test = in_trash(test);
    succeeds(test.run(&["reap"]).env("GIT_SANDBOX_NOW", after(15)));
    test
}
