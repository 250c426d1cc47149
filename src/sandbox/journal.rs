//! What is written down about a removed sandbox: a pin at git's entry, a journal in the trash.
//!
//! The pin is git's own worktree lock with a reason of ours: no prune or gc of anybody's drops the
//! entry. It also carries the user's own lock, and where the journal is.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Doing, Error, Result};
use crate::file;
use crate::porcelain::{self, Record};
use crate::repo;

const PINNED: &str = "git-sandbox: trashed ";
const FILE: &str = "journal.json";
/// The folder of the trash in the root.
pub const TRASH: &str = ".trash";
/// The folder of the trash beside a sandbox on another file system.
pub const TRASH_BESIDE: &str = ".git-sandbox-trash";
/// What is being deleted, inside its folder of the trash.
pub const GONE: &str = "gone";
/// The sandbox's folder inside its folder of the trash.
pub const TREE: &str = "tree";

/// The lock reason of a removed sandbox's entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Its name in the trash.
    pub id: String,
    /// Its folder in the trash.
    pub at: PathBuf,
    /// The user's own lock, byte for byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    locked: Option<Reason>,
}

/// What stands in git's lock file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Reason {
    Text(String),
    Bytes(Vec<u8>),
}

impl Pin {
    /// For an entry that may have a lock of its own.
    pub fn new(id: &str, at: PathBuf, entry: &Path) -> Pin {
        let locked = file::read_small(&entry.join("locked")).ok();
        let locked = locked.map(|bytes| match String::from_utf8(bytes) {
            Ok(text) => Reason::Text(text),
            Err(error) => Reason::Bytes(error.into_bytes()),
        });
        Pin { id: id.to_owned(), at, locked }
    }

    /// For a folder that git knows nothing of.
    pub fn without_entry(id: &str, at: PathBuf) -> Pin {
        Pin { id: id.to_owned(), at, locked: None }
    }

    /// The user's own lock reason.
    pub fn users_lock(&self) -> Option<String> {
        self.locked.as_ref().map(|reason| match reason {
            Reason::Text(text) => text.trim_end().to_owned(),
            Reason::Bytes(bytes) => String::from_utf8_lossy(bytes).trim_end().to_owned(),
        })
    }

    /// From a lock reason, if it is one of ours.
    ///
    /// Anybody can write a lock reason: one that leads anywhere but into a trash is not ours.
    pub fn parse(reason: &str) -> Option<Pin> {
        let pin: Pin = serde_json::from_str(reason.strip_prefix(PINNED)?).ok()?;
        let named = is_plain(&pin.id);
        let trash = pin.at.parent().and_then(Path::file_name)?;
        let placed = pin.at.is_absolute() && pin.at.file_name()? == pin.id.as_str();
        let placed = placed && (trash == TRASH || trash == TRASH_BESIDE);
        (named && placed).then_some(pin)
    }

    /// Whether an entry is pinned already.
    pub fn is_set(entry: &Path) -> bool {
        let reason = file::read_small(&entry.join("locked")).unwrap_or_default();
        Pin::parse(String::from_utf8_lossy(&reason).trim_end()).is_some()
    }

    /// Whether git lists this worktree inside the trash.
    pub fn is_in_trash(record: &Record) -> bool {
        let pin = record.locked.as_deref().and_then(Pin::parse);
        pin.is_some_and(|pin| record.path == pin.at.join(TREE))
    }

    /// Locks the entry, for good: what follows rests on it, also after a power loss.
    pub fn set(&self, entry: &Path) -> Result<()> {
        let json = serde_json::to_string(self).map_err(std::io::Error::from);
        let json = json.at("pin", entry)?;
        replace(&entry.join("locked"), format!("{PINNED}{json}\n").as_bytes())?;
        sync(entry)
    }

    /// Gives the entry back the lock it had, or none.
    pub fn release(&self, entry: &Path) -> Result<()> {
        let path = entry.join("locked");
        match &self.locked {
            Some(Reason::Text(text)) => replace(&path, text.as_bytes()),
            Some(Reason::Bytes(bytes)) => replace(&path, bytes),
            None => fs::remove_file(&path).at("unlock", &path),
        }
    }
}

/// How far a removal or a restore has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// On its way into the trash.
    Removing,
    /// In the trash.
    Trashed,
    /// On its way back to this folder.
    Restoring(PathBuf),
    /// Being deleted for good.
    Purging,
}

