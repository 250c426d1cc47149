//! What keeps an item in the trash.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, removexattr, setxattr};
use rustix::io::Errno;

use super::{World, git, write};
use crate::lifecycle::vault::item::Obstacle;
use crate::lifecycle::vault::repository::check_id;

/// A clone inside the tree, of a repository that has everything it has.
fn clone(world: &World, path: &str) {
    let origin = world.home.join("origin");
    git(&world.home, &["init", "-q", "origin"]);
    write(&origin.join("file"), "theirs\n");
    git(&origin, &["add", "-A"]);
    git(&origin, &["commit", "-q", "-m", "theirs"]);
    git(&world.tree(), &["clone", "-q", origin.to_str().unwrap(), path]);
}

#[track_caller]
fn nested(world: &World, path: &str) {
    match world.stays() {
        Obstacle::NestedWork(found) => assert_eq!(found, Path::new("tree").join(path)),
        other => panic!("{other}"),
    }
}

#[test]
fn a_clone_with_everything_on_its_remote_is_put_away_as_files() {
    let world = World::new();
    clone(&world, "vendor/theirs");
    world.round_trip();
    assert_eq!(git(&world.tree().join("vendor/theirs"), &["status", "--porcelain"]), "");
    git(&world.tree().join("vendor/theirs"), &["fsck"]);
}

#[test]
fn a_clone_with_a_commit_of_its_own_stays() {
    let world = World::new();
    clone(&world, "theirs");
    git(&world.tree().join("theirs"), &["commit", "-q", "--allow-empty", "-m", "ours"]);
    nested(&world, "theirs");
}

#[test]
fn a_clone_with_changes_stays_also_in_an_ignored_folder() {
    let mut world = World::new();
    clone(&world, "target/theirs");
    world.write("target/theirs/file", "changed");
    world.ignored = Some(vec!["target/".into()]);
    nested(&world, "target/theirs");
}

#[test]
fn a_repository_without_a_remote_stays() {
    let world = World::new();
    git(&world.tree(), &["init", "-q", "own"]);
    git(&world.tree().join("own"), &["commit", "-q", "--allow-empty", "-m", "own"]);
    nested(&world, "own");
}

#[test]
fn a_bare_repository_whose_objects_are_elsewhere_stays_also_in_an_ignored_folder() {
    let mut world = World::new();
    git(&world.tree(), &["init", "-q", "own"]);
    git(&world.tree().join("own"), &["commit", "-q", "--allow-empty", "-m", "own"]);
    let bare = world.tree().join("target/own.git");
    fs::create_dir(world.tree().join("target")).unwrap();
    fs::rename(world.tree().join("own/.git"), &bare).unwrap();
    fs::remove_dir(world.tree().join("own")).unwrap();
    fs::rename(bare.join("objects"), world.tree().join("target/objects")).unwrap();
    std::os::unix::fs::symlink("../objects", bare.join("objects")).unwrap();
    world.ignored = Some(vec!["target/".into()]);
    nested(&world, "target/own.git");
}

#[test]
fn a_bare_repository_with_commits_stays() {
    let world = World::new();
    let app = world.app();
    git(&world.tree(), &["clone", "-q", "--bare", app.to_str().unwrap(), "bare"]);
    nested(&world, "bare");
}

/// All of its commits are on a remote, and the index and HEAD of the worktree are nowhere else.
#[test]
fn a_bare_repository_that_another_folder_is_a_worktree_of_stays() {
    let world = World::new();
    git(&world.tree(), &["init", "-q", "--bare", "hub"]);
    let hub = world.tree().join("hub");
    git(&hub, &["remote", "add", "origin", world.app().to_str().unwrap()]);
    git(&hub, &["fetch", "-q", "origin"]);
    let linked = world.home.join("linked");
    let words = ["worktree", "add", "-q", "--detach", linked.to_str().unwrap(), "origin/main"];
    git(&hub, &words);
    nested(&world, "hub");
    assert_eq!(git(&linked, &["status", "--porcelain"]), "");
    git(&hub, &["worktree", "remove", linked.to_str().unwrap()]);
    world.round_trip();
}

