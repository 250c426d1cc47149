//! What cannot be taken over from a quarantine stays in it as it is, and the index outside never undoes
//! what was taken.

use std::fs;

use super::{Confined, took};
use crate::fixture::donor::age;
use crate::fixture::files::write;
use crate::fixture::run::succeeds;
use crate::fixture::state::collect_garbage;

/// Changes a ref of the repository, so that the quarantine is brought up to date.
fn refresh(it: &Confined, branch: &str) {
    it.test.git(&["branch", branch]);
    it.prepare();
    assert_eq!(it.git(&["rev-parse", branch]), it.outside(branch));
}

/// A file that is staged, and only staged.
fn stage(it: &Confined, file: &str) {
    write(&it.path.join(file), file);
    it.git(&["add", "--", file]);
    fs::remove_file(it.path.join(file)).unwrap();
}

/// Makes the index inside a sparse one, in which `dir` is a single entry. It is not taken over.
fn sparse(it: &Confined) {
    it.git(&["sparse-checkout", "set", "--cone", "--sparse-index"]);
}

fn also_holds(what: &str) -> String {
    format!("'box' also holds {what}; git sandbox run --confine box reaches them\n")
}

#[test]
fn an_index_with_compressed_paths_is_taken_over() {
    let it = Confined::new();
    it.git(&["update-index", "--index-version", "4"]);
    let tip = it.commit("folder/one", "1\n");
    write(&it.path.join("folder/other"), "staged\n");
    it.git(&["add", "folder/other"]);
    assert_eq!(it.look(), took("1 commit", &it.outside("main"), &tip));
    assert_eq!(it.test.git_in(&it.path, &["status", "--short"]), "A  folder/other");
    refresh(&it, "more");
    assert_eq!(it.git(&["status", "--short"]), "A  folder/other");
}

/// With `core.splitIndex` every index inside is in two files.
#[test]
fn a_split_index_is_taken_over() {
    for version in ["2", "4"] {
        let it = Confined::new();
        for file in ["changed", "deleted", "folder/kept"] {
            it.commit(file, file);
        }
        it.look();
        it.git(&["update-index", "--index-version", version]);
        it.git(&["config", "splitIndex.maxPercentChange", "100"]);
        it.git(&["update-index", "--split-index"]);
        write(&it.path.join("changed"), "other\n");
        it.git(&["add", "changed"]);
        it.git(&["rm", "--quiet", "deleted"]);
        stage(&it, "new");
        assert_eq!(it.look(), "");
        let status = "M  changed\nD  deleted\nAD new";
        assert_eq!(it.test.git_in(&it.path, &["status", "--short"]), status);
        refresh(&it, "more");
        assert_eq!(it.git(&["status", "--short"]), status);
    }
}

#[test]
fn an_index_that_is_not_understood_stays_and_that_outside_follows_the_branch() {
    let it = Confined::new();
    sparse(&it);
    let tip = it.commit("one", "1\n");
    stage(&it, "two");
    let said = took("1 commit", &it.outside("main"), &tip) + &also_holds("staged files");
    assert_eq!(it.look(), said);
    assert_eq!(it.test.git_in(&it.path, &["status", "--short"]), " D dir/c");
    refresh(&it, "more");
    assert_eq!(it.git(&["status", "--short"]), "AD two");
    // Once it is one that is understood, it is taken over.
    it.git(&["sparse-checkout", "disable"]);
    assert_eq!(it.look(), "");
    assert_eq!(it.test.git_in(&it.path, &["status", "--short"]), "AD two");
}

#[test]
fn a_conflict_without_an_operation_stays() {
    let it = Confined::new();
    write(&it.path.join("a"), "stashed\n");
    it.git(&["stash", "--quiet"]);
    let tip = it.commit("a", "committed\n");
    assert!(!it.command(&["stash", "apply", "--quiet"]).output().unwrap().status.success());
    let holds = also_holds("a stash and staged files");
    assert_eq!(it.look(), took("1 commit", &it.outside("main"), &tip) + &holds);
    assert_eq!(it.test.git_in(&it.path, &["diff", "--cached", "--name-status"]), "");
    refresh(&it, "more");
    assert_eq!(it.git(&["status", "--short"]), "UU a");
}

