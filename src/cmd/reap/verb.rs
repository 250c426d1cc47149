//! What a line of `reap` says was done.

/// What a line says was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Retired,
    Kept,
    Skipped,
    KeptInTrash,
    PutAway,
    Purged,
}

impl Verb {
    /// The word for it, also where it was only tried.
    pub(super) fn word(self, dry: bool) -> &'static str {
        match (self, dry) {
            (Verb::Retired, false) => "retired",
            (Verb::Retired, true) => "would retire",
            (Verb::Kept, _) => "kept",
            (Verb::Skipped, _) => "skipped",
            (Verb::KeptInTrash, _) => "kept in the trash",
            (Verb::PutAway, false) => "put away",
            (Verb::PutAway, true) => "would put away",
            (Verb::Purged, false) => "purged",
            (Verb::Purged, true) => "would purge",
        }
    }
}
