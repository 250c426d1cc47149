//! What git does not track in the checkout of the target, where plain git would overwrite or delete it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::fixture::files::write;
use crate::fixture::merge::{Scene, Target};
use crate::fixture::repository::{Format, repository};
use crate::fixture::work::submodule;

const HOWS: [&[&str]; 4] = [&[], &["--squash"], &["--ff-only"], &["--dry-run"]];

/// Asserts that these files of the target's checkout stop every sort of merge, and stay.
#[track_caller]
fn in_the_way(scene: &Scene, names: &str) {
    let text = format!(
        "error: cannot merge 'box' into 'dev': files in '{0}' that git does not track are in the way: \
         {names}\nhint: git -C {0} status --ignored\n",
        scene.dev.as_ref().unwrap().display()
    );
    for how in HOWS {
        scene.refused(how, &text);
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_symlink_that_the_user_put_in_the_place_of_a_folder_stays() {
    for deletes in [false, true] {
        let scene = Scene::new(Target::Here);
        let (test, app) = (&scene.test, scene.test.app());
        if deletes {
            test.git_in(&scene.path, &["rm", "--quiet", "dir/c"]);
            test.git_in(&scene.path, &["commit", "--quiet", "-m", "deleted"]);
        } else {
            test.commit(&scene.path, "dir/c", "changed\n");
        }
        fs::rename(app.join("dir"), test.home.join("away")).unwrap();
        symlink(test.home.join("away"), app.join("dir")).unwrap();
        in_the_way(&scene, "'dir'");
        assert_eq!(fs::read_link(app.join("dir")).unwrap(), test.home.join("away"));
        assert_eq!(read(&test.home.join("away/c")), "c\n");
    }
}

#[test]
fn files_of_a_repository_inside_the_target_stay() {
    for (name, named) in [("build/file", "'build/file'"), ("build", "'build'")] {
        for target in [Target::Here, Target::Sandbox] {
            let scene = Scene::new(target);
            let (test, dev) = (&scene.test, scene.dev.clone().unwrap());
            write(&scene.path.join(name), "theirs\n");
            test.git_in(&scene.path, &["add", "--force", name]);
            test.git_in(&scene.path, &["commit", "--quiet", "-m", "theirs"]);
            test.git_in(&dev, &["init", "--quiet", "build"]);
            write(&dev.join("build/file"), "mine\n");
            // Ignored there as well: only then git overwrites it.
            write(&dev.join("build/.git/info/exclude"), "file\n");
            in_the_way(&scene, named);
            assert_eq!(read(&dev.join("build/file")), "mine\n");
        }
    }
}

#[test]
fn a_submodule_that_becomes_a_file_keeps_its_edits() {
    let test = repository(Format::Files).unwrap();
    submodule(&test, &test.app());
    let scene = Scene::of(test, Target::Here, |_| ());
    let (test, app) = (&scene.test, scene.test.app());
    test.git_in(&scene.path, &["rm", "--quiet", "--cached", "sub"]);
    fs::remove_dir(scene.path.join("sub")).unwrap();
    test.commit(&scene.path, "sub", "a file now\n");
    write(&app.join("sub/file"), "edited\n");
    in_the_way(&scene, "'sub'");
    assert_eq!(read(&app.join("sub/file")), "edited\n");
    // Without a checkout of it nothing is in the way.
    test.git(&["submodule", "--quiet", "deinit", "--force", "sub"]);
    let text = "submodules have moved: 'sub'\nhint: git -C $APP submodule update\n\
                merged 'box' into 'dev': 3 commits, fast-forward\n";
    test.run(&["merge", "box", "--keep"]).stderr(text).ok();
    assert_eq!(read(&app.join("sub")), "a file now\n");
    scene.nothing_is_left();
}

#[test]
fn a_submodule_that_becomes_a_folder_keeps_its_edits() {
    let test = repository(Format::Files).unwrap();
    submodule(&test, &test.app());
    let scene = Scene::of(test, Target::Here, |_| ());
    let (test, app) = (&scene.test, scene.test.app());
    test.git_in(&scene.path, &["rm", "--quiet", "--cached", "sub"]);
    test.commit(&scene.path, "sub/file", "tracked now\n");
    write(&app.join("sub/file"), "edited\n");
    in_the_way(&scene, "'sub/file'");
    assert_eq!(read(&app.join("sub/file")), "edited\n");
}

#[test]
fn an_empty_folder_is_not_in_the_way() {
    let scene = Scene::new(Target::Here);
    fs::create_dir_all(scene.test.app().join("mine/empty")).unwrap();
    scene.merges(&["--keep"], "merged 'box' into 'dev': 2 commits, fast-forward\n");
    assert_eq!(read(&scene.test.app().join("mine")), "first\n");
}
