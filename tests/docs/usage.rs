//! Usage, help, and words that are not known.

use crate::fixture::Test;
use crate::fixture::built::program;
use crate::fixture::usage::{ALL, NEW, alone};

#[test]
fn h_shows_the_usage_on_stdout_as_git_does() {
    let test = Test::bare();
    let at = |words: &[&str]| test.run_in(&test.home, words);
    at(&["-h"])
        .stdout(&format!(
            "usage: git sandbox [<command>] [<options>]\n\n{COMMANDS}\n\
             Without a command: list. 'git sandbox <command> -h' shows its options,\n\
             'git sandbox <command> --help' explains them.\n"
        ))
        .code(129);
    at(&["new", "-h"]).stdout(NEW).code(129);
    for command in ["list", "show", "path"] {
        at(&[command, "-h"]).stdout(&alone(command)).code(129);
    }
}

#[test]
fn help_of_a_command_explains_its_options() {
    let test = Test::bare();
    test.run_in(&test.home, &["path", "--help"])
        .stdout(
            "usage: git sandbox path [<name>]\n\
             \n\
             print the path of a sandbox\n\
             \n\
             Inside a sandbox, <name> defaults to it. '^' is the main worktree.\n\
             \n    --color=<when>      colour the output: auto, always or never\
             \n    -h                  show the usage\
             \n    --help              show the options with their meaning\n",
        )
        .ok();
    let output = test.run_in(&test.home, &["rm", "--help"]).output();
    let both = "\n    -n, --dry-run       say what would be done and change nothing\n";
    assert!(String::from_utf8(output.stdout).unwrap().contains(both));
    for command in ["new", "list", "show"] {
        let output = test.run_in(&test.home, &[command, "--help"]).output();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(output.stderr, b"");
    }
}

#[test]
fn help_of_the_program_names_every_command() {
    let test = Test::bare();
    let program = program();
    let mut command = test.command(program, &test.home);
    command.arg("--help");
    let options = "\nWithout a command: list. Every command takes:

    --color=<when>      colour the output: auto, always or never
    -h                  show the usage
    --help              show the options with their meaning
    -V, --version       show the version
";
    let about = "\nIsolated checkouts of this repository, each on its own branch.\n\n";
    test.run_command(command).stdout(&format!("{NEW}{ALL}{about}{COMMANDS}{options}")).ok();
}

const COMMANDS: &str = "    new                 create or resume a sandbox and print its path
    list                list the sandboxes: who works in them, what they hold, age and task
    show                show everything known about one sandbox
    path                print the path of a sandbox
    diff                show what a sandbox changed since it left its base
    rename              rename a sandbox: its branch and its folder together
    run                 run a command in a sandbox, marking it in use
    stop                end what runs in a sandbox; the sandbox stays
    wait                wait until what runs in a sandbox has ended
    merge               merge its branch back and, once that is confirmed, remove it
    rm                  move sandboxes to the trash, unless there is work in them
    restore             bring a removed sandbox back as it was, or list those that can be
    reap                retire stale sandboxes and put away what was in the trash for its period
    doctor              find what crashes, moves and other tools left behind, and repair it
    setup               install man page, completions and the 'sb' function for the current user
    hook                serve an agent that makes worktrees of its own
";

#[test]
fn the_version_is_the_packages() {
    let test = Test::bare();
    let version = concat!("git-sandbox ", env!("CARGO_PKG_VERSION"), "\n");
    for option in ["--version", "-V"] {
        test.run_in(&test.home, &[option]).stdout(version).ok();
    }
}

#[test]
fn wrong_usage_shows_the_usage() {
    let test = Test::new();
    test.run(&["new", "--form", "x"])
        .stderr(&format!("error: unknown option '--form'\nhint: did you mean '--from'?\n{NEW}"))
        .code(129);
}

#[test]
fn an_unknown_command_gets_one_line_that_names_ours() {
    let test = Test::bare();
    let unknown = |word: &str, hint: &str| {
        test.run_in(&test.home, &[word, "x"])
            .stderr(&format!("error: unknown command '{word}'\nhint: {hint}\n"))
            .code(129);
    };
    for (word, nearest) in [("lits", "list"), ("nwe", "new"), ("shwo", "show"), ("pth", "path")] {
        unknown(word, &format!("did you mean '{nearest}'?"));
    }
    unknown("frobnicate", "'git sandbox -h' lists the commands");
    for (word, ours) in [
        ("ls", "list"),
        ("remove", "rm"),
        ("delete", "rm"),
        ("create", "new"),
        ("add", "new"),
        ("switch", "new"),
        ("cd", "path"),
        ("status", "list"),
        ("kill", "stop"),
        ("prune", "reap"),
        ("gc", "reap"),
        ("undo", "restore"),
        ("help", "-h"),
    ] {
        unknown(word, &format!("git sandbox {ours}"));
    }
}

#[test]
fn an_unknown_option_gets_the_nearest_of_its_command() {
    let test = Test::bare();
    let [list, show, path] = ["list", "show", "path"].map(alone);
    for (words, error) in [
        (
            &["list", "--nmaes"][..],
            format!("error: unknown option '--nmaes'\nhint: did you mean '--names'?\n{list}"),
        ),
        (&["--frobnicate"], format!("error: unknown option '--frobnicate'\n{list}")),
        (
            &["show", "--jsn"],
            format!("error: unknown option '--jsn'\nhint: did you mean '--json'?\n{show}"),
        ),
        (&["path", "-q"], format!("error: unknown option '-q'\n{path}")),
        (&["path", "a", "b"], format!("error: unexpected argument 'b'\n{path}")),
        (
            &["list", "--json", "-z"],
            format!("error: options '--json' and '-z' cannot be used together\n{list}"),
        ),
        (
            &["list", "--color=blue"],
            format!("error: option '--color' takes one of auto, always, never, not 'blue'\n{list}"),
        ),
        (&["list", "x"], format!("error: unexpected argument 'x'\n{list}")),
    ] {
        test.run_in(&test.home, words).stderr(&error).code(129);
    }
}
