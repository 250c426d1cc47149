//! `git sandbox new --with-changes`, and the changes that stay behind without it.

use std::fs;
use std::path::Path;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{chmod, tree, write};
use crate::fixture::process::finished;
use crate::fixture::repository::{Format, repository};
use crate::fixture::state::{entry, main_checkout};
use crate::fixture::work::submodule;

/// Makes uncommitted changes of every kind in the main checkout.
#[track_caller]
fn change(test: &Test) {
    let app = test.app();
    write(&app.join("a"), "staged\n");
    test.git(&["add", "a"]);
    write(&app.join("a"), "staged, then edited\n");
    write(&app.join("b"), "edited\n");
    test.git(&["mv", "dir/c", "moved"]);
    write(&app.join("new/größe 修正"), "untracked\n");
    write(&app.join("staged-only"), "staged\n");
    test.git(&["add", "staged-only"]);
    write(&app.join("meant"), "meant to be added\n");
    test.git(&["add", "--intent-to-add", "meant"]);
    chmod(&app.join("tool"), 0o644);
    fs::remove_file(app.join("link")).unwrap();
    std::os::unix::fs::symlink("b", app.join("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", app.join("arrow")).unwrap();
    fs::write(app.join("binary"), b"\0\xff\r\n").unwrap();
    write(&app.join("ignored.log"), "ignored\n");
    // Staged as deleted, and there all the same; deleted, but not staged.
    test.git(&["rm", "--quiet", "--cached", "file"]);
    fs::remove_file(app.join(".gitignore")).unwrap();
    test.git(&[
        "config",
        "--global",
        "core.excludesFile",
        test.home.join("ignore").to_str().unwrap(),
    ]);
    write(&test.home.join("ignore"), "*.log\n");
}

fn status(test: &Test, path: &Path) -> String {
    test.git_in(path, &["status", "--porcelain=v2", "--untracked-files=all"])
}

#[test]
fn every_change_is_copied_and_stays_where_it_was() {
    for format in [Format::Files, Format::Reftable, Format::Sha256] {
        let Some(test) = repository(format) else { continue };
        change(&test);
        fs::create_dir_all(test.app().join("sub")).unwrap();
        let before = (status(&test, &test.app()), tree(&test.app(), &[".git"]));
        let index = fs::read(test.app().join(".git/index")).unwrap();
        test.run_in(&test.app().join("sub"), &["new", "box", "--with-changes"])
            .stdout("$ROOT/box\n")
            .stderr(
                "copied 14 changes of '$APP'\n\
                 created sandbox 'box': new branch 'box' from 'main'\n",
            )
            .ok();
        let path = test.at("box");
        same(&status(&test, &path), &before.0);
        assert!(before.0.contains(".A") && before.0.contains("D."), "{}", before.0);
        fs::remove_file(test.app().join("ignored.log")).unwrap();
        fs::remove_dir(test.app().join("sub")).unwrap();
        fs::remove_dir(test.app().join("dir")).unwrap();
        same(&tree(&path, &[".git"]), &tree(&test.app(), &[".git"]));
        assert_eq!(fs::read(test.app().join(".git/index")).unwrap(), index);
        assert_eq!(status(&test, &test.app()), before.0);
        let words = ["diff", "--cached"];
        assert_eq!(test.git_in(&path, &words), test.git(&words));
        assert_eq!(test.git_in(&path, &["diff"]), test.git(&["diff"]));
        let facts = fs::read_to_string(entry(&test, &path).join("sandbox.json")).unwrap();
        assert!(!facts.contains("carrying"), "{facts}");
    }
}

#[test]
fn a_file_that_became_a_folder_and_a_folder_that_became_a_file() {
    let test = repository(Format::Files).unwrap();
    let app = test.app();
    fs::remove_file(app.join("a")).unwrap();
    write(&app.join("a/inside"), "a folder now\n");
    fs::remove_dir_all(app.join("dir")).unwrap();
    write(&app.join("dir"), "a file now\n");
    let before = status(&test, &app);
    test.run(&["new", "box", "--with-changes"])
        .stdout("$ROOT/box\n")
        .stderr(
            "copied 4 changes of '$APP'\n\
             created sandbox 'box': new branch 'box' from 'main'\n",
        )
        .ok();
    let path = test.at("box");
    assert_eq!(status(&test, &path), before);
    same(&tree(&path, &[".git"]), &tree(&app, &[".git"]));
    // The same from another commit.
    test.git(&["commit", "--quiet", "--allow-empty", "-m", "more"]);
    let path = test.new_sandbox(&["elsewhere", "--from", "HEAD~1", "--with-changes"]);
    let words = ["status", "--porcelain", "--untracked-files=all"];
    assert_eq!(test.git_in(&path, &words), test.git(&words));
    same(&tree(&path, &[".git"]), &tree(&app, &[".git"]));
}

#[test]
fn a_folder_that_became_a_symlink_to_one_with_the_same_files() {
    for from in ["HEAD", "HEAD~1"] {
        let test = repository(Format::Files).unwrap();
        test.git(&["commit", "--quiet", "--allow-empty", "-m", "more"]);
        let app = test.app();
        fs::rename(app.join("dir"), app.join("real")).unwrap();
        std::os::unix::fs::symlink("real", app.join("dir")).unwrap();
        let before = status(&test, &app);
        let path = test.new_sandbox(&["box", "--with-changes", "--from", from]);
        assert_eq!(status(&test, &path), before);
        same(&tree(&path, &[".git"]), &tree(&app, &[".git"]));
    }
}

#[test]
fn a_file_that_is_staged_in_the_place_of_a_symlink_is_not_deleted_through_it() {
    let test = repository(Format::Files).unwrap();
    let app = test.app();
    let outside = test.home.join("outside");
    write(&outside.join("inside"), "mine\n");
    std::os::unix::fs::symlink(&outside, app.join("way")).unwrap();
    test.git(&["add", "way"]);
    test.git(&["commit", "--quiet", "-m", "way"]);
    test.git(&["rm", "--quiet", "--cached", "way"]);
    let blob = test.git(&["rev-parse", "HEAD:a"]);
    test.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},way/inside")]);
    let before = status(&test, &app);
    let path = test.new_sandbox(&["box", "--with-changes"]);
    assert_eq!(fs::read_to_string(outside.join("inside")).unwrap(), "mine\n");
    assert_eq!(status(&test, &path), before);
    same(&tree(&path, &[".git"]), &tree(&app, &[".git"]));
}

