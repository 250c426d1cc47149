//! The commits that a merge makes away from the target: the squash, the rebase, the merge commit of a
//! target that is checked out nowhere; with git's own messages, and by git itself wherever something
//! of the user's has a say in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{Away, Merge};
use crate::error::{Error, Result};
use crate::git::{Answer, Git};
use crate::porcelain;

impl Merge<'_> {
    /// One commit with all changes of the branch, on top of the target.
    pub(super) fn squashed(&self, git: &Git, tree: Option<&str>) -> Result<String> {
        let tip = self.into.branch.commit.as_str();
        if let Some(tree) = tree.filter(|_| !self.needs_a_checkout(&COMMIT_HOOKS).unwrap_or(true)) {
            let message = self.squash_message(git)?;
            return commit_tree(git, tree, &[tip], &message);
        }
        let away = Away::at(self, tip)?;
        let at = git.at(&away.path);
        let made = || {
            // Whatever merge.ff says: it cannot go together with the other.
            let merge = at.look(["merge", "--squash", "--ff", self.head]).ask()?;
            let unmerged = ["diff", "--name-only", "--diff-filter=U", "-z"];
            let unmerged = porcelain::paths(&at.look(unmerged).read("read the conflicts")?);
            if !unmerged.is_empty() {
                return Err(self.conflict(&unmerged));
            }
            if !merge.ok() {
                return Err(self.refused(merge.why(), None));
            }
            if at.look(["diff", "--cached", "--quiet"]).ask()?.ok() {
                return Err(self.nothing("has all its changes"));
            }
            let message = self.squash_message(git)?;
            self.told(&at.call(["commit", "--quiet", "-m", &message]).ask()?)?;
            read_head(&at)
        };
        let made = made();
        away.remove(self)?;
        made
    }

    /// The branch's commits on top of the target, made in a worktree of their own.
    pub(super) fn rebased(&self, git: &Git, away: &Away) -> Result<String> {
        let git = git.at(&away.path);
        let tip = self.into.branch.commit.as_str();
        // Nobody is there to go on with what rerere resolves.
        let plain = ["rebase.autoSquash=false", "rebase.updateRefs=false", "rerere.enabled=false"];
        let plain = plain.iter().flat_map(|setting| ["-c", setting]);
        let rebase = git.call(plain).args(["rebase", "--quiet", tip]);
        let answer = rebase.env("GIT_EDITOR", ":").ask()?;
        if !answer.ok() {
            let unmerged = ["diff", "--name-only", "--diff-filter=U", "-z"];
            let unmerged = porcelain::paths(&git.look(unmerged).read("read the conflicts")?);
            if !unmerged.is_empty() {
                return Err(self.conflict(&unmerged));
            }
            self.told(&answer)?;
        }
        let new = read_head(&git)?;
        if new == tip {
            return Err(self.nothing("has all its changes"));
        }
        Ok(new)
    }

    /// Passes on what git and the user's hooks said, if it failed.
    pub(super) fn told(&self, answer: &Answer) -> Result<()> {
        if answer.ok() {
            return Ok(());
        }
        for line in answer.words() {
            self.out.note(&line);
        }
        Err(self.refused("git did not commit it".into(), None))
    }

    /// git's own words for a merge commit, or the user's.
    pub(super) fn merge_message(&self, git: &Git) -> Result<String> {
        if let Some(message) = self.message {
            return Ok(message.to_owned());
        }
        let line = format!("{}\t\tbranch '{}' of .\n", self.head, self.branch);
        let git = git.at(&self.repo.common);
        let words = ["fmt-merge-msg", "--into-name", &self.into.name];
        let answer = git.look(words).ask_with(line.into_bytes())?;
        match answer.ok() {
            true => Ok(String::from_utf8_lossy(&answer.stdout).into_owned()),
            false => Err(Error::Git { doing: "write the message".into(), why: answer.why() }),
        }
    }

    /// git's own words for a squash, or the user's.
    pub(super) fn squash_message(&self, git: &Git) -> Result<String> {
        if let Some(message) = self.message {
            return Ok(message.to_owned());
        }
        let range = [self.head, "--not", &self.into.branch.commit, "--"];
        let git = git.at(&self.repo.common);
        let log = git.look(["rev-list", "--pretty=medium"]).args(range).read("read the commits")?;
        Ok(format!("Squashed commit of the following:\n\n{}", String::from_utf8_lossy(&log)))
    }

    /// Whether something of the user's decides that only git itself heeds: a hook, signatures, options.
    pub(super) fn needs_a_checkout(&self, hooks: &[&str]) -> Result<bool> {
        let config = &self.repo.config;
        let told = ["commit.gpgsign", "merge.verifysignatures", "pull.twohead"];
        let told = told.iter().any(|key| config.get(key).is_some());
        if told || config.has_section("hook.") || config.get(&self.options_key()).is_some() {
            return Ok(true);
        }
        let folder = match config.get("core.hookspath") {
            Some(_) => {
                let git = &self.repo.git;
                let path = git.call(["rev-parse", "--git-path", "hooks"]).line("find the hooks")?;
                git.dir().join(path)
            }
            None => self.repo.common.join("hooks"),
        };
        let runs = |meta: fs::Metadata| meta.is_file() && meta.permissions().mode() & 0o111 != 0;
        Ok(hooks.iter().any(|hook| fs::metadata(folder.join(hook)).is_ok_and(runs)))
    }
}

/// What runs for `git merge`.
pub(super) const MERGE_HOOKS: [&str; 4] =
    ["pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge"];
/// What runs for `git commit`.
pub(super) const COMMIT_HOOKS: [&str; 4] =
    ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"];

pub(super) fn commit_tree(
    git: &Git,
    tree: &str,
    parents: &[&str],
    message: &str,
) -> Result<String> {
    let parents = parents.iter().flat_map(|parent| ["-p", parent]);
    let call = git.call(["commit-tree", "-m", message.trim_end()]).args(parents).arg(tree);
    Ok(call.line("commit the merge")?.to_string_lossy().into_owned())
}

pub(super) fn read_head(git: &Git) -> Result<String> {
    let head = git.look(["rev-parse", "--verify", "HEAD"]).line("read the new commit")?;
    Ok(head.to_string_lossy().into_owned())
}
