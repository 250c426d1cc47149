//! Hooks, signatures and moving targets: they run as for `git merge`, and one that fails leaves
//! everything as it was.

use std::fs;
use std::path::Path;

use crate::fixture::Test;
use crate::fixture::diff::same;
use crate::fixture::files::write;
use crate::fixture::merge::{PLACES, Scene, Target};

const HOOKS: [&str; 6] = [
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-merge",
    "pre-commit",
    "post-commit",
];

/// Hooks that write down how they were called: arguments, variables, and whether they are at the top
/// of a checkout of `dev`.
fn record(test: &Test, folder: &str) {
    for hook in HOOKS {
        let text = format!(
            "echo \"{hook} $(echo \"$@\" | sed 's/[^ ]*MSG/MSG/g') \
             $(git rev-parse --show-prefix --abbrev-ref HEAD | tr '\\n' ' ') \
             top=$(test -e .git && echo yes) edit=${{GIT_EDITOR-}} index=${{GIT_INDEX_FILE+set}}\" \
             >>\"$HOME/calls\""
        );
        test.script(&format!("{folder}/{hook}"), &text);
    }
}

fn calls(test: &Test) -> String {
    let file = test.home.join("calls");
    let text = fs::read_to_string(&file).unwrap_or_default();
    drop(fs::remove_file(&file));
    text
}

/// The same calls as they are in a scratch: HEAD is detached there. `post-merge` runs in the target's
/// checkout, if it has one.
fn in_scratch(calls: &str, target: Target) -> String {
    let lines = calls.lines().filter_map(|line| match line.starts_with("post-merge ") {
        true => (target != Target::Nowhere).then(|| line.to_owned()),
        false => Some(line.replace(" dev ", " HEAD ")),
    });
    lines.map(|line| line + "\n").collect()
}

/// What runs for plain `git merge` in a repository just like this one.
#[track_caller]
fn twin(scene: &Scene, words: &[&str]) -> String {
    let copy = scene.test.home.join("copy");
    let (app, to) = (scene.test.app(), copy.display().to_string());
    let words_of_cp = ["-a", &app.display().to_string(), &to].map(str::to_owned);
    assert!(std::process::Command::new("cp").args(words_of_cp).status().unwrap().success());
    drop(fs::remove_dir_all(copy.join(".git/worktrees")));
    scene.test.git_in(&copy, &["checkout", "--quiet", "dev"]);
    calls(&scene.test);
    scene.test.git_in(&copy, words);
    calls(&scene.test)
}

#[test]
fn hooks_run_as_for_git_merge() {
    for target in PLACES {
        for forward in [false, true] {
            let scene = if forward { Scene::new(target) } else { Scene::diverged(target) };
            record(&scene.test, "app/.git/hooks");
            let wanted = twin(&scene, &["merge", "--quiet", "--no-edit", "box"]);
            assert_eq!(wanted.lines().count(), if forward { 1 } else { 4 }, "{wanted}");
            let output = scene.test.run(&["merge", "box"]).output();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(calls(&scene.test), in_scratch(&wanted, target), "{target:?}");
            scene.is_clean();
            scene.nothing_is_left();
        }
    }
}

#[test]
fn hooks_of_another_folder_run_too() {
    for target in PLACES {
        let scene = Scene::diverged(target);
        let hooks = scene.test.home.join("hooks").display().to_string();
        scene.test.git(&["config", "core.hooksPath", &hooks]);
        record(&scene.test, "hooks");
        let wanted = twin(&scene, &["merge", "--quiet", "--no-edit", "box"]);
        assert_eq!(wanted.lines().count(), 4, "{wanted}");
        let output = scene.test.run(&["merge", "box"]).output();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(calls(&scene.test), in_scratch(&wanted, target), "{target:?}");
        scene.nothing_is_left();
    }
}

/// A hook that git ignores in the sandbox was seen by nobody, and a confined command may have written it.
#[test]
fn hooks_in_the_sandbox_do_not_run() {
    for words in
        [&["merge", "box"][..], &["merge", "box", "--rebase"], &["merge", "box", "--squash"]]
    {
        let scene = Scene::diverged(Target::Here);
        scene.test.git(&["config", "core.hooksPath", ".husky/_"]);
        write(&scene.test.app().join(".git/info/exclude"), ".husky\n");
        for hook in ["reference-transaction", "post-index-change", "post-rewrite", "pre-rebase"] {
            let hook = format!(".cache/git-sandbox/worktrees/app/box/.husky/_/{hook}");
            scene.test.script(&hook, "echo \"$0\" >>\"$HOME/calls\"");
        }
        let output = scene.test.run(words).output();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(calls(&scene.test), "", "{words:?}");
    }
}

