//! The table as completions for bash, zsh and fish.
//!
//! What a shell has to do is a template in its own language; here the rows of the table are put in
//! where a template says `@NAME@`. No template names a command or an option of ours, but for the
//! listings that the candidates come from.

use std::fmt::Write as _;

use crate::cli::spec::{AfterDashes, COMMANDS, Command, Kind, Opt, VERSION};

/// One line about the program, for the lists of git's commands.
const ABOUT: &str = "isolated checkouts of this repository";

/// Branches by the name that `new` takes: those of remotes without the remote, and no symbolic ones.
const BRANCHES: &str = "%(if)%(symref)%(then)%(else)\
    %(if:equals=refs/heads)%(refname:rstrip=-2)%(then)%(refname:strip=2)@local branch\
    %(else)%(refname:strip=3)@remote branch%(end)%(end)";
const BRANCH_REFS: &str = "refs/heads refs/remotes";
const COMMITS: &str = "%(refname:strip=2)\
    %(if:equals=refs/heads)%(refname:rstrip=-2)%(then)@local branch%(else)\
    %(if:equals=refs/tags)%(refname:rstrip=-2)%(then)@tag%(else)@remote branch%(end)%(end)";
const HEAD: &str = "the current commit";
const COMMIT_REFS: &str = "refs/heads refs/tags refs/remotes";

/// `completions/git-sandbox.bash`
pub fn bash() -> String {
    let options = COMMANDS.iter().map(|command| {
        let words: Vec<String> = command.all_options().flat_map(with_equals).collect();
        format!("\t{}) echo '{}' ;;", command.name, words.join(" "))
    });
    let values = COMMANDS.iter().flat_map(|command| {
        let valued =
            command.all_options().filter_map(|option| Some((option, option.value.as_ref()?)));
        valued.map(|(option, value)| {
            let words: Vec<String> =
                option.forms().iter().map(|form| format!("'{} {form}'", command.name)).collect();
            let next = if takes_next_word(option) { "" } else { " next=no" };
            format!("\t{}) kind='{}'{next} ;;", words.join(" | "), word_for(value.kind))
        })
    });
    let operands = COMMANDS.iter().flat_map(|command| {
        command.operands.iter().enumerate().map(|(index, operand)| {
            let index = if operand.times.repeats() { "'*".into() } else { format!("{index}'") };
            format!("\t'{} {index}) kind='{}' ;;", command.name, word_for(operand.kind))
        })
    });
    let runs = COMMANDS.iter().filter_map(|command| {
        Some(format!("\t{}) bare={} ;;", command.name, runs_after(command)?))
    });
    let names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
    fill(
        include_str!("template.bash"),
        &[
            ("COMMANDS", names.join(" ")),
            ("OPTIONS", lines(options)),
            ("VALUES", lines(values)),
            ("OPERANDS", lines(operands)),
            ("RUNS", lines(runs)),
            ("BRANCHES", described(BRANCHES, false)),
            ("COMMITS", described(COMMITS, false)),
        ],
    )
}

/// `completions/_git-sandbox`
pub fn zsh() -> String {
    let commands = COMMANDS
        .iter()
        .map(|command| format!("      {}", quoted(&format!("{}:{}", command.name, command.about))));
    let arguments = COMMANDS.iter().map(|command| {
        let mut text = format!("    ({})\n", command.name);
        if let Some(bare) = runs_after(command) {
            let valued = valued(command).join(" ");
            let _ = writeln!(text, "      __git-sandbox_command_line '{bare}' {valued} && return");
        }
        text += "      _arguments -s -S $version";
        for option in command.all_options() {
            for form in option.forms() {
                let spec = quoted(&zsh_option(option, &form));
                let _ = write!(text, " \\\n        {spec}");
            }
        }
        for operand in command.operands {
            let lead = if operand.times.repeats() { "*" } else { ":" };
            let spec = quoted(&format!("{lead}:{}:{}", operand.name, zsh_action(operand.kind)));
            let _ = write!(text, " \\\n        {spec}");
        }
        text + "\n      ;;"
    });
    fill(
        include_str!("template.zsh"),
        &[
            ("COMMANDS", lines(commands)),
            ("ARGUMENTS", lines(arguments)),
            ("VERSION", zsh_version()),
            ("BRANCHES", described(BRANCHES, true)),
            ("COMMITS", described(COMMITS, true)),
        ],
    )
}

