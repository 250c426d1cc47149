//! Files that a fresh checkout lacks: ignored ones that `.worktreeinclude` in the main worktree names
//! are copied from there, as clones where the file system can.
//!
//! Only what git ignores, only from the main worktree, never over anything, never through a symlink.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Result};
use crate::git::Git;
use crate::porcelain;
use crate::progress::Progress;

const FILE: &str = ".worktreeinclude";

/// Copies them; what could not be copied is the error.
pub fn copy(git: &Git, main: &Path, to: &Path) -> Result<()> {
    if !main.join(FILE).is_file() {
        return Ok(());
    }
    let git = git.at(main);
    let mut from = OsString::from("--exclude-from=");
    from.push(main.join(FILE));
    let call = git.look(["ls-files", "--others", "--ignored", "-z"]).arg(from);
    let named = call.read("find the files that .worktreeinclude names")?;
    let ignored = git.look(["check-ignore", "-z", "--stdin"]).ask_with(named)?;
    // A nested repository is listed as a folder: it is not ours to copy.
    let is_file = |path: &PathBuf| !path.as_os_str().as_bytes().ends_with(b"/");
    let files: Vec<PathBuf> =
        porcelain::paths(&ignored.stdout).into_iter().filter(is_file).collect();
    let mut progress = Progress::new("copying files", files.len());
    for file in files {
        let (source, target) = (main.join(&file), to.join(&file));
        copy_one(&source, to, &file).at("copy to", &target)?;
        progress.step();
    }
    Ok(())
}

fn copy_one(source: &Path, to: &Path, file: &Path) -> io::Result<()> {
    let target = to.join(file);
    let mut folder = to.to_owned();
    let depth = file.components().count();
    let mut from = source.ancestors().nth(depth).unwrap_or(source).to_owned();
    for part in file.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        from.push(part);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => fs::set_permissions(&folder, fs::metadata(&from)?.permissions())?,
        }
        // A symlink of the checkout could lead anywhere.
        if !fs::symlink_metadata(&folder)?.is_dir() {
            return Ok(());
        }
    }
    if target.symlink_metadata().is_ok() {
        return Ok(());
    }
    let meta = fs::symlink_metadata(source)?;
    if meta.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(source)?, &target);
    }
    if meta.is_file() {
        reflink_copy::reflink_or_copy(source, &target)?;
    }
    Ok(())
}
