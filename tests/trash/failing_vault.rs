//! A vault whose git or disk fails: nothing is deleted on its word, and what it has comes back later.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{chmod, room, tree, write};
use crate::fixture::mount::{Mount, alone};
use crate::fixture::reap::{kib, reap, summary};
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::state;
use crate::fixture::time::after;
use crate::fixture::trash::{only_one, trashed};

/// More than a full disk takes, and nothing that git could make small.
fn large() -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    };
    (0..3 << 20).map(|_| next()).collect()
}

/// Removes a sandbox with an edit and an untracked file. Returns its state before that.
fn removed(test: &Test) -> (PathBuf, String) {
    let path = test.new_sandbox(&["box"]);
    write(&path.join("a"), "edited\n");
    write(&path.join("new/file"), "untracked\n");
    let before = state(test, &path);
    succeeds(test.run(&["rm", "--force", "box"]));
    (path, before)
}

#[track_caller]
fn comes_back(test: &Test, path: &Path, before: &str) {
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    same(&state(test, path), before);
    assert!(trashed(test).is_empty());
    test.run(&["restore"]).stderr("nothing to bring back\n").ok();
}

/// Without it nothing tells what the files are of.
#[test]
fn a_vault_that_hands_out_another_description_is_not_relied_on() {
    let test = repository(Format::Files).unwrap();
    let (path, before) = removed(&test);
    let files = only_one(&test).join("tree");
    let all = tree(&files, &[]);
    let git = test.fake_git(
        "case \" $* \" in *' cat-file --batch '*) \"$GIT\" \"$@\" | sed -u 's/\"bases\"/\"BASES\"/' ;;\n\
         *) exec \"$GIT\" \"$@\" ;; esac",
    );
    let said = format!(
        "box-ID: kept in the trash: cannot read back from the vault: \
         it does not have what was written, {}\n",
        kib(room(&files))
    );
    let run = test.program(&test.app(), &["reap"]).env("GIT_SANDBOX_NOW", after(15));
    run.env("PATH", git).stdout(&said).stderr(&summary(0, 1, 0, 0)).code(1);
    same(&tree(&files, &[]), &all);
    comes_back(&test, &path, &before);
}

#[test]
fn what_the_vault_cannot_let_go_of_is_brought_back_later() {
    let test = repository(Format::Files).unwrap();
    let (path, before) = removed(&test);
    succeeds(reap(&test, 15, &[]));
    assert!(trashed(&test).is_empty());
    let git = test.fake_git(
        "case \" $* \" in *'.vault.git '*' update-ref --stdin '*)\n\
         cat >/dev/null; echo broken >&2; exit 128 ;; esac\n\
         exec \"$GIT\" \"$@\"",
    );
    let run = test.program(&test.app(), &["restore", "box"]).env("PATH", git);
    run.stderr("error: cannot write to the vault: broken\n").code(1);
    assert!(!path.exists());
    comes_back(&test, &path, &before);
}

#[test]
fn what_a_full_disk_cannot_take_is_not_called_lost() {
    alone(|| {
        let test = repository(Format::Files).unwrap();
        let root = test.root().parent().unwrap().to_owned();
        let mount = Mount::on(&root);
        chmod(&root, 0o700);
        let path = test.new_sandbox(&["box"]);
        fs::write(path.join("large"), large()).unwrap();
        let before = state(&test, &path);
        succeeds(test.run(&["rm", "--force", "box"]));
        succeeds(reap(&test, 15, &[]));
        let stat = rustix::fs::statvfs(&root).unwrap();
        let used = (stat.f_blocks - stat.f_bfree) * stat.f_frsize;
        mount.change(&format!("size={}", used + (1 << 20)));
        let output = test.run(&["restore", "box"]).output();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("error: ") && said.contains("no space left"), "{said}");
        assert_eq!((output.stdout.as_slice(), output.status.code()), (&b""[..], Some(1)));
        assert!(!path.exists());
        mount.change("size=64m");
        comes_back(&test, &path, &before);
        assert_eq!(fs::read(path.join("large")).unwrap(), large());
    });
}

/// Only within one file system can a private git dir be renamed.
#[test]
fn where_private_git_dirs_would_go_to_another_disk_nothing_is_removed() {
    alone(|| {
        let test = repository(Format::Files).unwrap();
        let path = test.new_sandbox(&["box"]);
        write(&path.join("a"), "edited\n");
        let before = state(&test, &path);
        let home = test.app().join(".git/sandbox");
        let mount = Mount::on(&home);
        let said = format!(
            "error: cannot keep sandboxes in '{}': it is on another file system than the \
             worktrees of git\n",
            home.display()
        );
        test.run(&["rm", "--force", "box"]).stderr(&said).code(1);
        same(&state(&test, &path), &before);
        assert!(trashed(&test).is_empty());
        drop(mount);
        succeeds(test.run(&["rm", "--force", "box"]));
        assert_eq!(fs::read_to_string(only_one(&test).join("tree/a")).unwrap(), "edited\n");
    });
}

/// They always say the same, and without them git finds nothing in it.
#[test]
fn a_vault_that_has_lost_its_head_and_config_gives_back_what_it_has() {
    let test = repository(Format::Files).unwrap();
    let (path, before) = removed(&test);
    succeeds(reap(&test, 15, &[]));
    let vault = test.root().with_file_name(".vault.git");
    fs::remove_file(vault.join("HEAD")).unwrap();
    fs::write(vault.join("config"), "").unwrap();
    comes_back(&test, &path, &before);
}
