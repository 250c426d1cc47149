//! `git sandbox diff`: everything since the base, as plain git says of the same trees.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{chmod, names_in, write};
use crate::fixture::process::finished;
use crate::fixture::repository::{Format, repository};
use crate::fixture::state::{changes_nothing, entry};

/// Returns what plain git prints between a commit and the files of a folder, all of them added to an
/// index of their own.
#[track_caller]
fn between(test: &Test, commit: &str, path: &Path, options: &[&str]) -> String {
    let index = test.home.join("plain.index");
    let git = |words: &[&str]| {
        let mut command = test.command("git", path);
        let output = command.env("GIT_INDEX_FILE", &index).args(words).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["read-tree", "HEAD"]);
    git(&["add", "--all"]);
    let tree = git(&["write-tree"]);
    fs::remove_file(&index).unwrap();
    git(&[&["diff"], options, &[commit, tree.trim_end()]].concat())
}

/// A sandbox with changes of every kind. Returns the commit that it started at.
#[track_caller]
fn busy(test: &Test, path: &Path) -> String {
    let start = test.git_in(path, &["rev-parse", "HEAD"]);
    test.commit(path, "committed", "one\ntwo\n");
    test.git_in(path, &["rm", "--quiet", "b"]);
    test.git_in(path, &["mv", "dir/c", "dir/renamed"]);
    write(&path.join("staged"), "staged\n");
    test.git_in(path, &["add", "staged"]);
    write(&path.join("staged"), "staged, then edited\n");
    write(&path.join("a"), "a\nedited\n");
    write(&path.join("new/größe 修正"), "untracked\n");
    write(&path.join("empty"), "");
    write(&path.join("script"), "#!/bin/sh\n");
    chmod(&path.join("script"), 0o755);
    chmod(&path.join("tool"), 0o644);
    std::os::unix::fs::symlink("a", path.join("arrow")).unwrap();
    write(&path.join("ignored.log"), "ignored\n");
    fs::write(path.join("binary"), b"\0\x01").unwrap();
    // A symlink turned into a file, a file that was staged and is gone.
    fs::remove_file(path.join("link")).unwrap();
    write(&path.join("link"), "a file\n");
    write(&path.join("gone"), "gone\n");
    test.git_in(path, &["add", "gone"]);
    fs::remove_file(path.join("gone")).unwrap();
    start
}

#[test]
fn it_is_what_plain_git_says_of_the_same_trees() {
    for format in [Format::Files, Format::Reftable, Format::Sha256] {
        let Some(test) = repository(format) else { continue };
        let path = test.new_sandbox(&["box"]);
        let start = busy(&test, &path);
        test.commit(&test.app(), "unrelated", "main went on");
        for options in [&[][..], &["--stat"], &["--name-only"]] {
            let wanted = between(&test, &start, &path, options);
            assert!(wanted.contains("untracked") || wanted.contains("new/"), "{wanted}");
            assert!(!wanted.contains("ignored.log") && !wanted.contains("unrelated"));
            test.run(&[&["diff", "box"], options].concat()).stdout(&wanted).ok();
        }
    }
}

#[test]
fn nothing_is_touched_not_even_the_index_or_the_objects() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    busy(&test, &path);
    let temp = test.home.join("temp");
    fs::create_dir(&temp).unwrap();
    let objects = || test.git(&["count-objects", "-v"]);
    let before = objects();
    changes_nothing(&test, || {
        for option in ["--stat", "--name-only", "--json"] {
            let output = test.run(&["diff", "box", option]).env("TMPDIR", &temp).output();
            assert!(output.status.success());
        }
    });
    assert_eq!(objects(), before);
    assert_eq!(names_in(&temp), [""; 0]);
}

#[test]
fn the_users_diff_settings_count() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("a"), "b\n");
    test.git(&["config", "diff.noprefix", "true"]);
    test.git(&["config", "color.ui", "always"]);
    let start = test.git(&["rev-parse", "HEAD"]);
    let wanted = between(&test, &start, &path, &[]);
    assert!(wanted.contains("\u{1b}[") && wanted.contains("diff --git a a"), "{wanted}");
    test.run(&["diff", "box"]).stdout(&wanted).ok();
    let plain = between(&test, &start, &path, &["--color=never"]);
    test.run(&["diff", "box", "--color=never"]).stdout(&plain).ok();
}

#[test]
fn conflicts_and_hidden_edits_show_what_is_in_the_files() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    test.commit(&path, "file", "ours\n");
    test.git_in(&path, &["checkout", "--quiet", "-b", "other", "HEAD~1"]);
    test.commit(&path, "file", "theirs\n");
    test.commit(&path, "hidden", "hidden\n");
    test.git_in(&path, &["checkout", "--quiet", "box"]);
    let merge = test.command("git", &path).args(["merge", "other"]).output().unwrap();
    assert!(!merge.status.success());
    test.git_in(&path, &["update-index", "--assume-unchanged", "hidden"]);
    write(&path.join("hidden"), "hidden, and edited\n");
    let shown = "\
diff --git a/file b/file
index 5626abf..fd98ef6 100644
--- a/file
+++ b/file
@@ -1 +1,5 @@
-one
+<<<<<<< HEAD
+ours
+=======
+theirs
+>>>>>>> other
diff --git a/hidden b/hidden
new file mode 100644
index 0000000..73a8b5e
--- /dev/null
+++ b/hidden
@@ -0,0 +1 @@
+hidden, and edited
";
    let got = test.run(&["diff", "box"]).output();
    let got = String::from_utf8(got.stdout).unwrap();
    // Ids aside: what counts is the content of the files.
    let lines = |text: &str| -> Vec<String> {
        let keep = |line: &&str| !line.starts_with("index ");
        text.lines().filter(keep).map(str::to_owned).collect()
    };
    assert_eq!(lines(&got), lines(shown));
    assert_eq!(test.git_in(&path, &["ls-files", "-v", "hidden"]), "h hidden");
}

