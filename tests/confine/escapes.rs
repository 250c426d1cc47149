//! Ways out of a confined command into files: refused, or without a trace outside. Each is shown to
//! succeed without walls.

use std::os::unix::process::CommandExt;

use crate::fixture::cell::{Cell, ESCAPED};
use crate::fixture::diff::same;
use crate::fixture::process::finished;
use crate::fixture::tools::have;

const FULL: &str = "--confine=full";
const LEVELS: [&str; 2] = [FULL, "--confine=landlock"];
/// What the weaker level does not stop, as it says.
const ONLY_BY_FULL: [&str; 6] = [
    "the mode of a secret",
    "the time of a secret",
    "seeing it",
    "a replaced pointer",
    "a moved pointer",
    "commondir",
];

/// A script, and what it tries.
type Escape<'a> = (&'a str, &'a str);

/// Runs scripts with walls and then without. With walls nothing outside may change and no script may
/// say that it escaped; without, each does.
#[track_caller]
fn are_stopped(cell: &Cell, level: &str, escapes: &[Escape]) {
    let stops = |what: &str| level == FULL || !ONLY_BY_FULL.contains(&what);
    let escapes = escapes.iter().filter(|(what, _)| stops(what));
    let said =
        |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).contains(ESCAPED);
    for (what, script) in escapes.clone() {
        let before = cell.world();
        let output = cell.confined(&[level], script);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("confined: writes only"), "{what}: {stderr}");
        assert!(!said(&output), "{what}: {output:?}");
        let after = cell.world();
        if after != before {
            eprintln!("{what}: {stderr}");
        }
        same(&after, &before);
    }
    for (what, script) in escapes {
        let before = cell.world();
        let output = cell.free(script);
        assert!(
            said(&output) || cell.world() != before,
            "no escape without walls: {what}: {output:?}"
        );
    }
}

#[test]
fn nothing_else_can_be_written() {
    for level in LEVELS {
        nothing_else_can_be_written_by(level);
    }
}

fn nothing_else_can_be_written_by(level: &str) {
    let Some(cell) = Cell::new() else { return };
    let mark = cell.mark();
    let shared = |folder: &str| format!("echo x >{folder}/{mark}");
    are_stopped(
        &cell,
        level,
        &[
            ("the main worktree", "echo x >\"$GIT_SANDBOX_BASE_REPO/file\""),
            ("a new file there", "echo x >\"$GIT_SANDBOX_BASE_REPO/evil\""),
            ("another sandbox", "echo x >../other/file"),
            ("a new file there", "echo x >../other/evil"),
            (
                "its private git dir",
                "for d in \"$GIT_SANDBOX_BASE_REPO\"/.git/worktrees/other*; do [ -d \"$d\" ] && echo x >\"$d/HEAD\"; done",
            ),
            ("the trash", "echo x >../../.trash/evil"),
            (
                "what is in the trash",
                "for f in ../../.trash/*/tree/file; do [ -f \"$f\" ] && echo x >\"$f\"; done",
            ),
            ("the home", "echo x >~/evil"),
            ("a file in it", "echo evil >>~/.bashrc"),
            ("the same through a symlink", "ln -s ~/.bashrc link; echo worse >>link"),
            ("the mode of a secret", "chmod 644 ~/.ssh/id"),
            (
                "the time of a secret",
                "touch -d 2001-01-01 ~/.ssh/id; [ \"$(stat -c %Y ~/.ssh/id 2>/dev/null)\" = \"$(date -d 2001-01-01 +%s)\" ] && [ -s ~/.ssh/id ] && echo ESCAPED",
            ),
            ("/tmp", &shared("/tmp")),
            ("/dev/shm", &shared("/dev/shm")),
            ("/var/tmp", &shared("/var/tmp")),
            ("a file moved out", "echo x >moving; mv moving \"$GIT_SANDBOX_BASE_REPO/moved\""),
            ("a file linked out", "ln .git \"$GIT_SANDBOX_BASE_REPO/linked\""),
        ],
    );
    for folder in ["/tmp", "/dev/shm", "/var/tmp"] {
        let _ = std::fs::remove_file(std::path::Path::new(folder).join(&mark));
    }
}

