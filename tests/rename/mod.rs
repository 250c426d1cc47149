//! `git sandbox rename`

mod crash;
mod faults;
mod outcome;
mod refuse;
