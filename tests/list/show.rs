//! `git sandbox show`

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::fixture::Test;
use crate::fixture::files::write;
use crate::fixture::time::set_day;

#[test]
fn show_tells_everything_known() {
    let test = Test::new();
    let path = test.new_sandbox(&["feat/ui", "Draw", "it"]);
    set_day(&path, 30);
    let head = test.git(&["rev-parse", "main"]);
    // How much room files take is the file system's business.
    let blocks: u64 = [&path, &path.join("file"), &path.join(".git")]
        .map(|path| std::fs::symlink_metadata(path).unwrap().blocks())
        .iter()
        .sum();
    let size = format!("{}.{} KiB", blocks / 2, blocks % 2 * 5);
    test.run(&["show", "feat-ui"])
        .stdout(&format!(
            "name        feat-ui\n\
             task        Draw it\n\
             path        $ROOT/feat-ui\n\
             branch      feat/ui\n\
             head        {head}\n\
             base        main\n\
             work        level with 'main'\n\
             repository  $APP\n\
             state       clean\n\
             changes     none\n\
             created     just now (2026-01-31T12:00:00Z)\n\
             last used   1 day ago (2026-01-30T00:00:00Z)\n\
             expires     in 89 days (2026-04-30T00:00:00Z)\n\
             size        {size}\n\
             removal     safe: nothing to lose\n\
             next        git sandbox run feat-ui\n\
             get back    cd \"$(git sandbox path feat-ui)\"\n"
        ))
        .ok();
}

#[test]
fn show_says_what_a_removal_would_keep_as_rm_does() {
    let test = Test::new();
    let path = test.new_sandbox(&["--detach", "try"]);
    test.commit(&path, ".gitignore", ".env*\n");
    write(&path.join(".env.local"), "secret\n");
    let shown = test.run(&["show", "exploration-try"]).output();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let removal = shown.lines().find(|line| line.starts_with("removal")).unwrap();
    assert_eq!(removal, "removal     safe: keeps 1 precious file, 1 commit only here");
    test.run(&["rm", "--dry-run", "exploration-try"])
        .stderr(
            "would remove 'exploration-try' (1 precious file)\n\
             would keep 1 commit only here in refs/sandbox/kept/<id>\n",
        )
        .ok();
}

#[test]
fn show_counts_the_work() {
    let test = Test::new();
    test.remote("origin", "pr");
    let path = test.new_sandbox(&["pr"]);
    test.commit(&path, "more", "more\n");
    write(&path.join("file"), "staged\n");
    test.git_in(&path, &["add", "file"]);
    write(&path.join("file"), "and unstaged\n");
    write(&path.join("sub/untracked"), "new\n");
    let facts = test.json(&["show", "pr", "--json"]);
    assert_eq!(
        facts["changes"],
        serde_json::json!({"staged": 1, "unstaged": 1, "untracked": 1, "conflicted": 0})
    );
    assert_eq!(facts["upstream"], "origin/pr");
    assert_eq!((&facts["ahead"], &facts["behind"]), (&1.into(), &0.into()));
    let output = test.run(&["show", "pr"]).output();
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "upstream    origin/pr, 1 ahead, 0 behind",
        "state       2 changes, 1 unpushed",
        "changes     1 staged, 1 unstaged, 1 untracked",
    ] {
        assert!(text.lines().any(|got| got == line), "{line} in\n{text}");
    }
}

#[test]
fn show_names_the_operation_in_progress() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    test.commit(&path, "file", "ours\n");
    let theirs = test.commit(&test.app(), "file", "theirs\n");
    for (words, operation, abort) in [
        (&["merge", "main"][..], "merge", &["merge", "--abort"]),
        (&["rebase", "main"], "rebase", &["rebase", "--abort"]),
        (&["cherry-pick", &theirs], "cherry-pick", &["cherry-pick", "--abort"]),
        (&["revert", "--no-edit", "HEAD~1"], "revert", &["revert", "--abort"]),
    ] {
        let stopped = test.command("git", &path).args(words).output().unwrap();
        assert!(!stopped.status.success(), "{operation}");
        let facts = test.json(&["show", "fix", "--json"]);
        assert_eq!((&facts["operation"], &facts["branch"]), (&operation.into(), &"fix".into()));
        assert_eq!(facts["changes"]["conflicted"], 1);
        test.git_in(&path, abort);
        assert_eq!(test.json(&["show", "fix", "--json"])["operation"], serde_json::Value::Null);
    }
    test.git_in(&path, &["bisect", "start"]);
    assert_eq!(test.json(&["show", "fix", "--json"])["operation"], "bisect");
}

