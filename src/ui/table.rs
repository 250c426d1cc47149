//! A table that fits the terminal: columns by display width. A column may be cut, may vanish where there
//! is no room for it, and vanishes where it is empty.

use owo_colors::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::ui::out::Out;

/// Pieces of visible text, each with its style.
#[derive(Clone, Debug, Default)]
pub struct Cell(Vec<(String, Style)>);

impl Cell {
    /// The same and one more piece.
    pub fn and(mut self, text: impl Into<String>, style: Style) -> Cell {
        self.0.push((text.into(), style));
        self
    }

    /// The same and one more piece, after a space if it is not the first.
    pub fn word(self, text: impl Into<String>, style: Style) -> Cell {
        let lead = if self.0.is_empty() { "" } else { " " };
        self.and(lead, Style::new()).and(text, style)
    }

    /// Its width on a terminal.
    pub fn width(&self) -> usize {
        self.0.iter().map(|(text, _)| text.width()).sum()
    }

    /// The text in its styles, cut to a width.
    pub fn fitted(&self, width: usize, out: Out) -> String {
        let whole = self.width() <= width;
        let mut room = if whole { width } else { width.saturating_sub(1) };
        let mut line = String::new();
        for (text, style) in &self.0 {
            let fits = |letter: &char| {
                let wide = letter.width().unwrap_or(0);
                let fits = wide <= room;
                room = if fits { room - wide } else { 0 };
                fits
            };
            let mut piece: String = text.chars().take_while(fits).collect();
            let is_cut = piece.len() < text.len();
            if is_cut {
                piece.push(out.ellipsis());
            }
            if !piece.is_empty() {
                line += &out.style(&piece, *style);
            }
            if is_cut {
                break;
            }
        }
        line
    }
}

impl From<(String, Style)> for Cell {
    fn from((text, style): (String, Style)) -> Cell {
        Cell(vec![(text, style)])
    }
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its head.
    pub head: &'static str,
    /// Whether its cells may be cut.
    pub cut: bool,
    /// The higher, the sooner it vanishes where there is no room; 0 never does.
    pub rank: u8,
    /// Whether it vanishes where no row has anything in it.
    pub optional: bool,
}

/// A column that is always there and whole.
pub const fn whole(head: &'static str) -> Column {
    Column { head, cut: false, rank: 0, optional: false }
}

/// A column that is always there, and cut where there is no room.
pub const fn cut(head: &'static str) -> Column {
    Column { head, cut: true, rank: 0, optional: false }
}

/// Rows of cells.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// What stands between columns.
const GAP: usize = 2;
/// No column is cut below this.
const LEAST: usize = 10;

impl Table {
    /// With these columns.
    pub fn new(columns: Vec<Column>) -> Table {
        Table { columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// The lines, the heads first, fitted to `width` columns.
    pub fn lines(&self, width: Option<usize>, out: Out) -> Vec<String> {
        let shown = self.layout(width);
        let dim = Style::new().dimmed();
        let heads: Vec<Cell> =
            self.columns.iter().map(|column| (column.head.to_owned(), dim).into()).collect();
        std::iter::once(&heads).chain(&self.rows).map(|row| line(row, &shown, out)).collect()
    }

    /// Which columns are shown, each with its width.
    fn layout(&self, width: Option<usize>) -> Vec<(usize, usize)> {
        let widest = |index: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(index)).map(Cell::width);
            cells.max().unwrap_or(0)
        };
        let filled = |index: &usize| !self.columns[*index].optional || widest(*index) > 0;
        let mut shown: Vec<(usize, usize)> = (0..self.columns.len())
            .filter(filled)
            .map(|index| (index, widest(index).max(self.columns[index].head.width())))
            .collect();
        let Some(width) = width else { return shown };
        while over(&shown, width) > 0 {
            let mut tried = shown.clone();
            self.shrink(&mut tried, width);
            let rank = |(index, _): &&(usize, usize)| self.columns[*index].rank;
            let last = shown.iter().max_by_key(rank).copied();
            match last.filter(|(index, _)| self.columns[*index].rank > 0) {
                Some((index, _)) if over(&tried, width) > 0 => {
                    shown.retain(|(other, _)| *other != index);
                }
                _ => return tried,
            }
        }
        shown
    }

