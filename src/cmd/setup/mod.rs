//! `git sandbox setup`
//!
//! Puts man page and completions where the user's shells and man look, and says what is left to do:
//! zsh has no folder of the user's, and man finds a page beside a folder on PATH only.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::args::Args;
use crate::background;
use crate::complete;
use crate::error::{Error, Result, shell_word};
use crate::install::{self, Done, Wanted};
use crate::man;
use crate::out::Out;
use crate::place::{absolute, real};
use crate::repo::tidy;
use crate::spec::{PRINT, UNINSTALL};

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    args.at_most_one(&[&PRINT, &UNINSTALL])?;
    match args.word(&PRINT) {
        Some("man") => out.answer_raw(man::page().as_bytes())?,
        Some("bash") => out.answer_raw(complete::bash().as_bytes())?,
        Some("zsh") => out.answer_raw(complete::zsh().as_bytes())?,
        Some("fish-conf") => out.answer_raw(complete::fish_conf().as_bytes())?,
        Some(_) => out.answer_raw(complete::fish().as_bytes())?,
        None if args.has(&UNINSTALL) => User::current()?.uninstall(*out)?,
        None => User::current()?.install(*out)?,
    }
    Ok(0)
}

/// A line for `~/.zshrc` is known by the end of the folder it names.
const OWN_ZSH: &str = "git-sandbox/zsh";

/// Where the user keeps things.
struct User {
    home: PathBuf,
    data: PathBuf,
    config: PathBuf,
}

impl User {
    fn current() -> Result<User> {
        let home = absolute("HOME").ok_or(Error::NoHome)?;
        let or = |name, folder| absolute(name).unwrap_or_else(|| home.join(folder));
        let (data, config) =
            (or("XDG_DATA_HOME", ".local/share"), or("XDG_CONFIG_HOME", ".config"));
        Ok(User { home, data, config })
    }

    fn install(&self, out: Out) -> Result<()> {
        let wanted = self.wanted();
        // Nothing is done where one of them cannot be.
        wanted.iter().try_for_each(Wanted::check)?;
        let mut in_place = true;
        for file in &wanted {
            let verb = match file.install()? {
                Done::Nothing => continue,
                Done::Installed => "installed",
                Done::Updated => "updated",
            };
            out.note(&format!("{verb} {}: {}", file.what, file.path.display()));
            in_place = false;
        }
        if in_place {
            out.note("man page and completions are in place");
        }
        self.hints(out);
        Ok(())
    }

    fn uninstall(&self, out: Out) -> Result<()> {
        let mut paths: Vec<PathBuf> = self.wanted().into_iter().map(|file| file.path).collect();
        // Where they would have been with another PATH or FPATH.
        paths.extend(self.zsh_folders().map(|folder| folder.join("_git-sandbox")));
        paths.extend(self.man_folders().map(|folder| folder.join("man1/git-sandbox.1")));
        let removed = install::uninstall(paths)?;
        for path in &removed {
            out.note(&format!("removed {}", path.display()));
        }
        if removed.is_empty() {
            out.note("nothing is installed");
        }
        if let Some(line) = self.line_in_zshrc() {
            out.hint(&format!("take out of {}: {}", self.short(&self.zshrc()), line.trim()));
        }
        Ok(())
    }

    fn wanted(&self) -> Vec<Wanted> {
        let bash = absolute("BASH_COMPLETION_USER_DIR");
        let bash = bash.unwrap_or_else(|| self.data.join("bash-completion"));
        let shell = |what, path, text| Wanted { what, path, text, comment: "#" };
        vec![
            Wanted {
                what: "the man page",
                path: self.man_folder().join("man1/git-sandbox.1"),
                text: man::page(),
                comment: ".\\\"",
            },
            shell("completions for bash", bash.join("completions/git-sandbox"), complete::bash()),
            shell("completions for zsh", self.zsh_folder().join("_git-sandbox"), complete::zsh()),
            shell(
                "completions for fish",
                self.config.join("fish/completions/git-sandbox.fish"),
                complete::fish(),
            ),
            shell(
                "'git sandbox' for fish",
                self.config.join("fish/conf.d/git-sandbox.fish"),
                complete::fish_conf(),
            ),
        ]
    }

