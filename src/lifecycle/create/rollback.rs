//! Taking back a creation that failed: the folder and the private git dir if nothing in them is a
//! user's, and the branch only if we made it and it has not moved.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::{Git, refs};
use crate::lifecycle::spare;
use crate::repo::link;
use crate::sys::delete;
use crate::ui::out::Out;

/// What there is to take back.
#[derive(Debug, Default)]
pub struct Undo {
    /// The folder we made.
    pub folder: Option<PathBuf>,
    /// The folder that git may have registered.
    pub registered: Option<PathBuf>,
    /// The commits whose files we may have checked out there.
    pub commits: Vec<String>,
    /// The branch we made, and where it started.
    pub branch: Option<(OsString, String)>,
    /// The config keys that we set for it and that had no value.
    pub config: Vec<String>,
}

impl Undo {
    /// Takes it back; what cannot be is said. Returns the error that led here.
    pub fn take_back(&self, git: &Git, out: Out, error: Error) -> Error {
        match self.drop_folder(git) {
            Ok(None) => {}
            Ok(Some(file)) => {
                let file = file.display();
                out.warn(&format!("the sandbox stays: '{file}' is not git's"));
                return error;
            }
            Err(why) => {
                out.warn(&format!("the sandbox stays: {why}"));
                return error;
            }
        }
        if let Some((branch, commit)) = &self.branch {
            let name = branch.to_string_lossy();
            for key in &self.config {
                let _ = git.call(["config", "--local", "--unset-all", key]).ask();
            }
            let delete = git.call(["update-ref", "-d"]).arg(refs::full(branch)).arg(commit);
            if !delete.ask().is_ok_and(|answer| answer.ok()) {
                out.warn(&format!("branch '{name}' stays: it could not be removed unchanged"));
            }
        }
        error
    }

    /// Deletes what we made. Returns a file that is not git's, which keeps all of it.
    fn drop_folder(&self, git: &Git) -> Result<Option<PathBuf>> {
        let registered = self.registered.as_deref().filter(|folder| folder.exists());
        let entry = registered.and_then(link::folder_points_to);
        if let (Some(folder), Some(entry)) = (registered, &entry) {
            let strange = spare::strange_files(git, folder, entry, &self.commits)?;
            if let Some(file) = strange.into_iter().next() {
                return Ok(Some(folder.join(file)));
            }
            delete::tree(folder).at("remove", folder)?;
            self.drop_entry(entry)?;
        }
        // git leaves the folder when it never came to register it; it is empty then.
        if let Some(folder) = self.folder.as_ref().filter(|folder| folder.exists()) {
            fs::remove_dir(folder).at("remove", folder)?;
        }
        Ok(None)
    }

    fn drop_entry(&self, entry: &Path) -> Result<()> {
        let registry = entry.parent().and_then(Path::file_name);
        match registry == Some("worktrees".as_ref()) {
            true => delete::tree(entry).at("remove", entry),
            false => Ok(()),
        }
    }
}
