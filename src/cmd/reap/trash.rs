//! The trash and the vault: what has been in the trash for its period is put away, what was named is
//! deleted for good.

use std::io::{self, BufRead, IsTerminal};

use chrono::TimeDelta;

use super::Reaper;
use super::verb::Verb;
use crate::cli::spec::{FORCE_STALE, PURGE};
use crate::cmd::context::Here;
use crate::error::{Error, Result};
use crate::lifecycle::trash::put_away::{self, Put};
use crate::lifecycle::trash::{self, Item};
use crate::lifecycle::vault::Vault;
use crate::sandbox::in_use::{Processes, User};
use crate::sandbox::journal::{Journal, Stage};
use crate::sandbox::retention::AfterRemoval;
use crate::sandbox::{Sandbox, holding};
use crate::sys::clock::Time;
use crate::sys::disk_usage;
use crate::sys::lock::Lock;
use crate::ui::out::Out;
use crate::ui::progress::Bytes;
use crate::ui::words::{self, counted};

impl Reaper<'_> {
    /// Puts away what is due, or deletes what was named.
    pub(super) fn trash(
        &mut self,
        here: &Here,
        lock: Option<&Lock>,
        after: AfterRemoval,
        out: Out,
    ) -> Result<()> {
        let mut items = Vec::new();
        let vault = here.vault(out);
        let holder = here.trash_for_reading(lock);
        for item in trash::items(&here.repo, &here.place) {
            match item {
                Ok(item) => items.push(item),
                Err(Error::Damaged { name, .. }) if vault.has(&name).unwrap_or(false) => {
                    let stored = here.stored(out)?;
                    let stored = stored.into_iter().find(|(journal, _)| journal.id == name);
                    items.extend(stored.map(|(journal, _)| holder.left_behind(journal)));
                }
                Err(error) => out.warn(&format!("kept in the trash: {error}")),
            }
        }
        if !self.purging.is_empty() {
            for item in &items {
                if !self.purging.contains(&item.journal.id) {
                    continue;
                }
                self.purge(item, &vault, lock.is_some(), out, || holder.purge(item))?;
            }
            return self.stored(here, lock, None, &vault, out);
        }
        for item in &items {
            let stage = &item.journal.stage;
            if *stage == Stage::Purging {
                // It was named before; only the deletion was interrupted.
                self.purge(item, &vault, lock.is_some(), out, || holder.purge(item))?;
            }
            if !matches!(stage, Stage::Trashed | Stage::PutAway) {
                continue;
            }
            let Some(why) = self.why_put_away(item, after.trash) else {
                // A process that was left in it may have committed since.
                let acts = lock.is_some() && *stage == Stage::Trashed;
                if let Some(private) = item.private.as_ref().filter(|_| acts) {
                    let renewed = holder.renewed(item, private).map(drop);
                    renewed
                        .unwrap_or_else(|error| out.warn(&format!("{}: {error}", item.journal.id)));
                }
                continue;
            };
            let put = |progress: &mut dyn FnMut(u64)| holder.put_away(item, &vault, progress);
            self.put_away(item, lock.is_some(), why, put);
        }
        self.stored(here, lock, after.vault, &vault, out)
    }

    /// Puts one item away and says what became of it.
    pub(super) fn put_away(
        &mut self,
        item: &Item,
        act: bool,
        why: String,
        put: impl FnOnce(&mut dyn FnMut(u64)) -> Result<Put>,
    ) {
        let room = disk_usage::of(&item.tree()).unwrap_or(0);
        if !act {
            self.freed += room;
            self.trash_line(item, "would-put-away", Verb::PutAway, why);
            return;
        }
        let mut progress = Bytes::new(format!("putting away '{}'", item.journal.id));
        let put = put(&mut |size| progress.add(size));
        drop(progress);
        match put {
            Ok(Put::Away) => {
                self.freed += room;
                self.trash_line(item, "put-away", Verb::PutAway, why);
            }
            Ok(Put::Stays(obstacle)) => {
                let reason = format!("{obstacle}, {}", words::size(room));
                self.trash_line(item, "kept", Verb::KeptInTrash, reason);
            }
            Err(error) => {
                self.failed = true;
                let reason = format!("{error}, {}", words::size(room));
                self.trash_line(item, "kept", Verb::KeptInTrash, reason);
            }
        }
    }

    /// Deletes one item of the trash for good, and what the vault has of it.
    pub(super) fn purge(
        &mut self,
        item: &Item,
        vault: &Vault,
        act: bool,
        out: Out,
        purge: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let private = item.private.clone().unwrap_or_default();
        let users = Processes::lazily().users_of(&Sandbox::in_trash(&item.tree(), &private))?;
        if !users.is_empty() {
            let users: Vec<String> = users.iter().map(User::in_words).collect();
            let reason = format!("in use by {}", users.join(", "));
            self.trash_line(item, "kept", Verb::KeptInTrash, reason);
            return Ok(());
        }
        let room = disk_usage::of(&item.tree()).unwrap_or(0);
        if act && !self.confirmed(&item.journal, room, out) {
            self.trash_line(item, "kept", Verb::KeptInTrash, "not confirmed".into());
            return Ok(());
        }
        if act {
            purge()?;
            if vault.has(&item.journal.id)? {
                vault.purge(&item.journal.id)?;
            }
        }
        self.freed += room;
        let action = if act { "purged" } else { "would-purge" };
        self.trash_line(item, action, Verb::Purged, "asked for".into());
        Ok(())
    }

    /// Deletes from the vault what was named, or what has been there for its period. What the repository
    /// keeps for the others gets its ref again where that has vanished.
    fn stored(
        &mut self,
        here: &Here,
        lock: Option<&Lock>,
        period: Option<TimeDelta>,
        vault: &Vault,
        out: Out,
    ) -> Result<()> {
        let renews = self.purging.is_empty() && lock.is_some();
        let deletes = !self.purging.is_empty() || period.is_some();
        if !deletes && !renews {
            return Ok(());
        }
        let stored = match here.stored(out) {
            // Of a vault that cannot be read `doctor` tells.
            Err(_) if !deletes => return Ok(()),
            stored => stored?,
        };
        for (journal, size) in stored {
            let purged = match () {
                () if self.has_line(&journal) => Ok(false),
                () if self.purging.contains(&journal.id) => {
                    self.purge_from_vault(&journal, size, vault, out)
                }
                () if self.purging.is_empty() && self.is_older(&journal, period) => {
                    self.expire(&journal, size, vault)
                }
                () => Ok(false),
            };
            // Where only the room could not be freed, nobody can name the item again.
            let is_gone = match &purged {
                Ok(purged) => *purged,
                Err(_) => vault.has(&journal.id).is_ok_and(|has| !has),
            };
            match lock {
                Some(lock) if is_gone => here.trash(lock).let_go(&journal)?,
                Some(lock) if renews => drop(here.trash(lock).renew(&journal)?),
                _ => {}
            }
            purged?;
        }
        Ok(())
    }

    /// Deletes a named item from the vault. Returns whether it is gone.
    pub(super) fn purge_from_vault(
        &mut self,
        journal: &Journal,
        size: u64,
        vault: &Vault,
        out: Out,
    ) -> Result<bool> {
        if self.dry() {
            self.freed += size;
            self.journal_line(journal, "would-purge", Verb::Purged, "asked for".into());
            return Ok(false);
        }
        if !self.confirmed(journal, size, out) {
            self.journal_line(journal, "kept", Verb::Kept, "not confirmed".into());
            return Ok(false);
        }
        vault.purge(&journal.id)?;
        self.freed += size;
        self.journal_line(journal, "purged", Verb::Purged, "asked for".into());
        Ok(true)
    }

    /// Deletes an item from the vault whose period is over. Returns whether it is gone.
    fn expire(&mut self, journal: &Journal, size: u64, vault: &Vault) -> Result<bool> {
        let removed = journal.removed.parse::<Time>().unwrap_or(self.now);
        let days = (self.now - removed).num_days().unsigned_abs();
        let why = format!("removed {} ago", counted(days, "day"));
        self.freed += size;
        if self.dry() {
            self.journal_line(journal, "would-purge", Verb::Purged, why);
            return Ok(false);
        }
        vault.purge(&journal.id)?;
        self.journal_line(journal, "purged", Verb::Purged, why);
        Ok(true)
    }

    fn is_older(&self, journal: &Journal, period: Option<TimeDelta>) -> bool {
        let removed = journal.removed.parse::<Time>().ok();
        period.zip(removed).is_some_and(|(period, removed)| self.now - removed >= period)
    }

    pub(super) fn has_line(&self, journal: &Journal) -> bool {
        self.lines.iter().any(|line| line.name == journal.id)
    }

    /// Says what will be gone and, on a terminal, asks.
    pub(super) fn confirmed(&self, journal: &Journal, room: u64, out: Out) -> bool {
        let holds = match &journal.holds[..] {
            [] => "nothing that is only there".to_owned(),
            some => holding::listed(some, ", "),
        };
        let asks = io::stdin().is_terminal() && io::stderr().is_terminal();
        let room = words::size(room);
        out.note(&format!("'{}' will be gone for good: {holds}, {room}", journal.id));
        if !asks || self.args.has(&FORCE_STALE) {
            return true;
        }
        out.ask("delete it? [y/N] ");
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line).unwrap_or(0);
        read > 0 && matches!(line.trim(), "y" | "Y" | "yes")
    }

    /// Why an item should leave the trash, if it should.
    pub(super) fn why_put_away(&self, item: &Item, period: Option<TimeDelta>) -> Option<String> {
        if self.args.has(&PURGE) {
            return Some("asked for".to_owned());
        }
        if item.journal.stage == Stage::PutAway {
            return Some("an earlier run was interrupted".to_owned());
        }
        let removed = item.journal.removed.parse::<Time>().ok()?;
        let age = self.now - removed;
        let days = age.num_days().unsigned_abs();
        (age >= period?).then(|| format!("in the trash for {}", counted(days, "day")))
    }

    /// Puts away what is due of items whose repository is out of reach, or deletes what was named.
    pub(super) fn lost_trash(
        &mut self,
        items: &[Item],
        vault: &Vault,
        period: Option<TimeDelta>,
        out: Out,
    ) -> Result<()> {
        let act = !self.dry();
        for item in items {
            let is_named = self.purging.contains(&item.journal.id);
            // One that was named before, and whose deletion was interrupted.
            let is_begun = self.purging.is_empty() && item.journal.stage == Stage::Purging;
            if is_named || is_begun {
                self.purge(item, vault, act, out, || put_away::purge(item))?;
            } else if self.purging.is_empty()
                && matches!(item.journal.stage, Stage::Trashed | Stage::PutAway)
                && let Some(why) = self.why_put_away(item, period)
            {
                let put = |progress: &mut dyn FnMut(u64)| put_away::put_away(item, vault, progress);
                self.put_away(item, act, why, put);
            }
        }
        Ok(())
    }
}
