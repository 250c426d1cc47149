//! Pure parsers of what git prints for programs.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

mod branches;
mod fields;
mod lines;
mod status;
mod tree_diff;
mod worktree_list;

pub use branches::{BRANCH_FORMAT, Branch, Merge, branches, merge, merges, patch_ids};
pub use fields::{commit, paths};
pub use lines::{Changed, changed_lines};
pub use status::{Status, status};
pub use tree_diff::{Blob, Change, Kind, Staged, changes, staged};
pub use worktree_list::{Record, worktrees};

use fields::cut;

/// Reads `git for-each-ref --format='%(objectname) %(refname)'`.
pub fn refs(bytes: &[u8]) -> Vec<(String, OsString)> {
    let lines = bytes.split(|byte| *byte == b'\n');
    let pairs = lines.filter_map(|line| cut(line, b' '));
    pairs
        .filter_map(|(oid, name)| Some((commit(oid)?, OsStr::from_bytes(name).to_owned())))
        .collect()
}

/// Reads `git ls-remote`: `<id>\t<name>`.
pub fn remote_refs(bytes: &[u8]) -> Vec<(String, OsString)> {
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| cut(line, b'\t'));
    lines
        .filter_map(|(oid, name)| Some((commit(oid)?, OsStr::from_bytes(name).to_owned())))
        .collect()
}

/// Files that git was told not to look at.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Flagged {
    /// Their paths.
    pub paths: Vec<PathBuf>,
    /// Their entries, and those of attributes files, as `git update-index -z --index-info` reads them.
    pub records: Vec<u8>,
}

/// Reads `git ls-files -v -s -z`: `<tag> <mode> <id> <stage>\t<path>`.
pub fn flagged(bytes: &[u8]) -> Flagged {
    let mut flagged = Flagged::default();
    for line in bytes.split(|byte| *byte == 0) {
        let Some((tag, record)) = cut(line, b' ') else { continue };
        let Some((_, path)) = cut(record, b'\t') else { continue };
        let hidden = matches!(tag, [b'S' | b'a'..=b'z']);
        if hidden {
            flagged.paths.push(PathBuf::from(OsStr::from_bytes(path)));
        }
        if hidden || path.ends_with(b".gitattributes") {
            flagged.records.extend_from_slice(record);
            flagged.records.push(0);
        }
    }
    flagged
}

/// The ids of what `diff-index --cached --raw -z` shows as the new side: `:mode mode id id X\0path\0`.
pub fn changed_blobs(bytes: &[u8]) -> impl Iterator<Item = String> {
    let records = bytes.split(|byte| *byte == 0).filter(|record| record.starts_with(b":"));
    records.filter_map(|record| {
        let mut words = record.split(|byte| *byte == b' ').skip(1);
        let (mode, id) = (words.next()?, words.nth(1)?);
        let is_file = mode.starts_with(b"100") || mode.starts_with(b"120");
        commit(id).filter(|id| is_file && id.bytes().any(|byte| byte != b'0'))
    })
}

/// The files in `git ls-files -s -z`: `<mode> <id> <stage>\t<path>`; submodules are none.
pub fn staged_blobs(bytes: &[u8]) -> impl Iterator<Item = String> {
    let lines = bytes.split(|byte| *byte == 0).filter_map(|line| cut(line, b' '));
    let files = lines.filter(|(mode, _)| mode.starts_with(b"1") && *mode != b"160000");
    files.filter_map(|(_, rest)| commit(cut(rest, b' ')?.0))
}

/// The time in the last line of a reflog, in seconds since 1970.
pub fn last_reflog_time(bytes: &[u8]) -> Option<i64> {
    let line = bytes.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty())?;
    // `<old> <new> <name> <email> <seconds> <zone>\t<message>`: a name may hold anything but `<`.
    let head = line.split(|byte| *byte == b'\t').next()?;
    let text = String::from_utf8_lossy(head);
    text.rsplit(' ').nth(1)?.parse().ok()
}

