//! The second half of a creation, outside the repository lock and under the sandbox's own: files and
//! hook as `git worktree add` would, then what a checkout lacks and the user's setup commands.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::{Answer, Git, porcelain};
use crate::lifecycle::create::donor::Recipient;
use crate::lifecycle::create::include;
use crate::lifecycle::spare;
use crate::repo::{Repo, Worktrees};
use crate::session::Session;
use crate::sys::lock::Lock;
use crate::sys::{crash_point, dir, file, signals};

/// A sandbox that is registered but still empty.
#[derive(Debug)]
pub struct Fill<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// The main worktree, if there is one.
    pub main: Option<&'a Path>,
    /// All worktrees.
    pub worktrees: &'a Worktrees,
    /// Its commit.
    pub commit: &'a str,
    /// Its own lock.
    pub own: &'a Lock,
    /// How commands see it.
    pub session: Session<'a>,
}

impl Fill<'_> {
    /// Checks the files out: from a donor as far as there is one, the rest by git.
    pub fn check_out(&self) -> Result<()> {
        let received = self.recipient().receive();
        signals::check()?;
        match received {
            Some(index) => self.complete_copies(&index),
            None => self.reset(),
        }
    }

    fn recipient(&self) -> Recipient<'_> {
        Recipient {
            repo: self.repo,
            git: self.git(),
            worktrees: self.worktrees,
            commit: self.commit,
            path: self.session.path,
            entry: self.session.entry,
            main_only: self.main.is_some_and(include::is_wanted),
        }
    }

    /// Has git complete files that were copied, and compare what the index says of them with the commit.
    fn complete_copies(&self, index: &[u8]) -> Result<()> {
        crash_point::reached();
        let path = unfinished_index(self.session.entry);
        file::create(&path).and_then(|mut file| file.write_all(index)).at("write", &path)?;
        crash_point::reached();
        let git = self.git().on_index(&path);
        // Unlike a reset, this does not look at every file once more.
        let words = ["read-tree", "--no-recurse-submodules", "-m", "-u", "HEAD"];
        let call = git.call(self.options()).args(words);
        let (read, told) = std::thread::scope(|scope| {
            let told = scope.spawn(|| self.tell_refs());
            let read = match std::io::stderr().is_terminal() {
                true => call.arg("-v").show(),
                false => call.ask(),
            };
            (read, told.join())
        });
        signals::check()?;
        // A reset overwrites a file that stands in the way, as in `git worktree add`.
        if !(read?.ok() && told.is_ok_and(|told| told.is_ok_and(|told| told.ok()))) {
            self.reset_on(&git)?;
        }
        self.put_index_in_place()
    }

    /// Makes HEAD, its reflog and `ORIG_HEAD` say what they say after a reset.
    fn tell_refs(&self) -> Result<Answer> {
        let commit = self.commit;
        let lines = format!("update ORIG_HEAD {commit}\nupdate HEAD {commit} {commit}\n");
        let words = ["update-ref", "-m", "reset: moving to HEAD", "--stdin"];
        self.git().call(words).ask_with(lines.into())
    }

    /// Until a checkout has come to its end, its index has a name of its own: an index in its place is
    /// that of a complete one, also after a loss of power.
    fn put_index_in_place(&self) -> Result<()> {
        crash_point::reached();
        let whole = self.session.entry.join("index");
        fs::rename(unfinished_index(self.session.entry), &whole).at("write", &whole)
    }

    fn reset(&self) -> Result<()> {
        self.reset_on(&self.git())
    }

    /// Has git write what is not there yet, in parallel where the user has not decided otherwise.
    fn reset_on(&self, git: &Git) -> Result<()> {
        let words = ["reset", "--hard", "--no-recurse-submodules"];
        // git tells its progress here whether or not a terminal shows it.
        let quiet = (!std::io::stderr().is_terminal()).then_some("--quiet");
        let reset = git.call(self.options()).args(words).args(quiet).show()?;
        signals::check()?;
        if !reset.ok() {
            return Err(Error::Git { doing: "check the files out".into(), why: reset.why() });
        }
        Ok(())
    }

    /// The settings of a checkout that the user has not decided on.
    fn options(&self) -> Vec<String> {
        let config = &self.repo.config;
        let mut options: Vec<String> = Vec::new();
        if config.get("checkout.workers").is_none() {
            options.extend(["-c".into(), format!("checkout.workers={}", self.workers())]);
            // For a few files the workers cost more than they save.
            if config.get("checkout.thresholdforparallelism").is_none() {
                options.extend(["-c".into(), "checkout.thresholdForParallelism=1000".into()]);
            }
        }
        options
    }

    /// How many processes write files at once.
    fn workers(&self) -> usize {
        // As many as make 1,000 objects outside of packs likely: the folders are filled evenly.
        const LOOSE: usize = 4;
        if fs::File::open(self.session.path).is_ok_and(dir::is_btrfs) {
            return 1;
        }
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let some = fs::read_dir(self.repo.common.join("objects/17"));
        // Each worker reports each file to git, which then takes its core: for loose objects more workers
        // than cores are faster. Of packed ones the workers read the same pack, each by itself.
        match some.map_or(0, Iterator::count) >= LOOSE {
            true => cores.max(8),
            false => cores.max(2),
        }
    }

    /// The same where the files of another commit are there and clean: only what differs is written.
    /// Where nothing can, neither files nor index are looked at: only the reflog of a branch says the
    /// same as after a checkout.
    pub fn check_out_from(&self, had: &str) -> Result<()> {
        if had != self.commit {
            return self.reset();
        }
        if self.session.branch.is_some() {
            let words = ["update-ref", "-m", "reset: moving to HEAD", "HEAD", had, had];
            self.git().call(words).done("check the files out")?;
        }
        signals::check()
    }

    /// Completes a checkout from a spare's commits that was interrupted.
    pub fn complete_from(&self, had: &[String], entry: &Path) -> Result<()> {
        let commits = [had, &[self.commit.to_owned()]].concat();
        let strange = spare::strange_files(&self.git(), self.session.path, entry, &commits)?;
        if strange.is_empty() { self.reset() } else { self.complete_around(had, &strange) }
    }

    /// Completes the checkout around files that may be the user's. Every other file is of one of these
    /// commits, and becomes that of the start.
    fn complete_around(&self, had: &[String], strange: &[PathBuf]) -> Result<()> {
        let (git, doing) = (self.git(), "complete the checkout");
        let near =
            |path: &PathBuf| strange.iter().any(|it| it.starts_with(path) || path.starts_with(it));
        git.call(["read-tree", "HEAD"]).done(doing)?;
        let listed = porcelain::paths(&git.look(["ls-files", "-z"]).read(doing)?);
        let mut wanted = Vec::new();
        for path in listed.iter().filter(|path| !near(path)) {
            wanted.extend([path.as_os_str().as_bytes(), b"\0"].concat());
        }
        // Its exit code only says that some could not be written, as with a sparse checkout.
        let words = ["checkout-index", "--force", "--quiet", "-z", "--stdin"];
        git.call(words).ask_with(wanted)?;
        let listed: HashSet<PathBuf> = listed.into_iter().collect();
        for commit in had {
            let words = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit];
            let old = porcelain::paths(&git.look(words).read(doing)?);
            for path in old.iter().filter(|path| !listed.contains(*path) && !near(path)) {
                // Folders go as far as they are empty.
                if fs::remove_file(self.session.path.join(path)).is_ok() {
                    let mut folders = path.ancestors().skip(1).filter(|it| *it != Path::new(""));
                    folders.all(|it| fs::remove_dir(self.session.path.join(it)).is_ok());
                }
            }
        }
        self.settle(&git)
    }

    fn settle(&self, git: &Git) -> Result<()> {
        // Its exit code only says that some files differ.
        git.call(["update-index", "-q", "--refresh"]).ask()?;
        if self.repo.config.boolean("core.sparsecheckout")? == Some(true) {
            git.call(["sparse-checkout", "reapply"]).done("complete the checkout")?;
        }
        signals::check()
    }

    /// Completes a checkout that was interrupted. A file that is already there stays as it is, unless
    /// it is the beginning of what git was writing.
    pub fn complete(&self) -> Result<()> {
        let git = self.git().on_index(&unfinished_index(self.session.entry));
        let doing = "complete the checkout";
        git.call(["read-tree", "HEAD"]).done(doing)?;
        // Its exit code only says that some files were there.
        git.call(["checkout-index", "--all", "--quiet"]).ask()?;
        self.write_missing(&git, doing)?;
        git.call(["update-index", "-q", "--refresh"]).ask()?;
        let differing =
            git.look(["diff-files", "--name-only", "-z", "--ignore-submodules=all"]).read(doing)?;
        for path in porcelain::paths(&differing) {
            if self.is_cut_short(&git, &path)? {
                git.call(["checkout-index", "--force", "--quiet", "--"]).arg(&path).done(doing)?;
            }
        }
        self.settle(&git)?;
        self.put_index_in_place()
    }

    /// Has git write what is missing although nothing stands in its way: a git may have been ended before.
    fn write_missing(&self, git: &Git, doing: &str) -> Result<()> {
        let words = ["diff-files", "--name-only", "-z", "--diff-filter=D"];
        let deleted = git.look(words).arg("--ignore-submodules=none").read(doing)?;
        let is_missing = |path: &PathBuf| {
            let there = fs::symlink_metadata(self.session.path.join(path));
            there.is_err_and(|error| error.kind() == ErrorKind::NotFound)
        };
        let missing = porcelain::paths(&deleted).into_iter().filter(is_missing);
        let named: Vec<u8> =
            missing.flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
        if named.is_empty() {
            return Ok(());
        }
        let answer = git.call(["checkout-index", "--quiet", "-z", "--stdin"]).ask_with(named)?;
        match answer.ok() {
            true => Ok(()),
            false => Err(Error::Git { doing: doing.to_owned(), why: answer.why() }),
        }
    }

    /// Whether a file is only the beginning of what git would write.
    fn is_cut_short(&self, git: &Git, path: &Path) -> Result<bool> {
        let written =
            git.call(["checkout-index", "--temp", "-z", "--"]).arg(path).read("write a file")?;
        let name = written.split(|byte| *byte == b'\t').next().unwrap_or_default();
        let whole = self.session.path.join(OsStr::from_bytes(name));
        let expected = fs::read(&whole).at("read", &whole);
        let _ = fs::remove_file(&whole);
        let there = self.session.path.join(path);
        let is_file = fs::symlink_metadata(&there).is_ok_and(|meta| meta.is_file());
        Ok(is_file && expected?.starts_with(&fs::read(&there).at("read", &there)?))
    }

    /// Everything after the checkout; what went wrong.
    pub fn furnish(&self) -> Vec<String> {
        let mut troubles: Vec<String> =
            self.run_hook().unwrap_or_else(|error| Some(error.to_string())).into_iter().collect();
        if let Some(main) = self.main
            && let Err(error) = include::copy(&self.repo.git, main, self.session.path)
        {
            troubles.push(error.to_string());
        }
        if signals::check().is_err() {
            return troubles;
        }
        for value in self.repo.config.all("sandbox.setup") {
            match self.session.configured(value) {
                Ok(0) => continue,
                Ok(code) => {
                    troubles.push(format!("the setup command '{value}' exited with {code}"));
                }
                Err(error) => troubles.push(error.to_string()),
            }
            // The next one may build on it.
            break;
        }
        troubles
    }

    fn git(&self) -> Git {
        self.repo.git.in_worktree(self.session.path).holding(self.own.file())
    }

    fn run_hook(&self) -> Result<Option<String>> {
        let hook = match self.repo.config.get("core.hookspath") {
            // A relative one is taken from the worktree that the command was started in.
            Some(_) => {
                let here = &self.repo.git;
                let call = here.call(["rev-parse", "--git-path", "hooks/post-checkout"]);
                here.dir().join(call.line("find the hooks")?)
            }
            None => self.repo.common.join("hooks/post-checkout"),
        };
        let runs = |meta: fs::Metadata| meta.is_file() && meta.permissions().mode() & 0o111 != 0;
        if !fs::metadata(&hook).is_ok_and(runs) {
            return Ok(None);
        }
        let null = "0".repeat(self.commit.len());
        let code = self.git().hook(&hook, &[&null, self.commit, "1"], &self.repo.prefix)?;
        Ok(match code {
            Some(0) => None,
            Some(code) => Some(format!("the post-checkout hook exited with {code}")),
            None => Some("the post-checkout hook was killed".into()),
        })
    }
}

/// The index of a checkout that git has yet to complete.
pub fn unfinished_index(entry: &Path) -> PathBuf {
    entry.join("sandbox.filling")
}
