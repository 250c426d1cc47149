//! Coming back: the first agent gets the task, later ones the beacon.

use std::fs;

use crate::fixture::Test;
use crate::fixture::lab::Lab;
use crate::fixture::state::private;

/// A test with agents that tell what they got.
fn with_agents() -> Lab {
    let lab = Lab::new();
    let script = "printf '%s' \"${0##*/} $#\"; printf '|%s' \"$@\"; echo \"|$GIT_SANDBOX_BEACON\"; \
                  exit ${EXIT:-0}";
    for (key, name) in [("sandbox.agent", "first"), ("sandbox.agentResume", "again")] {
        let path = lab.script(&format!("bin/{name}"), script);
        lab.git(&["config", key, &path.to_string_lossy()]);
    }
    lab
}

fn answer(test: &Test, words: &[&str]) -> String {
    String::from_utf8(test.run(words).output().stdout).unwrap()
}

const BEACON: &str = "You come back to sandbox 'fix' on branch 'fix'.\n\
     Task: Refactor login\n\
     State: no commits beyond 'main' yet, nothing uncommitted.\n\
     Last run: first: done 0s.\n\
     Go on from there; what is done need not be done again.";

#[test]
fn the_first_agent_gets_the_task_and_later_ones_the_beacon() {
    let lab = with_agents();
    lab.new_sandbox(&["fix", "--no-run", "Refactor", "login"]);
    assert_eq!(answer(&lab, &["run", "fix"]), "first 1|Refactor login|\n");
    assert_eq!(answer(&lab, &["run", "fix"]), format!("again 1|{BEACON}|{BEACON}\n"));
    let third = answer(&lab, &["run", "fix"]);
    assert!(third.contains("Last run: again: done 0s.\n"), "{third}");
}

#[test]
fn the_beacon_tells_how_things_stand() {
    let lab = with_agents();
    let path = lab.new_sandbox(&["fix", "--no-run", "Refactor", "login"]);
    lab.run(&["run", "fix"])
        .env("EXIT", "3")
        .stdout("first 1|Refactor login|\n")
        .stderr("task: Refactor login\nbranch: fix; last used: just now; clean\n")
        .code(3);
    lab.commit(&path, "a", "Begin\n");
    lab.commit(&path, "b", "Add tests\n");
    fs::write(path.join("file"), "edited\n").unwrap();
    // What was typed in between is not what the agent did.
    lab.run(&["run", "fix", "true"]).ok();
    let said = answer(&lab, &["run", "fix"]);
    for line in [
        "State: 2 commits beyond 'main', the newest is \"Add tests\", 1 uncommitted change.",
        "Last run: first: failed (3).",
    ] {
        assert!(said.lines().any(|got| got == line), "{line} in\n{said}");
    }
}

#[test]
fn without_a_command_to_resume_the_agent_itself_gets_the_beacon() {
    let lab = with_agents();
    lab.git(&["config", "--unset", "sandbox.agentResume"]);
    lab.new_sandbox(&["fix", "--no-run", "Refactor", "login"]);
    assert_eq!(answer(&lab, &["run", "fix"]), "first 1|Refactor login|\n");
    assert_eq!(answer(&lab, &["run", "fix"]), format!("first 1|{BEACON}|{BEACON}\n"));
}

#[test]
fn a_new_task_is_sent_to_an_agent_that_comes_back() {
    let lab = with_agents();
    lab.new_sandbox(&["fix", "--no-run", "Refactor", "login"]);
    answer(&lab, &["run", "fix"]);
    lab.new_sandbox(&["fix", "--no-run", "Now the logout"]);
    let said = answer(&lab, &["run", "fix"]);
    assert!(said.starts_with("again 1|Now the logout|You come back to sandbox 'fix'"), "{said}");
    assert!(said.contains("\nTask: Now the logout\n"), "{said}");
    assert!(answer(&lab, &["run", "fix"]).starts_with("again 1|You come back to sandbox"));
}

#[test]
fn an_agent_that_mentions_the_beacon_gets_no_argument() {
    let lab = with_agents();
    let value = "\"$HOME/bin/again\" --prompt \"$GIT_SANDBOX_BEACON\"";
    lab.git(&["config", "sandbox.agentResume", value]);
    lab.new_sandbox(&["fix", "--no-run", "Refactor", "login"]);
    answer(&lab, &["run", "fix"]);
    assert_eq!(answer(&lab, &["run", "fix"]), format!("again 2|--prompt|{BEACON}|{BEACON}\n"));
}

#[test]
fn a_typed_command_can_ask_for_the_beacon() {
    let (lab, _) = Lab::with_box();
    let line = "You come back to sandbox 'box' on branch 'box'.";
    assert_eq!(
        answer(&lab, &["run", "box", "echo", "<{beacon}>"]).lines().next(),
        Some(&*format!("<{line}"))
    );
    // Else it costs nothing: git was not asked.
    let said = answer(&lab, &["run", "box", "sh", "-c", "echo \"<$GIT_SANDBOX_BEACON>\""]);
    assert_eq!(said, "<>\n");
}

#[test]
fn a_beacon_of_the_callers_own_sandbox_is_not_passed_on() {
    let (lab, _) = Lab::with_box();
    lab.run(&["run", "box", "sh", "-c", "echo \"<$GIT_SANDBOX_BEACON>\""])
        .env("GIT_SANDBOX_BEACON", "of another")
        .stdout("<>\n")
        .ok();
}

#[test]
fn commands_have_a_port_that_stays_and_differs() {
    let lab = Lab::new();
    let mut ports = Vec::new();
    lab.git(&["config", "sandbox.setup", "echo \"$GIT_SANDBOX_PORT\" >>\"$HOME/setup\""]);
    for name in ["a", "b", "c"] {
        lab.new_sandbox(&[name]);
        let print = ["run", name, "printenv", "GIT_SANDBOX_PORT"];
        let port = answer(&lab, &print);
        assert_eq!(answer(&lab, &print), port);
        let number: u16 = port.trim().parse().unwrap();
        assert!((20_000..30_000).contains(&number), "{number}");
        ports.push(port);
    }
    assert_eq!(fs::read_to_string(lab.home.join("setup")).unwrap(), ports.concat());
    ports.sort();
    ports.dedup();
    assert_eq!(ports.len(), 3);
}

#[test]
fn a_port_that_is_taken_is_not_chosen() {
    let lab = Lab::new();
    lab.new_sandbox(&["a"]);
    let first = answer(&lab, &["run", "a", "printenv", "GIT_SANDBOX_PORT"]);
    lab.new_sandbox(&["b"]);
    let entry = |name: &str| private(&lab.app(), name).join("sandbox.port");
    // As if another sandbox had the one that is `a`'s by its name.
    fs::rename(entry("a"), entry("b")).unwrap();
    let second = answer(&lab, &["run", "a", "printenv", "GIT_SANDBOX_PORT"]);
    assert_eq!(answer(&lab, &["run", "b", "printenv", "GIT_SANDBOX_PORT"]), first);
    let number = |text: &str| text.trim().parse::<u16>().unwrap();
    assert_eq!(number(&second), (number(&first) - 20_000 + 1) % 10_000 + 20_000);
}
