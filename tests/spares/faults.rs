//! Calls to the system that fail while a spare is made or taken.

use std::fs;
use std::path::Path;

use crate::fixture::Test;
use crate::fixture::again::Template;
use crate::fixture::faults::{Faults, Kind};
use crate::fixture::files::{names_in, tree};
use crate::fixture::repository::{Format, repository};
use crate::fixture::spares::{Spares, entry};

/// All that there is of a worktree, but for what is random.
fn all_of(test: &Test, path: &Path) -> String {
    let entry = entry(path);
    let look = |words: &[&str]| test.git_in(path, &[&["--no-optional-locks"], words].concat());
    let index = look(&["ls-files", "--stage", "-v"]);
    let status = look(&["status", "--porcelain=v2", "--branch", "--untracked-files=all"]);
    let lock = fs::read_to_string(entry.join("locked")).unwrap_or_default();
    tree(path, &[".git"]) + &index + &status + &lock + &names_in(&entry).join(" ")
}

#[test]
fn a_spare_is_taken_whole_or_none_is() {
    let mut spares = Spares::of(repository(Format::Files).unwrap(), 1);
    let template = Template::of(&spares.test);
    let wanted = spares.new_sandbox(&["box", "the", "task"]);
    let wanted = all_of(&spares, &wanted);
    let kinds = [Kind::Change, Kind::Remove, Kind::Start];
    let mut number = 0;
    loop {
        number += 1;
        template.bring_back(&spares.test);
        spares.hold_job();
        let test = &spares.test;
        let Some(fault) =
            Faults::of(test, &kinds, &test.home).at(number, &["new", "box", "the", "task"])
        else {
            break;
        };
        if !fault.succeeded() {
            fault.is_told();
            spares.new_sandbox(&["box", "the", "task"]);
        }
        assert_eq!(all_of(&spares, &spares.at("box")), wanted, "{}{}", fault.call, fault.said());
        assert_eq!(spares.branches(), ["box", "main"]);
    }
    assert!(number > 10, "{number}");
}
