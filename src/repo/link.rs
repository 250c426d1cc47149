//! Git's pointers, read and written: a linked worktree's `.git` and its private git dir's `gitdir`, and
//! the same of its submodules. After a move all are written anew, each in the form it had: absolute or
//! relative.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::error::{Doing, Error, Result};
use crate::git::Git;
use crate::sys::file;
use crate::sys::path::{is_same, normal, relative, tidy};

/// A folder, and the path by which pointers are to name it: while one half of a worktree is on its
/// way, the two differ.
#[derive(Clone, Copy, Debug)]
pub struct Half<'a> {
    /// Where it is now.
    pub at: &'a Path,
    /// Where it will be.
    pub named: &'a Path,
}

impl<'a> Half<'a> {
    /// A folder that stays where it is.
    pub fn here(path: &'a Path) -> Half<'a> {
        Half { at: path, named: path }
    }
}

/// Makes a private git dir and a folder name each other.
pub fn connect(entry: &Path, folder: &Path) -> Result<()> {
    point(Half::here(entry), Half::here(folder))
}

/// Writes both pointers, for the places where the two will be.
pub fn point(private: Half, folder: Half) -> Result<()> {
    let gitdir = private.at.join("gitdir");
    let old = file::read_small(&gitdir).at("read", &gitdir)?;
    let dot_git = folder.named.join(".git");
    let new = if old.starts_with(b"/") { dot_git } else { relative(private.named, &dot_git) };
    write(&gitdir, b"", &new, &old)?;
    // Only there: in the folder a file of that name may be the user's.
    file::clear(&gitdir);
    let dot_git = folder.at.join(".git");
    let old = file::read_small(&dot_git).at("read", &dot_git)?;
    let Some(path) = old.strip_prefix(b"gitdir: ") else {
        let name = folder.at.to_string_lossy().into_owned();
        return Err(Error::Damaged { name, why: "its '.git' file is not understood".into() });
    };
    let is_absolute = path.starts_with(b"/");
    let entry = private.named;
    let new = if is_absolute { entry.to_owned() } else { relative(folder.named, entry) };
    write(&dot_git, b"gitdir: ", &new, &old)
}

/// Writes a `.git` file that names a private git dir, where there is none.
pub fn write_git_file(folder: &Path, entry: &Path) -> Result<()> {
    write(&folder.join(".git"), b"gitdir: ", entry, b"")
}

fn write(file: &Path, lead: &[u8], path: &Path, old: &[u8]) -> Result<()> {
    let text = [lead, path.as_os_str().as_bytes(), b"\n"].concat();
    match text == old {
        true => Ok(()),
        // Every name in the folder is the user's: what is written first stands beside it.
        false if !lead.is_empty() => file::replace_from_above(file, &text),
        false => file::replace(file, &text),
    }
}

/// Tells the submodules of a worktree that it moves. Each is known by its git dir,
/// `<private>/modules/<name>`, to every depth, whose `core.worktree` names its folder from `before`,
/// the private git dir and folder as they were last named.
pub fn move_submodules(
    git: &Git,
    before: (&Path, &Path),
    private: Half,
    folder: Half,
) -> Result<()> {
    for name in module_dirs(&private.at.join("modules")) {
        let below = |private: &Path| private.join("modules").join(&name);
        let Some((config, value)) = worktree_setting(git, &below(private.at))? else { continue };
        let was = tidy(&below(before.0).join(&value));
        let Ok(inside) = was.strip_prefix(before.1) else { continue };
        let (git_dir, checkout) = (below(private.named), folder.named.join(inside));
        let new =
            if value.is_absolute() { checkout.clone() } else { relative(&git_dir, &checkout) };
        if new != value {
            let call = git.call(["config", "--file"]).arg(config).arg("core.worktree");
            call.arg(new).done("reconnect a submodule")?;
        }
        let pointer = folder.at.join(inside).join(".git");
        let Ok(old) = file::read_small(&pointer) else { continue };
        let Some(path) = old.strip_prefix(b"gitdir: ") else { continue };
        let is_absolute = path.starts_with(b"/");
        let new = if is_absolute { git_dir } else { relative(&checkout, &git_dir) };
        write(&pointer, b"gitdir: ", &new, &old)?;
    }
    Ok(())
}

/// The git dirs of submodules below a `modules` folder, to every depth, as paths from there.
pub fn module_dirs(modules: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![PathBuf::new()];
    while let Some(name) = todo.pop() {
        let folder = modules.join(&name);
        let is_git_dir = folder.join("HEAD").exists() && folder.join("objects").is_dir();
        if is_git_dir && !name.as_os_str().is_empty() {
            todo.push(name.join("modules"));
            found.push(name);
            continue;
        }
        let inside = fs::read_dir(&folder).into_iter().flatten().flatten();
        let folders = inside.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        todo.extend(folders.map(|entry| name.join(entry.file_name())));
    }
    found.sort();
    found
}

/// The file that has `core.worktree` of a submodule, and its value. A git that fails is no answer: the
/// pointers of the submodule would stay as they were.
fn worktree_setting(git: &Git, git_dir: &Path) -> Result<Option<(PathBuf, PathBuf)>> {
    for config in ["config", "config.worktree"].map(|name| git_dir.join(name)) {
        let call = git.call(["config", "--file"]).arg(&config).args(["--get", "core.worktree"]);
        let answer = call.ask()?;
        match answer.code {
            Some(0) => {
                let value = answer.stdout.strip_suffix(b"\n").unwrap_or(&answer.stdout);
                return Ok(Some((config, PathBuf::from(OsStr::from_bytes(value)))));
            }
            Some(1) => {}
            _ => {
                let doing = "read where a submodule is".to_owned();
                return Err(Error::Git { doing, why: answer.why() });
            }
        }
    }
    Ok(None)
}

pub fn entry_says(entry: &Path, path: &Path) -> bool {
    read_pointer(&entry.join("gitdir"), b"").is_some_and(|text| text == path.join(".git"))
}

/// The worktree folder that a private git dir names in its `gitdir`.
pub fn entry_points_to(entry: &Path) -> Option<PathBuf> {
    let text = read_pointer(&entry.join("gitdir"), b"")?;
    let dot_git = normal(&entry.join(text));
    if dot_git.file_name()? == ".git" {
        dot_git.parent().map(Path::to_owned)
    } else {
        Some(dot_git)
    }
}

/// Whether a folder is shown to be a worktree of another repository: it and an entry there name each
/// other. An entry of ours that names this folder has lost its own.
pub fn is_another_repositorys(folder: &Path, entry: &Path) -> bool {
    let common = |entry: &Path| entry.parent().and_then(Path::parent).map(Path::to_owned);
    let (Some(other), Some(ours)) = (folder_points_to(folder), common(entry)) else { return false };
    let Some(theirs) = common(&other) else { return false };
    let place = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    let listed = place(&theirs.join("worktrees")) == other.parent().and_then(place);
    // One repository may go by several paths.
    let elsewhere = place(&theirs).is_some() && place(&theirs) != place(&ours);
    let named = entry_points_to(&other).as_deref() == Some(folder);
    listed && elsewhere && named && is_entry(&other, &theirs)
}

/// Whether a folder's `.git` is this git dir, or names it.
pub fn leads_to(folder: &Path, git_dir: &Path) -> bool {
    let dot_git = folder.join(".git");
    let named = if dot_git.is_dir() { Some(dot_git) } else { folder_points_to(folder) };
    named.is_some_and(|named| is_same(&named, git_dir))
}

/// The private git dir that a worktree folder names in its `.git` file.
pub fn folder_points_to(folder: &Path) -> Option<PathBuf> {
    let file = folder.join(".git");
    if !file.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
        return None;
    }
    Some(normal(&folder.join(read_pointer(&file, b"gitdir: ")?)))
}

