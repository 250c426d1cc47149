//! `git sandbox restore`

use std::collections::HashSet;
use std::path::Path;

use chrono::TimeDelta;
use owo_colors::Style;
use serde::Serialize;

use super::{Here, describes, linked, tell};
use crate::args::Args;
use crate::background;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::everywhere::Everywhere;
use crate::git::Git;
use crate::journal::{Journal, Stage};
use crate::lock::Lock;
use crate::name;
use crate::orphan;
use crate::out::{self, Out, visible};
use crate::repo::Repo;
use crate::retention;
use crate::sandbox;
use crate::size;
use crate::spec::{ALL, AS, DESCRIBE, JSON, NAMES, ROOT};
use crate::table::Table;
use crate::time::{self, Time};
use crate::trash::{self, Attached, Item};
use crate::verdict::ONLY_HERE;

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    if args.has(&AS) && args.operands.is_empty() {
        return Err(args.wrong("option '--as' needs the <name> of a removed sandbox"));
    }
    args.at_most_one(&[&JSON, &NAMES])?;
    args.at_most_one(&[&AS, &NAMES])?;
    describes(args, &[&ALL])?;
    if args.has(&NAMES) && !args.operands.is_empty() {
        return Err(args.wrong("a name and '--names' cannot be used together"));
    }
    if args.has(&NAMES) && !args.has(&ALL) {
        let linked = linked(&Git::here()?)?;
        return names(args, trash::items(&linked).into_iter().flatten(), *out);
    }
    if let (Some(word), false) = (args.operands.first(), args.has(&ALL)) {
        let (repo, lock) = Repo::to_change(*out)?;
        let here = Here::holding(&lock, repo, args, out)?;
        background::tell(&here.place.root, *out);
        for error in trash::items(&here.worktrees.linked).into_iter().filter_map(Result::err) {
            out.warn(&error.to_string());
        }
        return bring_back(args, *out, &here, &lock, &word.to_string_lossy());
    }
    let mut found = Vec::new();
    let mut note = |item: Result<Item>, config: &Config, out: Out| -> Result<()> {
        match item {
            Ok(item) => found.push((item, retention::trash_period(config)?)),
            Err(error) => out.warn(&error.to_string()),
        }
        Ok(())
    };
    if args.has(&ALL) {
        let all = Everywhere::look(args.value(&ROOT))?;
        tell(&all, *out);
        for repo in all.commons.iter().filter_map(|common| Repo::at(common).ok()) {
            let here = Here::of(repo, args, out)?;
            for item in trash::items(&here.worktrees.linked) {
                note(item, &here.repo.config, *out)?;
            }
        }
        for item in orphan::items(&all.root.trash_folders()) {
            note(item, &all.config, *out)?;
        }
    } else {
        let here = Here::find(args, out)?;
        for item in trash::items(&here.worktrees.linked) {
            note(item, &here.repo.config, *out)?;
        }
    }
    found.retain(|(item, _)| item.journal.stage == Stage::Trashed);
    found.sort_by(|(one, _), (other, _)| other.journal.removed.cmp(&one.journal.removed));
    match args.operands.first() {
        None if args.has(&NAMES) => names(args, found.into_iter().map(|(item, _)| item), *out),
        None => list(args, &found, *out),
        Some(word) => {
            let items: Vec<&Item> = found.iter().map(|(item, _)| item).collect();
            restore(args, out, chosen(&items, &word.to_string_lossy())?)
        }
    }
}

/// The newest that goes by this name, branch or id.
fn chosen<'a>(items: &[&'a Item], word: &str) -> Result<&'a Item> {
    let full = format!("refs/heads/{word}");
    let by_id = |item: &&&Item| item.journal.id == word;
    let by_name = |item: &&&Item| item.journal.name == word;
    let by_branch = |item: &&&Item| {
        let branch = item.journal.branch.as_deref();
        let held =
            || sandbox::branch_held_by(&item.journal.entry).is_some_and(|branch| branch == word);
        branch.is_some_and(|branch| branch == full || branch == word) || held()
    };
    let known = items.iter().flat_map(|item| [item.journal.name.clone(), item.journal.id.clone()]);
    let nearest = crate::args::nearest(word, known);
    let found = items.iter().find(by_id).or_else(|| items.iter().find(by_name));
    found
        .or_else(|| items.iter().find(by_branch))
        .copied()
        .ok_or_else(|| Error::UnknownTrash { name: word.to_owned(), nearest })
}

/// One of any repository, or of none.
fn restore(args: &Args, out: &mut Out, item: &Item) -> Result<u8> {
    if item.journal.is_orphan() {
        let root = item.pin.at.parent().and_then(Path::parent).unwrap_or(&item.pin.at);
        let _lock = Lock::folder(root, *out)?;
        let path = orphan::restore(item, folder(args).as_deref(), time::now()?)?;
        return say(args, *out, item, &path, None);
    }
    let (here, lock) = Here::locked(Repo::at(&item.journal.common)?, args, out)?;
    // Looked up again under the lock: somebody may have been faster.
    bring_back(args, *out, &here, &lock, &item.journal.id)
}

/// The folder that was asked for instead of its own.
fn folder(args: &Args) -> Option<String> {
    args.word(&AS).map(|name| name::branch_folder(name.as_ref()))
}

