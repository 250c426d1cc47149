//! The committed files are what the table generates.

use std::fs;
use std::path::Path;

use crate::fixture::Test;
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
        let mut command = test.command(assert_cmd::cargo::cargo_bin!("git-sandbox"), &test.home);
        let output = finished(command.args(["setup", "--print", what]));
        assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]), "{what}");
        let kept = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap_or_default();
        assert!(
            kept == output.stdout,
            "{path} is not what the table generates; run tests/generate and commit the result"
        );
    }
}
