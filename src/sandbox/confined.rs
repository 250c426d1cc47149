//! The quarantine of a sandbox: the private git dir that confined commands see in place of the
//! repository's, `<private git dir>/confined`.
//!
//! What is in it was written by a command that is not trusted: its text is only searched for object
//! ids, and no git is started there outside of the walls.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::git::Git;
use crate::repo::{kept_pack, name};
use crate::sandbox::{operation_in, record};

/// The quarantine of a private git dir, whether or not it is there.
pub fn dir(entry: &Path) -> PathBuf {
    entry.join("confined")
}

/// Whether there is a quarantine.
pub fn is_there(entry: &Path) -> bool {
    dir(entry).symlink_metadata().is_ok()
}

/// The id by which refs keep what a quarantine names and borrows; none where there is no quarantine.
pub fn recorded_id(entry: &Path) -> Option<String> {
    record::read(entry).id.filter(|_| is_there(entry))
}

/// The ref that keeps what a quarantine borrows and what was taken from it.
pub fn pin(id: &str) -> String {
    format!("refs/sandbox/confined/{id}")
}

/// The ref for commits of a quarantine whose branch was moved outside.
pub fn aside(id: &str) -> String {
    format!("refs/sandbox/confined-heads/{id}")
}

/// Drops both refs and lets go of packs, for a sandbox whose work is deleted for good. Git runs in the common dir.
pub fn let_go(git: &Git, id: &str) -> Result<()> {
    // A journal that was tampered with names no ref of another's.
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(());
    }
    for name in [pin(id), aside(id)] {
        git.look(["update-ref", "--no-deref", "-d", &name]).done("drop what was kept")?;
    }
    kept_pack::let_go(git.dir(), id)
}

/// Whether a quarantine names objects that were not taken over yet. What cannot be read counts.
pub fn is_waiting(entry: &Path) -> bool {
    if !is_there(entry) {
        return false;
    }
    let Some(synced) = record::read(entry).confined else { return true };
    let inside = fingerprint(entry);
    inside.is_none() || inside != synced.inside
}

/// The operation in progress inside a quarantine.
pub fn operation(entry: &Path) -> Option<&'static str> {
    let synced = record::read(entry).confined?;
    operation_in(&dir(entry).join("worktrees").join(synced.name), |_| false)
}

/// A fingerprint of refs, reflogs, index and operations in a quarantine: it changes with every file
/// that is written there. `None` where a file cannot be looked at.
pub fn fingerprint(entry: &Path) -> Option<String> {
    let parts = ["HEAD", "packed-refs", "refs", "logs", "worktrees"].map(PathBuf::from);
    fingerprint_of(&dir(entry), parts.into())
}

/// The same of the private git dir outside, without what is ours there.
pub fn fingerprint_outside(entry: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for file in fs::read_dir(entry).ok()? {
        let name = file.ok()?.file_name();
        let own = name.as_bytes().starts_with(b"sandbox.") || name == "confined";
        if !own && name != "modules" && name != "locked" {
            parts.push(PathBuf::from(name));
        }
    }
    fingerprint_of(entry, parts)
}

fn fingerprint_of(top: &Path, parts: Vec<PathBuf>) -> Option<String> {
    let mut todo = parts;
    let mut lines = Vec::new();
    while let Some(part) = todo.pop() {
        let path = top.join(&part);
        let meta = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            other => other.ok()?,
        };
        let times = (meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec());
        let text = part.as_os_str().as_bytes().escape_ascii();
        lines.push(format!("{text} {} {} {times:?}", meta.ino(), meta.size()));
        if meta.is_dir() {
            for file in fs::read_dir(&path).ok()? {
                todo.push(part.join(file.ok()?.file_name()));
            }
        }
    }
    lines.sort();
    Some(name::hash(OsStr::new(&lines.join("\n"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::record::{Facts, Synced};

    #[test]
    fn a_quarantine_that_cannot_be_read_counts_as_work() {
        let dir = tempfile::tempdir().unwrap();
        let entry = dir.path();
        let synced = |inside| Synced {
            name: "box".into(),
            head: None,
            tree: None,
            inside,
            outside: None,
            stays: false,
        };
        let record = |confined| Facts { confined, ..Facts::default() };
        record::write_synced(entry, &record(Some(synced(None)))).unwrap();
        assert!(!is_waiting(entry), "there is none");
        fs::create_dir(super::dir(entry)).unwrap();
        assert!(is_waiting(entry));
        let now = fingerprint(entry);
        assert!(now.is_some());
        record::write_synced(entry, &record(Some(synced(now)))).unwrap();
        assert!(!is_waiting(entry));
        fs::remove_dir(super::dir(entry)).unwrap();
        fs::write(super::dir(entry), "").unwrap();
        assert_eq!(fingerprint(entry), None);
        record::write_synced(entry, &record(Some(synced(None)))).unwrap();
        assert!(is_waiting(entry));
    }
}