#[test]
fn a_pointer_to_a_git_dir_that_is_gone_is_a_file() {
    let world = World::new();
    world.write("sub/.git", "gitdir: ../nowhere/modules/sub\n");
    world.write("sub/file", "x");
    world.round_trip();
}

#[test]
fn such_a_pointer_in_an_ignored_folder_stays() {
    let mut world = World::new();
    world.ignored = Some(vec!["target/".into()]);
    world.write("target/sub/.git", "gitdir: ../nowhere/modules/sub\n");
    nested(&world, "target/sub");
}

#[test]
fn the_only_clone_of_a_submodule_stays_while_it_has_commits_of_its_own() {
    let world = World::new();
    clone(&world, "sub");
    let module = world.private().join("modules/sub");
    fs::create_dir_all(module.parent().unwrap()).unwrap();
    fs::rename(world.tree().join("sub/.git"), &module).unwrap();
    write(&world.tree().join("sub/.git"), format!("gitdir: {}\n", module.display()));
    git(&module, &["config", "core.worktree", world.tree().join("sub").to_str().unwrap()]);
    assert_eq!(git(&world.tree().join("sub"), &["status", "--porcelain"]), "");
    // Nothing of its own yet: files as all others.
    let done = world.try_to_put_away().unwrap();
    assert!(matches!(done, crate::lifecycle::vault::Outcome::Done(_)), "{done:?}");
    drop(done);
    assert!(world.vault().forget(super::ID).unwrap());
    git(&world.tree().join("sub"), &["commit", "-q", "--allow-empty", "-m", "ours"]);
    nested(&world, "sub");
    // Not checked out any more.
    crate::sys::delete::tree(&world.tree().join("sub")).unwrap();
    match world.stays() {
        Obstacle::NestedWork(path) => assert_eq!(path, Path::new("private/modules/sub")),
        other => panic!("{other}"),
    }
}

#[test]
fn a_device_stays() {
    let world = World::new();
    let path = world.tree().join("src/null");
    let made =
        mknodat(CWD, &path, FileType::CharacterDevice, Mode::RUSR, rustix::fs::makedev(1, 3));
    if made.is_err() {
        skipped("making a device needs root");
        return;
    }
    assert!(matches!(world.stays(), Obstacle::Device(path) if path == Path::new("tree/src/null")));
    let mut world = world;
    world.ignored = Some(vec!["target/".into()]);
    fs::create_dir(world.tree().join("target")).unwrap();
    fs::rename(path, world.tree().join("target/null")).unwrap();
    assert!(matches!(world.stays(), Obstacle::Device(path) if path.ends_with("target/null")));
}

#[test]
fn a_mount_stays_with_all_that_is_in_it() {
    let world = World::new();
    let place = world.tree().join("src/mounted");
    fs::create_dir(&place).unwrap();
    write(&world.home.join("elsewhere/file"), "theirs");
    let mount = |words: &[&str]| {
        #[expect(clippy::disallowed_methods, reason = "a test")]
        let mut command = std::process::Command::new(words[0]);
        command.args(&words[1..]).arg(&place).output().is_ok_and(|output| output.status.success())
    };
    // A bind mount has the device of its surroundings.
    if !mount(&["mount", "--bind", world.home.join("elsewhere").to_str().unwrap()]) {
        skipped("mounting needs root");
        return;
    }
    let stays = std::panic::catch_unwind(|| world.stays());
    assert!(mount(&["umount"]));
    assert!(matches!(stays.unwrap(), Obstacle::Mount(path) if path.ends_with("src/mounted")));
    assert_eq!(fs::read_to_string(world.home.join("elsewhere/file")).unwrap(), "theirs");
}

