//! Kinds of work that a sandbox can hold, as a table: how to make it, what stands in the way of
//! `rm`, how many commits only it holds, and how the work goes on after a restore. Here: files and
//! repositories inside it.

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

pub const KIND: Kind = Kind {
    name: "",
    make: |_, _| (),
    reasons: &[],
    only_here: 0,
    reserves: false,
    goes_on: |_, _| (),
};
const ONE: &[&str] = &["1 uncommitted change"];
const SUBMODULE: &[&str] = &["1 uncommitted change", "unsaved work in 'sub'"];

pub const FILES: &[Kind] = &[
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
        name: "nested_unreachable",
        make: |_, path| write(&path.join("build/broken/.git"), "gitdir: /nowhere\n"),
        reasons: &["unsaved work in 'build/broken'"],
        ..KIND
    },
    Kind {
        // What git cannot read must not be taken for the sandbox around it, which is all pushed.
        name: "nested_corrupt",
        make: |test, path| {
            test.init(&inside(test, path, "build/nested"), &[]);
            fs::remove_file(path.join("build/nested/.git/HEAD")).unwrap();
            test.git_in(&test.home, &["init", "--quiet", "--bare", "origin.git"]);
            let url = test.home.join("origin.git").display().to_string();
            test.git(&["remote", "add", "origin", &url]);
            test.git(&["push", "--quiet", "origin", "main", "box"]);
        },
        reasons: &["unsaved work in 'build/nested'"],
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
