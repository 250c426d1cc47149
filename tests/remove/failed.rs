//! A removal that fails half way, or that a crash stopped and somebody went on from.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{names_in, write};
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::{entry, kept, private, private_anywhere, state};
use crate::fixture::trash::{only_one, trashed};
use crate::fixture::work::{commit, submodule};

/// More steps than a removal has.
const MANY: u32 = 20;

/// A sandbox on branch `box` with a commit and a change.
fn with_box() -> (Test, PathBuf) {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "file", "committed\n");
    write(&path.join("a"), "edited\n");
    (test, path)
}

/// `rm` fails with such an error and leaves everything as it was.
#[track_caller]
fn fails(test: &Test, path: &Path, error: &str) {
    let before = (state(test, path), test.git(&["worktree", "list", "--porcelain"]));
    let output = test.run(&["rm", "--force", "box"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with(&format!("error: {error}")), "{said}");
    assert_eq!((output.stdout.as_slice(), output.status.code()), (&b""[..], Some(1)));
    same(&state(test, path), &before.0);
    same(&test.git(&["worktree", "list", "--porcelain"]), &before.1);
    assert_eq!(kept(test), "");
    assert!(trashed(test).is_empty());
    let aside = names_in(&test.app().join(".git/sandbox"));
    assert!(!aside.iter().any(|name| name.starts_with("box-")), "{aside:?}");
}

#[test]
fn a_stale_lock_of_head_leaves_everything_as_it_was() {
    let (test, path) = with_box();
    write(&entry(&test, &path).join("HEAD.lock"), "");
    fails(&test, &path, "cannot detach HEAD: ");
}

#[test]
fn pointers_that_cannot_be_written_put_the_folder_back() {
    let (test, path) = with_box();
    // In the way of the file that is written first.
    fs::create_dir(entry(&test, &path).join("gitdir.new")).unwrap();
    fails(&test, &path, "cannot write '");
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "box");
}

#[test]
fn in_the_trash_head_is_on_no_branch() {
    let (test, _) = with_box();
    succeeds(test.run(&["rm", "--force", "box"]));
    let head = fs::read_to_string(private_anywhere(&test.app(), "box").join("HEAD")).unwrap();
    assert_eq!(head.trim_end(), test.git(&["rev-parse", "box"]));
}

/// Runs `rm` so that it dies with HEAD detached and the folder still, or no longer, in its place.
#[track_caller]
fn crashed(moved: bool) -> (Test, PathBuf) {
    for step in 1..MANY {
        let (test, path) = with_box();
        assert!(test.run(&["rm", "--force", "box"]).crashes_at(step), "it came to its end");
        let head = fs::read_to_string(private(&test.app(), "box").join("HEAD")).unwrap();
        if path.exists() != moved && !head.starts_with("ref: ") {
            return (test, path);
        }
    }
    panic!("it never came so far");
}

#[test]
fn what_was_checked_out_after_a_crash_stays_so() {
    let (test, path) = crashed(false);
    test.git_in(&path, &["switch", "--quiet", "--create", "other"]);
    let made = "created sandbox 'next': new branch 'next' from 'main'\n";
    test.run(&["new", "next"]).stdout("$ROOT/next\n").stderr(made).ok();
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "other");
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "edited\n");
    assert!(!entry(&test, &path).join("locked").exists());
    assert!(trashed(&test).is_empty());
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_after_a_crash_is_not_checked_out_twice() {
    let (test, path) = crashed(false);
    let elsewhere = test.home.join("elsewhere");
    test.git(&["worktree", "add", "--quiet", &elsewhere.display().to_string(), "box"]);
    let made = "created sandbox 'next': new branch 'next' from 'main'\n";
    test.run(&["new", "next"]).stdout("$ROOT/next\n").stderr(made).ok();
    let listed = test.git(&["worktree", "list", "--porcelain"]);
    assert_eq!(listed.matches("branch refs/heads/box\n").count(), 1, "{listed}");
    assert_eq!(test.git_in(&elsewhere, &["branch", "--show-current"]), "box");
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "");
    assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), test.git(&["rev-parse", "box"]));
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "edited\n");
    assert!(trashed(&test).is_empty());
}

