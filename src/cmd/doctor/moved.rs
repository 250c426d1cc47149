//! Repositories and sandboxes that were moved. A folder and a private git dir are paired only with
//! proof: each names the other, or the private git dir records the common dir that the folder names.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use super::{Doctor, is_empty};
use crate::cli::spec::ROOT;
use crate::cmd::context::Here;
use crate::error::{Doing, Result};
use crate::repo::link::{self, Half};
use crate::sandbox::all_repos::{self, Everywhere, common_of};
use crate::sandbox::{Damage, Sandbox, State, record};
use crate::sys::path::{self, Presence};
use crate::ui::words::shell_word;

/// What is wrong with a folder below the root.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrong {
    /// It was moved; its private git dir names a folder that is not there.
    Moved,
    /// Its private git dir names another folder, which is there.
    Copied,
    /// Its private git dir is not there.
    Unknown,
    /// It is no worktree.
    Stray,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Wrong::Moved => "it was moved here, and git looks for it elsewhere",
            Wrong::Copied => "another folder stands where git looks for it",
            Wrong::Unknown => "git no longer knows it",
            Wrong::Stray => "git has no entry for it",
        })
    }
}

impl Doctor<'_> {
    /// Finds what was moved, and reconnects it where there is proof that the two belong together.
    pub(super) fn moved(&mut self, here: &Here) -> Result<()> {
        self.moved_repository(here);
        let all = Everywhere::look(self.args.value(&ROOT))?;
        let odd = |sandbox: &&Sandbox| matches!(sandbox.state, State::Damaged(Damage::OddFile(_)));
        let odd = here.sandboxes.iter().filter(odd).map(|sandbox| sandbox.path.clone());
        let found: Vec<PathBuf> =
            self.findings.iter().map(|finding| PathBuf::from(&finding.path)).chain(odd).collect();
        let homes: Vec<&Path> =
            here.sandboxes.iter().filter_map(|sandbox| sandbox.path.parent()).collect();
        // Where sandboxes stand among other folders, only what they name tells of them.
        let missing = here.sandboxes.iter().filter(|sandbox| sandbox.state == State::Missing);
        let moved = missing.filter_map(|sandbox| here.place.folder_of(&sandbox.entry));
        let folders: BTreeSet<PathBuf> =
            all.strays.into_iter().chain(all.orphans).chain(moved).collect();
        for folder in folders.iter().filter(|folder| !found.contains(folder)) {
            let Some(named) = link::folder_points_to(folder) else {
                // Only in a home of ours is that for us to say.
                if folder.parent().is_some_and(|home| homes.contains(&home)) && !is_empty(folder) {
                    self.find("folder", folder, &Wrong::Stray.to_string(), None);
                }
                continue;
            };
            let Some(entry) = entry_of(folder, &named, &here.repo.common) else {
                if all_repos::common_of(&named).as_ref() == Some(&here.repo.common) {
                    self.unknown(here, folder);
                }
                continue;
            };
            match link::entry_points_to(&entry) {
                Some(there) if path::presence(&there) != Presence::Absent => {
                    self.find("folder", folder, &Wrong::Copied.to_string(), None);
                }
                _ => self.moved_folder(here, folder, &named, &entry),
            }
        }
        Ok(())
    }

    /// Sandboxes whose `.git` still names the place where the repository was.
    fn moved_repository(&mut self, here: &Here) {
        let lost = |sandbox: &&Sandbox| {
            let named = link::folder_points_to(&sandbox.path);
            let gone = |named: &PathBuf| path::presence(named) == Presence::Absent;
            let same = |named: &PathBuf| named.file_name() == sandbox.entry.file_name();
            matches!(sandbox.state, State::Damaged(_))
                && named.is_some_and(|named| gone(&named) && same(&named))
        };
        for sandbox in here.sandboxes.iter().filter(lost) {
            let (entry, folder) = (&sandbox.entry, &sandbox.path);
            let was = link::folder_points_to(folder).unwrap_or_default();
            let cure = &mut || {
                link::connect(entry, folder)?;
                let halves = (Half::here(entry), Half::here(folder));
                link::move_submodules(&here.repo.git, (&was, folder), halves.0, halves.1)
            };
            let why = "it still names the place where the repository was";
            self.find("moved", folder, why, Some(cure));
        }
    }

    /// A folder that the user moved is repaired from inside it; from elsewhere only the way is said.
    fn moved_folder(&mut self, here: &Here, folder: &Path, named: &Path, entry: &Path) {
        self.accounted.push(entry.to_owned());
        let inside = here.repo.top.as_deref() == Some(folder);
        let moved_too = named != entry;
        let was = link::entry_points_to(entry).unwrap_or_default();
        let cure = &mut || {
            link::connect(entry, folder)?;
            let halves = (Half::here(entry), Half::here(folder));
            link::move_submodules(&here.repo.git, (named, &was), halves.0, halves.1)?;
            match link::entry_points_to(entry).as_deref() == Some(folder) {
                true => Ok(()),
                false => Err(std::io::Error::other("git could not")).at("reconnect", folder),
            }
        };
        let words = Wrong::Moved.to_string();
        if inside || moved_too {
            self.find("moved", folder, &words, Some(cure));
        } else {
            self.find("moved", folder, &words, None);
            let word = shell_word(&folder.to_string_lossy());
            self.hint(format!("git -C {word} sandbox doctor --fix"));
        }
    }

    fn unknown(&mut self, here: &Here, folder: &Path) {
        self.find("folder", folder, &Wrong::Unknown.to_string(), None);
        // In the home of another project it goes by no name here.
        if !here.sandboxes.iter().any(|sandbox| sandbox.path == folder) {
            return;
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        self.hint(format!("git sandbox rm --force {}", shell_word(&name)));
    }
}

/// The private git dir of this repository that a folder belongs to, if there is proof. After a move of
/// the repository it must record the common dir that the folder names.
fn entry_of(folder: &Path, named: &Path, common: &Path) -> Option<PathBuf> {
    let registry = common.join("worktrees");
    if named.parent() == Some(&registry) {
        return (path::presence(named) == Presence::There).then(|| named.to_owned());
    }
    let named_registry = named.parent()?.ends_with("worktrees");
    let entry = registry.join(named.file_name().filter(|_| named_registry)?);
    let recorded = record::read(&entry).common;
    let proved = recorded.is_some() && recorded == common_of(named);
    (proved && all_repos::is_orphan(folder)).then_some(entry)
}
