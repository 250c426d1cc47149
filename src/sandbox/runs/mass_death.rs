//! Mass death: several sandboxes of one repository fail at about the same time, as when a key
//! expires or the network goes. Everyone who asks comes to the same answer from the same journals.

use std::path::Path;

use chrono::TimeDelta;

use crate::sandbox::runs::line::Kind;
use crate::sandbox::runs::{State, history};
use crate::sys::clock::{self, Time};

/// So many sandboxes.
const MANY: usize = 3;
/// Within so many seconds.
const WITHIN: i32 = 30;
/// Nothing is started again for so many seconds.
const PAUSE: i32 = 60;

/// Until when nothing is started again in the sandboxes that have their private git dirs below
/// `worktrees`.
pub fn pause_until(worktrees: &Path, now: Time) -> Option<Time> {
    let entries = std::fs::read_dir(worktrees).into_iter().flatten().flatten();
    let mut failures: Vec<(Time, usize)> = Vec::new();
    for (sandbox, entry) in entries.enumerate() {
        let runs = history(&entry.path());
        let failed = runs.iter().filter(|run| run.start.kind == Kind::Background && !run.stopped);
        let ends = failed.filter_map(|run| run.end);
        let ends = ends.filter(|end| State::of_exit(end.exit) != State::Done);
        failures.extend(ends.map(|end| (end.at, sandbox)));
    }
    pause_after(failures, now, clock::second())
}

fn pause_after(mut failures: Vec<(Time, usize)>, now: Time, second: TimeDelta) -> Option<Time> {
    failures.sort_unstable();
    let ends = failures.iter().enumerate().filter_map(|(index, (last, _))| {
        let near = failures[..=index].iter().filter(|(at, _)| *last - *at < second * WITHIN);
        let mut sandboxes: Vec<usize> = near.map(|(_, sandbox)| *sandbox).collect();
        sandboxes.sort_unstable();
        sandboxes.dedup();
        (sandboxes.len() >= MANY).then(|| *last + second * PAUSE)
    });
    ends.max().filter(|end| *end > now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Time {
        Time::UNIX_EPOCH + TimeDelta::seconds(second)
    }

    fn pause(failures: &[(i64, usize)], now: i64) -> Option<i64> {
        let failures = failures.iter().map(|(time, sandbox)| (at(*time), *sandbox)).collect();
        pause_after(failures, at(now), TimeDelta::seconds(1)).map(|end| end.timestamp())
    }

    #[test]
    fn three_sandboxes_within_thirty_seconds_make_a_pause_of_a_minute() {
        assert_eq!(pause(&[], 0), None);
        assert_eq!(pause(&[(0, 1), (1, 2)], 2), None);
        assert_eq!(pause(&[(0, 1), (1, 1), (2, 1), (3, 2)], 4), None);
        assert_eq!(pause(&[(0, 1), (20, 3), (10, 2)], 21), Some(80));
        assert_eq!(pause(&[(0, 1), (10, 2), (20, 3)], 80), None);
        assert_eq!(pause(&[(0, 1), (10, 2), (30, 3)], 31), None);
        assert_eq!(pause(&[(0, 1), (10, 2), (29, 3)], 31), Some(89));
        // A fourth makes it longer.
        assert_eq!(pause(&[(0, 1), (10, 2), (20, 3), (35, 4)], 40), Some(95));
    }
}
