//! Which sandbox a wish means that is there already, and what happens to it.

use super::{Action, Maker, Outcome, Wish, outcome};
use crate::error::{Error, Result};
use crate::git::refs;
use crate::lifecycle::trash::{self, Item, Trash};
use crate::repo::holders::{self, Holder};
use crate::repo::kept::KEPT;
use crate::repo::place::Place;
use crate::repo::read_worktrees::{self, Read};
use crate::repo::{Worktree, Worktrees, start_point};
use crate::sandbox::holding::{self, Holding};
use crate::sandbox::journal::Journal;
use crate::sandbox::mark::CREATING;
use crate::sandbox::record;
use crate::sandbox::{self, Damage, Sandbox, State};
use crate::sys::{dir, path};
use crate::ui::words::shell_word;
use std::ffi::OsString;
use std::path::Path;

impl Maker<'_> {
    /// The sandbox that this wish means, if it is there.
    pub(super) fn existing(
        &self,
        wish: &Wish,
        worktrees: &Worktrees,
        place: &Place,
    ) -> Result<Option<Sandbox>> {
        let sandboxes = || match worktrees.odd.is_empty() {
            // Only at those that it may be is it worth to look.
            true => sandbox::all(&worktrees.only(|tree| self.may_be(wish, tree)), place),
            false => sandbox::all(worktrees, place),
        };
        let Some(branch) = wish.branch.as_deref() else {
            let parent = wish.dir.as_deref().map(path::real);
            let here = |sandbox: &Sandbox| match &parent {
                Some(parent) => sandbox.path.parent() == Some(parent),
                None => sandbox.managed,
            };
            let named = |sandbox: &Sandbox| sandbox.name() == wish.folder && here(sandbox);
            return Ok(sandboxes().into_iter().find(named));
        };
        let holders: Vec<Holder> = holders::of(worktrees, &self.repo.common, branch).collect();
        if holders.iter().any(|holder| holder.is_main) {
            let branch = branch.to_string_lossy().into_owned();
            return Err(Error::CheckedOutInMain { slug: format!("{branch}-2"), branch });
        }
        Ok(sandboxes().into_iter().find(|sandbox| sandbox.branch.as_deref() == Some(branch)))
    }

    /// All worktrees, where they can be read without git and none of them has the name or branch that is
    /// wished for: what is there is looked at more closely.
    pub(super) fn read_worktrees(&self, wish: &Wish) -> Option<Read> {
        let read = read_worktrees::read(self.repo)?;
        let known = |tree: &Worktree| match wish.branch {
            Some(_) => tree.record.branch.is_some() && self.may_be(wish, tree),
            None => self.may_be(wish, tree),
        };
        (!read.worktrees.linked.iter().any(known)).then_some(read)
    }

    /// Whether a worktree can be the sandbox that this wish means.
    fn may_be(&self, wish: &Wish, tree: &Worktree) -> bool {
        match (&wish.branch, &tree.record.branch) {
            (Some(wanted), Some(branch)) => refs::short(branch) == *wanted,
            // A rebase or bisect may hold the branch.
            (Some(_), None) => true,
            (None, _) => {
                let name = tree.record.path.file_name();
                name.is_none_or(|name| name.to_string_lossy() == wish.folder.as_str())
            }
        }
    }

    pub(super) fn resume(&self, wish: &Wish, there: &Sandbox) -> Result<Outcome> {
        if let State::Damaged(Damage::OddFile(path)) = &there.state {
            return Err(Error::OddFile { path: path.clone() });
        }
        if let State::Damaged(why) = &there.state {
            return Err(Error::Damaged { name: there.name(), why: why.to_string() });
        }
        if wish.from.is_some() {
            return Err(start_point::from_existing(there.branch.as_deref(), "in a sandbox"));
        }
        if wish.with_changes {
            return Err(Error::CarryIntoExisting { name: there.name() });
        }
        if wish.task.is_some() || wish.author.is_some() || wish.confine.is_some() {
            record::write_synced(&there.entry, &wish.told_in(record::to_change(&there.entry)?))?;
        }
        record::protect(&there.entry)?;
        if let Some(pull) = &wish.pull {
            self.pull(pull, there)?;
        }
        let git = &self.repo.git;
        let last_used = there.last_used(git, self.repo.is_reftable(), &[], self.now);
        dir::touch(&there.path, self.now)?;
        Ok(Outcome { last_used, ..outcome(&there.path, &there.entry, Action::Resumed) })
    }

    /// Forgets a sandbox whose folder was deleted by hand; its commits are kept.
    pub(super) fn drop_missing(&self, trash: &Trash, place: &Place, there: &Sandbox) -> Result<()> {
        let not_there =
            |why| Err(Error::NotThere { name: there.name(), path: there.path.clone(), why });
        match &there.locked {
            Some(reason) if reason != CREATING => {
                return not_there("it is locked and its folder is not there");
            }
            _ if there.managed && !place.root.is_dir() => {
                return not_there("the root is not there either");
            }
            _ if !there.managed && !there.path.parent().is_some_and(Path::is_dir) => {
                return not_there("the folder that holds it is not there either");
            }
            _ => {}
        }
        let forgotten = trash.forget(there)?;
        let (name, id) = (there.name(), &forgotten.id);
        let commits = forgotten.kept.only_here;
        let commits = (commits > 0).then_some(Holding::OnlyHere(commits));
        let staged = (forgotten.staged > 0).then_some(Holding::Staged(forgotten.staged));
        let kept: Vec<Holding> = staged.into_iter().chain(commits).collect();
        if !kept.is_empty() {
            let kept = holding::listed(&kept, " and ");
            self.out.note(&format!("the folder of '{name}' was gone; kept {kept} in {KEPT}{id}"));
        }
        Ok(())
    }

    /// A branch that several remotes have is none of theirs, unless the user prefers one.
    pub(super) fn check_several(&self, wish: &Wish, remotes: &[String]) -> Result<()> {
        let ([first, .., last], Some(branch)) = (remotes, &wish.branch) else { return Ok(()) };
        if wish.from.is_some() {
            return Err(start_point::from_existing(Some(branch), "on several remotes"));
        }
        let branch = branch.to_string_lossy();
        let (several, word) =
            (format!("'{first}' and '{last}' both have a branch '{branch}'"), shell_word(&branch));
        self.out.warn(&format!("{several}; this new one starts at HEAD"));
        self.out.hint(&format!(
            "git -c checkout.defaultRemote={first} sandbox new {word} follows that of '{first}'"
        ));
        Ok(())
    }

    /// A removed sandbox of that name or branch can be brought back instead.
    pub(super) fn tell_of_trash(&self, wish: &Wish, place: &Place) {
        let full = wish.branch.as_deref().map(refs::full);
        let same = |item: &Item| {
            let branch = item.journal.branch.as_ref().map(OsString::from);
            let named = item.journal.name == wish.folder;
            item.journal.has_tree && (named || (full.is_some() && branch == full))
        };
        if let Some(item) = trash::items(self.repo, place).into_iter().flatten().find(same) {
            let Journal { id, name, holds, .. } = item.journal;
            let holds = if holds.is_empty() {
                "nothing uncommitted".into()
            } else {
                holding::listed(&holds, ", ")
            };
            self.out.hint(&format!("a removed sandbox '{name}' is in the trash ({holds}):"));
            let name = shell_word(&format!("{name}-old"));
            self.out.hint(&format!("git sandbox restore {id} --as {name}"));
        }
    }
}
