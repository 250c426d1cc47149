//! Many agents: started, assigned and released together.

use std::fs;

use crate::fixture::files::write;
use crate::fixture::lab::Lab;
use crate::fixture::process::gone;

/// A test whose agent writes down what it got, and then does what the task says.
fn with_agent() -> Lab {
    let lab = Lab::new();
    let text = "printf '%s\\n' \"$GIT_SANDBOX_NAME: $1\" >>\"$HOME/got\"; eval \"$1\"";
    let agent = lab.script("bin/agent", text);
    lab.git(&["config", "sandbox.agent", &agent.to_string_lossy()]);
    lab
}

fn states(lab: &Lab) -> Vec<String> {
    let listed = lab.json(&["list", "--json"]);
    let told = |it: &serde_json::Value| format!("{} {}", it["name"], it["run"]["state"]);
    listed.as_array().unwrap().iter().map(|it| told(it).replace('"', "")).collect()
}

#[test]
fn twenty_agents_start_by_one_command_and_each_is_known() {
    let lab = with_agent();
    lab.pipe("go");
    let task = "case $GIT_SANDBOX_NAME in *5) exit 3;; *7) kill -KILL $$;; *9) read x <\"$HOME/go\";; esac";
    let output = lab.run(&["new", "--count", "20", "w", "--background", task]).output();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let paths: Vec<String> =
        (1..=20).map(|n| format!("{}\n", lab.at(&format!("w-{n}")).display())).collect();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), paths.concat());
    let quick: Vec<String> = (1..=20).filter(|n| n % 10 != 9).map(|n| format!("w-{n}")).collect();
    let words: Vec<&str> = quick.iter().map(String::as_str).collect();
    let waited = lab.run(&[&["wait"], &words[..]].concat()).output();
    assert_eq!(waited.status.code(), Some(1));
    let wanted = |n: i32| match n % 10 {
        5 => "failed",
        7 => "died",
        9 => "running",
        _ => "done",
    };
    let mut all: Vec<String> = (1..=20).map(|n| format!("w-{n} {}", wanted(n))).collect();
    let mut got = states(&lab);
    all.sort();
    got.sort();
    assert_eq!(got, all);
    assert_eq!(fs::read_to_string(lab.home.join("got")).unwrap().lines().count(), 20);
    lab.run(&["stop", "--all"])
        .stderr("stopped 2 processes in sandbox 'w-19'\nstopped 2 processes in sandbox 'w-9'\n")
        .ok();
    assert!(states(&lab).iter().all(|state| !state.ends_with("running")));
}

#[test]
fn new_in_the_background_prints_the_path_and_goes_on() {
    let lab = Lab::new();
    let output = lab.run(&["new", "box", "--background", "--", "sh", "-c", "echo {name}"]).output();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{}\n", lab.at("box").display()));
    lab.run(&["wait", "box"]).stdout("box: done 0s\n").ok();
    let log = String::from_utf8(lab.run(&["show", "--log", "box"]).output().stdout).unwrap();
    assert_eq!(log.lines().nth(1), Some("box"));
    let json = lab.json(&["new", "other", "--json", "--background", "--", "true"]);
    assert_eq!((&json["name"], &json["run"]["command"]), (&"other".into(), &"true".into()));
}

#[test]
fn background_needs_something_to_run() {
    let lab = Lab::new();
    for words in [&["new", "box", "--background"][..], &["new", "box", "task", "--background"]] {
        let output = lab.run(words).output();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(129));
        let error = "error: option '--background' needs a command, or 'sandbox.agent'\n";
        assert!(text.starts_with(error), "{text}");
    }
    assert_eq!(lab.sandboxes(), [""; 0]);
    let output = lab.run(&["new", "box", "--restart", "--", "true"]).output();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("error: option '--restart' needs '--background'\n"), "{text}");
}

