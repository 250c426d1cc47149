//! What a merge left that was killed, and a user who goes on before the next command comes.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::crash::{MANY, crashes, next, says};
use crate::fixture::diff::same;
use crate::fixture::files::{names_in, tree, write};
use crate::fixture::merge::{Scene, Target};
use crate::fixture::process::Sleeper;
use crate::fixture::state::entry;
use crate::fixture::trash::only_one;

/// Runs a merge into the main checkout so that it dies while it holds git's lock of the index, at every
/// such step, and lets the user go on from there.
fn while_landing(mut go_on: impl FnMut(&Scene, bool)) {
    let mut seen = 0;
    for step in 1..MANY {
        let scene = Scene::new(Target::Here);
        let old = scene.commit("dev");
        if !crashes(&scene, &["--keep"], step) {
            assert!(seen > 3, "it never died in between");
            return;
        }
        let git_dir = scene.test.app().join(".git");
        if git_dir.join("index.lock").exists() && git_dir.join("sandbox.landing").exists() {
            seen += 1;
            go_on(&scene, scene.commit("dev") != old);
        }
    }
    panic!("it never came to its end");
}

/// Does what git advises when it finds a lock of its own.
fn remove_lock(scene: &Scene) {
    fs::remove_file(scene.test.app().join(".git/index.lock")).unwrap();
}

#[test]
fn a_crash_locks_the_index_until_the_next_command() {
    while_landing(|scene, landed| {
        let app = scene.test.app();
        let mut add = scene.test.command("git", &app);
        assert!(
            !add.args(["commit", "--allow-empty", "-m", "x"]).output().unwrap().status.success()
        );
        says(&next(scene), &app, landed);
        scene.nothing_is_left();
        scene.is_clean();
    });
}

#[test]
fn what_was_edited_and_staged_since_the_crash_survives() {
    while_landing(|scene, landed| {
        let app = scene.test.app();
        let wrote = app.join(".git/sandbox.landing.index").exists();
        remove_lock(scene);
        write(&app.join("mine"), "edited since\n");
        write(&app.join("a"), "edited since\n");
        write(&app.join("new"), "staged since\n");
        scene.test.git(&["add", "new"]);
        let said = next(scene);
        let word = if landed { "completed" } else { "undid" };
        assert!(said.starts_with(word), "{said}");
        let named = said.contains("changed since, and left as they are: 'mine'");
        assert_eq!(named, wrote && !landed, "{said}");
        for name in ["mine", "a"] {
            assert_eq!(fs::read_to_string(app.join(name)).unwrap(), "edited since\n");
        }
        assert_eq!(scene.test.git(&["show", ":new"]), "staged since");
        let mine = if landed { " M mine" } else { "?? mine" };
        let mut wanted = [" M a", "A  new", mine];
        wanted.sort_by_key(|line| (line.starts_with('?'), line[3..].to_owned()));
        assert_eq!(scene.test.git(&["status", "--porcelain"]), wanted.join("\n"));
        scene.nothing_is_left();
        assert_eq!(next(scene), "");
    });
}

#[test]
fn what_was_committed_since_the_crash_survives() {
    while_landing(|scene, landed| {
        let app = scene.test.app();
        remove_lock(scene);
        write(&app.join("a"), "committed since\n");
        scene.test.git(&["commit", "--quiet", "--message=since", "--only", "a"]);
        let tip = scene.commit("dev");
        let said = next(scene);
        assert!(said.starts_with(if landed { "completed" } else { "undid" }), "{said}");
        assert_eq!(scene.commit("dev"), tip);
        assert_eq!(scene.test.git(&["show", "dev:a"]), "committed since");
        scene.nothing_is_left();
        scene.is_clean();
    });
}

