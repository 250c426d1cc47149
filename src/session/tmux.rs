//! A window of the tmux session `sandbox-<project>` for a command in a sandbox.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::sandbox::{in_use, runs};
use crate::session::{Session, WINDOW, apart, check_program};
use crate::sys::process;
use crate::sys::processes::Process;
use crate::ui::out::Out;
use crate::ui::words::shell_word;

/// The window option that names the sandbox's folder.
const FOLDER: &str = "@git-sandbox-folder";

/// Opens a window that runs `git-sandbox run <options> <name> -- <words>`, which takes the lock there: the
/// tmux server itself is started without it. Returns once the lock is taken and the run is recorded.
pub fn open(
    project: &OsStr,
    session: &Session,
    options: &[OsString],
    words: &[OsString],
    out: Out,
) -> Result<u8> {
    check_program(OsStr::new("tmux"), session.path).map_err(|_| Error::NoTmux)?;
    let name = session_name(project);
    let exact = format!("={name}");
    let there = tmux(&["has-session", "-t", &exact].map(OsString::from)).is_some();
    let mut command: Vec<OsString> = vec!["env".into(), format!("{WINDOW}=1").into()];
    command.extend([process::ourselves()?.into_os_string(), "run".into()]);
    command.extend(
        session.author.iter().map(|author| format!("--author={}", author.in_words()).into()),
    );
    command.extend_from_slice(options);
    command.push(session.name.clone().into());
    if !words.is_empty() {
        command.push("--".into());
        command.extend(words.iter().map(|word| for_tmux(word)));
    }
    let mut open: Vec<OsString> = match there {
        true => vec!["new-window".into(), "-t".into(), format!("{exact}:").into()],
        false => vec!["new-session".into(), "-d".into(), "-s".into(), literal(&name)],
    };
    open.extend(["-P", "-F", "#{window_id} #{pane_pid}", "-n"].map(OsString::from));
    open.extend([literal(&session.name), "-c".into(), literal(session.path)]);
    open.push("--".into());
    let before = newest_run(session.entry);
    let opened = tmux(&[open, command].concat()).ok_or_else(|| Error::Git {
        doing: "open a tmux window".into(),
        why: "tmux failed".into(),
    })?;
    if let Some((window, pid)) = opened.trim_end().split_once(' ') {
        // A window that has closed again needs no mark.
        let mark = ["set-option", "-w", "-t", window, FOLDER].map(OsString::from);
        tmux(&[&mark[..], &[session.path.as_os_str().to_owned()]].concat());
        wait_for_start(pid, session.entry, before);
    }
    out.note(&format!("opened window '{}' in tmux session '{name}'", session.name));
    let inside = std::env::var_os("TMUX").is_some_and(|server| !server.is_empty());
    let attach = if inside { "switch-client" } else { "attach" };
    out.hint(&format!("tmux {attach} -t {}", shell_word(&exact)));
    Ok(0)
}

