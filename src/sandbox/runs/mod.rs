//! Runs: which commands were started in a sandbox, and how they ended.
//!
//! `sandbox.runs` in the private git dir is history, not state. Whether a run goes on is asked of
//! the kernel: its file `sandbox.run.<number>`, which is also the log of a background run, is locked
//! by its runner and by what that started, and the kernel frees the lock with the last of them,
//! however they end. The end of a command is written before that, so a start without an end whose
//! file is not locked is a run that died. A supervisor that will start its command again holds
//! `sandbox.run.<number>.again`.

pub mod line;
pub mod mass_death;
pub mod record;
pub mod report;

use std::fs::TryLockError;
use std::path::{Path, PathBuf};

use crate::sys::clock::Time;
use crate::sys::file;
use crate::ui::words;
use line::{End, Line, Retry, Start};

/// So many runs are remembered.
pub const KEPT: usize = 20;

/// A command that was started.
#[derive(Clone, Debug)]
pub struct Run {
    /// How it was started.
    pub start: Start,
    /// How it ended, if that was written down.
    pub end: Option<End>,
    /// Whether it was asked to end.
    pub stopped: bool,
    /// The plan to start it again.
    pub retry: Option<Retry>,
    /// Whether the sandbox was given free for another task since.
    pub released: bool,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It goes on.
    Running,
    /// It succeeded.
    Done,
    /// It failed, with this exit code.
    Failed(u8),
    /// It was killed, with this exit code, or nothing tells how it ended.
    Died(Option<u8>),
}

impl State {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Done => "done",
            State::Failed(_) => "failed",
            State::Died(_) => "died",
        }
    }

    /// The exit code, if it is known.
    pub fn exit(self) -> Option<u8> {
        match self {
            State::Running => None,
            State::Done => Some(0),
            State::Failed(code) => Some(code),
            State::Died(code) => code,
        }
    }

    /// By the exit code. Signals that a program does not get from a user mean that it was killed.
    fn of_exit(code: u8) -> State {
        // ILL, TRAP, ABRT, BUS, FPE, KILL, SEGV, SYS; shells pass them on as 128 and the signal.
        const DEADLY: [u8; 8] = [4, 5, 6, 7, 8, 9, 11, 31];
        match code {
            0 => State::Done,
            _ if code.checked_sub(128).is_some_and(|signal| DEADLY.contains(&signal)) => {
                State::Died(Some(code))
            }
            _ => State::Failed(code),
        }
    }
}

/// A run, and how it stands.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The run.
    pub run: Run,
    /// How it stands.
    pub state: State,
    /// Whether its supervisor waits to start it again.
    pub waits: bool,
}

impl Seen {
    /// Whether it goes on, or will.
    pub fn is_live(&self) -> bool {
        self.state == State::Running || self.waits
    }

    /// `claude 12m`, `done 5m`, `failed (3)`, `died`, and what happens next.
    pub fn in_words(&self, now: Time) -> String {
        let state = self.state_in_words(now);
        match self.run.retry.filter(|_| self.waits) {
            None => state,
            Some(Retry { at, paused, .. }) => {
                let left = words::brief(at - now);
                let paused = if paused { "paused, " } else { "" };
                format!("{state}, {paused}again in {left}")
            }
        }
    }

    /// `claude 12m`, `done 5m`, `failed (3)`, `died`
    pub fn state_in_words(&self, now: Time) -> String {
        let ago = words::brief(now - self.since());
        match self.state {
            State::Running => format!("{} {ago}", self.run.start.command),
            State::Done => format!("done {ago}"),
            _ if self.run.stopped => format!("stopped {ago}"),
            State::Failed(code) => format!("failed ({code})"),
            State::Died(_) => "died".to_owned(),
        }
    }

    /// When it came to stand so. For one that died without a word, when it started.
    pub fn since(&self) -> Time {
        self.run.end.map_or(self.run.start.at, |end| end.at)
    }
}

/// The file of a run: its lock and, for a background run, its log.
pub fn file_of(entry: &Path, run: u64) -> PathBuf {
    entry.join(format!("sandbox.run.{run}"))
}

/// The file that a supervisor holds while it waits to start a run again.
fn again_of(entry: &Path, run: u64) -> PathBuf {
    entry.join(format!("sandbox.run.{run}.again"))
}

fn journal(entry: &Path) -> PathBuf {
    entry.join("sandbox.runs")
}

/// The runs that are remembered, the oldest first, without asking who still runs.
pub fn history(entry: &Path) -> Vec<Run> {
    let bytes = file::read_small(&journal(entry)).unwrap_or_default();
    of_lines(line::parse(&bytes))
}

fn of_lines(lines: Vec<Line>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for line in lines {
        let of = |number: u64| move |run: &&mut Run| run.start.run == number;
        match line {
            Line::Start(start) => {
                let (end, stopped, retry, released) = (None, false, None, false);
                runs.push(Run { start, end, stopped, retry, released });
            }
            Line::End(end) => {
                runs.iter_mut().rev().find(of(end.run)).iter_mut().for_each(|run| {
                    run.end = Some(end);
                });
            }
            Line::Retry(retry) => {
                runs.iter_mut().rev().find(of(retry.run)).iter_mut().for_each(|run| {
                    run.retry = Some(retry);
                });
            }
            Line::Stop { run } => {
                runs.iter_mut().rev().find(of(run)).iter_mut().for_each(|run| run.stopped = true);
            }
            Line::Release { .. } => runs.iter_mut().for_each(|run| run.released = true),
        }
    }
    runs
}

/// Every run that is remembered and how it stands, the oldest first.
pub fn all(entry: &Path) -> Vec<Seen> {
    let read = || file::read_small(&journal(entry)).unwrap_or_default();
    let mut bytes = read();
    loop {
        let runs = of_lines(line::parse(&bytes));
        let seen = runs.into_iter().map(|run| seen(entry, run)).collect();
        // Ends and starts are written before the locks that stand for them go. So what the locks say
        // goes with what was read only if that is still so.
        let now = read();
        if now == bytes {
            return seen;
        }
        bytes = now;
    }
}

fn seen(entry: &Path, run: Run) -> Seen {
    let number = run.start.run;
    let state = match run.end {
        Some(end) => State::of_exit(end.exit),
        None if is_held(&file_of(entry, number)) => State::Running,
        None => State::Died(None),
    };
    let waits = run.retry.is_some() && !run.stopped && is_held(&again_of(entry, number));
    Seen { run, state, waits }
}

/// The run that says most about a sandbox: the newest that goes on, else the newest.
pub fn current(runs: &[Seen]) -> Option<&Seen> {
    runs.iter().rev().find(|seen| seen.is_live()).or(runs.last())
}

/// Whether a process holds the lock of a file. A shared lock is tried, so that two who look at the
/// same time do not see each other.
fn is_held(path: &Path) -> bool {
    let Ok(file) = file::open(path) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// The last agent's run on the task that a sandbox is for now.
pub fn last_agent(runs: &[Run]) -> Option<&Run> {
    runs.iter().rev().find(|run| run.start.agent && !run.released)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_by_exit_code() {
        assert_eq!(State::of_exit(0), State::Done);
        for code in [1, 3, 126, 128, 129, 130, 141, 143, 255] {
            assert_eq!(State::of_exit(code), State::Failed(code));
        }
        for code in [134, 137, 139] {
            assert_eq!(State::of_exit(code), State::Died(Some(code)));
        }
    }
}
