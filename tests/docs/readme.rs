//! The journeys of the README, as a reader would paste them.

use std::fs;
use std::path::Path;

use crate::fixture::Test;
use crate::fixture::built::{program, source};
use crate::fixture::files::{names_in, tree, write};
use crate::fixture::process::{finished, finished_on_terminal};
use crate::fixture::tools::have;

/// The block of shell commands that follows `<!-- journey: <name> -->`.
#[track_caller]
fn journey(name: &str) -> String {
    let readme = fs::read_to_string(source("README.md"));
    let readme = readme.unwrap();
    let mark = format!("<!-- journey: {name} -->\n```sh\n");
    let (_, after) = readme.split_once(&mark).unwrap_or_else(|| panic!("no journey '{name}'"));
    after.split_once("```\n").unwrap().0.to_owned()
}

/// Puts the programs in `bin` at home first on PATH.
fn with_bin(test: &Test, command: &mut std::process::Command) {
    let path = command.get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap();
    let path = format!("{}:{}", test.home.join("bin").display(), path.to_string_lossy());
    command.env("PATH", path);
}

/// Runs a journey in the repository; it must succeed. What it printed on stdout.
#[track_caller]
fn travel(test: &Test, name: &str) -> String {
    // The agent that the README names: it commits a note of its task.
    test.script(
        "bin/claude",
        "set -e\nif [ \"$1\" = --continue ]; then set -- \"$2\" resumed; fi\n[ \"$#\" = 2 ]\n[ \"$1\" = -p ]\necho \"$2\" >>notes\ngit add notes\n\
         git commit --quiet -m \"$2\"\necho \"done: $2\"",
    );
    let mut command = test.command("bash", &test.app());
    with_bin(test, &mut command);
    command.args(["-euo", "pipefail", "-c", &journey(name)]).env("GIT_PAGER", "cat");
    let output = finished_on_terminal(&mut command);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {}\n{stdout}{stderr}", output.status);
    stdout
}

/// The subjects of the commits that a branch has and `main` does not.
fn subjects(test: &Test, branch: &str) -> String {
    test.git(&["log", "--format=%s", &format!("main..{branch}")])
}

#[test]
fn there_are_five_journeys() {
    let readme = fs::read_to_string(source("README.md"));
    let readme = readme.unwrap();
    let marks = readme.lines().filter_map(|line| line.strip_prefix("<!-- journey: "));
    let names: Vec<_> = marks.map(|mark| mark.trim_end_matches(" -->")).collect();
    assert_eq!(names, ["feature", "repair", "task", "many", "clean-up"]);
}

/// Every file of the main checkout, its commit, its branch and its index.
fn main_checkout(test: &Test) -> String {
    tree(&test.app(), &[".git"])
        + &test.git(&["for-each-ref", "refs/heads", "refs/remotes"])
        + &test.git(&["symbolic-ref", "HEAD"])
        + &test.git(&["ls-files", "-s"])
}

#[test]
fn a_new_that_fails_leaves_the_main_checkout_alone() {
    for shell in ["bash", "zsh"].into_iter().filter(|shell| have(shell)) {
        for name in ["feature", "repair", "task", "many", "clean-up"] {
            let test = Test::new();
            test.remote("origin", "fix/bug-123");
            let before = main_checkout(&test);
            // Line by line, as a terminal gets it: what fails does not end the rest.
            let mut command = test.command(shell, &test.app());
            test.script("bin/claude", "exit 0");
            with_bin(&test, &mut command);
            command.args(if shell == "bash" { &["--norc", "-s"][..] } else { &["-f", "-s"] });
            write(&test.home.join("pasted"), &journey(name));
            command.stdin(fs::File::open(test.home.join("pasted")).unwrap());
            command.env("GIT_SANDBOX_ROOT", "/dev/null/x");
            let output = finished(&mut command);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                said.contains("cannot keep sandboxes in '/dev/null/x"),
                "{shell} {name}: {said}"
            );
            assert_eq!(main_checkout(&test), before, "{shell} {name}");
            assert!(!Path::new("/idea.txt").exists());
        }
    }
}

#[test]
fn the_install_lines_work_outside_of_the_source_tree() {
    let test = Test::new();
    let readme = fs::read_to_string(source("README.md")).unwrap();
    let (_, block) = readme.split_once("<!-- install -->\n```sh\n").unwrap();
    let block = block.split_once("```\n").unwrap().0;
    // The source: what cargo needs of it is that it is there.
    let source = test.init("upstream", &[]);
    test.commit(&source, "Cargo.toml", "[package]\nname = \"git-sandbox\"\n");
    let block = block.replace("<url of this repository>", source.to_str().unwrap());
    fs::create_dir(test.home.join("src")).unwrap();
    fs::rename(test.app(), test.home.join("src/app")).unwrap();
    // cargo puts the built program where PATH finds it.
    let program = program();
    let text = format!(
        "set -e\n[ \"$*\" = \"install --locked --path git-sandbox\" ]\n\
         grep -q git-sandbox git-sandbox/Cargo.toml\ncp {} \"$HOME/bin/git-sandbox\"",
        program.display()
    );
    test.script("bin/cargo", &text);
    let mut command = test.command("bash", &test.home);
    let path = format!("{}:{}", test.home.join("bin").display(), std::env::var("PATH").unwrap());
    let output = finished(command.env("PATH", path).args(["-euc", &block]));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(test.sandboxes(), ["fix-auth"]);
}

