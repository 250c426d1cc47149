//! Black-box tests: `git sandbox` as users run it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod new;
mod repo;
