//! Whether a branch is already in its base: by history, or by content after a squash.

use crate::error::Result;
use crate::git::Git;

/// How a branch came to be in its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merged {
    /// Every commit of it is there.
    ByHistory,
    /// Merging it would change nothing: it was squashed, rebased or picked.
    ByContent,
}

/// Whether `commit` is in `base`. A wrong no is acceptable, a wrong yes is not taken for proof:
/// whoever acts on [`Merged::ByContent`] keeps the commits.
pub fn merged(git: &Git, commit: &str, base: &str) -> Result<Option<Merged>> {
    if git.look(["merge-base", "--is-ancestor", commit, base]).ask()?.ok() {
        return Ok(Some(Merged::ByHistory));
    }
    let Some(merged) = git.merged_tree(base, commit)? else { return Ok(None) };
    let tree = git.look(["rev-parse", "--verify", "--quiet", &format!("{base}^{{tree}}")]).ask()?;
    let same = tree.ok() && tree.stdout.trim_ascii_end() == merged.as_bytes();
    Ok(same.then_some(Merged::ByContent))
}
