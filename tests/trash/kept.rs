//! What is kept for a removed sandbox, in repositories of every sort.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::{names_in, write};
use crate::fixture::reap::{nothing, reap};
use crate::fixture::repository::{Format, repository};
use crate::fixture::run::succeeds;
use crate::fixture::state::{collect_garbage, kept, private, state};
use crate::fixture::trash::{only_one, trashed};
use crate::fixture::work::{commit, submodule};

/// A staged file, a commit that only a reflog has, and an edit.
#[track_caller]
fn with_work(test: &Test) -> (PathBuf, String, String) {
    let path = test.new_sandbox(&["box"]);
    commit(test, &path, "a", "mine\n");
    let lost = test.git_in(&path, &["rev-parse", "HEAD"]);
    test.git_in(&path, &["reset", "--quiet", "--hard", "HEAD~"]);
    write(&path.join("staged"), "staged only here\n");
    test.git_in(&path, &["add", "staged"]);
    let blob = test.git_in(&path, &["rev-parse", ":staged"]);
    write(&path.join("staged"), "and edited\n");
    (path, lost, blob)
}

/// Everything that git lets be deleted is deleted.
#[track_caller]
fn cleaned(test: &Test) {
    test.git(&["reflog", "expire", "--expire=now", "--all"]);
    collect_garbage(test);
}

#[test]
fn a_mirror_keeps_its_objects_in_a_pack_and_publishes_none() {
    let settings: [&[&str]; 2] = [
        &["config", "remote.copy.mirror", "true"],
        &["config", "--add", "remote.copy.fetch", "+refs/*:refs/*"],
    ];
    for setting in settings {
        let test = repository(Format::Files).unwrap();
        let copy = test.home.join("copy.git").display().to_string();
        test.git(&["init", "--quiet", "--bare", &copy]);
        test.git(&["remote", "add", "copy", &copy]);
        test.git(&["config", "--unset-all", "remote.copy.fetch"]);
        test.git(setting);
        let (path, lost, blob) = with_work(&test);
        let before = state(&test, &path);
        succeeds(test.run(&["rm", "--force", "box"]));
        let published = test.git(&["rev-list", "--objects", "--all"]);
        assert!(!published.contains(&blob), "{setting:?}");
        // As `git fetch --prune` of a mirror does.
        test.git(&["update-ref", "-d", &kept(&test)]);
        cleaned(&test);
        for id in [&lost, &blob] {
            test.git(&["cat-file", "-e", id]);
        }
        succeeds(test.run(&["restore", "box"]));
        same(&state(&test, &path), &before);
    }
}

/// Of a pack that could not be made nothing would be left after the next fetch and gc.
#[test]
fn where_the_pack_of_a_mirror_cannot_be_made_nothing_is_removed() {
    for failing in ["pack-objects", "index-pack"] {
        let test = repository(Format::Files).unwrap();
        test.git(&["config", "remote.copy.url", "elsewhere"]);
        test.git(&["config", "remote.copy.mirror", "true"]);
        let (path, ..) = with_work(&test);
        let before = state(&test, &path);
        let fake = test.fake_git(&format!(
            "case \" $* \" in *' {failing} '*) cat >/dev/null; echo full >&2; exit 1;; esac; exec $GIT \"$@\""
        ));
        let run = test.program(&test.app(), &["rm", "--force", "box"]).env("PATH", &fake);
        let output = run.output();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("error: cannot keep what only it holds in a pack: "), "{said}");
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(trashed(&test).is_empty());
        same(&state(&test, &path), &before);
        // Once it can be made, the sandbox goes and comes back.
        succeeds(test.run(&["rm", "--force", "box"]));
        succeeds(test.run(&["restore", "box"]));
        same(&state(&test, &path), &before);
    }
}

