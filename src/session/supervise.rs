//! Commands in the background: a process of ours waits for each, writes down its end, cuts its log
//! and, if it was asked to, starts it again when it fails.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::{Doing, Error, Result};
use crate::git::Git;
use crate::repo::Repo;
use crate::repo::place::Place;
use crate::repo::root::Root;
use crate::sandbox::reporter::Reporter;
use crate::sandbox::runs::line::Kind;
use crate::sandbox::runs::record::Started;
use crate::sandbox::runs::{self, mass_death};
use crate::session::confine::{Confined, Walls};
use crate::session::container::Container;
use crate::session::log::Log;
use crate::session::{
    Agent, Author, Gets, SUPERVISED, Session, What, beacon, lock_of, share, unstartable,
};
use crate::sys::signals::ForChild;
use crate::sys::{clock, crash_point, dir, process};
use crate::ui::out::Out;

/// A failure before so many seconds have passed is a quick one.
const QUICK: i32 = 60;
/// The longest wait before a start, in seconds.
const LONGEST: i32 = 60;

/// How a failed command is started again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    /// After so many quick failures in a row it is not.
    pub most: u32,
    /// What an agent is started with then.
    pub agent: Option<String>,
}

/// A command that was started in the background.
#[derive(Debug)]
pub struct Background {
    /// The process id of its supervisor.
    pub supervisor: u32,
    /// Where it writes to.
    pub log: PathBuf,
}

/// What a supervisor is told, besides its environment.
#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    run: u64,
    agent: Option<Agent>,
    author: Option<String>,
    restart: Option<Restart>,
    walls: Option<Walls>,
    container: Option<Container>,
}

impl Session<'_> {
    /// Starts a command in the background, with a log. Its run is written down when this returns.
    pub fn background(
        &self,
        what: &What,
        restart: Option<Restart>,
        out: Out,
    ) -> Result<Background> {
        let lock = self.lock(out)?;
        let run = self.record(what, Kind::Background, 0)?;
        let started = self.supervisor(what, restart, &run, lock_of(&lock)?);
        if started.is_err() {
            run.end(1)?;
        }
        Ok(Background { supervisor: started?, log: run.path() })
    }

    fn supervisor(
        &self,
        what: &What,
        restart: Option<Restart>,
        run: &Started,
        lock: OwnedFd,
    ) -> Result<u32> {
        announce(self, what, run)?;
        let (agent, typed) = match what {
            What::Agent(agent) => (Some(agent.clone()), Vec::new()),
            What::Typed(words) => (None, words.clone()),
            What::Shell => (None, self.words(what)),
        };
        let author = self.author.as_ref().map(Author::in_words);
        let (walls, container) = (self.walls.clone(), self.container.clone());
        let plan = Plan { run: run.number(), agent, author, restart, walls, container };
        let plan = serde_json::to_string(&plan).map_err(std::io::Error::from);
        let mut command = self.blank(&process::ourselves()?);
        command.args(["run", "--", "supervised"]).arg(plan.doing(|| "plan the run".into())?);
        command.args(typed).env(SUPERVISED, self.entry);
        command.stdin(Stdio::from(lock)).stdout(log_of(run)?).stderr(log_of(run)?);
        // In the place of the lock of the sandbox that we may have been started in. Its own is its stdin, and
        // nothing else: it must be able to let go of it.
        let nothing = File::open("/dev/null").at("open", "/dev/null".as_ref())?;
        share(&mut command, Vec::new(), nothing.into(), Some(run))?;
        Ok(command.spawn().doing(|| "start the background".into())?.id())
    }
}

/// The first line of a log.
fn announce(session: &Session, what: &What, run: &Started) -> Result<()> {
    let words = session.words(what);
    let shown: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    Log::of(run.file()).at("open", &run.path())?.say(&shown.join(" "))
}

/// Lets go of the sandbox's lock, which a supervisor has as its stdin.
pub fn let_go() -> Result<()> {
    let nothing = File::open("/dev/null");
    let closed = nothing.and_then(|nothing| Ok(rustix::stdio::dup2_stdin(nothing)?));
    closed.doing(|| "let go of the lock".into())
}

