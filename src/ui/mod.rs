//! The only room that writes to stdout and stderr.

pub mod hints;
pub mod locale;
pub mod out;
pub mod progress;
pub mod table;
pub mod words;
