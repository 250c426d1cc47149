//! Where sandboxes are kept, and which roots are refused.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, lchown, symlink};
use std::path::Path;

use crate::repo::{Test, chmod, write};

const NOBODY: u32 = 65534;

const CREATED: &str = "created sandbox 'fix': new branch 'fix' from 'main'\n";
const ELSEWHERE: &str = "hint: git config sandbox.root '../{project}-worktrees'\n";

#[test]
fn the_root_is_made_for_the_user_alone() {
    let test = Test::new();
    test.new_sandbox(&["fix"]);
    for path in [".cache/git-sandbox", ".cache/git-sandbox/worktrees"] {
        assert_eq!(fs::metadata(test.home.join(path)).unwrap().mode() & 0o777, 0o700, "{path}");
    }
}

#[test]
fn the_root_is_the_options_then_the_environments_then_the_configs() {
    let test = Test::new();
    test.git(&["config", "sandbox.root", "../config"]);
    let dir = |words: &[&str]| test.run(words);
    dir(&["new", "a"])
        .env("XDG_CACHE_HOME", test.home.join("xdg"))
        .stdout("$HOME/config/app/a\n")
        .stderr("created sandbox 'a': new branch 'a' from 'main'\n")
        .ok();
    dir(&["new", "b"])
        .env("GIT_SANDBOX_ROOT", test.home.join("environment"))
        .stdout("$HOME/environment/app/b\n")
        .stderr("created sandbox 'b': new branch 'b' from 'main'\n")
        .ok();
    dir(&["new", "c", "--root", "../option"])
        .env("GIT_SANDBOX_ROOT", test.home.join("environment"))
        .stdout("$HOME/option/app/c\n")
        .stderr("created sandbox 'c': new branch 'c' from 'main'\n")
        .ok();
    test.git(&["config", "--unset", "sandbox.root"]);
    dir(&["new", "d"])
        .env("XDG_CACHE_HOME", test.home.join("xdg"))
        .stdout("$HOME/xdg/git-sandbox/worktrees/app/d\n")
        .stderr("created sandbox 'd': new branch 'd' from 'main'\n")
        .ok();
    assert!(!test.home.join(".cache").exists());
}

#[test]
fn a_relative_root_is_relative_to_the_main_worktree() {
    let test = Test::new();
    test.git(&["config", "sandbox.root", "../trees"]);
    fs::create_dir(test.app().join("sub")).unwrap();
    test.run_in(&test.app().join("sub"), &["new", "fix"])
        .stdout("$HOME/trees/app/fix\n")
        .stderr(CREATED)
        .ok();
    test.run_in(&test.home.join("trees/app/fix"), &["new", "more"])
        .stdout("$HOME/trees/app/more\n")
        .stderr("created sandbox 'more': new branch 'more' from 'fix'\n")
        .ok();
}

#[test]
fn a_root_may_name_the_project() {
    let test = Test::new();
    test.git(&["config", "sandbox.root", "../{project}-worktrees"]);
    test.run(&["new", "feat/ui"])
        .stdout("$HOME/app-worktrees/feat-ui\n")
        .stderr("created sandbox 'feat-ui': new branch 'feat/ui' from 'main'\n")
        .ok();
    assert_eq!(test.json(&["show", "feat-ui", "--json"])["managed"], true);
}

#[test]
fn a_root_may_begin_with_the_users_home() {
    let test = Test::new();
    test.git(&["config", "sandbox.root", "~/trees"]);
    test.run(&["new", "fix"]).stdout("$HOME/trees/app/fix\n").stderr(CREATED).ok();
}

#[test]
fn a_root_inside_a_worktree_is_refused() {
    let test = Test::new();
    for root in [".", "trees", "sub/{project}"] {
        let shown = test.app().join(root.replace("{project}", "app"));
        let shown = shown.to_string_lossy().trim_end_matches("/.").to_owned();
        test.run(&["new", "fix", "--root", root])
            .stderr(&format!(
                "error: cannot keep sandboxes in '{shown}': it is inside the worktree '$APP'\n\
                 {ELSEWHERE}"
            ))
            .refused();
    }
    test.git(&["worktree", "add", "--quiet", "../plain"]);
    test.run(&["new", "fix", "--root", "../plain/trees"])
        .stderr(&format!(
            "error: cannot keep sandboxes in '$HOME/plain/trees': \
             it is inside the worktree '$HOME/plain'\n{ELSEWHERE}"
        ))
        .refused();
    symlink(test.app(), test.home.join("link")).unwrap();
    test.run(&["new", "fix", "--root", "../link/trees"])
        .stderr(&format!(
            "error: cannot keep sandboxes in '$APP/trees': \
             it is inside the worktree '$APP'\n{ELSEWHERE}"
        ))
        .refused();
}

#[test]
fn a_root_inside_a_bare_repository_is_refused() {
    let test = Test::new();
    test.git_in(&test.home, &["clone", "--quiet", "--bare", "app", "bare.git"]);
    test.run_in(&test.home.join("bare.git"), &["new", "fix", "--root", "trees"])
        .stderr(&format!(
            "error: cannot keep sandboxes in '$HOME/bare.git/trees': \
             it is inside the repository\n{ELSEWHERE}"
        ))
        .refused();
}

