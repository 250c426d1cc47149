//! A sandbox that holds just what git put there goes without a `git status`; any other trace of work
//! is found as before, however well it hides.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::fixture::Test;
use crate::fixture::built::program;
use crate::fixture::files::{names_in, write};
use crate::fixture::state::{entry, private};
use crate::fixture::trash::REMOVED;
use crate::fixture::work::submodule;

/// A repository of files of every kind.
fn repository() -> Test {
    let test = Test::new();
    write(&test.app().join("dir/one"), "1\n");
    write(&test.app().join("dir/deep/two"), "2\n");
    write(&test.app().join("dir.txt"), "sorts before what is in dir\n");
    write(&test.app().join("empty"), "");
    write(&test.app().join(".gitignore"), "*.log\n.env\n");
    test.script("app/run.sh", "echo run");
    std::os::unix::fs::symlink("dir/one", test.app().join("link")).unwrap();
    test.git(&["add", "."]);
    test.git(&["commit", "--quiet", "-m", "files"]);
    test
}

/// A sandbox whose files are older than its index, as they are a second after any checkout.
fn settled(test: &Test, name: &str) -> PathBuf {
    let path = test.new_sandbox(&[name]);
    shell(test, &path, "find . -name .git -o -exec touch -h -d 2001-01-01 {} + && git status");
    path
}

#[track_caller]
fn shell(test: &Test, folder: &Path, text: &str) {
    let output = test.command("sh", folder).args(["-euc", text]).output().unwrap();
    assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What git was asked while a sandbox was removed.
#[track_caller]
fn calls(test: &Test, words: &[&str]) -> String {
    let log = test.home.join("calls");
    let path = test.fake_git(&format!("echo \"$*\" >>'{}'\nexec \"$GIT\" \"$@\"", log.display()));
    let output = test.program(&test.app(), words).env("PATH", path).output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read_to_string(log).unwrap()
}

#[test]
fn what_git_put_there_and_nothing_else_goes_without_a_status() {
    let test = repository();
    let path = settled(&test, "x");
    let calls = calls(&test, &["rm", "x"]);
    assert!(calls.contains(" HEAD^{tree}\n"), "{calls}");
    assert!(!calls.contains(" diff-index ") && !calls.contains(" status "), "{calls}");
    assert!(!path.exists());
    let trash = test.home.join(".cache/git-sandbox/worktrees/.trash");
    let id = names_in(&trash).pop().unwrap();
    assert_eq!(fs::read_to_string(trash.join(id).join("tree/dir/one")).unwrap(), "1\n");
    assert_eq!(test.branches(), ["main", "x"]);
}

#[test]
fn an_index_that_does_not_know_its_tree_is_compared_by_git() {
    let test = repository();
    let path = settled(&test, "x");
    shell(&test, &path, "git rm -q --cached dir/one && git add dir/one && git status");
    let calls = calls(&test, &["rm", "x"]);
    assert!(calls.contains(" diff-index "), "{calls}");
    assert!(!calls.contains(" status "), "{calls}");
    assert!(!path.exists());
}

/// When the last file of a sandbox was written, by the clock that nobody can set.
fn last_change(path: &Path) -> SystemTime {
    let mut last = SystemTime::UNIX_EPOCH;
    let mut todo = vec![path.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let meta = entry.path().symlink_metadata().unwrap();
            let seconds = Duration::from_secs(u64::try_from(meta.ctime()).unwrap());
            let parts = Duration::from_nanos(u64::try_from(meta.ctime_nsec()).unwrap());
            match meta.is_dir() {
                true => todo.push(entry.path()),
                false if entry.file_name() == ".git" => {}
                false => last = last.max(SystemTime::UNIX_EPOCH + seconds + parts),
            }
        }
    }
    last
}

/// As if the index of a sandbox had been written so much later than its last file.
fn index_later(test: &Test, name: &str, later: Duration) {
    let last = last_change(&test.at(name));
    let index = private(&test.app(), name).join("index");
    File::open(index).unwrap().set_modified(last + later).unwrap();
}