#[test]
fn a_lock_of_another_git_is_left_alone_and_the_landing_finished_later() {
    while_landing(|scene, landed| {
        let app = scene.test.app();
        let lock = app.join(".git/index.lock");
        remove_lock(scene);
        write(&lock, "theirs\n");
        let said = next(scene);
        let warning = format!(
            "warning: an interrupted merge is still there: cannot finish a merge in '{}': another \
             git is at work there\n",
            app.display()
        );
        assert_eq!(said, warning);
        assert_eq!(fs::read_to_string(&lock).unwrap(), "theirs\n");
        remove_lock(scene);
        says(&next(scene), &app, landed);
        scene.nothing_is_left();
        scene.is_clean();
    });
}

#[test]
fn another_merge_of_the_users_after_a_crash_is_left_to_them() {
    while_landing(|scene, landed| {
        let app = scene.test.app();
        if landed {
            return;
        }
        remove_lock(scene);
        scene.test.git(&["stash", "--quiet", "--include-untracked"]);
        scene.test.git(&["checkout", "--quiet", "-b", "else", "main"]);
        scene.test.commit(&app, "a", "else\n");
        scene.test.git(&["checkout", "--quiet", "dev"]);
        scene.test.commit(&app, "a", "dev\n");
        let merge = scene.test.command("git", &app).args(["merge", "else"]).output().unwrap();
        assert_eq!(merge.status.code(), Some(1));
        write(&app.join("a"), "resolved\n");
        scene.test.git(&["add", "a"]);
        says(&next(scene), &app, false);
        assert_eq!(scene.test.git(&["show", ":a"]), "resolved");
        assert!(app.join(".git/MERGE_HEAD").exists());
    });
}

#[test]
fn another_branch_that_was_checked_out_since_the_crash_keeps_its_index() {
    let mut completed = 0;
    while_landing(|scene, landed| {
        let app = scene.test.app();
        if !landed {
            return;
        }
        completed += 1;
        remove_lock(scene);
        // It has the commit that the target had.
        scene.test.git(&["checkout", "--quiet", "--force", "main"]);
        says(&next(scene), &app, true);
        assert_eq!(scene.test.git(&["diff", "--cached", "--name-only"]), "");
        assert_eq!(scene.test.git(&["diff", "--name-only"]), "");
        scene.nothing_is_left();
    });
    assert!(completed > 0);
}

/// Runs a merge that needs a scratch so that it dies while that is there, at every such step.
fn while_in_scratch(go_on: impl Fn(&Scene, &Path)) {
    let mut seen = 0;
    for step in 1..MANY {
        let scene = Scene::diverged(Target::Here);
        if !crashes(&scene, &["--keep"], step) {
            assert!(seen > 3, "it never died in between");
            return;
        }
        let scratch = scene.test.sandboxes().into_iter().find(|name| name.starts_with(".merge-"));
        if let Some(path) = scratch.map(|name| scene.test.at(&name)).filter(|it| it.is_dir()) {
            seen += 1;
            go_on(&scene, &path);
        }
    }
    panic!("it never came to its end");
}

#[test]
fn a_scratch_with_files_of_the_users_goes_to_the_trash() {
    while_in_scratch(|scene, scratch| {
        write(&scratch.join("theirs"), "resolved by hand\n");
        write(&scratch.join("notes"), "untracked\n");
        let said = next(scene);
        assert!(said.contains("left by an interrupted merge, to the trash"), "{said}");
        assert!(!scratch.exists());
        scene.nothing_is_left();
        let name = scratch.file_name().unwrap().to_str().unwrap();
        assert!(scene.test.run(&["restore", name]).output().status.success());
        let read = |name: &str| fs::read_to_string(scratch.join(name)).unwrap();
        assert_eq!(
            (read("theirs"), read("notes")),
            ("resolved by hand\n".into(), "untracked\n".into())
        );
        // It is a sandbox like any other now.
        assert_eq!(next(scene), "");
        assert!(scratch.exists());
    });
}

