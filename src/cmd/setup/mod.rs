//! `git sandbox setup`
//!
//! Puts man page, completions and the shell function where the user's shells and man look, and says
//! what is left to do: zsh has no folder of the user's, man finds a page beside a folder on PATH only,
//! and files of the user's such as `~/.bashrc` are never written to.

mod claude;
mod install;
mod timer;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::cli::args::Args;
use crate::cli::function::{self, Shell};
use crate::cli::spec::{AGENT, FUNCTION, PRINT, TIMER, UNINSTALL};
use crate::cli::{complete, man};
use crate::error::{Error, Result};
use crate::sys::path::{absolute, real, tidy};
use crate::sys::process;
use crate::ui::out::Out;
use crate::ui::words::shell_word;
use install::{Done, Wanted};

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    args.at_most_one(&[&PRINT, &UNINSTALL])?;
    args.at_most_one(&[&FUNCTION, &UNINSTALL])?;
    for option in [&AGENT, &TIMER] {
        args.at_most_one(&[&PRINT, option])?;
        args.at_most_one(&[&FUNCTION, option])?;
    }
    if args.has(&AGENT) || args.has(&TIMER) {
        return only(args, *out);
    }
    let function = args.value(&FUNCTION).map(OsStr::to_string_lossy);
    if let Some(name) = function.as_ref().filter(|name| !function::is_name(name)) {
        return Err(args.wrong(format!("'{name}' cannot be the name of a shell function")));
    }
    let name = || function.as_deref().unwrap_or(function::NAME);
    match args.word(&PRINT) {
        Some("man") => out.answer_raw(man::page().as_bytes())?,
        Some("bash") => out.answer_raw(complete::bash().as_bytes())?,
        Some("zsh") => out.answer_raw(complete::zsh().as_bytes())?,
        Some("fish-conf") => out.answer_raw(complete::fish_conf().as_bytes())?,
        Some("function-bash") => out.answer_raw(function::text(Shell::Bash, name()).as_bytes())?,
        Some("function-zsh") => out.answer_raw(function::text(Shell::Zsh, name()).as_bytes())?,
        Some("function-fish") => out.answer_raw(function::text(Shell::Fish, name()).as_bytes())?,
        Some(_) => out.answer_raw(complete::fish().as_bytes())?,
        None if args.has(&UNINSTALL) => User::current(None)?.uninstall(*out)?,
        None => User::current(function.as_deref())?.install(*out)?,
    }
    Ok(0)
}

/// Only the hooks of an agent, or the timer.
fn only(args: &Args, out: Out) -> Result<u8> {
    let config = User::current(None)?.config;
    match (args.has(&AGENT), args.has(&UNINSTALL)) {
        (true, true) => match &without_hooks()?[..] {
            [path] => {
                out.note(&format!("took the hooks of Claude Code out of {}", path.display()));
            }
            _ => out.note("no hooks of Claude Code are installed"),
        },
        (true, false) => {
            let path = claude::settings()?;
            let what = if claude::install(&path)? { "installed" } else { "in place:" };
            out.note(&format!("{what} the hooks of Claude Code: {}", path.display()));
        }
        (false, _) => {}
    }
    match (args.has(&TIMER), args.has(&UNINSTALL)) {
        (true, true) => say_removed(&timer::uninstall(&config)?, out),
        (true, false) => timer::install(&config, out)?,
        (false, _) => {}
    }
    Ok(0)
}

fn say_removed(paths: &[PathBuf], out: Out) {
    for path in paths {
        out.note(&format!("removed {}", path.display()));
    }
    if paths.is_empty() {
        out.note("nothing is installed");
    }
}

/// Takes the hooks of agents out of their settings; which ones those are.
fn without_hooks() -> Result<Vec<PathBuf>> {
    let path = claude::settings()?;
    Ok(claude::uninstall(&path)?.then_some(path).into_iter().collect())
}

/// A line for `~/.zshrc` is known by the end of the folder it names.
const OWN_ZSH: &str = "git-sandbox/zsh";
/// The same for the lines that load the shell function.
const BASH_FUNCTION: &str = "git-sandbox/sb.bash";
const ZSH_FUNCTION: &str = "git-sandbox/sb.zsh";

/// Where the user keeps things.
struct User {
    home: PathBuf,
    data: PathBuf,
    config: PathBuf,
    /// What the shell function is called.
    function: String,
}

