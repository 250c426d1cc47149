//! The scratch worktree that merges are made in: it has the config, hooks and files of the target's
//! checkout, and nothing of it stays.

use std::fs;

use crate::fixture::diff::same;
use crate::fixture::files::{names_in, tree, write};
use crate::fixture::merge::{PLACES, Scene, Target};
use crate::fixture::trash::{only_one, trashed};

const MERGED: &str = "merged 'box' into 'dev': 2 commits, with a merge commit\n";

#[test]
fn a_relative_folder_of_hooks_is_that_of_the_targets_checkout() {
    // As husky makes it: ignored, so that no other checkout has it.
    for target in PLACES {
        let scene = Scene::diverged(target);
        let test = &scene.test;
        write(&test.app().join(".git/info/exclude"), "/.husky/\n");
        test.git(&["config", "core.hooksPath", ".husky/_"]);
        let top = scene.dev.clone().unwrap_or_else(|| test.app());
        let folder = top.strip_prefix(&test.home).unwrap().join(".husky/_");
        let folder = folder.display().to_string();
        write(&test.home.join(&folder).join("neighbour"), "echo \"$0\" >>\"$HOME/calls\"\n");
        for hook in ["commit-msg", "post-merge", "post-checkout"] {
            test.script(&format!("{folder}/{hook}"), ". \"$(dirname \"$0\")/neighbour\"");
        }
        test.run(&["merge", "box", "--keep"]).stderr(MERGED).ok();
        let calls = fs::read_to_string(test.home.join("calls")).unwrap();
        let names = calls.lines().map(|line| line.rsplit_once('/').unwrap());
        let names: Vec<_> = names.map(|(dir, name)| (dir.ends_with(".husky/_"), name)).collect();
        let wanted = [(true, "commit-msg"), (true, "post-merge")];
        assert_eq!(names, wanted[..if target == Target::Nowhere { 1 } else { 2 }], "{target:?}");
        scene.nothing_is_left();
    }
}

#[test]
fn a_rebase_runs_no_hook_of_a_checkout() {
    for target in PLACES {
        let scene = Scene::diverged(target);
        for hook in ["post-checkout", "post-rewrite", "post-merge"] {
            let text = format!("pwd | sed 's/-[0-9a-f]*$//;s!.*/!{hook} !' >>\"$HOME/calls\"");
            scene.test.script(&format!("app/.git/hooks/{hook}"), &text);
        }
        let rebased = "merged 'box' into 'dev': 2 commits, rebased\n";
        scene.test.run(&["merge", "box", "--rebase", "--keep"]).stderr(rebased).ok();
        let calls = fs::read_to_string(scene.test.home.join("calls")).unwrap();
        let last = match target {
            Target::Here => "post-merge app\n",
            Target::Sandbox => "post-merge dev\n",
            Target::Nowhere => "",
        };
        assert_eq!(calls, format!("post-rewrite .merge\n{last}"), "{target:?}");
        scene.nothing_is_left();
    }
}

#[test]
fn changes_of_the_index_are_told_to_hooks_in_the_scratch_only() {
    let scene = Scene::diverged(Target::Here);
    let text = "pwd | sed 's/-[0-9a-f]*$//;s!.*/!!' >>\"$HOME/calls\"";
    scene.test.script("app/.git/hooks/post-index-change", text);
    scene.test.run(&["merge", "box", "--keep"]).stderr(MERGED).ok();
    let calls = fs::read_to_string(scene.test.home.join("calls")).unwrap();
    assert!(!calls.is_empty() && calls.lines().all(|line| line == ".merge"), "{calls}");
}

#[test]
fn hooks_that_config_names_run_as_often_as_others() {
    for target in PLACES {
        let scene = Scene::diverged(target);
        let test = &scene.test;
        test.git(&["config", "hook.mine.command", "echo mine >>\"$HOME/calls\"; :"]);
        for event in ["post-merge", "commit-msg", "post-checkout"] {
            test.git(&["config", "--add", "hook.mine.event", event]);
        }
        let probe = ["hook", "run", "--ignore-missing", "post-merge"];
        test.git(&probe);
        if fs::remove_file(test.home.join("calls")).is_err() {
            eprintln!("this git knows no hooks in config");
            return;
        }
        test.run(&["merge", "box", "--keep"]).stderr(MERGED).ok();
        let calls = fs::read_to_string(test.home.join("calls")).unwrap();
        let wanted = if target == Target::Nowhere { 1 } else { 2 };
        assert_eq!(calls.lines().count(), wanted, "{target:?}");
    }
}