/// Waits until what is written now gets another time than what was written last.
fn clock_moves_on(test: &Test, name: &str) {
    let last = last_change(&test.at(name));
    let probe = test.home.join("probe");
    loop {
        write(&probe, "");
        if probe.metadata().unwrap().modified().unwrap() > last {
            return;
        }
    }
}

#[test]
fn a_file_as_young_as_the_index_is_left_to_git() {
    let test = repository();
    let path = test.new_sandbox(&["x"]);
    // It may have been edited since, and nobody could see that.
    index_later(&test, "x", Duration::ZERO);
    let calls = calls(&test, &["rm", "x"]);
    assert!(calls.contains(" status "), "{calls}");
    assert!(!path.exists());
}

#[test]
fn right_after_a_checkout_a_finer_clock_tells() {
    let test = repository();
    let path = test.new_sandbox(&["x"]);
    index_later(&test, "x", Duration::from_nanos(1));
    let calls = calls(&test, &["rm", "x"]);
    assert!(!calls.contains(" status "), "{calls}");
    assert!(!path.exists());
}

#[test]
fn an_edit_right_after_a_checkout_is_found() {
    let test = repository();
    let path = test.new_sandbox(&["x"]);
    index_later(&test, "x", Duration::from_nanos(1));
    clock_moves_on(&test, "x");
    shell(&test, &path, "cp -p dir/one ../old; printf '9\\n' >dir/one; touch -r ../old dir/one");
    let why = "worktree has 1 uncommitted change";
    test.run(&["rm", "x"]).stderr(&refusal("x", why)).code(1);
    assert_eq!(fs::read_to_string(path.join("dir/one")).unwrap(), "9\n");
}

#[test]
fn every_trace_of_work_is_found() {
    const ONE: &str = "worktree has 1 uncommitted change";
    let test = repository();
    let rows = [
        (
            "replaced",
            "cp -p dir/one new; printf '9\\n' >new; touch -d 2001-01-01 new; mv new dir/one",
            ONE,
        ),
        ("emptied", ": >dir/one; touch -d 2001-01-01 dir/one", ONE),
        ("filled", "echo x >empty", ONE),
        ("executable", "chmod +x dir/one", ONE),
        ("not-executable", "chmod -x run.sh", ONE),
        ("deleted", "rm dir/deep/two", ONE),
        ("link-elsewhere", "ln -sfn dir/two link; touch -h -d 2001-01-01 link", ONE),
        ("new-at-the-top", "echo x >new", ONE),
        ("new-in-a-folder", "echo x >dir/deep/new", ONE),
        ("new-for-old", "rm empty; echo x >another", "worktree has 2 uncommitted changes"),
        ("new-beside-ignored", "echo x >a.log; echo x >new", ONE),
        (
            "repository-in-a-folder",
            "git init -q dir/deep; git -C dir/deep commit -q --allow-empty -m x",
            "unsaved work in 'dir/deep'",
        ),
        (
            "repository-apart-from-its-folder",
            "git init -q --separate-git-dir ~/apart dir/deep; git -C dir/deep commit -q --allow-empty -m x",
            "unsaved work in 'dir/deep'",
        ),
        ("new-folder", "mkdir more; echo x >more/new", ONE),
        (
            "file-for-folder",
            "rm -r dir/deep; echo x >dir/deep",
            "worktree has 2 uncommitted changes",
        ),
        (
            "link-for-folder",
            "mv dir ~/moved; ln -s ~/moved dir",
            "worktree has 3 uncommitted changes",
        ),
        (
            "staged",
            "echo x >>dir/one; git add dir/one; touch -d 2001-01-01 dir/one; git status",
            ONE,
        ),
        (
            "staged-tree",
            "echo x >>dir/one; touch -d 2001-01-01 dir/one; git add dir/one; git write-tree; git status",
            ONE,
        ),
        ("intended", "echo x >new; git add -N new; touch -d 2001-01-01 new; git status", ONE),
        (
            "assumed",
            "git update-index --assume-unchanged dir/one; echo x >dir/one",
            "worktree has 1 hidden edit",
        ),
        (
            "skipped",
            "git update-index --skip-worktree dir/one; echo x >dir/one",
            "worktree has 1 hidden edit",
        ),
        (
            "repository",
            "git init -q a.log; git -C a.log commit -q --allow-empty -m x",
            "unsaved work in 'a.log'",
        ),
    ];
    for (name, work, why) in rows {
        let path = settled(&test, name);
        shell(&test, &path, work);
        let before = shown(&test, &path);
        test.run(&["rm", name]).stderr(&refusal(name, why)).code(1);
        assert_eq!(shown(&test, &path), before, "{name}");
    }
}

