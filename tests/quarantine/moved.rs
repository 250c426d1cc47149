//! A branch that was moved on both sides: neither is overwritten.

use std::fs;

use super::Confined;

#[test]
fn a_branch_that_moved_outside_is_not_overwritten() {
    let it = Confined::new();
    let inside = it.commit("one", "1\n");
    fs::remove_file(it.path.join("one")).unwrap();
    let outside = it.test.commit(&it.path, "two", "2\n");
    let id = serde_json::from_slice::<serde_json::Value>(
        &fs::read(it.entry().join("sandbox.json")).unwrap(),
    )
    .unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let name = format!("refs/sandbox/confined-heads/{id}");
    assert_eq!(
        it.look(),
        format!("warning: 'box' was moved outside; what ran inside is at {name}\n")
    );
    assert_eq!((it.outside("box"), it.outside(&name)), (outside.clone(), inside.clone()));
    assert_eq!(it.look(), "");
    // The quarantine keeps its own branch until the two are merged outside.
    it.prepare();
    assert_eq!(it.git(&["rev-parse", "box"]), inside);
    it.test.git_in(&it.path, &["merge", "--quiet", "-m", "both", &name]);
    let merged = it.outside("box");
    it.prepare();
    assert_eq!(it.git(&["rev-parse", "box"]), merged);
    assert_eq!(it.git(&["status", "--short"]), "");
    assert_eq!(it.look(), "");
}

/// The commit inside is then on top of the branch outside, and yet not to be taken into it.
#[test]
fn a_branch_that_was_moved_back_outside_is_not_moved_forward_again() {
    let it = Confined::new();
    it.test.git_in(&it.path, &["reset", "--quiet", "--hard", "HEAD~1"]);
    let (outside, inside) = (it.outside("box"), it.commit("one", "1\n"));
    assert_eq!(it.git(&["merge-base", "box", &outside]), outside);
    let said = it.look();
    let lead = "warning: 'box' was moved outside; what ran inside is at ";
    let aside = said.strip_prefix(lead).unwrap_or_else(|| panic!("{said}")).trim_end();
    assert_eq!((it.outside("box"), it.outside(aside)), (outside.clone(), inside.clone()));
    it.prepare();
    assert_eq!(it.git(&["rev-parse", "box"]), inside);
    assert_eq!(it.outside("box"), outside);
}

/// Then nothing of it is missing outside, whatever else was done inside.
#[test]
fn a_branch_that_has_what_was_committed_inside_is_not_told_of_again() {
    let it = Confined::new();
    let inside = it.commit("one", "1\n");
    fs::remove_file(it.path.join("one")).unwrap();
    it.test.commit(&it.path, "two", "2\n");
    let said = it.look();
    let aside = said.trim_end().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(it.outside(&aside), inside);
    it.test.git_in(&it.path, &["merge", "--quiet", "-m", "both", &aside]);
    let merged = it.outside("box");
    it.git(&["tag", "mine"]);
    let also = "warning: the index of 'box' was changed outside; it stays as it is\n\
                'box' also holds tag 'mine'; git sandbox run --confine box reaches them\n";
    assert_eq!(it.look(), also);
    assert_eq!(it.outside("box"), merged);
    it.prepare();
    assert_eq!(it.git(&["rev-parse", "box"]), merged);
    assert_eq!(it.git(&["status", "--short"]), "");
}
