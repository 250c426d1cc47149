//! `git sandbox doctor`
//!
//! Each check finds, explains in one line and, where nothing can be lost by it, repairs. An entry
//! that makes git itself fail comes first: until it is mended nothing else can be asked.

mod confine;
mod kept;
mod moved;
mod spares;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::args::Args;
use crate::cli::spec::{CAN_CONFINE, FIX, JSON, ROOT};
use crate::cmd::context::{self, Here};
use crate::error::{Doing, Error, Result};
use crate::lifecycle::create::{Maker, Wish};
use crate::lifecycle::recover::half_made;
use crate::lifecycle::{background, merge, rename, trash};
use crate::repo::root::{self, Root};
use crate::repo::{Repo, link};
use crate::sandbox::in_use::{self, Started};
use crate::sandbox::journal::{Journal, Stage};
use crate::sandbox::mark::Pin;
use crate::sandbox::{Damage, Sandbox, State};
use crate::session::{Author, tmux};
use crate::sys::file;
use crate::sys::lock::Lock;
use crate::ui::out::{Out, visible};
use crate::ui::words::shell_word;

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    if args.has(&CAN_CONFINE) {
        return confine::run(args, *out);
    }
    let repo = Repo::discover()?;
    *out = context::colours(args, &repo.config);
    let mut doctor =
        Doctor { fix: args.has(&FIX), args, findings: vec![], accounted: vec![], stuck: false };
    doctor.entries(&repo, *out)?;
    if doctor.stuck {
        return doctor.answer(*out);
    }
    doctor.root(&repo)?;
    let here = doctor.journals(repo, out)?;
    background::tell(&here.place.root, *out);
    doctor.moved(&here)?;
    let here = Here::of(here.repo, args, out)?;
    doctor.sandboxes(&here, *out)?;
    doctor.leftovers(&here)?;
    doctor.kept(&here, *out)?;
    doctor.processes(&here);
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
    /// Whether `--fix` would try to repair it.
    #[serde(skip)]
    curable: bool,
}

