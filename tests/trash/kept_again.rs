//! What is kept stays kept: over a second keep, with a git that gives no answer, and beside a garbage
//! collection.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use crate::fixture::Test;
use crate::fixture::files::write;
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::{collect_garbage, is_registered, kept, private_anywhere};
use crate::fixture::trash::{only_one, trashed};

/// A removed sandbox without a branch. Its commit is kept for it alone, and with `amended` one more that
/// only its reflog has. Returns its files in the trash, and these commits.
fn removed(amended: bool) -> (Test, PathBuf, Vec<String>) {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["checkout", "--quiet", "--detach"]);
    let mut commits = vec![test.commit(&path, "a", "mine\n")];
    if amended {
        test.git_in(&path, &["commit", "--quiet", "--amend", "-m", "amended"]);
        commits.push(test.git_in(&path, &["rev-parse", "HEAD"]));
    }
    succeeds(test.run(&["rm", "--force", "box"]));
    let tree = only_one(&test).join("tree");
    (test, tree, commits)
}

/// The user goes on in the trash, from another commit, and nothing there names the old ones any more.
fn goes_on(test: &Test, tree: &std::path::Path) -> String {
    test.git_in(tree, &["checkout", "--quiet", "--detach", "main"]);
    let late = test.commit(tree, "late", "late\n");
    test.git_in(tree, &["reflog", "expire", "--expire=now", "HEAD"]);
    for name in ["ORIG_HEAD", "COMMIT_EDITMSG"] {
        let _ = fs::remove_file(private_anywhere(&test.app(), "box").join(name));
    }
    late
}

#[test]
fn a_second_keep_adds_to_the_first() {
    for amended in [false, true] {
        let (test, tree, commits) = removed(amended);
        let late = goes_on(&test, &tree);
        succeeds(test.run(&["reap", "--purge"]));
        assert!(trashed(&test).is_empty());
        collect_garbage(&test);
        for commit in commits.iter().chain([&late]) {
            assert_eq!(test.git(&["cat-file", "-t", commit]), "commit", "{amended}");
        }
        succeeds(test.run(&["restore", "box"]));
        assert_eq!(test.git_in(&test.at("box"), &["rev-parse", "HEAD"]), late);
    }
}

#[test]
fn a_second_keep_holds_what_was_staged_at_the_first() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("staged"), "staged only here\n");
    test.git_in(&path, &["add", "staged"]);
    let blob = test.git_in(&path, &["rev-parse", ":staged"]);
    write(&path.join("staged"), "and edited\n");
    succeeds(test.run(&["rm", "--force", "box"]));
    test.git_in(&only_one(&test).join("tree"), &["reset", "--quiet"]);
    succeeds(test.run(&["reap", "--purge"]));
    assert!(trashed(&test).is_empty());
    collect_garbage(&test);
    assert_eq!(test.git(&["cat-file", "blob", &blob]), "staged only here");
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(fs::read_to_string(path.join("staged")).unwrap(), "and edited\n");
}

/// From then on nothing in it seems to have changed.
#[test]
fn a_commit_that_is_made_in_the_trash_after_a_crash_of_rm_is_kept() {
    let mut seen = 0;
    for step in 1..40 {
        let test = repository(Format::Files).unwrap();
        let path = test.new_sandbox(&["box"]);
        assert!(test.run(&["rm", "box"]).crashes_at(step), "it never came to its end");
        if path.exists() || is_registered(&test.app(), "box") {
            continue;
        }
        let journal = fs::read_to_string(only_one(&test).join("journal.json")).unwrap();
        if journal.contains("\"trashed\"") {
            return assert!(seen > 0, "it never died in between");
        }
        seen += 1;
        let late = test.git(&["commit-tree", "-p", "main", "-m", "late", "main^{tree}"]);
        let private = format!("--git-dir={}", private_anywhere(&test.app(), "box").display());
        test.git(&[&private, "update-ref", "HEAD", &late]);
        succeeds(test.run(&["new", "other"]));
        succeeds(test.run(&["reap", "--purge"]));
        assert!(trashed(&test).is_empty());
        collect_garbage(&test);
        assert_eq!(test.git(&["cat-file", "-t", &late]), "commit", "{step}");
        succeeds(test.run(&["restore", "box"]));
        assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), late);
    }
    panic!("it never completed");
}

