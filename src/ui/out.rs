//! What the user sees: the answer on stdout, the narration on stderr, colour, and the escaper.
//!
//! The only file that prints. Every piece of text from outside (names, tasks, paths, git's words)
//! passes [`visible`] on its way to a terminal.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use owo_colors::{OwoColorize, Style};
use serde::Serialize;

use crate::error::{Doing, Error, Result};
use crate::ui::hints;
use crate::ui::locale::{self, Letters};

/// Where the answer and the narration go.
#[derive(Clone, Copy, Debug)]
pub struct Out {
    answer_colour: bool,
    narration_colour: bool,
    letters: Letters,
}

impl Out {
    /// Colour as `when` says; `NO_COLOR` and `TERM=dumb` turn it off where the terminal would decide.
    pub fn new(when: When) -> Out {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let when = if when == When::Terminal && (no_color || dumb) { When::Never } else { when };
        let pager = std::env::var_os("GIT_PAGER_IN_USE").is_some_and(|value| value == "true");
        let on = |terminal: bool| match when {
            When::Always => true,
            When::Never => false,
            When::Terminal => terminal,
        };
        Out {
            answer_colour: on(io::stdout().is_terminal() || pager),
            narration_colour: on(io::stderr().is_terminal()),
            letters: locale::letters(),
        }
    }

    /// What stands for the rest of a text that was cut; one column wide.
    pub fn ellipsis(self) -> char {
        match self.letters {
            Letters::Unicode => '…',
            Letters::Ascii => '~',
        }
    }

    /// A text, or another where the user's locale has ASCII only.
    pub fn either<'a>(self, unicode: &'a str, ascii: &'a str) -> &'a str {
        match self.letters {
            Letters::Unicode => unicode,
            Letters::Ascii => ascii,
        }
    }

    /// Without colour, and with all letters.
    #[cfg(test)]
    pub fn plain() -> Out {
        Out { letters: Letters::Unicode, ..Out::new(When::Never) }
    }

    /// Styles for the answer.
    pub fn style(self, text: &str, style: Style) -> String {
        if self.answer_colour { text.style(style).to_string() } else { text.to_owned() }
    }

    /// A line of the answer, already visible.
    pub fn answer(self, line: &str) -> Result<()> {
        write_out(format!("{line}\n").as_bytes())
    }

    /// A path as the answer: its exact bytes for a program, visible ones for a terminal.
    pub fn answer_path(self, path: &Path) -> Result<()> {
        if io::stdout().is_terminal() {
            self.answer(&visible_path(path))
        } else {
            write_out(&[path.as_os_str().as_bytes(), b"\n"].concat())
        }
    }

    /// Bytes as they are: the output of a command that the user ran.
    pub fn answer_raw(self, bytes: &[u8]) -> Result<()> {
        write_out(bytes)
    }

    /// A NUL-ended piece of the answer, byte for byte.
    pub fn answer_nul(self, bytes: &[u8]) -> Result<()> {
        write_out(&[bytes, b"\0"].concat())
    }

    /// JSON as the answer, never coloured.
    pub fn answer_json(self, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string_pretty(value)
            .map_err(io::Error::from)
            .doing(|| "write JSON".into())?;
        self.answer(&harmless_json(&text, locale::letters()))
    }

    /// A line of narration.
    pub fn note(self, text: &str) {
        self.narrate(None, text);
    }

    /// `warning: ...`
    pub fn warn(self, text: &str) {
        self.narrate(Some(("warning:", Style::new().yellow())), text);
    }

    /// `hint: ...`
    pub fn hint(self, text: &str) {
        self.narrate(Some(("hint:", Style::new().yellow())), text);
    }

    /// `error: ...` with its hints and, for wrong usage, the usage.
    pub fn error(self, error: &Error) {
        if error.is_silent() {
            return;
        }
        self.narrate(Some(("error:", Style::new().red())), &error.to_string());
        for hint in hints::after(error) {
            self.hint(&hint);
        }
        if let Error::Usage { usage, .. } = error {
            let _ = io::stderr().write_all(usage.as_bytes());
        }
    }

    /// A question, on the line that the answer is typed on.
    pub fn ask(self, question: &str) {
        let _ = io::stderr().write_all(visible(question).as_bytes());
    }

    fn narrate(self, lead: Option<(&str, Style)>, text: &str) {
        let text = visible(text);
        let line = match lead {
            Some((lead, style)) if self.narration_colour => {
                format!("{} {text}\n", lead.style(style))
            }
            Some((lead, _)) => format!("{lead} {text}\n"),
            None => format!("{text}\n"),
        };
        // Nobody is left to tell when stderr is closed.
        let _ = io::stderr().write_all(line.as_bytes());
    }
}