#[test]
fn show_defaults_to_the_sandbox_it_is_in() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    let named = test.run(&["show", "refs/heads/fix"]).output().stdout;
    let named = String::from_utf8(named).unwrap();
    let inside = named.replace("safe: nothing to lose", "refused: you are in it");
    test.run_in(&path, &["show"]).stdout(&inside).ok();
    test.run_in(&path, &["show", "."]).stdout(&inside).ok();
    test.run(&["show", path.to_str().unwrap()]).stdout(&named).ok();
    test.run(&["show"])
        .stderr(
            "error: not inside a sandbox, and none was named\n\
             hint: name one that 'git sandbox list' shows\n",
        )
        .refused();
}

#[test]
fn show_says_what_is_wrong() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    fs::remove_dir_all(&path).unwrap();
    let head = test.git(&["rev-parse", "main"]);
    test.run(&["show", "fix"])
        .stdout(&format!(
            "name        fix\n\
             path        $ROOT/fix\n\
             branch      fix\n\
             head        {head}\n\
             base        main\n\
             repository  $APP\n\
             state       missing\n\
             problem     its folder is not there\n\
             created     just now (2026-01-31T12:00:00Z)\n\
             expires     never\n\
             removal     safe: nothing to lose\n\
             next        git sandbox doctor\n\
             get back    cd \"$(git sandbox path fix)\"\n"
        ))
        .ok();
}

#[test]
fn show_tells_of_an_orphan_what_is_known_and_what_rm_says() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    fs::rename(test.app(), test.home.join("away")).unwrap();
    test.init("app", &[]);
    let text = String::from_utf8(test.run(&["show", "fix"]).output().stdout).unwrap();
    assert!(!text.contains("branch"), "{text}");
    let wanted = "removal     refused: its repository could not be reached";
    assert!(text.lines().any(|line| line == wanted), "{text}");
    test.run(&["rm", "fix"])
        .stderr(
            "error: cannot remove 'fix': its repository could not be reached\n\
             hint: to move it to the trash as it is: git sandbox rm --force fix\n",
        )
        .refused();
    assert!(path.join("file").exists());
}

#[test]
fn show_says_why_it_is_kept() {
    let test = Test::new();
    let path = test.new_sandbox(&["--detach", "look", "--dir", "../else"]);
    let line = |wanted: &str| {
        let text = test.run(&["show", "exploration-look"]).output().stdout;
        let text = String::from_utf8(text).unwrap();
        assert!(text.lines().any(|line| line == wanted), "{wanted} in\n{text}");
    };
    line("branch      none: HEAD is detached");
    line("state       clean, external");
    line("expires     never: it is outside the root");
    test.git(&["worktree", "lock", "--reason", "on a stick", &path.to_string_lossy()]);
    line("lock        on a stick");
    line("expires     never while it is locked");
}

#[test]
fn a_task_cannot_write_to_the_terminal() {
    let test = Test::new();
    test.new_sandbox(&["fix", "a\u{1b}[31mred\n\u{202e}back"]);
    let text = String::from_utf8(test.run(&["show", "fix"]).output().stdout).unwrap();
    let line = "task        a\\u{1b}[31mred\\n\\u{202e}back";
    assert!(text.lines().any(|got| got == line), "{text}");
    assert_eq!(test.json(&["show", "fix", "--json"])["task"], "a\u{1b}[31mred\n\u{202e}back");
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("task: a\\u{1b}[31mred\\n\\u{202e}back\nresumed sandbox 'fix'\n")
        .ok();
}

#[test]
fn looking_changes_nothing() {
    let test = Test::new();
    let path = test.new_sandbox(&["fix"]);
    write(&path.join("new"), "new\n");
    test.git_in(&path, &["status"]);
    let state = || crate::fixture::files::tree(&test.home, &[]);
    let before = state();
    for words in [
        &["show", "fix"][..],
        &["path", "fix"],
        &["list"],
        &["list", "--all"],
        &["show", "fix", "--json"],
    ] {
        assert!(test.run(words).output().status.success());
        assert_eq!(state(), before, "{words:?}");
    }
}
