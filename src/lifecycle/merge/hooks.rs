//! The user's hooks around a merge: in the scratch those of the target's checkout, but for
//! `post-checkout` and `post-merge`; after the landing `post-merge`, once.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Doing, Result};
use crate::git::Git;
use crate::git::config::Config;
use crate::repo::Repo;

/// Hooks that are about the user's checkout, not about the scratch.
const MUTED: [&str; 2] = ["post-checkout", "post-merge"];
/// Our folder of hooks, in the private git dir of the scratch.
const FOLDER: &str = "sandbox.hooks";

/// The folder with the hooks of a checkout. A relative `core.hooksPath` is relative to its top.
fn folder(git: &Git, top: &Path) -> Result<PathBuf> {
    let git = git.at(top);
    let path = git.call(["rev-parse", "--git-path", "hooks"]).line("find the hooks")?;
    Ok(top.join(path))
}

/// The settings under which a git in the scratch runs the hooks of the checkout `top`.
pub fn settings(repo: &Repo, top: &Path, entry: &Path) -> Result<Vec<OsString>> {
    let hooks = folder(&repo.git, top)?;
    let muted = MUTED.iter().any(|name| is_hook(&hooks.join(name)));
    let mut settings = Vec::new();
    if muted || hooks != repo.common.join("hooks") {
        let hooks = if muted { stand_ins(&hooks, &entry.join(FOLDER))? } else { hooks };
        let mut setting = OsString::from("core.hooksPath=");
        setting.push(hooks);
        settings.extend([OsString::from("-c"), setting]);
    }
    for setting in without_muted(&repo.config) {
        settings.extend(["-c".into(), setting.into()]);
    }
    Ok(settings)
}

/// Makes a folder with a stand-in for each hook that may run, which starts the hook by its own path:
/// hooks look for their neighbours there.
fn stand_ins(hooks: &Path, folder: &Path) -> Result<PathBuf> {
    fs::DirBuilder::new().mode(0o700).create(folder).at("create", folder)?;
    for entry in fs::read_dir(hooks).at("read", hooks)? {
        let hook = entry.at("read", hooks)?.path();
        let name = hook.file_name().unwrap_or_default();
        if !MUTED.iter().any(|muted| name == *muted) && is_hook(&hook) {
            let stand_in = folder.join(name);
            let mut options = fs::OpenOptions::new();
            let file = options.write(true).create_new(true).mode(0o700).open(&stand_in);
            file.and_then(|mut file| file.write_all(&script(&hook))).at("write", &stand_in)?;
        }
    }
    Ok(folder.to_owned())
}

/// A script that starts a program in its place.
fn script(program: &Path) -> Vec<u8> {
    let mut text = b"#!/bin/sh\nexec '".to_vec();
    for byte in program.as_os_str().as_bytes() {
        match byte {
            b'\'' => text.extend(b"'\\''"),
            byte => text.push(*byte),
        }
    }
    text.extend(b"' \"$@\"\n");
    text
}

/// Settings that take the muted events from hooks that config names, as git does from 2.54 on.
fn without_muted(config: &Config) -> Vec<String> {
    let keys = config.of_sections(&["hook."]);
    let events: Vec<(&str, &str)> =
        keys.filter(|(key, _)| key.rsplit('.').next() == Some("event")).collect();
    let is_muted = |event: &str| MUTED.contains(&event);
    let mut settings = Vec::new();
    let mut keys: Vec<&str> =
        events.iter().filter(|(_, event)| is_muted(event)).map(|(key, _)| *key).collect();
    keys.dedup();
    for key in keys {
        // An empty value forgets those before it.
        settings.push(format!("{key}="));
        let others = events.iter().filter(|(other, event)| *other == key && !is_muted(event));
        settings.extend(others.map(|(_, event)| format!("{key}={event}")));
    }
    settings
}

fn is_hook(path: &Path) -> bool {
    let runs = |meta: Metadata| meta.is_file() && meta.permissions().mode() & 0o111 != 0;
    path.extension() != Some(OsStr::new("sample")) && fs::metadata(path).is_ok_and(runs)
}

/// Runs `post-merge` in a checkout that a commit was landed in. Returns what it said.
pub fn post_merge(repo: &Repo, git: &Git, top: &Path) -> Result<Vec<String>> {
    let is_there = || folder(git, top).is_ok_and(|hooks| is_hook(&hooks.join("post-merge")));
    // Another worktree may have settings of its own.
    let own_folder = ["core.hookspath", "extensions.worktreeconfig"];
    let own_folder = own_folder.iter().any(|key| repo.config.get(key).is_some());
    let simple = !own_folder && !is_hook(&repo.common.join("hooks/post-merge"));
    let configured = repo.config.has_section("hook.");
    if !configured && (simple || !is_there()) {
        return Ok(Vec::new());
    }
    // Its exit code changes nothing, as with `git merge`.
    let words = ["hook", "run", "--ignore-missing", "post-merge", "--", "0"];
    Ok(git.at(top).call(words).ask()?.words())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stand_in_starts_a_hook_of_any_name() {
        let text = script(Path::new("/a b/it's"));
        assert_eq!(text, b"#!/bin/sh\nexec '/a b/it'\\''s' \"$@\"\n");
    }

    #[test]
    fn only_the_muted_events_are_taken_from_a_hook() {
        let text = b"hook.a.command\nx\0hook.a.event\npost-merge\0hook.a.event\ncommit-msg\0\
                     hook.b.event\npre-commit\0hook.c.event\npost-checkout\0";
        let settings = without_muted(&Config::parse(text));
        assert_eq!(settings, ["hook.a.event=", "hook.a.event=commit-msg", "hook.c.event="]);
    }
}
