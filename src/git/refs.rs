//! Full and short names of branches.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

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
