//! `git sandbox new` of what is there already, or was.

use std::fs;
use std::path::Path;

use crate::fixture::files::{tree, write};
use crate::fixture::time::set_day;
use crate::fixture::{NOW, Test};

#[test]
fn resuming_keeps_the_work_and_marks_the_use() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix", "A", "task"]);
    write(&path.join("file"), "edited\n");
    write(&path.join("sub/new"), "untracked\n");
    test.git_in(&path, &["add", "file"]);
    set_day(&path, 2);
    let (files, entry) = (tree(&path, &[]), tree(&test.app(), &["sandbox.lock"]));
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("task: A task\nresumed sandbox 'fix'\n")
        .ok();
    assert_eq!(tree(&path, &[]), files);
    assert_eq!(tree(&test.app(), &["sandbox.lock"]), entry);
    let used: chrono::DateTime<chrono::Utc> =
        fs::metadata(&path).unwrap().modified().unwrap().into();
    assert_eq!(used, NOW.parse::<chrono::DateTime<chrono::Utc>>().unwrap());
}

#[test]
fn a_task_is_kept_until_another_is_given() {
    let test = Test::new();
    test.new_sandbox(&["fix", "first"]);
    test.run(&["new", "fix", "second", "thought"])
        .stdout("$ROOT/fix\n")
        .stderr("task: second thought\nresumed sandbox 'fix'\n")
        .ok();
    let facts = test.json(&["show", "fix", "--json"]);
    assert_eq!((&facts["task"], &facts["base"]), (&"second thought".into(), &"main".into()));
    assert_eq!(facts["created"], NOW);
}

#[test]
fn a_worktree_of_plain_git_is_resumed() {
    let test = Test::new();
    test.git(&["worktree", "add", "--quiet", "../plain/tree", "-b", "fix"]);
    test.run(&["new", "fix", "A", "task"])
        .stdout("$HOME/plain/tree\n")
        .stderr("task: A task\nresumed sandbox 'tree'\n")
        .ok();
    assert_eq!(test.sandboxes(), [""; 0]);
    assert_eq!(test.json(&["show", "tree", "--json"])["task"], "A task");
}

#[test]
fn a_branch_being_rebased_in_a_linked_worktree_is_resumed() {
    for style in ["--merge", "--apply"] {
        let test = Test::new();
        let path = test.new_sandbox(&["fix"]);
        test.commit(&path, "file", "ours\n");
        test.commit(&test.app(), "file", "theirs\n");
        let rebase = test.command("git", &path).args(["rebase", style, "main"]).output().unwrap();
        assert!(!rebase.status.success());
        let before = tree(&path, &[]);
        test.run(&["new", "fix"]).stdout("$ROOT/fix\n").stderr("resumed sandbox 'fix'\n").ok();
        assert_eq!(tree(&path, &[]), before);
        assert_eq!(test.linked().len(), 1);
        assert_eq!(test.json(&["show", "fix", "--json"])["operation"], "rebase");
    }
}

#[test]
fn a_branch_being_bisected_in_a_linked_worktree_is_resumed() {
    let test = Test::new();
    test.git(&["worktree", "add", "--quiet", "../plain", "-b", "fix"]);
    let path = test.home.join("plain");
    for text in ["two\n", "three\n", "four\n"] {
        test.commit(&path, "file", text);
    }
    test.git_in(&path, &["bisect", "start", "HEAD", "HEAD~3"]);
    test.run(&["new", "fix"]).stdout("$HOME/plain\n").stderr("resumed sandbox 'plain'\n").ok();
    assert_eq!(test.linked().len(), 1);
}

#[test]
fn a_locked_sandbox_is_resumed_and_stays_locked() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    test.git(&["worktree", "lock", "--reason", "mine", &path.to_string_lossy()]);
    test.run(&["new", "fix"]).stdout("$ROOT/fix\n").stderr("resumed sandbox 'fix'\n").ok();
    assert_eq!(test.json(&["show", "fix", "--json"])["locked"], "mine");
}

#[test]
fn a_sandbox_is_resumed_from_inside_itself() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    test.run_in(&path, &["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("resumed sandbox 'fix'\n")
        .ok();
}

#[test]
fn another_root_does_not_hide_the_sandbox_of_a_branch() {
    let test = Test::new();
    test.new_sandbox(&["fix"]);
    test.run(&["new", "fix", "--root", "../other"])
        .stdout("$ROOT/fix\n")
        .stderr("resumed sandbox 'fix'\n")
        .ok();
    assert!(!test.home.join("other").exists());
}

#[test]
fn from_is_refused_where_the_branch_has_a_sandbox() {
    let test = Test::new();
    test.new_sandbox(&["fix"]);
    test.run(&["new", "fix", "--from", "main"])
        .stderr(
            "error: cannot use '--from': branch 'fix' exists in a sandbox\n\
             hint: to use it as it is: git sandbox new fix\n",
        )
        .refused();
}

#[test]
fn a_damaged_sandbox_is_not_resumed() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    fs::remove_file(path.join(".git")).unwrap();
    test.run(&["new", "fix"])
        .stderr(
            "error: sandbox 'fix' is damaged: its '.git' file is missing or not understood\n\
             hint: git worktree repair\n",
        )
        .refused();
}