/// Waits until the process in the window holds the sandbox's lock and has recorded a run after `before`,
/// so that every command knows of it from then on; or until that process has ended. One that has to wait
/// for the lock itself, or cannot record its run, is waited for only a moment.
fn wait_for_start(pid: &str, entry: &Path, before: u64) {
    const PATIENCE: Duration = Duration::from_secs(10);
    const FOR_THE_RECORD: Duration = Duration::from_secs(2);
    let Ok(pid) = pid.parse::<u32>() else { return };
    let (lock, start) = (in_use::lock_path(entry), Instant::now());
    let mut locked = None;
    while start.elapsed() < PATIENCE {
        match Process::look_at(pid) {
            None => return,
            Some(process) if !process.has_open(&lock) => {}
            Some(_) if newest_run(entry) > before => return,
            Some(_) if locked.get_or_insert_with(Instant::now).elapsed() > FOR_THE_RECORD => return,
            Some(_) => {}
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The number of the run that was recorded last, or 0.
fn newest_run(entry: &Path) -> u64 {
    runs::history(entry).last().map_or(0, |run| run.start.run)
}

/// A word that tmux takes as a format, without anything for it to expand: it would run what stands
/// in `#(...)`.
fn literal(text: impl AsRef<OsStr>) -> OsString {
    let text = text.as_ref().as_bytes();
    let doubled = text.iter().flat_map(|byte| [*byte].repeat(1 + usize::from(*byte == b'#')));
    for_tmux(&OsString::from_vec(doubled.collect()))
}

/// tmux takes a semicolon at the end of a word for its own.
fn for_tmux(word: &OsStr) -> OsString {
    match word.as_bytes().strip_suffix(b";") {
        Some(lead) => OsString::from_vec([lead, b"\\;"].concat()),
        None => word.to_owned(),
    }
}

/// A pane in a window that was opened for a sandbox.
#[derive(Debug, PartialEq, Eq)]
pub struct Pane {
    /// What tmux calls it: `%3`.
    pub id: String,
    /// The folder of the sandbox.
    pub folder: PathBuf,
    /// Whether its command has ended and tmux keeps it all the same (`remain-on-exit`).
    pub is_dead: bool,
}

/// Returns the panes in windows of the project's session that were opened for sandboxes; none where
/// there is no tmux.
pub fn panes(project: &OsStr) -> Vec<Pane> {
    let exact = format!("={}", session_name(project));
    let format = format!("#{{pane_id}} #{{pane_dead}} #{{{FOLDER}}}");
    // Without -u, tmux alters letters that the locale does not have.
    let words = ["-u", "list-panes", "-s", "-t", &exact, "-F", &format].map(OsString::from);
    parse(&tmux(&words).unwrap_or_default())
}

fn parse(listed: &str) -> Vec<Pane> {
    let panes = listed.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ' ');
        let (id, dead, folder) = (fields.next()?, fields.next()?, fields.next()?);
        let (id, folder, is_dead) = (id.to_owned(), PathBuf::from(folder), dead == "1");
        folder.is_absolute().then_some(Pane { id, folder, is_dead })
    });
    panes.collect()
}

/// Closes the panes of a sandbox whose commands have ended; how many. `ended` says that one has ended
/// just now, which tmux may not know yet.
pub fn close_dead(project: &OsStr, folder: &Path, ended: bool) -> usize {
    const PATIENCE: Duration = Duration::from_millis(500);
    let (start, mut closed) = (Instant::now(), 0);
    loop {
        let panes = panes(project).into_iter().filter(|pane| pane.folder == folder);
        let (dead, alive): (Vec<Pane>, Vec<Pane>) = panes.partition(|pane| pane.is_dead);
        let close =
            |pane: &&Pane| tmux(&["kill-pane", "-t", &pane.id].map(OsString::from)).is_some();
        closed += dead.iter().filter(close).count();
        if alive.is_empty() || !ended || closed > 0 || start.elapsed() > PATIENCE {
            return closed;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// tmux takes `.` and `:` for its own.
pub fn session_name(project: &OsStr) -> String {
    format!("sandbox-{}", project.to_string_lossy().replace(['.', ':'], "_"))
}

fn tmux(words: &[OsString]) -> Option<String> {
    apart("tmux", words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    #[test]
    fn a_format_is_taken_literally() {
        assert_eq!(literal("a#(touch x)#"), "a##(touch x)##");
        assert_eq!(literal("a;"), "a\\;");
    }

    #[test]
    fn only_panes_of_sandboxes_are_read() {
        let listed = "%1 0 /a/the box\n%2 0 \n%3 1 /b\n";
        let pane = |id: &str, folder: &str, is_dead| Pane {
            id: id.into(),
            folder: folder.into(),
            is_dead,
        };
        assert_eq!(parse(listed), [pane("%1", "/a/the box", false), pane("%3", "/b", true)]);
        fuzz::damaged_text(&[listed], |text| {
            assert!(parse(text).len() <= text.lines().count());
        });
    }
}
