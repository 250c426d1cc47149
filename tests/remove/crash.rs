//! A crash at every step of removal, of restore and of the recovery from either: the next command
//! completes or undoes, and nothing is lost.
//!
//! `GIT_SANDBOX_CRASH_AT=<n>` kills a debug build at its n-th step; a run without that many steps
//! completes, which ends each of these tests.

use crate::fixture::state::{is_registered, private, private_anywhere};
use std::fs;
use std::path::Path;

use crate::fixture::Test;
use crate::fixture::again::Template;
use crate::fixture::diff::same;
use crate::fixture::files::{tree, write};
use crate::fixture::repository::{Format, make_relative, repository};
use crate::fixture::run::KILLED;
use crate::fixture::state::{collect_garbage, entry, kept, main_checkout, reflog, state};
use crate::fixture::trash::trashed;
use crate::fixture::work::{commit, submodule};

/// More steps than any command has.
const MANY: u32 = 50;

/// What is crashed into.
#[derive(Clone, Copy)]
enum Variant {
    /// On a commit that no ref has.
    Detached,
    /// On a branch, with a lock of the user's.
    Locked,
    /// On a branch, with relative pointers.
    Relative,
}

/// A sandbox with every sort of file, and how it was.
struct Scene {
    test: Test,
    template: Template,
    files: String,
    state: String,
    main: String,
    commits: Vec<String>,
}

impl Scene {
    fn new(variant: Variant) -> Scene {
        let test = repository(Format::Files).unwrap();
        let path = test.new_sandbox(&["box", "The", "task"]);
        if let Variant::Detached = variant {
            test.git_in(&path, &["checkout", "--quiet", "--detach"]);
        }
        commit(&test, &path, "file", "committed\n");
        write(&path.join("a"), "staged\n");
        test.git_in(&path, &["add", "a"]);
        write(&path.join("a"), "overwritten\n");
        write(&path.join("b"), "unstaged\n");
        write(&path.join("new/untracked"), "untracked\n");
        write(&path.join("build/ignored"), "ignored\n");
        fs::create_dir(path.join("empty")).unwrap();
        if let Variant::Relative = variant {
            make_relative(&test, &path);
        }
        if let Variant::Locked = variant {
            let at = path.display().to_string();
            test.git(&["worktree", "lock", "--reason", "on a stick", &at]);
        }
        let files = tree(&path, &[".git"]);
        let state = state(&test, &path);
        let main = main_checkout(&test);
        let commits = reflog(&test, &path);
        let template = Template::of(&test);
        Scene { test, template, files, state, main, commits }
    }

    /// Brings everything back to how it was. The indexes know other files then.
    #[track_caller]
    fn again(&mut self) {
        self.template.bring_back(&self.test);
        self.state = state(&self.test, &self.test.at("box"));
        self.main = main_checkout(&self.test);
    }

    /// Runs a command that dies at a step. Whether it did; otherwise it must have succeeded.
    #[track_caller]
    fn crashes(&self, words: &[&str], step: u32) -> bool {
        self.test.run(words).crashes_at(step)
    }

