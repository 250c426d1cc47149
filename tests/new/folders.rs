//! Which folder a sandbox gets.

use crate::fixture::state::private;
use std::fs;
use std::os::unix::fs::symlink;

use crate::fixture::Test;
use crate::fixture::files::{chmod, names_in, tree, write};

/// The wanted folder is taken: it gets another one, and the user is told.
#[track_caller]
fn evades(test: &Test, branch: &str, wanted: &str, got: &str) {
    test.run(&["new", branch])
        .stdout(&format!("$ROOT/{got}\n"))
        .stderr(&format!(
            "folder '{wanted}' is taken: using '{got}'\n\
             created sandbox '{got}': new branch '{branch}' from 'main'\n"
        ))
        .ok();
    assert_eq!(test.git_in(&test.at(got), &["branch", "--show-current"]), branch);
}

#[test]
fn a_folder_that_another_branch_has_gets_a_number() {
    let test = Test::new();
    test.new_sandbox(&["a-b-c"]);
    evades(&test, "a/b-c", "a-b-c", "a-b-c-2");
    evades(&test, "a-b/c", "a-b-c", "a-b-c-3");
    assert_eq!(test.sandboxes(), ["a-b-c", "a-b-c-2", "a-b-c-3"]);
    test.run(&["new", "a-b/c"])
        .stdout("$ROOT/a-b-c-3\n")
        .stderr("resumed sandbox 'a-b-c-3'\n")
        .ok();
}

#[test]
fn a_folder_that_another_branch_had_and_git_still_knows_gets_a_number() {
    let test = Test::new();
    let first = test.new_sandbox(&["a/b"]);
    assert_eq!(first, test.at("a-b"));
    fs::remove_dir_all(&first).unwrap();
    assert_eq!(test.new_sandbox(&["a-b"]), test.at("a-b-2"));
}

#[test]
fn a_folder_that_differs_in_case_only_gets_a_number() {
    let test = Test::new();
    test.new_sandbox(&["fix"]);
    evades(&test, "Fix", "Fix", "Fix-2");
    assert_eq!(test.sandboxes(), ["Fix-2", "fix"]);
}

#[test]
fn the_prefix_of_explorations_is_not_a_branchs() {
    let test = Test::new();
    test.run(&["new", "exploration-x"])
        .stdout("$ROOT/branch-exploration-x\n")
        .stderr("created sandbox 'branch-exploration-x': new branch 'exploration-x' from 'main'\n")
        .ok();
    assert_eq!(test.json(&["show", "exploration-x", "--json"])["class"], "persistent");
    test.run(&["new", "--detach", "x"])
        .stdout("$ROOT/exploration-x\n")
        .stderr("created sandbox 'exploration-x': detached at 'main'\n")
        .ok();
}

#[test]
fn letters_that_trouble_a_shell_become_dashes() {
    let test = Test::new();
    for (branch, folder) in [
        ("a$b&c", "a-b-c"),
        ("#12", "12"),
        ("größe/修正", "größe-修正"),
        ("it's", "it-s"),
        ("v1.2+x@y,z", "v1.2+x@y,z"),
    ] {
        test.run(&["new", branch])
            .stdout(&format!("$ROOT/{folder}\n"))
            .stderr(&format!("created sandbox '{folder}': new branch '{branch}' from 'main'\n"))
            .ok();
        assert_eq!(test.git_in(&test.at(folder), &["branch", "--show-current"]), branch);
    }
}

#[test]
fn a_long_name_is_cut_with_a_hash() {
    let test = Test::new();
    let long = "x".repeat(99);
    let [one, other] = ["1", "2"].map(|end| {
        let branch = format!("{long}{end}");
        let path = test.new_sandbox(&[&branch]);
        assert_eq!(test.git_in(&path, &["branch", "--show-current"]), branch);
        path.file_name().unwrap().to_str().unwrap().to_owned()
    });
    assert_eq!((one.len(), other.len()), (64, 64));
    assert_eq!(one[..56], format!("{}-", &long[..55]));
    assert_ne!(one, other);
    assert!(one[56..].bytes().all(|byte| byte.is_ascii_hexdigit()), "{one}");
    let resumed = test.run(&["new", &format!("{long}1")]).output();
    assert_eq!(resumed.stderr, format!("resumed sandbox '{one}'\n").as_bytes());
}

