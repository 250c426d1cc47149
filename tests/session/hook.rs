//! `git sandbox hook claude`: worktrees that an agent asks for.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::json;

use crate::fixture::Test;
use crate::fixture::files::write;
use crate::fixture::lab::Lab;
use crate::fixture::process::ended;

/// Sends an event, from a folder.
fn send(test: &Test, dir: &Path, event: &serde_json::Value) -> Output {
    use std::os::unix::process::CommandExt;
    let mut command = test.command("git", dir);
    command.args(["sandbox", "hook", "claude"]).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    ended(child)
}

fn create(test: &Test, cwd: &Path, name: &str) -> Output {
    let event = json!({"session_id": "s", "transcript_path": "/t", "cwd": cwd,
                       "hook_event_name": "WorktreeCreate", "name": name});
    send(test, &test.home, &event)
}

fn remove(test: &Test, dir: &Path, path: &Path) -> Output {
    let event = json!({"session_id": "s", "transcript_path": "/t", "cwd": dir,
                       "hook_event_name": "WorktreeRemove", "worktree_path": path});
    send(test, dir, &event)
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_worktree_that_is_asked_for_is_a_sandbox_and_its_path_the_answer() {
    let test = Test::new();
    write(&test.app().join("sub/file"), "x\n");
    let path = test.at("bright-fox");
    let line = format!("{}\n", path.display());
    let made = format!("created sandbox '{}'\n", path.display());
    assert_eq!(
        said(&create(&test, &test.app().join("sub"), "bright-fox")),
        (Some(0), line.clone(), made)
    );
    assert!(path.join("file").exists());
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "bright-fox");
    // The same name is opened again.
    let again = format!("resumed sandbox '{}'\n", path.display());
    assert_eq!(said(&create(&test, &test.app(), "bright-fox")), (Some(0), line, again));
    assert_eq!(test.sandboxes(), ["bright-fox"]);
}

#[test]
fn what_cannot_be_made_is_a_failure_that_makes_nothing() {
    let test = Test::new();
    let before = test.snapshot();
    let (code, stdout, stderr) = said(&create(&test, &test.app(), "main"));
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.starts_with("error: branch 'main' is checked out in the main worktree\n"));
    let (code, stdout, _) = said(&create(&test, &test.home, "fix"));
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert_eq!(test.snapshot(), before);
}

#[test]
fn a_worktree_without_work_goes_with_its_agent_from_wherever() {
    for from in ["app", ".cache/git-sandbox/worktrees/app/fox", "."] {
        let test = Test::new();
        create(&test, &test.app(), "fox");
        let gone = (
            Some(0),
            String::new(),
            "removed 'fox' (nothing to lose); undo with: git sandbox restore fox-ID\n".to_owned(),
        );
        let (code, stdout, stderr) = said(&remove(&test, &test.home.join(from), &test.at("fox")));
        let stderr = crate::fixture::run::without_ids(&stderr, "");
        assert_eq!((code, stdout, stderr), gone, "{from}");
        assert!(!test.at("fox").exists());
        assert_eq!(test.branches(), ["fox", "main"]);
        // Told once more, there is nothing to do.
        let again = said(&remove(&test, &test.home, &test.at("fox")));
        assert_eq!(again, (Some(0), String::new(), String::new()));
    }
}

#[test]
fn the_agent_that_sits_in_it_does_not_keep_it() {
    let test = Test::new();
    create(&test, &test.app(), "fox");
    let event = json!({"hook_event_name": "WorktreeRemove", "worktree_path": test.at("fox"),
                       "cwd": test.at("fox")});
    let script = format!("echo '{event}' | git sandbox hook claude; echo $?");
    let output = test.command("sh", &test.at("fox")).args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "0\n");
    assert!(!test.at("fox").exists());
}

#[test]
fn a_worktree_with_work_stays_and_the_agent_can_end() {
    let test = Test::new();
    create(&test, &test.app(), "fox");
    write(&test.at("fox/new"), "work\n");
    let (code, _, stderr) = said(&remove(&test, &test.at("fox"), &test.at("fox")));
    assert_eq!(code, Some(0));
    assert_eq!(stderr, "kept sandbox 'fox': worktree has 1 uncommitted change\n");
    assert!(test.at("fox/new").exists());
}

#[test]
fn a_worktree_in_which_another_works_stays() {
    let lab = Lab::new();
    lab.new_sandbox(&["box"]);
    let (child, pid) = lab.start_waiter("box");
    let (code, _, stderr) = said(&remove(&lab, &lab.home, &lab.at("box")));
    assert_eq!((code, stderr), (Some(0), format!("kept sandbox 'box': in use by {pid} sh\n")));
    assert!(lab.at("box/file").exists());
    lab.go("box", pid);
    ended(child);
}

#[test]
fn what_is_no_sandbox_stays() {
    let test = Test::new();
    let outside = test.home.join("outside");
    test.git(&["worktree", "add", "--quiet", "-b", "out", &outside.to_string_lossy()]);
    for path in [&outside, &test.app()] {
        let (code, _, stderr) = said(&remove(&test, &test.home, path));
        assert_eq!(
            (code, stderr),
            (Some(0), format!("kept '{}': it is no sandbox\n", path.display()))
        );
        assert!(path.join("file").exists());
    }
}

#[test]
fn what_is_not_understood_is_said() {
    let test = Test::new();
    let lead = "error: cannot understand the event on stdin: ";
    for (event, why) in [
        (json!({"hook_event_name": "Stop"}), "'Stop' is none that is served\n"),
        (json!({"hook_event_name": "WorktreeCreate"}), "it has no 'name'\n"),
        (json!({"hook_event_name": "WorktreeRemove"}), "it has no 'worktree_path'\n"),
        (json!(7), "invalid type: integer `7`, expected struct Event at line 1 column 1\n"),
    ] {
        let (code, stdout, stderr) = said(&send(&test, &test.app(), &event));
        assert_eq!((code, stdout, stderr), (Some(1), String::new(), format!("{lead}{why}")));
    }
    let output = test.run(&["hook", "codex"]).output();
    assert_eq!(output.status.code(), Some(129));
}
