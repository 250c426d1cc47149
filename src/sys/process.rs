//! This process: its program, its terminal, its priority.

use std::path::PathBuf;

use crate::error::{Doing, Result};

/// From here on no terminal ends us.
pub fn leave_terminal() {
    let _ = rustix::process::setsid();
}

/// In the background we get out of everybody's way.
pub fn settle() {
    leave_terminal();
    let _ = rustix::process::nice(10);
}

/// Where the program is, to start it again.
pub fn ourselves() -> Result<PathBuf> {
    std::env::current_exe().doing(|| "find the program".into())
}

/// The ids of the current user and of the user's group.
pub fn user_and_group() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}
