//! Sandboxes whose repository is gone, moved, unreadable or knows them no more.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::in_use::Sleeper;
use crate::removal::{same, trashed};
use crate::repo::{Run, Test, chmod, tree, write};
use crate::stale::{
    after, id_of, only_one, room, set_time, set_times, succeeds, summary, wait_for_trash,
    without_power,
};

/// A home with a repository `zoo`, gone since, whose sandbox `fix` has work in it.
struct Lost {
    test: Test,
    path: PathBuf,
}

impl Lost {
    fn made(words: &[&str]) -> Lost {
        let test = Test::new();
        let zoo = test.init("zoo", &[]);
        let output = test.run_in(&zoo, &[&["new"], words].concat()).output();
        let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end());
        write(&path.join("sub/deep"), "mine\n");
        set_times(&path, 0);
        Lost { test, path }
    }

    fn new() -> Lost {
        let lost = Lost::made(&["fix"]);
        fs::remove_dir_all(lost.test.home.join("zoo")).unwrap();
        lost
    }

    fn reap(&self, days: i64, words: &[&str]) -> Run<'_> {
        let words = [&["reap", "--all"], words].concat();
        self.test.run_in(&self.test.home, &words).env("GIT_SANDBOX_NOW", after(days))
    }

    /// Nothing happens on that day.
    fn stays(&self, days: i64) {
        let before = tree(&self.test.home, &["sandbox.lock"]);
        self.reap(days, &[]).stderr(&summary(0, 0, 0, 0)).ok();
        same(&tree(&self.test.home, &["sandbox.lock"]), &before);
    }

    /// It goes to the trash, whole; in a dry run it does not.
    fn goes(&self, days: i64, unused: u32) {
        let before = tree(&self.test.home, &["sandbox.lock"]);
        let files = tree(&self.path, &[]);
        let name = self.path.file_name().unwrap().to_string_lossy();
        let line = format!(
            "{name}: retired: unused for {unused} days, and its repository cannot be reached\n"
        );
        let last = summary(1, 0, 0, room(&self.path));
        self.reap(days, &["--dry-run"]).stdout(&line).stderr(&last).ok();
        same(&tree(&self.test.home, &["sandbox.lock"]), &before);
        self.reap(days, &[]).stdout(&line).stderr(&last).ok();
        assert!(!self.path.exists());
        same(&tree(&only_one(&self.test).join("tree"), &[]), &files);
    }
}

#[test]
fn an_orphan_is_kept_for_90_days_after_its_newest_file() {
    let lost = Lost::new();
    lost.stays(89);
    set_time(&lost.path.join("sub/deep"), 20);
    set_time(&lost.path.join("sub"), 0);
    lost.stays(109);
    lost.goes(111, 91);
}

#[test]
fn an_exploration_without_its_repository_is_kept_as_long() {
    let lost = Lost::made(&["--detach", "look"]);
    fs::remove_dir_all(lost.test.home.join("zoo")).unwrap();
    lost.stays(31);
    lost.stays(89);
    lost.goes(91, 91);
}

#[test]
fn one_whose_repository_was_moved_is_an_orphan() {
    let lost = Lost::made(&["fix"]);
    fs::rename(lost.test.home.join("zoo"), lost.test.home.join("moved")).unwrap();
    lost.stays(89);
    lost.goes(91, 91);
}

#[test]
fn one_whose_repository_comes_back_is_none() {
    let lost = Lost::made(&["fix"]);
    let (zoo, away) = (lost.test.home.join("zoo"), lost.test.home.join("unmounted"));
    fs::rename(&zoo, &away).unwrap();
    lost.stays(89);
    fs::rename(&away, &zoo).unwrap();
    let before = tree(&lost.path, &[]);
    lost.reap(94, &[])
        .stdout("fix: kept: 1 uncommitted change\n")
        .stderr(&summary(0, 1, 0, 0))
        .ok();
    same(&tree(&lost.path, &[]), &before);
}

#[test]
fn one_whose_entry_was_pruned_is_none_and_stays() {
    let lost = Lost::made(&["fix"]);
    fs::remove_dir_all(lost.test.home.join("zoo/.git/worktrees")).unwrap();
    lost.stays(89);
    lost.stays(91);
    lost.stays(1000);
}

#[test]
fn one_whose_repository_is_unreadable_is_kept_as_long() {
    let lost = Lost::made(&["fix"]);
    let test = &lost.test;
    chmod(&test.home.join("zoo"), 0);
    let run = |days: i64| {
        let run = without_power(test, &test.home, &["reap", "--all"]);
        run.env("GIT_SANDBOX_NOW", after(days))
    };
    let files = tree(&lost.path, &[]);
    run(89).stderr(&summary(0, 0, 0, 0)).ok();
    same(&tree(&lost.path, &[]), &files);
    let freed = room(&lost.path);
    run(91)
        .stdout("fix: retired: unused for 91 days, and its repository cannot be reached\n")
        .stderr(&summary(1, 0, 0, freed))
        .ok();
    same(&tree(&only_one(test).join("tree"), &[]), &files);
    chmod(&test.home.join("zoo"), 0o755);
    test.git_in(&test.home.join("zoo"), &["fsck", "--no-progress"]);
}

