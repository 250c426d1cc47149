//! The shell function `sb`, in real interactive shells on a pseudo-terminal.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::fixture::Test;
use crate::fixture::built::{program, source};
use crate::fixture::files::write;
use crate::fixture::process::{ended, finished};
use crate::fixture::tools::have;

/// A home in which the function is installed, with the sandboxes `fix` and `feat/ui`.
struct Shell {
    test: Test,
    words: Vec<String>,
    tools: Option<PathBuf>,
}

impl Shell {
    /// `None` where this shell is not installed.
    fn named(name: &str) -> Option<Shell> {
        if !have(name) || !have("python3") {
            return None;
        }
        let test = Test::new();
        for (what, path) in [
            ("function-bash", "sb.bash"),
            ("function-zsh", "sb.zsh"),
            ("function-fish", ".config/fish/conf.d/sb.fish"),
        ] {
            let program = program();
            let mut command = test.command(program, &test.home);
            let output = finished(command.args(["setup", "--print", what]));
            assert!(output.status.success());
            write(&test.home.join(path), &String::from_utf8(output.stdout).unwrap());
        }
        let tell = "printf '%s\\0' \"$?\" \"$PWD\" >&9";
        write(
            &test.home.join(".bashrc"),
            &format!("PROMPT_COMMAND='{}'\nsource ~/sb.bash\n", tell.replace('\'', "'\\''")),
        );
        write(&test.home.join(".zshrc"), &format!("precmd () {{ {tell} }}\nsource ~/sb.zsh\n"));
        let tell = tell.replace("$?", "$status");
        let prompt = format!("function fish_prompt\n{tell}\necho '> '\nend\n");
        write(&test.home.join(".config/fish/config.fish"), &prompt);
        test.new_sandbox(&["fix"]);
        test.new_sandbox(&["feat/ui"]);
        let words: &[&str] = match name {
            "bash" => &["bash", "--noprofile", "-i"],
            "zsh" => &["zsh", "-i"],
            _ => &["fish", "--private", "-i"],
        };
        let words = words.iter().map(ToString::to_string).collect();
        Some(Shell { test, words, tools: None })
    }

    /// The same on a machine that has only what the function needs, and these programs of the test's.
    fn with_tools(mut self) -> Shell {
        let tools = self.test.home.join("tools");
        fs::create_dir(&tools).unwrap();
        let path = std::env::var("PATH").unwrap();
        for tool in ["git", "awk", "sed", "cut", "sort", "cat", "sh", "bash", "zsh", "fish"] {
            let real = path.split(':').map(|dir| Path::new(dir).join(tool)).find(|it| it.exists());
            if let Some(real) = real {
                symlink(real, tools.join(tool)).unwrap();
            }
        }
        symlink(program(), tools.join("git-sandbox")).unwrap();
        self.tools = Some(tools);
        self
    }

    /// Types these lines. Each must leave this exit status and folder; `$APP` and so on are filled in.
    #[track_caller]
    fn session(&self, lines: &[(&str, &str, &str)]) -> String {
        let script = "tests/setup/shells/session.py";
        let mut command = self.test.command("python3", &self.test.app());
        command.arg(source(script)).args(&self.words);
        command.env("TERM", "xterm").env("ZDOTDIR", &self.test.home).process_group(0);
        if let Some(tools) = &self.tools {
            command.env("PATH_OF_THE_SHELL", tools);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let typed: Vec<String> =
            lines.iter().map(|(line, ..)| self.test.expand(line) + "\n").collect();
        child.stdin.take().unwrap().write_all(typed.concat().as_bytes()).unwrap();
        let output = ended(child);
        let screen = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}: {screen}", self.words[0]);
        let told = String::from_utf8(output.stdout).unwrap();
        let told: Vec<&str> = told.split_terminator('\0').collect();
        for ((line, status, folder), told) in lines.iter().zip(told.chunks(2)) {
            let wanted = [(*status).to_owned(), self.test.expand(folder)];
            assert_eq!(told, wanted, "{}: {line}\n{screen}", self.words[0]);
        }
        assert_eq!(told.len(), 2 * lines.len());
        screen
    }
}

fn in_each_shell(act: impl Fn(Shell)) {
    for name in ["bash", "zsh", "fish"] {
        if let Some(shell) = Shell::named(name) {
            act(shell);
        }
    }
}

#[test]
fn it_goes_to_a_sandbox_to_the_main_worktree_and_back() {
    in_each_shell(|shell| {
        let screen = shell.session(&[
            ("sb fix", "0", "$ROOT/fix"),
            ("sb feat/ui", "0", "$ROOT/feat-ui"),
            ("sb -", "0", "$ROOT/fix"),
            ("sb ^", "0", "$APP"),
            ("sb -", "0", "$ROOT/fix"),
            ("cd /", "0", "/"),
            ("sb -", "0", "$ROOT/fix"),
            ("sb -h", "0", "$ROOT/fix"),
        ]);
        assert!(screen.contains("usage: sb <name> "), "{screen}");
        assert!(screen.contains("   or: sb -c <name> [<task>...]   make it"), "{screen}");
    });
}

