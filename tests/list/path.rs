//! `git sandbox path`

use std::fs;

use crate::fixture::Test;

#[test]
fn path_finds_a_sandbox_by_folder_branch_ref_and_path() {
    let test = Test::new();
    let path = test.new_sandbox(&["here", "--branch", "feat/ui"]);
    let words = ["here", "feat/ui", "refs/heads/feat/ui", path.to_str().unwrap()];
    for word in words {
        test.run(&["path", word]).stdout("$ROOT/here\n").ok();
    }
    test.run_in(&test.root(), &["path", "here"]).stderr(crate::fixture::usage::OUTSIDE).code(1);
    fs::create_dir(path.join("sub")).unwrap();
    test.run_in(&path.join("sub"), &["path", "../"]).stdout("$ROOT/here\n").ok();
    test.run_in(&path, &["path", "./"]).stdout("$ROOT/here\n").ok();
}

#[test]
fn path_defaults_to_the_sandbox_it_is_in() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    fs::create_dir(path.join("sub")).unwrap();
    test.run_in(&path.join("sub"), &["path"]).stdout("$ROOT/fix\n").ok();
    test.run(&["path"])
        .stderr(
            "error: not inside a sandbox, and none was named\n\
             hint: name one that 'git sandbox list' shows\n",
        )
        .refused();
}

#[test]
fn a_word_that_means_two_sandboxes_is_refused() {
    let test = Test::new();
    test.new_sandbox(&["fix"]);
    test.new_sandbox(&["other", "--branch", "old"]);
    test.git_in(&test.at("fix"), &["checkout", "--quiet", "-b", "new"]);
    test.git_in(&test.at("other"), &["checkout", "--quiet", "fix"]);
    test.run(&["path", "fix"])
        .stderr(
            "error: 'fix' could be more than one sandbox\n\
             hint: it could be $ROOT/fix\n\
             hint: it could be refs/heads/fix\n",
        )
        .refused();
    test.run(&["path", "refs/heads/fix"]).stdout("$ROOT/other\n").ok();
    test.run(&["path", test.at("fix").to_str().unwrap()]).stdout("$ROOT/fix\n").ok();
}

#[test]
fn a_folder_name_that_two_sandboxes_have_is_refused() {
    let test = Test::new();
    test.new_sandbox(&["fix"]);
    test.new_sandbox(&["fix", "--branch", "other", "--dir", "../else"]);
    test.run(&["path", "other"]).stdout("$HOME/else/fix\n").ok();
    let refused = test.run(&["path", "fix"]).output();
    assert_eq!(refused.status.code(), Some(1));
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert!(stderr.starts_with("error: 'fix' could be more than one sandbox\n"), "{stderr}");
    assert!(stderr.contains("/else/fix\n"), "{stderr}");
}

#[test]
fn an_unknown_name_gets_the_nearest() {
    let test = Test::new();
    test.new_sandbox(&["fix-auth"]);
    test.run(&["path", "fix-atuh"])
        .stderr("error: no sandbox is called 'fix-atuh'\nhint: did you mean 'fix-auth'?\n")
        .refused();
    test.run(&["path", "something"])
        .stderr(
            "error: no sandbox is called 'something'\n\
             hint: 'git sandbox list' shows what there is\n",
        )
        .refused();
    test.run(&["path", "main"])
        .stderr(
            "error: no sandbox is called 'main'\nhint: 'git sandbox list' shows what there is\n",
        )
        .refused();
}

#[test]
fn the_path_of_a_sandbox_that_is_not_ready_comes_with_a_warning() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    fs::remove_dir_all(path).unwrap();
    test.run(&["path", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("warning: sandbox 'fix' is missing\n")
        .ok();
}

#[test]
fn a_path_is_printed_byte_for_byte() {
    let test = Test::new();
    test.git(&["worktree", "add", "--quiet", "../it's \u{1b}[31m odd", "-b", "odd"]);
    test.run(&["path", "odd"]).stdout("$HOME/it's \u{1b}[31m odd\n").ok();
}

#[test]
fn a_word_that_looks_like_an_option_can_be_named_after_dashes() {
    let test = Test::new();
    test.git(&["worktree", "add", "--quiet", "../-x", "-b", "x"]);
    test.run(&["path", "--", "-x"]).stdout("$HOME/-x\n").ok();
}

#[test]
fn a_caret_is_the_main_worktree() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    test.run_in(&path, &["path", "^"]).stdout("$APP\n").ok();
    test.run(&["path", "^"]).stdout("$APP\n").ok();
    test.git(&["clone", "--quiet", "--bare", ".", "../bare.git"]);
    test.run_in(&test.home.join("bare.git"), &["path", "^"])
        .stderr("error: there is no main worktree: the repository is bare\n")
        .code(1);
}
