//! `git sandbox rm` wherever a worktree may stand: outside the root, around another worktree, over
//! a mount point, on another file system, of a bare repository.

use std::fs;
use std::path::PathBuf;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{names_in, tree, write};
use crate::fixture::mount::{Mount, alone};
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::{collect_garbage, main_checkout, state};
use crate::fixture::trash::{REMOVED, trashed};

const FORCES: [&[&str]; 3] = [&[], &["--force"], &["--force", "--force"]];

#[test]
fn a_worktree_of_plain_git_is_removed_and_comes_back() {
    let test = repository(Format::Files).unwrap();
    let path = test.home.join("elsewhere/box");
    let at = path.display().to_string();
    test.git(&["worktree", "add", "--quiet", "-b", "box", &at]);
    write(&path.join("x.log"), "ignored\n");
    let before = (state(&test, &path), main_checkout(&test));
    test.run(&["rm", "box"]).stderr(REMOVED).ok();
    assert!(!path.exists());
    assert!(path.parent().unwrap().exists());
    assert_eq!(trashed(&test).len(), 1);
    collect_garbage(&test);
    test.run(&["restore", "box"]).stdout("$HOME/elsewhere/box\n").stderr("restored 'box'\n").ok();
    same(&state(&test, &path), &before.0);
    same(&main_checkout(&test), &before.1);
    assert!(trashed(&test).is_empty());
}

#[test]
fn a_worktree_of_plain_git_with_work_in_it_is_refused() {
    let test = repository(Format::Files).unwrap();
    let path = test.home.join("box");
    test.git(&["worktree", "add", "--quiet", "-b", "box", &path.display().to_string()]);
    write(&path.join("new"), "mine\n");
    let before = tree(&test.home, &["sandbox.lock"]);
    test.run(&["rm", "box"])
        .stderr(
            "error: cannot remove 'box': worktree has 1 uncommitted change\n\
             hint: to move it to the trash as it is: git sandbox rm --force box\n",
        )
        .code(1);
    same(&tree(&test.home, &["sandbox.lock"]), &before);
}

#[test]
fn one_around_another_worktree_is_refused_however_forced() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let inner = path.join("build/inner");
    test.git(&["worktree", "add", "--quiet", "-b", "inner", &inner.display().to_string()]);
    let before = tree(&test.home, &["sandbox.lock"]);
    for force in FORCES {
        test.run(&[&["rm"], force, &["box"]].concat())
            .stderr("error: cannot remove 'box': contains worktree '$ROOT/box/build/inner'\n")
            .code(1);
    }
    same(&tree(&test.home, &["sandbox.lock"]), &before);
}

#[test]
fn one_around_another_worktree_goes_after_it() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let inner = path.join("build/inner");
    test.git(&["worktree", "add", "--quiet", "-b", "inner", &inner.display().to_string()]);
    test.run(&["rm", "inner", "box"])
        .stderr(&format!(
            "removed 'inner' (nothing to lose); undo with: git sandbox restore inner-ID\n\
             {REMOVED}"
        ))
        .ok();
    assert!(!path.exists());
}

#[test]
fn one_around_a_worktree_of_another_repository_is_kept_with_it() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let other = test.init("other", &[]);
    let inner = path.join("build/inner");
    test.git_in(&other, &["worktree", "add", "--quiet", "-b", "x", &inner.display().to_string()]);
    write(&inner.join("new"), "mine\n");
    let before = (tree(&path, &[]), tree(&other, &[]));
    test.run(&["rm", "box"])
        .stderr(
            "error: cannot remove 'box': unsaved work in 'build/inner'\n\
             hint: to move it to the trash as it is: git sandbox rm --force box\n",
        )
        .code(1);
    assert!(test.run(&["rm", "--force", "box"]).output().status.success());
    assert!(test.run(&["restore", "box"]).output().status.success());
    assert_eq!((tree(&path, &[]), tree(&other, &[])), before);
    assert_eq!(test.git_in(&inner, &["status", "--porcelain"]), "?? new");
}

#[test]
fn one_around_a_mount_point_is_refused_however_forced() {
    alone(|| {
        let test = repository(Format::Files).unwrap();
        let path = test.new_sandbox(&["box"]);
        let mount = Mount::on(&path.join("build/a mount"));
        write(&mount.0.join("file"), "mounted\n");
        let before = tree(&test.home, &["sandbox.lock"]);
        for force in FORCES {
            test.run(&[&["rm"], force, &["box"]].concat())
            .stderr(
                "error: cannot remove 'box': contains the mount point '$ROOT/box/build/a mount'\n",
            )
            .code(1);
        }
        same(&tree(&test.home, &["sandbox.lock"]), &before);
        drop(mount);
        test.run(&["rm", "box"]).stderr(REMOVED).ok();
        assert!(!path.exists());
    });
}

#[test]
fn one_that_is_a_mount_point_itself_is_refused_with_nothing_changed() {
    alone(|| {
        let test = repository(Format::Files).unwrap();
        let mount = Mount::on(&test.home.join("stick/box"));
        let at = mount.0.display().to_string();
        test.git(&["worktree", "add", "--quiet", "-b", "box", &at]);
        let before = tree(&test.home, &["sandbox.lock"]);
        for force in FORCES {
            let output = test.run(&[&["rm"], force, &["box"]].concat()).output();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.starts_with("error: cannot remove 'box': "), "{said}");
            same(&tree(&test.home, &["sandbox.lock"]), &before);
        }
    });
}

