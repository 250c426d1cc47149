//! One file to copy, and the end of every copy.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, Stat, Timespec, Timestamps, UTIME_OMIT, fstat, futimens};
use rustix::io::{Errno, write};

/// A file to copy.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Its path, relative to the top.
    pub path: &'a [u8],
    /// The id of its blob.
    pub id: &'a [u8],
    /// Whether it is executable.
    pub is_executable: bool,
    /// Its size as far as the donor's index knows it; 0 where git did not trust its times.
    pub size: u32,
    /// When it was changed, in seconds and nanoseconds, as far as the donor's index knows it.
    pub time: (u32, u32),
    /// Whether it is left alone if there is a carriage return in it.
    pub without_returns: bool,
}

impl Job<'_> {
    /// The permissions that it is made with; the umask takes from them.
    pub fn mode(&self) -> Mode {
        Mode::from_raw_mode(if self.is_executable { 0o777 } else { 0o666 })
    }
}

/// Writes all of these bytes.
pub fn write_all(file: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match write(file, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Gives a copy its time. Returns what the system says about it then.
pub fn finish(file: &OwnedFd, time: Option<&Timespec>) -> Result<Stat, Errno> {
    if let Some(time) = time {
        let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        futimens(file, &Timestamps { last_access, last_modification: *time })?;
    }
    fstat(file)
}
