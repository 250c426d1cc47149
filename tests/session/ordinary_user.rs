//! In use as an ordinary user sees it, who cannot look into the processes of others.
//!
//! Tests that run as root become another user for it; others are one already.

use crate::fixture::built::program;
use crate::fixture::state::private;
use std::os::unix::fs::lchown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::fixture::Run;
use crate::fixture::files::{chmod, copy_program, names_in, write};
use crate::fixture::lab::{Lab, in_words};
use crate::fixture::process::ended;
use crate::fixture::time::set_day;

const NOBODY: u32 = 65534;

/// A home that belongs to the user, with the program in it, and a sandbox `box`.
struct User {
    lab: Lab,
    is_other: bool,
}

impl User {
    #[track_caller]
    fn new() -> User {
        let lab = Lab::new();
        std::fs::create_dir(lab.home.join("bin")).unwrap();
        copy_program(program(), &lab.home.join("bin/git-sandbox"));
        let is_other = lab.am_root();
        let user = User { lab, is_other };
        user.give(&user.lab.home);
        user.run(&["new", "box"])
            .stdout("$ROOT/box\n")
            .stderr("created sandbox 'box': new branch 'box' from 'main'\n")
            .ok();
        user
    }

    /// Gives a file, or a folder with all that it holds, to the user.
    fn give(&self, path: &Path) {
        if !self.is_other {
            return;
        }
        lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        if path.is_dir() && !path.is_symlink() {
            for entry in std::fs::read_dir(path).unwrap().flatten() {
                self.give(&entry.path());
            }
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];
        let words = [if self.is_other { &other[..] } else { &[] }, words].concat();
        let mut command = self.lab.command(words[0], &self.lab.app());
        let (bin, path) = (self.lab.home.join("bin"), std::env::var("PATH").unwrap());
        command.args(&words[1..]).env("PATH", format!("{}:{path}", bin.display()));
        // Where tests/coverage counts, this user may not write.
        command.env("LLVM_PROFILE_FILE", "/dev/null");
        command
    }

    fn run(&self, words: &[&str]) -> Run<'_> {
        self.lab.run_command(self.command(&[&["git", "sandbox"], words].concat()))
    }

    /// Starts a waiter in the sandbox; the process ids of the runner and of the waiter.
    fn start(&self) -> (Child, u32) {
        let words = self.lab.waiter("box");
        for pipe in ["box.says", "box.go"] {
            self.give(&self.lab.home.join(pipe));
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = self.command(&[&["git-sandbox", "run", "box"], &words[..]].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.process_group(0).spawn().unwrap();
        let pid = self.lab.pid("box");
        (child, pid)
    }

    #[track_caller]
    fn is_refused(&self, users: &[(u32, &str)]) {
        let users = in_words(users);
        set_day(&self.lab.at("box"), 2);
        for words in [&["rm", "box"][..], &["rm", "--force", "box"]] {
            self.run(words)
                .stderr(&format!(
                    "error: cannot remove 'box': in use by {users}\n\
                     hint: to end what was started there: git sandbox stop --rm box\n\
                     hint: to move it to the trash as it is: git sandbox rm --force --force box\n"
                ))
                .code(1);
        }
        self.run(&["reap", "--older-than", "5"])
            .stdout(&format!("box: skipped: in use by {users}\n"))
            .stderr("0 retired, 1 kept, 0 put away; 0.0 KiB can be freed\n")
            .ok();
        assert!(self.lab.at("box/file").exists());
    }

    #[track_caller]
    fn is_free(&self) {
        self.run(&["rm", "box"])
            .stderr("removed 'box' (nothing to lose); undo with: git sandbox restore box-ID\n")
            .ok();
        assert!(!self.lab.at("box").exists());
    }
}

#[test]
fn the_users_own_command_keeps_it_also_without_its_runner() {
    let user = User::new();
    let (mut child, pid) = user.start();
    user.is_refused(&[(pid, "sh")]);
    let state = || {
        let output = user.run(&["show", "box", "--json"]).output();
        let facts: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        facts["run"]["state"].clone()
    };
    child.kill().unwrap();
    child.wait().unwrap();
    user.is_refused(&[(pid, "sh")]);
    assert_eq!(state(), "running");
    user.lab.go("box", pid);
    assert_eq!(state(), "died");
    user.is_free();
}

#[test]
fn the_users_command_is_stopped() {
    let user = User::new();
    let (child, pid) = user.start();
    user.run(&["stop", "box"]).stderr("stopped 1 process in sandbox 'box'\n").ok();
    assert!(!crate::fixture::process::is_alive(pid));
    assert_eq!(ended(child).status.code(), Some(143));
    user.is_free();
}

#[test]
fn processes_of_others_that_cannot_be_read_do_not_count() {
    let user = User::new();
    // Root's, if we may be root; there are always some that sit elsewhere.
    let dir = if user.is_other { user.lab.at("box") } else { user.lab.home.clone() };
    let mut other = user.lab.foreign(&dir, &["sleep", "600"]);
    user.is_free();
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_file_that_cannot_be_copied_is_said_and_the_sandbox_stays() {
    let user = User::new();
    let app = user.lab.app();
    write(&app.join(".git/info/exclude"), ".env\n.worktreeinclude\n");
    write(&app.join(".worktreeinclude"), ".env\n");
    write(&app.join(".env"), "secret\n");
    chmod(&app.join(".env"), 0);
    user.give(&app);
    user.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr(
            "created sandbox 'fix': new branch 'fix' from 'main'\n\
             warning: cannot copy to '$ROOT/fix/.env': permission denied; the sandbox stays\n",
        )
        .code(1);
    assert_eq!(names_in(&user.lab.at("fix")), [".git", "file"]);
    user.run(&["new", "fix"]).stdout("$ROOT/fix\n").stderr("resumed sandbox 'fix'\n").ok();
}

#[test]
fn a_lock_whose_holder_cannot_be_read_counts() {
    let user = User::new();
    let lock = private(&user.lab.app(), "box").join("sandbox.lock");
    let file = std::fs::File::create(&lock).unwrap();
    user.give(&lock);
    file.lock_shared().unwrap();
    let who = if user.is_other {
        "another process".to_owned()
    } else {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", std::process::id())).unwrap();
        format!("{} {}", std::process::id(), name.trim_end())
    };
    user.run(&["rm", "box"])
        .stderr(&format!(
            "error: cannot remove 'box': in use by {who}\n\
             hint: to end what was started there: git sandbox stop --rm box\n\
             hint: to move it to the trash as it is: git sandbox rm --force --force box\n"
        ))
        .code(1);
    drop(file);
    user.is_free();
}

/// git passes over a repository whose objects it may not search, and takes the one around it.
#[test]
fn a_repository_that_git_passes_over_is_not_this_one() {
    let user = User::new();
    let inner = user.lab.app().join("inner");
    user.lab.git_in(&user.lab.app(), &["init", "--quiet", "inner"]);
    std::fs::create_dir(inner.join(".git/sandbox")).unwrap();
    write(&inner.join(".git/sandbox/lock"), "");
    user.give(&inner);
    chmod(&inner.join(".git/objects"), 0o600);
    let mut command = user.command(&["git-sandbox", "new", "more"]);
    let output = command.current_dir(&inner).output().unwrap();
    chmod(&inner.join(".git/objects"), 0o700);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let wanted = user.lab.root().join("more");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{}\n", wanted.display()));
    assert_eq!(std::fs::read_to_string(inner.join(".git/sandbox/lock")).unwrap(), "");
}
