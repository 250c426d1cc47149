//! What a restored sandbox has checked out: HEAD goes back on the ref it was on, where that is still
//! the same and free.

use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::refs;
use crate::lifecycle::trash::Trash;
use crate::lifecycle::trash::removal::UNBORN;
use crate::repo::{Worktrees, held, holders};
use crate::sandbox::journal::Journal;
use crate::sys::file;

/// What a restored sandbox has checked out.
#[derive(Debug, PartialEq, Eq)]
pub enum Attached {
    /// What it had.
    AsBefore,
    /// Its branch, which had vanished.
    Recreated(String),
    /// Its commit, detached: the branch has moved on.
    Moved(String),
    /// Its commit, detached: the branch had vanished and cannot be made again.
    Blocked(String),
    /// Its commit, detached: the branch is checked out elsewhere.
    Taken(String, PathBuf),
    /// Nothing: it is a plain folder, since its private git dir is lost.
    PlainFolder,
}

impl Trash<'_> {
    /// Puts HEAD back on its ref, in a private git dir that git does not list yet.
    pub(super) fn attach(
        &self,
        journal: &Journal,
        private: &Path,
        worktrees: &Worktrees,
    ) -> Result<Attached> {
        let Some(branch) = &journal.branch else { return Ok(Attached::AsBefore) };
        let name = refs::short(branch.as_ref()).to_string_lossy().into_owned();
        // After a crash in the middle of a restore HEAD may be back already.
        let own = match self.head_of(private)? {
            Head::On(on) if on == *branch => return Ok(Attached::AsBefore),
            Head::On(on) if on != UNBORN => return Ok(Attached::Moved(name)),
            Head::On(_) => None,
            Head::At(id) => Some(id),
        };
        let mut holders = holders::of(worktrees, &self.repo.common, branch.as_ref());
        if let Some(holder) = holders.find(|holder| holder.git_dir != private) {
            return Ok(Attached::Taken(name, holder.record.path.clone()));
        }
        let attached = match &journal.head {
            None => Attached::AsBefore,
            Some(head) => match self.where_branch_is(own.as_deref(), branch, head)? {
                Tip::Same => Attached::AsBefore,
                Tip::Elsewhere => return Ok(Attached::Moved(name)),
                Tip::Gone => {
                    let words = ["update-ref", "-m", "git sandbox: restored", branch, head, ""];
                    if !self.git.at(&self.repo.common).look(words).ask()?.ok() {
                        return Ok(Attached::Blocked(name));
                    }
                    Attached::Recreated(name)
                }
            },
        };
        let words = ["symbolic-ref", "-m", "git sandbox: restored", "HEAD", branch];
        held::within(&self.git, private, words).done("put HEAD back on its branch")?;
        Ok(attached)
    }

    /// What HEAD of a private git dir is on or at.
    fn head_of(&self, private: &Path) -> Result<Head> {
        let ask = |words: &[&str]| held::within(&self.git, private, words).ask();
        if !self.repo.is_reftable() {
            let path = private.join("HEAD");
            let text = file::read_small(&path).at("read", &path)?;
            let text = String::from_utf8_lossy(&text).trim().to_owned();
            return Ok(match text.strip_prefix("ref:") {
                Some(name) => Head::On(name.trim().to_owned()),
                None => Head::At(text),
            });
        }
        let on = ask(&["symbolic-ref", "--quiet", "HEAD"])?;
        let on = String::from_utf8_lossy(&on.stdout).trim().to_owned();
        if !on.is_empty() {
            return Ok(Head::On(on));
        }
        let at = ask(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
        Ok(Head::At(String::from_utf8_lossy(&at.stdout).trim().to_owned()))
    }

    /// Where a branch is now, seen from the commit that the sandbox left it at. A sandbox in which a
    /// process has gone on to commit, detached, has moved too.
    fn where_branch_is(&self, own: Option<&str>, branch: &str, head: &str) -> Result<Tip> {
        if own != Some(head) {
            return Ok(Tip::Elsewhere);
        }
        if refs::loose_tip(&self.repo.common, branch).as_deref() == Some(head) {
            return Ok(Tip::Same);
        }
        let verify = ["rev-parse", "--verify", "--quiet", branch];
        let tip = self.git.at(&self.repo.common).look(verify).ask()?;
        match tip.code {
            Some(0) if String::from_utf8_lossy(&tip.stdout).trim() == head => Ok(Tip::Same),
            Some(0) => Ok(Tip::Elsewhere),
            Some(1) => Ok(Tip::Gone),
            // No answer is not the answer that it is gone. The next command tries again.
            _ => Err(Error::Git { doing: "read its branch".into(), why: tip.why() }),
        }
    }

    /// Gives back HEAD and private refs to a private git dir whose repository keeps refs in another
    /// format by now: git's own migration leaves it without them.
    pub(super) fn refill_refs(&self, journal: &Journal, private: &Path) -> Result<()> {
        if journal.reftable == self.repo.is_reftable() {
            return Ok(());
        }
        let head = private.join("HEAD");
        let text = match (&journal.head, self.repo.is_reftable()) {
            (Some(head), false) => format!("{head}\n"),
            (None, false) => format!("ref: {UNBORN}\n"),
            // What git writes where HEAD is in a table.
            (_, true) => "ref: refs/heads/.invalid\n".to_owned(),
        };
        file::replace(&head, text.as_bytes())?;
        let own = journal.refs.iter().map(|(name, id)| (name.as_str(), id.as_str()));
        let in_table = self.repo.is_reftable();
        let head = journal.head.as_deref().filter(|_| in_table).map(|head| ("HEAD", head));
        for (name, id) in own.chain(head) {
            let words = ["update-ref", "--no-deref", name, id];
            held::within(&self.git, private, words).done("bring its refs back")?;
        }
        Ok(())
    }
}

enum Head {
    /// On a ref.
    On(String),
    /// Detached at a commit.
    At(String),
}

enum Tip {
    Same,
    Elsewhere,
    Gone,
}
