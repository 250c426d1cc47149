//! System calls of our own program that fail, by strace.
//!
//! strace follows our threads and lets go of each process that becomes another program (`--detach-on=execve`), so
//! that no git fails by it. It counts each call by itself, in each thread. Which calls there are is recorded first; only
//! those that concern the home are made to fail: not those of the loader, nor the look at other processes, whose
//! number depends on the machine, nor reading what a git prints, which cannot fail.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use super::row::Scene;
use crate::fixture::files::names_in;
use crate::fixture::tools::{have, not_tested};

/// Calls of one sort, and the error that each fails with.
#[derive(Debug)]
pub struct Family {
    calls: &'static [&'static str],
    error: &'static str,
    /// One of how many the default selection plays.
    pub rarity: u64,
}

/// Every family. Not every machine knows each call.
const FAMILIES: [Family; 3] = [
    Family {
        calls: &["mkdir", "mkdirat", "write", "writev", "pwrite64", "ftruncate", "copy_file_range"],
        error: "ENOSPC",
        rarity: 30,
    },
    Family {
        calls: &[
            "rename",
            "renameat",
            "renameat2",
            "unlink",
            "unlinkat",
            "rmdir",
            "fsync",
            "fdatasync",
            "syncfs",
            "link",
            "linkat",
            "symlink",
            "symlinkat",
            "chmod",
            "fchmod",
            "fchmodat",
            "utimensat",
            "flock",
        ],
        error: "EIO",
        rarity: 30,
    },
    Family {
        calls: &[
            "openat",
            "statx",
            "newfstatat",
            "getdents64",
            "read",
            "pread64",
            "readlink",
            "readlinkat",
        ],
        error: "EIO",
        rarity: 150,
    },
];

/// A call of the n-th time, in each thread that has so many.
#[derive(Debug)]
pub struct Call {
    pub family: &'static Family,
    pub name: &'static str,
    pub nth: usize,
}

/// Whether calls can be made to fail here. If not, says so, or fails where `CI=true`.
#[track_caller]
pub fn can_fail() -> bool {
    if !have("strace") {
        return false;
    }
    let tried = Command::new("strace").args(["-o", "/dev/null", "true"]).status();
    let traces = tried.is_ok_and(|status| status.success());
    if !traces {
        not_tested("strace may not trace here");
    }
    traces
}

const STRACE: [&str; 5] =
    ["strace", "--follow-forks", "--detach-on=execve", "-qqq", "--decode-fds=path"];

/// Returns the command with a call failing.
pub fn disturbed(scene: &Scene, call: &Call) -> Command {
    let log = scene.test.home.join("fake/log").display().to_string();
    let Call { family, name, nth } = call;
    let inject = format!("--inject={name}:error={}:when={nth}", family.error);
    let trace = format!("--trace={name}");
    let before = [&STRACE[..], &["--output", &log, &trace, &inject]].concat();
    scene.command(&before, scene.row.words)
}

/// Returns the calls that failed.
pub fn failed(scene: &Scene) -> String {
    let log = fs::read(scene.test.home.join("fake/log")).unwrap_or_default();
    let log = String::from_utf8_lossy(&log).into_owned();
    log.lines().filter(|line| line.contains("(INJECTED)")).collect::<Vec<_>>().join("\n")
}

/// Runs the command undisturbed. Returns the calls that are to fail.
#[track_caller]
pub fn recorded(scene: &Scene) -> Vec<Call> {
    let folder = scene.test.home.join("fake/logs");
    fs::create_dir(&folder).unwrap();
    let log = folder.join("log").display().to_string();
    let names = FAMILIES.iter().flat_map(|family| family.calls);
    let names: Vec<String> = names.map(|name| format!("?{name}")).collect();
    let trace = format!("--trace={}", names.join(","));
    let before = [&STRACE[..], &["--output-separately", "--output", &log, &trace]].concat();
    let output = scene.command(&before, scene.row.words).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let logs: Vec<String> = names_in(&folder)
        .iter()
        .map(|name| String::from_utf8_lossy(&fs::read(folder.join(name)).unwrap()).into_owned())
        .collect();
    let home = scene.test.home.display().to_string();
    let mut calls = Vec::new();
    for family in &FAMILIES {
        for name in family.calls {
            let numbers = numbers(name, &logs, &home);
            calls.extend(numbers.into_iter().map(|nth| Call { family, name, nth }));
        }
    }
    calls
}

/// Returns the numbers of a call, in any thread, that concern the home. Of several that do the same one after the
/// other, such as reading on to the end of a file, only the first is taken.
fn numbers(name: &str, logs: &[String], home: &str) -> BTreeSet<usize> {
    let start = format!("{name}(");
    let mut numbers = BTreeSet::new();
    for log in logs {
        let mut last = "";
        let calls = log.lines().filter(|line| line.starts_with(&start));
        for (at, call) in calls.enumerate() {
            let about = match name {
                "read" | "pread64" | "getdents64" => {
                    call.split_once('>').map_or(call, |(about, _)| about)
                }
                _ => call.rsplit_once(" = ").map_or(call, |(about, _)| about),
            };
            // Not by the folder that it runs in.
            let is_about_home = call.replace(&format!("AT_FDCWD<{home}/app>"), "").contains(home);
            if is_about_home && about != last {
                numbers.insert(at + 1);
            }
            last = about;
        }
    }
    numbers
}
