//! Sandboxes whose repository is gone, moved, unreadable or knows them no more.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::fixture::diff::same;
use crate::fixture::files::{chmod, names_in, room, tree, write};
use crate::fixture::mount::{Mount, alone};
use crate::fixture::process::Sleeper;
use crate::fixture::reap::{nothing, summary};
use crate::fixture::run::{succeeds, without_power};
use crate::fixture::state::{private, private_anywhere, state};
use crate::fixture::time::{after, set_time, set_times};
use crate::fixture::trash::{id_of, only_one, trashed, wait_for_trash};
use crate::fixture::work::commit;
use crate::fixture::{Run, Test};

/// A home with a repository `zoo`, gone since, whose sandbox `fix` has work in it.
struct Lost {
    test: Test,
    path: PathBuf,
}

impl Lost {
    fn made(words: &[&str]) -> Lost {
        let test = Test::new();
        let zoo = test.init("zoo", &[]);
        let output = test.run_in(&zoo, &[&["new"], words].concat()).output();
        let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end());
        write(&path.join("sub/deep"), "mine\n");
        set_times(&path, 0);
        Lost { test, path }
    }

    fn new() -> Lost {
        let lost = Lost::made(&["fix"]);
        fs::remove_dir_all(lost.test.home.join("zoo")).unwrap();
        lost
    }

    fn reap(&self, days: i64, words: &[&str]) -> Run<'_> {
        let words = [&["reap", "--all"], words].concat();
        self.test.run_in(&self.test.home, &words).env("GIT_SANDBOX_NOW", after(days))
    }

    /// Nothing happens on that day.
    #[track_caller]
    fn stays(&self, days: i64) {
        let before = tree(&self.test.home, &["sandbox.lock"]);
        self.reap(days, &[]).stderr(&nothing(1)).ok();
        same(&tree(&self.test.home, &["sandbox.lock"]), &before);
    }

    /// It goes to the trash, whole; in a dry run it does not.
    #[track_caller]
    fn goes(&self, days: i64, unused: u32) {
        let before = tree(&self.test.home, &["sandbox.lock"]);
        let files = tree(&self.path, &[]);
        let name = self.path.file_name().unwrap().to_string_lossy();
        let line = format!(
            "{name}: retired: unused for {unused} days, and its repository cannot be reached\n"
        );
        let last = summary(1, 0, 0, room(&self.path));
        let would = line.replace(": retired:", ": would retire:");
        self.reap(days, &["--dry-run"]).stdout(&would).stderr(&last).ok();
        same(&tree(&self.test.home, &["sandbox.lock"]), &before);
        self.reap(days, &[]).stdout(&line).stderr(&last).ok();
        assert!(!self.path.exists());
        let item = only_one(&self.test);
        let pointer = |line: &&str| !line.starts_with(".git ");
        let files: Vec<&str> = files.lines().filter(pointer).collect();
        same(&tree(&item.join("tree"), &[]), &files.join("\n"));
        assert!(item.join("dot-git").is_file());
    }
}

#[test]
fn an_orphan_is_kept_for_90_days_after_its_newest_file() {
    let lost = Lost::new();
    lost.stays(89);
    set_time(&lost.path.join("sub/deep"), 20);
    set_time(&lost.path.join("sub"), 0);
    lost.stays(109);
    lost.goes(111, 91);
}

#[test]
fn an_exploration_without_its_repository_is_kept_as_long() {
    let lost = Lost::made(&["--detach", "look"]);
    fs::remove_dir_all(lost.test.home.join("zoo")).unwrap();
    lost.stays(31);
    lost.stays(89);
    lost.goes(91, 91);
}

#[test]
fn one_whose_repository_was_moved_is_an_orphan() {
    let lost = Lost::made(&["fix"]);
    fs::rename(lost.test.home.join("zoo"), lost.test.home.join("moved")).unwrap();
    lost.stays(89);
    lost.goes(91, 91);
}

#[test]
fn one_whose_repository_comes_back_is_none() {
    let lost = Lost::made(&["fix"]);
    let (zoo, away) = (lost.test.home.join("zoo"), lost.test.home.join("unmounted"));
    fs::rename(&zoo, &away).unwrap();
    lost.stays(89);
    fs::rename(&away, &zoo).unwrap();
    let before = tree(&lost.path, &[]);
    lost.reap(94, &[])
        .stdout("fix: kept: 1 uncommitted change\n")
        .stderr(&summary(0, 1, 0, 0))
        .ok();
    same(&tree(&lost.path, &[]), &before);
}

