//! A confined command is a command like any other: its exit code, signals, terminal, log, `stop`.

use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

use rustix::process::Signal;

use crate::fixture::cell::Cell;
use crate::fixture::files::write;
use crate::fixture::process::{ended, finished, gone, line_of, signal, until};

const ON: &str = "confined: writes only in this sandbox; network on; home hidden (git sandbox doctor --confine)\n";
const OFF: &str = "confined: writes only in this sandbox; no network; home hidden (git sandbox doctor --confine)\n";

/// Starts a script in the background of the test and waits until it has written `ready` to the sandbox.
fn started(cell: &Cell, script: &str) -> Child {
    let script = format!("{script}; echo ready >ready; cat ready >/dev/null; sleep 600 & wait");
    let mut command = cell.sandbox(&["run", "--confine", "box", "--", "sh", "-c", &script]);
    let command = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    assert_eq!(line_of(&cell.lab.at("box/ready")), "ready\n");
    child
}

#[test]
fn exit_codes_are_the_commands_own() {
    let Some(cell) = Cell::new() else { return };
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)]
    {
        assert_eq!(cell.confined(&[], script).status.code(), Some(code), "{script}");
    }
    let output = finished(&mut cell.sandbox(&["run", "--confine", "box", "--", "no-such-program"]));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: cannot run 'no-such-program': no such program\n"
    );
    assert_eq!(output.status.code(), Some(127));
}

#[test]
fn a_program_that_is_hidden_is_named_with_the_way_to_show_it() {
    let Some(cell) = Cell::new() else { return };
    cell.lab.script("tools/agent", "echo here");
    cell.give(&cell.lab.home.join("tools"));
    let agent = cell.lab.home.join("tools/agent");
    let run = |more: &[&str]| {
        let words = [
            &["git"],
            more,
            &["sandbox", "run", "--confine", "box", "--", agent.to_str().unwrap()],
        ]
        .concat();
        finished(&mut cell.command(&words))
    };
    let output = run(&[]);
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        cell.lab.expand(&format!(
            "{ON}error: cannot confine 'box': '$HOME/tools/agent' is hidden from it\n\
             hint: git config --global --add sandbox.confineRead $HOME/tools\n"
        ))
    );
    assert_eq!(output.status.code(), Some(1));
    let output = run(&["-c", "sandbox.confineRead=~/tools"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "here\n", "{output:?}");
}

#[test]
fn term_reaches_the_command_which_ends_as_it_likes() {
    let Some(cell) = Cell::new() else { return };
    let child = started(&cell, "trap 'echo bye; exit 9' TERM");
    signal(child.id(), Signal::TERM);
    let output = ended(child);
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()),
        (Some(9), "bye\n")
    );
}

#[test]
fn it_is_in_use_until_it_is_stopped() {
    let Some(cell) = Cell::new() else { return };
    let child = started(&cell, "trap 'echo bye; exit 0' TERM");
    let output = finished(&mut cell.sandbox(&["rm", "--force", "box"]));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        stderr.starts_with("error: cannot remove 'box': in use by ") && stderr.contains(" sh"),
        "{stderr}"
    );
    let output = finished(&mut cell.sandbox(&["stop", "box"]));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        stderr.starts_with("stopped ") && stderr.ends_with(" processes in sandbox 'box'\n"),
        "{stderr}"
    );
    let output = ended(child);
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()),
        (Some(0), "bye\n")
    );
    let output = finished(&mut cell.sandbox(&["stop", "box"]));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "nothing runs in sandbox 'box'\n");
}

#[test]
fn what_runs_inside_dies_with_its_runner() {
    let Some(cell) = Cell::new() else { return };
    let mut child = started(&cell, ":");
    let sleeps = || {
        let output = finished(&mut cell.sandbox(&["list", "--json"]));
        let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let list = list.as_array().unwrap().clone();
        !list.iter().find(|it| it["name"] == "box").unwrap()["in_use"]
            .as_array()
            .unwrap()
            .is_empty()
    };
    assert!(sleeps());
    child.kill().unwrap();
    child.wait().unwrap();
    until("the rest is gone", || !sleeps());
}