#[test]
fn a_fetch_that_deletes_every_branch_of_a_mirror_takes_nothing() {
    for vault in [false, true] {
        let test = repository(Format::Files).unwrap();
        let copy = test.home.join("copy.git").display().to_string();
        test.git(&["clone", "--quiet", "--mirror", ".", &copy]);
        test.git(&["remote", "add", "--mirror=fetch", "copy", &copy]);
        test.git(&["gc", "--quiet"]);
        test.git(&["switch", "--quiet", "--detach"]);
        let (path, lost, blob) = with_work(&test);
        // What its branch alone has by now.
        commit(&test, &path, "b", "on its branch\n");
        test.git_in(&path, &["reflog", "expire", "--expire=now", "HEAD"]);
        test.new_sandbox(&["other"]);
        succeeds(test.run(&["rm", "--force", "other"]));
        let before = state(&test, &path);
        succeeds(test.run(&["rm", "--force", "box"]));
        test.git(&["fetch", "--quiet", "--prune", "copy"]);
        assert_eq!(test.branches(), ["main"]);
        cleaned(&test);
        if vault {
            succeeds(reap(&test, 0, &["--purge"]));
            test.git(&["fetch", "--quiet", "--prune", "copy"]);
            cleaned(&test);
        }
        // What one lets go of, another may need.
        succeeds(reap(&test, 0, &["--purge", "other"]));
        cleaned(&test);
        for id in [&lost, &blob] {
            test.git(&["cat-file", "-e", id]);
        }
        succeeds(test.run(&["restore", "box"]));
        same(&state(&test, &path), &before);
    }
}

/// The only pack of the repository, as it is kept or not.
fn pack_of(test: &Test) -> std::path::PathBuf {
    test.git(&["repack", "--quiet", "-a", "-d"]);
    let folder = test.app().join(".git/objects/pack");
    let is_pack = |name: &String| Path::new(name).extension().is_some_and(|end| end == "pack");
    let packs: Vec<_> = names_in(&folder).into_iter().filter(is_pack).collect();
    let [pack] = &packs[..] else { panic!("{packs:?}") };
    folder.join(pack)
}

#[test]
fn what_was_packed_before_survives_a_fetch_that_deletes_its_branch() {
    let test = repository(Format::Files).unwrap();
    let copy = test.home.join("copy.git").display().to_string();
    test.git(&["clone", "--quiet", "--mirror", ".", &copy]);
    test.git(&["remote", "add", "--mirror=fetch", "copy", &copy]);
    test.git(&["switch", "--quiet", "--detach"]);
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "b", "on its branch\n");
    let head = test.git_in(&path, &["rev-parse", "HEAD"]);
    let pack = pack_of(&test);
    succeeds(test.run(&["rm", "--force", "box"]));
    assert!(pack.with_extension("keep").exists());
    test.git(&["fetch", "--quiet", "--prune", "copy"]);
    assert_eq!(test.branches(), ["main"]);
    cleaned(&test);
    assert_eq!(test.git(&["cat-file", "-t", &head]), "commit");
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), head);
    assert_eq!(std::fs::read_to_string(path.join("b")).unwrap(), "on its branch\n");
}

#[test]
fn a_pack_that_somebody_else_keeps_is_kept_for_them_alone() {
    let test = repository(Format::Files).unwrap();
    test.git(&["config", "--add", "remote.copy.fetch", "+refs/*:refs/*"]);
    test.new_sandbox(&["box"]);
    let keep = pack_of(&test).with_extension("keep");
    for text in ["theirs\n", "git-sandbox: x\ntheirs\n", "theirs\ngit-sandbox: x\n"] {
        write(&keep, text);
        succeeds(test.run(&["rm", "--force", "box"]));
        assert_eq!(std::fs::read_to_string(&keep).unwrap(), text);
        succeeds(test.run(&["restore", "box"]));
        assert_eq!(std::fs::read_to_string(&keep).unwrap(), text);
    }
}

#[test]
fn a_pseudo_ref_keeps_what_it_names_whatever_that_is() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&test.home.join("blob"), "named by a pseudo ref\n");
    let blob = test.home.join("blob").display().to_string();
    let blob = test.git_in(&path, &["hash-object", "-w", &blob]);
    test.git_in(&path, &["update-ref", "MINE_HEAD", &blob]);
    succeeds(test.run(&["rm", "box"]));
    cleaned(&test);
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(test.git_in(&path, &["cat-file", "-p", "MINE_HEAD"]), "named by a pseudo ref");
}

#[test]
fn a_pack_that_was_kept_goes_with_its_sandbox() {
    let test = repository(Format::Files).unwrap();
    test.git(&["config", "remote.copy.mirror", "true"]);
    with_work(&test);
    succeeds(test.run(&["rm", "--force", "box"]));
    let keeps = || {
        let packs = names_in(&test.app().join(".git/objects/pack"));
        let is_keep = |name: &String| Path::new(name).extension().is_some_and(|end| end == "keep");
        packs.into_iter().filter(is_keep).count()
    };
    assert_eq!(keeps(), 1);
    succeeds(reap(&test, 0, &["--purge", "box"]));
    assert_eq!(keeps(), 0);
}

