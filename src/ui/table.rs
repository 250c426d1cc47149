//! A table that fits the terminal: columns by display width, the last one cut where need be.

use owo_colors::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::out::Out;

/// Rows of styled cells. Cells are visible text already.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<(String, Style)>>,
}

/// What stands between columns.
const GAP: &str = "  ";
/// No column is cut below this.
const LEAST: usize = 10;

impl Table {
    /// With these column heads.
    pub fn new(heads: &[&str]) -> Table {
        let heads = heads.iter().map(|head| ((*head).to_owned(), Style::new().dimmed()));
        Table { rows: vec![heads.collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<(String, Style)>) {
        self.rows.push(cells);
    }

    /// The lines, cut to `width` columns.
    pub fn lines(&self, width: Option<usize>, out: Out) -> Vec<String> {
        let columns = self.columns(width);
        self.rows.iter().map(|row| columns.line(row, out)).collect()
    }

    /// Columns that fit its rows, cut to `width`: also for rows that are still to come.
    pub fn columns(&self, width: Option<usize>) -> Columns {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|(text, _)| text.width()).max().unwrap_or(0)
        };
        let wanted: Vec<usize> = (0..columns).map(widest).collect();
        let mut widths = wanted.clone();
        if let Some(width) = width {
            shrink(&mut widths, width);
        }
        Columns { widths, wanted, all: width }
    }

    /// The line of heads.
    pub fn head(&self, columns: &Columns, out: Out) -> String {
        columns.line(&self.rows[0], out)
    }
}

/// The widths of columns: as they are, as they would be with room enough, and the terminal's.
#[derive(Debug)]
pub struct Columns {
    widths: Vec<usize>,
    wanted: Vec<usize>,
    all: Option<usize>,
}

impl Columns {
    /// A row as a line. A cell is cut where its column was cut; one that is wider than was foreseen
    /// pushes the others, and the last one gives way.
    pub fn line(&self, row: &[(String, Style)], out: Out) -> String {
        let (mut line, mut used) = (String::new(), 0);
        for (index, (text, style)) in row.iter().enumerate() {
            let (width, wanted) = (self.widths[index], self.wanted[index]);
            let is_last = index + 1 == row.len();
            let room = match self.all {
                Some(all) if is_last => width.min(all.saturating_sub(used).max(LEAST)),
                _ if width < wanted => width,
                _ => width.max(text.width()),
            };
            let text = fitted(text, room);
            let pad = width.saturating_sub(text.width());
            used += text.width() + pad + GAP.len();
            line += &out.style(&text, *style);
            if !is_last {
                line += &" ".repeat(pad);
                line += GAP;
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Cuts the last column first, then whichever is widest, until the line fits or nothing is left to
/// cut.
fn shrink(widths: &mut [usize], width: usize) {
    let gaps = widths.len().saturating_sub(1) * GAP.len();
    let over = |widths: &[usize]| (widths.iter().sum::<usize>() + gaps).saturating_sub(width);
    if let Some(cut) = Some(over(widths))
        && let Some(last) = widths.last_mut()
    {
        *last = (*last).min(last.saturating_sub(cut).max(LEAST));
    }
    while over(widths) > 0 {
        match widths.iter_mut().max() {
            Some(widest) if *widest > LEAST => *widest -= 1,
            _ => return,
        }
    }
}

fn fitted(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let fits = |letter: &char| {
        used += letter.width().unwrap_or(0);
        used <= width
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn wide_letters_count_twice_and_the_last_column_is_cut() {
        let mut table = Table::new(&["NAME", "TASK"]);
        table.row(vec![("修正".into(), Style::new()), ("abcdefghijkl".into(), Style::new())]);
        table.row(vec![("x".into(), Style::new()), (String::new(), Style::new())]);
        let out = Out::new(Some("never"), &Config::default());
        let all = table.lines(None, out);
        assert_eq!(all, ["NAME  TASK", "修正  abcdefghijkl", "x"]);
        assert_eq!(table.lines(Some(17), out)[1], "修正  abcdefghij…");
        assert_eq!(table.lines(Some(4), out)[1], "修正  abcdefghi…");
    }

    #[test]
    fn what_was_not_foreseen_pushes_the_others_and_the_last_gives_way() {
        let cell = |text: &str| (text.to_owned(), Style::new());
        let mut table = Table::new(&["NAME", "STATE", "TASK"]);
        table.row(vec![cell("a"), cell("clean"), cell("abcdefghijklmnop")]);
        let out = Out::new(Some("never"), &Config::default());
        let columns = table.columns(Some(29));
        assert_eq!(table.head(&columns, out), "NAME  STATE  TASK");
        let line =
            |state: &str| columns.line(&[cell("a"), cell(state), cell("abcdefghijklmnop")], out);
        assert_eq!(line("clean"), "a     clean  abcdefghijklmnop");
        assert_eq!(line("2 changes"), "a     2 changes  abcdefghijk…");
    }

    #[test]
    fn the_widest_column_gives_way() {
        let mut table = Table::new(&["NAME", "STATE", "TASK"]);
        let cell = |text: &str| (text.to_owned(), Style::new());
        table.row(vec![cell(&"n".repeat(40)), cell("clean"), cell("short")]);
        let out = Out::new(Some("never"), &Config::default());
        let line = &table.lines(Some(30), out)[1];
        assert_eq!(*line, format!("{}…  clean  short", "n".repeat(15)));
    }
}
