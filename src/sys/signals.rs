//! Ctrl-C and `kill`: noted, so that a half-made sandbox can be taken back before we end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::{Error, Result};

static ARRIVED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// Notes signals from now on, instead of dying of them. One that our parent had us ignore (`nohup`)
/// stays ignored.
pub fn note() {
    let arrived = ARRIVED.get_or_init(Arc::default);
    let ignored = ignored();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if !has(ignored, signal) {
            let number = usize::try_from(signal).unwrap_or(0);
            // Without a handler the signal just ends us, which the next `new` mends.
            let _ = signal_hook::flag::register_usize(signal, Arc::clone(arrived), number);
        }
    }
}

/// An error once a signal has arrived.
pub fn check() -> Result<()> {
    let arrived = ARRIVED.get().map_or(0, |arrived| arrived.load(Ordering::Relaxed));
    match u8::try_from(arrived) {
        Ok(0) | Err(_) => Ok(()),
        Ok(signal) => Err(Error::Interrupted { signal }),
    }
}

/// Whether our parent had us ignore a signal.
pub fn is_ignored(signal: i32) -> bool {
    has(ignored(), signal)
}

/// The signals that our parent had us ignore, as the kernel tells them.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn has(mask: u64, signal: i32) -> bool {
    mask & (1 << (signal - 1)) != 0
}
