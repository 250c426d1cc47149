//! Paths: tidied, resolved, compared.

use std::path::{Component, Path, PathBuf};

/// Whether two paths lead to one folder.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    one == other || real(one).is_some_and(|one| real(other) == Some(one))
}

/// Whether something is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is there.
    There,
    /// It is not: the folder that would hold it can be read and does not have it.
    Absent,
    /// It cannot be told.
    Unknown,
}

/// Looks whether something is at a path. Any error but "no such file" below a readable folder is no
/// absence.
pub fn presence(path: &Path) -> Presence {
    let gone = |path: &Path| {
        let found = path.symlink_metadata();
        found.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    };
    if path.symlink_metadata().is_ok() {
        return Presence::There;
    }
    if !gone(path) {
        return Presence::Unknown;
    }
    let above = path.ancestors().skip(1).find(|above| !gone(above));
    match above.is_some_and(|above| std::fs::read_dir(above).is_ok()) {
        true => Presence::Absent,
        false => Presence::Unknown,
    }
}

/// The path without `..`: as the file system has it or, where it is not there, as it reads.
pub fn normal(path: &Path) -> PathBuf {
    let dots = path.components().any(|part| part == Component::ParentDir);
    if dots { path.canonicalize().unwrap_or_else(|_| tidy(path)) } else { path.to_owned() }
}

/// The path without `..`, as it reads.
pub fn tidy(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut so_far, part| {
        match part {
            Component::ParentDir => drop(so_far.pop()),
            Component::CurDir => {}
            other => so_far.push(other),
        }
        so_far
    })
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

/// Every place that an absolute path leads through: each folder on the way and, of each symlink, the
/// places that it leads through.
pub fn steps(path: &Path) -> Vec<PathBuf> {
    const MOST_LINKS: usize = 40;
    let parts = |path: &Path| -> Vec<PathBuf> {
        path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
    };
    let (mut todo, mut at, mut links) = (parts(path), PathBuf::new(), 0);
    let mut steps = Vec::new();
    while let Some(part) = todo.pop() {
        if part == Path::new("..") {
            at.pop();
            continue;
        }
        // A part that is the root starts anew.
        at.push(part);
        steps.push(at.clone());
        if let Ok(target) = at.read_link()
            && links < MOST_LINKS
        {
            links += 1;
            at.pop();
            todo.extend(parts(&target));
        }
    }
    steps
}

/// The way from one folder to a path, both absolute.
pub fn relative(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<_>, Vec<_>) = (from.components().collect(), to.components().collect());
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = from[shared..].iter().map(|_| Component::ParentDir);
    up.chain(to[shared..].iter().copied()).collect()
}

/// The folder that a variable names.
pub fn absolute(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    #[test]
    fn paths_that_are_gone_are_still_tidied() {
        assert_eq!(normal(Path::new("/nowhere/a/../b/./c")), Path::new("/nowhere/b/c"));
        assert_eq!(normal(Path::new("/nowhere/a")), Path::new("/nowhere/a"));
    }

    #[test]
    fn symlinks_are_followed_step_by_step() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        for (target, link) in [("../c", "a/link"), ("a/b", "c"), ("loop", "loop")] {
            std::os::unix::fs::symlink(target, top.join(link)).unwrap();
        }
        let told = |path: &str| {
            let steps = steps(&top.join(path));
            let below = steps.iter().filter_map(|step| step.strip_prefix(&top).ok());
            let below = below.map(|step| step.to_str().unwrap().to_owned());
            below.filter(|step| !step.is_empty()).collect::<Vec<_>>()
        };
        assert_eq!(told("a/link/x"), ["a", "a/link", "c", "a", "a/b", "a/b/x"]);
        assert_eq!(told("a/absent/x"), ["a", "a/absent", "a/absent/x"]);
        assert_eq!(told("loop").len(), 41);
    }

    #[test]
    fn relative_paths() {
        let way = |from: &str, to: &str| relative(Path::new(from), Path::new(to));
        assert_eq!(way("/a/.git/worktrees/x", "/b/x/.git"), Path::new("../../../../b/x/.git"));
        assert_eq!(way("/a/b", "/a/b/c"), Path::new("c"));
    }

    #[test]
    fn fuzz_relative_paths() {
        let real = ["/a/.git/worktrees/x\n/b/x/.git", "/a/b\n/a/b/c", "/\n/a"];
        fuzz::damaged_words(&real, |words| {
            let [from, to, ..] = &words[..] else { return };
            let absolute = |word| tidy(&Path::new("/").join(word));
            let (from, to) = (absolute(from), absolute(to));
            assert_eq!(tidy(&from.join(relative(&from, &to))), to);
        });
    }
}
