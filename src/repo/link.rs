//! The two pointers of a linked worktree: the entry's `gitdir` and the folder's `.git`. After a
//! rename both are written anew, each in the form it had: absolute or relative.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::Git;
use crate::journal::{self, replace};

/// Makes entry and folder name each other.
pub fn connect(entry: &Path, folder: &Path) -> Result<()> {
    let dot_git = folder.join(".git");
    let gitdir = entry.join("gitdir");
    let old = crate::file::read_small(&gitdir).at("read", &gitdir)?;
    let new = if old.starts_with(b"/") { dot_git.clone() } else { relative(entry, &dot_git) };
    write(&gitdir, b"", &new, &old)?;
    // Only in the entry: in the folder a file of that name may be the user's.
    journal::clear(&gitdir);
    let old = crate::file::read_small(&dot_git).at("read", &dot_git)?;
    let Some(path) = old.strip_prefix(b"gitdir: ") else {
        let name = folder.to_string_lossy().into_owned();
        return Err(Error::Damaged { name, why: "its '.git' file is not understood".into() });
    };
    let new = if path.starts_with(b"/") { entry.to_owned() } else { relative(folder, entry) };
    write(&dot_git, b"gitdir: ", &new, &old)
}

fn write(file: &Path, lead: &[u8], path: &Path, old: &[u8]) -> Result<()> {
    let text = [lead, path.as_os_str().as_bytes(), b"\n"].concat();
    if text == old { Ok(()) } else { replace(file, &text) }
}

/// A submodule and its git dir name each other by relative paths: a folder that comes back under
/// another name must tell its submodules.
pub fn connect_submodules(git: &Git, entry: &Path, folder: &Path) -> Result<()> {
    let inside = crate::gather::look_inside(folder).at("read", folder)?;
    for path in inside.repositories {
        let submodule = folder.join(path);
        let file = submodule.join(".git");
        let Ok(text) = crate::file::read_small(&file) else { continue };
        let Some(pointer) = text.strip_prefix(b"gitdir: ").map(<[u8]>::trim_ascii_end) else {
            continue;
        };
        // Its git dir is `<entry>/modules/<name>`, however far up the old path went.
        let pointer = Path::new(OsStr::from_bytes(pointer));
        let modules = entry.join("modules");
        let tails = pointer.ancestors().filter_map(|lead| pointer.strip_prefix(lead).ok());
        let mut dirs = tails.map(|tail| modules.join(tail)).filter(|dir| dir.starts_with(&modules));
        let Some(git_dir) = dirs.find(|dir| dir.join("HEAD").is_file()) else { continue };
        write(&file, b"gitdir: ", &relative(&submodule, &git_dir), &text)?;
        let config = git_dir.join("config");
        let call = git.call(["config", "--file"]).arg(config).arg("core.worktree");
        call.arg(relative(&git_dir, &submodule)).done("reconnect a submodule")?;
    }
    Ok(())
}

/// The way from one folder to a path, both absolute.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<_>, Vec<_>) = (from.components().collect(), to.components().collect());
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = from[shared..].iter().map(|_| Component::ParentDir);
    up.chain(to[shared..].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz;

    #[test]
    fn relative_paths() {
        let way = |from: &str, to: &str| relative(Path::new(from), Path::new(to));
        assert_eq!(way("/a/.git/worktrees/x", "/b/x/.git"), Path::new("../../../../b/x/.git"));
        assert_eq!(way("/a/b", "/a/b/c"), Path::new("c"));
    }

    #[test]
    fn fuzz_relative_paths() {
        let real = ["/a/.git/worktrees/x\n/b/x/.git", "/a/b\n/a/b/c", "/\n/a"];
        fuzz::damaged_words(&real, |words| {
            let [from, to, ..] = &words[..] else { return };
            let absolute = |word| crate::repo::tidy(&Path::new("/").join(word));
            let (from, to) = (absolute(from), absolute(to));
            assert_eq!(crate::repo::tidy(&from.join(relative(&from, &to))), to);
        });
    }
}
