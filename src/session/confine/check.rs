//! Holes that settings or planted files would leave in the walls. Each is refused before anything
//! is started.

use std::fs;
use std::path::{Path, PathBuf};

use super::mounts::SYSTEM as SHOWN;
use super::wish::{Places, Wish};
use crate::error::{Error, Result};
use crate::sandbox::record::Level;
use crate::sys::path;
use crate::ui::words::shell_word;

/// Folders without which no program runs, or through which every wall can be passed.
const SYSTEM: [&str; 9] = ["/usr", "/etc", "/bin", "/lib", "/proc", "/sys", "/dev", "/run", "/var"];

/// Fails if the user's settings would let the command out.
pub fn settings(name: &str, wish: &Wish, places: &Places, home: &Path) -> Result<()> {
    let refuse = |why: String, hints: Vec<String>| {
        Err(Error::NotConfined { name: name.to_owned(), why, hints })
    };
    for place in [&places.main, &places.root, &places.folder, &home.to_owned()] {
        if SYSTEM.iter().any(|system| Path::new(system).starts_with(place)) {
            let why = format!("'{}' holds the system itself", place.display());
            return refuse(why, Vec::new());
        }
    }
    for path in &wish.read {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if let Some(what) = too_open(&real) {
            let why = format!("sandbox.confineRead '{}' is too wide: it {what}", path.display());
            let hint = "git config --show-origin --get-all sandbox.confineRead".to_owned();
            return refuse(why, vec![hint]);
        }
    }
    for path in &wish.write {
        let shown = path.display();
        let Ok(real) = path.canonicalize() else {
            let hint = format!("mkdir -p {}", shell_word(&path.to_string_lossy()));
            return refuse(format!("'{shown}' of sandbox.confineWrite is not there"), vec![hint]);
        };
        if let Some(what) = too_wide(&real, places, home) {
            let why = format!("sandbox.confineWrite '{shown}' is too wide: it {what}");
            let hint = "git config --show-origin --get-all sandbox.confineWrite".to_owned();
            return refuse(why, vec![hint]);
        }
    }
    if wish.level == Level::Landlock
        && let Some(why) = not_without_mounts(wish, places, home)
    {
        return refuse(why, Vec::new());
    }
    let own: Vec<&PathBuf> = wish.read.iter().chain(&wish.write).collect();
    for path in own.iter().copied().chain(&places.others).chain([&places.main]) {
        let mut writable = wish.write.iter().chain([&places.folder]);
        let shown = path.display();
        if let Some(open) = writable.clone().find(|open| leads_into(path, open)) {
            let why = format!(
                "'{shown}' leads into '{}', where the command can change it",
                open.display()
            );
            let hint = "git config --show-origin --get-all sandbox.confineWrite".to_owned();
            return refuse(why, vec![hint]);
        }
        let Some(open) = writable.find(|open| path.starts_with(open) && *open != path) else {
            continue;
        };
        // A command that ran before may have put a symlink to a secret here.
        if let Some(link) = symlink_below(open, path) {
            return refuse(
                format!("'{}' is a symlink in a writable folder", link.display()),
                Vec::new(),
            );
        }
        if own.contains(&path) && path.symlink_metadata().is_err() {
            let hint = format!("touch {}", shell_word(&path.to_string_lossy()));
            let why = format!(
                "'{shown}' is to be read-only, but is not there: the command could make it"
            );
            return refuse(why, vec![hint]);
        }
    }
    Ok(())
}

/// What a readable path would give away that is not only read, if anything: through the processes and
/// devices of the machine, and the sockets of the user's session, a command does what it likes outside.
fn too_open(path: &Path) -> Option<&'static str> {
    let is_in = |place: &str| path.starts_with(place);
    let holds = |place: &str| Path::new(place).starts_with(path);
    let session = Path::new("/run/user");
    match () {
        () if holds("/proc") || holds("/dev") || is_in("/proc") => Some("holds the system"),
        () if holds("/run/user") || path.parent() == Some(session) => {
            Some("holds the sockets of your session")
        }
        () => None,
    }
}

