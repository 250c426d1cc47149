//! What can be typed: the table of commands and options, and everything made from it.

pub mod args;
pub mod complete;
pub mod function;
pub mod help;
pub mod job;
pub mod man;
pub mod manual;
pub mod spec;
