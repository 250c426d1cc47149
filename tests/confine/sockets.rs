//! What a confined command reaches by sockets, with each kind of network. All servers are the test's own.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::thread;

use crate::fixture::cell::{Cell, ESCAPED};
use crate::fixture::files::chmod;
use crate::fixture::process::finished;

/// Servers outside that whoever connects to has escaped.
struct Servers {
    _unix: Vec<UnixListener>,
    tcp: TcpListener,
    udp: UdpSocket,
    home: PathBuf,
    tmp: PathBuf,
    name: String,
}

impl Servers {
    fn of(cell: &Cell) -> Servers {
        let (home, name) = (cell.lab.home.join("socket"), cell.mark());
        let tmp = PathBuf::from("/tmp").join(format!("{name}.socket"));
        let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
        let unix = vec![
            UnixListener::bind(&home).unwrap(),
            UnixListener::bind(&tmp).unwrap(),
            UnixListener::bind_addr(&abstract_name).unwrap(),
        ];
        chmod(&home, 0o777);
        chmod(&tmp, 0o777);
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        Servers { _unix: unix, tcp, udp, home, tmp, name }
    }

    /// Scripts that connect, by what they connect to.
    fn calls(&self) -> [(&'static str, String); 4] {
        let unix = |path: &str| format!("s = socket.socket(socket.AF_UNIX); s.connect({path})");
        let port = self.tcp.local_addr().unwrap().port();
        [
            ("a socket in the home", unix(&format!("'{}'", self.home.display()))),
            ("a socket in /tmp", unix(&format!("'{}'", self.tmp.display()))),
            ("an abstract socket", unix(&format!("'\\0{}'", self.name))),
            ("localhost", format!("s = socket.create_connection(('127.0.0.1', {port}), 5)")),
        ]
    }

    fn datagram(&self) -> String {
        let port = self.udp.local_addr().unwrap().port();
        format!(
            "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', {port}))"
        )
    }

    /// Whether a datagram has arrived.
    fn heard(&self) -> bool {
        self.udp.recv(&mut [0; 8]).is_ok()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.tmp);
    }
}

fn python(code: &str) -> String {
    format!(
        "python3 - <<'END'\nimport socket\ntry:\n    {code}\n    print('{ESCAPED}')\nexcept OSError as error: print(error)\nEND\n"
    )
}

#[track_caller]
fn escapes(output: &std::process::Output) -> bool {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !stderr.contains("Traceback"), "{output:?}");
    String::from_utf8_lossy(&output.stdout).contains(ESCAPED)
}

#[test]
fn sockets_of_the_users_session_are_out_of_reach() {
    let Some(cell) = Cell::new() else { return };
    let servers = Servers::of(&cell);
    for (what, code) in servers.calls() {
        assert!(escapes(&cell.free(&python(&code))), "{what}");
        let on = escapes(&cell.confined(&["--network=on"], &python(&code)));
        // On is the network of the machine.
        assert_eq!(on, what == "localhost", "{what}");
        assert!(!escapes(&cell.confined(&["--network=off"], &python(&code))), "{what}");
        let landlock = "--confine=landlock";
        let on = escapes(&cell.confined(&[landlock], &python(&code)));
        assert_eq!(on, what == "localhost", "{what}");
        assert!(!escapes(&cell.confined(&[landlock, "--network=off"], &python(&code))), "{what}");
    }
}

#[test]
fn without_a_network_nothing_is_heard_outside() {
    let Some(cell) = Cell::new() else { return };
    let servers = Servers::of(&cell);
    cell.confined(&["--network=off"], &python(&servers.datagram()));
    cell.confined(&["--confine=landlock", "--network=off"], &python(&servers.datagram()));
    assert!(!servers.heard());
    assert!(escapes(&cell.free(&python(&servers.datagram()))));
    assert!(servers.heard());
    let vsock = "s = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)";
    assert!(!escapes(&cell.confined(&["--network=off"], &python(vsock))));
    let own =
        "s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname())";
    assert!(
        escapes(&cell.confined(&["--network=off"], &python(own))),
        "its own loopback device works"
    );
}

/// A web server that answers every request with one word.
fn web_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if client.read(&mut byte).unwrap_or(0) == 0 {
                    break;
                }
                head.extend(byte);
            }
            let _ = client.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nwelcome\n",
            );
        }
    });
    port
}

#[test]
fn only_named_hosts_are_reached_through_the_proxy() {
    let Some(cell) = Cell::new() else { return };
    let (named, other) = (web_server(), web_server());
    let host = format!("sandbox.confineHost=localhost:{named}");
    let run = |code: &str| {
        let script = format!(
            "python3 - <<'END'\nimport http.client, os, socket, urllib.request\ntry:\n    {code}\nexcept OSError as error: print('no:', error)\nEND\n"
        );
        let words = [
            "-c",
            &host,
            "sandbox",
            "run",
            "--confine",
            "--network=hosts",
            "box",
            "--",
            "sh",
            "-c",
            &script,
        ];
        let output = finished(&mut cell.command(&[&["git"], &words[..]].concat()));
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            stderr,
            "confined: writes only in this sandbox; network: 1 host; home hidden (git sandbox doctor --confine)\n"
        );
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let get = |place: &str| {
        format!("print(urllib.request.urlopen('http://{place}/x', timeout=10).read())")
    };
    assert_eq!(run(&get(&format!("localhost:{named}"))), "b'welcome\\n'\n");
    assert_eq!(run(&get(&format!("localhost:{other}"))), "no: HTTP Error 403: Forbidden\n");
    assert_eq!(run(&get(&format!("127.0.0.1:{named}"))), "no: HTTP Error 403: Forbidden\n");
    let tunnel = |port: u16| {
        format!(
            "c = http.client.HTTPConnection('127.0.0.1', 3128, timeout=10); c.set_tunnel('localhost', {port}); \
             c.request('GET', '/'); print(c.getresponse().read())"
        )
    };
    assert_eq!(run(&tunnel(named)), "b'welcome\\n'\n");
    assert_eq!(run(&tunnel(other)), "no: Tunnel connection failed: 403 Forbidden\n");
    let direct = format!("socket.create_connection(('127.0.0.1', {named}), 5); print('{ESCAPED}')");
    assert_eq!(run(&direct), "no: [Errno 111] Connection refused\n");
    assert_eq!(run("socket.socket(socket.AF_UNIX)"), "no: [Errno 1] Operation not permitted\n");
    assert_eq!(run("a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))"), "b'x'\n");
}

/// A name that only a wildcard allows must not lead to this machine: its owner says where it leads.
#[test]
fn a_wildcard_does_not_lead_to_this_machine() {
    let Some(cell) = Cell::new() else { return };
    let port = web_server();
    let get = format!(
        "python3 - <<'END'\nimport urllib.request\ntry: print(urllib.request.urlopen('http://127.0.0.1:{port}/x', timeout=10).read())\nexcept OSError as error: print(error)\nEND\n"
    );
    let run = |pattern: &str| {
        let host = format!("sandbox.confineHost={pattern}:{port}");
        let words = ["git", "-c", &host, "sandbox", "run", "--confine", "--network=hosts"];
        let words = [&words[..], &["box", "--", "sh", "-c", &get]].concat();
        String::from_utf8(finished(&mut cell.command(&words)).stdout).unwrap()
    };
    assert_eq!(run("*.0.0.1"), "HTTP Error 502: Bad Gateway\n");
    assert_eq!(run("127.0.0.1"), "b'welcome\\n'\n");
}
