//! What `git sandbox merge` must not do: touch what somebody else is at, lose what is in the way,
//! take a wrong branch for the target.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use crate::fixture::Test;
use crate::fixture::files::write;
use crate::fixture::merge::{PLACES, Scene, Target, can_tell};
use crate::fixture::repository::{Format, repository};
use crate::fixture::state::kept;
use crate::fixture::trash::REMOVED;

const FORWARD: &str = "merged 'box' into 'dev': 2 commits, fast-forward\n";

/// A merge of the user's own, in the main checkout: `a` is resolved and staged, `b` is not.
#[track_caller]
fn own_merge(test: &Test) {
    let app = test.app();
    test.git(&["checkout", "--quiet", "-b", "else", "main"]);
    test.commit(&app, "a", "else\n");
    test.commit(&app, "b", "else\n");
    test.git(&["checkout", "--quiet", "dev"]);
    test.commit(&app, "a", "dev\n");
    test.commit(&app, "b", "dev\n");
    let merge = test.command("git", &app).args(["merge", "else"]).output().unwrap();
    assert_eq!(merge.status.code(), Some(1));
    write(&app.join("a"), "resolved\n");
    test.git(&["add", "a"]);
    write(&app.join("b"), "half\n");
}

#[test]
fn a_merge_of_the_users_own_is_left_alone() {
    let scene = Scene::new(Target::Here);
    own_merge(&scene.test);
    let text = "error: cannot merge 'box' into 'dev': a merge is in progress in '$APP'\n\
                hint: git -C $APP status\n";
    for how in [&[][..], &["--squash"], &["--rebase"], &["--dry-run"]] {
        scene.refused(how, text);
    }
    write(&scene.test.app().join("b"), "resolved too\n");
    scene.test.git(&["add", "b"]);
    scene.refused(&[], text);
    scene.test.git(&["commit", "--quiet", "-m", "own"]);
    assert_eq!(scene.test.git(&["show", "dev:a", "dev:b"]), "resolved\nresolved too");
    scene.merges(
        &[],
        &format!("{}{REMOVED}", FORWARD.replace("fast-forward", "with a merge commit")),
    );
}

#[test]
fn a_target_in_the_middle_of_a_rebase_is_left_alone() {
    let scene = Scene::diverged(Target::Here);
    let mut git = scene.test.command("git", &scene.test.app());
    git.env("GIT_SEQUENCE_EDITOR", "sed -i 1ibreak").args(["rebase", "-i", "main"]);
    assert!(git.output().unwrap().status.success());
    for how in [&[][..], &["--squash"], &["--rebase"], &["--dry-run"]] {
        scene.refused(
            how,
            "error: cannot merge 'box' into 'dev': 'dev' is in the middle of a rebase or bisect in \
             '$APP'\n",
        );
    }
}

#[test]
fn conflicts_that_are_there_already_are_left_alone() {
    let scene = Scene::new(Target::Here);
    let app = scene.test.app();
    write(&app.join("a"), "stashed\n");
    scene.test.git(&["stash", "push", "--quiet"]);
    scene.test.commit(&app, "a", "dev\n");
    let pop = scene.test.command("git", &app).args(["stash", "pop"]).output().unwrap();
    assert_eq!(pop.status.code(), Some(1));
    let text = "error: cannot merge 'box' into 'dev': there are unresolved conflicts in '$APP'\n\
                hint: git -C $APP status\n";
    for how in [&[][..], &["--squash"], &["--rebase"], &["--dry-run"]] {
        scene.refused(how, text);
    }
    // One of which the index has a single side.
    let scene = Scene::new(Target::Here);
    let script =
        "printf '100644 %s 3\\tlonely\\n' $(git rev-parse :a) | git update-index --index-info";
    assert!(
        scene
            .test
            .command("sh", &scene.test.app())
            .args(["-c", script])
            .status()
            .unwrap()
            .success()
    );
    for how in [&[][..], &["--squash"], &["--ff-only"], &["--dry-run"]] {
        scene.refused(how, text);
    }
}

#[test]
fn a_target_whose_checkout_is_not_there_is_not_moved() {
    let scene = Scene::new(Target::Sandbox);
    let (dev, away) = (scene.dev.clone().unwrap(), scene.test.home.join("away"));
    fs::rename(&dev, &away).unwrap();
    scene.refused(
        &[],
        "error: cannot merge 'box' into 'dev': it is checked out in '$ROOT/dev', which is not there\n\
         hint: git sandbox rm $ROOT/dev\n",
    );
    fs::rename(&away, &dev).unwrap();
    assert_eq!(scene.test.git_in(&dev, &["status", "--porcelain"]), "");
    scene.merges(&[], &format!("{FORWARD}{REMOVED}"));
}

