//! A crash at every step of a merge: nothing is lost, the target has either everything or nothing of
//! it, and the next command takes away what was left.

use std::fs;

use crate::merging::{Scene, Target, can_tell};
use crate::removal::{same, trashed};
use crate::repo::{Test, tree, write};

/// More steps than a merge has.
const MANY: u32 = 60;
const KILLED: i32 = 128 + 9;

/// How a merge is made.
struct Mode {
    words: &'static [&'static str],
    diverged: bool,
    /// Something that needs a checkout, so that a worktree of its own is used.
    hook: Option<&'static str>,
}

const MODES: [Mode; 7] = [
    Mode { words: &[], diverged: false, hook: None },
    Mode { words: &["--delete-branch"], diverged: true, hook: None },
    Mode { words: &[], diverged: true, hook: Some("post-merge") },
    Mode { words: &["--squash", "--delete-branch"], diverged: true, hook: None },
    Mode { words: &["--squash"], diverged: true, hook: Some("post-commit") },
    Mode { words: &["--rebase"], diverged: true, hook: None },
    Mode { words: &["--rebase", "--delete-branch"], diverged: true, hook: Some("post-merge") },
];

/// The same without the removal, whose own steps are the same wherever the target is.
fn kept(mode: &Mode) -> Mode {
    let words: &[&str] = match mode.words.first() {
        Some(&"--squash") => &["--squash", "--keep"],
        Some(&"--rebase") => &["--rebase", "--keep"],
        _ => &["--keep"],
    };
    Mode { words, ..*mode }
}

fn scene(target: Target, mode: &Mode) -> Scene {
    let scene = if mode.diverged { Scene::diverged(target) } else { Scene::new(target) };
    if let Some(hook) = mode.hook {
        scene.test.script(&format!("app/.git/hooks/{hook}"), "");
    }
    scene
}

