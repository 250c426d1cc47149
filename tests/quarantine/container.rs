//! `run --container`: what podman and docker are asked for. tests/containers has a real one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Confined;
use crate::fixture::built;
use crate::fixture::files::write;

/// Makes a program that writes its words down, one on each line, and runs what stands after the image
/// as a container would, with git led into the quarantine. Returns a PATH with it.
fn fake(it: &Confined, name: &str) -> String {
    let common = it.test.app().join(".git");
    let text = format!(
        "printf '%s\\n' \"$@\" >\"$HOME/words\"; env >\"$HOME/variables\"\n\
         while [ \"$1\" != image ]; do shift; done; shift\n\
         export GIT_DIR={} GIT_WORK_TREE={} GIT_ALTERNATE_OBJECT_DIRECTORIES={}\n\
         exec \"$@\" 2>/dev/null",
        it.private().display(),
        it.path.display(),
        common.join("objects").display(),
    );
    let program: PathBuf = it.test.script(&format!("engine/{name}"), &text);
    let folders = [program.as_path(), built::program()].map(|it| it.parent().unwrap().display());
    format!("{}:{}:{}", folders[0], folders[1], std::env::var("PATH").unwrap())
}

/// The words that the program was started with, random and machine's own ones replaced.
fn words(it: &Confined) -> String {
    let id = it.entry().file_name().unwrap().to_string_lossy().into_owned();
    let words = fs::read_to_string(it.test.home.join("words")).unwrap();
    words.replace(&id, "ID")
}

#[test]
fn a_container_gets_the_sandbox_and_nothing_else() {
    let it = Confined::new();
    let path = fake(&it, "docker");
    it.test.git(&["config", "sandbox.container", "docker"]);
    it.test.git(&["config", "--add", "sandbox.containerOptions", "--memory=1g"]);
    let before = it.outside("box");
    write(&it.path.join("new"), "new\n");
    let script = "git add new; git commit --quiet -m new; exit 7";
    let run = ["run", "--container=image", "--network=off", "box", "--", "sh", "-c", script];
    let output = it.test.run(&run).env("PATH", &path).env("SECRET", "x").output();
    assert_eq!(output.status.code(), Some(7));
    let tip = it.outside("box");
    let said = "in a container of 'image': writes only in this sandbox; no network; home hidden\n";
    let took = super::took("1 commit", &before, &tip);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), format!("{said}{took}"));
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let wanted = format!(
        "run\n--rm\n-i\n--init\n--user\n{user}:{group}\n\
         --security-opt\nno-new-privileges\n--cap-drop\nall\n--network=none\n\
         -v\n$ROOT/box:$ROOT/box\n\
         -v\n$ROOT/box/.git:$ROOT/box/.git:ro\n\
         -v\n$HOME/app/.git/worktrees/ID/confined:$HOME/app/.git\n\
         -v\n$HOME/app/.git/objects:$HOME/app/.git/base-objects:ro\n\
         -v\n$HOME/app/.git/worktrees/ID/confined/worktrees:$HOME/app/.git/worktrees\n\
         -v\n$HOME/app/.git/worktrees/ID/confined/worktrees/ID:$HOME/app/.git/worktrees/ID\n\
         -v\n$HOME/app/.git/worktrees/ID/commondir:\
         $HOME/app/.git/worktrees/ID/commondir:ro\n\
         --tmpfs\n/home/sandbox:rw,exec,mode=1777\n\
         -v\n$HOME/.gitconfig:/home/sandbox/.gitconfig:ro\n\
         -e\nHOME=/home/sandbox\n-e\nGIT_SANDBOX_CONFINED=1\n"
    );
    let words = words(&it);
    let wanted = it.test.expand(&wanted);
    assert!(words.starts_with(&wanted), "{words}");
    let rest = &words[wanted.len()..];
    let end = it.test.expand(&format!("-w\n$ROOT/box\n--memory=1g\nimage\nsh\n-c\n{script}\n"));
    assert!(rest.ends_with(&end), "{rest}");
    let passed: Vec<&str> =
        rest[..rest.len() - end.len()].lines().filter(|it| *it != "-e").collect();
    assert!(passed.contains(&"GIT_SANDBOX_NAME") && passed.contains(&"GIT_AUTHOR_DATE"));
    for hidden in ["SECRET", "PATH", "HOME", "SHELL"] {
        assert!(!passed.contains(&hidden), "{passed:?}");
    }
}

#[test]
fn podman_keeps_the_users_id_and_is_taken_first() {
    let it = Confined::new();
    let path = fake(&it, "podman");
    it.test
        .run(&["run", "--container", "image", "box", "--", "true"])
        .env("PATH", &path)
        .stderr("in a container of 'image': writes only in this sandbox; network on; home hidden\n")
        .ok();
    let keeps = words(&it).lines().any(|word| word == "--userns=keep-id");
    assert_eq!(keeps, !it.test.am_root());
    assert!(!words(&it).contains("--network"));
}

