//! `git worktree prune` at the end of a run, which loses nothing.

use super::Reaper;
use super::verb::Verb;
use crate::cmd::context::Here;
use crate::error::Result;
use crate::repo::odd;
use crate::sandbox::journal::Why;
use crate::sys::lock::Lock;
use crate::ui::out::Out;

impl Reaper<'_> {
    /// `git worktree prune` with the expiry of `git gc`, after everything that it would drop has been
    /// put aside, also entries that other tools made. If an entry cannot be put aside, that is reported
    /// and nothing is pruned.
    pub(super) fn prune(&mut self, here: &Here, lock: &Lock, out: Out) -> Result<()> {
        // git would delete an entry that it cannot read.
        if !odd::guard(&here.repo.common)?.is_empty() {
            return Ok(());
        }
        let expiry = here.repo.config.get("gc.worktreepruneexpire").unwrap_or("3.months.ago");
        let expire = format!("--expire={expiry}");
        let git = here.repo.git.holding(lock.file());
        let dry = git.look(["worktree", "prune", "--dry-run", "--verbose", &expire]).ask()?;
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
            match here.trash(lock).forget(&sandbox) {
                Ok(_) => {
                    self.line(&sandbox, "trashed", Verb::Retired, Why::FolderGone.to_string());
                }
                Err(error) => {
                    all_aside = false;
                    out.warn(&error.to_string());
                }
            }
        }
        match all_aside {
            true => git.call(["worktree", "prune", &expire]).done("prune the worktrees"),
            false => Ok(()),
        }
    }
}