    /// Cuts the last of those that may be cut first, then whichever is widest, until all fit or nothing
    /// is left to cut.
    fn shrink(&self, shown: &mut [(usize, usize)], width: usize) {
        let is_cut = |index: usize| self.columns[index].cut;
        let too_wide = over(shown, width);
        if let Some((_, last)) = shown.iter_mut().rfind(|(index, _)| is_cut(*index)) {
            *last = (*last).min(last.saturating_sub(too_wide).max(LEAST));
        }
        while over(shown, width) > 0 {
            let cuttable = shown.iter_mut().filter(|(index, _)| is_cut(*index));
            match cuttable.map(|(_, width)| width).max() {
                Some(widest) if *widest > LEAST => *widest -= 1,
                _ => return,
            }
        }
    }
}

/// By how much a line is too wide.
fn over(shown: &[(usize, usize)], width: usize) -> usize {
    let gaps = shown.len().saturating_sub(1) * GAP;
    (shown.iter().map(|(_, width)| width).sum::<usize>() + gaps).saturating_sub(width)
}

fn line(row: &[Cell], shown: &[(usize, usize)], out: Out) -> String {
    let (mut line, mut pad) = (String::new(), 0);
    for (index, width) in shown {
        let Some(cell) = row.get(*index).filter(|cell| cell.width() > 0) else {
            pad += width + GAP;
            continue;
        };
        line += &" ".repeat(pad);
        line += &cell.fitted(*width, out);
        pad = width.saturating_sub(cell.width()) + GAP;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str) -> Cell {
        (text.to_owned(), Style::new()).into()
    }

    #[test]
    fn wide_letters_count_twice_and_the_last_column_is_cut() {
        let mut table = Table::new(vec![cut("NAME"), cut("TASK")]);
        table.row(vec![cell("修正"), cell("abcdefghijkl")]);
        table.row(vec![cell("x"), Cell::default()]);
        let out = Out::plain();
        assert_eq!(table.lines(None, out), ["NAME  TASK", "修正  abcdefghijkl", "x"]);
        assert_eq!(table.lines(Some(17), out)[1], "修正  abcdefghij…");
        assert_eq!(table.lines(Some(4), out)[1], "修正  abcdefghi…");
        // A wide letter is not cut in half.
        let mut table = Table::new(vec![cut("NAME")]);
        table.row(vec![cell(&"修".repeat(8))]);
        assert_eq!(table.lines(Some(12), out)[1], format!("{}…", "修".repeat(5)));
    }

    #[test]
    fn the_widest_column_gives_way() {
        let mut table = Table::new(vec![cut("NAME"), cut("STATE"), cut("TASK")]);
        table.row(vec![cell(&"n".repeat(40)), cell("clean"), cell("short")]);
        let line = &table.lines(Some(30), Out::plain())[1];
        assert_eq!(*line, format!("{}…  clean  short", "n".repeat(15)));
    }

    #[test]
    fn whole_columns_stay_and_ranked_ones_vanish() {
        let optional = |head, rank| Column { head, cut: false, rank, optional: true };
        let task = Column { cut: true, ..optional("TASK", 3) };
        let mut table = Table::new(vec![whole("NAME"), optional("A", 1), optional("B", 2), task]);
        table.row(vec![cell("a-long-name"), cell("aaaa"), cell("bbbb"), cell(&"t".repeat(30))]);
        table.row(vec![cell("x"), Cell::default(), cell("b"), cell("t")]);
        let lines = |width| table.lines(Some(width), Out::plain());
        assert_eq!(lines(60)[1], format!("a-long-name  aaaa  bbbb  {}", "t".repeat(30)));
        assert_eq!(lines(35)[1], "a-long-name  aaaa  bbbb  ttttttttt…");
        assert_eq!(
            lines(34),
            ["NAME         A     B", "a-long-name  aaaa  bbbb", "x                  b"]
        );
        assert_eq!(lines(22), ["NAME         A", "a-long-name  aaaa", "x"]);
        assert_eq!(lines(5), ["NAME", "a-long-name", "x"]);
        let mut table = Table::new(vec![whole("NAME"), optional("A", 1)]);
        table.row(vec![cell("x"), Cell::default()]);
        assert_eq!(table.lines(None, Out::plain()), ["NAME", "x"]);
    }

    #[test]
    fn pieces_are_cut_as_one_text() {
        let mut table = Table::new(vec![cut("WORK")]);
        let work = Cell::default().word("abcdef", Style::new()).word("ghijkl", Style::new());
        table.row(vec![work]);
        assert_eq!(table.lines(None, Out::plain())[1], "abcdef ghijkl");
        assert_eq!(table.lines(Some(11), Out::plain())[1], "abcdef ghi…");
    }
}
