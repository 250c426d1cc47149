//! A crash at every step of a renaming, and of git's own renaming of the branch: the next command
//! completes or undoes it, and nothing is lost.

use std::fs;

use crate::fixture::Test;
use crate::fixture::again::Template;
use crate::fixture::diff::same;
use crate::fixture::files::{tree, write};
use crate::fixture::repository::{Format, repository};
use crate::fixture::state::entry;
use crate::fixture::work::submodule;

/// More steps than a renaming has.
const MANY: u32 = 50;

/// A sandbox `old` with work in it, and one that started from it.
struct Scene {
    test: Test,
    template: Template,
    files: String,
    head: String,
}

impl Scene {
    fn new(format: Format, with_submodule: bool) -> Option<Scene> {
        let test = repository(format)?;
        let path = test.new_sandbox(&["old", "The", "task"]);
        if with_submodule {
            submodule(&test, &path);
        }
        let head = test.commit(&path, "committed", "committed");
        test.git(&["config", "branch.old.remote", "somewhere"]);
        assert!(test.run_in(&path, &["new", "above"]).output().status.success());
        write(&path.join("a"), "unstaged\n");
        write(&path.join("new"), "untracked\n");
        let files = tree(&path, &[".git"]);
        let template = Template::of(&test);
        Some(Scene { test, template, files, head })
    }

    /// Brings everything back to how it was.
    #[track_caller]
    fn again(&self) {
        self.template.bring_back(&self.test);
    }

    /// The sandbox is whole, under this name and no other.
    #[track_caller]
    fn is_called(&self, name: &str, other: &str) {
        let test = &self.test;
        let path = test.at(name);
        assert_eq!(test.sandboxes(), sorted(&["above", name]));
        assert_eq!(test.branches(), sorted(&["above", "main", name]));
        same(&tree(&path, &[".git"]), &self.files);
        assert_eq!(test.git_in(&path, &["symbolic-ref", "HEAD"]), format!("refs/heads/{name}"));
        assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), self.head);
        assert_eq!(test.git(&["config", &format!("branch.{name}.remote")]), "somewhere");
        let mut stale = test.command("git", &test.app());
        stale.args(["config", "--get-regexp"]).arg(format!("^branch\\.{other}\\."));
        let stale = stale.output();
        assert_eq!(String::from_utf8(stale.unwrap().stdout).unwrap(), "");
        let shown = test.json(&["show", "--json", name]);
        assert_eq!([&shown["state"], &shown["task"]], ["ready", "The task"]);
        assert!(shown["locked"].is_null());
        assert_eq!(test.json(&["show", "--json", "above"])["base"], name);
        let facts = fs::read_to_string(entry(test, &path).join("sandbox.json")).unwrap();
        assert!(!facts.contains("renaming"), "{facts}");
        if path.join("sub").exists() {
            assert_eq!(test.git_in(&path.join("sub"), &["status", "--porcelain"]), "");
        }
    }

    /// Lets another command mend it. Returns the name that the sandbox has now.
    #[track_caller]
    fn mended(&self) -> &'static str {
        let output = self.test.run(&["reap"]).output();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !stderr.contains("warning"), "{stderr}");
        if self.test.at("old").exists() { "old" } else { "fresh" }
    }
}

fn sorted(names: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
    names.sort();
    names
}

fn other(name: &str) -> &'static str {
    if name == "old" { "fresh" } else { "old" }
}

#[test]
fn a_crash_at_any_step_is_undone_or_completed() {
    for (format, with_submodule) in
        [(Format::Files, false), (Format::Files, true), (Format::Reftable, false)]
    {
        let mut outcomes = Vec::new();
        let Some(scene) = Scene::new(format, with_submodule) else { continue };
        for step in 1..MANY {
            scene.again();
            if !scene.test.run(&["rename", "old", "fresh"]).crashes_at(step) {
                scene.is_called("fresh", "old");
                assert!(step > 8, "only {step} steps");
                break;
            }
            let name = scene.mended();
            scene.is_called(name, other(name));
            outcomes.push(name);
            // And again from there.
            let output = scene.test.run(&["rename", name, "third"]).output();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            scene.is_called("third", name);
        }
        let is_sorted = outcomes.is_sorted_by(|one, other| one >= other);
        assert!(is_sorted, "undone first, completed later: {outcomes:?}");
    }
}

