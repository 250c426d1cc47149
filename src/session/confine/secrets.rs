//! Secrets of the system: what in `/etc` is not for every user to read. Root could read it inside too.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The folder of the system that holds passwords and keys.
const SETTINGS: &str = "/etc";
/// What every user may do with a file that is no secret.
const READ: u32 = 0o004;
/// The same for a folder.
const ENTER: u32 = 0o005;

/// A file or folder that is hidden.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Secret {
    /// A file.
    File(PathBuf),
    /// A folder, with all that is in it.
    Folder(PathBuf),
}

/// The secrets that are hidden from a command of root's. Other users cannot read them anyway.
pub fn all() -> Vec<Secret> {
    match rustix::process::geteuid().is_root() {
        true => below(Path::new(SETTINGS)),
        false => Vec::new(),
    }
}

fn below(folder: &Path) -> Vec<Secret> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            let (at, mode) = (entry.path(), meta.permissions().mode());
            let is = |what: u32| mode & what == what;
            match () {
                () if meta.is_dir() && is(ENTER) => todo.push(at),
                () if meta.is_dir() => found.push(Secret::Folder(at)),
                () if meta.is_file() && !is(READ) => found.push(Secret::File(at)),
                () => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_not_every_user_may_read_is_hidden() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        for (name, mode) in [("open", 0o755), ("closed", 0o711), ("open/deep", 0o750)] {
            fs::create_dir(top.join(name)).unwrap();
            fs::write(top.join(name).join("key"), "").unwrap();
            let modes = [("key", 0o640), ("", mode)];
            for (file, mode) in modes {
                let path = top.join(name).join(file);
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        fs::write(top.join("plain"), "").unwrap();
        fs::set_permissions(top.join("plain"), fs::Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink("open/key", top.join("link")).unwrap();
        let mut found = below(top);
        found.sort();
        let folder = |name: &str| Secret::Folder(top.join(name));
        let wanted = [Secret::File(top.join("open/key")), folder("closed"), folder("open/deep")];
        assert_eq!(found, wanted);
    }
}
