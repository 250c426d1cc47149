//! Spares: a sandbox made of one is what `new` makes without, and one that is not as it was left is
//! neither used nor deleted.
//!
//! The background job is kept from starting by holding its lock; `reap --spares` does the same work
//! while the test waits for it.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::repo::{Test, chmod, names_in, tree, write};

/// A repository in which so many spares are ready. The job does not start by itself.
pub struct Spares {
    pub test: Test,
    wanted: usize,
    job: Option<File>,
}

impl std::ops::Deref for Spares {
    type Target = Test;
    fn deref(&self) -> &Test {
        &self.test
    }
}

impl Spares {
    pub fn new(wanted: usize) -> Spares {
        Spares::of(Test::new(), wanted)
    }

    pub fn of(test: Test, wanted: usize) -> Spares {
        test.git(&["config", "sandbox.spares", &wanted.to_string()]);
        let mut spares = Spares { test, wanted, job: None };
        spares.prepare();
        spares
    }

    /// `reap --spares`, whatever it comes to.
    pub fn tend(&mut self) -> String {
        self.job = None;
        let output = self.test.run(&["reap", "--spares"]).output();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        let job = File::create(self.test.app().join(".git/sandbox-spares.lock")).unwrap();
        job.lock().unwrap();
        self.job = Some(job);
        said
    }

    /// `reap --spares`, killed at a step. Whether it came to that.
    pub fn tend_until(&mut self, step: u32) -> bool {
        self.job = None;
        let run = self.test.run(&["reap", "--spares"]);
        let output = run.env("GIT_SANDBOX_CRASH_AT", step.to_string()).output();
        let job = File::create(self.test.app().join(".git/sandbox-spares.lock")).unwrap();
        job.lock().unwrap();
        self.job = Some(job);
        output.status.code() != Some(0)
    }

    /// Makes as many ready as are wanted.
    pub fn prepare(&mut self) {
        let plural = if self.wanted == 1 { "" } else { "s" };
        assert_eq!(self.tend(), format!("{} spare{plural} ready\n", self.wanted));
        assert_eq!(self.spares().len(), self.wanted);
    }

    /// The names of the spares' folders.
    pub fn spares(&self) -> Vec<String> {
        self.sandboxes().into_iter().filter(|name| name.starts_with(".spare-")).collect()
    }

    /// The only spare's folder.
    pub fn only(&self) -> PathBuf {
        let [name] = &self.spares()[..] else { panic!("{:?}", self.spares()) };
        self.at(name)
    }

    /// `new`, which must succeed; whether it took a spare.
    fn takes(&self, words: &[&str]) -> bool {
        let before = self.spares().len();
        let path = self.new_sandbox(words);
        let entry = entry(&path);
        let took = self.spares().len() < before;
        let named = entry.file_name().unwrap().to_string_lossy().starts_with("-spare-");
        assert_eq!(took, named, "{}", entry.display());
        took
    }
}

pub fn entry(folder: &Path) -> PathBuf {
    let text = fs::read_to_string(folder.join(".git")).unwrap();
    folder.join(text.trim_end().strip_prefix("gitdir: ").unwrap())
}

/// Everything about a worktree that git or a user can see, but for its name.
fn state(test: &Test, folder: &Path) -> String {
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let git = |words: &[&str]| test.git_in(folder, words);
    let entry = entry(folder);
    let mut text = tree(folder, &[".git"]) + "\n";
    text += &names_in(&entry).join(" ");
    text += &git(&["status", "--porcelain=v2", "--branch", "--ignored", "--untracked-files=all"]);
    text += &git(&["ls-files", "-s", "-v"]);
    text += &git(&["reflog", "show", "HEAD", "--"]);
    text += &git(&["config", "--list", "--show-scope"]);
    for file in ["HEAD", "ORIG_HEAD", "logs/HEAD", "config.worktree", "info/sparse-checkout"] {
        let content = fs::read_to_string(entry.join(file)).ok();
        text += &["\n", file, ": ", &format!("{content:?}")].concat();
    }
    let facts = fs::read_to_string(entry.join("sandbox.json")).unwrap();
    (text + &facts).replace(&name, "NAME")
}

