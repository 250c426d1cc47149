//! `git sandbox rm`: what it refuses, what it takes, and what stays.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{tree, write};
use crate::fixture::repository::{Format, repository, with_box};
use crate::fixture::state::{changes_nothing, entry, kept, main_checkout, state};
use crate::fixture::trash::{REMOVED, trashed};
use crate::fixture::work::commit;

const DIRTY: &str = "\
error: cannot remove 'box': worktree has 1 uncommitted change
hint: to move it to the trash as it is: git sandbox rm --force box
";

#[test]
fn rm_moves_a_clean_sandbox_to_the_trash() {
    let (test, path) = with_box();
    let other = test.new_sandbox(&["other"]);
    let (files, neighbour) = (tree(&path, &[".git"]), state(&test, &other));
    let branches = test.git(&["for-each-ref"]);
    test.run(&["rm", "box"]).stderr(REMOVED).ok();
    assert!(!path.exists());
    let [folder] = &trashed(&test)[..] else { panic!("{:?}", trashed(&test)) };
    same(&tree(&folder.join("tree"), &[".git"]), &files);
    assert!(folder.join("journal.json").is_file());
    let now = test.git(&["for-each-ref"]);
    let ours = |line: &&str| !line.contains("refs/sandbox/kept/box-");
    assert_eq!(now.lines().filter(ours).collect::<Vec<_>>().join("\n"), branches);
    same(&state(&test, &other), &neighbour);
    test.run(&["list", "--names"]).stdout("other\n").ok();
}

#[test]
fn rm_works_without_git_in_front() {
    let (test, path) = with_box();
    let mut command = test.command("git-sandbox", &test.app());
    command.args(["rm", "box"]);
    test.run_command(command).stderr(REMOVED).ok();
    assert!(!path.exists());
}

#[test]
fn the_branch_of_a_removed_sandbox_is_free() {
    let (test, _) = with_box();
    test.run(&["rm", "box"]).stderr(REMOVED).ok();
    test.git(&["checkout", "--quiet", "box"]);
    test.git(&["checkout", "--quiet", "main"]);
    test.git(&["branch", "-D", "box"]);
}

#[test]
fn rm_refuses_uncommitted_work() {
    let (test, path) = with_box();
    write(&path.join("new"), "mine\n");
    let before = (state(&test, &path), main_checkout(&test));
    test.run(&["rm", "box"]).stderr(DIRTY).code(1);
    assert_eq!((state(&test, &path), main_checkout(&test)), before);
    assert!(trashed(&test).is_empty());
    test.run(&["rm", "--force", "box"])
        .stderr("removed 'box' (1 uncommitted change); undo with: git sandbox restore box-ID\n")
        .ok();
    assert!(!path.exists());
    assert_eq!(fs::read_to_string(trashed(&test)[0].join("tree/new")).unwrap(), "mine\n");
}

#[test]
fn unpushed_commits_stay_on_the_branch() {
    let (test, path) = with_box();
    commit(&test, &path, "a", "mine\n");
    let tip = test.git_in(&path, &["rev-parse", "HEAD"]);
    test.run(&["rm", "box"]).stderr(REMOVED).ok();
    assert_eq!(test.git(&["rev-parse", "refs/heads/box"]), tip);
    assert_eq!(test.git(&["rev-parse", &kept(&test)]), tip);
}

#[test]
fn a_dry_run_changes_nothing() {
    let (test, path) = with_box();
    let locked = test.new_sandbox(&["locked"]).display().to_string();
    test.git(&["worktree", "lock", "--reason", "mine", &locked]);
    changes_nothing(&test, || {
        let would = "would remove 'box' (nothing to lose)\nwould delete branch 'box'\n";
        test.run(&["rm", "--dry-run", "--delete-branch", "box"]).stderr(would).ok();
        test.run(&["rm", "--dry-run", "nothing", "box"])
            .stderr(
                "error: no sandbox is called 'nothing'\n\
                 hint: 'git sandbox list' shows what there is\n",
            )
            .code(1);
    });
    write(&path.join("new"), "mine\n");
    changes_nothing(&test, || {
        test.run(&["rm", "--dry-run", "box"]).stderr(DIRTY).code(1);
        test.run(&["rm", "--dry-run", "--force", "box"])
            .stderr("would remove 'box' (1 uncommitted change)\n")
            .ok();
        test.run(&["rm", "-n", "--force", "locked", "box"])
            .stderr(
                "error: cannot remove 'locked': locked: mine\n\
                 hint: to move it to the trash as it is: git sandbox rm --force --force locked\n\
                 would remove 'box' (1 uncommitted change)\n",
            )
            .code(1);
        let answer = test.json(&["rm", "--dry-run", "--json", "-f", "-f", "locked", "box"]);
        assert_eq!(
            (&answer[0]["action"], &answer[1]["action"]),
            (&json!("would-trash"), &json!("would-trash"))
        );
    });
}