#[test]
fn a_commit_that_head_leaves_after_a_crash_of_restore_stays_kept() {
    let mut seen = 0;
    for step in 1..40 {
        let (test, _, commits) = removed(false);
        if !test.run(&["restore", "box"]).crashes_at(step) {
            return assert!(seen > 0, "it never died in between");
        }
        // When that is dropped the restore is done, and HEAD is all that keeps it.
        if kept(&test).is_empty() {
            continue;
        }
        let path = test.at("box");
        let mut leaves = test.command("git", &path);
        leaves.args(["checkout", "--quiet", "--detach", "main"]).stderr(Stdio::null());
        let left = path.exists() && leaves.status().unwrap().success();
        if left {
            test.git_in(&path, &["reflog", "expire", "--expire=now", "HEAD"]);
            let _ = fs::remove_file(private_anywhere(&test.app(), "box").join("ORIG_HEAD"));
            seen += 1;
        }
        succeeds(test.run(&["new", "other"]));
        test.git(&["gc", "--prune=now", "--quiet"]);
        assert_eq!(test.git(&["cat-file", "-t", &commits[0]]), "commit", "{step}");
    }
    panic!("it never came to its end");
}

#[test]
fn a_git_that_gives_no_answer_does_not_make_a_second_keep_forget_the_first() {
    let (test, tree, commits) = removed(true);
    goes_on(&test, &tree);
    // Only git can tell of a ref that is packed.
    test.git(&["pack-refs", "--all"]);
    let before = test.git(&["for-each-ref", "refs/sandbox"]);
    let git = test.fake_git(
        "case \"$*\" in *'rev-parse --verify --quiet refs/sandbox/kept/'*) exit 3 ;; esac\n\
         exec \"$GIT\" \"$@\"",
    );
    let output = test.program(&test.app(), &["reap", "--purge"]).env("PATH", git).output();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(test.git(&["for-each-ref", "refs/sandbox"]), before);
    collect_garbage(&test);
    for commit in &commits {
        assert_eq!(test.git(&["cat-file", "-t", commit]), "commit");
    }
    assert_eq!(trashed(&test).len(), 1);
}

#[test]
fn a_head_that_was_written_in_place_is_kept_too() {
    let (test, tree, _) = removed(false);
    let words = ["commit-tree", "-p", "HEAD", "-m", "late", "HEAD^{tree}"];
    let late = test.git_in(&tree, &words);
    let head = private_anywhere(&test.app(), "box").join("HEAD");
    let before = fs::read(&head).unwrap();
    fs::write(&head, format!("{late}\n")).unwrap();
    assert_eq!(fs::read(&head).unwrap().len(), before.len());
    succeeds(test.run(&["reap", "--purge"]));
    collect_garbage(&test);
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(test.git_in(&test.at("box"), &["rev-parse", "HEAD"]), late);
    assert_eq!(test.git(&["cat-file", "-t", &late]), "commit");
}

#[test]
fn a_file_that_vanishes_before_it_is_kept_stops_the_removal() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("a"), "staged\n");
    test.git_in(&path, &["add", "a"]);
    write(&path.join("a"), "edited\n");
    let blob = test.git_in(&path, &["rev-parse", ":a"]);
    let object = test.app().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    // As a `git gc --prune=now` does.
    let git = test.fake_git(&format!(
        "case \" $* \" in *' mktree '*) rm -f '{}' ;; esac\nexec \"$GIT\" \"$@\"",
        object.display()
    ));
    let run = test.program(&test.app(), &["rm", "--force", "box"]).env("PATH", git);
    run.stderr("error: cannot keep what only it holds: an object has vanished\n").code(1);
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "edited\n");
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "box");
    assert!(trashed(&test).is_empty() && kept(&test).is_empty());
}

/// What it looked like is noted before it is read, or the commit would seem to be kept.
#[test]
fn a_commit_that_is_made_while_a_second_keep_ends_is_found_by_the_next_reap() {
    let (test, tree, _) = removed(false);
    goes_on(&test, &tree);
    let git = test.fake_git(&format!(
        "\"$GIT\" \"$@\" || exit\n\
         case \" $* \" in *' update-ref refs/sandbox/kept/'*)\n\
         mkdir \"$HOME/committed\" 2>/dev/null || exit 0\n\
         \"$GIT\" -C '{}' commit --quiet --allow-empty -m later ;; esac",
        tree.display()
    ));
    let nothing = "nothing to clean up (0 sandboxes)\n";
    test.program(&test.app(), &["reap"]).env("PATH", git).stderr(nothing).ok();
    assert!(test.home.join("committed").is_dir());
    let late = test.git_in(&tree, &["rev-parse", "HEAD"]);
    assert_eq!(test.git_in(&tree, &["log", "-1", "--format=%s"]), "later");
    test.run(&["reap"]).stderr(nothing).ok();
    collect_garbage(&test);
    assert_eq!(test.git(&["cat-file", "-t", &late]), "commit");
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(test.git_in(&test.at("box"), &["rev-parse", "HEAD"]), late);
}

