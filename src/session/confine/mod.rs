//! Walls around a command: it can commit, rebase and build in its sandbox, and change nothing else.
//!
//! At the path of the common git dir the command sees a private one, the quarantine, which
//! `lifecycle/quarantine/` makes before and takes over from afterwards. Here are only the walls: what
//! the user wishes ([`Wish`]), what the command sees ([`Places`]), whether this machine can do it
//! ([`Walls::probe`]), and the command inside ([`Walls::wrap`]).
//!
//! bubblewrap makes the namespaces and the mounts and starts our own program again
//! ([`inside`]), which applies Landlock and seccomp to itself and becomes the command. Each of the
//! three holds by itself where it can, so that a hole in one is not a way out. bubblewrap's own process
//! inside has the filter of system calls too.

mod alone;
#[cfg(target_os = "linux")]
mod calls;
mod check;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
pub mod environment;
#[cfg(target_os = "linux")]
mod files;
mod forward;
pub mod inside;
pub mod machine;
mod mounts;
mod policy;
mod proxy;
mod secrets;
pub mod settings;
mod wish;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

pub use self::alone::Pointer;
#[cfg(not(target_os = "linux"))]
use self::elsewhere::{calls, files};
pub use self::mounts::borrowed;
pub use self::wish::{Places, Wish};
use crate::error::{Doing, Error, Result};
use crate::repo::Repo;
pub use crate::sandbox::record::{Level, Network};
use crate::sys::signals::Target;
use crate::sys::{process, signals};
use crate::ui::words::shell_word;

/// Ignores the signals of the terminal and of `kill`, and becomes bubblewrap: it must outlive them, for
/// with its end the command is killed. Inside they are heeded again.
const IGNORING: &str = "trap '' HUP INT QUIT TERM; exec \"$@\"";
/// The descriptor on which bubblewrap says what it has started.
const INFO_FD: i32 = 197;
/// The descriptor from which bubblewrap reads the filter of its own process inside.
const FILTER_FD: i32 = 196;
/// The port inside that leads to the proxy.
const PROXY_PORT: u16 = 3128;
/// The version of Landlock that keeps a command from abstract sockets of the user's session.
const SCOPES: u8 = 6;

/// Walls for the commands of one sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Walls {
    name: String,
    wish: Wish,
    places: Places,
}

/// A command inside the walls. Its stdin, stdout and stderr are still to be set.
#[derive(Debug)]
pub struct Confined {
    /// What is to be started.
    pub command: Command,
    /// Descriptors that it must inherit, with their numbers.
    pub descriptors: Vec<(OwnedFd, i32)>,
    /// What must live as long as the command.
    pub held: Held,
}

impl Confined {
    /// A command outside of all walls.
    pub fn not_at_all(command: Command) -> Confined {
        Confined { command, descriptors: Vec::new(), held: Held::default() }
    }
}

/// What a confined command needs from outside as long as it runs.
#[derive(Debug, Default)]
pub struct Held {
    proxy: Option<proxy::Open>,
    pointer: Option<alone::Pointer>,
    /// Where bubblewrap says which process is the first of the namespace.
    said: Option<PipeReader>,
}

impl Held {
    /// Finds the first process of the command's namespace, with which all others in it end. Our own end
    /// of the pipe that tells it must be closed.
    pub fn first_process(&mut self) -> Option<Target> {
        let mut text = String::new();
        self.said.take()?.read_to_string(&mut text).ok()?;
        let info: serde_json::Value = serde_json::from_str(&text).ok()?;
        Target::of(info["child-pid"].as_u64()?.try_into().ok()?)
    }

    /// Ends what helped the command, now that it has ended. Returns what to warn of, if the command has
    /// replaced the folder's pointer.
    pub fn close(self) -> Result<Option<String>> {
        drop(self.proxy);
        let Some(pointer) = self.pointer else { return Ok(None) };
        alone::end_the_rest();
        pointer.put_back()
    }
}

impl Wish {
    /// Fails where this machine cannot do it.
    pub fn check_machine(&self, name: &str) -> Result<()> {
        let written: Vec<&Path> = self.write.iter().map(PathBuf::as_path).collect();
        self.check(name, &written)
    }

    fn check(&self, name: &str, untrusted: &[&Path]) -> Result<()> {
        let refuse = |why: String, hints: Vec<String>| {
            Err(Error::NotConfined { name: name.to_owned(), why, hints })
        };
        if self.network == Network::Hosts && self.hosts.is_empty() {
            let hint = "git config --global --add sandbox.confineHost <host>".to_owned();
            return refuse("no host is named for '--network=hosts'".into(), vec![hint]);
        }
        if self.network == Network::Hosts && self.level == Level::Landlock {
            return refuse("'--network=hosts' needs the full level".into(), Vec::new());
        }
        match machine::lack(self.level, self.network, untrusted)? {
            None => Ok(()),
            Some(lack) => refuse(lack.in_words(), lack.hints(name)),
        }
    }
}

