//! When a sandbox was last used, when it expires; and the sandboxes of every repository.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::fixture::files::write;
use crate::fixture::time::set_day;
use crate::fixture::{NOW, Test};

fn used(test: &Test, name: &str) -> String {
    test.json(&["show", name, "--json"])["last_used"].as_str().unwrap().to_owned()
}

fn day(day: u32) -> String {
    format!("2026-01-{day:02}T00:00:00Z")
}

#[test]
fn the_newest_of_folder_reflog_and_changed_files_counts() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    assert_eq!(used(&test, "fix"), NOW);
    set_day(&path, 2);
    assert_eq!(used(&test, "fix"), day(2));
    let mut commit = test.command("git", &path);
    commit.args(["commit", "--quiet", "--allow-empty", "-m", "two"]);
    assert!(commit.env("GIT_COMMITTER_DATE", day(5)).status().unwrap().success());
    assert_eq!(used(&test, "fix"), day(5));
    write(&path.join("a/b/c/deep"), "new\n");
    set_day(&path.join("a/b/c/deep"), 8);
    set_day(&path, 2);
    assert_eq!(used(&test, "fix"), day(8));
    write(&path.join("file"), "edited\n");
    set_day(&path.join("file"), 9);
    assert_eq!(used(&test, "fix"), day(9));
}

#[test]
fn reading_ignored_files_and_gc_do_not_count() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    write(&test.app().join(".git/info/exclude"), "built\n");
    write(&path.join("built"), "built\n");
    set_day(&path.join("built"), 20);
    set_day(&path.join("file"), 21);
    test.git_in(&path, &["status"]);
    test.git_in(&path, &["gc", "--quiet"]);
    set_day(&path, 2);
    assert_eq!(used(&test, "fix"), day(2));
    for words in [&["list"][..], &["show", "fix"], &["path", "fix"]] {
        assert!(test.run(words).output().status.success());
    }
    assert_eq!(used(&test, "fix"), day(2));
}

#[test]
fn the_future_counts_as_now() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    fs::File::open(&path).unwrap().set_modified(far_future()).unwrap();
    assert_eq!(used(&test, "fix"), NOW);
}

fn far_future() -> std::time::SystemTime {
    let time: chrono::DateTime<chrono::Utc> = "2030-01-01T00:00:00Z".parse().unwrap();
    time.into()
}

#[test]
fn explorations_expire_sooner_until_they_have_a_branch() {
    let test = Test::new();
    let path = test.new_sandbox(&["--detach", "look"]);
    set_day(&path, 10);
    let told = || {
        let facts = test.json(&["show", "exploration-look", "--json"]);
        (facts["class"].clone(), facts["expires"].clone())
    };
    assert_eq!(told(), ("transient".into(), "2026-02-09T00:00:00Z".into()));
    test.git_in(&path, &["checkout", "--quiet", "-b", "promoted"]);
    set_day(&path, 10);
    assert_eq!(told(), ("persistent".into(), "2026-04-10T00:00:00Z".into()));
}

#[test]
fn periods_are_the_environments_then_the_configs() {
    let test = Test::new();
    set_day(&test.new_sandbox(&["fix"]), 10);
    set_day(&test.new_sandbox(&["--detach", "look"]), 10);
    test.git(&["config", "sandbox.branchExpiryDays", "7"]);
    test.git(&["config", "sandbox.headlessExpiryDays", "never"]);
    let expires = |name: &str| test.json(&["show", name, "--json"])["expires"].clone();
    assert_eq!(expires("fix"), "2026-01-17T00:00:00Z");
    assert_eq!(expires("exploration-look"), Value::Null);
    let output =
        test.run(&["show", "fix", "--json"]).env("GIT_SANDBOX_BRANCH_EXPIRY_DAYS", "1").output();
    let facts: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(facts["expires"], "2026-01-11T00:00:00Z");
    test.git(&["config", "sandbox.branchExpiryDays", "a week"]);
    test.run(&["list"])
        .stderr(
            "error: bad value 'a week' for 'sandbox.branchExpiryDays': \
             it must be a whole number of days, or 'never'\n\
             hint: git config --show-origin --get-all sandbox.branchExpiryDays\n",
        )
        .refused();
    test.run(&["list"])
        .env("GIT_SANDBOX_BRANCH_EXPIRY_DAYS", "-1")
        .stderr(
            "error: bad value '-1' for 'GIT_SANDBOX_BRANCH_EXPIRY_DAYS': \
             it must be a whole number of days, or 'never'\n",
        )
        .refused();
}

