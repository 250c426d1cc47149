//! What shapes a checkout besides the commit: two checkouts of one commit with the same fingerprint
//! are the same.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::repo::{Repo, name};
use crate::sys::path;

/// Sections of the config that have a say in what a checkout writes, and how git keeps it.
const SECTIONS: [&str; 10] = [
    "attr.",
    "core.",
    "extensions.",
    "feature.",
    "filter.",
    "i18n.",
    "index.",
    "lfs.",
    "sparse.",
    "worktree.",
];

/// Variables that do.
const VARIABLES: [&str; 2] = ["GIT_ATTR_", "GIT_LFS_"];

/// A hash of the config, the attributes outside of the tree, the sparse patterns, variables, the mask
/// for modes, and which git it is.
pub fn fingerprint(repo: &Repo) -> String {
    let mut bytes = Vec::new();
    let mut add = |name: &str, value: &[u8]| {
        bytes.extend([name.as_bytes(), &[0], &value.len().to_le_bytes(), value].concat());
    };
    for (key, value) in repo.config.of_sections(&SECTIONS) {
        add(key, value.as_bytes());
    }
    let mut variables: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| {
            VARIABLES.iter().any(|lead| name.as_bytes().starts_with(lead.as_bytes()))
        })
        .collect();
    variables.sort();
    for (name, value) in variables {
        add(&name.to_string_lossy(), value.as_bytes());
    }
    let files = [
        repo.common.join("info/attributes"),
        repo.git_dir.join("info/sparse-checkout"),
        repo.git_dir.join("config.worktree"),
        PathBuf::from("/etc/gitattributes"),
    ];
    for file in files.into_iter().chain(users_attributes(repo)) {
        // Whose worktree it is does not matter, only what it says.
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        add(&name, &fs::read(&file).unwrap_or_default());
    }
    add("umask", &umask().to_le_bytes());
    // One git may be found by several paths.
    add("git", &fs::metadata(repo.git.path()).map_or(0, |meta| meta.len()).to_le_bytes());
    name::hash(OsStr::from_bytes(&bytes))
}

/// Where the user's own attributes are; a `~` of another user's is read as it stands.
fn users_attributes(repo: &Repo) -> Option<PathBuf> {
    let home = || path::absolute("HOME");
    if let Some(value) = repo.config.get("core.attributesfile") {
        return match value.strip_prefix("~/") {
            Some(rest) => home().map(|home| home.join(rest)),
            None => Some(repo.git.dir().join(Path::new(value))),
        };
    }
    let config = path::absolute("XDG_CONFIG_HOME");
    let config = config.or_else(|| home().map(|home| home.join(".config")));
    config.map(|config| config.join("git/attributes"))
}

/// The mask for modes. It can only be read by setting it, which other threads would notice: asked once,
/// before there are any.
fn umask() -> rustix::fs::RawMode {
    use std::sync::OnceLock;

    use rustix::fs::{Mode, RawMode};
    static MASK: OnceLock<RawMode> = OnceLock::new();
    *MASK.get_or_init(|| {
        let mask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
        rustix::process::umask(mask);
        mask.as_raw_mode()
    })
}
