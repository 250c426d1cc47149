//! A sandbox made of a spare is what `new` makes without one, and only `new` takes spares.

use crate::fixture::state::private;
use std::fs::{self, File};
use std::os::unix::fs::symlink;

use crate::fixture::Test;
use crate::fixture::files::{chmod, names_in, write};
use crate::fixture::spares::{Spares, entry, same_as_without};

#[test]
fn a_new_branch_from_a_spare_is_what_new_makes_without() {
    let spares = Spares::new(1);
    same_as_without(&spares, &["NAME", "The", "task"]);
    assert_eq!(spares.branches(), ["main", "plain", "taken"]);
    spares
        .run(&["new", "taken"])
        .stdout("$ROOT/taken\n")
        .stderr("task: The task\nresumed sandbox 'taken'\n")
        .ok();
}

#[test]
fn a_detached_one_from_a_spare_is_what_new_makes_without() {
    same_as_without(&Spares::new(1), &["--detach", "NAME"]);
}

#[test]
fn from_another_commit_only_what_differs_is_written() {
    let test = Test::new();
    let app = test.app();
    test.commit(&app, "kept", "kept\n");
    test.commit(&app, "dir/changed", "old\n");
    test.commit(&app, "gone/file", "gone\n");
    let old = test.git(&["rev-parse", "HEAD"]);
    test.git(&["rm", "--quiet", "gone/file"]);
    chmod(&app.join("file"), 0o755);
    test.git(&["add", "file"]);
    symlink("kept", app.join("link")).unwrap();
    test.git(&["add", "link"]);
    test.commit(&app, "dir/changed", "new\n");
    let mut spares = Spares::of(test, 1);
    same_as_without(&spares, &["NAME", "--from", &old]);
    assert!(spares.at("taken/gone/file").exists());
    spares.prepare();
    spares.git(&["branch", "plain-b", &old]);
    spares.git(&["branch", "taken-b", &old]);
    same_as_without(&spares, &["NAME-b"]);
    spares.prepare();
    same_as_without(&spares, &["--detach", "NAME", "--from", &old]);
}

#[test]
fn a_branch_of_a_remote_gets_its_upstream() {
    let test = Test::new();
    test.remote("origin", "theirs");
    let spares = Spares::of(test, 1);
    spares
        .run(&["new", "theirs"])
        .stdout("$ROOT/theirs\n")
        .stderr("created sandbox 'theirs': new branch 'theirs' following 'origin/theirs'\n")
        .ok();
    assert_eq!(spares.spares(), [""; 0]);
    let at = spares.at("theirs");
    assert_eq!(
        spares.git_in(&at, &["status", "--porcelain", "--branch"]),
        "## theirs...origin/theirs"
    );
}

#[test]
fn hooks_run_once_and_as_without() {
    let test = Test::new();
    test.script(
        "app/.git/hooks/post-checkout",
        "echo hook \"$@\" \"$PWD\" >&2; echo \"$PWD\" >>\"$HOME/runs\"",
    );
    let spares = Spares::of(test, 1);
    // Nobody had asked for a sandbox yet.
    assert!(!spares.home.join("runs").exists());
    same_as_without(&spares, &["NAME"]);
    let runs = fs::read_to_string(spares.home.join("runs")).unwrap();
    assert_eq!(runs, format!("{0}/plain\n{0}/taken\n", spares.root().display()));
}

#[test]
fn a_failing_hook_keeps_the_sandbox() {
    let spares = Spares::new(1);
    spares.script("app/.git/hooks/post-checkout", "exit 3");
    spares
        .run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr(
            "created sandbox 'fix': new branch 'fix' from 'main'\n\
             warning: the post-checkout hook exited with 3; the sandbox stays\n",
        )
        .code(1);
    assert_eq!(spares.json(&["show", "fix", "--json"])["state"], "ready");
    assert_eq!(spares.spares(), [""; 0]);
}

