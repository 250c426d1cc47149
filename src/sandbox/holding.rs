//! What a sandbox holds that is nowhere else: stored in the journal as data, worded when shown.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::ui::words::counted;

/// What a sandbox holds that is nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "each is worded below")]
pub enum Holding {
    Changes(u64),
    HiddenEdits(u64),
    /// Staged files of a sandbox whose folder was gone.
    Staged(u64),
    Operation(String),
    Nested(PathBuf),
    Precious(u64),
    /// Commits or staged files of a confined command that were not taken over.
    Confined,
    OnlyHere(u64),
    /// A fact that could not be read, and why.
    Unknown(String),
    /// Its repository could not be reached, so git could tell nothing.
    Orphan,
}

impl fmt::Display for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holding::Changes(count) => f.write_str(&counted(*count, "uncommitted change")),
            Holding::HiddenEdits(count) => f.write_str(&counted(*count, "hidden edit")),
            Holding::Staged(count) => f.write_str(&counted(*count, "staged file")),
            Holding::Operation(operation) => write!(f, "{operation} in progress"),
            Holding::Nested(folder) => write!(f, "unsaved work in '{}'", folder.display()),
            Holding::Confined => f.write_str("work of a confined command that was not taken over"),
            Holding::Precious(count) => f.write_str(&counted(*count, "precious file")),
            Holding::OnlyHere(count) => write!(f, "{} only here", counted(*count, "commit")),
            Holding::Unknown(why) => write!(f, "cannot tell: {why}"),
            Holding::Orphan => f.write_str("its repository could not be reached"),
        }
    }
}

/// Several objections or holdings as one phrase.
pub fn listed<T: fmt::Display>(items: &[T], separator: &str) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(separator)
}
