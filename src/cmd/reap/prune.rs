//! `git worktree prune` at the end of a run, which loses nothing.

use super::Reaper;
use super::verb::Verb;
use crate::cmd::context::Here;
use crate::error::{Error, Result};
use crate::repo::odd;
use crate::sandbox::journal::Why;
use crate::sys::lock::Lock;
use crate::ui::out::Out;

impl Reaper<'_> {
    /// `git worktree prune` with the expiry of `git gc`, after everything that it would drop has been
    /// put aside, also entries that other tools made. If an entry cannot be put aside, that is reported
    /// and nothing is pruned. Without a lock it is only said what would be put aside.
    pub(super) fn prune(&mut self, here: &Here, lock: Option<&Lock>, out: Out) -> Result<()> {
        // git would delete an entry that it cannot read.
        if !odd::guard(&here.repo.common)?.is_empty() {
            return Ok(());
        }
        let expiry = here.repo.config.get("gc.worktreepruneexpire").unwrap_or("3.months.ago");
        let expire = format!("--expire={expiry}");
        let git = &here.repo.git;
        let dry = git.look(["worktree", "prune", "--dry-run", "--verbose", &expire]).ask()?;
        // What it would drop is not known then, and nothing of it is put aside.
        if !dry.ok() {
            let doing = "ask which worktrees are to be pruned".to_owned();
            return Err(Error::Git { doing, why: dry.why() });
        }
        if dry.stdout.is_empty() && dry.words().is_empty() {
            return Ok(());
        }
        let said = [String::from_utf8_lossy(&dry.stdout).into_owned(), dry.words().join("\n")];
        let said = said.concat();
        let mut all_aside = true;
        for sandbox in here.linked() {
            let name = sandbox.entry.file_name().unwrap_or_default().to_string_lossy();
            if !said.contains(&format!("worktrees/{name}:")) {
                continue;
            }
            let (action, done) = match lock {
                Some(lock) => ("trashed", here.trash(lock).forget(&sandbox).map(|_| ())),
                None => ("would-trash", here.trash_for_reading(None).check_forgettable(&sandbox)),
            };
            match done {
                Ok(()) => self.line(&sandbox, action, Verb::Retired, Why::FolderGone.to_string()),
                Err(error) => {
                    all_aside = false;
                    out.warn(&error.to_string());
                }
            }
        }
        match lock.filter(|_| all_aside) {
            Some(lock) => {
                let git = git.holding(lock.file());
                git.call(["worktree", "prune", &expire]).done("prune the worktrees")
            }
            None => Ok(()),
        }
    }
}
