//! Writes that another tool at work in the same repository may be in the way of.

use crate::error::Result;

/// Tries again a few times: other tools write to the same repository and do not take our lock.
pub(super) fn persistently(attempt: impl Fn() -> Result<()>) -> Result<()> {
    for pause in [20, 60] {
        if attempt().is_ok() {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(pause));
    }
    attempt()
}
