//! Names and tasks from a generator: whatever is typed, a command ends with a documented code, shows
//! nothing that moves a cursor, makes the branch that was typed or none, and touches nothing else.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::fixture::Test;
use crate::fixture::files::{names_in, tree};

/// A failure is found again with it; `HOSTILE_SEED` and `HOSTILE_NAMES` try others, and more.
fn seed() -> u64 {
    std::env::var("HOSTILE_SEED").map_or(20_260_131, |text| text.parse().unwrap())
}

fn names() -> usize {
    std::env::var("HOSTILE_NAMES").map_or(20, |text| text.parse().unwrap())
}

/// The same numbers everywhere: splitmix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap()
    }

    fn any<'a>(&mut self, pieces: &[&'a [u8]]) -> &'a [u8] {
        pieces[self.below(pieces.len())]
    }
}

/// What git takes in a branch, but a shell, a terminal or a file system may not.
const ODD: [&[u8]; 26] = [
    b"fix",
    b"Fix",
    b"FIX",
    b"a/b",
    b"a-b",
    b"$(touch pwned)",
    b"`id`",
    b";rm",
    b"&",
    b"|",
    b"'",
    b"\"",
    b"#",
    b"!",
    b"%s%n",
    b"{name}",
    b"=",
    "\u{202e}gpj".as_bytes(),
    "\u{200b}".as_bytes(),
    "\u{9b}31m".as_bytes(),
    "\u{feff}".as_bytes(),
    "e\u{301}".as_bytes(),
    "修正🎉".as_bytes(),
    b"\xff\xfe",
    b"\xc3",
    b"exploration-x",
];
/// What git takes in none.
const BAD: [&[u8]; 20] = [
    b"\x1b[2J", b"\n", b"\t", b"\x07", b"\x7f", b" ", b"..", b"~", b"^", b":", b"?", b"*", b"[",
    b"\\", b"@{", b".lock", b"//", b"/", b".", b"-",
];

fn name(numbers: &mut Numbers) -> OsString {
    let mut name = match numbers.below(9) {
        0 => b"--".to_vec(),
        1 => b"-x".to_vec(),
        2 => b"x".repeat([63, 64, 65, 200, 251, 300][numbers.below(6)]),
        3 => {
            [b"refs/heads/x".as_slice(), b"HEAD", b"@", b"deadbeef", b""][numbers.below(5)].to_vec()
        }
        _ => numbers.any(&ODD).to_vec(),
    };
    for _ in 0..numbers.below(3) {
        let more = if numbers.below(4) == 0 { numbers.any(&BAD) } else { numbers.any(&ODD) };
        name.extend_from_slice(more);
    }
    OsString::from_vec(name)
}

fn task(numbers: &mut Numbers) -> OsString {
    let pieces = |numbers: &mut Numbers| [numbers.any(&ODD), numbers.any(&BAD)].concat();
    OsString::from_vec([b"do".to_vec(), pieces(numbers), pieces(numbers)].concat())
}

/// What must not reach a terminal.
fn is_dangerous(letter: char) -> bool {
    (letter.is_control() && letter != '\n')
        || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Runs a command: a documented exit code, and output that is safe to look at.
#[track_caller]
fn run<S: AsRef<OsStr>>(test: &Test, words: &[S]) -> Output {
    let typed: Vec<&OsStr> = words.iter().map(AsRef::as_ref).collect();
    let output = test.run(words).output();
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1 | 129)), "seed {}: {typed:?}: {:?}", seed(), output.status);
    for text in [&output.stdout, &output.stderr] {
        let Ok(text) = std::str::from_utf8(text) else { panic!("{typed:?}: no UTF-8: {text:?}") };
        assert!(!text.contains(is_dangerous), "seed {}: {typed:?}: {text:?}", seed());
        assert!(!text.contains("panicked"), "seed {}: {typed:?}: {text}", seed());
    }
    if code == Some(1) {
        assert!(output.stderr.starts_with(b"error: "), "seed {}: {typed:?}", seed());
    }
    output
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Everything at home but the sandboxes, their entries and their branches.
fn elsewhere(test: &Test) -> String {
    let ours = [
        ".cache/git-sandbox/worktrees/",
        "app/.git/worktrees",
        "app/.git/refs/",
        "app/.git/logs/",
        "app/.git/sandbox/lock",
    ];
    let all = tree(&test.home, &[]);
    let lines = all.lines().filter(|line| !ours.iter().any(|ours| line.starts_with(ours)));
    lines.collect::<Vec<_>>().join("\n")
}

fn branches(test: &Test) -> Vec<Vec<u8>> {
    let words = ["for-each-ref", "--format=%(refname:strip=2)", "refs/heads"];
    let output = test.command("git", &test.app()).args(words).output().unwrap();
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(<[u8]>::to_vec).collect()
}