impl User {
    /// With the name that was asked for, else the one that is installed, else the usual one.
    fn current(function: Option<&str>) -> Result<User> {
        let home = absolute("HOME").ok_or(Error::NoHome)?;
        let or = |name, folder| absolute(name).unwrap_or_else(|| home.join(folder));
        let (data, config) =
            (or("XDG_DATA_HOME", ".local/share"), or("XDG_CONFIG_HOME", ".config"));
        let installed = fs::read_to_string(data.join(BASH_FUNCTION)).unwrap_or_default();
        let function = function.or_else(|| function::name_in(&installed));
        let function = function.unwrap_or(function::NAME).to_owned();
        Ok(User { home, data, config, function })
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
        let name = &self.function;
        out.note(&match in_place {
            true => "man page, completions and the shell function are in place".to_owned(),
            false => format!("'{name} <name>' goes to a sandbox in a new shell; see '{name} -h'"),
        });
        self.hints(out);
        Ok(())
    }

    fn uninstall(&self, out: Out) -> Result<()> {
        let mut paths: Vec<PathBuf> = self.wanted().into_iter().map(|file| file.path).collect();
        // Where they would have been with another PATH or FPATH.
        paths.extend(self.zsh_folders().map(|folder| folder.join("_git-sandbox")));
        paths.extend(self.man_folders().map(|folder| folder.join("man1/git-sandbox.1")));
        let mut removed = install::uninstall(paths)?;
        removed.extend(timer::uninstall(&self.config)?);
        // Without the program they would keep the agent from making worktrees at all.
        let hooks = without_hooks()?;
        for path in &hooks {
            out.note(&format!("took the hooks of Claude Code out of {}", path.display()));
        }
        if hooks.is_empty() || !removed.is_empty() {
            say_removed(&removed, out);
        }
        for (rc, mark) in
            [(self.zshrc(), OWN_ZSH), (self.bashrc(), BASH_FUNCTION), (self.zshrc(), ZSH_FUNCTION)]
        {
            if let Some(line) = line_in(&rc, mark) {
                out.hint(&format!("take out of {}: {}", self.short(&rc), line.trim()));
            }
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
            shell(
                "the function for bash",
                self.data.join(BASH_FUNCTION),
                function::text(Shell::Bash, &self.function),
            ),
            shell(
                "the function for zsh",
                self.data.join(ZSH_FUNCTION),
                function::text(Shell::Zsh, &self.function),
            ),
            shell(
                "the function for fish",
                self.config.join("fish/conf.d/git-sandbox-function.fish"),
                function::text(Shell::Fish, &self.function),
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
        let (zshrc, bashrc) = (self.zshrc(), self.bashrc());
        let has_zsh = is_there("zsh") || zshrc.exists();
        if has_zsh && zsh.ends_with(OWN_ZSH) && line_in(&zshrc, OWN_ZSH).is_none() {
            let (rc, folder) = (self.short(&zshrc), self.short(&zsh));
            out.hint(&format!("add to {rc}, before 'compinit': fpath=({folder} $fpath)"));
        }
        if is_there("bash") && line_in(&bashrc, BASH_FUNCTION).is_none() {
            let (rc, file) = (self.short(&bashrc), self.short(&self.data.join(BASH_FUNCTION)));
            out.hint(&format!("add to {rc}: source {file}"));
        }
        if has_zsh && line_in(&zshrc, ZSH_FUNCTION).is_none() {
            let (rc, file) = (self.short(&zshrc), self.short(&self.data.join(ZSH_FUNCTION)));
            out.hint(&format!("add to {rc}, after 'compinit': source {file}"));
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
        let beside = process::ourselves().ok().and_then(|program| {
            let bin = real(program.parent()?);
            bin.starts_with(home).then(|| real(&bin.join(BESIDE)))
        });
        beside.into_iter().chain([self.home.join(".local/share/man")])
    }

    fn zshrc(&self) -> PathBuf {
        absolute("ZDOTDIR").unwrap_or_else(|| self.home.clone()).join(".zshrc")
    }

    fn bashrc(&self) -> PathBuf {
        self.home.join(".bashrc")
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

/// The line of a file that mentions something, unless it is a comment.
fn line_in(file: &Path, mark: &str) -> Option<String> {
    let text = fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let names_ours = |line: &&str| !line.trim().starts_with('#') && line.contains(mark);
    text.lines().find(names_ours).map(str::to_owned)
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