impl Walls {
    /// Walls for a sandbox of this name, as the user wishes them, around these places.
    pub fn new(name: &str, wish: Wish, places: Places) -> Walls {
        Walls { name: name.to_owned(), wish, places }
    }

    /// By which means they are made.
    pub fn level(&self) -> Level {
        self.wish.level
    }

    /// Fails where this machine cannot make these walls, or where they would have a hole. Nothing is
    /// changed, and the quarantine need not be there yet.
    pub fn probe(&self, repo: &Repo) -> Result<()> {
        check::settings(&self.name, &self.wish, &self.places, &settings::home()?)?;
        settings::not_gits_own(repo, &self.wish)?;
        self.wish.check(&self.name, &self.untrusted())
    }

    /// Folders in which a confined command may have put programs.
    fn untrusted(&self) -> Vec<&Path> {
        let written = self.wish.write.iter().map(PathBuf::as_path);
        written.chain([self.places.folder.as_path(), &self.places.root]).collect()
    }

    /// Fails if the command's program is hidden by these walls, and says how it is shown.
    pub fn check_program(&self, word: &OsStr) -> Result<()> {
        let path = std::env::var_os("PATH");
        let Ok(found) = which::which_in(word, path, &self.places.folder) else { return Ok(()) };
        let home = settings::home()?;
        let view = mounts::View::of(&self.wish, &self.places, &home, &found, None);
        let real = found.canonicalize().unwrap_or_else(|_| found.clone());
        let Some(hidden) = [found, real].into_iter().find(|path| !view.shows(path)) else {
            return Ok(());
        };
        let folder = hidden.parent().unwrap_or(&hidden).to_string_lossy().into_owned();
        let why = format!("'{}' is hidden from it", hidden.display());
        let hint = format!("git config --global --add sandbox.confineRead {}", shell_word(&folder));
        Err(Error::NotConfined { name: self.name.clone(), why, hints: vec![hint] })
    }

    /// Puts a command inside: its program, words, folder and variables are kept as far as the walls
    /// let them through. Checks the quarantine's own files first.
    ///
    /// `lock` is the descriptor of the sandbox's lock, which a command without namespaces holds as others
    /// do. One with namespaces is killed when we end.
    pub fn wrap(&self, command: &Command, lock: i32) -> Result<Confined> {
        check::places(&self.name, &self.places)?;
        match self.wish.level {
            Level::Full => self.wrap_fully(command),
            Level::Landlock => self.wrap_alone(command, lock),
        }
    }

    /// Landlock and seccomp alone: our own program, which becomes the command.
    fn wrap_alone(&self, command: &Command, lock: i32) -> Result<Confined> {
        alone::make_scratch(&self.places)?;
        let policy = alone::policy(&self.wish, &self.places, lock);
        let policy = serde_json::to_string(&policy).map_err(std::io::Error::from);
        #[expect(clippy::disallowed_methods, reason = "the launcher")]
        let mut run = Command::new(process::ourselves()?);
        run.arg(policy::JOB).arg(policy.doing(|| "write the policy".into())?).arg("--");
        run.arg(command.get_program()).args(command.get_args());
        run.env_clear().envs(self.variables(command, &settings::home()?));
        run.envs(alone::variables(&self.places));
        run.current_dir(command.get_current_dir().unwrap_or(&self.places.folder));
        let pointer = Some(alone::Pointer::of(&self.places.folder, &self.places.entry)?);
        alone::adopt();
        let held = Held { pointer, ..Held::default() };
        Ok(Confined { command: run, descriptors: Vec::new(), held })
    }

    /// Namespaces and mounts by bubblewrap, with Landlock and seccomp inside.
    fn wrap_fully(&self, command: &Command) -> Result<Confined> {
        let home = settings::home()?;
        let ourselves = process::ourselves()?;
        let bubblewrap = machine::bubblewrap(&self.untrusted());
        let bubblewrap = bubblewrap.ok_or_else(|| self.lacking(&machine::Lack::NoBubblewrap))?;
        let open = match self.wish.network {
            Network::Hosts => Some(proxy::Open::to(&self.wish.hosts)?),
            Network::On | Network::Off => None,
        };
        let socket = open.as_ref().map(proxy::Open::socket);
        let view = mounts::View::of(&self.wish, &self.places, &home, &ourselves, socket);
        let policy = self.policy(&view);
        let filter = filter(&policy)?;
        let policy = serde_json::to_string(&policy).map_err(std::io::Error::from);
        #[expect(clippy::disallowed_methods, reason = "the launcher")]
        let mut run = Command::new("/bin/sh");
        run.args(["-c", IGNORING, "sh"]).arg(bubblewrap);
        run.args(mounts::namespaces(self.wish.network));
        let (said, says) = std::io::pipe().doing(|| "make a pipe".into())?;
        run.args(["--die-with-parent", "--info-fd"]).arg(INFO_FD.to_string());
        run.arg("--seccomp").arg(FILTER_FD.to_string());
        run.args(view.options());
        run.arg("--chdir").arg(command.get_current_dir().unwrap_or(&self.places.folder));
        run.args(["--", mounts::PROGRAM, policy::JOB]);
        run.arg(policy.doing(|| "write the policy".into())?).arg("--");
        run.arg(command.get_program()).args(command.get_args());
        run.env_clear().envs(self.variables(command, &home)).current_dir("/");
        let held = Held { proxy: open, pointer: None, said: Some(said) };
        let descriptors = vec![(says.into(), INFO_FD), (filter.into(), FILTER_FD)];
        Ok(Confined { command: run, descriptors, held })
    }

