//! Step 2 of putting away: reads an item back from the vault, byte for byte.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};

use crate::error::{Doing, Error, Result};
use crate::git::blob_id::{Blob, Format};
use crate::git::pipe::{Object, Pipe};
use crate::lifecycle::vault::manifest::{Kind, Owner, Record};
use crate::lifecycle::vault::repository::{Repository, STAGING};
use crate::lifecycle::vault::store::{HEADER, MANIFEST, Written};

const DOING: &str = "read back from the vault";

/// Compares what was read with what the vault has at `refs/staging/<id>`. Its commit.
/// `objects` is a `cat-file --batch` of the vault.
pub fn check(
    vault: &Repository,
    objects: &mut Pipe,
    id: &str,
    written: &Written,
) -> Result<String> {
    let staged = format!("{STAGING}{id}");
    let list = vault.call(&["rev-list", "--objects", "--no-object-names", &staged]).piped()?;
    let commit = expect(objects, &staged, None, "commit")?;
    let header = format!("{staged}:{HEADER}");
    expect(objects, &header, Some(&written.header_blob), "blob")?;
    let manifest = format!("{staged}:{MANIFEST}");
    expect(objects, &manifest, Some(&written.manifest_blob), "blob")?;
    let held = all(list)?;
    // The two are the same: ours is easier to read.
    let mut records = records(&written.manifest).doing(|| DOING.into())?;
    let mut checked = HashSet::new();
    while let Some(record) = Record::read(&mut records).doing(|| DOING.into())? {
        let Kind::File(contents) = record.kind else { continue };
        if contents.owner == Owner::Repository || !checked.insert(contents.blob.clone()) {
            continue;
        }
        if !held.contains(&contents.blob) {
            return Err(differs());
        }
        expect(objects, &contents.blob, Some(&contents.blob), "blob")?;
    }
    Ok(commit)
}

fn records(mut manifest: &File) -> io::Result<BufReader<&File>> {
    manifest.rewind()?;
    Ok(BufReader::new(manifest))
}

/// Every object of a listing: those that a ref keeps.
fn all(mut list: Pipe) -> Result<HashSet<String>> {
    let mut held = HashSet::new();
    let mut line = String::new();
    while list.output().and_then(|output| output.read_line(&mut line)).doing(|| DOING.into())? > 0 {
        held.insert(line.trim_end().to_owned());
        line.clear();
    }
    list.done(DOING)?;
    Ok(held)
}

/// Reads an object and compares its bytes with the id they must have. Its id.
fn expect(objects: &mut Pipe, name: &str, blob: Option<&str>, kind: &str) -> Result<String> {
    let object = objects.object(name).doing(|| DOING.into())?.ok_or_else(differs)?;
    let read = id_of(objects, &object).doing(|| DOING.into())?;
    let fine = object.kind == kind && blob.is_none_or(|blob| read == blob && object.id == blob);
    fine.then_some(object.id).ok_or_else(differs)
}

/// The id of the bytes that follow, as those of a blob.
fn id_of(objects: &mut Pipe, object: &Object) -> io::Result<String> {
    let mut blob = Blob::new(Format::Sha1, object.size);
    let output = objects.output()?;
    let mut left = object.size;
    while left > 0 {
        let bytes = output.fill_buf()?;
        if bytes.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        blob.update(&bytes[..count]);
        output.consume(count);
        left -= count as u64;
    }
    output.read_exact(&mut [0])?;
    Ok(blob.id())
}

fn differs() -> Error {
    let why = "it does not have what was written".to_owned();
    Error::Git { doing: DOING.to_owned(), why }
}
