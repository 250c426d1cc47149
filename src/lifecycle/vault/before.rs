//! What the vault has of an item already: an earlier attempt may have deleted a part of its files.
//!
//! Nothing of that is dropped. A path that is gone keeps its record; of a path that is there, what is
//! there now counts, and the older version stays in the history of the item's ref.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::BufRead;

use crate::lifecycle::vault::manifest::{Contents, Kind, Record};

/// The records of an earlier attempt that are not accounted for yet.
#[derive(Debug, Default)]
pub struct Before {
    records: BTreeMap<Vec<u8>, Kind>,
    count: u64,
    /// Folders that are something else now: what was in them is in the history only.
    replaced: HashSet<Vec<u8>>,
    /// Files that have hard links: as they were, and as they are now.
    firsts: HashMap<Vec<u8>, Contents>,
    now: HashMap<Vec<u8>, Contents>,
}

impl Before {
    /// Reads a manifest.
    pub fn read(from: &mut impl BufRead) -> std::io::Result<Before> {
        let mut before = Before::default();
        while let Some(Record { path, kind }) = Record::read(from)? {
            if let Kind::Same { first } = &kind
                && let Some(Kind::File(contents)) = before.records.get(first)
            {
                before.firsts.insert(first.clone(), Contents::clone(contents));
            }
            before.count += 1;
            // A file of the commit that a folder has replaced is recorded twice.
            if kind != Kind::Deleted || !before.records.contains_key(&path) {
                before.records.insert(path, kind);
            }
        }
        Ok(before)
    }

    /// How many were read.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The record to write for a path that was found now, if any is to be written yet.
    pub fn settle(&mut self, now: Record) -> Option<Record> {
        if let Kind::File(contents) = &now.kind
            && self.firsts.contains_key(&now.path)
        {
            self.now.insert(now.path.clone(), Contents::clone(contents));
        }
        let Some(old) = self.records.get(&now.path) else { return Some(now) };
        let is_folder = match (old, &now.kind) {
            // We deleted from it, which set its time.
            (Kind::Folder { mode, mtime }, Kind::Folder { .. }) => {
                let kind = Kind::Folder { mode: *mode, mtime: *mtime };
                self.records.remove(&now.path);
                return Some(Record { kind, ..now });
            }
            // The other name of it was deleted by us: it comes back as a link, after that one.
            (Kind::Same { first }, Kind::File(contents))
                if self.firsts.get(first) == Some(&**contents)
                    && self.records.contains_key(first) =>
            {
                return None;
            }
            // It comes with the rest, after its folder.
            (old, now) if holds_something(old) && !holds_something(now) => return None,
            (old, _) => matches!(old, Kind::Folder { .. }),
        };
        self.records.remove(&now.path);
        if is_folder {
            self.replaced.insert(now.path.clone());
        }
        Some(now)
    }

    /// The records of what is gone, parents first.
    pub fn rest(self) -> impl Iterator<Item = Record> {
        let Before { mut records, replaced, firsts, now, .. } = self;
        records.retain(|path, _| !ancestors(path).any(|folder| replaced.contains(folder)));
        let there: HashSet<Vec<u8>> = records.keys().cloned().collect();
        records.into_iter().map(move |(path, kind)| {
            let kind = match kind {
                // The file it was a link to has become another one.
                Kind::Same { first } if !there.contains(&first) => match firsts.get(&first) {
                    Some(old) if now.get(&first) != Some(old) => Kind::File(Box::new(old.clone())),
                    _ => Kind::Same { first },
                },
                other => other,
            };
            Record { path, kind }
        })
    }
}

/// Whether a record brings anything back.
fn holds_something(kind: &Kind) -> bool {
    !matches!(kind, Kind::Fifo | Kind::Socket | Kind::Ignored | Kind::Deleted)
}

fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::vault::manifest::Owner;

    fn file(path: &str, blob: char) -> Record {
        let contents = Contents {
            mode: 0o644,
            mtime: (1, 2),
            size: 3,
            owner: Owner::Vault,
            blob: blob.to_string().repeat(40),
            pieces: None,
        };
        Record { path: path.into(), kind: Kind::File(Box::new(contents)) }
    }

    fn folder(path: &str, mtime: i64) -> Record {
        Record { path: path.into(), kind: Kind::Folder { mode: 0o755, mtime: (mtime, 0) } }
    }

    fn same(path: &str, first: &str) -> Record {
        Record { path: path.into(), kind: Kind::Same { first: first.into() } }
    }

    fn before(records: &[Record]) -> Before {
        let mut bytes = Vec::new();
        for record in records {
            record.write(&mut bytes).unwrap();
        }
        Before::read(&mut bytes.as_slice()).unwrap()
    }

    #[test]
    fn what_is_gone_is_kept_and_what_is_there_counts() {
        let old =
            [folder("tree", 1), file("tree/a", 'a'), file("tree/b", 'b'), file("tree/c", 'c')];
        let mut before = before(&old);
        assert_eq!(before.settle(folder("tree", 9)), Some(folder("tree", 1)));
        assert_eq!(before.settle(file("tree/b", 'f')), Some(file("tree/b", 'f')));
        let deleted = Record { path: b"tree/c".to_vec(), kind: Kind::Deleted };
        assert_eq!(before.settle(deleted), None);
        assert_eq!(before.settle(file("tree/d", 'd')), Some(file("tree/d", 'd')));
        assert_eq!(before.rest().collect::<Vec<_>>(), [file("tree/a", 'a'), file("tree/c", 'c')]);
    }

    #[test]
    fn a_folder_that_became_a_file_takes_its_files_along() {
        let mut before =
            before(&[folder("tree/a", 1), file("tree/a/b", 'a'), file("tree/ab", 'b')]);
        assert_eq!(before.settle(file("tree/a", 'c')), Some(file("tree/a", 'c')));
        assert_eq!(before.rest().collect::<Vec<_>>(), [file("tree/ab", 'b')]);
    }

    #[test]
    fn hard_links_stay_links_where_the_first_name_was_deleted() {
        let old = [file("tree/a", 'a'), same("tree/b", "tree/a"), same("tree/c", "tree/a")];
        let mut gone = before(&old);
        assert_eq!(gone.settle(file("tree/b", 'a')), None);
        assert_eq!(gone.rest().collect::<Vec<_>>(), old);

        let mut edited = before(&old);
        assert_eq!(edited.settle(file("tree/a", 'e')), Some(file("tree/a", 'e')));
        assert_eq!(edited.settle(file("tree/b", 'b')), Some(file("tree/b", 'b')));
        assert_eq!(edited.rest().collect::<Vec<_>>(), [file("tree/c", 'a')]);

        let mut apart = before(&old[..2]);
        assert_eq!(apart.settle(file("tree/a", 'a')), Some(file("tree/a", 'a')));
        assert_eq!(apart.settle(file("tree/b", 'a')), Some(file("tree/b", 'a')));
        assert_eq!(apart.rest().collect::<Vec<_>>(), []);

        let mut there = before(&old);
        assert_eq!(there.settle(file("tree/a", 'a')), Some(file("tree/a", 'a')));
        assert_eq!(there.rest().collect::<Vec<_>>(), old[1..]);
    }
}