    #[track_caller]
    fn succeeds(&self, words: &[&str]) {
        let output = self.test.run(words).output();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Every file is whole, at one of the two places.
    #[track_caller]
    fn files_are_somewhere(&self) {
        let inside = trashed(&self.test).into_iter().map(|folder| folder.join("tree"));
        let places = inside.chain([self.test.at("box")]).filter(|place| place.exists());
        let places: Vec<_> = places.collect();
        assert_eq!(places.len(), 1, "{places:?}");
        same(&tree(&places[0], &[".git"]), &self.files);
    }

    /// The sandbox is as it was, and no trace of a removal is left.
    #[track_caller]
    fn is_as_it_was(&self) {
        let test = &self.test;
        same(&state(test, &test.at("box")), &self.state);
        assert_eq!(kept(test), "");
        assert!(trashed(test).is_empty());
        for commit in &self.commits {
            test.git(&["cat-file", "-e", commit]);
        }
    }

    /// After a recovery: as it was, or to be brought back so.
    #[track_caller]
    fn is_whole(&self) {
        self.files_are_somewhere();
        if !self.test.at("box").exists() {
            self.succeeds(&["restore", "box"]);
        }
        self.is_as_it_was();
    }

    /// The main checkout is as it was, but for the other sandbox.
    #[track_caller]
    fn main_is_as_it_was(&self) {
        self.succeeds(&["rm", "--delete-branch", "other"]);
        self.succeeds(&["reap", "--purge", "other"]);
        // What nothing else protects stays kept.
        let ours = |line: &&str| !line.contains("refs/sandbox/kept/");
        let now = main_checkout(&self.test);
        same(&now.lines().filter(ours).collect::<Vec<_>>().join("\n"), &self.main);
    }
}

/// Crashes removal at every step, with something done before the next command.
fn crash_rm(variant: Variant, between: fn(&Test)) {
    let mut scene = Scene::new(variant);
    for step in 1..MANY {
        scene.again();
        let crashed = scene.crashes(&["rm", "--force", "--force", "box"], step);
        between(&scene.test);
        scene.files_are_somewhere();
        scene.succeeds(&["new", "other"]);
        scene.is_whole();
        scene.main_is_as_it_was();
        if !crashed {
            assert!(step > 8, "removal has more than {step} steps");
            return;
        }
    }
    panic!("it never completed");
}

/// Crashes restore at every step, with something done before the next command.
fn crash_restore(variant: Variant, between: fn(&Test)) {
    let mut scene = Scene::new(variant);
    for step in 1..MANY {
        scene.again();
        scene.succeeds(&["rm", "--force", "--force", "box"]);
        let crashed = scene.crashes(&["restore", "box"], step);
        between(&scene.test);
        scene.files_are_somewhere();
        scene.succeeds(&["new", "other"]);
        scene.is_whole();
        scene.main_is_as_it_was();
        if !crashed {
            assert!(step > 5, "restore has more than {step} steps");
            return;
        }
    }
    panic!("it never completed");
}

/// Crashes a command at every step, and the recovery at every step too.
fn crash_recovery(variant: Variant, words: &[&str], prepare: fn(&Scene)) {
    let mut scene = Scene::new(variant);
    for step in 1..MANY {
        for next in 1..MANY {
            scene.again();
            prepare(&scene);
            let crashed = scene.crashes(words, step);
            let again = scene.crashes(&["new", "other"], next);
            scene.files_are_somewhere();
            scene.succeeds(&["new", "other"]);
            scene.is_whole();
            match (crashed, again) {
                (false, _) => return,
                (true, false) => break,
                (true, true) => {}
            }
        }
    }
    panic!("it never completed");
}

fn nothing(_: &Test) {}

#[test]
fn a_crash_of_rm_loses_nothing() {
    crash_rm(Variant::Detached, nothing);
}

#[test]
fn a_crash_of_rm_of_a_locked_one_loses_nothing() {
    crash_rm(Variant::Locked, nothing);
}

#[test]
fn a_crash_of_rm_or_restore_of_a_relative_one_loses_nothing() {
    crash_rm(Variant::Relative, nothing);
    crash_restore(Variant::Relative, nothing);
}

#[test]
fn a_crash_of_rm_and_a_gc_lose_nothing() {
    crash_rm(Variant::Detached, collect_garbage);
}

#[test]
fn a_crash_of_rm_of_a_locked_one_and_a_gc_lose_nothing() {
    crash_rm(Variant::Locked, collect_garbage);
}

#[test]
fn a_crash_of_restore_loses_nothing() {
    crash_restore(Variant::Detached, nothing);
}

#[test]
fn a_crash_of_restore_of_a_locked_one_loses_nothing() {
    crash_restore(Variant::Locked, nothing);
}

#[test]
fn a_crash_of_restore_and_a_gc_lose_nothing() {
    crash_restore(Variant::Detached, collect_garbage);
}

#[test]
fn a_crash_of_restore_of_a_locked_one_and_a_gc_lose_nothing() {
    crash_restore(Variant::Locked, collect_garbage);
}

#[test]
fn a_crash_of_the_recovery_from_rm_loses_nothing() {
    for variant in [Variant::Detached, Variant::Locked] {
        crash_recovery(variant, &["rm", "--force", "--force", "box"], |_| ());
    }
}

#[test]
fn a_crash_of_the_recovery_from_restore_loses_nothing() {
    for variant in [Variant::Detached, Variant::Locked] {
        let prepare = |scene: &Scene| scene.succeeds(&["rm", "--force", "--force", "box"]);
        crash_recovery(variant, &["restore", "box"], prepare);
    }
}

#[test]
fn a_crash_of_restore_under_another_name_loses_nothing() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    submodule(&test, &path);
    commit(&test, &path.join("sub"), "file", "mine\n");
    write(&path.join("sub/new"), "mine too\n");
    let template = Template::of(&test);
    for step in 1..MANY {
        template.bring_back(&test);
        let status = |path: &Path| test.git_in(path, &["status", "--porcelain=v2", "--branch"]);
        let before = (status(&path), status(&path.join("sub")));
        assert!(test.run(&["rm", "--force", "box"]).output().status.success());
        let run = test.run(&["restore", "box", "--as", "two"]);
        let crashed = !run.env("GIT_SANDBOX_CRASH_AT", step.to_string()).output().status.success();
        assert!(test.run(&["new", "other"]).output().status.success());
        if !test.at("two").exists() {
            assert!(test.run(&["restore", "box", "--as", "two"]).output().status.success());
        }
        let two = test.at("two");
        assert_eq!((status(&two), status(&two.join("sub"))), before, "step {step}");
        assert!(trashed(&test).is_empty() && kept(&test).is_empty());
        if !crashed {
            return;
        }
    }
    panic!("it never completed");
}

