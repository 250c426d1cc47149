//! A removed sandbox that can be brought back.

use std::path::PathBuf;

use crate::lifecycle::trash::Item;
use crate::sandbox::journal::Journal;

/// A removed sandbox, wherever it is.
#[derive(Clone, Debug)]
pub(super) enum Found {
    /// In the trash.
    Trash(Item),
    /// In the vault of this root.
    Vault(Journal, u64, PathBuf),
}

impl Found {
    /// What was written down of it.
    pub(super) fn journal(&self) -> &Journal {
        match self {
            Found::Trash(item) => &item.journal,
            Found::Vault(journal, ..) => journal,
        }
    }
}
