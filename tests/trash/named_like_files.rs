//! Private refs that are called like files of git's or of ours: what only they name is kept.

use crate::fixture::reap::reap;
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::collect_garbage;
use crate::fixture::trash::trashed;

const NAMES: [&str; 10] = [
    "commondir",
    "confined/mine",
    "gitdir",
    "index",
    "indexed/mine",
    "locked",
    "modules/mine",
    "reftable/mine",
    "sandbox.json",
    "sharedindex.1",
];

/// Removes a sandbox with a commit for each of these names, puts it away if told to, and brings it back.
#[track_caller]
fn comes_back(format: Format, is_put_away: bool) {
    let Some(test) = repository(format) else { return };
    let path = test.new_sandbox(&["box"]);
    let refs = NAMES.map(|name| {
        let lead = if name.contains('/') { "refs/bisect" } else { "refs/worktree" };
        let message = ["commit-tree", "-p", "HEAD", "-m", name, "HEAD^{tree}"];
        let commit = test.git_in(&path, &message);
        let name = format!("{lead}/{name}");
        test.git_in(&path, &["update-ref", &name, &commit]);
        (name, commit)
    });
    succeeds(test.run(&["rm", "--force", "box"]));
    collect_garbage(&test);
    if is_put_away {
        succeeds(reap(&test, 15, &[]));
        assert!(trashed(&test).is_empty());
        collect_garbage(&test);
    }
    succeeds(test.run(&["restore", "box"]));
    for (name, commit) in refs {
        assert_eq!(test.git_in(&path, &["rev-parse", &name]), commit, "{format:?}");
        assert_eq!(test.git(&["cat-file", "-t", &commit]), "commit", "{format:?} {name}");
    }
}

#[test]
fn what_a_private_ref_names_is_kept_whatever_it_is_called() {
    for format in [Format::Files, Format::Reftable] {
        comes_back(format, false);
    }
}

#[test]
fn what_a_private_ref_names_comes_back_from_the_vault_whatever_it_is_called() {
    for format in [Format::Files, Format::Reftable] {
        comes_back(format, true);
    }
}
