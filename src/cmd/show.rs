//! `git sandbox show`

use std::io::{ErrorKind, Read};
use std::time::Duration;

use owo_colors::Style;

use super::Here;
use crate::args::Args;
use crate::error::{Doing, Result, shell_word};
use crate::gather;
use crate::live::{self, Processes, User};
use crate::out::{Out, visible};
use crate::report::Report;
use crate::run::log_path;
use crate::sandbox::Sandbox;
use crate::spec::{FOLLOW, JSON, LOG};
use crate::time::{self, Time};
use crate::verdict;

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    let here = Here::find(args, out)?;
    let sandbox = here.named(args)?;
    if args.has(&LOG) || args.has(&FOLLOW) {
        return log(sandbox, args.has(&FOLLOW), *out);
    }
    let report = here.reporter()?.one(sandbox);
    if args.has(&JSON) {
        out.answer_json(&report)?;
        return Ok(0);
    }
    let facts = gather::facts(&here.repo, &here.worktrees, sandbox, &Processes::lazily());
    let removal = match verdict::refusal(&facts, 0) {
        Some((why, _)) => format!("refused: {why}"),
        None => "safe: nothing to lose".to_owned(),
    };
    let back = format!("cd \"$(git sandbox path {})\"", shell_word(&report.name));
    let log = log_path(&sandbox.entry);
    let log = log.is_file().then(|| ("log", log.to_string_lossy().into_owned()));
    let more = log.into_iter().chain([("removal", removal), ("get back", back)]);
    for (key, value) in lines(&report, here.now).into_iter().chain(more) {
        let key = out.style(&format!("{key:<11}"), Style::new().dimmed());
        out.answer(&format!("{key} {}", visible(&value)))?;
    }
    Ok(0)
}

/// Prints the log of background commands; following it, until nobody is left who could write to it.
fn log(sandbox: &Sandbox, follow: bool, out: Out) -> Result<u8> {
    let path = log_path(&sandbox.entry);
    let mut file = match crate::file::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            out.note(&format!("nothing has run in the background of sandbox '{}'", sandbox.name()));
            return Ok(0);
        }
        other => other.at("read", &path)?,
    };
    loop {
        let started = live::started_in(sandbox);
        let ended = !follow || (started.commands.is_empty() && started.runners.is_empty());
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).at("read", &path)?;
        out.answer_raw(&bytes)?;
        if ended {
            return Ok(0);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn lines(report: &Report, now: Time) -> Vec<(&'static str, String)> {
    let moment = |text: String, time: Time| format!("{text} ({})", time::rfc3339(time));
    let created = report.created.as_deref().map(|text| match text.parse::<Time>() {
        Ok(time) => moment(time::ago(time, now), time),
        Err(_) => text.to_owned(),
    });
    let branch = report.branch.clone().unwrap_or_else(|| "none: HEAD is detached".into());
    let expires = match (report.expires, &report.locked) {
        (Some(time), _) => moment(time::ahead(time, now), time),
        (None, Some(_)) => "never while it is locked".into(),
        (None, None) if !report.managed => "never: it is outside the root".into(),
        (None, None) => "never".into(),
    };
    let changes = report.changes.as_ref().map(|changes| {
        let counts = [
            (changes.staged, "staged"),
            (changes.unstaged, "unstaged"),
            (changes.untracked, "untracked"),
            (changes.conflicted, "conflicted"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<_> = counts.map(|(count, kind)| format!("{count} {kind}")).collect();
        if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
    });
    let upstream = report.upstream.as_ref().map(|name| match (report.ahead, report.behind) {
        (Some(0), Some(0)) => format!("{name}, level with it"),
        (Some(ahead), Some(behind)) => format!("{name}, {ahead} ahead, {behind} behind"),
        _ => name.clone(),
    });
    let counted = |count: Option<u64>| {
        count.filter(|count| *count > 0).map(|count| time::counted(count, "commit"))
    };
    let users = report.in_use.as_deref().unwrap_or_default();
    let users: Vec<String> = users.iter().map(User::in_words).collect();
    let in_use = (!users.is_empty()).then(|| users.join(", "));
    let all = [
        ("name", Some(report.name.clone())),
        ("task", report.task.clone()),
        ("path", Some(report.path.clone())),
        ("branch", Some(branch)),
        ("head", report.head.clone()),
        ("base", report.base.clone()),
        ("merged", report.merged_into.as_ref().map(|base| format!("'{base}' has its commits"))),
        ("upstream", upstream),
        ("repository", Some(report.base_repo.clone())),
        ("state", Some(report.in_words())),
        ("problem", report.problem.clone()),
        ("changes", changes),
        ("in progress", report.operation.map(str::to_owned)),
        ("lock", report.locked.clone()),
        ("created", created),
        ("last used", report.last_used.map(|time| moment(time::ago(time, now), time))),
        ("expires", Some(expires)),
        ("unpushed", counted(report.unpushed)),
        ("only here", counted(report.only_here)),
        ("in use by", in_use),
    ];
    all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}
