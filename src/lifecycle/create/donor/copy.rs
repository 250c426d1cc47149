//! Copies files from one checkout into another, each only if its bytes hash to the id that is wanted.
//!
//! Folders are entered by descriptor on both sides, never through a symlink. A file is made anew, under
//! our umask, and never in the place of another. It gets its name only once all its bytes are proved, so
//! that a crash leaves nothing but files of the commit, or beginnings of them.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{
    AtFlags, FileType, Mode, Nsecs, OFlags, Stat, Timespec, fstat, mkdirat, openat, unlinkat,
};
use rustix::io::{Errno, read};

use super::job::{Job, finish, write_all};
use super::large;
use crate::git::blob_id::{Blob, Format};
use crate::sys::{crash_point, signals};

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const SOURCE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const NEW: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// Up to here a file is read as a whole before it is written.
const SMALL: u64 = 1 << 20;
/// Past this an index does not have the whole size of a file.
const LARGEST: u64 = 1 << 32;
/// How many files a thread takes at once.
const PORTION: usize = 128;

/// Where from and where to.
#[derive(Debug)]
pub struct Copier<'a> {
    /// The top folder of the donor.
    pub from: &'a OwnedFd,
    /// The top folder of the new checkout.
    pub to: &'a OwnedFd,
    /// The format of the ids.
    pub format: Format,
    /// When the new checkout was begun, in seconds.
    pub now: i64,
}

impl Copier<'_> {
    /// Copies the files, which are sorted by path. Returns which were copied, by their numbers, in
    /// order, and what the system says about the copies.
    pub fn copy(&self, jobs: &[Job], threads: usize) -> Vec<(usize, Stat)> {
        let (next, copied) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            let mut mine = Vec::new();
            let mut walk = Walk::new(self);
            loop {
                let start = next.fetch_add(PORTION, Ordering::Relaxed);
                if start >= jobs.len() || signals::check().is_err() {
                    break;
                }
                crash_point::reached();
                let end = jobs.len().min(start + PORTION);
                for (number, job) in jobs.iter().enumerate().take(end).skip(start) {
                    mine.extend(walk.copy(job).map(|stat| (number, stat)));
                }
            }
            if let Ok(mut copied) = copied.lock() {
                copied.append(&mut mine);
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads.min(jobs.len().div_ceil(PORTION)) {
                scope.spawn(work);
            }
            work();
        });
        let mut copied = copied.into_inner().unwrap_or_default();
        copied.sort_unstable_by_key(|(number, _)| *number);
        copied
    }

    /// Reads a small file of the donor, if its bytes are those of a blob.
    pub fn read(&self, path: &[u8], id: &[u8]) -> Option<Vec<u8>> {
        let mut walk = Walk::new(self);
        let job =
            Job { path, id, is_executable: false, size: 0, time: (0, 0), without_returns: false };
        walk.enter(path);
        walk.read(&job)?;
        Some(walk.buffer)
    }
}

/// A folder on the way to a file.
struct Step {
    /// Where its path ends, behind the `/`.
    end: usize,
    from: Option<OwnedFd>,
    to: Option<OwnedFd>,
}

/// The way to the last file.
struct Walk<'a> {
    copier: &'a Copier<'a>,
    path: Vec<u8>,
    steps: Vec<Step>,
    buffer: Vec<u8>,
}

