//! Programs that a repository's config names. A creation runs what `git worktree add` runs; a look
//! runs what any look must, the filters that tell whether a file has changed, and nothing else. And
//! no config makes a sandbox look like another folder.

use std::fs;
use std::path::Path;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{chmod, names_in, tree, write};
use crate::fixture::run::succeeds;
use crate::fixture::state::entry;
use crate::fixture::traps::{canary, ran};
use crate::fixture::trash::trashed;

const HOOKS: [&str; 8] = [
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "post-commit",
    "pre-commit",
    "pre-auto-gc",
    "post-rewrite",
    "fsmonitor-watchman",
];

/// Keys that name a program: section, key, and the name of ours.
const PROGRAMS: [(&str, &str, &str); 35] = [
    ("core", "pager", "pager"),
    ("core", "editor", "editor"),
    ("core", "sshCommand", "ssh"),
    ("core", "askPass", "ask"),
    ("core", "gitProxy", "proxy"),
    ("core", "alternateRefsCommand", "alternate"),
    ("diff", "external", "diff-external"),
    ("diff \"canary\"", "textconv", "textconv"),
    ("diff \"canary\"", "command", "diff"),
    ("merge \"canary\"", "driver", "merge"),
    ("filter \"canary\"", "clean", "clean"),
    ("filter \"canary\"", "smudge", "smudge"),
    ("filter \"long\"", "process", "process"),
    ("credential", "helper", "credential"),
    ("gpg", "program", "gpg"),
    ("gpg \"ssh\"", "program", "gpg-ssh"),
    ("gpg \"ssh\"", "defaultKeyCommand", "gpg-key"),
    ("sequence", "editor", "sequence"),
    ("interactive", "diffFilter", "interactive"),
    ("uploadpack", "packObjectsHook", "pack"),
    ("submodule \"x\"", "update", "!submodule"),
    ("trailer \"x\"", "command", "trailer"),
    ("web", "browser", "browser"),
    ("man", "viewer", "viewer"),
    ("alias", "worktree", "!alias-worktree"),
    ("alias", "status", "!alias-status"),
    ("alias", "rev-parse", "!alias-rev-parse"),
    ("alias", "for-each-ref", "!alias-for-each-ref"),
    ("alias", "config", "!alias-config"),
    ("alias", "sandbox", "!alias-sandbox"),
    ("alias", "reset", "!alias-reset"),
    ("pager", "worktree", "pager-worktree"),
    ("pager", "status", "pager-status"),
    ("pager", "sandbox", "pager-sandbox"),
    ("pager", "log", "pager-log"),
];

/// Config that names a program for everything that git can start.
fn config(test: &Test) -> String {
    let hooks = test.home.join("hooks");
    for hook in HOOKS {
        let text = fs::read_to_string(canary(test, hook, 0)).unwrap();
        write(&hooks.join(hook), &text);
        chmod(&hooks.join(hook), 0o755);
    }
    // A monitor that fails makes git look for itself.
    let monitor = canary(test, "fsmonitor", 1);
    let first = format!(
        "[core]\n\thooksPath = {}\n\tfsmonitor = {monitor}\n\
         [commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true\n",
        hooks.display()
    );
    let rest = PROGRAMS.map(|(section, key, name)| {
        let shell = if name.starts_with('!') { "!" } else { "" };
        let program = canary(test, name.trim_start_matches('!'), 0);
        format!("[{section}]\n\t{key} = {shell}{program}\n")
    });
    first + &rest.concat()
}

/// A repository with attributes that ask for every driver, a signed commit, and this config.
fn scene(set: fn(&Test, &str)) -> Test {
    let test = Test::new();
    write(&test.app().join("long"), "long\n");
    let attributes = "file filter=canary diff=canary merge=canary\nlong filter=long\n";
    test.commit(&test.app(), ".gitattributes", attributes);
    test.commit(&test.app(), "long", "long\n");
    sign(&test);
    let text = config(&test);
    set(&test, &text);
    ran(&test);
    test
}

/// Makes the last commit one that seems to be signed.
fn sign(test: &Test) {
    let commit = test.git(&["cat-file", "commit", "HEAD"]);
    let (head, message) = commit.split_once("\n\n").unwrap();
    let armour = "-----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----";
    let signed = format!("{head}\ngpgsig {armour}\n\n{message}\n");
    write(&test.home.join("signed"), &signed);
    let id = test.git(&["hash-object", "-w", "-t", "commit", "../signed"]);
    test.git(&["update-ref", "HEAD", &id]);
}

/// In the repository's own config.
fn in_config(test: &Test, text: &str) {
    let path = test.app().join(".git/config");
    let before = fs::read_to_string(&path).unwrap();
    fs::write(path, before + text).unwrap();
}

