//! The root: the folder below which all sandboxes of a user lie, and whether it is the user's alone.

use crate::error::{Doing, Error, Result};
use crate::git::Git;
use crate::git::config::Config;
use crate::sys::path::{absolute, real, tidy};
use crate::sys::{crash_point, dir, group};
use crate::ui::words::shell_word;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

const PROJECT: &str = "{project}";
const FOLDER: &str = "{folder}";
/// Where the trash is kept if sandboxes stand among folders of others.
const BESIDE: &str = ".git-sandbox";

/// The root as it was asked for: `{project}` may still stand in it, and `{folder}` at its end. With
/// `{folder}` sandboxes stand among other folders of the user's.
#[derive(Clone, Debug)]
pub struct Root(OsString);

impl Root {
    /// `--root`, else `GIT_SANDBOX_ROOT`, else `sandbox.root`, else the user's cache.
    pub fn wanted(option: Option<&OsStr>, config: &Config, git: &Git) -> Result<Root> {
        let root = Root::found(option, config, git)?;
        let text = root.0.to_string_lossy();
        match text.strip_suffix(FOLDER).unwrap_or(&text).contains(FOLDER) {
            false => Ok(root),
            true => Err(Error::Root {
                root: PathBuf::from(&root.0),
                why: "'{folder}' can stand at its end only".into(),
                hint: Some("git config sandbox.root '../{project}.{folder}'".into()),
            }),
        }
    }

