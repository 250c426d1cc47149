//! A pack that keeps objects without a ref, for repositories whose refs are mirrored.
//!
//! `git fetch --prune` in a mirror clone deletes `refs/sandbox/kept/<id>`, and `git push --mirror`
//! publishes it, staged files included. There the objects are kept in a pack of their own with a
//! `.keep` file beside it: git neither repacks nor prunes such a pack.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::Git;
use crate::git::config::{self, Config};
use crate::repo::held::Held;
use crate::sys::file;

/// How the content of a `.keep` file of ours begins; the id of the removed sandbox follows.
const MARK: &str = "git-sandbox: ";
const KEEP: &str = "keep what only it holds in a pack";

/// Whether a remote's settings let it delete or publish `refs/sandbox/*`: it is a mirror, or a fetch
/// refspec covers those refs.
pub fn is_mirrored(config: &Config) -> bool {
    let mirror = |(key, value): (&str, &str)| {
        key.ends_with(".mirror") && config::boolean(value).unwrap_or(true)
    };
    config.of_sections(&["remote."]).any(mirror)
        || config.fetch_refspecs().any(|(_, refspec)| covers_kept(refspec))
}

/// Whether the destination of a fetch refspec reaches below `refs/sandbox/`.
fn covers_kept(refspec: &str) -> bool {
    let Some((_, to)) = refspec.rsplit_once(':') else { return false };
    let ours = "refs/sandbox/";
    match to.split_once('*') {
        Some((lead, _)) => ours.starts_with(lead) || lead.starts_with(ours),
        None => to.starts_with(ours),
    }
}

/// Packs every object that a private git dir names and no shared ref reaches, and the commit that
/// keeps them.
pub fn keep(git: &Git, common: &Path, held: &Held, commit: Option<&str>, id: &str) -> Result<()> {
    let git = git.at(common);
    let files = held.files.iter().filter_map(|line| line.trim_end().split('\t').nth(1));
    let named = held.commits.iter().chain(&held.tags).map(String::as_str).chain(files);
    let named: String = named.chain(commit).flat_map(|id| [id, "\n"]).collect();
    if named.is_empty() {
        return Ok(());
    }
    let all = ["rev-list", "--objects", "--ignore-missing", "--single-worktree", "--stdin"];
    let but = ["--not", "--exclude=refs/sandbox/*", "--exclude=refs/stash", "--glob=refs/*"];
    let objects = git.look(all).args(but).ask_with(named.into_bytes())?;
    if !objects.ok() {
        return Err(Error::Git { doing: KEEP.into(), why: objects.why() });
    }
    if objects.stdout.is_empty() {
        return Ok(());
    }
    let mark = format!("--keep={}", mark(id));
    let index = git.look(["index-pack", "--stdin", &mark]);
    let list = String::from_utf8_lossy(&objects.stdout).into_owned();
    git.look(["pack-objects", "--stdout", "--quiet"]).pipe(list, &index)?;
    Ok(())
}

/// Hands the packs that were kept for `id` back to git, which repacks or prunes them as it likes.
pub fn let_go(common: &Path, id: &str) -> Result<()> {
    for path in kept_for(common, id) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).at("delete", &path);
            }
            _ => {}
        }
    }
    Ok(())
}

/// What stands in the `.keep` file of a pack that is kept for `id`.
pub fn mark(id: &str) -> String {
    format!("{MARK}{id}")
}

fn kept_for(common: &Path, id: &str) -> Vec<PathBuf> {
    let wanted = mark(id);
    let packs = fs::read_dir(common.join("objects/pack")).into_iter().flatten().flatten();
    let keeps = packs.map(|entry| entry.path());
    let keeps = keeps.filter(|path| path.extension().is_some_and(|end| end == "keep"));
    let ours = |path: &PathBuf| {
        file::read_small(path).is_ok_and(|text| text.trim_ascii_end() == wanted.as_bytes())
    };
    keeps.filter(ours).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refspec_covers_kept_refs_by_its_destination() {
        for yes in ["+refs/*:refs/*", "refs/*:refs/*", "+refs/x/*:refs/sandbox/*", "*:*"] {
            assert!(covers_kept(yes), "{yes}");
        }
        for no in ["+refs/heads/*:refs/remotes/origin/*", "refs/*:refs/copy/*", "main"] {
            assert!(!covers_kept(no), "{no}");
        }
    }
}
