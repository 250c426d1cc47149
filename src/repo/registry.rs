//! The entries of git's registry, `<common>/worktrees/<id>`, read from their files.

use std::ffi::{CStr, OsStr, OsString};
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::repo::registry_cache::{self, Known, RegistryCache, Stamp};
use crate::sys::{names, parallel};

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

/// An entry of git's registry.
#[derive(Debug)]
pub struct Entry {
    /// `<common>/worktrees/<id>`.
    pub at: PathBuf,
    /// The folder that its `gitdir` names.
    pub folder: PathBuf,
    /// Why it is locked, if it is.
    pub locked: Option<String>,
    /// The content of its HEAD.
    pub head: Vec<u8>,
    /// Whether it holds nothing but what it holds at rest.
    pub is_calm: bool,
}

/// Reads all entries. `None` where git has to be asked.
pub fn read(common: &Path) -> Option<Vec<Entry>> {
    let registry = common.join("worktrees");
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = match openat(CWD, &registry, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Some(Vec::new()),
        other => other.ok()?,
    };
    let mut ids = Vec::new();
    let told = names::each(&folder, |name, _| {
        let name = name.to_bytes();
        ids.extend((!matches!(name, b"." | b"..")).then(|| OsStr::from_bytes(name).to_owned()));
        ControlFlow::Continue(())
    });
    told.ok()?;
    if ids.len() < registry_cache::LEAST {
        return parallel::map(&ids, |id| entry(registry.join(id))).into_iter().collect();
    }
    let written = registry_cache::read(common);
    let cache = RegistryCache::of(&written);
    let look = |id: &OsString| {
        let stamp = Stamp::of(&folder, id);
        let known = stamp.and_then(|stamp| cache.get(id, stamp));
        let is_new = known.is_none();
        let found = match known {
            Some(known) => at_rest(registry.join(id), known),
            None => entry(registry.join(id))?,
        };
        Some((found, stamp, is_new))
    };
    let all: Vec<Found> = parallel::map(&ids, look).into_iter().collect::<Option<_>>()?;
    if all.iter().filter(|(.., is_new)| *is_new).count() >= registry_cache::NEWS {
        let (calm, news) = to_write_down(&all);
        registry_cache::write(common, &calm, news);
    }
    Some(all.into_iter().map(|(found, ..)| found).collect())
}

/// An entry that has not changed since it was written down.
fn at_rest(at: PathBuf, known: Known) -> Entry {
    let (head, folder) = (known.head.to_vec(), known.folder.to_owned());
    Entry { at, folder, locked: None, head, is_calm: true }
}

/// What was found of each entry: its stamp, and whether it was not written down yet.
type Found = (Entry, Option<Stamp>, bool);

