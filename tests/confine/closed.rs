//! Where walls cannot be made, or would have a hole, nothing is started.

use std::os::unix::fs::symlink;

use crate::fixture::cell::Cell;
use crate::fixture::diff::same;
use crate::fixture::files::write;
use crate::fixture::process::finished;

const RUN: &str = "git-sandbox run --confine box -- touch ran";

/// Runs a line of a shell and expects a refusal in these words; nothing is started or changed.
#[track_caller]
pub fn is_refused(cell: &Cell, line: &str, wanted: &str) {
    let before = cell.world();
    let output = finished(&mut cell.command(&["sh", "-c", line]));
    assert_eq!(String::from_utf8_lossy(&output.stderr), cell.lab.expand(wanted));
    assert_eq!((output.status.code(), output.stdout), (Some(1), Vec::new()));
    assert!(!cell.lab.at("box/ran").exists());
    same(&cell.world(), &before);
}

#[test]
fn without_bubblewrap_nothing_is_started() {
    let Some(cell) = Cell::new() else { return };
    let bin = cell.lab.home.join("few");
    std::fs::create_dir(&bin).unwrap();
    for program in ["git", "sh", "touch"] {
        let real = format!("command -v {program}");
        let real = finished(&mut cell.command(&["sh", "-c", &real]));
        symlink(String::from_utf8(real.stdout).unwrap().trim_end(), bin.join(program)).unwrap();
    }
    symlink(cell.lab.home.join("bin/git-sandbox"), bin.join("git-sandbox")).unwrap();
    let line = format!("PATH={}; {RUN}", bin.display());
    let hint = if std::path::Path::new("/usr/bin/apt").exists() {
        "sudo apt install bubblewrap"
    } else {
        "install bubblewrap"
    };
    is_refused(
        &cell,
        &line,
        &format!("error: cannot confine 'box': bubblewrap is not installed\nhint: {hint}\n"),
    );
    let line = format!("PATH={}; git-sandbox new --confine fresh", bin.display());
    is_refused(
        &cell,
        &line,
        &format!("error: cannot confine 'fresh': bubblewrap is not installed\nhint: {hint}\n"),
    );
    assert!(!cell.lab.at("fresh").exists());
}

#[test]
fn a_bubblewrap_in_the_sandbox_is_not_used() {
    let Some(cell) = Cell::new() else { return };
    for name in ["box", "other"] {
        let folder = format!(".cache/git-sandbox/worktrees/app/{name}");
        cell.lab.script(&format!("{folder}/bwrap"), "touch \"$HOME/evil\"");
        cell.give(&cell.lab.at(name));
        let line =
            format!("PATH=\"$PWD/../{folder}:$PATH\"; git-sandbox run --confine box -- true");
        let output = finished(&mut cell.command(&["sh", "-c", &line]));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(!cell.lab.home.join("evil").exists());
    }
}

#[test]
fn without_user_namespaces_nothing_is_started() {
    let Some(cell) = Cell::new() else { return };
    let line = format!("unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && {RUN}'");
    is_refused(
        &cell,
        &line,
        "error: cannot confine 'box': this system lets no ordinary user make a user namespace (user.max_user_namespaces)\n\
         hint: sudo sysctl -w user.max_user_namespaces=15000\n\
         hint: or, weaker: git sandbox run --confine=landlock box\n",
    );
}

#[test]
fn a_writable_path_may_not_be_too_wide() {
    let Some(cell) = Cell::new() else { return };
    for (path, what) in [
        ("/", "holds your home"),
        ("~", "holds your home"),
        ("/usr", "holds the system"),
        ("~/app", "reaches the git dir"),
        ("~/app/.git/hooks", "reaches the git dir"),
        ("~/.cache", "reaches other sandboxes"),
        ("~/.cache/git-sandbox/worktrees/app/other", "reaches other sandboxes"),
    ] {
        let line =
            format!("git -c sandbox.confineWrite={path} sandbox run --confine box -- touch ran");
        let shown = path.replace('~', "$HOME");
        let wanted = format!(
            "error: cannot confine 'box': sandbox.confineWrite '{shown}' is too wide: it {what}\n\
             hint: git config --show-origin --get-all sandbox.confineWrite\n"
        );
        is_refused(&cell, &line, &wanted);
    }
    let line = "git -c sandbox.confineWrite=cache sandbox run --confine box -- touch ran";
    is_refused(
        &cell,
        line,
        "error: bad value 'cache' for 'sandbox.confineWrite': it must be an absolute path, or start with '~/'\n\
         hint: git config --show-origin --get-all sandbox.confineWrite\n",
    );
}

