//! Finds what forbids putting an item away, before anything of it is read.

use std::fs;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::FileType;

use crate::git::Git;
use crate::lifecycle::vault::folder::{Entry, entries, obstacle, open_folder, open_top};
use crate::lifecycle::vault::ignored::Ignored;
use crate::lifecycle::vault::item::{Item, Obstacle, Part};
use crate::lifecycle::vault::manifest::shown;
use crate::repo::{link, nested};

struct Survey<'a> {
    git: &'a Git,
    ignored: Ignored<'a>,
    /// The top folder of the part.
    top: &'a Path,
    part: Part,
}

/// Whereabouts of a folder in the walk.
#[derive(Clone, Copy)]
struct Inside {
    ignored: bool,
    git_dir: bool,
}

/// The first obstacle in the way of putting an item away: a repository with work of its own, a
/// device, a mount, a folder that cannot be read. Ignored folders are searched too.
pub fn survey(git: &Git, item: &Item) -> Result<(), Obstacle> {
    for part in Part::ALL {
        let Some(top) = item.folder(part) else { continue };
        let survey = Survey { git, ignored: Ignored::of(item), top, part };
        let mut path = part.name().as_bytes().to_vec();
        let folder = open_top(top).map_err(|error| obstacle(error, &path))?;
        let inside = Inside { ignored: false, git_dir: part == Part::Private };
        survey.folder(&folder, &mut path, inside)?;
    }
    Ok(())
}

impl Survey<'_> {
    fn folder(&self, folder: &OwnedFd, path: &mut Vec<u8>, at: Inside) -> Result<(), Obstacle> {
        let entries = entries(folder).map_err(|error| obstacle(error, path))?;
        let length = path.len();
        let is_top = length == self.part.name().len();
        self.check_repository(&entries, path, is_top, at)?;
        for Entry { name, kind } in entries {
            path.push(b'/');
            path.extend_from_slice(name.to_bytes());
            match kind {
                FileType::CharacterDevice | FileType::BlockDevice => {
                    return Err(Obstacle::Device(shown(path)));
                }
                FileType::Directory => {
                    let inner = Inside {
                        ignored: at.ignored || self.ignored.has_folder(path),
                        git_dir: at.git_dir || name.to_bytes() == b".git",
                    };
                    self.folder(&open_folder(folder, &name, path)?, path, inner)?;
                }
                _ => {}
            }
            path.truncate(length);
        }
        Ok(())
    }

    /// Whether a folder is, or is in, the quarantine of confined commands. It is no repository of its own: all
    /// its files are put away, its objects too.
    fn is_quarantine(&self, path: &[u8]) -> bool {
        let inside = path.strip_prefix(b"private/confined");
        self.part == Part::Private && inside.is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
    }

    /// Judges a folder that is a repository, or the git dir of one.
    fn check_repository(
        &self,
        entries: &[Entry],
        path: &[u8],
        is_top: bool,
        at: Inside,
    ) -> Result<(), Obstacle> {
        let kind = |name: &[u8]| {
            entries.iter().find(|entry| entry.name.to_bytes() == name).map(|entry| entry.kind)
        };
        let folder = || match is_top {
            true => self.top.to_owned(),
            false => self.top.join(shown(&path[self.part.name().len() + 1..])),
        };
        // As `nested::look_inside` finds them: git follows a symlink there.
        let holds = |name| matches!(kind(name), Some(FileType::Directory | FileType::Symlink));
        let is_file = |name| kind(name).is_some_and(|kind| kind != FileType::Directory);
        let is_git_dir = is_file(b"HEAD".as_slice())
            && (is_file(b"commondir") || holds(b"objects".as_slice()) && holds(b"refs"));
        let is_plain = match kind(b".git") {
            // The sandbox's own pointer.
            Some(FileType::RegularFile) => is_top || (!at.ignored && is_dangling(&folder())),
            Some(_) => false,
            None => !is_git_dir || is_top || self.is_quarantine(path),
        };
        let is_saved = is_plain
            || match kind(b".git") {
                // Its files are judged where they are checked out.
                None if at.git_dir => {
                    path.ends_with(b"/.git") || nested::is_pushed(self.git, &folder())
                }
                _ => nested::has_work(self.git, &folder()).is_ok_and(|work| !work),
            };
        if is_saved { Ok(()) } else { Err(Obstacle::NestedWork(shown(path))) }
    }
}

/// Whether a folder's `.git` names a git dir that is gone: then all there is are plain files.
fn is_dangling(folder: &Path) -> bool {
    let named = link::folder_points_to(folder);
    named.is_some_and(|named| {
        fs::symlink_metadata(named).is_err_and(|error| error.kind() == ErrorKind::NotFound)
    })
}