/// Whether the bytes of a folder's `.git` name this private git dir.
pub fn names(bytes: &[u8], folder: &Path, entry: &Path) -> bool {
    let named = parse_pointer(bytes, b"gitdir: ");
    named.is_some_and(|named| is_same(&normal(&folder.join(named)), entry))
}

fn read_pointer(file: &Path, lead: &[u8]) -> Option<PathBuf> {
    parse_pointer(&file::read_small(file).ok()?, lead)
}

fn parse_pointer(bytes: &[u8], lead: &[u8]) -> Option<PathBuf> {
    let text = bytes.strip_prefix(lead)?.trim_ascii_end();
    let path = !text.is_empty() && !text.contains(&0);
    path.then(|| PathBuf::from(OsStr::from_bytes(text)))
}

/// The common dir that a private git dir names.
pub fn common_of(entry: &Path) -> Option<PathBuf> {
    let text = file::read_small(&entry.join("commondir")).ok()?;
    Some(normal(&entry.join(OsStr::from_bytes(text.trim_ascii_end()))))
}

/// Whether git would take this for the private git dir of a worktree of that repository.
pub fn is_entry(entry: &Path, common: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let leads = common_of(entry).is_some_and(|named| real(&named) == real(common));
    leads
        && is_git_dir(common)
        && [entry, common].iter().all(|dir| names_a_commit(&dir.join("HEAD")))
}