#[test]
fn it_has_the_settings_of_the_targets_checkout_and_not_of_this_one() {
    for target in [Target::Here, Target::Sandbox] {
        let scene = Scene::diverged(target);
        let test = &scene.test;
        let dev = scene.dev.clone().unwrap();
        test.git(&["config", "extensions.worktreeConfig", "true"]);
        test.git_in(&dev, &["sparse-checkout", "set", "--cone", "dir"]);
        test.git_in(&dev, &["config", "--worktree", "user.name", "Target"]);
        test.git_in(&scene.path, &["config", "--worktree", "user.name", "Box"]);
        test.run_in(&scene.path, &["merge", "--keep"]).stderr(MERGED).ok();
        assert_eq!(test.git(&["log", "-1", "--format=%cn", "dev"]), "Target");
        assert_eq!(scene.files("dev"), ["mine", "mine too", "theirs"]);
        assert_eq!(test.git_in(&dev, &["status", "--porcelain"]), "");
        assert_eq!(test.git_in(&dev, &["config", "core.sparseCheckout"]), "true");
        scene.nothing_is_left();
    }
}

#[test]
fn hooks_find_the_ignored_files_that_are_copied_along() {
    let scene = Scene::diverged(Target::Here);
    let app = scene.test.app();
    write(&app.join(".worktreeinclude"), "tools.log\n");
    write(&app.join("tools.log"), "tools\n");
    write(&app.join("other.log"), "not named\n");
    scene.test.git(&["add", ".worktreeinclude"]);
    scene.test.git(&["commit", "--quiet", "-m", "include"]);
    scene.test.script("app/.git/hooks/commit-msg", "ls *.log >\"$HOME/seen\"");
    scene.test.run(&["merge", "box", "--keep"]).stderr(MERGED).ok();
    assert_eq!(fs::read_to_string(scene.test.home.join("seen")).unwrap(), "tools.log\n");
    scene.nothing_is_left();
}

#[test]
fn files_that_a_hook_leaves_there_go_to_the_trash() {
    let scene = Scene::diverged(Target::Here);
    scene.test.script("app/.git/hooks/commit-msg", "echo result >report; echo x >build.log");
    let text = format!(
        "hooks made files, which are in the trash: git sandbox restore merge-ID-ID\n{MERGED}"
    );
    scene.test.run(&["merge", "box", "--keep"]).stderr(&text).ok();
    let tree = only_one(&scene.test).join("tree");
    assert_eq!(fs::read_to_string(tree.join("report")).unwrap(), "result\n");
    assert!(!names_in(&scene.test.app()).contains(&"report".to_owned()));
    scene.nothing_is_left();
    // Ignored ones alone are not worth it.
    let scene = Scene::diverged(Target::Here);
    scene.test.script("app/.git/hooks/commit-msg", "echo x >build.log");
    scene.test.run(&["merge", "box", "--keep"]).stderr(MERGED).ok();
    assert_eq!(trashed(&scene.test), [""; 0].map(std::path::PathBuf::from));
}

#[test]
fn a_template_of_commit_messages_changes_as_little_as_for_git() {
    for how in [&[][..], &["--squash"]] {
        let messages = [false, true].map(|template| {
            let scene = Scene::diverged(Target::Here);
            let test = &scene.test;
            if template {
                write(&test.app().join("x.log"), "A template\n");
                test.git(&["config", "commit.template", "x.log"]);
            }
            let output = test.run(&[&["merge", "box", "--keep"], how].concat()).output();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            scene.nothing_is_left();
            test.git(&["log", "-1", "--format=%B", "dev"])
        });
        assert_eq!(messages[0], messages[1]);
        assert!(!messages[0].contains("template"), "{messages:?}");
    }
}

#[test]
fn a_merge_driver_of_the_repository_decides() {
    let scene = Scene::with(Target::Here, |test| {
        drop(test.commit(&test.app(), "mine", "theirs\n"));
    });
    let test = &scene.test;
    write(&test.app().join(".git/info/attributes"), "mine merge=both\n");
    test.git(&["config", "merge.both.driver", "cat %B >>%A"]);
    test.run(&["merge", "box", "--keep"]).stderr(MERGED).ok();
    assert_eq!(test.git(&["show", "dev:mine"]), "theirs\nfirst");
    scene.is_clean();
}

