//! The commits of a merge, a squash or a rebase: made by git itself in the scratch, with its own
//! messages, hooks, signatures and drivers.

use std::path::PathBuf;

use super::scratch::Scratch;
use super::{Merge, Way};
use crate::error::Result;
use crate::git::{Answer, porcelain};

impl Merge<'_> {
    /// Makes the commit that the target is to move to.
    pub(super) fn make(&self, scratch: &Scratch, way: Way) -> Result<String> {
        let new = match way {
            Way::FastForward | Way::Commit => self.merged(scratch, way)?,
            Way::Squash => self.squashed(scratch)?,
            Way::Rebase => self.rebased(scratch)?,
        };
        let tip = self.into.branch.commit.as_str();
        let forward = scratch.look(["merge-base", "--is-ancestor", tip, &new]).ask()?.ok();
        let has_all = way == Way::Squash
            || way == Way::Rebase
            || scratch.look(["merge-base", "--is-ancestor", self.head, &new]).ask()?.ok();
        match forward && has_all && new != tip {
            true => Ok(new),
            false => Err(self.refused("git made no commit on top of it".into(), None)),
        }
    }

    /// `git merge`, as the user's config and the options of the target say.
    fn merged(&self, scratch: &Scratch, way: Way) -> Result<String> {
        let options = self.options()?;
        let only = (way == Way::FastForward).then_some("--ff-only");
        let words = ["--no-edit", "--commit", "--no-squash", "--into-name", &self.into.name];
        let message = self.message.into_iter().flat_map(|message| ["-m", message]);
        // The short name is what git's message shows; but a tag of that name would win.
        let short = format!("refs/heads/{}", self.branch);
        let is_it = |name: &str| -> Result<bool> {
            let answer = scratch.look(["rev-parse", "--verify", "--quiet", name]).ask()?;
            Ok(answer.stdout.trim_ascii_end() == self.head.as_bytes())
        };
        let name = match is_it(&format!("{}^0", self.branch))? {
            true => self.branch,
            false if is_it(&short)? => &short,
            false => return Err(self.stopped(super::Obstacle::Moved.into())),
        };
        let call = scratch.call(["merge"]).args(options).args(only).args(words).args(message);
        let answer = call.arg(name).env("GIT_MERGE_AUTOEDIT", "no").ask()?;
        self.check(scratch, &answer)?;
        self.relay(&answer);
        let second = scratch.look(["rev-parse", "--verify", "--quiet", "HEAD^2"]).ask()?;
        if way == Way::Commit && second.stdout.trim_ascii_end() != self.head.as_bytes() {
            return Err(self.stopped(super::Obstacle::Moved.into()));
        }
        read_head(scratch)
    }

    /// `git merge --squash` and `git commit`.
    fn squashed(&self, scratch: &Scratch) -> Result<String> {
        // Whatever merge.ff says: it cannot go together with the other.
        let words = ["--squash", "--ff", "--no-edit", self.head];
        let call = scratch.quietly(["merge"]).args(self.options()?).args(words);
        let answer = call.ask()?;
        if !answer.ok() {
            self.check(scratch, &answer)?;
        }
        if scratch.look(["diff", "--cached", "--quiet"]).ask()?.ok() {
            return Err(self.nothing("has all its changes"));
        }
        let commit = scratch.call(["commit", "--quiet"]);
        let commit = match self.message {
            Some(message) => commit.args(["-m", message]),
            None => commit.arg("--no-edit"),
        };
        let answer = commit.ask()?;
        self.check(scratch, &answer)?;
        self.relay(&answer);
        read_head(scratch)
    }

    /// `git rebase`.
    fn rebased(&self, scratch: &Scratch) -> Result<String> {
        let tip = self.into.branch.commit.as_str();
        // A rebase that rerere resolves stops all the same, and nothing would continue it. What
        // rebase.autoSquash says counts only where the user edits the list.
        let plain = ["rebase.updateRefs=false", "rerere.enabled=false"];
        let plain = plain.iter().flat_map(|setting| ["-c", setting]);
        let call = scratch.call(plain).args(["rebase", "--quiet", tip]);
        let answer = call.env("GIT_EDITOR", ":").ask()?;
        self.check(scratch, &answer)?;
        let new = read_head(scratch)?;
        if new == tip {
            return Err(self.nothing("has all its changes"));
        }
        self.relay(&answer);
        Ok(new)
    }

    /// Finds out why git did not do it, if so.
    fn check(&self, scratch: &Scratch, answer: &Answer) -> Result<()> {
        if answer.ok() {
            return Ok(());
        }
        crate::sys::signals::check()?;
        let files = conflicts(scratch)?;
        if !files.is_empty() {
            return Err(self.conflict(&files));
        }
        self.relay(answer);
        Err(self.not_committed())
    }

    /// Passes on what git and the user's hooks said.
    fn relay(&self, answer: &Answer) {
        for line in answer.words() {
            self.out.note(&line);
        }
    }

    fn not_committed(&self) -> crate::error::Error {
        self.refused("git did not commit it, and nothing was changed".into(), None)
    }
}

/// Files that conflict, also those that rerere has resolved.
fn conflicts(scratch: &Scratch) -> Result<Vec<PathBuf>> {
    let unmerged = ["diff", "--name-only", "--diff-filter=U", "-z"];
    let files = porcelain::paths(&scratch.look(unmerged).read("read the conflicts")?);
    if !files.is_empty() {
        return Ok(files);
    }
    // `<mode> <id> <stage>\t<path>`, three times for each file.
    let resolved = ["ls-files", "--resolve-undo", "-z"];
    let resolved = scratch.look(resolved).read("read the conflicts")?;
    let lines = resolved.split(|byte| *byte == 0);
    let paths = lines.filter_map(|line| line.split(|byte| *byte == b'\t').nth(1));
    let mut paths: Vec<PathBuf> = paths.flat_map(porcelain::paths).collect();
    paths.dedup();
    Ok(paths)
}

fn read_head(scratch: &Scratch) -> Result<String> {
    let head = scratch.look(["rev-parse", "--verify", "HEAD"]).line("read the new commit")?;
    Ok(head.to_string_lossy().into_owned())
}
