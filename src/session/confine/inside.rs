//! Our program inside the walls: it closes what is still open and becomes the command.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use command_fds::{CommandFdExt, FdMapping};

use super::policy::Policy;
use super::{calls, files, forward};
use crate::error::{Doing, Error, Result};

/// Applies the policy, the first word, and becomes the command, the rest. Returns only what went
/// wrong, or the exit code where it waits for the command.
pub fn enter(words: &[OsString]) -> Result<u8> {
    let (policy, command) = match words {
        [policy, dashes, command @ ..] if dashes == "--" => (policy, command),
        _ => return Err(Error::NoProgram { program: "__confine".into() }),
    };
    let mut policy: Policy = serde_json::from_slice(policy.as_bytes())
        .map_err(std::io::Error::from)
        .doing(|| "read the policy".into())?;
    if let Some(proxy) = policy.proxy.take() {
        return forward::wait_for(&proxy, &policy, command);
    }
    let Some((program, words)) = command.split_first() else {
        return Err(Error::NoProgram { program: String::new() });
    };
    #[expect(clippy::disallowed_methods, reason = "it becomes the user's command")]
    let mut command = Command::new(program);
    command.args(words);
    shut_descriptors(&mut command, &policy.kept)?;
    for signal in &policy.heeded {
        // A handler is reset when the command starts; a signal that is ignored stays so.
        let _ = signal_hook::flag::register(*signal, Arc::default());
    }
    let failed = |why: String| Error::Git { doing: "confine the command".into(), why };
    drop_capabilities().map_err(|error| failed(error.to_string()))?;
    let restricted = files::restrict(&policy).map_err(|error| failed(error.to_string()))?;
    if !restricted && policy.landlock > 0 {
        return Err(failed("the kernel did not take the rules for files".into()));
    }
    calls::close(&policy).map_err(|error| failed(error.to_string()))?;
    let error = command.exec();
    let program = program.to_string_lossy().into_owned();
    Err(match error.kind() {
        ErrorKind::NotFound => Error::NoProgram { program },
        _ => Error::NotExecutable { program },
    })
}

/// Has the command find nothing on descriptors that it is not meant to have: the lock of the sandbox,
/// which bubblewrap holds for it, and what else leaked this far. One that leads to a folder would be
/// a way around every wall.
fn shut_descriptors(command: &mut Command, kept: &[i32]) -> Result<()> {
    let mut open = Vec::new();
    for entry in fs::read_dir("/proc/self/fd").at("read", "/proc/self/fd".as_ref())?.flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
        let is_folder = fs::metadata(entry.path()).is_ok_and(|it| it.is_dir());
        match number {
            Some(number) if number <= 2 && is_folder => {
                let why = format!("descriptor {number} leads to a folder");
                return Err(Error::Git { doing: "confine the command".into(), why });
            }
            Some(number) if number > 2 && !kept.contains(&number) && !is_closed_on_exec(number) => {
                open.push(number);
            }
            _ => {}
        }
    }
    let nothing = File::open("/dev/null").at("open", "/dev/null".as_ref())?;
    let shut = open.into_iter().map(|child_fd| Ok((nothing.try_clone()?, child_fd)));
    let kept = kept.iter().map(|number| Ok((lock_of_its_own(*number)?, *number)));
    let mappings = shut.chain(kept).map(|mapped: std::io::Result<_>| {
        mapped.map(|(file, child_fd)| FdMapping { parent_fd: OwnedFd::from(file), child_fd })
    });
    let mappings =
        mappings.collect::<std::io::Result<Vec<_>>>().doing(|| "shut descriptors".into())?;
    let mapped = command.fd_mappings(mappings).map(drop);
    mapped.map_err(std::io::Error::other).doing(|| "shut descriptors".into())
}

/// Opens a lock that was inherited once more, and takes it. Of a descriptor that the command shared with
/// its runner, it could free the runner's lock too, and be taken over from while it runs.
fn lock_of_its_own(number: i32) -> std::io::Result<File> {
    let file = File::open(format!("/proc/self/fd/{number}"))?;
    file.try_lock_shared()?;
    Ok(file)
}

/// Takes the privileges of root from the command: with them it could make devices and set the clock.
/// As no program can gain any inside, they are gone for good.
fn drop_capabilities() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
        let none = CapabilitySet::empty();
        let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
        set_capabilities(None, none)?;
    }
    Ok(())
}

/// Whether a descriptor of ours ends with this program.
pub fn is_closed_on_exec(number: i32) -> bool {
    const CLOSE_ON_EXEC: u32 = 0o2_000_000;
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & CLOSE_ON_EXEC != 0)
}

/// Whether we are inside.
pub fn is_inside() -> bool {
    std::env::var_os("GIT_SANDBOX_CONFINED").is_some_and(|value| value != OsStr::new(""))
}
