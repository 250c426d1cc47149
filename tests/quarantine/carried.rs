//! Removal, restore, the vault, rename and gc carry a quarantine along.

use super::{Confined, took};
use crate::fixture::diff::same;
use crate::fixture::files::tree;
use crate::fixture::reap::reap;
use crate::fixture::run::succeeds;
use crate::fixture::state::collect_garbage;
use crate::fixture::trash::trashed;

/// A quarantine with a branch and a stash of its own, which were not taken.
#[track_caller]
fn filled() -> (Confined, String) {
    let it = Confined::new();
    it.git(&["switch", "--quiet", "-c", "side"]);
    let side = it.commit("side", "side\n");
    it.git(&["switch", "--quiet", "box"]);
    it.commit("one", "1\n");
    it.look();
    (it, side)
}

/// Asserts that a confined command finds everything again.
#[track_caller]
fn is_whole(it: &Confined, side: &str) {
    it.prepare();
    assert_eq!(it.git(&["rev-parse", "side"]), side);
    assert_eq!(it.git(&["status", "--short"]), "");
    let (before, tip) = (it.outside("box"), it.commit("more", "more\n"));
    let said = it.look();
    assert!(said.starts_with(&took("1 commit", &before, &tip)), "{said}");
    assert_eq!(it.outside("box"), tip);
}

#[test]
fn a_removed_sandbox_comes_back_with_its_quarantine() {
    let (it, side) = filled();
    let before = tree(&it.dir(), &[]);
    succeeds(it.test.run(&["rm", "box"]));
    collect_garbage(&it.test);
    succeeds(it.test.run(&["restore", "box"]));
    same(&tree(&it.dir(), &[]), &before);
    is_whole(&it, &side);
}