#[test]
fn a_container_that_cannot_be_is_refused_before_anything_is_started() {
    let it = Confined::new();
    it.test.git(&["config", "sandbox.container", "no-such-engine"]);
    it.test
        .run(&["run", "--container", "image", "box", "--", "true"])
        .stderr(
            "error: cannot confine 'box': no-such-engine is not installed\n\
             hint: git config --show-origin --get sandbox.container\n",
        )
        .code(1);
    it.test
        .run(&["run", "--container=--privileged", "box", "--", "true"])
        .stderr(
            "error: cannot confine 'box': '--privileged' is no name of an image\n\
             hint: name one that has git\n",
        )
        .code(1);
    it.test.git(&["config", "sandbox.confineHost", "example.com"]);
    it.test
        .run(&["run", "--container=image", "--network=hosts", "box", "--", "true"])
        .stderr(
            "error: cannot confine 'box': '--network=hosts' is not for containers\n\
             hint: use '--network=off', or '--confine' instead of '--container'\n",
        )
        .code(1);
    let output = it.test.run(&["run", "--container=image", "--confine", "box"]).output();
    assert_eq!(output.status.code(), Some(129));
}

/// In a container nothing can be hidden of the sandbox's folder.
#[test]
fn a_worktree_in_the_sandbox_is_not_shown_to_a_container() {
    let it = Confined::new();
    let path = fake(&it, "docker");
    it.test.git_in(&it.path, &["worktree", "add", "--quiet", "--detach", "other"]);
    let error = "error: cannot confine 'box': '$ROOT/box/other' in it is another worktree\n\
        hint: use '--confine' instead of '--container'\n";
    let run = ["run", "--container=image", "box", "--", "true"];
    for words in [&run[..], &["show", "--mounts", "box"]] {
        it.test.run(words).env("PATH", &path).stderr(error).code(1);
    }
    assert!(!it.test.home.join("words").exists());
}

/// A repository may itself borrow objects.
#[test]
fn objects_that_the_repository_borrows_are_mounted_too() {
    let it = Confined::new();
    let lender = it.test.home.join("lender.git");
    it.test.git(&["clone", "--quiet", "--bare", ".", lender.to_str().unwrap()]);
    let objects = lender.join("objects");
    write(&it.test.app().join(".git/objects/info/alternates"), objects.to_str().unwrap());
    let output = it.test.run(&["show", "--mounts", "box"]).output();
    let line = format!("\n-v {0}:{0}:ro\n", objects.display());
    assert!(String::from_utf8_lossy(&output.stdout).contains(&line), "{output:?}");
}

#[test]
fn an_engine_that_a_command_put_into_the_sandbox_is_not_started() {
    let it = Confined::new();
    let other = it.test.new_sandbox(&["other"]);
    for folder in [&it.path, &other] {
        is_not_started(&it, &folder.join("bin/docker-of-mine"));
    }
}

#[track_caller]
fn is_not_started(it: &Confined, program: &Path) {
    write(program, "#!/bin/sh\ntouch \"$HOME/started\"\n");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    it.test.git(&["config", "sandbox.container", "docker-of-mine"]);
    let folders = [program, built::program()].map(|it| it.parent().unwrap().display());
    let path = format!("{}:{}:{}", folders[0], folders[1], std::env::var("PATH").unwrap());
    it.test
        .run(&["run", "--container=image", "box", "--", "true"])
        .env("PATH", &path)
        .stderr(
            "error: cannot confine 'box': docker-of-mine is not installed\n\
             hint: git config --show-origin --get sandbox.container\n",
        )
        .code(1);
    assert!(!it.test.home.join("started").exists());
}

/// An engine would take what follows for another path, or for options.
#[test]
fn a_path_that_an_engine_would_read_otherwise_is_not_mounted() {
    for odd in [":", ",", "\u{1}"] {
        let it = Confined::new();
        let root = it.test.home.join(format!("a{odd}b"));
        it.test.git(&["config", "sandbox.root", &root.display().to_string()]);
        it.test.new_sandbox(&["other"]);
        let engine = fake(&it, "docker");
        it.test.git(&["config", "sandbox.container", "docker"]);
        let said = "error: cannot confine 'other': \
                    a container cannot mount a path with ':', ',' or a control character\n";
        it.test.run(&["show", "--mounts", "other"]).stderr(said).code(1);
        let run = ["run", "--container=image", "other", "--", "true"];
        let walls =
            "in a container of 'image': writes only in this sandbox; network on; home hidden\n";
        it.test.run(&run).env("PATH", &engine).stderr(&format!("{walls}{said}")).code(1);
        assert!(!it.test.home.join("words").exists());
    }
}