#[test]
fn a_dir_inside_a_worktree_is_the_users_choice() {
    let test = Test::new();
    write(&test.app().join(".git/info/exclude"), "/trees/\n");
    test.run(&["new", "fix", "--dir", "trees"]).stdout("$APP/trees/fix\n").stderr(CREATED).ok();
}

fn root_refused(test: &Test, root: &Path, why: &str) {
    test.run(&["new", "fix", "--root", root.to_str().unwrap()])
        .stderr(&format!("error: cannot keep sandboxes in '{}': {why}\n", root.display()))
        .refused();
}

#[test]
fn a_root_that_is_a_file_is_refused() {
    let test = Test::new();
    write(&test.home.join("file"), "mine\n");
    root_refused(&test, &test.home.join("file"), "it is not a folder");
}

#[test]
fn a_root_below_a_file_is_refused() {
    let test = Test::new();
    write(&test.home.join("file"), "mine\n");
    let refused = test.run(&["new", "fix", "--root", "../file/trees"]);
    refused.stderr("error: cannot use '$HOME/file/trees': not a directory\n").refused();
}

#[test]
fn a_root_that_cannot_be_made_is_refused() {
    let test = Test::new();
    test.run(&["new", "fix", "--root", "/proc/trees"])
        .stderr("error: cannot create '/proc/trees': no such file or directory\n")
        .refused();
}

#[test]
fn a_root_that_others_may_write_to_is_refused() {
    let test = Test::new();
    let root = test.home.join("trees");
    fs::create_dir(&root).unwrap();
    for mode in [0o777, 0o770, 0o1777] {
        chmod(&root, mode);
        let why = "others may write to it\nhint: chmod go-w $HOME/trees";
        root_refused(&test, &root, &why.replace("$HOME", test.home.to_str().unwrap()));
    }
}

#[test]
fn a_root_that_others_may_replace_is_refused() {
    let test = Test::new();
    let open = test.home.join("open");
    fs::create_dir_all(open.join("trees")).unwrap();
    chmod(&open, 0o777);
    let why = format!("others may replace '{}'", open.join("trees").display());
    root_refused(&test, &open.join("trees"), &why);
}

#[test]
fn a_root_that_others_may_make_first_is_refused() {
    let test = Test::new();
    let open = test.home.join("open");
    fs::create_dir(&open).unwrap();
    chmod(&open, 0o777);
    let why = format!("others may replace '{}'", open.join("trees").display());
    root_refused(&test, &open.join("trees"), &why);
}

#[test]
fn a_root_of_another_user_is_refused() {
    let test = Test::new();
    let root = if test.am_root() {
        let root = test.home.join("trees");
        fs::create_dir(&root).unwrap();
        chown(&root, Some(NOBODY), Some(NOBODY)).unwrap();
        root
    } else {
        "/usr".into()
    };
    root_refused(&test, &root, "it belongs to another user");
}

#[test]
fn a_symlink_that_another_user_could_change_is_refused() {
    let test = Test::new();
    let (folder, link) = (test.home.join("folder"), test.home.join("folder/link"));
    fs::create_dir_all(test.home.join("mine")).unwrap();
    fs::create_dir(&folder).unwrap();
    symlink(test.home.join("mine"), &link).unwrap();
    if test.am_root() {
        lchown(&link, Some(NOBODY), Some(NOBODY)).unwrap();
    } else {
        chmod(&folder, 0o770);
    }
    let why = format!("others may change the symlink '{}'", link.display());
    root_refused(&test, &link.join("trees"), &why);
}

#[test]
fn a_symlink_of_the_users_own_is_followed() {
    let test = Test::new();
    fs::create_dir_all(test.home.join("disk")).unwrap();
    symlink("disk", test.home.join("link")).unwrap();
    for _ in 0..2 {
        let made = test.new_sandbox(&["fix", "--root", "../link/trees"]);
        assert_eq!(made, test.home.join("disk/trees/app/fix"));
    }
    let facts = test.json(&["show", "fix", "--json", "--root", "../link/trees"]);
    assert_eq!(facts["managed"], true);
}

#[test]
fn a_symlink_for_the_projects_folder_does_not_lead_elsewhere() {
    let test = Test::new();
    write(&test.home.join("elsewhere/notes"), "mine\n");
    fs::create_dir_all(test.root().parent().unwrap()).unwrap();
    symlink(test.home.join("elsewhere"), test.root()).unwrap();
    let made = test.new_sandbox(&["fix"]);
    assert!(made.starts_with(test.root().parent().unwrap()), "{}", made.display());
    assert_eq!(crate::repo::names_in(&test.home.join("elsewhere")), ["notes"]);
}

#[test]
fn without_a_home_there_is_no_default_root() {
    let test = Test::new();
    let mut command = test.command("git", &test.app());
    command.args(["sandbox", "new", "fix"]).env_remove("HOME");
    test.run_command(command)
        .stderr(
            "error: cannot keep sandboxes in '~/.cache/git-sandbox/worktrees': HOME is not set\n\
             hint: git config --global sandbox.root <folder>\n",
        )
        .refused();
}
