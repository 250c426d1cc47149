//! A spare that has changed or is outdated is not used, and none that holds work is deleted.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use crate::fixture::Test;
use crate::fixture::files::{chmod, names_in, tree, write};
use crate::fixture::process::Sleeper;
use crate::fixture::spares::{Spares, entry, same_as_without};

/// What somebody does to a spare: then it is neither used nor deleted.
#[track_caller]
fn is_left_alone(harm: impl Fn(&Spares, &Path)) {
    let mut spares = Spares::new(1);
    let path = spares.only();
    harm(&spares, &path);
    let before = (tree(&path, &[]), fs::read_to_string(path.join(".git")).ok());
    assert!(!spares.takes(&["fix"]));
    assert_eq!(spares.git_in(&spares.at("fix"), &["status", "--porcelain"]), "");
    spares.git(&["config", "sandbox.spares", "0"]);
    spares.tend();
    assert_eq!((tree(&path, &[]), fs::read_to_string(path.join(".git")).ok()), before);
    let output = spares.run(&["doctor"]).output();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with(&path.display().to_string()), "{said}");
    assert_eq!(output.status.code(), Some(1));
    spares.run(&["doctor", "--fix"]).output();
    assert_eq!((tree(&path, &[]), fs::read_to_string(path.join(".git")).ok()), before);
}

#[test]
fn one_with_a_file_of_somebodys_is_left_alone() {
    is_left_alone(|_, path| write(&path.join("notes"), "mine\n"));
}

#[test]
fn one_with_an_ignored_file_is_left_alone() {
    is_left_alone(|test, path| {
        write(&test.app().join(".git/info/exclude"), "*.o\n");
        write(&path.join("a.o"), "mine\n");
    });
}

#[test]
fn one_with_an_edited_file_is_left_alone() {
    is_left_alone(|_, path| write(&path.join("file"), "two\n"));
}

/// Neither the folder nor what git remembers of it changes with such an edit.
#[test]
fn one_with_an_edit_in_a_folder_is_neither_taken_nor_deleted() {
    let test = Test::new();
    test.commit(&test.app(), "dir/deep/file", "one\n");
    let mut spares = Spares::of(test, 1);
    let file = spares.only().join("dir/deep/file");
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, "two\n").unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    assert!(!spares.takes(&["fix"]));
    assert_eq!(fs::read_to_string(spares.at("fix/dir/deep/file")).unwrap(), "one\n");
    spares.git(&["config", "sandbox.spares", "0"]);
    spares.tend();
    assert_eq!(fs::read_to_string(&file).unwrap(), "two\n");
}

/// Git would see nothing of it.
#[test]
fn one_with_a_folder_of_another_mode_is_not_taken() {
    let test = Test::new();
    test.commit(&test.app(), "dir/file", "one\n");
    let spares = Spares::of(test, 1);
    let folder = spares.only().join("dir");
    chmod(&folder, 0o710);
    assert!(!spares.takes(&["fix"]));
    let mode = fs::metadata(spares.at("fix/dir")).unwrap().permissions();
    assert_ne!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o710);
    assert!(folder.join("file").exists());
}

#[test]
fn an_empty_folder_of_somebodys_beside_the_spares_stays() {
    let mut spares = Spares::new(1);
    for name in ["mine", ".hidden", ".spare", ".spare-00000000"] {
        fs::create_dir_all(spares.at(name)).unwrap();
    }
    write(&spares.at(".spare-11111111/notes"), "mine\n");
    spares.git(&["config", "sandbox.spares", "2"]);
    assert_eq!(spares.tend(), "2 spares ready\n");
    assert!(!spares.at(".spare-00000000").exists());
    for name in ["mine", ".hidden", ".spare"] {
        assert!(spares.at(name).is_dir(), "{name}");
    }
    assert_eq!(fs::read_to_string(spares.at(".spare-11111111/notes")).unwrap(), "mine\n");
    assert_eq!(spares.linked().len(), 2);
}

#[test]
fn a_file_that_a_crash_cut_short_does_not_keep_a_spare() {
    let test = Test::new();
    test.commit(&test.app(), "file", "one and two\n");
    let mut spares = Spares::unprepared(test, 1);
    let made = (1..9).find(|step| {
        assert!(spares.tend_until(*step), "it came to its end");
        spares.spares().iter().any(|name| spares.at(name).join("file").exists())
    });
    assert!(made.is_some(), "nothing was ever checked out");
    let half = spares.only();
    write(&half.join("file"), "one and");
    spares.prepare();
    assert!(!half.exists());
    assert_eq!(fs::read_to_string(spares.only().join("file")).unwrap(), "one and two\n");
}

#[test]
fn one_with_a_hidden_edit_is_left_alone() {
    is_left_alone(|test, path| {
        test.git_in(path, &["update-index", "--assume-unchanged", "file"]);
        write(&path.join("file"), "two\n");
    });
}

