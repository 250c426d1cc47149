//! `git sandbox list` on a terminal: before it has read everything, again and again, narrow and wide.

use crate::fixture::Test;
use crate::fixture::built::program;
use crate::fixture::files::write;
use crate::fixture::process::{Sleeper, finished};
use crate::fixture::time::set_day;
use crate::fixture::usage::alone;

/// Starts a program on a pseudo-terminal of a size, and runs a script about it. The script has `until`,
/// which reads the screen until a text appears or, with `None`, until the program has ended.
const PTY: &str = "
import fcntl, os, pty, signal, struct, sys, termios
columns, rows, script = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
    os.execvp(sys.argv[4], sys.argv[4:])
def until(wanted):
    text = b''
    while wanted is None or wanted not in text:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            piece = b''
        if not piece:
            break
        text += piece
    return text.replace(b'\\r\\n', b'\\n')
say = sys.stdout.buffer.write
exec(script)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
";

/// What the script says while `git-sandbox ...` runs on a terminal of this size. It must exit with 0.
#[track_caller]
fn on_terminal(
    test: &Test,
    size: (u32, u32),
    script: &str,
    words: &[&str],
    environment: &[(&str, &str)],
) -> String {
    let mut command = test.command("python3", &test.app());
    let (columns, rows) = (size.0.to_string(), size.1.to_string());
    command.args(["-c", PTY, &columns, &rows, script]);
    command.arg(program()).args(words).arg("--color=never");
    command.env("TERM", "xterm").envs(environment.iter().copied());
    let output = finished(&mut command);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}{errors}", output.status);
    said
}

/// The last table on a terminal of this width, without the summary.
#[track_caller]
fn table(test: &Test, columns: u32, words: &[&str], environment: &[(&str, &str)]) -> String {
    // On a terminal that cannot be written over nothing is shown before it is complete.
    let environment = [environment, &[("TERM", "dumb")]].concat();
    on_terminal(test, (columns, 50), "say(until(None))", words, &environment)
}

#[test]
fn rows_appear_at_once_and_are_filled_in() {
    let test = Test::new();
    for name in ["a", "b", "c"] {
        test.new_sandbox(&[name, "A", "task"]);
    }
    write(&test.at("b").join("new"), "");
    let gate = test.home.join("gate");
    let path = test.fake_git(&format!(
        "case \"$*\" in *status*) while [ ! -e {} ]; do sleep 0.01; done ;; esac\n\
         exec \"$GIT\" \"$@\"",
        gate.display()
    ));
    let script = format!(
        "say(until(b'task\\r\\n\\r\\n') + b'the gate opens\\n')\n\
         open('{}', 'w').close()\nsay(until(None))",
        gate.display()
    );
    let said = on_terminal(&test, (60, 24), &script, &["list"], &[("PATH", &path)]);
    let (early, late) = said.split_once("the gate opens\n").unwrap();
    let wanted = "\
\u{20} NAME  WORK  AGE  TASK
  a     …     0s   A task
  b     …     0s   A task
  c     …     0s   A task

";
    assert_eq!(early, wanted);
    // However many steps it took: the last one writes the complete rows over the others.
    let last = late.rsplit("\u{1b}[5A\r").next().unwrap();
    let shown = last.replace("\u{1b}[K", "");
    let wanted = "\
\u{20} NAME  WORK  BASE  AGE  TASK
  a     -     =     0s   A task
  b     *1    =     0s   A task
  c     -     =     0s   A task
3 sandboxes
";
    assert_eq!(shown, wanted);
    assert!(!late.contains("\u{1b}[2J") && !late.contains("\u{1b}[H"), "{late:?}");
}

#[test]
fn more_rows_than_the_terminal_has_are_printed_once() {
    let test = Test::new();
    for number in 1..=6 {
        test.new_sandbox(&[&format!("box-{number}")]);
    }
    let said = on_terminal(&test, (60, 6), "say(until(None))", &["list"], &[]);
    assert!(!said.contains('\u{1b}'), "{said:?}");
    assert_eq!(said.lines().count(), 8);
}

