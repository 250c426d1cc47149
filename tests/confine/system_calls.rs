//! System calls that are closed to a confined command. Each works without walls.

use crate::fixture::cell::{Cell, ESCAPED};
use crate::fixture::process::finished;

/// Calls the kernel through Python. `call` is true if the kernel did it.
const LEAD: &str = "import ctypes, os, sys, pty, fcntl, stat, socket\n\
    libc = ctypes.CDLL(None, use_errno=True)\n\
    def call(*words): return libc.syscall(*words) >= 0\n\
    def works():\n";

/// The body of a function that returns true if it got through.
const CALLS: [(&str, &str); 19] = [
    ("a debugger of its own", "return libc.ptrace(0, 0, 0, 0) == 0"),
    (
        "the memory of a process",
        "b = ctypes.create_string_buffer(8); v = (ctypes.c_void_p * 2)(ctypes.addressof(b), 8)\n    \
         return call(310, os.getpid(), v, 1, v, 1, ctypes.c_long(0))",
    ),
    ("comparing processes", "return call(312, os.getpid(), os.getpid(), 0, 0, 1)"),
    ("descriptors of a process", "return call(438, libc.syscall(434, os.getpid(), 0), 0, 0)"),
    ("faults of its own memory", "return call(323, 1)"),
    (
        "opening in the new way",
        "return call(437, -100, b'/etc/passwd', (ctypes.c_uint64 * 3)(0, 0, 0), ctypes.c_long(24))",
    ),
    ("a copy of a mount", "return call(428, -100, b'/', 0)"),
    ("io_uring", "return call(425, 1, ctypes.create_string_buffer(120))"),
    ("the keys of the session", "return call(250, 0, -3, 1, 0, 0)"),
    ("a user namespace", "return os.system('unshare -Ur true 2>/dev/null') == 0"),
    ("a mount in one", "return os.system('unshare -Urm mount -t tmpfs x /mnt 2>/dev/null') == 0"),
    (
        "a namespace by clone",
        "pid = libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)\n    \
         if pid == 0: os._exit(0)\n    return pid > 0 and os.waitpid(pid, 0)[0] == pid",
    ),
    (
        "a program with its owner's rights",
        "os.chmod('file', 0o4755); return os.stat('file').st_mode & stat.S_ISUID",
    ),
    (
        "a program with its group's rights",
        "fd = os.open('file', 0); os.fchmod(fd, 0o2755); return True",
    ),
    (
        "the same when it is made",
        "fd = os.open('suid', os.O_CREAT | os.O_RDWR, 0o4755); return os.fstat(fd).st_mode & stat.S_ISUID",
    ),
    (
        "the same without a name",
        "fd = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o4755); return os.fstat(fd).st_mode & stat.S_ISUID",
    ),
    ("the same by a node", "os.mknod('node', 0o4755 | stat.S_IFREG); return True"),
    (
        "typing into a terminal",
        "pid, fd = pty.fork()\n    \
         if pid == 0:\n        \
         try: fcntl.ioctl(0, 0x5412, b'x'); os._exit(0)\n        \
         except OSError: os._exit(1)\n    \
         return os.waitpid(pid, 0)[1] == 0",
    ),
    ("new privileges", "return 'NoNewPrivs:\\t0' in open('/proc/self/status').read()"),
];

fn script(body: &str) -> String {
    let code = format!(
        "{LEAD}    {body}\ntry:\n    if works(): print('{ESCAPED}')\nexcept OSError as error: print(error)\n"
    );
    format!("rm -f suid node; python3 - <<'END'\n{code}END\n")
}

/// What has a namespace of its own with the full level, and is closed without namespaces.
const SHARED: [(&str, &str); 5] = [
    ("shared memory", "return call(29, 0, ctypes.c_long(4096), 0o1600)"),
    ("semaphores", "return call(64, 0, 1, 0o1600)"),
    ("queues", "return call(68, 0, 0o1600)"),
    (
        "limits of another process",
        "import resource; resource.prlimit(NEIGHBOUR, resource.RLIMIT_CPU, (600, 600)); return True",
    ),
    (
        "sockets that send to any other",
        "one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); one.sendto(b'x', 'SOCKET'); return True",
    ),
];

