//! Purge and reap where something cannot be read, or cannot be deleted: doubt means keep.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{chmod, tree, write};
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::{succeeds, without_power};
use crate::fixture::state::{private_anywhere, state};
use crate::fixture::time::{after, set_time, set_times};
use crate::fixture::tools::not_as_this_user;
use crate::fixture::trash::{only_one, trashed};

/// A sandbox with a repository that has work in it, in an ignored folder that cannot be read.
fn unreadable() -> Test {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let nested = path.join("build/closed/nested");
    test.init(nested.strip_prefix(&test.home).unwrap().to_str().unwrap(), &[]);
    set_times(&path, 0);
    chmod(&path.join("build/closed"), 0);
    test
}

#[test]
fn reap_keeps_a_sandbox_with_a_folder_that_cannot_be_read() {
    let test = unreadable();
    let run = without_power(&test, &test.app(), &["reap"]).env("GIT_SANDBOX_NOW", after(94));
    let output = run.output();
    let said = String::from_utf8(output.stdout).unwrap();
    chmod(&test.at("box/build/closed"), 0o755);
    assert!(said.starts_with("box: kept: cannot tell: "), "{said}");
    assert!(test.at("box/build/closed/nested/file").exists());
}

#[test]
fn what_could_not_be_read_when_it_was_removed_stays_in_the_trash() {
    let test = unreadable();
    succeeds(without_power(&test, &test.app(), &["rm", "--force", "box"]));
    let closed = only_one(&test).join("tree/build/closed");
    chmod(&closed, 0o755);
    let before = tree(&closed, &[]);
    for words in [&["reap", "--purge", "--dry-run"][..], &["reap"], &["reap", "--purge"]] {
        let run = without_power(&test, &test.app(), words).env("GIT_SANDBOX_NOW", after(15));
        let said = String::from_utf8(run.output().stdout).unwrap();
        assert!(!said.contains(": put away: "), "{words:?}: {said}");
        same(&tree(&closed, &[]), &before);
    }
}

#[test]
fn read_only_folders_do_not_stop_their_owner() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("build/a/b/file"), "built\n");
    for (name, mode) in [("build/a/b/file", 0o400), ("build/a/b", 0o500), ("build/a", 0o500)] {
        chmod(&path.join(name), mode);
    }
    succeeds(without_power(&test, &test.app(), &["rm", "box"]));
    succeeds(without_power(&test, &test.app(), &["reap", "--purge"]));
    crate::fixture::trash::wait_for_trash(&test, 0);
    assert!(!path.exists());
}

#[test]
fn an_orphan_that_cannot_be_read_is_left() {
    let test = unreadable();
    let path = test.at("box");
    fs::rename(test.app(), test.home.join("moved")).unwrap();
    set_time(&path, 0);
    for words in [&["reap", "--all"][..], &["reap", "--all", "--force"]] {
        let run = without_power(&test, &test.home, words).env("GIT_SANDBOX_NOW", after(500));
        succeeds(run);
        assert!(path.exists() && trashed(&test).is_empty());
    }
    chmod(&path.join("build/closed"), 0o755);
    assert!(path.join("build/closed/nested/file").exists());
}

#[test]
fn one_with_a_mount_in_it_is_not_purged() {
    crate::fixture::mount::alone(|| {
        let test = Test::new();
        test.new_sandbox(&["box"]);
        succeeds(test.run(&["rm", "box"]));
        let item = crate::fixture::trash::only_one(&test);
        let mount = crate::fixture::mount::Mount::on(&item.join("tree/mount"));
        write(&mount.0.join("file"), "mounted\n");
        let output = test.run(&["reap", "--purge", "box"]).output();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("something is mounted at '"), "{said}");
        assert_eq!(output.status.code(), Some(1));
        assert!(mount.0.join("file").exists() && item.join("tree/file").exists());
    });
}

#[test]
fn an_ignored_repository_that_others_are_worktrees_of_is_work() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let (app, clone) = (test.app().display().to_string(), path.join("build/clone"));
    test.git_in(&path, &["clone", "--quiet", &app, "build/clone"]);
    let linked = test.home.join("linked");
    let add = ["worktree", "add", "--quiet", "--detach", &linked.display().to_string()];
    test.git_in(&clone, &add);
    write(&linked.join("staged"), "staged only here\n");
    test.git_in(&linked, &["add", "staged"]);
    fs::remove_file(linked.join("staged")).unwrap();
    let said = "error: cannot remove 'box': unsaved work in 'build/clone'\n\
                hint: to move it to the trash as it is: git sandbox rm --force box\n";
    test.run(&["rm", "box"]).stderr(said).code(1);
    succeeds(test.run(&["rm", "--force", "box"]));
    test.run(&["reap", "--purge"]).output();
    assert!(only_one(&test).join("tree/build/clone/.git/worktrees/linked/index").exists());
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(test.git_in(&linked, &["show", ":staged"]), "staged only here");
}

