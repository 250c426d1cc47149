//! `git sandbox rm --delete-branch`: a branch goes only where nothing is lost by it.

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::write;
use crate::fixture::repository::{Format, repository};
use crate::fixture::state::{kept, state};
use crate::fixture::trash::{REMOVED, trashed};
use crate::fixture::work::commit;

const STAYS: &str = "\
warning: branch 'box' stays: it has commits that are on neither its base nor its upstream
";

fn branch(test: &Test) -> Option<String> {
    let words = ["rev-parse", "--verify", "--quiet", "refs/heads/box"];
    let output = test.command("git", &test.app()).args(words).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

#[test]
fn a_branch_that_is_in_its_base_is_deleted_and_comes_back() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "a", "mine\n");
    test.git(&["config", "branch.box.description", "mine"]);
    test.git(&["merge", "--quiet", "box"]);
    let (before, tip) = (state(&test, &path), branch(&test));
    test.run(&["rm", "--delete-branch", "box"])
        .stderr(&format!("{REMOVED}deleted branch 'box'\n"))
        .ok();
    assert!(!path.exists());
    assert_eq!(branch(&test), None);
    test.run(&["restore", "box"])
        .stdout("$ROOT/box\n")
        .stderr("restored 'box'\nre-created branch 'box'\n")
        .ok();
    assert_eq!(branch(&test), tip);
    same(&state(&test, &path), &before);
    assert_eq!(test.git(&["config", "branch.box.description"]), "mine");
    assert_eq!(kept(&test), "");
}

#[test]
fn a_branch_with_commits_of_its_own_stays() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "a", "mine\n");
    let tip = branch(&test);
    test.run(&["rm", "--delete-branch", "box"]).stderr(&format!("{REMOVED}{STAYS}")).code(1);
    assert!(!path.exists());
    assert_eq!(trashed(&test).len(), 1);
    assert_eq!(branch(&test), tip);
}

#[test]
fn a_branch_without_base_and_upstream_stays() {
    let test = repository(Format::Files).unwrap();
    test.git(&["branch", "box"]);
    let path = test.new_sandbox(&["box"]);
    let stays = "warning: branch 'box' stays: neither a base nor an upstream of it is known\n";
    test.run(&["rm", "--delete-branch", "--dry-run", "box"])
        .stderr(&format!("would remove 'box' (nothing to lose)\n{stays}"))
        .code(1);
    assert!(path.exists());
    test.run(&["rm", "--delete-branch", "box"]).stderr(&format!("{REMOVED}{stays}")).code(1);
    assert!(!path.exists());
    assert_eq!(branch(&test), Some(test.git(&["rev-parse", "main"])));
}

#[test]
fn a_branch_that_is_on_its_upstream_is_deleted() {
    let test = repository(Format::Files).unwrap();
    test.git_in(&test.home, &["init", "--quiet", "--bare", "origin.git"]);
    let url = test.home.join("origin.git").display().to_string();
    test.git(&["remote", "add", "origin", &url]);
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "a", "mine\n");
    test.git_in(&path, &["push", "--quiet", "--set-upstream", "origin", "box"]);
    let tip = branch(&test);
    test.run(&["rm", "--delete-branch", "box"])
        .stderr(&format!("{REMOVED}deleted branch 'box'\n"))
        .ok();
    assert_eq!(branch(&test), None);
    assert_eq!(Some(test.git(&["rev-parse", "refs/remotes/origin/box"])), tip);
}

#[test]
fn the_branch_of_a_refused_sandbox_stays() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("new"), "mine\n");
    let tip = branch(&test);
    test.run(&["rm", "--delete-branch", "box"])
        .stderr(
            "error: cannot remove 'box': worktree has 1 uncommitted change\n\
             hint: to move it to the trash as it is: git sandbox rm --force box\n",
        )
        .code(1);
    assert!(path.join("new").exists());
    assert_eq!(branch(&test), tip);
}

#[test]
fn a_branch_that_a_rebase_holds_stays() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "a", "mine\n");
    let tip = branch(&test);
    let mut git = test.command("git", &path);
    git.env("GIT_SEQUENCE_EDITOR", "sed -i 1ibreak").args(["rebase", "-i", "main"]);
    assert!(git.output().unwrap().status.success());
    let output = test.run(&["rm", "--force", "--delete-branch", "--json", "box"]).output();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(branch(&test), tip);
    assert!(!path.exists());
    assert_eq!(answer[0]["action"], "trashed", "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_branch_that_another_worktree_has_too_stays() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let twin = test.home.join("twin").display().to_string();
    test.git(&["worktree", "add", "--quiet", "--force", &twin, "box"]);
    let tip = branch(&test);
    let output = test.run(&["rm", "--delete-branch", &path.display().to_string()]).output();
    assert_eq!(branch(&test), tip, "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(test.git_in(test.home.join("twin").as_path(), &["status", "--porcelain"]), "");
}

#[test]
fn a_detached_one_has_no_branch_to_delete() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["checkout", "--quiet", "--detach"]);
    let tip = branch(&test);
    test.run(&["rm", "--delete-branch", "box"]).stderr(REMOVED).ok();
    assert_eq!(branch(&test), tip);
}

#[test]
fn a_branch_that_moves_meanwhile_stays() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "a", "mine\n");
    test.git(&["merge", "--quiet", "box"]);
    let more = test.git(&["commit-tree", "-p", "box", "-m", "more", "box^{tree}"]);
    let git = test.fake_git(&format!(
        "case \"$*\" in *'update-ref -d refs/heads/box'*) \
         \"$GIT\" --git-dir=\"$HOME/app/.git\" update-ref refs/heads/box {more} ;; esac\n\
         exec \"$GIT\" \"$@\""
    ));
    let run = test.program(&test.app(), &["rm", "--delete-branch", "box"]).env("PATH", git);
    let output = run.output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("cannot delete the branch: "), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(branch(&test), Some(more));
}

#[test]
fn a_branch_that_is_its_own_base_stays() {
    let test = repository(Format::Files).unwrap();
    test.git(&["branch", "dev"]);
    let path = test.new_sandbox(&["box", "--from", "dev"]);
    let tip = test.commit(&path, "a", "mine\n");
    test.git_in(&path, &["branch", "--quiet", "-M", "dev"]);
    let stays = "warning: branch 'dev' stays: neither a base nor an upstream of it is known\n";
    test.run(&["rm", "--delete-branch", "box"]).stderr(&format!("{REMOVED}{stays}")).code(1);
    assert!(!path.exists());
    assert_eq!(test.git(&["rev-parse", "dev"]), tip);
}
