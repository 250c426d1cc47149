//! Removal: two renames and no deletion.
//!
//! Under the repository lock and the sandbox's own:
//!   pin (git's own lock, so that no prune takes the private git dir), keep (a ref for everything that
//!   it names), journal (synced), detach HEAD, rename the folder into the trash, rename the private git
//!   dir out of git's registry, make the two name each other, journal `trashed`.
//! Where the tip of its branch is all there is to keep, one git makes the ref and detaches HEAD.
//! A crash before the first rename is undone, after it completed, by the next command that takes the
//! repository lock.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::refs;
use crate::lifecycle::trash::attach::UNBORN;
use crate::lifecycle::trash::{Item, Trash};
use crate::repo::held::Held;
use crate::repo::kept::{self, Kept};
use crate::repo::link::{self, Half};
use crate::repo::stamps::Stamps;
use crate::repo::{held, name};
use crate::sandbox::journal::{Journal, Paused, Stage, TREE, Why};
use crate::sandbox::mark::{Pin, Text};
use crate::sandbox::verdict::{self, Facts};
use crate::sandbox::{Sandbox, confined};
use crate::sys::{clock, crash_point, dir, file, random};

/// Where the list of refs that a rebase updates is set aside, in the private git dir.
const UPDATE_REFS: &str = "rebase-merge/update-refs";
const UPDATE_REFS_ASIDE: &str = "sandbox.update-refs";
/// What a rebase in progress says of a HEAD that was detached when it began.
const DETACHED: &[u8] = b"detached HEAD\n";

/// Why HEAD was detached, for its reflog.
const REMOVED: &str = "git sandbox: removed";

/// A removal that is about to begin.
struct Prepared {
    journal: Journal,
    only_here: u64,
    /// The commit whose ref is still to be made.
    to_keep: Option<String>,
    /// What its private git dir looked like before that was read to be kept.
    stamps: Option<Stamps>,
}

/// What a removal did.
#[derive(Debug)]
pub struct Removed {
    /// Its name in the trash.
    pub id: String,
    /// Its folder in the trash.
    pub at: PathBuf,
    /// How many commits only it held.
    pub only_here: u64,
}

