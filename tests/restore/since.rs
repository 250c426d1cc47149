//! What somebody did in the trash, or in the place of a removed sandbox, before it came back.

use std::fs;
use std::path::PathBuf;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::write;
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::{entry, is_registered, kept, private_anywhere, state};
use crate::fixture::trash::{only_one, trashed};
use crate::fixture::work::{commit, submodule};

const RESTORED: &str = "restored 'box'\n";
const MOVED: &str = "restored 'box'\nHEAD is detached: branch 'box' has moved since\n";

/// A removed sandbox on branch `box`. Returns its files in the trash, and its state before.
fn removed() -> (Test, PathBuf, String) {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "file", "committed\n");
    write(&path.join("a"), "edited\n");
    let before = state(&test, &path);
    succeeds(test.run(&["rm", "--force", "box"]));
    let tree = only_one(&test).join("tree");
    (test, tree, before)
}

#[track_caller]
fn comes_back(test: &Test, said: &str) {
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr(said).ok();
    assert!(trashed(test).is_empty());
}

#[test]
fn a_commit_that_was_made_in_the_trash_stays_checked_out() {
    let (test, tree, _) = removed();
    let late = test.commit(&tree, "late", "late\n");
    comes_back(&test, MOVED);
    assert_eq!(test.git_in(&test.at("box"), &["rev-parse", "HEAD"]), late);
    assert_eq!(test.git_in(&test.at("box"), &["status", "--porcelain"]), " M a");
    assert_eq!(test.git(&["rev-parse", "box"]), test.git(&["rev-parse", &format!("{late}~")]));
}

#[test]
fn a_commit_that_was_made_in_the_trash_comes_back_from_the_vault() {
    let (test, tree, _) = removed();
    let late = test.commit(&tree, "late", "late\n");
    succeeds(test.run(&["reap", "--purge"]));
    assert!(trashed(&test).is_empty());
    test.git(&["reflog", "expire", "--expire=now", "--all"]);
    test.git(&["gc", "--quiet", "--prune=now"]);
    comes_back(&test, MOVED);
    assert_eq!(test.git_in(&test.at("box"), &["rev-parse", "HEAD"]), late);
    assert_eq!(fs::read_to_string(test.at("box/late")).unwrap(), "late\n");
}

#[test]
fn a_branch_that_was_checked_out_in_the_trash_stays_so() {
    let (test, tree, _) = removed();
    test.git_in(&tree, &["switch", "--quiet", "--create", "other"]);
    comes_back(&test, MOVED);
    assert_eq!(test.git_in(&test.at("box"), &["branch", "--show-current"]), "other");
    assert_eq!(test.branches(), ["box", "main", "other"]);
}

#[test]
fn a_rebase_that_came_to_its_end_in_the_trash_is_not_begun_again() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "a", "mine\n");
    test.commit(&test.app(), "a", "theirs\n");
    let rebase = test.command("git", &path).args(["rebase", "main"]).output().unwrap();
    assert_eq!(rebase.status.code(), Some(1));
    succeeds(test.run(&["rm", "--force", "box"]));
    test.git_in(&only_one(&test).join("tree"), &["rebase", "--quit"]);
    comes_back(&test, RESTORED);
    assert!(!entry(&test, &path).join("rebase-merge").exists());
    assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), test.git(&["rev-parse", "main"]));
}

#[test]
fn an_entry_that_names_the_folder_keeps_it() {
    let (test, tree, before) = removed();
    let path = test.at("box");
    test.git(&["worktree", "add", "--quiet", "--detach", &path.display().to_string()]);
    fs::remove_dir_all(&path).unwrap();
    test.run(&["restore", "box"])
        .stderr(
            "error: cannot restore 'box': '$ROOT/box' is that of a worktree whose folder is gone\n\
             hint: git sandbox restore box --as box-2\n",
        )
        .code(1);
    assert!(tree.join("a").exists() && !path.exists());
    test.git(&["worktree", "prune", "--expire=now"]);
    comes_back(&test, RESTORED);
    same(&state(&test, &path), &before);
}

#[test]
fn a_name_in_gits_registry_that_is_taken_is_not_reused() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let old = entry(&test, &path);
    succeeds(test.run(&["rm", "box"]));
    write(&old.join("mine"), "mine\n");
    comes_back(&test, RESTORED);
    assert_ne!(entry(&test, &path), old);
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "box");
    assert_eq!(fs::read_to_string(old.join("mine")).unwrap(), "mine\n");
}

