//! Sandboxes whose repository is out of reach, or back again, while a system call or a git fails.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;

use crate::fixture::Test;
use crate::fixture::again::Template;
use crate::fixture::files::write;
use crate::fixture::run::succeeds;
use crate::fixture::state::{entry, is_registered};
use crate::fixture::time::{after, set_time};
use crate::fixture::traced::{CHANGES, GITS, at_every_place, has_failed};
use crate::fixture::trash::{only_one, trashed};

/// A sandbox `box` with a staged file, whose repository is out of reach.
fn out_of_reach() -> (Test, PathBuf) {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("staged"), "staged\n");
    test.git_in(&path, &["add", "staged"]);
    set_time(&entry(&test, &path).join("gitdir"), 0);
    fs::rename(test.app(), test.home.join("away")).unwrap();
    (test, path)
}

#[test]
fn one_is_moved_to_the_trash_and_back_or_stays_whole() {
    let (test, path) = out_of_reach();
    let pointer = fs::read(path.join(".git")).unwrap();
    let (reap, restore) = (["reap", "--all"], ["restore", "--all", "box"]);
    // A folder that has come back counts as just used.
    let day = Cell::new(0);
    let years_later = || {
        day.set(day.get() + 400);
        after(day.get())
    };
    let run = |words: &[&str]| {
        let run = test.run_in(&test.home, words);
        succeeds(run.env("GIT_SANDBOX_NOW", after(day.get())));
    };
    let is_whole = || {
        assert_eq!(fs::read(path.join(".git")).unwrap(), pointer);
        assert_eq!(fs::read_to_string(path.join("staged")).unwrap(), "staged\n");
        assert_eq!(trashed(&test), Vec::<PathBuf>::new());
    };
    at_every_place(CHANGES, |fault| {
        let outcome = fault.run_at(&test, (&test.home, &years_later()), &reap);
        let is_said = !outcome.is_done || outcome.said.contains(": kept");
        assert!(is_said || !path.exists(), "{fault:?}: {outcome:?}");
        run(&reap);
        assert!(only_one(&test).join("tree/staged").is_file() && !path.exists(), "{fault:?}");
        run(&restore);
        is_whole();
        outcome.is_hit
    });
    at_every_place(CHANGES, |fault| {
        years_later();
        run(&reap);
        let outcome = fault.run_at(&test, (&test.home, &after(day.get())), &restore);
        if !outcome.is_done {
            has_failed(&outcome);
            // What was begun is completed or undone by the next command.
            run(&reap);
            if !path.exists() {
                run(&restore);
            }
            assert_eq!(trashed(&test), Vec::<PathBuf>::new(), "{fault:?}: {outcome:?}");
        }
        is_whole();
        outcome.is_hit
    });
}

#[test]
fn one_whose_repository_is_back_is_taken_in_now_or_later() {
    let (test, path) = out_of_reach();
    let reap = test.run_in(&test.home, &["reap", "--all"]).env("GIT_SANDBOX_NOW", after(400));
    succeeds(reap);
    fs::rename(test.home.join("away"), test.app()).unwrap();
    let template = Template::of(&test);
    for calls in [CHANGES, GITS] {
        at_every_place(calls, |fault| {
            template.bring_back(&test);
            let outcome = fault.run(&test, &["reap"]);
            let is_warned = !outcome.is_done || outcome.said.contains("warning: ");
            let journal = fs::read_to_string(only_one(&test).join("journal.json")).unwrap();
            let is_in = journal.contains("\"trashed\"") && !journal.contains("\"orphan\": true");
            assert!(is_warned || is_in, "{fault:?}: {outcome:?}");
            succeeds(test.run(&["reap"]));
            assert!(!is_registered(&test.app(), "box"), "{fault:?}");
            succeeds(test.run(&["restore", "box"]));
            assert_eq!(test.git_in(&path, &["status", "--porcelain", "-b"]), "## box\nA  staged");
            assert_eq!(fs::read_to_string(path.join("staged")).unwrap(), "staged\n");
            assert_eq!(trashed(&test), Vec::<PathBuf>::new());
            outcome.is_hit
        });
    }
}
