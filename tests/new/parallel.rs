//! Many at once: every one succeeds, one path for one name, nothing stray.

use crate::fixture::built::program;
use crate::fixture::state::private;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

use crate::fixture::Test;
use crate::fixture::process::{close_pipe, ended, read_pipe};
use crate::fixture::slow::Slow;

fn start(test: &Test, words: &[&str]) -> Child {
    let mut command = test.command("git", &test.app());
    command.arg("sandbox").args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).spawn().unwrap()
}

/// What each printed on stdout; each must succeed.
#[track_caller]
fn paths(children: Vec<Child>) -> Vec<String> {
    let outputs = children.into_iter().map(ended);
    let path = |output: std::process::Output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    };
    outputs.map(path).collect()
}

#[track_caller]
fn all_clean(test: &Test, count: usize) {
    let linked = test.linked();
    assert_eq!(linked.len(), count);
    for path in &linked {
        assert_eq!(test.git_in(path.as_ref(), &["status", "--porcelain"]), "");
    }
    assert!(!test.git(&["worktree", "list", "--porcelain"]).contains("\nlocked"));
    let facts = test.json(&["list", "--json"]);
    assert!(facts.as_array().unwrap().iter().all(|one| one["state"] == "ready"));
}

#[test]
fn twenty_different_ones_at_once() {
    let test = Test::new();
    let names: Vec<_> = (10..30).map(|number| format!("job-{number}")).collect();
    let children = names.iter().map(|name| start(&test, &["new", name])).collect();
    let wanted = names.iter().map(|name| test.at(name).to_string_lossy().into_owned());
    assert_eq!(paths(children), wanted.collect::<Vec<_>>());
    all_clean(&test, 20);
    assert_eq!(test.branches(), [&names[..], &["main".into()]].concat());
    assert_eq!(test.sandboxes(), names);
}

#[test]
fn twenty_at_once_share_five_spares() {
    let spares = crate::fixture::spares::Spares::new(5);
    let names: Vec<_> = (10..30).map(|number| format!("job-{number}")).collect();
    let children = names.iter().map(|name| start(&spares, &["new", name])).collect();
    let wanted = names.iter().map(|name| spares.at(name).to_string_lossy().into_owned());
    assert_eq!(paths(children), wanted.collect::<Vec<_>>());
    all_clean(&spares, 20);
    assert_eq!(spares.branches(), [&names[..], &["main".into()]].concat());
    assert_eq!(spares.sandboxes(), names);
    let entries = crate::fixture::files::names_in(&spares.app().join(".git/worktrees"));
    assert_eq!(entries.iter().filter(|name| name.starts_with("-spare-")).count(), 5);
}

#[test]
fn twenty_of_one_name_at_once() {
    let test = Test::new();
    let children = (0..20).map(|_| start(&test, &["new", "fix"])).collect();
    let wanted = test.at("fix").to_string_lossy().into_owned();
    assert_eq!(paths(children), vec![wanted; 20]);
    all_clean(&test, 1);
    assert_eq!(test.branches(), ["fix", "main"]);
    assert_eq!(test.sandboxes(), ["fix"]);
}

#[test]
fn twenty_explorations_at_once() {
    let test = Test::new();
    let mut made = paths((0..20).map(|_| start(&test, &["new"])).collect());
    made.sort();
    made.dedup();
    assert_eq!(made.len(), 20);
    all_clean(&test, 20);
    assert_eq!(test.branches(), ["main"]);
}

#[test]
fn twenty_that_follow_a_remote_at_once() {
    let test = Test::new();
    test.remote("origin", "pr");
    for number in 10..30 {
        test.git_in(&test.home.join("origin"), &["branch", &format!("job-{number}")]);
    }
    test.git(&["fetch", "--quiet", "origin"]);
    let names: Vec<_> = (10..30).map(|number| format!("job-{number}")).collect();
    paths(names.iter().map(|name| start(&test, &["new", name])).collect());
    all_clean(&test, 20);
    for name in names {
        assert_eq!(test.git(&["config", &format!("branch.{name}.remote")]), "origin");
    }
}

#[test]
fn two_repositories_of_one_name_at_once() {
    let test = Test::new();
    let other = test.init("other/app", &[]);
    let in_other = |name: &str| {
        let mut command = test.command("git", &other);
        command.args(["sandbox", "new", name]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).spawn().unwrap()
    };
    let children = (0..5).flat_map(|number| {
        let name = format!("job-{number}");
        [start(&test, &["new", &name]), in_other(&name)]
    });
    let made = paths(children.collect());
    let home = |path: &String| path.rsplit_once('/').unwrap().0.to_owned();
    let [ours, theirs] = [0, 1].map(|first| {
        let mut homes: Vec<_> = made.iter().skip(first).step_by(2).map(home).collect();
        homes.dedup();
        homes
    });
    assert_eq!((ours.len(), theirs.len()), (1, 1));
    assert_ne!(ours, theirs);
}

