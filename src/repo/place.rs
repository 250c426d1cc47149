//! Where sandboxes live: the root, this project's home below it, and a free folder in that.
//!
//! The root is the user's alone and outside every worktree; what cannot be shown to be so is
//! refused before anything is created. A home belongs to the repository whose sandboxes stand in
//! it: there is no list of owners.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::error::{Doing, Error, Result, shell_word};
use crate::git::Git;
use crate::lock::Lock;
use crate::name;
use crate::out::Out;
use crate::porcelain::Record;
use crate::repo::{Repo, Worktree, Worktrees, folder_points_to, is_same, tidy};
use crate::time::Time;

const PROJECT: &str = "{project}";

/// The root as it was asked for: `{project}` may still stand in it.
#[derive(Clone, Debug)]
pub struct Root(OsString);

impl Root {
    /// `--root`, else `GIT_SANDBOX_ROOT`, else `sandbox.root`, else the user's cache.
    pub fn wanted(option: Option<&OsStr>, config: &Config, git: &Git) -> Result<Root> {
        let environment = || std::env::var_os("GIT_SANDBOX_ROOT").filter(|value| !value.is_empty());
        if let Some(value) = option.map(OsStr::to_owned).or_else(environment) {
            return Ok(Root(value));
        }
        match config.get("sandbox.root") {
            Some(value) if value.starts_with(['~', '%']) => {
                let call = git.call(["config", "--type=path", "--get", "sandbox.root"]);
                Ok(Root(call.line("read sandbox.root")?))
            }
            Some(value) if !value.is_empty() => Ok(Root(value.into())),
            _ => Ok(Root(cache()?.join("git-sandbox/worktrees").into())),
        }
    }

    /// The root of one project, symlinks and all.
    fn path(&self, main: &Path, project: &OsStr) -> PathBuf {
        let text = self.0.to_string_lossy();
        let value = match text.contains(PROJECT) {
            true => text.replace(PROJECT, &project.to_string_lossy()).into(),
            false => self.0.clone(),
        };
        tidy(&main.join(value))
    }

    fn names_project(&self) -> bool {
        self.0.to_string_lossy().contains(PROJECT)
    }

    /// As it was asked for.
    pub fn value(&self) -> &OsStr {
        &self.0
    }

    /// The root itself, where it does not depend on the project.
    pub fn plain(&self) -> Option<PathBuf> {
        let path = PathBuf::from(&self.0);
        (path.is_absolute() && !self.names_project()).then(|| real(&path))
    }

    /// Every folder of the trash, seen from outside of all repositories.
    pub fn trash_folders(&self) -> Vec<PathBuf> {
        let roots: Vec<PathBuf> = match self.names_project() {
            true => self.homes(),
            false => self.plain().into_iter().collect(),
        };
        roots.iter().flat_map(|root| matching(&root.join(".trash"), "", "")).collect()
    }

    /// Every folder that can hold sandboxes of some repository, seen from outside of all of them.
    pub fn homes(&self) -> Vec<PathBuf> {
        let path = Path::new(&self.0);
        if !path.is_absolute() {
            return Vec::new();
        }
        let mut found = vec![PathBuf::from("/")];
        for part in path.components().skip(1) {
            let part = part.as_os_str().to_string_lossy();
            found = match part.split_once(PROJECT) {
                None => found.iter().map(|so_far| so_far.join(&*part)).collect(),
                Some((lead, end)) => {
                    found.iter().flat_map(|dir| matching(dir, lead, end)).collect()
                }
            };
        }
        if !self.names_project() {
            found = found.iter().flat_map(|root| matching(root, "", "")).collect();
        }
        found.iter().map(|home| real(home)).collect()
    }
}

