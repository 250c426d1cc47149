//! `git sandbox rm` of one whose folder was deleted by hand: the entry goes, nothing else does.

use std::fs;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{tree, write};
use crate::fixture::mount::{Mount, alone};
use crate::fixture::repository::with_box;
use crate::fixture::run::succeeds;
use crate::fixture::state::{collect_garbage, entry, kept};
use crate::fixture::trash::trashed;
use crate::fixture::work::{commit, submodule};

#[test]
fn one_with_nothing_of_its_own_just_goes() {
    let (test, path) = with_box();
    let other = test.new_sandbox(&["other"]);
    let refs = test.git(&["for-each-ref"]);
    fs::remove_dir_all(&path).unwrap();
    test.run(&["rm", "box"])
        .stderr("removed 'box', whose folder was gone; undo with: git sandbox restore box-ID\n")
        .ok();
    let now = test.git(&["for-each-ref"]);
    let ours = |line: &&str| !line.contains("refs/sandbox/kept/box-");
    assert_eq!(now.lines().filter(ours).collect::<Vec<_>>().join("\n"), refs);
    assert!(other.exists());
    test.run(&["list", "--names"]).stdout("other\n").ok();
}

#[test]
fn a_dry_run_drops_nothing() {
    let (test, path) = with_box();
    fs::remove_dir_all(&path).unwrap();
    let before = tree(&test.home, &["sandbox.lock"]);
    let output = test.run(&["rm", "--dry-run", "box"]).output();
    assert!(output.status.success());
    same(&tree(&test.home, &["sandbox.lock"]), &before);
}

#[test]
fn a_dry_run_says_nothing_of_a_branch_that_stays() {
    let (test, path) = with_box();
    fs::remove_dir_all(&path).unwrap();
    let said = |words: &[&str]| {
        let output = test.run(&[&["rm", "--dry-run"], words].concat()).output();
        assert!(output.status.success());
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    assert_eq!(said(&["--delete-branch", "box"]), said(&["box"]));
    succeeds(test.run(&["rm", "--delete-branch", "box"]));
    assert_eq!(test.branches(), ["box", "main"]);
}

#[test]
fn a_locked_one_may_be_on_a_disk_that_is_away() {
    let (test, path) = with_box();
    test.git(&["worktree", "lock", "--reason", "on a stick", &path.display().to_string()]);
    fs::remove_dir_all(&path).unwrap();
    let before = tree(&test.home, &["sandbox.lock"]);
    for force in [&[][..], &["--force"]] {
        let output = test.run(&[&["rm"], force, &["box"]].concat()).output();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(said.starts_with("error: cannot remove 'box': locked: on a stick\n"), "{said}");
        same(&tree(&test.home, &["sandbox.lock"]), &before);
    }
}

#[test]
fn a_folder_that_is_gone_drops_the_entry_and_keeps_its_commits() {
    let (test, path) = with_box();
    test.git_in(&path, &["checkout", "--quiet", "--detach"]);
    commit(&test, &path, "a", "1");
    commit(&test, &path, "a", "2");
    let tip = test.git_in(&path, &["rev-parse", "HEAD"]);
    let entry = entry(&test, &path);
    fs::remove_dir_all(&path).unwrap();
    test.run(&["rm", "box"])
        .stderr(
            "removed 'box', whose folder was gone; undo with: git sandbox restore box-ID\n\
             kept 2 commits only here in refs/sandbox/kept/box-ID\n",
        )
        .ok();
    assert!(!entry.exists());
    assert_eq!(trashed(&test).len(), 1);
    collect_garbage(&test);
    test.git(&["cat-file", "-e", &tip]);
    test.git(&["cat-file", "-e", "box"]);
    assert!(!kept(&test).is_empty());
}

#[test]
fn what_was_staged_in_a_folder_that_is_gone_is_not_lost() {
    let (test, path) = with_box();
    write(&path.join("new"), "staged\n");
    test.git_in(&path, &["add", "new"]);
    let blob = test.git_in(&path, &["rev-parse", ":new"]);
    fs::remove_dir_all(&path).unwrap();
    let output = test.run(&["rm", "box"]).output();
    assert!(output.status.success());
    collect_garbage(&test);
    assert_eq!(test.git(&["cat-file", "-p", &blob]), "staged");
}

#[test]
fn what_was_staged_beside_a_conflict_is_not_lost() {
    let (test, path) = with_box();
    commit(&test, &test.app(), "a", "theirs\n");
    commit(&test, &path, "a", "ours\n");
    let merge = test.command("git", &path).args(["merge", "main"]).output().unwrap();
    assert!(!merge.status.success());
    write(&path.join("new"), "staged\n");
    test.git_in(&path, &["add", "new"]);
    let blob = test.git_in(&path, &["rev-parse", ":new"]);
    fs::remove_dir_all(&path).unwrap();
    drop(test.run(&["rm", "box"]).output());
    test.git(&["gc", "--prune=now", "--quiet"]);
    test.git(&["gc", "--prune=now", "--quiet"]);
    assert_eq!(test.git(&["cat-file", "-p", &blob]), "staged");
}

#[test]
fn commits_of_a_submodule_are_not_lost() {
    let (test, path) = with_box();
    submodule(&test, &path);
    commit(&test, &path.join("sub"), "file", "mine\n");
    let id = test.git_in(&path.join("sub"), &["rev-parse", "HEAD"]);
    fs::remove_dir_all(&path).unwrap();
    let why = "it has submodules of its own";
    for words in [&["rm", "box"][..], &["rm", "--force", "box"], &["new", "box"]] {
        test.run(words)
            .stderr(&format!(
                "error: cannot forget 'box', whose folder is gone: {why}\n\
                 hint: if you can do without them:\n\
                 hint: git worktree remove --force --force $ROOT/box\n"
            ))
            .code(1);
    }
    test.run(&["doctor", "--fix"])
        .stdout(&format!("$ROOT/box: its folder is gone, but {why}\n"))
        .stderr("1 problem needs manual repair\n")
        .code(1);
    let object = format!("objects/{}/{} ", &id[..2], &id[2..]);
    assert!(tree(&test.home, &[]).contains(&object), "its commit is nowhere");
}

#[test]
fn one_that_was_only_moved_within_the_root_is_not_forgotten() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("work"), "mine\n");
    fs::rename(&path, test.at("moved")).unwrap();
    let before = tree(&test.home, &["sandbox.lock"]);
    for words in [&["rm", "box"][..], &["rm", "--force", "box"], &["new", "box"]] {
        test.run(words)
            .stderr(
                "error: cannot forget 'box': its folder was moved to '$ROOT/moved'\n\
                 hint: git sandbox doctor --fix\n",
            )
            .code(1);
        assert_eq!(tree(&test.home, &["sandbox.lock"]), before);
    }
    test.run_in(&test.at("moved"), &["doctor", "--fix"])
        .stdout("fixed: $ROOT/moved: it was moved here, and git looks for it elsewhere\n")
        .ok();
    assert_eq!(test.git_in(&test.at("moved"), &["status", "--porcelain"]), "?? work");
}

