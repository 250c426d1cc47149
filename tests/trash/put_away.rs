//! The trash is emptied of what has nothing to lose, and of nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::hostile::{nothing_ran, set_long_filter, set_traps};
use crate::in_use::Sleeper;
use crate::removal::{Format, collect_garbage, entry, kept, repository, same, state, trashed};
use crate::repo::{Test, chmod, tree, write};
use crate::rm_places::Mount;
use crate::stale::{
    id_of, kib, only_one, reap, room, set_time, succeeds, summary, wait_for_trash, wait_until,
};
use crate::work::{commit, submodule};

/// With a sandbox `box`, filled and removed, and one called `young` that stays.
fn removed(fill: impl FnOnce(&Test, &Path)) -> Test {
    let test = repository(Format::Files).unwrap();
    write(&test.app().join(".git/info/exclude"), ".env*\n*.data\n");
    set_time(&test.new_sandbox(&["young"]), 80);
    let path = test.new_sandbox(&["box"]);
    fill(&test, &path);
    succeeds(test.run(&["rm", "--force", "box"]));
    test
}

/// Purges it on a day: says so, and it is gone; its neighbour and the branches are not.
fn goes(test: &Test, days: i64, words: &[&str], why: &str) {
    let (young, branches) = (state(test, &test.at("young")), test.git(&["for-each-ref"]));
    let freed = room(&only_one(test).join("tree"));
    reap(test, days, words)
        .stdout(&format!("box-ID: purged: {why}\n"))
        .stderr(&summary(0, 0, 1, freed))
        .ok();
    wait_for_trash(test, 0);
    wait_until("the entry is gone", || !test.app().join(".git/worktrees/box").exists());
    assert_eq!(test.linked(), [test.at("young").to_string_lossy()]);
    same(&state(test, &test.at("young")), &young);
    assert_eq!(test.git(&["for-each-ref"]), branches);
    test.run(&["restore"]).stderr("nothing to bring back\n").ok();
}

/// Stays, with its reason and its size, unless it is named; and can be brought back till then.
fn stays(test: &Test, reason: &str) {
    let item = only_one(test);
    let size = kib(room(&item.join("tree")));
    let before = tree(&test.home, &["sandbox.lock"]);
    for words in [&[][..], &["--purge"], &["--dry-run"], &["--purge", "--dry-run"]] {
        reap(test, 15, words)
            .stdout(&format!("box-ID: kept in the trash: {reason}, {size}\n"))
            .stderr(&summary(0, 1, 0, 0))
            .ok();
        same(&tree(&test.home, &["sandbox.lock"]), &before);
    }
    succeeds(test.run(&["restore", "box"]));
    succeeds(test.run(&["rm", "--force", "box"]));
    goes(test, 15, &["--purge", "box"], "asked for");
}

#[test]
fn what_is_past_its_period_and_has_nothing_to_lose_goes() {
    let test = removed(|_, _| ());
    let before = tree(&test.home, &["sandbox.lock"]);
    reap(&test, 13, &[]).stderr(&summary(0, 0, 0, 0)).ok();
    same(&tree(&test.home, &["sandbox.lock"]), &before);
    goes(&test, 14, &[], "in the trash for 14 days");
}

#[test]
fn the_kept_ref_stays() {
    let test = removed(|test, path| {
        test.git_in(path, &["checkout", "--quiet", "--detach"]);
        commit(test, path, "a", "mine\n");
    });
    let name = kept(&test);
    assert!(name.starts_with("refs/sandbox/kept/box-"), "{name}");
    goes(&test, 15, &[], "in the trash for 15 days");
    collect_garbage(&test);
    assert_eq!(kept(&test), name);
    assert_eq!(test.git(&["show", &format!("{name}^:a")]), "mine");
}

#[test]
fn uncommitted_changes_stay() {
    stays(
        &removed(|_, path| {
            write(&path.join("a"), "edited\n");
            write(&path.join("new"), "new\n");
        }),
        "2 uncommitted changes",
    );
}