#[test]
fn what_all_programs_share_is_closed_without_namespaces() {
    let Some(cell) = Cell::new() else { return };
    let neighbour = cell.neighbour();
    let path = cell.lab.home.join("datagrams");
    let _socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    crate::fixture::files::chmod(&path, 0o777);
    let script = |body: &str| {
        let body = body.replace("NEIGHBOUR", &neighbour.pid().to_string());
        script(&body.replace("SOCKET", path.to_str().unwrap()))
    };
    for (what, body) in SHARED {
        let output = cell.confined(&["--confine=landlock"], &script(body));
        let stdout = String::from_utf8_lossy(&output.stdout);
        let refused = match body.starts_with("return") {
            true => stdout.is_empty(),
            false => stdout == "[Errno 1] Operation not permitted\n",
        };
        assert!(output.status.success() && refused, "{what}: {output:?}");
    }
    for (what, body) in &SHARED[3..] {
        let output = cell.confined(&["--confine=full"], &script(body));
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && !stdout.contains(ESCAPED), "{what}: {output:?}");
    }
    // A process may still limit itself, and a pair of sockets that are connected is fine.
    let own = "import resource; resource.prlimit(0, resource.RLIMIT_CPU, (600, 600))\n    \
        one, other = socket.socketpair(); one.send(b'x'); return other.recv(1) == b'x'";
    let output = cell.confined(&["--confine=landlock"], &script(own));
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{ESCAPED}\n"), "{output:?}");
    for (what, body) in SHARED {
        let output = cell.free(&script(body));
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.contains(ESCAPED), "no use to close it: {what}: {output:?}");
    }
}

#[test]
fn calls_that_lead_out_are_closed() {
    let Some(cell) = Cell::new() else { return };
    let levels = ["--confine=full", "--confine=landlock"];
    let tries = levels.iter().flat_map(|level| CALLS.map(|(what, body)| (level, what, body)));
    for (level, what, body) in tries {
        let output = cell.confined(&[level], &script(body));
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(
            output.status.success() && !stdout.contains(ESCAPED),
            "{level} {what}: {stdout}{stderr}"
        );
        assert!(!stderr.contains("Traceback"), "{what}: {stderr}");
    }
    for (what, body) in CALLS {
        let output = cell.free(&script(body));
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.contains(ESCAPED), "no use to close it: {what}: {output:?}");
    }
}

/// Without Landlock, the command could write into the memory of a process that has no filter.
#[test]
fn every_process_inside_has_the_filter() {
    let Some(cell) = Cell::new() else { return };
    let code = "import glob, re\n\
        for path in sorted(glob.glob('/proc/[0-9]*'), key=lambda path: int(path[6:])):\n    \
        text = open(path + '/status').read()\n    \
        print(*re.findall(r'^(?:Name|Seccomp):\\s*(.*)$', text, re.M))";
    let host = ["-c", "sandbox.confineHost=localhost:1"];
    for (network, named) in [
        ("on", "bwrap 2\npython3 2\n"),
        ("off", "bwrap 2\npython3 2\n"),
        ("hosts", "bwrap 2\ngit-sandbox 2\npython3 2\n"),
    ] {
        let network = format!("--network={network}");
        let run =
            ["sandbox", "run", "--confine=full", &network, "box", "--", "python3", "-c", code];
        let output = finished(&mut cell.command(&[&["git"], &host[..], &run].concat()));
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), named, "{network}");
    }
}

/// Every rule of the filter, with the number of a call and words that the kernel answers with another
/// error than EPERM, and never heeds.
#[cfg(target_arch = "x86_64")]
const RULES: &str = "\
ptrace 101 -1 0 0 0
process_vm_readv 310 0 0 0 0 0 -1
process_vm_writev 311 0 0 0 0 0 -1
pidfd_getfd 438 -1 0 -1
kcmp 312 0 0 99 0 0
io_uring_setup 425 1 0
io_uring_enter 426 -1 0 0 0 0 0
io_uring_register 427 -1 99 0 0
mount 165 1 1 1 0 1
umount2 166 1 -1
pivot_root 155 1 1
chroot 161 1
move_mount 429 -1 1 -1 1 -1
open_tree 428 -1 1 -1
open_tree_attr 467 -1 1 -1 0 0
fsopen 430 1 -1
fsconfig 431 -1 99 0 0 0
fsmount 432 -1 -1 -1
fspick 433 -1 1 -1
mount_setattr 442 -1 1 -1 0 0
unshare 272 1
setns 308 -1 0
open_by_handle_at 304 -1 1 0
add_key 248 1 1 0 0 0
request_key 249 1 1 0 0
keyctl 250 99 0 0 0 0
bpf 321 -1 1 16
perf_event_open 298 1 0 -1 -1 -1
userfaultfd 323 -1
TIOCSTI 16 -1 0x5412 0
TIOCLINUX 16 -1 0x541c 0
fchmod 91 -1 0o4755
fchmod 91 -1 0o2755
fchmodat 268 -1 1 0o4755
fchmodat 268 -1 1 0o2755
fchmodat2 452 -1 1 0o4755 0
fchmodat2 452 -1 1 0o2755 0
mknodat 259 -1 1 0o4755 0
mknodat 259 -1 1 0o2755 0
chmod 90 1 0o4755
chmod 90 1 0o2755
creat 85 1 0o4755
creat 85 1 0o2755
mknod 133 1 0o4755 0
mknod 133 1 0o2755 0
openat 257 -1 1 0o100 0o4755
openat 257 -1 1 0o100 0o2755
open 2 1 0o100 0o4755
open 2 1 0o100 0o2755
clone-time 56 0x880 0 0 0 0
clone-mount 56 0x20800 0 0 0 0
clone-cgroup 56 0x2000800 0 0 0 0
clone-uts 56 0x4000800 0 0 0 0
clone-ipc 56 0x8000800 0 0 0 0
clone-user 56 0x10000800 0 0 0 0
clone-pid 56 0x20000800 0 0 0 0
clone-net 56 0x40000800 0 0 0 0
openat-nameless 257 -1 1 0o20200002 0o4755
open-nameless 2 1 0o20200002 0o2755
shmget 29 1 0 0
shmat 30 -1 0 0
shmctl 31 -1 99 0
semget 64 1 0 0
semop 65 -1 0 0
semctl 66 -1 0 99
semtimedop 220 -1 0 0 0
msgget 68 1 0
msgsnd 69 -1 1 0 0
msgrcv 70 -1 1 0 0 0
msgctl 71 -1 99 0
mq_open 240 1 0
mq_unlink 241 1
prlimit64 302 1 99 1 0
socketpair 53 1 2 0 1
AF_PACKET 41 17 99 0
AF_VSOCK 41 40 99 0
AF_ALG 41 38 99 0
AF_BLUETOOTH 41 31 99 0
AF_UNIX 41 1 99 0
AF_INET 41 2 99 0
AF_INET6 41 10 99 0
";

