//! What `git sandbox new` refuses, and that nothing comes of it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::fixture::Test;
use crate::fixture::files::write;
use crate::fixture::usage::NEW;

#[test]
fn a_sentence_is_refused_with_a_slug() {
    let test = Test::new();
    test.run(&["new", "Fix the login bug"])
        .stderr(
            "error: 'Fix the login bug' is not a valid branch name\n\
             hint: git sandbox new fix-the-login-bug \"Fix the login bug\"\n",
        )
        .refused();
    test.run(&["new", "It's $5 off"])
        .stderr(
            "error: 'It's $5 off' is not a valid branch name\n\
             hint: git sandbox new it-s-5-off 'It'\\''s $5 off'\n",
        )
        .refused();
}

#[test]
fn names_that_are_gits_own_are_refused() {
    let test = Test::new();
    for (name, why, slug) in [
        ("HEAD", "is git's own name for the current commit", "branch-head --from HEAD"),
        ("@", "is git's own name for the current commit", "my-sandbox --from @"),
        ("deadbeef1", "looks like an object id", "branch-deadbeef1"),
        ("refs/heads/x", "is a full ref name, not a branch name", "refs-heads-x"),
        ("a..b", "is not a valid branch name", "a-b"),
        ("fix.lock", "is not a valid branch name", "fix-lock"),
        ("@{-1}", "is not a valid branch name", "1"),
        ("a//b", "is not a valid branch name", "a-b"),
        ("", "is not a name", "my-sandbox"),
    ] {
        test.run(&["new", name])
            .stderr(&format!("error: '{name}' {why}\nhint: git sandbox new {slug}\n"))
            .refused();
    }
    test.run(&["new", "--name=-x"])
        .stderr("error: '-x' is not a valid branch name\nhint: git sandbox new x\n")
        .refused();
}

#[test]
fn a_name_that_means_a_commit_is_refused_with_a_start() {
    let test = Test::new();
    test.commit(&test.app(), "file", "two\n");
    test.git(&["tag", "v1.0", "HEAD~1"]);
    test.git(&["tag", "-a", "-m", "release", "release"]);
    test.git(&["update-ref", "refs/remotes/gone/HEAD", "HEAD"]);
    let id = test.git(&["rev-parse", "HEAD"]);
    let short = &id[..8];
    let other = "names a ref that is not a branch";
    let refusals = [
        ("tags/v1.0", other, "tags-v1-0".to_owned()),
        ("heads/main", other, "heads-main".to_owned()),
        ("remotes/gone/HEAD", other, "remotes-gone-head".to_owned()),
        ("gone/HEAD", other, "gone-head".to_owned()),
        ("gone", other, "from-gone".to_owned()),
        ("v1.0", "is a tag, not a branch", "v1-0".to_owned()),
        ("release", "is a tag, not a branch", "from-release".to_owned()),
        (&id, "looks like an object id", format!("branch-{id}")),
        (short, "looks like an object id", format!("branch-{short}")),
        ("HEAD~1", "is not a valid branch name", "head-1".to_owned()),
    ];
    let from =
        |name: &str| if name == "HEAD~1" { "\"HEAD~1\"".to_owned() } else { name.to_owned() };
    let check = || {
        for (name, why, slug) in &refusals {
            let hint = format!("git sandbox new {slug} --from {}", from(name));
            test.run(&["new", name])
                .stderr(&format!("error: '{name}' {why}\nhint: {hint}\n"))
                .refused();
        }
    };
    check();
    test.git(&["pack-refs", "--all"]);
    check();
    // A branch of that name is what it was.
    test.git(&["branch", "release"]);
    test.run(&["new", "release"])
        .stdout("$ROOT/release\n")
        .stderr("created sandbox 'release': branch 'release'\n")
        .ok();
}

#[test]
fn what_a_hint_says_can_be_pasted() {
    let test = Test::new();
    test.git(&["tag", "v1.0"]);
    test.git(&["tag", "v2"]);
    for name in ["HEAD", "v1.0", "v2", "HEAD~0", "Fix the login bug", "main", "It's $5 off"] {
        let refused = test.run(&["new", name]).output();
        assert_eq!(refused.status.code(), Some(1));
        let words = String::from_utf8(refused.stderr).unwrap();
        let hint = words.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap();
        let pasted = test.command("sh", &test.app()).args(["-c", hint]).output().unwrap();
        assert!(pasted.status.success(), "{hint}: {}", String::from_utf8_lossy(&pasted.stderr));
    }
}

#[test]
fn the_branch_of_the_main_worktree_is_refused() {
    let test = Test::new();
    test.run(&["new", "main"])
        .stderr(
            "error: branch 'main' is checked out in the main worktree\n\
             hint: git sandbox new main-2 --from main\n",
        )
        .refused();
    let path = test.new_sandbox(&["fix"]);
    test.run_in(&path, &["new", "main"])
        .stderr(
            "error: branch 'main' is checked out in the main worktree\n\
             hint: git sandbox new main-2 --from main\n",
        )
        .refused();
}

#[test]
fn a_branch_that_the_main_worktree_rebases_is_refused() {
    let test = Test::new();
    test.git(&["checkout", "--quiet", "-b", "fix"]);
    test.commit(&test.app(), "file", "ours\n");
    test.git(&["checkout", "--quiet", "main"]);
    test.commit(&test.app(), "file", "theirs\n");
    let rebase = test.command("git", &test.app()).args(["rebase", "main", "fix"]).output().unwrap();
    assert!(!rebase.status.success());
    test.run(&["new", "fix"])
        .stderr(
            "error: branch 'fix' is checked out in the main worktree\n\
             hint: git sandbox new fix-2 --from fix\n",
        )
        .refused();
}

