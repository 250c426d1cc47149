//! Which git processes each command starts: no more than it needs. What git starts itself does not
//! count, nor what goes on in the background.

use crate::fixture::state::{is_registered, private};
use std::fs::{self, File};
use std::time::Duration;

use crate::fixture::Test;
use crate::fixture::files::write;
use crate::git::environment::has_reftable;

/// What is run, after these, and the gits that it starts, sorted.
const TABLE: &[(&str, &[&str], &[&str])] = &[
    // Where the repository has been locked before, the lock comes first, and what takes it reads the
    // worktrees itself.
    ("new fix", &[], &["branch", "config", "reset", "worktree list"]),
    ("new fix", &["new x"], &["branch", "config", "reset"]),
    (
        "new --count 3 fix",
        &["new x"],
        &["branch", "branch", "branch", "config", "reset", "reset", "reset"],
    ),
    ("new --detach fix", &["new x"], &["config", "reset", "worktree add"]),
    ("new fix", &["new fix"], &["config", "for-each-ref", "worktree list"]),
    ("list --names", &["new fix"], &["worktree list"]),
    ("path fix", &["new fix"], &["config", "worktree list"]),
    ("list", &["new fix"], &["config", "for-each-ref", "rev-list", "worktree list"]),
    (
        "show fix",
        &["new fix"],
        &["config", "for-each-ref", "rev-list", "rev-parse", "status", "worktree list"],
    ),
    ("rm fix", &["new fix"], &["config", "rev-parse", "update-ref"]),
    ("restore fix", &["new fix", "rm fix"], &["config", "symbolic-ref", "update-ref"]),
    ("reap", &["new fix"], &["config", "worktree list", "worktree prune"]),
];

/// The same where a spare is ready.
const WITH_SPARE: &[(&str, &[&str])] = &[
    ("new fix", &["branch", "config", "symbolic-ref", "update-ref"]),
    ("new --detach fix", &["config", "update-ref"]),
];

/// Runs it with a git that writes down what it is asked. What that is.
#[track_caller]
fn started(test: &Test, command: &str) -> Vec<String> {
    let log = test.home.join("started");
    let _ = fs::remove_file(&log);
    let path = test.fake_git("echo \"$*\" >>\"$HOME/started\"; exec \"$GIT\" \"$@\"");
    let words: Vec<&str> = command.split(' ').collect();
    let output = test.program(&test.app(), &words).env("PATH", path).output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(&log).unwrap();
    let mut names: Vec<String> = text.lines().map(name).collect();
    names.sort();
    names
}

/// The git command among its options.
#[track_caller]
fn name(line: &str) -> String {
    let mut words = line.split(' ');
    while let Some(word) = words.next() {
        match word {
            "-c" => drop(words.next()),
            "worktree" => return format!("worktree {}", words.next().unwrap()),
            _ if word.starts_with('-') => {}
            _ => return word.to_owned(),
        }
    }
    panic!("{line}");
}

/// As if the files had been checked out in another second than the index was written in; in the same
/// one git has to read them again.
fn settle(test: &Test) {
    settle_one(test, "fix");
}

fn settle_one(test: &Test, name: &str) {
    if is_registered(&test.app(), name) {
        let index = File::open(private(&test.app(), name).join("index")).unwrap();
        let written = index.metadata().unwrap().modified().unwrap();
        index.set_modified(written + Duration::from_secs(10)).unwrap();
    }
}

#[test]
fn no_command_starts_a_git_that_it_does_not_need() {
    for (command, before, wanted) in TABLE {
        let test = Test::new();
        for before in *before {
            started(&test, before);
        }
        settle(&test);
        assert_eq!(started(&test, command), *wanted, "{before:?} {command}");
    }
}

#[test]
fn a_spare_saves_the_checkout() {
    for (command, wanted) in WITH_SPARE {
        let test = Test::new();
        test.git(&["config", "sandbox.spares", "1"]);
        // By the same git: another's might check out otherwise.
        started(&test, "__spares");
        let job = File::create(test.app().join(".git/sandbox-spares.lock")).unwrap();
        job.lock().unwrap();
        assert_eq!(started(&test, command), *wanted, "{command}");
        assert_eq!(test.sandboxes().len(), 1);
    }
}

