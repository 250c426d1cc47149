//! Killed in the middle: what is left is recognised, finished or taken back.

use crate::fixture::built::program;
use crate::fixture::state::{entry, private};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Stdio;

use crate::fixture::Test;
use crate::fixture::files::{names_in, write};
use crate::fixture::process::{ended, kill};
use crate::fixture::run::succeeds;
use crate::fixture::slow::{Slow, in_checkout, killed};

#[track_caller]
fn finished(test: &Test) {
    assert_eq!(test.git_in(&test.at("fix"), &["status", "--porcelain"]), "");
    let facts = test.json(&["show", "fix", "--json"]);
    assert_eq!((&facts["state"], &facts["locked"]), (&"ready".into(), &().into()));
    assert_eq!(facts["task"], "A task");
    assert_eq!(test.linked().len(), 1);
    assert_eq!(test.branches(), ["fix", "main"]);
    assert!(!private(&test.app(), "fix").join("index.lock").exists());
}

#[test]
fn list_shows_what_was_killed_as_creating() {
    let slow = Slow::new();
    killed(&slow);
    slow.test
        .run(&["list"])
        .stdout(
            "  NAME  WORK      AGE  TASK\n  \
               fix   creating  0s   A task\n",
        )
        .ok();
    let facts = slow.test.json(&["list", "--json"]);
    assert_eq!(facts[0]["state"], "creating");
    assert_eq!(facts[0]["problem"], "it is being created, or its creation was interrupted");
    assert_eq!(facts[0]["changes"], serde_json::Value::Null);
}

#[test]
fn new_finishes_what_was_killed() {
    let slow = Slow::new();
    killed(&slow);
    slow.test
        .run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("finished sandbox 'fix', whose creation had been interrupted\n")
        .ok();
    finished(&slow.test);
}

#[test]
fn new_finishes_what_was_killed_and_runs_the_hook() {
    let slow = Slow::new();
    killed(&slow);
    slow.test.script("app/.git/hooks/post-checkout", "echo \"$@\" >&2");
    let commit = slow.test.git(&["rev-parse", "main"]);
    slow.test
        .run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr(&format!(
            "{} {commit} 1\nfinished sandbox 'fix', whose creation had been interrupted\n",
            "0".repeat(40)
        ))
        .ok();
    finished(&slow.test);
}

#[test]
fn finishing_keeps_files_that_git_does_not_track() {
    let slow = Slow::new();
    killed(&slow);
    write(&slow.test.at("fix/notes"), "mine\n");
    slow.test.new_sandbox(&["fix"]);
    assert_eq!(slow.test.git_in(&slow.test.at("fix"), &["status", "--porcelain"]), "?? notes");
}

#[test]
fn finishing_keeps_edits_of_files_that_git_tracks() {
    let slow = Slow::new();
    killed(&slow);
    let tracked = slow.test.git(&["ls-files"]);
    for name in tracked.lines() {
        write(&slow.test.at("fix").join(name), "mine\n");
    }
    slow.test.new_sandbox(&["fix"]);
    for name in tracked.lines() {
        let text = std::fs::read_to_string(slow.test.at("fix").join(name)).unwrap();
        assert_eq!(text, "mine\n", "{name}");
    }
}

#[test]
fn finishing_completes_files_that_were_cut_short() {
    let slow = Slow::new();
    killed(&slow);
    let (fix, file) = (slow.test.at("fix"), slow.test.app().join("file"));
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(fix.join("file"), &whole[..whole.len() - 1]).unwrap();
    slow.test.new_sandbox(&["fix"]);
    assert_eq!(std::fs::read(fix.join("file")).unwrap(), whole);
    assert_eq!(slow.test.git_in(&fix, &["status", "--porcelain"]), "");
}

#[test]
fn finishing_leaves_a_symlink_in_the_place_of_a_file() {
    let slow = Slow::new();
    killed(&slow);
    let (fix, theirs) = (slow.test.at("fix"), slow.test.home.join("theirs"));
    // What it leads to begins as the file does.
    let whole = std::fs::read(slow.test.app().join("file")).unwrap();
    std::fs::write(&theirs, &whole[..1]).unwrap();
    let _ = std::fs::remove_file(fix.join("file"));
    std::os::unix::fs::symlink(&theirs, fix.join("file")).unwrap();
    slow.test.new_sandbox(&["fix"]);
    assert_eq!(std::fs::read_link(fix.join("file")).unwrap(), theirs);
    assert_eq!(std::fs::read(&theirs).unwrap(), &whole[..1]);
}

