//! The oracle: what must be true while a run goes on, and at its end.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::ours;
use crate::plan::{Call, Fault, folder, is_called};
use crate::rename;
use crate::script;
use crate::snapshot::{Snapshot, walk};
use crate::user::{Life, Place, Token, User};
use crate::world::{Tree, World, entry_of, folders_in};

const MAIN: &str = "refs/heads/main";

/// What no command of ours may change.
pub struct Untouched {
    /// Every file outside of the root and of what git keeps for worktrees.
    files: BTreeSet<String>,
    refs: Vec<BTreeMap<String, String>>,
    /// The index of each main checkout.
    indexes: Vec<Vec<u8>>,
    /// Whether a merge has left a main checkout half way, for the next command to mend.
    landing: Vec<bool>,
    /// The branches that a renaming has left half way, now and then.
    renaming: Vec<Vec<(String, String)>>,
}

impl Untouched {
    pub fn look(world: &World) -> Untouched {
        let mut files = BTreeSet::new();
        let inside = |name: &str, depth: usize| depth == 0 && name == ".cache";
        walk(&world.home, "home", &mut files, &inside);
        let git_own = ["objects", "worktrees", "refs", "logs", "packed-refs", "sandbox"];
        let git_own: Vec<String> = git_own.iter().map(|name| format!("app/.git/{name}")).collect();
        files.retain(|line| {
            let path = line.split(' ').nth(1).unwrap_or_default();
            // A killed git leaves its locks; that they go is asked at the end. A killed command of ours
            // may leave the folder in which it looked for hidden edits.
            let lock = world.killed.get() && (is_lock(path) || is_scratch(path));
            let own = git_own.iter().any(|own| path.contains(own.as_str()));
            !own && !lock && !path.contains(".git/info")
        });
        let index = |repo: &PathBuf| fs::read(repo.join(".git/index")).unwrap_or_default();
        Untouched {
            files,
            refs: world.repos.iter().map(|repo| refs(repo)).collect(),
            indexes: world.repos.iter().map(index).collect(),
            landing: world.repos.iter().map(|repo| is_landing(repo)).collect(),
            renaming: (0..world.repos.len()).map(|repo| rename::half_way(world, repo)).collect(),
        }
    }

    /// Whether a merge was stopped half way in a main checkout.
    pub fn is_landing(&self, repo: usize) -> bool {
        self.landing[repo]
    }

    /// Whether the branch of the main checkout is where it was.
    fn stands_still(&self, repo: usize, now: &Untouched) -> bool {
        let mains = |refs: &BTreeMap<String, String>| -> Vec<(String, String)> {
            let mains = refs.iter().filter(|(name, _)| is_main(name));
            mains.map(|(name, id)| (name.clone(), id.clone())).collect()
        };
        mains(&self.refs[repo]) == mains(&now.refs[repo])
    }

    /// What a landing that was stopped half way and then mended has left otherwise than before it,
    /// though the main branch has not moved.
    pub fn check_mended(&self, world: &World, repo: usize) -> Result<(), String> {
        let now = Untouched::look(world);
        if now.landing[repo] || !self.stands_still(repo, &now) {
            return Ok(());
        }
        world.tools.counts.add("landings taken up after a crash", 1);
        let inside = world.repos[repo].strip_prefix(&world.home).unwrap().to_str().unwrap();
        let in_main = |line: &&&String| {
            let path = line.split(' ').nth(1).unwrap_or_default();
            let index = path.ends_with("/.git/index") && self.says_the_same(world, repo, &now);
            path.strip_prefix(inside).is_some_and(|rest| rest.starts_with('/')) && !index
        };
        let changed = self.files.symmetric_difference(&now.files).collect::<Vec<_>>();
        let changed: Vec<_> = changed.iter().filter(in_main).take(20).collect();
        match changed.is_empty() {
            true => Ok(()),
            false => Err(format!("a landing was not taken back exactly: {changed:#?}")),
        }
    }

    /// Whether the index of a main checkout says the same about every file, but for when it looked.
    fn says_the_same(&self, world: &World, repo: usize, now: &Untouched) -> bool {
        let listed = |bytes: &[u8]| {
            let file = world.folder.join("index");
            fs::write(&file, bytes).unwrap();
            let mut git = world.command(&world.git, &world.repos[repo]);
            let git = git.args(["ls-files", "-s", "-v"]).env("GIT_INDEX_FILE", &file);
            let output = git.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            output.stdout
        };
        listed(&self.indexes[repo]) == listed(&now.indexes[repo])
    }