#[test]
fn one_that_its_repository_no_longer_knows_is_an_orphan() {
    let lost = Lost::made(&["fix"]);
    fs::remove_dir_all(lost.test.home.join("zoo/.git/worktrees")).unwrap();
    lost.stays(89);
    let listed = lost.test.run_in(&lost.test.home.join("zoo"), &["list", "--json"]).output();
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!((&listed[0]["name"], &listed[0]["state"]), (&"fix".into(), &"orphan".into()));
    lost.goes(91, 91);
}

#[test]
fn an_item_is_adopted_when_its_repository_is_back() {
    let lost = Lost::made(&["fix"]);
    let (zoo, away) = (lost.test.home.join("zoo"), lost.test.home.join("unmounted"));
    let before = tree(&lost.path, &[]);
    let entry = std::fs::read_dir(zoo.join(".git/worktrees")).unwrap().flatten().next().unwrap();
    set_time(&entry.path().join("gitdir"), 0);
    fs::rename(&zoo, &away).unwrap();
    lost.goes(91, 91);
    fs::rename(&away, &zoo).unwrap();
    let restore = lost.test.run_in(&zoo, &["restore", "fix"]).env("GIT_SANDBOX_NOW", after(92));
    restore.stdout(&format!("{}\n", lost.path.display())).stderr("restored 'fix'\n").ok();
    same(&tree(&lost.path, &[]), &before);
    assert_eq!(lost.test.git_in(&lost.path, &["branch", "--show-current"]), "fix");
}

#[test]
fn one_whose_repository_is_unreadable_is_left_alone() {
    let lost = Lost::made(&["fix"]);
    let test = &lost.test;
    chmod(&test.home.join("zoo"), 0);
    let run = |days: i64| {
        let run = without_power(test, &test.home, &["reap", "--all"]);
        run.env("GIT_SANDBOX_NOW", after(days))
    };
    let files = tree(&lost.path, &[]);
    run(89).stderr(&nothing(0)).ok();
    same(&tree(&lost.path, &[]), &files);
    // An error that is not "no such file" is no absence.
    run(1000).stderr(&nothing(0)).ok();
    same(&tree(&lost.path, &[]), &files);
    chmod(&test.home.join("zoo"), 0o755);
    test.git_in(&test.home.join("zoo"), &["fsck", "--no-progress"]);
}

#[test]
fn orphans_have_a_period_of_their_own() {
    let lost = Lost::new();
    let config = |key: &str, value: &str| {
        lost.test.git_in(&lost.test.home, &["config", "--global", key, value]);
    };
    let would = |variable: Option<&str>| {
        let mut run = lost.reap(50, &["--dry-run"]);
        if let Some(value) = variable {
            run = run.env("GIT_SANDBOX_ORPHAN_EXPIRY_DAYS", value);
        }
        !run.output().stdout.is_empty()
    };
    assert!(!would(None));
    assert!(would(Some("50")));
    config("sandbox.branchExpiryDays", "50");
    assert!(would(None));
    config("sandbox.orphanExpiryDays", "51");
    assert!(!would(None));
    assert!(would(Some("49")));
    config("sandbox.orphanExpiryDays", "never");
    assert!(!would(None));
    lost.stays(10_000);
}

#[test]
fn future_times_and_a_clock_set_back_keep_an_orphan() {
    let lost = Lost::new();
    lost.stays(-1000);
    set_time(&lost.path.join("file"), 5000);
    lost.stays(1000);
}

#[test]
fn only_all_touches_orphans() {
    let lost = Lost::new();
    let before = tree(&lost.path, &[]);
    succeeds(lost.test.run(&["reap", "--force"]).env("GIT_SANDBOX_NOW", after(500)));
    same(&tree(&lost.path, &[]), &before);
}

#[test]
fn an_orphan_that_somebody_sits_in_is_never_taken() {
    let lost = Lost::new();
    let user = Sleeper::start(&lost.path.join("sub"), Stdio::null());
    let before = tree(&lost.path, &[]);
    for words in [&[][..], &["--force"], &["--dry-run"]] {
        lost.reap(94, words)
            .stdout(&format!("fix: skipped: in use by {} sleep\n", user.pid()))
            .stderr(&summary(0, 1, 0, 0))
            .ok();
        same(&tree(&lost.path, &[]), &before);
    }
}

