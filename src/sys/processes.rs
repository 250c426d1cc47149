//! The processes of this machine, as the kernel shows them in `/proc`.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::fs;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat_raw};
use rustix::io::Errno;

use crate::sys::mounts::{self, Mount};
use crate::sys::names;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);
/// The kernel tells no longer path.
const LONGEST: usize = 4096;

/// A process that had not ended when it was looked at.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub command: String,
    /// The process that started it.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// Its session.
    pub session: u32,
    /// The program that it runs.
    pub program: PathBuf,
    /// Its folder, its root, its program and the files it has open. Empty if it cannot be read.
    pub paths: Paths,
    /// The pipes that it has as stdin, stdout and stderr, by their numbers.
    pub pipes: [Option<u64>; 3],
    /// The pipes that it has open otherwise.
    pub more_pipes: Vec<u64>,
}

/// Absolute paths, all in one piece: a machine has tens of thousands of open files.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Paths {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let bytes = starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end]);
        bytes.map(|bytes| Path::new(OsStr::from_bytes(bytes)))
    }

    /// Adds what the kernel prints, if it is a path and not the one before. It marks what was deleted or
    /// replaced since it was opened.
    fn push(&mut self, target: &[u8]) {
        let path = target.strip_suffix(b" (deleted)").unwrap_or(target);
        let last = self.ends.len().checked_sub(2).map_or(0, |before| self.ends[before]);
        let is_last = !self.is_empty() && &self.bytes[last..] == path;
        if path.starts_with(b"/") && !is_last {
            self.bytes.extend(path);
            self.ends.push(self.bytes.len());
        }
    }
}

impl Process {
    /// Whether it has this file open.
    pub fn has_open(&self, file: &Path) -> bool {
        let file = file.as_os_str();
        self.paths.iter().any(|path| path.as_os_str() == file)
    }

    /// The words it was started with.
    pub fn words(&self) -> Vec<Vec<u8>> {
        let line = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
    }

    /// Looks at one process; `None` once it has ended.
    pub fn look_at(pid: u32) -> Option<Process> {
        Views::default().look_at(pid)
    }

    /// Reads one process in its folder of `/proc`. `None` for one that has ended, and for the kernel's
    /// own: those have no program, and are nowhere.
    fn read(pid: u32, folder: &OwnedFd) -> Option<Process> {
        let mut buffer = [const { MaybeUninit::uninit() }; LONGEST];
        let mut paths = Paths::default();
        let program = match link(folder, c"exe", &mut buffer) {
            Ok(program) => PathBuf::from(OsStr::from_bytes(program)),
            Err(Errno::NOENT) => return None,
            // What cannot be read here cannot be read there either: one permission is for all.
            Err(Errno::ACCESS | Errno::PERM) => return parse(pid, &stat(folder)?),
            Err(_) => PathBuf::new(),
        };
        let process = parse(pid, &stat(folder)?)?;
        for name in [c"cwd", c"root"] {
            if let Ok(target) = link(folder, name, &mut buffer) {
                paths.push(target);
            }
        }
        paths.push(program.as_os_str().as_bytes());
        let (mut pipes, mut more_pipes) = ([None, None, None], Vec::new());
        if let Ok(files) = openat(folder, c"fd", FOLDER, Mode::empty()) {
            // One that ends meanwhile has no more of them.
            let _ = names::each(&files, |name, _| {
                if let Ok(target) = link(&files, name, &mut buffer) {
                    match (numbered(b"pipe:[", target), name.to_bytes()) {
                        (None, _) => paths.push(target),
                        (pipe, b"0") => pipes[0] = pipe,
                        (pipe, b"1") => pipes[1] = pipe,
                        (pipe, b"2") => pipes[2] = pipe,
                        (pipe, _) => more_pipes.extend(pipe),
                    }
                }
                ControlFlow::Continue(())
            });
        }
        Some(Process { program, paths, pipes, more_pipes, ..process })
    }
}

/// What a link of the kernel's says.
fn link<'a>(
    folder: &OwnedFd,
    name: &CStr,
    buffer: &'a mut [MaybeUninit<u8>; LONGEST],
) -> Result<&'a [u8], Errno> {
    let (target, rest) = readlinkat_raw(folder, name, &mut buffer[..])?;
    if rest.is_empty() { Err(Errno::NAMETOOLONG) } else { Ok(target) }
}

