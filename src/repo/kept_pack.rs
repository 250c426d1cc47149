//! A pack that keeps objects without a ref, for repositories whose refs are mirrored.
//!
//! `git fetch --prune` in a mirror clone deletes `refs/sandbox/kept/<id>`, and `git push --mirror`
//! publishes it, staged files included. There the objects are kept in a pack of their own with a
//! `.keep` file beside it: git neither repacks nor prunes such a pack. Where a fetch can delete every ref,
//! branches too, none counts as a holder: the packs that are there already are kept as well. One `.keep`
//! file names each removed sandbox that it is for, a line each.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::Git;
use crate::git::config::{self, Config};
use crate::repo::Repo;
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
    config.of_sections(&["remote."]).any(mirror) || is_fetched_over(config)
}

/// Whether a fetch can delete every ref.
fn is_fetched_over(config: &Config) -> bool {
    config.fetch_refspecs().any(|(_, refspec)| covers_kept(refspec))
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
/// keeps them. Where a fetch can delete shared refs, what they reach is kept too.
pub fn keep(git: &Git, repo: &Repo, held: &Held, commit: Option<&str>, id: &str) -> Result<()> {
    let git = git.at(&repo.common);
    let files = held.files.iter().filter_map(|line| line.trim_end().split('\t').nth(1));
    let named = held.commits.iter().chain(&held.tags).map(String::as_str).chain(files);
    let named: String = named.chain(commit).flat_map(|id| [id, "\n"]).collect();
    if named.is_empty() {
        return Ok(());
    }
    let list = |words: &[&str]| {
        let all = ["rev-list", "--objects", "--ignore-missing", "--single-worktree", "--stdin"];
        let objects = git.look(all).args(words).ask_with(named.clone().into_bytes())?;
        match objects.ok() {
            true => Ok(String::from_utf8_lossy(&objects.stdout).into_owned()),
            false => Err(Error::Git { doing: KEEP.into(), why: objects.why() }),
        }
    };
    let but = ["--not", "--exclude=refs/sandbox/*", "--exclude=refs/stash", "--glob=refs/*"];
    let mut objects = list(&but)?;
    if is_fetched_over(&repo.config) {
        claim(&repo.common, id)?;
        objects += &list(&["--unpacked"])?;
    }
    if objects.is_empty() {
        return Ok(());
    }
    let mark = format!("--keep={}", mark(id));
    let index = git.look(["index-pack", "--stdin", &mark]);
    let packed = git.look(["pack-objects", "--stdout", "--quiet"]).pipe(objects, &index)?;
    match packed.ok() {
        true => Ok(()),
        false => Err(Error::Git { doing: KEEP.into(), why: packed.why() }),
    }
}

/// Keeps every pack that is there for `id` too. A pack that another program keeps is left alone.
fn claim(common: &Path, id: &str) -> Result<()> {
    for pack in with_ending(common, "pack") {
        let keep = pack.with_extension("keep");
        let lines = match file::read_small(&keep) {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).at("read", &keep),
        };
        let is_ours = lines.lines().all(|line| line.starts_with(MARK));
        if is_ours && !lines.lines().any(|line| line == mark(id)) {
            file::replace(&keep, format!("{lines}{}\n", mark(id)).as_bytes())?;
        }
    }
    Ok(())
}

/// Hands the packs that were kept for `id`, and for nothing else, back to git, which repacks or prunes
/// them as it likes.
pub fn let_go(common: &Path, id: &str) -> Result<()> {
    let own = mark(id);
    for keep in with_ending(common, "keep") {
        let Ok(text) = file::read_small(&keep) else { continue };
        let text = String::from_utf8_lossy(&text).into_owned();
        let rest: String =
            text.lines().filter(|line| *line != own).flat_map(|line| [line, "\n"]).collect();
        match () {
            () if !text.lines().any(|line| line == own) => {}
            () if !rest.is_empty() => file::replace(&keep, rest.as_bytes())?,
            () => match fs::remove_file(&keep) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).at("delete", &keep);
                }
                _ => {}
            },
        }
    }
    Ok(())
}

/// What stands in the `.keep` file of a pack that is kept for `id`.
pub fn mark(id: &str) -> String {
    format!("{MARK}{id}")
}

/// The files of the pack folder whose names end so.
fn with_ending(common: &Path, ending: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(common.join("objects/pack")).into_iter().flatten().flatten();
    let paths = files.map(|file| file.path());
    paths.filter(|path| path.extension().is_some_and(|end| end == ending)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refspec_covers_kept_refs_by_its_destination() {
        for yes in ["+refs/*:refs/*", "refs/*:refs/*", "+refs/x/*:refs/sandbox/*", "*:*"]
            .into_iter()
            .chain(["refs/x/*:refs/sandbox/kept/*", "refs/x:refs/sandbox/kept/x"])
        {
            assert!(covers_kept(yes), "{yes}");
        }
        for no in ["+refs/heads/*:refs/remotes/origin/*", "refs/*:refs/copy/*", "main"]
            .into_iter()
            .chain(["refs/sandbox/*:refs/x/*", "refs/x:refs/sandboxes"])
        {
            assert!(!covers_kept(no), "{no}");
        }
    }
}
