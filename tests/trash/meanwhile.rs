//! What a process commits or stages in a sandbox while that is removed, lies in the trash or is put away.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::Signal;

use crate::fixture::Test;
use crate::fixture::built::program;
use crate::fixture::files::write;
use crate::fixture::process::{ended, is_suspended, signal, until};
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::{collect_garbage, is_registered, private_anywhere};
use crate::fixture::trash::{only_one, trashed};

/// The commit, and the staged version of a file that was edited since.
struct Work {
    commit: String,
    staged: String,
}

/// Commits a file and stages another.
fn work(test: &Test, folder: &Path) -> Work {
    let commit = test.commit(folder, "late", "late\n");
    write(&folder.join("staged"), "staged\n");
    test.git_in(folder, &["add", "staged"]);
    let staged = test.git_in(folder, &["rev-parse", ":staged"]);
    write(&folder.join("staged"), "edited\n");
    Work { commit, staged }
}

/// Collects garbage and brings the sandbox back: nothing of the work is gone.
#[track_caller]
fn all_is_there(test: &Test, work: &Work, step: u32) {
    collect_garbage(test);
    assert_eq!(test.git(&["cat-file", "-t", &work.commit]), "commit", "{step}");
    assert_eq!(test.git(&["cat-file", "blob", &work.staged]), "staged", "{step}");
    let path = test.at("box");
    if !path.exists() {
        succeeds(test.run(&["restore", "box"]));
    }
    assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), work.commit, "{step}");
    assert_eq!(test.git_in(&path, &["show", ":staged"]), "staged", "{step}");
    for (name, text) in [("late", "late\n"), ("staged", "edited\n")] {
        assert_eq!(fs::read_to_string(path.join(name)).unwrap(), text, "{step}");
    }
}

/// The folder of the sandbox, wherever it is, if git works in there.
fn folder(test: &Test) -> Option<PathBuf> {
    let places =
        [test.at("box")].into_iter().chain(trashed(test).into_iter().map(|at| at.join("tree")));
    let mut works = places.filter(|folder| {
        let mut git = test.command("git", &test.home);
        git.arg("-C").arg(folder).args(["rev-parse", "--verify", "HEAD"]);
        folder.is_dir()
            && git.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
    });
    works.next()
}

/// Runs a command that is suspended at a step, works in the sandbox, and lets it go on. False where it has
/// no such step.
fn works_at(test: &Test, words: &[&str], step: u32, done: &mut Option<Work>) -> bool {
    let mut command = test.command(program(), &test.app());
    command.args(words).env("GIT_SANDBOX_PAUSE_AT", step.to_string()).process_group(0);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("it is suspended or ends", || {
        is_suspended(child.id()) || child.try_wait().unwrap().is_some()
    });
    if child.try_wait().unwrap().is_some() {
        return false;
    }
    *done = folder(test).map(|folder| work(test, &folder));
    signal(child.id(), Signal::CONT);
    ended(child);
    true
}

#[test]
fn what_is_committed_and_staged_during_a_removal_is_kept() {
    let mut seen = 0;
    for step in 1..40 {
        let test = repository(Format::Files).unwrap();
        test.new_sandbox(&["box"]);
        let mut done = None;
        if !works_at(&test, &["rm", "box"], step, &mut done) {
            return assert!(seen > 5, "{seen}");
        }
        if let Some(work) = done {
            seen += 1;
            // What changed after the removal has looked for the last time, a reap finds.
            succeeds(test.run(&["reap"]));
            all_is_there(&test, &work, step);
        }
    }
    panic!("it never came to its end");
}

#[test]
fn what_is_committed_and_staged_while_it_is_put_away_is_kept() {
    let mut seen = 0;
    for step in 1..60 {
        let test = repository(Format::Files).unwrap();
        test.new_sandbox(&["box"]);
        succeeds(test.run(&["rm", "box"]));
        let mut done = None;
        if !works_at(&test, &["reap", "--purge"], step, &mut done) {
            return assert!(seen > 3, "{seen}");
        }
        if let Some(work) = done {
            seen += 1;
            all_is_there(&test, &work, step);
        }
    }
    panic!("it never came to its end");
}

#[test]
fn what_is_committed_in_an_ignored_repository_while_it_is_put_away_is_kept() {
    let mut seen = 0;
    for step in 1..60 {
        let test = repository(Format::Files).unwrap();
        let path = test.new_sandbox(&["box"]);
        let app = test.app().display().to_string();
        test.git_in(&path, &["clone", "--quiet", &app, "build/nested"]);
        succeeds(test.run(&["rm", "box"]));
        let mut command = test.command(program(), &test.app());
        command.args(["reap", "--purge"]).env("GIT_SANDBOX_PAUSE_AT", step.to_string());
        command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        until("it is suspended or ends", || {
            is_suspended(child.id()) || child.try_wait().unwrap().is_some()
        });
        if child.try_wait().unwrap().is_some() {
            return assert!(seen > 3, "{seen}");
        }
        let nested = trashed(&test).first().map(|at| at.join("tree/build/nested"));
        let nested = nested.filter(|nested| nested.is_dir());
        let late = nested.map(|nested| test.commit(&nested, "late", "late\n"));
        signal(child.id(), Signal::CONT);
        ended(child);
        if let Some(late) = late {
            seen += 1;
            succeeds(test.run(&["restore", "box"]));
            let nested = path.join("build/nested");
            assert!(nested.is_dir(), "gone after step {step}");
            assert_eq!(test.git_in(&nested, &["rev-parse", "HEAD"]), late, "{step}");
        }
    }
    panic!("it never came to its end");
}

#[test]
fn every_reap_keeps_what_was_committed_and_staged_in_the_trash() {
    for format in [Format::Files, Format::Reftable, Format::Sha256, Format::Relative] {
        let Some(test) = repository(format) else { continue };
        test.new_sandbox(&["box"]);
        succeeds(test.run(&["rm", "box"]));
        let work = work(&test, &only_one(&test).join("tree"));
        test.run(&["reap", "--dry-run"]).stderr("nothing to clean up (0 sandboxes)\n").ok();
        test.run(&["reap"]).stderr("nothing to clean up (0 sandboxes)\n").ok();
        all_is_there(&test, &work, 0);
    }
}

#[test]
fn a_removed_sandbox_whose_commit_is_lost_says_where_its_files_are() {
    let test = repository(Format::Files).unwrap();
    test.new_sandbox(&["box"]);
    succeeds(test.run(&["rm", "box"]));
    let tree = only_one(&test).join("tree");
    work(&test, &tree);
    collect_garbage(&test);
    let said = format!(
        "error: sandbox 'box' is damaged: the repository lost its commits; its files are '{}'\n\
         hint: git worktree repair\n",
        tree.display()
    );
    test.run(&["restore", "box"]).stderr(&said).code(1);
    assert_eq!(fs::read_to_string(tree.join("late")).unwrap(), "late\n");
    assert!(!is_registered(&test.app(), "box") && private_anywhere(&test.app(), "box").is_dir());
}
