//! Completion, in real shells: bash with bash-completion and zsh with its own `_git` on a terminal,
//! fish by its `complete -C`.
//!
//! The program tells its own table by `--help`. Here stands only what each kind of value must
//! complete to: the words that are offered are compared exactly, and so are the descriptions that zsh
//! and fish show.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::fixture::Test;
use crate::fixture::built::{program, source};
use crate::fixture::files::write;
use crate::fixture::process::{ended, finished};
use crate::fixture::tools::not_tested;

/// What is offered: words with their descriptions, where the shell shows some.
type Offer = BTreeMap<String, String>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

use Shell::{Bash, Fish, Zsh};

impl Shell {
    fn name(self) -> &'static str {
        match self {
            Bash => "bash",
            Zsh => "zsh",
            Fish => "fish",
        }
    }

    /// Whether it is here, with what it needs. Under CI one that is missing is a failure.
    #[track_caller]
    fn is_here(self) -> bool {
        let is_here = match self {
            Bash => Path::new("/usr/share/bash-completion/bash_completion").is_file(),
            Zsh => runs("zsh", "autoload -U +X _git"),
            Fish => runs("fish", "complete -C 'git '"),
        };
        let name = self.name();
        if !is_here {
            not_tested(&format!("{name} or its completion of git is not installed"));
        }
        is_here
    }
}

fn runs(shell: &str, script: &str) -> bool {
    let output = std::process::Command::new(shell).args(["-c", script]).output();
    output.is_ok_and(|output| output.status.success())
}

/// A repository with something to complete of every kind, and completions as a user has them.
fn home() -> Test {
    let test = Test::new();
    for (what, path) in [
        ("bash", ".local/share/bash-completion/completions/git-sandbox"),
        ("zsh", ".zfunc/_git-sandbox"),
        ("fish", ".config/fish/completions/git-sandbox.fish"),
        ("fish-conf", ".config/fish/conf.d/git-sandbox.fish"),
        ("function-bash", "sb.bash"),
        ("function-zsh", "sb.zsh"),
        ("function-fish", ".config/fish/conf.d/git-sandbox-function.fish"),
    ] {
        let mut command = test.command(program(), &test.home);
        let output = finished(command.args(["setup", "--print", what]));
        write(&test.home.join(path), &String::from_utf8(output.stdout).unwrap());
    }
    test.remote("origin", "feature");
    // From 2.48 on a fetch does this by itself.
    test.git(&["remote", "set-head", "origin", "main"]);
    test.git(&["branch", "topic"]);
    test.git(&["tag", "v1"]);
    test.git(&["config", "--global", "alias.sb", "sandbox"]);
    test.new_sandbox(&["fix"]);
    test.new_sandbox(&["feat/ui"]);
    test.git(&["worktree", "add", "--quiet", "--detach", ODD]);
    test.git(&["worktree", "lock", ODD]);
    test.new_sandbox(&["old"]);
    assert!(test.run(&["rm", "old"]).output().status.success());
    fs::create_dir_all(test.app().join("docs/deep")).unwrap();
    fs::create_dir_all(test.app().join("src")).unwrap();
    test
}

/// What a shell offers at the end of each line. A process gets some of the lines, so that none takes
/// long.
fn ask(shell: Shell, test: &Test, lines: &[String]) -> Vec<Offer> {
    lines.chunks(30).flat_map(|lines| ask_some(shell, test, lines)).collect()
}

