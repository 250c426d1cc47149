//! Files of git's and of ours that somebody tampered with: a clear error or the truth, no waiting, and
//! nothing outside is read into, written or deleted.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{chmod, tree, write};
use crate::fixture::repository::{Format, repository};
use crate::fixture::state::entry;
use crate::fixture::trash::trashed;

/// What stands in the place of a file.
type Tamper = fn(&Path, &Path);

fn put(path: &Path, bytes: &[u8]) {
    let _ = fs::remove_file(path);
    fs::write(path, bytes).unwrap();
}

#[track_caller]
fn pipe(path: &Path, _: &Path) {
    let _ = fs::remove_file(path);
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

/// What may stand in a file; the second path is a folder of somebody's files.
const CONTENTS: [(&str, Tamper); 6] = [
    ("empty", |path, _| put(path, b"")),
    ("garbage", |path, _| put(path, b"\x1b[2Jgarbage\xff\n")),
    ("nul", |path, _| put(path, b"gitdir: /a\0b\n{\"task\": \"\\u0000\"}\0")),
    ("lines", |path, _| put(path, b"gitdir: /a\n/b\n\n\n")),
    ("relative", |path, _| put(path, b"gitdir: ../../../..\n")),
    ("large", |path, _| put(path, &b"x".repeat(1 << 20))),
];

/// What may stand in the place of one.
const PLACES: [(&str, Tamper); 5] = [
    ("elsewhere", |path, victim| {
        put(path, format!("gitdir: {}/.git\n", victim.display()).as_bytes());
    }),
    ("pipe", pipe),
    ("pipe behind a symlink", |path, victim| {
        pipe(&victim.with_file_name("pipe"), victim);
        let _ = fs::remove_file(path);
        symlink(victim.with_file_name("pipe"), path).unwrap();
    }),
    ("symlink", |path, victim| {
        let _ = fs::remove_file(path);
        symlink(victim.join("diary"), path).unwrap();
    }),
    ("folder", |path, _| {
        let _ = fs::remove_file(path);
        fs::create_dir(path).unwrap();
    }),
];

fn scene() -> (Test, PathBuf, PathBuf) {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box", "A task"]);
    test.new_sandbox(&["other"]);
    let victim = test.home.join("victim/home");
    write(&victim.join("diary"), "dear diary\n");
    write(&victim.join("deep/letter"), "dear friend\n");
    (test, path, victim)
}

/// A command that comes to its end, by a documented code, and says what is wrong if something is.
#[track_caller]
fn ends(test: &Test, words: &[&str], what: &str) -> Output {
    let output = test.run(words).output();
    let (code, text) = (output.status.code(), String::from_utf8_lossy(&output.stderr));
    assert!(matches!(code, Some(0 | 1)), "{what}: {words:?}: {code:?}: {text}");
    assert!(!text.contains("panicked"), "{what}: {words:?}: {text}");
    assert_eq!(
        code == Some(1),
        text.contains("error: ") || words[0] == "doctor" && code == Some(1),
        "{what}: {words:?}: {text}"
    );
    let hidden = |letter: char| letter.is_control() && letter != '\n';
    assert!(!text.contains(hidden), "{what}: {words:?}: {text:?}");
    output
}

const LOOKS: [&[&str]; 4] = [&["list"], &["show", "box"], &["doctor"], &["rm", "box"]];

const ACTS: [&[&str]; 8] = [
    &["list", "--json"],
    &["new", "more"],
    &["new", "box"],
    &["run", "box", "true"],
    &["reap", "--dry-run"],
    &["rm", "--force", "box"],
    &["restore"],
    &["restore", "box"],
];

/// Whatever stands there, every command ends, and neither the victim nor the other sandbox changes.
fn harms_nobody(name: &str, find: fn(&Test, &Path) -> PathBuf) {
    let tampered = || {
        let (test, path, victim) = scene();
        write(&path.join("work"), "mine\n");
        let file = find(&test, &path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        (test, path, victim, file)
    };
    let check = |test: &Test, path: &Path, victim: &Path, commands: &[&[&str]], what: &str| {
        let others = || tree(victim, &[]) + &tree(&test.at("other"), &[]);
        let before = others();
        for words in commands {
            ends(test, words, &format!("{name}: {what}"));
            same(&others(), &before);
        }
        // The work is where it was, or in the trash.
        let moved = trashed(test).iter().any(|folder| folder.join("tree/work").is_file());
        assert!(path.join("work").is_file() || moved, "{name}: {what}");
    };
    let (test, path, victim, file) = tampered();
    for (what, tamper) in CONTENTS {
        tamper(&file, &victim);
        check(&test, &path, &victim, &LOOKS, what);
    }
    for (what, tamper) in PLACES {
        let (test, path, victim, file) = tampered();
        tamper(&file, &victim);
        check(&test, &path, &victim, &LOOKS[..1], what);
        check(&test, &path, &victim, &ACTS, what);
    }
}

#[test]
fn a_tampered_dot_git_harms_nobody() {
    harms_nobody(".git", |_, path| path.join(".git"));
}

#[test]
fn a_tampered_gitdir_harms_nobody() {
    harms_nobody("gitdir", |test, path| entry(test, path).join("gitdir"));
}

#[test]
fn a_tampered_commondir_harms_nobody() {
    harms_nobody("commondir", |test, path| entry(test, path).join("commondir"));
}

#[test]
fn a_tampered_head_harms_nobody() {
    harms_nobody("HEAD", |test, path| entry(test, path).join("HEAD"));
}

#[test]
fn a_tampered_index_harms_nobody() {
    harms_nobody("index", |test, path| entry(test, path).join("index"));
}

#[test]
fn a_tampered_lock_reason_harms_nobody() {
    harms_nobody("locked", |test, path| entry(test, path).join("locked"));
}

#[test]
fn tampered_facts_harm_nobody() {
    harms_nobody("sandbox.json", |test, path| entry(test, path).join("sandbox.json"));
}

#[test]
fn tampered_new_facts_harm_nobody() {
    harms_nobody("sandbox.json.new", |test, path| entry(test, path).join("sandbox.json.new"));
}

#[test]
fn a_tampered_own_lock_harms_nobody() {
    harms_nobody("sandbox.lock", |test, path| entry(test, path).join("sandbox.lock"));
}

#[test]
fn a_tampered_reflog_harms_nobody() {
    harms_nobody("logs/HEAD", |test, path| entry(test, path).join("logs/HEAD"));
}

#[test]
fn a_tampered_operation_harms_nobody() {
    harms_nobody("head-name", |test, path| entry(test, path).join("rebase-merge/head-name"));
}

#[test]
fn a_tampered_word_of_the_daily_run_harms_nobody() {
    harms_nobody(".reaped", |test, _| test.root().with_file_name(".reaped"));
}

/// With a pipe in the place of a file of git's, this sandbox is damaged and the others work.
#[track_caller]
fn damages_one(name: &str) {
    let (test, path, victim) = scene();
    let entry_of_box = entry(&test, &path);
    let file = entry_of_box.join(name);
    pipe(&file, &victim);
    let listed = test.json(&["list", "--json"]);
    let states: Vec<_> =
        listed.as_array().unwrap().iter().map(|it| (&it["name"], &it["state"])).collect();
    let states: Vec<_> = states.iter().map(|(name, state)| format!("{name} {state}")).collect();
    let mut sorted = states.clone();
    sorted.sort();
    assert_eq!(sorted, ["\"box\" \"damaged\"", "\"other\" \"ready\""], "{name}");
    let said = format!(
        "error: '{0}' is not a plain file, as git's own are\nhint: rm {0}\n",
        file.display()
    );
    for words in [&["rm", "--force", "--force", "box"][..], &["run", "box", "true"]] {
        test.run(words).stderr(&said).code(1);
    }
    test.run(&["run", "other", "true"]).ok();
    test.run(&["new", "other"]).stdout("$ROOT/other\n").stderr("resumed sandbox 'other'\n").ok();
    let more = "created sandbox 'more': new branch 'more' from 'main'\n";
    test.run(&["new", "more"]).stdout("$ROOT/more\n").stderr(more).ok();
    assert!(test.run(&["reap"]).output().status.success(), "{name}");
    let removed = "removed 'other' (nothing to lose); undo with: git sandbox restore other-ID\n";
    test.run(&["rm", "other"]).stderr(removed).ok();
    test.run(&["restore", "other"]).stdout("$ROOT/other\n").stderr("restored 'other'\n").ok();
    let found = test.run(&["doctor"]).output();
    let found = String::from_utf8(found.stdout).unwrap();
    let wanted = format!("{}: '{}' is not a plain file", path.display(), file.display());
    assert!(found.contains(&wanted), "{found}");
    assert!(path.join("a").exists());
    // Nothing of it was deleted.
    assert!(file.exists() && entry_of_box.join("sandbox.json").exists(), "{name}");
}

#[test]
fn a_pipe_in_an_entry_damages_only_its_sandbox() {
    for name in ["HEAD", "gitdir", "index", "locked", "logs/HEAD"] {
        damages_one(name);
    }
}

/// A prune that reads nothing there would delete the private git dir.
#[test]
fn a_pipe_in_the_place_of_gitdir_is_not_ended_while_a_git_may_prune() {
    let (test, path, victim) = scene();
    let other = test.at("other");
    let file = entry(&test, &path).join("gitdir");
    pipe(&file, &victim);
    let said = format!(
        "error: '{0}' is not a plain file, as git's own are\nhint: rm {0}\n",
        file.display()
    );
    for folder in [&test.app(), &other] {
        for word in ["gc", "prune", "maintenance"] {
            // It waits for its stdin first.
            let mut git = test.command("git", folder);
            git.args(["hash-object", "--stdin", word]).stdin(std::process::Stdio::piped());
            git.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
            let mut git = git.spawn().unwrap();
            let run = test.program(&test.app(), &["list"]).stderr(&said);
            run.code(1);
            drop(git.stdin.take());
            git.wait().unwrap();
            assert!(entry_is_whole(&file), "{word}");
        }
    }
    // Elsewhere it harms nobody.
    let mut git = test.command("git", &victim);
    git.args(["hash-object", "--stdin", "prune"]).stdin(std::process::Stdio::piped());
    git.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut git = git.spawn().unwrap();
    assert_eq!(test.program(&test.app(), &["list"]).output().status.code(), Some(0));
    drop(git.stdin.take());
    git.wait().unwrap();
}

fn entry_is_whole(gitdir: &Path) -> bool {
    let entry = gitdir.parent().unwrap();
    ["HEAD", "index", "commondir", "sandbox.json"].iter().all(|name| entry.join(name).is_file())
}

#[test]
fn a_device_in_an_entry_is_never_read() {
    let (test, path, _) = scene();
    let file = entry(&test, &path).join("MERGE_MSG");
    // One that has no end.
    let mut make = test.command("mknod", &test.home);
    if !make.arg(&file).args(["c", "1", "5"]).output().unwrap().status.success() {
        return crate::fixture::tools::not_as_this_user("a device in a private git dir");
    }
    let said = format!(
        "error: '{0}' is not a plain file, as git's own are\nhint: rm {0}\n",
        file.display()
    );
    for words in [&["list"][..], &["rm", "--force", "--force", "box"], &["new", "more"]] {
        test.program(&test.app(), words).stderr(&said).code(1);
    }
    assert!(path.join("a").exists() && entry_is_whole(&file));
}

#[test]
fn a_pipe_in_the_place_of_commondir_is_replaced_by_what_belongs_there() {
    let (test, path, victim) = scene();
    let file = entry(&test, &path).join("commondir");
    pipe(&file, &victim);
    test.run(&["path", "other"]).stdout("$ROOT/other\n").ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), "../..\n");
    assert_eq!(test.json(&["show", "box", "--json"])["state"], "ready");
    assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "");
}

