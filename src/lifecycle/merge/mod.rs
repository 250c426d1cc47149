//! Merging a sandbox's branch into another one.
//!
//! Where the target is checked out, `git merge` does it there, by its own rules about local changes.
//! Where it is checked out nowhere, no checkout is touched: `merge-tree`, `commit-tree` and a
//! compare-and-swap of the ref; but hooks, signatures and merge options of the user's, and a git
//! without that `merge-tree`, get a temporary worktree. What is squashed or rebased is made away
//! from both and then landed as a fast-forward. So until it is known that the merge succeeds, the
//! sandbox is not touched at all, and the target only by `git merge` itself, which is undone.

#[path = "scratch.rs"]
mod away;
#[path = "untracked.rs"]
mod in_the_way;
#[path = "make.rs"]
mod made;

use std::path::{Path, PathBuf};

use away::{Away, Note};
pub use away::{left_over, lock, recover};
use made::{MERGE_HOOKS, commit_tree, read_head};

use crate::base::Base;
use crate::error::{Error, Result, shell_word};
use crate::git::{Answer, Git};
use crate::lock::Lock;
use crate::out::Out;
use crate::place::Place;
use crate::porcelain;
use crate::repo::{Repo, Worktrees};
use crate::sandbox::Sandbox;
use crate::step;
use crate::time::counted;

/// How the commits come into the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As `git merge` does it by the user's config.
    Merge,
    /// Only if the target need not be merged with anything.
    FastForward,
    /// As one commit.
    Squash,
    /// Replayed on top of the target.
    Rebase,
}

/// A merge that is wanted.
#[derive(Debug)]
pub struct Merge<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// Its worktrees.
    pub worktrees: &'a Worktrees,
    /// Its places.
    pub place: &'a Place,
    /// Where to narrate.
    pub out: Out,
    /// The sandbox whose work it is.
    pub sandbox: &'a Sandbox,
    /// Its branch.
    pub branch: &'a str,
    /// Its commit.
    pub head: &'a str,
    /// The branch to merge into.
    pub into: &'a Base,
    /// How.
    pub how: How,
    /// The message, if it is not git's own.
    pub message: Option<&'a str>,
}

/// What will be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How many commits the target lacks.
    pub commits: u64,
    /// What will come of it.
    pub way: Way,
}

/// What a merge comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// The target moves to the branch's commit.
    FastForward,
    /// A merge commit; of this tree, where that could be told.
    Commit(Option<String>),
    /// One commit; of this tree, where that could be told.
    Squash(Option<String>),
    /// New commits on top of the target.
    Rebase,
}

impl Plan {
    /// What is done, in words.
    pub fn in_words(&self) -> String {
        let commits = counted(self.commits, "commit");
        match self.way {
            Way::FastForward => format!("{commits}, fast-forward"),
            Way::Commit(_) => format!("{commits}, with a merge commit"),
            Way::Squash(_) => format!("{commits}, squashed"),
            Way::Rebase => format!("{commits}, rebased"),
        }
    }
}