#[test]
fn the_repository_cannot_be_changed() {
    for level in LEVELS {
        the_repository_cannot_be_changed_by(level);
    }
}

fn the_repository_cannot_be_changed_by(level: &str) {
    let Some(cell) = Cell::new() else { return };
    are_stopped(
        &cell,
        level,
        &[
            ("config by git", "git config alias.x '!evil'"),
            ("config by hand", "echo '[a]b=c' >>\"$GIT_SANDBOX_BASE_REPO/.git/config\""),
            ("a hook", "echo evil >\"$GIT_SANDBOX_BASE_REPO/.git/hooks/post-checkout\""),
            (
                "a hook that is there",
                "echo evil >>\"$GIT_SANDBOX_BASE_REPO/.git/hooks/pre-commit\"",
            ),
            (
                "another branch by git",
                "git update-ref refs/heads/victim $(git commit-tree -m x HEAD^{tree})",
            ),
            (
                "another branch by hand",
                "git commit-tree -m y HEAD^{tree} >\"$GIT_SANDBOX_BASE_REPO/.git/refs/heads/victim\"",
            ),
            ("a new branch", "git branch evil"),
            (
                "the main branch",
                "git update-ref refs/heads/main $(git commit-tree -m z HEAD^{tree})",
            ),
            ("a deleted branch", "git update-ref -d refs/heads/victim"),
            (
                "HEAD of the main worktree",
                "git --git-dir=\"$GIT_SANDBOX_BASE_REPO/.git\" symbolic-ref HEAD refs/heads/evil",
            ),
            ("packed refs", "echo x >>\"$GIT_SANDBOX_BASE_REPO/.git/packed-refs\""),
            (
                "a corrupt object",
                "cd \"$GIT_SANDBOX_BASE_REPO/.git\" && for f in objects/??/* base-objects/??/*; do [ -f \"$f\" ] && chmod u+w \"$f\" && echo x >\"$f\"; done",
            ),
            (
                "deleted objects",
                "cd \"$GIT_SANDBOX_BASE_REPO/.git\" && rm -rf objects/?? base-objects/??",
            ),
        ],
    );
}

#[test]
fn secrets_cannot_be_read() {
    for level in LEVELS {
        secrets_cannot_be_read_by(level);
    }
}

fn secrets_cannot_be_read_by(level: &str) {
    let Some(cell) = Cell::new() else { return };
    let neighbour = cell.neighbour();
    let pid = neighbour.pid();
    let home = cell.lab.home.display().to_string();
    are_stopped(
        &cell,
        level,
        &[
            ("a key", "grep -q secret ~/.ssh/id && echo ESCAPED"),
            ("a token", "grep -q secret ~/.config/gh/hosts.yml && echo ESCAPED"),
            (
                "a file of the main worktree",
                "grep -q secret \"$GIT_SANDBOX_BASE_REPO/.env\" && echo ESCAPED",
            ),
            ("a file of another sandbox", "grep -q secret ../other/secret && echo ESCAPED"),
            (
                "the root of our own process",
                &format!("grep -q secret /proc/self/root{home}/.ssh/id && echo ESCAPED"),
            ),
            (
                "the root of another process",
                &format!("grep -q secret /proc/{pid}/root{home}/.ssh/id && echo ESCAPED"),
            ),
            (
                "the root of the first process",
                &format!(
                    "for p in /proc/[0-9]*; do grep -q secret $p/root{home}/.ssh/id 2>/dev/null && echo ESCAPED; done"
                ),
            ),
            (
                "the folder of any process",
                "for p in /proc/[0-9]*; do grep -q secret $p/cwd/.env $p/cwd/../.ssh/id 2>/dev/null && echo ESCAPED; done; cd \"$GIT_SANDBOX_BASE_REPO\" && grep -q secret .env && echo ESCAPED",
            ),
            (
                "the variables of another process",
                &format!("tr '\\0' '\\n' </proc/{pid}/environ | grep -q SECRET && echo ESCAPED"),
            ),
            (
                "a hard link",
                "ln ~/.ssh/id stolen && grep -q secret stolen && echo ESCAPED; rm -f stolen",
            ),
            (
                "a symlink in the checkout",
                "ln -sf ~/.ssh/id link && grep -q secret link && echo ESCAPED; rm -f link",
            ),
            ("an ambient token", "[ -n \"$GITHUB_TOKEN$GIT_CONFIG_GLOBAL\" ] && echo ESCAPED"),
        ],
    );
}

