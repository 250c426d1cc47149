//! A kill at any step of making a quarantine or of taking over loses nothing that was committed inside.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;

use super::{Confined, took};
use crate::fixture::built::program;
use crate::fixture::files::{names_in, write};
use crate::fixture::process::{ended, is_suspended, signal, until};
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::collect_garbage;

/// More steps than any command has.
const MANY: u32 = 60;

/// Changes a file outside so that what is staged of it is nowhere else.
fn stage_outside(it: &Confined, file: &str) {
    write(&it.path.join(file), "staged outside\n");
    it.test.git_in(&it.path, &["add", "--", file]);
    write(&it.path.join(file), "edited\n");
}

#[test]
fn a_kill_while_a_quarantine_is_made_is_made_good() {
    for step in 1..MANY {
        let test = repository(Format::Files).unwrap();
        let path = test.new_sandbox(&["box"]);
        let it = Confined { test, path };
        let crashed = it.test.run(&["show", "--mounts", "box"]).crashes_at(step);
        stage_outside(&it, "a");
        assert_eq!(it.look(), "", "step {step}");
        assert_eq!(it.test.git_in(&it.path, &["status", "--short"]), "MM a", "step {step}");
        it.prepare();
        assert_eq!(it.git(&["status", "--short"]), "MM a", "step {step}");
        assert!(!names_in(&it.entry()).iter().any(|name| name == "sandbox.confining"));
        if !crashed {
            assert!(step > 3, "fewer steps than expected: {step}");
            return;
        }
    }
    panic!("it never ends");
}

#[test]
fn a_kill_while_something_is_taken_over_is_made_good() {
    for step in 1..MANY {
        let it = Confined::new();
        it.commit("one", "1\n");
        it.git(&["switch", "--quiet", "-c", "side"]);
        let side = it.commit("side", "side\n");
        it.git(&["switch", "--quiet", "box"]);
        let tip = it.commit("two", "2\n");
        write(&it.path.join("a"), "staged\n");
        it.git(&["add", "a"]);
        let crashed = it.test.run(&["show", "box"]).crashes_at(step);
        it.look();
        assert_eq!(it.outside("box"), tip, "step {step}");
        let packs = names_in(&it.test.app().join(".git/objects/pack"));
        let ends: Vec<_> = packs.iter().filter_map(|name| Path::new(name).extension()).collect();
        assert!(ends.iter().all(|end| *end != "keep"), "step {step}: {packs:?}");
        assert!(ends.iter().any(|end| *end == "pack"), "step {step}: {packs:?}");
        let status = it.test.git_in(&it.path, &["status", "--short"]);
        assert_eq!(status, "M  a", "step {step}");
        assert_eq!(fs::read_to_string(it.path.join("a")).unwrap(), "staged\n");
        collect_garbage(&it.test);
        assert_eq!(it.outside(&format!("{side}^{{commit}}")), side, "step {step}");
        it.prepare();
        assert_eq!(it.git(&["rev-parse", "box", "side"]), format!("{tip}\n{side}"));
        if !crashed {
            assert!(step > 5, "fewer steps than expected: {step}");
            return;
        }
    }
    panic!("it never ends");
}

#[test]
fn a_gc_beside_us_takes_nothing_that_is_being_taken_over() {
    let it = Confined::new();
    let tip = it.commit("one", "1\n");
    let mut command = it.test.command(program(), &it.test.app());
    // When the objects are there, and before a ref leads to them.
    command.args(["show", "box", "--json"]).env("GIT_SANDBOX_PAUSE_AT", "2").process_group(0);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("it has the objects", || is_suspended(child.id()));
    assert_ne!(it.outside("box"), tip);
    collect_garbage(&it.test);
    signal(child.id(), Signal::CONT);
    let output = ended(child);
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, super::took("1 commit", &it.outside("main"), &tip));
    assert_eq!(it.outside("box"), tip);
    assert_eq!(it.test.git(&["fsck", "--strict", "--no-dangling"]), "");
}

