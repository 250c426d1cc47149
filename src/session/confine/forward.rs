//! Our program inside a network of its own: it connects a port of the loopback device to the proxy
//! outside, and waits for the command.

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use super::mounts;
use super::policy::{JOB, Policy, Proxy};
use crate::error::{Doing, Result};

/// Starts the command with the rest of the policy, forwards its connections, and waits for it.
/// Returns its exit code.
pub fn wait_for(proxy: &Proxy, policy: &Policy, words: &[OsString]) -> Result<u8> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, proxy.port));
    let listener = listener.doing(|| "listen for connections to the proxy".into())?;
    let socket = proxy.socket.clone();
    let policy = serde_json::to_string(policy).map_err(io::Error::from);
    #[expect(clippy::disallowed_methods, reason = "it is our own program")]
    let mut command = Command::new(mounts::PROGRAM);
    command.arg(JOB).arg(policy.doing(|| "write the policy".into())?).arg("--").args(words);
    let mut child = command.spawn().doing(|| "start the command".into())?;
    thread::spawn(move || accept(&listener, &socket));
    let status = child.wait().doing(|| "wait for the command".into())?;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn accept(listener: &TcpListener, socket: &Path) {
    for client in listener.incoming().flatten() {
        let socket: PathBuf = socket.to_owned();
        thread::spawn(move || drop(forward(&client, &socket)));
    }
}

fn forward(client: &TcpStream, socket: &Path) -> io::Result<()> {
    let proxy = UnixStream::connect(socket)?;
    let (mut from_client, mut to_proxy) = (client.try_clone()?, proxy.try_clone()?);
    let up = thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_proxy);
        let _ = to_proxy.shutdown(Shutdown::Write);
    });
    let (mut from_proxy, mut to_client) = (proxy, client.try_clone()?);
    let _ = io::copy(&mut from_proxy, &mut to_client);
    let _ = to_client.shutdown(Shutdown::Write);
    let _ = up.join();
    Ok(())
}
