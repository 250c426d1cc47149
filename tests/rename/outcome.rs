//! What a renaming takes along, and what it leaves.

use std::fs;
use std::path::Path;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{tree, write};
use crate::fixture::repository::{Format, make_relative, repository};
use crate::fixture::state::{entry, main_checkout};
use crate::fixture::work::submodule;

/// The files of a sandbox and what its private git dir holds, without what a renaming changes.
fn inside(test: &Test, path: &Path) -> String {
    let entry = entry(test, path);
    let changing = ["sandbox.lock", "logs", "HEAD", "gitdir", "reftable", "modules"];
    tree(path, &[".git"]) + "\n" + &tree(&entry, &changing)
}

#[test]
fn branch_folder_upstream_reflog_and_task_follow() {
    for format in [Format::Files, Format::Reftable, Format::Sha256, Format::Relative] {
        let Some(test) = repository(format) else { continue };
        let path = test.new_sandbox(&["feat/old", "The task"]);
        if format == Format::Relative {
            make_relative(&test, &path);
        }
        let head = test.commit(&path, "committed", "committed");
        test.git(&["config", "branch.feat/old.remote", "somewhere"]);
        test.git(&["config", "branch.feat/old.merge", "refs/heads/theirs"]);
        test.git(&["config", "branch.feat/old.description", "Words"]);
        write(&path.join("staged"), "staged\n");
        test.git_in(&path, &["add", "staged"]);
        write(&path.join("new"), "untracked\n");
        write(&path.join("x.log"), "ignored\n");
        let (entry_before, before) = (entry(&test, &path), inside(&test, &path));
        let reflog = test.git(&["log", "-g", "--format=%H %gs", "feat/old"]);
        let main = tree(&test.app(), &[".git"]);
        test.run(&["rename", "feat-old", "feat/new"])
            .stdout("$ROOT/feat-new\n")
            .stderr(
                "renamed sandbox 'feat-old' to 'feat-new': branch 'feat/old' is now 'feat/new'\n",
            )
            .ok();
        assert_eq!(test.sandboxes(), ["feat-new"]);
        let path = test.at("feat-new");
        assert_eq!(entry(&test, &path), entry_before);
        same(&inside(&test, &path), &before);
        same(&tree(&test.app(), &[".git"]), &main);
        assert_eq!(test.branches(), ["feat/new", "main"]);
        assert_eq!(test.git_in(&path, &["symbolic-ref", "HEAD"]), "refs/heads/feat/new");
        assert_eq!(test.git(&["rev-parse", "feat/new"]), head);
        let now = test.git(&["log", "-g", "--format=%H %gs", "feat/new"]);
        assert!(now.ends_with(&reflog), "{now}\n{reflog}");
        let settings = test.git(&["config", "--get-regexp", r"^branch\.feat"]);
        let wanted = "branch.feat/new.remote somewhere\nbranch.feat/new.merge refs/heads/theirs\n\
                      branch.feat/new.description Words";
        assert_eq!(settings, wanted);
        let shown = test.json(&["show", "--json", "feat/new"]);
        let facts = ["name", "task", "base", "state", "locked"].map(|key| shown[key].clone());
        let wanted = ["feat-new", "The task", "main", "ready"].map(serde_json::Value::from);
        assert_eq!(facts[..4], wanted);
        assert!(facts[4].is_null());
        assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "A  staged\n?? new");
        test.git(&["fsck", "--connectivity-only"]);
        // It can be removed and brought back under its new name.
        test.run(&["rm", "--force", "feat/new"])
            .stderr(
                "removed 'feat-new' (2 uncommitted changes); \
                 undo with: git sandbox restore feat-new-ID\n",
            )
            .ok();
    }
}

#[test]
fn others_that_started_from_it_know_its_new_name() {
    let test = Test::new();
    let path = test.new_sandbox(&["base"]);
    test.commit(&path, "committed", "committed");
    let output = test.run_in(&path, &["new", "above"]).output();
    assert!(output.status.success());
    assert_eq!(test.json(&["show", "--json", "above"])["base"], "base");
    test.run(&["rename", "base", "ground"])
        .stdout("$ROOT/ground\n")
        .stderr("renamed sandbox 'base' to 'ground': branch 'base' is now 'ground'\n")
        .ok();
    assert_eq!(test.json(&["show", "--json", "above"])["base"], "ground");
    assert_eq!(test.json(&["show", "--json", "ground"])["base"], "main");
}

