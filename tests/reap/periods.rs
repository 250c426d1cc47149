//! `git sandbox reap`: what is stale by which period, and what it says.

use serde_json::json;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{room, tree, write};
use crate::fixture::reap::{nothing, reap, summary};
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::{changes_nothing, collect_garbage, kept, main_checkout, state};
use crate::fixture::time::{after, set_time, set_times};
use crate::fixture::trash::{only_one, trashed};
use crate::fixture::work::commit;

/// With a sandbox called `fix` and an exploration called `exploration-look`, both just made.
fn two() -> Test {
    let test = repository(Format::Files).unwrap();
    test.new_sandbox(&["fix"]);
    test.new_sandbox(&["--detach", "look"]);
    test
}

#[test]
fn explorations_are_kept_for_30_days_and_branches_for_90() {
    let test = two();
    let (fix, look) = (test.at("fix"), test.at("exploration-look"));
    let neighbour = state(&test, &fix);
    changes_nothing(&test, || reap(&test, 29, &[]).stderr(&nothing(2)).ok());
    let freed = room(&look);
    reap(&test, 31, &[])
        .stdout("exploration-look: retired: unused for 31 days\n")
        .stderr(&summary(1, 0, 0, freed))
        .ok();
    assert!(!look.exists());
    same(&state(&test, &fix), &neighbour);
    changes_nothing(&test, || reap(&test, 32, &[]).stderr(&nothing(1)).ok());
    let freed = room(&fix);
    // Otherwise the trash is emptied too.
    test.git(&["config", "sandbox.trashExpiryDays", "never"]);
    changes_nothing(&test, || reap(&test, 89, &[]).stderr(&nothing(1)).ok());
    reap(&test, 91, &[])
        .stdout("fix: retired: unused for 91 days\n")
        .stderr(&summary(1, 0, 0, freed))
        .ok();
    assert_eq!(test.sandboxes(), [""; 0]);
    assert_eq!(trashed(&test).len(), 2);
    assert_eq!(test.branches(), ["fix", "main"]);
}

#[test]
fn periods_end_to_the_second() {
    let test = two();
    let at = |time: &str| test.run(&["reap", "--dry-run"]).env("GIT_SANDBOX_NOW", time);
    at("2026-03-02T11:59:59Z").stderr(&nothing(2)).ok();
    at("2026-03-02T12:00:00Z")
        .stdout("exploration-look: would retire: unused for 30 days\n")
        .stderr(&summary(1, 0, 0, room(&test.at("exploration-look"))))
        .ok();
}

#[test]
fn a_promoted_exploration_is_kept_as_a_branch_is() {
    let test = two();
    let look = test.at("exploration-look");
    test.git_in(&look, &["checkout", "--quiet", "-b", "promoted"]);
    set_time(&look, 0);
    reap(&test, 89, &[]).stderr(&nothing(2)).ok();
    let freed = room(&look) + room(&test.at("fix"));
    reap(&test, 91, &[])
        .stdout("exploration-look: retired: unused for 91 days\nfix: retired: unused for 91 days\n")
        .stderr(&summary(2, 0, 0, freed))
        .ok();
    assert_eq!(test.branches(), ["fix", "main", "promoted"]);
}

#[test]
fn a_branch_called_exploration_is_kept_as_a_branch_is() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["exploration-x"]);
    assert_eq!(path, test.at("branch-exploration-x"));
    reap(&test, 89, &[]).stderr(&nothing(1)).ok();
    // Detached for a while: the name still says what it was made for.
    test.git_in(&path, &["checkout", "--quiet", "--detach"]);
    set_time(&path, 0);
    reap(&test, 89, &[]).stderr(&nothing(1)).ok();
    assert!(path.exists());
}

