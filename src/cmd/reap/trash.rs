//! The trash of one repository: what is past its period or named goes, if nothing is lost by it.

use std::ffi::OsStr;

use chrono::TimeDelta;

use super::Reaper;
use crate::background;
use crate::cmd::Here;
use crate::error::{Error, Result};
use crate::journal::Stage;
use crate::live::Processes;
use crate::lock::Lock;
use crate::out::Out;
use crate::purge;
use crate::size;
use crate::spec::{ALL, PURGE};
use crate::time::{Time, counted};
use crate::trash::{self, Item};

impl Reaper<'_> {
    /// Empties what is past its period and has nothing to lose, and what was named.
    pub(super) fn trash(
        &mut self,
        here: &Here,
        lock: Option<&Lock>,
        period: Option<TimeDelta>,
        processes: &Processes,
        out: Out,
    ) -> Result<()> {
        let mut items = Vec::new();
        for item in trash::items(&here.worktrees.linked) {
            match item {
                Ok(item) => items.push(item),
                Err(error) => out.warn(&format!("kept in the trash: {error}")),
            }
        }
        let left = purge::leftovers(&here.place.trash_folders(), &here.repo.common);
        if !self.args.has(&ALL) {
            let known: Vec<&Item> = items.iter().chain(&left).collect();
            self.check_names(&known)?;
        }
        let main = (!here.worktrees.main.bare).then_some(here.worktrees.main.path.as_path());
        let holder = here.trash_for_reading(lock);
        let mut marked = items.iter().any(|item| item.journal.stage == Stage::Purging);
        for item in items.iter().filter(|item| item.journal.stage == Stage::Trashed) {
            let Some(why) = self.why_purge(item, period) else { continue };
            let losses = match self.is_named(item) {
                true => holder.obstacles(item, processes),
                false => holder.losses(item, main, processes),
            };
            let room = size::of(&item.tree()).unwrap_or(0);
            if !losses.is_empty() {
                let reason = format!("{}, {}", losses.join(", "), size::in_words(room));
                self.trash_line(item, "kept", "kept in the trash", reason);
                continue;
            }
            self.freed += room;
            if lock.is_none() {
                self.trash_line(item, "would-purge", "purged", why);
                continue;
            }
            holder.mark_for_purge(item)?;
            marked = true;
            self.trash_line(item, "purged", "purged", why);
        }
        if (marked || !left.is_empty())
            && lock.is_some()
            && background::purge(&here.repo.common).is_err()
        {
            out.note("deleting what was purged");
            let items = trash::items(&here.worktrees.linked).into_iter().flatten();
            for item in items.filter(|item| item.journal.stage == Stage::Purging).chain(left) {
                purge::delete_files(&item)?;
                holder.finish_purge(&item)?;
            }
        }
        Ok(())
    }

    /// Across repositories a name may mean several: there only an id will do, but for orphans.
    pub(super) fn is_named(&self, item: &Item) -> bool {
        let by_name = !self.args.has(&ALL) || item.journal.is_orphan();
        let mut words = self.args.operands.iter();
        words.any(|word| *word == *item.journal.id || (by_name && names(item, word)))
    }

    /// Every name must mean one item: deleting the wrong one cannot be undone.
    fn check_names(&self, items: &[&Item]) -> Result<()> {
        for word in &self.args.operands {
            let found: Vec<&&Item> = items.iter().filter(|item| names(item, word)).collect();
            let name = word.to_string_lossy().into_owned();
            match &found[..] {
                [] => return Err(Error::UnknownTrash { name, nearest: None }),
                [_, _, ..] => {
                    let ids = found.iter().map(|item| format!("it could be {}", item.journal.id));
                    return Err(Error::Ambiguous { word: name, candidates: ids.collect() });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Why an item of the trash should go, if it should.
    pub(super) fn why_purge(&self, item: &Item, period: Option<TimeDelta>) -> Option<String> {
        if self.args.has(&PURGE) {
            let named = self.args.operands.is_empty() || self.is_named(item);
            return named.then(|| "asked for".to_owned());
        }
        let removed = item.journal.removed.parse::<Time>().ok()?;
        let age = self.now - removed;
        let days = age.num_days().unsigned_abs();
        (age >= period?).then(|| format!("in the trash for {}", counted(days, "day")))
    }

    /// Deletes what an earlier run marked. Only the last steps need the lock.
    pub(super) fn finish(&mut self, here: &Here, lock: Option<Lock>, out: Out) -> Result<()> {
        let items = trash::items(&here.worktrees.linked).into_iter().flatten();
        let left = purge::leftovers(&here.place.trash_folders(), &here.repo.common);
        let marked = items.filter(|item| item.journal.stage == Stage::Purging);
        let items: Vec<Item> = marked.chain(left).collect();
        drop(lock);
        for item in &items {
            purge::delete_files(item)?;
            let lock = here.repo.lock(out)?;
            here.trash(&lock).finish_purge(item)?;
        }
        Ok(())
    }
}

fn names(item: &Item, word: &OsStr) -> bool {
    *word == *item.journal.id || *word == *item.journal.name
}