#[test]
fn another_name_of_a_branch_stands_for_it() {
    let scene = Scene::new(Target::Here);
    scene.test.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/dev"]);
    scene.merges(&["--into", "alias"], &format!("{FORWARD}{REMOVED}"));
    assert_eq!(scene.test.git(&["symbolic-ref", "refs/heads/alias"]), "refs/heads/dev");
}

#[test]
fn tags_of_the_same_names_do_not_matter() {
    for target in PLACES {
        for config in [None, Some("commit.gpgsign")] {
            let scene = Scene::diverged(target);
            scene.test.git(&["tag", "box", "main"]);
            scene.test.git(&["tag", "dev", "main"]);
            if let Some(key) = config {
                // With this it goes through a worktree of its own.
                scene.test.git(&["config", key, "false"]);
            }
            let tips = ["refs/heads/dev", "refs/heads/box"].map(|name| scene.commit(name));
            let how = "merged 'box' into 'dev': 2 commits, with a merge commit\n";
            scene.merges(&["-m", "x"], &format!("{how}{REMOVED}"));
            assert_eq!(
                scene.test.git(&["log", "-1", "--format=%P", "refs/heads/dev"]),
                tips.join(" ")
            );
            assert_eq!(scene.commit("refs/tags/dev"), scene.commit("main"));
        }
    }
}

#[test]
fn merge_ff_does_not_forbid_a_squash_or_a_rebase() {
    for (setting, how, words) in [
        ("only", "--squash", "squashed"),
        ("false", "--squash", "squashed"),
        ("false", "--rebase", "fast-forward"),
    ] {
        for hook in [false, true] {
            let scene = Scene::new(Target::Here);
            scene.test.git(&["config", "merge.ff", setting]);
            if hook {
                scene.test.script("app/.git/hooks/pre-commit", "");
            }
            let text = format!("merged 'box' into 'dev': 2 commits, {words}\n{REMOVED}");
            scene.merges(&[how], &text);
            assert_eq!(scene.test.git(&["rev-list", "--merges", "dev"]), "");
        }
    }
}

#[test]
fn merge_ff_false_and_an_option_of_the_branch_make_a_merge_commit() {
    for target in PLACES {
        let scene = Scene::new(target);
        let key = if target == Target::Here { "branch.dev.mergeOptions" } else { "merge.ff" };
        let value = if target == Target::Here { "--no-ff" } else { "false" };
        scene.test.git(&["config", key, value]);
        let how = "merged 'box' into 'dev': 2 commits, with a merge commit\n";
        scene.merges(&[], &format!("{how}{REMOVED}"));
        assert_eq!(scene.test.git(&["rev-list", "--merges", "--count", "dev"]), "1");
    }
}

#[test]
fn ignored_files_of_the_target_are_not_overwritten() {
    let change = |scene: &Scene, name: &str| {
        write(&scene.path.join(name), "theirs\n");
        scene.test.git_in(&scene.path, &["add", "--force", name]);
        scene.test.git_in(&scene.path, &["commit", "--quiet", "-m", name]);
    };
    // A file, a file in a folder, a file where a folder is to be, a folder where a file is to be.
    for (file, here) in [
        ("x.log", "x.log"),
        ("build/out", "build/out"),
        ("y.log/z", "y.log"),
        ("build", "build/out"),
    ] {
        for (target, how) in [
            (Target::Here, &[][..]),
            (Target::Sandbox, &["--squash"]),
            (Target::Here, &["--rebase"]),
            (Target::Sandbox, &["--rebase", "--dry-run"]),
        ] {
            let scene = Scene::diverged(target);
            change(&scene, file);
            let dev = scene.dev.clone().unwrap();
            write(&dev.join(here), "ignored, but mine\n");
            let text = format!(
                "error: cannot merge 'box' into 'dev': files in '{0}' that git does not track are in \
                 the way: '{here}'\nhint: git -C {0} status --ignored\n",
                dev.display()
            );
            if how.contains(&"--dry-run") && !can_tell(&scene.test) {
                continue;
            }
            scene.refused(how, &text);
            let read = || fs::read_to_string(dev.join(here)).unwrap();
            assert_eq!(read(), "ignored, but mine\n");
        }
    }
    // One that is nowhere near stays.
    let scene = Scene::diverged(Target::Here);
    change(&scene, "build/theirs");
    write(&scene.test.app().join("build/mine"), "ignored\n");
    let text = "merged 'box' into 'dev': 3 commits, with a merge commit\n";
    scene.merges(&[], &format!("{text}{REMOVED}"));
    assert_eq!(fs::read_to_string(scene.test.app().join("build/mine")).unwrap(), "ignored\n");
}

