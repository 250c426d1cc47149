//! Full and short names of branches, and where one is.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::git::porcelain;
use crate::sys::file;

/// Where branches are.
pub const HEADS: &str = "refs/heads/";

/// `refs/heads/<branch>`
pub fn full(branch: &OsStr) -> OsString {
    let mut name = OsString::from(HEADS);
    name.push(branch);
    name
}

/// `refs/heads/x` as `x`.
pub fn short(full: &OsStr) -> OsString {
    let bytes = full.as_bytes();
    OsStr::from_bytes(bytes.strip_prefix(HEADS.as_bytes()).unwrap_or(bytes)).to_owned()
}

/// The commit that a branch is at, where its file says so in the plainest way: no symlink, nothing but an
/// id. `None` means that git has to be asked: it may be packed, in a table, symbolic or gone.
pub fn loose_tip(common: &Path, full: &str) -> Option<String> {
    let steps = full.strip_prefix(HEADS)?.split('/');
    if steps.clone().any(|step| matches!(step, "" | "." | "..")) {
        return None;
    }
    let path = common.join(full);
    let is_plain = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
    let text = file::read_small(&path).ok().filter(|_| is_plain)?;
    porcelain::commit(text.strip_suffix(b"\n")?)
}

/// The commit that the branch is at which HEAD of a private git dir is on, as far as plain files tell.
pub fn tip_of_head(common: &Path, git_dir: &Path) -> Option<String> {
    let text = file::read_small(&git_dir.join("HEAD")).ok()?;
    let name = text.strip_prefix(b"ref: ")?.strip_suffix(b"\n")?;
    loose_tip(common, std::str::from_utf8(name).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_a_plain_file_with_an_id_tells_where_a_branch_is() {
        let dir = tempfile::tempdir().unwrap();
        let common = dir.path();
        fs::create_dir_all(common.join("refs/heads/deep")).unwrap();
        let (short, long) = ("1f".repeat(20), "2e".repeat(32));
        let write = |name: &str, text: &str| fs::write(common.join(name), text).unwrap();
        write("refs/heads/a", &format!("{short}\n"));
        write("refs/heads/deep/b", &format!("{long}\n"));
        write("refs/heads/symbolic", "ref: refs/heads/a\n");
        write("refs/heads/cut", &short[..39]);
        write("refs/heads/more", &format!("{short}\n{short}\n"));
        write("refs/stash", &format!("{short}\n"));
        std::os::unix::fs::symlink("a", common.join("refs/heads/link")).unwrap();
        let tip = |name: &str| loose_tip(common, name);
        assert_eq!(tip("refs/heads/a"), Some(short.clone()));
        assert_eq!(tip("refs/heads/deep/b"), Some(long));
        for name in ["symbolic", "cut", "more", "link", "deep", "packed", "../stash", "deep//b", ""]
        {
            assert_eq!(tip(&format!("refs/heads/{name}")), None, "{name}");
        }
        assert_eq!(tip("refs/stash"), None);
        let heads = [("ref: refs/heads/a\n", Some(short)), ("ref: refs/stash\n", None), ("", None)];
        for (head, wanted) in heads {
            write("HEAD", head);
            assert_eq!(tip_of_head(common, common), wanted, "{head}");
        }
        // A symlink instead of words, as git once made them.
        fs::remove_file(common.join("HEAD")).unwrap();
        std::os::unix::fs::symlink("refs/heads/a", common.join("HEAD")).unwrap();
        assert_eq!(tip_of_head(common, common), None);
    }
}
