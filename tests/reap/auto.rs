//! The quiet `reap --all` that `new` starts at most once a day, and what is said about it.
//!
//! Every process that a command starts has a copy of one pipe: that it is closed shows that all of
//! them have ended, so that what did not happen can be told as surely as what did.

use std::fs;
use std::process::Command;

use crate::fixture::diff::same;
use crate::fixture::files::{room, tree};
use crate::fixture::process::finished;
use crate::fixture::reap::summary;
use crate::fixture::run::succeeds;
use crate::fixture::state::state;
use crate::fixture::time::{after, set_time};
use crate::fixture::trash::trashed;
use crate::fixture::{Run, Test};

/// With a sandbox `old` that is stale on the 94th day.
fn with_old() -> Test {
    let test = Test::new();
    test.new_sandbox(&["old"]);
    test
}

/// `git <lead> sandbox ...` on a day, with the daily run as it is by default.
fn command(test: &Test, days: i64, lead: &[&str], words: &[&str]) -> Command {
    let script = "exec 9>&1; exec \"$@\" >/dev/null";
    let mut command = test.command("sh", &test.app());
    command.args(["-c", script, "sh", "git"]).args(lead).arg("sandbox").args(words);
    command.env("GIT_SANDBOX_NOW", after(days)).env_remove("GIT_SANDBOX_AUTO_REAP");
    command
}

/// Runs it and waits for everything it started. What it said.
#[track_caller]
fn with_all_it_starts(command: &mut Command) -> String {
    let output = finished(command);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

fn new(test: &Test, days: i64, name: &str) -> String {
    with_all_it_starts(&mut command(test, days, &[], &["new", name]))
}

fn created(name: &str) -> String {
    format!("created sandbox '{name}': new branch '{name}' from 'main'\n")
}

fn while_away(retired: u32, freed: u64) -> String {
    let done = summary(retired, 0, 0, freed);
    format!(
        "while you were away: {}; 'git sandbox restore --all' lists what can be brought back\n",
        done.trim_end()
    )
}

fn on<'a>(test: &'a Test, days: i64, words: &[&str]) -> Run<'a> {
    test.run(words).env("GIT_SANDBOX_NOW", after(days))
}

#[test]
fn new_starts_one_and_the_next_command_says_once_what_it_did() {
    let test = with_old();
    let (files, freed) = (state(&test, &test.at("old")), room(&test.at("old")));
    assert_eq!(new(&test, 94, "one"), created("one"));
    assert_eq!(test.sandboxes(), ["one"]);
    assert_eq!(trashed(&test).len(), 1);
    on(&test, 94, &["path", "one"]).stdout("$ROOT/one\n").stderr(&while_away(1, freed)).ok();
    on(&test, 94, &["path", "one"]).stdout("$ROOT/one\n").ok();
    on(&test, 94, &["restore", "old"]).stdout("$ROOT/old\n").stderr("restored 'old'\n").ok();
    same(&state(&test, &test.at("old")), &files);
}

#[test]
fn whichever_command_is_next_says_it() {
    let mut silent = Vec::new();
    for words in [
        &["new", "two"][..],
        &["list"],
        &["list", "--json"],
        &["list", "--all"],
        &["show", "one"],
        &["path", "one"],
        &["rm", "one"],
        &["restore"],
        &["restore", "--all"],
        &["reap", "--dry-run"],
        &["doctor"],
    ] {
        let test = with_old();
        new(&test, 94, "one");
        let heard = |run: Run<'_>| {
            let said = String::from_utf8(run.output().stderr).unwrap();
            said.lines().filter(|line| line.starts_with("while you were away: ")).count()
        };
        let counts = [heard(on(&test, 94, words)), heard(on(&test, 94, &["list"]))];
        if counts != [1, 0] {
            silent.push((words, counts));
        }
    }
    assert_eq!(silent, []);
}

#[test]
fn nothing_is_said_when_nothing_was_done() {
    let test = with_old();
    new(&test, 50, "one");
    assert_eq!(test.sandboxes(), ["old", "one"]);
    on(&test, 50, &["path", "one"]).stdout("$ROOT/one\n").ok();
}

#[test]
fn it_runs_at_most_once_a_day() {
    let test = with_old();
    new(&test, 94, "one");
    succeeds(on(&test, 94, &["restore", "old"]));
    set_time(&test.at("old"), 0);
    new(&test, 94, "two");
    assert_eq!(test.sandboxes(), ["old", "one", "two"]);
    new(&test, 95, "three");
    assert_eq!(test.sandboxes(), ["one", "three", "two"]);
}

#[test]
fn it_runs_although_the_clock_was_ahead_once() {
    let test = with_old();
    new(&test, 940, "one");
    succeeds(on(&test, 940, &["restore", "old"]));
    set_time(&test.at("old"), 0);
    new(&test, 94, "two");
    assert_eq!(test.sandboxes(), ["one", "two"]);
}

