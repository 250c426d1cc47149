//! What `git worktree list` would say, read from the files of git's registry.
//!
//! git starts a look at many files of every entry. Where HEAD, `gitdir` and `locked` of every entry and
//! the branches that they name are what git itself writes, nothing is gained by asking it. Whatever
//! is not so, in any entry, is git's to tell: then there is no answer here.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::{Repo, Worktree, Worktrees};
use crate::git::porcelain::Record;
use crate::git::refs::HEADS;
use crate::sys::file;

/// What is in an entry in which nothing was interrupted.
const CALM: [&str; 18] = [
    "AUTO_MERGE",
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "HEAD",
    "ORIG_HEAD",
    "commondir",
    "config.worktree",
    "gitdir",
    "index",
    "info",
    "logs",
    "modules",
    "refs",
    "sandbox.index",
    "sandbox.json",
    "sandbox.lock",
    "sandbox.port",
    "sandbox.runs",
];

/// All worktrees.
#[derive(Debug)]
pub struct Read {
    /// As git would list them.
    pub worktrees: Worktrees,
    /// Those of them whose entries hold anything but what they hold at rest.
    pub unsettled: Vec<Worktree>,
}

/// Reads git's registry. `None` where git has to be asked.
pub fn read(repo: &Repo) -> Option<Read> {
    let extensions = repo.config.of_sections(&["extensions."]);
    let is_known = |(key, _): (&str, &str)| key == "extensions.objectformat";
    // A git that is too old is noticed by its answers: the first command asks.
    if !repo.plain || !repo.known || !extensions.into_iter().all(is_known) {
        return None;
    }
    let mut refs = Refs { common: &repo.common, id: 2 * repo.id_length(), packed: None };
    let (head, branch) = refs.head(&repo.common)?;
    let path = repo.common.parent()?.to_owned();
    let main = Record { path, head, branch, bare: false, locked: None };
    let mut read = Read {
        worktrees: Worktrees { main, linked: Vec::new(), odd: Vec::new() },
        unsettled: Vec::new(),
    };
    let registry = repo.common.join("worktrees");
    let entries = match fs::read_dir(&registry) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(read),
        other => other.ok()?,
    };
    for entry in entries {
        let entry = entry.ok()?;
        let is_calm = is_calm(&entry)?;
        let tree = linked(entry.path(), &mut refs)?;
        read.unsettled.extend((!is_calm).then(|| tree.clone()));
        read.worktrees.linked.push(tree);
    }
    // As git sorts them.
    read.worktrees.linked.sort_by(|one, other| {
        let bytes = |tree: &Worktree| tree.record.path.as_os_str().as_bytes().to_vec();
        bytes(one).cmp(&bytes(other))
    });
    Some(read)
}

/// Whether an entry holds nothing but what it holds at rest. `None` if there is anything in it that is
/// neither a plain file nor a folder, or a lock that cannot be one of git's.
fn is_calm(entry: &DirEntry) -> Option<bool> {
    if !entry.file_type().ok()?.is_dir() {
        return None;
    }
    let mut is_calm = true;
    for file in fs::read_dir(entry.path()).ok()? {
        let file = file.ok()?;
        let kind = file.file_type().ok()?;
        if !kind.is_file() && !kind.is_dir() {
            return None;
        }
        is_calm &= CALM.iter().any(|name| file.file_name() == *name);
    }
    Some(is_calm)
}

fn linked(entry: PathBuf, refs: &mut Refs) -> Option<Worktree> {
    let (head, branch) = refs.head(&entry)?;
    let path = folder(&file::read_small(&entry.join("gitdir")).ok()?)?;
    let locked = match file::read_small(&entry.join("locked")) {
        Ok(reason) => Some(String::from_utf8_lossy(reason.trim_ascii()).into_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(_) => return None,
    };
    Some(Worktree { record: Record { path, head, branch, bare: false, locked }, entry })
}

/// The folder that a `gitdir` names, if it names it as git does: in full, and by its shortest path.
fn folder(gitdir: &[u8]) -> Option<PathBuf> {
    let text = gitdir.strip_suffix(b"\n")?.strip_suffix(b"/.git")?;
    let path = PathBuf::from(OsStr::from_bytes(text));
    let mut parts = path.components();
    let is_full = parts.next() == Some(Component::RootDir)
        && parts.all(|part| matches!(part, Component::Normal(_)))
        && path.components().collect::<PathBuf>().as_os_str() == path.as_os_str();
    let is_line = !text.iter().any(|byte| matches!(byte, b'\n' | 0)) && text.trim_ascii() == text;
    (is_full && is_line).then_some(path)
}

/// Where a branch is.
enum Tip {
    At(String),
    Unborn,
}

/// The branches of a repository.
struct Refs<'a> {
    common: &'a Path,
    /// The length of an id in hex.
    id: usize,
    packed: Option<HashMap<Vec<u8>, String>>,
}

