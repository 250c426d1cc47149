//! `git sandbox reap`
//!
//! Selects sandboxes and says why; `lifecycle/remove` removes them, `lifecycle/trash` puts them away.
//! The folder's time and the reflog decide for almost all sandboxes; `git status` runs only for those
//! that look stale. A dry run is the same without the last step.

mod lost;
mod named;
mod orphans;
mod prune;
mod trash;
mod verb;

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::PathBuf;

use chrono::TimeDelta;
use serde::Serialize;

use self::named::Named;
use self::verb::Verb;
use crate::cli::args::Args;
use crate::cli::spec::{ALL, DRY_RUN, FORCE_STALE, JSON, MERGED, OLDER_THAN, PURGE, REAP, ROOT};
use crate::cmd::context::{self, Here, tell};
use crate::error::Result;
use crate::git::Git;
use crate::lifecycle::background;
use crate::lifecycle::remove::{Outcome, Remover, Wish};
use crate::lifecycle::spare;
use crate::lifecycle::spare::tend::{self, Tender};
use crate::lifecycle::trash::{Item, orphan};
use crate::lifecycle::vault::Vault;
use crate::repo::Repo;
use crate::repo::root::{self, Root};
use crate::sandbox::all_repos::Everywhere;
use crate::sandbox::holding::Holding;
use crate::sandbox::in_use::Processes;
use crate::sandbox::journal::{Journal, Why};
use crate::sandbox::merged::{self, Merged, Standing};
use crate::sandbox::retention::{AfterRemoval, Retention};
use crate::sandbox::verdict::{Objection, Refusal, Yields};
use crate::sandbox::{Sandbox, State};
use crate::sys::clock::{self, Time};
use crate::sys::lock::Lock;
use crate::sys::{disk_usage, parallel, process};
use crate::ui::out::{Out, visible};
use crate::ui::words::{self, counted};

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    if !args.operands.is_empty() && !args.has(&PURGE) {
        return Err(args.wrong("names can only be given with '--purge'"));
    }
    let mut reaper = Reaper::new(args)?;
    if args.has(&ALL) {
        reaper.everywhere(out)?;
    } else {
        reaper.repository(Repo::discover()?, out)?;
    }
    reaper.answer(*out)?;
    Ok(u8::from(reaper.failed))
}

/// The daily run: quiet, at low priority, everywhere. The next command says what it did.
pub fn daily(out: &mut Out) -> Result<u8> {
    process::settle();
    let args = Args::of(&REAP);
    let mut reaper = Reaper { quiet: true, ..Reaper::new(&args)? };
    reaper.everywhere(out)?;
    reaper.leave_word(*out)?;
    Ok(u8::from(reaper.failed))
}

/// Looks after the spares of this repository, in the background.
pub fn spares(root: Option<&OsStr>, out: &mut Out) -> Result<u8> {
    process::settle();
    let repo = Repo::discover()?;
    let root = Root::wanted(root, &repo.config, &repo.git)?;
    let tender = Tender { repo: &repo, root, out: *out, now: clock::now()? };
    out.note(&match tender.tend()? {
        Some(ready) => format!("{} ready", counted(ready as u64, "spare")),
        None => "spares are being prepared already".to_owned(),
    });
    Ok(0)
}

/// What became of one sandbox, or of one in the trash.
#[derive(Serialize)]
struct Line {
    name: String,
    path: String,
    action: &'static str,
    reason: String,
    #[serde(skip)]
    verb: Verb,
}

struct Reaper<'a> {
    args: &'a Args,
    quiet: bool,
    now: Time,
    /// The ids of what is to be deleted for good.
    purging: BTreeSet<String>,
    lines: Vec<Line>,
    freed: u64,
    failed: bool,
    /// The sandboxes that were looked at.
    seen: BTreeSet<PathBuf>,
    /// How the sandboxes of this repository stand to their bases, where that was asked for.
    standings: HashMap<PathBuf, Standing>,
}

impl<'a> Reaper<'a> {
    fn new(args: &'a Args) -> Result<Reaper<'a>> {
        Ok(Reaper {
            args,
            quiet: false,
            now: clock::now()?,
            purging: BTreeSet::new(),
            lines: Vec::new(),
            freed: 0,
            failed: false,
            seen: BTreeSet::new(),
            standings: HashMap::new(),
        })
    }
}

impl Reaper<'_> {
    /// Every repository below the root by its own config and under its own lock, then orphans.
    fn everywhere(&mut self, out: &mut Out) -> Result<()> {
        let all = Everywhere::look(self.args.value(&ROOT))?;
        *out = context::colours(self.args, &all.config);
        let retention = Retention::read(&all.config)?;
        let after = AfterRemoval::read(&all.config)?;
        if !self.quiet {
            tell(&all, *out);
        }
        if !self.args.operands.is_empty() {
            self.purging = self.named_everywhere(&all, out)?;
        }
        for common in &all.commons {
            let done = Repo::at(common).and_then(|repo| self.repository(repo, out));
            if let Err(error) = done {
                self.failed = true;
                out.warn(&format!("skipped '{}': {error}", common.display()));
            }
        }
        if let Some(root) = all.root.plain().filter(|root| root.is_dir()) {
            root::check_root(&root)?;
            let _lock = (!self.dry()).then(|| Lock::folder(&root, *out)).transpose()?;
            // Looked for again: recovery may have reconnected what seemed to be one.
            let all = Everywhere::look(self.args.value(&ROOT))?;
            if !self.dry() {
                orphan::recover(&all.root.trash_folders())?;
            }
            self.orphans(&all, &root, &retention, after, out)?;
        }
        Ok(())
    }

