//! What leaves the trash is put away in the vault first, whatever git says about it, and comes back
//! from there byte for byte.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{names_in, room, tree, write};
use crate::fixture::process::Sleeper;
use crate::fixture::reap::{kib, nothing, reap, summary};
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::{collect_garbage, kept, state};
use crate::fixture::time::after;
use crate::fixture::trash::{only_one, trashed};
use crate::fixture::work::commit;

/// More steps than any command has.
const MANY: u32 = 80;

/// A sandbox `box`, filled and removed. Returns its state before that.
#[track_caller]
fn removed(format: Format, fill: impl FnOnce(&Test, &Path)) -> Option<(Test, PathBuf, String)> {
    let test = repository(format)?;
    let path = test.new_sandbox(&["box", "The", "task"]);
    fill(&test, &path);
    let before = state(&test, &path);
    succeeds(test.run(&["rm", "--force", "box"]));
    Some((test, path, before))
}

/// Puts it away after 15 days, deletes everything that git lets be deleted, and brings it back.
#[track_caller]
fn comes_back(test: &Test, path: &Path, before: &str) {
    let freed = room(&only_one(test).join("tree"));
    reap(test, 15, &[])
        .stdout("box-ID: put away: in the trash for 15 days\n")
        .stderr(&summary(0, 0, 1, freed))
        .ok();
    assert!(trashed(test).is_empty());
    assert_eq!(fs::read_dir(test.app().join(".git/sandbox")).unwrap().count(), 1);
    test.git(&["reflog", "expire", "--expire=now", "--all"]);
    collect_garbage(test);
    succeeds(test.run(&["restore", "box"]));
    same(&state(test, path), before);
    assert_eq!(test.json(&["show", "box", "--json"])["task"], "The task");
}

fn edits(test: &Test, path: &Path) {
    write(&path.join("a"), "edited\n");
    write(&path.join("new/file"), "untracked\n");
    write(&path.join("staged"), "staged\n");
    test.git_in(path, &["add", "staged"]);
    write(&path.join("staged"), "staged and edited\n");
}

#[test]
fn work_of_every_sort_comes_back_from_the_vault() {
    for format in [Format::Files, Format::Sha256, Format::Reftable, Format::Relative] {
        let Some((test, path, before)) = removed(format, edits) else { continue };
        comes_back(&test, &path, &before);
    }
}

#[test]
fn nothing_that_git_trusts_makes_an_edit_vanish() {
    for (key, value) in [
        ("core.ignoreStat", "true"),
        ("core.trustctime", "false"),
        ("core.checkStat", "minimal"),
        ("core.ignoreCase", "true"),
        ("core.autocrlf", "true"),
        ("core.untrackedCache", "true"),
    ] {
        let test = repository(Format::Files).unwrap();
        test.git(&["config", key, value]);
        let path = test.new_sandbox(&["box", "The", "task"]);
        let file = fs::File::options().write(true).open(path.join("a")).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        let size = usize::try_from(file.metadata().unwrap().len()).unwrap();
        fs::write(path.join("a"), "x".repeat(size)).unwrap();
        file.set_modified(modified).unwrap();
        drop(file);
        write(&path.join("A"), "another\n");
        let before = tree(&path, &[".git"]);
        succeeds(test.run(&["rm", "--force", "box"]));
        succeeds(reap(&test, 15, &[]));
        assert!(trashed(&test).is_empty(), "{key}");
        succeeds(test.run(&["restore", "box"]));
        same(&tree(&path, &[".git"]), &before);
    }
}

#[test]
fn a_file_that_is_ignored_only_later_is_put_away() {
    let (test, path, _) =
        removed(Format::Files, |_, path| write(&path.join("x.data"), "mine\n")).unwrap();
    write(&test.app().join(".git/info/exclude"), "*.data\n");
    succeeds(reap(&test, 15, &[]));
    assert!(trashed(&test).is_empty());
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(fs::read_to_string(path.join("x.data")).unwrap(), "mine\n");
}

