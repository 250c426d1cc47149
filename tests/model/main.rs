//! The torture test: a model user writes tokens in every way that git knows, beside commands of ours,
//! faults and other programs; at the end of each run nothing may be lost and all must be as it was left.
//!
//! Every run follows from (seed, run): `tests/torture --seed S --only RUN` plays it again. Its plan is
//! the same each time; how processes that run at once come in each other's way need not be.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]
#![allow(clippy::print_stderr, clippy::print_stdout)]

mod absent;
mod count;
mod deed;
mod draw;
mod fake;
mod fresh;
mod hooks;
mod leftover;
mod oracle;
mod ours;
mod plan;
mod power;
mod random;
mod rename;
mod run;
mod script;
mod settings;
mod snapshot;
mod stories;
mod template;
mod trials;
mod user;
mod world;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use chrono::{DateTime, Utc};

use world::Tools;

const RUNS: u64 = 500;
/// Commands mostly wait for git: more than the cores there are.
const WORKERS: usize = 3;

fn main() -> ExitCode {
    if fake::is_wanted() {
        return fake::be_git();
    }
    let number = |name: &str| {
        let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
        Some(text.parse::<u64>().unwrap_or_else(|_| panic!("{name} must be a number: '{text}'")))
    };
    let started = Instant::now();
    let seed = number("TORTURE_SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.unwrap().as_secs() % 1_000_000
    });
    let only = number("TORTURE_ONLY");
    let runs = number("TORTURE_RUNS").unwrap_or(RUNS);
    let tools = prepare();
    let which = only.map_or_else(|| format!("{runs} runs"), |run| format!("run {run}"));
    println!("torture: seed {seed}, {which}, gits: {:?}", tools.gits);
    if !tools.can_mount {
        println!("NOT ROOT: FULL DISKS ARE NOT TESTED, AND A READ-ONLY ROOT BY ITS MODE ONLY");
    }
    if tools.walls.is_empty() {
        println!("THIS MACHINE CANNOT CONFINE COMMANDS: THAT IS NOT TESTED");
    }
    // A failure ends it, unless faults of many runs are looked for at once.
    let goes_on = std::env::var_os("TORTURE_GO_ON").is_some();
    let next = AtomicU64::new(only.unwrap_or(1));
    let end = only.unwrap_or(runs);
    let stopped = AtomicBool::new(false);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while !stopped.load(Ordering::Relaxed) {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    if run > end {
                        return;
                    }
                    if let Err(failure) = run::run(&tools, seed, run) {
                        stopped.store(!goes_on, Ordering::Relaxed);
                        failures.lock().unwrap().push((run, failure));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    for (run, failure) in &failures {
        println!("\nFAILED: seed {seed}, run {run}\n{failure}");
        println!("again: tests/torture --seed {seed} --only {run}");
    }
    println!("torture: {}", tools.counts.in_words());
    if let Some(missing) = tools.counts.missing().filter(|_| only.is_none() && runs >= RUNS) {
        println!("\nFAILED: seed {seed}: {missing}");
        failures.push((0, missing));
    }
    let seconds = started.elapsed().as_secs();
    if failures.is_empty() {
        fs::remove_dir_all(&tools.folder).unwrap();
        println!("torture: {which} lost nothing, seed {seed}, {seconds} s");
        return ExitCode::SUCCESS;
    }
    ExitCode::FAILURE
}

/// Builds what all runs share.
fn prepare() -> Tools {
    let folder = std::env::temp_dir().canonicalize().unwrap();
    let folder = folder.join(format!("torture-{}", std::process::id()));
    fs::create_dir_all(folder.join("fake")).unwrap();
    let ourselves = std::env::current_exe().unwrap();
    std::os::unix::fs::symlink(ourselves, folder.join("fake/git")).unwrap();
    let named = std::env::var("TORTURE_GITS").unwrap_or_default();
    let mut gits: Vec<PathBuf> = named.split_whitespace().map(PathBuf::from).collect();
    if gits.is_empty() {
        let path = std::env::var_os("PATH").unwrap();
        let found = std::env::split_paths(&path).map(|dir| dir.join("git"));
        gits.extend(found.filter(|git| git.is_file()).take(1));
    }
    template::make(&folder.join("template"), &gits[0]);
    Tools {
        template: folder.join("template"),
        fake: folder.join("fake"),
        power: power::build(&folder),
        walls: script::walls(&folder),
        gits,
        counts: count::Counts::default(),
        program: assert_cmd::cargo::cargo_bin!("git-sandbox").to_owned(),
        can_mount: fs::metadata(&folder).unwrap().uid() == 0,
        // The files of a run are as old as the machine says.
        start: DateTime::<Utc>::from(std::time::SystemTime::now()),
        folder,
    }
}