#[test]
fn an_orphan_that_we_are_in_is_never_taken() {
    let lost = Lost::new();
    let before = tree(&lost.path, &[]);
    // Only so does git work there.
    let run = lost.test.run_in(&lost.path.join("sub"), &["reap", "--all"]);
    run.env("GIT_DIR", lost.test.app().join(".git"))
        .env("GIT_SANDBOX_NOW", after(94))
        .stdout("fix: skipped: you are in it\n")
        .stderr(&summary(0, 1, 0, 0))
        .ok();
    same(&tree(&lost.path, &[]), &before);
}

#[test]
fn an_orphan_around_a_mount_is_never_taken() {
    alone(|| {
        let lost = Lost::new();
        let mount = Mount::on(&lost.path.join("sub/mount"));
        write(&mount.0.join("file"), "theirs\n");
        set_times(&lost.path, 0);
        let said = format!("fix: skipped: contains the mount point '{}'\n", mount.0.display());
        lost.reap(94, &[]).stdout(&said).stderr(&summary(0, 1, 0, 0)).ok();
        assert_eq!(fs::read_to_string(mount.0.join("file")).unwrap(), "theirs\n");
    });
}

#[test]
fn an_orphan_comes_back_as_it_was() {
    let lost = Lost::new();
    let test = &lost.test;
    let before = tree(&lost.path, &[]);
    lost.goes(94, 94);
    let listed = test.run_in(&test.home, &["restore", "--all"]).output();
    assert!(String::from_utf8(listed.stdout).unwrap().contains(&id_of(&only_one(test))));
    test.run_in(&test.home, &["restore", "--all", "fix"])
        .env("GIT_SANDBOX_NOW", after(95))
        .stdout(&format!("{}\n", lost.path.display()))
        .stderr("restored 'fix'\nit is a plain folder: its repository no longer knows it\n")
        .ok();
    same(&tree(&lost.path, &[]), &before);
    assert!(trashed(test).is_empty());
}

#[test]
fn an_orphan_that_was_brought_back_is_kept_for_its_period_again() {
    let lost = Lost::new();
    lost.goes(94, 94);
    let home = &lost.test.home;
    let restore = lost.test.run_in(home, &["restore", "--all", "fix"]);
    succeeds(restore.env("GIT_SANDBOX_NOW", after(95)));
    lost.stays(96);
    lost.stays(184);
}

#[test]
fn an_orphan_is_purged_with_the_trash() {
    let lost = Lost::new();
    let test = &lost.test;
    lost.goes(94, 94);
    let before = tree(&test.home, &["sandbox.lock"]);
    lost.reap(107, &[]).stderr(&nothing(0)).ok();
    let (line, last) = (
        "fix-ID: put away: in the trash for 15 days\n",
        summary(0, 0, 1, room(&only_one(test).join("tree"))),
    );
    let would = line.replace(": put away:", ": would put away:");
    lost.reap(109, &["--dry-run"]).stdout(&would).stderr(&last).ok();
    same(&tree(&test.home, &["sandbox.lock"]), &before);
    lost.reap(109, &[]).stdout(line).stderr(&last).ok();
    wait_for_trash(test, 0);
    assert!(!lost.path.exists());
    assert!(test.app().join("file").exists());
    succeeds(test.run_in(&test.home, &["restore", "--all", "fix"]));
    assert!(lost.path.join("sub/deep").exists());
}

#[test]
fn purge_takes_an_orphan_by_name() {
    let lost = Lost::new();
    lost.goes(94, 94);
    succeeds(lost.reap(95, &["--purge", "fix"]));
    wait_for_trash(&lost.test, 0);
}

#[test]
fn a_purge_by_name_that_was_interrupted_is_completed_without_the_repository() {
    for step in 1..80 {
        let lost = Lost::new();
        lost.goes(94, 94);
        if !lost.reap(95, &["--purge", "fix"]).crashes_at(step) {
            assert!(step > 2, "only {step} steps");
            return;
        }
        succeeds(lost.reap(95, &[]));
        assert!(trashed(&lost.test).is_empty(), "step {step}");
        let listed = lost.test.run_in(&lost.test.home, &["restore", "--all"]);
        listed.stderr("nothing to bring back\n").ok();
    }
    panic!("more than 80 steps");
}

