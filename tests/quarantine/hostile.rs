//! A confined command can write anything into its quarantine: nothing of it runs, and nothing but
//! verified objects gets out.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Stdio;

use super::{Confined, took};
use crate::fixture::files::write;
use crate::fixture::traps::{nothing_ran, set_traps, trap};

/// Runs git inside with input. Returns its stdout.
#[track_caller]
fn fed(it: &Confined, words: &[&str], input: &[u8]) -> String {
    let mut command = it.command(words);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Where a loose object of the quarantine is.
fn object(it: &Confined, id: &str) -> PathBuf {
    it.dir().join("objects").join(&id[..2]).join(&id[2..])
}

/// Asserts that nothing is taken over, that this is said, and that it counts as work.
#[track_caller]
fn stays(it: &Confined, before: &str) {
    let said = it.look();
    let lead = "warning: cannot take what ran in 'box': ";
    assert!(said.starts_with(lead) && said.ends_with("; it stays in the sandbox\n"), "{said}");
    assert_eq!(it.outside("box"), before);
    assert_eq!(it.test.git(&["fsck", "--strict", "--no-dangling"]), "");
    let output = it.test.run(&["rm", "box"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("work of a confined command that was not taken over"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert!(it.dir().is_dir());
    // Nor does it keep others from being made.
    let output = it.test.run(&["new", "--detach", "other"]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.matches(lead).count()), (Some(0), 1), "{said}");
}

#[test]
fn a_tree_with_a_git_dir_is_refused() {
    let it = Confined::new();
    let before = it.outside("box");
    let blob = fed(&it, &["hash-object", "-w", "--stdin"], b"[core]\n\tfsmonitor = x\n");
    let inner = fed(&it, &["mktree"], format!("100644 blob {blob}\tconfig\n").as_bytes());
    let tree = fed(&it, &["mktree"], format!("040000 tree {inner}\t.git\n").as_bytes());
    let commit = it.git(&["commit-tree", "-m", "bad", "-p", "HEAD", &tree]);
    it.git(&["update-ref", "refs/heads/box", &commit]);
    stays(&it, &before);
}

#[test]
fn an_object_that_lies_about_its_name_is_refused() {
    let it = Confined::new();
    let before = it.outside("box");
    let tip = it.commit("one", "1\n");
    let (one, other) = (
        it.git(&["rev-parse", "HEAD:one"]),
        fed(&it, &["hash-object", "-w", "--stdin"], b"other\n"),
    );
    fs::remove_file(object(&it, &one)).unwrap();
    fs::rename(object(&it, &other), object(&it, &one)).unwrap();
    stays(&it, &before);
    assert_ne!(it.outside("box"), tip);
}

#[test]
fn missing_objects_are_refused() {
    let it = Confined::new();
    let before = it.outside("box");
    it.commit("one", "1\n");
    fs::remove_file(object(&it, &it.git(&["rev-parse", "HEAD:one"]))).unwrap();
    stays(&it, &before);
}

#[test]
fn a_ref_that_is_no_id_is_not_followed() {
    let it = Confined::new();
    let before = it.outside("box");
    it.commit("one", "1\n");
    for text in ["--upload-pack=x\n", "HEAD\n", "ref: ../../../HEAD\n", "ref: refs/heads/box\n", ""]
    {
        write(&it.dir().join("refs/heads/box"), text);
        let said = it.look();
        assert_eq!(said, "", "{text:?}");
        assert_eq!(it.outside("box"), before, "{text:?}");
    }
}

#[test]
fn a_symbolic_ref_in_the_place_of_the_branch_counts_by_its_commit() {
    let it = Confined::new();
    let before = it.outside("box");
    let tip = it.commit("one", "1\n");
    it.git(&["branch", "side"]);
    it.git(&["symbolic-ref", "refs/heads/box", "refs/heads/side"]);
    let said = it.look();
    assert!(said.starts_with(&took("1 commit", &before, &tip)), "{said}");
    assert_eq!(it.test.git(&["symbolic-ref", "-q", "HEAD"]), "refs/heads/main");
    assert_eq!(it.test.git(&["for-each-ref", "--format=%(symref)", "refs/heads/box"]), "");
    assert_eq!(it.outside("box"), tip);
}

#[test]
fn what_leads_elsewhere_is_not_believed() {
    let it = Confined::new();
    // Another repository of the user's, with a commit that nobody gave away.
    let secret = it.test.init("secret", &[]);
    let hidden = it.test.commit(&secret, "key", "secret\n");
    let before = it.outside("box");
    let objects = secret.join(".git/objects");
    write(&it.dir().join("objects/info/alternates"), &format!("{}\n", objects.display()));
    write(&it.dir().join("refs/heads/box"), &format!("{hidden}\n"));
    stays(&it, &before);
    let found = it.test.command("git", &it.test.app()).args(["cat-file", "-e", &hidden]).output();
    assert!(!found.unwrap().status.success());
}

#[test]
fn grafts_and_replace_refs_of_a_quarantine_do_not_count() {
    let it = Confined::new();
    let before = it.outside("box");
    let tip = it.commit("one", "1\n");
    write(&it.dir().join("info/grafts"), &format!("{tip}\n"));
    let other = it.git(&["commit-tree", "-m", "other", "HEAD^{tree}"]);
    it.git(&["replace", &tip, &other]);
    let said = it.look();
    assert!(said.starts_with(&took("1 commit", &before, &tip)), "{said}");
    assert_eq!(it.test.git(&["rev-parse", "box~1"]), before);
    assert_eq!(it.test.git(&["replace", "--list"]), "");
}

#[test]
fn config_hooks_and_attributes_of_a_quarantine_run_nothing() {
    let it = Confined::new();
    let (before, tip) = (it.outside("box"), it.commit("one", "1\n"));
    set_traps(&it.test, &it.dir(), &it.path);
    let config = it.dir().join("config");
    it.test.git(&["config", "--unset", "core.fsmonitor"]);
    for (key, name) in
        [("core.fsmonitor", "fsmonitor"), ("core.sshCommand", "ssh"), ("diff.external", "diff")]
    {
        let value = trap(&it.test, name);
        it.test.git(&["config", "--file", &config.to_string_lossy(), key, &value]);
    }
    write(&it.private().join("config.worktree"), "[core]\n\tfsmonitor = ./x\n");
    assert_eq!(it.look(), took("1 commit", &before, &tip));
    it.prepare();
    nothing_ran(&it.test, "taking over");
}

#[test]
fn symlinks_in_a_quarantine_are_not_followed() {
    let top = ["refs", "objects", "objects/info", "logs", "worktrees"];
    let below = ["refs/heads", "logs/refs/heads", "worktrees/box", "worktrees/box/logs"];
    for part in top.into_iter().chain(below) {
        let it = Confined::new();
        let part = &part.replace("box", it.private().file_name().unwrap().to_str().unwrap());
        let before = it.outside("box");
        it.commit("one", "1\n");
        let victim = it.test.home.join("victim");
        fs::create_dir(&victim).unwrap();
        write(&victim.join("file"), "the user's\n");
        fs::rename(it.dir().join(part), it.test.home.join("aside")).unwrap();
        symlink(&victim, it.dir().join(part)).unwrap();
        stays(&it, &before);
        let output = it.test.run(&["show", "--mounts", "box"]).output();
        assert_eq!(output.status.code(), Some(1), "{part}");
        assert_eq!(crate::fixture::files::names_in(&victim), ["file"], "{part}");
    }
}

#[test]
fn a_git_dir_in_an_index_does_not_get_out() {
    let it = Confined::new();
    let before = it.outside("box");
    let blob = fed(&it, &["hash-object", "-w", "--stdin"], b"x\n");
    it.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},0git/config")]);
    it.git(&["rm", "--quiet", "--cached", ".gitignore"]);
    let index = it.private().join("index");
    let mut bytes = fs::read(&index).unwrap();
    let at = bytes.windows(11).position(|part| part == b"0git/config").unwrap();
    bytes[at] = b'.';
    fs::write(&index, bytes).unwrap();
    assert_eq!(it.look(), "");
    assert_eq!(it.outside("box"), before);
    assert_eq!(it.test.git_in(&it.path, &["ls-files"]), "a\nb\ndir/c\nfile\nlink\ntool");
}

#[test]
fn packed_refs_that_lead_out_are_not_read() {
    let it = Confined::new();
    let before = it.outside("box");
    let secret = it.test.app().join("secret");
    write(&secret, &format!("{before} refs/heads/secret\n"));
    let packed = it.dir().join("packed-refs");
    fs::remove_file(&packed).unwrap();
    symlink(&secret, &packed).unwrap();
    let said = it.look();
    assert!(said.starts_with("warning: cannot take what ran in 'box': cannot read '"), "{said}");
    assert!(!said.contains("refs/heads/secret") && !said.contains("branch 'secret'"), "{said}");
    it.test.git(&["branch", "more"]);
    let output = it.test.run(&["show", "--mounts", "box"]).output();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read_link(&packed).unwrap(), secret);
    assert_eq!(it.outside("box"), before);
}

#[test]
fn files_of_any_size_cost_nothing() {
    for name in ["packed-refs", "logs/large", "worktrees/box/large", "worktrees/box/sequencer/todo"]
    {
        let it = Confined::new();
        let name = name.replace("box", it.private().file_name().unwrap().to_str().unwrap());
        let path = it.dir().join(&name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
        file.set_len(1 << 40).unwrap();
        let said = it.look();
        assert_eq!(
            said,
            format!(
                "warning: cannot take what ran in 'box': cannot read '{}': it is too large; it stays \
                 in the sandbox\n",
                path.display()
            )
        );
    }
    let it = Confined::new();
    let tip = it.commit("one", "1\n");
    let index = it.private().join("index");
    fs::OpenOptions::new().write(true).open(&index).unwrap().set_len(1 << 40).unwrap();
    let holds = "'box' also holds staged files; git sandbox run --confine box reaches them\n";
    assert_eq!(it.look(), took("1 commit", &it.outside("main"), &tip) + holds);
}

#[test]
fn many_branches_make_no_long_line() {
    let it = Confined::new();
    let id = it.outside("box");
    let lines: Vec<_> = (100..200).map(|number| format!("{id} refs/heads/x{number}\n")).collect();
    let packed = it.dir().join("packed-refs");
    let text = fs::read_to_string(&packed).unwrap();
    write(&packed, &(text + &lines.concat()));
    let named: Vec<_> = (100..108).map(|number| format!("branch 'x{number}'")).collect();
    let named = named.join(", ");
    let said = format!(
        "'box' also holds {named} and 92 more; git sandbox run --confine box reaches them\n"
    );
    assert_eq!(it.look(), said);
}

#[test]
fn a_pack_that_the_user_keeps_stays_kept() {
    let it = Confined::new();
    it.test.git(&["repack", "-a", "-d", "--quiet"]);
    let packs = it.test.app().join(".git/objects/pack");
    let names = crate::fixture::files::names_in(&packs);
    let pack = names.iter().find_map(|name| name.strip_suffix(".pack")).unwrap();
    let keep = packs.join(format!("{pack}.keep"));
    write(&keep, "mine\n");
    let (before, tip) = (it.outside("box"), it.commit("one", "1\n"));
    assert_eq!(it.look(), took("1 commit", &before, &tip));
    assert_eq!(fs::read_to_string(&keep).unwrap(), "mine\n");
}

/// A symlink in the place of an object leads to an object that the command could not read.
#[test]
fn an_object_behind_a_symlink_is_not_taken() {
    let it = Confined::new();
    let secret = it.test.init("secret", &[]);
    let hidden = it.test.commit(&secret, "key", "secret\n");
    let before = it.outside("box");
    let objects = secret.join(".git/objects");
    let listed = it.test.git_in(&secret, &["rev-list", "--objects", "--no-object-names", "HEAD"]);
    for id in listed.lines() {
        let place = object(&it, id);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        symlink(objects.join(&id[..2]).join(&id[2..]), place).unwrap();
    }
    write(&it.dir().join("refs/heads/box"), &format!("{hidden}\n"));
    stays(&it, &before);
    let found = it.test.command("git", &it.test.app()).args(["cat-file", "-e", &hidden]).output();
    assert!(!found.unwrap().status.success());
}

/// A git that fails outside has not said that all is there.
#[test]
fn nothing_is_taken_where_git_cannot_tell_that_all_is_there() {
    for words in ["rev-list --objects --quiet", "update-index -z --index-info", "write-tree"] {
        let it = Confined::new();
        let before = it.outside("box");
        let inside = it.commit("new", "inside\n");
        let git = it.test.fake_git(&format!(
            "case \" $* \" in *' {words} '*) \"$GIT\" \"$@\" >/dev/null; echo broken >&2; exit 1 ;; esac\n\
             exec \"$GIT\" \"$@\""
        ));
        let show = it.test.program(&it.test.app(), &["show", "box", "--json"]).env("PATH", git);
        let output = show.output();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("broken"), "{words}: {said}");
        assert_eq!(it.outside("box"), before, "{words}");
        assert_eq!(it.git(&["rev-parse", "HEAD"]), inside);
        assert_eq!(it.look(), took("1 commit", &before, &inside), "{words}");
        assert_eq!(it.outside("box"), inside);
    }
}
