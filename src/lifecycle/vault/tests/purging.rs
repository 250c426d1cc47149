//! The only thing that deletes for good.

use std::fs;

use super::{ID, World, git};
use crate::lifecycle::vault::Unpacked;

/// The bytes of the vault's objects.
fn room(world: &World) -> u64 {
    crate::sys::disk_usage::of(&world.vault_dir().join("objects")).unwrap()
}

pub fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(2 << 20).collect()
}

#[test]
fn a_purged_item_is_gone_with_its_bytes_and_others_are_whole() {
    let world = World::new();
    world.write("shared", noise(1));
    let before = world.snapshot();
    world.away();
    // A second item with the same file, and one of its own.
    git(
        &world.home,
        &[
            "--git-dir",
            world.vault_dir().to_str().unwrap(),
            "update-ref",
            "refs/vault/keeper",
            &format!("refs/vault/{ID}"),
        ],
    );
    world.back();
    world.write("own", noise(2));
    world.away();
    let full = room(&world);
    assert!(world.vault().purge(ID).unwrap());
    assert!(!world.vault().has(ID).unwrap());
    assert!(!world.vault().purge(ID).unwrap());
    let left = room(&world);
    assert!(left + (1 << 20) < full && left > 1 << 20, "{full} {left}");
    world.in_vault(&["fsck", "--full", "--strict"]);
    git(
        &world.home,
        &[
            "--git-dir",
            world.vault_dir().to_str().unwrap(),
            "update-ref",
            &format!("refs/vault/{ID}"),
            "refs/vault/keeper",
        ],
    );
    assert_eq!(world.back(), Unpacked::default());
    super::assert_same(&world.snapshot(), &before);
}

#[test]
fn a_forgotten_item_goes_with_the_next_purge() {
    let world = World::new();
    world.write("own", noise(3));
    world.away();
    let full = room(&world);
    assert!(world.vault().forget(ID).unwrap());
    assert!(!world.vault().forget(ID).unwrap());
    assert!(world.vault().items().unwrap().is_empty());
    assert_eq!(room(&world), full);
    fs::create_dir_all(world.tree()).unwrap();
    world.write("small", "x");
    fs::create_dir_all(world.private()).unwrap();
    world.away();
    assert!(world.vault().purge(ID).unwrap());
    assert!(room(&world) < 1 << 20);
}

#[test]
fn equal_bytes_are_stored_once() {
    let world = World::new();
    world.write("one", noise(4));
    world.away();
    let once = room(&world);
    world.back();
    fs::copy(world.tree().join("one"), world.tree().join("two")).unwrap();
    world.away();
    assert!(room(&world) < once + (1 << 20));
}
