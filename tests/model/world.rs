//! The world of one run: a home with one or two repositories of the same name, in a sealed environment.
//!
//! Everything is read off the file system, not asked of the program under test.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use chrono::{DateTime, TimeDelta, Utc};

use crate::count::Counts;
use crate::plan::{Disk, Setting};
use crate::script;

/// What all runs share.
pub struct Tools {
    /// Where runs have their folders.
    pub folder: PathBuf,
    /// A home with its repositories, to be copied.
    pub template: PathBuf,
    /// A folder with a `git` that misbehaves.
    pub fake: PathBuf,
    /// A library that notes what is synced.
    pub power: PathBuf,
    /// The levels of confinement that this machine has.
    pub walls: Vec<script::How>,
    /// The gits, taken in turn.
    pub gits: Vec<PathBuf>,
    /// The program.
    pub program: PathBuf,
    pub can_mount: bool,
    pub counts: Counts,
    /// The time at which every run starts.
    pub start: DateTime<Utc>,
}

pub struct World<'a> {
    pub tools: &'a Tools,
    pub folder: PathBuf,
    pub home: PathBuf,
    /// The repositories' folders.
    pub repos: Vec<PathBuf>,
    pub git: PathBuf,
    pub now: Cell<DateTime<Utc>>,
    pub mounted: Option<PathBuf>,
    /// Whether some git was killed at its work.
    pub killed: Cell<bool>,
    /// Whether something may have been put away, which frees ignored files.
    pub reaped: Cell<bool>,
    /// Branches that scripts may move on.
    pub scripted: RefCell<HashSet<(usize, String)>>,
    /// Sandboxes that were to get the changes of the main checkout.
    pub carried: RefCell<HashSet<(usize, String)>>,
    /// Whether a power loss took records of runs, which are not synced.
    pub forgot: Cell<bool>,
    /// Whether a repository was out of reach.
    pub was_away: Cell<bool>,
    pub odd: RefCell<Odd>,
}

/// What makes git see things otherwise.
#[derive(Default)]
pub struct Odd {
    /// Repositories and what they are set to.
    pub settings: HashSet<(usize, Setting)>,
    /// Repositories with a rule to ignore more.
    pub excluded: HashSet<usize>,
    /// Whether any of that ever was so: then what git says about the files may differ between two looks,
    /// and only their bytes tell.
    pub ever: bool,
}

/// A linked worktree as its entry tells.
#[derive(Debug)]
pub struct Tree {
    pub entry: PathBuf,
    /// Where its folder should be.
    pub path: PathBuf,
    pub locked: Option<String>,
}

/// A folder of the trash.
pub struct Trashed {
    pub folder: PathBuf,
    pub journal: Option<serde_json::Value>,
    /// The entry that its tree names.
    pub entry: Option<PathBuf>,
}

