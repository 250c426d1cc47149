//! Ctrl-C and `kill`: noted, so that a half-made sandbox can be taken back before we end, or passed
//! on to the command that we wait for.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
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

/// A process to send signals to: by a descriptor, so that no other process that gets its id later
/// can receive them, or by its id where the kernel has no such descriptors.
#[derive(Debug)]
pub struct Target {
    pid: Pid,
    descriptor: Option<OwnedFd>,
}

impl Target {
    /// Finds a process; `None` once it is gone.
    pub fn of(pid: u32) -> Option<Target> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
        match open(pid) {
            Err(Errno::SRCH) => None,
            descriptor => Some(Target { pid, descriptor: descriptor.ok() }),
        }
    }

    /// Whether the process has not ended.
    pub fn is_there(&self) -> bool {
        match &self.descriptor {
            Some(descriptor) => is_open(descriptor),
            None => rustix::process::test_kill_process(self.pid).is_ok(),
        }
    }

    /// Sends a signal; to a process that has ended, nothing.
    pub fn send(&self, signal: Signal) {
        let _ = match &self.descriptor {
            Some(descriptor) => send_to(descriptor, signal),
            None => kill_process(self.pid, signal),
        };
    }
}

#[cfg(target_os = "linux")]
fn open(pid: Pid) -> rustix::io::Result<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())
}

#[cfg(not(target_os = "linux"))]
fn open(pid: Pid) -> rustix::io::Result<OwnedFd> {
    rustix::process::test_kill_process(pid)?;
    Err(Errno::NOSYS)
}

#[cfg(target_os = "linux")]
fn send_to(process: &OwnedFd, signal: Signal) -> rustix::io::Result<()> {
    rustix::process::pidfd_send_signal(process, signal)
}

/// Whether the process of a descriptor has not ended: the descriptor is readable once it has.
#[cfg(target_os = "linux")]
fn is_open(process: &OwnedFd) -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut ended = [PollFd::new(process, PollFlags::IN)];
    poll(&mut ended, Some(&rustix::time::Timespec::default())).is_ok_and(|count| count == 0)
}

#[cfg(not(target_os = "linux"))]
fn is_open(_: &OwnedFd) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
fn send_to(_: &OwnedFd, _: Signal) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}

/// TERM and HUP, which no longer end us but are kept for a child.
#[derive(Debug)]
pub struct ForChild(Vec<(UnixStream, Signal)>);

impl ForChild {
    /// Keeps TERM and HUP from now on, but one that our parent had us ignore.
    pub fn keep() -> io::Result<ForChild> {
        let mut kept = Vec::new();
        for (number, signal) in [(SIGTERM, Signal::TERM), (SIGHUP, Signal::HUP)] {
            if !is_ignored(number) {
                let (arrived, handler) = UnixStream::pair()?;
                signal_hook::low_level::pipe::register(number, handler)?;
                kept.push((arrived, signal));
            }
        }
        Ok(ForChild(kept))
    }

    /// Passes on to a child what has arrived and what will arrive, as long as the child runs. `target`
    /// finds the process that is meant, given the child's id.
    pub fn pass_on(self, child: &Child, target: fn(u32) -> Option<Target>) {
        let pid = child.id();
        // While we hold this, no other process is meant by the id.
        let Some(child) = Target::of(pid).map(Arc::new) else { return };
        for (mut arrived, signal) in self.0 {
            let child = Arc::clone(&child);
            std::thread::spawn(move || {
                while arrived.read_exact(&mut [0]).is_ok() {
                    if let Some(meant) = child.is_there().then(|| target(pid)).flatten() {
                        meant.send(signal);
                    }
                }
            });
        }
    }
}

/// Whether our parent had us ignore a signal.
pub fn is_ignored(signal: i32) -> bool {
    has(ignored(), signal)
}

/// Whether a process ignores a signal; `None` once it is gone.
pub fn is_ignored_by(pid: u32, signal: i32) -> Option<bool> {
    Some(has(ignored_in(&std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?)?, signal))
}

/// The signals that our parent had us ignore, as the kernel tells them.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_in(&status).unwrap_or(0)
}

fn ignored_in(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

fn has(mask: u64, signal: i32) -> bool {
    mask & (1 << (signal - 1)) != 0
}
