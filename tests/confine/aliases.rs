//! Paths with several names, and worktrees in the sandbox's own folder: what is to be hidden or read-only is
//! so by every name, and stays where it is.

use std::fs;
use std::os::unix::fs::symlink;

use super::closed::is_refused;
use crate::fixture::cell::Cell;
use crate::fixture::files::write;
use crate::fixture::process::finished;

/// By the name that a folder was made writable by, a command could replace what is read-only by another
/// name: git's own config, or a file that the next command would mount.
#[test]
fn what_leads_into_a_writable_folder_by_another_name_is_refused() {
    let Some(cell) = Cell::new() else { return };
    let home = &cell.lab.home;
    for file in [".config/git/config", ".agent/bin/tool"] {
        write(&home.join(file), "");
    }
    symlink(".", home.join("same")).unwrap();
    fs::create_dir_all(home.join(".local")).unwrap();
    symlink("../.agent/bin", home.join(".local/bin")).unwrap();
    cell.give(home);
    let line = |write: &str| {
        format!("git -c sandbox.confineWrite={write} sandbox run --confine box -- touch ran")
    };
    let refused = |write: &str, path: &str| {
        let wanted = format!(
            "error: cannot confine 'box': '$HOME/{path}' leads into '$HOME/{write}', where the command can change it\n\
             hint: git config --show-origin --get-all sandbox.confineWrite\n"
        );
        is_refused(&cell, &line(&format!("~/{write}")), &wanted);
    };
    refused("same/.config", ".config/git/config");
    refused(".agent", ".local/bin");
    // Also where it leads out again by what a command has put there.
    fs::remove_dir_all(home.join(".agent/bin")).unwrap();
    symlink("../.ssh", home.join(".agent/bin")).unwrap();
    refused(".agent", ".local/bin");
    // A folder has no second name in itself.
    fs::remove_file(home.join(".local/bin")).unwrap();
    let output = finished(&mut cell.command(&["sh", "-c", &line("~/same/.agent")]));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// A worktree in the sandbox is another one, although it is in a folder that the command can change.
#[test]
fn a_worktree_in_the_sandbox_is_hidden_and_stays_where_it_is() {
    let Some(cell) = Cell::new() else { return };
    let deep = cell.lab.at("box/deep");
    cell.git(&cell.lab.at("box"), &["worktree", "add", "--quiet", "--detach", "deep/er/other"]);
    write(&deep.join("er/other/secret"), "secret\n");
    cell.give(&deep);
    let script = "cat deep/er/other/secret; mv deep/er deep/moved; mv deep moved; ls deep; true";
    let output = cell.confined(&[], script);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "er\n", "{output:?}");
    assert!(deep.join("er/other/secret").is_file());
    let refused = |level: &str, why: &str| {
        let line = format!("git-sandbox run --confine={level} box -- touch ran");
        is_refused(&cell, &line, &format!("error: cannot confine 'box': {why}\n"));
    };
    let other = "$ROOT/box/deep/er/other";
    refused("landlock", &format!("to hide '{other}' in a writable folder needs the full level"));
    // Without walls it can be moved. Then a mount would be made where the symlink leads.
    let output = cell.free(script);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "secret\n", "{output:?}");
    fs::create_dir(&deep).unwrap();
    symlink(format!("/oldroot{}", cell.lab.home.display()), deep.join("er")).unwrap();
    cell.give(&deep);
    refused("full", "'$ROOT/box/deep/er' is a symlink in a writable folder");
    assert!(!cell.lab.home.join("other").exists());
}
