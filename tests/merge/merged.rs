//! Whether a sandbox's work is in its base: what counts as merged, what does not, and what may be
//! done on that ground.

use std::path::PathBuf;

use crate::fixture::Test;
use crate::fixture::built::program;
use crate::fixture::files::write;
use crate::fixture::merge::can_tell;
use crate::fixture::repository::{Format, repository};
use crate::fixture::state::kept;

/// A sandbox with two commits that change one file each.
fn two_commits() -> (Test, PathBuf) {
    let test = repository(Format::Files).unwrap();
    let lines: Vec<String> = (1..40).map(|number| number.to_string()).collect();
    write(&test.app().join("long"), &(lines.join("\n") + "\n"));
    test.git(&["add", "long"]);
    test.git(&["commit", "--quiet", "-m", "long"]);
    let path = test.new_sandbox(&["box"]);
    change(&test, &path, 10, "ten");
    change(&test, &path, 12, "twelve");
    (test, path)
}

/// Commits a change of one line of `long`.
fn change(test: &Test, path: &std::path::Path, line: usize, text: &str) {
    let file = std::fs::read_to_string(path.join("long")).unwrap();
    let mut lines: Vec<_> = file.lines().collect();
    lines[line - 1] = text;
    write(&path.join("long"), &(lines.join("\n") + "\n"));
    test.git_in(path, &["commit", "--quiet", "--all", "-m", text]);
}

#[track_caller]
fn is_merged(test: &Test) -> bool {
    let list = test.json(&["list", "--json"]);
    let show = test.json(&["show", "box", "--json"]);
    assert_eq!(list[0]["merged"], show["merged"]);
    show["merged"].as_bool().unwrap()
}

/// `rm --delete-branch` deletes the branch, and its commits can always be had back.
#[track_caller]
fn goes_and_comes_back(test: &Test) {
    let tip = test.git(&["rev-parse", "box"]);
    let before = test.git(&["log", "--format=%H", "box"]);
    let output = test.run(&["rm", "--delete-branch", "box"]).output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!test.branches().contains(&"box".to_owned()));
    assert!(!kept(test).is_empty());
    test.git(&["reflog", "expire", "--expire=now", "--all"]);
    test.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(test.git(&["log", "--format=%H", &tip]), before);
    let output = test.run(&["restore", "box"]).output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(test.git(&["rev-parse", "box"]), tip);
}

#[track_caller]
fn stays(test: &Test) {
    let tip = test.git(&["rev-parse", "box"]);
    let output = test.run(&["rm", "--delete-branch", "box"]).output();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(test.git(&["rev-parse", "box"]), tip);
}

#[test]
fn the_same_commit_and_an_ancestor_are_merged() {
    let (test, _) = two_commits();
    assert!(!is_merged(&test));
    test.git(&["merge", "--quiet", "--ff-only", "box"]);
    assert!(is_merged(&test));
    change(&test, &test.app(), 12, "another");
    assert!(is_merged(&test));
    goes_and_comes_back(&test);
}

#[test]
fn a_squash_is_merged_whatever_came_after_it_in_other_places() {
    let (test, _) = two_commits();
    change(&test, &test.app(), 30, "before");
    test.git(&["merge", "--quiet", "--squash", "box"]);
    test.git(&["commit", "--quiet", "-m", "squashed"]);
    assert!(is_merged(&test));
    change(&test, &test.app(), 35, "after");
    assert!(is_merged(&test));
    goes_and_comes_back(&test);
}

#[test]
fn a_squash_is_merged_though_its_lines_were_changed_again() {
    let (test, _) = two_commits();
    test.git(&["merge", "--quiet", "--squash", "box"]);
    test.git(&["commit", "--quiet", "-m", "squashed"]);
    change(&test, &test.app(), 10, "again");
    change(&test, &test.app(), 12, "and again");
    assert!(is_merged(&test));
    goes_and_comes_back(&test);
}

#[test]
fn picked_commits_are_merged_though_their_lines_were_changed_again() {
    let (test, _) = two_commits();
    change(&test, &test.app(), 30, "before");
    test.git(&["cherry-pick", "box~1"]);
    assert!(!is_merged(&test));
    test.git(&["cherry-pick", "box"]);
    assert!(is_merged(&test));
    change(&test, &test.app(), 10, "again");
    change(&test, &test.app(), 12, "and again");
    assert!(is_merged(&test));
    goes_and_comes_back(&test);
}