    fn lacking(&self, lack: &machine::Lack) -> Error {
        let (why, hints) = (lack.in_words(), lack.hints(&self.name));
        Error::NotConfined { name: self.name.clone(), why, hints }
    }

    fn policy(&self, view: &mounts::View) -> policy::Policy {
        let version = files::version();
        let heeded = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];
        let heeded = heeded.into_iter().filter(|signal| !signals::is_ignored(*signal));
        let socket = PathBuf::from(mounts::PROXY);
        let proxy = (self.wish.network == Network::Hosts)
            .then_some(policy::Proxy { socket, port: PROXY_PORT });
        let mut policy = policy::Policy {
            read: Vec::new(),
            write: Vec::new(),
            landlock: version,
            unix_sockets: may_have_unix_sockets(self.wish.network, version),
            // Where the network is off, the namespace has only a loopback device of its own.
            internet_sockets: true,
            own_processes: true,
            heeded: heeded.collect(),
            kept: Vec::new(),
            proxy,
        };
        view.grant(&mut policy);
        policy
    }

    fn variables(&self, command: &Command, home: &Path) -> Vec<(OsString, OsString)> {
        let mut variables = environment::of(command, &self.wish.env);
        variables.insert("HOME".into(), home.into());
        variables.insert("GIT_SANDBOX_CONFINED".into(), "1".into());
        // 'git sandbox' is found inside also where the program lies in a place that is hidden.
        let path = variables.remove(&OsString::from("PATH")).unwrap_or_default();
        let ours = Path::new(mounts::PROGRAM).parent().map(Path::to_owned);
        let path = std::env::join_paths(std::env::split_paths(&path).chain(ours)).unwrap_or(path);
        variables.insert("PATH".into(), path);
        if self.wish.network == Network::Hosts {
            let address = format!("http://127.0.0.1:{PROXY_PORT}");
            for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"] {
                variables.insert(name.into(), address.clone().into());
            }
        }
        variables.into_iter().collect()
    }

    /// What is confined, in one line.
    pub fn introduction(&self) -> String {
        let network = match (self.wish.network, self.wish.hosts.len()) {
            (Network::On, _) => "network on".to_owned(),
            (Network::Off, _) => "no network".to_owned(),
            (Network::Hosts, 1) => "network: 1 host".to_owned(),
            (Network::Hosts, count) => format!("network: {count} hosts"),
        };
        format!(
            "confined: writes only in this sandbox; {network}; home hidden \
             (git sandbox doctor --confine)"
        )
    }

    /// What these walls do not stop, although the full ones would.
    pub fn warning(&self) -> Option<&'static str> {
        (self.wish.level == Level::Landlock).then_some(alone::WARNING)
    }
}

/// Returns a pipe that tells the filter for bubblewrap's own process inside. The command shares a process
/// namespace with it and, without Landlock, could write into its memory.
fn filter(policy: &policy::Policy) -> Result<PipeReader> {
    let doing = || "close system calls".to_owned();
    let bytes = calls::as_bytes(policy).map_err(|error| io::Error::other(error.to_string()));
    let (reader, mut writer) = io::pipe().doing(doing)?;
    let bytes = bytes.doing(doing)?;
    // Of a filter that is cut short the kernel takes nothing, and bubblewrap starts nothing.
    thread::spawn(move || drop(writer.write_all(&bytes)));
    Ok(reader)
}

/// Whether a command with namespaces may make sockets of the `AF_UNIX` kind, with this version of
/// Landlock.
fn may_have_unix_sockets(network: Network, version: u8) -> bool {
    match network {
        // Abstract sockets belong to the network.
        Network::On => version >= SCOPES,
        Network::Off => true,
        Network::Hosts => false,
    }
}

/// Finds the command below a process that makes its walls: the first one that heeds TERM. It is waited
/// for while it is still being started.
pub fn command_below(pid: u32) -> Option<Target> {
    const PAUSE: Duration = Duration::from_millis(2);
    let mut pid = pid;
    loop {
        if !signals::is_ignored_by(pid, SIGTERM)? {
            return Target::of(pid);
        }
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        match children.split(' ').next().and_then(|child| child.parse().ok()) {
            Some(child) => pid = child,
            None => thread::sleep(PAUSE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abstract_sockets_need_a_wall_of_their_own() {
        for version in 0..=SCOPES {
            assert_eq!(may_have_unix_sockets(Network::On, version), version == 6, "{version}");
            assert!(may_have_unix_sockets(Network::Off, version));
            assert!(!may_have_unix_sockets(Network::Hosts, version));
        }
    }
}