#[test]
fn ignored_files_go_and_precious_ones_stay() {
    let test = repository(Format::Files).unwrap();
    write(&test.app().join(".git/info/exclude"), ".env*\n*.data\n");
    let path = test.new_sandbox(&["box"]);
    write(&path.join(".env"), "secret\n");
    write(&path.join("x.data"), "built\n");
    succeeds(test.run(&["rm", "box"]));
    succeeds(reap(&test, 15, &[]));
    assert!(trashed(&test).is_empty());
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(fs::read_to_string(path.join(".env")).unwrap(), "secret\n");
    assert!(!path.join("x.data").exists());
}

#[test]
fn commits_of_a_detached_head_come_back_with_it() {
    let fill = |test: &Test, path: &Path| {
        test.git_in(path, &["checkout", "--quiet", "--detach"]);
        commit(test, path, "a", "mine\n");
    };
    let (test, path, before) = removed(Format::Files, fill).unwrap();
    let name = kept(&test);
    comes_back(&test, &path, &before);
    assert!(name.starts_with("refs/sandbox/kept/box-"), "{name}");
}

#[test]
fn what_is_not_past_its_period_stays() {
    let (test, ..) = removed(Format::Files, edits).unwrap();
    let before = tree(&test.home, &["sandbox.lock"]);
    reap(&test, 13, &[]).stderr(&nothing(0)).ok();
    same(&tree(&test.home, &["sandbox.lock"]), &before);
    let freed = room(&only_one(&test).join("tree"));
    reap(&test, 13, &["--purge"])
        .stdout("box-ID: put away: asked for\n")
        .stderr(&summary(0, 0, 1, freed))
        .ok();
}

#[test]
fn one_that_a_process_sits_in_stays() {
    let (test, ..) = removed(Format::Files, edits).unwrap();
    let tree_there = only_one(&test).join("tree");
    let size = kib(room(&tree_there));
    let sleeper = Sleeper::start(&tree_there, std::process::Stdio::null());
    reap(&test, 15, &[])
        .stdout(&format!("box-ID: kept in the trash: in use, {size}\n"))
        .stderr(&summary(0, 1, 0, 0))
        .ok();
    // Not even if it is asked for.
    reap(&test, 0, &["--purge", "box"])
        .stdout(&format!("box-ID: kept in the trash: in use by {} sleep\n", sleeper.pid()))
        .stderr(&summary(0, 1, 0, 0))
        .ok();
    assert_eq!(trashed(&test).len(), 1);
    drop(sleeper);
    let Some(_sleeper) = Sleeper::in_namespace(&tree_there, &test.home.join("mnt"), "dir") else {
        return;
    };
    reap(&test, 15, &[])
        .stdout(&format!("box-ID: kept in the trash: in use, {size}\n"))
        .stderr(&summary(0, 1, 0, 0))
        .ok();
    assert_eq!(trashed(&test).len(), 1);
}

#[test]
fn a_nested_repository_with_work_stays() {
    let fill = |test: &Test, path: &Path| {
        let nested = path.join("nested");
        test.init(nested.strip_prefix(&test.home).unwrap().to_str().unwrap(), &[]);
        write(&nested.join("mine"), "mine\n");
    };
    let (test, ..) = removed(Format::Files, fill).unwrap();
    let output = reap(&test, 15, &[]).output();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("box-") && said.contains("unsaved work in"), "{said}");
    assert!(only_one(&test).join("tree/nested/mine").exists());
}

#[test]
fn purge_by_name_deletes_it_for_good() {
    for put_away in [false, true] {
        let (test, path, _) = removed(Format::Files, edits).unwrap();
        if put_away {
            succeeds(reap(&test, 15, &[]));
        }
        let output = reap(&test, 15, &["--purge", "box"]).output();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.ends_with(": purged: asked for\n"), "{said}");
        test.run(&["restore"]).stderr("nothing to bring back\n").ok();
        assert!(trashed(&test).is_empty() && !path.exists());
        assert_eq!(kept(&test), "");
        assert_eq!(test.branches(), ["box", "main"]);
    }
}

#[test]
fn a_name_that_means_several_or_none_is_refused() {
    let (test, ..) = removed(Format::Files, edits).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("a"), "edited\n");
    succeeds(test.run(&["rm", "--force", "box"]));
    let before = tree(&test.home, &["sandbox.lock"]);
    for words in [&["--purge", "box"][..], &["--all", "--purge", "box"]] {
        let output = reap(&test, 15, words).output();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(said.starts_with("error: 'box' could be more than one sandbox\n"), "{said}");
        let output = reap(&test, 15, &["--purge", "nothing"]).output();
        assert_eq!(output.status.code(), Some(1));
    }
    same(&tree(&test.home, &["sandbox.lock"]), &before);
}

