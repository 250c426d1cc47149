//! `git sandbox list`
//!
//! On a terminal lines appear as they are read, in columns that are settled beforehand from what
//! is known by then; elsewhere the columns are as wide as what is in them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use owo_colors::Style;

use super::{Here, describes, linked, tell};
use crate::args::Args;
use crate::error::Result;
use crate::everywhere::{Everywhere, common_of};
use crate::git::Git;
use crate::live::Processes;
use crate::orphan;
use crate::out::{self, Out, visible, visible_path};
use crate::repo::{self, Repo};
use crate::report::Report;
use crate::retention::Retention;
use crate::sandbox::{self, Class, Sandbox};
use crate::spec::{ALL, COLOR, DESCRIBE, JSON, NAMES, NUL, ROOT};
use crate::table::Table;
use crate::time::{self, Time};

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    args.at_most_one(&[&JSON, &NUL])?;
    args.at_most_one(&[&JSON, &NAMES])?;
    describes(args, &[&ALL, &NUL])?;
    let plain = args.has(&NAMES) || args.has(&NUL);
    if plain && !args.has(&ALL) {
        return names(args, *out);
    }
    let now = time::now()?;
    let reports = if args.has(&ALL) {
        everywhere(args, out, now)?
    } else {
        let processes = Processes::at_once();
        let here = Here::find(args, out)?;
        let reporter = here.reporter()?.knowing(processes);
        match out::width() {
            Some(width) if !args.has(&JSON) && !here.sandboxes.is_empty() => {
                let foreseen = reporter.foreseen(&here.sandboxes);
                let sheet = Sheet::for_some(&foreseen, false, now);
                let table = sheet.table(&foreseen);
                let columns = table.columns(Some(width));
                out.answer(&table.head(&columns, *out))?;
                reporter.each(&here.sandboxes, |_, report| {
                    out.answer(&columns.line(&sheet.row(&report), *out))
                })?;
                return Ok(0);
            }
            _ if args.has(&JSON) => reporter.all(&here.sandboxes),
            _ => {
                let mut reports = Vec::new();
                reporter.each(&here.sandboxes, |_, report| {
                    reports.push(report);
                    Ok(())
                })?;
                reports
            }
        }
    };
    match () {
        () if args.has(&JSON) => out.answer_json(&reports)?,
        () if plain => {
            for report in &reports {
                print_plain(args, *out, Path::new(&report.path))?;
            }
        }
        () if reports.is_empty() => out.note("no sandboxes; 'git sandbox new <name>' makes one"),
        () => {
            let sheet = Sheet::for_some(&reports, args.has(&ALL), now);
            for line in sheet.table(&reports).lines(out::width(), *out) {
                out.answer(&line)?;
            }
        }
    }
    Ok(0)
}

/// Names or paths for scripts and completion, for the price of one `git worktree list`.
fn names(args: &Args, out: Out) -> Result<u8> {
    let git = Git::here()?;
    for tree in linked(&git)?.iter().filter(|tree| sandbox::is_one(&tree.record)) {
        if args.has(&DESCRIBE) {
            let name = visible_path(Path::new(name(&tree.record.path)));
            out.answer(&format!("{name}\t{}", visible(&sandbox::in_brief(tree, &git))))?;
        } else {
            print_plain(args, out, &tree.record.path)?;
        }
    }
    Ok(0)
}

fn print_plain(args: &Args, out: Out, path: &Path) -> Result<()> {
    let answer = if args.has(&NAMES) { Path::new(name(path)) } else { path };
    if args.has(&NUL) {
        out.answer_nul(answer.as_os_str().as_bytes())
    } else {
        out.answer(&visible_path(answer))
    }
}

fn name(path: &Path) -> &OsStr {
    path.file_name().unwrap_or(path.as_os_str())
}

/// The sandboxes of every repository that has one below the root, of this one, and orphans.
fn everywhere(args: &Args, out: &mut Out, now: Time) -> Result<Vec<Report>> {
    let all = Everywhere::look(args.value(&ROOT))?;
    *out = Out::new(args.word(&COLOR), &all.config);
    tell(&all, *out);
    let retention = Retention::read(&all.config)?;
    let mut reports = Vec::new();
    for common in all.commons {
        let listed = Repo::at(&common).and_then(|repo| {
            let here = Here::of(repo, args, out)?;
            Ok(here.reporter()?.all(&here.sandboxes))
        });
        match listed {
            Ok(listed) => reports.extend(listed),
            Err(error) => out.warn(&format!("skipped '{}': {error}", common.display())),
        }
    }
    for folder in all.orphans {
        let entry = repo::folder_points_to(&folder).unwrap_or_default();
        let common = common_of(&entry).unwrap_or_default();
        let project = folder.parent().and_then(Path::file_name).unwrap_or_default();
        let last_used = orphan::last_used(&folder, now).ok();
        let expires = last_used.and_then(|then| retention.expires(Class::Orphan, then));
        let report = Report::unread(&Sandbox::orphan(&folder), &common, project);
        reports.push(Report { last_used, expires, ..report });
    }
    Ok(reports)
}

/// The table for people: which columns it has, and how a report looks in them.
struct Sheet {
    projects: bool,
    branches: bool,
    tasks: bool,
    now: Time,
}

impl Sheet {
    fn for_some(reports: &[Report], projects: bool, now: Time) -> Sheet {
        let branches = reports.iter().any(shows_branch);
        let tasks = reports.iter().any(|report| report.task.is_some());
        Sheet { projects, branches, tasks, now }
    }

    fn table(&self, reports: &[Report]) -> Table {
        let mut heads = vec!["NAME"];
        heads.extend(self.projects.then_some("PROJECT"));
        heads.extend(self.branches.then_some("BRANCH"));
        heads.extend(["STATE", "USED", "EXPIRES"]);
        heads.extend(self.tasks.then_some("TASK"));
        let mut table = Table::new(&heads);
        for report in reports {
            table.row(self.row(report));
        }
        table
    }

    fn row(&self, report: &Report) -> Vec<(String, Style)> {
        let now = self.now;
        let colour = match (report.state, report.in_words().as_str()) {
            ("ready", "clean") => Style::new().green(),
            ("ready", _) => Style::new().yellow(),
            _ => Style::new().red(),
        };
        let dim = Style::new().dimmed();
        let used = report.last_used.map_or_else(|| "-".into(), |then| time::ago(then, now));
        let expires = report.expires.map_or_else(|| "never".into(), |then| time::ahead(then, now));
        let mut row = vec![(visible(&report.name), Style::new().bold())];
        row.extend(self.projects.then(|| (visible(&report.project), Style::new())));
        let branch = if shows_branch(report) { report.branch.as_deref() } else { None };
        let branch = || (visible(branch.unwrap_or_default()), Style::new().cyan());
        row.extend(self.branches.then(branch));
        row.extend([(report.in_words(), colour), (used, dim), (expires, dim)]);
        let task = || (visible(report.task.as_deref().unwrap_or_default()), Style::new());
        row.extend(self.tasks.then(task));
        row
    }
}

fn shows_branch(report: &Report) -> bool {
    report.branch.as_deref().is_some_and(|branch| branch != report.name)
}