#[test]
fn doctor_finds_and_mends_it() {
    let mut found = 0;
    for step in 1..MANY {
        let scene = Scene::new(Format::Files, false).unwrap();
        if !scene.test.run(&["rename", "old", "fresh"]).crashes_at(step) {
            assert!(found > 8, "only {found} steps");
            return;
        }
        let doctor = |words: &[&str]| {
            let output = scene.test.run(words).output();
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        };
        let (code, said) = doctor(&["doctor"]);
        let named = |name: &str, lead: &str| {
            let path = scene.test.at(name);
            format!("{lead}{}: its renaming was interrupted\n", path.display())
        };
        let at = ["old", "fresh"].into_iter().find(|name| said.contains(&named(name, "")));
        let Some(at) = at else {
            // Before anything was done, and when all was.
            assert_eq!((code, said.as_str()), (Some(0), ""), "{step}");
            continue;
        };
        // A folder that has moved already is told as well.
        assert!(code == Some(1) && said.starts_with(&named(at, "")), "step {step}: {said}");
        let (code, said) = doctor(&["doctor", "--fix"]);
        assert_eq!((code, said), (Some(0), named(at, "fixed: ")), "step {step}");
        let name = if scene.test.at("old").exists() { "old" } else { "fresh" };
        scene.is_called(name, other(name));
        found += 1;
    }
    panic!("it never ends");
}

#[test]
fn a_crash_while_it_is_mended_is_mended_too() {
    let scene = Scene::new(Format::Files, false).unwrap();
    for step in [5, 6, 7] {
        for again in 1..MANY {
            scene.again();
            assert!(scene.test.run(&["rename", "old", "fresh"]).crashes_at(step));
            let crashed = scene.test.run(&["reap"]).crashes_at(again);
            let name = scene.mended();
            scene.is_called(name, other(name));
            if !crashed {
                assert!(again > 2);
                break;
            }
        }
    }
}

#[test]
fn work_after_a_crash_goes_with_the_sandbox() {
    let mut scene = Scene::new(Format::Files, false).unwrap();
    for step in 1..MANY {
        scene.again();
        let crashed = scene.test.run(&["rename", "old", "fresh"]).crashes_at(step);
        let path = ["old", "fresh"].map(|name| scene.test.at(name)).into_iter();
        let path = path.into_iter().find(|path| path.exists()).unwrap();
        // Until its pointers are right again, a folder that was moved takes part in nothing.
        if !scene.test.git(&["worktree", "list"]).contains(path.to_str().unwrap()) {
            continue;
        }
        scene.head = scene.test.commit(&path, "later", "later");
        scene.files = tree(&path, &[".git"]);
        let name = scene.mended();
        scene.is_called(name, other(name));
        if !crashed {
            break;
        }
    }
}

#[test]
fn a_branch_of_anothers_stays_when_it_is_undone() {
    let scene = Scene::new(Format::Files, false).unwrap();
    let (test, mut seen) = (&scene.test, 0);
    for step in 1..MANY {
        scene.again();
        assert!(test.run(&["rename", "old", "fresh"]).crashes_at(step), "only {step} steps");
        let path = test.at("old");
        if !path.exists() {
            break;
        }
        let on = test.git_in(&path, &["symbolic-ref", "HEAD"]);
        if on == "refs/heads/old" && test.branches().contains(&"fresh".to_owned()) {
            seen += 1;
            // Another program has moved the copy of the branch since.
            let main = test.git(&["rev-parse", "main"]);
            test.git(&["update-ref", "refs/heads/fresh", &main]);
            assert_eq!(scene.mended(), "old");
            assert_eq!(test.branches(), ["above", "fresh", "main", "old"]);
            assert_eq!(test.git(&["rev-parse", "fresh"]), main);
            assert_eq!(test.git_in(&path, &["rev-parse", "HEAD"]), scene.head);
        }
    }
    assert!(seen > 0);
}

#[test]
fn a_folder_of_the_new_name_that_is_somebodys_own_completes_nothing() {
    let scene = Scene::new(Format::Files, false).unwrap();
    let (test, mut seen) = (&scene.test, 0);
    for step in 1..MANY {
        scene.again();
        assert!(test.run(&["rename", "old", "fresh"]).crashes_at(step), "only {step} steps");
        let path = test.at("old");
        if !path.exists() {
            break;
        }
        let facts = fs::read_to_string(entry(test, &path).join("sandbox.json")).unwrap();
        if facts.contains("renaming") {
            seen += 1;
            write(&test.at("fresh").join("mine"), "mine\n");
            assert_eq!(scene.mended(), "old");
            assert_eq!(tree(&test.at("fresh"), &[]).lines().count(), 1);
            fs::remove_dir_all(test.at("fresh")).unwrap();
            scene.is_called("old", "fresh");
        }
    }
    assert!(seen > 1);
}