/// In a file that it includes.
fn included(test: &Test, text: &str) {
    write(&test.home.join("more"), text);
    test.git(&["config", "include.path", test.home.join("more").to_str().unwrap()]);
}

/// In the config of the main worktree alone.
fn in_main_worktree(test: &Test, text: &str) {
    test.git(&["config", "extensions.worktreeConfig", "true"]);
    write(&test.app().join(".git/config.worktree"), text);
}

const LOOKS: [&[&str]; 14] = [
    &["list"],
    &["list", "--json"],
    &["list", "--names"],
    &["list", "--all"],
    &["show", "box"],
    &["path", "box"],
    &["rm", "--dry-run", "box"],
    &["reap", "--dry-run"],
    &["reap", "--dry-run", "--merged"],
    &["doctor"],
    &["restore"],
    &["rm", "box"],
    &["restore", "box"],
    &["new", "box"],
];

fn creates_as_git_and_looks_alone(set: fn(&Test, &str)) {
    let test = scene(set);
    let git = test
        .command("git", &test.app())
        .args(["worktree", "add", "-b", "plain", "../plain"])
        .output();
    assert!(git.unwrap().status.success());
    let plain = ran(&test);
    assert!(plain.contains(&"post-checkout".to_owned()), "{plain:?}");
    test.new_sandbox(&["box"]);
    let ours = ran(&test);
    // git asks the watchman about an index that has nothing in it yet; we may as well.
    let more: Vec<_> = ours.iter().filter(|name| !plain.contains(name)).collect();
    assert!(more.is_empty(), "{more:?}; git: {plain:?}");
    assert!(ours.contains(&"post-checkout".to_owned()), "{ours:?}");
    assert!(ours.contains(&"smudge".to_owned()), "{ours:?}");
    let outside = || names_in(&test.home);
    let before = outside();
    for words in LOOKS {
        drop(test.run(words).output());
        let started = ran(&test);
        let needless: Vec<_> =
            started.iter().filter(|name| !["clean", "process"].contains(&name.as_str())).collect();
        assert!(needless.is_empty(), "{words:?}: {started:?}");
    }
    assert_eq!(outside(), before);
    assert!(test.at("box").join("file").exists() && trashed(&test).is_empty());
}

#[test]
fn programs_of_the_config_run_as_with_git() {
    creates_as_git_and_looks_alone(in_config);
}

#[test]
fn programs_of_an_included_config_run_as_with_git() {
    creates_as_git_and_looks_alone(included);
}

#[test]
fn programs_of_the_main_worktrees_config_run_as_with_git() {
    creates_as_git_and_looks_alone(in_main_worktree);
}

#[test]
fn programs_of_a_sandboxs_config_do_not_run_for_a_look() {
    let test = scene(|_, _| {});
    test.git(&["config", "extensions.worktreeConfig", "true"]);
    let path = test.new_sandbox(&["box"]);
    write(&entry(&test, &path).join("config.worktree"), &config(&test));
    write(&path.join("file"), "two\n");
    write(&path.join("long"), "gone\n");
    ran(&test);
    for words in LOOKS {
        drop(test.run(words).output());
        let started = ran(&test);
        let needless: Vec<_> =
            started.iter().filter(|name| !["clean", "process"].contains(&name.as_str())).collect();
        assert!(needless.is_empty(), "{words:?}: {started:?}");
    }
    assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "two\n");
}

#[test]
fn an_ordinary_look_would_have_started_them() {
    let test = scene(in_config);
    drop(test.command("git", &test.app()).args(["status"]).output());
    drop(test.command("git", &test.app()).args(["log", "-1", "-p"]).output());
    let started = ran(&test);
    for name in ["fsmonitor", "gpg", "post-index-change"] {
        assert!(started.contains(&name.to_owned()), "{name}: {started:?}");
    }
}

#[test]
fn what_was_checked_out_is_not_run() {
    let test = Test::new();
    let program = canary(&test, "checked-out", 0);
    let config = format!("[sandbox]\n\tsetup = {program}\n\tagent = {program}\n");
    let modules = format!("[submodule \"x\"]\n\tpath = x\n\turl = ../x\n\tupdate = !{program}\n");
    let files = [
        (".gitconfig", config.as_str()),
        (".git-sandbox", &config),
        (".sandbox/setup", &format!("#!/bin/sh\n{program}\n")),
        (".githooks/post-checkout", &format!("#!/bin/sh\n{program}\n")),
        ("hooks/post-checkout", &format!("#!/bin/sh\n{program}\n")),
        (".gitmodules", &modules),
        (".gitattributes", "* filter=nobodys\n"),
        (".worktreeinclude", &program),
        (".envrc", &program),
    ];
    for (name, text) in files {
        write(&test.app().join(name), text);
        test.git(&["add", "--force", name]);
        test.git(&["update-index", "--chmod=+x", name]);
    }
    test.git(&["commit", "--quiet", "-m", "files"]);
    test.git(&["reset", "--quiet", "--hard"]);
    ran(&test);
    let made = test.new_sandbox(&["box", "A task"]);
    assert!(made.join(".sandbox/setup").exists());
    for words in LOOKS {
        drop(test.run(words).output());
    }
    drop(test.run_in(&made, &["run", "--", "true"]).output());
    assert_eq!(ran(&test), [""; 0]);
}

