//! The vault by itself, with repositories and folders that look like the trash's.

mod cost;
mod crash;
mod discarding;
mod kinds;
mod obstacles;
mod purging;
mod repositories;
mod unpacking;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;
use tempfile::TempDir;

use crate::git::Git;
use crate::lifecycle::vault::item::{Base, Item, Obstacle};
use crate::lifecycle::vault::repository::TIES;
use crate::lifecycle::vault::{Outcome, PutAway, Unpacked, Vault, folder};
use crate::ui::out::{Out, When};

const ID: &str = "fix-0123abcd";

/// A repository with one removed sandbox.
struct World {
    home: PathBuf,
    _temporary: Option<TempDir>,
    ignored: Option<Vec<PathBuf>>,
    has_base: bool,
}

/// Runs git, which must succeed, without any config but the repository's.
#[track_caller]
fn git(dir: &Path, words: &[&str]) -> String {
    let Output { status, stdout, stderr } = run(dir, words);
    assert!(status.success(), "git {words:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8_lossy(&stdout).trim_end().to_owned()
}

fn run(dir: &Path, words: &[&str]) -> Output {
    #[expect(clippy::disallowed_methods, reason = "the user's git, in a test")]
    let mut command = Command::new("git");
    command.current_dir(dir).args(words);
    for name in TIES {
        command.env_remove(name);
    }
    for (name, value) in [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "A"),
        ("GIT_AUTHOR_EMAIL", "a@example.com"),
        ("GIT_COMMITTER_NAME", "A"),
        ("GIT_COMMITTER_EMAIL", "a@example.com"),
        // Upkeep in the background would work on beside the test.
        ("GIT_CONFIG_COUNT", "2"),
        ("GIT_CONFIG_KEY_0", "gc.auto"),
        ("GIT_CONFIG_VALUE_0", "0"),
        ("GIT_CONFIG_KEY_1", "maintenance.auto"),
        ("GIT_CONFIG_VALUE_1", "false"),
    ] {
        command.env(name, value);
    }
    command.output().unwrap()
}

fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

impl World {
    /// One commit with a few files, and a sandbox of it in the trash.
    fn new() -> World {
        World::with(&[], |_| {})
    }

    /// With more words for `git init`, and more files in the commit.
    fn with(words: &[&str], more: impl FnOnce(&Path)) -> World {
        let temporary = TempDir::new().unwrap();
        let home = temporary.path().canonicalize().unwrap();
        let app = home.join("app");
        git(&home, &[&["init", "-q", "-b", "main"], words, &["app"]].concat());
        write(&app.join("readme"), "hello\n");
        write(&app.join("src/main.c"), "int main() {}\n");
        write(&app.join("src/deep/er/file"), "deep\n");
        write(&app.join(".gitignore"), "target/\n*.log\n");
        more(&app);
        git(&app, &["add", "-A"]);
        git(&app, &["commit", "-q", "-m", "one"]);
        let world = World { home, _temporary: Some(temporary), ignored: None, has_base: true };
        world.trash(&app);
        world
    }

    /// A world that another process looks at too.
    fn open(home: &Path) -> World {
        World { home: home.to_owned(), _temporary: None, ignored: None, has_base: true }
    }

    /// Makes a sandbox of a repository and removes it as removal does: two renames.
    fn trash(&self, app: &Path) {
        let tree = self.tree();
        fs::create_dir_all(tree.parent().unwrap()).unwrap();
        git(app, &["worktree", "add", "-q", "--detach", tree.to_str().unwrap()]);
        let private = app.join(".git/sandbox").join(ID);
        fs::create_dir_all(private.parent().unwrap()).unwrap();
        fs::rename(app.join(".git/worktrees/tree"), &private).unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", private.display())).unwrap();
    }

    fn app(&self) -> PathBuf {
        self.home.join("app")
    }

    fn root(&self) -> PathBuf {
        self.home.join("root")
    }

    fn tree(&self) -> PathBuf {
        self.root().join(".trash").join(ID).join("tree")
    }

    fn private(&self) -> PathBuf {
        self.app().join(".git/sandbox").join(ID)
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        write(&self.tree().join(path), bytes);
    }

    fn vault_dir(&self) -> PathBuf {
        self.root().join(".vault.git")
    }

    fn vault(&self) -> Vault {
        Vault::at(&self.root(), &Git::here().unwrap(), Out::new(When::Never))
    }

    /// The git of the repository, as a command has it.
    fn git(&self) -> Git {
        Git::here().unwrap().bound(&self.app(), &TIES.map(str::to_owned))
    }

    fn in_vault(&self, words: &[&str]) -> String {
        let dir = format!("--git-dir={}", self.vault_dir().display());
        git(&self.home, &[&[dir.as_str()], words].concat())
    }

    /// Everything about both folders.
    fn snapshot(&self) -> [BTreeMap<PathBuf, String>; 2] {
        [snapshot(&self.tree()), snapshot(&self.private())]
    }