#[test]
fn a_crash_at_any_step_of_forgetting_is_mended_by_the_next_command() {
    for step in 1..60 {
        let (test, path) = with_box();
        commit(&test, &path, "a", "committed\n");
        write(&path.join("new"), "staged\n");
        test.git_in(&path, &["add", "new"]);
        fs::remove_dir_all(&path).unwrap();
        let crashed = test.run(&["rm", "box"]).crashes_at(step);
        test.run(&["rm", "--force", "no-such"]).ok();
        // Forgotten by then, or by this.
        let fixed = test.run(&["doctor", "--fix"]).output();
        let said = String::from_utf8_lossy(&fixed.stderr);
        assert!(fixed.status.success(), "step {step}: {said}");
        collect_garbage(&test);
        test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
        assert_eq!(fs::read_to_string(path.join("new")).unwrap(), "staged\n", "step {step}");
        assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "committed\n", "step {step}");
        if !crashed {
            assert!(step > 5, "only {step} steps");
            return;
        }
    }
    panic!("more steps than that");
}

#[test]
fn a_crash_at_any_step_of_bringing_one_without_files_back_loses_nothing() {
    for step in 1..60 {
        let (test, path) = with_box();
        commit(&test, &path, "a", "committed\n");
        write(&path.join("new"), "staged\n");
        test.git_in(&path, &["add", "new"]);
        fs::remove_dir_all(&path).unwrap();
        succeeds(test.run(&["rm", "box"]));
        let crashed = test.run(&["restore", "box"]).crashes_at(step);
        // Either the restore is completed, and this resumes it, or its place is free.
        let output = test.run(&["new", "box"]).output();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && !said.contains("warning"), "step {step}: {said}");
        succeeds(test.run(&["doctor", "--fix"]));
        if said.starts_with("created") || said.contains("\ncreated") {
            assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "box", "step {step}");
            collect_garbage(&test);
            succeeds(test.run(&["restore", "box", "--as", "old"]));
            assert_eq!(fs::read_to_string(test.at("old/new")).unwrap(), "staged\n", "{step}");
        } else {
            assert_eq!(fs::read_to_string(path.join("new")).unwrap(), "staged\n", "{step}");
        }
        assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "committed\n", "step {step}");
        if !crashed {
            assert!(step > 5, "only {step} steps");
            return;
        }
    }
    panic!("more steps than that");
}

