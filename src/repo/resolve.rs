//! Resolves a typed name to a branch, always in the same order, with one call of git.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use crate::error::{Error, Result};
use crate::git::config::Config;
use crate::git::refs::full;
use crate::git::{Git, Running, porcelain};
use crate::repo::request::Pull;
use crate::repo::{Repo, name};

/// What a sandbox will have checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A branch that exists here.
    Existing {
        /// Its name.
        branch: OsString,
        /// Its commit.
        commit: String,
    },
    /// A new branch that follows a remote's.
    Tracking {
        /// Its name.
        branch: OsString,
        /// Its commit.
        commit: String,
        /// The full name of the ref it follows.
        upstream: OsString,
    },
    /// A new branch that follows a pull or merge request.
    Pull {
        /// Its name.
        branch: OsString,
        /// The request.
        pull: Pull,
    },
    /// A new branch.
    New {
        /// Its name.
        branch: OsString,
    },
    /// No branch.
    Detached,
}

impl Target {
    /// The branch's name.
    pub fn branch(&self) -> Option<&OsStr> {
        match self {
            Target::Existing { branch, .. }
            | Target::Tracking { branch, .. }
            | Target::Pull { branch, .. }
            | Target::New { branch } => Some(branch),
            Target::Detached => None,
        }
    }
}

/// Whether no branch or tag of this name, or in its way, can exist: no remotes, a plain name, and
/// nothing like it among the loose and the packed refs. Where that is not so, git is asked; and git makes
/// the branch, so that it has the last word.
pub fn is_surely_new(repo: &Repo, branch: &OsStr) -> bool {
    let plain = name::surely_valid(branch) && name::reserved(branch).is_none();
    let plain = plain && repo.config.get("checkout.guess").is_none();
    if !plain || repo.is_reftable() || repo.config.fetch_refspecs().next().is_some() {
        return false;
    }
    let heads = repo.common.join("refs/heads");
    let first = Path::new(branch).components().next().map(|part| heads.join(part));
    if first.is_none_or(|first| first.symlink_metadata().is_ok()) || !heads.is_dir() {
        return false;
    }
    let elsewhere = ["refs", "refs/tags", "refs/remotes"].map(|room| repo.common.join(room));
    if elsewhere.iter().any(|room| room.join(branch).symlink_metadata().is_ok()) {
        return false;
    }
    let packed = match crate::sys::file::read(&repo.common.join("packed-refs")) {
        Err(error) if error.kind() == ErrorKind::NotFound => return true,
        Err(_) => return false,
        Ok(packed) => packed,
    };
    let first = branch.as_bytes().split(|byte| *byte == b'/').next().unwrap_or_default();
    let in_room = |room: &[u8]| [room, branch.as_bytes()].concat();
    let elsewhere = [&b" refs/"[..], b" refs/tags/", b" refs/remotes/"].map(in_room);
    let leads = elsewhere.into_iter().chain([[b" refs/heads/", first].concat()]);
    let has =
        |lead: &Vec<u8>| packed.windows(lead.len()).any(|window| window.eq_ignore_ascii_case(lead));
    !leads.into_iter().any(|lead| has(&lead))
}

/// The question, on its way.
#[derive(Debug)]
pub struct Question<'a> {
    git: Git,
    branch: &'a OsStr,
    preferred: Option<&'a str>,
    remotes: Vec<(&'a str, OsString)>,
    spelled: Vec<(OnRemote, OsString)>,
    asked: Running,
}

/// A branch of one remote, as `<remote>/<branch>` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnRemote {
    /// The remote.
    pub remote: String,
    /// The branch's name there.
    pub branch: OsString,
}

/// The answer: which refs there are.
#[derive(Debug)]
pub struct Found {
    /// What the name means.
    pub target: Target,
    /// Remotes that have the branch, when that is several and none is preferred.
    pub several: Vec<String>,
    /// What the name means instead, when it is `<remote>/<branch>` of a remote that has that branch.
    pub on_remote: Option<OnRemote>,
}

