//! Runs: every command that is started is recorded, and how it stands is asked of the kernel.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fixture::files::{chmod, names_in};
use crate::fixture::lab::Lab;
use crate::fixture::process::{ended, gone, is_alive, kill, signal, until};
use crate::fixture::state::private;
use crate::fixture::{NOW, Test};
use crate::session::tmux::{Tmux, opened};

/// What programs are told about the last run in `box`.
fn run_of(test: &Test) -> Value {
    test.json(&["show", "box", "--json"])["run"].clone()
}

fn told(command: &str, state: &str, exit: Option<u8>) -> Value {
    json!({"command": command, "state": state, "since": NOW, "exit": exit, "stopped": false,
           "restarts": 0, "retry": null})
}

/// Starts a waiter in the background of `box`. Returns the supervisor's process id and the waiter's.
fn background(lab: &Lab, name: &str) -> (u32, u32) {
    let words = lab.waiter(name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = lab.run(&[&["run", "--background", "box", "--"], &words[..]].concat()).output();
    let text = String::from_utf8(output.stderr).unwrap();
    let line = text.lines().find(|line| line.starts_with("started in sandbox 'box'")).unwrap();
    (line.rsplit_once(' ').unwrap().1.parse().unwrap(), lab.pid(name))
}

#[test]
fn a_sandbox_in_which_nothing_ran_has_no_run() {
    let (lab, _) = Lab::with_box();
    assert_eq!(run_of(&lab), Value::Null);
    assert_eq!(lab.json(&["list", "--json"])[0]["run"], Value::Null);
}

#[test]
fn a_command_that_succeeds_is_done_and_one_that_fails_says_how() {
    let (lab, _) = Lab::with_box();
    lab.run(&["run", "box", "true"]).ok();
    assert_eq!(run_of(&lab), told("true", "done", Some(0)));
    lab.run(&["run", "box", "sh", "-c", "exit 3"]).code(3);
    assert_eq!(run_of(&lab), told("sh", "failed", Some(3)));
    assert_eq!(lab.json(&["list", "--json"])[0]["run"], told("sh", "failed", Some(3)));
    lab.run(&["list"])
        .stdout(
            "  NAME  AGENT       WORK  BASE  AGE\n\
             ! box   failed (3)  -     =     0s\n",
        )
        .ok();
}

#[test]
fn a_command_of_new_is_recorded_too() {
    let lab = Lab::new();
    lab.run(&["new", "box", "--", "sh", "-c", "exit 4"])
        .stderr("created sandbox 'box': new branch 'box' from 'main'\n$ROOT/box\n")
        .code(4);
    assert_eq!(run_of(&lab), told("sh", "failed", Some(4)));
}

#[test]
fn a_command_that_cannot_be_started_has_failed() {
    let (lab, path) = Lab::with_box();
    fs::write(path.join("odd"), "#!/no/such/interpreter\n").unwrap();
    crate::fixture::files::chmod(&path.join("odd"), 0o755);
    lab.run(&["run", "box", "./odd"])
        .stderr("error: cannot run './odd': no such program\n")
        .code(127);
    assert_eq!(run_of(&lab), told("odd", "failed", Some(127)));
}

#[test]
fn what_runs_is_told_by_the_name_of_its_command() {
    let (lab, _) = Lab::with_box();
    let (child, pid) = lab.start_waiter("box");
    assert_eq!(run_of(&lab), told("sh", "running", None));
    lab.run(&["list"])
        .stdout(
            "  NAME  AGENT  WORK  BASE  AGE\n  \
               box   sh 0s  -     =     0s\n",
        )
        .ok();
    lab.go("box", pid);
    assert_eq!(ended(child).status.code(), Some(7));
    assert_eq!(run_of(&lab), told("sh", "failed", Some(7)));
}

#[test]
fn of_a_foreground_run_only_the_record_stays() {
    let (lab, _) = Lab::with_box();
    lab.run(&["run", "box", "true"]).ok();
    let entry = private(&lab.app(), "box");
    let ours = |name: &String| name.starts_with("sandbox.run");
    let ours: Vec<String> = names_in(&entry).into_iter().filter(ours).collect();
    assert_eq!(ours, ["sandbox.runs"]);
    let mode = |name: &str| fs::metadata(entry.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("sandbox.runs"), 0o600);
    assert_eq!(lab.run(&["run", "--background", "box", "true"]).output().status.code(), Some(0));
    assert_eq!(mode("sandbox.run.2"), 0o600);
}

#[test]
fn killing_the_command_in_the_foreground_is_a_death() {
    let (lab, _) = Lab::with_box();
    let (child, pid) = lab.start_waiter("box");
    signal(pid, Signal::KILL);
    assert_eq!(ended(child).status.code(), Some(137));
    assert_eq!(run_of(&lab), told("sh", "died", Some(137)));
}

#[test]
fn killing_the_command_in_the_background_is_a_death() {
    let (lab, _) = Lab::with_box();
    let (supervisor, pid) = background(&lab, "box");
    signal(pid, Signal::KILL);
    gone(supervisor);
    assert_eq!(run_of(&lab), told("sh", "died", Some(137)));
}

#[test]
fn a_command_whose_supervisor_was_killed_runs_until_it_ends_and_has_then_died() {
    let (lab, _) = Lab::with_box();
    let (supervisor, pid) = background(&lab, "box");
    signal(supervisor, Signal::KILL);
    gone(supervisor);
    assert_eq!(run_of(&lab), told("sh", "running", None));
    lab.go("box", pid);
    // No supervisor was there to see how it ended.
    assert_eq!(run_of(&lab), told("sh", "died", None));
    lab.run(&["list"])
        .stdout(
            "  NAME  AGENT  WORK  BASE  AGE\n\
             ! box   died   -     =     0s\n",
        )
        .ok();
}

#[test]
fn a_command_that_dropped_its_descriptors_still_runs() {
    let (lab, _) = Lab::with_box();
    lab.pipe("box.says");
    lab.pipe("box.go");
    // Its output and the sandbox's lock; the file of its run stays.
    let script =
        "exec >/dev/null 2>&1 198>&-; echo $$ >\"$HOME/box.says\"; read x <\"$HOME/box.go\"";
    let output = lab.run(&["run", "--background", "box", "bash", "-c", script]).output();
    assert_eq!(output.status.code(), Some(0));
    let pid = lab.pid("box");
    assert_eq!(run_of(&lab), told("bash", "running", None));
    lab.go("box", pid);
    until("its end is recorded", || run_of(&lab)["state"] != "running");
    assert_eq!(run_of(&lab)["state"], "failed");
}

#[test]
fn killing_both_is_a_death_too() {
    for order in [[0, 1], [1, 0]] {
        let (lab, _) = Lab::with_box();
        let (supervisor, pid) = background(&lab, "box");
        // Stopped, so that it cannot write the end down.
        kill("STOP", &supervisor.to_string());
        for index in order {
            kill("KILL", &[supervisor, pid][index].to_string());
        }
        gone(supervisor);
        gone(pid);
        assert_eq!(run_of(&lab), told("sh", "died", None));
        lab.is_free();
    }
}

#[test]
fn a_daemon_that_is_left_does_not_keep_a_run_from_being_done() {
    let (lab, _) = Lab::with_box();
    let words = lab.waiter("box");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let script = "setsid \"$@\" >/dev/null 2>&1 & exit 0";
    lab.run(&[&["run", "box", "sh", "-c", script, "sh"], &words[..]].concat()).ok();
    let pid = lab.pid("box");
    assert_eq!(run_of(&lab), told("sh", "done", Some(0)));
    lab.is_in_use_by(&[(pid, "sh")]);
    lab.go("box", pid);
    lab.is_free();
}

#[test]
fn a_run_that_goes_on_is_told_rather_than_a_later_one_that_has_ended() {
    let (lab, _) = Lab::with_box();
    let (supervisor, pid) = background(&lab, "box");
    lab.run(&["run", "box", "true"]).ok();
    assert_eq!(run_of(&lab), told("sh", "running", None));
    lab.go("box", pid);
    gone(supervisor);
    assert_eq!(run_of(&lab)["command"], "true");
}

#[test]
fn a_second_one_is_allowed_and_said_and_has_a_log_of_its_own() {
    let (lab, _) = Lab::with_box();
    let (supervisor, pid) = background(&lab, "box");
    let output = lab.run(&["run", "--background", "box", "sh", "-c", "echo second"]).output();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("sandbox 'box' has sh 0s at work already\n"), "{text}");
    assert!(text.contains("/sandbox.run.2\n"), "{text}");
    let second = format!("== {NOW} sh -c echo second\nsecond\n== {NOW} exited with 0\n");
    let entry = private(&lab.app(), "box");
    until("the second has ended", || {
        fs::read_to_string(entry.join("sandbox.run.2")).unwrap() == second
    });
    lab.run(&["show", "--log", "box"]).stdout(&second).ok();
    let first = fs::read_to_string(entry.join("sandbox.run.1")).unwrap();
    assert!(first.starts_with(&format!("== {NOW} sh -c echo $$")) && !first.contains("second"));
    lab.go("box", pid);
    gone(supervisor);
}