#[test]
fn a_background_run_has_a_log_and_its_end_is_written_down() {
    let Some(cell) = Cell::new() else { return };
    let script = "git commit -q --allow-empty -m inside; echo inside $GIT_SANDBOX_CONFINED; exit 3";
    let output = finished(&mut cell.sandbox(&[
        "run",
        "--confine",
        "--network=off",
        "--background",
        "box",
        "--",
        "sh",
        "-c",
        script,
    ]));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let (first, rest) = stderr.split_once('\n').unwrap();
    assert_eq!(format!("{first}\n"), OFF);
    let pid = rest.lines().next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    gone(pid);
    // Before any other command of ours has looked.
    assert_eq!(cell.git(&cell.lab.app(), &["log", "-1", "--format=%s", "box"]), "inside\n");
    let log = finished(&mut cell.sandbox(&["show", "--log", "box"]));
    let log = String::from_utf8(log.stdout).unwrap();
    let end = " exited with 3\ntook 1 commit into branch 'box' (";
    assert!(log.contains("\ninside 1\n") && log.contains(end), "{log}");
}

#[test]
fn a_failed_background_run_is_started_again_inside() {
    let Some(cell) = Cell::new() else { return };
    let script = "echo $GIT_SANDBOX_CONFINED >>tries; [ $(wc -l <tries) = 2 ]";
    let words =
        ["run", "--confine", "--background", "--restart=3", "box", "--", "sh", "-c", script];
    let output = finished(cell.sandbox(&words).env("GIT_SANDBOX_SECOND", "1"));
    assert!(output.status.success(), "{output:?}");
    let tries = cell.lab.at("box/tries");
    until("it was tried twice", || {
        std::fs::read_to_string(&tries).is_ok_and(|text| text == "1\n1\n")
    });
    let output = finished(&mut cell.sandbox(&["wait", "box"]));
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_sandbox_that_was_made_for_it_stays_confined() {
    let Some(cell) = Cell::new() else { return };
    let output = finished(&mut cell.sandbox(&["new", "--confine", "--network=off", "box"]));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "resumed sandbox 'box'\n");
    let run = |options: &[&str]| {
        let script = "echo ${GIT_SANDBOX_CONFINED:-free}";
        let output = finished(
            &mut cell.sandbox(&[&["run"], options, &["box", "--", "sh", "-c", script]].concat()),
        );
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(run(&[]), ("1\n".into(), OFF.into()));
    assert_eq!(run(&["--network=on"]), ("1\n".into(), ON.into()));
    let free = "not confined, although sandbox 'box' was made for it\n";
    assert_eq!(run(&["--no-confine"]), ("free\n".into(), free.into()));
    assert_eq!(run(&[]), ("1\n".into(), OFF.into()));
    // What is said once more about the walls is no word about the network.
    finished(&mut cell.sandbox(&["new", "--confine", "box"]));
    assert_eq!(run(&[]), ("1\n".into(), OFF.into()));
}

#[test]
fn an_agent_of_the_config_is_confined_too() {
    let Some(cell) = Cell::new() else { return };
    cell.git(
        &cell.lab.app(),
        &["config", "sandbox.agent", "printf '%s %s\\n' \"$GIT_SANDBOX_CONFINED\""],
    );
    cell.git(&cell.lab.app(), &["config", "sandbox.confine", "true"]);
    let output = finished(&mut cell.sandbox(&["new", "--no-run", "box", "the task"]));
    assert!(output.status.success());
    let output = finished(&mut cell.sandbox(&["run", "box"]));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1 the task\n", "{output:?}");
}

#[test]
fn network_needs_walls() {
    let Some(cell) = Cell::new() else { return };
    // A `new` without a command would record nothing of it.
    for words in [&["run", "--network=off", "box", "true"][..], &["new", "--network=off", "fresh"]]
    {
        let output = finished(&mut cell.sandbox(words));
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.starts_with("error: option '--network' needs '--confine'\n"), "{stderr}");
        assert_eq!(output.status.code(), Some(129));
    }
    let output = finished(&mut cell.sandbox(&["path", "fresh"]));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn toolchains_in_the_home_can_be_used_and_not_changed() {
    let Some(cell) = Cell::new() else { return };
    cell.lab.script(".cargo/bin/tool", "echo works");
    write(&cell.lab.home.join(".agent/state"), "old\n");
    write(&cell.lab.home.join(".agent/settings"), "mine\n");
    cell.give(&cell.lab.home);
    let script = "~/.cargo/bin/tool; echo x >>~/.cargo/bin/tool; echo new >~/.agent/state; echo evil >~/.agent/settings; \
        rm -f ~/.agent/settings; echo $A_KEY $B_KEY; cat ~/.agent/settings";
    let words = [
        "-c",
        "sandbox.confineWrite=~/.agent",
        "-c",
        "sandbox.confineRead=~/.agent/settings",
        "-c",
        "sandbox.confineEnv=A_*",
        "sandbox",
        "run",
        "--confine",
        "box",
        "--",
        "sh",
        "-c",
        script,
    ];
    let mut command = cell.command(&[&["git"], &words[..]].concat());
    let output = finished(command.env("A_KEY", "a").env("B_KEY", "b"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "works\na\nmine\n", "{output:?}");
    let read = |name: &str| std::fs::read_to_string(cell.lab.home.join(name)).unwrap();
    assert_eq!((read(".agent/state"), read(".agent/settings")), ("new\n".into(), "mine\n".into()));
    assert!(!read(".cargo/bin/tool").ends_with("x\n"));
}

/// Runs a script on a terminal with job control, types, and returns what is shown.
fn typed(cell: &Cell, script: &str, inside: &str, keys: &[(&str, &str)]) -> String {
    let driver = "import os, pty, sys\n\
        pid, fd = pty.fork()\n\
        if pid == 0: os.execvp('bash', ['bash', '-c', sys.argv[1], 'bash', sys.argv[2]])\n\
        seen = b''\n\
        def until(word):\n    \
        global seen\n    \
        while word is None or word not in seen:\n        \
        try: more = os.read(fd, 1000)\n        \
        except OSError: more = b''\n        \
        if not more: break\n        \
        seen += more\n\
        for pair in sys.argv[3:]:\n    \
        word, keys = pair.split('=')\n    \
        until(word.encode()); seen = seen.split(word.encode(), 1)[-1]; os.write(fd, keys.encode().decode('unicode_escape').encode())\n\
        until(None); os.waitpid(pid, 0)\n\
        print(seen.decode().replace('\\r', ''), end='')";
    let pairs: Vec<String> = keys.iter().map(|(word, keys)| format!("{word}={keys}")).collect();
    let pairs: Vec<&str> = pairs.iter().map(String::as_str).collect();
    let words = [&["python3", "-c", driver, script, inside], &pairs[..]].concat();
    let output = finished(cell.command(&words).env("TERM", "xterm"));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_keys_of_the_terminal_reach_the_command() {
    let Some(cell) = Cell::new() else { return };
    let run = "git-sandbox run --confine box -- sh -c \"$1\"; echo code=$?";
    let shown = typed(&cell, run, "echo ready; exec sleep 600", &[("ready", "\\x03")]);
    assert!(shown.ends_with("code=130\n"), "{shown}");
    let own = "trap 'echo mine' INT; sh -c 'echo ready; exec sleep 600'; echo after; exit 4";
    let shown = typed(&cell, run, own, &[("ready", "\\x03")]);
    assert!(shown.ends_with("mine\nafter\ncode=4\n"), "{shown}");
    let job = "set -m; git-sandbox run --confine box -- sh -c \"$1\"; echo stopped; fg >/dev/null; echo code=$?";
    let shown = typed(
        &cell,
        job,
        "echo ready; read x; echo got $x",
        &[("ready", "\\x1a"), ("stopped", "word\\n")],
    );
    assert!(shown.ends_with("got word\ncode=0\n"), "{shown}");
}

#[test]
fn a_repository_that_appears_inside_is_warned_of_once() {
    let Some(cell) = Cell::new() else { return };
    let output = cell.confined(&[], "git init --quiet sub/deep");
    let warning = "warning: a repository appeared at '$ROOT/box/sub/deep': git does there what its config says\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), cell.lab.expand(&format!("{ON}{warning}")));
    assert_eq!(output.status.code(), Some(0));
    let output = cell.confined(&[], "true");
    assert_eq!(String::from_utf8_lossy(&output.stderr), ON);
}

/// The command could change the config of a repository of its own between our look at it and a git that
/// we start there: a filter would run outside.
#[test]
fn no_git_is_started_in_a_repository_of_a_command_at_work() {
    let Some(cell) = Cell::new() else { return };
    let real = finished(&mut cell.command(&["sh", "-c", "command -v git"]));
    let real = String::from_utf8(real.stdout).unwrap();
    cell.lab.script("spy/git", &format!("pwd >>$HOME/folders; exec {} \"$@\"", real.trim_end()));
    cell.give(&cell.lab.home.join("spy"));
    let path = format!("PATH={}:$PATH", cell.lab.home.join("spy").display());
    let folders = cell.lab.home.join("folders");
    let looked_into = || {
        let _ = std::fs::remove_file(&folders);
        for words in ["list", "list --json", "show box", "diff box", "rm box", "doctor"] {
            finished(&mut cell.command(&["sh", "-c", &format!("{path}; git-sandbox {words}")]));
        }
        let text = std::fs::read_to_string(&folders).unwrap();
        text.lines().any(|folder| folder.ends_with("/box/nested"))
    };
    let script = "git init -q nested; cd nested; git commit -q --allow-empty -m x; \
        git update-ref refs/remotes/origin/main HEAD; git remote add origin x; cd ..";
    let child = started(&cell, script);
    assert!(!looked_into());
    signal(child.id(), Signal::TERM);
    ended(child);
    assert!(looked_into(), "once it has ended");
}

#[test]
fn repositories_that_appear_are_told_in_whatever_shape() {
    let Some(cell) = Cell::new() else { return };
    let script = "git init -q --bare linked; mv linked/objects linked/hidden; ln -s hidden linked/objects; \
        git init -q --bare parts; mkdir front; mv parts/HEAD front/HEAD; echo ../parts >front/commondir";
    let told = |names: &[&str]| {
        let folder = cell.lab.at("box");
        let line = |name: &&str| {
            let place = folder.join(name);
            format!(
                "warning: a repository appeared at '{}': git does there what its config says\n",
                place.display()
            )
        };
        names.iter().map(line).collect::<String>()
    };
    let output = cell.confined(&[], script);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(stderr, format!("{ON}{}", told(&["front", "linked"])));
    // A second command must not make them known while the first has yet to be told.
    let child = started(&cell, "git init -q third");
    let output = cell.confined(&[], ":");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains(&told(&["third"])), "{stderr}");
    signal(child.id(), Signal::TERM);
    ended(child);
}

/// While a command runs, its quarantine is its own: nothing is taken over, and no second command has it
/// brought up to date below the first.
#[test]
fn nothing_is_taken_over_while_a_command_runs() {
    let Some(cell) = Cell::new() else { return };
    let (app, before) = (cell.lab.app(), cell.git(&cell.lab.app(), &["rev-parse", "box"]));
    let child = started(&cell, "git commit -q --allow-empty -m inside; trap 'exit 0' TERM");
    let output = finished(&mut cell.sandbox(&["list", "--names"]));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(cell.git(&app, &["rev-parse", "box"]), before);
    cell.git(&app, &["branch", "later"]);
    let output = cell.confined(&[], "git log -1 --format=%s; git rev-parse -q --verify later");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "inside\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), ON);
    assert_eq!(cell.git(&app, &["rev-parse", "box"]), before);
    signal(child.id(), Signal::TERM);
    let output = ended(child);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("took 1 commit into branch 'box' ("), "{said}");
    assert_eq!(cell.git(&app, &["log", "-1", "--format=%s", "box"]), "inside\n");
}
