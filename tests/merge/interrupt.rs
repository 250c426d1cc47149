//! Ctrl-C in the middle of a merge, and what a terminal shows meanwhile.

use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

use crate::fixture::built::program;
use crate::fixture::diff::same;
use crate::fixture::files::write;
use crate::fixture::merge::{Scene, Target};
use crate::fixture::process::{close_pipe, ended, finished, kill, read_pipe};

/// Says that it runs, and waits until it may go on.
const WAITS: &str = "echo >\"$HOME/runs\"; cat <\"$HOME/go\" >&2";

fn with_pipes(scene: &Scene) {
    for pipe in ["runs", "go"] {
        scene.test.pipe(pipe);
    }
}

/// Starts a merge. Returns once it waits.
#[track_caller]
fn start(scene: &Scene, how: &[&str]) -> Child {
    let program = program();
    let mut command = scene.test.command(program, &scene.test.app());
    command.args(["merge", "box"]).args(how).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.process_group(0).spawn().unwrap();
    assert_eq!(read_pipe(&scene.test.home.join("runs")), "\n");
    child
}

/// Interrupts a merge that waits, all its processes or the program alone: it must change nothing.
#[track_caller]
fn is_taken_back(scene: &Scene, how: &[&str], group: bool) {
    with_pipes(scene);
    let before = scene.state();
    let child = start(scene, how);
    let id = child.id();
    kill("INT", &if group { format!("-{id}") } else { id.to_string() });
    if !group {
        close_pipe(&scene.test.home.join("go"));
    }
    let output = ended(child);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.ends_with("error: interrupted\n"), "{stderr}");
    for pipe in ["runs", "go"] {
        std::fs::remove_file(scene.test.home.join(pipe)).unwrap();
    }
    same(&scene.state(), &before);
    scene.nothing_is_left();
}

#[test]
fn an_interrupt_in_a_hook_changes_nothing() {
    for group in [true, false] {
        for how in [&[][..], &["--squash"]] {
            let scene = Scene::diverged(Target::Here);
            scene.test.script("app/.git/hooks/commit-msg", WAITS);
            is_taken_back(&scene, how, group);
        }
    }
}

/// Its shell is gone only a moment after git is.
#[test]
fn an_interrupt_in_a_hook_that_ends_after_git_changes_nothing() {
    let scene = Scene::diverged(Target::Here);
    let lingers =
        "{ trap '' INT; while kill -0 $PPID; do sleep 0.01; done; sleep 0.3; } >/dev/null 2>&1 &";
    scene.test.script("app/.git/hooks/commit-msg", &format!("{lingers}\n{WAITS}"));
    is_taken_back(&scene, &[], true);
}

#[test]
fn an_interrupt_while_files_are_written_takes_them_back() {
    let scene = Scene::new(Target::Here);
    let test = &scene.test;
    for name in ["a", "deep/new", "zz"] {
        write(&scene.path.join(name), "changed\n");
    }
    test.git_in(&scene.path, &["add", "--all"]);
    test.git_in(&scene.path, &["commit", "--quiet", "-m", "more"]);
    write(&test.app().join(".git/info/attributes"), "zz filter=slow\n");
    let smudge = test.script("smudge", &format!("{WAITS}; cat"));
    test.git(&["config", "filter.slow.smudge", &smudge.to_string_lossy()]);
    test.git(&["config", "filter.slow.clean", "cat"]);
    test.git(&["config", "filter.slow.required", "true"]);
    write(&test.app().join("b"), "edited\n");
    is_taken_back(&scene, &["--keep"], true);
}

#[test]
fn a_terminal_is_told_of_the_scratch_once_it_takes_long() {
    // Opens the gate once there is a line, and says what was there by then.
    const PTY: &str = "
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
def until(enough):
    text = b''
    while not enough(text):
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            piece = b''
        if not piece:
            break
        text += piece
    return text.replace(b'\\r\\n', b'\\n')
early = until(lambda text: text.count(b'\\n') == 1)
open(sys.argv[1], 'w').close()
late = until(lambda text: False)
os.waitpid(pid, 0)
sys.stdout.buffer.write(early + b'the gate opens\\n' + late)
";
    let scene = Scene::diverged(Target::Here);
    let gate = scene.test.pipe("gate");
    let path = scene.test.fake_git(&format!(
        "case \"$PWD $*\" in */.merge-*reset*) cat '{}' ;; esac\nexec \"$GIT\" \"$@\"",
        gate.display()
    ));
    let mut command = scene.test.command("python3", &scene.test.app());
    command.args(["-c", PTY, gate.to_str().unwrap()]).env("PATH", path);
    let program = program();
    let output = finished(command.arg(program).args(["merge", "box", "--keep"]));
    let wanted = "checking out a scratch worktree to merge in\nthe gate opens\n\
                  merged 'box' into 'dev': 2 commits, with a merge commit\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), wanted);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