#[test]
fn the_newest_twenty_are_remembered_with_their_logs() {
    let (lab, _) = Lab::with_box();
    let (supervisor, pid) = background(&lab, "box");
    let output = lab.run(&["run", "--background", "box", "echo", "logged"]).output();
    assert_eq!(output.status.code(), Some(0));
    let entry = private(&lab.app(), "box");
    assert!(entry.join("sandbox.run.2").exists());
    for _ in 0..30 {
        lab.run(&["run", "box", "true"]).ok();
    }
    let text = fs::read_to_string(entry.join("sandbox.runs")).unwrap();
    let starts = |line: &&str| line.starts_with("{\"start\"");
    // The one that goes on is never forgotten.
    assert_eq!(text.lines().filter(starts).count(), 21, "{text}");
    let files: Vec<String> = names_in(&entry);
    let files: Vec<&String> = files.iter().filter(|it| it.starts_with("sandbox.run.")).collect();
    assert_eq!(files, ["sandbox.run.1"]);
    assert_eq!(run_of(&lab), told("sh", "running", None));
    lab.go("box", pid);
    gone(supervisor);
    assert_eq!(run_of(&lab), told("true", "done", Some(0)));
}

#[test]
fn a_journal_that_was_cut_off_or_holds_nonsense_is_read_as_far_as_it_goes() {
    let (lab, _) = Lab::with_box();
    lab.run(&["run", "box", "true"]).ok();
    let journal = private(&lab.app(), "box").join("sandbox.runs");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, format!("nonsense\n{text}{{\"start\":{{\"run\":7,")).unwrap();
    assert_eq!(run_of(&lab), told("true", "done", Some(0)));
    lab.run(&["run", "box", "false"]).code(1);
    assert_eq!(run_of(&lab), told("false", "failed", Some(1)));
}

