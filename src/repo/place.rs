//! Where sandboxes live: the root, this project's home below it, and a free folder in that.
//!
//! The root is the user's alone and outside every worktree; what cannot be shown to be so is
//! refused before anything is created. A home belongs to the repository whose sandboxes stand in
//! it: there is no list of owners.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::porcelain::Record;
use crate::repo::link::folder_points_to;
use crate::repo::root::{self, Root, matching};
use crate::repo::{Repo, Worktree, Worktrees, name};
use crate::sys::dir;
use crate::sys::lock::Lock;
use crate::sys::path::{self, real};
use crate::ui::out::Out;
use crate::ui::words::shell_word;

/// The places of one repository.
#[derive(Debug)]
pub struct Place {
    /// The root in force, with symlinks resolved as far as it exists.
    pub root: PathBuf,
    /// The project's name.
    pub project: OsString,
    wanted: Root,
    main: PathBuf,
    common: PathBuf,
}

/// A home that may be used, and the lock that keeps others from choosing it, where one is needed.
#[derive(Debug)]
pub struct Home {
    /// The folder that sandboxes of this project go into.
    pub path: PathBuf,
    _lock: Option<Lock>,
}

impl Place {
    /// Works out the places; looks at nothing that could fail.
    pub fn of(repo: &Repo, wanted: Root, worktrees: &Worktrees) -> Place {
        let project = project(&worktrees.main, &repo.common);
        Place {
            root: real(&wanted.path(&worktrees.main.path, &project)),
            project,
            wanted,
            main: worktrees.main.path.clone(),
            common: repo.common.clone(),
        }
    }

    /// Whether a worktree stands where sandboxes of this root stand.
    pub fn manages(&self, path: &Path) -> bool {
        let home = path.parent();
        if let Some(shared) = self.shared_home() {
            // Hidden ones are spares, or what a merge uses for a while.
            let hidden = path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
            return home == Some(&shared) && (hidden || self.bare_name(path).is_some());
        }
        if self.wanted.names_project() {
            home == Some(&self.root) || home == Some(&self.home_for(&self.other_name()))
        } else {
            home.and_then(Path::parent) == Some(&self.root)
        }
    }

    /// The folder in which sandboxes stand among others, if they do.
    pub fn shared_home(&self) -> Option<PathBuf> {
        self.wanted.shared_home(&self.main, &self.project).map(|home| real(&home))
    }

    /// The name of a sandbox's folder, with what the root puts before it.
    pub fn folder(&self, folder: &str) -> String {
        self.wanted.folder(&self.main, &self.project, folder)
    }

    /// The same without what the root puts before it; `None` where that is not there.
    pub fn bare_name(&self, path: &Path) -> Option<String> {
        let name = path.file_name()?.to_string_lossy();
        let bare = name.strip_prefix(&self.folder(""))?;
        (!bare.is_empty()).then(|| bare.to_owned())
    }

    /// Makes the root if need be, refuses one that is not safe, and chooses the home.
    pub fn home(&self, worktrees: &Worktrees, out: Out) -> Result<Home> {
        self.check_outside(&self.root, worktrees, elsewhere)?;
        if let Some(home) = self.shared_home() {
            root::make(&home)?;
            self.safe_root()?;
            return Ok(Home { path: home, _lock: None });
        }
        self.safe_root()?;
        let (first, second) = (self.home_for(&self.project), self.home_for(&self.other_name()));
        for home in [&first, &second] {
            // One whose folder is gone shows nothing: another repository may have come since.
            let stands = |tree: &Worktree| {
                let path = &tree.record.path;
                let ours = |named: PathBuf| path::is_same(&named, &tree.entry);
                path.parent() == Some(home) && folder_points_to(path).is_some_and(ours)
            };
            if home.is_dir() && worktrees.linked.iter().any(stands) {
                return Ok(Home { path: home.clone(), _lock: None });
            }
        }
        // Held until our first sandbox stands there and shows whose home it is.
        let lock = Lock::folder(&self.root, out)?;
        let path = if second.is_dir() || !self.may_take(&first) { second } else { first };
        match self.wanted.names_project() {
            true => root::make(&path)?,
            false => dir::make(&path)?,
        }
        Ok(Home { path, _lock: Some(lock) })
    }

