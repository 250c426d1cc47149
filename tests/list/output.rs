//! `git sandbox list`

use crate::fixture::built::program;
use crate::fixture::state::private;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::fixture::Test;
use crate::fixture::files::write;
use crate::fixture::process::finished;
use crate::fixture::time::set_day;

const NONE: &str = "no sandboxes; 'git sandbox new <name>' makes one\n";

#[test]
fn without_sandboxes_list_says_how_to_make_one() {
    let test = Test::new();
    test.run(&["list"]).stderr(NONE).ok();
    test.run(&[""; 0]).stderr(NONE).ok();
    test.run(&["list", "--json"]).stdout("[]\n").ok();
    test.run(&["list", "--names"]).ok();
    test.run(&["list", "-z"]).ok();
}

/// Sandboxes of every kind: ready, dirty, on another branch, detached, locked, elsewhere, missing
/// and damaged.
fn many() -> Test {
    let test = Test::new();
    for (words, day) in [
        (&["clean", "Nothing", "to", "do"][..], 31),
        (&["dirty"], 2),
        (&["feat/ui", "Draw", "the", "new", "login", "page", "as", "the", "designers", "want"], 30),
        (&["--detach", "look"], 21),
        (&["held"], 10),
        (&["away", "--dir", "../else"], 11),
        (&["gone"], 1),
        (&["broken"], 1),
    ] {
        let path = test.new_sandbox(words);
        set_day(&path, day);
    }
    let dirty = test.at("dirty");
    write(&dirty.join("file"), "edited\n");
    write(&dirty.join("new"), "new\n");
    set_day(&dirty.join("file"), 3);
    set_day(&dirty.join("new"), 4);
    set_day(&dirty, 2);
    test.git(&["worktree", "lock", "--reason", "mine", test.at("held").to_str().unwrap()]);
    fs::remove_dir_all(test.at("gone")).unwrap();
    fs::remove_file(test.at("broken/.git")).unwrap();
    set_day(&test.at("broken"), 1);
    test
}

#[test]
fn the_table_has_a_row_for_each() {
    let test = many();
    test.run(&["list"])
        .stdout(
            "  NAME              WORK        BASE  AGE  TASK\n\
             ! broken            damaged           30d\n  \
               clean             -           =     12h  Nothing to do\n  \
               dirty             +1 -1 *2    =     27d\n  \
               exploration-look  -           =     10d\n  \
               feat/ui           -           =     1d   Draw the new login page as the designers want\n\
             ! gone              missing\n  \
               held              - locked    =     21d\n  \
               away              - external  =     20d\n",
        )
        .ok();
}