/// Repositories with a sandbox each; that of `lost` is gone.
fn everywhere(projects: &[&str]) -> Test {
    let test = Test::new();
    for project in projects.iter().copied() {
        if project != "app" {
            test.init(project, &[]);
        }
        let dir = test.home.join(project);
        let output = test.run_in(&dir, &["new", &format!("fix-{project}")]).output();
        let path = String::from_utf8(output.stdout).unwrap();
        set_day(Path::new(path.trim_end()), 30);
    }
    if projects.contains(&"lost") {
        fs::remove_dir_all(test.home.join("lost")).unwrap();
    }
    test
}

#[test]
fn all_lists_every_repository_from_anywhere() {
    let test = everywhere(&["app", "zoo"]);
    let table = "\
\u{20} NAME     PROJECT  WORK  BASE  AGE
  fix-app  app      -     =     1d
  fix-zoo  zoo      -     =     1d
";
    test.run_in(&test.home, &["list", "--all"]).stdout(table).ok();
    test.run(&["list", "--all"]).stdout(table).ok();
    test.run(&["list"]).stdout("  NAME     WORK  BASE  AGE\n  fix-app  -     =     1d\n").ok();
}

#[test]
fn an_orphan_is_kept_for_its_period_after_its_newest_file() {
    let test = everywhere(&["lost"]);
    let path = test.root().with_file_name("lost").join("fix-lost");
    write(&path.join("sub/deep"), "mine\n");
    for (file, day) in [("file", 3), (".git", 4), ("sub/deep", 20), ("sub", 5), ("", 6)] {
        set_day(&path.join(file), day);
    }
    test.run_in(&test.home, &["list", "--all"])
        .stdout("  NAME      PROJECT  WORK    AGE\n! fix-lost  lost     orphan  11d\n")
        .ok();
    let output = test.run_in(&test.home, &["list", "--all", "--json"]).output();
    let facts: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(facts[0]["expires"], "2026-04-20T00:00:00Z");
}

#[test]
fn all_serves_scripts_too() {
    let test = everywhere(&["app", "lost", "zoo"]);
    let roots = test.root().parent().unwrap().display().to_string();
    test.run_in(&test.home, &["list", "--all", "--names"])
        .stdout("fix-app\nfix-zoo\nfix-lost\n")
        .ok();
    test.run_in(&test.home, &["list", "--all", "-z"])
        .stdout(&format!("{roots}/app/fix-app\0{roots}/zoo/fix-zoo\0{roots}/lost/fix-lost\0"))
        .ok();
    let output = test.run_in(&test.home, &["list", "--all", "--json"]).output();
    let facts: Value = serde_json::from_slice(&output.stdout).unwrap();
    let lost = &facts[2];
    assert_eq!((&lost["state"], &lost["class"]), (&"orphan".into(), &"orphan".into()));
    assert_eq!(lost["problem"], "its repository cannot be reached");
    assert_eq!(lost["path"], format!("{roots}/lost/fix-lost"));
    assert_eq!(lost["head"], Value::Null);
}

#[test]
fn all_without_anything_says_so() {
    let test = Test::bare();
    test.run_in(&test.home, &["list", "--all"])
        .stderr("no sandboxes; 'git sandbox new <name>' makes one\n")
        .ok();
    test.run_in(&test.home, &["list", "--all", "--json"]).stdout("[]\n").ok();
}

#[test]
fn all_changes_nothing() {
    let test = everywhere(&["app", "lost", "zoo"]);
    let before = crate::fixture::files::tree(&test.home, &[]);
    assert!(test.run_in(&test.home, &["list", "--all"]).output().status.success());
    assert_eq!(crate::fixture::files::tree(&test.home, &[]), before);
}
