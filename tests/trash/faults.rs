//! Files and folders that cannot be looked at while a sandbox is removed: nothing that it holds is lost.

use crate::fixture::faults::{Fault, Faults, Kind};
use crate::fixture::files::{tree, write};
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::{collect_garbage, entry};

#[test]
fn what_cannot_be_looked_at_is_kept_all_the_same() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    test.commit(&path, "a", "lost\n");
    let lost = test.git_in(&path, &["rev-parse", "HEAD"]);
    test.git_in(&path, &["reset", "--quiet", "--hard", "HEAD~"]);
    let make = |text| test.git_in(&path, &["commit-tree", "-p", "HEAD", "-m", text, "HEAD^{tree}"]);
    let (own, pseudo) = (make("own"), make("pseudo"));
    test.git_in(&path, &["update-ref", "refs/worktree/mine", &own]);
    test.git_in(&path, &["update-ref", "MINE_HEAD", &pseudo]);
    write(&path.join("staged"), "staged only here\n");
    test.git_in(&path, &["add", "staged"]);
    let blob = test.git_in(&path, &["rev-parse", ":staged"]);
    write(&path.join("staged"), "and edited\n");
    let entry = entry(&test, &path);
    let safe = |fault: &Fault| {
        for id in [&lost, &own, &pseudo, &blob] {
            test.git(&["cat-file", "-e", id]);
        }
        let there = path.join("staged").exists() || fault.said().contains("restore");
        assert!(there, "{}{}", fault.call, fault.said());
    };
    let result = || {
        test.git(&["reflog", "expire", "--expire=now", "--all"]);
        collect_garbage(&test);
        for id in [&lost, &own, &pseudo, &blob] {
            test.git(&["cat-file", "-e", id]);
        }
        succeeds(test.run(&["restore", "box"]));
        let status = ["status", "--porcelain=v2", "--branch", "--untracked-files=all"];
        let git = |words: &[&str]| test.git_in(&path, words);
        // An index has times.
        git(&status)
            + &git(&["ls-files", "-v", "--stage"])
            + &tree(&path, &[])
            + &tree(&entry, &["sandbox.lock", "logs", "index"])
    };
    let faults = Faults::of(&test, &[Kind::Look], &entry);
    faults.end_alike(&["rm", "--force", "box"], safe, result);
}
