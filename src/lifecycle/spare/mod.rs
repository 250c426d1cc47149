//! Spares: clean detached worktrees that wait to become sandboxes (`sandbox.spares`).
//!
//! A spare is `<home>/.spare-<hex>`, locked with our reason, with what shaped its checkout and a hash
//! of its private git dir in its `sandbox.json`. It was never used. To change it, its own lock
//! must be held; to make it a sandbox or to drop its entry, the repository's too. It is used only where everything shows that it is ours, clean and as it was left; it is deleted only where
//! every file in it is one that git wrote there. Otherwise it stays, and `doctor` names it.

mod fingerprint;
mod seal;
pub mod tend;
mod unchanged;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub use fingerprint::fingerprint;
use seal::seal;
pub use unchanged::strange_files;

use crate::error::{Doing, Error, Result};
use crate::git::Git;
use crate::git::config::Config;
use crate::repo::{Repo, Worktree, Worktrees, holders, link};
use crate::sandbox::in_use;
use crate::sandbox::mark::{self, CREATING, SPARE};
use crate::sandbox::record::{self, Spare, Taking};
use crate::sys::lock::Lock;
use crate::sys::{crash_point, file};
use crate::ui::out::Out;

/// How the folder of one begins.
const LEAD: &str = ".spare-";

/// How many are wanted: `sandbox.spares`.
pub fn wanted(config: &Config) -> Result<usize> {
    let key = "sandbox.spares";
    let Some(value) = config.get(key) else { return Ok(0) };
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    value.parse().ok().filter(|_| digits).ok_or_else(|| Error::Config {
        key: key.into(),
        value: value.into(),
        wanted: "it must be a whole number",
    })
}

/// A spare that is ours alone for now.
#[derive(Debug)]
pub struct Held {
    /// Its folder.
    pub path: PathBuf,
    /// Its private git dir.
    pub entry: PathBuf,
    /// What is known about it.
    pub spare: Spare,
    /// The commit it is at.
    pub head: Option<String>,
    /// Its own lock.
    pub own: Lock,
}

/// The spares among these worktrees.
pub fn all(worktrees: &Worktrees) -> impl Iterator<Item = &Worktree> {
    worktrees.linked.iter().filter(|tree| mark::is_spare(&tree.record))
}

/// Whether folder and entry belong together and the folder is where a spare of this home stands.
fn is_in_place(tree: &Worktree, home: &Path) -> bool {
    let path = &tree.record.path;
    let named = path.file_name().is_some_and(|name| name.as_bytes().starts_with(LEAD.as_bytes()));
    let folder = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    let connected = link::folder_points_to(path).as_ref() == Some(&tree.entry)
        && link::entry_points_to(&tree.entry).as_ref() == Some(path);
    // Nobody who uses one leaves HEAD as it was.
    named && folder && connected && path.parent() == Some(home) && tree.record.branch.is_none()
}

impl Held {
    /// Locks a spare of this home. `None` if another process holds it or it is not in its place.
    pub fn of(tree: &Worktree, home: &Path) -> Option<Held> {
        if !is_in_place(tree, home) {
            return None;
        }
        let own = Lock::at_once(&in_use::lock_path(&tree.entry)).ok()??;
        // Only now is it settled: its last user may have changed it.
        let locked = fs::read_to_string(tree.entry.join("locked")).unwrap_or_default();
        let path = tree.record.path.clone();
        if locked.trim_end() != SPARE || !is_in_place(tree, home) {
            return None;
        }
        // One whose preparation was killed early has no record yet.
        let spare = record::read(&tree.entry).spare.unwrap_or_else(|| Spare {
            at: path.clone(),
            commits: tree.record.head.iter().cloned().collect(),
            fingerprint: String::new(),
            seal: None,
            unclean: false,
            taking: None,
        });
        let head = tree.record.head.clone();
        Some(Held { path, entry: tree.entry.clone(), spare, head, own })
    }

    /// The commit whose files are in it, if it is ready and shaped by what shapes a checkout now.
    pub fn ready_at(&self, fingerprint: &str) -> Option<&str> {
        match &self.spare.commits[..] {
            [commit]
                if self.spare.fingerprint == fingerprint
                    && self.spare.seal.is_some()
                    && !self.spare.unclean
                    && self.spare.taking.is_none()
                    && self.spare.at == self.path
                    && self.head.as_ref() == Some(commit) =>
            {
                Some(commit)
            }
            _ => None,
        }
    }

