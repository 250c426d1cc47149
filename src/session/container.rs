//! Containers: a command in a sandbox, run by podman or docker with nothing but the sandbox, its
//! quarantine and the repository's objects mounted. The image is the user's own and must hold git.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::sandbox::Sandbox;
use crate::session::confine::{Network, environment, machine};
use crate::sys::{path, process};

/// The home inside. What is written there goes with the container.
const HOME: &str = "/home/sandbox";
/// Where podman's packages put the program that `--init` needs.
const INIT: [&str; 3] =
    ["/usr/libexec/podman/catatonit", "/usr/lib/podman/catatonit", "/usr/bin/catatonit"];
/// How to find out which program is set.
const SHOW_PROGRAM: &str = "git config --show-origin --get sandbox.container";
/// Variables that mean the same inside; `*` stands for any letters. The image has its own PATH and shell.
const PASSED: [&str; 7] =
    ["GIT_SANDBOX_*", "GIT_AUTHOR_*", "GIT_COMMITTER_*", "TERM", "COLORTERM", "NO_COLOR", "TZ"];

/// A path that a container sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Where it is outside.
    pub source: PathBuf,
    /// Where it is inside.
    pub target: PathBuf,
    /// Whether it can be changed from inside.
    pub is_writable: bool,
}

impl Mount {
    /// A path that can be changed from inside.
    pub fn writable(source: &Path, target: &Path) -> Mount {
        Mount { source: source.to_owned(), target: target.to_owned(), is_writable: true }
    }

    /// A path that can only be read from inside.
    pub fn read_only(source: &Path, target: &Path) -> Mount {
        Mount { is_writable: false, ..Mount::writable(source, target) }
    }

    /// The value of an option `-v`.
    pub fn option(&self) -> OsString {
        let mut text = self.source.clone().into_os_string();
        text.push(":");
        text.push(&self.target);
        if !self.is_writable {
            text.push(":ro");
        }
        text
    }
}

/// The user's own settings of git, to be read inside: who commits, above all.
fn own_settings() -> Vec<Mount> {
    let Some(home) = path::absolute("HOME") else { return Vec::new() };
    let files = [".gitconfig", ".config/git/config"].into_iter();
    let files = files.filter(|name| home.join(name).is_file());
    files.map(|name| Mount::read_only(&home.join(name), &Path::new(HOME).join(name))).collect()
}

/// A container that a command is to run in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    program: PathBuf,
    image: String,
    /// More options of the user's, each as one word.
    options: Vec<String>,
    /// Patterns of names of variables that it gets too.
    env: Vec<String>,
    network: Network,
    /// What it sees of the machine; known once the quarantine is there.
    pub mounts: Vec<Mount>,
}

impl Container {
    /// A container of an image. `program` is that of `sandbox.container`, else podman or docker is
    /// taken, whichever is there; none of them may lie in an untrusted folder, where a command may have
    /// put it.
    pub fn new(
        sandbox: &Sandbox,
        image: &str,
        program: Option<&str>,
        untrusted: &[&Path],
        options: Vec<String>,
        (network, env): (Network, Vec<String>),
    ) -> Result<Container> {
        let refuse = |why: String, hint: &str| Error::NotConfined {
            name: sandbox.name(),
            why,
            hints: vec![hint.to_owned()],
        };
        if network == Network::Hosts {
            let why = "'--network=hosts' is not for containers".to_owned();
            return Err(refuse(
                why,
                "use '--network=off', or '--confine' instead of '--container'",
            ));
        }
        if image.is_empty() || image.starts_with('-') {
            return Err(refuse(
                format!("'{image}' is no name of an image"),
                "name one that has git",
            ));
        }
        let wanted: Vec<&str> = program.map_or(vec!["podman", "docker"], |program| vec![program]);
        let found = wanted.iter().find_map(|name| machine::program(name, untrusted));
        let program = found.ok_or_else(|| {
            let why = format!("{} is not installed", wanted.join(" or "));
            refuse(why, program.map_or("sudo apt install podman", |_| SHOW_PROGRAM))
        })?;
        let (image, mounts) = (image.to_owned(), Vec::new());
        Ok(Container { program, image, options, env, network, mounts })
    }

    /// What is confined, in one line.
    pub fn introduction(&self) -> String {
        let network = match self.network {
            Network::Off => "no network",
            Network::On | Network::Hosts => "network on",
        };
        let image = &self.image;
        format!("in a container of '{image}': writes only in this sandbox; {network}; home hidden")
    }

    /// Puts a command inside: its words, folder and the variables that are meant for it.
    pub fn wrap(&self, command: &Command, on_terminal: bool) -> Command {
        #[expect(clippy::disallowed_methods, reason = "the launcher")]
        let mut run = Command::new(&self.program);
        run.args(["run", "--rm", "-i"]);
        run.args(on_terminal.then_some("-t"));
        let is_podman = self.program.file_name().is_some_and(|name| name == "podman");
        run.args(
            (!is_podman || INIT.iter().any(|path| Path::new(path).exists())).then_some("--init"),
        );
        let (user, group) = process::user_and_group();
        // Without it, the user's id means another user inside.
        run.args((is_podman && user != 0).then_some("--userns=keep-id"));
        run.arg("--user").arg(format!("{user}:{group}"));
        run.args(["--security-opt", "no-new-privileges", "--cap-drop", "all"]);
        run.args((self.network == Network::Off).then_some("--network=none"));
        for mount in &self.mounts {
            run.arg("-v").arg(mount.option());
        }
        run.arg("--tmpfs").arg(format!("{HOME}:rw,exec,mode=1777"));
        for mount in own_settings() {
            run.arg("-v").arg(mount.option());
        }
        run.arg("-e").arg(format!("HOME={HOME}")).args(["-e", "GIT_SANDBOX_CONFINED=1"]);
        for name in self.variables(command) {
            run.arg("-e").arg(name);
        }
        run.arg("-w").arg(command.get_current_dir().unwrap_or(Path::new("/")));
        run.args(&self.options).arg(&self.image);
        run.arg(command.get_program()).args(command.get_args());
        // By name alone: values of variables do not belong into a list of processes.
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => run.env(name, value),
                None => run.env_remove(name),
            };
        }
        run
    }

    /// The names of the variables that the command gets.
    fn variables(&self, command: &Command) -> BTreeSet<OsString> {
        let own = |name: &OsStr| {
            let name = name.to_string_lossy();
            PASSED.iter().any(|pattern| environment::matches(pattern, &name))
        };
        let usual = environment::of(command, &[]);
        let all = environment::of(command, &self.env);
        let wanted = all.into_keys().filter(|name| own(name) || !usual.contains_key(name));
        wanted.collect()
    }
}
