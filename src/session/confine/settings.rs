//! What the user wishes of the walls: options, then what was recorded for the sandbox, then config.
//!
//! Config counts only where a confined command cannot have written it: the user's own files, `git -c`
//! and the repository's `config`. What that includes from elsewhere, a checkout above all, and the
//! config of a single worktree do not count.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::wish::Wish;
use crate::error::{Error, Result};
use crate::git::config::{self, Config};
use crate::repo::Repo;
use crate::sandbox::record::Confine;
use crate::sandbox::record::{Level, Network};
use crate::sys::path;

/// What is readable in the home by default, where it exists: git's settings and toolchains.
const READABLE: [&str; 24] = [
    ".gitconfig",
    ".config/git/config",
    ".config/git/ignore",
    ".config/git/attributes",
    ".cargo/bin",
    ".cargo/env",
    ".cargo/registry",
    ".cargo/git",
    ".rustup",
    ".nvm",
    ".volta/bin",
    ".volta/tools",
    ".local/bin",
    ".local/share/pnpm",
    ".local/share/mise",
    ".local/share/uv",
    ".pyenv",
    ".rbenv",
    ".sdkman",
    "go/bin",
    "go/pkg",
    ".bun/bin",
    ".deno/bin",
    ".asdf",
];

/// Files of git's in the home that it reads once they are there.
const GIT_FILES: [&str; 4] =
    [".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes"];

/// What the command line says about confinement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// `--confine`
    pub level: Option<Level>,
    /// `--no-confine`
    pub off: bool,
    /// `--network`
    pub network: Option<Network>,
}

impl Asked {
    /// What is recorded for a sandbox that is made so.
    pub fn to_record(self) -> Option<Confine> {
        self.level.map(|level| Confine { level, network: self.network })
    }
}

/// Returns how commands are to be confined; `None` where they are not.
pub fn wish(repo: &Repo, asked: Asked, recorded: Option<Confine>) -> Result<Option<Wish>> {
    if asked.off {
        return Ok(None);
    }
    let decided = asked.level.or(recorded.map(|confine| confine.level));
    if decided.is_none() && !repo.config.has_section("sandbox.confine") {
        return Ok(None);
    }
    let Listed { own: config, rest, .. } = listed(repo)?;
    let Some(level) = decided.map_or_else(|| level(&config), |level| Ok(Some(level)))? else {
        not_in_vain(&config, &rest, "sandbox.confine", &|value| {
            config::boolean(value) == Some(false)
        })?;
        return Ok(None);
    };
    let decided = asked.network.or(recorded.and_then(|confine| confine.network));
    if decided.is_none() {
        not_in_vain(&config, &rest, "sandbox.confineNetwork", &|value| value == "on")?;
    }
    let network = decided.map_or_else(|| network(&config), Ok)?;
    let home = home()?;
    let defaults = READABLE.iter().map(|name| home.join(name)).filter(|path| path.exists());
    Ok(Some(Wish {
        level,
        network,
        read: paths(&config, "sandbox.confineread", defaults.collect(), &home)?,
        write: paths(&config, "sandbox.confinewrite", Vec::new(), &home)?,
        env: list(&config, "sandbox.confineenv", Vec::new()),
        hosts: list(&config, "sandbox.confinehost", Vec::new()),
    }))
}

/// Fails if walls are wished for only where that does not count: without them, nothing is started.
/// `is_open` tells which value asks for none.
fn not_in_vain(
    own: &Config,
    rest: &Config,
    key: &str,
    is_open: &dyn Fn(&str) -> bool,
) -> Result<()> {
    let name = key.to_lowercase();
    match rest.get(&name).filter(|value| own.get(&name).is_none() && !is_open(value)) {
        None => Ok(()),
        Some(value) => Err(Error::Config {
            key: key.into(),
            value: value.into(),
            wanted: "it does not count in an included file or in the config of a worktree",
        }),
    }
}

/// The user's home, without symlinks.
pub fn home() -> Result<PathBuf> {
    let home = path::absolute("HOME").and_then(|home| home.canonicalize().ok());
    home.ok_or(Error::NoHomeToHide)
}

fn level(config: &Config) -> Result<Option<Level>> {
    let Some(value) = config.get("sandbox.confine") else { return Ok(None) };
    match (value, config::boolean(value)) {
        ("full", _) | (_, Some(true)) => Ok(Some(Level::Full)),
        ("landlock", _) => Ok(Some(Level::Landlock)),
        (_, Some(false)) => Ok(None),
        _ => Err(Error::Config {
            key: "sandbox.confine".into(),
            value: value.into(),
            wanted: "it must be true, false or landlock",
        }),
    }
}

