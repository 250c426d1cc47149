//! What git makes of a merge is looked at before it is landed, and the user's settings of a rebase do
//! not change what is asked for.

use std::fs;

use crate::fixture::merge::{Scene, Target};

const NOT_ON_TOP: &str = "error: cannot merge 'box' into 'dev': git made no commit on top of it\n";

/// A squash whose `git commit` does this instead is refused, and nothing changes.
#[track_caller]
fn refused_if_git(commits: &str, stderr: &str) {
    let scene = Scene::diverged(Target::Here);
    let git = scene.test.fake_git(&format!(
        "for word; do case $word in (commit) {commits}; exit ;; esac; done\nexec \"$GIT\" \"$@\""
    ));
    let before = scene.state();
    let run = scene.test.program(&scene.test.app(), &["merge", "box", "--squash"]);
    run.env("PATH", git).stderr(stderr).code(1);
    // The fake one stays.
    assert_eq!(scene.state(), before);
    scene.nothing_is_left();
}

#[test]
fn a_commit_that_git_did_not_make_is_not_landed() {
    refused_if_git("true", NOT_ON_TOP);
}

#[test]
fn a_commit_that_is_not_on_top_of_the_target_is_not_landed() {
    let root = "\"$GIT\" update-ref HEAD $(\"$GIT\" commit-tree -m root $(\"$GIT\" write-tree))";
    refused_if_git(root, NOT_ON_TOP);
}

#[test]
fn a_merge_of_something_else_is_not_landed() {
    let scene = Scene::diverged(Target::Here);
    let git = scene.test.fake_git(
        "for word; do case $word in (merge) \"$GIT\" commit --quiet --allow-empty -m else; exit ;; \
         esac; done\nexec \"$GIT\" \"$@\"",
    );
    let before = scene.state();
    let moved = "error: cannot merge 'box' into 'dev': it has moved meanwhile\n\
                 hint: git sandbox merge box\n";
    let run = scene.test.program(&scene.test.app(), &["merge", "box"]);
    run.env("PATH", git).stderr(moved).code(1);
    assert_eq!(scene.state(), before);
    scene.nothing_is_left();
}

#[test]
fn a_fast_forward_to_something_else_is_not_landed() {
    let scene = Scene::new(Target::Here);
    // Only then git itself makes it.
    scene.test.git(&["config", "merge.verifySignatures", "true"]);
    let git = scene.test.fake_git(
        "for word; do case $word in (merge) \"$GIT\" commit --quiet --allow-empty -m else; exit ;; \
         esac; done\nexec \"$GIT\" \"$@\"",
    );
    let before = scene.state();
    let run = scene.test.program(&scene.test.app(), &["merge", "box"]);
    run.env("PATH", git).stderr(NOT_ON_TOP).code(1);
    assert_eq!(scene.state(), before);
    scene.nothing_is_left();
}

#[test]
fn a_rebase_squashes_nothing_by_itself() {
    let scene = Scene::diverged(Target::Here);
    let test = &scene.test;
    test.git(&["config", "rebase.autoSquash", "true"]);
    test.commit(&scene.path, "mine", "fixup! first\n");
    let said = "merged 'box' into 'dev': 3 commits, rebased\n";
    scene.merges(&["--rebase", "--keep"], said);
    let log = scene.log("dev");
    assert_eq!(log[..3], ["1 fixup! first", "1 second", "1 first"], "{log:?}");
}

#[test]
fn a_rebase_moves_no_other_branch_of_the_users() {
    let scene = Scene::diverged(Target::Here);
    let test = &scene.test;
    test.git(&["config", "rebase.updateRefs", "true"]);
    test.git(&["branch", "other", "box~"]);
    let before = scene.commit("other");
    scene.merges(&["--rebase", "--keep"], "merged 'box' into 'dev': 2 commits, rebased\n");
    assert_eq!(scene.commit("other"), before);
}

#[test]
fn a_merge_that_is_at_work_is_not_left_over() {
    let scene = Scene::diverged(Target::Here);
    let test = &scene.test;
    let hook = "unset $(git rev-parse --local-env-vars); cd \"$HOME/app\"\n\
                git sandbox doctor >\"$HOME/said\" 2>&1";
    test.script("app/.git/hooks/pre-merge-commit", hook);
    scene.merges(&["--keep"], "merged 'box' into 'dev': 2 commits, with a merge commit\n");
    assert_eq!(fs::read_to_string(test.home.join("said")).unwrap(), "all is well\n");
}

#[test]
fn a_scratch_that_a_hook_left_a_process_in_stays() {
    let scene = Scene::diverged(Target::Here);
    let test = &scene.test;
    test.script(
        "app/.git/hooks/pre-merge-commit",
        "sleep 600 </dev/null >/dev/null 2>&1 & echo $! >\"$HOME/pid\"",
    );
    let output = test.run(&["merge", "box", "--keep"]).output();
    let pid = fs::read_to_string(test.home.join("pid")).unwrap();
    let left = test.sandboxes().into_iter().any(|name| name.starts_with(".merge-"));
    let killed = test.command("kill", &test.home).arg(pid.trim_end()).status().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(killed.success());
    assert_eq!(
        said,
        "warning: a process is at work in the scratch worktree: it stays\n\
         merged 'box' into 'dev': 2 commits, with a merge commit\n"
    );
    assert!(left && output.status.success());
}

#[test]
fn an_option_of_the_target_that_wants_signatures_leaves_a_fast_forward_to_git() {
    let scene = Scene::new(Target::Here);
    scene.test.git(&["config", "branch.dev.mergeOptions", "--verify-signatures"]);
    let before = scene.state();
    let output = scene.test.run(&["merge", "box"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("does not have a GPG signature"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(scene.state(), before);
    scene.nothing_is_left();
}
