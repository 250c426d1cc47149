//! Files that another checkout has already are copied from it: with the result of `git worktree add`, byte
//! for byte and mode for mode.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::Signal;

use crate::fixture::Test;
use crate::fixture::built::program;
use crate::fixture::donor::{
    age, commit, files, given, listing, nothing_given, repository, same_as_gits, settle,
};
use crate::fixture::files::{chmod, names_in, write};
use crate::fixture::process::{ended, is_suspended, signal, until};
use crate::fixture::state::private;

#[test]
fn every_sort_of_file_is_as_git_makes_it() {
    let test = repository(&[]);
    let mine = same_as_gits(&test, "main");
    let names = ["big", "a.txt", "in/deep/c.txt", "other/new\nline", "é", "tool", "empty"];
    assert_eq!(given(&mine, &names), names);
    assert_eq!(test.git_in(&mine, &["status", "--porcelain"]), "");
}

#[test]
fn many_small_files_are_given_too() {
    let test = Test::new();
    for number in 0..1100 {
        write(&test.app().join(format!("d{}/f{number}", number % 30)), &format!("{number}\n"));
    }
    commit(&test, "many");
    settle(&test, &test.app());
    let mine = same_as_gits(&test, "main");
    assert_eq!(given(&mine, &["d0/f0", "d1/f1", "d29/f1079"]).len(), 3);
    let kept =
        files(&mine).into_iter().filter(|path| path.metadata().unwrap().mtime() == 1_000_000_000);
    assert_eq!(kept.count(), 1101);
}

#[test]
fn a_small_repository_asks_no_donor() {
    let test = Test::new();
    settle(&test, &test.app());
    let mine = same_as_gits(&test, "main");
    assert_eq!(given(&mine, &["file"]), [""; 0]);
}

#[test]
fn a_file_that_was_edited_is_not_taken_whatever_its_times_say() {
    let test = repository(&[]);
    let app = test.app();
    // The same size and time as git has seen, as after a store through mmap or within one tick.
    let edited = fs::read_to_string(app.join("big")).unwrap().replacen("large", "LARGE", 1);
    write(&app.join("big"), &edited);
    write(&app.join("a.txt"), "a.txt\nOF TWO LINES\n");
    write(&app.join("in/b.txt"), "more than git has seen of it\n");
    for name in ["big", "a.txt", "in/b.txt"] {
        age(&app.join(name));
    }
    let mine = same_as_gits(&test, "main");
    nothing_given(&mine);
    assert_eq!(given(&mine, &["in/deep/c.txt"]), ["in/deep/c.txt"]);
    assert_eq!(fs::read_to_string(app.join("big")).unwrap(), edited);
}

#[test]
fn a_file_that_was_edited_in_the_second_of_its_checkout_is_not_taken() {
    let test = repository(&[]);
    // git writes the index in the same second as the file.
    test.git(&["checkout", "--quiet", "HEAD~1"]);
    test.git(&["checkout", "--quiet", "main"]);
    write(&test.app().join("a.txt"), "a.txt\nOF TWO LINES\n");
    same_as_gits(&test, "main");
}

#[test]
fn a_donor_that_is_edited_meanwhile_gives_only_what_is_still_right() {
    let test = repository(&[]);
    let app = test.app();
    let mut command = test.command(program(), &app);
    // After the files were chosen, before the first is copied.
    command.args(["new", "mine"]).env("GIT_SANDBOX_PAUSE_AT", "4").process_group(0);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("it is about to copy", || is_suspended(child.id()));
    assert_eq!(names_in(&test.at("mine")), [".git"]);
    write(&app.join("a.txt"), "a.txt\nOF TWO LINES\n");
    age(&app.join("a.txt"));
    fs::remove_dir_all(app.join("in")).unwrap();
    write(&app.join("tool"), "");
    test.git(&["add", "--all"]);
    signal(child.id(), Signal::CONT);
    assert!(ended(child).status.success());
    let mine = test.at("mine");
    assert_eq!(given(&mine, &["big", "a.txt", "in/b.txt", "tool"]), ["big"]);
    test.git(&["worktree", "add", "--quiet", "--detach", "../plain"]);
    assert_eq!(listing(&mine), listing(&test.home.join("plain")));
    assert_eq!(test.git_in(&mine, &["status", "--porcelain"]), "");
}

