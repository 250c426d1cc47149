//! Forged pointers, symlinks and programs in the config of what a sandbox holds: `rm` touches
//! nothing that is not shown to be its own, and nobody's program runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::fixture::Test;
use crate::fixture::built::program_word;
use crate::fixture::diff::same;
use crate::fixture::files::{tree, write};
use crate::fixture::repository::{Format, repository};
use crate::fixture::state::entry;
use crate::fixture::traps::{nothing_ran, set_filter, set_long_filter, set_traps, trap};
use crate::fixture::trash::trashed;
use crate::fixture::work::submodule;

const FORCES: [&[&str]; 3] = [&[], &["--force"], &["--force", "--force"]];

/// A repository with a sandbox, and a folder full of somebody's files.
fn scene() -> (Test, PathBuf, PathBuf) {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let victim = test.home.join("victim");
    write(&victim.join("diary"), "dear diary\n");
    write(&victim.join("deep/letter"), "dear friend\n");
    (test, path, victim)
}

/// `rm` with any force refuses, and nothing at all changes.
#[track_caller]
fn refuses(test: &Test, name: &str, why: &str) {
    let before = tree(&test.home, &["sandbox.lock"]);
    for force in FORCES {
        test.run(&[&["rm"], force, &[name]].concat())
            .stderr(&format!("error: cannot remove '{name}': it is damaged: {why}\n"))
            .code(1);
        same(&tree(&test.home, &["sandbox.lock"]), &before);
    }
    assert!(trashed(test).is_empty());
}

#[test]
fn an_entry_that_names_a_folder_of_files_is_refused() {
    let (test, path, victim) = scene();
    write(&entry(&test, &path).join("gitdir"), &format!("{}/.git\n", victim.display()));
    refuses(&test, "victim", "its '.git' file is missing or not understood");
}

#[test]
fn an_entry_that_names_another_repository_is_refused() {
    let (test, path, _) = scene();
    let other = test.init("other", &[]);
    write(&entry(&test, &path).join("gitdir"), &format!("{}/.git\n", other.display()));
    refuses(&test, "other", "its '.git' file is missing or not understood");
}

