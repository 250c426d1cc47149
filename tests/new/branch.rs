//! `git sandbox new`: which branch a name means, and where it starts.

use crate::fixture::state::private;
use std::path::Path;

use crate::fixture::files::names_in;
use crate::fixture::{NOW, Test};

#[test]
fn new_creates_a_sandbox_and_resumes_it() {
    let test = Test::new();
    test.run(&["new", "fix-auth", "Refactor", "login"])
        .stdout("$ROOT/fix-auth\n")
        .stderr("created sandbox 'fix-auth' for \"Refactor login\": new branch 'fix-auth' from 'main'\n")
        .ok();
    assert_eq!(
        test.git_in(&test.at("fix-auth"), &["status", "--porcelain=v2", "--branch"])
            .lines()
            .count(),
        2
    );
    assert_eq!(test.git_in(&test.at("fix-auth"), &["branch", "--show-current"]), "fix-auth");
    test.run(&["new", "fix-auth"])
        .stdout("$ROOT/fix-auth\n")
        .stderr("task: Refactor login\nresumed sandbox 'fix-auth'\n")
        .ok();
    assert!(!Path::new(&test.at("fix-auth-2")).exists());
}

#[test]
fn a_sandbox_is_what_git_worktree_add_makes() {
    let test = Test::new();
    test.git(&["worktree", "add", "--quiet", "../plain", "-b", "plain"]);
    test.new_sandbox(&["mine"]);
    let status = |dir: &Path| test.git_in(dir, &["status", "--porcelain=v2", "--ignored"]);
    assert_eq!(status(&test.at("mine")), status(&test.home.join("plain")));
    assert_eq!(names_in(&test.at("mine")), names_in(&test.home.join("plain")));
    let entries = test.app().join(".git/worktrees");
    let mut files = names_in(&private(&test.app(), "mine"));
    files.retain(|file| !file.starts_with("sandbox."));
    let mut gits = names_in(&entries.join("plain"));
    // An empty folder, which gits before 2.45 make only when there is something to put into it.
    for names in [&mut files, &mut gits] {
        names.retain(|name| name != "refs");
    }
    assert_eq!(files, gits);
}

#[test]
fn an_existing_branch_is_used_as_it_is() {
    let test = Test::new();
    test.git(&["checkout", "--quiet", "-b", "fix"]);
    let commit = test.commit(&test.app(), "file", "two\n");
    test.git(&["checkout", "--quiet", "main"]);
    test.run(&["new", "fix", "Go", "on"])
        .stdout("$ROOT/fix\n")
        .stderr("created sandbox 'fix' for \"Go on\": branch 'fix'\n")
        .ok();
    assert_eq!(test.git_in(&test.at("fix"), &["rev-parse", "HEAD", "fix"]), {
        format!("{commit}\n{commit}")
    });
    let facts = test.json(&["show", "fix", "--json"]);
    assert_eq!(facts["task"], "Go on");
    assert_eq!(facts["base"], serde_json::Value::Null);
}

#[test]
fn a_task_is_echoed_and_a_long_one_cut() {
    let test = Test::new();
    // A quote that was forgotten is seen.
    test.run(&["new", "Fix", "the", "login"])
        .stdout("$ROOT/Fix\n")
        .stderr("created sandbox 'Fix' for \"the login\": new branch 'Fix' from 'main'\n")
        .ok();
    let task =
        "Rewrite the parser.\nKeep every test as it is, and add one for each bug that you find";
    test.run(&["new", "long", task])
        .env("LC_ALL", "C.UTF-8")
        .stdout("$ROOT/long\n")
        .stderr(
            "created sandbox 'long' for \"Rewrite the parser.\\nKeep every test as it is, \
             and add one …\": new branch 'long' from 'main'\n",
        )
        .ok();
    assert_eq!(test.json(&["show", "--json", "long"])["task"], task);
}

#[test]
fn with_name_every_operand_is_the_task() {
    let test = Test::new();
    test.git(&["branch", "old"]);
    test.run(&["new", "--name", "old", "old", "and", "new"])
        .stdout("$ROOT/old\n")
        .stderr("created sandbox 'old' for \"old and new\": branch 'old'\n")
        .ok();
    test.run(&["new", "--name=fresh", "old"])
        .stdout("$ROOT/fresh\n")
        .stderr("created sandbox 'fresh' for \"old\": new branch 'fresh' from 'main'\n")
        .ok();
    assert_eq!(test.json(&["show", "refs/heads/old", "--json"])["task"], "old and new");
    assert_eq!(test.json(&["show", "fresh", "--json"])["task"], "old");
}