#[test]
fn a_hidden_edit_is_found_while_another_command_looks_for_it_too() {
    let test = repository();
    let path = settled(&test, "x");
    shell(&test, &path, "git update-index --assume-unchanged dir/one; echo x >dir/one");
    // Right before git tells which files differ.
    let meets = test.fake_git(&format!(
        "case \" $* \" in *' diff-files '*) test -e ~/listed || {{ : >~/listed\n\
         (cd ~/app && PATH=\"${{GIT%/*}}:$PATH\" '{}' list >~/listed); }} ;; esac\n\
         exec \"$GIT\" \"$@\"",
        program().display()
    ));
    let words = ["rm", "x"];
    let run = test.program(&test.app(), &words).env("PATH", &meets);
    run.stderr(&refusal("x", "worktree has 1 hidden edit")).code(1);
    assert_eq!(fs::read_to_string(path.join("dir/one")).unwrap(), "x\n");
    let listed = fs::read_to_string(test.home.join("listed")).unwrap();
    assert!(listed.contains("1 hidden"), "{listed}");
}

fn refusal(name: &str, why: &str) -> String {
    format!(
        "error: cannot remove '{name}': {why}\n\
         hint: to move it to the trash as it is: git sandbox rm --force {name}\n"
    )
}

fn shown(test: &Test, path: &Path) -> String {
    let words = ["-c", "find . -type f -exec cat {} + ; find . | sort; git status --porcelain"];
    let output = test.command("sh", path).args(words).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn an_edit_that_git_has_not_seen_yet_is_found() {
    let test = repository();
    let path = settled(&test, "x");
    let index = entry(&test, &path).join("index");
    // git writes no size of a file that it has not looked at since: as here, where that of an empty
    // one is all that the index tells of it.
    shell(&test, &path, ": >dir/one; touch -d 2001-01-01 dir/one; git add dir/one; git status");
    let ids = ["HEAD:dir/one", "HEAD:empty"].map(|name| test.git(&["rev-parse", name]));
    let [real, empty] = ids.map(|id| bytes_of(&id));
    let bytes = fs::read(&index).unwrap();
    let name = bytes.windows(8).position(|window| window == b"dir/one\0").unwrap();
    let id = name - 2 - real.len()..name - 2;
    assert_eq!(bytes[id.clone()], empty);
    fs::write(&index, [&bytes[..id.start], &real, &bytes[id.end..]].concat()).unwrap();
    let why = "worktree has 1 uncommitted change";
    test.run(&["rm", "x"]).stderr(&refusal("x", why)).code(1);
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits = (0..hex.len()).step_by(2);
    digits.map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn a_commit_without_files_is_no_trouble() {
    let test = Test::bare();
    test.git_in(&test.home, &["init", "--quiet", "-b", "main", "app"]);
    test.git(&["commit", "--quiet", "--allow-empty", "-m", "nothing"]);
    let path = test.new_sandbox(&["box"]);
    // Such an index tells nothing about what else is there.
    test.git_in(&path, &["read-tree", "HEAD"]);
    write(&path.join("new"), "mine\n");
    let why = "worktree has 1 uncommitted change";
    test.run(&["rm", "box"]).stderr(&refusal("box", why)).code(1);
    fs::remove_file(path.join("new")).unwrap();
    test.run(&["rm", "box"]).stderr(REMOVED).ok();
}

/// A sandbox `box` of a repository with a submodule, which is checked out in it if that is wanted.
fn with_submodule(checked_out: bool) -> (Test, PathBuf) {
    let test = repository();
    submodule(&test, &test.app());
    let path = settled(&test, "box");
    if checked_out {
        test.git_in(&path, &["submodule", "--quiet", "update", "--init"]);
    }
    (test, path)
}

#[test]
fn a_submodule_that_is_staged_is_found() {
    let (test, path) = with_submodule(false);
    let other = test.commit(&test.home.join("lib"), "file", "other\n");
    test.git_in(&path, &["update-index", "--cacheinfo", &format!("160000,{other},sub")]);
    let why = "worktree has 1 uncommitted change";
    test.run(&["rm", "box"]).stderr(&refusal("box", why)).code(1);
    assert_eq!(test.git_in(&path, &["rev-parse", ":sub"]), other);
}

#[test]
fn commits_in_the_clone_of_a_submodule_that_is_not_checked_out_are_found() {
    let rows = ["git branch mine; git checkout -q HEAD~", "git reset -q --hard HEAD~"];
    for (leaves, broken) in [(rows[0], false), (rows[1], false), (rows[1], true)] {
        let (test, path) = with_submodule(true);
        let sub = path.join("sub");
        let mine = test.commit(&sub, "file", "mine\n");
        shell(&test, &sub, leaves);
        test.git_in(&path, &["submodule", "--quiet", "deinit", "--force", "sub"]);
        let config = entry(&test, &path).join("modules/sub/config");
        let whole = fs::read(&config).unwrap();
        if broken {
            // What git cannot read may hold anything.
            fs::write(&config, "[core").unwrap();
        }
        assert_eq!(names_in(&sub), [""; 0]);
        test.run(&["rm", "box"]).stderr(&refusal("box", "unsaved work in 'sub'")).code(1);
        write(&path.join("new"), "mine\n");
        let why = "worktree has 1 uncommitted change; unsaved work in 'sub'";
        test.run(&["rm", "box"]).stderr(&refusal("box", why)).code(1);
        fs::write(&config, whole).unwrap();
        let clone = entry(&test, &path).join("modules/sub");
        test.git_in(&clone, &["--git-dir=.", "cat-file", "-e", &mine]);
    }
}

#[test]
fn commits_in_the_clone_of_a_submodule_are_found_beside_another_repository_with_work() {
    let (test, path) = with_submodule(true);
    let mine = test.commit(&path.join("sub"), "file", "mine\n");
    shell(&test, &path.join("sub"), "git reset -q --hard HEAD~");
    test.git_in(&path, &["submodule", "--quiet", "deinit", "--force", "sub"]);
    write(&path.join("build/other/file"), "work\n");
    write(&test.app().join(".git/info/exclude"), "build\n");
    test.git_in(&path.join("build/other"), &["init", "--quiet"]);
    let why = "unsaved work in 'build/other'; unsaved work in 'sub'";
    test.run(&["rm", "box"]).stderr(&refusal("box", why)).code(1);
    assert_eq!(fs::read_to_string(path.join("build/other/file")).unwrap(), "work\n");
    let clone = entry(&test, &path).join("modules/sub");
    test.git_in(&clone, &["--git-dir=.", "cat-file", "-e", &mine]);
}

#[test]
fn an_ignored_file_that_matters_is_told() {
    let test = repository();
    let path = settled(&test, "x");
    write(&path.join(".env"), "secret\n");
    let output = test.run(&["rm", "x"]).output();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("removed 'x' (1 precious file); undo with: "), "{said}");
    assert!(!path.exists());
}

#[test]
fn an_index_that_is_not_understood_is_left_to_git() {
    let test = repository();
    for (name, setting) in [("four", "index.version=4"), ("split", "core.splitIndex=true")] {
        let path = test.new_sandbox(&[name]);
        let settle = "find . -name .git -o -exec touch -h -d 2001-01-01 {} +";
        shell(
            &test,
            &path,
            &format!(
                "{settle}; git -c {setting} read-tree HEAD; git -c {setting} update-index --force-write-index --refresh"
            ),
        );
        let calls = calls(&test, &["rm", name]);
        assert!(calls.contains(" status "), "{name}: {calls}");
        assert!(!path.exists());
        fs::remove_file(test.home.join("calls")).unwrap();
    }
}