/// The journal of one removed sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Journal {
    /// How far it has come.
    pub stage: Stage,
    /// Its name in the trash.
    pub id: String,
    /// The sandbox's name.
    pub name: String,
    /// Where it was.
    pub from: PathBuf,
    /// Its private git dir.
    pub entry: PathBuf,
    /// Its repository's common dir.
    pub common: PathBuf,
    /// Its branch, in full, if HEAD was on one.
    pub branch: Option<String>,
    /// Its commit, if it had one.
    pub head: Option<String>,
    /// When it was removed, in RFC 3339.
    pub removed: String,
    /// Why.
    pub reason: String,
    /// What it holds that is nowhere else, in words.
    pub holds: Vec<String>,
    /// Submodules and nested repositories with work of their own, when it was removed.
    pub nested: Vec<PathBuf>,
    /// What could not be told when it was removed.
    #[serde(default)]
    pub doubts: Vec<String>,
}

impl Journal {
    /// Whether its repository could not be reached when it was removed: git knows nothing of it.
    pub fn is_orphan(&self) -> bool {
        self.entry.as_os_str().is_empty()
    }

    /// Reads the journal in a folder of the trash; `None` where there is none.
    pub fn read(folder: &Path) -> Result<Option<Journal>> {
        let path = folder.join(FILE);
        let bytes = match file::read_small(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.at("read", &path)?,
        };
        Journal::parse(&bytes).map(Some).at("read", &path)
    }

    /// Anybody who can write there can write a journal: one that says what ours never say is none.
    fn parse(bytes: &[u8]) -> std::io::Result<Journal> {
        let journal: Journal = serde_json::from_slice(bytes)?;
        let Journal { stage, id, from, entry, common, branch, head, .. } = &journal;
        let place = |path: &Path| path.is_absolute() && repo::tidy(path) == path;
        let place_or_none = |path: &Path| path.as_os_str().is_empty() || place(path);
        let commit = |id: &String| porcelain::commit(id.as_bytes()).is_some();
        let target = match stage {
            Stage::Restoring(target) => place(target),
            Stage::Removing | Stage::Trashed | Stage::Purging => true,
        };
        let ours = target
            && is_plain(id)
            && place(from)
            && place_or_none(entry)
            && place_or_none(common)
            && branch.as_ref().is_none_or(|name| name.starts_with("refs/heads/"))
            && head.as_ref().is_none_or(commit);
        let odd = || std::io::Error::new(ErrorKind::InvalidData, "it is not a journal of ours");
        ours.then_some(journal).ok_or_else(odd)
    }

    /// The journal that a pin names. The repository may have moved since: the entry is where the pin
    /// was found, if that is known.
    pub fn of(pin: &Pin, entry: &Path) -> Result<Option<Journal>> {
        let Some(journal) = Journal::read(&pin.at)? else { return Ok(None) };
        if journal.id != pin.id {
            let why = "its journal is another's".to_owned();
            return Err(Error::Damaged { name: pin.id.clone(), why });
        }
        // Somebody moved it while we looked: it is still no orphan.
        if entry.as_os_str().is_empty() {
            return Ok(Some(journal));
        }
        let common = entry.parent().and_then(Path::parent).unwrap_or(entry).to_owned();
        Ok(Some(Journal { entry: entry.to_owned(), common, ..journal }))
    }

    /// Writes it, synced, whole or not at all.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(FILE);
        let json = serde_json::to_vec_pretty(self).map_err(|_| Error::NotText { what: "path" })?;
        replace(&path, &json)?;
        sync(folder)
    }

    /// Removes journal and folder; the tree must be gone.
    pub fn remove(folder: &Path) -> Result<()> {
        for name in [FILE, &new_name(FILE)] {
            let path = folder.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).at("remove", &path);
                }
                _ => {}
            }
        }
        match fs::remove_dir(folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error).at("remove", folder),
            _ => Ok(()),
        }
    }
}

/// Whether an id can stand in a path, a ref and a command.
fn is_plain(id: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    !id.is_empty() && id.chars().all(plain)
}

/// Makes names in a folder last.
fn sync(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).at("sync", folder)
}

fn new_name(name: &str) -> String {
    format!("{name}.new")
}

/// Removes what a crash left of replacing a file. Whoever may replace it must be alone.
pub fn clear(path: &Path) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let _ = fs::remove_file(path.with_file_name(new_name(&name)));
}

