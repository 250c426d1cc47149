//! What must hold in a repository for a donor to be asked: anything that makes git write files or an
//! index otherwise than usual means git's own way.

use std::path::{Path, PathBuf};

use crate::git::config::{Config, boolean};
use crate::repo::Repo;
use crate::sys::{file, path};

/// Variables that change what git writes.
const VARIABLES: [&str; 2] = ["GIT_ATTR_SOURCE", "GIT_INDEX_VERSION"];
/// Settings that do, unless they are false.
const UNLESS_FALSE: [&str; 7] = [
    "core.autocrlf",
    "core.sparsecheckout",
    "core.splitindex",
    "core.ignorestat",
    "index.skiphash",
    "index.sparse",
    "feature.manyfiles",
];

/// Whether git writes every file as its blob is unless attributes say otherwise, and the usual index.
pub fn are_usual(config: &Config) -> bool {
    let is_off = |key: &&str| match (*key, config.get(key)) {
        (_, None) | ("core.autocrlf", Some("input")) => true,
        (_, Some(value)) => boolean(value) == Some(false),
    };
    let eol = matches!(config.get("core.eol"), None | Some("lf" | "native"));
    let version = matches!(config.get("index.version"), None | Some("2"));
    // A partial clone may lack blobs that a checkout would fetch.
    let mut promisors = config.of_sections(&["remote.", "extensions.partialclone"]);
    let is_whole = !promisors
        .any(|(key, _)| key.ends_with(".promisor") || key.starts_with("extensions.partialclone"));
    let attributes = config.get("attr.tree").is_none();
    let variables = VARIABLES.iter().all(|name| std::env::var_os(name).is_none());
    UNLESS_FALSE.iter().all(is_off) && eol && version && is_whole && attributes && variables
}

/// Whether some object of the repository stands for another (`git replace`); git then writes that one.
pub fn has_replacements(repo: &Repo) -> bool {
    let lead = b"refs/replace/";
    if repo.is_reftable() {
        let words = ["for-each-ref", "--count=1", "--format=%(refname)", "refs/replace/"];
        return !repo
            .git
            .look(words)
            .ask()
            .is_ok_and(|answer| answer.ok() && answer.stdout.is_empty());
    }
    let named = |line: &[u8]| {
        line.iter()
            .position(|byte| *byte == b' ')
            .is_some_and(|at| line[at + 1..].starts_with(lead))
    };
    let is_packed = match file::read(&repo.common.join("packed-refs")) {
        Ok(bytes) => bytes.split(|byte| *byte == b'\n').any(named),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    };
    is_packed || repo.common.join("refs/replace").symlink_metadata().is_ok()
}

/// The files with attributes for all files, the user's and the system's; `None` if that cannot be told.
pub fn attribute_files(repo: &Repo, config: &Config) -> Option<Vec<PathBuf>> {
    let home = || path::absolute("HOME");
    let users = match config.get("core.attributesfile") {
        Some(value) => match value.strip_prefix("~/") {
            Some(rest) => home()?.join(rest),
            // Another user's home, or the folder that git was installed in.
            None if value.starts_with(['~', '%']) => return None,
            None if Path::new(value).is_relative() => return None,
            None => PathBuf::from(value),
        },
        None => match path::absolute("XDG_CONFIG_HOME") {
            Some(config) => config.join("git/attributes"),
            None => home()?.join(".config/git/attributes"),
        },
    };
    // The system's are beside the git that was installed, wherever that is.
    let program = repo.git.path();
    let real = program.canonicalize().ok()?;
    let beside =
        [program, &real].map(|git| Some(git.parent()?.parent()?.join("etc/gitattributes")));
    let system = PathBuf::from("/etc/gitattributes");
    let mut files = vec![repo.common.join("info/attributes"), users, system];
    files.extend(beside.into_iter().flatten());
    Some(files)
}
