//! What the entries of git's registry held when they were last read.
//!
//! Reading a thousand entries takes longer than everything else that a creation does. An entry is not read
//! again if its folder and its `gitdir` are the files that they were. git replaces `HEAD` by a rename in that
//! folder, and marks whatever it begins or locks by a file there: all of that changes a time of the folder. It
//! writes `gitdir` in place. Only entries at rest are written down, and only once they are old enough that
//! the next change must get another time. The file can be deleted at any time; one that cannot be read, or
//! that was cut off, counts as missing.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, statat};

use crate::sys::file;

/// Fewer entries are read each time.
pub const LEAST: usize = 100;
/// So many new entries make it worth to write the file anew.
pub const NEWS: usize = 64;
const SECOND: i64 = 1_000_000_000;
/// How far apart in nanoseconds two changes are at the most that get the same time, with a reserve: on a file
/// system that keeps parts of a second, and on one that does not.
const FINE: i64 = SECOND / 10;
const COARSE: i64 = 2 * SECOND;
/// A file for a hundred thousand entries.
const LARGEST: u64 = 32 * 1024 * 1024;

/// What is known of an entry at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known<'a> {
    /// The content of its HEAD.
    pub head: &'a [u8],
    /// The folder that its `gitdir` names.
    pub folder: &'a Path,
}

/// What the file system says of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// A digest of all inodes, sizes and times.
    digest: u64,
    /// The newest of the times, in nanoseconds.
    newest: i64,
}

impl Stamp {
    /// Takes the stamp of an entry, which must be done before it is read. `None` if one of the files is not
    /// there or not a plain file.
    pub fn of(registry: &OwnedFd, id: &OsStr) -> Option<Stamp> {
        let mut hasher = DefaultHasher::new();
        let mut newest = i64::MIN;
        let mut path = Vec::with_capacity(id.len() + 8);
        let files = [(&b""[..], FileType::Directory), (b"/gitdir", FileType::RegularFile)];
        for (name, kind) in files {
            path.clear();
            path.extend_from_slice(id.as_bytes());
            path.extend_from_slice(name);
            let stat = statat(registry, path.as_slice(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
            if FileType::from_raw_mode(stat.st_mode) != kind {
                return None;
            }
            let seconds = [stat.st_mtime, stat.st_ctime].map(i64::from);
            let parts = [stat.st_mtime_nsec, stat.st_ctime_nsec].map(i64::try_from);
            let times =
                [nanoseconds(seconds[0], parts[0].ok()?), nanoseconds(seconds[1], parts[1].ok()?)];
            (stat.st_ino, stat.st_size, times).hash(&mut hasher);
            newest = newest.max(times[0]).max(times[1]);
        }
        Some(Stamp { digest: hasher.finish(), newest })
    }

    /// Whether a change from now on must get another time.
    fn is_old(self, now: i64) -> bool {
        let reserve = if self.newest % SECOND == 0 { COARSE } else { FINE };
        self.newest < now.saturating_sub(reserve)
    }
}

fn nanoseconds(seconds: i64, part: i64) -> i64 {
    seconds.saturating_mul(SECOND).saturating_add(part)
}

/// Reads the file of a repository.
pub fn read(common: &Path) -> Vec<u8> {
    file::read_untrusted(&path(common), LARGEST).unwrap_or_default()
}

/// Writes down these entries, all that are at rest; `news` of them were not known. A failure is none: the
/// next command reads them.
pub fn write(common: &Path, entries: &[(&OsStr, Stamp, Known)], news: usize) {
    let path = path(common);
    let next = path.with_file_name(file::new_name(NAME));
    // The time of the file system itself: other machines may have other clocks.
    let Ok(mut new) = file::create_private(&next) else { return };
    let now = new.metadata().map_or(i64::MIN, |meta| nanoseconds(meta.mtime(), meta.mtime_nsec()));
    let is_old = |(_, stamp, _): &&(&OsStr, Stamp, Known)| stamp.is_old(now);
    let old: Vec<_> = entries.iter().filter(is_old).collect();
    let is_worth_it = news + old.len() >= entries.len() + NEWS;
    let written =
        is_worth_it && new.write_all(&format(&old)).and_then(|()| fs::rename(&next, &path)).is_ok();
    if !written {
        let _ = fs::remove_file(&next);
    }
}

/// The entries that were written down.
#[derive(Debug, Default)]
pub struct RegistryCache<'a> {
    known: HashMap<&'a [u8], (u64, Known<'a>)>,
}

