//! Every kind of file there can be.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::World;

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn age(path: &Path, nanoseconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(nanoseconds);
    File::open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn a_clean_sandbox_is_named_by_its_commit_and_stores_no_file() {
    let world = World::new();
    drop(world.put_away());
    let header = world.vault().items().unwrap().remove(0).header.unwrap();
    assert_eq!(world.in_vault(&["rev-list", "--count", &format!("refs/vault/{}", super::ID)]), "1");
    assert!(header.stored > 0 && header.stored < header.size);
    world.round_trip();
    assert_eq!(world.stored(), [""; 0]);
    let commit = super::git(&world.app(), &["rev-parse", "HEAD"]);
    let items = world.vault().items().unwrap();
    let header = items[0].header.as_ref().unwrap();
    assert_eq!((items.len(), items[0].id.as_str()), (1, super::ID));
    assert_eq!(header.bases, [commit]);
    assert_eq!(header.journal["odd"], serde_json::json!(["\u{0}", 1.5, null]));
}

#[test]
fn changed_new_and_deleted_files_come_back() {
    let world = World::new();
    world.write("readme", "changed\n");
    world.write("src/new", "new\n");
    world.write("empty", "");
    fs::remove_file(world.tree().join("src/main.c")).unwrap();
    crate::sys::delete::tree(&world.tree().join("src/deep")).unwrap();
    world.round_trip();
    assert_eq!(world.stored(), ["tree/empty", "tree/readme", "tree/src/new"]);
    assert_eq!(
        world.records("deleted"),
        ["deleted tree/src/deep/er/file", "deleted tree/src/main.c"]
    );
    assert_eq!(
        world.in_vault(&["show", &format!("refs/vault/{}:tree/readme", super::ID)]),
        "changed"
    );
}

#[test]
fn a_file_and_a_folder_that_changed_places_come_back() {
    let world = World::new();
    fs::remove_file(world.tree().join("readme")).unwrap();
    world.write("readme/inside", "x");
    crate::sys::delete::tree(&world.tree().join("src")).unwrap();
    world.write("src", "a file");
    world.round_trip();
}

#[test]
fn permissions_times_and_empty_folders_come_back() {
    let world = World::new();
    let tree = world.tree();
    chmod(&tree.join("readme"), 0o444);
    chmod(&tree.join("src/main.c"), 0o4711);
    age(&tree.join("readme"), 1_234_567_890_123_456_789);
    fs::create_dir_all(tree.join("empty/inside")).unwrap();
    chmod(&tree.join("empty/inside"), 0o2750);
    chmod(&tree.join("src/deep"), 0o555);
    age(&tree.join("empty"), 999_999_999);
    age(&tree.join("src"), 1);
    age(&tree, 1_600_000_000_000_000_001);
    age(&world.private(), 1_600_000_000_000_000_002);
    world.round_trip();
    assert_eq!(world.stored(), [""; 0]);
}

#[test]
fn symlinks_come_back_and_are_not_followed() {
    let world = World::new();
    let victim = world.home.join("victim");
    super::write(&victim.join("file"), "precious");
    symlink(&victim, world.tree().join("folder")).unwrap();
    symlink(victim.join("file"), world.tree().join("file")).unwrap();
    symlink("nowhere\n\t", world.tree().join("dangling")).unwrap();
    symlink("x", world.tree().join(".gitmodules")).unwrap();
    fs::remove_file(world.tree().join("readme")).unwrap();
    symlink("src/main.c", world.tree().join("readme")).unwrap();
    world.round_trip();
    assert_eq!(fs::read_to_string(victim.join("file")).unwrap(), "precious");
    assert_eq!(world.stored(), [""; 0]);
    assert_eq!(world.records("deleted"), [""; 0]);
}

/// The second half of a folder's files is read ahead.
#[test]
fn of_files_that_are_read_ahead_hard_links_and_holes_come_back() {
    let world = World::new();
    let tree = world.tree();
    for number in 0..12 {
        world.write(&format!("many/{number:02}"), number.to_string());
    }
    for name in ["many/10-too", "many/11-too", "other"] {
        fs::hard_link(tree.join("many/10"), tree.join(name)).unwrap();
    }
    let holes = File::create(tree.join("many/holes")).unwrap();
    holes.write_all_at(b"data", 12 << 10).unwrap();
    let blocks = || fs::metadata(tree.join("many/holes")).unwrap().blocks();
    let (before, held) = (super::snapshot(&tree), blocks());
    world.away();
    world.back();
    assert_eq!(super::snapshot(&tree), before);
    assert_eq!((world.records("same").len(), blocks()), (3, held));
}

#[test]
fn hard_links_come_back_as_one_file() {
    let world = World::new();
    let tree = world.tree();
    world.write("one", "linked");
    fs::hard_link(tree.join("one"), tree.join("src/two")).unwrap();
    fs::hard_link(tree.join("one"), tree.join("zzz")).unwrap();
    fs::hard_link(tree.join("readme"), tree.join("src/readme")).unwrap();
    // Its other name is not the sandbox's.
    fs::hard_link(tree.join("src/main.c"), world.home.join("outside")).unwrap();
    let before = super::snapshot(&tree);
    world.away();
    world.back();
    assert_eq!(super::snapshot(&tree), before);
    assert_eq!(world.records("same").len(), 3);
    assert_eq!(fs::read_to_string(world.home.join("outside")).unwrap(), "int main() {}\n");
}

#[test]
fn names_of_any_bytes_come_back() {
    let world = World::new();
    let names: [&[u8]; 9] =
        [b"a\nb", b"\xff\xfe", b" lead", b"quote\"d\\", b"%2egit", b"-x", b"tab\t", b".gitx", b"~"];
    for name in names {
        let folder = world.tree().join(OsStr::from_bytes(name));
        super::write(&folder.join(OsStr::from_bytes(name)), name);
        symlink(OsStr::from_bytes(name), folder.join("link")).unwrap();
    }
    let longest = "x".repeat(255);
    super::write(&world.tree().join(&longest), "long");
    world.round_trip();
}

#[test]
fn a_commit_with_names_of_any_bytes_names_them() {
    let world = World::with(&[], |app| {
        super::write(&app.join(OsStr::from_bytes(b"a\nb/c\"\xff")), "x");
        super::write(&app.join("a.b"), "1");
        super::write(&app.join("a/b"), "2");
        super::write(&app.join("a-b"), "3");
        super::write(&app.join("a0"), "4");
    });
    world.round_trip();
    assert_eq!(world.stored(), [""; 0]);
}

#[test]
fn holes_come_back_as_holes() {
    let committed = |path: &Path| {
        let file = File::create(path).unwrap();
        file.set_len(3 << 20).unwrap();
        file.write_all_at(b"middle", 1 << 20).unwrap();
    };
    let world = World::with(&[], |app| committed(&app.join("named")));
    committed(&world.tree().join("named"));
    let file = File::create(world.tree().join("large")).unwrap();
    file.set_len(5 << 30).unwrap();
    file.write_all_at(b"start", 0).unwrap();
    file.write_all_at(&vec![7; 100_000], 1 << 30).unwrap();
    File::create(world.tree().join("hole")).unwrap().set_len(1 << 20).unwrap();
    let small = File::create(world.tree().join("small")).unwrap();
    small.set_len(100_000).unwrap();
    small.write_all_at(b"end", 90_000).unwrap();
    let before = ["named", "hole", "small"].map(|name| super::snapshot(&world.tree().join(name)));
    world.away();
    world.back();
    let after = ["named", "hole", "small"].map(|name| super::snapshot(&world.tree().join(name)));
    assert_eq!(after, before);
    assert_eq!(world.stored(), ["tree/hole", "tree/large", "tree/small"]);
    let file = File::open(world.tree().join("large")).unwrap();
    let mut bytes = [1; 9];
    file.read_exact_at(&mut bytes, (1 << 30) + 99_996).unwrap();
    assert_eq!(&bytes, b"\x07\x07\x07\x07\0\0\0\0\0");
    let taken = std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap());
    assert!(taken < 2048, "{taken} blocks");
    assert!(super::snapshot(&world.tree().join("named"))[Path::new("")].contains("Some("));
}

