//! `--restart`: a failed command is started again, with longer and longer pauses, until it fails too
//! often or many fail at once. A second of the supervisor is a few milliseconds here.

use std::fs;

use rustix::process::Signal;

use crate::fixture::Run;
use crate::fixture::lab::Lab;
use crate::fixture::process::{gone, signal, until};
use crate::fixture::state::private;

/// `git sandbox ...` with the real clock, in which a second of a supervisor is so long.
fn quick<'a>(lab: &'a Lab, second: &str, words: &[&str]) -> Run<'a> {
    lab.run(words).without("GIT_SANDBOX_NOW").env("GIT_SANDBOX_SECOND", second)
}

fn started(lab: &Lab, second: &str, words: &[&str]) -> u32 {
    let output = quick(lab, second, &[&["run", "--background"], words].concat()).output();
    let text = String::from_utf8(output.stderr).unwrap();
    let line = text.lines().find(|line| line.starts_with("started in sandbox")).unwrap();
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

fn starts(lab: &Lab, name: &str) -> Vec<serde_json::Value> {
    let journal = private(&lab.app(), name).join("sandbox.runs");
    let text = fs::read_to_string(journal).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines.map(|line| line["start"].clone()).filter(|start| !start.is_null()).collect()
}

#[test]
fn a_command_that_fails_is_started_again_until_it_succeeds() {
    let (lab, _) = Lab::with_box();
    let script = "echo x >>\"$HOME/tries\"; [ $(wc -l <\"$HOME/tries\") -ge 3 ]";
    started(&lab, "5", &["--restart", "box", "sh", "-c", script]);
    let output = quick(&lab, "5", &["wait", "box"]).output();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(fs::read_to_string(lab.home.join("tries")).unwrap(), "x\nx\nx\n");
    let restarts: Vec<_> = starts(&lab, "box").iter().map(|it| it["restarts"].clone()).collect();
    assert_eq!(restarts, [0, 1, 2]);
    let run = quick(&lab, "5", &["show", "box", "--json"]).output().stdout;
    let run: serde_json::Value = serde_json::from_slice(&run).unwrap();
    assert_eq!((&run["run"]["state"], &run["run"]["restarts"]), (&"done".into(), &2.into()));
}

#[test]
fn it_gives_up_after_so_many_quick_failures() {
    for (option, count) in [("--restart", 5), ("--restart=2", 2), ("--restart=1", 1)] {
        let (lab, _) = Lab::with_box();
        started(&lab, "5", &[option, "box", "sh", "-c", "exit 3"]);
        let output = quick(&lab, "5", &["wait", "box"]).output();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "box: failed (3)\n");
        assert_eq!(starts(&lab, "box").len(), count, "{option}");
        let shown = quick(&lab, "5", &["show", "box"]).output().stdout;
        let shown = String::from_utf8(shown).unwrap();
        assert!(shown.contains("gave up: it failed too often\n"), "{shown}");
        let log = quick(&lab, "5", &["show", "--log", "box"]).output().stdout;
        let log = String::from_utf8(log).unwrap();
        assert!(log.ends_with(&format!("gave up after {count} quick failures\n")), "{log}");
    }
}

#[test]
fn failures_that_took_long_do_not_count_as_quick() {
    let (lab, _) = Lab::with_box();
    // A second is a millisecond: each run takes longer than the sixty of a quick failure.
    let script = "echo x >>\"$HOME/tries\"; sleep 0.2; [ $(wc -l <\"$HOME/tries\") -ge 4 ]";
    started(&lab, "1", &["--restart=2", "box", "sh", "-c", script]);
    assert_eq!(quick(&lab, "1", &["wait", "box"]).output().status.code(), Some(0));
    assert_eq!(starts(&lab, "box").len(), 4);
}