impl<'a> RegistryCache<'a> {
    /// Understands what was read.
    pub fn of(bytes: &'a [u8]) -> RegistryCache<'a> {
        RegistryCache { known: parse(bytes).unwrap_or_default() }
    }

    /// What is known of an entry that still has this stamp.
    pub fn get(&self, id: &OsStr, stamp: Stamp) -> Option<Known<'a>> {
        let (digest, known) = self.known.get(id.as_bytes())?;
        (*digest == stamp.digest).then_some(*known)
    }
}

const NAME: &str = "registry";

fn path(common: &Path) -> PathBuf {
    common.join("sandbox").join(NAME)
}

/// `<digest of the rest> NUL (<id> NUL <stamp> NUL <folder> NUL <head> NUL)*`
fn format(entries: &[&(&OsStr, Stamp, Known)]) -> Vec<u8> {
    let mut rest = Vec::new();
    for (id, stamp, known) in entries {
        let stamp = format!("{:x}", stamp.digest);
        let fields =
            [id.as_bytes(), stamp.as_bytes(), known.folder.as_os_str().as_bytes(), known.head];
        if fields.iter().any(|field| field.contains(&0)) {
            continue;
        }
        for field in fields {
            rest.extend_from_slice(field);
            rest.push(0);
        }
    }
    [format!("{:x}\0", digest(&rest)).as_bytes(), &rest].concat()
}

fn parse(bytes: &[u8]) -> Option<HashMap<&[u8], (u64, Known<'_>)>> {
    let mut fields = bytes.split(|byte| *byte == 0);
    let lead = fields.next()?;
    if number(lead)? != digest(bytes.get(lead.len() + 1..)?) {
        return None;
    }
    // An entry takes about as much.
    let mut known = HashMap::with_capacity(bytes.len() / 128);
    while let (Some(id), Some(stamp), Some(folder), Some(head)) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    {
        let folder = Path::new(OsStr::from_bytes(folder));
        known.insert(id, (number(stamp)?, Known { head, folder }));
    }
    Some(known)
}