#[test]
fn one_with_a_nested_repository_is_left_alone() {
    is_left_alone(|test, path| {
        test.init(&path.join("nested").strip_prefix(&test.home).unwrap().to_string_lossy(), &[]);
    });
}

#[test]
fn one_that_became_a_symlink_is_left_alone() {
    let spares = Spares::new(1);
    let path = spares.only();
    let aside = spares.home.join("aside");
    fs::rename(&path, &aside).unwrap();
    symlink(&aside, &path).unwrap();
    let before = tree(&aside, &[]);
    spares.new_sandbox(&["fix"]);
    let name = entry(&spares.at("fix")).file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("fix."), "{name}");
    assert_eq!(tree(&aside, &[]), before);
    assert_eq!(fs::read_link(&path).unwrap(), aside);
}

#[test]
fn commits_made_in_one_are_kept() {
    let mut spares = Spares::new(1);
    let path = spares.only();
    spares.git_in(&path, &["commit", "--quiet", "--allow-empty", "-m", "mine"]);
    let commit = spares.git_in(&path, &["rev-parse", "HEAD"]);
    spares.git_in(&path, &["reset", "--quiet", "--hard", "HEAD~"]);
    assert!(!spares.takes(&["fix"]));
    spares.prepare();
    assert!(!path.exists());
    spares.git(&["reflog", "expire", "--expire=now", "--all"]);
    spares.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(spares.git(&["cat-file", "-t", &commit]), "commit");
}

#[test]
fn one_in_use_is_not_deleted() {
    let mut spares = Spares::new(1);
    let path = spares.only();
    let mut user = Sleeper::start(&path, Stdio::null());
    spares.git(&["config", "sandbox.spares", "0"]);
    spares.tend();
    assert!(path.join("file").exists());
    user.end();
    spares.tend();
    assert_eq!(spares.sandboxes(), [""; 0]);
}

#[test]
fn spares_follow_head() {
    let mut spares = Spares::new(1);
    let path = spares.only();
    let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(path.join("file")).unwrap());
    let commit = spares.commit(&spares.app(), "more", "more\n");
    spares.prepare();
    assert_eq!(spares.only(), path);
    assert_eq!(spares.git_in(&path, &["rev-parse", "HEAD"]), commit);
    assert_eq!(names_in(&path), [".git", "file", "more"]);
    assert_eq!(
        std::os::unix::fs::MetadataExt::ino(&fs::metadata(path.join("file")).unwrap()),
        inode
    );
    same_as_without(&spares, &["NAME"]);
}

#[test]
fn spares_that_are_not_wanted_any_more_go() {
    let mut spares = Spares::new(2);
    let entries = || names_in(&spares.app().join(".git/worktrees"));
    assert_eq!(entries().len(), 2);
    spares.git(&["config", "sandbox.spares", "1"]);
    assert_eq!(spares.test.run(&["list"]).output().status.code(), Some(0));
    spares.wanted = 1;
    spares.prepare();
    spares.git(&["config", "sandbox.spares", "0"]);
    spares.wanted = 0;
    spares.prepare();
    assert_eq!(names_in(&spares.app().join(".git/worktrees")), [""; 0]);
    assert_eq!(spares.git(&["for-each-ref", "refs/sandbox"]), "");
}

/// Whatever shapes a checkout has changed: a spare from before is not used, and is made anew.
#[track_caller]
fn is_outdated(before: impl Fn(&Test), change: impl Fn(&Test)) {
    let test = Test::new();
    before(&test);
    let mut spares = Spares::of(test, 1);
    let path = spares.only();
    change(&spares);
    assert!(!spares.takes(&["fix"]));
    assert!(path.exists());
    spares.prepare();
    assert_ne!(spares.only(), path);
    same_as_without(&spares, &["NAME"]);
}

#[test]
fn other_config_makes_spares_outdated() {
    is_outdated(|_| {}, |test| drop(test.git(&["config", "core.autocrlf", "true"])));
}

#[test]
fn other_filters_make_spares_outdated() {
    is_outdated(
        |test| {
            test.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
            test.commit(&test.app(), ".gitattributes", "*.txt filter=up\n");
            test.commit(&test.app(), "a.txt", "text\n");
            test.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
        },
        |test| drop(test.git(&["config", "filter.up.smudge", "tr a-z A-Z | rev | rev"])),
    );
}

#[test]
fn other_attributes_make_spares_outdated() {
    is_outdated(|_| {}, |test| write(&test.app().join(".git/info/attributes"), "* eol=crlf\n"));
}

#[test]
fn other_sparse_patterns_make_spares_outdated() {
    is_outdated(
        |test| drop(test.commit(&test.app(), "dir/file", "x\n")),
        |test| drop(test.git(&["sparse-checkout", "set", "--cone", "dir"])),
    );
}