#[test]
fn filters_includes_and_setup_are_as_without() {
    let test = Test::new();
    let app = test.app();
    test.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    test.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    test.git(&["config", "sandbox.setup", "echo set >set-up"]);
    test.commit(&app, ".gitattributes", "*.txt filter=up\n");
    test.commit(&app, ".gitignore", ".env\n");
    test.commit(&app, "a.txt", "text\n");
    write(&app.join(".env"), "secret\n");
    write(&app.join(".worktreeinclude"), ".env\n");
    let spares = Spares::of(test, 1);
    assert!(!spares.only().join(".env").exists());
    assert!(!spares.only().join("set-up").exists());
    same_as_without(&spares, &["NAME"]);
    assert_eq!(fs::read_to_string(spares.at("taken/a.txt")).unwrap(), "TEXT\n");
    assert_eq!(fs::read_to_string(spares.at("taken/.env")).unwrap(), "secret\n");
    assert_eq!(fs::read_to_string(spares.at("taken/set-up")).unwrap(), "set\n");
}

#[test]
fn sparse_patterns_are_as_without() {
    let test = Test::new();
    let app = test.app();
    test.commit(&app, "in/file", "in\n");
    test.commit(&app, "out/file", "out\n");
    test.git(&["sparse-checkout", "set", "--cone", "in"]);
    let spares = Spares::of(test, 1);
    same_as_without(&spares, &["NAME"]);
    assert_eq!(names_in(&spares.at("taken")), [".git", "file", "in"]);
}

#[test]
fn other_repositories_are_as_without() {
    let mut tried = 0;
    for options in [&["--object-format=sha256"][..], &["--ref-format=reftable"]] {
        let test = Test::bare();
        let folder = test.home.join("probe");
        fs::create_dir(&folder).unwrap();
        let words = [&["init", "--quiet"], options].concat();
        // Before 2.45 git knows no reftable.
        if !test.command("git", &folder).args(words).output().unwrap().status.success() {
            assert_eq!(options, ["--ref-format=reftable"]);
            continue;
        }
        test.init("app", options);
        let reftable = options[0].ends_with("reftable");
        let spares = Spares::of(test, 1);
        if reftable {
            assert!(spares.takes(&["fix"]));
            let at = spares.at("fix");
            assert_eq!(spares.git_in(&at, &["status", "--porcelain", "--branch"]), "## fix");
        } else {
            same_as_without(&spares, &["NAME"]);
        }
        tried += 1;
    }
    assert!(tried > 0);
}

#[test]
fn a_bare_repository_has_spares_too() {
    let test = Test::new();
    test.git(&["clone", "--quiet", "--bare", ".", "../bare.git"]);
    let bare = test.home.join("bare.git");
    test.git_in(&bare, &["config", "sandbox.spares", "1"]);
    test.run_in(&bare, &["__spares"]).stderr("1 spare ready\n").ok();
    let job = File::create(bare.join("sandbox-spares.lock")).unwrap();
    job.lock().unwrap();
    let home = test.root().with_file_name("bare");
    assert_eq!(names_in(&home).len(), 1);
    test.run_in(&bare, &["new", "fix"])
        .stdout("$HOME/.cache/git-sandbox/worktrees/bare/fix\n")
        .stderr("created sandbox 'fix': new branch 'fix' from 'main'\n")
        .ok();
    assert_eq!(names_in(&home), ["fix"]);
}

#[test]
fn a_pool_takes_as_many_as_there_are() {
    let spares = Spares::new(2);
    spares
        .run(&["new", "--count", "3", "job"])
        .stdout("$ROOT/job-1\n$ROOT/job-2\n$ROOT/job-3\n")
        .stderr(
            "created sandbox 'job-1': new branch 'job-1' from 'main'\n\
             created sandbox 'job-2': new branch 'job-2' from 'main'\n\
             created sandbox 'job-3': new branch 'job-3' from 'main'\n",
        )
        .ok();
    assert_eq!(spares.sandboxes(), ["job-1", "job-2", "job-3"]);
    for name in ["job-1", "job-2", "job-3"] {
        assert_eq!(spares.git_in(&spares.at(name), &["status", "--porcelain"]), "");
    }
}

