//! Usage, man page, README and completions: each says what the program does.

mod generated;
mod journeys;
mod man;
mod readme;
mod usage;