    /// What these commands changed and may not.
    pub fn check(&self, world: &World, calls: &[(usize, Call, Fault)]) -> Result<(), String> {
        let now = Untouched::look(world);
        // A merge changes the main checkout; that what the user wrote there is not lost, the tokens
        // tell. One whose git was killed leaves what git leaves. One that git refused may have made
        // git look at the files, as any status does.
        let merged = |line: &&String| {
            let path = line.split(' ').nth(1).unwrap_or_default();
            calls.iter().any(|(repo, call, _)| {
                let inside = world.repos[*repo].strip_prefix(&world.home).unwrap().to_str();
                let moved = !self.stands_still(*repo, &now);
                let looked =
                    || path.ends_with("/.git/index") && self.says_the_same(world, *repo, &now);
                let half = self.landing[*repo] || now.landing[*repo];
                (half || (call.merges() && (moved || looked())))
                    && path.strip_prefix(inside.unwrap()).is_some_and(|rest| rest.starts_with('/'))
            })
        };
        let changed: Vec<_> = self.files.symmetric_difference(&now.files).collect();
        if !changed.iter().all(merged) {
            let lost = self.files.difference(&now.files).map(|line| format!("  - {line}\n"));
            let more = now.files.difference(&self.files).map(|line| format!("  + {line}\n"));
            let lines: String = lost.chain(more).take(20).collect();
            return Err(format!("what is not ours was changed\n{lines}"));
        }
        for (repo, (before, now)) in self.refs.iter().zip(&now.refs).enumerate() {
            let here = || calls.iter().filter(move |(there, ..)| *there == repo).map(|call| call.1);
            let may_go = |name: &str| {
                here().any(|call| match call {
                    Call::RmWithBranch(branch) => name == format!("refs/heads/{branch}"),
                    _ => false,
                })
            };
            let may_move = |name: &str| {
                here().any(|call| match call {
                    Call::MergeRebased(branch) if name == format!("refs/heads/{branch}") => true,
                    call => is_main(name) && call.merges(),
                })
            };
            let calls = here().filter_map(rename::branches);
            let pairs: Vec<_> = calls.chain(self.renaming[repo].iter().cloned()).collect();
            let renamed = |name: &str| pairs.iter().any(|pair| pair.0 == name || pair.1 == name);
            for (name, id) in before {
                match now.get(name) {
                    Some(there) if there == id || may_move(name) => {}
                    None if may_go(name) => {}
                    // Deleted, and made again at where the main worktree is by now.
                    Some(_)
                        if may_go(name)
                            && here().any(|call| call.makes().as_deref() == Some(name)) => {}
                    Some(there) if script::moved_on(world, repo, name, (id, there)) => {}
                    Some(_) if name == "refs/stash" && here().any(is_script) => {}
                    // The commits go along, whichever of its names the branch has.
                    _ if renamed(name) && rename::holds(world, repo, &pairs, (name, id), now) => {}
                    other => return Err(format!("{name} was {id} and is {other:?}")),
                }
            }
            for name in now.keys().filter(|name| !before.contains_key(*name)) {
                let made = |call: Call| {
                    let restored = matches!(call, Call::Restore(_) | Call::RestoreAs(_));
                    let stash = name == "refs/stash" && is_script(call);
                    stash || restored || renamed(name) || call.makes().as_deref() == Some(name)
                };
                if !here().any(made) {
                    return Err(format!("{name} was made"));
                }
            }
        }
        Ok(())
    }
}

/// Whether a branch may be that of the main checkout: its user may have switched to one of their own.
fn is_main(name: &str) -> bool {
    let own = name.strip_prefix("refs/heads/b");
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    name == MAIN || own.is_some_and(digits)
}

fn is_script(call: Call) -> bool {
    matches!(call, Call::Script(..))
}

/// Whether a merge has left the main checkout half way.
fn is_landing(repo: &Path) -> bool {
    repo.join(".git/sandbox.landing").exists()
}

/// Every ref of a repository that is not ours.
fn refs(repo: &Path) -> BTreeMap<String, String> {
    let git = repo.join(".git");
    let mut refs = BTreeMap::new();
    let packed = fs::read_to_string(git.join("packed-refs")).unwrap_or_default();
    for line in packed.lines().filter(|line| !line.starts_with(['#', '^'])) {
        if let Some((id, name)) = line.split_once(' ') {
            refs.insert(name.to_owned(), id.to_owned());
        }
    }
    let mut todo = vec![git.join("refs")];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_none_or(|end| end != "lock") {
                let name = path.strip_prefix(&git).unwrap().display().to_string();
                let id = fs::read_to_string(&path).unwrap_or_default();
                refs.insert(name, id.trim().to_owned());
            }
        }
    }
    refs.retain(|name, _| !name.starts_with("refs/sandbox/"));
    refs
}