#[test]
fn config_environment_and_option_set_the_periods() {
    let test = two();
    let (fix, look) = (room(&test.at("fix")), room(&test.at("exploration-look")));
    let dry = |words: &[&str]| reap(&test, 10, &[&["--dry-run"], words].concat());
    let retired = |name: &str| format!("{name}: would retire: unused for 10 days\n");
    test.git(&["config", "sandbox.branchExpiryDays", "10"]);
    dry(&[]).stdout(&retired("fix")).stderr(&summary(1, 0, 0, fix)).ok();
    dry(&[]).env("GIT_SANDBOX_BRANCH_EXPIRY_DAYS", "11").stderr(&nothing(2)).ok();
    dry(&[]).env("GIT_SANDBOX_BRANCH_EXPIRY_DAYS", "never").stderr(&nothing(2)).ok();
    dry(&[])
        .env("GIT_SANDBOX_HEADLESS_EXPIRY_DAYS", "0")
        .stdout(&(retired("exploration-look") + &retired("fix")))
        .stderr(&summary(2, 0, 0, fix + look))
        .ok();
    test.git(&["config", "sandbox.headlessExpiryDays", "9"]);
    test.git(&["config", "sandbox.branchExpiryDays", "never"]);
    dry(&[]).stdout(&retired("exploration-look")).stderr(&summary(1, 0, 0, look)).ok();
    dry(&["--older-than", "11"]).stderr(&nothing(2)).ok();
    dry(&["--older-than", "10"])
        .stdout(&(retired("exploration-look") + &retired("fix")))
        .stderr(&summary(2, 0, 0, fix + look))
        .ok();
    assert_eq!(test.sandboxes(), ["exploration-look", "fix"]);
}

#[test]
fn never_is_never() {
    let test = two();
    test.git(&["config", "sandbox.headlessExpiryDays", "never"]);
    test.git(&["config", "sandbox.branchExpiryDays", "never"]);
    changes_nothing(&test, || reap(&test, 100_000, &[]).stderr(&nothing(2)).ok());
}

#[test]
fn a_bad_period_is_an_error_before_anything_happens() {
    let test = two();
    let what = "it must be a whole number of days, or 'never'";
    for key in [
        "sandbox.headlessExpiryDays",
        "sandbox.branchExpiryDays",
        "sandbox.orphanExpiryDays",
        "sandbox.trashExpiryDays",
    ] {
        for value in ["a week", "-1", "1.5", "", "Never"] {
            test.git(&["config", key, value]);
            for words in [&[][..], &["--purge"], &["--dry-run"]] {
                reap(&test, 100, words)
                    .stderr(&format!(
                        "error: bad value '{value}' for '{key}': {what}\n\
                         hint: git config --show-origin --get-all {key}\n"
                    ))
                    .refused();
            }
        }
        test.git(&["config", "--unset", key]);
    }
    for variable in [
        "GIT_SANDBOX_HEADLESS_EXPIRY_DAYS",
        "GIT_SANDBOX_BRANCH_EXPIRY_DAYS",
        "GIT_SANDBOX_ORPHAN_EXPIRY_DAYS",
    ] {
        reap(&test, 100, &[])
            .env(variable, "soon")
            .stderr(&format!("error: bad value 'soon' for '{variable}': {what}\n"))
            .refused();
    }
}

#[test]
fn wrong_usage_changes_nothing() {
    let test = two();
    changes_nothing(&test, || {
        for words in [
            &["--older-than", "soon"][..],
            &["--older-than", "-1"],
            &["--older-than"],
            &["fix"],
            &["--purge", "--finish"],
        ] {
            let output = reap(&test, 100, words).output();
            assert_eq!((output.status.code(), output.stdout), (Some(129), Vec::new()), "{words:?}");
        }
        let mut outside = test.run_in(&test.home, &["reap"]);
        outside = outside.env("GIT_SANDBOX_NOW", after(100));
        outside.stderr(crate::fixture::usage::OUTSIDE).code(1);
    });
}

#[test]
fn a_clock_set_back_makes_nothing_stale() {
    let test = two();
    changes_nothing(&test, || reap(&test, -1000, &[]).stderr(&nothing(2)).ok());
}

#[test]
fn a_time_in_the_future_counts_as_now() {
    let test = two();
    let fix = test.at("fix");
    set_time(&fix, 1000);
    set_time(&test.at("exploration-look"), 1000);
    changes_nothing(&test, || reap(&test, 500, &[]).stderr(&nothing(2)).ok());
    // A file from the future is one that was written just now.
    set_times(&fix, 0);
    write(&fix.join("a"), "mine\n");
    set_time(&fix.join("a"), 1000);
    set_time(&fix, 0);
    changes_nothing(&test, || reap(&test, 500, &[]).stderr(&nothing(2)).ok());
}

