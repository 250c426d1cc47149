//! Kinds of work, continued: operations in progress, and commits that only a sandbox holds.

use std::fs;
use std::path::Path;

use crate::repo::{Test, write};
use crate::work::{KIND, Kind, commit};

pub const HISTORY: &[Kind] = &[
    Kind {
        name: "merge",
        make: |test, path| {
            other_branch(test);
            commit(test, path, "a", "ours\n");
            stops(test, path, &["merge", "other~1"]);
        },
        reasons: &["1 uncommitted change", "merge in progress"],
        goes_on: concludes_merge,
        ..KIND
    },
    Kind {
        name: "merge_of_a_url",
        make: |test, path| {
            test.git_in(&test.home, &["clone", "--quiet", "app", "clone"]);
            commit(test, &test.home.join("clone"), "a", "theirs\n");
            commit(test, path, "a", "ours\n");
            let url = test.home.join("clone").display().to_string();
            stops(test, path, &["pull", "--quiet", "--no-rebase", &url, "main"]);
        },
        reasons: &["1 uncommitted change", "merge in progress"],
        only_here: 1,
        goes_on: concludes_merge,
        ..KIND
    },
    Kind {
        name: "cherry_pick",
        make: |test, path| {
            other_branch(test);
            commit(test, path, "a", "ours\n");
            stops(test, path, &["cherry-pick", "main..other"]);
        },
        reasons: &["1 uncommitted change", "cherry-pick in progress"],
        goes_on: |test, path| {
            test.git_in(path, &["checkout", "--quiet", "--theirs", "a"]);
            test.git_in(path, &["add", "a"]);
            test.git_in(path, &["-c", "core.editor=true", "cherry-pick", "--continue"]);
            assert_eq!(fs::read_to_string(path.join("b")).unwrap(), "theirs too\n");
        },
        ..KIND
    },
    Kind {
        name: "revert",
        make: |test, path| {
            commit(test, path, "a", "one\n");
            commit(test, path, "a", "two\n");
            stops(test, path, &["revert", "--no-edit", "HEAD~1"]);
        },
        reasons: &["1 uncommitted change", "revert in progress"],
        goes_on: |test, path| {
            test.git_in(path, &["revert", "--abort"]);
            assert_eq!(test.git_in(path, &["status", "--porcelain"]), "");
        },
        ..KIND
    },
    Kind {
        name: "rebase",
        make: |test, path| {
            commit(test, path, "a", "one\n");
            commit(test, path, "b", "two\n");
            let mut git = test.command("git", path);
            git.env("GIT_SEQUENCE_EDITOR", "sed -i s/^pick/edit/").args(["rebase", "-i", "main"]);
            assert!(git.output().unwrap().status.success());
            test.git_in(path, &["commit", "--quiet", "--amend", "-m", "amended"]);
        },
        reasons: &["rebase in progress"],
        only_here: 1,
        reserves: true,
        goes_on: |test, path| {
            for _ in 0..2 {
                test.git_in(path, &["-c", "core.editor=true", "rebase", "--continue"]);
            }
            assert_eq!(test.git_in(path, &["branch", "--show-current"]), "box");
            assert_eq!(test.git_in(path, &["log", "-1", "--format=%s", "HEAD~1"]), "amended");
        },
    },
    Kind {
        name: "rebase_with_autostash",
        make: |test, path| {
            other_branch(test);
            commit(test, path, "a", "ours\n");
            write(&path.join("dir/c"), "not committed\n");
            stops(test, path, &["rebase", "--autostash", "other"]);
        },
        reasons: &["1 uncommitted change", "rebase in progress"],
        only_here: 2,
        reserves: true,
        goes_on: |test, path| {
            test.git_in(path, &["rebase", "--abort"]);
            assert_eq!(test.git_in(path, &["status", "--porcelain"]), " M dir/c");
            assert_eq!(fs::read_to_string(path.join("dir/c")).unwrap(), "not committed\n");
        },
    },
    Kind {
        name: "am",
        make: |test, path| {
            other_branch(test);
            let out = format!("--output-directory={}", test.home.join("patches").display());
            test.git(&["format-patch", "--quiet", &out, "main..other"]);
            commit(test, path, "a", "ours\n");
            let patch = test.home.join("patches/0001-a.patch").display().to_string();
            stops(test, path, &["am", "--quiet", &patch]);
        },
        reasons: &["am in progress"],
        goes_on: |test, path| {
            test.git_in(path, &["am", "--abort"]);
            assert_eq!(test.git_in(path, &["branch", "--show-current"]), "box");
        },
        ..KIND
    },
    Kind {
        name: "bisect",
        make: |test, path| {
            for text in ["1", "2", "3", "4", "5"] {
                commit(test, path, "a", text);
            }
            test.git_in(path, &["bisect", "start", "HEAD", "main"]);
        },
        reasons: &["bisect in progress"],
        reserves: true,
        goes_on: |test, path| {
            test.git_in(path, &["bisect", "good"]);
            test.git_in(path, &["bisect", "reset"]);
            assert_eq!(test.git_in(path, &["branch", "--show-current"]), "box");
        },
        ..KIND
    },
    Kind {
        name: "detached",
        make: |test, path| {
            test.git_in(path, &["checkout", "--quiet", "--detach"]);
            commit(test, path, "a", "1");
            commit(test, path, "a", "2");
        },
        only_here: 2,
        ..KIND
    },
    Kind {
        name: "only_in_the_reflog",
        make: |test, path| {
            commit(test, path, "a", "1");
            test.git_in(path, &["commit", "--quiet", "--amend", "-m", "amended"]);
            test.git_in(path, &["reset", "--quiet", "--hard", "main"]);
        },
        only_here: 2,
        ..KIND
    },
    Kind {
        name: "private_refs",
        make: |test, path| {
            let words = ["commit-tree", "-p", "HEAD", "-m", "private", "HEAD^{tree}"];
            let commit = test.git_in(path, &words);
            test.git_in(path, &["update-ref", "refs/worktree/mine", &commit]);
        },
        only_here: 1,
        goes_on: |test, path| {
            let subject = test.git_in(path, &["log", "-1", "--format=%s", "refs/worktree/mine"]);
            assert_eq!(subject, "private");
        },
        ..KIND
    },
    Kind {
        name: "private_tag",
        make: |test, path| {
            let words = ["commit-tree", "-p", "HEAD", "-m", "private", "HEAD^{tree}"];
            let commit = test.git_in(path, &words);
            test.git_in(path, &["tag", "-a", "-m", "annotated", "private", &commit]);
            let tag = test.git_in(path, &["rev-parse", "refs/tags/private"]);
            test.git_in(path, &["tag", "-d", "private"]);
            test.git_in(path, &["update-ref", "refs/worktree/tag", &tag]);
        },
        only_here: 1,
        goes_on: |test, path| {
            assert_eq!(test.git_in(path, &["cat-file", "-t", "refs/worktree/tag"]), "tag");
            let subject = test.git_in(path, &["log", "-1", "--format=%s", "refs/worktree/tag"]);
            assert_eq!(subject, "private");
        },
        ..KIND
    },
    Kind {
        name: "fetched",
        make: |test, path| {
            test.git_in(&test.home, &["clone", "--quiet", "app", "clone"]);
            commit(test, &test.home.join("clone"), "a", "theirs\n");
            let url = test.home.join("clone").display().to_string();
            test.git_in(path, &["fetch", "--quiet", &url, "main"]);
        },
        only_here: 1,
        goes_on: |test, path| drop(test.git_in(path, &["merge", "--quiet", "FETCH_HEAD"])),
        ..KIND
    },
    Kind {
        name: "sparse",
        make: |test, path| {
            test.git_in(path, &["sparse-checkout", "set", "--no-cone", "/a"]);
            assert!(!path.join("b").exists());
        },
        goes_on: |test, path| {
            test.git_in(path, &["sparse-checkout", "disable"]);
            assert_eq!(fs::read_to_string(path.join("b")).unwrap(), "b\n");
        },
        ..KIND
    },
    Kind {
        name: "unborn",
        make: |test, path| {
            test.git_in(path, &["checkout", "--quiet", "--orphan", "fresh"]);
            test.git_in(path, &["rm", "--quiet", "-r", "--cached", "."]);
            test.git_in(path, &["add", "a", "b"]);
            fs::remove_file(path.join("a")).unwrap();
            for name in [".gitignore", "file", "link", "tool", "dir/c"] {
                fs::remove_file(path.join(name)).unwrap();
            }
        },
        reasons: &["2 uncommitted changes"],
        goes_on: |test, path| {
            test.git_in(path, &["commit", "--quiet", "-m", "born"]);
            assert_eq!(test.git_in(path, &["show", "fresh:a"]), "a");
        },
        ..KIND
    },
    Kind {
        name: "unborn_after_a_commit",
        make: |test, path| {
            commit(test, path, "a", "1");
            fs::write(test.home.join("id"), test.git_in(path, &["rev-parse", "HEAD"])).unwrap();
            test.git_in(path, &["update-ref", "HEAD", "main"]);
            test.git_in(path, &["symbolic-ref", "HEAD", "refs/heads/fresh"]);
        },
        reasons: &["7 uncommitted changes"],
        only_here: 1,
        goes_on: |test, path| {
            let id = fs::read_to_string(test.home.join("id")).unwrap();
            test.git_in(path, &["cat-file", "-e", &id]);
        },
        ..KIND
    },
    Kind {
        name: "stash",
        make: |test, path| {
            write(&path.join("a"), "stashed\n");
            test.git_in(path, &["stash", "--quiet"]);
        },
        goes_on: |test, path| drop(test.git_in(path, &["stash", "pop", "--quiet"])),
        ..KIND
    },
];

/// A branch `other` with two commits: on `a`, which a sandbox will have changed too, and on `b`.
fn other_branch(test: &Test) {
    test.git(&["checkout", "--quiet", "-b", "other"]);
    commit(test, &test.app(), "a", "theirs\n");
    commit(test, &test.app(), "b", "theirs too\n");
    test.git(&["checkout", "--quiet", "main"]);
}

/// Runs git where it must stop for the user.
fn stops(test: &Test, path: &Path, words: &[&str]) {
    let output = test.command("git", path).args(words).output().unwrap();
    assert!(!output.status.success(), "git {words:?} did not stop");
}

fn concludes_merge(test: &Test, path: &Path) {
    test.git_in(path, &["cat-file", "-e", "AUTO_MERGE^{tree}"]);
    test.git_in(path, &["checkout", "--quiet", "--theirs", "a"]);
    test.git_in(path, &["commit", "--quiet", "--no-edit", "-a"]);
    assert_eq!(test.git_in(path, &["show", "HEAD^2:a"]), "theirs");
}
