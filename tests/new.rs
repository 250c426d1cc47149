//! `git sandbox new`

use std::path::Path;

use crate::repo::Test;

const USAGE: &str = "\
usage: git sandbox new [--name=<branch>] [--branch=<branch>] [--from=<commit>]
                       [--detach] [--count=<n>] [--dir=<parent>]
                       [--root=<folder>] [--json] [<name>] [<task>...]
";

#[test]
fn new_creates_a_sandbox_and_resumes_it() {
    let test = Test::new();
    test.run(&["new", "fix-auth", "Refactor", "login"])
        .stdout("$ROOT/fix-auth\n")
        .stderr("created sandbox 'fix-auth': new branch 'fix-auth' from 'main'\n")
        .ok();
    assert_eq!(
        test.git_in(&test.at("fix-auth"), &["status", "--porcelain=v2", "--branch"])
            .lines()
            .count(),
        2
    );
    assert_eq!(test.git_in(&test.at("fix-auth"), &["branch", "--show-current"]), "fix-auth");
    test.run(&["new", "fix-auth"])
        .stdout("$ROOT/fix-auth\n")
        .stderr("task: Refactor login\nresumed sandbox 'fix-auth'\n")
        .ok();
    assert!(!Path::new(&test.at("fix-auth-2")).exists());
}

#[test]
fn a_sentence_is_refused_with_a_slug() {
    let test = Test::new();
    let before = test.snapshot();
    test.run(&["new", "Fix the login bug"])
        .stderr(
            "error: 'Fix the login bug' is not a valid branch name\n\
             hint: git sandbox new fix-the-login-bug \"Fix the login bug\"\n",
        )
        .code(1);
    assert_eq!(test.snapshot(), before);
    assert!(!test.root().exists());
}

#[test]
fn wrong_usage_shows_the_usage() {
    let test = Test::new();
    test.run(&["new", "--form", "x"])
        .stderr(&format!("error: unknown option '--form'\nhint: did you mean '--from'?\n{USAGE}"))
        .code(129);
}
