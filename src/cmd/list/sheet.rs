//! The table of `git sandbox list`: its columns, and how a sandbox looks in them.

use std::cmp::Reverse;
use std::collections::HashMap;

use chrono::TimeDelta;
use owo_colors::Style;

use crate::sandbox::overview::Row;
use crate::sandbox::report::Report;
use crate::sys::clock::Time;
use crate::ui::out::{Out, visible};
use crate::ui::table::{Cell, Column, Table, cut, whole};
use crate::ui::words;

/// What the trash holds: how many, and how much room they take if that is quickly told.
pub type Trash = Option<(usize, Option<u64>)>;

/// An expiry that is further away is not shown.
const SOON: TimeDelta = TimeDelta::days(7);

/// Who works in a sandbox, or how that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agent {
    /// A command that we started goes on.
    Running(String),
    /// The last one failed or died.
    Failed(String),
    /// Others are there: the first one's command, and how many more there are.
    InUse(String, usize),
    /// The last command succeeded.
    Done(String),
    /// The last command was stopped.
    Stopped(String),
    /// No command runs or ran there.
    NoRun,
}

impl Agent {
    fn of(report: &Report) -> Agent {
        let users = report.in_use.as_deref().unwrap_or_default();
        let run = report.run.as_ref();
        let words = || run.map(|run| run.words.clone()).unwrap_or_default();
        match (run.map(|run| run.state), users.first()) {
            (Some("running"), _) => Agent::Running(words()),
            // Its supervisor, which is there, will start it again.
            _ if report.waits() => Agent::Failed(words()),
            (_, Some(user)) => Agent::InUse(user.command.clone(), users.len() - 1),
            (Some("done"), None) => Agent::Done(words()),
            (Some(_), None) if run.is_some_and(|run| run.stopped) => Agent::Stopped(words()),
            (Some(_), None) => Agent::Failed(words()),
            (None, None) => Agent::NoRun,
        }
    }

    fn cell(&self) -> Cell {
        let (green, dim) = (Style::new().green(), Style::new().dimmed());
        let cell = |text: &str, style: Style| Cell::default().word(visible(text), style);
        match self {
            Agent::Running(words) | Agent::Done(words) => cell(words, green),
            Agent::Failed(words) => cell(words, Style::new().red()),
            Agent::Stopped(words) => cell(words, dim),
            Agent::InUse(command, 0) => cell(command, green),
            Agent::InUse(command, more) => cell(command, green).word(format!("+{more}"), green),
            Agent::NoRun => Cell::default(),
        }
    }

    /// Those at work come first, then those that failed.
    fn order(&self) -> u8 {
        match self {
            Agent::Running(_) => 0,
            Agent::InUse(..) => 1,
            Agent::Failed(_) => 2,
            Agent::Stopped(_) => 3,
            Agent::Done(_) => 4,
            Agent::NoRun => 5,
        }
    }
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Name,
    Age,
    Agent,
    Work,
}

impl Order {
    pub fn parse(word: Option<&str>) -> Order {
        match word {
            Some("age") => Order::Age,
            Some("agent") => Order::Agent,
            Some("work") => Order::Work,
            _ => Order::Name,
        }
    }

    /// Sorts rows; worktrees outside the root come last.
    pub fn sort(self, rows: &mut [Row]) {
        let work = |report: &Report| {
            let lines = report.diff.map(|diff| diff.insertions + diff.deletions);
            let files = report.changes.map(|changes| changes.files);
            Reverse((lines.unwrap_or(0), files.unwrap_or(0)))
        };
        rows.sort_by(|one, other| one.report.path.cmp(&other.report.path));
        match self {
            Order::Name => {}
            Order::Age => rows.sort_by_key(|row| Reverse(row.report.last_used)),
            Order::Agent => rows.sort_by_key(|row| Agent::of(&row.report).order()),
            Order::Work => rows.sort_by_key(|row| work(&row.report)),
        }
        rows.sort_by_key(|row| !row.report.managed);
    }
}

