//! The loop: a command again and again, each time with one failure, and what must be true after it.

use std::collections::BTreeSet;

use super::calls::{self, Call};
use super::git::{self, Kind};
use super::row::{Ended, Row, Scene, ended};
use super::state::{state, work};
use crate::fixture::chosen::hash;
use crate::fixture::diff::diff;

/// One failure.
enum Fault {
    /// The n-th git.
    Git(usize, Kind),
    /// A system call of our own.
    Call(Call),
}

impl Fault {
    /// Returns the name by which the variable `FAULTS` asks for all of its sort.
    fn name(&self) -> &'static str {
        match self {
            Fault::Git(..) => "git",
            Fault::Call(call) => call.name,
        }
    }

    /// Returns what is between two runs of the default selection, about.
    fn rarity(&self) -> u64 {
        match self {
            Fault::Git(..) => 24,
            Fault::Call(call) => call.family.rarity,
        }
    }

    fn in_words(&self) -> String {
        match self {
            Fault::Git(nth, kind) => format!("git {nth} {kind:?}"),
            Fault::Call(call) => format!("{} {}", call.name, call.nth),
        }
    }

    /// Whether it belongs to the default selection.
    fn is_selected(&self, row: &Row) -> bool {
        let words = format!("{} {}", row.name, self.in_words());
        hash(&words).is_multiple_of(self.rarity())
    }
}

/// What a command comes to undisturbed.
struct Aim {
    /// The state after it.
    wanted: String,
    /// The state after the row's proof, where it has one.
    proven: String,
    /// The content of every file, entry of an index and branch that is there before it and after it.
    work: BTreeSet<String>,
}

impl Aim {
    #[track_caller]
    fn of(scene: &mut Scene) -> Aim {
        let (wanted, proven) = undisturbed(scene);
        let (again, proven_again) = undisturbed(scene);
        assert!(wanted == again, "it varies:\n{}", diff(&wanted, &again));
        assert!(proven == proven_again, "its proof varies:\n{}", diff(&proven, &proven_again));
        scene.again();
        let mut work = work(&state(&scene.test));
        work.retain(|work| wanted.contains(work));
        Aim { wanted, proven, work }
    }

    /// Returns nothing if a state is the one that is aimed at, as the proof shows too; else what differs, and whether it
    /// shows only by the proof.
    fn misses(&self, scene: &Scene, state: &str) -> Option<(String, bool)> {
        if state != self.wanted {
            return Some((diff(&self.wanted, state), false));
        }
        let proven = scene.proven();
        (proven != self.proven).then(|| (diff(&self.proven, &proven), true))
    }
}

/// Disturbs a command in every way, or in those of the default selection.
#[track_caller]
pub fn sweep(row: &Row) {
    let mut scene = Scene::of(row);
    let aim = Aim::of(&mut scene);
    let named = std::env::var("FAULTS").unwrap_or_default();
    let named: Vec<&str> = named.split(',').collect();
    let all = |fault: &&Fault| named.contains(&"all") || named.contains(&fault.name());
    let faults = faults(&mut scene);
    let chosen: Vec<_> =
        faults.iter().filter(|fault| all(fault) || fault.is_selected(row)).collect();
    let mut wrong = Vec::new();
    for fault in &chosen {
        if let Err(why) = played(&mut scene, fault, &aim) {
            wrong.push(why);
        }
    }
    let count = format!(
        "{}: {} of {} failures played, {} went wrong",
        row.name,
        chosen.len(),
        faults.len(),
        wrong.len()
    );
    eprintln!("{count}");
    assert!(wrong.is_empty(), "{count}\n\n{}", wrong.join("\n\n"));
}

/// Runs the command; it must succeed. Returns the state after it, and after the row's proof.
#[track_caller]
fn undisturbed(scene: &mut Scene) -> (String, String) {
    scene.again();
    let Ended { code, stderr, .. } = scene.run(scene.row.words);
    assert_eq!(code, Some(0), "{stderr}");
    (state(&scene.test), scene.proven())
}

