//! A window of the tmux session `sandbox-<project>` for a command in a sandbox.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::error::{Error, Result, shell_word};
use crate::out::Out;
use crate::run::{Session, apart, check_program};

/// Opens a window that runs `git-sandbox run <name> -- <words>`, which takes the lock there: the
/// tmux server itself is started without it.
pub fn open(project: &OsStr, session: &Session, words: &[OsString], out: Out) -> Result<u8> {
    check_program(OsStr::new("tmux"), session.path).map_err(|_| Error::NoTmux)?;
    let name = session_name(project);
    let exact = format!("={name}");
    let there = tmux(&["has-session", "-t", &exact], &[]);
    let folder = session.path.to_string_lossy().into_owned();
    let mut command = vec![crate::background::ourselves()?.into_os_string(), "run".into()];
    command.extend(
        session.author.iter().map(|author| format!("--author={}", author.in_words()).into()),
    );
    command.push(session.name.clone().into());
    if !words.is_empty() {
        command.push("--".into());
        command.extend(words.iter().map(|word| for_tmux(word)));
    }
    let target = format!("{exact}:");
    let open = match there {
        true => vec!["new-window", "-t", &target, "-n", &session.name, "-c", &folder, "--"],
        false => vec!["new-session", "-d", "-s", &name, "-n", &session.name, "-c", &folder, "--"],
    };
    if !tmux(&open, &command) {
        return Err(Error::Git { doing: "open a tmux window".into(), why: "tmux failed".into() });
    }
    out.note(&format!("opened window '{}' in tmux session '{name}'", session.name));
    out.hint(&format!("tmux attach -t {}", shell_word(&exact)));
    Ok(0)
}

/// tmux takes a semicolon at the end of a word for its own.
fn for_tmux(word: &OsStr) -> OsString {
    match word.as_bytes().strip_suffix(b";") {
        Some(lead) => OsString::from_vec([lead, b"\\;"].concat()),
        None => word.to_owned(),
    }
}

/// Names of windows in the project's session; none where there is no tmux.
pub fn windows(project: &OsStr) -> Vec<String> {
    let exact = format!("={}", session_name(project));
    let words = ["list-windows", "-t", &exact, "-F", "#{window_name}"].map(OsString::from);
    let listed = apart("tmux", &words).unwrap_or_default();
    listed.lines().map(str::to_owned).collect()
}

/// tmux takes `.` and `:` for its own.
pub fn session_name(project: &OsStr) -> String {
    format!("sandbox-{}", project.to_string_lossy().replace(['.', ':'], "_"))
}

fn tmux(words: &[&str], more: &[OsString]) -> bool {
    let words = words.iter().map(OsString::from).chain(more.iter().cloned());
    apart("tmux", &words.collect::<Vec<_>>()).is_some()
}
