//! The facts that the verdict needs, read live: git status and flags beside a walk of the folder.
//!
//! Nothing of the checkout is run: no hooks, no fsmonitor, and inside nested repositories no
//! filters either. What cannot be read is an error in its fact, and so counts as work.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use crate::error::{Error, Result};
use crate::git::config::Config;
use crate::git::index::Index;
use crate::git::{Answer, Git, porcelain};
use crate::repo::nested::{has_work, look_inside, unsaved_module};
use crate::repo::stamps::Stamps;
use crate::repo::unreached::Unreached;
use crate::repo::{Repo, Worktrees, held, link};
use crate::sandbox::confined;
use crate::sandbox::in_use::{self, Processes};
use crate::sandbox::mark::CREATING;
use crate::sandbox::verdict::{self, Facts, Known, NotOurs, Refusal};
use crate::sandbox::{Sandbox, State, precious, pristine};
use crate::sys::lock::Lock;
use crate::sys::mounts;
use crate::sys::path::{self, Presence};
use crate::sys::scratch::Scratch;

/// Gathers the facts about one sandbox.
pub fn facts(
    repo: &Repo,
    worktrees: &Worktrees,
    sandbox: &Sandbox,
    processes: &Processes,
) -> Facts {
    let here = std::env::current_dir();
    let not_ours = broken(sandbox);
    let git = repo.git.in_sandbox(&sandbox.path, &sandbox.entry);
    let is_ready = not_ours.is_none() && sandbox.state == State::Ready;
    // Before anything is asked, so that they tell of whatever changes from then on.
    let stamps = if is_ready { Stamps::of(&sandbox.entry) } else { None };
    // The answer is there when it is needed.
    let head = is_ready.then(|| HeadTree::ask(&git));
    let mut facts = Facts {
        not_ours,
        stamps,
        is_where_we_are: here.map_or(true, |here| here.starts_with(&sandbox.path)),
        contains: contained(repo, worktrees, sandbox),
        mount: mounts::all().into_iter().find(|mount| mount.starts_with(&sandbox.path)),
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
        if Lock::if_free(&in_use::lock_path(&sandbox.entry)).is_ok_and(|lock| lock.is_none()) {
            facts.not_ours = Some(NotOurs::BeingCreated);
        }
        return facts;
    }
    let main = (!worktrees.main.bare).then_some(worktrees.main.path.as_path());
    let operation = sandbox.operation(&repo.git, repo.is_reftable());
    let operation = operation.or_else(|| confined::operation(&sandbox.entry));
    facts.confined = confined::is_waiting(&sandbox.entry);
    let only_here = || {
        let held = held::held_by(&repo.git, &sandbox.entry)?.commits;
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
        let looked = index.map(|index| pristine::strangers(&sandbox.path, index, cores()));
        let is_at_head = head.is_some_and(|head| head.matches(index, &git));
        let strangers = looked.flatten().filter(|_| is_at_head);
        // While no git of ours works in there.
        let facts = Facts { users: users(), ..facts };
        let idle = facts.users.as_ref().is_ok_and(Vec::is_empty);
        let may_ask = idle || !confined::is_there(&sandbox.entry);
        let nested = || nested(&repo.git, &sandbox.path, &sandbox.entry, may_ask);
        let untouched = strangers.as_ref().is_some_and(Vec::is_empty);
        let ignored = strangers.filter(|_| !untouched).and_then(|found| all_ignored(&git, found));
        let facts = if untouched {
            Facts { nested: Ok(modules()), pristine: true, ignored: Some(Vec::new()), ..facts }
        } else if let Some(ignored) = ignored {
            // Only a folder can hold a repository.
            let nested = match ignored.iter().any(|path| is_folder(path)) {
                true => nested(),
                false => Ok(modules()),
            };
            let precious = precious::files(&git, &repo.config, &ignored, main);
            let precious = precious.map(|found| found.len() as u64);
            let precious = precious.map_err(|error| error.to_string());
            Facts { nested, precious, pristine: true, ignored: Some(ignored), ..facts }
        } else {
            let files = scope.spawn(|| files(&git, &repo.config, main));
            let hidden = scope.spawn(|| hidden(&git, sandbox, index));
            let nested = nested();
            let (changes, precious, ignored) = match joined(files.join()) {
                Ok((changes, precious, ignored)) => (Ok(changes), Ok(precious), Some(ignored)),
                Err(why) => (Err(why), Ok(0), None),
            };
            Facts { changes, hidden: joined(hidden.join()), nested, precious, ignored, ..facts }
        };
        let (only_here, held) = match joined(only_here.join()) {
            Ok((count, held)) => (Ok(count), held),
            Err(why) => (Err(why), BTreeSet::new()),
        };
        Facts { operation, only_here, held, ..facts }
    })
}

