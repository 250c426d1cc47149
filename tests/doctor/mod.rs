//! `git sandbox doctor`: what it finds, and what it repairs.

mod findings;
mod moved;