/// Returns every failure that the command can meet.
#[track_caller]
fn faults(scene: &mut Scene) -> Vec<Fault> {
    scene.again();
    let mut command = scene.command(&[], scene.row.words);
    git::disturb(scene, &mut command, 0, Kind::Before);
    let Ended { code, stderr, .. } = ended(command);
    assert_eq!(code, Some(0), "{stderr}");
    let mut faults = Vec::new();
    for nth in 1..=git::calls(scene) {
        faults.extend([Fault::Git(nth, Kind::Before), Fault::Git(nth, Kind::After)]);
    }
    if calls::can_fail() {
        scene.again();
        faults.extend(calls::recorded(scene).into_iter().map(Fault::Call));
    }
    faults
}

/// Runs the command with a failure, and judges what came of it. Returns what is wrong.
#[track_caller]
fn played(scene: &mut Scene, fault: &Fault, aim: &Aim) -> Result<(), String> {
    scene.again();
    let command = match fault {
        Fault::Git(nth, kind) => {
            let mut command = scene.command(&[], scene.row.words);
            git::disturb(scene, &mut command, *nth, *kind);
            command
        }
        Fault::Call(call) => calls::disturbed(scene, call),
    };
    let end = ended(command);
    let what = match fault {
        Fault::Git(nth, _) => git::words(scene, *nth),
        Fault::Call(..) => calls::failed(scene),
    };
    // Neither can fail: reading what a git prints, and, before our program begins, loading it.
    if what.contains("<pipe:") || what.contains("/lib/") {
        return Ok(());
    }
    let excused = scene.row.excused.iter().any(|(call, _)| what.contains(call));
    judged(scene, &end, aim, excused).map_err(|why| {
        format!(
            "=== {}, {}: {what}\nexit code {:?}\n{}{}\n{why}",
            scene.row.name,
            fault.in_words(),
            end.code,
            end.stdout,
            end.stderr
        )
    })
}

/// Whether a command that answers on stdout says there what is left, and why: `reap` and `doctor`.
fn answers(end: &Ended) -> bool {
    let is_left = |line: &str| line.contains(": kept") || line.contains(": skipped: ");
    end.stdout.lines().any(is_left) || end.stderr.ends_with("manual repair\n")
}

/// Judges a run that was disturbed.
#[track_caller]
fn judged(scene: &Scene, end: &Ended, aim: &Aim, excused: bool) -> Result<(), String> {
    let says = |word: &str| end.stderr.lines().any(|line| line.starts_with(word));
    let (fails, warns) = (says("error: "), says("warning: ") || answers(end));
    let succeeded = end.code == Some(0);
    if !succeeded && !fails && !warns {
        return Err("UNSAID: no 'error:'".into());
    }
    let now = state(&scene.test);
    let mut differs = match aim.misses(scene, &now) {
        None => return Ok(()),
        Some((differs, true)) => {
            return Err(format!("UNPROVEN: it is not what it seems\n{differs}"));
        }
        Some((differs, false)) => differs,
    };
    // What a warning names stays undone.
    if excused || (warns && !fails && !answers(end)) {
        return match aim.work.iter().find(|work| !now.contains(*work)) {
            Some(work) => Err(format!("LOST: {work}\n{differs}")),
            None => Ok(()),
        };
    }
    if succeeded && !warns {
        return Err(format!("SILENT: something else was done\n{differs}"));
    }
    let mut said = String::new();
    let Row { words, hinted, .. } = scene.row;
    for words in [words, &["doctor", "--fix"][..], words, hinted] {
        if words.is_empty() {
            continue;
        }
        let Ended { code, stderr, .. } = scene.run(words);
        said += &["then ", &format!("{words:?}: {code:?}\n"), &stderr].concat();
        differs = match aim.misses(scene, &state(&scene.test)) {
            None => return Ok(()),
            Some((differs, true)) => return Err(format!("UNPROVEN: {said}{differs}")),
            Some((differs, false)) => differs,
        };
    }
    Err(format!("STUCK: it does not come to the same end\n{said}{differs}"))
}
