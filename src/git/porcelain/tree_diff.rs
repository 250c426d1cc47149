//! What differs between two trees, as `git diff-tree -r -z --no-renames` prints it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::fields::cut;

/// A path that two trees have different things at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path, relative to the top.
    pub path: PathBuf,
    /// What the old tree has there.
    pub old: Option<Blob>,
    /// What the new tree has there.
    pub new: Option<Blob>,
}

/// A file, symlink or submodule of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// What it is.
    pub kind: Kind,
    /// Whether it is an executable file.
    pub is_executable: bool,
    /// Its object id.
    pub id: String,
}

/// What stands at a path of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file, executable or not.
    File,
    /// A symlink.
    Symlink,
    /// The commit of a submodule.
    Submodule,
}

impl Change {
    /// Whether the new tree has something there that the old one has not, or of another kind.
    pub fn makes_anew(&self) -> bool {
        match (&self.old, &self.new) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(old), Some(new)) => old.kind != new.kind,
        }
    }

    /// Whether it moves a submodule to another commit, adds one or takes one away.
    pub fn is_of_submodule(&self) -> bool {
        [&self.old, &self.new].into_iter().flatten().any(|blob| blob.kind == Kind::Submodule)
    }
}

/// Reads `git diff-tree -r -z --no-renames`: `:<mode> <mode> <id> <id> <status>`, a NUL, the path, a
/// NUL. `None` where it does not look like it.
pub fn changes(bytes: &[u8]) -> Option<Vec<Change>> {
    let mut fields = bytes.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let mut words = head.strip_prefix(b":")?.split(|byte| *byte == b' ');
        let mut word = || std::str::from_utf8(words.next()?).ok();
        let (old_mode, new_mode, old_id, new_id) = (word()?, word()?, word()?, word()?);
        let path = fields.next().filter(|path| !path.is_empty())?;
        changes.push(Change {
            path: PathBuf::from(OsStr::from_bytes(path)),
            old: blob(old_mode, old_id)?,
            new: blob(new_mode, new_id)?,
        });
    }
    Some(changes)
}

/// Reads mode and id; an empty mode is nothing.
#[expect(clippy::option_option, reason = "nothing there is not the same as not understood")]
fn blob(mode: &str, id: &str) -> Option<Option<Blob>> {
    let kind = match mode {
        "000000" => return Some(None),
        "120000" => Kind::Symlink,
        "160000" => Kind::Submodule,
        mode if mode.starts_with("100") => Kind::File,
        _ => return None,
    };
    let hex = id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex.then(|| Some(Blob { kind, is_executable: mode == "100755", id: id.to_owned() }))
}

/// An entry of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// The path, relative to the top.
    pub path: PathBuf,
    /// What is staged there.
    pub blob: Blob,
    /// Whether git was told to leave it out of the checkout.
    pub is_left_out: bool,
}

/// Reads `git ls-files -s -v -z`, `<tag> <mode> <id> <stage>\t<path>`; conflicts are left out.
pub fn staged(bytes: &[u8]) -> Vec<Staged> {
    let lines = bytes.split(|byte| *byte == 0);
    let entries = lines.filter_map(|line| {
        let (head, path) = cut(line, b'\t')?;
        let mut words = std::str::from_utf8(head).ok()?.split(' ');
        let (tag, mode, id) = (words.next()?, words.next()?, words.next()?);
        let blob = blob(mode, id).flatten().filter(|_| words.next() == Some("0"))?;
        let is_left_out = tag.eq_ignore_ascii_case("s");
        Some(Staged { path: PathBuf::from(OsStr::from_bytes(path)), blob, is_left_out })
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    const A: &str = "1111111111111111111111111111111111111111";
    const NULL: &str = "0000000000000000000000000000000000000000";

    #[test]
    fn changes_of_every_sort() {
        let text = format!(
            ":000000 100755 {NULL} {A} A\0new\n\0:100644 000000 {A} {NULL} D\0gone\0\
             :100644 120000 {A} {A} T\0turned\0:160000 160000 {A} {A} M\0sub\0"
        );
        let found = changes(text.as_bytes()).unwrap();
        let told = found.iter().map(|change| {
            (change.path.to_str().unwrap(), change.makes_anew(), change.is_of_submodule())
        });
        let told: Vec<_> = told.collect();
        assert_eq!(
            told,
            [
                ("new\n", true, false),
                ("gone", false, false),
                ("turned", true, false),
                ("sub", false, true)
            ]
        );
        assert_eq!(changes(b""), Some(Vec::new()));
        assert_eq!(changes(b"garbage\0path\0"), None);
        assert_eq!(changes(format!(":100644 100644 {A} {A} M\0").as_bytes()), None);
        fuzz::damaged(&[text.as_bytes()], |bytes| drop(changes(bytes)));
    }

    #[test]
    fn entries_of_an_index() {
        let text = format!("H 100644 {A} 0\ta b\0H 100644 {A} 2\tclash\0S 160000 {A} 0\tsub\0");
        let found = staged(text.as_bytes());
        let told = found.iter().map(|entry| (entry.path.to_str().unwrap(), entry.is_left_out));
        assert_eq!(told.collect::<Vec<_>>(), [("a b", false), ("sub", true)]);
        let (kind, id) = (Kind::Submodule, A.to_owned());
        assert_eq!(found[1].blob, Blob { kind, is_executable: false, id });
        fuzz::damaged(&[text.as_bytes()], |bytes| drop(staged(bytes)));
    }
}