#[test]
fn orphans_have_a_period_of_their_own() {
    let lost = Lost::new();
    let config = |key: &str, value: &str| {
        lost.test.git_in(&lost.test.home, &["config", "--global", key, value]);
    };
    let would = |variable: Option<&str>| {
        let mut run = lost.reap(50, &["--dry-run"]);
        if let Some(value) = variable {
            run = run.env("GIT_SANDBOX_ORPHAN_EXPIRY_DAYS", value);
        }
        !run.output().stdout.is_empty()
    };
    assert!(!would(None));
    assert!(would(Some("50")));
    config("sandbox.branchExpiryDays", "50");
    assert!(would(None));
    config("sandbox.orphanExpiryDays", "51");
    assert!(!would(None));
    assert!(would(Some("49")));
    config("sandbox.orphanExpiryDays", "never");
    assert!(!would(None));
    lost.stays(10_000);
}

#[test]
fn future_times_and_a_clock_set_back_keep_an_orphan() {
    let lost = Lost::new();
    lost.stays(-1000);
    set_time(&lost.path.join("file"), 5000);
    lost.stays(1000);
}

#[test]
fn only_all_touches_orphans() {
    let lost = Lost::new();
    let before = tree(&lost.path, &[]);
    succeeds(lost.test.run(&["reap", "--force"]).env("GIT_SANDBOX_NOW", after(500)));
    same(&tree(&lost.path, &[]), &before);
}

#[test]
fn an_orphan_that_somebody_sits_in_is_never_taken() {
    let lost = Lost::new();
    let user = Sleeper::start(&lost.path.join("sub"), Stdio::null());
    let before = tree(&lost.path, &[]);
    for words in [&[][..], &["--force"], &["--dry-run"]] {
        lost.reap(94, words)
            .stdout(&format!("fix: skipped: in use by {} sleep\n", user.pid()))
            .stderr(&summary(0, 1, 0, 0))
            .ok();
        same(&tree(&lost.path, &[]), &before);
    }
}

#[test]
fn an_orphan_comes_back_as_it_was() {
    let lost = Lost::new();
    let test = &lost.test;
    let before = tree(&lost.path, &[]);
    lost.goes(94, 94);
    let listed = test.run_in(&test.home, &["restore", "--all"]).output();
    assert!(String::from_utf8(listed.stdout).unwrap().contains(&id_of(&only_one(test))));
    test.run_in(&test.home, &["restore", "--all", "fix"])
        .env("GIT_SANDBOX_NOW", after(95))
        .stdout(&format!("{}\n", lost.path.display()))
        .stderr("restored 'fix'\n")
        .ok();
    same(&tree(&lost.path, &[]), &before);
    assert!(trashed(test).is_empty());
}

#[test]
fn an_orphan_that_was_brought_back_is_kept_for_its_period_again() {
    let lost = Lost::new();
    lost.goes(94, 94);
    let home = &lost.test.home;
    let restore = lost.test.run_in(home, &["restore", "--all", "fix"]);
    succeeds(restore.env("GIT_SANDBOX_NOW", after(95)));
    lost.stays(96);
    lost.stays(184);
}

#[test]
fn an_orphan_is_purged_with_the_trash() {
    let lost = Lost::new();
    let test = &lost.test;
    lost.goes(94, 94);
    let before = tree(&test.home, &["sandbox.lock"]);
    lost.reap(107, &[]).stderr(&summary(0, 0, 0, 0)).ok();
    let (line, last) = (
        "fix-ID: purged: in the trash for 15 days\n",
        summary(0, 0, 1, room(&only_one(test).join("tree"))),
    );
    lost.reap(109, &["--dry-run"]).stdout(line).stderr(&last).ok();
    same(&tree(&test.home, &["sandbox.lock"]), &before);
    lost.reap(109, &[]).stdout(line).stderr(&last).ok();
    wait_for_trash(test, 0);
    assert!(!lost.path.exists());
    assert!(test.app().join("file").exists());
}

#[test]
fn purge_takes_an_orphan_only_by_name() {
    let lost = Lost::new();
    lost.goes(94, 94);
    succeeds(lost.reap(95, &["--purge"]));
    assert_eq!(trashed(&lost.test).len(), 1);
    succeeds(lost.reap(95, &["--purge", "fix"]));
    wait_for_trash(&lost.test, 0);
}

#[test]
fn a_dry_run_leaves_an_interrupted_move_as_it_is() {
    let lost = Lost::new();
    lost.goes(94, 94);
    // As a kill between the rename and its journal leaves it.
    let journal = only_one(&lost.test).join("journal.json");
    let text = fs::read_to_string(&journal).unwrap();
    let text = text.replace("\"trashed\"", "\"removing\"");
    assert!(text.contains("removing"));
    fs::write(&journal, text).unwrap();
    let before = tree(&lost.test.home, &["sandbox.lock"]);
    succeeds(lost.reap(95, &["--dry-run"]));
    let listed = lost.test.run_in(&lost.test.home, &["restore", "--all"]);
    succeeds(listed.env("GIT_SANDBOX_NOW", after(95)));
    same(&tree(&lost.test.home, &["sandbox.lock"]), &before);
    // And the next command that may, finishes it.
    succeeds(lost.reap(95, &[]));
    let home: &Path = &lost.test.home;
    succeeds(lost.test.run_in(home, &["restore", "--all", "fix"]));
    assert_eq!(fs::read_to_string(lost.path.join("sub/deep")).unwrap(), "mine\n");
}
