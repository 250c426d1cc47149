//! Writing into the vault: one `git fast-import`, which takes any bytes and applies no filter.

use std::io::{self, Write};

use crate::error::{Error, Result};
use crate::git::blob_id::{Blob, Format};
use crate::git::pipe::Pipe;
use crate::lifecycle::vault::repository::{ITEMS, Repository, STAGING};
use crate::sys::clock;

const DOING: &str = "write to the vault";

/// A commit in the making at `refs/staging/<id>`. Dropped before it is finished, there is none.
pub struct Import {
    pipe: Pipe,
}

impl Import {
    /// Starts git.
    pub fn start(vault: &Repository) -> Result<Import> {
        let words = [
            "fast-import",
            "--quiet",
            "--done",
            "--force",
            "--depth=0",
            "--big-file-threshold=1m",
            "--date-format=raw",
        ];
        // Always a pack: loose objects would be a file each.
        let pipe = vault.call(&["-c", "fastimport.unpackLimit=0"]).args(words).piped()?;
        Ok(Import { pipe })
    }

    /// Begins the commit of an item, on top of what the vault has of it already.
    pub fn begin(mut self, id: &str, before: Option<&str>) -> Result<Import> {
        let now = clock::now()?.timestamp().max(0);
        let message = format!("put away by git sandbox: {id}\n");
        let mut text = format!(
            "commit {STAGING}{id}\n\
             committer git-sandbox <git-sandbox@localhost> {now} +0000\n\
             data {}\n{message}",
            message.len()
        );
        if before.is_some() {
            text += &["from ", ITEMS, id, "^0\n"].concat();
        }
        match self.write(text.as_bytes()) {
            Ok(()) => Ok(self),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// A file of so many bytes, which [`Import::write`] must write exactly. Its end is
    /// [`Import::end`].
    pub fn file(&mut self, mode: &str, path: &[u8], size: u64) -> io::Result<()> {
        let mut line = format!("M {mode} inline ").into_bytes();
        quote(&mut line, path);
        line.extend_from_slice(format!("\ndata {size}\n").as_bytes());
        self.write(&line)
    }

    /// More bytes of the file.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.pipe.input()?.write_all(bytes)
    }

    /// The end of a file.
    pub fn end(&mut self) -> io::Result<()> {
        self.write(b"\n")
    }

    /// A small file of ours. Its blob.
    pub fn small(&mut self, path: &str, bytes: &[u8]) -> io::Result<String> {
        self.file("100644", path.as_bytes(), bytes.len() as u64)?;
        self.write(bytes)?;
        self.end()?;
        let mut blob = Blob::new(Format::Sha1, bytes.len() as u64);
        blob.update(bytes);
        Ok(blob.id())
    }

    /// Makes the commit and its ref.
    pub fn finish(mut self) -> Result<()> {
        match self.write(b"\ndone\n").and_then(|()| self.pipe.close_input()) {
            Ok(()) => self.pipe.done(DOING),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Why git does not take more: a full disk, above all.
    pub fn failed(self, error: io::Error) -> Error {
        let doing = || DOING.to_owned();
        match error.kind() {
            io::ErrorKind::BrokenPipe => match self.pipe.finish() {
                Ok(answer) => Error::Git { doing: doing(), why: answer.why() },
                Err(error) => error,
            },
            _ => Error::Io { doing: doing(), source: error },
        }
    }
}

/// A path as `fast-import` reads it. A step that git would refuse (`.git`) is stored under another
/// name: for people who look with plain git, as the manifest has the true one.
fn quote(line: &mut Vec<u8>, path: &[u8]) {
    line.push(b'"');
    for (number, step) in path.split(|byte| *byte == b'/').enumerate() {
        if number > 0 {
            line.push(b'/');
        }
        let is = |name: &[u8]| step.eq_ignore_ascii_case(name);
        let step = match step {
            [b'.', rest @ ..] if is(b".git") || is(b".gitmodules") => {
                line.extend_from_slice(b"%2e");
                rest
            }
            [b'%', rest @ ..] => {
                line.extend_from_slice(b"%25");
                rest
            }
            step => step,
        };
        for byte in step {
            match byte {
                b'"' | b'\\' => line.extend_from_slice(&[b'\\', *byte]),
                0..32 | 127 => line.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
                _ => line.push(*byte),
            }
        }
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn paths_are_quoted_and_names_that_git_refuses_are_others() {
        let quoted = |path: &[u8]| {
            let mut line = Vec::new();
            quote(&mut line, path);
            line
        };
        assert_eq!(quoted(b"tree/a b\n\"\\"), br#""tree/a b\012\"\\""#);
        assert_eq!(quoted(b"tree/.Git/x"), b"\"tree/%2eGit/x\"");
        assert_eq!(quoted(b"tree/.gitmodules"), b"\"tree/%2egitmodules\"");
        assert_eq!(quoted(b"tree/.gitignore"), b"\"tree/.gitignore\"");
        assert_eq!(quoted(b"tree/%2egit/\xff"), b"\"tree/%252egit/\xff\"");
        assert_eq!(quoted(b"tree/.gi"), b"\"tree/.gi\"");
    }
}
