//! A process in the sandbox: its branch is merged, the sandbox stays, and the warning says why.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

use rustix::process::Signal;

use super::crash::{MANY, crashes};
use crate::fixture::built::program;
use crate::fixture::files::{tree, write};
use crate::fixture::merge::{PLACES, Scene, Target};
use crate::fixture::process::{Sleeper, ended, is_suspended, signal, until};
use crate::fixture::state::entry;

const FORWARD: &str = "merged 'box' into 'dev': 2 commits, fast-forward\n";
const REMOVED: &str = "removed 'box' (nothing to lose); undo with: git sandbox restore box-ID\n";

/// The warning that a process keeps the sandbox.
fn stays(pid: u32, command: &str) -> String {
    format!("warning: sandbox 'box' stays: in use by {pid} {command}\nhint: git sandbox rm box\n")
}

#[test]
fn a_sandbox_that_a_process_idles_in_is_merged_and_stays() {
    for (how, words) in [
        (&[][..], "with a merge commit"),
        (&["--squash"], "squashed"),
        (&["--rebase", "--delete-branch"], "rebased"),
    ] {
        for target in PLACES {
            let scene = Scene::diverged(target);
            let sleeper = Sleeper::start(&scene.path, Stdio::null());
            let merged = format!("merged 'box' into 'dev': 2 commits, {words}\n");
            scene.merges(how, &format!("{merged}{}", stays(sleeper.pid(), "sleep")));
            assert_eq!(scene.files("dev"), ["mine", "mine too", "theirs"]);
            assert_eq!(scene.test.git_in(&scene.path, &["symbolic-ref", "HEAD"]), "refs/heads/box");
            drop(sleeper);
            let output = scene.test.run(&["rm", "box", "--dry-run"]).output();
            assert!(output.status.success());
        }
    }
}

#[test]
fn a_dry_run_says_that_a_process_keeps_it() {
    let scene = Scene::new(Target::Here);
    let sleeper = Sleeper::start(&scene.path, Stdio::null());
    let text = format!(
        "would merge 'box' into 'dev': 2 commits, fast-forward\n\
         would keep 'box': in use by {} sleep\n",
        sleeper.pid()
    );
    scene.test.run(&["merge", "box", "--dry-run"]).stderr(&text).ok();
}

#[test]
fn callers_and_their_pipelines_do_not_count() {
    let scene = Scene::new(Target::Here);
    let shell = |script: &str| {
        let mut shell = scene.test.command("sh", &scene.path);
        shell.args(["-c", script]);
        shell
    };
    let would = "would merge 'box' into 'dev': 2 commits, fast-forward\n\
                 would keep 'box': you are in it\n";
    let dry = shell("git sandbox merge --dry-run 2>&1 | tee x.log; exit");
    scene.test.run_command(dry).stdout(would).ok();
    let text =
        format!("{FORWARD}warning: sandbox 'box' stays: you are in it\nhint: git sandbox rm box\n");
    let real = shell("git sandbox merge 2>&1 | tee x.log; exit");
    scene.test.run_command(real).stdout(&text).ok();
    assert_eq!(scene.commit("dev"), scene.commit("box"));
    assert!(scene.path.exists());
    scene.nothing_is_left();
    // From outside, with its output in a pipe, it is removed.
    let scene = Scene::new(Target::Here);
    let mut shell = scene.test.command("sh", &scene.test.app());
    shell.args(["-c", "git sandbox merge box 2>&1 | tee x.log; exit"]);
    scene.test.run_command(shell).stdout(&format!("{FORWARD}{REMOVED}")).ok();
    assert!(!scene.path.exists());
}