#[test]
fn large_files_are_streamed() {
    let pattern = |seed: u32| -> Vec<u8> {
        (0..5_000_000_u32).map(|n| (n.wrapping_mul(seed) >> 24) as u8).collect()
    };
    let world = World::with(&[], |app| {
        super::write(&app.join("same"), pattern(2_654_435_761));
        super::write(&app.join("other"), pattern(40_503));
    });
    world.write("other", pattern(2_246_822_519));
    world.write("new", pattern(3_266_489_917));
    world.round_trip();
    assert_eq!(world.stored(), ["tree/new", "tree/other"]);
}

/// Files up to some size are held in memory, larger ones are not.
#[test]
fn files_of_about_the_size_from_which_they_are_streamed_come_back() {
    for size in [(1 << 20) - 1, 1 << 20, (1 << 20) + 1] {
        let world = World::with(&[], |app| {
            super::write(&app.join("same"), vec![b'a'; size]);
            super::write(&app.join("other"), vec![b'b'; size]);
        });
        world.write("other", vec![b'c'; size]);
        world.write("new", vec![b'd'; size]);
        world.round_trip();
        assert_eq!(world.stored(), ["tree/new", "tree/other"], "{size}");
    }
}

#[test]
fn sockets_and_fifos_are_named_and_dropped() {
    let world = World::new();
    let before = world.snapshot();
    let socket = UnixListener::bind(world.tree().join("socket")).unwrap();
    drop(socket);
    mknodat(CWD, world.tree().join("src/fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    world.away();
    world.back();
    let mut after = world.snapshot();
    // Making these two set the times of their folders.
    for path in ["", "src"] {
        after[0].insert(path.into(), before[0][Path::new(path)].clone());
    }
    super::assert_same(&after, &before);
    assert_eq!(world.records("socket"), ["socket tree/socket"]);
    assert_eq!(world.records("fifo"), ["fifo tree/src/fifo"]);
}

#[test]
fn ignored_files_go_and_precious_ones_come_back() {
    let mut world = World::new();
    world.ignored = Some(["target/", "a.log", ".env"].map(Into::into).to_vec());
    let before = world.snapshot();
    for path in ["target/debug/out", "target/x.env", "a.log"] {
        world.write(path, "made");
    }
    world.write(".env", "SECRET=1");
    world.away();
    world.back();
    let after = super::snapshot(&world.tree());
    assert_eq!(after.len(), before[0].len() + 1);
    assert_eq!(fs::read_to_string(world.tree().join(".env")).unwrap(), "SECRET=1");
    assert_eq!(world.records("ignored"), ["ignored tree/a.log", "ignored tree/target"]);
}

#[test]
fn without_a_list_nothing_counts_as_ignored() {
    let world = World::new();
    world.write("target/debug/out", "made");
    world.write("a.log", "log");
    world.round_trip();
}

#[test]
fn a_committed_file_in_an_ignored_folder_is_never_dropped() {
    let mut world = World::with(&[], |app| {
        super::write(&app.join("target/kept/file"), "one");
        super::write(&app.join("target/same"), "two");
        super::git(app, &["add", "-f", "target"]);
    });
    world.ignored = Some(vec!["target/".into()]);
    world.write("target/kept/file", "edited");
    world.write("target/junk/file", "junk");
    world.write("target/kept/junk", "junk");
    world.away();
    world.back();
    let names = |path: &str| {
        let entries = fs::read_dir(world.tree().join(path)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names("target"), ["kept", "same"]);
    assert_eq!(names("target/kept"), ["file"]);
    assert_eq!(fs::read_to_string(world.tree().join("target/kept/file")).unwrap(), "edited");
}
