//! The committed man page: it is what the program prints, it is true to the source, and it is clean.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::fixture::Test;
use crate::fixture::built::source;
use crate::fixture::process::finished;
use crate::fixture::tools::have;

fn committed() -> PathBuf {
    source("man/git-sandbox.1")
}

fn page() -> String {
    fs::read_to_string(committed()).unwrap()
}

#[test]
fn the_committed_page_is_the_one_that_setup_prints() {
    let test = Test::bare();
    let output = test.run_in(&test.home, &["setup", "--print", "man"]).output();
    assert_eq!(output.stderr, b"");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed == page(), "git-sandbox setup --print man >man/git-sandbox.1");
}

#[test]
fn the_synopsis_is_the_usage() {
    let test = Test::bare();
    let output = test.program(&test.home, &["--help"]).output();
    let help = String::from_utf8(output.stdout).unwrap();
    let (usage, _) = help.split_once("\n\n").unwrap();
    let usage: Vec<&str> = usage.lines().map(|line| &line["usage: ".len()..]).collect();
    let page = page();
    let (_, rest) = page.split_once(".SH SYNOPSIS\n.nf\n").unwrap();
    let (synopsis, _) = rest.split_once(".fi\n").unwrap();
    assert_eq!(synopsis.replace("\\-", "-").lines().collect::<Vec<_>>(), usage);
}

#[test]
fn every_section_is_there() {
    let page = page();
    let titles = page.lines().filter_map(|line| line.strip_prefix(".SH "));
    let titles: Vec<String> = titles.map(|title| title.replace('"', "")).collect();
    assert_eq!(
        titles,
        [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "COMMANDS",
            "OPTIONS",
            "WHERE SANDBOXES LIVE",
            "WHAT CANNOT BE LOST",
            "RUNS",
            "CONFINEMENT",
            "MERGING",
            "RETENTION",
            "CONFIGURATION",
            "ENVIRONMENT",
            "FILES",
            "EXIT STATUS",
            "EXAMPLES",
            "SEE ALSO"
        ]
    );
}

/// The words in the source that start so, each followed by its closing quote.
fn words_in_source(lead: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut todo = vec![source("src")];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for piece in text.split(&format!("\"{lead}")).skip(1) {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = piece.find(|c| !word(c)).unwrap();
            if piece[end..].starts_with('"') {
                words.insert(format!("{lead}{}", &piece[..end]));
            }
        }
    }
    words
}

/// The terms that the page explains in one of its sections.
fn terms(title: &str) -> BTreeSet<String> {
    let page = page();
    let (_, rest) = page.split_once(&format!(".SH {title}\n")).unwrap();
    let section = rest.split("\n.SH ").next().unwrap();
    let terms = section.split(".TP\n").skip(1).filter_map(|item| item.lines().next());
    let terms = terms.flat_map(|term| term.split(", ").map(str::to_owned).collect::<Vec<_>>());
    terms.map(|term| term.replace("\\fB", "").replace("\\fR", "")).collect()
}

#[test]
fn every_key_that_the_program_reads_is_explained_and_no_other() {
    let files = [
        "",
        "json",
        "lock",
        "run",
        "runs",
        "port",
        "index",
        "landing",
        "copying",
        "creating",
        "merging",
        "pointer",
        "hooks",
        "confining",
        "incoming",
        "nested",
        "filling",
    ];
    let files = files.map(|end| format!("sandbox.{end}"));
    let read = words_in_source("sandbox.").into_iter().filter(|key| !files.contains(key));
    let read: BTreeSet<String> = read.map(|key| key.to_lowercase()).collect();
    let explained = terms("CONFIGURATION").into_iter().map(|key| key.to_lowercase());
    let explained: BTreeSet<String> = explained.filter(|key| key != "color.sandbox").collect();
    assert!(read.len() >= 10, "{read:?}");
    assert_eq!(explained, read);
    assert!(words_in_source("color.").contains("color.sandbox"));
}

#[test]
fn every_variable_of_ours_is_in_the_page() {
    // These are for the tests and between processes of ours.
    let private = [
        "NOW",
        "CRASH_AT",
        "PAUSE_AT",
        "SECOND",
        "LOG_SIZE",
        "SUPERVISED",
        "WINDOW",
        "OFF",
        "DONOR_FILES",
    ];
    let private = private.map(|end| format!("GIT_SANDBOX_{end}"));
    let page = page();
    for variable in words_in_source("GIT_SANDBOX_") {
        let wanted = !private.contains(&variable);
        assert_eq!(page.contains(&format!("\\fB{variable}\\fR")), wanted, "{variable}");
    }
    for variable in terms("ENVIRONMENT") {
        assert!(words_in_source(&variable).contains(&variable), "{variable}");
    }
}

#[test]
fn mandoc_finds_nothing_to_warn_of() {
    if !have("mandoc") {
        return;
    }
    let mut lint = Command::new("mandoc");
    let output = finished(lint.args(["-T", "lint", "-W", "warning"]).arg(committed()));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn man_finds_nothing_to_warn_of_and_80_columns_are_enough() {
    if !have("man") {
        return;
    }
    let test = Test::bare();
    let mut man = test.command("man", &test.home);
    man.args(["--warnings", "-l"]).arg(committed()).env("MANWIDTH", "80").env("MANPAGER", "cat");
    let output = finished(&mut man);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("git-sandbox - isolated checkouts"), "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
        // A hyphen that is not in the source would end up in what is copied from the page.
        assert!(!line.contains('\u{2010}'), "{line}");
    }
}
