//! `git sandbox restore`: what comes back from the trash.

mod branch;
mod outcome;
mod since;
