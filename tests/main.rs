//! Black-box tests: `git sandbox` as users run it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, clippy::print_stderr)]

mod age;
mod crash;
mod environment;
mod folders;
mod hook;
mod hostile;
mod in_use;
mod kinds;
mod list;
mod new;
mod parallel;
mod path;
mod refuse;
mod removal;
mod removal_crash;
mod repo;
mod restore;
mod restore_branch;
mod resume;
mod rm;
mod rm_branch;
mod rm_missing;
mod rm_places;
mod root;
mod setup;
mod show;
mod sync_man;
mod trash;
mod usage;
mod work;
mod work_history;