#[test]
fn a_second_keep_whose_file_vanishes_leaves_the_ref_of_the_first() {
    let (test, tree, commits) = removed(true);
    let before = test.git(&["for-each-ref", "refs/sandbox"]);
    write(&tree.join("late"), "staged late\n");
    test.git_in(&tree, &["add", "late"]);
    let blob = test.git_in(&tree, &["rev-parse", ":late"]);
    let object = test.app().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    let git = test.fake_git(&format!(
        "case \" $* \" in *' mktree '*) rm -f '{}' ;; esac\nexec \"$GIT\" \"$@\"",
        object.display()
    ));
    let output = test.program(&test.app(), &["reap", "--purge"]).env("PATH", git).output();
    let said = String::from_utf8(output.stdout).unwrap();
    let why = "kept in the trash: cannot keep what only it holds: an object has vanished, ";
    assert!(said.lines().count() == 1 && said.contains(why), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert!(!object.exists());
    // A ref that leads to a file which is not there would end every garbage collection.
    assert_eq!(test.git(&["for-each-ref", "refs/sandbox"]), before);
    test.git(&["gc", "--quiet", "--prune=now"]);
    for commit in &commits {
        assert_eq!(test.git(&["cat-file", "-t", commit]), "commit");
    }
    assert_eq!(fs::read_to_string(tree.join("late")).unwrap(), "staged late\n");
}

#[test]
fn the_sides_of_a_conflict_that_are_in_no_commit_are_kept() {
    for resolved in [false, true] {
        let test = repository(Format::Files).unwrap();
        let path = test.new_sandbox(&["box"]);
        let script = "for side in 2 3; do
            printf '100644 %s %s\\tboth\\n' $(echo side $side | git hash-object -w --stdin) $side
            done | git update-index --index-info";
        assert!(test.command("sh", &path).args(["-c", script]).status().unwrap().success());
        let listed = test.git_in(&path, &["ls-files", "-u"]);
        let sides: Vec<_> = listed.lines().map(|line| line[7..47].to_owned()).collect();
        assert_eq!(sides.len(), 2);
        write(&path.join("both"), "side 2\n");
        if resolved {
            // What it was can be had again by `git checkout --merge`.
            test.git_in(&path, &["add", "both"]);
        }
        succeeds(test.run(&["rm", "--force", "box"]));
        collect_garbage(&test);
        succeeds(test.run(&["restore", "box"]));
        let which = if resolved { "--resolve-undo" } else { "-u" };
        assert_eq!(test.git_in(&path, &["ls-files", which]), listed);
        for (side, number) in sides.iter().zip([2, 3]) {
            assert_eq!(test.git(&["cat-file", "-p", side]), format!("side {number}"));
        }
    }
}

#[test]
fn the_ref_of_an_item_of_the_vault_is_made_again_by_a_reap() {
    let (test, _, commits) = removed(true);
    succeeds(test.run(&["reap", "--purge"]));
    assert!(trashed(&test).is_empty());
    let before = test.git(&["for-each-ref", "refs/sandbox"]);
    let name = kept(&test);
    test.git(&["update-ref", "-d", name.split_whitespace().last().unwrap()]);
    test.run(&["reap", "--dry-run"]).stderr("nothing to clean up (0 sandboxes)\n").ok();
    assert_eq!(test.git(&["for-each-ref", "refs/sandbox"]), "");
    test.run(&["reap"]).stderr("nothing to clean up (0 sandboxes)\n").ok();
    assert_eq!(test.git(&["for-each-ref", "refs/sandbox"]), before);
    collect_garbage(&test);
    for commit in &commits {
        assert_eq!(test.git(&["cat-file", "-t", commit]), "commit");
    }
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(fs::read_to_string(test.at("box").join("a")).unwrap(), "mine\n");
}

#[test]
fn what_only_a_replacement_reaches_is_kept_by_itself() {
    let (test, tree, commits) = removed(false);
    succeeds(test.run(&["restore", "box"]));
    let path = test.at("box");
    test.git_in(&path, &["reset", "--quiet", "--hard", "main"]);
    let last = test.commit(&path, "b", "last\n");
    test.git(&["replace", "--graft", &last, &commits[0]]);
    succeeds(test.run(&["rm", "box"]));
    assert!(!tree.exists());
    test.git(&["replace", "-d", &last]);
    collect_garbage(&test);
    assert_eq!(test.git(&["cat-file", "-t", &commits[0]]), "commit");
}
