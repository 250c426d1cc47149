//! Creating or resuming a sandbox: a transaction.
//!
//! Under the repository lock: resolve, make the folder, make the branch, register the worktree,
//! locked with our reason. Then, outside it, under the sandbox's own lock: check the files out, run
//! the hook, unlock. A failure up to the end of the checkout takes everything back, the branch only
//! if we made it and it has not moved. A kill leaves an entry marked `creating` whose lock is free,
//! which the next `new` of that name finishes. Nobody waits for a sandbox's lock while holding
//! the repository's.
//!
//! git processes, nothing configured, under the lock: `config` beside `worktree list`, `for-each-ref`
//! unless the name is new for sure, `branch` for a new one, `worktree add`; then, outside it, `reset`.
//! With a spare: `symbolic-ref` and `update-ref` instead of the last two. tests/processes.rs has the
//! table of all commands.

mod finish;
mod take;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result, shell_word};
use crate::git::Git;
use crate::journal::Journal;
use crate::live;
use crate::lock::Lock;
use crate::out::Out;
use crate::place::{self, Place, Root};
use crate::record::{self, Facts};
use crate::recover;
use crate::repo::{self, Repo, Worktrees};
use crate::resolve::{self, Target};
use crate::run::Author;
use crate::sandbox::{self, CREATING, Sandbox, State};
use crate::signals;
use crate::start::{self, Start};
use crate::time::{self, Time};
use crate::trash::{self, Item, Trash};
use crate::undo::Undo;

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The branch; `None` for a detached HEAD.
    pub branch: Option<OsString>,
    /// The folder's name; another one is taken if somebody has it.
    pub folder: String,
    /// Where to start instead of at HEAD.
    pub from: Option<OsString>,
    /// What it is for.
    pub task: Option<String>,
    /// The parent folder, if it is not to stand below the root.
    pub dir: Option<PathBuf>,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// Where it is.
    pub path: PathBuf,
    /// Its private git dir.
    pub entry: PathBuf,
    /// What was done.
    pub action: Action,
    /// What went wrong after the checkout; the sandbox is there all the same.
    pub troubles: Vec<String>,
    /// The root in force.
    pub root: PathBuf,
    /// When it had been used last, if it was there.
    pub last_used: Option<Time>,
}

/// What was done.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// It was made, in a few words how.
    Created(String),
    /// An interrupted creation was completed.
    Finished,
    /// It was there.
    Resumed,
}

/// Everything a creation needs to know.
#[derive(Debug)]
pub struct Maker<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// The root asked for.
    pub root: Root,
    /// Where to narrate.
    pub out: Out,
    /// The time.
    pub now: Time,
    /// Who commits in it, if it is not the user.
    pub author: Option<Author>,
}

