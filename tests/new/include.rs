//! `.worktreeinclude`: ignored files of the main worktree that a new sandbox gets.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::Signal;

use crate::fixture::Test;
use crate::fixture::built::program;
use crate::fixture::files::{chmod, names_in, tree, write};
use crate::fixture::process::{ended, is_suspended, signal, until};

const CREATED: &str = "created sandbox 'fix': new branch 'fix' from 'main'\n";

/// A repository that ignores these and includes those.
fn repository(ignored: &str, included: &str) -> Test {
    let test = Test::new();
    write(&test.app().join(".gitignore"), ignored);
    test.git(&["add", ".gitignore"]);
    test.git(&["commit", "--quiet", "-m", "ignore"]);
    // Not tracked: it is the main worktree's that counts.
    write(&test.app().join(".git/info/exclude"), "/.worktreeinclude\n");
    write(&test.app().join(".worktreeinclude"), included);
    test
}

/// Makes the sandbox `fix`, without a word of trouble; the main checkout stays as it was.
#[track_caller]
fn made(test: &Test) -> PathBuf {
    let files = || tree(&test.app(), &[".git"]);
    let before = files();
    test.run(&["new", "fix"]).stdout("$ROOT/fix\n").stderr(CREATED).ok();
    assert_eq!(files(), before);
    let path = test.at("fix");
    assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "");
    path
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn ignored_files_that_are_named_come_along() {
    let test = repository(".env*\n/cache/\n*.local\n", ".env\n/cache/\n");
    for name in [".env", ".env.other", "sub/.env", "cache/a/b", "cache/c", "x.local"] {
        write(&test.app().join(name), &format!("{name}\n"));
    }
    let path = made(&test);
    for name in [".env", "sub/.env", "cache/a/b", "cache/c"] {
        assert_eq!(text(&path.join(name)), format!("{name}\n"));
    }
    assert_eq!(names_in(&path), [".env", ".git", ".gitignore", "cache", "file", "sub"]);
    assert_eq!(names_in(&path.join("cache")), ["a", "c"]);
}

/// Makes a file with holes: bytes at its beginning and its middle, and nothing else.
fn write_sparse(path: &Path, length: u64) {
    let file = fs::File::create(path).unwrap();
    file.set_len(length).unwrap();
    file.write_all_at(b"begins", 0).unwrap();
    file.write_all_at(b"middle", length / 2).unwrap();
}

#[test]
fn a_file_with_holes_keeps_them() {
    let test = repository("disk\n", "disk\n");
    let length = 8 << 30;
    write_sparse(&test.app().join("disk"), length);
    test.run(&["new", "fix"]).stdout("$ROOT/fix\n").stderr(CREATED).ok();
    let path = test.at("fix/disk");
    let meta = fs::metadata(&path).unwrap();
    assert_eq!(meta.len(), length);
    assert!(meta.blocks() * 512 < 1 << 20, "{} blocks", meta.blocks());
    let copy = fs::File::open(&path).unwrap();
    for (text, at) in [(b"begins", 0), (b"middle", length / 2)] {
        let mut bytes = [0; 6];
        copy.read_exact_at(&mut bytes, at).unwrap();
        assert_eq!(&bytes, text);
    }
}

#[test]
fn a_signal_ends_the_copying_of_a_file() {
    let test = repository("/disk\n/other\n", "disk\nother\n");
    test.git(&["config", "sandbox.setup", "touch setup-ran"]);
    test.new_sandbox(&["first"]);
    for name in ["disk", "other"] {
        fs::write(test.app().join(name), vec![b'x'; 3 << 20]).unwrap();
    }
    let mut command = test.command(program(), &test.app());
    // In the middle of the first file.
    command.args(["new", "fix"]).env("GIT_SANDBOX_PAUSE_AT", "5").process_group(0);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("it is in the middle of a file", || is_suspended(child.id()));
    assert_eq!(fs::metadata(test.at("fix/disk")).unwrap().len(), 1 << 20);
    signal(child.id(), Signal::INT);
    signal(child.id(), Signal::CONT);
    let output = ended(child);
    let said = String::from_utf8(output.stderr).unwrap();
    let wanted = format!(
        "{CREATED}warning: cannot copy to '$ROOT/fix/disk': interrupted; the sandbox stays\n\
         error: interrupted\n"
    );
    assert_eq!((said, output.status.code()), (test.expand(&wanted), Some(130)));
    assert_eq!(names_in(&test.at("fix")), [".git", ".gitignore", "file"]);
    assert_eq!(test.json(&["show", "fix", "--json"])["state"], "ready");
}