    /// The root, made if need be, refused if it is not safe.
    pub fn safe_root(&self) -> Result<PathBuf> {
        root::make(&self.wanted.path(&self.main, &self.project))?;
        Ok(real(&self.root))
    }

    /// Every folder in the homes of this project, hidden ones aside.
    pub fn folders(&self) -> Vec<PathBuf> {
        let homes = [self.home_for(&self.project), self.home_for(&self.other_name())];
        homes.iter().flat_map(|home| matching(home, "", "")).collect()
    }

    /// Every folder of the trash in the root.
    pub fn trash_folders(&self) -> Vec<PathBuf> {
        matching(&self.root.join(".trash"), "", "")
    }

    /// A folder below the root, or where sandboxes stand among others, that names this private git dir,
    /// whatever that names itself.
    pub fn folder_of(&self, entry: &Path) -> Option<PathBuf> {
        let homes = matching(&self.root, "", "");
        let inside = homes.iter().flat_map(|home| matching(home, "", ""));
        let beside = self.shared_home().map_or_else(Vec::new, |home| matching(&home, "", ""));
        inside.chain(homes.iter().cloned()).chain(beside).find(|folder| {
            folder_points_to(folder).is_some_and(|named| path::is_same(&named, entry))
        })
    }

    /// The project's name as no other repository of this root has it: that of the home that its
    /// sandboxes stand in.
    pub fn own_name<'a>(&self, sandboxes: impl IntoIterator<Item = &'a Path>) -> OsString {
        let second = self.home_for(&self.other_name());
        let is_second = |path: &Path| path.parent() == Some(&second);
        match sandboxes.into_iter().any(is_second) {
            true => self.other_name(),
            false => self.project.clone(),
        }
    }

    fn other_name(&self) -> OsString {
        let mut name = self.project.clone();
        name.push("-");
        name.push(&name::hash(self.common.as_os_str())[..6]);
        name
    }

    fn home_for(&self, project: &OsStr) -> PathBuf {
        let root = real(&self.wanted.path(&self.main, project));
        if self.wanted.names_project() { root } else { root.join(project) }
    }

    /// Whether a home holds no sandbox of another repository.
    fn may_take(&self, home: &Path) -> bool {
        let Ok(entries) = fs::read_dir(home) else { return !home.exists() };
        entries.flatten().all(|entry| {
            let folder = entry.path();
            let ours =
                folder_points_to(&folder).is_some_and(|entry| entry.starts_with(&self.common));
            ours || fs::read_dir(&folder).is_ok_and(|mut inside| inside.next().is_none())
        })
    }

    /// Refuses a folder for one sandbox that is inside a worktree or the repository.
    pub fn check_dir(&self, dir: &Path, worktrees: &Worktrees) -> Result<()> {
        self.check_outside(dir, worktrees, || {
            let beside = self.main.parent().unwrap_or(&self.main).to_string_lossy();
            format!("use a folder outside, such as '--dir {}'", shell_word(&beside))
        })
    }

    fn check_outside(
        &self,
        folder: &Path,
        worktrees: &Worktrees,
        hint: impl Fn() -> String,
    ) -> Result<()> {
        let refused =
            |why: String| Err(Error::Root { root: folder.to_owned(), why, hint: Some(hint()) });
        if folder.starts_with(&self.common) {
            return refused("it is inside the repository".to_owned());
        }
        let linked = worktrees.linked.iter().map(|tree| &tree.record.path);
        let main = (!worktrees.main.bare).then_some(&worktrees.main.path);
        // There may be a thousand: a longer path is none above it.
        let is_inside = |path: &&PathBuf| {
            path.as_os_str().len() <= folder.as_os_str().len() && folder.starts_with(path)
        };
        match linked.chain(main).find(is_inside) {
            Some(path) => refused(format!("it is inside the worktree '{}'", path.display())),
            None => Ok(()),
        }
    }
}

