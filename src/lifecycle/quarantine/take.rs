//! Takes over what confined commands committed and staged.

use std::collections::BTreeSet;
use std::fs;

use crate::error::{Error, Result};
use crate::git::Git;
use crate::git::index::Index;
use crate::git::refs::{self, HEADS};
use crate::lifecycle::quarantine::import::Incoming;
use crate::lifecycle::quarantine::inside::{self, Head, Inside};
use crate::lifecycle::quarantine::snapshot::Refs;
use crate::lifecycle::quarantine::taken::{Left, Moved, Taken};
use crate::lifecycle::quarantine::{Quarantine, snapshot};
use crate::repo::Repo;
use crate::sandbox::confined;
use crate::sandbox::record::Synced;
use crate::sandbox::{Sandbox, State, in_use, record};
use crate::sys::lock::Lock;
use crate::sys::{crash_point, file};
use crate::ui::out::Out;

/// The message in the reflog of a branch that was moved.
const REASON: &str = "sandbox: confined run";

/// What is staged inside.
enum Staged {
    /// Files that make this tree.
    Tree(String),
    /// What is no tree, a conflict, or cannot be read: a sparse or damaged index.
    NoTree,
    /// Files for a commit on another branch than the sandbox's.
    Elsewhere,
}

impl Staged {
    fn tree(&self) -> Option<&String> {
        match self {
            Staged::Tree(tree) => Some(tree),
            _ => None,
        }
    }
}

/// Takes over from every quarantine that holds something new and in whose sandbox no command runs.
/// Returns whether something was taken: a quarantine that cannot be taken over is told, and waits.
pub fn take_all(repo: &Repo, git: &Git, sandboxes: &[Sandbox], out: Out) -> bool {
    let mut any = false;
    let waits = |it: &&Sandbox| it.state == State::Ready && confined::is_waiting(&it.entry);
    for sandbox in sandboxes.iter().filter(waits) {
        let own = Lock::if_free(&in_use::lock_path(&sandbox.entry)).transpose();
        let take = |_own: Lock| Quarantine::of(repo, git, sandbox)?.take();
        match own.map(|own| own.and_then(take)) {
            None => {}
            Some(Ok(taken)) => {
                any |= !confined::is_waiting(&sandbox.entry);
                taken.tell(out);
            }
            Some(Err(error)) => out.warn(&error.to_string()),
        }
    }
    any
}

