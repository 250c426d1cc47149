//! What every command starts from: this repository, its sandboxes, its trash, the user's colours.

pub mod removed;
pub mod session;
pub mod walls;

use crate::cli::args::Args;
use crate::cli::spec::{COLOR, DESCRIBE, NAMES, Opt, ROOT};
use crate::error::{Doing, Error, Result};
use crate::git::Git;
use crate::git::config::{self, Config};
use crate::git::refs;
use crate::lifecycle::recover::pointer;
use crate::lifecycle::trash::{self, Trash};
use crate::lifecycle::vault::{Stored, Vault};
use crate::lifecycle::{background, recover};
use crate::repo::place::Place;
use crate::repo::read_worktrees;
use crate::repo::root::Root;
use crate::repo::{Repo, Seen, Worktree, Worktrees, kept};
use crate::sandbox::all_repos::{self, Everywhere};
use crate::sandbox::journal::Journal;
use crate::sandbox::reporter::Reporter;
use crate::sandbox::{self, Sandbox, State, confined, named};
use crate::sys::clock::{self, Time};
use crate::sys::lock::Lock;
use crate::sys::path::{self, Presence};
use crate::ui::out::{Out, When};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Colour by `--color`, then `color.sandbox`, `color.ui`, `NO_COLOR`, and the terminal.
pub fn colours(args: &Args, config: &Config) -> Out {
    let configured = || config.get("color.sandbox").or_else(|| config.get("color.ui"));
    Out::new(match args.word(&COLOR).or_else(configured) {
        Some("always") => When::Always,
        Some("never") => When::Never,
        Some(word) if config::boolean(word) == Some(false) => When::Never,
        _ => When::Terminal,
    })
}

/// Locks this repository and finds it. Where it can be seen without git and its lock is free, the
/// lock comes first, so that the worktrees are read while git reads its config.
pub fn lock_repo(out: Out) -> Result<(Repo, Lock)> {
    if let Some(seen) = Seen::here()?
        && let Some(lock) = seen.lock()?
        && let Some(repo) = Repo::seen(seen)?
    {
        return Ok((repo, lock));
    }
    let repo = Repo::discover()?;
    let lock = repo.lock(out)?;
    Ok((repo, lock))
}

/// What git lists, for the price of one call: without the private git dirs.
pub fn linked(git: &Git) -> Result<Vec<Worktree>> {
    let records = match git.worktrees() {
        // Why there is no list takes a closer look.
        Err(error @ Error::Git { .. }) => return Err(Repo::discover().err().unwrap_or(error)),
        other => other?,
    };
    let linked = records.into_iter().skip(1);
    Ok(linked.map(|record| Worktree { record, entry: PathBuf::new() }).collect())
}

/// A usage error where `--describe` has nothing to describe.
pub fn describes(args: &Args, without: &[&Opt]) -> Result<()> {
    if args.has(&DESCRIBE) && !args.has(&NAMES) {
        return Err(args.wrong("option '--describe' needs '--names'"));
    }
    without.iter().try_for_each(|option| args.at_most_one(&[option, &DESCRIBE]))
}

/// Everything in a vault, with the bytes that it stores of each.
pub fn stored(vault: &Vault, out: Out) -> Result<Vec<(Journal, u64)>> {
    let mut found = Vec::new();
    for item in vault.items()? {
        match journal_of(item) {
            Ok(stored) => found.push(stored),
            Err(error) => out.warn(&error.to_string()),
        }
    }
    Ok(found)
}

/// The journal of an item of the vault, with the bytes that it stores.
fn journal_of(item: Stored) -> Result<(Journal, u64)> {
    let header = item.header?;
    let bytes = serde_json::to_vec(&header.journal).unwrap_or_default();
    let doing = || format!("read '{}' in the vault", item.id);
    Ok((Journal::parse(&bytes).doing(doing)?, header.stored))
}

/// Says what the daily run did, from outside of all repositories.
pub fn tell(all: &Everywhere, out: Out) {
    if let Some(root) = all.root.plain() {
        background::tell(&root, out);
    }
}

