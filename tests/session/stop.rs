//! `git sandbox stop`: what was started in a sandbox ends; the sandbox stays.

use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::fixture::built::program_word;
use crate::fixture::files::write;
use crate::fixture::lab::Lab;
use crate::fixture::process::{ended, gone, is_alive, patience, signal};
use crate::fixture::tools::have;
use crate::fixture::trash::{REMOVED, trashed};

const ONE: &str = "stopped 1 process in sandbox 'box'\n";

/// The words of a waiter that does not heed TERM, or says that it got it.
fn trapping(lab: &Lab, trap: &str) -> Vec<String> {
    let [sh, c, script, name] = lab.waiter("box");
    vec![sh, c, format!("trap {trap} TERM; {script}"), name]
}

fn run_box(lab: &Lab, words: &[String]) -> (std::process::Child, u32) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let child = lab.start(&[&["run", "box", "--"], &words[..]].concat());
    let pid = lab.pid("box");
    (child, pid)
}

#[test]
fn stop_ends_the_command_and_keeps_the_sandbox() {
    let (lab, path) = Lab::with_box();
    let (child, pid) = lab.start_waiter("box");
    write(&path.join("new"), "work\n");
    let before = lab.snapshot();
    lab.run(&["stop", "box"]).stderr(ONE).ok();
    assert!(!is_alive(pid));
    assert_eq!(ended(child).status.code(), Some(143));
    assert_eq!(lab.snapshot(), before);
    assert_eq!(lab.git_in(&path, &["status", "--porcelain"]), "?? new");
}

#[test]
fn stop_asks_before_it_kills() {
    let (lab, _) = Lab::with_box();
    let (child, _) = run_box(&lab, &trapping(&lab, "'echo bye; exit 9'"));
    lab.run(&["stop", "box"]).stderr(ONE).ok();
    let output = ended(child);
    assert_eq!((output.status.code(), output.stdout), (Some(9), b"bye\n".to_vec()));
}

#[test]
fn stop_kills_what_does_not_heed() {
    let (lab, _) = Lab::with_box();
    let (child, pid) = run_box(&lab, &trapping(&lab, "''"));
    let start = Instant::now();
    lab.run(&["stop", "--timeout", "1", "box"]).stderr(ONE).ok();
    let took = start.elapsed();
    assert!(!is_alive(pid));
    assert_eq!(ended(child).status.code(), Some(137));
    assert!(took >= Duration::from_secs(1) && took < patience() * 9 / 120, "{took:?}");
}

#[test]
fn stop_ends_grandchildren_in_sessions_of_their_own() {
    let (lab, _) = Lab::with_box();
    let words = lab.waiter("box");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let script = "setsid \"$@\" >/dev/null 2>&1 & exit 0";
    let child = lab.start(&[&["run", "box", "sh", "-c", script, "sh"], &words[..]].concat());
    assert_eq!(ended(child).status.code(), Some(0));
    let pid = lab.pid("box");
    lab.run(&["stop", "box"]).stderr(ONE).ok();
    assert!(!is_alive(pid));
    lab.is_free();
}

/// A daemon closes what it inherited, and its parent ends: only its session tells whose it is.
#[test]
fn stop_ends_what_has_neither_the_lock_nor_a_parent_in_the_same_session() {
    if !have("python3") {
        return;
    }
    let (lab, _) = Lab::with_box();
    let words = lab.waiter("box");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let leader = "import os, signal, subprocess, sys\n\
                  if os.fork() == 0:\n\
                  \x20   subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)\n\
                  \x20   os._exit(0)\n\
                  os.wait()\n\
                  signal.pause()";
    let script = "setsid python3 -c \"$@\" >/dev/null 2>&1 & exit 0";
    let run = ["run", "box", "sh", "-c", script, "sh", leader];
    let child = lab.start(&[&run[..], &words[..]].concat());
    assert_eq!(ended(child).status.code(), Some(0));
    let pid = lab.pid("box");
    lab.run(&["stop", "box"]).stderr("stopped 2 processes in sandbox 'box'\n").ok();
    assert!(!is_alive(pid));
}