/// `new` with these words gives the same from a spare as without: `NAME` in them is another each time.
fn same(spares: &Spares, words: &[&str]) {
    let named = |name: &str| -> Vec<String> {
        words.iter().map(|word| word.replace("NAME", name)).collect()
    };
    let make = |name: &str, config: &[&str]| {
        let mut command = spares.command("git", &spares.app());
        command.args(config).args(["sandbox", "new"]).args(named(name));
        let output = crate::repo::finished(&mut command);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end());
        (state(spares, &path), said.replace(name, "NAME"), path)
    };
    let before = spares.spares().len();
    let plain = make("plain", &["-c", "sandbox.spares=0"]);
    assert_eq!(spares.spares().len(), before);
    let taken = make("taken", &[]);
    assert_eq!(spares.spares().len(), before - 1, "no spare was taken");
    assert_eq!(taken.0, plain.0);
    assert_eq!(taken.1, plain.1);
    assert!(
        !spares.git(&["worktree", "list", "--porcelain"]).contains("locked git-sandbox: creating")
    );
    assert_eq!(spares.git(&["fsck"]), "");
}

#[test]
fn a_new_branch_from_a_spare_is_what_new_makes_without() {
    let spares = Spares::new(1);
    same(&spares, &["NAME", "The", "task"]);
    assert_eq!(spares.branches(), ["main", "plain", "taken"]);
    spares
        .run(&["new", "taken"])
        .stdout("$ROOT/taken\n")
        .stderr("task: The task\nresumed sandbox 'taken'\n")
        .ok();
}

#[test]
fn a_detached_one_from_a_spare_is_what_new_makes_without() {
    same(&Spares::new(1), &["--detach", "NAME"]);
}

#[test]
fn from_another_commit_only_what_differs_is_written() {
    let test = Test::new();
    let app = test.app();
    test.commit(&app, "kept", "kept\n");
    test.commit(&app, "dir/changed", "old\n");
    test.commit(&app, "gone/file", "gone\n");
    let old = test.git(&["rev-parse", "HEAD"]);
    test.git(&["rm", "--quiet", "gone/file"]);
    chmod(&app.join("file"), 0o755);
    test.git(&["add", "file"]);
    symlink("kept", app.join("link")).unwrap();
    test.git(&["add", "link"]);
    test.commit(&app, "dir/changed", "new\n");
    let mut spares = Spares::of(test, 1);
    same(&spares, &["NAME", "--from", &old]);
    assert!(spares.at("taken/gone/file").exists());
    spares.prepare();
    spares.git(&["branch", "plain-b", &old]);
    spares.git(&["branch", "taken-b", &old]);
    same(&spares, &["NAME-b"]);
    spares.prepare();
    same(&spares, &["--detach", "NAME", "--from", &old]);
}

#[test]
fn a_branch_of_a_remote_gets_its_upstream() {
    let test = Test::new();
    test.remote("origin", "theirs");
    let spares = Spares::of(test, 1);
    spares
        .run(&["new", "theirs"])
        .stdout("$ROOT/theirs\n")
        .stderr("created sandbox 'theirs': new branch 'theirs' following 'origin/theirs'\n")
        .ok();
    assert_eq!(spares.spares(), [""; 0]);
    let at = spares.at("theirs");
    assert_eq!(
        spares.git_in(&at, &["status", "--porcelain", "--branch"]),
        "## theirs...origin/theirs"
    );
}

#[test]
fn hooks_run_once_and_as_without() {
    let test = Test::new();
    test.script(
        "app/.git/hooks/post-checkout",
        "echo hook \"$@\" \"$PWD\" >&2; echo \"$PWD\" >>\"$HOME/runs\"",
    );
    let spares = Spares::of(test, 1);
    // Nobody had asked for a sandbox yet.
    assert!(!spares.home.join("runs").exists());
    same(&spares, &["NAME"]);
    let runs = fs::read_to_string(spares.home.join("runs")).unwrap();
    assert_eq!(runs, format!("{0}/plain\n{0}/taken\n", spares.root().display()));
}

#[test]
fn a_failing_hook_keeps_the_sandbox() {
    let spares = Spares::new(1);
    spares.script("app/.git/hooks/post-checkout", "exit 3");
    spares
        .run(&["new", "fix"])
        .stdout("$ROOT/fix\n")
        .stderr(
            "created sandbox 'fix': new branch 'fix' from 'main'\n\
             warning: the post-checkout hook exited with 3; the sandbox stays\n",
        )
        .code(1);
    assert_eq!(spares.json(&["show", "fix", "--json"])["state"], "ready");
    assert_eq!(spares.spares(), [""; 0]);
}

