//! The table, with the prose of `manual.rs` around it, as the man page: `man/git-sandbox.1`.
//!
//! The only file that knows roff. What it is given is plain text in which backquotes mark what is
//! typed, `<name>` what is put in its place, four blanks an example, and `::` at the end of a line a
//! term that the following lines explain.

use std::fmt::Write as _;

use crate::cli::spec::{COMMANDS, COMMON, Command, Kind, Opt};
use crate::cli::{help, manual};

/// When the prose was last changed.
const DATE: &str = "2026-11-16";

/// A path or a key that is broken at a hyphen is another one. The end of an example forgets it.
const NO_HYPHENS: &str = ".nh\n";

/// `man/git-sandbox.1`
pub fn page() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut page =
        String::from(".\\\" Generated from the table of commands; see src/cli/man.rs.\n");
    let _ = writeln!(page, ".TH GIT\\-SANDBOX 1 {DATE} \"git\\-sandbox {version}\" \"Git Manual\"");
    page += NO_HYPHENS;
    page += ".ad l\n";
    section(&mut page, "NAME");
    let _ = writeln!(page, "git\\-sandbox \\- {}", inline(manual::NAME));
    section(&mut page, "SYNOPSIS");
    page += ".nf\n";
    for command in COMMANDS {
        for line in help::usage_line(command).lines() {
            text_line(&mut page, &escaped(line));
        }
    }
    page += ".fi\n";
    for (title, text) in manual::BEFORE {
        section(&mut page, title);
        prose(&mut page, text);
    }
    section(&mut page, "COMMANDS");
    prose(&mut page, manual::COMMANDS);
    for command in COMMANDS {
        explain(&mut page, command);
    }
    section(&mut page, "OPTIONS");
    prose(&mut page, manual::OPTIONS);
    for option in COMMON {
        item(&mut page, &option_term(option), &meaning(option));
    }
    item(&mut page, &bold("--version"), "Show the version.");
    for command in COMMANDS.iter().filter(|command| !command.options.is_empty()) {
        let _ = writeln!(page, ".SS \"git sandbox {}\"", escaped(command.name));
        for option in command.options {
            item(&mut page, &option_term(option), &meaning(option));
        }
    }
    for (title, text) in manual::AFTER {
        section(&mut page, title);
        prose(&mut page, text);
    }
    page
}

fn section(page: &mut String, title: &str) {
    let _ =
        writeln!(page, ".SH {}", if title.contains(' ') { quoted(title) } else { title.into() });
}

fn quoted(title: &str) -> String {
    format!("\"{title}\"")
}

/// A command with what its `--help` says.
fn explain(page: &mut String, command: &Command) {
    let about = format!("{} {}", sentence(command.about), command.details);
    let mut paragraphs = about.split("\n\n").map(joined);
    item(page, &bold(command.name), &paragraphs.next().unwrap_or_default());
    for paragraph in paragraphs {
        page.push_str(".IP\n");
        text_line(page, &inline(&paragraph));
    }
}

fn item(page: &mut String, term: &str, text: &str) {
    page.push_str(".TP\n");
    text_line(page, term);
    text_line(page, &inline(text));
}

/// `-f`, `--force`; or `--root=<folder>`.
fn option_term(option: &Opt) -> String {
    let short = option.short.map(|letter| format!("-{letter}"));
    let long = (!option.long.is_empty()).then(|| format!("--{}", option.long));
    let forms: Vec<String> = short.into_iter().chain(long).map(|form| bold(&form)).collect();
    let value = option.value.as_ref().map(|value| inline(&value.after_option()));
    forms.join(", ") + &value.unwrap_or_default()
}

/// Its help, with the words it takes where that does not name them.
fn meaning(option: &Opt) -> String {
    let help = sentence(option.help);
    match option.value.as_ref().map(|value| value.kind) {
        Some(Kind::OneOf(words)) if !words.iter().all(|word| help.contains(word)) => {
            format!("{help} It is one of `{}`.", words.join("`, `"))
        }
        _ => help,
    }
}

