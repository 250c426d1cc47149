//! The weaker level, which needs no namespaces. What it stops is tried with the other escapes.

use std::fs;
use std::process::Stdio;

use rustix::process::Signal;

use crate::fixture::cell::Cell;
use crate::fixture::files::write;
use crate::fixture::process::{finished, gone, is_alive, line_of, signal};

const SAID: &str = "confined: writes only in this sandbox; network on; home hidden (git sandbox doctor --confine)\n\
    warning: 'landlock' cannot keep the command from changing modes and times of your files, from seeing your \
    processes, or from replacing the folder's '.git': do not run git there meanwhile\n";

#[test]
fn git_works_and_commits_are_taken_over() {
    let Some(cell) = Cell::new() else { return };
    let script = "set -e; mkdir sub; cd sub; echo x >new; git add new; git commit -q -m inside; git switch -q -c side; \
        git commit -q --allow-empty -m side; git switch -q box; git rebase -q main; git stash list; git gc -q; git fsck --no-progress --no-dangling; \
        echo t >\"$TMPDIR/file\"; git status --porcelain";
    let output = cell.confined(&["--confine=landlock"], script);
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()),
        (Some(0), ""),
        "{output:?}"
    );
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let told = stderr.strip_prefix(SAID).unwrap_or_else(|| panic!("{stderr}"));
    assert!(told.starts_with("took 1 commit into branch 'box' ("), "{told}");
    let subject = cell.git(&cell.lab.at("box"), &["log", "-1", "--format=%s"]);
    assert_eq!(subject, "inside\n");
    assert_eq!(cell.git(&cell.lab.at("box"), &["status", "--porcelain"]), "");
}

/// A full run after a weaker one, and the other way round, goes on where the last one ended.
#[test]
fn the_levels_can_take_turns() {
    let Some(cell) = Cell::new() else { return };
    for (level, count) in
        [("--confine=landlock", "2\n"), ("--confine=full", "3\n"), ("--confine=landlock", "4\n")]
    {
        let output = cell
            .confined(&[level], "git commit -q --allow-empty -m x && git rev-list --count HEAD");
        assert_eq!(String::from_utf8_lossy(&output.stdout), count, "{output:?}");
    }
    assert_eq!(cell.git(&cell.lab.at("box"), &["rev-list", "--count", "HEAD"]), "4\n");
}

#[test]
fn a_pointer_that_was_removed_is_put_back_and_told() {
    let Some(cell) = Cell::new() else { return };
    let pointer = cell.lab.at("box/.git");
    let before = fs::read(&pointer).unwrap();
    let output = cell.confined(&["--confine=landlock"], "mv .git moved; mkdir -p .git.new/full");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let said = "warning: the command has removed '.git' of its sandbox; it was written anew\n";
    assert!(stderr.contains(said) && output.status.success(), "{stderr}");
    assert_eq!(fs::read(&pointer).unwrap(), before);
    let folder = cell.lab.at("box");
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with("replaced-git")));
    assert!(names.contains(&".git.new".into()) && names.contains(&"moved".into()), "{names:?}");
}

#[test]
fn a_pointer_that_was_replaced_is_put_back_and_told() {
    let Some(cell) = Cell::new() else { return };
    let pointer = cell.lab.at("box/.git");
    let before = fs::read(&pointer).unwrap();
    for (script, is_folder) in [
        ("echo 'gitdir: /elsewhere' >.git", false),
        ("rm .git; mkdir .git; echo x >.git/config", true),
        // It reads like the pointer, until the command that runs next writes something else there.
        ("mv .git mine; ln -s mine .git", false),
    ] {
        let output = cell.confined(&["--confine=landlock"], script);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let lead = "warning: the command has replaced '.git' of its sandbox; it was written anew, and what stood there is '";
        let told = stderr.strip_prefix(SAID).and_then(|rest| rest.strip_prefix(lead));
        let aside = told.unwrap_or_else(|| panic!("{stderr}")).split('\'').next().unwrap();
        assert_eq!(std::path::Path::new(aside).is_dir(), is_folder);
        assert!(pointer.symlink_metadata().unwrap().is_file());
        assert_eq!(fs::read(&pointer).unwrap(), before);
    }
}

