//! Black-box tests: `git sandbox` as users run it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, clippy::print_stderr)]

mod age;
mod auto_reap;
mod crash;
mod doctor;
mod doctor_moved;
mod environment;
mod folders;
mod hook;
mod hostile;
mod in_use;
mod kinds;
mod list;
mod new;
mod orphans;
mod parallel;
mod path;
mod purge;
mod purge_crash;
mod purge_doubt;
mod reap;
mod reap_all;
mod reap_used;
mod reap_verdict;
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
mod show;
mod stale;
mod trash;
mod usage;
mod work;
mod work_history;
