//! Where file systems are mounted.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A place where a file system, or a folder of one, is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The device of the file system, as the kernel names it.
    device: Vec<u8>,
    /// The folder of the file system that is mounted.
    root: PathBuf,
    /// Where it is mounted.
    point: PathBuf,
}

/// Where file systems are mounted, as far as the system tells.
pub fn all() -> Vec<PathBuf> {
    seen_by("self").into_iter().map(|mount| mount.point).collect()
}

/// What is mounted for a process, in the order in which it was.
pub fn seen_by(pid: &str) -> Vec<Mount> {
    let text = fs::read(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter_map(parse).collect()
}

/// `<id> <parent> <device> <root> <point> ...`
fn parse(line: &[u8]) -> Option<Mount> {
    let mut words = line.split(|byte| *byte == b' ').skip(2);
    let device = words.next()?.to_vec();
    let mut path = || Some(PathBuf::from(OsString::from_vec(unescaped(words.next()?))));
    Some(Mount { device, root: path()?, point: path()? })
}

/// Whether a file system is mounted more than once.
pub fn has_twice(mounts: &[Mount]) -> bool {
    let devices: HashSet<&[u8]> = mounts.iter().map(|mount| mount.device.as_slice()).collect();
    devices.len() < mounts.len()
}

/// The other paths that a path has: `theirs` is what is mounted where it was seen, `ours` what is
/// mounted here. A bind mount, here or in a container, gives a folder another path.
pub fn other_paths(path: &Path, theirs: &[Mount], ours: &[Mount]) -> Vec<PathBuf> {
    let depth = |mount: &&Mount| mount.point.as_os_str().len();
    // Of several at one point the last is seen.
    let holding = theirs.iter().filter(|mount| is_below(path, &mount.point)).max_by_key(depth);
    let Some(Mount { device, root, point }) = holding else { return Vec::new() };
    let Ok(inside) = path.strip_prefix(point).map(|rest| joined(root, rest)) else {
        return Vec::new();
    };
    let same = ours.iter().filter(|mount| mount.device == *device);
    let here =
        same.filter_map(|mount| Some(joined(&mount.point, inside.strip_prefix(&mount.root).ok()?)));
    here.filter(|other| other != path).collect()
}

/// Whether a path is another or below it. What the kernel prints is plain: bytes are enough, and there may
/// be tens of thousands of paths.
fn is_below(path: &Path, point: &Path) -> bool {
    let rest = path.as_os_str().as_bytes().strip_prefix(point.as_os_str().as_bytes());
    point == Path::new("/") || rest.is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
}

/// A path and what is below it, without a slash at the end where that is nothing.
fn joined(path: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { path.to_owned() } else { path.join(rest) }
}

/// The kernel writes spaces and the like as `\040`.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        let octal = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        let code = code.filter(|_| *first == b'\\');
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    #[test]
    fn mount_points_are_unescaped() {
        assert_eq!(unescaped(br"/a\040b\134c\04"), br"/a b\c\04");
    }

    #[test]
    fn a_path_below_a_bind_mount_has_another_path() {
        let table = |text: &str| -> Vec<Mount> {
            text.lines().filter_map(|line| parse(line.as_bytes())).collect()
        };
        let ours = table("1 0 8:1 / / rw - ext4\n2 1 0:23 / /mem rw - tmpfs\n");
        let theirs = table(
            "7 0 0:99 / / rw - overlay\n8 7 8:1 /home/me/x\\040y /work rw - ext4\n\
             9 7 0:23 /deep /work/mem rw - tmpfs\n",
        );
        let seen = |path: &str| other_paths(Path::new(path), &theirs, &ours);
        assert_eq!(seen("/work"), [Path::new("/home/me/x y")]);
        assert_eq!(seen("/work/sub"), [Path::new("/home/me/x y/sub")]);
        assert_eq!(seen("/work/mem/file"), [Path::new("/mem/deep/file")]);
        assert_eq!(seen("/workshop"), Vec::<PathBuf>::new());
        // Where nothing is mounted twice, a path is the only one.
        assert_eq!(other_paths(Path::new("/mem/x"), &ours, &ours), Vec::<PathBuf>::new());
    }

    #[test]
    fn fuzz_mount_points() {
        fuzz::damaged(&[br"/a\040b\134c\04", br"\777\000"], |input| {
            let plain = unescaped(input);
            assert!(plain.len() <= input.len());
            assert!(input.contains(&b'\\') || plain == input);
        });
    }
}
