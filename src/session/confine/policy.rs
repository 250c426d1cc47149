//! What our own program applies to itself inside, before it becomes the command.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The word that starts our program inside.
pub const JOB: &str = "__confine";

/// The rules for one command. They travel as one word of our command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// What may be read and run.
    pub read: Vec<PathBuf>,
    /// What may also be changed.
    pub write: Vec<PathBuf>,
    /// The Landlock version without which nothing is started; 0 where there is none to be had.
    pub landlock: u8,
    /// Whether sockets of the `AF_UNIX` kind may be made.
    pub unix_sockets: bool,
    /// Whether sockets of the internet may be made.
    pub internet_sockets: bool,
    /// Whether it sees its own processes alone, and terminals of its own.
    pub own_processes: bool,
    /// Signals that bubblewrap ignores so that it outlives them, and that the command does not.
    pub heeded: Vec<i32>,
    /// Descriptors that the command keeps besides stdin, stdout and stderr.
    pub kept: Vec<i32>,
    /// The socket of the proxy that reaches named hosts, and the port that leads to it inside.
    pub proxy: Option<Proxy>,
}

/// The way to the proxy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proxy {
    /// The socket that the proxy listens on, as it is seen inside.
    pub socket: PathBuf,
    /// The port on the loopback device that is connected to it.
    pub port: u16,
}
