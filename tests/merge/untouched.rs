//! What a merge must leave alone in a checkout of the user's, whatever hooks, settings and the user do
//! at the same moment.

use std::fs;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::donor::age;
use crate::fixture::files::{chmod, write};
use crate::fixture::merge::{Scene, Target};
use crate::fixture::repository::{Format, repository};
use crate::fixture::work::submodule;

const REFUSED: &str = "Not committing merge; use 'git commit' to complete the merge.\n\
     error: cannot merge 'box' into 'dev': git did not commit it, and nothing was changed\n";

/// Every sort of uncommitted work, none of it in the way of `box`.
fn work_in(test: &Test, folder: &std::path::Path) {
    write(&folder.join("a"), "staged\n");
    test.git_in(folder, &["add", "a"]);
    write(&folder.join("a"), "unstaged\n");
    write(&folder.join("b"), "unstaged\n");
    write(&folder.join("new"), "untracked\n");
    write(&folder.join("x.log"), "ignored\n");
    fs::remove_file(folder.join("tool")).unwrap();
}

#[test]
fn a_hook_that_stages_everything_and_refuses_takes_no_uncommitted_work() {
    for target in [Target::Here, Target::Sandbox] {
        for (how, hook) in [(&[][..], "pre-merge-commit"), (&["--squash"], "pre-commit")] {
            let scene = Scene::diverged(target);
            work_in(&scene.test, &scene.dev.clone().unwrap());
            scene.test.script(&format!("app/.git/hooks/{hook}"), "git add -A && exit 1");
            let last = REFUSED.split_once('\n').unwrap().1;
            scene.refused(how, if how.is_empty() { REFUSED } else { last });
        }
    }
}

#[test]
fn a_hook_that_stages_everything_commits_nothing_of_the_users() {
    let scene = Scene::diverged(Target::Here);
    let app = scene.test.app();
    work_in(&scene.test, &app);
    let status = scene.test.git(&["status", "--porcelain"]);
    let hook = "echo formatted >>mine && git add -A";
    scene.test.script("app/.git/hooks/pre-merge-commit", hook);
    scene
        .test
        .run(&["merge", "box", "--keep"])
        .stderr("merged 'box' into 'dev': 2 commits, with a merge commit\n")
        .ok();
    // git itself does not commit what this hook stages.
    assert_eq!(scene.test.git(&["show", "dev:mine"]), "first");
    assert_eq!(scene.files("dev"), ["mine", "mine too", "theirs"]);
    assert_eq!(scene.test.git(&["status", "--porcelain"]), status);
    scene.nothing_is_left();
}

/// A scene with a submodule in the target's checkout and in the sandbox, in which there are edits.
fn with_submodule() -> Scene {
    let test = repository(Format::Files).unwrap();
    submodule(&test, &test.app());
    let scene = Scene::of(test, Target::Here, |test| {
        drop(test.commit(&test.app(), "theirs", "theirs\n"));
    });
    let test = &scene.test;
    test.git_in(&scene.path, &["submodule", "--quiet", "update", "--init"]);
    test.git(&["config", "submodule.recurse", "true"]);
    for folder in [&test.app(), &scene.path] {
        let sub = folder.join("sub");
        test.git_in(&sub, &["checkout", "--quiet", "-B", "work"]);
        write(&sub.join("file"), "edited in the submodule\n");
        write(&sub.join("new"), "untracked\n");
    }
    scene
}

/// The edits in the submodule of a checkout, and its branch.
fn in_submodule(scene: &Scene, folder: &std::path::Path) -> String {
    let sub = folder.join("sub");
    let read = |name: &str| fs::read_to_string(sub.join(name)).unwrap();
    let head = scene.test.git_in(&sub, &["symbolic-ref", "HEAD"]);
    [read("file"), read("new"), head].concat()
}

#[test]
fn submodules_are_left_alone_with_submodule_recurse() {
    for (how, refuses) in
        [(&[][..], true), (&["--squash"], true), (&["--rebase"], false), (&[], false)]
    {
        let scene = with_submodule();
        let folders = [scene.test.app(), scene.path.clone()];
        let before = folders.each_ref().map(|folder| in_submodule(&scene, folder));
        if refuses {
            scene.test.script("app/.git/hooks/commit-msg", "exit 1");
        }
        let output = scene.test.run(&[&["merge", "box", "--keep"], how].concat()).output();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), !refuses, "{stderr}");
        assert_eq!(folders.each_ref().map(|folder| in_submodule(&scene, folder)), before);
        assert_eq!(scene.files("dev").contains(&"mine".to_owned()), !refuses);
    }
}

