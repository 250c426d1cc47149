//! The lines of `sandbox.runs`: one JSON object each, in the order in which things happened.
//!
//! A line that cannot be read, such as one that a crash cut off, is skipped.

use serde::{Deserialize, Serialize};

use crate::sys::clock::Time;

/// Something that happened to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// A command was started.
    Start(Start),
    /// The command ended.
    End(End),
    /// The command will be started again.
    Retry(Retry),
    /// `git sandbox stop` asked the run to end.
    Stop { run: u64 },
    /// The sandbox is free for another task: agents before this line worked on the last one.
    Release { at: Time },
}

/// The start of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The number of the run; the first run of a sandbox has 1.
    pub run: u64,
    /// When.
    pub at: Time,
    /// What people call the command.
    pub command: String,
    /// The words of the command, as they were typed or configured.
    pub words: Vec<String>,
    /// Where its terminal is.
    pub kind: Kind,
    /// Whether it is `sandbox.agent` or `sandbox.agentResume`.
    #[serde(default)]
    pub agent: bool,
    /// The task that the sandbox had then.
    #[serde(default)]
    pub task: Option<String>,
    /// Who commits there, if it is not the user.
    #[serde(default)]
    pub author: Option<String>,
    /// How often it had been started again before.
    #[serde(default)]
    pub restarts: u32,
}

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The number of the run.
    pub run: u64,
    /// When.
    pub at: Time,
    /// Its exit code, or 128 and the signal that ended it.
    pub exit: u8,
    /// Whether it failed too often to be started again.
    #[serde(default)]
    pub gave_up: bool,
}

/// The plan to start a failed command again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// The number of the run that failed.
    pub run: u64,
    /// When it will be started again.
    pub at: Time,
    /// Whether it waits because many sandboxes failed at once.
    #[serde(default)]
    pub paused: bool,
}

/// Where the terminal of a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The user's own terminal.
    Foreground,
    /// None: it has a log.
    Background,
    /// A window of tmux.
    Tmux,
}

/// Reads the lines of a journal.
pub fn parse(bytes: &[u8]) -> Vec<Line> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Lines as they are written.
pub fn in_bytes(lines: &[Line]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines {
        // A line of ours can always be written as JSON.
        bytes.extend(serde_json::to_vec(line).unwrap_or_default());
        bytes.push(b'\n');
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    #[test]
    fn fuzz_lines() {
        let real = [
            br#"{"start":{"run":1,"at":"2026-01-31T12:00:00Z","command":"sh","words":["sh"],"kind":"background"}}
{"end":{"run":1,"at":"2026-01-31T12:00:01.5Z","exit":3}}
{"retry":{"run":1,"at":"2026-01-31T12:00:03Z"}}
{"stop":{"run":1}}
{"release":{"at":"2026-01-31T12:00:03Z"}}
"#
            .as_slice(),
        ];
        assert_eq!(parse(real[0]).len(), 5);
        fuzz::damaged(&real, |input| {
            let lines = parse(input);
            assert!(lines.len() <= input.split(|byte| *byte == b'\n').count());
            assert_eq!(parse(&in_bytes(&lines)), lines);
        });
    }
}
