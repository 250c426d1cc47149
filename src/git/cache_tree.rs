//! The trees that an index remembers: git's cache of trees, its `TREE` extension.
//!
//! `git gc` of a repository reads them from the index of every registered worktree, and fails where
//! one is missing. So they are kept as long as the index is.

/// The fields of an entry before its id: ten words of four bytes.
const STAT: usize = 40;
const EXTENDED: u16 = 0x4000;

/// Returns the ids of the uppermost trees that an index remembers; none where the index is in a form
/// that is not understood.
pub fn trees(index: &[u8]) -> Vec<String> {
    [20, 32].iter().find_map(|id| read(index, *id)).unwrap_or_default()
}

fn read(bytes: &[u8], id: usize) -> Option<Vec<String>> {
    let body = bytes.get(..bytes.len().checked_sub(id)?)?;
    let version = word(body, 4)?;
    if !body.starts_with(b"DIRC") || !matches!(version, 2..=4) {
        return None;
    }
    let mut at = 12;
    for _ in 0..word(body, 8)? {
        at = next_entry(body, at, id, version)?;
    }
    let mut found = Vec::new();
    while at < body.len() {
        let size = usize::try_from(word(body, at + 4)?).ok()?;
        let inside = body.get(at + 8..at.checked_add(8)?.checked_add(size)?)?;
        if body.get(at..at + 4)? == b"TREE" && !inside.is_empty() {
            let end = node(inside, 0, id, true, &mut found)?;
            (end == inside.len()).then_some(())?;
        }
        at += 8 + size;
    }
    (at == body.len()).then_some(found)
}

/// Returns where the entry after the one at `at` begins.
fn next_entry(body: &[u8], at: usize, id: usize, version: u32) -> Option<usize> {
    let flags_at = at + STAT + id;
    let flags = u16::from_be_bytes(body.get(flags_at..flags_at + 2)?.try_into().ok()?);
    let mut path = flags_at + if flags & EXTENDED == 0 { 2 } else { 4 };
    if version == 4 {
        // How much of the path before it is left off, as a number of variable length.
        path += body.get(path..)?.iter().position(|byte| byte & 0x80 == 0)? + 1;
    }
    let end = path + body.get(path..)?.iter().position(|byte| *byte == 0)?;
    Some(if version == 4 { end + 1 } else { at + ((end - at + 8) & !7) })
}

/// Reads a tree and those inside it: a name, how many files it spans or -1, how many trees are inside,
/// and its id if it is known. Returns where it ends. `wanted` is false below a tree that is known.
fn node(
    bytes: &[u8],
    at: usize,
    id: usize,
    wanted: bool,
    found: &mut Vec<String>,
) -> Option<usize> {
    let counts = at + bytes.get(at..)?.iter().position(|byte| *byte == 0)? + 1;
    let end = counts + bytes.get(counts..)?.iter().position(|byte| *byte == b'\n')?;
    let (files, trees) = std::str::from_utf8(&bytes[counts..end]).ok()?.split_once(' ')?;
    let is_known = files.parse::<i64>().ok()? >= 0;
    let mut at = end + 1;
    if is_known {
        let digits = bytes.get(at..at + id)?.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let hex = digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
        found.extend(wanted.then_some(hex));
        at += id;
    }
    for _ in 0..trees.parse::<u32>().ok()? {
        at = node(bytes, at, id, wanted && !is_known, found)?;
    }
    Some(at)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    /// An index of two files, in this version, with this cache of trees.
    fn index(version: u32, cache: &[u8]) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend(2_u32.to_be_bytes());
        for path in ["a", "in/b"] {
            let start = bytes.len();
            bytes.extend(vec![0; STAT + 20]);
            bytes.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
            if version == 4 {
                bytes.push(0);
                bytes.extend(path.as_bytes());
                bytes.push(0);
            } else {
                bytes.extend(path.as_bytes());
                let padding = 8 - (bytes.len() - start) % 8;
                bytes.extend(vec![0; padding]);
            }
        }
        bytes.extend(b"TREE");
        bytes.extend(u32::try_from(cache.len()).unwrap().to_be_bytes());
        bytes.extend(cache);
        bytes.extend(vec![7; 20]);
        bytes
    }

    #[test]
    fn the_uppermost_known_trees_are_found() {
        let (root, inner) = ([0xaa; 20], [0xbb; 20]);
        let known = [&b"\x002 1\n"[..], &root, b"in\x001 0\n", &inner].concat();
        let below = [&b"\0-1 1\n"[..], b"in\x001 0\n", &inner].concat();
        for version in 2..=4 {
            assert_eq!(trees(&index(version, &known)), ["aa".repeat(20)], "{version}");
            assert_eq!(trees(&index(version, &below)), ["bb".repeat(20)], "{version}");
            assert_eq!(trees(&index(version, b"\0-1 0\n")), [""; 0], "{version}");
        }
        assert_eq!(trees(b""), [""; 0]);
    }

    #[test]
    fn fuzz_cached_trees() {
        let known = [&b"\x002 1\n"[..], &[0xaa; 20], b"in\x001 0\n", &[0xbb; 20]].concat();
        fuzz::damaged(&[&index(2, &known), &index(4, &known)], |input| {
            for id in trees(input) {
                assert!(id.len() == 40 || id.len() == 64);
            }
        });
    }
}
