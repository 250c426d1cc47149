//! What git ignored when an item was removed, by the item's own journal.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;

use crate::lifecycle::vault::item::Item;
use crate::lifecycle::vault::manifest::shown;

/// The ignored files and folders of an item.
pub struct Ignored<'a> {
    files: HashSet<&'a [u8]>,
    folders: HashSet<&'a [u8]>,
    precious: &'a dyn Fn(&std::path::Path) -> bool,
}

impl<'a> Ignored<'a> {
    /// By the journal's list.
    pub fn of(item: &Item<'a>) -> Ignored<'a> {
        let (mut files, mut folders) = (HashSet::new(), HashSet::new());
        for path in item.ignored.unwrap_or_default() {
            match path.as_os_str().as_bytes() {
                [folder @ .., b'/'] => folders.insert(folder),
                file => files.insert(file),
            };
        }
        Ignored { files, folders, precious: item.precious }
    }

    /// Whether a folder of the manifest, and all in it, was ignored.
    pub fn has_folder(&self, path: &[u8]) -> bool {
        in_tree(path).is_some_and(|path| self.folders.contains(path))
    }

    /// Whether a file of the manifest was ignored and may be dropped.
    pub fn has_file(&self, path: &[u8]) -> bool {
        let listed = in_tree(path).filter(|path| self.files.contains(path));
        listed.is_some_and(|path| !(self.precious)(&shown(path)))
    }
}

/// The way from the tree to a path of the manifest.
pub fn in_tree(path: &[u8]) -> Option<&[u8]> {
    path.strip_prefix(b"tree/")
}