#[test]
fn it_makes_a_sandbox_and_goes_there() {
    in_each_shell(|shell| {
        shell.test.git(&["config", "sandbox.agent", "false"]);
        shell.session(&[
            ("sb -c new 'The task'", "0", "$ROOT/new"),
            ("sb ^", "0", "$APP"),
            ("sb -c new", "0", "$ROOT/new"),
            ("sb -c other --from HEAD More words", "0", "$ROOT/other"),
        ]);
        let tasks = ["new", "other"].map(|name| shell.test.json(&["show", "--json", name]));
        assert_eq!(tasks.map(|shown| shown["task"].clone()), ["The task", "More words"]);
    });
}

#[test]
fn a_failure_never_moves_you() {
    in_each_shell(|shell| {
        write(&shell.test.at("feat-ui").join("work"), "work\n");
        fs::create_dir(shell.test.app().join("sub")).unwrap();
        fs::remove_dir_all(shell.test.new_sandbox(&["gone"])).unwrap();
        shell.session(&[
            ("cd sub", "0", "$APP/sub"),
            ("sb nothing", "1", "$APP/sub"),
            ("sb gone", "1", "$APP/sub"),
            ("sb -c 'no name'", "1", "$APP/sub"),
            ("sb --no-such-option", "129", "$APP/sub"),
            ("cd /", "0", "/"),
            ("sb fix", "1", "/"),
            ("sb", "1", "/"),
            ("cd $ROOT/feat-ui", "0", "$ROOT/feat-ui"),
            ("sb rm feat/ui", "1", "$ROOT/feat-ui"),
            ("sb -", "0", "/"),
        ]);
        assert!(shell.test.at("feat-ui").join("work").exists());
    });
}

#[test]
fn removing_the_sandbox_you_stand_in_brings_you_home_first() {
    in_each_shell(|shell| {
        fs::create_dir(shell.test.at("fix").join("sub")).unwrap();
        shell.session(&[
            ("sb fix", "0", "$ROOT/fix"),
            ("cd sub", "0", "$ROOT/fix/sub"),
            ("sb rm .", "0", "$APP"),
            ("sb feat-ui", "0", "$ROOT/feat-ui"),
            // Another one, and commands that take nothing away.
            ("sb show feat/ui", "0", "$ROOT/feat-ui"),
            ("sb -c third", "0", "$ROOT/third"),
            ("sb rm feat-ui", "0", "$ROOT/third"),
            ("sb stop third", "0", "$ROOT/third"),
            ("sb stop --rm third", "0", "$APP"),
            // None is named: the current one.
            ("sb -c fourth", "0", "$ROOT/fourth"),
            ("sb stop --timeout 3 --rm", "0", "$APP"),
            ("sb -c fifth", "0", "$ROOT/fifth"),
            ("sb stop --all --rm", "0", "$APP"),
            // What follows an option is no sandbox, even if one is called so.
            ("sb -c target", "0", "$ROOT/target"),
            ("sb -c sixth", "0", "$ROOT/sixth"),
            ("git commit --quiet --allow-empty -m six", "0", "$ROOT/sixth"),
            ("sb merge --into target", "0", "$APP"),
        ]);
        assert_eq!(shell.test.sandboxes(), ["target"]);
        assert_eq!(shell.test.git(&["log", "-1", "--format=%s", "target"]), "six");
        let gone = ["feat/ui", "fifth", "fix", "fourth", "main", "sixth", "target", "third"];
        assert_eq!(shell.test.branches(), gone);
    });
}

#[test]
fn without_fzf_it_asks_for_a_number() {
    in_each_shell(|shell| {
        let shell = shell.with_tools();
        let screen = shell.session(&[
            ("sb|2", "0", "$ROOT/feat-ui"),
            ("sb|1", "0", "$APP"),
            ("sb|9", "1", "$APP"),
            ("sb|x", "1", "$APP"),
            ("sb|3", "0", "$ROOT/fix"),
        ]);
        assert!(screen.contains("  1  ^                         the main worktree"), "{screen}");
        assert!(screen.contains("  2  feat-ui                   feat/ui, ready"), "{screen}");
    });
}

#[test]
fn with_fzf_it_lets_fzf_ask() {
    in_each_shell(|shell| {
        let fzf = shell.test.script("bin/fzf", "grep '^fix\t'");
        let mut shell = shell.with_tools();
        symlink(fzf, shell.tools.as_ref().unwrap().join("fzf")).unwrap();
        let grep = ["/bin/grep", "/usr/bin/grep"].into_iter().find(|it| Path::new(it).exists());
        symlink(grep.unwrap(), shell.tools.as_ref().unwrap().join("grep")).unwrap();
        shell.session(&[("sb", "0", "$ROOT/fix")]);
        if !have("fzf") {
            return;
        }
        // The real one, which answers by itself where only one line fits.
        shell.tools = None;
        let variable = match shell.words[0].as_str() {
            "fish" => "set -gx FZF_DEFAULT_OPTS '--select-1 --exit-0 --query=feat'",
            _ => "export FZF_DEFAULT_OPTS='--select-1 --exit-0 --query=feat'",
        };
        shell.session(&[
            (variable, "0", "$APP"),
            ("sb", "0", "$ROOT/feat-ui"),
            (&variable.replace("feat", "nothing-fits"), "0", "$ROOT/feat-ui"),
            ("sb", "1", "$ROOT/feat-ui"),
        ]);
    });
}