#[test]
fn filters_includes_and_setup_are_as_without() {
    let test = Test::new();
    let app = test.app();
    test.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    test.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    test.git(&["config", "sandbox.setup", "echo set >set-up"]);
    test.commit(&app, ".gitattributes", "*.txt filter=up\n");
    test.commit(&app, ".gitignore", ".env\n");
    test.commit(&app, "a.txt", "text\n");
    write(&app.join(".env"), "secret\n");
    write(&app.join(".worktreeinclude"), ".env\n");
    let spares = Spares::of(test, 1);
    assert!(!spares.only().join(".env").exists());
    assert!(!spares.only().join("set-up").exists());
    same(&spares, &["NAME"]);
    assert_eq!(fs::read_to_string(spares.at("taken/a.txt")).unwrap(), "TEXT\n");
    assert_eq!(fs::read_to_string(spares.at("taken/.env")).unwrap(), "secret\n");
    assert_eq!(fs::read_to_string(spares.at("taken/set-up")).unwrap(), "set\n");
}

#[test]
fn sparse_patterns_are_as_without() {
    let test = Test::new();
    let app = test.app();
    test.commit(&app, "in/file", "in\n");
    test.commit(&app, "out/file", "out\n");
    test.git(&["sparse-checkout", "set", "in"]);
    let spares = Spares::of(test, 1);
    same(&spares, &["NAME"]);
    assert_eq!(names_in(&spares.at("taken")), [".git", "file", "in"]);
}

#[test]
fn other_repositories_are_as_without() {
    let mut tried = 0;
    for options in [&["--object-format=sha256"][..], &["--ref-format=reftable"]] {
        let test = Test::bare();
        let folder = test.home.join("probe");
        fs::create_dir(&folder).unwrap();
        let words = [&["init", "--quiet"], options].concat();
        // Before 2.45 git knows no reftable.
        if !test.command("git", &folder).args(words).output().unwrap().status.success() {
            assert_eq!(options, ["--ref-format=reftable"]);
            continue;
        }
        test.init("app", options);
        let reftable = options[0].ends_with("reftable");
        let spares = Spares::of(test, 1);
        if reftable {
            assert!(spares.takes(&["fix"]));
            let at = spares.at("fix");
            assert_eq!(spares.git_in(&at, &["status", "--porcelain", "--branch"]), "## fix");
        } else {
            same(&spares, &["NAME"]);
        }
        tried += 1;
    }
    assert!(tried > 0);
}

#[test]
fn a_bare_repository_has_spares_too() {
    let test = Test::new();
    test.git(&["clone", "--quiet", "--bare", ".", "../bare.git"]);
    let bare = test.home.join("bare.git");
    test.git_in(&bare, &["config", "sandbox.spares", "1"]);
    test.run_in(&bare, &["reap", "--spares"]).stderr("1 spare ready\n").ok();
    let job = File::create(bare.join("sandbox-spares.lock")).unwrap();
    job.lock().unwrap();
    let home = test.root().with_file_name("bare");
    assert_eq!(names_in(&home).len(), 1);
    test.run_in(&bare, &["new", "fix"])
        .stdout("$HOME/.cache/git-sandbox/worktrees/bare/fix\n")
        .stderr("created sandbox 'fix': new branch 'fix' from 'main'\n")
        .ok();
    assert_eq!(names_in(&home), ["fix"]);
}

#[test]
fn a_pool_takes_as_many_as_there_are() {
    let spares = Spares::new(2);
    spares
        .run(&["new", "--count", "3", "job"])
        .stdout("$ROOT/job-1\n$ROOT/job-2\n$ROOT/job-3\n")
        .stderr(
            "created sandbox 'job-1': new branch 'job-1' from 'main'\n\
             created sandbox 'job-2': new branch 'job-2' from 'main'\n\
             created sandbox 'job-3': new branch 'job-3' from 'main'\n",
        )
        .ok();
    assert_eq!(spares.sandboxes(), ["job-1", "job-2", "job-3"]);
    for name in ["job-1", "job-2", "job-3"] {
        assert_eq!(spares.git_in(&spares.at(name), &["status", "--porcelain"]), "");
    }
}

