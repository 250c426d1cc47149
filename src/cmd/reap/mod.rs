//! `git sandbox reap`
//!
//! Selects and says why; removal and purge exist once, in `trash.rs` and `purge.rs`. Cheap first:
//! the folder's time and the reflog decide for almost all, git status runs only for what looks
//! stale. A dry run is the same without the last step.

mod orphans;
#[path = "trash.rs"]
mod purged;

use std::collections::HashMap;
use std::path::PathBuf;

use chrono::TimeDelta;
use serde::Serialize;

use super::{Here, tell};
use crate::args::Args;
use crate::background;
use crate::error::Result;
use crate::everywhere::Everywhere;
use crate::gather;
use crate::live::{self, Processes};
use crate::lock::Lock;
use crate::merged::{self, Merged, Standing};
use crate::orphan;
use crate::out::{Out, visible};
use crate::place::{self, Root};
use crate::repo::Repo;
use crate::retention::{self, Retention};
use crate::sandbox::{Sandbox, State};
use crate::size;
use crate::spare::{self, Tender};
use crate::spec::{
    ALL, COLOR, DRY_RUN, FINISH, FORCE_STALE, JSON, MERGED, OLDER_THAN, PURGE, QUIET, ROOT, SPARES,
};
use crate::time::{self, Time, counted};
use crate::trash::Item;
use crate::verdict::{self, Facts, ONLY_HERE, Yields};

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    if !args.operands.is_empty() && !args.has(&PURGE) {
        return Err(args.wrong("names can only be given with '--purge'"));
    }
    args.at_most_one(&[&FINISH, &PURGE])?;
    args.at_most_one(&[&FINISH, &DRY_RUN])?;
    for option in [&FINISH, &PURGE, &DRY_RUN, &ALL, &JSON] {
        args.at_most_one(&[&SPARES, option])?;
    }
    if args.has(&SPARES) {
        return spares(args, out);
    }
    let mut reaper = Reaper {
        args,
        now: time::now()?,
        lines: Vec::new(),
        freed: 0,
        failed: false,
        standings: HashMap::new(),
    };
    if args.has(&FINISH) {
        background::settle();
    }
    if args.has(&ALL) {
        reaper.everywhere(out)?;
    } else {
        reaper.repository(Repo::discover()?, out)?;
    }
    reaper.answer(*out)?;
    Ok(u8::from(reaper.failed))
}

/// Looks after the spares of this repository.
fn spares(args: &Args, out: &mut Out) -> Result<u8> {
    if args.has(&QUIET) {
        background::settle();
    }
    let repo = Repo::discover()?;
    *out = Out::new(args.word(&COLOR), &repo.config);
    let root = Root::wanted(args.value(&ROOT), &repo.config, &repo.git)?;
    let tender = Tender { repo: &repo, root, out: *out, now: time::now()? };
    let ready = tender.tend()?;
    if !args.has(&QUIET) {
        out.note(&match ready {
            Some(ready) => format!("{} ready", counted(ready as u64, "spare")),
            None => "spares are being prepared already".to_owned(),
        });
    }
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
    verb: &'static str,
}

struct Reaper<'a> {
    args: &'a Args,
    now: Time,
    lines: Vec<Line>,
    freed: u64,
    failed: bool,
    /// How the sandboxes of this repository stand to their bases, where that was asked for.
    standings: HashMap<PathBuf, Standing>,
}