fn log_of(run: &Started) -> Result<Stdio> {
    Ok(run.file().try_clone().at("open", &run.path())?.into())
}

/// The process that waits for a background command. Its stdin is the lock of the sandbox, its stdout
/// the file of the run.
#[derive(Debug)]
pub struct Supervisor {
    entry: PathBuf,
    plan: Plan,
    typed: Vec<OsString>,
    asked_to_end: Arc<AtomicBool>,
}

/// Returns the supervisor that we were started as, if we were.
pub fn supervisor(command_line: &[OsString]) -> Option<Supervisor> {
    let entry = PathBuf::from(std::env::var_os(SUPERVISED)?);
    let [first, plan, typed @ ..] = command_line else { return None };
    let plan = serde_json::from_slice(plan.as_bytes()).ok().filter(|_| first == "supervised")?;
    Some(Supervisor { entry, plan, typed: typed.to_vec(), asked_to_end: Arc::default() })
}

impl Supervisor {
    /// The private git dir of the sandbox, if its command is confined.
    pub fn confined(&self) -> Option<PathBuf> {
        let is_confined = self.plan.walls.is_some() || self.plan.container.is_some();
        is_confined.then(|| self.entry.clone())
    }

    /// Runs the command until it succeeds, is stopped or fails too often; its last exit code.
    pub fn run(self) -> Result<u8> {
        process::leave_terminal();
        for signal in [SIGTERM, SIGHUP, SIGINT] {
            let _ = signal_hook::flag::register(signal, Arc::clone(&self.asked_to_end));
        }
        let (git, folder) = (Git::here()?, PathBuf::from(variable("PATH")));
        let main = PathBuf::from(variable("BASE_REPO"));
        let mut session = self.session(&git, &folder, &main);
        let mut what = match &self.plan.agent {
            Some(agent) => What::Agent(agent.clone()),
            None => What::Typed(self.typed.clone()),
        };
        let file = File::from(duplicate(&std::io::stdout())?);
        let mut run = Started::handed_over(&self.entry, self.plan.run, file);
        let (mut restarts, mut quick) = (0, 0);
        loop {
            let begun = Instant::now();
            let code = once(&session, &what, &run)?;
            let mut log = Log::of(run.file()).at("open", &run.path())?;
            log.say(&format!("exited with {code}"))?;
            let Some(restart) = self.plan.restart.as_ref().filter(|_| self.may_restart(code, &run))
            else {
                run.end(code)?;
                return Ok(code);
            };
            let was_quick = begun.elapsed() < seconds(QUICK);
            quick = if was_quick { quick + 1 } else { 0 };
            if was_quick && quick >= restart.most {
                log.say(&format!("gave up after {quick} quick failures"))?;
                run.give_up(code)?;
                return Ok(code);
            }
            let pause = back_off(quick);
            let next = clock::now()? + clock::second() * pause;
            let claim = run.end_until(code, next)?;
            if !self.waited(seconds(pause), &run)? {
                return Ok(code);
            }
            restarts += 1;
            session.beacon = Some(standing(&self.entry).unwrap_or_else(|_| {
                format!("Task: {}", session.task.as_deref().unwrap_or_default())
            }));
            if let Some(value) = &restart.agent {
                what = What::Agent(Agent { value: value.clone(), gets: Gets::Beacon });
            }
            run = session.record(&what, Kind::Background, restarts)?;
            announce(&session, &what, &run)?;
            drop(claim);
            dir::touch(session.path, clock::now()?)?;
        }
    }

    /// The sandbox as our own environment tells of it, which is clean already.
    fn session<'a>(&'a self, git: &'a Git, folder: &'a Path, main: &'a Path) -> Session<'a> {
        let text = |name| variable(name).to_string_lossy().into_owned();
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        Session {
            git,
            name: text("NAME"),
            path: folder,
            entry: &self.entry,
            branch: Some(variable("BRANCH")).filter(|branch| !branch.is_empty()),
            main,
            task: some(text("TASK")),
            author: self.plan.author.as_deref().and_then(Author::recorded),
            beacon: some(text("BEACON")),
            walls: self.plan.walls.clone(),
            container: self.plan.container.clone(),
        }
    }

