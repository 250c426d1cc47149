//! The shell function that goes to sandboxes, for bash, zsh and fish: `sb`, or what the user calls it.
//!
//! A program cannot move the shell that started it, so the shell has to do that itself. The function is
//! a template in the language of the shell; the branches that complete it are those of `complete`.

use std::collections::BTreeSet;

use crate::cli::complete;
use crate::cli::spec::{Command, MERGE, Opt, RM, STOP};

/// What the function is called unless the user says otherwise.
pub const NAME: &str = "sb";

/// A shell that the function is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// The function for a shell, under this name.
pub fn text(shell: Shell, name: &str) -> String {
    let body = include_str!("template.sh");
    let (word, text) = match shell {
        Shell::Bash => ("bash", body.to_owned() + include_str!("template.bash")),
        Shell::Zsh => ("zsh", body.to_owned() + include_str!("template.zsh")),
        Shell::Fish => ("fish", include_str!("template.fish").to_owned()),
    };
    let usage: Vec<String> = match shell {
        Shell::Fish => usage(name).map(|line| format!("'{line}'")).collect(),
        Shell::Bash | Shell::Zsh => usage(name).map(|line| format!("\t\t{line}")).collect(),
    };
    let (between, or) = if shell == Shell::Fish { (" ", " ") } else { ("\n", " | ") };
    complete::with_branches(&text, shell == Shell::Zsh)
        .replace("@VALUED@", &valued().join(or))
        .replace("@USAGE@", &usage.join(between))
        .replace("@PRINT@", &format!("function-{word}"))
        .replace("@SHELL@", word)
        .replace("@NAME@", name)
}

/// The options after which a word is a value, in the commands that can take a sandbox away.
fn valued() -> Vec<String> {
    let options = [&RM, &MERGE, &STOP].into_iter().flat_map(Command::all_options);
    let valued = options.filter(|option| complete::takes_next_word(option));
    let forms: BTreeSet<String> = valued.flat_map(Opt::forms).collect();
    forms.into_iter().collect()
}

/// What can be typed, a line each.
fn usage(name: &str) -> impl Iterator<Item = String> {
    let rows = [
        ("<name>", "go to a sandbox"),
        ("-c <name> [<task>...]", "make it or resume it, and go there"),
        ("", "pick a sandbox and go there"),
        ("^", "go to the main worktree"),
        ("-", "go back"),
        ("<command> <word>...", "run git sandbox <command> <word>..."),
    ];
    let name = name.to_owned();
    rows.into_iter().enumerate().map(move |(index, (words, about))| {
        let lead = if index == 0 { "usage:" } else { "   or:" };
        format!("{lead} {:<26} {about}", format!("{name} {words}"))
    })
}

/// The name of the function in a file that was installed.
pub fn name_in(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("# function: ")).filter(|name| is_name(name))
}

/// Whether every shell takes this as the name of a function.
pub fn is_name(name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled_and_tell_their_name() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = text(shell, "go-to");
            assert_eq!(name_in(&text), Some("go-to"));
            let left = |word: &str| word.starts_with('@') && word.len() > 2 && word.ends_with('@');
            assert!(!text.split_whitespace().any(left), "{text}");
            assert!(text.contains("usage: go-to <name>"), "{text}");
        }
        assert!(is_name("sb") && is_name("_x1") && is_name("go-to"));
        assert!(!is_name("") && !is_name("1x") && !is_name("a b") && !is_name("x;y"));
    }
}
