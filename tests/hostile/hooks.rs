//! Hooks that config names, as git 2.54 and later has them: no call that only looks runs one, wherever
//! it is configured and whatever it is called.

use std::path::Path;

use crate::fixture::Test;
use crate::fixture::files::write;
use crate::fixture::traps::{nothing_ran, trap};
use crate::hostile::pointers::springs_no_trap;

const EVENTS: [&str; 3] = ["post-index-change", "post-checkout", "reference-transaction"];
/// `-c` could not switch off the second.
const NAMES: [&str; 2] = ["trap", "a=b.c"];

/// Configures traps as hooks of every event that git has for a look, by these words of `git config`.
fn configure(test: &Test, work: &Path, words: &[&str]) {
    for name in NAMES {
        let set = |key: &str, value: &str| {
            let key = format!("hook.{name}.{key}");
            test.git_in(work, &[&["config"], words, &["--add", &key, value]].concat());
        };
        for event in EVENTS {
            set("event", event);
        }
        set("command", &trap(test, "hook"));
    }
}

/// Whether this git has configured hooks.
fn has_configured_hooks(test: &Test) -> bool {
    let version = test.git(&["version"]);
    let numbers = version.strip_prefix("git version ").unwrap();
    let mut numbers = numbers.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap(), numbers.next().unwrap()) >= (2, 54)
}

/// Asserts that plain git runs the hook of a worktree, where this git has such hooks.
#[track_caller]
fn plain_git_springs_it(test: &Test, work: &Path) {
    write(&work.join("file"), "one\n");
    drop(test.command("git", work).args(["status", "--short"]).output().unwrap());
    assert_eq!(test.home.join("ran-hook").exists(), has_configured_hooks(test));
}

/// A sandbox whose index git wants to refresh.
fn scene() -> (Test, std::path::PathBuf) {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("file"), "one\n");
    nothing_ran(&test, "before");
    (test, path)
}

#[test]
fn hooks_in_the_repositorys_config_do_not_run_for_a_look() {
    let (test, path) = scene();
    configure(&test, &test.app(), &["--local"]);
    springs_no_trap(&test);
    plain_git_springs_it(&test, &path);
}

#[test]
fn hooks_in_the_users_config_do_not_run_for_a_look() {
    let (test, path) = scene();
    configure(&test, &test.app(), &["--global"]);
    springs_no_trap(&test);
    plain_git_springs_it(&test, &path);
}

#[test]
fn hooks_in_the_config_of_the_sandbox_do_not_run_for_a_look() {
    let (test, path) = scene();
    test.git(&["config", "extensions.worktreeConfig", "true"]);
    configure(&test, &path, &["--worktree"]);
    springs_no_trap(&test);
    plain_git_springs_it(&test, &path);
}

#[test]
fn hooks_that_the_config_of_the_sandbox_includes_do_not_run_for_a_look() {
    let (test, path) = scene();
    test.git(&["config", "extensions.worktreeConfig", "true"]);
    let file = test.home.join("more");
    configure(&test, &path, &["--file", file.to_str().unwrap()]);
    test.git_in(&path, &["config", "--worktree", "include.path", file.to_str().unwrap()]);
    springs_no_trap(&test);
    plain_git_springs_it(&test, &path);
}

#[test]
fn hooks_in_the_config_of_a_nested_repository_do_not_run_for_a_look() {
    let (test, path) = scene();
    let nested =
        test.init(path.join("nested").strip_prefix(&test.home).unwrap().to_str().unwrap(), &[]);
    let origin = test.home.join("origin");
    test.git_in(&nested, &["clone", "--quiet", "--bare", ".", origin.to_str().unwrap()]);
    test.git_in(&nested, &["remote", "add", "origin", origin.to_str().unwrap()]);
    test.git_in(&nested, &["fetch", "--quiet", "origin"]);
    configure(&test, &nested, &["--local"]);
    write(&nested.join("file"), "one\n");
    springs_no_trap(&test);
    plain_git_springs_it(&test, &nested);
}
