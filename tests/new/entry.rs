//! git's entry for a new branch, which is made without `git worktree add`: as git makes it, and whole or
//! not there at all.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;

use crate::fixture::Test;
use crate::fixture::built::program;
use crate::fixture::files::{names_in, write};
use crate::fixture::process::{ended, is_suspended, signal, until};
use crate::fixture::state::{entry, private};

/// What is in an entry: names, permissions and contents, without names and times of its own.
fn account(entry: &Path, own: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    for name in names_in(entry) {
        // Of ours, and git's own index of the files; older gits make no folder for refs.
        if ["sandbox.json", "sandbox.lock", "index", "refs"].contains(&name.as_str()) {
            continue;
        }
        let path = entry.join(&name);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        if path.is_dir() {
            lines.push(format!("{name} {mode:o}"));
            lines.extend(account(&path, own).into_iter().map(|line| format!("{name}/{line}")));
            continue;
        }
        let mut text = fs::read_to_string(&path).unwrap();
        for word in own {
            text = text.replace(word, "OWN");
        }
        let words: Vec<&str> = text
            .split(' ')
            .filter(|word| !(word.len() == 10 && word.starts_with(char::is_numeric)))
            .collect();
        lines.push(format!("{name} {mode:o} {:?}", words.join(" ")));
    }
    lines
}

#[test]
fn it_is_as_git_makes_it() {
    for (key, value) in [("core.logAllRefUpdates", "true"), ("core.logAllRefUpdates", "false")] {
        let test = Test::new();
        test.git(&["config", key, value]);
        let ours = test.new_sandbox(&["fix"]);
        let gits = test.home.join("gits");
        test.git(&["worktree", "add", "--quiet", "-b", "other", gits.to_str().unwrap()]);
        let account = |folder: &Path, branch: &str| {
            let entry = entry(&test, folder);
            let own = [folder.to_str().unwrap(), branch];
            account(&entry, &own)
        };
        assert_eq!(account(&ours, "fix"), account(&gits, "other"), "{key}={value}");
        let refs = entry(&test, &ours).join("refs");
        assert_eq!(names_in(&refs), [""; 0]);
        let pointer = fs::read_to_string(ours.join(".git")).unwrap();
        assert_eq!(pointer, format!("gitdir: {}\n", entry(&test, &ours).display()));
        let mode = |path: &Path| fs::metadata(path.join(".git")).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&gits));
        assert_eq!(test.git(&["worktree", "prune", "--verbose", "--dry-run"]), "");
        assert!(!test.app().join(".git/sandbox.creating").exists());
    }
}

#[test]
fn killed_before_it_is_registered_it_leaves_nothing_for_long() {
    let test = Test::new();
    test.new_sandbox(&["first"]);
    assert!(test.run(&["new", "fix"]).crashes_at(1));
    assert_eq!(test.linked(), [test.at("first").to_string_lossy()]);
    assert_eq!(names_in(&test.at("fix")), [""; 0]);
    assert!(test.app().join(".git/sandbox.creating").exists());
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("created sandbox 'fix': branch 'fix'\n")
        .ok();
    test.new_sandbox(&["third"]);
    assert!(!test.app().join(".git/sandbox.creating").exists());
    assert_eq!(test.sandboxes(), ["first", "fix", "third"]);
    assert_eq!(names_in(&test.at("fix")), [".git", "file"]);
}

#[test]
fn killed_before_its_folder_knows_it_is_finished_all_the_same() {
    for beginning in [None, Some(""), Some("gitdir: /")] {
        let test = Test::new();
        test.new_sandbox(&["first"]);
        assert!(test.run(&["new", "fix"]).crashes_at(2));
        let begun = private(&test.app(), "fix");
        assert_eq!(names_in(&test.at("fix")), [""; 0]);
        assert_eq!(test.json(&["list", "--json"])[1]["state"], "creating");
        test.git(&["worktree", "prune", "--expire=now"]);
        // As if it had been killed in the middle of writing that.
        if let Some(beginning) = beginning {
            write(&test.at("fix/.git"), beginning);
        }
        test.run(&["new", "fix"])
            .stdout("$ROOT/fix\n")
            .stderr("finished sandbox 'fix', whose creation had been interrupted\n")
            .ok();
        assert_eq!(entry(&test, &test.at("fix")), begun);
        assert_eq!(test.git_in(&test.at("fix"), &["status", "--porcelain", "--branch"]), "## fix");
        assert_eq!(test.sandboxes(), ["first", "fix"]);
        assert_eq!(names_in(&test.app().join(".git/worktrees")).len(), 2);
    }
}

