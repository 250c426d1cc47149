//! `git sandbox setup`: where files go, what is said, and what is left alone.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fixture::built;
use crate::fixture::files::{chmod, copy_program, tree, write};
use crate::fixture::process::finished;
use crate::fixture::tools::have;
use crate::fixture::{Run, Test};

/// What stands in `wanted`, in the order in which it is said.
const ALL: &str = "\
the man page: $HOME/.cargo/share/man/man1/git-sandbox.1
completions for bash: $HOME/.local/share/bash-completion/completions/git-sandbox
completions for zsh: $HOME/.local/share/git-sandbox/zsh/_git-sandbox
completions for fish: $HOME/.config/fish/completions/git-sandbox.fish
'git sandbox' for fish: $HOME/.config/fish/conf.d/git-sandbox.fish
the function for bash: $HOME/.local/share/git-sandbox/sb.bash
the function for zsh: $HOME/.local/share/git-sandbox/sb.zsh
the function for fish: $HOME/.config/fish/conf.d/git-sandbox-function.fish
";

const IN_PLACE: &str = "man page, completions and the shell function are in place\n";
const EXPLAINED: &str = "'sb <name>' goes to a sandbox in a new shell; see 'sb -h'\n";

/// The line that the function for bash needs, and what uninstalling says about it.
const BASH_LINE: &str = "source ~/.local/share/git-sandbox/sb.bash";
const NOTHING: &str = "nothing is installed\n\
                       hint: take out of ~/.bashrc: source ~/.local/share/git-sandbox/sb.bash\n";

fn each(lines: impl Iterator<Item = &'static str>, verb: &str) -> String {
    let lines: Vec<String> = lines.map(|line| format!("{verb} {line}\n")).collect();
    lines.concat()
}

fn installed() -> String {
    each(ALL.lines(), "installed") + EXPLAINED
}

fn removed() -> String {
    let paths = ALL.lines().map(|line| line.split_once(": ").unwrap().1);
    each(paths, "removed") + &format!("hint: take out of ~/.bashrc: {BASH_LINE}\n")
}

/// A home as `cargo install` leaves it, bash-completion, and the line for bash; zsh only if it is
/// wanted.
struct Home {
    test: Test,
    program: PathBuf,
}

impl Home {
    fn new() -> Home {
        let test = Test::bare();
        let program = test.home.join(".cargo/bin/git-sandbox");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        copy_program(built::program(), &program);
        for tool in ["man", "manpath", "bash", "fish"] {
            test.script(&format!("tools/{tool}"), "exit 1");
        }
        write(&test.home.join("data/bash-completion/bash_completion"), "");
        write(&test.home.join(".bashrc"), &format!("{BASH_LINE}\n"));
        Home { test, program }
    }

    fn with_zsh() -> Home {
        let home = Home::new();
        home.test.script("tools/zsh", "exit 1");
        home
    }

    fn path(&self, path: &str) -> PathBuf {
        self.test.home.join(path)
    }

    fn command(&self, words: &[&str]) -> Command {
        self.command_of(&self.program, words)
    }

    fn command_of(&self, program: &Path, words: &[&str]) -> Command {
        let home = &self.test.home;
        let mut command = self.test.command(program, home);
        command
            .arg("setup")
            .args(words)
            .env("PATH", format!("{0}/.cargo/bin:{0}/tools", home.display()))
            .env("XDG_DATA_DIRS", home.join("data"));
        command
    }

    fn setup(&self, words: &[&str]) -> Run<'_> {
        self.test.run_command(self.command(words))
    }

    /// Everything but the program.
    fn tree(&self) -> String {
        tree(&self.test.home, &["bin"])
    }
}