#[test]
fn resuming_starts_it_too() {
    let test = with_old();
    set_time(&test.new_sandbox(&["one"]), 94);
    assert_eq!(new(&test, 94, "one"), "resumed sandbox 'one'\n");
    assert_eq!(test.sandboxes(), ["one"]);
}

#[test]
fn only_new_starts_it() {
    let test = with_old();
    let before = tree(&test.home, &["sandbox.lock"]);
    for words in [&["list"][..], &["show", "old"], &["path", "old"], &["restore"], &["doctor"]] {
        with_all_it_starts(&mut command(&test, 94, &[], words));
        same(&tree(&test.home, &["sandbox.lock"]), &before);
    }
}

#[test]
fn config_switches_it_off() {
    let test = with_old();
    test.git(&["config", "sandbox.autoReap", "false"]);
    new(&test, 94, "one");
    assert_eq!(test.sandboxes(), ["old", "one"]);
    assert!(trashed(&test).is_empty());
    with_all_it_starts(command(&test, 94, &[], &["new", "two"]).env("GIT_SANDBOX_AUTO_REAP", "1"));
    assert_eq!(test.sandboxes(), ["one", "two"]);
}

#[test]
fn the_environment_switches_it_off() {
    for value in ["0", "false", "no", "off"] {
        let test = with_old();
        test.git(&["config", "sandbox.autoReap", "true"]);
        let mut command = command(&test, 94, &[], &["new", "one"]);
        with_all_it_starts(command.env("GIT_SANDBOX_AUTO_REAP", value));
        assert_eq!(test.sandboxes(), ["old", "one"]);
    }
}

#[test]
fn git_c_switches_it_off_for_once() {
    let test = with_old();
    let mut off = command(&test, 94, &["-c", "sandbox.autoReap=false"], &["new", "one"]);
    with_all_it_starts(&mut off);
    assert_eq!(test.sandboxes(), ["old", "one"]);
    new(&test, 94, "two");
    assert_eq!(test.sandboxes(), ["one", "two"]);
}

#[test]
fn options_given_with_git_c_do_not_reach_it() {
    let test = with_old();
    let look = test.new_sandbox(&["--detach", "look"]);
    set_time(&look, 40);
    for (days, name, option) in
        [(50, "one", "sandbox.branchExpiryDays=0"), (51, "two", "sandbox.headlessExpiryDays=0")]
    {
        with_all_it_starts(&mut command(&test, days, &["-c", option], &["new", name]));
        assert!(test.at("old").exists() && look.exists(), "{option}");
    }
    let mut command = command(&test, 52, &[], &["new", "three"]);
    command.env("GIT_CONFIG_COUNT", "1");
    command.env("GIT_CONFIG_KEY_0", "sandbox.branchExpiryDays").env("GIT_CONFIG_VALUE_0", "0");
    with_all_it_starts(&mut command);
    assert_eq!(test.sandboxes(), ["exploration-look", "old", "one", "three", "two"]);
    assert!(trashed(&test).is_empty());
}

#[test]
fn it_goes_by_the_config_of_each_repository() {
    let test = with_old();
    let zoo = test.init("zoo", &[]);
    succeeds(test.run_in(&zoo, &["new", "old-zoo"]));
    test.git_in(&zoo, &["config", "sandbox.branchExpiryDays", "10"]);
    new(&test, 50, "one");
    assert_eq!(test.sandboxes(), ["old", "one"]);
    assert!(!test.root().with_file_name("zoo").join("old-zoo").exists());
    assert_eq!(trashed(&test).len(), 1);
}

#[test]
fn it_keeps_what_has_work_in_it() {
    let test = with_old();
    fs::write(test.at("old/new"), "mine\n").unwrap();
    set_time(&test.at("old/new"), 0);
    set_time(&test.at("old"), 0);
    let before = state(&test, &test.at("old"));
    new(&test, 94, "one");
    same(&state(&test, &test.at("old")), &before);
    on(&test, 94, &["path", "one"]).stdout("$ROOT/one\n").ok();
}

#[test]
fn many_new_at_once_start_no_more_than_do_harm() {
    let test = with_old();
    let children: Vec<_> = (0..4)
        .map(|number| {
            let name = format!("job-{number}");
            let mut command = command(&test, 94, &[], &["new", &name]);
            std::thread::spawn(move || with_all_it_starts(&mut command))
        })
        .collect();
    for child in children {
        child.join().unwrap();
    }
    assert_eq!(test.sandboxes(), ["job-0", "job-1", "job-2", "job-3"]);
    assert_eq!(trashed(&test).len(), 1);
    succeeds(on(&test, 94, &["restore", "old"]));
}