/// What a program prints on a terminal of this width.
fn on_terminal(test: &Test, columns: u32, words: &[&str], environment: &[(&str, &str)]) -> String {
    const PTY: &str = "
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
text = b''
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    text += piece
os.waitpid(pid, 0)
sys.stdout.buffer.write(text.replace(b'\\r\\n', b'\\n'))
";
    let mut command = test.command("python3", &test.app());
    command.args(["-c", PTY, &columns.to_string(), "git", "sandbox"]).args(words);
    let output = finished(command.envs(environment.iter().copied()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_table_fits_the_terminal() {
    let test = many();
    let text = on_terminal(&test, 80, &["list", "--color=never"], &[]);
    let wanted = "\
\u{20} NAME              WORK        BASE  AGE  TASK
! broken            damaged           30d
  clean             -           =     12h  Nothing to do
  dirty             +1 -1 *2    =     27d
  exploration-look  -           =     10d
  feat/ui           -           =     1d   Draw the new login page as the desig…
! gone              missing
  held              - locked    =     21d
  away              - external  =     20d
8 sandboxes
";
    assert_eq!(text, wanted);
    let text = on_terminal(&test, 200, &["list", "--color=never"], &[]);
    assert!(text.contains("  Draw the new login page as the designers want\n"), "{text}");
}

#[test]
fn states_are_told_with_their_problem() {
    let test = many();
    symlink(test.home.join("else"), test.at("gone")).unwrap();
    let facts = test.json(&["list", "--json"]);
    let told = |name: &str| {
        let one = facts.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
        [&one["state"], &one["problem"], &one["managed"], &one["locked"], &one["expires"]]
            .map(Value::clone)
    };
    let null = Value::Null;
    assert_eq!(
        told("broken"),
        [
            json!("damaged"),
            json!("its '.git' file is missing or not understood"),
            json!(true),
            null.clone(),
            json!("2026-04-01T00:00:00Z")
        ]
    );
    assert_eq!(told("gone")[..2], [json!("damaged"), json!("its folder is a symlink")]);
    assert_eq!(
        told("away"),
        [json!("ready"), null.clone(), json!(false), null.clone(), null.clone()]
    );
    assert_eq!(told("held"), [json!("ready"), null.clone(), json!(true), json!("mine"), null]);
}

#[test]
fn a_folder_that_leads_to_another_entry_is_damaged() {
    let test = Test::new();
    let (one, other) = (test.new_sandbox(&["one"]), test.new_sandbox(&["other"]));
    fs::copy(other.join(".git"), one.join(".git")).unwrap();
    let facts = test.json(&["list", "--json"]);
    assert_eq!(facts[0]["state"], "damaged");
    assert_eq!(facts[0]["problem"], "its '.git' file leads to another entry");
    assert_eq!(facts[0]["changes"], Value::Null);
    assert_eq!(facts[1]["state"], "ready");
}

#[test]
fn a_status_that_cannot_be_read_is_not_clean() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    set_day(&path, 31);
    write(&private(&test.app(), "fix").join("index"), "garbage");
    test.run(&["list"])
        .stdout(
            "  NAME  WORK         BASE  AGE\n  \
               fix   cannot tell  =     12h\n",
        )
        .ok();
    let facts = test.json(&["list", "--json"]);
    assert_eq!((&facts[0]["state"], &facts[0]["changes"]), (&json!("ready"), &Value::Null));
    assert!(facts[0]["problem"].as_str().unwrap().starts_with("cannot tell: "));
}

#[test]
fn json_has_exactly_the_keys_that_are_promised() {
    let test = Test::new();
    test.new_sandbox(&["fix", "A", "task"]);
    let facts = test.json(&["list", "--json"]);
    let mut keys: Vec<_> = facts[0].as_object().unwrap().keys().map(String::as_str).collect();
    let mut wanted = vec![
        "name",
        "path",
        "branch",
        "head",
        "base_repo",
        "project",
        "base",
        "task",
        "created",
        "last_used",
        "expires",
        "class",
        "state",
        "problem",
        "managed",
        "locked",
        "in_use",
        "changes",
        "hidden_edits",
        "nested_work",
        "operation",
        "upstream",
        "ahead",
        "author",
        "behind",
        "unpushed",
        "only_here",
        "merged",
        "base_ahead",
        "base_behind",
        "diff",
        "subject",
        "run",
    ];
    keys.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(keys, wanted);
    let [path, app] = [test.at("fix"), test.app()].map(|path| path.to_string_lossy().into_owned());
    for (key, value) in [
        ("name", json!("fix")),
        ("path", json!(path)),
        ("branch", json!("fix")),
        ("head", json!(test.git(&["rev-parse", "main"]))),
        ("base_repo", json!(app)),
        ("project", json!("app")),
        ("base", json!("main")),
        ("task", json!("A task")),
        ("created", json!("2026-01-31T12:00:00Z")),
        ("last_used", json!("2026-01-31T12:00:00Z")),
        ("expires", json!("2026-05-01T12:00:00Z")),
        ("class", json!("persistent")),
        ("state", json!("ready")),
        ("problem", Value::Null),
        ("managed", json!(true)),
        ("locked", Value::Null),
        ("changes", json!({"staged": 0, "unstaged": 0, "untracked": 0, "conflicted": 0})),
        ("operation", Value::Null),
        ("upstream", Value::Null),
        ("ahead", json!(0)),
        ("behind", json!(0)),
    ] {
        assert_eq!(facts[0][key], value, "{key}");
    }
}

#[test]
fn names_and_paths_are_for_scripts() {
    let test = Test::new();
    test.new_sandbox(&["feat/ui"]);
    test.new_sandbox(&["away", "--dir", "../else"]);
    test.git(&["worktree", "add", "--quiet", "../line\nbreak", "-b", "odd"]);
    test.run(&["list", "--names"]).stdout("feat-ui\naway\nline\\nbreak\n").ok();
    test.run(&["list", "-z"]).stdout("$ROOT/feat-ui\0$HOME/else/away\0$HOME/line\nbreak\0").ok();
    test.run(&["list", "--names", "-z"]).stdout("feat-ui\0away\0line\nbreak\0").ok();
}

#[test]
fn names_come_with_branch_and_state_for_completion() {
    let test = many();
    let look = test.at("clean");
    test.commit(&look, "more", "more\n");
    test.git_in(&look, &["bisect", "start"]);
    let rebased = test.at("feat-ui");
    test.commit(&rebased, "more", "other\n");
    let output = test.command("git", &rebased).args(["rebase", "clean"]).output().unwrap();
    assert!(!output.status.success());
    test.git(&["worktree", "add", "--quiet", "../line\nbreak", "-b", "odd"]);
    test.run(&["list", "--names", "--describe"])
        .stdout(
            "broken\tbroken, damaged\n\
             clean\tclean, bisect\n\
             dirty\tdirty, ready\n\
             exploration-look\tdetached, ready\n\
             feat-ui\tfeat/ui, rebase\n\
             gone\tgone, missing\n\
             held\theld, ready, locked\n\
             away\taway, ready\n\
             line\\nbreak\todd, ready\n",
        )
        .ok();
}

#[test]
fn only_names_are_described() {
    let test = Test::new();
    let usage = String::from_utf8(test.run(&["list", "-h"]).output().stdout).unwrap();
    for (words, error) in [
        (&["list", "--describe"][..], "option '--describe' needs '--names'"),
        (
            &["list", "--names", "--describe", "--all"],
            "options '--all' and '--describe' cannot be used together",
        ),
        (
            &["list", "--names", "--describe", "-z"],
            "options '-z' and '--describe' cannot be used together",
        ),
    ] {
        test.run(words).stderr(&format!("error: {error}\n{usage}")).code(129);
    }
}

#[test]
fn names_cost_one_git_process_and_what_was_removed_two() {
    let test = Test::new();
    test.new_sandbox(&["fix"]);
    test.new_sandbox(&["old"]);
    assert!(test.run(&["rm", "old"]).output().status.success());
    let path = test.fake_git("echo \"$*\" >>\"$HOME/calls\"\nexec \"$GIT\" \"$@\"");
    for (words, wanted) in [
        (&["list", "--names"][..], "fix\n"),
        (&["list", "--names", "--describe"], "fix\tfix, ready\n"),
        (&["restore", "--names"], "old\nold-ID\n"),
        (
            &["restore", "--names", "--describe"],
            "old\told, removed just now\nold-ID\told, removed just now\n",
        ),
    ] {
        test.program(&test.app(), words).env("PATH", &path).stdout(wanted).ok();
        let calls = test.home.join("calls");
        let asked = fs::read_to_string(&calls).unwrap();
        // Where the trash and the vault are is in the config.
        let config = "config --list -z --show-scope --show-origin\n";
        let rest = if words[0] == "restore" { asked.replace(config, "") } else { asked };
        assert_eq!(rest, "worktree list --porcelain -z\n");
        fs::remove_file(&calls).unwrap();
    }
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let test = Test::new();
    test.new_sandbox(&["fix"]);
    for words in [&["list"][..], &["list", "--json"], &["list", "--names"], &["path", "fix"]] {
        let mut command = test.command(program(), &test.app());
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command.args(words).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((output.status.code(), &*output.stderr), (Some(141), &b""[..]), "{words:?}");
    }
}

#[test]
fn tasks_and_names_cannot_write_to_the_terminal() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix", "a\u{1b}[31mred\u{7}\u{9b}\u{200b}"]);
    set_day(&path, 31);
    test.run(&["list"])
        .stdout(
            "  NAME  WORK  BASE  AGE  TASK\n  \
               fix   -     =     12h  a\\u{1b}[31mred\\u{7}\\u{9b}\\u{200b}\n",
        )
        .ok();
    let json = test.run(&["list", "--json"]).output().stdout;
    assert!(json.iter().all(|byte| *byte == b'\n' || !byte.is_ascii_control()));
    assert!(json.is_ascii());
}

/// Whether the list comes in colour.
fn coloured(test: &Test, words: &[&str]) -> bool {
    let mut command: Command = test.command("git", &test.app());
    command.args(words);
    finished(&mut command).stdout.contains(&0x1b)
}

#[test]
fn colour_is_the_options_then_the_configs() {
    let test = Test::new();
    test.new_sandbox(&["fix"]);
    for (words, wanted) in [
        (&["sandbox", "list"][..], false),
        (&["sandbox", "list", "--color=always"], true),
        (&["sandbox", "--color=always"], true),
        (&["-c", "color.ui=always", "sandbox", "list"], true),
        (&["-c", "color.ui=always", "sandbox", "list", "--color=never"], false),
        (&["-c", "color.ui=always", "-c", "color.sandbox=false", "sandbox"], false),
        (&["-c", "color.ui=never", "-c", "color.sandbox=always", "sandbox"], true),
        (&["-c", "color.ui=true", "sandbox", "list"], false),
        (&["-c", "color.ui=always", "sandbox", "list", "--json"], false),
        (&["-c", "color.ui=always", "sandbox", "list", "--names"], false),
        (&["-c", "color.ui=always", "sandbox", "path", "fix"], false),
    ] {
        assert_eq!(coloured(&test, words), wanted, "{words:?}");
    }
}

#[test]
fn without_a_utf8_locale_only_ascii_is_printed() {
    let test = Test::new();
    test.new_sandbox(&["fix", "größe of a long task that does not fit into the terminal any more"]);
    for locale in [&[("LC_ALL", "C")][..], &[("LC_ALL", "de_DE.ISO-8859-1")]] {
        let text = on_terminal(&test, 60, &["list", "--color=never"], locale);
        let wanted = "\
\u{20} NAME  WORK  BASE  AGE  TASK
  fix   -     =     0s   gr\\u{f6}\\u{df}e of a long task tha~
1 sandbox
";
        assert_eq!(text, wanted, "{locale:?}");
        let text = on_terminal(&test, 60, &["show", "fix"], locale);
        assert!(text.is_ascii(), "{text}");
        let text = on_terminal(&test, 60, &["show", "fix", "--json"], locale);
        assert!(text.is_ascii() && text.contains(r"gr\u00f6\u00dfe of a long task"), "{text}");
    }
    let text = on_terminal(&test, 60, &["list", "--color=never"], &[]);
    assert!(text.contains("größe of a long task that does not…"), "{text}");
}

#[test]
fn colour_on_a_terminal_is_the_users_choice() {
    let test = Test::new();
    test.new_sandbox(&["fix"]);
    let coloured = |words: &[&str], environment: &[(&str, &str)]| {
        on_terminal(&test, 80, words, environment).contains('\u{1b}')
    };
    assert!(coloured(&["list"], &[]));
    assert!(coloured(&["list"], &[("NO_COLOR", "")]));
    assert!(!coloured(&["list"], &[("NO_COLOR", "1")]));
    assert!(!coloured(&["list"], &[("TERM", "dumb")]));
    assert!(coloured(&["list"], &[("TERM", "xterm")]));
    assert!(coloured(&["list", "--color=always"], &[("TERM", "dumb")]));
    assert!(coloured(&["list", "--color=always"], &[("NO_COLOR", "1")]));
    assert!(!coloured(&["list", "--color=never"], &[]));
    assert!(!coloured(&["list", "--json"], &[]));
    test.git(&["config", "color.ui", "false"]);
    assert!(!coloured(&["list"], &[]));
    test.git(&["config", "color.sandbox", "always"]);
    assert!(coloured(&["list"], &[("NO_COLOR", "1")]));
}

#[test]
fn what_git_status_does_not_tell_is_not_called_clean() {
    let test = Test::new();
    test.remote("origin", "elsewhere");
    let state = |name: &str| {
        let output = test.run(&["list"]).output();
        let text = String::from_utf8(output.stdout).unwrap();
        let row = text.lines().find(|line| line.starts_with(&format!("  {name} "))).unwrap();
        let (start, end) = (text.find("WORK").unwrap(), text.find("BASE").unwrap());
        let work: String = row.chars().take(end).skip(start).collect();
        work.trim_end().to_owned()
    };
    // Pushed, as far as there is anything to push.
    test.git(&["push", "--quiet", "origin", "main:copy"]);
    test.git(&["fetch", "--quiet", "origin"]);
    let hidden = test.new_sandbox(&["hidden"]);
    test.git_in(&hidden, &["update-index", "--assume-unchanged", "file"]);
    assert_eq!(state("hidden"), "-");
    write(&hidden.join("file"), "edited\n");
    assert_eq!(state("hidden"), "1 hidden");
    let nested = test.new_sandbox(&["nested"]);
    write(&test.app().join(".git/info/exclude"), "/build/\n");
    let inside = nested.join("build/inside");
    test.init(inside.strip_prefix(&test.home).unwrap().to_str().unwrap(), &[]);
    assert_eq!(state("nested"), "nested");
    let ahead = test.new_sandbox(&["ahead"]);
    test.commit(&ahead, "new", "new\n");
    test.commit(&ahead, "more", "more\n");
    assert_eq!(state("ahead"), "↑2 +2 -0");
    // In the base, but on no remote.
    test.git(&["merge", "--quiet", "--ff-only", "ahead"]);
    let started = test.new_sandbox(&["later"]);
    assert!(started.is_dir());
    assert_eq!(state("later"), "2 unpushed");
    let listed = test.json(&["list", "--json"]);
    let of = |name: &str, key: &str| {
        let all = listed.as_array().unwrap();
        all.iter().find(|it| it["name"] == name).unwrap()[key].clone()
    };
    assert_eq!(of("hidden", "hidden_edits"), 1);
    assert_eq!(of("nested", "nested_work"), serde_json::json!(["build/inside"]));
    assert_eq!((of("ahead", "unpushed"), of("ahead", "hidden_edits")), (2.into(), 0.into()));
}

#[test]
fn work_in_a_submodule_is_not_called_clean() {
    let test = Test::new();
    let source = test.init("source", &[]);
    test.git(&["submodule", "--quiet", "add", source.to_str().unwrap(), "sub"]);
    test.git(&["commit", "--quiet", "-m", "sub"]);
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["submodule", "--quiet", "update", "--init"]);
    let state = || {
        let text = String::from_utf8(test.run(&["list"]).output().stdout).unwrap();
        text.lines().nth(1).unwrap().split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(state(), "-");
    write(&path.join("sub/file"), "edited\n");
    assert_eq!(state(), "nested");
}

#[test]
fn the_repository_of_an_orphan_is_named_as_every_other() {
    let test = Test::new();
    test.new_sandbox(&["box"]);
    let before = test.json(&["list", "--all", "--json"])[0]["base_repo"].clone();
    std::fs::remove_dir_all(test.app()).unwrap();
    let output = test.run_in(&test.home, &["list", "--all", "--json"]).output();
    let listed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&listed[0]["state"], &listed[0]["base_repo"]), (&"orphan".into(), &before));
}
