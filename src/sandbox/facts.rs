//! The facts that the verdict needs, read live: git status and flags beside a walk of the folder.
//!
//! Nothing of the checkout is run: no hooks, no fsmonitor, and inside nested repositories no
//! filters either. What cannot be read is an error in its fact, and so counts as work.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::git::{Answer, Git};
use crate::index::Index;
use crate::keep::{self, Unreached};
use crate::live::{self, Processes};
use crate::lock::Lock;
use crate::porcelain;
use crate::precious;
use crate::repo::{Repo, Worktrees};
use crate::sandbox::{CREATING, Sandbox, State};
use crate::untouched;
use crate::verdict::{Facts, Known};

/// What there is inside a folder that git may not see.
#[derive(Debug, Default)]
pub struct Inside {
    /// Folders, relative to the top, that are repositories of their own.
    pub repositories: Vec<PathBuf>,
}

/// Gathers the facts about one sandbox.
pub fn facts(
    repo: &Repo,
    worktrees: &Worktrees,
    sandbox: &Sandbox,
    processes: &Processes,
) -> Facts {
    let here = std::env::current_dir();
    let mut facts = Facts {
        not_ours: broken(sandbox),
        is_where_we_are: here.map_or(true, |here| here.starts_with(&sandbox.path)),
        contains: contained(repo, worktrees, &sandbox.path),
        mount: mounts().into_iter().find(|mount| mount.starts_with(&sandbox.path)),
        locked: sandbox.locked.clone().filter(|reason| reason != CREATING),
        ..Facts::nothing()
    };
    let users = || processes.users_of(sandbox).map_err(|error| error.to_string());
    if facts.not_ours.is_some() || sandbox.state == State::Missing {
        return Facts { users: users(), ..facts };
    }
    if sandbox.state == State::Creating {
        facts.users = users();
        facts.changes = Err("its creation was interrupted".into());
        if Lock::if_free(&live::lock_path(&sandbox.entry)).is_ok_and(|lock| lock.is_none()) {
            facts.not_ours = Some("it is being created".into());
        }
        return facts;
    }
    let git = repo.git.in_worktree(&sandbox.path);
    let main = (!worktrees.main.bare).then_some(worktrees.main.path.as_path());
    let operation = sandbox.operation(&repo.git, repo.is_reftable());
    let only_here = || {
        let held = keep::held_by(&repo.git, &sandbox.entry)?.commits;
        // Most often that is the tip of its branch and nothing else.
        let is_branch = |name: &OsString| !name.as_bytes().starts_with(b"refs/");
        let on_branch = !sandbox.detached && sandbox.branch.as_ref().is_some_and(is_branch);
        let tip = sandbox.head.as_ref().filter(|_| on_branch);
        if held.iter().all(|id| Some(id) == tip) {
            return Ok((0, held));
        }
        Ok((Unreached::among(&repo.git, &repo.common, &held)?.count(&held), held))
    };
    let index = Index::read(&sandbox.entry.join("index"), repo.id_length());
    let index = index.as_ref();
    std::thread::scope(|scope| {
        let only_here = scope.spawn(|| only_here().map_err(|error: Error| error.to_string()));
        let modules = || unsaved_module(&repo.git, &sandbox.entry).into_iter().collect();
        let untouched = index.is_some_and(|index| is_untouched(&git, sandbox, index));
        // While no git of ours works in there.
        let facts = Facts { users: users(), ..facts };
        let facts = if untouched {
            Facts { nested: Ok(modules()), ..facts }
        } else {
            let files = scope.spawn(|| files(&git, &repo.config, main));
            let hidden = scope.spawn(|| hidden(&git, sandbox, index));
            let nested = nested(&repo.git, &sandbox.path, &sandbox.entry);
            let (changes, precious) = match joined(files.join()) {
                Ok((changes, precious)) => (Ok(changes), Ok(precious)),
                Err(why) => (Err(why), Ok(0)),
            };
            Facts { changes, hidden: joined(hidden.join()), nested, precious, ..facts }
        };
        let (only_here, held) = match joined(only_here.join()) {
            Ok((count, held)) => (Ok(count), held),
            Err(why) => (Err(why), BTreeSet::new()),
        };
        Facts { operation, only_here, held, ..facts }
    })
}

/// Whether its files are those of its commit and nothing else: then there is no change, no edit that
/// is hidden, no ignored file and no repository inside.
fn is_untouched(git: &Git, sandbox: &Sandbox, index: &Index) -> bool {
    let head = match &index.tree {
        Some(_) => git.look(["rev-parse", "--verify", "--quiet", "HEAD^{tree}"]),
        None => git.look([
            "diff-index",
            "--cached",
            "--quiet",
            "--ignore-submodules=none",
            "HEAD",
            "--",
        ]),
    };
    let same = |answer: Answer| {
        let told = |tree: &String| answer.stdout.trim_ascii_end() == tree.as_bytes();
        answer.ok() && index.tree.as_ref().is_none_or(told)
    };
    // Asked by a thread of its own: until a program has started, nothing else of ours goes on.
    std::thread::scope(|scope| {
        let head = scope.spawn(|| head.ask());
        let untouched = untouched::is_untouched(&sandbox.path, index);
        untouched && head.join().is_ok_and(|head| head.is_ok_and(same))
    })
}