#[test]
fn stop_ends_a_background_command_and_its_supervisor() {
    let (lab, _) = Lab::with_box();
    let words = lab.waiter("box");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = lab.run(&[&["run", "--background", "box"], &words[..]].concat()).output();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let supervisor = stderr.lines().next().unwrap().rsplit_once(' ').unwrap().1.parse().unwrap();
    let pid = lab.pid("box");
    lab.run(&["stop", "box"]).stderr(ONE).ok();
    assert!(!is_alive(pid) && !is_alive(supervisor));
    let text = String::from_utf8(lab.run(&["show", "--log", "box"]).output().stdout).unwrap();
    assert!(text.ends_with(" exited with 143\n"), "{text}");
    lab.is_free();
}

#[test]
fn stop_ends_all_sessions_of_one_sandbox_and_none_of_another() {
    let (lab, _) = Lab::with_box();
    lab.new_sandbox(&["other"]);
    let (first, one) = lab.start_waiter("box");
    let words = lab.waiter("second");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let second = lab.start(&[&["run", "box"], &words[..]].concat());
    let two = lab.pid("second");
    let (third, three) = lab.start_waiter("other");
    lab.run(&["stop", "box"]).stderr("stopped 2 processes in sandbox 'box'\n").ok();
    assert!(!is_alive(one) && !is_alive(two) && is_alive(three));
    assert_eq!([first, second].map(|child| ended(child).status.code()), [Some(143); 2]);
    lab.go("other", three);
    assert_eq!(ended(third).status.code(), Some(7));
}

#[test]
fn stop_where_nothing_runs_is_no_failure() {
    let (lab, path) = Lab::with_box();
    let before = lab.snapshot();
    lab.run(&["stop", "box"]).stderr("nothing runs in sandbox 'box'\n").ok();
    lab.run(&["stop", "--all"]).ok();
    assert_eq!(lab.snapshot(), before);
    assert!(path.exists());
    lab.run(&["stop", "unknown"])
        .stderr(
            "error: no sandbox is called 'unknown'\n\
             hint: 'git sandbox list' shows what there is\n",
        )
        .refused();
    lab.run(&["stop"])
        .stderr(
            "error: not inside a sandbox, and none was named\n\
             hint: name one that 'git sandbox list' shows\n",
        )
        .refused();
}

#[test]
fn stop_takes_several_names_and_knows_all_before_it_ends_one() {
    let (lab, _) = Lab::with_box();
    lab.new_sandbox(&["other"]);
    let (first, one) = lab.start_waiter("box");
    let (second, two) = lab.start_waiter("other");
    lab.run(&["stop", "box", "unknown", "other"])
        .stderr(
            "error: no sandbox is called 'unknown'\n\
             hint: 'git sandbox list' shows what there is\n",
        )
        .code(1);
    assert!(is_alive(one) && is_alive(two));
    lab.run(&["stop", "box", "other"])
        .stderr("stopped 1 process in sandbox 'box'\nstopped 1 process in sandbox 'other'\n")
        .ok();
    assert_eq!([first, second].map(|child| ended(child).status.code()), [Some(143); 2]);
    assert_eq!(lab.sandboxes(), ["box", "other"]);
}

