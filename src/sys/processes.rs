//! The processes of this machine, as the kernel shows them in `/proc`.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rustix::fs::{CWD, Dir, Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;

use crate::sys::mounts::{self, Mount};

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

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
    pub paths: Vec<PathBuf>,
    /// The pipes that it has as stdin, stdout and stderr.
    pub pipes: [Option<PathBuf>; 3],
    /// The pipes that it has open otherwise.
    pub more_pipes: Vec<PathBuf>,
}

impl Process {
    /// Whether it has this file open.
    pub fn has_open(&self, file: &Path) -> bool {
        self.paths.iter().any(|path| path == file)
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

    fn read(pid: u32) -> Option<Process> {
        let folder = openat(CWD, format!("/proc/{pid}"), FOLDER, Mode::empty()).ok()?;
        let process = parse(pid, &read_at(&folder, c"stat")?)?;
        let program = match readlinkat(&folder, c"exe", Vec::new()) {
            Ok(program) => path_of(program),
            // The kernel's own have no program, and are nowhere. What cannot be read here cannot be read
            // there either: one permission is for all.
            Err(Errno::NOENT | Errno::ACCESS | Errno::PERM) => return Some(process),
            Err(_) => PathBuf::new(),
        };
        let (mut pipes, mut more_pipes) = ([None, None, None], Vec::new());
        let links = [c"cwd", c"root"].map(|name| readlinkat(&folder, name, Vec::new()).ok());
        let mut paths: Vec<PathBuf> = links.into_iter().flatten().map(path_of).collect();
        paths.push(program.clone());
        let files = openat(&folder, c"fd", FOLDER, Mode::empty()).ok();
        let names = files.as_ref().and_then(|files| Dir::read_from(files).ok());
        for (file, folder) in names.into_iter().flatten().flatten().zip(files.iter().cycle()) {
            let Ok(target) = readlinkat(folder, file.file_name(), Vec::new()) else { continue };
            let target = path_of(target);
            let number = file.file_name().to_str().ok().and_then(|name| name.parse::<usize>().ok());
            let is_pipe = target.as_os_str().as_bytes().starts_with(b"pipe:");
            match number.and_then(|number| pipes.get_mut(number)) {
                Some(pipe) if is_pipe => *pipe = Some(target),
                None if is_pipe => more_pipes.push(target),
                _ => paths.push(target),
            }
        }
        paths.retain(|path| path.is_absolute());
        let paths = paths.into_iter().map(without_deleted).collect();
        Some(Process { program, paths, pipes, more_pipes, ..process })
    }
}

fn path_of(target: CString) -> PathBuf {
    PathBuf::from(OsString::from_vec(target.into_bytes()))
}

/// Reads a file of the kernel's in a folder.
fn read_at(folder: &OwnedFd, name: &CStr) -> Option<Vec<u8>> {
    let file = openat(folder, name, OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut bytes = Vec::new();
    File::from(file).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// What is mounted, by mount namespace. A process in a container, or below a bind mount, sees a folder
/// at another path than we do.
#[derive(Default)]
struct Views {
    ours: OnceCell<(Option<PathBuf>, Vec<Mount>)>,
    others: HashMap<PathBuf, Vec<Mount>>,
}

impl Views {
    /// Looks at one process. Its paths are also told as they are here.
    fn look_at(&mut self, pid: u32) -> Option<Process> {
        let mut process = Process::read(pid)?;
        if process.paths.is_empty() {
            return Some(process);
        }
        let (own, ours) = self.ours.get_or_init(|| (namespace("self"), mounts::seen_by("self")));
        let pid = pid.to_string();
        let theirs = match namespace(&pid) {
            Some(other) if Some(&other) != own.as_ref() => {
                self.others.entry(other).or_insert_with(|| mounts::seen_by(&pid))
            }
            // Where no file system is mounted twice, a path is the only one.
            _ if !mounts::has_twice(ours) => return Some(process),
            _ => ours,
        };
        let paths = process.paths.iter();
        let others: Vec<PathBuf> =
            paths.flat_map(|path| mounts::other_paths(path, theirs, ours)).collect();
        process.paths.extend(others);
        Some(process)
    }
}

/// The mount namespace of a process.
fn namespace(pid: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/mnt")).ok()
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
    thread::scope(|scope| {
        for _ in 1..cores.min(pids.len().div_ceil(4 * PORTION)) {
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

/// The kernel marks what was deleted or replaced since it was opened.
fn without_deleted(path: PathBuf) -> PathBuf {
    match path.as_os_str().as_bytes().strip_suffix(b" (deleted)") {
        Some(bytes) => PathBuf::from(std::ffi::OsStr::from_bytes(bytes)),
        None => path,
    }
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
