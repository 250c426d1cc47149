//! What the tests of merge share: a sandbox `box` with two commits, made from branch `dev`, and the
//! whole state of everything that a merge that did not happen must leave alone.

use std::path::PathBuf;

use crate::removal::{Format, repository, same, trashed};
use crate::repo::{Test, names_in, tree};

/// Where branch `dev` is checked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Here,
    Sandbox,
    Nowhere,
}

pub const PLACES: [Target; 3] = [Target::Here, Target::Sandbox, Target::Nowhere];

/// Whether this git can tell beforehand what a merge comes to, as it can from 2.38 on.
pub fn can_tell(test: &Test) -> bool {
    let words = ["merge-tree", "--write-tree", "HEAD", "HEAD"];
    test.command("git", &test.app()).args(words).output().unwrap().status.success()
}

pub struct Scene {
    pub test: Test,
    /// The sandbox.
    pub path: PathBuf,
    /// Where `dev` is checked out.
    pub dev: Option<PathBuf>,
}

impl Scene {
    /// `dev` is where `box` began.
    pub fn new(target: Target) -> Scene {
        Scene::with(target, |_| ())
    }

    /// `dev` has a commit of its own.
    pub fn diverged(target: Target) -> Scene {
        Scene::with(target, |test| drop(test.commit(&test.app(), "theirs", "theirs\n")))
    }

    /// Both have changed the same file.
    pub fn clashing(target: Target) -> Scene {
        Scene::with(target, |test| drop(test.commit(&test.app(), "mine", "theirs\n")))
    }

    /// `change` is made on `dev` after `box` began.
    pub fn with(target: Target, change: impl FnOnce(&Test)) -> Scene {
        Scene::of(repository(Format::Files).unwrap(), target, change)
    }

    pub fn of(test: Test, target: Target, change: impl FnOnce(&Test)) -> Scene {
        test.git(&["checkout", "--quiet", "-b", "dev"]);
        let path = test.new_sandbox(&["box"]);
        test.commit(&path, "mine", "first\n");
        test.commit(&path, "mine too", "second\n");
        change(&test);
        if target != Target::Here {
            test.git(&["checkout", "--quiet", "main"]);
        }
        let dev = match target {
            Target::Here => Some(test.app()),
            Target::Sandbox => Some(test.new_sandbox(&["dev"])),
            Target::Nowhere => None,
        };
        Scene { test, path, dev }
    }

    /// What must be as it was when nothing was merged.
    pub fn state(&self) -> String {
        let git = |words: &[&str]| self.test.git(&[&["--no-optional-locks"], words].concat());
        let inside = ["logs", "index", "reftable", "sandbox.lock", "sandbox.merge.lock"];
        let mut text = vec![
            git(&["for-each-ref"]),
            git(&["worktree", "list", "--porcelain"]),
            tree(&self.test.app().join(".git"), &inside),
            format!("{:?} {:?}", self.test.sandboxes(), trashed(&self.test)),
        ];
        for folder in &self.folders() {
            let git = |words: &[&str]| {
                self.test.git_in(folder, &[&["--no-optional-locks"], words].concat())
            };
            text.push(tree(folder, &[".git"]));
            text.push(git(&["ls-files", "-v", "--stage"]));
            text.push(git(&["status", "--porcelain=v2", "--branch", "--ignored"]));
            // In a table these are no files.
            for name in ["HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "AUTO_MERGE"] {
                let words = ["rev-parse", "--verify", "--quiet", name];
                let output = self.test.command("git", folder).args(words).output().unwrap();
                text.push(format!("{name} {}", String::from_utf8_lossy(&output.stdout)));
            }
        }
        text.join("\n")
    }

    /// Every checkout that is there.
    fn folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.test.app(), self.path.clone()];
        folders.extend(self.dev.clone());
        folders.retain(|folder| folder.exists());
        folders.dedup();
        folders
    }

    /// Runs it; it must say this, exit with 1 and change nothing.
    #[track_caller]
    pub fn refused(&self, words: &[&str], stderr: &str) {
        let before = self.state();
        self.test.run(&[&["merge", "box"], words].concat()).stderr(stderr).code(1);
        same(&self.state(), &before);
        self.nothing_is_left();
    }

    /// Runs it; it must say this, and leave every checkout clean.
    #[track_caller]
    pub fn merges(&self, words: &[&str], stderr: &str) {
        self.test.run(&[&["merge", "box"], words].concat()).stderr(stderr).ok();
        self.is_clean();
        self.nothing_is_left();
    }

    /// No checkout has changes or anything in progress.
    #[track_caller]
    pub fn is_clean(&self) {
        for folder in &self.folders() {
            assert_eq!(
                self.test.git_in(folder, &["status", "--porcelain"]),
                "",
                "{}",
                folder.display()
            );
            let words = ["rev-parse", "--verify", "--quiet", "MERGE_HEAD"];
            let output = self.test.command("git", folder).args(words).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{}", folder.display());
        }
    }

    /// No worktree or note of a merge is left, and its lock is free.
    #[track_caller]
    pub fn nothing_is_left(&self) {
        let git_dir = self.test.app().join(".git");
        let ours = names_in(&git_dir).into_iter().filter(|name| name.starts_with("sandbox."));
        for name in ours {
            assert!(["sandbox.lock", "sandbox.merge.lock"].contains(&name.as_str()), "{name}");
            let lock = std::fs::File::open(git_dir.join(&name)).unwrap();
            lock.try_lock().unwrap();
        }
        let listed = self.test.git(&["worktree", "list", "--porcelain"]);
        assert!(!listed.contains("merging"), "{listed}");
        let hidden = self.test.sandboxes().into_iter().filter(|name| name.starts_with('.'));
        assert_eq!(hidden.collect::<Vec<_>>(), [""; 0]);
        self.test.git(&["fsck", "--no-dangling", "--no-progress"]);
    }

    /// The subjects of a branch's commits, newest first, each with the number of its parents.
    pub fn log(&self, branch: &str) -> Vec<String> {
        let words = ["log", "--topo-order", "--format=%p|%s", branch, "--"];
        let log = self.test.git(&words);
        let lines = log.lines().map(|line| line.split_once('|').unwrap());
        lines
            .map(|(parents, subject)| format!("{} {subject}", parents.split(' ').count()))
            .collect()
    }

    /// The files of a branch, but for those that were there from the beginning.
    pub fn files(&self, branch: &str) -> Vec<String> {
        let old = [".gitignore", "a", "b", "dir", "file", "link", "tool"];
        let text = self.test.git(&["ls-tree", "--name-only", branch]);
        text.lines().filter(|name| !old.contains(name)).map(str::to_owned).collect()
    }

    /// The commit of a ref.
    pub fn commit(&self, name: &str) -> String {
        self.test.git(&["rev-parse", "--verify", name])
    }
}
