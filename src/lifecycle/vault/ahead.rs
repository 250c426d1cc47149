//! Reads small files ahead, in a second thread: most of the work of putting away is system calls.
//!
//! Only what is plain is read here. A file that is large, has holes, other names or extended attributes,
//! changes, or cannot be read is left to the reader that comes to it in turn.

use std::cell::Cell;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::fs::{FileType, fstat};

use crate::git::blob_id::{Blob, Format};
use crate::lifecycle::vault::folder::{Entry, Seen, has_attributes, open_file, settle};

/// Files up to this size are read ahead.
const SMALL: u64 = 1 << 14;
/// So many files of one folder at once.
const BATCH: usize = 64;
/// A folder with fewer files is not worth the trouble.
const WORTH: usize = 6;
/// So many files may wait to be used.
const MOST: usize = 512;

/// A file that was read.
pub struct Loaded {
    /// What the file system said before and after.
    pub seen: Seen,
    pub bytes: Vec<u8>,
    /// The id of its bytes, in the format of the base commit.
    pub id: String,
}

struct Job {
    folder: OwnedFd,
    names: Vec<CString>,
    done: Sender<Option<Loaded>>,
}

/// Who asks for files.
pub struct Asker {
    jobs: Option<Sender<Job>>,
    waiting: Cell<usize>,
}

/// The thread that reads.
pub struct Worker(Receiver<Job>);

/// Files of one folder that are being read, in the order of their names.
pub struct Batch {
    names: std::vec::IntoIter<CString>,
    loaded: Receiver<Option<Loaded>>,
}

/// Who asks, and who reads.
pub fn pair() -> (Asker, Worker) {
    let (jobs, queue) = channel();
    let alone = std::thread::available_parallelism().is_ok_and(|cores| cores.get() == 1);
    let jobs = (!alone).then_some(jobs);
    (Asker { jobs, waiting: Cell::new(0) }, Worker(queue))
}

impl Asker {
    /// Has the second half of a folder's files read.
    pub fn ask(&self, folder: &OwnedFd, entries: &[Entry]) -> Option<Batch> {
        let jobs = self.jobs.as_ref()?;
        let files = entries.iter().filter(|entry| entry.kind == FileType::RegularFile);
        let count = files.clone().count();
        if count < WORTH || self.waiting.get() > MOST {
            return None;
        }
        let names: Vec<CString> =
            files.skip(count / 2).take(BATCH).map(|entry| entry.name.clone()).collect();
        self.waiting.set(self.waiting.get() + names.len());
        let (done, loaded) = channel();
        let job = Job { folder: folder.try_clone().ok()?, names: names.clone(), done };
        jobs.send(job).ok()?;
        Some(Batch { names: names.into_iter(), loaded })
    }

    /// Takes a file out of a batch, whose files must be asked for in order.
    pub fn take(&self, batch: &mut Batch, name: &CString) -> Option<Loaded> {
        if batch.names.as_slice().first() != Some(name) {
            return None;
        }
        batch.names.next();
        self.waiting.set(self.waiting.get() - 1);
        batch.loaded.recv().ok().flatten()
    }
}

impl Worker {
    /// Reads until no file is asked for any more.
    pub fn work(self, format: Format) {
        for Job { folder, names, done } in self.0 {
            for name in names {
                if done.send(load(&folder, &name, format)).is_err() {
                    break;
                }
            }
        }
    }
}

fn load(folder: &OwnedFd, name: &CString, format: Format) -> Option<Loaded> {
    let file = open_file(folder, name, b"").ok()?;
    let stat = settle(&file).ok()?;
    let seen = Seen::of(&stat);
    let whole = u64::try_from(stat.st_blocks).ok()?.saturating_mul(512) >= seen.size;
    if seen.kind() != FileType::RegularFile || seen.size > SMALL || stat.st_nlink > 1 || !whole {
        return None;
    }
    if has_attributes(&file) != Ok(false) {
        return None;
    }
    // One more, to see that it ends there.
    let size = usize::try_from(seen.size).ok()?;
    let mut bytes = vec![0; size + 1];
    let count = rustix::io::pread(&file, &mut bytes[..], 0).ok()?;
    bytes.truncate(count);
    if count != size || Seen::of(&fstat(&file).ok()?) != seen {
        return None;
    }
    let mut blob = Blob::new(format, seen.size);
    blob.update(&bytes);
    Some(Loaded { seen, bytes, id: blob.id() })
}