fn delete(path: &Path) {
    fs::remove_dir_all(path).unwrap();
}

#[test]
fn a_sandbox_whose_folder_was_deleted_is_made_anew() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    let commit = test.commit(&path, "file", "two\n");
    delete(&path);
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("created sandbox 'fix': branch 'fix'\n")
        .ok();
    assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), commit);
    assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "");
    assert_eq!(test.linked(), [path.to_string_lossy()]);
    let kept = test.git(&["for-each-ref", "--format=%(refname)", "refs/sandbox"]);
    assert!(kept.starts_with("refs/sandbox/kept/fix-"), "{kept}");
}

#[test]
fn a_sandbox_is_made_anew_when_the_projects_whole_folder_was_deleted() {
    let test = Test::new();
    test.new_sandbox(&["fix"]);
    delete(&test.root());
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("created sandbox 'fix': branch 'fix'\n")
        .ok();
    assert_eq!(test.linked().len(), 1);
}

#[test]
fn commits_that_only_a_deleted_folder_had_are_kept() {
    let test = Test::new();
    let path = test.new_sandbox(&["--detach", "look"]);
    let left = test.commit(&path, "file", "two\n");
    test.git_in(&path, &["checkout", "--quiet", "main~0"]);
    let head = test.commit(&path, "file", "three\n");
    delete(&path);
    let output = test.run(&["new", "--detach", "look"]).output();
    let kept = test.git(&["for-each-ref", "--format=%(refname)", "refs/sandbox/kept"]);
    assert!(kept.starts_with("refs/sandbox/kept/exploration-look-"), "{kept}");
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        format!(
            "the folder of 'exploration-look' was gone; kept 2 commits only here in {kept}\n\
             created sandbox 'exploration-look': detached at 'main'\n"
        )
    );
    let parents = test.git(&["rev-parse", &format!("{kept}^1"), &format!("{kept}^2")]);
    let mut parents: Vec<_> = parents.lines().collect();
    let mut wanted = [&*left, &*head];
    parents.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(parents, wanted);
    assert_eq!(test.git(&["ls-tree", &kept]), "");
    assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), test.git(&["rev-parse", "main"]));
}

#[test]
fn a_folder_on_a_disk_that_is_not_there_is_not_forgotten() {
    let test = Test::new();
    test.new_sandbox(&["fix", "--dir", "../disk"]);
    fs::rename(test.home.join("disk"), test.home.join("unmounted")).unwrap();
    test.run(&["new", "fix"])
        .stderr(
            "error: cannot reach sandbox 'fix' at '$HOME/disk/fix': \
             the folder that holds it is not there either\n\
             hint: mount the disk it is on, or, if it is gone for good:\n\
             hint: git worktree remove --force --force $HOME/disk/fix\n",
        )
        .refused();
}

#[test]
fn a_locked_sandbox_whose_folder_is_gone_is_not_forgotten() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    test.git(&["worktree", "lock", &path.to_string_lossy()]);
    delete(&path);
    test.run(&["new", "fix"])
        .stderr(
            "error: cannot reach sandbox 'fix' at '$ROOT/fix': \
             it is locked and its folder is not there\n\
             hint: mount the disk it is on, or, if it is gone for good:\n\
             hint: git worktree remove --force --force $ROOT/fix\n",
        )
        .refused();
}

#[test]
fn one_whose_root_or_parent_folder_is_away_is_not_made_anew() {
    let test = Test::new();
    test.new_sandbox(&["box"]);
    let root = test.home.join(".cache/git-sandbox/worktrees");
    fs::rename(&root, test.home.join("away")).unwrap();
    let output = test.run(&["new", "box"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("the root is not there either"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    fs::rename(test.home.join("away"), &root).unwrap();
    assert_eq!(test.git_in(&test.at("box"), &["branch", "--show-current"]), "box");
    let elsewhere = test.home.join("elsewhere");
    test.new_sandbox(&["other", "--dir", &elsewhere.display().to_string()]);
    fs::rename(&elsewhere, test.home.join("away")).unwrap();
    let output = test.run(&["new", "other"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("the folder that holds it is not there either"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert!(!elsewhere.exists() && test.linked().len() == 2);
}