/// A sandbox with work in it, whose config says that its files are elsewhere, where all is clean.
fn led_astray(keys: &str) -> (Test, std::path::PathBuf) {
    let test = Test::new();
    test.git(&["config", "extensions.worktreeConfig", "true"]);
    let path = test.new_sandbox(&["box"]);
    test.git(&["worktree", "add", "--quiet", "--detach", "../clean"]);
    write(&path.join("work"), "mine\n");
    let text = keys.replace("$CLEAN", test.home.join("clean").to_str().unwrap());
    write(&entry(&test, &path).join("config.worktree"), &text);
    (test, path)
}

const ASTRAY: [&str; 3] = [
    "[core]\n\tworktree = $CLEAN\n",
    "[core]\n\tbare = true\n",
    "[status]\n\tshowUntrackedFiles = no\n",
];

#[test]
fn config_that_leads_to_another_folder_hides_no_work() {
    for keys in ASTRAY {
        let (test, path) = led_astray(keys);
        let clean = tree(&test.home.join("clean"), &[]);
        assert_eq!(test.json(&["list", "--json"])[0]["changes"]["untracked"], 1, "{keys}");
        test.run(&["rm", "box"])
            .stderr(
                "error: cannot remove 'box': worktree has 1 uncommitted change\n\
                 hint: to move it to the trash as it is: git sandbox rm --force box\n",
            )
            .code(1);
        test.run(&["reap"])
            .env("GIT_SANDBOX_NOW", "2028-01-31T12:00:00Z")
            .stdout("box: kept: 1 uncommitted change\n")
            .stderr("0 retired, 1 kept, 0 put away; 0.0 KiB can be freed\n")
            .ok();
        assert_eq!(fs::read_to_string(path.join("work")).unwrap(), "mine\n");
        assert_eq!(tree(&test.home.join("clean"), &[]), clean);
    }
}

#[test]
fn config_that_leads_to_another_folder_puts_the_right_files_away() {
    for keys in ASTRAY {
        let (test, path) = led_astray(keys);
        let (before, clean) = (tree(&path, &[]), tree(&test.home.join("clean"), &[]));
        succeeds(test.run(&["rm", "--force", "box"]));
        let reap = test.run(&["reap"]).env("GIT_SANDBOX_NOW", "2028-01-31T12:00:00Z");
        let said = String::from_utf8(reap.output().stdout).unwrap();
        assert!(said.ends_with(": put away: in the trash for 730 days\n"), "{keys}: {said}");
        assert!(trashed(&test).is_empty(), "{keys}");
        succeeds(test.run(&["restore", "box"]));
        same(&tree(&path, &[]), &before);
        same(&tree(&test.home.join("clean"), &[]), &clean);
    }
}

#[test]
fn a_nested_repository_that_leads_to_another_folder_hides_no_work() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    let place = |path: &Path| path.strip_prefix(&test.home).unwrap().to_str().unwrap().to_owned();
    write(&test.app().join(".git/info/exclude"), "/nested/\n");
    let nested = test.init(&place(&path.join("nested")), &[]);
    test.git_in(&test.home, &["clone", "--quiet", "--bare", nested.to_str().unwrap(), "far.git"]);
    test.git_in(&nested, &["remote", "add", "origin", test.home.join("far.git").to_str().unwrap()]);
    test.git_in(&nested, &["fetch", "--quiet", "origin"]);
    test.git_in(&test.home, &["clone", "--quiet", "far.git", "clean"]);
    write(&nested.join("work"), "mine\n");
    test.git_in(&nested, &["config", "core.worktree", test.home.join("clean").to_str().unwrap()]);
    test.run(&["rm", "box"])
        .stderr(
            "error: cannot remove 'box': unsaved work in 'nested'\n\
             hint: to move it to the trash as it is: git sandbox rm --force box\n",
        )
        .code(1);
    assert_eq!(fs::read_to_string(nested.join("work")).unwrap(), "mine\n");
}