/// A power loss may leave the record of a sandbox empty, for it is not synced each time.
#[test]
fn what_was_committed_inside_is_taken_over_although_the_record_is_lost() {
    let it = Confined::new();
    let (before, tip) = (it.outside("box"), it.commit("one", "1\n"));
    fs::write(it.entry().join("sandbox.json"), "").unwrap();
    assert_eq!(it.look(), took("1 commit", &before, &tip));
    assert_eq!(it.outside("box"), tip);
    // The next command works with it as with any other.
    it.prepare();
    let next = it.commit("two", "2\n");
    it.look();
    assert_eq!(it.outside("box"), next);
    let pins = it.test.git(&["for-each-ref", "--format=%(refname)", "refs/sandbox/confined/"]);
    assert_eq!(pins.lines().count(), 2, "{pins}");
    succeeds(it.test.run(&["rm", "box"]));
    succeeds(it.test.run(&["restore", "box"]));
    assert_eq!(it.outside("box"), next);
}

/// Then nobody knows whether the index outside is still the one that the quarantine was made from.
#[test]
fn what_is_staged_outside_stays_although_the_record_is_lost() {
    let lose = |it: &Confined| fs::write(it.entry().join("sandbox.json"), "").unwrap();
    let status = |it: &Confined| it.test.git_in(&it.path, &["status", "--short"]);
    let stage_inside = |it: &Confined, file: &str| {
        write(&it.path.join(file), "staged inside\n");
        it.git(&["add", "--", file]);
    };
    let stays = "warning: the index of 'box' was changed outside; it stays as it is\n";
    // Outside alone.
    let it = Confined::new();
    stage_outside(&it, "a");
    lose(&it);
    assert_eq!(it.look(), "");
    assert_eq!(status(&it), "MM a");
    assert_eq!(it.test.git_in(&it.path, &["show", ":a"]), "staged outside");
    // On both sides.
    let it = Confined::new();
    stage_outside(&it, "a");
    stage_inside(&it, "b");
    lose(&it);
    assert_eq!(it.look(), stays);
    assert_eq!(status(&it), "MM a\n M b");
    assert_eq!(it.test.git_in(&it.path, &["show", ":a"]), "staged outside");
    it.prepare();
    assert_eq!(it.git(&["diff", "--cached", "--name-status"]), "M\tb");
    // Inside alone.
    let it = Confined::new();
    stage_inside(&it, "b");
    lose(&it);
    assert_eq!(it.look(), "");
    assert_eq!(status(&it), "M  b");
    // The same on both: they agree, and what is staged inside later is taken over.
    lose(&it);
    assert_eq!(it.look(), "");
    stage_inside(&it, "a");
    assert_eq!(it.look(), "");
    assert_eq!(status(&it), "M  a\nM  b");
}

#[test]
fn a_branch_that_moves_beside_us_is_not_overwritten() {
    let it = Confined::new();
    let tip = it.commit("one", "1\n");
    let mut command = it.test.command(program(), &it.test.app());
    // When all is there but the branch has not moved.
    command.args(["show", "box", "--json"]).env("GIT_SANDBOX_PAUSE_AT", "3").process_group(0);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("it is about to move the branch", || is_suspended(child.id()));
    let tree = it.test.git(&["rev-parse", "box^{tree}"]);
    let other = it.test.git(&["commit-tree", "-m", "outside", "-p", "box", &tree]);
    it.test.git(&["update-ref", "refs/heads/box", &other]);
    signal(child.id(), Signal::CONT);
    let said = String::from_utf8(ended(child).stderr).unwrap();
    assert!(said.starts_with("warning: cannot take what ran in 'box': "), "{said}");
    assert_eq!(it.outside("box"), other);
    // The next look sees two branches.
    let said = it.look();
    assert!(said.starts_with("warning: 'box' was moved outside; what ran inside is at "), "{said}");
    assert_eq!(it.outside("box"), other);
    assert_eq!(it.outside(&format!("{tip}^{{commit}}")), tip);
}

#[test]
fn only_packs_that_a_crash_left_kept_are_let_go() {
    let it = Confined::new();
    let packs = it.test.app().join(".git/objects/pack");
    let ours = "git-sandbox: being taken over\n";
    write(&packs.join("pack-1.keep"), ours);
    write(&packs.join("pack-2.keep"), "mine\n");
    write(&packs.join("pack-3.keep"), "");
    write(&packs.join("pack-4.notes"), ours);
    it.commit("one", "1\n");
    it.look();
    let left = names_in(&packs)
        .into_iter()
        .filter(|name| name.len() == "pack-1.keep".len() || name.ends_with("notes"));
    assert_eq!(left.collect::<Vec<_>>(), ["pack-2.keep", "pack-3.keep", "pack-4.notes"]);
    assert_eq!(fs::read_to_string(packs.join("pack-4.notes")).unwrap(), ours);
}
