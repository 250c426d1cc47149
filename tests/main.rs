//! Black-box tests: `git sandbox` as users run it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, clippy::print_stderr)]

mod age;
mod agent;
mod author;
mod background;
mod crash;
mod environment;
mod folders;
mod hook;
mod hostile;
mod in_use;
mod in_use_run;
mod include;
mod kinds;
mod list;
mod new;
mod ordinary_user;
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
mod run;
mod session;
mod setup;
mod show;
mod stop;
mod tmux;
mod trash;
mod usage;
mod work;
mod work_history;
