//! Small files where others can write too: pointers, journals, facts, reflogs.
//!
//! Reads only plain files: a pipe would block, a device never end. Writes a new file with `O_EXCL`, so
//! that a planted symlink is never followed.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::error::{Doing, Result};
use crate::sys::random;

/// Readable and writable by its owner alone.
const PRIVATE: u32 = 0o600;

/// More than any file of ours holds.
const LARGEST: u64 = 16 << 20;

/// Opens a plain file.
pub fn open(path: &Path) -> io::Result<File> {
    plain(OpenOptions::new().read(true), OFlags::empty(), path)
}

/// Opens a plain file of the user's alone to read it and to write at its end; not through a symlink.
/// With `new` it must not be there yet.
pub fn open_private(path: &Path, new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).mode(PRIVATE);
    let options = if new { options.create_new(true) } else { options.create(true) };
    let file = plain(options, OFlags::NOFOLLOW, path)?;
    close_to_others(&file)?;
    Ok(file)
}

/// Takes a file's permissions from all users but its owner.
fn close_to_others(file: &File) -> io::Result<()> {
    match file.metadata()?.mode() & 0o077 {
        0 => Ok(()),
        _ => file.set_permissions(Permissions::from_mode(PRIVATE)),
    }
}

/// Takes the permissions of a plain file, if there is one, from all users but its owner.
pub fn protect(path: &Path) -> io::Result<()> {
    match plain(OpenOptions::new().read(true), OFlags::NOFOLLOW, path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => close_to_others(&other?),
    }
}

fn plain(options: &mut OpenOptions, flags: OFlags, path: &Path) -> io::Result<File> {
    let flags = (flags | OFlags::NONBLOCK).bits().cast_signed();
    let file = options.custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is not a plain file")),
    }
}

/// Reads a plain file of git's, however large.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a plain file that a command which is not trusted may have put there; not through a symlink, and
/// no more than `most` bytes.
pub fn read_untrusted(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = plain(OpenOptions::new().read(true), OFlags::NOFOLLOW, path)?;
    let is_larger = file.metadata()?.len() > most;
    if !is_larger {
        file.take(most + 1).read_to_end(&mut bytes)?;
    }
    match is_larger || bytes.len() as u64 > most {
        true => Err(io::Error::new(ErrorKind::InvalidData, "it is too large")),
        false => Ok(bytes),
    }
}

/// Reads a small plain file.
pub fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= LARGEST {
        true => Ok(bytes),
        false => Err(io::Error::new(ErrorKind::InvalidData, "it is too large")),
    }
}

/// Reads a small plain file; `None` if nothing of that sort is there.
pub fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    use ErrorKind::{InvalidData, InvalidInput, NotADirectory, NotFound};
    match read_small(path) {
        Err(error)
            if matches!(error.kind(), NotFound | NotADirectory | InvalidData | InvalidInput) =>
        {
            Ok(None)
        }
        read => read.map(Some),
    }
}

/// Makes a file that was not there before; what stood in its place goes.
pub fn create(path: &Path) -> io::Result<File> {
    create_with(path, 0o666)
}

/// Makes a file that was not there before, for the user's eyes alone; what stood in its place goes.
pub fn create_private(path: &Path) -> io::Result<File> {
    create_with(path, PRIVATE)
}

fn create_with(path: &Path, mode: u32) -> io::Result<File> {
    // A folder that is not known is an empty path: nothing of ours goes to where a command was typed.
    if !path.is_absolute() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not known where it belongs"));
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

/// Makes names in a folder last.
pub fn sync(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).at("sync", folder)
}

pub fn new_name(name: &str) -> String {
    format!("{name}.new")
}

/// Removes what a crash left of replacing a file. The caller must hold the lock under which the file
/// is replaced.
pub fn clear(path: &Path) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let _ = fs::remove_file(path.with_file_name(new_name(&name)));
}

/// Replaces a small file, synced, by rename.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let next = path.with_file_name(new_name(&name));
    let file = create(&next).at("write", path)?;
    fill_and_rename(file, bytes, &next, path)
}

/// Writes a new file, synced, and renames it over another. A file that cannot be written whole, as on a
/// full disk, is removed.
fn fill_and_rename(mut file: File, bytes: &[u8], next: &Path, path: &Path) -> Result<()> {
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let done = written.and_then(|()| fs::rename(next, path));
    if done.is_err() {
        let _ = fs::remove_file(next);
    }
    done.at("write", path)
}

