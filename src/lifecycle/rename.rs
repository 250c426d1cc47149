//! Renaming a sandbox: its branch and its folder together. The private git dir keeps its name.
//!
//! Under the repository lock and the sandbox's own: lock (git's own worktree lock with our reason, so
//! that no prune drops an entry whose folder is on its way), journal (in `sandbox.json`, synced), a copy
//! of the branch under its new name (with reflog and config), HEAD, folder, pointers, the bases that
//! other sandboxes recorded; then the old branch, the journal and the lock go. `git branch -m` would do
//! with fewer steps, but leaves HEAD on a branch that is gone where it is killed or a hook refuses. A
//! crash before the folder moved is undone, after it completed, by whichever command next takes the
//! repository lock: recovery never moves a folder.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::{Git, porcelain, refs};
use crate::repo::link::Half;
use crate::repo::name::{self, EXPLORATION};
use crate::repo::place::Place;
use crate::repo::{Repo, Worktree, Worktrees, holders, link, place, resolve};
use crate::sandbox::in_use::{self, Processes};
use crate::sandbox::mark::RENAMING;
use crate::sandbox::record::{self, Renaming};
use crate::sandbox::verdict::{self, Objection};
use crate::sandbox::{Sandbox, State, facts};
use crate::sys::clock::Time;
use crate::sys::lock::Lock;
use crate::sys::{crash_point, dir, file};
use crate::ui::out::Out;
use crate::ui::words::shell_word;

/// What renaming needs to know.
#[derive(Debug)]
pub struct Renamer<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// Its git, whose processes hold the repository lock.
    pub git: Git,
    /// Where its sandboxes are.
    pub place: &'a Place,
    /// Its worktrees.
    pub worktrees: &'a Worktrees,
    /// The time.
    pub now: Time,
}

/// What a renaming did.
#[derive(Debug)]
pub struct Renamed {
    /// Where the sandbox is now.
    pub path: PathBuf,
    /// The folder's name that was wanted, where another one had to be used.
    pub wanted: Option<String>,
    /// The branch it had, where it has one.
    pub old_branch: Option<String>,
    /// Whether there was anything to do.
    pub changed: bool,
}

