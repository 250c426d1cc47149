//! What `git worktree list` would say, read from the files of git's registry.
//!
//! git starts a look at many files of every entry. Where HEAD, `gitdir` and `locked` of every entry and
//! the branches that they name are what git itself writes, nothing is gained by asking it. Whatever
//! is not so, in any entry, is git's to tell: then there is no answer here.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, openat};

use super::{Repo, Worktree, Worktrees};
use crate::git::porcelain::Record;
use crate::git::refs::HEADS;
use crate::sys::{file, names, parallel};

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
    /// As git would list them, but for the commits of branches that others than the current one have.
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
    let (head, branch) = refs.head(&file::read_small(&repo.common.join("HEAD")).ok()?)?;
    let top = repo.common.parent()?.to_owned();
    let main = Record { path: top, head, branch, bare: false, locked: None };
    let mut worktrees = Worktrees { main, linked: Vec::new(), odd: Vec::new() };
    let mut unsettled = Vec::new();
    for Entry { mut tree, head, is_calm } in entries(&repo.common.join("worktrees"))? {
        let (id, branch) = refs.parse(&head)?;
        (tree.record.head, tree.record.branch) = (id, branch);
        // Of the others it is enough to know which branch they have.
        if !is_calm || tree.entry == repo.git_dir {
            tree.record.head = refs.head(&head)?.0;
        }
        unsettled.extend((!is_calm).then(|| tree.clone()));
        worktrees.linked.push(tree);
    }
    // As git sorts them.
    worktrees.linked.sort_by(|one, other| {
        one.record.path.as_os_str().as_bytes().cmp(other.record.path.as_os_str().as_bytes())
    });
    Some(Read { worktrees, unsettled })
}

/// A worktree whose HEAD is still to be understood.
struct Entry {
    tree: Worktree,
    head: Vec<u8>,
    is_calm: bool,
}

fn entries(registry: &Path) -> Option<Vec<Entry>> {
    let names = match fs::read_dir(registry) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(Vec::new()),
        other => other.ok()?.map(|entry| entry.map(|entry| entry.path())),
    };
    let names: Vec<PathBuf> = names.collect::<Result<_, _>>().ok()?;
    parallel::map(&names, entry).into_iter().collect()
}

/// Reads an entry. `None` if there is anything in it that is neither a plain file nor a folder, or that
/// git does not write.
fn entry(entry: &PathBuf) -> Option<Entry> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder_of = openat(CWD, entry, flags, Mode::empty()).ok()?;
    let (mut is_calm, mut is_locked, mut is_odd) = (true, false, false);
    let told = names::each(&folder_of, |name, kind| {
        let name = name.to_bytes();
        if !matches!(name, b"." | b"..") {
            is_odd |= !matches!(kind, FileType::RegularFile | FileType::Directory);
            is_calm &= CALM.iter().any(|calm| calm.as_bytes() == name);
            is_locked |= name == b"locked";
        }
        ControlFlow::Continue(())
    });
    told.ok().filter(|()| !is_odd)?;
    let head = small(&folder_of, c"HEAD")?;
    let path = folder(&small(&folder_of, c"gitdir")?)?;
    let locked = match is_locked {
        true => Some(small(&folder_of, c"locked")?),
        false => None,
    };
    let locked = locked.map(|text| String::from_utf8_lossy(text.trim_ascii()).into_owned());
    let record = Record { path, head: None, branch: None, bare: false, locked };
    Some(Entry { tree: Worktree { record, entry: entry.clone() }, head, is_calm })
}

/// Reads a small file of an entry by one call.
fn small(folder: &OwnedFd, name: &CStr) -> Option<Vec<u8>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty()).ok()?;
    // On the stack: a thousand entries must not keep a page each.
    let mut buffer = [const { MaybeUninit::uninit() }; 4096];
    let (bytes, rest) = rustix::io::read(file, &mut buffer).ok()?;
    (!rest.is_empty()).then(|| bytes.to_vec())
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
    fn head(&mut self, bytes: &[u8]) -> Option<(Option<String>, Option<OsString>)> {
        let (id, branch) = self.parse(bytes)?;
        let Some(full) = branch else { return Some((id, None)) };
        match self.commit(&full)? {
            Tip::At(id) => Some((Some(id), Some(full))),
            Tip::Unborn => Some((None, Some(full))),
        }
    }

    /// The commit or the branch of a HEAD.
    fn parse(&self, bytes: &[u8]) -> Option<(Option<String>, Option<OsString>)> {
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
        Some((None, Some(OsStr::from_bytes(full).to_owned())))
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
        let head = |text: &str| Refs { common, id: 40, packed: None }.head(text.as_bytes());
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