#[test]
fn stop_all_ends_what_runs_in_every_sandbox() {
    let (lab, _) = Lab::with_box();
    lab.new_sandbox(&["idle"]);
    lab.new_sandbox(&["other"]);
    let (first, _) = lab.start_waiter("box");
    let (second, _) = lab.start_waiter("other");
    lab.run(&["stop", "--all"])
        .stderr("stopped 1 process in sandbox 'box'\nstopped 1 process in sandbox 'other'\n")
        .ok();
    assert_eq!([first, second].map(|child| ended(child).status.code()), [Some(143); 2]);
    assert_eq!(lab.sandboxes(), ["box", "idle", "other"]);
    let usage = "usage: git sandbox stop [--rm] [--force] [--release] [--timeout=<seconds>]\n\
                 \x20                       [--all] [--root=<folder>] [<name>...]\n";
    lab.run(&["stop", "--all", "box"])
        .stderr(&format!("error: names and '--all' cannot be used together\n{usage}"))
        .code(129);
    lab.run(&["stop", "--force", "box"])
        .stderr(&format!("error: option '--force' needs '--rm'\n{usage}"))
        .code(129);
}

#[test]
fn stop_leaves_a_foreign_shell_in_the_folder_alone() {
    let (lab, path) = Lab::with_box();
    let words = lab.waiter("shell");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut shell = lab.foreign(&path, &words);
    let pid = lab.pid("shell");
    // It is named, and how to end it.
    let other = format!(
        "'box' is in use by {pid} sh, not started by git sandbox\n\
         hint: kill {pid}\n"
    );
    lab.run(&["stop", "box"]).stderr(&other).ok();
    lab.run(&["stop", "--all"]).stderr(&other).ok();
    let (child, _) = lab.start_waiter("box");
    lab.run(&["stop", "box"]).stderr(&format!("{ONE}{other}")).ok();
    assert_eq!(ended(child).status.code(), Some(143));
    lab.run(&["stop", "--rm", "--force", "box"])
        .stderr(&format!(
            "warning: cannot remove sandbox 'box': in use by {pid} sh\nhint: kill {pid}\n"
        ))
        .ok();
    assert!(is_alive(pid) && path.exists());
    lab.go("shell", pid);
    shell.wait().unwrap();
}

/// A script that starts `run` and goes on after it, all in one process group.
const SCRIPT: &str = "\"$@\"; echo \"and went on after $?\"";

#[test]
fn stop_does_not_end_the_script_that_called_run() {
    let (lab, _) = Lab::with_box();
    let words = lab.waiter("box");
    let mut command = lab.command("sh", &lab.app());
    command.args(["-c", SCRIPT, "sh", program_word(), "run", "box"]).args(&words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let script = command.process_group(0).spawn().unwrap();
    lab.pid("box");
    lab.run(&["stop", "box"]).stderr(ONE).ok();
    let output = ended(script);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), &*said), (Some(0), "and went on after 143\n"));
}

#[test]
fn stop_from_inside_ends_the_others_and_not_its_callers() {
    let (lab, path) = Lab::with_box();
    let (child, pid) = lab.start_waiter("box");
    lab.run(&["run", "box", "sh", "-c", "git sandbox stop; echo \"still here after $?\""])
        .stdout("still here after 0\n")
        .stderr(ONE)
        .ok();
    assert!(!is_alive(pid));
    assert_eq!(ended(child).status.code(), Some(143));
    lab.run_in(&path, &["stop", "--rm"])
        .stderr(
            "nothing runs in sandbox 'box'\n\
             warning: cannot remove sandbox 'box': you are in it\n",
        )
        .ok();
    assert!(path.exists());
}

#[test]
fn stop_rm_removes_what_has_nothing_to_lose() {
    let (lab, path) = Lab::with_box();
    let (child, _) = lab.start_waiter("box");
    lab.run(&["stop", "--rm", "box"]).stderr(&format!("{ONE}{REMOVED}")).ok();
    assert_eq!(ended(child).status.code(), Some(143));
    assert!(!path.exists());
    assert_eq!((lab.branches(), trashed(&lab).len()), (vec!["box".into(), "main".into()], 1));
    lab.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
}

