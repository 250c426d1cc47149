//! `sandbox.agent`, and commands that `new` starts.

use std::fs;

use crate::fixture::files::{tree, write};
use crate::fixture::lab::Lab;
use crate::fixture::process::ended;
use crate::fixture::time::set_day;
use crate::fixture::{Test, usage};

/// A test whose agent is a script that tells where it is and what it got.
fn with_agent() -> Test {
    let test = Test::new();
    let agent = test.script(
        "bin/agent",
        "printf '%s|' \"$#\" \"$PWD\" \"$@\"; echo; [ -z \"$EXIT\" ] || exit \"$EXIT\"",
    );
    test.git(&["config", "sandbox.agent", &agent.to_string_lossy()]);
    test
}

/// What is said when sandbox `fix` is created for a task and its path goes to stderr.
fn created(task: &str) -> String {
    format!("created sandbox 'fix' for \"{task}\": new branch 'fix' from 'main'\n$ROOT/fix\n")
}

#[test]
fn a_task_starts_the_agent_with_it_as_one_argument() {
    let test = with_agent();
    test.run(&["new", "fix", "Refactor", "the  \"login\"; $(touch x)"])
        .on_terminal()
        .stdout("1|$ROOT/fix|Refactor the  \"login\"; $(touch x)|\n")
        .stderr(&created("Refactor the  \"login\"; $(touch x)"))
        .ok();
    assert_eq!(test.git_in(&test.at("fix"), &["status", "--porcelain"]), "");
    assert_eq!(test.git(&["status", "--porcelain"]), "");
    assert_eq!(
        test.json(&["show", "fix", "--json"])["task"],
        "Refactor the  \"login\"; $(touch x)"
    );
}

#[test]
fn the_exit_code_is_the_agents() {
    let test = with_agent();
    test.run(&["new", "fix", "task"])
        .on_terminal()
        .env("EXIT", "42")
        .stdout("1|$ROOT/fix|task|\n")
        .stderr(&created("task"))
        .code(42);
    assert_eq!(test.sandboxes(), ["fix"]);
}

#[test]
fn where_stdout_is_no_terminal_the_path_is_printed_and_the_agent_waits() {
    let test = with_agent();
    let script = "dir=$(git sandbox new fix 'A task') && cd \"$dir\" && pwd";
    let mut command = test.command("bash", &test.app());
    command.args(["-c", script]);
    test.run_command(command)
        .stdout("$ROOT/fix\n")
        .stderr(
            "created sandbox 'fix' for \"A task\": new branch 'fix' from 'main'\n\
             the agent was not started: stdout is not a terminal\n\
             hint: git sandbox run fix\n",
        )
        .ok();
    // A command that was typed is run all the same.
    test.run(&["new", "fix", "--", "echo", "typed"])
        .stdout("typed\n")
        .stderr("resumed sandbox 'fix'\n$ROOT/fix\n")
        .ok();
    // Without an agent there is nothing to say.
    test.git(&["config", "--unset", "sandbox.agent"]);
    test.run(&["new", "other", "A task"])
        .stdout("$ROOT/other\n")
        .stderr("created sandbox 'other' for \"A task\": new branch 'other' from 'main'\n")
        .ok();
}

#[test]
fn a_pool_says_that_it_starts_no_agent() {
    let test = with_agent();
    test.run(&["new", "--count", "2", "w", "task"])
        .on_terminal()
        .stdout("$ROOT/w-1\n$ROOT/w-2\n")
        .stderr(
            "created sandbox 'w-1' for \"task\": new branch 'w-1' from 'main'\n\
             created sandbox 'w-2' for \"task\": new branch 'w-2' from 'main'\n\
             the agent was not started: several cannot share the terminal\n\
             hint: git sandbox run --background w-1\n\
             hint: git sandbox run --background w-2\n",
        )
        .ok();
    test.run(&["new", "--count", "1", "w", "task", "--no-run"])
        .stdout("$ROOT/w-1\n")
        .stderr("task: task\nresumed sandbox 'w-1'\n")
        .ok();
}

#[test]
fn without_a_task_or_with_no_run_nothing_is_started() {
    let test = with_agent();
    test.run(&["new", "fix", "A", "task", "--no-run"])
        .stdout("$ROOT/fix\n")
        .stderr("created sandbox 'fix' for \"A task\": new branch 'fix' from 'main'\n")
        .ok();
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("task: A task\nresumed sandbox 'fix'\n")
        .ok();
    test.run(&["new", "other"])
        .stdout("$ROOT/other\n")
        .stderr("created sandbox 'other': new branch 'other' from 'main'\n")
        .ok();
    assert_eq!(test.json(&["new", "json", "task", "--json"])["task"], "task");
}

#[test]
fn a_typed_command_goes_before_the_agent() {
    let test = with_agent();
    test.run(&["new", "fix", "A task", "--", "echo", "{task}"])
        .stdout("A task\n")
        .stderr(&created("A task"))
        .ok();
    test.run(&["run", "fix", "echo", "typed"]).stdout("typed\n").ok();
}