#[test]
fn a_command_runs_even_if_it_cannot_be_recorded() {
    let (lab, _) = Lab::with_box();
    let journal = private(&lab.app(), "box").join("sandbox.runs");
    fs::create_dir(&journal).unwrap();
    let warning = format!("warning: cannot open '{}': is a directory\n", journal.display());
    lab.run(&["run", "box", "echo", "ran"]).stdout("ran\n").stderr(&warning).ok();
}

#[test]
fn a_link_in_place_of_the_journal_is_not_followed() {
    let (lab, _) = Lab::with_box();
    let journal = private(&lab.app(), "box").join("sandbox.runs");
    let victim = lab.home.join("victim");
    fs::write(&victim, "precious").unwrap();
    chmod(&victim, 0o644);
    std::os::unix::fs::symlink(&victim, &journal).unwrap();
    let output = lab.run(&["run", "box", "true"]).output();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    // Our own would be closed to others.
    assert_eq!(fs::metadata(&victim).unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
fn a_log_is_cut_and_says_so() {
    let (lab, _) = Lab::with_box();
    let script = "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i + 1)); done";
    let words = ["run", "--background", "box", "sh", "-c", script];
    let run = lab.run(&words).env("GIT_SANDBOX_LOG_SIZE", "4000");
    assert_eq!(run.output().status.code(), Some(0));
    lab.run(&["wait", "box"]).stdout("box: done 0s\n").ok();
    let log = fs::read_to_string(private(&lab.app(), "box").join("sandbox.run.1")).unwrap();
    assert!(log.len() <= 4000, "{}", log.len());
    assert!(
        log.starts_with("== ") && log.lines().next().unwrap().ends_with("of older output were cut")
    );
    assert!(log.contains("\nline 1999\n") && log.ends_with(&format!("== {NOW} exited with 0\n")));
    assert!(log.lines().nth(1).unwrap().starts_with("line "), "{log}");
}

#[test]
fn a_run_in_tmux_is_recorded_as_such() {
    let Some(tmux) = Tmux::new() else { return };
    let words = tmux.lab.waiter("box");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    tmux.run(&[&["run", "--tmux", "box", "--"], &words[..]].concat()).stderr(&opened("box")).ok();
    let pid = tmux.lab.pid("box");
    assert_eq!(run_of(&tmux.lab), told("sh", "running", None));
    let text = String::from_utf8(tmux.lab.run(&["show", "box"]).output().stdout).unwrap();
    assert!(text.contains("\nruns        1 sh: running for 0s, in tmux\n"), "{text}");
    tmux.lab.go("box", pid);
    until("its end is recorded", || run_of(&tmux.lab)["state"] != "running");
    assert_eq!(run_of(&tmux.lab), told("sh", "failed", Some(7)));
}

#[test]
fn stopping_is_told_as_such() {
    let (lab, _) = Lab::with_box();
    let (supervisor, pid) = background(&lab, "box");
    lab.run(&["stop", "box"]).stderr("stopped 1 process in sandbox 'box'\n").ok();
    assert!(!is_alive(pid) && !is_alive(supervisor));
    let mut stopped = told("sh", "failed", Some(143));
    stopped["stopped"] = true.into();
    assert_eq!(run_of(&lab), stopped);
    lab.run(&["list"])
        .stdout(
            "  NAME  AGENT       WORK  BASE  AGE\n  \
               box   stopped 0s  -     =     0s\n",
        )
        .ok();
}

#[test]
fn stopping_is_told_as_such_without_a_supervisor_and_after_a_kill() {
    let (lab, _) = Lab::with_box();
    let (supervisor, _) = background(&lab, "box");
    signal(supervisor, Signal::KILL);
    gone(supervisor);
    lab.run(&["stop", "box"]).stderr("stopped 1 process in sandbox 'box'\n").ok();
    // A command that ignores TERM is killed.
    let words = ["run", "--background", "box", "sh", "-c", "trap '' TERM; echo up; sleep 600"];
    assert!(lab.run(&words).output().status.success());
    let log = || String::from_utf8(lab.run(&["show", "--log", "box"]).output().stdout).unwrap();
    until("the command to be up", || log().lines().any(|line| line == "up"));
    assert!(lab.run(&["stop", "--timeout", "1", "box"]).output().status.success());
    let text = String::from_utf8(lab.run(&["show", "box"]).output().stdout).unwrap();
    for line in [
        "runs        2 sh: stopped 0s ago, in the background",
        "            1 sh: stopped; started 0s ago, in the background",
    ] {
        assert!(text.lines().any(|got| got == line), "{line} in\n{text}");
    }
}

#[test]
fn show_tells_of_the_work_and_of_the_last_runs() {
    let (lab, path) = Lab::with_box();
    lab.commit(&path, "new", "Add a file\n");
    lab.commit(&lab.app(), "other", "Go on\n");
    fs::write(path.join("file"), "two\n").unwrap();
    lab.run(&["run", "--author", "A <a@b>", "box", "sh", "-c", "exit 3"]).code(3);
    let output = lab.run(&["run", "--background", "box", "true"]).output();
    assert_eq!(output.status.code(), Some(0));
    lab.run(&["wait", "box"]).stdout("box: done 0s\n").ok();
    let text = String::from_utf8(lab.run(&["show", "box"]).output().stdout).unwrap();
    for line in [
        "work        1 commit ahead of 'main', 1 behind; newest \"Add a file\"; 2 files +2 -1",
        "runs        2 true: done 0s ago, in the background",
        "            1 sh: failed (3) 0s ago, as A <a@b>",
        "removal     refused: worktree has 1 uncommitted change",
        &format!("next        git -C {} status", path.display()),
    ] {
        assert!(text.lines().any(|got| got == line), "{line} in\n{text}");
    }
    assert!(text.lines().any(|line| line.starts_with("size        ") && line.ends_with("KiB")));
    let facts = lab.json(&["show", "box", "--json"]);
    assert_eq!((&facts["base_ahead"], &facts["base_behind"]), (&1.into(), &1.into()));
    assert_eq!(facts["diff"], json!({"files": 2, "insertions": 2, "deletions": 1}));
    assert_eq!(facts["subject"], "Add a file");
}

#[test]
fn show_says_what_to_type_next() {
    let (lab, path) = Lab::with_box();
    let next = |wanted: &str| {
        let text = String::from_utf8(lab.run(&["show", "box"]).output().stdout).unwrap();
        assert!(text.lines().any(|line| line == format!("next        {wanted}")), "{text}");
    };
    next("git sandbox run box");
    let (supervisor, pid) = background(&lab, "box");
    next("git sandbox show --follow box");
    lab.go("box", pid);
    gone(supervisor);
    next("git sandbox show --log box");
    lab.run(&["run", "box", "true"]).ok();
    lab.commit(&path, "new", "new\n");
    next("git sandbox merge box");
    lab.git(&["merge", "--quiet", "box"]);
    next("git sandbox rm box");
}
