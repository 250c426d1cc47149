//! The journeys of the README, one after another in every order of pairs: what one leaves behind does not
//! break the next.

use std::fs;

use crate::fixture::Test;
use crate::fixture::built::source;
use crate::fixture::process::finished_on_terminal;

const JOURNEYS: [&str; 5] = ["feature", "repair", "task", "many", "clean-up"];

/// The block of shell commands that follows `<!-- journey: <name> -->`.
#[track_caller]
fn journey(name: &str) -> String {
    let readme = source("README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let mark = format!("<!-- journey: {name} -->\n```sh\n");
    let (_, after) = readme.split_once(&mark).unwrap_or_else(|| panic!("no journey '{name}'"));
    after.split_once("```\n").unwrap().0.to_owned()
}

/// What a journey promises.
#[track_caller]
fn arrived(test: &Test, name: &str) {
    let subjects = |range: &str| test.git(&["log", "--format=%s", range]);
    match name {
        "feature" => {
            assert!(subjects("main").lines().any(|subject| subject == "Add a search box"));
            assert!(test.app().join("search.txt").exists());
        }
        "repair" => {
            let remote = test.home.join("origin");
            let pushed = test.git_in(&remote, &["log", "-1", "--format=%s", "fix/bug-123"]);
            assert_eq!(pushed, "Repair bug 123");
        }
        "task" => {
            assert_eq!(subjects("main..fix-auth"), "Refactor login");
            assert_eq!(subjects("main..fix-tests"), "resumed\nRepair the flaky test");
        }
        "many" => {
            for worker in ["worker-1", "worker-2", "worker-3"] {
                assert_eq!(subjects(&format!("main..{worker}")), "Make the tests faster");
            }
        }
        _ => {
            let idea = fs::read_to_string(test.at("draft").join("idea.txt")).unwrap();
            assert_eq!(idea, "half a thought\n");
        }
    }
}

/// Pastes two journeys into one shell. Both must succeed, and leave the shell where it was.
#[track_caller]
fn travel(one: &str, other: &str) {
    let test = Test::new();
    test.remote("origin", "fix/bug-123");
    test.git_in(&test.home.join("origin"), &["checkout", "--quiet", "main"]);
    test.script(
        "bin/claude",
        "set -e\nif [ \"$1\" = --continue ]; then set -- \"$2\" resumed; fi\n[ \"$#\" = 2 ]\n[ \"$1\" = -p ]\necho \"$2\" >>notes\ngit add notes\n\
         git commit --quiet -m \"$2\"\necho \"done: $2\"",
    );
    let config = || test.git(&["config", "--list", "--show-origin"]);
    let sandbox_keys = |text: &str| text.lines().filter(|line| line.contains("sandbox.")).count();
    assert_eq!(sandbox_keys(&config()), 0);
    let script = format!("{}{}pwd >\"$HOME/end\"\n", journey(one), journey(other));
    // On a terminal, as a reader has it: there an agent may take over.
    let mut command = test.command("bash", &test.app());
    let path = format!("{}:{}", test.home.join("bin").display(), path_of(&command));
    command.env("PATH", path).env("TERM", "dumb").env("GIT_PAGER", "cat");
    let output = finished_on_terminal(command.args(["-euo", "pipefail", "-c", &script]));
    let said = String::from_utf8_lossy(&output.stdout);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{one}, {other}: {}\n{said}{told}", output.status);
    assert_eq!(fs::read_to_string(test.home.join("end")).unwrap(), test.expand("$APP\n"));
    arrived(&test, other);
    assert_eq!(sandbox_keys(&config()), 0, "{one}, {other} leave configuration");
}

fn path_of(command: &std::process::Command) -> String {
    let path = command.get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap();
    path.to_string_lossy().into_owned()
}

fn after(one: &str) {
    for other in JOURNEYS.into_iter().filter(|other| *other != one) {
        travel(one, other);
    }
}

#[test]
fn after_a_new_feature() {
    after("feature");
}

#[test]
fn after_a_repair() {
    after("repair");
}

#[test]
fn after_a_task() {
    after("task");
}

#[test]
fn after_many_agents() {
    after("many");
}

#[test]
fn after_a_clean_up() {
    after("clean-up");
}

#[test]
fn a_sandbox_can_be_moved_out_of_the_cache_folder() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix", "A", "task"]);
    fs::write(path.join("new"), "work\n").unwrap();
    let root = test.home.join("sandboxes");
    test.git(&["config", "--global", "sandbox.root", "~/sandboxes"]);
    assert_eq!(test.json(&["show", "--json", "fix"])["managed"], false);
    assert_eq!(test.run(&["new", "other"]).output().status.code(), Some(0));
    let to = root.join("app/fix");
    test.git(&["worktree", "move", path.to_str().unwrap(), to.to_str().unwrap()]);
    let shown = test.json(&["show", "--json", "fix"]);
    assert_eq!([&shown["managed"], &shown["task"]], [&true.into(), &serde_json::json!("A task")]);
    assert_eq!(fs::read_to_string(to.join("new")).unwrap(), "work\n");
}
