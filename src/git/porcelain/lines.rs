//! `git diff --raw --numstat -z`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::fields::cut;

/// A file that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Its path in the newer tree or, if it was deleted, in the older one.
    pub path: PathBuf,
    /// Its path in the older tree, where git takes it for renamed or copied.
    pub old_path: Option<PathBuf>,
    /// git's letter: `A`, `C`, `D`, `M`, `R`, `T` or `U`.
    pub letter: u8,
    /// Added and deleted lines; `None` for a binary file.
    pub lines: Option<(u64, u64)>,
}

/// Reads `git diff --raw --numstat -z`: first a raw record of each file, then the lines of each file in
/// the same order. `None` where it does not look like it.
pub fn changed_lines(bytes: &[u8]) -> Option<Vec<Changed>> {
    let mut pieces = bytes.split(|byte| *byte == 0).filter(|piece| !piece.is_empty()).peekable();
    let path = |piece: &[u8]| PathBuf::from(OsStr::from_bytes(piece));
    let mut found = Vec::new();
    while let Some(record) = pieces.next_if(|piece| piece.starts_with(b":")) {
        let letter = *record.rsplit(|byte| *byte == b' ').next()?.first()?;
        let first = path(pieces.next()?);
        let (path, old_path) = match letter {
            b'R' | b'C' => (path(pieces.next()?), Some(first)),
            _ => (first, None),
        };
        found.push(Changed { path, old_path, letter, lines: None });
    }
    for changed in &mut found {
        let (added, rest) = cut(pieces.next()?, b'\t')?;
        let (deleted, name) = cut(rest, b'\t')?;
        if name.is_empty() {
            pieces.next()?;
            pieces.next()?;
        }
        changed.lines = number(added).zip(number(deleted));
    }
    pieces.next().is_none().then_some(found)
}

fn number(bytes: &[u8]) -> Option<u64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    const REAL: &[u8] = b":100644 000000 4bcfe98 0000000 D\0del\0\
        :100644 100644 422c2b7 de98044 R066\0f\0f 2\0\
        :000000 120000 0000000 4d1ae35 A\0:l\0\
        0\t1\tdel\x001\t0\t\0f\0f 2\0-\t-\t:l\0";

    #[test]
    fn files_that_differ() {
        let found = changed_lines(REAL).unwrap();
        let row = |path: &str, old: Option<&str>, letter, lines| Changed {
            path: path.into(),
            old_path: old.map(Into::into),
            letter,
            lines,
        };
        assert_eq!(
            found,
            [
                row("del", None, b'D', Some((0, 1))),
                row("f 2", Some("f"), b'R', Some((1, 0))),
                row(":l", None, b'A', None),
            ]
        );
        assert_eq!(changed_lines(b""), Some(Vec::new()));
        assert_eq!(changed_lines(b"fatal: no\0"), None);
    }

    #[test]
    fn fuzz_changes() {
        fuzz::damaged(&[REAL], |input| {
            for changed in changed_lines(input).unwrap_or_default() {
                assert!(fuzz::contains(input, changed.path.as_os_str().as_bytes()));
            }
        });
    }
}
