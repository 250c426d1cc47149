//! Spares that others shaped, and what is left of one that somebody worked in.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use rustix::process::Signal;

use crate::fixture::built::program;
use crate::fixture::files::{names_in, write};
use crate::fixture::process::{ended, finished, is_suspended, signal, until};
use crate::fixture::run::succeeds;
use crate::fixture::spares::{Spares, entry};

#[test]
fn one_of_another_umask_is_not_taken() {
    let spares = Spares::new(1);
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    // Another one than that of the tests.
    let (umask, wanted) = match mode(spares.app().join("file")) {
        0o600 => ("022", 0o644),
        _ => ("077", 0o600),
    };
    let mut command = spares.command("sh", &spares.app());
    command.args(["-c", &format!("umask {umask}; exec git sandbox new fix")]);
    assert!(finished(&mut command).status.success());
    assert_eq!(spares.spares().len(), 1);
    assert_eq!(mode(spares.at("fix/file")), wanted);
}

#[test]
fn one_of_another_git_is_not_taken() {
    let spares = Spares::new(1);
    let git = spares.fake_git("exec \"$GIT\" \"$@\"");
    succeeds(spares.program(&spares.app(), &["new", "fix"]).env("PATH", git));
    assert_eq!(spares.spares().len(), 1);
    assert!(spares.at("fix/file").exists());
}

#[test]
fn one_in_the_middle_of_an_operation_is_not_deleted() {
    let mut spares = Spares::new(1);
    spares.commit(&spares.app(), "more", "more\n");
    let path = spares.only();
    spares.git_in(&path, &["merge", "--quiet", "--no-commit", "--no-ff", "-s", "ours", "main"]);
    spares.git(&["config", "sandbox.spares", "0"]);
    spares.tend();
    assert!(path.join("file").exists());
    assert!(entry(&path).join("MERGE_HEAD").exists());
}

/// Does something to the private git dir of a spare that makes an object, and has it discarded. The
/// object must survive.
#[track_caller]
fn keeps(harm: impl Fn(&Spares, &std::path::Path, &str)) {
    let mut spares = Spares::new(1);
    let path = spares.only();
    write(&path.join("mine"), "mine\n");
    let blob = spares.git_in(&path, &["hash-object", "-w", "mine"]);
    fs::remove_file(path.join("mine")).unwrap();
    harm(&spares, &path, &blob);
    spares.git(&["config", "sandbox.spares", "0"]);
    spares.tend();
    assert!(!path.exists());
    spares.git(&["reflog", "expire", "--expire=now", "--all"]);
    spares.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(spares.git(&["cat-file", "-p", &blob]), "mine");
}

#[test]
fn what_was_staged_in_one_is_kept() {
    keeps(|test, path, blob| {
        let info = format!("100644,{blob},mine");
        test.git_in(path, &["update-index", "--add", "--cacheinfo", &info]);
    });
}

#[test]
fn what_a_ref_of_its_own_names_is_kept() {
    keeps(|test, path, blob| {
        test.git_in(path, &["update-ref", "refs/worktree/mine", blob]);
    });
}

#[test]
fn the_entry_of_one_that_another_process_holds_stays() {
    let mut spares = Spares::new(1);
    let path = spares.only();
    let entry = entry(&path);
    fs::remove_dir_all(&path).unwrap();
    let own = File::create(entry.join("sandbox.lock")).unwrap();
    own.lock().unwrap();
    spares.git(&["config", "sandbox.spares", "0"]);
    spares.tend();
    assert!(entry.join("HEAD").exists());
    own.unlock().unwrap();
    spares.tend();
    assert_eq!(names_in(&spares.app().join(".git/worktrees")), [""; 0]);
}

/// Runs `new fix` so that it dies when the spare has its new folder and no branch yet.
#[track_caller]
fn half_taken() -> Spares {
    for step in 1..30 {
        let spares = Spares::new(1);
        assert!(spares.run(&["new", "fix"]).crashes_at(step), "it came to its end");
        let path = spares.at("fix");
        let head = entry_if(&path).map(|entry| fs::read_to_string(entry.join("HEAD")).unwrap());
        if head.is_some_and(|head| !head.starts_with("ref: ")) {
            return spares;
        }
    }
    panic!("it never came so far");
}

