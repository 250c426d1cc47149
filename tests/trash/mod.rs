//! The trash: its entries, how it is emptied, and sandboxes whose repository is gone.

mod adopted;
mod asked;
mod entries;
mod failing_vault;
mod faults;
mod kept;
mod kept_again;
mod meanwhile;
mod named_like_files;
mod orphan_faults;
mod orphans;
mod purge_doubt;
mod put_away;
mod tampered_vault;
mod vault_faults;