/// The filter by itself: other walls hide many a hole in it. The calls are made with all rights over a
/// user namespace, without which the kernel itself would refuse some.
#[cfg(target_arch = "x86_64")]
#[test]
fn each_rule_of_the_filter_closes_its_call() {
    const EPERM: &str = "1";
    const ENOSYS: &str = "38";
    let Some(cell) = Cell::new() else { return };
    let code = "import ctypes, sys\n\
        libc = ctypes.CDLL(None, use_errno=True)\n\
        for line in sys.argv[1].splitlines():\n    \
        name, *words = line.split()\n    \
        done = libc.syscall(*[ctypes.c_long(int(word, 0)) for word in words]) >= 0\n    \
        print(line, '' if done else ctypes.get_errno())";
    let answers = |before: &[&str], rules: &str| -> Vec<(String, String)> {
        let words = [&["unshare", "-Urmn"], before, &["python3", "-c", code, rules]].concat();
        let output = finished(&mut cell.command(&words));
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().map(|line| line.rsplit_once(' ').unwrap());
        lines.map(|(call, error)| (call.to_owned(), error.to_owned())).collect()
    };
    let confined = |unix: bool, internet: bool, rules: &str| {
        let policy = format!(
            r#"{{"read":["/"],"write":[],"landlock":0,"unix_sockets":{unix},"internet_sockets":{internet},"own_processes":false,"heeded":[],"kept":[],"proxy":null}}"#
        );
        answers(&["git-sandbox", "__confine", &policy, "--"], rules)
    };
    let free = answers(&[], RULES);
    assert_eq!(free.len(), RULES.lines().count());
    let refused: Vec<_> =
        free.iter().filter(|(_, error)| [EPERM, ENOSYS, ""].contains(&error.as_str())).collect();
    // A kernel that is older than a call has nothing to close.
    let refused: Vec<_> = refused
        .into_iter()
        .filter(|(call, error)| !(error == ENOSYS && call.starts_with("open_tree_attr")))
        .collect();
    assert!(refused.is_empty(), "no use to close it: {refused:?}");
    let open: Vec<_> =
        confined(false, false, RULES).into_iter().filter(|(_, error)| error != EPERM).collect();
    assert_eq!(open, [], "not closed");
    // What the arguments decide is not closed otherwise.
    let ordinary = "AF_UNIX 41 1 99 0\nAF_INET 41 2 99 0\nAF_INET6 41 10 99 0\nAF_NETLINK 41 16 99 0\n\
        TCGETS 16 -1 0x5401 0\nfchmod 91 -1 0o1755\nopenat 257 -1 1 0 0o4755\nclone 56 0x800 0 0 0 0\n";
    let closed: Vec<_> =
        confined(true, true, ordinary).into_iter().filter(|(_, error)| error == EPERM).collect();
    assert_eq!(closed, [], "closed");
    let missing = "clone3 435 0 0\nopenat2 437 -1 1 0 0\n";
    assert!(answers(&[], missing).iter().all(|(_, error)| error != ENOSYS));
    assert!(confined(true, true, missing).iter().all(|(_, error)| error == ENOSYS));
}