#[test]
fn other_processes_are_out_of_reach() {
    for level in LEVELS {
        other_processes_are_out_of_reach_by(level);
    }
}

fn other_processes_are_out_of_reach_by(level: &str) {
    let Some(cell) = Cell::new() else { return };
    let neighbour = cell.neighbour();
    let pid = neighbour.pid();
    are_stopped(
        &cell,
        level,
        &[
            (
                "seeing it",
                &format!("[ -d /proc/{pid} ] && grep -q sleep /proc/{pid}/comm && echo ESCAPED"),
            ),
            ("a signal", &format!("kill -0 {pid} && echo ESCAPED")),
            ("its memory", &format!("head -c 0 /proc/{pid}/mem && echo ESCAPED")),
            (
                "a debugger",
                &format!(
                    "python3 -c 'import ctypes; print(\"ESCAPED\" * (ctypes.CDLL(None).ptrace(16, {pid}, 0, 0) == 0))'"
                ),
            ),
        ],
    );
    assert!(neighbour.is_alive());
}

#[test]
fn the_sandbox_stays_where_it_is() {
    for level in LEVELS {
        the_sandbox_stays_where_it_is_by(level);
    }
}

fn the_sandbox_stays_where_it_is_by(level: &str) {
    let Some(cell) = Cell::new() else { return };
    are_stopped(
        &cell,
        level,
        &[
            (
                "a replaced pointer",
                "cp .git saved; printf 'gitdir: /elsewhere' >.git && echo ESCAPED; cp saved .git 2>/dev/null; rm saved",
            ),
            ("a moved pointer", "mv .git .git.old && echo ESCAPED; mv .git.old .git"),
            (
                "a moved folder",
                "mv \"$GIT_SANDBOX_PATH\" \"$GIT_SANDBOX_PATH.moved\" && echo ESCAPED",
            ),
        ],
    );
}

#[test]
fn the_way_to_the_common_dir_stays() {
    for level in LEVELS {
        the_way_to_the_common_dir_stays_by(level);
    }
}

fn the_way_to_the_common_dir_stays_by(level: &str) {
    let Some(cell) = Cell::new() else { return };
    are_stopped(
        &cell,
        level,
        &[(
            "commondir",
            "d=$(git rev-parse --git-dir); echo /elsewhere >\"$d/commondir\" && echo ESCAPED",
        )],
    );
}

/// On the way to what is mounted, a symlink would lead the mounts of the next command elsewhere.
#[test]
fn the_way_to_a_mount_cannot_be_moved() {
    let Some(cell) = Cell::new() else { return };
    are_stopped(
        &cell,
        "--confine",
        &[
            (
                "worktrees",
                "d=$(git rev-parse --git-common-dir); mv $d/worktrees $d/w && mv $d/w $d/worktrees && echo ESCAPED",
            ),
            ("its own", "d=$(git rev-parse --git-dir); mv $d $d.w && mv $d.w $d && echo ESCAPED"),
        ],
    );
}