    /// What the user has to do, one line each.
    fn hints(&self, out: Out) {
        let man = self.man_folder();
        if is_there("man") && !is_searched(&man) {
            let rest = std::env::var_os("MANPATH").filter(|value| !value.is_empty());
            let rest = if rest.is_some() { "$MANPATH" } else { "" };
            let folder = self.short(&man);
            out.hint(&format!("for man to find the page: export MANPATH={folder}:{rest}"));
        }
        if is_there("bash") && !has_bash_completion() {
            out.hint("for completion in bash: install the package bash-completion");
        }
        let zsh = self.zsh_folder();
        let needs_line = zsh.ends_with(OWN_ZSH) && self.line_in_zshrc().is_none();
        if needs_line && (is_there("zsh") || self.zshrc().exists()) {
            let (rc, folder) = (self.short(&self.zshrc()), self.short(&zsh));
            out.hint(&format!("add to {rc}, before 'compinit': fpath=({folder} $fpath)"));
        }
    }

    /// A folder of the user's that zsh already looks in, or one of ours.
    fn zsh_folder(&self) -> PathBuf {
        self.zsh_folders().next().unwrap_or_default()
    }

    /// Folders in the home that zsh said it looks in, and ours.
    fn zsh_folders(&self) -> impl Iterator<Item = PathBuf> {
        let searched = std::env::var_os("FPATH").unwrap_or_default();
        let us = rustix::process::geteuid().as_raw();
        let is_ours = |folder: &PathBuf| {
            let meta = fs::metadata(folder);
            let may_write = meta.is_ok_and(|meta| {
                meta.is_dir() && meta.uid() == us && meta.mode() & 0o300 == 0o300
            });
            folder.starts_with(&self.home) && may_write
        };
        let found: Vec<PathBuf> = std::env::split_paths(&searched).filter(is_ours).collect();
        found.into_iter().chain([self.data.join(OWN_ZSH)])
    }

    /// Beside the folder that we are in, if that is the user's and on PATH; else the usual one.
    fn man_folder(&self) -> PathBuf {
        let beside = self.man_folders().next().unwrap_or_default();
        if is_beside_path(&beside) { beside } else { self.home.join(".local/share/man") }
    }

    fn man_folders(&self) -> impl Iterator<Item = PathBuf> {
        let home = real(&self.home);
        let beside = background::ourselves().ok().and_then(|program| {
            let bin = real(program.parent()?);
            bin.starts_with(home).then(|| real(&bin.join(BESIDE)))
        });
        beside.into_iter().chain([self.home.join(".local/share/man")])
    }

    fn zshrc(&self) -> PathBuf {
        absolute("ZDOTDIR").unwrap_or_else(|| self.home.clone()).join(".zshrc")
    }

    fn line_in_zshrc(&self) -> Option<String> {
        let text = fs::read(self.zshrc()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let names_ours = |line: &&str| !line.trim().starts_with('#') && line.contains(OWN_ZSH);
        text.lines().find(names_ours).map(str::to_owned)
    }

    /// A path as it is typed.
    fn short(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(below) if shell_word(&below.to_string_lossy()) == below.to_string_lossy() => {
                format!("~/{}", below.display())
            }
            _ => shell_word(&path.to_string_lossy()),
        }
    }
}

/// From a folder of programs to that of their man pages.
const BESIDE: &str = "../share/man";

fn is_there(program: &str) -> bool {
    which::which(program).is_ok()
}

fn is_beside_path(man: &Path) -> bool {
    let bins = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&bins).any(|bin| real(&tidy(&bin.join(BESIDE))) == real(man))
}

/// Whether man looks in a folder: MANPATH names it or, where that leaves room for more, it is beside
/// a folder on PATH. That is man-db's rule; mans without a `manpath` look at MANPATH only.
fn is_searched(folder: &Path) -> bool {
    let by_itself = || is_there("manpath") && is_beside_path(folder);
    let Some(listed) = std::env::var_os("MANPATH").filter(|value| !value.is_empty()) else {
        return by_itself();
    };
    let mut listed = std::env::split_paths(&listed);
    listed.any(|entry| match entry.as_os_str().is_empty() {
        true => by_itself(),
        false => real(&entry) == real(folder),
    })
}

/// Whether bash-completion, which loads ours, is somewhere that packages put it.
fn has_bash_completion() -> bool {
    let dirs = std::env::var_os("XDG_DATA_DIRS").filter(|value| !value.is_empty());
    let dirs = dirs.unwrap_or_else(|| "/usr/local/share:/usr/share:/opt/homebrew/share".into());
    std::env::split_paths(&dirs).any(|dir| dir.join("bash-completion/bash_completion").is_file())
}
