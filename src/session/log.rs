//! The log of a background run, which is kept from growing without end.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use crate::error::Result;
use crate::sys::clock;
use crate::ui::out::visible;
use crate::ui::words;

/// A log that has grown beyond this is cut to its newest half.
const LARGEST: u64 = 8 << 20;

/// A log that a command appends to.
#[derive(Debug)]
pub struct Log {
    file: File,
    cut: u64,
}

impl Log {
    /// The log in a file that was opened to append.
    pub fn of(file: &File) -> io::Result<Log> {
        Ok(Log { file: file.try_clone()?, cut: 0 })
    }

    /// Adds a line of ours, with the time.
    pub fn say(&mut self, text: &str) -> Result<()> {
        let now = clock::rfc3339(clock::now()?);
        // What cannot be written there cannot be said anywhere.
        let _ = writeln!(self.file, "== {now} {}", visible(text));
        Ok(())
    }

    /// Cuts a log that is too large to its newest half, and says so in its first line. What the
    /// command writes in that moment may be cut too.
    pub fn cut(&mut self) -> io::Result<()> {
        let (length, largest) = (self.file.metadata()?.len(), largest());
        if length <= largest {
            return Ok(());
        }
        let mut newest = vec![0; usize::try_from(largest / 2).unwrap_or(usize::MAX)];
        self.file.read_exact_at(&mut newest, length - largest / 2)?;
        let line = newest.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let newest = &newest[line..];
        self.cut += length - newest.len() as u64;
        let head = format!("== {} of older output were cut\n", words::size(self.cut));
        self.file.set_len(0)?;
        self.file.write_all(&[head.as_bytes(), newest].concat())
    }
}

/// Debug builds can be told another size, for the tests.
fn largest() -> u64 {
    #[cfg(debug_assertions)]
    if let Some(size) = std::env::var("GIT_SANDBOX_LOG_SIZE").ok().and_then(|it| it.parse().ok()) {
        return size;
    }
    LARGEST
}
