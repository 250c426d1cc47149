//! In use: what runs in a sandbox keeps it, however its runner ended, until it ends itself.

use crate::fixture::state::private;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use crate::fixture::lab::{Lab, in_words};
use crate::fixture::process::{ended, is_alive};
use crate::fixture::slow::Slow;

#[test]
fn a_command_that_runs_keeps_it() {
    let (lab, _) = Lab::with_box();
    let (child, pid) = lab.start_waiter("box");
    lab.is_in_use_by(&[(pid, "sh")]);
    lab.go("box", pid);
    assert_eq!(ended(child).status.code(), Some(7));
    lab.is_free();
}

#[test]
fn a_command_of_new_keeps_it_too() {
    let lab = Lab::new();
    let words = lab.waiter("box");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let child = lab.start(&[&["new", "box", "--"], &words[..]].concat());
    let pid = lab.pid("box");
    lab.is_in_use_by(&[(pid, "sh")]);
    lab.go("box", pid);
    assert_eq!(ended(child).status.code(), Some(7));
    lab.is_free();
}

#[test]
fn a_command_that_went_elsewhere_keeps_it() {
    let (lab, _) = Lab::with_box();
    let words = lab.waiter("box");
    let script = format!("cd / && {}", words[2]);
    let child = lab.start(&["run", "box", "sh", "-c", &script, "box"]);
    let pid = lab.pid("box");
    lab.is_in_use_by(&[(pid, "sh")]);
    lab.go("box", pid);
    ended(child);
    lab.is_free();
}

#[test]
fn a_command_whose_runner_was_killed_goes_on_and_keeps_it() {
    let (lab, _) = Lab::with_box();
    let words = lab.waiter("box");
    // Only the inherited lock tells.
    let script = format!("cd / && {}", words[2]);
    let mut child = lab.start(&["run", "box", "sh", "-c", &script, "box"]);
    let pid = lab.pid("box");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_alive(pid));
    lab.is_in_use_by(&[(pid, "sh")]);
    lab.go("box", pid);
    lab.is_free();
}

#[test]
fn a_command_that_asks_itself_from_elsewhere_keeps_it() {
    let (lab, path) = Lab::with_box();
    let script = "echo $$; cd \"$HOME/app\" && git sandbox rm box 2>&1; :";
    let output = lab.run(&["run", "box", "sh", "-c", script]).output();
    let said = String::from_utf8(output.stdout).unwrap();
    let (pid, said) = said.split_once('\n').unwrap();
    let lead = format!("error: cannot remove 'box': in use by {pid} sh\n");
    assert!(said.starts_with(&lead), "{said}");
    assert!(path.exists());
    lab.is_free();
}

#[test]
fn a_grandchild_that_dropped_its_descriptors_keeps_it() {
    let (lab, _) = Lab::with_box();
    // Only its folder tells.
    let script = "for fd in /proc/self/fd/*; do fd=${fd##*/}; \
                  case $fd in 0 | 1 | 2) ;; *) eval \"exec $fd>&-\" ;; esac; done; \
                  setsid \"$@\" >/dev/null 2>&1 </dev/null &";
    let words = lab.waiter("box");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let child = lab.start(&[&["run", "box", "bash", "-c", script, "bash"], &words[..]].concat());
    let pid = lab.pid("box");
    assert_eq!(ended(child).status.code(), Some(0));
    let lock = private(&lab.app(), "box").join("sandbox.lock");
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    assert!(open.filter_map(|fd| fd.path().read_link().ok()).all(|path| path != lock));
    lab.is_in_use_by(&[(pid, "sh")]);
    lab.go("box", pid);
    lab.is_free();
}

#[test]
fn a_foreign_shell_that_sits_there_keeps_it() {
    let (lab, path) = Lab::with_box();
    let words = lab.waiter("shell");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut child = lab.foreign(&path, &words);
    let pid = lab.pid("shell");
    assert_eq!(child.id(), pid);
    lab.is_in_use_by(&[(pid, "sh")]);
    lab.go("shell", pid);
    child.wait().unwrap();
    lab.is_free();
}

