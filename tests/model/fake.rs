//! A `git` that misbehaves once: this very program, called by that name.
//!
//! It counts its calls and does what the real one does, but at the n-th.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_current_process_group, kill_process};

/// Whether we were called as git.
pub fn is_wanted() -> bool {
    std::env::args_os().next().is_some_and(|name| std::path::Path::new(&name).ends_with("git"))
}

pub fn be_git() -> ExitCode {
    let variable = |name: &str| std::env::var(name).unwrap();
    let mut real = Command::new(variable("TORTURE_GIT"));
    real.args(std::env::args_os().skip(1));
    if count(&variable("TORTURE_COUNT")).to_string() != variable("TORTURE_NTH") {
        let error = real.exec();
        unreachable!("{error}");
    }
    let how = variable("TORTURE_HOW");
    if how.ends_with("After") {
        let _ = real.status();
    }
    match how.as_str() {
        "FailsBefore" | "FailsAfter" => return ExitCode::from(128),
        "DiesBefore" | "DiesAfter" => drop(kill_process(getpid(), Signal::KILL)),
        "AllDieBefore" | "AllDieAfter" => drop(kill_current_process_group(Signal::KILL)),
        _ => drop(File::create(variable("TORTURE_HANGS"))),
    }
    std::thread::sleep(Duration::from_secs(3600));
    ExitCode::FAILURE
}

/// How many calls there have been, this one included.
fn count(path: &str) -> u64 {
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    file.lock().unwrap();
    file.write_all(b".").unwrap();
    file.seek(SeekFrom::End(0)).unwrap()
}