/// Asks git about a branch name: here, on remotes, and what would stand in its way. Only the remote
/// that was named counts, if one was.
pub fn ask<'a>(
    git: &Git,
    config: &'a Config,
    branch: &'a OsStr,
    named: Option<&'a str>,
) -> Result<Question<'a>> {
    let guess = config.boolean("checkout.guess")?.unwrap_or(true) || named.is_some();
    let mut remotes = if guess { tracking_refs(config, branch) } else { Vec::new() };
    remotes.retain(|(remote, _)| named.is_none_or(|named| named == *remote));
    let spelled = spelled_out(config, branch);
    let local = full(branch);
    let parents = branch.as_bytes().iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let parents = parents.map(|(index, _)| full(OsStr::from_bytes(&branch.as_bytes()[..index])));
    let mut call = git.call(["for-each-ref", "--format=%(objectname) %(refname)", "--"]);
    call = call.arg(&local).args(parents).args(remotes.iter().map(|(_, name)| name));
    call = call.args(spelled.iter().map(|(_, name)| name)).args(others(branch));
    let preferred = config.get("checkout.defaultremote");
    let asked = call.start()?;
    Ok(Question { git: git.clone(), branch, preferred, remotes, spelled, asked })
}

impl Question<'_> {
    /// The answer.
    pub fn answer(self) -> Result<Found> {
        let answer = self.asked.wait()?;
        if !answer.ok() {
            return Err(Error::Git { doing: "read the branches".into(), why: answer.why() });
        }
        let refs = porcelain::refs(&answer.stdout);
        let branch = self.branch.to_owned();
        let named = |wanted: &OsStr| refs.iter().find(|(_, name)| name == wanted);
        if let Some((commit, _)) = named(&full(&branch)) {
            let target = Target::Existing { branch, commit: commit.clone() };
            return Ok(Found { target, several: Vec::new(), on_remote: None });
        }
        check_name(&self.git, &branch)?;
        let on_remote = self.spelled.iter().find(|(_, name)| named(name).is_some());
        let on_remote = on_remote.map(|(on_remote, _)| on_remote.clone());
        let in_the_way = refs.iter().find(|(_, name)| is_in_the_way(name, &full(&branch)));
        if let Some((_, other)) = in_the_way {
            let other = other.to_string_lossy().replacen("refs/heads/", "", 1);
            return Err(Error::BranchInTheWay { branch: branch.to_string_lossy().into(), other });
        }
        let there = self.remotes.iter().filter_map(|(remote, name)| Some((*remote, named(name)?)));
        let mut there: Vec<_> = there.collect();
        there.dedup_by_key(|(remote, _)| *remote);
        let preferred = there.iter().find(|(remote, _)| Some(*remote) == self.preferred);
        match (preferred, &there[..]) {
            (Some((_, (commit, upstream))), _) | (None, [(_, (commit, upstream))]) => {
                let (commit, upstream) = (commit.clone(), upstream.clone());
                let target = Target::Tracking { branch, commit, upstream };
                Ok(Found { target, several: Vec::new(), on_remote: None })
            }
            // A branch of that name would make the other ref ambiguous for git.
            (None, []) if on_remote.is_none() => {
                let mut others = others(&branch).into_iter();
                match others.position(|other| named(&other).is_some()) {
                    Some(0) => Err(refused(&self.git, &branch, "is a tag, not a branch")),
                    Some(_) => Err(refused(&self.git, &branch, "names a ref that is not a branch")),
                    None => {
                        Ok(Found { target: Target::New { branch }, several: Vec::new(), on_remote })
                    }
                }
            }
            (None, several) => {
                let several = several.iter().map(|(remote, _)| (*remote).to_owned()).collect();
                Ok(Found { target: Target::New { branch }, several, on_remote })
            }
        }
    }
}

/// The refs beside a branch that git looks for under a name, the tag first.
fn others(name: &OsStr) -> [OsString; 4] {
    let patterns =
        [("refs/tags/", ""), ("refs/", ""), ("refs/remotes/", ""), ("refs/remotes/", "/HEAD")];
    patterns.map(|(lead, end)| {
        let bytes = [lead.as_bytes(), name.as_bytes(), end.as_bytes()].concat();
        OsString::from_vec(bytes)
    })
}

/// What a name means if it is `<remote>/<branch>`, with the ref that follows that branch.
fn spelled_out(config: &Config, name: &OsStr) -> Vec<(OnRemote, OsString)> {
    let mut found = Vec::new();
    for (remote, _) in config.fetch_refspecs() {
        let rest = name.as_bytes().strip_prefix(remote.as_bytes());
        let Some(branch) = rest.and_then(|rest| rest.strip_prefix(b"/")) else { continue };
        let branch = OsStr::from_bytes(branch);
        for (other, tracking) in tracking_refs(config, branch) {
            let on_remote = OnRemote { remote: remote.to_owned(), branch: branch.to_owned() };
            if other == remote && !found.contains(&(on_remote.clone(), tracking.clone())) {
                found.push((on_remote, tracking));
            }
        }
    }
    found
}

