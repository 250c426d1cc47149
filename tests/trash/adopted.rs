//! Orphans whose repository is back: they are taken in only where it is proved that they belong there.

use std::fs;
use std::path::PathBuf;

use crate::fixture::Test;
use crate::fixture::files::{chmod, write};
use crate::fixture::run::succeeds;
use crate::fixture::state::{entry, kept, private, private_anywhere};
use crate::fixture::time::{after, set_time};
use crate::fixture::trash::{only_one, trashed};

/// A sandbox `box` with a staged file that went to the trash while its repository was out of reach. Its
/// private git dir is older than that.
fn orphan() -> (Test, PathBuf, PathBuf) {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("staged"), "staged\n");
    test.git_in(&path, &["add", "staged"]);
    let entry = entry(&test, &path);
    set_time(&entry.join("gitdir"), 0);
    fs::rename(test.app(), test.home.join("away")).unwrap();
    let run = test.run_in(&test.home, &["reap", "--all"]);
    succeeds(run.env("GIT_SANDBOX_NOW", after(400)));
    fs::rename(test.home.join("away"), test.app()).unwrap();
    assert!(only_one(&test).join("dot-git").is_file() && !path.exists());
    (test, path, entry)
}

/// The next command leaves it the orphan that it is, and the private git dir where it is.
#[track_caller]
fn stays_one(test: &Test, entry: &std::path::Path) {
    let head = fs::read_to_string(entry.join("HEAD")).unwrap();
    succeeds(test.run(&["new", "next"]));
    let item = only_one(test);
    assert!(item.join("dot-git").is_file());
    assert_eq!(fs::read_to_string(item.join("tree/staged")).unwrap(), "staged\n");
    assert_eq!(fs::read_to_string(entry.join("HEAD")).unwrap(), head);
    assert!(!entry.join("locked").exists());
}

#[test]
fn what_was_staged_stays_when_an_orphan_is_adopted() {
    let (test, path, entry) = orphan();
    succeeds(test.run(&["new", "next"]));
    assert!(!entry.exists() && !only_one(&test).join("dot-git").exists());
    test.git(&["reflog", "expire", "--expire=now", "--all"]);
    test.git(&["gc", "--quiet", "--prune=now"]);
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    assert_eq!(test.git_in(&path, &["show", ":staged"]), "staged");
}

/// It would be taken for one whose HEAD was detached.
#[test]
fn one_whose_head_cannot_be_read_is_adopted_later() {
    let (test, path, _) = orphan();
    let git = test.fake_git(
        "case \" $* \" in *' symbolic-ref --quiet HEAD '*) echo broken >&2; exit 128 ;; esac\n\
         exec \"$GIT\" \"$@\"",
    );
    let output = test.program(&test.app(), &["new", "next"]).env("PATH", git).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("cannot read its HEAD: broken"), "{said}");
    assert!(output.status.success(), "{said}");
    assert_eq!(fs::read_to_string(only_one(&test).join("tree/staged")).unwrap(), "staged\n");
    succeeds(test.run(&["new", "later"]));
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "box");
    assert_eq!(test.git_in(&path, &["show", ":staged"]), "staged");
    assert!(trashed(&test).is_empty());
}

#[test]
fn a_younger_private_git_dir_is_not_its_own() {
    let (test, _, entry) = orphan();
    set_time(&entry.join("gitdir"), 500);
    stays_one(&test, &entry);
}

#[test]
fn a_private_git_dir_that_names_another_folder_is_not_its_own() {
    let (test, _, entry) = orphan();
    let other = test.home.join("other/.git");
    write(&entry.join("gitdir"), &format!("{}\n", other.display()));
    set_time(&entry.join("gitdir"), 0);
    // Or git would prune it.
    fs::create_dir(test.home.join("other")).unwrap();
    write(&other, &format!("gitdir: {}\n", entry.display()));
    stays_one(&test, &entry);
}

#[test]
fn where_a_folder_stands_it_is_not_adopted() {
    let (test, path, entry) = orphan();
    write(&path.join("mine"), "mine\n");
    stays_one(&test, &entry);
    assert_eq!(fs::read_to_string(path.join("mine")).unwrap(), "mine\n");
    let run = test.run_in(&test.home, &["restore", "--all", "box"]);
    let output = run.output();
    let said = String::from_utf8(output.stderr).unwrap();
    let taken = format!("error: cannot restore 'box': '{}' already exists\n", path.display());
    assert!(said.starts_with(&taken), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read_to_string(only_one(&test).join("tree/staged")).unwrap(), "staged\n");
    assert_eq!(private(&test.app(), "box"), entry);
}

