//! The fixture: a home of its own for every test, and exact expectations.
//!
//! The environment is cleared: own HOME, no system or global config but the test's, fixed dates, a
//! fixed clock. Expectations compare stdout, stderr and exit code at once. In them `$HOME`, `$APP`
//! (the repository) and `$ROOT` (where its sandboxes go) stand for the real paths, and what is got
//! has `<name>-ID` where a random id was.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// The clock of every test.
pub const NOW: &str = "2026-01-31T12:00:00Z";

/// Nothing here takes this long.
const PATIENCE: Duration = Duration::from_secs(20);

/// A home with, usually, a repository `app` that has one commit on `main`.
pub struct Test {
    _dir: TempDir,
    pub home: PathBuf,
}

impl Test {
    /// A home and nothing else.
    pub fn bare() -> Test {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let config = "[user]\n\tname = A U Thor\n\temail = author@example.com\n\
                      [init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n\
                      [protocol \"file\"]\n\tallow = always\n[maintenance]\n\tauto = false\n";
        fs::write(home.join(".gitconfig"), config).unwrap();
        Test { _dir: dir, home }
    }

    /// A home with the repository.
    pub fn new() -> Test {
        let test = Test::bare();
        test.init("app", &[]);
        test
    }

    /// Makes a repository with one commit.
    pub fn init(&self, folder: &str, options: &[&str]) -> PathBuf {
        let path = self.home.join(folder);
        fs::create_dir_all(&path).unwrap();
        self.git_in(&path, &[&["init", "--quiet"], options].concat());
        write(&path.join("file"), "one\n");
        self.git_in(&path, &["add", "file"]);
        self.git_in(&path, &["commit", "--quiet", "-m", "one"]);
        path
    }

    /// The repository's folder.
    pub fn app(&self) -> PathBuf {
        self.home.join("app")
    }

    /// Where its sandboxes go.
    pub fn root(&self) -> PathBuf {
        self.home.join(".cache/git-sandbox/worktrees/app")
    }

    /// One of its sandboxes.
    pub fn at(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// A program in the sealed environment.
    pub fn command(&self, program: impl AsRef<OsStr>, dir: &Path) -> Command {
        let mut command = Command::new(program);
        let binary = assert_cmd::cargo::cargo_bin!("git-sandbox").parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        command
            .env_clear()
            .env("PATH", format!("{}:{path}", binary.display()))
            .env("HOME", &self.home)
            .env("TMPDIR", std::env::temp_dir())
            .env("LC_ALL", "C.UTF-8")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", self.home.join(".gitconfig"))
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_SANDBOX_NOW", NOW)
            .env("GIT_SANDBOX_AUTO_REAP", "0")
            .stdin(Stdio::null())
            .current_dir(dir);
        // tests/coverage counts what runs.
        if let Some(counts) = std::env::var_os("LLVM_PROFILE_FILE") {
            command.env("LLVM_PROFILE_FILE", counts);
        }
        command
    }

    /// Plain git in the repository; it must succeed. Its stdout, without the last line feed.
    pub fn git(&self, words: &[&str]) -> String {
        self.git_in(&self.app(), words)
    }

    /// Plain git in a folder.
    pub fn git_in(&self, dir: &Path, words: &[&str]) -> String {
        let output = self.command("git", dir).args(words).output().unwrap();
        assert!(
            output.status.success(),
            "git {words:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8_lossy(&output.stdout);
        text.strip_suffix('\n').unwrap_or(&text).to_owned()
    }

    /// `git sandbox ...` in the repository.
    pub fn run<S: AsRef<OsStr>>(&self, words: &[S]) -> Run<'_> {
        self.run_in(&self.app(), words)
    }

    /// `git sandbox ...` in a folder.
    pub fn run_in<S: AsRef<OsStr>>(&self, dir: &Path, words: &[S]) -> Run<'_> {
        let mut command = self.command("git", dir);
        command.arg("sandbox").args(words);
        Run { test: self, command, stdout: String::new(), stderr: String::new() }
    }

