//! Files that git does not track, where a landing would write.
//!
//! git protects only some of them: it overwrites ignored files and files of a repository inside the
//! checkout, deletes the folder of a submodule that becomes a file, with all edits in it, and replaces
//! a symlink that stands where a folder is tracked. So the disk is compared with the index here.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Result};
use crate::git::Git;
use crate::git::porcelain::Change;

/// As many paths as fit on a command line.
const AT_ONCE: usize = 500;

/// Finds what stands in the way of changes in a checkout, without being tracked there. A repository, as
/// that of a submodule, is named by its folder.
pub fn in_the_way(git: &Git, top: &Path, changes: &[Change]) -> Result<Vec<PathBuf>> {
    let mut above = HashMap::new();
    let taken: BTreeSet<&Path> = changes
        .iter()
        .filter_map(|change| {
            let folder = change.path.parent().unwrap_or(Path::new(""));
            let above = above.entry(folder).or_insert_with(|| no_folder(top, folder));
            let there = || top.join(&change.path).symlink_metadata().is_ok();
            above.or_else(|| (change.makes_anew() && there()).then_some(change.path.as_path()))
        })
        .collect();
    let taken: Vec<&Path> = taken.into_iter().collect();
    let mut tracked = BTreeSet::new();
    for some in taken.chunks(AT_ONCE) {
        let words = ["--literal-pathspecs", "ls-files", "--stage", "-z", "--"];
        let listed = git.at(top).look(words).args(some).read("read the index")?;
        tracked.extend(listed.split(|byte| *byte == 0).filter_map(entry));
    }
    let mut found = Vec::new();
    for path in taken {
        collect(top, path, &tracked, &mut found)?;
    }
    Ok(found)
}

/// The outermost path on the way to a folder that stands there and is no folder itself.
fn no_folder<'a>(top: &Path, folder: &'a Path) -> Option<&'a Path> {
    let mut way: Vec<&Path> = folder.ancestors().collect();
    way.pop();
    let is_none =
        |path: &&Path| top.join(path).symlink_metadata().is_ok_and(|metadata| !metadata.is_dir());
    way.into_iter().rev().find(is_none)
}

/// Reads a line of `git ls-files --stage`, `<mode> <id> <stage>\t<path>`.
fn entry(line: &[u8]) -> Option<PathBuf> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    Some(PathBuf::from(OsStr::from_bytes(&line[tab + 1..])))
}

/// Collects what is not tracked at a path and below it. An empty folder is nothing.
fn collect(
    top: &Path,
    path: &Path,
    tracked: &BTreeSet<PathBuf>,
    found: &mut Vec<PathBuf>,
) -> Result<()> {
    let full = top.join(path);
    if !full.symlink_metadata().at("read", &full)?.is_dir() {
        found.extend((!tracked.contains(path)).then(|| path.to_owned()));
        return Ok(());
    }
    let mut inside = Vec::new();
    for entry in fs::read_dir(&full).at("read", &full)? {
        inside.push(entry.at("read", &full)?.file_name());
    }
    inside.sort();
    if inside.iter().any(|name| name == ".git") {
        found.push(path.to_owned());
        return Ok(());
    }
    inside.iter().try_for_each(|name| collect(top, &path.join(name), tracked, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_index_are_read() {
        let id = "1".repeat(40);
        let line = format!("100644 {id} 0\ta\tb");
        assert_eq!(entry(line.as_bytes()), Some(PathBuf::from("a\tb")));
        assert_eq!(entry(b""), None);
    }
}