fn ask_some(shell: Shell, test: &Test, lines: &[String]) -> Vec<Offer> {
    const ASK_FISH: &str = "while read -l line; complete -C $line; printf '\\0'; end";
    let helper = |name: &str| source("tests/setup/shells").join(name);
    let (program, words): (_, [PathBuf; 3]) = match shell {
        Bash => ("python3", [helper("drive.py"), "bash".into(), helper("bashrc")]),
        Zsh => ("python3", [helper("drive.py"), "zsh".into(), helper("zshrc")]),
        Fish => ("fish", ["--private".into(), "-c".into(), ASK_FISH.into()]),
    };
    let mut command = test.command(program, &test.app());
    command.args(words).env("TERM", "xterm").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
    let output = ended(child);
    let (told, errors) =
        [output.stdout, output.stderr].map(|b| String::from_utf8(b).unwrap()).into();
    assert!(output.status.success() && errors.is_empty(), "{}: {errors}", shell.name());
    let answers: Vec<&str> = told.split_terminator('\0').collect();
    assert_eq!(answers.len(), lines.len(), "{}: {told}", shell.name());
    let read = |(line, told): (&String, &&str)| match shell {
        Bash => from_the_line(line, told),
        Zsh | Fish => described(line, told),
    };
    lines.iter().zip(&answers).map(read).collect()
}

/// What the last word may be replaced by starts after the last of these.
fn typed(line: &str) -> (&str, &str) {
    line.split_at(line.rfind([' ', '=']).unwrap() + 1)
}

/// The words that readline put in the place of the last.
fn from_the_line(line: &str, told: &str) -> Offer {
    let (kept, _) = typed(line);
    if told.is_empty() {
        return Offer::new();
    }
    let words = told.strip_prefix(kept).unwrap().replace("\\ ", "\u{1}");
    let words = words.split_whitespace().map(|word| bare(&word.replace('\u{1}', " ")));
    words.map(|word| (word, String::new())).collect()
}

/// Lines of a word, a tab and a description.
fn described(line: &str, told: &str) -> Offer {
    let (kept, _) = typed(line);
    let lead = kept.rsplit(' ').next().unwrap();
    let pairs = told.lines().map(|line| line.split_once('\t').unwrap_or((line, "")));
    pairs
        .map(|(word, words)| (bare(word.strip_prefix(lead).unwrap_or(word)), words.to_owned()))
        .collect()
}

/// Without the quoting, and what a shell adds to show that a value or a file follows.
fn bare(word: &str) -> String {
    word.trim_end_matches(['=', '/']).replace('\\', "")
}

/// The table, as the program tells it.
struct Row {
    name: String,
    about: String,
    options: Vec<Opt>,
    operands: Vec<String>,
}

struct Opt {
    forms: Vec<String>,
    value: Option<String>,
    /// Whether the value may be left out.
    maybe: bool,
    help: String,
}

fn table(test: &Test) -> (Vec<Row>, Vec<Opt>) {
    let help = |words: &[&str]| {
        let output = test.program(&test.app(), &[words, &["--help"]].concat()).output();
        String::from_utf8(output.stdout).unwrap()
    };
    let program = help(&[]);
    let (options, commands): (Vec<_>, Vec<_>) =
        entries(&program).into_iter().partition(|(head, _)| head.starts_with('-'));
    let rows = commands.into_iter().map(|(name, about)| {
        let text = help(&[&name]);
        let options = entries(&text).into_iter().map(option).collect();
        let usage = text.split("\n\n").next().unwrap().split_whitespace();
        // Words such as `[<name>...]`, up to where a command to be run begins.
        let operand = |word: &str| {
            Some(word.trim_start_matches('[').strip_prefix('<')?.split_once('>')?.0.to_owned())
        };
        let operands = usage.take_while(|word| !word.contains("--]") && *word != "[--");
        let operands = operands.filter_map(operand).collect();
        Row { name, about, options, operands }
    });
    (rows.collect(), options.into_iter().map(option).collect())
}

/// The heads that are indented by four, each with its explanation beside or below it.
fn entries(help: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in help.lines() {
        let indent = line.len() - line.trim_start().len();
        match (indent, line.split_at_checked(24)) {
            (4, Some((head, words))) if head.ends_with(' ') => {
                found.push((head.trim().into(), words.into()));
            }
            (4, _) => found.push((line.trim_start().into(), String::new())),
            (24, _) if found.last().is_some_and(|(_, words)| words.is_empty()) => {
                found.last_mut().unwrap().1 += line.trim_start();
            }
            _ => {}
        }
    }
    found
}

