//! Items whose repository is out of reach.

use crate::cmd::context;
use crate::error::Result;
use crate::lifecycle::trash::{Item, orphan};
use crate::lifecycle::vault::Vault;
use crate::sandbox::all_repos::Everywhere;
use crate::sandbox::journal::Journal;
use crate::ui::out::Out;

/// Items of the vault that no repository in reach knows.
pub(super) fn lost_stored(
    all: &Everywhere,
    vault: &Vault,
    out: Out,
) -> Result<Vec<(Journal, u64)>> {
    let lost = |journal: &Journal| {
        journal.common.as_ref().is_none_or(|common| !all.commons.contains(common))
    };
    Ok(context::stored(vault, out)?.into_iter().filter(|(journal, _)| lost(journal)).collect())
}

/// Items of the trash that no repository in reach knows.
pub(super) fn lost(all: &Everywhere) -> Vec<Result<Item>> {
    orphan::items(&all.root.trash_folders(), &all.commons)
}