#[test]
fn new_starts_the_job_that_makes_the_next() {
    let test = Test::new();
    test.git(&["config", "sandbox.spares", "1"]);
    // Everything that it starts has a copy of the pipe.
    let run = |name: &str| {
        let mut command = test.command("sh", &test.app());
        let script = "exec 9>&1; exec \"$@\" >/dev/null";
        command.args(["-c", script, "sh", "git", "sandbox", "new", name]);
        let output = crate::fixture::process::finished(&mut command);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run("one");
    let [first, one] = &test.sandboxes()[..] else { panic!("{:?}", test.sandboxes()) };
    assert!(first.starts_with(".spare-") && one == "one");
    run("two");
    let [second, one, two] = &test.sandboxes()[..] else { panic!("{:?}", test.sandboxes()) };
    assert!(second.starts_with(".spare-") && second != first, "{first} {second}");
    assert_eq!((one.as_str(), two.as_str()), ("one", "two"));
    let of = |name: &str| entry(&test.at(name)).file_name().unwrap().to_string_lossy().into_owned();
    assert!(of("one").starts_with("one."), "{}", of("one"));
    assert_eq!(of("two"), first.replacen('.', "-", 1));
}

#[test]
fn nothing_but_doctor_shows_spares() {
    let spares = Spares::new(2);
    spares.run(&["list"]).stderr("no sandboxes; 'git sandbox new <name>' makes one\n").ok();
    spares.run(&["list", "--json"]).stdout("[]\n").ok();
    spares.run(&["list", "--names"]).ok();
    spares.run(&["list", "-z"]).ok();
    spares.run(&["list", "--all", "--json"]).stdout("[]\n").ok();
    spares.run(&["restore"]).stderr("nothing to bring back\n").ok();
    let name = spares.spares()[0].clone();
    for command in ["show", "path", "rm"] {
        let output = spares.run(&[command, &name]).output();
        assert_eq!(output.status.code(), Some(1), "{command}");
    }
    spares.run(&["doctor"]).stderr("2 spares: 2 ready\nall is well\n").ok();
    assert_eq!(spares.spares().len(), 2);
}

#[test]
fn no_spares_are_made_unless_asked_for() {
    let test = Test::new();
    test.run(&["__spares"]).stderr("0 spares ready\n").ok();
    test.new_sandbox(&["fix"]);
    assert_eq!(test.sandboxes(), ["fix"]);
    assert!(!private(&test.app(), "fix").join("sandbox.json.new").exists());
}

#[test]
fn a_bad_number_is_an_error_that_names_the_key() {
    let test = Test::new();
    for value in ["-1", "many", "1.5", ""] {
        test.git(&["config", "sandbox.spares", value]);
        let error = format!(
            "error: bad value '{value}' for 'sandbox.spares': it must be a whole number\n\
             hint: git config --show-origin --get-all sandbox.spares\n"
        );
        test.run(&["new", "fix"]).stderr(&error).code(1);
        test.run(&["__spares"]).stderr(&error).code(1);
    }
    assert_eq!(test.branches(), ["main"]);
    assert_eq!(test.sandboxes(), [""; 0]);
}

#[test]
fn dir_and_another_root_have_no_spares() {
    let spares = Spares::new(1);
    let elsewhere = spares.home.join("elsewhere");
    spares.new_sandbox(&["one", "--dir", &elsewhere.to_string_lossy()]);
    spares.new_sandbox(&["two", "--root", &elsewhere.to_string_lossy()]);
    assert_eq!(spares.spares().len(), 1);
}