#[test]
fn the_reflog_of_a_deleted_branch_is_kept() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    // Of the branch alone: the sandbox's own reflog does not have it.
    let tree = test.git(&["rev-parse", "HEAD^{tree}"]);
    let lost = test.git(&["commit-tree", "-p", "HEAD", "-m", "lost", &tree]);
    let head = test.git(&["rev-parse", "HEAD"]);
    test.git_in(&path, &["checkout", "--quiet", "--detach"]);
    test.git(&["update-ref", "refs/heads/box", &lost]);
    test.git(&["update-ref", "refs/heads/box", &head]);
    test.git_in(&path, &["checkout", "--quiet", "box"]);
    succeeds(test.run(&["rm", "--delete-branch", "box"]));
    assert_eq!(test.branches(), ["main"]);
    cleaned(&test);
    test.git(&["cat-file", "-e", &lost]);
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(test.branches(), ["box", "main"]);
}

#[test]
fn gc_works_after_a_restore_of_an_index_whose_trees_were_nowhere_else() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("deep/er/file"), "staged\n");
    test.git_in(&path, &["add", "deep"]);
    // The index remembers the trees that it writes.
    test.git_in(&path, &["write-tree"]);
    let before = state(&test, &path);
    succeeds(test.run(&["rm", "--force", "box"]));
    cleaned(&test);
    succeeds(test.run(&["restore", "box"]));
    same(&state(&test, &path), &before);
    test.git(&["prune", "--expire=now"]);
    assert_eq!(test.git(&["fsck", "--no-progress", "--no-dangling"]), "");
}

#[test]
fn a_linked_worktree_of_a_submodule_holds_the_sandbox() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    submodule(&test, &path);
    let linked = test.home.join("linked");
    let place = linked.display().to_string();
    test.git_in(&path.join("sub"), &["worktree", "add", "--quiet", "-b", "side", &place]);
    let error = format!("error: cannot remove 'box': contains worktree '{place}'\n");
    for words in [&["rm", "box"][..], &["rm", "--force", "--force", "box"]] {
        test.run(words).stderr(&error).code(1);
    }
    assert!(path.join("file").exists());
    assert_eq!(test.git_in(&linked, &["status", "--porcelain"]), "");
    fs::remove_dir_all(&linked).unwrap();
    succeeds(test.run(&["rm", "--force", "box"]));
    assert!(!path.exists());
}

/// Removes a sandbox and puts it away.
#[track_caller]
fn put_away(test: &Test, fill: impl FnOnce(&Path)) {
    let path = test.new_sandbox(&["box"]);
    fill(&path);
    succeeds(test.run(&["rm", "--force", "box"]));
    succeeds(reap(test, 15, &[]));
    assert!(trashed(test).is_empty());
}

#[test]
fn the_vault_keeps_for_ever_unless_it_is_told_otherwise() {
    let test = repository(Format::Files).unwrap();
    put_away(&test, |path| write(&path.join("a"), "edited\n"));
    reap(&test, 10_000, &[]).stderr(&nothing(0)).ok();
    test.git(&["config", "sandbox.vaultExpiryDays", "100"]);
    reap(&test, 99, &[]).stderr(&nothing(0)).ok();
    let dry = String::from_utf8(reap(&test, 101, &["--dry-run"]).output().stdout).unwrap();
    assert!(dry.ends_with(": would purge: removed 101 days ago\n"), "{dry}");
    let said = String::from_utf8(reap(&test, 101, &[]).output().stdout).unwrap();
    assert!(said.ends_with(": purged: removed 101 days ago\n"), "{said}");
    test.run(&["restore"]).stderr("nothing to bring back\n").ok();
    test.git(&["config", "sandbox.vaultExpiryDays", "soon"]);
    let output = reap(&test, 101, &[]).output();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("sandbox.vaultExpiryDays"));
}

#[test]
fn what_a_moved_repository_put_away_comes_back_to_it() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("a"), "edited\n");
    succeeds(test.run(&["rm", "--force", "box"]));
    fs::rename(test.app(), test.home.join("moved")).unwrap();
    let moved = test.home.join("moved");
    let root = test.root().parent().unwrap().display().to_string();
    test.git_in(&moved, &["config", "sandbox.root", &root]);
    let late = test.run_in(&moved, &["reap"]).env("GIT_SANDBOX_NOW", "2026-03-01T12:00:00Z");
    succeeds(late);
    assert!(trashed(&test).is_empty());
    succeeds(test.run_in(&moved, &["restore", "box"]));
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "edited\n");
    assert_eq!(test.git_in(&path, &["symbolic-ref", "HEAD"]), "refs/heads/box");
}

