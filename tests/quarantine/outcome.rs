//! What was committed and staged inside is outside after the next look.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use super::{Confined, took};
use crate::fixture::Test;
use crate::fixture::files::{names_in, write};
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::{changes_nothing, collect_garbage};

#[test]
fn commits_and_staged_files_are_taken_over() {
    for format in [Format::Files, Format::Sha256, Format::Reftable, Format::Relative] {
        let Some(it) = Confined::of(format) else { continue };
        let before = it.outside("box");
        it.commit("one", "1\n");
        let tip = it.commit("dir/two", "2\n");
        write(&it.path.join("a"), "staged\n");
        it.git(&["add", "a"]);
        write(&it.path.join("b"), "edited\n");
        assert_eq!(it.outside("box"), before, "{format:?}");
        assert_eq!(it.look(), took("2 commits", &before, &tip));
        assert_eq!(it.outside("box"), tip);
        assert_eq!(it.test.git_in(&it.path, &["status", "--short"]), "M  a\n M b");
        assert_eq!(it.test.git_in(&it.path, &["diff-files", "--name-only"]), "b");
        assert_eq!(
            it.test.git_in(&it.path, &["reflog", "-1", "--format=%gs"]),
            "sandbox: confined run"
        );
        assert_eq!(it.test.git(&["fsck", "--strict", "--no-dangling"]), "");
        // Nothing is left to be taken, and nothing of ours lies about.
        assert_eq!(it.look(), "");
        assert!(!names_in(&it.entry()).iter().any(|name| name == "sandbox.incoming"));
    }
}

/// It would be staged as an empty file.
#[test]
fn a_file_that_is_only_meant_to_be_added_is_not_staged_outside() {
    let it = Confined::new();
    write(&it.path.join("a"), "staged\n");
    it.git(&["add", "a"]);
    write(&it.path.join("new"), "new\n");
    it.git(&["add", "--intent-to-add", "new"]);
    assert_eq!(it.look(), "");
    assert_eq!(it.test.git_in(&it.path, &["status", "--short"]), "M  a\n?? new");
    assert_eq!(it.git(&["status", "--short"]), "M  a\n A new");
    assert_eq!(fs::read_to_string(it.path.join("new")).unwrap(), "new\n");
}

#[test]
fn nothing_is_taken_where_nothing_was_done() {
    let it = Confined::new();
    let before = it.outside("box");
    changes_nothing(&it.test, || assert_eq!(it.look(), ""));
    // A look of git's may refresh the index.
    it.git(&["update-index", "--refresh"]);
    assert_eq!(it.look(), "");
    assert_eq!(it.outside("box"), before);
}

#[test]
fn a_rewritten_history_is_taken_over_and_the_old_one_stays_in_the_reflog() {
    let it = Confined::new();
    let first = it.commit("one", "1\n");
    assert_eq!(it.look(), took("1 commit", &it.outside("main"), &first));
    it.git(&["commit", "--quiet", "--amend", "-m", "other"]);
    let second = it.git(&["rev-parse", "HEAD"]);
    assert_eq!(it.look(), took("1 commit", &first, &second));
    assert_eq!(it.test.git_in(&it.path, &["rev-parse", "HEAD@{1}"]), first);
}

#[test]
fn what_stays_inside_is_named_and_survives_a_gc_of_the_repository() {
    let it = Confined::new();
    let tip = it.commit("one", "1\n");
    it.git(&["tag", "mine"]);
    it.git(&["notes", "add", "-m", "noted"]);
    it.git(&["switch", "--quiet", "-c", "side"]);
    let side = it.commit("side", "side\n");
    it.git(&["switch", "--quiet", "box"]);
    write(&it.path.join("a"), "stashed\n");
    it.git(&["stash", "--quiet"]);
    let stash = it.git(&["rev-parse", "refs/stash"]);
    let said = it.look();
    let also = "'box' also holds branch 'side', 'refs/notes/commits', a stash and tag 'mine'; \
                git sandbox run --confine box reaches them\n";
    assert_eq!(said, took("1 commit", &it.outside("main"), &tip) + also);
    collect_garbage(&it.test);
    for id in [&side, &stash] {
        assert_eq!(it.outside(&format!("{id}^{{commit}}")), *id);
    }
    assert_eq!(it.test.git(&["branch", "--list", "side"]), "");
    it.prepare();
    assert_eq!(it.git(&["rev-parse", "side"]), side);
    assert_eq!(
        it.git(&["stash", "list", "--format=%s"]),
        "WIP on box: ".to_owned() + &tip[..7] + " one"
    );
}

