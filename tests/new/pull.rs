//! `git sandbox new --pr`: pull and merge requests of a local remote that has such refs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fixture::Test;
use crate::fixture::files::write;
use crate::fixture::process::Sleeper;

/// A repository whose remote `origin` has the pull request 7 and the merge request 8.
fn requests() -> (Test, PathBuf) {
    let test = Test::bare();
    let remote = test.init("origin", &[]);
    for (name, reference) in
        [("seven", "refs/pull/7/head"), ("eight", "refs/merge-requests/8/head")]
    {
        test.git_in(&remote, &["checkout", "--quiet", "--detach", "main"]);
        test.commit(&remote, name, name);
        test.git_in(&remote, &["update-ref", reference, "HEAD"]);
    }
    test.git_in(&remote, &["checkout", "--quiet", "main"]);
    test.git_in(&test.home.clone(), &["clone", "--quiet", "origin", "app"]);
    (test, remote)
}

/// Adds a commit to a request. Returns its id.
#[track_caller]
fn push(test: &Test, remote: &Path, reference: &str, name: &str) -> String {
    test.git_in(remote, &["checkout", "--quiet", "--detach", reference]);
    let commit = test.commit(remote, name, name);
    test.git_in(remote, &["update-ref", reference, "HEAD"]);
    test.git_in(remote, &["checkout", "--quiet", "main"]);
    commit
}

#[test]
fn a_pull_request_and_a_merge_request_become_branches() {
    let (test, remote) = requests();
    for (number, reference) in [("7", "refs/pull/7/head"), ("8", "refs/merge-requests/8/head")] {
        test.run(&["new", "--pr", number, "Look", "at", "it"])
            .stdout(&format!("$ROOT/pr-{number}\n"))
            .stderr(&format!(
                "created sandbox 'pr-{number}' for \"Look at it\": \
                 new branch 'pr-{number}' for request {number} of 'origin'\n"
            ))
            .ok();
        let path = test.at(&format!("pr-{number}"));
        let head = test.git_in(&path, &["rev-parse", "HEAD"]);
        assert_eq!(head, test.git_in(&remote, &["rev-parse", reference]));
        let shown = test.json(&["show", "--json", &format!("pr-{number}")]);
        assert_eq!(shown["task"], "Look at it");
        let config = |key: &str| test.git(&["config", &format!("branch.pr-{number}.{key}")]);
        assert_eq!((config("remote"), config("merge")), ("origin".into(), reference.into()));
    }
    // Nothing but the branches was made.
    let refs = test.git(&["for-each-ref", "--format=%(refname)"]);
    let wanted = "refs/heads/main\nrefs/heads/pr-7\nrefs/heads/pr-8\n\
                  refs/remotes/origin/HEAD\nrefs/remotes/origin/main";
    assert_eq!(refs, wanted);
    assert!(!test.app().join(".git/FETCH_HEAD").exists());
}

#[test]
fn a_relative_address_of_a_remote_is_read_from_the_main_worktree() {
    let (test, remote) = requests();
    test.git(&["config", "remote.origin.url", "../origin"]);
    test.new_sandbox(&["--pr", "7"]);
    // From a sandbox, from where '../origin' leads nowhere.
    let elsewhere = test.at("pr-7");
    test.run_in(&elsewhere, &["new", "--pr", "8"])
        .stdout("$ROOT/pr-8\n")
        .stderr("created sandbox 'pr-8': new branch 'pr-8' for request 8 of 'origin'\n")
        .ok();
    for (number, reference) in [("7", "refs/pull/7/head"), ("8", "refs/merge-requests/8/head")] {
        let head = test.git_in(&test.at(&format!("pr-{number}")), &["rev-parse", "HEAD"]);
        assert_eq!(head, test.git_in(&remote, &["rev-parse", reference]));
    }
}

#[test]
fn the_same_command_brings_it_up_to_date() {
    let (test, remote) = requests();
    let path = test.new_sandbox(&["--pr", "7"]);
    let resumed = "resumed sandbox 'pr-7'\n";
    test.run(&["new", "--pr", "#7"]).stdout("$ROOT/pr-7\n").stderr(resumed).ok();
    let commit = push(&test, &remote, "refs/pull/7/head", "more");
    let updated = format!("brought 'pr-7' up to request 7: {}\n", &commit[..10]);
    test.run(&["new", "--pr", "7"])
        .stdout("$ROOT/pr-7\n")
        .stderr(&format!("{updated}{resumed}"))
        .ok();
    assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), commit);
    assert!(path.join("more").exists());
    // Commits on top of it are nothing to update.
    test.commit(&path, "ours", "ours");
    test.run(&["new", "--pr", "7"]).stdout("$ROOT/pr-7\n").stderr(resumed).ok();
    assert!(path.join("ours").exists());
}