#[test]
fn a_head_elsewhere_stays_with_what_is_staged_on_it() {
    for words in [["switch", "--quiet", "--detach"], ["switch", "--quiet", "-cside"]] {
        let it = Confined::new();
        let tip = it.commit("one", "1\n");
        it.git(&words);
        stage(&it, "two");
        let head = it.git(&["rev-parse", "--symbolic-full-name", "HEAD"]);
        let said = it.look();
        assert!(said.starts_with(&took("1 commit", &it.outside("main"), &tip)), "{said}");
        assert_eq!(it.test.git_in(&it.path, &["status", "--short"]), "");
        // The branch outside goes on; inside it does not move below what is staged there.
        let outside = it.test.commit(&it.path, "three", "3\n");
        refresh(&it, "more");
        assert_eq!(it.git(&["rev-parse", "--symbolic-full-name", "HEAD"]), head);
        assert_eq!(it.git(&["diff", "--cached", "--name-status"]), "A\ttwo");
        // Back on the branch, everything follows again.
        it.git(&["rm", "--quiet", "--cached", "two"]);
        it.git(&["switch", "--quiet", "box"]);
        it.look();
        refresh(&it, "again");
        assert_eq!(it.git(&["rev-parse", "HEAD"]), outside);
        assert_eq!(it.git(&["diff", "--cached", "--name-status"]), "");
    }
}

#[test]
fn what_is_staged_in_a_renamed_sandbox_stays_with_its_branch() {
    let mut it = Confined::new();
    sparse(&it);
    stage(&it, "two");
    assert_eq!(it.look(), also_holds("staged files"));
    succeeds(it.test.run(&["rename", "box", "other"]));
    it.path = it.test.at("other");
    succeeds(it.test.run(&["show", "--mounts", "other"]));
    assert_eq!(it.git(&["status", "--short"]), "AD two");
    assert_eq!(it.git(&["rev-parse", "HEAD"]), it.outside("other"));
}

#[test]
fn two_indexes_that_differ_both_stay() {
    let it = Confined::new();
    stage(&it, "inside");
    write(&it.path.join("outside"), "outside\n");
    it.test.git_in(&it.path, &["add", "outside"]);
    let said = "warning: the index of 'box' was changed outside; it stays as it is\n";
    assert_eq!(it.look(), said);
    for branch in ["one", "two"] {
        refresh(&it, branch);
        assert_eq!(it.git(&["diff", "--cached", "--name-status"]), "A\tinside");
        assert_eq!(it.test.git_in(&it.path, &["diff", "--cached", "--name-status"]), "A\toutside");
    }
    stage(&it, "more");
    assert_eq!(it.look(), said);
    assert_eq!(it.test.git_in(&it.path, &["diff", "--cached", "--name-status"]), "A\toutside");
}

#[test]
fn two_branches_that_differ_both_stay_however_often_the_quarantine_is_used() {
    let it = Confined::new();
    let inside = it.commit("one", "1\n");
    stage(&it, "staged");
    fs::remove_file(it.path.join("one")).unwrap();
    let outside = it.test.commit(&it.path, "two", "2\n");
    let said = it.look();
    assert!(said.starts_with("warning: 'box' was moved outside; what ran inside is at "), "{said}");
    assert!(said.ends_with(&also_holds("staged files")), "{said}");
    for branch in ["first", "second", "third"] {
        refresh(&it, branch);
        assert_eq!(it.git(&["rev-parse", "box"]), inside);
        assert_eq!(it.git(&["diff", "--cached", "--name-status"]), "A\tstaged");
        assert_eq!(it.outside("box"), outside);
    }
}

#[test]
fn a_branch_with_a_name_that_a_new_file_could_have_stays() {
    let it = Confined::new();
    let tip = it.commit("one", "1\n");
    it.git(&["branch", "box.new", "HEAD~1"]);
    let before = it.git(&["rev-parse", "box.new"]);
    assert_eq!(
        it.look(),
        took("1 commit", &it.outside("main"), &tip) + &also_holds("branch 'box.new'")
    );
    let outside = it.test.commit(&it.path, "two", "2\n");
    it.prepare();
    assert_eq!(it.git(&["rev-parse", "box", "box.new"]), format!("{outside}\n{before}"));
}

