//! Objects of a quarantine on their way into the repository.
//!
//! The quarantine's own objects are brought into a folder of ours as git would receive them from a
//! stranger: loose files and packs, and nothing that tells git where to look further. Of each pack git
//! makes a new index. From there git packs what is wanted, and reads that pack into the repository:
//! it computes every name again and checks every object.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::{Call, Git};
use crate::lifecycle::quarantine::inside::plain_files;
use crate::repo::{Repo, kept_pack};
use crate::sandbox::record;
use crate::sys::{delete, dir, file};

/// The folder for incoming objects, in the sandbox's private git dir.
const INCOMING: &str = "sandbox.incoming";
/// What stands in the `.keep` file of a pack until refs lead to its objects.
const KEEP: &str = "git-sandbox: being taken over";

/// Objects of a quarantine that git can read, beside those of the repository. Deleted when dropped.
#[derive(Debug)]
pub struct Incoming<'a> {
    repo: &'a Repo,
    git: &'a Git,
    dir: PathBuf,
    /// The sandbox, where its packs stay kept.
    kept_for: Option<String>,
}

impl<'a> Incoming<'a> {
    /// Brings the objects of a quarantine into a folder of ours.
    pub fn of(
        repo: &'a Repo,
        git: &'a Git,
        entry: &Path,
        quarantine: &Path,
    ) -> Result<Incoming<'a>> {
        let dir = entry.join(INCOMING);
        delete::tree(&dir).at("delete", &dir)?;
        // In a mirror, a fetch may delete the ref that keeps what was taken over.
        let id = record::to_change(entry)?.id;
        let kept_for = id.filter(|_| kept_pack::is_mirrored(&repo.config));
        let incoming = Incoming { repo, git, dir, kept_for };
        // What a crash left.
        incoming.release_packs();
        for name in ["info", "pack"] {
            dir::make(&incoming.dir.join(name))?;
        }
        let objects = repo.common.join("objects");
        let alternates = [objects.as_os_str().as_bytes(), b"\n"].concat();
        file::replace(&incoming.dir.join("info/alternates"), &alternates)?;
        let from = quarantine.join("objects");
        for path in plain_files(&from)? {
            let Ok(name) = path.strip_prefix(&from) else { continue };
            if is_loose_object(name) || is_pack(name) {
                let to = incoming.dir.join(name);
                to.parent().map_or(Ok(()), dir::make)?;
                fs::hard_link(&path, &to).at("read", &path)?;
                // A process that outlived the command may have put a symlink there meanwhile.
                let meta = fs::symlink_metadata(&to).at("read", &path)?;
                if !meta.is_file() {
                    return Err(failed(&format!("'{}' is not a plain file", path.display())));
                }
            }
        }
        for pack in plain_files(&incoming.dir.join("pack"))? {
            let call = incoming.call(["index-pack"]).arg(&pack);
            call.done("read a pack of the sandbox")?;
        }
        Ok(incoming)
    }

    /// A call of git that sees the objects of the quarantine too.
    pub fn call<'b>(&'b self, words: impl IntoIterator<Item = &'b str>) -> Call<'b> {
        let call = self.git.look(words).env("GIT_OBJECT_DIRECTORY", &self.dir);
        // A partial clone fetches nothing for this.
        call.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none")
    }

    /// Those ids that are objects, as pairs of id and kind.
    pub fn known(&self, ids: &BTreeSet<String>) -> Result<Vec<(String, String)>> {
        let input = lines(ids.iter().map(String::as_str));
        let words = ["cat-file", "--batch-check=%(objectname) %(objecttype)", "--buffer"];
        let answer = self.call(words).ask_with(input.into_bytes())?;
        if !answer.ok() {
            return Err(failed(&answer.why()));
        }
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        let pairs = pairs.filter(|(_, kind)| matches!(*kind, "commit" | "tag" | "tree" | "blob"));
        Ok(pairs.map(|(id, kind)| (id.to_owned(), kind.to_owned())).collect())
    }

    /// Brings these objects and everything behind them into the repository, but for what is behind
    /// `without`, which the repository has. Every object is checked on the way.
    pub fn take(&self, ids: &BTreeSet<String>, without: &[&str]) -> Result<()> {
        let with = ids.iter().map(String::as_str).chain(["--not"]).chain(without.iter().copied());
        let input = lines(with);
        let base = self.dir.join("taken");
        let words = ["pack-objects", "--revs", "--delta-base-offset", "--non-empty", "-q"];
        let answer = self.call(words).arg(&base).ask_with(input.into_bytes())?;
        if !answer.ok() {
            return Err(failed(&answer.why()));
        }
        let name = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        if !name.is_empty() {
            let pack = self.dir.join(format!("taken-{name}.pack"));
            let pack = file::open(&pack).at("read", &pack)?;
            let check = if self.is_partial() { "--fsck-objects" } else { "--strict" };
            // No gc may delete the pack before refs lead to its objects.
            let mark = self.kept_for.as_deref().map_or(KEEP.to_owned(), kept_pack::mark);
            let words = ["index-pack", "--stdin", check, &format!("--keep={mark}")];
            let read = self.git.look(words).ask_from(pack)?;
            if !read.ok() {
                return Err(failed(&read.why()));
            }
        }
        self.check_connected(ids)
    }

    /// Lets gc have the packs that were kept while they were taken over. The repository lock is held, so
    /// none of them is another command's.
    fn release_packs(&self) {
        let packs = self.repo.common.join("objects/pack");
        for file in fs::read_dir(packs).into_iter().flatten().flatten() {
            let path = file.path();
            let is_keep = path.extension().is_some_and(|end| end == "keep");
            let says = |text: Vec<u8>| text.trim_ascii_end() == KEEP.as_bytes();
            if is_keep && file::read_small(&path).is_ok_and(says) {
                let _ = fs::remove_file(&path);
            }
        }
    }

    /// Whether the repository has everything behind these objects now.
    fn check_connected(&self, ids: &BTreeSet<String>) -> Result<()> {
        let missing =
            if self.is_partial() { "--missing=allow-promisor" } else { "--missing=error" };
        let input = lines(ids.iter().map(String::as_str));
        let words = ["rev-list", "--objects", "--quiet", missing, "--stdin", "--not", "--all"];
        let answer = self.git.look(words).ask_with(input.into_bytes())?;
        match answer.ok() {
            true => Ok(()),
            false => Err(failed(&answer.why())),
        }
    }

    fn is_partial(&self) -> bool {
        let config = &self.repo.config;
        config.get("extensions.partialclone").is_some() || config.has_promisor()
    }
}

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        self.release_packs();
        let _ = delete::tree(&self.dir);
    }
}

