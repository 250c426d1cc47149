//! Power loss: what was written and never synced is gone.
//!
//! A kill does not show it, for the kernel still has what was written. So a small library in C, loaded
//! into our program and only there, notes every write, sync and new name. Afterwards files that were
//! written and never synced are emptied, and names in folders that were never synced are taken back: of
//! pins and journals, on which a removal rests.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::world::World;

/// Builds the library.
pub fn build(folder: &Path) -> PathBuf {
    let library = folder.join("power.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/model/power.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]);
    let built = compiler.arg(&library).arg(source).arg("-ldl").status().unwrap();
    assert!(built.success(), "cc failed");
    library
}

/// Loses what was not synced.
pub fn lose(world: &World, syncs: &Path) {
    let notes = fs::read_to_string(syncs).unwrap_or_default();
    let mut written: HashSet<u64> = HashSet::new();
    let mut named: HashMap<u64, Vec<(PathBuf, PathBuf)>> = HashMap::new();
    for note in notes.lines() {
        let (what, rest) = note.split_once(' ').unwrap();
        let mut fields = rest.split('\t');
        let inode: u64 = fields.next().unwrap().parse().unwrap();
        match (what, fields.next(), fields.next()) {
            ("written", ..) => drop(written.insert(inode)),
            ("named", Some(old), Some(new)) => {
                named.entry(inode).or_default().push((old.into(), new.into()));
            }
            _ => {
                written.remove(&inode);
                named.remove(&inode);
            }
        }
    }
    let mut todo = vec![world.home.clone()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(meta) = fs::symlink_metadata(entry.path()) else { continue };
            if meta.is_dir() {
                todo.push(entry.path());
            } else if written.contains(&meta.ino()) && meta.len() > 0 {
                world.log(&format!("  lost: the content of {}", entry.path().display()));
                let name = entry.file_name();
                world
                    .forgot
                    .set(world.forgot.get() || name.to_string_lossy().starts_with("sandbox.run"));
                fs::write(entry.path(), "").unwrap();
            }
        }
    }
    for (old, new) in named.into_values().flatten() {
        let matters = new.ends_with("locked") || new.ends_with("journal.json");
        if matters && new.symlink_metadata().is_ok() && old.symlink_metadata().is_err() {
            world.log(&format!("  lost: the name {}", new.display()));
            fs::rename(new, old).unwrap();
        }
    }
}
