//! Steps at which a crash must do no harm. Debug builds can be told to die at one, or to pause there,
//! for the tests.

/// A step was reached. `GIT_SANDBOX_CRASH_AT=<n>` kills a debug build at the n-th;
/// `GIT_SANDBOX_PAUSE_AT=<n>` suspends it until it is told to go on.
pub fn reached() {
    #[cfg(debug_assertions)]
    {
        use rustix::process::{Signal, getpid, kill_process};
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
        let signals =
            [("GIT_SANDBOX_CRASH_AT", Signal::KILL), ("GIT_SANDBOX_PAUSE_AT", Signal::STOP)];
        for (variable, signal) in signals {
            let wanted = std::env::var(variable).unwrap_or_default();
            if wanted == count.to_string() {
                let _ = kill_process(getpid(), signal);
            }
        }
    }
}