    /// Another program, with the same exact expectations.
    pub fn run_command(&self, command: Command) -> Run<'_> {
        Run { test: self, command, stdout: String::new(), stderr: String::new() }
    }

    /// The program itself, without git in between.
    pub fn program<S: AsRef<OsStr>>(&self, dir: &Path, words: &[S]) -> Run<'_> {
        let mut command = self.command(assert_cmd::cargo::cargo_bin!("git-sandbox"), dir);
        command.args(words);
        self.run_command(command)
    }

    /// A folder with a script called `git`, which finds the real one in `$GIT`, to be put on PATH.
    pub fn fake_git(&self, text: &str) -> String {
        let path = std::env::var("PATH").unwrap();
        let real = path.split(':').map(|dir| Path::new(dir).join("git")).find(|git| git.is_file());
        let real = real.unwrap();
        let fake = self.script("fake/git", &format!("GIT={}\n{text}", real.display()));
        format!("{}:{path}", fake.parent().unwrap().display())
    }

    /// Makes a sandbox; whatever is said. Its path.
    pub fn new_sandbox(&self, words: &[&str]) -> PathBuf {
        let output = self.run(&[&["new"], words].concat()).output();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end_matches('\n'))
    }

    /// The JSON that `git sandbox ...` answers.
    pub fn json(&self, words: &[&str]) -> serde_json::Value {
        let output = self.run(words).output();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Commits a file in a folder. The commit's id.
    pub fn commit(&self, dir: &Path, file: &str, text: &str) -> String {
        write(&dir.join(file), text);
        self.git_in(dir, &["add", "--", file]);
        self.git_in(dir, &["commit", "--quiet", "-m", text.trim_end()]);
        self.git_in(dir, &["rev-parse", "HEAD"])
    }

    /// A remote of the repository that has, besides `main`, a branch with a commit of its own.
    pub fn remote(&self, name: &str, branch: &str) -> String {
        let path = self.init(name, &[]);
        self.git_in(&path, &["checkout", "--quiet", "-b", branch]);
        let commit = self.commit(&path, "theirs", name);
        self.git(&["remote", "add", name, &path.to_string_lossy()]);
        self.git(&["fetch", "--quiet", name]);
        commit
    }

    /// Makes an executable script.
    pub fn script(&self, path: &str, text: &str) -> PathBuf {
        let path = self.home.join(path);
        let draft = path.with_extension("draft");
        write(&draft, &format!("#!/bin/sh\n{text}\n"));
        chmod(&draft, 0o755);
        copy_program(&draft, &path);
        fs::remove_file(&draft).unwrap();
        path
    }

    /// What stands in the repository's folder of sandboxes.
    pub fn sandboxes(&self) -> Vec<String> {
        names_in(&self.root())
    }

    /// The paths of the linked worktrees, as git lists them.
    pub fn linked(&self) -> Vec<String> {
        let text = self.git(&["worktree", "list", "--porcelain"]);
        let paths = text.lines().filter_map(|line| line.strip_prefix("worktree "));
        paths.skip(1).map(str::to_owned).collect()
    }

    /// The local branches.
    pub fn branches(&self) -> Vec<String> {
        let text = self.git(&["for-each-ref", "--format=%(refname:strip=2)", "refs/heads"]);
        text.lines().map(str::to_owned).collect()
    }

    /// Whether the tests run as root, who may give files away.
    pub fn am_root(&self) -> bool {
        fs::metadata(&self.home).unwrap().uid() == 0
    }

    /// Branches, worktrees, status and every file of the main checkout: what must not change.
    pub fn snapshot(&self) -> String {
        let git = |words: &[&str]| self.git(words);
        let mut text = git(&["for-each-ref"]) + "\n";
        text += &git(&["worktree", "list", "--porcelain"]);
        text += &git(&["status", "--porcelain=v2", "--branch", "--ignored"]);
        text += &fs::read_to_string(self.app().join(".git/config")).unwrap();
        text + &tree(&self.app(), &["sandbox.lock"])
    }

    fn expand(&self, text: &str) -> String {
        let root = self.root().to_string_lossy().into_owned();
        let (app, home) = (self.app(), &self.home);
        text.replace("$ROOT", &root)
            .replace("$APP", &app.to_string_lossy())
            .replace("$HOME", &home.to_string_lossy())
    }
}

/// What a folder holds, sorted; nothing where there is none.
pub fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Copies a program by another process: while a thread of ours had it open to write, the child that
/// another thread is just starting would have it open too, and nobody could run it.
pub fn copy_program(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
}

