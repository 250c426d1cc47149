//! The weaker level, which needs no namespaces. What it stops is tried with the other escapes.

use crate::fixture::cell::Cell;
use crate::fixture::process::finished;

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
    let before = std::fs::read(&pointer).unwrap();
    let output = cell.confined(&["--confine=landlock"], "mv .git moved; mkdir -p .git.new/full");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let said = "warning: the command has removed '.git' of its sandbox; it was written anew\n";
    assert!(stderr.contains(said) && output.status.success(), "{stderr}");
    assert_eq!(std::fs::read(&pointer).unwrap(), before);
    let folder = cell.lab.at("box");
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with("replaced-git")));
    assert!(names.contains(&".git.new".into()) && names.contains(&"moved".into()), "{names:?}");
}

#[test]
fn a_pointer_that_was_replaced_is_put_back_and_told() {
    let Some(cell) = Cell::new() else { return };
    let pointer = cell.lab.at("box/.git");
    let before = std::fs::read(&pointer).unwrap();
    for (script, is_folder) in [
        ("echo 'gitdir: /elsewhere' >.git", false),
        ("rm .git; mkdir .git; echo x >.git/config", true),
    ] {
        let output = cell.confined(&["--confine=landlock"], script);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let lead = "warning: the command has replaced '.git' of its sandbox; it was written anew, and what stood there is '";
        let told = stderr.strip_prefix(SAID).and_then(|rest| rest.strip_prefix(lead));
        let aside = told.unwrap_or_else(|| panic!("{stderr}")).split('\'').next().unwrap();
        assert_eq!(std::path::Path::new(aside).is_dir(), is_folder);
        assert_eq!(std::fs::read(&pointer).unwrap(), before);
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