#[test]
fn what_is_no_file_of_the_donor_is_left_to_git() {
    let test = repository(&[]);
    let app = test.app();
    let away = test.home.join("away");
    fs::rename(app.join("in"), &away).unwrap();
    symlink(&away, app.join("in")).unwrap();
    fs::remove_file(app.join("a.txt")).unwrap();
    test.pipe("app/a.txt");
    fs::remove_file(app.join("tool")).unwrap();
    symlink(test.home.join("elsewhere"), app.join("tool")).unwrap();
    write(&test.home.join("elsewhere"), "#!/bin/sh\n");
    age(&test.home.join("elsewhere"));
    fs::remove_file(app.join("empty")).unwrap();
    fs::create_dir(app.join("empty")).unwrap();
    let mine = same_as_gits(&test, "main");
    let names = ["big", "a.txt", "in/b.txt", "in/deep/c.txt", "tool", "empty"];
    assert_eq!(given(&mine, &names), ["big"]);
    assert!(mine.join("in").symlink_metadata().unwrap().is_dir());
}

#[test]
fn flagged_files_are_left_to_git() {
    let test = repository(&[]);
    test.git(&["update-index", "--assume-unchanged", "a.txt"]);
    test.git(&["update-index", "--skip-worktree", "in/b.txt"]);
    write(&test.app().join("a.txt"), "hidden\n");
    write(&test.app().join("in/b.txt"), "hidden\n");
    write(&test.app().join("new"), "new\n");
    let mine = same_as_gits(&test, "main");
    assert_eq!(given(&mine, &["big", "a.txt", "in/b.txt"]), ["big"]);
    assert_eq!(test.git_in(&mine, &["ls-files", "-v", "a.txt"]), "H a.txt");
}

#[test]
fn staged_changes_of_the_donor_stay_there() {
    let test = repository(&[]);
    write(&test.app().join("a.txt"), "staged\n");
    write(&test.app().join("in/added"), "staged\n");
    test.git(&["add", "."]);
    test.git(&["rm", "--quiet", "tool"]);
    let before = test.git(&["status", "--porcelain"]);
    let mine = same_as_gits(&test, "main");
    assert_eq!(given(&mine, &["big", "a.txt", "in/b.txt"]), ["big", "in/b.txt"]);
    assert_eq!(test.git(&["status", "--porcelain"]), before);
    // Also what was added with intent only.
    write(&test.app().join("intended"), "intended\n");
    test.git(&["add", "--intent-to-add", "intended"]);
    test.run(&["rm", "mine"]).output();
    same_as_gits(&test, "mine");
}

#[test]
fn a_donor_many_commits_away_gives_what_is_the_same() {
    let test = repository(&[]);
    let app = test.app();
    let first = test.git(&["rev-parse", "main"]);
    for number in 0..20 {
        write(&app.join("a.txt"), &format!("{number}\n"));
        write(&app.join(format!("added/{number}")), "added\n");
        commit(&test, "more");
    }
    chmod(&app.join("in/b.txt"), 0o755);
    fs::remove_file(app.join("link")).unwrap();
    write(&app.join("link"), "a file now\n");
    fs::remove_dir_all(app.join("other")).unwrap();
    write(&app.join("other"), "a file now\n");
    commit(&test, "other kinds");
    settle(&test, &app);
    let mine = same_as_gits(&test, &first);
    let names = ["big", "a.txt", "in/b.txt", "in/deep/c.txt"];
    assert_eq!(given(&mine, &names), ["big", "in/deep/c.txt"]);
}

#[test]
fn files_are_made_under_the_umask_of_now() {
    let test = repository(&[]);
    for path in files(&test.app()).iter().filter(|path| !path.is_symlink()) {
        let mode = path.metadata().unwrap().permissions().mode();
        chmod(path, mode & 0o700 | 0o066);
    }
    chmod(&test.app().join("in"), 0o777);
    test.git(&["update-index", "-q", "--refresh"]);
    let plain = test.home.join("plain");
    let script = format!(
        "umask 027; git worktree add --quiet --detach '{}' && git sandbox new mine",
        plain.display()
    );
    let output = test.command("sh", &test.app()).args(["-c", &script]).output().unwrap();
    assert!(output.status.success());
    let mine = test.at("mine");
    assert_eq!(listing(&mine), listing(&plain));
    assert_eq!(mine.join("tool").metadata().unwrap().mode() & 0o777, 0o750);
    assert_eq!(given(&mine, &["big", "tool"]), ["big", "tool"]);
}