#[test]
fn inside_a_sandbox_with_a_pipe_in_its_entry_no_command_waits() {
    let (test, path, victim) = scene();
    let file = entry(&test, &path).join("HEAD");
    pipe(&file, &victim);
    let output = test.program(&path, &["list"]).output();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: cannot use this repository: "), "{said}");
}

#[test]
fn a_socket_or_a_link_in_an_entry_is_no_trouble() {
    let (test, path, victim) = scene();
    let entry = entry(&test, &path);
    let _socket = std::os::unix::net::UnixListener::bind(entry.join("monitor.ipc")).unwrap();
    symlink(&victim, entry.join("folder")).unwrap();
    symlink("nowhere", entry.join("dangling")).unwrap();
    assert_eq!(test.json(&["show", "box", "--json"])["state"], "ready");
    assert!(test.run(&["rm", "box"]).output().status.success());
    assert!(test.run(&["restore", "box"]).output().status.success());
    assert_eq!(fs::read_to_string(victim.join("diary")).unwrap(), "dear diary\n");
}

#[test]
fn facts_of_other_types_are_none() {
    let (test, path, _) = scene();
    for text in ["{\"task\": 7}", "[]", "null", "{\"task\": {\"a\": []}, \"base\": [1]}", "\"x\""] {
        put(&entry(&test, &path).join("sandbox.json"), text.as_bytes());
        let facts = test.json(&["show", "box", "--json"]);
        assert_eq!(
            (&facts["task"], &facts["state"]),
            (&serde_json::Value::Null, &"ready".into()),
            "{text}"
        );
    }
}