#[test]
fn a_success_is_not_started_again() {
    let (lab, _) = Lab::with_box();
    started(&lab, "5", &["--restart", "box", "true"]);
    assert_eq!(quick(&lab, "5", &["wait", "box"]).output().status.code(), Some(0));
    assert_eq!(starts(&lab, "box").len(), 1);
}

#[test]
fn a_command_that_was_killed_is_started_again() {
    let (lab, _) = Lab::with_box();
    lab.pipe("box.says");
    let script = "if [ -e \"$HOME/once\" ]; then exit 0; fi; touch \"$HOME/once\"; \
                  echo $$ >\"$HOME/box.says\"; exec sleep 600";
    started(&lab, "5", &["--restart", "box", "sh", "-c", script]);
    signal(lab.pid("box"), Signal::KILL);
    assert_eq!(quick(&lab, "5", &["wait", "box"]).output().status.code(), Some(0));
    assert_eq!(starts(&lab, "box").len(), 2);
}

#[test]
fn while_it_waits_it_says_when_and_stop_ends_the_waiting() {
    let (lab, _) = Lab::with_box();
    // The first pause is twenty seconds long.
    let supervisor = started(&lab, "20000", &["--restart", "box", "sh", "-c", "exit 3"]);
    let run = || lab.json(&["show", "box", "--json"])["run"].clone();
    until("it has failed", || run()["state"] == "failed");
    assert!(run()["retry"].is_string(), "{}", run());
    let text = quick(&lab, "20000", &["list"]).output().stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("  failed (3), again in 1"), "{text}");
    let waiting = quick(&lab, "20000", &["wait", "--timeout", "1", "box"]);
    waiting.stderr("error: still running: box\n").code(1);
    quick(&lab, "20000", &["stop", "box"]).stderr("stopped 1 process in sandbox 'box'\n").ok();
    gone(supervisor);
    assert_eq!(starts(&lab, "box").len(), 1);
    assert!(run()["retry"].is_null(), "{}", run());
    assert_eq!(run()["stopped"], true);
    lab.is_free();
}

#[test]
fn stop_ends_a_command_and_its_restarting() {
    let (lab, _) = Lab::with_box();
    lab.pipe("box.says");
    let script = "echo $$ >\"$HOME/box.says\"; exec sleep 600";
    let supervisor = started(&lab, "1", &["--restart", "box", "sh", "-c", script]);
    let pid = lab.pid("box");
    quick(&lab, "1", &["stop", "box"]).stderr("stopped 1 process in sandbox 'box'\n").ok();
    gone(pid);
    gone(supervisor);
    assert_eq!(starts(&lab, "box").len(), 1);
}

#[test]
fn a_supervisor_that_is_killed_while_it_waits_starts_nothing_again() {
    let (lab, _) = Lab::with_box();
    let supervisor = started(&lab, "20000", &["--restart", "box", "sh", "-c", "exit 3"]);
    let run = || lab.json(&["show", "box", "--json"])["run"].clone();
    until("it has failed", || run()["state"] == "failed");
    signal(supervisor, Signal::KILL);
    gone(supervisor);
    // The plan is written down still, but no supervisor is there to carry it out.
    assert!(run()["retry"].is_null(), "{}", run());
    lab.run(&["wait", "box"]).stdout("box: failed (3)\n").code(1);
    lab.is_free();
}

#[test]
fn an_agent_that_is_started_again_is_resumed_with_the_beacon() {
    let lab = Lab::new();
    let text = "printf '%s\\n' \"${0##*/}: $1\" >>\"$HOME/got\"; [ \"${0##*/}\" = again ]";
    for (key, name) in [("sandbox.agent", "first"), ("sandbox.agentResume", "again")] {
        let path = lab.script(&format!("bin/{name}"), text);
        lab.git(&["config", key, &path.to_string_lossy()]);
    }
    let words = ["new", "box", "Do it", "--background", "--restart"];
    assert_eq!(quick(&lab, "5", &words).output().status.code(), Some(0));
    assert_eq!(quick(&lab, "5", &["wait", "box"]).output().status.code(), Some(0));
    let got = fs::read_to_string(lab.home.join("got")).unwrap();
    let lines: Vec<&str> = got.lines().collect();
    assert_eq!(lines[0], "first: Do it");
    assert_eq!(lines[1], "again: You come back to sandbox 'box' on branch 'box'.");
    assert!(lines.contains(&"Task: Do it"), "{got}");
    assert!(lines.contains(&"Last run: first: failed (1)."), "{got}");
}