#[test]
fn a_squash_runs_the_hooks_of_a_commit_and_of_its_landing() {
    for target in PLACES {
        let scene = Scene::diverged(target);
        record(&scene.test, "app/.git/hooks");
        let output = scene.test.run(&["merge", "box", "--squash"]).output();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let calls = calls(&scene.test);
        let names: Vec<_> = calls.lines().map(|line| line.split(' ').next().unwrap()).collect();
        let wanted =
            ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-merge"];
        let count = if target == Target::Nowhere { 4 } else { 5 };
        assert_eq!(names, wanted[..count], "{target:?}");
        scene.is_clean();
        scene.nothing_is_left();
    }
}

#[test]
fn a_hook_that_fails_leaves_everything_as_it_was() {
    for target in PLACES {
        for (how, hook) in [
            (&[][..], "pre-merge-commit"),
            (&[], "prepare-commit-msg"),
            (&[], "commit-msg"),
            (&["--squash"], "pre-commit"),
            (&["--squash"], "commit-msg"),
        ] {
            let scene = Scene::diverged(target);
            scene.test.script(&format!("app/.git/hooks/{hook}"), "echo no luck >&2; exit 1");
            let before = scene.state();
            let output = scene.test.run(&[&["merge", "box"], how].concat()).output();
            let stderr = String::from_utf8_lossy(&output.stderr);
            let last = "error: cannot merge 'box' into 'dev': git did not commit it, and nothing was \
                        changed\n";
            assert!(stderr.starts_with("no luck\n") && stderr.ends_with(last), "{stderr}");
            assert_eq!(output.status.code(), Some(1));
            same(&scene.state(), &before);
            scene.nothing_is_left();
        }
    }
}

#[test]
fn a_hook_that_fails_leaves_local_changes_of_the_target() {
    let scene = Scene::diverged(Target::Here);
    let app = scene.test.app();
    crate::fixture::files::write(&app.join("a"), "edited\n");
    crate::fixture::files::write(&app.join("new"), "untracked\n");
    scene.test.script("app/.git/hooks/commit-msg", "exit 1");
    scene.refused(
        &[],
        "Not committing merge; use 'git commit' to complete the merge.\n\
         error: cannot merge 'box' into 'dev': git did not commit it, and nothing was changed\n",
    );
}

#[test]
fn a_hook_that_changes_the_message_is_heeded() {
    for target in PLACES {
        for how in [&[][..], &["--squash"]] {
            let scene = Scene::diverged(target);
            scene.test.script("app/.git/hooks/commit-msg", "echo Changed >\"$1\"");
            let output = scene.test.run(&[&["merge", "box", "-m", "Text"], how].concat()).output();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let message = scene.test.git(&["log", "-1", "--format=%B", "dev"]);
            assert_eq!(message, "Changed\n", "{target:?} {how:?}");
        }
    }
}

/// A program that signs anything.
fn fake_gpg(test: &Test, dir: &Path) {
    let gpg = test.script(
        "gpg",
        "cat >/dev/null; echo '[GNUPG:] SIG_CREATED ' >&2\n\
         printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nfake\\n-----END PGP SIGNATURE-----\\n'",
    );
    test.git_in(dir, &["config", "gpg.program", &gpg.display().to_string()]);
    test.git_in(dir, &["config", "commit.gpgSign", "true"]);
}

#[test]
fn commits_are_signed_where_the_user_wants_that() {
    for target in PLACES {
        for (how, words) in [
            (&[][..], "with a merge commit"),
            (&["--squash"], "squashed"),
            (&["--rebase"], "rebased"),
        ] {
            let scene = Scene::diverged(target);
            fake_gpg(&scene.test, &scene.test.app());
            let output = scene.test.run(&[&["merge", "box"], how].concat()).output();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{stderr}");
            assert!(stderr.contains(&format!("2 commits, {words}\n")), "{stderr}");
            let commit = scene.test.git(&["cat-file", "commit", "dev"]);
            assert!(commit.contains("\n fake\n"), "{target:?} {how:?} {commit}");
        }
    }
}

