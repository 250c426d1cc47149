//! What counts as use of a sandbox, by what `reap` decides before and after; and `--merged`.

use std::path::{Path, PathBuf};

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{room, tree, write};
use crate::fixture::reap::{nothing, reap, summary};
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::state;
use crate::fixture::time::{after, set_time, set_times};
use crate::fixture::work::commit;

fn with_box(format: Format) -> Option<(Test, PathBuf)> {
    let test = repository(format)?;
    let path = test.new_sandbox(&["box"]);
    Some((test, path))
}

/// What would be done on a day: the lines.
#[track_caller]
fn would(test: &Test, days: i64) -> String {
    let output = reap(test, days, &["--dry-run"]).output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Plain git in a folder, on a day.
#[track_caller]
fn git_on(test: &Test, days: i64, path: &Path, words: &[&str]) {
    let mut git = test.command("git", path);
    git.args(words).env("GIT_COMMITTER_DATE", after(days)).env("GIT_AUTHOR_DATE", after(days));
    assert!(git.status().unwrap().success());
}

/// Something done on the 50th day, after which only the folder's time is set back.
#[track_caller]
fn keeps_young(format: Format, act: impl Fn(&Test, &Path)) {
    let Some((test, path)) = with_box(format) else { return };
    assert_eq!(would(&test, 94), "box: would retire: unused for 94 days\n");
    act(&test, &path);
    set_time(&path, 0);
    assert_eq!(would(&test, 139), "");
    let line = would(&test, 141);
    assert!(
        line == "box: would retire: unused for 91 days\n" || line.contains(": kept: "),
        "{line}"
    );
    succeeds(reap(&test, 139, &[]));
    assert!(path.join("a").exists());
}

/// Something done on the 50th day that is no use of it.
#[track_caller]
fn keeps_old(act: impl Fn(&Test, &Path)) {
    let (test, path) = with_box(Format::Files).unwrap();
    let before = would(&test, 94);
    assert_eq!(before, "box: would retire: unused for 94 days\n");
    act(&test, &path);
    assert_eq!(would(&test, 94), before);
    succeeds(reap(&test, 94, &[]));
    assert!(!path.exists());
}

#[test]
fn an_edit_deep_in_the_tree_keeps_it_young() {
    keeps_young(Format::Files, |_, path| {
        write(&path.join("dir/c"), "edited\n");
        set_time(&path.join("dir/c"), 50);
        set_time(&path.join("dir"), 0);
    });
}

#[test]
fn a_new_file_deep_in_the_tree_keeps_it_young() {
    keeps_young(Format::Files, |_, path| {
        write(&path.join("dir/x/y/z/new"), "new\n");
        set_time(&path.join("dir/x/y/z/new"), 50);
        for folder in ["dir/x/y/z", "dir/x/y", "dir/x", "dir"] {
            set_time(&path.join(folder), 0);
        }
    });
}

#[test]
fn a_staged_edit_keeps_it_young() {
    keeps_young(Format::Files, |test, path| {
        write(&path.join("dir/c"), "edited\n");
        test.git_in(path, &["add", "dir/c"]);
        set_time(&path.join("dir/c"), 50);
    });
}

#[test]
fn a_commit_keeps_it_young() {
    for format in [Format::Files, Format::Reftable, Format::Sha256] {
        keeps_young(format, |test, path| {
            git_on(test, 50, path, &["commit", "--quiet", "--allow-empty", "-m", "x"]);
        });
    }
}

#[test]
fn a_checkout_keeps_it_young() {
    for format in [Format::Files, Format::Reftable] {
        keeps_young(format, |test, path| {
            git_on(test, 50, path, &["checkout", "--quiet", "-b", "another"]);
        });
    }
}

/// The folder's own time is what says so.
#[track_caller]
fn is_used_by(words: &[&str], prepare: impl Fn(&Test)) {
    let (test, path) = with_box(Format::Files).unwrap();
    prepare(&test);
    succeeds(test.run(words).env("GIT_SANDBOX_NOW", after(50)));
    assert_eq!(would(&test, 139), "");
    assert_eq!(would(&test, 141), "box: would retire: unused for 91 days\n");
    assert!(path.exists());
}

#[test]
fn new_keeps_it_young() {
    is_used_by(&["new", "box"], |_| ());
}

#[test]
fn restore_keeps_it_young() {
    is_used_by(&["restore", "box"], |test| succeeds(test.run(&["rm", "box"])));
}

#[test]
fn status_does_not_keep_it_young() {
    keeps_old(|test, path| {
        // Another time, the same content: git writes its index.
        set_time(&path.join("b"), 50);
        git_on(test, 50, path, &["status"]);
        git_on(test, 50, path, &["diff"]);
        git_on(test, 50, path, &["log", "-1", "--oneline"]);
    });
}

#[test]
fn gc_does_not_keep_it_young() {
    keeps_old(|test, path| {
        git_on(test, 50, path, &["gc", "--quiet"]);
        git_on(test, 50, path, &["pack-refs", "--all"]);
        git_on(test, 50, path, &["reflog", "expire", "--all"]);
        git_on(test, 50, path, &["repack", "-q", "-a", "-d"]);
        git_on(test, 50, path, &["worktree", "repair"]);
    });
}

#[test]
fn our_own_looks_do_not_keep_it_young() {
    keeps_old(|test, _| {
        for words in [
            &["list"][..],
            &["list", "--all"],
            &["list", "--json"],
            &["show", "box"],
            &["path", "box"],
            &["rm", "--dry-run", "box"],
            &["reap"],
            &["reap", "--all"],
            &["restore"],
            &["doctor"],
            &["doctor", "--fix"],
            &["new", "other"],
        ] {
            succeeds(test.run(words).env("GIT_SANDBOX_NOW", after(50)));
        }
        succeeds(test.run(&["rm", "other"]).env("GIT_SANDBOX_NOW", after(94)));
    });
}

#[test]
fn an_ignored_file_does_not_keep_it_young() {
    keeps_old(|_, path| {
        write(&path.join("dir/x.log"), "built\n");
        set_time(&path.join("dir/x.log"), 50);
        set_time(&path.join("dir"), 50);
    });
}

/// A sandbox with a commit of its own, retired by `--merged` on the next day or not.
fn with_commit() -> (Test, PathBuf) {
    let (test, path) = with_box(Format::Files).unwrap();
    commit(&test, &path, "a", "mine\n");
    commit(&test, &path, "b", "mine\n");
    set_times(&path, 0);
    (test, path)
}

#[track_caller]
fn merged(test: &Test, lines: &str, counts: [u32; 2], freed: u64) {
    let whole = tree(&test.home, &["sandbox.lock"]);
    let there = u32::try_from(test.sandboxes().len()).unwrap();
    let last = match counts {
        [0, 0] => nothing(there),
        [retired, kept] => summary(retired, kept, 0, freed),
    };
    let would = lines.replace(": retired: ", ": would retire: ");
    reap(test, 1, &["--merged", "--dry-run"]).stdout(&would).stderr(&last).ok();
    same(&tree(&test.home, &["sandbox.lock"]), &whole);
    reap(test, 1, &[]).stderr(&nothing(there)).ok();
    reap(test, 1, &["--merged"]).stdout(lines).stderr(&last).ok();
}

#[test]
fn merged_takes_one_whose_commits_are_in_its_base() {
    let (test, path) = with_commit();
    test.git(&["merge", "--quiet", "--no-ff", "-m", "merge", "box"]);
    let tip = test.git(&["rev-parse", "box"]);
    let freed = room(&path);
    merged(&test, "box: retired: merged into 'main'\n", [1, 0], freed);
    assert!(!path.exists());
    assert_eq!(test.git(&["rev-parse", "box"]), tip);
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(test.git_in(&path, &["symbolic-ref", "HEAD"]), "refs/heads/box");
}

#[test]
fn merged_takes_one_that_was_squashed() {
    let (test, path) = with_commit();
    test.git(&["merge", "--quiet", "--squash", "box"]);
    test.git(&["commit", "--quiet", "-m", "squashed"]);
    commit(&test, &test.app(), "dir/c", "later\n");
    let freed = room(&path);
    merged(&test, "box: retired: 'main' has all its changes\n", [1, 0], freed);
    assert!(!path.exists());
    assert_eq!(test.branches(), ["box", "main"]);
    // Its own commits are still there.
    assert_eq!(test.git(&["rev-list", "--count", "main..box"]), "2");
}

#[test]
fn merged_takes_one_that_was_rebased() {
    let (test, path) = with_commit();
    commit(&test, &test.app(), "dir/c", "before\n");
    test.git(&["cherry-pick", "box~1", "box"]);
    let freed = room(&path);
    merged(&test, "box: retired: 'main' has all its changes\n", [1, 0], freed);
    assert!(!path.exists());
}

#[test]
fn merged_leaves_one_that_is_not_merged() {
    let (test, path) = with_commit();
    test.git(&["cherry-pick", "box~1"]);
    let before = state(&test, &path);
    merged(&test, "", [0, 0], 0);
    same(&state(&test, &path), &before);
}

#[test]
fn merged_leaves_a_fresh_one() {
    let (test, path) = with_box(Format::Files).unwrap();
    test.new_sandbox(&["--detach", "look"]);
    commit(&test, &test.app(), "a", "later\n");
    let before = state(&test, &path);
    merged(&test, "", [0, 0], 0);
    same(&state(&test, &path), &before);
    assert_eq!(test.sandboxes(), ["box", "exploration-look"]);
}

#[test]
fn merged_leaves_one_that_only_followed_its_base() {
    let (test, path) = with_box(Format::Files).unwrap();
    commit(&test, &test.app(), "a", "later\n");
    test.git_in(&path, &["merge", "--quiet", "--ff-only", "main"]);
    merged(&test, "", [0, 0], 0);
    assert!(path.exists());
}

#[test]
fn merged_keeps_one_with_work_in_it() {
    let (test, path) = with_commit();
    test.git(&["merge", "--quiet", "--no-ff", "-m", "merge", "box"]);
    write(&path.join("new"), "mine\n");
    let before = state(&test, &path);
    merged(&test, "box: kept: 1 uncommitted change\n", [0, 1], 0);
    same(&state(&test, &path), &before);
}
