//! A git that fails has given no answer: nothing is removed, restored or taken for lost on account of it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::write;
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::{kept, private_anywhere, state};
use crate::fixture::trash::{only_one, trashed};
use crate::fixture::work::commit;

/// A PATH with a git that does what is asked, and then fails where its words have these among them.
fn failing(test: &Test, words: &[&str]) -> String {
    let cases: Vec<String> = words.iter().map(|words| format!("*' {words} '*")).collect();
    let cases = cases.join("|");
    test.fake_git(&format!(
        "case \" $* \" in {cases}) \"$GIT\" \"$@\" >/dev/null; echo broken >&2; exit 128 ;; esac\n\
         exec \"$GIT\" \"$@\""
    ))
}

/// A sandbox whose HEAD is on no branch, at a commit that only it has.
fn detached() -> (Test, PathBuf, String) {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["checkout", "--quiet", "--detach"]);
    commit(&test, &path, "a", "mine\n");
    let head = test.git_in(&path, &["rev-parse", "HEAD"]);
    (test, path, head)
}

/// `rm` with such a git says this, exits with 1, and leaves everything as it was.
#[track_caller]
fn refuses(test: &Test, path: &Path, words: &[&str], git: String, said: &str) {
    let before = (state(test, path), test.git(&["worktree", "list", "--porcelain"]));
    let words = [&["rm"], words, &["box"]].concat();
    test.program(&test.app(), &words).env("PATH", git).stderr(said).code(1);
    same(&state(test, path), &before.0);
    same(&test.git(&["worktree", "list", "--porcelain"]), &before.1);
    assert_eq!(kept(test), "");
    assert!(trashed(test).is_empty());
}

#[test]
fn one_whose_commits_cannot_be_compared_stays() {
    let (test, path, _) = detached();
    let git = || failing(&test, &["rev-list --parents"]);
    for words in [&[][..], &["--force"]] {
        refuses(&test, &path, words, git(), "error: cannot compare its commits: broken\n");
    }
}

#[test]
fn one_whose_own_refs_cannot_be_read_stays() {
    let (test, path, _) = detached();
    write(&path.join("note"), "only here\n");
    let blob = test.git_in(&path, &["hash-object", "-w", "note"]);
    fs::remove_file(path.join("note")).unwrap();
    test.git_in(&path, &["update-ref", "refs/worktree/note", &blob]);
    let git = || failing(&test, &["cat-file --batch-check=%(objectname) %(objecttype)"]);
    refuses(&test, &path, &["--force"], git(), "error: cannot read its commits: broken\n");
    assert_eq!(test.git_in(&path, &["cat-file", "blob", "refs/worktree/note"]), "only here");
}

#[test]
fn one_whose_files_cannot_be_looked_at_again_stays() {
    let (test, path, _) = detached();
    write(&path.join("a"), "staged\n");
    test.git_in(&path, &["add", "a"]);
    write(&path.join("a"), "edited\n");
    // All that it was asked for is there, and it fails nevertheless.
    let git = test.fake_git(
        "case \" $* \" in *' cat-file --batch-check=%(objectname) --buffer '*)\n\
         \"$GIT\" \"$@\"; echo broken >&2; exit 128 ;; esac\n\
         exec \"$GIT\" \"$@\"",
    );
    let said = "error: cannot keep what only it holds: an object has vanished\n";
    refuses(&test, &path, &["--force"], git, said);
}

#[test]
fn one_whose_branch_cannot_be_kept_stays_on_it() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let git = test.fake_git(
        "case \" $* \" in *' update-ref '*' --stdin '*) echo broken >&2; exit 128 ;; esac\n\
         exec \"$GIT\" \"$@\"",
    );
    refuses(&test, &path, &[], git, "error: cannot keep its commit and detach HEAD: broken\n");
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "box");
}