/// Renames without ever replacing anything.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    let renamed = match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot promise that.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if to.symlink_metadata().is_err() => {
            fs::rename(from, to)
        }
        other => other.map_err(Into::into),
    };
    renamed.doing(|| format!("move '{}' to '{}'", from.display(), to.display()))
}

/// How the names of new files begin that stand above the folder of the file that they replace.
const ABOVE: &str = ".git-sandbox-";
/// How a `.git` file begins.
const POINTER: &[u8] = b"gitdir: ";

/// Replaces a small file, synced, by rename from the folder above its own.
pub fn replace_from_above(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    let next = folder.with_file_name(format!("{ABOVE}{}", random::hex()?));
    let file = File::create_new(&next).at("write", path)?;
    fill_and_rename(file, bytes, &next, path)
}

/// Removes what a crash left in a folder of ours of replacing the `.git` of a folder in it. What is no
/// pointer, or the beginning of one, stays.
pub fn clear_from_above(folder: &Path) {
    let is_hex = |hex: &str| hex.len() == 8 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_named = name.to_str().and_then(|name| name.strip_prefix(ABOVE)).is_some_and(is_hex);
        let is_pointer =
            |text: Vec<u8>| text.starts_with(POINTER) || POINTER.starts_with(text.as_slice());
        if is_named && read_small(&entry.path()).is_ok_and(is_pointer) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_large_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large");
        let file = File::create(&path).unwrap();
        for (size, is_read) in [(LARGEST, true), (LARGEST + 1, false)] {
            file.set_len(size).unwrap();
            assert_eq!(read_small(&path).is_ok(), is_read);
            assert_eq!(read_untrusted(&path, LARGEST).is_ok(), is_read);
        }
    }

    /// Its first bytes belong to no memory, and reading them fails.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_cannot_be_read_is_not_taken_for_an_empty_one() {
        let path = Path::new("/proc/self/mem");
        assert!(open(path).is_ok());
        assert!(read(path).is_err());
        assert!(read_small(path).is_err());
        assert!(read_untrusted(path, LARGEST).is_err());
    }

    #[test]
    fn only_plain_files_are_opened_and_no_pipe_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, rustix::fs::Mode::RUSR, 0).unwrap();
        let (done, waiting) = std::sync::mpsc::channel();
        for path in [dir.path().to_owned(), "/dev/null".into(), pipe] {
            let done = done.clone();
            std::thread::spawn(move || done.send(open(&path).map_err(|error| error.kind())));
            let answer = waiting.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
            assert_eq!(answer.err(), Some(ErrorKind::InvalidInput));
        }
    }

    #[test]
    fn nothing_is_renamed_over_anything() {
        let dir = tempfile::tempdir().unwrap();
        let [from, file, folder] = ["from", "file", "folder"].map(|name| dir.path().join(name));
        fs::create_dir(&folder).unwrap();
        fs::write(&file, "theirs").unwrap();
        for to in [&file, &folder] {
            match to.is_dir() {
                true => fs::create_dir(&from).unwrap(),
                false => fs::write(&from, "ours").unwrap(),
            }
            assert!(rename(&from, to).is_err());
            assert!(from.exists());
            let _ = fs::remove_file(&from);
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
    }

    #[test]
    fn only_pointers_that_a_crash_left_are_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write(".git-sandbox-01234567", "");
        write(".git-sandbox-0123abcd", "gitd");
        write(".git-sandbox-89abcdef", "gitdir: /a/b\n");
        write(".git-sandbox-ffffffff", "a user's");
        write(".git-sandbox-trash", "");
        write("gitdir", "gitdir: ");
        clear_from_above(dir.path());
        let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(names, [".git-sandbox-ffffffff", ".git-sandbox-trash", "gitdir"]);
    }

    #[test]
    fn nothing_is_written_where_a_command_was_typed() {
        for path in ["locked", "./locked", ""] {
            let error = create(Path::new(path)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{path}");
            assert!(replace(Path::new(path), b"text").is_err());
        }
        assert!(!Path::new("locked").exists() && !Path::new("locked.new").exists());
    }

    #[test]
    fn a_write_that_fails_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let taken = dir.path().join("taken");
        fs::create_dir_all(taken.join("inside")).unwrap();
        assert!(replace(&taken, b"text").is_err());
        let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["taken"]);
    }
}
