//! `git sandbox doctor`: what it finds, and what it repairs.

mod doubt;
mod findings;
mod moved;
