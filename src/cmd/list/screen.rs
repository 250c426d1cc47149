//! A table on a terminal that is written over in place, and one that fills the screen until Ctrl-C.

use std::fmt::Write as _;

use crate::error::Result;
use crate::ui::out::{self, Out};

/// Lines that were shown and can be written over.
#[derive(Debug, Default)]
pub struct Screen {
    shown: Vec<String>,
}

/// Whether lines can be written over: on a terminal that can do that, and high enough.
pub fn is_possible(lines: usize) -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    !dumb && out::height().is_some_and(|height| lines < height)
}

impl Screen {
    /// Shows lines in the place of the last ones. Only those that differ are written.
    pub fn show(&mut self, lines: Vec<String>, out: Out) -> Result<()> {
        let mut text = String::new();
        if self.shown.is_empty() {
            for line in &lines {
                let _ = writeln!(text, "{line}");
            }
            self.shown = lines;
            return out.answer_raw(text.as_bytes());
        }
        let _ = write!(text, "\x1b[{}A\r", self.shown.len());
        for (number, line) in lines.iter().enumerate() {
            match self.shown.get(number) == Some(line) {
                true => text.push('\n'),
                false => {
                    let _ = writeln!(text, "{line}\x1b[K");
                }
            }
        }
        if lines.len() < self.shown.len() {
            text += "\x1b[J";
        }
        self.shown = lines;
        out.answer_raw(text.as_bytes())
    }
}

/// A second screen of the terminal, which is left when dropped.
#[derive(Debug)]
pub struct Alternate(Out);

impl Alternate {
    /// Goes there, without a cursor.
    pub fn enter(out: Out) -> Result<Alternate> {
        out.answer_raw(b"\x1b[?1049h\x1b[?25l\x1b[2J")?;
        Ok(Alternate(out))
    }

    /// Fills it with lines, as many as fit.
    pub fn show(&self, lines: &[String]) -> Result<()> {
        let height = out::height().unwrap_or(24);
        let mut text = String::from("\x1b[H");
        for (number, line) in lines.iter().take(height).enumerate() {
            let end = if number + 1 == height { "" } else { "\r\n" };
            let _ = write!(text, "{line}\x1b[K{end}");
        }
        text += "\x1b[J";
        self.0.answer_raw(text.as_bytes())
    }
}

impl Drop for Alternate {
    fn drop(&mut self) {
        let _ = self.0.answer_raw(b"\x1b[?25h\x1b[?1049l");
    }
}
