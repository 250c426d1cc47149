//! What is not renamed, and why.

use std::fs;

use crate::fixture::Test;
use crate::fixture::lab::Lab;
use crate::fixture::process::Sleeper;

#[test]
fn one_that_is_in_use_is_refused() {
    let (lab, path) = Lab::with_box();
    let (mut child, pid) = lab.start_waiter("box");
    let output = lab.run(&["rename", "box", "new"]).output();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: cannot rename 'box': in use by "), "{stderr}");
    assert!(stderr.contains(&format!("{pid} sh")), "{stderr}");
    assert!(path.is_dir() && lab.branches() == ["box", "main"]);
    lab.go("box", pid);
    child.wait().unwrap();
    // A process that only sits there.
    let mut sleeper = Sleeper::start(&path, std::process::Stdio::null());
    lab.run(&["rename", "box", "new"])
        .stderr(&format!(
            "error: cannot rename 'box': in use by {} sleep\n\
             hint: to end what was started there: git sandbox stop box\n",
            sleeper.pid()
        ))
        .code(1);
    assert!(path.is_dir() && lab.branches() == ["box", "main"]);
    sleeper.end();
    lab.run(&["rename", "box", "new"])
        .stdout("$ROOT/new\n")
        .stderr("renamed sandbox 'box' to 'new': branch 'box' is now 'new'\n")
        .ok();
}

#[test]
fn one_that_we_are_in_or_that_is_locked_is_refused() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    test.run_in(&path, &["rename", "box", "new"])
        .stderr("error: cannot rename 'box': you are in it\nhint: cd $APP\n")
        .refused();
    test.git(&["worktree", "lock", "--reason", "on a stick", path.to_str().unwrap()]);
    test.run(&["rename", "box", "new"])
        .stderr("error: cannot rename 'box': locked: on a stick\n")
        .refused();
}

#[test]
fn one_with_another_worktree_inside_is_refused() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    test.git(&["worktree", "add", "--quiet", "-b", "inner", path.join("inner").to_str().unwrap()]);
    test.run(&["rename", "box", "new"])
        .stderr("error: cannot rename 'box': contains worktree '$ROOT/box/inner'\n")
        .refused();
}

#[test]
fn a_rebase_and_a_branch_in_two_worktrees_are_refused() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    test.commit(&path, "file", "ours");
    test.commit(&test.app(), "file", "theirs");
    assert!(!test.command("git", &path).args(["rebase", "main"]).status().unwrap().success());
    test.run(&["rename", "box", "new"])
        .stderr("error: cannot rename 'box': rebase in progress\n")
        .refused();
    test.git_in(&path, &["rebase", "--abort"]);
    let words = ["worktree", "add", "--quiet", "--force", "../twin", "box"];
    test.git(&words);
    test.run(&["rename", path.to_str().unwrap(), "new"])
        .stderr("error: cannot rename 'box': its branch is also in '$HOME/twin'\n")
        .refused();
}

#[test]
fn names_that_are_taken_or_no_names_are_refused() {
    let test = Test::new();
    test.new_sandbox(&["box"]);
    test.git(&["branch", "taken"]);
    test.run(&["rename", "box", "taken"])
        .stderr("error: cannot rename 'box': branch 'taken' already exists\n")
        .refused();
    test.run(&["rename", "box", "taken/below"])
        .stderr(
            "error: cannot create branch 'taken/below': branch 'taken' is in the way\n\
             hint: git sandbox rename box taken-below\n",
        )
        .refused();
    test.run(&["rename", "box", "no name"])
        .stderr(
            "error: 'no name' is not a valid branch name\n\
             hint: git sandbox rename box no-name\n",
        )
        .refused();
    test.run(&["rename", "bos", "x"])
        .stderr("error: no sandbox is called 'bos'\nhint: did you mean 'box'?\n")
        .refused();
    // The name of a commit is no start here.
    test.run(&["rename", "box", "HEAD~1"])
        .stderr(
            "error: 'HEAD~1' is not a valid branch name\n\
             hint: git sandbox rename box head-1\n",
        )
        .refused();
    let usage = "usage: git sandbox rename [--root=<folder>] <name> <new>\n";
    test.run(&["rename", "box"]).stderr(&format!("error: <new> is missing\n{usage}")).code(129);
    test.run(&["rename"]).stderr(&format!("error: <name> is missing\n{usage}")).code(129);
    test.run(&["rename", "box", "x", "y"])
        .stderr(&format!("error: unexpected argument 'y'\n{usage}"))
        .code(129);
}

#[test]
fn one_whose_folder_is_gone_or_that_is_damaged_is_refused() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    fs::remove_file(path.join(".git")).unwrap();
    test.run(&["rename", "box", "new"])
        .stderr(
            "error: cannot rename 'box': it is damaged: \
             its '.git' file is missing or not understood\n",
        )
        .refused();
    fs::remove_dir_all(&path).unwrap();
    test.run(&["rename", "box", "new"])
        .stderr("error: the folder of sandbox 'box' is gone\nhint: git sandbox new box\n")
        .refused();
}

#[test]
fn one_that_comes_into_use_meanwhile_is_refused() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    let comes = crate::fixture::process::comes_into_use(&test, &path, "for-each-ref");
    let output = test.program(&test.app(), &["rename", "box", "new"]).env("PATH", &comes).output();
    crate::fixture::process::leaves(&test);
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: cannot rename 'box': it has just come into use\n\
         hint: to end what was started there: git sandbox stop box\n"
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(path.is_dir() && test.branches() == ["box", "main"]);
}
