//! The journal of a removed sandbox, in its folder of the trash: what is needed to bring it back.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Doing, Error, Result};
use crate::git::porcelain;
use crate::sandbox::holding::Holding;
use crate::sandbox::mark::{Text, is_plain};
use crate::sys::{file, path};
use crate::ui::words::counted;

const FILE: &str = "journal.json";
/// The most bytes of a journal. Readers take twice as much, which is what it can become in the header
/// of an item of the vault, indented once more.
const LARGEST: usize = 8 << 20;
/// The sandbox's folder inside its folder of the trash.
pub const TREE: &str = "tree";
/// The `.git` file of an orphan, set aside so that git fails inside its folder.
pub const SET_ASIDE: &str = "dot-git";

/// How far a removal, a restore or a purge has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// On its way into the trash.
    Removing,
    /// In the trash.
    Trashed,
    /// On its way back to this folder.
    Restoring(PathBuf),
    /// Stored in the vault; what is left of it here is being deleted.
    PutAway,
    /// On its way back from the vault.
    Unpacking,
    /// Being deleted for good, by name.
    Purging,
}

/// Why a sandbox was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The user said so.
    ByHand,
    /// The agent that worked in it ended.
    ByAgent,
    /// It was not used for this many days.
    Unused(u64),
    /// The same, and its repository could not be reached.
    UnusedOrphan(u64),
    /// Its branch was merged into this one.
    MergedInto(String),
    /// This branch has all its changes.
    ContentIn(String),
    /// Its folder was gone.
    FolderGone,
    /// A merge was interrupted and left it.
    LeftByMerge,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::ByHand => f.write_str("removed by hand"),
            Why::ByAgent => f.write_str("removed by its agent"),
            Why::Unused(days) => write!(f, "unused for {}", counted(*days, "day")),
            Why::UnusedOrphan(days) => {
                let days = counted(*days, "day");
                write!(f, "unused for {days}, and its repository cannot be reached")
            }
            Why::MergedInto(branch) => write!(f, "merged into '{branch}'"),
            Why::ContentIn(branch) => write!(f, "'{branch}' has all its changes"),
            Why::FolderGone => f.write_str("its folder was gone"),
            Why::LeftByMerge => f.write_str("a merge was interrupted"),
        }
    }
}

/// An operation in progress that was made to forget its branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// The file that named the branch, below the private git dir, and what it said.
    pub head_name: Option<(String, Text)>,
    /// Whether `rebase-merge/update-refs` was set aside.
    pub update_refs: bool,
}

/// The journal of one removed sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// How far it has come.
    pub stage: Stage,
    /// Its name in the trash.
    pub id: String,
    /// The sandbox's name.
    pub name: String,
    /// Where it was.
    pub from: PathBuf,
    /// The private git dir that it had as a worktree.
    pub private: Option<PathBuf>,
    /// Its repository's common dir.
    pub common: Option<PathBuf>,
    /// Whether its repository could not be reached: its private git dir was not moved along.
    #[serde(default)]
    pub orphan: bool,
    /// Whether it has files; not so where its folder was gone.
    pub has_tree: bool,
    /// The sandbox's own id, where confined commands have left a quarantine: refs of that name keep what
    /// they committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined: Option<String>,
    /// The ref that HEAD was on, in full.
    pub branch: Option<String>,
    /// Its commit, if it had one.
    pub head: Option<String>,
    /// The commit that keeps everything that it names.
    pub kept: Option<String>,
    /// Whether refs were in tables, not in files.
    #[serde(default)]
    pub reftable: bool,
    /// Every private ref, with what it names.
    #[serde(default)]
    pub refs: BTreeMap<String, String>,
    /// What was done to an operation in progress.
    #[serde(default)]
    pub paused: Paused,
    /// The fingerprint of its private git dir when the removal was complete.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// When it was removed, in RFC 3339.
    pub removed: String,
    /// Why.
    pub why: Why,
    /// What git ignored, folders as one; none where git could not tell, then nothing counts as ignored.
    pub ignored: Option<Vec<Text>>,
    /// What it holds that is nowhere else.
    pub holds: Vec<Holding>,
}

impl Journal {
    /// Reads the journal in a folder of the trash; `None` where there is none.
    pub fn read(folder: &Path) -> Result<Option<Journal>> {
        let path = folder.join(FILE);
        let bytes = match file::read_small(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.at("read", &path)?,
        };
        Journal::parse(&bytes).map(Some).at("read", &path)
    }

