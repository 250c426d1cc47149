//! What a crash left is finished or undone by whichever command next takes the repository lock.

use crate::merge;
use crate::out::Out;
use crate::repo::Worktrees;
use crate::spare;
use crate::stub;
use crate::trash::Trash;

/// Mends creations, removals, restores, merges and spares. Whether there was anything.
pub fn all(trash: &Trash, worktrees: &Worktrees, out: Out) -> bool {
    // Each of them, whatever the others say.
    stub::clear_unlisted(&trash.repo.common)
        | trash.recover(worktrees, out)
        | merge::recover(trash, worktrees, out)
        | spare::recover(trash.repo, &trash.git, worktrees, out)
}