/// Writes a journal as if a background command of a sandbox had failed just now.
fn has_failed(lab: &Lab, name: &str) {
    let now = chrono::DateTime::<chrono::Utc>::from(std::time::SystemTime::now()).to_rfc3339();
    let start = serde_json::json!({"start": {"run": 1, "at": now, "command": "agent",
                                             "words": ["agent"], "kind": "background"}});
    let end = serde_json::json!({"end": {"run": 1, "at": now, "exit": 1}});
    let journal = private(&lab.app(), name).join("sandbox.runs");
    fs::write(journal, format!("{start}\n{end}\n")).unwrap();
}

#[test]
fn when_many_fail_at_once_everything_pauses_and_list_says_so() {
    let lab = Lab::new();
    for name in ["a", "b", "c"] {
        lab.new_sandbox(&[name]);
    }
    // Seconds of 200 ms: 30 of them are 6 s, and the pause of 60 of them is 12 s.
    has_failed(&lab, "a");
    has_failed(&lab, "b");
    let supervisor = started(&lab, "200", &["--restart=2", "c", "sh", "-c", "exit 3"]);
    let listed = || quick(&lab, "200", &["list"]).output();
    until("it pauses", || {
        String::from_utf8(listed().stdout).unwrap().contains("failed (3), paused, again in ")
    });
    let said = String::from_utf8(listed().stderr).unwrap();
    let lead = "many sandboxes failed at once: nothing is started again for ";
    assert!(said.starts_with(lead), "{said}");
    let shown = String::from_utf8(quick(&lab, "200", &["show", "c"]).output().stdout).unwrap();
    assert!(shown.contains(": many sandboxes failed at once\n"), "{shown}");
    gone(supervisor);
    let times: Vec<chrono::DateTime<chrono::Utc>> = starts(&lab, "c")
        .iter()
        .map(|start| start["at"].as_str().unwrap().parse().unwrap())
        .collect();
    assert_eq!(times.len(), 2);
    assert!(times[1] - times[0] >= chrono::TimeDelta::seconds(12), "{times:?}");
}

#[test]
fn two_that_fail_make_no_pause() {
    let lab = Lab::new();
    for name in ["a", "b"] {
        lab.new_sandbox(&[name]);
    }
    has_failed(&lab, "a");
    let supervisor = started(&lab, "20", &["--restart=3", "b", "sh", "-c", "exit 3"]);
    gone(supervisor);
    assert_eq!(starts(&lab, "b").len(), 3);
    let journal = fs::read_to_string(private(&lab.app(), "b").join("sandbox.runs")).unwrap();
    assert!(!journal.contains("\"paused\":true"), "{journal}");
}

#[test]
fn following_goes_on_with_the_next_start() {
    let (lab, _) = Lab::with_box();
    let script = "echo x >>\"$HOME/tries\"; echo try $(wc -l <\"$HOME/tries\"); \
                  [ $(wc -l <\"$HOME/tries\") -ge 2 ]";
    started(&lab, "300", &["--restart", "box", "sh", "-c", script]);
    let output = quick(&lab, "300", &["show", "--follow", "box"]).output();
    let text = String::from_utf8(output.stdout).unwrap();
    let said: Vec<&str> = text.lines().filter(|line| line.starts_with("try ")).collect();
    assert_eq!(said, ["try 1", "try 2"], "{text}");
}
