//! Commands of ours, started with a fault, watched to their end.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::absent;
use crate::plan::{Call, Fault};
use crate::power;
use crate::script::How;
use crate::world::World;

/// How long a command may take before it counts as hanging, as in the suite: two minutes, or as many seconds
/// as the variable `TEST_PATIENCE` says.
fn patience() -> Duration {
    let told = std::env::var("TEST_PATIENCE").ok();
    Duration::from_secs(told.map_or(120, |told| told.parse().unwrap()))
}

const TICK: Duration = Duration::from_micros(700);

/// A command that was started in a group of its own.
struct Running {
    child: Child,
    call: Call,
    fault: Fault,
    kill_at: Option<Instant>,
    /// Appears when a git hangs.
    hangs: PathBuf,
    since: Instant,
}

/// Runs commands, all at once. What they must not do: hang, panic, misuse their own options.
pub fn run(world: &World, calls: &[(usize, Call, Fault)]) -> Result<(), String> {
    let trouble = calls.iter().find_map(|(_, _, fault)| Trouble::make(world, *fault));
    let mut running: Vec<Running> = calls
        .iter()
        .enumerate()
        .map(|(number, (repo, call, fault))| start(world, *repo, *call, *fault, number))
        .collect();
    let mut wrong = Ok(());
    while let Some(mut first) = running.pop() {
        if let Some(done) = first.watch(world) {
            wrong = wrong.and(done);
        } else {
            running.insert(0, first);
            std::thread::sleep(TICK);
        }
    }
    drop(trouble);
    let lonely = |(_, call, fault): &(usize, Call, Fault)| {
        call.goes_on()
            || matches!(call, Call::Script(..))
            || !matches!(fault, Fault::None | Fault::Kill(_))
    };
    if calls.iter().any(lonely) {
        let hangs = calls.iter().any(|(_, _, fault)| matches!(fault, Fault::Git(..)));
        wrong = wrong.and(settle(world, hangs));
    }
    for (number, (_, _, fault)) in calls.iter().enumerate() {
        if let Fault::PowerLoss(_) = fault {
            world.tools.counts.add("power lost", 1);
            power::lose(world, &syncs(world, number));
        }
    }
    wrong
}

/// One command without a fault; its exit code must be 0.
pub fn succeeds(world: &World, repo: usize, words: &[&str]) -> Result<(), String> {
    ends(world, repo, words, 0)
}

/// One command without a fault, and its exit code.
pub fn ends(world: &World, repo: usize, words: &[&str], code: i32) -> Result<(), String> {
    world.log(&format!("== {repo}: git sandbox {}", words.join(" ")));
    let mut command = world.command(&world.tools.program, &world.repos[repo]);
    let log = world.log_file();
    command.args(words).stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
    let mut child = command.spawn().unwrap();
    let since = Instant::now();
    loop {
        match child.try_wait().unwrap() {
            Some(status) if status.code() == Some(code) => return Ok(()),
            Some(status) => return Err(format!("git sandbox {}: {status}", words.join(" "))),
            None if since.elapsed() > patience() => {
                kill_group(&child);
                child.wait().unwrap();
                return Err(format!("git sandbox {} hangs", words.join(" ")));
            }
            None => std::thread::sleep(TICK),
        }
    }
}

/// Waits for what goes on in the background; what hangs by our own doing is killed.
pub fn settle(world: &World, may_hang: bool) -> Result<(), String> {
    let since = Instant::now();
    let patience = if may_hang { Duration::from_secs(2) } else { patience() };
    loop {
        let left = world.processes(false);
        if left.is_empty() {
            return Ok(());
        }
        if since.elapsed() > patience {
            for pid in left.iter().filter_map(|pid| Pid::from_raw(*pid)) {
                let _ = kill_process(pid, Signal::KILL);
            }
            if !may_hang {
                return Err(format!("{} background processes hang", left.len()));
            }
        }
        std::thread::sleep(TICK);
    }
}

fn syncs(world: &World, number: usize) -> PathBuf {
    world.folder.join(format!("syncs-{number}"))
}

