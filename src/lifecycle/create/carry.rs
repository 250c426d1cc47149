//! `new --with-changes`: the uncommitted changes of the current worktree, copied into a new sandbox.
//!
//! Where the sandbox starts at the commit that the changes were made on, every changed file is copied
//! byte for byte and every staged entry is put into the new index. Elsewhere git brings them over as it
//! brings over a commit: first what is staged, then the rest. A conflict is an error, and the sandbox is
//! taken back. The worktree that the changes are in is only read.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::{Call, Git, porcelain};
use crate::repo::Repo;
use crate::sandbox::difference;
use crate::sys::scratch::Scratch;

const DOING: &str = "bring the changes along";

/// The uncommitted changes of a worktree.
#[derive(Debug)]
pub struct Carry {
    /// git in the worktree.
    git: Git,
    /// The worktree's folder.
    pub top: PathBuf,
    index: PathBuf,
    /// The commit that they were made on.
    head: String,
    /// Every file that differs, staged or not, and is there; no folders.
    files: Vec<PathBuf>,
    /// Every file that differs and is not there.
    gone: Vec<PathBuf>,
    /// Those of them that are only meant to be added.
    intended: Vec<PathBuf>,
    /// Submodules and repositories inside, which stay behind.
    pub left: Vec<PathBuf>,
}

impl Carry {
    /// Looks for the changes in the current worktree. Conflicts are refused.
    pub fn of(repo: &Repo) -> Result<Carry> {
        let Some(top) = &repo.top else {
            return Err(refused("there is no worktree here that could have any"));
        };
        let git = repo.git.in_worktree(top);
        let head = git.look(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).ask()?;
        let head = porcelain::commit(head.stdout.trim_ascii_end()).ok_or(Error::NoCommits)?;
        let words = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"];
        let answer = git.look(words).arg("--ignore-submodules=none").read(DOING)?;
        let status = porcelain::status(&answer)
            .ok_or_else(|| refused("the answer of git status was not understood"))?;
        if status.conflicted > 0 {
            return Err(refused("there are conflicts to be resolved first"));
        }
        let (mut files, mut gone, mut left) = (Vec::new(), Vec::new(), Vec::new());
        for path in status.paths {
            let listed = path.as_os_str().as_bytes().ends_with(b"/");
            match kind_at(top, &path).at("read", &top.join(&path))? {
                _ if listed => left.push(path),
                Some(kind) if !kind.is_dir() => files.push(path),
                Some(_) if top.join(&path).join(".git").exists() => left.push(path),
                // A folder in the place of a file.
                _ => gone.push(path),
            }
        }
        Ok(Carry {
            git,
            top: top.clone(),
            index: repo.git_dir.join("index"),
            head,
            files,
            gone,
            intended: status.intended,
            left,
        })
    }

    /// How many files are copied.
    pub fn count(&self) -> usize {
        self.files.len() + self.gone.len()
    }

    /// Brings them into a sandbox that was just checked out at a commit.
    pub fn apply(&self, git: &Git, to: &Path, entry: &Path, commit: &str) -> Result<()> {
        match commit == self.head {
            true => self.copy(git, to),
            false => self.transplant(git, entry).inspect_err(|_| {
                // What git wrote goes again, so that a creation that failed can be taken back: a file
                // that is not the commit's would keep the sandbox.
                let _ = git.call(["read-tree", "--reset", "-u", commit]).ask();
            }),
        }
    }

    /// Copies files and index entries.
    fn copy(&self, git: &Git, to: &Path) -> Result<()> {
        let staged = self.git.look(["diff-index", "--cached", "--raw", "-z", "--no-abbrev"]);
        let staged = staged.args([
            "--no-renames",
            "--ita-invisible-in-index",
            "--ignore-submodules=none",
            &self.head,
            "--",
        ]);
        let staged = index_info(&staged.read(DOING)?)
            .ok_or_else(|| refused("the answer of git diff-index was not understood"))?;
        for path in &self.gone {
            delete(to, path).at("delete", &to.join(path))?;
        }
        for path in &self.files {
            replace(&self.top.join(path), to, path).at("copy to", &to.join(path))?;
        }
        if !staged.is_empty() {
            let words = ["update-index", "--add", "--replace", "-z", "--index-info"];
            fed(git.call(words), staged)?;
        }
        self.intend(git)?;
        // Its exit code only says that some files differ.
        git.call(["update-index", "-q", "--refresh"]).ask()?;
        Ok(())
    }