impl Trash<'_> {
    /// Refuses one that is not in git's registry, or not any more, and one in the middle of another removal.
    pub(super) fn check_settled(&self, sandbox: &Sandbox) -> Result<()> {
        let registry = self.repo.common.join("worktrees");
        let why = match () {
            () if sandbox.entry.parent() != Some(&registry) => "git does not list it any more",
            // One that could not be mended is known to its own journal only.
            () if Pin::read(&sandbox.entry)?.is_some() => {
                "an interrupted removal or restore of it is still there"
            }
            () => return Ok(()),
        };
        Err(Error::Damaged { name: sandbox.name(), why: why.to_owned() })
    }

    /// Moves a sandbox into the trash. The caller has the verdict and both locks.
    pub fn remove(&self, sandbox: &Sandbox, facts: &Facts, why: &Why) -> Result<Removed> {
        self.check_settled(sandbox)?;
        let entry = &sandbox.entry;
        let id = new_id(&sandbox.name())?;
        self.home()?;
        let pin = Pin::new(&id, self.folder_for(&sandbox.path)?.join(&id), entry)?;
        crash_point::reached();
        set(&pin, entry)?;
        crash_point::reached();
        let prepared = self.prepare(sandbox, facts, why, &pin);
        let Prepared { journal, only_here, to_keep, stamps } = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                // The id is new: what is kept under it is kept by this removal alone.
                kept::let_go(&self.git, &self.repo.common, &pin.id)?;
                self.undo(&pin, None, entry)?;
                return Err(error);
            }
        };
        let detached = match &to_keep {
            Some(commit) => self.keep_and_detach(&journal, commit, entry),
            None => self.detach(&journal, entry),
        };
        let moved = detached.and_then(|()| {
            crash_point::reached();
            file::rename(&sandbox.path, &pin.at.join(TREE))
        });
        if let Err(error) = moved {
            self.undo(&pin, Some(&journal), entry)?;
            return Err(error);
        }
        crash_point::reached();
        if let Err(error) = self.complete_removal(&pin, &journal, entry, stamps.as_ref()) {
            // Back where it was: a removal is whole or none.
            file::rename(&pin.at.join(TREE), &sandbox.path)?;
            self.undo(&pin, Some(&journal), entry)?;
            return Err(error);
        }
        Ok(Removed { id, at: pin.at, only_here })
    }

    /// Keeps every commit that a branch and its reflog name, before the branch is deleted: its reflog
    /// goes with it, and what is in its base by content only may be there by mistake.
    pub fn keep_branch(&self, name: &OsStr, head: &str, removed: &Removed) -> Result<()> {
        let git = self.git.at(&self.repo.common);
        let reflog = git.look(["log", "-g", "--format=%H"]).arg(name).arg("--").ask()?;
        let mut commits: BTreeSet<String> =
            String::from_utf8_lossy(&reflog.stdout).lines().map(str::to_owned).collect();
        commits.insert(head.to_owned());
        let held = Held { commits, ..Held::default() };
        let kept = kept::keep_all(&self.git, self.repo, &held, None, &removed.id)?;
        if let Some(mut journal) = Journal::read(&removed.at)? {
            journal.kept = kept;
            journal.write(&removed.at)?;
        }
        Ok(())
    }

    /// Everything before the first change that others could see: the kept ref and the journal. Where
    /// the tip of its branch is all there is to keep, the ref is left to be made when HEAD is detached,
    /// by the same git.
    fn prepare(&self, sandbox: &Sandbox, facts: &Facts, why: &Why, pin: &Pin) -> Result<Prepared> {
        let entry = &sandbox.entry;
        // Where nothing was staged, that is known from the facts.
        let stamps = match facts.pristine {
            true => facts.stamps.clone(),
            false => Stamps::of(entry),
        };
        let mut held = held::held_by(&self.git, entry)?;
        if !facts.pristine {
            let staged = held::add_staged(&self.git, entry, sandbox.head.as_deref(), &mut held);
            // An index that git cannot read is kept as a file; that it cannot is among the facts.
            if facts.changes.is_ok() {
                staged?;
            }
        }
        let head = sandbox.head.as_deref();
        let known = facts.only_here.as_ref().ok().filter(|_| facts.held == held.commits);
        let to_keep = match (known, head) {
            (Some(_), Some(head)) if !sandbox.detached => {
                kept::is_all(self.repo, &held, head).then(|| head.to_owned())
            }
            _ => None,
        };
        let kept = match known.copied() {
            Some(only_here) if to_keep.is_some() => Kept { commit: to_keep.clone(), only_here },
            Some(only_here) => {
                let commit = kept::keep_all(&self.git, self.repo, &held, head, &pin.id)?;
                Kept { commit, only_here }
            }
            None => kept::keep(&self.git, self.repo, &held, head, &pin.id)?,
        };
        crash_point::reached();
        let ignored = facts.ignored.as_ref();
        let ignored = ignored.map(|paths| paths.iter().map(|path| Text::from(&**path)).collect());
        let journal = Journal {
            paused: paused(entry),
            ignored,
            holds: verdict::holds(facts),
            ..self.journal(sandbox, pin, kept.commit, why.clone())?
        };
        dir::make(&pin.at)?;
        crash_point::reached();
        // Where HEAD is on no branch after all, there is nothing to be detached.
        let to_keep = match (to_keep, &journal.branch) {
            (Some(_), None) => {
                kept::keep_all(&self.git, self.repo, &held, head, &pin.id)?;
                None
            }
            (to_keep, _) => to_keep,
        };
        journal.write(&pin.at)?;
        crash_point::reached();
        Ok(Prepared { journal, only_here: kept.only_here, to_keep, stamps })
    }

    /// The journal of a sandbox that is about to be removed, with everything that has to come back.
    pub(super) fn journal(
        &self,
        sandbox: &Sandbox,
        pin: &Pin,
        kept: Option<String>,
        why: Why,
    ) -> Result<Journal> {
        let (entry, reftable) = (&sandbox.entry, self.repo.is_reftable());
        Ok(Journal {
            stage: Stage::Removing,
            id: pin.id.clone(),
            name: sandbox.name(),
            from: sandbox.path.clone(),
            private: Some(entry.clone()),
            common: Some(self.repo.common.clone()),
            orphan: false,
            has_tree: true,
            confined: confined::recorded_id(entry),
            branch: self.head_ref(entry, sandbox.detached)?,
            head: sandbox.head.clone(),
            kept,
            reftable,
            refs: held::private_refs(&self.git, entry, reftable)?,
            paused: Paused::default(),
            fingerprint: None,
            removed: clock::exactly(self.now),
            why,
            ignored: None,
            holds: Vec::new(),
        })
    }

    /// The ref that HEAD is on, in full, whatever its name; none for a detached HEAD.
    pub(super) fn head_ref(&self, entry: &Path, detached: bool) -> Result<Option<String>> {
        if detached {
            return Ok(None);
        }
        let bytes = if self.repo.is_reftable() || held::is_head_a_link(entry) {
            let asked = held::within(&self.git, entry, ["symbolic-ref", "--quiet", "HEAD"]);
            asked.line("read HEAD")?.into_encoded_bytes()
        } else {
            let path = entry.join("HEAD");
            file::read_small(&path).at("read", &path)?
        };
        let name = bytes.strip_prefix(b"ref: ").unwrap_or(&bytes).trim_ascii_end().to_vec();
        let name = String::from_utf8(name).map_err(|_| Error::NotText { what: "branch" })?;
        Ok(name.starts_with("refs/").then_some(name))
    }

    /// Detaches HEAD, and makes a rebase in progress forget its branch, so that neither is reserved.
    pub(super) fn detach(&self, journal: &Journal, entry: &Path) -> Result<()> {
        let words = match (&journal.branch, &journal.head) {
            (Some(_), Some(head)) => {
                vec!["update-ref", "--no-deref", "-m", REMOVED, "HEAD", head, head]
            }
            // An unborn HEAD names no commit to be detached at.
            (Some(_), None) => vec!["symbolic-ref", "-m", REMOVED, "HEAD", UNBORN],
            (None, _) => vec![],
        };
        if !words.is_empty() {
            held::within(&self.git, entry, words).done("detach HEAD")?;
        }
        crash_point::reached();
        release_branch(journal, entry)
    }

    /// The same where HEAD's commit is to be kept too: one git makes both changes, or none.
    fn keep_and_detach(&self, journal: &Journal, head: &str, entry: &Path) -> Result<()> {
        let kept = kept::name(&journal.id);
        let orders = format!("create {kept} {head}\nupdate HEAD {head} {head}\n");
        let words = ["update-ref", "--no-deref", "-m", REMOVED, "--stdin"];
        let answer = held::within(&self.git, entry, words).ask_with(orders.into_bytes())?;
        if !answer.ok() {
            let doing = "keep its commit and detach HEAD".to_owned();
            return Err(Error::Git { doing, why: answer.why() });
        }
        crash_point::reached();
        release_branch(journal, entry)
    }

    /// Moves the private git dir out of the registry and makes the two halves name each other. What it
    /// names that it did not name by these stamps, or without any, is kept too: a process may have
    /// committed meanwhile. Can be called again after a crash at any step.
    pub(super) fn complete_removal(
        &self,
        pin: &Pin,
        journal: &Journal,
        entry: &Path,
        stamps: Option<&Stamps>,
    ) -> Result<()> {
        let private = self.home()?.join(&pin.id);
        if entry != private {
            file::rename(entry, &private)?;
            crash_point::reached();
        }
        let (tree, was) = (pin.at.join(TREE), journal.private.as_deref().unwrap_or(entry));
        if journal.has_tree {
            link::connect(&private, &tree)?;
            crash_point::reached();
            let (one, other) = (Half::here(&private), Half::here(&tree));
            link::move_submodules(&self.git, (was, &journal.from), one, other)?;
        }
        crash_point::reached();
        let journal = Journal { fingerprint: held::fingerprint(&private), ..journal.clone() };
        let detached = journal.branch.as_ref().and(journal.head.as_deref());
        let journal = if stamps.is_some_and(|stamps| stamps.cover(&private, detached)) {
            journal
        } else {
            let journal = Journal { fingerprint: None, ..journal };
            self.keep_again(&Item { at: pin.at.clone(), private: None, journal }, &private)?
        };
        journal.at_stage(Stage::Trashed, &pin.at)?;
        crash_point::reached();
        Ok(())
    }

    /// Takes back a removal whose folder has not moved. The private git dir may be at its own place or
    /// at the other.
    pub(super) fn undo(&self, pin: &Pin, journal: Option<&Journal>, entry: &Path) -> Result<()> {
        let private = super::private_home(&self.repo.common).join(&pin.id);
        if private.is_dir() && !entry.exists() {
            file::rename(&private, entry)?;
        }
        if let Some(journal) = journal {
            if journal.has_tree && journal.from.is_dir() {
                link::connect(entry, &journal.from)?;
                let (was, tree) = (private.as_path(), pin.at.join(TREE));
                let (one, other) = (Half::here(entry), Half::here(&journal.from));
                link::move_submodules(&self.git, (was, &tree), one, other)?;
            }
            resume_operation(journal, entry)?;
            self.attach_again(journal, entry)?;
        }
        crash_point::reached();
        match journal {
            Some(_) => kept::let_go(&self.git, &self.repo.common, &pin.id)?,
            // It may be the last moment of a restore, whose reflog has expired meanwhile.
            None => kept::let_go_if_held(&self.git, &self.repo.common, entry, &pin.id, None)?,
        }
        crash_point::reached();
        Journal::remove(&pin.at)?;
        crash_point::reached();
        pin.release(entry)
    }
}

