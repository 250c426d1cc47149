//! Terminals: full-screen programs, Ctrl-C and Ctrl-Z under `run`, and `run --tmux`, all in a real
//! tmux whose server is the test's own.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::fixture::Run;
use crate::fixture::built::program_word;
use crate::fixture::files::write;
use crate::fixture::lab::Lab;
use crate::fixture::process::{finished, is_alive, line_of, patience, until};
use crate::fixture::tools::have;

/// A server of the test's own, ended with it.
pub struct Tmux {
    pub lab: Lab,
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // Never a panic: the test may be failing already. What this leaves ends with the lab.
        let mut command = self.command(&["kill-server"]);
        let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

impl Tmux {
    /// Makes it, or says that this machine lacks tmux.
    #[track_caller]
    pub fn new() -> Option<Tmux> {
        if !have("tmux") {
            return None;
        }
        let (lab, path) = Lab::with_box();
        let lines: Vec<_> = (1..=500).map(|number| format!("line {number}")).collect();
        write(&path.join("long"), &(lines.join("\n") + "\n"));
        lab.git_in(&path, &["add", "long"]);
        lab.git_in(&path, &["commit", "--quiet", "-m", "long"]);
        Some(Tmux { lab })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.lab.command("tmux", &self.lab.app());
        command.env("TMUX_TMPDIR", &self.lab.home).args(words);
        command
    }

    pub fn ask(&self, words: &[&str]) -> Output {
        finished(&mut self.command(words))
    }

