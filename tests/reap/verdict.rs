//! `git sandbox reap` row by row of the verdict: what it keeps, what it skips, what it never takes.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::fixture::diff::same;
use crate::fixture::files::{room, tree, write};
use crate::fixture::process::Sleeper;
use crate::fixture::reap::{nothing, reap, summary};
use crate::fixture::repository::{Format, repository, with_box};
use crate::fixture::run::succeeds;
use crate::fixture::state::{collect_garbage, entry, kept, main_checkout, state};
use crate::fixture::time::{after, set_time, set_times};
use crate::fixture::trash::{only_one, trashed};
use crate::fixture::work::{commit, submodule};
use crate::fixture::{Run, Test};

/// Whether force makes a difference.
#[derive(Clone, Copy, PartialEq)]
enum Force {
    Takes,
    ChangesNothing,
}

/// Says why it stays, in a dry run too, and leaves it alone; then the same with force, or not.
fn stays(test: &Test, path: &Path, line: &str, force: Force) {
    let line = if line.is_empty() { String::new() } else { format!("{line}\n") };
    let last = if line.is_empty() { nothing(4) } else { summary(0, 1, 0, 0) };
    let whole = || tree(&test.home, &["sandbox.lock"]);
    let before = whole();
    for words in [&[][..], &["--dry-run"], &["--merged"]] {
        reap(test, 94, words).stdout(&line).stderr(&last).ok();
        same(&whole(), &before);
    }
    if force == Force::ChangesNothing {
        reap(test, 94, &["--force"]).stdout(&line).stderr(&last).ok();
        reap(test, 94, &["--force", "--force"]).stdout(&line).stderr(&last).ok();
        same(&whole(), &before);
        return;
    }
    let (facts, main) = (state(test, path), main_checkout(test));
    let (line, last) = ("box: retired: unused for 94 days\n", summary(1, 0, 0, room(path)));
    let would = line.replace(": retired:", ": would retire:");
    reap(test, 94, &["--force", "--dry-run"]).stdout(&would).stderr(&last).ok();
    same(&whole(), &before);
    reap(test, 94, &["--force"]).stdout(line).stderr(&last).ok();
    assert!(!path.exists());
    collect_garbage(test);
    succeeds(test.run(&["restore", "box"]));
    same(&state(test, path), &facts);
    same(&main_checkout(test), &main);
}

#[test]
fn uncommitted_changes_of_every_sort_keep_it() {
    let (test, path) = with_box();
    write(&path.join("a"), "staged\n");
    test.git_in(&path, &["add", "a"]);
    write(&path.join("b"), "unstaged\n");
    write(&path.join("dir/new"), "untracked\n");
    set_times(&path, 0);
    stays(&test, &path, "box: kept: 3 uncommitted changes", Force::Takes);
}

#[test]
fn one_untracked_file_keeps_it_whatever_the_config_shows() {
    let (test, path) = with_box();
    test.git(&["config", "status.showUntrackedFiles", "no"]);
    write(&path.join("new"), "mine\n");
    set_times(&path, 0);
    stays(&test, &path, "box: kept: 1 uncommitted change", Force::Takes);
}

#[test]
fn hidden_edits_keep_it() {
    let (test, path) = with_box();
    test.git_in(&path, &["update-index", "--assume-unchanged", "a"]);
    test.git_in(&path, &["update-index", "--skip-worktree", "b"]);
    write(&path.join("a"), "hidden\n");
    write(&path.join("b"), "hidden\n");
    set_times(&path, 0);
    stays(&test, &path, "box: kept: 2 hidden edits", Force::Takes);
}

#[test]
fn an_operation_in_progress_keeps_it() {
    let (test, path) = with_box();
    test.git_in(&path, &["bisect", "start", "--no-checkout"]);
    set_times(&path, 0);
    stays(&test, &path, "box: kept: bisect in progress", Force::Takes);
}

#[test]
fn a_merge_in_progress_keeps_it() {
    let (test, path) = with_box();
    commit(&test, &path, "a", "mine\n");
    commit(&test, &test.app(), "b", "theirs\n");
    test.git_in(&path, &["merge", "--quiet", "--no-commit", "-s", "ours", "main"]);
    set_times(&path, 0);
    stays(&test, &path, "box: kept: merge in progress", Force::Takes);
}

