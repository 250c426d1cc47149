//! Calls to the system that fail while a quarantine is made, brought up to date or taken over: what is used
//! is whole, and nothing is lost.

use std::fs;

use super::Confined;
use crate::fixture::faults::{Faults, Kind};
use crate::fixture::files::{names_in, tree, write};
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::collect_garbage;

const PREPARE: [&str; 3] = ["show", "--mounts", "box"];

/// A sandbox of a repository with few hooks, without a quarantine.
fn unconfined(format: Format) -> Option<Confined> {
    let test = repository(format)?;
    let git_dir = test.app().join(".git");
    fs::remove_dir_all(git_dir.join("hooks")).unwrap();
    write(&git_dir.join("hooks/pre-commit"), "#!/bin/sh\n");
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["update-ref", "refs/worktree/mine", "HEAD"]);
    Some(Confined { test, path })
}

/// What git sees of a quarantine.
fn seen(it: &Confined) -> String {
    let seen = ["for-each-ref", "status --short", "ls-files --stage"];
    seen.map(|words| it.git(&words.split(' ').collect::<Vec<_>>())).join("\n")
}

/// All of a quarantine but the indexes, which have times, and what git sees of it.
fn inside(it: &Confined) -> String {
    seen(it) + &tree(&it.dir(), &["index"]) + &names_in(&it.entry()).join("\n")
}

/// Commits on a branch of its own and on that of the sandbox, and stages a file, all inside, in few files, so that
/// there are few looks. Returns both commits.
fn work_inside(it: &Confined) -> [String; 2] {
    it.prepare();
    it.git(&["switch", "--quiet", "-c", "side"]);
    let side = it.commit("side", "side\n");
    it.git(&["switch", "--quiet", "box"]);
    let tip = it.commit("one", "1\n");
    write(&it.path.join("a"), "staged\n");
    it.git(&["add", "a"]);
    it.git(&["gc", "--quiet"]);
    [side, tip]
}

#[test]
fn a_quarantine_that_cannot_be_made_whole_is_not_used() {
    for format in [Format::Files, Format::Reftable] {
        let Some(it) = unconfined(format) else { continue };
        let faults = Faults::of(&it.test, &[Kind::Change, Kind::Start], &it.test.home);
        let refs = || it.test.git(&["for-each-ref", "refs/heads"]);
        let before = refs();
        faults.end_alike(&PREPARE, |_| assert_eq!(refs(), before), || inside(&it));
    }
}

#[test]
fn a_quarantine_that_cannot_be_brought_up_to_date_stays_usable() {
    let it = unconfined(Format::Files).unwrap();
    it.prepare();
    it.commit("one", "1\n");
    it.look();
    it.git(&["update-ref", "refs/heads/main", "main~1"]);
    it.git(&["update-ref", "refs/heads/main", "box~1"]);
    it.look();
    let outside = it.test.commit(&it.path, "two", "2\n");
    let main = it.test.commit(&it.test.app(), "main", "main\n");
    write(&it.path.join("a"), "staged outside\n");
    it.test.git_in(&it.path, &["add", "a"]);
    let faults = Faults::of(&it.test, &[Kind::Change, Kind::Start], &it.test.home);
    let result = || {
        assert_eq!(it.git(&["rev-parse", "box", "main"]), format!("{outside}\n{main}"));
        inside(&it)
    };
    faults.end_alike(&PREPARE, |_| assert_eq!(it.outside("box"), outside), result);
}

#[test]
fn what_cannot_be_taken_over_waits_until_it_can() {
    let it = unconfined(Format::Files).unwrap();
    let [side, tip] = work_inside(&it);
    let faults = Faults::of(&it.test, &[Kind::Change, Kind::Start], &it.test.home);
    let result = || {
        assert_eq!(it.outside("box"), tip);
        let status = it.test.git_in(&it.path, &["status", "--short"]);
        assert_eq!(status, "M  a");
        collect_garbage(&it.test);
        assert_eq!(it.outside(&format!("{side}^{{commit}}")), side);
        inside(&it)
    };
    faults.end_alike(&PREPARE, |_| {}, result);
}

#[test]
fn what_cannot_be_looked_at_is_not_taken_for_nothing() {
    let it = unconfined(Format::Files).unwrap();
    let [side, tip] = work_inside(&it);
    let faults = Faults::of(&it.test, &[Kind::Look], &it.dir());
    let result = || {
        // An index or HEAD that could not be read is told to stay inside until something is done there.
        it.git(&["tag", "--force", "again"]);
        succeeds(it.test.run(&["path", "box"]));
        assert_eq!(it.outside("box"), tip);
        let status = it.test.git_in(&it.path, &["status", "--short"]);
        assert_eq!(status, "M  a");
        assert_eq!(it.outside(&format!("{side}^{{commit}}")), side);
        seen(&it)
    };
    faults.end_alike(&PREPARE, |_| {}, result);
}
