//! What comes back after the root was moved, and pointers of submodules that are absolute.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::write;
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::{entry, is_registered, state};
use crate::fixture::trash::{only_one, trash, trashed};
use crate::fixture::work::submodule;

#[test]
fn each_of_several_is_found_in_a_trash_that_was_moved_with_its_root() {
    let test = repository(Format::Files).unwrap();
    for name in ["one", "two", "three"] {
        let path = test.new_sandbox(&[name]);
        write(&path.join("a"), &format!("of {name}\n"));
        succeeds(test.run(&["rm", "--force", name]));
    }
    let (from, to) = (test.home.join(".cache/git-sandbox/worktrees"), test.home.join("elsewhere"));
    fs::rename(&from, &to).unwrap();
    test.git(&["config", "sandbox.root", &to.display().to_string()]);
    for name in ["two", "three", "one"] {
        succeeds(test.run(&["restore", name]));
        // To where it was.
        let path = test.at(name);
        assert_eq!(fs::read_to_string(path.join("a")).unwrap(), format!("of {name}\n"));
        assert_eq!(test.git_in(&path, &["branch", "--show-current"]), name);
        assert_eq!(test.git_in(&path, &["status", "--porcelain"]), " M a");
    }
    assert_eq!(fs::read_dir(to.join(".trash")).unwrap().count(), 0);
    assert!(!trash(&test).exists());
}

#[test]
fn a_restore_that_a_crash_stopped_waits_for_a_folder_that_somebody_moved_away() {
    let mut seen = 0;
    for step in 1..30 {
        let test = repository(Format::Files).unwrap();
        let path = test.new_sandbox(&["box"]);
        write(&path.join("a"), "mine\n");
        let before = state(&test, &path);
        succeeds(test.run(&["rm", "--force", "box"]));
        let crashed = test.run(&["restore", "box"]).crashes_at(step);
        if crashed && path.exists() && !is_registered(&test.app(), "box") {
            seen += 1;
            let away = test.home.join("away");
            fs::rename(&path, &away).unwrap();
            let why = format!("its files are neither in the trash nor '{}'", path.display());
            test.run(&["new", "other"])
                .stdout("$ROOT/other\n")
                .stderr(&format!(
                    "warning: an interrupted removal or restore is still there: \
                     sandbox 'box' is damaged: {why}\n\
                     created sandbox 'other': new branch 'other' from 'main'\n"
                ))
                .ok();
            fs::rename(&away, &path).unwrap();
            succeeds(test.run(&["new", "third"]));
            same(&state(&test, &path), &before);
            assert!(trashed(&test).is_empty());
        }
        if !crashed {
            return assert!(seen > 0, "it never died in between");
        }
    }
    panic!("it never came to its end");
}

/// A sandbox with a submodule whose pointers are absolute, as older gits made them.
fn absolute() -> (Test, PathBuf) {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    submodule(&test, &path);
    let module = entry(&test, &path).join("modules/sub");
    write(&path.join("sub/.git"), &format!("gitdir: {}\n", module.display()));
    let config = module.join("config").display().to_string();
    let checkout = path.join("sub").display().to_string();
    test.git(&["config", "--file", &config, "core.worktree", &checkout]);
    write(&path.join("sub/file"), "mine\n");
    (test, path)
}

/// Both pointers of the submodule in a folder, which must name each other, and its status.
#[track_caller]
fn pointers(test: &Test, folder: &Path) -> [String; 3] {
    let sub = folder.join("sub");
    let pointer = fs::read_to_string(sub.join(".git")).unwrap();
    let module = test.git_in(&sub, &["rev-parse", "--absolute-git-dir"]);
    let config = format!("{module}/config");
    let checkout = test.git(&["config", "--file", &config, "core.worktree"]);
    assert_eq!(pointer, format!("gitdir: {module}\n"));
    assert_eq!(checkout, sub.display().to_string());
    [pointer, checkout, test.git_in(&sub, &["status", "--porcelain"])]
}

#[test]
fn absolute_pointers_of_a_submodule_stay_absolute_and_follow() {
    let (test, path) = absolute();
    let (before, all) = (pointers(&test, &path), state(&test, &path));
    assert_eq!(before[2], " M file");
    succeeds(test.run(&["rm", "--force", "box"]));
    assert_eq!(pointers(&test, &only_one(&test).join("tree"))[2], " M file");
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(pointers(&test, &path), before);
    same(&state(&test, &path), &all);
    succeeds(test.run(&["rename", "box", "two"]));
    assert_eq!(pointers(&test, &test.at("two"))[2], " M file");
    assert!(trashed(&test).is_empty());
}

#[test]
fn what_is_no_clone_among_those_of_submodules_is_left_alone() {
    let (test, path) = absolute();
    let modules = entry(&test, &path).join("modules");
    write(&modules.join("notes"), "mine\n");
    write(&modules.join("half/HEAD"), "ref: refs/heads/main\n");
    let outside = test.home.join("outside");
    fs::rename(modules.join("sub"), &outside).unwrap();
    std::os::unix::fs::symlink(&outside, modules.join("sub")).unwrap();
    let config = fs::read_to_string(outside.join("config")).unwrap();
    succeeds(test.run(&["rm", "--force", "box"]));
    // What a symlink leads to is not ours.
    assert_eq!(fs::read_to_string(outside.join("config")).unwrap(), config);
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(fs::read_to_string(modules.join("notes")).unwrap(), "mine\n");
    assert_eq!(fs::read_to_string(modules.join("half/HEAD")).unwrap(), "ref: refs/heads/main\n");
    assert_eq!(fs::read_link(modules.join("sub")).unwrap(), outside);
    assert_eq!(fs::read_to_string(path.join("sub/file")).unwrap(), "mine\n");
}
