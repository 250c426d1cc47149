//! The files of a landing in the private git dir of a checkout: the journal, our index, and git's own
//! `index.lock`, which is ours for a moment.
//!
//! The lock is a second name of a file that the journal knows by device, number and time, so that what
//! a crash left of it can be told from a lock of the user's git.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Doing, Result};
use crate::sys::file;

const JOURNAL: &str = "sandbox.landing";
/// Our index, once files may have been written by it.
const INDEX: &str = "sandbox.landing.index";
/// A copy of the user's index, before.
const COPY: &str = "sandbox.landing.copy";
const HELD: &str = "sandbox.landing.held";
/// How often, and how long each time, another git is waited for.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// What is being landed in a checkout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// The branch that moves, in full.
    pub branch: String,
    /// The commit it was at.
    pub old: String,
    /// The commit it goes to.
    pub new: String,
    /// Paths that differ between the two and were not there before: the user had deleted them.
    pub absent: Vec<Vec<u8>>,
    /// The file that `index.lock` is a name of, while we hold it.
    lock: Option<FileId>,
}

/// A file, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileId {
    device: u64,
    inode: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl From<&Metadata> for FileId {
    fn from(meta: &Metadata) -> FileId {
        FileId {
            device: meta.dev(),
            inode: meta.ino(),
            seconds: meta.mtime(),
            nanoseconds: meta.mtime_nsec(),
        }
    }
}

/// Where the files of a landing are.
#[derive(Clone, Debug)]
pub struct Files {
    git_dir: PathBuf,
}

impl Files {
    /// Those of a private git dir.
    pub fn of(git_dir: &Path) -> Files {
        Files { git_dir: git_dir.to_owned() }
    }

    /// The journal.
    pub fn journal(&self) -> PathBuf {
        self.git_dir.join(JOURNAL)
    }

    /// The index that is to become the user's.
    pub fn index(&self) -> PathBuf {
        self.git_dir.join(INDEX)
    }

    /// The copy of the user's index that a look needs.
    pub fn copy(&self) -> PathBuf {
        self.git_dir.join(COPY)
    }

    /// The user's index.
    pub fn users_index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// git's lock of it.
    fn index_lock(&self) -> PathBuf {
        self.git_dir.join("index.lock")
    }

    fn held(&self) -> PathBuf {
        self.git_dir.join(HELD)
    }

    /// Whether a landing has left anything.
    pub fn are_there(&self) -> bool {
        let all = [self.journal(), self.index(), self.copy(), self.held()];
        all.iter().any(|path| path.symlink_metadata().is_ok())
    }

    /// Reads the journal, if there is one.
    pub fn read(&self) -> Result<Option<Journal>> {
        let path = self.journal();
        let bytes = match file::read_small(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.at("read", &path)?,
        };
        serde_json::from_slice(&bytes).map(Some).map_err(io::Error::from).at("read", &path)
    }

    /// Writes the journal, with the file that the lock will be a name of.
    pub fn begin(&self, journal: &mut Journal) -> Result<()> {
        let held = self.held();
        let write = || {
            let mut file = file::create(&held)?;
            file.write_all(b"git sandbox merge holds this lock\n")?;
            // After a power loss it must still be the file that the journal names.
            file.sync_all()?;
            Ok(FileId::from(&file.metadata()?))
        };
        journal.lock = Some(write().at("write", &held)?);
        let bytes = serde_json::to_vec(journal).map_err(io::Error::from);
        file::replace(&self.journal(), &bytes.at("write", &self.journal())?)?;
        file::sync(&self.git_dir)
    }

    /// Takes git's lock of the index. Returns false if another git keeps it.
    pub fn take_lock(&self) -> Result<bool> {
        let (held, lock) = (self.held(), self.index_lock());
        for _ in 0..TRIES {
            match fs::hard_link(&held, &lock) {
                Ok(()) => {
                    fs::remove_file(&held).at("remove", &held)?;
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(error).at("lock", &lock),
            }
        }
        Ok(false)
    }

    /// Whether git's lock of the index is the one that the journal names.
    pub fn have_lock(&self, journal: &Journal) -> Result<bool> {
        let lock = self.index_lock();
        match fs::symlink_metadata(&lock) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            there => Ok(Some(FileId::from(&there.at("read", &lock)?)) == journal.lock),
        }
    }

    /// Gives git's lock of the index back, if it is ours.
    pub fn release(&self, journal: &Journal) -> Result<()> {
        let lock = self.index_lock();
        match self.have_lock(journal)? {
            true => fs::remove_file(&lock).at("remove", &lock),
            false => Ok(()),
        }
    }

    /// Makes our index the user's; git's lock must be held.
    pub fn install_index(&self) -> Result<()> {
        let (ours, users) = (self.index(), self.users_index());
        let install = || {
            fs::File::open(&ours)?.sync_all()?;
            fs::rename(&ours, &users)
        };
        install().at("write", &users)
    }

    /// Removes everything, the journal last.
    pub fn clear(&self) -> Result<()> {
        let locked = |name: &str| self.git_dir.join(format!("{name}.lock"));
        let copies = [self.copy(), locked(COPY), self.index(), locked(INDEX)];
        for path in copies.into_iter().chain([self.held(), self.journal()]) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).at("remove", &path);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes our index, of the copy if that is there, for good: from now on files may be written by it.
    pub fn make_index(&self) -> Result<()> {
        let (copy, index) = (self.copy(), self.index());
        match fs::rename(&copy, &index) {
            Err(error) if error.kind() == ErrorKind::NotFound => drop(self.copy_index(&index)?),
            other => other.at("write", &index)?,
        }
        file::sync(&self.git_dir)
    }

    /// Whether files may have been written by our index.
    pub fn have_index(&self) -> bool {
        self.index().symlink_metadata().is_ok()
    }

    /// Copies the user's index with its time: git looks into every file that was written in the second of its
    /// index, or later. Returns false if there is none.
    pub fn copy_index(&self, to: &Path) -> Result<bool> {
        let users = self.users_index();
        let mut source = match file::open(&users) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            other => other.at("read", &users)?,
        };
        let mut copied = || {
            let time = source.metadata()?.modified()?;
            let mut copy = file::create(to)?;
            io::copy(&mut source, &mut copy)?;
            copy.set_modified(time)
        };
        copied().at("write", to)?;
        Ok(true)
    }

    /// A stamp of the user's index, which changes with every write to it.
    pub fn stamp(&self) -> Result<Stamp> {
        let users = self.users_index();
        let meta = fs::symlink_metadata(&users).at("read", &users)?;
        Ok(Stamp { file: FileId::from(&meta), size: meta.size() })
    }
}

/// A state of an index file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    file: FileId,
    size: u64,
}

impl Journal {
    /// A journal whose lock is not taken yet.
    pub fn new(branch: &str, old: &str, new: &str, absent: Vec<Vec<u8>>) -> Journal {
        let [branch, old, new] = [branch, old, new].map(str::to_owned);
        Journal { branch, old, new, absent, lock: None }
    }

    /// The branch as users call it.
    pub fn short(&self) -> &str {
        self.branch.strip_prefix("refs/heads/").unwrap_or(&self.branch)
    }
}
