//! Systems other than Linux, which have neither Landlock nor seccomp: nothing can be confined there.

/// In place of the system call filters.
pub mod calls {
    use crate::session::confine::policy::Policy;

    /// Fails: there are no filters.
    pub fn close(_policy: &Policy) -> Result<(), &'static str> {
        Err("this system has no system call filters")
    }

    /// Fails: there are no filters.
    pub fn as_bytes(_policy: &Policy) -> Result<Vec<u8>, &'static str> {
        Err("this system has no system call filters")
    }

    /// Whether filters can be made.
    pub fn is_possible() -> bool {
        false
    }
}

/// In place of the kernel's rules about files.
pub mod files {
    use crate::session::confine::policy::Policy;

    /// Returns 0: there is no Landlock.
    pub fn version() -> u8 {
        0
    }

    /// Restricts nothing, and says so.
    pub fn restrict(_policy: &Policy) -> Result<bool, &'static str> {
        Ok(false)
    }
}
