//! Settings of the walls: those that would open them, and those that would be passed over.

use super::closed::is_refused;
use crate::fixture::cell::Cell;
use crate::fixture::files::write;
use crate::fixture::process::finished;

/// Who wishes for walls where that does not count is told, and nothing runs without them.
#[test]
fn walls_that_are_wished_for_in_vain_are_not_passed_over() {
    let Some(cell) = Cell::new() else { return };
    let app = cell.lab.app();
    let refused = |key: &str, value: &str, line: &str| {
        let wanted = format!(
            "error: bad value '{value}' for '{key}': it does not count in an included file or in the config of a worktree\n\
             hint: git config --show-origin --get-all {key}\n"
        );
        is_refused(&cell, line, &wanted);
    };
    let (free, walls) =
        ("git-sandbox run box -- touch ran", "git-sandbox run --confine box -- touch ran");
    let included = app.join("included");
    cell.git(&app, &["config", "include.path", "../included"]);
    write(&included, "[sandbox]\n\tconfine\n");
    refused("sandbox.confine", "true", free);
    write(&included, "[sandbox]\n\tconfine = landlock\n");
    refused("sandbox.confine", "landlock", free);
    write(&included, "[sandbox]\n\tconfineNetwork = off\n");
    refused("sandbox.confineNetwork", "off", walls);
    write(&included, "[sandbox]\n\tconfine = false\n\tconfineNetwork = on\n");
    for (key, value, line) in
        [("sandbox.confine", "true", free), ("sandbox.confineNetwork", "off", walls)]
    {
        cell.git(&app, &["config", "extensions.worktreeConfig", "true"]);
        cell.git(&app, &["config", "--worktree", key, value]);
        refused(key, value, line);
        cell.git(&app, &["config", "--worktree", "--unset", key]);
    }
    // What is wished for where it counts decides.
    for line in ["git-sandbox run box -- true", "git-sandbox run --confine box -- true"] {
        let output = finished(&mut cell.command(&["sh", "-c", line]));
        assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
    }
    write(&included, "[sandbox]\n\tconfine\n\tconfineNetwork = off\n");
    for line in [
        "git-sandbox run --no-confine box -- true",
        "git -c sandbox.confine=false sandbox run box -- true",
        "git -c sandbox.confineNetwork=on sandbox run --confine box -- true",
        "git-sandbox run --confine --network=on box -- true",
    ] {
        let output = finished(&mut cell.command(&["sh", "-c", line]));
        assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
    }
}

/// In its own config git finds programs to run, and we find walls to make.
#[test]
fn gits_own_config_cannot_be_made_writable() {
    let Some(cell) = Cell::new() else { return };
    let home = &cell.lab.home;
    let line = |write: &str, command: &str| {
        format!("git -c sandbox.confineWrite={write} sandbox run --confine box -- {command}")
    };
    let refused = |write: &str, line: &str| {
        let wanted = format!(
            "error: bad value '$HOME/{write}' for 'sandbox.confineWrite': git takes its own config or hooks from there\n\
             hint: git config --show-origin --get-all sandbox.confineWrite\n"
        );
        is_refused(&cell, line, &wanted);
    };
    // It is not there yet.
    refused(".config", &line("~/.config", "touch ran"));
    write(&home.join("dotfiles/git"), "[alias]\n\tx = y\n");
    cell.give(home);
    let dotfiles = line("~/dotfiles", "touch ran");
    refused("dotfiles", &dotfiles.replace("git -c", "git -c include.path=~/dotfiles/git -c"));
    // What git would include may not be there yet either.
    let lead = "git -c include.path=~/dotfiles/later -c";
    std::fs::remove_file(home.join("dotfiles/git")).unwrap();
    refused("dotfiles", &dotfiles.replace("git -c", lead));
    refused("dotfiles", &dotfiles.replace("git -c", &lead.replace(".path", "If.onbranch:x.path")));
    // Hooks run outside as well.
    let lead = "git -c core.hooksPath=~/dotfiles/hooks -c";
    refused("dotfiles", &dotfiles.replace("git -c", lead));
    // What is there is mounted to be read, and stays where it is.
    for name in ["config", "ignore", "attributes"] {
        write(&home.join(".config/git").join(name), "");
    }
    cell.give(home);
    let script = "sh -c 'echo evil >~/.config/git/config; mv ~/.config/git ~/.config/away; echo state >~/.config/state'";
    let output = finished(&mut cell.command(&["sh", "-c", &line("~/.config", script)]));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(std::fs::read_to_string(home.join(".config/git/config")).unwrap(), "");
    assert_eq!(std::fs::read_to_string(home.join(".config/state")).unwrap(), "state\n");
}

/// Processes, devices and sockets are not only read.
#[test]
fn a_readable_path_may_not_be_too_wide() {
    let Some(cell) = Cell::new() else { return };
    for (path, what) in [
        ("/", "holds the system"),
        ("/proc", "holds the system"),
        ("/dev", "holds the system"),
        ("/run", "holds the sockets of your session"),
    ] {
        let line =
            format!("git -c sandbox.confineRead={path} sandbox run --confine box -- touch ran");
        let wanted = format!(
            "error: cannot confine 'box': sandbox.confineRead '{path}' is too wide: it {what}\n\
             hint: git config --show-origin --get-all sandbox.confineRead\n"
        );
        is_refused(&cell, &line, &wanted);
    }
}
