//! What the user wishes of the walls, and the places that a command sees inside.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::sandbox::record::{Level, Network};

/// The user's settings for confinement: options first, then `sandbox.json`, then the user's own config.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Places {
    /// The quarantine, `<common>/worktrees/<id>/confined`, which stands at `common` inside. It must
    /// hold the folders `objects`, `base-objects` (empty) and `worktrees/<id>` with its `commondir`.
    /// `objects/info/alternates` names `../base-objects` for [`Level::Full`], where the repository's
    /// objects are mounted, and the absolute path of these for [`Level::Landlock`].
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
    /// The folders of the repository's other linked worktrees.
    pub others: Vec<PathBuf>,
}
