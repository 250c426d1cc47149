//! `reap`, `reap --purge` and `reap --finish` killed at every step, and run again: they end in the
//! same state, and nothing else is touched.

use std::fs;

use crate::removal::{
    Format, collect_garbage, kept, main_checkout, reflog, repository, same, state, trashed,
};
use crate::repo::{Test, tree, write};
use crate::stale::{only_one, reap, set_time, set_times, succeeds, wait_for_trash, wait_until};
use crate::work::commit;

/// More steps than any command has.
const MANY: u32 = 50;
const KILLED: i32 = 128 + 9;

/// A stale sandbox with a commit that no ref has, and a young one.
struct Scene {
    test: Test,
    young: String,
    commits: Vec<String>,
}

impl Scene {
    fn new() -> Scene {
        let test = repository(Format::Files).unwrap();
        let path = test.new_sandbox(&["box", "The", "task"]);
        test.git_in(&path, &["checkout", "--quiet", "--detach"]);
        commit(&test, &path, "a", "mine\n");
        write(&path.join("build/out"), "built\n");
        set_times(&path, 0);
        set_time(&test.new_sandbox(&["young"]), 90);
        let young = state(&test, &test.at("young"));
        let commits = reflog(&test, &path);
        Scene { test, young, commits }
    }

    /// One whose sandbox is in the trash.
    fn trashed() -> Scene {
        let scene = Scene::new();
        succeeds(scene.test.run(&["rm", "box"]));
        scene
    }

    /// Runs `reap` so that it dies at a step. Whether it did.
    fn crashes(&self, words: &[&str], step: u32) -> bool {
        let output =
            reap(&self.test, 94, words).env("GIT_SANDBOX_CRASH_AT", step.to_string()).output();
        match output.status.code() {
            Some(0) => false,
            Some(KILLED) => true,
            other => panic!("{other:?}: {}", String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// What nobody asked to be touched is as it was, and no commit is lost, even to gc.
    fn is_whole(&self) {
        collect_garbage(&self.test);
        same(&state(&self.test, &self.test.at("young")), &self.young);
        for commit in &self.commits {
            self.test.git(&["cat-file", "-e", commit]);
        }
        self.test.git(&["fsck", "--no-progress", "--connectivity-only"]);
        assert_eq!(self.test.branches(), ["box", "main", "young"]);
    }

    /// Deleted for good: no files, no entry, and the kept ref.
    fn is_purged(&self) {
        wait_for_trash(&self.test, 0);
        let entry = self.test.app().join(".git/worktrees/box");
        wait_until("the entry is gone", || !entry.exists());
        assert!(!self.test.at("box").exists());
        assert_eq!(self.test.linked(), [self.test.at("young").to_string_lossy()]);
        assert_eq!(kept(&self.test).lines().count(), 1);
        self.is_whole();
        succeeds(self.test.run(&["doctor"]));
    }
}

#[test]
fn a_crash_of_reap_loses_nothing_and_the_next_one_ends_the_same() {
    for step in 1..MANY {
        let scene = Scene::new();
        let test = &scene.test;
        let (before, main) = (state(test, &test.at("box")), main_checkout(test));
        let crashed = scene.crashes(&[], step);
        collect_garbage(test);
        succeeds(reap(test, 94, &[]));
        assert_eq!(test.sandboxes(), ["young"]);
        assert_eq!(fs::read(only_one(test).join("tree/build/out")).unwrap(), b"built\n");
        assert_eq!(kept(test).lines().count(), 1);
        scene.is_whole();
        succeeds(test.run(&["restore", "box"]));
        same(&state(test, &test.at("box")), &before);
        same(&main_checkout(test), &main);
        assert!(trashed(test).is_empty());
        if !crashed {
            assert!(step > 8, "reap has more than {step} steps");
            return;
        }
    }
    panic!("it never completed");
}

/// The background inherits the step to die at, so that it dies too where the foreground does not.
#[test]
fn a_crash_of_purge_and_of_its_background_ends_the_same() {
    for words in [&["--purge"][..], &["--purge", "box"], &[]] {
        for step in 1..6 {
            let scene = Scene::trashed();
            scene.crashes(words, step);
            succeeds(reap(&scene.test, 94, &[]));
            scene.is_purged();
        }
    }
}

#[test]
fn a_crash_of_finish_ends_the_same() {
    for step in 1..MANY {
        let scene = Scene::trashed();
        assert!(scene.crashes(&["--purge"], 1));
        let crashed = scene.crashes(&["--finish"], step);
        collect_garbage(&scene.test);
        reap(&scene.test, 94, &["--finish"]).ok();
        assert!(trashed(&scene.test).is_empty());
        scene.is_purged();
        if !crashed {
            assert!(step > 3, "finish has more than {step} steps");
            return;
        }
    }
    panic!("it never completed");
}

#[test]
fn what_was_half_deleted_is_deleted_to_the_end() {
    for gone in [&["a"][..], &[".git"], &["a", ".git", "build", "dir"]] {
        let scene = Scene::trashed();
        assert!(scene.crashes(&["--purge"], 1));
        for name in gone {
            let path = only_one(&scene.test).join("tree").join(name);
            if path.is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else {
                fs::remove_file(path).unwrap();
            }
        }
        // Any reap goes on with it, whatever it was asked for.
        succeeds(reap(&scene.test, 94, &[]));
        scene.is_purged();
    }
}

#[test]
fn deleting_in_the_background_lets_others_go_first() {
    let scene = Scene::trashed();
    assert!(scene.crashes(&["--purge"], 1));
    let test = &scene.test;
    let log = test.home.join("nice");
    let path = test.fake_git(&format!("nice >>'{}'\nexec \"$GIT\" \"$@\"", log.display()));
    let output = test.program(&test.app(), &["reap", "--finish"]).env("PATH", path).output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let ours = test.command("nice", &test.home).output().unwrap().stdout;
    let ours: u32 = String::from_utf8_lossy(&ours).trim().parse().unwrap();
    let wanted = format!("{}\n", (ours + 10).min(19));
    let told = fs::read_to_string(log).unwrap();
    assert!(!told.is_empty() && told.lines().all(|line| line == wanted.trim_end()), "{told}");
    scene.is_purged();
}

#[test]
fn what_is_being_deleted_cannot_be_brought_back() {
    let scene = Scene::trashed();
    assert!(scene.crashes(&["--purge"], 1));
    let before = tree(&scene.test.home, &["sandbox.lock"]);
    let test = &scene.test;
    test.run(&["restore"]).stderr("nothing to bring back\n").ok();
    test.run(&["restore", "box"])
        .stderr(
            "error: no removed sandbox is called 'box'\n\
             hint: 'git sandbox restore' lists what can be brought back\n",
        )
        .code(1);
    succeeds(reap(test, 94, &["--dry-run"]));
    same(&tree(&test.home, &["sandbox.lock"]), &before);
}
