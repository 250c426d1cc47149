//! `git sandbox merge`: what comes where, what is said, and what a refusal leaves alone.

use crate::fixture::diff::same;
use crate::fixture::files::{names_in, write};
use crate::fixture::merge::{PLACES, Scene, Target, can_tell};
use crate::fixture::repository::{Format, repository};
use crate::fixture::state::{kept, reflog, state};
use crate::fixture::trash::{REMOVED, trashed};

const KEPT: &str = "kept 2 commits only here in refs/sandbox/kept/box-ID\n";
const BEGINNING: [&str; 2] = ["1 two", "1 one"];

fn merged(how: &str) -> String {
    format!("merged 'box' into 'dev': 2 commits, {how}\n{REMOVED}")
}

fn log(first: &[&str]) -> Vec<String> {
    first.iter().chain(&BEGINNING).map(ToString::to_string).collect()
}

/// The sandbox is in the trash and comes back on its branch.
#[track_caller]
fn comes_back(scene: &Scene) {
    let test = &scene.test;
    assert!(!scene.path.exists());
    assert_eq!(trashed(test).len(), 1);
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    assert_eq!(test.git_in(&scene.path, &["status", "--porcelain"]), "");
    assert_eq!(test.git_in(&scene.path, &["symbolic-ref", "HEAD"]), "refs/heads/box");
}

#[test]
fn a_target_that_stood_still_is_moved_forward() {
    for how in [&[][..], &["--ff-only"], &["--rebase"]] {
        for target in PLACES {
            let scene = Scene::new(target);
            let tip = scene.commit("box");
            scene.merges(how, &merged("fast-forward"));
            assert_eq!(scene.commit("dev"), tip, "{target:?} {how:?}");
            comes_back(&scene);
            assert_eq!(scene.commit("box"), tip);
        }
    }
}

#[test]
fn a_target_with_commits_of_its_own_gets_a_merge_commit() {
    for target in PLACES {
        let scene = Scene::diverged(target);
        let (tip, base) = (scene.commit("box"), scene.commit("dev"));
        scene.merges(&[], &merged("with a merge commit"));
        assert_eq!(scene.commit("dev^1"), base);
        assert_eq!(scene.commit("dev^2"), tip);
        let message = scene.test.git(&["log", "-1", "--format=%B", "dev"]);
        assert_eq!(message, "Merge branch 'box' into dev\n");
        assert_eq!(scene.files("dev"), ["mine", "mine too", "theirs"]);
        comes_back(&scene);
        assert_eq!(scene.commit("box"), tip);
    }
}

#[test]
fn the_message_is_the_users() {
    for message in ["-x", "# not a comment\n\nbut two paragraphs"] {
        for (target, how) in PLACES.into_iter().zip([&[][..], &["--squash"], &[]]) {
            let scene = Scene::diverged(target);
            let words = if how.is_empty() { "with a merge commit" } else { "squashed" };
            let option = format!("--message={message}");
            scene.merges(&[how, &[&option]].concat(), &merged(words));
            let got = scene.test.git(&["log", "-1", "--format=%B", "dev"]);
            assert_eq!(got, format!("{message}\n"), "{target:?}");
        }
    }
}

#[test]
fn a_squash_is_one_commit_with_all_changes() {
    for target in PLACES {
        for (scene, theirs) in [(Scene::new(target), 0), (Scene::diverged(target), 1)] {
            let (tip, base) = (scene.commit("box"), scene.commit("dev"));
            scene.merges(&["--squash"], &merged("squashed"));
            assert_eq!(scene.test.git(&["log", "-1", "--format=%P", "dev"]), base);
            assert_eq!(scene.files("dev"), &["mine", "mine too", "theirs"][..2 + theirs]);
            comes_back(&scene);
            assert_eq!(scene.commit("box"), tip);
        }
    }
}

#[test]
fn a_squash_has_the_message_of_git() {
    let scene = Scene::diverged(Target::Nowhere);
    scene.test.git(&["config", "format.pretty", "oneline"]);
    let twin = scene.test.home.join("twin").display().to_string();
    scene.test.git(&["clone", "--quiet", "--branch=dev", ".", &twin]);
    let twin = scene.test.home.join("twin");
    scene.test.git_in(&twin, &["merge", "--quiet", "--squash", "origin/box"]);
    let wanted = std::fs::read_to_string(twin.join(".git/SQUASH_MSG")).unwrap();
    scene.merges(&["--squash"], &merged("squashed"));
    let got = scene.test.git(&["cat-file", "commit", "dev"]);
    assert_eq!(got.split_once("\n\n").unwrap().1.trim_end(), wanted.trim_end());
}