/// Dies at a step. Whether it did; otherwise it must have succeeded.
fn crashes(scene: &Scene, words: &[&str], step: u32) -> bool {
    let words = [&["merge", "box"], words].concat();
    let output = scene.test.run(&words).env("GIT_SANDBOX_CRASH_AT", step.to_string()).output();
    match output.status.code() {
        Some(0) => false,
        Some(KILLED) => true,
        other => panic!("{other:?}: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// The files of the sandbox, wherever it is.
fn files_of_the_sandbox(test: &Test) -> String {
    let inside = trashed(test).into_iter().map(|folder| folder.join("tree"));
    let places: Vec<_> = inside.chain([test.at("box")]).filter(|place| place.exists()).collect();
    assert_eq!(places.len(), 1, "{places:?}");
    tree(&places[0], &[".git", "theirs"])
}

fn at_every_step(target: Target, mode: &Mode) {
    for step in 1..MANY {
        let scene = scene(target, mode);
        let test = &scene.test;
        let (old, tip) = (scene.commit("dev"), scene.commit("box"));
        let (before, files) = (scene.state(), files_of_the_sandbox(test));
        let crashed = crashes(&scene, mode.words, step);
        assert_eq!(files_of_the_sandbox(test), files, "{step}");
        scene.is_clean();
        // Whatever command comes next.
        let next = test.run(&["rm", "--force", "no-such"]).output();
        assert!(next.status.success(), "{step}: {}", String::from_utf8_lossy(&next.stderr));
        scene.nothing_is_left();
        scene.is_clean();
        assert_eq!(files_of_the_sandbox(test), files, "{step}");
        let wanted = ["mine", "mine too", "theirs"];
        if scene.commit("dev") == old {
            assert!(crashed);
            same(&scene.state(), &before);
        } else {
            assert_eq!(scene.files("dev"), &wanted[..if mode.diverged { 3 } else { 2 }], "{step}");
        }
        let held = test.git(&["log", "--all", "--reflog", "--format=%H"]);
        assert!(held.contains(&tip), "{step}");
        // It can be brought to its end.
        if scene.path.exists() {
            let again = test.run(&[&["merge", "box"], mode.words].concat()).output();
            let stderr = String::from_utf8_lossy(&again.stderr);
            assert!(again.status.success() || stderr.contains("nothing to merge"), "{stderr}");
        }
        assert_eq!(scene.files("dev"), &wanted[..if mode.diverged { 3 } else { 2 }], "{step}");
        scene.is_clean();
        if !crashed {
            assert!(step > 3, "too few steps");
            return;
        }
    }
    panic!("it never came to its end");
}

#[test]
fn a_crash_at_any_step_of_a_fast_forward() {
    at_every_step(Target::Here, &kept(&MODES[0]));
    at_every_step(Target::Nowhere, &MODES[0]);
}

#[test]
fn a_crash_at_any_step_of_a_merge() {
    at_every_step(Target::Sandbox, &kept(&MODES[1]));
    at_every_step(Target::Nowhere, &MODES[1]);
}

#[test]
fn a_crash_at_any_step_of_a_merge_with_hooks() {
    at_every_step(Target::Nowhere, &MODES[2]);
}

#[test]
fn a_crash_at_any_step_of_a_squash() {
    at_every_step(Target::Here, &kept(&MODES[3]));
    at_every_step(Target::Nowhere, &MODES[3]);
}

#[test]
fn a_crash_at_any_step_of_a_squash_with_hooks() {
    at_every_step(Target::Nowhere, &MODES[4]);
}

#[test]
fn a_crash_at_any_step_of_a_rebase() {
    at_every_step(Target::Sandbox, &kept(&MODES[5]));
    at_every_step(Target::Nowhere, &MODES[5]);
}

#[test]
fn a_crash_at_any_step_of_a_rebase_with_hooks() {
    at_every_step(Target::Nowhere, &MODES[6]);
}

/// Dies right after git could not commit, for every way in which it can be gone on.
fn uncommitted(go_on: impl Fn(&Scene)) {
    let mut seen = false;
    for step in 1..MANY {
        let scene = Scene::diverged(Target::Here);
        let hook = scene.test.script("app/.git/hooks/commit-msg", "exit 1");
        let run = scene.test.run(&["merge", "box"]).env("GIT_SANDBOX_CRASH_AT", step.to_string());
        let output = run.output();
        fs::remove_file(hook).unwrap();
        if output.status.code() != Some(KILLED) {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(seen, "it never died in between: {step} {said}");
            return;
        }
        if scene.test.app().join(".git/MERGE_HEAD").exists() {
            seen = true;
            go_on(&scene);
        }
    }
}

fn next(scene: &Scene) -> String {
    let output = scene.test.run(&["rm", "--force", "no-such"]).output();
    assert!(output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

const LEFT: &str = "warning: a merge in '$APP' was interrupted, and is left as it is\n";

#[test]
fn a_merge_that_was_not_committed_is_undone() {
    uncommitted(|scene| {
        let wanted = if can_tell(&scene.test) { "" } else { LEFT };
        assert_eq!(next(scene), wanted.replace("$APP", &scene.test.app().display().to_string()));
        if !can_tell(&scene.test) {
            scene.test.git(&["merge", "--abort"]);
        }
        scene.is_clean();
        scene.nothing_is_left();
        assert_eq!(scene.files("dev"), ["theirs"]);
        assert_eq!(fs::read_dir(scene.test.app()).unwrap().count(), 9);
    });
}

#[test]
fn a_merge_that_somebody_went_on_with_is_left_to_them() {
    uncommitted(|scene| {
        let app = scene.test.app();
        write(&app.join("mine"), "improved\n");
        scene.test.git(&["add", "mine"]);
        assert_eq!(next(scene), LEFT.replace("$APP", &app.display().to_string()));
        assert_eq!(scene.test.git(&["show", ":mine"]), "improved");
        scene.nothing_is_left();
        assert_eq!(next(scene), "");
        scene.test.git(&["commit", "--quiet", "--no-edit"]);
        assert_eq!(scene.test.git(&["show", "dev:mine"]), "improved");
    });
}

#[test]
fn a_merge_that_somebody_committed_stays() {
    uncommitted(|scene| {
        scene.test.git(&["commit", "--quiet", "--no-edit"]);
        assert_eq!(next(scene), "");
        assert_eq!(scene.files("dev"), ["mine", "mine too", "theirs"]);
        scene.is_clean();
        scene.nothing_is_left();
    });
}

#[test]
fn what_was_edited_since_survives_the_undoing() {
    uncommitted(|scene| {
        let app = scene.test.app();
        write(&app.join("mine"), "edited since\n");
        write(&app.join("a"), "edited since\n");
        write(&app.join("new"), "untracked\n");
        for _ in 0..2 {
            next(scene);
            for name in ["mine", "a"] {
                assert_eq!(fs::read_to_string(app.join(name)).unwrap(), "edited since\n");
            }
            assert!(app.join("new").exists());
        }
    });
}

#[test]
fn another_merge_of_the_users_after_a_crash_is_left_to_them() {
    for step in 1..MANY {
        let scene = Scene::diverged(Target::Here);
        if !crashes(&scene, &[], step) {
            return;
        }
        if !scene.test.app().join(".git/sandbox.merging").exists() {
            continue;
        }
        let app = scene.test.app();
        scene.test.git(&["checkout", "--quiet", "-b", "else", "main"]);
        scene.test.commit(&app, "theirs", "else\n");
        scene.test.git(&["checkout", "--quiet", "dev"]);
        let merge = scene.test.command("git", &app).args(["merge", "else"]).output().unwrap();
        assert_eq!(merge.status.code(), Some(1));
        write(&app.join("theirs"), "resolved\n");
        scene.test.git(&["add", "theirs"]);
        assert_eq!(next(&scene), LEFT.replace("$APP", &app.display().to_string()));
        assert_eq!(scene.test.git(&["show", ":theirs"]), "resolved");
        assert!(app.join(".git/MERGE_HEAD").exists());
    }
}
