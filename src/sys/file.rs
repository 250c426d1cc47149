//! Small files where others can write too: pointers, journals, facts, reflogs.
//!
//! Only a plain file is read: a pipe would block, a device never end. A new file is never an old
//! one: what a link of somebody's leads to is not written to.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// More than any file of ours holds.
const LARGEST: u64 = 16 << 20;

/// Opens a plain file.
pub fn open(path: &Path) -> io::Result<File> {
    plain(OpenOptions::new().read(true), OFlags::empty(), path)
}

/// Opens a plain file to write at its end; not through a symlink.
pub fn open_end(path: &Path) -> io::Result<File> {
    plain(OpenOptions::new().create(true).append(true), OFlags::NOFOLLOW, path)
}

fn plain(options: &mut OpenOptions, flags: OFlags, path: &Path) -> io::Result<File> {
    let flags = (flags | OFlags::NONBLOCK).bits().cast_signed();
    let file = options.custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is not a plain file")),
    }
}

/// Reads a plain file of git's, however large.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a small plain file.
pub fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= LARGEST {
        true => Ok(bytes),
        false => Err(io::Error::new(ErrorKind::InvalidData, "it is too large")),
    }
}

/// Makes a file that was not there before; what stood in its place goes.
pub fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::create_new(path)
}
