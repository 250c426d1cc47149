//! The end of a creation: what fills a sandbox, how a crashed one is completed, and the moment from
//! which it is everybody's.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{Action, Maker, Outcome, Wish, outcome};
use crate::error::{Doing, Error, Result};
use crate::lifecycle::create::carry::Carry;
use crate::lifecycle::create::checkout::{Fill, unfinished_index};
use crate::repo::{Worktrees, link};
use crate::sandbox::mark::CREATING;
use crate::sandbox::record::Facts;
use crate::sandbox::{Damage, Sandbox, record};
use crate::session::{Author, Session};
use crate::sys::lock::Lock;
use crate::sys::{clock, dir, path, random};
use crate::ui::words;

impl Maker<'_> {
    pub(super) fn fill<'b>(
        &'b self,
        path: &'b Path,
        entry: &'b Path,
        branch: Option<OsString>,
        commit: &'b str,
        worktrees: &'b Worktrees,
        own: &'b Lock,
    ) -> Fill<'b> {
        let main = &worktrees.main;
        let facts = record::read(entry);
        let author = facts.author.as_deref().and_then(Author::recorded);
        let session = Session {
            git: &self.repo.git,
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            path,
            entry,
            branch,
            main: &main.path,
            task: facts.task,
            author: author.or_else(|| self.author.clone()),
            beacon: None,
            walls: None,
            container: None,
        };
        let main = (!main.bare).then_some(main.path.as_path());
        Fill { repo: self.repo, main, worktrees, commit, own, session }
    }

    /// Completes what a crash interrupted. Files that are already there stay unless git tracks them
    /// and the checkout had not come to its end.
    pub(super) fn finish(
        &self,
        wish: &Wish,
        there: &Sandbox,
        worktrees: &Worktrees,
        own: &Lock,
    ) -> Result<Outcome> {
        let commit = there.head.clone().ok_or(Error::NoCommits)?;
        let named = link::folder_points_to(&there.path);
        if !named.is_some_and(|named| path::is_same(&named, &there.entry)) {
            let why = Damage::OtherEntry.to_string();
            return Err(Error::Damaged { name: there.name(), why });
        }
        let index = there.entry.join("index");
        let branch = there.branch.clone();
        let fill = self.fill(&there.path, &there.entry, branch, &commit, worktrees, own);
        let mut troubles = Vec::new();
        let spare = record::read(&there.entry).spare;
        // A loss of power may leave the name of an index without its content.
        let is_whole = fs::metadata(&index).is_ok_and(|meta| meta.len() > 0);
        if spare.is_some() || !is_whole {
            let unfinished = unfinished_index(&there.entry);
            remove(&there.entry.join("index.lock"))?;
            remove(&unfinished.with_extension("filling.lock"))?;
            remove(&unfinished)?;
            if !is_whole {
                remove(&index)?;
            }
            match &spare {
                Some(spare) => fill.complete_from(&spare.commits, &there.entry)?,
                None => fill.complete()?,
            }
            self.forget_spare(&there.entry)?;
            troubles = fill.furnish();
        }
        let mut facts = record::to_change(&there.entry)?;
        facts.created.get_or_insert_with(|| clock::rfc3339(self.now));
        // A crash may have come before they were written down.
        if facts.id.is_none() {
            facts.id = Some(random::hex()? + &random::hex()?);
            facts.common = Some(self.repo.common.clone());
            facts.device = Some(fs::metadata(&there.path).at("read", &there.path)?.dev());
        }
        if let Some(from) = facts.carrying.take() {
            let from = from.display();
            troubles.push(format!("not all uncommitted changes of '{from}' may have been copied"));
        }
        record::write_synced(&there.entry, &wish.told_in(facts))?;
        self.open_up(&there.path, &there.entry)?;
        Ok(Outcome { troubles, ..outcome(&there.path, &there.entry, Action::Finished) })
    }

    /// Brings uncommitted changes into a sandbox whose files are checked out.
    pub(super) fn carry(&self, carry: &Carry, fill: &Fill, entry: &Path) -> Result<()> {
        let to = fill.session.path;
        let git = self.repo.git.in_worktree(to).holding(fill.own.file());
        carry.apply(&git, to, entry, fill.commit)?;
        for path in &carry.left {
            let path = path.display();
            self.out.warn(&format!("'{path}' is a repository of its own: its changes stay behind"));
        }
        let count = words::counted(carry.count() as u64, "change");
        self.out.note(&format!("copied {count} of '{}'", carry.top.display()));
        record::write_synced(entry, &Facts { carrying: None, ..record::to_change(entry)? })
    }

    /// From here on it is everybody's.
    pub(super) fn open_up(&self, path: &Path, entry: &Path) -> Result<()> {
        let locked = entry.join("locked");
        // Somebody may have locked it otherwise meanwhile: that lock is theirs.
        let reason = match fs::read(&locked) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            read => read.at("read", &locked)?,
        };
        if reason.trim_ascii_end() == CREATING.as_bytes() {
            fs::remove_file(&locked).at("unlock", &locked)?;
        }
        dir::touch(path, self.now)
    }
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at("remove", path),
        _ => Ok(()),
    }
}
