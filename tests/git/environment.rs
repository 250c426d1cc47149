//! Where and how `git sandbox` is started: folders, kinds of repositories, options of git, hooks.

use std::fs;
use std::path::Path;

use crate::fixture::Test;
use crate::fixture::files::{names_in, write};
use crate::fixture::usage::OUTSIDE;

const CREATED: &str = "created sandbox 'fix': new branch 'fix' from 'main'\n";

#[test]
fn a_subdirectory_is_as_good_as_the_top() {
    let test = Test::new();
    test.commit(&test.app(), "sub/dir/file", "two\n");
    let dir = test.app().join("sub/dir");
    test.run_in(&dir, &["new", "fix"]).stdout("$ROOT/fix\n").stderr(CREATED).ok();
    test.run_in(&dir, &["path", "fix"]).stdout("$ROOT/fix\n").ok();
    assert_eq!(test.git_in(&test.at("fix"), &["status", "--porcelain"]), "");
}

#[test]
fn the_git_dir_itself_is_as_good() {
    let test = Test::new();
    test.run_in(&test.app().join(".git"), &["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr(CREATED)
        .ok();
}

#[test]
fn a_sandbox_made_inside_a_sandbox_belongs_to_the_main_repository() {
    let test = Test::new();
    let path = test.new_sandbox(&["one"]);
    let commit = test.commit(&path, "sub/file", "two\n");
    test.run_in(&path.join("sub"), &["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("created sandbox 'fix': new branch 'fix' from 'one'\n")
        .ok();
    let facts = test.json(&["show", "fix", "--json"]);
    assert_eq!(facts["head"], commit);
    assert_eq!((&facts["base"], &facts["project"]), (&"one".into(), &"app".into()));
    assert_eq!(facts["base_repo"], *test.app().to_string_lossy());
}

#[test]
fn a_sandbox_made_inside_an_exploration_starts_at_its_commit() {
    let test = Test::new();
    let path = test.new_sandbox(&["--detach", "look"]);
    let commit = test.commit(&path, "file", "two\n");
    test.run_in(&path, &["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr(&format!("created sandbox 'fix': new branch 'fix' from '{}'\n", &commit[..10]))
        .ok();
    assert_eq!(test.git(&["rev-parse", "fix"]), commit);
}

#[test]
fn in_a_submodule_it_is_the_submodules() {
    let test = Test::new();
    test.init("lib", &[]);
    test.git(&["submodule", "--quiet", "add", "../lib", "deps/lib"]);
    test.git(&["commit", "--quiet", "-m", "lib"]);
    let before = test.snapshot();
    let lib = test.app().join("deps/lib");
    let home = test.root().with_file_name("lib");
    test.run_in(&lib, &["new", "fix"])
        .stdout(&format!("{}/fix\n", home.display()))
        .stderr(CREATED)
        .ok();
    let output = test.run_in(&lib, &["show", "fix", "--json"]).output();
    let facts: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(facts["base_repo"], *lib.to_string_lossy());
    assert_eq!(test.git_in(&home.join("fix"), &["status", "--porcelain"]), "");
    test.run(&["list"]).stderr("no sandboxes; 'git sandbox new <name>' makes one\n").ok();
    test.run_in(&lib, &["new", "main"])
        .stderr(
            "error: branch 'main' is checked out in the main worktree\n\
             hint: git sandbox new main-2 --from main\n",
        )
        .code(1);
    let shared = |text: &str| text.lines().take(4).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(shared(&test.snapshot()), shared(&before));
}

#[test]
fn a_git_dir_that_was_put_elsewhere_serves_its_sandboxes_too() {
    let test = Test::new();
    let apart = test.home.join("apart");
    test.git(&["init", "--quiet", "--separate-git-dir", apart.to_str().unwrap()]);
    let path = test.new_sandbox(&["fix"]);
    test.run(&["path", "^"]).stdout("$APP\n").ok();
    test.run_in(&path, &["path"]).stdout("$ROOT/fix\n").ok();
    let row = "  NAME  WORK  BASE  AGE\n* fix   -     =     0s\n";
    test.run_in(&path, &["list"]).stdout(row).ok();
    test.run_in(&path, &["run", "--", "true"]).ok();
    // git takes the git dir for the main worktree there.
    test.commit(&path, "more", "more\n");
    let before = test.git(&["rev-parse", "main"]);
    let unknown = "error: cannot tell where the main worktree of the git dir '$HOME/apart' is\n\
                   hint: run this in the main worktree\n";
    test.run_in(&path, &["path", "^"]).stderr(unknown).code(1);
    test.run_in(&path, &["merge", "--dry-run"]).stderr(unknown).code(1);
    test.run_in(&path, &["merge"]).stderr(unknown).code(1);
    assert_eq!(test.git(&["rev-parse", "main"]), before);
    assert!(!apart.join("more").exists());
    let said = "merged 'fix' into 'main': 1 commit, fast-forward\n";
    test.run(&["merge", "fix", "--keep"]).stderr(said).ok();
    assert!(test.app().join("more").exists());
}

#[test]
fn a_bare_repository_has_sandboxes_of_any_branch() {
    let test = Test::new();
    for (folder, project) in [("srv/tool.git", "tool"), ("proj/.bare", "proj")] {
        let path = test.home.join(folder);
        let target = path.to_str().unwrap();
        test.git_in(&test.home, &["clone", "--quiet", "--bare", "app", target]);
        let home = test.root().with_file_name(project);
        test.run_in(&path, &["new", "fix"])
            .stdout(&format!("{}/fix\n", home.display()))
            .stderr(CREATED)
            .ok();
        test.run_in(&path, &["new", "main"])
            .stdout(&format!("{}/main\n", home.display()))
            .stderr("created sandbox 'main': branch 'main'\n")
            .ok();
        let output = test.run_in(&home.join("fix"), &["show", "--json"]).output();
        let facts: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&facts["project"], &facts["state"]), (&project.into(), &"ready".into()));
        assert_eq!(test.git_in(&home.join("fix"), &["status", "--porcelain"]), "");
    }
}

#[test]
fn a_bare_repository_without_commits_is_refused() {
    let test = Test::new();
    test.git_in(&test.home, &["init", "--quiet", "--bare", "empty.git"]);
    test.run_in(&test.home.join("empty.git"), &["new", "fix"])
        .stderr(
            "error: cannot create a sandbox: the repository has no commits yet\n\
             hint: make one first: git commit --allow-empty -m 'Initial commit'\n",
        )
        .refused();
}

/// Made, resumed, used, deleted and made again.
fn a_whole_life(test: &Test) {
    let path = test.new_sandbox(&["fix", "A", "task"]);
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("task: A task\nresumed sandbox 'fix'\n")
        .ok();
    assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "");
    test.git_in(&path, &["checkout", "--quiet", "--detach"]);
    let commit = test.commit(&path, "file", "two\n");
    assert_eq!(test.json(&["show", "fix", "--json"])["head"], commit);
    test.git_in(&path, &["checkout", "--quiet", "fix"]);
    fs::remove_dir_all(&path).unwrap();
    let output = test.run(&["new", "fix"]).output();
    let kept = test.git(&["for-each-ref", "--format=%(refname)", "refs/sandbox/kept"]);
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        format!(
            "the folder of 'fix' was gone; kept 1 commit only here in {kept}\n\
             created sandbox 'fix' for \"A task\": branch 'fix'\n"
        )
    );
    test.git(&["merge-base", "--is-ancestor", &commit, &kept]);
    assert_eq!(test.linked().len(), 1);
}

#[test]
fn a_sha1_repository_has_the_whole_life() {
    a_whole_life(&Test::new());
}

#[test]
fn a_sha256_repository_has_the_whole_life() {
    let test = Test::bare();
    test.init("app", &["--object-format=sha256"]);
    assert_eq!(test.git(&["rev-parse", "HEAD"]).len(), 64);
    a_whole_life(&test);
}

/// Whether this git has reftable; every git since 2.45 must.
#[track_caller]
pub fn has_reftable(test: &Test) -> bool {
    let probe = ["init", "--quiet", "--ref-format=reftable", "probe"];
    let has = test.command("git", &test.home).args(probe).output().unwrap().status.success();
    let version = test.git_in(&test.home, &["version"]);
    let mut numbers = version["git version ".len()..].split('.').map(str::parse::<u32>);
    let version = [numbers.next().unwrap().unwrap(), numbers.next().unwrap().unwrap()];
    assert_eq!(has, version >= [2, 45]);
    has
}

#[test]
fn a_reftable_repository_has_the_whole_life() {
    let test = Test::bare();
    if has_reftable(&test) {
        test.init("app", &["--ref-format=reftable"]);
        assert_eq!(test.git(&["rev-parse", "--show-ref-format"]), "reftable");
        a_whole_life(&test);
    }
}

#[test]
fn a_reftable_repository_knows_when_a_sandbox_was_used() {
    let test = Test::bare();
    if has_reftable(&test) {
        test.init("app", &["--ref-format=reftable"]);
        let path = test.new_sandbox(&["fix"]);
        let mut commit = test.command("git", &path);
        commit.args(["commit", "--quiet", "--allow-empty", "-m", "two"]);
        commit.env("GIT_COMMITTER_DATE", "2026-01-20T00:00:00Z");
        assert!(commit.status().unwrap().success());
        crate::fixture::time::set_day(&path, 2);
        assert_eq!(test.json(&["show", "--json", "fix"])["last_used"], "2026-01-20T00:00:00Z");
    }
}

#[test]
fn a_sparse_checkout_stays_sparse_as_with_git_worktree_add() {
    let test = Test::new();
    test.commit(&test.app(), "in/file", "two\n");
    test.commit(&test.app(), "out/file", "three\n");
    test.git(&["sparse-checkout", "set", "--cone", "in"]);
    test.git(&["worktree", "add", "--quiet", "../plain"]);
    let path = test.new_sandbox(&["fix"]);
    assert_eq!(names_in(&path), [".git", "file", "in"]);
    assert_eq!(names_in(&path), names_in(&test.home.join("plain")));
    let patterns = |dir: &Path| test.git_in(dir, &["sparse-checkout", "list"]);
    assert_eq!(patterns(&path), patterns(&test.home.join("plain")));
    assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "");
}

#[test]
fn a_shallow_clone_is_enough() {
    let test = Test::new();
    test.commit(&test.app(), "file", "two\n");
    let url = format!("file://{}", test.app().display());
    test.git_in(&test.home, &["clone", "--quiet", "--depth=1", &url, "shallow"]);
    let home = test.root().with_file_name("shallow");
    test.run_in(&test.home.join("shallow"), &["new", "fix"])
        .stdout(&format!("{}/fix\n", home.display()))
        .stderr(CREATED)
        .ok();
    assert_eq!(fs::read_to_string(home.join("fix/file")).unwrap(), "two\n");
}

#[track_caller]
fn with_git_options(test: &Test, dir: &Path, options: &[&str], words: &[&str], path: &str) {
    let mut command = test.command("git", dir);
    command.args(options).args(words);
    test.run_command(command).stdout(path).stderr(CREATED).ok();
    assert_eq!(test.linked().len(), 1);
    assert_eq!(test.git_in(test.linked()[0].as_ref(), &["status", "--porcelain"]), "");
}

const NEW: &[&str] = &["sandbox", "new", "fix"];

#[test]
fn gits_options_count() {
    let test = Test::new();
    with_git_options(&test, &test.home, &["-C", "app"], NEW, "$ROOT/fix\n");
    let test = Test::new();
    let root = ["-c", "sandbox.root=../trees"];
    with_git_options(&test, &test.app(), &root, NEW, "$HOME/trees/app/fix\n");
    let test = Test::new();
    with_git_options(&test, &test.app(), &["--git-dir=.git"], NEW, "$ROOT/fix\n");
    let test = Test::new();
    let both = ["--git-dir=app/.git", "--work-tree=app"];
    with_git_options(&test, &test.home, &both, NEW, "$ROOT/fix\n");
}

#[test]
fn the_git_dir_tells_the_repository_from_anywhere() {
    let test = Test::new();
    fs::create_dir(test.home.join("elsewhere")).unwrap();
    let elsewhere = test.home.join("elsewhere");
    with_git_options(&test, &elsewhere, &["--git-dir=../app/.git"], NEW, "$ROOT/fix\n");
}

#[test]
fn an_alias_knows_where_the_user_is() {
    let test = Test::new();
    test.git(&["config", "alias.sb", "!git sandbox"]);
    let sub = test.app().join("sub");
    fs::create_dir(&sub).unwrap();
    let words = ["sb", "new", "fix", "--dir", "../../here"];
    with_git_options(&test, &sub, &[], &words, "$HOME/here/fix\n");
    let mut command = test.command("git", &sub);
    command.args(["sb", "path", "../../here/fix"]);
    test.run_command(command).stdout("$HOME/here/fix\n").ok();
}

/// A commit in `dir` whose hook makes a sandbox holds what the user staged and nothing else.
fn commits_with_a_hook(test: &Test, dir: &Path, options: &[&str]) {
    test.script(
        "app/.git/hooks/pre-commit",
        "exec >&2; git sandbox new hooked && git sandbox list --json",
    );
    write(&dir.join("file"), "mine\n");
    write(&dir.join("staged"), "mine\n");
    test.git_in(dir, &["add", "staged"]);
    write(&dir.join("untracked"), "mine\n");
    test.git_in(dir, &[&["commit", "--quiet", "-m", "mine"], options].concat());
    let all = options.contains(&"-a");
    let (files, left) =
        if all { ("file\nstaged", "?? untracked") } else { ("staged", " M file\n?? untracked") };
    assert_eq!(test.git_in(dir, &["diff", "--name-only", "HEAD~1", "HEAD"]), files);
    assert_eq!(test.git_in(dir, &["status", "--porcelain"]), left);
    assert_eq!(names_in(&test.at("hooked")), [".git", "file"]);
    assert_eq!(fs::read_to_string(test.at("hooked/file")).unwrap(), "one\n");
    assert_eq!(test.git_in(&test.at("hooked"), &["status", "--porcelain"]), "");
    assert_eq!(test.git(&["rev-parse", "hooked"]), test.git_in(dir, &["rev-parse", "HEAD~1"]));
}

#[test]
fn a_hook_in_a_linked_worktree_does_not_leak() {
    let test = Test::new();
    let path = test.new_sandbox(&["one"]);
    commits_with_a_hook(&test, &path, &[]);
}

#[test]
fn a_hook_with_an_index_of_its_own_does_not_leak() {
    let test = Test::new();
    let path = test.new_sandbox(&["one"]);
    commits_with_a_hook(&test, &path, &["-a"]);
}

#[test]
fn a_hook_in_the_main_worktree_does_not_leak() {
    let test = Test::new();
    commits_with_a_hook(&test, &test.app(), &["-a"]);
}

#[test]
fn outside_a_repository_nothing_is_made() {
    let test = Test::new();
    for words in [
        &["new"][..],
        &["new", "fix"],
        &["list"],
        &["list", "--json"],
        &["list", "--names"],
        &["list", "-z"],
        &["show", "fix"],
        &["path", "fix"],
        &[],
    ] {
        test.run_in(&test.home, words).stderr(OUTSIDE).refused();
    }
    let words = ["sandbox", "new", "fix"];
    let mut command = test.command("git", &test.home);
    command.args(["--git-dir=nowhere"]).args(words);
    let output = test.run_command(command).output();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn without_git_there_is_a_hint() {
    let test = Test::new();
    for words in [&["new", "fix"][..], &["list"], &["list", "--names"], &["path", "fix"]] {
        test.program(&test.app(), words)
            .env("PATH", &test.home)
            .stderr(
                "error: cannot find git on PATH\n\
                 hint: install git 2.36 or later and put it on PATH\n",
            )
            .refused();
    }
}

#[test]
fn a_git_that_is_too_old_is_named() {
    let test = Test::new();
    let path = test.fake_git(
        "case \"$*\" in\n\
         version | --version) echo 'git version 2.35.8'; exit ;;\n\
         *worktree*list*-z*) echo \"error: unknown switch \\`z'\" >&2; exit 129 ;;\n\
         esac\n\
         exec \"$GIT\" \"$@\"",
    );
    for words in [&["new", "fix"][..], &["list"], &["list", "--names"], &["path", "fix"]] {
        test.program(&test.app(), words)
            .env("PATH", &path)
            .stderr(
                "error: git 2.35.8 is too old: git sandbox needs 2.36 or later\n\
                 hint: install git 2.36 or later\n",
            )
            .refused();
    }
}

/// From 2.48 on git can be told to write relative pointers; before, it does not listen.
#[test]
fn relative_pointers_are_made_kept_and_brought_back_as_git_makes_them() {
    let test = Test::new();
    test.git(&["config", "worktree.useRelativePaths", "true"]);
    test.git(&["worktree", "add", "--quiet", "--detach", "../plain"]);
    let path = test.new_sandbox(&["fix", "A task"]);
    let form = |folder: &Path| {
        let dot_git = fs::read_to_string(folder.join(".git")).unwrap();
        let entry = test.git_in(folder, &["rev-parse", "--absolute-git-dir"]);
        let gitdir = fs::read_to_string(Path::new(&entry).join("gitdir")).unwrap();
        (dot_git.starts_with("gitdir: /"), gitdir.starts_with('/'))
    };
    let plain = form(&test.home.join("plain"));
    assert_eq!(form(&path), plain);
    write(&path.join("work"), "mine\n");
    assert_eq!(test.json(&["show", "fix", "--json"])["state"], "ready");
    test.run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr("task: A task\nresumed sandbox 'fix'\n")
        .ok();
    assert!(test.run(&["rm", "--force", "fix"]).output().status.success());
    assert!(!path.exists());
    test.git(&["worktree", "prune", "--expire=now"]);
    assert!(test.run(&["restore", "fix"]).output().status.success());
    assert_eq!(fs::read_to_string(path.join("work")).unwrap(), "mine\n");
    assert_eq!(form(&path), plain);
    assert_eq!(test.git_in(&path, &["status", "--porcelain", "--branch"]), "## fix\n?? work");
    test.run(&["doctor"]).stdout("").stderr("all is well\n").ok();
    test.run(&["list", "--names"]).stdout("fix\nplain\n").ok();
}

#[test]
fn a_repository_of_another_user_comes_with_gits_own_remedy() {
    let test = Test::new();
    let plain = test
        .command("git", &test.app())
        .arg("status")
        .env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
        .output()
        .unwrap();
    let said = String::from_utf8(plain.stderr).unwrap();
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let why = lines.next().unwrap().strip_prefix("fatal: ").unwrap();
    let hints: Vec<String> = lines.map(|line| format!("hint: {line}\n")).collect();
    let remedy = test.expand("hint: git config --global --add safe.directory $APP\n");
    assert!(hints.contains(&remedy), "{said}");
    for words in [&["list"][..], &["new", "fix"], &["rm", "fix"], &["doctor"]] {
        test.run(words)
            .env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
            .stderr(&format!("error: cannot use this repository: {why}\n{}", hints.concat()))
            .code(1);
    }
}
