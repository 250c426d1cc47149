//! How a finished commit comes into a checkout of the user's, and what is left when it cannot.

use std::fs;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{chmod, write};
use crate::fixture::merge::{Scene, Target};
use crate::fixture::mount::{Mount, alone};
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::without_power;
use crate::fixture::time::set_time;

const FORWARD: &str = "merged 'box' into 'dev': 2 commits, fast-forward\n";

#[test]
fn the_reflogs_and_orig_head_tell_of_it() {
    for target in [Target::Here, Target::Sandbox] {
        let scene = Scene::new(target);
        let (old, dev) = (scene.commit("dev"), scene.dev.clone().unwrap());
        scene.merges(&["--keep"], FORWARD);
        for name in ["HEAD", "dev"] {
            let words = ["reflog", "-1", "--format=%gs", name];
            assert_eq!(scene.test.git_in(&dev, &words), "merge box: Fast-forward");
        }
        assert_eq!(scene.test.git_in(&dev, &["rev-parse", "ORIG_HEAD"]), old);
    }
}

#[test]
fn a_checkout_whose_git_file_leads_through_a_symlink_is_brought_along() {
    let scene = Scene::new(Target::Sandbox);
    let (test, dev) = (&scene.test, scene.dev.clone().unwrap());
    std::os::unix::fs::symlink(test.app(), test.home.join("link")).unwrap();
    let pointer = fs::read_to_string(dev.join(".git")).unwrap();
    let link = test.home.join("link").display().to_string();
    let pointer = pointer.replace(&test.app().display().to_string(), &link);
    fs::write(dev.join(".git"), &pointer).unwrap();
    scene.merges(&["--keep"], FORWARD);
    assert_eq!(fs::read_to_string(dev.join("mine too")).unwrap(), "second\n");
    assert_eq!(test.git_in(&dev, &["status", "--porcelain"]), "");
    assert_eq!(scene.commit("dev"), scene.commit("box"));
    assert_eq!(fs::read_to_string(dev.join(".git")).unwrap(), pointer);
}

