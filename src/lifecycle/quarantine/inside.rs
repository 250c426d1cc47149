//! What stands in a quarantine, read as text: refs, HEAD, and every object id that a file names.
//!
//! A confined command wrote it. Only plain files are read, symlinks are never followed, and nothing
//! but object ids and ref names is taken from them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Result};
use crate::lifecycle::quarantine::snapshot::{self, Named, Refs, is_id};
use crate::sys::file;

/// More than refs, or all reflogs together, ever hold. A file of any size costs a command nothing.
const LARGEST: u64 = 1 << 30;
/// Symbolic refs are followed so often.
const DEPTH: usize = 5;

/// What HEAD is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A ref, by its full name.
    On(String),
    /// A commit.
    Detached(String),
}

/// A quarantine as it can be read.
#[derive(Debug)]
pub struct Inside {
    dir: PathBuf,
    private: PathBuf,
    /// Its refs: what is loose counts before what is packed.
    pub refs: Refs,
}

impl Inside {
    /// Reads the refs of a quarantine; `name` is that of the private git dir in it.
    pub fn read(dir: &Path, name: &str) -> Result<Inside> {
        let mut refs = packed_refs(dir)?;
        let mut loose = Vec::new();
        for path in plain_files(&dir.join("refs"))? {
            let Ok(name) = path.strip_prefix(dir) else { continue };
            // A lock of git's, which a killed git leaves behind, is no ref.
            let is_lock = path.extension().is_some_and(|end| end == "lock");
            if is_lock {
                continue;
            }
            // A name that is not text is told as far as it is; its commit counts like others.
            let name = name.to_string_lossy().into_owned();
            let text = file::read_small(&path).at("read", &path)?;
            loose.push((name, String::from_utf8_lossy(&text).trim().to_owned()));
        }
        let find = |name: &str| loose.iter().find(|(loose, _)| loose == name).map(|it| &it.1);
        let resolved = loose.iter().filter_map(|(name, _)| {
            let mut at = name.clone();
            for _ in 0..DEPTH {
                match find(&at).and_then(|text| text.strip_prefix("ref: ")) {
                    Some(next) => at = next.trim().to_owned(),
                    None => break,
                }
            }
            let id = find(&at).cloned().or_else(|| Some(refs.get(&at)?.id.clone()))?;
            is_id(&id).then(|| (name.clone(), Named { id, peeled: None }))
        });
        let resolved: Vec<_> = resolved.collect();
        refs.extend(resolved);
        let private = dir.join("worktrees").join(name);
        Ok(Inside { dir: dir.to_owned(), private, refs })
    }

    /// The private git dir of the sandbox in it.
    pub fn private(&self) -> &Path {
        &self.private
    }

    /// What HEAD of the sandbox is on, if that can be told.
    pub fn head(&self) -> Option<Head> {
        let text = file::read_small(&self.private.join("HEAD")).ok()?;
        let text = std::str::from_utf8(&text).ok()?.trim();
        match text.strip_prefix("ref: ") {
            Some(name) => Some(Head::On(name.trim().to_owned())),
            None => is_id(text).then(|| Head::Detached(text.to_owned())),
        }
    }

    /// The commit that HEAD of the sandbox is detached at.
    pub fn detached_at(&self) -> Option<String> {
        match self.head()? {
            Head::Detached(id) => Some(id),
            Head::On(_) => None,
        }
    }

    /// The commit that HEAD of the sandbox is at, on a branch or not.
    pub fn commit(&self) -> Option<String> {
        match self.head()? {
            Head::Detached(id) => Some(id),
            Head::On(name) => self.refs.get(&name).map(|named| named.id.clone()),
        }
    }

    /// Every full object id in its refs, reflogs and operations in progress.
    pub fn ids(&self) -> Result<BTreeSet<String>> {
        let mut ids: BTreeSet<String> = self.refs.values().map(|named| named.id.clone()).collect();
        let mut room = LARGEST;
        // A command may have made worktrees of its own.
        let worktrees = self.dir.join("worktrees");
        for folder in [&self.dir.join("logs"), &worktrees] {
            for path in plain_files(folder)? {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let is_top = path.ancestors().nth(2) == Some(&worktrees);
                if is_top && name.contains("index") {
                    continue;
                }
                let bytes = file::read_untrusted(&path, room).at("read", &path)?;
                room = room.saturating_sub(bytes.len() as u64);
                ids.extend(ids_in(&bytes));
            }
        }
        Ok(ids)
    }
}

/// The refs in `packed-refs` of a quarantine.
pub fn packed_refs(dir: &Path) -> Result<Refs> {
    let path = dir.join("packed-refs");
    let text = match file::read_untrusted(&path, LARGEST) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        other => other.at("read", &path)?,
    };
    Ok(snapshot::parse(&String::from_utf8_lossy(&text)))
}

/// Checks that the folders which we write to or read from are folders: a symlink there could lead out
/// of the quarantine. The error says which is not.
pub fn check(dir: &Path, name: &str) -> Result<(), String> {
    let private = Path::new("worktrees").join(name);
    let fixed = ["", "refs", "logs", "objects", "objects/info", "objects/pack", "worktrees"];
    let mut todo: Vec<PathBuf> = fixed.map(PathBuf::from).into();
    todo.push(private.clone());
    while let Some(part) = todo.pop() {
        let path = dir.join(&part);
        let odd = || format!("'{}' in its quarantine is not a folder", part.display());
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => {}
            // What git makes when it needs it.
            Err(_) if part == Path::new("logs") => continue,
            _ => return Err(odd()),
        }
        if [Path::new("refs"), Path::new("logs"), &private].iter().any(|it| part.starts_with(it)) {
            for file in fs::read_dir(&path).map_err(|_| odd())? {
                let file = file.map_err(|_| odd())?;
                let kind = file.file_type().map_err(|_| odd())?;
                if kind.is_dir() || kind.is_symlink() {
                    todo.push(part.join(file.file_name()));
                }
            }
        }
    }
    Ok(())
}

/// Full object ids among the words of a text.
fn ids_in(bytes: &[u8]) -> impl Iterator<Item = String> {
    let words = bytes.split(|byte| !byte.is_ascii_alphanumeric());
    let words = words.filter(|word| matches!(word.len(), 40 | 64));
    words
        .filter_map(|word| std::str::from_utf8(word).ok())
        .filter(|word| is_id(word))
        .map(Into::into)
}

/// Every plain file below a folder that is there and no symlink.
pub fn plain_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut todo = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = todo.pop() {
        match fs::symlink_metadata(&folder) {
            Ok(meta) if meta.is_dir() => {}
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).at("read", &folder);
            }
            _ => continue,
        }
        for file in fs::read_dir(&folder).at("read", &folder)? {
            let file = file.at("read", &folder)?;
            let kind = file.file_type().at("read", &file.path())?;
            match () {
                () if kind.is_dir() => todo.push(file.path()),
                () if kind.is_file() => found.push(file.path()),
                () => {}
            }
        }
    }
    found.sort();
    Ok(found)
}