#[test]
fn a_rebase_puts_new_commits_on_top_and_keeps_the_old_ones() {
    for target in PLACES {
        let scene = Scene::diverged(target);
        let tip = scene.commit("box");
        scene.merges(&["--rebase"], &format!("{}{KEPT}", merged("rebased")));
        assert_eq!(scene.log("dev"), log(&["1 second", "1 first", "1 theirs"]));
        assert_eq!(scene.files("dev"), ["mine", "mine too", "theirs"]);
        assert_eq!(scene.commit("box"), scene.commit("dev"));
        scene.test.git(&["merge-base", "--is-ancestor", &tip, &kept(&scene.test)]);
        comes_back(&scene);
        assert_eq!(scene.commit("box"), scene.commit("dev"));
        // Only a reflog, which expires, has the old commits.
        scene.test.git(&["merge-base", "--is-ancestor", &tip, &kept(&scene.test)]);
        assert!(reflog(&scene.test, &scene.path).contains(&tip));
    }
}

#[test]
fn ff_only_refuses_a_target_with_commits_of_its_own() {
    let text = "error: cannot merge 'box' into 'dev': 'dev' has commits of its own\n\
                hint: git sandbox merge box --rebase\n";
    for target in PLACES {
        let scene = Scene::diverged(target);
        scene.refused(&["--ff-only"], text);
        scene.refused(&["--ff-only", "--dry-run"], text);
        scene.test.git(&["config", "merge.ff", "only"]);
        scene.refused(&[], text);
    }
}

#[test]
fn the_hint_to_rebase_keeps_the_other_options() {
    let scene = Scene::diverged(Target::Here);
    let text = "error: cannot merge 'box' into 'dev': 'dev' has commits of its own\n\
                hint: git sandbox merge box --into dev --delete-branch --rebase\n";
    scene.refused(&["--ff-only", "--into=dev", "--delete-branch"], text);
    // A rebase takes no message.
    scene.test.git(&["config", "merge.ff", "only"]);
    scene.refused(&["--into=dev", "-m", "Bring it", "--delete-branch"], text);
}

#[test]
fn a_conflict_leaves_everything_as_it_was() {
    for target in PLACES {
        let scene = Scene::clashing(target);
        for how in [&[][..], &["--squash"], &["--rebase"]] {
            let verb = if how == ["--rebase"] { "rebase" } else { "merge" };
            let text = format!(
                "error: cannot merge 'box' into 'dev': conflict in 'mine'\n\
                 hint: resolve it there: git -C $ROOT/box {verb} dev\n"
            );
            let text = text.as_str();
            scene.refused(how, text);
            if how != ["--rebase"] && can_tell(&scene.test) {
                scene.refused(&[how, &["--dry-run"]].concat(), text);
            }
        }
    }
}

#[test]
fn a_dry_run_foresees_the_conflict_of_a_single_commit_that_is_rebased() {
    let scene = Scene::clashing(Target::Here);
    scene.test.git_in(&scene.path, &["reset", "--quiet", "--hard", "HEAD~1"]);
    let text = "error: cannot merge 'box' into 'dev': conflict in 'mine'\n\
                hint: resolve it there: git -C $ROOT/box rebase dev\n";
    scene.refused(&["--rebase"], text);
    if can_tell(&scene.test) {
        scene.refused(&["--rebase", "--dry-run"], text);
    }
}

#[test]
fn local_changes_of_the_target_that_are_not_in_the_way_stay() {
    for target in [Target::Here, Target::Sandbox] {
        for how in [&[][..], &["--squash"], &["--rebase"]] {
            let scene = Scene::diverged(target);
            let dev = scene.dev.clone().unwrap();
            write(&dev.join("a"), "edited\n");
            write(&dev.join("new"), "untracked\n");
            let output = scene.test.run(&[&["merge", "box"], how].concat()).output();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{stderr}");
            assert_eq!(scene.files("dev"), ["mine", "mine too", "theirs"]);
            let status = scene.test.git_in(&dev, &["status", "--porcelain"]);
            assert_eq!(status, " M a\n?? new");
            assert_eq!(std::fs::read_to_string(dev.join("a")).unwrap(), "edited\n");
            scene.nothing_is_left();
        }
    }
}