    fn may_restart(&self, code: u8, run: &Started) -> bool {
        code != 0 && !self.is_over(run)
    }

    fn is_over(&self, run: &Started) -> bool {
        self.asked_to_end.load(Ordering::Relaxed) || run.is_stopped()
    }

    /// Waits, longer if many sandboxes fail at once. Returns false if we were asked to end.
    fn waited(&self, pause: Duration, run: &Started) -> Result<bool> {
        const TICK: Duration = Duration::from_millis(50);
        let worktrees = self.entry.parent().unwrap_or(&self.entry);
        let (begun, mut announced) = (Instant::now(), None);
        loop {
            if self.is_over(run) {
                return Ok(false);
            }
            let left = pause.saturating_sub(begun.elapsed());
            if !left.is_zero() {
                thread::sleep(left.min(TICK));
                continue;
            }
            let until = mass_death::pause_until(worktrees, clock::now()?);
            let Some(until) = until else { return Ok(true) };
            if announced != Some(until) {
                run.put_off(until)?;
                let mut log = Log::of(run.file()).at("open", &run.path())?;
                let time = clock::rfc3339(until);
                log.say(&format!("many sandboxes failed at once: not started before {time}"))?;
                announced = Some(until);
            }
            thread::sleep(TICK);
        }
    }
}

/// Runs a command to its end, and cuts its log meanwhile; its exit code.
fn once(session: &Session, what: &What, run: &Started) -> Result<u8> {
    let kept = ForChild::keep().doing(|| "keep signals for the command".into())?;
    let Confined { mut command, descriptors, mut held } = session.command(what)?;
    command.stdin(Stdio::null()).stdout(log_of(run)?).stderr(log_of(run)?);
    session.share(&mut command, descriptors, duplicate(&std::io::stdin())?, Some(run))?;
    crash_point::reached();
    let child = command.spawn();
    drop(command);
    let mut log = Log::of(run.file()).at("open", &run.path())?;
    let child = match child {
        Ok(child) => child,
        Err(error) => {
            let error = unstartable(what, &error);
            log.say(&error.to_string())?;
            return Ok(error.code());
        }
    };
    let (ended, waiting) = mpsc::channel();
    let cutter = thread::spawn(move || {
        while waiting.recv_timeout(seconds(1)) == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = log.cut();
        }
        let _ = log.cut();
    });
    let code = session.wait(child, kept, &mut held);
    drop::<mpsc::Sender<()>>(ended);
    let _ = cutter.join();
    if let Some(warning) = held.close()? {
        Log::of(run.file()).at("open", &run.path())?.say(&warning)?;
    }
    code
}

/// What a command that is started again should know.
fn standing(entry: &Path) -> Result<String> {
    let repo = Repo::to_look_at()?;
    let worktrees = repo.worktrees()?;
    let root = Root::wanted(None, &repo.config, &repo.git)?;
    let place = Place::of(&repo, root, &worktrees);
    let sandboxes = crate::sandbox::all(&worktrees, &place);
    let sandbox = sandboxes.iter().find(|sandbox| sandbox.entry == entry);
    let sandbox = sandbox.ok_or(Error::NotInASandbox)?;
    let now = clock::now()?;
    let report = Reporter::new(&repo, &place, &worktrees.main, now)?.one(sandbox);
    Ok(beacon::text(&report, &runs::all(entry), now))
}

/// 1, 2, 4 and so on.
fn back_off(quick: u32) -> i32 {
    let doubled = quick.saturating_sub(1).min(30);
    (1_i32 << doubled).min(LONGEST)
}

fn seconds(count: i32) -> Duration {
    (clock::second() * count).to_std().unwrap_or_default()
}

fn variable(name: &str) -> OsString {
    std::env::var_os(format!("GIT_SANDBOX_{name}")).unwrap_or_default()
}

fn duplicate(stream: &impl AsFd) -> Result<OwnedFd> {
    let copy = rustix::io::fcntl_dupfd_cloexec(stream, 3).map_err(std::io::Error::from);
    copy.doing(|| "share a descriptor".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute() {
        let pauses: Vec<i32> = (0..10).map(back_off).collect();
        assert_eq!(pauses, [1, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
    }
}
