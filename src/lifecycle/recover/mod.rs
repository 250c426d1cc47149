//! What a crash left is finished or undone by whichever command next takes the repository lock.

pub mod half_made;
pub mod pointer;

use crate::lifecycle::quarantine::take;
use crate::lifecycle::rename::{self, Renamer};
use crate::lifecycle::trash::Trash;
use crate::lifecycle::{merge, spare};
use crate::repo::Worktrees;
use crate::sandbox;
use crate::ui::out::Out;

/// Mends creations, removals, restores, renamings, merges and spares, and takes over what confined
/// commands left in a quarantine. Whether there was anything.
pub fn all(trash: &Trash, worktrees: &Worktrees, out: Out) -> bool {
    let Trash { repo, git, place, now } = trash;
    let renamer = Renamer { repo, git: git.clone(), place, worktrees, now: *now };
    // Each of them, whatever the others say.
    half_made::clear_unlisted(&trash.repo.common)
        | half_made::clear_all(trash, worktrees, out)
        | half_made::settle_names(worktrees, out)
        | trash.recover(worktrees, out)
        | rename::recover(&renamer, out)
        | merge::recover(trash, worktrees, out)
        | spare::recover(trash.repo, &trash.git, worktrees, out)
        | pointer::put_back_all(&sandbox::all(worktrees, trash.place), out)
        | take::take_all(trash.repo, &trash.git, &sandbox::all(worktrees, trash.place), out)
}
