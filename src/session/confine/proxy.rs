//! The proxy outside, which connects a confined command to the hosts that the user named and to no
//! other. It listens on a socket that is mounted into the command's view.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::error::{Doing, Result};
use crate::sys::scratch::Scratch;

/// The most that the head of a request may have.
const HEAD: u64 = 64 * 1024;
/// The most connections at a time: a command inside must not use up the threads and open files that the
/// runner outside has.
const MOST: usize = 256;
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
/// How long a host may take to answer the call, and a client to say what it wants.
const PATIENCE: Duration = Duration::from_secs(30);
/// Ports that a name without a port means.
const PORTS: [u16; 2] = [443, 80];

/// A proxy at work. Once it is dropped, no new connection is possible.
#[derive(Debug)]
pub struct Open {
    socket: PathBuf,
    _folder: Scratch,
}

impl Open {
    /// Opens a proxy to these hosts.
    pub fn to(hosts: &[String]) -> Result<Open> {
        let folder = Scratch::new()?;
        let socket = folder.path().join("proxy");
        let listener = UnixListener::bind(&socket).at("listen on", &socket)?;
        let hosts: Arc<[String]> = hosts.into();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // Each connection has the hosts once more.
                if Arc::strong_count(&hosts) > MOST {
                    let _ = (&client).write_all(BUSY);
                    continue;
                }
                let hosts = Arc::clone(&hosts);
                // What goes wrong with a connection is the command's to see.
                let _ = thread::Builder::new().spawn(move || drop(serve(client, &hosts)));
            }
        });
        Ok(Open { socket, _folder: folder })
    }

    /// The socket that it listens on.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    host: String,
    port: u16,
    /// What is sent to the host first; `None` where the client wants a plain connection.
    head: Option<String>,
}

fn serve(client: UnixStream, hosts: &[String]) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut answer = client.try_clone()?;
    client.set_read_timeout(Some(PATIENCE))?;
    let head = read_head(&mut reader)?;
    client.set_read_timeout(None)?;
    let Some(request) = parse(&head) else {
        return answer.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    };
    let Some(by_wildcard) = allowed(hosts, &request) else {
        let text = format!("git sandbox: '{}' is not in sandbox.confineHost\n", request.host);
        let head = format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {}\r\n\r\n", text.len());
        return answer.write_all(format!("{head}{text}").as_bytes());
    };
    let Ok(host) = connect(&request, by_wildcard) else {
        return answer.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
    };
    match &request.head {
        Some(head) => (&host).write_all(head.as_bytes())?,
        None => answer.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
    }
    // What the client sent on is in the reader already.
    let early = reader.buffer().to_vec();
    (&host).write_all(&early)?;
    let (mut to_host, mut from_client) = (host.try_clone()?, client.try_clone()?);
    let up = thread::Builder::new().spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_host);
        let _ = to_host.shutdown(Shutdown::Write);
    })?;
    let (mut from_host, mut to_client) = (host, client);
    let _ = io::copy(&mut from_host, &mut to_client);
    let _ = to_client.shutdown(Shutdown::Write);
    let _ = up.join();
    Ok(())
}

/// The lines up to the empty one.
fn read_head(reader: &mut impl BufRead) -> io::Result<String> {
    let mut head = Vec::new();
    let mut limited = reader.take(HEAD);
    while limited.read_until(b'\n', &mut head)? > 0 {
        if head.ends_with(b"\r\n\r\n") || head.ends_with(b"\n\n") {
            break;
        }
    }
    String::from_utf8(head).map_err(io::Error::other)
}

