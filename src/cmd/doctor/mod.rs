//! `git sandbox doctor`
//!
//! Each check finds, explains in one line and, where nothing can be lost by it, repairs. An entry
//! that makes git itself fail comes first: until it is mended nothing else can be asked.

mod spares;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Here;
use crate::args::Args;
use crate::background;
use crate::create::{Maker, Wish};
use crate::error::{Doing, Result, shell_word};
use crate::everywhere::{self, Everywhere};
use crate::gather;
use crate::journal::{Journal, Stage, TREE, replace};
use crate::live;
use crate::lock::Lock;
use crate::merge;
use crate::orphan;
use crate::out::{Out, visible};
use crate::place::{self, Root};
use crate::pointer;
use crate::repo::{self, Repo};
use crate::run::Author;
use crate::sandbox::{Sandbox, State};
use crate::spec::{COLOR, FIX, JSON, ROOT};
use crate::stub;
use crate::tmux;
use crate::trash;

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    let repo = Repo::discover()?;
    *out = Out::new(args.word(&COLOR), &repo.config);
    let mut doctor =
        Doctor { fix: args.has(&FIX), args, findings: Vec::new(), accounted: Vec::new() };
    doctor.entries(&repo, *out)?;
    if doctor.is_stuck() {
        return doctor.answer(*out);
    }
    doctor.root(&repo)?;
    let here = doctor.journals(repo, out)?;
    background::tell(&here.place.root, *out);
    doctor.moved(&here)?;
    let here = Here::of(here.repo, args, out)?;
    doctor.sandboxes(&here, *out)?;
    doctor.leftovers(&here)?;
    doctor.windows(&here);
    doctor.spares(&here, *out)?;
    doctor.answer(*out)
}

/// Something that is not as it should be.
#[derive(Serialize)]
struct Finding {
    kind: &'static str,
    path: String,
    problem: String,
    fixed: bool,
    #[serde(skip)]
    hint: Option<String>,
}

struct Doctor<'a> {
    fix: bool,
    args: &'a Args,
    findings: Vec<Finding>,
    accounted: Vec<PathBuf>,
}

