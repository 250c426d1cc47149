//! git's entry for a worktree on a branch that was just made, as `git worktree add --no-checkout --lock`
//! makes it. git would look at every other worktree first, to refuse a branch that one of them has; no
//! worktree has a new one.
//!
//! The entry is made beside git's registry and comes there by a rename: a reader of the registry finds
//! it whole or not at all. A crash before leaves what the next creation replaces; after it, an entry marked
//! `creating` whose folder is empty, which is connected (`half_made`). Whatever is unusual in the
//! repository is left to git.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::rollback::Undo;
use crate::error::{Doing, Result};
use crate::git::refs;
use crate::repo::Repo;
use crate::sandbox::mark::CREATING;
use crate::sys::{crash_point, delete, file};

/// Settings that change what git writes there, unless they are false.
const UNLESS_FALSE: [&str; 4] =
    ["core.sharedrepository", "core.sparsecheckout", "worktree.userelativepaths", "core.bare"];

/// An entry that is still to be made.
#[derive(Debug)]
pub struct New<'a> {
    common: &'a Path,
    /// Its name in git's registry.
    id: OsString,
    /// The folder of the worktree.
    folder: &'a Path,
    /// The full name of the branch.
    branch: OsString,
    log: Log,
}

/// The log of HEAD.
#[derive(Debug, PartialEq, Eq)]
enum Log {
    /// git keeps none.
    None,
    /// Its first line.
    Line(Vec<u8>),
}

impl<'a> New<'a> {
    /// One named like `first`, for a branch that git has just made at a commit. `None` if git has to
    /// make it.
    pub fn of(
        repo: &'a Repo,
        first: &Path,
        folder: &'a Path,
        branch: &OsStr,
        commit: &str,
    ) -> Option<New<'a>> {
        let id = first.file_name()?;
        let branch = refs::full(branch);
        let is_fine = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        let is_name = |bytes: &[u8]| {
            bytes.iter().all(is_fine)
                && !bytes.starts_with(b".")
                && !bytes.windows(2).any(|pair| pair == b"..")
        };
        let is_line = |bytes: &[u8]| !bytes.iter().any(u8::is_ascii_control);
        let is_usual = is_name(id.as_bytes())
            && is_line(folder.as_os_str().as_bytes())
            && is_line(branch.as_bytes())
            && are_usual(repo);
        let log = head_log(&repo.common.join("logs").join(&branch), commit)?;
        is_usual.then(|| New { common: &repo.common, id: id.to_owned(), folder, branch, log })
    }

    /// Makes it, and the folder's `.git`. Returns its place.
    pub fn make(&self, undo: &mut Undo) -> Result<PathBuf> {
        let making = self.common.join("sandbox.creating");
        // What a crash left. The repository lock is held: no other process is making one.
        match delete::tree(&making) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).at("remove", &making);
            }
            _ => {}
        }
        let registry = self.common.join("worktrees");
        let entry = registry.join(&self.id);
        let made = self.fill(&making).and_then(|()| match fs::create_dir(&registry) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                Err(error).at("create", &registry)
            }
            _ => file::rename(&making, &entry),
        });
        if made.is_err() {
            let _ = delete::tree(&making);
        }
        made?;
        crash_point::reached();
        let dot_git = self.folder.join(".git");
        let pointer = [b"gitdir: ", entry.as_os_str().as_bytes(), b"\n"].concat();
        let written = File::create_new(&dot_git).and_then(|mut file| {
            let written = file.write_all(&pointer).and_then(|()| file.sync_data());
            if written.is_err() {
                // Only ours: another file may have been there first.
                let _ = fs::remove_file(&dot_git);
            }
            written
        });
        if written.is_err() {
            let _ = delete::tree(&entry);
        }
        written.at("write", &dot_git)?;
        undo.registered = Some(self.folder.to_owned());
        crash_point::reached();
        Ok(entry)
    }

    fn fill(&self, making: &Path) -> Result<()> {
        let make = |folder: &Path| fs::create_dir(folder).at("create", folder);
        let write = |name: &str, lead: &[u8], bytes: &[u8]| {
            let path = making.join(name);
            let bytes = [lead, bytes, b"\n"].concat();
            let written = File::create_new(&path).and_then(|mut file| {
                file.write_all(&bytes)?;
                Ok(file)
            });
            written.at("write", &path)
        };
        make(making)?;
        let locked = write("locked", b"", CREATING.as_bytes())?;
        crash_point::reached();
        // git fails in a repository with an entry that lacks one of these, and without the lock a sandbox
        // that is not complete cannot be told: they must not be lost with the power. They are written
        // first, so that one sync does most of the work for all.
        let needed = [
            locked,
            write("commondir", b"", b"../..")?,
            write("gitdir", b"", self.folder.join(".git").as_os_str().as_bytes())?,
            write("HEAD", b"ref: ", self.branch.as_bytes())?,
        ];
        for file in needed {
            file.sync_data().at("sync", making)?;
        }
        make(&making.join("refs"))?;
        if let Log::Line(log) = &self.log {
            make(&making.join("logs"))?;
            write("logs/HEAD", b"", log)?;
        }
        Ok(())
    }
}

/// Whether git would make an ordinary entry here, and nothing of the user's would be told of it.
fn are_usual(repo: &Repo) -> bool {
    let config = &repo.config;
    let is_off = |key: &&str| matches!(config.boolean(key), Ok(None | Some(false)));
    let mut extensions = config.of_sections(&["extensions."]);
    let hook = repo.common.join("hooks/reference-transaction");
    let is_heard = config.get("core.hookspath").is_some()
        || config.hook_names().next().is_some()
        || hook.symlink_metadata().is_ok();
    repo.is_plain()
        && UNLESS_FALSE.iter().all(is_off)
        && extensions.all(|(key, _)| key == "extensions.objectformat")
        && !is_heard
}

/// What git writes first into the log of a HEAD that starts at a commit: what it has just written into
/// that of the branch, without its reason. `None` if that cannot be told.
fn head_log(branch_log: &Path, commit: &str) -> Option<Log> {
    let bytes = match file::read_small(branch_log) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(Log::None),
        other => other.ok()?,
    };
    let line = bytes.strip_suffix(b"\n")?;
    let line = line.rsplit(|byte| *byte == b'\n').next()?;
    let line = line.split(|byte| *byte == b'\t').next()?;
    let lead = format!("{} {commit} ", "0".repeat(commit.len()));
    line.starts_with(lead.as_bytes()).then(|| Log::Line(line.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_head_is_that_of_the_branch_without_its_reason() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let (null, one, two) = ("0".repeat(40), "1".repeat(40), "2".repeat(40));
        assert_eq!(head_log(&log, &one), Some(Log::None));
        let read = |text: &str| {
            fs::write(&log, text).unwrap();
            head_log(&log, &one)
        };
        let wanted = format!("{null} {one} A <a@b> 1700000000 +0000");
        let line = format!("{wanted}\tbranch: Created from x\n");
        assert_eq!(read(&line), Some(Log::Line(wanted.clone().into_bytes())));
        let older = format!("{one} {two} A <a@b> 1600000000 +0000\tcommit: x\n{line}");
        assert_eq!(read(&older), Some(Log::Line(wanted.into_bytes())));
        for odd in ["", "\n", line.trim_end(), &line.replace(&one, &two)] {
            assert_eq!(read(odd), None, "{odd:?}");
        }
    }
}