#[test]
fn a_prune_in_the_middle_drops_nothing() {
    let scene = Scene::new(Format::Files, false).unwrap();
    for step in 1..MANY {
        scene.again();
        let crashed = scene.test.run(&["rename", "old", "fresh"]).crashes_at(step);
        scene.test.git(&["worktree", "prune", "--expire=now"]);
        scene.test.git(&["gc", "--prune=now", "--quiet"]);
        let name = scene.mended();
        scene.is_called(name, other(name));
        if !crashed {
            break;
        }
    }
}

#[test]
fn a_renaming_that_a_crash_stopped_waits_for_a_folder_that_somebody_moved_away() {
    let scene = Scene::new(Format::Files, false).unwrap();
    let test = &scene.test;
    let (mut step, mut seen) = (1, 0);
    while test.run(&["rename", "old", "new"]).crashes_at(step) {
        let folder = ["old", "new"].map(|name| test.at(name)).into_iter().find(|it| it.exists());
        let (folder, away) = (folder.unwrap(), test.home.join("away"));
        fs::rename(&folder, &away).unwrap();
        let refs = test.git(&["for-each-ref"]);
        let output = test.run(&["new", "other"]).output();
        let said = String::from_utf8(output.stderr).unwrap();
        if said.contains("an interrupted renaming cannot be undone: its folder is not there") {
            seen += 1;
            // Only the branch of the new sandbox has come.
            let now = test.git(&["for-each-ref"]);
            let now: Vec<_> = now.lines().filter(|it| !it.ends_with("/other")).collect();
            same(&now.join("\n"), &refs);
        }
        fs::rename(&away, &folder).unwrap();
        test.run(&["rm", "--force", "--delete-branch", "other"]).output();
        test.run(&["reap", "--purge", "other"]).output();
        let name = if test.at("new").exists() { "new" } else { "old" };
        same(&tree(&test.at(name), &[".git"]), &scene.files);
        assert_eq!(test.git_in(&test.at(name), &["rev-parse", "HEAD"]), scene.head, "{step}");
        assert_eq!(test.git_in(&test.at(name), &["branch", "--show-current"]), name, "{step}");
        scene.again();
        step += 1;
        assert!(step < MANY, "it never came to its end");
    }
    assert!(seen > 0, "it never died in between");
}

#[test]
fn a_sandbox_that_started_from_it_and_cannot_be_told_holds_the_renaming_up() {
    let scene = Scene::new(Format::Files, false).unwrap();
    let test = &scene.test;
    // In the way of a new record.
    let obstacle = entry(test, &test.at("above")).join("sandbox.json.new");
    fs::create_dir(&obstacle).unwrap();
    let output = test.run(&["rename", "old", "fresh"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(test.branches(), ["above", "fresh", "main", "old"]);
    assert_eq!(test.json(&["show", "--json", "above"])["base"], "old");
    fs::remove_dir(obstacle).unwrap();
    assert_eq!(scene.mended(), "fresh");
    scene.is_called("fresh", "old");
}

#[test]
fn work_after_a_crash_stays_where_its_branch_was_moved_by_somebody_else() {
    let scene = Scene::new(Format::Files, false).unwrap();
    let (test, mut seen) = (&scene.test, 0);
    for step in 1..MANY {
        scene.again();
        assert!(test.run(&["rename", "old", "fresh"]).crashes_at(step), "only {step} steps");
        let path = test.at("old");
        if !path.exists() {
            break;
        }
        if test.git_in(&path, &["symbolic-ref", "HEAD"]) != "refs/heads/fresh" {
            continue;
        }
        seen += 1;
        let later = test.commit(&path, "later", "later");
        let (main, files) = (test.git(&["rev-parse", "main"]), tree(&path, &[".git"]));
        test.git(&["update-ref", "refs/heads/old", &main]);
        let output = test.run(&["reap"]).output();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("warning: cannot take the branch along: "), "{said}");
        assert_eq!(test.git_in(&path, &["symbolic-ref", "HEAD"]), "refs/heads/fresh");
        let tips = ["fresh", "old"].map(|name| test.git(&["rev-parse", name]));
        assert_eq!(tips, [later, main]);
        same(&tree(&path, &[".git"]), &files);
    }
    assert!(seen > 0);
}