impl Doctor<'_> {
    /// Notes a finding and, if asked, applies the cure; one that fails leaves the finding.
    fn find(
        &mut self,
        kind: &'static str,
        path: &Path,
        problem: &str,
        cure: Option<&mut dyn FnMut() -> Result<()>>,
    ) {
        let (mut fixed, mut problem) = (false, problem.to_owned());
        if let (true, Some(cure)) = (self.fix, cure) {
            match cure() {
                Ok(()) => fixed = true,
                Err(error) => problem = format!("{problem} ({error})"),
            }
        }
        let path = path.to_string_lossy().into_owned();
        self.findings.push(Finding { kind, path, problem, fixed, hint: None });
    }

    fn hint(&mut self, hint: String) {
        if let Some(finding) = self.findings.last_mut().filter(|finding| !finding.fixed) {
            finding.hint = Some(hint);
        }
    }

    fn knows(&self, path: &Path) -> bool {
        self.findings.iter().any(|finding| Path::new(&finding.path) == path)
    }

    /// Whether git would still fail.
    fn is_stuck(&self) -> bool {
        let stuck =
            |finding: &&Finding| finding.kind == "entry" && finding.problem.contains("commondir");
        self.findings.iter().filter(stuck).any(|finding| !finding.fixed)
    }

    /// An entry with an empty `commondir` makes every git command of the repository fail. What
    /// belongs in there is always the same.
    fn entries(&mut self, repo: &Repo, out: Out) -> Result<()> {
        let worktrees = repo.common.join("worktrees");
        let entries = match fs::read_dir(&worktrees) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            other => other.at("read", &worktrees)?,
        };
        for entry in entries.flatten().map(|entry| entry.path()).filter(|entry| entry.is_dir()) {
            if is_empty(&entry) {
                let cure = &mut || fs::remove_dir(&entry).at("remove", &entry);
                self.find("entry", &entry, "it is empty", Some(cure));
                continue;
            }
            if stub::is_unlisted(&entry) {
                let cure = &mut || {
                    // Whoever is just making it holds the lock.
                    let _lock = repo.lock(out)?;
                    stub::clear_unlisted(&repo.common);
                    Ok(())
                };
                self.find("entry", &entry, "its creation was interrupted", Some(cure));
                continue;
            }
            let file = entry.join("commondir");
            let text = crate::file::read_small(&file).unwrap_or_default();
            if text.trim_ascii().is_empty() {
                let why = "its 'commondir' is empty, which makes git fail";
                self.find("entry", &entry, why, Some(&mut || replace(&file, b"../..\n")));
            }
        }
        Ok(())
    }

    /// The root must be the user's alone.
    fn root(&mut self, repo: &Repo) -> Result<()> {
        let root = Root::wanted(self.args.value(&ROOT), &repo.config, &repo.git)?;
        let Some(path) = root.plain().filter(|path| path.is_dir()) else { return Ok(()) };
        if let Some(cure) = place::open_to_others(&path) {
            self.find("root", &path, "others may write to it", Some(&mut || cure.apply()));
        }
        Ok(())
    }

    /// Removals, restores and merges that a crash stopped.
    fn journals(&mut self, repo: Repo, out: &mut Out) -> Result<Here> {
        let here = Here::of(repo, self.args, out)?;
        let mut unfinished = Vec::new();
        for tree in &here.worktrees.linked {
            let Some(pin) = trash::pin_of(tree) else { continue };
            match Journal::of(&pin, &tree.entry) {
                Ok(Some(journal)) if matches!(journal.stage, Stage::Trashed | Stage::Purging) => {}
                Ok(_) => unfinished.push(pin.at),
                Err(error) => self.find("journal", &pin.at, &error.to_string(), None),
            }
        }
        let merges = merge::left_over(&here.repo, &here.worktrees);
        if unfinished.is_empty() && merges.is_empty() {
            return Ok(here);
        }
        let repo = here.repo;
        let here = match self.fix {
            true => Here::locked(repo, self.args, out)?.0,
            false => Here::of(repo, self.args, out)?,
        };
        let left = |at: &PathBuf| {
            let still =
                here.worktrees.linked.iter().filter_map(trash::pin_of).any(|pin| pin.at == *at);
            let done = |stage: &Stage| matches!(stage, Stage::Trashed | Stage::Purging);
            still
                && !Journal::read(at).is_ok_and(|journal| journal.is_some_and(|it| done(&it.stage)))
        };
        for at in unfinished {
            let cure = &mut || match left(&at) {
                false => Ok(()),
                true => Err(std::io::Error::other("it is still there")).at("mend", &at),
            };
            self.find("journal", &at, "a removal or restore was interrupted", Some(cure));
        }
        let left = merge::left_over(&here.repo, &here.worktrees);
        for path in merges {
            let cure = &mut || match left.contains(&path) {
                false => Ok(()),
                true => Err(std::io::Error::other("it is still there")).at("mend", &path),
            };
            self.find("merge", &path, "a merge was interrupted", Some(cure));
        }
        Ok(here)
    }

    /// A repository or a sandbox that was moved: `git worktree repair` connects them again.
    fn moved(&mut self, here: &Here) -> Result<()> {
        let git = &here.repo.git;
        let lost = |sandbox: &&Sandbox| {
            let points_to = repo::folder_points_to(&sandbox.path);
            matches!(sandbox.state, State::Damaged(_))
                && points_to.is_some_and(|entry| !entry.exists())
        };
        let lost: Vec<&Sandbox> = here.sandboxes.iter().filter(lost).collect();
        if self.fix && !lost.is_empty() {
            git.call(["worktree", "repair"]).done("reconnect the sandboxes")?;
        }
        for sandbox in lost {
            let connected =
                repo::folder_points_to(&sandbox.path).is_some_and(|entry| entry.exists());
            let cure = &mut || match connected {
                true => Ok(()),
                false => Err(std::io::Error::other("git could not")).at("reconnect", &sandbox.path),
            };
            let why = "it still names the place where the repository was";
            self.find("moved", &sandbox.path, why, Some(cure));
        }
        let all = Everywhere::look(self.args.value(&ROOT))?;
        let found: Vec<PathBuf> =
            self.findings.iter().map(|finding| PathBuf::from(&finding.path)).collect();
        let homes: Vec<&Path> =
            here.sandboxes.iter().filter_map(|sandbox| sandbox.path.parent()).collect();
        for folder in all.strays.iter().chain(&all.orphans).filter(|folder| !found.contains(folder))
        {
            let Some(entry) = repo::folder_points_to(folder) else {
                // Only in a home of ours is that for us to say.
                if folder.parent().is_some_and(|home| homes.contains(&home)) && !is_empty(folder) {
                    self.find("folder", folder, "git has no entry for it", None);
                }
                continue;
            };
            // The repository may have moved too: then only the entry's name is left of the way.
            let ours =
                here.repo.common.join("worktrees").join(entry.file_name().unwrap_or_default());
            let moved_too = !entry.exists() && everywhere::is_orphan(folder);
            let entry = if moved_too { ours } else { entry };
            if !entry.starts_with(&here.repo.common) {
                continue;
            }
            let why = match repo::entry_points_to(&entry) {
                Some(named) if !named.exists() => {
                    "it was moved here, and git looks for it elsewhere"
                }
                _ if moved_too => continue,
                Some(_) => "another folder stands where git looks for it",
                None => "git has no entry for it",
            };
            let repair = &mut || {
                if moved_too {
                    pointer::connect(&entry, folder)?;
                }
                git.call(["worktree", "repair", "--"]).arg(folder).done("reconnect it")?;
                match repo::entry_points_to(&entry).as_deref() == Some(folder) {
                    true => Ok(()),
                    false => Err(std::io::Error::other("git could not")).at("reconnect", folder),
                }
            };
            if why.starts_with("it was moved") {
                self.accounted.push(entry.clone());
                self.find("moved", folder, why, Some(repair));
            } else {
                self.find("folder", folder, why, None);
            }
        }
        Ok(())
    }

    /// Half-made sandboxes are finished, entries without a folder dropped with their commits kept.
    fn sandboxes(&mut self, here: &Here, out: Out) -> Result<()> {
        // One that was moved, or is on its way to the trash, is not missing.
        let pinned = here.worktrees.linked.iter().filter(|tree| trash::pin_of(tree).is_some());
        let pinned: Vec<&PathBuf> = pinned.map(|tree| &tree.entry).collect();
        let accounted = |sandbox: &&Sandbox| {
            !self.accounted.contains(&sandbox.entry) && !pinned.contains(&&sandbox.entry)
        };
        let sandboxes: Vec<&Sandbox> = here.sandboxes.iter().filter(accounted).collect();
        for sandbox in sandboxes {
            let path = &sandbox.path;
            match &sandbox.state {
                State::Creating if sandbox.head.is_none() => {
                    let cure = &mut || clear(here, sandbox, out);
                    self.find("creating", path, "its creation was interrupted", Some(cure));
                }
                State::Creating if Lock::if_free(&live::lock_path(&sandbox.entry))?.is_some() => {
                    let args = self.args;
                    let cure = &mut || finish(here, sandbox, args, out);
                    self.find("creating", path, "its creation was interrupted", Some(cure));
                }
                State::Missing => {
                    let near = path.parent().is_some_and(Path::is_dir) && sandbox.locked.is_none();
                    let forget = &mut || {
                        let lock = here.repo.lock(out)?;
                        // It may have come back while we waited.
                        let taken = repo::is_another_repositorys(path, &sandbox.entry);
                        if path.symlink_metadata().is_ok() && !taken {
                            return Ok(());
                        }
                        here.trash(&lock).forget(sandbox).map(drop)
                    };
                    let unsaved = gather::modules_with_work(&here.repo.git, &sandbox.entry);
                    match unsaved {
                        _ if !near => {
                            let why = "it is not there; it may be on another disk";
                            self.find("missing", path, why, None);
                        }
                        Some(why) => {
                            let why = format!("its folder is gone, but {why}");
                            self.find("missing", path, &why, None);
                        }
                        None => {
                            self.find("missing", path, "its folder is gone", Some(forget));
                            self.hint(format!("git sandbox rm {}", shell_word(&sandbox.name())));
                        }
                    }
                }
                State::Damaged(why) if !self.knows(path) => self.find("damaged", path, why, None),
                _ => {}
            }
        }
        Ok(())
    }

    /// What lies in the trash and belongs to nothing.
    fn leftovers(&mut self, here: &Here) -> Result<()> {
        let all = Everywhere::look(self.args.value(&ROOT))?;
        let folders = all.root.trash_folders();
        let orphans: Vec<PathBuf> =
            orphan::items(&folders).into_iter().flatten().map(|item| item.pin.at).collect();
        let pinned = here.worktrees.linked.iter().filter_map(trash::pin_of).map(|pin| pin.at);
        let known: Vec<PathBuf> = pinned.chain(orphans).collect();
        for folder in folders.iter().filter(|folder| !known.contains(folder)) {
            match Journal::read(folder) {
                Ok(Some(journal)) if journal.common != here.repo.common => {}
                Ok(Some(_)) if folder.join(TREE).symlink_metadata().is_ok() => {
                    self.find("trash", folder, "git has no entry for it any more", None);
                }
                Ok(Some(_)) => {
                    let empty = &mut || Journal::remove(folder);
                    self.find("trash", folder, "its files are not there any more", Some(empty));
                }
                Ok(None) => {
                    let empty = &mut || Journal::remove(folder);
                    self.find("trash", folder, "it has no journal", Some(empty));
                }
                Err(error) => self.find("trash", folder, &error.to_string(), None),
            }
        }
        Ok(())
    }

    /// Windows of the project's tmux session whose sandbox is gone. What runs there is not ours to end.
    fn windows(&mut self, here: &Here) {
        let managed = here.sandboxes.iter().find(|sandbox| sandbox.managed);
        let Some(project) = managed.and_then(|sandbox| sandbox.path.parent()?.file_name()) else {
            return;
        };
        for window in tmux::windows(project) {
            if !here.sandboxes.iter().any(|sandbox| sandbox.name() == window) {
                let session = tmux::session_name(project);
                let target = format!("={session}:={window}");
                self.find("tmux", Path::new(&target), "a tmux window whose sandbox is gone", None);
                self.hint(format!("tmux kill-window -t {}", shell_word(&target)));
            }
        }
    }

    fn answer(&self, out: Out) -> Result<u8> {
        let left = self.findings.iter().filter(|finding| !finding.fixed).count();
        if self.args.has(&JSON) {
            out.answer_json(&self.findings)?;
            return Ok(u8::from(left > 0));
        }
        for finding in &self.findings {
            let Finding { path, problem, fixed, hint, .. } = finding;
            let lead = if *fixed { "fixed: " } else { "" };
            out.answer(&visible(&format!("{lead}{path}: {problem}")))?;
            if let Some(hint) = hint {
                out.hint(hint);
            }
        }
        match (self.findings.len(), left) {
            (0, _) => out.note("all is well"),
            (_, 0) => {}
            _ if self.fix => {
                out.note("what is left needs you: nothing of it can be repaired without a doubt");
            }
            _ => out.hint("git sandbox doctor --fix"),
        }
        Ok(u8::from(left > 0))
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut inside| inside.next().is_none())
}