/// Whatever the user shows of the home, other worktrees stay hidden.
#[test]
fn a_wide_readable_path_shows_no_other_worktree() {
    let Some(cell) = Cell::new() else { return };
    let away = cell.lab.home.join("away");
    cell.git(&cell.lab.app(), &["worktree", "add", "--quiet", "--detach", "../away"]);
    crate::fixture::files::write(&away.join("secret"), "secret\n");
    let script = "for f in ~/.ssh/id \"$GIT_SANDBOX_BASE_REPO/.env\" ../other/secret ~/away/secret ../../.trash/*/tree/file; \
        do [ -f \"$f\" ] && echo \"${f##*/}\"; done; true";
    let run = |options: &[&str]| {
        let words = ["git", "-c", "sandbox.confineRead=~", "sandbox", "run"];
        let words = [&words[..], options, &["box", "--", "sh", "-c", script]].concat();
        String::from_utf8(finished(&mut cell.command(&words)).stdout).unwrap()
    };
    assert_eq!(run(&["--confine"]), "id\n");
    assert_eq!(run(&[]), "id\n.env\nsecret\nsecret\nfile\n");
}

/// Shared memory of the user's other programs has neither a path nor a process.
#[test]
fn shared_memory_of_others_is_out_of_reach() {
    let Some(cell) = Cell::new() else { return };
    let make = "import ctypes; print(ctypes.CDLL(None).shmget(0, 4096, 0o1600))";
    let output = finished(&mut cell.command(&["python3", "-c", make]));
    let id = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    let attach = format!(
        "python3 -c 'import ctypes; f = ctypes.CDLL(None).shmat; f.restype = ctypes.c_long; print(\"{ESCAPED}\" * (f({id}, None, 0) != -1))'"
    );
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let (inside, outside) = (said(&cell.confined(&[FULL], &attach)), said(&cell.free(&attach)));
    let remove = format!("import ctypes; ctypes.CDLL(None).shmctl({id}, 0, None)");
    finished(&mut cell.command(&["python3", "-c", &remove]));
    assert_eq!((inside.as_str(), outside.as_str()), ("\n", "ESCAPED\n"));
}

/// A descriptor that leads to a folder outside would be a way around mounts.
#[test]
fn a_leaked_descriptor_leads_nowhere() {
    let Some(cell) = Cell::new() else { return };
    let script = "cat /proc/self/fd/7/.ssh/id; cat <&8; echo evil >&9; ls -l /proc/self/fd | grep -c ' [3-9] .*/'";
    let run = |options: &str| {
        let leak =
            "exec 7<\"$HOME\" 8<\"$HOME/.ssh/id\" 9>>\"$HOME/.bashrc\"; exec git-sandbox run";
        let line = format!("{leak} {options} box -- sh -c \"$0\"");
        finished(cell.command(&["sh", "-c", &line, script]).process_group(0))
    };
    let before = cell.world();
    for level in LEVELS {
        let output = run(level);
        assert!(!String::from_utf8_lossy(&output.stdout).contains("secret"), "{output:?}");
        same(&cell.world(), &before);
    }
    let output = run("");
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches("secret").count(), 2, "{output:?}");
    assert_ne!(cell.world(), before);
}

/// As stdin it would be one too.
#[test]
fn a_folder_as_stdin_is_refused() {
    let Some(cell) = Cell::new() else { return };
    let line = "exec git-sandbox run --confine box -- true <\"$HOME\"";
    let output = finished(&mut cell.command(&["sh", "-c", line]));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "confined: writes only in this sandbox; network on; home hidden (git sandbox doctor --confine)\n\
         error: cannot confine the command: descriptor 0 leads to a folder\n"
    );
    assert_eq!(output.status.code(), Some(1));
}

/// Other users cannot read them anyway.
#[test]
fn secrets_of_the_system_are_hidden_from_root_too() {
    if !have("bwrap") {
        return;
    }
    let test = crate::fixture::Test::new();
    let folder = test.new_sandbox(&["box"]);
    let script =
        "{ cat /etc/shadow; ls -A /etc/ssl/private; } >told 2>/dev/null; cat /etc/passwd >open";
    let run = |level: &[&str]| {
        let words = [&["run"], level, &["box", "--", "sh", "-c", script]].concat();
        let output = test.run(&words).output();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(!read("open").is_empty());
        read("told")
    };
    assert_eq!(run(&[FULL]), "");
    if test.am_root() {
        assert_ne!(run(&[]), "", "nothing is hidden");
    }
}
