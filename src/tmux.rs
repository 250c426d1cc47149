//! A window of the tmux session `sandbox-<project>` for a command in a sandbox.

use std::ffi::{OsStr, OsString};

use crate::error::{Error, Result, shell_word};
use crate::git::Git;
use crate::out::Out;
use crate::run::{Session, check_program};

/// Opens a window that runs `git-sandbox run <name> -- <words>`, which takes the lock there: the
/// tmux server itself is started without it.
pub fn open(project: &OsStr, session: &Session, words: &[OsString], out: Out) -> Result<u8> {
    check_program(OsStr::new("tmux"), session.path).map_err(|_| Error::NoTmux)?;
    let name = session_name(project);
    let exact = format!("={name}");
    let there = tmux(session.git, &["has-session", "-t", &exact], &[]);
    let folder = session.path.to_string_lossy().into_owned();
    let ourselves = crate::background::ourselves()?.into_os_string();
    let mut command = vec![ourselves, "run".into(), session.name.clone().into()];
    if !words.is_empty() {
        command.push("--".into());
        command.extend_from_slice(words);
    }
    let target = format!("{exact}:");
    let open = match there {
        true => vec!["new-window", "-t", &target, "-n", &session.name, "-c", &folder, "--"],
        false => vec!["new-session", "-d", "-s", &name, "-n", &session.name, "-c", &folder, "--"],
    };
    if !tmux(session.git, &open, &command) {
        return Err(Error::Git { doing: "open a tmux window".into(), why: "tmux failed".into() });
    }
    out.note(&format!("opened window '{}' in tmux session '{name}'", session.name));
    out.hint(&format!("tmux attach -t {}", shell_word(&exact)));
    Ok(0)
}

/// Names of windows in the project's session; none where there is no tmux.
pub fn windows(git: &Git, project: &OsStr) -> Vec<String> {
    let exact = format!("={}", session_name(project));
    let words = ["list-windows", "-t", &exact, "-F", "#{window_name}"];
    let listed = git.other("tmux", &words, &[]).unwrap_or_default();
    listed.lines().map(str::to_owned).collect()
}

/// tmux takes `.` and `:` for its own.
pub fn session_name(project: &OsStr) -> String {
    format!("sandbox-{}", project.to_string_lossy().replace(['.', ':'], "_"))
}

fn tmux(git: &Git, words: &[&str], more: &[OsString]) -> bool {
    git.other("tmux", words, more).is_some()
}