#[test]
fn a_checkout_whose_folder_is_another_repositorys_is_not_touched() {
    let scene = Scene::new(Target::Sandbox);
    let (test, dev) = (&scene.test, scene.dev.clone().unwrap());
    fs::rename(&dev, test.home.join("away")).unwrap();
    let name = dev.strip_prefix(&test.home).unwrap().to_string_lossy().into_owned();
    test.init(&name, &[]);
    let (before, branch) = (crate::fixture::files::tree(&dev, &[]), scene.commit("dev"));
    let output = test.run(&["merge", "box"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: cannot merge 'box' into 'dev': "), "{said}");
    assert_eq!(output.status.code(), Some(1));
    same(&crate::fixture::files::tree(&dev, &[]), &before);
    assert_eq!(scene.commit("dev"), branch);
    assert!(scene.path.join("mine").exists());
}

/// As of a git that is killed right after it has moved the branch.
#[test]
fn a_branch_that_moved_although_git_failed_counts_as_merged() {
    for target in [Target::Here, Target::Sandbox] {
        let scene = Scene::new(target);
        let git = scene.test.fake_git(
            "case \" $* \" in *' update-ref -m '*' refs/heads/dev '*)\n\
             \"$GIT\" \"$@\"; exit 1 ;; esac\nexec \"$GIT\" \"$@\"",
        );
        let run = scene.test.program(&scene.test.app(), &["merge", "box", "--keep"]);
        run.env("PATH", git).stderr(FORWARD).ok();
        scene.is_clean();
        scene.nothing_is_left();
        let dev = scene.dev.clone().unwrap();
        assert_eq!(fs::read_to_string(dev.join("mine too")).unwrap(), "second\n");
        assert_eq!(scene.commit("dev"), scene.commit("box"));
    }
}

#[test]
fn a_lock_of_another_git_stops_it_and_stays() {
    let scene = Scene::new(Target::Here);
    let lock = scene.test.app().join(".git/index.lock");
    write(&lock, "theirs\n");
    let before = scene.state();
    let text = "error: cannot merge 'box' into 'dev': another git is at work in '$APP'\n\
                hint: git sandbox merge box\n";
    scene.test.run(&["merge", "box"]).stderr(text).code(1);
    same(&scene.state(), &before);
    assert_eq!(fs::read_to_string(&lock).unwrap(), "theirs\n");
    fs::remove_file(&lock).unwrap();
    scene.nothing_is_left();
    scene.merges(&["--keep"], FORWARD);
}

/// Commits files in `box` of which git writes one, and then fails at another in the middle.
fn with_failing_filter(target: Target) -> Scene {
    let scene = Scene::new(target);
    let test = &scene.test;
    for name in ["dir/c", "deep/er/new", "zz"] {
        write(&scene.path.join(name), "changed\n");
    }
    fs::remove_file(scene.path.join("b")).unwrap();
    write(&scene.path.join("b/inside"), "a folder now\n");
    test.git_in(&scene.path, &["add", "--all"]);
    test.git_in(&scene.path, &["commit", "--quiet", "-m", "more"]);
    write(&test.app().join(".git/info/attributes"), "zz filter=no\n");
    test.git(&["config", "filter.no.smudge", "false"]);
    test.git(&["config", "filter.no.clean", "cat"]);
    test.git(&["config", "filter.no.required", "true"]);
    scene
}

#[test]
fn files_that_were_written_before_it_failed_are_put_back() {
    for target in [Target::Here, Target::Sandbox] {
        let scene = with_failing_filter(target);
        let dev = scene.dev.clone().unwrap();
        write(&dev.join("a"), "staged\n");
        scene.test.git_in(&dev, &["add", "a"]);
        fs::remove_file(dev.join("dir/c")).unwrap();
        let before = scene.state();
        let output = scene.test.run(&["merge", "box"]).output();
        let stderr = String::from_utf8_lossy(&output.stderr);
        // git's own words, which blame no change of the user's.
        assert!(stderr.starts_with("error: cannot merge 'box' into 'dev': "), "{stderr}");
        assert!(stderr.contains("zz") && stderr.contains("filter"), "{stderr}");
        assert_eq!(output.status.code(), Some(1));
        same(&scene.state(), &before);
        scene.nothing_is_left();
    }
}

#[test]
fn a_folder_that_cannot_be_written_to_leaves_everything_as_it_was() {
    let scene = Scene::new(Target::Here);
    let dir = scene.test.app().join("dir");
    write(&scene.path.join("dir/new"), "new\n");
    scene.test.git_in(&scene.path, &["add", "--all"]);
    scene.test.git_in(&scene.path, &["commit", "--quiet", "-m", "more"]);
    chmod(&dir, 0o500);
    let before = scene.state();
    let output = without_power(&scene.test, &scene.test.app(), &["merge", "box"]).output();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.starts_with("error: cannot merge 'box' into 'dev': "), "{stderr}");
    assert_eq!(output.status.code(), Some(1));
    same(&scene.state(), &before);
    chmod(&dir, 0o700);
    scene.nothing_is_left();
}

#[test]
fn a_folder_on_a_file_system_that_cannot_be_written_to_leaves_everything_as_it_was() {
    alone(|| {
        let scene = Scene::new(Target::Here);
        let dir = scene.test.app().join("dir");
        let mount = Mount::on(&dir);
        write(&dir.join("c"), "c\n");
        scene.test.git(&["status"]);
        write(&scene.path.join("dir/c"), "changed\n");
        write(&scene.path.join("dir/new"), "new\n");
        scene.test.git_in(&scene.path, &["add", "--all"]);
        scene.test.git_in(&scene.path, &["commit", "--quiet", "-m", "more"]);
        mount.change("ro");
        let before = scene.state();
        let output = scene.test.run(&["merge", "box"]).output();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.starts_with("error: cannot merge 'box' into 'dev': "), "{stderr}");
        same(&scene.state(), &before);
        mount.change("rw");
        scene.nothing_is_left();
    });
}

#[test]
fn hidden_edits_in_the_way_are_not_overwritten() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let scene = Scene::new(Target::Here);
        let app = scene.test.app();
        scene.test.commit(&scene.path, "a", "changed\n");
        scene.test.git(&["update-index", flag, "a"]);
        write(&app.join("a"), "hidden edit\n");
        let before = scene.state();
        let output = scene.test.run(&["merge", "box"]).output();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.starts_with("error: cannot merge 'box' into 'dev': "), "{stderr}");
        same(&scene.state(), &before);
        assert_eq!(fs::read_to_string(app.join("a")).unwrap(), "hidden edit\n");
    }
}