#[test]
fn neither_ignored_files_nor_submodules_cost_a_status() {
    let test = Test::new();
    test.init("lib", &[]);
    test.git(&["submodule", "--quiet", "add", "../lib", "in/lib"]);
    write(&test.app().join(".gitignore"), "*.o\n/build/\n");
    test.git(&["add", "."]);
    test.git(&["commit", "--quiet", "-m", "submodule"]);
    started(&test, "new fix");
    let path = test.at("fix");
    write(&path.join("in/a.o"), "built\n");
    write(&path.join("build/deep/b"), "built\n");
    settle(&test);
    let wanted = ["check-ignore", "config", "rev-parse", "update-ref"];
    assert_eq!(started(&test, "rm fix"), wanted);
    test.run(&["restore", "fix"]).output();
    let there = ["in/a.o", "build/deep/b"].map(|name| path.join(name).is_file());
    assert_eq!(there, [true, true]);
    // An untracked file beside them is work.
    write(&path.join("notes"), "mine\n");
    let output = test.run(&["rm", "fix"]).output();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("worktree has 1 uncommitted change\n"), "{said}");
    assert!(path.join("notes").is_file());
}

/// What plain files tell in an ordinary repository.
const REMOVE: &[&str] = &["config", "rev-parse", "update-ref"];
const RESTORE: &[&str] = &["config", "symbolic-ref", "update-ref"];
/// The same where git is asked for the worktrees.
const LIST_REMOVE: &[&str] = &["config", "rev-parse", "update-ref", "worktree list"];
const LIST_RESTORE: &[&str] = &["config", "symbolic-ref", "update-ref", "worktree list"];
/// And where it is asked for the branch.
const ASK: &[&str] =
    &["config", "rev-list", "rev-parse", "symbolic-ref", "update-ref", "worktree list"];

/// Removes and restores 'fix'. It is as before then, and nothing is kept. The gits that both start.
#[track_caller]
fn goes_and_comes_back(test: &Test) -> (Vec<String>, Vec<String>) {
    settle(test);
    let head = test.git(&["rev-parse", "refs/heads/fix"]);
    let remove = started(test, "rm fix");
    let kept = ["for-each-ref", "--format=%(objectname)", "refs/sandbox/kept"];
    assert_eq!(test.git(&kept), head);
    assert!(!is_registered(&test.app(), "fix") && !test.at("fix").exists());
    let restore = started(test, "restore fix");
    assert_eq!(test.git(&kept), "");
    assert_eq!(test.git_in(&test.at("fix"), &["status", "--porcelain", "--branch"]), "## fix");
    assert_eq!(test.git_in(&test.at("fix"), &["rev-parse", "HEAD"]), head);
    (remove, restore)
}

