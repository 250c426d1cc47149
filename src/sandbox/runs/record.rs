//! Writing runs down, under a lock of the journal that is held for a moment.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Doing, Error, Result};
use crate::sandbox::runs::line::{self, End, Line, Retry, Start};
use crate::sandbox::runs::{KEPT, Run, again_of, file_of, history, is_held, journal};
use crate::sys::clock::{self, Time};
use crate::sys::file;

/// A run that has begun: its number, and its locked file.
#[derive(Debug)]
pub struct Started {
    entry: PathBuf,
    number: u64,
    file: File,
}

/// The claim of a supervisor to start a run again; it ends when dropped.
#[derive(Debug)]
pub struct Again {
    path: PathBuf,
    _file: File,
}

impl Drop for Again {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes the start of a run down, with the next number, and forgets the oldest ones.
pub fn start(entry: &Path, start: Start) -> Result<Started> {
    let journal = Journal::lock(entry)?;
    let runs = history(entry);
    let mut number = runs.last().map_or(1, |run| run.start.run + 1);
    let file = loop {
        match file::open_private(&file_of(entry, number), true) {
            // Left of a journal that was lost.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            made => break made,
        }
    };
    let path = file_of(entry, number);
    let file = file.at("create", &path)?;
    file.lock().at("lock", &path)?;
    let begun = Line::Start(Start { run: number, ..start });
    let written = match runs.len() >= KEPT {
        true => journal.forget(&runs, begun),
        false => journal.append(&[begun]),
    };
    if written.is_err() {
        let _ = fs::remove_file(&path);
    }
    written?;
    Ok(Started { entry: entry.to_owned(), number, file })
}

impl Started {
    /// A run that another process of ours has begun, and whose locked file we were given.
    pub fn handed_over(entry: &Path, number: u64, file: File) -> Started {
        Started { entry: entry.to_owned(), number, file }
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its locked file: a process that has a copy of the descriptor keeps it running.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The path of that file.
    pub fn path(&self) -> PathBuf {
        file_of(&self.entry, self.number)
    }

    /// Writes its end down. A file that holds no log goes.
    pub fn end(&self, exit: u8) -> Result<()> {
        self.ended(exit, false)?;
        match self.file.metadata().is_ok_and(|meta| meta.len() == 0) {
            true => fs::remove_file(self.path()).at("remove", &self.path()),
            false => Ok(()),
        }
    }

    /// Writes its end down, and that it is not started again because it fails too often.
    pub fn give_up(&self, exit: u8) -> Result<()> {
        self.ended(exit, true)
    }

    fn ended(&self, exit: u8, gave_up: bool) -> Result<()> {
        let end = End { run: self.number, at: clock::now()?, exit, gave_up };
        Journal::lock(&self.entry)?.append(&[Line::End(end)])
    }

    /// Writes its end down together with the time of the next start, and claims that start.
    pub fn end_until(&self, exit: u8, at: Time) -> Result<Again> {
        let path = again_of(&self.entry, self.number);
        let file = file::open_private(&path, false).at("create", &path)?;
        file.lock().at("lock", &path)?;
        let end = End { run: self.number, at: clock::now()?, exit, gave_up: false };
        let retry = Retry { run: self.number, at, paused: false };
        Journal::lock(&self.entry)?.append(&[Line::End(end), Line::Retry(retry)])?;
        Ok(Again { path, _file: file })
    }

    /// Puts the next start off, because many sandboxes failed at once.
    pub fn put_off(&self, at: Time) -> Result<()> {
        let retry = Retry { run: self.number, at, paused: true };
        Journal::lock(&self.entry)?.append(&[Line::Retry(retry)])
    }

    /// Whether it was asked to end.
    pub fn is_stopped(&self) -> bool {
        let runs = history(&self.entry);
        runs.iter().any(|run| run.start.run == self.number && run.stopped)
    }
}

/// Writes down that everything that runs in a sandbox, or will be started again, was asked to end.
pub fn stop(entry: &Path) -> Result<()> {
    if !journal(entry).exists() {
        return Ok(());
    }
    let held = Journal::lock(entry)?;
    let live = |run: &Run| {
        let file = if run.end.is_none() { file_of } else { again_of };
        !run.stopped && is_held(&file(entry, run.start.run))
    };
    let runs = history(entry);
    let lines: Vec<Line> =
        runs.iter().filter(|run| live(run)).map(|run| Line::Stop { run: run.start.run }).collect();
    if lines.is_empty() { Ok(()) } else { held.append(&lines) }
}

/// Writes down that a sandbox is free for another task.
pub fn release(entry: &Path) -> Result<()> {
    if !journal(entry).exists() {
        return Ok(());
    }
    Journal::lock(entry)?.append(&[Line::Release { at: clock::now()? }])
}

/// The journal, locked.
struct Journal {
    entry: PathBuf,
    file: File,
}

impl Journal {
    /// Waits for the lock, but not for long: what runs in the sandbox could hold it for ever.
    fn lock(entry: &Path) -> Result<Journal> {
        const PATIENCE: Duration = Duration::from_secs(2);
        let (path, begun) = (journal(entry), Instant::now());
        loop {
            let file = file::open_private(&path, false).at("open", &path)?;
            match file.try_lock() {
                // Forgetting puts another file in its place.
                Ok(()) if is_at(&file, &path) => {
                    return Ok(Journal { entry: entry.to_owned(), file });
                }
                Err(TryLockError::Error(error)) => return Err(error).at("lock", &path),
                _ if begun.elapsed() > PATIENCE => {
                    let doing = format!("lock '{}'", path.display());
                    return Err(Error::Git { doing, why: "another process holds it".into() });
                }
                _ => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    fn append(&self, lines: &[Line]) -> Result<()> {
        let path = journal(&self.entry);
        let mut bytes = line::in_bytes(lines);
        // What a crash cut off must not swallow the next line.
        let there = file::read_small(&path).unwrap_or_default();
        if there.last().is_some_and(|byte| *byte != b'\n') {
            bytes.insert(0, b'\n');
        }
        (&self.file).write_all(&bytes).at("write", &path)
    }

    /// Keeps the newest runs, and those that go on, with a new one.
    fn forget(&self, runs: &[Run], begun: Line) -> Result<()> {
        let path = journal(&self.entry);
        let first = runs.len().saturating_sub(KEPT - 1);
        let is_kept = |index: usize, run: &Run| {
            let number = run.start.run;
            index >= first
                || is_held(&file_of(&self.entry, number))
                || is_held(&again_of(&self.entry, number))
        };
        let (kept, gone): (Vec<_>, Vec<_>) =
            runs.iter().enumerate().partition(|(index, run)| is_kept(*index, run));
        let numbers: Vec<u64> = kept.iter().map(|(_, run)| run.start.run).collect();
        let of = |line: &Line| match line {
            Line::Start(start) => numbers.contains(&start.run),
            Line::End(End { run, .. }) | Line::Retry(Retry { run, .. }) | Line::Stop { run } => {
                numbers.contains(run)
            }
            Line::Release { .. } => true,
        };
        let there = line::parse(&file::read_small(&path).at("read", &path)?);
        let mut lines: Vec<Line> = Vec::new();
        for line in there.into_iter().filter(of).chain([begun]) {
            // Of several releases in a row one is enough.
            let again = matches!(
                (lines.last(), &line),
                (None | Some(Line::Release { .. }), Line::Release { .. })
            );
            if !again {
                lines.push(line);
            }
        }
        let next = path.with_file_name(file::new_name("sandbox.runs"));
        let written = || {
            match fs::remove_file(&next) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            file::open_private(&next, true)?.write_all(&line::in_bytes(&lines))?;
            fs::rename(&next, &path)
        };
        written().at("write", &path)?;
        for (_, run) in gone {
            for file in [file_of, again_of] {
                let _ = fs::remove_file(file(&self.entry, run.start.run));
            }
        }
        Ok(())
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let ours = file.metadata().map(|meta| (meta.dev(), meta.ino()));
    let there = fs::symlink_metadata(path).map(|meta| (meta.dev(), meta.ino()));
    matches!((ours, there), (Ok(ours), Ok(there)) if ours == there)
}