#[test]
fn a_repository_without_commits_is_refused() {
    let test = Test::bare();
    std::fs::create_dir(test.app()).unwrap();
    test.git(&["init", "--quiet"]);
    for words in [&["new", "fix"][..], &["new"], &["new", "--detach", "x"]] {
        test.run(words)
            .stderr(
                "error: cannot create a sandbox: the repository has no commits yet\n\
                 hint: make one first: git commit --allow-empty -m 'Initial commit'\n",
            )
            .refused();
    }
}

#[test]
fn from_is_refused_with_a_branch_that_exists() {
    let test = Test::new();
    test.remote("origin", "pr");
    test.git(&["branch", "fix"]);
    test.run(&["new", "fix", "--from", "main"])
        .stderr(
            "error: cannot use '--from': branch 'fix' exists already\n\
             hint: to use it as it is: git sandbox new fix\n",
        )
        .refused();
    test.run(&["new", "pr", "--from", "main"])
        .stderr(
            "error: cannot use '--from': branch 'pr' exists on a remote\n\
             hint: to use it as it is: git sandbox new pr\n",
        )
        .refused();
}

#[test]
fn from_is_refused_with_a_branch_that_two_remotes_have() {
    let test = Test::new();
    test.remote("origin", "pr");
    test.remote("other", "pr");
    let before = test.snapshot();
    let refused = test.run(&["new", "pr", "--from", "main"]).output();
    assert_eq!((refused.status.code(), test.snapshot()), (Some(1), before));
}

#[test]
fn from_must_be_a_commit() {
    let test = Test::new();
    for from in ["nope", "HEAD^{tree}", "HEAD:file", "-x"] {
        test.run(&["new", "fix", &format!("--from={from}")])
            .stderr(&format!(
                "error: '{from}' is not a commit\nhint: name a branch, a tag or a commit\n"
            ))
            .refused();
    }
}

#[test]
fn a_branch_in_the_way_is_named() {
    let test = Test::new();
    test.git(&["branch", "a/b"]);
    test.run(&["new", "a"])
        .stderr("error: cannot create branch 'a': branch 'a/b' is in the way\nhint: git sandbox new a-2\n")
        .refused();
    test.run(&["new", "a/b/c/d"])
        .stderr("error: cannot create branch 'a/b/c/d': branch 'a/b' is in the way\nhint: git sandbox new a-b-c-d\n")
        .refused();
}

#[test]
fn a_task_that_is_no_text_is_refused() {
    let test = Test::new();
    test.run(&[OsStr::new("new"), OsStr::new("fix"), OsStr::from_bytes(b"\xff")])
        .stderr("error: the task is not valid UTF-8\n")
        .refused();
}

#[test]
fn bad_settings_are_refused() {
    let test = Test::new();
    test.git(&["config", "checkout.guess", "maybe"]);
    test.run(&["new", "fix"])
        .stderr(
            "error: bad value 'maybe' for 'checkout.guess': it must be true or false\n\
             hint: git config --show-origin --get-all checkout.guess\n",
        )
        .refused();
    test.git(&["config", "--unset", "checkout.guess"]);
    test.run(&["new", "fix"])
        .env("GIT_SANDBOX_NOW", "yesterday")
        .stderr(
            "error: bad value 'yesterday' for 'GIT_SANDBOX_NOW': \
             it must be a time such as 2026-01-31T12:00:00Z\n",
        )
        .refused();
}

#[test]
fn options_that_exclude_each_other_are_wrong_usage() {
    let test = Test::new();
    let before = test.snapshot();
    for (words, one, other) in [
        (&["new", "x", "--name=a", "--branch=b"][..], "--name", "--branch"),
        (&["new", "x", "--name=a", "--detach"], "--name", "--detach"),
        (&["new", "x", "--branch=a", "--detach"], "--branch", "--detach"),
        (&["new", "x", "--branch=a", "--count=2"], "--count", "--branch"),
        (&["new", "x", "--dir=a", "--root=b"], "--dir", "--root"),
    ] {
        test.run(words)
            .stderr(&format!("error: options '{one}' and '{other}' cannot be used together\n{NEW}"))
            .code(129);
    }
    for (words, why) in [
        (&["new", "--branch=a"][..], "option '--branch' needs a <name> for the folder"),
        (&["new", "x", "--from"], "option '--from' needs a value"),
        (&["new", "x", "--from", "--json"], "option '--from' needs a value"),
        (&["new", "x", "--count=0"], "option '--count' takes a number from 1 to 1000, not '0'"),
        (
            &["new", "x", "--count", "2", "--", "make"],
            "a command and '--count' cannot be used together",
        ),
    ] {
        test.run(words).stderr(&format!("error: {why}\n{NEW}")).code(129);
    }
    assert_eq!(test.snapshot(), before);
}

#[test]
fn a_file_where_dir_should_be_is_refused() {
    let test = Test::new();
    write(&test.home.join("taken"), "mine\n");
    test.run(&["new", "fix", "--dir", "../taken"])
        .stderr("error: cannot create '$HOME/taken': file exists\n")
        .refused();
}