#[test]
fn a_dry_run_says_what_only_it_holds() {
    let (test, path) = with_box();
    test.git_in(&path, &["checkout", "--quiet", "--detach"]);
    commit(&test, &path, "a", "1");
    commit(&test, &path, "a", "2");
    changes_nothing(&test, || {
        let answer = test.json(&["rm", "--dry-run", "--json", "box"]);
        let reason = answer[0]["reason"].as_str().unwrap();
        assert!(reason.contains("2 commits only here"), "{reason}");
    });
}

#[test]
fn json_says_what_became_of_each() {
    let (test, path) = with_box();
    let dirty = test.new_sandbox(&["dirty"]);
    write(&dirty.join("new"), "mine\n");
    let output = test.run(&["rm", "--json", "box", "dirty"]).output();
    assert_eq!(output.status.code(), Some(1));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let wanted = json!([
        {"name": "box", "path": path, "action": "trashed", "reason": "nothing to lose"},
        {"name": "dirty", "path": dirty, "action": "kept",
         "reason": "worktree has 1 uncommitted change"},
    ]);
    assert_eq!(answer, wanted);
    let answer = test.json(&["rm", "--json", "--force", "dirty", "nothing"]);
    assert_eq!(answer.as_array().unwrap().len(), 2);
    let of = |name: &str| {
        answer.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone()
    };
    assert_eq!(of("dirty")["action"], "trashed");
    assert_eq!(of("nothing")["action"], "skipped");
}

#[test]
fn several_are_removed_past_one_that_is_refused() {
    let test = repository(Format::Files).unwrap();
    for name in ["one", "box", "two"] {
        test.new_sandbox(&[name]);
    }
    write(&test.at("box").join("new"), "mine\n");
    test.run(&["rm", "one", "box", "two", "one"])
        .stderr(&format!(
            "removed 'one' (nothing to lose); undo with: git sandbox restore one-ID\n\
             {DIRTY}removed 'two' (nothing to lose); undo with: git sandbox restore two-ID\n"
        ))
        .code(1);
    test.run(&["list", "--names"]).stdout("box\n").ok();
    assert_eq!(fs::read_to_string(test.at("box").join("new")).unwrap(), "mine\n");
    assert_eq!(trashed(&test).len(), 2);
}

#[test]
fn an_unknown_name_stops_rm_before_it_touches_anything() {
    let (test, path) = with_box();
    changes_nothing(&test, || {
        test.run(&["rm", "box", "bxo"])
            .stderr("error: no sandbox is called 'bxo'\nhint: did you mean 'box'?\n")
            .code(1);
    });
    test.run(&["rm", "--force", "nothing"]).ok();
    assert!(path.exists());
    test.run(&["rm", "--force", "nothing", "box"]).stderr(REMOVED).ok();
    assert!(!path.exists());
    test.run(&["rm", "--force", "box"]).ok();
}

#[test]
fn rm_never_takes_the_main_worktree() {
    let (test, _) = with_box();
    let app = test.app().display().to_string();
    for word in ["app", ".", &app, "main", "refs/heads/main", "^"] {
        changes_nothing(&test, || {
            for words in [&["rm", word][..], &["rm", "--force", "--force", word]] {
                let output = test.run(words).output();
                assert_eq!(output.status.code(), Some(1));
                let error = format!("error: cannot remove '{word}': it is the main worktree\n");
                assert_eq!(String::from_utf8(output.stderr).unwrap(), error);
            }
        });
    }
}

