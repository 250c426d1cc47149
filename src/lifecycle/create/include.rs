//! Files that a fresh checkout lacks: ignored ones that `.worktreeinclude` in the main worktree names
//! are copied from there, as clones where the file system can.
//!
//! Only what git ignores, only from the main worktree, never over anything, never through a symlink.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::seek;
use rustix::io::Errno;

use crate::error::{Doing, Error, Result};
use crate::git::{Git, porcelain};
use crate::sys::{crash_point, signals};
use crate::ui::progress::Progress;

const FILE: &str = ".worktreeinclude";
/// How much is copied between two looks at the signals.
const PIECE: usize = 1 << 20;

/// Whether there may be any. A file that cannot be looked at may name some: git says then why not.
pub fn is_wanted(main: &Path) -> bool {
    match fs::metadata(main.join(FILE)) {
        Ok(meta) => meta.is_file(),
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// Copies them; what could not be copied is the error.
pub fn copy(git: &Git, main: &Path, to: &Path) -> Result<()> {
    if !is_wanted(main) {
        return Ok(());
    }
    let git = git.at(main);
    let mut from = OsString::from("--exclude-from=");
    from.push(main.join(FILE));
    let call = git.look(["ls-files", "--others", "--ignored", "-z"]).arg(from);
    let named = call.read("find the files that .worktreeinclude names")?;
    let ignored = git.look(["check-ignore", "-z", "--stdin"]).ask_with(named)?;
    // One says that none is.
    if !matches!(ignored.code, Some(0 | 1)) {
        let doing = "find the ignored files that .worktreeinclude names".into();
        return Err(Error::Git { doing, why: ignored.why() });
    }
    // A nested repository is listed as a folder: it is not ours to copy.
    let is_file = |path: &PathBuf| !path.as_os_str().as_bytes().ends_with(b"/");
    let files: Vec<PathBuf> =
        porcelain::paths(&ignored.stdout).into_iter().filter(is_file).collect();
    let mut progress = Progress::new("copying files", files.len());
    let mut folders = Vec::new();
    let copied = files.iter().try_for_each(|file| {
        signals::check()?;
        let (source, target) = (main.join(file), to.join(file));
        copy_one(&source, to, file, &mut folders).at("copy to", &target)?;
        progress.step();
        Ok(())
    });
    // Only now: a folder may be read-only.
    for (folder, permissions) in folders.into_iter().rev() {
        fs::set_permissions(&folder, permissions).at("set the mode of", &folder)?;
    }
    copied
}

/// Copies a file, and adds the folders that it made to those that are still to get their modes.
fn copy_one(
    source: &Path,
    to: &Path,
    file: &Path,
    folders: &mut Vec<(PathBuf, Permissions)>,
) -> io::Result<()> {
    let target = to.join(file);
    let mut folder = to.to_owned();
    let depth = file.components().count();
    let mut from = source.ancestors().nth(depth).unwrap_or(source).to_owned();
    for part in file.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        from.push(part);
        let permissions = fs::metadata(&from)?.permissions();
        // Nobody else may look into a private one meanwhile.
        match DirBuilder::new().mode(permissions.mode() | 0o700).create(&folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => folders.push((folder.clone(), permissions)),
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
        return copy_file(source, &target, meta.permissions());
    }
    Ok(())
}

/// Copies a file as a clone or, where there are none, piece by piece. A file that another process has
/// made there meanwhile stays.
fn copy_file(source: &Path, target: &Path, permissions: Permissions) -> io::Result<()> {
    let copied = if reflink_copy::reflink(source, target).is_ok() {
        fs::set_permissions(target, permissions)
    } else {
        copy_pieces(File::open(source)?, File::create_new(target)?, permissions)
    };
    if copied.is_err() {
        // Half a file is worse than none.
        let _ = fs::remove_file(target);
    }
    copied
}

/// Copies a file piece by piece. Holes stay holes; a signal ends it between two pieces.
fn copy_pieces(mut from: File, mut to: File, permissions: Permissions) -> io::Result<()> {
    to.set_permissions(permissions)?;
    let length = from.metadata()?.len();
    let mut at = 0;
    while at < length {
        let (start, end) = next_data(&from, at, length)?;
        from.seek(SeekFrom::Start(start))?;
        to.seek(SeekFrom::Start(start))?;
        copy_piece(&mut from, &mut to, end - start)?;
        at = end;
    }
    to.set_len(length)
}

/// Where the next data of a file begins and ends; what is between is a hole.
fn next_data(file: &File, at: u64, length: u64) -> io::Result<(u64, u64)> {
    match seek(file, rustix::fs::SeekFrom::Data(at)) {
        Ok(start) => {
            let end = seek(file, rustix::fs::SeekFrom::Hole(start)).unwrap_or(length);
            Ok((start.min(length), end.min(length)))
        }
        // Nothing but a hole is left.
        Err(Errno::NXIO) => Ok((length, length)),
        // The file system does not tell.
        Err(Errno::INVAL | Errno::NOTSUP | Errno::NOSYS) => Ok((at, length)),
        Err(error) => Err(error.into()),
    }
}

fn copy_piece(from: &mut File, to: &mut File, length: u64) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    let mut left = length;
    while left > 0 {
        crash_point::reached();
        signals::check().map_err(|_| io::Error::other("interrupted"))?;
        let wanted = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
        let read = from.read(&mut buffer[..wanted])?;
        if read == 0 {
            // It was cut short meanwhile.
            return Ok(());
        }
        to.write_all(&buffer[..read])?;
        left -= read as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_first_is_neither_replaced_nor_removed() {
        let dir = tempfile::tempdir().unwrap();
        let [source, target] = ["source", "target"].map(|name| dir.path().join(name));
        fs::write(&source, "copied").unwrap();
        fs::write(&target, "mine").unwrap();
        let permissions = fs::metadata(&source).unwrap().permissions();
        let copied = copy_file(&source, &target, permissions);
        assert_eq!(copied.unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    }
}