#[test]
fn a_branch_that_one_remote_has_is_followed() {
    let test = Test::new();
    let theirs = test.remote("origin", "feat/pr");
    test.run(&["new", "feat/pr", "Repair", "it"])
        .stdout("$ROOT/feat-pr\n")
        .stderr("created sandbox 'feat-pr' for \"Repair it\": new branch 'feat/pr' following 'origin/feat/pr'\n")
        .ok();
    assert_eq!(test.git(&["rev-parse", "feat/pr"]), theirs);
    assert_eq!(test.git(&["config", "branch.feat/pr.remote"]), "origin");
    assert_eq!(test.git(&["config", "branch.feat/pr.merge"]), "refs/heads/feat/pr");
    let facts = test.json(&["show", "feat/pr", "--json"]);
    assert_eq!((&facts["upstream"], &facts["ahead"]), (&"origin/feat/pr".into(), &0.into()));
    assert_eq!(facts["task"], "Repair it");
}

#[test]
fn a_local_branch_comes_before_a_remote_one() {
    let test = Test::new();
    test.remote("origin", "pr");
    test.git(&["branch", "--no-track", "pr", "main"]);
    test.run(&["new", "pr"])
        .stdout("$ROOT/pr\n")
        .stderr("created sandbox 'pr': branch 'pr'\n")
        .ok();
    assert_eq!(test.git(&["rev-parse", "pr"]), test.git(&["rev-parse", "main"]));
}

#[test]
fn a_branch_that_two_remotes_have_is_made_new() {
    let test = Test::new();
    test.remote("origin", "pr");
    test.remote("other", "pr");
    test.run(&["new", "pr"])
        .stdout("$ROOT/pr\n")
        .stderr(
            "warning: 'origin' and 'other' both have a branch 'pr'; this new one starts at HEAD\n\
             hint: git -c checkout.defaultRemote=origin sandbox new pr follows that of 'origin'\n\
             created sandbox 'pr': new branch 'pr' from 'main'\n",
        )
        .ok();
    assert_eq!(test.git(&["rev-parse", "pr"]), test.git(&["rev-parse", "main"]));
}

#[test]
fn the_default_remote_decides_between_two() {
    let test = Test::new();
    test.remote("origin", "pr");
    let theirs = test.remote("other", "pr");
    test.git(&["config", "checkout.defaultRemote", "other"]);
    test.run(&["new", "pr"])
        .stdout("$ROOT/pr\n")
        .stderr("created sandbox 'pr': new branch 'pr' following 'other/pr'\n")
        .ok();
    assert_eq!(test.git(&["rev-parse", "pr"]), theirs);
}

#[test]
fn remotes_are_not_looked_at_without_guessing() {
    let test = Test::new();
    test.remote("origin", "pr");
    test.git(&["config", "checkout.guess", "false"]);
    test.run(&["new", "pr"])
        .stdout("$ROOT/pr\n")
        .stderr("created sandbox 'pr': new branch 'pr' from 'main'\n")
        .ok();
    assert_eq!(test.git(&["rev-parse", "pr"]), test.git(&["rev-parse", "main"]));
}

#[test]
fn a_new_branch_follows_nothing_even_where_git_would() {
    let test = Test::new();
    test.remote("origin", "pr");
    test.git(&["config", "branch.autoSetupMerge", "always"]);
    let config = test.git(&["config", "--local", "--list"]);
    test.run(&["new", "fix", "--from", "origin/pr"])
        .stdout("$ROOT/fix\n")
        .stderr("created sandbox 'fix': new branch 'fix' from 'origin/pr'\n")
        .ok();
    assert_eq!(test.git(&["config", "--local", "--list"]), config);
}

#[test]
fn from_says_where_a_new_branch_starts() {
    let test = Test::new();
    let first = test.git(&["rev-parse", "HEAD"]);
    test.git(&["tag", "-a", "v1", "-m", "v1"]);
    test.commit(&test.app(), "file", "two\n");
    for (name, from) in [("a", "v1"), ("b", "HEAD~1"), ("c", &first[..12])] {
        test.run(&["new", name, "--from", from])
            .stdout(&format!("$ROOT/{name}\n"))
            .stderr(&format!("created sandbox '{name}': new branch '{name}' from '{from}'\n"))
            .ok();
        assert_eq!(test.git(&["rev-parse", name]), first);
    }
    assert_eq!(test.json(&["show", "a", "--json"])["base"], serde_json::Value::Null);
}