#[test]
fn a_quarantine_comes_back_from_the_vault() {
    let (it, side) = filled();
    succeeds(it.test.run(&["rm", "box"]));
    let output = reap(&it.test, 15, &[]).output();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(trashed(&it.test).is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    it.test.git(&["reflog", "expire", "--expire=now", "--all"]);
    collect_garbage(&it.test);
    succeeds(it.test.run(&["restore", "box"]));
    is_whole(&it, &side);
}

#[test]
fn a_renamed_sandbox_keeps_its_quarantine() {
    let (mut it, side) = filled();
    succeeds(it.test.run(&["rename", "box", "other"]));
    it.path = it.test.at("other");
    succeeds(it.test.run(&["show", "--mounts", "other"]));
    assert_eq!(it.git(&["rev-parse", "side"]), side);
    let tip = it.commit("more", "more\n");
    succeeds(it.test.run(&["show", "other", "--json"]));
    assert_eq!(it.outside("other"), tip);
}

#[test]
fn a_gc_of_the_repository_takes_nothing_that_a_quarantine_borrows() {
    let it = Confined::new();
    it.test.git(&["branch", "-m", "main", "old"]);
    it.test.git(&["checkout", "--quiet", "--orphan", "main"]);
    it.test.git(&["commit", "--quiet", "-m", "anew"]);
    it.test.git(&["branch", "-D", "old"]);
    // The branch of the sandbox is rewritten outside too.
    let tree = it.test.git(&["rev-parse", "box^{tree}"]);
    let other = it.test.git(&["commit-tree", "-m", "rewritten", &tree]);
    it.test.git_in(&it.path, &["update-ref", "refs/heads/box", &other]);
    it.test.git(&["reflog", "expire", "--expire=now", "--all"]);
    collect_garbage(&it.test);
    let tip = it.commit("one", "1\n");
    let said = it.look();
    assert!(said.starts_with("warning: 'box' was moved outside; what ran inside is at "), "{said}");
    assert_eq!(it.outside("box"), other);
    assert_eq!(it.outside(&format!("{tip}^{{commit}}")), tip);
    assert_eq!(it.test.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn what_only_a_tag_object_led_to_survives_a_gc() {
    let it = Confined::new();
    let tree = it.test.git(&["rev-parse", "main^{tree}"]);
    let tagged = it.test.git(&["commit-tree", "-m", "released", &tree]);
    it.test.git(&["tag", "-a", "-m", "first", "v1", &tagged]);
    it.test.git(&["tag", "-a", "-m", "second", "v2", "v1"]);
    it.prepare();
    let id = |name: &str| it.git(&["rev-parse", "--verify", name]);
    assert_eq!((id("v1^{commit}"), id("v2^{commit}")), (tagged.clone(), tagged.clone()));
    let peeled = it.git(&["show-ref", "--dereference", "v2"]);
    assert_eq!(peeled, format!("{} refs/tags/v2\n{tagged} refs/tags/v2^{{}}", id("v2")));
    it.test.git(&["tag", "-d", "v1", "v2"]);
    collect_garbage(&it.test);
    assert_eq!(it.git(&["cat-file", "-t", &tagged]), "commit");
}

#[test]
fn a_second_name_of_the_private_git_dir_is_learned() {
    let (it, side) = filled();
    succeeds(it.test.run(&["rm", "box"]));
    succeeds(it.test.run(&["restore", "box", "--as", "again"]));
    let it = Confined { path: it.test.at("again"), ..it };
    succeeds(it.test.run(&["show", "--mounts", "again"]));
    assert_eq!(it.git(&["rev-parse", "side"]), side);
    assert_eq!(it.git(&["status", "--short"]), "");
}

#[test]
fn a_purge_lets_go_of_what_ran_inside() {
    let (it, side) = filled();
    let refs = || it.test.git(&["for-each-ref", "--format=%(refname)", "refs/sandbox"]);
    let pins = refs();
    assert!(pins.contains("refs/sandbox/confined/"), "{pins}");
    succeeds(it.test.run(&["rm", "box"]));
    assert!(refs().contains(&pins));
    succeeds(it.test.run(&["reap", "--purge", "box", "--force"]));
    assert_eq!(refs(), "");
    it.test.git(&["branch", "-D", "box"]);
    it.test.git(&["reflog", "expire", "--expire=now", "--all"]);
    collect_garbage(&it.test);
    let found = it.test.command("git", &it.test.app()).args(["cat-file", "-e", &side]).output();
    assert!(!found.unwrap().status.success());
}

#[test]
fn a_purge_from_the_vault_lets_go_of_what_ran_inside() {
    let (it, _) = filled();
    succeeds(it.test.run(&["rm", "box"]));
    succeeds(reap(&it.test, 15, &[]));
    assert!(trashed(&it.test).is_empty());
    succeeds(it.test.run(&["reap", "--purge", "box", "--force"]));
    assert_eq!(it.test.git(&["for-each-ref", "refs/sandbox"]), "");
}

/// A fetch with `--prune` in a mirror deletes the pin as a ref that the other side does not have.
#[test]
fn what_was_taken_survives_in_a_mirror_without_its_pin() {
    let it = Confined::new();
    it.test.git(&["config", "remote.origin.url", "elsewhere"]);
    it.test.git(&["config", "remote.origin.fetch", "+refs/*:refs/*"]);
    it.prepare();
    it.git(&["switch", "--quiet", "-c", "side"]);
    let side = it.commit("side", "side\n");
    it.git(&["switch", "--quiet", "box"]);
    let tip = it.commit("new", "new\n");
    assert!(it.look().contains("also holds branch 'side'"));
    // What the repository has need not be inside any more.
    it.git(&["gc", "--quiet", "--prune=now"]);
    let pins = it.test.git(&["for-each-ref", "--format=%(refname)", "refs/sandbox/confined/"]);
    it.test.git(&["update-ref", "-d", pins.trim_end()]);
    it.test.git(&["reflog", "expire", "--expire=now", "--all"]);
    it.test.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(it.git(&["show", "side:side"]), "side");
    assert_eq!((it.outside("box"), it.git(&["rev-parse", "side"])), (tip, side.clone()));
    let keeps = || {
        let packs = std::fs::read_dir(it.test.app().join(".git/objects/pack")).unwrap().flatten();
        packs.filter(|file| file.path().extension().is_some_and(|end| end == "keep")).count()
    };
    assert!(keeps() > 0);
    succeeds(it.test.run(&["rm", "--force", "box"]));
    succeeds(it.test.run(&["reap", "--purge", "box", "--force"]));
    assert_eq!(keeps(), 0);
}

/// What the other side has rewritten is gone from a mirror after a fetch, and the pin with it.
#[test]
fn what_a_quarantine_borrows_survives_in_a_mirror_without_its_pin() {
    let it = Confined::new();
    it.test.git(&["config", "remote.origin.url", "elsewhere"]);
    it.test.git(&["config", "remote.origin.fetch", "+refs/*:refs/*"]);
    it.test.git(&["commit", "--quiet", "--allow-empty", "-m", "second"]);
    it.prepare();
    let commits = || it.git(&["rev-list", "--count", "HEAD"]).parse::<u32>().unwrap();
    let before = commits();
    // As a fetch leaves it.
    let tree = it.test.git(&["rev-parse", "main^{tree}"]);
    let other = it.test.git(&["commit-tree", "-m", "rewritten", &tree]);
    let refs = it.test.git(&["for-each-ref", "--format=%(refname)"]);
    for name in refs.lines().filter(|name| !name.starts_with("refs/heads/")) {
        it.test.git(&["update-ref", "-d", name]);
    }
    it.test.git(&["reset", "--quiet", "--hard", &other]);
    it.test.git_in(&it.path, &["update-ref", "refs/heads/box", &other]);
    it.test.git(&["reflog", "expire", "--expire=now", "--all"]);
    it.test.git(&["gc", "--quiet", "--prune=now"]);
    let tip = it.commit("one", "1\n");
    assert_eq!(commits(), before + 1);
    let said = it.look();
    assert!(said.starts_with("warning: 'box' was moved outside; what ran inside is at "), "{said}");
    assert_eq!(it.outside(&format!("{tip}^{{commit}}")), tip);
    assert_eq!(it.test.git(&["fsck", "--strict", "--no-dangling"]), "");
}

/// Without the packs, a fetch and a gc would take what the quarantine borrows.
#[test]
fn where_refs_are_mirrored_nothing_starts_that_borrows_what_could_not_be_kept() {
    let it = Confined::new();
    it.test.git(&["config", "remote.origin.url", "elsewhere"]);
    it.test.git(&["config", "remote.origin.fetch", "+refs/*:refs/*"]);
    let commit = it.test.commit(&it.test.app(), "new", "new\n");
    let fake = it.test.fake_git(
        "case \" $* \" in *' index-pack '*) cat >/dev/null; echo disk is full >&2; exit 1;; esac; exec $GIT \"$@\"",
    );
    it.test
        .program(&it.test.app(), &["show", "--mounts", "box"])
        .env("PATH", &fake)
        .stderr("error: cannot keep what only it holds in a pack: disk is full\n")
        .code(1);
    let known = |it: &Confined| it.command(&["cat-file", "-e", &commit]).output().unwrap();
    assert_ne!(it.git(&["rev-parse", "main"]), commit);
    it.prepare();
    assert_eq!(it.git(&["rev-parse", "main"]), commit);
    // As a fetch leaves it.
    let refs = it.test.git(&["for-each-ref", "--format=%(refname)", "refs/sandbox"]);
    refs.lines().for_each(|name| drop(it.test.git(&["update-ref", "-d", name])));
    it.test.git(&["reset", "--quiet", "--hard", "HEAD~"]);
    it.test.git(&["update-ref", "-d", "ORIG_HEAD"]);
    it.test.git(&["reflog", "expire", "--expire=now", "--all"]);
    it.test.git(&["gc", "--quiet", "--prune=now"]);
    assert!(known(&it).status.success(), "what is borrowed is gone");
}

/// The reflog of a branch counts whatever its name is; only an index of the quarantine is no text.
#[test]
fn commits_in_the_reflog_of_a_branch_called_index_are_taken_over() {
    let it = Confined::new();
    let made = |text: &str| it.git(&["commit-tree", "-m", text, "HEAD^{tree}"]);
    let (old, new) = (made("old"), made("new"));
    for commit in [&old, &new] {
        it.git(&["update-ref", "--create-reflog", "refs/heads/index", commit]);
    }
    assert!(it.look().contains("also holds branch 'index'"));
    collect_garbage(&it.test);
    for commit in [&old, &new] {
        assert_eq!(it.outside(&format!("{commit}^{{commit}}")), *commit);
    }
}