#[test]
fn what_git_does_not_ignore_does_not_come_along() {
    let test = repository(".env\n", "*\n");
    write(&test.app().join("notes"), "untracked\n");
    write(&test.app().join("file"), "edited, tracked\n");
    write(&test.app().join("sub/notes"), "untracked\n");
    write(&test.app().join(".env"), "ignored\n");
    write(&test.app().join("staged"), "staged\n");
    test.git(&["add", "staged"]);
    let path = made(&test);
    // `.worktreeinclude` itself is ignored here, and named.
    assert_eq!(names_in(&path), [".env", ".git", ".gitignore", ".worktreeinclude", "file"]);
    assert_eq!(text(&path.join("file")), "one\n");
}

#[test]
fn patterns_may_be_negated() {
    let test =
        repository(".env*\n/cache/*\n", "# of ours\n.env*\n!.env.prod\n/cache/*\n!/cache/big\n\n");
    for name in [".env", ".env.prod", "cache/big", "cache/small"] {
        write(&test.app().join(name), "x\n");
    }
    let path = made(&test);
    assert_eq!(names_in(&path), [".env", ".git", ".gitignore", "cache", "file"]);
    assert_eq!(names_in(&path.join("cache")), ["small"]);
}

#[test]
fn what_the_user_ignores_everywhere_is_ignored_too() {
    let test = repository("", "*.mine\n*.excluded\n");
    write(&test.home.join("ignore"), "*.mine\n");
    test.git(&["config", "--global", "core.excludesFile", "~/ignore"]);
    write(&test.app().join(".git/info/exclude"), "*.excluded\n.worktreeinclude\n");
    write(&test.app().join("a.mine"), "a\n");
    write(&test.app().join("b.excluded"), "b\n");
    let path = made(&test);
    assert_eq!(names_in(&path), [".git", ".gitignore", "a.mine", "b.excluded", "file"]);
}

#[test]
fn without_the_file_nothing_comes_along() {
    let test = repository(".env\n", "");
    fs::remove_file(test.app().join(".worktreeinclude")).unwrap();
    write(&test.app().join(".env"), "x\n");
    let path = made(&test);
    assert_eq!(names_in(&path), [".git", ".gitignore", "file"]);
}

#[test]
fn links_and_modes_come_along() {
    let test = repository("/local/\n", "/local/\n");
    let local = test.app().join("local");
    write(&local.join("secret"), "secret\n");
    chmod(&local.join("secret"), 0o600);
    write(&local.join("tool"), "#!/bin/sh\n");
    chmod(&local.join("tool"), 0o755);
    write(&local.join("fixed"), "fixed\n");
    chmod(&local.join("fixed"), 0o400);
    symlink("secret", local.join("near")).unwrap();
    symlink("/no/such/file", local.join("dangling")).unwrap();
    symlink("../..", local.join("folder")).unwrap();
    let path = made(&test).join("local");
    assert_eq!(tree(&path, &[]), tree(&local, &[]));
    assert_eq!(fs::read_link(path.join("folder")).unwrap(), Path::new("../.."));
}

