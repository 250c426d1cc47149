//! Copies of large files: into a file without a name, which it gets once its bytes are proved. As a
//! clone where the file system can. Where there are no such files, git writes large ones.

use std::ffi::CStr;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{Stat, Timespec};

use super::job::Job;
use crate::git::blob_id::Format;

/// Copies a file of this size to a name in a folder, if its bytes are those of the blob.
#[cfg(target_os = "linux")]
pub fn copy(
    source: &OwnedFd,
    to: BorrowedFd<'_>,
    name: &CStr,
    size: u64,
    job: &Job,
    format: Format,
    time: Option<&Timespec>,
) -> Option<Stat> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{AtFlags, CWD, OFlags, ioctl_ficlone, linkat, openat};

    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let target = openat(to, c".", flags, job.mode()).ok()?;
    let is_clone = ioctl_ficlone(&target, source).is_ok();
    let proved = match is_clone {
        true => is_wanted(&target, None, size, job, format),
        false => is_wanted(source, Some(&target), size, job, format),
    };
    // A clone of a file that has grown meanwhile is longer.
    let length = rustix::fs::fstat(&target).ok()?.st_size;
    if !proved || u64::try_from(length) != Ok(size) {
        return None;
    }
    let path = format!("/proc/self/fd/{}", target.as_raw_fd());
    super::job::finish(&target, time).ok()?;
    linkat(CWD, path, to, name, AtFlags::SYMLINK_FOLLOW).ok()?;
    // The new name has changed the change time.
    rustix::fs::fstat(&target).ok()
}

#[cfg(not(target_os = "linux"))]
pub fn copy(
    _source: &OwnedFd,
    _to: BorrowedFd<'_>,
    _name: &CStr,
    _size: u64,
    _job: &Job,
    _format: Format,
    _time: Option<&Timespec>,
) -> Option<Stat> {
    None
}

/// Whether a file is what is wanted; what is read is written to `target`, if there is one.
#[cfg(target_os = "linux")]
fn is_wanted(
    file: &OwnedFd,
    target: Option<&OwnedFd>,
    size: u64,
    job: &Job,
    format: Format,
) -> bool {
    use rustix::io::{Errno, read};

    use crate::git::blob_id::Blob;
    use crate::sys::signals;

    const PIECE: usize = 1 << 20;
    let (mut blob, mut piece, mut left) = (Blob::new(format, size), vec![0; PIECE], size);
    while left > 0 {
        let wanted = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
        let count = match read(file, &mut piece[..wanted]) {
            Ok(0) => return false,
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(_) => return false,
        };
        let bytes = &piece[..count];
        let written = target.is_none_or(|target| super::job::write_all(target, bytes).is_ok());
        let returns = job.without_returns && bytes.contains(&b'\r');
        if !written || returns || signals::check().is_err() {
            return false;
        }
        blob.update(bytes);
        left -= count as u64;
    }
    blob.is(job.id)
}