#[test]
fn other_attributes_in_the_tree_are_not_taken_over() {
    let test = Test::new();
    test.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    test.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    let mut spares = Spares::of(test, 1);
    let path = spares.only();
    spares.commit(&spares.app(), ".gitattributes", "file filter=up\n");
    assert!(!spares.takes(&["fix"]));
    assert_eq!(fs::read_to_string(spares.at("fix/file")).unwrap(), "ONE\n");
    spares.prepare();
    assert_ne!(spares.only(), path);
    assert!(spares.takes(&["two"]));
    assert_eq!(fs::read_to_string(spares.at("two/file")).unwrap(), "ONE\n");
}

#[test]
fn where_git_cannot_compare_the_attributes_no_spare_of_another_commit_is_taken() {
    let test = Test::new();
    test.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    test.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    let spares = Spares::unprepared(test, 1);
    // One git for all of it: a spare of another git is not taken at all.
    let git = spares.fake_git(
        "case \" $* \" in *' diff-tree -r --name-only '*) test ! -e \"$HOME/fails\" || exit 128 ;;\n\
         esac\nexec \"$GIT\" \"$@\"",
    );
    let run = |words: &[&str]| spares.program(&spares.app(), words).env("PATH", &git);
    for fails in [false, true] {
        run(&["__spares"]).stderr("1 spare ready\n").ok();
        let spare = spares.only();
        let (file, text) = match fails {
            false => ("other", "other\n"),
            true => (".gitattributes", "file filter=up\n"),
        };
        spares.commit(&spares.app(), file, text);
        if fails {
            write(&spares.home.join("fails"), "");
        }
        let name = if fails { "two" } else { "one" };
        // So that no job starts in the background.
        let job = fs::File::create(spares.app().join(".git/sandbox-spares.lock")).unwrap();
        job.lock().unwrap();
        assert!(run(&["new", name]).output().status.success());
        job.unlock().unwrap();
        assert_eq!(entry(&spares.at(name)).to_string_lossy().contains("-spare-"), !fails);
        assert_eq!(spare.exists(), fails);
        let wanted = if fails { "ONE\n" } else { "one\n" };
        assert_eq!(fs::read_to_string(spares.at(name).join("file")).unwrap(), wanted);
        assert_eq!(spares.git_in(&spares.at(name), &["status", "--porcelain"]), "");
    }
}

#[test]
fn spares_that_may_not_be_deleted_pile_up_to_twice_as_many_as_are_wanted() {
    for wanted in [1, 2] {
        let mut spares = Spares::new(wanted);
        for ready in [wanted, 0, 0] {
            for name in spares.spares() {
                write(&spares.at(&name).join("notes"), &format!("of {name}\n"));
            }
            let plural = if ready == 1 { "" } else { "s" };
            assert_eq!(spares.tend(), format!("{ready} spare{plural} ready\n"));
            assert_eq!(spares.spares().len(), 2 * wanted);
        }
        assert_eq!(spares.linked().len(), 2 * wanted);
        for name in spares.spares() {
            let notes = spares.at(&name).join("notes");
            assert_eq!(fs::read_to_string(notes).unwrap(), format!("of {name}\n"));
        }
    }
}

#[test]
fn where_no_checkout_is_clean_there_is_one_spare_that_is_not_used() {
    let test = Test::new();
    let app = test.app();
    test.commit(&app, "file", "one\r\n");
    write(&app.join(".gitattributes"), "file text\n");
    test.git(&["add", ".gitattributes"]);
    test.git(&["commit", "--quiet", "-m", "attributes"]);
    let mut spares = Spares::unprepared(test, 2);
    spares.tend();
    let count = spares.spares().len();
    assert!(count > 0);
    assert!(!spares.takes(&["fix"]));
    assert_eq!(spares.spares().len(), count);
    spares.git(&["config", "sandbox.spares", "0"]);
    spares.tend();
    assert_eq!(spares.spares(), [""; 0]);
}

/// What somebody does in one: nobody takes it then, and nobody discards it.
#[test]
fn a_spare_that_somebody_works_in_is_theirs() {
    for work in ["git checkout -q -b mine", "git bisect start -q && git bisect bad"] {
        let mut spares = Spares::of(Test::new(), 1);
        let spare = spares.only();
        let output = spares.command("sh", &spare).args(["-euc", work]).output().unwrap();
        assert!(output.status.success(), "{work}: {}", String::from_utf8_lossy(&output.stderr));
        spares
            .run(&["new", "fix"])
            .stdout("$ROOT/fix\n")
            .stderr("created sandbox 'fix': new branch 'fix' from 'main'\n")
            .ok();
        spares.git(&["config", "sandbox.spares", "0"]);
        spares.tend();
        assert!(spare.join("file").exists(), "{work}");
        assert_eq!(spares.linked().len(), 2, "{work}");
        if work.contains("checkout") {
            let path = spare.display();
            spares
                .run(&["doctor"])
                .stdout(&format!("{path}: somebody has worked in this spare\n"))
                .stderr(&format!(
                    "hint: git worktree unlock {path} makes it a sandbox\n\
                     1 problem needs manual repair\n"
                ))
                .code(1);
        }
    }
}
