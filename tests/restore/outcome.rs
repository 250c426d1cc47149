//! `git sandbox restore`: what can be brought back, and what it is then.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::json;

use crate::fixture::diff::same;
use crate::fixture::files::{tree, write};
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::without_ids;
use crate::fixture::state::{entry, kept, main_checkout, state};
use crate::fixture::trash::trashed;
use crate::fixture::work::commit;
use crate::fixture::{NOW, Test};

/// Removes one that has work in it.
#[track_caller]
fn rm(test: &Test, name: &str) {
    let output = test.run(&["rm", "--force", "--force", name]).output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The id of the newest removed one of a name.
fn id(test: &Test, name: &str) -> String {
    let rows = test.json(&["restore", "--json"]);
    let row = rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
    row["id"].as_str().unwrap().to_owned()
}

/// The answer with ids and sizes, which depend on the file system, made plain; columns single-spaced.
#[track_caller]
fn plain(test: &Test, words: &[&str], dir: &Path) -> Vec<String> {
    let output = test.run_in(dir, words).output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = without_ids(&String::from_utf8(output.stdout).unwrap(), "");
    let sized = |line: &str| {
        let mut cells: Vec<_> =
            line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        for cell in &mut cells {
            if cell.ends_with("iB") || cell.ends_with(" bytes") {
                *cell = "SIZE";
            }
        }
        cells.join(" | ")
    };
    text.lines().map(sized).collect()
}

#[test]
fn without_a_name_it_lists_what_can_be_brought_back() {
    let test = repository(Format::Files).unwrap();
    test.run(&["restore"]).stderr("nothing to bring back\n").ok();
    test.new_sandbox(&["clean"]);
    let dirty = test.new_sandbox(&["dirty"]);
    write(&dirty.join("new"), "mine\n");
    test.git_in(&dirty, &["checkout", "--quiet", "--detach"]);
    commit(&test, &dirty, "a", "mine\n");
    let output = test.run(&["rm", "clean"]).env("GIT_SANDBOX_NOW", "2026-01-28T12:00:00Z").output();
    assert!(output.status.success());
    rm(&test, "dirty");
    let before = tree(&test.home, &["sandbox.lock"]);
    assert_eq!(
        plain(&test, &["restore"], &test.app()),
        [
            "ID | NAME | REMOVED | SIZE | WHERE | HOLDS",
            "dirty-ID | dirty | just now | SIZE | trash | 1 uncommitted change, 1 commit only here",
            "clean-ID | clean | 3 days ago | SIZE | trash",
        ]
    );
    same(&tree(&test.home, &["sandbox.lock"]), &before);
}

#[test]
fn names_lists_names_and_ids_for_scripts() {
    let test = repository(Format::Files).unwrap();
    test.run(&["restore", "--names"]).ok();
    for day in [27, 28] {
        test.new_sandbox(&["twice"]);
        let now = format!("2026-01-{day}T12:00:00Z");
        assert!(test.run(&["rm", "twice"]).env("GIT_SANDBOX_NOW", now).output().status.success());
    }
    let path = test.new_sandbox(&["look"]);
    test.git_in(&path, &["checkout", "--quiet", "--detach"]);
    rm(&test, "look");
    test.new_sandbox(&["here"]);
    let names = "look\nlook-ID\ntwice\ntwice-ID\ntwice-ID\n";
    test.run(&["restore", "--names"]).stdout(names).ok();
    test.run_in(&test.home, &["restore", "--names", "--all"]).stdout(names).ok();
    test.run(&["restore", "--names", "--describe"])
        .stdout(
            "look\tdetached, removed just now\n\
             look-ID\tdetached, removed just now\n\
             twice\ttwice, removed 3 days ago\n\
             twice-ID\ttwice, removed 3 days ago\n\
             twice-ID\ttwice, removed 4 days ago\n",
        )
        .ok();
    let usage = String::from_utf8(test.run(&["restore", "-h"]).output().stdout).unwrap();
    for (words, error) in [
        (&["twice", "--names"][..], "a name and '--names' cannot be used together"),
        (&["--json", "--names"], "options '--json' and '--names' cannot be used together"),
        (&["--describe"], "option '--describe' needs '--names'"),
    ] {
        let words = [&["restore"], words].concat();
        test.run(&words).stderr(&format!("error: {error}\n{usage}")).code(129);
    }
    test.run_in(&test.home, &["restore", "--names"]).stderr(crate::fixture::usage::OUTSIDE).code(1);
}

#[test]
fn json_lists_what_can_be_brought_back() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    assert_eq!(test.json(&["restore", "--json"]), json!([]));
    rm(&test, "box");
    let rows = test.json(&["restore", "--json"]);
    let row = &rows[0];
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!(without_ids(row["id"].as_str().unwrap(), ""), "box-ID");
    assert_eq!((&row["name"], &row["path"]), (&json!("box"), &json!(path)));
    assert_eq!(row["removed"], "2026-01-31T12:00:00Z");
    assert_eq!(row["until"], "2026-02-14T12:00:00Z");
    assert!(row["size"].as_u64().unwrap() > 0);
    let answer = test.json(&["restore", "--json", "box"]);
    assert_eq!(answer.as_array().unwrap().len(), 1);
    assert_eq!((&answer[0]["name"], &answer[0]["path"]), (&json!("box"), &json!(path)));
    assert_eq!(answer[0]["action"], "restored");
}