impl Reaper<'_> {
    /// Every repository below the root by its own config and under its own lock, then orphans.
    fn everywhere(&mut self, out: &mut Out) -> Result<()> {
        let all = Everywhere::look(self.args.value(&ROOT))?;
        *out = Out::new(self.args.word(&COLOR), &all.config);
        let retention = Retention::read(&all.config)?;
        retention::trash_period(&all.config)?;
        if !self.args.has(&QUIET) && !self.args.has(&FINISH) {
            tell(&all, *out);
        }
        for common in &all.commons {
            let done = Repo::at(common).and_then(|repo| self.repository(repo, out));
            if let Err(error) = done {
                self.failed = true;
                out.warn(&format!("skipped '{}': {error}", common.display()));
            }
        }
        if let Some(root) = all.root.plain().filter(|root| root.is_dir()) {
            place::check_root(&root)?;
            let _lock = (!self.dry()).then(|| Lock::folder(&root, *out)).transpose()?;
            // Looked for again: recovery may have reconnected what seemed to be one.
            let all = Everywhere::look(self.args.value(&ROOT))?;
            if !self.dry() {
                orphan::clear(&all.root.trash_folders())?;
            }
            self.orphans(&all, &root, &retention, out)?;
        }
        Ok(())
    }

    fn dry(&self) -> bool {
        self.args.has(&DRY_RUN)
    }

    fn repository(&mut self, repo: Repo, out: &mut Out) -> Result<()> {
        // Before anything happens: a bad period is an error.
        let retention = Retention::read(&repo.config)?;
        let period = retention::trash_period(&repo.config)?;
        let (here, lock) = if self.dry() {
            (Here::of(repo, self.args, out)?, None)
        } else {
            let (here, lock) = Here::locked(repo, self.args, out)?;
            (here, Some(lock))
        };
        if self.args.has(&FINISH) {
            return self.finish(&here, lock, *out);
        }
        if !self.args.has(&ALL) && !self.args.has(&QUIET) {
            background::tell(&here.place.root, *out);
        }
        let processes = Processes::lazily();
        if self.args.operands.is_empty() && !self.args.has(&PURGE) {
            if self.args.has(&MERGED) {
                let main = &here.worktrees.main;
                self.standings = merged::of_all(&here.repo, main, &here.sandboxes)?;
            }
            for sandbox in &here.sandboxes {
                if let Err(error) =
                    self.sandbox(sandbox, &here, lock.as_ref(), &retention, &processes)
                {
                    self.failed = true;
                    self.line(sandbox, "kept", "kept", error.to_string());
                }
            }
        }
        self.trash(&here, lock.as_ref(), period, &processes, *out)?;
        if let Some(lock) = &lock {
            prune(&here, lock)?;
        }
        let spares = spare::all(&here.worktrees).next().is_some();
        if lock.is_some() && (spares || spare::wanted(&here.repo.config)? > 0) {
            let root = Root::wanted(self.args.value(&ROOT), &here.repo.config, &here.repo.git)?;
            drop(lock);
            // Whether it starts is nobody's trouble now.
            let _ = spare::start(&here.repo, &root);
        }
        Ok(())
    }

    /// Retires one sandbox if it is stale and has nothing to lose.
    fn sandbox(
        &mut self,
        sandbox: &Sandbox,
        here: &Here,
        lock: Option<&Lock>,
        retention: &Retention,
        processes: &Processes,
    ) -> Result<()> {
        if !sandbox.managed || sandbox.state != State::Ready {
            return Ok(());
        }
        let Some(why) = self.why_stale(sandbox, here, retention) else { return Ok(()) };
        let facts = gather::facts(&here.repo, &here.worktrees, sandbox, processes);
        let force = usize::from(self.args.has(&FORCE_STALE));
        if let Some((reason, yields)) = verdict::refusal(&facts, force) {
            let reason = reason.replace("worktree has ", "");
            let (action, verb) = match yields {
                Yields::Once => ("kept", "kept"),
                Yields::Twice | Yields::Never => ("skipped", "skipped"),
            };
            self.line(sandbox, action, verb, reason);
            return Ok(());
        }
        let freed = size::of(&sandbox.path).unwrap_or(0);
        let Some(lock) = lock else {
            self.line(sandbox, "would-trash", "retired", with_commits(why, &facts));
            self.freed += freed;
            return Ok(());
        };
        let Some(_own) = Lock::if_free(&live::lock_path(&sandbox.entry))? else {
            self.line(sandbox, "skipped", "skipped", "it has just come into use".into());
            return Ok(());
        };
        here.trash(lock).remove(sandbox, &facts, &why)?;
        self.line(sandbox, "trashed", "retired", with_commits(why, &facts));
        self.freed += freed;
        Ok(())
    }

    /// Why a sandbox should go, if it should.
    fn why_stale(&self, sandbox: &Sandbox, here: &Here, retention: &Retention) -> Option<String> {
        let (git, reftable) = (&here.repo.git, here.repo.is_reftable());
        let asked = self.args.count(&OLDER_THAN).map(|days| TimeDelta::days(days.into()));
        let expired = |last_used: Time| match asked {
            Some(period) => self.now - last_used >= period,
            None => {
                retention.expires(sandbox.class(), last_used).is_some_and(|then| then <= self.now)
            }
        };
        let last_used = |changed: &[PathBuf]| {
            sandbox.last_used(git, reftable, changed, self.now).unwrap_or(self.now)
        };
        if expired(last_used(&[])) {
            let (idle, beside_others) = (false, false);
            let status = sandbox.status(git, idle, beside_others);
            let changed = status.map(|status| status.paths).unwrap_or_default();
            let last_used = last_used(&changed);
            if expired(last_used) {
                let days = (self.now - last_used).num_days().unsigned_abs();
                return Some(format!("unused for {}", counted(days, "day")));
            }
        }
        let standing = self.standings.get(&sandbox.path);
        standing.and_then(|standing| merged_reason(sandbox, standing))
    }

    fn line(
        &mut self,
        sandbox: &Sandbox,
        action: &'static str,
        verb: &'static str,
        reason: String,
    ) {
        let path = sandbox.path.to_string_lossy().into_owned();
        self.lines.push(Line { name: sandbox.name(), path, action, reason, verb });
    }

    fn trash_line(
        &mut self,
        item: &Item,
        action: &'static str,
        verb: &'static str,
        reason: String,
    ) {
        let path = item.journal.from.to_string_lossy().into_owned();
        self.lines.push(Line { name: item.journal.id.clone(), path, action, reason, verb });
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

    fn answer(&self, out: Out) -> Result<()> {
        let count = |verb: &str| self.lines.iter().filter(|line| line.verb == verb).count();
        let (retired, purged) = (count("retired"), count("purged"));
        let room = size::in_words(self.freed);
        let kept = self.lines.len() - retired - purged;
        let summary =
            format!("{retired} retired, {kept} kept, {purged} purged; {room} can be freed");
        if self.args.has(&QUIET) {
            return background::leave_word(
                &self.root(out)?,
                &summary,
                retired + purged > 0,
                self.now,
            );
        }
        if self.args.has(&JSON) {
            return out.answer_json(&self.lines);
        }
        for line in &self.lines {
            let Line { name, verb, reason, .. } = line;
            out.answer(&visible(&format!("{name}: {verb}: {reason}")))?;
        }
        if !self.args.has(&FINISH) {
            out.note(&summary);
        }
        Ok(())
    }
}