#[test]
fn a_nested_repository_with_work_keeps_it() {
    let (test, path) = with_box();
    let nested = path.join("build/nested");
    test.init(nested.strip_prefix(&test.home).unwrap().to_str().unwrap(), &[]);
    set_times(&path, 0);
    stays(&test, &path, "box: kept: unsaved work in 'build/nested'", Force::Takes);
}

#[test]
fn work_in_a_submodule_keeps_it() {
    let (test, path) = with_box();
    submodule(&test, &path);
    write(&path.join("sub/new"), "mine\n");
    set_times(&path, 0);
    stays(&test, &path, "box: kept: unsaved work in 'sub'", Force::Takes);
}

#[test]
fn what_cannot_be_read_keeps_it() {
    let (test, path) = with_box();
    fs::write(entry(&test, &path).join("index"), "no index").unwrap();
    set_times(&path, 0);
    let before = tree(&test.home, &["sandbox.lock"]);
    for words in [&[][..], &["--dry-run"]] {
        let output = reap(&test, 94, words).output();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.starts_with("box: kept: cannot tell: "), "{said}");
        assert_eq!((said.lines().count(), output.status.code()), (1, Some(0)));
        same(&tree(&test.home, &["sandbox.lock"]), &before);
    }
}

#[test]
fn every_reason_is_named() {
    let (test, path) = with_box();
    write(&path.join("new"), "mine\n");
    test.git_in(&path, &["bisect", "start", "--no-checkout"]);
    set_times(&path, 0);
    let line = "box: kept: 1 uncommitted change; bisect in progress";
    stays(&test, &path, line, Force::Takes);
}

#[test]
fn unpushed_commits_and_precious_files_do_not_keep_it() {
    let (test, path) = with_box();
    write(&test.app().join(".git/info/exclude"), ".env\n");
    commit(&test, &path, "a", "mine\n");
    write(&path.join(".env"), "SECRET=1\n");
    set_times(&path, 0);
    let (facts, tip) = (state(&test, &path), test.git(&["rev-parse", "box"]));
    let freed = room(&path);
    reap(&test, 94, &[])
        .stdout("box: retired: unused for 94 days\n")
        .stderr(&summary(1, 0, 0, freed))
        .ok();
    assert!(!path.exists());
    assert_eq!(test.git(&["rev-parse", "box"]), tip);
    assert!(kept(&test).starts_with("refs/sandbox/kept/box-"), "{}", kept(&test));
    assert_eq!(fs::read_to_string(only_one(&test).join("tree/.env")).unwrap(), "SECRET=1\n");
    succeeds(test.run(&["restore", "box"]));
    same(&state(&test, &path), &facts);
}

#[test]
fn one_in_use_is_never_taken() {
    let (test, path) = with_box();
    let user = Sleeper::start(&path.join("dir"), Stdio::null());
    let line = format!("box: skipped: in use by {} sleep", user.pid());
    stays(&test, &path, &line, Force::ChangesNothing);
}

#[test]
fn one_whose_lock_is_shared_is_never_taken() {
    let (test, path) = with_box();
    let lock = fs::File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(entry(&test, &path).join("sandbox.lock"))
        .unwrap();
    lock.lock_shared().unwrap();
    let user = Sleeper::start(&test.home, lock);
    let line = format!("box: skipped: in use by {} sleep", user.pid());
    stays(&test, &path, &line, Force::ChangesNothing);
}

#[test]
fn a_locked_one_is_never_taken() {
    let (test, path) = with_box();
    let at = path.display().to_string();
    test.git(&["worktree", "lock", "--reason", "on a stick", &at]);
    stays(&test, &path, "box: skipped: locked: on a stick", Force::ChangesNothing);
    test.git(&["worktree", "unlock", &at]);
    test.git(&["worktree", "lock", &at]);
    stays(&test, &path, "box: skipped: locked", Force::ChangesNothing);
}