#[test]
fn a_crash_at_any_step_of_putting_away_loses_nothing() {
    for step in 1..MANY {
        let (test, path, before) = removed(Format::Files, edits).unwrap();
        if !reap(&test, 15, &[]).crashes_at(step) {
            assert!(step > 5, "only {step} steps");
            return;
        }
        succeeds(reap(&test, 15, &[]));
        assert!(trashed(&test).is_empty(), "step {step}");
        assert_eq!(privates(&test), Vec::<PathBuf>::new(), "step {step}");
        succeeds(test.run(&["restore", "box"]));
        same(&state(&test, &path), &before);
    }
    panic!("more than {MANY} steps");
}

/// Private git dirs that are not in git's registry.
fn privates(test: &Test) -> Vec<PathBuf> {
    let entries = fs::read_dir(test.app().join(".git/sandbox")).unwrap();
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

/// It was named, and is listed no more.
#[test]
fn a_purge_by_name_that_was_interrupted_is_completed_by_the_next_reap() {
    for step in 1..MANY {
        let (test, path, _) = removed(Format::Files, edits).unwrap();
        if !reap(&test, 15, &["--purge", "box"]).crashes_at(step) {
            assert!(step > 3, "only {step} steps");
            return;
        }
        let lines = |words: &[&str]| {
            let output = reap(&test, 1, words).output();
            assert_eq!(output.status.code(), Some(0), "step {step}");
            String::from_utf8(output.stdout).unwrap()
        };
        let would = lines(&["--dry-run"]);
        assert_eq!(lines(&[]), would.replace("would purge", "purged"), "step {step}");
        assert!(trashed(&test).is_empty() && !path.exists(), "step {step}");
        assert_eq!((privates(&test), kept(&test)), (Vec::new(), String::new()), "step {step}");
        test.run(&["restore"]).stderr("nothing to bring back\n").ok();
        assert_eq!(test.branches(), ["box", "main"]);
    }
    panic!("more than {MANY} steps");
}

/// A kill while a journal is written leaves a new one beside it.
#[test]
fn a_journal_that_was_never_renamed_does_not_stay() {
    let (test, path, before) = removed(Format::Files, edits).unwrap();
    let item = only_one(&test);
    let names = names_in(&item);
    write(&item.join("journal.json.new"), "{");
    succeeds(test.run(&["new", "next"]));
    assert_eq!(names_in(&item), names);
    comes_back(&test, &path, &before);
}

/// The pin says to which item a private git dir belongs. Which of the files goes first is the file
/// system's to say.
#[test]
fn a_deletion_that_was_interrupted_when_the_pin_was_gone_goes_on() {
    let mut seen = 0;
    for words in [&[][..], &["--purge", "box"]] {
        for step in 1..MANY {
            let (test, path, before) = removed(Format::Files, edits).unwrap();
            if !reap(&test, 15, words).crashes_at(step) {
                break;
            }
            let text =
                trashed(&test).first().map(|item| fs::read_to_string(item.join("journal.json")));
            let is_deleting = text.is_some_and(|text| {
                text.is_ok_and(|text| text.contains("\"put-away\"") || text.contains("\"purging\""))
            });
            let Some(private) = privates(&test).pop().filter(|_| is_deleting) else { continue };
            let _ = fs::remove_file(private.join("locked"));
            seen += 1;
            succeeds(reap(&test, 15, words));
            assert!(trashed(&test).is_empty(), "step {step}");
            assert_eq!(privates(&test), Vec::<PathBuf>::new(), "step {step}");
            if words.is_empty() {
                succeeds(test.run(&["restore", "box"]));
                same(&state(&test, &path), &before);
            } else {
                test.run(&["restore"]).stderr("nothing to bring back\n").ok();
            }
        }
    }
    assert!(seen > 2, "{seen}");
}

#[test]
fn a_crash_at_any_step_of_coming_back_loses_nothing() {
    for step in 1..MANY {
        let (test, path, before) = removed(Format::Files, edits).unwrap();
        succeeds(reap(&test, 15, &[]));
        if !test.run(&["restore", "box"]).crashes_at(step) {
            assert!(step > 5, "only {step} steps");
            return;
        }
        succeeds(test.run(&["new", "other"]));
        let half_made = |folder: &Path| {
            let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
            names.filter(|name| name.to_string_lossy().starts_with(".unpacking-")).count()
        };
        let folders = trashed(&test).into_iter().chain([test.app().join(".git/sandbox")]);
        assert_eq!(folders.map(|folder| half_made(&folder)).sum::<usize>(), 0, "step {step}");
        if !path.exists() {
            succeeds(test.run(&["restore", "box"]));
        }
        same(&state(&test, &path), &before);
        test.run(&["restore", "--names"]).stdout("").stderr("").ok();
    }
    panic!("more than {MANY} steps");
}

#[test]
fn locks_that_a_killed_git_left_in_the_vault_are_in_the_way_of_nothing() {
    let (test, path, before) = removed(Format::Files, edits).unwrap();
    succeeds(reap(&test, 15, &[]));
    let vault = test.root().with_file_name(".vault.git");
    let ids = fs::read_dir(vault.join("refs/vault")).unwrap();
    let ids: Vec<_> = ids.map(|id| id.unwrap().path()).collect();
    let [id] = &ids[..] else { panic!("{ids:?}") };
    let locks = [id.with_extension("lock"), vault.join("packed-refs.lock")];
    for lock in &locks {
        write(lock, "");
    }
    succeeds(test.run(&["restore", "box"]));
    same(&state(&test, &path), &before);
    assert!(!locks.iter().any(|lock| lock.exists()));
}

#[test]
fn an_interruption_while_it_is_put_away_drops_nothing_precious() {
    let test = repository(Format::Files).unwrap();
    write(&test.app().join(".git/info/exclude"), ".env*\n*.data\n");
    let path = test.new_sandbox(&["box"]);
    write(&path.join(".env"), "secret\n");
    write(&path.join("x.data"), "built\n");
    succeeds(test.run(&["rm", "box"]));
    let journal = only_one(&test).join("journal.json");
    let text = fs::read_to_string(&journal).unwrap();
    assert!(text.contains("\"trashed\""), "{text}");
    write(&journal, &text.replace("\"trashed\"", "\"put-away\""));
    succeeds(reap(&test, 1, &[]));
    assert!(trashed(&test).is_empty());
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(fs::read_to_string(path.join(".env")).unwrap(), "secret\n");
}

#[test]
fn a_change_while_it_is_put_away_leaves_it_in_the_trash() {
    let (test, path, _) = removed(Format::Files, edits).unwrap();
    let file = only_one(&test).join("tree/a");
    // Once it is stored, and before it is deleted.
    let git = test.fake_git(&format!(
        "case \" $* \" in *' rev-list --objects --no-object-names refs/'*) \
         echo late >'{}' ;; esac\nexec \"$GIT\" \"$@\"",
        file.display()
    ));
    let run = test.program(&test.app(), &["reap", "--purge"]).env("PATH", git);
    let said = String::from_utf8(run.output().stdout).unwrap();
    assert!(said.contains(": kept in the trash: "), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "late\n");
    // It waits for its period as before.
    reap(&test, 1, &[]).stderr(&nothing(0)).ok();
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "late\n");
    assert!(trashed(&test).is_empty());
}

