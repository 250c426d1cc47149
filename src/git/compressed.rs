//! The fourth version of git's index, in which a path is written as what differs from the one before.

/// A path is never longer: the system would not take it.
const LONGEST: usize = 4096;
/// What stands before the flags of an entry, without the object id: ten numbers of 32 bits.
const SEEN: usize = 40;
const EXTENDED: u8 = 0x40;

/// Returns an index with whole paths, as the third version has them. An index of an earlier version is
/// returned as it is; `None` where it is cut short, or would be larger than `most`.
pub fn expanded(bytes: Vec<u8>, id: usize, most: u64) -> Option<Vec<u8>> {
    if !bytes.starts_with(b"DIRC\0\0\0\x04") {
        return Some(bytes);
    }
    let count = u32::from_be_bytes(bytes.get(8..12)?.try_into().ok()?);
    let mut whole = [b"DIRC\0\0\0\x03", bytes.get(8..12)?].concat();
    let (mut at, mut path) = (12, Vec::new());
    for _ in 0..count {
        let start = whole.len();
        let flags = *bytes.get(at + SEEN + id)?;
        let fixed = SEEN + id + if flags & EXTENDED == 0 { 2 } else { 4 };
        whole.extend(bytes.get(at..at + fixed)?);
        at += fixed;
        let (cut, after) = number(&bytes, at)?;
        let length = bytes.get(after..)?.iter().position(|byte| *byte == 0)?;
        path.truncate(path.len().checked_sub(cut)?);
        path.extend(&bytes[after..after + length]);
        at = after + length + 1;
        whole.extend(&path);
        let padding = 8 - (whole.len() - start) % 8;
        whole.resize(whole.len() + padding, 0);
        if path.len() > LONGEST || whole.len() as u64 > most {
            return None;
        }
    }
    whole.extend(bytes.get(at..)?);
    Some(whole)
}

/// A number of seven bits in each byte, the highest first, and where it ends. Each byte but the last
/// counts one more than it says.
fn number(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    loop {
        let byte = *bytes.get(at)?;
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        at += 1;
        if byte & 0x80 == 0 {
            return Some((value, at));
        }
        value = value.checked_add(1)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    /// Entries with these flags, lengths to cut and rests.
    fn index(entries: &[(u8, &[u8], &str)]) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0\x04\0\0\0".to_vec();
        bytes.push(u8::try_from(entries.len()).unwrap());
        for (flags, cut, rest) in entries {
            bytes.extend([7; SEEN + 20]);
            bytes.extend([*flags, 1]);
            bytes.extend(vec![9; if flags & EXTENDED == 0 { 0 } else { 2 }]);
            bytes.extend(*cut);
            bytes.extend([rest.as_bytes(), b"\0"].concat());
        }
        bytes.extend(b"the rest");
        bytes
    }

    #[test]
    fn paths_become_whole() {
        let long = "x".repeat(200);
        let bytes = index(&[(0, b"\0", "a/b"), (EXTENDED, b"\x01", &long), (0, b"\x80\x48", "/c")]);
        let whole = expanded(bytes.clone(), 20, 10_000).unwrap();
        assert!(whole.starts_with(b"DIRC\0\0\0\x03\0\0\0\x03") && whole.ends_with(b"the rest"));
        let text = String::from_utf8_lossy(&whole).into_owned();
        assert!(text.contains(&format!("a/{long}\0")) && text.contains("a//c\0"), "{text}");
        // 62, 64 and 62 bytes before paths of 3, 202 and 4, each filled up to a multiple of 8.
        assert_eq!(whole.len(), 12 + 72 + 272 + 72 + 8);
        assert_eq!(expanded(bytes.clone(), 20, 300), None);
        for end in 12..bytes.len() - 8 {
            assert_eq!(expanded(bytes[..end].to_vec(), 20, 10_000), None, "{end}");
        }
        assert_eq!(expanded(index(&[(0, b"\x01", "a")]), 20, 10_000), None);
        assert_eq!(expanded(index(&[(0, b"\0", &"x".repeat(5000))]), 20, 10_000), None);
        assert_eq!(expanded(b"DIRC\0\0\0\x02".to_vec(), 20, 9), Some(b"DIRC\0\0\0\x02".to_vec()));
        fuzz::damaged(&[&bytes], |input| drop(expanded(input.to_vec(), 20, 10_000)));
    }
}