impl Maker<'_> {
    /// Creates the sandbox, or resumes the one that is there. The repository lock may be held already.
    pub fn ensure(&self, wish: &Wish, mut held: Option<Lock>) -> Result<Outcome> {
        let mut before = Facts::default();
        loop {
            let lock = held.take().map_or_else(|| self.repo.lock(self.out), Ok)?;
            let git = self.repo.git.holding(lock.file());
            let branch = wish.branch.as_deref();
            let is_new = branch.is_some_and(|name| resolve::is_surely_new(self.repo, name));
            let question = branch.filter(|_| !is_new);
            let question =
                question.map(|name| resolve::ask(&git, &self.repo.config, name)).transpose()?;
            let worktrees = self.repo.worktrees()?;
            let (target, several) = match (question, branch) {
                (Some(question), _) => {
                    let found = question.answer()?;
                    (found.target, found.several)
                }
                (None, Some(name)) => (Target::New { branch: name.to_owned() }, Vec::new()),
                (None, None) => (Target::Detached, Vec::new()),
            };
            let place = Place::of(self.repo, self.root.clone(), &worktrees);
            let trash = Trash { repo: self.repo, git: git.clone(), place: &place, now: self.now };
            if recover::all(&trash, &worktrees, self.out) {
                continue;
            }
            match self.existing(wish, &worktrees, &place)? {
                // Nothing is done to an entry that was not found.
                Some(there) if there.entry.as_os_str().is_empty() => {
                    let why = "git's entry for it was not found".to_owned();
                    return Err(Error::Damaged { name: there.name(), why });
                }
                Some(there) if there.state == State::Creating => {
                    let path = live::lock_path(&there.entry);
                    let own = Lock::if_free(&path)?;
                    drop((trash, git, lock));
                    match own {
                        // The first may have come to its end since git was asked.
                        Some(_) if !there.entry.join("locked").exists() => {}
                        Some(own) => {
                            return self
                                .finish(wish, &there, &worktrees, &own)
                                .map(|it| rooted(it, &place));
                        }
                        None => Lock::wait(&path, self.out)?,
                    }
                }
                Some(there) if there.state == State::Missing => {
                    before = record::read(&there.entry);
                    self.drop_missing(&trash, &place, &there)?;
                }
                Some(there) => return self.resume(wish, &there).map(|it| rooted(it, &place)),
                None => {
                    self.check_several(wish, &several)?;
                    self.tell_of_trash(wish, &worktrees);
                    drop((trash, git));
                    let made = self.create(wish, &before, &target, &worktrees, &place, lock);
                    return made.map(|it| rooted(it, &place));
                }
            }
        }
    }

    /// The sandbox that this wish means, if it is there.
    fn existing(
        &self,
        wish: &Wish,
        worktrees: &Worktrees,
        place: &Place,
    ) -> Result<Option<Sandbox>> {
        let sandboxes = sandbox::all(worktrees, place);
        let Some(branch) = wish.branch.as_deref() else {
            let parent = wish.dir.as_deref().map(place::real);
            let here = |sandbox: &Sandbox| match &parent {
                Some(parent) => sandbox.path.parent() == Some(parent),
                None => sandbox.managed,
            };
            let named = |sandbox: &Sandbox| sandbox.name() == wish.folder && here(sandbox);
            return Ok(sandboxes.into_iter().find(named));
        };
        let main_held = sandbox::branch_held_by(&self.repo.common);
        if worktrees.main.branch == Some(resolve::full(branch))
            || main_held.as_deref() == Some(branch)
        {
            let branch = branch.to_string_lossy().into_owned();
            return Err(Error::CheckedOutInMain { slug: format!("{branch}-2"), branch });
        }
        let trashed = worktrees.linked.iter().filter_map(|tree| Some((tree, trash::pin_of(tree)?)));
        for (tree, pin) in trashed {
            // Unborn, or by a lock that kept HEAD from being detached.
            let on_it = tree.record.branch == Some(resolve::full(branch));
            if on_it || sandbox::branch_held_by(&tree.entry).as_deref() == Some(branch) {
                let branch = branch.to_string_lossy().into_owned();
                return Err(Error::HeldInTrash { branch, id: pin.id });
            }
        }
        Ok(sandboxes.into_iter().find(|sandbox| sandbox.branch.as_deref() == Some(branch)))
    }

    fn resume(&self, wish: &Wish, there: &Sandbox) -> Result<Outcome> {
        if let State::Damaged(why) = there.state {
            return Err(Error::Damaged { name: there.name(), why: why.into() });
        }
        if wish.from.is_some() {
            return Err(start::from_existing(there.branch.as_deref(), "in a sandbox"));
        }
        if let Some(task) = &wish.task {
            let facts = Facts { task: Some(task.clone()), ..record::read(&there.entry) };
            record::write(&there.entry, &facts)?;
        }
        let git = &self.repo.git;
        let last_used = there.last_used(git, self.repo.is_reftable(), &[], self.now);
        place::touch(&there.path, self.now)?;
        Ok(Outcome { last_used, ..outcome(&there.path, &there.entry, Action::Resumed) })
    }

    /// Forgets a sandbox whose folder was deleted by hand; its commits are kept.
    fn drop_missing(&self, trash: &Trash, place: &Place, there: &Sandbox) -> Result<()> {
        let not_there =
            |why| Err(Error::NotThere { name: there.name(), path: there.path.clone(), why });
        match &there.locked {
            Some(reason) if reason != CREATING => {
                return not_there("it is locked and its folder is not there");
            }
            _ if there.managed && !place.root.is_dir() => {
                return not_there("the root is not there either");
            }
            _ if !there.managed && !there.path.parent().is_some_and(Path::is_dir) => {
                return not_there("the folder that holds it is not there either");
            }
            _ => {}
        }
        if let Some(kept) = trash.forget(there)? {
            self.out.note(&format!("the folder of '{}' was gone; {kept}", there.name()));
        }
        Ok(())
    }

    /// A branch that several remotes have is none of theirs, unless the user prefers one.
    fn check_several(&self, wish: &Wish, remotes: &[String]) -> Result<()> {
        let ([first, .., last], Some(branch)) = (remotes, &wish.branch) else { return Ok(()) };
        if wish.from.is_some() {
            return Err(start::from_existing(Some(branch), "on several remotes"));
        }
        let branch = branch.to_string_lossy();
        let (several, word) =
            (format!("'{first}' and '{last}' both have a branch '{branch}'"), shell_word(&branch));
        self.out.warn(&format!("{several}; this new one starts at HEAD"));
        self.out.hint(&format!(
            "git -c checkout.defaultRemote={first} sandbox new {word} follows that of '{first}'"
        ));
        Ok(())
    }

    /// A removed sandbox of that name or branch can be brought back instead.
    fn tell_of_trash(&self, wish: &Wish, worktrees: &Worktrees) {
        let full = wish.branch.as_deref().map(resolve::full);
        let same = |item: &Item| {
            let branch = item.journal.branch.as_ref().map(OsString::from);
            item.journal.name == wish.folder || (full.is_some() && branch == full)
        };
        if let Some(item) = trash::items(&worktrees.linked).into_iter().flatten().find(same) {
            let Journal { id, name, holds, .. } = item.journal;
            let holds =
                if holds.is_empty() { "nothing uncommitted".into() } else { holds.join(", ") };
            self.out.hint(&format!("a removed sandbox '{name}' is in the trash ({holds}):"));
            let name = shell_word(&format!("{name}-old"));
            self.out.hint(&format!("git sandbox restore {id} --as {name}"));
        }
    }

    /// The first half, under the repository lock.
    fn create(
        &self,
        wish: &Wish,
        before: &Facts,
        target: &Target,
        worktrees: &Worktrees,
        place: &Place,
        lock: Lock,
    ) -> Result<Outcome> {
        let start = Start::of(self.repo, wish.from.as_deref(), target, worktrees)?;
        let home = match &wish.dir {
            Some(parent) => {
                place::make_folder(parent)?;
                None
            }
            None => Some(place.home(worktrees, self.out)?),
        };
        let parent = match (&home, &wish.dir) {
            (Some(home), _) => home.path.clone(),
            (None, dir) => place::real(dir.as_deref().unwrap_or(Path::new("/"))),
        };
        let git = self.repo.git.holding(lock.file());
        let mut undo = Undo::default();
        let facts = self.facts(wish, before, &start);
        let spare = match &home {
            Some(home) => self.spare(&git, target, &start, worktrees, &home.path)?,
            None => None,
        };
        let had = spare.as_ref().and_then(|held| held.head.clone());
        let made = match spare {
            Some(held) => self.take(&git, held, wish, facts, target, &start, worktrees, &mut undo),
            None => self
                .register(&git, wish, target, &start, worktrees, &parent, &mut undo)
                .and_then(|(path, entry)| {
                    let own =
                        Lock::at_once(&live::lock_path(&entry))?.ok_or_else(|| Error::Damaged {
                            name: wish.folder.clone(),
                            why: "somebody uses it already".into(),
                        })?;
                    record::write(&entry, &facts)?;
                    Ok((path, entry, own))
                }),
        };
        let (path, entry, own) = match made {
            Ok(made) => made,
            Err(error) => return Err(undo.take_back(&git, self.out, error)),
        };
        drop(git);
        drop(home);
        drop(lock);
        let folder = path.file_name().unwrap_or_default();
        if folder != OsStr::new(&wish.folder) {
            let folder = folder.to_string_lossy();
            self.out.note(&format!("folder '{}' is taken: using '{folder}'", wish.folder));
        }
        let branch = target.branch().map(OsStr::to_owned);
        let fill = self.fill(&path, &entry, branch, &start.commit, worktrees, &own);
        let filled = match had {
            Some(had) => fill.check_out_from(&had).and_then(|()| self.forget_spare(&entry)),
            None => fill.check_out(),
        };
        if let Err(error) = filled {
            let lock = self.repo.lock(self.out)?;
            return Err(undo.take_back(&self.repo.git.holding(lock.file()), self.out, error));
        }
        let troubles = fill.furnish();
        self.open_up(&path, &entry)?;
        let action = Action::Created(start.how(target, wish.from.as_deref()));
        Ok(Outcome { troubles, ..outcome(&path, &entry, action) })
    }

    /// What a sandbox whose folder was deleted was for, its successor is for.
    fn facts(&self, wish: &Wish, before: &Facts, start: &Start) -> Facts {
        let created = Some(time::rfc3339(self.now));
        let task = wish.task.clone().or_else(|| before.task.clone());
        Facts {
            task,
            base: start.base.clone().or_else(|| before.base.clone()),
            created,
            spare: None,
        }
    }

    /// Folder, branch, entry.
    #[expect(clippy::too_many_arguments, reason = "one step of one transaction")]
    fn register(
        &self,
        git: &Git,
        wish: &Wish,
        target: &Target,
        start: &Start,
        worktrees: &Worktrees,
        parent: &Path,
        undo: &mut Undo,
    ) -> Result<(PathBuf, PathBuf)> {
        let path = place::make_free_folder(parent, &wish.folder, worktrees)?;
        undo.folder = Some(path.clone());
        self.make_branch(git, target, start, undo)?;
        undo.registered = true;
        persistently(|| {
            let add = ["worktree", "add", "--no-checkout", "--lock", "--reason", CREATING];
            let call = git.call(add);
            let call = match target.branch() {
                Some(branch) => call.arg("--").arg(&path).arg(branch),
                None => call.args(["--detach", "--"]).arg(&path).arg(&start.commit),
            };
            call.done("create the sandbox")
        })?;
        signals::check()?;
        let entry =
            repo::folder_points_to(&path).filter(|entry| entry.starts_with(&self.repo.common));
        let entry = entry.ok_or_else(|| Error::Damaged {
            name: wish.folder.clone(),
            why: "git did not register it".into(),
        })?;
        Ok((path, entry))
    }

    /// The branch, if it is a new one.
    fn make_branch(
        &self,
        git: &Git,
        target: &Target,
        start: &Start,
        undo: &mut Undo,
    ) -> Result<()> {
        if let Target::New { branch } | Target::Tracking { branch, .. } = target {
            // git refuses this when the branch is there: so it is ours, exactly.
            let call = git.call(["branch", "--no-track", "--quiet", "--"]).arg(branch);
            call.arg(&start.commit).done("create the branch")?;
            undo.branch = Some((branch.clone(), start.commit.clone()));
        }
        if let Target::Tracking { branch, upstream, .. } = target {
            let mut option = OsString::from("--set-upstream-to=");
            option.push(upstream);
            undo.upstream = true;
            persistently(|| {
                git.call(["branch", "--quiet"])
                    .arg(&option)
                    .arg("--")
                    .arg(branch)
                    .done("set the upstream")
            })?;
        }
        Ok(())
    }
}

/// Tries again a few times: other tools write to the same repository and do not take our lock.
fn persistently(attempt: impl Fn() -> Result<()>) -> Result<()> {
    for pause in [20, 60] {
        if attempt().is_ok() {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(pause));
    }
    attempt()
}

fn rooted(outcome: Outcome, place: &Place) -> Outcome {
    Outcome { root: place.root.clone(), ..outcome }
}

fn outcome(path: &Path, entry: &Path, action: Action) -> Outcome {
    Outcome {
        path: path.to_owned(),
        entry: entry.to_owned(),
        action,
        troubles: Vec::new(),
        root: PathBuf::new(),
        last_used: None,
    }
}

/// Eight random hex digits.
pub fn random_hex() -> Result<String> {
    use std::io::Read;
    let mut bytes = [0; 4];
    let source = Path::new("/dev/urandom");
    File::open(source).and_then(|mut file| file.read_exact(&mut bytes)).at("read", source)?;
    Ok(format!("{:08x}", u32::from_ne_bytes(bytes)))
}
