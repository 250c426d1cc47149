//! Signals: what a runner passes on to its command, and whom `stop` ends.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;

use crate::fixture::built::program_word;
use crate::fixture::lab::Lab;
use crate::fixture::process::{ended, gone, is_alive, is_suspended, signal, until};
use crate::fixture::run::without_ids;
use crate::fixture::state::private;

const ONE: &str = "stopped 1 process in sandbox 'box'\n";
const NONE: &str = "nothing runs in sandbox 'box'\n";

/// The words of a waiter as `run` takes them.
fn words(waiter: &[String; 4]) -> Vec<&str> {
    waiter.iter().map(String::as_str).collect()
}

/// Starts a waiter called `box` in the background of `box`. Returns the supervisor's process id.
fn start_in_background(lab: &Lab, variable: &str, value: &str) -> u32 {
    let waiter = lab.waiter("box");
    let run = lab.run(&[&["run", "--background", "box", "--"], &words(&waiter)[..]].concat());
    let output = run.env(variable, value).output();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let line = stderr.lines().next().unwrap();
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

#[test]
fn term_and_hup_are_passed_on_and_the_command_is_waited_for() {
    for (sent, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let (lab, _) = Lab::with_box();
        let (child, pid) = lab.start_waiter("box");
        signal(child.id(), sent);
        assert_eq!(ended(child).status.code(), Some(code));
        assert!(!is_alive(pid));
        lab.is_free();
    }
}

#[test]
fn a_command_may_answer_a_signal_in_its_own_way() {
    let (lab, _) = Lab::with_box();
    let [_, _, script, _] = lab.waiter("box");
    let script = format!("trap 'echo bye; exit 9' TERM; {script}");
    let child = lab.start(&["run", "box", "--", "sh", "-c", &script, "box"]);
    lab.pid("box");
    signal(child.id(), Signal::TERM);
    let output = ended(child);
    assert_eq!((output.status.code(), output.stdout), (Some(9), b"bye\n".to_vec()));
}

#[test]
fn new_passes_signals_on_to_its_command_too() {
    let lab = Lab::new();
    let waiter = lab.waiter("box");
    let child = lab.start(&[&["new", "box", "--"], &words(&waiter)[..]].concat());
    let pid = lab.pid("box");
    signal(child.id(), Signal::TERM);
    assert_eq!(ended(child).status.code(), Some(143));
    assert!(!is_alive(pid));
    assert_eq!(lab.sandboxes(), ["box"]);
}

#[test]
fn a_supervisor_passes_term_on_and_writes_down_the_end() {
    let (lab, _) = Lab::with_box();
    let supervisor = start_in_background(&lab, "UNUSED", "");
    let pid = lab.pid("box");
    signal(supervisor, Signal::TERM);
    gone(supervisor);
    assert!(!is_alive(pid));
    let text = String::from_utf8(lab.run(&["show", "--log", "box"]).output().stdout).unwrap();
    assert!(text.ends_with(" exited with 143\n"), "{text}");
}

#[test]
fn stop_ends_a_supervisor_that_is_just_starting_its_command() {
    let (lab, _) = Lab::with_box();
    let supervisor = start_in_background(&lab, "GIT_SANDBOX_PAUSE_AT", "1");
    until("the supervisor waits", || is_suspended(supervisor));
    // It has the lock, and no command yet.
    let mut stop = lab.start(&["stop", "box"]);
    let pending = || {
        let status = fs::read_to_string(format!("/proc/{supervisor}/status")).unwrap();
        let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:")).unwrap();
        u64::from_str_radix(pending.trim(), 16).unwrap() & (1 << 14) != 0
    };
    until("stop has asked it to end", || pending() || stop.try_wait().unwrap().is_some());
    signal(supervisor, Signal::CONT);
    let output = ended(stop);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ONE));
    gone(supervisor);
    let text = String::from_utf8(lab.run(&["show", "--log", "box"]).output().stdout).unwrap();
    assert!(text.ends_with(" exited with 143\n"), "{text}");
    lab.is_free();
}