#[test]
fn a_command_that_run_started_does_not_forbid_it_either() {
    let scene = Scene::new(Target::Here);
    let mut command = scene.test.command("git", &scene.test.app());
    command.args(["sandbox", "run", "box", "--", "sh", "-c", "echo $$; read line"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = scene.test.run(&["merge", "box"]).output();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let wanted = format!("{FORWARD}warning: sandbox 'box' stays: in use by ");
    assert!(stderr.starts_with(&wanted), "{stderr}");
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(scene.path.exists());
}

#[test]
fn a_target_in_use_is_merged_into() {
    let scene = Scene::diverged(Target::Sandbox);
    let dev = scene.dev.clone().unwrap();
    let _sleeper = Sleeper::start(&dev, Stdio::null());
    write(&dev.join("a"), "edited\n");
    let how = "merged 'box' into 'dev': 2 commits, with a merge commit\n";
    scene.test.run(&["merge", "box"]).stderr(&format!("{how}{REMOVED}")).ok();
    assert_eq!(scene.test.git_in(&dev, &["status", "--porcelain"]), " M a");
    assert_eq!(scene.files("dev"), ["mine", "mine too", "theirs"]);
}

/// A shell in the sandbox that goes by the name of git and has these words.
#[track_caller]
fn named_git(scene: &Scene, words: &[&str]) -> Child {
    write(&scene.test.app().join(".git/info/exclude"), "maintenance\n");
    write(&scene.path.join("maintenance"), "echo ready; read line || exit 0\n");
    let git = scene.test.home.join("git");
    if !git.exists() {
        std::os::unix::fs::symlink("/bin/sh", &git).unwrap();
    }
    let mut shell = scene.test.command(git, &scene.path);
    shell.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

#[test]
fn the_upkeep_that_a_commit_leaves_running_is_no_user() {
    let scene = Scene::diverged(Target::Here);
    let how = FORWARD.replace("fast-forward", "squashed");
    let mut other = named_git(&scene, &["maintenance", "run", "--task=gc"]);
    let wanted = format!("{how}{}", stays(other.id(), "git"));
    scene.test.run(&["merge", "box", "--squash"]).stderr(&wanted).ok();
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
    let mut upkeep = named_git(&scene, &["maintenance", "run", "--auto", "--quiet"]);
    let how = FORWARD.replace("fast-forward", "with a merge commit");
    scene.test.run(&["merge", "box"]).stderr(&format!("{how}{REMOVED}")).ok();
    drop(upkeep.stdin.take());
    assert!(upkeep.wait().unwrap().success());
}

/// A step at which the landing in the checkout of `dev` is half done and no process is in there.
fn step_of_landing() -> u32 {
    let half_done = |step: &u32| {
        let scene = Scene::new(Target::Sandbox);
        assert!(crashes(&scene, &["--keep"], *step), "it came to its end");
        entry(&scene.test, &scene.dev.clone().unwrap()).join("index.lock").exists()
    };
    (1..MANY).find(half_done).unwrap()
}

#[test]
fn a_target_that_a_commit_is_landed_in_is_not_removed() {
    let scene = Scene::new(Target::Sandbox);
    let (test, dev) = (&scene.test, scene.dev.clone().unwrap());
    let mut command = test.command(program(), &test.app());
    command.args(["merge", "box", "--keep"]).process_group(0);
    command.env("GIT_SANDBOX_PAUSE_AT", step_of_landing().to_string());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("it is about to write", || is_suspended(child.id()));
    let before = tree(&dev, &[]);
    let output = test.run(&["rm", "--force", "dev"]).output();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), tree(&dev, &[])), (Some(1), before), "{said}");
    signal(child.id(), Signal::CONT);
    assert!(ended(child).status.success());
    assert_eq!(scene.commit("dev"), scene.commit("box"));
    scene.is_clean();
    scene.nothing_is_left();
}

#[test]
fn a_hook_after_a_landing_in_the_main_checkout_may_make_a_sandbox() {
    let scene = Scene::new(Target::Here);
    let text = "unset $(git rev-parse --local-env-vars); cd \"$HOME/app\"\n\
                timeout 30 git sandbox new other >\"$HOME/said\" 2>&1";
    scene.test.script("app/.git/hooks/post-merge", text);
    scene.test.run(&["merge", "box", "--keep"]).stderr(FORWARD).ok();
    let wanted = "created sandbox 'other': new branch 'other' from 'dev'\n$ROOT/other\n";
    let said = fs::read_to_string(scene.test.home.join("said")).unwrap();
    assert_eq!(said, scene.test.expand(wanted));
    assert!(scene.test.at("other/mine").exists());
    // No command removes the main checkout: nothing keeps it from that.
    assert!(!scene.test.app().join(".git/sandbox.lock").exists());
}
