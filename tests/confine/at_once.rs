//! Several commands in one sandbox at once: none of them lays a trap for another.

use std::process::{Child, Stdio};

use crate::fixture::cell::Cell;
use crate::fixture::process::{finished, line_of};

/// Starts a command in the background of the test that waits.
fn started(cell: &Cell, level: &str) -> Child {
    let script = "echo ready >ready; exec sleep 600";
    let mut command = cell.sandbox(&["run", level, "box", "--", "sh", "-c", script]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(line_of(&cell.lab.at("box/ready")), "ready\n");
    child
}

fn stop(cell: &Cell, mut child: Child) {
    let output = finished(&mut cell.sandbox(&["stop", "box"]));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    child.wait().unwrap();
    std::fs::remove_file(cell.lab.at("box/ready")).unwrap();
}

/// Without mounts a command can put a symlink in the place of what is mounted for another.
#[test]
fn nothing_is_confined_beside_a_command_of_another_level() {
    let Some(cell) = Cell::new() else { return };
    for (level, other, why) in [
        ("--confine=landlock", "--confine", "a command runs there with '--confine=landlock'"),
        (
            "--confine=landlock",
            "--confine=landlock",
            "a command runs there with '--confine=landlock'",
        ),
        ("--confine", "--confine=landlock", "another command runs there with another level"),
    ] {
        let child = started(&cell, level);
        let output = finished(&mut cell.sandbox(&["run", other, "box", "--", "touch", "ran"]));
        let stderr = String::from_utf8(output.stderr).unwrap();
        let wanted = format!("error: cannot confine 'box': {why}\nhint: git sandbox stop box\n");
        assert!(stderr.ends_with(&wanted), "{level} {other}: {stderr}");
        assert_eq!(output.status.code(), Some(1));
        assert!(!cell.lab.at("box/ran").exists());
        stop(&cell, child);
    }
    let child = started(&cell, "--confine");
    assert_eq!(cell.confined(&[], "git log -1 --format=%s").stdout, b"one\n");
    stop(&cell, child);
    // One after the other they can.
    for level in ["--confine=landlock", "--confine"] {
        assert_eq!(cell.confined(&[level], "git log -1 --format=%s").stdout, b"one\n");
    }
}