/// Reads `CONNECT host:port` or `GET http://host/path`. A request of the second kind is rewritten for
/// the host, and is the only one on its connection.
fn parse(head: &str) -> Option<Request> {
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if method == "CONNECT" {
        let (host, port) = split(target, 443)?;
        return Some(Request { host, port, head: None });
    }
    let rest = target.strip_prefix("http://")?;
    let (place, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let (host, port) = split(place, 80)?;
    let kept = lines.filter(|line| {
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        !line.is_empty()
            && !["proxy-connection", "proxy-authorization", "connection", "keep-alive", "host"]
                .contains(&name.as_str())
    });
    let kept: String = kept.flat_map(|line| [line, "\r\n"]).collect();
    let head =
        format!("{method} {path} {version}\r\nHost: {place}\r\nConnection: close\r\n{kept}\r\n");
    Some(Request { host, port, head: Some(head) })
}

/// `host:port`, `[address]:port`, or a host alone.
fn split(place: &str, port: u16) -> Option<(String, u16)> {
    let (host, port) = match place.rsplit_once(':') {
        Some((host, digits)) if !host.contains(':') || host.ends_with(']') => {
            (host, digits.parse().ok()?)
        }
        _ => (place, port),
    };
    let host = host.trim_start_matches('[').trim_end_matches([']', '.']);
    let is_host = |letter: char| letter.is_ascii_alphanumeric() || "-._:".contains(letter);
    (!host.is_empty() && host.chars().all(is_host)).then(|| (host.to_ascii_lowercase(), port))
}

/// Whether a host may be reached: `Some(true)` if only a wildcard says so.
fn allowed(hosts: &[String], request: &Request) -> Option<bool> {
    let named = hosts.iter().filter(|pattern| is_named(pattern, &request.host, request.port));
    named.map(|pattern| pattern.contains('*')).min()
}

/// Whether `sandbox.confineHost` names a host: `example.com`, `*.example.com`, `localhost:8080`,
/// `[::1]:8080`. Without a port, 443 and 80 are meant.
fn is_named(pattern: &str, host: &str, port: u16) -> bool {
    let (name, ports) = match pattern.rsplit_once(':') {
        Some((name, digits)) if !name.contains(':') || name.ends_with(']') => {
            match digits.parse() {
                Ok(port) => (name, vec![port]),
                Err(_) => return false,
            }
        }
        _ => (pattern, PORTS.to_vec()),
    };
    let name = name.trim_start_matches('[').trim_end_matches([']', '.']).to_ascii_lowercase();
    let is_name = match name.strip_prefix("*.") {
        Some(domain) => {
            host.strip_suffix(domain).is_some_and(|lead| lead.len() > 1 && lead.ends_with('.'))
        }
        None => name == host,
    };
    is_name && ports.contains(&port)
}

/// Calls a host. A name that only a wildcard allows must not lead to this machine or a private network:
/// a stranger may have made that name.
fn connect(request: &Request, by_wildcard: bool) -> io::Result<TcpStream> {
    let addresses = (request.host.as_str(), request.port).to_socket_addrs()?;
    let mut last = io::Error::from(io::ErrorKind::HostUnreachable);
    for address in addresses.filter(|address| !by_wildcard || !is_near(address)) {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Whether an address is of this machine, its own link or a private network.
fn is_near(address: &SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    let near = match ip {
        IpAddr::V4(ip) => {
            // Of providers that share addresses among customers: 100.64.0.0/10.
            let is_shared = ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 64;
            let is_special = matches!(ip.octets(), [0, ..] | [192, 0, 0, _] | [198, 18 | 19, ..]);
            ip.is_loopback()
                || ip.is_link_local()
                || ip.is_private()
                || ip.is_broadcast()
                || ip.is_multicast()
                || is_shared
                || is_special
        }
        IpAddr::V6(ip) => {
            let is_private = ip.segments()[0] & 0xfe00 == 0xfc00;
            // Addresses that hold one of the older kind, which a gateway calls: it may be a near one.
            let is_translated = matches!(ip.segments(), [0, 0, 0, 0, 0, 0, ..])
                || matches!(ip.segments(), [0x64, 0xff9b, ..] | [0x2002, ..]);
            let is_site = ip.segments()[0] & 0xffc0 == 0xfec0;
            ip.is_unicast_link_local()
                || ip.is_multicast()
                || is_private
                || is_site
                || is_translated
        }
    };
    // Only an address of this machine can be bound.
    near || UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    #[test]
    fn hosts_are_named_exactly() {
        let named = |pattern: &str, host: &str, port| is_named(pattern, host, port);
        assert!(
            named("example.com", "example.com", 443) && named("Example.com", "example.com", 80)
        );
        assert!(!named("example.com", "example.com", 22));
        assert!(!named("example.com", "a.example.com", 443));
        assert!(!named("example.com", "notexample.com", 443));
        assert!(named("*.example.com", "a.b.example.com", 443));
        assert!(!named("*.example.com", "example.com", 443));
        assert!(!named("*.example.com", ".example.com", 443));
        assert!(!named("*.example.com", "notexample.com", 443));
        assert!(
            named("localhost:8080", "localhost", 8080) && !named("localhost:8080", "localhost", 80)
        );
        assert!(!named("localhost:x", "localhost", 80));
        assert!(named("[::1]:8080", "::1", 8080) && !named("[::1]:8080", "::1", 80));
        assert!(named("::1", "::1", 80) && named("[::1]", "::1", 443));
        assert!(named("example.com.", "example.com", 443) && !named("*", "example.com", 443));
    }

    /// A name that is named itself may lead anywhere, in any order of the patterns.
    #[test]
    fn a_name_counts_before_a_wildcard() {
        let request = |host: &str| Request { host: host.into(), port: 443, head: None };
        let hosts = ["*.example.com".to_owned(), "api.example.com".to_owned()];
        assert_eq!(allowed(&hosts, &request("api.example.com")), Some(false));
        assert_eq!(allowed(&hosts, &request("b.example.com")), Some(true));
        assert_eq!(allowed(&hosts, &request("example.org")), None);
    }

    #[test]
    fn a_connection_too_many_is_refused_until_others_end() {
        let proxy = Open::to(&[]).unwrap();
        let ask = || {
            let mut client = UnixStream::connect(proxy.socket()).unwrap();
            let mut answer = String::new();
            let _ = client.write_all(b"CONNECT example.com:443 HTTP/1.1\r\n\r\n");
            let _ = client.read_to_string(&mut answer);
            answer.lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(ask(), "HTTP/1.1 403 Forbidden");
        let connect = |_| UnixStream::connect(proxy.socket()).unwrap();
        let mut idle: Vec<UnixStream> = (0..MOST - 1).map(connect).collect();
        // The last that there is room for, once the one before has ended.
        idle.extend(std::iter::repeat_with(|| connect(0)).find_map(|mut client| {
            client.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            client.read(&mut [0]).is_err().then_some(client)
        }));
        let mut client = connect(0);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, BUSY);
        drop(idle);
        let answers = std::iter::repeat_with(ask);
        let free = answers.take(10_000).find(|answer| answer == "HTTP/1.1 403 Forbidden");
        assert!(free.is_some());
    }

    #[test]
    fn requests_are_read() {
        let plain = parse("CONNECT Example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert_eq!(plain, Request { host: "example.com".into(), port: 443, head: None });
        let get = parse(
            "GET http://a.example:81/x?y HTTP/1.1\r\nHost: evil\r\nProxy-Connection: x\r\nAccept: */*\r\n\r\n",
        );
        let get = get.unwrap();
        assert_eq!((get.host.as_str(), get.port), ("a.example", 81));
        assert_eq!(
            get.head.unwrap(),
            "GET /x?y HTTP/1.1\r\nHost: a.example:81\r\nConnection: close\r\nAccept: */*\r\n\r\n"
        );
        assert_eq!(parse("GET /x HTTP/1.1\r\n\r\n"), None);
        assert_eq!(parse("CONNECT user@host:443 HTTP/1.1\r\n\r\n"), None);
        assert_eq!(split("[::1]:443", 80), Some(("::1".into(), 443)));
        fuzz::damaged_text(
            &["CONNECT a:1 HTTP/1.1\r\n\r\n", "GET http://a/b HTTP/1.1\r\nA: b\r\n\r\n"],
            |text| {
                if let Some(request) = parse(text) {
                    assert!(
                        !request.host.is_empty() && !request.host.contains(['/', '@', ' ', '\n'])
                    );
                }
            },
        );
    }

    #[test]
    fn this_machine_is_near() {
        for near in [
            "127.0.0.1:1",
            "[::1]:1",
            "[::ffff:127.0.0.1]:1",
            "0.0.0.0:1",
            "169.254.169.254:1",
            "10.1.2.3:1",
            "172.16.0.1:1",
            "192.168.1.1:1",
            "100.64.0.1:1",
            "[fd00::1]:1",
            "[fe80::1]:1",
            "[::ffff:10.0.0.1]:1",
            "[::10.0.0.1]:1",
            "[64:ff9b::10.0.0.1]:1",
            "[64:ff9b:1::10.0.0.1]:1",
            "[2002:a00:1::1]:1",
            "[fec0::1]:1",
            "[ff02::1]:1",
            "[::]:1",
            "0.1.2.3:1",
            "192.0.0.1:1",
            "198.18.0.1:1",
            "255.255.255.255:1",
            "224.0.0.1:1",
        ] {
            assert!(is_near(&near.parse().unwrap()), "{near}");
        }
        for far in ["192.0.2.1:1", "100.128.0.1:1", "[2001:db8::1]:1"] {
            assert!(!is_near(&far.parse().unwrap()), "{far}");
        }
    }
}
