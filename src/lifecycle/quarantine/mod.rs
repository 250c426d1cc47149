//! The quarantine: a private git dir that a confined command sees in place of the repository's.
//!
//! It has refs of its own (a snapshot), config, hooks and objects, and borrows the objects of the
//! repository read-only. Before a command starts, [`Quarantine::ready`] makes it or brings it up to
//! date. After the command, [`Quarantine::take`] takes commits and what was staged over: object ids and
//! a pack that git has verified, nothing else.
//!
//! A ref, `refs/sandbox/confined/<sandbox>`, pins what the snapshot names and what was taken, so that
//! no gc of the repository deletes what a quarantine borrows.

mod config;
mod import;
mod inside;
mod make;
mod mend;
mod mounts;
mod pin;
mod snapshot;
pub mod take;
mod taken;

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::git::Git;
use crate::repo::{Repo, name};
use crate::sandbox::{Sandbox, confined, in_use, record};
use crate::session::confine::Pointer;
use crate::sys::file;
use crate::sys::lock::Lock;
use crate::ui::out::Out;
use crate::ui::words::shell_word;

/// The folder of a quarantine's own that leads to the repository's objects inside the walls, where the
/// quarantine stands in the place of the common dir.
pub const BORROWED: &str = "base-objects";

/// The file that tells git where there are more objects.
const ALTERNATES: &str = "objects/info/alternates";

/// How the repository's objects are reached from a quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Borrow {
    /// As [`BORROWED`] in the common dir: the quarantine is mounted in its place.
    Mounted,
    /// Where they are.
    InPlace,
}

/// The quarantine of one sandbox. The caller holds the repository lock.
#[derive(Debug)]
pub struct Quarantine<'a> {
    repo: &'a Repo,
    git: Git,
    sandbox: &'a Sandbox,
    dir: PathBuf,
    id: String,
}

impl<'a> Quarantine<'a> {
    /// The quarantine of a sandbox, whether or not it is there. `git` holds the repository lock.
    pub fn of(repo: &'a Repo, git: &Git, sandbox: &'a Sandbox) -> Result<Quarantine<'a>> {
        // A record that cannot be read may name another: what it keeps would be kept twice.
        let id = record::to_change(&sandbox.entry)?.id;
        // A power loss may have taken the record, which is not always synced, but not the quarantine.
        let own =
            || confined::is_there(&sandbox.entry).then(|| name::hash(sandbox.entry.as_os_str()));
        let id = id.or_else(own);
        let name = sandbox.name();
        let id = id.ok_or(Error::NotConfinable { name, why: "git sandbox did not make it" })?;
        // Inside, refs are told apart by text: what is on such a branch would never be taken over.
        let branch = sandbox.branch.as_ref().filter(|_| !sandbox.detached);
        if branch.is_some_and(|branch| branch.to_str().is_none()) {
            let why = "the name of its branch is not UTF-8";
            return Err(Error::NotConfinable { name: sandbox.name(), why });
        }
        let dir = confined::dir(&sandbox.entry);
        Ok(Quarantine { repo, git: git.at(&repo.common), sandbox, dir, id })
    }

    /// Makes the quarantine or brings it up to date, for a command that is about to start. What an earlier
    /// one left is taken over first, or this fails. While another command runs there, it stays as it is.
    pub fn ready(&self, borrow: Borrow, out: Out) -> Result<()> {
        let entry = &self.sandbox.entry;
        let idle = Lock::if_free(&in_use::lock_path(entry))?;
        if idle.is_none() && confined::is_there(entry) {
            return self.can_be_shared(borrow);
        }
        if idle.is_some() {
            self.take()?.tell(out);
        }
        self.prepare(borrow)
    }

    /// Fails if the quarantine cannot be used beside the command that uses it now. One without mounts
    /// can put a symlink wherever something is to be mounted, also after that was checked.
    fn can_be_shared(&self, borrow: Borrow) -> Result<()> {
        let why = match () {
            () if Pointer::left(&self.sandbox.path, &self.sandbox.entry).is_some() => {
                "a command runs there with '--confine=landlock'"
            }
            () if !self.borrows(borrow) => "another command runs there with another level",
            () => return Ok(()),
        };
        let name = self.sandbox.name();
        let hints = vec![format!("git sandbox stop {}", shell_word(&name))];
        Err(Error::NotConfined { name, why: why.into(), hints })
    }

    /// Whether a confined command sees the repository's objects there.
    fn borrows(&self, borrow: Borrow) -> bool {
        let wanted = self.alternates(borrow);
        let written = file::read_untrusted(&self.dir.join(ALTERNATES), wanted.len() as u64);
        written.is_ok_and(|written| written == wanted)
    }

    /// What tells git where the repository's objects are.
    fn alternates(&self, borrow: Borrow) -> Vec<u8> {
        let objects = match borrow {
            Borrow::Mounted => self.repo.common.join(BORROWED),
            Borrow::InPlace => self.repo.common.join("objects"),
        };
        [objects.as_os_str().as_bytes(), b"\n"].concat()
    }

    /// The name of the sandbox's private git dir.
    fn name(&self) -> String {
        self.sandbox.entry.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The ref that pins what the quarantine borrows.
    fn pin(&self) -> String {
        confined::pin(&self.id)
    }

    fn fail(&self, why: impl Into<String>) -> Error {
        Error::NotTaken { name: self.sandbox.name(), why: why.into() }
    }
}
