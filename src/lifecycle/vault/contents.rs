//! Reads one file: named by the repository if that has exactly its bytes, else written into the vault.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Stat, fstat};

use crate::git::blob_id::{Blob, Format};
use crate::lifecycle::vault::ahead::Loaded;
use crate::lifecycle::vault::folder::{Seen, pieces};
use crate::lifecycle::vault::import::Import;
use crate::lifecycle::vault::item::{Obstacle, Stop};
use crate::lifecycle::vault::manifest::{Contents, Owner, Pieces, shown};

/// Files up to this size are held in memory.
const SMALL: u64 = 1 << 20;
const CHUNK: usize = 1 << 16;

/// Reads files into the vault.
#[derive(Default)]
pub struct Reader {
    buffer: Vec<u8>,
}

/// An open file.
pub struct Source<'a> {
    pub file: &'a OwnedFd,
    /// What the file system said when it was opened.
    pub stat: &'a Stat,
    /// Its path in the manifest.
    pub path: &'a [u8],
    /// The blob that the base commit has at its path.
    pub base: Option<(Format, String)>,
}

impl Reader {
    /// Reads a file. What it holds did not change meanwhile, or this is an error.
    pub fn read(&mut self, source: &Source, import: &mut Import) -> Result<Contents, Stop> {
        let Source { file, stat, path, base } = source;
        let unreadable = |error: rustix::io::Errno| Obstacle::Unreadable(shown(path), error.into());
        let seen = Seen::of(stat);
        let pieces = pieces(file, stat).map_err(unreadable)?;
        let from_base = match base {
            Some((format, blob)) => self.id(source, *format, seen.size)? == *blob,
            None => false,
        };
        let (owner, blob) = match base {
            Some((_, blob)) if from_base => (Owner::Repository, blob.clone()),
            _ => (Owner::Vault, self.store(source, &seen, pieces.as_ref(), import)?),
        };
        if Seen::of(&fstat(file).map_err(unreadable)?) != seen {
            return Err(Obstacle::Changed(shown(path)).into());
        }
        let (mode, mtime, size) = (seen.permissions(), seen.mtime, seen.size);
        Ok(Contents { mode, mtime, size, owner, blob, pieces })
    }

    /// Takes over a file that was read ahead.
    pub fn take(
        &mut self,
        Loaded { seen, bytes, id }: Loaded,
        path: &[u8],
        base: Option<(Format, String)>,
        import: &mut Import,
    ) -> Result<Contents, Stop> {
        let (owner, blob) = match base {
            Some((_, blob)) if blob == id => (Owner::Repository, blob),
            _ => {
                self.buffer = bytes;
                (Owner::Vault, self.store_buffer(path, &seen, &[(0, seen.size)], import)?)
            }
        };
        let (mode, mtime, size) = (seen.permissions(), seen.mtime, seen.size);
        Ok(Contents { mode, mtime, size, owner, blob, pieces: None })
    }

    /// The id of its bytes. A small file is in the buffer then.
    fn id(&mut self, source: &Source, format: Format, size: u64) -> Result<String, Stop> {
        let mut blob = Blob::new(format, size);
        if size <= SMALL {
            self.fill(source, size)?;
            blob.update(&self.buffer);
        } else {
            self.chunks(source, (0, size), &mut |bytes| {
                blob.update(bytes);
                Ok(())
            })?;
        }
        Ok(blob.id())
    }

    /// Writes its data into the vault. The id of the blob there.
    fn store(
        &mut self,
        source: &Source,
        seen: &Seen,
        pieces: Option<&Pieces>,
        import: &mut Import,
    ) -> Result<String, Stop> {
        let whole = vec![(0, seen.size)];
        let pieces = pieces.unwrap_or(&whole);
        if seen.size <= SMALL {
            // It was read already if it was compared.
            if source.base.is_none() {
                self.fill(source, seen.size)?;
            }
            return self.store_buffer(source.path, seen, pieces, import);
        }
        let mut blob = begin(source.path, seen, pieces, import)?;
        for piece in pieces {
            self.chunks(source, *piece, &mut |bytes| {
                blob.update(bytes);
                import.write(bytes).map_err(Stop::Import)
            })?;
        }
        import.end().map_err(Stop::Import)?;
        Ok(blob.id())
    }

    /// The same for a file that is in the buffer.
    fn store_buffer(
        &mut self,
        path: &[u8],
        seen: &Seen,
        pieces: &[(u64, u64)],
        import: &mut Import,
    ) -> Result<String, Stop> {
        let mut blob = begin(path, seen, pieces, import)?;
        for (offset, length) in pieces {
            let range = usize::try_from(*offset).ok().zip(usize::try_from(*length).ok());
            let bytes = range.and_then(|(at, length)| self.buffer.get(at..at + length));
            let bytes = bytes.ok_or_else(|| Obstacle::Changed(shown(path)))?;
            blob.update(bytes);
            import.write(bytes).map_err(Stop::Import)?;
        }
        import.end().map_err(Stop::Import)?;
        Ok(blob.id())
    }

    /// Reads a small file into the buffer.
    fn fill(&mut self, source: &Source, size: u64) -> Result<(), Stop> {
        let size = usize::try_from(size).map_err(|_| Obstacle::Changed(shown(source.path)))?;
        self.buffer.resize(size, 0);
        read_exactly(source, 0, &mut self.buffer)
    }

    /// Reads a piece of a file, chunk by chunk.
    fn chunks(
        &mut self,
        source: &Source,
        (mut at, mut left): (u64, u64),
        each: &mut dyn FnMut(&[u8]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        while left > 0 {
            let length = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
            self.buffer.resize(length, 0);
            read_exactly(source, at, &mut self.buffer)?;
            each(&self.buffer)?;
            at += length as u64;
            left -= length as u64;
        }
        Ok(())
    }
}

/// Begins a file in the vault, and the id of its blob.
fn begin(
    path: &[u8],
    seen: &Seen,
    pieces: &[(u64, u64)],
    import: &mut Import,
) -> Result<Blob, Stop> {
    let mode = if seen.mode & 0o100 == 0 { "100644" } else { "100755" };
    let length = pieces.iter().map(|(_, length)| length).sum();
    import.file(mode, path, length).map_err(Stop::Import)?;
    Ok(Blob::new(Format::Sha1, length))
}

/// A file that ends early has changed.
fn read_exactly(source: &Source, mut at: u64, mut buffer: &mut [u8]) -> Result<(), Stop> {
    while !buffer.is_empty() {
        match rustix::io::pread(source.file, &mut *buffer, at) {
            Ok(0) => return Err(Obstacle::Changed(shown(source.path)).into()),
            Ok(count) => {
                at += count as u64;
                buffer = &mut buffer[count..];
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                let error = io::Error::from(error);
                return Err(Obstacle::Unreadable(shown(source.path), error).into());
            }
        }
    }
    Ok(())
}