/// A sandbox in the trash; its folder there.
#[track_caller]
fn removed() -> (Test, PathBuf, PathBuf) {
    let (test, path, victim) = scene();
    write(&path.join("work"), "mine\n");
    assert!(test.run(&["rm", "--force", "box"]).output().status.success());
    let folder = trashed(&test).remove(0);
    (test, folder, victim)
}

const ABOUT_TRASH: [&[&str]; 9] = [
    &["list"],
    &["restore"],
    &["restore", "--json"],
    &["reap", "--dry-run"],
    &["reap"],
    &["reap", "--purge"],
    &["doctor"],
    &["new", "more"],
    &["restore", "box"],
];

/// Every command ends, nothing of others changes, and the work is still somewhere of ours.
fn trash_harms_nobody(what: &str, tamper: impl Fn(&Path, &Path)) {
    let (test, folder, victim) = removed();
    tamper(&folder, &victim);
    let others = || tree(&victim, &[]);
    let (before, refs) = (others(), test.git(&["rev-parse", "main", "other", "box"]));
    for words in ABOUT_TRASH {
        let late = test.run(words).env("GIT_SANDBOX_NOW", "2028-01-31T12:00:00Z").output();
        let text = String::from_utf8_lossy(&late.stderr);
        assert!(matches!(late.status.code(), Some(0 | 1)), "{what}: {words:?}: {text}");
        assert!(!text.contains("panicked"), "{what}: {words:?}: {text}");
        same(&others(), &before);
        assert_eq!(test.git(&["rev-parse", "main", "other", "box"]), refs, "{what}: {words:?}");
    }
    let found = std::process::Command::new("find")
        .arg(&test.home)
        .args(["-name", "work", "-type", "f"])
        .output();
    let files = String::from_utf8(found.unwrap().stdout).unwrap();
    assert!(files.lines().count() + in_vault(&test, "work") > 0, "{what}");
}