#[test]
fn a_commit_whose_reflog_expired_in_the_trash_stays_kept() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["checkout", "--quiet", "--detach"]);
    let lost = test.commit(&path, "a", "mine\n");
    test.git_in(&path, &["reset", "--quiet", "--hard", "HEAD~"]);
    succeeds(test.run(&["rm", "--force", "box"]));
    let before = kept(&test);
    let tree = only_one(&test).join("tree");
    test.git_in(&tree, &["reflog", "expire", "--expire=now", "--all"]);
    comes_back(&test, RESTORED);
    assert_eq!(kept(&test), before);
    test.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(test.git(&["cat-file", "-t", &lost]), "commit");
}

#[test]
fn a_kept_ref_that_was_deleted_is_made_again() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["checkout", "--quiet", "--detach"]);
    test.commit(&path, "a", "mine\n");
    succeeds(test.run(&["rm", "--force", "box"]));
    let before = test.git(&["for-each-ref", "refs/sandbox"]);
    test.git(&["update-ref", "-d", &kept(&test)]);
    assert_eq!(kept(&test), "");
    succeeds(test.run(&["new", "next"]));
    assert_eq!(test.git(&["for-each-ref", "refs/sandbox"]), before);
}

#[test]
fn a_restore_that_fails_leaves_it_in_the_trash() {
    let (test, tree, before) = removed();
    let path = test.at("box");
    // In the way of the file that is written first.
    let block = private_anywhere(&test.app(), "box").join("gitdir.new");
    fs::create_dir(&block).unwrap();
    let output = test.run(&["restore", "box"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: cannot write '"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert!(tree.join("a").exists() && !path.exists());
    test.run(&["doctor"]).stderr("all is well\n").ok();
    fs::remove_dir(&block).unwrap();
    comes_back(&test, RESTORED);
    same(&state(&test, &path), &before);
}

#[test]
fn a_symlink_in_the_place_of_the_files_does_not_come_back() {
    let (test, tree, _) = removed();
    let aside = test.home.join("aside");
    fs::rename(&tree, &aside).unwrap();
    std::os::unix::fs::symlink(&aside, &tree).unwrap();
    let output = test.run(&["restore", "box"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("its files are not in the trash any more"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert!(test.at("box").symlink_metadata().is_err());
    assert_eq!(fs::read_link(&tree).unwrap(), aside);
    assert_eq!(fs::read_to_string(aside.join("a")).unwrap(), "edited\n");
}

#[test]
fn a_branch_that_was_begun_meanwhile_is_not_taken_for_an_unborn_one() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["switch", "--quiet", "--orphan", "later"]);
    write(&path.join("staged"), "staged\n");
    test.git_in(&path, &["add", "staged"]);
    let status = test.git_in(&path, &["status", "--porcelain"]);
    succeeds(test.run(&["rm", "--force", "box"]));
    test.git(&["branch", "later", "main"]);
    let said = "restored 'box'\nHEAD is on no branch: branch 'later' has moved since\n";
    comes_back(&test, said);
    assert_eq!(test.git_in(&path, &["status", "--porcelain"]), status);
    assert_eq!(test.git(&["rev-parse", "later"]), test.git(&["rev-parse", "main"]));
}

#[test]
fn a_first_commit_that_was_made_in_the_trash_stays_checked_out() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["switch", "--quiet", "--orphan", "later"]);
    write(&path.join("staged"), "staged\n");
    succeeds(test.run(&["rm", "--force", "box"]));
    let first = test.commit(&only_one(&test).join("tree"), "first", "first\n");
    let said = "restored 'box'\nHEAD is detached: branch 'later' has moved since\n";
    comes_back(&test, said);
    assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), first);
    assert_eq!(test.git_in(&path, &["rev-parse", "--symbolic-full-name", "HEAD"]), "HEAD");
    assert_eq!(test.branches(), ["box", "main"]);
}

#[test]
fn a_rebase_that_was_ended_in_the_trash_stays_ended() {
    for update_refs in ["false", "true"] {
        let test = repository(Format::Files).unwrap();
        let path = test.new_sandbox(&["box"]);
        commit(&test, &path, "one", "one\n");
        test.git_in(&path, &["branch", "middle"]);
        commit(&test, &path, "two", "two\n");
        let (middle, head) = (test.git(&["rev-parse", "middle"]), test.git(&["rev-parse", "box"]));
        let mut rebase = test.command("git", &path);
        rebase.args(["-c", &format!("rebase.updateRefs={update_refs}"), "rebase", "-i", "main"]);
        rebase.env("GIT_SEQUENCE_EDITOR", "sed -i s/^pick/edit/");
        assert!(rebase.output().unwrap().status.success());
        succeeds(test.run(&["rm", "--force", "box"]));
        let tree = only_one(&test).join("tree");
        test.git_in(&tree, &["rebase", "--quit"]);
        let late = test.commit(&tree, "late", "late\n");
        succeeds(test.run(&["restore", "box"]));
        assert!(trashed(&test).is_empty());
        assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), late);
        assert!(!entry(&test, &path).join("rebase-merge").exists());
        assert!(test.json(&["show", "box", "--json"])["operation"].is_null());
        assert_eq!(test.git(&["rev-parse", "middle", "box"]), format!("{middle}\n{head}"));
    }
}

