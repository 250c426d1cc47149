//! Where the repository of a folder is: as the folders above it show or, in any doubt, as git says.
//!
//! The ordinary case is seen without git: the first `.git` above is one that git would take, and no
//! variable leads elsewhere. git has the last word all the same: it must have read the config of that
//! very repository, which it does not do of another user's, and the config must not put the worktree
//! elsewhere.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::git::config::Config;
use crate::repo::link::{common_of, entry_points_to, folder_points_to, is_git_dir, names_a_commit};

/// How variables of git's begin that neither lead to a repository nor belong to one.
const HARMLESS: [&str; 22] = [
    "GIT_ASKPASS",
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_KEY_",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_VALUE_",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_HTTP_",
    "GIT_LFS_",
    "GIT_MERGE_AUTOEDIT",
    "GIT_PAGER",
    "GIT_SANDBOX",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSL_",
    "GIT_TERMINAL_PROMPT",
    "GIT_TRACE",
];

/// Where a folder is in a repository.
#[derive(Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// Variables that tie git to a repository, where git was asked.
    pub variables: Vec<String>,
    /// What all worktrees share.
    pub common: PathBuf,
    /// The private git dir of this one.
    pub git_dir: PathBuf,
    /// Whether the folder is in a worktree.
    pub inside: bool,
    /// The way from its top, with a `/` at the end.
    pub prefix: OsString,
}

impl Whereabouts {
    /// From `git rev-parse --local-env-vars --git-common-dir --git-dir --is-inside-work-tree
    /// --show-prefix`.
    pub fn parse(stdout: &[u8]) -> Option<Whereabouts> {
        let variables = local_variables(stdout);
        let lines: Vec<&[u8]> = stdout.split(|byte| *byte == b'\n').skip(variables.len()).collect();
        let [common, git_dir, inside @ (b"true" | b"false"), prefix @ .., b""] = &lines[..] else {
            return None;
        };
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        Some(Whereabouts {
            variables,
            common: path(common),
            git_dir: path(git_dir),
            inside: *inside == b"true",
            prefix: OsString::from_vec(prefix.join(&b'\n')),
        })
        .filter(|found| found.common.is_absolute())
    }

    /// The ordinary case, from the folders alone; to be confirmed by the config that git reads there.
    pub fn plain(dir: &Path) -> Option<Whereabouts> {
        let led = std::env::vars_os().any(|(name, _)| may_lead(&name));
        if led { None } else { Whereabouts::by_folders(dir) }
    }

    fn by_folders(dir: &Path) -> Option<Whereabouts> {
        let top = dir.ancestors().find(|folder| {
            // A repository without a worktree has its HEAD where another has its `.git`.
            ["HEAD", ".git"].iter().any(|name| folder.join(name).symlink_metadata().is_ok())
        })?;
        let dot_git = top.join(".git");
        let meta = dot_git.symlink_metadata().ok()?;
        let (common, git_dir) = if meta.is_dir() {
            (dot_git.clone(), dot_git)
        } else {
            let entry = folder_points_to(top)?;
            let common = common_of(&entry)?;
            let ours = entry.parent() == Some(&common.join("worktrees"))
                && entry_points_to(&entry).as_deref() == Some(top)
                && entry.canonicalize().is_ok_and(|real| real == entry);
            // Elsewhere git cannot tell from here where the main worktree is.
            let ordinary = ours && common.file_name().is_some_and(|name| name == ".git");
            (ordinary.then_some(common)?, entry)
        };
        let takes = is_git_dir(&common) && names_a_commit(&git_dir.join("HEAD"));
        let mut prefix = dir.strip_prefix(top).ok()?.as_os_str().to_owned();
        if !prefix.is_empty() {
            prefix.push("/");
        }
        takes.then_some(Whereabouts {
            variables: Vec::new(),
            common,
            git_dir,
            inside: true,
            prefix,
        })
    }

    /// Whether git read the config of this repository, and that leaves the worktree where it is.
    /// `top` is where git resolves relative paths.
    pub fn is_confirmed_by(&self, config: &Config, files: &[PathBuf], top: &Path) -> bool {
        let own = self.common.join("config");
        let bare = config.boolean("core.bare").map_or(true, |bare| bare == Some(true));
        let elsewhere = config.get("core.worktree").is_some();
        files.iter().any(|file| top.join(file) == own) && !bare && !elsewhere
    }
}

/// The names at the head of the answer of `git rev-parse --local-env-vars`.
pub fn local_variables(stdout: &[u8]) -> Vec<String> {
    let lines = stdout.split(|byte| *byte == b'\n').take_while(|line| line.starts_with(b"GIT_"));
    lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}