#[test]
fn an_edit_that_only_the_time_of_the_index_gives_away_is_seen() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    test.git(&["config", "core.trustctime", "false"]);
    test.git(&["config", "core.checkStat", "minimal"]);
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let set = |file: &Path| File::options().write(true).open(file).unwrap().set_modified(then);
    set(&path.join("file")).unwrap();
    test.git_in(&path, &["update-index", "--refresh"]);
    fs::write(path.join("file"), "two\n").unwrap();
    set(&path.join("file")).unwrap();
    set(&entry(&test, &path).join("index")).unwrap();
    // An untracked file makes git write the copy of the index anew.
    for names in ["file\n", "file\nuntracked\n"] {
        test.run(&["diff", "box", "--name-only"]).stdout(names).ok();
        write(&path.join("untracked"), "");
    }
}

#[test]
fn the_base_counts_with_what_it_follows() {
    let test = Test::new();
    test.remote("origin", "other");
    test.git(&["branch", "--quiet", "--set-upstream-to=origin/main", "main"]);
    let remote = test.home.join("origin");
    test.git_in(&remote, &["checkout", "--quiet", "main"]);
    let path = test.new_sandbox(&["box"]);
    test.commit(&remote, "theirs", "on the remote");
    test.git(&["fetch", "--quiet"]);
    // Unrelated histories: what was fetched is merged as it is.
    test.git_in(&path, &["merge", "--quiet", "--allow-unrelated-histories", "origin/main"]);
    test.commit(&path, "ours", "here");
    test.run(&["diff", "box", "--name-only"]).stdout("ours\n").ok();
}

#[test]
fn inside_a_sandbox_it_is_that_one() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("sub/new"), "");
    test.run_in(&path.join("sub"), &["diff", "--name-only"]).stdout("sub/new\n").ok();
    test.run(&["diff"])
        .stderr(
            "error: not inside a sandbox, and none was named\n\
             hint: name one that 'git sandbox list' shows\n",
        )
        .refused();
    fs::remove_dir_all(&path).unwrap();
    test.run(&["diff", "box"])
        .stderr("error: the folder of sandbox 'box' is gone\nhint: git sandbox new box\n")
        .refused();
    test.run(&["diff", "box", "--stat", "--json"])
        .stderr(
            "error: options '--stat' and '--json' cannot be used together\n\
             usage: git sandbox diff [--stat] [--name-only] [--json] [<name>]\n",
        )
        .code(129);
}

#[test]
fn without_a_base_it_is_what_is_not_committed() {
    let test = Test::new();
    let path = test.new_sandbox(&["box", "--from", "HEAD~0"]);
    test.git(&["checkout", "--quiet", "--detach"]);
    test.git(&["branch", "--quiet", "-D", "main"]);
    test.commit(&path, "committed", "committed");
    write(&path.join("new"), "");
    test.run(&["diff", "box", "--name-only"])
        .stdout("new\n")
        .stderr("no base is known: only what is not committed is shown\n")
        .ok();
}

#[test]
fn a_history_of_its_own_is_all_new() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["checkout", "--quiet", "--orphan", "fresh"]);
    test.run(&["diff", "fresh", "--name-only"]).stdout("file\n").ok();
    test.git_in(&path, &["commit", "--quiet", "-m", "fresh"]);
    test.run(&["diff", "fresh", "--name-only"]).stdout("file\n").ok();
}

#[test]
fn a_repository_inside_is_named_and_not_shown() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    test.init(".cache/git-sandbox/worktrees/app/box/inner", &[]);
    write(&path.join("new"), "");
    test.run(&["diff", "box", "--name-only"])
        .stdout("new\n")
        .stderr("warning: 'inner/' is a repository of its own: not shown\n")
        .ok();
}

#[test]
fn json_names_every_file() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    let start = test.git(&["rev-parse", "HEAD"]);
    test.git_in(&path, &["mv", "file", "moved"]);
    write(&path.join("new"), "1\n2\n");
    fs::write(path.join("binary"), b"\0").unwrap();
    let wanted = serde_json::json!({
        "name": "box", "path": path.to_str().unwrap(), "base": "main", "merge_base": start,
        "insertions": 2, "deletions": 0,
        "files": [
            {"path": "binary", "status": "added", "insertions": null, "deletions": null},
            {"path": "moved", "status": "renamed", "old_path": "file", "insertions": 0, "deletions": 0},
            {"path": "new", "status": "added", "insertions": 2, "deletions": 0},
        ],
    });
    let got = test.json(&["diff", "box", "--json"]);
    same(&format!("{got:#}"), &format!("{wanted:#}"));
}

#[test]
fn on_a_terminal_it_goes_through_the_users_pager() {
    const PTY: &str = "
import pty, sys
sys.exit(pty.spawn(sys.argv[1:]) >> 8)
";
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("file"), "two\n");
    let pager = test.script("pager", "echo \"paged: $(grep -c two)\"");
    test.git(&["config", "core.pager", pager.to_str().unwrap()]);
    let mut command = test.command("python3", &test.app());
    command.args(["-c", PTY, "git", "sandbox", "diff", "box"]).env("TERM", "xterm");
    let output = finished(&mut command);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "paged: 1\r\n");
    assert!(output.status.success());
}