/// Sets the mode of a file or folder.
pub fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Sets the time of a file or folder, to a day of 2026's January.
pub fn set_day(path: &Path, day: u32) {
    let time: chrono::DateTime<chrono::Utc> =
        format!("2026-01-{day:02}T00:00:00Z").parse().unwrap();
    fs::File::open(path).unwrap().set_modified(time.into()).unwrap();
}

/// Writes a file, and makes its folder if need be.
pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Every path below a folder with its kind, mode and content, sorted; but not inside `.git/objects`.
pub fn tree(top: &Path, ignored: &[&str]) -> String {
    let mut lines = Vec::new();
    let mut todo = vec![top.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(&dir).unwrap().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if ignored.iter().any(|ignored| name == *ignored) || path.ends_with(".git/objects") {
                continue;
            }
            let meta = fs::symlink_metadata(&path).unwrap();
            let mode = meta.permissions().mode();
            let content = match () {
                () if meta.is_symlink() => {
                    format!("-> {}", fs::read_link(&path).unwrap().display())
                }
                () if meta.is_dir() => String::from("/"),
                () => format!("{:?}", String::from_utf8_lossy(&fs::read(&path).unwrap())),
            };
            if meta.is_dir() {
                todo.push(path.clone());
            }
            lines.push(format!("{} {mode:o} {content}", path.strip_prefix(top).unwrap().display()));
        }
    }
    lines.sort();
    lines.join("\n")
}

/// The text with random ids, `<name>-<8 hex>`, as `<name>-ID`; but not what is wanted to the letter.
pub fn without_ids(text: &str, wanted: &str) -> String {
    let digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let mut pieces = text.split('-');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let bytes = piece.as_bytes();
        let is_id = bytes.iter().take_while(|byte| digit(byte)).count() == 8
            && !bytes.get(8).is_some_and(u8::is_ascii_alphanumeric)
            && !wanted.contains(&piece[..8]);
        plain += if is_id { "-ID" } else { "-" };
        plain += if is_id { &piece[8..] } else { piece };
    }
    plain
}

/// A run with what it must print. Nothing expected means nothing printed.
#[must_use]
pub struct Run<'a> {
    test: &'a Test,
    command: Command,
    stdout: String,
    stderr: String,
}

impl Run<'_> {
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Expects this on stdout.
    pub fn stdout(mut self, text: &str) -> Self {
        self.stdout = self.test.expand(text);
        self
    }

    /// Expects this on stderr.
    pub fn stderr(mut self, text: &str) -> Self {
        self.stderr = self.test.expand(text);
        self
    }

    /// Runs it; it must exit with 0.
    pub fn ok(self) {
        self.code(0);
    }

    /// Runs it; it must exit so.
    pub fn code(mut self, code: i32) {
        let output = finished(&mut self.command);
        let got = (
            output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap()),
            without_ids(&String::from_utf8_lossy(&output.stdout), &self.stdout),
            without_ids(&String::from_utf8_lossy(&output.stderr), &self.stderr),
        );
        let wanted = (code, self.stdout, self.stderr);
        assert!(
            got == wanted,
            "{:?}\n--- got {}\n{}{}--- wanted {}\n{}{}",
            self.command,
            got.0,
            got.1,
            got.2,
            wanted.0,
            wanted.1,
            wanted.2
        );
    }

    /// Runs it; it must exit with 1, change nothing in the repository and make nothing at home.
    pub fn refused(self) {
        let test = self.test;
        let state = || test.snapshot() + &tree(&test.home, &["sandbox.lock"]);
        let before = state();
        self.code(1);
        assert_eq!(state(), before);
    }

    /// Runs it, whatever it does.
    pub fn output(mut self) -> Output {
        finished(&mut self.command)
    }
}

/// Runs a program to its end. One that hangs is killed with all that it started, and fails the test.
pub fn finished(command: &mut Command) -> Output {
    let child = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    ended(child.unwrap())
}

/// The same for one that was started, in a group of its own.
pub fn ended(child: Child) -> Output {
    let group = format!("-{}", child.id());
    let kill = || drop(Command::new("kill").args(["-9", "--", &group]).status());
    within(move || child.wait_with_output().unwrap(), kill)
}

/// What blocks only if something is wrong.
pub fn within<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
    give_up: impl FnOnce(),
) -> T {
    let (done, waiting) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    waiting.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        give_up();
        panic!("it hangs");
    })
}
