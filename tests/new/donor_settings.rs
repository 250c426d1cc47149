//! Settings, attributes and forms of an index under which files are not what their blobs are: git writes
//! them, whatever a donor has.

use std::fs;

use crate::fixture::donor::{
    commit, given, nothing_given, repository, same_as_gits, same_with, settle,
};
use crate::fixture::files::write;

#[test]
fn attributes_of_the_new_commit_count() {
    for attributes in [
        "*.txt text eol=crlf\n",
        "a.txt filter=shout\n*.txt eol=crlf\n",
        "*.txt ident\nident ident\n",
        "[attr]odd filter=shout\n*.txt odd\n",
        "*.txt working-tree-encoding=UTF-16LE\n",
    ] {
        let test = repository(&[]);
        test.git(&["config", "filter.shout.smudge", "tr a-z A-Z"]);
        test.git(&["config", "filter.shout.clean", "tr A-Z a-z"]);
        // The donor's files were written before there were any attributes.
        write(&test.app().join(".gitattributes"), attributes);
        test.git(&["add", ".gitattributes"]);
        test.git(&["commit", "--quiet", "-m", "attributes"]);
        settle(&test, &test.app());
        let mine = same_as_gits(&test, "main");
        assert_eq!(given(&mine, &["big", "in/b.txt"]), ["big"], "{attributes}");
    }
}

#[test]
fn attributes_of_the_donor_alone_do_not_count() {
    let test = repository(&[]);
    write(&test.app().join(".gitattributes"), "*.txt eol=crlf\n");
    test.git(&["add", ".gitattributes"]);
    test.git(&["commit", "--quiet", "-m", "attributes"]);
    test.git(&["rm", "--quiet", "--cached", "-r", "."]);
    test.git(&["reset", "--quiet", "--hard"]);
    settle(&test, &test.app());
    assert_eq!(fs::read(test.app().join("a.txt")).unwrap(), b"a.txt\r\nof two lines\r\n");
    let mine = same_as_gits(&test, "main~1");
    assert_eq!(given(&mine, &["big", "a.txt"]), ["big"]);
}

#[test]
fn attributes_that_were_changed_or_staged_in_the_donor_do_not_count() {
    let test = repository(&[]);
    let attributes = test.app().join(".gitattributes");
    write(&attributes, "*.txt eol=crlf\n");
    commit(&test, "attributes");
    settle(&test, &test.app());
    write(&attributes, "*.txt -text\n");
    same_as_gits(&test, "main");
    test.run(&["rm", "mine", "--force"]).output();
    test.git(&["rm", "--quiet", "--cached", ".gitattributes"]);
    fs::remove_file(&attributes).unwrap();
    let mine = same_as_gits(&test, "mine");
    assert_eq!(given(&mine, &["big", "a.txt"]), ["big"]);
}

#[test]
fn attributes_outside_of_the_tree_count() {
    let test = repository(&[]);
    write(&test.app().join(".git/info/attributes"), "a.txt eol=crlf\n");
    let mine = same_as_gits(&test, "main");
    assert_eq!(given(&mine, &["big", "a.txt", "in/b.txt"]), ["big", "in/b.txt"]);

    let test = repository(&[]);
    write(&test.home.join("attributes"), "a.txt eol=crlf\n");
    test.git(&["config", "core.attributesFile", "~/attributes"]);
    let mine = same_as_gits(&test, "main");
    assert_eq!(given(&mine, &["big", "a.txt", "in/b.txt"]), ["big", "in/b.txt"]);

    let test = repository(&[]);
    write(&test.home.join(".config/git/attributes"), "a.txt eol=crlf\n");
    let mine = same_as_gits(&test, "main");
    assert_eq!(given(&mine, &["big", "a.txt", "in/b.txt"]), ["big", "in/b.txt"]);
}

