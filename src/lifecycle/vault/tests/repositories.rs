//! Repositories of every kind, and settings that hide an edit from git.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::{ID, World, git, run, write};
use crate::lifecycle::vault::Unpacked;

/// Edits a file without git seeing it: equal size, its time set back.
fn edit_unseen(path: &Path, bytes: &str) {
    let meta = path.metadata().unwrap();
    assert_eq!(meta.len(), bytes.len() as u64);
    write(path, bytes);
    File::open(path).unwrap().set_modified(meta.modified().unwrap()).unwrap();
}

#[test]
fn edits_that_settings_hide_from_git_come_back() {
    for setting in ["core.ignoreStat=true", "core.trustctime=false", "core.checkStat=minimal"] {
        let world = World::new();
        let tree = world.tree();
        let (key, value) = setting.split_once('=').unwrap();
        git(&world.app(), &["config", key, value]);
        git(&tree, &["checkout-index", "-f", "-a"]);
        git(&tree, &["update-index", "--really-refresh"]);
        git(&tree, &["update-index", "--assume-unchanged", "readme"]);
        edit_unseen(&tree.join("readme"), "HELLO\n");
        assert_eq!(git(&tree, &["status", "--porcelain"]), "", "{setting}");
        world.round_trip();
        assert_eq!(world.stored(), ["tree/readme"], "{setting}");
        assert_eq!(fs::read_to_string(tree.join("readme")).unwrap(), "HELLO\n");
    }
}

#[test]
fn bytes_that_git_converts_are_stored_as_they_are() {
    let world = World::with(&[], |app| {
        write(
            &app.join(".gitattributes"),
            "*.id ident\n*.lower filter=lower\n*.crlf text eol=crlf\n",
        );
        write(&app.join("a.id"), "$Id$\n");
        write(&app.join("a.lower"), "text\n");
        write(&app.join("a.crlf"), "one\ntwo\n");
        git(app, &["config", "filter.lower.clean", "tr A-Z a-z"]);
        git(app, &["config", "filter.lower.smudge", "tr a-z A-Z"]);
    });
    let tree = world.tree();
    assert_eq!(fs::read_to_string(tree.join("a.lower")).unwrap(), "TEXT\n");
    assert_eq!(fs::read_to_string(tree.join("a.crlf")).unwrap(), "one\r\ntwo\r\n");
    // None of these is an edit to git.
    world.write("a.lower", "TeXt\n");
    world.write("a.crlf", "one\ntwo\n");
    world.write("a.id", "$Id: by hand $\n");
    git(&tree, &["update-index", "-q", "--refresh"]);
    assert_eq!(git(&tree, &["diff-files", "-p", "--ignore-submodules"]), "");
    world.round_trip();
    assert_eq!(world.stored(), ["tree/a.id", "tree/a.lower"]);
    for (path, bytes) in [("a.lower", "TeXt\n"), ("a.id", "$Id: by hand $\n")] {
        assert_eq!(fs::read_to_string(tree.join(path)).unwrap(), bytes);
    }
}

#[test]
fn a_sha256_repository_and_a_sha1_one_share_a_vault() {
    let one = World::with(&["--object-format=sha256"], |app| {
        write(&app.join("large"), vec![7; 3_000_000]);
    });
    one.write("readme", "edited");
    one.round_trip();
    assert_eq!(one.stored(), ["tree/readme"]);
    let header = one.vault().items().unwrap().remove(0).header.unwrap();
    assert_eq!(header.bases[0].len(), 64);
    // The other repository's item goes into the vault of the first one's root.
    let other = World::new();
    let (tree, private, repository) = (other.tree(), other.private(), other.git());
    let before = other.snapshot();
    let commit = git(&other.app(), &["rev-parse", "HEAD"]);
    let journal = serde_json::json!({});
    let item = crate::lifecycle::vault::item::Item {
        id: "other",
        tree: Some(&tree),
        private: Some(&private),
        ignored: None,
        precious: &|_| false,
        base: Some(crate::lifecycle::vault::item::Base { git: &repository, commit: &commit }),
        journal: &journal,
    };
    match one.vault().put_away(&item, &mut |_| {}).unwrap() {
        crate::lifecycle::vault::Outcome::Done(away) => {
            drop(away.discard(&mut || Ok(true), &mut || Ok(())).unwrap());
        }
        crate::lifecycle::vault::Outcome::Stays(obstacle) => panic!("{obstacle}"),
    }
    assert!(!tree.exists());
    one.vault().unpack("other", Some(&repository), Some(&tree), Some(&private)).unwrap();
    super::assert_same(&other.snapshot(), &before);
    assert_eq!(one.vault().items().unwrap().len(), 2);
}