#[test]
fn it_runs_where_there_are_no_namespaces() {
    let Some(cell) = Cell::new() else { return };
    let run = "git-sandbox run --confine=landlock box -- sh -c \"echo x >~/evil; echo \\$GIT_SANDBOX_CONFINED\"";
    let line = format!("unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && {run}'");
    let output = finished(&mut cell.command(&["sh", "-c", &line]));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n", "{output:?}");
    assert!(!cell.lab.home.join("evil").exists());
}

#[test]
fn what_may_be_read_may_not_be_changed() {
    let Some(cell) = Cell::new() else { return };
    let tool = cell.lab.script(".cargo/bin/tool", "echo works");
    cell.give(&cell.lab.home.join(".cargo"));
    let before = std::fs::read(&tool).unwrap();
    let script = "~/.cargo/bin/tool; echo evil >>~/.cargo/bin/tool; rm ~/.cargo/bin/tool; echo evil >~/.cargo/bin/new; true";
    let output = cell.confined(&["--confine=landlock"], script);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "works\n", "{output:?}");
    assert_eq!(std::fs::read(&tool).unwrap(), before);
    assert!(!cell.lab.home.join(".cargo/bin/new").exists());
    cell.free(script);
    assert!(cell.lab.home.join(".cargo/bin/new").exists() && !tool.exists());
}

#[test]
fn named_hosts_need_the_full_level() {
    let Some(cell) = Cell::new() else { return };
    let words = [
        "git",
        "-c",
        "sandbox.confineHost=x",
        "sandbox",
        "run",
        "--confine=landlock",
        "--network=hosts",
        "box",
        "true",
    ];
    let output = finished(&mut cell.command(&words));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: cannot confine 'box': '--network=hosts' needs the full level\n"
    );
    assert_eq!(output.status.code(), Some(1));
}

