//! `git status --porcelain=v2`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::fields::cut;

/// What `git status --porcelain=v2 --branch -z` tells of a worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Files with staged changes.
    pub staged: u64,
    /// Files with unstaged changes.
    pub unstaged: u64,
    /// Files git does not track.
    pub untracked: u64,
    /// Files with conflicts.
    pub conflicted: u64,
    /// The upstream's short name.
    pub upstream: Option<String>,
    /// Commits ahead of and behind the upstream.
    pub divergence: Option<(u64, u64)>,
    /// Every path that is changed or untracked, relative to the worktree.
    pub paths: Vec<PathBuf>,
    /// Those of them that are only meant to be added (`git add --intent-to-add`).
    pub intended: Vec<PathBuf>,
    /// What is ignored, where that was asked for; folders end in `/`.
    pub ignored: Vec<PathBuf>,
}

impl Status {
    /// How many files have uncommitted changes; one both staged and unstaged counts once.
    pub fn changes(&self) -> u64 {
        self.paths.len() as u64
    }
}

/// Reads `git status --porcelain=v2 --branch -z`; `None` where it does not look like it.
pub fn status(bytes: &[u8]) -> Option<Status> {
    let mut status = Status::default();
    let mut lines = bytes.split(|byte| *byte == 0);
    while let Some(line) = lines.next() {
        let Some((kind, rest)) = cut(line, b' ') else {
            if line.is_empty() {
                continue;
            }
            return None;
        };
        // `1 XY sub mH mI mW hH hI path`; a rename adds a score and, after a NUL, the old path;
        // `u XY sub m1 m2 m3 mW h1 h2 h3 path`.
        let fields_before_path = match kind {
            b"#" => {
                header(&mut status, rest);
                continue;
            }
            b"?" => 0,
            b"!" => {
                status.ignored.push(PathBuf::from(OsStr::from_bytes(rest)));
                continue;
            }
            b"1" => 7,
            b"2" => 8,
            b"u" => 9,
            _ => return None,
        };
        match (kind, rest) {
            (b"?", _) => status.untracked += 1,
            (b"u", _) => status.conflicted += 1,
            (_, [index, tree, ..]) => {
                status.staged += u64::from(*index != b'.');
                status.unstaged += u64::from(*tree != b'.');
            }
            _ => return None,
        }
        let path =
            rest.splitn(fields_before_path + 1, |byte| *byte == b' ').nth(fields_before_path)?;
        let path = PathBuf::from(OsStr::from_bytes(path));
        if kind == b"1" && rest.starts_with(b".A") {
            status.intended.push(path.clone());
        }
        status.paths.push(path);
        if kind == b"2" {
            lines.next()?;
        }
    }
    Some(status)
}

fn header(status: &mut Status, line: &[u8]) {
    let text = String::from_utf8_lossy(line);
    match text.split_once(' ') {
        Some(("branch.upstream", name)) => status.upstream = Some(name.to_owned()),
        Some(("branch.ab", counts)) => {
            let number = |text: &str, sign| text.strip_prefix(sign)?.parse().ok();
            let pair = counts.split_once(' ');
            status.divergence =
                pair.and_then(|(more, less)| Some((number(more, '+')?, number(less, '-')?)));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    const A: &str = "1111111111111111111111111111111111111111";

    #[test]
    fn status_counts_and_paths() {
        let text =
            b"# branch.oid 1\0# branch.head x\0# branch.upstream origin/x\0# branch.ab +2 -1\0\
            1 MM N... 100644 100644 100644 a b both sides\0\
            1 .D N... 100644 100644 000000 a b gone\0\
            2 R. N... 100644 100644 100644 a b R100 new name\0old name\0\
            u UU N... 100644 100644 100644 100644 a b c clash\0\
            ? un tracked\n\0! ignored\0";
        let status = status(text).unwrap();
        assert_eq!((status.staged, status.unstaged), (2, 2));
        assert_eq!((status.untracked, status.conflicted), (1, 1));
        assert_eq!(status.upstream.as_deref(), Some("origin/x"));
        assert_eq!(status.divergence, Some((2, 1)));
        let paths: Vec<_> = status.paths.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(paths, ["both sides", "gone", "new name", "clash", "un tracked\n"]);
        assert_eq!(status.changes(), 5);
        assert_eq!(status.ignored, [PathBuf::from("ignored")]);
    }

    #[test]
    fn a_status_that_is_none_is_not_clean() {
        assert_eq!(super::status(b"fatal: not a git repository"), None);
        assert_eq!(super::status(b"1 M\0"), None);
        assert_eq!(
            super::status(b"2 R. N... 1 1 1 a b R100 new\0"),
            Some(Status { staged: 1, paths: vec!["new".into()], ..Status::default() })
        );
        assert_eq!(super::status(b""), Some(Status::default()));
        for counts in ["", "+1", "+1 ", "1 2", "é2 -1"] {
            let text = format!("# branch.ab {counts}\0");
            assert_eq!(super::status(text.as_bytes()), Some(Status::default()), "{counts}");
        }
    }

    fn real_status() -> Vec<u8> {
        format!(
            "# branch.oid {A}\0# branch.head x\0# branch.upstream origin/x\0# branch.ab +2 -1\0\
             # stash 3\01 MM N... 100644 100644 100644 {A} {A} both sides\0\
             1 .D S.M. 100644 100644 000000 {A} {A} gone\0\
             2 R. N... 100644 100644 100644 {A} {A} R100 new name\0old name\0\
             u UU N... 100644 100644 100644 100644 {A} {A} {A} clash\0? un tracked\n\0! ignored/\0"
        )
        .into_bytes()
    }

    #[test]
    fn fuzz_status() {
        let short = b"? a\0! b\0".as_slice();
        fuzz::damaged(&[&real_status(), short], |input| {
            let Some(status) = status(input) else { return };
            for path in status.paths.iter().chain(&status.ignored) {
                assert!(fuzz::contains(input, path.as_os_str().as_bytes()));
            }
            let counts = [status.staged, status.unstaged, status.untracked, status.conflicted];
            assert!(counts.iter().all(|count| *count <= status.changes()));
            // Only what says nothing of a change is clean.
            let lines = input.split(|byte| *byte == 0).filter(|line| !line.is_empty());
            let quiet = |line: &[u8]| line.starts_with(b"# ") || line.starts_with(b"! ");
            assert_eq!(status.changes() == 0, lines.clone().all(quiet));
        });
    }
}
