//! Spares: sandboxes made ahead of `git sandbox new`.

mod crash;
mod doubt;
mod faults;
mod take;
mod upkeep;