#[test]
fn run_all_starts_the_agent_where_there_is_a_task_and_nobody() {
    let lab = with_agent();
    lab.new_sandbox(&["a", "--no-run", "echo a"]);
    lab.new_sandbox(&["b", "--no-run", "echo b"]);
    lab.new_sandbox(&["none"]);
    lab.new_sandbox(&["box", "--no-run", "echo box"]);
    let (child, pid) = lab.start_waiter("box");
    let output = lab.run(&["run", "--all", "--background"]).output();
    assert_eq!(output.status.code(), Some(0));
    lab.run(&["wait", "a", "b"]).stdout("a: done 0s\nb: done 0s\n").ok();
    let mut got: Vec<String> =
        fs::read_to_string(lab.home.join("got")).unwrap().lines().map(str::to_owned).collect();
    got.sort();
    assert_eq!(got, ["a: echo a", "b: echo b"]);
    lab.go("box", pid);
    crate::fixture::process::ended(child);
    for words in [&["run", "--all"][..], &["run", "--all", "--background", "a"]] {
        assert_eq!(lab.run(words).output().status.code(), Some(129), "{words:?}");
    }
}

#[test]
fn run_all_without_any_says_so() {
    let lab = with_agent();
    lab.new_sandbox(&["none"]);
    lab.run(&["run", "--all", "--background"]).stderr("no sandbox has a task and is idle\n").ok();
}

#[test]
fn a_pool_is_used_again_assign_work_release() {
    let lab = with_agent();
    lab.run(&["new", "--count", "2", "w"])
        .stdout("$ROOT/w-1\n$ROOT/w-2\n")
        .stderr(
            "created sandbox 'w-1': new branch 'w-1' from 'main'\n\
             created sandbox 'w-2': new branch 'w-2' from 'main'\n",
        )
        .ok();
    let commit = "echo $GIT_SANDBOX_NAME >x; git add x; git commit -qm x";
    for name in ["w-1", "w-2"] {
        lab.run(&["run", "--next", commit])
            .stderr(&format!(
                "gave the task to sandbox '{name}', at 'main'\n$ROOT/{name}\n\
                 task: {commit}\nbranch: {name}; last used: just now; clean\n"
            ))
            .ok();
        assert_eq!(lab.json(&["show", name, "--json"])["task"], commit);
    }
    // Both have work that is not merged.
    let before = lab.snapshot();
    lab.run(&["run", "--next", "echo three"])
        .stderr(
            "error: no idle sandbox is free for another task\n\
             hint: to make another: git sandbox new <name> \"echo three\"\n",
        )
        .code(1);
    assert_eq!(lab.snapshot(), before);
    // Given free, but its commits are nowhere else.
    lab.run(&["stop", "--release", "w-1"])
        .stderr("nothing runs in sandbox 'w-1'\ncleared the task of sandbox 'w-1'\n")
        .ok();
    assert_eq!(lab.json(&["show", "w-1", "--json"])["task"], serde_json::Value::Null);
    assert_eq!(lab.run(&["run", "--next", "echo three"]).output().status.code(), Some(1));
    lab.git(&["merge", "--quiet", "w-1"]);
    let main = lab.git(&["rev-parse", "main"]);
    lab.run(&["run", "--next", "echo three"])
        .stdout("three\n")
        .stderr(
            "gave the task to sandbox 'w-1', at 'main'\n$ROOT/w-1\n\
             task: echo three\nbranch: w-1; last used: just now; clean, done 0s\n",
        )
        .ok();
    assert_eq!(lab.git(&["rev-parse", "w-1"]), main);
    // It has a task and has done nothing yet: it is not free.
    assert_eq!(lab.run(&["run", "--next", "echo four"]).output().status.code(), Some(1));
}

#[test]
fn one_whose_branch_was_squashed_starts_afresh_and_its_commits_are_kept() {
    let lab = with_agent();
    let path = lab.new_sandbox(&["w", "--no-run", "task"]);
    let head = lab.commit(&path, "x", "x\n");
    lab.git(&["merge", "--squash", "--quiet", "w"]);
    lab.git(&["commit", "--quiet", "-m", "squashed"]);
    lab.run(&["run", "--next", "echo next"])
        .stdout("next\n")
        .stderr(
            "gave the task to sandbox 'w', at 'main'; its merged commits are kept in \
             refs/sandbox/kept/w-ID\n$ROOT/w\n\
             task: echo next\nbranch: w; last used: just now; clean\n",
        )
        .ok();
    assert_eq!(lab.git(&["rev-parse", "w"]), lab.git(&["rev-parse", "main"]));
    let kept = lab.git(&["for-each-ref", "--format=%(objectname)", "refs/sandbox/kept"]);
    assert_eq!(kept, head);
}

