//! What the user does in the target's checkout between the look at it and the end of the landing.

use std::fs;

use super::crash::next;
use super::untouched::before_it_moves;
use crate::fixture::files::{names_in, write};
use crate::fixture::merge::{Scene, Target};
use crate::fixture::mount::alone;
use crate::fixture::work::submodule;

const FORWARD: &str = "merged 'box' into 'dev': 3 commits, fast-forward\n";
const MOVED: &str = "error: cannot merge 'box' into 'dev': it has moved meanwhile\n\
                     hint: git sandbox merge box --keep\n";
/// A call of git's that only a look at the checkout makes.
const LOOK: &str = "read-tree -n";
/// The call that writes the files.
const WRITE: &str = "read-tree -m";

/// A scene in which git itself has to be asked whether the files can be written.
fn scene() -> Scene {
    let scene = Scene::new(Target::Here);
    let a = scene.test.app().join("a");
    scene.test.commit(&scene.path, "a", "changed\n");
    // The same bytes in another file.
    fs::remove_file(&a).unwrap();
    write(&a, "a\n");
    scene
}

/// Merges `box`; after this call of the landing's the user does something in the target's checkout.
#[track_caller]
fn merges(scene: &Scene, call: &str, what: &str, stderr: &str, code: i32) {
    let git = scene.test.fake_git(&format!(
        "case \" $GIT_INDEX_FILE $* \" in *sandbox.landing*' {call} '*)\n\
         test -e \"$HOME/once\" || {{ \"$GIT\" \"$@\"; code=$?; : >\"$HOME/once\"\n\
         unset $(\"$GIT\" rev-parse --local-env-vars); cd \"$HOME/app\"\n\
         {{ {what}; }} >\"$HOME/said\" 2>&1 || exit 99; exit $code; }} ;; esac\n\
         exec \"$GIT\" \"$@\""
    ));
    let run = scene.test.program(&scene.test.app(), &["merge", "box", "--keep"]);
    run.env("PATH", git).stderr(stderr).code(code);
    assert_eq!(fs::read_to_string(scene.test.home.join("said")).unwrap(), "");
    scene.nothing_is_left();
}

#[test]
fn what_is_staged_after_the_look_stays_staged() {
    let scene = scene();
    merges(&scene, LOOK, "echo staged >new && git add new", FORWARD, 0);
    assert_eq!(scene.test.git(&["status", "--porcelain"]), "A  new");
    assert_eq!(scene.test.git(&["show", ":new"]), "staged");
    assert_eq!(scene.commit("dev"), scene.commit("box"));
}

#[test]
fn an_operation_that_begins_after_the_look_is_left_alone() {
    let scene = scene();
    let old = scene.commit("dev");
    let text = "error: cannot merge 'box' into 'dev': a bisect is in progress in '$APP'\n\
                hint: git -C $APP status\n";
    merges(&scene, LOOK, "git bisect start >/dev/null", text, 1);
    assert_eq!(scene.commit("dev"), old);
    scene.is_clean();
}

#[test]
fn a_branch_that_the_user_leaves_after_the_look_is_not_moved() {
    let scene = scene();
    let old = scene.commit("dev");
    merges(&scene, LOOK, "git symbolic-ref HEAD refs/heads/main", MOVED, 1);
    assert_eq!(scene.commit("dev"), old);
    scene.is_clean();
}

#[test]
fn an_ignored_file_that_comes_after_the_look_is_not_overwritten() {
    let scene = scene();
    write(&scene.path.join("x.log"), "theirs\n");
    scene.test.git_in(&scene.path, &["add", "--force", "x.log"]);
    scene.test.git_in(&scene.path, &["commit", "--quiet", "-m", "log"]);
    let text = "error: cannot merge 'box' into 'dev': files in '$APP' that git does not track are in \
                the way: 'x.log'\nhint: git -C $APP status --ignored\n";
    merges(&scene, LOOK, "echo mine >x.log", text, 1);
    assert_eq!(fs::read_to_string(scene.test.app().join("x.log")).unwrap(), "mine\n");
    scene.is_clean();
}

#[test]
fn a_commit_that_comes_while_the_files_are_written_stays() {
    let scene = scene();
    let own = "git update-ref refs/heads/dev $(git commit-tree -p dev -m own dev^{tree})";
    merges(&scene, WRITE, own, MOVED, 1);
    assert_eq!(scene.log("dev")[0], "1 own");
    scene.is_clean();
    assert!(!scene.test.app().join("mine").exists());
}