#[test]
fn a_folder_that_is_taken_gets_a_number_and_one_that_fits_stays() {
    let test = Test::new();
    test.new_sandbox(&["feat-ui"]);
    test.new_sandbox(&["other"]);
    test.run(&["rename", "other", "feat/ui"])
        .stdout("$ROOT/feat-ui-2\n")
        .stderr(
            "folder 'feat-ui' is taken: using 'feat-ui-2'\n\
             renamed sandbox 'other' to 'feat-ui-2': branch 'other' is now 'feat/ui'\n",
        )
        .ok();
    assert_eq!(test.sandboxes(), ["feat-ui", "feat-ui-2"]);
    assert_eq!(test.branches(), ["feat-ui", "feat/ui", "main"]);
    // The branch alone: its folder is called so already.
    test.new_sandbox(&["a/b"]);
    test.run(&["rename", "a/b", "a-b"])
        .stdout("$ROOT/a-b\n")
        .stderr("renamed sandbox 'a-b' to 'a-b': branch 'a/b' is now 'a-b'\n")
        .ok();
    assert_eq!(test.sandboxes(), ["a-b", "feat-ui", "feat-ui-2"]);
    test.run(&["rename", "a-b", "a-b"])
        .stdout("$ROOT/a-b\n")
        .stderr("sandbox 'a-b' is called so already\n")
        .ok();
    // Another case only.
    test.run(&["rename", "a-b", "A-B"])
        .stdout("$ROOT/A-B\n")
        .stderr("renamed sandbox 'a-b' to 'A-B': branch 'a-b' is now 'A-B'\n")
        .ok();
    assert_eq!(test.branches(), ["A-B", "feat-ui", "feat/ui", "main"]);
    assert_eq!(test.sandboxes(), ["A-B", "feat-ui", "feat-ui-2"]);
}

#[test]
fn without_a_branch_only_the_folder_is_renamed() {
    let test = Test::new();
    let path = test.new_sandbox(&["--detach", "x"]);
    let head = test.commit(&path, "committed", "committed");
    for (new, folder) in [("y", "exploration-y"), ("exploration-z", "exploration-z")] {
        let old = test.sandboxes().remove(0);
        test.run(&["rename", &old, new])
            .stdout(&format!("$ROOT/{folder}\n"))
            .stderr(&format!("renamed sandbox '{old}' to '{folder}'\n"))
            .ok();
        assert_eq!(test.sandboxes(), [folder]);
        assert_eq!(test.git_in(&test.at(folder), &["rev-parse", "HEAD"]), head);
        assert_eq!(test.branches(), ["main"]);
    }
    assert_eq!(test.json(&["list", "--json"])[0]["class"], "transient");
}

#[test]
fn an_unborn_branch_is_renamed() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["checkout", "--quiet", "--orphan", "fresh"]);
    test.run(&["rename", "fresh", "fresher"])
        .stdout("$ROOT/fresher\n")
        .stderr("renamed sandbox 'box' to 'fresher': branch 'fresh' is now 'fresher'\n")
        .ok();
    let head = test.git_in(&test.at("fresher"), &["symbolic-ref", "HEAD"]);
    assert_eq!(head, "refs/heads/fresher");
    assert_eq!(test.branches(), ["box", "main"]);
}

#[test]
fn an_external_one_stays_beside_its_neighbours() {
    let test = Test::new();
    test.new_sandbox(&["old", "--dir", "../elsewhere"]);
    test.run(&["rename", "old", "new"])
        .stdout("$HOME/elsewhere/new\n")
        .stderr("renamed sandbox 'old' to 'new': branch 'old' is now 'new'\n")
        .ok();
    assert!(!test.home.join("elsewhere/old").exists());
}

#[test]
fn submodules_still_work() {
    let test = Test::new();
    let path = test.new_sandbox(&["old"]);
    submodule(&test, &path);
    write(&path.join("sub/new"), "");
    test.run(&["rename", "old", "a-longer-name"])
        .stdout("$ROOT/a-longer-name\n")
        .stderr("renamed sandbox 'old' to 'a-longer-name': branch 'old' is now 'a-longer-name'\n")
        .ok();
    let sub = test.at("a-longer-name").join("sub");
    assert_eq!(test.git_in(&sub, &["status", "--porcelain"]), "?? new");
    assert_eq!(test.git_in(&sub, &["rev-parse", "--show-toplevel"]), sub.to_str().unwrap());
}