#[test]
fn staged_deletions_and_renames_go_to_another_commit() {
    let test = repository(Format::Files).unwrap();
    test.git(&["commit", "--quiet", "--allow-empty", "-m", "more"]);
    test.git(&["rm", "--quiet", "a"]);
    test.git(&["mv", "dir/c", "moved"]);
    fs::remove_file(test.app().join("b")).unwrap();
    let before = status(&test, &test.app());
    let path = test.new_sandbox(&["box", "--from", "HEAD~1", "--with-changes"]);
    same(&status(&test, &path), &before);
    fs::remove_dir(test.app().join("dir")).unwrap();
    same(&tree(&path, &[".git"]), &tree(&test.app(), &[".git"]));
}

#[test]
fn elsewhere_they_are_merged() {
    let test = repository(Format::Files).unwrap();
    test.git(&["branch", "older", "HEAD~1"]);
    let lines: Vec<String> = (1..20).map(|line| format!("{line}\n")).collect();
    test.commit(&test.app(), "lines", &lines.concat());
    test.git(&["checkout", "--quiet", "-b", "other"]);
    test.commit(&test.app(), "lines", &lines.concat().replace("19\n", "nineteen\n"));
    test.git(&["checkout", "--quiet", "main"]);
    write(&test.app().join("lines"), &lines.concat().replace("1\n2\n", "one\n2\n"));
    test.git(&["add", "lines"]);
    write(&test.app().join("a"), "edited\n");
    write(&test.app().join("new"), "untracked\n");
    write(&test.app().join("meant"), "meant\n");
    test.git(&["add", "--intent-to-add", "meant"]);
    let main = main_checkout(&test);
    test.run(&["new", "box", "--from", "other", "--with-changes"])
        .stdout("$ROOT/box\n")
        .stderr(
            "copied 4 changes of '$APP'\n\
             created sandbox 'box': new branch 'box' from 'other'\n",
        )
        .ok();
    let path = test.at("box");
    // Without a look of git's own, which would find out.
    assert_eq!(test.git_in(&path, &["diff-files", "--name-only"]), "a\nmeant");
    let wanted = lines.concat().replace("1\n2\n", "one\n2\n").replace("19\n", "nineteen\n");
    assert_eq!(fs::read_to_string(path.join("lines")).unwrap(), wanted);
    let words = ["status", "--porcelain", "--untracked-files=all"];
    assert_eq!(test.git_in(&path, &words), " M a\nM  lines\n A meant\n?? new");
    for name in ["MERGE_MSG", "AUTO_MERGE", "CHERRY_PICK_HEAD", "sequencer"] {
        assert!(!entry(&test, &path).join(name).exists(), "{name}");
    }
    assert_eq!(test.json(&["show", "--json", "box"])["operation"], serde_json::Value::Null);
    let here = main_checkout(&test);
    let refs = |text: &str| text.lines().filter(|line| !line.contains("box")).count();
    assert!(refs(&here) >= refs(&main));
    assert_eq!(test.git(&words), " M a\nM  lines\n A meant\n?? new");
}