/// The kernel of this machine is newer: a filter makes it look older.
#[test]
fn without_landlock_nothing_is_started() {
    let Some(cell) = Cell::new() else { return };
    // Landlock's calls fail as on a kernel that does not have them.
    let filter = "import ctypes, os, struct, sys\n\
        step = lambda *words: struct.pack('HBBI', *words)\n\
        code = step(0x20, 0, 0, 0) + step(0x15, 0, 1, 444) + step(6, 0, 0, 0x50026) + step(6, 0, 0, 0x7fff0000)\n\
        held = ctypes.create_string_buffer(code)\n\
        program = struct.pack('HxxxxxxQ', len(code) // 8, ctypes.addressof(held))\n\
        libc = ctypes.CDLL(None, use_errno=True)\n\
        assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0\n\
        os.execvp(sys.argv[1], sys.argv[1:])";
    let words = [
        "python3",
        "-c",
        filter,
        "git-sandbox",
        "run",
        "--confine=landlock",
        "box",
        "touch",
        "ran",
    ];
    let output = finished(&mut cell.command(&words));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: cannot confine 'box': this kernel has no Landlock, or does not enable it\n"
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(!cell.lab.at("box/ran").exists());
    // What was decided with it is not started without it.
    let policy = r#"{"read":["/"],"write":["/"],"landlock":6,"unix_sockets":true,"internet_sockets":true,"own_processes":true,"heeded":[],"kept":[],"proxy":null}"#;
    let words = ["python3", "-c", filter, "git-sandbox", "__confine", policy, "--", "touch", "ran"];
    let output = finished(&mut cell.command(&words));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: cannot confine the command: the kernel did not take the rules for files\n"
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(!cell.lab.app().join("ran").exists());
    // The full level holds without it, but for sockets of the Unix kind, which are closed then.
    let script = "cat ~/.ssh/id; python3 -c 'import socket; socket.socket(socket.AF_UNIX)'";
    let words = [
        "python3",
        "-c",
        filter,
        "git-sandbox",
        "run",
        "--confine",
        "box",
        "--",
        "sh",
        "-c",
        script,
    ];
    let output = finished(&mut cell.command(&words));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        stderr.contains("No such file or directory") && stderr.contains("Operation not permitted"),
        "{stderr}"
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

/// What Landlock cannot take away again must not be granted.
#[test]
fn settings_that_need_mounts_are_refused() {
    let Some(cell) = Cell::new() else { return };
    let state = cell.lab.home.join(".agent");
    write(&state.join("settings"), "mine\n");
    cell.give(&state);
    let run = |settings: &[&str], level: &str, script: &str| {
        let words =
            [&["git"], settings, &["sandbox", "run", level, "box", "--", "sh", "-c", script]];
        finished(&mut cell.command(&words.concat()))
    };
    let write_state = "sandbox.confineWrite=~/.agent";
    let nested = ["-c", write_state, "-c", "sandbox.confineRead=~/.agent/settings"];
    let home = ["-c", "sandbox.confineRead=~"];
    let script = "echo evil >~/.agent/settings; cat ~/app/.env; touch ran";
    for (settings, why) in [
        (&nested[..], "to keep '$HOME/.agent/settings' read-only in a writable folder"),
        (&home, "to hide '$HOME' in a readable folder"),
    ] {
        let output = run(settings, "--confine=landlock", script);
        let wanted = format!("error: cannot confine 'box': {why} needs the full level\n");
        assert_eq!(String::from_utf8_lossy(&output.stderr), cell.lab.expand(&wanted));
        assert_eq!((output.status.code(), output.stdout), (Some(1), Vec::new()));
        assert!(!cell.lab.at("box/ran").exists());
        // The full level does it.
        let output = run(settings, "--confine=full", script);
        assert_eq!((output.status.code(), output.stdout), (Some(0), Vec::new()));
        assert_eq!(fs::read_to_string(state.join("settings")).unwrap(), "mine\n");
        fs::remove_file(cell.lab.at("box/ran")).unwrap();
    }
}

/// Another terminal of the user's: what is typed there can be a password.
#[test]
fn other_terminals_are_out_of_reach() {
    let Some(cell) = Cell::new() else { return };
    let opener = "import os, pty, subprocess, sys\n\
        _, side = pty.openpty()\n\
        opens = 'import os, sys; os.close(os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)); print(\"ESCAPED\")'\n\
        words = ['git-sandbox', 'run', *sys.argv[1:], 'box', '--', 'python3', '-c', opens, os.ttyname(side)]\n\
        sys.exit(subprocess.run(words, stdin=subprocess.DEVNULL).returncode)";
    let run = |options: &[&str]| {
        finished(&mut cell.command(&[&["python3", "-c", opener], options].concat()))
    };
    for (level, why) in
        [("--confine=landlock", "Permission denied"), ("--confine=full", "No such file")]
    {
        let output = run(&[level]);
        assert_eq!((output.status.code(), output.stdout), (Some(1), Vec::new()), "{level}");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains(why), "{stderr}");
    }
    let output = run(&[]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ESCAPED\n", "{output:?}");
}

/// Its own terminal is not another one.
#[test]
fn its_own_terminal_can_be_opened() {
    let Some(cell) = Cell::new() else { return };
    let opener = "import os, pty, sys\n\
        words = ['git-sandbox', 'run', sys.argv[1], 'box', '--', 'sh', '-c', 'echo one >/dev/tty; echo two >\"$(tty)\"']\n\
        sys.exit(os.waitstatus_to_exitcode(pty.spawn(words)))";
    let output = finished(&mut cell.command(&["python3", "-c", opener, "--confine=landlock"]));
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(stdout.ends_with("one\r\ntwo\r\n") && output.status.success(), "{output:?}");
}

/// A process that has left the sandbox's lock behind could change the quarantine while it is taken over.
#[test]
fn nothing_outlives_the_command() {
    let Some(cell) = Cell::new() else { return };
    let script = "python3 - <<'END'\n\
        import os, time\n\
        child = os.fork()\n\
        if child == 0:\n    \
        os.setsid(); os.closerange(3, 256)\n    \
        null = os.open('/dev/null', os.O_RDWR)\n    \
        for number in range(3): os.dup2(null, number)\n    \
        os.chdir('/'); time.sleep(600)\n\
        open('pid', 'w').write(str(child))\n\
        END\n";
    let pid = || fs::read_to_string(cell.lab.at("box/pid")).unwrap().parse::<u32>().unwrap();
    let output = cell.confined(&["--confine=landlock"], script);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!is_alive(pid()));
    let output = cell.free(script);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(is_alive(pid()), "no use to end it");
    signal(pid(), Signal::KILL);
}