#[test]
fn watching_goes_on_until_ctrl_c_on_a_screen_of_its_own() {
    let test = Test::new();
    test.new_sandbox(&["one"]);
    let new = "import subprocess\nsubprocess.run(['git', 'sandbox', 'new', 'two'], check=True, \
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)";
    let script = format!(
        "say(until(b'1 sandbox') + b'|')\n{new}\nsay(until(b'  two   -     =') + b'|')\n\
         os.write(terminal, b'\\x03')\nsay(until(None))"
    );
    let said = on_terminal(&test, (60, 24), &script, &["list", "--watch"], &[]);
    let parts: Vec<&str> = said.split('|').collect();
    assert!(parts[0].starts_with("\u{1b}[?1049h\u{1b}[?25l"), "{said:?}");
    assert!(parts[0].contains("  one   -     ="), "{said:?}");
    assert!(parts[1].contains("\u{1b}[H"), "{said:?}");
    assert!(parts[2].ends_with("\u{1b}[?25h\u{1b}[?1049l"), "{said:?}");
    test.run(&["list", "--watch"])
        .stderr(&format!("error: option '--watch' needs a terminal\n{}", alone("list")))
        .code(129);
}

#[test]
fn watching_ends_well_when_ctrl_c_ends_git_too() {
    let test = Test::new();
    test.new_sandbox(&["one"]);
    let gate = test.home.join("gate");
    let path = test.fake_git(&format!(
        "case \"$*\" in *worktree*list*) [ ! -e {} ] || {{ kill -INT $PPID; exit 130; }} ;; esac\n\
         exec \"$GIT\" \"$@\"",
        gate.display()
    ));
    let script =
        format!("until(b'1 sandbox')\nopen('{}', 'w').close()\nsay(until(None))", gate.display());
    let said = on_terminal(&test, (60, 24), &script, &["list", "--watch"], &[("PATH", &path)]);
    assert!(said.ends_with("\u{1b}[?25h\u{1b}[?1049l"), "{said:?}");
    assert!(!said.contains("error"), "{said:?}");
}

/// Sandboxes as ten agents leave them.
fn agents() -> Test {
    let test = Test::new();
    let path = test.new_sandbox(&["feat/checkout-redesign", "Redesign the checkout page"]);
    test.commit(&path, "a", "1\n2\n3\n");
    write(&path.join("a"), "1\n2\n");
    write(&path.join("b"), "new\n");
    let merged = test.new_sandbox(&["merged-one", "Already merged"]);
    test.commit(&merged, "m", "m\n");
    test.git(&["merge", "--quiet", "--no-edit", "merged-one"]);
    let conflict = test.new_sandbox(&["conflict", "修正 and größe"]);
    test.commit(&conflict, "file", "ours\n");
    test.git_in(&conflict, &["checkout", "--quiet", "-b", "aside", "main"]);
    test.commit(&conflict, "file", "theirs\n");
    test.git_in(&conflict, &["checkout", "--quiet", "conflict"]);
    let merge = test.command("git", &conflict).args(["merge", "aside"]).output().unwrap();
    assert!(!merge.status.success());
    test.new_sandbox(&["away", "--dir", "../else"]);
    test.new_sandbox(&["idle"]);
    assert!(test.run(&["new", "removed"]).output().status.success());
    assert!(test.run(&["rm", "removed"]).output().status.success());
    test
}

/// The size of the trash depends on the file system.
fn without_size(text: &str) -> String {
    let (before, after) = text.split_once("trash 1, ").unwrap();
    let (_, end) = after.split_once("KiB").unwrap();
    format!("{before}trash 1, SIZE{end}")
}

#[test]
fn the_list_at_40_80_120_and_200_columns() {
    let test = agents();
    let mut sleeper = Sleeper::start(&test.at("idle"), std::process::Stdio::null());
    let wide = "\
\u{20} NAME                    AGENT  WORK            BASE  AGE  TASK
! conflict                       conflict ↑1 *1  =     0s   修正 and größe
  feat/checkout-redesign         ↑1 +2 -0 *2     ↓1    0s   Redesign the checkout page
  idle                    sleep  -               =     0s
✓ merged-one                     merged                0s   Already merged
  away                           - external      =     0s
5 sandboxes: 1 in use, 1 merged (git sandbox reap --merged); trash 1, SIZE
";
    assert_eq!(without_size(&table(&test, 200, &["list"], &[])), wide);
    assert_eq!(without_size(&table(&test, 120, &["list"], &[])), wide);
    let at_80 = table(&test, 80, &["list"], &[]);
    assert!(at_80.contains("  ↑1 +2 -0 *2     ↓1    0s   Redesign the checko…\n"), "{at_80}");
    let at_40 = table(&test, 40, &["list"], &[]);
    let wanted = "\
\u{20} NAME                    AGENT
! conflict
  feat/checkout-redesign
  idle                    sleep
✓ merged-one
  away
5 sandboxes: 1 in use, 1 merged; trash …
";
    assert_eq!(at_40, wanted);
    sleeper.end();
    for (text, columns) in [(at_80, 80), (at_40, 40)] {
        assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
    }
}