#[test]
fn a_hidden_edit_stays() {
    stays(
        &removed(|test, path| {
            test.git_in(path, &["update-index", "--assume-unchanged", "a"]);
            write(&path.join("a"), "hidden\n");
        }),
        "1 hidden edit",
    );
}

#[test]
fn an_operation_stays() {
    stays(
        &removed(|test, path| drop(test.git_in(path, &["bisect", "start", "--no-checkout"]))),
        "bisect in progress",
    );
}

#[test]
fn a_nested_repository_with_work_stays() {
    stays(
        &removed(|test, path| {
            let nested = path.join("build/nested");
            test.init(nested.strip_prefix(&test.home).unwrap().to_str().unwrap(), &[]);
        }),
        "unsaved work in 'build/nested'",
    );
}

#[test]
fn work_in_a_submodule_stays() {
    stays(
        &removed(|test, path| {
            submodule(test, path);
            write(&path.join("sub/new"), "mine\n");
        }),
        "unsaved work in 'sub'",
    );
}

#[test]
fn a_precious_file_stays() {
    stays(&removed(|_, path| write(&path.join("dir/.env.dev"), "SECRET=1\n")), "1 precious file");
}

#[test]
fn a_copy_that_was_changed_stays() {
    let test = removed(|test, path| {
        write(&test.app().join(".env"), "SECRET=1\n");
        write(&path.join(".env"), "SECRET=2\n");
    });
    stays(&test, "1 precious file");
}

#[test]
fn a_copy_stays_once_the_main_worktree_has_lost_it() {
    let test = removed(|test, path| {
        write(&test.app().join(".env"), "SECRET=1\n");
        write(&path.join(".env"), "SECRET=1\n");
    });
    fs::remove_file(test.app().join(".env")).unwrap();
    stays(&test, "1 precious file");
}

#[test]
fn copies_that_nobody_changed_and_build_output_do_not_hold_it_up() {
    let test = removed(|test, path| {
        write(&test.app().join(".env"), "SECRET=1\n");
        write(&path.join(".env"), "SECRET=1\n");
        write(&path.join("build/.env"), "SECRET=2\n");
        write(&path.join("build/deep/server.key"), "key\n");
        write(&path.join("x.log"), "log\n");
        fs::create_dir(path.join("empty")).unwrap();
    });
    goes(&test, 15, &[], "in the trash for 15 days");
    assert_eq!(fs::read_to_string(test.app().join(".env")).unwrap(), "SECRET=1\n");
}

#[test]
fn commits_of_a_branch_do_not_hold_it_up() {
    let test = removed(|test, path| commit(test, path, "a", "mine\n"));
    goes(&test, 15, &[], "in the trash for 15 days");
    assert_eq!(test.git(&["show", "box:a"]), "mine");
}

#[test]
fn config_says_what_is_precious() {
    let fill = |_: &Test, path: &Path| {
        write(&path.join("x.data"), "data\n");
        write(&path.join("dir/y.log"), "log\n");
        write(&path.join("z.log"), "log\n");
        write(&path.join(".env"), "SECRET=1\n");
    };
    let test = removed(fill);
    test.git(&["config", "--add", "sandbox.precious", "*.data"]);
    test.git(&["config", "--add", "sandbox.precious", "/z.*"]);
    stays(&test, "2 precious files");
    let test = removed(fill);
    test.git(&["config", "sandbox.precious", "*.nothing"]);
    goes(&test, 15, &[], "in the trash for 15 days");
}

#[test]
fn config_says_how_long_the_trash_is_kept() {
    let test = removed(|_, _| ());
    test.git(&["config", "sandbox.trashExpiryDays", "never"]);
    reap(&test, 80, &[]).stderr(&summary(0, 0, 0, 0)).ok();
    test.git(&["config", "sandbox.trashExpiryDays", "81"]);
    reap(&test, 80, &[]).stderr(&summary(0, 0, 0, 0)).ok();
    assert_eq!(trashed(&test).len(), 1);
    test.git(&["config", "sandbox.trashExpiryDays", "2"]);
    goes(&test, 2, &[], "in the trash for 2 days");
    let test = removed(|_, _| ());
    test.git(&["config", "sandbox.trashExpiryDays", "0"]);
    goes(&test, 0, &[], "in the trash for 0 days");
}

