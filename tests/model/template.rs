//! The home that every run copies: a repository with a few commits, branches that conflict, a submodule
//! that has one itself, and work in its main checkout.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Makes it.
pub fn make(home: &Path, git: &Path) {
    fs::create_dir_all(home).unwrap();
    let config = "[user]\n\tname = A U Thor\n\temail = author@example.com\n\
                  [init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n\
                  [protocol \"file\"]\n\tallow = always\n[commit]\n\tgpgsign = false\n\
                  [gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[core]\n\tfsync = none\n";
    fs::write(home.join(".gitconfig"), config).unwrap();
    let git = |dir: &Path, words: &[&str]| {
        let mut command = Command::new(git);
        command.env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1").current_dir(dir).args(words);
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {words:?}: {stderr}");
    };
    let [deep, lib, app] = ["deep", "lib", "app"].map(|name| home.join("one").join(name));
    for repo in [&deep, &lib, &app] {
        fs::create_dir_all(repo).unwrap();
        git(repo, &["init", "--quiet", "--template="]);
    }
    let commit = |repo: &Path, file: &str, text: &str| {
        fs::write(repo.join(file), text).unwrap();
        git(repo, &["add", "--", file]);
        git(repo, &["commit", "--quiet", "-m", file]);
    };
    commit(&deep, "deep", "deep\n");
    git(&lib, &["submodule", "--quiet", "add", "../deep", "deep"]);
    commit(&lib, "lib", "lib\n");
    git(&lib, &["submodule", "--quiet", "deinit", "deep"]);
    fs::remove_dir_all(lib.join(".git/modules")).unwrap();
    fs::write(app.join(".gitignore"), "*.log\n/build/\n.env*\n").unwrap();
    fs::create_dir(app.join("dir")).unwrap();
    for name in ["b", "hidden", "skipped", "dir/c", "to-move"] {
        fs::write(app.join(name), format!("{name}\n")).unwrap();
    }
    fs::write(app.join("pad"), "pad pad pad pad pad pad\n").unwrap();
    symlink("b", app.join("link")).unwrap();
    git(&app, &["submodule", "--quiet", "add", "../lib", "sub"]);
    git(&app, &["add", "."]);
    commit(&app, "a", "one\n");
    git(&app, &["submodule", "--quiet", "deinit", "sub"]);
    fs::remove_dir_all(app.join(".git/modules")).unwrap();
    git(&app, &["branch", "side"]);
    for text in ["two\n", "three\n", "four\n"] {
        commit(&app, "a", text);
    }
    git(&app, &["checkout", "--quiet", "-b", "old"]);
    commit(&app, "dir/old", "old\n");
    git(&app, &["checkout", "--quiet", "side"]);
    commit(&app, "a", "side\n");
    git(&app, &["checkout", "--quiet", "main"]);
    git(&app, &["tag", "-a", "-m", "v1", "v1"]);
    for repo in [&deep, &lib, &app] {
        git(repo, &["gc", "--quiet", "--prune=now"]);
    }
    fs::create_dir_all(app.join(".git/hooks")).unwrap();
    fs::write(app.join(".git/hooks/pre-commit.mine"), "mine\n").unwrap();
    fs::write(app.join("notes"), "untracked\n").unwrap();
    fs::write(app.join("dir/c"), "staged\n").unwrap();
    git(&app, &["add", "dir/c"]);
    fs::write(app.join("dir/c"), "unstaged\n").unwrap();
    fs::create_dir(app.join("build")).unwrap();
    fs::write(app.join("build/out"), "ignored\n").unwrap();
}
