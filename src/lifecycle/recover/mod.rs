//! What a crash left is finished or undone by whichever command next takes the repository lock.

pub mod half_made;
pub mod pointer;

use crate::lifecycle::quarantine::take;
use crate::lifecycle::rename::{self, Renamer};
use crate::lifecycle::trash::Trash;
use crate::lifecycle::{merge, spare};
use crate::repo::{Worktree, Worktrees};
use crate::sandbox;
use crate::ui::out::Out;

/// Mends creations, removals, restores, renamings, merges and spares, and takes over what confined
/// commands left in a quarantine. Whether there was anything.
pub fn all(trash: &Trash, worktrees: &Worktrees, out: Out) -> bool {
    let unsettled = trash.repo.unsettled(worktrees);
    half_made::clear_unlisted(&trash.repo.common) | among(trash, worktrees, &unsettled, out)
}

/// The same where only these may have been left in the middle of anything, and each is listed.
pub fn among(trash: &Trash, worktrees: &Worktrees, unsettled: &[Worktree], out: Out) -> bool {
    let Trash { repo, git, place, now } = trash;
    let renamer = Renamer { repo, git: git.clone(), place, worktrees, now: *now };
    let odd = worktrees.odd.clone();
    let some = Worktrees { main: worktrees.main.clone(), linked: unsettled.to_vec(), odd };
    let sandboxes = || sandbox::all(&some, trash.place);
    // Each of them, whatever the others say.
    half_made::clear_all(trash, unsettled, out)
        | half_made::settle_names(unsettled, out)
        | trash.recover(worktrees, unsettled, out)
        | rename::recover(&renamer, out)
        | merge::recover(trash, worktrees, unsettled, out)
        | spare::recover(trash.repo, &trash.git, worktrees, out)
        | pointer::put_back_all(&sandboxes(), out)
        | take::take_all(trash.repo, &trash.git, &sandboxes(), out)
}