/// Replaces a small file, synced, by rename.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let next = path.with_file_name(new_name(&name));
    let written = || {
        let mut file = file::create(&next)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&next, path)
    };
    let done = written();
    if done.is_err() {
        // A full disk: what was begun is of no use.
        let _ = fs::remove_file(&next);
    }
    done.at("write", path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz;
    use std::path::Component;

    #[test]
    fn a_pin_survives_git() {
        let locked = Some(Reason::Bytes(vec![b'a', b'\n', 0xff]));
        let pin = Pin { id: "x-1".into(), at: "/.trash/x-1".into(), locked };
        let reason = format!("{PINNED}{}", serde_json::to_string(&pin).unwrap());
        assert!(!reason.contains('\n'));
        assert_eq!(Pin::parse(&reason), Some(pin));
        assert_eq!(Pin::parse("git-sandbox: creating"), None);
        assert_eq!(Pin::parse("git-sandbox: trashed {"), None);
    }

    fn real_journal() -> String {
        let id = "1".repeat(40);
        format!(
            "{{\"stage\": {{\"restoring\": \"/r/app/x\"}}, \"id\": \"x-0a1b2c3d\", \"name\": \"x\",\n\
             \"from\": \"/r/app/x\", \"entry\": \"/a/.git/worktrees/x\", \"common\": \"/a/.git\",\n\
             \"branch\": \"refs/heads/x\", \"head\": \"{id}\", \"removed\": \"2026-01-31T12:00:00Z\",\n\
             \"reason\": \"removed\", \"holds\": [\"1 change\"], \"nested\": [\"sub\"], \"doubts\": []}}"
        )
    }

    #[test]
    fn a_journal_says_only_what_ours_say() {
        let real = real_journal();
        assert!(Journal::parse(real.as_bytes()).is_ok());
        for (ours, theirs) in [
            ("\"refs/heads/x\"", "\"-d\""),
            ("\"refs/heads/x\"", "\"HEAD\""),
            (&"1".repeat(40), "refs/heads/main"),
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
    }

    #[test]
    fn a_journal_whose_entry_was_not_found_is_no_orphans() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE), real_journal()).unwrap();
        let pin = Pin::without_entry("x-0a1b2c3d", dir.path().to_owned());
        let found = |entry: &str| Journal::of(&pin, Path::new(entry)).unwrap().unwrap();
        let moved = found("/b/.git/worktrees/x");
        assert_eq!((moved.entry, moved.common), ("/b/.git/worktrees/x".into(), "/b/.git".into()));
        let lost = found("");
        assert!(!lost.is_orphan());
        assert_eq!((lost.entry, lost.common), ("/a/.git/worktrees/x".into(), "/a/.git".into()));
    }

    #[test]
    fn fuzz_journals() {
        let (real, orphan) = (real_journal(), real_journal().replace("/a/.git/worktrees/x", ""));
        fuzz::damaged(&[real.as_bytes(), orphan.as_bytes()], |input| {
            let Ok(journal) = Journal::parse(input) else { return };
            assert!(is_plain(&journal.id) && journal.from.is_absolute());
            let dots = |path: &Path| path.components().any(|part| part == Component::ParentDir);
            assert!(
                ![&journal.from, &journal.entry, &journal.common].iter().any(|path| dots(path))
            );
            let json = serde_json::to_vec(&journal).unwrap();
            let again = serde_json::to_vec(&Journal::parse(&json).unwrap()).unwrap();
            assert_eq!(json, again);
        });
    }

    #[test]
    fn fuzz_pins() {
        let pins = [
            "git-sandbox: trashed {\"id\":\"x-1\",\"at\":\"/r/.trash/x-1\",\"locked\":\"why\\n\"}",
            "git-sandbox: trashed {\"id\":\"x-1\",\"at\":\"/d/.git-sandbox-trash/x-1\",\"locked\":[97,255]}",
        ];
        fuzz::damaged_text(&pins, |reason| {
            let Some(pin) = Pin::parse(reason) else { return };
            assert!(is_plain(&pin.id) && pin.at.is_absolute() && pin.at.ends_with(&pin.id));
            let trash = pin.at.parent().unwrap();
            assert!(trash.ends_with(TRASH) || trash.ends_with(TRASH_BESIDE));
            assert!(pin.users_lock().is_none_or(|lock| lock == lock.trim_end()));
        });
    }

    #[test]
    fn a_write_that_fails_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let taken = dir.path().join("taken");
        fs::create_dir_all(taken.join("inside")).unwrap();
        assert!(replace(&taken, b"text").is_err());
        let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["taken"]);
    }
}
