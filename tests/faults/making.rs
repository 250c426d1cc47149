//! `new` and `rename`.

use super::{ROW, Row, box_with_work, sweep};
use crate::fixture::Test;
use crate::fixture::donor;
use crate::fixture::files::{chmod, write};
use crate::fixture::repository::{Format, repository};
use crate::fixture::spares::Spares;

type Excused = &'static [(&'static str, &'static str)];

const BRANCH: Excused =
    &[("branch --no-track", "whether it is ours or was made beside us cannot be told: it stays")];

const CHANGES: Excused = &[
    BRANCH[0],
    (
        "worktrees/app/fix/",
        "what was copied stays, and that it is not all is said at the next call",
    ),
    ("app/tool", "as above"),
    ("app/new", "as above"),
    ("update-index --add --replace", "as above"),
];

#[test]
fn new_makes_a_branch() {
    let words = &["new", "fix", "The", "task"];
    sweep(&Row { name: "new, a new branch", words, excused: BRANCH, ..ROW });
}

#[test]
fn new_uses_a_branch() {
    let setup = || {
        let test = repository(Format::Files).unwrap();
        test.git(&["branch", "old"]);
        test
    };
    sweep(&Row { name: "new, an old branch", setup, words: &["new", "old"], ..ROW });
}

#[test]
fn new_is_detached() {
    sweep(&Row { name: "new, detached", words: &["new", "--detach", "x"], ..ROW });
}

#[test]
fn new_takes_a_spare() {
    let setup = || Spares::new(1).test;
    sweep(&Row { name: "new, a spare", setup, words: &["new", "fix"], excused: BRANCH, ..ROW });
}

#[test]
fn new_copies_from_a_donor() {
    let setup = || donor::repository(&[]);
    sweep(&Row { name: "new, a donor", setup, words: &["new", "fix"], excused: BRANCH, ..ROW });
}

#[test]
fn new_copies_what_is_included() {
    let setup = || {
        let test = repository(Format::Files).unwrap();
        let app = test.app();
        write(&app.join(".git/info/exclude"), "/.worktreeinclude\n");
        write(&app.join(".worktreeinclude"), "/build/\n*.log\n");
        write(&app.join("build/deep/out"), "built\n");
        write(&app.join("a.log"), "logged\n");
        chmod(&app.join("a.log"), 0o600);
        std::os::unix::fs::symlink("out", app.join("build/deep/link")).unwrap();
        test
    };
    sweep(&Row {
        name: "new, included files",
        setup,
        words: &["new", "fix"],
        excused: BRANCH,
        ..ROW
    });
}

#[test]
fn new_carries_changes() {
    let setup = || {
        let test = repository(Format::Files).unwrap();
        let app = test.app();
        write(&app.join("a"), "staged\n");
        test.git(&["add", "a"]);
        write(&app.join("a"), "edited\n");
        write(&app.join("new/untracked"), "untracked\n");
        std::fs::remove_file(app.join("b")).unwrap();
        chmod(&app.join("tool"), 0o644);
        test
    };
    let words = &["new", "--with-changes", "fix"];
    sweep(&Row { name: "new, changes", setup, words, excused: CHANGES, ..ROW });
}

#[test]
fn rename_renames() {
    let setup: fn() -> Test = box_with_work;
    sweep(&Row { name: "rename", setup, words: &["rename", "box", "fresh"], ..ROW });
}