#[test]
fn options_of_the_target_are_heeded() {
    let scene = Scene::clashing(Target::Here);
    let test = &scene.test;
    test.git(&["config", "branch.dev.mergeOptions", "-X theirs --no-ff --signoff --squash"]);
    test.run(&["merge", "box", "--keep"]).stderr(MERGED).ok();
    assert_eq!(test.git(&["show", "dev:mine"]), "first");
    assert_eq!(scene.log("dev")[0], "2 Merge branch 'box' into dev");
    let message = test.git(&["log", "-1", "--format=%B", "dev"]);
    assert!(message.contains("Signed-off-by: A U Thor"), "{message}");
    test.git(&["config", "branch.dev.mergeOptions", "'no end"]);
    test.commit(&scene.path, "more", "more\n");
    let text = "error: bad value ''no end' for 'branch.dev.mergeoptions': a quotation has no end\n\
                hint: git config --show-origin --get-all branch.dev.mergeoptions\n";
    test.run(&["merge", "box", "--keep"]).stderr(text).code(1);
}

#[test]
fn what_rerere_has_resolved_is_still_a_conflict() {
    let scene = Scene::clashing(Target::Here);
    let test = &scene.test;
    test.git(&["config", "rerere.enabled", "true"]);
    test.git(&["config", "rerere.autoUpdate", "true"]);
    // The preview does not ask rerere; so that git itself is asked.
    test.git(&["config", "branch.dev.mergeOptions", "--no-ff"]);
    test.git(&["checkout", "--quiet", "-b", "try"]);
    let merge = test.command("git", &test.app()).args(["merge", "box"]).output().unwrap();
    assert_eq!(merge.status.code(), Some(1));
    test.commit(&test.app(), "mine", "resolved\n");
    test.git(&["checkout", "--quiet", "dev"]);
    let tip = scene.commit("dev");
    for how in [&[][..], &["--squash"]] {
        let text = "error: cannot merge 'box' into 'dev': conflict in 'mine'\n\
                    hint: resolve it there: git -C $ROOT/box merge dev\n";
        test.run(&[&["merge", "box"], how].concat()).stderr(text).code(1);
        assert_eq!(scene.commit("dev"), tip);
        scene.is_clean();
        scene.nothing_is_left();
    }
}

#[test]
fn signatures_that_are_wanted_are_asked_for() {
    for scene in [Scene::new(Target::Here), Scene::diverged(Target::Here)] {
        scene.test.git(&["config", "merge.verifySignatures", "true"]);
        let before = scene.state();
        let output = scene.test.run(&["merge", "box"]).output();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("does not have a GPG signature"), "{stderr}");
        assert_eq!(output.status.code(), Some(1));
        crate::fixture::diff::same(&scene.state(), &before);
        scene.nothing_is_left();
    }
}

#[test]
fn a_fast_forward_needs_none() {
    let scene = Scene::new(Target::Here);
    let path = scene.test.fake_git(
        "for word; do test \"$word\" = add && echo \"$@\" >>\"$HOME/added\"; done\nexec \"$GIT\" \"$@\"",
    );
    let run = scene.test.program(&scene.test.app(), &["merge", "box", "--keep"]).env("PATH", path);
    run.stderr("merged 'box' into 'dev': 2 commits, fast-forward\n").ok();
    assert!(!scene.test.home.join("added").exists());
}

/// As in a repository whose main worktree is elsewhere.
#[test]
fn where_another_worktree_has_its_files_is_not_taken_over() {
    let scene = Scene::diverged(Target::Nowhere);
    let test = &scene.test;
    test.git(&["config", "extensions.worktreeConfig", "true"]);
    let app = test.app().display().to_string();
    test.git(&["config", "--worktree", "core.worktree", &app]);
    let before = tree(&test.app(), &[".git"]);
    test.run(&["merge", "box", "--keep"]).stderr(MERGED).ok();
    assert_eq!(scene.files("dev"), ["mine", "mine too", "theirs"]);
    same(&tree(&test.app(), &[".git"]), &before);
    scene.nothing_is_left();
}

