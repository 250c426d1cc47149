//! Putting an item away in the vault, bringing it back from there, and deleting one for good.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::{Doing, Error, Result};
use crate::lifecycle::trash::{Item, Trash, folder_for, private_home};
use crate::lifecycle::vault::item::{Base, Item as Stored, Obstacle, Part};
use crate::lifecycle::vault::{Outcome, Vault};
use crate::repo::{held, kept};
use crate::sandbox::in_use::Processes;
use crate::sandbox::journal::{Journal, SET_ASIDE, Stage, TREE};
use crate::sandbox::mark::{Pin, TRASH, Text};
use crate::sandbox::{Sandbox, confined, precious};
use crate::sys::{crash_point, delete, dir, mounts};

/// How putting an item away ended.
#[derive(Debug)]
pub enum Put {
    /// It is in the vault.
    Away,
    /// It stays in the trash.
    Stays(Obstacle),
}

/// What came back from the vault.
#[derive(Debug)]
pub struct Unpacked {
    /// The item, in the trash again.
    pub item: Item,
    /// Files that cannot be brought back, since the repository has lost their bytes.
    pub missing: Vec<PathBuf>,
}

impl Unpacked {
    /// Whether the private git dir stays in the vault: without its repository it is of no use.
    pub fn leaves_private(&self) -> bool {
        self.item.private.is_none() && !self.item.journal.orphan
    }

    /// Whether everything came back, so that the vault can let go of it.
    pub fn is_whole(&self) -> bool {
        self.missing.is_empty() && !self.leaves_private()
    }
}

impl Trash<'_> {
    /// Puts an item away: stores, compares, then deletes what was stored.
    pub fn put_away(
        &self,
        item: &Item,
        vault: &Vault,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Put> {
        let Some(private) = &item.private else { return put_away(item, vault, progress) };
        let git = self.git.at(&self.repo.common);
        if item.journal.stage == Stage::PutAway {
            // An earlier run was interrupted while it deleted: git can no longer be asked in there, and
            // what is left may have changed since, so all of it is stored.
            let head = item.journal.head.as_deref();
            let base = head.map(|commit| Base { git: &git, commit });
            return carry_out(item, vault, base, &|_| true, progress);
        }
        let item = self.renewed(item, private)?;
        let head = held::head_commit(&self.git, private)?;
        crash_point::reached();
        let base = head.as_deref().map(|commit| Base { git: &git, commit });
        let precious = match (&item.journal.ignored, item.journal.has_tree) {
            (Some(ignored), true) => {
                let ignored: Vec<PathBuf> = ignored.iter().map(Text::path).collect();
                let inside = self.git.in_worktree(&item.tree());
                precious::files(&inside, &self.repo.config, &ignored, None)?
            }
            _ => Vec::new(),
        };
        let is_precious = |path: &Path| precious.iter().any(|other| other == path);
        let put = carry_out(&item, vault, base, &is_precious, progress)?;
        // What a process committed there meanwhile is kept at once, as far as git can read what is left.
        if matches!(put, Put::Stays(_))
            && let Some(journal) = Journal::read(&item.at)?
        {
            self.renewed(&Item { journal, ..item }, private).ok();
        }
        Ok(put)
    }

    /// Keeps what an item holds now, and writes that down.
    pub fn renewed(&self, item: &Item, private: &Path) -> Result<Item> {
        let journal = self.keep_again(item, private)?;
        if (&journal.kept, &journal.fingerprint) != (&item.journal.kept, &item.journal.fingerprint)
        {
            journal.write(&item.at)?;
        }
        Ok(Item { journal, ..item.clone() })
    }

    /// The item of which only the private git dir is left: its files were put away while its repository was
    /// out of reach.
    pub fn left_behind(&self, stored: Journal) -> Item {
        let at = self.place.root.join(TRASH).join(&stored.id);
        let private = private_home(&self.repo.common).join(&stored.id);
        Item { at, private: Some(private), journal: Journal { stage: Stage::PutAway, ..stored } }
    }

    /// Brings an item back from the vault into the trash. Its private git dir comes along only if this
    /// repository has what was kept for it: another one may stand at the old path by now.
    pub fn unpack(&self, journal: &Journal, vault: &Vault) -> Result<Unpacked> {
        let root = self.place.safe_root()?;
        let has = |commit: &String| kept::has(&self.git, &self.repo.common, commit);
        let knows_it = journal.kept.as_ref().map_or(Ok(true), has)?;
        let private = match journal.orphan || !knows_it {
            true => None,
            false => Some(self.home()?.join(&journal.id)),
        };
        let git = self.git.at(&self.repo.common);
        unpack(journal, vault, &root, Some(&git), private)
    }

    /// Deletes an item of the trash for good, with everything that was kept for it.
    pub fn purge(&self, item: &Item) -> Result<()> {
        delete_files(item)?;
        self.let_go(&item.journal)?;
        Journal::remove(&item.at)
    }

    /// Drops every ref that keeps work of an item that is gone for good.
    pub fn let_go(&self, journal: &Journal) -> Result<()> {
        let common = &self.repo.common;
        if let Some(id) = &journal.confined {
            confined::let_go(&self.git.at(common), id)?;
        }
        kept::let_go(&self.git, common, &journal.id)
    }
}