#[test]
fn stop_rm_keeps_work_with_a_warning() {
    let (lab, path) = Lab::with_box();
    let (child, _) = lab.start_waiter("box");
    write(&path.join("file"), "edited\n");
    write(&path.join("new"), "new\n");
    lab.run(&["stop", "--rm", "box"])
        .stderr(&format!(
            "{ONE}warning: cannot remove sandbox 'box': worktree has 2 uncommitted changes\n"
        ))
        .ok();
    assert_eq!(ended(child).status.code(), Some(143));
    assert_eq!(lab.git_in(&path, &["status", "--porcelain"]), " M file\n?? new");
    assert_eq!(trashed(&lab).len(), 0);
    lab.run(&["stop", "--rm", "--force", "box"])
        .stderr(
            "nothing runs in sandbox 'box'\n\
             removed 'box' (2 uncommitted changes); undo with: git sandbox restore box-ID\n",
        )
        .ok();
    assert!(!path.exists());
    lab.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    assert_eq!(std::fs::read_to_string(path.join("new")).unwrap(), "new\n");
}

#[test]
fn stop_rm_of_all_removes_the_clean_ones() {
    let (lab, path) = Lab::with_box();
    let other = lab.new_sandbox(&["other"]);
    write(&other.join("new"), "new\n");
    let (child, _) = lab.start_waiter("box");
    lab.run(&["stop", "--all", "--rm"])
        .stderr(&format!(
            "{ONE}{REMOVED}\
             warning: cannot remove sandbox 'other': worktree has 1 uncommitted change\n"
        ))
        .ok();
    assert_eq!(ended(child).status.code(), Some(143));
    assert!(!path.exists() && other.join("new").exists());
}

#[test]
fn stop_rm_of_all_keeps_worktrees_outside_the_root() {
    let (lab, path) = Lab::with_box();
    let parent = lab.home.join("elsewhere");
    let outside = lab.new_sandbox(&["outside", "--dir", parent.to_str().unwrap()]);
    let plain = lab.home.join("plain");
    lab.git(&["worktree", "add", "--quiet", "-b", "plain", plain.to_str().unwrap()]);
    let (child, pid) = lab.start_waiter("outside");
    lab.run(&["stop", "--all", "--rm"])
        .stderr(&format!(
            "stopped 1 process in sandbox 'outside'\n\
             kept 'outside': it is outside the root\n\
             kept 'plain': it is outside the root\n{REMOVED}"
        ))
        .ok();
    assert_eq!(ended(child).status.code(), Some(143));
    assert!(!is_alive(pid) && !path.exists());
    assert!(outside.join("file").exists() && plain.join("file").exists());
    // By name it is what was meant.
    lab.run(&["stop", "--rm", "outside"])
        .stderr(
            "nothing runs in sandbox 'outside'\n\
             removed 'outside' (nothing to lose); undo with: git sandbox restore outside-ID\n",
        )
        .ok();
    assert!(!outside.exists());
}

#[test]
fn stop_ends_what_was_suspended() {
    let (lab, _) = Lab::with_box();
    let (child, pid) = lab.start_waiter("box");
    signal(pid, Signal::STOP);
    lab.run(&["stop", "--timeout=1", "box"]).stderr(ONE).ok();
    gone(pid);
    assert!(matches!(ended(child).status.code(), Some(137 | 143)));
}

#[test]
fn who_waits_for_a_command_that_is_killed_writes_down_how_it_ended() {
    let (lab, _) = Lab::with_box();
    let (runner, pid) = run_box(&lab, &trapping(&lab, "''"));
    // It comes to nothing before the command is gone.
    signal(runner.id(), Signal::STOP);
    let mut stop = lab.start(&["stop", "--timeout", "1", "box"]);
    gone(pid);
    // Meanwhile `stop` looks many times, and must not end it.
    std::thread::sleep(Duration::from_millis(300));
    signal(runner.id(), Signal::CONT);
    assert_eq!(stop.wait().unwrap().code(), Some(0));
    assert_eq!(ended(runner).status.code(), Some(137));
    assert_eq!(lab.json(&["show", "box", "--json"])["run"]["exit"], 137);
}