#[test]
fn a_dry_run_leaves_an_interrupted_move_as_it_is() {
    let lost = Lost::new();
    lost.goes(94, 94);
    // As a kill between the rename and its journal leaves it.
    let journal = only_one(&lost.test).join("journal.json");
    let text = fs::read_to_string(&journal).unwrap();
    let text = text.replace("\"trashed\"", "\"removing\"");
    assert!(text.contains("removing"));
    fs::write(&journal, text).unwrap();
    let before = tree(&lost.test.home, &["sandbox.lock"]);
    succeeds(lost.reap(95, &["--dry-run"]));
    let listed = lost.test.run_in(&lost.test.home, &["restore", "--all"]);
    succeeds(listed.env("GIT_SANDBOX_NOW", after(95)));
    same(&tree(&lost.test.home, &["sandbox.lock"]), &before);
    // And the next command that may, finishes it.
    succeeds(lost.reap(95, &[]));
    let home: &Path = &lost.test.home;
    succeeds(lost.test.run_in(home, &["restore", "--all", "fix"]));
    assert_eq!(fs::read_to_string(lost.path.join("sub/deep")).unwrap(), "mine\n");
}

/// A repository that is out of reach while `reap --all` runs on these days, and then is back.
#[track_caller]
fn out_of_reach(test: &Test, days: &[i64]) {
    fs::rename(test.app(), test.home.join("away")).unwrap();
    for day in days {
        let run = test.run_in(&test.home, &["reap", "--all"]);
        succeeds(run.env("GIT_SANDBOX_NOW", after(*day)));
    }
    fs::rename(test.home.join("away"), test.app()).unwrap();
}

#[test]
fn an_orphan_returns_with_its_repository_from_the_trash_and_from_the_vault() {
    for days in [&[400][..], &[400, 800]] {
        let test = Test::new();
        let path = test.new_sandbox(&["box", "The", "task"]);
        write(&path.join("file"), "edited\n");
        write(&path.join("staged"), "staged\n");
        test.git_in(&path, &["add", "staged"]);
        let before = state(&test, &path);
        out_of_reach(&test, days);
        assert!(!path.exists());
        test.run(&["list"]).stderr("no sandboxes; 'git sandbox new <name>' makes one\n").ok();
        test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
        same(&state(&test, &path), &before);
        assert_eq!(test.json(&["show", "box", "--json"])["task"], "The task");
        test.run(&["doctor"]).stderr("all is well\n").ok();
    }
}

#[test]
fn a_move_of_an_orphan_that_a_crash_stopped_is_mended_in_its_repository() {
    for step in 1.. {
        let test = Test::new();
        let path = test.new_sandbox(&["box"]);
        write(&path.join("file"), "edited\n");
        let before = state(&test, &path);
        fs::rename(test.app(), test.home.join("away")).unwrap();
        let run = test.run_in(&test.home, &["reap", "--all"]);
        let crashed = run.env("GIT_SANDBOX_NOW", after(400)).crashes_at(step);
        fs::rename(test.home.join("away"), test.app()).unwrap();
        let moved = !path.exists();
        succeeds(test.run(&["doctor", "--fix"]));
        test.run(&["doctor"]).stderr("all is well\n").ok();
        assert_eq!(path.exists(), !moved, "{step}");
        if moved {
            test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
        }
        same(&state(&test, &path), &before);
        if !crashed {
            assert!(step > 3, "{step}");
            break;
        }
    }
}

#[test]
fn an_adoption_that_a_crash_stopped_is_completed() {
    for step in 1.. {
        let test = Test::new();
        let path = test.new_sandbox(&["box"]);
        write(&path.join("file"), "edited\n");
        test.git_in(&path, &["worktree", "lock", "--reason", "mine", "."]);
        let before = state(&test, &path);
        out_of_reach(&test, &[400]);
        let crashed = test.run(&["new", "other"]).crashes_at(step);
        test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
        same(&state(&test, &path), &before);
        let reason = fs::read_to_string(private(&test.app(), "box").join("locked")).unwrap();
        assert_eq!(reason, "mine\n");
        if !crashed {
            assert!(step > 8, "{step}");
            break;
        }
    }
}

#[test]
fn an_orphan_whose_putting_away_a_crash_stopped_is_adopted() {
    for step in 1.. {
        let test = Test::new();
        let path = test.new_sandbox(&["box"]);
        write(&path.join("file"), "edited\n");
        let before = state(&test, &path);
        fs::rename(test.app(), test.home.join("away")).unwrap();
        let reap = |day: i64| {
            test.run_in(&test.home, &["reap", "--all"]).env("GIT_SANDBOX_NOW", after(day))
        };
        succeeds(reap(400));
        let crashed = reap(800).crashes_at(step);
        fs::rename(test.home.join("away"), test.app()).unwrap();
        test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
        same(&state(&test, &path), &before);
        test.run(&["doctor"]).stderr("all is well\n").ok();
        if !crashed {
            assert!(step > 8, "{step}");
            break;
        }
    }
}