/// Whether a reflog tells of commits made here, not only of moves.
pub fn made_commits(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| cut(line, b'\t'));
    let makes: [&[u8]; 6] = [b"commit", b"cherry-pick", b"revert", b"am", b"rebase", b"pull"];
    lines.into_iter().any(|(_, message)| makes.iter().any(|lead| message.starts_with(lead)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    const A: &str = "1111111111111111111111111111111111111111";

    #[test]
    fn worktree_records() {
        let text = format!(
            "worktree /r\0HEAD {A}\0branch refs/heads/main\0\0\
             worktree /w a\n\0HEAD {A}\0detached\0locked a reason\nof two lines\0\0\
             worktree /u\0HEAD {}\0branch refs/heads/x\0locked\0prunable gitdir file points\0\0",
            "0".repeat(64)
        );
        let records = worktrees(text.as_bytes());
        assert_eq!(records.len(), 3);
        assert_eq!(records[0].branch.as_deref(), Some(OsStr::new("refs/heads/main")));
        assert_eq!(records[1].path, PathBuf::from("/w a\n"));
        assert_eq!(records[1].head.as_deref(), Some(A));
        assert_eq!(records[1].branch, None);
        assert_eq!(records[1].locked.as_deref(), Some("a reason\nof two lines"));
        assert_eq!(records[2].head, None);
        assert_eq!(records[2].locked.as_deref(), Some(""));
        let bare = worktrees(b"worktree /b\0bare\0\0");
        assert!(bare[0].bare && bare[0].head.is_none());
        assert_eq!(worktrees(b""), []);
        assert_eq!(worktrees(b"HEAD x\0\0garbage\0"), []);
    }

    #[test]
    fn reflog_times() {
        let line =
            |name: &str| format!("{A} {A} {name} <a@b> 1700000000 +0100\tcommit: x 5 +0000\n");
        assert_eq!(last_reflog_time(line("A B").as_bytes()), Some(1_700_000_000));
        assert_eq!(last_reflog_time(format!("x\n{}\n", line("")).as_bytes()), Some(1_700_000_000));
        assert_eq!(last_reflog_time(b""), None);
        assert_eq!(last_reflog_time(b"garbage\n"), None);
    }

    #[test]
    fn flags_of_files() {
        let text = b"H 100644 a 0\tx\0h 100644 b 0\ty z\0S 100755 c 0\tq\0s 1 d 0\te\0H 1 f 0\ta/.gitattributes\0";
        let flagged = flagged(text);
        assert_eq!(flagged.paths, ["y z", "q", "e"].map(PathBuf::from));
        let records = b"100644 b 0\ty z\x00100755 c 0\tq\x001 d 0\te\x001 f 0\ta/.gitattributes\0";
        assert_eq!(flagged.records, records);
    }

    #[test]
    fn branch_lines() {
        let text = format!(
            "{A} {A} refs/heads/a refs/remotes/o/a \n{A} {A} refs/remotes/o/HEAD  refs/remotes/o/a\n{A}\n"
        );
        let branches = branches(text.as_bytes());
        let fields =
            |branch: &Branch| [&branch.name, &branch.upstream, &branch.points_to].map(Clone::clone);
        let all: Vec<_> = branches.iter().map(fields).collect();
        assert_eq!(
            all,
            [
                ["refs/heads/a", "refs/remotes/o/a", ""],
                ["refs/remotes/o/HEAD", "", "refs/remotes/o/a"]
            ]
        );
    }

    #[test]
    fn merges_of_many() {
        let text = format!("1\0{A}\0\00\0{A}\0a b\0c\0\01\0{A}\0\01\0cut");
        let clean = Merge { clean: true, tree: A.into(), conflicts: Vec::new() };
        let conflicts =
            Merge { clean: false, conflicts: vec!["a b".into(), "c".into()], ..clean.clone() };
        assert_eq!(merges(text.as_bytes()), [clean.clone(), conflicts.clone(), clean.clone()]);
        assert_eq!(merges(b"fatal: no"), []);
        assert_eq!(merge(format!("{A}\0a b\0c\0").as_bytes(), false), Some(conflicts));
        assert_eq!(merge(format!("{A}\0").as_bytes(), true), Some(clean));
        assert_eq!(merge(b"usage: git merge-tree\0", false), None);
    }

    #[test]
    fn ref_lines() {
        let text = format!("{A} refs/heads/a\n{A} refs/remotes/o/b\n");
        let names: Vec<_> = refs(text.as_bytes()).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["refs/heads/a", "refs/remotes/o/b"]);
    }

    #[test]
    fn fuzz_worktrees() {
        let real = format!(
            "worktree /r\0HEAD {A}\0branch refs/heads/main\0\0worktree /b\0bare\0\0\
             worktree ../w a\n\0HEAD {A}\0detached\0locked a reason\nof two lines\0prunable x\0\0"
        );
        fuzz::damaged(&[real.as_bytes(), b"worktree /b\0bare\0\0"], |input| {
            let records = worktrees(input);
            let lines = input.split(|byte| *byte == 0);
            let named = lines.filter(|line| line.starts_with(b"worktree ") || *line == b"worktree");
            assert_eq!(records.len(), named.count());
            for record in records {
                assert!(fuzz::contains(input, record.path.as_os_str().as_bytes()));
                let branch = record.branch.unwrap_or_default();
                assert!(fuzz::contains(input, branch.as_bytes()));
                let head = record.head.unwrap_or_default();
                assert!(fuzz::contains(input, head.as_bytes()));
            }
        });
    }

    #[test]
    fn fuzz_lists() {
        let refs_text = format!("{A} refs/heads/a b\n{A} refs/remotes/o/b\n");
        let files =
            format!("H 100644 {A} 0\tx\0h 100644 {A} 1\ty z\0S 160000 {A} 0\tq/.gitattributes\0");
        let staged = format!("100644 {A} 0\tx\0160000 {A} 0\tsub\0120000 {A} 2\ty z\0");
        let real = [refs_text.as_bytes(), files.as_bytes(), staged.as_bytes()];
        fuzz::damaged(&real, |input| {
            for (id, name) in refs(input).into_iter().chain(remote_refs(input)) {
                assert_eq!(commit(id.as_bytes()), Some(id));
                assert!(fuzz::contains(input, name.as_bytes()));
            }
            let flagged = flagged(input);
            for path in flagged.paths.iter().chain(&paths(input)) {
                assert!(fuzz::contains(input, path.as_os_str().as_bytes()));
            }
            let records = flagged.records.split(|byte| *byte == 0).filter(|line| !line.is_empty());
            assert!(records.count() >= flagged.paths.len());
            assert!(staged_blobs(input).all(|id| fuzz::contains(input, id.as_bytes())));
        });
    }

    #[test]
    fn fuzz_reflogs() {
        let line = format!("{A} {A} A U Thor <a@b> 1700000000 +0100\tcommit: x 5 +0000\n");
        let moved = format!("{A} {A} A <a@b> 1700000000 +0100\tcheckout: moving\n");
        fuzz::damaged(&[line.as_bytes(), moved.as_bytes()], |input| {
            if let Some(seconds) = last_reflog_time(input) {
                let digits = seconds.unsigned_abs().to_string();
                assert!(fuzz::contains(input, digits.as_bytes()));
            }
            assert!(!made_commits(input) || input.contains(&b'\t'));
        });
    }
}
