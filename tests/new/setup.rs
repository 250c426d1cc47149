//! `sandbox.setup`: commands that make a new sandbox ready.

use std::fs;

use crate::fixture::Test;
use crate::fixture::files::{names_in, write};

const CREATED: &str = "created sandbox 'fix': new branch 'fix' from 'main'\n";

fn with_setup(values: &[&str]) -> Test {
    let test = Test::new();
    for value in values {
        test.git(&["config", "--add", "sandbox.setup", value]);
    }
    test
}

#[test]
fn commands_run_in_order_after_the_files_are_there() {
    let test = with_setup(&["cat .env file >a", "cat a a >b", "echo \"it's $PWD\" >c"]);
    write(&test.app().join(".git/info/exclude"), ".env\n.worktreeinclude\n");
    write(&test.app().join(".worktreeinclude"), ".env\n");
    write(&test.app().join(".env"), "env\n");
    test.run(&["new", "fix"]).stdout("$ROOT/fix\n").stderr(CREATED).ok();
    assert_eq!(fs::read_to_string(test.at("fix/b")).unwrap(), "env\none\nenv\none\n");
    let here = fs::read_to_string(test.at("fix/c")).unwrap();
    assert_eq!(here, format!("it's {}\n", test.at("fix").display()));
    assert_eq!(names_in(&test.app()), [".env", ".git", ".worktreeinclude", "file"]);
}

#[test]
fn the_first_failure_ends_them_and_keeps_the_sandbox() {
    let test = with_setup(&["echo one; echo two >&2", "touch made; exit 3", "touch never"]);
    test.run(&["new", "fix", "A", "task"])
        .stdout("$ROOT/fix\n")
        .stderr(
            "one\ntwo\ncreated sandbox 'fix' for \"A task\": new branch 'fix' from 'main'\n\
             warning: the setup command 'touch made; exit 3' exited with 3; the sandbox stays\n",
        )
        .code(1);
    assert_eq!(test.git_in(&test.at("fix"), &["status", "--porcelain"]), "?? made");
    let facts = test.json(&["show", "fix", "--json"]);
    assert_eq!((&facts["state"], &facts["locked"]), (&"ready".into(), &().into()));
    assert_eq!(facts["task"], "A task");
    // It is not tried again.
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("task: A task\nresumed sandbox 'fix'\n")
        .ok();
}

#[test]
fn one_that_is_not_there_or_is_killed_is_a_failure() {
    for (value, code) in [("kill -9 $$", 137), ("no-such-program-here 2>/dev/null", 127)] {
        let test = with_setup(&[value]);
        test.run(&["new", "fix"])
            .stdout("$ROOT/fix\n")
            .stderr(&format!(
                "{CREATED}warning: the setup command '{value}' exited with {code}; \
                 the sandbox stays\n"
            ))
            .code(1);
        assert_eq!(test.json(&["show", "fix", "--json"])["state"], "ready");
    }
}

#[test]
fn after_a_failure_no_command_is_run() {
    let test = with_setup(&["false"]);
    test.run(&["new", "fix", "--", "touch", "x"])
        .stderr(&format!(
            "{CREATED}warning: the setup command 'false' exited with 1; the sandbox stays\n\
             $ROOT/fix\n"
        ))
        .code(1);
    assert!(test.at("fix/file").exists() && !test.at("fix/x").exists());
}

#[test]
fn they_have_the_environment_of_a_command_there() {
    let five = "printf '%s\\n' \"$GIT_SANDBOX_NAME\" \"$GIT_SANDBOX_PATH\" \"$GIT_SANDBOX_BRANCH\" \
                \"$GIT_SANDBOX_BASE_REPO\" \"$GIT_SANDBOX_TASK\" \"$GIT_DIR$GIT_INDEX_FILE\"; cat; \
                git config probe.key; git rev-parse --show-toplevel";
    let test = with_setup(&[five]);
    let mut command = test.command("git", &test.app());
    command.args(["-c", "probe.key=1", "sandbox", "new", "here", "--branch", "feat/ui", "A task"]);
    command.env("GIT_DIR", test.app().join(".git")).env("GIT_INDEX_FILE", test.home.join("index"));
    test.run_command(command)
        .stdout("$ROOT/here\n")
        .stderr(
            "here\n$ROOT/here\nfeat/ui\n$APP\nA task\n\n$ROOT/here\n\
             created sandbox 'here' for \"A task\": new branch 'feat/ui' from 'main'\n",
        )
        .ok();
}

#[test]
fn they_are_not_run_again_on_resume() {
    let test = with_setup(&["echo ran >>\"$HOME/ran\""]);
    test.new_sandbox(&["fix"]);
    test.run(&["new", "fix"]).stdout("$ROOT/fix\n").stderr("resumed sandbox 'fix'\n").ok();
    test.run(&["run", "fix", "true"]).ok();
    assert_eq!(fs::read_to_string(test.home.join("ran")).unwrap(), "ran\n");
}

#[test]
fn they_run_in_every_sandbox_of_a_pool_and_in_explorations() {
    let test = with_setup(&["echo \"$GIT_SANDBOX_NAME <$GIT_SANDBOX_BRANCH>\" >>\"$HOME/ran\""]);
    test.new_sandbox(&["fix", "--count", "2"]);
    test.new_sandbox(&["--detach", "look"]);
    let ran = fs::read_to_string(test.home.join("ran")).unwrap();
    let mut ran: Vec<&str> = ran.lines().collect();
    // Those of a pool are made beside each other.
    ran[..2].sort_unstable();
    assert_eq!(ran, ["fix-1 <fix-1>", "fix-2 <fix-2>", "exploration-look <>"]);
}

#[test]
fn they_run_in_sandboxes_of_a_bare_repository() {
    let test = Test::new();
    test.git_in(&test.home, &["clone", "--quiet", "--bare", "app", "bare/app.git"]);
    let bare = test.home.join("bare/app.git");
    let value = "echo \"$GIT_SANDBOX_BASE_REPO\" >&2; cat file >&2";
    test.git_in(&bare, &["config", "sandbox.setup", value]);
    test.run_in(&bare, &["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr(&format!("$HOME/bare/app.git\none\n{CREATED}"))
        .ok();
}

#[test]
fn they_do_not_hold_the_lock_of_the_repository() {
    let test =
        with_setup(&["[ \"$GIT_SANDBOX_NAME\" = second ] || git sandbox new second >/dev/null"]);
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr(&format!("created sandbox 'second': new branch 'second' from 'fix'\n{CREATED}"))
        .ok();
    assert_eq!(test.sandboxes(), ["fix", "second"]);
}

#[test]
fn a_daemon_of_theirs_keeps_nobody_waiting() {
    let test = crate::fixture::lab::Lab::new();
    test.git(&["config", "sandbox.setup", "{ cd / && exec sleep 600; } >/dev/null 2>&1 &"]);
    test.run(&["new", "fix"]).stdout("$ROOT/fix\n").stderr(CREATED).ok();
    // It has neither our stderr nor the lock that a sandbox is made under.
    test.run(&["run", "fix", "echo", "runs"]).stdout("runs\n").ok();
}

#[test]
fn a_lock_of_somebodys_own_stays_at_the_end_of_a_creation() {
    let test = Test::new();
    let lock = "git worktree unlock . && git worktree lock --reason mine .";
    test.git(&["config", "sandbox.setup", lock]);
    let path = test.new_sandbox(&["fix"]);
    let listed = test.git(&["worktree", "list", "--porcelain"]);
    assert!(listed.contains("\nlocked mine\n") || listed.ends_with("\nlocked mine"), "{listed}");
    assert!(path.join("file").exists());
}
