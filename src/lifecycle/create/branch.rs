//! The branch of a new sandbox, made if it is a new one, and its upstream.

use std::ffi::{OsStr, OsString};

use super::Maker;
use super::persist::persistently;
use super::rollback::Undo;
use crate::error::Result;
use crate::git::Git;
use crate::repo::resolve::Target;
use crate::repo::start_point::Start;

impl Maker<'_> {
    /// The branch, if it is a new one.
    pub(super) fn make_branch(
        &self,
        git: &Git,
        target: &Target,
        start: &Start,
        undo: &mut Undo,
    ) -> Result<()> {
        if let Target::New { branch }
        | Target::Tracking { branch, .. }
        | Target::Pull { branch, .. } = target
        {
            // git refuses this when the branch is there: so it is ours, exactly.
            let call = git.call(["branch", "--no-track", "--quiet", "--"]).arg(branch);
            call.arg(&start.commit).done("create the branch")?;
            undo.branch = Some((branch.clone(), start.commit.clone()));
        }
        let config = &self.repo.config;
        let unset = |branch: &OsStr, keys: &[&str]| {
            let name = branch.to_string_lossy();
            let keys = keys.iter().map(|key| format!("branch.{name}.{key}"));
            keys.filter(|key| config.get(key).is_none()).collect()
        };
        if let Target::Pull { branch, pull } = target {
            undo.config = unset(branch, &["remote", "merge"]);
            let section = format!("branch.{}", branch.to_string_lossy());
            for (key, value) in [("remote", &pull.remote), ("merge", &pull.reference)] {
                let words = ["config", "--local"];
                persistently(|| {
                    let call = git.call(words).arg(format!("{section}.{key}")).arg(value);
                    call.done("set the upstream")
                })?;
            }
        }
        if let Target::Tracking { branch, upstream, .. } = target {
            let mut option = OsString::from("--set-upstream-to=");
            option.push(upstream);
            undo.config = unset(branch, &["remote", "merge", "rebase"]);
            persistently(|| {
                git.call(["branch", "--quiet"])
                    .arg(&option)
                    .arg("--")
                    .arg(branch)
                    .done("set the upstream")
            })?;
        }
        Ok(())
    }
}