#[test]
fn a_commit_made_after_a_crash_of_restore_stays_checked_out() {
    let mut seen = 0;
    let mut scene = Scene::new(Variant::Locked);
    for step in 1..MANY {
        scene.again();
        let path = scene.test.at("box");
        scene.succeeds(&["rm", "--force", "--force", "box"]);
        let crashed = scene.crashes(&["restore", "box"], step);
        let pinned = |entry: &Path| {
            let reason = fs::read_to_string(entry.join("locked")).unwrap();
            reason.starts_with("git-sandbox: trashed")
        };
        // Until its private git dir is back in git's registry, git fails in there.
        let works = path.exists() && is_registered(&scene.test.app(), "box");
        if works && pinned(&entry(&scene.test, &path)) {
            let head = scene.test.git_in(&path, &["rev-parse", "--abbrev-ref", "HEAD"]);
            seen += 1;
            let made = scene.test.commit(&path, "file", "after the crash\n");
            scene.succeeds(&["new", "other"]);
            assert_eq!(scene.test.git_in(&path, &["rev-parse", "HEAD"]), made);
            let now = scene.test.git_in(&path, &["rev-parse", "--abbrev-ref", "HEAD"]);
            assert_eq!(now, head);
            assert!(trashed(&scene.test).is_empty());
        }
        if !crashed {
            assert!(seen > 0);
            return;
        }
    }
    panic!("it never completed");
}

#[test]
fn a_commit_made_after_a_crash_of_rm_stays_checked_out() {
    let mut seen = 0;
    let mut scene = Scene::new(Variant::Detached);
    for step in 1..MANY {
        scene.again();
        let path = scene.test.at("box");
        scene.test.git_in(&path, &["checkout", "--quiet", "-B", "mine"]);
        let crashed = scene.crashes(&["rm", "--force", "box"], step);
        if path.exists() && is_registered(&scene.test.app(), "box") {
            seen += 1;
            let made = scene.test.commit(&path, "file", "after the crash\n");
            scene.succeeds(&["new", "other"]);
            assert_eq!(scene.test.git_in(&path, &["rev-parse", "HEAD"]), made, "{step}");
            let status = ["status", "--porcelain", "--untracked-files=no", "--", "file"];
            assert_eq!(scene.test.git_in(&path, &status), "", "{step}");
            assert!(trashed(&scene.test).is_empty());
        }
        if !crashed {
            assert!(seen > 3, "only {seen} steps");
            return;
        }
    }
    panic!("it never completed");
}

