//! The fixture: a home of its own for every test, and exact expectations.
//!
//! The environment is cleared: own HOME, no system or global config but the test's, fixed dates, a
//! fixed clock. Expectations compare stdout, stderr and exit code at once. In them `$HOME`, `$APP`
//! (the repository) and `$ROOT` (where its sandboxes go) stand for the real paths, and what is got
//! has `<name>-ID` where a random id was.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The clock of every test.
pub const NOW: &str = "2026-01-31T12:00:00Z";

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
                      [protocol \"file\"]\n\tallow = always\n";
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
        let binary = Path::new(env!("CARGO_BIN_EXE_git-sandbox")).parent().unwrap();
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
            .stdin(Stdio::null())
            .current_dir(dir);
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

/// Writes a file, and makes its folder if need be.
pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Every path below a folder with its kind, mode and content, sorted; but not inside `.git/objects`.
pub fn tree(top: &Path, ignored: &[&str]) -> String {
    use std::os::unix::fs::PermissionsExt;
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

/// The text with random ids, `<name>-<8 hex>`, as `<name>-ID`.
pub fn without_ids(text: &str) -> String {
    let digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let mut pieces = text.split('-');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let bytes = piece.as_bytes();
        let is_id = bytes.iter().take_while(|byte| digit(byte)).count() == 8
            && !bytes.get(8).is_some_and(u8::is_ascii_alphanumeric);
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
        let output = self.command.output().unwrap();
        let got = (
            output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap()),
            without_ids(&String::from_utf8_lossy(&output.stdout)),
            without_ids(&String::from_utf8_lossy(&output.stderr)),
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

    /// Runs it, whatever it does.
    pub fn output(mut self) -> Output {
        self.command.output().unwrap()
    }
}