impl<'a> Walk<'a> {
    fn new(copier: &'a Copier<'a>) -> Walk<'a> {
        Walk { copier, path: Vec::new(), steps: Vec::new(), buffer: Vec::new() }
    }

    fn copy(&mut self, job: &Job) -> Option<Stat> {
        self.enter(job.path);
        let source = self.open(job)?;
        let (size, time) = self.look(&source, job)?;
        let name = self.name()?;
        if size > SMALL {
            let format = self.copier.format;
            return large::copy(&source, self.target()?, &name, size, job, format, time.as_ref());
        }
        self.fill(&source, job, size)?;
        let target = openat(self.target()?, &name, NEW, job.mode()).ok()?;
        let written =
            write_all(&target, &self.buffer).and_then(|()| finish(&target, time.as_ref()));
        if written.is_err() {
            // Half a file would be taken for a user's.
            let _ = unlinkat(self.target()?, &name, AtFlags::empty());
        }
        written.ok()
    }

    fn read(&mut self, job: &Job) -> Option<()> {
        let source = self.open(job)?;
        let (size, _) = self.look(&source, job).filter(|(size, _)| *size <= SMALL)?;
        self.fill(&source, job, size)
    }

    /// The size that a file must have, and the time that the copy gets. As the index has them where it
    /// can: a file that is not as the index says does not have the bytes that are wanted either.
    fn look(&self, source: &OwnedFd, job: &Job) -> Option<(u64, Option<Timespec>)> {
        if job.size != 0 && u64::from(job.size) <= SMALL {
            return Some((job.size.into(), self.time(job.time.0.into(), job.time.1.into())));
        }
        let stat = fstat(source).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let size = u64::try_from(stat.st_size).ok().filter(|size| is_file && *size < LARGEST)?;
        let time = self.time(stat.st_mtime, stat.st_mtime_nsec.try_into().ok()?);
        (job.size == 0 || u64::from(job.size) == size).then_some((size, time))
    }

    fn open(&self, job: &Job) -> Option<OwnedFd> {
        let from = match self.steps.last() {
            Some(step) => step.from.as_ref()?,
            None => self.copier.from,
        };
        let name = self.name().filter(|_| is_fine(&job.path[self.lead()..]))?;
        openat(from, &name, SOURCE, Mode::empty()).ok()
    }

    /// Reads a file and proves it.
    fn fill(&mut self, source: &OwnedFd, job: &Job, size: u64) -> Option<()> {
        let whole = usize::try_from(size).ok()?;
        self.buffer.resize(whole, 0);
        let mut at = 0;
        while at < whole {
            match read(source, &mut self.buffer[at..]) {
                Ok(0) => return None,
                Ok(count) => at += count,
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
        let mut blob = Blob::new(self.copier.format, size);
        blob.update(&self.buffer);
        let returns = job.without_returns && self.buffer.contains(&b'\r');
        (!returns && blob.is(job.id)).then_some(())
    }

    /// A time for a copy, unless it is one to come, which git would never trust.
    fn time(&self, tv_sec: i64, tv_nsec: Nsecs) -> Option<Timespec> {
        (tv_sec <= self.copier.now).then_some(Timespec { tv_sec, tv_nsec })
    }

    fn lead(&self) -> usize {
        self.steps.last().map_or(0, |step| step.end)
    }

    fn name(&self) -> Option<CString> {
        CString::new(&self.path[self.lead()..]).ok()
    }

    /// Goes to the folder of a file, as far as the donor has it.
    fn enter(&mut self, path: &[u8]) {
        while let Some(step) = self.steps.last()
            && !path.starts_with(&self.path[..step.end])
        {
            self.steps.pop();
        }
        let mut at = self.lead();
        while let Some(slash) = path[at..].iter().position(|byte| *byte == b'/') {
            let name = &path[at..at + slash];
            let above = match self.steps.last() {
                Some(step) => step.from.as_ref(),
                None => Some(self.copier.from),
            };
            let name = CString::new(name).ok().filter(|_| is_fine(name));
            let from = above
                .zip(name)
                .and_then(|(above, name)| openat(above, &name, FOLDER, Mode::empty()).ok());
            at += slash + 1;
            self.steps.push(Step { end: at, from, to: None });
        }
        path.clone_into(&mut self.path);
    }

    /// The folder of the copy, made where it is not there yet.
    fn target(&mut self) -> Option<BorrowedFd<'_>> {
        let known = self.steps.iter().rposition(|step| step.to.is_some());
        for number in known.map_or(0, |number| number + 1)..self.steps.len() {
            let (before, rest) = self.steps.split_at_mut(number);
            let (above, lead) = match before.last() {
                Some(step) => (step.to.as_ref()?, step.end),
                None => (self.copier.to, 0),
            };
            let step = &mut rest[0];
            let name = CString::new(&self.path[lead..step.end - 1]).ok()?;
            match mkdirat(above, &name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(_) => return None,
            }
            step.to = Some(openat(above, &name, FOLDER, Mode::empty()).ok()?);
        }
        Some(match self.steps.last() {
            Some(step) => step.to.as_ref()?.as_fd(),
            None => self.copier.to.as_fd(),
        })
    }
}

/// Whether a part of a path can be one of a checkout.
fn is_fine(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.eq_ignore_ascii_case(b".git")
}