/// What a writable path would give away, if anything.
fn too_wide(path: &Path, places: &Places, home: &Path) -> Option<&'static str> {
    let holds = |place: &Path| place.starts_with(path);
    let is_in = |place: &Path| path.starts_with(place);
    let shared = Path::new("/dev/shm");
    match () {
        () if holds(home) => Some("holds your home"),
        () if SYSTEM.iter().any(|system| holds(Path::new(system))) => Some("holds the system"),
        () if ["/proc", "/sys", "/dev"].iter().any(|system| is_in(Path::new(system)))
            && (!is_in(shared) || holds(shared)) =>
        {
            Some("is part of the system")
        }
        () if holds(&places.common) || is_in(&places.common) => Some("reaches the git dir"),
        () if holds(&places.root) || (is_in(&places.root) && !is_in(&places.folder)) => {
            Some("reaches other sandboxes")
        }
        () if holds(&places.main) || places.others.iter().any(|other| holds(other)) => {
            Some("holds another worktree")
        }
        () => None,
    }
}

/// What Landlock alone cannot do, for it has no rule that takes away what another one grants.
fn not_without_mounts(wish: &Wish, places: &Places, home: &Path) -> Option<String> {
    let needs = "needs the full level";
    let is_open = |path: &Path| wish.write.iter().any(|open| path.starts_with(open));
    if let Some(path) = wish.read.iter().find(|path| is_open(path)) {
        let shown = path.display();
        return Some(format!("to keep '{shown}' read-only in a writable folder {needs}"));
    }
    let others = places.others.iter().chain([&places.main]);
    if let Some(place) = others.clone().find(|place| place.starts_with(&places.folder)) {
        return Some(format!("to hide '{}' in a writable folder {needs}", place.display()));
    }
    let read = wish.read.iter().map(PathBuf::as_path).chain(SHOWN.iter().map(Path::new));
    let read: Vec<PathBuf> = read.filter_map(|path| path.canonicalize().ok()).collect();
    let mut hidden = vec![home, &places.root, &places.common];
    hidden.extend(others.map(PathBuf::as_path));
    let shown = hidden.into_iter().find(|place| read.iter().any(|path| place.starts_with(path)));
    shown.map(|place| format!("to hide '{}' in a readable folder {needs}", place.display()))
}

/// Whether a path leads into a writable folder by another name than the folder's own. Then what is mounted
/// at the path is not mounted in the folder, and the command could put a symlink in its place.
fn leads_into(path: &Path, open: &Path) -> bool {
    let real = open.canonicalize().unwrap_or_else(|_| open.to_owned());
    let is_inside = |step: &PathBuf| step.starts_with(&real) && *step != real;
    !path.starts_with(open) && path::steps(path).iter().any(is_inside)
}

/// The first symlink on the way from a folder to a path in it.
fn symlink_below(folder: &Path, path: &Path) -> Option<PathBuf> {
    let below = path.ancestors().take_while(|part| *part != folder).collect::<Vec<_>>();
    let is_link = |part: &&&Path| part.symlink_metadata().is_ok_and(|it| it.is_symlink());
    below.iter().rev().find(is_link).map(|part| part.to_path_buf())
}

