//! `git sandbox run`: what the command sees, and what its caller sees of it.

use crate::fixture::built::program_word;
use crate::fixture::state::private;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use crate::fixture::files::{chmod, write};
use crate::fixture::lab::Lab;
use crate::fixture::process::ended;
use crate::fixture::time::set_day;
use crate::fixture::{NOW, Test};

/// A test with a sandbox `box` that has a task.
fn with_task(task: &str) -> Test {
    let test = Test::new();
    test.new_sandbox(&["box", task]);
    test
}

#[test]
fn a_command_runs_in_the_sandbox() {
    let test = with_task("Do it");
    fs::create_dir(test.app().join("sub")).unwrap();
    test.run_in(&test.app().join("sub"), &["run", "box", "--", "pwd"]).stdout("$ROOT/box\n").ok();
    test.run(&["run", "box", "git", "branch", "--show-current"]).stdout("box\n").ok();
}

#[test]
fn a_command_needs_no_dashes_and_keeps_its_options() {
    let test = with_task("Do it");
    let plain = test.run(&["run", "box", "--", "ls", "-la", "--"]).output();
    let bare = test.run(&["run", "box", "ls", "-la", "--"]).output();
    assert_eq!(plain.status.code(), Some(0));
    assert_eq!(plain, bare);
    test.run(&["run", "box", "echo", "--background", "-h", "--", "--json"])
        .stdout("--background -h -- --json\n")
        .ok();
}

#[test]
fn inside_a_sandbox_dashes_mean_that_one() {
    let test = with_task("Do it");
    fs::create_dir(test.at("box/sub")).unwrap();
    test.run_in(&test.at("box/sub"), &["run", "--", "pwd"]).stdout("$ROOT/box\n").ok();
    test.run(&["run", "--", "pwd"])
        .stderr(
            "error: not inside a sandbox, and none was named\n\
             hint: name one that 'git sandbox list' shows\n",
        )
        .refused();
}

#[test]
fn a_sandbox_is_found_by_its_branch() {
    let test = Test::new();
    test.new_sandbox(&["here", "--branch", "feat/ui"]);
    for word in ["here", "feat/ui", "refs/heads/feat/ui"] {
        test.run(&["run", word, "pwd"]).stdout("$ROOT/here\n").ok();
    }
}

#[test]
fn nothing_of_another_repository_arrives() {
    let test = with_task("Do it");
    write(&test.at("box/new"), "staged\n");
    test.git_in(&test.at("box"), &["add", "new"]);
    let mut command = test.command("git", &test.app());
    command
        .args(["-c", "probe.parameter=1", "sandbox", "run", "box", "--", "sh", "-c"])
        .arg(
            "env | grep -c '^GIT_SANDBOX_'; git status --short; git config --get-regexp probe; env",
        )
        .env("GIT_DIR", test.app().join(".git"))
        .env("GIT_WORK_TREE", test.app())
        .env("GIT_INDEX_FILE", test.home.join("index"))
        .env("GIT_PREFIX", "sub/")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "probe.count")
        .env("GIT_CONFIG_VALUE_0", "1");
    let output = command.output().unwrap();
    assert_eq!(output.stderr, b"");
    let text = String::from_utf8(output.stdout).unwrap();
    // The six of ours, the two of the fixture, and the work of the sandbox's own index.
    assert!(text.starts_with("8\nA  new\n"), "{text}");
    let listed = test.git(&["rev-parse", "--local-env-vars"]);
    let more = ["GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0"];
    for name in listed.lines().chain(more) {
        assert!(!text.lines().any(|line| line.starts_with(&format!("{name}="))), "{text}");
    }
    assert!(!text.contains("probe."), "{text}");
    assert!(!test.home.join("index").exists());
}

#[test]
fn what_the_user_set_for_every_repository_arrives() {
    let test = with_task("Do it");
    test.run(&["run", "box", "printenv", "GIT_SSH_COMMAND", "GIT_COMMITTER_DATE"])
        .env("GIT_SSH_COMMAND", "ssh -x")
        .stdout("ssh -x\n2026-01-01T00:00:00Z\n")
        .ok();
    // Not among what `git rev-parse --local-env-vars` lists.
    test.run(&["run", "box", "printenv", "GIT_AUTHOR_DATE"]).stdout("2026-01-01T00:00:00Z\n").ok();
}

const FIVE: &str = "printf '%s\\n' \"$GIT_SANDBOX_NAME\" \"$GIT_SANDBOX_PATH\" \
                    \"$GIT_SANDBOX_BRANCH\" \"$GIT_SANDBOX_BASE_REPO\" \"$GIT_SANDBOX_TASK\"";