fn option((head, help): (String, String)) -> Opt {
    // `[=<value>]` may be left out, so it never is the next word.
    let (head, maybe) = match head.strip_suffix(']') {
        Some(head) => (head.replace("[=<", "=<"), true),
        None => (head, false),
    };
    let (forms, value) = match head.split_once("=<") {
        Some((forms, value)) => (forms, Some(value.trim_end_matches('>').to_owned())),
        None => (&*head, None),
    };
    Opt { forms: forms.split(", ").map(str::to_owned).collect(), value, maybe, help }
}

/// What must be offered where a value or an operand of this name stands.
fn candidates(shell: Shell, test: &Test, command: &str, value: &str) -> Offer {
    let local = ["feat/ui", "fix", "main", "old", "topic"].map(|name| (name, "local branch"));
    let list: Vec<(&str, &str)> = match (command, value) {
        ("new", "branch" | "name") | ("merge", "branch") => {
            [&local[..], &[("feature", "remote branch")]].concat()
        }
        (_, "commit") => {
            let remote = ["origin/HEAD", "origin/feature", "origin/main"]
                .map(|name| (name, "remote branch"));
            [&local[..], &remote, &[("v1", "tag"), ("HEAD", "the current commit")]].concat()
        }
        (_, "folder" | "parent") if shell == Bash => vec![(".git", ""), ("docs", ""), ("src", "")],
        (_, "folder" | "parent") => vec![("docs", ""), ("src", "")],
        (_, "level") => vec![("full", ""), ("landlock", "")],
        (_, "reach") => vec![("on", ""), ("off", ""), ("hosts", "")],
        (_, "when") => vec![("auto", ""), ("always", ""), ("never", "")],
        ("setup", "what") => {
            let files = ["man", "bash", "zsh", "fish", "fish-conf"];
            let functions = ["function-bash", "function-zsh", "function-fish"];
            files.into_iter().chain(functions).map(|word| (word, "")).collect()
        }
        ("list", "by") => ["name", "age", "agent", "work"].map(|word| (word, "")).to_vec(),
        ("restore" | "reap", "name") => {
            let id = test.json(&["restore", "--json"])[0]["id"].as_str().unwrap().to_owned();
            let words = "old, removed just now";
            return offer(shell, &[("old", words), (&id, words)]);
        }
        (
            "show" | "path" | "diff" | "rename" | "run" | "stop" | "wait" | "merge" | "rm",
            "name",
        ) => SANDBOXES.to_vec(),
        ("setup" | "hook", "agent") => vec![("claude", "")],
        ("setup", "name")
        | (_, "request" | "n" | "author" | "days" | "seconds" | "task" | "as" | "text" | "image") =>
        {
            vec![]
        }
        _ => panic!("say here what completes <{value}> of {command}"),
    };
    offer(shell, &list)
}

/// A worktree whose name no shell can do without quoting.
const ODD: &str = "../odd: $na'me";
const SANDBOXES: [(&str, &str); 3] = [
    ("feat-ui", "feat/ui, ready"),
    ("fix", "fix, ready"),
    ("odd: $na'me", "detached, ready, locked"),
];

fn offer(shell: Shell, list: &[(&str, &str)]) -> Offer {
    let words = |words: &str| if shell == Bash { String::new() } else { words.to_owned() };
    list.iter().map(|(word, text)| ((*word).to_owned(), words(text))).collect()
}

fn options<'a>(shell: Shell, options: impl Iterator<Item = &'a Opt>) -> Offer {
    let forms = options.flat_map(|o| o.forms.iter().map(|form| (form.as_str(), o.help.as_str())));
    offer(shell, &forms.collect::<Vec<_>>())
}

