//! `git sandbox show`

use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use owo_colors::Style;

use crate::cli::args::Args;
use crate::cli::spec::{FOLLOW, JSON, LOG, MOUNTS};
use crate::cmd::context::{Here, removed, walls};
use crate::error::{Doing, Error, Result};
use crate::lifecycle::quarantine::{Borrow, Quarantine};
use crate::repo::Repo;
use crate::sandbox::holding::Holding;
use crate::sandbox::in_use::{Processes, User};
use crate::sandbox::report::Report;
use crate::sandbox::runs::line::{Kind, Start};
use crate::sandbox::runs::{self, Seen, State};
use crate::sandbox::{self, Sandbox, facts, verdict};
use crate::session::confine::inside;
use crate::sys::clock::{self, Time};
use crate::sys::disk_usage;
use crate::ui::out::{Out, visible};
use crate::ui::words::{self, shell_word};

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    args.at_most_one(&[&LOG, &MOUNTS, &JSON])?;
    args.at_most_one(&[&FOLLOW, &MOUNTS])?;
    if args.has(&MOUNTS) {
        return mounts(args, out);
    }
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
    let removal = removal(&here, sandbox);
    let back = format!("cd \"$(git sandbox path {})\"", shell_word(&report.name));
    let runs = runs::all(&sandbox.entry);
    let log = last_log(sandbox).map(|(_, path)| ("log", path.to_string_lossy().into_owned()));
    let size = disk_usage::of(&sandbox.path).ok().map(|bytes| ("size", words::size(bytes)));
    let next = ("next", next(&report, &runs));
    let last = [("removal", removal), next, ("get back", back)];
    let more = run_lines(&runs, here.now).into_iter().chain(log).chain(size).chain(last);
    for (key, value) in lines(&report, here.now).into_iter().chain(more) {
        let key = out.style(&format!("{key:<11}"), Style::new().dimmed());
        out.answer(&format!("{key} {}", visible(&value)))?;
    }
    Ok(0)
}

/// Words whether `rm` would remove a sandbox, as it says it itself.
fn removal(here: &Here, sandbox: &Sandbox) -> String {
    if sandbox.state == sandbox::State::Orphan {
        return format!("refused: {}", Holding::Orphan);
    }
    let facts = facts::facts(&here.repo, &here.worktrees, sandbox, &Processes::lazily());
    match verdict::refusal(&facts, 0) {
        Some(refusal) => format!("refused: {refusal}"),
        None => safe(&verdict::holds(&facts)),
    }
}

/// Words a removal that is allowed: what is nowhere else goes along, and `restore` brings it back.
fn safe(holds: &[Holding]) -> String {
    let keeps = if holds.is_empty() { "" } else { "keeps " };
    format!("safe: {keeps}{}", removed::held(holds))
}

/// Makes the quarantine of a sandbox, and prints what a container must be given to use it.
fn mounts(args: &Args, out: &mut Out) -> Result<u8> {
    if inside::is_inside() {
        return Err(Error::InsideWalls { command: "show --mounts" });
    }
    let (here, lock) = Here::locked(Repo::discover()?, args, out)?;
    let sandbox = here.named(args)?;
    let git = here.repo.git.holding(lock.file());
    let quarantine = Quarantine::of(&here.repo, &git, sandbox)?;
    quarantine.ready(Borrow::Mounted, *out)?;
    for mount in walls::mounts(&here, sandbox)? {
        out.answer_raw(&[b"-v ", mount.option().as_bytes(), b"\n"].concat())?;
    }
    out.answer_raw(&[b"-w ", sandbox.path.as_os_str().as_bytes(), b"\n"].concat())?;
    Ok(0)
}

/// The last background run with a log, and its file.
fn last_log(sandbox: &Sandbox) -> Option<(u64, PathBuf)> {
    let runs = runs::history(&sandbox.entry);
    let logged = runs.iter().rev().filter(|run| run.start.kind == Kind::Background);
    let files = logged.map(|run| (run.start.run, runs::file_of(&sandbox.entry, run.start.run)));
    files.into_iter().find(|(_, path)| path.is_file())
}