/// This repository and its sandboxes.
pub struct Here {
    /// The repository.
    pub repo: Repo,
    /// Its worktrees.
    pub worktrees: Worktrees,
    /// Where its sandboxes are.
    pub place: Place,
    /// Its sandboxes.
    pub sandboxes: Vec<Sandbox>,
    /// The time of this command.
    pub now: Time,
}

impl Here {
    pub fn find(args: &Args, out: &mut Out) -> Result<Here> {
        let here = Here::of(Repo::to_look_at()?, args, out)?;
        let here = here.with_confined_work(args, out)?;
        background::tell(&here.place.root, *out);
        Ok(here)
    }

    /// Takes over what confined commands left, if there is any and the repository lock is free.
    fn with_confined_work(self, args: &Args, out: &mut Out) -> Result<Here> {
        let waits =
            |sandbox: &Sandbox| confined::is_waiting(&sandbox.entry) || pointer::is_left(sandbox);
        if !self.sandboxes.iter().any(waits) {
            return Ok(self);
        }
        match self.repo.lock_if_free()? {
            Some(lock) => Here::holding(&lock, self.repo, args, out),
            None => Ok(self),
        }
    }

    pub fn of(repo: Repo, args: &Args, out: &mut Out) -> Result<Here> {
        *out = colours(args, &repo.config);
        let now = clock::now()?;
        let worktrees = read_worktrees::read_ahead(&repo).map_or_else(|| repo.worktrees(), Ok)?;
        let root = Root::wanted(args.value(&ROOT), &repo.config, &repo.git)?;
        let place = Place::of(&repo, root, &worktrees);
        let mut sandboxes = sandbox::all(&worktrees, &place);
        let listed: HashSet<&PathBuf> =
            worktrees.linked.iter().map(|tree| &tree.record.path).collect();
        let unlisted = place.folders().into_iter().filter(|folder| !listed.contains(folder));
        let orphans = all_repos::orphans_of(&repo.common, unlisted);
        let orphans = all_repos::without_returning(orphans, &place.trash_folders());
        sandboxes.extend(orphans.iter().map(|folder| Sandbox::orphan(folder)));
        let mut here = Here { repo, worktrees, place, sandboxes, now };
        here.leave_out_orphans_in_trash();
        Ok(here)
    }

    /// One whose files went to the trash while the repository was out of reach is not missing: the next
    /// command that takes the lock adopts it.
    fn leave_out_orphans_in_trash(&mut self) {
        if !self.sandboxes.iter().any(|sandbox| sandbox.state == State::Missing) {
            return;
        }
        let stored = self.vault(Out::new(When::Never)).items().unwrap_or_default();
        let stored = stored.into_iter().filter_map(|item| Some(journal_of(item).ok()?.0));
        let trashed = self.place.trash_folders();
        let trashed = trashed.iter().filter_map(|folder| Journal::read(folder).ok().flatten());
        let orphans = stored.chain(trashed).filter(|journal| journal.orphan);
        let taken: Vec<PathBuf> = orphans.filter_map(|journal| journal.private).collect();
        let waits =
            |sandbox: &Sandbox| sandbox.state == State::Missing && taken.contains(&sandbox.entry);
        self.sandboxes.retain(|sandbox| !waits(sandbox));
    }

    /// The same under the repository lock, with what a crash left mended.
    pub fn locked(repo: Repo, args: &Args, out: &mut Out) -> Result<(Here, Lock)> {
        *out = colours(args, &repo.config);
        let lock = repo.lock(*out)?;
        Ok((Here::holding(&lock, repo, args, out)?, lock))
    }

    pub fn holding(lock: &Lock, repo: Repo, args: &Args, out: &mut Out) -> Result<Here> {
        let mut here = Here::of(repo, args, out)?;
        if recover::all(&here.trash(lock), &here.worktrees, *out) {
            here = Here::of(here.repo, args, out)?;
        }
        Ok(here)
    }

