//! Git inside the walls: everything that people and agents do works, without a word of complaint.

use crate::fixture::cell::Cell;
use crate::fixture::lab::Lab;
use crate::fixture::repository::{Format, repository};

/// Ordinary operations, each on a line of its own, in an order in which each has something to do.
const OPERATIONS: &str = "\
git status
echo two >>file; git add file
git commit -q -m two
git commit -q --amend -m 'two again'
git branch side
git switch -q side
echo side >side; git add side; git commit -q -m side
git switch -q box
echo three >three; git add three; git commit -q -m three
git merge -q --no-edit side
git tag v1
git tag -a -m annotated v2
git log --oneline --all --graph
git show --stat
git diff HEAD~1
git blame file
git shortlog HEAD
git describe --tags
echo stashed >>file; git stash -q
git stash pop -q
git restore file
git reset -q --hard HEAD
git revert --no-edit HEAD -m 1
git cherry-pick side~0 -X theirs --allow-empty --keep-redundant-commits
git rebase -q HEAD~1
git -c sequence.editor=true rebase -q -i HEAD~1
git bisect start HEAD HEAD~2; git bisect run true; git bisect reset
git mv three four; git commit -q -m moved
git rm -q four; git commit -q -m removed
touch untracked; git clean -q -f
git notes add -m note
git update-ref refs/worktree/private HEAD
git config user.nickname agent
git branch --set-upstream-to=main
git branch -D side
git format-patch -q -1 --stdout HEAD >patch; git reset -q --hard HEAD~1; git am -q patch; rm patch
git diff HEAD~1 >patch; git reset -q --hard HEAD~1; git apply patch; rm patch; git reset -q --hard
git archive HEAD >/dev/null
git submodule status
git sparse-checkout set --no-cone '/*'
git sparse-checkout disable
git worktree list
git reflog
git pack-refs --all
git repack -a -d -q
git gc -q --prune=now
git fsck --no-progress
git rev-parse --verify -q main
git config rerere.enabled true; git rerere
git clone -q . /tmp/clone
git for-each-ref
git sandbox list
git sandbox show
git sandbox path
git sandbox diff --stat
";

#[test]
fn every_ordinary_operation_works() {
    let Some(cell) = Cell::new() else { return };
    assert!(OPERATIONS.lines().count() >= 40);
    let script = "while IFS= read -r line; do (eval \"$line\") >/tmp/out 2>/tmp/err; code=$?\n\
        [ $code = 0 ] || { echo \"$code: $line\"; cat /tmp/out /tmp/err; }\n\
        ! grep -E '^(error|warning|fatal):' /tmp/err || echo \"noise: $line\"; done";
    let script = format!("{script} <<'END'\n{OPERATIONS}END\n");
    let head = || cell.git(&cell.lab.app(), &["rev-parse", "main", "victim"]);
    let before = head();
    let output = cell.confined(&[], &script);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{output:?}");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(head(), before);
    cell.git(&cell.lab.app(), &["fsck", "--no-progress"]);
}

#[test]
fn hooks_of_the_repository_run_inside() {
    let Some(cell) = Cell::new() else { return };
    let hook = "#!/bin/sh\ntest -n \"$GIT_SANDBOX_CONFINED\" && echo ran >hooked\n";
    for place in [cell.lab.app().join(".git/hooks"), cell.entry().join("confined/hooks")] {
        if place.is_dir() {
            crate::fixture::files::write(&place.join("pre-commit"), hook);
            cell.give(&place);
        }
    }
    let output = cell.confined(&[], "git commit -q --allow-empty -m x && cat hooked");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ran\n", "{output:?}");
}

#[test]
fn commands_of_ours_that_change_something_are_refused_inside() {
    let Some(cell) = Cell::new() else { return };
    for command in [
        "new x",
        "rm other",
        "reap",
        "restore gone",
        "merge box",
        "stop box",
        "run box true",
        "doctor --fix",
        "setup",
        "rename box x",
    ] {
        let output = cell.confined(&[], &format!("exec git sandbox {command}"));
        let word = command.split(' ').next().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let (_, said) = stderr.split_once('\n').unwrap();
        assert_eq!(
            said,
            format!("error: cannot use 'git sandbox {word}' here: this command is confined\n")
        );
        assert_eq!(output.status.code(), Some(1));
    }
}

/// A command in a repository of another format commits, stages and rebases, and is taken over.
#[track_caller]
fn format_is_taken_over(format: Format) {
    let Some(cell) = Cell::of(|| repository(format).map(Lab::of)) else { return };
    let (app, folder) = (cell.lab.app(), cell.lab.at("box"));
    for level in ["--confine=full", "--confine=landlock"] {
        let before = cell.git(&app, &["rev-parse", "box"]);
        let script = "set -e; echo x >>new; git add new; git commit -q -m inside; git switch -q -c side$$; \
            git commit -q --allow-empty -m side; git switch -q box; git rebase -q main; echo y >>a; git add a; \
            git gc -q; git fsck --no-progress --no-dangling; git rev-parse HEAD";
        let output = cell.confined(&[level], script);
        assert_eq!(output.status.code(), Some(0), "{format:?} {level}: {output:?}");
        let tip = cell.git(&app, &["rev-parse", "box"]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), tip, "{format:?} {level}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let took = format!("took 1 commit into branch 'box' ({}..{})\n", &before[..7], &tip[..7]);
        assert!(said.contains(&took), "{format:?} {level}: {said}");
        assert_eq!(
            cell.git(&app, &["log", "-1", "--format=%P %s", "box"]),
            format!("{} inside\n", before.trim_end())
        );
        assert_eq!(cell.git(&folder, &["status", "--short"]), "M  a\n");
        cell.git(&folder, &["commit", "--quiet", "-m", "outside"]);
        assert_eq!(cell.git(&app, &["fsck", "--strict", "--no-dangling", "--no-progress"]), "");
        let branches = cell.git(&app, &["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        assert_eq!(branches, "box\ngone\nmain\nother\nvictim\n");
    }
}

#[test]
fn commits_are_taken_into_a_repository_with_reftable() {
    format_is_taken_over(Format::Reftable);
}

#[test]
fn commits_are_taken_into_a_repository_with_sha256() {
    format_is_taken_over(Format::Sha256);
}
