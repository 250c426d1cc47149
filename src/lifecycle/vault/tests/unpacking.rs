//! Bringing back never replaces anything.

use std::fs;
use std::path::Path;

use super::{ID, World, git, write};
use crate::lifecycle::vault::Unpacked;

#[test]
fn what_stands_in_a_folder_stays_and_what_is_missing_is_added() {
    let world = World::new();
    let before = world.snapshot();
    world.away();
    world.write("readme", "another\n");
    world.write("src/deep", "a file where a folder was");
    world.write("src/more", "more");
    assert_eq!(world.back(), Unpacked::default());
    let read = |path: &str| fs::read_to_string(world.tree().join(path)).unwrap();
    assert_eq!(read("readme"), "another\n");
    assert_eq!(read("src/deep"), "a file where a folder was");
    assert_eq!(read("src/more"), "more");
    assert_eq!(read("src/main.c"), "int main() {}\n");
    let main = Path::new("src/main.c");
    assert_eq!(super::snapshot(&world.tree())[main], before[0][main]);
    let names = fs::read_dir(world.tree().parent().unwrap()).unwrap().count();
    assert_eq!(names, 1);
}

#[test]
fn a_symlink_in_the_way_is_not_followed() {
    let world = World::new();
    world.away();
    let victim = world.home.join("victim");
    write(&victim.join("file"), "precious");
    fs::create_dir_all(world.tree()).unwrap();
    std::os::unix::fs::symlink(&victim, world.tree().join("src")).unwrap();
    // Its permissions and time would be set through the link.
    let git = world.git();
    let tree = world.tree();
    let unpacked = world.vault().unpack(ID, Some(&git), Some(&tree), None);
    assert_eq!(unpacked.unwrap(), Unpacked::default());
    assert_eq!(fs::read_dir(&victim).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(world.tree().join("readme")).unwrap(), "hello\n");
}

#[test]
fn an_object_that_vanished_costs_one_file() {
    let world = World::new();
    world.away();
    let blob = git(&world.app(), &["rev-parse", "HEAD:src/main.c"]);
    let object = world.app().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    fs::remove_file(object).unwrap();
    assert_eq!(world.back().missing, [Path::new("tree/src/main.c")]);
    assert_eq!(fs::read_to_string(world.tree().join("readme")).unwrap(), "hello\n");
    assert!(world.private().join("HEAD").exists());
}

#[test]
fn an_object_that_vanished_costs_every_name_of_its_file() {
    let world = World::new();
    fs::hard_link(world.tree().join("src/main.c"), world.tree().join("twin.c")).unwrap();
    world.away();
    let blob = git(&world.app(), &["rev-parse", "HEAD:src/main.c"]);
    fs::remove_file(world.app().join(".git/objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    assert_eq!(world.back().missing, ["tree/src/main.c", "tree/twin.c"].map(Path::new));
    assert_eq!(fs::read_to_string(world.tree().join("readme")).unwrap(), "hello\n");
}

#[test]
fn an_object_with_other_bytes_costs_one_file() {
    let world = World::new();
    world.away();
    let app = world.app();
    write(&world.home.join("other"), "HELLO\n");
    let other = git(&app, &["hash-object", "-w", world.home.join("other").to_str().unwrap()]);
    let object = |id: &str| app.join(".git/objects").join(&id[..2]).join(&id[2..]);
    let damaged = object(&git(&app, &["rev-parse", "HEAD:readme"]));
    fs::remove_file(&damaged).unwrap();
    fs::copy(object(&other), damaged).unwrap();
    assert_eq!(world.back().missing, [Path::new("tree/readme")]);
    assert!(!world.tree().join("readme").exists());
    assert!(world.tree().join("src/main.c").exists());
}

#[test]
fn an_item_that_cannot_be_read_is_told_beside_the_others() {
    let world = World::new();
    world.away();
    let commit = world.in_vault(&["rev-parse", &format!("refs/vault/{ID}")]);
    let empty = world.in_vault(&["hash-object", "-t", "tree", "-w", "/dev/null"]);
    let odd = world.in_vault(&[
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.com",
        "commit-tree",
        "-m",
        "x",
        &empty,
    ]);
    world.in_vault(&["update-ref", "refs/vault/a-odd", &odd]);
    world.in_vault(&["update-ref", "refs/vault/z-copy", &commit]);
    write(&world.vault_dir().join("refs/vault/b-gone"), format!("{}\n", "1".repeat(40)));
    write(&world.vault_dir().join("refs/vault/c-empty"), "");
    let items = world.vault().items().unwrap();
    let told: Vec<_> = items.iter().map(|item| (item.id.as_str(), item.header.is_ok())).collect();
    let odd = [("a-odd", false), ("b-gone", false), ("c-empty", false)];
    assert_eq!(told, [&odd[..], &[(ID, true), ("z-copy", false)]].concat());
    assert!(world.vault().unpack("a-odd", None, Some(&world.tree()), None).is_err());
    assert!(!world.tree().exists());
    assert_eq!(world.back(), Unpacked::default());
}

#[test]
fn what_makes_the_vault_a_repository_is_written_again() {
    for (name, lost) in [("HEAD", true), ("HEAD", false), ("config", true), ("config", false)] {
        let world = World::new();
        world.write("mine", "mine\n");
        world.away();
        let path = world.vault_dir().join(name);
        let before = fs::read(&path).unwrap();
        if lost {
            fs::remove_file(&path).unwrap();
        } else {
            write(&path, "");
        }
        assert_eq!(world.vault().items().unwrap().len(), 1, "{name} {lost}");
        assert_eq!(fs::read(&path).unwrap(), before, "{name} {lost}");
        assert_eq!(world.back(), Unpacked::default());
        assert_eq!(fs::read_to_string(world.tree().join("mine")).unwrap(), "mine\n");
    }
}

#[test]
fn a_purge_of_one_leaves_the_bytes_of_another_that_cannot_be_read() {
    let world = World::new();
    world.write("mine", "mine\n");
    world.away();
    let commit = world.in_vault(&["rev-parse", &format!("refs/vault/{ID}")]);
    world.in_vault(&["update-ref", "refs/vault/other", &commit]);
    let path = world.vault_dir().join(format!("refs/vault/{ID}"));
    let before = fs::read(&path).unwrap();
    write(&path, "");
    assert!(world.vault().purge("other").unwrap());
    write(&path, before);
    assert_eq!(world.back(), Unpacked::default());
    assert_eq!(fs::read_to_string(world.tree().join("mine")).unwrap(), "mine\n");
}

#[test]
fn an_item_that_is_not_there_makes_nothing() {
    let world = World::new();
    world.away();
    let tree = world.tree();
    assert!(world.vault().unpack("other", None, Some(&tree), None).is_err());
    for id in ["", "../x", "a/b", ".x", "x.lock", "a..b", "-x", "a\nb"] {
        assert!(world.vault().unpack(id, None, Some(&tree), None).is_err(), "{id}");
    }
    assert!(!tree.exists());
}

#[test]
fn without_a_vault_there_are_no_items() {
    let world = World::new();
    assert!(world.vault().items().unwrap().is_empty());
    assert!(!world.vault().has(ID).unwrap());
    assert!(!world.vault().purge(ID).unwrap());
    assert!(!world.vault_dir().exists());
}
