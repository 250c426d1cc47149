//! Puts the files of a checkout back as the user's index says, after a landing that stopped half way.
//!
//! Only a path that differs between the two commits is looked at, and only one that is missing or
//! holds what the new commit has there, whole or cut short, is changed: git wrote that, and git has
//! it. Any other file was changed since: it stays as it is and is named. The user's index is only read.
//! Nothing is written beside the files, so that a full disk does not stop it.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::checkout::Checkout;
use crate::error::{Doing, Result};
use crate::git::index::Index;
use crate::git::porcelain::{self, Blob, Change, Kind, Staged};
use crate::git::{Answer, Git};
use crate::repo::Repo;
use crate::sandbox::pristine;

/// What is to be put back.
#[derive(Debug)]
pub struct PutBack<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// Its git, whose processes hold a lock of ours.
    pub git: &'a Git,
    /// The checkout.
    pub checkout: &'a Checkout,
    /// What differs between the two commits.
    pub changes: &'a [Change],
    /// Paths that the user had deleted before.
    pub absent: &'a [PathBuf],
}

/// What could not be put back.
#[derive(Debug, Default)]
pub struct Left {
    /// Files that hold neither the old nor the new content.
    pub changed: Vec<PathBuf>,
    /// Files that could not be written.
    pub missing: Vec<PathBuf>,
}

/// What stands at a path.
enum There {
    Nothing,
    Folder,
    /// A file or symlink.
    File(Metadata),
    Other,
}