#[test]
fn every_other_command_that_changes_something_recovers_too() {
    let mut scene = Scene::new(Variant::Detached);
    for words in [&["rm", "other"][..], &["restore", "other"]] {
        for step in 1..MANY {
            scene.again();
            scene.succeeds(&["new", "other"]);
            if words[0] == "restore" {
                scene.succeeds(&["rm", "other"]);
            }
            let crashed = scene.crashes(&["rm", "--force", "box"], step);
            scene.succeeds(words);
            let pinned = |folder: &Path| folder.join("locked").exists();
            if scene.test.at("box").exists() {
                assert!(!pinned(&entry(&scene.test, &scene.test.at("box"))));
                same(&state(&scene.test, &scene.test.at("box")), &scene.state);
            } else {
                scene.succeeds(&["restore", "box"]);
                same(&state(&scene.test, &scene.test.at("box")), &scene.state);
            }
            if !crashed {
                break;
            }
        }
    }
}

#[test]
fn looking_after_a_crash_changes_nothing() {
    let mut scene = Scene::new(Variant::Locked);
    for step in 1..MANY {
        scene.again();
        let crashed = scene.crashes(&["rm", "--force", "--force", "box"], step);
        let before = tree(&scene.test.home, &[]);
        for words in
            [&["list"][..], &["list", "--all"], &["restore"], &["rm", "--dry-run", "-f", "x"]]
        {
            scene.succeeds(words);
        }
        same(&tree(&scene.test.home, &[]), &before);
        if !crashed {
            return;
        }
    }
    panic!("it never completed");
}

/// git, killed together with us, leaves a lock that only the user may remove: until then nobody can put
/// HEAD back, and nobody may forget where it was.
#[test]
fn a_restore_that_cannot_be_completed_is_not_removed_again() {
    let mut scene = Scene::new(Variant::Locked);
    for step in 1..MANY {
        scene.again();
        let test = &scene.test;
        scene.succeeds(&["rm", "--force", "--force", "box"]);
        assert!(scene.crashes(&["restore", "box"], step), "HEAD was never detached at its place");
        let head = private_anywhere(&test.app(), "box").join("HEAD");
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        let named = test.at("box").exists();
        if !named || read(&head).starts_with("ref: ") {
            continue;
        }
        let lock = head.with_extension("lock");
        write(&lock, "");
        let output = test.run(&["rm", "--force", "--force", "box"]).output();
        // There is no sandbox of that name yet, which with force is no error.
        assert_eq!(output.status.code(), Some(0));
        assert!(test.at("box").exists());
        scene.files_are_somewhere();
        fs::remove_file(&lock).unwrap();
        scene.succeeds(&["new", "other"]);
        scene.is_as_it_was();
        return;
    }
}

/// Once its reflog has expired, only the kept ref holds a commit that was amended away.
#[test]
fn a_crash_of_restore_after_its_reflog_expired_loses_no_commit() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "file", "amended away\n");
    let old = test.git_in(&path, &["rev-parse", "HEAD"]);
    test.git_in(&path, &["commit", "--quiet", "--amend", "-m", "new"]);
    test.git_in(&path, &["update-ref", "-d", "ORIG_HEAD"]);
    let template = Template::of(&test);
    for step in 1..MANY {
        template.bring_back(&test);
        assert!(test.run(&["rm", "box"]).output().status.success());
        test.git(&["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"]);
        let run = test.run(&["restore", "box"]).env("GIT_SANDBOX_CRASH_AT", step.to_string());
        let code = run.output().status.code();
        assert!(test.run(&["new", "other"]).output().status.success());
        collect_garbage(&test);
        test.git(&["cat-file", "-e", &old]);
        match code {
            Some(KILLED) => {}
            Some(0) => return assert!(step > 5, "restore has more than {step} steps"),
            other => panic!("{other:?}"),
        }
    }
    panic!("it never completed");
}