#[test]
fn one_whose_commits_cannot_be_kept_does_not_start_afresh() {
    let lab = with_agent();
    let path = lab.new_sandbox(&["w", "--no-run", "task"]);
    let head = lab.commit(&path, "x", "x\n");
    lab.git(&["merge", "--squash", "--quiet", "w"]);
    lab.git(&["commit", "--quiet", "-m", "squashed"]);
    let git = lab.fake_git(
        "case \" $* \" in *' update-ref refs/sandbox/kept/'*) echo full >&2; exit 1 ;; esac\n\
         exec \"$GIT\" \"$@\"",
    );
    let run = lab.program(&lab.app(), &["run", "--next", "echo next"]).env("PATH", git);
    run.stderr("error: cannot keep what only it holds: full\n").code(1);
    assert_eq!(lab.git(&["rev-parse", "w"]), head);
    assert_eq!(fs::read_to_string(path.join("x")).unwrap(), "x\n");
    assert_eq!(lab.json(&["show", "w", "--json"])["task"], "task");
    assert!(!lab.home.join("got").exists());
}

#[test]
fn a_task_that_cannot_be_written_down_is_not_begun() {
    let lab = with_agent();
    let path = lab.new_sandbox(&["w"]);
    // In the way of a new record.
    let obstacle = crate::fixture::state::entry(&lab, &path).join("sandbox.json.new");
    fs::create_dir(&obstacle).unwrap();
    let output = lab.run(&["run", "--next", "echo next"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(!lab.home.join("got").exists());
    fs::remove_dir(obstacle).unwrap();
    assert_eq!(lab.json(&["show", "w", "--json"])["task"], serde_json::Value::Null);
}

#[test]
fn a_new_task_in_a_pool_is_begun_and_not_resumed() {
    let lab = with_agent();
    let again = lab.script("bin/again", "echo resumed");
    lab.git(&["config", "sandbox.agentResume", &again.to_string_lossy()]);
    lab.new_sandbox(&["w"]);
    let said = |words: &[&str]| String::from_utf8(lab.run(words).output().stdout).unwrap();
    assert_eq!(said(&["run", "--next", "echo one"]), "one\n");
    assert_eq!(said(&["run", "w"]), "resumed\n");
    assert_eq!(lab.run(&["stop", "--release", "w"]).output().status.code(), Some(0));
    assert_eq!(said(&["run", "--next", "echo two"]), "two\n");
}

#[test]
fn next_takes_nothing_that_is_in_use_or_has_work() {
    let lab = with_agent();
    let dirty = lab.new_sandbox(&["a-dirty"]);
    write(&dirty.join("new"), "work\n");
    lab.new_sandbox(&["box"]);
    let (child, pid) = lab.start_waiter("box");
    let locked = lab.new_sandbox(&["c-locked"]);
    lab.git(&["worktree", "lock", &locked.to_string_lossy()]);
    lab.new_sandbox(&["--detach", "look"]);
    lab.new_sandbox(&["ext", "--dir", "../else"]);
    let sitting = lab.new_sandbox(&["d-sat-in"]);
    let mut sitter = lab.foreign(&sitting, &["sleep", "600"]);
    let before = lab.snapshot();
    assert_eq!(lab.run(&["run", "--next", "echo x"]).output().status.code(), Some(1));
    assert_eq!(lab.snapshot(), before);
    assert!(dirty.join("new").exists());
    sitter.kill().unwrap();
    sitter.wait().unwrap();
    lab.go("box", pid);
    gone(child.id());
    let said = String::from_utf8(lab.run(&["run", "--next", "echo x"]).output().stdout).unwrap();
    assert_eq!(said, "x\n");
    assert_eq!(lab.json(&["show", "box", "--json"])["task"], "echo x");
}

#[test]
fn two_at_once_get_two_sandboxes() {
    let lab = with_agent();
    assert_eq!(lab.run(&["new", "--count", "4", "w"]).output().status.code(), Some(0));
    let started: Vec<_> =
        (0..4).map(|n| lab.start(&["run", "--next", &format!("echo {n}")])).collect();
    for child in started {
        assert_eq!(crate::fixture::process::ended(child).status.code(), Some(0));
    }
    let got = fs::read_to_string(lab.home.join("got")).unwrap();
    let mut names: Vec<&str> = got.lines().map(|line| line.split_once(':').unwrap().0).collect();
    names.sort_unstable();
    assert_eq!(names, ["w-1", "w-2", "w-3", "w-4"]);
}