    /// Whether it is what was left, to the last byte: git found it clean then, and nothing in it or in
    /// its private git dir has been written to, added or removed since.
    pub fn is_as_left(&self) -> bool {
        self.spare.seal.is_some() && self.spare.seal == seal(&self.entry, &self.path)
    }

    /// Writes down what is known about it.
    pub fn note(&self) -> Result<()> {
        let facts = record::Facts { spare: Some(self.spare.clone()), ..Default::default() };
        record::write(&self.entry, &facts)
    }
}

/// Whether a tree that the files of another are to become means the same by every name: a file with
/// other attributes is not written anew where its content is the same.
pub fn has_same_attributes(git: &Git, one: &str, other: &str) -> bool {
    let words = ["diff-tree", "-r", "--name-only", "-z", "--no-renames", one, other, "--"];
    let call = git.look(words).arg(":(top,glob)**/.gitattributes");
    one == other || call.ask().is_ok_and(|answer| answer.ok() && answer.stdout.is_empty())
}

/// After the rename: the pointers, HEAD as in a fresh worktree, and the mark of a sandbox that is
/// being created.
pub fn become_sandbox(
    repo: &Repo,
    git: &Git,
    entry: &Path,
    taking: &Taking,
    branch_is_free: bool,
) -> Result<()> {
    let Taking { to, branch, commit } = taking;
    link::connect(entry, to)?;
    crash_point::reached();
    if !repo.is_reftable() {
        // As `git worktree add` begins, so that the reflog begins with the sandbox.
        let null = "0".repeat(commit.len());
        file::replace(&entry.join("HEAD"), format!("{null}\n").as_bytes())?;
        let log = entry.join("logs/HEAD");
        match fs::remove_file(&log) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).at("remove", &log);
            }
            _ => {}
        }
    }
    crash_point::reached();
    let git = git.at(to);
    let call = match branch.as_ref().filter(|_| branch_is_free) {
        Some(branch) => git.call(["symbolic-ref", "HEAD", branch]),
        None => git.call(["update-ref", "--no-deref", "HEAD", commit]),
    };
    call.done("set HEAD")?;
    crash_point::reached();
    file::replace(&entry.join("locked"), CREATING.as_bytes())?;
    crash_point::reached();
    Ok(())
}

/// Finishes or undoes what a crash left of the taking of spares. Whether there was anything.
pub fn recover(repo: &Repo, git: &Git, worktrees: &Worktrees, out: Out) -> bool {
    let mut changed = false;
    for tree in all(worktrees) {
        match recover_one(repo, git, worktrees, tree) {
            Ok(mended) => changed |= mended,
            // A spare that cannot be mended does not block the others.
            Err(error) => out.warn(&format!("a spare is still half a sandbox: {error}")),
        }
    }
    changed
}

/// Before the rename it is a spare again, but none that is ready; after it, it becomes the sandbox.
fn recover_one(repo: &Repo, git: &Git, worktrees: &Worktrees, tree: &Worktree) -> Result<bool> {
    let mut facts = record::to_change(&tree.entry)?;
    let Some(spare) = &mut facts.spare else { return Ok(false) };
    let Some(taking) = &spare.taking else { return Ok(false) };
    let Some(_own) = Lock::if_free(&in_use::lock_path(&tree.entry))? else { return Ok(false) };
    if link::folder_points_to(&spare.at).as_ref() == Some(&tree.entry) {
        spare.taking = None;
        record::write(&tree.entry, &facts)?;
        return Ok(true);
    }
    if link::folder_points_to(&taking.to).as_ref() != Some(&tree.entry) {
        return Ok(false);
    }
    let free = taking
        .branch
        .as_deref()
        .is_some_and(|branch| is_free(repo, git, worktrees, &tree.entry, OsStr::new(branch)));
    become_sandbox(repo, git, &tree.entry, taking, free)?;
    Ok(true)
}

/// Whether a branch is there and in no other worktree, not even by a rebase.
fn is_free(repo: &Repo, git: &Git, worktrees: &Worktrees, entry: &Path, branch: &OsStr) -> bool {
    let verify = ["rev-parse", "--verify", "--quiet"];
    let there = git.look(verify).arg(branch).ask().is_ok_and(|answer| answer.ok());
    let mut holders = holders::of(worktrees, &repo.common, branch);
    there && !holders.any(|holder| holder.git_dir != entry)
}
