//! A crash at every step of a merge: nothing is lost, the next command leaves the target either merged
//! or as it was, says which, and takes away what was left.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::fixture::Test;
use crate::fixture::again::Template;
use crate::fixture::diff::same;
use crate::fixture::files::{tree, write};
use crate::fixture::merge::{Scene, Target};
use crate::fixture::trash::trashed;

/// More steps than a merge has.
pub const MANY: u32 = 60;

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
#[track_caller]
pub fn crashes(scene: &Scene, words: &[&str], step: u32) -> bool {
    scene.test.run(&[&["merge", "box"], words].concat()).crashes_at(step)
}

/// The files of the sandbox, wherever it is.
#[track_caller]
fn files_of_the_sandbox(test: &Test) -> String {
    let inside = trashed(test).into_iter().map(|folder| folder.join("tree"));
    let places: Vec<_> = inside.chain([test.at("box")]).filter(|place| place.exists()).collect();
    assert_eq!(places.len(), 1, "{places:?}");
    tree(&places[0], &[".git", "theirs"])
}

/// What the next command says about the landing, which is nothing where the crash came before or after.
const SAID: [&str; 3] = ["", "completed", "undid"];

/// Runs the next command, whatever it is. Returns the first word of what it says, if anything.
#[track_caller]
pub fn next(scene: &Scene) -> String {
    let output = scene.test.run(&["rm", "--force", "no-such"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

/// Asserts that the next command said this of the landing in a checkout, or nothing.
#[track_caller]
pub fn says(said: &str, folder: &Path, landed: bool) {
    let word = if landed { SAID[1] } else { SAID[2] };
    let wanted = format!("{word} an interrupted merge into 'dev' in '{}'\n", folder.display());
    assert!(said.is_empty() || said == wanted, "{said}");
}

fn at_every_step(target: Target, mode: &Mode) {
    let mut heard = BTreeSet::new();
    let scene = scene(target, mode);
    let (test, template) = (&scene.test, Template::of(&scene.test));
    for step in 1..MANY {
        template.bring_back(test);
        let (old, tip) = (scene.commit("dev"), scene.commit("box"));
        let (before, files) = (scene.state(), files_of_the_sandbox(test));
        let crashed = crashes(&scene, mode.words, step);
        let said = next(&scene);
        let landed = scene.commit("dev") != old;
        heard.insert(said.split(' ').next().unwrap().to_owned());
        let rebased = mode.words.contains(&"--rebase") && said.contains("'box'");
        if let Some(dev) = scene.dev.as_ref().filter(|_| !rebased) {
            says(&said, dev, landed);
        }
        scene.nothing_is_left();
        scene.is_clean();
        assert_eq!(files_of_the_sandbox(test), files, "{step}");
        let wanted = ["mine", "mine too", "theirs"];
        if landed {
            assert_eq!(scene.files("dev"), &wanted[..if mode.diverged { 3 } else { 2 }], "{step}");
        } else {
            assert!(crashed);
            same(&scene.state(), &before);
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
            let wanted = if scene.dev.is_some() { &SAID[..] } else { &SAID[..1] };
            assert!(wanted.iter().all(|word| heard.contains(*word)), "{heard:?}");
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
    at_every_step(Target::Here, &kept(&MODES[2]));
}

#[test]
fn a_crash_at_any_step_of_a_squash() {
    at_every_step(Target::Here, &kept(&MODES[3]));
    at_every_step(Target::Nowhere, &MODES[3]);
}

#[test]
fn a_crash_at_any_step_of_a_squash_with_hooks() {
    at_every_step(Target::Sandbox, &kept(&MODES[4]));
}

#[test]
fn a_crash_at_any_step_of_a_rebase() {
    at_every_step(Target::Sandbox, &kept(&MODES[5]));
    at_every_step(Target::Nowhere, &MODES[5]);
}

#[test]
fn a_crash_at_any_step_of_a_rebase_with_hooks() {
    at_every_step(Target::Here, &MODES[6]);
}

/// A fast-forward that changes, adds, deletes and turns into another kind, into a checkout with every
/// sort of uncommitted work, none of it in the way.
fn busy_scene() -> Scene {
    let scene = Scene::new(Target::Here);
    let (test, app) = (&scene.test, scene.test.app());
    write(&scene.path.join("dir/c"), "changed\n");
    fs::remove_file(scene.path.join("link")).unwrap();
    write(&scene.path.join("link"), "no link any more\n");
    fs::remove_file(scene.path.join("b")).unwrap();
    write(&scene.path.join("b/inside"), "a folder now\n");
    write(&scene.path.join("deep/er/new"), "new\n");
    test.git_in(&scene.path, &["rm", "--quiet", "tool"]);
    test.git_in(&scene.path, &["add", "--all"]);
    test.git_in(&scene.path, &["commit", "--quiet", "-m", "all sorts"]);
    write(&app.join("a"), "staged\n");
    test.git(&["add", "a"]);
    write(&app.join("a"), "unstaged\n");
    write(&app.join("added"), "staged\n");
    test.git(&["add", "added"]);
    fs::remove_file(app.join("file")).unwrap();
    // Not there, though both commits have something there: the user deleted it.
    fs::remove_file(app.join("dir/c")).unwrap();
    write(&app.join("notes"), "untracked\n");
    write(&app.join("x.log"), "ignored\n");
    scene
}

const BUSY: &str = "MM a\nA  added\n D file\n?? notes";

#[test]
fn a_crash_at_any_step_leaves_uncommitted_work_of_the_target() {
    let mut heard = BTreeSet::new();
    let scene = busy_scene();
    let template = Template::of(&scene.test);
    for step in 1..MANY {
        template.bring_back(&scene.test);
        let (old, before) = (scene.commit("dev"), scene.state());
        let crashed = crashes(&scene, &["--keep"], step);
        let said = next(&scene);
        heard.insert(said.split(' ').next().unwrap().to_owned());
        let landed = scene.commit("dev") != old;
        let app = scene.test.app();
        says(&said, &app, landed);
        scene.nothing_is_left();
        if landed {
            assert_eq!(scene.test.git(&["status", "--porcelain"]), BUSY, "{step}");
            assert_eq!(scene.test.git(&["show", ":a"]), "staged");
            for (name, text) in
                [("a", "unstaged\n"), ("x.log", "ignored\n"), ("dir/c", "changed\n")]
            {
                assert_eq!(fs::read_to_string(app.join(name)).unwrap(), text, "{step}");
            }
        } else {
            same(&scene.state(), &before);
        }
        if !crashed {
            assert!(SAID.iter().all(|word| heard.contains(*word)), "{heard:?}");
            return;
        }
    }
    panic!("it never came to its end");
}