/// Lives that have work in them and are in their place.
pub fn with_work(world: &World, user: &User) -> Vec<(usize, PathBuf)> {
    let mut found = Vec::new();
    for repo in 0..world.repos.len() {
        for tree in world.trees(repo).into_iter().filter(Tree::is_live) {
            // What a rule ignores since is no work.
            let ruled = world.odd.borrow().excluded.contains(&repo);
            let work = |life: &usize| match &user.lives[*life] {
                // Its files were deleted by the user, and are those of its index since it came back.
                life if life.deleted => false,
                life if ruled => life.unseen_work,
                life => life.work,
            };
            if let Some(life) = User::life_of(&tree.entry).filter(work) {
                found.push((life, tree.path));
            }
        }
    }
    found
}

/// Nothing but force takes a sandbox with work in it.
pub fn still_there(
    world: &World,
    user: &User,
    before: &[(usize, PathBuf)],
    calls: &[(usize, Call, Fault)],
) -> Result<(), String> {
    for (life, path) in before {
        let name = path.file_name().unwrap().to_string_lossy();
        let repo = user.lives[*life].repo;
        let taken = |(there, call, _): &(usize, Call, Fault)| {
            let renamed = calls.iter().filter_map(|(_, call, _)| match call {
                Call::Rename(old, new) if is_called(&name, old) => Some(folder(new)),
                _ => None,
            });
            let mut names = renamed.chain([&*name]);
            (*there == repo || *call == Call::ReapAll) && names.any(|name| call.may_take(name))
        };
        // It may stand there under another name.
        let there = || {
            let trees = world.trees(repo);
            let mut trees = trees.iter().filter(|tree| User::life_of(&tree.entry) == Some(*life));
            trees.any(|tree| tree.is_live() || rename::stands(tree))
        };
        if !calls.iter().any(taken) && !path.join(".git").exists() && !there() {
            return Err(format!("'{}' had work in it and was taken", path.display()));
        }
    }
    Ok(())
}

/// Which lives of a repository are in the trash or in the vault: all that git does not know, and those
/// on their way whose files are in the trash.
pub fn safe(world: &World, user: &User, repo: usize) -> HashSet<usize> {
    let in_trash = world.trash().into_iter().filter_map(|item| User::life_of(&item.entry?));
    let trees = world.trees(repo);
    let live: HashSet<usize> = trees.iter().filter_map(|tree| User::life_of(&tree.entry)).collect();
    let gone = |life: &usize| user.lives[*life].repo == repo && !live.contains(life);
    (0..user.lives.len()).filter(gone).chain(in_trash).collect()
}

/// The end of a run: what crashes left is cleared, everything is brought back, nothing is lost.
pub fn judge(world: &World, user: &mut User, packed: bool) -> Result<(), String> {
    world.log("== the end");
    ours::settle(world, true)?;
    unlock(world);
    let before = Untouched::look(world);
    let purging = |journal: &serde_json::Value| journal["stage"] == "purging";
    let marked = world.trash().iter().any(|item| item.journal.as_ref().is_some_and(purging));
    for repo in 0..world.repos.len() {
        // It adopts what is its own, which is not gone then.
        if world.was_away.get() {
            ours::succeeds(world, repo, &["new", "--detach", "first"])?;
        }
        let left = world.trees(repo).iter().any(stays);
        ours::ends(world, repo, &["doctor", "--fix"], i32::from(left))?;
        ours::succeeds(world, repo, &["new", "--detach", "last"])?;
        if marked {
            ours::succeeds(world, repo, &["reap"])?;
        }
    }
    if marked {
        ours::settle(world, false)?;
    }
    user.meet(world, &[])?;
    nothing_half_done(world)?;
    restore_all(world, user)?;
    user.meet(world, &[])?;
    before.check(
        world,
        &[(0, Call::Restore(""), Fault::None), (1, Call::Restore(""), Fault::None)],
    )?;
    all_as_left(world, user)?;
    fragile_tokens(world, user)?;
    for repo in &world.repos {
        collect_garbage(world, repo, packed)?;
        let fsck = world.ask(repo, &["fsck", "--no-dangling", "--no-progress"]);
        if !fsck.status.success() || !fsck.stderr.is_empty() {
            return Err(format!("git fsck: {}", String::from_utf8_lossy(&fsck.stderr)));
        }
    }
    every_token(world, user)
}

