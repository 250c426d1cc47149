//! Spares: sandboxes made ahead of `git sandbox new`.

mod crash;
mod take;
mod upkeep;
