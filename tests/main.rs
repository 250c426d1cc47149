//! Black-box tests: `git sandbox` as users run it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, clippy::print_stderr)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

mod confine;
mod docs;
mod doctor;
mod faults;
mod fixture;
mod git;
mod hostile;
mod list;
mod merge;
mod new;
mod quarantine;
mod reap;
mod remove;
mod rename;
mod restore;
mod session;
mod setup;
mod spares;
mod trash;

/// Returns a file and all files that its `mod` lines lead to.
fn listed_from(file: &Path) -> BTreeSet<PathBuf> {
    let folder = match file.file_stem().unwrap().to_str().unwrap() {
        "main" | "mod" => file.parent().unwrap().to_owned(),
        stem => file.with_file_name(stem),
    };
    let text = fs::read_to_string(file).unwrap();
    let modules = text.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?.strip_suffix(';')
    });
    let files = modules.map(|name| {
        let file = folder.join(name).with_extension("rs");
        if file.exists() { file } else { folder.join(name).join("mod.rs") }
    });
    let mut listed: BTreeSet<_> = files.flat_map(|file| listed_from(&file)).collect();
    listed.insert(file.to_owned());
    listed
}

/// Returns all Rust files below a folder.
fn rust_files(folder: &Path) -> BTreeSet<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    let mut found: BTreeSet<_> = folders.iter().flat_map(|folder| rust_files(folder)).collect();
    found.extend(files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "rs")));
    found
}

/// Cargo does not compile a file that no `mod` line names, and its tests would silently never run.
/// This test is in `main.rs` because here it cannot be forgotten in the same way.
#[test]
fn every_file_is_listed_as_a_module() {
    let tests = fixture::built::source("tests");
    let mut listed = listed_from(&tests.join("main.rs"));
    for target in ["model/main.rs", "layers.rs"] {
        listed.extend(listed_from(&tests.join(target)));
    }
    let found = rust_files(&tests);
    let unlisted: Vec<_> = found.difference(&listed).collect();
    assert!(unlisted.is_empty(), "no 'mod' line names these files: {unlisted:#?}");
}
