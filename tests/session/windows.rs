//! `run --tmux`: which session, what reaches tmux as text, and windows whose command has ended.

use std::fs;
use std::path::Path;

use crate::fixture::Run;
use crate::fixture::files::names_in;
use crate::fixture::process::{is_alive, until};
use crate::session::tmux::{Tmux, opened};

impl Tmux {
    fn run_in(&self, dir: &Path, words: &[&str]) -> Run<'_> {
        self.lab.run_in(dir, words).env("TMUX_TMPDIR", &self.lab.home)
    }
}

/// Every file that is called so, anywhere at home.
fn marks(home: &Path) -> Vec<String> {
    let is_mark = |name: &String| name.starts_with("ran");
    let mut found: Vec<String> = names_in(home).into_iter().filter(is_mark).collect();
    for folder in names_in(home).iter().map(|name| home.join(name)) {
        found.extend(names_in(&folder).into_iter().filter(is_mark));
    }
    found
}

#[test]
fn nothing_in_a_name_or_path_is_run_by_tmux() {
    let Some(tmux) = Tmux::new() else { return };
    let project = "app#(touch ran-project)#{pane_id}#";
    let app = tmux.lab.init(project, &[]);
    let outside = tmux.lab.home.join("root#(touch ran-root)");
    let outside = outside.to_str().unwrap();
    assert!(tmux.run_in(&app, &["new", "--root", outside, "fix"]).output().status.success());
    let tree = app.parent().unwrap().join("tree#(touch ran-tree)#{pane_id}");
    let tree = tree.to_str().unwrap();
    tmux.lab.git_in(&app, &["worktree", "add", "--quiet", "-b", "outer", tree]);
    let session = format!("sandbox-{project}");
    for (name, window, lead) in [
        ("fix", "fix", ""),
        ("outer", "tree#(touch ran-tree)#{pane_id}", ""),
        ("fix", "fix", "sandbox 'fix' has sleep 0s at work already\n"),
    ] {
        tmux.run_in(&app, &["run", "--tmux", name, "sleep", "600"])
            .stderr(&format!(
                "{lead}opened window '{window}' in tmux session '{session}'\n\
                 hint: tmux attach -t \"={session}\"\n"
            ))
            .ok();
    }
    assert_eq!(tmux.tell(&["list-sessions", "-F", "#{session_name}"]), session);
    let exact = format!("={session}");
    let windows = tmux.tell(&["list-windows", "-t", &exact, "-F", "#{window_name}"]);
    assert_eq!(windows, "fix\ntree#(touch ran-tree)#{pane_id}\nfix");
    let folders = tmux.tell(&["list-panes", "-s", "-t", &exact, "-F", "#{pane_start_path}"]);
    let fix = format!("{outside}/{project}/fix");
    assert_eq!(folders, format!("{fix}\n{tree}\n{fix}"));
    // tmux would run such a command beside its own work, and update the text later.
    tmux.tell(&["run-shell", "sleep 1.5"]);
    assert_eq!(marks(&tmux.lab.home), [""; 0]);
}

#[test]
fn inside_tmux_the_hint_switches_to_the_session() {
    let Some(tmux) = Tmux::new() else { return };
    tmux.run(&["run", "--tmux", "box", "sleep", "600"]).stderr(&opened("box")).ok();
    let server = tmux.tell(&["display-message", "-p", "#{socket_path},#{pid},0"]);
    tmux.run(&["run", "--tmux", "box", "sleep", "600"])
        .env("TMUX", server)
        .stderr(
            "sandbox 'box' has sleep 0s at work already\n\
             opened window 'box' in tmux session 'sandbox-app'\n\
             hint: tmux switch-client -t \"=sandbox-app\"\n",
        )
        .ok();
}

#[test]
fn a_sandbox_is_in_use_as_soon_as_its_window_is_open() {
    let Some(tmux) = Tmux::new() else { return };
    for _ in 0..5 {
        tmux.run(&["run", "--tmux", "box", "sleep", "600"]).stderr(&opened("box")).ok();
        let run = tmux.lab.json(&["show", "--json", "box"])["run"].clone();
        assert_eq!((&run["state"], &run["command"]), (&"running".into(), &"sleep".into()));
        let said = tmux.run(&["stop", "box"]).output().stderr;
        assert_eq!(String::from_utf8(said).unwrap(), "stopped 1 process in sandbox 'box'\n");
    }
}

#[test]
fn in_the_sibling_layout_the_session_has_the_projects_name() {
    let Some(tmux) = Tmux::new() else { return };
    tmux.lab.git(&["config", "sandbox.root", "../{project}-worktrees"]);
    tmux.lab.new_sandbox(&["fix"]);
    tmux.run(&["run", "--tmux", "fix", "sleep", "600"]).stderr(&opened("fix")).ok();
    // Another repository of that name has one of its own.
    let other = tmux.lab.init("more/app", &[]);
    let root = tmux.lab.home.join("{project}-worktrees");
    tmux.lab.git_in(&other, &["config", "sandbox.root", root.to_str().unwrap()]);
    assert!(tmux.run_in(&other, &["new", "fix"]).output().status.success());
    let home = names_in(&tmux.lab.home).into_iter().find(|name| {
        name.starts_with("app-") && name.ends_with("-worktrees") && name != "app-worktrees"
    });
    let project = home.unwrap().strip_suffix("-worktrees").unwrap().to_owned();
    tmux.run_in(&other, &["run", "--tmux", "fix", "sleep", "600"])
        .stderr(&format!(
            "opened window 'fix' in tmux session 'sandbox-{project}'\n\
             hint: tmux attach -t \"=sandbox-{project}\"\n"
        ))
        .ok();
}

#[test]
fn a_window_whose_command_has_ended_is_named_and_closed() {
    let Some(tmux) = Tmux::new() else { return };
    tmux.lab.new_sandbox(&["other"]);
    let kept = tmux.waiter("other");
    tmux.tell(&["set-option", "-g", "remain-on-exit", "on"]);
    tmux.run(&["run", "--tmux", "box", "true"]).stderr(&opened("box")).ok();
    let panes = || tmux.tell(&["list-panes", "-s", "-t", "=sandbox-app", "-F", "#{pane_dead}"]);
    until("the command has ended", || panes() == "0\n1");
    tmux.run(&["doctor"])
        .stdout("=sandbox-app:box: a tmux window whose command has ended\n")
        .stderr("hint: git sandbox stop box\n1 problem needs manual repair\n")
        .code(1);
    tmux.run(&["stop", "box"]).stderr("closed the tmux window of sandbox 'box'\n").ok();
    assert_eq!(panes(), "0");
    tmux.run(&["doctor"]).stderr("all is well\n").ok();
    // One that stop itself ends is closed as well.
    tmux.run(&["stop", "other"]).stderr("stopped 1 process in sandbox 'other'\n").ok();
    assert!(!is_alive(kept));
    assert!(!tmux.ask(&["has-session", "-t", "=sandbox-app"]).status.success());
}

#[test]
fn a_window_whose_sandbox_is_gone_is_named() {
    let Some(tmux) = Tmux::new() else { return };
    let path = tmux.lab.at("box");
    tmux.run(&["run", "--tmux", "box", "sleep", "600"]).stderr(&opened("box")).ok();
    assert!(tmux.run(&["rm", "--force", "--force", "box"]).output().status.success());
    assert!(!path.exists());
    let output = tmux.run(&["doctor"]).output();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("=sandbox-app:box: a tmux window whose sandbox is gone\n"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert!(fs::metadata(&path).is_err());
}