/// When text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// Never.
    Never,
    /// On a terminal.
    Terminal,
}

fn write_out(bytes: &[u8]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Error::ClosedPipe),
        other => other.doing(|| "write the answer".into()),
    }
}

/// Whether the answer goes to a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// The terminal's width; `None` when the answer goes elsewhere.
pub fn width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    Some(if columns == 0 { 80 } else { columns })
}

/// The terminal's height; `None` when the answer goes elsewhere.
pub fn height() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    Some(size.map_or(0, |size| usize::from(size.ws_row))).filter(|rows| *rows > 0)
}

/// The text with everything that could move a cursor or hide a letter spelled out, and every letter
/// that the user's locale does not have.
pub fn visible(text: &str) -> String {
    visible_in(text, locale::letters())
}

fn visible_in(text: &str, letters: Letters) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            _ if letters == Letters::Ascii && !letter.is_ascii() => {
                shown.extend(letter.escape_unicode());
            }
            _ if is_hidden(letter) => shown.extend(letter.escape_unicode()),
            _ => shown.push(letter),
        }
    }
    shown
}

/// [`visible`] for a path, with bytes that are no UTF-8 as `\xff`.
pub fn visible_path(path: &Path) -> String {
    visible_path_in(path, locale::letters())
}

fn visible_path_in(path: &Path, letters: Letters) -> String {
    let chunks = path.as_os_str().as_bytes().utf8_chunks();
    let mut shown = String::new();
    for chunk in chunks {
        shown += &visible_in(chunk.valid(), letters);
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// Control characters, bidirectional overrides, and what takes no room.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// JSON in which hidden characters, and letters that the locale does not have, are `\uXXXX`; they only
/// ever stand inside its strings.
fn harmless_json(json: &str, letters: Letters) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        let is_foreign = letters == Letters::Ascii && !letter.is_ascii();
        if is_foreign || letter != '\n' && is_hidden(letter) {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(letter);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;
    use std::ffi::OsStr;

    #[test]
    fn hidden_characters_become_visible() {
        let visible = |text: &str| visible_in(text, Letters::Unicode);
        assert_eq!(visible("fix-auth größe 修正 🎉"), "fix-auth größe 修正 🎉");
        assert_eq!(visible_in("größe\n", Letters::Ascii), "gr\\u{f6}\\u{df}e\\n");
        assert_eq!(visible("a\x1b[31mb\x07\n\t"), "a\\u{1b}[31mb\\u{7}\\n\\t");
        assert_eq!(visible("\u{9b}31m"), "\\u{9b}31m");
        assert_eq!(visible("\u{202e}gpj.exe\u{200b}"), "\\u{202e}gpj.exe\\u{200b}");
    }

    #[test]
    fn a_path_that_is_no_text_is_spelled_out() {
        let path = Path::new(OsStr::from_bytes(b"a\xffb\x1b"));
        assert_eq!(visible_path(path), "a\\xffb\\u{1b}");
    }

    #[test]
    fn json_hides_nothing_and_stays_json() {
        let text = "x\u{202e}y\u{9b}z\u{e0041}";
        let json = harmless_json(&serde_json::to_string(text).unwrap(), Letters::Unicode);
        assert!(json.is_ascii(), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }

    #[test]
    fn fuzz_the_escaper() {
        let real =
            ["fix-auth größe 修正 🎉", "a\x1b[31mb\x07\n\t", "\u{9b}\u{202e}\u{200b}\u{e0041}"];
        let real: Vec<&[u8]> = real.iter().map(|text| text.as_bytes()).collect();
        fuzz::damaged(&real, |input| {
            let path = Path::new(OsStr::from_bytes(input));
            let text = String::from_utf8_lossy(input);
            for letters in [Letters::Unicode, Letters::Ascii] {
                for shown in [visible_in(&text, letters), visible_path_in(path, letters)] {
                    assert!(!shown.contains(is_hidden), "{shown:?}");
                    assert!(shown.is_ascii() || letters == Letters::Unicode, "{shown:?}");
                    assert_eq!(visible_in(&shown, letters), shown);
                }
            }
            let json = harmless_json(&serde_json::to_string(&text).unwrap(), Letters::Unicode);
            assert!(!json.contains(is_hidden), "{json:?}");
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        });
    }
}