#[test]
fn a_command_knows_where_it_is_and_what_for() {
    let test = Test::new();
    test.new_sandbox(&["here", "--branch", "feat/ui", "Draw", "it"]);
    test.run(&["run", "here", "sh", "-c", FIVE])
        .stdout("here\n$ROOT/here\nfeat/ui\n$APP\nDraw it\n")
        .ok();
    test.new_sandbox(&["--detach", "look"]);
    test.run(&["run", "exploration-look", "sh", "-uc", FIVE])
        .env("GIT_SANDBOX_TASK", "of another")
        .env("GIT_SANDBOX_BRANCH", "of another")
        .stdout("exploration-look\n$ROOT/exploration-look\n\n$APP\n\n")
        .ok();
}

#[test]
fn placeholders_are_filled_in_once() {
    let test = Test::new();
    test.new_sandbox(&["here", "--branch", "feat/ui", "see {path} and {task}"]);
    test.run(&["run", "here", "--", "printf", "%s\\n", "{name}={branch}", "x{path}y", "{task}{}"])
        .stdout("here=feat/ui\nx$ROOT/herey\nsee {path} and {task}{}\n")
        .ok();
    test.run(&["run", "here", "--", "printf", "%s\\n", "{other} {{name}} {Task}"])
        .stdout("{other} {here} {Task}\n")
        .ok();
}