#[test]
fn a_reftable_repository_comes_back() {
    let probe = tempfile::tempdir().unwrap();
    if !run(probe.path(), &["init", "-q", "--ref-format=reftable", "x"]).status.success() {
        super::obstacles::skipped("this git has no reftable");
        return;
    }
    let world = World::with(&["--ref-format=reftable"], |_| {});
    world.write("readme", "edited");
    world.round_trip();
    assert_eq!(git(&world.tree(), &["diff", "--name-only"]), "readme");
}

#[test]
fn an_index_with_an_operation_in_progress_comes_back() {
    let world = World::new();
    let tree = world.tree();
    git(&tree, &["checkout", "-q", "--detach"]);
    world.write("readme", "ours\n");
    git(&tree, &["commit", "-qam", "ours"]);
    git(&tree, &["checkout", "-q", "--detach", "main"]);
    world.write("readme", "theirs\n");
    git(&tree, &["commit", "-qam", "theirs"]);
    assert!(!run(&tree, &["merge", "HEAD@{2}"]).status.success());
    let status = git(&tree, &["status", "--porcelain=v2"]);
    assert!(status.contains("u UU"));
    world.round_trip();
    assert_eq!(git(&tree, &["status", "--porcelain=v2"]), status);
    assert!(world.private().join("MERGE_HEAD").exists());
}