#[test]
fn one_on_another_file_system_has_its_trash_beside_it() {
    alone(|| {
        let test = repository(Format::Files).unwrap();
        let disk = Mount::on(&test.home.join("disk"));
        let parent = disk.0.clone();
        let path = test.new_sandbox(&["box", "--dir", &parent.display().to_string()]);
        assert_eq!(path, parent.join("box"));
        write(&path.join("new"), "mine\n");
        let before = (state(&test, &path), main_checkout(&test));
        test.run(&["rm", "--force", "box"])
            .stderr("removed 'box' (1 uncommitted change); undo with: git sandbox restore box-ID\n")
            .ok();
        assert!(!path.exists());
        assert!(trashed(&test).is_empty());
        let beside: Vec<_> = fs::read_dir(parent.join(".git-sandbox-trash")).unwrap().collect();
        let [Ok(folder)] = &beside[..] else { panic!("{beside:?}") };
        assert_eq!(fs::read_to_string(folder.path().join("tree/new")).unwrap(), "mine\n");
        collect_garbage(&test);
        let path_line = format!("{}\n", path.display());
        test.run(&["restore", "box"]).stdout(&path_line).stderr("restored 'box'\n").ok();
        same(&state(&test, &path), &before.0);
        same(&main_checkout(&test), &before.1);
    });
}

#[test]
fn one_on_another_file_system_comes_back_from_the_vault() {
    alone(|| {
        let test = repository(Format::Files).unwrap();
        let disk = Mount::on(&test.home.join("disk"));
        let path = test.new_sandbox(&["box", "--dir", &disk.0.display().to_string()]);
        write(&path.join("new"), "mine\n");
        for name in ["box", "other"] {
            succeeds(test.run(&["rm", "--force", "box"]));
            succeeds(test.run(&["reap", "--purge"]));
            assert!(names_in(&disk.0.join(".git-sandbox-trash")).is_empty());
            collect_garbage(&test);
            let back = disk.0.join(name);
            let words: &[&str] = if name == "box" { &[] } else { &["--as", name] };
            test.run(&[&["restore", "box"], words].concat())
                .stdout(&format!("{}\n", back.display()))
                .stderr(&format!("restored '{name}'\n"))
                .ok();
            assert_eq!(fs::read_to_string(back.join("new")).unwrap(), "mine\n");
            assert_eq!(test.git_in(&back, &["status", "--porcelain"]), "?? new");
            assert!(trashed(&test).is_empty());
        }
    });
}

#[test]
fn a_folder_in_a_symlinked_place_is_removed_and_comes_back() {
    let test = repository(Format::Files).unwrap();
    fs::create_dir(test.home.join("real")).unwrap();
    std::os::unix::fs::symlink("real", test.home.join("link")).unwrap();
    let at = test.home.join("link").display().to_string();
    let path = test.new_sandbox(&["box", "--dir", &at]);
    write(&path.join("x.log"), "ignored\n");
    let before = state(&test, &path);
    test.run(&["rm", "box"]).stderr(REMOVED).ok();
    assert!(!test.home.join("real/box").exists());
    assert!(test.run(&["restore", "box"]).output().status.success());
    same(&state(&test, &path), &before);
}

#[test]
fn sandboxes_of_a_bare_repository_go_and_come_back() {
    let test = Test::bare();
    let source = test.init("source", &[]);
    test.git_in(&test.home, &["clone", "--quiet", "--bare", "source", "app.git"]);
    let bare = test.home.join("app.git");
    let output = test.run_in(&bare, &["new", "box"]).output();
    let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    write(&path.join("new"), "mine\n");
    let before = (tree(&path, &[]), tree(&source, &[]), test.git_in(&bare, &["for-each-ref"]));
    test.run_in(&bare, &["rm", "--force", "box"])
        .stderr("removed 'box' (1 uncommitted change); undo with: git sandbox restore box-ID\n")
        .ok();
    assert!(!path.exists());
    test.git_in(&bare, &["gc", "--prune=now", "--quiet"]);
    test.run_in(&bare, &["restore", "box"])
        .stdout(&format!("{}\n", path.display()))
        .stderr("restored 'box'\n")
        .ok();
    let after = (tree(&path, &[]), tree(&source, &[]), test.git_in(&bare, &["for-each-ref"]));
    assert_eq!(after, before);
    assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "?? new");
}

#[test]
fn the_main_worktree_is_refused_by_every_name_it_has() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    let app = test.app();
    for name in [app.to_str().unwrap(), ".", "main", "refs/heads/main", "app", "^"] {
        for force in [&[][..], &["--force"], &["--force", "--force"]] {
            let words = [&["rm"][..], force, &["box", name]].concat();
            test.run(&words)
                .stderr(&format!("error: cannot remove '{name}': it is the main worktree\n"))
                .refused();
        }
    }
    assert!(path.exists() && app.join("file").exists());
    test.run_in(&path, &["rm", "--force", "--force", app.to_str().unwrap()])
        .stderr("error: cannot remove '$APP': it is the main worktree\n")
        .refused();
    // A sandbox that is called as the main worktree is comes first.
    let named = test.new_sandbox(&["app"]);
    assert!(test.run(&["rm", "app"]).output().status.success());
    assert!(!named.exists() && app.exists());
}
