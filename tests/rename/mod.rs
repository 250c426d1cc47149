//! `git sandbox rename`

mod crash;
mod outcome;
mod refuse;
