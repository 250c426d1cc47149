//! The second half of a creation, outside the repository lock and under the sandbox's own: files and
//! hook as `git worktree add` would, then what a checkout lacks and the user's setup commands.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::error::{Error, Result};
use crate::git::Git;
use crate::include;
use crate::lock::Lock;
use crate::repo::Repo;
use crate::run::Session;
use crate::signals;

/// A sandbox that is registered but still empty.
#[derive(Debug)]
pub struct Fill<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// The main worktree, if there is one.
    pub main: Option<&'a Path>,
    /// Its commit.
    pub commit: &'a str,
    /// Its own lock.
    pub own: &'a Lock,
    /// How commands see it.
    pub session: Session<'a>,
}

impl Fill<'_> {
    /// Checks the files out, in parallel where the user has not decided otherwise.
    pub fn check_out(&self) -> Result<()> {
        let parallel = self.repo.config.get("checkout.workers").is_none();
        let workers: &[&str] = if parallel { &["-c", "checkout.workers=0"] } else { &[] };
        let git = self.git();
        let reset =
            git.call(workers).args(["reset", "--hard", "--no-recurse-submodules"]).show()?;
        signals::check()?;
        if !reset.ok() {
            return Err(Error::Git { doing: "check the files out".into(), why: reset.why() });
        }
        Ok(())
    }

    /// Everything after the checkout; what went wrong.
    pub fn furnish(&self) -> Vec<String> {
        let mut troubles: Vec<String> =
            self.run_hook().unwrap_or_else(|error| Some(error.to_string())).into_iter().collect();
        if let Some(main) = self.main
            && let Err(error) = include::copy(&self.repo.git, main, self.session.path)
        {
            troubles.push(error.to_string());
        }
        for value in self.repo.config.all("sandbox.setup") {
            match self.session.setup(value) {
                Ok(0) => continue,
                Ok(code) => {
                    troubles.push(format!("the setup command '{value}' exited with {code}"));
                }
                Err(error) => troubles.push(error.to_string()),
            }
            // The next one may build on it.
            break;
        }
        troubles
    }

    fn git(&self) -> Git {
        self.repo.git.at(self.session.path).holding(self.own.file())
    }

    fn run_hook(&self) -> Result<Option<String>> {
        let hook = match self.repo.config.get("core.hookspath") {
            // A relative one is taken from the worktree that the command was started in.
            Some(_) => {
                let here = &self.repo.git;
                let call = here.call(["rev-parse", "--git-path", "hooks/post-checkout"]);
                here.dir().join(call.line("find the hooks")?)
            }
            None => self.repo.common.join("hooks/post-checkout"),
        };
        let runs = |meta: fs::Metadata| meta.is_file() && meta.permissions().mode() & 0o111 != 0;
        if !fs::metadata(&hook).is_ok_and(runs) {
            return Ok(None);
        }
        let null = "0".repeat(self.commit.len());
        let code = self.git().hook(&hook, &[&null, self.commit, "1"], &self.repo.prefix)?;
        Ok(match code {
            Some(0) => None,
            Some(code) => Some(format!("the post-checkout hook exited with {code}")),
            None => Some("the post-checkout hook was killed".into()),
        })
    }
}