/// Section 3 of the contract.
fn is_good_folder(path: &Path, test: &Test) -> bool {
    let folder = path.file_name().unwrap().to_str().unwrap();
    let good = |letter: char| letter.is_alphanumeric() || "._+@,-".contains(letter);
    path.parent() == Some(&test.root())
        && folder.len() <= 64
        && folder.chars().all(good)
        && !folder.starts_with(['.', '-'])
        && !folder.starts_with("exploration-")
}

/// Makes a sandbox of this name; where it is, if it was made.
fn make(test: &Test, name: &OsStr, task: &OsStr, as_option: bool) -> Option<PathBuf> {
    let (before, folders) = (branches(test), test.sandboxes());
    // Typed alone, `--` begins a command to be run.
    let as_option = as_option || name == "--";
    let mut option = OsString::from("--name=");
    option.push(name);
    let words = if as_option {
        ["new".into(), option, task.into()]
    } else {
        ["new".into(), name.into(), task.into()]
    };
    let output = run(test, &words);
    if !output.status.success() {
        assert_eq!((branches(test), test.sandboxes()), (before, folders), "{}", name.display());
        return None;
    }
    let path = PathBuf::from(OsStr::from_bytes(output.stdout.strip_suffix(b"\n").unwrap()));
    assert!(is_good_folder(&path, test), "{}", path.display());
    let head = test.command("git", &path).args(["symbolic-ref", "HEAD"]).output().unwrap().stdout;
    assert_eq!(head, [b"refs/heads/", name.as_bytes(), b"\n"].concat());
    let made: Vec<_> = branches(test).into_iter().filter(|name| !before.contains(name)).collect();
    assert!(made.is_empty() || made == [name.as_bytes()], "{made:?}");
    Some(path)
}

/// A program in the sandbox gets name and task to the byte, and no shell has seen them.
fn runs(test: &Test, name: &OsStr, task: &OsStr) {
    let script =
        "printf '%s\\n%s' \"$GIT_SANDBOX_BRANCH\" \"$GIT_SANDBOX_TASK\"; printf '\\n%s' \"$1\"";
    let words = [OsStr::new("run"), name, "--".as_ref(), "sh".as_ref(), "-c".as_ref()];
    let more = [OsStr::new(script), "x".as_ref(), "{branch}".as_ref()];
    let output = test.run(&[&words[..], &more].concat()).output();
    // A task is text.
    let task = task.to_string_lossy();
    let wanted = [name.as_bytes(), b"\n", task.as_bytes(), b"\n", name.as_bytes()].concat();
    assert_eq!(OsStr::from_bytes(&output.stdout), OsStr::from_bytes(&wanted));
}

#[test]
fn no_name_and_no_task_does_harm() {
    let test = Test::new();
    test.new_sandbox(&["plain"]);
    let before = elsewhere(&test);
    let mut numbers = Numbers(seed());
    let mut made = 0;
    for round in 0..names() {
        let (name, task) = (name(&mut numbers), task(&mut numbers));
        let path = make(&test, &name, &task, round % 2 == 1);
        let with = |words: &[&str]| {
            let words = words.iter().map(OsStr::new).chain([name.as_os_str()]);
            run(&test, &words.collect::<Vec<_>>())
        };
        run(&test, &["list"]);
        let listed = json(&run(&test, &["list", "--json"]));
        let linked = listed.as_array().unwrap().len();
        assert_eq!(linked, test.linked().len());
        if let Some(path) = path {
            made += 1;
            let word = [&b"refs/heads/"[..], name.as_bytes()].concat();
            let word = OsStr::from_bytes(&word);
            let shown = json(&run(&test, &["show".as_ref(), "--json".as_ref(), word]));
            assert_eq!(shown["path"], *path.to_string_lossy());
            assert_eq!(shown["branch"], *name.to_string_lossy());
            runs(&test, &name, &task);
        }
        for words in [
            &["path"][..],
            &["show"],
            &["rm", "--dry-run"],
            &["rm"],
            &["restore"],
            &["restore", "--json"],
        ] {
            with(words);
        }
        run(&test, &["reap", "--dry-run"]);
        run(&test, &["list", "--names"]);
        run(&test, &["restore"]);
        assert_eq!(elsewhere(&test), before, "seed {}: {}", seed(), name.display());
        assert_eq!(names_in(&test.app()), [".git", "file"]);
    }
    // The generator is worth its name only if both happen.
    assert!((names() / 4..names()).contains(&made), "{made}");
    assert_eq!(test.git(&["status", "--porcelain"]), "");
    test.git(&["fsck", "--no-progress"]);
}