#[test]
fn nothing_of_the_private_git_dir_that_cannot_be_read_is_taken_for_nothing() {
    for (folder, file) in [("logs/refs", None), ("refs/worktree", Some("mine"))] {
        let test = repository(Format::Files).unwrap();
        let path = test.new_sandbox(&["box"]);
        let folder = private(&test.app(), "box").join(folder);
        fs::create_dir_all(&folder).unwrap();
        let closed = file.map_or(folder.clone(), |name| folder.join(name));
        if file.is_some() {
            fs::write(&closed, test.git(&["rev-parse", "HEAD"]) + "\n").unwrap();
        }
        crate::fixture::files::chmod(&closed, 0);
        let run = crate::fixture::run::without_power(&test, &test.app(), &["rm", "--force", "box"]);
        let output = run.output();
        crate::fixture::files::chmod(&closed, 0o755);
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(path.join("file").exists());
        assert_eq!(trashed(&test), [""; 0].map(PathBuf::from));
        succeeds(test.run(&["rm", "box"]));
        assert!(only_one(&test).join("tree/file").exists());
    }
}

#[test]
fn the_timer_runs_the_quiet_daily_reap() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    let run = test.run_in(&test.home, &["reap", "--all", "--quiet"]);
    run.env("GIT_SANDBOX_NOW", "2027-03-01T12:00:00Z").ok();
    assert!(!path.exists());
    assert_eq!(trashed(&test).len(), 1);
    assert!(!test.run(&["reap", "--quiet"]).output().status.success());
}

/// A repository whose sandbox `box` was put away with work in it. Returns the state of the sandbox
/// before that, too.
fn stored() -> (Test, PathBuf, String) {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box", "The", "task"]);
    commit(&test, &path, "a", "committed\n");
    write(&path.join("mine"), "untracked\n");
    write(&path.join("staged"), "staged\n");
    test.git_in(&path, &["add", "staged"]);
    let before = state(&test, &path);
    succeeds(test.run(&["rm", "--force", "box"]));
    (test, path, before)
}

#[test]
fn a_repository_that_is_moved_finds_what_it_put_away_before() {
    for made_anew in [false, true] {
        let (test, path, before) = stored();
        succeeds(test.run(&["reap", "--purge"]));
        let moved = test.home.join("moved");
        fs::rename(test.app(), &moved).unwrap();
        if made_anew {
            test.init("app", &[]);
        }
        let listed = test.run_in(&moved, &["restore", "--names"]);
        listed.stdout("box\nbox-ID\n").ok();
        let run = test.run_in(&moved, &["restore", "box"]);
        run.stdout("$ROOT/box\n").stderr("restored 'box'\n").ok();
        same(&state(&test, &path), &before.replace("/app/.git/", "/moved/.git/"));
        test.run_in(&moved, &["restore"]).stderr("nothing to bring back\n").ok();
    }
}

#[test]
fn a_copy_of_a_repository_leaves_what_was_removed_to_the_original() {
    let (test, path, before) = stored();
    let copy = test.home.join("copy");
    let cp = std::process::Command::new("cp").arg("-a").arg(test.app()).arg(&copy).status();
    assert!(cp.unwrap().success());
    for _ in 0..2 {
        test.run_in(&copy, &["restore"]).stderr("nothing to bring back\n").ok();
        test.run_in(&copy, &["reap"]).stderr("nothing to clean up (0 sandboxes)\n").ok();
        // In the second round it is in the vault.
        succeeds(test.run(&["reap", "--purge"]));
    }
    succeeds(test.run(&["restore", "box"]));
    same(&state(&test, &path), &before);
}