#[test]
fn a_signature_that_fails_leaves_everything_as_it_was() {
    for target in PLACES {
        for how in [&[][..], &["--squash"], &["--rebase"]] {
            let scene = Scene::diverged(target);
            fake_gpg(&scene.test, &scene.test.app());
            scene.test.git(&["config", "gpg.program", "false"]);
            let before = scene.state();
            let output = scene.test.run(&[&["merge", "box"], how].concat()).output();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{stderr}");
            assert!(stderr.contains("error: cannot merge 'box' into 'dev': "), "{stderr}");
            same(&scene.state(), &before);
            scene.nothing_is_left();
        }
    }
}

#[test]
fn a_target_that_moves_meanwhile_is_not_lost() {
    for target in PLACES {
        for how in [&[][..], &["--squash", "--message", "done"], &["--rebase"]] {
            let scene = Scene::diverged(target);
            let path = moving(&scene);
            let before = scene.commit("dev");
            let mut words = vec!["merge", "box"];
            words.extend(how);
            let output = scene.test.program(&scene.test.app(), &words).env("PATH", &path).output();
            let stderr = String::from_utf8_lossy(&output.stderr);
            let moved = scene.commit("moved");
            assert_ne!(moved, before);
            let again = words.join(" ");
            let wanted = format!(
                "error: cannot merge 'box' into 'dev': it has moved meanwhile\n\
                 hint: git sandbox {again}\n"
            );
            assert_eq!((&*stderr, output.status.code()), (&*wanted, Some(1)), "{target:?} {how:?}");
            assert_eq!(scene.commit("dev"), moved);
            assert!(scene.path.exists());
            scene.is_clean();
            scene.nothing_is_left();
        }
    }
}

/// A git that commits to `dev`, once, right before it is called to make a commit.
fn moving(scene: &Scene) -> String {
    let before = match &scene.dev {
        Some(dev) => format!(
            "cd '{}' && echo >moved && \"$GIT\" add moved && \"$GIT\" commit --quiet -m moved && \
             \"$GIT\" branch moved",
            dev.display()
        ),
        None => "\"$GIT\" --git-dir=\"$HOME/app/.git\" branch moved $(\"$GIT\" \
                 --git-dir=\"$HOME/app/.git\" commit-tree -p dev -m moved dev^{tree}) && \"$GIT\" \
                 --git-dir=\"$HOME/app/.git\" update-ref refs/heads/dev refs/heads/moved"
            .to_owned(),
    };
    scene.test.fake_git(&format!(
        "for word; do case $word in\n\
         (merge|commit-tree|rebase) test -e \"$HOME/once\" || {{ : >\"$HOME/once\"; ({before}) >&2 || exit 99; }};; esac; done\nexec \"$GIT\" \"$@\""
    ))
}

#[test]
fn one_that_may_not_run_stops_nothing_beside_one_that_is_left_out() {
    let scene = Scene::diverged(Target::Here);
    let hooks = scene.test.app().join(".git/hooks");
    scene.test.script("app/.git/hooks/post-merge", "echo post-merge >>\"$HOME/calls\"");
    scene.test.script("app/.git/hooks/commit-msg", "echo commit-msg >>\"$HOME/calls\"");
    // Neither a program nor one that git would start.
    write(&hooks.join("pre-merge-commit"), "#!/bin/sh\nexit 1\n");
    fs::create_dir_all(hooks.join("prepare-commit-msg")).unwrap();
    let merged = "merged 'box' into 'dev': 2 commits, with a merge commit\n";
    scene.merges(&["--keep"], merged);
    assert_eq!(calls(&scene.test), "commit-msg\npost-merge\n");
}

#[test]
fn what_one_says_in_a_merge_is_passed_on() {
    for (how, word) in [(&[][..], "with a merge commit"), (&["--squash"], "squashed")] {
        let scene = Scene::diverged(Target::Here);
        scene.test.script("app/.git/hooks/commit-msg", "echo mind the gap >&2");
        let text = format!("mind the gap\nmerged 'box' into 'dev': 2 commits, {word}\n");
        scene.merges(&[&["--keep"], how].concat(), &text);
    }
}
