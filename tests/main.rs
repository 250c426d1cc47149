//! Black-box tests: `git sandbox` as users run it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod folders;
mod hook;
mod new;
mod refuse;
mod repo;
mod resume;
mod root;
mod usage;
