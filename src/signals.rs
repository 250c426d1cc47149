//! Ctrl-C and `kill`: noted, so that a half-made sandbox can be taken back before we end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::{Error, Result};

/// The signal that arrived, if one did.
#[derive(Clone, Debug)]
pub struct Signals(Arc<AtomicUsize>);

impl Signals {
    /// Notes signals from now on. One that our parent had us ignore (`nohup`) stays ignored.
    pub fn note() -> Signals {
        let arrived = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if !is_ignored(signal) {
                let number = usize::try_from(signal).unwrap_or(0);
                // Without a handler the signal just ends us, which the next `new` mends.
                let _ = signal_hook::flag::register_usize(signal, Arc::clone(&arrived), number);
            }
        }
        Signals(arrived)
    }

    /// An error once a signal has arrived.
    pub fn check(&self) -> Result<()> {
        match u8::try_from(self.0.load(Ordering::Relaxed)) {
            Ok(0) | Err(_) => Ok(()),
            Ok(signal) => Err(Error::Interrupted { signal }),
        }
    }
}

fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}