fn bring_back(args: &Args, out: Out, here: &Here, lock: &Lock, word: &str) -> Result<u8> {
    let items = trash::items(&here.worktrees.linked).into_iter().flatten();
    let items: Vec<Item> = items.filter(|item| item.journal.stage == Stage::Trashed).collect();
    let items: Vec<&Item> = items.iter().collect();
    let item = chosen(&items, word)?;
    let folder = folder(args);
    let (path, attached) = here.trash(lock).restore(item, folder.as_deref(), &here.worktrees)?;
    let said = match &attached {
        Attached::AsBefore => None,
        Attached::Recreated(branch) => Some(format!("re-created branch '{branch}'")),
        Attached::Blocked(branch) => {
            Some(format!("HEAD is detached: branch '{branch}' is gone and cannot be re-created"))
        }
        Attached::Moved(branch) => {
            Some(format!("HEAD is detached: branch '{branch}' has moved since"))
        }
        Attached::Taken(branch, path) => Some(format!(
            "HEAD is detached: branch '{branch}' is checked out in '{}'",
            path.display()
        )),
    };
    say(args, out, item, &path, said)
}

fn say(args: &Args, out: Out, item: &Item, path: &Path, said: Option<String>) -> Result<u8> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    out.note(&format!("restored '{name}'"));
    if let Some(said) = &said {
        out.note(said);
    }
    if args.has(&JSON) {
        let reason = said.unwrap_or_else(|| item.journal.reason.clone());
        let path = path.to_string_lossy().into_owned();
        out.answer_json(&[Restored { name, path, action: "restored", reason }])?;
    } else {
        out.answer_path(path)?;
    }
    Ok(0)
}

#[derive(Serialize)]
struct Restored {
    name: String,
    path: String,
    action: &'static str,
    reason: String,
}

/// Names and ids for scripts and completion; of several with one name it is said once.
fn names(args: &Args, items: impl Iterator<Item = Item>, out: Out) -> Result<u8> {
    let now = time::now()?;
    let mut seen = HashSet::new();
    for Journal { name, id, branch, removed, .. } in
        items.map(|item| item.journal).filter(|journal| journal.stage == Stage::Trashed)
    {
        let branch = branch.unwrap_or_else(|| "detached".to_owned());
        let branch = branch.strip_prefix("refs/heads/").unwrap_or(&branch);
        let ago = removed.parse::<Time>().map(|then| format!(", removed {}", time::ago(then, now)));
        let words = visible(&format!("{branch}{}", ago.unwrap_or_default()));
        for word in [name, id] {
            if seen.contains(&word) {
                continue;
            }
            let shown = visible(&word);
            let line = if args.has(&DESCRIBE) { format!("{shown}\t{words}") } else { shown };
            out.answer(&line)?;
            seen.insert(word);
        }
    }
    Ok(0)
}

/// What can be brought back.
#[derive(Serialize)]
struct Row {
    id: String,
    name: String,
    path: String,
    branch: Option<String>,
    base_repo: String,
    removed: String,
    reason: String,
    holds: Vec<String>,
    size: Option<u64>,
    until: Option<String>,
}

fn list(args: &Args, found: &[(Item, Option<TimeDelta>)], out: Out) -> Result<u8> {
    let now = time::now()?;
    let rows: Vec<Row> = found.iter().map(|(item, period)| row(item, *period)).collect();
    if args.has(&JSON) {
        out.answer_json(&rows)?;
        return Ok(0);
    }
    if rows.is_empty() {
        out.note("nothing to bring back");
        return Ok(0);
    }
    let mut table = Table::new(&["ID", "NAME", "REMOVED", "SIZE", "UNTIL", "HOLDS"]);
    for row in &rows {
        let moment = |text: &str| text.parse::<Time>().ok();
        let removed = moment(&row.removed).map_or_else(|| "-".into(), |then| time::ago(then, now));
        let until = row.until.as_deref().and_then(moment);
        let until = until.map_or_else(|| "for good".into(), |then| time::ahead(then, now));
        let size = row.size.map_or_else(|| "?".into(), size::in_words);
        let dim = Style::new().dimmed();
        table.row(vec![
            (visible(&row.id), Style::new().bold()),
            (visible(&row.name), Style::new()),
            (removed, dim),
            (size, dim),
            (until, dim),
            (visible(&row.holds.join(", ")), Style::new().yellow()),
        ]);
    }
    for line in table.lines(out::width(), out) {
        out.answer(&line)?;
    }
    Ok(0)
}

/// What holds something stays for good; the rest until its period is over.
fn row(item: &Item, period: Option<TimeDelta>) -> Row {
    let journal = &item.journal;
    let removed = journal.removed.parse::<Time>().ok();
    let until =
        removed.zip(period).and_then(|(removed, period)| removed.checked_add_signed(period));
    let work = |held: &String| !held.ends_with(ONLY_HERE);
    let until = until.filter(|_| journal.is_orphan() || !journal.holds.iter().any(work));
    let text = |path: &Path| path.to_string_lossy().into_owned();
    Row {
        id: journal.id.clone(),
        name: journal.name.clone(),
        path: text(&journal.from),
        branch: journal.branch.clone(),
        base_repo: text(&journal.common),
        removed: journal.removed.clone(),
        reason: journal.reason.clone(),
        holds: journal.holds.clone(),
        size: size::of(&item.tree()).ok(),
        until: until.map(time::rfc3339),
    }
}
