//! `git sandbox list`
//!
//! On a terminal what is known at once is shown at once, and the rest is written over it; elsewhere the
//! table is printed when it is complete.

mod screen;
mod sheet;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use crate::cli::args::Args;
use crate::cli::spec::{ALL, DESCRIBE, JSON, NAMES, NUL, ROOT, SORT, WATCH, WIDE};
use crate::cmd::context::{self, Here, describes, linked, tell};
use crate::error::Result;
use crate::git::Git;
use crate::lifecycle::trash::{self, orphan};
use crate::repo::{Repo, link};
use crate::sandbox::all_repos::{Everywhere, common_of, repository_of};
use crate::sandbox::in_use::Processes;
use crate::sandbox::overview::{self, Row};
use crate::sandbox::report::Report;
use crate::sandbox::reporter::Reporter;
use crate::sandbox::retention::Retention;
use crate::sandbox::runs::mass_death;
use crate::sandbox::{self, Class, Sandbox, mark};
use crate::sys::clock::{self, Time};
use crate::sys::{disk_usage, signals};
use crate::ui::out::{self, Out, visible, visible_path};
use crate::ui::words;
use screen::{Alternate, Screen};
use sheet::{Order, Sheet, Trash};

/// How often a table that is watched is read anew.
const EVERY: Duration = Duration::from_secs(2);
/// How long the size of the trash may take.
const PATIENCE: Duration = Duration::from_millis(100);

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    args.at_most_one(&[&JSON, &NUL, &WATCH])?;
    args.at_most_one(&[&JSON, &NAMES])?;
    args.at_most_one(&[&WATCH, &NAMES])?;
    describes(args, &[&ALL, &NUL])?;
    let plain = args.has(&NAMES) || args.has(&NUL);
    match () {
        () if plain && !args.has(&ALL) => names(args, *out),
        () if plain => {
            for report in everywhere(args, out, clock::now()?, whole)? {
                print_plain(args, *out, Path::new(&report.path))?;
            }
            Ok(0)
        }
        () if args.has(&JSON) => {
            let reports = if args.has(&ALL) {
                everywhere(args, out, clock::now()?, whole)?
            } else {
                let processes = Processes::at_once();
                let here = Here::find(args, out)?;
                here.reporter()?.knowing(processes).all(&here.sandboxes)
            };
            out.answer_json(&reports).map(|()| 0)
        }
        () if args.has(&WATCH) => watch(args, out),
        () => table(args, out),
    }
}

/// Everything about the sandboxes of one repository.
fn whole(reporter: &Reporter, sandboxes: &[Sandbox]) -> Vec<Report> {
    reporter.all(sandboxes)
}

fn sheet(args: &Args, now: Time) -> Sheet {
    let (projects, wide) = (args.has(&ALL), args.has(&WIDE));
    Sheet { now, projects, wide, sizes: HashMap::new() }
}

/// The table for people.
fn table(args: &Args, out: &mut Out) -> Result<u8> {
    let mut screen = Screen::default();
    let Read { sheet, rows, trash, pause } = read(args, out, Some(&mut screen))?;
    if rows.is_empty() {
        out.note("no sandboxes; 'git sandbox new <name>' makes one");
        return Ok(0);
    }
    let mut lines = sheet.lines(&rows, out::width(), *out);
    if out::width().is_some() {
        lines.push(sheet::summary(&rows, trash, out::width(), *out));
    }
    screen.show(lines, *out)?;
    if let (Some(until), true) = (pause, rows.iter().any(|row| row.report.waits())) {
        let left = words::brief(until - sheet.now);
        out.note(&format!("many sandboxes failed at once: nothing is started again for {left}"));
    }
    Ok(0)
}

/// The table again and again, until Ctrl-C.
fn watch(args: &Args, out: &mut Out) -> Result<u8> {
    if out::height().is_none() {
        return Err(args.wrong("option '--watch' needs a terminal"));
    }
    signals::note();
    let mut alternate = None;
    loop {
        let read = read(args, out, None);
        // Ctrl-C also ends the git that was asked, and that may be seen first.
        let patience = if read.is_err() { EVERY } else { Duration::ZERO };
        if ends_within(patience) {
            return Ok(0);
        }
        let Read { sheet, rows, trash, .. } = read?;
        let mut lines = sheet.lines(&rows, out::width(), *out);
        let room = out::height().unwrap_or(24).saturating_sub(1);
        if lines.len() > room {
            let left = lines.len() + 1 - room;
            lines.truncate(room.saturating_sub(1));
            lines.push(format!("{} {left} more", out.ellipsis()));
        }
        lines.push(sheet::summary(&rows, trash, out::width(), *out));
        if alternate.is_none() {
            alternate = Some(Alternate::enter(*out)?);
        }
        if let Some(alternate) = &alternate {
            alternate.show(&lines)?;
        }
        if ends_within(EVERY) {
            return Ok(0);
        }
    }
}

/// Whether a signal has arrived, or arrives within this time.
fn ends_within(patience: Duration) -> bool {
    const STEP: Duration = Duration::from_millis(50);
    let mut waited = Duration::ZERO;
    loop {
        if signals::check().is_err() {
            return true;
        }
        if waited >= patience {
            return false;
        }
        std::thread::sleep(STEP);
        waited += STEP;
    }
}

