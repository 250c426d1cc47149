//! Usage, help, and words that are not known.

use crate::repo::Test;

pub const NEW: &str = "\
usage: git sandbox new [--name=<branch>] [--branch=<branch>] [--from=<commit>]
                       [--detach] [--count=<n>] [--dir=<parent>]
                       [--root=<folder>] [--author=<author>] [--no-run] [--json]
                       [<name>] [<task>...] [-- <cmd>...]
";
const ALL: &str = "   or: git sandbox list [--all] [--names] [--describe] [-z] [--root=<folder>]
                        [--json]
   or: git sandbox show [--log] [--follow] [--root=<folder>] [--json] [<name>]
   or: git sandbox path [<name>]
   or: git sandbox run [--background] [--tmux] [--author=<author>] [<name>]
                       [[--] <cmd>...]
   or: git sandbox stop [--rm] [--force] [--timeout=<seconds>] [--all]
                        [--root=<folder>] [<name>...]
   or: git sandbox merge [--into=<branch>] [--ff-only] [--squash] [--rebase]
                         [--message=<text>] [--branch=<branch>] [--keep]
                         [--delete-branch] [--dry-run] [--root=<folder>]
                         [--json] [<name>]
   or: git sandbox rm [--force] [--dry-run] [--delete-branch] [--root=<folder>]
                      [--json] <name>...
   or: git sandbox restore [--as=<name>] [--all] [--names] [--describe]
                           [--root=<folder>] [--json] [<name>]
   or: git sandbox reap [--dry-run] [--merged] [--older-than=<days>] [--force]
                        [--purge] [--all] [--quiet] [--finish] [--spares]
                        [--root=<folder>] [--json] [<name>...]
   or: git sandbox doctor [--fix] [--root=<folder>] [--json]
   or: git sandbox setup [--uninstall] [--print=<what>]
";

fn alone(command: &str) -> String {
    let lead = format!("git sandbox {command} ");
    let usage = ALL.split("   or: ").find(|usage| usage.starts_with(&lead)).unwrap();
    format!("usage: {usage}")
}

#[test]
fn h_shows_the_usage_on_stdout_as_git_does() {
    let test = Test::bare();
    let at = |words: &[&str]| test.run_in(&test.home, words);
    at(&["-h"]).stdout(&format!("{NEW}{ALL}")).code(129);
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
             Inside a sandbox, <name> defaults to it.\n\
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
    let program = assert_cmd::cargo::cargo_bin!("git-sandbox");
    let mut command = test.command(program, &test.home);
    command.arg("--help");
    let commands = "\
\nIsolated checkouts of this repository, each on its own branch.

    new                 create or resume a sandbox and print its path
    list                list the sandboxes with state, age, expiry and task
    show                show everything known about one sandbox
    path                print the path of a sandbox
    run                 run a command in a sandbox, marking it in use
    stop                end what runs in a sandbox; the sandbox stays
    merge               merge its branch back and, once that is confirmed, remove it
    rm                  move sandboxes to the trash, unless there is work in them
    restore             bring a removed sandbox back as it was, or list those that can be
    reap                retire stale sandboxes and empty what is safe to empty from the trash
    doctor              find what crashes, moves and other tools left behind, and repair it
    setup               install the man page and the completions for the current user

Without a command: list. Every command takes:

    --color=<when>      colour the output: auto, always or never
    -h                  show the usage
    --help              show the options with their meaning
    --version           show the version
";
    test.run_command(command).stdout(&format!("{NEW}{ALL}{commands}")).ok();
}

#[test]
fn the_version_is_the_packages() {
    let test = Test::bare();
    let version = concat!("git-sandbox ", env!("CARGO_PKG_VERSION"), "\n");
    test.run_in(&test.home, &["--version"]).stdout(version).ok();
}

#[test]
fn wrong_usage_shows_the_usage() {
    let test = Test::new();
    test.run(&["new", "--form", "x"])
        .stderr(&format!("error: unknown option '--form'\nhint: did you mean '--from'?\n{NEW}"))
        .code(129);
}

#[test]
fn an_unknown_command_gets_the_nearest_known_one() {
    let test = Test::bare();
    for (word, nearest) in [("lits", "list"), ("nwe", "new"), ("shwo", "show"), ("pth", "path")] {
        test.run_in(&test.home, &[word])
            .stderr(&format!(
                "error: unknown command '{word}'\nhint: did you mean '{nearest}'?\n{NEW}{ALL}"
            ))
            .code(129);
    }
    test.run_in(&test.home, &["frobnicate"])
        .stderr(&format!("error: unknown command 'frobnicate'\n{NEW}{ALL}"))
        .code(129);
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
        (&["path", "-q"], format!("error: unknown option '-q'\nhint: did you mean '-h'?\n{path}")),
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