/// What a command can put into a writable folder must not be mounted by the next one.
#[test]
fn a_planted_symlink_is_not_followed() {
    let Some(cell) = Cell::new() else { return };
    let state = cell.lab.home.join(".agent");
    write(&state.join("state"), "");
    symlink(cell.lab.home.join(".ssh/id"), state.join("settings")).unwrap();
    cell.give(&state);
    let line = |read: &str| {
        format!(
            "git -c sandbox.confineWrite=~/.agent -c sandbox.confineRead=~/.agent/{read} sandbox run --confine box -- touch ran"
        )
    };
    is_refused(
        &cell,
        &line("settings"),
        "error: cannot confine 'box': '$HOME/.agent/settings' is a symlink in a writable folder\n",
    );
    is_refused(
        &cell,
        &line("absent"),
        "error: cannot confine 'box': '$HOME/.agent/absent' is to be read-only, but is not there: the command could make it\n\
         hint: touch $HOME/.agent/absent\n",
    );
}

/// A folder in the sandbox that is to be writable anyway may be one too.
#[test]
fn a_planted_symlink_in_the_sandbox_is_not_followed() {
    let Some(cell) = Cell::new() else { return };
    symlink(cell.lab.home.join(".ssh"), cell.lab.at("box/cache")).unwrap();
    for key in ["confineRead", "confineWrite"] {
        let cache = ".cache/git-sandbox/worktrees/app/box/cache";
        let line = format!("git -c sandbox.{key}=~/{cache} sandbox run --confine box -- touch ran");
        let wanted = format!(
            "error: cannot confine 'box': '$HOME/{cache}' is a symlink in a writable folder\n"
        );
        is_refused(&cell, &line, &wanted);
    }
}

/// A file that stays read-only deep in a writable folder stays where it is, too.
#[test]
fn a_folder_with_a_read_only_file_cannot_be_moved_away() {
    let Some(cell) = Cell::new() else { return };
    let state = cell.lab.home.join(".agent");
    write(&state.join("deep/er/settings"), "mine\n");
    cell.give(&state);
    let script = "cd ~/.agent; echo evil >deep/er/settings; echo state >deep/er/state; \
        mv deep/er deep/moved; mv deep moved; mkdir -p deep/er; echo evil >deep/er/settings";
    let run = |walls: &[&str]| {
        let settings = ["-c", "sandbox.confineWrite=~/.agent"];
        let read = ["-c", "sandbox.confineRead=~/.agent/deep/er/settings"];
        let words = [&["git"], &settings[..], &read, &["sandbox", "run"], walls].concat();
        finished(&mut cell.command(&[&words[..], &["box", "--", "sh", "-c", script]].concat()))
    };
    run(&["--confine"]);
    let settings = state.join("deep/er/settings");
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), "mine\n");
    assert_eq!(std::fs::read_to_string(state.join("deep/er/state")).unwrap(), "state\n");
    assert!(!state.join("moved").exists());
    run(&[]);
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), "evil\n", "no use to mount it");
}

#[test]
fn a_quarantine_that_was_tampered_with_is_not_used() {
    let Some(cell) = Cell::new() else { return };
    let output = cell.confined(
        &[],
        "cd \"$GIT_SANDBOX_BASE_REPO/.git\" && mv worktrees w && ln -s w worktrees; true",
    );
    assert!(output.status.success(), "{output:?}");
    let private = cell.entry().join("confined/worktrees");
    if !private.is_symlink() {
        std::fs::rename(&private, cell.entry().join("confined/w")).unwrap();
        symlink("w", &private).unwrap();
    }
    let before = cell.world();
    let output = cell.confined(&[], "touch ran");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(!cell.lab.at("box/ran").exists());
    same(&cell.world(), &before);
}

