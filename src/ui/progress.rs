//! Progress of long work, on a terminal and only once it takes long.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

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
