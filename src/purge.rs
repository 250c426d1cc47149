//! Purge: the only thing that deletes, and only from the trash, and only what has nothing to lose
//! or was named.
//!
//! Git is asked about the files in the trash but never inside a submodule there, whose pointers may
//! lead to another checkout: what the journal says about those stands. The journal is marked first,
//! so that a killed purge goes on with the next `reap`; then the files go, then git's entry, then
//! the journal. The kept ref stays.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::delete;
use crate::error::{Doing, Error, Result};
use crate::gather;
use crate::git::Git;
use crate::journal::{Journal, Stage};
use crate::live::Processes;
use crate::porcelain;
use crate::sandbox::Sandbox;
use crate::step;
use crate::time::counted;
use crate::trash::{Item, Trash};

/// Ignored files that matter, unless `sandbox.precious` says otherwise.
const PRECIOUS: [&str; 5] = [".env*", "*.local", "*.sqlite*", "*.pem", "*.key"];

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
        let precious = self.precious(&git, &status.ignored)?;
        let changed = precious.iter().filter(|path| !is_copy(&item.tree(), main, path));
        lose(changed.count() as u64, "precious file");
        let operation = sandbox.operation(&self.git, self.repo.is_reftable());
        losses.extend(operation.map(|operation| format!("{operation} in progress")));
        Ok(losses)
    }

    /// Those of the ignored files that the user's patterns call precious; git matches them.
    fn precious(&self, git: &Git, ignored: &[PathBuf]) -> Result<Vec<PathBuf>> {
        let is_file = |path: &&PathBuf| !path.as_os_str().as_bytes().ends_with(b"/");
        let files: Vec<&PathBuf> = ignored.iter().filter(is_file).collect();
        let mut patterns: Vec<&str> = self.repo.config.all("sandbox.precious").collect();
        if patterns.is_empty() {
            patterns = PRECIOUS.to_vec();
        }
        let patterns: Vec<String> =
            patterns.iter().map(|pattern| format!("--exclude={pattern}")).collect();
        let mut precious = Vec::new();
        for files in files.chunks(500) {
            let words = ["--literal-pathspecs", "ls-files", "--others", "--ignored", "-z"];
            let call = git.look(words).args(&patterns).arg("--").args(files);
            precious.extend(porcelain::paths(&call.read("find precious files")?));
        }
        Ok(precious)
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

/// Whether the main worktree has the very same file, from which it was copied.
fn is_copy(tree: &Path, main: Option<&Path>, path: &Path) -> bool {
    let Some(main) = main else { return false };
    let plain = |file: &Path| fs::symlink_metadata(file).is_ok_and(|meta| meta.is_file());
    let (ours, theirs) = (tree.join(path), main.join(path));
    plain(&ours)
        && plain(&theirs)
        && fs::read(ours).ok().is_some_and(|bytes| fs::read(theirs).ok() == Some(bytes))
}
