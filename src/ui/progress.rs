//! Progress of long work, on a terminal and only once it takes long.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::ui::words;

/// Short work is done before anyone wonders.
const PATIENCE: Duration = Duration::from_secs(1);

/// How far something has come.
#[derive(Debug)]
pub struct Progress {
    what: &'static str,
    total: usize,
    done: usize,
    started: Instant,
    shown: bool,
}

impl Progress {
    /// Nothing of it is done.
    pub fn new(what: &'static str, total: usize) -> Progress {
        Progress { what, total, done: 0, started: Instant::now(), shown: false }
    }

    /// One more is done.
    pub fn step(&mut self) {
        self.done += 1;
        if self.started.elapsed() >= PATIENCE && io::stderr().is_terminal() {
            self.shown = true;
            let percent = self.done * 100 / self.total.max(1);
            let line = format!("\r{}: {percent}% ({}/{})", self.what, self.done, self.total);
            let _ = io::stderr().write_all(line.as_bytes());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = io::stderr().write_all(b"\n");
        }
    }
}

/// How many bytes of something of unknown size are done.
#[derive(Debug)]
pub struct Bytes {
    what: String,
    done: u64,
    started: Instant,
    shown: bool,
}

impl Bytes {
    /// Nothing of it is done. `what` must be visible already.
    pub fn new(what: String) -> Bytes {
        Bytes { what, done: 0, started: Instant::now(), shown: false }
    }

    /// This many more are done.
    pub fn add(&mut self, bytes: u64) {
        self.done += bytes;
        if self.started.elapsed() >= PATIENCE && io::stderr().is_terminal() {
            self.shown = true;
            let line = format!("\r{}: {}", self.what, words::size(self.done));
            let _ = io::stderr().write_all(line.as_bytes());
        }
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        if self.shown {
            let _ = io::stderr().write_all(b"\n");
        }
    }
}

/// Does work that reports nothing itself, and says on a terminal what it is once it takes long.
pub fn patiently<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (done, waiting) = mpsc::channel::<()>();
    let text = format!("{what}\n");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let is_late = waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
            if is_late && io::stderr().is_terminal() {
                let _ = io::stderr().write_all(text.as_bytes());
            }
        });
        let worked = work();
        drop(done);
        worked
    })
}