#[test]
fn new_starts_the_job_that_makes_the_next() {
    let test = Test::new();
    test.git(&["config", "sandbox.spares", "1"]);
    // Everything that it starts has a copy of the pipe.
    let run = |name: &str| {
        let mut command = test.command("sh", &test.app());
        let script = "exec 9>&1; exec \"$@\" >/dev/null";
        command.args(["-c", script, "sh", "git", "sandbox", "new", name]);
        let output = crate::repo::finished(&mut command);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run("one");
    let [first, one] = &test.sandboxes()[..] else { panic!("{:?}", test.sandboxes()) };
    assert!(first.starts_with(".spare-") && one == "one");
    run("two");
    let [second, one, two] = &test.sandboxes()[..] else { panic!("{:?}", test.sandboxes()) };
    assert!(second.starts_with(".spare-") && second != first, "{first} {second}");
    assert_eq!((one.as_str(), two.as_str()), ("one", "two"));
    let of = |name: &str| entry(&test.at(name)).file_name().unwrap().to_owned();
    assert_eq!((of("one"), of("two")), ("one".into(), first.replacen('.', "-", 1).into()));
}

#[test]
fn nothing_but_doctor_shows_spares() {
    let spares = Spares::new(2);
    spares.run(&["list"]).stderr("no sandboxes; 'git sandbox new <name>' makes one\n").ok();
    spares.run(&["list", "--json"]).stdout("[]\n").ok();
    spares.run(&["list", "--names"]).ok();
    spares.run(&["list", "-z"]).ok();
    spares.run(&["list", "--all", "--json"]).stdout("[]\n").ok();
    spares.run(&["restore"]).stderr("nothing to bring back\n").ok();
    let name = spares.spares()[0].clone();
    for command in ["show", "path", "rm"] {
        let output = spares.run(&[command, &name]).output();
        assert_eq!(output.status.code(), Some(1), "{command}");
    }
    spares.run(&["doctor"]).stderr("2 spares: 2 ready\nall is well\n").ok();
    assert_eq!(spares.spares().len(), 2);
}

#[test]
fn no_spares_are_made_unless_asked_for() {
    let test = Test::new();
    test.run(&["reap", "--spares"]).stderr("0 spares ready\n").ok();
    test.new_sandbox(&["fix"]);
    assert_eq!(test.sandboxes(), ["fix"]);
    assert!(!test.app().join(".git/worktrees/fix/sandbox.json.new").exists());
}

#[test]
fn a_bad_number_is_an_error_that_names_the_key() {
    let test = Test::new();
    for value in ["-1", "many", "1.5", ""] {
        test.git(&["config", "sandbox.spares", value]);
        let error = format!(
            "error: bad value '{value}' for 'sandbox.spares': it must be a whole number\n\
             hint: git config --show-origin --get-all sandbox.spares\n"
        );
        test.run(&["new", "fix"]).stderr(&error).code(1);
        test.run(&["reap", "--spares"]).stderr(&error).code(1);
    }
    assert_eq!(test.branches(), ["main"]);
    assert_eq!(test.sandboxes(), [""; 0]);
}

/// What somebody does to a spare: then it is neither used nor deleted.
fn is_left_alone(harm: impl Fn(&Spares, &Path)) {
    let mut spares = Spares::new(1);
    let path = spares.only();
    harm(&spares, &path);
    let before = (tree(&path, &[]), fs::read_to_string(path.join(".git")).ok());
    assert!(!spares.takes(&["fix"]));
    assert_eq!(spares.git_in(&spares.at("fix"), &["status", "--porcelain"]), "");
    spares.git(&["config", "sandbox.spares", "0"]);
    spares.tend();
    assert_eq!((tree(&path, &[]), fs::read_to_string(path.join(".git")).ok()), before);
    let output = spares.run(&["doctor"]).output();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with(&path.display().to_string()), "{said}");
    assert_eq!(output.status.code(), Some(1));
    spares.run(&["doctor", "--fix"]).output();
    assert_eq!((tree(&path, &[]), fs::read_to_string(path.join(".git")).ok()), before);
}

#[test]
fn one_with_a_file_of_somebodys_is_left_alone() {
    is_left_alone(|_, path| write(&path.join("notes"), "mine\n"));
}

