//! Orphans: retired by time, since git cannot be asked about them. The root's lock is held.

use std::path::Path;

use chrono::TimeDelta;

use super::Reaper;
use crate::config::Config;
use crate::error::Result;
use crate::everywhere::Everywhere;
use crate::gather;
use crate::live::Processes;
use crate::orphan;
use crate::out::Out;
use crate::retention::{self, Retention};
use crate::sandbox::{Class, Sandbox};
use crate::size;
use crate::spec::{FINISH, OLDER_THAN, PURGE};
use crate::time::counted;

impl Reaper<'_> {
    pub(super) fn orphans(
        &mut self,
        all: &Everywhere,
        root: &Path,
        retention: &Retention,
        out: &mut Out,
    ) -> Result<()> {
        let processes = Processes::lazily();
        let asked = self.args.count(&OLDER_THAN).map(|days| TimeDelta::days(days.into()));
        for folder in
            all.orphans.iter().filter(|_| !self.args.has(&PURGE) && !self.args.has(&FINISH))
        {
            let sandbox = Sandbox::orphan(folder);
            let Ok(last_used) = orphan::last_used(folder, self.now) else { continue };
            let expires = match asked {
                Some(period) => last_used.checked_add_signed(period),
                None => retention.expires(Class::Orphan, last_used),
            };
            if expires.is_none_or(|then| then > self.now) {
                continue;
            }
            let days = (self.now - last_used).num_days().unsigned_abs();
            let why = format!(
                "unused for {}, and its repository cannot be reached",
                counted(days, "day")
            );
            if let Some(reason) = gather::in_the_way(folder, &sandbox, &processes) {
                self.line(&sandbox, "skipped", "skipped", reason);
                continue;
            }
            self.freed += size::of(folder).unwrap_or(0);
            if !self.dry() {
                orphan::trash(folder, root, self.now, &why)?;
            }
            let action = if self.dry() { "would-trash" } else { "trashed" };
            self.line(&sandbox, action, "retired", why);
        }
        self.purge_orphans(all, &all.config, *out)
    }

    fn purge_orphans(&mut self, all: &Everywhere, config: &Config, out: Out) -> Result<()> {
        let period = retention::trash_period(config)?;
        for item in orphan::items(&all.root.trash_folders()) {
            let item = match item {
                Ok(item) => item,
                Err(error) => {
                    out.warn(&error.to_string());
                    continue;
                }
            };
            let Some(why) = self.why_purge(&item, period) else { continue };
            // Only time or a name decides: nobody can say what is in it.
            if self.args.has(&PURGE) && !self.is_named(&item) {
                continue;
            }
            let tree = item.tree();
            let there = Sandbox::in_trash(&tree, Path::new(""));
            if let Some(reason) = gather::in_the_way(&tree, &there, &Processes::lazily()) {
                self.trash_line(&item, "kept", "kept in the trash", reason);
                continue;
            }
            self.freed += size::of(&tree).unwrap_or(0);
            if !self.dry() {
                orphan::purge(&item)?;
            }
            let action = if self.dry() { "would-purge" } else { "purged" };
            self.trash_line(&item, action, "purged", why);
        }
        Ok(())
    }
}