#[test]
fn what_is_local_stays_and_is_said() {
    let (test, remote) = requests();
    let path = test.new_sandbox(&["--pr", "7"]);
    let head = test.git_in(&path, &["rev-parse", "HEAD"]);
    let commit = push(&test, &remote, "refs/pull/7/head", "more");
    let kept = |why: &str| {
        test.run(&["new", "--pr", "7"])
            .stdout("$ROOT/pr-7\n")
            .stderr(&format!(
                "warning: request 7 has new commits, and 'pr-7' stays: {why}\n\
                 hint: git -C $ROOT/pr-7 merge --ff-only {commit}\n\
                 resumed sandbox 'pr-7'\n"
            ))
            .ok();
        assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), head);
    };
    write(&path.join("work"), "work\n");
    kept("it has uncommitted changes");
    assert_eq!(fs::read_to_string(path.join("work")).unwrap(), "work\n");
    fs::remove_file(path.join("work")).unwrap();
    let mut sleeper = Sleeper::start(&path, std::process::Stdio::null());
    kept("it is in use");
    sleeper.end();
    // A request that was rewritten.
    test.git_in(&remote, &["checkout", "--quiet", "--detach", "main"]);
    let other = test.commit(&remote, "rewritten", "rewritten");
    test.git_in(&remote, &["update-ref", "refs/pull/7/head", "HEAD"]);
    let diverged = format!(
        "warning: request 7 and 'pr-7' have gone different ways: it stays\n\
         hint: the request is at {other}\n"
    );
    test.run(&["new", "--pr", "7"])
        .stdout("$ROOT/pr-7\n")
        .stderr(&format!("{diverged}resumed sandbox 'pr-7'\n"))
        .ok();
    assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), head);
}

#[test]
fn a_branch_without_a_sandbox_is_brought_up_to_date_where_that_loses_nothing() {
    let (test, remote) = requests();
    test.new_sandbox(&["--pr", "7"]);
    assert!(test.run(&["rm", "pr-7"]).output().status.success());
    let commit = push(&test, &remote, "refs/pull/7/head", "more");
    let output = test.run(&["new", "--pr", "7"]).output();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let updated = format!("brought 'pr-7' up to request 7: {}\n", &commit[..10]);
    assert!(stderr.contains(&updated), "{stderr}");
    assert!(stderr.ends_with("created sandbox 'pr-7': branch 'pr-7'\n"), "{stderr}");
    assert_eq!(test.git_in(&test.at("pr-7"), &["rev-parse", "HEAD"]), commit);
}

#[test]
fn addresses_and_remotes_are_understood() {
    let (test, remote) = requests();
    let address = format!("file://{}/pull/7", remote.display());
    test.run(&["new", "--pr", &address])
        .stdout("$ROOT/pr-7\n")
        .stderr("created sandbox 'pr-7': new branch 'pr-7' for request 7 of 'origin'\n")
        .ok();
    test.git(&["remote", "rename", "origin", "theirs"]);
    test.run(&["new", "--pr", "theirs/8"])
        .stdout("$ROOT/pr-8\n")
        .stderr("created sandbox 'pr-8': new branch 'pr-8' for request 8 of 'theirs'\n")
        .ok();
}

#[test]
fn what_is_not_there_is_refused() {
    let (test, remote) = requests();
    test.run(&["new", "--pr", "9"])
        .stderr("error: 'origin' has no pull or merge request 9\n")
        .refused();
    test.run(&["new", "--pr", "other/7"])
        .stderr("error: there is no remote 'other'\nhint: 'git remote -v' shows what there is\n")
        .refused();
    test.run(&["new", "--pr", "https://example.com/o/r/pull/7"])
        .stderr(
            "error: there is no remote 'example.com/o/r'\n\
             hint: 'git remote -v' shows what there is\n",
        )
        .refused();
    for words in [["--pr", "x"], ["--pr=7", "--from=main"]] {
        let output = test.run(&[&["new"], &words[..]].concat()).output();
        assert_eq!(output.status.code(), Some(129), "{words:?}");
    }
    // A remote that cannot be asked: what is here will do.
    test.new_sandbox(&["--pr", "7"]);
    fs::rename(&remote, test.home.join("away")).unwrap();
    let output = test.run(&["new", "--pr", "7"]).output();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.starts_with("warning: cannot ask 'origin': "), "{stderr}");
    assert!(stderr.ends_with("the branch stays as it is\nresumed sandbox 'pr-7'\n"), "{stderr}");
    let output = test.run(&["new", "--pr", "8"]).output();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(test.sandboxes(), ["pr-7"]);
}

#[test]
fn one_whose_upstream_cannot_be_set_is_taken_back() {
    for key in ["remote", "merge"] {
        let (test, _) = requests();
        let git = test.fake_git(&format!(
            "case \" $* \" in *' config --local branch.pr-7.{key} '*) echo full >&2; exit 4 ;; esac\n\
             exec \"$GIT\" \"$@\""
        ));
        let before = fs::read_to_string(test.app().join(".git/config")).unwrap();
        let run = test.program(&test.app(), &["new", "--pr", "7"]).env("PATH", git);
        run.stderr("error: cannot set the upstream: full\n").code(1);
        assert_eq!(test.branches(), ["main"], "{key}");
        assert_eq!(test.sandboxes(), [""; 0], "{key}");
        assert_eq!(fs::read_to_string(test.app().join(".git/config")).unwrap(), before, "{key}");
    }
}
