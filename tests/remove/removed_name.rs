//! A name of a sandbox that was removed, or was not: each command says which, and how to go on.

use crate::fixture::Test;
use crate::fixture::trash::trashed;

/// The id of the only sandbox in the trash.
fn id(test: &Test) -> String {
    trashed(test)[0].file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_removed_name_leads_to_restore() {
    let test = Test::new();
    test.new_sandbox(&["feat/ui"]);
    // A name that is near, and wrong.
    test.new_sandbox(&["feat-uj"]);
    assert!(test.run(&["rm", "feat-ui"]).output().status.success());
    let id = id(&test);
    for word in ["feat-ui", "feat/ui", &id] {
        let error =
            format!("error: sandbox '{word}' was removed\nhint: git sandbox restore {id}\n");
        for command in ["show", "path", "rm", "stop", "run", "wait"] {
            test.run(&[command, word]).stderr(&error).refused();
        }
        test.run(&["diff", word]).stderr(&error).refused();
        // These leave the file of their lock.
        test.run(&["rename", word, "other"]).stderr(&error).code(1);
        test.run(&["merge", word]).stderr(&error).code(1);
    }
    // Forced, it is gone, as was wanted.
    test.run(&["rm", "--force", "feat-ui"]).ok();
    test.run(&["restore", "feat-ui"]).stdout("$ROOT/feat-ui\n").stderr("restored 'feat-ui'\n").ok();
    test.run(&["path", "feat-ui"]).stdout("$ROOT/feat-ui\n").ok();
}

#[test]
fn the_newest_of_a_name_is_meant() {
    let test = Test::new();
    for day in ["2026-01-29T12:00:00Z", "2026-01-30T12:00:00Z"] {
        test.new_sandbox(&["box"]);
        let removed = test.run(&["rm", "box"]).env("GIT_SANDBOX_NOW", day).output();
        assert!(removed.status.success());
    }
    let listed = test.json(&["restore", "--json"]);
    let newest = listed[0]["id"].as_str().unwrap();
    test.run(&["show", "box"])
        .stderr(&format!("error: sandbox 'box' was removed\nhint: git sandbox restore {newest}\n"))
        .refused();
}

#[test]
fn restore_of_one_that_was_not_removed_says_where_it_is() {
    let test = Test::new();
    test.new_sandbox(&["feat/ui"]);
    for word in ["feat-ui", "feat/ui"] {
        test.run(&["restore", word])
            .stderr(
                "error: sandbox 'feat-ui' was not removed: it is at '$ROOT/feat-ui'\n\
                 hint: cd $ROOT/feat-ui\n",
            )
            .refused();
    }
    test.run(&["restore", "none"])
        .stderr(
            "error: no removed sandbox is called 'none'\n\
             hint: 'git sandbox restore' lists what can be brought back\n",
        )
        .refused();
}

#[test]
fn a_dry_run_says_what_a_removal_says() {
    let test = Test::new();
    let path = test.new_sandbox(&["--detach", "look"]);
    test.commit(&path, "new", "new\n");
    test.run(&["rm", "--dry-run", "exploration-look"])
        .stderr(
            "would remove 'exploration-look' (nothing to lose)\n\
             would keep 1 commit only here in refs/sandbox/kept/<id>\n",
        )
        .ok();
    test.run(&["rm", "exploration-look"])
        .stderr(
            "removed 'exploration-look' (nothing to lose); \
             undo with: git sandbox restore exploration-look-ID\n\
             kept 1 commit only here in refs/sandbox/kept/exploration-look-ID\n",
        )
        .ok();
}