#[test]
fn one_with_an_ignored_file_is_left_alone() {
    is_left_alone(|test, path| {
        write(&test.app().join(".git/info/exclude"), "*.o\n");
        write(&path.join("a.o"), "mine\n");
    });
}

#[test]
fn one_with_an_edited_file_is_left_alone() {
    is_left_alone(|_, path| write(&path.join("file"), "two\n"));
}

#[test]
fn one_with_a_hidden_edit_is_left_alone() {
    is_left_alone(|test, path| {
        test.git_in(path, &["update-index", "--assume-unchanged", "file"]);
        write(&path.join("file"), "two\n");
    });
}

#[test]
fn one_with_a_nested_repository_is_left_alone() {
    is_left_alone(|test, path| {
        test.init(&path.join("nested").strip_prefix(&test.home).unwrap().to_string_lossy(), &[]);
    });
}

#[test]
fn one_that_became_a_symlink_is_left_alone() {
    let spares = Spares::new(1);
    let path = spares.only();
    let aside = spares.home.join("aside");
    fs::rename(&path, &aside).unwrap();
    symlink(&aside, &path).unwrap();
    let before = tree(&aside, &[]);
    spares.new_sandbox(&["fix"]);
    assert_eq!(entry(&spares.at("fix")).file_name().unwrap(), "fix");
    assert_eq!(tree(&aside, &[]), before);
    assert_eq!(fs::read_link(&path).unwrap(), aside);
}

#[test]
fn commits_made_in_one_are_kept() {
    let mut spares = Spares::new(1);
    let path = spares.only();
    spares.git_in(&path, &["commit", "--quiet", "--allow-empty", "-m", "mine"]);
    let commit = spares.git_in(&path, &["rev-parse", "HEAD"]);
    spares.git_in(&path, &["reset", "--quiet", "--hard", "HEAD~"]);
    assert!(!spares.takes(&["fix"]));
    spares.prepare();
    assert!(!path.exists());
    spares.git(&["reflog", "expire", "--expire=now", "--all"]);
    spares.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(spares.git(&["cat-file", "-t", &commit]), "commit");
}

#[test]
fn one_in_use_is_not_deleted() {
    let mut spares = Spares::new(1);
    let path = spares.only();
    let mut user = spares.command("sleep", &path).arg("600").spawn().unwrap();
    spares.git(&["config", "sandbox.spares", "0"]);
    spares.tend();
    assert!(path.join("file").exists());
    user.kill().unwrap();
    user.wait().unwrap();
    spares.tend();
    assert_eq!(spares.sandboxes(), [""; 0]);
}

#[test]
fn spares_follow_head() {
    let mut spares = Spares::new(1);
    let path = spares.only();
    let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(path.join("file")).unwrap());
    let commit = spares.commit(&spares.app(), "more", "more\n");
    spares.prepare();
    assert_eq!(spares.only(), path);
    assert_eq!(spares.git_in(&path, &["rev-parse", "HEAD"]), commit);
    assert_eq!(names_in(&path), [".git", "file", "more"]);
    assert_eq!(
        std::os::unix::fs::MetadataExt::ino(&fs::metadata(path.join("file")).unwrap()),
        inode
    );
    same(&spares, &["NAME"]);
}

#[test]
fn spares_that_are_not_wanted_any_more_go() {
    let mut spares = Spares::new(2);
    let entries = || names_in(&spares.app().join(".git/worktrees"));
    assert_eq!(entries().len(), 2);
    spares.git(&["config", "sandbox.spares", "1"]);
    assert_eq!(spares.test.run(&["list"]).output().status.code(), Some(0));
    spares.wanted = 1;
    spares.prepare();
    spares.git(&["config", "sandbox.spares", "0"]);
    spares.wanted = 0;
    spares.prepare();
    assert_eq!(names_in(&spares.app().join(".git/worktrees")), [""; 0]);
    assert_eq!(spares.git(&["for-each-ref", "refs/sandbox"]), "");
}

/// Whatever shapes a checkout has changed: a spare from before is not used, and is made anew.
fn is_outdated(before: impl Fn(&Test), change: impl Fn(&Test)) {
    let test = Test::new();
    before(&test);
    let mut spares = Spares::of(test, 1);
    let path = spares.only();
    change(&spares);
    assert!(!spares.takes(&["fix"]));
    assert!(path.exists());
    spares.prepare();
    assert_ne!(spares.only(), path);
    same(&spares, &["NAME"]);
}