    fn found(option: Option<&OsStr>, config: &Config, git: &Git) -> Result<Root> {
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
    pub fn path(&self, main: &Path, project: &OsStr) -> PathBuf {
        let path = self.filled(main, project);
        match (self.names_folder(), path.parent()) {
            (true, Some(parent)) => parent.join(BESIDE),
            _ => path,
        }
    }

    /// The folder that sandboxes stand in, where they have their own names among others.
    pub fn shared_home(&self, main: &Path, project: &OsStr) -> Option<PathBuf> {
        let path = self.filled(main, project);
        path.parent().filter(|_| self.names_folder()).map(Path::to_owned)
    }

    /// The name of a sandbox's folder, with what the root puts before it.
    pub fn folder(&self, main: &Path, project: &OsStr, folder: &str) -> String {
        let path = self.filled(main, project);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match self.names_folder() {
            true => name.replacen(FOLDER, folder, 1),
            false => folder.to_owned(),
        }
    }

    fn filled(&self, main: &Path, project: &OsStr) -> PathBuf {
        let text = self.0.to_string_lossy();
        let value = match text.contains(PROJECT) {
            true => text.replace(PROJECT, &project.to_string_lossy()).into(),
            false => self.0.clone(),
        };
        tidy(&main.join(value))
    }

    pub fn names_project(&self) -> bool {
        self.0.to_string_lossy().contains(PROJECT)
    }

    /// Whether it names the folder of each sandbox.
    pub fn names_folder(&self) -> bool {
        self.0.to_string_lossy().ends_with(FOLDER)
    }

    /// As it was asked for.
    pub fn value(&self) -> &OsStr {
        &self.0
    }

    /// The root itself, where it does not depend on the project.
    pub fn plain(&self) -> Option<PathBuf> {
        let path = match self.names_folder() {
            true => Path::new(&self.0).parent()?.join(BESIDE),
            false => PathBuf::from(&self.0),
        };
        let names_project = path.to_string_lossy().contains(PROJECT);
        (path.is_absolute() && !names_project).then(|| real(&path))
    }

    /// Every folder of the trash, seen from outside of all repositories.
    pub fn trash_folders(&self) -> Vec<PathBuf> {
        let roots: Vec<PathBuf> = match self.names_project() && !self.names_folder() {
            true => self.homes(),
            false => self.plain().into_iter().collect(),
        };
        roots.iter().flat_map(|root| matching(&root.join(".trash"), "", "")).collect()
    }

    /// Every folder that can hold sandboxes of some repository, seen from outside of all of them. One in
    /// which sandboxes stand among other folders does not count: what is in there may be another program's.
    pub fn homes(&self) -> Vec<PathBuf> {
        let path = Path::new(&self.0);
        if !path.is_absolute() || self.names_folder() {
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
pub fn matching(dir: &Path, lead: &str, end: &str) -> Vec<PathBuf> {
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

fn cache() -> Result<PathBuf> {
    let home = || absolute("HOME").map(|home| home.join(".cache"));
    absolute("XDG_CACHE_HOME").or_else(home).ok_or_else(|| Error::Root {
        root: "~/.cache/git-sandbox/worktrees".into(),
        why: "HOME is not set".into(),
        hint: Some("git config --global sandbox.root <folder>".into()),
    })
}

/// The root is made for us alone; one that is there must be ours alone, also if it came to be there
/// since it was looked for.
pub fn make(root: &Path) -> Result<()> {
    if check_root(root)? {
        return Ok(());
    }
    root.parent().map_or(Ok(()), dir::make)?;
    crash_point::reached();
    match DirBuilder::new().mode(0o700).create(root) {
        // Another command of ours may have been faster, or another user.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        other => other.at("create", root)?,
    }
    let folder = File::open(root).and_then(|folder| folder.metadata()).at("use", root)?;
    if !check_root(root)? || fs::metadata(root).at("use", root)?.ino() != folder.ino() {
        return Err(refused(root, "others may replace it", own_folder()));
    }
    check_folder(root, &folder)
}

/// Refuses a root that is not ours alone; whether it is there at all.
pub fn check_root(root: &Path) -> Result<bool> {
    let us = rustix::process::geteuid().as_raw();
    match untrusted(root, us, 0) {
        Some(Untrusted::File(path)) => {
            let why = format!("'{}' is not a folder", path.display());
            return Err(refused(root, &why, own_folder()));
        }
        Some(Untrusted::Others(why)) => return Err(refused(root, &why, own_folder())),
        None => {}
    }
    match fs::metadata(root) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).at("use", root),
        Ok(meta) => check_folder(root, &meta).map(|()| true),
    }
}

/// Refuses a folder as the root that is not ours alone.
fn check_folder(root: &Path, meta: &fs::Metadata) -> Result<()> {
    let is_ours = meta.uid() == rustix::process::geteuid().as_raw();
    let is_sticky = meta.mode() & 0o1000 != 0;
    let (why, hint) = match () {
        () if !meta.is_dir() => ("it is not a folder", own_folder()),
        () if meta.mode() & 0o022 != 0 && is_ours && !is_sticky => {
            let fix = format!("chmod go-w {}", shell_word(&root.to_string_lossy()));
            ("others may write to it", fix)
        }
        // A folder that all users share stays as it is.
        () if meta.mode() & 0o022 != 0 => ("others may write to it", own_folder()),
        () if !is_ours => ("it belongs to another user", own_folder()),
        () => return Ok(()),
    };
    Err(refused(root, why, hint))
}

fn refused(root: &Path, why: &str, hint: String) -> Error {
    Error::Root { root: root.to_owned(), why: why.to_owned(), hint: Some(hint) }
}

fn own_folder() -> String {
    "use a folder of your own, such as '--root ~/sandboxes'".to_owned()
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

/// Why a path is not to be trusted.
enum Untrusted {
    /// This is on the way, and not a folder.
    File(PathBuf),
    /// Other users could lead it elsewhere.
    Others(String),
}

/// Why someone else could lead this path elsewhere, if they could.
fn untrusted(path: &Path, us: u32, depth: u32) -> Option<Untrusted> {
    if depth > 40 {
        return Some(Untrusted::Others("it has too many symlinks".into()));
    }
    // Owners that a container does not know are shown as this one.
    let unknown = fs::read_to_string("/proc/sys/kernel/overflowuid").unwrap_or_default();
    let unknown = unknown.trim().parse::<u32>().ok();
    let is_safe = |uid: u32| uid == us || uid == 0;
    let mut so_far = PathBuf::new();
    for part in path.components() {
        let parent = fs::metadata(&so_far).ok();
        let above = so_far.clone();
        so_far.push(part);
        let meta = fs::symlink_metadata(&so_far).ok();
        let Some(parent) = parent else { continue };
        if !parent.is_dir() {
            return Some(Untrusted::File(above));
        }
        let mode = parent.mode();
        let open_to_group = mode & 0o020 != 0 && !group::is_private(parent.gid());
        let is_open = mode & 0o002 != 0 || open_to_group;
        let is_sticky = mode & 0o1000 != 0;
        let is_theirs = |meta: &fs::Metadata| is_open && !is_safe(meta.uid());
        let owner_may = !is_safe(parent.uid()) && Some(parent.uid()) != unknown;
        let is_symlink = meta.as_ref().is_some_and(fs::Metadata::is_symlink);
        // In a sticky folder only the owner may replace what is theirs.
        let others_may = owner_may || (is_open && !is_sticky);
        if is_symlink && (others_may || !meta.as_ref().is_some_and(|meta| is_safe(meta.uid()))) {
            let why = format!("others may change the symlink '{}'", so_far.display());
            return Some(Untrusted::Others(why));
        }
        if others_may || meta.as_ref().is_some_and(is_theirs) {
            let why = format!("others may replace '{}'", so_far.display());
            return Some(Untrusted::Others(why));
        }
        if is_symlink {
            let target = so_far.parent()?.join(fs::read_link(&so_far).ok()?);
            if let Some(why) = untrusted(&tidy(&target), us, depth + 1) {
                return Some(why);
            }
        }
        meta?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_may_name_the_project() {
        let root = Root("../{project}-worktrees".into());
        let path = root.path(Path::new("/nowhere/app"), OsStr::new("app"));
        assert_eq!(path, Path::new("/nowhere/app-worktrees"));
        assert_eq!(root.homes(), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_root_may_name_the_folder() {
        let (main, project) = (Path::new("/nowhere/app"), OsStr::new("app"));
        let root = Root("../{project}.{folder}".into());
        assert_eq!(root.path(main, project), Path::new("/nowhere/.git-sandbox"));
        assert_eq!(root.shared_home(main, project).as_deref(), Some(Path::new("/nowhere")));
        assert_eq!(root.folder(main, project, "fix"), "app.fix");
        assert_eq!(root.plain(), None);
        let root = Root("/nowhere/{folder}".into());
        assert_eq!(root.plain().as_deref(), Some(Path::new("/nowhere/.git-sandbox")));
        assert_eq!((root.homes(), root.folder(main, project, "fix")), (vec![], "fix".into()));
    }
}