/// Merges `box`; the user does something when the files are written, and a hook refuses the rest.
#[track_caller]
fn is_taken_back(scene: &Scene, what: &str, left: &str) {
    before_it_moves(scene, &format!("cd \"$HOME/app\" && {what}; exit 1"));
    let output = scene.test.run(&["merge", "box"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: cannot merge 'box' into 'dev': "), "{said}");
    assert!(said.ends_with(&scene.test.expand(left)), "{said}");
    assert_eq!(output.status.code(), Some(1));
    scene.nothing_is_left();
    assert!(!scene.test.app().join("mine").exists());
}

#[test]
fn a_symlink_that_was_changed_since_is_not_put_back() {
    let scene = Scene::new(Target::Here);
    fs::remove_file(scene.path.join("b")).unwrap();
    std::os::unix::fs::symlink("a", scene.path.join("b")).unwrap();
    scene.test.git_in(&scene.path, &["commit", "--quiet", "--all", "-m", "a link"]);
    let left = "; in '$APP' these could not be put back: 'b'\n\
                hint: git -C $APP status\n";
    is_taken_back(&scene, "ln -sfn dir b", left);
    assert_eq!(fs::read_link(scene.test.app().join("b")).unwrap().to_str(), Some("dir"));
}

#[test]
fn nothing_is_put_back_through_a_symlink() {
    let scene = Scene::new(Target::Here);
    scene.test.commit(&scene.path, "dir/c", "changed\n");
    is_taken_back(&scene, "mv dir ../away && ln -s ../away dir", "hook\n");
    let away = scene.test.home.join("away");
    assert_eq!(fs::read_to_string(away.join("c")).unwrap(), "changed\n");
    assert_eq!(fs::read_link(scene.test.app().join("dir")).unwrap().to_str(), Some("../away"));
}

#[test]
fn the_folder_of_a_submodule_goes_again_unless_something_was_put_there() {
    let named = "; in '$APP' these could not be put back: 'sub'\nhint: git -C $APP status\n";
    for (what, left, inside) in
        [("true", "hook\n", &[][..]), ("echo mine >sub/notes", named, &["notes"])]
    {
        let scene = Scene::new(Target::Here);
        submodule(&scene.test, &scene.path);
        is_taken_back(&scene, what, left);
        let sub = scene.test.app().join("sub");
        assert_eq!(
            (sub.exists(), names_in(&sub)),
            (!inside.is_empty(), inside.iter().map(ToString::to_string).collect())
        );
        assert!(!scene.test.app().join(".gitmodules").exists());
    }
}

#[test]
fn an_empty_folder_that_the_user_made_in_the_place_of_a_new_file_stays() {
    let scene = Scene::new(Target::Here);
    is_taken_back(&scene, "rm 'mine too' && mkdir 'mine too'", "hook\n");
    assert!(scene.test.app().join("mine too").is_dir());
    scene.is_clean();
}

#[test]
fn a_file_that_the_user_has_put_back_already_is_not_named() {
    let scene = Scene::new(Target::Here);
    scene.test.commit(&scene.path, "a", "changed\n");
    is_taken_back(&scene, "echo a >a", "hook\n");
    assert_eq!(fs::read_to_string(scene.test.app().join("a")).unwrap(), "a\n");
    scene.is_clean();
}

/// Such a file is none that the landing writes, whatever it holds.
#[test]
fn an_edit_of_a_file_that_is_staged_as_the_branch_has_it_stays() {
    let scene = Scene::new(Target::Here);
    let a = scene.test.app().join("a");
    scene.test.commit(&scene.path, "a", "changed\n");
    write(&a, "changed\n");
    scene.test.git(&["add", "a"]);
    write(&a, "chan");
    is_taken_back(&scene, "true", "hook\n");
    assert_eq!(fs::read_to_string(&a).unwrap(), "chan");
    assert_eq!(scene.test.git(&["status", "--porcelain"]), "MM a");
    assert_eq!(scene.test.git(&["show", ":a"]), "changed");
}

/// Nothing else can replace or remove a file that something is mounted on.
fn mount_on(file: &str) -> String {
    format!("mount --bind \"$HOME/app/{file}\" \"$HOME/app/{file}\"")
}

#[track_caller]
fn unmount(scene: &Scene, file: &str) {
    let mut command = scene.test.command("umount", &scene.test.app());
    assert!(command.arg(file).status().unwrap().success());
}

#[test]
fn a_file_that_cannot_be_removed_is_put_back_by_a_later_command() {
    alone(|| {
        let scene = Scene::new(Target::Here);
        scene.test.commit(&scene.path, "a", "changed\n");
        before_it_moves(&scene, &format!("{}; exit 1", mount_on("a")));
        let before = scene.commit("dev");
        let text = "error: cannot remove '$APP/a': device or resource busy\n";
        scene.test.run(&["merge", "box"]).stderr(text).code(1);
        assert_eq!(fs::read_to_string(scene.test.app().join("a")).unwrap(), "changed\n");
        unmount(&scene, "a");
        let undid = "undid an interrupted merge into 'dev' in '$APP'\n";
        assert_eq!(next(&scene), scene.test.expand(undid));
        assert_eq!(fs::read_to_string(scene.test.app().join("a")).unwrap(), "a\n");
        assert_eq!(scene.commit("dev"), before);
        scene.is_clean();
        scene.nothing_is_left();
        assert!(scene.path.join("mine").exists());
    });
}

#[test]
fn an_index_that_cannot_be_replaced_is_completed_by_a_later_command() {
    alone(|| {
        let scene = Scene::new(Target::Here);
        before_it_moves(&scene, &mount_on(".git/index"));
        let text = "error: cannot write '$APP/.git/index': device or resource busy\n";
        scene.test.run(&["merge", "box"]).stderr(text).code(1);
        assert_eq!(scene.commit("dev"), scene.commit("box"));
        assert!(scene.path.join("mine").exists());
        unmount(&scene, ".git/index");
        let completed = "completed an interrupted merge into 'dev' in '$APP'\n";
        assert_eq!(next(&scene), scene.test.expand(completed));
        scene.is_clean();
        scene.nothing_is_left();
    });
}

#[test]
fn a_branch_that_the_user_leaves_and_that_does_not_move_is_not_merged() {
    let scene = Scene::new(Target::Here);
    let old = scene.commit("dev");
    let git = scene.test.fake_git(
        "case \" $* \" in *' update-ref -m '*' refs/heads/dev '*)\n\
         echo 'ref: refs/heads/main' >\"$HOME/app/.git/HEAD\"; exit 1 ;; esac\n\
         exec \"$GIT\" \"$@\"",
    );
    let run = scene.test.program(&scene.test.app(), &["merge", "box", "--keep"]);
    run.env("PATH", git).stderr(MOVED).code(1);
    assert_eq!(scene.commit("dev"), old);
    assert!(scene.path.join("mine").exists());
    assert!(!scene.test.app().join("mine").exists());
    scene.is_clean();
    scene.nothing_is_left();
}