#[test]
fn a_merge_that_the_user_begins_meanwhile_is_theirs() {
    for how in [&[][..], &["--squash"]] {
        let scene = Scene::diverged(Target::Here);
        let (test, app) = (&scene.test, scene.test.app());
        test.git(&["checkout", "--quiet", "-b", "else", "main"]);
        test.commit(&app, "a", "else\n");
        test.git(&["checkout", "--quiet", "dev"]);
        test.commit(&app, "a", "dev\n");
        let hook = "test -e \"$HOME/once\" && exit; : >\"$HOME/once\"\n\
                    unset $(git rev-parse --local-env-vars); cd \"$HOME/app\"\n\
                    git merge -q else; echo resolved >a; git add a; echo half >b; exit 0";
        test.script("app/.git/hooks/commit-msg", hook);
        let output = test.run(&[&["merge", "box"], how].concat()).output();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let text = format!(
            "error: cannot merge 'box' into 'dev': a merge is in progress in '{0}'\n\
             hint: git -C {0} status\n",
            app.display()
        );
        assert!(stderr.ends_with(&text), "{stderr}");
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(test.git(&["show", ":a"]), "resolved");
        assert_eq!(fs::read_to_string(app.join("b")).unwrap(), "half\n");
        test.git(&["commit", "--quiet", "--message=own"]);
        assert_eq!(test.git(&["show", "dev:a"]), "resolved");
        scene.nothing_is_left();
    }
}

