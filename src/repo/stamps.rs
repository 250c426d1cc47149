//! Stamps of the files of a private git dir: they tell whether another process wrote to it while a
//! removal went on.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::repo::held::holds_no_ids;

const HEAD: &str = "HEAD";
const REFLOG: &str = "logs/HEAD";

/// What the file system says about every file of a private git dir that can name an object.
#[derive(Clone, Debug)]
pub struct Stamps(BTreeMap<PathBuf, Stamp>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamps {
    /// Takes the stamps. `None` where a file cannot be looked at.
    pub fn of(entry: &Path) -> Option<Stamps> {
        let mut stamps = BTreeMap::new();
        let mut todo = vec![entry.to_owned()];
        while let Some(folder) = todo.pop() {
            for file in fs::read_dir(&folder).ok()? {
                let file = file.ok()?;
                let (name, path) = (file.file_name(), file.path());
                if folder == entry && holds_no_ids(&name) && name != "index" && name != "reftable" {
                    continue;
                }
                let meta = fs::symlink_metadata(&path).ok()?;
                if meta.is_dir() {
                    todo.push(path);
                    continue;
                }
                let stamp = Stamp {
                    inode: meta.ino(),
                    size: meta.size(),
                    modified: (meta.mtime(), meta.mtime_nsec()),
                    changed: (meta.ctime(), meta.ctime_nsec()),
                };
                stamps.insert(path.strip_prefix(entry).ok()?.to_owned(), stamp);
            }
        }
        Some(Stamps(stamps))
    }

    /// Whether a private git dir names nothing that it did not name when the stamps were taken. With
    /// `detached` its HEAD was detached at that commit since, which is one more line in its reflog.
    pub fn cover(&self, entry: &Path, detached: Option<&str>) -> bool {
        let Some(Stamps(now)) = Stamps::of(entry) else { return false };
        now.iter().all(|(path, stamp)| {
            let before = self.0.get(path);
            let is = |name: &str| path == Path::new(name);
            match detached {
                Some(head) if is(HEAD) => reads(&entry.join(path), 0, |line| line == head),
                Some(head) if is(REFLOG) => {
                    let twice = format!("{head} {head} ");
                    let known = before.map_or(0, |before| before.size);
                    reads(&entry.join(path), known, |line| line.starts_with(&twice))
                }
                _ => before == Some(stamp),
            }
        })
    }
}

/// Whether a file has exactly one line from an offset on, and that is as wanted.
fn reads(path: &Path, from: u64, wanted: impl Fn(&str) -> bool) -> bool {
    let Ok(bytes) = fs::read(path) else { return false };
    let rest = usize::try_from(from).ok().and_then(|from| bytes.get(from..));
    let Some(line) = rest.and_then(|rest| rest.strip_suffix(b"\n")) else { return false };
    !line.contains(&b'\n') && std::str::from_utf8(line).is_ok_and(wanted)
}
