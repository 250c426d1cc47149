//! What `rm`, `stop --rm` and `merge` say about a removal.

use std::path::Path;

use crate::error::Error;
use crate::lifecycle::remove::{BranchFate, Fate, Outcome, Trashed};
use crate::lifecycle::trash::forget::Forgotten;
use crate::repo::kept::KEPT;
use crate::sandbox::holding::{Holding, listed};
use crate::sandbox::verdict::{Objection, Refusal, Yields};
use crate::sandbox::{Damage, Sandbox, State};
use crate::ui::out::Out;
use crate::ui::words::shell_word;

/// A refusal as the error that names it.
pub fn refused(sandbox: &Sandbox, refusal: &Refusal, main: &Path) -> Error {
    if let State::Damaged(Damage::OddFile(path)) = &sandbox.state {
        return Error::OddFile { path: path.clone() };
    }
    let force = match refusal.yields {
        Yields::Once => Some("--force"),
        Yields::Twice => Some("--force --force"),
        Yields::Never => None,
    };
    let name = sandbox.name();
    let first = refusal.objections.iter().find_map(|objection| match objection {
        Objection::InUse(_) | Objection::CameIntoUse => Some(format!(
            "to end what was started there: git sandbox stop --rm {}",
            shell_word(&name)
        )),
        Objection::WhereWeAre => Some(format!("cd {}", shell_word(&main.to_string_lossy()))),
        _ => None,
    });
    Error::Refused { name, why: refusal.to_string(), first, force }
}

/// What a sandbox holds, as one phrase.
pub fn held(holds: &[Holding]) -> String {
    if holds.is_empty() { "nothing to lose".to_owned() } else { listed(holds, ", ") }
}

/// What is in its files, as one phrase: commits are kept by a ref and told by themselves.
fn held_in_files(holds: &[Holding]) -> String {
    let is_files = |holding: &&Holding| !matches!(holding, Holding::OnlyHere(_));
    held(&holds.iter().filter(is_files).cloned().collect::<Vec<_>>())
}

/// Says what [`say_trashed`] would say.
pub fn say_would(sandbox: &Sandbox, holds: &[Holding], out: Out) {
    out.note(&format!("would remove '{}' ({})", sandbox.name(), held_in_files(holds)));
    for commits in holds.iter().filter(|holding| matches!(holding, Holding::OnlyHere(_))) {
        out.note(&format!("would keep {commits} in {KEPT}<id>"));
    }
}

/// Says what a removal did. A refusal and a dry run are worded by the command.
pub fn say_gone(sandbox: &Sandbox, outcome: &Outcome, out: Out) {
    match outcome {
        Outcome::Forgotten(forgotten) => say_forgotten(sandbox, forgotten, out),
        Outcome::Trashed(trashed) => say_trashed(sandbox, trashed, out),
        Outcome::Refused(_) | Outcome::Would { .. } => {}
    }
}

/// Says that a sandbox was moved to the trash, and how to undo it.
pub fn say_trashed(sandbox: &Sandbox, trashed: &Trashed, out: Out) {
    let (name, id) = (sandbox.name(), &trashed.id);
    let undo = format!("git sandbox restore {}", shell_word(id));
    out.note(&format!("removed '{name}' ({}); undo with: {undo}", held_in_files(&trashed.holds)));
    if trashed.only_here > 0 {
        let commits = Holding::OnlyHere(trashed.only_here);
        out.note(&format!("kept {commits} in {KEPT}{id}"));
    }
    if let Some(branch) = &trashed.branch {
        say_branch(branch, id, out);
    }
}

/// Says that a sandbox whose folder was gone is forgotten, and how to get back what git knew of it.
pub fn say_forgotten(sandbox: &Sandbox, forgotten: &Forgotten, out: Out) {
    let undo = format!("git sandbox restore {}", shell_word(&forgotten.id));
    let name = sandbox.name();
    out.note(&format!("removed '{name}', whose folder was gone; undo with: {undo}"));
    if forgotten.kept.only_here > 0 {
        let commits = Holding::OnlyHere(forgotten.kept.only_here);
        out.note(&format!("kept {commits} in {KEPT}{}", forgotten.id));
    }
}

fn say_branch(BranchFate { name, fate }: &BranchFate, id: &str, out: Out) {
    match fate {
        Fate::GoesKept => {
            out.note(&format!("kept its commits in {KEPT}{id}"));
            out.note(&format!("deleted branch '{name}'"));
        }
        Fate::Goes => out.note(&format!("deleted branch '{name}'")),
        Fate::CheckedOut | Fate::Held | Fate::NotMerged | Fate::NoBase => {
            out.warn(&format!("branch '{name}' stays: {}", why_it_stays(*fate)));
        }
    }
}

fn why_it_stays(fate: Fate) -> &'static str {
    match fate {
        Fate::CheckedOut => "another worktree is on it",
        Fate::Held => "an operation in progress holds it",
        Fate::NoBase => "neither a base nor an upstream of it is known",
        _ => "it has commits that are on neither its base nor its upstream",
    }
}

/// Says what a removal would do with the branch.
pub fn say_would_branch(branch: &BranchFate, out: Out) {
    let name = &branch.name;
    match branch.fate.goes() {
        true => out.note(&format!("would delete branch '{name}'")),
        false => out.warn(&format!("branch '{name}' stays: {}", why_it_stays(branch.fate))),
    }
}