struct Doctor<'a> {
    fix: bool,
    args: &'a Args,
    findings: Vec<Finding>,
    accounted: Vec<PathBuf>,
    /// Whether git would still fail.
    stuck: bool,
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
        let curable = cure.is_some();
        if let (true, Some(cure)) = (self.fix, cure) {
            match cure() {
                Ok(()) => fixed = true,
                Err(error) => problem = format!("{problem} ({error})"),
            }
        }
        let path = path.to_string_lossy().into_owned();
        self.findings.push(Finding { kind, path, problem, fixed, hint: None, curable });
    }

    fn hint(&mut self, hint: String) {
        if let Some(finding) = self.findings.last_mut().filter(|finding| !finding.fixed) {
            finding.hint = Some(hint);
        }
    }

    fn knows(&self, path: &Path) -> bool {
        self.findings.iter().any(|finding| Path::new(&finding.path) == path)
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
            if half_made::is_unlisted(&entry) {
                let cure = &mut || {
                    // Whoever is just making it holds the lock.
                    let _lock = repo.lock(out)?;
                    half_made::clear_unlisted(&repo.common);
                    Ok(())
                };
                self.find("entry", &entry, "its creation was interrupted", Some(cure));
                continue;
            }
            let file = entry.join("commondir");
            let text = file::read_small(&file).unwrap_or_default();
            if text.trim_ascii().is_empty() {
                let why = "its 'commondir' is empty, which makes git fail";
                self.find("entry", &entry, why, Some(&mut || file::replace(&file, b"../..\n")));
                self.stuck |= self.findings.last().is_some_and(|finding| !finding.fixed);
            }
        }
        Ok(())
    }

    /// The root must be the user's alone.
    fn root(&mut self, repo: &Repo) -> Result<()> {
        let root = Root::wanted(self.args.value(&ROOT), &repo.config, &repo.git)?;
        let Some(path) = root.plain().filter(|path| path.is_dir()) else { return Ok(()) };
        if let Some(cure) = root::open_to_others(&path) {
            self.find("root", &path, "others may write to it", Some(&mut || cure.apply()));
        }
        Ok(())
    }

    /// Removals, restores, merges and renamings that a crash stopped.
    fn journals(&mut self, repo: Repo, out: &mut Out) -> Result<Here> {
        let here = Here::of(repo, self.args, out)?;
        let mut unfinished = Vec::new();
        let pins = here.worktrees.linked.iter().filter_map(|tree| Pin::seen(&tree.entry));
        unfinished.extend(pins.map(|pin| pin.at));
        for item in trash::items(&here.repo, &here.place) {
            match item {
                Ok(item) if is_unfinished(&item.journal.stage) => unfinished.push(item.at),
                Ok(_) => {}
                // Put away while the repository was out of reach.
                Err(Error::Damaged { name, .. })
                    if here.vault(*out).has(&name).unwrap_or(false) => {}
                Err(error) => self.find("trash", &here.place.root, &error.to_string(), None),
            }
        }
        unfinished.sort();
        unfinished.dedup();
        let merges = merge::left_over(&here.repo, &here.worktrees);
        let renamings = rename::left_over(&here.worktrees);
        // Under the lock they get their names back and are finished below.
        let unnamed: Vec<PathBuf> =
            here.worktrees.linked.iter().filter_map(half_made::moved_to).collect();
        let fix = self.fix;
        for folder in unnamed.iter().filter(|_| !fix) {
            self.find("creating", folder, "its creation was interrupted", Some(&mut || Ok(())));
        }
        let all = here.worktrees.linked.iter();
        let first_named: Vec<PathBuf> =
            all.filter_map(half_made::folder_to_be).filter(|_| fix).collect();
        let crashed = [&unfinished, &merges, &renamings, &unnamed, &first_named];
        if crashed.iter().all(|paths| paths.is_empty()) {
            return Ok(here);
        }
        let repo = here.repo;
        let here = match self.fix {
            true => Here::locked(repo, self.args, out)?.0,
            false => Here::of(repo, self.args, out)?,
        };
        let left = |at: &PathBuf| {
            let registered = here.worktrees.linked.iter().filter_map(|tree| Pin::seen(&tree.entry));
            let journal = Journal::read(at).ok().flatten();
            registered.into_iter().any(|pin| pin.at == *at)
                || journal.is_some_and(|journal| is_unfinished(&journal.stage))
        };
        for at in unfinished {
            let cure = &mut || match left(&at) {
                false => Ok(()),
                true => Err(std::io::Error::other("it is still there")).at("mend", &at),
            };
            self.find("journal", &at, "a removal or restore was interrupted", Some(cure));
        }
        let left =
            (merge::left_over(&here.repo, &here.worktrees), rename::left_over(&here.worktrees));
        let merges = merges.iter().map(|path| ("merge", path, "a merge was interrupted", &left.0));
        let renamings =
            renamings.iter().map(|path| ("rename", path, "its renaming was interrupted", &left.1));
        for (kind, path, problem, left) in merges.chain(renamings) {
            let cure = &mut || match left.contains(path) {
                false => Ok(()),
                true => Err(std::io::Error::other("it is still there")).at("mend", path),
            };
            self.find(kind, path, problem, Some(cure));
        }
        Ok(here)
    }

    /// Half-made sandboxes are finished, entries without a folder dropped with their commits kept.
    fn sandboxes(&mut self, here: &Here, out: Out) -> Result<()> {
        // One that was moved, or is on its way to the trash, is not missing.
        let pinned = here.worktrees.linked.iter().filter(|tree| Pin::seen(&tree.entry).is_some());
        let pinned: Vec<&PathBuf> = pinned.map(|tree| &tree.entry).collect();
        let accounted = |sandbox: &&Sandbox| {
            !self.accounted.contains(&sandbox.entry) && !pinned.contains(&&sandbox.entry)
        };
        let sandboxes: Vec<&Sandbox> = here.sandboxes.iter().filter(accounted).collect();
        for sandbox in sandboxes {
            let path = &sandbox.path;
            match &sandbox.state {
                State::Creating
                    if sandbox.head.is_none() || half_made::is_displaced(path, &sandbox.entry) =>
                {
                    let cure = &mut || clear(here, sandbox, out);
                    self.find("creating", path, "its creation was interrupted", Some(cure));
                }
                State::Creating if Lock::if_free(&in_use::lock_path(&sandbox.entry))?.is_some() => {
                    let args = self.args;
                    let cure = &mut || finish(here, sandbox, args, out);
                    self.find("creating", path, "its creation was interrupted", Some(cure));
                }
                State::Missing => {
                    let near = path.parent().is_some_and(Path::is_dir) && sandbox.locked.is_none();
                    let forget = &mut || {
                        let lock = here.repo.lock(out)?;
                        // It may have come back, or gone to another place, while we waited.
                        let taken = link::is_another_repositorys(path, &sandbox.entry);
                        let is_back = path.symlink_metadata().is_ok() && !taken;
                        if is_back || link::entry_points_to(&sandbox.entry).as_ref() != Some(path) {
                            return Ok(());
                        }
                        here.trash(&lock).forget(sandbox).map(drop)
                    };
                    let stays = here.trash_for_reading(None).stays(sandbox);
                    let started = in_use::started_in(sandbox);
                    match stays {
                        _ if !started.is_empty() => {
                            let why = format!("its folder is gone, but {}", still_runs(&started));
                            self.find("missing", path, &why, None);
                            self.hint(format!("git sandbox stop {}", shell_word(&sandbox.name())));
                        }
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
                State::Damaged(why) if !self.knows(path) => {
                    self.find("damaged", path, &why.to_string(), None);
                    if let Damage::OddFile(file) = why {
                        self.hint(format!("rm {}", shell_word(&file.to_string_lossy())));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What still runs in sandboxes that are gone.
    fn processes(&mut self, here: &Here) {
        for lost in in_use::lost(&here.repo.common, &here.sandboxes) {
            let why = format!("the sandbox is gone, but {}", still_runs(&lost.started));
            self.find("process", &lost.entry, &why, None);
            self.hint(format!("git sandbox stop {}", shell_word(&lost.name)));
        }
    }

    /// Windows of the project's tmux session whose sandbox is gone, or whose command has ended. What
    /// runs there is not ours to end.
    fn windows(&mut self, here: &Here) {
        let project = here.own_name();
        for pane in tmux::panes(&project) {
            let name = pane.folder.file_name().unwrap_or_default().to_string_lossy();
            let path = PathBuf::from(format!("={}:{name}", tmux::session_name(&project)));
            let sandbox = here.sandboxes.iter().find(|sandbox| sandbox.path == pane.folder);
            match sandbox {
                None => {
                    self.find("tmux", &path, "a tmux window whose sandbox is gone", None);
                    self.hint(format!("tmux kill-pane -t {}", shell_word(&pane.id)));
                }
                Some(sandbox) if pane.is_dead => {
                    self.find("tmux", &path, "a tmux window whose command has ended", None);
                    self.hint(format!("git sandbox stop {}", shell_word(&sandbox.name())));
                }
                Some(_) => {}
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
            _ if !self.fix && self.findings.iter().any(|finding| finding.curable) => {
                out.hint("git sandbox doctor --fix");
            }
            (_, 1) => out.note("1 problem needs manual repair"),
            _ => out.note(&format!("{left} problems need manual repair")),
        }
        Ok(u8::from(left > 0))
    }
}

/// Whether a removal or a restore was interrupted at this stage.
fn is_unfinished(stage: &Stage) -> bool {
    matches!(stage, Stage::Removing | Stage::Restoring(_))
}

fn still_runs(started: &Started) -> String {
    format!("something still runs in it: {}", started.in_words())
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
    let Some(tree) = tree.filter(|tree| half_made::can_go(tree)) else { return Ok(()) };
    match half_made::clear(&here.trash(&lock), tree)? {
        true => Ok(()),
        false => Err(std::io::Error::other("it holds files")).at("remove", &sandbox.path),
    }
}

/// Completes a creation as the next `new` of that name would.
fn finish(here: &Here, sandbox: &Sandbox, args: &Args, out: Out) -> Result<()> {
    let root = Root::wanted(args.value(&ROOT), &here.repo.config, &here.repo.git)?;
    let author = Author::wanted(None, None, &here.repo.config)?;
    let maker = Maker { repo: &here.repo, root, out, now: here.now, author };
    let dir = sandbox.path.parent().map(Path::to_owned);
    let wish = Wish {
        branch: sandbox.branch.clone(),
        folder: sandbox.name(),
        remote: None,
        from: None,
        task: None,
        confine: None,
        author: None,
        dir,
        with_changes: false,
        pull: None,
    };
    maker.ensure(&wish, None).map(drop)
}
