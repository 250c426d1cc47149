//! In use: who holds a sandbox's lock, and who sits in its folder without it.
//!
//! The kernel's lock decides first; on Linux a scan of `/proc` finds the rest and gives names.
//! Processes that cannot be read, other users' above all, do not count; nor do our callers, unless
//! they hold the lock: the processes that we were started by, and the rest of our pipeline.

use std::collections::{BTreeSet, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::thread::{self, JoinHandle};

use serde::Serialize;

use crate::error::Result;
use crate::sandbox::{Sandbox, program_name};
use crate::sys::lock::Lock;
use crate::sys::processes::{self, Process};

const LOCK: &str = "sandbox.lock";

/// The lock that users of a sandbox share, and that a remover needs alone.
pub fn lock_path(entry: &Path) -> PathBuf {
    entry.join(LOCK)
}

/// A process that uses a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct User {
    /// Its id; none where only the lock tells that there is a user.
    pub pid: Option<u32>,
    /// Its name.
    pub command: String,
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

impl From<&Process> for User {
    fn from(process: &Process) -> User {
        let command = program_name::of_process(process.pid, &process.command);
        User { pid: Some(process.pid), command }
    }
}

/// Every process that can be read, with the paths it sits in or has open; looked at when first
/// asked about, or beside other work.
#[derive(Debug, Default)]
pub struct Processes {
    found: OnceLock<Found>,
    scan: Mutex<Option<JoinHandle<Found>>>,
}

/// The processes of one scan.
#[derive(Debug, Default)]
struct Found {
    processes: Vec<Process>,
    callers: HashSet<u32>,
}

impl Processes {
    /// Looks at them once, for any number of sandboxes, when there is a question.
    pub fn lazily() -> Processes {
        Processes::default()
    }

    /// Looks at them from now on, beside calls of git.
    pub fn at_once() -> Processes {
        let scan = Mutex::new(Some(thread::spawn(scan)));
        Processes { scan, ..Processes::default() }
    }

    /// Has looked at them when it returns.
    pub fn look(&self) {
        self.found();
    }

    fn found(&self) -> &Found {
        self.found.get_or_init(|| {
            let begun = self.scan.lock().ok().and_then(|mut scan| scan.take());
            begun.and_then(|scan| scan.join().ok()).unwrap_or_else(scan)
        })
    }

    /// Returns the processes that use this sandbox, as far as they can be seen. Its lock is not asked.
    pub fn seen_in(&self, sandbox: &Sandbox) -> Vec<User> {
        let lock = lock_path(&sandbox.entry);
        // What the kernel prints is plain: bytes are enough, and there may be a thousand sandboxes.
        let folder: PathBuf = sandbox.path.components().collect();
        let folder = folder.as_os_str().as_bytes();
        let is_inside = |path: &Path| {
            let rest = path.as_os_str().as_bytes().strip_prefix(folder);
            rest.is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
        };
        let Found { processes, callers } = self.found();
        let uses = |process: &&Process| {
            process.has_open(&lock)
                || (!callers.contains(&process.pid) && process.paths.iter().any(is_inside))
        };
        let users: Vec<&Process> = processes.iter().filter(uses).collect();
        // Our own that wait for a command do not count beside it.
        let program = std::env::current_exe().unwrap_or_default();
        let is_runner =
            |process: &&&Process| process.program == program || process.command == "git-sandbox";
        let others: Vec<User> =
            users.iter().filter(|user| !is_runner(user)).map(|user| User::from(*user)).collect();
        if others.is_empty() { users.into_iter().map(User::from).collect() } else { others }
    }

    /// Who sits in this sandbox's folder, our callers aside, whether or not they hold its lock.
    pub fn others_in(&self, sandbox: &Sandbox) -> Vec<User> {
        let Found { processes, callers } = self.found();
        let is_inside = |path: &Path| path.starts_with(&sandbox.path);
        let sits = |process: &&Process| {
            !callers.contains(&process.pid) && process.paths.iter().any(is_inside)
        };
        processes.iter().filter(sits).map(User::from).collect()
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

/// We ourselves do not count, nor the git that started us, nor what we have started, nor what a
/// commit leaves running.
fn scan() -> Found {
    let mut processes = processes::all();
    let callers = callers(&processes);
    let ours = std::process::id();
    let parent = std::os::unix::process::parent_id();
    processes.retain(|process| {
        let is_git = process.pid == parent && process.command == "git";
        let is_ours = process.pid == ours || process.parent == ours;
        !is_git && !is_ours && !process.paths.is_empty() && !is_upkeep(process)
    });
    Found { processes, callers }
}

/// What was started in a sandbox by us: the holders of its lock, and what these started.
#[derive(Debug, Default)]
pub struct Started {
    /// The commands.
    pub commands: Vec<User>,
    /// Our own processes that wait for a command and end with it.
    pub runners: Vec<User>,
    /// Those of them that have no command yet, or none at the moment.
    pub starting: Vec<User>,
}

impl Started {
    /// Whether nothing was started, or all has ended.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.runners.is_empty()
    }

    /// Everything, in words.
    pub fn in_words(&self) -> String {
        let all = self.runners.iter().chain(&self.commands);
        all.map(User::in_words).collect::<Vec<_>>().join(", ")
    }
}

/// Finds what was started in a sandbox by us; our callers do not count.
pub fn started_in(sandbox: &Sandbox) -> Started {
    started_with(&lock_path(&sandbox.entry), &processes::all())
}

/// What runs in a sandbox that the repository does not list any more.
#[derive(Debug)]
pub struct Lost {
    /// The sandbox's name, as far as its lock tells.
    pub name: String,
    /// The private git dir that it had.
    pub entry: PathBuf,
    /// What runs there.
    pub started: Started,
}

impl Lost {
    /// Looks again.
    pub fn again(&self) -> Started {
        started_with(&lock_path(&self.entry), &processes::all())
    }
}

/// Finds what was started by us in sandboxes that are gone: removed, or forgotten after their folder
/// was deleted. Only the locks that are still open tell of those.
pub fn lost(common: &Path, sandboxes: &[Sandbox]) -> Vec<Lost> {
    let all = processes::all();
    let known: HashSet<PathBuf> =
        sandboxes.iter().map(|sandbox| lock_path(&sandbox.entry)).collect();
    let places = ["worktrees", "sandbox"].map(|name| common.join(name));
    let is_lock = |path: &&Path| {
        let folder = path.parent().and_then(Path::parent);
        path.ends_with(LOCK) && folder.is_some_and(|folder| places.iter().any(|it| it == folder))
    };
    let open = all.iter().flat_map(|process| process.paths.iter()).filter(is_lock);
    let locks: BTreeSet<&Path> = open.filter(|lock| !known.contains(*lock)).collect();
    let lost = locks.into_iter().filter_map(|lock| {
        let entry = lock.parent()?.to_owned();
        let name = without_hash(&entry.file_name()?.to_string_lossy()).to_owned();
        Some(Lost { name, started: started_with(lock, &all), entry })
    });
    lost.filter(|lost| !lost.started.is_empty()).collect()
}

/// The name in an id of the trash, `<name>-<8 hex>`.
fn without_hash(id: &str) -> &str {
    let is_hash = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    id.rsplit_once(['-', '.']).filter(|(_, hash)| is_hash(hash)).map_or(id, |(name, _)| name)
}

fn started_with(lock: &Path, all: &[Process]) -> Started {
    let holds = |process: &&Process| process.has_open(lock);
    let family = family(all, all.iter().filter(holds).map(|process| process.pid).collect());
    let callers = callers(all);
    let program = std::env::current_exe().unwrap_or_default();
    let counts =
        |process: &&Process| family.contains(&process.pid) && !callers.contains(&process.pid);
    let (runners, commands): (Vec<&Process>, Vec<&Process>) =
        all.iter().filter(counts).partition(|process| process.program == program);
    let ids: HashSet<u32> = runners.iter().map(|runner| runner.pid).collect();
    let is_starting = |runner: &&&Process| {
        let below = family_below(all, runner.pid);
        // A child that is still our program is about to become the command.
        !ids.contains(&runner.parent)
            && !commands.iter().any(|command| below.contains(&command.pid))
    };
    let starting = runners.iter().filter(is_starting).map(|runner| User::from(*runner)).collect();
    Started {
        starting,
        commands: commands.into_iter().map(User::from).collect(),
        runners: runners.into_iter().map(User::from).collect(),
    }
}

/// These processes and all that they started, as far as the kernel still shows it: children, and
/// everything in a session that one of them leads.
fn family(all: &[Process], mut family: HashSet<u32>) -> HashSet<u32> {
    loop {
        let is_new = |process: &&Process| {
            !family.contains(&process.pid)
                && (family.contains(&process.parent) || family.contains(&process.session))
        };
        let more: Vec<u32> = all.iter().filter(is_new).map(|process| process.pid).collect();
        if more.is_empty() {
            return family;
        }
        family.extend(more);
    }
}

fn family_below(all: &[Process], pid: u32) -> HashSet<u32> {
    family(all, HashSet::from([pid]))
}

/// The upkeep that every commit starts in the background: it is about the repository.
fn is_upkeep(process: &Process) -> bool {
    if process.command != "git" {
        return false;
    }
    let words = process.words();
    let mut words = words.iter().map(Vec::as_slice);
    words.next().is_some_and(|program| program.ends_with(b"git"))
        && words.take(3).eq([&b"maintenance"[..], b"run", b"--auto"])
}

/// Our ancestors, and the rest of the pipeline that we are in: what is connected to us by pipes,
/// upstream or downstream, and in our process group. A neighbour that only writes to the pipe that
/// we write to is none of it. A copy of our shell that has not become its command yet has its pipes
/// on other descriptors.
fn callers(all: &[Process]) -> HashSet<u32> {
    let mut found = ancestors(all);
    let Some(we) = all.iter().find(|process| process.pid == std::process::id()) else {
        return found;
    };
    let ancestors = found.clone();
    let is_copy = |process: &Process| {
        let mut shells = all.iter().filter(|shell| ancestors.contains(&shell.pid));
        shells.any(|shell| shell.pid == process.parent && shell.program == process.program)
    };
    let more = |process: &Process| match is_copy(process) {
        true => process.more_pipes.clone(),
        false => Vec::new(),
    };
    let output = |process: &Process| {
        process.pipes[1..].iter().flatten().copied().chain(more(process)).collect()
    };
    let input = |process: &Process| {
        process.pipes[..1].iter().flatten().copied().chain(more(process)).collect()
    };
    let group = all.iter().filter(|other| other.group == we.group);
    let group: Vec<(u32, [Vec<u64>; 2])> =
        group.map(|other| (other.pid, [input(other), output(other)])).collect();
    for (ours, theirs) in [(1, 0), (0, 1)] {
        let mut todo: Vec<_> = group.iter().filter(|(pid, _)| *pid == we.pid).collect();
        let mut seen = HashSet::from([we.pid]);
        while let Some((_, ends)) = todo.pop() {
            let next = |(_, other): &&(u32, [Vec<u64>; 2])| {
                other[theirs].iter().any(|pipe| ends[ours].contains(pipe))
            };
            todo.extend(group.iter().filter(next).filter(|(pid, _)| seen.insert(*pid)));
        }
        found.extend(seen);
    }
    found
}

/// We, our parent, its parent, and so on.
fn ancestors(all: &[Process]) -> HashSet<u32> {
    let mut found = HashSet::new();
    let mut pid = std::process::id();
    while found.insert(pid) {
        match all.iter().find(|process| process.pid == pid) {
            Some(process) => pid = process.parent,
            None => break,
        }
    }
    found
}
