//! The vault itself: `<root>/.vault.git`, a bare repository of ours, one ref an item.
//!
//! Written by hand, so that no template, config or default of the user's shapes it; each step can be
//! made again after a crash, and HEAD, which makes it a repository, comes last. None of the user's
//! config or hooks applies to a call about it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::git::{Call, Git};
use crate::lifecycle::vault::folder::{open_top, sync_all};
use crate::sys::lock::Lock;
use crate::sys::{dir, file};
use crate::ui::out::Out;

/// The name of the vault in the root.
pub const VAULT: &str = ".vault.git";
/// Items that were read back and compared.
pub const ITEMS: &str = "refs/vault/";
/// Items on their way in.
pub const STAGING: &str = "refs/staging/";

const CONFIG: &str = "\
[core]
\trepositoryformatversion = 0
\tbare = true
\tlogAllRefUpdates = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
";
const HEAD: &str = "ref: refs/heads/none\n";
/// What ties git to another repository or carries settings of the user's.
pub const TIES: [&str; 15] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_QUARANTINE_PATH",
    "GIT_ATTR_SOURCE",
    "GIT_REF_STORAGE_FORMAT",
];
/// Everything is synced; large blobs are streamed, not held in memory; any name is a name.
const SETTINGS: [&str; 12] = [
    "-c",
    "core.fsync=all",
    "-c",
    "core.fsyncMethod=fsync",
    "-c",
    "core.bigFileThreshold=1m",
    "-c",
    "core.protectNTFS=false",
    "-c",
    "core.protectHFS=false",
    "-c",
    "pack.threads=1",
];

/// The file that the vault is locked by.
const LOCK: &str = "sandbox.lock";

/// The repository of the vault.
#[derive(Debug)]
pub struct Repository {
    dir: PathBuf,
    git: Git,
    out: Out,
}

impl Repository {
    /// The one in this root, which need not be there yet.
    pub fn at(root: &Path, git: &Git, out: Out) -> Repository {
        let git = git.bound(root, &TIES.map(str::to_owned));
        Repository { dir: root.join(VAULT), git, out }
    }