impl Refs<'_> {
    /// The commit and branch of a HEAD; none of the former where the branch is not born.
    fn head(&mut self, git_dir: &Path) -> Option<(Option<String>, Option<OsString>)> {
        let path = git_dir.join("HEAD");
        let bytes = file::read_small(&path).ok()?;
        let text = bytes.strip_suffix(b"\n")?;
        let Some(full) = text.strip_prefix(b"ref: ") else {
            return Some((Some(self.id(text)?), None));
        };
        let name = full.strip_prefix(HEADS.as_bytes())?;
        let is_name = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
        let is_plain = full.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'\\');
        if !is_plain || !name.split(|byte| *byte == b'/').all(is_name) {
            return None;
        }
        let full = OsStr::from_bytes(full);
        match self.commit(full)? {
            Tip::At(id) => Some((Some(id), Some(full.to_owned()))),
            Tip::Unborn => Some((None, Some(full.to_owned()))),
        }
    }

    fn id(&self, text: &[u8]) -> Option<String> {
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_id = text.len() == self.id && text.iter().all(is_digit);
        (is_id && text.iter().any(|byte| *byte != b'0')).then_some(())?;
        String::from_utf8(text.to_vec()).ok()
    }

    fn commit(&mut self, full: &OsStr) -> Option<Tip> {
        let loose = self.common.join(full);
        match file::read_small(&loose) {
            Ok(bytes) => {
                // A symlink would be a symbolic ref.
                let is_symlink = loose.symlink_metadata().ok()?.is_symlink();
                (!is_symlink).then(|| self.id(bytes.strip_suffix(b"\n")?)).flatten().map(Tip::At)
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                if self.packed.is_none() {
                    self.packed = Some(self.packed()?);
                }
                let packed = self.packed.as_ref()?.get(full.as_bytes());
                Some(packed.map_or(Tip::Unborn, |id| Tip::At(id.clone())))
            }
            // A folder there may be an empty one that is left over.
            Err(_) => None,
        }
    }

    fn packed(&self) -> Option<HashMap<Vec<u8>, String>> {
        let bytes = match file::read(&self.common.join("packed-refs")) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            other => other.ok()?,
        };
        let lines = bytes.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty() && !matches!(line[0], b'#' | b'^'));
        let branches = lines.filter_map(|line| {
            let (id, name) = (line.get(..self.id)?, line.get(self.id + 1..)?);
            name.starts_with(HEADS.as_bytes()).then(|| Some((name.to_vec(), self.id(id)?)))
        });
        branches.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    #[test]
    fn a_folder_is_named_in_full() {
        let named = |text: &str| folder(text.as_bytes());
        assert_eq!(named("/a/b c/.git\n"), Some(PathBuf::from("/a/b c")));
        for odd in [
            "",
            "/a/.git",
            "a/.git\n",
            "../a/.git\n",
            "/a/../b/.git\n",
            "/a//b/.git\n",
            "/.git\n",
            "/a/./b/.git\n",
            "/a/b\n",
            "/a\n/b/.git\n",
            "/a /.git\n",
            "/a/.git\n\n",
            "/a\0/.git\n",
        ] {
            assert_eq!(named(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn heads_are_read_as_git_writes_them() {
        let dir = tempfile::tempdir().unwrap();
        let common = dir.path();
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        fs::create_dir_all(common.join("refs/heads/in")).unwrap();
        fs::write(common.join("refs/heads/in/loose"), format!("{one}\n")).unwrap();
        fs::write(common.join("refs/heads/odd"), "ref: refs/heads/in/loose\n").unwrap();
        let packed =
            format!("# pack-refs\n{two} refs/heads/in/loose\n{two} refs/heads/p\n^{one}\n");
        fs::write(common.join("packed-refs"), packed).unwrap();
        std::os::unix::fs::symlink("in/loose", common.join("refs/heads/link")).unwrap();
        let head = |text: &str| {
            fs::write(common.join("HEAD"), text).unwrap();
            Refs { common, id: 40, packed: None }.head(common)
        };
        let on = |branch: &str| Some(OsString::from(format!("refs/heads/{branch}")));
        assert_eq!(head("ref: refs/heads/in/loose\n"), Some((Some(one.clone()), on("in/loose"))));
        assert_eq!(head("ref: refs/heads/p\n"), Some((Some(two.clone()), on("p"))));
        assert_eq!(head("ref: refs/heads/unborn\n"), Some((None, on("unborn"))));
        assert_eq!(head(&format!("{two}\n")), Some((Some(two.clone()), None)));
        for odd in [
            "",
            "ref: refs/heads/p",
            "ref: refs/tags/p\n",
            "ref: refs/heads/odd\n",
            "ref: refs/heads/link\n",
            "ref: refs/heads/in\n",
            "ref: refs/heads/../p\n",
            "ref:refs/heads/p\n",
            "ref: refs/heads/p \n",
            "1234\n",
        ] {
            assert_eq!(head(odd), None, "{odd:?}");
        }
        assert_eq!(head(&format!("{}\n", "0".repeat(40))), None);
        assert_eq!(head(&format!("{}\n", "a".repeat(64))), None);
    }

    #[test]
    fn fuzz_folders() {
        fuzz::damaged(&[b"/a/b/.git\n".as_slice(), b"/home/me/x y/.git\n"], |input| {
            let Some(path) = folder(input) else { return };
            assert!(path.is_absolute());
            assert!(input.starts_with(path.as_os_str().as_bytes()));
        });
    }
}
