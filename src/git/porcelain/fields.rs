//! Fields that several of git's formats have.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// An object id, unless it is the null id of an unborn branch.
pub fn commit(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let hex = text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (hex && text.bytes().any(|byte| byte != b'0')).then(|| text.to_owned())
}

/// Reads a NUL-separated list of paths.
pub fn paths(bytes: &[u8]) -> Vec<PathBuf> {
    let paths = bytes.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()
}

/// Splits a line at the first of these bytes.
pub(super) fn cut(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let index = bytes.iter().position(|byte| *byte == at)?;
    Some((&bytes[..index], &bytes[index + 1..]))
}
