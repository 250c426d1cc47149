//! `git sandbox restore`: what comes back from the trash.

mod branch;
mod moved;
mod outcome;
mod since;
