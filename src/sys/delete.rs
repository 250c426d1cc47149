//! The one place that deletes a tree: never through a symlink, never into another mount.
//!
//! Every step goes by a descriptor of the folder it is in, so that nothing swapped in meanwhile is
//! followed. A mount inside stops it with what is left untouched.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fchmod, fstat, openat, unlinkat};
use rustix::io::Errno;

/// Deletes a folder and everything in it. One that is not there is no error.
pub fn tree(folder: &Path) -> io::Result<()> {
    let parent = folder.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let name = folder.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let parent = openat(CWD, parent, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    match step_into(&parent, name) {
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(top) => {
            empty(&top)?;
            Ok(unlinkat(&parent, name, AtFlags::REMOVEDIR)?)
        }
    }
}

/// Deletes a folder in a folder that is open, and everything in it.
pub fn tree_in(parent: &OwnedFd, name: &CStr) -> io::Result<()> {
    empty(&step_into(parent, name)?)?;
    Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}

fn empty(folder: &OwnedFd) -> rustix::io::Result<()> {
    // A folder that was made read-only can still be emptied by its owner.
    let mode = Mode::from_raw_mode(fstat(folder)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        fchmod(folder, mode | Mode::RWXU)?;
    }
    let mut folders: Vec<CString> = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let is_folder = match entry.file_type() {
            FileType::Unknown => is_folder(folder, name)?,
            kind => kind == FileType::Directory,
        };
        if is_folder {
            folders.push(name.to_owned());
        } else {
            unlinkat(folder, name, AtFlags::empty())?;
        }
    }
    for name in folders {
        let inner = match step_into(folder, name.as_c_str()) {
            Err(Errno::ACCESS) => {
                open_up(folder, name.as_c_str())?;
                step_into(folder, name.as_c_str())
            }
            other => other,
        };
        empty(&inner?)?;
        unlinkat(folder, name.as_c_str(), AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

/// Makes a folder readable that its owner may not even look into; by a descriptor of the folder
/// itself, so that no symlink can stand in for it.
#[cfg(target_os = "linux")]
fn open_up(folder: impl AsFd, name: &CStr) -> rustix::io::Result<()> {
    let handle = openat(folder, name, FOLDER | OFlags::PATH, Mode::empty())?;
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&handle));
    rustix::fs::chmod(path, Mode::RWXU)
}

/// Makes a folder readable that its owner may not even look into; never through a symlink.
#[cfg(not(target_os = "linux"))]
fn open_up(folder: impl AsFd, name: &CStr) -> rustix::io::Result<()> {
    rustix::fs::chmodat(folder, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}

fn is_folder(folder: impl AsFd, name: &CStr) -> rustix::io::Result<bool> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder in a folder, unless it is a symlink or on another mount.
#[cfg(target_os = "linux")]
pub fn step_into(
    folder: impl AsFd,
    name: impl rustix::path::Arg + Copy,
) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    match openat2(&folder, name, FOLDER, Mode::empty(), resolve) {
        Err(Errno::NOSYS) => step_into_same_device(folder, name),
        other => other,
    }
}

#[cfg(not(target_os = "linux"))]
pub fn step_into(
    folder: impl AsFd,
    name: impl rustix::path::Arg + Copy,
) -> rustix::io::Result<OwnedFd> {
    step_into_same_device(folder, name)
}

fn step_into_same_device(
    folder: impl AsFd,
    name: impl rustix::path::Arg,
) -> rustix::io::Result<OwnedFd> {
    let inner = openat(&folder, name, FOLDER, Mode::empty())?;
    if fstat(&inner)?.st_dev == fstat(&folder)?.st_dev { Ok(inner) } else { Err(Errno::XDEV) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    #[test]
    fn a_tree_goes_and_what_it_links_to_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, victim) = (dir.path().join("tree"), dir.path().join("victim"));
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::create_dir(&victim).unwrap();
        fs::write(victim.join("file"), "precious").unwrap();
        fs::write(tree.join("a/b/file"), "x").unwrap();
        symlink(&victim, tree.join("a/link")).unwrap();
        symlink(victim.join("file"), tree.join("a/b/link")).unwrap();
        fs::set_permissions(tree.join("a/b"), fs::Permissions::from_mode(0o500)).unwrap();
        super::tree(&tree).unwrap();
        assert!(!tree.exists());
        assert_eq!(fs::read_to_string(victim.join("file")).unwrap(), "precious");
        super::tree(&tree).unwrap();
    }

    /// Runs itself in a mount namespace, where that is permitted.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "only a process of its own may mount")]
    fn another_mount_inside_stops_it() {
        const TREE: &str = "TREE_WITH_A_MOUNT";
        if let Some(tree) = std::env::var_os(TREE).map(std::path::PathBuf::from) {
            let mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs"];
            let mount = Command::new(mount[0]).args(&mount[1..]).arg(tree.join("mount")).status();
            assert!(mount.unwrap().success());
            fs::write(tree.join("mount/file"), "precious").unwrap();
            assert!(super::tree(&tree).is_err());
            assert_eq!(fs::read_to_string(tree.join("mount/file")).unwrap(), "precious");
            // Also where the kernel cannot tell mounts apart.
            let folder = fs::File::open(&tree).unwrap();
            let inner = super::step_into_same_device(&folder, "mount");
            assert_eq!(inner.unwrap_err(), super::Errno::XDEV);
            fs::create_dir(tree.join("folder")).unwrap();
            super::step_into_same_device(&folder, "folder").unwrap();
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("mount")).unwrap();
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--user", "--map-current-user", "--keep-caps"]);
        if !unshare.arg("true").output().is_ok_and(|output| output.status.success()) {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "no mount namespace");
            // Past the capture of the test harness, so that it is seen.
            let why = b"\n!!! NOT TESTED: mounting in a namespace is not permitted here\n";
            return std::io::Write::write_all(&mut std::io::stderr(), why).unwrap();
        }
        let name = "sys::delete::tests::another_mount_inside_stops_it";
        let mut again = Command::new("unshare");
        again.args(["--mount", "--user", "--map-current-user", "--keep-caps"]);
        again.arg(std::env::current_exe().unwrap()).args(["--exact", name]);
        let output = again.env(TREE, dir.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }

    #[test]
    fn a_symlink_in_place_of_the_tree_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::create_dir(&victim).unwrap();
        fs::write(victim.join("file"), "precious").unwrap();
        symlink(&victim, dir.path().join("tree")).unwrap();
        assert!(super::tree(&dir.path().join("tree")).is_err());
        assert!(victim.join("file").exists());
    }
}