#[test]
fn a_lock_of_gits_after_a_crash_makes_no_second_item() {
    for step in 1..40 {
        let (test, path) = with_box();
        let entry = entry(&test, &path);
        fs::remove_dir_all(&path).unwrap();
        let crashed = test.run(&["rm", "box"]).crashes_at(step);
        let lock = entry.join("HEAD.lock");
        let locked = entry.is_dir() && fs::write(&lock, "").is_ok();
        drop(test.run(&["new", "box"]).output());
        if locked && lock.exists() {
            fs::remove_file(&lock).unwrap();
        }
        let output = test.run(&["doctor", "--fix"]).output();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "step {step}: {said}");
        if !crashed {
            return;
        }
    }
    panic!("it never ends");
}

#[test]
fn what_cannot_be_set_aside_without_doubt_stays() {
    type Harm = fn(&Test, &std::path::Path);
    let harms: [(&str, Harm); 3] = [
        ("a merge is in progress in it", |test, entry| {
            let head = test.git(&["rev-parse", "main"]);
            write(&entry.join("MERGE_HEAD"), &format!("{head}\n"));
        }),
        ("mine' is not git's", |_, entry| write(&entry.join("mine"), "mine\n")),
        ("the disk it was on is not mounted", |_, entry| {
            let facts = fs::read_to_string(entry.join("sandbox.json")).unwrap();
            let mut facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
            facts["device"] = 1.into();
            write(&entry.join("sandbox.json"), &facts.to_string());
        }),
    ];
    for (why, harm) in harms {
        let (test, path) = with_box();
        let entry = entry(&test, &path);
        fs::remove_dir_all(&path).unwrap();
        harm(&test, &entry);
        let before = tree(&test.home, &["sandbox.lock"]);
        let output = test.run(&["rm", "box"]).output();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("error: ") && said.contains(why), "{said}");
        assert_eq!(output.status.code(), Some(1));
        same(&tree(&test.home, &["sandbox.lock"]), &before);
        let found = String::from_utf8(test.run(&["doctor", "--fix"]).output().stdout).unwrap();
        assert!(found.contains(": its folder is gone, but ") && found.contains(why), "{found}");
        same(&tree(&test.home, &["sandbox.lock"]), &before);
    }
}

#[test]
fn one_over_whose_parent_something_is_mounted_is_not_forgotten() {
    alone(|| {
        let test = Test::new();
        let folder = test.home.join("disk");
        fs::create_dir(&folder).unwrap();
        let path = test.new_sandbox(&["box", "--dir", folder.to_str().unwrap()]);
        let entry = entry(&test, &path);
        let mount = Mount::on(&folder);
        let before = tree(&entry, &["sandbox.lock"]);
        test.run(&["rm", "box"])
            .stderr(
                "error: cannot forget 'box', whose folder is gone: \
                 the disk it was on is not mounted\n\
                 hint: if you can do without them:\n\
                 hint: git worktree remove --force --force $HOME/disk/box\n",
            )
            .code(1);
        same(&tree(&entry, &["sandbox.lock"]), &before);
        drop(mount);
    });
}

#[test]
fn the_branch_of_one_that_was_forgotten_is_free_for_others() {
    let (test, path) = with_box();
    write(&path.join("new"), "staged\n");
    test.git_in(&path, &["add", "new"]);
    fs::remove_dir_all(&path).unwrap();
    let said = "removed 'box', whose folder was gone; undo with: git sandbox restore box-ID\n";
    test.run(&["rm", "box"]).stderr(said).ok();
    let listed = String::from_utf8(test.run(&["restore"]).output().stdout).unwrap();
    assert!(listed.contains("1 staged file"), "{listed}");
    let elsewhere = test.home.join("elsewhere").display().to_string();
    test.git(&["worktree", "add", "--quiet", &elsewhere, "box"]);
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "");
    assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), test.git(&["rev-parse", "box"]));
    assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "A  new");
}