/// Puts an item away whose repository is out of reach. Which ignored files are precious only its config
/// says, so all of them are kept.
pub fn put_away(item: &Item, vault: &Vault, progress: &mut dyn FnMut(u64)) -> Result<Put> {
    carry_out(item, vault, None, &|_| true, progress)
}

fn carry_out(
    item: &Item,
    vault: &Vault,
    base: Option<Base>,
    precious: &dyn Fn(&Path) -> bool,
    progress: &mut dyn FnMut(u64),
) -> Result<Put> {
    let Item { at, private, journal } = item;
    let mut is_idle = || is_idle(item);
    if !is_idle()? {
        return Ok(Put::Stays(Obstacle::InUse));
    }
    let tree = item.tree();
    let aside = at.join(SET_ASIDE);
    let stored = Journal { stage: Stage::Trashed, ..journal.clone() };
    let stored: Value =
        serde_json::to_value(&stored).map_err(|_| Error::NotText { what: "path" })?;
    let ignored: Option<Vec<PathBuf>> =
        journal.ignored.as_ref().map(|ignored| ignored.iter().map(Text::path).collect());
    let wanted = Stored {
        id: &journal.id,
        tree: journal.has_tree.then_some(tree.as_path()).filter(|tree| tree.exists()),
        private: private.as_deref(),
        ignored: ignored.as_deref(),
        precious,
        base,
        journal: &stored,
    };
    let put = match vault.put_away(&wanted, progress)? {
        Outcome::Done(put) => put,
        Outcome::Stays(obstacle) => return Ok(Put::Stays(obstacle)),
    };
    crash_point::reached();
    // What was committed after it was kept is not: files must not go because that commit has them.
    if let Some(private) = private
        && journal.stage == Stage::Trashed
        && held::fingerprint(private) != journal.fingerprint
    {
        return Ok(Put::Stays(Obstacle::Changed(Part::Private.name().into())));
    }
    dir::make(at)?;
    // From then on the vault alone has all of it, also if this is stopped: that is where a restore looks.
    let mut begins = || {
        journal.at_stage(Stage::PutAway, at)?;
        crash_point::reached();
        Ok(())
    };
    if let Outcome::Stays(obstacle) = put.discard(&mut is_idle, &mut begins)? {
        return Ok(Put::Stays(obstacle));
    }
    crash_point::reached();
    if aside.symlink_metadata().is_ok() {
        std::fs::remove_file(&aside).at("remove", &aside)?;
    }
    Journal::remove(at)?;
    Ok(Put::Away)
}

/// Whether no process sits in an item, also in another mount namespace.
fn is_idle(item: &Item) -> Result<bool> {
    let private = item.private.clone().unwrap_or_default();
    let users = Processes::lazily().users_of(&Sandbox::in_trash(&item.tree(), &private))?;
    Ok(users.is_empty())
}