#[test]
fn new_waits_for_the_repository_lock() {
    let test = Test::new();
    std::fs::create_dir(test.app().join(".git/sandbox")).unwrap();
    let lock = File::create(test.app().join(".git/sandbox/lock")).unwrap();
    lock.lock().unwrap();
    let mut child = start(&test, &["new", "fix"]);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let lock_path = test.app().join(".git/sandbox/lock");
    assert_eq!(
        line,
        format!("waiting for another git sandbox to finish ('{}')\n", lock_path.display())
    );
    assert_eq!(child.try_wait().unwrap(), None);
    assert_eq!(test.branches(), ["main"]);
    lock.unlock().unwrap();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "created sandbox 'fix': new branch 'fix' from 'main'\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_second_new_of_a_name_waits_for_the_first() {
    let slow = Slow::new();
    let test = &slow.test;
    let first = start(test, &["new", "fix", "A", "task"]);
    slow.runs();
    slow.quick();
    let mut second = start(test, &["new", "fix"]);
    let mut stderr = BufReader::new(second.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let lock = private(&test.app(), "fix").join("sandbox.lock");
    assert!(line.starts_with("waiting for process "), "{line}");
    let end = format!(" (git-sandbox) to finish ('{}')\n", lock.display());
    assert!(line.ends_with(&end), "{line}");
    slow.go();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "task: A task\nresumed sandbox 'fix'\n");
    assert_eq!(paths(vec![first, second]), vec![test.at("fix").to_string_lossy(); 2]);
    all_clean(test, 1);
}

#[test]
fn another_name_does_not_wait_for_a_checkout() {
    let slow = Slow::new();
    let test = &slow.test;
    let first = start(test, &["new", "fix"]);
    slow.runs();
    slow.quick();
    test.run(&["new", "other"])
        .stdout("$ROOT/other\n")
        .stderr("created sandbox 'other': new branch 'other' from 'main'\n")
        .ok();
    // Nor can it be removed before it is there, however forced.
    test.run(&["rm", "--force", "--force", "fix"])
        .stderr("error: cannot remove 'fix': it is being created\n")
        .code(1);
    slow.go();
    paths(vec![first]);
    all_clean(test, 2);
}

#[test]
fn a_first_new_that_ends_while_the_second_looks_is_resumed() {
    let slow = Slow::new();
    let test = &slow.test;
    let first = start(test, &["new", "fix"]);
    slow.runs();
    slow.quick();
    for pipe in ["listed", "answer"] {
        test.pipe(pipe);
    }
    let path = test.fake_git(
        "case \"$*\" in *worktree*list*) ;; *) exec \"$GIT\" \"$@\" ;; esac\n\
         \"$GIT\" \"$@\" >\"$HOME/list\"\n\
         [ -p \"$HOME/listed\" ] || exec cat \"$HOME/list\"\n\
         echo >\"$HOME/listed\"; cat \"$HOME/answer\"; exec cat \"$HOME/list\"",
    );
    let mut second = test.command(program(), &test.app());
    second.args(["new", "fix"]).env("PATH", path).stdout(Stdio::piped()).stderr(Stdio::piped());
    let second = second.process_group(0).spawn().unwrap();
    assert_eq!(read_pipe(&test.home.join("listed")), "\n");
    std::fs::remove_file(test.home.join("listed")).unwrap();
    slow.go();
    paths(vec![first]);
    close_pipe(&test.home.join("answer"));
    let output = ended(second);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "resumed sandbox 'fix'\n");
    assert_eq!(output.status.code(), Some(0));
    all_clean(test, 1);
}

#[test]
fn a_pool_is_checked_out_at_once() {
    let slow = Slow::new();
    let test = &slow.test;
    // Each checkout waits for the other.
    for pipe in ["one", "two"] {
        test.pipe(pipe);
    }
    let smudge = test.script(
        "smudge",
        "case $PWD in\n\
         */job-1) echo >\"$HOME/one\"; cat \"$HOME/two\" >&2;;\n\
         */job-2) cat \"$HOME/one\" >&2; echo >\"$HOME/two\";;\n\
         esac\n\
         cat",
    );
    test.git(&["config", "filter.slow.smudge", &smudge.to_string_lossy()]);
    let output = test.run(&["new", "job", "--count", "3", "Race"]).output();
    assert!(output.status.success());
    let paths = String::from_utf8(output.stdout).unwrap();
    assert_eq!(paths, test.expand("$ROOT/job-1\n$ROOT/job-2\n$ROOT/job-3\n"));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let told: Vec<&str> = stderr.lines().filter(|line| !line.is_empty()).collect();
    let wanted = [1, 2, 3].map(|number| {
        format!(
            "created sandbox 'job-{number}' for \"Race\": new branch 'job-{number}' from 'main'"
        )
    });
    assert_eq!(told, wanted);
    all_clean(test, 3);
}

#[test]
fn a_pool_tells_what_was_made_beside_a_checkout_that_failed() {
    let slow = Slow::new();
    let test = &slow.test;
    let smudge = test.script("smudge", "case $PWD in */job-1) exit 1;; esac\ncat");
    test.git(&["config", "filter.slow.smudge", &smudge.to_string_lossy()]);
    let output = test.run(&["new", "job", "--count", "5"]).output();
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stdout).unwrap();
    let made: Vec<String> = test.sandboxes();
    assert!(!made.contains(&"job-1".to_owned()), "{made:?}");
    assert_eq!(told.lines().count(), made.len());
    assert!(!test.branches().contains(&"job-1".to_owned()));
    for name in &made {
        assert!(told.lines().any(|path| *path == *test.at(name).to_string_lossy()), "{name}");
        assert_eq!(test.git_in(&test.at(name), &["status", "--porcelain"]), "");
    }
}
