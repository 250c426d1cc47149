//! Orphans: retired by time, since git cannot be asked about them, and items of the trash whose
//! repository is out of reach. The root's lock is held.

use std::path::Path;

use chrono::TimeDelta;

use super::Reaper;
use super::lost::{lost, lost_stored};
use super::verb::Verb;
use crate::cli::spec::{OLDER_THAN, PURGE};
use crate::error::Result;
use crate::git::Git;
use crate::lifecycle::trash::orphan;
use crate::lifecycle::vault::Vault;
use crate::sandbox::all_repos::Everywhere;
use crate::sandbox::in_use::Processes;
use crate::sandbox::journal::Why;
use crate::sandbox::retention::{AfterRemoval, Retention};
use crate::sandbox::{Class, Sandbox, facts};
use crate::sys::disk_usage;
use crate::ui::out::Out;

impl Reaper<'_> {
    pub(super) fn orphans(
        &mut self,
        all: &Everywhere,
        root: &Path,
        retention: &Retention,
        after: AfterRemoval,
        out: &mut Out,
    ) -> Result<()> {
        let processes = Processes::lazily();
        let asked = self.args.count(&OLDER_THAN).map(|days| TimeDelta::days(days.into()));
        let looks = !self.args.has(&PURGE);
        self.seen.extend(all.orphans.iter().filter(|_| looks).cloned());
        for folder in all.orphans.iter().filter(|_| looks) {
            let sandbox = Sandbox::orphan(folder);
            let Ok(last_used) = orphan::last_used(folder, self.now) else { continue };
            let expires = match asked {
                Some(period) => last_used.checked_add_signed(period),
                None => retention.expires(Class::Orphan, last_used),
            };
            if expires.is_none_or(|then| then > self.now) {
                continue;
            }
            let why = Why::UnusedOrphan((self.now - last_used).num_days().unsigned_abs());
            if let Some(refusal) = facts::in_the_way(folder, &sandbox, &processes) {
                self.line(&sandbox, "skipped", Verb::Skipped, refusal.to_string());
                continue;
            }
            self.freed += disk_usage::of(folder).unwrap_or(0);
            if !self.dry() {
                orphan::trash(folder, root, self.now, why.clone())?;
            }
            let action = if self.dry() { "would-trash" } else { "trashed" };
            self.line(&sandbox, action, Verb::Retired, why.to_string());
        }
        let mut items = Vec::new();
        for item in lost(all) {
            match item {
                Ok(item) => items.push(item),
                Err(error) => out.warn(&error.to_string()),
            }
        }
        let vault = Vault::at(root, &Git::here()?, *out);
        self.lost_trash(&items, &vault, after.trash, *out)?;
        // No period applies to what is in the vault of a repository out of reach.
        for (journal, size) in lost_stored(all, &vault, *out)? {
            if self.purging.contains(&journal.id) && !self.has_line(&journal) {
                self.purge_from_vault(&journal, size, &vault, *out)?;
            }
        }
        Ok(())
    }
}