impl Merge<'_> {
    /// Finds out what has to be done, and whether it can be. Changes nothing.
    pub fn plan(&self) -> Result<Plan> {
        let git = self.repo.git.at(&self.repo.common);
        let tip = self.into.branch.commit.as_str();
        let count = git.look(["rev-list", "--count", self.head, "--not", tip, "--"]);
        let count = count.line("count the commits")?;
        let commits = count.to_str().and_then(|count| count.parse().ok()).unwrap_or(0);
        if commits == 0 {
            return Err(self.nothing("has every commit of it"));
        }
        self.checkout()?;
        let forward = git.look(["merge-base", "--is-ancestor", tip, self.head]).ask()?.ok();
        let setting = self.repo.config.get("merge.ff").map(str::to_lowercase);
        let only = self.how == How::FastForward || setting.as_deref() == Some("only");
        let way = match self.how {
            How::Rebase if !forward => Way::Rebase,
            How::Squash => {
                let merged = self.merged_tree()?;
                if merged.as_ref() == Some(&self.into.branch.tree) {
                    return Err(self.nothing("has all its changes"));
                }
                Way::Squash(merged)
            }
            How::FastForward | How::Rebase if forward => Way::FastForward,
            How::Merge if forward && !is_off(setting.as_deref()) && !self.no_ff() => {
                Way::FastForward
            }
            _ if only => {
                let name = shell_word(&self.sandbox.name());
                let hint = format!("git sandbox merge {name} --rebase");
                let why = format!("'{}' has commits of its own", self.into.name);
                return Err(self.refused(why, Some(hint)));
            }
            _ => Way::Commit(self.merged_tree()?),
        };
        Ok(Plan { commits, way })
    }

    /// Carries it out; the commit that the branch is at then. The target has it all.
    pub fn carry_out(&self, plan: &Plan, lock: &Lock) -> Result<String> {
        let git = self.repo.git.holding(lock.file());
        step::reached();
        let new = match &plan.way {
            Way::FastForward | Way::Commit(_) => {
                self.merge(&git, &plan.way)?;
                self.head.to_owned()
            }
            Way::Squash(tree) => {
                self.land(&git, &self.squashed(&git, tree.as_deref())?)?;
                self.head.to_owned()
            }
            Way::Rebase => {
                let away = Away::at(self, self.head)?;
                let new = self.rebased(&git, &away).and_then(|new| {
                    self.land(&git, &new)?;
                    Ok(new)
                });
                away.remove(self)?;
                new?
            }
        };
        step::reached();
        self.confirm(plan, &new)?;
        if plan.way == Way::Rebase {
            self.follow(&git, &new)?;
        }
        step::reached();
        Ok(new)
    }

    /// Moves the branch, and the sandbox with it, to its new commits. What is in the way stays: the
    /// target has it all.
    fn follow(&self, git: &Git, new: &str) -> Result<()> {
        let words = ["checkout", "--quiet", "--no-track", "--no-overwrite-ignore", "-B"];
        let git = git.at(&self.sandbox.path);
        let moved = read_head(&git)? != self.head;
        let answer = git.refresh(words).args([self.branch, new, "--"]);
        let why = match moved {
            true => Some("it has moved meanwhile".to_owned()),
            false => Some(answer.ask()?).filter(|it| !it.ok()).map(|it| it.words().join(" ")),
        };
        if let Some(why) = why {
            self.out.warn(&format!("branch '{}' stays at its old commits: {why}", self.branch));
        }
        Ok(())
    }

    /// The target has every commit or, after a squash, merging the branch would change nothing.
    fn confirm(&self, plan: &Plan, new: &str) -> Result<()> {
        let git = self.repo.git.at(&self.repo.common);
        let full = &self.into.branch.name;
        let has = |commit: &str| -> Result<bool> {
            Ok(git.look(["merge-base", "--is-ancestor", commit, full]).ask()?.ok())
        };
        let confirmed = match &plan.way {
            Way::Squash(Some(_)) => {
                let tree = git.look(["rev-parse", "--verify", &format!("{full}^{{tree}}")]);
                let tree = tree.line("read the branch")?;
                let merge = git.merge(full, new)?;
                merge.is_some_and(|merge| merge.clean && tree == *merge.tree)
            }
            // It was landed, or that had failed; this git cannot tell more.
            Way::Squash(None) => true,
            _ => has(new)?,
        };
        match confirmed {
            true => Ok(()),
            false => Err(self.refused("the merge could not be confirmed".into(), None)),
        }
    }

    /// The tree of the merge; none where this git cannot tell, or the user's options decide.
    fn merged_tree(&self) -> Result<Option<String>> {
        if self.repo.config.get(&self.options_key()).is_some() {
            return Ok(None);
        }
        // Its attributes say how files are merged.
        let git = self.repo.git.at(&self.sandbox.path);
        let Some(merge) = git.merge(&self.into.branch.commit, self.head)? else { return Ok(None) };
        match merge.clean {
            true => Ok(Some(merge.tree)),
            false => Err(self.conflict(&merge.conflicts)),
        }
    }

    /// Whether the user wants a merge commit for this branch in any case.
    fn no_ff(&self) -> bool {
        let options = self.repo.config.get(&self.options_key());
        options.is_some_and(|options| options.split_whitespace().any(|word| word == "--no-ff"))
    }

    fn options_key(&self) -> String {
        format!("branch.{}.mergeoptions", self.into.name)
    }

    /// A merge or a fast-forward, as `git merge` would.
    fn merge(&self, git: &Git, way: &Way) -> Result<()> {
        if let Some((folder, git_dir)) = self.checkout()? {
            self.overwrites_nothing(&folder, self.head)?;
            return self.merge_in(git, &folder, &git_dir, way);
        }
        let commit = match way {
            _ if self.needs_a_checkout(&MERGE_HOOKS)? => None,
            Way::FastForward => Some(self.head.to_owned()),
            Way::Commit(Some(tree)) => {
                let message = self.merge_message(git)?;
                let parents = [self.into.branch.commit.as_str(), self.head];
                Some(commit_tree(git, tree, &parents, &message)?)
            }
            _ => None,
        };
        if let Some(commit) = commit {
            return self.swap(git, &commit);
        }
        let away = Away::on_target(self)?;
        let done = self.merge_in(git, &away.path, &away.entry, way);
        away.remove(self)?;
        done
    }

    /// `git merge` in a checkout of the target; undone if it fails.
    fn merge_in(&self, git: &Git, folder: &Path, git_dir: &Path, way: &Way) -> Result<()> {
        let git = git.at(folder);
        let mut words = vec!["merge", "--no-edit", "--commit", "--no-squash"];
        let only = *way == Way::FastForward && self.how != How::Merge;
        words.extend(only.then_some("--ff-only"));
        words.extend(self.message.into_iter().flat_map(|message| ["-m", message]));
        // The short name is what git's message shows; but a tag of that name would win.
        let short = git.look(["rev-parse", "--verify", "--quiet", &format!("{}^0", self.branch)]);
        let full = format!("refs/heads/{}", self.branch);
        let is_it = String::from_utf8_lossy(&short.ask()?.stdout).trim() == self.head;
        words.push(if is_it { self.branch } else { &full });
        let tree = if let Way::Commit(tree) = way { tree.as_deref() } else { None };
        self.work_in(&git, folder, git_dir, tree, &words)
    }

    /// Brings a commit that is on top of the target into it.
    fn land(&self, git: &Git, commit: &str) -> Result<()> {
        if let Some((folder, git_dir)) = self.checkout()? {
            self.overwrites_nothing(&folder, commit)?;
            let words = ["merge", "--no-squash", "--ff-only", commit];
            return self.work_in(&git.at(&folder), &folder, &git_dir, None, &words);
        }
        if !self.needs_a_checkout(&["post-merge"])? {
            return self.swap(git, commit);
        }
        let away = Away::on_target(self)?;
        let words = ["merge", "--no-squash", "--ff-only", commit];
        let done = self.work_in(&git.at(&away.path), &away.path, &away.entry, None, &words);
        away.remove(self)?;
        done
    }

    /// Runs `git merge` in a checkout and, if it fails, undoes what it began.
    fn work_in(
        &self,
        git: &Git,
        folder: &Path,
        git_dir: &Path,
        tree: Option<&str>,
        words: &[&str],
    ) -> Result<()> {
        self.is_idle(folder, git_dir)?;
        let note = Note::write(self, folder, git_dir, tree)?;
        let before = [ORIG_HEAD, AUTO_MERGE].map(|name| pseudo_ref(git, name));
        step::reached();
        let answer = git.call(words).env("GIT_MERGE_AUTOEDIT", "no").ask()?;
        step::reached();
        // git itself or a hook of the user's may have something to say.
        for line in answer.words() {
            self.out.note(&line);
        }
        if answer.ok() {
            return note.remove();
        }
        let unmerged = ["diff", "--name-only", "--diff-filter=U", "-z"];
        let unmerged = porcelain::paths(&git.look(unmerged).read("read the conflicts")?);
        let begun = git_dir.join("MERGE_HEAD").exists();
        if begun {
            git.call(["merge", "--abort"]).done("undo the merge")?;
        }
        for (name, before) in [ORIG_HEAD, AUTO_MERGE].into_iter().zip(before) {
            let (before, after) = (before?, pseudo_ref(git, name)?);
            let words = match &before {
                _ if before == after => continue,
                Some(before) => [name, before],
                None => ["-d", name],
            };
            git.look(["update-ref", "--no-deref"]).args(words).done("put it back as it was")?;
        }
        note.remove()?;
        Err(match () {
            () if begun && !unmerged.is_empty() => self.conflict(&unmerged),
            () if begun => self.refused("git did not commit it, so it was undone".into(), None),
            () => self.not_taken(git, folder, &answer)?,
        })
    }

    /// Why git would not even begin.
    fn not_taken(&self, git: &Git, folder: &Path, answer: &Answer) -> Result<Error> {
        let words = ["status", "--porcelain=v2", "-z", "--untracked-files=all"];
        let status = git.look(words).read("read the changes")?;
        if porcelain::status(&status).is_none_or(|status| status.changes() > 0) {
            let why = format!("uncommitted changes in '{}' are in the way", folder.display());
            let status = format!("git -C {} status", shell_word(&folder.to_string_lossy()));
            return Ok(self.refused(why, Some(status)));
        }
        Ok(self.refused(answer.why(), None))
    }

    /// Moves the target from where it was to a commit, unless somebody else has moved it.
    fn swap(&self, git: &Git, commit: &str) -> Result<()> {
        let Base { branch, .. } = self.into;
        let reason = format!("merge {}: git sandbox", self.branch);
        let words = ["update-ref", "-m", &reason, &branch.name, commit, &branch.commit];
        step::reached();
        let answer = git.at(&self.repo.common).call(words).ask()?;
        if answer.ok() {
            return Ok(());
        }
        let verify = ["rev-parse", "--verify", "--quiet", &branch.name];
        let now = git.at(&self.repo.common).look(verify).ask()?;
        if String::from_utf8_lossy(&now.stdout).trim() != branch.commit {
            let again = format!("git sandbox merge {}", shell_word(&self.sandbox.name()));
            return Err(self.refused("it has moved meanwhile".into(), Some(again)));
        }
        Err(self.refused(answer.why(), None))
    }

    fn refused(&self, why: String, hint: Option<String>) -> Error {
        let into = Some(self.into.name.clone());
        Error::NotMerged { name: self.sandbox.name(), into, why, hint }
    }

    fn nothing(&self, why: &str) -> Error {
        let remove = format!("git sandbox rm {}", shell_word(&self.sandbox.name()));
        self.refused(format!("nothing to merge, '{}' {why}", self.into.name), Some(remove))
    }

    fn conflict(&self, files: &[PathBuf]) -> Error {
        let path = shell_word(&self.sandbox.path.to_string_lossy());
        let hint = format!("resolve it there: git -C {path} merge {}", shell_word(&self.into.name));
        self.refused(format!("conflict in {}", listed(files)), Some(hint))
    }
}

fn listed(files: &[PathBuf]) -> String {
    let files: Vec<String> = files.iter().map(|file| format!("'{}'", file.display())).collect();
    files.join(", ")
}

fn is_off(setting: Option<&str>) -> bool {
    setting.and_then(crate::config::boolean) == Some(false)
}

/// What git leaves behind when it merges, also when it then does not.
const ORIG_HEAD: &str = "ORIG_HEAD";
const AUTO_MERGE: &str = "AUTO_MERGE";

fn pseudo_ref(git: &Git, name: &str) -> Result<Option<String>> {
    let answer = git.look(["rev-parse", "--verify", "--quiet", name]).ask()?;
    Ok(answer.ok().then(|| String::from_utf8_lossy(&answer.stdout).trim().to_owned()))
}
