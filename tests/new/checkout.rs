//! The checkout of `git sandbox new`: hooks and filters run as with `git worktree add`.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::fixture::Test;
use crate::fixture::files::{chmod, write};
use crate::fixture::process::finished;

/// Tells all that a hook can see: arguments, folder, stdin, git's variables, where git is found.
/// The author's date is a commit's own and never handed on.
const RECORDER: &str = r#"{
    printf 'arg %s\n' "$@"
    printf 'cwd %s\n' "$(pwd)"
    printf 'stdin <%s>\n' "$(cat)"
    env | grep '^GIT_' | grep -v '^GIT_AUTHOR_DATE=' | sort
    printf 'path %s\n' "${PATH%%:*}"
} >"$HOME/seen"
echo said
"#;

/// What the hook saw and what was printed, when these words make the worktree `path`.
#[track_caller]
fn seen(test: &Test, dir: &Path, words: &[&str], path: &Path) -> String {
    let text = test.home.join("stdin");
    write(&text, "not for hooks\n");
    let mut command = test.command("git", dir);
    command.args(words).stdin(Stdio::from(fs::File::open(text).unwrap()));
    let output = finished(&mut command);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("said\n"), "{stderr}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("said"));
    let seen = fs::read_to_string(test.home.join("seen")).unwrap();
    fs::remove_file(test.home.join("seen")).unwrap();
    assert!(path.is_dir());
    seen.replace(&*path.to_string_lossy(), "<worktree>")
}

/// Compares the hook of `git worktree add` with that of `git sandbox new`, with `lead` before both.
#[track_caller]
fn compare(test: &Test, dir: &Path, lead: &[&str]) {
    let (plain, mine) = (test.home.join("plain"), test.at("mine"));
    let add = ["worktree", "add", "--quiet", "-b", "plain", plain.to_str().unwrap()];
    let wanted = seen(test, dir, &[lead, &add].concat(), &plain);
    let got = seen(test, dir, &[lead, &["sandbox", "new", "mine"]].concat(), &mine);
    assert_eq!(got, wanted);
}

#[test]
fn a_hook_sees_what_it_sees_with_git_worktree_add() {
    let test = Test::new();
    test.script("app/.git/hooks/post-checkout", RECORDER);
    compare(&test, &test.app(), &[]);
}

#[test]
fn a_hook_sees_the_same_from_a_subdirectory() {
    let test = Test::new();
    test.script("app/.git/hooks/post-checkout", RECORDER);
    fs::create_dir_all(test.app().join("sub/dir")).unwrap();
    compare(&test, &test.app().join("sub/dir"), &[]);
}

#[test]
fn a_hook_sees_the_same_with_config_from_the_command_line() {
    let test = Test::new();
    test.script("app/.git/hooks/post-checkout", RECORDER);
    compare(&test, &test.app(), &["-c", "user.name=Someone Else"]);
}

#[test]
fn a_hook_sees_the_same_with_a_git_dir_from_the_command_line() {
    let test = Test::new();
    test.script("app/.git/hooks/post-checkout", RECORDER);
    let git_dir = format!("--git-dir={}/.git", test.app().display());
    compare(&test, &test.app(), &[&git_dir]);
}

#[test]
fn a_hook_sees_the_same_from_inside_a_sandbox() {
    let test = Test::new();
    let path = test.new_sandbox(&["first"]);
    test.script("app/.git/hooks/post-checkout", RECORDER);
    compare(&test, &path, &[]);
}

#[test]
fn a_hook_sees_the_same_in_a_sha256_repository() {
    let test = Test::bare();
    test.init("app", &["--object-format=sha256"]);
    test.script("app/.git/hooks/post-checkout", RECORDER);
    compare(&test, &test.app(), &[]);
}

#[test]
fn hooks_are_found_by_an_absolute_hooks_path() {
    let test = Test::new();
    let hook = test.script("hooks/post-checkout", RECORDER);
    test.git(&["config", "core.hooksPath", &hook.parent().unwrap().to_string_lossy()]);
    compare(&test, &test.app(), &[]);
}

#[test]
fn hooks_are_found_by_a_relative_hooks_path_that_is_tracked() {
    let test = Test::new();
    test.script("app/.hooks/post-checkout", RECORDER);
    test.git(&["add", ".hooks"]);
    test.git(&["commit", "--quiet", "-m", "hooks"]);
    test.git(&["config", "core.hooksPath", ".hooks"]);
    compare(&test, &test.app(), &[]);
}