    /// What tmux answers; it must succeed.
    #[track_caller]
    pub fn tell(&self, words: &[&str]) -> String {
        let output = self.ask(words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {words:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Runs words in a pane of 80 by 24; their exit code goes to `code`, whatever signal the
    /// terminal sends.
    fn open(&self, words: &[&str]) {
        let script = "trap : INT QUIT; \"$@\"; echo $? >\"$HOME/code\"";
        let start = ["new-session", "-d", "-s", "pane", "-x", "80", "-y", "24", "--"];
        self.tell(&[&start[..], &["sh", "-c", script, "sh"], words].concat());
    }

    fn code(&self) -> String {
        line_of(&self.lab.home.join("code"))
    }

    fn keys(&self, target: &str, keys: &[&str]) {
        self.tell(&[&["send-keys", "-t", target], keys].concat());
    }

    /// Waits until the screen shows it so.
    #[track_caller]
    fn shows(&self, target: &str, so: impl Fn(&[&str]) -> bool) {
        let start = Instant::now();
        loop {
            let text = self.tell(&["capture-pane", "-p", "-t", target]);
            if so(&text.lines().collect::<Vec<_>>()) {
                return;
            }
            assert!(start.elapsed() < patience(), "the screen shows\n{text}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until a shell asks for the next line.
    #[track_caller]
    fn prompts(&self, target: &str) {
        self.shows(target, |lines| lines.last() == Some(&">"));
    }

    /// `git sandbox ...` that knows the server.
    pub fn run(&self, words: &[&str]) -> Run<'_> {
        self.lab.run(words).env("TMUX_TMPDIR", &self.lab.home)
    }

    /// Opens a window for a waiter in a sandbox; the waiter's process id.
    #[track_caller]
    pub fn waiter(&self, name: &str) -> u32 {
        let words = self.lab.waiter(name);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.run(&[&["run", "--tmux", name, "--"], &words[..]].concat()).stderr(&opened(name)).ok();
        self.lab.pid(name)
    }

    fn windows(&self) -> String {
        self.tell(&["list-windows", "-t", "=sandbox-app", "-F", "#{window_name}"])
    }

    /// The files that the server has open, and the folder it is in.
    fn server_has(&self, path: &Path) -> bool {
        let process = format!("/proc/{}", self.tell(&["display-message", "-p", "#{pid}"]));
        let open = fs::read_dir(format!("{process}/fd")).unwrap().flatten();
        let links = open.map(|file| file.path()).chain([format!("{process}/cwd").into()]);
        links.filter_map(|link| link.read_link().ok()).any(|target| target.starts_with(path))
    }
}

pub fn opened(name: &str) -> String {
    format!(
        "opened window '{name}' in tmux session 'sandbox-app'\n\
         hint: tmux attach -t \"=sandbox-app\"\n"
    )
}

/// `less` in a pane: a page, a larger page, the end, and out.
fn pages(tmux: &Tmux, pane: &str) {
    tmux.shows(pane, |lines| lines.first() == Some(&"line 1") && lines.get(22) == Some(&"line 23"));
    tmux.tell(&["resize-window", "-t", pane, "-x", "100", "-y", "40"]);
    tmux.shows(pane, |lines| lines.get(38) == Some(&"line 39"));
    tmux.keys(pane, &["G"]);
    tmux.shows(pane, |lines| lines.get(38) == Some(&"line 500"));
    tmux.keys(pane, &["q"]);
}

#[test]
fn a_full_screen_program_works() {
    let Some(tmux) = Tmux::new() else { return };
    tmux.open(&[program_word(), "run", "box", "less", "long"]);
    pages(&tmux, "pane");
    assert_eq!(tmux.code(), "0\n");
}

#[test]
fn a_full_screen_program_works_through_git() {
    let Some(tmux) = Tmux::new() else { return };
    tmux.open(&["git", "sandbox", "new", "box", "--", "less", "long"]);
    pages(&tmux, "pane");
    assert_eq!(tmux.code(), "0\n");
}

#[test]
fn ctrl_c_reaches_the_command() {
    let Some(tmux) = Tmux::new() else { return };
    let words = tmux.lab.waiter("box");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    tmux.open(&[&[program_word(), "run", "box"], &words[..]].concat());
    let pid = tmux.lab.pid("box");
    tmux.keys("pane", &["C-c"]);
    assert_eq!(tmux.code(), "130\n");
    assert!(!is_alive(pid));
}

#[test]
fn ctrl_backslash_reaches_the_command_of_new() {
    let Some(tmux) = Tmux::new() else { return };
    let words = tmux.lab.waiter("box");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    tmux.open(&[&[program_word(), "new", "box", "--"], &words[..]].concat());
    tmux.lab.pid("box");
    tmux.keys("pane", &["C-\\"]);
    assert_eq!(tmux.code(), "131\n");
}

#[test]
fn a_command_may_go_on_after_ctrl_c() {
    let Some(tmux) = Tmux::new() else { return };
    tmux.lab.pipe("box.says");
    let script = "trap 'echo caught; exit 5' INT; echo ready >\"$HOME/box.says\"; while :; do sleep 0.1; done";
    tmux.open(&[program_word(), "run", "box", "sh", "-c", script]);
    assert_eq!(tmux.lab.says("box"), "ready\n");
    tmux.keys("pane", &["C-c"]);
    assert_eq!(tmux.code(), "5\n");
}

#[test]
fn ctrl_z_and_fg_work() {
    let Some(tmux) = Tmux::new() else { return };
    let start = ["new-session", "-d", "-s", "pane", "-x", "80", "-y", "24", "-e", "PS1=> ", "--"];
    tmux.tell(&[&start[..], &["bash", "--norc", "--noprofile", "-i"]].concat());
    tmux.prompts("pane");
    let echo = tmux.lab.script("echo", "echo $$ >\"$HOME/pid\"; exec sed -u s/^/got-/");
    tmux.keys("pane", &[&format!("git-sandbox run box {}", echo.display()), "Enter"]);
    let pid = line_of(&tmux.lab.home.join("pid"));
    tmux.keys("pane", &["hello", "Enter"]);
    tmux.shows("pane", |lines| lines.contains(&"got-hello"));
    tmux.keys("pane", &["C-z"]);
    tmux.shows("pane", |lines| lines.iter().any(|line| line.contains("Stopped")));
    tmux.prompts("pane");
    tmux.keys("pane", &["echo code $?", "Enter"]);
    tmux.shows("pane", |lines| lines.contains(&"code 148"));
    // It is suspended, not gone.
    assert_ne!(tmux.lab.json(&["show", "box", "--json"])["in_use"], serde_json::json!([]));
    tmux.prompts("pane");
    let is_suspended = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap();
        stat.rsplit_once(") ").unwrap().1.starts_with('T')
    };
    assert!(is_suspended());
    tmux.keys("pane", &["fg", "Enter"]);
    until("it goes on", || !is_suspended());
    tmux.keys("pane", &["again", "Enter"]);
    tmux.shows("pane", |lines| lines.contains(&"got-again"));
    tmux.keys("pane", &["C-d"]);
    tmux.prompts("pane");
    tmux.keys("pane", &["echo code $?", "Enter"]);
    tmux.shows("pane", |lines| lines.contains(&"code 0"));
}

#[test]
fn a_shell_has_job_control() {
    let Some(tmux) = Tmux::new() else { return };
    let shell = tmux.lab.script("shell", "exec bash --norc --noprofile -i");
    let shell = format!("SHELL={}", shell.display());
    tmux.open(&["env", &shell, "PS1=> ", program_word(), "run", "box"]);
    tmux.shows("pane", |lines| {
        lines.starts_with(&["in sandbox 'box'; leave it with 'exit'"]) && lines.last() == Some(&">")
    });
    tmux.keys("pane", &["sleep 600", "Enter"]);
    let sleeps = || {
        let ask = ["display-message", "-p", "-t", "pane", "#{pane_current_command}"];
        until("sleep has the terminal", || tmux.tell(&ask) == "sleep");
    };
    sleeps();
    tmux.keys("pane", &["C-z"]);
    tmux.shows("pane", |lines| lines.iter().any(|line| line.contains("Stopped")));
    tmux.prompts("pane");
    tmux.keys("pane", &["fg", "Enter"]);
    sleeps();
    tmux.keys("pane", &["C-c"]);
    tmux.prompts("pane");
    tmux.keys("pane", &["exit 6", "Enter"]);
    assert_eq!(tmux.code(), "6\n");
}

#[test]
fn run_tmux_opens_a_window_each() {
    let Some(tmux) = Tmux::new() else { return };
    tmux.lab.new_sandbox(&["other", "A", "task"]);
    let first = tmux.waiter("box");
    assert_eq!(tmux.windows(), "box");
    let second = tmux.waiter("other");
    assert_eq!(tmux.windows(), "box\nother");
    assert_eq!(tmux.tell(&["list-sessions", "-F", "#{session_name}"]), "sandbox-app");
    tmux.lab.is_in_use_by(&[(first, "sh")]);
    assert!(!tmux.server_has(&tmux.lab.app().join(".git/worktrees")));
    assert!(!tmux.server_has(&tmux.lab.root()));
    tmux.lab.go("box", first);
    until("its window closes", || tmux.windows() == "other");
    tmux.lab.is_free();
    assert!(is_alive(second));
}

#[test]
fn a_full_screen_program_works_in_its_window() {
    let Some(tmux) = Tmux::new() else { return };
    tmux.run(&["run", "--tmux", "box", "less", "long"]).stderr(&opened("box")).ok();
    pages(&tmux, "=sandbox-app:box");
    until("its window closes", || {
        !tmux.ask(&["has-session", "-t", "=sandbox-app"]).status.success()
    });
    tmux.lab.is_free();
}

#[test]
fn words_reach_a_window_as_they_are() {
    let Some(tmux) = Tmux::new() else { return };
    tmux.lab.new_sandbox(&["box", "it's a {path} \"task\"\nof two lines;"]);
    tmux.lab.pipe("box.says");
    let script = "printf '<%s>' \"$@\" >\"$HOME/box.says\"";
    let words = ["$(touch x)", "#{pane_id}", "new\nline", "{task}", "-x", "a;b", "", "*"];
    tmux.run(&[&["run", "--tmux", "box", "--", "sh", "-c", script, "sh"], &words[..]].concat())
        .stderr(&opened("box"))
        .ok();
    let wanted = "<$(touch x)><#{pane_id}><new\nline>\
                  <it's a {path} \"task\"\nof two lines;><-x><a;b><><*>";
    assert_eq!(tmux.lab.says("box"), wanted);
}

#[test]
fn a_word_that_ends_in_a_semicolon_reaches_a_window() {
    let Some(tmux) = Tmux::new() else { return };
    tmux.lab.pipe("box.says");
    let script = "printf '<%s>' \"$@\" >\"$HOME/box.says\";";
    tmux.run(&["run", "--tmux", "box", "--", "sh", "-c", script, "sh", "a;", ";", "b\\;"])
        .stderr(&opened("box"))
        .ok();
    assert_eq!(tmux.lab.says("box"), "<a;><;><b\\;>");
}

#[test]
fn the_author_reaches_a_window() {
    let Some(tmux) = Tmux::new() else { return };
    tmux.lab.pipe("box.says");
    let script = "echo \"$GIT_AUTHOR_NAME $GIT_COMMITTER_EMAIL\" >\"$HOME/box.says\"";
    tmux.run(&["run", "--tmux", "--author", "Agent <a@b>", "box", "sh", "-c", script])
        .stderr(&opened("box"))
        .ok();
    assert_eq!(tmux.lab.says("box"), "Agent a@b\n");
}

#[test]
fn a_server_started_from_inside_a_sandbox_does_not_keep_it() {
    let Some(tmux) = Tmux::new() else { return };
    tmux.lab.new_sandbox(&["other"]);
    let words = tmux.lab.waiter("other");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let inside = [program_word(), "run", "--tmux", "other", "--"];
    tmux.run(&[&["run", "box", "--"][..], &inside, &words[..]].concat())
        .stderr(&opened("other"))
        .ok();
    let pid = tmux.lab.pid("other");
    tmux.run(&["stop", "box"]).stderr("nothing runs in sandbox 'box'\n").ok();
    assert!(is_alive(pid));
    assert_eq!(tmux.windows(), "other");
    tmux.lab.is_free();
    assert!(is_alive(pid));
}

#[test]
fn a_server_started_for_the_sandbox_one_is_in_does_not_hold_its_lock() {
    let Some(tmux) = Tmux::new() else { return };
    // Another session keeps the server going.
    let words = tmux.lab.waiter("box");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let keep = "tmux new-session -d -s mine sleep 600";
    let script = format!("\"$@\" && {keep}");
    let inside = ["sh", "-c", &script, "sh", program_word(), "run", "--tmux", "--"];
    tmux.run(&[&["run", "box", "--"][..], &inside, &words[..]].concat())
        .stderr(&opened("box"))
        .ok();
    let pid = tmux.lab.pid("box");
    tmux.lab.go("box", pid);
    until("its window closes", || {
        !tmux.ask(&["has-session", "-t", "=sandbox-app"]).status.success()
    });
    assert!(!tmux.server_has(&tmux.lab.app().join(".git/worktrees")));
}

#[test]
fn a_project_with_dots_has_a_session() {
    let Some(tmux) = Tmux::new() else { return };
    let app = tmux.lab.init("my.app:2", &[]);
    let run = |words: &[&str]| tmux.lab.run_in(&app, words).env("TMUX_TMPDIR", &tmux.lab.home);
    assert_eq!(run(&["new", "fix"]).output().status.code(), Some(0));
    for lead in ["", "sandbox 'fix' has sleep 0s at work already\n"] {
        run(&["run", "--tmux", "fix", "sleep", "600"])
            .stderr(&format!(
                "{lead}opened window 'fix' in tmux session 'sandbox-my_app_2'\n\
                 hint: tmux attach -t \"=sandbox-my_app_2\"\n"
            ))
            .ok();
    }
    let windows = ["list-windows", "-t", "=sandbox-my_app_2", "-F", "#{window_name}"];
    assert_eq!(tmux.tell(&windows), "fix\nfix");
}

#[test]
fn a_program_that_is_not_there_opens_no_window() {
    let Some(tmux) = Tmux::new() else { return };
    tmux.run(&["run", "--tmux", "box", "no-such-program"])
        .stderr("error: cannot run 'no-such-program': no such program\n")
        .code(127);
    assert!(!tmux.ask(&["has-session", "-t", "=sandbox-app"]).status.success());
}

#[test]
fn without_tmux_it_says_so() {
    let (lab, _) = Lab::with_box();
    let path = lab.fake_git("exec \"$GIT\" \"$@\"");
    let only = path.split(':').next().unwrap();
    for program in ["sh", "true"] {
        std::os::unix::fs::symlink(Path::new("/bin").join(program), Path::new(only).join(program))
            .unwrap();
    }
    lab.program(&lab.app(), &["run", "--tmux", "box", "true"])
        .env("PATH", only)
        .stderr(
            "error: cannot open a tmux window: tmux is not on PATH\n\
             hint: install tmux, or use 'git sandbox run --background'\n",
        )
        .refused();
}