#[test]
fn commits_that_only_a_reflog_inside_names_are_kept() {
    let it = Confined::new();
    let lost = it.commit("one", "1\n");
    it.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(it.look(), "");
    fs::remove_dir_all(it.dir()).unwrap();
    collect_garbage(&it.test);
    assert_eq!(it.outside(&format!("{lost}^{{commit}}")), lost);
}

/// A command may make worktrees, with a HEAD that nothing else names.
#[test]
fn commits_that_only_another_worktree_inside_names_are_kept() {
    let it = Confined::new();
    it.look();
    let lost = it.git(&["commit-tree", "-m", "lost", "-p", "HEAD", "HEAD^{tree}"]);
    write(&it.dir().join("worktrees/second/HEAD"), &format!("{lost}\n"));
    assert_eq!(it.look(), "");
    fs::remove_dir_all(it.dir()).unwrap();
    collect_garbage(&it.test);
    assert_eq!(it.outside(&format!("{lost}^{{commit}}")), lost);
}

#[test]
fn a_quarantine_follows_what_is_done_outside() {
    let it = Confined::new();
    it.commit("one", "1\n");
    it.look();
    let outside = it.test.commit(&it.path, "two", "2\n");
    let main = it.test.commit(&it.test.app(), "main", "main\n");
    write(&it.path.join("a"), "staged outside\n");
    it.test.git_in(&it.path, &["add", "a"]);
    it.prepare();
    assert_eq!(it.git(&["rev-parse", "box", "main"]), format!("{outside}\n{main}"));
    assert_eq!(it.git(&["status", "--short"]), "M  a");
    let next = it.commit("three", "3\n");
    assert_eq!(it.look(), took("1 commit", &outside, &next));
    assert_eq!(it.test.git_in(&it.path, &["status", "--short"]), "");
}

#[test]
fn a_quarantine_follows_a_head_that_was_detached_outside() {
    for moved in [false, true] {
        let it = Confined::new();
        it.commit("one", "1\n");
        it.look();
        it.test.git_in(&it.path, &["switch", "--quiet", "--detach"]);
        let mut head = it.test.git_in(&it.path, &["rev-parse", "HEAD"]);
        if moved {
            head = it.test.commit(&it.path, "two", "2\n");
        }
        it.prepare();
        assert_eq!(it.git(&["rev-parse", "--symbolic-full-name", "HEAD"]), "HEAD");
        assert_eq!(it.git(&["rev-parse", "HEAD"]), head);
        assert_eq!(it.git(&["status", "--short"]), "");
        let (branch, next) = (it.outside("box"), it.commit("three", "3\n"));
        let said = format!("took 1 commit into HEAD ({}..{})\n", &head[..7], &next[..7]);
        assert_eq!(it.look(), said);
        assert_eq!(it.test.git_in(&it.path, &["rev-parse", "HEAD"]), next);
        assert_eq!(it.test.git_in(&it.path, &["status", "--short"]), "");
        assert_eq!((it.outside("box"), it.git(&["rev-parse", "box"])), (branch.clone(), branch));
    }
}

#[test]
fn a_head_that_was_detached_outside_does_not_hide_what_was_committed_inside() {
    let it = Confined::new();
    let (before, inside) = (it.outside("box"), it.commit("one", "1\n"));
    it.test.git_in(&it.path, &["switch", "--quiet", "--detach"]);
    let also = "'box' also holds branch 'box' and another branch checked out; \
                git sandbox run --confine box reaches them\n";
    assert_eq!(it.look(), also);
    it.prepare();
    assert_eq!(it.git(&["rev-parse", "--symbolic-full-name", "HEAD"]), "refs/heads/box");
    assert_eq!(it.git(&["rev-parse", "HEAD"]), inside);
    assert_eq!(it.outside("box"), before);
    collect_garbage(&it.test);
    assert_eq!(it.outside(&format!("{inside}^{{commit}}")), inside);
}