/// Lets the repository keep its refs in another format; false where this git cannot.
fn migrated(test: &Test, format: &str) -> bool {
    // Early versions migrate no reflogs.
    test.git(&["config", "core.logAllRefUpdates", "false"]);
    for logs in [".git/logs", ".git/worktrees"] {
        let _ = fs::remove_dir_all(test.app().join(logs));
    }
    let format = format!("--ref-format={format}");
    let words = ["refs", "migrate", &format];
    test.command("git", &test.app()).args(words).output().unwrap().status.success()
}

#[test]
fn an_operation_and_private_refs_survive_a_migration_of_the_refs() {
    let formats =
        [(Format::Files, ["reftable", "files"]), (Format::Reftable, ["files", "reftable"])];
    for (format, [other, same_again]) in formats {
        for (number, ways) in [&[other][..], &[other, same_again]].into_iter().enumerate() {
            let Some(test) = repository(format) else { return };
            let path = test.new_sandbox(&["box"]);
            test.git_in(&path, &["update-ref", "refs/worktree/mine", "HEAD"]);
            commit(&test, &path, "clash", "theirs\n");
            let theirs = test.git_in(&path, &["rev-parse", "HEAD"]);
            test.git_in(&path, &["reset", "--quiet", "--hard", "HEAD~"]);
            commit(&test, &path, "clash", "ours\n");
            let pick = ["cherry-pick", &theirs];
            let picked = test.command("git", &path).args(pick).output().unwrap();
            assert!(!picked.status.success());
            let refs = || {
                let names = ["HEAD", "CHERRY_PICK_HEAD", "ORIG_HEAD", "refs/worktree/mine"];
                names.map(|name| test.git_in(&path, &["rev-parse", "--verify", name]))
            };
            let (before, files) = (refs(), fs::read(path.join("clash")).unwrap());
            succeeds(test.run(&["rm", "--force", "box"]));
            for way in ways {
                if !migrated(&test, way) {
                    return;
                }
                // It is looked at on the way, and not brought back.
                succeeds(test.run(&["reap"]));
            }
            comes_back(&test, RESTORED);
            assert_eq!(refs(), before, "{format:?} {number}");
            assert_eq!(fs::read(path.join("clash")).unwrap(), files);
            test.git_in(&path, &["cherry-pick", "--abort"]);
            assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "");
            succeeds(test.run(&["rm", "box"]));
        }
    }
}

#[test]
fn from_outside_of_a_repository_that_was_moved_all_of_it_comes_back() {
    for vault in [false, true] {
        let test = repository(Format::Files).unwrap();
        let path = test.new_sandbox(&["box"]);
        // By it the repository is found from outside.
        test.new_sandbox(&["other"]);
        write(&path.join("staged"), "staged\n");
        test.git_in(&path, &["add", "staged"]);
        succeeds(test.run(&["rm", "--force", "box"]));
        if vault {
            succeeds(test.run(&["reap", "--purge"]));
        }
        let moved = test.home.join("moved");
        fs::rename(test.app(), &moved).unwrap();
        succeeds(test.run_in(&moved, &["doctor", "--fix"]));
        let listed = test.run_in(&test.home, &["restore", "--all"]).output();
        assert_eq!(String::from_utf8(listed.stdout).unwrap().lines().count(), 2);
        let run = test.run_in(&test.home, &["restore", "--all", "box"]);
        run.stdout("$ROOT/box\n").stderr(RESTORED).ok();
        assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "A  staged");
        assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "box");
        test.run_in(&moved, &["doctor"]).stderr("all is well\n").ok();
    }
}

#[test]
fn a_rebase_that_was_begun_in_the_trash_keeps_its_own_branch() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "a", "mine\n");
    let ours = test.git_in(&path, &["rev-parse", "HEAD"]);
    let theirs = test.commit(&test.app(), "a", "theirs\n");
    let stops = |folder: &PathBuf| {
        let rebase = test.command("git", folder).args(["rebase", "main"]).output().unwrap();
        assert_eq!(rebase.status.code(), Some(1));
    };
    stops(&path);
    succeeds(test.run(&["rm", "--force", "box"]));
    let tree = only_one(&test).join("tree");
    test.git_in(&tree, &["rebase", "--quit"]);
    test.git_in(&tree, &["reset", "--quiet", "--hard", &ours]);
    test.git_in(&tree, &["switch", "--quiet", "--create", "other"]);
    stops(&tree);
    succeeds(test.run(&["restore", "box"]));
    let name = entry(&test, &path).join("rebase-merge/head-name");
    assert_eq!(fs::read_to_string(name).unwrap(), "refs/heads/other\n");
    test.git_in(&path, &["reset", "--quiet", "--hard"]);
    test.git_in(&path, &["rebase", "--skip"]);
    assert_eq!(test.git(&["rev-parse", "box", "other"]), format!("{ours}\n{theirs}"));
}