#[test]
fn what_was_removed_before_its_repository_was_out_of_reach_comes_back_whole() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("file"), "edited\n");
    // Ignored and precious, which only the config of the repository says.
    write(&test.app().join(".git/info/exclude"), "secret\n");
    test.git(&["config", "sandbox.precious", "secret"]);
    write(&path.join("secret"), "mine\n");
    let before = state(&test, &path);
    succeeds(test.run(&["rm", "--force", "box"]));
    out_of_reach(&test, &[15]);
    test.run(&["doctor"]).stderr("all is well\n").ok();
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    same(&state(&test, &path), &before);
}

#[test]
fn what_a_repository_out_of_reach_kept_of_one_goes_with_the_rest() {
    for purged in [false, true] {
        let test = Test::new();
        let path = test.new_sandbox(&["box"]);
        write(&path.join("file"), "edited\n");
        let before = state(&test, &path);
        succeeds(test.run(&["rm", "--force", "box"]));
        out_of_reach(&test, &[15]);
        let privates = || names_in(&test.app().join(".git/sandbox")).len() - 1;
        assert_eq!(privates(), 1);
        let words: &[&str] =
            if purged { &["reap", "--purge", "box", "--force"] } else { &["reap"] };
        succeeds(test.run(words).env("GIT_SANDBOX_NOW", after(16)));
        assert_eq!((privates(), trashed(&test).len()), (0, 0), "{words:?}");
        let said = test.run(&["reap"]).env("GIT_SANDBOX_NOW", after(17)).output();
        assert_eq!(String::from_utf8_lossy(&said.stderr), "nothing to clean up (0 sandboxes)\n");
        test.run(&["doctor"]).stderr("all is well\n").ok();
        if purged {
            test.run(&["restore", "--names"]).stdout("").stderr("").ok();
        } else {
            succeeds(test.run(&["restore", "box"]));
            same(&state(&test, &path), &before);
        }
    }
}

/// A removed sandbox that was put away, and whose repository was deleted then.
fn put_away_and_deleted() -> (Test, PathBuf) {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "committed", "lost with the repository\n");
    write(&path.join("mine"), "untracked\n");
    write(&path.join("staged"), "staged\n");
    test.git_in(&path, &["add", "staged"]);
    succeeds(test.run(&["rm", "--force", "box"]));
    succeeds(test.run(&["reap", "--purge"]));
    fs::remove_dir_all(test.app()).unwrap();
    (test, path)
}

#[test]
fn what_a_deleted_repository_put_away_comes_back_as_a_plain_folder() {
    for made_anew in [false, true] {
        let (test, path) = put_away_and_deleted();
        let (words, lost): (&[&str], &[&str]) = match made_anew {
            true => (&["restore", "box"], &["committed"]),
            false => (&["restore", "--all", "box"], &["committed", "file"]),
        };
        if made_anew {
            test.init("app", &[]);
        }
        let dir = if made_anew { test.app() } else { test.home.clone() };
        let lost: Vec<String> = lost
            .iter()
            .map(|name| {
                format!("warning: 'tree/{name}' cannot be brought back: its repository lost it\n")
            })
            .collect();
        let lost = lost.concat();
        test.run_in(&dir, words)
            .stdout("$ROOT/box\n")
            .stderr(&format!(
                "{lost}warning: its index, reflog and logs stay in the vault as 'box-ID'\n\
                 restored 'box'\n\
                 it is a plain folder: its repository no longer knows it\n"
            ))
            .ok();
        assert_eq!(fs::read_to_string(path.join("mine")).unwrap(), "untracked\n");
        assert_eq!(fs::read_to_string(path.join("staged")).unwrap(), "staged\n");
        assert_eq!(path.join("file").exists(), made_anew);
        assert!(trashed(&test).is_empty());
        // Nothing of it is left in the new repository, and the folder is no secret.
        assert!(!made_anew || !test.app().join(".git/worktrees").exists());
        let listed = test.run_in(&dir, &["list", "--all", "--names"]).output();
        assert_eq!(String::from_utf8_lossy(&listed.stdout), "box\n");
        let rows = test.run_in(&dir, &["restore", "--all", "--json"]).output();
        let rows: serde_json::Value = serde_json::from_slice(&rows.stdout).unwrap();
        assert_eq!(rows[0]["place"], "vault");
        assert_eq!(rows.as_array().unwrap().len(), 1);
    }
}