#[test]
fn what_could_not_be_taken_over_is_not_forgotten_when_mounts_are_shown() {
    let it = Confined::new();
    let tip = it.commit("one", "1\n");
    let blob = it.git(&["rev-parse", "HEAD:one"]);
    let object = it.dir().join("objects").join(&blob[..2]).join(&blob[2..]);
    let hidden = it.path.join("hidden");
    fs::rename(&object, &hidden).unwrap();
    let lead = "cannot take what ran in 'box': ";
    it.test.git(&["branch", "more"]);
    let output = it.test.run(&["show", "--mounts", "box"]).output();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with(&format!("warning: {lead}")), "{said}");
    assert!(said.contains(&format!("\nerror: {lead}")), "{said}");
    let hint = "\nhint: to start afresh, with all of it in the trash: git sandbox rm --force box\n";
    assert!(said.ends_with(hint), "{said}");
    assert!(it.look().starts_with(&format!("warning: {lead}")));
    fs::rename(&hidden, &object).unwrap();
    assert_eq!(it.look(), took("1 commit", &it.outside("main"), &tip));
}

/// Such a conflict has one stage only, as a file that both sides renamed has.
#[test]
fn a_conflict_of_one_stage_stays_a_conflict() {
    let it = Confined::new();
    let id = it.git(&["rev-parse", "HEAD:a"]);
    write(&it.test.home.join("records"), &format!("100644 {id} 2\tours\n"));
    let mut command = it.command(&["update-index", "--index-info"]);
    let records = fs::File::open(it.test.home.join("records")).unwrap();
    assert!(command.stdin(records).status().unwrap().success());
    assert_eq!(it.git(&["status", "--short"]), "AU ours");
    assert_eq!(it.look(), also_holds("staged files"));
    assert_eq!(it.test.git_in(&it.path, &["status", "--short"]), "");
    refresh(&it, "more");
    assert_eq!(it.git(&["status", "--short"]), "AU ours");
}

#[test]
fn what_was_staged_outside_stays_where_the_index_inside_is_not_understood() {
    let it = Confined::new();
    write(&it.path.join("mine"), "mine\n");
    it.test.git_in(&it.path, &["add", "mine"]);
    fs::remove_file(it.path.join("mine")).unwrap();
    it.prepare();
    assert_eq!(it.git(&["status", "--short"]), "AD mine");
    sparse(&it);
    let before = it.outside("box");
    write(&it.path.join("one"), "1\n");
    it.git(&["add", "one"]);
    it.git(&["commit", "--quiet", "-m", "one", "--", "one"]);
    let tip = it.git(&["rev-parse", "HEAD"]);
    assert_eq!(it.look(), took("1 commit", &before, &tip) + &also_holds("staged files"));
    assert_eq!(it.test.git_in(&it.path, &["show", ":mine"]), "mine");
    assert_eq!(it.git(&["show", ":mine"]), "mine");
}

/// A look takes over what else was done inside, and must not take the index inside for newer than the other.
#[test]
fn what_was_staged_outside_is_not_undone_by_an_index_that_did_not_change_inside() {
    for branch in [None, Some("more")] {
        let it = Confined::new();
        it.git(&["tag", "mine"]);
        write(&it.path.join("a"), "staged outside\n");
        it.test.git_in(&it.path, &["add", "a"]);
        write(&it.path.join("a"), "edited\n");
        let tag = also_holds("tag 'mine'");
        it.test.run(&["path", "box"]).stdout("$ROOT/box\n").stderr(&tag).ok();
        match branch {
            None => it.prepare(),
            Some(branch) => refresh(&it, branch),
        }
        assert_eq!(it.git(&["status", "--short"]), "MM a");
        write(&it.path.join("b"), "staged inside\n");
        it.git(&["add", "b"]);
        assert_eq!(it.look(), tag);
        assert_eq!(it.test.git_in(&it.path, &["status", "--short"]), "MM a\nM  b");
        assert_eq!(it.test.git_in(&it.path, &["show", ":a"]), "staged outside");
    }
}