#[test]
fn uncommitted_changes_in_the_way_are_named() {
    type Change = fn(&Test);
    let changes: [Change; 3] = [
        |test| write(&test.app().join("a"), "edited\n"),
        |test| {
            write(&test.app().join("a"), "staged\n");
            // So that the index alone tells that it is as it was staged.
            set_time(&test.app().join("a"), -1);
            test.git(&["add", "a"]);
        },
        // What the merge would bring, but not yet committed.
        |test| write(&test.app().join("a"), "changed\n"),
    ];
    for change in changes {
        for target in [Target::Here, Target::Sandbox] {
            let scene = Scene::new(target);
            scene.test.commit(&scene.path, "a", "changed\n");
            if target == Target::Here {
                change(&scene.test);
            } else {
                write(&scene.dev.clone().unwrap().join("a"), "edited\n");
            }
            let text = format!(
                "error: cannot merge 'box' into 'dev': uncommitted changes in '{0}' are in the way: \
                 'a'\nhint: git -C {0} status\n",
                scene.dev.clone().unwrap().display()
            );
            for how in [&[][..], &["--squash"], &["--dry-run"]] {
                scene.refused(how, &text);
            }
        }
    }
}

#[test]
fn a_sparse_checkout_gets_only_what_it_wants() {
    let scene = Scene::new(Target::Here);
    let (test, app) = (&scene.test, scene.test.app());
    test.commit(&scene.path, "dir/c", "changed\n");
    test.commit(&scene.path, "other/new", "new\n");
    test.git(&["sparse-checkout", "set", "--cone", "dir"]);
    test.run(&["merge", "box", "--keep"])
        .stderr("merged 'box' into 'dev': 4 commits, fast-forward\n")
        .ok();
    assert_eq!(fs::read_to_string(app.join("dir/c")).unwrap(), "changed\n");
    assert!(!app.join("other").exists());
    assert_eq!(test.git(&["status", "--porcelain"]), "");
    // A merge commit is made of all files, whatever the checkout has.
    test.commit(&app, "theirs", "theirs\n");
    test.commit(&scene.path, "other/more", "more\n");
    test.run(&["merge", "box", "--keep"])
        .stderr("merged 'box' into 'dev': 1 commit, with a merge commit\n")
        .ok();
    assert!(!app.join("other").exists());
    assert_eq!(test.git(&["status", "--porcelain"]), "");
    assert_eq!(test.git(&["ls-tree", "--name-only", "dev:other"]), "more\nnew");
    scene.nothing_is_left();
}

#[test]
fn an_index_of_any_sort_stays_usable() {
    for words in [
        &["update-index", "--split-index"][..],
        &["update-index", "--index-version", "4"],
        &["update-index", "--force-untracked-cache"],
    ] {
        let scene = Scene::diverged(Target::Here);
        scene.test.git(words);
        write(&scene.test.app().join("a"), "staged\n");
        scene.test.git(&["add", "a"]);
        let how = "merged 'box' into 'dev': 2 commits, with a merge commit\n";
        scene.test.run(&["merge", "box", "--keep"]).stderr(how).ok();
        assert_eq!(scene.test.git(&["status", "--porcelain"]), "M  a");
        scene.nothing_is_left();
    }
}