/// Config that a checkout brings along, or that stands in the config of one worktree, does not count.
#[test]
fn a_sandbox_cannot_loosen_its_own_walls() {
    let Some(cell) = Cell::new() else { return };
    let (app, home) = (cell.lab.app(), &cell.lab.home);
    write(&home.join(".agent/state"), "mine\n");
    write(&app.join("included"), "[sandbox]\n\tconfineWrite = ~/.agent\n\tconfine = false\n");
    cell.give(home);
    cell.git(&app, &["config", "include.path", "../included"]);
    cell.git(&app, &["config", "extensions.worktreeConfig", "true"]);
    let folder = cell.lab.at("box");
    cell.git(&folder, &["config", "--worktree", "sandbox.confineWrite", "~/.agent"]);
    cell.git(&app, &["config", "sandbox.confine", "true"]);
    let before = cell.world();
    let script = "echo evil >~/.agent/state; test -n \"$GIT_SANDBOX_CONFINED\"";
    let mut command = cell.sandbox(&["run", "box", "--", "sh", "-c", script]);
    let output = finished(command.current_dir(&folder));
    same(&cell.world(), &before);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let mut command = cell.command(&[
        "git",
        "-c",
        "sandbox.confineWrite=~/.agent",
        "sandbox",
        "run",
        "box",
        "--",
        "sh",
        "-c",
        script,
    ]);
    assert_eq!(finished(&mut command).status.code(), Some(0));
    assert_ne!(cell.world(), before, "the user's own setting counts");
}

#[test]
fn doctor_says_what_the_machine_can_do() {
    let Some(cell) = Cell::new() else { return };
    let output = finished(&mut cell.sandbox(&["doctor", "--confine"]));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(lines[0].starts_with("bubblewrap:      /"), "{text}");
    assert_eq!(lines[1], "user namespaces: can be made");
    assert!(lines[2].starts_with("Landlock:        ABI "), "{text}");
    assert!(lines[3].starts_with("containers:      "), "{text}");
    assert_eq!(lines[4], "--confine=full: yes");
    assert_eq!(lines.len(), 6);
    let line = "unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && git-sandbox doctor --confine'";
    let output = finished(&mut cell.command(&["sh", "-c", line]));
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains(
        "--confine=full: no: this system lets no ordinary user make a user namespace (user.max_user_namespaces)\n"
    ));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "hint: sudo sysctl -w user.max_user_namespaces=15000\n"
    );
}

#[test]
fn the_network_of_hosts_needs_a_host() {
    let Some(cell) = Cell::new() else { return };
    is_refused(
        &cell,
        "git-sandbox run --confine --network=hosts box -- touch ran",
        "error: cannot confine 'box': no host is named for '--network=hosts'\n\
         hint: git config --global --add sandbox.confineHost <host>\n",
    );
}

/// What is mounted over a symlink is mounted wherever that leads.
#[test]
fn a_symlink_in_the_place_of_a_mount_point_is_refused() {
    let Some(cell) = Cell::new() else { return };
    let point = cell.entry().join("confined/base-objects");
    std::fs::remove_dir(&point).unwrap();
    symlink(&cell.lab.home, &point).unwrap();
    for level in ["--confine", "--confine=landlock"] {
        let line = format!("git-sandbox run {level} box -- touch ran 2>&1 | tail -n 1 >&2; exit 1");
        let point = point.display();
        let wanted =
            format!("error: cannot confine 'box': '{point}' is not what git sandbox made\n");
        is_refused(&cell, &line, &wanted);
    }
}

/// The list is what tells the next command whether repositories have appeared.
#[test]
fn without_a_list_of_the_repositories_inside_nothing_is_started() {
    let Some(cell) = Cell::new() else { return };
    let list = cell.entry().join("sandbox.nested");
    std::fs::remove_file(&list).unwrap();
    std::fs::create_dir(&list).unwrap();
    let line = "git-sandbox run --confine box -- touch ran 2>&1 | tail -n 1 >&2; exit 1";
    let error = format!("error: cannot write '{}': is a directory\n", list.display());
    is_refused(&cell, line, &error);
}