/// Pins a private git dir. A pin that was written but may not last is taken back.
pub(super) fn set(pin: &Pin, entry: &Path) -> Result<()> {
    let set = pin.set(entry);
    if set.is_err() && Pin::seen(entry).is_some() {
        pin.release(entry)?;
    }
    set
}

/// Returns a name for the trash that no other item has.
pub(super) fn new_id(name: &str) -> Result<String> {
    Ok(format!("{}-{}", name::slug(name), random::hex()?))
}

/// What of an operation in progress names a branch.
fn paused(entry: &Path) -> Paused {
    let names = ["rebase-merge/head-name", "rebase-apply/head-name"];
    let on_branch = |name: &&str| {
        let text = file::read_small(&entry.join(name)).ok()?;
        text.starts_with(refs::HEADS.as_bytes()).then(|| ((*name).to_owned(), Text::from(text)))
    };
    let head_name = names.iter().find_map(on_branch);
    Paused { head_name, update_refs: entry.join(UPDATE_REFS).is_file() }
}

/// Makes a rebase in progress forget its branch.
fn release_branch(journal: &Journal, entry: &Path) -> Result<()> {
    if let Some((file, _)) = &journal.paused.head_name {
        file::replace(&entry.join(file), DETACHED)?;
    }
    if journal.paused.update_refs && entry.join(UPDATE_REFS).exists() {
        file::rename(&entry.join(UPDATE_REFS), &entry.join(UPDATE_REFS_ASIDE))?;
    }
    Ok(())
}

/// Lets an operation in progress know its branch again.
pub(super) fn resume_operation(journal: &Journal, entry: &Path) -> Result<()> {
    if let Some((name, text)) = &journal.paused.head_name {
        let path = entry.join(name);
        // It may have come to its end in the trash.
        if file::read_small(&path).is_ok_and(|text| text == DETACHED) {
            file::replace(&path, text.bytes())?;
        }
    }
    let aside: PathBuf = entry.join(UPDATE_REFS_ASIDE);
    if aside.exists() && entry.join("rebase-merge").is_dir() {
        fs::rename(&aside, entry.join(UPDATE_REFS)).at("restore", &aside)?;
    }
    Ok(())
}