#[test]
fn one_whose_hidden_files_cannot_be_read_stays() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["update-index", "--assume-unchanged", "a"]);
    write(&path.join("a"), "hidden\n");
    let git = failing(&test, &["update-index -z --index-info"]);
    let said = "error: cannot remove 'box': cannot tell: cannot read its hidden files: broken\n\
                hint: to move it to the trash as it is: git sandbox rm --force box\n";
    refuses(&test, &path, &[], git, said);
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "hidden\n");
}

/// Removes a sandbox whose user goes on in the trash, so that a restore keeps it once more.
fn gone_on() -> (Test, PathBuf, String) {
    let (test, path, head) = detached();
    succeeds(test.run(&["rm", "--force", "box"]));
    let tree = only_one(&test).join("tree");
    write(&tree.join("late"), "staged\n");
    test.git_in(&tree, &["add", "late"]);
    write(&tree.join("late"), "edited\n");
    (test, path, head)
}

/// `restore` with such a git says this, and a later one brings everything back.
#[track_caller]
fn restores_later(words: &[&str], said: &str) {
    let (test, path, head) = gone_on();
    let git = failing(&test, words);
    let before = test.git(&["for-each-ref", "refs/sandbox"]);
    test.program(&test.app(), &["restore", "box"]).env("PATH", git).stderr(said).code(1);
    assert!(!path.exists() && only_one(&test).join("tree/a").exists());
    assert_eq!(test.git(&["for-each-ref", "refs/sandbox"]), before);
    assert_ne!(before, "");
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), head);
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "mine\n");
    assert_eq!(test.git_in(&path, &["show", ":late"]), "staged");
    assert_eq!(fs::read_to_string(path.join("late")).unwrap(), "edited\n");
    assert!(trashed(&test).is_empty());
}

#[test]
fn a_restore_that_cannot_keep_it_again_does_not_call_its_commits_lost() {
    restores_later(&["mktree --missing"], "error: cannot keep what only it holds: broken\n");
}

#[test]
fn a_restore_that_cannot_look_for_its_commits_does_not_call_them_lost() {
    let words = ["mktree --missing", "cat-file --batch-check=%(objecttype)"];
    restores_later(&words, "error: cannot find what was kept: broken\n");
}

#[test]
fn one_with_an_index_that_git_cannot_read_comes_back_after_its_user_went_on_in_the_trash() {
    let (test, path, head) = detached();
    let index = private_anywhere(&test.app(), "box").join("index");
    fs::write(&index, "no index\n").unwrap();
    succeeds(test.run(&["rm", "--force", "--force", "box"]));
    let tree = only_one(&test).join("tree");
    test.git_in(&tree, &["update-ref", "refs/worktree/late", "main"]);
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(fs::read_to_string(&index).unwrap(), "no index\n");
    assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), head);
    assert_eq!(
        test.git_in(&path, &["rev-parse", "refs/worktree/late"]),
        test.git(&["rev-parse", "main"])
    );
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "mine\n");
}

#[test]
fn one_whose_commits_cannot_be_kept_stays() {
    let (test, path, head) = detached();
    let git = test.fake_git(
        "case \" $* \" in *' update-ref refs/sandbox/kept/'*) echo broken >&2; exit 128 ;; esac\n\
         exec \"$GIT\" \"$@\"",
    );
    refuses(&test, &path, &["--force"], git, "error: cannot keep what only it holds: broken\n");
    assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), head);
}

#[test]
fn one_without_a_commit_and_without_an_index_goes_and_comes_back() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["switch", "--quiet", "--orphan", "later"]);
    fs::remove_file(private_anywhere(&test.app(), "box").join("index")).unwrap();
    write(&path.join("mine"), "mine\n");
    succeeds(test.run(&["rm", "--force", "box"]));
    assert_eq!(fs::read_to_string(only_one(&test).join("tree/mine")).unwrap(), "mine\n");
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(fs::read_to_string(path.join("mine")).unwrap(), "mine\n");
    assert_eq!(test.git_in(&path, &["symbolic-ref", "HEAD"]), "refs/heads/later");
    assert!(trashed(&test).is_empty());
}
