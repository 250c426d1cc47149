//! The operating system: files, paths, locks, processes, the clock.

pub mod clock;
pub mod crash_point;
pub mod delete;
pub mod dir;
pub mod disk_usage;
pub mod file;
#[cfg(test)]
pub mod fuzz;
pub mod group;
pub mod lock;
pub mod mounts;
pub mod names;
pub mod parallel;
pub mod path;
pub mod process;
pub mod processes;
pub mod random;
pub mod scratch;
pub mod signals;