/// Asks a shell, and compares to the letter.
#[track_caller]
fn check(shell: Shell, test: &Test, wanted: Vec<(String, Offer)>) {
    let (lines, wanted): (Vec<_>, Vec<_>) = wanted.into_iter().unzip();
    let mut wrong = Vec::new();
    for ((line, got), wanted) in lines.iter().zip(ask(shell, test, &lines)).zip(&wanted) {
        if got != *wanted {
            wrong.push(format!("{line}<TAB>\n   got {got:?}\nwanted {wanted:?}\n"));
        }
    }
    assert!(wrong.is_empty(), "in {}:\n{}", shell.name(), wrong.concat());
}

/// Every command, option, value and operand of the table. Each is asked for in one of the two ways to
/// call the program, and the commands and options in both.
fn the_table_is_offered(shell: Shell) {
    if !shell.is_here() {
        return;
    }
    let test = home();
    let (rows, top) = table(&test);
    assert!(rows.len() > 10 && rows.iter().all(|row| row.options.len() > 2));
    let mut wanted = Vec::new();
    for lead in ["git sandbox", "git-sandbox"] {
        let mut ask = |words: &str, offer: Offer| {
            let mut offer = offer;
            // git.fish has a description of its own for these, whatever the command.
            let theirs = shell == Fish && lead == "git sandbox";
            for (_, words) in
                offer.iter_mut().filter(|(word, _)| theirs && HELP.contains(&&***word))
            {
                "Display manual of a Git command".clone_into(words);
            }
            wanted.push((format!("{lead} {words}"), offer));
        };
        let commands: Vec<_> = rows.iter().map(|row| (&*row.name, &*row.about)).collect();
        ask("", offer(shell, &commands));
        let list = rows.iter().find(|row| row.name == "list").unwrap();
        ask("-", options(shell, list.options.iter().chain(&top)));
        for row in &rows {
            let name = &row.name;
            ask(&format!("{name} -"), options(shell, row.options.iter()));
            let long = |(form, _): &(String, String)| form.starts_with("--");
            let longs = options(shell, row.options.iter()).into_iter().filter(long).collect();
            ask(&format!("{name} --"), longs);
            ask(&format!("{name} "), first_operand(shell, &test, row));
        }
    }
    for row in &rows {
        let name = &row.name;
        for option in &row.options {
            let Some(value) = &option.value else { continue };
            let form = option.forms.last().unwrap();
            let kind = if form == "--as" { "as" } else { value };
            let mut offer = candidates(shell, &test, name, kind);
            // fish describes a word by its option where nothing else does.
            for words in offer.values_mut().filter(|_| shell == Fish && ONE_OF.contains(&kind)) {
                words.clone_from(&option.help);
            }
            wanted.push((format!("git sandbox {name} {form}="), offer.clone()));
            if !option.maybe {
                wanted.push((format!("git-sandbox {name} {form} "), offer));
            }
        }
    }
    check(shell, &test, wanted);
}

const HELP: [&str; 2] = ["-h", "--help"];
const ONE_OF: [&str; 6] = ["when", "what", "agent", "by", "level", "reach"];

/// zsh shows the options where no operand can stand.
fn first_operand(shell: Shell, test: &Test, row: &Row) -> Offer {
    match row.operands.first() {
        Some(operand) => candidates(shell, test, &row.name, operand),
        None if shell == Zsh => options(shell, row.options.iter()),
        None => Offer::new(),
    }
}