#[test]
fn on_a_full_disk_nothing_is_lost() {
    let mount = |words: &[&str]| {
        #[expect(clippy::disallowed_methods, reason = "a test")]
        let mut command = std::process::Command::new(words[0]);
        command.args(&words[1..]).output().is_ok_and(|output| output.status.success())
    };
    let mut root = PathBuf::new();
    let mut mounted = false;
    let world = World::with(&[], |app| {
        root = app.with_file_name("root");
        fs::create_dir(&root).unwrap();
        let size = ["mount", "-t", "tmpfs", "-o", "size=3m", "none", root.to_str().unwrap()];
        mounted = mount(&size);
    });
    if !mounted {
        skipped("mounting needs root");
        return;
    }
    world.write("large", super::purging::noise(9));
    let tried = std::panic::catch_unwind(|| {
        let before = world.snapshot();
        assert!(world.try_to_put_away().is_err());
        super::assert_same(&world.snapshot(), &before);
        assert!(!world.vault().has(super::ID).unwrap());
        assert!(mount(&["mount", "-o", "remount,size=30m", root.to_str().unwrap()]));
        world.round_trip();
        super::assert_same(&world.snapshot(), &before);
    });
    assert!(mount(&["umount", "-l", root.to_str().unwrap()]));
    tried.unwrap();
}

#[test]
fn a_file_that_cannot_be_read_stays() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.write("secret", "x");
    let path = world.tree().join("secret");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
    if fs::read(&path).is_ok() {
        skipped("root can read every file");
        return;
    }
    let unreadable = matches!(
        world.try_to_put_away().unwrap(),
        crate::lifecycle::vault::Outcome::Stays(Obstacle::Unreadable(path, _)) if path == Path::new("tree/secret")
    );
    assert!(unreadable && path.exists());
}

#[test]
fn a_symlink_in_place_of_the_tree_stays() {
    let world = World::new();
    let other = world.home.join("other");
    fs::rename(world.tree(), &other).unwrap();
    symlink(&other, world.tree()).unwrap();
    assert!(matches!(world.stays(), Obstacle::Changed(path) if path == Path::new("tree")));
    assert!(other.join("readme").exists());
}

#[test]
fn a_vault_that_others_can_read_or_that_is_a_symlink_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let dir = world.vault_dir();
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(world.try_to_put_away().is_err());
    fs::remove_dir(&dir).unwrap();
    fs::create_dir(world.home.join("elsewhere")).unwrap();
    symlink(world.home.join("elsewhere"), &dir).unwrap();
    assert!(world.try_to_put_away().is_err());
    assert_eq!(fs::read_dir(world.home.join("elsewhere")).unwrap().count(), 0);
    fs::remove_file(&dir).unwrap();
    world.round_trip();
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn an_id_is_one_plain_step_of_a_ref() {
    for fine in ["box-0a1b2c3d", "a", "a.b", "a_b", "lock"] {
        assert!(check_id(fine).is_ok(), "{fine}");
    }
    let odd = ["", ".a", "-a", "a.", "a..b", "a.lock", "a.LOCK", "a/b", "a b", "a~1", "a:b", "ä"];
    for odd in odd {
        assert!(check_id(odd).is_err(), "{odd}");
    }
}

/// Says that a test did not run to its end.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub fn skipped(why: &str) {
    eprintln!("SKIPPED: {why}");
}

#[test]
fn what_has_extended_attributes_of_a_user_stays() {
    for name in ["file3", "file9", "folder", ""] {
        let world = World::new();
        // Some of them are read ahead.
        (0..10).for_each(|number| world.write(&format!("file{number}"), "mine"));
        fs::create_dir(world.tree().join("folder")).unwrap();
        let path = world.tree().join(name);
        match setxattr(&path, "user.note", b"precious", XattrFlags::empty()) {
            Err(Errno::NOTSUP) => return skipped("the file system has no extended attributes"),
            set => set.unwrap(),
        }
        match world.stays() {
            Obstacle::Attributes(found) => {
                assert_eq!(found, Path::new("tree").join(name));
                let said = format!("'{}' has extended attributes", found.display());
                assert_eq!(Obstacle::Attributes(found).to_string(), said);
            }
            other => panic!("{other}"),
        }
        removexattr(&path, "user.note").unwrap();
        world.round_trip();
    }
}