#[test]
fn what_was_put_into_its_folder_meanwhile_stays() {
    let test = Test::new();
    test.new_sandbox(&["first"]);
    assert!(test.run(&["new", "fix"]).crashes_at(2));
    // A repository around it, which must not be taken for its own.
    test.git_in(&test.root(), &["init", "--quiet"]);
    write(&test.at("fix/notes"), "mine\n");
    write(&test.at("fix/file"), "mine, too\n");
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("finished sandbox 'fix', whose creation had been interrupted\n")
        .ok();
    let changes = test.git_in(&test.at("fix"), &["status", "--porcelain", "--branch"]);
    assert_eq!(changes, "## fix\n M file\n?? notes");
    assert!(!test.root().join(".git/index").exists());
}

#[test]
fn killed_before_its_files_are_there_it_is_finished() {
    let test = Test::new();
    test.new_sandbox(&["first"]);
    assert!(test.run(&["new", "fix"]).crashes_at(3));
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("finished sandbox 'fix', whose creation had been interrupted\n")
        .ok();
    assert_eq!(test.git_in(&test.at("fix"), &["status", "--porcelain", "--branch"]), "## fix");
    assert_eq!(test.sandboxes(), ["first", "fix"]);
}

#[test]
fn a_pointer_that_somebody_put_into_its_folder_first_stays() {
    let test = Test::new();
    test.new_sandbox(&["first"]);
    let mut command = test.command(program(), &test.app());
    command.args(["new", "fix"]).env("GIT_SANDBOX_PAUSE_AT", "2").process_group(0);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("it is about to write the pointer", || is_suspended(child.id()));
    assert_eq!(names_in(&test.at("fix")), [""; 0]);
    write(&test.at("fix/.git"), "mine\n");
    signal(child.id(), Signal::CONT);
    let output = ended(child);
    let text = "warning: the sandbox stays: cannot remove '$ROOT/fix': directory not empty\n\
                error: cannot write '$ROOT/fix/.git': file exists\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), test.expand(text));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read_to_string(test.at("fix/.git")).unwrap(), "mine\n");
    assert_eq!(names_in(&test.at("fix")), [".git"]);
    assert_eq!(test.linked(), [test.at("first").to_string_lossy()]);
}

/// Where git makes the entry, in a folder of another name first.
#[test]
fn a_file_that_somebody_put_into_its_folder_first_stays() {
    let test = Test::new();
    test.new_sandbox(&["first"]);
    let git = test.fake_git(&test.expand(
        "case \" $* \" in *' worktree add '*)\n\
         \"$GIT\" \"$@\" && echo mine >'$ROOT/exploration-fix/notes'; exit ;; esac\n\
         exec \"$GIT\" \"$@\"",
    ));
    let output = test.program(&test.app(), &["new", "--detach", "fix"]).env("PATH", git).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: cannot move '"), "{said}");
    assert_eq!(names_in(&test.at("exploration-fix")), ["notes"]);
    assert_eq!(fs::read_to_string(test.at("exploration-fix/notes")).unwrap(), "mine\n");
    assert_eq!(test.linked(), [test.at("first").to_string_lossy()]);
    assert_eq!(test.sandboxes(), ["exploration-fix", "first"]);
}

#[test]
fn one_whose_facts_cannot_be_written_is_taken_back() {
    let test = Test::new();
    test.new_sandbox(&["first"]);
    let mut command = test.command(program(), &test.app());
    command.args(["new", "fix"]).env("GIT_SANDBOX_PAUSE_AT", "3").process_group(0);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("it is registered", || is_suspended(child.id()));
    let entry = private(&test.app(), "fix");
    assert_eq!(names_in(&test.at("fix")), [".git"]);
    // In the way of a new record.
    fs::create_dir(entry.join("sandbox.json.new")).unwrap();
    signal(child.id(), Signal::CONT);
    let output = ended(child);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: cannot write '"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert!(!entry.exists());
    assert_eq!(test.sandboxes(), ["first"]);
    assert_eq!(test.branches(), ["first", "main"]);
}
