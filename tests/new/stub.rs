//! An entry that git was killed in the middle of making: no HEAD yet, nothing checked out.

use std::fs::{self, File};
use std::path::PathBuf;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{names_in, tree, write};
use crate::fixture::state::entry;

/// `new fix`, killed while git had only begun to make the entry. Its folder and its entry.
fn begun(test: &Test) -> (PathBuf, PathBuf) {
    let path = test.new_sandbox(&["fix"]);
    let entry = entry(test, &path);
    for name in names_in(&entry) {
        if !["gitdir", "commondir"].contains(&name.as_str()) {
            let inside = entry.join(name);
            if inside.is_dir() { fs::remove_dir_all(inside) } else { fs::remove_file(inside) }
                .unwrap();
        }
    }
    write(&entry.join("HEAD"), &format!("{}\n", "0".repeat(40)));
    write(&entry.join("locked"), "git-sandbox: creating\n");
    fs::remove_file(path.join("file")).unwrap();
    (path, entry)
}

#[test]
fn new_makes_anew_what_git_had_only_begun() {
    let test = Test::new();
    let (path, _) = begun(&test);
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("created sandbox 'fix': branch 'fix'\n")
        .ok();
    assert_eq!(test.git_in(&path, &["status", "--porcelain", "--branch"]), "## fix");
    assert_eq!(test.linked(), [path.to_string_lossy()]);
}

#[test]
fn what_somebody_put_in_the_place_of_its_pointer_stays() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    write(&entry(&test, &path).join("locked"), "git-sandbox: creating\n");
    let theirs = "gitdir: /somebody/else's\n";
    write(&path.join(".git"), theirs);
    test.run(&["new", "fix"])
        .stderr(
            "error: sandbox 'fix' is damaged: its '.git' file leads to another entry\n\
             hint: git worktree repair\n",
        )
        .code(1);
    assert!(test.run(&["new", "other"]).output().status.success());
    assert_eq!(fs::read_to_string(path.join(".git")).unwrap(), theirs);
}

#[test]
fn new_of_another_name_clears_it_away() {
    let test = Test::new();
    begun(&test);
    test.run(&["new", "other"])
        .stdout("$ROOT/other\n")
        .stderr("created sandbox 'other': new branch 'other' from 'main'\n")
        .ok();
    assert_eq!(test.sandboxes(), ["other"]);
    let [name] = &names_in(&test.app().join(".git/worktrees"))[..] else { panic!() };
    assert!(name.starts_with("other."), "{name}");
    assert_eq!(test.branches(), ["fix", "main", "other"]);
}

#[test]
fn doctor_clears_it_away() {
    let test = Test::new();
    begun(&test);
    let line = "$ROOT/fix: its creation was interrupted\n";
    test.run(&["doctor"]).stdout(line).stderr("hint: git sandbox doctor --fix\n").code(1);
    test.run(&["doctor", "--fix"]).stdout(&format!("fixed: {line}")).ok();
    assert_eq!(test.sandboxes(), [""; 0]);
    assert_eq!(names_in(&test.app().join(".git/worktrees")), [""; 0]);
    assert_eq!(test.branches(), ["fix", "main"]);
    test.git(&["gc", "--prune=now", "--quiet"]);
}

#[test]
fn it_is_cleared_away_also_where_its_folder_is_gone() {
    let test = Test::new();
    let (path, _) = begun(&test);
    fs::remove_dir_all(path).unwrap();
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("created sandbox 'fix': branch 'fix'\n")
        .ok();
    assert_eq!(test.sandboxes(), ["fix"]);
}

#[test]
fn a_folder_that_holds_something_stays() {
    let test = Test::new();
    let (path, _) = begun(&test);
    write(&path.join("notes"), "mine\n");
    let before = tree(&test.app().join(".git/worktrees"), &["sandbox.lock"]);
    let why = "cannot remove '$ROOT/fix': it holds files";
    test.run(&["doctor", "--fix"])
        .stdout(&format!("$ROOT/fix: its creation was interrupted ({why})\n"))
        .stderr("1 problem needs manual repair\n")
        .code(1);
    same(&tree(&test.app().join(".git/worktrees"), &["sandbox.lock"]), &before);
    assert_eq!(names_in(&path), [".git", "notes"]);
}

