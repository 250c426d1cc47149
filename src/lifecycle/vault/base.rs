//! The files of a commit, as far as the repository has them here. Nothing is fetched.

use std::collections::HashSet;
use std::io::BufRead;
use std::thread::JoinHandle;

use crate::error::{Doing, Result};
use crate::git::blob_id::Format;
use crate::git::pipe::Pipe;
use crate::git::{Call, Git};
use crate::lifecycle::vault::item::Base;

/// A call that sees the objects that are here, and no replacements of them.
pub fn offline<'a>(git: &'a Git, words: &[&str]) -> Call<'a> {
    let call = git.look(words).env("GIT_ALLOW_PROTOCOL", "none").env("GIT_NO_LAZY_FETCH", "1");
    call.env("GIT_NO_REPLACE_OBJECTS", "1")
}

/// The blobs of a commit that are not here; `None` if even its tree is not.
type Missing = JoinHandle<Option<HashSet<String>>>;

/// The question for the files of a commit.
pub struct Asked {
    format: Format,
    missing: Missing,
    listing: Pipe,
}

/// The files of a commit, in the order of their paths.
pub struct Files {
    /// The format of its ids.
    pub format: Format,
    missing: HashSet<String>,
    listing: Pipe,
    next: Option<File>,
}

struct File {
    path: Vec<u8>,
    blob: String,
    is_plain: bool,
}

impl Asked {
    /// Starts to list the files of a commit. `None` if there is no such commit.
    pub fn about(base: &Base) -> Result<Option<Asked>> {
        let Some(format) = Format::of(base.commit) else { return Ok(None) };
        let tree = format!("{}^{{tree}}", base.commit);
        let words = ["rev-list", "--objects", "--no-object-names", "--missing=print", &tree];
        let mut objects = offline(base.git, &words).piped()?;
        let missing = std::thread::spawn(move || {
            let mut missing = HashSet::new();
            let mut line = Vec::new();
            let output = objects.output().ok()?;
            while let Ok(1..) = output.read_until(b'\n', &mut line) {
                if let Some(id) = line.strip_prefix(b"?") {
                    missing.insert(String::from_utf8_lossy(id.trim_ascii_end()).into_owned());
                }
                line.clear();
            }
            objects.finish().is_ok_and(|answer| answer.ok()).then_some(missing)
        });
        let files = offline(base.git, &["ls-tree", "-r", "-z", "--full-tree", base.commit]);
        Ok(Some(Asked { format, missing, listing: files.piped()? }))
    }

    /// The answer; `None` where the commit is not here.
    pub fn answer(self) -> Result<Option<Files>> {
        let Some(missing) = self.missing.join().ok().flatten() else { return Ok(None) };
        let mut files = Files { format: self.format, missing, listing: self.listing, next: None };
        files.advance()?;
        Ok(Some(files))
    }
}

impl Files {
    /// The blob at a path, if it is a plain file there and the blob is here. Paths must be asked for in
    /// order; `passed` is told of each that comes before and was not asked for.
    pub fn at(
        &mut self,
        path: &[u8],
        passed: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Option<String>> {
        while let Some(file) = self.next.as_ref().filter(|file| *file.path < *path) {
            passed(&file.path)?;
            self.advance()?;
        }
        let Some(file) = self.next.take_if(|file| *file.path == *path) else { return Ok(None) };
        self.advance()?;
        Ok(Some(file.blob).filter(|blob| file.is_plain && !self.missing.contains(blob)))
    }

    /// Whether there are files in a folder, which comes next in order.
    pub fn are_in(
        &mut self,
        folder: &[u8],
        passed: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<bool> {
        let folder = [folder, b"/"].concat();
        while let Some(file) = self.next.as_ref().filter(|file| file.path < folder) {
            passed(&file.path)?;
            self.advance()?;
        }
        Ok(self.next.as_ref().is_some_and(|file| file.path.starts_with(&folder)))
    }

    /// Tells of each path that is left.
    pub fn rest(&mut self, passed: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        while let Some(file) = self.next.take() {
            passed(&file.path)?;
            self.advance()?;
        }
        Ok(())
    }

    /// Where git stops early, a tree is not here: the files in it are not named.
    fn advance(&mut self) -> Result<()> {
        self.next = None;
        let output = self.listing.output().doing(|| "list its files".into())?;
        let mut line = Vec::new();
        while output.read_until(0, &mut line).doing(|| "list its files".into())? > 0 {
            if let Some(file) = File::parse(&line) {
                self.next = Some(file);
                return Ok(());
            }
            line.clear();
        }
        Ok(())
    }
}

impl File {
    /// `<mode> <type> <id> TAB <path> NUL`. A submodule is no file.
    fn parse(line: &[u8]) -> Option<File> {
        let line = line.strip_suffix(b"\0")?;
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let facts = std::str::from_utf8(&line[..tab]).ok()?;
        let mut words = facts.split(' ');
        let (mode, kind, blob) = (words.next()?, words.next()?, words.next()?);
        let path = line[tab + 1..].to_vec();
        let is_plain = mode.starts_with("100");
        (kind == "blob").then(|| File { path, blob: blob.to_owned(), is_plain })
    }
}