fn elsewhere() -> String {
    "git config sandbox.root '../{project}-worktrees'".into()
}

/// The main worktree's folder name; for a bare repository its own, or its parent's when hidden.
fn project(main: &Record, common: &Path) -> OsString {
    let named = |path: &Path| path.file_name().unwrap_or(OsStr::new("root")).to_owned();
    let name = if main.bare {
        let own = named(common).to_string_lossy().into_owned();
        let own = own.strip_suffix(".git").unwrap_or(&own).to_owned();
        match own.starts_with('.') || own.is_empty() {
            true => common.parent().map_or_else(|| own.into(), named),
            false => own.into(),
        }
    } else {
        named(&main.path)
    };
    // A hidden folder below the root is none of a project's.
    let text = name.to_string_lossy();
    let shown = text.trim_start_matches(['.', '-']);
    match shown {
        "" => "root".into(),
        _ if shown.len() == text.len() => name,
        _ => shown.into(),
    }
}

/// Makes a folder of ours in `home`: `wanted` or, where that is taken, `wanted-2` and so on.
pub fn make_free_folder(home: &Path, wanted: &str, worktrees: &Worktrees) -> Result<PathBuf> {
    loop {
        let path = free_path(home, wanted, worktrees, None)?;
        match DirBuilder::new().mode(0o777).create(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.at("create", &path).map(|()| path),
        }
    }
}

/// Finds a path in `home` for a folder: `wanted` or, where that is taken, `wanted-2` and so on.
///
/// Taken is also what differs in case only: some file systems would not tell them apart. An empty
/// folder that no worktree stands in is what a crash left: it is removed. The folder `own`, which is to
/// be renamed, takes nothing.
pub fn free_path(
    home: &Path,
    wanted: &str,
    worktrees: &Worktrees,
    own: Option<&Path>,
) -> Result<PathBuf> {
    let names = fs::read_dir(home).at("read", home)?.flatten().map(|entry| entry.file_name());
    let others = names.filter(|name| own.and_then(Path::file_name) != Some(name));
    let taken: Vec<OsString> = others.collect();
    let is_taken = |folder: &str| taken.iter().any(|name| is_same_but_for_case(name, folder));
    for number in 1.. {
        let folder = if number == 1 { wanted.to_owned() } else { name::numbered(wanted, number) };
        let path = home.join(&folder);
        let is_path = |tree: &Worktree| tree.record.path.as_os_str() == path.as_os_str();
        let registered = worktrees.linked.iter().any(is_path);
        let left_over = || !registered && fs::remove_dir(&path).is_ok();
        if !registered && (!is_taken(&folder) || left_over()) {
            return Ok(path);
        }
    }
    Err(Error::FolderTaken { path: home.join(wanted) })
}

fn is_same_but_for_case(name: &OsStr, folder: &str) -> bool {
    name.eq_ignore_ascii_case(folder)
        || !(name.is_ascii() && folder.is_ascii())
            && name.to_string_lossy().to_lowercase() == folder.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(path: &str, bare: bool) -> Record {
        Record { path: path.into(), bare, ..Record::default() }
    }

    #[test]
    fn projects() {
        let of = |main: Record, common: &str| project(&main, Path::new(common));
        assert_eq!(of(record("/home/me/app", false), "/home/me/app/.git"), "app");
        assert_eq!(of(record("/home/me/.dotfiles", false), "/home/me/.dotfiles/.git"), "dotfiles");
        assert_eq!(of(record("/srv/app.git", true), "/srv/app.git"), "app");
        assert_eq!(of(record("/srv/proj/.bare", true), "/srv/proj/.bare"), "proj");
        assert_eq!(of(record("/srv/proj/.git", true), "/srv/proj/.git"), "proj");
        assert_eq!(of(record("/", false), "/.git"), "root");
    }
}