#[test]
fn what_holds_precious_files_says_so() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&path.join(".gitignore"), "*.log\n/build/\n.env\n");
    test.git_in(&path, &["commit", "--quiet", "-a", "-m", "ignore"]);
    write(&path.join(".env"), "SECRET=1\n");
    let output = test.run(&["rm", "box"]).output();
    assert!(output.status.success(), "it is no reason to refuse");
    let rows = test.json(&["restore", "--json"]);
    assert_eq!(rows[0]["holds"], json!(["1 precious file"]));
}

/// Removes two of one name and brings both back by it.
#[track_caller]
fn newest_first(old: &str, new: &str) {
    let test = repository(Format::Files).unwrap();
    for (text, now) in [("old", old), ("new", new)] {
        let path = test.new_sandbox(&["box"]);
        write(&path.join("which"), text);
        let run = test.run(&["rm", "--force", "box"]).env("GIT_SANDBOX_NOW", now);
        assert!(run.output().status.success());
    }
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    assert_eq!(fs::read_to_string(test.at("box").join("which")).unwrap(), "new");
    test.run(&["restore", "box", "--as", "older"])
        .stdout("$ROOT/older\n")
        .stderr("restored 'older'\nHEAD is detached: branch 'box' is checked out in '$ROOT/box'\n")
        .ok();
    assert_eq!(fs::read_to_string(test.at("older").join("which")).unwrap(), "old");
    assert!(trashed(&test).is_empty());
}

#[test]
fn of_several_with_one_name_the_newest_comes_back() {
    newest_first("2026-01-29T12:00:00Z", "2026-01-30T12:00:00Z");
}

/// Where a second counts as one moment, their ids decide, which are drawn.
#[test]
fn of_several_removed_within_a_second_the_newest_comes_back() {
    for tenth in 0..4 {
        let time = |tenth: u32| format!("2026-01-30T12:00:00.{tenth}Z");
        newest_first(&time(tenth), &time(tenth + 1));
    }
}

/// A kill while `.git` is written leaves a new file beside the tree.
#[test]
fn a_pointer_that_was_never_renamed_keeps_no_sandbox_in_the_trash() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let before = state(&test, &path);
    rm(&test, "box");
    let item = trashed(&test).remove(0);
    write(&item.join(".git-sandbox-0123abcd"), "gitdir: ");
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    same(&state(&test, &path), &before);
    assert!(!item.exists());
    test.run(&["doctor"]).stdout("").stderr("all is well\n").ok();
}

/// What was put away stays in the vault of the root that was in force then.
#[test]
fn after_a_change_of_the_root_the_list_says_that_there_is_more() {
    let test = repository(Format::Files).unwrap();
    // A name that is not that of a ref for a tag object.
    let path = test.new_sandbox(&["box.tags"]);
    write(&path.join("work"), "work\n");
    rm(&test, "box.tags");
    let hint =
        "hint: 1 more may be in the vault of another root: git sandbox restore --root <root>\n";
    assert!(test.run(&["restore"]).output().stderr.is_empty());
    assert!(test.run(&["reap", "--purge"]).output().status.success());
    assert!(test.run(&["restore"]).output().stderr.is_empty());
    test.git(&["config", "sandbox.root", "../elsewhere"]);
    let nothing = format!("nothing to bring back\n{hint}");
    test.run(&["restore"]).stdout("").stderr(&nothing).ok();
    test.run(&["restore", "--json"]).stdout("[]\n").stderr("").ok();
    let root = path.parent().unwrap().parent().unwrap().to_str().unwrap().to_owned();
    let restored = test.run(&["restore", "--root", &root, "box.tags"]).output();
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    assert_eq!(fs::read_to_string(path.join("work")).unwrap(), "work\n");
    test.run(&["restore"]).stdout("").stderr("nothing to bring back\n").ok();
}

