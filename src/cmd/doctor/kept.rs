//! The trash and the vault: what belongs to nothing, what cannot be read, and what a kept ref lost.

use super::Doctor;
use crate::cli::spec::ROOT;
use crate::cmd::context::Here;
use crate::error::Result;
use crate::lifecycle::trash;
use crate::repo::kept::{self, KEPT};
use crate::sandbox::all_repos::Everywhere;
use crate::sandbox::journal::{Journal, Stage, TREE};
use crate::ui::out::Out;
use crate::ui::words::shell_word;

impl Doctor<'_> {
    /// What lies in the trash and belongs to nothing.
    pub(super) fn leftovers(&mut self, here: &Here) -> Result<()> {
        let all = Everywhere::look(self.args.value(&ROOT))?;
        let items = trash::items(&here.repo, &here.place).into_iter().flatten();
        let items = items.filter(|item| item.private.is_some());
        let known: Vec<_> = items.map(|item| item.at).collect();
        for folder in all.root.trash_folders().iter().filter(|folder| !known.contains(folder)) {
            if self.knows(folder) {
                continue;
            }
            match Journal::read(folder) {
                Ok(Some(journal)) if journal.common.as_ref() != Some(&here.repo.common) => {}
                // The vault has all of it: the next restore or reap goes on.
                Ok(Some(journal)) if matches!(journal.stage, Stage::Unpacking | Stage::PutAway) => {
                }
                Ok(Some(journal)) if journal.has_tree && !folder.join(TREE).exists() => {
                    let empty = &mut || Journal::remove(folder);
                    self.find("trash", folder, "its files are not there any more", Some(empty));
                }
                Ok(Some(_)) => {}
                Ok(None) => {
                    let empty = &mut || Journal::remove(folder);
                    self.find("trash", folder, "it has no journal", Some(empty));
                }
                Err(error) => self.find("trash", folder, &error.to_string(), None),
            }
        }
        Ok(())
    }

    /// Items of the trash whose kept ref was deleted, and whose commits are gone with it.
    fn lost(&mut self, here: &Here) -> Result<()> {
        for item in trash::items(&here.repo, &here.place).into_iter().flatten() {
            let Some(commit) = &item.journal.kept else { continue };
            let (git, common) = (&here.repo.git, &here.repo.common);
            let has = |commit: &String| kept::has(git, common, commit);
            // The ref may be newer: a git was killed before the journal could be written.
            let has_newer = || match kept::current(git, common, &item.journal.id)? {
                Some(newer) => has(&newer),
                None => Ok(false),
            };
            if item.private.is_some() && !has(commit)? && !has_newer()? {
                let why = "the repository lost the commits that were kept for it";
                self.find("kept", &item.at, why, None);
                let files = item.tree().to_string_lossy().into_owned();
                self.hint(format!("cp -a {} <folder>", shell_word(&files)));
            }
        }
        Ok(())
    }

    /// Kept refs that lead nowhere, and items of the vault that cannot be read.
    pub(super) fn kept(&mut self, here: &Here, out: Out) -> Result<()> {
        for item in here.vault(out).items()? {
            if let Err(error) = item.header {
                let path = here.place.root.join(".vault.git");
                let why = format!("its item '{}' cannot be read: {error}", item.id);
                self.find("vault", &path, &why, None);
            }
        }
        let git = here.repo.git.at(&here.repo.common);
        let words = ["for-each-ref", "--format=%(objectname) %(refname)", KEPT];
        let listed = git.look(words).read("list the kept refs")?;
        let text = String::from_utf8_lossy(&listed).into_owned();
        for (commit, name) in text.lines().filter_map(|line| line.split_once(' ')) {
            let whole = ["rev-list", "--objects", "--no-walk", "--quiet", commit];
            let call = git.look(whole).env("GIT_ALLOW_PROTOCOL", "none");
            if !call.ask()?.ok() {
                let path = here.repo.common.join(name);
                self.find("kept", &path, "it leads to objects that are not there", None);
            }
        }
        self.lost(here)
    }
}