#[test]
fn another_name_is_not_disturbed_by_what_was_killed() {
    let slow = Slow::new();
    killed(&slow);
    slow.test
        .run(&["new", "other"])
        .stdout("$ROOT/other\n")
        .stderr("created sandbox 'other': new branch 'other' from 'main'\n")
        .ok();
    assert_eq!(slow.test.json(&["show", "fix", "--json"])["state"], "creating");
}

#[test]
fn what_was_killed_after_its_checkout_is_finished() {
    let slow = Slow::new();
    slow.quick();
    let test = &slow.test;
    let hook =
        test.script("app/.git/hooks/post-checkout", "echo >\"$HOME/runs\"; cat \"$HOME/go\"");
    let mut child = in_checkout(&slow, &["new", "fix", "A", "task"]);
    kill("KILL", &format!("-{}", child.id()));
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    std::fs::remove_file(hook).unwrap();
    write(&test.at("fix/file"), "edited since\n");
    write(&test.at("fix/staged"), "staged since\n");
    test.git_in(&test.at("fix"), &["add", "staged"]);
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("finished sandbox 'fix', whose creation had been interrupted\n")
        .ok();
    assert_eq!(test.git_in(&test.at("fix"), &["status", "--porcelain"]), " M file\nA  staged");
    assert_eq!(test.json(&["show", "fix", "--json"])["state"], "ready");
}

fn interrupted(words: &[&str], name: &str, group: bool) {
    let slow = Slow::new();
    let test = &slow.test;
    test.git(&["branch", "old"]);
    let before = test.git(&["for-each-ref"]);
    let child = in_checkout(&slow, words);
    let target = if group { format!("-{}", child.id()) } else { child.id().to_string() };
    kill(name, &target);
    if !group {
        slow.go();
    }
    let output = ended(child);
    let code = if name == "INT" { 130 } else { 143 };
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout), (Some(code), Vec::new()), "{stderr}");
    assert!(stderr.ends_with("error: interrupted\n"), "{stderr}");
    assert_eq!(test.git(&["for-each-ref"]), before);
    assert_eq!(test.linked(), [""; 0]);
    assert_eq!(test.sandboxes(), [""; 0]);
    assert_eq!(names_in(&test.app().join(".git/worktrees")), [""; 0]);
}

#[test]
fn an_interrupt_of_the_group_takes_everything_back() {
    interrupted(&["new", "fix"], "INT", true);
}

#[test]
fn an_interrupt_of_the_program_alone_takes_everything_back() {
    interrupted(&["new", "fix"], "INT", false);
}

#[test]
fn a_termination_takes_everything_back_but_a_branch_that_was_there() {
    interrupted(&["new", "old"], "TERM", true);
}

#[test]
fn an_interrupt_ends_the_wait_for_a_lock() {
    let test = Test::new();
    std::fs::create_dir(test.app().join(".git/sandbox")).unwrap();
    let lock = File::create(test.app().join(".git/sandbox/lock")).unwrap();
    lock.lock().unwrap();
    let mut command = test.command(program(), &test.app());
    command.args(["new", "fix"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.process_group(0).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("waiting for "), "{line}");
    kill("INT", &child.id().to_string());
    assert_eq!(ended(child).status.code(), Some(130));
    assert_eq!(test.branches(), ["main"]);
    assert_eq!(test.linked(), [""; 0]);
}

#[test]
fn doctor_finishes_or_undoes_an_exploration_that_was_killed_at_any_step() {
    for step in 1..60 {
        let test = Test::new();
        let crashed = test.run(&["new", "--detach", "x"]).crashes_at(step);
        succeeds(test.run(&["doctor", "--fix"]));
        test.run(&["doctor"]).stderr("all is well\n").ok();
        let linked = test.linked();
        let named = names_in(&test.root());
        assert_eq!(linked.len(), named.len(), "step {step}: {linked:?} {named:?}");
        for name in &named {
            assert_eq!(name, "exploration-x", "step {step}");
            let states = test.json(&["list", "--json"]);
            assert_eq!(states[0]["state"], "ready", "step {step}");
            assert_eq!(test.git_in(&test.at(name), &["status", "--porcelain"]), "");
            let facts = entry(&test, &test.at(name)).join("sandbox.json");
            let facts = std::fs::read_to_string(facts).unwrap();
            let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
            assert!(facts["id"].is_string() && facts["common"].is_string(), "{step}: {facts}");
            assert!(facts["device"].is_u64(), "step {step}: {facts}");
        }
        if !crashed {
            assert!(step > 3 && named.len() == 1, "only {step} steps");
            return;
        }
    }
    panic!("more steps than that");
}
