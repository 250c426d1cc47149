//! Where sandboxes are kept, and which roots are refused.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, lchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;

use crate::fixture::Test;
use crate::fixture::built::program;
use crate::fixture::files::{chmod, names_in, write};
use crate::fixture::process::{ended, is_suspended, signal, until};
use crate::fixture::time::set_day;
use crate::fixture::tools::not_as_this_user;

const NOBODY: u32 = 65534;

const CREATED: &str = "created sandbox 'fix': new branch 'fix' from 'main'\n";
const OWN: &str = "hint: use a folder of your own, such as '--root ~/sandboxes'\n";
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
fn with_a_root_that_names_the_project_only_what_stands_there_is_managed() {
    let test = Test::new();
    test.git(&["config", "sandbox.root", "../{project}-worktrees"]);
    test.new_sandbox(&["fix"]);
    for folder in ["mine", "app-worktrees-mine/deep", "app-worktrees/deep/er"] {
        let path = test.home.join(folder);
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        test.git(&["worktree", "add", "--quiet", &path.display().to_string()]);
        assert_eq!(test.json(&["show", &name, "--json"])["managed"], false, "{folder}");
    }
    assert_eq!(test.json(&["show", "fix", "--json"])["managed"], true);
    let reap = test.run(&["reap"]).env("GIT_SANDBOX_NOW", "2029-01-31T12:00:00Z").output();
    assert!(reap.status.success());
    for folder in ["mine", "app-worktrees-mine/deep", "app-worktrees/deep/er"] {
        assert!(test.home.join(folder).join("file").exists(), "{folder}");
    }
    assert_eq!(test.linked().len(), 3);
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
fn a_dir_inside_the_repository_is_refused() {
    let test = Test::new();
    write(&test.app().join(".git/info/exclude"), "/trees/\n");
    fs::create_dir(test.app().join("sub")).unwrap();
    let outside = "hint: use a folder outside, such as '--dir $HOME'\n";
    for (dir, shown) in [(".", "$APP"), ("trees", "$APP/trees"), ("sub/../sub", "$APP/sub")] {
        test.run(&["new", "fix", "--dir", dir])
            .stderr(&format!(
                "error: cannot keep sandboxes in '{shown}': it is inside the worktree '$APP'\n{outside}"
            ))
            .refused();
    }
    test.run(&["new", "fix", "--dir", ".git/x"])
        .stderr(&format!(
            "error: cannot keep sandboxes in '$APP/.git/x': it is inside the repository\n{outside}"
        ))
        .refused();
    let other = test.new_sandbox(&["other"]);
    test.run(&["new", "fix", "--dir", other.to_str().unwrap()])
        .stderr(&format!(
            "error: cannot keep sandboxes in '$ROOT/other': \
             it is inside the worktree '$ROOT/other'\n{outside}"
        ))
        .refused();
}

#[track_caller]
fn root_refused(test: &Test, root: &Path, why: &str) {
    test.run(&["new", "fix", "--root", root.to_str().unwrap()])
        .stderr(&format!("error: cannot keep sandboxes in '{}': {why}\n{OWN}", root.display()))
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
    let why = format!("'{}' is not a folder", test.home.join("file").display());
    root_refused(&test, &test.home.join("file/trees"), &why);
    root_refused(&test, Path::new("/dev/null/x"), "'/dev/null' is not a folder");
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
    for mode in [0o777, 0o770] {
        chmod(&root, mode);
        test.run(&["new", "fix", "--root", root.to_str().unwrap()])
            .stderr(
                "error: cannot keep sandboxes in '$HOME/trees': others may write to it\n\
                 hint: chmod go-w $HOME/trees\n",
            )
            .refused();
    }
}

#[test]
fn no_hint_changes_the_mode_of_a_folder_for_everybody() {
    let test = Test::new();
    let root = test.home.join("trees");
    fs::create_dir(&root).unwrap();
    chmod(&root, 0o1777);
    root_refused(&test, &root, "others may write to it");
    root_refused(&test, Path::new("/tmp"), "others may write to it");
}

#[test]
fn a_root_below_a_folder_of_a_group_is_refused() {
    let test = Test::new();
    let open = test.home.join("open");
    fs::create_dir(&open).unwrap();
    chmod(&open, 0o775);
    if test.am_root() {
        // Only root is in root's group.
        test.new_sandbox(&["first", "--root", open.join("mine").to_str().unwrap()]);
        chown(&open, None, Some(NOBODY)).unwrap();
        let why = format!("others may replace '{}'", open.join("trees").display());
        root_refused(&test, &open.join("trees"), &why);
    } else {
        not_as_this_user("a folder of a group that others are in");
    }
    // In a sticky one only the owner may replace what is theirs.
    chmod(&open, 0o1775);
    test.new_sandbox(&["second", "--root", open.join("own").to_str().unwrap()]);
}

#[test]
fn a_root_below_a_folder_of_another_user_is_refused() {
    let test = Test::new();
    if !test.am_root() {
        // Every folder that this user may write to is theirs or open to all users.
        return not_as_this_user("a folder of another user that this one may write to");
    }
    let theirs = test.home.join("theirs");
    fs::create_dir_all(theirs.join("trees")).unwrap();
    chown(&theirs, Some(1234), None).unwrap();
    let why = format!("others may replace '{}'", theirs.join("trees").display());
    root_refused(&test, &theirs.join("trees"), &why);
}

/// Starts `new` and lets another process make the root just before `new` does.
fn made_first(make: impl Fn(&Path)) -> (Test, std::process::Output) {
    let test = Test::new();
    let root = test.home.join("trees");
    let mut command = test.command(program(), &test.app());
    command.args(["new", "fix", "--root", root.to_str().unwrap()]).env("GIT_SANDBOX_PAUSE_AT", "1");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn().unwrap();
    until("new waits", || is_suspended(child.id()));
    make(&root);
    signal(child.id(), Signal::CONT);
    let output = ended(child);
    (test, output)
}

#[test]
fn a_root_that_another_user_makes_first_is_not_used() {
    let (test, output) = made_first(|root| {
        fs::create_dir(root).unwrap();
        chmod(root, 0o777);
    });
    let said = String::from_utf8(output.stderr).unwrap();
    let wanted = "error: cannot keep sandboxes in '$HOME/trees': others may write to it\n\
                  hint: chmod go-w $HOME/trees\n";
    assert_eq!((said, output.status.code()), (test.expand(wanted), Some(1)));
    assert_eq!(names_in(&test.home.join("trees")), [""; 0]);
    assert_eq!(test.branches(), ["main"]);
}

#[test]
fn a_link_that_another_user_makes_first_is_not_followed() {
    let (test, output) = made_first(|root| {
        let victim = root.with_file_name("victim");
        fs::create_dir(&victim).unwrap();
        symlink(&victim, root).unwrap();
        if fs::metadata(&victim).unwrap().uid() == 0 {
            lchown(root, Some(NOBODY), Some(NOBODY)).unwrap();
        } else {
            chmod(&victim, 0o777);
        }
    });
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(names_in(&test.home.join("victim")), [""; 0]);
    assert_eq!(test.branches(), ["main"]);
}

#[test]
fn a_root_that_another_command_of_ours_makes_first_is_used() {
    let (test, output) = made_first(|root| {
        fs::create_dir(root).unwrap();
        chmod(root, 0o700);
    });
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(names_in(&test.home.join("trees")), ["app"]);
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
        chmod(&root, 0o755);
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
        chmod(&folder, 0o777);
    }
    let why = format!("others may change the symlink '{}'", link.display());
    root_refused(&test, &link.join("trees"), &why);
}

