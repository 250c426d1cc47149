//! What stands in for Landlock and seccomp on systems that have neither: there, nothing can be confined.

/// Filters of system calls, which this system does not have.
pub mod calls {
    use crate::session::confine::policy::Policy;

    /// Whether filters can be made.
    pub fn is_possible() -> bool {
        false
    }

    /// Refuses, so that nothing runs that was to be confined.
    pub fn close(_policy: &Policy) -> Result<(), String> {
        Err("this system has no filters of system calls".into())
    }
}

/// Rules for files, which this system does not have.
pub mod files {
    use crate::session::confine::policy::Policy;

    /// The version of Landlock: none.
    pub fn version() -> u8 {
        0
    }

    /// Says that nothing is restricted.
    pub fn restrict(_policy: &Policy) -> Result<bool, String> {
        Ok(false)
    }
}
