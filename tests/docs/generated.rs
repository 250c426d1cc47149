//! The committed files are what the table generates.

use std::fs;

use crate::fixture::Test;
use crate::fixture::built::{program, source};
use crate::fixture::process::finished;

/// What `setup --print` calls a file, and where it is kept.
const FILES: [(&str, &str); 4] = [
    ("bash", "completions/git-sandbox.bash"),
    ("zsh", "completions/_git-sandbox"),
    ("fish", "completions/git-sandbox.fish"),
    ("fish-conf", "completions/conf.d/git-sandbox.fish"),
];

#[test]
fn committed_files_are_generated_from_the_table() {
    let test = Test::bare();
    for (what, path) in FILES {
        let mut command = test.command(program(), &test.home);
        let output = finished(command.args(["setup", "--print", what]));
        assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]), "{what}");
        let kept = fs::read(source(path)).unwrap_or_default();
        assert!(
            kept == output.stdout,
            "{path} is not what the table generates; run tests/generate and commit the result"
        );
    }
}

#[test]
fn background_jobs_stand_in_no_help() {
    let test = Test::bare();
    let files = FILES.iter().map(|(_, path)| *path).chain(["man/git-sandbox.1"]);
    let mut texts: Vec<String> =
        files.map(|path| fs::read_to_string(source(path)).unwrap()).collect();
    for words in [&["-h"][..], &["reap", "-h"], &["setup", "-h"]] {
        let mut command = test.command(program(), &test.home);
        texts.push(String::from_utf8(finished(command.args(words)).stdout).unwrap());
    }
    for job in ["--quiet", "--finish", "--spares", "__reap", "__spares"] {
        assert!(texts.iter().all(|text| !text.contains(job)), "{job}");
    }
}