    /// What was named to be purged, among everything below the root.
    fn named_everywhere(&self, all: &Everywhere, out: &mut Out) -> Result<BTreeSet<String>> {
        let mut known = Vec::new();
        for common in &all.commons {
            let here = Repo::at(common).and_then(|repo| Here::of(repo, self.args, out));
            // One that cannot be read is warned of below.
            if let Ok(here) = here {
                known.extend(named::known(&here, *out)?);
            }
        }
        for item in lost::lost(all).into_iter().flatten() {
            known.push(Named::of(&item.journal));
        }
        if let Some(root) = all.root.plain().filter(|root| root.is_dir()) {
            let vault = Vault::at(&root, &Git::here()?, *out);
            let stored = lost::lost_stored(all, &vault, *out)?;
            known.extend(stored.iter().map(|(journal, _)| Named::of(journal)));
        }
        named::resolve(self.args, &known)
    }

    fn dry(&self) -> bool {
        self.args.has(&DRY_RUN)
    }

    fn repository(&mut self, repo: Repo, out: &mut Out) -> Result<()> {
        // Before anything happens: a bad period is an error.
        let retention = Retention::read(&repo.config)?;
        let after = AfterRemoval::read(&repo.config)?;
        let (here, lock) = if self.dry() {
            (Here::of(repo, self.args, out)?, None)
        } else {
            let (here, lock) = Here::locked(repo, self.args, out)?;
            (here, Some(lock))
        };
        if !self.args.has(&ALL) && !self.quiet {
            background::tell(&here.place.root, *out);
        }
        if !self.args.has(&ALL) && !self.args.operands.is_empty() {
            self.purging = named::resolve(self.args, &named::known(&here, *out)?)?;
        }
        let processes = Processes::lazily();
        if self.args.operands.is_empty() && !self.args.has(&PURGE) {
            if self.args.has(&MERGED) {
                let main = &here.worktrees.main;
                self.standings = merged::of_all(&here.repo, main, &here.sandboxes)?;
            }
            self.seen.extend(here.sandboxes.iter().map(|sandbox| sandbox.path.clone()));
            let times = parallel::map(&here.sandboxes, |one| self.last_used(one, &here, &[]));
            for (sandbox, last_used) in here.sandboxes.iter().zip(times) {
                if let Some(why) = self.why_stale(sandbox, &here, &retention, last_used)
                    && let Err(error) =
                        self.sandbox(sandbox, &here, lock.as_ref(), &why, &processes)
                {
                    self.failed = true;
                    self.line(sandbox, "kept", Verb::Kept, error.to_string());
                }
            }
        }
        self.trash(&here, lock.as_ref(), after, *out)?;
        self.prune(&here, lock.as_ref(), *out)?;
        let spares = spare::all(&here.worktrees).next().is_some();
        if lock.is_some() && (spares || spare::wanted(&here.repo.config)? > 0) {
            let root = Root::wanted(self.args.value(&ROOT), &here.repo.config, &here.repo.git)?;
            drop(lock);
            // A failure to start it must not fail this command.
            let _ = tend::start(&here.repo, &root);
        }
        Ok(())
    }

    /// Retires a stale sandbox if it has nothing to lose.
    fn sandbox(
        &mut self,
        sandbox: &Sandbox,
        here: &Here,
        lock: Option<&Lock>,
        why: &Why,
        processes: &Processes,
    ) -> Result<()> {
        let trash = here.trash_for_reading(lock);
        let remover = Remover { trash: &trash, worktrees: &here.worktrees, lock, processes };
        let wish = Wish {
            force: usize::from(self.args.has(&FORCE_STALE)),
            why: why.clone(),
            delete_branch: false,
            merged_into: None,
        };
        let freed = disk_usage::of(&sandbox.path).unwrap_or(0);
        match remover.remove(sandbox, &wish)? {
            Outcome::Refused(refusal) => {
                let (action, verb) = match refusal.yields {
                    Yields::Once => ("kept", Verb::Kept),
                    Yields::Twice | Yields::Never => ("skipped", Verb::Skipped),
                };
                self.line(sandbox, action, verb, in_brief(&refusal));
                return Ok(());
            }
            Outcome::Would { holds, .. } => {
                self.line(sandbox, "would-trash", Verb::Retired, with_commits(why, &holds));
            }
            Outcome::Trashed(trashed) => {
                self.line(sandbox, "trashed", Verb::Retired, with_commits(why, &trashed.holds));
            }
            Outcome::Forgotten(_) => {}
        }
        self.freed += freed;
        Ok(())
    }