/// As of a disk that is about to fail: the sizes and ids are right, and the bytes are not.
#[test]
fn a_vault_that_hands_out_other_bytes_than_it_was_given_is_not_relied_on() {
    let (test, path, before) = removed(Format::Files, edits).unwrap();
    let tree = only_one(&test).join("tree");
    let git = test.fake_git(
        "case \" $* \" in *' cat-file --batch '*) \"$GIT\" \"$@\" | sed -u s/untracked/UNTRACKED/ ;;\n\
         *) exec \"$GIT\" \"$@\" ;; esac",
    );
    let size = kib(room(&tree));
    test.program(&test.app(), &["reap"])
        .env("GIT_SANDBOX_NOW", after(15))
        .env("PATH", git)
        .stdout(&format!(
            "box-ID: kept in the trash: cannot read back from the vault: \
             it does not have what was written, {size}\n"
        ))
        .stderr(&summary(0, 1, 0, 0))
        .code(1);
    assert_eq!(fs::read_to_string(tree.join("new/file")).unwrap(), "untracked\n");
    succeeds(test.run(&["restore", "box"]));
    same(&state(&test, &path), &before);
}

#[test]
fn purge_by_name_lets_go_of_tags_too() {
    for packed in [false, true] {
        let (test, _, _) = removed(Format::Files, |test, path| {
            test.commit(path, "a", "mine\n");
            test.git_in(path, &["tag", "-a", "-m", "a tag", "mine"]);
            let tag = test.git_in(path, &["rev-parse", "mine"]);
            test.git_in(path, &["update-ref", "refs/worktree/mine", &tag]);
            test.git_in(path, &["tag", "-d", "mine"]);
        })
        .unwrap();
        let other = test.new_sandbox(&["boxer"]);
        test.git_in(&other, &["checkout", "--quiet", "--detach"]);
        test.commit(&other, "b", "theirs\n");
        succeeds(test.run(&["rm", "--force", "boxer"]));
        assert_eq!(kept(&test).lines().count(), 3, "{}", kept(&test));
        if packed {
            test.git(&["pack-refs", "--all"]);
        }
        let theirs = kept(&test).lines().find(|name| name.contains("/boxer-")).unwrap().to_owned();
        succeeds(test.run(&["reap", "--purge", "box"]));
        assert_eq!(kept(&test), theirs);
        succeeds(test.run(&["restore", "boxer"]));
        assert_eq!(fs::read_to_string(other.join("b")).unwrap(), "theirs\n");
    }
}

