//! Pull and merge requests of remotes: which one is meant, and fetching it with the user's git. No ref is
//! made for a request here.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::git::config::Config;
use crate::git::{Git, porcelain, refs};
use crate::repo::Repo;
use crate::ui::out::Out;

/// Where hosts keep requests, before and after the number.
const REFS: [(&str, &str); 2] = [("refs/pull/", "/head"), ("refs/merge-requests/", "/head")];
/// What stands before the number in the address of a request.
const IN_URLS: [&str; 4] = ["/pull/", "/-/merge_requests/", "/merge_requests/", "/pulls/"];

/// A request as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its number.
    pub number: u64,
    whose: Whose,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Whose {
    /// Of the usual remote.
    Usual,
    /// Of the remote called so.
    Remote(String),
    /// Of the remote with this address.
    Url(String),
}

/// A request that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pull {
    /// Its number.
    pub number: u64,
    /// The remote it is of.
    pub remote: String,
    /// Its ref there.
    pub reference: String,
    /// Its commit.
    pub commit: String,
}

impl Named {
    /// Reads `12`, `<remote>/12`, or the address of a request.
    pub fn parse(text: &str) -> Option<Named> {
        let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
        if let Some(number) = number(text.trim_start_matches('#')) {
            return Some(Named { number, whose: Whose::Usual });
        }
        if text.contains("://") {
            return IN_URLS.iter().find_map(|middle| {
                let (base, rest) = text.split_once(middle)?;
                let digits = rest.split(['/', '?', '#']).next()?;
                let whose = Whose::Url(place_of(base));
                Some(Named { number: number(digits)?, whose })
            });
        }
        let (remote, digits) = text.rsplit_once('/')?;
        Some(Named { number: number(digits)?, whose: Whose::Remote(remote.to_owned()) })
    }

    /// The branch that it gets here.
    pub fn branch(&self) -> OsString {
        format!("pr-{}", self.number).into()
    }

    /// Finds and fetches it. Where its remote cannot be asked and its branch is here, that will do.
    pub fn fetch(&self, repo: &Repo, out: Out) -> Result<Option<Pull>> {
        let remote = self.remote(&repo.config)?;
        let git = repo.git.at(&place_to_ask_from(repo)?);
        let refs: Vec<String> =
            REFS.iter().map(|(lead, end)| format!("{lead}{}{end}", self.number)).collect();
        let answer = git.call(["ls-remote", "--", &remote]).args(&refs).ask()?;
        if !answer.ok() {
            let why = answer.why();
            if !self.is_here(&git)? {
                return Err(Error::Git { doing: format!("ask '{remote}'"), why });
            }
            out.warn(&format!("cannot ask '{remote}': {why}; the branch stays as it is"));
            return Ok(None);
        }
        let found = porcelain::remote_refs(&answer.stdout).into_iter().next();
        let Some((commit, reference)) = found else {
            return Err(Error::NoRequest { number: self.number, remote });
        };
        let reference = reference.to_string_lossy().into_owned();
        let words = ["fetch", "--no-tags", "--no-write-fetch-head", "--quiet", "--"];
        let fetched = git.call(words).args([&remote, &reference]).show()?;
        let there = git.look(["cat-file", "-e"]).arg(format!("{commit}^{{commit}}")).ask()?;
        if !fetched.ok() || !there.ok() {
            let doing = format!("fetch '{reference}' of '{remote}'");
            return Err(Error::Git { doing, why: "git could not".into() });
        }
        Ok(Some(Pull { number: self.number, remote, reference, commit }))
    }

    fn is_here(&self, git: &Git) -> Result<bool> {
        let call = git.look(["show-ref", "--verify", "--quiet"]).arg(refs::full(&self.branch()));
        Ok(call.ask()?.ok())
    }

    /// The name of the remote that is meant.
    fn remote(&self, config: &Config) -> Result<String> {
        let remotes: Vec<(&str, &str)> = config.remote_urls().collect();
        let named = |name: &str| remotes.iter().any(|(remote, _)| *remote == name);
        let unknown = |remote: &str| Error::NoRemote { remote: remote.to_owned() };
        let found = match &self.whose {
            Whose::Remote(name) => named(name).then(|| name.clone()).ok_or_else(|| unknown(name)),
            Whose::Url(place) => {
                let found = remotes.iter().find(|(_, url)| place_of(url) == *place);
                found.map(|(name, _)| (*name).to_owned()).ok_or_else(|| unknown(place))
            }
            Whose::Usual => {
                let preferred = config.get("checkout.defaultremote").into_iter().chain(["origin"]);
                let usual = preferred.into_iter().find(|name| named(name));
                let only = || remotes.first().filter(|_| remotes.len() == 1).map(|(name, _)| *name);
                usual.or_else(only).map(str::to_owned).ok_or_else(|| unknown("origin"))
            }
        };
        found.and_then(|name| if name.starts_with('-') { Err(unknown(&name)) } else { Ok(name) })
    }
}

/// Returns the folder from which git reads a relative address of a remote: the main worktree, as for a
/// `git fetch` there, or the repository itself where it is bare.
fn place_to_ask_from(repo: &Repo) -> Result<PathBuf> {
    let main = repo.worktrees()?.main;
    let is_there = !main.bare && main.path.join(".git").exists();
    Ok(if is_there { main.path } else { repo.common.clone() })
}

/// The host and path of an address, however it is spelled: `host/owner/repo`.
fn place_of(url: &str) -> String {
    let rest = match url.split_once("://") {
        Some((_, rest)) => rest.to_owned(),
        // As ssh has it: `user@host:path`.
        None => match url.split_once(':') {
            Some((host, path)) if !host.contains('/') => format!("{host}/{path}"),
            _ => url.to_owned(),
        },
    };
    let (host, path) = rest.split_once('/').unwrap_or((&rest, ""));
    let host = host.rsplit('@').next().unwrap_or(host);
    let host = host.split(':').next().unwrap_or(host).to_lowercase();
    let path = path.trim_matches('/');
    format!("{host}/{}", path.strip_suffix(".git").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_as_they_are_typed() {
        let parsed = |text: &str| Named::parse(text).map(|named| (named.number, named.whose));
        assert_eq!(parsed("12"), Some((12, Whose::Usual)));
        assert_eq!(parsed("#12"), Some((12, Whose::Usual)));
        assert_eq!(parsed("up/12"), Some((12, Whose::Remote("up".into()))));
        let url = |text: &str| match parsed(text) {
            Some((12, Whose::Url(place))) => place,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(url("https://github.com/o/r/pull/12"), "github.com/o/r");
        assert_eq!(url("https://github.com/o/r/pull/12/files#x"), "github.com/o/r");
        assert_eq!(
            url("https://me@GitLab.com:443/g/s/r/-/merge_requests/12?x"),
            "gitlab.com/g/s/r"
        );
        assert_eq!(url("https://codeberg.org/o/r/pulls/12"), "codeberg.org/o/r");
        for text in ["", "0", "x", "-1", "https://github.com/o/r/issues/12", "up/x", "1.5"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    #[test]
    fn addresses_that_mean_one_place() {
        for url in [
            "https://github.com/o/r",
            "https://github.com/o/r.git/",
            "git@github.com:o/r.git",
            "ssh://git@github.com:22/o/r",
            "git://GitHub.com/o/r",
        ] {
            assert_eq!(place_of(url), "github.com/o/r", "{url}");
        }
        assert_eq!(place_of("/srv/r.git"), place_of("file:///srv/r"));
    }
}