fn network(config: &Config) -> Result<Network> {
    match config.get("sandbox.confinenetwork") {
        None | Some("on") => Ok(Network::On),
        Some("off") => Ok(Network::Off),
        Some("hosts") => Ok(Network::Hosts),
        Some(value) => Err(Error::Config {
            key: "sandbox.confineNetwork".into(),
            value: value.into(),
            wanted: "it must be on, off or hosts",
        }),
    }
}

/// The values of a key after the defaults. An empty value clears what came before it.
fn list(config: &Config, key: &str, defaults: Vec<String>) -> Vec<String> {
    config.all(key).fold(defaults, |mut values, value| {
        match value.trim() {
            "" => values.clear(),
            value => values.push(value.to_owned()),
        }
        values
    })
}

fn paths(config: &Config, key: &str, defaults: Vec<PathBuf>, home: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = defaults;
    for value in config.all(key) {
        let value = value.trim();
        if value.is_empty() {
            paths.clear();
            continue;
        }
        let path = match value.strip_prefix('~') {
            Some("") => home.to_owned(),
            Some(rest) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ => PathBuf::from(value),
        };
        if !path.is_absolute() {
            let key =
                if key.ends_with("read") { "sandbox.confineRead" } else { "sandbox.confineWrite" };
            let wanted = "it must be an absolute path, or start with '~/'";
            return Err(Error::Config { key: key.into(), value: value.into(), wanted });
        }
        paths.push(path::tidy(&path));
    }
    Ok(paths)
}

/// Fails if a command could write what git reads as the user's own config, and so have git run programs
/// outside. A file in a writable folder that is mounted read-only is safe.
pub fn not_gits_own(repo: &Repo, wish: &Wish) -> Result<()> {
    if wish.write.is_empty() {
        return Ok(());
    }
    let home = home()?;
    let later = path::absolute("XDG_CONFIG_HOME").map(|folder| folder.join("git/config"));
    let later = later.into_iter().chain(GIT_FILES.map(|name| home.join(name)));
    let listed = listed(repo)?;
    let files = listed.files.into_iter().chain(listed.included).chain(later);
    let files: Vec<PathBuf> = files.map(|file| path::real(&file)).collect();
    let reaches = |open: &&PathBuf| {
        let open = path::real(open);
        files.iter().any(|file| file.starts_with(&open) && !wish.read.contains(file))
    };
    match wish.write.iter().find(reaches) {
        None => Ok(()),
        Some(open) => Err(Error::Config {
            key: "sandbox.confineWrite".into(),
            value: open.to_string_lossy().into_owned(),
            wanted: "git takes its own config or hooks from there",
        }),
    }
}

/// Asks git for the config with its origin, and leaves out what a command in a sandbox may have
/// written.
pub fn own(repo: &Repo) -> Result<Config> {
    listed(repo).map(|listed| listed.own)
}

/// The config of git as a confined command may and may not have written it.
struct Listed {
    own: Config,
    /// What does not count.
    rest: Config,
    /// The files that git reads.
    files: BTreeSet<PathBuf>,
    /// What it reads once that is there, or where a condition is met.
    included: BTreeSet<PathBuf>,
}

fn listed(repo: &Repo) -> Result<Listed> {
    let list = ["config", "--list", "-z", "--show-scope", "--show-origin"];
    let listed = repo.git.look(list).read("read the config")?;
    let real = |file: &Path| repo.git.dir().join(file).canonicalize().ok();
    let local = real(&repo.common.join("config"));
    let counts = |scope: &[u8], origin: &[u8]| match scope {
        b"system" | b"global" | b"command" => true,
        b"local" => {
            let file = origin.strip_prefix(b"file:").map(|file| Path::new(OsStr::from_bytes(file)));
            local.is_some() && file.and_then(real) == local
        }
        _ => false,
    };
    let origins = listed.split(|byte| *byte == 0).skip(1).step_by(3);
    let files = origins.filter_map(|origin| origin.strip_prefix(b"file:"));
    let files = files.map(|file| repo.git.dir().join(OsStr::from_bytes(file)));
    let included = included(&listed, repo.git.dir(), &home()?);
    let rest = filtered(&listed, |scope, origin| !counts(scope, origin));
    Ok(Listed { own: filtered(&listed, counts), rest, files: files.collect(), included })
}

