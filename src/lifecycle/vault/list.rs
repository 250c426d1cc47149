//! The list by which an item is deleted: what was there when it was read, in the order of the walk.
//!
//! It lives in a file without a name in the vault, as a million files would not fit into memory.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::{Doing, Result};
use crate::lifecycle::vault::folder::Seen;

/// One line of the list.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A folder, by device and inode; what is in it follows, up to its end.
    Folder(CString, (u64, u64)),
    /// The end of a folder.
    End,
    /// A file, symlink, fifo or socket, and whether other names lead to it.
    File(CString, Seen, bool),
    /// A folder that was ignored, by its [fingerprint](super::folder::fingerprint).
    Ignored(CString, [u8; 20]),
}

/// A file that has no name and goes with its last handle.
pub fn scratch(folder: &Path) -> Result<File> {
    let path = folder.join(format!("scratch-{}", std::process::id()));
    let opened = || {
        let _ = fs::remove_file(&path);
        let file =
            OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        fs::remove_file(&path)?;
        Ok(file)
    };
    opened().at("create", &path)
}

/// The list in the making.
#[derive(Debug)]
pub struct Writer(BufWriter<File>);

impl Writer {
    /// An empty list.
    pub fn new(file: File) -> Writer {
        Writer(BufWriter::new(file))
    }

    /// One more line.
    pub fn add(&mut self, line: &Line) -> io::Result<()> {
        let to = &mut self.0;
        match line {
            Line::Folder(name, (device, inode)) => {
                write_name(to, b'd', name)?;
                numbers(to, &[*device, *inode])
            }
            Line::End => to.write_all(b"e"),
            Line::File(name, seen, linked) => {
                write_name(to, b'f', name)?;
                let (mtime, ctime) = (seen.mtime, seen.ctime);
                numbers(to, &[seen.device, seen.inode, seen.size, u64::from(*linked)])?;
                numbers(to, &[mtime.0.cast_unsigned(), mtime.1.into()])?;
                numbers(to, &[ctime.0.cast_unsigned(), ctime.1.into(), seen.mode.into()])
            }
            Line::Ignored(name, sum) => {
                write_name(to, b'i', name)?;
                to.write_all(sum)
            }
        }
    }

    /// The list, complete.
    pub fn finish(self) -> io::Result<File> {
        self.0.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

fn write_name(to: &mut impl Write, tag: u8, name: &CString) -> io::Result<()> {
    let name = name.to_bytes();
    let length = u32::try_from(name.len()).map_err(|_| ErrorKind::InvalidInput)?;
    to.write_all(&[tag])?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(name)
}

fn numbers(to: &mut impl Write, numbers: &[u64]) -> io::Result<()> {
    numbers.iter().try_for_each(|number| to.write_all(&number.to_le_bytes()))
}

/// The list as it is read.
#[derive(Debug)]
pub struct Reader<'a>(BufReader<&'a File>);

impl<'a> Reader<'a> {
    /// From its beginning.
    pub fn new(mut file: &'a File) -> io::Result<Reader<'a>> {
        file.rewind()?;
        Ok(Reader(BufReader::new(file)))
    }

    /// The next line; `None` at the end.
    pub fn line(&mut self) -> io::Result<Option<Line>> {
        let mut tag = [0];
        if self.0.read(&mut tag)? == 0 {
            return Ok(None);
        }
        let line = match tag[0] {
            b'd' => Line::Folder(self.name()?, (self.number()?, self.number()?)),
            b'e' => Line::End,
            b'f' => {
                let name = self.name()?;
                let (device, inode, size) = (self.number()?, self.number()?, self.number()?);
                let linked = self.number()? != 0;
                let (mtime, ctime) = (self.stamp()?, self.stamp()?);
                let mode = u32::try_from(self.number()?).map_err(|_| ErrorKind::InvalidData)?;
                Line::File(name, Seen { device, inode, size, mtime, ctime, mode }, linked)
            }
            b'i' => {
                let name = self.name()?;
                let mut sum = [0; 20];
                self.0.read_exact(&mut sum)?;
                Line::Ignored(name, sum)
            }
            _ => return Err(ErrorKind::InvalidData.into()),
        };
        Ok(Some(line))
    }

    fn name(&mut self) -> io::Result<CString> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length)?;
        let mut name = vec![0; u32::from_le_bytes(length) as usize];
        self.0.read_exact(&mut name)?;
        CString::new(name).map_err(|_| ErrorKind::InvalidData.into())
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn stamp(&mut self) -> io::Result<(i64, u32)> {
        let seconds = self.number()?.cast_signed();
        Ok((seconds, u32::try_from(self.number()?).map_err(|_| ErrorKind::InvalidData)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let seen = Seen {
            device: 1,
            inode: u64::MAX,
            size: 3,
            mtime: (-4, 5),
            ctime: (6, 999_999_999),
            mode: 0o100_644,
        };
        let name = || CString::new(b"a\n\xff".to_vec()).unwrap();
        let lines = || {
            [
                Line::Folder(name(), (1, 2)),
                Line::File(name(), seen, true),
                Line::Ignored(name(), [7; 20]),
                Line::End,
            ]
        };
        let mut writer = Writer::new(scratch(dir.path()).unwrap());
        for line in lines() {
            writer.add(&line).unwrap();
        }
        let file = writer.finish().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        for _ in 0..2 {
            let mut reader = Reader::new(&file).unwrap();
            for line in lines() {
                assert_eq!(reader.line().unwrap(), Some(line));
            }
            assert_eq!(reader.line().unwrap(), None);
        }
    }
}