#[test]
fn one_whose_submodule_cannot_be_told_stays_in_the_trash() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    submodule(&test, &path);
    write(&path.join("sub/file"), "edited\n");
    let before = state(&test, &path);
    succeeds(test.run(&["rm", "--force", "box"]));
    let lock = private_anywhere(&test.app(), "box").join("modules/sub/config.lock");
    write(&lock, "");
    let output = test.run(&["restore", "box"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: cannot reconnect a submodule: "), "{said}");
    assert_eq!(output.status.code(), Some(1));
    let tree = only_one(&test).join("tree");
    assert_eq!(fs::read_to_string(tree.join("sub/file")).unwrap(), "edited\n");
    assert!(!path.exists());
    fs::remove_file(lock).unwrap();
    comes_back(&test, RESTORED);
    same(&state(&test, &path), &before);
}

/// A repository that keeps its refs in other formats since `box` was removed, which had a ref of its own.
/// None where this git cannot.
fn in_other_formats(ways: &[&str]) -> Option<(Test, PathBuf, String)> {
    let test = repository(Format::Files)?;
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "b", "mine\n");
    test.git_in(&path, &["update-ref", "refs/worktree/mine", "HEAD"]);
    let mine = test.git_in(&path, &["rev-parse", "HEAD"]);
    test.git_in(&path, &["reset", "--quiet", "--hard", "HEAD~"]);
    succeeds(test.run(&["rm", "--force", "box"]));
    for (number, way) in ways.iter().enumerate() {
        if number > 0 {
            // It is looked at on the way.
            succeeds(test.run(&["reap"]));
        }
        if !migrated(&test, way) {
            return None;
        }
    }
    Some((test, path, mine))
}

#[test]
fn one_whose_own_refs_cannot_be_brought_back_stays_in_the_trash() {
    for ways in [&["reftable"][..], &["reftable", "files"]] {
        let Some((test, path, mine)) = in_other_formats(ways) else { return };
        let git = test.fake_git(
            "case \" $* \" in *' refs/worktree/mine '*) echo broken >&2; exit 128 ;; esac\n\
             exec \"$GIT\" \"$@\"",
        );
        let run = test.program(&test.app(), &["restore", "box"]).env("PATH", git);
        run.stderr("error: cannot bring its refs back: broken\n").code(1);
        assert!(!path.exists() && only_one(&test).join("tree/a").exists());
        comes_back(&test, RESTORED);
        assert_eq!(test.git_in(&path, &["rev-parse", "refs/worktree/mine"]), mine);
        assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "box");
    }
}

#[test]
fn a_ref_of_its_own_that_names_nothing_does_not_stop_a_restore_after_a_migration() {
    let Some((test, path, mine)) = in_other_formats(&["reftable"]) else { return };
    let gone = "0123456789".repeat(4);
    let private = private_anywhere(&test.app(), "box");
    write(&private.join("refs/worktree/gone"), &format!("{gone}\n"));
    comes_back(&test, RESTORED);
    assert_eq!(test.git_in(&path, &["rev-parse", "refs/worktree/mine"]), mine);
    let there = entry(&test, &path).join("refs/worktree/gone");
    assert_eq!(fs::read_to_string(there).unwrap(), format!("{gone}\n"));
}

/// As after a crash at the end of a restore, with files in the trash that nobody knows of.
#[test]
fn files_in_the_trash_of_one_that_is_back_are_not_forgotten() {
    for step in 1..20 {
        let (test, tree, _) = removed();
        assert!(test.run(&["restore", "box"]).crashes_at(step), "it came to its end");
        let journal = tree.with_file_name("journal.json");
        if !is_registered(&test.app(), "box") {
            continue;
        }
        assert!(journal.exists() && !tree.exists());
        write(&tree.join("mine"), "mine\n");
        let output = test.run(&["new", "next"]).output();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("is damaged: its journal and git do not agree\n"), "{said}");
        assert!(output.status.success() && journal.exists());
        assert_eq!(fs::read_to_string(tree.join("mine")).unwrap(), "mine\n");
        assert_eq!(fs::read_to_string(test.at("box").join("a")).unwrap(), "edited\n");
        return;
    }
    panic!("it never came so far");
}
