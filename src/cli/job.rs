//! Work that this program starts by itself, in the background.

use std::ffi::OsString;

/// Work in the background. It cannot be asked for by an option and stands in no help.
#[derive(Debug, PartialEq, Eq)]
pub enum Job {
    /// The daily `reap --all`, which says what it did with the next command.
    Reap,
    /// Looking after the spares of this repository, below this root.
    Spares(Option<OsString>),
    /// Becoming a confined command: a policy and the command's words.
    Confine(Vec<OsString>),
}

impl Job {
    /// The job that these words start.
    pub fn named(mut words: impl Iterator<Item = OsString> + Clone) -> Option<Job> {
        if words.clone().eq(TIMED_REAP) {
            return Some(Job::Reap);
        }
        let first = words.next()?;
        match first.to_str()? {
            REAP_JOB => Some(Job::Reap),
            SPARES_JOB => Some(Job::Spares(words.next())),
            CONFINE_JOB => Some(Job::Confine(words.collect())),
            _ => None,
        }
    }
}

/// How the daily reaper is started.
const REAP_JOB: &str = "__reap";
/// How a timer starts the daily reaper, in words that a person understands.
const TIMED_REAP: [&str; 3] = ["reap", "--all", "--quiet"];
/// How our program is started inside the walls around a command.
const CONFINE_JOB: &str = "__confine";
/// How the job of spares is started.
const SPARES_JOB: &str = "__spares";
