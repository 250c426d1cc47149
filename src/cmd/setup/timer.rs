//! A daily `git sandbox reap --all --quiet`: a timer of the user's systemd or, where there is none, a
//! line for the crontab.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::cmd::setup::install::{self, Done, Wanted};
use crate::error::{Error, Result};
use crate::session::apart;
use crate::sys::process;
use crate::ui::out::Out;
use crate::ui::words::shell_word;

const TIMER: &str = "git-sandbox-reap.timer";

/// Sets it up, or says what is to be added to the crontab.
pub fn install(config: &Path, out: Out) -> Result<()> {
    let program = process::ourselves()?;
    if systemctl(&["show-environment"]).is_none() {
        let line = format!("17 4 * * * {} reap --all --quiet", shell_word(&text(&program)));
        out.note("there is no systemd for the current user");
        out.hint(&format!("add with 'crontab -e': {}", line.replace('%', "\\%")));
        return Ok(());
    }
    let files = files(config, &program);
    files.iter().try_for_each(Wanted::check)?;
    let mut changed = false;
    for file in &files {
        changed |= file.install()? != Done::Nothing;
    }
    let enabled = || systemctl(&["daemon-reload"]).and(systemctl(&["enable", "--now", TIMER]));
    if changed || systemctl(&["is-enabled", TIMER]).is_none() {
        enabled().ok_or_else(|| Error::Git {
            doing: format!("enable '{TIMER}'"),
            why: "systemctl failed".into(),
        })?;
        out.note(&format!("installed the daily timer: {}", files[0].path.display()));
    } else {
        out.note("the daily timer is in place");
    }
    Ok(())
}

/// Takes it back; what was removed.
pub fn uninstall(config: &Path) -> Result<Vec<PathBuf>> {
    let paths: Vec<PathBuf> =
        files(config, Path::new("")).into_iter().map(|file| file.path).collect();
    if paths.iter().any(|path| path.exists()) {
        systemctl(&["disable", "--now", TIMER]);
    }
    let removed = install::uninstall(paths)?;
    if !removed.is_empty() {
        systemctl(&["daemon-reload"]);
    }
    Ok(removed)
}

fn files(config: &Path, program: &Path) -> Vec<Wanted> {
    let folder = config.join("systemd/user");
    let unit = |name: &str, text: String| Wanted {
        what: "the daily timer",
        path: folder.join(name),
        text,
        comment: "#",
    };
    // A background job of the user's: it runs at low priority.
    let service = format!(
        "[Unit]\nDescription=Retire stale git sandboxes\n\n[Service]\nType=oneshot\nNice=10\n\
         ExecStart={} reap --all --quiet\n",
        quoted(&text(program))
    );
    let timer = "[Unit]\nDescription=Retire stale git sandboxes every day\n\n[Timer]\n\
                 OnCalendar=daily\nRandomizedDelaySec=1h\nPersistent=true\n\n\
                 [Install]\nWantedBy=timers.target\n";
    vec![unit(TIMER, timer.to_owned()), unit("git-sandbox-reap.service", service)]
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A word as systemd takes it.
fn quoted(word: &str) -> String {
    let word = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{}\"", word.replace('$', "$$"))
}

fn systemctl(words: &[&str]) -> Option<String> {
    let words: Vec<OsString> = ["--user"].iter().chain(words).map(OsString::from).collect();
    apart("systemctl", &words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_systemd() {
        assert_eq!(quoted("/a b/%$\"x"), "\"/a b/%%$$\\\"x\"");
    }
}
