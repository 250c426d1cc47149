//! What `git worktree list` would say, read from the files of git's registry.
//!
//! git starts a look at many files of every entry. Where HEAD, `gitdir` and `locked` of every entry and
//! the branches that they name are what git itself writes, nothing is gained by asking it. Whatever
//! is not so, in any entry, is git's to tell: then there is no answer here.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::registry::Entry;
use super::{Repo, Worktree, Worktrees, odd};
use crate::git::porcelain::Record;
use crate::git::refs::HEADS;
use crate::sys::file;

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
    read_with(repo, false)
}

/// Returns what `git worktree list` would say, if the registry was read when the repository was locked and git
/// need not be asked.
pub fn read_ahead(repo: &Repo) -> Option<Worktrees> {
    // Commands that come now have git read files of every entry.
    let is_odd = || odd::guard(&repo.common).map_or(true, |odd| !odd.is_empty());
    if !repo.is_registry_read() || is_odd() {
        return None;
    }
    read_with(repo, true).map(|read| read.worktrees)
}

/// With `whole` the commit of every branch is read.
fn read_with(repo: &Repo, whole: bool) -> Option<Read> {
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
    for Entry { at, folder, locked, head, is_calm } in repo.registry()? {
        let (id, branch) = refs.parse(&head)?;
        let record = Record { path: folder, head: id, branch, bare: false, locked };
        let mut tree = Worktree { record, entry: at };
        // Of the others it is enough to know which branch they have.
        if whole || !is_calm || tree.entry == repo.git_dir {
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
    use std::fs;

    use super::*;

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
}