#[test]
fn a_folder_of_somebody_elses_among_our_own_is_never_used() {
    let test = Test::new();
    test.new_sandbox(&["first"]);
    write(&test.at("fix/notes"), "mine\n");
    write(&test.at("file"), "mine\n");
    write(&test.home.join("elsewhere/notes"), "mine\n");
    symlink(test.home.join("elsewhere"), test.at("link")).unwrap();
    symlink(test.home.join("nowhere"), test.at("dangling")).unwrap();
    for name in ["fix", "file", "link", "dangling"] {
        evades(&test, name, name, &format!("{name}-2"));
    }
    assert_eq!(names_in(&test.at("fix")), ["notes"]);
    assert_eq!(fs::read(test.at("file")).unwrap(), b"mine\n");
    assert_eq!(names_in(&test.home.join("elsewhere")), ["notes"]);
    assert!(!test.home.join("nowhere").exists());
}

#[test]
fn a_projects_folder_with_files_of_others_is_left_alone() {
    let test = Test::new();
    write(&test.at("fix/notes"), "mine\n");
    // As the program makes them, whatever the umask.
    for folder in [".cache", ".cache/git-sandbox", ".cache/git-sandbox/worktrees"] {
        chmod(&test.home.join(folder), 0o755);
    }
    let path = test.new_sandbox(&["fix"]);
    assert!(path.join(".git").is_file());
    assert_eq!(test.sandboxes(), ["fix"]);
    assert_eq!(names_in(&test.at("fix")), ["notes"]);
}

#[test]
fn an_empty_folder_that_a_crash_left_is_used() {
    let test = Test::new();
    test.new_sandbox(&["first"]);
    fs::create_dir(test.at("fix")).unwrap();
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("created sandbox 'fix': new branch 'fix' from 'main'\n")
        .ok();
}

#[test]
fn a_numbered_folder_is_found_by_dir_too() {
    let test = Test::new();
    write(&test.home.join("else/fix/notes"), "mine\n");
    test.run(&["new", "fix", "--dir", "../else"])
        .stdout("$HOME/else/fix-2\n")
        .stderr(
            "folder 'fix' is taken: using 'fix-2'\n\
             created sandbox 'fix-2': new branch 'fix' from 'main'\n",
        )
        .ok();
    assert_eq!(names_in(&test.home.join("else/fix")), ["notes"]);
}

#[test]
fn two_repositories_of_one_name_do_not_share_a_folder() {
    let test = Test::new();
    let other = test.init("other/app", &[]);
    test.new_sandbox(&["fix"]);
    let output = test.run_in(&other, &["new", "fix"]).output();
    assert!(output.status.success());
    let roots = names_in(test.root().parent().unwrap());
    let [first, second] = &roots[..] else { panic!("{roots:?}") };
    assert_eq!(first, "app");
    let digits = second.strip_prefix("app-").unwrap();
    assert!(digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()), "{second}");
    let home = test.root().parent().unwrap().join(second);
    assert_eq!(output.stdout, format!("{}/fix\n", home.display()).as_bytes());
    test.run_in(&other, &["new", "more"])
        .stdout(&format!("{}/more\n", home.display()))
        .stderr("created sandbox 'more': new branch 'more' from 'main'\n")
        .ok();
    test.run(&["new", "more"])
        .stdout("$ROOT/more\n")
        .stderr("created sandbox 'more': new branch 'more' from 'main'\n")
        .ok();
    assert_eq!(test.json(&["list", "--json"]).as_array().unwrap().len(), 2);
    let managed = |facts: &serde_json::Value| facts["managed"] == true;
    assert!(test.json(&["list", "--all", "--json"]).as_array().unwrap().iter().all(managed));
}

