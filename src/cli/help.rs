//! The table as text: the usage lines of `-h`, and `--help`.

use std::fmt::Write as _;

use crate::cli::spec::{AfterDashes, COMMANDS, COMMON, Command, Operand, Opt, Times, VERSION};

/// Column where explanations start.
const INDENT: usize = 24;
const WIDTH: usize = 80;

/// The usage of one command, wrapped as git wraps its own.
pub fn usage_line(command: &Command) -> String {
    let operands = command.operands.iter().map(operand);
    let options = command.options.iter().map(|option| format!("[{}]", with_value(option)));
    let head = format!("git sandbox {}", command.name);
    let run = match command.after_dashes {
        AfterDashes::Operands => None,
        AfterDashes::Command => Some("[-- <cmd>...]".to_owned()),
        AfterDashes::CommandAnywhere => Some("[[--] <cmd>...]".to_owned()),
    };
    wrap(&head, options.chain(operands).chain(run))
}

/// `-h`: of one command, or of the program, which names every command.
pub fn usage(command: Option<&Command>) -> String {
    if let Some(command) = command {
        return usages(&[command]);
    }
    let mut text = "usage: git sandbox [<command>] [<options>]\n\n".to_owned();
    for command in COMMANDS {
        entry(&mut text, command.name, command.about);
    }
    text += "\nWithout a command: list. 'git sandbox <command> -h' shows its options,\n";
    text += "'git sandbox <command> --help' explains them.\n";
    text
}

/// `usage:` with the line of each command.
fn usages(commands: &[&Command]) -> String {
    let mut text = String::new();
    for (index, command) in commands.iter().enumerate() {
        let lead = if index == 0 { "usage: " } else { "   or: " };
        let hang = format!("\n{}", " ".repeat(lead.len()));
        text += lead;
        text += &usage_line(command).replace('\n', &hang);
        text.push('\n');
    }
    text
}

/// `--help`: of one command, or of the program.
pub fn help(command: Option<&Command>) -> String {
    let mut text = command.map_or_else(|| usages(COMMANDS), |command| usages(&[command]));
    if let Some(command) = command {
        let _ = write!(text, "\n{}\n\n{}\n\n", command.about, command.details);
        for option in command.all_options() {
            entry(&mut text, &forms(option), option.help);
        }
        return text;
    }
    text += "\nIsolated checkouts of this repository, each on its own branch.\n\n";
    for command in COMMANDS {
        entry(&mut text, command.name, command.about);
    }
    text += "\nWithout a command: list. Every command takes:\n\n";
    for option in COMMON {
        entry(&mut text, &forms(option), option.help);
    }
    entry(&mut text, &forms(&VERSION), VERSION.help);
    text
}

fn entry(text: &mut String, head: &str, body: &str) {
    let gap = if head.len() + 4 < INDENT { "" } else { "\n" };
    let pad = if gap.is_empty() { INDENT - 4 - head.len() } else { INDENT };
    let _ = writeln!(text, "    {head}{gap}{}{body}", " ".repeat(pad));
}

/// `-f, --force`
fn forms(option: &Opt) -> String {
    let mut forms = option.forms();
    forms.pop();
    forms.push(with_value(option));
    forms.join(", ")
}

fn with_value(option: &Opt) -> String {
    match &option.value {
        Some(value) => format!("{}{}", option.typed(), value.after_option()),
        None => option.typed(),
    }
}

fn operand(operand: &Operand) -> String {
    let name = operand.name;
    match operand.times {
        Times::One => format!("<{name}>"),
        Times::Optional => format!("[<{name}>]"),
        Times::Some => format!("<{name}>..."),
        Times::Many => format!("[<{name}>...]"),
    }
}

/// Joins words with spaces, breaking lines under the end of `head`.
fn wrap(head: &str, words: impl Iterator<Item = String>) -> String {
    let limit = WIDTH - "usage: ".len();
    let mut text = head.to_owned();
    let mut column = head.len();
    for word in words {
        if column + 1 + word.len() > limit {
            text += "\n";
            text += &" ".repeat(head.len());
            column = head.len();
        }
        column += 1 + word.len();
        text.push(' ');
        text += &word;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_fits_a_terminal() {
        let texts = COMMANDS.iter().map(|command| help(Some(command)));
        for text in texts.chain([help(None)]) {
            for line in text.lines() {
                assert!(line.len() <= WIDTH + INDENT, "{line}");
            }
        }
        for line in usage(None).lines() {
            assert!(line.len() <= WIDTH + INDENT, "{line}");
        }
        for line in usages(COMMANDS).lines() {
            assert!(line.len() <= WIDTH, "{line}");
        }
    }
}
