//! `git sandbox run --background`, its log, and what outlives what.

use crate::fixture::built::program_word;
use crate::fixture::state::private;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use rustix::process::Signal;

use crate::fixture::NOW;
use crate::fixture::files::chmod;
use crate::fixture::lab::Lab;
use crate::fixture::process::{ended, gone, is_alive, line_of, signal};
use crate::fixture::time::set_day;

/// Starts a waiter called `box` in the background of `box`; the supervisor's and its process id.
#[track_caller]
fn start(lab: &Lab) -> (u32, u32) {
    let words = lab.waiter("box");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = lab.run(&[&["run", "--background", "box", "--"], &words[..]].concat()).output();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout), (Some(0), Vec::new()), "{stderr}");
    let lead = "started in sandbox 'box' in the background: process ";
    let (supervisor, rest) = stderr.strip_prefix(lead).unwrap().split_once('\n').unwrap();
    let log = log(lab);
    assert_eq!(rest, format!("log: {log}\nhint: git sandbox show --follow box\n"));
    (supervisor.parse().unwrap(), lab.pid("box"))
}

fn log(lab: &Lab) -> String {
    private(&lab.app(), "box").join("sandbox.run.1").to_string_lossy().into_owned()
}

#[test]
fn a_background_command_goes_on_and_keeps_the_sandbox() {
    let (lab, path) = Lab::with_box();
    set_day(&path, 2);
    let (supervisor, pid) = start(&lab);
    let used: chrono::DateTime<chrono::Utc> = path.metadata().unwrap().modified().unwrap().into();
    assert_eq!(used, NOW.parse::<chrono::DateTime<chrono::Utc>>().unwrap());
    lab.is_in_use_by(&[(pid, "sh")]);
    lab.go("box", pid);
    gone(supervisor);
    lab.is_free();
}

#[test]
fn it_is_in_use_as_soon_as_run_returns() {
    let (lab, _) = Lab::with_box();
    lab.pipe("go");
    // Nothing says yet that the command has begun.
    let output =
        lab.run(&["run", "--background", "box", "sh", "-c", "read x <\"$HOME/go\""]).output();
    assert_eq!(output.status.code(), Some(0));
    let output = lab.run(&["rm", "--force", "box"]).output();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("error: cannot remove 'box': in use by "), "{text}");
    assert_eq!(output.status.code(), Some(1));
    assert!(lab.at("box/file").exists());
}

/// The session of the tests themselves, which is "0" where they were started from outside their
/// process namespace.
fn our_session() -> String {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    stat.rsplit(") ").next().unwrap().split(' ').nth(3).unwrap().to_owned()
}

#[test]
fn a_background_command_has_the_folder_the_environment_and_its_own_session() {
    let (lab, _) = Lab::with_box();
    lab.pipe("box.says");
    let script = "{ pwd; echo \"$GIT_SANDBOX_NAME {name} $GIT_DIR$GIT_SANDBOX_SUPERVISED\"; \
                  cat; cut -d' ' -f6 /proc/$$/stat; } >\"$HOME/box.says\"";
    let output = lab
        .run(&["run", "--background", "--author=A <a@b>", "box", "sh", "-c", script])
        .env("GIT_DIR", lab.app().join(".git"))
        .output();
    assert_eq!(output.status.code(), Some(0));
    let text = lab.says("box");
    let mut lines = text.lines();
    assert_eq!(lines.next(), lab.at("box").to_str());
    assert_eq!(lines.next(), Some("box box "));
    let session = lines.next().unwrap();
    assert!(session != "0" && session != our_session(), "{text}");
}

