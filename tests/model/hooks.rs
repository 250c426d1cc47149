//! Hooks of a repository that stand in the way of merges of ours, and of nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::plan::Hooks;
use crate::world::World;

/// Installs them, in the place of those that were there.
pub fn install(world: &World, repo: usize, what: Hooks) {
    let folder = world.repos[repo].join(".git/hooks");
    for name in ["pre-merge-commit", "pre-commit", "commit-msg", "reference-transaction"] {
        let path = folder.join(name);
        let text = match (what, name) {
            (Hooks::RefuseRef, "reference-transaction") => {
                "test \"$1\" != prepared || ! grep -q ' refs/heads/main$'"
            }
            (Hooks::None | Hooks::RefuseRef, _) | (_, "reference-transaction") => {
                let _ = fs::remove_file(path);
                continue;
            }
            (Hooks::Refuse, _) => "exit 1",
            (Hooks::Stage, _) => "git add -A",
            (Hooks::StageAndRefuse, _) => "git add -A; exit 1",
        };
        world.tools.counts.add("hooks", 1);
        // Written under another name: what is being written cannot be run.
        let draft = folder.join("draft");
        let text = format!("#!/bin/sh\ntest -n \"$TORTURE_OURS\" || exit 0\n{text}\n");
        fs::write(&draft, text).unwrap();
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(&draft, path).unwrap();
    }
}
