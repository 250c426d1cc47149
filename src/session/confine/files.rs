//! Landlock: the kernel's rules about files, which hold also for what a mount cannot hide.

use std::fs;
use std::os::fd::AsFd;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use super::policy::Policy;

/// Devices that every program may use.
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"];
/// The terminals. Without namespaces these are all terminals of the user.
const TERMINALS: &str = "/dev/pts";

/// The newest version that is asked for.
const WANTED: ABI = ABI::V6;

/// Returns the version of Landlock that this kernel has, up to 6, or 0.
pub fn version() -> u8 {
    let can = |abi: ABI, network: bool, scope: bool| {
        let mut rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        rules = rules.handle_access(AccessFs::from_all(abi)).ok()?;
        if network {
            rules = rules.handle_access(AccessNet::from_all(abi)).ok()?;
        }
        if scope {
            rules = rules.scope(Scope::from_all(abi)).ok()?;
        }
        rules.create().ok().map(drop)
    };
    let versions = [
        (6, ABI::V6, true, true),
        (5, ABI::V5, true, false),
        (4, ABI::V4, true, false),
        (3, ABI::V3, false, false),
        (2, ABI::V2, false, false),
        (1, ABI::V1, false, false),
    ];
    let found =
        versions.into_iter().find(|(_, abi, network, scope)| can(*abi, *network, *scope).is_some());
    found.map_or(0, |(version, ..)| version)
}

/// Restricts this thread, and what it becomes, to what the policy names. Returns false where the
/// kernel did not take it.
pub fn restrict(policy: &Policy) -> Result<bool, RulesetError> {
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(WANTED))?
        .scope(Scope::from_all(WANTED))?;
    if !policy.internet_sockets {
        rules = rules.handle_access(AccessNet::from_all(WANTED))?;
    }
    let mut rules = rules.create()?;
    let terminals = match policy.own_processes {
        true => vec![TERMINALS.into()],
        false => own_terminals(),
    };
    let devices = DEVICES.iter().map(PathBuf::from).chain(terminals);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir | AccessFs::IoctlDev;
    let read = policy.read.iter().cloned().map(|path| (path, AccessFs::from_read(WANTED)));
    let write = policy.write.iter().cloned().map(|path| (path, AccessFs::from_all(WANTED)));
    for (path, access) in read.chain(write).chain(devices.map(|path| (path, device))) {
        // What is not there needs no rule.
        let Ok(file) = PathFd::new(&path) else { continue };
        let is_folder = path.is_dir();
        let access = if is_folder { access } else { access & AccessFs::from_file(WANTED) };
        rules = rules.add_rule(PathBeneath::new(file.as_fd(), access))?;
    }
    let status = rules.restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced && status.no_new_privs)
}

/// The terminals that stdin, stdout and stderr are.
fn own_terminals() -> Vec<PathBuf> {
    let links = (0..=2).filter_map(|number| fs::read_link(format!("/proc/self/fd/{number}")).ok());
    links.filter(|path| path.starts_with(TERMINALS)).collect()
}
