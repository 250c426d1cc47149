//! Sandboxes that were just made: each is what its commit says, byte for byte, whatever its files were
//! copied from and whatever happened to that meanwhile; with `--with-changes`, what the main checkout has.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::plan::{Call, Fault, folder};
use crate::snapshot::walk;
use crate::user::User;
use crate::world::{Tree, World};

/// What git says of a folder if it has to read every file: an index without times is made for it.
fn status(world: &World, dir: &Path, index: &Path) -> Result<String, String> {
    let git = |words: &[&str]| {
        let mut git = world.command(&world.git, dir);
        let output = git.args(words).env("GIT_INDEX_FILE", index).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(answer).ok_or(format!("git {words:?}: {said}"))
    };
    let _ = fs::remove_file(index);
    git(&["read-tree", "HEAD"])?;
    git(&["status", "--porcelain", "--untracked-files=all", "--ignored"])
}

/// What is not as it should be in a sandbox that was met for the first time.
pub fn check(
    world: &World,
    repo: usize,
    tree: &Tree,
    calls: &[(usize, Call, Fault)],
) -> Result<(), String> {
    let carried = calls.iter().find(|(there, call, _)| match call {
        Call::NewWithChanges(name) => *there == repo && tree.name() == folder(name),
        _ => false,
    });
    // A worktree of a merge, which was interrupted, and is brought back from the trash.
    if tree.name().starts_with(".merge-") {
        return Ok(());
    }
    let at = tree.path.display();
    let tried = world.carried.borrow().contains(&(repo, tree.name()));
    match carried {
        Some((_, _, Fault::None)) if calls.len() == 1 => {
            let head = |dir: &Path| world.says(dir, &["rev-parse", "HEAD"]);
            // On another commit git brings them over as it brings over a commit.
            if head(&world.repos[repo]) != head(&tree.path) {
                return Ok(());
            }
            world.tools.counts.add("made with changes", 1);
            let rules = fs::read_to_string(world.repos[repo].join(".git/info/exclude"));
            let rules = rules.unwrap_or_default();
            let (main, there) =
                (state(world, &world.repos[repo], &rules), state(world, &tree.path, &rules));
            let differ: Vec<_> = main.symmetric_difference(&there).take(12).collect();
            match differ.is_empty() {
                true => Ok(()),
                false => Err(format!("{at} has not the changes of the main checkout: {differ:#?}")),
            }
        }
        // A crash may have come before or after they were copied.
        _ if tried => Ok(()),
        _ => {
            let said = status(world, &tree.path, &world.folder.join("fresh-index"))?;
            world.tools.counts.add("fresh ones compared", 1);
            match said.is_empty() {
                true => Ok(()),
                false => Err(format!("{at} is not what its commit says:\n{said}")),
            }
        }
    }
}

/// The uncommitted changes of a checkout, and every file that is not ignored.
fn state(world: &World, dir: &Path, rules: &str) -> BTreeSet<String> {
    let words = ["status", "--porcelain=v2", "--untracked-files=all", "--no-renames"];
    let said = world.says(dir, &words).unwrap_or_default();
    let mut lines: BTreeSet<String> = said.lines().map(str::to_owned).collect();
    let left_out = |name: &str, depth: usize| {
        let is_ruled = rules.lines().any(|rule| rule.trim_matches('/') == name);
        let ignored = name == "build" || name.starts_with(".env") || is_ruled;
        let log = Path::new(name).extension() == Some("log".as_ref());
        depth == 0 && (name == ".git" || ignored || log)
    };
    walk(dir, "file", &mut lines, &left_out);
    lines
}

/// A thread that edits files of a checkout for as long as it is let, and then puts them back.
pub struct Editor<'scope> {
    stop: &'scope AtomicBool,
    thread: std::thread::ScopedJoinHandle<'scope, ()>,
}

impl<'scope> Editor<'scope> {
    /// Begins to edit what a donor may give: in place, to something of the same size, and by a file that
    /// is put in the place of another.
    pub fn start<'env>(
        scope: &'scope std::thread::Scope<'scope, 'env>,
        dir: PathBuf,
        stop: &'scope AtomicBool,
    ) -> Editor<'scope> {
        let thread = scope.spawn(move || {
            let files = ["b", "hidden", "dir/c"].map(|name| dir.join(name));
            let before: Vec<_> = files.iter().map(|path| (path, fs::read(path).ok())).collect();
            let write = |path: &Path, bytes: &[u8]| {
                let file = fs::File::options().write(true).open(path);
                let _ = file.and_then(|file| file.write_all_at(bytes, 0));
            };
            while !stop.load(Ordering::Relaxed) {
                for (path, bytes) in &before {
                    let Some(bytes) = bytes else { continue };
                    write(path, &vec![b'E'; bytes.len()]);
                    std::thread::yield_now();
                    write(path, bytes);
                }
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
            for (path, bytes) in &before {
                if let Some(bytes) = bytes {
                    write(path, bytes);
                }
            }
        });
        Editor { stop, thread }
    }

    pub fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.join();
    }
}

/// Where the donor of this name is: a sandbox, or the main checkout.
pub fn donor(world: &World, repo: usize, name: Option<&'static str>) -> Option<PathBuf> {
    let Some(name) = name else { return Some(world.repos[repo].clone()) };
    let named = |tree: &Tree| {
        tree.name() == folder(name) && tree.is_live() && User::life_of(&tree.entry).is_some()
    };
    world.trees(repo).into_iter().find(named).map(|tree| tree.path)
}