/// What forbids moving a folder that git knows nothing of.
pub fn in_the_way(folder: &Path, sandbox: &Sandbox, processes: &Processes) -> Option<String> {
    let here = std::env::current_dir();
    let facts = Facts {
        is_where_we_are: here.map_or(true, |here| here.starts_with(folder)),
        mount: mounts().into_iter().find(|mount| mount.starts_with(folder)),
        users: processes.users_of(sandbox).map_err(|error| error.to_string()),
        ..Facts::nothing()
    };
    crate::verdict::refusal(&facts, 0).map(|(why, _)| why)
}

fn joined<T>(result: std::thread::Result<Known<T>>) -> Known<T> {
    result.unwrap_or_else(|_| Err("reading it failed".into()))
}

/// Why folder and entry cannot be shown to belong together, if so.
fn broken(sandbox: &Sandbox) -> Option<String> {
    match &sandbox.state {
        State::Damaged(why) => Some(format!("it is damaged: {why}")),
        State::Orphan => Some("it is damaged: its repository cannot be reached".into()),
        _ if sandbox.entry.as_os_str().is_empty() => {
            Some("it is damaged: git's entry for it was not found".into())
        }
        State::Ready | State::Creating | State::Missing => None,
    }
}

/// Another worktree, or the repository itself, inside this folder.
fn contained(repo: &Repo, worktrees: &Worktrees, folder: &Path) -> Option<PathBuf> {
    let linked = worktrees.linked.iter().map(|tree| &tree.record.path);
    let mut others = linked.chain([&worktrees.main.path, &repo.common]);
    others.find(|path| path.starts_with(folder) && *path != folder).cloned()
}

/// Where file systems are mounted, as far as the system tells.
pub fn mounts() -> Vec<PathBuf> {
    let text = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let points = text.split(|byte| *byte == b'\n').filter_map(|line| {
        let point = line.split(|byte| *byte == b' ').nth(4)?;
        Some(PathBuf::from(std::ffi::OsStr::from_bytes(&unescaped(point))))
    });
    points.collect()
}

/// The kernel writes spaces and the like as `\040`.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        let octal = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        let code = code.filter(|_| *first == b'\\');
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    bytes
}

/// How many files have changes, and how many ignored ones are precious. Submodules answer for
/// themselves, as nested repositories do.
fn files(git: &Git, config: &Config, main: Option<&Path>) -> Known<(u64, u64)> {
    let words = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignored=matching"];
    let answer = git.look(words).arg("--ignore-submodules=dirty").ask();
    let answer = answer.map_err(|error| error.to_string())?;
    let status =
        porcelain::status(&answer.stdout).filter(|_| answer.ok()).ok_or_else(|| answer.why())?;
    let precious = precious::among(git, config, &status.ignored, main);
    Ok((status.changes(), precious.map_err(|error| error.to_string())?))
}

/// Edits of files that git was told not to look at. They show in a small index of just those files,
/// made without the flags; the real one is only read.
pub fn hidden(git: &Git, sandbox: &Sandbox, index: Option<&Index>) -> Known<u64> {
    if index.is_some_and(|index| !index.hides()) {
        return Ok(0);
    }
    let fail = |error: Error| error.to_string();
    let listed = git.look(["ls-files", "-v", "-s", "-z"]).read("list its files").map_err(fail)?;
    let flagged = porcelain::flagged(&listed);
    let there = |path: &PathBuf| fs::symlink_metadata(sandbox.path.join(path)).is_ok();
    if !flagged.paths.iter().any(there) {
        return Ok(0);
    }
    let index = sandbox.entry.join("sandbox.index");
    let found = found_hidden(git, &index, &flagged.records).map_err(fail);
    let _ = fs::remove_file(&index);
    let edited = |path: &&PathBuf| there(path) && flagged.paths.contains(path);
    Ok(found?.iter().filter(edited).count() as u64)
}

fn found_hidden(git: &Git, index: &Path, records: &[u8]) -> Result<Vec<PathBuf>> {
    let doing = "read its hidden files";
    let settings = [
        "-c",
        "core.splitIndex=false",
        "-c",
        "index.sparse=false",
        "-c",
        "core.untrackedCache=false",
    ];
    let call = |words: &[&str]| git.look(settings).args(words).env("GIT_INDEX_FILE", index);
    let made = call(&["update-index", "-z", "--index-info"]).ask_with(records.to_vec())?;
    if !made.ok() {
        return Err(Error::Git { doing: doing.into(), why: made.why() });
    }
    // Its exit code only says that something differs.
    call(&["update-index", "-q", "--refresh"]).ask()?;
    let words = ["diff-files", "--name-only", "-z", "--ignore-submodules=none"];
    Ok(porcelain::paths(&call(&words).read(doing)?))
}

