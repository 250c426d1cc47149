//! Landlock without namespaces, for machines that do not let a user make any.
//!
//! There are no mounts, so the quarantine cannot stand in the place of the common dir: variables lead git
//! to it. The folder's `.git` keeps leading to the repository, out of the command's reach; the command
//! can replace it, though, which is noticed and undone when it ends.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, WaitOptions, wait};

use super::files;
use super::mounts::{SYSTEM, borrowed};
use super::policy::Policy;
use super::wish::{Places, Wish};
use crate::error::{Doing, Error, Result};
use crate::repo::link;
use crate::sandbox::record::Network;
use crate::sys::signals::Target;
use crate::sys::{file, path, random};

/// What this level does not stop.
pub const WARNING: &str = "'landlock' cannot keep the command from changing modes and times of your \
    files, from seeing your processes, or from replacing the folder's '.git': do not run git there \
    meanwhile";

/// The rules for a command in these places, which keeps the descriptor of its lock.
pub fn policy(wish: &Wish, places: &Places, lock: i32) -> Policy {
    let objects = places.common.join("objects");
    let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    read.extend(["/proc", "/run/systemd/resolve"].map(PathBuf::from));
    read.extend(wish.read.iter().cloned());
    read.extend(borrowed(&objects, 0));
    read.push(objects);
    let mut write = vec![places.folder.clone(), places.quarantine.clone()];
    write.extend(wish.write.iter().cloned());
    Policy {
        read,
        write,
        landlock: files::version(),
        unix_sockets: false,
        internet_sockets: wish.network == Network::On,
        own_processes: false,
        heeded: Vec::new(),
        kept: vec![lock],
        proxy: None,
    }
}

/// The variables that lead git to the quarantine, and other programs to a folder for their files.
pub fn variables(places: &Places) -> [(OsString, OsString); 3] {
    let private = private(places);
    [
        ("GIT_DIR".into(), private.into()),
        ("GIT_WORK_TREE".into(), places.folder.clone().into()),
        ("TMPDIR".into(), scratch(places).into()),
    ]
}

/// The private git dir of the sandbox in its quarantine.
fn private(places: &Places) -> PathBuf {
    let id = places.entry.file_name().unwrap_or_default();
    places.quarantine.join("worktrees").join(id)
}

fn scratch(places: &Places) -> PathBuf {
    places.quarantine.join("tmp")
}

/// Makes the folder for files of the moment; what is there already must be a folder.
pub fn make_scratch(places: &Places) -> Result<()> {
    let folder = scratch(places);
    match folder.symlink_metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        _ => DirBuilder::new().mode(0o700).create(&folder).at("create", &folder),
    }
}

/// The file in a private git dir that holds the pointer as long as a command runs.
const KEPT: &str = "sandbox.pointer";

/// Makes us the parent of what the command leaves running.
pub fn adopt() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Ends what the command has left running, as a namespace would: it could still write to the quarantine
/// while that is taken over.
pub fn end_the_rest() {
    loop {
        let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let children: Vec<u32> = lists
            .flat_map(|list| list.split(' ').filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
            .collect();
        if children.is_empty() {
            return;
        }
        for child in children.into_iter().filter_map(Target::of) {
            child.send(Signal::KILL);
        }
        while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
        thread::sleep(Duration::from_millis(1));
    }
}

/// The pointer of a sandbox's folder as it was before the command.
#[derive(Debug)]
pub struct Pointer {
    path: PathBuf,
    bytes: Vec<u8>,
    kept: PathBuf,
}

impl Pointer {
    /// Remembers the pointer of a folder, also for the case that we are killed.
    pub fn of(folder: &Path, entry: &Path) -> Result<Pointer> {
        let (path, kept) = (folder.join(".git"), entry.join(KEPT));
        let bytes = file::read_small(&path).at("read", &path)?;
        // A command that still runs there may have replaced it a moment ago.
        if !link::names(&bytes, folder, entry) {
            let why = format!("'{}' is not what git sandbox made", path.display());
            return Err(Error::Git { doing: "confine the command".into(), why });
        }
        file::replace(&kept, &bytes)?;
        Ok(Pointer { path, bytes, kept })
    }

    /// The pointer that a runner which was killed has not put back, if there is one.
    pub fn left(folder: &Path, entry: &Path) -> Option<Pointer> {
        let (path, kept) = (folder.join(".git"), entry.join(KEPT));
        let bytes = file::read_small(&kept).ok()?;
        Some(Pointer { path, bytes, kept })
    }

    /// Writes the pointer anew if it is not what it was. What stands in its place is moved aside;
    /// nothing of it is deleted. Returns what to warn of.
    pub fn put_back(&self) -> Result<Option<String>> {
        let warning = self.put_in_place()?;
        let _ = fs::remove_file(&self.kept);
        Ok(warning)
    }

    fn put_in_place(&self) -> Result<Option<String>> {
        let is_file = self.path.symlink_metadata().is_ok_and(|found| found.is_file());
        if is_file && file::read_small(&self.path).is_ok_and(|bytes| bytes == self.bytes) {
            return Ok(None);
        }
        let aside = self.path.with_file_name(format!("replaced-git-{}", random::hex()?));
        let is_gone = path::presence(&self.path) == path::Presence::Absent;
        if !is_gone {
            fs::rename(&self.path, &aside).at("move", &self.path)?;
        }
        // Not by a file beside it: the command may have put something in its way.
        file::replace_from_above(&self.path, &self.bytes)?;
        Ok(Some(match is_gone {
            true => "the command has removed '.git' of its sandbox; it was written anew".to_owned(),
            false => format!(
                "the command has replaced '.git' of its sandbox; it was written anew, and what stood \
                 there is '{}': do not run git in it",
                aside.display()
            ),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command that runs there may have replaced it: what it wrote must not be put back as ours.
    #[test]
    fn a_pointer_that_leads_elsewhere_is_not_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, entry) = (dir.path().join("box"), dir.path().join("app/.git/worktrees/box"));
        for folder in [&folder, &entry, &folder.join("evil")] {
            fs::create_dir_all(folder).unwrap();
        }
        let point = |to: &str| fs::write(folder.join(".git"), format!("gitdir: {to}\n")).unwrap();
        for evil in [folder.join("evil").to_str().unwrap(), "evil", "", "../box/evil"] {
            point(evil);
            let error = Pointer::of(&folder, &entry).unwrap_err().to_string();
            let wanted =
                format!("'{}' is not what git sandbox made", folder.join(".git").display());
            assert!(error.ends_with(&wanted), "{error}");
            assert!(!entry.join(KEPT).exists());
        }
        for good in [entry.to_str().unwrap(), "../app/.git/worktrees/box"] {
            point(good);
            assert!(Pointer::of(&folder, &entry).is_ok(), "{good}");
            assert!(entry.join(KEPT).exists());
        }
    }
}
