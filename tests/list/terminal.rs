//! `git sandbox list` on a terminal, before it has read everything.

use crate::repo::{Test, finished};

#[test]
fn on_a_terminal_lines_appear_while_others_are_still_read() {
    // Opens the gate once there are two lines, and says what was there by then.
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
early = until(lambda text: text.count(b'\\n') == 2)
open(sys.argv[1], 'w').close()
late = until(lambda text: False)
os.waitpid(pid, 0)
sys.stdout.buffer.write(early + b'the gate opens\\n' + late)
";
    let test = Test::new();
    for name in ["a", "b", "c"] {
        test.new_sandbox(&[name]);
    }
    let gate = test.home.join("gate");
    assert!(test.command("mkfifo", &test.home).arg(&gate).status().unwrap().success());
    let path = test.fake_git(&format!(
        "case \"$PWD $*\" in */b\\ *status*) cat '{}' ;; esac\nexec \"$GIT\" \"$@\"",
        gate.display()
    ));
    let mut command = test.command("python3", &test.app());
    command.args(["-c", PTY, gate.to_str().unwrap()]).env("PATH", path);
    let program = assert_cmd::cargo::cargo_bin!("git-sandbox");
    let output = finished(command.arg(program).args(["list", "--color=never"]));
    let wanted = "\
NAME  STATE       USED      EXPIRES
a     clean       just now  in 90 days
the gate opens
b     clean       just now  in 90 days
c     clean       just now  in 90 days
";
    assert_eq!(String::from_utf8_lossy(&output.stdout), wanted);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