#[test]
fn a_conflict_takes_the_sandbox_back() {
    let test = Test::new();
    test.git(&["checkout", "--quiet", "-b", "other"]);
    test.commit(&test.app(), "file", "theirs\n");
    test.git(&["checkout", "--quiet", "main"]);
    write(&test.app().join("file"), "ours\n");
    test.run(&["new", "box", "--from", "other", "--with-changes"])
        .stderr("error: cannot bring the changes along: conflicts in 'file'\n")
        .code(1);
    assert_eq!(test.branches(), ["main", "other"]);
    assert_eq!(test.linked(), [""; 0]);
    assert_eq!(test.sandboxes(), [""; 0]);
    assert_eq!(test.git(&["status", "--porcelain"]), " M file");
    // An untracked file where the other commit has one.
    test.git(&["checkout", "--quiet", "file"]);
    test.git(&["checkout", "--quiet", "other"]);
    test.commit(&test.app(), "both", "theirs\n");
    test.git(&["checkout", "--quiet", "main"]);
    write(&test.app().join("both"), "ours\n");
    test.run(&["new", "box", "--from", "other", "--with-changes"])
        .stderr("error: cannot bring the changes along: conflicts in 'both'\n")
        .code(1);
    assert_eq!(test.branches(), ["main", "other"]);
    assert_eq!(fs::read_to_string(test.app().join("both")).unwrap(), "ours\n");
}

#[test]
fn conflicts_in_progress_and_sandboxes_that_are_there_are_refused() {
    let test = Test::new();
    test.new_sandbox(&["there"]);
    test.run(&["new", "there", "--with-changes"])
        .stderr("error: cannot bring the changes along: sandbox 'there' is there already\n")
        .refused();
    test.git(&["checkout", "--quiet", "-b", "other"]);
    test.commit(&test.app(), "file", "theirs\n");
    test.git(&["checkout", "--quiet", "main"]);
    test.commit(&test.app(), "file", "ours\n");
    let merge = test.command("git", &test.app()).args(["merge", "--quiet", "other"]).output();
    assert!(!merge.unwrap().status.success());
    test.run(&["new", "box", "--with-changes"])
        .stderr("error: cannot bring the changes along: there are conflicts to be resolved first\n")
        .refused();
}

#[test]
fn without_changes_there_is_nothing_to_copy() {
    let test = Test::new();
    test.run(&["new", "box", "--with-changes"])
        .stdout("$ROOT/box\n")
        .stderr("copied 0 changes of '$APP'\ncreated sandbox 'box': new branch 'box' from 'main'\n")
        .ok();
    assert_eq!(status(&test, &test.at("box")), "");
}

#[test]
fn the_changes_of_a_sandbox_go_into_the_next() {
    let test = Test::new();
    let path = test.new_sandbox(&["one"]);
    test.commit(&path, "committed", "committed");
    write(&path.join("file"), "edited\n");
    let output = test.run_in(&path, &["new", "two", "--with-changes"]).output();
    assert!(output.status.success());
    assert_eq!(status(&test, &test.at("two")), status(&test, &path));
    assert_eq!(test.git_in(&test.at("two"), &["log", "--format=%s"]), "committed\none");
}

