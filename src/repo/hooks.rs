//! Hooks that config names (`hook.<name>.command`, git 2.54 and later): calls that only look leave
//! out each of them by its name.

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::Git;
use crate::git::config::Config;
use crate::sys::file;

/// The same git, whose looks run no hook that the config of this repository or of one of its
/// worktrees names.
pub fn left_out(git: &Git, common: &Path, config: &Config) -> Git {
    let mut git = git.without_hooks(config.hook_names());
    if config.boolean("extensions.worktreeconfig").is_ok_and(|on| on == Some(true)) {
        for file in worktree_configs(common).iter().filter(|file| may_name_hooks(file)) {
            let words = ["config", "--includes", "--list", "-z", "--file"];
            if let Ok(answer) = git.at(common).call(words).arg(file).ask() {
                git = git.without_hooks(Config::parse(&answer.stdout).hook_names());
            }
        }
    }
    git
}

/// The files that hold the config of one worktree each.
fn worktree_configs(common: &Path) -> Vec<PathBuf> {
    // Those of removed sandboxes are beside git's own.
    let homes = ["worktrees", "sandbox"].map(|home| fs::read_dir(common.join(home)));
    let entries = homes.into_iter().flatten().flatten().flatten();
    let folders = entries.map(|entry| entry.path()).chain([common.to_owned()]);
    folders.map(|folder| folder.join("config.worktree")).collect()
}

/// Whether a config file holds a hook, or includes a file that may.
fn may_name_hooks(path: &Path) -> bool {
    let text = file::read_small(path).unwrap_or_default().to_ascii_lowercase();
    let has = |word: &[u8]| text.windows(word.len()).any(|window| window == word);
    has(b"[hook") || has(b"[include")
}
