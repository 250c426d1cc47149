//! `git sandbox reap --all`: across repositories, at once with others, and at what cost.

use crate::fixture::state::{is_registered, private};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

use crate::fixture::diff::same;
use crate::fixture::files::{room, tree, write};
use crate::fixture::process::ended;
use crate::fixture::reap::{nothing, reap, summary};
use crate::fixture::run::succeeds;
use crate::fixture::state::state;
use crate::fixture::time::{after, set_time, set_times};
use crate::fixture::trash::trashed;
use crate::fixture::{Run, Test};

/// Two repositories with a sandbox each; that of `app` is kept for 10 days, that of `zoo` for 90.
#[track_caller]
fn two() -> (Test, PathBuf, PathBuf) {
    let test = Test::new();
    let zoo = test.init("zoo", &[]);
    test.git(&["config", "sandbox.branchExpiryDays", "10"]);
    let ours = test.new_sandbox(&["fix-app"]);
    succeeds(test.run_in(&zoo, &["new", "fix-zoo"]));
    let theirs = test.root().with_file_name("zoo").join("fix-zoo");
    (test, ours, theirs)
}

fn all<'a>(test: &'a Test, dir: &Path, days: i64, words: &[&str]) -> Run<'a> {
    let words = [&["reap", "--all"], words].concat();
    test.run_in(dir, &words).env("GIT_SANDBOX_NOW", after(days))
}

#[test]
fn each_repository_goes_by_its_own_config_from_anywhere() {
    for from in ["", "app", "zoo"] {
        let (test, ours, theirs) = two();
        let dir = test.home.join(from);
        let neighbour = tree(&theirs, &[]);
        let line = "fix-app: retired: unused for 20 days\n";
        let last = summary(1, 0, 0, room(&ours));
        let before = tree(&test.home, &["sandbox.lock"]);
        all(&test, &dir, 20, &["--dry-run"])
            .stdout("fix-app: would retire: unused for 20 days\n")
            .stderr(&last)
            .ok();
        same(&tree(&test.home, &["sandbox.lock"]), &before);
        all(&test, &dir, 20, &[]).stdout(line).stderr(&last).ok();
        assert!(!ours.exists());
        same(&tree(&theirs, &[]), &neighbour);
        let freed = room(&theirs);
        test.git(&["config", "sandbox.trashExpiryDays", "never"]);
        all(&test, &dir, 91, &[])
            .stdout("fix-zoo: retired: unused for 91 days\n")
            .stderr(&summary(1, 0, 0, freed))
            .ok();
        assert_eq!(trashed(&test).len(), 2);
    }
}

#[test]
fn without_all_only_this_repository_is_reaped() {
    let (test, ours, theirs) = two();
    succeeds(reap(&test, 94, &[]));
    assert!(!ours.exists() && theirs.exists());
}

#[test]
fn without_anything_there_is_nothing_to_do() {
    let test = Test::bare();
    let before = tree(&test.home, &[]);
    all(&test, &test.home, 0, &[]).stderr(&nothing(0)).ok();
    all(&test, &test.home, 0, &["--json"]).stdout("[]\n").ok();
    assert_eq!(tree(&test.home, &[]), before);
}

