//! Every kind of work that a sandbox can hold, as a table: how to make it, what stands in the way
//! of `rm`, how many commits only it holds, and how the work goes on after a restore.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::repo::{Test, write};

pub struct Kind {
    pub name: &'static str,
    pub make: fn(&Test, &Path),
    /// What `rm` refuses for.
    pub reasons: &'static [&'static str],
    /// How many commits no shared ref reaches.
    pub only_here: u32,
    /// Whether an operation in progress keeps the branch reserved.
    pub reserves: bool,
    pub goes_on: fn(&Test, &Path),
}

const KIND: Kind = Kind {
    name: "",
    make: |_, _| (),
    reasons: &[],
    only_here: 0,
    reserves: false,
    goes_on: |_, _| (),
};
const ONE: &[&str] = &["1 uncommitted change"];
const SUBMODULE: &[&str] = &["1 uncommitted change", "unsaved work in 'sub'"];

pub const KINDS: &[Kind] = &[
    Kind { name: "nothing", ..KIND },
    Kind {
        name: "staged",
        make: |test, path| {
            write(&path.join("a"), "staged\n");
            test.git_in(path, &["add", "a"]);
        },
        reasons: ONE,
        ..KIND
    },
    Kind { name: "unstaged", make: |_, path| write(&path.join("a"), "x\n"), reasons: ONE, ..KIND },
    Kind {
        name: "staged_then_overwritten",
        make: |test, path| {
            write(&path.join("a"), "staged\n");
            test.git_in(path, &["add", "a"]);
            write(&path.join("a"), "overwritten\n");
        },
        reasons: ONE,
        goes_on: |test, path| assert_eq!(test.git_in(path, &["show", ":a"]), "staged"),
        ..KIND
    },
    Kind {
        name: "untracked",
        make: |_, path| {
            write(&path.join("new"), "1");
            write(&path.join("deep/er/new"), "2");
            fs::write(path.join("bytes"), [0, 255, 10, 128]).unwrap();
        },
        reasons: &["3 uncommitted changes"],
        ..KIND
    },
    Kind {
        name: "ignored",
        make: |_, path| {
            write(&path.join("x.log"), "1");
            write(&path.join("build/out/binary"), "2");
        },
        ..KIND
    },
    Kind {
        name: "executable_bit",
        make: |_, path| {
            fs::set_permissions(path.join("a"), fs::Permissions::from_mode(0o755)).unwrap();
            fs::set_permissions(path.join("tool"), fs::Permissions::from_mode(0o644)).unwrap();
            write(&path.join("x.log"), "");
            fs::set_permissions(path.join("x.log"), fs::Permissions::from_mode(0o711)).unwrap();
        },
        reasons: &["2 uncommitted changes"],
        ..KIND
    },
    Kind {
        name: "symlinks",
        make: |_, path| {
            for (to, link) in [("a", "to-file"), ("dir", "to-folder"), ("nowhere", "dangling")] {
                symlink(to, path.join(link)).unwrap();
            }
        },
        reasons: &["3 uncommitted changes"],
        ..KIND
    },
    Kind {
        name: "empty_folders",
        make: |_, path| fs::create_dir_all(path.join("empty/er")).unwrap(),
        ..KIND
    },
    Kind {
        name: "intent_to_add",
        make: |test, path| {
            write(&path.join("new"), "new\n");
            test.git_in(path, &["add", "--intent-to-add", "new"]);
        },
        reasons: ONE,
        ..KIND
    },
    Kind {
        name: "assume_unchanged",
        make: |test, path| {
            test.git_in(path, &["update-index", "--assume-unchanged", "a"]);
            write(&path.join("a"), "hidden\n");
        },
        reasons: &["1 hidden edit"],
        ..KIND
    },
    Kind {
        name: "skip_worktree",
        make: |test, path| {
            test.git_in(path, &["update-index", "--skip-worktree", "a", "b"]);
            write(&path.join("a"), "hidden\n");
            write(&path.join("b"), "hidden too\n");
        },
        reasons: &["2 hidden edits"],
        ..KIND
    },
    Kind {
        name: "deleted",
        make: |_, path| fs::remove_file(path.join("a")).unwrap(),
        reasons: ONE,
        ..KIND
    },
    Kind {
        name: "renamed",
        make: |test, path| drop(test.git_in(path, &["mv", "a", "renamed"])),
        reasons: ONE,
        ..KIND
    },
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
        ..KIND
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
        ..KIND
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
        name: "nested",
        make: |test, path| drop(test.init(&inside(test, path, "nested"), &[])),
        reasons: &["1 uncommitted change", "unsaved work in 'nested'"],
        ..KIND
    },
    Kind {
        name: "nested_in_ignored",
        make: |test, path| drop(test.init(&inside(test, path, "build/nested"), &[])),
        reasons: &["unsaved work in 'build/nested'"],
        goes_on: |test, path| {
            test.git_in(&path.join("build/nested"), &["cat-file", "-e", "HEAD:file"]);
        },
        ..KIND
    },
    Kind {
        name: "nested_with_nothing_of_its_own",
        make: |test, path| drop(clone_in_ignored(test, path)),
        ..KIND
    },
    Kind {
        name: "nested_hidden_edit",
        make: |test, path| {
            let clone = clone_in_ignored(test, path);
            test.git_in(&clone, &["update-index", "--assume-unchanged", "file"]);
            write(&clone.join("file"), "hidden\n");
        },
        reasons: &["unsaved work in 'build/clone'"],
        ..KIND
    },
    Kind {
        name: "bare_in_ignored",
        make: |test, path| {
            test.init("source", &[]);
            let to = path.join("build/bare.git").display().to_string();
            test.git_in(&test.home, &["clone", "--quiet", "--bare", "source", &to]);
        },
        reasons: &["unsaved work in 'build/bare.git'"],
        ..KIND
    },
    Kind {
        name: "submodule_commit",
        make: |test, path| {
            submodule(test, path);
            commit(test, &path.join("sub"), "file", "mine\n");
        },
        reasons: SUBMODULE,
        goes_on: |test, path| {
            test.git_in(&path.join("sub"), &["cat-file", "-e", "HEAD:file"]);
            test.git_in(path, &["commit", "--quiet", "-a", "-m", "with it"]);
        },
        ..KIND
    },
    Kind {
        name: "submodule_dirty",
        make: |test, path| {
            submodule(test, path);
            write(&path.join("sub/file"), "mine\n");
        },
        reasons: &["unsaved work in 'sub'"],
        ..KIND
    },
    Kind {
        name: "submodule_stash",
        make: |test, path| {
            submodule(test, path);
            write(&path.join("sub/file"), "mine\n");
            test.git_in(&path.join("sub"), &["stash", "--quiet"]);
        },
        reasons: &["unsaved work in 'sub'"],
        goes_on: |test, path| {
            test.git_in(&path.join("sub"), &["stash", "pop", "--quiet"]);
            assert_eq!(fs::read_to_string(path.join("sub/file")).unwrap(), "mine\n");
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
    Kind {
        name: "split_index",
        make: |test, path| {
            test.git_in(path, &["update-index", "--split-index"]);
            write(&path.join("a"), "staged\n");
            test.git_in(path, &["add", "a"]);
        },
        reasons: ONE,
        ..KIND
    },
    Kind {
        name: "untracked_not_shown",
        make: |test, path| {
            test.git(&["config", "status.showUntrackedFiles", "no"]);
            write(&path.join("new"), "1");
        },
        reasons: ONE,
        ..KIND
    },
    Kind {
        name: "submodule_not_shown",
        make: |test, path| {
            submodule(test, path);
            test.git(&["config", "submodule.sub.ignore", "all"]);
            test.git(&["config", "diff.ignoreSubmodules", "all"]);
            write(&path.join("sub/new"), "mine\n");
        },
        reasons: &["unsaved work in 'sub'"],
        ..KIND
    },
    Kind {
        name: "odd_names",
        make: |_, path| {
            use std::os::unix::ffi::OsStrExt;
            for name in ["a b", "a\tb", "line\nbreak", "-rf", "*", "größe", "\u{1b}[31m"] {
                write(&path.join(name), name);
            }
            fs::write(path.join(std::ffi::OsStr::from_bytes(b"\xff\xfe")), "x").unwrap();
        },
        reasons: &["8 uncommitted changes"],
        ..KIND
    },
];

/// Commits one file.
pub fn commit(test: &Test, path: &Path, name: &str, text: &str) {
    write(&path.join(name), text);
    test.git_in(path, &["add", name]);
    test.git_in(path, &["commit", "--quiet", "-m", name]);
}

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

/// A path as `Test::init` takes it.
fn inside(test: &Test, path: &Path, name: &str) -> String {
    path.strip_prefix(&test.home).unwrap().join(name).display().to_string()
}

/// A clone, in an ignored folder, that has all its commits from elsewhere.
fn clone_in_ignored(test: &Test, path: &Path) -> PathBuf {
    test.init("source", &[]);
    let clone = path.join("build/clone");
    let to = clone.display().to_string();
    test.git_in(&test.home, &["clone", "--quiet", "source", &to]);
    clone
}

/// A submodule `sub` that has all its commits from elsewhere.
pub fn submodule(test: &Test, path: &Path) {
    let format = test.git(&["rev-parse", "--show-object-format"]);
    test.init("lib", &[&format!("--object-format={format}")]);
    let url = test.home.join("lib").display().to_string();
    test.git_in(path, &["submodule", "--quiet", "add", &url, "sub"]);
    test.git_in(path, &["commit", "--quiet", "-m", "sub"]);
}