#[test]
fn nothing_goes_through_a_shell() {
    let test = with_task("$(touch task) `touch task`; touch task");
    test.run(&["run", "box", "printf", "%s\\n", "$(touch x)", "a; touch x", "*", "{task}"])
        .stdout("$(touch x)\na; touch x\n*\n$(touch task) `touch task`; touch task\n")
        .ok();
    assert_eq!(test.git_in(&test.at("box"), &["status", "--porcelain"]), "");
    assert_eq!(test.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_task_arrives_as_it_was_given_and_is_listed_visibly() {
    let task = "it's \"quoted\"\n\tsecond \\n line \u{1b}[31mred\u{7} 🎉 \u{202e}back";
    let test = with_task(task);
    test.run(&["run", "box", "printf", "%s", "{task}"]).stdout(task).ok();
    test.run(&["run", "box", "printenv", "GIT_SANDBOX_TASK"]).stdout(&format!("{task}\n")).ok();
    test.run(&["list"])
        .stdout(
            "  NAME  AGENT    WORK  BASE  AGE  TASK\n  \
               box   done 0s  -     =     0s   it's \"quoted\"\\n\\tsecond \\n line \
             \\u{1b}[31mred\\u{7} 🎉 \\u{202e}back\n",
        )
        .ok();
}

#[test]
fn the_exit_code_is_the_commands_own() {
    let test = with_task("Do it");
    for code in [0, 1, 42, 129, 255] {
        test.run(&["run", "box", "sh", "-c", &format!("exit {code}")]).code(code);
    }
    for (signal, code) in [("TERM", 143), ("KILL", 137), ("INT", 130), ("SEGV", 139)] {
        test.program(&test.app(), &["run", "box", "sh", "-c", &format!("kill -{signal} $$")])
            .code(code);
    }
}

#[test]
fn a_program_that_is_not_there_is_127() {
    let test = with_task("Do it");
    for word in ["no-such-program", "./no-such-file", "/no/such/path"] {
        test.run(&["run", "box", word, "x"])
            .stderr(&format!("error: cannot run '{word}': no such program\n"))
            .code(127);
    }
}

#[test]
fn a_program_that_cannot_be_run_is_126() {
    let test = with_task("Do it");
    fs::create_dir(test.at("box/folder")).unwrap();
    for word in ["./file", "./folder"] {
        test.run(&["run", "box", word])
            .stderr(&format!("error: cannot run '{word}': not executable\n"))
            .code(126);
    }
}

#[test]
fn a_program_is_looked_for_from_the_sandbox() {
    let test = with_task("Do it");
    write(&test.at("box/tool"), "#!/bin/sh\necho \"$0 $1\"\n");
    chmod(&test.at("box/tool"), 0o755);
    test.run(&["run", "box", "./tool", "a b"]).stdout("./tool a b\n").ok();
}

#[test]
fn without_a_command_it_is_the_users_shell() {
    let test = with_task("Do it");
    let shell = test.script("my shell", "echo \"shell $# $PWD\"; exit 3");
    test.run(&["run", "box"])
        .env("SHELL", &shell)
        .stdout("shell 0 $ROOT/box\n")
        .stderr("in sandbox 'box'; leave it with 'exit'\n")
        .code(3);
    test.run_in(&test.at("box"), &["run"])
        .env("SHELL", &shell)
        .stdout("shell 0 $ROOT/box\n")
        .stderr("in sandbox 'box'; leave it with 'exit'\n")
        .code(3);
}

#[test]
fn without_a_shell_it_is_sh() {
    let test = with_task("Do it");
    for shell in [None, Some("")] {
        let run = test.run(&["run", "box"]);
        let run = if let Some(shell) = shell { run.env("SHELL", shell) } else { run };
        // Nothing is on its stdin.
        run.stderr("in sandbox 'box'; leave it with 'exit'\n").ok();
    }
}

#[test]
fn a_shell_that_is_not_there_is_named() {
    let test = with_task("Do it");
    let output = test.run(&["run", "box"]).env("SHELL", "/no/such/shell").output();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(127), "{text}");
    assert!(text.ends_with("error: cannot run '/no/such/shell': no such program\n"), "{text}");
}

#[test]
fn stdin_stdout_and_stderr_are_the_commands() {
    let test = with_task("Do it");
    let mut command = test.command("git", &test.app());
    command.args(["sandbox", "run", "box", "sh", "-c", "cat; echo two >&2"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.process_group(0).spawn().unwrap();
    let bytes: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
    let mut stdin = child.stdin.take().unwrap();
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&sent).unwrap());
    let output = ended(child);
    writer.join().unwrap();
    assert!(output.stdout == bytes);
    assert_eq!((output.status.code(), output.stderr), (Some(0), b"two\n".to_vec()));
}

#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let test = with_task("Do it");
    let script = "trap '' INT QUIT HUP; exec \"$0\" run box grep SigIgn /proc/self/status";
    let output =
        test.command("sh", &test.app()).args(["-c", script, program_word()]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mask = u64::from_str_radix(text.trim().rsplit('\t').next().unwrap(), 16).unwrap();
    assert_eq!(mask & 0b111, 0b111, "{text}");
}

#[test]
fn running_counts_as_use() {
    let test = with_task("Do it");
    set_day(&test.at("box"), 2);
    test.run(&["run", "box", "true"]).ok();
    assert_eq!(test.json(&["show", "box", "--json"])["last_used"], NOW);
    assert_eq!(test.json(&["show", "box", "--json"])["in_use"], serde_json::json!([]));
}

#[test]
fn an_unknown_sandbox_is_refused() {
    let test = with_task("Do it");
    test.run(&["run", "boc", "touch", "x"])
        .stderr("error: no sandbox is called 'boc'\nhint: did you mean 'box'?\n")
        .refused();
    test.run(&["run", "main", "touch", "x"])
        .stderr(
            "error: no sandbox is called 'main'\n\
             hint: 'git sandbox list' shows what there is\n",
        )
        .refused();
}

#[test]
fn a_sandbox_whose_folder_is_gone_is_refused() {
    let test = with_task("Do it");
    fs::remove_dir_all(test.at("box")).unwrap();
    let output = test.run(&["run", "box", "touch", "x"]).output();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.starts_with("error: the folder of sandbox 'box' is gone\nhint: "), "{text}");
    // No repair brings it back; this does.
    assert!(text.ends_with("git sandbox new box\n"), "{text}");
    assert!(!test.at("box").exists());
}

#[test]
fn a_damaged_sandbox_is_refused() {
    let test = with_task("Do it");
    fs::remove_file(test.at("box/.git")).unwrap();
    test.run(&["run", "box", "touch", "x"])
        .stderr(
            "error: sandbox 'box' is damaged: its '.git' file is missing or not understood\n\
             hint: git worktree repair\n",
        )
        .refused();
}

#[test]
fn a_sandbox_that_goes_while_its_lock_is_waited_for_is_not_run_in() {
    let (lab, path) = Lab::with_box();
    let lock = fs::File::create(private(&lab.app(), "box").join("sandbox.lock")).unwrap();
    lock.lock().unwrap();
    let mut child = lab.start(&["run", "box", "touch", "x"]);
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stderr, &mut line).unwrap();
    assert!(line.starts_with("waiting for "), "{line}");
    fs::rename(&path, lab.home.join("elsewhere")).unwrap();
    lock.unlock().unwrap();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut rest).unwrap();
    assert_eq!(ended(child).status.code(), Some(1), "{rest}");
    assert!(!rest.contains("no such program"), "{rest}");
    assert!(rest.starts_with("error: "), "{rest}");
    assert!(!lab.home.join("elsewhere/x").exists());
}