/// Its files went on into the vault. Whether they are there must be known before its private git dir is
/// forgotten.
#[test]
fn while_the_vault_cannot_be_read_a_private_git_dir_is_not_forgotten() {
    let (test, path, entry) = orphan();
    fs::rename(test.app(), test.home.join("away")).unwrap();
    let run = test.run_in(&test.home, &["reap", "--all"]);
    succeeds(run.env("GIT_SANDBOX_NOW", after(420)));
    fs::rename(test.home.join("away"), test.app()).unwrap();
    assert!(!path.exists() && trashed(&test).is_empty());
    let vault = test.root().with_file_name(".vault.git");
    chmod(&vault, 0o755);
    let doubt =
        format!("cannot keep sandboxes in '{}': others can read or change it", vault.display());
    let refusal = format!(
        "warning: an interrupted removal or restore is still there: {doubt}\n\
         error: cannot forget 'box', whose folder is gone: its files may be in the vault: {doubt}\n\
         hint: if you can do without them:\n\
         hint: git worktree remove --force --force $ROOT/box\n"
    );
    test.run(&["rm", "box"]).stderr(&refusal).code(1);
    assert!(entry.join("HEAD").is_file());
    chmod(&vault, 0o700);
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    assert_eq!(test.git_in(&path, &["show", ":staged"]), "staged");
    assert_eq!(fs::read_to_string(path.join("staged")).unwrap(), "staged\n");
}

/// It is adopted by the next command whose way is clear, and comes back whole.
#[track_caller]
fn is_adopted_later(test: &Test, path: &std::path::Path) {
    succeeds(test.run(&["new", "later"]));
    let head = fs::read_to_string(private_anywhere(&test.app(), "box").join("HEAD")).unwrap();
    assert_eq!(head.trim_end(), test.git(&["rev-parse", "box"]));
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    assert_eq!(test.git_in(path, &["branch", "--show-current"]), "box");
    assert_eq!(test.git_in(path, &["show", ":staged"]), "staged");
    assert_eq!(fs::read_to_string(path.join("staged")).unwrap(), "staged\n");
    assert!(trashed(test).is_empty());
}

/// A command with a git that fails at these words says so, and goes on with its own work.
#[track_caller]
fn fails_at(test: &Test, words: &str, said: &str) {
    let git = test.fake_git(&format!(
        "case \" $* \" in *' {words} '*) echo broken >&2; exit 128 ;; esac\nexec \"$GIT\" \"$@\""
    ));
    let said = format!(
        "warning: an interrupted removal or restore is still there: {said}: broken\n\
         created sandbox 'next': new branch 'next' from 'main'\n"
    );
    let run = test.program(&test.app(), &["new", "next"]).env("PATH", git);
    run.stdout("$ROOT/next\n").stderr(&said).ok();
    assert_eq!(fs::read_to_string(only_one(test).join("tree/staged")).unwrap(), "staged\n");
}

#[test]
fn one_whose_staged_files_cannot_be_read_is_adopted_later() {
    let (test, path, entry) = orphan();
    fails_at(&test, "diff-index --cached --raw", "cannot read what is staged");
    assert!(only_one(&test).join("dot-git").is_file() && entry.join("HEAD").is_file());
    is_adopted_later(&test, &path);
}

/// On its branch in the trash, it would move that with every commit.
#[test]
fn one_whose_head_cannot_be_detached_is_adopted_later() {
    let (test, path, entry) = orphan();
    fails_at(&test, "update-ref --no-deref -m git sandbox: removed HEAD", "cannot detach HEAD");
    assert!(entry.join("HEAD").is_file());
    is_adopted_later(&test, &path);
}

/// Without a pin nothing would lead from its private git dir to its files.
#[test]
fn one_that_cannot_be_pinned_is_adopted_later() {
    let (test, path, entry) = orphan();
    // In the way of the file that is written first.
    fs::create_dir(entry.join("locked.new")).unwrap();
    let said = format!(
        "warning: an interrupted removal or restore is still there: cannot write '{}': \
         is a directory\n\
         created sandbox 'next': new branch 'next' from 'main'\n",
        entry.join("locked").display()
    );
    test.run(&["new", "next"]).stdout("$ROOT/next\n").stderr(&said).ok();
    assert!(only_one(&test).join("dot-git").is_file() && entry.join("HEAD").is_file());
    fs::remove_dir(entry.join("locked.new")).unwrap();
    is_adopted_later(&test, &path);
}

