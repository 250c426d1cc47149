//! Black-box tests: `git sandbox` as users run it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, clippy::print_stderr)]

mod hostile;
mod in_use;
mod kinds;
mod new;
mod removal;
mod removal_crash;
mod repo;
mod restore;
mod restore_branch;
mod rm;
mod rm_branch;
mod rm_places;
mod trash;
mod work;
mod work_history;