#[test]
fn rm_takes_a_branch_or_a_path_too() {
    let test = repository(Format::Files).unwrap();
    for name in ["feat/one", "feat/two", "feat/three"] {
        test.new_sandbox(&[name]);
    }
    let path = test.at("feat-three").display().to_string();
    test.run(&["rm", "feat/one", "refs/heads/feat/two", &path])
        .stderr(
            "removed 'feat-one' (nothing to lose); undo with: git sandbox restore feat-one-ID\n\
             removed 'feat-two' (nothing to lose); undo with: git sandbox restore feat-two-ID\n\
             removed 'feat-three' (nothing to lose); undo with: git sandbox restore feat-three-ID\n",
        )
        .ok();
    test.run(&["list", "--names"]).ok();
}

#[test]
fn a_word_that_means_two_is_refused() {
    let test = repository(Format::Files).unwrap();
    test.new_sandbox(&["box"]);
    test.new_sandbox(&["two", "--branch", "other"]);
    test.git_in(&test.at("box"), &["checkout", "--quiet", "-b", "two"]);
    changes_nothing(&test, || {
        test.run(&["rm", "--force", "--force", "two"])
            .stderr(
                "error: 'two' could be more than one sandbox\n\
                 hint: it could be refs/heads/two\nhint: it could be $ROOT/two\n",
            )
            .code(1);
    });
}

#[test]
fn rm_never_takes_the_sandbox_it_was_started_in() {
    let (test, path) = with_box();
    fs::create_dir(path.join("deep")).unwrap();
    for dir in [path.clone(), path.join("deep")] {
        for force in [&[][..], &["--force"], &["--force", "--force"]] {
            changes_nothing(&test, || {
                test.run_in(&dir, &[&["rm"], force, &["box"]].concat())
                    .stderr("error: cannot remove 'box': you are in it\nhint: cd $APP\n")
                    .code(1);
            });
        }
    }
    let other = test.new_sandbox(&["other"]);
    test.run_in(&other, &["rm", "box"]).stderr(REMOVED).ok();
    assert!(other.exists() && !path.exists());
}

#[test]
fn a_locked_one_goes_only_when_forced_twice() {
    let (test, path) = with_box();
    test.git(&["worktree", "lock", "--reason", "on a stick", &path.display().to_string()]);
    let refusal = "error: cannot remove 'box': locked: on a stick\n\
                   hint: to move it to the trash as it is: git sandbox rm --force --force box\n";
    changes_nothing(&test, || {
        test.run(&["rm", "box"]).stderr(refusal).code(1);
        test.run(&["rm", "--force", "box"]).stderr(refusal).code(1);
    });
    let before = state(&test, &path);
    test.run(&["rm", "--force", "--force", "box"]).stderr(REMOVED).ok();
    assert!(!path.exists());
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    same(&state(&test, &path), &before);
}

#[test]
fn a_check_that_fails_counts_as_work() {
    let (test, path) = with_box();
    let index = entry(&test, &path).join("index");
    let good = fs::read(&index).unwrap();
    fs::write(&index, "garbage that is no index").unwrap();
    let output = test.run(&["rm", "box"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.starts_with("error: cannot remove 'box': cannot tell: "), "{said}");
    let hint = "\nhint: to move it to the trash as it is: git sandbox rm --force box\n";
    assert!(said.ends_with(hint), "{said}");
    assert!(path.exists());
    assert!(test.run(&["rm", "--force", "box"]).output().status.success());
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    assert_eq!(fs::read_to_string(&index).unwrap(), "garbage that is no index");
    fs::write(&index, good).unwrap();
    assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "");
}

#[test]
fn one_that_is_half_made_is_kept_unless_forced() {
    let (test, path) = with_box();
    let at = path.display().to_string();
    test.git(&["worktree", "lock", "--reason", "git-sandbox: creating", &at]);
    test.run(&["rm", "box"])
        .stderr(
            "error: cannot remove 'box': cannot tell: its creation was interrupted\n\
             hint: to move it to the trash as it is: git sandbox rm --force box\n",
        )
        .code(1);
    assert!(path.join("a").exists());
    assert!(test.run(&["rm", "--force", "box"]).output().status.success());
    assert!(!path.exists());
    assert!(trashed(&test)[0].join("tree/a").exists());
}

#[test]
fn rm_outside_a_repository_creates_nothing() {
    let test = Test::bare();
    let before = tree(&test.home, &[]);
    test.run_in(&test.home, &["rm", "box"]).stderr(crate::fixture::usage::OUTSIDE).code(1);
    assert_eq!(tree(&test.home, &[]), before);
    assert!(!Path::new(&test.root()).exists());
}