#[test]
fn what_comes_back_without_a_file_stays_in_the_vault() {
    let (test, path, _) = removed(Format::Files, edits).unwrap();
    let freed = room(&only_one(&test).join("tree"));
    reap(&test, 15, &[])
        .stdout("box-ID: put away: in the trash for 15 days\n")
        .stderr(&summary(0, 0, 1, freed))
        .ok();
    let blob = test.git(&["rev-parse", "main:b"]);
    let object = test.app().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    let aside = test.home.join("object");
    fs::rename(&object, &aside).unwrap();
    let lost = "warning: 'tree/b' cannot be brought back: its repository lost it\n";
    test.run(&["restore", "box"])
        .stdout("$ROOT/box\n")
        .stderr(&format!("{lost}restored 'box'\n"))
        .ok();
    assert!(!path.join("b").exists());
    fs::rename(&aside, &object).unwrap();
    let vault = test.root().parent().unwrap().join(".vault.git");
    assert_eq!(test.git_in(&vault, &["for-each-ref", "--format=x"]), "x");
}

/// What is put away is deleted only after the vault was synced: here it cannot be, since its folder is
/// exchanged as soon as it has the item.
#[test]
fn where_the_vault_cannot_be_synced_nothing_is_deleted() {
    let (test, path, before) = removed(Format::Files, edits).unwrap();
    let vault = test.root().with_file_name(".vault.git");
    let real = vault.with_extension("real");
    let (link, aside) = (vault.display(), real.display());
    let fake = test.fake_git(&format!(
        "case \"$*\" in *update-ref*) ;; *) exec \"$GIT\" \"$@\" ;; esac\n\
         \"$GIT\" \"$@\" || exit\n\
         [ ! -d '{link}' ] || {{ mv '{link}' '{aside}' && ln -s '{aside}' '{link}'; }}"
    ));
    let size = kib(room(&only_one(&test).join("tree")));
    let files = tree(&only_one(&test).join("tree"), &[]);
    test.program(&test.app(), &["reap"])
        .env("GIT_SANDBOX_NOW", after(15))
        .env("PATH", fake)
        .stdout(&format!(
            "box-ID: kept in the trash: cannot sync '{link}': not a directory, {size}\n"
        ))
        .stderr(&summary(0, 1, 0, 0))
        .code(1);
    same(&tree(&only_one(&test).join("tree"), &[]), &files);
    fs::remove_file(&vault).unwrap();
    fs::rename(&real, &vault).unwrap();
    succeeds(test.run(&["restore", "box"]));
    same(&state(&test, &path), &before);
}