/// The same, killed before the entry named its folder: git neither lists nor prunes it.
fn barely_begun(test: &Test, commondir: &str) -> PathBuf {
    let entry = test.app().join(".git/worktrees/fix");
    write(&entry.join("locked"), "git-sandbox: creating\n");
    write(&entry.join("commondir"), commondir);
    entry
}

#[test]
fn new_clears_away_an_entry_that_names_no_folder() {
    let test = Test::new();
    let entry = barely_begun(&test, "../..\n");
    test.run(&["new", "other"])
        .stdout("$ROOT/other\n")
        .stderr("created sandbox 'other': new branch 'other' from 'main'\n")
        .ok();
    assert!(!entry.exists());
    let [name] = &names_in(&test.app().join(".git/worktrees"))[..] else { panic!() };
    assert!(name.starts_with("other."), "{name}");
}

#[test]
fn doctor_clears_away_an_entry_that_names_no_folder_even_where_git_fails_of_it() {
    for commondir in ["../..\n", ""] {
        let test = Test::new();
        let other = test.new_sandbox(&["other"]);
        let entry = barely_begun(&test, commondir);
        let line = "$APP/.git/worktrees/fix: its creation was interrupted\n";
        test.run(&["doctor"]).stdout(line).stderr("hint: git sandbox doctor --fix\n").code(1);
        assert!(entry.exists());
        test.run(&["doctor", "--fix"]).stdout(&format!("fixed: {line}")).ok();
        assert!(!entry.exists());
        assert_eq!(test.linked(), [other.to_string_lossy()]);
    }
}

#[test]
fn an_entry_that_names_no_folder_and_holds_more_is_left_alone() {
    let test = Test::new();
    let entry = barely_begun(&test, "../..\n");
    write(&entry.join("modules/sub/HEAD"), "ref: refs/heads/main\n");
    test.new_sandbox(&["other"]);
    assert!(entry.join("modules/sub/HEAD").exists());
    // Nor one that somebody else is making.
    let theirs = test.app().join(".git/worktrees/theirs");
    write(&theirs.join("locked"), "initializing");
    test.new_sandbox(&["another"]);
    assert!(theirs.join("locked").exists());
}

#[test]
fn one_that_plain_git_is_making_is_left_alone() {
    let test = Test::new();
    let (path, entry) = begun(&test);
    write(&entry.join("locked"), "mine\n");
    let before = tree(&entry, &[]);
    test.new_sandbox(&["other"]);
    same(&tree(&entry, &[]), &before);
    assert!(path.join(".git").exists());
}

#[test]
fn a_symlink_in_the_place_of_its_folder_stays() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    let entry = entry(&test, &path);
    let first = path.with_file_name(entry.file_name().unwrap());
    fs::rename(&path, &first).unwrap();
    write(&entry.join("gitdir"), &format!("{}/.git\n", first.display()));
    write(&entry.join("locked"), "git-sandbox: creating\n");
    let elsewhere = test.home.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    test.run(&["new", "other"])
        .stdout("$ROOT/other\n")
        .stderr("created sandbox 'other': new branch 'other' from 'main'\n")
        .ok();
    assert_eq!(fs::read_link(&path).unwrap(), elsewhere);
    assert_eq!(names_in(&elsewhere), [""; 0]);
    assert_eq!(names_in(&first), [".git", "file"]);
}

#[test]
fn a_symlink_in_the_place_of_its_pointer_stays() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    write(&entry(&test, &path).join("locked"), "git-sandbox: creating\n");
    let (pointer, mine) = (path.join(".git"), test.home.join("mine"));
    write(&mine, "");
    fs::remove_file(&pointer).unwrap();
    std::os::unix::fs::symlink(&mine, &pointer).unwrap();
    test.new_sandbox(&["other"]);
    assert_eq!(fs::read_link(&pointer).unwrap(), mine);
    assert_eq!(fs::read_to_string(&mine).unwrap(), "");
}

#[test]
fn a_folder_whose_name_only_looks_like_a_first_one_is_not_moved() {
    let test = Test::new();
    fs::create_dir_all(test.root()).unwrap();
    for (name, moved) in [("notes.personal", None), ("tasks.0123abcd", Some("tasks"))] {
        let path = test.at(name);
        let words = ["worktree", "add", "--quiet", "--lock", "--reason", "git-sandbox: creating"];
        test.git(&[&words[..], &[path.to_str().unwrap()]].concat());
        test.new_sandbox(&[&format!("beside-{name}")]);
        let now = test.at(moved.unwrap_or(name));
        assert_eq!(names_in(&now), [".git", "file"]);
        assert!(test.linked().contains(&now.display().to_string()));
    }
    assert!(!test.at("notes").exists() && !test.at("tasks.0123abcd").exists());
}