impl Quarantine<'_> {
    /// Takes over what was committed and staged inside. No command runs in the sandbox, and the caller
    /// holds its lock.
    pub fn take(&self) -> Result<Taken> {
        let entry = &self.sandbox.entry;
        let nothing = Taken { name: self.sandbox.name(), ..Taken::default() };
        if !confined::is_waiting(entry) {
            return Ok(nothing);
        }
        let taken = self.take_new(nothing);
        taken.map_err(|error| match error {
            Error::Git { why, .. } => self.fail(why),
            Error::Io { .. } => self.fail(error.to_string()),
            other => other,
        })
    }

    fn take_new(&self, mut taken: Taken) -> Result<Taken> {
        let entry = &self.sandbox.entry;
        let before = file::read(&entry.join(super::make::SNAPSHOT)).unwrap_or_default();
        let before = snapshot::parse(&String::from_utf8_lossy(&before));
        let synced = record::read(entry).confined.map_or_else(|| self.first(&before), Ok)?;
        inside::check(&self.dir, &synced.name).map_err(|why| self.fail(why))?;
        let inside = Inside::read(&self.dir, &synced.name)?;
        let own = self.own_ref();
        let new = match &own {
            Some(own) => inside.refs.get(own).map(|named| named.id.clone()),
            None => inside.detached_at(),
        };
        let incoming = Incoming::of(self.repo, &self.git, entry, &self.dir)?;
        crash_point::reached();
        let is_on_it = match (&own, inside.head()) {
            (Some(own), Some(Head::On(name))) => *own == name,
            (None, Some(Head::Detached(_))) => true,
            _ => false,
        };
        let staged = match is_on_it {
            true => self.staged_inside(&inside, &incoming)?,
            false => Staged::Elsewhere,
        };
        let extra = self.bring(&incoming, &inside, new.iter().chain(staged.tree()))?;
        crash_point::reached();
        self.hold(&extra)?;
        crash_point::reached();
        let (old, agreed) = (self.sandbox.head.as_ref(), synced.head.as_ref());
        let mut agrees = true;
        if let (Some(new), Some(old)) = (&new, old)
            && new != old
            && Some(new) != agreed
        {
            if Some(old) == agreed {
                taken.moved = Some(self.update(own.as_deref(), old, new)?);
            } else if !self.contains(old, new)? {
                agrees = false;
                taken.aside = Some(self.put_aside(new)?);
            }
        }
        crash_point::reached();
        let tree = match (staged.tree(), &taken.moved) {
            // The index outside must not stay behind the branch, or it would undo what was taken.
            (None, Some(moved)) if synced.tree == self.tree_of(&moved.from)? => {
                self.tree_of(&moved.to)?
            }
            (tree, _) => tree.cloned(),
        };
        if let Some(tree) = &tree
            && agrees
            && synced.tree.as_ref() != Some(tree)
        {
            taken.index_stays = !self.take_index(tree, synced.tree.as_deref())?;
        }
        let stays = match (staged.tree(), &new) {
            (Some(tree), Some(new)) if taken.index_stays || !agrees => {
                self.tree_of(new)?.as_ref() != Some(tree)
            }
            (tree, _) => tree.is_none(),
        };
        crash_point::reached();
        drop(incoming);
        taken.left = self.left(&inside, &before, &staged);
        if stays && !agrees && staged.tree().is_some() {
            taken.left.push(Left::Staged);
        }
        self.remember_after(synced, agrees, tree.as_ref(), stays)?;
        Ok(taken)
    }

    /// The tree of a commit.
    fn tree_of(&self, commit: &str) -> Result<Option<String>> {
        let tree = format!("{commit}^{{tree}}");
        let answer = self.git.look(["rev-parse", "--verify", "--quiet", &tree]).ask()?;
        Ok(answer.ok().then(|| String::from_utf8_lossy(&answer.stdout).trim().to_owned()))
    }

    /// How a quarantine stood when it was made, where that was not written down any more. Then all that is
    /// staged outside counts as staged since, and stays.
    fn first(&self, before: &Refs) -> Result<Synced> {
        let head = match self.own_ref() {
            Some(own) => before.get(&own).map(|named| named.id.clone()),
            None => self.sandbox.head.clone(),
        };
        let tree = self.sandbox.head.as_ref().map_or(Ok(None), |head| self.tree_of(head))?;
        Ok(Synced { name: self.name(), head, tree, inside: None, outside: None, stays: false })
    }

    /// Brings `wanted` into the repository, and all other commits that the quarantine names, where
    /// those are whole. Returns those others.
    fn bring<'a>(
        &self,
        incoming: &Incoming,
        inside: &Inside,
        wanted: impl Iterator<Item = &'a String>,
    ) -> Result<BTreeSet<String>> {
        let wanted: BTreeSet<String> = wanted.cloned().collect();
        let pin = self.pinned()?;
        let without: Vec<&str> = pin.iter().chain(&self.sandbox.head).map(String::as_str).collect();
        let known = incoming.known(&inside.ids()?)?;
        let of_kind = |kinds: &[&str]| -> BTreeSet<String> {
            let found = known.iter().filter(|(_, kind)| kinds.contains(&kind.as_str()));
            found.map(|(id, _)| id.clone()).collect()
        };
        let all: BTreeSet<String> =
            wanted.union(&of_kind(&["commit", "tag", "tree"])).cloned().collect();
        match incoming.take(&all, &without) {
            Ok(()) => return Ok(of_kind(&["commit"])),
            // An object of an old reflog entry may be gone; what the branch needs is not.
            Err(Error::Git { .. }) => {}
            Err(other) => return Err(other),
        }
        incoming.take(&wanted, &without)?;
        Ok(BTreeSet::new())
    }

    /// The tree of the index inside. Its entries are read by ourselves and given to git one by one,
    /// which refuses names such as `.git`.
    fn staged_inside(&self, inside: &Inside, incoming: &Incoming) -> Result<Staged> {
        let path = inside.private().join("index");
        let index = Index::read_untrusted(&path, self.repo.id_length());
        let Some(index) = index.filter(|index| !index.has_conflict()) else {
            return Ok(Staged::NoTree);
        };
        let copy = self.sandbox.entry.join("sandbox.index");
        let _ = fs::remove_file(&copy);
        let call = |words: [&'static str; 3]| incoming.call(words).env("GIT_INDEX_FILE", &copy);
        let made = call(["update-index", "-z", "--index-info"]).ask_with(index.records());
        let tree = made.and_then(|made| match made.ok() {
            true => call(["write-tree", "--missing-ok", "--"]).ask(),
            false => Err(self.fail(made.why())),
        });
        let _ = fs::remove_file(&copy);
        let tree = tree?;
        match tree.ok() {
            true => Ok(Staged::Tree(String::from_utf8_lossy(&tree.stdout).trim().to_owned())),
            false => Err(self.fail(tree.why())),
        }
    }

    /// Moves the branch, or a detached HEAD, from where it was to what was committed inside.
    fn update(&self, own: Option<&str>, old: &str, new: &str) -> Result<Moved> {
        let git_dir = self.git_dir_option();
        let call = self.git.look([git_dir]).args(["update-ref", "-m", REASON]);
        let call = match own {
            Some(name) => call.args([name, new, old]),
            None => call.args(["--no-deref", "HEAD", new, old]),
        };
        call.done("move the branch")?;
        let range = format!("{old}..{new}");
        let count = self.git.look(["rev-list", "--count", &range]).line("count commits")?;
        let branch = own.map(|own| refs::short(own.as_ref()).to_string_lossy().into_owned());
        let commits = count.to_string_lossy().parse().unwrap_or(0);
        Ok(Moved { branch, commits, from: old.to_owned(), to: new.to_owned() })
    }

    /// Gives commits a ref of their own, because the branch was moved outside too.
    fn put_aside(&self, new: &str) -> Result<String> {
        let name = confined::aside(&self.id);
        self.git.look(["update-ref", &name, new]).done("keep what ran inside")?;
        Ok(name)
    }

    /// Stages what was staged inside. Returns false where the index outside was changed meanwhile to
    /// something else.
    fn take_index(&self, tree: &str, before: Option<&str>) -> Result<bool> {
        let now = self.staged_tree()?;
        if now.as_deref() != before {
            return Ok(now.as_deref() == Some(tree));
        }
        let git_dir = self.git_dir_option();
        let call = self.git.look([git_dir]).args(["read-tree", "-i", "-m", tree]);
        call.done("stage what was staged inside")?;
        Ok(true)
    }

    /// What stays in the quarantine and is no part of what was taken.
    fn left(&self, inside: &Inside, before: &Refs, staged: &Staged) -> Vec<Left> {
        let own = self.own_ref();
        let mut left = Vec::new();
        for (name, named) in &inside.refs {
            let same = before.get(name).is_some_and(|before| before.id == named.id);
            if same || Some(name) == own.as_ref() {
                continue;
            }
            if let Some(branch) = name.strip_prefix(HEADS) {
                left.push(Left::Branch(branch.to_owned()));
            } else if let Some(tag) = name.strip_prefix("refs/tags/") {
                left.push(Left::Tag(tag.to_owned()));
            } else if name == "refs/stash" {
                left.push(Left::Stash);
            } else if !name.starts_with("refs/remotes/") {
                left.push(Left::Ref(name.clone()));
            }
        }
        let operation = confined::operation(&self.sandbox.entry);
        left.extend(operation.map(Left::Operation));
        left.extend(operation.is_none().then_some(staged).and_then(|staged| match staged {
            Staged::Tree(_) => None,
            Staged::NoTree => Some(Left::Staged),
            Staged::Elsewhere if inside.detached_at().is_some() => Some(Left::DetachedHead),
            Staged::Elsewhere => Some(Left::SwitchedBranch),
        }));
        left
    }

    /// Writes down that nothing is left to take. Where the two disagree, what they last agreed on stays; so it
    /// does where the index outside is not at `tree`, that inside: neither counts as staged in the other.
    fn remember_after(
        &self,
        synced: Synced,
        agrees: bool,
        tree: Option<&String>,
        stays: bool,
    ) -> Result<()> {
        if agrees {
            return self.remember(|now| match now.tree.as_ref() == tree {
                true => Synced { stays, ..now },
                false => Synced { stays, tree: synced.tree, outside: synced.outside, ..now },
            });
        }
        let entry = &self.sandbox.entry;
        let inside = confined::fingerprint(entry);
        let confined = Some(Synced { inside, stays, ..synced });
        record::write_synced(entry, &record::Facts { confined, ..record::to_change(entry)? })
    }
}