#[test]
fn run_starts_the_agent_after_saying_what_was_going_on() {
    let test = with_agent();
    test.new_sandbox(&["fix", "--no-run", "A", "task"]);
    write(&test.at("fix/new"), "new\n");
    set_day(&test.at("fix/new"), 2);
    set_day(&test.at("fix"), 2);
    test.run(&["run", "fix"])
        .stdout("1|$ROOT/fix|A task|\n")
        .stderr("task: A task\nbranch: fix; last used: 29 days ago; 1 change\n")
        .ok();
    test.run_in(&test.at("fix"), &["run"])
        .stdout(
            "1|$ROOT/fix|You come back to sandbox 'fix' on branch 'fix'.\n\
             Task: A task\n\
             State: no commits beyond 'main' yet, 1 uncommitted change.\n\
             Last run: agent: done 0s.\n\
             Go on from there; what is done need not be done again.|\n",
        )
        .stderr("task: A task\nbranch: fix; last used: just now; 1 change, done 0s\n")
        .ok();
}

#[test]
fn new_of_one_that_is_there_says_what_was_going_on_too() {
    let test = with_agent();
    test.new_sandbox(&["fix", "--no-run", "A", "task"]);
    set_day(&test.at("fix"), 11);
    test.run(&["new", "fix", "Go", "on"])
        .on_terminal()
        .stdout("1|$ROOT/fix|Go on|\n")
        .stderr(
            "resumed sandbox 'fix'\n$ROOT/fix\n\
             task: Go on\nbranch: fix; last used: 20 days ago; clean\n",
        )
        .ok();
}

#[test]
fn an_agent_without_a_task_gets_no_argument() {
    let test = with_agent();
    test.new_sandbox(&["--detach", "look"]);
    test.run(&["run", "exploration-look"])
        .stdout("0|$ROOT/exploration-look|\n")
        .stderr("branch: none; last used: just now; clean\n")
        .ok();
}

#[test]
fn an_agent_is_a_command_of_the_shell() {
    let test = with_agent();
    for (name, value, said) in [
        ("a", "printf '<%s>\\n' --yes", "<--yes>\n<it's a \"task\">\n"),
        ("b", "A=1 sh -c 'echo \"$A $0\"'", "1 it's a \"task\"\n"),
        ("c", "\"$HOME/bin/agent\"", "1|$ROOT/c|it's a \"task\"|\n"),
    ] {
        test.git(&["config", "sandbox.agent", value]);
        test.new_sandbox(&[name, "--no-run", "it's a \"task\""]);
        test.run(&["run", name])
            .stdout(said)
            .stderr(&format!("task: it's a \"task\"\nbranch: {name}; last used: just now; clean\n"))
            .ok();
    }
}

#[test]
fn an_agent_that_mentions_the_task_gets_no_argument() {
    let test = with_agent();
    test.git(&["config", "sandbox.agent", "\"$HOME/bin/agent\" -p \"$GIT_SANDBOX_TASK\""]);
    test.run(&["new", "fix", "two words"])
        .on_terminal()
        .stdout("2|$ROOT/fix|-p|two words|\n")
        .stderr(&created("two words"))
        .ok();
}

#[test]
fn an_agent_may_begin_with_a_word_of_the_shell() {
    let test = with_agent();
    test.git(&["config", "sandbox.agent", "exec \"$HOME/bin/agent\""]);
    test.run(&["new", "fix", "task"])
        .on_terminal()
        .stdout("1|$ROOT/fix|task|\n")
        .stderr(&created("task"))
        .ok();
    test.git(&["config", "sandbox.agent", "cd / && \"$HOME/bin/agent\""]);
    test.run(&["new", "other", "task"])
        .on_terminal()
        .stdout("1|/|task|\n")
        .stderr(
            "created sandbox 'other' for \"task\": new branch 'other' from 'main'\n$ROOT/other\n",
        )
        .ok();
}

#[test]
fn an_agent_of_the_checkout_is_found_from_every_folder() {
    let test = with_agent();
    let agent = test.script("app/tools/agent", "echo \"$PWD $1\"");
    test.git(&["add", "."]);
    test.git(&["commit", "--quiet", "-m", "agent"]);
    test.git(&["config", "sandbox.agent", "tools/agent"]);
    test.run_in(agent.parent().unwrap(), &["new", "fix", "task"])
        .on_terminal()
        .stdout("$ROOT/fix task\n")
        .stderr(&created("task"))
        .ok();
}