/// Commits that only a sandbox holds are kept, and that is said.
fn with_commits(why: String, facts: &Facts) -> String {
    match facts.only_here {
        Ok(0) | Err(_) => why,
        Ok(count) => format!("{why}; kept {}{ONLY_HERE}", counted(count, "commit")),
    }
}

/// A sandbox whose commits are in its base, if it ever had one of its own.
fn merged_reason(sandbox: &Sandbox, standing: &Standing) -> Option<String> {
    let base = &standing.base;
    let how = standing.merged.filter(|_| sandbox.made_commits())?;
    Some(match how {
        Merged::ByHistory => format!("merged into '{base}'"),
        Merged::ByContent => format!("'{base}' has all its changes"),
    })
}

/// `git worktree prune` with the expiry of `git gc`: without one it would drop worktrees that were
/// only moved or are on a disk that is not mounted.
fn prune(here: &Here, lock: &Lock) -> Result<()> {
    // What git is about to forget is kept first.
    let missing = here
        .sandboxes
        .iter()
        .filter(|sandbox| sandbox.state == State::Missing && sandbox.locked.is_none());
    for sandbox in missing {
        let id = format!("{}-missing", crate::name::slug(&sandbox.name()));
        let git = here.repo.git.holding(lock.file());
        crate::keep::keep_with_index(&git, &here.repo.common, &sandbox.entry, &id)?;
    }
    let expiry = here.repo.config.get("gc.worktreepruneexpire").unwrap_or("3.months.ago");
    let git = here.repo.git.holding(lock.file());
    git.call(["worktree", "prune", &format!("--expire={expiry}")]).done("prune the worktrees")
}
