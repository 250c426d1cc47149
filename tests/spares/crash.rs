//! A crash at every step of preparing, bringing up, taking and discarding a spare: the next command
//! finishes or undoes, the repository can be used all the time, and what somebody wrote stays.

use std::fs;

use crate::fixture::Test;
use crate::fixture::files::{names_in, write};
use crate::fixture::spares::{Spares, entry};

/// More steps than any command has.
const MANY: u32 = 50;

/// Runs a command that dies at a step. Whether it did; otherwise it must have succeeded.
#[track_caller]
fn crashes(test: &Test, words: &[&str], step: u32) -> bool {
    test.run(words).crashes_at(step)
}

/// Every folder has its entry, every entry its folder, and each is a clean spare or sandbox.
fn is_whole(test: &Test, sandboxes: &[&str], spares: usize) {
    let names = test.sandboxes();
    let (spare, rest): (Vec<_>, Vec<_>) =
        names.iter().partition(|name| name.starts_with(".spare-"));
    assert_eq!(rest, sandboxes);
    assert_eq!(spare.len(), spares, "{names:?}");
    assert_eq!(test.linked().len(), names.len());
    assert_eq!(names_in(&test.app().join(".git/worktrees")).len(), names.len());
    for name in &names {
        let at = test.at(name);
        assert_eq!(test.git_in(&at, &["status", "--porcelain", "--ignored"]), "", "{name}");
        assert_eq!(names_in(&at), [".git", "file", "more"], "{name}");
    }
    for name in &rest {
        let facts = test.json(&["show", name, "--json"]);
        assert_eq!((&facts["state"], &facts["locked"]), (&"ready".into(), &().into()));
        assert!(!entry(&test.at(name)).join("index.lock").exists());
    }
    test.run(&["doctor"]).output();
    assert_eq!(test.git(&["fsck", "--connectivity-only"]), "");
    assert_eq!(test.git(&["for-each-ref", "refs/sandbox"]), "");
}

/// Two commits, with what differs between them.
fn repository() -> Test {
    let test = Test::new();
    test.commit(&test.app(), "more", "old\n");
    test
}

fn ends(steps: u32) {
    assert!((2..MANY).contains(&steps), "{steps}");
}

#[test]
fn preparing_goes_on_after_a_crash_at_any_step() {
    let mut step = 1;
    loop {
        let test = repository();
        test.git(&["config", "sandbox.spares", "2"]);
        if !crashes(&test, &["__spares"], step) {
            break;
        }
        test.run(&["list", "--json"]).stdout("[]\n").ok();
        test.run(&["__spares"]).stderr("2 spares ready\n").ok();
        is_whole(&test, &[], 2);
        step += 1;
    }
    ends(step);
}

#[test]
fn new_works_after_a_crash_of_the_job_at_any_step() {
    let mut step = 1;
    loop {
        let mut spares = Spares::of(repository(), 1);
        spares.commit(&spares.app(), "more", "new\n");
        if !spares.tend_until(step) {
            break;
        }
        spares
            .run(&["new", "fix"])
            .stdout("$ROOT/fix\n")
            .stderr("created sandbox 'fix': new branch 'fix' from 'main'\n")
            .ok();
        assert_eq!(fs::read_to_string(spares.at("fix/more")).unwrap(), "new\n");
        spares.prepare();
        is_whole(&spares, &["fix"], 1);
        step += 1;
    }
    ends(step);
}

