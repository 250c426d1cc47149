//! seccomp: system calls that are closed to a confined command. They fail with EPERM.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter, sock_filter,
};

use super::policy::Policy;

/// Types input into a terminal, as if the user had.
const TIOCSTI: u64 = 0x5412;
/// The same and more for a virtual console.
const TIOCLINUX: u64 = 0x541c;
/// The bits of a mode that let a program run with the rights of its file's owner or group.
const SET_ID: [u64; 2] = [0o4000, 0o2000];
/// Flags of `open` that make a file, by its name or without one.
const MAKING: [u64; 2] = [0o100, 0o20_000_000];
/// Kinds of sockets that need not be connected: one of a pair can send to any other. The kernel takes
/// the second for the first.
const DATAGRAMS: [u64; 2] = [2, 3];
/// The bits of a socket's type that tell its kind; the others are flags.
const KIND: u64 = 0xf;
/// Flags of `clone` that make a namespace.
const NAMESPACES: [u64; 8] = [
    0x0000_0080, // time
    0x0002_0000, // mounts
    0x0200_0000, // cgroups
    0x0400_0000, // host name
    0x0800_0000, // IPC
    0x1000_0000, // users
    0x2000_0000, // processes
    0x4000_0000, // network
];
/// System calls of the x32 kind have this bit in their number, and no rule below matches them.
const X32: u32 = 0x4000_0000;

/// `open_tree_attr` of Linux 6.15, which has this number everywhere.
const OPEN_TREE_ATTR: i64 = 467;

/// Calls that are closed whatever their arguments are.
const CLOSED: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Ways around every other rule here.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Files without a path.
    libc::SYS_open_by_handle_at,
    // The keys of the user's session.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The kernel's own workings.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
];

/// Calls that reach memory and queues which all processes of a user share. They are closed where the
/// command has no namespace of its own for them.
const SHARED: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Calls whose arguments a filter cannot see. Programs are told that the kernel does not have them
/// and use the older call, which a filter can judge. These have the same numbers everywhere.
const MISSING: [u32; 2] = [
    435, // clone3
    437, // openat2
];

/// Closes the calls to this thread and what it becomes.
pub fn close(policy: &Policy) -> Result<(), seccompiler::Error> {
    apply_filter(&filter(policy)?)
}

/// Returns the filter as bubblewrap reads it, for the processes that start the command and wait for it.
/// They may have sockets of every kind that a policy permits.
pub fn as_bytes(policy: &Policy) -> Result<Vec<u8>, seccompiler::Error> {
    let filter = filter(&Policy { unix_sockets: true, internet_sockets: true, ..policy.clone() })?;
    let bytes = |step: sock_filter| {
        let ([code, more], [a, b, c, d]) = (step.code.to_ne_bytes(), step.k.to_ne_bytes());
        [code, more, step.jt, step.jf, a, b, c, d]
    };
    Ok(filter.into_iter().flat_map(bytes).collect())
}

fn filter(policy: &Policy) -> Result<BpfProgram, seccompiler::Error> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(seccompiler::Error::from)?;
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let closed = SeccompFilter::new(rules(policy)?, SeccompAction::Allow, refused, arch)?;
    let mut filter = missing();
    filter.extend(BpfProgram::try_from(closed)?);
    Ok(filter)
}

