//! `rm`, and `reap` of sandboxes.

use super::{ROW, Row, box_with, box_with_work, sweep};

const BACK: &[&str] = &["restore", "box"];
const FORCE: &[&str] = &["rm", "--force", "box"];

const LEFT: &str = "one whose pointers cannot be read is damaged, and left to doctor";
const DAMAGED: &[(&str, &str)] = &[
    ("/gitdir\", O_RDONLY", LEFT),
    ("/gitdir>", LEFT),
    ("app/box/.git", LEFT),
    ("app/box\", AT_STATX", LEFT),
];

#[test]
fn rm_removes_a_clean_sandbox() {
    let setup = || box_with("nothing");
    sweep(&Row { name: "rm, clean", setup, words: &["rm", "box"], proof: BACK, ..ROW });
}

#[test]
fn rm_removes_work() {
    sweep(&Row { name: "rm, work", setup: box_with_work, words: FORCE, proof: BACK, ..ROW });
}

#[test]
fn rm_removes_a_rebase_in_progress() {
    let setup = || box_with("rebase");
    sweep(&Row { name: "rm, rebase", setup, words: FORCE, proof: BACK, ..ROW });
}

#[test]
fn rm_removes_commits_that_only_it_has() {
    let setup = || box_with("private_tag");
    sweep(&Row { name: "rm, private refs", setup, words: FORCE, proof: BACK, ..ROW });
}

#[test]
fn rm_removes_a_submodule_with_work() {
    let setup = || box_with("submodule_commit");
    sweep(&Row { name: "rm, submodule", setup, words: FORCE, proof: BACK, ..ROW });
}

#[test]
fn reap_removes_what_is_stale() {
    // One that was on its way counts as used then, and is not stale any more.
    let setup = || box_with("nothing");
    let row = Row { name: "reap", setup, words: &["reap"], day: 100, ..ROW };
    sweep(&Row { proof: BACK, hinted: FORCE, excused: DAMAGED, ..row });
}
