//! `doctor --fix` after a crash.

use super::{ROW, Row, box_with_work, in_trash, sweep};
use crate::fixture::Test;

/// The home in which a command has died at a step.
#[track_caller]
fn crashed(test: Test, words: &[&str], step: u32) -> Test {
    assert!(test.run(words).crashes_at(step), "it came to its end");
    test
}

#[test]
fn doctor_completes_a_removal() {
    let setup = || crashed(box_with_work(), &["rm", "--force", "box"], 5);
    sweep(&Row { name: "doctor, removal", setup, words: &["doctor", "--fix"], ..ROW });
}

#[test]
fn doctor_completes_a_restore() {
    let setup = || crashed(in_trash(box_with_work()), &["restore", "box"], 6);
    sweep(&Row { name: "doctor, restore", setup, words: &["doctor", "--fix"], ..ROW });
}

#[test]
fn doctor_completes_a_creation() {
    let setup = || crashed(Test::new(), &["new", "fix"], 4);
    sweep(&Row { name: "doctor, creation", setup, words: &["doctor", "--fix"], ..ROW });
}