#[test]
fn sha256_and_other_refs_are_no_different() {
    for options in [&["--object-format=sha256"][..], &["--ref-format=reftable"]] {
        let known = Test::bare();
        let probe =
            known.command("git", &known.home).args(["init", "probe"]).args(options).output();
        if !probe.unwrap().status.success() {
            assert_eq!(
                options,
                ["--ref-format=reftable"],
                "every git from 2.36 on knows the other"
            );
            continue;
        }
        let test = repository(options);
        let mine = same_as_gits(&test, "main");
        assert_eq!(given(&mine, &["big", "a.txt"]), ["big", "a.txt"]);
        assert_eq!(test.git_in(&mine, &["status", "--porcelain"]), "");
    }
}

#[test]
fn submodules_are_left_to_git() {
    let test = repository(&[]);
    test.init("lib", &[]);
    test.git(&["submodule", "--quiet", "add", "../lib", "in/lib"]);
    commit(&test, "submodule");
    settle(&test, &test.app());
    let mine = same_as_gits(&test, "main");
    assert_eq!(given(&mine, &["big", "in/b.txt"]), ["big", "in/b.txt"]);
    assert!(fs::read_dir(mine.join("in/lib")).unwrap().next().is_none());
}

#[test]
fn a_sandbox_gives_where_there_is_no_main_worktree() {
    let test = repository(&[]);
    test.git(&["config", "core.bare", "true"]);
    let bare = test.home.join("bare.git");
    fs::rename(test.app().join(".git"), &bare).unwrap();
    let first = test.run_in(&bare, &["new", "first"]).output();
    assert!(first.status.success());
    let path = PathBuf::from(String::from_utf8(first.stdout).unwrap().trim_end());
    settle(&test, &path);
    let second = test.run_in(&bare, &["new", "second"]).output();
    assert!(second.status.success());
    let second = path.with_file_name("second");
    assert_eq!(given(&second, &["big", "a.txt"]), ["big", "a.txt"]);
    assert_eq!(listing(&second), listing(&path));
    assert_eq!(test.git_in(&second, &["status", "--porcelain"]), "");
}

#[test]
fn only_the_main_worktree_gives_where_ignored_files_come_from_it() {
    let test = repository(&[]);
    let app = test.app();
    write(&app.join(".gitignore"), "out\n");
    commit(&test, "ignored");
    let path = test.new_sandbox(&["other"]);
    settle(&test, &path);
    // The main worktree is at other files, and what was built from them is newer than both.
    for name in ["big", "a.txt"] {
        write(&app.join(name), "different\n");
    }
    commit(&test, "different");
    settle(&test, &app);
    write(&app.join("out"), "built\n");
    write(&app.join(".worktreeinclude"), "out\n");
    let mine = test.new_sandbox(&["mine", "--from", "other"]);
    nothing_given(&mine);
    assert_eq!(fs::read_to_string(mine.join("out")).unwrap(), "built\n");
    settle(&test, &mine);
    // Without such files it may.
    fs::remove_file(app.join(".worktreeinclude")).unwrap();
    let mine = test.new_sandbox(&["more", "--from", "other"]);
    assert_eq!(given(&mine, &["big", "a.txt"]), ["big", "a.txt"]);
}

#[test]
fn a_build_that_is_brought_along_is_as_old_as_its_sources_are_in_the_main_worktree() {
    let test = repository(&[]);
    let app = test.app();
    write(&app.join("Makefile"), "out: a.txt\n\tcp a.txt out\n");
    write(&app.join(".gitignore"), "out\n.worktreeinclude\n");
    commit(&test, "make");
    settle(&test, &app);
    write(&app.join("out"), "a.txt\nof two lines\n");
    write(&app.join(".worktreeinclude"), "out\n");
    let mine = test.new_sandbox(&["mine"]);
    let time = |name: &str| fs::metadata(mine.join(name)).unwrap().modified().unwrap();
    assert!(time("a.txt") < time("out"));
    // The next edit is seen.
    write(&mine.join("a.txt"), "edited\n");
    assert!(time("a.txt") >= time("out"));
}

#[test]
fn the_first_status_trusts_the_times_that_were_kept() {
    let test = repository(&[]);
    let mine = same_as_gits(&test, "main");
    let index = private(&test.app(), "mine").join("index");
    let before = fs::read(&index).unwrap();
    test.git_in(&mine, &["update-index", "-q", "--refresh"]);
    assert!(fs::read(&index).unwrap() == before);
}

