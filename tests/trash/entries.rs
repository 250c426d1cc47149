//! The trash itself: what it leaves in git, and what happens when somebody else touches it.

use std::fs;
use std::os::unix::fs::symlink;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::write;
use crate::fixture::repository::{Format, repository, with_box};
use crate::fixture::state::{collect_garbage, entry, kept, private_anywhere, state};
use crate::fixture::trash::{only_one, trash, trashed};
use crate::fixture::work::commit;

#[track_caller]
fn succeeds(test: &Test, words: &[&str]) {
    let output = test.run(words).output();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A sandbox with two commits of its own and a change, and how it is.
fn detached(test: &Test) -> String {
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["checkout", "--quiet", "--detach"]);
    commit(test, &path, "a", "1");
    commit(test, &path, "a", "2");
    write(&path.join("b"), "staged\n");
    test.git_in(&path, &["add", "b"]);
    state(test, &path)
}

#[test]
fn a_trash_on_a_disk_that_is_away_for_a_while_is_not_forgotten() {
    let test = repository(Format::Files).unwrap();
    let before = detached(&test);
    let tip = test.git_in(&test.at("box"), &["rev-parse", "HEAD"]);
    succeeds(&test, &["rm", "--force", "box"]);
    let held = kept(&test);
    let away = test.home.join("away");
    fs::rename(trash(&test), &away).unwrap();
    drop(test.run(&["new", "other"]).output());
    drop(test.run(&["restore"]).output());
    drop(test.run(&["list"]).output());
    collect_garbage(&test);
    assert_eq!(kept(&test), held);
    test.git(&["cat-file", "-e", &tip]);
    fs::rename(&away, trash(&test)).unwrap();
    succeeds(&test, &["restore", "box"]);
    same(&state(&test, &test.at("box")), &before);
}

#[test]
fn commits_stay_when_the_trash_is_deleted_by_hand() {
    let test = repository(Format::Files).unwrap();
    detached(&test);
    let tip = test.git_in(&test.at("box"), &["rev-parse", "HEAD"]);
    succeeds(&test, &["rm", "--force", "box"]);
    fs::remove_dir_all(trash(&test)).unwrap();
    succeeds(&test, &["new", "other"]);
    // The second gc finds the entry pruned.
    collect_garbage(&test);
    collect_garbage(&test);
    test.git(&["cat-file", "-e", &tip]);
}

#[test]
fn a_journal_that_cannot_be_read_keeps_no_other_command_from_working() {
    for text in ["", "{", "{\"stage\": \"trashed\"}"] {
        let test = repository(Format::Files).unwrap();
        detached(&test);
        succeeds(&test, &["rm", "--force", "box"]);
        let folder = trashed(&test).remove(0);
        fs::write(folder.join("journal.json"), text).unwrap();
        succeeds(&test, &["new", "other"]);
        succeeds(&test, &["list"]);
        succeeds(&test, &["restore"]);
        succeeds(&test, &["rm", "other"]);
        assert_eq!(fs::read_to_string(folder.join("tree/b")).unwrap(), "staged\n");
        assert!(!kept(&test).is_empty());
    }
}

#[test]
fn only_the_reflog_of_head_gains_two_lines() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "a", "1");
    let log = entry(&test, &path).join("logs/HEAD");
    let branch_log = test.app().join(".git/logs/refs/heads/box");
    let (before, branch) = (fs::read_to_string(&log).unwrap(), fs::read(&branch_log).unwrap());
    succeeds(&test, &["rm", "box"]);
    succeeds(&test, &["restore", "box"]);
    let after = fs::read_to_string(&log).unwrap();
    let more = after.strip_prefix(&before).unwrap();
    let subjects: Vec<_> = more.lines().map(|line| line.split_once('\t').unwrap().1).collect();
    assert_eq!(subjects, ["git sandbox: removed", "git sandbox: restored"]);
    assert_eq!(fs::read(&branch_log).unwrap(), branch);
}

#[test]
fn plain_git_does_not_see_a_removed_sandbox() {
    let test = repository(Format::Files).unwrap();
    test.new_sandbox(&["box"]);
    succeeds(&test, &["rm", "box"]);
    let listed = test.git(&["worktree", "list", "--porcelain"]);
    assert_eq!(listed.split("\n\n").count(), 1, "{listed}");
    // A process that was left in it goes on working on its own HEAD and index.
    let tree = only_one(&test).join("tree");
    let tip = test.git(&["rev-parse", "box"]);
    test.commit(&tree, "late", "late\n");
    assert_eq!(test.git(&["rev-parse", "box"]), tip);
    let output = test.command("git", &test.app()).args(["worktree", "prune", "-v"]).output();
    assert_eq!(output.unwrap().stderr, b"");
    succeeds(&test, &["restore", "box"]);
}