/// What the table does not tell: more operands, git's own options, an alias, command lines.
fn the_line_is_understood(shell: Shell) {
    if !shell.is_here() {
        return;
    }
    let test = home();
    let other = test.init("other", &[]);
    fs::create_dir_all(other.join("lib")).unwrap();
    assert!(test.run_in(&other, &["new", "theirs"]).output().status.success());
    let of = |list: &[(&str, &str)]| offer(shell, list);
    let sandboxes = of(&SANDBOXES);
    let commits = candidates(shell, &test, "new", "commit");
    let only = |offer: &Offer, lead: &str| -> Offer {
        let starts = offer.iter().filter(|(word, _)| word.starts_with(lead));
        starts.map(|(word, text)| (word.clone(), text.clone())).collect()
    };
    let theirs = of(&[("theirs", "theirs, ready")]);
    let lib = if shell == Bash { of(&[(".git", ""), ("lib", "")]) } else { of(&[("lib", "")]) };
    let show = of(&[("show", "show everything known about one sandbox")]);
    let nothing = Offer::new();
    let branches = candidates(shell, &test, "new", "branch");
    let mut wanted: Vec<(&str, Offer)> = vec![
        // A part of a word, before and after other words.
        ("git sandbox sh", show.clone()),
        ("git sandbox show f", only(&sandboxes, "f")),
        ("git sandbox show --json o", only(&sandboxes, "o")),
        ("git sandbox show odd:", only(&sandboxes, "odd:")),
        ("git sandbox rm fix f", only(&sandboxes, "f")),
        ("git sandbox rm --root docs fix ", sandboxes.clone()),
        ("git sandbox rm -- f", only(&sandboxes, "f")),
        ("git sandbox new --from=o", only(&commits, "o")),
        ("git sandbox new --name x --from t", only(&commits, "t")),
        (
            "git sandbox new --dir docs/",
            of(&[(if shell == Zsh { "deep" } else { "docs/deep" }, "")]),
        ),
        ("git sandbox new x ", nothing.clone()),
        ("git sandbox new x some ta", nothing.clone()),
        ("git sandbox frobnicate ", nothing.clone()),
        // Another repository.
        ("git -C ../other sandbox rm ", theirs.clone()),
        ("git -C ../other -c core.abbrev=7 sandbox rm ", theirs.clone()),
        ("git -C ~/other sandbox rm ", theirs.clone()),
        ("git -C ../other sandbox new --dir ", lib),
        ("git -C ../nowhere sandbox rm ", nothing.clone()),
        ("git -c core.abbrev=7 sandbox rm ", sandboxes.clone()),
        // An alias.
        ("git sb rm ", sandboxes.clone()),
        ("git sb sh", show.clone()),
        ("git sb new --from=o", only(&commits, "o")),
        // The shell function.
        ("sb ", sandboxes.clone()),
        ("sb f", only(&sandboxes, "f")),
        ("sb rm f", only(&sandboxes, "f")),
        ("sb -c t", only(&branches, "t")),
        ("sb -c topic ", nothing.clone()),
        // A command line inside of ours.
        ("git sandbox new x a task -- git sandbox sh", show.clone()),
        ("git sandbox new x -- git sandbox rm f", only(&sandboxes, "f")),
        ("git sandbox run fix git-sandbox sh", show.clone()),
        ("git sandbox run fix --background git sandbox rm f", only(&sandboxes, "f")),
        ("git sandbox run -- git sandbox sh", show.clone()),
        ("git sandbox run --author A fix git sandbox sh", show.clone()),
        ("git -C ../other sb run theirs -- git-sandbox sh", show),
    ];
    // zsh's _git knows an alias only as the second word.
    wanted.retain(|(line, _)| shell != Zsh || !line.contains("other sb"));
    let wanted = wanted.into_iter().map(|(line, offer)| (line.to_owned(), offer)).collect();
    check(shell, &test, wanted);
    let lines = ["git sandbox run fix git-sandb", "git sandbox new x -- git-sandb"];
    for offer in ask(shell, &test, &lines.map(str::to_owned)) {
        assert!(offer.contains_key("git-sandbox"), "{}: {offer:?}", shell.name());
    }
}

#[test]
fn bash_offers_the_table() {
    the_table_is_offered(Bash);
}

#[test]
fn bash_understands_the_line() {
    the_line_is_understood(Bash);
}

#[test]
fn zsh_offers_the_table() {
    the_table_is_offered(Zsh);
}

#[test]
fn zsh_understands_the_line() {
    the_line_is_understood(Zsh);
}

#[test]
fn fish_offers_the_table() {
    the_table_is_offered(Fish);
}

#[test]
fn fish_understands_the_line() {
    the_line_is_understood(Fish);
}