    /// Says again which files are meant to be added.
    fn intend(&self, git: &Git) -> Result<()> {
        if self.intended.is_empty() {
            return Ok(());
        }
        let words = ["--literal-pathspecs", "add", "--force", "--intent-to-add"];
        let call = git.call(words).args(["--pathspec-from-file=-", "--pathspec-file-nul"]);
        fed(call, listed(&self.intended))
    }

    /// Brings them over as two commits that stand for them: what is staged, and the rest.
    fn transplant(&self, git: &Git, entry: &Path) -> Result<()> {
        let (staged, all) = self.commits()?;
        self.pick(git, entry, &self.head, &staged)?;
        let tree = git.call(["write-tree"]).line(DOING)?;
        self.pick(git, entry, &staged, &all)?;
        git.call(["read-tree"]).arg(tree).done(DOING)?;
        self.intend(git)?;
        git.call(["update-index", "-q", "--refresh"]).ask()?;
        Ok(())
    }

    /// Makes the two commits, by copies of the index.
    fn commits(&self) -> Result<(String, String)> {
        let scratch = Scratch::new()?;
        let copy = scratch.path().join("index");
        difference::copy_index(&self.index, &copy)?;
        let tree = || -> Result<OsString> {
            self.git.look(["write-tree"]).env("GIT_INDEX_FILE", &copy).line(DOING)
        };
        let staged = self.commit(tree()?, &self.head)?;
        let git = |words: &[&str]| self.git.look(words).env("GIT_INDEX_FILE", &copy);
        // First, so that a file can take the place of a folder.
        fed(git(&["update-index", "--force-remove", "-z", "--stdin"]), listed(&self.gone))?;
        if !self.files.is_empty() {
            let call = git(&["--literal-pathspecs", "add", "--force"]);
            let call = call.args(["--pathspec-from-file=-", "--pathspec-file-nul"]);
            fed(call, listed(&self.files))?;
        }
        let all = self.commit(tree()?, &staged)?;
        Ok((staged, all))
    }

    fn commit(&self, tree: OsString, parent: &str) -> Result<String> {
        let call = self.git.look(["commit-tree", "-p", parent, "-m", "uncommitted changes"]);
        let line = signed(call.arg(tree)).line(DOING)?;
        porcelain::commit(line.as_bytes())
            .ok_or_else(|| refused("the answer of git commit-tree was not understood"))
    }

    /// Applies what is between two commits.
    fn pick(&self, git: &Git, entry: &Path, before: &str, commit: &str) -> Result<()> {
        let same = git.look(["diff-tree", "--quiet", before, commit, "--"]).ask()?;
        if same.ok() {
            return Ok(());
        }
        let words = ["-c", "rerere.enabled=false", "cherry-pick", "--no-commit", commit];
        let answer = signed(git.call(words)).ask()?;
        // What git would have put into a commit message.
        for name in ["MERGE_MSG", "AUTO_MERGE"] {
            let _ = fs::remove_file(entry.join(name));
        }
        if answer.ok() {
            return Ok(());
        }
        let words = ["diff", "--name-only", "--diff-filter=U", "-z", "--no-ext-diff"];
        let paths = porcelain::paths(&git.look(words).read(DOING)?);
        match paths.is_empty() {
            true => Err(Error::Git { doing: DOING.into(), why: answer.why() }),
            false => Err(Error::ChangesConflict { paths }),
        }
    }
}

fn refused(why: &str) -> Error {
    Error::Git { doing: DOING.into(), why: why.to_owned() }
}