/// Whether filters can be made for this processor.
pub fn is_possible() -> bool {
    TargetArch::try_from(std::env::consts::ARCH).is_ok()
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn rules(policy: &Policy) -> Result<Rules, BackendError> {
    let mut rules: Rules = CLOSED.iter().map(|call| (*call, Vec::new())).collect();
    let typing = [TIOCSTI, TIOCLINUX].map(|request| rule(&[equal(1, request)?]));
    rules.insert(libc::SYS_ioctl, typing.into_iter().collect::<Result<_, _>>()?);
    for (call, mode) in mode_calls() {
        rules.insert(
            call,
            SET_ID.map(|bit| rule(&[has(mode, bit)?])).into_iter().collect::<Result<_, _>>()?,
        );
    }
    for (call, flags, mode) in opening_calls() {
        let creates = |flag, bit| rule(&[has(flags, flag)?, has(mode, bit)?]);
        let creates = MAKING.iter().flat_map(|flag| SET_ID.map(|bit| creates(*flag, bit)));
        rules.insert(call, creates.collect::<Result<_, _>>()?);
    }
    let namespaces = NAMESPACES.map(|flag| rule(&[has(0, flag)?]));
    rules.insert(libc::SYS_clone, namespaces.into_iter().collect::<Result<_, _>>()?);
    if !policy.own_processes {
        rules.extend(SHARED.iter().map(|call| (*call, Vec::new())));
        // A limit on processor time kills a process as a signal does.
        let limit = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
        let limits_another = rule(&[differs(0, 0)?, limit])?;
        rules.insert(libc::SYS_prlimit64, vec![limits_another]);
    }
    if !policy.unix_sockets {
        let kinds = DATAGRAMS.map(|kind| rule(&[masked(1, KIND, kind)?]));
        rules.insert(libc::SYS_socketpair, kinds.into_iter().collect::<Result<_, _>>()?);
    }
    let mut families = vec![libc::AF_NETLINK];
    families.extend(policy.unix_sockets.then_some(libc::AF_UNIX));
    families.extend(
        policy.internet_sockets.then_some([libc::AF_INET, libc::AF_INET6]).into_iter().flatten(),
    );
    let other = families.into_iter().map(|family| differs(0, family.unsigned_abs().into()));
    let other = other.collect::<Result<Vec<_>, _>>()?;
    rules.insert(libc::SYS_socket, vec![rule(&other)?]);
    Ok(rules)
}

/// Calls that give a file its mode, and which argument that is.
fn mode_calls() -> Vec<(i64, u8)> {
    let mut calls = vec![
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (libc::SYS_fchmodat2, 2),
        (libc::SYS_mknodat, 2),
    ];
    #[cfg(target_arch = "x86_64")]
    calls.extend([(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)]);
    calls
}

/// Calls that may create a file, with the arguments that hold the flags and the mode.
fn opening_calls() -> Vec<(i64, u8, u8)> {
    let mut calls = vec![(libc::SYS_openat, 2, 3)];
    #[cfg(target_arch = "x86_64")]
    calls.push((libc::SYS_open, 1, 2));
    calls
}

fn rule(conditions: &[SeccompCondition]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.to_vec())
}

fn equal(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

/// Whether an argument of 32 bits is another value.
fn differs(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

/// Whether an argument has a bit.
fn has(argument: u8, bit: u64) -> Result<SeccompCondition, BackendError> {
    masked(argument, bit, bit)
}

/// Whether some bits of an argument have this value.
fn masked(argument: u8, bits: u64, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bits), value)
}

/// The start of a filter: calls in [`MISSING`] and all of the x32 kind are missing, and what follows
/// judges every other. Other processors have no calls of that kind.
fn missing() -> BpfProgram {
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        // Load the number of the call; is it at least X32, and not -1, which a tracer sets?
        step(0x20, 0, 0, 0),
        step(0x35, 0, 1, X32),
        step(0x15, 3, 2, u32::MAX),
        step(0x15, 1, 0, MISSING[0]),
        step(0x15, 0, 1, MISSING[1]),
        step(0x06, 0, 0, 0x0005_0000 | libc::ENOSYS.unsigned_abs()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a filter of these few steps returns for a call; `None` if the rest must judge.
    fn judged(filter: &[sock_filter], call: u32) -> Option<u32> {
        let (mut at, mut loaded) = (0, 0);
        while let Some(step) = filter.get(at) {
            let jump = |is: bool| usize::from(if is { step.jt } else { step.jf });
            at += 1;
            match step.code {
                0x20 => loaded = call,
                0x35 => at += jump(loaded >= step.k),
                0x15 => at += jump(loaded == step.k),
                0x06 => return Some(step.k),
                code => panic!("{code}"),
            }
        }
        assert_eq!(at, filter.len(), "past the first step of the rest");
        None
    }

    /// Most kernels do not have them, so that no test of a whole command shows it.
    #[test]
    fn calls_of_the_x32_kind_are_missing() {
        let absent = Some(0x0005_0000 | libc::ENOSYS.unsigned_abs());
        for call in [X32, X32 + 101, u32::MAX - 1, MISSING[0], MISSING[1]] {
            assert_eq!(judged(&missing(), call), absent, "{call}");
        }
        for call in [0, 101, MISSING[0] - 1, MISSING[1] + 1, X32 - 1, u32::MAX] {
            assert_eq!(judged(&missing(), call), None, "{call}");
        }
    }
}
