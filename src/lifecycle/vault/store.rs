//! Step 1 of putting away: walks both folders of an item, reads every file once but those that were
//! ignored and are not precious, and writes what the repository does not have into the vault.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::thread;

use rustix::fs::{FileType, fstat, readlinkat};

use crate::error::{Doing, Result};
use crate::git::blob_id::{Blob, Format};
use crate::lifecycle::vault::ahead::{self, Asker, Loaded};
use crate::lifecycle::vault::base::Files;
use crate::lifecycle::vault::before::Before;
use crate::lifecycle::vault::contents::{Reader, Source};
use crate::lifecycle::vault::folder::{
    Entry, Seen, entries, fingerprint, has_attributes, look, obstacle, open_file, open_folder,
    open_top, settle,
};
use crate::lifecycle::vault::ignored::{Ignored, in_tree};
use crate::lifecycle::vault::import::Import;
use crate::lifecycle::vault::item::{Header, Item, Obstacle, Part, Stop};
use crate::lifecycle::vault::list::{Line, Writer};
use crate::lifecycle::vault::manifest::{Kind, Record, shown};
use crate::sys::signals;

/// The manifest in the item's tree.
pub const MANIFEST: &str = "manifest";
/// The header in the item's tree.
pub const HEADER: &str = "item";

/// What there is to store an item with.
pub struct Tools<'a> {
    /// Where it goes.
    pub import: Import,
    /// The files of the base commit.
    pub files: Option<Files>,
    /// What the vault has of it already.
    pub before: Before,
    /// Two files for the manifest and the list.
    pub scratch: [File; 2],
    /// Told of every file that was read, with its size.
    pub progress: &'a mut dyn FnMut(u64),
}

/// The files that tell of a stored item.
pub struct Written {
    /// The manifest as it was sent to the vault.
    pub manifest: File,
    /// Its blob there.
    pub manifest_blob: String,
    /// The header's blob there.
    pub header_blob: String,
    /// What may be deleted.
    pub list: File,
}

/// Stores an item. `header` has everything but the counts.
pub fn store(item: &Item, header: Header, tools: Tools) -> Result<Written, Stop> {
    let (asker, worker) = ahead::pair();
    let format = tools.files.as_ref().map_or(Format::Sha1, |files| files.format);
    thread::scope(|scope| {
        scope.spawn(move || worker.work(format));
        store_with(asker, item, header, tools)
    })
}

fn store_with(ahead: Asker, item: &Item, header: Header, tools: Tools) -> Result<Written, Stop> {
    let Tools { import, files, before, scratch: [manifest, list], progress } = tools;
    let mut storing = Storing {
        ignored: Ignored::of(item),
        ahead,
        import,
        files,
        before,
        manifest: BufWriter::new(manifest),
        list: Writer::new(list),
        reader: Reader::default(),
        links: HashMap::new(),
        progress,
        header,
    };
    match storing.walk(item).and_then(|()| storing.complete()) {
        Ok((manifest_blob, header_blob)) => {
            storing.import.finish()?;
            let doing = || "write a list".to_owned();
            let manifest = storing.manifest.into_inner();
            let manifest = manifest.map_err(std::io::IntoInnerError::into_error).doing(doing)?;
            let list = storing.list.finish().doing(doing)?;
            Ok(Written { manifest, manifest_blob, header_blob, list })
        }
        Err(Stop::Import(error)) => Err(storing.import.failed(error).into()),
        Err(other) => Err(other),
    }
}

struct Storing<'a> {
    ignored: Ignored<'a>,
    ahead: Asker,
    import: Import,
    files: Option<Files>,
    before: Before,
    manifest: BufWriter<File>,
    list: Writer,
    reader: Reader,
    /// Files with several names, by device and inode: the first name.
    links: HashMap<(u64, u64), Vec<u8>>,
    progress: &'a mut dyn FnMut(u64),
    header: Header,
}

