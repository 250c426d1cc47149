//! A port number for each sandbox: the same on every run, and another one than its neighbours have.
//!
//! It is chosen once, under a lock of the folder of private git dirs, and kept in `sandbox.port`.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::error::{Doing, Result};
use crate::repo::name;
use crate::sys::file;
use crate::sys::lock::Lock;
use crate::ui::out::{Out, When};

const FILE: &str = "sandbox.port";
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

/// The port of a sandbox; chosen now, if this is the first time.
pub fn of(entry: &Path) -> Result<u16> {
    if let Some(port) = read(entry) {
        return Ok(port);
    }
    let worktrees = entry.parent().unwrap_or(entry);
    let lock = Lock::folder(worktrees, Out::new(When::Never))?;
    if let Some(port) = read(entry) {
        return Ok(port);
    }
    // Removed sandboxes may come back: theirs are taken too.
    let removed = worktrees.with_file_name("sandbox");
    let folders = [worktrees, &removed].map(|folder| fs::read_dir(folder).into_iter().flatten());
    let others = folders.into_iter().flatten().flatten();
    let taken: Vec<u16> = others.filter_map(|other| read(&other.path())).collect();
    let wanted = first_choice(entry);
    let free = (0..COUNT).map(|step| FIRST + (wanted + step) % COUNT);
    let port = free.into_iter().find(|port| !taken.contains(port)).unwrap_or(FIRST + wanted);
    let path = entry.join(FILE);
    let written = || file::create(&path)?.write_all(format!("{port}\n").as_bytes());
    written().at("write", &path)?;
    drop(lock);
    Ok(port)
}

fn first_choice(entry: &Path) -> u16 {
    let hash = name::hash(entry.as_os_str());
    let number = u64::from_str_radix(&hash, 16).unwrap_or(0) % u64::from(COUNT);
    u16::try_from(number).unwrap_or(0)
}

fn read(entry: &Path) -> Option<u16> {
    let bytes = file::read_small(&entry.join(FILE)).ok()?;
    let port: u16 = String::from_utf8(bytes).ok()?.trim().parse().ok()?;
    (FIRST..FIRST + COUNT).contains(&port).then_some(port)
}