#[test]
fn the_base_is_the_branch_it_started_from() {
    let test = Test::new();
    test.git(&["branch", "release"]);
    test.new_sandbox(&["a"]);
    test.new_sandbox(&["b", "--from", "release"]);
    assert_eq!(test.json(&["show", "a", "--json"])["base"], "main");
    assert_eq!(test.json(&["show", "b", "--json"])["base"], "release");
}

#[test]
fn without_a_name_it_is_an_exploration() {
    let test = Test::new();
    let (one, other) = (test.new_sandbox(&[]), test.new_sandbox(&["--from", "main"]));
    assert_ne!(one, other);
    for path in [&one, &other] {
        let name = path.file_name().unwrap().to_str().unwrap();
        let digits = name.strip_prefix("exploration-").unwrap();
        assert!(digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
        assert_eq!(path.parent(), Some(&*test.root()));
        let facts = test.json(&["show", name, "--json"]);
        assert_eq!((&facts["class"], &facts["branch"]), (&"transient".into(), &().into()));
    }
    assert_eq!(test.branches(), ["main"]);
}

#[test]
fn detach_makes_a_named_exploration_and_resumes_it() {
    let test = Test::new();
    test.git(&["branch", "look"]);
    test.run(&["new", "--detach", "look", "What", "if"])
        .stdout("$ROOT/exploration-look\n")
        .stderr("created sandbox 'exploration-look' for \"What if\": detached at 'main'\n")
        .ok();
    test.run(&["new", "--detach", "look"])
        .stdout("$ROOT/exploration-look\n")
        .stderr("task: What if\nresumed sandbox 'exploration-look'\n")
        .ok();
    assert_eq!(test.sandboxes(), ["exploration-look"]);
    assert_eq!(test.git_in(&test.at("exploration-look"), &["branch", "--show-current"]), "");
}

#[test]
fn branch_goes_into_the_folder_that_the_name_gives() {
    let test = Test::new();
    test.git(&["branch", "old"]);
    test.run(&["new", "here", "--branch", "old", "A", "task"])
        .stdout("$ROOT/here\n")
        .stderr("created sandbox 'here' for \"A task\": branch 'old'\n")
        .ok();
    test.run(&["new", "there", "--branch", "fresh"])
        .stdout("$ROOT/there\n")
        .stderr("created sandbox 'there': new branch 'fresh' from 'main'\n")
        .ok();
    test.run(&["new", "elsewhere", "--branch", "old"])
        .stdout("$ROOT/here\n")
        .stderr("task: A task\nresumed sandbox 'here'\n")
        .ok();
    assert_eq!(test.sandboxes(), ["here", "there"]);
    assert_eq!(test.branches(), ["fresh", "main", "old"]);
}

#[test]
fn count_makes_a_pool_and_each_of_it_once() {
    let test = Test::new();
    test.new_sandbox(&["job-2"]);
    test.run(&["new", "job", "Race", "--count", "3"])
        .stdout("$ROOT/job-1\n$ROOT/job-2\n$ROOT/job-3\n")
        .stderr(
            "created sandbox 'job-1' for \"Race\": new branch 'job-1' from 'main'\n\
             task: Race\nresumed sandbox 'job-2'\n\
             created sandbox 'job-3' for \"Race\": new branch 'job-3' from 'main'\n",
        )
        .ok();
    test.run(&["new", "--count=2", "job"])
        .stdout("$ROOT/job-1\n$ROOT/job-2\n")
        .stderr("task: Race\nresumed sandbox 'job-1'\ntask: Race\nresumed sandbox 'job-2'\n")
        .ok();
    assert_eq!(test.sandboxes(), ["job-1", "job-2", "job-3"]);
    assert_eq!(test.branches(), ["job-1", "job-2", "job-3", "main"]);
}

#[test]
fn count_without_a_name_makes_explorations() {
    let test = Test::new();
    let output = test.run(&["new", "--count", "3"]).output();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut names: Vec<_> = text.lines().map(|path| path.rsplit_once('/').unwrap().1).collect();
    names.sort_unstable();
    assert_eq!(names, test.sandboxes());
    assert_eq!(names.len(), 3);
}

#[test]
fn dir_puts_one_sandbox_elsewhere() {
    let test = Test::new();
    test.run(&["new", "feat/ui", "--dir", "../else/where"])
        .stdout("$HOME/else/where/feat-ui\n")
        .stderr("created sandbox 'feat-ui': new branch 'feat/ui' from 'main'\n")
        .ok();
    test.run(&["new", "feat/ui"])
        .stdout("$HOME/else/where/feat-ui\n")
        .stderr("resumed sandbox 'feat-ui'\n")
        .ok();
    assert!(!test.home.join(".cache").exists());
    let facts = test.json(&["show", "feat/ui", "--json"]);
    assert_eq!((&facts["managed"], &facts["expires"]), (&false.into(), &().into()));
}

#[test]
fn json_tells_what_was_made_and_that_it_was_resumed() {
    let test = Test::new();
    let made = test.json(&["new", "fix", "A", "task", "--json"]);
    let shown = test.json(&["show", "fix", "--json"]);
    assert_eq!(made["action"], "created");
    for (key, value) in shown.as_object().unwrap() {
        assert_eq!(&made[key], value, "{key}");
    }
    assert_eq!(made.as_object().unwrap().len(), shown.as_object().unwrap().len() + 1);
    assert_eq!(made["created"], NOW);
    assert_eq!(test.json(&["new", "fix", "--json"])["action"], "resumed");
    let pool = test.json(&["new", "fix", "--count", "1", "--json"]);
    assert_eq!(pool[0]["name"], "fix-1");
    let pool = test.json(&["new", "job", "--count", "2", "--json"]);
    assert_eq!((&pool[0]["name"], &pool[1]["name"]), (&"job-1".into(), &"job-2".into()));
}

#[test]
fn json_comes_alone_on_stdout_and_the_words_on_stderr() {
    let test = Test::new();
    let output = test.run(&["new", "fix", "--json"]).output();
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "created sandbox 'fix': new branch 'fix' from 'main'\n"
    );
    assert!(serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap().is_object());
}