/// Lets nobody delete a file, or lets them again; false where this file system or user cannot.
fn holds(path: &std::path::Path, held: bool) -> bool {
    let word = if held { "+i" } else { "-i" };
    let done = std::process::Command::new("chattr").arg(word).arg(path).output();
    done.is_ok_and(|done| done.status.success())
}

#[test]
fn what_was_deleted_in_part_comes_back_whole() {
    let parts: [fn(&Test) -> std::path::PathBuf; 2] = [
        |test| only_one(test).join("tree/staged"),
        |test| private_anywhere(&test.app(), "box").join("index"),
    ];
    for part in parts {
        for again in [false, true] {
            let test = repository(Format::Files).unwrap();
            let path = test.new_sandbox(&["box"]);
            write(&path.join("staged"), "staged\n");
            test.git_in(&path, &["add", "staged"]);
            write(&path.join("untracked"), "untracked\n");
            let before = state(&test, &path);
            succeeds(test.run(&["rm", "--force", "box"]));
            let file = part(&test);
            if !holds(&file, true) {
                return;
            }
            let said = test.run(&["reap", "--purge"]).output();
            if again {
                test.run(&["reap", "--purge"]).output();
            }
            holds(&file, false);
            let said = String::from_utf8(said.stdout).unwrap();
            assert!(said.contains(": kept in the trash: cannot delete '"), "{said}");
            succeeds(test.run(&["restore", "box"]));
            same(&state(&test, &path), &before);
            assert!(trashed(&test).is_empty());
        }
    }
}

/// A removed sandbox with a file in a folder of another user's, as a container leaves it.
fn foreign(mode: u32) -> Option<(Test, String)> {
    const OTHER: Option<u32> = Some(1234);
    let test = repository(Format::Files).unwrap();
    if !test.am_root() {
        not_as_this_user("a file of another user");
        return None;
    }
    let path = test.new_sandbox(&["box"]);
    write(&path.join("mine"), "mine\n");
    write(&path.join("theirs/file"), "theirs\n");
    chmod(&path.join("theirs"), mode);
    for name in ["theirs", "theirs/file"] {
        chown(path.join(name), OTHER, OTHER).unwrap();
    }
    let before = tree(&path, &[".git"]);
    succeeds(test.run(&["rm", "--force", "box"]));
    Some((test, before))
}

#[test]
fn what_lies_in_a_folder_of_another_user_keeps_all_of_it_in_the_trash() {
    let Some((test, before)) = foreign(0o755) else { return };
    let output = without_power(&test, &test.app(), &["reap", "--purge"]).output();
    let said = String::from_utf8(output.stdout).unwrap();
    let why = ": kept in the trash: cannot delete 'tree/theirs': permission denied, ";
    assert!(said.contains(why), "{said}");
    same(&tree(&only_one(&test).join("tree"), &[".git"]), &before);
    succeeds(without_power(&test, &test.app(), &["restore", "box"]));
    same(&tree(&test.at("box"), &[".git"]), &before);
}

#[test]
fn what_another_user_has_left_after_a_deletion_does_not_stop_a_restore() {
    // Everybody may write there, but delete only what is their own.
    let Some((test, before)) = foreign(0o1777) else { return };
    let output = without_power(&test, &test.app(), &["reap", "--purge"]).output();
    let said = String::from_utf8(output.stdout).unwrap();
    let why = ": kept in the trash: cannot delete 'tree/theirs/file': operation not permitted, ";
    assert!(said.contains(why), "{said}");
    assert!(!only_one(&test).join("tree/mine").exists(), "nothing was deleted");
    succeeds(without_power(&test, &test.app(), &["restore", "box"]));
    same(&tree(&test.at("box"), &[".git"]), &before);
    assert_eq!(fs::metadata(test.at("box/theirs")).unwrap().uid(), 1234);
    assert!(trashed(&test).is_empty());
}

#[test]
fn what_another_user_has_in_an_ignored_folder_is_told_of_and_all_else_comes_back() {
    const OTHER: Option<u32> = Some(1234);
    let test = repository(Format::Files).unwrap();
    if !test.am_root() {
        not_as_this_user("a file of another user");
        return;
    }
    let path = test.new_sandbox(&["box"]);
    write(&path.join(".gitignore"), "cache/\n");
    write(&path.join("mine"), "mine\n");
    write(&path.join("cache/theirs/file"), "theirs\n");
    for name in ["cache/theirs", "cache/theirs/file"] {
        chown(path.join(name), OTHER, OTHER).unwrap();
    }
    let before = tree(&path, &[".git"]);
    succeeds(test.run(&["rm", "--force", "box"]));
    let output = without_power(&test, &test.app(), &["reap", "--purge"]).output();
    let said = String::from_utf8(output.stdout).unwrap();
    let why = ": kept in the trash: cannot delete 'tree/cache': permission denied, ";
    assert!(said.contains(why), "{said}");
    let left = only_one(&test).join("tree/cache/theirs/file");
    assert_eq!(fs::read_to_string(left).unwrap(), "theirs\n");
    succeeds(without_power(&test, &test.app(), &["restore", "box"]));
    same(&tree(&path, &[".git"]), &before);
    assert!(trashed(&test).is_empty());
}
