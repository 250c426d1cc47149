//! Work that goes on by itself: the daily `reap --all`.
//!
//! What the daily run did is left in `<root>/.reaped`: the time of the run and, until a command
//! has shown it, a line about it.

use std::path::Path;

use chrono::TimeDelta;

use crate::error::Result;
use crate::git::{self, config};
use crate::repo::Repo;
use crate::sys::clock::{self, Time};
use crate::sys::file;
use crate::ui::out::Out;

const FILE: &str = ".reaped";

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
    git::start_ourselves(&["__reap"], &repo.common)
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
            "while you were away: {word}; 'git sandbox restore --all' lists what can be brought back"
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
    file::replace(&root.join(FILE), format!("{}\n{word}\n", clock::rfc3339(now)).as_bytes())
}