    /// Parses a journal. Any program that can write there can write one: what says what ours never say
    /// is refused.
    pub fn parse(bytes: &[u8]) -> std::io::Result<Journal> {
        let journal: Journal = serde_json::from_slice(bytes)?;
        let Journal { stage, id, from, private, common, branch, head, kept, refs, .. } = &journal;
        let place = |path: &Path| path.is_absolute() && path::tidy(path) == path;
        let place_or_none = |path: &Option<PathBuf>| path.as_deref().is_none_or(place);
        let commit = |id: &String| porcelain::commit(id.as_bytes()).is_some();
        let target = match stage {
            Stage::Restoring(target) => place(target),
            _ => true,
        };
        let is_ref = |name: &String| name.starts_with("refs/") && is_plain_ref(name);
        let own_ref = |name: &String| is_plain_ref(name) && !name.starts_with('-');
        let ours = target
            && is_plain(id)
            && place(from)
            && place_or_none(private)
            && place_or_none(common)
            && branch.as_ref().is_none_or(is_ref)
            && head.as_ref().is_none_or(commit)
            && kept.as_ref().is_none_or(commit)
            && refs.iter().all(|(name, id)| own_ref(name) && commit(id))
            && journal.paused.head_name.as_ref().is_none_or(|(name, _)| {
                ["rebase-merge/head-name", "rebase-apply/head-name"].contains(&name.as_str())
            });
        let odd = || std::io::Error::new(ErrorKind::InvalidData, "it is not a journal of ours");
        ours.then_some(journal).ok_or_else(odd)
    }

    /// The folder that an interrupted restore is bringing it back to.
    pub fn returning_to(&self) -> Option<&Path> {
        match &self.stage {
            Stage::Restoring(target) => Some(target),
            _ => None,
        }
    }

    /// Writes it, synced, whole or not at all. One that could not be read again is not written: a list
    /// of ignored files that makes it so large is left out, and then nothing counts as ignored.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(FILE);
        let json = |journal: &Journal| {
            serde_json::to_vec_pretty(journal).map_err(|_| Error::NotText { what: "path" })
        };
        let mut bytes = json(self)?;
        if bytes.len() > LARGEST {
            bytes = json(&Journal { ignored: None, ..self.clone() })?;
        }
        if bytes.len() > LARGEST {
            return Err(std::io::Error::from(ErrorKind::FileTooLarge)).at("write", &path);
        }
        file::replace(&path, &bytes)?;
        file::sync(folder)
    }

    /// The same journal at another stage, written.
    pub fn at_stage(&self, stage: Stage, folder: &Path) -> Result<Journal> {
        let journal = Journal { stage, ..self.clone() };
        journal.write(folder)?;
        Ok(journal)
    }

    /// Removes what a crash left of writing one. The caller must hold the lock under which it is written.
    pub fn clear(folder: &Path) {
        file::clear(&folder.join(FILE));
    }

    /// Removes journal and folder; the tree must be gone.
    pub fn remove(folder: &Path) -> Result<()> {
        // The journal itself last: as long as it is there, the folder is found again.
        for name in [&file::new_name(FILE), FILE] {
            let path = folder.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).at("remove", &path);
                }
                _ => {}
            }
        }
        file::clear_from_above(folder);
        match fs::remove_dir(folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error).at("remove", folder),
            _ => Ok(()),
        }
    }
}