#[test]
fn stop_ends_what_a_command_started_and_cut_off_from_the_lock() {
    let (lab, _) = Lab::with_box();
    let waiter = lab.waiter("box");
    // Neither lock nor folder, but a child of one that has both.
    let script = "(cd /; exec 198>&-; exec \"$@\") & wait";
    let child =
        lab.start(&[&["run", "box", "bash", "-c", script, "bash"], &words(&waiter)[..]].concat());
    let pid = lab.pid("box");
    lab.run(&["stop", "box"]).stderr("stopped 2 processes in sandbox 'box'\n").ok();
    assert!(!is_alive(pid));
    assert_eq!(ended(child).status.code(), Some(143));
}

#[test]
fn stop_leaves_a_process_outside_alone_that_carries_the_sandboxs_variables() {
    let (lab, path) = Lab::with_box();
    let waiter = lab.waiter("outside");
    let mut command = lab.command("sh", &lab.home);
    command.args(&waiter[1..]).env("GIT_SANDBOX_PATH", &path).env("GIT_SANDBOX_NAME", "box");
    let mut outside = command.process_group(0).spawn().unwrap();
    let pid = lab.pid("outside");
    lab.run(&["stop", "box"]).stderr(NONE).ok();
    assert!(is_alive(pid));
    lab.go("outside", pid);
    outside.wait().unwrap();
}

#[test]
fn what_a_command_starts_in_another_sandbox_does_not_keep_its_own() {
    let (lab, _) = Lab::with_box();
    lab.new_sandbox(&["other"]);
    let waiter = lab.waiter("other");
    let inside = [program_word(), "run", "--background", "other", "--"];
    let output =
        lab.run(&[&["run", "box", "--"][..], &inside, &words(&waiter)[..]].concat()).output();
    assert_eq!(output.status.code(), Some(0));
    let pid = lab.pid("other");
    lab.run(&["stop", "box"]).stderr(NONE).ok();
    assert!(is_alive(pid));
    lab.is_free();
    lab.run(&["stop", "other"]).stderr("stopped 1 process in sandbox 'other'\n").ok();
    assert!(!is_alive(pid));
}

#[test]
fn a_command_whose_folder_was_deleted_is_named_and_ended() {
    let (lab, path) = Lab::with_box();
    let (child, pid) = lab.start_waiter("box");
    fs::remove_dir_all(&path).unwrap();
    let users = format!("{} git-sandbox, {pid} sh", child.id());
    for words in [&["doctor"][..], &["doctor", "--fix"]] {
        lab.run(words)
            .stdout(&format!(
                "$ROOT/box: its folder is gone, but something still runs in it: {users}\n"
            ))
            .stderr("hint: git sandbox stop box\n1 problem needs manual repair\n")
            .code(1);
    }
    lab.run(&["stop", "box"]).stderr(ONE).ok();
    assert_eq!(ended(child).status.code(), Some(143));
    assert!(!is_alive(pid));
}

#[test]
fn a_command_whose_sandbox_was_forgotten_is_named_and_ended() {
    let (lab, path) = Lab::with_box();
    let (child, pid) = lab.start_waiter("box");
    let entry = private(&lab.app(), "box");
    fs::remove_dir_all(&path).unwrap();
    lab.git(&["worktree", "prune"]);
    let users = format!("{} git-sandbox, {pid} sh", child.id());
    lab.run(&["doctor"])
        .stdout(&format!(
            "{}: the sandbox is gone, but something still runs in it: {users}\n",
            entry.display()
        ))
        .stderr("hint: git sandbox stop box\n1 problem needs manual repair\n")
        .code(1);
    lab.run(&["stop", "box"]).stderr("stopped 1 process in sandbox 'box', which is gone\n").ok();
    assert_eq!(ended(child).status.code(), Some(143));
    assert!(!is_alive(pid));
    lab.run(&["doctor"]).stderr("all is well\n").ok();
}

#[test]
fn stop_all_leaves_what_runs_in_a_removed_sandbox_of_another_repository() {
    let (lab, path) = Lab::with_box();
    let other = lab.init("other", &[]);
    let (child, pid) = lab.start_waiter("box");
    assert!(lab.run(&["rm", "--force", "--force", "box"]).output().status.success());
    assert!(!path.exists());
    lab.run_in(&other, &["doctor"]).stderr("all is well\n").ok();
    lab.run_in(&other, &["stop", "--all"]).ok();
    assert!(is_alive(pid));
    let output = lab.run_in(&other, &["stop", "box"]).output();
    assert_eq!(output.status.code(), Some(1));
    assert!(is_alive(pid));
    lab.go("box", pid);
    assert_eq!(ended(child).status.code(), Some(7));
}

