//! A trash that is not ours, and journals that are not those of their items.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{tree, write};
use crate::fixture::run::succeeds;
use crate::fixture::state::private;
use crate::fixture::tools::not_as_this_user;
use crate::fixture::trash::{trash, trashed};

/// Two folders that removed sandboxes go to.
fn folders(test: &Test) -> [PathBuf; 2] {
    [trash(test), test.app().join(".git/sandbox")]
}

/// `rm` of a sandbox and of one whose folder is gone refuses to use the folder, and changes nothing.
#[track_caller]
fn is_not_used(make: impl Fn(&Test, &Path)) {
    for number in 0..2 {
        for gone in [false, true] {
            let test = Test::new();
            let path = test.new_sandbox(&["box"]);
            let folder = &folders(&test)[number];
            make(&test, folder);
            if gone {
                fs::remove_dir_all(&path).unwrap();
            }
            let before = tree(&test.home, &["sandbox.lock", "lock"]);
            let output = test.run(&["rm", "box"]).output();
            let said = String::from_utf8(output.stderr).unwrap();
            let wanted = format!("'{}': it is not a folder of yours\n", folder.display());
            assert!(said.starts_with("error: ") && said.contains(&wanted), "{gone}: {said}");
            assert_eq!(output.status.code(), Some(1));
            same(&tree(&test.home, &["sandbox.lock", "lock"]), &before);
        }
    }
}

#[test]
fn a_symlink_in_the_place_of_the_trash_is_not_followed() {
    is_not_used(|test, folder| {
        let elsewhere = test.home.join("elsewhere");
        fs::create_dir_all(folder).unwrap();
        fs::rename(folder, &elsewhere).unwrap();
        symlink(elsewhere, folder).unwrap();
    });
}

#[test]
fn a_trash_of_another_user_is_not_used() {
    if !Test::bare().am_root() {
        return not_as_this_user("a folder of another user");
    }
    is_not_used(|_, folder| {
        fs::create_dir_all(folder).unwrap();
        chown(folder, Some(1234), None).unwrap();
    });
}

/// Two removed sandboxes, `one` and `two`, with a file of that name.
fn two() -> (Test, PathBuf, PathBuf) {
    let test = Test::new();
    for name in ["one", "two"] {
        let path = test.new_sandbox(&[name]);
        write(&path.join(name), "mine\n");
        succeeds(test.run(&["rm", "--force", name]));
    }
    let [one, two] = &trashed(&test)[..] else { panic!("{:?}", trashed(&test)) };
    let (one, two) = (one.clone(), two.clone());
    (test, one, two)
}

#[test]
fn a_journal_of_another_item_is_not_believed() {
    let (test, one, two) = two();
    fs::copy(two.join("journal.json"), one.join("journal.json")).unwrap();
    let listed = String::from_utf8(test.run(&["restore", "--names"]).output().stdout).unwrap();
    assert_eq!(listed.lines().filter(|name| *name == "two").count(), 1, "{listed}");
    succeeds(test.run(&["restore", "two"]));
    assert_eq!(fs::read_to_string(test.at("two/two")).unwrap(), "mine\n");
    assert!(!test.at("two/one").exists());
    assert_eq!(fs::read_to_string(one.join("tree/one")).unwrap(), "mine\n");
}

#[test]
fn an_interrupted_removal_is_not_mended_by_a_journal_of_another_item() {
    for step in 1..20 {
        let (test, one, _) = two();
        let path = test.new_sandbox(&["box"]);
        assert!(test.run(&["rm", "box"]).crashes_at(step), "it came to its end");
        let folders = trashed(&test);
        let named = |item: &&PathBuf| {
            let name = item.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with("box-") && item.join("journal.json").exists()
        };
        let item = folders.iter().find(named);
        let Some(item) = item else { continue };
        fs::copy(one.join("journal.json"), item.join("journal.json")).unwrap();
        let made = "created sandbox 'next': new branch 'next' from 'main'\n";
        test.run(&["new", "next"]).stdout("$ROOT/next\n").stderr(made).ok();
        assert!(!private(&test.app(), "box").join("locked").exists());
        assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "box");
        assert!(one.join("tree/one").exists());
        return;
    }
    panic!("it never wrote a journal");
}