#[track_caller]
fn starts(test: &Test, remove: &[&str], restore: &[&str]) {
    let (removing, restoring) = goes_and_comes_back(test);
    assert_eq!(
        (removing.as_slice(), restoring.as_slice()),
        (&owned(remove)[..], &owned(restore)[..])
    );
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn what_no_plain_file_tells_is_asked_of_git() {
    let test = Test::new();
    started(&test, "new fix");
    starts(&test, REMOVE, RESTORE);
    // A config of its own, and refs that are packed.
    test.git(&["config", "extensions.worktreeConfig", "true"]);
    test.git_in(&test.at("fix"), &["config", "--worktree", "x.y", "z"]);
    starts(&test, LIST_REMOVE, LIST_RESTORE);
    test.git(&["pack-refs", "--all"]);
    starts(&test, LIST_REMOVE, ASK);
    // A branch whose file is a symlink to another's.
    test.git(&["branch", "--quiet", "real", "fix"]);
    let branches = test.app().join(".git/refs/heads");
    std::os::unix::fs::symlink("real", branches.join("fix")).unwrap();
    starts(&test, LIST_REMOVE, ASK);
    assert!(branches.join("fix").is_symlink());
}

#[test]
fn other_formats_come_and_go_alike() {
    let test = Test::bare();
    test.init("app", &["--object-format=sha256"]);
    started(&test, "new fix");
    starts(&test, REMOVE, RESTORE);
    let test = Test::bare();
    if has_reftable(&test) {
        test.init("app", &["--ref-format=reftable"]);
        started(&test, "new fix");
        let (remove, restore) = goes_and_comes_back(&test);
        // Two changes, one after another, and what was kept once more: no file tells whether a process has
        // committed meanwhile.
        assert_eq!(remove.iter().filter(|name| *name == "update-ref").count(), 3, "{remove:?}");
        assert!(["rev-list", "rev-parse"].iter().all(|name| restore.iter().any(|it| it == name)));
    }
}

/// What is unusual, and the gits that `new fix` starts then, sorted.
#[test]
fn git_is_asked_about_what_is_unusual() {
    type Unusual = fn(&Test);
    let both = &["branch", "config", "config", "reset", "worktree add", "worktree list"][..];
    let hooks = &["branch", "config", "reset", "rev-parse", "worktree add"][..];
    let add = &["branch", "config", "reset", "worktree add"][..];
    let list = &["branch", "config", "reset", "worktree list"][..];
    let cases: [(&str, Unusual, &[&str]); 9] = [
        ("relative", |test| drop(test.git(&["config", "worktree.useRelativePaths", "true"])), add),
        ("shared", |test| drop(test.git(&["config", "core.sharedRepository", "group"])), add),
        ("hooks", |test| drop(test.script("app/.git/hooks/reference-transaction", "exit 0")), add),
        ("elsewhere", |test| drop(test.git(&["config", "core.hooksPath", "/nonexistent"])), hooks),
        (
            "worktree config",
            |test| drop(test.git(&["config", "extensions.worktreeConfig", "true"])),
            both,
        ),
        (
            "no branch",
            |test| write(&private(&test.app(), "x").join("HEAD"), "ref: refs/worktree/y\n"),
            list,
        ),
        (
            "a link",
            |test| {
                let head = private(&test.app(), "x").join("HEAD");
                fs::rename(&head, head.with_file_name("there")).unwrap();
                std::os::unix::fs::symlink("there", head).unwrap();
            },
            list,
        ),
        (
            "a path",
            |test| {
                write(
                    &private(&test.app(), "x").join("gitdir"),
                    &format!("{}//.git\n", test.at("x").display()),
                );
            },
            list,
        ),
        ("a folder", |test| fs::create_dir(test.app().join(".git/worktrees/empty")).unwrap(), list),
    ];
    for (what, change, wanted) in cases {
        let test = Test::new();
        started(&test, "new x");
        change(&test);
        assert_eq!(started(&test, "new fix"), wanted, "{what}");
        assert_eq!(test.git_in(&test.at("fix"), &["status", "--porcelain", "--branch"]), "## fix");
    }
}

/// How many gits `list --json` starts to look at files, and the changes of each sandbox, by name.
#[track_caller]
fn listed(test: &Test) -> (usize, Vec<String>) {
    let calls = started(test, "list --json");
    let told = test.json(&["list", "--json"]);
    let text = |it: &serde_json::Value| {
        let changes = ["staged", "unstaged", "untracked"].map(|key| it["changes"][key].as_u64());
        format!(
            "{} {:?} {}",
            it["name"].as_str().unwrap(),
            changes.map(Option::unwrap),
            it["ahead"]
        )
    };
    let rows = told.as_array().unwrap().iter().map(text).collect();
    (calls.iter().filter(|name| *name == "status").count(), rows)
}

#[test]
fn list_asks_for_a_status_only_where_files_do_not_tell_that_nothing_was_changed() {
    let test = Test::new();
    test.commit(&test.app(), "more", "two\n");
    let names = ["clean", "edited", "follows", "new", "soft", "staged"];
    for name in names {
        test.new_sandbox(&[name]);
    }
    let at = |name: &str| test.at(name);
    write(&at("new").join("notes"), "mine\n");
    write(&at("edited").join("more"), "three\n");
    write(&at("staged").join("more"), "three\n");
    test.git_in(&at("staged"), &["add", "more"]);
    // Files and index agree, and the commit is another.
    test.git_in(&at("soft"), &["reset", "--quiet", "--soft", "HEAD~1"]);
    test.git_in(&at("follows"), &["commit", "--quiet", "--allow-empty", "-m", "ahead"]);
    test.git_in(&at("follows"), &["branch", "--quiet", "--set-upstream-to=main"]);
    for name in names {
        settle_one(&test, name);
    }
    let wanted = [
        "clean [0, 0, 0] 0",
        "edited [0, 1, 0] 0",
        "follows [0, 0, 0] 1",
        "new [0, 0, 1] 0",
        "soft [1, 0, 0] 0",
        "staged [1, 0, 0] 0",
    ];
    assert_eq!(listed(&test), (5, owned(&wanted)));
    // What a sandbox's own config says was not read.
    test.git(&["config", "extensions.worktreeConfig", "true"]);
    assert_eq!(listed(&test), (6, owned(&wanted)));
}