#[test]
fn hooks_are_found_by_a_relative_hooks_path_of_the_main_worktree_alone() {
    let test = Test::new();
    test.script("app/.hooks/post-checkout", RECORDER);
    test.git(&["config", "core.hooksPath", ".hooks"]);
    compare(&test, &test.app(), &[]);
}

#[test]
fn a_failing_hook_keeps_the_sandbox() {
    let test = Test::new();
    test.script("app/.git/hooks/post-checkout", "echo no; exit 3");
    test.run(&["new", "fix", "A", "task"])
        .stdout("$ROOT/fix\n")
        .stderr(
            "no\n\
             created sandbox 'fix' for \"A task\": new branch 'fix' from 'main'\n\
             warning: the post-checkout hook exited with 3; the sandbox stays\n",
        )
        .code(1);
    let facts = test.json(&["show", "fix", "--json"]);
    assert_eq!((&facts["state"], &facts["locked"]), (&"ready".into(), &().into()));
    assert_eq!(facts["task"], "A task");
    assert_eq!(test.git_in(&test.at("fix"), &["status", "--porcelain"]), "");
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("task: A task\nresumed sandbox 'fix'\n")
        .ok();
}

#[test]
fn a_hook_that_is_killed_keeps_the_sandbox() {
    let test = Test::new();
    test.script("app/.git/hooks/post-checkout", "kill -9 $$");
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr(
            "created sandbox 'fix': new branch 'fix' from 'main'\n\
             warning: the post-checkout hook was killed; the sandbox stays\n",
        )
        .code(1);
    assert_eq!(test.json(&["show", "fix", "--json"])["state"], "ready");
}

#[test]
fn a_hook_that_is_not_executable_is_not_run() {
    let test = Test::new();
    let hook = test.script("app/.git/hooks/post-checkout", "echo no; exit 3");
    chmod(&hook, 0o644);
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("created sandbox 'fix': new branch 'fix' from 'main'\n")
        .ok();
}

#[test]
fn no_hook_runs_but_the_checkouts() {
    let test = Test::new();
    for hook in ["pre-commit", "post-index-change", "post-commit", "pre-rebase"] {
        test.script(&format!("app/.git/hooks/{hook}"), &format!("echo {hook} >>$HOME/hooks"));
    }
    test.git(&["worktree", "add", "--quiet", "../plain"]);
    let plain = fs::read_to_string(test.home.join("hooks")).unwrap_or_default();
    let _ = fs::remove_file(test.home.join("hooks"));
    test.new_sandbox(&["fix"]);
    assert_eq!(fs::read_to_string(test.home.join("hooks")).unwrap_or_default(), plain);
}

/// A repository whose file `bad` no checkout can bring.
fn broken() -> Test {
    let test = Test::new();
    write(&test.app().join(".gitattributes"), "bad filter=broken\n");
    write(&test.app().join("bad"), "bad\n");
    test.git(&["add", "."]);
    test.git(&["commit", "--quiet", "-m", "bad"]);
    test.git(&["config", "filter.broken.smudge", "false"]);
    test.git(&["config", "filter.broken.required", "true"]);
    test
}

const BROKEN: &str = "\
error: external filter 'false' failed 1
error: external filter 'false' failed
fatal: bad: smudge filter broken failed
error: cannot check the files out: git exited with 128
";

#[track_caller]
fn gone(test: &Test, folder: &Path) {
    assert!(!folder.exists());
    assert_eq!(test.linked(), [""; 0]);
    assert_eq!(crate::fixture::files::names_in(&test.app().join(".git/worktrees")), [""; 0]);
}

#[test]
fn a_checkout_that_fails_is_taken_back_with_its_new_branch() {
    let test = broken();
    let before = test.git(&["for-each-ref"]);
    test.run(&["new", "fix", "A", "task"]).stderr(BROKEN).code(1);
    gone(&test, &test.at("fix"));
    assert_eq!(test.git(&["for-each-ref"]), before);
    test.git(&["config", "--unset", "filter.broken.smudge"]);
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("created sandbox 'fix': new branch 'fix' from 'main'\n")
        .ok();
}

#[test]
fn a_checkout_that_fails_leaves_a_branch_that_was_there() {
    let test = broken();
    test.git(&["branch", "fix"]);
    let before = (test.git(&["for-each-ref"]), test.git(&["reflog", "show", "fix"]));
    test.run(&["new", "fix"]).stderr(BROKEN).code(1);
    gone(&test, &test.at("fix"));
    assert_eq!((test.git(&["for-each-ref"]), test.git(&["reflog", "show", "fix"])), before);
}