/// The files that `include.path` and `includeIf.<condition>.path` name, and the folders that hooks are in or
/// copied from. A relative path is meant from the file that names it, and git runs in `dir`.
fn included(listed: &[u8], dir: &Path, home: &Path) -> BTreeSet<PathBuf> {
    let records: Vec<&[u8]> = listed.split(|byte| *byte == 0).collect();
    let named = records.chunks_exact(3).filter_map(|record| {
        let at = record[2].iter().position(|byte| *byte == b'\n')?;
        let (key, value) = (record[2][..at].to_ascii_lowercase(), &record[2][at + 1..]);
        let leads = [&b"include."[..], b"includeif."];
        let is_include = leads.iter().any(|lead| key.starts_with(lead)) && key.ends_with(b".path");
        let is_read = is_include || key == b"core.hookspath" || key == b"init.templatedir";
        let origin = record[1].strip_prefix(b"file:").unwrap_or_default();
        let folder = dir.join(OsStr::from_bytes(origin)).parent().map(Path::to_owned);
        let path = match value.strip_prefix(b"~/") {
            Some(rest) => home.join(OsStr::from_bytes(rest)),
            None => folder?.join(OsStr::from_bytes(value)),
        };
        is_read.then(|| path::tidy(&path))
    });
    named.collect()
}

/// From `git config --list -z --show-scope --show-origin`: three records for each value.
fn filtered(listed: &[u8], counts: impl Fn(&[u8], &[u8]) -> bool) -> Config {
    let records: Vec<&[u8]> = listed.split(|byte| *byte == 0).collect();
    let kept = records.chunks_exact(3).filter(|record| counts(record[0], record[1]));
    let kept: Vec<u8> = kept.flat_map(|record| [record[2], b"\0"].concat()).collect();
    Config::parse(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    const LISTED: &[u8] = b"global\0file:/h/.gitconfig\0sandbox.confine\ntrue\0\
        local\0file:.git/config\0sandbox.confinewrite\n/a\0\
        local\0file:../x\0sandbox.confinewrite\n/\0\
        worktree\0file:.git/config.worktree\0sandbox.confine\nfalse\0\
        command\0command line:\0sandbox.confineenv\nA_*\0";

    fn of(listed: &[u8]) -> Config {
        filtered(listed, |scope, origin| scope != b"worktree" && origin != b"file:../x")
    }

    #[test]
    fn only_what_counts_is_kept() {
        let config = of(LISTED);
        assert_eq!(level(&config).unwrap(), Some(Level::Full));
        assert_eq!(config.all("sandbox.confinewrite").collect::<Vec<_>>(), ["/a"]);
        assert_eq!(list(&config, "sandbox.confineenv", Vec::new()), ["A_*"]);
        fuzz::damaged(&[LISTED], |input| {
            let records = input.split(|byte| *byte == 0).count();
            assert!(of(input).all("sandbox.confine").count() <= records / 3);
        });
    }

    #[test]
    fn files_that_git_is_to_include_are_known_before_they_are_there() {
        let listed = b"global\0file:/h/.gitconfig\0include.path\n~/a\0\
            local\0file:.git/config\0includeif.gitdir:/x.y/.path\n../b\0\
            global\0file:/h/.gitconfig\0include.path\n/c\0\
            command\0command line:\0include.path\nd\0\
            global\0file:/h/.gitconfig\0other.path\n/e\0\
            global\0file:/h/.gitconfig\0core.hookspath\n~/hooks\0\
            global\0file:/h/.gitconfig\0init.templatedir\n/t\0\
            global\0file:/h/.gitconfig\0include.path\0";
        let found = included(listed, Path::new("/w/app"), Path::new("/h"));
        let wanted = ["/c", "/h/a", "/h/hooks", "/t", "/w/app/b", "/w/d"];
        assert_eq!(found, wanted.map(PathBuf::from).into());
    }

    #[test]
    fn an_empty_value_clears_the_list() {
        let config = Config::parse(
            b"sandbox.confineread\n/a\0sandbox.confineread\n\0sandbox.confineread\n~/b\0",
        );
        let read = paths(&config, "sandbox.confineread", vec!["/d".into()], Path::new("/h"));
        assert_eq!(read.unwrap(), [PathBuf::from("/h/b")]);
        let config = Config::parse(b"sandbox.confineread\na/b\0");
        assert!(paths(&config, "sandbox.confineread", Vec::new(), Path::new("/h")).is_err());
    }
}
