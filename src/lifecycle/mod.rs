//! Everything that changes something. Each file is a transaction with crash points.

pub mod assign;
pub mod background;
pub mod create;
pub mod merge;
pub mod quarantine;
pub mod recover;
pub mod remove;
pub mod rename;
pub mod spare;
pub mod teardown;
pub mod trash;
pub mod vault;
