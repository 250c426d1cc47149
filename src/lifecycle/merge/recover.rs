//! What a merge left that was killed: landings half way, and scratch worktrees.

use std::path::PathBuf;

use super::checkout::Checkout;
use super::finish::{End, finish};
use super::land_journal::Files;
use super::obstacle::listed;
use super::scratch;
use super::wish::lock_path;
use crate::git::porcelain::Record;
use crate::lifecycle::trash::Trash;
use crate::repo::{Repo, Worktree, Worktrees};
use crate::sys::lock::Lock;
use crate::ui::out::Out;
use crate::ui::words::shell_word;

/// Every checkout in which a landing has left something.
fn landings(repo: &Repo, main: &Record, linked: &[Worktree]) -> Vec<Checkout> {
    let main = (!main.bare).then(|| Checkout {
        path: main.path.clone(),
        git_dir: repo.common.clone(),
        is_main: true,
    });
    let linked = linked.iter().filter(|tree| !tree.entry.as_os_str().is_empty());
    let linked = linked.map(|tree| Checkout {
        path: tree.record.path.clone(),
        git_dir: tree.entry.clone(),
        is_main: false,
    });
    let all = main.into_iter().chain(linked);
    all.filter(|checkout| Files::of(&checkout.git_dir).are_there()).collect()
}

fn scratches<'a>(repo: &'a Repo, worktrees: &'a Worktrees) -> impl Iterator<Item = &'a Worktree> {
    worktrees.linked.iter().filter(|tree| scratch::is_one(repo, tree))
}

/// What a merge left that was killed, if none is at work now.
pub fn left_over(repo: &Repo, worktrees: &Worktrees) -> Vec<PathBuf> {
    let landings = landings(repo, &worktrees.main, &worktrees.linked).into_iter();
    let journals = landings.map(|checkout| Files::of(&checkout.git_dir).journal());
    let trees = scratches(repo, worktrees).map(|tree| tree.record.path.clone());
    let left: Vec<PathBuf> = journals.chain(trees).collect();
    let free = || matches!(Lock::if_free(&lock_path(repo)), Ok(Some(_)));
    if left.is_empty() || !free() { Vec::new() } else { left }
}

/// Brings it to its end; landings can have been left in the main worktree and in `unsettled`. Returns
/// whether anything has changed.
pub fn recover(trash: &Trash, worktrees: &Worktrees, unsettled: &[Worktree], out: Out) -> bool {
    let repo = trash.repo;
    let aside = scratch::aside(repo);
    // A scratch that was on its way to the trash may just have been taken back from there.
    let fresh = if aside.exists() { repo.worktrees().ok() } else { None };
    let unsettled = fresh.as_ref().map_or(unsettled, |fresh| &fresh.linked);
    let worktrees = fresh.as_ref().unwrap_or(worktrees);
    let landings = landings(repo, &worktrees.main, unsettled);
    if landings.is_empty() && !aside.exists() && scratches(repo, worktrees).next().is_none() {
        return false;
    }
    // Held until the end: no other merge begins meanwhile.
    let Ok(Some(lock)) = Lock::if_free(&lock_path(repo)) else { return false };
    let (mut changed, mut all) = (false, fresh.is_some());
    for checkout in &landings {
        match finish(repo, &trash.git, checkout) {
            Ok(end) => {
                changed = true;
                say(&end, checkout, out);
            }
            Err(error) => out.warn(&format!("an interrupted merge is still there: {error}")),
        }
    }
    for tree in scratches(repo, worktrees) {
        match scratch::clear_left_over(trash, worktrees, tree, &lock) {
            Ok(cleared) => {
                changed |= cleared.is_some();
                all &= cleared.is_some();
                say_scratch(tree, cleared, out);
            }
            Err(error) => {
                all = false;
                out.warn(&format!("an interrupted merge is still there: {error}"));
            }
        }
    }
    if all && let Err(error) = scratch::remove_file(&aside) {
        out.warn(&format!("an interrupted merge is still there: {error}"));
    }
    changed
}

fn say(end: &End, checkout: &Checkout, out: Out) {
    let folder = checkout.path.display();
    match end {
        End::Nothing => {}
        End::Completed { branch } => {
            out.note(&format!("completed an interrupted merge into '{branch}' in '{folder}'"));
        }
        End::CompletedButIndex { branch } => {
            out.note(&format!("completed an interrupted merge into '{branch}' in '{folder}'"));
            out.warn(&format!("the index in '{folder}' was changed since and is left as it is"));
        }
        End::Undone { branch, changed } => {
            out.note(&format!("undid an interrupted merge into '{branch}' in '{folder}'"));
            if !changed.is_empty() {
                let files = listed(changed);
                out.warn(&format!("changed since, and left as they are: {files} in '{folder}'"));
            }
        }
    }
}

fn say_scratch(tree: &Worktree, cleared: Option<scratch::Cleared>, out: Out) {
    let path = tree.record.path.display();
    match cleared {
        None => out.warn(&format!("'{path}', left by an interrupted merge, is in use and stays")),
        Some(scratch::Cleared::Deleted) => {}
        Some(scratch::Cleared::Trashed(id)) => {
            let undo = format!("git sandbox restore {}", shell_word(&id));
            out.note(&format!("moved '{path}', left by an interrupted merge, to the trash"));
            out.note(&format!("bring it back with: {undo}"));
        }
    }
}