#[test]
fn the_runner_ends_with_its_command_and_a_daemon_keeps_it() {
    let (lab, _) = Lab::with_box();
    let words = lab.waiter("box");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // Without our stdout, or nobody could see that the runner ended.
    let script = "cd /; \"$@\" >/dev/null 2>&1 & exit 4";
    let child = lab.start(&[&["run", "box", "sh", "-c", script, "sh"], &words[..]].concat());
    let output = ended(child);
    assert_eq!(output.status.code(), Some(4));
    let pid = lab.pid("box");
    lab.is_in_use_by(&[(pid, "sh")]);
    lab.go("box", pid);
    lab.is_free();
}

#[test]
fn two_sessions_share_one() {
    let (lab, _) = Lab::with_box();
    let (first, pid) = lab.start_waiter("box");
    let words = lab.waiter("other");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let second = lab.start(&[&["new", "box", "--"], &words[..]].concat());
    let other = lab.pid("other");
    let all = [(pid, "sh"), (other, "sh")];
    lab.is_in_use_by(&all);
    lab.go("box", pid);
    assert_eq!(ended(first).status.code(), Some(7));
    lab.is_in_use_by(&all[1..]);
    lab.go("other", other);
    assert_eq!(ended(second).status.code(), Some(7));
    lab.is_free();
}

#[test]
fn one_in_use_keeps_no_other() {
    let (lab, _) = Lab::with_box();
    lab.new_sandbox(&["other"]);
    let (child, pid) = lab.start_waiter("box");
    lab.run(&["rm", "other"])
        .stderr("removed 'other' (nothing to lose); undo with: git sandbox restore other-ID\n")
        .ok();
    lab.is_in_use_by(&[(pid, "sh")]);
    lab.go("box", pid);
    ended(child);
}

#[test]
fn show_names_who_uses_it() {
    let (lab, _) = Lab::with_box();
    let (child, pid) = lab.start_waiter("box");
    let users = in_words(&[(pid, "sh")]);
    let text = String::from_utf8(lab.run(&["show", "box"]).output().stdout).unwrap();
    for line in [format!("in use by   {users}"), format!("removal     refused: in use by {users}")]
    {
        assert!(text.lines().any(|got| got == line), "{line} in\n{text}");
    }
    for words in [&["show", "box", "--json"][..], &["list", "--json"]] {
        let facts = lab.json(words);
        let facts = facts.get(0).unwrap_or(&facts);
        let has = |pid: u32, command: &str| {
            let user = serde_json::json!({"pid": pid, "command": command});
            facts["in_use"].as_array().unwrap().contains(&user)
        };
        // The runner does not count beside its command.
        assert!(has(pid, "sh") && !has(child.id(), "git-sandbox"), "{facts}");
        assert_eq!(facts["in_use"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn list_names_who_uses_it() {
    let (lab, _) = Lab::with_box();
    let (child, pid) = lab.start_waiter("box");
    let text = String::from_utf8(lab.run(&["list"]).output().stdout).unwrap();
    assert!(text.contains("  sh 0s  "), "{text}");
    lab.go("box", pid);
    ended(child);
    // One that was not started by us is named too.
    let mut sitter = lab.foreign(&lab.at("box"), &["sleep", "600"]);
    let text = String::from_utf8(lab.run(&["list"]).output().stdout).unwrap();
    assert!(text.contains("  box   sleep  "), "{text}");
    sitter.kill().unwrap();
    sitter.wait().unwrap();
}

#[test]
fn a_command_waits_for_a_sandbox_that_is_being_made() {
    let slow = Slow::new();
    let test = &slow.test;
    let start = |words: &[&str]| {
        let mut command = test.command("git", &test.app());
        command.arg("sandbox").args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).spawn().unwrap()
    };
    let first = start(&["new", "fix"]);
    slow.runs();
    slow.quick();
    let mut second = start(&["run", "fix", "cat", "slow"]);
    let mut stderr = BufReader::new(second.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("waiting for process "), "{line}");
    slow.go();
    let output = ended(second);
    assert_eq!((output.status.code(), output.stdout), (Some(0), b"slow\n".to_vec()));
    assert_eq!(ended(first).status.code(), Some(0));
}