#[test]
fn setup_installs_where_shells_and_man_look() {
    let home = Home::new();
    home.setup(&[]).stderr(&installed()).ok();
    for line in ALL.lines() {
        let path = line.split_once(": ").unwrap().1.replace("$HOME/", "");
        assert!(home.path(&path).is_file(), "{path}");
    }
    let page = fs::read_to_string(home.path(".cargo/share/man/man1/git-sandbox.1")).unwrap();
    let (first, rest) = page.split_once('\n').unwrap();
    assert!(first.starts_with(".\\\" Installed by 'git sandbox setup' "), "{first}");
    let output = home.setup(&["--print", "man"]).output();
    assert_eq!(rest.as_bytes(), output.stdout);
}

#[test]
fn setup_again_finds_all_in_place() {
    let home = Home::new();
    home.setup(&[]).stderr(&installed()).ok();
    let before = home.tree();
    home.setup(&[]).stderr(IN_PLACE).ok();
    assert_eq!(home.tree(), before);
}

#[test]
fn an_older_file_of_ours_is_updated() {
    let home = Home::new();
    home.setup(&[]).stderr(&installed()).ok();
    let before = home.tree();
    let page = home.path(".cargo/share/man/man1/git-sandbox.1");
    let text = fs::read_to_string(&page).unwrap();
    write(&page, &format!("{}\n.TH OLD 1\n", text.lines().next().unwrap()));
    home.setup(&[]).stderr(&format!("updated {}\n{EXPLAINED}", ALL.lines().next().unwrap())).ok();
    assert_eq!(home.tree(), before);
    home.setup(&["--uninstall"]).stderr(&removed()).ok();
    assert!(!home.path(".cargo/share").exists());
}

#[test]
fn uninstall_leaves_nothing_of_ours_and_everything_else() {
    let home = Home::new();
    write(&home.path(".config/fish/config.fish"), "set x y\n");
    fs::create_dir_all(home.path(".local/share/bash-completion")).unwrap();
    let before = home.tree();
    home.setup(&[]).stderr(&installed()).ok();
    home.setup(&["--uninstall"]).stderr(&removed()).ok();
    assert_eq!(home.tree(), before);
    home.setup(&["--uninstall"]).stderr(NOTHING).ok();
    assert_eq!(home.tree(), before);
}

#[test]
fn uninstall_keeps_a_folder_of_ours_that_others_use_by_now() {
    let home = Home::new();
    home.setup(&[]).stderr(&installed()).ok();
    write(&home.path(".config/fish/conf.d/mine.fish"), "set x y\n");
    write(&home.path(".cargo/share/man/man1/other.1"), ".TH\n");
    home.setup(&["--uninstall"]).stderr(&removed()).ok();
    assert!(home.path(".config/fish/conf.d/mine.fish").is_file());
    assert!(home.path(".cargo/share/man/man1/other.1").is_file());
    assert!(!home.path(".config/fish/completions").exists());
    assert!(!home.path(".local").exists());
}

#[test]
fn a_file_of_somebody_else_is_never_touched() {
    let bash = ".local/share/bash-completion/completions/git-sandbox";
    let make: [fn(&Path); 4] = [
        |path| write(path, "# mine\n"),
        |path| write(path, ""),
        |path| fs::create_dir_all(path).unwrap(),
        |path| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink("/nowhere", path).unwrap();
        },
    ];
    for make in make {
        let home = Home::new();
        make(&home.path(bash));
        let before = home.tree();
        let error = "error: '$HOME/BASH' is in the way: it is not from git sandbox setup\n\
                     hint: to keep it aside: mv $HOME/BASH $HOME/BASH.orig\n";
        home.setup(&[]).stderr(&error.replace("BASH", bash)).code(1);
        assert_eq!(home.tree(), before);
        home.setup(&["--uninstall"]).stderr(NOTHING).ok();
        assert_eq!(home.tree(), before);
    }
}

