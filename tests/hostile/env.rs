//! `GIT_*` variables of every kind: what is answered and made is the same as without them, or git
//! itself refuses and we say so. No program that they name runs, and a command in a sandbox sees
//! none that ties it to another repository.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fixture::built::program;
use crate::fixture::files::{tree, write};
use crate::fixture::traps::{canary, ran};
use crate::fixture::{Run, Test};

/// A sandbox with work and precious files, beside another repository.
fn scene() -> (Test, PathBuf) {
    let test = Test::new();
    write(&test.app().join(".git/info/exclude"), "*.key\n");
    let path = test.new_sandbox(&["box", "A task"]);
    write(&path.join("work"), "mine\n");
    write(&path.join("a.key"), "secret\n");
    let other = test.init("other", &[]);
    test.commit(&other, "theirs", "theirs\n");
    (test, path)
}

/// Variables that change nothing: name and value, `$HOME` being the home.
const IDLE: [(&str, &str); 52] = [
    ("GIT_ALTERNATE_OBJECT_DIRECTORIES", "$HOME/other/.git/objects:/nowhere"),
    ("GIT_CONFIG", "$HOME/other/.git/config"),
    ("GIT_CONFIG_COUNT", "0"),
    ("GIT_CONFIG_PARAMETERS", "'core.bare=false'"),
    ("GIT_INDEX_FILE", "$HOME/other/.git/index"),
    ("GIT_INDEX_FILE", "/nowhere/index"),
    ("GIT_GRAFT_FILE", "/nowhere/grafts"),
    ("GIT_IMPLICIT_WORK_TREE", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_REPLACE_REF_BASE", "refs/heads/"),
    ("GIT_PREFIX", "../other/"),
    ("GIT_SHALLOW_FILE", "/nowhere/shallow"),
    ("GIT_NAMESPACE", "other"),
    ("GIT_CEILING_DIRECTORIES", "/"),
    ("GIT_DISCOVERY_ACROSS_FILESYSTEM", "0"),
    ("GIT_DEFAULT_HASH", "sha256"),
    ("GIT_DEFAULT_REF_FORMAT", "reftable"),
    ("GIT_DEFAULT_BRANCH", "x"),
    ("GIT_TEMPLATE_DIR", "$HOME/other"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_GLOB_PATHSPECS", "1"),
    ("GIT_NOGLOB_PATHSPECS", "1"),
    ("GIT_ICASE_PATHSPECS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_FLUSH", "1"),
    ("GIT_DIFF_OPTS", "--unified=99"),
    ("GIT_REFLOG_ACTION", "commit"),
    ("GIT_MERGE_AUTOEDIT", "yes"),
    ("GIT_NOTES_REF", "refs/heads/main"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_PAGER_IN_USE", "false"),
    ("GIT_PROTOCOL", "version=9"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_TERMINAL_PROMPT", "1"),
    ("GIT_AUTHOR_DATE", "not a date"),
    ("GIT_AUTHOR_NAME", ""),
    ("GIT_AUTHOR_EMAIL", ""),
    ("GIT_USER_AGENT", "x"),
    ("GIT_INDEX_VERSION", "4"),
    ("GIT_REF_PARANOIA", "0"),
    ("GIT_FORCE_UNTRACKED_CACHE", "1"),
    ("GIT_PRINT_SHA1_ELLIPSIS", "yes"),
    ("GIT_PROGRESS_DELAY", "0"),
    ("GIT_ADVICE", "1"),
    ("GIT_TRACE", "1"),
    ("GIT_TRACE", "$HOME/trace"),
    ("GIT_TRACE_SETUP", "2"),
    ("GIT_TRACE_PERFORMANCE", "1"),
    ("GIT_TRACE2", "1"),
    ("GIT_TRACE2_EVENT", "$HOME/trace"),
    ("GIT_TRACE2_PERF", "1"),
];

/// These say which repository is meant; the last one git itself refuses.
const LOCATING: [&str; 5] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_INTERNAL_SUPER_PREFIX",
];

/// What is answered about the sandbox.
#[track_caller]
fn answers(test: &Test, with: impl Fn(Run<'_>) -> Run<'_>) -> String {
    let commands =
        [&["list", "--json"][..], &["show", "box"], &["path", "box"], &["list", "--names"]];
    let look = |words: &[&str]| {
        let output = with(test.run(words)).output();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    };
    commands.map(look).concat()
}

#[test]
fn a_variable_that_means_something_else_changes_no_answer() {
    let (test, _) = scene();
    let wanted = answers(&test, |run| run);
    assert!(wanted.contains("\"untracked\": 1") && wanted.contains("A task"), "{wanted}");
    for (name, value) in IDLE {
        let value = value.replace("$HOME", test.home.to_str().unwrap());
        assert_eq!(answers(&test, |run| run.env(name, &value)), wanted, "{name}={value}");
    }
}

#[test]
fn every_variable_that_git_calls_local_is_tried() {
    let test = Test::new();
    let asked = test.git(&["rev-parse", "--local-env-vars"]);
    for name in asked.lines().filter(|name| !LOCATING.contains(name)) {
        assert!(IDLE.iter().any(|(idle, _)| *idle == name), "{name}");
    }
}

/// Variables that could lead a creation or a removal astray.
const LEADING: [(&str, &str); 10] = [
    ("GIT_INDEX_FILE", "$HOME/app/.git/index"),
    ("GIT_ALTERNATE_OBJECT_DIRECTORIES", "$HOME/other/.git/objects"),
    ("GIT_PREFIX", "../other/"),
    ("GIT_SHALLOW_FILE", "$HOME/other/.git/HEAD"),
    ("GIT_GRAFT_FILE", "$HOME/other/.git/HEAD"),
    ("GIT_NAMESPACE", "other"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_GLOB_PATHSPECS", "1"),
    ("GIT_REFLOG_ACTION", "commit"),
    ("GIT_AUTHOR_DATE", "not a date"),
];

#[test]
fn a_creation_and_a_removal_go_where_they_go_without() {
    let (test, path) = scene();
    let app = || {
        let files = ["index", "HEAD", "config"]
            .map(|name| fs::read(test.app().join(".git").join(name)).unwrap());
        (tree(&test.app(), &[".git"]), files)
    };
    let before = (app(), tree(&test.home.join("other"), &[]));
    for (number, (name, value)) in LEADING.iter().enumerate() {
        let value = value.replace("$HOME", test.home.to_str().unwrap());
        let with = |words: &[&str]| {
            let output = test.run(words).env(name, &value).output();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(0), "{name}: {words:?}: {stderr}");
        };
        let fix = format!("fix-{number}");
        with(&["new", &fix]);
        let status = test.git_in(&test.at(&fix), &["status", "--porcelain", "--branch"]);
        assert_eq!(status, format!("## {fix}"), "{name}");
        assert_eq!(test.git(&["rev-parse", &fix]), test.git(&["rev-parse", "main"]), "{name}");
        // Nothing was committed there yet, whatever the reflog was to say.
        assert_eq!(
            test.json(&["reap", "--merged", "--dry-run", "--json"]),
            serde_json::json!([]),
            "{name}"
        );
        with(&["rm", "--force", "box"]);
        assert!(!path.exists(), "{name}");
        with(&["restore", "box"]);
        assert_eq!(fs::read_to_string(path.join("work")).unwrap(), "mine\n", "{name}");
        with(&["rm", &fix]);
        assert!(!test.at(&fix).exists(), "{name}");
        assert_eq!((app(), tree(&test.home.join("other"), &[])), before, "{name}");
    }
}

#[test]
fn a_git_dir_of_another_repository_means_that_one() {
    let (test, path) = scene();
    let before = tree(&test.app(), &["sandbox.lock"]) + &tree(&path, &[]);
    let git_dir = test.home.join("other/.git");
    test.run(&["list"])
        .env("GIT_DIR", &git_dir)
        .stderr("no sandboxes; 'git sandbox new <name>' makes one\n")
        .ok();
    // With force an unknown name is a quiet success.
    test.run(&["rm", "--force", "--force", "box"]).env("GIT_DIR", &git_dir).ok();
    let made = test.root().with_file_name("other").join("fix");
    test.run(&["new", "fix"])
        .env("GIT_DIR", &git_dir)
        .stdout(&format!("{}\n", made.display()))
        .stderr("created sandbox 'fix': new branch 'fix' from 'main'\n")
        .ok();
    assert!(made.join("theirs").exists());
    assert_eq!(tree(&test.app(), &["sandbox.lock"]) + &tree(&path, &[]), before);
}

#[test]
fn a_repository_that_is_not_there_is_an_error_and_nothing_is_made() {
    let (test, path) = scene();
    let state = || tree(&test.home, &["sandbox.lock"]);
    let before = state();
    for (name, value) in [
        ("GIT_DIR", "/nowhere"),
        ("GIT_COMMON_DIR", "/nowhere"),
        ("GIT_OBJECT_DIRECTORY", "/nowhere"),
        ("GIT_CONFIG_COUNT", "many"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_PARAMETERS", "not quoted"),
        ("GIT_CEILING_DIRECTORIES", "$HOME"),
        ("GIT_EXEC_PATH", "/nowhere"),
    ] {
        let value = value.replace("$HOME", test.home.to_str().unwrap());
        for words in [&["list"][..], &["rm", "--force", "nobody"], &["new", "fix"]] {
            let mut command = test.command(program(), &test.app());
            command.args(words).env(name, &value);
            let output = test.run_command(command).output();
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            // Two of these trouble git only where it looks at objects or starts helpers.
            let idle = ["GIT_CEILING_DIRECTORIES", "GIT_EXEC_PATH", "GIT_OBJECT_DIRECTORY"]
                .contains(&name);
            if idle && output.status.code() == Some(0) {
                if words[0] == "new" {
                    assert!(test.run(&["rm", "fix"]).output().status.success());
                    assert!(test.run(&["reap", "--purge"]).output().status.success());
                    test.git(&["branch", "--quiet", "-D", "fix"]);
                }
                continue;
            }
            assert_eq!(output.status.code(), Some(1), "{name}={value}: {words:?}: {text}");
            assert!(text.starts_with("error: "), "{name}={value}: {words:?}: {text}");
            assert_eq!(state(), before, "{name}={value}: {words:?}");
        }
    }
    assert_eq!(fs::read_to_string(path.join("work")).unwrap(), "mine\n");
}

#[test]
fn no_program_that_a_variable_names_runs() {
    let (test, _) = scene();
    ran(&test);
    let names = [
        "GIT_EXTERNAL_DIFF",
        "GIT_PAGER",
        "PAGER",
        "GIT_EDITOR",
        "EDITOR",
        "VISUAL",
        "GIT_SEQUENCE_EDITOR",
        "GIT_ASKPASS",
        "SSH_ASKPASS",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_PROXY_COMMAND",
        "BROWSER",
    ];
    let hooks = test.home.join("hooks");
    for hook in ["post-index-change", "reference-transaction", "post-checkout"] {
        write(&hooks.join(hook), &fs::read_to_string(canary(&test, hook, 0)).unwrap());
        crate::fixture::files::chmod(&hooks.join(hook), 0o755);
    }
    let with = |words: &[&str]| {
        let run =
            names.iter().fold(test.run(words), |run, name| run.env(name, canary(&test, name, 0)));
        let run = run.env("GIT_CONFIG_COUNT", "2");
        let run = run.env("GIT_CONFIG_KEY_0", "core.fsmonitor");
        let run = run.env("GIT_CONFIG_VALUE_0", canary(&test, "fsmonitor", 1));
        run.env("GIT_CONFIG_KEY_1", "core.hooksPath").env("GIT_CONFIG_VALUE_1", &hooks).output()
    };
    let commands: [&[&str]; 9] = [
        &["list"],
        &["show", "box"],
        &["path", "box"],
        &["reap", "--dry-run", "--merged"],
        &["doctor"],
        &["rm", "box"],
        &["rm", "--force", "box"],
        &["restore"],
        &["restore", "box"],
    ];
    for words in commands {
        drop(with(words));
        assert_eq!(ran(&test), [""; 0], "{words:?}");
    }
    // And what was asked for with -c counts for a creation, as with git.
    assert!(with(&["new", "fix"]).status.success());
    assert!(ran(&test).contains(&"post-checkout".to_owned()));
}

#[test]
fn a_command_in_a_sandbox_sees_no_other_repository() {
    let (test, path) = scene();
    let script = "env | grep ^GIT_ | grep -v ^GIT_SANDBOX_ | cut -d= -f1 | sort; \
                  git rev-parse --show-toplevel; git config --get core.editor; git status --porcelain";
    let asked = test.git(&["rev-parse", "--local-env-vars"]);
    let other = test.home.join("other");
    let mut command = test.command(program(), &test.app());
    command.args(["run", "box", "--", "sh", "-c", script]);
    let others = |name: &&str| !name.contains("CONFIG") && !LOCATING.contains(name);
    for name in asked.lines().filter(others) {
        command.env(name, &other);
    }
    command.env("GIT_CONFIG_PARAMETERS", "'core.editor=bad'");
    command.env("GIT_CONFIG_COUNT", "1");
    command.env("GIT_CONFIG_KEY_0", "core.editor").env("GIT_CONFIG_VALUE_0", "bad");
    command.env("GIT_REFLOG_ACTION", "commit");
    command.env("GIT_EXEC_PATH", test.git(&["--exec-path"]));
    let wanted = format!(
        "GIT_AUTHOR_DATE\nGIT_COMMITTER_DATE\nGIT_CONFIG_GLOBAL\nGIT_CONFIG_NOSYSTEM\n{}\n?? work\n",
        shown(&path)
    );
    test.run_command(command).stdout(&wanted).ok();
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