#[test]
fn other_config_makes_spares_outdated() {
    is_outdated(|_| {}, |test| drop(test.git(&["config", "core.autocrlf", "true"])));
}

#[test]
fn other_filters_make_spares_outdated() {
    is_outdated(
        |test| {
            test.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
            test.commit(&test.app(), ".gitattributes", "*.txt filter=up\n");
            test.commit(&test.app(), "a.txt", "text\n");
            test.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
        },
        |test| drop(test.git(&["config", "filter.up.smudge", "tr a-z A-Z | rev | rev"])),
    );
}

#[test]
fn other_attributes_make_spares_outdated() {
    is_outdated(|_| {}, |test| write(&test.app().join(".git/info/attributes"), "* eol=crlf\n"));
}

#[test]
fn other_sparse_patterns_make_spares_outdated() {
    is_outdated(
        |test| drop(test.commit(&test.app(), "dir/file", "x\n")),
        |test| drop(test.git(&["sparse-checkout", "set", "dir"])),
    );
}

#[test]
fn other_attributes_in_the_tree_are_not_taken_over() {
    let test = Test::new();
    test.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    test.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    let mut spares = Spares::of(test, 1);
    let path = spares.only();
    spares.commit(&spares.app(), ".gitattributes", "file filter=up\n");
    assert!(!spares.takes(&["fix"]));
    assert_eq!(fs::read_to_string(spares.at("fix/file")).unwrap(), "ONE\n");
    spares.prepare();
    assert_ne!(spares.only(), path);
    assert!(spares.takes(&["two"]));
    assert_eq!(fs::read_to_string(spares.at("two/file")).unwrap(), "ONE\n");
}

#[test]
fn where_no_checkout_is_clean_there_is_one_spare_that_is_not_used() {
    let test = Test::new();
    let app = test.app();
    test.commit(&app, "file", "one\r\n");
    write(&app.join(".gitattributes"), "file text\n");
    test.git(&["add", ".gitattributes"]);
    test.git(&["commit", "--quiet", "-m", "attributes"]);
    test.git(&["config", "sandbox.spares", "2"]);
    let mut spares = Spares { test, wanted: 2, job: None };
    spares.tend();
    let count = spares.spares().len();
    assert!(count > 0);
    assert!(!spares.takes(&["fix"]));
    assert_eq!(spares.spares().len(), count);
    spares.git(&["config", "sandbox.spares", "0"]);
    spares.tend();
    assert_eq!(spares.spares(), [""; 0]);
}

#[test]
fn dir_and_another_root_have_no_spares() {
    let spares = Spares::new(1);
    let elsewhere = spares.home.join("elsewhere");
    spares.new_sandbox(&["one", "--dir", &elsewhere.to_string_lossy()]);
    spares.new_sandbox(&["two", "--root", &elsewhere.to_string_lossy()]);
    assert_eq!(spares.spares().len(), 1);
}

/// What somebody does in one: nobody takes it then, and nobody discards it.
#[test]
fn a_spare_that_somebody_works_in_is_theirs() {
    for work in ["git checkout -q -b mine", "git bisect start -q && git bisect bad"] {
        let mut spares = Spares::of(Test::new(), 1);
        let spare = spares.only();
        let output = spares.command("sh", &spare).args(["-euc", work]).output().unwrap();
        assert!(output.status.success(), "{work}: {}", String::from_utf8_lossy(&output.stderr));
        spares
            .run(&["new", "fix"])
            .stdout("$ROOT/fix\n")
            .stderr("created sandbox 'fix': new branch 'fix' from 'main'\n")
            .ok();
        spares.git(&["config", "sandbox.spares", "0"]);
        spares.tend();
        assert!(spare.join("file").exists(), "{work}");
        assert_eq!(spares.linked().len(), 2, "{work}");
        if work.contains("checkout") {
            let path = spare.display();
            spares
                .run(&["doctor"])
                .stdout(&format!("{path}: somebody has worked in this spare\n"))
                .stderr(&format!(
                    "hint: git worktree unlock {path} makes it a sandbox\n\
                     hint: git sandbox doctor --fix\n"
                ))
                .code(1);
        }
    }
}
