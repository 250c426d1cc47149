//! `git sandbox rm` of a sandbox that somebody uses.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{tree, write};
use crate::fixture::process::{Sleeper, ended};
use crate::fixture::repository::{Format, repository};
use crate::fixture::state::entry;
use crate::fixture::trash::{REMOVED, trashed};

/// Refused by name, forced or not, and nothing changes; gone when forced twice; back; and free to
/// go once the process has ended.
fn is_refused_while_used_by(test: &Test, mut user: Sleeper) {
    let refusal = format!(
        "error: cannot remove 'box': in use by {} sleep\n\
         hint: to end what was started there: git sandbox stop --rm box\n\
         hint: to move it to the trash as it is: git sandbox rm --force --force box\n",
        user.pid()
    );
    let before = tree(&test.home, &["sandbox.lock"]);
    test.run(&["rm", "box"]).stderr(&refusal).code(1);
    test.run(&["rm", "--force", "box"]).stderr(&refusal).code(1);
    test.run(&["rm", "--dry-run", "box"]).stderr(&refusal).code(1);
    same(&tree(&test.home, &["sandbox.lock"]), &before);
    test.run(&["rm", "--force", "--force", "box"]).stderr(REMOVED).ok();
    assert!(!test.at("box").exists());
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    test.run(&["rm", "box"]).stderr(&refusal).code(1);
    user.end();
    test.run(&["rm", "box"]).stderr(REMOVED).ok();
    assert!(!test.at("box").exists());
    assert_eq!(trashed(test).len(), 1);
}

#[test]
fn a_process_that_sits_in_it_keeps_it() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    is_refused_while_used_by(&test, Sleeper::start(&path.join("dir"), Stdio::null()));
}

#[test]
fn a_process_that_sits_in_it_in_a_container_keeps_it() {
    for (mounted, inside) in [("", ""), ("", "dir"), ("dir", "")] {
        let test = repository(Format::Files).unwrap();
        let path = test.new_sandbox(&["box"]);
        let at = test.home.join("mnt");
        let Some(user) = Sleeper::in_namespace(&path.join(mounted), &at, inside) else { return };
        is_refused_while_used_by(&test, user);
    }
}

#[test]
fn a_process_with_an_open_file_in_it_keeps_it() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let file = File::open(path.join("a")).unwrap();
    is_refused_while_used_by(&test, Sleeper::start(&test.home, file));
}

#[test]
fn a_process_with_a_file_in_it_that_was_deleted_keeps_it() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("x.log"), "x");
    let file = File::open(path.join("x.log")).unwrap();
    std::fs::remove_file(path.join("x.log")).unwrap();
    let user = Sleeper::start(&test.home, file);
    let refusal = format!(
        "error: cannot remove 'box': in use by {} sleep\n\
         hint: to end what was started there: git sandbox stop --rm box\n\
         hint: to move it to the trash as it is: git sandbox rm --force --force box\n",
        user.pid()
    );
    test.run(&["rm", "box"]).stderr(&refusal).code(1);
    assert!(path.exists());
}

#[test]
fn a_process_that_holds_the_shared_lock_from_elsewhere_keeps_it() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let lock = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(entry(&test, &path).join("sandbox.lock"))
        .unwrap();
    lock.lock_shared().unwrap();
    is_refused_while_used_by(&test, Sleeper::start(&test.home, lock));
}

/// Refused because of this process.
fn refused(pid: u32, command: &str) -> String {
    format!(
        "error: cannot remove 'box': in use by {pid} {command}\n\
         hint: to end what was started there: git sandbox stop --rm box\n\
         hint: to move it to the trash as it is: git sandbox rm --force --force box\n"
    )
}

#[test]
fn a_git_that_works_in_it_keeps_it() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let mut git = test.command("git", &path);
    git.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut git = git.spawn().unwrap();
    // It has begun when it answers.
    writeln!(git.stdin.as_mut().unwrap(), "no-such").unwrap();
    let mut line = String::new();
    BufReader::new(git.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = test.run(&["rm", "box"]).output();
    let pid = git.id();
    drop(git.stdin.take());
    git.wait().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), refused(pid, "git"));
    assert!(path.exists());
}

#[test]
fn a_reader_of_what_we_say_that_is_no_part_of_our_pipeline_keeps_it() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let (reader, writer) = std::io::pipe().unwrap();
    let user = Sleeper::start(&path, reader);
    let mut rm = test.command("git", &test.app());
    rm.args(["sandbox", "rm", "box"]).process_group(0).stdout(writer).stderr(Stdio::piped());
    let output = ended(rm.spawn().unwrap());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), refused(user.pid(), "sleep"));
    assert!(path.exists());
}

#[test]
fn a_neighbour_in_use_keeps_nothing_else() {
    let test = repository(Format::Files).unwrap();
    let neighbour = test.new_sandbox(&["box-2"]);
    let path = test.new_sandbox(&["box"]);
    let _user = Sleeper::start(&neighbour, Stdio::null());
    test.run(&["rm", "box"]).stderr(REMOVED).ok();
    assert!(!path.exists() && neighbour.exists());
}

#[test]
fn work_and_use_are_both_named() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("new"), "mine\n");
    let user = Sleeper::start(&path, Stdio::null());
    let pid = user.pid();
    test.run(&["rm", "box"])
        .stderr(&format!(
            "error: cannot remove 'box': in use by {pid} sleep; worktree has 1 uncommitted change\n\
             hint: to end what was started there: git sandbox stop --rm box\n\
             hint: to move it to the trash as it is: git sandbox rm --force --force box\n"
        ))
        .code(1);
    test.run(&["rm", "--force", "box"])
        .stderr(&format!(
            "error: cannot remove 'box': in use by {pid} sleep\n\
             hint: to end what was started there: git sandbox stop --rm box\n\
             hint: to move it to the trash as it is: git sandbox rm --force --force box\n"
        ))
        .code(1);
    assert!(path.join("new").exists());
}

#[test]
fn looking_at_one_in_use_does_not_touch_its_index() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    // Another time, the same content: a refresh would write it down.
    write(&path.join("a"), "a\n");
    let _user = Sleeper::start(&path, Stdio::null());
    let index = entry(&test, &path).join("index");
    let before = std::fs::read(&index).unwrap();
    for words in [&["rm", "box"][..], &["rm", "-n", "-f", "-f", "box"], &["list"], &["show", "box"]]
    {
        drop(test.run(words).output());
        assert!(std::fs::read(&index).unwrap() == before, "{words:?}");
    }
}

#[test]
fn one_that_comes_into_use_meanwhile_stays() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    test.commit(&path, "a", "mine\n");
    test.git(&["merge", "--quiet", "box"]);
    // What is asked about the branch comes after the look for users.
    let comes = crate::fixture::process::comes_into_use(&test, &path, "for-each-ref");
    let words = ["rm", "--delete-branch", "box"];
    let output = test.program(&test.app(), &words).env("PATH", &comes).output();
    crate::fixture::process::leaves(&test);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: cannot remove 'box': it has just come into use\n"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert!(path.is_dir() && trashed(&test).is_empty());
    assert_eq!(test.git_in(&path, &["branch", "--show-current"]), "box");
}