/// The trash of the other item is on a disk that is away.
#[test]
fn a_private_git_dir_that_is_pinned_for_another_item_is_not_its_own() {
    let (test, _, entry) = orphan();
    let at = test.home.join("disk/.trash/other-1");
    let pin = serde_json::json!({ "id": "other-1", "at": at });
    let pin = format!("git-sandbox: trashed {pin}\n");
    write(&entry.join("locked"), &pin);
    let head = fs::read_to_string(entry.join("HEAD")).unwrap();
    let made = "created sandbox 'next': new branch 'next' from 'main'\n";
    test.run(&["new", "next"]).stdout("$ROOT/next\n").stderr(made).ok();
    let item = only_one(&test);
    assert!(item.join("dot-git").is_file());
    assert_eq!(fs::read_to_string(item.join("tree/staged")).unwrap(), "staged\n");
    assert_eq!(fs::read_to_string(entry.join("HEAD")).unwrap(), head);
    assert_eq!(fs::read_to_string(entry.join("locked")).unwrap(), pin);
    assert_eq!(kept(&test), "");
}

#[test]
fn one_whose_files_were_deleted_in_the_trash_is_not_adopted() {
    let (test, path, entry) = orphan();
    let item = only_one(&test);
    fs::remove_dir_all(item.join("tree")).unwrap();
    let made = "created sandbox 'next': new branch 'next' from 'main'\n";
    test.run(&["new", "next"]).stdout("$ROOT/next\n").stderr(made).ok();
    assert!(item.join("dot-git").is_file() && !path.exists());
    assert!(entry.join("HEAD").is_file() && !entry.join("locked").exists());
}

/// Puts the orphan away in the vault while its repository is out of reach.
fn stored() -> (Test, PathBuf, PathBuf) {
    let (test, path, entry) = orphan();
    fs::rename(test.app(), test.home.join("away")).unwrap();
    let run = test.run_in(&test.home, &["reap", "--all"]);
    succeeds(run.env("GIT_SANDBOX_NOW", after(420)));
    fs::rename(test.home.join("away"), test.app()).unwrap();
    assert!(!path.exists() && trashed(&test).is_empty());
    (test, path, entry)
}

#[test]
fn one_that_is_adopted_from_the_vault_is_there_no_more() {
    let (test, path, entry) = stored();
    succeeds(test.run(&["new", "next"]));
    assert!(!entry.exists() && only_one(&test).join("tree/staged").is_file());
    let vault = test.root().with_file_name(".vault.git");
    assert_eq!(test.git_in(&vault, &["for-each-ref"]), "");
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    assert_eq!(test.git_in(&path, &["show", ":staged"]), "staged");
    assert_eq!(fs::read_to_string(path.join("staged")).unwrap(), "staged\n");
    test.run(&["restore"]).stderr("nothing to bring back\n").ok();
}

/// The private git dir has what is staged, and the vault the files.
#[test]
fn one_that_cannot_be_adopted_from_the_vault_now_is_not_forgotten() {
    let (test, path, entry) = stored();
    let git = test.fake_git(
        "case \" $* \" in *' cat-file blob '*) echo broken >&2; exit 128 ;; esac\n\
         exec \"$GIT\" \"$@\"",
    );
    let said = "warning: an interrupted removal or restore is still there: \
                cannot read the manifest of 'box-ID': broken\n\
                error: sandbox 'box' was removed\n\
                hint: git sandbox restore box-ID\n";
    test.program(&test.app(), &["rm", "box"]).env("PATH", git).stderr(said).code(1);
    assert!(entry.join("index").is_file());
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    assert_eq!(test.git_in(&path, &["show", ":staged"]), "staged");
    test.run(&["restore"]).stderr("nothing to bring back\n").ok();
}

#[test]
fn an_orphan_comes_back_to_no_place_that_is_taken_and_to_one_whose_folder_is_gone() {
    let (test, path, _) = orphan();
    fs::rename(test.app(), test.home.join("away")).unwrap();
    let restore = || test.run_in(&test.home, &["restore", "--all", "box"]);
    write(&path.join("mine"), "mine\n");
    let said = "error: cannot restore 'box': '$ROOT/box' already exists\n\
                hint: git sandbox restore box --as box-2\n";
    restore().stderr(said).code(1);
    assert_eq!(fs::read_to_string(path.join("mine")).unwrap(), "mine\n");
    assert!(only_one(&test).join("tree/staged").is_file());
    fs::remove_dir_all(test.root()).unwrap();
    succeeds(restore());
    assert_eq!(fs::read_to_string(path.join("staged")).unwrap(), "staged\n");
    assert_eq!(trashed(&test), Vec::<PathBuf>::new());
}