/// How many files of this name and with `mine` in them the vault has.
fn in_vault(test: &Test, name: &str) -> usize {
    let vault = test.root().with_file_name(".vault.git");
    if !vault.is_dir() {
        return 0;
    }
    let refs = test.git_in(&vault, &["for-each-ref", "--format=%(refname)", "refs/vault"]);
    let has = |item: &&str| {
        let words = ["show", &format!("{item}:tree/{name}")];
        let mut show = test.command("git", &vault);
        show.args(words).output().is_ok_and(|shown| shown.stdout == b"mine\n")
    };
    refs.lines().filter(has).count()
}

#[test]
fn a_tampered_journal_harms_nobody() {
    for (what, tamper) in CONTENTS.into_iter().chain(PLACES) {
        trash_harms_nobody(what, |folder, victim| tamper(&folder.join("journal.json"), victim));
    }
}

#[test]
fn a_journal_with_a_hostile_field_harms_nobody() {
    let fields = [
        ("id", "\"../../victim\""),
        ("id", "\"\""),
        ("id", "7"),
        ("name", "\"../../victim\\u001b[2J\""),
        ("from", "\"$VICTIM\""),
        ("from", "\"$VICTIM/../home/diary\""),
        ("from", "\"relative\""),
        ("entry", "\"$VICTIM\""),
        ("entry", "\"\""),
        ("common", "\"$VICTIM\""),
        ("branch", "\"-d\""),
        ("branch", "\"refs/heads/other\""),
        ("branch", "\"refs/heads/../../x\""),
        ("head", "\"refs/heads/main\""),
        ("head", "\"--stdin\""),
        ("head", "null"),
        ("stage", "\"removing\""),
        ("stage", "{\"restoring\": \"$VICTIM\"}"),
        ("stage", "{\"restoring\": \"/nowhere/../x\"}"),
        ("stage", "\"unheard-of\""),
        ("removed", "\"not a time\""),
        ("nested", "[\"../../../..\"]"),
        ("holds", "{}"),
    ];
    for (field, value) in fields {
        trash_harms_nobody(&format!("{field}: {value}"), |folder, victim| {
            let file = folder.join("journal.json");
            let text = fs::read_to_string(&file).unwrap();
            let mut journal: serde_json::Value = serde_json::from_str(&text).unwrap();
            let value = value.replace("$VICTIM", victim.to_str().unwrap());
            journal[field] = serde_json::from_str(&value).unwrap();
            fs::write(&file, journal.to_string()).unwrap();
        });
    }
}