/// What the table shows besides the rows.
#[derive(Clone, Debug)]
pub struct Sheet {
    pub now: Time,
    /// Whether rows are of several repositories.
    pub projects: bool,
    /// Whether path, size and upstream are shown.
    pub wide: bool,
    /// The sizes that are known, by path.
    pub sizes: HashMap<String, u64>,
}

impl Sheet {
    /// The lines of the table.
    pub fn lines(&self, rows: &[Row], width: Option<usize>, out: Out) -> Vec<String> {
        let optional = |head, rank| Column { rank, optional: true, ..whole(head) };
        let mut columns = vec![whole("  NAME")];
        columns.extend(self.projects.then(|| optional("PROJECT", 5)));
        columns.extend([
            Column { cut: true, ..optional("AGENT", 1) },
            Column { rank: 2, ..whole("WORK") },
        ]);
        columns.extend([optional("BASE", 6), optional("AGE", 4), optional("EXPIRES", 3)]);
        if self.wide {
            let path = Column { rank: 7, ..cut("PATH") };
            columns.extend([optional("SIZE", 8), optional("UPSTREAM", 9), path]);
        }
        columns.push(Column { rank: 10, optional: true, ..cut("TASK") });
        let mut table = Table::new(columns);
        for row in rows {
            table.row(self.cells(row, out));
        }
        table.lines(width, out)
    }

    fn cells(&self, row: &Row, out: Out) -> Vec<Cell> {
        let report = &row.report;
        let dim = Style::new().dimmed();
        let text = |text: &str, style: Style| Cell::default().word(visible(text), style);
        let mut cells = vec![name(row, out)];
        cells.extend(self.projects.then(|| text(&report.project, Style::new())));
        cells.extend([Agent::of(report).cell(), work(row, out), base(row, out)]);
        let age = report.last_used.map(|then| words::brief(self.now - then));
        cells.push(age.map(|age| (age, dim).into()).unwrap_or_default());
        let left = report.expires.map(|then| then - self.now).filter(|left| *left < SOON);
        let left = left.map(|left| match left > TimeDelta::zero() {
            true => format!("in {}", words::brief(left)),
            false => "now".to_owned(),
        });
        cells.push(left.map(|left| (left, Style::new().yellow()).into()).unwrap_or_default());
        if self.wide {
            let size = self.sizes.get(&report.path).map(|bytes| words::size(*bytes));
            cells.push(size.map(|size| (size, dim).into()).unwrap_or_default());
            cells.push(text(report.upstream.as_deref().unwrap_or_default(), Style::new().cyan()));
            cells.push(text(&report.path, Style::new()));
        }
        cells.push(text(report.task.as_deref().unwrap_or_default(), Style::new()));
        cells
    }
}

/// The branch as it was typed or, without one, the folder; before it what has to be seen first.
fn name(row: &Row, out: Out) -> Cell {
    let report = &row.report;
    let conflicts = report.changes.is_some_and(|changes| changes.conflicted > 0);
    let failed = matches!(Agent::of(report), Agent::Failed(_));
    let (mark, style) = match () {
        () if row.is_current => ("*", Style::new().green()),
        () if conflicts || failed || !matches!(report.state, "ready" | "creating") => {
            ("!", Style::new().red())
        }
        () if row.is_compared && row.is_merged() => (out.either("✓", "+"), Style::new().green()),
        () => (" ", Style::new()),
    };
    let name = report.branch.as_ref().unwrap_or(&report.name);
    Cell::default().and(mark, style).and(" ", Style::new()).and(visible(name), Style::new().bold())
}

