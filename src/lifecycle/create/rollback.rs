//! Taking back a creation that failed: the folder, the entry, and the branch only if we made it and it
//! has not moved.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use crate::error::Error;
use crate::git::Git;
use crate::out::Out;
use crate::resolve;

/// What there is to take back.
#[derive(Debug, Default)]
pub struct Undo {
    /// The folder we made.
    pub folder: Option<PathBuf>,
    /// Whether git may have registered it.
    pub registered: bool,
    /// The branch we made, and where it started.
    pub branch: Option<(OsString, String)>,
    /// Whether we gave it an upstream.
    pub upstream: bool,
}

impl Undo {
    /// Takes it back; what cannot be is said. The error that led here goes on.
    pub fn take_back(&self, git: &Git, out: Out, error: Error) -> Error {
        if let Some(folder) = self.folder.as_ref().filter(|folder| folder.exists()) {
            let remove = git.call(["worktree", "remove", "--force", "--force", "--"]).arg(folder);
            let removed = self.registered && remove.ask().is_ok_and(|answer| answer.ok());
            // git leaves the folder when it never came to register it; it is empty then.
            if !removed && fs::remove_dir(folder).is_err() {
                out.warn(&format!("'{}' could not be removed", folder.display()));
            }
        }
        if let Some((branch, commit)) = &self.branch {
            let name = branch.to_string_lossy();
            if self.upstream {
                let section = format!("branch.{name}");
                let _ = git.call(["config", "--local", "--remove-section", &section]).ask();
            }
            let delete = git.call(["update-ref", "-d"]).arg(resolve::full(branch)).arg(commit);
            if !delete.ask().is_ok_and(|answer| answer.ok()) {
                out.warn(&format!("branch '{name}' stays: it could not be removed unchanged"));
            }
        }
        error
    }
}