/// What forbids moving a sandbox, whatever is in it.
pub fn for_a_move(
    repo: &Repo,
    worktrees: &Worktrees,
    sandbox: &Sandbox,
    processes: &Processes,
) -> Facts {
    let here = std::env::current_dir();
    Facts {
        not_ours: broken(sandbox),
        is_where_we_are: here.map_or(true, |here| here.starts_with(&sandbox.path)),
        contains: contained(repo, worktrees, sandbox),
        mount: mounts::all().into_iter().find(|mount| mount.starts_with(&sandbox.path)),
        locked: sandbox.locked.clone(),
        users: processes.users_of(sandbox).map_err(|error| error.to_string()),
        ..Facts::nothing()
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The question for the tree of a HEAD, on its way.
struct HeadTree(JoinHandle<Result<Answer>>);

impl HeadTree {
    /// Asks by a thread of its own: until a program has started, nothing else of ours goes on.
    fn ask(git: &Git) -> HeadTree {
        let (git, words) = (git.clone(), ["rev-parse", "--verify", "--quiet", "HEAD^{tree}"]);
        HeadTree(std::thread::spawn(move || git.look(words).ask()))
    }

    /// Waits for the answer. Returns whether an index has exactly the files of HEAD.
    fn matches(self, index: Option<&Index>, git: &Git) -> bool {
        let answer = self.0.join().ok().and_then(Result::ok).filter(Answer::ok);
        let (Some(answer), Some(index)) = (answer, index) else { return false };
        if let Some(tree) = &index.tree {
            return answer.stdout.trim_ascii_end() == tree.as_bytes();
        }
        let words = ["diff-index", "--cached", "--quiet", "--ignore-submodules=none", "HEAD", "--"];
        git.look(words).ask().is_ok_and(|answer| answer.ok())
    }
}

/// The same paths, if git ignores each of them.
fn all_ignored(git: &Git, paths: Vec<PathBuf>) -> Option<Vec<PathBuf>> {
    // For more of them git's status takes no longer.
    const MOST: usize = 1000;
    if paths.len() > MOST {
        return None;
    }
    let named = paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"]);
    // None of them is in the index: git need not read it.
    let call = git.look(["check-ignore", "--no-index", "-z", "--stdin"]);
    let answer = call.ask_with(named.collect::<Vec<_>>().concat());
    let told = porcelain::paths(&answer.ok().filter(Answer::ok)?.stdout);
    (told == paths).then_some(paths)
}

fn is_folder(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b"/")
}

/// What forbids moving a folder that git knows nothing of.
pub fn in_the_way(folder: &Path, sandbox: &Sandbox, processes: &Processes) -> Option<Refusal> {
    let here = std::env::current_dir();
    let facts = Facts {
        is_where_we_are: here.map_or(true, |here| here.starts_with(folder)),
        mount: mounts::all().into_iter().find(|mount| mount.starts_with(folder)),
        users: processes.users_of(sandbox).map_err(|error| error.to_string()),
        ..Facts::nothing()
    };
    verdict::refusal(&facts, 0)
}

fn joined<T>(result: std::thread::Result<Known<T>>) -> Known<T> {
    result.unwrap_or_else(|_| Err("reading it failed".into()))
}

/// Why folder and entry cannot be shown to belong together, if so.
fn broken(sandbox: &Sandbox) -> Option<NotOurs> {
    match &sandbox.state {
        State::Damaged(why) => Some(NotOurs::Damaged(why.clone())),
        State::Orphan => Some(NotOurs::Unreachable),
        _ if sandbox.entry.as_os_str().is_empty() => Some(NotOurs::NoEntry),
        State::Ready | State::Creating | State::Missing => None,
    }
}

/// Another worktree, or the repository itself, inside this folder; or a linked worktree of one of its
/// submodules, wherever that is: its private git dir would go along.
fn contained(repo: &Repo, worktrees: &Worktrees, sandbox: &Sandbox) -> Option<PathBuf> {
    let folder = &sandbox.path;
    let linked = worktrees.linked.iter().map(|tree| &tree.record.path);
    let mut others = linked.chain([&worktrees.main.path, &repo.common]);
    let inside = others.find(|path| path.starts_with(folder) && *path != folder).cloned();
    inside.or_else(|| linked_worktree_of_submodule(&sandbox.entry))
}

/// A linked worktree of a submodule whose git dir is below a private git dir.
fn linked_worktree_of_submodule(entry: &Path) -> Option<PathBuf> {
    let modules = entry.join("modules");
    let homes = link::module_dirs(&modules).into_iter().map(|name| modules.join(name));
    let entries = homes.flat_map(|home| fs::read_dir(home.join("worktrees")).into_iter().flatten());
    let there = |entry: PathBuf| match link::entry_points_to(&entry) {
        Some(folder) if path::presence(&folder) == Presence::Absent => None,
        Some(folder) => Some(folder),
        None => Some(entry),
    };
    entries.flatten().find_map(|entry| there(entry.path()))
}

/// How many files have changes, and how many ignored ones are precious. Submodules answer for
/// themselves, as nested repositories do.
fn files(git: &Git, config: &Config, main: Option<&Path>) -> Known<(u64, u64, Vec<PathBuf>)> {
    let words = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignored=matching"];
    let answer = git.look(words).arg("--ignore-submodules=dirty").ask();
    let answer = answer.map_err(|error| error.to_string())?;
    let status =
        porcelain::status(&answer.stdout).filter(|_| answer.ok()).ok_or_else(|| answer.why())?;
    let precious = precious::files(git, config, &status.ignored, main);
    let precious = precious.map_err(|error| error.to_string())?.len() as u64;
    Ok((status.changes(), precious, status.ignored))
}

/// Edits of files that git was told not to look at. They show in a small index of just those files,
/// made without the flags, where no other command that looks at the same time finds it; the real one is
/// only read.
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
    let scratch = Scratch::new().map_err(fail)?;
    let index = scratch.path().join("index");
    let found = found_hidden(git, &index, &flagged.records).map_err(fail)?;
    let edited = |path: &&PathBuf| there(path) && flagged.paths.contains(path);
    Ok(found.iter().filter(edited).count() as u64)
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
/// submodules that are not checked out now. Where they may not be asked, because a confined command could
/// change their config after we have read it, each counts.
fn nested(git: &Git, folder: &Path, entry: &Path, may_ask: bool) -> Known<Vec<PathBuf>> {
    let inside = look_inside(folder).map_err(|error| error.to_string())?;
    let works = |path: &PathBuf| !may_ask || has_work(git, &folder.join(path)).unwrap_or(true);
    let mut found: Vec<PathBuf> = inside.repositories.into_iter().filter(works).collect();
    let modules =
        unsaved_module(git, entry).filter(|name| !found.iter().any(|path| path.ends_with(name)));
    found.extend(modules);
    Ok(found)
}