/// HEAD on a branch that is elsewhere by now, or gone, would show the whole difference as staged.
#[test]
fn a_branch_that_was_moved_or_deleted_after_a_crash_is_not_checked_out_again() {
    for words in
        [&["branch", "--quiet", "--force", "box", "main"][..], &["branch", "--quiet", "-D", "box"]]
    {
        let (test, path) = crashed(false);
        let head = test.git_in(&path, &["rev-parse", "HEAD"]);
        test.git(words);
        succeeds(test.run(&["new", "next"]));
        assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "", "{words:?}");
        assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), head, "{words:?}");
        assert_eq!(test.git_in(&path, &["status", "--porcelain"]), " M a", "{words:?}");
        assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "edited\n");
        assert!(!entry(&test, &path).join("locked").exists() && trashed(&test).is_empty());
    }
}

#[test]
fn a_branch_that_was_checked_out_in_the_trash_after_a_crash_is_left() {
    let (test, _) = crashed(true);
    let tree = only_one(&test).join("tree");
    test.git_in(&tree, &["switch", "--quiet", "--create", "other"]);
    succeeds(test.run(&["new", "next"]));
    let head = fs::read_to_string(private_anywhere(&test.app(), "box").join("HEAD")).unwrap();
    assert_eq!(head.trim_end(), test.git(&["rev-parse", "box"]));
    assert_eq!(fs::read_to_string(only_one(&test).join("tree/a")).unwrap(), "edited\n");
}

#[test]
fn one_whose_journal_is_lost_after_a_crash_is_left_as_it_is() {
    let (test, path) = crashed(true);
    let item = only_one(&test);
    fs::remove_file(item.join("journal.json")).unwrap();
    let entry = private(&test.app(), "box");
    let pin = fs::read_to_string(entry.join("locked")).unwrap();
    let made = "warning: an interrupted removal or restore is still there: sandbox 'box-ID' is \
                damaged: its journal is lost\n\
                created sandbox 'next': new branch 'next' from 'main'\n";
    let output = test.run(&["new", "next"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(crate::fixture::run::without_ids(&said, made), made);
    assert_eq!(fs::read_to_string(entry.join("locked")).unwrap(), pin);
    assert_eq!(fs::read_to_string(item.join("tree/a")).unwrap(), "edited\n");
    assert!(!path.exists());
}

#[test]
fn a_commit_made_while_it_is_removed_is_kept() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["checkout", "--quiet", "--detach"]);
    commit(&test, &path, "file", "committed\n");
    // Once the commits that only it has were counted.
    let commit = format!(
        "cd '{}' && \"$GIT\" commit --quiet --allow-empty -m late && \
         \"$GIT\" rev-parse HEAD >\"$HOME/late\" && \"$GIT\" reset --quiet --soft HEAD~",
        path.display()
    );
    let git = test.fake_git(&format!(
        "case \" $* \" in *' rev-list '*) \"$GIT\" \"$@\"; code=$?\n\
         test -e \"$HOME/late\" || ({commit}) >&2 || exit 99\nexit $code ;; esac\n\
         exec \"$GIT\" \"$@\""
    ));
    let removed = test.program(&test.app(), &["rm", "--force", "box"]).env("PATH", git);
    succeeds(removed);
    assert!(!path.exists());
    let late = fs::read_to_string(test.home.join("late")).unwrap();
    test.git(&["reflog", "expire", "--expire=now", "--all"]);
    test.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(test.git(&["cat-file", "-t", late.trim_end()]), "commit");
}

#[test]
fn what_was_kept_for_a_deleted_branch_is_kept_again() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "file", "committed\n");
    test.git(&["merge", "--quiet", "box"]);
    // Only the reflog of the branch knows this one.
    let other = test.git(&["commit-tree", "-p", "box", "-m", "other", "box^{tree}"]);
    test.git(&["update-ref", "refs/heads/box", &other]);
    test.git(&["update-ref", "refs/heads/box", "main"]);
    succeeds(test.run(&["rm", "--delete-branch", "box"]));
    let before = test.git(&["for-each-ref", "refs/sandbox"]);
    assert!(before.contains(" commit\trefs/sandbox/kept/box-"), "{before}");
    test.git(&["update-ref", "-d", &kept(&test)]);
    succeeds(test.run(&["new", "next"]));
    assert_eq!(test.git(&["for-each-ref", "refs/sandbox"]), before);
}