/// What git asks of a git dir, besides its HEAD.
pub fn is_git_dir(common: &Path) -> bool {
    let usable = |name: &str| access(common.join(name), Access::EXEC_OK).is_ok();
    usable("objects") && usable("refs") && !common.join("commondir").exists()
}

/// Whether a HEAD is one that git would take.
pub fn names_a_commit(head: &Path) -> bool {
    let is_file = head.symlink_metadata().is_ok_and(|meta| meta.is_file());
    let bytes = if is_file { file::read_small(head).unwrap_or_default() } else { Vec::new() };
    let text = bytes.trim_ascii_end();
    let id = || matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit);
    text.strip_prefix(b"ref: ").is_some_and(|name| name.starts_with(b"refs/")) || id()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;
    use crate::sys::path::tidy;
    use std::path::Component;

    #[test]
    fn a_head_names_a_branch_or_a_commit_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let head = dir.path().join("HEAD");
        let id = "0123456789abcdefABCDEF0123456789abcdef01";
        let long = format!("{id}{}", &id[..24]);
        for text in ["ref: refs/heads/x\n", "ref: refs/x", id, &long, &format!("{id}\n")] {
            fs::write(&head, text).unwrap();
            assert!(names_a_commit(&head), "{text}");
        }
        let odd = format!("{}g", &id[..39]);
        for text in ["", "ref: ", "ref: HEAD\n", "refs/heads/x", &id[..39], &odd, &long[..63]] {
            fs::write(&head, text).unwrap();
            assert!(!names_a_commit(&head), "{text}");
        }
        fs::write(dir.path().join("file"), id).unwrap();
        fs::remove_file(&head).unwrap();
        std::os::unix::fs::symlink("file", &head).unwrap();
        assert!(!names_a_commit(&head));
    }

    #[test]
    fn an_entry_is_one_of_the_repository_that_it_names() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        let [common, other] = ["common", "other"].map(|name| top.join(name));
        for git_dir in [&common, &other] {
            for name in ["objects", "refs", "worktrees/x"] {
                fs::create_dir_all(git_dir.join(name)).unwrap();
            }
            fs::write(git_dir.join("HEAD"), "ref: refs/heads/x\n").unwrap();
        }
        let entry = common.join("worktrees/x");
        fs::write(entry.join("HEAD"), "ref: refs/heads/x\n").unwrap();
        fs::write(entry.join("commondir"), "../..\n").unwrap();
        assert!(is_entry(&entry, &common) && !is_entry(&entry, &other));
        for (file, text) in [
            (entry.join("HEAD"), "x"),
            (entry.join("commondir"), "../../../other"),
            (common.join("HEAD"), "x"),
            (common.join("commondir"), "../other"),
        ] {
            let before = fs::read(&file).ok();
            fs::write(&file, text).unwrap();
            assert!(!is_entry(&entry, &common), "{}", file.display());
            match before {
                Some(bytes) => fs::write(&file, bytes).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
        }
        for name in ["objects", "refs"] {
            fs::rename(common.join(name), top.join("away")).unwrap();
            assert!(!is_entry(&entry, &common), "{name}");
            fs::rename(top.join("away"), common.join(name)).unwrap();
        }
        assert!(is_entry(&entry, &common));
    }

    #[test]
    fn fuzz_pointers() {
        let real = [b"gitdir: /a/.git/worktrees/x\n".as_slice(), b"../../w/.git\n"];
        fuzz::damaged(&real, |input| {
            for lead in [b"gitdir: ".as_slice(), b""] {
                let Some(path) = parse_pointer(input, lead) else { continue };
                let bytes = path.as_os_str().as_bytes();
                assert!(input.starts_with(&[lead, bytes].concat()));
                assert!(!bytes.is_empty() && !bytes.contains(&0) && !bytes.ends_with(b"\n"));
                let tidied = tidy(&path);
                assert!(tidied.components().all(|part| part != Component::ParentDir));
                assert_eq!(tidy(&tidied), tidied);
            }
        });
    }
}