/// The number of what the kernel prints as `pipe:[<number>]`.
fn numbered(lead: &[u8], target: &[u8]) -> Option<u64> {
    let digits = target.strip_prefix(lead)?.strip_suffix(b"]")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The head of the kernel's line about a process, which holds all that is wanted of it.
fn stat(folder: &OwnedFd) -> Option<Vec<u8>> {
    let file = openat(folder, c"stat", OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut line = Vec::with_capacity(1024);
    rustix::io::read(file, rustix::buffer::spare_capacity(&mut line)).ok()?;
    Some(line)
}

/// What is mounted, by mount namespace. A process in a container, or below a bind mount, sees a folder
/// at another path than we do.
#[derive(Default)]
struct Views {
    ours: OnceCell<Own>,
    others: HashMap<u64, Vec<Mount>>,
}

/// Our own mount namespace.
struct Own {
    namespace: Option<u64>,
    mounts: Vec<Mount>,
    has_twice: bool,
}

impl Own {
    fn read() -> Own {
        let folder = openat(CWD, c"/proc/self", FOLDER, Mode::empty()).ok();
        let mounts = mounts::seen_by("self");
        let has_twice = mounts::has_twice(&mounts);
        Own { namespace: folder.as_ref().and_then(namespace), mounts, has_twice }
    }
}

impl Views {
    /// Looks at one process. Its paths are also told as they are here.
    fn look_at(&mut self, pid: u32) -> Option<Process> {
        let folder = openat(CWD, format!("/proc/{pid}"), FOLDER, Mode::empty()).ok()?;
        let mut process = Process::read(pid, &folder)?;
        if process.paths.is_empty() {
            return Some(process);
        }
        let own = self.ours.get_or_init(Own::read);
        let theirs = match namespace(&folder) {
            Some(other) if Some(other) != own.namespace => {
                self.others.entry(other).or_insert_with(|| mounts::seen_by(&pid.to_string()))
            }
            // Where no file system is mounted twice, a path is the only one.
            _ if !own.has_twice => return Some(process),
            _ => &own.mounts,
        };
        let paths = process.paths.iter();
        let others: Vec<PathBuf> =
            paths.flat_map(|path| mounts::other_paths(path, theirs, &own.mounts)).collect();
        for path in &others {
            process.paths.push(path.as_os_str().as_bytes());
        }
        Some(process)
    }
}

/// The mount namespace of a process.
fn namespace(folder: &OwnedFd) -> Option<u64> {
    let mut buffer = [const { MaybeUninit::uninit() }; LONGEST];
    numbered(b"mnt:[", link(folder, c"ns/mnt", &mut buffer).ok()?)
}

/// Returns every process that has not ended, in the order of their ids. Several threads look: each look
/// is a matter of many small calls.
pub fn all() -> Vec<Process> {
    /// How many a thread takes at once.
    const PORTION: usize = 16;
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let pids: Vec<u32> = pids.collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(pids.len())));
    let look = || {
        let (mut views, mut mine) = (Views::default(), Vec::new());
        while let Some(portion) = pids.chunks(PORTION).nth(next.fetch_add(1, Ordering::Relaxed)) {
            mine.extend(portion.iter().filter_map(|pid| views.look_at(*pid)));
        }
        found.lock().unwrap_or_else(PoisonError::into_inner).append(&mut mine);
    };
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    // For a few hundred, a second thread would only keep a core from the gits that run meanwhile.
    thread::scope(|scope| {
        for _ in 1..cores.min(pids.len().div_ceil(16 * PORTION)) {
            scope.spawn(look);
        }
        look();
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable_by_key(|process| process.pid);
    found
}

/// From `/proc/<pid>/stat`: `<pid> (<name>) <state> <parent> <group> <session> ...`, where a name
/// may hold anything. `None` for a process that ended and was not waited for.
fn parse(pid: u32, stat: &[u8]) -> Option<Process> {
    let stat = String::from_utf8_lossy(stat);
    let (name, rest) = stat.rsplit_once(") ")?;
    let command = name.split_once(" (").map_or("", |(_, name)| name).to_owned();
    let mut fields = rest.split(' ');
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let mut number = || fields.next()?.parse::<u32>().ok();
    let (parent, group, session) = (number()?, number()?, number()?);
    Some(Process { pid, command, parent, group, session, ..Process::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    #[test]
    fn a_name_may_hold_anything() {
        let process = parse(7, b"7 (a) R (b)) S 3 5 4 0 -1").unwrap();
        assert_eq!((process.command.as_str(), process.parent), ("a) R (b)", 3));
        assert_eq!((process.group, process.session), (5, 4));
        assert!(parse(7, b"7 (sh) Z 3 5 4 0 -1").is_none());
        assert!(parse(7, b"").is_none());
    }

    #[test]
    fn fuzz_stat() {
        fuzz::damaged(&[b"7 (sh) S 3 5 4 0 -1".as_slice(), b"7 (a) b) R 1 1 1 0"], |input| {
            if let Some(process) = parse(7, input) {
                assert!(fuzz::contains(input, process.parent.to_string().as_bytes()));
            }
        });
    }
}
