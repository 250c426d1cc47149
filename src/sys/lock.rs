//! Advisory file locks of the kernel: freed with their last holder, however it dies.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::error::{Doing, Result};
use crate::sys::signals;
use crate::ui::out::Out;

/// After this, a wait is explained.
const PATIENCE: Duration = Duration::from_secs(5);

/// A lock that is held until dropped, and by git children that were given it.
#[derive(Clone, Debug)]
pub struct Lock(Arc<File>);

impl Lock {
    /// Waits for the lock, alone; says who has it when that takes long.
    pub fn exclusive(path: &Path, out: Out) -> Result<Lock> {
        loop {
            let lock = Lock(Arc::new(open(path)?));
            if !lock.try_it(path)? {
                patiently(path, out, &lock.0, File::lock)?;
            }
            if lock.is_at(path) {
                lock.sign();
                return Ok(lock);
            }
        }
    }

    /// Takes the lock if it is free, for work that others may have to wait for.
    pub fn at_once(path: &Path) -> Result<Option<Lock>> {
        let lock = Lock::if_free(path)?;
        lock.iter().for_each(Lock::sign);
        Ok(lock)
    }

    /// Takes the lock if it is free.
    pub fn if_free(path: &Path) -> Result<Option<Lock>> {
        Lock(Arc::new(open(path)?)).take_if_free(path)
    }

    /// The same for a file that is open already: it may have been deleted since.
    fn take_if_free(self, path: &Path) -> Result<Option<Lock>> {
        Ok((self.try_it(path)? && self.is_at(path)).then_some(self))
    }

    /// Waits for the lock, to be shared with others.
    pub fn shared(path: &Path, out: Out) -> Result<Lock> {
        let file = open(path)?;
        patiently(path, out, &file, File::lock_shared)?;
        Ok(Lock(Arc::new(file)))
    }

    /// Waits until no process holds the lock alone.
    pub fn wait(path: &Path, out: Out) -> Result<()> {
        let file = open(path)?;
        patiently(path, out, &file, File::lock_shared)
    }

    /// A lock on a folder itself, which leaves no file behind.
    pub fn folder(path: &Path, out: Out) -> Result<Lock> {
        let file = File::open(path).at("open", path)?;
        patiently(path, out, &file, File::lock)?;
        Ok(Lock(Arc::new(file)))
    }

    /// To hand to git.
    pub fn file(&self) -> &Arc<File> {
        &self.0
    }

    /// Whether the file is still the one at its path: people delete lock files, and then another
    /// process could hold a new one.
    fn is_at(&self, path: &Path) -> bool {
        let place = |meta: &Metadata| (meta.dev(), meta.ino());
        let (ours, there) = (self.0.metadata(), std::fs::symlink_metadata(path));
        matches!((ours, there), (Ok(ours), Ok(there)) if place(&ours) == place(&there))
    }

    fn try_it(&self, path: &Path) -> Result<bool> {
        match self.0.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error).at("lock", path),
        }
    }

    /// Writes our process id into the file, to be shown to those who wait. Nothing is decided by it, so it
    /// may fail.
    fn sign(&self) {
        let mut file = &*self.0;
        let _ = file.set_len(0);
        let _ = file.rewind();
        let _ = write!(file, "{}", std::process::id());
    }
}

fn open(path: &Path) -> Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).custom_flags(flags);
    options.open(path).at("open", path)
}

/// Waits in a thread of its own, so that a wait that takes long can be explained, and ended.
fn patiently(path: &Path, out: Out, file: &File, wait: fn(&File) -> io::Result<()>) -> Result<()> {
    const TICK: Duration = Duration::from_millis(50);
    let file = file.try_clone().at("lock", path)?;
    let (done, waiting) = mpsc::channel();
    std::thread::spawn(move || done.send(wait(&file)));
    let mut waited = Duration::ZERO;
    loop {
        if let Ok(result) = waiting.recv_timeout(TICK) {
            return result.at("lock", path);
        }
        signals::check()?;
        waited += TICK;
        if waited == PATIENCE {
            out.note(&format!("waiting for {} to finish ('{}')", holder(path), path.display()));
        }
    }
}

fn holder(path: &Path) -> String {
    let mut text = String::new();
    let read = open(path).is_ok_and(|mut file| file.read_to_string(&mut text).is_ok());
    let pid = text.trim().parse::<u32>().ok().filter(|_| read);
    let Some(pid) = pid else { return "another git sandbox".into() };
    let command = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    match command.trim() {
        "" => format!("process {pid}"),
        name => format!("process {pid} ({name})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::out::When;

    #[test]
    fn a_lock_whose_file_was_deleted_while_it_was_waited_for_is_taken_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("lock");
        let is_open = |fd: &std::fs::DirEntry| fd.path().read_link().is_ok_and(|to| to == path);
        let opened =
            || std::fs::read_dir("/proc/self/fd").unwrap().flatten().filter(is_open).count();
        let first = Lock::if_free(&path).unwrap().unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| Lock::exclusive(&path, Out::new(When::Never)).unwrap());
            while opened() < 2 {
                std::thread::yield_now();
            }
            std::fs::remove_file(&path).unwrap();
            drop(first);
            let _second = second.join().unwrap();
            assert!(Lock::if_free(&path).unwrap().is_none());
        });
    }

    #[test]
    fn a_shared_lock_and_that_of_a_folder_keep_others_out() {
        let dir = tempfile::tempdir().unwrap();
        let (path, out) = (dir.path().join("lock"), Out::new(When::Never));
        let first = Lock::shared(&path, out).unwrap();
        let _second = Lock::shared(&path, out).unwrap();
        drop(first);
        assert!(Lock::if_free(&path).unwrap().is_none());
        Lock::wait(&path, out).unwrap();
        let _folder = Lock::folder(dir.path(), out).unwrap();
        assert!(File::open(dir.path()).unwrap().try_lock().is_err());
    }

    #[test]
    fn a_file_that_was_deleted_after_it_was_opened_is_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        for is_made_anew in [false, true] {
            let opened = Lock(Arc::new(open(&path).unwrap()));
            std::fs::remove_file(&path).unwrap();
            if is_made_anew {
                std::fs::write(&path, "").unwrap();
            }
            assert!(opened.take_if_free(&path).unwrap().is_none());
        }
        assert!(Lock::if_free(&path).unwrap().is_some());
    }
}