fn entry_if(path: &std::path::Path) -> Option<std::path::PathBuf> {
    path.join(".git").exists().then(|| entry(path))
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_after_a_crash_is_not_checked_out_twice() {
    let spares = half_taken();
    let elsewhere = spares.home.join("elsewhere");
    spares.git(&["worktree", "add", "--quiet", &elsewhere.display().to_string(), "fix"]);
    succeeds(spares.run(&["new", "next"]));
    let listed = spares.git(&["worktree", "list", "--porcelain"]);
    assert_eq!(listed.matches("branch refs/heads/fix\n").count(), 1, "{listed}");
    assert_eq!(spares.git_in(&elsewhere, &["branch", "--show-current"]), "fix");
}

#[test]
fn a_branch_that_was_deleted_after_a_crash_is_not_made_again() {
    let spares = half_taken();
    spares.git(&["branch", "--quiet", "-D", "fix"]);
    succeeds(spares.run(&["new", "next"]));
    let head = spares.git_in(&spares.at("fix"), &["rev-parse", "HEAD"]);
    assert_eq!(head, spares.git(&["rev-parse", "main"]));
    assert_eq!(spares.branches(), ["main", "next"]);
}

#[test]
fn a_file_of_somebodys_that_the_start_lacks_stays() {
    for step in 1..40 {
        let test = crate::fixture::Test::new();
        test.git(&["tag", "old"]);
        test.commit(&test.app(), "extra", "extra\n");
        let spares = Spares::of(test, 1);
        let run = spares.run(&["new", "fix", "--from", "old"]);
        assert!(run.crashes_at(step), "it came to its end");
        let path = spares.at("fix");
        let began = entry_if(&path).map(|entry| fs::read_to_string(entry.join("HEAD")).unwrap());
        if began.is_some_and(|head| head.starts_with("ref: ")) && path.join("extra").exists() {
            write(&path.join("extra"), "mine\n");
            succeeds(spares.run(&["new", "fix"]));
            assert_eq!(fs::read_to_string(path.join("extra")).unwrap(), "mine\n");
            return;
        }
    }
    panic!("it never came so far");
}

#[test]
fn a_file_of_somebodys_in_the_place_of_a_folder_stays() {
    let mut seen = 0;
    for step in 1..40 {
        let test = crate::fixture::Test::new();
        test.commit(&test.app(), "dir/file", "one\n");
        test.git(&["tag", "old"]);
        test.commit(&test.app(), "extra", "extra\n");
        let spares = Spares::of(test, 1);
        if !spares.run(&["new", "fix", "--from", "old"]).crashes_at(step) {
            assert!(seen > 0, "it never came so far");
            return;
        }
        let path = spares.at("fix");
        let began = entry_if(&path).map(|entry| fs::read_to_string(entry.join("HEAD")).unwrap());
        if began.is_some_and(|head| head.starts_with("ref: ")) {
            seen += 1;
            fs::remove_dir_all(path.join("dir")).unwrap();
            write(&path.join("dir"), "mine\n");
            succeeds(spares.run(&["new", "fix"]));
            assert_eq!(fs::read_to_string(path.join("dir")).unwrap(), "mine\n", "{step}");
            assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "one\n");
        }
    }
    panic!("it never came to its end");
}

/// Its files are those of another commit than the sandbox was to have.
#[test]
fn one_at_another_commit_whose_checkout_fails_is_taken_back() {
    let test = crate::fixture::Test::new();
    test.git(&["tag", "old"]);
    test.commit(&test.app(), "extra", "extra\n");
    let git = test.fake_git(
        "case \" $* \" in *' reset '*)\n\
         test -e \"$HOME/fails\" && { echo full >&2; exit 1; } ;; esac\n\
         exec \"$GIT\" \"$@\"",
    );
    let spares = Spares::unprepared(test, 1);
    let run = spares.program(&spares.app(), &["__spares"]).env("PATH", &git);
    run.stderr("1 spare ready\n").ok();
    write(&spares.home.join("fails"), "");
    let run = spares.program(&spares.app(), &["new", "fix", "--from", "old"]).env("PATH", &git);
    run.stderr("full\nerror: cannot check the files out: git exited with 1\n").code(1);
    assert_eq!((spares.spares().len(), spares.at("fix").exists()), (0, false));
    assert_eq!(spares.branches(), ["main"]);
    assert_eq!(names_in(&spares.app().join(".git/worktrees")), [""; 0]);
}

#[test]
fn one_that_was_made_without_a_variable_that_names_attributes_is_not_taken() {
    let test = crate::fixture::Test::new();
    test.git(&["checkout", "--quiet", "-b", "attributes"]);
    test.commit(&test.app(), ".gitattributes", "file eol=crlf\n");
    test.git(&["checkout", "--quiet", "main"]);
    let spares = Spares::of(test, 1);
    succeeds(spares.run(&["new", "fix"]).env("GIT_ATTR_SOURCE", "attributes"));
    assert_eq!(spares.spares().len(), 1);
    assert!(spares.takes(&["other"]));
}

