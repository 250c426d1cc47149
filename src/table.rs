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
/// A last column is not cut below this.
const LEAST: usize = 8;

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
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|(text, _)| text.width()).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..columns).map(widest).collect();
        if let (Some(width), Some((last, others))) = (width, widths.split_last_mut()) {
            let before: usize = others.iter().map(|other| other + GAP.len()).sum();
            *last = (*last).min(width.saturating_sub(before).max(LEAST));
        }
        self.rows.iter().map(|row| line(row, &widths, out)).collect()
    }
}

fn line(row: &[(String, Style)], widths: &[usize], out: Out) -> String {
    let mut line = String::new();
    for (index, ((text, style), width)) in row.iter().zip(widths).enumerate() {
        let text = fitted(text, *width);
        let pad = width.saturating_sub(text.width());
        line += if index == 0 { "" } else { GAP };
        line += &out.style(&text, *style);
        if index + 1 < row.len() {
            line += &" ".repeat(pad);
        }
    }
    line.truncate(line.trim_end().len());
    line
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
        assert_eq!(table.lines(Some(16), out)[1], "修正  abcdefghi…");
        assert_eq!(table.lines(Some(4), out)[1], "修正  abcdefg…");
    }
}
