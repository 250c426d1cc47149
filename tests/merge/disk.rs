//! A disk that is full at any step of a merge: afterwards the target is as it was, or merged.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::crash::next;
use crate::fixture::again::Template;
use crate::fixture::diff::same;
use crate::fixture::files::{tree, write};
use crate::fixture::merge::{Scene, Target};
use crate::fixture::mount::{Mount, alone};

const PAGE: u64 = 4096;
/// More pages than a merge needs.
const MANY: u64 = 400;

/// Moves a folder to a file system of its own.
fn on_its_own(folder: &Path) -> Mount {
    let away = folder.with_file_name("away");
    fs::rename(folder, &away).unwrap();
    let mount = Mount::on(folder);
    let copy = Command::new("cp").arg("-a").arg(away.join(".")).arg(folder).status();
    assert!(copy.unwrap().success());
    fs::remove_dir_all(away).unwrap();
    mount
}

/// Gives a file system so many free pages.
#[track_caller]
fn leave(mount: &Mount, pages: u64) {
    let stat = rustix::fs::statvfs(&mount.0).unwrap();
    let size = (stat.f_blocks - stat.f_bfree) * stat.f_frsize + pages * PAGE;
    mount.change(&format!("size={size}"));
}

/// Everything of the target's checkout.
#[track_caller]
fn target(scene: &Scene) -> String {
    let git = |words: &[&str]| scene.test.git(&[&["--no-optional-locks"], words].concat());
    let index = git(&["ls-files", "--stage"]);
    tree(&scene.test.app(), &[".git"]) + &index + &git(&["status", "--porcelain=v2", "--branch"])
}

/// Merges with ever more room on the file system of a folder, until it succeeds.
fn with_ever_more_room(scene: &Scene, folder: &Path) {
    let test = &scene.test;
    for (name, pages) in [("dir/big", 3), ("z", 1)] {
        write(&scene.path.join(name), &"text\n".repeat(pages * 1000));
    }
    write(&scene.path.join("b"), "changed\n");
    test.git_in(&scene.path, &["add", "--all"]);
    test.git_in(&scene.path, &["commit", "--quiet", "-m", "more"]);
    write(&test.app().join("a"), "staged\n");
    test.git(&["add", "a"]);
    write(&test.app().join("a"), "unstaged\n");
    let template = Template::of(test);
    let (mut pages, mut failures) = (0, 0);
    while pages < MANY {
        template.bring_back(test);
        let mount = on_its_own(folder);
        test.git(&["status"]);
        test.git_in(&scene.path, &["status"]);
        let (old, before, aim) = (scene.commit("dev"), scene.state(), target(scene));
        leave(&mount, pages);
        let output = test.run(&["merge", "box", "--keep"]).output();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        leave(&mount, MANY);
        let told = next(scene);
        let landed = scene.commit("dev") != old;
        assert!(landed || !output.status.success(), "{said}{told}");
        scene.nothing_is_left();
        if landed {
            assert_eq!(test.git(&["status", "--porcelain"]), "MM a");
            assert_eq!(test.git(&["show", ":a"]), "staged");
            assert_eq!(fs::read_to_string(test.app().join("a")).unwrap(), "unstaged\n");
        } else if told.contains("left by an interrupted merge, to the trash\n") {
            // The scratch has files that were cut short.
            same(&target(scene), &aim);
        } else {
            same(&scene.state(), &before);
        }
        drop(mount);
        if output.status.success() {
            assert!(failures > 2, "it failed {failures} times");
            return;
        }
        failures += 1;
        pages += 1 + pages / 8;
    }
    panic!("it never came to its end");
}

#[test]
fn a_full_disk_of_the_repository_at_any_step_of_a_fast_forward() {
    alone(|| {
        let scene = Scene::new(Target::Here);
        with_ever_more_room(&scene, &scene.test.app());
    });
}

#[test]
fn a_full_disk_of_the_repository_at_any_step_of_a_merge() {
    alone(|| {
        let scene = Scene::diverged(Target::Here);
        with_ever_more_room(&scene, &scene.test.app());
    });
}

#[test]
fn a_full_disk_of_the_sandboxes_at_any_step_of_a_merge() {
    alone(|| {
        let scene = Scene::diverged(Target::Here);
        with_ever_more_room(&scene, &scene.test.root());
    });
}
