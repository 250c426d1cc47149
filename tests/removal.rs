//! What the tests of removal share: the whole state of a sandbox and of the main checkout, in
//! every format of repository.

use std::fs;
use std::path::{Path, PathBuf};

use crate::repo::{Test, tree, write};

/// A format of repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Files,
    Reftable,
    Sha256,
    Relative,
}

/// How a sandbox is, down to the bytes of its index, one fact a line. Only its reflog is told
/// apart: gc may cut that, and with it the first line of `git status`.
pub fn state(test: &Test, path: &Path) -> String {
    let git = |words: &[&str]| test.git_in(path, &[&["--no-optional-locks"], words].concat());
    let status = ["status", "--porcelain=v2", "--branch", "--ignored", "--untracked-files=all"];
    let in_words = git(&["status"]);
    [
        &tree(path, &[]),
        &tree(&entry(test, path), &["sandbox.lock", "logs", "reftable"]),
        &git(&status),
        in_words.split_once('\n').unwrap().1,
        &git(&["ls-files", "-v", "--stage"]),
    ]
    .join("\n")
}

/// Compares texts of many lines and shows only those that differ.
#[track_caller]
pub fn same(got: &str, wanted: &str) {
    let without = |one: &str, other: &str| -> String {
        let other: Vec<_> = other.lines().collect();
        let lines = one.lines().filter(|line| !other.contains(line));
        lines.flat_map(|line| [line, "\n"]).collect()
    };
    let (more, less) = (without(got, wanted), without(wanted, got));
    assert!(got == wanted, "--- got\n{more}--- wanted\n{less}");
}

/// The private git dir of a sandbox.
pub fn entry(test: &Test, path: &Path) -> PathBuf {
    PathBuf::from(test.git_in(path, &["rev-parse", "--absolute-git-dir"]))
}

/// Every commit that the reflog of its HEAD names.
pub fn reflog(test: &Test, path: &Path) -> Vec<String> {
    let file = entry(test, path).join("logs/HEAD");
    let text = fs::read_to_string(file).unwrap_or_else(|_| {
        // In a table; while HEAD is unborn git does not show it.
        let words = ["log", "--walk-reflogs", "--format=%H %H", "HEAD"];
        let output = test.command("git", path).args(words).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    });
    let ids = text.lines().flat_map(|line| line.split(' ').take(2));
    ids.filter(|id| id.bytes().any(|byte| byte != b'0')).map(str::to_owned).collect()
}

/// The main checkout's files, index, HEAD, config, hooks, and all refs and worktrees.
pub fn main_checkout(test: &Test) -> String {
    let git = |words: &[&str]| test.git(&[&["--no-optional-locks"], words].concat());
    let inside = |name: &str| tree_of_file(&test.app().join(".git").join(name));
    [
        git(&["for-each-ref"]),
        git(&["worktree", "list", "--porcelain"]),
        git(&["status", "--porcelain=v2", "--branch", "--ignored"]),
        tree(&test.app(), &[".git"]),
        tree(&test.app().join(".git/hooks"), &[]),
        inside("HEAD"),
        inside("index"),
        inside("config"),
    ]
    .join("\n")
}

fn tree_of_file(path: &Path) -> String {
    format!("{:?}", fs::read(path).unwrap())
}

/// Refs that keep commits of removed sandboxes.
pub fn kept(test: &Test) -> String {
    test.git(&["for-each-ref", "--format=%(refname)", "refs/sandbox"])
}

/// The trash of the root.
pub fn trash(test: &Test) -> PathBuf {
    test.home.join(".cache/git-sandbox/worktrees/.trash")
}

/// The folders in it.
pub fn trashed(test: &Test) -> Vec<PathBuf> {
    let folders = fs::read_dir(trash(test)).into_iter().flatten().flatten();
    let mut folders: Vec<_> = folders.map(|folder| folder.path()).collect();
    folders.sort();
    folders
}

/// A repository with a few files, among them an executable, a symlink and a `.gitignore`. `None`
/// where this git does not know the format.
pub fn repository(format: Format) -> Option<Test> {
    let test = Test::bare();
    let options: &[&str] = match format {
        Format::Files | Format::Relative => &[],
        Format::Reftable => &["--ref-format=reftable"],
        Format::Sha256 => &["--object-format=sha256"],
    };
    let probe = test.command("git", &test.home).args(["init", "probe"]).args(options).output();
    if !probe.unwrap().status.success() {
        assert_eq!(format, Format::Reftable, "every git from 2.36 on knows the others");
        eprintln!("skipped: this git knows no reftable");
        return None;
    }
    let app = test.init("app", options);
    for (name, text) in [("a", "a\n"), ("b", "b\n"), ("dir/c", "c\n"), ("tool", "#!/bin/sh\n")] {
        write(&app.join(name), text);
    }
    write(&app.join(".gitignore"), "*.log\n/build/\n");
    std::os::unix::fs::symlink("a", app.join("link")).unwrap();
    test.git(&["add", "."]);
    test.git(&["update-index", "--chmod=+x", "tool"]);
    test.git(&["checkout", "--quiet", "--", "tool"]);
    test.git(&["commit", "--quiet", "-m", "two"]);
    test.git(&["status"]);
    Some(test)
}

/// Makes both pointers of a sandbox relative, as git does from 2.48 on if it is told to.
pub fn make_relative(test: &Test, path: &Path) {
    let entry = entry(test, path);
    let up =
        |from: &Path| "../".repeat(from.strip_prefix(&test.home).unwrap().components().count());
    let inside = |path: &Path| path.strip_prefix(&test.home).unwrap().display().to_string();
    write(&entry.join("gitdir"), &format!("{}{}/.git\n", up(&entry), inside(path)));
    write(&path.join(".git"), &format!("gitdir: {}{}\n", up(path), inside(&entry)));
}

/// What every prune and gc of the user's may do at any time.
pub fn collect_garbage(test: &Test) {
    test.git(&["gc", "--prune=now", "--quiet"]);
    test.git(&["worktree", "prune", "--expire=now"]);
}