#[test]
fn a_clock_set_back_empties_nothing() {
    let test = removed(|_, _| ());
    reap(&test, -100, &[]).stderr(&summary(0, 0, 0, 0)).ok();
    assert_eq!(trashed(&test).len(), 1);
}

#[test]
fn purge_alone_empties_at_once_and_retires_nothing() {
    let test = removed(|_, _| ());
    set_time(&test.at("young"), -200);
    goes(&test, 0, &["--purge"], "asked for");
}

#[test]
fn purge_takes_an_id() {
    let test = removed(|_, path| write(&path.join("new"), "mine\n"));
    let first = only_one(&test);
    test.new_sandbox(&["box"]);
    write(&test.at("box/new"), "mine too\n");
    succeeds(test.run(&["rm", "--force", "box"]));
    let freed = room(&first.join("tree"));
    reap(&test, 0, &["--purge", &id_of(&first)])
        .stdout("box-ID: purged: asked for\n")
        .stderr(&summary(0, 0, 1, freed))
        .ok();
    wait_for_trash(&test, 1);
    assert!(!first.exists());
    assert_eq!(fs::read_to_string(only_one(&test).join("tree/new")).unwrap(), "mine too\n");
}

#[test]
fn purge_of_what_is_not_there_is_an_error() {
    let test = removed(|_, path| write(&path.join("new"), "mine\n"));
    let before = tree(&test.home, &["sandbox.lock"]);
    reap(&test, 0, &["--purge", "young"])
        .stderr(
            "error: no removed sandbox is called 'young'\n\
             hint: 'git sandbox restore' lists what can be brought back\n",
        )
        .code(1);
    same(&tree(&test.home, &["sandbox.lock"]), &before);
}

#[test]
fn what_symlinks_lead_to_is_untouched() {
    let test = removed(|test, path| {
        write(&test.home.join("victim/dir/file"), "precious\n");
        fs::create_dir(path.join("build")).unwrap();
        symlink(test.home.join("victim"), path.join("build/folder")).unwrap();
        symlink(test.home.join("victim/dir/file"), path.join("build/file")).unwrap();
        symlink("../../../../../../victim", path.join("build/relative")).unwrap();
        symlink("/", path.join("build/everything")).unwrap();
    });
    let victim = tree(&test.home.join("victim"), &[]);
    goes(&test, 15, &[], "in the trash for 15 days");
    assert_eq!(tree(&test.home.join("victim"), &[]), victim);
    assert!(test.app().join("a").exists());
}

#[test]
fn hard_links_elsewhere_are_untouched() {
    let test = removed(|test, path| {
        write(&test.home.join("victim"), "precious\n");
        fs::create_dir(path.join("build")).unwrap();
        fs::hard_link(test.home.join("victim"), path.join("build/link")).unwrap();
        chmod(&test.home.join("victim"), 0o400);
    });
    goes(&test, 15, &[], "in the trash for 15 days");
    assert_eq!(fs::read_to_string(test.home.join("victim")).unwrap(), "precious\n");
}

#[test]
fn read_only_folders_do_not_stop_it() {
    let test = removed(|_, path| {
        write(&path.join("build/a/b/file"), "built\n");
        chmod(&path.join("build/a/b/file"), 0o400);
        chmod(&path.join("build/a/b"), 0o500);
        chmod(&path.join("build/a"), 0o500);
    });
    goes(&test, 15, &[], "in the trash for 15 days");
}

#[test]
fn a_mount_inside_is_refused() {
    let test = removed(|_, path| fs::create_dir_all(path.join("build/mount")).unwrap());
    let item = only_one(&test);
    let Some(mount) = Mount::on(&item.join("tree/build/mount")) else { return };
    let inside = item.join("tree/build/mount");
    write(&inside.join("dir/file"), "mounted\n");
    let before = tree(&item, &[]);
    for words in [&[][..], &["--purge"], &["--purge", "box"]] {
        let output = reap(&test, 15, words).output();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("mount") && !said.contains(": purged: "), "{words:?}: {said}");
        same(&tree(&item, &[]), &before);
    }
    drop(mount);
    goes(&test, 15, &[], "in the trash for 15 days");
}

