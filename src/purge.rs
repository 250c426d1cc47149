//! Purge: the only thing that deletes, and only from the trash, and only what has nothing to lose
//! or was named.
//!
//! Git is asked about the files in the trash but never inside a submodule there, whose pointers may
//! lead to another checkout: what the journal says about those stands. The journal is marked first,
//! so that a killed purge goes on with the next `reap`; then the files go, then git's entry, then
//! the journal. The kept ref stays.

use std::path::Path;

use crate::delete;
use crate::error::{Doing, Error, Result};
use crate::gather;
use crate::journal::{Journal, Stage};
use crate::live::Processes;
use crate::porcelain;
use crate::precious;
use crate::sandbox::Sandbox;
use crate::step;
use crate::time::counted;
use crate::trash::{Item, Trash};

impl Trash<'_> {
    /// What would be lost with this item, in words; nothing if it may go.
    pub fn losses(&self, item: &Item, main: Option<&Path>, processes: &Processes) -> Vec<String> {
        let mut losses: Vec<String> = item
            .journal
            .nested
            .iter()
            .map(|path| format!("unsaved work in '{}'", path.display()))
            .collect();
        let sandbox = Sandbox::in_trash(&item.tree(), &item.journal.entry);
        match processes.users_of(&sandbox) {
            Ok(users) => {
                losses.extend(users.iter().map(|user| format!("in use by {}", user.in_words())));
            }
            Err(error) => losses.push(format!("cannot tell: {error}")),
        }
        match self.file_losses(item, &sandbox, main) {
            Ok(found) => losses.extend(found),
            Err(error) => losses.push(format!("cannot tell: {error}")),
        }
        losses
    }

    fn file_losses(
        &self,
        item: &Item,
        sandbox: &Sandbox,
        main: Option<&Path>,
    ) -> Result<Vec<String>> {
        if item.journal.is_orphan() {
            return Ok(Vec::new());
        }
        let mut losses = Vec::new();
        let git = self.git.at(&item.tree());
        let words =
            ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignored=matching"];
        let read = git.look(words).arg("--ignore-submodules=all").read("read its files")?;
        let odd = || Error::Git { doing: "read its files".into(), why: "git status is odd".into() };
        let status = porcelain::status(&read).ok_or_else(odd)?;
        let mut lose = |count: u64, noun: &str| {
            losses.extend((count > 0).then(|| counted(count, noun)));
        };
        lose(status.changes(), "uncommitted change");
        let hidden = gather::hidden(&git, sandbox);
        lose(
            hidden.map_err(|why| Error::Git { doing: "read its files".into(), why })?,
            "hidden edit",
        );
        lose(precious::among(&git, &self.repo.config, &status.ignored, main)?, "precious file");
        let operation = sandbox.operation(&self.git, self.repo.is_reftable());
        losses.extend(operation.map(|operation| format!("{operation} in progress")));
        Ok(losses)
    }

    /// Writes down that an item is to be deleted: from here on there is no way back.
    pub fn mark_for_purge(&self, item: &Item) -> Result<()> {
        Journal { stage: Stage::Purging, ..item.journal.clone() }.write(&item.pin.at)?;
        step::reached();
        Ok(())
    }

    /// Deletes an item for good. The caller has decided.
    pub fn purge(&self, item: &Item) -> Result<()> {
        let Item { pin, journal } = item;
        self.mark_for_purge(item)?;
        let tree = item.tree();
        delete::tree(&tree).at("delete", &tree)?;
        step::reached();
        if !journal.is_orphan() && journal.entry.is_dir() {
            let call = self.git.call(["worktree", "remove", "--force", "--force", "--"]).arg(&tree);
            call.done("drop its entry")?;
        }
        step::reached();
        Journal::remove(&pin.at)
    }
}