/// Brings an item back from the vault into the trash of a root on the file system of its place. The vault lets go of it where all of it
/// came back, its private git dir too; of a plain folder, when that is in its place.
pub fn unpack(
    journal: &Journal,
    vault: &Vault,
    root: &Path,
    git: Option<&crate::git::Git>,
    private: Option<PathBuf>,
) -> Result<Unpacked> {
    let at = folder_for(&journal.from, root)?.join(&journal.id);
    dir::make(&at)?;
    // Not ready until all of it is there: a crash leaves what the next restore completes.
    let unpacking = Journal { stage: Stage::Unpacking, ..journal.clone() };
    unpacking.write(&at)?;
    crash_point::reached();
    let tree = journal.has_tree.then(|| at.join(TREE));
    let made = vault.unpack(&journal.id, git, tree.as_deref(), private.as_deref())?;
    crash_point::reached();
    if let Some(private) = &private {
        // The root may have another place by now.
        let pin = Pin::read(private)?.map(|pin| pin.moved(at.clone()));
        pin.map(|pin| pin.set(private)).transpose()?;
    }
    let unpacked =
        Unpacked { item: Item { at, private, journal: unpacking }, missing: made.missing };
    // Before it counts as one of the trash: brought back from there, it must not be in the vault still.
    if unpacked.item.private.is_some() && unpacked.is_whole() {
        vault.forget(&journal.id)?;
        crash_point::reached();
    }
    let Unpacked { item: Item { at, private, journal }, missing } = unpacked;
    let journal = journal.at_stage(Stage::Trashed, &at)?;
    Ok(Unpacked { item: Item { at, private, journal }, missing })
}

/// Deletes an item for good whose repository is out of reach.
pub fn purge(item: &Item) -> Result<()> {
    delete_files(item)?;
    Journal::remove(&item.at)
}

/// Deletes everything of an item but its journal, by which it is found again if anything fails.
fn delete_files(item: &Item) -> Result<()> {
    let mount = mounts::all().into_iter().find(|mount| mount.starts_with(&item.at));
    if let Some(mount) = mount {
        let why = format!("something is mounted at '{}'", mount.display());
        return Err(Error::Damaged { name: item.journal.id.clone(), why });
    }
    dir::make(&item.at)?;
    item.journal.at_stage(Stage::Purging, &item.at)?;
    crash_point::reached();
    let tree = item.tree();
    delete::tree(&tree).at("delete", &tree)?;
    crash_point::reached();
    if let Some(private) = &item.private {
        let home = private.parent().and_then(Path::parent).map(private_home);
        if home.as_deref() == private.parent() {
            delete::tree(private).at("delete", private)?;
        }
    }
    crash_point::reached();
    let aside = item.at.join(SET_ASIDE);
    if aside.symlink_metadata().is_ok() {
        std::fs::remove_file(&aside).at("remove", &aside)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_purge_deletes_no_git_dir_outside_of_the_folder_of_removed_ones() {
        for (folder, goes) in [("sandbox", true), ("worktrees", false), ("modules", false)] {
            let home = tempfile::tempdir().unwrap();
            let at = home.path().join(".trash/x-0a1b2c3d");
            let private = home.path().join("app/.git").join(folder).join("x-0a1b2c3d");
            for made in [at.join(TREE), private.clone()] {
                fs::create_dir_all(&made).unwrap();
                fs::write(made.join("HEAD"), "mine\n").unwrap();
            }
            let journal = "{\"stage\": \"trashed\", \"id\": \"x-0a1b2c3d\", \"name\": \"x\", \
                           \"from\": \"/r/app/x\", \"has_tree\": true, \"refs\": {}, \
                           \"removed\": \"2026-01-31T12:00:00Z\", \"why\": \"by-hand\", \"holds\": []}";
            let journal = Journal::parse(journal.as_bytes()).unwrap();
            purge(&Item { at: at.clone(), private: Some(private.clone()), journal }).unwrap();
            assert!(!at.exists(), "{folder}");
            assert_eq!(private.join("HEAD").exists(), !goes, "{folder}");
        }
    }
}
