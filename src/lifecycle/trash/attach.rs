//! What a restored sandbox has checked out: HEAD goes back on the ref it was on, where that is still
//! the same and free.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::refs;
use crate::lifecycle::trash::Trash;
use crate::repo::{Worktrees, held, holders};
use crate::sandbox::journal::Journal;
use crate::sys::{dir, file};

/// What HEAD is on in the trash if its branch had no commit yet.
pub(super) const UNBORN: &str = "refs/worktree/unborn";

/// The commit of HEAD among the refs of a journal, where that was written anew.
pub(super) const HEAD: &str = "HEAD";

/// What a restored sandbox has checked out.
#[derive(Debug, PartialEq, Eq)]
pub enum Attached {
    /// What it had.
    AsBefore,
    /// Its branch, which had vanished.
    Recreated(String),
    /// Its commit, detached: the branch has moved on.
    Moved(String),
    /// No commit yet, as before, but on no branch: the branch has one by now.
    StaysUnborn(String),
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
            Head::On(_) => self.born(private)?,
            Head::At(id) => Some(id),
        };
        let mut holders = holders::of(worktrees, &self.repo.common, branch.as_ref());
        if let Some(holder) = holders.find(|holder| holder.git_dir != private) {
            return Ok(Attached::Taken(name, holder.record.path.clone()));
        }
        let attached = match &journal.head {
            None => match own {
                None if self.tip_of(branch)?.is_none() => Attached::AsBefore,
                None => return Ok(Attached::StaysUnborn(name)),
                Some(_) => return Ok(Attached::Moved(name)),
            },
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

    /// Puts HEAD back on the branch that a removal had taken it from.
    pub(super) fn attach_again(&self, journal: &Journal, entry: &Path) -> Result<()> {
        let Some(branch) = &journal.branch else { return Ok(()) };
        let own = match self.head_of(entry)? {
            Head::On(other) if other != UNBORN => return Ok(()),
            Head::On(_) => self.born(entry)?,
            Head::At(id) => Some(id),
        };
        // What was committed between a crash and now stays checked out, and so does what its branch has
        // left: on a branch that is elsewhere, all that differs would seem to be staged.
        if self.tip_of(branch)? != own {
            return Ok(());
        }
        // It may have been checked out elsewhere since.
        let worktrees = self.repo.worktrees()?;
        let mut holders = holders::of(&worktrees, &self.repo.common, branch.as_ref());
        if holders.any(|holder| holder.git_dir != entry) {
            return Ok(());
        }
        let words = ["symbolic-ref", "-m", "git sandbox: not removed", "HEAD", branch];
        held::within(&self.git, entry, words).done("put HEAD back on its branch")
    }

    /// What HEAD of a private git dir is on or at.
    fn head_of(&self, private: &Path) -> Result<Head> {
        let ask = |words: &[&str]| held::within(&self.git, private, words).ask();
        if !self.repo.is_reftable() && !held::is_head_a_link(private) {
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
        Ok(match self.tip_of(branch)? {
            Some(tip) if tip == head => Tip::Same,
            Some(_) => Tip::Elsewhere,
            None => Tip::Gone,
        })
    }

    /// The commit of a branch, if there is one.
    fn tip_of(&self, branch: &str) -> Result<Option<String>> {
        let verify = ["rev-parse", "--verify", "--quiet", branch];
        let tip = self.git.at(&self.repo.common).look(verify).ask()?;
        match tip.code {
            Some(0) => Ok(Some(String::from_utf8_lossy(&tip.stdout).trim().to_owned())),
            Some(1) => Ok(None),
            // No answer is not the answer that it is gone. The next command tries again.
            _ => Err(Error::Git { doing: "read its branch".into(), why: tip.why() }),
        }
    }

    /// The commit that a process in the trash has made where there was none, and HEAD detached at it.
    fn born(&self, private: &Path) -> Result<Option<String>> {
        let Some(commit) = held::head_commit(&self.git, private)? else { return Ok(None) };
        let words = ["update-ref", "--no-deref", "HEAD", &commit];
        held::within(&self.git, private, words).done("detach HEAD")?;
        Ok(Some(commit))
    }

    /// Gives HEAD and private refs to a private git dir whose repository keeps refs in another format by
    /// now: git's own migration passes it over. Its HEAD file tells in which format it is, and changes
    /// last.
    pub(super) fn refill_refs(&self, journal: &Journal, private: &Path) -> Result<()> {
        let head = private.join("HEAD");
        let is_in_table = file::read_small(&head).at("read", &head)? == held::IN_TABLE;
        match (is_in_table, self.repo.is_reftable()) {
            (false, true) => {
                self.fill_table(private)?;
                file::replace(&head, held::IN_TABLE)
            }
            (true, false) => {
                for (name, id) in journal.refs.iter().filter(|(name, _)| *name != HEAD) {
                    self.set_ref(private, name, id)?;
                }
                let text = match journal.refs.get(HEAD).or(journal.head.as_ref()) {
                    Some(head) => format!("{head}\n"),
                    None => format!("ref: {UNBORN}\n"),
                };
                file::replace(&head, text.as_bytes())
            }
            (false, false) | (true, true) => Ok(()),
        }
    }

    /// Writes every ref of a private git dir that is a file into a table. One that names nothing stays a
    /// file.
    fn fill_table(&self, private: &Path) -> Result<()> {
        dir::make(&private.join("reftable"))?;
        let head = private.join("HEAD");
        let text = file::read_small(&head).at("read", &head)?;
        let text = String::from_utf8_lossy(text.trim_ascii_end()).into_owned();
        for (name, text) in held::loose_refs(private)? {
            let there = ["cat-file", "-e", &text];
            if !text.starts_with("ref:") && !held::within(&self.git, private, there).ask()?.ok() {
                continue;
            }
            self.set_ref(private, &name, &text)?;
            // By the file an operation would seem to go on when it has ended.
            if !name.contains('/') {
                let path = private.join(&name);
                fs::remove_file(&path).at("remove", &path)?;
            }
        }
        self.set_ref(private, "HEAD", &text)
    }

    /// Makes a ref of a private git dir say what a file would.
    fn set_ref(&self, private: &Path, name: &str, text: &str) -> Result<()> {
        let words = match text.strip_prefix("ref:") {
            Some(target) => ["symbolic-ref", "--", name, target.trim()],
            None => ["update-ref", "--no-deref", name, text],
        };
        held::within(&self.git, private, words).done("bring its refs back")
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