#[test]
fn an_index_that_was_changed_outside_stays() {
    let it = Confined::new();
    write(&it.path.join("a"), "inside\n");
    it.git(&["add", "a"]);
    write(&it.path.join("b"), "outside\n");
    it.test.git_in(&it.path, &["add", "b"]);
    assert_eq!(it.look(), "warning: the index of 'box' was changed outside; it stays as it is\n");
    assert_eq!(it.test.git_in(&it.path, &["status", "--short"]), " M a\nM  b");
}

#[test]
fn an_operation_inside_forbids_a_removal() {
    let it = Confined::new();
    it.commit("a", "box\n");
    it.git(&["switch", "--quiet", "-c", "side", "HEAD~1"]);
    it.commit("a", "side\n");
    it.git(&["switch", "--quiet", "box"]);
    assert!(!it.command(&["merge", "side"]).output().unwrap().status.success());
    let said = it.look();
    assert!(said.contains("'box' also holds branch 'side' and a merge in progress; "), "{said}");
    let output = it.test.run(&["rm", "box"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("merge in progress"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert!(it.private().join("MERGE_HEAD").is_file() && it.path.is_dir());
}

#[test]
fn a_detached_sandbox_is_taken_over_too() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["--detach", "box"]);
    let it = Confined { test, path };
    succeeds(it.test.run(&["show", "--mounts", "exploration-box"]));
    let (before, tip) = (it.outside("main"), it.commit("one", "1\n"));
    it.test
        .run(&["path", "exploration-box"])
        .stdout("$ROOT/exploration-box\n")
        .stderr(&format!("took 1 commit into HEAD ({}..{})\n", &before[..7], &tip[..7]))
        .ok();
    assert_eq!(it.test.git_in(&it.path, &["rev-parse", "HEAD"]), tip);
    assert_eq!(it.outside("main"), before);
}

#[test]
fn unusual_repositories_have_quarantines_too() {
    // A shallow one, a partial one without a file's content, a bare one, a sparse checkout.
    let source = repository(Format::Files).unwrap();
    source.git(&["config", "uploadpack.allowFilter", "true"]);
    source.commit(&source.app(), "later", "later\n");
    let url = format!("file://{}", source.app().display());
    for options in [&["--depth=1"][..], &["--filter=blob:none"], &["--bare"]] {
        let test = Test::bare();
        let words = [&["clone", "--quiet"], options, &[&url, "app"]].concat();
        test.git_in(&test.home, &words);
        let path = test.new_sandbox(&["box"]);
        let it = Confined { test, path };
        it.prepare();
        let (before, tip) = (it.outside("box"), it.commit("one", "1\n"));
        fs::rename(source.app(), source.home.join("away")).unwrap();
        assert_eq!(it.look(), took("1 commit", &before, &tip), "{options:?}");
        assert_eq!(it.outside("box"), tip);
        fs::rename(source.home.join("away"), source.app()).unwrap();
    }
    let it = Confined::new();
    it.test.git_in(&it.path, &["sparse-checkout", "set", "--cone", "other"]);
    it.prepare();
    let (before, tip) = (it.outside("box"), it.commit("one", "1\n"));
    assert_eq!(it.look(), took("1 commit", &before, &tip));
    assert_eq!(it.test.git_in(&it.path, &["status", "--short"]), "");
    assert!(!it.path.join("dir").exists());
}

#[test]
fn a_quarantine_has_no_secrets_and_is_the_users_alone() {
    let test = repository(Format::Files).unwrap();
    test.git(&["config", "remote.origin.url", "https://me:word@example.com/x"]);
    test.git(&["config", "credential.helper", "store"]);
    test.git(&["config", "http.extraHeader", "Authorization: word"]);
    write(&test.app().join(".git/hooks/pre-commit"), "#!/bin/sh\n");
    test.git(&["config", "extensions.worktreeConfig", "true"]);
    let path = test.new_sandbox(&["box"]);
    let it = Confined { test, path };
    let own = ["config", "--worktree", "http.extraHeader", "Authorization: word"];
    it.test.git_in(&it.path, &own);
    it.test.git_in(&it.path, &["config", "--worktree", "user.name", "Somebody"]);
    it.prepare();
    let config = fs::read_to_string(it.private().join("config.worktree")).unwrap();
    assert_eq!(config, "[user]\n\tname = \"Somebody\"\n");
    let config = fs::read_to_string(it.dir().join("config")).unwrap();
    assert!(!config.contains("word") && !config.contains("credential"), "{config}");
    assert_eq!(it.git(&["config", "remote.origin.url"]), "https://example.com/x");
    assert_eq!(fs::metadata(it.dir()).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(it.dir().join("hooks/pre-commit").is_file());
}

#[test]
fn mounts_are_printed_as_options() {
    let it = Confined::new();
    let id = it.entry().file_name().unwrap().to_string_lossy().into_owned();
    it.test
        .run(&["show", "--mounts", "box"])
        .stdout(&format!(
            "-v $ROOT/box:$ROOT/box\n\
             -v $ROOT/box/.git:$ROOT/box/.git:ro\n\
             -v $HOME/app/.git/worktrees/{id}/confined:$HOME/app/.git\n\
             -v $HOME/app/.git/objects:$HOME/app/.git/base-objects:ro\n\
             -v $HOME/app/.git/worktrees/{id}/confined/worktrees:$HOME/app/.git/worktrees\n\
             -v $HOME/app/.git/worktrees/{id}/confined/worktrees/{id}:$HOME/app/.git/worktrees/{id}\n\
             -v $HOME/app/.git/worktrees/{id}/commondir:\
             $HOME/app/.git/worktrees/{id}/commondir:ro\n\
             -w $ROOT/box\n"
        ))
        .ok();
    it.test.git(&["worktree", "add", "--quiet", "../other"]);
    it.test
        .run(&["show", "--mounts", "other"])
        .stderr("error: cannot confine 'other': git sandbox did not make it\n")
        .code(1);
}

#[test]
fn a_detached_main_worktree_is_detached_inside_too() {
    for format in [Format::Files, Format::Reftable] {
        let Some(test) = repository(format) else { continue };
        let path = test.new_sandbox(&["box"]);
        test.git(&["checkout", "--quiet", "--detach"]);
        let it = Confined { test, path };
        it.prepare();
        let head = fs::read_to_string(it.dir().join("HEAD")).unwrap();
        assert_eq!(head, it.outside("main") + "\n");
        let tip = it.commit("one", "1\n");
        assert_eq!(it.look(), took("1 commit", &it.outside("main"), &tip));
    }
}

#[test]
fn what_a_loss_of_power_emptied_is_written_anew() {
    let it = Confined::new();
    let whole = ["config", "HEAD"].map(|name| fs::read(it.dir().join(name)).unwrap());
    assert!(whole.iter().all(|bytes| !bytes.is_empty()));
    for name in ["config", "HEAD"] {
        fs::write(it.dir().join(name), "").unwrap();
    }
    it.prepare();
    assert_eq!(["config", "HEAD"].map(|name| fs::read(it.dir().join(name)).unwrap()), whole);
    let before = it.outside("box");
    let tip = it.commit("new", "new\n");
    assert_eq!(it.look(), super::took("1 commit", &before, &tip));
}

/// Refs are text to us; what cannot be told apart from others would never be taken over.
#[test]
fn a_branch_whose_name_is_not_text_is_not_confined() {
    let it = Confined::new();
    let odd = |lead: &[u8]| std::ffi::OsStr::from_bytes(&[lead, b"b\xff"].concat()).to_owned();
    let mut branch = it.command(&["update-ref"]);
    let output = branch.arg(odd(b"refs/heads/")).arg("HEAD").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = "'box' also holds branch 'b\u{fffd}'; git sandbox run --confine box reaches them\n";
    assert_eq!(it.look(), said);
    let mut rename = it.test.command("git", &it.path);
    assert!(rename.args(["branch", "-m"]).arg(odd(b"")).status().unwrap().success());
    it.test
        .run_in(&it.path, &["show", "--mounts", "."])
        .stderr("error: cannot confine 'box': the name of its branch is not UTF-8\n")
        .code(1);
}