#[test]
fn one_that_cannot_be_marked_as_on_its_way_to_the_trash_stays() {
    let scene = Scene::diverged(Target::Here);
    let test = &scene.test;
    // Where the lock reason is set aside.
    let aside = test.app().join(".git/sandbox.merging");
    let hook = "echo result >report; mkdir \"$HOME/app/.git/sandbox.merging\"";
    test.script("app/.git/hooks/commit-msg", hook);
    let output = test.run(&["merge", "box", "--keep"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("warning: the scratch worktree stays: cannot rename "), "{said}");
    assert!(said.ends_with(MERGED), "{said}");
    assert_eq!(trashed(test), [""; 0].map(std::path::PathBuf::from));
    let name = test.sandboxes().into_iter().find(|name| name.starts_with(".merge-")).unwrap();
    let scratch = test.at(&name);
    assert_eq!(fs::read_to_string(scratch.join("report")).unwrap(), "result\n");
    let locked = crate::fixture::state::entry(test, &scratch).join("locked");
    assert_eq!(fs::read_to_string(locked).unwrap().trim_end(), "git-sandbox: merging");
    fs::remove_dir(aside).unwrap();
    let said = super::crash::next(&scene);
    assert!(said.contains("left by an interrupted merge, to the trash"), "{said}");
    let tree = only_one(test).join("tree");
    assert_eq!(fs::read_to_string(tree.join("report")).unwrap(), "result\n");
    scene.nothing_is_left();
}

#[test]
fn an_empty_folder_that_a_crash_left_goes_and_others_stay() {
    let scene = Scene::diverged(Target::Here);
    let test = &scene.test;
    for name in [".merge-00000000", ".merge", "merge-00000000", "mine"] {
        fs::create_dir(test.at(name)).unwrap();
    }
    write(&test.at(".merge-11111111/notes"), "mine\n");
    test.run(&["merge", "box", "--keep"]).stderr(MERGED).ok();
    let left = [".merge", ".merge-11111111", "box", "merge-00000000", "mine"];
    assert_eq!(test.sandboxes(), left);
    assert_eq!(fs::read_to_string(test.at(".merge-11111111/notes")).unwrap(), "mine\n");
}

#[test]
fn it_has_all_files_where_the_repository_wants_few() {
    let scene = Scene::diverged(Target::Here);
    let test = &scene.test;
    test.git(&["config", "core.sparseCheckout", "true"]);
    write(&test.app().join(".git/info/sparse-checkout"), "/file\n");
    test.script("app/.git/hooks/commit-msg", "cat dir/c >\"$HOME/seen\"");
    test.run(&["merge", "box", "--keep"]).stderr(MERGED).ok();
    assert_eq!(
        fs::read_to_string(test.home.join("seen")).unwrap(),
        test.git(&["show", "dev:dir/c"]) + "\n"
    );
    scene.nothing_is_left();
}

#[test]
fn a_checkout_without_settings_of_its_own_gives_none() {
    for target in PLACES {
        let scene = Scene::diverged(target);
        scene.test.git(&["config", "extensions.worktreeConfig", "true"]);
        scene.merges(&["--keep"], MERGED);
        assert_eq!(scene.files("dev"), ["mine", "mine too", "theirs"], "{target:?}");
    }
}

#[test]
fn ignored_files_that_cannot_be_copied_along_are_told_of() {
    let scene = Scene::diverged(Target::Here);
    let test = &scene.test;
    write(&test.app().join(".worktreeinclude"), "tools.log\n");
    write(&test.app().join("tools.log"), "tools\n");
    test.git(&["add", ".worktreeinclude"]);
    test.git(&["commit", "--quiet", "-m", "include"]);
    let git = test.fake_git(
        "for word; do case $word in (check-ignore) echo odd >&2; exit 128 ;; esac; done\n\
         exec \"$GIT\" \"$@\"",
    );
    let text = "warning: cannot find the ignored files that .worktreeinclude names: odd\n";
    let run = test.program(&test.app(), &["merge", "box", "--keep"]).env("PATH", git);
    run.stderr(&format!("{text}{MERGED}")).ok();
    assert_eq!(fs::read_to_string(test.app().join("tools.log")).unwrap(), "tools\n");
    scene.nothing_is_left();
}

#[test]
fn one_that_git_made_in_another_repository_is_not_touched() {
    let scene = Scene::diverged(Target::Here);
    let test = &scene.test;
    let other = test.init("other", &[]);
    let theirs = test.home.join("theirs").display().to_string();
    test.git_in(&other, &["worktree", "add", "--quiet", &theirs]);
    let entry = other.join(".git/worktrees/theirs");
    for name in ["config.worktree", "info/sparse-checkout"] {
        write(&entry.join(name), "# theirs\n");
    }
    let before = tree(&entry, &[]);
    let git = test.fake_git(
        "case \" $* \" in *' worktree add '*)\n\
         \"$GIT\" \"$@\" && cp \"$HOME/theirs/.git\" \"$HOME\"/.cache/git-sandbox/worktrees/app/.merge-*/\n\
         exit ;; esac\n\
         exec \"$GIT\" \"$@\"",
    );
    let tip = scene.commit("dev");
    let run = test.program(&test.app(), &["merge", "box", "--keep"]).env("PATH", git);
    let output = run.output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("is damaged: git did not register it"), "{said}");
    same(&tree(&entry, &[]), &before);
    assert_eq!(scene.commit("dev"), tip);
    assert!(scene.path.join("mine").exists());
}