    fn try_to_put_away(&self) -> crate::error::Result<Outcome<PutAway>> {
        let (tree, private, repository) = (self.tree(), self.private(), self.git());
        let commit = git(&self.app(), &["rev-parse", "HEAD"]);
        let journal = json!({"name": "fix", "odd": ["\u{0}", 1.5, null]});
        let item = Item {
            id: ID,
            tree: tree.exists().then_some(&tree),
            private: private.exists().then_some(&private),
            ignored: self.ignored.as_deref(),
            precious: &|path| path.as_os_str().as_bytes().ends_with(b".env"),
            base: self.has_base.then_some(Base { git: &repository, commit: &commit }),
            journal: &journal,
        };
        self.vault().put_away(&item, &mut |_| {})
    }

    #[track_caller]
    fn put_away(&self) -> PutAway {
        match self.try_to_put_away().unwrap() {
            Outcome::Done(done) => done,
            Outcome::Stays(obstacle) => panic!("it stays: {obstacle}"),
        }
    }

    /// Why it stays. Nothing was deleted, and the vault has no item.
    #[track_caller]
    fn stays(&self) -> Obstacle {
        let before = self.snapshot();
        match self.try_to_put_away().unwrap() {
            Outcome::Done(_) => panic!("it was put away"),
            Outcome::Stays(obstacle) => {
                assert_same(&self.snapshot(), &before);
                assert!(!self.vault().has(ID).unwrap());
                obstacle
            }
        }
    }

    /// Puts it away and deletes it; nothing is left.
    #[track_caller]
    fn away(&self) {
        let done = self.put_away().discard(&mut || Ok(true), &mut || Ok(())).unwrap();
        assert!(matches!(done, Outcome::Done(())), "{done:?}");
        assert!(!self.tree().exists() && !self.private().exists());
    }

    /// Brings it back.
    #[track_caller]
    fn back(&self) -> Unpacked {
        let (tree, private, git) = (self.tree(), self.private(), self.git());
        self.vault().unpack(ID, Some(&git), Some(&tree), Some(&private)).unwrap()
    }

    /// Puts it away, brings it back, and all is as before.
    #[track_caller]
    fn round_trip(&self) {
        let before = self.snapshot();
        self.away();
        assert_eq!(self.back(), Unpacked::default());
        assert_same(&self.snapshot(), &before);
    }

    /// The records of its manifest that begin with a word.
    fn records(&self, word: &str) -> Vec<String> {
        let manifest = self.in_vault(&["show", &format!("refs/vault/{ID}:manifest")]);
        let lines = manifest.split('\0').filter(|line| line.starts_with(word));
        lines.map(str::to_owned).collect()
    }

    /// The paths of the files that the vault has, not the repository.
    fn stored(&self) -> Vec<String> {
        let records = self.records("file ");
        let stored = records.iter().filter(|line| line.contains(" vault "));
        let path = |line: &String| line.splitn(8, ' ').nth(7).unwrap().to_owned();
        let mut paths: Vec<String> = stored.map(path).collect();
        paths.retain(|path| path.starts_with("tree/") && path != "tree/.git");
        paths
    }
}

/// A difference is shown path by path.
#[track_caller]
fn assert_same(now: &[BTreeMap<PathBuf, String>; 2], before: &[BTreeMap<PathBuf, String>; 2]) {
    for (now, before) in now.iter().zip(before) {
        for path in before.keys().chain(now.keys()) {
            assert_eq!(now.get(path), before.get(path), "{}", path.display());
        }
    }
}

/// Every path of a folder with its kind, permissions, time, bytes, holes and other names.
fn snapshot(top: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut names: HashMap<(u64, u64), PathBuf> = HashMap::new();
    let mut todo = vec![top.to_owned()];
    while let Some(path) = todo.pop() {
        let Ok(meta) = path.symlink_metadata() else { continue };
        let kind = meta.file_type();
        let mut text = format!("{:o} {}.{:09}", meta.mode(), meta.mtime(), meta.mtime_nsec());
        if kind.is_dir() {
            let mut inner: Vec<PathBuf> =
                fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
            inner.sort_by(|one, other| other.cmp(one));
            todo.extend(inner);
        } else if kind.is_symlink() {
            write!(text, " -> {:?}", fs::read_link(&path).unwrap()).unwrap();
        } else if kind.is_file() {
            let file = File::open(&path).unwrap().into();
            let pieces = folder::pieces(&file, &rustix::fs::fstat(&file).unwrap()).unwrap();
            let bytes = fs::read(&path).unwrap();
            let first = names.entry((meta.dev(), meta.ino())).or_insert_with(|| path.clone());
            let shown =
                if bytes.len() < 200 { bytes.escape_ascii().to_string() } else { sum(&bytes) };
            write!(text, " {} {shown} {pieces:?} {first:?}", bytes.len()).unwrap();
        } else {
            write!(text, " fifo {}", kind.is_fifo()).unwrap();
        }
        found.insert(path.strip_prefix(top).unwrap().to_owned(), text);
    }
    found
}

fn sum(bytes: &[u8]) -> String {
    use crate::git::blob_id::{Blob, Format};
    let mut blob = Blob::new(Format::Sha1, bytes.len() as u64);
    blob.update(bytes);
    blob.id()
}