#[test]
fn a_symlink_of_the_users_own_is_followed() {
    let test = Test::new();
    fs::create_dir_all(test.home.join("disk")).unwrap();
    chmod(&test.home.join("disk"), 0o755);
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
    // As the program makes them, whatever the umask.
    for folder in [".cache", ".cache/git-sandbox", ".cache/git-sandbox/worktrees"] {
        chmod(&test.home.join(folder), 0o755);
    }
    symlink(test.home.join("elsewhere"), test.root()).unwrap();
    let made = test.new_sandbox(&["fix"]);
    assert!(made.starts_with(test.root().parent().unwrap()), "{}", made.display());
    assert_eq!(names_in(&test.home.join("elsewhere")), ["notes"]);
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

#[test]
fn one_that_was_moved_among_other_folders_is_not_forgotten() {
    let test = Test::new();
    test.git(&["config", "sandbox.root", "../{project}.{folder}"]);
    assert!(test.run(&["new", "box"]).output().status.success());
    write(&test.home.join("app.box/work"), "mine\n");
    fs::rename(test.home.join("app.box"), test.home.join("app.moved")).unwrap();
    for words in [&["rm", "--force", "app.box"][..], &["new", "box"]] {
        test.run(words)
            .stderr(
                "error: cannot forget 'app.box': its folder was moved to '$HOME/app.moved'\n\
                 hint: git sandbox doctor --fix\n",
            )
            .code(1);
    }
    let moved = test.home.join("app.moved");
    assert!(test.run_in(&moved, &["doctor", "--fix"]).output().status.success());
    assert_eq!(test.git_in(&moved, &["status", "--porcelain"]), "?? work");
}

#[test]
fn a_root_may_name_the_folder_of_each_sandbox() {
    let test = Test::new();
    test.git(&["config", "sandbox.root", "../{project}.{folder}"]);
    test.run(&["new", "feat/ui", "A task"])
        .stdout("$HOME/app.feat-ui\n")
        .stderr("created sandbox 'app.feat-ui' for \"A task\": new branch 'feat/ui' from 'main'\n")
        .ok();
    // A neighbour is found as the main worktree finds it.
    assert!(test.home.join("app.feat-ui/../.gitconfig").is_file());
    test.run(&["path", "feat/ui"]).stdout("$HOME/app.feat-ui\n").ok();
    test.run(&["new", "feat-ui"])
        .stdout("$HOME/app.feat-ui-2\n")
        .stderr(
            "folder 'app.feat-ui' is taken: using 'app.feat-ui-2'\n\
             created sandbox 'app.feat-ui-2': new branch 'feat-ui' from 'main'\n",
        )
        .ok();
    test.run(&["new", "--detach", "x"])
        .stdout("$HOME/app.exploration-x\n")
        .stderr("created sandbox 'app.exploration-x': detached at 'main'\n")
        .ok();
    let listed = test.json(&["list", "--json"]);
    let fact = |key: &str| -> Vec<String> {
        listed.as_array().unwrap().iter().map(|one| one[key].to_string()).collect()
    };
    assert_eq!(fact("managed"), ["true", "true", "true"]);
    assert_eq!(fact("class"), ["\"transient\"", "\"persistent\"", "\"persistent\""]);
    test.run(&["rename", "feat/ui", "new"])
        .stdout("$HOME/app.new\n")
        .stderr("renamed sandbox 'app.feat-ui' to 'app.new': branch 'feat/ui' is now 'new'\n")
        .ok();
    test.run(&["rename", "app.exploration-x", "y"])
        .stdout("$HOME/app.exploration-y\n")
        .stderr("renamed sandbox 'app.exploration-x' to 'app.exploration-y'\n")
        .ok();
    // Removing and restoring leave nothing but the trash beside them.
    test.run(&["rm", "new"])
        .stderr("removed 'app.new' (nothing to lose); undo with: git sandbox restore app-new-ID\n")
        .ok();
    assert!(!test.home.join("app.new").exists());
    assert!(test.home.join(".git-sandbox").is_dir());
    test.run(&["restore", "app.new"]).stdout("$HOME/app.new\n").stderr("restored 'app.new'\n").ok();
}

#[test]
fn among_other_folders_only_what_we_made_is_managed() {
    let test = Test::new();
    test.git(&["config", "sandbox.root", "../{project}.{folder}"]);
    test.new_sandbox(&["ours"]);
    test.git(&["worktree", "add", "--quiet", "-b", "theirs", "../app.theirs"]);
    test.git(&["worktree", "add", "--quiet", "-b", "other", "../other"]);
    // Made by us, but not where the root puts them.
    test.new_sandbox(&["--dir", test.home.to_str().unwrap(), "elsewhere"]);
    let managed = |name: &str| test.json(&["show", "--json", name])["managed"].clone();
    assert_eq!([managed("ours"), managed("theirs"), managed("other")], [true, false, false]);
    assert_eq!(managed("elsewhere"), false);
    for name in ["app.ours", "app.theirs"] {
        set_day(&test.home.join(name), 2);
    }
    let output = test.run(&["reap", "--older-than", "5"]).output();
    assert!(output.status.success());
    assert_eq!(output.stdout, b"app.ours: retired: unused for 29 days\n");
    assert!(test.home.join("app.theirs").is_dir() && !test.home.join("app.ours").exists());
}

#[test]
fn the_folder_stands_at_the_end_of_a_root_only() {
    let test = Test::new();
    for root in ["../{folder}/x", "../{folder}.{project}", "../{folder}-{folder}"] {
        test.run(&["new", "fix", "--root", root])
            .stderr(&format!(
                "error: cannot keep sandboxes in '{root}': '{{folder}}' can stand at its end only\n\
                 hint: git config sandbox.root '../{{project}}.{{folder}}'\n"
            ))
            .refused();
    }
    test.run(&["new", "fix", "--root", "{folder}"])
        .stderr(
            "error: cannot keep sandboxes in '$APP/.git-sandbox': \
             it is inside the worktree '$APP'\n\
             hint: git config sandbox.root '../{project}-worktrees'\n",
        )
        .refused();
}
