//! For every kind of work: what `rm` says to it, and that `rm --force`, every garbage collection
//! and `restore` give back exactly what was there, and leave the main checkout alone.

use std::collections::BTreeSet;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::repository::{Format, make_relative, repository};
use crate::fixture::state::{collect_garbage, kept, main_checkout, reflog, state};
use crate::fixture::trash::trashed;
use crate::fixture::work::Kind;
use crate::fixture::work::files::FILES;
use crate::fixture::work::history::HISTORY;

/// One test for each kind and format.
macro_rules! kinds {
    ($($format:ident $variant:ident: $($kind:ident)*;)*) => {$(
        mod $format {
            $(
                #[test]
                fn $kind() {
                    super::check(super::Format::$variant, stringify!($kind));
                }
            )*

            pub const TESTED: &[&str] = &[$(stringify!($kind)),*];
        }
    )*};
}

kinds! {
    files Files:
        nothing staged unstaged staged_then_overwritten untracked ignored executable_bit symlinks
        empty_folders intent_to_add assume_unchanged skip_worktree deleted renamed merge
        merge_of_a_url cherry_pick cherry_pick_of_a_deleted_branch revert rebase rebase_with_autostash am bisect
        detached only_in_the_reflog private_refs private_tag private_tag_of_head private_blob fetched sparse nested
        nested_in_ignored
        nested_with_nothing_of_its_own nested_hidden_edit nested_only_in_the_reflog nested_unreachable
        nested_corrupt bare_in_ignored submodule_commit
        submodule_dirty submodule_stash unborn unborn_after_a_commit stash split_index untracked_not_shown
        submodule_not_shown odd_names;
    reftable Reftable:
        nothing staged_then_overwritten untracked ignored assume_unchanged merge merge_of_a_url
        cherry_pick revert rebase rebase_with_autostash am bisect detached only_in_the_reflog
        private_refs private_tag nested_in_ignored submodule_commit unborn unborn_after_a_commit stash;
    sha256 Sha256:
        nothing staged_then_overwritten untracked ignored assume_unchanged merge merge_of_a_url
        cherry_pick revert rebase rebase_with_autostash am bisect detached only_in_the_reflog
        private_refs private_tag nested_in_ignored unborn unborn_after_a_commit stash;
    relative Relative:
        nothing staged_then_overwritten untracked ignored merge rebase bisect detached
        only_in_the_reflog private_refs nested_in_ignored submodule_commit submodule_dirty unborn;
}

#[test]
fn every_kind_is_tested() {
    let names: BTreeSet<_> = FILES.iter().chain(HISTORY).map(|kind| kind.name).collect();
    assert_eq!(files::TESTED.iter().copied().collect::<BTreeSet<_>>(), names);
    for tested in [reftable::TESTED, sha256::TESTED, relative::TESTED] {
        assert!(tested.iter().all(|name| names.contains(name)));
    }
}

fn check(format: Format, name: &str) {
    let kind = FILES.iter().chain(HISTORY).find(|kind| kind.name == name).unwrap();
    let Some(test) = repository(format) else { return };
    let path = test.new_sandbox(&["box", "The", "task"]);
    if format == Format::Relative {
        make_relative(&test, &path);
    }
    (kind.make)(&test, &path);
    let before = state(&test, &path);
    let main = main_checkout(&test);
    let commits = reflog(&test, &path);
    let intact = |test: &Test| {
        same(&state(test, &path), &before);
        // What nothing else protects stays kept: what a private ref, an operation in progress or an
        // expired reflog names.
        let ours = |line: &&str| !line.contains("refs/sandbox/kept/");
        let now = main_checkout(test);
        same(&now.lines().filter(ours).collect::<Vec<_>>().join("\n"), &main);
        assert!(trashed(test).is_empty());
        for commit in &commits {
            test.git(&["cat-file", "-e", commit]);
        }
    };

    if kind.reasons.is_empty() {
        test.run(&["rm", "box"]).stderr(&removed(kind)).ok();
        is_in_the_trash(&test);
        test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    } else {
        test.run(&["rm", "box"]).stderr(&refused(kind)).code(1);
    }
    intact(&test);

    test.run(&["rm", "--force", "box"]).stderr(&removed(kind)).ok();
    is_in_the_trash(&test);
    collect_garbage(&test);
    test.run(&["restore", "box"]).stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
    intact(&test);
    test.git(&["fsck", "--no-progress", "--connectivity-only"]);
    assert_eq!(test.json(&["show", "box", "--json"])["task"], "The task");
    test.git(&["gc", "--prune=now", "--quiet"]);
    (kind.goes_on)(&test, &path);
}

fn refused(kind: &Kind) -> String {
    let counted = |reason: &str| reason.contains("uncommitted") || reason.contains("hidden");
    let reasons = kind.reasons.iter().map(|reason| match counted(reason) {
        true => format!("worktree has {reason}"),
        false => (*reason).to_owned(),
    });
    format!(
        "error: cannot remove 'box': {}\n\
         hint: to move it to the trash as it is: git sandbox rm --force box\n",
        reasons.collect::<Vec<_>>().join("; ")
    )
}

fn removed(kind: &Kind) -> String {
    let held = match kind.reasons {
        [] => "nothing to lose".to_owned(),
        reasons => reasons.join(", "),
    };
    let mut text = format!("removed 'box' ({held}); undo with: git sandbox restore box-ID\n");
    let commits = match kind.only_here {
        1 => "1 commit".to_owned(),
        count => format!("{count} commits"),
    };
    if kind.only_here > 0 {
        text += "kept ";
        text += &commits;
        text += " only here in refs/sandbox/kept/box-ID\n";
    }
    text
}

#[track_caller]
fn is_in_the_trash(test: &Test) {
    assert!(!test.at("box").exists());
    assert_eq!(trashed(test).len(), 1);
    assert!(trashed(test)[0].join("tree/.git").is_file());
    assert!(kept(test).starts_with("refs/sandbox/kept/box-"), "{}", kept(test));
    assert!(!test.git(&["worktree", "list", "--porcelain"]).contains(".trash"));
    test.git(&["rev-parse", "--verify", "--quiet", "refs/heads/box"]);
    test.run(&["list"]).stderr("no sandboxes; 'git sandbox new <name>' makes one\n").ok();
}
