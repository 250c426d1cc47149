//! What can be purged by name.

use std::collections::BTreeSet;

use crate::cli::args::Args;
use crate::cli::spec::ALL;
use crate::cmd::context::Here;
use crate::error::{Error, Result};
use crate::lifecycle::trash;
use crate::sandbox::journal::Journal;
use crate::ui::out::Out;
use crate::ui::words;

/// Something that can be purged by name.
#[derive(Debug)]
pub(super) struct Named {
    pub id: String,
    pub name: String,
}

/// Resolves the names that are to be purged. Each must mean exactly one item: deleting the wrong one
/// cannot be undone.
pub(super) fn resolve(args: &Args, known: &[Named]) -> Result<BTreeSet<String>> {
    let mut ids = BTreeSet::new();
    for word in &args.operands {
        let means = |named: &&Named| *word == *named.id || *word == *named.name;
        let found: BTreeSet<&String> = known.iter().filter(means).map(|named| &named.id).collect();
        let name = word.to_string_lossy().into_owned();
        match found.len() {
            0 => {
                let all = known.iter().flat_map(|it| [it.id.clone(), it.name.clone()]);
                let nearest = words::nearest(&name, all);
                let all = args.has(&ALL);
                return Err(Error::UnknownTrash { name, nearest, all });
            }
            1 => ids.extend(found.into_iter().cloned()),
            _ => {
                let candidates = found.iter().map(|id| format!("it could be {id}")).collect();
                return Err(Error::Ambiguous { word: name, candidates });
            }
        }
    }
    Ok(ids)
}

impl Named {
    pub(super) fn of(journal: &Journal) -> Named {
        Named { id: journal.id.clone(), name: journal.name.clone() }
    }
}

/// Every item of one repository that can be named, in the trash or in the vault.
pub(super) fn known(here: &Here, out: Out) -> Result<Vec<Named>> {
    let items = trash::items(&here.repo, &here.place).into_iter().flatten();
    let stored = here.stored(out)?.into_iter().map(|(journal, _)| journal);
    Ok(items.map(|item| item.journal).chain(stored).map(|journal| Named::of(&journal)).collect())
}