/// Repositories inside the folder, submodules included, that hold work of their own; also clones of
/// submodules that are not checked out now.
fn nested(git: &Git, folder: &Path, entry: &Path) -> Known<Vec<PathBuf>> {
    let inside = look_inside(folder).map_err(|error| error.to_string())?;
    let works = |path: &PathBuf| has_work(git, &folder.join(path)).unwrap_or(true);
    let mut found: Vec<PathBuf> = inside.repositories.into_iter().filter(works).collect();
    let modules =
        unsaved_module(git, entry).filter(|name| !found.iter().any(|path| path.ends_with(name)));
    found.extend(modules);
    Ok(found)
}

/// Walks the folder, ignored folders too, without following symlinks.
pub fn look_inside(folder: &Path) -> std::io::Result<Inside> {
    let mut inside = Inside::default();
    let mut todo = vec![PathBuf::new()];
    while let Some(relative) = todo.pop() {
        let (mut git_parts, mut folders) = (0, Vec::new());
        for entry in fs::read_dir(folder.join(&relative))? {
            let entry = entry?;
            let name = entry.file_name();
            if name == ".git" {
                if !relative.as_os_str().is_empty() {
                    inside.repositories.push(relative.clone());
                }
            } else if entry.file_type()?.is_dir() {
                git_parts += u32::from(name == "objects" || name == "refs");
                folders.push(relative.join(name));
            } else {
                git_parts += u32::from(name == "HEAD");
            }
        }
        if git_parts == 3 && !relative.as_os_str().is_empty() {
            inside.repositories.push(relative);
        } else {
            todo.append(&mut folders);
        }
    }
    inside.repositories.sort();
    Ok(inside)
}

/// Whether a nested repository has changes, or commits (of any ref, stash, HEAD or reflog) that no
/// remote of it has.
fn has_work(git: &Git, folder: &Path) -> Result<bool> {
    let git = git.in_worktree(folder);
    // A broken one must not be mistaken for the repository around it.
    let ceiling = folder.parent().unwrap_or(folder);
    let look = |words: &[&str]| {
        let call = git.look(words).env("GIT_CEILING_DIRECTORIES", ceiling);
        call.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none")
    };
    let config = look(&["config", "--local", "--list", "-z"]).read("read its config")?;
    let config = Config::parse(&config);
    // What could start a program there is not asked but counts as work.
    if config.starts_programs() {
        return Ok(true);
    }
    let commits = ["rev-list", "-1", "--all", "--reflog", "--not", "--remotes"];
    if !look(&commits).read("read its commits")?.is_empty() {
        return Ok(true);
    }
    if config.get("core.bare") == Some("true") {
        return Ok(false);
    }
    // A file that git was told not to look at may have been edited.
    let listed = look(&["ls-files", "-v", "-s", "-z"]).read("list its files")?;
    if !porcelain::flagged(&listed).paths.is_empty() {
        return Ok(true);
    }
    // Submodules of it are found by the walk.
    let words = ["status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=all"];
    Ok(!look(&words).read("read its changes")?.is_empty())
}

/// A clone of a submodule in a private git dir that holds commits no remote of it has: it would go
/// with the entry.
fn unsaved_module(git: &Git, entry: &Path) -> Option<PathBuf> {
    let modules = look_inside(&entry.join("modules")).ok()?.repositories;
    let saved = |path: &PathBuf| {
        let mut dir = OsString::from("--git-dir=");
        dir.push(entry.join("modules").join(path));
        let words = ["--work-tree=/", "rev-list", "-1", "--all", "--reflog", "--not", "--remotes"];
        let answer = git.look([dir]).args(words).ask();
        answer.is_ok_and(|answer| answer.ok() && answer.stdout.is_empty())
    };
    modules.into_iter().find(|path| !saved(path))
}

/// The same in words.
pub fn modules_with_work(git: &Git, entry: &Path) -> Option<String> {
    let unsaved = unsaved_module(git, entry)?;
    Some(format!("its submodule '{}' has commits that are nowhere else", unsaved.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz;

    #[test]
    fn mount_points_are_unescaped() {
        assert_eq!(unescaped(br"/a\040b\134c\04"), br"/a b\c\04");
    }

    #[test]
    fn fuzz_mount_points() {
        fuzz::damaged(&[br"/a\040b\134c\04", br"\777\000"], |input| {
            let plain = unescaped(input);
            assert!(plain.len() <= input.len());
            assert!(input.contains(&b'\\') || plain == input);
        });
    }
}
