//! Steps at which a crash must do no harm. Debug builds can be told to die at one, for the tests.

/// A step was reached. `GIT_SANDBOX_CRASH_AT=<n>` kills a debug build at the n-th.
pub fn reached() {
    #[cfg(debug_assertions)]
    {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
        let wanted = std::env::var("GIT_SANDBOX_CRASH_AT").unwrap_or_default();
        if wanted == count.to_string() {
            let us = rustix::process::getpid();
            let _ = rustix::process::kill_process(us, rustix::process::Signal::KILL);
        }
    }
}