impl Storing<'_> {
    fn walk(&mut self, item: &Item) -> Result<(), Stop> {
        for part in Part::ALL {
            let Some(top) = item.folder(part) else { continue };
            let mut path = part.name().as_bytes().to_vec();
            let folder = open_top(top).map_err(|error| obstacle(error, &path))?;
            let name = CString::new(part.name()).unwrap_or_default();
            self.links.clear();
            self.folder(&folder, name, &mut path, false)?;
            if part == Part::Tree {
                self.deleted_files(|files, passed| files.rest(passed))?;
                self.files = None;
            }
        }
        Ok(())
    }

    fn folder(
        &mut self,
        folder: &OwnedFd,
        name: CString,
        path: &mut Vec<u8>,
        ignored: bool,
    ) -> Result<(), Stop> {
        signals::check()?;
        let seen = Seen::of(&fstat(folder).map_err(|error| obstacle(error, path))?);
        check_attributes(folder, path)?;
        self.note(&Line::Folder(name, seen.place()))?;
        let kind = Kind::Folder { mode: seen.permissions(), mtime: seen.mtime };
        self.record(path, kind)?;
        let length = path.len();
        let entries = entries(folder).map_err(|error| obstacle(error, path))?;
        let mut batch = if ignored { None } else { self.ahead.ask(folder, &entries) };
        for Entry { name, kind } in entries {
            path.push(b'/');
            path.extend_from_slice(name.to_bytes());
            match kind {
                FileType::Directory => self.inner_folder(folder, name, path, ignored)?,
                FileType::RegularFile => {
                    let loaded = batch.as_mut().and_then(|batch| self.ahead.take(batch, &name));
                    self.file(folder, name, path, ignored, loaded)?;
                }
                FileType::Symlink => self.link(folder, name, path, ignored)?,
                FileType::Fifo => self.empty(folder, name, path, Kind::Fifo)?,
                FileType::Socket => self.empty(folder, name, path, Kind::Socket)?,
                _ => return Err(Obstacle::Device(shown(path)).into()),
            }
            path.truncate(length);
        }
        self.note(&Line::End)
    }

    /// An ignored folder is passed over whole, unless the base commit has files in it.
    fn inner_folder(
        &mut self,
        parent: &OwnedFd,
        name: CString,
        path: &mut Vec<u8>,
        ignored: bool,
    ) -> Result<(), Stop> {
        let folder = open_folder(parent, &name, path)?;
        let ignored = ignored || self.ignored.has_folder(path);
        let tracked = match in_tree(path).filter(|_| ignored) {
            Some(path) => self.deleted_files(|files, passed| files.are_in(path, passed))?,
            None => None,
        };
        if ignored && tracked != Some(true) {
            self.note(&Line::Ignored(name, fingerprint(&folder, path)?))?;
            return self.record(path, Kind::Ignored);
        }
        self.folder(&folder, name, path, ignored)
    }

    fn file(
        &mut self,
        folder: &OwnedFd,
        name: CString,
        path: &[u8],
        ignored: bool,
        loaded: Option<Loaded>,
    ) -> Result<(), Stop> {
        let blob = self.base_blob(path)?;
        let dropped = (ignored && blob.is_none()) || self.ignored.has_file(path);
        if dropped {
            return self.empty(folder, name, path, Kind::Ignored);
        }
        if let Some(loaded) = loaded {
            let seen = loaded.seen;
            let contents = self.reader.take(loaded, path, blob, &mut self.import)?;
            (self.progress)(contents.size);
            self.note(&Line::File(name, seen, false))?;
            return self.record(path, Kind::File(Box::new(contents)));
        }
        let file = open_file(folder, &name, path)?;
        let stat = settle(&file).map_err(|error| obstacle(error, path))?;
        check_attributes(&file, path)?;
        let seen = Seen::of(&stat);
        if seen.kind() != FileType::RegularFile {
            return Err(Obstacle::Changed(shown(path)).into());
        }
        let linked = stat.st_nlink > 1;
        let first = linked.then(|| self.links.get(&seen.place()).cloned()).flatten();
        let kind = if let Some(first) = first {
            Kind::Same { first }
        } else {
            let source = Source { file: &file, stat: &stat, path, base: blob };
            let contents = self.reader.read(&source, &mut self.import)?;
            (self.progress)(contents.size);
            if linked {
                self.links.insert(seen.place(), path.to_vec());
            }
            Kind::File(Box::new(contents))
        };
        self.note(&Line::File(name, seen, linked))?;
        self.record(path, kind)
    }

    fn link(
        &mut self,
        folder: &OwnedFd,
        name: CString,
        path: &[u8],
        ignored: bool,
    ) -> Result<(), Stop> {
        self.base_blob(path)?;
        if ignored || self.ignored.has_file(path) {
            return self.empty(folder, name, path, Kind::Ignored);
        }
        let seen = look(folder, &name).map_err(|error| obstacle(error, path))?;
        let target = readlinkat(folder, &name, Vec::new());
        let target = target.map_err(|error| obstacle(error, path))?.into_bytes();
        if look(folder, &name) != Ok(seen) || seen.kind() != FileType::Symlink {
            return Err(Obstacle::Changed(shown(path)).into());
        }
        self.import.file("120000", path, target.len() as u64).map_err(Stop::Import)?;
        self.import.write(&target).map_err(Stop::Import)?;
        self.import.end().map_err(Stop::Import)?;
        self.note(&Line::File(name, seen, false))?;
        self.record(path, Kind::Link { mtime: seen.mtime, target })
    }

    /// Something whose bytes are not stored: it is deleted by what the file system says about it.
    fn empty(
        &mut self,
        folder: &OwnedFd,
        name: CString,
        path: &[u8],
        kind: Kind,
    ) -> Result<(), Stop> {
        if kind != Kind::Ignored {
            self.base_blob(path)?;
        }
        let seen = look(folder, &name).map_err(|error| obstacle(error, path))?;
        self.note(&Line::File(name, seen, true))?;
        self.record(path, kind)
    }

    /// The blob that the base commit has at a path.
    fn base_blob(&mut self, path: &[u8]) -> Result<Option<(Format, String)>> {
        let Some(path) = in_tree(path) else { return Ok(None) };
        let found = self.deleted_files(|files, passed| {
            Ok(files.at(path, passed)?.map(|blob| (files.format, blob)))
        });
        Ok(found?.flatten())
    }

    /// Asks the base commit; files of it that come before, and are not there, are recorded.
    fn deleted_files<T>(
        &mut self,
        ask: impl FnOnce(&mut Files, &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(mut files) = self.files.take() else { return Ok(None) };
        let answer = ask(&mut files, &mut |path| {
            let path = [b"tree/", path].concat();
            self.settled(Record { path, kind: Kind::Deleted })
        });
        self.files = Some(files);
        answer.map(Some)
    }

    fn note(&mut self, line: &Line) -> Result<(), Stop> {
        Ok(self.list.add(line).doing(|| "write a list".into())?)
    }

    fn record(&mut self, path: &[u8], kind: Kind) -> Result<(), Stop> {
        Ok(self.settled(Record { path: path.to_vec(), kind })?)
    }

    fn settled(&mut self, record: Record) -> Result<()> {
        self.before.settle(record).map_or(Ok(()), |record| self.write(&record))
    }

    fn write(&mut self, record: &Record) -> Result<()> {
        self.header.records += 1;
        if let Kind::File(contents) = &record.kind {
            self.header.size += contents.size;
            self.header.stored += contents.stored();
        }
        record.write(&mut self.manifest).doing(|| "write a manifest".into())
    }

    /// Adds what only the vault has by now, the manifest and the header. The blobs of these two.
    fn complete(&mut self) -> Result<(String, String), Stop> {
        for record in std::mem::take(&mut self.before).rest() {
            self.write(&record)?;
        }
        let doing = || "read a manifest".to_owned();
        self.manifest.flush().doing(doing)?;
        let manifest = self.manifest.get_mut();
        let size = manifest.stream_position().doing(doing)?;
        manifest.rewind().doing(doing)?;
        let mut blob = Blob::new(Format::Sha1, size);
        self.import.file("100644", MANIFEST.as_bytes(), size).map_err(Stop::Import)?;
        let mut chunk = vec![0; 1 << 16];
        loop {
            let count = manifest.read(&mut chunk).doing(doing)?;
            if count == 0 {
                break;
            }
            blob.update(&chunk[..count]);
            self.import.write(&chunk[..count]).map_err(Stop::Import)?;
        }
        self.import.end().map_err(Stop::Import)?;
        let header = serde_json::to_vec_pretty(&self.header).map_err(std::io::Error::from);
        let header = header.doing(|| "write a journal".into())?;
        let header = self.import.small(HEADER, &header).map_err(Stop::Import)?;
        Ok((blob.id(), header))
    }
}

/// Stops at what has extended attributes of a user's: they would be lost.
fn check_attributes(file: &OwnedFd, path: &[u8]) -> Result<(), Obstacle> {
    match has_attributes(file).map_err(|error| obstacle(error, path))? {
        true => Err(Obstacle::Attributes(shown(path))),
        false => Ok(()),
    }
}
