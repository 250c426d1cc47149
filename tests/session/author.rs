//! Who commits in a sandbox.

use std::path::Path;

use crate::fixture::Test;

const COMMIT: [&str; 6] = ["git", "commit", "--quiet", "--allow-empty", "-m", "theirs"];

fn who(test: &Test, dir: &Path) -> String {
    test.git_in(dir, &["log", "-1", "--format=%an <%ae> %cn <%ce>"])
}

#[test]
fn an_author_is_given_to_the_command() {
    let test = Test::new();
    let path = test.new_sandbox(&["box"]);
    let words = ["run", "--author", "Agent Ö <agent@example.com>", "box", "--"];
    test.run(&[&words[..], &COMMIT].concat()).ok();
    assert_eq!(who(&test, &path), "Agent Ö <agent@example.com> Agent Ö <agent@example.com>");
    test.run(&[&["run", "box"][..], &COMMIT].concat()).ok();
    let user = "A U Thor <author@example.com>";
    assert_eq!(who(&test, &path), format!("{user} {user}"));
}

#[test]
fn the_configured_author_commits_everywhere_but_in_the_main_checkout() {
    let test = Test::new();
    test.git(&["config", "sandbox.author", "Bot <bot@example.com>"]);
    test.git(&["config", "sandbox.setup", &COMMIT.join(" ")]);
    let words = [&["new", "box", "--"][..], &COMMIT].concat();
    test.run(&words)
        .stderr("created sandbox 'box': new branch 'box' from 'main'\n$ROOT/box\n")
        .ok();
    let bot = "Bot <bot@example.com> Bot <bot@example.com>";
    assert_eq!(who(&test, &test.at("box")), bot);
    assert_eq!(test.git_in(&test.at("box"), &["log", "-1", "--format=%an", "HEAD~"]), "Bot");
    test.run(&[&["run", "--author", "Agent <a@b>", "box"][..], &COMMIT].concat()).ok();
    assert_eq!(who(&test, &test.at("box")), "Agent <a@b> Agent <a@b>");
    let user = "A U Thor <author@example.com>";
    assert_eq!(who(&test, &test.app()), format!("{user} {user}"));
}

#[test]
fn new_takes_an_author_for_its_command() {
    let test = Test::new();
    let words = [&["new", "box", "--author=Agent <a@b>", "--"][..], &COMMIT].concat();
    test.run(&words)
        .stderr("created sandbox 'box': new branch 'box' from 'main'\n$ROOT/box\n")
        .ok();
    assert_eq!(who(&test, &test.at("box")), "Agent <a@b> Agent <a@b>");
}

#[test]
fn the_author_of_a_sandbox_is_kept_and_shown() {
    let test = Test::new();
    test.git(&["config", "sandbox.author", "Bot <bot@example.com>"]);
    let path = test.new_sandbox(&["box", "--author", "Agent <a@b>"]);
    test.run(&[&["run", "box"][..], &COMMIT].concat()).ok();
    assert_eq!(who(&test, &path), "Agent <a@b> Agent <a@b>");
    assert_eq!(test.json(&["show", "box", "--json"])["author"], "Agent <a@b>");
    let shown = String::from_utf8(test.run(&["show", "box"]).output().stdout).unwrap();
    assert!(shown.lines().any(|line| line == "author      Agent <a@b>"), "{shown}");
    // Removed and restored, it is still there; another one replaces it, and one for a single run does not.
    assert!(test.run(&["rm", "box"]).output().status.success());
    assert!(test.run(&["restore", "box"]).output().status.success());
    test.run(&[&["run", "--author", "Once <o@b>", "box"][..], &COMMIT].concat()).ok();
    assert_eq!(who(&test, &path), "Once <o@b> Once <o@b>");
    test.run(&[&["run", "box"][..], &COMMIT].concat()).ok();
    assert_eq!(who(&test, &path), "Agent <a@b> Agent <a@b>");
    test.new_sandbox(&["box", "--author", "Other <o@c>"]);
    test.run(&[&["run", "box"][..], &COMMIT].concat()).ok();
    assert_eq!(who(&test, &path), "Other <o@c> Other <o@c>");
    // One that was made without has none of its own.
    test.new_sandbox(&["plain"]);
    assert_eq!(test.json(&["show", "plain", "--json"])["author"], serde_json::Value::Null);
}

#[test]
fn a_sandbox_that_is_made_again_has_the_same_author() {
    let test = Test::new();
    let path = test.new_sandbox(&["box", "--author", "Agent <a@b>"]);
    std::fs::remove_dir_all(&path).unwrap();
    test.new_sandbox(&["box"]);
    test.run(&[&["run", "box"][..], &COMMIT].concat()).ok();
    assert_eq!(who(&test, &path), "Agent <a@b> Agent <a@b>");
}

#[test]
fn a_bad_author_is_refused() {
    let test = Test::new();
    test.new_sandbox(&["box"]);
    for bad in ["Agent", "<a@b>", "Agent <>", "Agent <a@b> x", "Agent a@b>"] {
        test.run(&["run", "--author", bad, "box", "touch", "x"])
            .stderr(&format!(
                "error: bad value '{bad}' for '--author': it must be of the form 'Name <email>'\n"
            ))
            .refused();
    }
    test.git(&["config", "sandbox.author", "nobody"]);
    test.run(&["run", "box", "touch", "x"])
        .stderr(
            "error: bad value 'nobody' for 'sandbox.author': \
             it must be of the form 'Name <email>'\n\
             hint: git config --show-origin --get-all sandbox.author\n",
        )
        .refused();
}

#[test]
fn a_bad_author_is_refused_before_anything_is_created() {
    let test = Test::new();
    test.run(&["new", "box", "--author", "Agent", "--", "true"])
        .stderr("error: bad value 'Agent' for '--author': it must be of the form 'Name <email>'\n")
        .refused();
    test.git(&["config", "sandbox.author", "nobody"]);
    test.run(&["new", "box", "--", "true"])
        .stderr(
            "error: bad value 'nobody' for 'sandbox.author': \
             it must be of the form 'Name <email>'\n\
             hint: git config --show-origin --get-all sandbox.author\n",
        )
        .refused();
}
