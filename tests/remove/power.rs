//! What a removal rests on is on the disk before the folder moves: a power loss finds it there.
//!
//! A small library notes every write, sync and new name of the program; the rename of the folder does
//! not go through it, but the crash right after that one ends the notes.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fixture::Test;
use crate::fixture::built::source;
use crate::fixture::state::entry;
use crate::fixture::trash::trashed;

#[track_caller]
fn library(test: &Test) -> PathBuf {
    let library = test.home.join("power.so");
    let source = source("tests/model/power.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
    assert!(compiler.status().unwrap().success());
    library
}

#[test]
fn pin_and_journal_are_synced_before_the_folder_moves() {
    for step in 1..50 {
        let test = Test::new();
        let path = test.new_sandbox(&["box"]);
        let entry = entry(&test, &path);
        let notes = test.home.join("notes");
        let run = test.program(&test.app(), &["rm", "box"]);
        let run = run.env("LD_PRELOAD", library(&test)).env("TORTURE_SYNCS", &notes);
        run.env("GIT_SANDBOX_CRASH_AT", step.to_string()).output();
        if path.exists() {
            continue;
        }
        let folder = trashed(&test).pop().unwrap();
        let files = [
            ("locked", entry.join("locked")),
            ("entry", entry),
            ("journal", folder.join("journal.json")),
            ("trash", folder),
        ];
        let inode = |path: &Path| fs::symlink_metadata(path).unwrap().ino().to_string();
        let known = files.map(|(name, path)| (name, inode(&path)));
        let notes = fs::read_to_string(notes).unwrap();
        let lines = notes.lines().filter_map(|line| {
            let mut words = line.split([' ', '\t']);
            let (what, inode) = (words.next()?, words.next()?);
            let (name, _) = known.iter().find(|(_, known)| known == inode)?;
            Some(format!("{what} {name}"))
        });
        let wanted = [
            "written locked",
            "synced locked",
            "named entry",
            "synced entry",
            "written journal",
            "synced journal",
            "named trash",
            "synced trash",
        ];
        assert_eq!(lines.collect::<Vec<_>>(), wanted);
        return;
    }
    panic!("it never moved");
}

#[test]
fn a_task_that_is_given_later_is_synced() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    let notes = test.home.join("notes");
    let run = test.program(&test.app(), &["new", "box", "The", "task"]);
    let run = run.env("LD_PRELOAD", library(&test)).env("TORTURE_SYNCS", &notes);
    assert!(run.output().status.success());
    let facts = entry(&test, &path).join("sandbox.json");
    assert!(fs::read_to_string(&facts).unwrap().contains("The task"));
    let inode = fs::symlink_metadata(&facts).unwrap().ino();
    let notes = fs::read_to_string(notes).unwrap();
    assert!(notes.lines().any(|line| line == format!("synced {inode}")), "{notes}");
}
