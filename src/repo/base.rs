//! The branch that a sandbox's work goes back to: the one it started from, else the default one.

use std::collections::{BTreeSet, HashMap};

use crate::error::{Error, Result};
use crate::git::Git;
use crate::git::porcelain::{self, Branch, Record};
use crate::repo::Repo;

/// A branch that others are merged into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// As users call it.
    pub name: String,
    /// The branch itself.
    pub branch: Branch,
    /// What it follows, if that is there.
    pub upstream: Option<Branch>,
}

impl Base {
    /// Whether it is a branch of this repository, not of a remote.
    pub fn is_local(&self) -> bool {
        self.branch.name.starts_with(HEADS)
    }

    /// The branch and what it follows.
    pub fn both(&self) -> impl Iterator<Item = &Branch> {
        [&self.branch].into_iter().chain(&self.upstream)
    }
}

/// Bases, read once for any number of sandboxes.
#[derive(Debug, Default)]
pub struct Bases {
    named: HashMap<String, Base>,
    default: Option<String>,
}

const HEADS: &str = "refs/heads/";
const REMOTES: &str = "refs/remotes/";
const ORIGIN: &str = "refs/remotes/origin/HEAD";

impl Bases {
    /// Reads those that the sandboxes recorded; where one recorded none, also the default branch.
    pub fn read<'a>(
        repo: &Repo,
        main: &Record,
        recorded: impl IntoIterator<Item = Option<&'a str>>,
    ) -> Result<Bases> {
        let recorded: BTreeSet<Option<&str>> = recorded.into_iter().collect();
        let mut names: Vec<String> = recorded.iter().flatten().map(ToString::to_string).collect();
        let usual = if recorded.contains(&None) { usual(repo, main)? } else { Vec::new() };
        names.extend(usual.iter().cloned());
        if names.is_empty() {
            return Ok(Bases::default());
        }
        let full =
            names.iter().flat_map(|name| [format!("{HEADS}{name}"), format!("{REMOTES}{name}")]);
        let git = repo.git.at(&repo.common);
        let found = branches(&git, full.chain([ORIGIN.to_owned()]))?;
        // What they follow, and the branch that the remote thinks of as its main one.
        let origin = found.iter().find(|branch| branch.name == ORIGIN);
        let origin =
            origin.and_then(|branch| branch.points_to.strip_prefix("refs/remotes/origin/"));
        let more = found.iter().map(|branch| branch.upstream.clone());
        let more = more.chain(origin.map(|name| format!("{HEADS}{name}")));
        let more: BTreeSet<String> = more.filter(|name| !name.is_empty()).collect();
        let more = if more.is_empty() { Vec::new() } else { branches(&git, more)? };
        let all = || found.iter().chain(&more);
        let base = |name: &str| {
            let is =
                |lead: &str| all().find(|branch| branch.name == format!("{lead}{name}")).cloned();
            let branch = is(HEADS).or_else(|| is(REMOTES))?;
            let upstream = all().find(|other| other.name == branch.upstream).cloned();
            Some(Base { name: name.to_owned(), branch, upstream })
        };
        let named = names.iter().map(String::as_str).chain(origin).filter_map(base);
        let named: HashMap<String, Base> = named.map(|base| (base.name.clone(), base)).collect();
        let mut usual = origin.into_iter().chain(usual.iter().map(String::as_str));
        let default = usual.find(|name| named.get(*name).is_some_and(Base::is_local));
        Ok(Bases { default: default.map(str::to_owned), named })
    }

    /// The base that was recorded or, if none was, the default branch.
    pub fn of(&self, recorded: Option<&str>) -> Option<&Base> {
        self.named.get(recorded.or(self.default.as_deref())?)
    }
}

/// What the default branch may be called, the likeliest first.
fn usual(repo: &Repo, main: &Record) -> Result<Vec<String>> {
    let mut names = Vec::new();
    names.extend(repo.config.get("init.defaultbranch").map(str::to_owned));
    names.extend(["main", "master"].map(str::to_owned));
    let head = match &main.branch {
        Some(branch) => Some(branch.to_string_lossy().into_owned()),
        // git does not list the HEAD of a bare repository, which is its default branch.
        None if main.bare => {
            let git = repo.git.at(&repo.common);
            let answer = git.look(["symbolic-ref", "--quiet", "HEAD"]).ask()?;
            answer.ok().then(|| String::from_utf8_lossy(&answer.stdout).trim().to_owned())
        }
        None => None,
    };
    let head = head.and_then(|full| Some(full.strip_prefix(HEADS)?.to_owned()));
    let place = if main.bare { 0 } else { names.len() };
    if let Some(head) = head {
        names.insert(place, head);
    }
    Ok(names)
}

fn branches(git: &Git, names: impl IntoIterator<Item = String>) -> Result<Vec<Branch>> {
    let call = git.look(["for-each-ref", porcelain::BRANCH_FORMAT, "--"]).args(names);
    Ok(porcelain::branches(&call.read("read the branches")?))
}

/// The base of one sandbox, as something to merge into.
pub fn to_merge_into(
    repo: &Repo,
    main: &Record,
    asked: Option<&str>,
    recorded: Option<&str>,
) -> Result<Base> {
    let missing = |name: &str| Error::NoBase { name: name.to_owned() };
    let asked = asked.map(|name| name.strip_prefix(HEADS).unwrap_or(name));
    let wanted = asked.or(recorded);
    let bases = Bases::read(repo, main, [wanted])?;
    let base = bases.of(wanted).ok_or_else(|| missing(wanted.unwrap_or_default()))?;
    // Another name of a branch: that one would move, and may be checked out.
    if let Some(real) = base.branch.points_to.strip_prefix(HEADS) {
        return to_merge_into(repo, main, Some(real), None);
    }
    if base.is_local() {
        return Ok(base.clone());
    }
    // A remote's branch is merged into by way of the local one that stands for it.
    let local = base.name.split_once('/').map(|(_, name)| name).filter(|_| asked.is_none());
    let bases = Bases::read(repo, main, local.map(Some))?;
    let base = local.and_then(|local| bases.of(Some(local)));
    let base = base.filter(|base| base.is_local());
    base.cloned().ok_or_else(|| missing(wanted.unwrap_or_default()))
}