#[test]
fn settings_that_change_what_git_writes_leave_everything_to_git() {
    for setting in [
        "core.autocrlf=true",
        "core.eol=crlf",
        "core.splitIndex=true",
        "core.ignoreStat=true",
        "index.version=4",
        "index.skipHash=true",
        "feature.manyFiles=true",
    ] {
        let test = repository(&[]);
        let mine = same_with(&test, &["-c", setting], "main");
        nothing_given(&mine);
    }
    for setting in ["core.autocrlf=input", "core.eol=native", "index.version=2"] {
        let test = repository(&[]);
        let mine = same_with(&test, &["-c", setting], "main");
        assert_eq!(given(&mine, &["big", "a.txt"]), ["big", "a.txt"], "{setting}");
    }
}

#[test]
fn settings_of_the_new_checkout_alone_count() {
    let test = repository(&[]);
    write(&test.home.join("more"), "[core]\n\tautocrlf = true\n");
    let key = format!("includeIf.gitdir:{}/worktrees/**.path", test.app().join(".git").display());
    test.git(&["config", &key, test.home.join("more").to_str().unwrap()]);
    let mine = same_as_gits(&test, "main");
    nothing_given(&mine);
    assert_eq!(fs::read(mine.join("a.txt")).unwrap(), b"a.txt\r\nof two lines\r\n");
}

#[test]
fn a_file_with_carriage_returns_is_left_to_git_where_they_count() {
    let test = repository(&[]);
    write(&test.app().join(".gitattributes"), "* text=auto\nother/* text\n");
    test.git(&["add", ".gitattributes"]);
    test.git(&["commit", "--quiet", "-m", "attributes"]);
    settle(&test, &test.app());
    let mine = same_as_gits(&test, "main");
    let names = ["big", "a.txt", "other/with space", "other/returns"];
    assert_eq!(given(&mine, &names), ["big", "a.txt", "other/with space"]);
}

#[test]
fn an_index_of_another_form_is_no_donors() {
    for words in [
        &["update-index", "--index-version=4"][..],
        &["update-index", "--split-index"],
        &["sparse-checkout", "set", "--cone", "in"],
        &["sparse-checkout", "set", "--cone", "--sparse-index", "in"],
    ] {
        let test = repository(&[]);
        test.git(words);
        same_as_gits(&test, "main");
    }
}

#[test]
fn a_replaced_object_is_what_git_writes() {
    let test = repository(&[]);
    write(&test.home.join("instead"), "instead\n");
    let instead = test.git(&["hash-object", "-w", "../instead"]);
    test.git(&["replace", "main:a.txt", &instead]);
    let mine = same_as_gits(&test, "main");
    nothing_given(&mine);
    assert_eq!(fs::read_to_string(mine.join("a.txt")).unwrap(), "instead\n");
    test.run(&["rm", "mine", "--force"]).output();
    test.git(&["pack-refs", "--all"]);
    // As a fresh clone has none.
    let _ = fs::remove_dir(test.app().join(".git/refs/replace"));
    let mine = same_as_gits(&test, "mine");
    nothing_given(&mine);
    assert_eq!(fs::read_to_string(mine.join("a.txt")).unwrap(), "instead\n");
}

#[test]
fn attributes_beside_the_git_that_is_used_count() {
    let test = repository(&[]);
    let git = test.fake_git("exec \"$GIT\" \"$@\"");
    // As a git in <prefix>/bin has them in <prefix>/etc.
    write(&test.home.join("etc/gitattributes"), "a.txt eol=crlf\n");
    let run = test.program(&test.app(), &["new", "mine"]).env("PATH", git);
    assert!(run.output().status.success());
    let names = ["big", "a.txt", "in/b.txt"];
    assert_eq!(given(&test.at("mine"), &names), ["big", "in/b.txt"]);
    assert_eq!(test.git_in(&test.at("mine"), &["status", "--porcelain"]), "");
}

#[test]
fn a_variable_that_names_attributes_leaves_everything_to_git() {
    let test = repository(&[]);
    test.git(&["checkout", "--quiet", "-b", "attributes"]);
    write(&test.app().join(".gitattributes"), "*.txt eol=crlf\n");
    commit(&test, "attributes");
    test.git(&["checkout", "--quiet", "main"]);
    settle(&test, &test.app());
    let run = test.run(&["new", "mine"]).env("GIT_ATTR_SOURCE", "attributes");
    assert!(run.output().status.success());
    nothing_given(&test.at("mine"));
}
