//! Files are deleted only while they are what was read.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{World, assert_same, write};
use crate::lifecycle::vault::item::Obstacle;
use crate::lifecycle::vault::{Outcome, Unpacked};

/// Something happens between the reading and the deleting.
#[track_caller]
fn stopped(world: &World, happens: impl FnOnce()) -> Obstacle {
    let away = world.put_away();
    happens();
    match away.discard(&mut || Ok(true), &mut || Ok(())).unwrap() {
        Outcome::Done(()) => panic!("it was deleted"),
        Outcome::Stays(obstacle) => obstacle,
    }
}

#[track_caller]
fn changed(world: &World, path: &str, happens: impl FnOnce()) {
    match stopped(world, happens) {
        Obstacle::Changed(found) => assert_eq!(found, Path::new(path)),
        other => panic!("{other}"),
    }
}

#[test]
fn a_file_that_changed_stops_it_with_nothing_deleted_and_is_taken_next_time() {
    let world = World::new();
    changed(&world, "tree/src/main.c", || world.write("src/main.c", "written meanwhile"));
    assert!(world.tree().join(".gitignore").exists() && world.private().join("HEAD").exists());
    world.round_trip();
    assert_eq!(fs::read_to_string(world.tree().join("src/main.c")).unwrap(), "written meanwhile");
}

#[test]
fn an_edit_of_equal_size_with_its_time_set_back_is_a_change() {
    let world = World::new();
    let path = world.tree().join("readme");
    let time = path.metadata().unwrap().modified().unwrap();
    changed(&world, "tree/readme", || {
        write(&path, "HELLO\n");
        File::open(&path).unwrap().set_modified(time).unwrap();
    });
    world.round_trip();
    assert_eq!(fs::read_to_string(path).unwrap(), "HELLO\n");
}

#[test]
fn a_file_replaced_by_another_of_the_same_bytes_is_a_change() {
    let world = World::new();
    let path = world.tree().join("readme");
    changed(&world, "tree/readme", || {
        write(&path.with_file_name("new"), "hello\n");
        fs::rename(path.with_file_name("new"), &path).unwrap();
    });
}

#[test]
fn a_change_in_the_private_git_dir_stops_it_before_a_file_of_the_tree_goes() {
    let world = World::new();
    changed(&world, "private/HEAD", || write(&world.private().join("HEAD"), "ref: refs/heads/x\n"));
    assert!(world.tree().join("readme").exists());
}

#[test]
fn a_file_that_was_added_stops_it_with_nothing_deleted() {
    let world = World::new();
    for path in ["added", "src/deep/added"] {
        let added = Path::new("tree").join(path);
        match stopped(&world, || world.write(path, "new")) {
            Obstacle::Added(found) => assert_eq!(found, added),
            other => panic!("{other}"),
        }
        assert!(world.tree().join(".gitignore").exists());
    }
    world.away();
    world.back();
    for path in ["added", "src/deep/added"] {
        assert_eq!(fs::read_to_string(world.tree().join(path)).unwrap(), "new");
    }
}

#[test]
fn a_file_that_was_added_to_an_ignored_folder_stops_it() {
    let mut world = World::new();
    world.ignored = Some(vec!["target/".into()]);
    world.write("target/deep/out", "x");
    changed(&world, "tree/target", || world.write("target/deep/notes", "by hand"));
    assert!(world.tree().join("target/deep/notes").exists());
    changed(&world, "tree/target", || world.write("target/deep/out", "longer"));
}

#[test]
fn a_file_that_was_deleted_meanwhile_is_no_matter() {
    let world = World::new();
    let away = world.put_away();
    fs::remove_file(world.tree().join("readme")).unwrap();
    assert!(matches!(away.discard(&mut || Ok(true), &mut || Ok(())).unwrap(), Outcome::Done(())));
    assert!(!world.tree().exists());
    world.back();
    assert_eq!(fs::read_to_string(world.tree().join("readme")).unwrap(), "hello\n");
}

#[test]
fn a_symlink_in_place_of_a_folder_is_not_followed() {
    let world = World::new();
    let victim = world.home.join("victim");
    changed(&world, "tree/src", || {
        fs::rename(world.tree().join("src"), &victim).unwrap();
        symlink(&victim, world.tree().join("src")).unwrap();
    });
    assert!(victim.join("main.c").exists() && victim.join("deep/er/file").exists());
}

#[test]
fn another_folder_in_place_of_a_folder_is_a_change() {
    let world = World::new();
    changed(&world, "tree/src", || {
        fs::rename(world.tree().join("src"), world.home.join("src")).unwrap();
        write(&world.tree().join("src/main.c"), "int main() {}\n");
    });
    assert!(world.tree().join("src/main.c").exists());
}

#[test]
fn a_process_that_comes_in_stops_it() {
    let world = World::new();
    let before = world.snapshot();
    let discarded = world.put_away().discard(&mut || Ok(false), &mut || Ok(())).unwrap();
    assert!(matches!(discarded, Outcome::Stays(Obstacle::InUse)));
    assert_same(&world.snapshot(), &before);
    // Both folders are compared, then the tree goes.
    let mut asked = 0;
    let mut is_idle = || {
        asked += 1;
        Ok(asked < 4)
    };
    let discarded = world.put_away().discard(&mut is_idle, &mut || Ok(())).unwrap();
    assert!(matches!(discarded, Outcome::Stays(Obstacle::InUse)));
    assert!(!world.tree().exists() && world.private().join("HEAD").exists());
    // What is left is put away beside what is in the vault already.
    world.away();
    assert_eq!(world.back(), Unpacked::default());
    assert_same(&world.snapshot(), &before);
}

#[test]
fn what_is_written_while_files_are_deleted_stays_and_is_added_to_the_item() {
    let world = World::new();
    world.write("src/edited", "first");
    let mut before = world.snapshot();
    let mut asked = 0;
    let mut is_idle = || {
        asked += 1;
        if asked == 3 {
            world.write("src/deep/late", "late");
        }
        Ok(true)
    };
    let discarded = world.put_away().discard(&mut is_idle, &mut || Ok(())).unwrap();
    assert!(
        matches!(&discarded, Outcome::Stays(Obstacle::Added(path)) if path.ends_with("src/deep"))
    );
    assert!(!world.tree().join("src/deep/er").exists());
    assert_eq!(fs::read_to_string(world.tree().join("src/deep/late")).unwrap(), "late");
    world.away();
    assert_eq!(world.back(), Unpacked::default());
    let after = world.snapshot();
    let late = Path::new("src/deep/late").to_owned();
    before[0].insert(late.clone(), after[0][&late].clone());
    assert_same(&after, &before);
}

#[test]
fn a_later_version_counts_and_the_earlier_one_stays_in_the_history_of_the_item() {
    let world = World::new();
    world.write("notes", "one");
    drop(world.put_away());
    world.write("notes", "two");
    world.away();
    world.back();
    assert_eq!(fs::read_to_string(world.tree().join("notes")).unwrap(), "two");
    let older = format!("refs/vault/{}^:tree/notes", super::ID);
    assert_eq!(world.in_vault(&["show", &older]), "one");
}