#[test]
fn commits_are_kept_for_a_user_without_a_name() {
    let test = repository(Format::Files).unwrap();
    let before = detached(&test);
    let path = test.home.join(".gitconfig");
    test.git(&["config", "--global", "--remove-section", "user"]);
    test.git(&["config", "--global", "user.useConfigOnly", "true"]);
    test.git(&["config", "--global", "commit.gpgSign", "true"]);
    test.git(&["config", "--global", "gpg.program", "false"]);
    assert!(path.exists());
    succeeds(&test, &["rm", "--force", "box"]);
    assert!(!kept(&test).is_empty());
    collect_garbage(&test);
    succeeds(&test, &["restore", "box"]);
    same(&state(&test, &test.at("box")), &before);
}

#[test]
fn a_removed_sandbox_is_no_sandbox() {
    let test = repository(Format::Files).unwrap();
    test.new_sandbox(&["box"]);
    succeeds(&test, &["rm", "box"]);
    test.run(&["list"]).stderr("no sandboxes; 'git sandbox new <name>' makes one\n").ok();
    test.run(&["list", "--names"]).ok();
    for (word, error) in [
        ("box", "error: sandbox 'box' was removed\nhint: git sandbox restore box-ID\n"),
        (
            "tree",
            "error: no sandbox is called 'tree'\nhint: 'git sandbox list' shows what there is\n",
        ),
    ] {
        for command in ["show", "path", "rm"] {
            test.run(&[command, word]).stderr(error).code(1);
        }
    }
    assert_eq!(trashed(&test).len(), 1);
}

#[test]
fn a_sandbox_can_go_and_come_back_many_times() {
    let test = repository(Format::Files).unwrap();
    let before = detached(&test);
    for _ in 0..5 {
        succeeds(&test, &["rm", "--force", "box"]);
        succeeds(&test, &["restore", "box"]);
        same(&state(&test, &test.at("box")), &before);
        assert_eq!(kept(&test), "");
    }
}

#[test]
fn one_whose_head_is_a_symlink_is_removed_and_comes_back() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let head = entry(&test, &path).join("HEAD");
    // As git itself makes it with `core.preferSymlinkRefs`.
    fs::remove_file(&head).unwrap();
    symlink("refs/heads/box", &head).unwrap();
    write(&path.join("new"), "mine\n");
    succeeds(&test, &["rm", "--force", "box"]);
    collect_garbage(&test);
    succeeds(&test, &["restore", "box"]);
    assert_eq!(test.git_in(&path, &["status", "--porcelain", "--branch"]), "## box\n?? new");
    succeeds(&test, &["rm", "--force", "box"]);
    succeeds(&test, &["reap", "--purge"]);
    succeeds(&test, &["restore", "box"]);
    assert_eq!(test.git_in(&path, &["status", "--porcelain", "--branch"]), "## box\n?? new");
}

#[test]
fn a_journal_that_cannot_be_read_is_told_of_once() {
    let test = repository(Format::Files).unwrap();
    detached(&test);
    succeeds(&test, &["rm", "--force", "box"]);
    let folder = trashed(&test).remove(0);
    fs::write(folder.join("journal.json"), "{").unwrap();
    let output = test.run(&["restore"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("warning: ").count(), 1, "{said}");
    assert_eq!(fs::read_to_string(folder.join("tree/b")).unwrap(), "staged\n");
}

#[test]
fn one_whose_journal_and_private_git_dir_are_lost_is_told_of() {
    let (test, _) = with_box();
    succeeds(&test, &["rm", "box"]);
    let folder = only_one(&test);
    fs::write(folder.join("journal.json"), "{").unwrap();
    fs::remove_dir_all(private_anywhere(&test.app(), "box")).unwrap();
    let output = test.run(&["restore"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("warning: ").count(), 1, "{said}");
    assert!(said.contains(&folder.display().to_string()), "{said}");
    assert!(folder.join("tree/a").is_file());
}

/// What is left of it is a plain folder.
#[test]
fn a_crash_while_one_without_a_private_git_dir_comes_back_is_undone_or_completed() {
    let mut completed = 0;
    for step in 1..40 {
        let (test, path) = with_box();
        write(&path.join("a"), "edited\n");
        succeeds(&test, &["rm", "--force", "box"]);
        fs::remove_dir_all(private_anywhere(&test.app(), "box")).unwrap();
        if !test.run(&["restore", "box"]).crashes_at(step) {
            return assert!(completed > 0, "it never died in between");
        }
        let is_back = path.exists();
        completed += u32::from(is_back);
        succeeds(&test, &["reap"]);
        if !is_back {
            succeeds(&test, &["restore", "box"]);
        }
        assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "edited\n", "{step}");
        assert!(trashed(&test).is_empty(), "{step}");
    }
    panic!("it never came to its end");
}
