//! Walls around a command: it can commit, rebase and build in its sandbox, and change nothing else.
//!
//! At the path of the common git dir the command sees a private one, the quarantine, which
//! `lifecycle/quarantine/` makes before and takes over from afterwards. Here are only the walls: what
//! the user wishes ([`Wish`]), what the command sees ([`Places`]), whether this machine can do it
//! ([`Walls::probe`]), and the command inside ([`Walls::wrap`]).

use std::path::PathBuf;
use std::process::Command;

use crate::error::Result;
pub use crate::sandbox::record::{Level, Network};

/// The user's settings for confinement: options first, then `sandbox.json`, then the user's own config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// By which means.
    pub level: Level,
    /// What the command reaches of the network.
    pub network: Network,
    /// Paths that it may read besides the system's.
    pub read: Vec<PathBuf>,
    /// Paths outside of its sandbox that it may change.
    pub write: Vec<PathBuf>,
    /// Names of variables that it keeps, with `*` for any letters.
    pub env: Vec<String>,
    /// Names of hosts that it reaches with [`Network::Hosts`]; `*.` at the front stands for any host
    /// below a domain.
    pub hosts: Vec<String>,
}

/// The places that a confined command sees, all of them absolute and without symlinks.
#[derive(Clone, Debug)]
pub struct Places {
    /// The quarantine, `<common>/worktrees/<id>/confined`, which stands at `common` inside. It must
    /// hold the folders `objects`, `base-objects` (empty) and `worktrees/<id>`.
    pub quarantine: PathBuf,
    /// The repository's common git dir.
    pub common: PathBuf,
    /// The sandbox's private git dir, `<common>/worktrees/<id>`.
    pub entry: PathBuf,
    /// The sandbox's folder.
    pub folder: PathBuf,
    /// The main worktree; of a bare repository the common dir.
    pub main: PathBuf,
    /// The root that holds all sandboxes, and the trash.
    pub root: PathBuf,
    /// The folders of the repository's other worktrees.
    pub others: Vec<PathBuf>,
}

/// Walls for the commands of one sandbox.
#[derive(Clone, Debug)]
pub struct Walls {
    wish: Wish,
    places: Places,
}

/// A command inside the walls. Its stdin, stdout and stderr are still to be set.
#[derive(Debug)]
pub struct Confined {
    /// What is to be started.
    pub command: Command,
    /// What must live as long as the command: the proxy of [`Network::Hosts`].
    pub held: Held,
}

/// Ends what helps a confined command from outside when it is dropped.
#[derive(Debug, Default)]
pub struct Held {}

impl Walls {
    /// Walls as the user wishes them, around these places.
    pub fn new(wish: Wish, places: Places) -> Walls {
        Walls { wish, places }
    }

    /// Walls for git of ours that looks at what a command left in the quarantine: without network, and
    /// without anything of the user's.
    pub fn for_git(&self) -> Walls {
        let (read, write, env, hosts) = Default::default();
        let wish = Wish { level: self.wish.level, network: Network::Off, read, write, env, hosts };
        Walls { wish, places: self.places.clone() }
    }

    /// Fails where this machine cannot make these walls, or where they would have a hole. Nothing is
    /// changed, and the quarantine need not be there yet.
    pub fn probe(&self, _name: &str) -> Result<()> {
        todo!()
    }

    /// Puts a command inside: its program, words, folder and variables are kept as far as the walls
    /// let them through. Checks the quarantine's own files first.
    pub fn wrap(&self, _command: &Command) -> Result<Confined> {
        todo!()
    }

    /// What is confined, in one line.
    pub fn introduction(&self) -> String {
        todo!()
    }
}