/// A merge that died in a hook, when everything was checked out, and the name of its scratch.
fn killed_in_hook() -> (Scene, String) {
    let scene = Scene::diverged(Target::Here);
    let hook = "kill -9 $(ps -o ppid= -p $PPID); kill -9 $PPID";
    scene.test.script("app/.git/hooks/commit-msg", hook);
    assert_eq!(scene.test.run(&["merge", "box"]).output().status.code(), Some(137));
    fs::remove_file(scene.test.app().join(".git/hooks/commit-msg")).unwrap();
    let name = scene.test.sandboxes().into_iter().find(|name| name.starts_with(".merge-"));
    (scene, name.unwrap())
}

#[test]
fn a_folder_in_the_place_of_a_scratch_goes_to_the_trash() {
    let (scene, name) = killed_in_hook();
    let scratch = scene.test.at(&name);
    let before = tree(&scratch, &[".git"]);
    // As after a move of another worktree to its place.
    fs::copy(scene.path.join(".git"), scratch.join(".git")).unwrap();
    let said = next(&scene);
    assert!(said.contains("left by an interrupted merge, to the trash"), "{said}");
    same(&tree(&only_one(&scene.test).join("tree"), &[".git"]), &before);
}

#[test]
fn a_sandbox_that_is_only_locked_like_a_scratch_can_be_restored() {
    let scene = Scene::new(Target::Here);
    let path = scene.test.new_sandbox(&["other"]);
    let before = tree(&path, &[".git"]);
    let words = ["worktree", "lock", "--reason", "git-sandbox: merging"];
    scene.test.git(&[&words[..], &[path.to_str().unwrap()]].concat());
    let said = next(&scene);
    assert!(said.contains("left by an interrupted merge, to the trash"), "{said}");
    assert!(scene.test.run(&["restore", "other"]).output().status.success());
    same(&tree(&path, &[".git"]), &before);
}

#[test]
fn files_in_a_scratch_that_has_no_head_go_to_the_trash() {
    let (scene, name) = killed_in_hook();
    let scratch = scene.test.at(&name);
    write(&scratch.join("notes"), "untracked\n");
    let entry = entry(&scene.test, &scratch);
    // As if git had been killed before it had written it.
    for name in ["HEAD", "ORIG_HEAD", "MERGE_HEAD", "AUTO_MERGE", "logs/HEAD"] {
        let _ = fs::remove_file(entry.join(name));
    }
    next(&scene);
    let notes = only_one(&scene.test).join("tree/notes");
    assert_eq!(fs::read_to_string(notes).unwrap(), "untracked\n");
}

#[test]
fn a_crash_on_the_way_to_the_trash_loses_nothing() {
    let mut seen = 0;
    for step in 1..MANY {
        let (scene, name) = killed_in_hook();
        let name = &name;
        write(&scene.test.at(name).join("notes"), "untracked\n");
        let crashed = scene.test.run(&["rm", "--force", "no-such"]).crashes_at(step);
        seen += u32::from(scene.test.app().join(".git/sandbox.merging").exists());
        next(&scene);
        scene.nothing_is_left();
        assert!(names_in(&only_one(&scene.test).join("tree")).contains(&"notes".into()));
        assert!(scene.test.run(&["restore", name]).output().status.success());
        let notes = fs::read_to_string(scene.test.at(name).join("notes")).unwrap();
        assert_eq!(notes, "untracked\n");
        // It is a sandbox like any other now.
        assert_eq!(next(&scene), "");
        assert!(scene.test.at(name).exists());
        if !crashed {
            assert!(seen > 1, "it never died in between");
            return;
        }
    }
    panic!("it never came to its end");
}

#[test]
fn a_scratch_that_a_process_is_in_stays_until_it_is_gone() {
    while_in_scratch(|scene, scratch| {
        let mut sleeper = Sleeper::start(scratch, Stdio::null());
        let path = scratch.display();
        let warning =
            format!("warning: '{path}', left by an interrupted merge, is in use and stays\n");
        let said = next(scene);
        assert!(said.ends_with(&warning), "{said}");
        assert!(scratch.exists());
        sleeper.end();
        next(scene);
        assert!(!scratch.exists());
        scene.nothing_is_left();
    });
}