#[test]
fn a_branch_that_the_user_switches_to_meanwhile_gets_nothing() {
    let scene = Scene::diverged(Target::Here);
    let test = &scene.test;
    let (main, dev) = (scene.commit("main"), scene.commit("dev"));
    let hook = "unset $(git rev-parse --local-env-vars); git -C \"$HOME/app\" checkout -q main";
    test.script("app/.git/hooks/commit-msg", hook);
    let text = "error: cannot merge 'box' into 'dev': it has moved meanwhile\n\
                hint: git sandbox merge box\n";
    test.run(&["merge", "box"]).stderr(text).code(1);
    assert_eq!((scene.commit("main"), scene.commit("dev")), (main, dev));
    assert_eq!(test.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    scene.is_clean();
    scene.nothing_is_left();
}

/// A `reference-transaction` hook that does something before `dev` moves.
pub fn before_it_moves(scene: &Scene, what: &str) {
    let hook = format!(
        "test \"$1\" = prepared || exit 0\n\
         while read old new name; do test $name = refs/heads/dev && moves=yes; done\n\
         test -n \"$moves\" || exit 0\n{what}"
    );
    scene.test.script("app/.git/hooks/reference-transaction", &hook);
}

#[test]
fn a_ref_that_a_hook_refuses_to_move_leaves_everything_as_it_was() {
    for target in [Target::Here, Target::Sandbox, Target::Nowhere] {
        for how in [&[][..], &["--ff-only"], &["--squash"], &["--rebase"]] {
            let forward = how == ["--ff-only"];
            let scene = if forward { Scene::new(target) } else { Scene::diverged(target) };
            if let Some(dev) = &scene.dev {
                work_in(&scene.test, dev);
            }
            before_it_moves(&scene, "echo not today >&2; exit 1");
            let before = scene.state();
            let output = scene.test.run(&[&["merge", "box"], how].concat()).output();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(stderr.starts_with("error: cannot merge 'box' into 'dev': "), "{stderr}");
            assert_eq!(output.status.code(), Some(1));
            same(&scene.state(), &before);
            scene.nothing_is_left();
        }
    }
}

#[test]
fn a_change_of_every_sort_is_taken_back() {
    for target in [Target::Here, Target::Sandbox] {
        let scene = Scene::new(target);
        let (test, path) = (&scene.test, &scene.path);
        chmod(&path.join("a"), 0o755);
        fs::remove_file(path.join("b")).unwrap();
        std::os::unix::fs::symlink("a", path.join("b")).unwrap();
        fs::remove_file(path.join("dir/c")).unwrap();
        test.git_in(path, &["commit", "--quiet", "--all", "-m", "every sort"]);
        before_it_moves(&scene, "echo not today >&2; exit 1");
        let before = scene.state();
        let output = test.run(&["merge", "box"]).output();
        let stderr = String::from_utf8_lossy(&output.stderr);
        // git's own words, which are others in newer ones.
        let wanted = [
            "ref updates aborted by hook",
            "in 'prepared' phase, update aborted by the reference-transaction hook",
        ];
        let wanted = wanted.map(|why| format!("error: cannot merge 'box' into 'dev': {why}\n"));
        assert!(wanted.iter().any(|wanted| stderr == *wanted), "{stderr}");
        assert_eq!(output.status.code(), Some(1));
        same(&scene.state(), &before);
        scene.nothing_is_left();
        fs::remove_file(test.app().join(".git/hooks/reference-transaction")).unwrap();
        scene.merges(&["--keep"], "merged 'box' into 'dev': 3 commits, fast-forward\n");
    }
}

#[test]
fn while_it_lands_other_gits_fail_cleanly_and_a_switch_is_not_overrun() {
    let scene = Scene::new(Target::Here);
    let app = scene.test.app();
    let hook = "unset $(git rev-parse --local-env-vars); cd \"$HOME/app\"\n\
                for words in 'add a' 'checkout -q main' 'stash' 'reset -q --hard' 'commit -qam x' \
                'rm -q a' 'merge -q main'; do git $words && echo $words >>\"$HOME/went\"; done\nexit 0";
    before_it_moves(&scene, hook);
    write(&app.join("a"), "edited\n");
    let forward = "merged 'box' into 'dev': 2 commits, fast-forward\n";
    scene.test.run(&["merge", "box", "--keep"]).stderr(forward).ok();
    let went = fs::read_to_string(scene.test.home.join("went")).unwrap_or_default();
    // Only what changes nothing goes through.
    assert_eq!(went.replace("merge -q main\n", ""), "");
    assert_eq!(scene.test.git(&["status", "--porcelain"]), " M a");
    assert_eq!(scene.commit("dev"), scene.commit("box"));
}

#[test]
fn a_head_that_is_moved_behind_gits_back_keeps_its_files() {
    let scene = Scene::new(Target::Here);
    before_it_moves(&scene, "echo 'ref: refs/heads/main' >\"$HOME/app/.git/HEAD\"");
    let forward = "merged 'box' into 'dev': 2 commits, fast-forward\n";
    scene.merges(&["--keep"], forward);
    assert_eq!(scene.commit("dev"), scene.commit("box"));
    assert_eq!(scene.test.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert!(!scene.test.app().join("mine").exists());
}

#[test]
fn an_ignored_file_where_a_renamed_folder_puts_one_is_not_overwritten() {
    let scene = Scene::with(Target::Here, |test| {
        test.git(&["mv", "dir", "moved"]);
        test.git(&["commit", "--quiet", "-m", "theirs"]);
    });
    let test = &scene.test;
    test.git(&["config", "merge.directoryRenames", "true"]);
    write(&scene.path.join("dir/x.log"), "theirs\n");
    test.git_in(&scene.path, &["add", "--force", "dir/x.log"]);
    test.git_in(&scene.path, &["commit", "--quiet", "-m", "log"]);
    write(&test.app().join("moved/x.log"), "ignored, but mine\n");
    let text = "error: cannot merge 'box' into 'dev': files in '$APP' that git does not track are in \
                the way: 'moved/x.log'\nhint: git -C $APP status --ignored\n";
    for how in [&[][..], &["--squash"]] {
        scene.refused(how, text);
    }
    assert_eq!(fs::read_to_string(test.app().join("moved/x.log")).unwrap(), "ignored, but mine\n");
}

#[test]
fn an_operation_in_progress_in_the_target_is_left_alone() {
    type Begin = fn(&Test);
    let operations: [(&str, Begin); 5] = [
        ("cherry-pick", |test| {
            let pick = test.command("git", &test.app()).args(["cherry-pick", "else"]).output();
            assert_eq!(pick.unwrap().status.code(), Some(1));
        }),
        ("revert", |test| {
            test.git(&["revert", "--no-commit", "HEAD"]);
        }),
        // A series whose next step this git would not understand either.
        ("cherry-pick or revert", |test| {
            write(&test.app().join(".git/sequencer/todo"), "later 1234567 side\n");
        }),
        ("squash", |test| {
            test.git(&["merge", "--squash", "side"]);
        }),
        ("bisect", |test| {
            test.git(&["bisect", "start"]);
        }),
    ];
    for (what, begin) in operations {
        let scene = Scene::new(Target::Here);
        let (test, app) = (&scene.test, scene.test.app());
        for (branch, file) in [("else", "a"), ("side", "b")] {
            test.git(&["checkout", "--quiet", "-b", branch, "main"]);
            test.commit(&app, file, "else\n");
        }
        test.git(&["checkout", "--quiet", "dev"]);
        test.commit(&app, "a", "dev\n");
        begin(test);
        let text = format!(
            "error: cannot merge 'box' into 'dev': a {what} is in progress in '$APP'\n\
             hint: git -C $APP status\n"
        );
        for how in [&[][..], &["--squash"], &["--rebase"], &["--dry-run"]] {
            scene.refused(how, &text);
        }
    }
}

/// Git looks into such a file because its index is not newer. A copy of the index must not look newer.
#[test]
fn an_edit_in_the_second_of_the_index_is_not_written_over() {
    let scene = Scene::new(Target::Here);
    let (test, file) = (&scene.test, scene.test.app().join("a"));
    test.commit(&scene.path, "a", "of the box\n");
    age(&file);
    test.git(&["update-index", "-q", "--refresh"]);
    age(&test.app().join(".git/index"));
    write(&file, "z\n");
    age(&file);
    assert_eq!(test.git(&["--no-optional-locks", "status", "--porcelain"]), " M a");
    scene.refused(
        &[],
        "error: cannot merge 'box' into 'dev': uncommitted changes in '$APP' are in the way: 'a'\n\
         hint: git -C $APP status\n",
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "z\n");
}
