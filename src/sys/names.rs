//! The names in a folder, read into one buffer: no allocation for each.

use std::ffi::CStr;
use std::ops::ControlFlow;
use std::os::fd::AsFd;

use rustix::fs::FileType;
use rustix::io::Result;

/// Tells every entry of an open folder, `.` and `..` included, with its type as far as the file system
/// knows it. Reads on from where the descriptor stands, so a descriptor serves once.
#[cfg(target_os = "linux")]
pub fn each(
    folder: impl AsFd,
    mut tell: impl FnMut(&CStr, FileType) -> ControlFlow<()>,
) -> Result<()> {
    let mut buffer = [const { std::mem::MaybeUninit::uninit() }; 16 * 1024];
    let mut entries = rustix::fs::RawDir::new(folder, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if tell(entry.file_name(), entry.file_type()).is_break() {
            break;
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub fn each(
    folder: impl AsFd,
    mut tell: impl FnMut(&CStr, FileType) -> ControlFlow<()>,
) -> Result<()> {
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        if tell(entry.file_name(), entry.file_type()).is_break() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_told_until_enough_were() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..2000 {
            std::fs::write(dir.path().join(format!("a-rather-long-name-{number}")), "").unwrap();
        }
        std::fs::create_dir(dir.path().join("folder")).unwrap();
        let count = |most: usize| {
            let (mut files, mut folders) = (0, 0);
            let told = each(std::fs::File::open(dir.path()).unwrap(), |name, kind| {
                match (name.to_bytes(), kind) {
                    (b"." | b"..", _) => {}
                    (b"folder", FileType::Directory) => folders += 1,
                    (_, FileType::RegularFile) => files += 1,
                    (name, kind) => panic!("{name:?} {kind:?}"),
                }
                if files < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            (told.is_ok(), files, folders)
        };
        assert_eq!(count(usize::MAX), (true, 2000, 1));
        assert_eq!(count(7).1, 7);
    }
}