    /// When a sandbox was used last, by these files too.
    fn last_used(&self, sandbox: &Sandbox, here: &Here, changed: &[PathBuf]) -> Time {
        let (git, reftable) = (&here.repo.git, here.repo.is_reftable());
        sandbox.last_used(git, reftable, changed, self.now).unwrap_or(self.now)
    }

    /// Why a sandbox should go, if it should.
    fn why_stale(
        &self,
        sandbox: &Sandbox,
        here: &Here,
        retention: &Retention,
        last_used: Time,
    ) -> Option<Why> {
        if !sandbox.managed || sandbox.state != State::Ready {
            return None;
        }
        let expires = |time: Time| retention.expires(sandbox.class(), time);
        let expired = |last_used: Time| match self.args.count(&OLDER_THAN) {
            Some(days) => self.now - last_used >= TimeDelta::days(days.into()),
            None => expires(last_used).is_some_and(|then| then <= self.now),
        };
        if expired(last_used) {
            let (idle, beside_others) = (false, false);
            let status = sandbox.status(&here.repo.git, idle, beside_others).ok();
            let last_used = self.last_used(sandbox, here, &status.unwrap_or_default().paths);
            if expired(last_used) {
                let days = (self.now - last_used).num_days().unsigned_abs();
                return Some(Why::Unused(days));
            }
        }
        let standing = self.standings.get(&sandbox.path);
        standing.and_then(|standing| merged_reason(sandbox, standing))
    }

    fn line(&mut self, sandbox: &Sandbox, action: &'static str, verb: Verb, reason: String) {
        let path = sandbox.path.to_string_lossy().into_owned();
        self.lines.push(Line { name: sandbox.name(), path, action, reason, verb });
    }

    fn trash_line(&mut self, item: &Item, action: &'static str, verb: Verb, reason: String) {
        self.journal_line(&item.journal, action, verb, reason);
    }

    fn journal_line(
        &mut self,
        journal: &Journal,
        action: &'static str,
        verb: Verb,
        reason: String,
    ) {
        let path = journal.from.to_string_lossy().into_owned();
        self.lines.push(Line { name: journal.id.clone(), path, action, reason, verb });
    }

    /// The root that word of a quiet run is left in.
    fn root(&self, mut out: Out) -> Result<PathBuf> {
        match Repo::discover() {
            Ok(repo) => Ok(Here::of(repo, self.args, &mut out)?.place.root),
            Err(_) => {
                Ok(Everywhere::look(self.args.value(&ROOT))?.root.plain().unwrap_or_default())
            }
        }
    }

    fn count(&self, verb: Verb) -> usize {
        self.lines.iter().filter(|line| line.verb == verb).count()
    }

    /// What was done, in one line.
    fn summary(&self) -> String {
        if self.lines.is_empty() {
            let seen = counted(self.seen.len() as u64, "sandbox");
            return format!("nothing to clean up ({seen})");
        }
        let (retired, away) = (self.count(Verb::Retired), self.count(Verb::PutAway));
        let purged = self.count(Verb::Purged);
        let kept = self.lines.len() - retired - away - purged;
        let purged = if purged > 0 { format!(", {purged} purged") } else { String::new() };
        let room = words::size(self.freed);
        format!("{retired} retired, {kept} kept, {away} put away{purged}; {room} can be freed")
    }

    /// Leaves word of a quiet run for the next command.
    fn leave_word(&self, out: Out) -> Result<()> {
        let verbs = [Verb::Retired, Verb::PutAway, Verb::Purged];
        let matters = verbs.iter().any(|verb| self.count(*verb) > 0);
        background::leave_word(&self.root(out)?, &self.summary(), matters, self.now)
    }

    fn answer(&self, out: Out) -> Result<()> {
        if self.args.has(&JSON) {
            return out.answer_json(&self.lines);
        }
        for Line { name, verb, reason, .. } in &self.lines {
            let word = verb.word(self.dry());
            out.answer(&visible(&format!("{name}: {word}: {reason}")))?;
        }
        out.note(&self.summary());
        Ok(())
    }
}

/// The objections of a refusal, without `worktree has`.
fn in_brief(refusal: &Refusal) -> String {
    let brief = |objection: &Objection| match objection {
        Objection::Work(work) => work.to_string(),
        other => other.to_string(),
    };
    refusal.objections.iter().map(brief).collect::<Vec<_>>().join("; ")
}

/// Commits that only a sandbox holds are kept, and that is said.
fn with_commits(why: &Why, holds: &[Holding]) -> String {
    match holds.iter().find(|held| matches!(held, Holding::OnlyHere(_))) {
        Some(commits) => format!("{why}; kept {commits}"),
        None => why.to_string(),
    }
}

/// Why a sandbox whose commits are in its base may go, if it ever had one of its own.
fn merged_reason(sandbox: &Sandbox, standing: &Standing) -> Option<Why> {
    let base = standing.base.clone();
    let how = standing.merged.filter(|_| sandbox.made_commits())?;
    Some(match how {
        Merged::ByHistory => Why::MergedInto(base),
        Merged::ByContent => Why::ContentIn(base),
    })
}