/// Paragraphs, terms and examples.
fn prose(page: &mut String, text: &str) {
    let mut within_item = false;
    for (index, block) in text.trim_matches('\n').split("\n\n").enumerate() {
        let (first, rest) = block.split_once('\n').unwrap_or((block, ""));
        if block.starts_with("    ") {
            // An example of an item stays within it.
            let _ = writeln!(page, ".RS {}\n.PP\n.EX", if within_item { 11 } else { 4 });
            for line in block.lines() {
                text_line(page, &escaped(line.get(4..).unwrap_or_default()));
            }
            page.push_str(".EE\n.RE\n");
            page.push_str(NO_HYPHENS);
        } else if let Some(term) = first.strip_suffix("::") {
            item(page, &inline(term), &joined(rest));
            within_item = true;
        } else {
            page.push_str(if index == 0 { "" } else { ".PP\n" });
            text_line(page, &inline(&joined(block)));
            within_item = false;
        }
    }
}

/// Joins lines into one: the program that shows the page fills it anew.
fn joined(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// A help text of the table as a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}

/// Text whose first character would make it a request is no request.
fn text_line(page: &mut String, line: &str) {
    if line.starts_with(['.', '\'']) {
        page.push_str("\\&");
    }
    page.push_str(line);
    page.push('\n');
}

fn bold(text: &str) -> String {
    format!("\\fB{}\\fR", escaped(text))
}

/// Text with what is typed in bold and what is replaced in italics.
fn inline(text: &str) -> String {
    let mut shown = String::new();
    for (index, piece) in text.split('`').enumerate() {
        match index % 2 {
            0 => shown += &options_in(piece),
            _ => drop(write!(shown, "\\fB{}\\fR", around(piece, "\\fB"))),
        }
    }
    shown
}

/// Plain text in which a word that starts with a dash is an option.
fn options_in(text: &str) -> String {
    let mut shown = String::new();
    for (index, word) in text.split(' ').enumerate() {
        let gap = if index == 0 { "" } else { " " };
        let lead = word.len() - word.trim_start_matches(['(', '\'', '[']).len();
        let (lead, body) = word.split_at(lead);
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let end = body.find(|c| !letter(c)).unwrap_or(body.len());
        let is_option = body.starts_with('-') && end > 1;
        let (option, tail) = body.split_at(if is_option { end } else { 0 });
        let option = if is_option { bold(option) } else { String::new() };
        let _ = write!(shown, "{gap}{}{option}{}", escaped(lead), around(tail, "\\fR"));
    }
    shown
}

/// Text in a font that is already in force, `<name>` in italics.
fn around(text: &str, font: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((head, name, tail)) = placeholder(rest) {
        let _ = write!(shown, "{}\\fI<{}>{font}", escaped(head), escaped(name));
        rest = tail;
    }
    shown + &escaped(rest)
}

/// The text up to `<name>`, the name, and the rest.
fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (head, rest) = text.split_once('<')?;
    let (name, tail) = rest.split_once('>')?;
    Some((head, name, tail))
}

/// Characters that roff would take or print for something else.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => shown.push_str("\\e"),
            '-' => shown.push_str("\\-"),
            '\'' => shown.push_str("\\(aq"),
            '`' => shown.push_str("\\(ga"),
            '"' => shown.push_str("\\(dq"),
            '^' => shown.push_str("\\(ha"),
            '~' => shown.push_str("\\(ti"),
            _ => shown.push(letter),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_words_are_bold_and_placeholders_italic() {
        assert_eq!(
            inline("see `git sandbox rm <name>` now"),
            "see \\fBgit sandbox rm \\fI<name>\\fB\\fR now"
        );
        assert_eq!(inline("with --force, or -z"), "with \\fB\\-\\-force\\fR, or \\fB\\-z\\fR");
        assert_eq!(inline("after '--' comes"), "after \\(aq\\fB\\-\\-\\fR\\(aq comes");
        assert_eq!(inline("a <task> b"), "a \\fI<task>\\fR b");
    }

    #[test]
    fn nothing_in_a_text_is_taken_for_a_request() {
        let mut page = String::new();
        text_line(&mut page, ".env*");
        text_line(&mut page, &escaped("it's ~/a\\b \"c\""));
        assert_eq!(page, "\\&.env*\nit\\(aqs \\(ti/a\\eb \\(dqc\\(dq\n");
    }

    #[test]
    fn prose_is_paragraphs_terms_and_examples() {
        let mut page = String::new();
        prose(&mut page, "One\ntwo.\n\n`key`::\nWhat it\nis.\n\n    $ ls -a\n    x");
        assert_eq!(
            page,
            "One two.\n.TP\n\\fBkey\\fR\nWhat it is.\n.RS 11\n.PP\n.EX\n$ ls \\-a\nx\n.EE\n.RE\n.nh\n"
        );
    }
}