#[test]
fn an_agent_that_is_not_there_is_an_error_before_anything_is_created() {
    let test = with_agent();
    test.git(&["config", "sandbox.agent", "no-such-agent --yes"]);
    let state = || test.snapshot() + &tree(&test.home, &["sandbox.lock"]);
    let before = state();
    test.run(&["new", "fix", "task"])
        .on_terminal()
        .stderr("error: cannot run 'no-such-agent': no such program\n")
        .code(127);
    test.run(&["new", "fix", "--", "no-such-program"])
        .stderr("error: cannot run 'no-such-program': no such program\n")
        .code(127);
    assert_eq!(state(), before);
    test.new_sandbox(&["fix", "task", "--no-run"]);
    set_day(&test.at("fix"), 2);
    test.run(&["run", "fix"])
        .stderr("error: cannot run 'no-such-agent': no such program\n")
        .code(127);
    assert_eq!(
        test.json(&["show", "fix", "--json"])["last_used"],
        "2026-01-02T00:00:00Z",
        "nothing was run"
    );
}

#[test]
fn an_empty_agent_is_none() {
    let test = with_agent();
    test.git(&["config", "sandbox.agent", ""]);
    test.run(&["new", "fix", "task"])
        .on_terminal()
        .stdout("$ROOT/fix\n")
        .stderr("created sandbox 'fix' for \"task\": new branch 'fix' from 'main'\n")
        .ok();
}

#[test]
fn a_command_of_new_has_stdout_for_itself() {
    let test = Test::new();
    test.run(&[
        "new",
        "fix",
        "A",
        "task",
        "--",
        "sh",
        "-c",
        "pwd; echo \"$0\" >&2; exit 5",
        "{task}",
    ])
    .stdout("$ROOT/fix\n")
    .stderr(&(created("A task") + "A task\n"))
    .code(5);
    test.run(&["new", "fix", "--", "echo", "{name}", "{branch}", "{path}"])
        .stdout("fix fix $ROOT/fix\n")
        .stderr("resumed sandbox 'fix'\n$ROOT/fix\n")
        .ok();
    test.run(&["new", "fix", "--", "./file"])
        .stderr("resumed sandbox 'fix'\n$ROOT/fix\nerror: cannot run './file': not executable\n")
        .code(126);
}

#[test]
fn a_command_cannot_be_run_in_a_pool_or_with_json() {
    let test = Test::new();
    for (option, words) in [
        ("--count", &["new", "fix", "--count", "2", "--", "true"][..]),
        ("--json", &["new", "fix", "--json", "--", "true"]),
    ] {
        let before = test.snapshot();
        let usage = usage::NEW;
        test.run(words)
            .stderr(&format!("error: a command and '{option}' cannot be used together\n{usage}"))
            .code(129);
        assert_eq!(test.snapshot(), before);
    }
}

#[test]
fn twenty_agents_at_once_commit_on_their_own_branches() {
    let lab = Lab::new();
    let untouched = || {
        let inside = |name: &str| fs::read(lab.app().join(".git").join(name)).unwrap();
        let status = lab.git(&["--no-optional-locks", "status", "--porcelain=v2", "--branch"]);
        let refs = ["HEAD", "main"].map(|name| lab.git(&["reflog", name]));
        let bytes = ["index", "HEAD", "config"].map(inside);
        (status, refs, bytes, tree(&lab.app(), &[".git"]))
    };
    let before = untouched();
    let names: Vec<_> = (10..30).map(|number| format!("t{number}")).collect();
    let script = "echo \"$GIT_SANDBOX_TASK\" >\"$GIT_SANDBOX_NAME\" && git add . && \
                  git commit --quiet -m \"$GIT_SANDBOX_TASK\" && git rev-parse HEAD";
    let start =
        |name: &String| lab.start(&["new", name, "task of", name, "--", "sh", "-c", script]);
    let children: Vec<_> = names.iter().map(start).collect();
    let outputs: Vec<_> = children.into_iter().map(ended).collect();
    for (name, output) in names.iter().zip(outputs) {
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert_eq!(
            stderr,
            format!(
                "created sandbox '{name}' for \"task of {name}\": \
                 new branch '{name}' from 'main'\n{}\n",
                lab.at(name).display()
            )
        );
        let commit = String::from_utf8(output.stdout).unwrap();
        assert_eq!(lab.git(&["rev-parse", &format!("refs/heads/{name}")]), commit.trim_end());
        assert_eq!(lab.git(&["log", "--format=%s", name]), format!("task of {name}\none"));
        assert_eq!(lab.git(&["diff", "--name-only", "main", name]), *name);
        assert_eq!(lab.git_in(&lab.at(name), &["status", "--porcelain"]), "");
        let text = fs::read_to_string(lab.at(name).join(name)).unwrap();
        assert_eq!(text, format!("task of {name}\n"));
    }
    assert_eq!(lab.sandboxes(), names);
    assert_eq!(untouched(), before);
    let branches = names.iter().map(String::as_str);
    lab.git(&["merge", "--quiet"].into_iter().chain(branches).collect::<Vec<_>>());
    // The first, twenty of theirs, and the merge.
    assert_eq!(lab.git(&["rev-list", "--count", "main"]), "22");
}