#[test]
fn what_it_writes_goes_to_the_log() {
    let (lab, _) = Lab::with_box();
    lab.run(&["show", "--log", "box"])
        .stderr("nothing has run in the background of sandbox 'box'\n")
        .ok();
    let words = ["run", "--background", "box", "sh", "-c", "echo out; echo err >&2; exit 3"];
    assert_eq!(lab.run(&words).output().status.code(), Some(0));
    let wanted = format!(
        "== {NOW} sh -c echo out; echo err >&2; exit 3\nout\nerr\n== {NOW} exited with 3\n"
    );
    lab.run(&["show", "--follow", "box"]).stdout(&wanted).ok();
    lab.run(&["show", "--log", "box"]).stdout(&wanted).ok();
    lab.run_in(&lab.at("box"), &["show", "--log"]).stdout(&wanted).ok();
    // The next one has a log of its own; the first stays.
    assert_eq!(lab.run(&["run", "--background", "box", "true"]).output().status.code(), Some(0));
    let second = format!("== {NOW} true\n== {NOW} exited with 0\n");
    lab.run(&["show", "--follow", "box"]).stdout(&second).ok();
    assert_eq!(fs::read_to_string(log(&lab)).unwrap(), wanted);
    let text = String::from_utf8(lab.run(&["show", "box"]).output().stdout).unwrap();
    let line = format!("log         {}", log(&lab).replace(".run.1", ".run.2"));
    assert!(text.lines().any(|got| got == line), "{text}");
}

#[test]
fn following_goes_on_until_the_command_ends() {
    let (lab, _) = Lab::with_box();
    lab.pipe("box.says");
    lab.pipe("box.go");
    let script = "echo first; echo $$ >\"$HOME/box.says\"; read x <\"$HOME/box.go\"; echo last";
    let words = ["run", "--background", "box", "sh", "-c", script];
    assert_eq!(lab.run(&words).output().status.code(), Some(0));
    let pid = lab.pid("box");
    let mut follower = lab.start(&["show", "--follow", "box"]);
    let mut stdout = BufReader::new(follower.stdout.take().unwrap());
    let mut text = String::new();
    while !text.ends_with("first\n") {
        assert_ne!(stdout.read_line(&mut text).unwrap(), 0, "{text}");
    }
    assert_eq!(follower.try_wait().unwrap(), None);
    lab.go("box", pid);
    stdout.read_to_string(&mut text).unwrap();
    assert_eq!(text, format!("== {NOW} sh -c {script}\nfirst\nlast\n== {NOW} exited with 0\n"));
    assert_eq!(ended(follower).status.code(), Some(0));
}

#[test]
fn it_survives_the_session_that_started_it() {
    let (lab, _) = Lab::with_box();
    let words = lab.waiter("box");
    let script = "\"$@\" 2>/dev/null; echo $$ >\"$HOME/leader\"; exit 0";
    let mut command = lab.command("setsid", &lab.app());
    command.args(["sh", "-c", script, "sh", program_word(), "run", "--background", "box", "--"]);
    command.args(&words).stdout(Stdio::null());
    let mut session = command.process_group(0).spawn().unwrap();
    let pid = lab.pid("box");
    let leader: i32 = line_of(&lab.home.join("leader")).trim().parse().unwrap();
    session.wait().unwrap();
    gone(leader.cast_unsigned());
    // Whatever ends with a terminal: its foreground group gets this.
    let group = rustix::process::Pid::from_raw(leader).unwrap();
    let _ = rustix::process::kill_process_group(group, Signal::HUP);
    assert!(is_alive(pid));
    let users = lab.json(&["show", "box", "--json"])["in_use"].clone();
    assert_eq!(users.as_array().unwrap().len(), 1, "{users}");
    lab.go("box", pid);
    let ended = format!("== {NOW} exited with 7\n");
    crate::fixture::process::until("its end is written down", || {
        fs::read_to_string(log(&lab)).unwrap().ends_with(&ended)
    });
}

#[test]
fn a_command_whose_supervisor_was_killed_keeps_it() {
    let (lab, _) = Lab::with_box();
    let words = lab.waiter("box");
    // Only the inherited lock tells.
    let script = format!("cd /; {}", words[2]);
    let output = lab.run(&["run", "--background", "box", "sh", "-c", &script, "box"]).output();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let line = stderr.lines().next().unwrap();
    let supervisor = line.rsplit_once(' ').unwrap().1.parse().unwrap();
    let pid = lab.pid("box");
    signal(supervisor, Signal::KILL);
    gone(supervisor);
    assert!(is_alive(pid));
    lab.is_in_use_by(&[(pid, "sh")]);
    lab.run(&["stop", "box"]).stderr("stopped 1 process in sandbox 'box'\n").ok();
    assert!(!is_alive(pid));
    lab.is_free();
}

