//! Makes files from blobs of the vault or of a repository, as they were.

use std::ffi::CStr;
use std::io::{self, BufRead, Read};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, RawMode, fchmod, ftruncate, futimens, openat, unlinkat};

use crate::error::Result;
use crate::git::Git;
use crate::git::blob_id::{Blob, Format};
use crate::git::pipe::{Object, Pipe};
use crate::lifecycle::vault::base::offline;
use crate::lifecycle::vault::manifest::{Contents, Owner};
use crate::lifecycle::vault::places::times;
use crate::lifecycle::vault::repository::Repository;

/// Who is asked for blobs.
pub struct Objects<'a> {
    start: Box<dyn Fn() -> Result<Pipe> + 'a>,
    pipe: Option<Pipe>,
}

/// How making a file ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Made {
    /// It is there.
    Whole,
    /// Its bytes are not to be had; there is no file.
    Missing,
}

/// A stretch of a blob that goes into the file: from, to, length.
type Stretch = (u64, u64, u64);

impl<'a> Objects<'a> {
    /// The vault's.
    pub fn of_vault(vault: &'a Repository) -> Objects<'a> {
        let start = || vault.call(&["cat-file", "--batch"]).piped();
        Objects { start: Box::new(start), pipe: None }
    }

    /// A repository's, as far as they are here. Raw: no filter, no conversion.
    pub fn of_repository(git: &'a Git) -> Objects<'a> {
        let start = || offline(git, &["cat-file", "--batch"]).piped();
        Objects { start: Box::new(start), pipe: None }
    }

    /// Makes a file.
    pub fn make(&mut self, contents: &Contents, folder: &OwnedFd, name: &CStr) -> io::Result<Made> {
        // A git that may not fetch dies of an object that it does not have, each time that it is asked.
        let (mut pipe, found) = match self.ask(&contents.blob)? {
            (_, Err(_)) => self.ask(&contents.blob)?,
            other => other,
        };
        let object = match found {
            Ok(Some(object)) => object,
            Ok(None) => {
                self.pipe = Some(pipe);
                return Ok(Made::Missing);
            }
            Err(_) => return Ok(Made::Missing),
        };
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?;
        let written = copy(&mut pipe, &object, contents, &file);
        match written {
            Ok(true) => {
                self.pipe = Some(pipe);
                fchmod(&file, Mode::from_raw_mode(contents.mode as RawMode))?;
                futimens(&file, &times(contents.mtime))?;
                Ok(Made::Whole)
            }
            Ok(false) => {
                self.pipe = Some(pipe);
                unlinkat(folder, name, AtFlags::empty())?;
                Ok(Made::Missing)
            }
            // git died in the middle of a damaged object; the disk is full.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                unlinkat(folder, name, AtFlags::empty())?;
                Ok(Made::Missing)
            }
            Err(error) => Err(error),
        }
    }
}

impl Objects<'_> {
    /// Asks for an object. Returns the git that was asked too.
    fn ask(&mut self, blob: &str) -> io::Result<(Pipe, io::Result<Option<Object>>)> {
        let mut pipe = match self.pipe.take() {
            Some(pipe) => pipe,
            None => (self.start)().map_err(io::Error::other)?,
        };
        let found = pipe.object(blob);
        Ok((pipe, found))
    }
}

/// Writes the bytes of an object to a file. False if they are not those that the file had.
fn copy(pipe: &mut Pipe, object: &Object, contents: &Contents, file: &OwnedFd) -> io::Result<bool> {
    let expected = match contents.owner {
        Owner::Vault => contents.stored(),
        Owner::Repository => contents.size,
    };
    let Some(format) = Format::of(&contents.blob) else { return Ok(false) };
    let mut blob = Blob::new(format, object.size);
    if contents.pieces.is_some() {
        ftruncate(file, contents.size)?;
    }
    let stretches = stretches(contents);
    let mut next = 0;
    let output = pipe.output()?;
    let mut at = 0;
    while at < object.size {
        let bytes = output.fill_buf()?;
        if bytes.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let count = usize::try_from(object.size - at).unwrap_or(usize::MAX).min(bytes.len());
        let bytes = &bytes[..count];
        blob.update(bytes);
        let end = at + count as u64;
        while let Some((from, to, length)) = stretches.get(next).filter(|(from, ..)| *from < end) {
            let (start, stop) = (at.max(*from), end.min(from + length));
            let range = usize::try_from(start - at).unwrap_or(count)
                ..usize::try_from(stop - at).unwrap_or(count);
            write_at(file, &bytes[range], to + (start - from))?;
            if from + length > end {
                break;
            }
            next += 1;
        }
        output.consume(count);
        at = end;
    }
    output.read_exact(&mut [0])?;
    Ok(object.kind == "blob" && object.size == expected && blob.id() == contents.blob)
}

fn stretches(contents: &Contents) -> Vec<Stretch> {
    let Some(pieces) = &contents.pieces else { return vec![(0, 0, contents.size)] };
    let mut stored = 0;
    let stretches = pieces.iter().map(|(offset, length)| {
        let from = match contents.owner {
            Owner::Vault => stored,
            Owner::Repository => *offset,
        };
        stored += length;
        (from, *offset, *length)
    });
    stretches.collect()
}

fn write_at(file: &OwnedFd, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::pwrite(file, bytes, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                bytes = &bytes[count..];
                at += count as u64;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