/// Sets an author: git wants one, and these commits are kept nowhere.
fn signed(call: Call<'_>) -> Call<'_> {
    let names = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"];
    let mails = ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"];
    let call = names.into_iter().fold(call, |call, name| call.env(name, "git sandbox"));
    mails.into_iter().fold(call, |call, name| call.env(name, "git-sandbox@localhost"))
}

fn fed(call: Call<'_>, input: Vec<u8>) -> Result<()> {
    let answer = call.ask_with(input)?;
    match answer.ok() {
        true => Ok(()),
        false => Err(Error::Git { doing: DOING.into(), why: answer.why() }),
    }
}

fn listed(paths: &[PathBuf]) -> Vec<u8> {
    paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect()
}

/// `git diff-index --cached --raw -z` as `git update-index -z --index-info` reads it.
fn index_info(raw: &[u8]) -> Option<Vec<u8>> {
    let mut pieces = raw.split(|byte| *byte == 0).filter(|piece| !piece.is_empty());
    let mut info = Vec::new();
    while let Some(record) = pieces.next() {
        // `:<old mode> <new mode> <old id> <new id> <letter>`
        let fields: Vec<&[u8]> = record.strip_prefix(b":")?.split(|byte| *byte == b' ').collect();
        let [_, mode, _, id, _] = fields[..] else { return None };
        let mode = if mode == b"000000" { &b"0"[..] } else { mode };
        info.extend([mode, b" ", id, b"\t", pieces.next()?, b"\0"].concat());
    }
    Some(info)
}

/// Deletes a file, and its folders as far as they are empty.
fn delete(to: &Path, path: &Path) -> io::Result<()> {
    if !parents_are_real(to, path)? {
        return Ok(());
    }
    match fs::remove_file(to.join(path)) {
        Ok(()) => {}
        // A folder is there for a submodule, and stays.
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory => {}
            _ => return Err(error),
        },
    }
    let mut folders = path.ancestors().skip(1).filter(|folder| *folder != Path::new(""));
    folders.all(|folder| fs::remove_dir(to.join(folder)).is_ok());
    Ok(())
}

/// Puts a copy of a file or symlink in the place of what is there.
fn replace(source: &Path, to: &Path, path: &Path) -> io::Result<()> {
    let target = to.join(path);
    let mut folder = to.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        match fs::symlink_metadata(&folder) {
            Ok(meta) if meta.is_dir() => {}
            // A file or symlink of the old commit where the changes have a folder.
            Ok(_) => {
                fs::remove_file(&folder)?;
                fs::create_dir(&folder)?;
            }
            Err(_) => fs::create_dir(&folder)?,
        }
    }
    match fs::remove_file(&target) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let meta = fs::symlink_metadata(source)?;
    if meta.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(source)?, &target);
    }
    if meta.is_file() {
        reflink_copy::reflink_or_copy(source, &target)?;
    }
    Ok(())
}

/// The kind of what is at a path, or none. What lies beyond a symlink is not at that path.
fn kind_at(top: &Path, path: &Path) -> io::Result<Option<fs::FileType>> {
    if !parents_are_real(top, path)? {
        return Ok(None);
    }
    match fs::symlink_metadata(top.join(path)) {
        Ok(meta) => Ok(Some(meta.file_type())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether no folder on the way is a symlink, which could lead anywhere.
fn parents_are_real(to: &Path, path: &Path) -> io::Result<bool> {
    let mut folder = to.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        match fs::symlink_metadata(&folder) {
            Ok(meta) if meta.is_dir() => {}
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => return Ok(false),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staged_entries_as_input() {
        let raw = b":100644 100755 a b M\0x y\0:100644 000000 c 0 D\0z\0";
        let info = b"100755 b\tx y\x000 0\tz\0";
        assert_eq!(index_info(raw).as_deref(), Some(&info[..]));
        assert_eq!(index_info(b""), Some(Vec::new()));
        assert_eq!(index_info(b"fatal: no\0"), None);
    }
}