/// Prints the log of the last background command; following it, and what is started after it, until
/// no process is left that could write to it.
fn log(sandbox: &Sandbox, follow: bool, out: Out) -> Result<u8> {
    let Some((mut number, mut path)) = last_log(sandbox) else {
        out.note(&format!("nothing has run in the background of sandbox '{}'", sandbox.name()));
        return Ok(0);
    };
    let mut file = crate::sys::file::open(&path).at("read", &path)?;
    loop {
        let live = runs::all(&sandbox.entry).iter().any(runs::Seen::is_live);
        let newer = last_log(sandbox).filter(|(newest, _)| follow && *newest > number);
        // A log that was cut begins anew.
        if file.stream_position().at("read", &path)? > file.metadata().at("read", &path)?.len() {
            file.rewind().at("read", &path)?;
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).at("read", &path)?;
        out.answer_raw(&bytes)?;
        match newer {
            Some((newest, its_path)) => {
                (number, path) = (newest, its_path);
                file = crate::sys::file::open(&path).at("read", &path)?;
            }
            None if !follow || !live => return Ok(0),
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// The last runs, the newest first.
fn run_lines(runs: &[Seen], now: Time) -> Vec<(&'static str, String)> {
    const SHOWN: usize = 5;
    let keys = ["runs"].into_iter().chain(std::iter::repeat(""));
    keys.zip(runs.iter().rev().take(SHOWN).map(|seen| run_line(seen, now))).collect()
}

fn run_line(seen: &Seen, now: Time) -> String {
    let Start { run, command, kind, restarts, author, .. } = &seen.run.start;
    let ago = words::brief(now - seen.since());
    let mut words = vec![match seen.state {
        State::Running => format!("running for {ago}"),
        State::Died(None) if seen.run.stopped => format!("stopped; started {ago} ago"),
        State::Died(None) => format!("died; started {ago} ago"),
        State::Died(Some(code)) if !seen.run.stopped => format!("died ({code}) {ago} ago"),
        State::Failed(code) if !seen.run.stopped => format!("failed ({code}) {ago} ago"),
        _ => format!("{} ago", seen.in_words(now)),
    }];
    words.extend(match kind {
        Kind::Foreground => None,
        Kind::Background => Some("in the background".to_owned()),
        Kind::Tmux => Some("in tmux".to_owned()),
    });
    words.extend((*restarts > 0).then(|| format!("restart {restarts}")));
    if seen.run.end.is_some_and(|end| end.gave_up) {
        words.push("gave up: it failed too often".to_owned());
    }
    if let Some(retry) = seen.run.retry.filter(|_| seen.waits) {
        let left = words::brief(retry.at - now);
        words.push(match retry.paused {
            true => format!("starts again in {left}: many sandboxes failed at once"),
            false => format!("starts again in {left}"),
        });
    }
    words.extend(author.as_ref().map(|author| format!("as {author}")));
    format!("{run} {command}: {}", words.join(", "))
}

/// What is most likely to be typed next.
fn next(report: &Report, runs: &[Seen]) -> String {
    let name = shell_word(&report.name);
    let run = runs::current(runs);
    let logged = run.is_some_and(|seen| seen.run.start.kind == Kind::Background);
    let failed = run.is_some_and(|seen| !matches!(seen.state, State::Running | State::Done));
    let changed = report.changes.as_ref().is_some_and(|changes| changes.files > 0);
    match () {
        () if report.state != "ready" => "git sandbox doctor".to_owned(),
        () if run.is_some_and(Seen::is_live) && logged => {
            format!("git sandbox show --follow {name}")
        }
        () if run.is_some_and(Seen::is_live) => format!("git sandbox wait {name}"),
        () if failed && logged => format!("git sandbox show --log {name}"),
        () if changed || report.operation.is_some() => {
            format!("git -C {} status", shell_word(&report.path))
        }
        () if report.merged_into.is_some() => format!("git sandbox rm {name}"),
        () if report.base_ahead.is_some_and(|ahead| ahead > 0) => {
            format!("git sandbox merge {name}")
        }
        () => format!("git sandbox run {name}"),
    }
}

/// Commits, and what they and the changes since add up to.
fn work(report: &Report) -> Option<String> {
    let (ahead, behind) = (report.base_ahead?, report.base_behind?);
    let base = report.base.as_deref().unwrap_or("its base");
    let mut words = match (ahead, behind) {
        (0, 0) => vec![format!("level with '{base}'")],
        (ahead, 0) => vec![format!("{} ahead of '{base}'", words::counted(ahead, "commit"))],
        (ahead, behind) => {
            vec![format!("{} ahead of '{base}', {behind} behind", words::counted(ahead, "commit"))]
        }
    };
    words.extend(report.subject.as_ref().map(|subject| format!("newest \"{subject}\"")));
    words.extend(report.diff.filter(|diff| diff.files > 0).map(|diff| {
        let files = words::counted(diff.files, "file");
        format!("{files} +{} -{}", diff.insertions, diff.deletions)
    }));
    Some(words.join("; "))
}

fn lines(report: &Report, now: Time) -> Vec<(&'static str, String)> {
    let moment = |text: String, time: Time| format!("{text} ({})", clock::rfc3339(time));
    let created = report.created.as_deref().map(|text| match text.parse::<Time>() {
        Ok(time) => moment(words::ago(time, now), time),
        Err(_) => text.to_owned(),
    });
    // Of an orphan neither is known.
    let detached = report.head.as_ref().map(|_| "none: HEAD is detached".to_owned());
    let branch = report.branch.clone().or(detached);
    let expires = match (report.expires, &report.locked) {
        (Some(time), _) => moment(words::ahead(time, now), time),
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
        count.filter(|count| *count > 0).map(|count| words::counted(count, "commit"))
    };
    let users = report.in_use.as_deref().unwrap_or_default();
    let users: Vec<String> = users.iter().map(User::in_words).collect();
    let in_use = (!users.is_empty()).then(|| users.join(", "));
    let all = [
        ("name", Some(report.name.clone())),
        ("task", report.task.clone()),
        ("author", report.author.clone()),
        ("path", Some(report.path.clone())),
        ("branch", branch),
        ("head", report.head.clone()),
        ("base", report.base.clone()),
        ("work", work(report)),
        ("merged", report.merged_into.as_ref().map(|base| format!("'{base}' has its commits"))),
        ("upstream", upstream),
        ("repository", Some(report.base_repo.clone())),
        ("state", Some(report.in_words())),
        ("problem", report.problem.clone()),
        ("changes", changes),
        ("in progress", report.operation.map(str::to_owned)),
        ("lock", report.locked.clone()),
        ("created", created),
        ("last used", report.last_used.map(|time| moment(words::ago(time, now), time))),
        ("expires", Some(expires)),
        ("unpushed", counted(report.unpushed)),
        ("only here", counted(report.only_here)),
        ("in use by", in_use),
    ];
    all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}