#[test]
fn a_private_folder_stays_private() {
    let test = repository("/secrets/\n", "/secrets/\n");
    write(&test.app().join("secrets/key"), "key\n");
    chmod(&test.app().join("secrets"), 0o700);
    let path = made(&test);
    assert_eq!(path.join("secrets").metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn what_is_in_a_read_only_folder_comes_along() {
    let test = repository("cache/\nlate\n", "cache/\nlate\n");
    for name in ["cache/deep/one", "cache/deep/two", "late"] {
        write(&test.app().join(name), "text\n");
    }
    chmod(&test.app().join("cache/deep"), 0o555);
    let path = made(&test);
    chmod(&test.app().join("cache/deep"), 0o755);
    for name in ["cache/deep/one", "cache/deep/two", "late"] {
        assert_eq!(text(&path.join(name)), "text\n");
    }
    assert_eq!(fs::metadata(path.join("cache/deep")).unwrap().permissions().mode() & 0o777, 0o555);
    chmod(&path.join("cache/deep"), 0o755);
}

#[test]
fn a_git_that_fails_to_say_what_is_ignored_is_told_of() {
    let test = repository("one\n", "one\n");
    write(&test.app().join("one"), "text\n");
    let git = test.fake_git(
        "for word; do case $word in (check-ignore) echo odd >&2; exit 128 ;; esac; done\n\
         exec \"$GIT\" \"$@\"",
    );
    test.program(&test.app(), &["new", "box"])
        .env("PATH", git)
        .stdout("$ROOT/box\n")
        .stderr(
            "created sandbox 'box': new branch 'box' from 'main'\n\
             warning: cannot find the ignored files that .worktreeinclude names: odd; the sandbox stays\n",
        )
        .code(1);
    assert!(!test.at("box/one").exists());
}

#[test]
fn odd_names_come_along() {
    let test = repository("/local/\n", "/local/\n");
    let names: [&[u8]; 8] = [
        b":(top)x",
        b"[a]*?",
        b"-dash",
        b"new\nline",
        b"\xff\xfe",
        b" sp ",
        b"\"q\\",
        "ö 🎉".as_bytes(),
    ];
    for name in names {
        write(&test.app().join("local").join(OsStr::from_bytes(name)), "x\n");
    }
    let path = made(&test).join("local");
    for name in names {
        assert_eq!(text(&path.join(OsStr::from_bytes(name))), "x\n");
    }
    assert_eq!(names_in(&path).len(), names.len());
}

#[test]
fn pipes_are_left_out() {
    let test = repository("/local/\n", "/local/\n");
    write(&test.app().join("local/a"), "a\n");
    test.pipe("app/local/pipe");
    let path = test.new_sandbox(&["fix"]);
    assert_eq!(names_in(&path.join("local")), ["a"]);
}

#[test]
fn nested_repositories_and_other_worktrees_are_left_out() {
    let test = repository("/vendor/\n/trees/\n", "/vendor/\n/trees/\n*.o\n");
    write(&test.app().join("vendor/a"), "a\n");
    test.init("app/vendor/lib", &[]);
    write(&test.app().join("vendor/lib/deep/b.o"), "b\n");
    test.git(&["worktree", "add", "--quiet", "trees/other", "-b", "other"]);
    write(&test.app().join("trees/c"), "c\n");
    let path = made(&test);
    assert_eq!(names_in(&path), [".git", ".gitignore", "file", "trees", "vendor"]);
    assert_eq!(names_in(&path.join("vendor")), ["a"]);
    assert_eq!(names_in(&path.join("trees")), ["c"]);
}

#[test]
fn they_come_from_the_main_worktree_also_inside_a_sandbox() {
    let test = repository(".env\nother\n", ".env\n");
    write(&test.app().join(".env"), "main\n");
    let path = made(&test);
    write(&path.join(".env"), "sandbox\n");
    write(&path.join("other"), "sandbox\n");
    write(&path.join(".worktreeinclude"), "other\n");
    test.run_in(&path, &["new", "second"])
        .stdout("$ROOT/second\n")
        .stderr("created sandbox 'second': new branch 'second' from 'fix'\n")
        .ok();
    assert_eq!(text(&test.at("second/.env")), "main\n");
    assert_eq!(names_in(&test.at("second")), [".env", ".git", ".gitignore", "file"]);
    assert_eq!(text(&path.join(".env")), "sandbox\n");
}

#[test]
fn nothing_of_the_checkout_is_overwritten() {
    let test = repository(".env\n", ".env\n");
    test.git(&["checkout", "--quiet", "-b", "has-it"]);
    write(&test.app().join(".env"), "tracked\n");
    test.git(&["add", "--force", ".env"]);
    test.git(&["commit", "--quiet", "-m", "env"]);
    test.git(&["checkout", "--quiet", "main"]);
    write(&test.app().join(".env"), "mine\n");
    let path = test.new_sandbox(&["has-it"]);
    assert_eq!(text(&path.join(".env")), "tracked\n");
    assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "");
    test.script("app/.git/hooks/post-checkout", "echo hook >.env");
    let path = test.new_sandbox(&["fix"]);
    assert_eq!(text(&path.join(".env")), "hook\n");
    assert_eq!(text(&test.app().join(".env")), "mine\n");
}

#[test]
fn a_link_in_the_checkout_is_not_written_through() {
    let test = repository("/out/\n", "/out/\n");
    let outside = test.home.join("outside");
    fs::create_dir_all(outside.join("deep")).unwrap();
    test.git(&["checkout", "--quiet", "-b", "linked"]);
    symlink(&outside, test.app().join("out")).unwrap();
    test.git(&["add", "--force", "out"]);
    test.git(&["commit", "--quiet", "-m", "link"]);
    test.git(&["checkout", "--quiet", "main"]);
    write(&test.app().join("out/a"), "a\n");
    write(&test.app().join("out/deep/b"), "b\n");
    let path = test.new_sandbox(&["linked"]);
    assert_eq!(names_in(&outside), ["deep"]);
    assert_eq!(names_in(&outside.join("deep")), [""; 0]);
    assert_eq!(fs::read_link(path.join("out")).unwrap(), outside);
    assert_eq!(test.git_in(&path, &["status", "--porcelain"]), "");
}

#[test]
fn a_file_in_the_checkout_where_a_folder_would_go_stays() {
    let test = repository("/out/\n", "/out/\n");
    test.git(&["checkout", "--quiet", "-b", "plain"]);
    write(&test.app().join("out"), "a file\n");
    test.git(&["add", "--force", "out"]);
    test.git(&["commit", "--quiet", "-m", "file"]);
    test.git(&["checkout", "--quiet", "main"]);
    write(&test.app().join("out/a"), "a\n");
    let path = test.new_sandbox(&["plain"]);
    assert_eq!(text(&path.join("out")), "a file\n");
}

#[test]
fn a_link_that_a_hook_made_stays() {
    let test = repository("/out/\n", "/out/\n");
    test.script("app/.git/hooks/post-checkout", "mkdir out && ln -s nowhere out/link");
    write(&test.app().join("out/a"), "a\n");
    write(&test.app().join("out/link"), "a file here\n");
    let path = made(&test);
    assert_eq!(names_in(&path.join("out")), ["a", "link"]);
    assert_eq!(fs::read_link(path.join("out/link")).unwrap(), Path::new("nowhere"));
}

#[test]
fn resuming_copies_nothing() {
    let test = repository(".env\n", ".env\n");
    write(&test.app().join(".env"), "main\n");
    let path = made(&test);
    fs::remove_file(path.join(".env")).unwrap();
    test.run(&["new", "fix"]).stdout("$ROOT/fix\n").stderr("resumed sandbox 'fix'\n").ok();
    assert!(!path.join(".env").exists());
}

#[test]
fn a_bare_repository_has_nothing_to_bring_along() {
    let test = repository(".env\n", ".env\n");
    test.git_in(&test.home, &["clone", "--quiet", "--bare", "app", "bare/app.git"]);
    let bare = test.home.join("bare/app.git");
    write(&bare.join(".worktreeinclude"), "*\n");
    write(&bare.join(".env"), "x\n");
    test.run_in(&bare, &["new", "fix"]).stdout("$ROOT/fix\n").stderr(CREATED).ok();
    assert_eq!(names_in(&test.at("fix")), [".git", ".gitignore", "file"]);
}

#[test]
fn a_precious_copy_that_is_unchanged_is_nothing_to_lose() {
    let test = repository(".env\n", ".env\n");
    write(&test.app().join(".env"), "main\n");
    made(&test);
    test.run(&["rm", "fix"])
        .stderr("removed 'fix' (nothing to lose); undo with: git sandbox restore fix-ID\n")
        .ok();
    assert_eq!(text(&test.app().join(".env")), "main\n");
}
