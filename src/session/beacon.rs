//! The beacon: what a command that goes on with earlier work should know, in a few lines.

use crate::sandbox::report::Report;
use crate::sandbox::runs::line::Kind;
use crate::sandbox::runs::{Seen, State};
use crate::sys::clock::Time;
use crate::ui::words;

/// What was assigned to a sandbox, and how things stand there. `runs` are its runs so far.
pub fn text(report: &Report, runs: &[Seen], now: Time) -> String {
    let mut lines = vec![match &report.branch {
        Some(branch) => {
            format!("You come back to sandbox '{}' on branch '{branch}'.", report.name)
        }
        None => format!("You come back to sandbox '{}', which has no branch.", report.name),
    }];
    lines.extend(report.task.as_ref().map(|task| format!("Task: {task}")));
    lines.push(format!("State: {}.", standing(report).join(", ")));
    // A command that was typed in between tells nothing about the work.
    let worked = |seen: &&Seen| seen.run.start.agent || seen.run.start.kind != Kind::Foreground;
    if let Some(last) = runs.iter().rev().find(|seen| seen.state != State::Running && worked(seen))
    {
        let (command, how) = (&last.run.start.command, last.state_in_words(now));
        lines.push(format!("Last run: {command}: {how}."));
    }
    lines.push("Go on from there; what is done need not be done again.".to_owned());
    lines.join("\n")
}

fn standing(report: &Report) -> Vec<String> {
    let mut words = Vec::new();
    let base = report.base.as_deref().unwrap_or("its base");
    match (report.base_ahead, &report.subject) {
        (Some(0), _) => words.push(format!("no commits beyond '{base}' yet")),
        (Some(ahead), Some(subject)) => {
            let commits = words::counted(ahead, "commit");
            words.push(format!("{commits} beyond '{base}', the newest is \"{subject}\""));
        }
        (Some(ahead), None) => {
            words.push(format!("{} beyond '{base}'", words::counted(ahead, "commit")));
        }
        (None, _) => {}
    }
    match report.changes.as_ref().map(|changes| changes.files) {
        Some(0) => words.push("nothing uncommitted".to_owned()),
        Some(files) => words.push(words::counted(files, "uncommitted change")),
        None => words.push("the files could not be read".to_owned()),
    }
    words.extend(report.operation.map(|operation| format!("{operation} in progress")));
    words
}