#[test]
fn a_submodule_that_the_branch_moves_is_said() {
    let test = repository(Format::Files).unwrap();
    crate::fixture::work::submodule(&test, &test.app());
    let scene = Scene::of(test, Target::Here, |_| ());
    let test = &scene.test;
    test.git_in(&scene.path, &["submodule", "--quiet", "update", "--init"]);
    test.commit(&test.home.join("lib"), "more", "more\n");
    test.git_in(&scene.path.join("sub"), &["fetch", "--quiet"]);
    test.git_in(&scene.path.join("sub"), &["checkout", "--quiet", "origin/main"]);
    test.git_in(&scene.path, &["commit", "--quiet", "-am", "moved"]);
    let before = test.git_in(&test.app().join("sub"), &["rev-parse", "HEAD"]);
    test.run(&["merge", "box", "--keep"])
        .stderr(
            "submodules have moved: 'sub'\nhint: git -C $APP submodule update\n\
             merged 'box' into 'dev': 3 commits, fast-forward\n",
        )
        .ok();
    assert_eq!(test.git_in(&test.app().join("sub"), &["rev-parse", "HEAD"]), before);
    assert_eq!(test.git(&["status", "--porcelain"]), " M sub");
    test.git(&["submodule", "--quiet", "update"]);
    assert_eq!(test.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_bare_repository_is_merged_in() {
    let test = Test::bare();
    test.init("one", &[]);
    test.git_in(&test.home, &["clone", "--quiet", "--bare", "one", "app"]);
    for how in [&[][..], &["--squash"], &["--rebase"], &["--ff-only"]] {
        let name = format!("box{}", how.concat());
        let path = test.new_sandbox(&[&name]);
        let tip = test.commit(&path, &name, "mine\n");
        let diverged = how != ["--ff-only"];
        if diverged {
            let other = test.new_sandbox(&["main"]);
            test.commit(&other, &format!("theirs{name}"), "theirs\n");
            test.run(&["rm", "main"]).output();
        }
        let output = test.run(&[&["merge", &name], how].concat()).output();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{how:?} {stderr}");
        assert_eq!(test.git(&["show", &format!("main:{name}")]), "mine");
        let has = ["merge-base", "--is-ancestor", &tip, "main"];
        let has = test.command("git", &test.app()).args(has).status().unwrap().success();
        assert_eq!(has, how.is_empty() || !diverged, "{how:?}");
        assert!(!path.exists());
    }
}

#[test]
fn a_target_that_nothing_is_checked_out_of_yet_is_left_alone() {
    let scene = Scene::new(Target::Nowhere);
    let path = scene.test.home.join("empty").display().to_string();
    scene.test.git(&["worktree", "add", "--quiet", "--no-checkout", &path, "dev"]);
    let text = format!(
        "error: cannot merge 'box' into 'dev': nothing is checked out in '{path}' yet\n\
         hint: git -C {path} checkout\n"
    );
    scene.refused(&[], &text);
}

#[test]
fn a_target_that_is_checked_out_twice_is_left_alone() {
    let scene = Scene::new(Target::Here);
    let path = scene.test.home.join("second").display().to_string();
    scene.test.git(&["worktree", "add", "--quiet", "--force", &path, "dev"]);
    let text = format!(
        "error: cannot merge 'box' into 'dev': it is checked out twice, in '$APP' and in '{path}'\n"
    );
    scene.refused(&[], &text);
}

#[test]
fn a_dry_run_and_the_real_run_decide_alike_about_the_branch() {
    for how in [&[][..], &["--squash"], &["--rebase"]] {
        let scene = Scene::diverged(Target::Here);
        let words = [&["merge", "box", "--delete-branch"], how].concat();
        let dry = scene.test.run(&[&words[..], &["--dry-run"]].concat()).output();
        let said = String::from_utf8_lossy(&dry.stderr).into_owned();
        assert!(said.ends_with("would delete branch 'box'\n"), "{said}");
        let real = scene.test.run(&words).output();
        let said = String::from_utf8_lossy(&real.stderr).into_owned();
        assert!(said.ends_with("deleted branch 'box'\n"), "{said}");
        assert_eq!((dry.status.code(), real.status.code()), (Some(0), Some(0)));
    }
    // Another worktree is on the branch: it stays in both.
    let scene = Scene::new(Target::Nowhere);
    scene.test.git(&["checkout", "--quiet", "--ignore-other-worktrees", "box"]);
    let stays = "warning: branch 'box' stays: another worktree is on it\n";
    for more in [&["--dry-run"][..], &[]] {
        let words = [&["merge", "box", "--delete-branch"], more].concat();
        let output = scene.test.run(&words).output();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.ends_with(stays), "{said}");
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn of_many_uncommitted_changes_only_those_in_the_way_are_named() {
    let scene = Scene::new(Target::Here);
    let app = scene.test.app();
    scene.test.commit(&scene.path, "a", "changed\n");
    fs::remove_file(scene.path.join("b")).unwrap();
    scene.test.commit(&scene.path, "b/inside", "a folder now\n");
    for name in ["a", "b", "file"] {
        write(&app.join(name), "edited\n");
    }
    write(&app.join("notes"), "untracked\n");
    let text = "error: cannot merge 'box' into 'dev': uncommitted changes in '$APP' are in the way: \
                'a', 'b'\nhint: git -C $APP status\n";
    scene.refused(&[], text);
}