/// Fails unless the files of the quarantine and the sandbox that mounts are made of are what they
/// should be. A command that ran before may have replaced some by symlinks.
pub fn places(name: &str, places: &Places) -> Result<()> {
    let Places { quarantine, common, entry, folder, .. } = places;
    let id = entry.file_name().unwrap_or_default();
    let private = quarantine.join("worktrees").join(id);
    let folders = [
        quarantine.clone(),
        quarantine.join("base-objects"),
        quarantine.join("objects"),
        quarantine.join("worktrees"),
        private.clone(),
        common.join("objects"),
        folder.clone(),
    ];
    let files = [private.join("commondir"), entry.join("commondir"), folder.join(".git")];
    let is = |path: &Path, wanted: fn(&fs::Metadata) -> bool| {
        path.symlink_metadata().is_ok_and(|found| wanted(&found))
    };
    let odd = folders.iter().find(|path| !is(path, fs::Metadata::is_dir));
    match odd.or_else(|| files.iter().find(|path| !is(path, fs::Metadata::is_file))) {
        None => Ok(()),
        Some(path) => Err(Error::NotConfined {
            name: name.to_owned(),
            why: format!("'{}' is not what git sandbox made", path.display()),
            hints: Vec::new(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a command that ran before may have replaced is not mounted.
    #[test]
    fn a_symlink_in_any_place_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let common = dir.path().join("app/.git");
        let entry = common.join("worktrees/box");
        let it = Places {
            quarantine: entry.join("confined"),
            folder: dir.path().join("box"),
            main: dir.path().join("app"),
            root: dir.path().to_owned(),
            others: Vec::new(),
            common,
            entry,
        };
        let inside = it.quarantine.join("worktrees/box");
        let folders = [
            it.quarantine.join("base-objects"),
            it.quarantine.join("objects"),
            inside.clone(),
            it.quarantine.join("worktrees"),
            it.common.join("objects"),
            it.quarantine.clone(),
            it.folder.clone(),
        ];
        let files = [inside.join("commondir"), it.entry.join("commondir"), it.folder.join(".git")];
        for folder in &folders {
            fs::create_dir_all(folder).unwrap();
        }
        for file in &files {
            fs::write(file, "").unwrap();
        }
        assert!(super::places("box", &it).is_ok());
        let aside = dir.path().join("aside");
        for path in folders.iter().chain(&files) {
            fs::rename(path, &aside).unwrap();
            std::os::unix::fs::symlink(&aside, path).unwrap();
            let error = super::places("box", &it).unwrap_err().to_string();
            let wanted =
                format!("cannot confine 'box': '{}' is not what git sandbox made", path.display());
            assert_eq!(error, wanted);
            fs::remove_file(path).unwrap();
            fs::rename(&aside, path).unwrap();
        }
        let wide = Places { root: "/".into(), ..it };
        let home = dir.path().join("home");
        let wish = Wish {
            level: crate::sandbox::record::Level::Full,
            network: crate::sandbox::record::Network::Off,
            read: Vec::new(),
            write: Vec::new(),
            env: Vec::new(),
            hosts: Vec::new(),
        };
        let error = settings("box", &wish, &wide, &home).unwrap_err().to_string();
        assert_eq!(error, "cannot confine 'box': '/' holds the system itself");
    }

    #[test]
    fn what_is_too_open() {
        for wide in ["/", "/proc", "/proc/1", "/dev", "/run", "/run/user", "/run/user/1000"] {
            assert!(too_open(Path::new(wide)).is_some(), "{wide}");
        }
        for fine in ["/srv", "/run/user/1000/agent/ssh", "/run/secrets", "/home", "/process"] {
            assert_eq!(too_open(Path::new(fine)), None, "{fine}");
        }
    }

    #[test]
    fn what_is_too_wide() {
        let path = |text: &str| PathBuf::from(text);
        let places = Places {
            quarantine: path("/w/app/.git/worktrees/box/confined"),
            common: path("/w/app/.git"),
            entry: path("/w/app/.git/worktrees/box"),
            folder: path("/h/u/.cache/git-sandbox/worktrees/app/box"),
            main: path("/w/app"),
            root: path("/h/u/.cache/git-sandbox/worktrees"),
            others: vec![path("/x/other")],
        };
        let says = |text: &str| too_wide(Path::new(text), &places, Path::new("/h/u"));
        for wide in [
            "/",
            "/h",
            "/h/u",
            "/w",
            "/w/app",
            "/w/app/.git",
            "/w/app/.git/hooks",
            "/usr",
            "/var",
            "/proc/self",
            "/h/u/.cache",
            "/h/u/.cache/git-sandbox/worktrees/app",
            "/h/u/.cache/git-sandbox/worktrees/app/fix",
            "/x",
            "/x/other",
            "/dev/shm",
        ] {
            assert!(says(wide).is_some(), "{wide}");
        }
        for fine in ["/h/u/.claude", "/w/app/target", "/w/other", "/h/u/.cache/pip", "/var/cache/x"]
        {
            assert_eq!(says(fine), None, "{fine}");
        }
    }
}