impl PutBack<'_> {
    /// Puts everything back that can be.
    pub fn run(&self) -> Result<Left> {
        let git = self.git.at(&self.checkout.path);
        let listed = git.look(["ls-files", "-s", "-v", "-z"]).read("read the index")?;
        let staged: HashMap<PathBuf, Staged> =
            porcelain::staged(&listed).into_iter().map(|it| (it.path.clone(), it)).collect();
        let (mut suspects, mut wanted, mut folders) = (Vec::new(), Vec::new(), Vec::new());
        for change in self.touched(&staged) {
            match self.there(&change.path)? {
                There::Nothing => wanted.push(change),
                There::File(meta) => suspects.push((change, meta)),
                There::Folder => {
                    self.remove_empty(change);
                    folders.push(change);
                }
                There::Other => {}
            }
        }
        let kept: HashSet<&Path> =
            staged.keys().flat_map(|path| path.ancestors().skip(1)).collect();
        let mut left = Left::default();
        let raw = raw_ids(&git, suspects.iter().map(|(change, _)| change.path.as_path()))?;
        for (change, meta) in &suspects {
            if self.holds_new(&git, change, meta, raw.get(&change.path))? {
                self.remove(&change.path, &kept)?;
                wanted.push(change);
            } else {
                left.changed.push(change.path.clone());
            }
        }
        // A folder that git made in the place of a file went with its last file.
        for change in folders {
            match self.there(&change.path)? {
                There::Nothing => wanted.push(change),
                _ => left.changed.push(change.path.clone()),
            }
        }
        left.changed = self.really_changed(&git, &staged, left.changed)?;
        let absent: HashSet<&PathBuf> = self.absent.iter().collect();
        let wanted = wanted.iter().map(|change| &change.path).filter(|path| {
            staged.get(*path).is_some_and(|it| !it.is_left_out) && !absent.contains(path)
        });
        left.missing = self.write(&git, &wanted.collect::<Vec<_>>())?;
        Ok(left)
    }

    /// The paths that a landing may have touched: where the index has the new content already it has
    /// not, nor where the file is as git last saw it.
    fn touched(&self, staged: &HashMap<PathBuf, Staged>) -> Vec<&Change> {
        let index = self.checkout.git_dir.join("index");
        let index = Index::read(&index, self.repo.id_length());
        let top = pristine::open_top(&self.checkout.path);
        let untouched = |path: &Path| {
            let (Some(index), Some(top)) = (&index, &top) else { return false };
            let number = index.find(path.as_os_str().as_bytes());
            number.is_some_and(|number| pristine::is_file_untouched(top, index, number))
        };
        let is_new = |change: &Change| {
            staged.get(&change.path).map(|entry| &entry.blob) == change.new.as_ref()
        };
        let touched = |change: &&Change| !is_new(change) && !untouched(&change.path);
        self.changes.iter().filter(touched).collect()
    }

    /// What stands at a path; nothing is behind a symlink or a file.
    fn there(&self, path: &Path) -> Result<There> {
        let top = &self.checkout.path;
        let is_real =
            |folder: &Path| fs::symlink_metadata(top.join(folder)).is_ok_and(|meta| meta.is_dir());
        if !path.ancestors().skip(1).all(is_real) {
            return Ok(There::Nothing);
        }
        let path = top.join(path);
        Ok(match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => There::Nothing,
            Err(error) => return Err(error).at("read", &path),
            Ok(meta) if meta.is_dir() => There::Folder,
            Ok(meta) if meta.is_file() || meta.is_symlink() => There::File(meta),
            Ok(_) => There::Other,
        })
    }

    /// Whether a file holds what the new commit has there, or the beginning of it.
    fn holds_new(
        &self,
        git: &Git,
        change: &Change,
        meta: &Metadata,
        raw: Option<&String>,
    ) -> Result<bool> {
        let Some(Blob { kind, id, .. }) = &change.new else { return Ok(false) };
        let path = self.checkout.path.join(&change.path);
        match kind {
            Kind::Symlink if meta.is_symlink() => {
                let target = fs::read_link(&path).at("read", &path)?;
                let wanted = git.look(["cat-file", "blob", id]).ask()?;
                Ok(wanted.ok() && wanted.stdout == target.as_os_str().as_bytes())
            }
            Kind::File if meta.is_file() => {
                if raw == Some(id) {
                    return Ok(true);
                }
                let mut named = OsString::from("--path=");
                named.push(&change.path);
                let wanted: Answer =
                    git.look(["cat-file", "--filters"]).arg(named).arg(id).ask()?;
                Ok(wanted.ok() && wanted.stdout.starts_with(&fs::read(&path).at("read", &path)?))
            }
            Kind::Symlink | Kind::File | Kind::Submodule => Ok(false),
        }
    }

    /// Of the paths that hold something else: those that are not as the index says either.
    fn really_changed(
        &self,
        git: &Git,
        staged: &HashMap<PathBuf, Staged>,
        paths: Vec<PathBuf>,
    ) -> Result<Vec<PathBuf>> {
        if paths.is_empty() {
            return Ok(paths);
        }
        let words = ["status", "--porcelain=v2", "-z", "--untracked-files=no"];
        let status = git.look(words).arg("--ignore-submodules=all").read("read the changes")?;
        let status = porcelain::status(&status).unwrap_or_default();
        let empty = |path: &PathBuf| {
            fs::read_dir(self.checkout.path.join(path))
                .is_ok_and(|mut inside| inside.next().is_none())
        };
        let differs = |path: &PathBuf| match staged.contains_key(path) {
            true => status.paths.contains(path),
            false => !empty(path),
        };
        Ok(paths.into_iter().filter(differs).collect())
    }

    /// Removes a file that git wrote, and the folders that are empty without it, but for those that
    /// the index has files in.
    fn remove(&self, path: &Path, kept: &HashSet<&Path>) -> Result<()> {
        let file = self.checkout.path.join(path);
        fs::remove_file(&file).at("remove", &file)?;
        let above = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        let above = above.take_while(|folder| !kept.contains(folder));
        let mut above = above.map(|folder| self.checkout.path.join(folder));
        above.all(|folder| fs::remove_dir(folder).is_ok());
        Ok(())
    }

    /// Removes the empty folder of a submodule that git made.
    fn remove_empty(&self, change: &Change) {
        let made = change.old.is_none()
            && change.new.as_ref().is_some_and(|new| new.kind == Kind::Submodule);
        if made {
            let _ = fs::remove_dir(self.checkout.path.join(&change.path));
        }
    }

    /// Writes files of the user's index that are not there. Returns those that are still missing.
    fn write(&self, git: &Git, paths: &[&PathBuf]) -> Result<Vec<PathBuf>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut input = Vec::new();
        for path in paths {
            input.extend([path.as_os_str().as_bytes(), b"\0"].concat());
        }
        // Without force it replaces nothing. Its exit code only says that some are missing.
        let words = ["-c", "submodule.recurse=false", "checkout-index", "--quiet", "-z", "--stdin"];
        git.look(words).ask_with(input)?;
        let is_missing =
            |path: &&&PathBuf| self.checkout.path.join(path).symlink_metadata().is_err();
        Ok(paths.iter().filter(is_missing).map(|path| (*path).clone()).collect())
    }
}

/// The ids that files would have as they are, without any filter.
fn raw_ids<'a>(
    git: &Git,
    paths: impl Iterator<Item = &'a Path>,
) -> Result<HashMap<PathBuf, String>> {
    // A name with a line break cannot be asked about so.
    let plain = |path: &&Path| !path.as_os_str().as_bytes().contains(&b'\n');
    let files = paths
        .filter(plain)
        .filter(|path| fs::symlink_metadata(git.dir().join(path)).is_ok_and(|meta| meta.is_file()));
    let files: Vec<&Path> = files.collect();
    if files.is_empty() {
        return Ok(HashMap::new());
    }
    let input: Vec<u8> =
        files.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\n"].concat()).collect();
    let words = ["hash-object", "--no-filters", "--stdin-paths"];
    let answer = git.look(words).ask_with(input)?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let ids = text.lines().map(str::to_owned);
    Ok(files.iter().map(|path| path.to_path_buf()).zip(ids).collect())
}