/// One is a folder where the other must be a file.
fn is_in_the_way(one: &OsStr, other: &OsStr) -> bool {
    let below = |inner: &OsStr, outer: &OsStr| {
        inner.as_bytes().strip_prefix(outer.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"))
    };
    one.as_bytes().starts_with(b"refs/heads/") && (below(one, other) || below(other, one))
}

/// The refs that follow `refs/heads/<branch>` of each remote, by the fetch refspecs, as git's own
/// checkout finds them.
fn tracking_refs<'a>(config: &'a Config, branch: &OsStr) -> Vec<(&'a str, OsString)> {
    let wanted = full(branch);
    let found = config.fetch_refspecs().filter_map(|(remote, refspec)| {
        let (source, target) = refspec.trim_start_matches('+').split_once(':')?;
        let name = match (source.split_once('*'), target.split_once('*')) {
            (Some((lead, end)), Some((target_lead, target_end))) => {
                let middle = wanted.as_bytes().strip_prefix(lead.as_bytes())?;
                let middle = middle.strip_suffix(end.as_bytes())?;
                [target_lead.as_bytes(), middle, target_end.as_bytes()].concat()
            }
            _ if wanted == *source => target.as_bytes().to_vec(),
            _ => return None,
        };
        Some((remote, OsStr::from_bytes(&name).to_owned()))
    });
    found.collect()
}

/// Refuses a name that cannot be a branch of ours.
pub fn check_name(git: &Git, branch: &OsStr) -> Result<()> {
    if let Some(why) = name::reserved(branch) {
        return Err(refused(git, branch, why));
    }
    if name::surely_valid(branch) {
        return Ok(());
    }
    let answer = git.call(["check-ref-format", "--branch"]).arg(branch).ask()?;
    // `@{-1}` is accepted, but names another branch.
    if answer.ok() && answer.stdout.strip_suffix(b"\n") == Some(branch.as_bytes()) {
        return Ok(());
    }
    Err(refused(git, branch, "is not a valid branch name"))
}

/// The refusal of a name, which proposes another one; and a start, if the name means a commit.
fn refused(git: &Git, branch: &OsStr, why: &'static str) -> Error {
    let name = branch.to_string_lossy().into_owned();
    let mut commit = branch.to_owned();
    commit.push("^{commit}");
    let verify = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
    let is_commit = git.call(verify).arg(commit).ask().is_ok_and(|answer| answer.ok());
    let mut slug = name::slug(&name);
    if slug == name {
        slug = format!("from-{slug}");
    }
    Error::BadName { slug, name, why, is_commit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    #[test]
    fn tracking_refs_follow_the_refspecs() {
        let config = Config::parse(
            b"remote.origin.fetch\n+refs/heads/*:refs/remotes/origin/*\0\
              remote.mine.fetch\nrefs/heads/x:refs/mine/x\0\
              remote.mine.fetch\n^refs/heads/y\0\
              remote.odd.fetch\nrefs/pull/*/head:refs/remotes/odd/*\0",
        );
        let names = |branch: &str| {
            let refs = tracking_refs(&config, OsStr::new(branch));
            refs.into_iter().map(|(_, name)| name.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(names("x"), ["refs/remotes/origin/x", "refs/mine/x"]);
        assert_eq!(names("a/b"), ["refs/remotes/origin/a/b"]);
    }

    #[test]
    fn folders_and_files_of_refs_collide() {
        let way = |one: &str, other: &str| is_in_the_way(OsStr::new(one), OsStr::new(other));
        assert!(way("refs/heads/a", "refs/heads/a/b"));
        assert!(way("refs/heads/a/b", "refs/heads/a"));
        assert!(!way("refs/heads/a", "refs/heads/ab"));
        assert!(!way("refs/remotes/o/a", "refs/heads/a"));
    }

    #[test]
    fn fuzz_refspecs() {
        let real = [
            "+refs/heads/*:refs/remotes/o/*\na/b",
            "refs/heads/x:refs/mine/x\nx",
            "^refs/heads/y\ny",
        ];
        fuzz::damaged_words(&real, |words| {
            let [refspec, branch, ..] = &words[..] else { return };
            let record = [b"remote.o.fetch\n", refspec.as_bytes(), b"\0"].concat();
            let config = Config::parse(&record);
            for (remote, _) in tracking_refs(&config, branch) {
                assert_eq!(remote, "o");
            }
            assert!(!is_in_the_way(&full(branch), &full(branch)));
        });
    }
}