/// What was read for one showing of the table.
struct Read {
    sheet: Sheet,
    rows: Vec<Row>,
    trash: Trash,
    /// Until when nothing is started again because many failed at once.
    pause: Option<Time>,
}

/// Reads all rows; where that takes long, shows those that are known.
fn read(args: &Args, out: &mut Out, screen: Option<&mut Screen>) -> Result<Read> {
    let order = Order::parse(args.word(&SORT));
    let mut sheet = sheet(args, clock::now()?);
    if args.has(&ALL) {
        let mut rows = everywhere(args, out, sheet.now, |reporter, sandboxes| {
            overview::gather(reporter, reporter.repo, sandboxes, |_| Ok(())).unwrap_or_default()
        })?;
        order.sort(&mut rows);
        sheet.measure(&rows);
        return Ok(Read { sheet, rows, trash: None, pause: None });
    }
    let processes = Processes::at_once();
    let here = Here::find(args, out)?;
    let reporter = here.reporter()?.knowing(processes);
    let trash = out::width().map(|_| Measured::start(&here));
    let live = screen.filter(|_| fits(&here.sandboxes));
    let mut rows = match live {
        Some(screen) => overview::gather(&reporter, &here.repo, &here.sandboxes, |rows| {
            let mut rows = rows.to_vec();
            order.sort(&mut rows);
            let mut lines = sheet.lines(&rows, out::width(), *out);
            lines.push(String::new());
            screen.show(lines, *out)
        })?,
        None => overview::gather(&reporter, &here.repo, &here.sandboxes, |_| Ok(()))?,
    };
    order.sort(&mut rows);
    sheet.measure(&rows);
    let pause = mass_death::pause_until(&here.repo.common.join("worktrees"), here.now);
    Ok(Read { sheet, rows, trash: trash.map(Measured::done), pause })
}

/// Whether the table can be written over in place.
fn fits(sandboxes: &[Sandbox]) -> bool {
    let longest = sandboxes.iter().map(|it| it.branch_text().unwrap_or_else(|| it.name()).len());
    let width = out::width().unwrap_or(0);
    screen::is_possible(sandboxes.len() + 2) && longest.max().unwrap_or(0) + 2 < width
}

/// The trash, being measured.
struct Measured {
    count: usize,
    size: mpsc::Receiver<u64>,
}

impl Measured {
    fn start(here: &Here) -> Measured {
        let items = trash::items(&here.repo, &here.place).into_iter().flatten();
        let trees: Vec<PathBuf> = items.map(|item| item.tree()).collect();
        let (send, size) = mpsc::channel();
        let count = trees.len();
        std::thread::spawn(move || {
            let sizes = trees.iter().filter_map(|tree| disk_usage::of(tree).ok());
            let _ = send.send(sizes.sum());
        });
        Measured { count, size }
    }

    fn done(self) -> (usize, Option<u64>) {
        (self.count, self.size.recv_timeout(PATIENCE).ok())
    }
}

impl Sheet {
    /// Measures the folders, if that is to be shown.
    fn measure(&mut self, rows: &[Row]) {
        let paths = rows.iter().map(|row| row.report.path.clone()).filter(|_| self.wide);
        let sizes = paths.filter_map(|path| {
            let size = disk_usage::of(Path::new(&path)).ok()?;
            Some((path, size))
        });
        self.sizes = sizes.collect();
    }
}

/// Names or paths for scripts and completion, for the price of one `git worktree list`.
fn names(args: &Args, out: Out) -> Result<u8> {
    let git = Git::here()?;
    for tree in linked(&git)?.iter().filter(|tree| mark::is_sandbox(&tree.record)) {
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

/// What is told of the sandboxes of every repository that has one below the root, of this one, and of
/// orphans.
fn everywhere<T: From<Report> + AsRef<Report>>(
    args: &Args,
    out: &mut Out,
    now: Time,
    of: impl Fn(&Reporter, &[Sandbox]) -> Vec<T>,
) -> Result<Vec<T>> {
    let all = Everywhere::look(args.value(&ROOT))?;
    *out = context::colours(args, &all.config);
    tell(&all, *out);
    let retention = Retention::read(&all.config)?;
    let mut found = Vec::new();
    for common in all.commons {
        let listed = Repo::at(&common).and_then(|repo| {
            let here = Here::of(repo, args, out)?;
            Ok(of(&here.reporter()?, &here.sandboxes))
        });
        match listed {
            Ok(listed) => found.extend(listed),
            Err(error) => out.warn(&format!("skipped '{}': {error}", common.display())),
        }
    }
    for folder in all.orphans {
        let entry = link::folder_points_to(&folder).unwrap_or_default();
        let common = common_of(&entry).unwrap_or_default();
        // Listed with the repository that stands at its old place.
        if found.iter().any(|one: &T| Path::new(&one.as_ref().path) == folder) {
            continue;
        }
        let project = folder.parent().and_then(Path::file_name).unwrap_or_default();
        let last_used = orphan::last_used(&folder, now).ok();
        let expires = last_used.and_then(|then| retention.expires(Class::Orphan, then));
        let report = Report::unread(&Sandbox::orphan(&folder), repository_of(&common), project);
        found.push(Report { last_used, expires, ..report }.into());
    }
    Ok(found)
}
