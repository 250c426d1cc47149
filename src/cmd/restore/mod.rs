//! `git sandbox restore`

mod found;
mod table;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;

use chrono::TimeDelta;
use serde::Serialize;

use self::found::Found;
use self::table::{list, names};
use crate::cli::args::Args;
use crate::cli::spec::{ALL, AS, JSON, NAMES, ROOT};
use crate::cmd::context::{Here, describes, lock_repo, stored, tell};
use crate::error::{Error, Result};
use crate::git::{Git, refs};
use crate::lifecycle::background;
use crate::lifecycle::trash::attach::Attached;
use crate::lifecycle::trash::put_away::{self, Unpacked};
use crate::lifecycle::trash::{self, orphan};
use crate::lifecycle::vault::Vault;
use crate::repo::{Repo, kept, name};
use crate::sandbox::all_repos::Everywhere;
use crate::sandbox::journal::Journal;
use crate::sandbox::named;
use crate::sandbox::retention::AfterRemoval;
use crate::sys::clock;
use crate::sys::lock::Lock;
use crate::ui::out::Out;
use crate::ui::words;

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
    if let (Some(word), false) = (args.operands.first(), args.has(&ALL)) {
        let (repo, lock) = lock_repo(*out)?;
        let here = Here::holding(&lock, repo, args, out)?;
        background::tell(&here.place.root, *out);
        let restored = bring_back(args, *out, &here, &lock, &word.to_string_lossy());
        return restored.map_err(|error| not_removed(&here, word, error));
    }
    if args.has(&ALL) {
        return everywhere(args, out);
    }
    let here = Here::find(args, out)?;
    let found = found_in(&here, *out)?;
    if args.has(&NAMES) {
        return names(args, &found, *out);
    }
    let elsewhere = if args.has(&JSON) { 0 } else { elsewhere(&here, &found, *out)? };
    let period = AfterRemoval::read(&here.repo.config)?.trash;
    let found: Vec<_> = found.into_iter().map(|found| (found, period)).collect();
    let code = list(args, &found, *out)?;
    if elsewhere > 0 {
        // One that was brought back may leave such commits behind too.
        out.hint(&format!(
            "{elsewhere} more may be in the vault of another root: git sandbox restore --root <root>"
        ));
    }
    Ok(code)
}

/// How many removed sandboxes this repository keeps commits for that are neither in the trash nor in the
/// vault of the root in force.
fn elsewhere(here: &Here, found: &[Found], out: Out) -> Result<usize> {
    let mut known: HashSet<String> = found.iter().map(|found| found.journal().id.clone()).collect();
    known.extend(trash::items(&here.repo, &here.place).into_iter().filter_map(|item| match item {
        Ok(item) => Some(item.journal.id),
        Err(Error::Damaged { name, .. }) => Some(name),
        Err(_) => None,
    }));
    // In a copy of a repository they belong to the original, as does what its vault has.
    known.extend(
        trash::privates(&here.repo.common)
            .iter()
            .filter_map(|private| Some(private.file_name()?.to_string_lossy().into_owned())),
    );
    known.extend(here.vault(out).items()?.into_iter().map(|item| item.id));
    let kept = kept::ids(&here.repo.git, &here.repo.common)?;
    Ok(kept.iter().filter(|id| !known.contains(*id)).count())
}

/// Everything that can be brought back of one repository, the newest first.
fn found_in(here: &Here, out: Out) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    let stored = here.stored(out)?;
    let is_stored = |id: &String| stored.iter().any(|(journal, _)| journal.id == *id);
    for item in trash::items(&here.repo, &here.place) {
        match item {
            Ok(item) if item.is_ready() => found.push(Found::Trash(item)),
            Ok(_) => {}
            // Put away while the repository was out of reach.
            Err(Error::Damaged { name, .. }) if is_stored(&name) => {}
            Err(error) => out.warn(&error.to_string()),
        }
    }
    for (journal, size) in stored {
        if !found.iter().any(|found| found.journal().id == journal.id) {
            found.push(Found::Vault(journal, size, here.place.root.clone()));
        }
    }
    sort(&mut found);
    Ok(found)
}