/// Folders in `dir` whose names start and end so; hidden ones are not projects.
fn matching(dir: &Path, lead: &str, end: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let fits = |name: &OsStr| {
        let name = name.to_string_lossy();
        name.starts_with(lead) && name.ends_with(end) && !(lead.is_empty() && name.starts_with('.'))
    };
    let mut found: Vec<_> = entries
        .flatten()
        .filter(|entry| {
            fits(&entry.file_name()) && entry.file_type().is_ok_and(|kind| kind.is_dir())
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// The folder that a variable names.
pub fn absolute(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn cache() -> Result<PathBuf> {
    let home = || absolute("HOME").map(|home| home.join(".cache"));
    absolute("XDG_CACHE_HOME").or_else(home).ok_or_else(|| Error::Root {
        root: "~/.cache/git-sandbox/worktrees".into(),
        why: "HOME is not set".into(),
        hint: Some("git config --global sandbox.root <folder>".into()),
    })
}

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
        if self.wanted.names_project() {
            home == Some(&self.root) || home == Some(&self.home_for(&self.other_name()))
        } else {
            home.and_then(Path::parent) == Some(&self.root)
        }
    }

    /// Makes the root if need be, refuses one that is not safe, and chooses the home.
    pub fn home(&self, worktrees: &Worktrees, out: Out) -> Result<Home> {
        self.check_outside(worktrees)?;
        self.safe_root()?;
        let (first, second) = (self.home_for(&self.project), self.home_for(&self.other_name()));
        for home in [&first, &second] {
            // One whose folder is gone shows nothing: another repository may have come since.
            let stands = |tree: &Worktree| {
                let path = &tree.record.path;
                let ours = |named: PathBuf| is_same(&named, &tree.entry);
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
            true => make_root(&path)?,
            false => make_folder(&path)?,
        }
        Ok(Home { path, _lock: Some(lock) })
    }

    /// The root, made if need be, refused if it is not safe.
    pub fn safe_root(&self) -> Result<PathBuf> {
        make_root(&self.wanted.path(&self.main, &self.project))?;
        Ok(real(&self.root))
    }

    /// Every folder of the trash in the root.
    pub fn trash_folders(&self) -> Vec<PathBuf> {
        matching(&self.root.join(".trash"), "", "")
    }

    /// A folder below the root that names this private git dir, whatever that names itself.
    pub fn folder_of(&self, entry: &Path) -> Option<PathBuf> {
        let homes = matching(&self.root, "", "");
        let inside = homes.iter().flat_map(|home| matching(home, "", ""));
        inside
            .chain(homes.iter().cloned())
            .find(|folder| folder_points_to(folder).is_some_and(|named| is_same(&named, entry)))
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

    /// Nobody's home yet, or ours alone.
    fn may_take(&self, home: &Path) -> bool {
        let Ok(entries) = fs::read_dir(home) else { return !home.exists() };
        entries.flatten().all(|entry| {
            let folder = entry.path();
            let ours =
                folder_points_to(&folder).is_some_and(|entry| entry.starts_with(&self.common));
            ours || fs::read_dir(&folder).is_ok_and(|mut inside| inside.next().is_none())
        })
    }

    fn check_outside(&self, worktrees: &Worktrees) -> Result<()> {
        let linked = worktrees.linked.iter().map(|tree| &tree.record.path);
        let main = (!worktrees.main.bare).then_some(&worktrees.main.path);
        for path in linked.chain(main) {
            if self.root.starts_with(path) {
                let why = format!("it is inside the worktree '{}'", path.display());
                return Err(Error::Root { root: self.root.clone(), why, hint: elsewhere() });
            }
        }
        if self.root.starts_with(&self.common) {
            let why = "it is inside the repository".to_owned();
            return Err(Error::Root { root: self.root.clone(), why, hint: elsewhere() });
        }
        Ok(())
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it fills an optional field")]
fn elsewhere() -> Option<String> {
    Some("git config sandbox.root '../{project}-worktrees'".into())
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
///
/// Taken is also what differs in case only: some file systems would not tell them apart. An empty
/// folder that no worktree stands in is what a crash left: it is made anew.
pub fn make_free_folder(home: &Path, wanted: &str, worktrees: &Worktrees) -> Result<PathBuf> {
    let names = fs::read_dir(home).at("read", home)?.flatten().map(|entry| entry.file_name());
    let taken: Vec<String> = names.map(|name| name.to_string_lossy().to_lowercase()).collect();
    for number in 1.. {
        let folder = if number == 1 { wanted.to_owned() } else { name::numbered(wanted, number) };
        let path = home.join(&folder);
        let registered = worktrees.linked.iter().any(|tree| tree.record.path == path);
        let left_over = || !registered && fs::remove_dir(&path).is_ok();
        if registered || (taken.contains(&folder.to_lowercase()) && !left_over()) {
            continue;
        }
        match DirBuilder::new().mode(0o777).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).at("create", &path),
        }
    }
    Err(Error::FolderTaken { path: home.join(wanted) })
}

/// Makes a folder and its parents for us alone.
pub fn make_folder(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).at("create", path)
}

/// Marks a sandbox as used now.
pub fn touch(folder: &Path, now: Time) -> Result<()> {
    fs::File::open(folder).and_then(|folder| folder.set_modified(now.into())).at("mark", folder)
}

/// The root is made for us alone; one that is there must be ours alone.
fn make_root(root: &Path) -> Result<()> {
    match check_root(root)? {
        true => Ok(()),
        false => make_folder(root),
    }
}

/// Refuses a root that is not ours alone; whether it is there at all.
pub fn check_root(root: &Path) -> Result<bool> {
    let refused = |why: &str, hint: Option<String>| {
        Err(Error::Root { root: root.to_owned(), why: why.to_owned(), hint })
    };
    let us = rustix::process::geteuid().as_raw();
    if let Some(why) = untrusted(root, us, 0) {
        return refused(&why, None);
    }
    match fs::metadata(root) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error).at("use", root),
        Ok(meta) if !meta.is_dir() => return refused("it is not a folder", None),
        Ok(meta) if meta.uid() != us => return refused("it belongs to another user", None),
        Ok(meta) if meta.mode() & 0o022 != 0 => {
            let fix = format!("chmod go-w {}", shell_word(&root.to_string_lossy()));
            return refused("others may write to it", Some(fix));
        }
        Ok(_) => {}
    }
    Ok(true)
}

/// A root of ours that others may write to.
#[derive(Debug)]
pub struct OpenRoot(PathBuf, u32);

/// Whether a folder of ours is open to others.
pub fn open_to_others(path: &Path) -> Option<OpenRoot> {
    let meta = fs::symlink_metadata(path).ok()?;
    let ours = meta.uid() == rustix::process::geteuid().as_raw();
    (ours && meta.mode() & 0o022 != 0).then(|| OpenRoot(path.to_owned(), meta.mode()))
}

impl OpenRoot {
    /// Closes it.
    pub fn apply(&self) -> Result<()> {
        let mode = fs::Permissions::from_mode(self.1 & 0o7755);
        fs::set_permissions(&self.0, mode).at("close", &self.0)
    }
}

/// Why someone else could lead this path elsewhere, if they could.
fn untrusted(path: &Path, us: u32, depth: u32) -> Option<String> {
    if depth > 40 {
        return Some("it has too many symlinks".into());
    }
    let mut so_far = PathBuf::new();
    for part in path.components() {
        let parent = fs::metadata(&so_far).ok();
        so_far.push(part);
        let safe_owner = |uid: u32| uid == us || uid == 0;
        // In a sticky folder only the owner may replace what is theirs.
        let mode = parent.as_ref().map_or(0, MetadataExt::mode);
        let open = |bits: u32| mode & bits != 0 && mode & 0o1000 == 0;
        let meta = fs::symlink_metadata(&so_far).ok();
        let theirs = meta.as_ref().is_some_and(|meta| mode & 0o002 != 0 && !safe_owner(meta.uid()));
        if open(0o002) || theirs {
            return Some(format!("others may replace '{}'", so_far.display()));
        }
        let meta = meta?;
        if meta.is_symlink() {
            let parent_owner = parent.as_ref().map_or(0, MetadataExt::uid);
            if !safe_owner(meta.uid()) || !safe_owner(parent_owner) || open(0o020) {
                return Some(format!("others may change the symlink '{}'", so_far.display()));
            }
            let target = so_far.parent()?.join(fs::read_link(&so_far).ok()?);
            if let Some(why) = untrusted(&tidy(&target), us, depth + 1) {
                return Some(why);
            }
        }
    }
    None
}

/// The path with symlinks resolved as far as it exists.
pub fn real(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let (Ok(found), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    path.to_owned()
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

    #[test]
    fn a_root_may_name_the_project() {
        let root = Root("../{project}-worktrees".into());
        let path = root.path(Path::new("/nowhere/app"), OsStr::new("app"));
        assert_eq!(path, Path::new("/nowhere/app-worktrees"));
        assert_eq!(root.homes(), Vec::<PathBuf>::new());
    }
}