#[test]
fn what_a_rebase_would_overwrite_in_the_sandbox_stays() {
    let scene = Scene::with(Target::Here, |test| {
        write(&test.app().join("x.log"), "theirs\n");
        test.git(&["add", "--force", "x.log"]);
        test.git(&["commit", "--quiet", "-m", "theirs"]);
    });
    write(&scene.path.join("x.log"), "ignored, but mine\n");
    let tip = scene.commit("box");
    let output = scene.test.run(&["merge", "box", "--rebase", "--keep"]).output();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.starts_with("warning: branch 'box' stays at its old commits: "), "{stderr}");
    assert!(output.status.success());
    assert_eq!(fs::read_to_string(scene.path.join("x.log")).unwrap(), "ignored, but mine\n");
    assert_eq!(scene.commit("box"), tip);
    assert_eq!(scene.files("dev"), ["mine", "mine too", "x.log"]);
    scene.is_clean();
}

fn detached(target: Target) -> Scene {
    let scene = Scene::diverged(target);
    scene.test.git_in(&scene.path, &["checkout", "--quiet", "--detach"]);
    scene.test.git(&["branch", "--quiet", "-D", "box"]);
    scene
}

#[test]
fn a_detached_sandbox_needs_a_branch() {
    let scene = detached(Target::Here);
    scene.refused(
        &[],
        "error: cannot merge 'box': it is detached and has no branch\n\
         hint: git sandbox merge box --branch <branch>\n",
    );
    scene.refused(
        &["--branch", "main"],
        "error: cannot merge 'box': branch 'main' exists and is elsewhere\n",
    );
    scene.refused(
        &["--branch", "no..name"],
        "error: 'no..name' is not a valid branch name\n\
         hint: git sandbox merge box --branch no-name\n",
    );
    let tip = scene.test.git_in(&scene.path, &["rev-parse", "HEAD"]);
    for (how, words) in
        [(&["--squash"][..], "squashed"), (&["--rebase"], "rebased"), (&[], "with a merge commit")]
    {
        for target in PLACES {
            let scene = detached(target);
            let text = format!("merged 'box' into 'dev': 2 commits, {words}\n");
            scene.merges(&[&["--branch", "made", "--keep"], how].concat(), &text);
            assert_eq!(
                scene.test.git_in(&scene.path, &["symbolic-ref", "HEAD"]),
                "refs/heads/made"
            );
            let wanted = if words == "rebased" { scene.commit("dev") } else { tip.clone() };
            assert_eq!(scene.commit("made"), wanted);
        }
    }
}

