//! Where file systems are mounted.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Where file systems are mounted, as far as the system tells.
pub fn all() -> Vec<PathBuf> {
    let text = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let points = text.split(|byte| *byte == b'\n').filter_map(|line| {
        let point = line.split(|byte| *byte == b' ').nth(4)?;
        Some(PathBuf::from(std::ffi::OsStr::from_bytes(&unescaped(point))))
    });
    points.collect()
}

/// The kernel writes spaces and the like as `\040`.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        let octal = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        let code = code.filter(|_| *first == b'\\');
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    #[test]
    fn mount_points_are_unescaped() {
        assert_eq!(unescaped(br"/a\040b\134c\04"), br"/a b\c\04");
    }

    #[test]
    fn fuzz_mount_points() {
        fuzz::damaged(&[br"/a\040b\134c\04", br"\777\000"], |input| {
            let plain = unescaped(input);
            assert!(plain.len() <= input.len());
            assert!(input.contains(&b'\\') || plain == input);
        });
    }
}