fn taking(words: &[&str], name: &str, text: &str) {
    let mut step = 1;
    loop {
        let test = repository();
        test.commit(&test.app(), "more", "new\n");
        test.git(&["tag", "old", "HEAD~"]);
        let mut spares = Spares::of(test, 1);
        let crashed = crashes(&spares, words, step);
        // Only what is no sandbox yet may be missing from the list.
        let listed = spares.json(&["list", "--json"]);
        assert!(listed.as_array().unwrap().iter().all(|one| one["name"] == name), "{listed}");
        let output = spares.run(&["new", name.trim_start_matches("exploration-")]).output();
        if name.starts_with("exploration-") {
            let output = spares.run(words).output();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        } else {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let wanted = spares.at(name).display().to_string() + "\n";
            assert_eq!(String::from_utf8(output.stdout).unwrap(), wanted);
        }
        assert_eq!(fs::read_to_string(spares.at(name).join("more")).unwrap(), text, "{step}");
        spares.prepare();
        assert_eq!(spares.git_in(&spares.at(name), &["status", "--porcelain"]), "");
        if !name.starts_with("exploration-") {
            is_whole(&spares, &[name], 1);
            assert_eq!(
                spares.git_in(&spares.at(name), &["symbolic-ref", "HEAD"]),
                format!("refs/heads/{name}")
            );
        }
        if !crashed {
            break;
        }
        step += 1;
    }
    ends(step);
}

#[test]
fn taking_one_is_completed_or_undone_after_a_crash_at_any_step() {
    taking(&["new", "fix"], "fix", "new\n");
}

#[test]
fn taking_a_detached_one_is_completed_or_undone_after_a_crash_at_any_step() {
    taking(&["new", "--detach", "fix"], "exploration-fix", "new\n");
}

#[test]
fn discarding_goes_on_after_a_crash_at_any_step() {
    let mut step = 1;
    loop {
        let mut spares = Spares::of(repository(), 2);
        spares.git(&["config", "sandbox.spares", "0"]);
        if !spares.tend_until(step) {
            break;
        }
        spares.run(&["list", "--json"]).stdout("[]\n").ok();
        assert_eq!(spares.tend(), "0 spares ready\n");
        is_whole(&spares, &[], 0);
        step += 1;
    }
    ends(step);
}

#[test]
fn what_somebody_wrote_after_a_crash_stays() {
    for step in 1..MANY {
        let mut spares = Spares::of(repository(), 1);
        if !crashes(&spares, &["new", "fix"], step) {
            ends(step);
            return;
        }
        let linked = spares.linked();
        let folder = spares.at("fix");
        let folder = if folder.join(".git").exists() { folder } else { spares.only() };
        write(&folder.join("notes"), "mine\n");
        write(&folder.join("file"), "edited\n");
        spares.new_sandbox(&["fix"]);
        spares.tend();
        assert_eq!(fs::read_to_string(folder.join("notes")).unwrap(), "mine\n", "{linked:?}");
        assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), "edited\n", "{step}");
    }
    panic!("it never came to its end");
}

/// Of a file that somebody added, and of one that they edited, only those two are left as they are.
#[test]
fn taking_to_another_commit_goes_on_around_what_somebody_wrote() {
    let (mut step, mut around) = (1, 0);
    loop {
        let test = repository();
        write(&test.app().join("gone/deep"), "only in the spare\n");
        test.git(&["add", "."]);
        test.commit(&test.app(), "more", "new\n");
        test.git(&["tag", "old", "HEAD~"]);
        let spares = Spares::of(test, 1);
        if !crashes(&spares, &["new", "fix", "--from", "old"], step) {
            break;
        }
        if spares.at("fix/file").exists() {
            around += 1;
            write(&spares.at("fix/notes"), "mine\n");
            write(&spares.at("fix/file"), "edited\n");
            let output = spares.run(&["new", "fix"]).output();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let status = spares.git_in(&spares.at("fix"), &["status", "--porcelain"]);
            assert_eq!(status, " M file\n?? notes", "{step}");
            assert_eq!(fs::read_to_string(spares.at("fix/file")).unwrap(), "edited\n");
            assert_eq!(fs::read_to_string(spares.at("fix/more")).unwrap(), "old\n");
            assert_eq!(names_in(&spares.at("fix")), [".git", "file", "more", "notes"]);
        }
        step += 1;
    }
    assert!(around > 3, "{around}");
    ends(step);
}