fn start(world: &World, repo: usize, call: Call, fault: Fault, number: usize) -> Running {
    world.log(&format!("== {repo}: git sandbox {} ({fault:?})", call.words().join(" ")));
    // Where the repository is out of reach, from outside of all.
    let dir = if absent::is_away(world, repo) { &world.home } else { &world.repos[repo] };
    let mut command = world.command(&world.tools.program, dir);
    let log = world.log_file();
    command.args(call.words()).process_group(0);
    command.stdout(log.try_clone().unwrap()).stderr(log).stdin(Stdio::null());
    // The hooks of the model are for us, not for its user.
    command.env("TORTURE_OURS", "1");
    // Small repositories have no donors otherwise.
    if number.is_multiple_of(2) {
        command.env("GIT_SANDBOX_DONOR_FILES", "0");
    }
    command.env("GIT_SANDBOX_SECOND", "20");
    if let Call::Script(_, How::Lasting, _) = call {
        command.env("TORTURE_SITS", "1");
    }
    if let Call::NewAndReapDaily(_) = call {
        command.env("GIT_SANDBOX_AUTO_REAP", "1");
    }
    let hangs = world.folder.join(format!("hangs-{number}"));
    let _ = fs::remove_file(&hangs);
    let mut kill_at = None;
    match fault {
        Fault::Kill(delay) => kill_at = Some(Instant::now() + Duration::from_millis(delay)),
        Fault::Crash(step) => drop(command.env("GIT_SANDBOX_CRASH_AT", step.to_string())),
        Fault::PowerLoss(step) => {
            let _ = fs::remove_file(syncs(world, number));
            command.env("GIT_SANDBOX_CRASH_AT", step.to_string());
            command.env("LD_PRELOAD", &world.tools.power);
            command.env("TORTURE_SYNCS", syncs(world, number));
        }
        Fault::Git(nth, how) => {
            let count = world.folder.join("count");
            let _ = fs::remove_file(&count);
            let path = std::env::var("PATH").unwrap();
            let real = world.git.parent().unwrap().display();
            command.env("PATH", format!("{}:{real}:{path}", world.tools.fake.display()));
            command.env("TORTURE_GIT", &world.git).env("TORTURE_COUNT", count);
            command.env("TORTURE_NTH", nth.to_string()).env("TORTURE_HOW", format!("{how:?}"));
            command.env("TORTURE_HANGS", &hangs);
        }
        Fault::None | Fault::Full(_) | Fault::ReadOnly => {}
    }
    world.killed.set(world.killed.get() || fault.kills_all());
    world.reaped.set(world.reaped.get() || call.goes_on());
    let child = command.spawn().unwrap();
    Running { child, call, fault, kill_at, hangs, since: Instant::now() }
}

impl Running {
    /// Kills it when it is time; what came of it, once it has ended.
    fn watch(&mut self, world: &World) -> Option<Result<(), String>> {
        if let Some(status) = self.child.try_wait().unwrap() {
            world.log(&format!("  {:?}: {status}", self.call));
            let counts = &world.tools.counts;
            counts.add("commands", 1);
            counts.add(
                match status.code() {
                    Some(0) => "done",
                    Some(_) => "refused",
                    None => "killed",
                },
                1,
            );
            if self.call.merges() && status.code() == Some(0) {
                counts.add("merged", 1);
            }
            if matches!(self.call, Call::Rename(..)) && status.code() == Some(0) {
                counts.add("renamed", 1);
            }
            return Some(self.judge(status));
        }
        if self.kill_at.is_some_and(|time| Instant::now() >= time) || self.hangs.exists() {
            kill_group(&self.child);
            self.kill_at = None;
        }
        if self.since.elapsed() > patience() {
            kill_group(&self.child);
            self.child.wait().unwrap();
            return Some(Err(format!("{:?} hangs", self.call)));
        }
        None
    }

    fn judge(&self, status: ExitStatus) -> Result<(), String> {
        let deadly =
            self.fault.kills_all() || matches!(self.fault, Fault::Crash(_) | Fault::PowerLoss(_));
        match (status.code(), status.signal()) {
            (Some(0 | 1), _) => Ok(()),
            // What the script itself said, or what came of it when its git was killed.
            (Some(_), _) if matches!(self.call, Call::Script(..)) => Ok(()),
            (None, Some(9)) if deadly => Ok(()),
            _ => Err(format!("{:?} with {:?}: {status}", self.call, self.fault)),
        }
    }
}

pub fn kill_group(child: &Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// Trouble with the disk, until dropped.
enum Trouble {
    Filled(PathBuf),
    Remounted(PathBuf),
    Closed(PathBuf),
}

impl Trouble {
    fn make(world: &World, fault: Fault) -> Option<Trouble> {
        match (fault, &world.mounted) {
            (Fault::Full(pages), Some(point)) => {
                let filler = point.join("filler");
                let room = rustix::fs::statvfs(point).unwrap();
                let free = room.f_bavail.saturating_sub(pages + 1) * room.f_frsize;
                let zeros = vec![0; usize::try_from(free).unwrap()];
                let _ = File::create(&filler).unwrap().write_all(&zeros);
                Some(Trouble::Filled(filler))
            }
            (Fault::ReadOnly, Some(point)) => {
                remount(point, "ro").then(|| Trouble::Remounted(point.clone()))
            }
            (Fault::ReadOnly, None) => {
                let root = world.root();
                let closed = fs::set_permissions(&root, fs::Permissions::from_mode(0o555));
                closed.ok().map(|()| Trouble::Closed(root))
            }
            _ => None,
        }
    }
}

impl Drop for Trouble {
    fn drop(&mut self) {
        let ended = match self {
            Trouble::Filled(filler) => fs::remove_file(filler).is_ok(),
            Trouble::Remounted(point) => remount(point, "rw"),
            Trouble::Closed(root) => {
                fs::set_permissions(root, fs::Permissions::from_mode(0o700)).is_ok()
            }
        };
        // A second panic would end the whole test, and what it has mounted would hide the first.
        assert!(ended || std::thread::panicking());
    }
}

fn remount(point: &Path, how: &str) -> bool {
    let words = ["-o", &format!("remount,{how}")];
    let mount = std::process::Command::new("mount").args(words).arg(point).status();
    mount.unwrap().success()
}