/// Whether an entry without a folder has submodules or an operation in progress: it is not set aside.
fn stays(tree: &Tree) -> bool {
    let operations = ["rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD"];
    let operations = operations.iter().chain(&["REVERT_HEAD", "BISECT_LOG", "sequencer"]);
    let busy = operations.into_iter().any(|name| tree.entry.join(name).exists());
    // One on its way is not without a folder.
    let gone = !tree.path.exists() && !tree.is_pinned() && !tree.is_renaming();
    gone && (busy || !folders_in(&tree.entry.join("modules")).is_empty())
}

/// Whether a path is a lock of git's; ours stays, and the kernel says whether it is taken.
fn is_lock(path: &str) -> bool {
    let path = Path::new(path);
    path.extension() == Some("lock".as_ref())
        && !path.ends_with("sandbox.lock")
        && !path.ends_with("sandbox.merge.lock")
}

/// Whether a path is a folder of ours among the system's temporary files, or the index in one.
fn is_scratch(path: &str) -> bool {
    let Some(rest) = path.strip_prefix("tmp/git-sandbox-") else { return false };
    let (id, file) = rest.split_once('/').unwrap_or((rest, "index"));
    let hex = id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex && ["index", "index.lock"].contains(&file)
}

/// A git that was killed leaves its locks, and says to its user that they may remove them.
fn unlock(world: &World) {
    if !world.killed.get() {
        return;
    }
    let mut todo: Vec<PathBuf> = world.repos.iter().map(|repo| repo.join(".git")).collect();
    while let Some(dir) = todo.pop() {
        todo.extend(folders_in(&dir));
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // The second is written under the lock of the packed refs, and git removes neither.
            if is_lock(&name) || name == "packed-refs.new" {
                world.log(&format!("  a killed git left {}", entry.path().display()));
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }
}

/// What every gc may do. Where nothing was packed, that is a prune.
pub fn collect_garbage(world: &World, repo: &Path, packed: bool) -> Result<(), String> {
    let words: &[&str] =
        if packed { &["gc", "--quiet", "--prune=now"] } else { &["prune", "--expire=now"] };
    let done = world.ask(repo, words);
    match done.status.success() {
        true => Ok(()),
        false => Err(format!("git {words:?}: {}", String::from_utf8_lossy(&done.stderr))),
    }
}

/// No lock, journal or half-made entry is left.
fn nothing_half_done(world: &World) -> Result<(), String> {
    let items = world.trash();
    for item in &items {
        let at = item.folder.display();
        let stage = item.journal.as_ref().map(|journal| journal["stage"].clone());
        // What is in the vault and not yet deleted or not yet whole here is finished by the next reap or
        // restore.
        let stages = ["trashed", "put-away", "unpacking"].map(|stage| Some(stage.into()));
        if !stages.contains(&stage) {
            return Err(format!("{at} is {stage:?}"));
        }
        if stage != stages[0] {
            continue;
        }
        let entry = item.entry.as_ref().filter(|entry| entry.is_dir());
        // An orphan is not adopted while a folder of another repository stands in its place.
        let is_orphan = |journal: &serde_json::Value| {
            let from = journal["from"].as_str().map(Path::new);
            journal["orphan"] == true && from.is_some_and(|from| from.symlink_metadata().is_ok())
        };
        if entry.is_none() && item.journal.as_ref().is_some_and(is_orphan) {
            continue;
        }
        if entry.is_none() {
            return Err(format!("{at} has no files or no entry"));
        }
        let has_tree = item.journal.as_ref().is_some_and(|journal| journal["has_tree"] == true);
        let names: Vec<_> = fs::read_dir(&item.folder).unwrap().flatten().collect();
        if names.len() != 1 + usize::from(has_tree) {
            return Err(format!("{at} holds {names:?}"));
        }
    }
    for (number, repo) in world.repos.iter().enumerate() {
        for tree in world.trees(number) {
            let entry = tree.entry.display();
            if tree.is_creating() {
                return Err(format!("{entry} is half made"));
            }
            if tree.is_renaming() {
                return Err(format!("{entry} is half renamed"));
            }
            if tree.is_merging() {
                return Err(format!("{entry} was left by a merge"));
            }
            if tree.is_pinned() {
                return Err(format!("{entry} is pinned in git's registry"));
            }
        }
        for private in world.privates(number) {
            // What is put away while its repository is out of reach leaves its private git dir behind.
            let away = world.was_away.get() && world.is_stored(&private);
            if !away && !items.iter().any(|item| item.entry.as_ref() == Some(&private)) {
                return Err(format!("{} belongs to nothing", private.display()));
            }
        }
        let mut files = BTreeSet::new();
        walk(&repo.join(".git"), "git", &mut files, &|name, _| name == "objects");
        let left = |line: &&String| {
            let path = line.split(' ').nth(1).unwrap_or_default();
            let cut_short = Path::new(path).extension() == Some("new".as_ref());
            is_lock(path)
                || (cut_short && !world.killed.get())
                || path.contains("sandbox.landing")
                || path.ends_with("sandbox.merging")
        };
        if let Some(line) = files.iter().find(left) {
            return Err(format!("left behind in {}: {line}", repo.display()));
        }
    }
    let hidden = |home: &&PathBuf| home.ends_with(".trash") || home.ends_with(".vault.git");
    for home in folders_in(&world.root()).iter().filter(|home| !hidden(home)) {
        for folder in folders_in(home) {
            let empty = fs::read_dir(&folder).unwrap().next().is_none();
            if !empty && !entry_of(&folder).is_some_and(|entry| entry.is_dir()) {
                return Err(format!("{} belongs to nothing", folder.display()));
            }
        }
    }
    Ok(())
}

/// Whether a sandbox cannot come back to a folder. One whose folder is gone may still be registered there.
fn is_taken(world: &World, repo: usize, from: &Path) -> bool {
    let is_registered = world.trees(repo).iter().any(|tree| tree.path == from);
    is_registered || from.symlink_metadata().is_ok()
}

fn restore_all(world: &World, user: &User) -> Result<(), String> {
    for (number, item) in world.trash().into_iter().enumerate() {
        let (Some(journal), Some(entry)) = (item.journal, item.entry) else { continue };
        let repo = world.repos.iter().position(|repo| entry.starts_with(repo)).unwrap();
        let from = PathBuf::from(journal["from"].as_str().unwrap());
        let id = journal["id"].as_str().unwrap().to_owned();
        let name = format!("again-{number}");
        let life = User::life_of(&entry).map(|life| &user.lives[life]);
        world.log(&format!("  {}", life.map_or("", |life| life.name.as_str())));
        let taken = is_taken(world, repo, &from);
        let words: &[&str] =
            if taken { &["restore", &id, "--as", &name] } else { &["restore", &id] };
        ours::succeeds(world, repo, words)?;
        world.tools.counts.add("restored at the end", 1);
    }
    for (repo, folder) in world.repos.iter().enumerate() {
        let words = ["restore", "--json"];
        let listed = world.command(&world.tools.program, folder).args(words).output().unwrap();
        let rows: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
        for (number, row) in rows.as_array().into_iter().flatten().enumerate() {
            let (id, name) = (row["id"].as_str().unwrap(), format!("away-{repo}-{number}"));
            let from = Path::new(row["path"].as_str().unwrap());
            let taken = is_taken(world, repo, from);
            let words: &[&str] =
                if taken { &["restore", id, "--as", &name] } else { &["restore", id] };
            ours::succeeds(world, repo, words)?;
            world.tools.counts.add("restored from the vault", 1);
        }
    }
    Ok(())
}

/// Every sandbox that still has an entry is as its user left it.
fn all_as_left(world: &World, user: &User) -> Result<(), String> {
    for repo in 0..world.repos.len() {
        for tree in world.trees(repo) {
            let Some(number) = User::life_of(&tree.entry) else { continue };
            let life = &user.lives[number];
            if life.deleted || life.rebased {
                continue;
            }
            // An orphan in whose place another repository has a sandbox comes back as a plain folder.
            if !tree.is_live() && world.was_away.get() && tree.path.exists() {
                continue;
            }
            if !tree.is_live() {
                return Err(format!("{} is not there", tree.path.display()));
            }
            let now = Snapshot::take(world, &tree, Some(&life.snapshot));
            let alone = user.is_alone(world, number);
            let reaped = world.reaped.get();
            if let Some(difference) = life.differs(&now, alone, &tree.name(), reaped) {
                return Err(format!("'{}' is not as it was left\n{difference}", life.name));
            }
        }
    }
    Ok(())
}

/// What the next gc may take, since everything is back in its place, is there until then.
fn fragile_tokens(world: &World, user: &mut User) -> Result<(), String> {
    let fragile = |token: &Token| token.fragile && !token.destroyed;
    let count = user.tokens.iter().filter(|token| fragile(token)).count();
    if count == 0 {
        return Ok(());
    }
    let lost = user.lost(&search(world), fragile);
    for token in user.tokens.iter_mut().filter(|token| token.fragile) {
        token.destroyed = true;
    }
    world.tools.counts.add("fragile tokens found", count);
    if lost.is_empty() { Ok(()) } else { Err(format!("lost before any gc:\n{lost}")) }
}

/// Every token that its user did not destroy is in a file or in an object.
fn every_token(world: &World, user: &User) -> Result<(), String> {
    let lost = user.lost(&search(world), |token| {
        let owner =
            token.owner.filter(|owner| User::life_of(&user.lives[*owner].entry) != Some(*owner));
        // What was purged frees what nobody wrote.
        if token.place == Place::Log && world.forgot.get() {
            return false;
        }
        token.place != Place::Ignored || (owner.is_none() && !world.reaped.get())
    });
    let counts = &world.tools.counts;
    let destroyed = user.tokens.iter().filter(|token| token.destroyed).count();
    let purged = |(number, life): &(usize, &Life)| {
        !life.deleted && User::life_of(&life.entry) != Some(*number)
    };
    counts.add("tokens found", user.tokens.len() - destroyed);
    counts.add("tokens destroyed by their user", destroyed);
    counts.add("sandboxes", user.lives.len());
    counts.add("purged", user.lives.iter().enumerate().filter(purged).count());
    if lost.is_empty() { Ok(()) } else { Err(format!("lost:\n{lost}")) }
}

/// Every token that is in a file or in an object.
pub fn search(world: &World) -> HashSet<String> {
    let mut search = Search { tokens: HashSet::new(), stores: Vec::new() };
    search.folder(&world.home);
    for store in std::mem::take(&mut search.stores) {
        let mut git = world.command(&world.git, &world.home);
        // A quarantine whose HEAD was lost with the power is no repository, and has its objects all the
        // same: they are taken over by their files.
        let repository = match store.ends_with("confined") {
            true => {
                git.env("GIT_OBJECT_DIRECTORY", store.join("objects"));
                store.ancestors().nth(3).unwrap()
            }
            false => &store,
        };
        git.arg(format!("--git-dir={}", repository.display()));
        // Whose folder is gone is asked all the same.
        git.args(["--work-tree=/", "cat-file", "--batch-all-objects"]);
        git.args(["--batch", "--buffer", "--unordered"]);
        search.bytes(&git.output().unwrap().stdout);
    }
    search.tokens
}

struct Search {
    tokens: HashSet<String>,
    stores: Vec<PathBuf>,
}

impl Search {
    /// Files count, git's own but for objects do not, nor what is being deleted.
    fn folder(&mut self, dir: &Path) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_symlink() {
                self.bytes(fs::read_link(path).unwrap_or_default().as_os_str().as_encoded_bytes());
            } else if kind.is_file() {
                self.bytes(&fs::read(path).unwrap_or_default());
            } else if entry.file_name() == ".vault.git" {
                self.stores.push(path);
            } else if entry.file_name() == ".git" {
                self.git_dir(&path);
            } else if !dir.parent().is_some_and(|dir| dir.ends_with(".trash"))
                || entry.file_name() == "tree"
            {
                self.folder(&path);
            }
        }
    }

    fn git_dir(&mut self, dir: &Path) {
        self.stores.push(dir.to_owned());
        let privates = folders_in(&dir.join("sandbox"));
        for entry in folders_in(&dir.join("worktrees")).into_iter().chain(privates) {
            let mut todo = vec![entry.clone()];
            while let Some(dir) = todo.pop() {
                let modules = folders_in(&dir.join("modules"));
                self.stores.extend(modules.iter().cloned());
                todo.extend(modules);
            }
            if entry.join("confined/objects").is_dir() {
                self.stores.push(entry.join("confined"));
            }
            for log in script::logs(&entry) {
                self.bytes(&fs::read(log).unwrap_or_default());
            }
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let words = bytes.split(|byte| !byte.is_ascii_alphanumeric());
        let tokens = words.filter(|word| word.starts_with(b"tok") && word.ends_with(b"z"));
        self.tokens.extend(tokens.map(|word| String::from_utf8_lossy(word).into_owned()));
    }
}