/// Takes back an entry that git had not come to the end of.
fn clear(here: &Here, sandbox: &Sandbox, out: Out) -> Result<()> {
    let lock = here.repo.lock(out)?;
    let worktrees = here.repo.worktrees()?;
    let tree = worktrees.linked.iter().find(|tree| tree.entry == sandbox.entry);
    // It may have been completed while we waited.
    let Some(tree) = tree.filter(|tree| stub::is_stub(tree)) else { return Ok(()) };
    match here.trash(&lock).clear_stub(tree)? {
        true => Ok(()),
        false => Err(std::io::Error::other("it holds files")).at("remove", &sandbox.path),
    }
}

/// Completes a creation as the next `new` of that name would.
fn finish(here: &Here, sandbox: &Sandbox, args: &Args, out: Out) -> Result<()> {
    let root = Root::wanted(args.value(&ROOT), &here.repo.config, &here.repo.git)?;
    let author = Author::wanted(None, &here.repo.config)?;
    let maker = Maker { repo: &here.repo, root, out, now: here.now, author };
    let dir = sandbox.path.parent().map(Path::to_owned);
    let wish = Wish {
        branch: sandbox.branch.clone(),
        folder: sandbox.name(),
        from: None,
        task: None,
        dir,
    };
    maker.ensure(&wish, None).map(drop)
}
