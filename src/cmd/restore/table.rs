//! What can be brought back, as a table, as JSON, or as names.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;

use chrono::TimeDelta;
use owo_colors::Style;
use serde::Serialize;

use super::found::Found;
use crate::cli::args::Args;
use crate::cli::spec::{DESCRIBE, JSON};
use crate::error::Result;
use crate::git::refs;
use crate::sandbox::all_repos::repository_of;
use crate::sandbox::holding::Holding;
use crate::sandbox::journal::Journal;
use crate::sys::clock::{self, Time};
use crate::sys::disk_usage;
use crate::ui::out::{self, Out, visible};
use crate::ui::table::{Column, Table, cut, whole};
use crate::ui::words;

/// Names and ids for scripts and completion; of several with one name it is said once.
pub(super) fn names(args: &Args, found: &[Found], out: Out) -> Result<u8> {
    let now = clock::now()?;
    let mut seen = HashSet::new();
    for Journal { name, id, branch, removed, .. } in found.iter().map(Found::journal).cloned() {
        let branch = branch.unwrap_or_else(|| "detached".to_owned());
        let branch = refs::short(branch.as_ref()).to_string_lossy().into_owned();
        let ago =
            removed.parse::<Time>().map(|then| format!(", removed {}", words::ago(then, now)));
        let words = visible(&format!("{branch}{}", ago.unwrap_or_default()));
        for word in [name, id] {
            if seen.contains(&word) {
                continue;
            }
            let shown = visible(&word);
            let line = if args.has(&DESCRIBE) { format!("{shown}\t{words}") } else { shown };
            out.answer(&line)?;
            seen.insert(word);
        }
    }
    Ok(0)
}

/// What can be brought back.
#[derive(Serialize)]
struct Row {
    id: String,
    name: String,
    path: String,
    branch: Option<String>,
    base_repo: String,
    removed: String,
    reason: String,
    holds: Vec<String>,
    size: Option<u64>,
    until: Option<String>,
    place: &'static str,
}

pub(super) fn list(args: &Args, found: &[(Found, Option<TimeDelta>)], out: Out) -> Result<u8> {
    let now = clock::now()?;
    let rows: Vec<Row> = found.iter().map(|(found, period)| row(found, *period)).collect();
    if args.has(&JSON) {
        out.answer_json(&rows)?;
        return Ok(0);
    }
    if rows.is_empty() {
        out.note("nothing to bring back");
        return Ok(0);
    }
    // The id is what is typed next.
    let mut table = Table::new(vec![
        whole("ID"),
        cut("NAME"),
        Column { rank: 1, ..whole("REMOVED") },
        Column { rank: 3, ..whole("SIZE") },
        Column { rank: 2, ..whole("WHERE") },
        Column { rank: 4, optional: true, ..cut("HOLDS") },
    ]);
    for row in &rows {
        let moment = |text: &str| text.parse::<Time>().ok();
        let removed = moment(&row.removed).map_or_else(|| "-".into(), |then| words::ago(then, now));
        let size = row.size.map_or_else(|| "?".into(), words::size);
        let dim = Style::new().dimmed();
        table.row(vec![
            (visible(&row.id), Style::new().bold()).into(),
            (visible(&row.name), Style::new()).into(),
            (removed, dim).into(),
            (size, dim).into(),
            (row.place.to_owned(), dim).into(),
            (visible(&row.holds.join(", ")), Style::new().yellow()).into(),
        ]);
    }
    for line in table.lines(out::width(), out) {
        out.answer(&line)?;
    }
    Ok(0)
}

/// After its period an item of the trash is put away in the vault.
fn row(found: &Found, period: Option<TimeDelta>) -> Row {
    let journal = found.journal();
    let removed = journal.removed.parse::<Time>().ok();
    let until =
        removed.zip(period).and_then(|(removed, period)| removed.checked_add_signed(period));
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let short = |branch: &str| refs::short(OsStr::new(branch)).to_string_lossy().into_owned();
    let (place, size, until) = match found {
        Found::Trash(item) => ("trash", disk_usage::of(&item.tree()).ok(), until),
        Found::Vault(_, size, _) => ("vault", Some(*size), None),
    };
    Row {
        id: journal.id.clone(),
        name: journal.name.clone(),
        path: text(&journal.from),
        branch: journal.branch.as_deref().map(short),
        base_repo: journal.common.as_deref().map(repository_of).map(text).unwrap_or_default(),
        removed: removed.map_or_else(|| journal.removed.clone(), clock::rfc3339),
        reason: journal.why.to_string(),
        holds: journal.holds.iter().map(Holding::to_string).collect(),
        size,
        until: until.map(clock::rfc3339),
        place,
    }
}