/// Whether a ref name has nothing in it that git forbids and that could lead elsewhere.
fn is_plain_ref(name: &str) -> bool {
    let odd = |letter: char| letter.is_control() || " ~^:?*[\\".contains(letter);
    !name.is_empty() && !name.contains(odd) && !name.contains("..") && !name.contains("//")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;
    use std::path::Component;

    fn real_journal() -> String {
        let id = "1".repeat(40);
        format!(
            "{{\"stage\": {{\"restoring\": \"/r/app/x\"}}, \"id\": \"x-0a1b2c3d\", \"name\": \"x\",
\
             \"from\": \"/r/app/x\", \"private\": \"/a/.git/worktrees/x\", \"common\": \"/a/.git\",
\
             \"has_tree\": true, \"branch\": \"refs/heads/x\", \"head\": \"{id}\", \"kept\": null,
\
             \"refs\": {{\"refs/worktree/mine\": \"{id}\"}}, \"removed\": \"2026-01-31T12:00:00Z\",
\
             \"why\": \"by-hand\", \"ignored\": [\"a/\", [255]], \"holds\": [{{\"changes\": 1}}]}}"
        )
    }

    #[test]
    fn a_journal_says_only_what_ours_say() {
        let (real, id) = (real_journal(), "1".repeat(40));
        assert!(Journal::parse(real.as_bytes()).is_ok());
        for (ours, theirs) in [
            ("\"refs/heads/x\"", "\"-d\""),
            ("\"refs/heads/x\"", "\"HEAD\""),
            ("refs/worktree/mine", "-d"),
            ("refs/worktree/mine", "refs/a b"),
            (&format!("\"head\": \"{id}\""), "\"head\": \"refs/heads/main\""),
            (&format!("mine\": \"{id}\""), "mine\": \"refs/heads/main\""),
            ("\"kept\": null", "\"kept\": \"refs/heads/main\""),
            ("\"kept\": null", "\"kept\": \"--all\""),
            ("\"refs/heads/x\"", "\"refs/heads/../x\""),
            ("\"refs/heads/x\"", "\"refs/heads//x\""),
            ("refs/worktree/mine", ""),
            ("x-0a1b2c3d", "../../x"),
            ("x-0a1b2c3d", ""),
            ("\"from\": \"/r/app/x\"", "\"from\": \"/r/app/../../x\""),
            ("\"from\": \"/r/app/x\"", "\"from\": \"x\""),
            ("\"restoring\": \"/r/app/x\"", "\"restoring\": \"x\""),
            ("\"/a/.git\"", "\"../.git\""),
            ("/a/.git/worktrees/x", "/a/.git/worktrees/../../x"),
        ] {
            assert!(real.contains(ours));
            assert!(Journal::parse(real.replace(ours, theirs).as_bytes()).is_err(), "{theirs}");
        }
        for (file, ours) in [("rebase-merge/head-name", true), ("config", false)] {
            let paused = format!("\"paused\": {{\"head_name\": [\"{file}\", \"x\"], ");
            let real = real.replace("\"refs\"", &(paused + "\"update_refs\": false}, \"refs\""));
            assert_eq!(Journal::parse(real.as_bytes()).is_ok(), ours, "{file}");
        }
    }

    #[test]
    fn one_that_would_be_too_large_is_written_without_the_list_of_what_was_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::parse(real_journal().as_bytes()).unwrap();
        let name = |number| Text::from(format!("{}{number}", "n".repeat(240)).into_bytes());
        let large = Journal { ignored: Some((0..80_000).map(name).collect()), ..journal.clone() };
        large.write(folder.path()).unwrap();
        let read = Journal::read(folder.path()).unwrap().unwrap();
        assert_eq!(read, Journal { ignored: None, ..journal.clone() });
        let few = Journal { ignored: Some((0..20_000).map(name).collect()), ..journal.clone() };
        few.write(folder.path()).unwrap();
        assert_eq!(Journal::read(folder.path()).unwrap(), Some(few.clone()));
        // What cannot be read again is not written.
        let name = |number| (format!("refs/worktree/{number:0240}"), "1".repeat(40));
        let refused = Journal { refs: (0..80_000).map(name).collect(), ..journal };
        assert!(refused.write(folder.path()).is_err());
        assert_eq!(Journal::read(folder.path()).unwrap(), Some(few));
    }

    #[test]
    fn fuzz_journals() {
        let real = real_journal();
        let orphan = real.replace("\"/a/.git/worktrees/x\"", "null");
        fuzz::damaged(&[real.as_bytes(), orphan.as_bytes()], |input| {
            let Ok(journal) = Journal::parse(input) else { return };
            assert!(is_plain(&journal.id) && journal.from.is_absolute());
            let dots = |path: &Path| path.components().any(|part| part == Component::ParentDir);
            assert!(
                ![Some(&journal.from), journal.private.as_ref(), journal.common.as_ref()]
                    .into_iter()
                    .flatten()
                    .any(|path| dots(path))
            );
            let json = serde_json::to_vec(&journal).unwrap();
            let again = serde_json::to_vec(&Journal::parse(&json).unwrap()).unwrap();
            assert_eq!(json, again);
        });
    }
}