/// A git that is killed once it has moved the ref leaves a journal that names the commit before.
#[test]
fn a_kept_ref_that_is_newer_than_its_journal_has_lost_nothing() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    write(&path.join("staged"), "staged\n");
    test.git_in(&path, &["add", "staged"]);
    let before = state(&test, &path);
    succeeds(test.run(&["rm", "--force", "box"]));
    let refs = test.git(&["for-each-ref", "--format=%(refname)", "refs/sandbox/kept"]);
    let name = refs.trim_end();
    let old = test.git(&["rev-parse", name]);
    let text = test.git(&["cat-file", "commit", &old]);
    let mut words = vec!["commit-tree", "-m", text.split_once("\n\n").unwrap().1];
    let parents = text.lines().filter_map(|line| line.strip_prefix("parent "));
    words.extend(parents.flat_map(|parent| ["-p", parent]));
    let tree = format!("{old}^{{tree}}");
    words.push(&tree);
    let new = test.git(&words);
    assert_ne!(new, old);
    test.git(&["update-ref", name, &new]);
    collect_garbage(&test);
    test.run(&["doctor"]).stdout("").stderr("all is well\n").ok();
    succeeds(test.run(&["restore", "box"]));
    same(&state(&test, &path), &before);
}

#[test]
fn commits_that_a_user_deleted_with_their_ref_are_told_of() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["checkout", "--quiet", "--detach"]);
    commit(&test, &path, "a", "only here\n");
    write(&path.join("mine"), "untracked\n");
    succeeds(test.run(&["rm", "--force", "box"]));
    test.git(&["update-ref", "-d", &kept(&test)]);
    cleaned(&test);
    let there = only_one(&test);
    let (at, id) = (there.display(), there.file_name().unwrap().to_string_lossy().into_owned());
    let told = format!(
        "error: sandbox 'box' is damaged: the repository lost its commits; its files are '{at}/tree'\n"
    );
    let output = test.run(&["restore", &id]).output();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with(&told), "{said}");
    let output = test.run(&["doctor"]).output();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!("{at}: the repository lost the commits that were kept for it\n")
    );
    assert_eq!(fs::read_to_string(there.join("tree/mine")).unwrap(), "untracked\n");
}

#[test]
fn what_only_the_log_of_a_private_ref_names_is_kept() {
    for format in [Format::Files, Format::Reftable] {
        let Some(test) = repository(format) else { continue };
        test.git(&["config", "core.logAllRefUpdates", "always"]);
        let path = test.new_sandbox(&["box"]);
        let make = |text: &str| {
            test.git_in(&path, &["commit-tree", "-p", "HEAD", "-m", text, "HEAD^{tree}"])
        };
        let commits = ["one", "two", "three"].map(make);
        for commit in &commits {
            test.git_in(&path, &["update-ref", "refs/worktree/mine", commit]);
        }
        test.run(&["rm", "box"]).output();
        collect_garbage(&test);
        for commit in &commits {
            assert_eq!(test.git(&["cat-file", "-t", commit]), "commit", "{format:?}");
        }
        succeeds(test.run(&["restore", "box"]));
        assert_eq!(test.git_in(&path, &["rev-parse", "refs/worktree/mine@{2}"]), commits[0]);
    }
}

/// A repository whose fetches can delete every ref, with a sandbox `box` and all of its objects in one
/// pack. Returns the pack, too.
fn fetched_over() -> (Test, PathBuf, PathBuf) {
    let test = repository(Format::Files).unwrap();
    test.git(&["config", "--add", "remote.copy.fetch", "+refs/*:refs/*"]);
    let path = test.new_sandbox(&["box"]);
    commit(&test, &path, "b", "on its branch\n");
    let pack = pack_of(&test);
    (test, path, pack)
}

/// `rm` with this PATH says so, and leaves everything as it was.
#[track_caller]
fn is_refused(test: &Test, path: &Path, git: &str, said: &str) {
    let before = state(test, path);
    let run = test.program(&test.app(), &["rm", "--force", "box"]);
    run.env("PATH", git).stderr(said).code(1);
    same(&state(test, path), &before);
    assert!(trashed(test).is_empty());
}

#[test]
fn a_pack_that_two_removed_sandboxes_need_is_kept_for_the_second_alone() {
    let (test, path, pack) = fetched_over();
    test.new_sandbox(&["other"]);
    let head = test.git_in(&path, &["rev-parse", "HEAD"]);
    succeeds(test.run(&["rm", "--force", "other"]));
    succeeds(test.run(&["rm", "--force", "box"]));
    succeeds(reap(&test, 0, &["--purge", "other"]));
    let keep = fs::read_to_string(pack.with_extension("keep")).unwrap();
    assert!(keep.starts_with("git-sandbox: box-") && keep.lines().count() == 1, "{keep}");
    // As a fetch does that finds no such branch on the other side.
    test.git(&["update-ref", "-d", "refs/heads/box"]);
    test.git(&["update-ref", "-d", &kept(&test)]);
    cleaned(&test);
    assert_eq!(test.git(&["cat-file", "-t", &head]), "commit");
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), head);
    assert_eq!(fs::read_to_string(path.join("b")).unwrap(), "on its branch\n");
}