impl Renamer<'_> {
    /// Renames a sandbox, unless it is in use or the new name is taken.
    pub fn rename(&self, sandbox: &Sandbox, new: &OsStr, users: &Processes) -> Result<Renamed> {
        self.check(sandbox, users)?;
        let branch = self.branches(sandbox, new)?;
        let (to, wanted) = self.folder(sandbox, new)?;
        let old_branch = sandbox.branch_text();
        if to == sandbox.path && branch.is_none() {
            return Ok(Renamed { path: to, wanted: None, old_branch, changed: false });
        }
        let renaming = Renaming {
            from: sandbox.path.clone(),
            to: to.clone(),
            stale_settings: match &branch {
                Some((_, new)) => self.has_settings(new)?,
                None => false,
            },
            branch,
            commit: sandbox.head.clone(),
        };
        let own = Lock::if_free(&in_use::lock_path(&sandbox.entry))?;
        if own.is_none() {
            let (name, objection) = (sandbox.name(), Objection::CameIntoUse);
            let hint = self.way_out(&objection, &name);
            return Err(Error::NotRenamed { name, why: objection.to_string(), hint });
        }
        self.carry_out(&sandbox.entry, &renaming)?;
        dir::touch(&to, self.now)?;
        Ok(Renamed { path: to, wanted, old_branch, changed: true })
    }

    /// Refuses what removal refuses even where it is forced, and what is in use or locked.
    fn check(&self, sandbox: &Sandbox, users: &Processes) -> Result<()> {
        let name = sandbox.name();
        match sandbox.state {
            State::Creating => return Err(Error::Unfinished { name }),
            State::Missing => return Err(Error::Gone { name }),
            State::Ready | State::Orphan | State::Damaged(_) => {}
        }
        let facts = facts::for_a_move(self.repo, self.worktrees, sandbox, users);
        match verdict::refusal(&facts, 0) {
            Some(refusal) => {
                let hint = refusal.objections.iter().find_map(|it| self.way_out(it, &name));
                Err(Error::NotRenamed { name, why: refusal.to_string(), hint })
            }
            None => Ok(()),
        }
    }

    /// What to type so that an objection goes away, where there is something.
    fn way_out(&self, objection: &Objection, name: &str) -> Option<String> {
        let main = || shell_word(&self.worktrees.main.path.to_string_lossy());
        match objection {
            Objection::WhereWeAre => Some(format!("cd {}", main())),
            Objection::InUse(_) | Objection::CameIntoUse => Some(format!(
                "to end what was started there: git sandbox stop {}",
                shell_word(name)
            )),
            _ => None,
        }
    }

    /// The full names of the branch, now and then; `None` where it has none or keeps it.
    fn branches(&self, sandbox: &Sandbox, new: &OsStr) -> Result<Option<(String, String)>> {
        let Some(old) = sandbox.branch.as_deref().filter(|old| *old != new) else {
            return Ok(None);
        };
        let name = sandbox.name();
        if sandbox.detached {
            let operation = sandbox.operation(&self.repo.git, self.repo.is_reftable());
            let why = format!("{} in progress", operation.unwrap_or("an operation"));
            return Err(Error::NotRenamed { name, why, hint: None });
        }
        let mut holders = holders::of(self.worktrees, &self.repo.common, old);
        if let Some(other) = holders.find(|holder| holder.git_dir != sandbox.entry) {
            let why = format!("its branch is also in '{}'", other.record.path.display());
            return Err(Error::NotRenamed { name, why, hint: None });
        }
        let typed =
            |error: Error| error.typed_after(format!("git sandbox rename {}", shell_word(&name)));
        resolve::check_name(&self.git, new).map_err(typed)?;
        let question = resolve::ask(&self.git, &self.repo.config, new, None).map_err(typed)?;
        if let resolve::Target::Existing { branch, .. } = question.answer().map_err(typed)?.target {
            let why = format!("branch '{}' already exists", branch.to_string_lossy());
            return Err(Error::NotRenamed { name, why, hint: None });
        }
        let full = |branch: &OsStr| {
            refs::full(branch).into_string().map_err(|_| Error::NotText { what: "branch" })
        };
        Ok(Some((full(old)?, full(new)?)))
    }

    /// The folder it will have, and the name that was wanted if that is taken.
    fn folder(&self, sandbox: &Sandbox, new: &OsStr) -> Result<(PathBuf, Option<String>)> {
        let name = sandbox.name();
        let wanted = match sandbox.branch {
            None if sandbox.explores => {
                let bare = new.to_str().and_then(|text| text.strip_prefix(EXPLORATION));
                name::exploration_folder(bare.map_or(new, OsStr::new))
            }
            _ => name::branch_folder(new),
        };
        let wanted = if sandbox.managed { self.place.folder(&wanted) } else { wanted };
        if wanted == name {
            return Ok((sandbox.path.clone(), None));
        }
        let home = sandbox.path.parent().unwrap_or(&sandbox.path);
        let path = place::free_path(home, &wanted, self.worktrees, Some(&sandbox.path))?;
        let taken = path.file_name() != Some(OsStr::new(&wanted));
        Ok((path, taken.then_some(wanted)))
    }

    fn carry_out(&self, entry: &Path, renaming: &Renaming) -> Result<()> {
        crash_point::reached();
        file::replace(&entry.join("locked"), RENAMING.as_bytes())?;
        crash_point::reached();
        let done = self.note(entry, Some(renaming)).and_then(|()| {
            crash_point::reached();
            if let Some((old, new)) = &renaming.branch {
                self.copy_branch(renaming, old, new)?;
            }
            crash_point::reached();
            if renaming.from != renaming.to {
                file::rename(&renaming.from, &renaming.to)?;
            }
            crash_point::reached();
            Ok(())
        });
        match done {
            // What fails is tried once more, as after a crash: until it is complete, git fails in submodules.
            Ok(()) => self.complete(entry, renaming).or_else(|_| self.complete(entry, renaming)),
            Err(error) => {
                self.undo(entry, renaming)?;
                Err(error)
            }
        }
    }

    fn copy_branch(&self, renaming: &Renaming, old: &str, new: &str) -> Result<()> {
        if renaming.commit.is_some() {
            let short = |full: &str| refs::short(OsStr::new(full));
            let git = self.git.at(&renaming.from);
            let call = git.call(["branch", "-c", "--"]).arg(short(old)).arg(short(new));
            call.done("rename the branch")?;
        }
        crash_point::reached();
        self.set_head(&renaming.from, new)
    }

    fn set_head(&self, folder: &Path, branch: &str) -> Result<()> {
        let words = ["symbolic-ref", "-m", "git sandbox: renamed", "HEAD", branch];
        self.git.at(folder).call(words).done("put HEAD on its branch")
    }

    /// After the folder moved.
    fn complete(&self, entry: &Path, renaming: &Renaming) -> Result<()> {
        link::connect(entry, &renaming.to)?;
        crash_point::reached();
        let (private, folder) = (Half::here(entry), Half::here(&renaming.to));
        link::move_submodules(&self.git, (entry, &renaming.from), private, folder)?;
        crash_point::reached();
        if let Some((old, new)) = &renaming.branch {
            self.tell_others(old, new)?;
            crash_point::reached();
            // Where it moved meanwhile, it is another's.
            if self.tip(old)? == renaming.commit {
                self.delete(old, renaming.commit.as_deref())?;
            }
        }
        crash_point::reached();
        self.forget(entry)
    }

    /// Before the folder moved.
    fn undo(&self, entry: &Path, renaming: &Renaming) -> Result<()> {
        if let Some((old, new)) = &renaming.branch {
            self.take_back_branch(renaming, old, new)?;
        }
        crash_point::reached();
        self.forget(entry)
    }

    fn take_back_branch(&self, renaming: &Renaming, old: &str, new: &str) -> Result<()> {
        let git = self.git.at(&renaming.from);
        let head = git.look(["symbolic-ref", "--quiet", "HEAD"]).ask()?;
        let copy = self.tip(new)?;
        if head.stdout.trim_ascii_end() == new.as_bytes() {
            // A process may have gone on working after a crash.
            if let (Some(tip), Some(commit)) = (&copy, &renaming.commit)
                && tip != commit
            {
                let words = ["update-ref", "-m", "git sandbox: not renamed", old, tip, commit];
                git.call(words).done("take the branch along")?;
            }
            self.set_head(&renaming.from, old)?;
        }
        crash_point::reached();
        let is_ours = copy.is_some() && (copy == renaming.commit || copy == self.tip(old)?);
        match is_ours {
            true if renaming.stale_settings => self.delete_ref(new, copy.as_deref()),
            true => self.delete(new, copy.as_deref()),
            false => Ok(()),
        }
    }

    /// Deletes the section of the config that is about a branch, and the branch if it is at this commit.
    fn delete(&self, branch: &str, commit: Option<&str>) -> Result<()> {
        if self.has_settings(branch)? {
            let git = self.git.at(&self.repo.common);
            let words = ["config", "--local", "--remove-section"];
            git.call(words).arg(section(branch)).done("take the settings of the branch along")?;
        }
        crash_point::reached();
        self.delete_ref(branch, commit)
    }

    fn delete_ref(&self, branch: &str, commit: Option<&str>) -> Result<()> {
        let Some(commit) = commit else { return Ok(()) };
        let git = self.git.at(&self.repo.common);
        git.call(["update-ref", "-d", branch, commit]).done("rename the branch")
    }

    /// Takes the journal and the lock away.
    fn forget(&self, entry: &Path) -> Result<()> {
        self.note(entry, None)?;
        crash_point::reached();
        let locked = entry.join("locked");
        fs::remove_file(&locked).at("unlock", &locked)?;
        crash_point::reached();
        Ok(())
    }

    fn note(&self, entry: &Path, renaming: Option<&Renaming>) -> Result<()> {
        let facts = record::Facts { renaming: renaming.cloned(), ..record::to_change(entry)? };
        record::write_synced(entry, &facts)
    }

    /// The commit that a branch is at; `None` where there is no such branch.
    fn tip(&self, branch: &str) -> Result<Option<String>> {
        let git = self.git.at(&self.repo.common);
        let answer = git.look(["rev-parse", "--verify", "--quiet", branch]).ask()?;
        match answer.code {
            Some(0) => Ok(porcelain::commit(answer.stdout.trim_ascii_end())),
            Some(1) => Ok(None),
            _ => Err(Error::Git { doing: "read its branch".into(), why: answer.why() }),
        }
    }

    /// Whether the repository's config has a section of this branch.
    fn has_settings(&self, branch: &str) -> Result<bool> {
        let git = self.git.at(&self.repo.common);
        let listed = git.look(["config", "--local", "--name-only", "-z", "--list"]);
        let listed = listed.read("read the config")?;
        let lead = section(branch) + ".";
        let named = |key: &[u8]| {
            let name = key.strip_prefix(lead.as_bytes());
            name.is_some_and(|name| !name.contains(&b'.'))
        };
        Ok(listed.split(|byte| *byte == 0).any(named))
    }

    /// Sandboxes that started from the branch know it by its new name.
    fn tell_others(&self, old: &str, new: &str) -> Result<()> {
        let short = |full: &str| refs::short(OsStr::new(full)).to_string_lossy().into_owned();
        let entries = self.worktrees.linked.iter().map(|tree| &tree.entry);
        for entry in entries.filter(|entry| !entry.as_os_str().is_empty()) {
            let mut facts = record::to_change(entry)?;
            if facts.base == Some(short(old)) {
                facts.base = Some(short(new));
                record::write_synced(entry, &facts)?;
            }
        }
        Ok(())
    }

    /// Finishes or undoes a renaming that a crash stopped.
    fn recover_one(&self, tree: &Worktree) -> Result<()> {
        let entry = &tree.entry;
        let Some(renaming) = record::read(entry).renaming else { return self.forget(entry) };
        let stands = |folder: &Path| link::folder_points_to(folder).as_ref() == Some(entry);
        match () {
            () if stands(&renaming.to) => self.complete(entry, &renaming),
            () if stands(&renaming.from) => self.undo(entry, &renaming),
            // Its folder is at neither place: on a disk that is away, or moved by hand.
            () => {
                let name = renaming.from.file_name().unwrap_or_default();
                let why = "an interrupted renaming cannot be undone: its folder is not there";
                Err(Error::Damaged {
                    name: name.to_string_lossy().into_owned(),
                    why: why.to_owned(),
                })
            }
        }
    }
}