#[test]
fn a_rebased_branch_is_merged() {
    let (test, path) = two_commits();
    change(&test, &test.app(), 30, "before");
    test.git_in(&path, &["rebase", "--quiet", "main"]);
    test.git(&["merge", "--quiet", "--ff-only", "box"]);
    // As it was before its rebase, on another machine say.
    test.git_in(&path, &["reset", "--quiet", "--hard", "box@{1}"]);
    assert!(is_merged(&test));
    goes_and_comes_back(&test);
}

#[test]
fn what_only_the_upstream_of_the_base_has_is_merged() {
    let (test, _) = two_commits();
    test.git_in(&test.home, &["clone", "--quiet", "app", "hub"]);
    let hub = test.home.join("hub");
    test.git(&["remote", "add", "hub", &hub.display().to_string()]);
    test.git(&["fetch", "--quiet", "hub"]);
    test.git(&["branch", "--quiet", "--set-upstream-to=hub/main", "main"]);
    assert!(!is_merged(&test));
    test.git_in(&hub, &["merge", "--quiet", "--squash", "origin/box"]);
    test.git_in(&hub, &["commit", "--quiet", "-m", "squashed"]);
    test.git(&["fetch", "--quiet", "hub"]);
    assert!(is_merged(&test));
    goes_and_comes_back(&test);
}

#[test]
fn a_commit_and_its_revert_are_never_lost() {
    let (test, path) = two_commits();
    test.git_in(&path, &["revert", "--no-edit", "HEAD~1.."]);
    test.git_in(&path, &["revert", "--no-edit", "HEAD~2"]);
    if can_tell(&test) { goes_and_comes_back(&test) } else { stays(&test) }
}

#[test]
fn work_that_is_elsewhere_or_nowhere_is_not_merged() {
    let (test, path) = two_commits();
    test.git(&["checkout", "--quiet", "-b", "other"]);
    test.git(&["merge", "--quiet", "box"]);
    assert!(!is_merged(&test));
    test.git(&["checkout", "--quiet", "main"]);
    test.git(&["merge", "--quiet", "--squash", "box~1"]);
    test.git(&["commit", "--quiet", "-m", "half"]);
    assert!(!is_merged(&test));
    test.git(&["merge", "--quiet", "--squash", "box"]);
    test.git(&["commit", "--quiet", "-m", "whole"]);
    assert!(is_merged(&test));
    change(&test, &path, 14, "more");
    assert!(!is_merged(&test));
    stays(&test);
}

#[test]
fn a_squash_that_was_reverted_may_count_but_loses_nothing() {
    let (test, _) = two_commits();
    test.git(&["merge", "--quiet", "--squash", "box"]);
    test.git(&["commit", "--quiet", "-m", "squashed"]);
    test.git(&["revert", "--no-edit", "HEAD"]);
    goes_and_comes_back(&test);
}

#[test]
fn an_unrelated_history_is_not_merged_and_disturbs_no_other() {
    let (test, path) = two_commits();
    test.git(&["merge", "--quiet", "--squash", "box"]);
    test.git(&["commit", "--quiet", "-m", "squashed"]);
    let odd = test.new_sandbox(&["alone"]);
    test.git_in(&odd, &["checkout", "--quiet", "--orphan", "root"]);
    test.git_in(&odd, &["commit", "--quiet", "-m", "root"]);
    test.git_in(&odd, &["checkout", "--quiet", "-B", "alone"]);
    let list = test.json(&["list", "--json"]);
    let merged: Vec<_> =
        list.as_array().unwrap().iter().map(|it| (&it["name"], &it["merged"])).collect();
    assert_eq!(merged, [(&"alone".into(), &false.into()), (&"box".into(), &true.into())]);
    // And one that was merged with it.
    test.git_in(
        &path,
        &["merge", "--quiet", "--allow-unrelated-histories", "-s", "ours", "--no-edit", "alone"],
    );
    assert!(!test.json(&["show", "box", "--json"])["merged"].as_bool().unwrap());
}

#[test]
fn merge_commits_in_the_branch_do_not_hinder() {
    let (test, path) = two_commits();
    change(&test, &test.app(), 30, "before");
    test.git_in(&path, &["merge", "--quiet", "--no-edit", "main"]);
    change(&test, &path, 14, "fourteen");
    test.git(&["merge", "--quiet", "--squash", "box"]);
    test.git(&["commit", "--quiet", "-m", "squashed"]);
    assert_eq!(is_merged(&test), can_tell(&test));
    if can_tell(&test) { goes_and_comes_back(&test) } else { stays(&test) }
}

