//! Black-box tests: `git sandbox` as users run it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod age;
mod crash;
mod environment;
mod folders;
mod hook;
mod list;
mod new;
mod parallel;
mod path;
mod refuse;
mod repo;
mod resume;
mod root;
mod show;
mod usage;