/// What it holds: commits ahead, lines, files with uncommitted changes.
fn work(row: &Row, out: Out) -> Cell {
    let report = &row.report;
    let (dim, red, yellow) = (Style::new().dimmed(), Style::new().red(), Style::new().yellow());
    let mut cell = Cell::default();
    match (report.state, &report.changes) {
        ("ready", _) if !row.is_read => cell = cell.word(out.ellipsis(), dim),
        ("ready", None) => cell = cell.word("cannot tell", red),
        ("ready", Some(_)) if row.is_compared && row.is_merged() => {
            cell = cell.word("merged", Style::new().green());
        }
        ("ready", Some(changes)) => {
            let ahead = report.base_ahead.filter(|ahead| *ahead > 0);
            let diff = report.diff.filter(|diff| diff.files > 0);
            // What has to be done first is said alone.
            let first = match (changes.conflicted, report.operation) {
                (0, None) => None,
                (0, Some(operation)) => Some((operation, yellow)),
                _ => Some(("conflict", red)),
            };
            if let Some((word, style)) = first {
                cell = cell.word(word, style);
            }
            if let Some(ahead) = ahead {
                cell = cell.word(format!("{}{ahead}", out.either("↑", "^")), Style::new());
            }
            if let Some(diff) = diff.filter(|_| first.is_none()) {
                let lines = format!("+{} -{}", diff.insertions, diff.deletions);
                cell = cell.word(lines, Style::new());
            }
            if changes.files > 0 {
                cell = cell.word(format!("*{}", changes.files), yellow);
            }
            let hidden = report.hidden_edits.filter(|count| *count > 0);
            if let Some(count) = hidden {
                cell = cell.word(format!("{count} hidden"), yellow);
            }
            if !report.nested_work.is_empty() {
                cell = cell.word("nested", yellow);
            }
            // Where there are commits ahead, those are the ones.
            let unpushed = report.unpushed.filter(|count| *count > 0 && ahead.is_none());
            if let Some(count) = unpushed.filter(|_| row.is_compared) {
                cell = cell.word(format!("{count} unpushed"), dim);
            }
            let is_empty = ahead.is_none() && diff.is_none() && changes.files == 0;
            if is_empty && first.is_none() && report.holds_nothing() {
                let sign =
                    if row.is_compared { "-".to_owned() } else { out.ellipsis().to_string() };
                cell = cell.word(sign, dim);
            }
        }
        ("creating", _) => cell = cell.word("creating", yellow),
        (state, _) => cell = cell.word(state, red),
    }
    if report.locked.is_some() {
        cell = cell.word("locked", dim);
    }
    if !report.managed && report.state != "orphan" {
        cell = cell.word("external", dim);
    }
    cell
}

/// How far its base has gone on.
fn base(row: &Row, out: Out) -> Cell {
    let dim = Style::new().dimmed();
    match row.report.base_behind {
        _ if row.is_merged() => Cell::default(),
        Some(0) => ("=".to_owned(), dim).into(),
        Some(behind) => (format!("{}{behind}", out.either("↓", "v")), Style::new()).into(),
        None => Cell::default(),
    }
}

/// All in one line: how many there are, and what could be done. Where there is no room for all of it, the
/// most important comes first.
pub fn summary(rows: &[Row], trash: Trash, width: Option<usize>, out: Out) -> String {
    let count = |is: fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count();
    let running = count(|row| matches!(Agent::of(&row.report), Agent::Running(_)));
    let used = count(|row| matches!(Agent::of(&row.report), Agent::InUse(..)));
    let failed = count(|row| matches!(Agent::of(&row.report), Agent::Failed(_)));
    let merged = count(Row::is_merged);
    let trash = match trash {
        Some((0, _)) | None => String::new(),
        Some((count, None)) => format!("; trash {count}"),
        Some((count, Some(bytes))) => format!("; trash {count}, {}", words::size(bytes)),
    };
    let line = |reap: &str| {
        let mut facts = Vec::new();
        facts.extend((running > 0).then(|| format!("{running} running")));
        facts.extend((failed > 0).then(|| format!("{failed} failed")));
        facts.extend((used > 0).then(|| format!("{used} in use")));
        facts.extend((merged > 0).then(|| format!("{merged} merged{reap}")));
        let lead = if facts.is_empty() { "" } else { ": " };
        let all = words::counted(rows.len() as u64, "sandbox");
        format!("{all}{lead}{}{trash}", facts.join(", "))
    };
    let dim = Style::new().dimmed();
    let whole = Cell::from((line(" (git sandbox reap --merged)"), dim));
    let width = width.unwrap_or(usize::MAX);
    let cell = if whole.width() <= width { whole } else { Cell::from((line(""), dim)) };
    cell.fitted(width, out)
}