/// A creation that lost its folder with the power, in whose place another repository has its own worktree.
fn displaced(test: &Test) -> (PathBuf, PathBuf) {
    let path = test.new_sandbox(&["fix"]);
    let entry = entry(test, &path);
    for name in ["index", "ORIG_HEAD", "sandbox.json"] {
        fs::remove_file(entry.join(name)).unwrap();
    }
    write(&entry.join("locked"), "git-sandbox: creating\n");
    fs::remove_dir_all(&path).unwrap();
    let other = test.init("other/app", &[]);
    test.git_in(&other, &["worktree", "add", "--quiet", path.to_str().unwrap()]);
    write(&path.join("file"), "theirs\n");
    (path, entry)
}

#[test]
fn one_whose_folder_another_repository_has_by_now_is_made_anew() {
    let test = Test::new();
    let (path, entry) = displaced(&test);
    let again = test.new_sandbox(&["fix"]);
    assert_ne!(again, path);
    assert_eq!(test.git_in(&again, &["status", "--porcelain", "--branch"]), "## fix");
    assert!(!entry.exists());
    assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "theirs\n");
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "fix");
}

#[test]
fn doctor_drops_one_whose_folder_another_repository_has_by_now() {
    let test = Test::new();
    let (path, entry) = displaced(&test);
    let output = test.run(&["doctor", "--fix"]).output();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    test.run(&["doctor"]).stderr("all is well\n").ok();
    assert!(!entry.exists() && test.branches().contains(&"fix".into()));
    assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "theirs\n");
}

#[test]
fn one_that_a_process_is_still_making_stays_although_another_repository_has_its_folder() {
    let test = Test::new();
    let (path, entry) = displaced(&test);
    let lock = File::create(entry.join("sandbox.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockShared).unwrap();
    assert!(test.run(&["new", "other"]).output().status.success());
    assert!(entry.join("HEAD").is_file());
    drop(lock);
    assert!(test.run(&["new", "third"]).output().status.success());
    assert!(!entry.exists());
    assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "theirs\n");
}

#[test]
fn one_that_was_checked_out_stays_although_another_repository_has_its_folder() {
    let test = Test::new();
    let (path, entry) = displaced(&test);
    // What is staged is nowhere else.
    fs::copy(test.app().join(".git/index"), entry.join("index")).unwrap();
    assert_eq!(test.run(&["doctor", "--fix"]).output().status.code(), Some(1));
    assert!(test.run(&["new", "other"]).output().status.success());
    assert!(entry.join("index").is_file());
    assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "theirs\n");
}

/// `new fix`, killed in the middle of its checkout: no index yet, and a file is missing. Its folder.
fn without_a_file(test: &Test) -> PathBuf {
    let path = test.new_sandbox(&["fix"]);
    let entry = entry(test, &path);
    fs::remove_file(entry.join("index")).unwrap();
    fs::remove_file(path.join("file")).unwrap();
    write(&entry.join("locked"), "git-sandbox: creating\n");
    path
}

#[test]
fn a_git_that_is_killed_while_a_checkout_is_completed_leaves_no_file_out() {
    let test = Test::new();
    let path = without_a_file(&test);
    let killed = |when: &str| {
        test.fake_git(&format!(
            "case \" $* \" in *\" checkout-index {when}\"*) kill -9 $$;; esac\nexec \"$GIT\" \"$@\""
        ))
    };
    // Whatever it is asked to write: then it is said, and nothing counts as complete.
    let output = test.program(&test.app(), &["new", "fix"]).env("PATH", killed("")).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: cannot complete the checkout: "), "{said}");
    assert!(entry(&test, &path).join("locked").is_file());
    // While it writes everything: what is missing then is written after it.
    test.program(&test.app(), &["new", "fix"])
        .env("PATH", killed("--all "))
        .stdout("$ROOT/fix\n")
        .stderr("finished sandbox 'fix', whose creation had been interrupted\n")
        .ok();
    assert_eq!(test.git_in(&path, &["status", "--porcelain", "--branch"]), "## fix");
    assert!(path.join("file").is_file());
}