#[test]
fn repositories_inside_stay_behind() {
    let test = Test::new();
    submodule(&test, &test.app());
    write(&test.app().join("sub/file"), "edited\n");
    test.init("app/inner", &[]);
    write(&test.app().join("new"), "");
    test.run(&["new", "box", "--with-changes"])
        .stdout("$ROOT/box\n")
        .stderr(
            "warning: 'sub' is a repository of its own: its changes stay behind\n\
             warning: 'inner/' is a repository of its own: its changes stay behind\n\
             copied 1 change of '$APP'\n\
             created sandbox 'box': new branch 'box' from 'main'\n",
        )
        .ok();
    assert!(test.at("box").join("new").exists() && !test.at("box").join("inner").exists());
}

#[test]
fn a_creation_that_was_killed_says_that_changes_may_be_missing() {
    let test = Test::new();
    write(&test.app().join("new"), "untracked\n");
    let path = test.fake_git(
        "case \"$*\" in *ls-files*|*update-index*) kill -9 $PPID ;; esac\nexec \"$GIT\" \"$@\"",
    );
    let output = test.program(&test.app(), &["new", "box", "--with-changes"]).env("PATH", path);
    assert!(!output.output().status.success());
    test.run(&["new", "box"])
        .stdout("$ROOT/box\n")
        .stderr(
            "finished sandbox 'box', whose creation had been interrupted\n\
             warning: not all uncommitted changes of '$APP' may have been copied; the sandbox stays\n",
        )
        .code(1);
    test.run(&["new", "box"]).stdout("$ROOT/box\n").stderr("resumed sandbox 'box'\n").ok();
    assert!(test.app().join("new").exists());
}

#[test]
fn on_a_terminal_it_is_said_what_stays_behind() {
    const PTY: &str = "
import pty, sys
sys.exit(pty.spawn(sys.argv[1:]) >> 8)
";
    let test = Test::new();
    let said = |words: &[&str]| {
        let mut command = test.command("python3", &test.app());
        command.args(["-c", PTY, "git", "sandbox", "new", "--color=never"]).args(words);
        let output = finished(command.env("TERM", "xterm"));
        let text = String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n");
        text.replace(&test.root().display().to_string(), "$ROOT")
    };
    let created = "created sandbox 'a': new branch 'a' from 'main'\n$ROOT/a\n";
    assert_eq!(said(&["a"]), created);
    write(&test.app().join("new"), "");
    let line = "1 change of the current worktree stays behind (--with-changes copies)\n";
    assert_eq!(said(&["b"]), created.replace("'a'", "'b'").replace("/a", "/b") + line);
    write(&test.app().join("more"), "");
    let line = "2 changes of the current worktree stay behind (--with-changes copies)\n";
    assert_eq!(said(&["c"]), created.replace("'a'", "'c'").replace("/a", "/c") + line);
    assert_eq!(said(&["c"]), "resumed sandbox 'c'\n$ROOT/c\n");
}

/// What git was not given is not there, whatever it says of the rest.
#[test]
fn where_git_cannot_take_the_changes_over_it_fails_and_they_stay() {
    for (words, elsewhere) in [
        ("--replace -z --index-info", false),
        ("--pathspec-file-nul", false),
        ("--force-remove -z --stdin", true),
        ("--intent-to-add", true),
    ] {
        let test = repository(Format::Files).unwrap();
        if elsewhere {
            test.git(&["branch", "old"]);
            test.commit(&test.app(), "more", "more\n");
        }
        change(&test);
        let now = || (status(&test, &test.app()), tree(&test.app(), &[".git"]));
        let before = now();
        let git = test.fake_git(&format!(
            "case \" $* \" in *' {words} '*) cat >/dev/null; echo broken >&2; exit 128 ;; esac\n\
             exec \"$GIT\" \"$@\""
        ));
        let from = if elsewhere { &["--from", "old"][..] } else { &[] };
        let new = [&["new", "box", "--with-changes"], from].concat();
        let output = test.program(&test.app(), &new).env("PATH", git).output();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{words}: {said}");
        assert!(said.contains("broken"), "{words}: {said}");
        assert_eq!(now(), before, "{words}");
    }
}