/// Sandboxes whose folder and branch are getting another name, or were when a crash came.
fn half_way(worktrees: &Worktrees) -> impl Iterator<Item = &Worktree> {
    worktrees.linked.iter().filter(|tree| {
        tree.record.locked.as_deref() == Some(RENAMING) && !tree.entry.as_os_str().is_empty()
    })
}

/// The folders of sandboxes whose renaming a crash stopped, where git looks for them.
pub fn left_over(worktrees: &Worktrees) -> Vec<PathBuf> {
    let is_idle = |entry: &Path| matches!(Lock::if_free(&in_use::lock_path(entry)), Ok(Some(_)));
    let left = half_way(worktrees).filter(|tree| is_idle(&tree.entry));
    left.map(|tree| tree.record.path.clone()).collect()
}

/// Finishes or undoes what a crash left of renamings. Whether there was anything.
pub fn recover(renamer: &Renamer, out: Out) -> bool {
    let mut changed = false;
    for tree in half_way(renamer.worktrees) {
        match renamer.recover_one(tree) {
            Ok(()) => changed = true,
            // One that cannot be mended keeps no command from working on others.
            Err(error) => out.warn(&error.to_string()),
        }
    }
    changed
}

/// The section of the config that is about a branch.
fn section(full: &str) -> String {
    format!("branch.{}", refs::short(OsStr::new(full)).to_string_lossy())
}