#[test]
fn the_one_we_stand_in_is_never_taken() {
    let (test, path) = with_box();
    let run = |dir: &str, words: &[&str]| -> Run<'_> {
        let run = test.run_in(&path.join(dir), &[&["reap"], words].concat());
        run.env("GIT_SANDBOX_NOW", after(94))
    };
    let before = tree(&test.home, &["sandbox.lock"]);
    for words in [&[][..], &["--force"], &["--force", "--force"], &["--dry-run"]] {
        for dir in ["", "dir"] {
            run(dir, words)
                .stdout("box: skipped: you are in it\n")
                .stderr(&summary(0, 1, 0, 0))
                .ok();
            same(&tree(&test.home, &["sandbox.lock"]), &before);
        }
    }
}

#[test]
fn one_around_another_worktree_is_never_taken() {
    let (test, path) = with_box();
    let inner = path.join("build/inner").display().to_string();
    test.git(&["worktree", "add", "--quiet", "-b", "inner", &inner]);
    set_times(&path, 0);
    let line = "box: skipped: contains worktree '$ROOT/box/build/inner'";
    stays(&test, &path, line, Force::ChangesNothing);
}

#[test]
fn external_ones_and_the_main_worktree_are_never_taken() {
    let test = repository(Format::Files).unwrap();
    let dir = test.home.join("elsewhere").display().to_string();
    let placed = test.new_sandbox(&["--dir", &dir, "placed"]);
    let plain = test.home.join("plain");
    test.git(&["worktree", "add", "--quiet", "-b", "plain", &plain.display().to_string()]);
    let rooted = test.new_sandbox(&["--root", &format!("{dir}/root"), "rooted"]);
    // Too deep, and not deep enough, to be a sandbox of this root.
    let deep = test.at("deep/er");
    test.git(&["worktree", "add", "--quiet", "-b", "deep", &deep.display().to_string()]);
    for path in [&placed, &plain, &rooted, &deep, &test.app()] {
        set_time(path, 0);
    }
    stays(&test, &placed, "", Force::ChangesNothing);
    for path in [&placed, &plain, &rooted, &deep, &test.app()] {
        assert!(path.join("a").exists());
    }
    // Where its own root is in force it is a sandbox as any other.
    let freed = room(&rooted);
    reap(&test, 94, &["--root", &format!("{dir}/root")])
        .stdout("rooted: retired: unused for 94 days\n")
        .stderr(&summary(1, 0, 0, freed))
        .ok();
    assert!(!rooted.exists() && placed.exists() && plain.exists());
}

#[test]
fn damaged_half_made_and_missing_ones_are_never_taken() {
    let test = repository(Format::Files).unwrap();
    let names = ["forged", "creating", "linked", "gone"];
    let [forged, creating, linked, gone] = names.map(|name| test.new_sandbox(&[name]));
    fs::write(forged.join(".git"), format!("gitdir: {}\n", test.app().join(".git").display()))
        .unwrap();
    let at = creating.display().to_string();
    test.git(&["worktree", "lock", "--reason", "git-sandbox: creating", &at]);
    fs::rename(&linked, test.home.join("linked")).unwrap();
    std::os::unix::fs::symlink(test.home.join("linked"), &linked).unwrap();
    fs::rename(&gone, test.home.join("gone")).unwrap();
    set_time(&forged, 0);
    let before = tree(&test.home, &["sandbox.lock"]);
    for words in [&[][..], &["--force"], &["--force", "--force"], &["--merged"], &["--dry-run"]] {
        succeeds(reap(&test, 94, words));
        same(&tree(&test.home, &["sandbox.lock"]), &before);
    }
    assert!(trashed(&test).is_empty());
}

#[test]
fn one_that_stays_keeps_no_other() {
    let test = repository(Format::Files).unwrap();
    for name in ["dirty", "fix", "locked", "young"] {
        test.new_sandbox(&[name]);
    }
    write(&test.at("dirty/a"), "mine\n");
    write(&test.at("dirty/new"), "mine\n");
    set_times(&test.at("dirty"), 0);
    test.git(&["worktree", "lock", &test.at("locked").display().to_string()]);
    set_time(&test.at("young"), 50);
    let freed = room(&test.at("fix"));
    reap(&test, 94, &[])
        .stdout(
            "dirty: kept: 2 uncommitted changes\n\
             fix: retired: unused for 94 days\n\
             locked: skipped: locked\n",
        )
        .stderr(&summary(1, 2, 0, freed))
        .ok();
    assert_eq!(test.sandboxes(), ["dirty", "locked", "young"]);
}