#[test]
fn a_trash_with_links_harms_nobody() {
    trash_harms_nobody("a link beside it", |folder, victim| {
        symlink(victim, folder.with_file_name("link-0a1b2c3d")).unwrap();
    });
    trash_harms_nobody("files that are to be deleted elsewhere", |folder, victim| {
        symlink(victim, folder.join("gone")).unwrap();
    });
    trash_harms_nobody("a journal's successor elsewhere", |folder, victim| {
        symlink(victim.join("diary"), folder.join("journal.json.new")).unwrap();
    });
}

#[test]
fn a_symlink_in_the_place_of_the_files_in_the_trash_is_not_deleted_through() {
    let (test, folder, victim) = removed();
    fs::rename(folder.join("tree"), test.home.join("moved")).unwrap();
    symlink(&victim, folder.join("tree")).unwrap();
    let before = tree(&victim, &[]);
    let id = folder.file_name().unwrap().to_str().unwrap();
    for words in
        [&["reap", "--purge", id][..], &["restore", id], &["reap", "--purge"], &["doctor", "--fix"]]
    {
        ends(&test, words, "tree");
        same(&tree(&victim, &[]), &before);
    }
    assert_eq!(fs::read_to_string(test.home.join("moved/work")).unwrap(), "mine\n");
}

#[test]
fn a_symlink_in_the_place_of_root_project_or_sandbox_leads_nowhere() {
    for depth in 0..3 {
        let (test, path, victim) = scene();
        let place = path.ancestors().nth(depth).unwrap();
        fs::rename(place, test.home.join("moved")).unwrap();
        symlink(&victim, place).unwrap();
        // A root that is a link of the user's own is their root, and may get a trash.
        let victim = || tree(&victim, &[".trash"]);
        let before = victim();
        for words in [
            &["list"][..],
            &["show", "box"],
            &["rm", "--force", "box"],
            &["reap"],
            &["doctor"],
            &["path", "box"],
        ] {
            let output = test.run(words).env("GIT_SANDBOX_NOW", "2028-01-31T12:00:00Z").output();
            assert!(matches!(output.status.code(), Some(0 | 1)), "{depth}: {words:?}");
            same(&victim(), &before);
        }
    }
}

#[test]
fn a_symlink_in_the_place_of_a_lock_is_not_followed() {
    let (test, path, victim) = scene();
    let before = tree(&victim, &[]);
    let common = test.app().join(".git");
    for lock in [common.join("sandbox/lock"), entry(&test, &path).join("sandbox.lock")] {
        for target in ["diary", "new"] {
            let _ = fs::remove_file(&lock);
            symlink(victim.join(target), &lock).unwrap();
            let output = test.run(&["rm", "--force", "box"]).output();
            assert_eq!(output.status.code(), Some(1));
            same(&tree(&victim, &[]), &before);
        }
        fs::remove_file(&lock).unwrap();
    }
    assert!(path.join("a").exists());
}

#[test]
fn a_root_that_became_open_to_others_takes_nothing_in() {
    let (test, path, _) = scene();
    chmod(test.root().parent().unwrap(), 0o777);
    for words in [&["new", "more"][..], &["rm", "box"]] {
        test.run(words)
            .stderr(
                "error: cannot keep sandboxes in '$HOME/.cache/git-sandbox/worktrees': others may write to it\n\
                 hint: chmod go-w $HOME/.cache/git-sandbox/worktrees\n",
            )
            .code(1);
    }
    assert!(path.join("a").exists() && test.sandboxes() == ["box", "other"]);
}