#[test]
fn reap_merged_takes_them_and_nothing_else() {
    let (test, path) = two_commits();
    let open = test.new_sandbox(&["open"]);
    change(&test, &open, 20, "open");
    let fresh = test.new_sandbox(&["fresh"]);
    test.git(&["merge", "--quiet", "--squash", "box"]);
    test.git(&["commit", "--quiet", "-m", "squashed"]);
    let dry = test.run(&["reap", "--merged", "--dry-run"]).output();
    assert!(dry.status.success());
    assert!(path.exists());
    let output = test.run(&["reap", "--merged"]).output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!path.exists() && open.exists() && fresh.exists());
    assert!(test.branches().contains(&"box".to_owned()));
}

/// What `list --json` answers, and how many git processes that takes besides a status for each.
#[track_caller]
fn listed(test: &Test) -> (serde_json::Value, usize) {
    let log = test.home.join("starts");
    drop(std::fs::remove_file(&log));
    let path = test.fake_git("echo \"$@\" >>\"$HOME/starts\"; exec \"$GIT\" \"$@\"");
    let mut command = test.command(program(), &test.app());
    // A status of each takes its time on a busy machine.
    let output = command.args(["list", "--json"]).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let starts = std::fs::read_to_string(log).unwrap();
    let others = starts.lines().filter(|line| !line.contains(" status ")).count();
    (serde_json::from_slice(&output.stdout).unwrap(), others)
}

#[test]
fn two_hundred_branches_take_as_many_processes_as_ten() {
    let test = repository(Format::Files).unwrap();
    // Of four, one is merged by content, one was picked and then changed again, two are not merged.
    let commit = |branch: &str, from: &str, file: &str, text: &str| {
        format!(
            "commit refs/heads/{branch}\ncommitter A <a@b> 1767225600 +0000\ndata 2\nx\n{from}\
             M 644 inline {file}\ndata {}\n{text}\n",
            text.len()
        )
    };
    let mut input = String::new();
    for number in 0..200 {
        let file = format!("f{number}");
        input += &commit(&format!("b{number}"), "from refs/heads/main^0\n", &file, "own\n");
    }
    for number in 0..200 {
        let file = format!("f{number}");
        let texts: &[&str] = [&["own\n"][..], &["own\n", "again\n"], &[], &[]][number % 4];
        for (index, text) in texts.iter().enumerate() {
            let start = if number + index == 0 { "from refs/heads/main^0\n" } else { "" };
            input += &commit("base", start, &file, text);
        }
    }
    let file = test.home.join("import");
    write(&file, &input);
    let mut git = test.command("git", &test.app());
    let import = std::fs::File::open(&file).unwrap();
    let output = git.args(["fast-import", "--quiet"]).stdin(import).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut counts = Vec::new();
    for range in [0..10, 10..200] {
        for number in range {
            let branch = format!("b{number}");
            let path = test.at(&branch);
            test.git(&["worktree", "add", "--quiet", &path.display().to_string(), &branch]);
            let entry = test.app().join(".git/worktrees").join(&branch);
            write(&entry.join("sandbox.json"), "{\"base\": \"base\"}");
        }
        let (list, processes) = listed(&test);
        counts.push(processes);
        for facts in list.as_array().unwrap() {
            let number: u32 = facts["name"].as_str().unwrap()[1..].parse().unwrap();
            assert_eq!(facts["merged"].as_bool(), Some(number % 4 < 2), "{number}");
        }
    }
    assert_eq!(counts[0], counts[1]);
}

/// What is left of the diff is the patch of another commit.
#[test]
fn a_diff_that_git_does_not_complete_is_not_compared() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    for folder in [&path, &test.app()] {
        write(&folder.join("a"), "mine\n");
    }
    test.git(&["commit", "--quiet", "--all", "-m", "a half"]);
    write(&path.join("b"), "mine\n");
    test.git_in(&path, &["add", "--all"]);
    test.git_in(&path, &["commit", "--quiet", "-m", "both"]);
    let tip = test.git(&["rev-parse", "box"]);
    let git = test.fake_git(
        "case \" $* \" in *' diff-tree --stdin -p '*) ;; *) exec \"$GIT\" \"$@\" ;; esac\n\
         \"$GIT\" \"$@\" | awk '/^diff --git a.b / { cut = 1 } /^[0-9a-f]+$/ { cut = 0 } !cut'\n\
         exit 128",
    );
    let run = test.program(&test.app(), &["rm", "--delete-branch", "box"]).env("PATH", git);
    assert_eq!(run.output().status.code(), Some(1));
    assert_eq!(test.git(&["rev-parse", "box"]), tip);
    assert!(!path.exists());
}