/// Words for git's stdin, one on each line.
fn lines<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.fold(String::new(), |text, word| text + word + "\n")
}

fn failed(why: &str) -> Error {
    Error::Git { doing: "read its objects".into(), why: why.to_owned() }
}

/// Whether a path in a folder of objects is that of a loose object: two hex digits and the rest.
fn is_loose_object(path: &Path) -> bool {
    let text = path.as_os_str().as_bytes();
    let hex = |bytes: &[u8]| bytes.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let [first, second, b'/', rest @ ..] = text else { return false };
    hex(&[*first, *second]) && matches!(rest.len(), 38 | 62) && hex(rest)
}

/// Whether it is that of a pack.
fn is_pack(path: &Path) -> bool {
    let name = path.as_os_str().as_bytes();
    let name = name.strip_prefix(b"pack/pack-").and_then(|name| name.strip_suffix(b".pack"));
    name.is_some_and(|id| id.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_and_packs_come_along() {
        let loose = |text: &str| is_loose_object(Path::new(text));
        assert!(loose(&format!("ab/{}", "c".repeat(38))));
        assert!(loose(&format!("00/{}", "f".repeat(62))));
        for odd in ["ab/c", "info/alternates", "pack/multi-pack-index", "info/commit-graph"] {
            assert!(!loose(odd) && !is_pack(Path::new(odd)), "{odd}");
        }
        assert!(!loose(&format!("aB/{}", "c".repeat(38))));
        assert!(is_pack(Path::new("pack/pack-00ff.pack")));
        for odd in ["pack/pack-00ff.idx", "pack/x.pack", "pack/pack-.keep", "pack/../pack-a.pack"] {
            assert!(!is_pack(Path::new(odd)), "{odd}");
        }
    }
}
