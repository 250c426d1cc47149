//! `git sandbox reap --purge <name>`: it asks on a terminal, and nothing else goes with what was named.

use crate::fixture::Test;
use crate::fixture::reap::reap;
use crate::fixture::run::succeeds;
use crate::fixture::state::kept;
use crate::fixture::trash::{id_of, trashed};

/// Removed sandboxes, each with a commit that no ref has.
fn removed(names: &[&str]) -> Test {
    let test = Test::new();
    for name in names {
        let path = test.new_sandbox(&[*name]);
        test.git_in(&path, &["checkout", "--quiet", "--detach"]);
        test.commit(&path, name, "mine\n");
        succeeds(test.run(&["rm", "--force", name]));
    }
    test
}

/// Runs `reap --purge box` on a terminal with this typed. Returns what it printed.
fn purge(test: &Test, typed: &str) -> String {
    let words = format!("printf '{typed}' | script -qec 'git sandbox reap --purge box' /dev/null");
    let output = test.command("sh", &test.app()).args(["-c", &words]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).replace('\r', "")
}

#[test]
fn only_a_yes_is_one() {
    let test = removed(&["box"]);
    let before = kept(&test);
    for typed in ["n\\n", "\\n", "yours\\n"] {
        let said = purge(&test, typed);
        assert!(said.contains("delete it? [y/N] "), "{said}");
        assert!(said.contains(": kept in the trash: not confirmed\n"), "{said}");
        assert_eq!(trashed(&test).len(), 1);
        assert_eq!(kept(&test), before);
    }
    let said = purge(&test, "y\\n");
    assert!(said.contains(": purged: asked for\n"), "{said}");
    assert!(trashed(&test).is_empty());
    assert_eq!(kept(&test), "");
}

#[test]
fn what_is_kept_for_others_in_the_vault_stays() {
    let test = removed(&["box", "other"]);
    let other = kept(&test).lines().find(|name| name.contains("/other-")).unwrap().to_owned();
    succeeds(reap(&test, 15, &[]));
    assert!(trashed(&test).is_empty());
    let dry = reap(&test, 15, &["--purge", "box", "--dry-run"]).output();
    assert!(String::from_utf8_lossy(&dry.stdout).ends_with(": would purge: asked for\n"));
    assert!(kept(&test).contains("/box-"));
    succeeds(reap(&test, 15, &["--purge", "box"]));
    assert_eq!(kept(&test), other);
    succeeds(test.run(&["restore", "other"]));
    assert!(test.at("other/other").exists());
}

#[test]
fn other_orphans_stay_in_the_trash() {
    let test = Test::new();
    let zoo = test.init("zoo", &[]);
    for name in ["box", "other"] {
        succeeds(test.run_in(&zoo, &["new", name]));
    }
    std::fs::remove_dir_all(&zoo).unwrap();
    let all = |words: &[&str]| {
        let run = test.run_in(&test.home, &[&["reap", "--all"], words].concat());
        succeeds(run.env("GIT_SANDBOX_NOW", crate::fixture::time::after(4000)));
    };
    all(&[]);
    assert_eq!(trashed(&test).len(), 2);
    all(&["--purge", "box"]);
    let [item] = &trashed(&test)[..] else { panic!("{:?}", trashed(&test)) };
    assert!(id_of(item).starts_with("other-") && item.join("tree/file").exists());
}