#[test]
fn blobs_that_a_partial_clone_does_not_have_are_stored_and_nothing_is_fetched() {
    let world = World::new();
    let origin = world.home.join("origin");
    fs::rename(world.app(), &origin).unwrap();
    git(&origin, &["config", "uploadpack.allowFilter", "true"]);
    git(&origin, &["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let url = format!("file://{}", origin.display());
    git(&world.home, &["clone", "-q", "--filter=blob:none", "--no-checkout", &url, "app"]);
    // Only one file is fetched.
    let app = world.app();
    git(&app, &["cat-file", "-p", "HEAD:readme"]);
    let objects = || git(&app, &["count-objects", "-v"]);
    let missing = || {
        let words = ["rev-list", "--objects", "--all", "--missing=print"];
        git(&app, &words).lines().filter(|line| line.starts_with('?')).count()
    };
    assert_eq!(missing(), 3);
    fs::create_dir_all(world.private()).unwrap();
    let (before, packed) = (world.snapshot(), objects());
    world.away();
    assert_eq!((objects(), missing()), (packed.clone(), 3));
    assert_eq!(world.stored(), ["tree/.gitignore", "tree/src/deep/er/file", "tree/src/main.c"]);
    assert_eq!(world.back(), Unpacked::default());
    super::assert_same(&world.snapshot(), &before);
    assert_eq!((objects(), missing()), (packed, 3));
    // Bringing back fetches nothing either.
    world.away();
    let readme = git(&app, &["rev-parse", "HEAD:readme"]);
    for entry in fs::read_dir(app.join(".git/objects/pack")).unwrap() {
        let pack = entry.unwrap().path();
        let listed = run(&app, &["verify-pack", "-v", pack.to_str().unwrap()]).stdout;
        if String::from_utf8_lossy(&listed).contains(&readme) {
            for end in ["pack", "idx", "promisor", "rev"] {
                let _ = fs::remove_file(pack.with_extension(end));
            }
        }
    }
    assert_eq!(world.back().missing, [Path::new("tree/readme")]);
    assert_eq!(missing(), 4);
}

#[test]
fn what_the_repository_lost_is_stored() {
    let world = World::new();
    let blob = git(&world.app(), &["rev-parse", "HEAD:readme"]);
    let object = world.app().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    fs::remove_file(object).unwrap();
    world.round_trip();
    assert_eq!(world.stored(), ["tree/readme"]);
}

#[test]
fn a_replaced_blob_is_not_taken_for_the_commits_own() {
    let world = World::new();
    let app = world.app();
    write(&world.home.join("other"), "other\n");
    let other = git(&app, &["hash-object", "-w", world.home.join("other").to_str().unwrap()]);
    let blob = git(&app, &["rev-parse", "HEAD:readme"]);
    git(&app, &["replace", &blob, &other]);
    world.write("readme", "other\n");
    world.round_trip();
    assert_eq!(world.stored(), ["tree/readme"]);
    world.write("readme", "hello\n");
    world.round_trip();
}

#[test]
fn an_orphan_is_stored_whole() {
    let mut world = World::new();
    let before = super::snapshot(&world.tree());
    crate::sys::delete::tree(&world.app()).unwrap();
    git(&world.home, &["init", "-q", "app"]);
    git(&world.app(), &["commit", "-q", "--allow-empty", "-m", "another repository"]);
    world.has_base = false;
    world.away();
    assert_eq!(world.stored().len(), 4);
    let tree = world.tree();
    let done = world.vault().unpack(ID, None, Some(&tree), None).unwrap();
    assert_eq!(done, Unpacked::default());
    assert_eq!(super::snapshot(&tree), before);
}

#[test]
fn an_item_without_a_tree_comes_back() {
    let world = World::new();
    crate::sys::delete::tree(&world.tree()).unwrap();
    let before = world.snapshot();
    world.away();
    let (private, git) = (world.private(), world.git());
    world.vault().unpack(ID, Some(&git), None, Some(&private)).unwrap();
    super::assert_same(&world.snapshot(), &before);
}

#[test]
fn an_item_comes_back_after_every_reflog_expired_and_gc() {
    let world = World::new();
    let tree = world.tree();
    world.write("readme", "edited\n");
    git(&tree, &["add", "readme"]);
    world.write("readme", "edited twice\n");
    let staged = git(&tree, &["rev-parse", ":readme"]);
    // The kept ref is the caller's.
    git(&world.app(), &["update-ref", "refs/sandbox/kept/blob", &staged]);
    let status = git(&tree, &["status", "--porcelain=v2"]);
    let before = world.snapshot();
    world.away();
    git(&world.app(), &["reflog", "expire", "--expire=now", "--all"]);
    git(&world.app(), &["gc", "-q", "--prune=now"]);
    assert_eq!(world.back(), Unpacked::default());
    super::assert_same(&world.snapshot(), &before);
    assert_eq!(git(&tree, &["status", "--porcelain=v2"]), status);
    git(&tree, &["fsck", "--full", "--strict"]);
}

#[test]
fn paths_are_told_of_what_a_deleted_repository_had() {
    let world = World::new();
    world.write("src/own", "own");
    world.away();
    let tree = world.tree();
    let done = world.vault().unpack(ID, None, Some(&tree), None).unwrap();
    let lost = [".gitignore", "readme", "src/deep/er/file", "src/main.c"];
    assert_eq!(done.missing, lost.map(|path| Path::new("tree").join(path)).to_vec());
    assert_eq!(fs::read_to_string(tree.join("src/own")).unwrap(), "own");
    assert!(tree.join("src/deep/er").is_dir() && !tree.join("readme").exists());
    // The repository is found again: what is missing is added.
    assert_eq!(world.back().missing, Vec::<PathBuf>::new());
    assert_eq!(fs::read_to_string(tree.join("readme")).unwrap(), "hello\n");
}