#[test]
fn the_branch_of_a_detached_sandbox_goes_again_if_nothing_was_merged() {
    let scene = Scene::clashing(Target::Here);
    scene.test.git_in(&scene.path, &["checkout", "--quiet", "--detach"]);
    scene.test.git(&["branch", "--quiet", "-D", "box"]);
    for how in [&[][..], &["--squash"], &["--rebase"]] {
        let verb = if how == ["--rebase"] { "rebase" } else { "merge" };
        let text = format!(
            "error: cannot merge 'box' into 'dev': conflict in 'mine'\n\
             hint: resolve it there: git -C $ROOT/box {verb} dev\n"
        );
        scene.refused(&[&["--branch", "made"], how].concat(), &text);
    }
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_is_neither_taken_nor_deleted() {
    let scene = Scene::new(Target::Nowhere);
    scene.test.git_in(&scene.path, &["checkout", "--quiet", "--detach"]);
    scene.test.git(&["checkout", "--quiet", "box"]);
    scene.refused(
        &["--branch", "box", "--delete-branch"],
        "error: cannot merge 'box': branch 'box' is checked out elsewhere\n",
    );
    scene.test.git_in(&scene.path, &["checkout", "--quiet", "--ignore-other-worktrees", "box"]);
    let warning = "warning: branch 'box' stays: another worktree is on it\n";
    let run = scene.test.run(&["merge", "box", "--delete-branch"]);
    run.stderr(&format!("{FORWARD}{REMOVED}{warning}")).code(1);
    scene.is_clean();
}

#[test]
fn a_branch_whose_name_is_not_text_is_left_alone() {
    let scene = Scene::diverged(Target::Nowhere);
    let name = std::ffi::OsStr::from_bytes(b"refs/heads/b\xffx");
    let mut git = scene.test.command("git", &scene.path);
    assert!(git.args(["update-ref"]).arg(name).arg("HEAD").status().unwrap().success());
    let mut git = scene.test.command("git", &scene.path);
    assert!(git.args(["symbolic-ref", "HEAD"]).arg(name).status().unwrap().success());
    for how in [&[][..], &["--rebase"]] {
        scene.refused(how, "error: the branch is not valid UTF-8\n");
    }
}

#[test]
fn what_rerere_resolved_in_a_rebase_is_still_a_conflict() {
    let scene = Scene::clashing(Target::Here);
    let test = &scene.test;
    test.git(&["config", "rerere.enabled", "true"]);
    test.git(&["config", "rerere.autoUpdate", "true"]);
    test.git(&["checkout", "--quiet", "-b", "try"]);
    let merge = test.command("git", &test.app()).args(["merge", "box"]).output().unwrap();
    assert_eq!(merge.status.code(), Some(1));
    test.commit(&test.app(), "mine", "resolved\n");
    test.git(&["checkout", "--quiet", "dev"]);
    scene.refused(
        &["--rebase"],
        "error: cannot merge 'box' into 'dev': conflict in 'mine'\n\
         hint: resolve it there: git -C $ROOT/box rebase dev\n",
    );
}

#[test]
fn a_deleted_branch_comes_back_after_every_sort_of_merge() {
    for (how, words, note) in [
        (&[][..], "with a merge commit", ""),
        (&["--squash"], "squashed", "kept its commits in refs/sandbox/kept/box-ID\n"),
        (&["--rebase"], "rebased", "kept 2 commits only here in refs/sandbox/kept/box-ID\n"),
    ] {
        let scene = Scene::diverged(Target::Nowhere);
        let tip = scene.commit("box");
        let text = format!(
            "merged 'box' into 'dev': 2 commits, {words}\n{REMOVED}{note}deleted branch 'box'\n"
        );
        scene.merges(&[how, &["--delete-branch"]].concat(), &text);
        assert_eq!(scene.test.branches(), ["dev", "main"]);
        scene.test.git(&["reflog", "expire", "--expire=now", "--all"]);
        scene.test.git(&["gc", "--quiet", "--prune=now"]);
        scene.test.git(&["cat-file", "-e", &tip]);
        scene
            .test
            .run(&["restore", "box"])
            .stdout("$ROOT/box\n")
            .stderr("restored 'box'\nre-created branch 'box'\n")
            .ok();
        let wanted = if words == "rebased" { scene.commit("dev") } else { tip.clone() };
        assert_eq!(scene.commit("box"), wanted);
        scene.test.git(&["cat-file", "-e", &tip]);
        scene.is_clean();
        // What its reflog no longer names stays kept.
        assert_eq!(kept(&scene.test).is_empty(), words != "rebased");
    }
}

#[test]
fn a_failed_merge_puts_orig_head_back_in_a_table_too() {
    let Some(test) = repository(Format::Reftable) else { return };
    let scene = Scene::of(test, Target::Here, |test| drop(test.commit(&test.app(), "t", "t\n")));
    scene.test.script("app/.git/hooks/commit-msg", "exit 1");
    for orig_head in [None, Some("main")] {
        if let Some(name) = orig_head {
            scene.test.git(&["update-ref", "ORIG_HEAD", name]);
        }
        scene.refused(
            &[],
            "Not committing merge; use 'git commit' to complete the merge.\n\
             error: cannot merge 'box' into 'dev': git did not commit it, and nothing was changed\n",
        );
    }
}

#[test]
fn a_squash_that_comes_to_nothing_by_an_option_of_the_target_is_none() {
    let scene = Scene::diverged(Target::Here);
    scene.test.git(&["config", "branch.dev.mergeOptions", "-s ours"]);
    let text = "error: cannot merge 'box' into 'dev': nothing to merge, 'dev' has all its changes\n\
                hint: git sandbox rm box\n";
    scene.refused(&["--squash"], text);
}
