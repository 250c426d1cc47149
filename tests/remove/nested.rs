//! Repositories inside a sandbox that are put together from elsewhere: `rm` sees them as git does.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::fixture::Test;
use crate::fixture::files::write;
use crate::fixture::repository::with_box;

/// A sandbox with a bare repository in an ignored folder that has a commit of its own.
fn with_bare() -> (Test, PathBuf) {
    let (test, path) = with_box();
    test.init("source", &[]);
    let bare = path.join("build/bare.git");
    test.git_in(&test.home, &["clone", "--quiet", "--bare", "source", bare.to_str().unwrap()]);
    test.git_in(&bare, &["remote", "remove", "origin"]);
    (test, bare)
}

#[track_caller]
fn refuses(test: &Test, bare: &Path) {
    assert_eq!(test.git_in(bare, &["rev-list", "--count", "--all"]), "1");
    let said = "error: cannot remove 'box': unsaved work in 'build/bare.git'\n\
                hint: to move it to the trash as it is: git sandbox rm --force box\n";
    test.run(&["rm", "box"]).stderr(said).refused();
}

#[test]
fn a_bare_repository_with_symlinks_for_its_parts_counts() {
    for names in [&["objects"][..], &["refs"], &["HEAD"], &["objects", "refs", "HEAD"]] {
        let (test, bare) = with_bare();
        for name in names {
            let elsewhere = test.home.join(name);
            fs::rename(bare.join(name), &elsewhere).unwrap();
            // As git itself once made it.
            let to = if *name == "HEAD" { Path::new("refs/heads/main") } else { &elsewhere };
            symlink(to, bare.join(name)).unwrap();
        }
        refuses(&test, &bare);
    }
}

#[test]
fn a_git_dir_that_borrows_its_objects_and_refs_counts() {
    let (test, bare) = with_bare();
    let lender = test.home.join("lender.git");
    fs::rename(&bare, &lender).unwrap();
    write(&bare.join("HEAD"), "ref: refs/heads/main\n");
    write(&bare.join("commondir"), &format!("{}\n", lender.display()));
    refuses(&test, &bare);
}
