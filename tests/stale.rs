//! What the tests of time share: a clock that is so many days after [`NOW`], the times of files by
//! it, what `reap` says last, and the end of work in the background.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};

use crate::removal::trashed;
use crate::repo::{NOW, Run, Test};

/// So many days after the sandboxes of a test were made.
pub fn after(days: i64) -> String {
    (moment() + TimeDelta::days(days)).to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

fn moment() -> DateTime<Utc> {
    NOW.parse().unwrap()
}

/// Gives a file or folder the time of that day.
pub fn set_time(path: &Path, days: i64) {
    let time = (moment() + TimeDelta::days(days)).into();
    fs::File::open(path).unwrap().set_modified(time).unwrap();
}

/// Gives a folder and everything below it the time of that day.
pub fn set_times(path: &Path, days: i64) {
    for entry in fs::read_dir(path).unwrap().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => set_times(&entry.path(), days),
            kind if kind.is_file() => set_time(&entry.path(), days),
            _ => {}
        }
    }
    set_time(path, days);
}

/// `git sandbox reap ...` on that day.
pub fn reap<'a>(test: &'a Test, days: i64, words: &[&str]) -> Run<'a> {
    test.run(&[&["reap"], words].concat()).env("GIT_SANDBOX_NOW", after(days))
}

/// What the files below a folder take.
pub fn room(path: &Path) -> u64 {
    let meta = fs::symlink_metadata(path).unwrap();
    let inside = meta.is_dir().then(|| fs::read_dir(path).unwrap());
    let inside = inside.into_iter().flatten().map(|entry| room(&entry.unwrap().path()));
    meta.blocks() * 512 + inside.sum::<u64>()
}

/// Less than a mebibyte, in words.
pub fn kib(bytes: u64) -> String {
    assert!(bytes < 1 << 20);
    format!("{}.{} KiB", bytes / 1024, bytes * 10 / 1024 % 10)
}

/// The last line of `reap`.
pub fn summary(retired: u32, kept: u32, purged: u32, freed: u64) -> String {
    format!("{retired} retired, {kept} kept, {purged} purged; {} can be freed\n", kib(freed))
}

/// Waits until the background has done something.
#[track_caller]
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until the trash has so many folders.
#[track_caller]
pub fn wait_for_trash(test: &Test, count: usize) {
    wait_until(&format!("{count} in the trash"), || trashed(test).len() == count);
}

/// Runs it, whatever it says; it must succeed.
#[track_caller]
pub fn succeeds(run: Run<'_>) {
    let output = run.output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The only folder in the trash.
#[track_caller]
pub fn only_one(test: &Test) -> PathBuf {
    let [folder] = &trashed(test)[..] else { panic!("{:?}", trashed(test)) };
    folder.clone()
}

/// The id of a folder in the trash.
pub fn id_of(folder: &Path) -> String {
    folder.file_name().unwrap().to_string_lossy().into_owned()
}

/// `git sandbox ...` by somebody who may not read everything: root may, unless that power is given
/// away.
pub fn without_power<'a>(test: &'a Test, dir: &Path, words: &[&str]) -> Run<'a> {
    let mut command = test.command(if test.am_root() { "setpriv" } else { "env" }, dir);
    if test.am_root() {
        command.args(["--inh-caps=-all", "--bounding-set=-all", "--"]);
    }
    command.args(["git", "sandbox"]).args(words);
    test.run_command(command)
}