fn sort(found: &mut [Found]) {
    found.sort_by(|one, other| other.journal().removed.cmp(&one.journal().removed));
}

/// Lists, or brings back, what was removed from any repository below the root, or from none.
fn everywhere(args: &Args, out: &mut Out) -> Result<u8> {
    let all = Everywhere::look(args.value(&ROOT))?;
    tell(&all, *out);
    let mut found: Vec<(Found, Option<TimeDelta>)> = Vec::new();
    for repo in all.commons.iter().filter_map(|common| Repo::at(common).ok()) {
        let here = Here::of(repo, args, out)?;
        let period = AfterRemoval::read(&here.repo.config)?.trash;
        found.extend(found_in(&here, *out)?.into_iter().map(|found| (found, period)));
    }
    let period = AfterRemoval::read(&all.config)?.trash;
    for item in orphan::items(&all.root.trash_folders(), &all.commons) {
        match item {
            Ok(item) if item.is_ready() => found.push((Found::Trash(item), period)),
            Ok(_) => {}
            Err(error) => out.warn(&error.to_string()),
        }
    }
    if let Some(root) = all.root.plain().filter(|root| root.is_dir()) {
        let vault = Vault::at(&root, &Git::here()?, *out);
        for (journal, size) in stored(&vault, *out)? {
            if !found.iter().any(|(found, _)| found.journal().id == journal.id) {
                found.push((Found::Vault(journal, size, root.clone()), period));
            }
        }
    }
    found.sort_by(|(one, _), (other, _)| other.journal().removed.cmp(&one.journal().removed));
    let only: Vec<Found> = found.iter().map(|(found, _)| found.clone()).collect();
    match args.operands.first() {
        None if args.has(&NAMES) => names(args, &only, *out),
        None => list(args, &found, *out),
        Some(word) => {
            let chosen = chosen(args, &only, &word.to_string_lossy())?.clone();
            one_repository(&only, &chosen, &word.to_string_lossy())?;
            restore(args, out, &chosen)
        }
    }
}

/// The error that says where a sandbox is, if it was not removed.
fn not_removed(here: &Here, word: &OsStr, error: Error) -> Error {
    match (error, named::find(&here.sandboxes, word)) {
        (Error::UnknownTrash { .. }, Ok(sandbox)) => {
            Error::NotRemoved { name: sandbox.name(), path: sandbox.path.clone() }
        }
        (error, _) => error,
    }
}

/// Refuses a name that items of several repositories have.
fn one_repository(found: &[Found], chosen: &Found, word: &str) -> Result<()> {
    let same = |found: &&Found| found.journal().name == word && chosen.journal().id != word;
    let same: Vec<&Found> = found.iter().filter(same).collect();
    if same.iter().all(|found| found.journal().common == chosen.journal().common) {
        return Ok(());
    }
    let ids = same.iter().map(|found| format!("it could be {}", found.journal().id));
    Err(Error::Ambiguous { word: word.to_owned(), candidates: ids.collect() })
}

/// The newest that goes by this name, branch or id.
fn chosen<'a>(args: &Args, found: &'a [Found], word: &str) -> Result<&'a Found> {
    let full = refs::full(word.as_ref());
    let by_id = |found: &&Found| found.journal().id == word;
    let by_name = |found: &&Found| found.journal().name == word;
    let by_branch = |found: &&Found| {
        let journal = found.journal();
        let held = journal.paused.head_name.as_ref().map(|(_, text)| text.path());
        let held =
            held.is_some_and(|held| held.to_string_lossy().trim_end() == full.to_string_lossy());
        let branch = journal.branch.as_deref();
        branch.is_some_and(|branch| OsStr::new(branch) == full || branch == word) || held
    };
    let journals = || found.iter().map(Found::journal);
    let known = journals().flat_map(|journal| [journal.name.clone(), journal.id.clone()]);
    let nearest = words::nearest(word, known);
    let one = found.iter().find(by_id).or_else(|| found.iter().find(by_name));
    let all = args.has(&ALL);
    one.or_else(|| found.iter().find(by_branch)).ok_or_else(|| Error::UnknownTrash {
        name: word.to_owned(),
        nearest,
        all,
    })
}