    pub fn trash(&self, lock: &Lock) -> Trash<'_> {
        self.trash_for_reading(Some(lock))
    }

    /// The vault of the root in force.
    pub fn vault(&self, out: Out) -> Vault {
        Vault::at(&self.place.root, &self.repo.git, out)
    }

    /// What the vault has of this repository, with the bytes that it stores of each. What it cannot
    /// read is warned of.
    pub fn stored(&self, out: Out) -> Result<Vec<(Journal, u64)>> {
        let stored = stored(&self.vault(out), out)?;
        let ours = stored.into_iter().filter(|(journal, _)| self.is_ours(journal));
        let common = || Some(self.repo.common.clone());
        // The repository may have been moved since.
        let here = |(journal, size)| (Journal { common: common(), ..journal }, size);
        Ok(ours.map(here).collect())
    }

    /// Whether an item of the vault is of this repository: it records this path, or it records one
    /// where its kept ref is no longer, and that ref is here, so that the repository was moved.
    fn is_ours(&self, journal: &Journal) -> bool {
        let Repo { git, common, .. } = &self.repo;
        let Some(recorded) = &journal.common else { return false };
        let is_there = || match path::presence(recorded) {
            Presence::Absent => Ok(false),
            Presence::There => kept::is_kept(git, recorded, &journal.id),
            Presence::Unknown => Ok(true),
        };
        let is_here = || kept::is_kept(git, common, &journal.id).unwrap_or(false);
        recorded == common || (is_here() && !is_there().unwrap_or(true))
    }

    /// Every linked worktree, spares and those of merges included.
    pub fn linked(&self) -> Vec<Sandbox> {
        sandbox::every(&self.worktrees, &self.place)
    }

    /// Without the lock it may only be looked at.
    pub fn trash_for_reading(&self, lock: Option<&Lock>) -> Trash<'_> {
        let git = &self.repo.git;
        let git = lock.map_or_else(|| git.clone(), |lock| git.holding(lock.file()));
        Trash { repo: &self.repo, git, place: &self.place, now: self.now }
    }

    /// The sandbox that was named or, without a name, the one we are in.
    pub fn named(&self, args: &Args) -> Result<&Sandbox> {
        match args.operands.first() {
            Some(word) => self.get(word),
            None => named::current(&self.sandboxes, &self.repo),
        }
    }

    /// The sandbox that a word means. One that was removed is an error of its own.
    pub fn get(&self, word: &OsStr) -> Result<&Sandbox> {
        named::find(&self.sandboxes, word).map_err(|error| match error {
            Error::UnknownSandbox { name, nearest } => match self.removed(word) {
                Some(id) => Error::InTrash { name, id },
                None => Error::UnknownSandbox { name, nearest },
            },
            other => other,
        })
    }

    /// The id of the newest in the trash or the vault that goes by this name, branch or id.
    fn removed(&self, word: &OsStr) -> Option<String> {
        let full = refs::full(word);
        let goes_by = |journal: &Journal| {
            let branch = journal.branch.as_deref().map(OsStr::new);
            OsStr::new(&journal.name) == word
                || OsStr::new(&journal.id) == word
                || branch.is_some_and(|branch| branch == full || branch == word)
        };
        let items = trash::items(&self.repo, &self.place).into_iter().flatten();
        let stored = self.vault(Out::new(When::Never)).items().unwrap_or_default();
        let stored = stored.into_iter().filter_map(|item| Some(journal_of(item).ok()?.0));
        let stored = stored.filter(|journal| goes_by(journal) && self.is_ours(journal));
        let journals = items.map(|item| item.journal).chain(stored).filter(goes_by);
        journals.max_by(|one, other| one.removed.cmp(&other.removed)).map(|journal| journal.id)
    }

    /// The project's name, as no other repository of this root has it.
    pub fn own_name(&self) -> OsString {
        self.place.own_name(self.sandboxes.iter().map(|sandbox| sandbox.path.as_path()))
    }

    pub fn reporter(&self) -> Result<Reporter<'_>> {
        Reporter::new(&self.repo, &self.place, &self.worktrees.main, self.now)
    }
}
