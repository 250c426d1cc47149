//! What the tests of running commands share: commands that say who they are and wait to be told,
//! and a home whose processes end with the test.

use std::fs::{self, File};
use std::ops::Deref;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::repo::{Test, within};

/// The program itself: through `git`, the exit code after a signal is git's own.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_git-sandbox");

/// A test whose processes are ended before its home goes.
pub struct Lab {
    _ends: Ends,
    test: Test,
}

impl Deref for Lab {
    type Target = Test;

    fn deref(&self) -> &Test {
        &self.test
    }
}

impl Lab {
    /// A home with the repository.
    pub fn new() -> Lab {
        Lab::of(Test::new())
    }

    /// A home as it is.
    pub fn of(test: Test) -> Lab {
        Lab { _ends: Ends(test.home.clone()), test }
    }

    /// A home with the repository and one sandbox, `box`.
    pub fn with_box() -> (Lab, PathBuf) {
        let lab = Lab::new();
        let path = lab.new_sandbox(&["box"]);
        (lab, path)
    }

    /// Makes a named pipe at home.
    pub fn pipe(&self, name: &str) -> PathBuf {
        let made = self.command("mkfifo", &self.home).arg(name).status().unwrap();
        assert!(made.success());
        self.home.join(name)
    }

    /// The words of a command that says its process id, waits for `go` and exits with 7.
    pub fn waiter(&self, name: &str) -> [String; 4] {
        self.pipe(&format!("{name}.says"));
        self.pipe(&format!("{name}.go"));
        let script = "echo $$ >\"$HOME/$0.says\"; read x <\"$HOME/$0.go\"; exit 7";
        ["sh".into(), "-c".into(), script.into(), name.into()]
    }

    /// Waits until a waiter runs. Its process id.
    pub fn pid(&self, name: &str) -> u32 {
        self.says(name).trim().parse().unwrap()
    }

    /// What somebody writes to the pipe `<name>.says`.
    pub fn says(&self, name: &str) -> String {
        let pipe = self.home.join(format!("{name}.says"));
        within(|| fs::read_to_string(pipe).unwrap(), || ())
    }

    /// Lets a waiter end, and waits until it has.
    pub fn go(&self, name: &str, pid: u32) {
        let pipe = self.home.join(format!("{name}.go"));
        within(|| drop(File::options().write(true).open(pipe).unwrap()), || ());
        gone(pid);
    }

    /// Starts the program in a group of its own.
    pub fn start(&self, words: &[&str]) -> Child {
        let mut command = self.command(PROGRAM, &self.app());
        command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).spawn().unwrap()
    }

    /// Starts `run <name>` of a waiter that is called as the sandbox is; both process ids.
    pub fn start_waiter(&self, name: &str) -> (Child, u32) {
        let words = self.waiter(name);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let child = self.start(&[&["run", name, "--"], &words[..]].concat());
        let pid = self.pid(name);
        (child, pid)
    }

    /// Starts another program in a folder, which nobody but this test ends.
    pub fn foreign(&self, dir: &Path, words: &[&str]) -> Child {
        let mut command = self.command(words[0], dir);
        command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null());
        command.process_group(0).spawn().unwrap()
    }

    /// `rm`, `rm --force` and `reap` refuse `box` because of these, and change nothing.
    pub fn is_in_use_by(&self, users: &[(u32, &str)]) {
        let users = in_words(users);
        let refusal = format!(
            "error: cannot remove 'box': in use by {users}\n\
             hint: to move it to the trash as it is: git sandbox rm --force --force box\n"
        );
        crate::repo::set_day(&self.at("box"), 2);
        let state = || (self.linked(), crate::repo::tree(&self.at("box"), &[]));
        let before = state();
        self.run(&["rm", "box"]).stderr(&refusal).code(1);
        self.run(&["rm", "--force", "box"]).stderr(&refusal).code(1);
        self.run(&["reap", "--older-than", "5"])
            .stdout(&format!("box: skipped: in use by {users}\n"))
            .stderr("0 retired, 1 kept, 0 purged; 0.0 KiB can be freed\n")
            .ok();
        assert_eq!(state(), before);
    }

    /// `rm` takes it.
    pub fn is_free(&self) {
        let branches = self.branches();
        self.run(&["rm", "box"])
            .stderr("removed 'box' (nothing to lose); undo with: git sandbox restore box-ID\n")
            .ok();
        assert!(!self.at("box").exists());
        assert_eq!(self.branches(), branches);
    }
}

/// `<pid> <command>` of each, as they are listed.
pub fn in_words(users: &[(u32, &str)]) -> String {
    let mut users = users.to_vec();
    users.sort_unstable();
    let users: Vec<_> = users.iter().map(|(pid, command)| format!("{pid} {command}")).collect();
    users.join(", ")
}

/// Waits for something that happens only once others got that far.
#[track_caller]
pub fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < Duration::from_secs(20), "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process runs; one that ended and was not waited for does not.
pub fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits until a process has ended.
#[track_caller]
pub fn gone(pid: u32) {
    until("a process ends", || !is_alive(pid));
}

/// Sends a signal to one process.
pub fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

/// The text of a file that somebody writes, once it has a whole line.
pub fn line_of(path: &Path) -> String {
    let mut text = String::new();
    until(&format!("{} is written", path.display()), || {
        text = fs::read_to_string(path).unwrap_or_default();
        text.ends_with('\n')
    });
    text
}

/// The processes whose home is the test's: nobody else's is.
fn processes_of(home: &Path) -> Vec<u32> {
    let wanted = format!("HOME={}", home.display()).into_bytes();
    let of_test = |pid: &u32| {
        let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == wanted)
    };
    let names = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).filter(of_test).collect()
}

/// Ends what a test leaves running.
struct Ends(PathBuf);

impl Drop for Ends {
    fn drop(&mut self) {
        for _ in 0..100 {
            let left: Vec<_> =
                processes_of(&self.0).into_iter().filter(|pid| is_alive(*pid)).collect();
            if left.is_empty() {
                return;
            }
            for pid in left.into_iter().filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