/// One of any repository, or of none.
fn restore(args: &Args, out: &mut Out, found: &Found) -> Result<u8> {
    let journal = found.journal();
    let repo = journal.common.as_deref().filter(|common| common.is_dir()).map(Repo::at);
    if let Some(Ok(repo)) = repo {
        let (here, lock) = Here::locked(repo, args, out)?;
        // Looked up again under the lock: another command may have been faster.
        return bring_back(args, *out, &here, &lock, &journal.id);
    }
    let unpacked = match found {
        Found::Trash(item) => Unpacked { item: item.clone(), missing: Vec::new() },
        Found::Vault(journal, _, root) => {
            let _lock = Lock::folder(root, *out)?;
            let vault = Vault::at(root, &Git::here()?, *out);
            put_away::unpack(journal, &vault, root, None, None)?
        }
    };
    let item = &unpacked.item;
    let root = item.at.parent().and_then(Path::parent).unwrap_or(&item.at);
    let _lock = Lock::folder(root, *out)?;
    let path = orphan::restore(item, folder(args).as_deref(), clock::now()?)?;
    if let Found::Vault(journal, ..) = found
        && unpacked.is_whole()
    {
        Vault::at(root, &Git::here()?, *out).forget(&journal.id)?;
    }
    say_missing(found, &unpacked, *out);
    say(args, *out, &item.journal, &path, said(&Attached::PlainFolder))
}

/// Names what did not come back from the vault: files whose bytes are lost with their repository, and
/// the private git dir of a plain folder.
fn say_missing(found: &Found, unpacked: &Unpacked, out: Out) {
    for path in &unpacked.missing {
        out.warn(&format!("'{}' cannot be brought back: its repository lost it", path.display()));
    }
    if matches!(found, Found::Vault(..)) && unpacked.leaves_private() {
        let id = &unpacked.item.journal.id;
        out.warn(&format!("its index, reflog and logs stay in the vault as '{id}'"));
    }
}

/// The folder that was asked for instead of its own.
fn folder(args: &Args) -> Option<String> {
    args.word(&AS).map(|name| name::branch_folder(name.as_ref()))
}

fn bring_back(args: &Args, out: Out, here: &Here, lock: &Lock, word: &str) -> Result<u8> {
    let found = found_in(here, out)?;
    let found = chosen(args, &found, word)?;
    let (folder, trash) = (folder(args), here.trash(lock));
    let unpacked = match found {
        Found::Trash(item) => Unpacked { item: item.clone(), missing: Vec::new() },
        Found::Vault(journal, ..) => trash.unpack(journal, &here.vault(out))?,
    };
    let item = &unpacked.item;
    let (path, attached) = trash.restore(item, folder.as_deref(), &here.worktrees)?;
    if unpacked.is_whole() {
        here.vault(out).forget(&item.journal.id)?;
    }
    say_missing(found, &unpacked, out);
    say(args, out, &item.journal, &path, said(&attached))
}

/// What there is to say of HEAD.
fn said(attached: &Attached) -> Option<String> {
    match attached {
        Attached::AsBefore => None,
        Attached::Recreated(branch) => Some(format!("re-created branch '{branch}'")),
        Attached::Blocked(branch) => {
            Some(format!("HEAD is detached: branch '{branch}' is gone and cannot be re-created"))
        }
        Attached::Moved(branch) => {
            Some(format!("HEAD is detached: branch '{branch}' has moved since"))
        }
        Attached::StaysUnborn(branch) => {
            Some(format!("HEAD is on no branch: branch '{branch}' has moved since"))
        }
        Attached::Taken(branch, path) => Some(format!(
            "HEAD is detached: branch '{branch}' is checked out in '{}'",
            path.display()
        )),
        Attached::PlainFolder => {
            Some("it is a plain folder: its repository no longer knows it".to_owned())
        }
    }
}

fn say(args: &Args, out: Out, journal: &Journal, path: &Path, said: Option<String>) -> Result<u8> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    out.note(&format!("restored '{name}'"));
    if let Some(said) = &said {
        out.note(said);
    }
    if args.has(&JSON) {
        let reason = said.unwrap_or_else(|| journal.why.to_string());
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