#[test]
fn it_returns_at_once() {
    let (lab, _) = Lab::with_box();
    // The waiter ends only when it is told to. Its descriptors are closed too: whoever reads our output is
    // not kept waiting.
    let (_, pid) = start(&lab);
    assert!(is_alive(pid));
    lab.go("box", pid);
}

#[test]
fn a_background_program_that_is_not_there_is_said_at_once() {
    let (lab, _) = Lab::with_box();
    lab.run(&["run", "--background", "box", "no-such-program"])
        .stderr("error: cannot run 'no-such-program': no such program\n")
        .code(127);
    lab.run(&["run", "--background", "box", "./file"])
        .stderr("error: cannot run './file': not executable\n")
        .code(126);
    lab.run(&["show", "--log", "box"])
        .stderr("nothing has run in the background of sandbox 'box'\n")
        .ok();
}

#[test]
fn the_agent_works_in_the_background_too() {
    let (lab, _) = Lab::with_box();
    lab.pipe("box.says");
    lab.git(&["config", "sandbox.agent", "f() { echo \"$#|$1\" >\"$HOME/box.says\"; }; f"]);
    lab.new_sandbox(&["box", "--no-run", "it's a task"]);
    assert_eq!(lab.run(&["run", "--background", "box"]).output().status.code(), Some(0));
    assert_eq!(lab.says("box"), "1|it's a task\n");
}

/// The mode of a file in the private git dir of `box`.
fn mode(lab: &Lab, name: &str) -> u32 {
    let path = private(&lab.app(), "box").join(name);
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_log_and_the_facts_are_for_the_users_eyes_alone() {
    let (lab, _) = Lab::with_box();
    assert_eq!(mode(&lab, "sandbox.json"), 0o600);
    let run = |log: &str| {
        let output = lab.run(&["run", "--background", "box", "true"]).output();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!([log, "sandbox.runs", "sandbox.json"].map(|name| mode(&lab, name)), [0o600; 3]);
    };
    run("sandbox.run.1");
    // As an older version made them.
    let open = |name: &str| chmod(&private(&lab.app(), "box").join(name), 0o644);
    open("sandbox.runs");
    open("sandbox.json");
    run("sandbox.run.2");
    open("sandbox.json");
    lab.new_sandbox(&["box"]);
    assert_eq!(mode(&lab, "sandbox.json"), 0o600);
}

#[test]
fn the_background_needs_a_command_or_an_agent() {
    let (lab, _) = Lab::with_box();
    lab.run(&["run", "--background", "box"])
        .stderr(
            "error: option '--background' needs a command, or 'sandbox.agent'\n\
             usage: git sandbox run [--background] [--restart[=<n>]] [--tmux] [--all]\n\
             \x20                      [--next=<task>] [--author=<author>] [--confine[=<level>]]\n\
             \x20                      [--no-confine] [--network=<reach>] [--container=<image>]\n\
             \x20                      [<name>] [[--] <cmd>...]\n",
        )
        .code(129);
    lab.run(&["show", "--log", "box"])
        .stderr("nothing has run in the background of sandbox 'box'\n")
        .ok();
}

#[test]
fn background_and_tmux_exclude_each_other() {
    let (lab, _) = Lab::with_box();
    lab.run(&["run", "--background", "--tmux", "box", "true"])
        .stderr(
            "error: options '--background' and '--tmux' cannot be used together\n\
             usage: git sandbox run [--background] [--restart[=<n>]] [--tmux] [--all]\n\
             \x20                      [--next=<task>] [--author=<author>] [--confine[=<level>]]\n\
             \x20                      [--no-confine] [--network=<reach>] [--container=<image>]\n\
             \x20                      [<name>] [[--] <cmd>...]\n",
        )
        .code(129);
}
