//! The journeys of the README, as a reader would paste them.

use std::fs;
use std::path::Path;

use crate::repo::{Test, finished, names_in};
use crate::sync_man::have;

/// The block of shell commands that follows `<!-- journey: <name> -->`.
fn journey(name: &str) -> String {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md"));
    let readme = readme.unwrap();
    let mark = format!("<!-- journey: {name} -->\n```sh\n");
    let (_, after) = readme.split_once(&mark).unwrap_or_else(|| panic!("no journey '{name}'"));
    after.split_once("```\n").unwrap().0.to_owned()
}

/// Runs a journey in the repository; it must succeed. What it printed on stdout.
fn travel(test: &Test, name: &str) -> String {
    // The agent that the README names: it commits a note of its task.
    test.script(
        "bin/claude",
        "set -e\n[ \"$#\" = 2 ]\n[ \"$1\" = -p ]\necho \"$2\" >>notes\ngit add notes\n\
         git commit --quiet -m \"$2\"\necho \"done: $2\"",
    );
    let mut command = test.command("bash", &test.app());
    let path = command.get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap();
    let path = format!("{}:{}", test.home.join("bin").display(), path.to_string_lossy());
    let output =
        finished(command.env("PATH", path).args(["-euo", "pipefail", "-c", &journey(name)]));
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {}\n{stdout}{stderr}", output.status);
    stdout
}

/// The subjects of the commits that a branch has and `main` does not.
fn subjects(test: &Test, branch: &str) -> String {
    test.git(&["log", "--format=%s", &format!("main..{branch}")])
}

#[test]
fn there_are_five_journeys() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md"));
    let readme = readme.unwrap();
    let marks = readme.lines().filter_map(|line| line.strip_prefix("<!-- journey: "));
    let names: Vec<_> = marks.map(|mark| mark.trim_end_matches(" -->")).collect();
    assert_eq!(names, ["feature", "repair", "task", "many", "clean-up"]);
}

#[test]
fn a_new_feature() {
    let test = Test::new();
    travel(&test, "feature");
    assert_eq!(test.git(&["log", "-1", "--format=%s", "main"]), "Add a search box");
    assert!(test.app().join("search.txt").exists());
    assert!(test.sandboxes().is_empty());
    assert_eq!(test.branches(), ["feat/search", "main"]);
}

#[test]
fn repair_a_branch_that_a_remote_has() {
    let test = Test::new();
    test.remote("origin", "fix/bug-123");
    let remote = test.home.join("origin");
    test.git_in(&remote, &["checkout", "--quiet", "main"]);
    travel(&test, "repair");
    let pushed = test.git_in(&remote, &["log", "--format=%s", "main..fix/bug-123"]);
    assert_eq!(pushed, "Repair bug 123\norigin");
    assert_eq!(test.sandboxes(), ["fix-bug-123"]);
    let upstream = test.git(&["rev-parse", "--abbrev-ref", "fix/bug-123@{upstream}"]);
    assert_eq!(upstream, "origin/fix/bug-123");
}

#[test]
fn a_task_for_an_agent() {
    let test = Test::new();
    travel(&test, "task");
    assert_eq!(test.sandboxes(), ["fix-auth", "fix-tests"]);
    assert_eq!(subjects(&test, "fix-auth"), "Refactor login");
    assert_eq!(subjects(&test, "fix-tests"), "Repair the flaky test\nRepair the flaky test");
}

#[test]
fn many_agents_at_once() {
    let test = Test::new();
    let stdout = travel(&test, "many");
    assert_eq!(stdout.matches("done: Make the tests faster\n").count(), 3, "{stdout}");
    assert_eq!(test.sandboxes(), ["worker-1", "worker-2", "worker-3"]);
    for worker in ["worker-1", "worker-2", "worker-3"] {
        assert_eq!(subjects(&test, worker), "Make the tests faster");
        assert_eq!(test.json(&["show", "--json", worker])["in_use"], serde_json::json!([]));
    }
}

#[test]
fn clean_up_and_undo_it() {
    let test = Test::new();
    let merged = test.new_sandbox(&["merged"]);
    test.commit(&merged, "new", "new");
    test.git(&["merge", "--quiet", "merged"]);
    let stdout = travel(&test, "clean-up");
    assert!(stdout.contains("refused: there is work in it\n"), "{stdout}");
    assert_eq!(test.sandboxes(), ["draft"]);
    let idea = fs::read_to_string(test.at("draft").join("idea.txt")).unwrap();
    assert_eq!(idea, "half a thought\n");
    assert_eq!(test.git_in(&test.at("draft"), &["branch", "--show-current"]), "draft");
    let trash = names_in(&test.home.join(".cache/git-sandbox/worktrees/.trash"));
    assert!(matches!(&trash[..], [id] if id.starts_with("merged-")), "{trash:?}");
}

#[test]
fn the_picture_shows_what_the_program_prints() {
    if !have("python3") {
        return;
    }
    let test = Test::bare();
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = test.command("python3", top);
    let output =
        finished(command.arg("docs/picture").arg(assert_cmd::cargo::cargo_bin!("git-sandbox")));
    let wanted = fs::read_to_string(top.join("docs/session.svg")).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), wanted, "run docs/picture");
}
