//! Work that goes on by itself: deleting what was purged, and the daily `reap --all`.
//!
//! What the daily run did is left in `<root>/.reaped`: the time of the run and, until somebody was
//! told, a line about it.

use std::path::Path;

use chrono::TimeDelta;

use crate::config;
use crate::error::{Doing, Result};
use crate::file;
use crate::git;
use crate::journal::replace;
use crate::out::Out;
use crate::repo::Repo;
use crate::time::{self, Time};

const FILE: &str = ".reaped";

/// From here on no terminal ends us.
pub fn leave_terminal() {
    let _ = rustix::process::setsid();
}

/// In the background we get out of everybody's way.
pub fn settle() {
    leave_terminal();
    let _ = rustix::process::nice(10);
}

/// Deletes in the background what is marked in this repository's trash.
pub fn purge(common: &Path) -> Result<()> {
    git::start_ourselves(&["reap", "--finish"], common)
}

/// Starts the daily reaper, unless it ran or was switched off.
pub fn reap_daily(root: &Path, repo: &Repo, now: Time) -> Result<()> {
    let off = std::env::var("GIT_SANDBOX_AUTO_REAP").ok().and_then(|value| config::boolean(&value));
    let on = match off {
        Some(on) => on,
        None => repo.config.boolean("sandbox.autoreap")?.unwrap_or(true),
    };
    let last = read(root).0.and_then(|text| text.parse::<Time>().ok());
    let due = last.is_none_or(|last| last > now || now - last >= TimeDelta::days(1));
    if !on || !due || !root.is_dir() {
        return Ok(());
    }
    let (_, word) = read(root);
    write(root, now, word.as_deref().unwrap_or_default())?;
    git::start_ourselves(&["reap", "--all", "--quiet"], &repo.common)
}

/// Leaves word of what a quiet run did.
pub fn leave_word(root: &Path, summary: &str, matters: bool, now: Time) -> Result<()> {
    if !root.is_dir() {
        return Ok(());
    }
    write(root, now, if matters { summary } else { "" })
}

/// Says once what the last quiet run did.
pub fn tell(root: &Path, out: Out) {
    if let (Some(time), Some(word)) = read(root) {
        out.note(&format!(
            "while you were away: {word}; 'git sandbox restore' lists what can be brought back"
        ));
        if let Ok(time) = time.parse() {
            let _ = write(root, time, "");
        }
    }
}

/// The time of the last run, and what there is to tell.
fn read(root: &Path) -> (Option<String>, Option<String>) {
    let text = file::read_small(&root.join(FILE)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines().filter(|line| !line.is_empty()).map(str::to_owned);
    (lines.next(), lines.next())
}

fn write(root: &Path, now: Time, word: &str) -> Result<()> {
    replace(&root.join(FILE), format!("{}\n{word}\n", time::rfc3339(now)).as_bytes())
}

/// Where the program is, to start it again.
pub fn ourselves() -> Result<std::path::PathBuf> {
    std::env::current_exe().doing(|| "find the program".into())
}
