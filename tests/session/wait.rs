//! `git sandbox wait`: scripts need no polling.

use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

use rustix::process::Signal;

use crate::fixture::built::program;
use crate::fixture::lab::Lab;
use crate::fixture::process::{ended, is_suspended, signal, until};

/// Starts `wait`. Returns once it has seen what runs: it is suspended then, until it gets SIGCONT.
#[track_caller]
fn begun(lab: &Lab, words: &[&str]) -> Child {
    let mut command = lab.command(program(), &lab.app());
    command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
    let waiting = command.env("GIT_SANDBOX_PAUSE_AT", "1").process_group(0).spawn().unwrap();
    until("wait has seen what runs", || is_suspended(waiting.id()));
    waiting
}

#[test]
fn wait_ends_when_the_command_has_ended() {
    let (lab, _) = Lab::with_box();
    let (child, pid) = lab.start_waiter("box");
    let waiting = begun(&lab, &["wait", "box"]);
    signal(waiting.id(), Signal::CONT);
    lab.go("box", pid);
    ended(child);
    let output = ended(waiting);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "box: failed (7)\n");
}

#[test]
fn wait_for_what_has_ended_or_never_began_returns_at_once() {
    let (lab, path) = Lab::with_box();
    lab.run(&["wait", "box"]).ok();
    lab.run(&["run", "box", "true"]).ok();
    lab.run(&["wait", "box"]).stdout("box: done 0s\n").ok();
    lab.run_in(&path, &["wait"]).stdout("box: done 0s\n").ok();
    lab.run(&["run", "box", "false"]).code(1);
    lab.run(&["wait", "box"]).stdout("box: failed (1)\n").code(1);
}

#[test]
fn wait_and_stop_take_a_timeout_of_days() {
    let (lab, _) = Lab::with_box();
    lab.run(&["run", "box", "true"]).ok();
    lab.run(&["wait", "--timeout=1000000", "box"]).stdout("box: done 0s\n").ok();
    let nothing = "nothing runs in sandbox 'box'\n";
    lab.run(&["stop", "--timeout=86400", "box"]).stderr(nothing).ok();
    let lead = "error: option '--timeout' takes a number from 1 to 1000000, not";
    for wrong in ["0", "1000001", "-1", "1h"] {
        let output = lab.run(&["wait", &format!("--timeout={wrong}"), "box"]).output();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.starts_with(&format!("{lead} '{wrong}'\n")), "{stderr}");
        assert_eq!(output.status.code(), Some(129));
    }
}

#[test]
fn wait_takes_several_and_all() {
    let lab = Lab::new();
    for (name, exit) in [("a", "exit 0"), ("b", "exit 3"), ("c", "kill -KILL $$")] {
        lab.new_sandbox(&[name]);
        let output = lab.run(&["run", "--background", name, "sh", "-c", exit]).output();
        assert_eq!(output.status.code(), Some(0));
    }
    lab.new_sandbox(&["idle"]);
    lab.run(&["wait", "--all"]).stdout("a: done 0s\nb: failed (3)\nc: died\n").code(1);
    lab.run(&["wait", "c", "a"]).stdout("c: died\na: done 0s\n").code(1);
    lab.run(&["wait", "a", "idle"]).stdout("a: done 0s\n").ok();
    lab.run(&["wait", "nobody"])
        .stderr(
            "error: no sandbox is called 'nobody'\n\
             hint: 'git sandbox list' shows what there is\n",
        )
        .code(1);
}

#[test]
fn a_failure_beside_a_success_is_a_failure() {
    let (lab, _) = Lab::with_box();
    let (child, pid) = lab.start_waiter("box");
    let waiting = begun(&lab, &["wait", "box"]);
    // The waiter that fails is older than this one.
    lab.run(&["run", "box", "true"]).ok();
    lab.go("box", pid);
    ended(child);
    signal(waiting.id(), Signal::CONT);
    let output = ended(waiting);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "box: failed (7), done 0s\n");
}

#[test]
fn a_failure_counts_that_ends_while_another_sandbox_is_waited_for() {
    let (lab, _) = Lab::with_box();
    lab.new_sandbox(&["other"]);
    let (child, pid) = lab.start_waiter("box");
    let (other, other_pid) = lab.start_waiter("other");
    let waiting = begun(&lab, &["wait", "box", "other"]);
    lab.go("other", other_pid);
    ended(other);
    lab.run(&["run", "other", "true"]).ok();
    lab.go("box", pid);
    ended(child);
    signal(waiting.id(), Signal::CONT);
    let output = ended(waiting);
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "box: failed (7)\nother: failed (7), done 0s\n"
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn wait_can_give_up_and_be_interrupted() {
    let (lab, _) = Lab::with_box();
    let (child, pid) = lab.start_waiter("box");
    lab.run(&["wait", "--timeout", "1", "box"]).stderr("error: still running: box\n").code(1);
    let waiting = lab.start(&["wait", "--all"]);
    let id = waiting.id();
    until("it catches signals", || {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t"));
        let mask = caught.and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
        mask & (1 << 14) != 0
    });
    signal(id, Signal::TERM);
    assert_eq!(ended(waiting).status.code(), Some(143));
    lab.go("box", pid);
    ended(child);
}
