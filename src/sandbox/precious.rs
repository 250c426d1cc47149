//! Ignored files that matter all the same: `sandbox.precious`, matched by git itself.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::git::config::Config;
use crate::git::{Git, porcelain};

/// Unless `sandbox.precious` says otherwise.
const DEFAULT: [&str; 5] = [".env*", "*.local", "*.sqlite*", "*.pem", "*.key"];

/// Returns which of these ignored files, in the folder that `git` runs in, are precious: files, not what
/// lies inside ignored folders, and not unchanged copies of what the main worktree has.
pub fn files(
    git: &Git,
    config: &Config,
    ignored: &[PathBuf],
    main: Option<&Path>,
) -> Result<Vec<PathBuf>> {
    let is_file = |path: &&PathBuf| !path.as_os_str().as_bytes().ends_with(b"/");
    let mut files: Vec<&PathBuf> = ignored.iter().filter(is_file).collect();
    let mut patterns: Vec<&str> = config.all("sandbox.precious").collect();
    if patterns.is_empty() {
        patterns = DEFAULT.to_vec();
        files.retain(|path| may_match(path));
    }
    let patterns: Vec<String> =
        patterns.iter().map(|pattern| format!("--exclude={pattern}")).collect();
    let mut precious = Vec::new();
    for files in files.chunks(500) {
        let words = ["--literal-pathspecs", "ls-files", "--others", "--ignored", "-z"];
        let call = git.look(words).args(&patterns).arg("--").args(files);
        let found = porcelain::paths(&call.read("find precious files")?);
        precious.extend(found.into_iter().filter(|path| !is_copy(git.dir(), main, path)));
    }
    Ok(precious)
}

/// Whether one of our own patterns may match a path or a folder above it, in upper or lower case: none does
/// unless what is between its stars is in there.
fn may_match(path: &Path) -> bool {
    let text = path.as_os_str().as_bytes().to_ascii_lowercase();
    let has = |word: &[u8]| text.windows(word.len()).any(|window| window == word);
    DEFAULT.iter().any(|pattern| has(pattern.trim_matches('*').as_bytes()))
}

/// Whether the main worktree has the very same file, from which it was copied.
fn is_copy(folder: &Path, main: Option<&Path>, path: &Path) -> bool {
    let Some(main) = main else { return false };
    let plain = |file: &Path| fs::symlink_metadata(file).is_ok_and(|meta| meta.is_file());
    let (ours, theirs) = (folder.join(path), main.join(path));
    let same = || fs::read(&ours).ok().is_some_and(|bytes| fs::read(&theirs).ok() == Some(bytes));
    plain(&ours) && plain(&theirs) && same()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_asked_about_every_path_that_may_match() {
        let may = |path: &str| may_match(Path::new(path));
        for path in
            [".env", "a/.env.local", "db.sqlite3-wal", "a.pem/b.o", "B.KEY", ".ENV", "x.Local"]
        {
            assert!(may(path), "{path}");
        }
        for path in ["a.o", "target/debug/x", "env", "key", "pem.txt", "local/sqlite"] {
            assert!(!may(path), "{path}");
        }
    }
}