    /// Its folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A git for folders outside of it.
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Whether it was ever made. One that is not ours is an error.
    pub fn exists(&self) -> Result<bool> {
        match fs::symlink_metadata(&self.dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).at("read", &self.dir),
            Ok(meta) => {
                let user = rustix::process::geteuid().as_raw();
                let why = match () {
                    () if !meta.is_dir() => "it is not a folder",
                    () if meta.uid() != user => "it is not yours",
                    () if meta.mode() & 0o077 != 0 => "others can read or change it",
                    () => {
                        self.mend()?;
                        return Ok(self.dir.join("HEAD").is_file());
                    }
                };
                Err(Error::Root { root: self.dir.clone(), why: why.to_owned(), hint: None })
            }
        }
    }

    /// Writes HEAD and config again where they are lost although there are items: without them git would
    /// not find these, and they always say the same.
    fn mend(&self) -> Result<()> {
        let is_used = ["refs/vault", "packed-refs"].iter().any(|name| self.dir.join(name).exists());
        for (name, text) in [("config", CONFIG), ("HEAD", HEAD)] {
            let path = self.dir.join(name);
            let is_lost = match fs::symlink_metadata(&path) {
                Err(error) => error.kind() == ErrorKind::NotFound,
                Ok(meta) => meta.len() == 0,
            };
            if is_used && is_lost {
                file::replace(&path, text.as_bytes())?;
            }
        }
        Ok(())
    }

    /// The ids of all items, each with whether git can read its ref: one that it cannot read it passes
    /// over.
    pub fn ids(&self) -> Result<BTreeMap<String, bool>> {
        let words = ["for-each-ref", "--format=%(refname)", ITEMS];
        let names = self.call(&words).read("list the vault")?;
        let names = String::from_utf8_lossy(&names).into_owned();
        let listed = names.lines().filter_map(|name| name.strip_prefix(ITEMS));
        let files = fs::read_dir(self.dir.join(ITEMS)).into_iter().flatten().flatten();
        let files = files.map(|file| file.file_name().to_string_lossy().into_owned());
        let files = files.filter(|name| check_id(name).is_ok()).map(|id| (id, false));
        Ok(files.chain(listed.map(|id| (id.to_owned(), true))).collect())
    }

    /// Makes it, unless it is there, and takes its lock.
    pub fn open(&self) -> Result<Lock> {
        let there = self.exists()?;
        if !there {
            for folder in ["objects/pack", "objects/info", "refs"] {
                dir::make(&self.dir.join(folder))?;
            }
        }
        let lock = self.lock()?;
        self.clear_locks();
        if !self.exists()? {
            file::replace(&self.dir.join("config"), CONFIG.as_bytes())?;
            file::replace(&self.dir.join("HEAD"), HEAD.as_bytes())?;
            self.sync()?;
        }
        Ok(lock)
    }

    /// Removes locks that a git left which was killed while it changed refs. Every git that changes refs
    /// here holds the vault's lock, so none is at work.
    fn clear_locks(&self) {
        for folder in ["", ITEMS, STAGING] {
            let files = fs::read_dir(self.dir.join(folder)).into_iter().flatten().flatten();
            for file in files.filter(|file| file.file_name().as_bytes().ends_with(b".lock")) {
                if file.file_name() != LOCK {
                    let _ = fs::remove_file(file.path());
                }
            }
        }
    }

    /// The lock, also if its file was deleted while we waited.
    fn lock(&self) -> Result<Lock> {
        let path = self.dir.join(LOCK);
        loop {
            let lock = Lock::exclusive(&path, self.out)?;
            let held = lock.file().metadata().at("lock", &path)?;
            let there = fs::symlink_metadata(&path);
            if there.is_ok_and(|there| (there.dev(), there.ino()) == (held.dev(), held.ino())) {
                return Ok(lock);
            }
        }
    }

    /// A call about the vault.
    pub fn call(&self, words: &[&str]) -> Call<'_> {
        self.call_by(&self.git, words)
    }

    fn call_by<'a>(&self, git: &'a Git, words: &[&str]) -> Call<'a> {
        let mut dir = OsString::from("--git-dir=");
        dir.push(&self.dir);
        let call = git.look([dir]).args(SETTINGS).args(words);
        let call = call.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        let call = call.env("GIT_CONFIG_COUNT", "0").env("GIT_CONFIG_PARAMETERS", "");
        call.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_ALLOW_PROTOCOL", "none")
    }

    /// The commit of a ref.
    pub fn tip(&self, name: &str) -> Result<Option<String>> {
        let answer = self.call(&["rev-parse", "--verify", "--quiet", name]).ask()?;
        match answer.code {
            Some(0) => Ok(Some(String::from_utf8_lossy(answer.stdout.trim_ascii()).into_owned())),
            Some(1) => Ok(None),
            _ => Err(Error::Git { doing: format!("read '{name}'"), why: answer.why() }),
        }
    }

    /// Changes refs, all or none; the lines are those of `update-ref --stdin`. git holds the vault's lock.
    pub fn update_refs(&self, lock: &Lock, lines: &str) -> Result<()> {
        let git = self.git.holding(lock.file());
        let answer = self.call_by(&git, &["update-ref", "--stdin"]).ask_with(lines.into())?;
        let why = |()| Error::Git { doing: "write to the vault".into(), why: answer.why() };
        answer.ok().then_some(()).ok_or(()).map_err(why)
    }

    /// Makes what was written last.
    pub fn sync(&self) -> Result<()> {
        let synced = open_top(&self.dir).map_err(Into::into).and_then(|dir| sync_all(&dir));
        synced.at("sync", &self.dir)
    }

    /// Removes what a killed `fast-import` left. The lock must be held.
    pub fn tidy(&self) {
        let remove = |folder: &Path, lead: &[u8]| {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_name().as_bytes().starts_with(lead) {
                    // It takes room, and does no other harm.
                    let _ = fs::remove_file(entry.path());
                }
            }
        };
        remove(&self.dir, b"fast_import_crash_");
        remove(&self.dir.join("objects/pack"), b"tmp_");
    }
}

/// Whether an id can be the last step of a ref.
pub fn check_id(id: &str) -> Result<()> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let fine = id.bytes().all(plain)
        && !id.is_empty()
        && !id.starts_with(['.', '-'])
        && !id.ends_with('.')
        && !id.contains("..")
        && !id.to_ascii_lowercase().ends_with(".lock");
    let why = || Error::Damaged { name: id.to_owned(), why: "its id is not one of ours".into() };
    fine.then_some(()).ok_or_else(why)
}