#[test]
fn the_list_names_branch_and_repository_as_every_json_does() {
    let test = repository(Format::Files).unwrap();
    test.new_sandbox(&["feat/ui"]);
    let before = test.json(&["show", "--json", "feat-ui"]);
    rm(&test, "feat-ui");
    for words in [&["restore", "--json"][..], &["restore", "--all", "--json"]] {
        let row = test.json(words)[0].clone();
        assert_eq!(row["branch"], "feat/ui");
        for key in ["name", "path", "branch", "base_repo"] {
            assert_eq!(row[key], before[key], "{key}");
        }
    }
}

#[test]
fn an_id_says_which_one() {
    let test = repository(Format::Files).unwrap();
    let mut ids = Vec::new();
    for text in ["old", "new"] {
        let path = test.new_sandbox(&["box"]);
        write(&path.join("which"), text);
        rm(&test, "box");
        let rows = test.json(&["restore", "--json"]);
        let new = rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned());
        ids.extend(new.filter(|id| !ids.contains(id)).collect::<Vec<_>>());
    }
    test.run(&["restore", &ids[0]]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    assert_eq!(fs::read_to_string(test.at("box").join("which")).unwrap(), "old");
    assert_eq!(id(&test, "box"), ids[1]);
}

#[test]
fn a_branch_says_which_one() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["feat/ui"]);
    let before = state(&test, &path);
    for word in ["feat/ui", "refs/heads/feat/ui", "feat-ui"] {
        rm(&test, "feat-ui");
        test.run(&["restore", word]).stdout("$ROOT/feat-ui\n").stderr("restored 'feat-ui'\n").ok();
        same(&state(&test, &path), &before);
    }
}

#[test]
fn an_unknown_name_is_an_error() {
    let test = repository(Format::Files).unwrap();
    test.run(&["restore", "box"])
        .stderr(
            "error: no removed sandbox is called 'box'\n\
             hint: 'git sandbox restore' lists what can be brought back\n",
        )
        .code(1);
    for words in [&["restore", "--all", "box"][..], &["reap", "--all", "--purge", "box"]] {
        test.run_in(&test.home, words)
            .stderr(
                "error: no removed sandbox is called 'box'\n\
                 hint: 'git sandbox restore --all' lists what can be brought back\n",
            )
            .code(1);
    }
    test.new_sandbox(&["box"]);
    rm(&test, "box");
    test.run(&["restore", "bxo"])
        .stderr("error: no removed sandbox is called 'bxo'\nhint: did you mean 'box'?\n")
        .code(1);
    assert_eq!(trashed(&test).len(), 1);
}

#[test]
fn a_folder_that_is_taken_is_left_alone() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("new"), "mine\n");
    let files = tree(&path, &[".git"]);
    rm(&test, "box");
    write(&path.join("someone"), "else's\n");
    let before = tree(&test.home, &["sandbox.lock"]);
    test.run(&["restore", "box"])
        .stderr(
            "error: cannot restore 'box': '$ROOT/box' already exists\n\
             hint: git sandbox restore box --as box-2\n",
        )
        .code(1);
    test.run(&["restore", "box", "--as", "box"])
        .stderr(
            "error: cannot restore 'box': '$ROOT/box' already exists\n\
             hint: git sandbox restore box --as box-2\n",
        )
        .code(1);
    same(&tree(&test.home, &["sandbox.lock"]), &before);
    test.run(&["restore", "box", "--as", "box-2"])
        .stdout("$ROOT/box-2\n")
        .stderr("restored 'box-2'\n")
        .ok();
    same(&tree(&test.at("box-2"), &[".git"]), &files);
    assert_eq!(test.git_in(&test.at("box-2"), &["branch", "--show-current"]), "box");
    assert_eq!(fs::read_to_string(path.join("someone")).unwrap(), "else's\n");
}

#[test]
fn an_empty_folder_or_a_dangling_symlink_is_taken_too() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    rm(&test, "box");
    let taken = "error: cannot restore 'box': '$ROOT/box' already exists\n\
                 hint: git sandbox restore box --as box-2\n";
    fs::create_dir(&path).unwrap();
    test.run(&["restore", "box"]).stderr(taken).code(1);
    fs::remove_dir(&path).unwrap();
    std::os::unix::fs::symlink("nowhere", &path).unwrap();
    test.run(&["restore", "box"]).stderr(taken).code(1);
    assert_eq!(fs::read_link(&path).unwrap(), Path::new("nowhere"));
    assert_eq!(trashed(&test).len(), 1);
}