/// After the crash, and before the next command, somebody does this to the repository.
fn after_a_crash_of_rm(between: fn(&Test), check: fn(&Test, &str)) {
    let mut scene = Scene::new(Variant::Detached);
    for step in 1..MANY {
        scene.again();
        let test = &scene.test;
        test.git_in(&test.at("box"), &["checkout", "--quiet", "-B", "mine"]);
        let files = tree(&test.at("box"), &[".git"]);
        let crashed = scene.crashes(&["rm", "--force", "box"], step);
        let journal = trashed(test).pop().map(|folder| folder.join("journal.json"));
        let journal = journal.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        if journal.contains("\"trashed\"") {
            return assert!(step > 5, "{crashed}: removal has more than {step} steps");
        }
        between(test);
        let output = test.run(&["new", "other"]).output();
        assert!(output.status.success(), "{step}: {}", String::from_utf8_lossy(&output.stderr));
        check(test, &String::from_utf8_lossy(&output.stderr));
        if !test.at("box").exists() {
            scene.succeeds(&["restore", "box"]);
        }
        same(&tree(&test.at("box"), &[".git"]), &files);
        assert_eq!(test.git_in(&test.at("box"), &["branch", "--show-current"]), "mine", "{step}");
        assert!(trashed(test).is_empty());
    }
    panic!("it never completed");
}

#[test]
fn a_lock_of_gits_does_not_keep_a_removed_one_from_coming_back() {
    let lock = |test: &Test| write(&private_anywhere(&test.app(), "box").join("HEAD.lock"), "");
    after_a_crash_of_rm(lock, |test, said| {
        let lock = private_anywhere(&test.app(), "box").join("HEAD.lock");
        // HEAD can go back only without it, and the next command says what is in the way.
        let in_the_way = said.contains("HEAD.lock': File exists");
        fs::remove_file(lock).unwrap();
        if in_the_way {
            assert!(test.run(&["new", "another"]).output().status.success());
        }
    });
}

#[test]
fn a_branch_that_moved_after_a_crash_does_not_keep_it_from_coming_back() {
    let commit = |test: &Test| {
        let trash = trashed(test).pop().map(|folder| folder.join("tree"));
        let place = trash.filter(|tree| tree.exists()).unwrap_or_else(|| test.at("box"));
        let dir = format!("--git-dir={}", private_anywhere(&test.app(), "box").display());
        let words = ["commit-tree", "-p", "mine", "-m", "more", "mine^{tree}"];
        let more = test.git(&words);
        assert!(place.exists());
        test.git(&[&dir, "update-ref", "HEAD", &more]);
        test.git(&["update-ref", "refs/heads/mine", &more]);
    };
    after_a_crash_of_rm(commit, |_, said| assert!(!said.contains("warning: "), "{said}"));
}

#[test]
fn what_a_crash_left_of_a_small_file_is_cleared() {
    let scene = Scene::new(Variant::Locked);
    let left = private(&scene.test.app(), "box").join("locked.new");
    write(&left, "");
    scene.succeeds(&["list"]);
    assert!(left.exists(), "looking changes nothing");
    scene.succeeds(&["new", "other"]);
    assert!(!left.exists());
    scene.is_as_it_was();
}

#[test]
fn a_file_that_is_only_named_like_what_a_crash_leaves_stays() {
    let scene = Scene::new(Variant::Detached);
    let file = scene.test.at("box/.git.new");
    write(&file, "mine\n");
    scene.succeeds(&["rm", "--force", "box"]);
    scene.succeeds(&["restore", "box"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
}