/// Where a browser puts each letter of each line: its column, by the width of a letter.
const MEASURE: &str = "<script><![CDATA[
for (const line of document.querySelectorAll('text')) {
  const at = [];
  for (let i = 0; i < line.getNumberOfChars(); i++) at.push(line.getStartPositionOfChar(i).x);
  line.setAttribute('data-columns', at.map(x => Math.round((x - 20) / 8.4)).join(' '));
}
]]></script></svg>";

#[test]
fn a_browser_keeps_the_columns_of_the_picture() {
    if !have("chromium") {
        return;
    }
    let test = Test::bare();
    let top = source("");
    let picture = fs::read_to_string(top.join("docs/session.svg")).unwrap();
    let lines: Vec<usize> = picture.lines().filter_map(letters).collect();
    assert!(lines.len() > 15, "{lines:?}");
    let page = test.home.join("page.svg");
    fs::write(&page, picture.replace("</svg>", MEASURE)).unwrap();
    let mut command = test.command("chromium", &test.home);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
    let output = finished(command.arg(format!("file://{}", page.display())));
    let text = String::from_utf8_lossy(&output.stdout);
    let measured =
        text.split("data-columns=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let measured: Vec<String> = measured.map(str::to_owned).collect();
    let columns =
        |count: &usize| (0..*count).map(|at| at.to_string()).collect::<Vec<_>>().join(" ");
    let wanted: Vec<String> = lines.iter().map(columns).collect();
    assert_eq!(measured, wanted, "{}", String::from_utf8_lossy(&output.stderr));
}

/// How many letters a line of the picture has, if it has text.
fn letters(line: &str) -> Option<usize> {
    let (_, text) = line.strip_prefix("<text ")?.split_once('>')?;
    let text = text.strip_suffix("</text>")?;
    let mut plain = String::new();
    for piece in text.split('<') {
        plain += piece.split_once('>').map_or(piece, |(_, after)| after);
    }
    let plain = plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    Some(plain.chars().count())
}

#[test]
fn a_new_feature() {
    let test = Test::new();
    travel(&test, "feature");
    assert_eq!(test.git(&["log", "-1", "--format=%s", "main"]), "Add a search box");
    assert!(test.app().join("search.txt").exists());
    assert!(test.sandboxes().is_empty());
    assert_eq!(test.branches(), ["feat/search", "main"]);
}

#[test]
fn repair_a_branch_that_a_remote_has() {
    let test = Test::new();
    test.remote("origin", "fix/bug-123");
    let remote = test.home.join("origin");
    test.git_in(&remote, &["checkout", "--quiet", "main"]);
    travel(&test, "repair");
    let pushed = test.git_in(&remote, &["log", "--format=%s", "main..fix/bug-123"]);
    assert_eq!(pushed, "Repair bug 123\norigin");
    assert_eq!(test.sandboxes(), ["fix-bug-123"]);
    let upstream = test.git(&["rev-parse", "--abbrev-ref", "fix/bug-123@{upstream}"]);
    assert_eq!(upstream, "origin/fix/bug-123");
}

#[test]
fn a_task_for_an_agent() {
    let test = Test::new();
    travel(&test, "task");
    assert_eq!(test.sandboxes(), ["fix-auth", "fix-tests"]);
    assert_eq!(subjects(&test, "fix-auth"), "Refactor login");
    assert_eq!(subjects(&test, "fix-tests"), "resumed\nRepair the flaky test");
}

#[test]
fn many_agents_at_once() {
    let test = Test::new();
    let stdout = travel(&test, "many");
    assert_eq!(stdout.matches("done: Make the tests faster\n").count(), 3, "{stdout}");
    assert_eq!(test.sandboxes(), ["worker-1", "worker-2", "worker-3"]);
    for worker in ["worker-1", "worker-2", "worker-3"] {
        assert_eq!(subjects(&test, worker), "Make the tests faster");
        assert_eq!(test.json(&["show", "--json", worker])["in_use"], serde_json::json!([]));
    }
}

#[test]
fn clean_up_and_undo_it() {
    let test = Test::new();
    let merged = test.new_sandbox(&["merged"]);
    test.commit(&merged, "new", "new");
    test.git(&["merge", "--quiet", "merged"]);
    let stdout = travel(&test, "clean-up");
    assert!(stdout.contains("refused: there is work in it\n"), "{stdout}");
    assert_eq!(test.sandboxes(), ["draft"]);
    let idea = fs::read_to_string(test.at("draft").join("idea.txt")).unwrap();
    assert_eq!(idea, "half a thought\n");
    assert_eq!(test.git_in(&test.at("draft"), &["branch", "--show-current"]), "draft");
    let trash = names_in(&test.home.join(".cache/git-sandbox/worktrees/.trash"));
    assert!(matches!(&trash[..], [id] if id.starts_with("merged-")), "{trash:?}");
}

#[test]
fn the_picture_shows_what_the_program_prints() {
    if !have("python3") {
        return;
    }
    let test = Test::bare();
    let top = source("");
    let mut command = test.command("python3", &top);
    let output = finished(command.arg("docs/picture").arg(program()));
    let wanted = fs::read_to_string(top.join("docs/session.svg")).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), wanted, "run docs/picture");
}