/// Nor one that is understood only after something was staged outside.
#[test]
fn what_was_staged_outside_stays_when_the_index_inside_is_understood_again() {
    let it = Confined::new();
    sparse(&it);
    stage(&it, "two");
    assert_eq!(it.look(), also_holds("staged files"));
    write(&it.path.join("mine"), "mine\n");
    it.test.git_in(&it.path, &["add", "mine"]);
    fs::remove_file(it.path.join("mine")).unwrap();
    it.git(&["tag", "tagged"]);
    assert_eq!(it.look(), also_holds("tag 'tagged' and staged files"));
    it.git(&["sparse-checkout", "disable"]);
    let stays = "warning: the index of 'box' was changed outside; it stays as it is\n";
    assert_eq!(it.look(), stays.to_owned() + &also_holds("tag 'tagged'"));
    assert_eq!(it.test.git_in(&it.path, &["show", ":mine"]), "mine");
    assert_eq!(it.git(&["diff", "--cached", "--name-status"]), "A\ttwo");
}

/// Git looks into such a file because its index is not newer. A copy of the index must not look newer.
#[test]
fn an_edit_in_the_second_of_the_index_is_seen_inside() {
    let it = Confined::new();
    let file = it.path.join("a");
    it.test.git(&["config", "core.trustctime", "false"]);
    age(&file);
    it.test.git_in(&it.path, &["update-index", "-q", "--refresh"]);
    age(&it.entry().join("index"));
    write(&file, "z\n");
    age(&file);
    let status = ["--no-optional-locks", "-c", "core.trustctime=false", "status", "--short"];
    assert_eq!(it.test.git_in(&it.path, &status), " M a");
    it.prepare();
    assert_eq!(it.git(&status), " M a");
}

#[test]
fn the_config_that_a_command_wrote_stays() {
    let it = Confined::new();
    it.git(&["config", "alias.mine", "log -1"]);
    write(&it.dir().join("HEAD"), "ref: refs/heads/mine\n");
    it.look();
    refresh(&it, "more");
    assert_eq!(it.git(&["config", "alias.mine"]), "log -1");
    assert_eq!(fs::read_to_string(it.dir().join("HEAD")).unwrap(), "ref: refs/heads/mine\n");
}

#[test]
fn a_branch_that_was_rewritten_outside_is_followed_where_nothing_was_done_inside() {
    let it = Confined::new();
    let tip = it.commit("one", "1\n");
    assert_eq!(it.look(), took("1 commit", &it.outside("main"), &tip));
    it.test.git_in(&it.path, &["commit", "--quiet", "--amend", "-m", "rewritten"]);
    let rewritten = it.outside("box");
    assert_ne!(rewritten, tip);
    it.prepare();
    assert_eq!(it.git(&["rev-parse", "HEAD", "box"]), format!("{rewritten}\n{rewritten}"));
    let next = it.commit("two", "2\n");
    assert_eq!(it.look(), took("1 commit", &rewritten, &next));
    assert_eq!(it.outside("box~"), rewritten);
}

/// Objects that git was not able to name are not objects that are not there.
#[test]
fn nothing_counts_as_taken_over_where_git_cannot_tell_what_there_is() {
    let it = Confined::new();
    it.git(&["switch", "--quiet", "-c", "side"]);
    let side = it.commit("side", "side\n");
    it.git(&["switch", "--quiet", "box"]);
    let (before, tip) = (it.outside("box"), it.commit("one", "1\n"));
    let fake = it.test.fake_git(
        "case \"$GIT_OBJECT_DIRECTORY $*\" in *sandbox.incoming*cat-file*) echo full >&2; exit 1;; esac; \
         exec $GIT \"$@\"",
    );
    let run = it.test.program(&it.test.app(), &["show", "box", "--json"]).env("PATH", &fake);
    let said = String::from_utf8(run.output().stderr).unwrap();
    let why = "full; it stays in the sandbox\n";
    assert_eq!(said, format!("warning: cannot take what ran in 'box': {why}"));
    assert_eq!(it.outside("box"), before);
    let said = it.look();
    assert!(said.starts_with(&took("1 commit", &before, &tip)), "{said}");
    collect_garbage(&it.test);
    assert_eq!(it.outside(&format!("{side}^{{commit}}")), side);
}