impl World<'_> {
    pub fn new(tools: &Tools, run: u64, repositories: usize, disk: Disk) -> World<'_> {
        let folder = tools.folder.join(format!("run-{run}"));
        let home = folder.join("home");
        fs::create_dir_all(&home).unwrap();
        let turn = usize::try_from(run).unwrap() % tools.gits.len();
        let mounted = match disk {
            Disk::None => None,
            Disk::Home => Some(home.clone()),
            Disk::Root => Some(home.join(".cache/git-sandbox")),
        };
        let mounted = mounted.filter(|_| tools.can_mount);
        if let Some(point) = &mounted {
            fs::create_dir_all(point).unwrap();
            let words = ["-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs"];
            assert!(Command::new("mount").args(words).arg(point).status().unwrap().success());
        }
        copy(&tools.template, &home);
        let repos: Vec<PathBuf> =
            ["one/app", "two/app"][..repositories].iter().map(|repo| home.join(repo)).collect();
        for repo in &repos {
            let lib = repo.with_file_name("lib");
            if repo.ends_with("two/app") {
                copy(&home.join("one"), &home.join("two"));
            }
            let mut config = File::options().append(true).open(repo.join(".git/config")).unwrap();
            let url = lib.display();
            writeln!(config, "[submodule \"sub\"]\n\tactive = true\n\turl = {url}").unwrap();
        }
        fs::create_dir(home.join("tmp")).unwrap();
        let (git, killed) = (tools.gits[turn].clone(), Cell::new(false));
        let reaped = Cell::new(false);
        World {
            tools,
            folder,
            home,
            repos,
            git,
            now: Cell::new(tools.start),
            mounted,
            killed,
            reaped,
            scripted: RefCell::default(),
            carried: RefCell::default(),
            forgot: Cell::new(false),
            was_away: Cell::new(false),
            odd: RefCell::default(),
        }
    }

    pub fn root(&self) -> PathBuf {
        self.home.join(".cache/git-sandbox/worktrees")
    }

    /// Lets days go by.
    pub fn wait_days(&self, days: i64) {
        self.now.set(self.now.get() + TimeDelta::days(days));
    }

    /// A program in the sealed environment.
    pub fn command(&self, program: impl AsRef<OsStr>, dir: &Path) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap();
        let now = self.now.get().to_rfc3339();
        command
            .env_clear()
            .env("PATH", format!("{}:{path}", self.git.parent().unwrap().display()))
            .env("HOME", &self.home)
            .env("TMPDIR", self.home.join("tmp"))
            .env("LC_ALL", "C.UTF-8")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_DATE", &now)
            .env("GIT_COMMITTER_DATE", &now)
            .env("GIT_SANDBOX_NOW", &now)
            .env("GIT_SANDBOX_AUTO_REAP", "0")
            .stdin(Stdio::null())
            .current_dir(dir);
        command
    }

    /// Plain git.
    pub fn ask(&self, dir: &Path, words: &[&str]) -> Output {
        let output = self.command(&self.git, dir).args(words).output().unwrap();
        if !output.status.success() {
            self.log(&format!("git {words:?}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        output
    }

    /// Whether plain git succeeds.
    pub fn does(&self, dir: &Path, words: &[&str]) -> bool {
        self.ask(dir, words).status.success()
    }

    /// What plain git says, if it succeeds.
    pub fn says(&self, dir: &Path, words: &[&str]) -> Option<String> {
        let output = self.ask(dir, words);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }

    /// Where the story of the run is written.
    pub fn log_path(&self) -> PathBuf {
        self.folder.join("log")
    }

    pub fn log_file(&self) -> File {
        File::options().create(true).append(true).open(self.log_path()).unwrap()
    }

    pub fn log(&self, text: &str) {
        writeln!(self.log_file(), "{}", text.trim_end()).unwrap();
    }

    /// Every linked worktree that a repository has an entry for.
    pub fn trees(&self, repo: usize) -> Vec<Tree> {
        let entries = folders_in(&self.repos[repo].join(".git/worktrees"));
        let trees = entries.into_iter().map(|entry| {
            let path = fs::read_to_string(entry.join("gitdir")).unwrap_or_default();
            let path = PathBuf::from(path.trim_end().strip_suffix("/.git").unwrap_or_default());
            let locked = fs::read_to_string(entry.join("locked")).ok();
            Tree { entry, path, locked }
        });
        trees.collect()
    }

    /// The folders of the trash.
    pub fn trash(&self) -> Vec<Trashed> {
        let folders = folders_in(&self.root().join(".trash")).into_iter().map(|folder| {
            let journal = fs::read(folder.join("journal.json")).ok();
            let journal = journal.and_then(|bytes| serde_json::from_slice(&bytes).ok());
            // A crash may have come between the rename of a private git dir and its pointer.
            let named = entry_of(&folder.join("tree")).filter(|entry| entry.is_dir());
            let entry = named.or_else(|| self.private(&folder));
            Trashed { folder, journal, entry }
        });
        folders.collect()
    }

    /// The private git dir of a removed sandbox that has no files.
    fn private(&self, folder: &Path) -> Option<PathBuf> {
        let id = folder.file_name().unwrap();
        let places = self.repos.iter().map(|repo| repo.join(".git/sandbox").join(id));
        places.into_iter().find(|private| private.is_dir())
    }

    /// Whether the vault has the item of a private git dir.
    pub fn is_stored(&self, private: &Path) -> bool {
        let id = private.file_name().unwrap();
        self.root().join(".vault.git/refs/vault").join(id).exists()
    }

    /// Every private git dir out of git's registry.
    pub fn privates(&self, repo: usize) -> Vec<PathBuf> {
        folders_in(&self.repos[repo].join(".git/sandbox"))
    }

    /// Processes of this world that still run; those that sit in a sandbox only if all are meant.
    pub fn processes(&self, all: bool) -> Vec<i32> {
        let mark = format!("HOME={}", self.home.display()).into_bytes();
        let found = fs::read_dir("/proc").unwrap().flatten();
        let pids = found.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let ours = pids.filter(|pid| {
            let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let has = |wanted: &[u8]| variables.split(|byte| *byte == 0).any(|it| it == wanted);
            has(&mark) && (all || !has(b"TORTURE_SITS=1"))
        });
        ours.collect()
    }

    /// Ends whatever still runs.
    pub fn end_all(&self) {
        loop {
            let left = self.processes(true);
            if left.is_empty() {
                return;
            }
            for pid in left.into_iter().filter_map(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    pub fn unmount(&self) {
        let Some(point) = &self.mounted else { return };
        for _ in 0..50 {
            if Command::new("umount").arg(point).stderr(Stdio::null()).status().unwrap().success() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        eprintln!("cannot unmount {}", point.display());
    }
}

impl Tree {
    /// Whether its folder is in its place and nobody is moving it.
    pub fn is_live(&self) -> bool {
        !self.path.components().any(|part| part.as_os_str() == ".trash")
            && entry_of(&self.path).as_ref() == Some(&self.entry)
    }

    pub fn is_creating(&self) -> bool {
        self.locked.as_deref().is_some_and(|reason| reason.trim_end() == "git-sandbox: creating")
    }

    /// Whether a merge uses it for a while.
    pub fn is_merging(&self) -> bool {
        self.locked.as_deref().is_some_and(|reason| reason.trim_end() == "git-sandbox: merging")
    }

    /// Whether its folder and its branch are getting another name.
    pub fn is_renaming(&self) -> bool {
        self.locked.as_deref().is_some_and(|reason| reason.trim_end() == "git-sandbox: renaming")
    }

    pub fn is_pinned(&self) -> bool {
        self.locked.as_deref().is_some_and(|reason| reason.starts_with("git-sandbox: trashed"))
    }

    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The entry that a worktree's folder names.
pub fn entry_of(folder: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(folder.join(".git")).ok()?;
    Some(PathBuf::from(text.strip_prefix("gitdir: ")?.trim_end()))
}

/// The folders in a folder, sorted; none where it is not there.
pub fn folders_in(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

/// Copies a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            symlink(fs::read_link(&path).unwrap(), target).unwrap();
        } else if kind.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, target).unwrap();
        }
    }
}