#[test]
fn local_changes_of_the_target_that_are_in_the_way_are_not_touched() {
    for target in [Target::Here, Target::Sandbox] {
        for how in [&[][..], &["--squash"], &["--rebase"], &["--ff-only"]] {
            let ff = how == ["--ff-only"];
            let scene = if ff { Scene::new(target) } else { Scene::diverged(target) };
            let dev = scene.dev.clone().unwrap();
            write(&dev.join("mine"), "untracked\n");
            let before = scene.state();
            let output = scene.test.run(&[&["merge", "box"], how].concat()).output();
            let stderr = String::from_utf8_lossy(&output.stderr);
            let last = format!(
                "error: cannot merge 'box' into 'dev': files in '{0}' that git does not track are in \
                 the way: 'mine'\nhint: git -C {0} status --ignored\n",
                dev.display()
            );
            assert!(stderr.ends_with(&last), "{stderr}");
            assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]));
            same(&scene.state(), &before);
            scene.nothing_is_left();
        }
    }
}

#[test]
fn keep_leaves_the_sandbox() {
    let scene = Scene::diverged(Target::Here);
    let before = state(&scene.test, &scene.path);
    scene.merges(&["--keep"], "merged 'box' into 'dev': 2 commits, with a merge commit\n");
    same(&state(&scene.test, &scene.path), &before);
    scene.refused(
        &[],
        "error: cannot merge 'box' into 'dev': nothing to merge, 'dev' has every commit of it\n\
         hint: git sandbox rm box\n",
    );
}

#[test]
fn after_a_squash_there_is_nothing_to_squash() {
    let scene = Scene::diverged(Target::Nowhere);
    scene.merges(&["--squash", "--keep"], "merged 'box' into 'dev': 2 commits, squashed\n");
    for how in ["--squash", "--rebase"] {
        scene.refused(
            &[how],
            "error: cannot merge 'box' into 'dev': nothing to merge, 'dev' has all its changes\n\
             hint: git sandbox rm box\n",
        );
    }
}

#[test]
fn a_dry_run_says_what_would_be_and_changes_nothing() {
    for (how, words) in
        [(&[][..], "with a merge commit"), (&["--squash"], "squashed"), (&["--rebase"], "rebased")]
    {
        let scene = Scene::diverged(Target::Here);
        let before = scene.state();
        let would = format!("would merge 'box' into 'dev': 2 commits, {words}\n");
        let run =
            |more: &[&str]| scene.test.run(&[&["merge", "box", "--dry-run"], how, more].concat());
        run(&["--keep"]).stderr(&would).ok();
        run(&[]).stderr(&format!("{would}would remove 'box' (nothing to lose)\n")).ok();
        same(&scene.state(), &before);
        assert!(!names_in(&scene.test.app().join(".git")).contains(&"sandbox.merge.lock".into()));
    }
}

#[test]
fn json_says_what_became_of_it() {
    let scene = Scene::diverged(Target::Nowhere);
    let path = scene.path.display().to_string();
    let wanted = |action: &str, removed: bool| {
        serde_json::json!([{
            "name": "box", "path": path, "action": action, "reason": "2 commits, squashed",
            "branch": "box", "into": "dev", "commits": 2, "removed": removed
        }])
    };
    let words = ["merge", "box", "--squash", "--json"];
    let dry = scene.test.json(&[&words[..], &["--dry-run"]].concat());
    assert_eq!(dry, wanted("would-merge", false));
    assert_eq!(scene.test.json(&words), wanted("merged", true));
}

#[test]
fn json_says_why_it_was_refused() {
    let scene = Scene::clashing(Target::Here);
    let commits = (!can_tell(&scene.test)).then_some(2);
    let output = scene.test.run(&["merge", "box", "--json"]).output();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    let wanted = serde_json::json!([{
        "name": "box", "path": scene.path.display().to_string(), "action": "kept",
        "reason": "conflict in 'mine'", "branch": "box", "into": "dev", "commits": commits,
        "removed": false
    }]);
    assert_eq!(answer, wanted);
}

#[test]
fn every_format_of_repository_is_merged() {
    for format in [Format::Reftable, Format::Sha256] {
        for how in [&[][..], &["--squash"], &["--rebase"]] {
            for target in PLACES {
                let Some(test) = repository(format) else { continue };
                let change = |test: &crate::fixture::Test| {
                    test.commit(&test.app(), "theirs", "theirs\n");
                };
                let scene = Scene::of(test, target, change);
                let output = scene.test.run(&[&["merge", "box"], how].concat()).output();
                let stderr = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{stderr}");
                assert_eq!(scene.files("dev"), ["mine", "mine too", "theirs"]);
                scene.is_clean();
                scene.nothing_is_left();
            }
        }
    }
}