fn zsh_version() -> String {
    let forms = VERSION.forms().into_iter().map(|form| quoted(&zsh_option(&VERSION, &form)));
    forms.collect::<Vec<_>>().join(" ")
}

/// `completions/git-sandbox.fish`
pub fn fish() -> String {
    let wheres = COMMANDS.iter().map(|command| {
        let mut text = format!("        case {}\n            set valued", command.name);
        for word in valued(command) {
            let _ = write!(text, " {word}");
        }
        if let Some(bare) = runs_after(command) {
            let _ = write!(text, "\n            set runs yes\n            set bare {bare}");
        }
        text.trim_end().to_owned()
    });
    let names = COMMANDS.iter().map(|command| {
        let about = quoted(command.about);
        format!("complete -c git-sandbox -n '__git_sandbox_in \"\"' -a {} -d {about}", command.name)
    });
    let rows = COMMANDS.iter().flat_map(|command| {
        let options = command.all_options().map(|option| fish_option(option, command.name));
        let operands = command.operands.iter().enumerate().filter_map(|(index, operand)| {
            let range = if operand.times.repeats() { String::new() } else { format!(" {index}") };
            let action = fish_action(operand.kind)?;
            Some(format!(
                "complete -c git-sandbox -n '__git_sandbox_operand {} {index}{range}' -a {action}",
                command.name
            ))
        });
        options.chain(operands).collect::<Vec<_>>()
    });
    let version = format!(
        "complete -c git-sandbox -n 'test (count (commandline -opc)) = 1'{} -l {} -d {}",
        VERSION.short.map(|short| format!(" -s {short}")).unwrap_or_default(),
        VERSION.long,
        quoted(VERSION.help)
    );
    fill(
        include_str!("template.fish"),
        &[
            ("WHERE", lines(wheres)),
            ("COMPLETE", lines(names.chain([version]).chain(rows))),
            ("BRANCHES", described(BRANCHES, true)),
            ("COMMITS", described(COMMITS, true)),
        ],
    )
}

/// For fish's `conf.d`: fish 3.6.0 looks for `git git-sandbox` and so forwards nothing. Where
/// git.fish does it right, this says the same once more.
pub fn fish_conf() -> String {
    format!(
        "# 'git sandbox' for fish 3.6.0, whose git.fish does not forward to git-sandbox.fish.\n\
         complete -c git -f -n __fish_git_needs_command -a sandbox -d {}\n\
         complete -c git -f -n '__fish_git_using_command sandbox' -a '(__fish_git_complete_custom_command sandbox)'\n",
        quoted(ABOUT)
    )
}

/// A template of the shell function with the format of its branches put in; in fish and, where that is
/// asked for, elsewhere with descriptions.
pub fn with_branches(template: &str, with_descriptions: bool) -> String {
    let parts = [
        ("BRANCHES", described(BRANCHES, with_descriptions)),
        ("DESCRIBED", described(BRANCHES, true)),
    ];
    fill(template, &parts)
}

