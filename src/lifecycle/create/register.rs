//! Registering a new sandbox under the repository lock: folder, branch, git's entry.

use std::fs;
use std::path::{Path, PathBuf};

use super::persist::persistently;
use super::rollback::Undo;
use super::{Maker, Wish, entry};
use crate::error::{Doing, Error, Result};
use crate::git::Git;
use crate::repo::resolve::Target;
use crate::repo::start_point::Start;
use crate::repo::{Worktrees, link, place};
use crate::sandbox::mark::CREATING;
use crate::sys::{crash_point, random, signals};

impl Maker<'_> {
    /// Folder, branch, entry.
    #[expect(clippy::too_many_arguments, reason = "one step of one transaction")]
    pub(super) fn register(
        &self,
        git: &Git,
        wish: &Wish,
        target: &Target,
        start: &Start,
        worktrees: &Worktrees,
        parent: &Path,
        undo: &mut Undo,
    ) -> Result<(PathBuf, PathBuf)> {
        let path = place::make_free_folder(parent, &wish.folder, worktrees)?;
        undo.folder = Some(path.clone());
        self.make_branch(git, target, start, undo)?;
        // The private git dir gets a name that no other ever has, so that a stale '.git' leads nowhere;
        // git names it after the folder.
        let mut first = path.clone().into_os_string();
        first.push(format!(".{}", random::hex()?));
        let first = PathBuf::from(first);
        if let Target::New { branch } = target
            && let Some(new) = entry::New::of(self.repo, &first, &path, branch, &start.commit)
        {
            let entry = new.make(undo)?;
            signals::check()?;
            return Ok((path, entry));
        }
        undo.registered = Some(first.clone());
        persistently(|| {
            let add = ["worktree", "add", "--no-checkout", "--lock", "--reason", CREATING];
            let call = git.call(add);
            let call = match target.branch() {
                Some(branch) => call.arg("--").arg(&first).arg(branch),
                None => call.args(["--detach", "--"]).arg(&first).arg(&start.commit),
            };
            call.done("create the sandbox")
        })?;
        signals::check()?;
        let entry =
            link::folder_points_to(&first).filter(|entry| entry.starts_with(&self.repo.common));
        let entry = entry.ok_or_else(|| Error::Damaged {
            name: wish.folder.clone(),
            why: "git did not register it".into(),
        })?;
        crash_point::reached();
        // In the place of the empty folder that nothing else can have taken.
        fs::rename(&first, &path).at("move", &first)?;
        undo.registered = Some(path.clone());
        crash_point::reached();
        link::connect(&entry, &path)?;
        crash_point::reached();
        Ok((path, entry))
    }
}