#[test]
fn stop_all_ends_what_runs_in_a_sandbox_that_was_removed_by_force() {
    let (lab, path) = Lab::with_box();
    let (child, pid) = lab.start_waiter("box");
    assert!(lab.run(&["rm", "--force", "--force", "box"]).output().status.success());
    assert!(!path.exists());
    lab.run(&["stop", "--all"]).stderr("stopped 1 process in sandbox 'box', which is gone\n").ok();
    assert_eq!(ended(child).status.code(), Some(143));
    assert!(!is_alive(pid));
}

/// Runs a script of bash in a folder; its stdout, and that it said nothing else.
#[track_caller]
fn bash(lab: &Lab, dir: &Path, script: &str) -> String {
    let mut command = lab.command("bash", dir);
    command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let output = ended(command.spawn().unwrap());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{script}");
    without_ids(&String::from_utf8(output.stdout).unwrap(), "")
}

#[test]
fn the_pipeline_of_a_command_does_not_use_the_sandbox() {
    let (lab, path) = Lab::with_box();
    let script = "echo | git sandbox show --json | tee /dev/null | grep -A1 in_use | cat";
    assert_eq!(bash(&lab, &path, script), "  \"in_use\": [],\n  \"changes\": {\n");
    let script = "git sandbox rm box 2>&1 | (cd ../../.cache/git-sandbox/worktrees/app/box; cat)";
    let script = script.replace("../../", &format!("{}/", lab.home.display()));
    let removed = "removed 'box' (nothing to lose); undo with: git sandbox restore box-ID\n";
    assert_eq!(bash(&lab, &lab.app(), &script), removed);
    assert!(!path.exists());
}

#[test]
fn a_shell_that_has_its_end_of_the_pipeline_elsewhere_is_part_of_it() {
    let (lab, path) = Lab::with_box();
    // So does a shell that is about to become a command of the pipeline.
    let script = format!(
        "mkfifo \"$HOME/ready\"; {{ read x <\"$HOME/ready\"; git sandbox show box --json; }} | \
         {{ exec 3<&0 0</dev/null; cd {}; echo >\"$HOME/ready\"; \
         while read -r -u 3 line; do case $line in *in_use*) echo \"$line\" ;; esac; done; }}",
        path.display()
    );
    assert_eq!(bash(&lab, &lab.app(), &script), "\"in_use\": [],\n");
}

#[test]
fn the_pipeline_of_merge_does_not_keep_the_sandbox() {
    let (lab, path) = Lab::with_box();
    lab.commit(&path, "new", "new\n");
    let script = format!("git sandbox merge box 2>&1 | (cd {}; tail -1)", path.display());
    let removed = "removed 'box' (nothing to lose); undo with: git sandbox restore box-ID\n";
    assert_eq!(bash(&lab, &lab.app(), &script), removed);
    assert!(!path.exists());
}

#[test]
fn a_job_beside_a_command_in_its_pipeline_uses_the_sandbox() {
    let (lab, path) = Lab::with_box();
    let waiter = lab.waiter("job");
    // It writes to the same pipe as the command that asks, in the same process group.
    let script = format!(
        "({{ cd {}; exec sh -c '{}' job; }} & read x <\"$HOME/ready\"; \
         git sandbox rm box 2>&1; : >\"$HOME/job.go\") | cat",
        path.display(),
        waiter[2]
    );
    lab.pipe("ready");
    let mut command = lab.command("bash", &lab.app());
    command.args(["-c", &script]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.process_group(0).spawn().unwrap();
    let pid = lab.pid("job");
    fs::write(lab.home.join("ready"), "\n").unwrap();
    let said = String::from_utf8(ended(child).stdout).unwrap();
    assert_eq!(
        said,
        format!(
            "error: cannot remove 'box': in use by {pid} sh\n\
             hint: to end what was started there: git sandbox stop --rm box\n\
             hint: to move it to the trash as it is: git sandbox rm --force --force box\n"
        )
    );
    assert!(path.exists());
}
