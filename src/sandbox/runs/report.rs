//! What programs are told about the runs of a sandbox.

use std::path::Path;

use serde::Serialize;

use crate::sandbox::runs;
use crate::sys::clock::{self, Time};

/// The run that says most about a sandbox.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    pub command: String,
    pub state: &'static str,
    #[serde(serialize_with = "clock::as_rfc3339")]
    pub since: Option<Time>,
    pub exit: Option<u8>,
    /// Whether `stop` ended it.
    pub stopped: bool,
    /// How often it had failed and been started again before.
    pub restarts: u32,
    /// When it will be started again.
    #[serde(serialize_with = "clock::as_rfc3339")]
    pub retry: Option<Time>,
    /// All of this in a few words.
    #[serde(skip)]
    pub words: String,
}

impl RunReport {
    /// Reads the runs of a sandbox and reports on the one that says most.
    pub fn of(entry: &Path, now: Time) -> Option<RunReport> {
        let runs = runs::all(entry);
        let seen = runs::current(&runs)?;
        Some(RunReport {
            command: seen.run.start.command.clone(),
            state: seen.state.word(),
            since: Some(seen.since()),
            exit: seen.state.exit(),
            stopped: seen.run.stopped,
            restarts: seen.run.start.restarts,
            retry: seen.run.retry.filter(|_| seen.waits).map(|retry| retry.at),
            words: seen.in_words(now),
        })
    }
}