#[test]
fn one_whose_removal_cannot_be_mended_is_not_removed_again() {
    let (test, path) = crashed(false);
    let entry = private(&test.app(), "box");
    write(&entry.join("HEAD.lock"), "");
    let pin = fs::read_to_string(entry.join("locked")).unwrap();
    let output = test.run(&["rm", "--force", "--force", "box"]).output();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(entry.join("locked")).unwrap(), pin);
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "edited\n");
    fs::remove_file(entry.join("HEAD.lock")).unwrap();
    succeeds(test.run(&["new", "next"]));
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "box");
    assert!(!entry.join("locked").exists());
}

#[test]
fn one_whose_trash_is_away_after_a_crash_waits_for_it() {
    let (test, path) = crashed(true);
    let entry = private(&test.app(), "box");
    let pin = fs::read_to_string(entry.join("locked")).unwrap();
    let (trash, away) = (crate::fixture::trash::trash(&test), test.home.join("away"));
    fs::rename(&trash, &away).unwrap();
    succeeds(test.run(&["new", "next"]));
    assert_eq!(fs::read_to_string(entry.join("locked")).unwrap(), pin);
    // It is not missing either: nothing is to be dropped.
    let found = format!("{}/box-ID: a removal or restore was interrupted\n", trash.display());
    test.run(&["doctor"]).stdout(&found).stderr("hint: git sandbox doctor --fix\n").code(1);
    fs::rename(&away, &trash).unwrap();
    succeeds(test.run(&["new", "another"]));
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "box");
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "edited\n");
}

#[test]
fn a_rebase_in_the_trash_moves_no_branch_of_others() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "a", "mine\n");
    test.commit(&test.app(), "a", "theirs\n");
    let rebase = test.command("git", &path).args(["rebase", "main"]).output().unwrap();
    assert_eq!(rebase.status.code(), Some(1));
    // As with --update-refs, which git has from 2.38 on.
    let listed = entry(&test, &path).join("rebase-merge/update-refs");
    write(&listed, "refs/heads/other\n");
    succeeds(test.run(&["rm", "--force", "box"]));
    let inside = private_anywhere(&test.app(), "box").join("rebase-merge");
    assert!(inside.is_dir() && !inside.join("update-refs").exists());
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(fs::read_to_string(listed).unwrap(), "refs/heads/other\n");
}

#[test]
fn a_submodule_that_cannot_be_told_puts_the_folder_back() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    submodule(&test, &path);
    let modules = entry(&test, &path).join("modules");
    let [name] = &names_in(&modules)[..] else { panic!("{:?}", names_in(&modules)) };
    write(&modules.join(name).join("config.lock"), "");
    fails(&test, &path, "cannot reconnect a submodule: ");
}

/// As a kill leaves it while the first journal of a removal is written.
#[test]
fn a_removal_whose_journal_was_never_renamed_is_undone() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let before = state(&test, &path);
    let locked = entry(&test, &path).join("locked");
    let pinned = (1..9).any(|step| {
        assert!(test.run(&["rm", "box"]).crashes_at(step));
        locked.exists()
    });
    assert!(pinned && trashed(&test).iter().all(|item| !item.join("journal.json").exists()));
    let pin = fs::read_to_string(&locked).unwrap();
    let pin = pin.strip_prefix("git-sandbox: trashed ").unwrap();
    let pin: serde_json::Value = serde_json::from_str(pin).unwrap();
    write(&Path::new(pin["at"].as_str().unwrap()).join("journal.json.new"), "{");
    succeeds(test.run(&["new", "next"]));
    same(&state(&test, &path), &before);
    assert!(trashed(&test).is_empty() && !locked.exists());
}

/// Neither files nor a journal tell of it then, only the pin.
#[test]
fn one_whose_folder_is_deleted_after_a_crash_of_its_removal_can_be_made_again() {
    let mut seen = 0;
    for step in 1..MANY {
        let (test, path) = with_box();
        let head = test.git_in(&path, &["rev-parse", "HEAD"]);
        if !test.run(&["rm", "--force", "box"]).crashes_at(step) {
            return assert!(seen > 0, "it never died in between");
        }
        if !path.exists() || !trashed(&test).is_empty() {
            continue;
        }
        seen += 1;
        fs::remove_dir_all(&path).unwrap();
        succeeds(test.run(&["new", "box"]));
        assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), head, "{step}");
        assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "", "{step}");
        assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "box", "{step}");
    }
    panic!("it never came to its end");
}