#[test]
fn hooks_run_as_with_git_worktree_add() {
    let test = repository(&[]);
    for hook in ["post-checkout", "post-index-change"] {
        let text = format!("echo {hook} \"$@\" >>\"$HOME/hooks\"");
        test.script(&format!("app/.git/hooks/{hook}"), &text);
    }
    test.git(&["worktree", "add", "--quiet", "../plain"]);
    let plain = fs::read_to_string(test.home.join("hooks")).unwrap();
    fs::remove_file(test.home.join("hooks")).unwrap();
    let mine = test.new_sandbox(&["fix"]);
    assert_eq!(fs::read_to_string(test.home.join("hooks")).unwrap(), plain);
    assert_eq!(given(&mine, &["big"]), ["big"]);
}

#[test]
fn a_crash_at_any_step_is_finished_by_the_next_new() {
    for step in 1.. {
        let test = repository(&[]);
        let plain = test.home.join("plain");
        test.git(&["worktree", "add", "--quiet", "--detach", plain.to_str().unwrap()]);
        let crashed = test.run(&["new", "fix", "A", "task"]).crashes_at(step);
        assert!(test.run(&["new", "fix"]).output().status.success(), "{step}");
        assert_eq!(listing(&test.at("fix")), listing(&plain), "{step}");
        assert_eq!(test.git_in(&test.at("fix"), &["status", "--porcelain"]), "", "{step}");
        assert_eq!(test.json(&["show", "fix", "--json"])["state"], "ready");
        let entry = private(&test.app(), "fix");
        assert!(fs::symlink_metadata(entry.join("sandbox.filling")).is_err(), "{step}");
        if !crashed {
            assert!(step > 6, "{step}");
            break;
        }
    }
}

#[test]
fn an_index_that_was_cut_short_by_a_crash_is_made_anew() {
    let test = repository(&[]);
    let mine = test.new_sandbox(&["fix"]);
    let entry = private(&test.app(), "fix");
    // As if killed while git completed the index of the copies.
    write(&entry.join("locked"), "git-sandbox: creating");
    fs::remove_file(entry.join("index")).unwrap();
    write(&entry.join("sandbox.filling"), "DIRC");
    write(&entry.join("sandbox.filling.lock"), "");
    fs::remove_file(mine.join("in/b.txt")).unwrap();
    write(&mine.join("notes"), "mine\n");
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("finished sandbox 'fix', whose creation had been interrupted\n")
        .ok();
    assert_eq!(test.git_in(&mine, &["status", "--porcelain"]), "?? notes");
    assert_eq!(fs::read_to_string(mine.join("in/b.txt")).unwrap(), "in/b.txt\nof two lines\n");
}

#[test]
fn an_index_that_a_loss_of_power_emptied_is_made_anew() {
    let test = repository(&[]);
    let mine = test.new_sandbox(&["fix"]);
    let entry = private(&test.app(), "fix");
    write(&entry.join("locked"), "git-sandbox: creating");
    for name in ["index", "sandbox.json"] {
        write(&entry.join(name), "");
    }
    fs::remove_file(mine.join("in/b.txt")).unwrap();
    write(&mine.join("notes"), "mine\n");
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("finished sandbox 'fix', whose creation had been interrupted\n")
        .ok();
    assert_eq!(test.git_in(&mine, &["status", "--porcelain"]), "?? notes");
    assert_eq!(fs::read_to_string(mine.join("in/b.txt")).unwrap(), "in/b.txt\nof two lines\n");
}

#[test]
fn a_finishing_that_stops_before_the_files_are_there_is_done_again() {
    let test = repository(&[]);
    let mine = test.new_sandbox(&["fix"]);
    let entry = private(&test.app(), "fix");
    write(&entry.join("locked"), "git-sandbox: creating");
    fs::remove_file(entry.join("index")).unwrap();
    fs::remove_file(mine.join("in/b.txt")).unwrap();
    let path = test.fake_git(
        "case \"$*\" in *read-tree*) \"$GIT\" \"$@\"; exit 128 ;; esac\nexec \"$GIT\" \"$@\"",
    );
    test.program(&test.app(), &["new", "fix"])
        .env("PATH", &path)
        .stderr("error: cannot complete the checkout: git exited with 128\n")
        .code(1);
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("finished sandbox 'fix', whose creation had been interrupted\n")
        .ok();
    assert_eq!(test.git_in(&mine, &["status", "--porcelain"]), "");
    assert_eq!(fs::read_to_string(mine.join("in/b.txt")).unwrap(), "in/b.txt\nof two lines\n");
}
