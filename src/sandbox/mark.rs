//! The reasons that our worktree locks carry: what a locked worktree of ours is for.
//!
//! The pin of a removed sandbox is git's own lock file in its private git dir: while that is still
//! registered, no prune or gc drops it. It says where the journal is, so that either half of a removed
//! sandbox finds the other.

use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Doing, Result};
use crate::git::porcelain::Record;
use crate::sys::file;

/// The lock reason of a sandbox that is being made.
pub const CREATING: &str = "git-sandbox: creating";
/// The lock reason of a worktree that a merge uses for a while.
pub const MERGING: &str = "git-sandbox: merging";
/// The lock reason of a sandbox while its folder and branch get another name.
pub const RENAMING: &str = "git-sandbox: renaming";
/// The lock reason of a spare.
pub const SPARE: &str = "git-sandbox: spare";

/// Whether a linked worktree is a spare.
pub fn is_spare(record: &Record) -> bool {
    record.locked.as_deref() == Some(SPARE)
}

/// Whether a linked worktree is a sandbox: no spare, and none that a merge uses.
pub fn is_sandbox(record: &Record) -> bool {
    !is_spare(record) && record.locked.as_deref() != Some(MERGING)
}

const PINNED: &str = "git-sandbox: trashed ";
/// The folder of the trash in the root.
pub const TRASH: &str = ".trash";
/// The folder of the trash beside a sandbox on another file system.
pub const TRASH_BESIDE: &str = ".git-sandbox-trash";

/// Bytes that are mostly text: readable in JSON where they are UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Text {
    /// UTF-8.
    Plain(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Text {
        String::from_utf8(bytes).map_or_else(|error| Text::Bytes(error.into_bytes()), Text::Plain)
    }
}

impl From<&Path> for Text {
    fn from(path: &Path) -> Text {
        path.as_os_str().as_bytes().to_vec().into()
    }
}

impl Text {
    /// The bytes themselves.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Text::Plain(text) => text.as_bytes(),
            Text::Bytes(bytes) => bytes,
        }
    }

    /// The bytes as a path.
    pub fn path(&self) -> PathBuf {
        std::ffi::OsString::from_vec(self.bytes().to_vec()).into()
    }
}

/// The lock reason in a removed sandbox's private git dir.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Its name in the trash.
    pub id: String,
    /// Its folder in the trash.
    pub at: PathBuf,
    /// The user's own lock, byte for byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    locked: Option<Text>,
    /// Whether its folder was gone, so that the trash gets no files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub folder_gone: bool,
}

impl Pin {
    /// The pin for a private git dir that may have a lock of its own.
    pub fn new(id: &str, at: PathBuf, entry: &Path) -> Result<Pin> {
        let locked = lock_of(entry)?.map(Text::from);
        Ok(Pin { id: id.to_owned(), at, locked, folder_gone: false })
    }

    /// The same pin for a private git dir whose folder was gone.
    pub fn without_folder(self) -> Pin {
        Pin { folder_gone: true, ..self }
    }

    /// The same pin for another folder of the trash.
    pub fn moved(self, at: PathBuf) -> Pin {
        Pin { at, ..self }
    }

    /// The user's own lock reason.
    pub fn users_lock(&self) -> Option<String> {
        let locked = self.locked.as_ref()?;
        Some(String::from_utf8_lossy(locked.bytes()).trim_end().to_owned())
    }

    /// Parses a lock reason, if it is one of ours.
    ///
    /// Any program can write a lock reason: one that leads anywhere but into a trash is not ours.
    pub fn parse(reason: &str) -> Option<Pin> {
        let pin: Pin = serde_json::from_str(reason.strip_prefix(PINNED)?).ok()?;
        let named = is_plain(&pin.id);
        let trash = pin.at.parent().and_then(Path::file_name)?;
        let placed = pin.at.is_absolute() && pin.at.file_name()? == pin.id.as_str();
        let placed = placed && (trash == TRASH || trash == TRASH_BESIDE);
        (named && placed).then_some(pin)
    }

    /// Reads the pin of a private git dir. A lock that cannot be read is an error: it may be one.
    pub fn read(entry: &Path) -> Result<Option<Pin>> {
        let reason = lock_of(entry)?.unwrap_or_default();
        Ok(Pin::parse(String::from_utf8_lossy(&reason).trim_end()))
    }

    /// Reads the pin of a private git dir as far as it can be read, for a look that decides nothing.
    pub fn seen(entry: &Path) -> Option<Pin> {
        Pin::read(entry).ok().flatten()
    }

    /// Locks the private git dir, synced: what follows rests on it, also after a power loss.
    pub fn set(&self, entry: &Path) -> Result<()> {
        let json = serde_json::to_string(self).map_err(std::io::Error::from);
        let json = json.at("pin", entry)?;
        file::replace(&entry.join("locked"), format!("{PINNED}{json}\n").as_bytes())?;
        file::sync(entry)
    }

    /// Gives the private git dir back the lock it had, or none.
    pub fn release(&self, entry: &Path) -> Result<()> {
        let path = entry.join("locked");
        match &self.locked {
            Some(text) => file::replace(&path, text.bytes()),
            None => fs::remove_file(&path).at("unlock", &path),
        }
    }
}

/// The lock reason of a private git dir, byte for byte; none where it has no lock that git would read.
fn lock_of(entry: &Path) -> Result<Option<Vec<u8>>> {
    let path = entry.join("locked");
    file::read_if_there(&path).at("read", &path)
}

/// Whether an id can stand in a path, a ref and a command.
pub fn is_plain(id: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    !id.is_empty() && id.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    #[test]
    fn a_pin_survives_git() {
        let locked = Some(Text::Bytes(vec![b'a', b'\n', 0xff]));
        let pin = Pin { id: "x-1".into(), at: "/.trash/x-1".into(), locked, folder_gone: false };
        let reason = format!("{PINNED}{}", serde_json::to_string(&pin).unwrap());
        assert!(!reason.contains('\n'));
        assert_eq!(Pin::parse(&reason), Some(pin));
        assert_eq!(Pin::parse("git-sandbox: creating"), None);
        assert_eq!(Pin::parse("git-sandbox: trashed {"), None);
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
}
