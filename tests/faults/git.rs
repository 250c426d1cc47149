//! A git that fails at its n-th call.

use std::fs;
use std::process::Command;

use super::row::Scene;
use crate::fixture::files::names_in;

/// Counts its calls in a folder, whose name is in `$CALLS`; the file of each call is made by the shell itself, so
/// that of two calls at once only one gets a number, and no process is started for it. At the call `$NTH` it fails,
/// before or after it has done what it was asked for.
pub const SCRIPT: &str = r#"test -n "$NTH" || exec "$GIT" "$@"
set -C
n=1
until true >"$CALLS/$n"; do n=$((n + 1)); done 2>/dev/null
test "$n" = "$NTH" || exec "$GIT" "$@"
test "$KIND" = before || "$GIT" "$@"
echo "fatal: this git fails at its call $n" >&2
printf '%s ' "$@" >>"$CALLS/$n"
exit 128"#;

/// When a call of git fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Before,
    After,
}

/// Has the n-th git that a command starts fail; none does for 0.
pub fn disturb(scene: &Scene, command: &mut Command, nth: usize, kind: Kind) {
    let calls = scene.test.home.join("fake/calls");
    fs::create_dir(&calls).unwrap();
    let kind = if kind == Kind::Before { "before" } else { "after" };
    command
        .env("PATH", &scene.path)
        .env("CALLS", calls)
        .env("NTH", nth.to_string())
        .env("KIND", kind);
}

/// Returns how many gits were started since [`disturb`].
pub fn calls(scene: &Scene) -> usize {
    names_in(&scene.test.home.join("fake/calls")).len()
}

/// Returns the words of the call that failed.
pub fn words(scene: &Scene, nth: usize) -> String {
    let words = fs::read_to_string(scene.test.home.join(format!("fake/calls/{nth}")));
    format!("git {}", words.unwrap_or_default())
}