/// By the real clock, in which the times of folders change by themselves, it is always long ago.
#[test]
fn a_plain_folder_that_came_back_counts_as_used_when_it_did() {
    let lost = Lost::new();
    succeeds(lost.reap(20_000, &[]));
    let restore = lost.test.run_in(&lost.test.home, &["restore", "--all", "fix"]);
    succeeds(restore.env("GIT_SANDBOX_NOW", after(20_001)));
    lost.stays(20_001 + 89);
    succeeds(lost.reap(20_001 + 95, &[]));
    assert!(!lost.path.exists());
    let item = only_one(&lost.test);
    assert_eq!(fs::read_to_string(item.join("tree/sub/deep")).unwrap(), "mine\n");
}

/// Of its own repository, which has lost its private git dir.
#[test]
fn a_plain_folder_that_came_back_to_its_repository_counts_as_used_when_it_did() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("mine"), "mine\n");
    succeeds(test.run(&["rm", "--force", "box"]));
    fs::remove_dir_all(private_anywhere(&test.app(), "box")).unwrap();
    succeeds(test.run(&["restore", "box"]).env("GIT_SANDBOX_NOW", after(20_000)));
    let reap = |days| {
        let run = test.run_in(&test.home, &["reap", "--all"]);
        succeeds(run.env("GIT_SANDBOX_NOW", after(days)));
    };
    reap(20_000 + 89);
    assert_eq!(fs::read_to_string(path.join("mine")).unwrap(), "mine\n");
    reap(20_000 + 95);
    assert!(!path.exists());
    assert_eq!(fs::read_to_string(only_one(&test).join("tree/mine")).unwrap(), "mine\n");
}

#[test]
fn a_crash_at_any_step_of_bringing_an_orphan_back_loses_nothing() {
    for step in 1..20 {
        let lost = Lost::new();
        let before = tree(&lost.path, &[]);
        lost.goes(94, 94);
        let home = &lost.test.home;
        let restore = || lost.test.run_in(home, &["restore", "--all", "fix"]);
        if !restore().crashes_at(step) {
            assert!(step > 2, "only {step} steps");
            return;
        }
        succeeds(lost.reap(95, &[]));
        if !lost.path.exists() {
            assert!(only_one(&lost.test).join("dot-git").is_file(), "step {step}");
            succeeds(restore());
        }
        same(&tree(&lost.path, &[]), &before);
        assert!(trashed(&lost.test).is_empty(), "step {step}");
    }
    panic!("more than 20 steps");
}

/// What one repository has of its items says nothing about those of another.
#[test]
fn an_orphan_is_found_beside_a_repository_with_removed_sandboxes_of_its_own() {
    let lost = Lost::new();
    let test = &lost.test;
    let path = test.new_sandbox(&["box"]);
    write(&path.join("file"), "edited\n");
    succeeds(test.run(&["rm", "--force", "box"]));
    succeeds(lost.reap(10, &[]));
    succeeds(lost.reap(94, &["--purge", "box"]));
    succeeds(lost.reap(95, &[]));
    assert!(!lost.path.exists());
    let keep = test.new_sandbox(&["keep"]);
    let listed = test.run_in(&test.home, &["restore", "--all", "--names"]);
    listed.stdout("fix\nfix-ID\n").ok();
    succeeds(test.run_in(&test.home, &["restore", "--all", "fix"]));
    assert_eq!(fs::read_to_string(lost.path.join("sub/deep")).unwrap(), "mine\n");
    assert!(keep.join("file").exists());
}

/// It is its repository's again, before any command has adopted it.
#[test]
fn an_orphan_whose_repository_is_back_is_listed_once() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("mine"), "mine\n");
    test.new_sandbox(&["keep"]);
    set_times(&path, 0);
    let entry = private(&test.app(), "box");
    fs::rename(test.app(), test.home.join("away")).unwrap();
    let run = test.run_in(&test.home, &["reap", "--all"]);
    succeeds(run.env("GIT_SANDBOX_NOW", after(400)));
    fs::rename(test.home.join("away"), test.app()).unwrap();
    assert!(!path.exists() && entry.exists());
    let listed = test.run_in(&test.home, &["restore", "--all", "--json"]).output();
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|item| &item["name"]).collect();
    assert_eq!(names, ["box", "keep"]);
}
