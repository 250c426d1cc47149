//! In use: who holds a sandbox's lock, and who sits in its folder without it.
//!
//! The kernel's lock decides first; on Linux a scan of `/proc` finds the rest and gives names.
//! Processes that cannot be read, other users' above all, do not count.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::thread::{self, JoinHandle};

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
/// asked about, or beside other work.
#[derive(Debug, Default)]
pub struct Processes {
    found: OnceLock<Vec<Process>>,
    scan: Mutex<Option<JoinHandle<Vec<Process>>>>,
}

/// A process, and the paths it sits in or has open.
type Process = (User, Vec<PathBuf>);

impl Processes {
    /// Looks at them once, for any number of sandboxes, when there is a question.
    pub fn lazily() -> Processes {
        Processes::default()
    }

    /// Looks at them from now on, beside calls of git.
    pub fn at_once() -> Processes {
        let scan = Mutex::new(Some(thread::spawn(Processes::scan)));
        Processes { scan, ..Processes::default() }
    }

    /// Has looked at them when it returns.
    pub fn look(&self) -> &[Process] {
        self.found.get_or_init(|| {
            let begun = self.scan.lock().ok().and_then(|mut scan| scan.take());
            begun.and_then(|scan| scan.join().ok()).unwrap_or_else(Processes::scan)
        })
    }

    /// We ourselves do not count, nor the git that started us, nor what we have started, nor what a
    /// commit leaves running.
    fn scan() -> Vec<Process> {
        let ours = std::process::id();
        let parent = std::os::unix::process::parent_id();
        let read = pids().filter(|pid| *pid != ours).filter_map(|pid| {
            let process = PathBuf::from(format!("/proc/{pid}"));
            let paths = paths_of(&process);
            if paths.is_empty() || is_upkeep(&process) {
                return None;
            }
            let (user, its_parent) = user_and_parent(pid);
            // One that has ended since uses nothing, whoever's it was.
            let its_parent = its_parent?;
            let is_git = pid == parent && user.command == "git";
            (!is_git && its_parent != ours).then_some((user, paths))
        });
        read.collect()
    }

    /// Who can be seen to use this sandbox, whoever holds its lock.
    pub fn seen_in(&self, sandbox: &Sandbox) -> Vec<User> {
        let lock = lock_path(&sandbox.entry);
        // What the kernel prints is plain: bytes are enough, and there may be a thousand sandboxes.
        let folder: PathBuf = sandbox.path.components().collect();
        let folder = folder.as_os_str().as_bytes();
        let uses = |path: &PathBuf| {
            let path = path.as_os_str().as_bytes();
            let inside = path.strip_prefix(folder);
            inside.is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
                || path == lock.as_os_str().as_bytes()
        };
        let users = self.look().iter().filter(|(_, paths)| paths.iter().any(uses));
        users.map(|(user, _)| user.clone()).collect()
    }

    /// Who uses this sandbox.
    pub fn users_of(&self, sandbox: &Sandbox) -> Result<Vec<User>> {
        let lock = lock_path(&sandbox.entry);
        let mut users = self.seen_in(sandbox);
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

/// Without those that we were called by.
pub fn others(mut users: Vec<User>) -> Vec<User> {
    let ours = ancestors();
    users.retain(|user| user.pid.is_none_or(|pid| !ours.contains(&pid)));
    users
}

/// What was started in a sandbox by us.
#[derive(Debug, Default)]
pub struct Started {
    /// Holders of its lock, and those that carry its path in their environment.
    pub commands: Vec<User>,
    /// Our own processes that wait for a command and end with it.
    pub runners: Vec<User>,
}

/// Finds what was started in a sandbox by us; none of our own ancestors counts.
pub fn started_in(sandbox: &Sandbox) -> Started {
    let lock = lock_path(&sandbox.entry);
    let mut mark = b"GIT_SANDBOX_PATH=".to_vec();
    mark.extend_from_slice(sandbox.path.as_os_str().as_bytes());
    let ours = ancestors();
    let runner = std::env::current_exe().unwrap_or_default();
    let mut started = Started::default();
    for pid in pids().filter(|pid| !ours.contains(pid)) {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let marked = || {
            let variables = fs::read(process.join("environ")).unwrap_or_default();
            variables.split(|byte| *byte == 0).any(|variable| variable == mark)
        };
        if is_dead(&process) || !(paths_of(&process).contains(&lock) || marked()) {
            continue;
        }
        let is_runner = fs::read_link(process.join("exe")).is_ok_and(|exe| exe == runner);
        let (user, _) = user_and_parent(pid);
        if is_runner { &mut started.runners } else { &mut started.commands }.push(user);
    }
    started
}

/// The upkeep that every commit starts in the background: it is about the repository.
fn is_upkeep(process: &Path) -> bool {
    let line = fs::read(process.join("cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0);
    words.next().is_some_and(|program| program.ends_with(b"git"))
        && words.take(3).eq([&b"maintenance"[..], b"run", b"--auto"])
}

/// A process that ended and that nobody has waited for.
fn is_dead(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}

/// We, our parent, its parent, and so on.
fn ancestors() -> Vec<u32> {
    let mut found = vec![std::process::id()];
    while let Some(pid) = found.last().filter(|pid| **pid > 1) {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent =
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        match parent {
            Some(parent) if !found.contains(&parent) => found.push(parent),
            _ => break,
        }
    }
    found
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
}

fn paths_of(process: &Path) -> Vec<PathBuf> {
    // The kernel's own have no program, and are nowhere.
    let program = process.join("exe");
    if fs::read_link(&program).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Vec::new();
    }
    let links = [process.join("cwd"), process.join("root"), program];
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

/// A process by its name, and the process that started it.
fn user_and_parent(pid: u32) -> (User, Option<u32>) {
    // `<pid> (<name>) <state> <parent> ...`: a name may hold anything.
    let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let stat = String::from_utf8_lossy(&stat);
    let (name, rest) = stat.rsplit_once(") ").unwrap_or_default();
    let command = name.split_once(" (").map_or("", |(_, name)| name).to_owned();
    let parent = rest.split(' ').nth(1).and_then(|parent| parent.parse().ok());
    (User { pid: Some(pid), command }, parent)
}
