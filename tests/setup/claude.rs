//! `setup --agent claude`: hooks in settings that are the user's.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::fixture::Test;
use crate::fixture::files::{chmod, write};

const SETTINGS: &str = "{\n  \"model\": \"opus\",\n  \"n\": 1.50,\n  \"hooks\": {\n    \"Stop\": [ {\"hooks\": []} ]\n  },\n  \"z\": [1,\n   2]\n}\n";

#[test]
fn the_hooks_of_claude_are_set_beside_what_is_there_and_taken_back() {
    let test = Test::bare();
    let path = test.home.join(".claude/settings.json");
    write(&path, SETTINGS);
    chmod(&path, 0o640);
    let run = |words: &[&str]| test.run_in(&test.home, words);
    let installed = "installed the hooks of Claude Code: $HOME/.claude/settings.json\n";
    run(&["setup", "--agent", "claude"]).stderr(installed).ok();
    let text = std::fs::read_to_string(&path).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&text).unwrap();
    let hook = json!([{"hooks": [{"type": "command", "command": "git sandbox hook claude"}]}]);
    assert_eq!(settings["hooks"]["WorktreeCreate"], hook);
    assert_eq!(settings["hooks"]["WorktreeRemove"], hook);
    assert_eq!(settings["hooks"]["Stop"], json!([{"hooks": []}]));
    assert!(text.contains("\"n\": 1.50,") && text.contains("\"z\": [1,\n   2]"), "{text}");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    let in_place = "in place: the hooks of Claude Code: $HOME/.claude/settings.json\n";
    run(&["setup", "--agent", "claude"]).stderr(in_place).ok();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    run(&["setup", "--agent", "claude", "--uninstall"])
        .stderr("took the hooks of Claude Code out of $HOME/.claude/settings.json\n")
        .ok();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), SETTINGS);
    run(&["setup", "--agent", "claude", "--uninstall"])
        .stderr("no hooks of Claude Code are installed\n")
        .ok();
}

#[test]
fn uninstalling_everything_takes_the_hooks_too() {
    let test = Test::bare();
    let path = test.home.join("conf/settings.json");
    let run = |words: &[&str]| {
        test.run_in(&test.home, words).env("CLAUDE_CONFIG_DIR", test.home.join("conf"))
    };
    run(&["setup", "--agent", "claude"])
        .stderr("installed the hooks of Claude Code: $HOME/conf/settings.json\n")
        .ok();
    assert!(path.exists() && !test.home.join(".claude").exists());
    run(&["setup", "--uninstall"])
        .stderr("took the hooks of Claude Code out of $HOME/conf/settings.json\n")
        .ok();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n");
}

#[test]
fn settings_that_are_no_json_or_have_another_hook_are_left_alone() {
    let test = Test::bare();
    let path = test.home.join(".claude/settings.json");
    let other = "{\"hooks\": {\"WorktreeCreate\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}]}}";
    for (text, why) in [
        (
            "{ // a comment\n}",
            "error: cannot edit '$HOME/.claude/settings.json': it is not understood as JSON: key must be a string at line 1 column 3\n",
        ),
        (other, "error: another hook for WorktreeCreate is set in '$HOME/.claude/settings.json'\n"),
    ] {
        write(&path, text);
        test.run_in(&test.home, &["setup", "--agent", "claude"]).stderr(why).code(1);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        test.run_in(&test.home, &["setup", "--agent", "claude", "--uninstall"])
            .stderr("no hooks of Claude Code are installed\n")
            .ok();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn settings_behind_a_link_stay_behind_it() {
    let test = Test::bare();
    let (link, real) =
        (test.home.join(".claude/settings.json"), test.home.join("dots/claude.json"));
    write(&real, "{}");
    std::fs::create_dir(test.home.join(".claude")).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let output = test.run_in(&test.home, &["setup", "--agent", "claude"]).output();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(std::fs::read_link(&link).unwrap(), real);
    assert!(std::fs::read_to_string(&real).unwrap().contains("git sandbox hook claude"));
}