/// What it can do to its own lock does not make its sandbox one that nobody uses.
#[test]
fn the_lock_of_the_runner_cannot_be_freed() {
    let Some(cell) = Cell::new() else { return };
    let state = || {
        let lock = fs::read_to_string(cell.entry().join("sandbox.lock")).unwrap();
        (cell.git(&cell.lab.app(), &["rev-parse", "box"]), lock)
    };
    let before = state();
    let script = "git commit -q --allow-empty -m inside; \
        python3 -c 'import fcntl, os; fcntl.flock(198, fcntl.LOCK_UN); os.write(198, b\"1\")'; \
        echo ready >ready; exec sleep 600";
    let words = ["run", "--confine=landlock", "box", "--", "sh", "-c", script];
    let mut runner = cell.sandbox(&words).stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(line_of(&cell.lab.at("box/ready")), "ready\n");
    let output = finished(&mut cell.sandbox(&["show", "box"]));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(state(), before);
    // It is found by its lock all the same.
    let output = finished(&mut cell.sandbox(&["stop", "box"]));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    runner.wait().unwrap();
    assert_eq!(cell.git(&cell.lab.app(), &["log", "-1", "--format=%s", "box"]), "inside\n");
}

/// What a runner that is killed cannot put back any more, the next command does.
#[test]
fn a_pointer_that_was_replaced_is_put_back_after_a_kill() {
    let Some(cell) = Cell::new() else { return };
    let pointer = cell.lab.at("box/.git");
    let before = fs::read(&pointer).unwrap();
    let script = "rm .git; mkdir .git; echo $$ >pid; echo ready >ready; exec sleep 600";
    let words = ["run", "--confine=landlock", "box", "--", "sh", "-c", script];
    let mut runner = cell.sandbox(&words).stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(line_of(&cell.lab.at("box/ready")), "ready\n");
    signal(runner.id(), Signal::KILL);
    runner.wait().unwrap();
    let list = || {
        let output = finished(&mut cell.sandbox(&["list", "--names"]));
        finished(&mut cell.sandbox(&["show", "box"]));
        String::from_utf8(output.stderr).unwrap()
    };
    // The command still runs, and may replace it again.
    assert_eq!(list(), "");
    assert!(pointer.is_dir());
    let pid = fs::read_to_string(cell.lab.at("box/pid")).unwrap().trim_end().parse().unwrap();
    signal(pid, Signal::KILL);
    gone(pid);
    let output = finished(&mut cell.sandbox(&["show", "box"]));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let lead = "warning: 'box': the command has replaced '.git' of its sandbox; it was written anew, and what stood there is '";
    assert!(stderr.starts_with(lead), "{stderr}");
    assert_eq!(fs::read(&pointer).unwrap(), before);
    assert_eq!(list(), "");
}

/// Root could make devices and set the clock.
#[test]
fn root_has_no_privileges_inside() {
    let test = crate::fixture::Test::new();
    let folder = test.new_sandbox(&["box"]);
    let script = "sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status >told";
    let run = |level: &[&str]| {
        let words = [&["run"], level, &["box", "--", "sh", "-c", script]].concat();
        let output = test.run(&words).output();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        fs::read_to_string(folder.join("told")).unwrap()
    };
    assert_eq!(run(&["--confine=landlock"]), "0000000000000000\n");
    if test.am_root() {
        assert_ne!(run(&[]), "0000000000000000\n", "no use to drop them");
    }
}