#[test]
fn a_dry_run_says_the_same_and_changes_nothing_at_all() {
    let test = two();
    let dirty = test.new_sandbox(&["dirty"]);
    write(&dirty.join("a"), "mine\n");
    write(&dirty.join("new"), "mine\n");
    set_times(&dirty, 0);
    test.new_sandbox(&["old"]);
    succeeds(test.run(&["rm", "old"]));
    // Another time, the same content: a refresh would write it down.
    set_time(&test.at("fix/b"), 5);
    let freed = ["fix", "exploration-look"].map(|name| room(&test.at(name))).iter().sum::<u64>();
    let freed = freed + room(&only_one(&test).join("tree"));
    let lines = "\
dirty: kept: 2 uncommitted changes
exploration-look: retired: unused for 94 days
fix: retired: unused for 94 days
old-ID: put away: in the trash for 94 days
";
    let whole = tree(&test.home, &[]);
    for short in ["--dry-run", "-n"] {
        let would = lines
            .replace(": retired:", ": would retire:")
            .replace(": put away:", ": would put away:");
        reap(&test, 94, &[short]).stdout(&would).stderr(&summary(2, 1, 1, freed)).ok();
        same(&tree(&test.home, &[]), &whole);
    }
    reap(&test, 94, &[]).stdout(lines).stderr(&summary(2, 1, 1, freed)).ok();
    assert_eq!(test.sandboxes(), ["dirty"]);
    assert_eq!(test.git_in(&dirty, &["status", "--porcelain"]), " M a\n?? new");
}

#[test]
fn json_says_what_became_of_each() {
    let test = two();
    let dirty = test.new_sandbox(&["dirty"]);
    write(&dirty.join("a"), "mine\n");
    set_times(&dirty, 0);
    let answer = |words: &[&str]| -> serde_json::Value {
        let output = reap(&test, 94, words).output();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let wanted = |action: &str| {
        let why = "unused for 94 days";
        json!([
            {"name": "dirty", "path": dirty, "action": "kept", "reason": "1 uncommitted change"},
            {"name": "exploration-look", "path": test.at("exploration-look"),
             "action": action, "reason": why},
            {"name": "fix", "path": test.at("fix"), "action": action, "reason": why},
        ])
    };
    assert_eq!(answer(&["--json", "--dry-run"]), wanted("would-trash"));
    assert_eq!(answer(&["--json"]), wanted("trashed"));
    assert_eq!(test.sandboxes(), ["dirty"]);
    succeeds(reap(&test, 94, &["--force"]));
    let purged = answer(&["--json", "--dry-run", "--purge"]);
    let actions = purged.as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap());
    assert_eq!(actions.collect::<Vec<_>>(), ["would-put-away", "would-put-away", "would-put-away"]);
}

#[test]
fn what_was_retired_comes_back_as_it_was() {
    let test = two();
    let (fix, look) = (test.at("fix"), test.at("exploration-look"));
    commit(&test, &fix, "a", "mine\n");
    write(&fix.join("build/out"), "built\n");
    set_times(&fix, 0);
    let (before, main) = ([&fix, &look].map(|path| state(&test, path)), main_checkout(&test));
    succeeds(reap(&test, 94, &[]));
    assert_eq!(test.sandboxes(), [""; 0]);
    collect_garbage(&test);
    for name in ["fix", "exploration-look"] {
        test.run(&["restore", name])
            .stdout(&format!("$ROOT/{name}\n"))
            .stderr(&format!("restored '{name}'\n"))
            .ok();
    }
    assert_eq!([&fix, &look].map(|path| state(&test, path)), before);
    same(&main_checkout(&test), &main);
}

#[test]
fn commits_of_a_detached_head_are_kept_through_gc_and_purge() {
    let test = two();
    let look = test.at("exploration-look");
    commit(&test, &look, "a", "mine\n");
    let tip = test.git_in(&look, &["rev-parse", "HEAD"]);
    set_times(&look, 0);
    succeeds(reap(&test, 31, &[]));
    assert!(!look.exists());
    let name = kept(&test);
    assert!(name.starts_with("refs/sandbox/kept/exploration-look-"), "{name}");
    collect_garbage(&test);
    assert_eq!(test.git(&["rev-parse", &name]), tip);
    succeeds(reap(&test, 31, &["--purge"]));
    crate::fixture::trash::wait_for_trash(&test, 0);
    collect_garbage(&test);
    assert_eq!(test.git(&["rev-parse", &name]), tip);
    assert_eq!(test.git(&["show", &format!("{tip}:a")]), "mine");
    assert_eq!(test.sandboxes(), ["fix"]);
}

#[test]
fn reap_says_which_commits_only_it_held() {
    let test = two();
    let look = test.at("exploration-look");
    commit(&test, &look, "a", "mine\n");
    set_times(&look, 0);
    for words in [&["--dry-run"][..], &[]] {
        let output = reap(&test, 31, words).output();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(said.contains("1 commit only here"), "{words:?}: {said}");
    }
}