#[test]
fn a_home_that_cannot_be_written_to_is_an_error() {
    let home = Home::new();
    let folders = ["", ".cargo", ".cargo/bin"];
    // Whatever the umask made of them.
    for path in folders.into_iter().chain([".cargo/bin/git-sandbox"]) {
        chmod(&home.path(path), 0o755);
    }
    let before = home.tree();
    let mut command = home.command(&[]);
    for folder in folders {
        chmod(&home.path(folder), 0o555);
    }
    if home.test.am_root() {
        // Whom modes do not stop.
        command.uid(65534).gid(65534);
    }
    let error = "error: cannot create '$HOME/.cargo/share/man/man1': permission denied\n";
    home.test.run_command(command).stderr(error).code(1);
    for folder in folders {
        chmod(&home.path(folder), 0o755);
    }
    assert_eq!(home.tree(), before);
}

#[test]
fn a_home_that_is_not_known_is_an_error() {
    let home = Home::new();
    let mut command = home.command(&[]);
    command.env_remove("HOME");
    let error = "error: cannot install anything: HOME is not set\n";
    home.test.run_command(command).stderr(error).code(1);
}

#[test]
fn zsh_needs_a_line_until_it_is_there() {
    let home = Home::with_zsh();
    let (line, source) = (
        "fpath=(~/.local/share/git-sandbox/zsh $fpath)",
        "source ~/.local/share/git-sandbox/sb.zsh",
    );
    let hints = format!(
        "hint: add to ~/.zshrc, before 'compinit': {line}\n\
         hint: add to ~/.zshrc, after 'compinit': {source}\n"
    );
    home.setup(&[]).stderr(&format!("{}{hints}", installed())).ok();
    home.setup(&[]).stderr(&format!("{IN_PLACE}{hints}")).ok();
    write(&home.path(".zshrc"), &format!("# {line}\n# {source}\n"));
    home.setup(&[]).stderr(&format!("{IN_PLACE}{hints}")).ok();
    write(&home.path(".zshrc"), &format!("{line}\nautoload -U compinit && compinit\n{source}\n"));
    home.setup(&[]).stderr(IN_PLACE).ok();
    let (before, bash) =
        removed().split_once("hint: ").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let after = format!(
        "{before}hint: take out of ~/.zshrc: {line}\nhint: {bash}\
         hint: take out of ~/.zshrc: {source}\n"
    );
    home.setup(&["--uninstall"]).stderr(&after).ok();
}

#[test]
fn bash_needs_a_line_until_it_is_there() {
    let home = Home::new();
    write(&home.path(".bashrc"), "# mine\n");
    let hint = format!("hint: add to ~/.bashrc: {BASH_LINE}\n");
    home.setup(&[]).stderr(&format!("{}{hint}", installed())).ok();
    home.setup(&[]).stderr(&format!("{IN_PLACE}{hint}")).ok();
    assert_eq!(fs::read_to_string(home.path(".bashrc")).unwrap(), "# mine\n");
}

#[test]
fn the_function_keeps_the_name_that_it_was_given() {
    let home = Home::new();
    let named = |name: &str| {
        let text = fs::read_to_string(home.path(".local/share/git-sandbox/sb.bash")).unwrap();
        assert!(text.contains(&format!("\n{name} ()\n")), "{text}");
    };
    home.setup(&["--function", "go-to"]).stderr(&installed().replace("'sb", "'go-to")).ok();
    named("go-to");
    home.setup(&[]).stderr(IN_PLACE).ok();
    named("go-to");
    let functions = ALL.lines().filter(|line| line.starts_with("the function"));
    let updated = each(functions, "updated") + EXPLAINED;
    home.setup(&["--function=sb"]).stderr(&updated).ok();
    named("sb");
    home.setup(&["--function", "a b"])
        .stderr(
            "error: 'a b' cannot be the name of a shell function\n\
             usage: git sandbox setup [--agent=<agent>] [--timer] [--uninstall]\n\
             \x20                        [--function=<name>] [--print=<what>]\n",
        )
        .code(129);
}

