//! `new --pr`: a pull or merge request of a remote as a branch of its own, `pr-<number>`. The upstream of
//! the branch is the request, which `git pull` follows (not git 2.36: there only this command does).

use std::ffi::OsStr;

use super::Maker;
use crate::error::{Error, Result};
use crate::git::{Git, refs};
use crate::repo::request::Pull;
use crate::repo::resolve::Target;
use crate::sandbox::Sandbox;
use crate::sandbox::in_use::Processes;
use crate::ui::words::shell_word;

impl Maker<'_> {
    /// What a request makes of a branch: a new one starts at it, and one that is here and in no sandbox is
    /// brought up to it where that loses nothing.
    pub(super) fn pulled(&self, git: &Git, pull: &Pull, target: Target) -> Result<Target> {
        let Some(branch) = target.branch().map(OsStr::to_owned) else { return Ok(target) };
        let Target::Existing { commit, .. } = &target else {
            return Ok(Target::Pull { branch, pull: pull.clone() });
        };
        match self.standing(pull, commit)? {
            Standing::Newer => {
                let words = ["update-ref", "-m", "git sandbox: new --pr"];
                let call = git.call(words).arg(refs::full(&branch));
                call.args([&pull.commit, commit]).done("bring the branch up to date")?;
                self.say_updated(pull, &branch.to_string_lossy());
                Ok(Target::Existing { branch, commit: pull.commit.clone() })
            }
            Standing::Diverged => {
                self.say_diverged(pull, &branch.to_string_lossy());
                Ok(target)
            }
            Standing::Same => Ok(target),
        }
    }

    /// Brings a sandbox up to its request, where nothing local is in the way.
    pub(super) fn pull(&self, pull: &Pull, there: &Sandbox) -> Result<()> {
        let Some(head) = &there.head else { return Ok(()) };
        let name = there.name();
        match self.standing(pull, head)? {
            Standing::Same => return Ok(()),
            Standing::Diverged => {
                self.say_diverged(pull, &name);
                return Ok(());
            }
            Standing::Newer => {}
        }
        let why = match self.in_the_way(there) {
            None => {
                let git = self.repo.git.in_worktree(&there.path);
                // Options in the config of the branch could make it something else.
                let branch = there.branch_text().unwrap_or_default();
                let plain = format!("branch.{branch}.mergeOptions=");
                let words = ["merge", "--ff-only", "--no-autostash", "--quiet", &pull.commit];
                let answer = git.call(["-c", &plain]).args(words).ask()?;
                if answer.ok() {
                    self.say_updated(pull, &name);
                    return Ok(());
                }
                answer.why()
            }
            Some(why) => why,
        };
        let number = pull.number;
        self.out.warn(&format!("request {number} has new commits, and '{name}' stays: {why}"));
        let path = shell_word(&there.path.to_string_lossy());
        self.out.hint(&format!("git -C {path} merge --ff-only {}", pull.commit));
        Ok(())
    }

    /// What forbids changing the files of a sandbox.
    fn in_the_way(&self, there: &Sandbox) -> Option<String> {
        let git = &self.repo.git;
        if let Some(operation) = there.operation(git, self.repo.is_reftable()) {
            return Some(format!("{operation} in progress"));
        }
        let users = Processes::lazily().users_of(there);
        match (users, there.status(git, false, false)) {
            (Err(error), _) => Some(error.to_string()),
            (Ok(users), _) if !users.is_empty() => Some("it is in use".to_owned()),
            (_, Err(why)) => Some(why),
            (_, Ok(status)) if status.changes() > 0 => {
                Some("it has uncommitted changes".to_owned())
            }
            _ => None,
        }
    }

    fn standing(&self, pull: &Pull, here: &str) -> Result<Standing> {
        let git = self.repo.git.at(&self.repo.common);
        let is_ancestor = |one: &str, other: &str| -> Result<bool> {
            let answer = git.look(["merge-base", "--is-ancestor", one, other]).ask()?;
            match answer.code {
                Some(code @ (0 | 1)) => Ok(code == 0),
                _ => Err(Error::Git { doing: "compare its commits".into(), why: answer.why() }),
            }
        };
        Ok(match () {
            () if is_ancestor(&pull.commit, here)? => Standing::Same,
            () if is_ancestor(here, &pull.commit)? => Standing::Newer,
            () => Standing::Diverged,
        })
    }

    fn say_updated(&self, pull: &Pull, name: &str) {
        let short = &pull.commit[..10.min(pull.commit.len())];
        self.out.note(&format!("brought '{name}' up to request {}: {short}", pull.number));
    }

    fn say_diverged(&self, pull: &Pull, name: &str) {
        let Pull { number, commit, .. } = pull;
        self.out.warn(&format!("request {number} and '{name}' have gone different ways: it stays"));
        self.out.hint(&format!("the request is at {commit}"));
    }
}

/// How a request stands to what is here.
enum Standing {
    /// Nothing of it is missing here.
    Same,
    /// It has all that is here, and more.
    Newer,
    /// Each has commits of its own.
    Diverged,
}