#[test]
fn a_mount_that_comes_later_is_not_entered() {
    let test = removed(|_, path| fs::create_dir_all(path.join("build/mount")).unwrap());
    let item = only_one(&test);
    // Marked, and killed before it deletes.
    let output = reap(&test, 15, &[]).env("GIT_SANDBOX_CRASH_AT", "1").output();
    assert_eq!(output.status.code(), Some(128 + 9));
    let Some(mount) = Mount::on(&item.join("tree/build/mount")) else { return };
    write(&item.join("tree/build/mount/dir/file"), "mounted\n");
    let output = reap(&test, 15, &["--finish"]).output();
    assert_eq!(output.status.code(), Some(1));
    let file = item.join("tree/build/mount/dir/file");
    assert_eq!(fs::read_to_string(file).unwrap(), "mounted\n");
    drop(mount);
    reap(&test, 15, &["--finish"]).ok();
    assert!(trashed(&test).is_empty());
    assert_eq!(test.linked(), [test.at("young").to_string_lossy()]);
}

#[test]
fn one_that_somebody_sits_in_stays() {
    let test = removed(|_, path| write(&path.join("build/out"), "built\n"));
    let user = Sleeper::start(&only_one(&test).join("tree/build"), Stdio::null());
    let before = tree(&test.home, &["sandbox.lock"]);
    let size = kib(room(&only_one(&test).join("tree")));
    reap(&test, 15, &[])
        .stdout(&format!("box-ID: kept in the trash: in use by {} sleep, {size}\n", user.pid()))
        .stderr(&summary(0, 1, 0, 0))
        .ok();
    same(&tree(&test.home, &["sandbox.lock"]), &before);
}

/// A submodule with every trap in its config, and another checkout where its sandbox stood.
fn with_trapped_submodule(dirty: bool) -> (Test, PathBuf) {
    let mut git_dir = PathBuf::new();
    let test = removed(|test, path| {
        submodule(test, path);
        let sub = path.join("sub");
        git_dir = entry(test, &sub);
        set_traps(test, &git_dir, &sub);
        set_long_filter(test, &sub);
        if !dirty {
            fs::remove_file(sub.join(".gitattributes")).unwrap();
            fs::write(sub.join("file"), "one\n").unwrap();
        }
    });
    // What git would read there is not what was removed.
    write(&test.at("box/sub/.gitattributes"), "* filter=trap\n");
    write(&test.at("box/sub/file"), "two\n");
    write(&test.at("box/sub/.git"), &format!("gitdir: {}\n", git_dir.display()));
    let old = test.at("box");
    (test, old)
}

#[test]
fn git_never_runs_in_a_submodule_of_the_trash() {
    for dirty in [false, true] {
        let (test, old) = with_trapped_submodule(dirty);
        let there = tree(&old, &[]);
        for words in [&["--dry-run"][..], &["--purge", "--dry-run"], &[], &["--purge"]] {
            succeeds(reap(&test, 15, words));
            nothing_ran(&test, &words.join(" "));
        }
        // What could start a program is not asked: it may be work, and goes only by its name.
        assert_eq!(trashed(&test).len(), 1);
        succeeds(reap(&test, 15, &["--purge", "box"]));
        wait_for_trash(&test, 0);
        nothing_ran(&test, "purge");
        same(&tree(&old, &[]), &there);
    }
}

#[test]
fn a_name_that_means_several_is_refused_and_across_repositories_only_an_id_counts() {
    let test = removed(|_, _| ());
    succeeds(reap(&test, 15, &["--all", "--purge", "box"]));
    assert_eq!(trashed(&test).len(), 1);
    test.new_sandbox(&["box"]);
    succeeds(test.run(&["rm", "--force", "box"]));
    let output = reap(&test, 15, &["--purge", "box"]).output();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("error: 'box' could be more than one sandbox\nhint: it could be box-")
    );
    assert_eq!(trashed(&test).len(), 2);
}