/// Whether a variable may lead git to another repository than the folders do.
fn may_lead(name: &OsStr) -> bool {
    let leads = |lead: &str| name.as_bytes().starts_with(lead.as_bytes());
    leads("GIT_") && !HARMLESS.into_iter().any(leads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;
    use std::fs;

    fn repository(top: &Path) -> PathBuf {
        let common = top.join(".git");
        fs::create_dir_all(common.join("refs/heads")).unwrap();
        fs::create_dir_all(common.join("objects")).unwrap();
        fs::write(common.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        common
    }

    fn linked(common: &Path, folder: &Path) -> PathBuf {
        let entry = common.join("worktrees/x");
        fs::create_dir_all(&entry).unwrap();
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::write(entry.join("HEAD"), "1".repeat(40)).unwrap();
        fs::write(entry.join("commondir"), "../..\n").unwrap();
        fs::write(entry.join("gitdir"), format!("{}/.git\n", folder.display())).unwrap();
        fs::write(folder.join(".git"), format!("gitdir: {}\n", entry.display())).unwrap();
        entry
    }

    #[test]
    fn the_first_repository_above_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("app");
        let common = repository(&top);
        fs::create_dir_all(top.join("a/b")).unwrap();
        let found = |dir: &Path| {
            Whereabouts::by_folders(dir)
                .map(|it| (it.common, it.git_dir, it.prefix.into_string().unwrap()))
        };
        assert_eq!(found(&top), Some((common.clone(), common.clone(), String::new())));
        let below = Some((common.clone(), common.clone(), "a/b/".into()));
        assert_eq!(found(&top.join("a/b")), below);
        assert_eq!(found(&common.join("refs")), None);
        let folder = dir.path().canonicalize().unwrap().join("x");
        let entry = linked(&common, &folder);
        assert_eq!(
            found(&folder.join("sub")),
            Some((common.clone(), entry.clone(), "sub/".into()))
        );
        // What git would not take, or take otherwise, is git's to tell.
        fs::write(entry.join("gitdir"), "/elsewhere/.git\n").unwrap();
        assert_eq!(found(&folder), None);
        fs::write(top.join("a/HEAD"), "").unwrap();
        assert_eq!(found(&top.join("a/b")), None);
        fs::remove_file(top.join("a/HEAD")).unwrap();
        for head in ["", "ref: main", "1234", "gitdir: x"] {
            fs::write(common.join("HEAD"), head).unwrap();
            assert_eq!(found(&top.join("a/b")), None, "{head}");
        }
    }

    #[test]
    fn an_unknown_variable_may_lead_elsewhere() {
        let leads = |name: &str| may_lead(OsStr::new(name));
        assert!(["GIT_DIR", "GIT_CEILING_DIRECTORIES", "GIT_NEW"].into_iter().all(leads));
        assert!(!["GIT_EDITOR", "GIT_SANDBOX_ROOT", "HOME", "MY_GIT_DIR"].into_iter().any(leads));
    }

    #[test]
    fn git_has_the_last_word() {
        let plain = Whereabouts {
            variables: Vec::new(),
            common: "/a/.git".into(),
            git_dir: "/a/.git".into(),
            inside: true,
            prefix: OsString::new(),
        };
        let confirmed = |config: &[u8], file: &str| {
            let files = [PathBuf::from(file)];
            plain.is_confirmed_by(&Config::parse(config), &files, Path::new("/a"))
        };
        assert!(confirmed(b"core.bare\nfalse\0", ".git/config"));
        assert!(confirmed(b"", "/a/.git/config"));
        assert!(!confirmed(b"", "config"));
        assert!(!confirmed(b"", "/b/.git/config"));
        assert!(!confirmed(b"core.bare\ntrue\0", ".git/config"));
        assert!(!confirmed(b"core.bare\nodd\0", ".git/config"));
        assert!(!confirmed(b"core.worktree\n/b\0", ".git/config"));
    }

    #[test]
    fn fuzz_whereabouts() {
        let real = [
            b"GIT_DIR\nGIT_PREFIX\n/a/.git\n/a/.git/worktrees/x\ntrue\nsub/dir/\n".as_slice(),
            b"GIT_DIR\n/b.git\n/b.git\nfalse\n\n",
        ];
        fuzz::damaged(&real, |input| {
            let Some(found) = Whereabouts::parse(input) else { return };
            assert!(found.common.is_absolute());
            assert!(found.variables.iter().all(|name| name.starts_with("GIT_")));
            for piece in [found.common.as_os_str(), found.git_dir.as_os_str(), &found.prefix] {
                assert!(fuzz::contains(input, piece.as_bytes()));
            }
        });
    }
}
