//! In use: who holds a sandbox's lock, and who sits in its folder without it.
//!
//! The kernel's lock decides first; on Linux a scan of `/proc` finds the rest and gives names.
//! Processes that cannot be read, other users' above all, do not count.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::Serialize;

use crate::error::Result;
use crate::lock::Lock;
use crate::sandbox::Sandbox;

/// The lock that users of a sandbox share, and that a remover needs alone.
pub fn lock_path(entry: &Path) -> PathBuf {
    entry.join("sandbox.lock")
}

/// A process that uses a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct User {
    /// Its id; none where only the lock tells that there is someone.
    pub pid: Option<u32>,
    /// Its name.
    pub command: String,
}

/// Every process that can be read, with the paths it sits in or has open; looked at when first
/// asked about.
#[derive(Debug, Default)]
pub struct Processes(OnceLock<Vec<(User, Vec<PathBuf>)>>);

impl Processes {
    /// Looks at them once, for any number of sandboxes, when there is a question.
    pub fn lazily() -> Processes {
        Processes::default()
    }

    /// We ourselves do not count, nor the git that started us.
    fn scan() -> Vec<(User, Vec<PathBuf>)> {
        let ours = std::process::id();
        let parent = std::os::unix::process::parent_id();
        let is_git = |pid: u32| pid == parent && user(pid).command == "git";
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let read = pids.filter(|pid| *pid != ours && !is_git(*pid)).filter_map(|pid| {
            let paths = paths_of(&PathBuf::from(format!("/proc/{pid}")));
            if paths.is_empty() { None } else { Some((user(pid), paths)) }
        });
        read.collect()
    }

    /// Who uses this sandbox.
    pub fn users_of(&self, sandbox: &Sandbox) -> Result<Vec<User>> {
        let lock = lock_path(&sandbox.entry);
        let uses = |path: &PathBuf| *path == lock || path.starts_with(&sandbox.path);
        let users =
            self.0.get_or_init(Processes::scan).iter().filter(|(_, paths)| paths.iter().any(uses));
        let mut users: Vec<User> = users.map(|(user, _)| user.clone()).collect();
        let is_ours = !sandbox.entry.as_os_str().is_empty();
        if users.is_empty() && is_ours && lock.exists() && Lock::if_free(&lock)?.is_none() {
            users.push(User { pid: None, command: "another process".into() });
        }
        Ok(users)
    }
}

impl User {
    /// `<pid> <command>`
    pub fn in_words(&self) -> String {
        match self.pid {
            Some(pid) => format!("{pid} {}", self.command),
            None => self.command.clone(),
        }
    }
}

fn paths_of(process: &Path) -> Vec<PathBuf> {
    let links = ["cwd", "root", "exe"].map(|link| process.join(link));
    let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let links = links.into_iter().chain(open.map(|file| file.path()));
    let targets = links.filter_map(|link| fs::read_link(link).ok());
    targets.filter(|target| target.is_absolute()).map(without_deleted).collect()
}

/// The kernel marks what was deleted or replaced since it was opened.
fn without_deleted(path: PathBuf) -> PathBuf {
    match path.as_os_str().as_bytes().strip_suffix(b" (deleted)") {
        Some(bytes) => PathBuf::from(std::ffi::OsStr::from_bytes(bytes)),
        None => path,
    }
}

fn user(pid: u32) -> User {
    let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    let command = String::from_utf8_lossy(name.trim_ascii_end()).into_owned();
    User { pid: Some(pid), command }
}