#[test]
fn as_cannot_lead_elsewhere() {
    let test = repository(Format::Files).unwrap();
    test.new_sandbox(&["box"]);
    rm(&test, "box");
    for name in ["../../escaped", "/escaped", "..", ".", ".trash", "-x"] {
        let output = test.run(&["restore", "box", &format!("--as={name}")]).output();
        if output.status.success() {
            let path = String::from_utf8(output.stdout).unwrap();
            let path = Path::new(path.trim_end());
            assert_eq!(path.parent(), Some(test.root().as_path()), "{name}");
            assert!(!path.ends_with(".."), "{name}");
            rm(&test, &path.display().to_string());
        }
    }
    assert!(!Path::new("/escaped").exists());
    assert_eq!(trashed(&test).len(), 1);
}

#[test]
fn a_submodule_follows_to_another_name() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    crate::fixture::work::submodule(&test, &path);
    write(&path.join("sub/file"), "mine\n");
    let status = test.git_in(&path, &["status", "--porcelain=v2"]);
    rm(&test, "box");
    let removed = crate::fixture::trash::only_one(&test).join("tree/sub");
    assert_eq!(test.git_in(&removed, &["status", "--porcelain"]), " M file");
    assert!(test.run(&["restore", "box", "--as", "two"]).output().status.success());
    assert_eq!(test.git_in(&test.at("two"), &["status", "--porcelain=v2"]), status);
    assert_eq!(test.git_in(&test.at("two/sub"), &["status", "--porcelain"]), " M file");
}

/// A git that fails does not say that there is no submodule.
#[test]
fn a_restore_that_cannot_read_where_a_submodule_is_is_completed_later() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    crate::fixture::work::submodule(&test, &path);
    let before = state(&test, &path);
    rm(&test, "box");
    let git = test.fake_git(
        "case \" $* \" in *' --get core.worktree '*) exit 128 ;; esac\nexec \"$GIT\" \"$@\"",
    );
    let failed = test.program(&test.app(), &["restore", "box"]).env("PATH", git).output();
    let said = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot read where a submodule is: "), "{said}");
    let again = test.run(&["restore", "box"]).output();
    assert!(again.status.success() || path.exists(), "{}", String::from_utf8_lossy(&again.stderr));
    same(&state(&test, &path), &before);
}

#[test]
fn a_submodule_is_not_taken_for_the_one_that_stands_in_its_place() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    crate::fixture::work::submodule(&test, &path);
    write(&path.join("sub/file"), "old\n");
    rm(&test, "box");
    test.new_sandbox(&["box"]);
    test.git_in(&path, &["submodule", "--quiet", "update", "--init"]);
    write(&path.join("sub/other"), "new\n");
    let before = (tree(&path, &[]), state(&test, &path));
    assert!(test.run(&["restore", "box", "--as", "old"]).output().status.success());
    let (sub, other) = (test.at("old/sub"), test.at("box/sub"));
    assert_eq!(test.git_in(&sub, &["status", "--porcelain"]), " M file");
    assert_eq!(test.git_in(&other, &["status", "--porcelain"]), "?? other");
    assert_eq!((tree(&path, &[]), state(&test, &path)), before);
    rm(&test, "old");
    assert_eq!((tree(&path, &[]), state(&test, &path)), before);
}

/// Removes and restores one that is locked for this reason.
fn comes_back_locked(reason: &[u8]) {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box", "The", "task"]);
    let mut lock = test.command("git", &test.app());
    lock.args(["worktree", "lock", "--reason"]).arg(std::ffi::OsStr::from_bytes(reason));
    assert!(lock.arg(&path).status().unwrap().success());
    let locked = entry(&test, &path).join("locked");
    let before = fs::read(&locked).unwrap();
    rm(&test, "box");
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    assert_eq!(fs::read(&locked).unwrap(), before);
    assert_eq!(test.json(&["show", "--json", "box"])["task"], "The task");
}

#[test]
fn a_lock_of_the_user_comes_back() {
    for reason in ["", "on a stick", "two\nlines", "größe", "git-sandbox: trashed {}"] {
        comes_back_locked(reason.as_bytes());
    }
}

#[test]
fn a_lock_whose_reason_is_no_text_comes_back() {
    comes_back_locked(b"caf\xe9");
}

#[test]
fn a_removed_sandbox_is_used_now_when_it_comes_back() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "a", "1");
    rm(&test, "box");
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    let used = fs::metadata(&path).unwrap().modified().unwrap();
    let used = used.duration_since(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(used.as_secs(), 1_769_860_800, "it is {NOW}");
}

#[test]
fn the_main_checkout_does_not_notice() {
    let test = repository(Format::Files).unwrap();
    test.new_sandbox(&["box"]);
    let before = main_checkout(&test);
    rm(&test, "box");
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    same(&main_checkout(&test), &before);
    assert_eq!(kept(&test), "");
}
