//! argv against the table.
//!
//! Parsing only validates: it runs nothing and reads neither files nor the clock. What it refuses
//! is wrong usage, exit 129.

use std::ffi::{OsStr, OsString};

use lexopt::Arg;

use crate::cli::help;
use crate::cli::job::Job;
use crate::cli::spec::{self, AfterDashes, COMMANDS, Command, Kind, LIST, Opt, SYNONYMS};
use crate::error::{Error, Result};
use crate::ui::words::nearest;

/// What was asked for.
#[derive(Debug)]
pub enum Request {
    /// Run a command.
    Run(Args),
    /// `-h`: the usage of one command, or of all.
    Usage(Option<&'static Command>),
    /// `--help`: usage with explanations.
    Help(Option<&'static Command>),
    /// `--version`
    Version,
    /// Work that this program starts by itself.
    Job(Job),
}

/// A command with its options and operands.
#[derive(Debug)]
pub struct Args {
    /// Which.
    pub command: &'static Command,
    options: Vec<(&'static Opt, Option<OsString>)>,
    /// In the order typed.
    pub operands: Vec<OsString>,
    /// A command to be run, word by word.
    pub command_line: Vec<OsString>,
}

impl Args {
    /// Whether the option was given.
    pub fn has(&self, option: &Opt) -> bool {
        self.options.iter().any(|(given, _)| std::ptr::eq(*given, option))
    }

    /// The option's value; the last one counts.
    pub fn value(&self, option: &Opt) -> Option<&OsStr> {
        let (_, value) =
            self.options.iter().rev().find(|(given, _)| std::ptr::eq(*given, option))?;
        value.as_deref()
    }

    /// How often the option was given.
    pub fn times(&self, option: &Opt) -> usize {
        self.options.iter().filter(|(given, _)| std::ptr::eq(*given, option)).count()
    }

    /// The value of a [`Kind::Count`] option.
    pub fn count(&self, option: &Opt) -> Option<u32> {
        self.value(option).and_then(|value| value.to_str()?.parse().ok())
    }

    /// The value of a [`Kind::OneOf`] option.
    pub fn word(&self, option: &Opt) -> Option<&str> {
        self.value(option).and_then(OsStr::to_str)
    }

    /// A usage error of this command.
    pub fn wrong(&self, message: impl Into<String>) -> Error {
        let usage = help::usage(Some(self.command));
        Error::Usage { message: message.into(), nearest: None, usage }
    }

    /// A usage error when an option was given without the one that it belongs to.
    pub fn needs(&self, option: &Opt, other: &Opt) -> Result<()> {
        match self.has(option) && !self.has(other) {
            true => {
                let (option, other) = (option.typed(), other.typed());
                Err(self.wrong(format!("option '{option}' needs '{other}'")))
            }
            false => Ok(()),
        }
    }

    /// A usage error when more than one of these options was given.
    pub fn at_most_one(&self, options: &[&Opt]) -> Result<()> {
        let mut given = options.iter().filter(|option| self.has(option));
        match (given.next(), given.next()) {
            (Some(one), Some(other)) => {
                let (one, other) = (one.typed(), other.typed());
                Err(self.wrong(format!("options '{one}' and '{other}' cannot be used together")))
            }
            _ => Ok(()),
        }
    }
}

/// Reads the arguments that follow the program's name.
pub fn parse(argv: impl IntoIterator<Item = OsString>) -> Result<Request> {
    let argv: Vec<OsString> = argv.into_iter().collect();
    if let Some(job) = Job::named(argv.iter().cloned()) {
        return Ok(Request::Job(job));
    }
    let mut parser = lexopt::Parser::from_args(argv);
    let first = parser.try_raw_args().and_then(|raw| raw.peek().map(OsStr::to_os_string));
    let command = match first.as_ref().map(|word| word.to_string_lossy()) {
        None => return Ok(Request::Run(Args::of(&LIST))),
        Some(word) if word == "-h" => return Ok(Request::Usage(None)),
        Some(word) if word == "--help" => return Ok(Request::Help(None)),
        Some(word) if word == "--version" || word == "-V" => return Ok(Request::Version),
        Some(word) if word.starts_with('-') => &LIST,
        Some(word) => {
            parser.next().map_err(|error| malformed(&error, None))?;
            Command::named(&word).ok_or_else(|| unknown_command(&word))?
        }
    };
    options_and_operands(&mut parser, command)
}

impl Args {
    /// A command as if it had been typed without options and operands.
    pub fn of(command: &'static Command) -> Args {
        Args { command, options: Vec::new(), operands: Vec::new(), command_line: Vec::new() }
    }
}

fn options_and_operands(parser: &mut lexopt::Parser, command: &'static Command) -> Result<Request> {
    let mut args = Args::of(command);
    loop {
        if let Some(mut raw) = parser.try_raw_args()
            && starts_command(&args, raw.peek())
        {
            let dashes = raw.peek() == Some(OsStr::new("--"));
            args.command_line = raw.by_ref().skip(usize::from(dashes)).collect();
            if dashes && args.command_line.is_empty() {
                return Err(args.wrong("a command must follow '--'"));
            }
            break;
        }
        let Some(arg) = parser.next().map_err(|error| malformed(&error, Some(command)))? else {
            break;
        };
        let option = match arg {
            Arg::Value(word) => {
                args.operands.push(word);
                continue;
            }
            Arg::Long(name) => named_long(command, name)?,
            Arg::Short(letter) => command
                .all_options()
                .find(|option| option.short == Some(letter))
                .ok_or_else(|| unknown_option(command, &format!("-{letter}")))?,
        };
        if std::ptr::eq(option, &raw const spec::SHORT_HELP) {
            return Ok(Request::Usage(Some(command)));
        }
        if std::ptr::eq(option, &raw const spec::HELP) {
            return Ok(Request::Help(Some(command)));
        }
        let value = match &option.value {
            None => None,
            Some(wanted) => Some(value_of(parser, &args, option, wanted.kind)?),
        };
        args.options.push((option, value));
    }
    check_operands(&args)?;
    Ok(Request::Run(args))
}

/// Whether the next word begins the command to be run.
fn starts_command(args: &Args, next: Option<&OsStr>) -> bool {
    let Some(word) = next else { return false };
    let operands = args.operands.len() >= args.command.operands.len();
    match args.command.after_dashes {
        AfterDashes::Operands => false,
        AfterDashes::Command => word == "--",
        AfterDashes::CommandAnywhere => {
            word == "--" || (operands && !word.to_string_lossy().starts_with('-'))
        }
    }
}

fn named_long(command: &'static Command, name: &str) -> Result<&'static Opt> {
    command
        .all_options()
        .find(|option| option.long == name && !name.is_empty())
        .ok_or_else(|| unknown_option(command, &format!("--{name}")))
}

/// `--opt=value` takes any value; `--opt value` refuses one that looks like an option.
fn value_of(
    parser: &mut lexopt::Parser,
    args: &Args,
    option: &'static Opt,
    kind: Kind,
) -> Result<OsString> {
    let typed = option.typed();
    let left_out = option.value.as_ref().and_then(|value| value.left_out);
    let value = if let Some(value) = parser.optional_value() {
        value
    } else if let Some(word) = left_out {
        return Ok(word.into());
    } else {
        let next = parser.try_raw_args().and_then(|raw| raw.peek().map(OsStr::to_os_string));
        if next.is_none_or(|word| word.len() > 1 && word.to_string_lossy().starts_with('-')) {
            return Err(args.wrong(format!("option '{typed}' needs a value")));
        }
        parser.value().map_err(|error| malformed(&error, Some(args.command)))?
    };
    let shown = value.to_string_lossy();
    match kind {
        Kind::OneOf(words) if !words.contains(&shown.as_ref()) => {
            let words = words.join(", ");
            Err(args.wrong(format!("option '{typed}' takes one of {words}, not '{shown}'")))
        }
        Kind::Count(most) if !is_count(&shown, most) => {
            Err(args
                .wrong(format!("option '{typed}' takes a number from 1 to {most}, not '{shown}'")))
        }
        _ if value.is_empty() => Err(args.wrong(format!("option '{typed}' needs a value"))),
        _ => Ok(value),
    }
}

fn is_count(value: &str, most: u32) -> bool {
    value.parse().is_ok_and(|count| (1..=most).contains(&count))
}

fn check_operands(args: &Args) -> Result<()> {
    let wanted = args.command.operands;
    let missing = wanted.get(args.operands.len()).filter(|operand| operand.times.is_required());
    if let Some(operand) = missing {
        return Err(args.wrong(format!("<{}> is missing", operand.name)));
    }
    if wanted.last().is_some_and(|operand| operand.times.repeats()) {
        return Ok(());
    }
    match args.operands.get(wanted.len()) {
        Some(word) => Err(args.wrong(format!("unexpected argument '{}'", word.to_string_lossy()))),
        None => Ok(()),
    }
}

/// One line that names ours: by habit, else by spelling.
fn unknown_command(word: &str) -> Error {
    let is_ours = |ours: &str| ours.starts_with('-') || Command::named(ours).is_some();
    let synonym = SYNONYMS.iter().find(|(habit, ours)| *habit == word && is_ours(ours));
    Error::UnknownCommand {
        word: word.to_owned(),
        synonym: synonym.map(|(_, ours)| *ours),
        nearest: nearest(word, COMMANDS.iter().map(|command| command.name.to_owned())),
    }
}

fn unknown_option(command: &'static Command, typed: &str) -> Error {
    // Every letter is as near to another as any.
    let known = command.all_options().map(Opt::typed).filter(|known| known.starts_with("--"));
    Error::Usage {
        message: format!("unknown option '{typed}'"),
        nearest: nearest(typed, known).filter(|_| typed.starts_with("--")),
        usage: help::usage(Some(command)),
    }
}

fn malformed(error: &lexopt::Error, command: Option<&'static Command>) -> Error {
    Error::Usage { message: error.to_string(), nearest: None, usage: help::usage(command) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::spec::{COUNT, FROM, JSON, NAME};
    use crate::sys::fuzz;

    fn run(words: &[&str]) -> Args {
        match parse(words.iter().map(OsString::from)) {
            Ok(Request::Run(args)) => args,
            other => panic!("{words:?}: {other:?}"),
        }
    }

    fn refusal(words: &[&str]) -> (String, Option<String>) {
        match parse(words.iter().map(OsString::from)) {
            Err(Error::Usage { message, nearest, .. }) => (message, nearest),
            Err(ref error @ Error::UnknownCommand { ref nearest, .. }) => {
                (error.to_string(), nearest.clone())
            }
            other => panic!("{words:?}: {other:?}"),
        }
    }

    #[test]
    fn nothing_typed_is_list() {
        assert_eq!(run(&[]).command.name, "list");
        assert!(run(&["--json"]).has(&JSON));
    }

    #[test]
    fn options_and_operands_mix() {
        let args = run(&["new", "fix", "--from=-x", "do", "--name", "-", "it"]);
        assert_eq!(args.operands, ["fix", "do", "it"]);
        assert_eq!(args.value(&FROM), Some(OsStr::new("-x")));
        assert_eq!(args.value(&NAME), Some(OsStr::new("-")));
        assert!(!args.has(&JSON));
    }

    #[test]
    fn a_command_keeps_its_own_options() {
        let args = run(&["new", "fix", "do", "--json", "--", "ls", "--json", "--"]);
        assert_eq!(args.operands, ["fix", "do"]);
        assert_eq!(args.command_line, ["ls", "--json", "--"]);
        let args = run(&["run", "--tmux", "fix", "ls", "-la", "--", "x"]);
        assert_eq!((args.operands.len(), args.command_line.len()), (1, 4));
        let args = run(&["run", "--", "ls"]);
        assert_eq!((args.operands.len(), args.command_line.len()), (0, 1));
        let args = run(&["run", "fix", "--background", "--", "ls"]);
        assert_eq!((args.operands.len(), args.command_line.len()), (1, 1));
    }

    #[test]
    fn the_last_value_counts() {
        assert_eq!(run(&["new", "--count", "2", "--count=3"]).count(&COUNT), Some(3));
    }

    #[test]
    fn refusals() {
        let text = |words: &[&str]| refusal(words).0;
        assert_eq!(text(&["new", "--from", "--json"]), "option '--from' needs a value");
        assert_eq!(text(&["new", "--from"]), "option '--from' needs a value");
        assert_eq!(text(&["new", "--from="]), "option '--from' needs a value");
        assert_eq!(text(&["new", "x", "--"]), "a command must follow '--'");
        assert_eq!(text(&["path", "a", "b"]), "unexpected argument 'b'");
        let wanted = "option '--count' takes a number from 1 to 1000, not '0'";
        assert_eq!(text(&["new", "--count", "0"]), wanted);
        let wanted = "option '--older-than' takes a number from 1 to 36500, not '36501'";
        assert_eq!(text(&["reap", "--older-than", "36501"]), wanted);
        assert_eq!(refusal(&["lits"]), ("unknown command 'lits'".into(), Some("list".into())));
        assert_eq!(
            refusal(&["list", "--jsno"]),
            ("unknown option '--jsno'".into(), Some("--json".into()))
        );
        assert_eq!(refusal(&["frobnicate"]).1, None);
        let long = "x".repeat(1 << 20);
        assert_eq!(nearest(&long, [long.clone()].into_iter()), None);
    }

    #[test]
    fn fuzz_args() {
        let real = [
            "new\nfix\n--from=-x\ndo\n--name\n-\nit\n--\nls\n--json",
            "run\n--tmux\nfix\nls\n-la\n--\nx",
            "list\n--json\n-z\n--color=always\n--root\n/x",
            "reap\n--older-than\n7\n--merged\n--purge\nx",
            "rm\n-f\n--force\na\nb\n-h",
        ];
        fuzz::damaged_words(&real, |words| {
            let count = words.len();
            match parse(words) {
                Ok(Request::Run(args)) => {
                    assert!(args.operands.len() + args.command_line.len() <= count);
                    assert!(check_operands(&args).is_ok());
                }
                Ok(Request::Usage(_) | Request::Help(_) | Request::Version | Request::Job(_)) => {}
                Err(error) => assert_eq!(error.code(), 129, "{error}"),
            }
        });
    }
}