#[test]
fn the_list_in_ascii() {
    let test = agents();
    let text = table(&test, 80, &["list"], &[("LC_ALL", "C"), ("PYTHONUTF8", "1")]);
    assert!(text.is_ascii(), "{text}");
    assert!(text.contains("+ merged-one") && text.contains("^1 +2 -0 *2"), "{text}");
    assert!(text.contains(" v1 "), "{text}");
}

#[test]
fn rows_are_sorted_as_asked_and_external_ones_come_last() {
    let test = agents();
    set_day(&test.at("idle"), 30);
    set_day(&test.home.join("else/away"), 31);
    let names = |sort: &str| -> Vec<String> {
        let output = test.run(&["list", "--sort", sort]).output();
        let text = String::from_utf8(output.stdout).unwrap();
        let name = |line: &str| {
            let words = line.split_whitespace().map(str::to_owned);
            words.into_iter().find(|word| word.len() > 3).unwrap()
        };
        text.lines().skip(1).map(name).collect()
    };
    let by_name = ["conflict", "feat/checkout-redesign", "idle", "merged-one", "away"];
    assert_eq!(names("name"), by_name);
    let by_age = ["conflict", "feat/checkout-redesign", "merged-one", "idle", "away"];
    assert_eq!(names("age"), by_age);
    let by_work = ["conflict", "feat/checkout-redesign", "idle", "merged-one", "away"];
    assert_eq!(names("work"), by_work);
    let mut sleeper = Sleeper::start(&test.at("idle"), std::process::Stdio::null());
    let by_agent = ["idle", "conflict", "feat/checkout-redesign", "merged-one", "away"];
    assert_eq!(names("agent"), by_agent);
    sleeper.end();
}

#[test]
fn the_current_one_is_marked_and_what_expires_soon_is_said() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    let old = test.new_sandbox(&["--detach", "old"]);
    set_day(&old, 5);
    test.run_in(&path, &["list"])
        .stdout(
            "  NAME             WORK  BASE  AGE  EXPIRES\n  \
               exploration-old  -     =     26d  in 3d\n\
             * fix              -     =     0s\n",
        )
        .ok();
    test.run_in(&path, &["list"])
        .env("GIT_SANDBOX_NOW", "2026-02-28T12:00:00Z")
        .stdout(
            "  NAME             WORK  BASE  AGE  EXPIRES\n  \
               exploration-old  -     =     54d  now\n\
             * fix              -     =     28d\n",
        )
        .ok();
}

#[test]
fn wide_adds_path_size_and_upstream() {
    let test = Test::new();
    test.remote("origin", "feature");
    test.new_sandbox(&["feature"]);
    let output = test.run(&["list", "--wide"]).output();
    let text = String::from_utf8(output.stdout).unwrap();
    let (head, row) = text.split_once('\n').unwrap();
    for word in ["SIZE", "UPSTREAM", "PATH"] {
        assert!(head.contains(word), "{text}");
    }
    assert!(row.contains("KiB") && row.contains("  origin/feature  "), "{text}");
    assert!(row.trim_end().ends_with(test.at("feature").to_str().unwrap()), "{text}");
}

#[test]
fn the_id_of_a_removed_one_is_never_cut() {
    let test = Test::new();
    let name = "a-name-that-is-longer-than-any-terminal-should-have-to-show";
    test.new_sandbox(&[name]);
    assert!(test.run(&["rm", name]).output().status.success());
    let id = test.json(&["restore", "--json"])[0]["id"].as_str().unwrap().to_owned();
    for columns in [40, 80, 200] {
        let text = table(&test, columns, &["restore"], &[]);
        assert!(text.contains(&id), "{text}");
    }
}