/// The template with every `@NAME@` replaced. What all shells share is added.
fn fill(template: &str, parts: &[(&str, String)]) -> String {
    let mut text = template.to_owned();
    for (name, part) in parts {
        text = text.replace(&format!("@{name}@"), part);
    }
    text.replace("@BRANCH_REFS@", BRANCH_REFS)
        .replace("@COMMIT_REFS@", COMMIT_REFS)
        .replace("@HEAD@", HEAD)
        .replace("@VERSION@", &VERSION.forms().join(" "))
        .replace("@ABOUT@", ABOUT)
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

/// A format of `git for-each-ref` with or without its descriptions, which a tab sets off.
fn described(format: &str, with: bool) -> String {
    let mut pieces = format.split('@');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (words, rest) = piece.split_at(piece.find('%').unwrap_or(piece.len()));
        if with {
            text += "%09";
            text += words;
        }
        text += rest;
    }
    text
}

/// In single quotes, for all three shells: none of them expands anything there.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The forms of the options of a command that take the next word as their value.
fn valued(command: &Command) -> Vec<String> {
    let options = command.all_options().filter(|option| takes_next_word(option));
    options.flat_map(Opt::forms).collect()
}

pub fn takes_next_word(option: &Opt) -> bool {
    option.value.as_ref().is_some_and(|value| value.left_out.is_none())
}

/// After how many operands a command line may follow without `--`; `None` where none follows at all.
fn runs_after(command: &Command) -> Option<String> {
    match command.after_dashes {
        AfterDashes::Operands => None,
        AfterDashes::Command => Some(String::new()),
        AfterDashes::CommandAnywhere => Some(command.operands.len().to_string()),
    }
}

fn with_equals(option: &Opt) -> Vec<String> {
    let long = |form: &String| option.value.is_some() && form.starts_with("--");
    let alone = option.forms().into_iter().filter(|form| !long(form) || !takes_next_word(option));
    let equals = option.forms().into_iter().filter(long).map(|form| format!("{form}="));
    alone.chain(equals).collect()
}

/// What the templates call a kind.
fn word_for(kind: Kind) -> String {
    match kind {
        Kind::Sandbox => "sandbox".into(),
        Kind::Removed => "removed".into(),
        Kind::Branch => "branch".into(),
        Kind::Commit => "commit".into(),
        Kind::Folder => "folder".into(),
        Kind::OneOf(words) => format!("words {}", words.join(" ")),
        Kind::Count(_) | Kind::Text => "text".into(),
    }
}

/// Every option may stand again: the last value counts, and `--force` twice means more.
fn zsh_option(option: &Opt, form: &str) -> String {
    let help = option.help.replace('[', r"\[").replace(']', r"\]");
    let equals = if form.starts_with("--") { "=" } else { "+" };
    match &option.value {
        Some(value) if value.left_out.is_some() => {
            format!("*{form}=-[{help}]::{}:{}", value.name, zsh_action(value.kind))
        }
        Some(value) => format!("*{form}{equals}[{help}]:{}:{}", value.name, zsh_action(value.kind)),
        None => format!("*{form}[{help}]"),
    }
}

fn zsh_action(kind: Kind) -> String {
    match kind {
        Kind::OneOf(words) => format!("({})", words.join(" ")),
        Kind::Count(_) | Kind::Text => " ".into(),
        _ => format!("__git-sandbox_{}", word_for(kind)),
    }
}

fn fish_option(option: &Opt, command: &str) -> String {
    let mut text = format!("complete -c git-sandbox -n '__git_sandbox_in {command}'");
    if let Some(short) = option.short {
        let _ = write!(text, " -s {short}");
    }
    if !option.long.is_empty() {
        let _ = write!(text, " -l {}", option.long);
    }
    if let Some(value) = &option.value {
        text += if takes_next_word(option) { " -x" } else { " -f" };
        if let Some(action) = fish_action(value.kind) {
            let _ = write!(text, " -a {action}");
        }
    }
    let _ = write!(text, " -d {}", quoted(option.help));
    text
}

fn fish_action(kind: Kind) -> Option<String> {
    match kind {
        Kind::OneOf(words) => Some(quoted(&words.join(" "))),
        Kind::Count(_) | Kind::Text => None,
        _ => Some(format!("'(__git_sandbox_{})'", word_for(kind))),
    }
}