/// Returns the entries that may be written down, which are those at rest, and how many of them are new.
fn to_write_down(all: &[Found]) -> (Vec<(&OsStr, Stamp, Known<'_>)>, usize) {
    let mut news = 0;
    let calm = all.iter().filter_map(|(found, stamp, is_new)| {
        let stamp = (*stamp).filter(|_| found.is_calm)?;
        news += usize::from(*is_new);
        let known = Known { head: &found.head, folder: &found.folder };
        Some((found.at.file_name()?, stamp, known))
    });
    (calm.collect(), news)
}

/// Reads an entry. `None` if there is anything in it that is neither a plain file nor a folder, or that
/// git does not write.
fn entry(at: PathBuf) -> Option<Entry> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder_of = openat(CWD, &at, flags, Mode::empty()).ok()?;
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
    let folder = folder(&small(&folder_of, c"gitdir")?)?;
    let locked = match is_locked {
        true => Some(small(&folder_of, c"locked")?),
        false => None,
    };
    let locked = locked.map(|text| String::from_utf8_lossy(text.trim_ascii()).into_owned());
    Some(Entry { at, folder, locked, head, is_calm })
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::time::SystemTime;

    use super::*;
    use crate::sys::fuzz;

    /// An entry in a registry, on a branch.
    fn make(registry: &Path, id: &str, branch: &str) {
        fs::create_dir_all(registry.join(id)).unwrap();
        fs::write(registry.join(id).join("HEAD"), format!("ref: refs/heads/{branch}\n")).unwrap();
        fs::write(registry.join(id).join("gitdir"), format!("/w/{id}/.git\n")).unwrap();
    }

    /// The branches of all entries, by their ids.
    fn branches(common: &Path) -> BTreeMap<OsString, String> {
        let entries = read(common).unwrap().into_iter();
        let head = |head: Vec<u8>| String::from_utf8(head).unwrap().trim().to_owned();
        entries.map(|it| (it.at.file_name().unwrap().to_owned(), head(it.head))).collect()
    }

    #[test]
    fn only_what_changed_since_it_was_written_down_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let (common, registry) = (dir.path(), dir.path().join("worktrees"));
        fs::create_dir(common.join("sandbox")).unwrap();
        let ids: Vec<String> = (0..registry_cache::LEAST).map(|it| format!("box{it}")).collect();
        for id in &ids {
            make(&registry, id, "old");
            // The next change gets another time in any case.
            let folder = fs::File::open(registry.join(id)).unwrap();
            folder.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        let on = |branch: &str| format!("ref: refs/heads/{branch}");
        assert!(branches(common).values().all(|head| *head == on("old")));
        let folder = openat(CWD, &registry, OFlags::DIRECTORY, Mode::empty()).unwrap();
        // Written down as what no file says, so that it shows what was read.
        let known = Known { head: b"ref: refs/heads/known\n", folder: Path::new("/w/known") };
        let entries = ids.iter().map(|id| {
            let id = OsStr::new(id);
            (id, Stamp::of(&folder, id).unwrap(), known)
        });
        registry_cache::write_as_old(common, &entries.collect::<Vec<_>>());
        assert!(branches(common).values().all(|head| *head == on("known")));
        fs::write(registry.join("box1/locked"), "why\n").unwrap();
        fs::write(registry.join("box2/HEAD.lock"), "ref: refs/heads/new\n").unwrap();
        fs::rename(registry.join("box2/HEAD.lock"), registry.join("box2/HEAD")).unwrap();
        make(&registry, "more", "more");
        fs::rename(registry.join("box3"), common.join("gone")).unwrap();
        let found = branches(common);
        let branch = |id: &str| found.get(OsStr::new(id)).cloned();
        assert_eq!(branch("box0"), Some(on("known")));
        assert_eq!(branch("box1"), Some(on("old")));
        assert_eq!(branch("box2"), Some(on("new")));
        assert_eq!(branch("box3"), None);
        assert_eq!(branch("more"), Some(on("more")));
        let locked = read(common).unwrap().into_iter().find(|it| it.at.ends_with("box1")).unwrap();
        assert_eq!((locked.locked.as_deref(), locked.is_calm), (Some("why"), false));
    }

    #[test]
    fn only_entries_at_rest_are_written_down() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["calm", "known", "locked", "rebasing", "stampless"];
        let found = names.map(|id| {
            make(dir.path(), id, "a");
            let folder = openat(CWD, dir.path(), OFlags::DIRECTORY, Mode::empty()).unwrap();
            match id {
                "locked" => fs::write(dir.path().join("locked/locked"), "").unwrap(),
                "rebasing" => fs::create_dir(dir.path().join("rebasing/rebase-merge")).unwrap(),
                _ => {}
            }
            let stamp = Stamp::of(&folder, OsStr::new(id)).filter(|_| id != "stampless");
            (entry(dir.path().join(id)).unwrap(), stamp, id != "known")
        });
        let (calm, news) = to_write_down(&found);
        let ids: Vec<&OsStr> = calm.iter().map(|(id, ..)| *id).collect();
        assert_eq!((ids, news), (vec![OsStr::new("calm"), OsStr::new("known")], 1));
        let known = Known { head: b"ref: refs/heads/a\n", folder: Path::new("/w/calm") };
        assert_eq!(calm[0].2, known);
    }

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
    fn fuzz_folders() {
        fuzz::damaged(&[b"/a/b/.git\n".as_slice(), b"/home/me/x y/.git\n"], |input| {
            let Some(path) = folder(input) else { return };
            assert!(path.is_absolute());
            assert!(input.starts_with(path.as_os_str().as_bytes()));
        });
    }
}
