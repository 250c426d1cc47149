//! `sandbox.teardown`: commands that run in a sandbox before it goes.

use crate::fixture::Test;
use crate::fixture::process::{gone, kill, line_of};
use crate::fixture::time::set_day;
use crate::fixture::trash::trashed;

#[test]
fn teardown_commands_run_before_a_sandbox_goes() {
    let test = Test::new();
    test.git(&[
        "config",
        "sandbox.teardown",
        "echo \"$GIT_SANDBOX_NAME $PWD $GIT_SANDBOX_PORT\" >>\"$HOME/down\"",
    ]);
    test.git(&["config", "--add", "sandbox.teardown", "ls file >>\"$HOME/down\""]);
    test.new_sandbox(&["box"]);
    let port = String::from_utf8(
        test.run(&["run", "box", "printenv", "GIT_SANDBOX_PORT"]).output().stdout,
    );
    let down = || std::fs::read_to_string(test.home.join("down")).unwrap_or_default();
    test.run(&["rm", "--dry-run", "box"]).stderr("would remove 'box' (nothing to lose)\n").ok();
    assert_eq!(down(), "");
    test.run(&["rm", "box"])
        .stderr("removed 'box' (nothing to lose); undo with: git sandbox restore box-ID\n")
        .ok();
    assert_eq!(down(), format!("box {} {}file\n", test.at("box").display(), port.unwrap()));
}

#[test]
fn a_teardown_that_fails_keeps_the_sandbox_unless_forced() {
    let test = Test::new();
    test.git(&["config", "sandbox.teardown", "echo down >>../down; exit 3"]);
    test.git(&["config", "--add", "sandbox.teardown", "echo never >>../down"]);
    let path = test.new_sandbox(&["box"]);
    let why = "its teardown command 'echo down >>../down; exit 3' failed with 3";
    let before = test.snapshot();
    test.run(&["rm", "box"])
        .stderr(&format!(
            "error: cannot remove 'box': {why}\n\
             hint: to move it to the trash as it is: git sandbox rm --force box\n"
        ))
        .code(1);
    test.run(&["stop", "--rm", "box"])
        .stderr(&format!(
            "nothing runs in sandbox 'box'\nwarning: cannot remove sandbox 'box': {why}\n"
        ))
        .ok();
    assert_eq!(test.snapshot(), before);
    assert!(path.join("file").exists());
    set_day(&path, 2);
    test.run(&["reap", "--older-than", "5"])
        .stdout(&format!("box: kept: {why}\n"))
        .stderr("0 retired, 1 kept, 0 put away; 0.0 KiB can be freed\n")
        .ok();
    assert!(path.join("file").exists());
    test.run(&["rm", "--force", "box"])
        .stderr("removed 'box' (nothing to lose); undo with: git sandbox restore box-ID\n")
        .ok();
    assert!(!path.exists());
    assert_eq!(std::fs::read_to_string(test.root().join("down")).unwrap(), "down\n".repeat(4));
}

#[test]
fn a_teardown_runs_after_a_merge_and_keeps_what_it_fails_in() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    test.commit(&path, "new", "new\n");
    test.git(&["config", "sandbox.teardown", "exit 3"]);
    let output = test.run(&["merge", "box"]).output();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("its teardown command 'exit 3' failed with 3"), "{stderr}");
    assert!(path.join("new").exists() && test.app().join("new").exists());
    test.git(&["config", "sandbox.teardown", "exit 0"]);
    test.run(&["rm", "box"])
        .stderr("removed 'box' (nothing to lose); undo with: git sandbox restore box-ID\n")
        .ok();
}

#[test]
fn what_a_teardown_leaves_there_is_work_too() {
    let test = Test::new();
    test.git(&["config", "sandbox.teardown", "echo dump >dump"]);
    let path = test.new_sandbox(&["box"]);
    test.run(&["rm", "box"])
        .stderr(
            "error: cannot remove 'box': worktree has 1 uncommitted change\n\
             hint: to move it to the trash as it is: git sandbox rm --force box\n",
        )
        .code(1);
    assert!(path.join("dump").exists());
    test.run(&["rm", "--force", "box"])
        .stderr("removed 'box' (1 uncommitted change); undo with: git sandbox restore box-ID\n")
        .ok();
    assert!(trashed(&test)[0].join("tree/dump").exists());
}

#[test]
fn a_process_that_a_teardown_leaves_there_keeps_it() {
    let test = Test::new();
    let daemon = "sleep 600 >/dev/null 2>&1 & echo $! >\"$HOME/pid\"";
    test.git(&["config", "sandbox.teardown", daemon]);
    let path = test.new_sandbox(&["box"]);
    let output = test.run(&["rm", "--force", "box"]).output();
    let pid = line_of(&test.home.join("pid")).trim_end().to_owned();
    kill("KILL", &pid);
    gone(pid.parse().unwrap());
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        format!(
            "error: cannot remove 'box': in use by {pid} sleep\n\
             hint: to end what was started there: git sandbox stop --rm box\n\
             hint: to move it to the trash as it is: git sandbox rm --force --force box\n"
        )
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(path.join("file").exists() && trashed(&test).is_empty());
    test.git(&["config", "--unset", "sandbox.teardown"]);
    test.run(&["rm", "box"])
        .stderr("removed 'box' (nothing to lose); undo with: git sandbox restore box-ID\n")
        .ok();
    assert!(!path.exists());
}