/// Else its files would be taken for somebody's, and it would stay for ever.
#[test]
fn one_that_could_not_be_brought_up_is_replaced_later() {
    let test = crate::fixture::Test::new();
    let git = test.fake_git(
        "case \" $* \" in *' reset '*)\n\
         test -e \"$HOME/fails\" && { echo full >&2; exit 1; } ;; esac\n\
         exec \"$GIT\" \"$@\"",
    );
    let spares = Spares::unprepared(test, 1);
    let tend = || spares.program(&spares.app(), &["__spares"]).env("PATH", &git);
    tend().stderr("1 spare ready\n").ok();
    let old = spares.only();
    spares.commit(&spares.app(), "file", "two\n");
    write(&spares.home.join("fails"), "");
    tend().stderr("error: cannot check a spare out: full\n").code(1);
    assert_eq!(fs::read_to_string(old.join("file")).unwrap(), "one\n");
    fs::remove_file(spares.home.join("fails")).unwrap();
    tend().stderr("1 spare ready\n").ok();
    assert_ne!(spares.only(), old);
    assert_eq!(fs::read_to_string(spares.only().join("file")).unwrap(), "two\n");
}

/// A sandbox that was begun with a spare of another commit, and in which somebody has written since.
#[test]
fn one_whose_taking_cannot_be_completed_around_a_file_is_completed_later() {
    let mut seen = 0;
    for step in 1..40 {
        let test = crate::fixture::Test::new();
        test.git(&["tag", "old"]);
        test.commit(&test.app(), "extra", "extra\n");
        let git = test.fake_git(
            "case \" $* \" in *' read-tree HEAD '*)\n\
             test -e \"$HOME/fails\" && { echo full >&2; exit 1; } ;; esac\n\
             exec \"$GIT\" \"$@\"",
        );
        let spares = Spares::unprepared(test, 1);
        spares
            .program(&spares.app(), &["__spares"])
            .env("PATH", &git)
            .stderr("1 spare ready\n")
            .ok();
        let new = |words: &[&str]| {
            let words = [&["new", "fix"], words].concat();
            spares.program(&spares.app(), &words).env("PATH", &git)
        };
        let run = new(&["--from", "old"]).env("GIT_SANDBOX_CRASH_AT", step.to_string());
        if run.output().status.success() {
            assert!(seen > 0, "it never came so far");
            return;
        }
        let path = spares.at("fix");
        let began = entry_if(&path).map(|entry| fs::read_to_string(entry.join("HEAD")).unwrap());
        if !began.is_some_and(|head| head.starts_with("ref: ")) || !path.join("extra").exists() {
            continue;
        }
        seen += 1;
        write(&path.join("notes"), "mine\n");
        write(&spares.home.join("fails"), "");
        new(&[]).stderr("error: cannot complete the checkout: full\n").code(1);
        assert_eq!(names_in(&path), [".git", "extra", "file", "notes"]);
        fs::remove_file(spares.home.join("fails")).unwrap();
        succeeds(new(&[]));
        assert_eq!(names_in(&path), [".git", "file", "notes"]);
        assert_eq!(spares.git_in(&path, &["status", "--porcelain"]), "?? notes");
    }
    panic!("it never came to its end");
}

/// The step of `new fix` at which a spare has its new folder, and does not know it yet.
fn step_of_move() -> u32 {
    let moved = |step: &u32| {
        let spares = Spares::new(1);
        assert!(spares.run(&["new", "fix"]).crashes_at(*step), "it came to its end");
        spares.at("fix/.git").exists()
    };
    (1..30).find(moved).unwrap()
}

#[test]
fn one_that_cannot_become_a_sandbox_is_taken_back() {
    let step = step_of_move();
    for name in ["gitdir", "HEAD", "locked"] {
        let spares = Spares::new(1);
        let entry = entry(&spares.only());
        let mut command = spares.command(program(), &spares.app());
        command.args(["new", "fix"]).env("GIT_SANDBOX_PAUSE_AT", step.to_string());
        let command = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        until("it is moved", || is_suspended(child.id()));
        // In the way of the new file.
        fs::create_dir(entry.join(format!("{name}.new"))).unwrap();
        signal(child.id(), Signal::CONT);
        let output = ended(child);
        let said = String::from_utf8(output.stderr).unwrap();
        let wanted = format!("error: cannot write '{}': ", entry.join(name).display());
        assert!(said.starts_with(&wanted), "{said}");
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(spares.sandboxes(), [""; 0], "{name}");
        assert_eq!(spares.branches(), ["main"], "{name}");
        assert!(!entry.exists(), "{name}");
    }
}