#[test]
fn an_entry_that_names_another_sandbox_takes_neither() {
    let (test, path, _) = scene();
    let other = test.new_sandbox(&["other"]);
    write(&entry(&test, &path).join("gitdir"), &format!("{}/.git\n", other.display()));
    // Neither counts as one that has lost its folder, and could be forgotten.
    let listed = test.json(&["list", "--json"]);
    let listed = listed["sandboxes"].as_array().or(listed.as_array()).unwrap();
    let states: Vec<_> = listed.iter().map(|it| it["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["damaged", "damaged"]);
    let before = tree(&test.home, &["sandbox.lock"]);
    for force in FORCES {
        let output = test.run(&[&["rm"], force, &["other"]].concat()).output();
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        same(&tree(&test.home, &["sandbox.lock"]), &before);
    }
}

/// The repository goes by two paths then, and must not be taken for two repositories.
#[test]
fn an_entry_that_names_a_sandbox_whose_git_file_leads_through_a_symlink_takes_neither() {
    let (test, path, _) = scene();
    write(&path.join("a"), "mine\n");
    let other = test.new_sandbox(&["other"]);
    symlink(test.app(), test.home.join("link")).unwrap();
    let (from, to) = (test.app().display().to_string(), test.home.join("link"));
    let pointer = fs::read_to_string(other.join(".git")).unwrap();
    fs::write(other.join(".git"), pointer.replace(&from, &to.display().to_string())).unwrap();
    write(&entry(&test, &path).join("gitdir"), &format!("{}/.git\n", other.display()));
    let listed = test.json(&["list", "--json"]);
    let listed = listed["sandboxes"].as_array().or(listed.as_array()).unwrap();
    let states: Vec<_> = listed.iter().map(|it| it["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["damaged", "damaged"]);
    let before = tree(&test.home, &["sandbox.lock"]);
    for force in FORCES {
        let output = test.run(&[&["rm"], force, &["other"]].concat()).output();
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        same(&tree(&test.home, &["sandbox.lock"]), &before);
    }
}

#[test]
fn in_a_sandbox_whose_git_file_leads_through_a_symlink_everything_is_as_elsewhere() {
    let (test, path, _) = scene();
    symlink(test.app(), test.home.join("link")).unwrap();
    let (from, to) = (test.app().display().to_string(), test.home.join("link"));
    let pointer = fs::read_to_string(path.join(".git")).unwrap();
    let pointer = pointer.replace(&from, &to.display().to_string());
    fs::write(path.join(".git"), &pointer).unwrap();
    test.run_in(&path, &["new", "two"])
        .stdout("$ROOT/two\n")
        .stderr("created sandbox 'two': new branch 'two' from 'box'\n")
        .ok();
    // By the path that the repository has.
    let made = fs::read_to_string(test.at("two").join(".git")).unwrap();
    assert!(made.starts_with(&format!("gitdir: {from}/")), "{made}");
    let listed = test.run_in(&path, &["list", "--names"]).output();
    assert_eq!(String::from_utf8(listed.stdout).unwrap(), "box\ntwo\n");
    test.run_in(&path, &["rm", "box"])
        .stderr(&format!("error: cannot remove 'box': you are in it\nhint: cd {from}\n"))
        .code(1);
    assert_eq!(fs::read_to_string(path.join(".git")).unwrap(), pointer);
}

#[test]
fn an_entry_that_names_the_main_worktree_is_refused() {
    let (test, path, _) = scene();
    write(&entry(&test, &path).join("gitdir"), &format!("{}/.git\n", test.app().display()));
    let before = tree(&test.home, &["sandbox.lock"]);
    for force in FORCES {
        let output = test.run(&[&["rm"], force, &["app"]].concat()).output();
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        same(&tree(&test.home, &["sandbox.lock"]), &before);
    }
}

#[test]
fn an_entry_that_names_a_home_is_refused() {
    let (test, path, _) = scene();
    let name = test.home.file_name().unwrap().to_str().unwrap().to_owned();
    write(&entry(&test, &path).join("gitdir"), &format!("{}/.git\n", test.home.display()));
    let before = tree(&test.home, &["sandbox.lock"]);
    for force in FORCES {
        let output = test.run(&[&["rm"], force, &[name.as_str()]].concat()).output();
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        same(&tree(&test.home, &["sandbox.lock"]), &before);
    }
}

#[test]
fn a_folder_replaced_by_a_symlink_is_refused() {
    let (test, path, victim) = scene();
    fs::rename(&path, test.home.join("moved")).unwrap();
    symlink(&victim, &path).unwrap();
    refuses(&test, "box", "its folder is a symlink");
}

#[test]
fn a_folder_replaced_by_a_symlink_to_itself_elsewhere_is_refused() {
    let (test, path, _) = scene();
    fs::rename(&path, test.home.join("moved")).unwrap();
    symlink(test.home.join("moved"), &path).unwrap();
    refuses(&test, "box", "its folder is a symlink");
}

#[test]
fn a_folder_replaced_by_a_file_is_refused() {
    let (test, path, _) = scene();
    fs::rename(&path, test.home.join("moved")).unwrap();
    fs::write(&path, "somebody's\n").unwrap();
    refuses(&test, "box", "its folder is a file");
}

#[test]
fn a_corrupt_git_file_is_refused() {
    for text in ["", "garbage\n", "gitdir:\n", "gitdir: \n", "\0\0"] {
        let (test, path, _) = scene();
        fs::write(path.join(".git"), text).unwrap();
        refuses(&test, "box", "its '.git' file is missing or not understood");
    }
}

#[test]
fn a_missing_git_file_is_refused() {
    let (test, path, _) = scene();
    fs::remove_file(path.join(".git")).unwrap();
    refuses(&test, "box", "its '.git' file is missing or not understood");
}

#[test]
fn a_git_file_that_is_a_symlink_is_refused() {
    let (test, path, _) = scene();
    fs::rename(path.join(".git"), test.home.join("pointer")).unwrap();
    symlink(test.home.join("pointer"), path.join(".git")).unwrap();
    refuses(&test, "box", "its '.git' file is missing or not understood");
}

#[test]
fn a_repository_in_the_place_of_a_sandbox_is_refused() {
    let (test, path, _) = scene();
    fs::rename(&path, test.home.join("moved")).unwrap();
    test.git_in(&test.home, &["clone", "--quiet", "app", &path.display().to_string()]);
    refuses(&test, "box", "its '.git' file is missing or not understood");
}

#[test]
fn a_git_file_that_leads_to_another_repository_is_refused() {
    let (test, path, _) = scene();
    let other = test.init("other", &[]);
    let far = test.home.join("far");
    test.git_in(&other, &["worktree", "add", "--quiet", &far.display().to_string()]);
    fs::copy(far.join(".git"), path.join(".git")).unwrap();
    refuses(&test, "box", "its '.git' file leads to another entry");
}

#[test]
fn a_git_file_that_leads_to_a_sibling_is_refused() {
    let (test, path, _) = scene();
    let other = test.new_sandbox(&["other"]);
    fs::copy(other.join(".git"), path.join(".git")).unwrap();
    refuses(&test, "box", "its '.git' file leads to another entry");
}

#[test]
fn a_trash_that_is_a_symlink_is_not_used() {
    let (test, _, victim) = scene();
    symlink(&victim, crate::fixture::trash::trash(&test)).unwrap();
    let before = tree(&test.home, &["sandbox.lock"]);
    for force in FORCES {
        let output = test.run(&[&["rm"], force, &["box"]].concat()).output();
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        same(&tree(&test.home, &["sandbox.lock"]), &before);
    }
}

#[test]
fn a_pin_that_names_a_victim_harms_nobody() {
    let (test, path, victim) = scene();
    write(&victim.join("tree/diary"), "dear diary\n");
    let before = tree(&victim, &[]);
    for id in ["x", "../../heads/main"] {
        let pin =
            format!("git-sandbox: trashed {{\"id\":\"{id}\",\"at\":\"{}\"}}\n", victim.display());
        fs::write(entry(&test, &path).join("locked"), pin).unwrap();
        drop(test.run(&["new", "other"]).output());
        drop(test.run(&["restore", "x"]).output());
        same(&tree(&victim, &[]), &before);
        test.git(&["rev-parse", "--verify", "--quiet", "refs/heads/main"]);
    }
    assert!(path.join("a").exists());
}

/// Every command that looks at a sandbox, or moves it.
pub fn springs_no_trap(test: &Test) {
    let commands: [&[&str]; 9] = [
        &["list"],
        &["list", "--json"],
        &["show", "box"],
        &["rm", "--dry-run", "box"],
        &["rm", "box"],
        &["rm", "--force", "box"],
        &["restore"],
        &["restore", "box"],
        &["path", "box"],
    ];
    for words in commands {
        drop(test.run(words).output());
        nothing_ran(test, &words.join(" "));
    }
    assert!(test.at("box").exists());
}

/// And plain git would have sprung one.
#[track_caller]
fn has_a_trap(test: &Test, work: &Path) {
    drop(test.command("git", work).arg("status").output());
    let names = fs::read_dir(&test.home).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().any(|name| name.to_string_lossy().starts_with("ran-")));
}

/// With each trap, in a repository below a sandbox.
fn springs_no_trap_of(make: fn(&Test, &Path) -> PathBuf) {
    let hooks = |test: &Test, work: &Path| set_traps(test, &entry(test, work), work);
    for set in [hooks, set_filter, set_long_filter] {
        let (test, path, _) = scene();
        let work = make(&test, &path);
        set(&test, &work);
        springs_no_trap(&test);
        has_a_trap(&test, &work);
    }
}

fn nested(test: &Test, path: &Path) -> PathBuf {
    test.init(path.strip_prefix(&test.home).unwrap().to_str().unwrap(), &[])
}

#[test]
fn programs_of_a_nested_repository_never_run() {
    springs_no_trap_of(|test, path| nested(test, &path.join("nested")));
}

#[test]
fn programs_of_a_repository_in_an_ignored_folder_never_run() {
    springs_no_trap_of(|test, path| nested(test, &path.join("build/nested")));
}

fn sub(test: &Test, path: &Path) -> PathBuf {
    submodule(test, path);
    path.join("sub")
}

#[test]
fn hooks_and_fsmonitor_of_a_submodule_never_run() {
    let (test, path, _) = scene();
    let work = sub(&test, &path);
    set_traps(&test, &entry(&test, &work), &work);
    springs_no_trap(&test);
    has_a_trap(&test, &work);
}

#[test]
fn filters_of_a_submodule_never_run() {
    springs_no_trap_of(sub);
}

#[test]
fn hooks_and_fsmonitor_of_the_repository_do_not_run_for_a_look() {
    let (test, path, _) = scene();
    test.git(&["config", "core.fsmonitor", &trap(&test, "fsmonitor")]);
    for hook in ["post-index-change", "post-checkout", "reference-transaction"] {
        fs::copy(trap(&test, hook), test.app().join(".git/hooks").join(hook)).unwrap();
    }
    write(&path.join("a"), "mine\n");
    springs_no_trap(&test);
}

#[test]
fn escape_sequences_are_shown_not_sent() {
    let (test, path, _) = scene();
    let reason = "\u{1b}]0;owned\u{7}\u{202e}";
    test.git(&["worktree", "lock", "--reason", reason, &path.display().to_string()]);
    test.run(&["rm", "box"])
        .stderr(
            "error: cannot remove 'box': locked: \\u{1b}]0;owned\\u{7}\\u{202e}\n\
             hint: to move it to the trash as it is: git sandbox rm --force --force box\n",
        )
        .code(1);
    test.git(&["worktree", "unlock", &path.display().to_string()]);
    let nested = path.join("build/\u{1b}[31mred");
    test.init(nested.strip_prefix(&test.home).unwrap().to_str().unwrap(), &[]);
    test.run(&["rm", "box"])
        .stderr(
            "error: cannot remove 'box': unsaved work in 'build/\\u{1b}[31mred'\n\
             hint: to move it to the trash as it is: git sandbox rm --force box\n",
        )
        .code(1);
    test.run(&["rm", "\u{1b}[2J"])
        .stderr(
            "error: no sandbox is called '\\u{1b}[2J'\n\
             hint: 'git sandbox list' shows what there is\n",
        )
        .code(1);
}

#[test]
fn a_branch_and_a_task_with_hidden_characters_are_shown_escaped() {
    let test = repository(Format::Files).unwrap();
    test.git(&["branch", "a\u{202e}b"]);
    let path = test.new_sandbox(&["box", "--branch", "a\u{202e}b", "\u{1b}[31mtask"]);
    let output = test.run(&["rm", "--delete-branch", &path.display().to_string()]).output();
    let restored = test.run(&["restore", "box"]).output();
    for text in [output.stdout, output.stderr, restored.stderr] {
        let text = String::from_utf8(text).unwrap();
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    }
}

/// A command without mounts around it can replace the pointer at any moment: here right before git starts.
#[test]
fn a_pointer_that_is_replaced_meanwhile_leads_git_nowhere_else() {
    let (test, folder, _) = scene();
    let other = test.init("other", &[]);
    write(&other.join("file"), "one\n");
    test.git_in(&other, &["add", "file"]);
    set_filter(&test, &other);
    write(&folder.join(".gitattributes"), "* filter=trap\n");
    write(&folder.join("file"), "two\n");
    let path = std::env::var("PATH").unwrap();
    let real = path.split(':').map(|it| Path::new(it).join("git")).find(|it| it.is_file()).unwrap();
    let pointer = folder.join(".git");
    fs::copy(&pointer, test.home.join("kept")).unwrap();
    let text = format!(
        "case \"$*\" in *status*) [ \"$PWD\" = {path} ] && echo 'gitdir: {other}/.git' >.git;; esac\n\
         {real} \"$@\"; code=$?; cp $HOME/kept {pointer}; exit $code",
        path = folder.display(),
        pointer = pointer.display(),
        other = other.display(),
        real = real.display(),
    );
    let spy = test.script("spy/git", &text);
    let spied = format!("{}:{path}", spy.parent().unwrap().display());
    for words in
        [&["list"][..], &["list", "--json"], &["show", "box"], &["diff", "box"], &["rm", "box"]]
    {
        // Not by git, which puts its own folder in front.
        let mut command = test.command(program_word(), &test.app());
        let output = command.args(words).env("PATH", &spied).output().unwrap();
        nothing_ran(&test, &format!("{words:?}: {output:?}"));
        assert!(folder.join("file").is_file());
    }
}
