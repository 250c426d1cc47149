//! The blocks of the README on agents that are not trusted, as a reader would paste them.

use std::fs;

use crate::fixture::built::source;
use crate::fixture::cell::Cell;
use crate::fixture::files::write;
use crate::fixture::process::finished;

/// The block of shell commands that follows `<!-- walls: <name> -->`.
#[track_caller]
fn block(name: &str) -> String {
    let readme = fs::read_to_string(source("README.md")).unwrap();
    let mark = format!("<!-- walls: {name} -->\n```sh\n");
    readme.split_once(&mark).unwrap().1.split_once("```\n").unwrap().0.to_owned()
}

#[test]
fn an_agent_that_is_not_trusted_works_and_what_it_commits_is_taken_over() {
    let Some(cell) = Cell::new() else { return };
    let script = "set -e\necho \"$2\" >>notes\necho evil >>~/.claude/settings.json || :\n\
                  echo $ANTHROPIC_API_KEY >>~/.claude/state || :\ngit add notes\ngit commit --quiet -m \"$2\"";
    cell.lab.script(".local/bin/claude", script);
    write(&cell.lab.home.join(".claude/settings.json"), "{}\n");
    cell.give(&cell.lab.home);
    let paste = |text: &str| {
        let line = format!("PATH=\"$HOME/.local/bin:$PATH\"; export ANTHROPIC_API_KEY=key\n{text}");
        let output = finished(&mut cell.command(&["bash", "-euo", "pipefail", "-c", &line]));
        assert!(output.status.success(), "{output:?}");
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    let (stdout, stderr) = paste(&block("try"));
    assert!(stdout.trim_end().ends_with(" Try the other parser"), "{stdout}");
    assert!(
        stderr.contains("; no network; home hidden")
            && stderr.contains("took 1 commit into branch 'try-it' (")
    );
    let state = cell.lab.home.join(".claude/state");
    assert!(!state.exists(), "nothing of the home was named");
    let again =
        format!("{}git sandbox run --network=hosts try-it -- claude -p more", block("agent"));
    let (_, stderr) = paste(&again);
    assert!(stderr.contains("; network: 1 host; home hidden"), "{stderr}");
    assert_eq!(fs::read_to_string(&state).unwrap(), "key\n");
    let settings = cell.lab.home.join(".claude/settings.json");
    assert_eq!(fs::read_to_string(settings).unwrap(), "{}\n");
    assert_eq!(cell.git(&cell.lab.app(), &["log", "-1", "--format=%s", "try-it"]), "more\n");
}