#[test]
fn a_remote_and_its_branch_mean_that_branch() {
    let test = Test::new();
    let first = test.remote("origin", "fix");
    test.remote("other", "fix");
    test.run(&["new", "origin/fix", "Go", "on"])
        .stdout("$ROOT/fix\n")
        .stderr("created sandbox 'fix' for \"Go on\": new branch 'fix' following 'origin/fix'\n")
        .ok();
    assert_eq!(test.git_in(&test.at("fix"), &["rev-parse", "HEAD", "@{upstream}"]), {
        format!("{first}\n{first}")
    });
    assert_eq!(test.branches(), ["fix", "main"]);
    assert_eq!(test.json(&["show", "fix", "--json"])["task"], "Go on");
    // The same words bring one back to it, from the branch's name too.
    for name in ["origin/fix", "fix"] {
        test.run(&["new", name])
            .stdout("$ROOT/fix\n")
            .stderr("task: Go on\nresumed sandbox 'fix'\n")
            .ok();
    }
}

#[test]
fn a_remotes_branch_is_meant_even_where_git_must_not_guess() {
    let test = Test::new();
    test.remote("origin", "feat/ui");
    test.git(&["config", "checkout.guess", "false"]);
    test.run(&["new", "look", "--branch", "origin/feat/ui"])
        .stdout("$ROOT/look\n")
        .stderr("created sandbox 'look': new branch 'feat/ui' following 'origin/feat/ui'\n")
        .ok();
    assert_eq!(test.branches(), ["feat/ui", "main"]);
}

#[test]
fn a_remotes_branch_that_is_not_there_is_a_new_branch() {
    let test = Test::new();
    test.remote("origin", "fix");
    test.run(&["new", "origin/none"])
        .stdout("$ROOT/origin-none\n")
        .stderr("created sandbox 'origin-none': new branch 'origin/none' from 'main'\n")
        .ok();
    // A branch of one's own of that name comes first.
    test.git(&["branch", "origin/fix"]);
    test.run(&["new", "origin/fix"])
        .stdout("$ROOT/origin-fix\n")
        .stderr("created sandbox 'origin-fix': branch 'origin/fix'\n")
        .ok();
}