#[test]
fn a_checkout_that_fails_leaves_no_upstream() {
    let test = broken();
    test.git_in(&test.home, &["clone", "--quiet", "app", "origin"]);
    test.git_in(&test.home.join("origin"), &["branch", "pr"]);
    test.git(&["remote", "add", "origin", "../origin"]);
    test.git(&["fetch", "--quiet", "origin"]);
    let before = (test.git(&["for-each-ref"]), test.git(&["config", "--local", "--list"]));
    test.run(&["new", "pr"]).stderr(BROKEN).code(1);
    gone(&test, &test.at("pr"));
    assert_eq!((test.git(&["for-each-ref"]), test.git(&["config", "--local", "--list"])), before);
}

#[test]
fn a_checkout_that_fails_keeps_a_branch_that_moved_meanwhile() {
    let test = broken();
    test.git(&["branch", "other", "main~1"]);
    let smudge =
        format!("git -C '{}' update-ref refs/heads/fix other; false", test.app().display());
    test.git(&["config", "filter.broken.smudge", &smudge]);
    let output = test.run(&["new", "fix"]).output();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("warning: branch 'fix' stays: it could not be removed unchanged\n"));
    gone(&test, &test.at("fix"));
    assert_eq!(test.git(&["rev-parse", "fix"]), test.git(&["rev-parse", "other"]));
}

#[test]
fn a_pool_stops_at_the_first_that_fails_and_keeps_what_was_made() {
    let test = Test::new();
    test.git(&["branch", "job-2/x"]);
    test.run(&["new", "job", "--count", "3"])
        .stdout("$ROOT/job-1\n")
        .stderr(
            "created sandbox 'job-1': new branch 'job-1' from 'main'\n\
             error: cannot create branch 'job-2': branch 'job-2/x' is in the way\n\
             hint: git sandbox new job-2-2\n",
        )
        .code(1);
    assert_eq!(test.sandboxes(), ["job-1"]);
}

#[test]
fn a_file_that_is_not_gits_keeps_a_checkout_that_fails() {
    let test = Test::new();
    let script = test.script("bin/smudge", "cat; echo mine >notes; exit 1");
    test.git(&["config", "filter.bad.smudge", &script.display().to_string()]);
    test.git(&["config", "filter.bad.required", "true"]);
    write(&test.app().join(".git/info/attributes"), "file filter=bad\n");
    let output = test.run(&["new", "fix"]).output();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    let stays =
        format!("warning: the sandbox stays: '{}' is not git's\n", test.at("fix/notes").display());
    assert!(said.contains(&stays), "{said}");
    assert_eq!(fs::read_to_string(test.at("fix/notes")).unwrap(), "mine\n");
    assert_eq!(test.branches(), ["fix", "main"]);
}

#[test]
fn settings_of_the_users_own_stay_when_a_checkout_fails() {
    let test = Test::new();
    test.remote("origin", "feature");
    test.git(&["config", "branch.feature.rebase", "true"]);
    test.git(&["config", "filter.bad.smudge", "false"]);
    test.git(&["config", "filter.bad.required", "true"]);
    fs::create_dir_all(test.app().join(".git/info")).unwrap();
    fs::write(test.app().join(".git/info/attributes"), "file filter=bad\n").unwrap();
    let output = test.run(&["new", "feature"]).output();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(test.branches(), ["main"]);
    let settings = test.git(&["config", "--get-regexp", "^branch\\.feature\\."]);
    assert_eq!(settings, "branch.feature.rebase true");
}

/// Without a terminal there is none, however long it takes; with one git's own.
#[test]
fn progress_is_for_terminals() {
    let test = Test::new();
    let run = test.run(&["new", "box"]).env("GIT_PROGRESS_DELAY", "0");
    run.stdout("$ROOT/box\n").stderr("created sandbox 'box': new branch 'box' from 'main'\n").ok();
    let plain = ["reset", "--hard", "--no-recurse-submodules"];
    fs::remove_file(test.app().join("file")).unwrap();
    let mut git = test.command("git", &test.app());
    let told = finished(git.args(plain).env("GIT_PROGRESS_DELAY", "0"));
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.contains("Updating files"), "git tells nothing by itself: {told}");
}