#[test]
fn a_repository_stays_in_the_folder_of_its_own_when_the_first_becomes_free() {
    let test = Test::new();
    let other = test.init("other/app", &[]);
    let first = test.new_sandbox(&["fix"]);
    let output = test.run_in(&other, &["new", "fix"]).output();
    let second = String::from_utf8(output.stdout).unwrap();
    let home = second.strip_suffix("/fix\n").unwrap();
    test.git_in(&other, &["worktree", "remove", second.trim_end()]);
    test.git(&["worktree", "remove", &first.to_string_lossy()]);
    test.run_in(&other, &["new", "more"])
        .stdout(&format!("{home}/more\n"))
        .stderr("created sandbox 'more': new branch 'more' from 'main'\n")
        .ok();
}

#[test]
fn a_project_folder_that_emptied_is_taken_again() {
    let test = Test::new();
    let other = test.init("other/app", &[]);
    let path = test.new_sandbox(&["fix"]);
    test.git(&["worktree", "remove", &path.to_string_lossy()]);
    test.run_in(&other, &["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("created sandbox 'fix': new branch 'fix' from 'main'\n")
        .ok();
}

#[test]
fn two_repositories_of_one_name_with_a_root_that_names_the_project() {
    let test = Test::new();
    let other = test.init("other/app", &[]);
    let root = test.home.join("{project}-trees");
    test.git_in(&test.home, &["config", "--global", "sandbox.root", &root.to_string_lossy()]);
    test.run(&["new", "fix"])
        .stdout("$HOME/app-trees/fix\n")
        .stderr("created sandbox 'fix': new branch 'fix' from 'main'\n")
        .ok();
    let output = test.run_in(&other, &["new", "fix"]).output();
    let path = String::from_utf8(output.stdout).unwrap();
    let folder = path.trim_end().rsplit('/').nth(1).unwrap();
    assert!(folder.starts_with("app-") && folder.ends_with("-trees"), "{path}");
    assert_eq!(folder.len(), "app-123456-trees".len());
    assert_eq!(names_in(&test.home.join("app-trees")), ["fix"]);
}

#[test]
fn a_name_without_letters_gets_a_folder_all_the_same() {
    let test = Test::new();
    let path = test.new_sandbox(&["@@"]);
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "@@");
    assert!(path.file_name().unwrap().to_str().unwrap().starts_with("branch-"));
    assert_eq!(test.new_sandbox(&["@@"]), path);
}

/// The only folder of `app` was deleted by hand; then `other/app` made its first sandbox, of the same
/// name, in the home that nobody seemed to have.
#[track_caller]
fn superseded() -> Test {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    write(&path.join("work"), "committed\n");
    test.git_in(&path, &["add", "work"]);
    test.git_in(&path, &["commit", "--quiet", "-m", "work"]);
    test.git_in(&path, &["checkout", "--quiet", "--detach"]);
    test.git_in(&path, &["branch", "--quiet", "-D", "fix"]);
    fs::remove_dir_all(&path).unwrap();
    let other = test.init("other/app", &[]);
    test.run_in(&other, &["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("created sandbox 'fix': new branch 'fix' from 'main'\n")
        .ok();
    write(&path.join("theirs"), "untracked\n");
    test
}

/// The folder and its entry are the other repository's, and whole.
#[track_caller]
fn others_is_whole(test: &Test) {
    assert_eq!(fs::read_to_string(test.at("fix/theirs")).unwrap(), "untracked\n");
    assert_eq!(test.git_in(&test.at("fix"), &["status", "--porcelain"]), "?? theirs");
    assert_eq!(test.git_in(&test.at("fix"), &["branch", "--show-current"]), "fix");
}

#[test]
fn a_folder_that_another_repository_has_now_is_gone_for_this_one() {
    let test = superseded();
    assert_eq!(test.json(&["show", "fix", "--json"])["state"], "missing");
    test.run(&["rm", "fix"])
        .stderr(
            "removed 'fix', whose folder was gone; undo with: git sandbox restore fix-ID\n\
             kept 1 commit only here in refs/sandbox/kept/fix-ID\n",
        )
        .ok();
    assert_eq!(test.git(&["worktree", "list"]).lines().count(), 1);
    others_is_whole(&test);
    let kept = test.git(&["for-each-ref", "--format=%(refname)", "refs/sandbox/kept/"]);
    assert_eq!(test.git(&["show", &format!("{kept}:work")]), "committed");
}

#[test]
fn doctor_forgets_one_whose_folder_another_repository_has_now() {
    let test = superseded();
    let line = "$ROOT/fix: its folder is gone\n";
    test.run(&["doctor", "--fix"]).stdout(&format!("fixed: {line}")).ok();
    test.run(&["doctor"]).stderr("all is well\n").ok();
    others_is_whole(&test);
}

#[test]
fn a_sandbox_whose_folder_is_gone_does_not_show_whose_home_it_is() {
    let test = superseded();
    let own = test.run(&["new", "more"]).output();
    assert!(own.status.success());
    let path = String::from_utf8(own.stdout).unwrap();
    let home = test.root().with_file_name("app-").display().to_string();
    assert!(path.starts_with(&home) && path.ends_with("/more\n"), "{path}");
    others_is_whole(&test);
}

#[test]
fn a_repository_that_goes_by_two_paths_is_one() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    write(&path.join("file"), "mine\n");
    let moved = test.home.join("moved");
    fs::create_dir(&moved).unwrap();
    fs::rename(test.app(), moved.join("app")).unwrap();
    symlink(moved.join("app"), test.app()).unwrap();
    let before = tree(&test.home, &["sandbox.lock", ".git"]);
    assert_eq!(test.json(&["show", "fix", "--json"])["state"], "ready");
    test.run(&["rm", "fix"])
        .stderr(
            "error: cannot remove 'fix': worktree has 1 uncommitted change\n\
             hint: to move it to the trash as it is: git sandbox rm --force fix\n",
        )
        .code(1);
    test.run(&["doctor", "--fix"]).stderr("all is well\n").ok();
    assert_eq!(tree(&test.home, &["sandbox.lock", ".git"]), before);
    test.run(&["new", "fix"]).stdout("$ROOT/fix\n").stderr("resumed sandbox 'fix'\n").ok();
    test.run(&["new", "more"])
        .stdout("$ROOT/more\n")
        .stderr("created sandbox 'more': new branch 'more' from 'main'\n")
        .ok();
    assert_eq!(test.git_in(&path, &["status", "--porcelain"]), " M file");
}

/// Only an entry of a repository, and none of this one by another name, can have taken a folder.
#[test]
fn a_forged_pointer_makes_no_sandbox_missing() {
    let test = Test::new();
    let other = test.init("other/app", &[]);
    for (name, forge) in [
        ("a", "mkdir fake; echo \"$PWD/.git\" >fake/gitdir; echo \"gitdir: $PWD/fake\" >.git"),
        (
            "b",
            "mkdir -p fake/worktrees/b; echo \"$PWD/.git\" >fake/worktrees/b/gitdir; \
             echo ../.. >fake/worktrees/b/commondir; cp \"$OURS\" fake/worktrees/b/HEAD; \
             echo \"gitdir: $PWD/fake/worktrees/b\" >.git",
        ),
        // A real one, but what was going on here is known to the lost entry only.
        (
            "c",
            "mkdir \"$(dirname \"$OURS\")/rebase-merge\"; git -C \"$OTHER\" worktree add -q --detach ../c; \
             cp \"$OTHER/../c/.git\" .git; echo \"$PWD/.git\" >\"$OTHER/.git/worktrees/c/gitdir\"",
        ),
    ] {
        let path = test.new_sandbox(&[name]);
        write(&path.join("file"), "mine\n");
        let ours = private(&test.app(), name).join("HEAD");
        let mut shell = test.command("sh", &path);
        let done = shell.args(["-euc", forge]).env("OURS", ours).env("OTHER", &other).output();
        let done = done.unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let before = tree(&test.home, &["sandbox.lock"]);
        for words in [&["rm", name][..], &["rm", "--force", "--force", name]] {
            let why = "it is damaged: its '.git' file leads to another entry";
            test.run(words).stderr(&format!("error: cannot remove '{name}': {why}\n")).code(1);
        }
        assert_eq!(tree(&test.home, &["sandbox.lock"]), before);
    }
}