#[test]
fn a_repository_that_is_corrupt_is_reported_and_skipped() {
    let (test, ours, theirs) = two();
    fs::write(test.home.join("zoo/.git/HEAD"), "nonsense").unwrap();
    let (before, zoo) = (tree(&theirs, &[]), tree(&test.home.join("zoo"), &["sandbox.lock"]));
    let output = all(&test, &test.home, 200, &[]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    let lead = format!("warning: skipped '{}': ", test.home.join("zoo/.git").display());
    assert!(said.starts_with(&lead), "{said}");
    assert_eq!(said.lines().count(), 2);
    assert_eq!(
        (output.status.code(), String::from_utf8(output.stdout).unwrap().as_str()),
        (Some(1), "fix-app: retired: unused for 200 days\n")
    );
    assert!(!ours.exists());
    same(&tree(&theirs, &[]), &before);
    same(&tree(&test.home.join("zoo"), &["sandbox.lock"]), &zoo);
}

#[test]
fn a_repository_with_a_bad_period_is_reported_and_skipped() {
    let (test, ours, theirs) = two();
    test.git_in(&test.home.join("zoo"), &["config", "sandbox.branchExpiryDays", "soon"]);
    let (before, freed) = (tree(&theirs, &[]), room(&ours));
    all(&test, &test.home, 200, &[])
        .stdout("fix-app: retired: unused for 200 days\n")
        .stderr(&format!(
            "warning: skipped '$HOME/zoo/.git': bad value 'soon' for \
             'sandbox.branchExpiryDays': it must be a whole number of days, or 'never'\n{}",
            summary(1, 0, 0, freed)
        ))
        .code(1);
    assert!(!ours.exists());
    same(&tree(&theirs, &[]), &before);
}

#[test]
fn a_bad_period_of_the_users_own_is_an_error_before_anything_happens() {
    for key in ["branch", "headless", "orphan", "trash"] {
        let (test, _, theirs) = two();
        let key = format!("sandbox.{key}ExpiryDays");
        test.git(&["config", "--unset", "sandbox.branchExpiryDays"]);
        fs::remove_dir_all(test.home.join("zoo")).unwrap();
        set_times(&theirs, 0);
        test.git_in(&test.home, &["config", "--global", &key, "soon"]);
        for dir in [test.home.clone(), test.app()] {
            all(&test, &dir, 200, &[])
                .stderr(&format!(
                    "error: bad value 'soon' for '{key}': \
                     it must be a whole number of days, or 'never'\n\
                     hint: git config --show-origin --get-all {key}\n"
                ))
                .refused();
        }
    }
}

fn start(test: &Test, words: &[&str]) -> Child {
    let mut command = test.command("git", &test.app());
    command.arg("sandbox").args(words).env("GIT_SANDBOX_NOW", after(94));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn().unwrap()
}

#[test]
fn four_reapers_and_four_new_at_once_do_no_harm() {
    let (test, _, theirs) = two();
    test.git(&["config", "sandbox.branchExpiryDays", "90"]);
    for name in ["old-1", "old-2", "old-3", "old-4", "old-5"] {
        test.new_sandbox(&[name]);
    }
    let young = test.new_sandbox(&["young"]);
    set_time(&young, 50);
    let dirty = test.new_sandbox(&["dirty"]);
    write(&dirty.join("new"), "mine\n");
    set_times(&dirty, 0);
    let before = (state(&test, &young), state(&test, &dirty));
    let children: Vec<Child> = (0..4)
        .flat_map(|number| {
            let name = format!("job-{number}");
            [start(&test, &["reap", "--all"]), start(&test, &["new", &name])]
        })
        .collect();
    for child in children {
        let output = ended(child);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(test.sandboxes(), ["dirty", "job-0", "job-1", "job-2", "job-3", "young"]);
    assert_eq!((state(&test, &young), state(&test, &dirty)), before);
    assert!(!theirs.exists());
    assert_eq!(trashed(&test).len(), 7);
    for number in 0..4 {
        let path = test.at(&format!("job-{number}"));
        assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "");
    }
    for name in ["fix-app", "old-1", "old-2", "old-3", "old-4", "old-5"] {
        succeeds(test.run(&["restore", name]));
        assert_eq!(test.git_in(&test.at(name), &["symbolic-ref", "--short", "HEAD"]), name);
    }
    succeeds(test.run(&["doctor"]));
}

#[test]
fn four_purges_at_once_do_no_harm() {
    let (test, ours, theirs) = two();
    for name in ["old-1", "old-2", "old-3"] {
        test.new_sandbox(&[name]);
        succeeds(test.run(&["rm", name]));
    }
    set_time(&ours, 94);
    set_time(&theirs, 94);
    let children: Vec<Child> = (0..4).map(|_| start(&test, &["reap", "--all"])).collect();
    for child in children {
        let output = ended(child);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    crate::fixture::trash::wait_for_trash(&test, 0);
    assert_eq!(test.sandboxes(), ["fix-app"]);
    assert_eq!(test.branches(), ["fix-app", "main", "old-1", "old-2", "old-3"]);
    assert_eq!(test.linked(), [ours.to_string_lossy()]);
}

/// An external worktree whose disk is not there, last seen so many days ago by the real clock.
fn unmounted(days: u64) -> Test {
    let test = Test::new();
    let stick = test.home.join("stick/work");
    test.git(&["worktree", "add", "--quiet", "-b", "work", &stick.display().to_string()]);
    fs::rename(test.home.join("stick"), test.home.join("unmounted")).unwrap();
    let then = SystemTime::now() - Duration::from_secs(days * 86_400);
    let entry = private(&test.app(), "work");
    for name in ["index", "gitdir", "HEAD", "logs/HEAD"] {
        fs::File::open(entry.join(name)).unwrap().set_modified(then).unwrap();
    }
    test
}

#[test]
fn a_worktree_on_an_unmounted_disk_survives() {
    let test = unmounted(80);
    let before = tree(&test.home, &["sandbox.lock"]);
    for days in [0, 5000] {
        reap(&test, days, &["--force"]).stderr(&nothing(1)).ok();
        all(&test, &test.app(), days, &[]).stderr(&nothing(1)).ok();
    }
    same(&tree(&test.home, &["sandbox.lock"]), &before);
    fs::rename(test.home.join("unmounted"), test.home.join("stick")).unwrap();
    assert_eq!(test.git_in(&test.home.join("stick/work"), &["status", "--porcelain"]), "");
}

#[test]
fn an_entry_goes_when_gc_would_drop_it() {
    let test = unmounted(100);
    let before = tree(&test.home, &["sandbox.lock"]);
    let would = reap(&test, 0, &["--dry-run"]).output();
    assert_eq!(
        String::from_utf8(would.stdout).unwrap(),
        "work: would retire: its folder was gone\n"
    );
    same(&tree(&test.home, &["sandbox.lock"]), &before);
    assert!(is_registered(&test.app(), "work"));
    test.git(&["config", "gc.worktreePruneExpire", "never"]);
    reap(&test, 0, &[]).stderr(&nothing(1)).ok();
    assert!(is_registered(&test.app(), "work"));
    test.git(&["config", "--unset", "gc.worktreePruneExpire"]);
    let line = "work: retired: its folder was gone\n";
    reap(&test, 0, &[]).stdout(line).stderr(&summary(1, 0, 0, 0)).ok();
    assert!(!is_registered(&test.app(), "work"));
    assert_eq!(test.branches(), ["main", "work"]);
    assert!(test.home.join("unmounted/work/file").exists());
    let test = unmounted(3);
    test.git(&["config", "gc.worktreePruneExpire", "2.days.ago"]);
    reap(&test, 0, &[]).stdout(line).stderr(&summary(1, 0, 0, 0)).ok();
    assert!(!is_registered(&test.app(), "work"));
}

#[test]
fn an_entry_that_cannot_be_put_aside_is_not_pruned() {
    let test = unmounted(100);
    let entry = private(&test.app(), "work");
    write(&entry.join("notes"), "mine\n");
    let before = tree(&test.home, &["sandbox.lock"]);
    let why = "warning: cannot forget 'work', whose folder is gone: '$APP/.git/worktrees/work/notes' is \
               not git's\n";
    reap(&test, 0, &[]).stderr(&format!("{why}{}", nothing(1))).ok();
    same(&tree(&test.home, &["sandbox.lock"]), &before);
}

/// Many sandboxes, copied from one without git's help.
fn many(count: usize) -> Test {
    let test = Test::new();
    let first = test.new_sandbox(&["--detach", "0"]);
    let worktrees = test.app().join(".git/worktrees");
    for number in 1..count {
        let name = format!("exploration-{number}");
        let (folder, entry) = (test.at(&name), worktrees.join(&name));
        for file in ["HEAD", "commondir", "index", "logs/HEAD", "sandbox.json"] {
            let text = fs::read(private(&test.app(), "exploration-0").join(file)).unwrap();
            fs::create_dir_all(entry.join(file).parent().unwrap()).unwrap();
            fs::write(entry.join(file), text).unwrap();
        }
        write(&entry.join("gitdir"), &format!("{}\n", folder.join(".git").display()));
        write(&folder.join(".git"), &format!("gitdir: {}\n", entry.display()));
        fs::copy(first.join("file"), folder.join("file")).unwrap();
        set_time(&folder, 0);
    }
    assert_eq!(test.linked().len(), count);
    test
}

#[test]
fn two_hundred_that_are_not_stale_cost_one_list_and_no_status() {
    let test = many(200);
    let log = test.home.join("log");
    let path = test.fake_git(&format!("echo \"$PWD: $*\" >>{}\nexec $GIT \"$@\"", log.display()));
    for words in [&["reap"][..], &["reap", "--dry-run"], &["reap", "--all"]] {
        fs::write(&log, "").unwrap();
        test.program(&test.app(), words)
            .env("PATH", &path)
            .env("GIT_SANDBOX_NOW", after(29))
            .stderr(&nothing(200))
            .ok();
        let calls = fs::read_to_string(&log).unwrap();
        let count = |word: &str| calls.lines().filter(|call| call.contains(word)).count();
        assert_eq!((count(" worktree list "), count(" status ")), (1, 0), "{words:?}:\n{calls}");
        assert!(calls.lines().count() < 12, "{words:?}:\n{calls}");
    }
    assert_eq!(test.sandboxes().len(), 200);
    // The one that is stale is the only one that git is asked about.
    set_time(&test.at("exploration-7"), -10);
    fs::write(&log, "").unwrap();
    let freed = room(&test.at("exploration-7"));
    test.program(&test.app(), &["reap", "--older-than", "35"])
        .env("PATH", &path)
        .env("GIT_SANDBOX_NOW", after(29))
        .stdout("exploration-7: retired: unused for 39 days\n")
        .stderr(&summary(1, 0, 0, freed))
        .ok();
    assert_eq!(test.sandboxes().len(), 199);
    let calls = fs::read_to_string(&log).unwrap();
    let asked: Vec<&str> = calls.lines().filter(|call| call.contains(" status ")).collect();
    let stale = format!("{}: ", test.at("exploration-7").display());
    assert!(!asked.is_empty() && asked.iter().all(|call| call.starts_with(&stale)), "{calls}");
}