#[test]
fn a_folder_of_the_users_that_zsh_looks_in_is_taken() {
    let home = Home::with_zsh();
    write(&home.path(".zfunc/_mine"), "");
    let searched = format!("/usr/share/zsh/functions:{}", home.path(".zfunc").display());
    write(&home.path(".zshrc"), "source ~/.local/share/git-sandbox/sb.zsh\n");
    let text = installed().replace(".local/share/git-sandbox/zsh/", ".zfunc/");
    home.setup(&[]).env("FPATH", &searched).stderr(&text).ok();
    fs::remove_file(home.path(".zshrc")).unwrap();
    let text = removed().replace(".local/share/git-sandbox/zsh/", ".zfunc/");
    home.setup(&["--uninstall"]).env("FPATH", &searched).stderr(&text).ok();
    assert!(home.path(".zfunc/_mine").exists());
}

#[test]
fn the_folders_of_the_environment_are_heeded() {
    let home = Home::new();
    let text = installed().replace(".local/share", "d").replace(".config", "c");
    let run = home.setup(&[]).env("XDG_DATA_HOME", home.path("d"));
    run.env("XDG_CONFIG_HOME", home.path("c")).stderr(&text).ok();
}

#[test]
fn a_program_that_is_not_in_the_home_has_its_page_in_the_usual_place() {
    let home = Home::new();
    let text = installed().replace(".cargo/share/man", ".local/share/man");
    let hint = "hint: for man to find the page: export MANPATH=~/.local/share/man:\n";
    let program = built::program();
    let run = |path: &str| home.test.run_command(home.command_of(program, &[])).env("PATH", path);
    let tools = home.path("tools").display().to_string();
    run(&tools).stderr(&format!("{text}{hint}")).ok();
    let hint_too = format!("{}$MANPATH\n", hint.trim_end());
    let set = run(&tools).env("MANPATH", "/usr/share/man");
    set.stderr(&format!("{IN_PLACE}{hint_too}")).ok();
    let listed = format!("{}:/usr/share/man", home.path(".local/share/man").display());
    run(&tools).env("MANPATH", listed).stderr(IN_PLACE).ok();
    // man-db looks beside the folders on PATH, other mans do not.
    let path = format!("{tools}:{}", home.path(".local/bin").display());
    run(&path).stderr(IN_PLACE).ok();
    run(&path).env("MANPATH", "/usr/share/man:").stderr(IN_PLACE).ok();
    fs::remove_file(home.path("tools/manpath")).unwrap();
    run(&path).stderr(&format!("{IN_PLACE}{hint}")).ok();
}

#[test]
fn bash_needs_bash_completion() {
    let home = Home::new();
    fs::remove_file(home.path("data/bash-completion/bash_completion")).unwrap();
    let hint = "hint: for completion in bash: install the package bash-completion\n";
    home.setup(&[]).stderr(&format!("{}{hint}", installed())).ok();
}

#[test]
fn print_and_uninstall_exclude_each_other() {
    let home = Home::new();
    let before = home.tree();
    home.setup(&["--print", "man", "--uninstall"])
        .stderr(
            "error: options '--print' and '--uninstall' cannot be used together\n\
             usage: git sandbox setup [--agent=<agent>] [--timer] [--uninstall]\n\
             \x20                        [--function=<name>] [--print=<what>]\n",
        )
        .code(129);
    assert_eq!(home.tree(), before);
}

#[test]
fn after_setup_git_help_opens_the_page() {
    if !have("man") {
        return;
    }
    let home = Home::new();
    home.setup(&[]).stderr(&installed()).ok();
    let bin = home.program.parent().unwrap().display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    for words in [["help", "sandbox"], ["sandbox", "--help"]] {
        let mut git = home.test.command("git", &home.test.home);
        git.args(words).env("PATH", &path).env("MANPAGER", "cat").env("GIT_PAGER", "cat");
        let output = finished(&mut git);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with("GIT-SANDBOX(1)"), "{text}");
    }
    home.setup(&["--uninstall"]).stderr(&removed()).ok();
    let mut git = home.test.command("git", &home.test.home);
    git.args(["help", "sandbox"]).env("PATH", &path).env("MANPAGER", "cat");
    assert_ne!(finished(&mut git).status.code(), Some(0));
}