fn number(hex: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// Writes down these entries as if they had not changed for long.
#[cfg(test)]
pub fn write_as_old(common: &Path, entries: &[(&OsStr, Stamp, Known)]) {
    let old: Vec<_> = entries
        .iter()
        .map(|&(id, stamp, known)| (id, Stamp { newest: 0, ..stamp }, known))
        .collect();
    write(common, &old, old.len());
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::sys::fuzz;

    /// A repository with entries whose contents are old.
    fn repository(ids: &[String]) -> (tempfile::TempDir, OwnedFd) {
        let dir = tempfile::tempdir().unwrap();
        let registry = dir.path().join("worktrees");
        fs::create_dir_all(dir.path().join("sandbox")).unwrap();
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        for id in ids {
            fs::create_dir_all(registry.join(id)).unwrap();
            fs::write(registry.join(id).join("gitdir"), "/x/.git\n").unwrap();
            for path in [registry.join(id).join("gitdir"), registry.join(id)] {
                File::open(path).unwrap().set_modified(then).unwrap();
            }
        }
        let folder = File::open(registry).unwrap();
        (dir, folder.into())
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("box-{number}")).collect()
    }

    /// All entries as they are.
    fn entries<'a>(registry: &OwnedFd, ids: &'a [String]) -> Vec<(&'a OsStr, Stamp, Known<'a>)> {
        let known = Known { head: b"ref: refs/heads/a\n", folder: Path::new("/x") };
        let entry = |id: &'a String| {
            let id = OsStr::new(id);
            (id, Stamp::of(registry, id).unwrap(), known)
        };
        ids.iter().map(entry).collect()
    }

    #[test]
    fn an_entry_is_known_until_its_folder_or_gitdir_changes() {
        let ids = names(NEWS);
        let (dir, registry) = repository(&ids);
        write_as_old(dir.path(), &entries(&registry, &ids));
        let bytes = read(dir.path());
        let cache = RegistryCache::of(&bytes);
        let known = |id: &str| {
            let id = OsStr::new(id);
            cache.get(id, Stamp::of(&registry, id)?)
        };
        let all = Known { head: b"ref: refs/heads/a\n", folder: Path::new("/x") };
        assert!(ids.iter().all(|id| known(id) == Some(all)));
        let entry = |id: &str| dir.path().join("worktrees").join(id);
        fs::write(entry("box-0").join("locked"), "").unwrap();
        fs::write(entry("box-1").join("gitdir"), "/y/.git\n").unwrap();
        fs::write(entry("box-2").join("HEAD.lock"), "").unwrap();
        fs::rename(entry("box-2").join("HEAD.lock"), entry("box-2").join("HEAD")).unwrap();
        fs::rename(entry("box-4"), entry("box-x")).unwrap();
        fs::remove_file(entry("box-5").join("gitdir")).unwrap();
        std::os::unix::fs::symlink("/", entry("box-5").join("gitdir")).unwrap();
        for id in ["box-0", "box-1", "box-2", "box-4", "box-5", "box-x"] {
            assert_eq!(known(id), None, "{id}");
        }
        assert_eq!(known("box-6"), Some(all));
    }

    #[test]
    fn a_stamp_is_old_once_the_next_change_must_get_another_time() {
        let is_old = |newest: i64, now: i64| Stamp { digest: 0, newest }.is_old(now);
        // Where parts of a second are kept.
        assert!(is_old(SECOND + 1, SECOND + 2 + FINE));
        assert!(!is_old(SECOND + 1, SECOND + 1 + FINE));
        // Where they are not.
        assert!(is_old(SECOND, SECOND + 1 + COARSE));
        assert!(!is_old(SECOND, SECOND + COARSE));
        assert!(!is_old(SECOND, i64::MIN));
    }

    #[test]
    fn what_changed_a_moment_ago_is_not_written_down() {
        let ids = names(2 * NEWS);
        let (dir, registry) = repository(&ids);
        // Each has just been changed: its times of change are of now.
        write(dir.path(), &entries(&registry, &ids), ids.len());
        let left: Vec<_> = fs::read_dir(dir.path().join("sandbox")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn it_is_written_only_for_many_new_ones() {
        let ids = names(NEWS - 1);
        let (dir, registry) = repository(&ids);
        write_as_old(dir.path(), &entries(&registry, &ids));
        assert!(!path(dir.path()).exists());
    }

    #[test]
    fn a_file_that_was_cut_off_or_planted_counts_as_missing() {
        let ids = names(NEWS);
        let (dir, registry) = repository(&ids);
        write_as_old(dir.path(), &entries(&registry, &ids));
        let whole = read(dir.path());
        assert_eq!(RegistryCache::of(&whole).known.len(), NEWS);
        for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
            assert!(RegistryCache::of(&whole[..cut]).known.is_empty(), "{cut}");
        }
        fs::rename(path(dir.path()), dir.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), path(dir.path())).unwrap();
        assert!(read(dir.path()).is_empty());
    }

    #[test]
    fn fuzz_files() {
        let known = Known { head: b"ref: refs/heads/a\n", folder: Path::new("/x y") };
        let entry = (OsStr::new("a"), Stamp { digest: 7, newest: 0 }, known);
        fuzz::damaged(&[&format(&[]), &format(&[&entry, &entry])], |input| {
            if let Some(found) = parse(input) {
                assert!(found.keys().all(|id| fuzz::contains(input, id)));
            }
        });
    }
}