#[test]
fn where_it_cannot_be_told_who_keeps_a_pack_nothing_is_removed() {
    let (test, path, pack) = fetched_over();
    let keep = pack.with_extension("keep");
    fs::create_dir(&keep).unwrap();
    let said = format!("error: cannot read '{}': it is not a plain file\n", keep.display());
    is_refused(&test, &path, &std::env::var("PATH").unwrap(), &said);
    assert_eq!(kept(&test), "");
    assert!(keep.is_dir());
    fs::remove_dir(&keep).unwrap();
    succeeds(test.run(&["rm", "--force", "box"]));
    assert!(!path.exists() && keep.is_file());
}

#[test]
fn where_a_pack_cannot_be_kept_nothing_is_removed() {
    let (test, path, pack) = fetched_over();
    let keep = pack.with_extension("keep");
    // In the way of the file that is written first.
    let block = pack.with_extension("keep.new");
    fs::create_dir(&block).unwrap();
    let said = format!("error: cannot write '{}': is a directory\n", keep.display());
    is_refused(&test, &path, &std::env::var("PATH").unwrap(), &said);
    assert_eq!(kept(&test), "");
    assert!(!keep.exists());
    fs::remove_dir(&block).unwrap();
    succeeds(test.run(&["rm", "--force", "box"]));
    assert!(!path.exists() && keep.is_file());
}

#[test]
fn where_a_mirror_cannot_pack_what_only_it_holds_nothing_is_removed() {
    // The one that writes the pack, or the one that reads the objects for it, after all of them.
    for fails in ["index-pack '*) cat >/dev/null", "pack-objects '*) \"$GIT\" \"$@\""] {
        let test = repository(Format::Files).unwrap();
        test.git(&["config", "remote.copy.mirror", "true"]);
        let (path, lost, blob) = with_work(&test);
        let git = test.fake_git(&format!(
            "case \" $* \" in *' {fails}; echo broken >&2; exit 128 ;; esac\n\
             exec \"$GIT\" \"$@\""
        ));
        let said = "error: cannot keep what only it holds in a pack: broken\n";
        is_refused(&test, &path, &git, said);
        succeeds(test.run(&["rm", "--force", "box"]));
        for name in kept(&test).lines() {
            test.git(&["update-ref", "-d", name]);
        }
        cleaned(&test);
        for id in [&lost, &blob] {
            test.git(&["cat-file", "-e", id]);
        }
    }
}

/// A push deletes nothing here: git may go on to repack what is there.
#[test]
fn a_mirror_that_is_only_pushed_to_leaves_packs_that_are_there_to_git() {
    let test = repository(Format::Files).unwrap();
    test.git(&["config", "remote.copy.mirror", "true"]);
    let pack = pack_of(&test);
    let (_, _, blob) = with_work(&test);
    succeeds(test.run(&["rm", "--force", "box"]));
    assert!(pack.exists() && !pack.with_extension("keep").exists());
    test.git(&["update-ref", "-d", &kept(&test)]);
    cleaned(&test);
    test.git(&["cat-file", "-e", &blob]);
}

/// It has a ref of its own beside the one of its sandbox.
#[test]
fn a_tag_that_is_kept_is_not_taken_for_a_sandbox_of_another_root() {
    let test = repository(Format::Files).unwrap();
    let path = test.new_sandbox(&["box"]);
    test.git_in(&path, &["tag", "-a", "-m", "mine", "mine"]);
    test.git_in(&path, &["update-ref", "refs/worktree/mine", "refs/tags/mine"]);
    test.git_in(&path, &["tag", "-d", "mine"]);
    succeeds(test.run(&["rm", "--force", "box"]));
    assert!(kept(&test).contains(".tag0"), "{}", kept(&test));
    let output = test.run(&["restore"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!said.contains("another root"), "{said}");
    succeeds(test.run(&["restore", "box"]));
    assert_eq!(test.git_in(&path, &["cat-file", "-t", "refs/worktree/mine"]), "tag");
}