/// Then git keeps where its files are in a config of the worktree.
#[test]
fn a_sparse_submodule_still_works() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    submodule(&test, &path);
    test.git_in(&path.join("sub"), &["sparse-checkout", "set", "--cone", "dir"]);
    let config = entry(&test, &path).join("modules/sub/config.worktree");
    assert!(fs::read_to_string(&config).unwrap().contains("worktree = "));
    assert!(test.run(&["rename", "box", "new"]).output().status.success());
    let sub = test.at("new").join("sub");
    assert_eq!(test.git_in(&sub, &["status", "--porcelain"]), "");
    let top = test.git_in(&sub, &["rev-parse", "--show-toplevel"]);
    assert_eq!(Path::new(&top), sub.canonicalize().unwrap());
    assert!(test.run(&["rm", "--force", "new"]).output().status.success());
    assert!(test.run(&["restore", "new", "--as", "other"]).output().status.success());
    assert_eq!(test.git_in(&test.at("other").join("sub"), &["status", "--porcelain"]), "");
}

#[test]
fn submodules_in_submodules_still_work() {
    let test = Test::new();
    let path = test.new_sandbox(&["old"]);
    submodule(&test, &path);
    let sub = path.join("sub");
    let url = test.init("inner", &[]).display().to_string();
    test.git_in(&sub, &["submodule", "--quiet", "add", &url, "deep"]);
    test.git_in(&sub, &["commit", "--quiet", "-m", "deep"]);
    write(&sub.join("deep/new"), "");
    test.run(&["rename", "old", "a-longer-name"])
        .stdout("$ROOT/a-longer-name\n")
        .stderr("renamed sandbox 'old' to 'a-longer-name': branch 'old' is now 'a-longer-name'\n")
        .ok();
    let deep = test.at("a-longer-name").join("sub/deep");
    assert_eq!(test.git_in(&deep, &["status", "--porcelain"]), "?? new");
    assert_eq!(test.git_in(&deep, &["rev-parse", "--show-toplevel"]), deep.to_str().unwrap());
}

#[test]
fn settings_of_a_branch_whose_name_begins_the_same_stay() {
    let test = Test::new();
    test.new_sandbox(&["old"]);
    test.git(&["branch", "old.more"]);
    test.git(&["config", "branch.old.more.description", "Words"]);
    test.run(&["rename", "old", "new"])
        .stdout("$ROOT/new\n")
        .stderr("renamed sandbox 'old' to 'new': branch 'old' is now 'new'\n")
        .ok();
    assert_eq!(test.branches(), ["main", "new", "old.more"]);
    let settings = test.git(&["config", "--get-regexp", r"^branch\."]);
    assert_eq!(settings, "branch.old.more.description Words");
}

#[test]
fn a_branch_that_cannot_be_renamed_leaves_all_as_it_was() {
    let test = Test::new();
    let path = test.new_sandbox(&["old", "A task"]);
    test.git(&["config", "branch.new.remote", "stale"]);
    let before = inside(&test, &path);
    let main = main_checkout(&test);
    let lock = test.app().join(".git/refs/heads/new.lock");
    let path_with = |failing: &str| {
        test.fake_git(&format!("case \"$*\" in {failing}) exit 1 ;; esac\nexec \"$GIT\" \"$@\""))
    };
    let unchanged = || {
        same(&inside(&test, &path), &before);
        same(&main_checkout(&test), &main);
        assert_eq!(test.sandboxes(), ["old"]);
        assert_eq!(test.git_in(&path, &["symbolic-ref", "HEAD"]), "refs/heads/old");
        assert_eq!(test.git(&["config", "branch.new.remote"]), "stale");
    };
    write(&lock, "");
    let output = test.run(&["rename", "old", "new"]).output();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: cannot rename the branch: "), "{stderr}");
    fs::remove_file(&lock).unwrap();
    unchanged();
    test.program(&test.app(), &["rename", "old", "new"])
        .env("PATH", path_with("*symbolic-ref*refs/heads/new"))
        .stderr("error: cannot put HEAD on its branch: git exited with 1\n")
        .code(1);
    unchanged();
}

/// The folder has moved by then: half a renaming would leave git failing in the submodule.
#[test]
fn a_git_that_fails_once_while_a_submodule_is_told_is_asked_again() {
    let test = Test::new();
    let path = test.new_sandbox(&["old"]);
    submodule(&test, &path);
    let git = test.fake_git(
        "case \" $* \" in *' --get core.worktree '*) ;; *' core.worktree '*) \
         [ -e \"$HOME/failed\" ] || { : >\"$HOME/failed\"; exit 128; } ;; esac\nexec \"$GIT\" \"$@\"",
    );
    let run = test.program(&test.app(), &["rename", "old", "new"]).env("PATH", git).output();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(test.home.join("failed").exists());
    let top = test.git_in(&test.at("new/sub"), &["rev-parse", "--show-toplevel"]);
    assert_eq!(Path::new(&top), test.at("new/sub"));
    test.run(&["doctor"]).stdout("").stderr("all is well\n").ok();
}
