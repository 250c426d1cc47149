//! System calls that are closed to a confined command. Each works without walls.

use crate::fixture::cell::{Cell, ESCAPED};

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
